//! Trees to interned values, and back.
//!
//! The table of functions is here: each name that PyTorch (or sympy's `srepr`) writes, with the operation that it means. A name that is
//! not in it is an error, never an opaque value: a size that is not understood must not be mistaken for one that is.

use std::sync::Arc;

use super::arith::{self, Extreme};
use super::error::SymError;
use super::expr::{BitOperator, Comparison, Dim, Expr, ExprId, Modulus, Rounding, SymBool, SymFloat, SymValue};
use super::logic;
use super::poly::Monomial;
use super::print;
use super::store::{Arena, Symbols};
use super::tree::Tree;

type Made<T> = Result<T, SymError>;

/// Functions of `math` that PyTorch writes as `OpaqueUnaryFn_NAME`.
pub(super) const UNARY: [&str; 16] = [
    "sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "asinh", "log2",
    "log10", "log1p",
];
const OPAQUE: &str = "OpaqueUnaryFn_";

/// Interns what a tree means.
pub(super) fn value(symbols: &mut Symbols, tree: &Tree) -> Made<SymValue> {
    match tree {
        Tree::Int(number) => Ok(SymValue::Int(Dim::Fixed(*number))),
        Tree::Rational(p, q) => logic::constant(symbols, *p as f64 / *q as f64).map(SymValue::Float),
        Tree::Float(number) => logic::constant(symbols, *number).map(SymValue::Float),
        Tree::Bool(truth) => logic::truth(symbols, *truth).map(SymValue::Bool),
        Tree::Infinite(_) => Err(SymError::Infinite { text: print::python(tree) }),
        Tree::Symbol(name) => Ok(symbol(symbols, name)?),
        Tree::Add(operands) | Tree::Mul(operands) => chain(symbols, tree, operands),
        Tree::Pow(base, exponent) => power(symbols, base, exponent),
        Tree::Compare(comparison, a, b) => {
            let (a, b) = (number(symbols, a, "a comparison")?, number(symbols, b, "a comparison")?);
            compare(symbols, *comparison, a, b).map(SymValue::Bool)
        }
        Tree::And(operands) => {
            let operands = bools(symbols, operands, "`and`")?;
            logic::and(symbols, &operands).map(SymValue::Bool)
        }
        Tree::Or(operands) => {
            let operands = bools(symbols, operands, "`or`")?;
            logic::or(symbols, &operands).map(SymValue::Bool)
        }
        Tree::Not(operand) => match value(symbols, operand)? {
            SymValue::Bool(truth) => logic::not(symbols, truth).map(SymValue::Bool),
            SymValue::Int(dim) => {
                let negative = arith::neg(symbols, dim)?;
                arith::sub(symbols, negative, Dim::Fixed(1)).map(SymValue::Int)
            }
            SymValue::Float(_) => Err(wrong_sort("`~`", "a boolean", operand, "a float")),
        },
        Tree::Call(name, operands) => call(symbols, name, operands),
    }
}

/// PyTorch's float symbols are called `zf0`, `zuf0`.
fn symbol(symbols: &mut Symbols, name: &str) -> Made<SymValue> {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    if numbered("zf") || numbered("zuf") {
        let id = symbols.symbol_id(name);
        return symbols.intern(Expr::FloatSymbol(id)).map(|id| SymValue::Float(SymFloat(id)));
    }
    Ok(SymValue::Int(symbols.symbol(name)))
}

/// A sum or a product: of integers canonical, else of floats as written.
fn chain(symbols: &mut Symbols, tree: &Tree, operands: &[Tree]) -> Made<SymValue> {
    let is_sum = matches!(tree, Tree::Add(_));
    let context = if is_sum { "a sum" } else { "a product" };
    let values = operands.iter().map(|operand| number(symbols, operand, context)).collect::<Made<Vec<_>>>()?;
    let dims: Option<Vec<Dim>> = values.iter().map(SymValue::as_int).collect();
    if let Some(dims) = dims {
        let combined = if is_sum {
            arith::sum(symbols, &dims)?
        } else {
            dims.into_iter().try_fold(Dim::Fixed(1), |product, dim| arith::mul(symbols, product, dim))?
        };
        return Ok(SymValue::Int(combined));
    }
    let floats = values.into_iter().map(|value| logic::to_float(symbols, value)).collect::<Made<Vec<_>>>()?;
    let chained = if is_sum { logic::sum(symbols, floats) } else { logic::product(symbols, floats) };
    chained.map(SymValue::Float)
}

fn power(symbols: &mut Symbols, base: &Tree, exponent: &Tree) -> Made<SymValue> {
    let base = number(symbols, base, "a power")?;
    let exponent = number(symbols, exponent, "a power")?;
    match (base, exponent) {
        (SymValue::Int(base), SymValue::Int(exponent)) if exponent.fixed().is_none_or(|number| number >= 0) => {
            arith::power(symbols, base, exponent).map(SymValue::Int)
        }
        (SymValue::Float(base), SymValue::Int(Dim::Fixed(exponent))) => {
            logic::float_expr(symbols, Expr::FloatIntPower(base, exponent)).map(SymValue::Float)
        }
        (base, exponent) => {
            let (base, exponent) = (logic::to_float(symbols, base)?, logic::to_float(symbols, exponent)?);
            logic::power(symbols, base, exponent).map(SymValue::Float)
        }
    }
}

/// A comparison; of an integer and a float as Python does it, near enough: as floats.
fn compare(symbols: &mut Symbols, comparison: Comparison, a: SymValue, b: SymValue) -> Made<SymBool> {
    match (a, b) {
        (SymValue::Int(a), SymValue::Int(b)) => logic::compare(symbols, comparison, a, b),
        (a, b) => {
            let (a, b) = (logic::to_float(symbols, a)?, logic::to_float(symbols, b)?);
            logic::compare_floats(symbols, comparison, a, b)
        }
    }
}

fn call(symbols: &mut Symbols, name: &str, operands: &[Tree]) -> Made<SymValue> {
    let name = name.strip_prefix("torch.").unwrap_or(name);
    let two = || binary(name, operands);
    let one = || unary(name, operands);
    match name {
        "FloorDiv" | "CleanDiv" => int2(symbols, name, two()?, arith::floordiv),
        "CeilDiv" => int2(symbols, name, two()?, arith::ceildiv),
        "%" => int2(symbols, name, two()?, arith::modulo),
        "Mod" => int2(symbols, name, two()?, |s, a, b| arith::modulo_as(s, Modulus::Natural, a, b)),
        "PythonMod" => int2(symbols, name, two()?, |s, a, b| arith::modulo_as(s, Modulus::Python, a, b)),
        "PowByNatural" => int2(symbols, name, two()?, arith::power),
        "LShift" => int2(symbols, name, two()?, arith::shift_left),
        "RShift" => int2(symbols, name, two()?, arith::shift_right),
        "BitwiseFn_bitwise_and" => int2(symbols, name, two()?, |s, a, b| arith::bitwise(s, BitOperator::And, a, b)),
        "BitwiseFn_bitwise_or" => int2(symbols, name, two()?, |s, a, b| arith::bitwise(s, BitOperator::Or, a, b)),
        "BitwiseFn_bitwise_xor" => int2(symbols, name, two()?, |s, a, b| arith::bitwise(s, BitOperator::Xor, a, b)),
        "&" | "|" | "^" => of_either_sort(symbols, name, two()?),
        "Xor" => of_either_sort(symbols, "^", two()?),
        "ModularIndexing" => {
            let [a, b, c] = operands else { return Err(count(name, "three", operands)) };
            let SymValue::Int(quotient) = int2(symbols, name, (a, b), arith::floordiv)? else {
                return Err(unknown(name));
            };
            let modulus = int(symbols, c, name)?;
            arith::modulo(symbols, quotient, modulus).map(SymValue::Int)
        }
        "Max" | "sym_max" => extreme(symbols, name, Extreme::Max, operands),
        "Min" | "sym_min" => extreme(symbols, name, Extreme::Min, operands),
        "Abs" | "abs" => {
            let dim = int(symbols, one()?, name)?;
            let negative = arith::neg(symbols, dim)?;
            arith::extreme(symbols, Extreme::Max, &[dim, negative]).map(SymValue::Int)
        }
        "Identity" => value(symbols, one()?),
        "Where" | "sym_ite" => choice(symbols, name, operands),
        "Piecewise" => piecewise(symbols, operands),
        "sym_not" => {
            let [operand] = operands else { return Err(count(name, "one", operands)) };
            let truth = boolean(symbols, operand, name)?;
            logic::not(symbols, truth).map(SymValue::Bool)
        }
        "CeilToInt" | "math.ceil" | "ceiling" => round(symbols, Rounding::Ceil, one()?),
        "FloorToInt" | "math.floor" | "floor" => round(symbols, Rounding::Floor, one()?),
        "TruncToInt" | "math.trunc" | "trunc" => round(symbols, Rounding::Trunc, one()?),
        "RoundToInt" | "round" => round(symbols, Rounding::Nearest, one()?),
        "ToFloat" | "float" | "sym_float" => {
            let inner = number(symbols, one()?, name)?;
            logic::to_float(symbols, inner).map(SymValue::Float)
        }
        "TruncToFloat" => {
            let inner = float(symbols, one()?, name)?;
            logic::float_expr(symbols, Expr::TruncToFloat(inner)).map(SymValue::Float)
        }
        "RoundDecimal" => {
            let (a, b) = two()?;
            let (x, digits) = (float(symbols, a, name)?, int(symbols, b, name)?);
            logic::float_expr(symbols, Expr::RoundDecimal(x, digits)).map(SymValue::Float)
        }
        "IntTrueDiv" | "FloatTrueDiv" | "/" => true_div(symbols, name, two()?),
        "FloatPow" => {
            let (a, b) = two()?;
            let (x, y) = (float(symbols, a, name)?, float(symbols, b, name)?);
            logic::power(symbols, x, y).map(SymValue::Float)
        }
        _ => {
            let function = name.strip_prefix(OPAQUE).or(name.strip_prefix("math.")).unwrap_or(name);
            let function = UNARY.iter().find(|known| **known == function).ok_or_else(|| unknown(name))?;
            let inner = float(symbols, one()?, name)?;
            logic::float_expr(symbols, Expr::FloatCall(Arc::from(*function), inner)).map(SymValue::Float)
        }
    }
}

type Operation = fn(&mut Symbols, Dim, Dim) -> Made<Dim>;

fn int2(symbols: &mut Symbols, name: &str, operands: (&Tree, &Tree), operation: Operation) -> Made<SymValue> {
    let (a, b) = (int(symbols, operands.0, name)?, int(symbols, operands.1, name)?);
    operation(symbols, a, b).map(SymValue::Int)
}

/// An operator that works on booleans and on the bits of integers.
fn of_either_sort(symbols: &mut Symbols, name: &str, operands: (&Tree, &Tree)) -> Made<SymValue> {
    let context = || format!("`{name}`");
    match (value(symbols, operands.0)?, value(symbols, operands.1)?) {
        (SymValue::Bool(a), SymValue::Bool(b)) => {
            let truth = match name {
                "&" => logic::and(symbols, &[a, b]),
                "|" => logic::or(symbols, &[a, b]),
                _ => logic::xor(symbols, a, b),
            };
            truth.map(SymValue::Bool)
        }
        (SymValue::Int(a), SymValue::Int(b)) => {
            let operator = match name {
                "&" => BitOperator::And,
                "|" => BitOperator::Or,
                _ => BitOperator::Xor,
            };
            arith::bitwise(symbols, operator, a, b).map(SymValue::Int)
        }
        (SymValue::Bool(_), other) => Err(wrong_sort(&context(), "a boolean", operands.1, other.sort())),
        (SymValue::Int(_), other) => Err(wrong_sort(&context(), "an integer", operands.1, other.sort())),
        (other, _) => Err(wrong_sort(&context(), "a boolean", operands.0, other.sort())),
    }
}

fn extreme(symbols: &mut Symbols, name: &str, which: Extreme, operands: &[Tree]) -> Made<SymValue> {
    let values = operands.iter().map(|operand| number(symbols, operand, name)).collect::<Made<Vec<_>>>()?;
    let dims: Option<Vec<Dim>> = values.iter().map(SymValue::as_int).collect();
    if let Some(dims) = dims {
        return arith::extreme(symbols, which, &dims).map(SymValue::Int);
    }
    let floats = values.into_iter().map(|value| logic::to_float(symbols, value)).collect::<Made<Box<[_]>>>()?;
    let expr = if which == Extreme::Max { Expr::FloatMax(floats) } else { Expr::FloatMin(floats) };
    logic::float_expr(symbols, expr).map(SymValue::Float)
}

fn choice(symbols: &mut Symbols, name: &str, operands: &[Tree]) -> Made<SymValue> {
    let [condition, a, b] = operands else { return Err(count(name, "three", operands)) };
    let condition = boolean(symbols, condition, name)?;
    let (a, b) = (number(symbols, a, name)?, number(symbols, b, name)?);
    choose(symbols, condition, a, b)
}

fn choose(symbols: &mut Symbols, condition: SymBool, a: SymValue, b: SymValue) -> Made<SymValue> {
    match (a, b) {
        (SymValue::Int(a), SymValue::Int(b)) => logic::choose(symbols, condition, a, b).map(SymValue::Int),
        (a, b) => {
            let (a, b) = (logic::to_float(symbols, a)?, logic::to_float(symbols, b)?);
            logic::choose_float(symbols, condition, a, b).map(SymValue::Float)
        }
    }
}

/// `Piecewise((a, condition), (b, True))`, which is how PyTorch writes `torch.sym_ite`; the last condition must be `True`.
fn piecewise(symbols: &mut Symbols, operands: &[Tree]) -> Made<SymValue> {
    const NAME: &str = "Piecewise";
    let mut chosen: Option<SymValue> = None;
    for operand in operands.iter().rev() {
        let (branch, condition) = match operand {
            Tree::Call(pair, parts) if pair == "ExprCondPair" => binary(NAME, parts)?,
            other => {
                return Err(wrong_sort("`Piecewise`", "pairs of a value and a condition", other, "something else"));
            }
        };
        let branch = number(symbols, branch, NAME)?;
        chosen = Some(match (chosen, condition) {
            (_, Tree::Bool(true)) => branch,
            (Some(otherwise), condition) => {
                let condition = boolean(symbols, condition, NAME)?;
                choose(symbols, condition, branch, otherwise)?
            }
            (None, other) => {
                return Err(wrong_sort("`Piecewise`", "`True` as its last condition", other, "a condition"));
            }
        });
    }
    chosen.ok_or_else(|| count(NAME, "one or more", operands))
}

fn round(symbols: &mut Symbols, rounding: Rounding, operand: &Tree) -> Made<SymValue> {
    match number(symbols, operand, "a rounding")? {
        SymValue::Float(inner) => logic::round(symbols, rounding, inner).map(SymValue::Int),
        whole => Ok(whole),
    }
}

fn true_div(symbols: &mut Symbols, name: &str, operands: (&Tree, &Tree)) -> Made<SymValue> {
    let (a, b) = (number(symbols, operands.0, name)?, number(symbols, operands.1, name)?);
    match (a, b) {
        (SymValue::Int(a), SymValue::Int(b)) => logic::int_true_div(symbols, a, b).map(SymValue::Float),
        (a, b) => {
            let (a, b) = (logic::to_float(symbols, a)?, logic::to_float(symbols, b)?);
            logic::float_expr(symbols, Expr::FloatTrueDiv(a, b)).map(SymValue::Float)
        }
    }
}

fn number(symbols: &mut Symbols, tree: &Tree, context: &str) -> Made<SymValue> {
    match value(symbols, tree)? {
        SymValue::Bool(_) => Err(wrong_sort(context, "a number", tree, "a boolean")),
        number => Ok(number),
    }
}

fn int(symbols: &mut Symbols, tree: &Tree, name: &str) -> Made<Dim> {
    match value(symbols, tree)? {
        SymValue::Int(dim) => Ok(dim),
        other => Err(wrong_sort(&format!("`{name}`"), "an integer", tree, other.sort())),
    }
}

fn float(symbols: &mut Symbols, tree: &Tree, name: &str) -> Made<SymFloat> {
    let inner = number(symbols, tree, name)?;
    logic::to_float(symbols, inner)
}

fn boolean(symbols: &mut Symbols, tree: &Tree, name: &str) -> Made<SymBool> {
    match value(symbols, tree)? {
        SymValue::Bool(truth) => Ok(truth),
        other => Err(wrong_sort(&format!("`{name}`"), "a boolean", tree, other.sort())),
    }
}

fn bools(symbols: &mut Symbols, trees: &[Tree], name: &str) -> Made<Vec<SymBool>> {
    trees.iter().map(|tree| boolean(symbols, tree, name)).collect()
}

fn binary<'t>(name: &str, operands: &'t [Tree]) -> Made<(&'t Tree, &'t Tree)> {
    match operands {
        [a, b] => Ok((a, b)),
        _ => Err(count(name, "two", operands)),
    }
}

fn unary<'t>(name: &str, operands: &'t [Tree]) -> Made<&'t Tree> {
    match operands {
        [a] => Ok(a),
        _ => Err(count(name, "one", operands)),
    }
}

fn count(name: &str, expected: &'static str, operands: &[Tree]) -> SymError {
    SymError::ArgumentCount { name: name.to_owned(), expected, found: operands.len() }
}

fn unknown(name: &str) -> SymError {
    SymError::UnknownFunction { name: name.to_owned() }
}

fn wrong_sort(context: &str, expected: &'static str, tree: &Tree, found_sort: &'static str) -> SymError {
    SymError::Sort { context: context.to_owned(), expected, found: print::python(tree), found_sort }
}

/// The tree of a value, as PyTorch would write it.
pub(super) fn tree_of(symbols: &Symbols, value: SymValue) -> Tree {
    match value {
        SymValue::Int(Dim::Fixed(number)) => Tree::Int(number),
        SymValue::Int(Dim::Expr(id)) | SymValue::Float(SymFloat(id)) | SymValue::Bool(SymBool(id)) => {
            tree_of_expr(symbols, id)
        }
    }
}

fn tree_of_expr(symbols: &Symbols, id: ExprId) -> Tree {
    let Some(expr) = symbols.expr(id) else { return Tree::Symbol("?".to_owned()) };
    let int = |dim: &Dim| tree_of(symbols, SymValue::Int(*dim));
    let float = |x: &SymFloat| tree_of_expr(symbols, x.0);
    let truth = |c: &SymBool| tree_of_expr(symbols, c.0);
    match expr {
        Expr::Symbol(symbol) | Expr::FloatSymbol(symbol) => Tree::Symbol(symbols.symbol_name(*symbol).to_string()),
        Expr::Poly(poly) => {
            Tree::add(poly.terms().map(|(monomial, value)| tree_of_term(symbols, monomial, value)).collect())
        }
        Expr::FloorDiv(a, b) => Tree::call("FloorDiv", [int(a), int(b)]),
        Expr::Mod(Modulus::Natural, a, b) => Tree::call("Mod", [int(a), int(b)]),
        Expr::Mod(Modulus::Python, a, b) => Tree::call("PythonMod", [int(a), int(b)]),
        Expr::Power(a, b) => Tree::call("PowByNatural", [int(a), int(b)]),
        Expr::Max(dims) => Tree::call("Max", dims.iter().map(int)),
        Expr::Min(dims) => Tree::call("Min", dims.iter().map(int)),
        Expr::Round(rounding, x) => Tree::call(rounding_name(*rounding), [float(x)]),
        Expr::Where(c, a, b) => piecewise_tree(truth(c), int(a), int(b)),
        Expr::Bitwise(operator, a, b) => Tree::call(bit_name(*operator), [int(a), int(b)]),
        Expr::FloatConst(bits) => Tree::Float(f64::from_bits(*bits)),
        Expr::ToFloat(a) => Tree::call("ToFloat", [int(a)]),
        Expr::FloatSum(xs) => Tree::Add(xs.iter().map(float).collect()),
        Expr::FloatProduct(xs) => Tree::Mul(xs.iter().map(float).map(sign_factor).collect()),
        Expr::IntTrueDiv(a, b) => Tree::call("IntTrueDiv", [int(a), int(b)]),
        Expr::FloatTrueDiv(x, y) => Tree::call("FloatTrueDiv", [float(x), float(y)]),
        Expr::FloatIntPower(x, power) => Tree::pow(float(x), Tree::Int(*power)),
        Expr::FloatPower(x, y) => Tree::call("FloatPow", [float(x), float(y)]),
        Expr::FloatMax(xs) => Tree::call("Max", xs.iter().map(float)),
        Expr::FloatMin(xs) => Tree::call("Min", xs.iter().map(float)),
        Expr::FloatCall(name, x) => Tree::call(&format!("{OPAQUE}{name}"), [float(x)]),
        Expr::TruncToFloat(x) => Tree::call("TruncToFloat", [float(x)]),
        Expr::RoundDecimal(x, a) => Tree::call("RoundDecimal", [float(x), int(a)]),
        Expr::FloatWhere(c, x, y) => piecewise_tree(truth(c), float(x), float(y)),
        Expr::BoolConst(value) => Tree::Bool(*value),
        Expr::Compare(comparison, a, b) => Tree::compare(*comparison, int(a), int(b)),
        Expr::FloatCompare(comparison, x, y) => Tree::compare(*comparison, float(x), float(y)),
        Expr::And(cs) => Tree::And(cs.iter().map(truth).collect()),
        Expr::Or(cs) => Tree::Or(cs.iter().map(truth).collect()),
        Expr::Not(c) => Tree::Not(Box::new(truth(c))),
    }
}

fn tree_of_term(symbols: &Symbols, monomial: &Monomial, value: i64) -> Tree {
    let mut factors = Vec::new();
    if value != 1 || monomial.is_one() {
        factors.push(Tree::Int(value));
    }
    for (atom, power) in monomial.factors() {
        let base = tree_of_expr(symbols, atom);
        factors.push(if power == 1 { base } else { Tree::pow(base, Tree::Int(i64::from(power))) });
    }
    Tree::mul(factors)
}

/// A factor of -1 is a sign, and is written as one.
fn sign_factor(factor: Tree) -> Tree {
    if factor == Tree::Float(-1.0) { Tree::Int(-1) } else { factor }
}

/// One level of `Piecewise`; a choice inside the last branch is a further branch.
fn piecewise_tree(condition: Tree, a: Tree, b: Tree) -> Tree {
    let pair = |value, condition| Tree::call("ExprCondPair", [value, condition]);
    let mut branches = vec![pair(a, condition)];
    match b {
        Tree::Call(name, others) if name == "Piecewise" => branches.extend(others),
        other => branches.push(pair(other, Tree::Bool(true))),
    }
    Tree::call("Piecewise", branches)
}

fn rounding_name(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::Ceil => "CeilToInt",
        Rounding::Floor => "FloorToInt",
        Rounding::Trunc => "TruncToInt",
        Rounding::Nearest => "RoundToInt",
    }
}

fn bit_name(operator: BitOperator) -> &'static str {
    match operator {
        BitOperator::And => "BitwiseFn_bitwise_and",
        BitOperator::Or => "BitwiseFn_bitwise_or",
        BitOperator::Xor => "BitwiseFn_bitwise_xor",
    }
}
