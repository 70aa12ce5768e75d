//! Trees to interned values.
//!
//! The table of functions is here: each name that PyTorch (or sympy's `srepr`) writes, with the operation that it means. A name that is
//! not in it is an error, never an opaque value: a size that is not understood must not be mistaken for one that is.

use std::sync::Arc;

use super::arith::{self, Extreme};
use super::error::SymError;
use super::expr::{BitOperator, Comparison, Dim, Expr, Modulus, Rounding, SymBool, SymFloat, SymValue};
use super::express::{OPAQUE, tree_of};
use super::logic;
use super::print;
use super::store::{Arena, Symbols};
use super::tree::Tree;

type Made<T> = Result<T, SymError>;

/// Functions of `math` that PyTorch writes as `OpaqueUnaryFn_NAME`.
pub(super) const UNARY: [&str; 16] = [
    "sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "asinh", "log2",
    "log10", "log1p",
];

/// Interns what a tree means; operands before what uses them, without recursion.
pub(super) fn value(symbols: &mut Symbols, tree: &Tree) -> Made<SymValue> {
    let mut open = vec![Step::Enter(tree)];
    let mut values: Vec<SymValue> = Vec::new();
    while let Some(step) = open.pop() {
        match step {
            Step::Enter(tree) => {
                let operands = operands(tree)?;
                open.push(Step::Leave(tree, operands.len()));
                open.extend(operands.into_iter().rev().map(Step::Enter));
            }
            Step::Leave(tree, count) => {
                let built = apply(symbols, tree, values.get(values.len().saturating_sub(count)..).unwrap_or(&[]))?;
                values.truncate(values.len().saturating_sub(count));
                values.push(built);
            }
        }
    }
    values.pop().ok_or_else(|| unknown("nothing"))
}

enum Step<'t> {
    Enter(&'t Tree),
    /// With the number of operands, whose values are then the last ones.
    Leave(&'t Tree, usize),
}

/// The operands, in order; of `Piecewise` value and condition of each branch.
fn operands(tree: &Tree) -> Made<Vec<&Tree>> {
    Ok(match tree {
        Tree::Int(_) | Tree::Rational(..) | Tree::Float(_) | Tree::Bool(_) | Tree::Infinite(_) | Tree::Symbol(_) => {
            Vec::new()
        }
        Tree::Add(operands) | Tree::Mul(operands) | Tree::And(operands) | Tree::Or(operands) => {
            operands.iter().collect()
        }
        Tree::Pow(a, b) | Tree::Compare(_, a, b) => vec![a, b],
        Tree::Not(operand) => vec![operand],
        Tree::Call(name, branches) if name == "Piecewise" => {
            let mut parts = Vec::new();
            for branch in branches {
                match branch {
                    Tree::Call(pair, both) if pair == "ExprCondPair" && both.len() == 2 => parts.extend(both),
                    other => {
                        return Err(SymError::Sort {
                            context: "`Piecewise`".to_owned(),
                            expected: "pairs of a value and a condition",
                            found: print::python(other.clone()),
                            found_sort: "something else",
                        });
                    }
                }
            }
            parts
        }
        Tree::Call(_, operands) => operands.iter().collect(),
    })
}

/// What a node means, given the values of its operands.
fn apply(symbols: &mut Symbols, tree: &Tree, values: &[SymValue]) -> Made<SymValue> {
    match tree {
        Tree::Int(number) => Ok(SymValue::Int(Dim::Fixed(*number))),
        Tree::Rational(p, q) => logic::constant(symbols, *p as f64 / *q as f64).map(SymValue::Float),
        Tree::Float(number) => logic::constant(symbols, *number).map(SymValue::Float),
        Tree::Bool(truth) => logic::truth(symbols, *truth).map(SymValue::Bool),
        Tree::Infinite(_) => Err(SymError::Infinite { text: print::python(tree.clone()) }),
        Tree::Symbol(name) => symbol(symbols, name),
        Tree::Add(_) => sum(symbols, values),
        Tree::Mul(_) => product(symbols, values),
        Tree::Pow(..) => {
            let (base, exponent) = binary("a power", values)?;
            power(symbols, base, exponent)
        }
        Tree::Compare(comparison, ..) => {
            let (a, b) = binary("a comparison", values)?;
            let (a, b) = (number(symbols, a, "a comparison")?, number(symbols, b, "a comparison")?);
            compare(symbols, *comparison, a, b).map(SymValue::Bool)
        }
        Tree::And(_) => {
            let operands = bools(symbols, values, "and")?;
            logic::and(symbols, &operands).map(SymValue::Bool)
        }
        Tree::Or(_) => {
            let operands = bools(symbols, values, "or")?;
            logic::or(symbols, &operands).map(SymValue::Bool)
        }
        Tree::Not(_) => complement(symbols, unary("~", values)?),
        Tree::Call(name, _) => call(symbols, name, values),
    }
}

fn complement(symbols: &mut Symbols, operand: SymValue) -> Made<SymValue> {
    match operand {
        SymValue::Bool(truth) => logic::not(symbols, truth).map(SymValue::Bool),
        SymValue::Int(dim) => {
            let negative = arith::neg(symbols, dim)?;
            arith::sub(symbols, negative, Dim::Fixed(1)).map(SymValue::Int)
        }
        SymValue::Float(_) => Err(wrong_sort(symbols, "`~`", "a boolean", operand)),
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

/// A sum: of integers canonical, else of floats as written.
fn sum(symbols: &mut Symbols, values: &[SymValue]) -> Made<SymValue> {
    match all_ints(values) {
        Some(dims) => arith::sum(symbols, &dims).map(SymValue::Int),
        None => {
            let floats = floats(symbols, values, "a sum")?;
            logic::sum(symbols, floats).map(SymValue::Float)
        }
    }
}

fn product(symbols: &mut Symbols, values: &[SymValue]) -> Made<SymValue> {
    match all_ints(values) {
        Some(dims) => dims
            .into_iter()
            .try_fold(Dim::Fixed(1), |product, dim| arith::mul(symbols, product, dim))
            .map(SymValue::Int),
        None => {
            let floats = floats(symbols, values, "a product")?;
            logic::product(symbols, floats).map(SymValue::Float)
        }
    }
}

fn all_ints(values: &[SymValue]) -> Option<Vec<Dim>> {
    values.iter().map(SymValue::as_int).collect()
}

fn floats(symbols: &mut Symbols, values: &[SymValue], context: &str) -> Made<Vec<SymFloat>> {
    values.iter().map(|value| float(symbols, *value, context)).collect()
}

fn power(symbols: &mut Symbols, base: SymValue, exponent: SymValue) -> Made<SymValue> {
    let (base, exponent) = (number(symbols, base, "a power")?, number(symbols, exponent, "a power")?);
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

fn call(symbols: &mut Symbols, name: &str, values: &[SymValue]) -> Made<SymValue> {
    let name = name.strip_prefix("torch.").unwrap_or(name);
    match binary_operation(name) {
        Some(operation) => {
            let (a, b) = binary(name, values)?;
            let (a, b) = (int(symbols, a, name)?, int(symbols, b, name)?);
            operation(symbols, a, b).map(SymValue::Int)
        }
        None => other_call(symbols, name, values),
    }
}

type Operation = fn(&mut Symbols, Dim, Dim) -> Made<Dim>;

/// Functions of two integers that give an integer.
fn binary_operation(name: &str) -> Option<Operation> {
    Some(match name {
        "FloorDiv" | "CleanDiv" => arith::floordiv,
        "CeilDiv" => arith::ceildiv,
        "%" => arith::modulo,
        "Mod" => |s, a, b| arith::modulo_as(s, Modulus::Natural, a, b),
        "PythonMod" => |s, a, b| arith::modulo_as(s, Modulus::Python, a, b),
        "PowByNatural" => arith::power,
        "LShift" => arith::shift_left,
        "RShift" => arith::shift_right,
        "BitwiseFn_bitwise_and" => |s, a, b| arith::bitwise(s, BitOperator::And, a, b),
        "BitwiseFn_bitwise_or" => |s, a, b| arith::bitwise(s, BitOperator::Or, a, b),
        "BitwiseFn_bitwise_xor" => |s, a, b| arith::bitwise(s, BitOperator::Xor, a, b),
        _ => return None,
    })
}

fn other_call(symbols: &mut Symbols, name: &str, values: &[SymValue]) -> Made<SymValue> {
    let one = || unary(name, values);
    match name {
        "&" | "|" | "^" => of_either_sort(symbols, name, binary(name, values)?),
        "Xor" => of_either_sort(symbols, "^", binary(name, values)?),
        "ModularIndexing" => {
            let [a, b, c] = values else { return Err(count(name, "three", values)) };
            let (a, b, c) = (int(symbols, *a, name)?, int(symbols, *b, name)?, int(symbols, *c, name)?);
            let quotient = arith::floordiv(symbols, a, b)?;
            arith::modulo(symbols, quotient, c).map(SymValue::Int)
        }
        "Max" | "sym_max" => extreme(symbols, name, Extreme::Max, values),
        "Min" | "sym_min" => extreme(symbols, name, Extreme::Min, values),
        "Abs" | "abs" => {
            let dim = int(symbols, one()?, name)?;
            let negative = arith::neg(symbols, dim)?;
            arith::extreme(symbols, Extreme::Max, &[dim, negative]).map(SymValue::Int)
        }
        "Identity" => one(),
        "Where" | "sym_ite" => {
            let [condition, a, b] = values else { return Err(count(name, "three", values)) };
            choose(symbols, name, *condition, *a, *b)
        }
        "Piecewise" => piecewise(symbols, values),
        "sym_not" => {
            let truth = boolean(symbols, one()?, name)?;
            logic::not(symbols, truth).map(SymValue::Bool)
        }
        "CeilToInt" | "math.ceil" | "ceiling" => round(symbols, Rounding::Ceil, one()?),
        "FloorToInt" | "math.floor" | "floor" => round(symbols, Rounding::Floor, one()?),
        "TruncToInt" | "math.trunc" | "trunc" => round(symbols, Rounding::Trunc, one()?),
        "RoundToInt" | "round" => round(symbols, Rounding::Nearest, one()?),
        "IntTrueDiv" | "FloatTrueDiv" | "/" => true_div(symbols, name, binary(name, values)?),
        _ => float_call(symbols, name, values).map(SymValue::Float),
    }
}

/// Functions that give a float.
fn float_call(symbols: &mut Symbols, name: &str, values: &[SymValue]) -> Made<SymFloat> {
    let one = || unary(name, values);
    match name {
        "ToFloat" | "float" | "sym_float" => float(symbols, one()?, name),
        "TruncToFloat" => {
            let inner = float(symbols, one()?, name)?;
            logic::float_expr(symbols, Expr::TruncToFloat(inner))
        }
        "RoundDecimal" => {
            let (a, b) = binary(name, values)?;
            let (x, digits) = (float(symbols, a, name)?, int(symbols, b, name)?);
            logic::float_expr(symbols, Expr::RoundDecimal(x, digits))
        }
        "FloatPow" => {
            let (a, b) = binary(name, values)?;
            let (x, y) = (float(symbols, a, name)?, float(symbols, b, name)?);
            logic::power(symbols, x, y)
        }
        _ => {
            let function = name.strip_prefix(OPAQUE).or(name.strip_prefix("math.")).unwrap_or(name);
            let function = UNARY.iter().find(|known| **known == function).ok_or_else(|| unknown(name))?;
            let inner = float(symbols, one()?, name)?;
            logic::float_expr(symbols, Expr::FloatCall(Arc::from(*function), inner))
        }
    }
}

/// An operator that works on booleans and on the bits of integers.
fn of_either_sort(symbols: &mut Symbols, name: &str, operands: (SymValue, SymValue)) -> Made<SymValue> {
    match operands {
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
        (SymValue::Bool(_), other) => Err(wrong_sort(symbols, &quoted(name), "a boolean", other)),
        (SymValue::Int(_), other) => Err(wrong_sort(symbols, &quoted(name), "an integer", other)),
        (other, _) => Err(wrong_sort(symbols, &quoted(name), "a boolean", other)),
    }
}

fn extreme(symbols: &mut Symbols, name: &str, which: Extreme, values: &[SymValue]) -> Made<SymValue> {
    if let Some(dims) = all_ints(values) {
        return arith::extreme(symbols, which, &dims).map(SymValue::Int);
    }
    let floats = floats(symbols, values, &quoted(name))?.into_boxed_slice();
    let expr = if which == Extreme::Max { Expr::FloatMax(floats) } else { Expr::FloatMin(floats) };
    logic::float_expr(symbols, expr).map(SymValue::Float)
}

fn choose(symbols: &mut Symbols, name: &str, condition: SymValue, a: SymValue, b: SymValue) -> Made<SymValue> {
    let condition = boolean(symbols, condition, name)?;
    match (number(symbols, a, &quoted(name))?, number(symbols, b, &quoted(name))?) {
        (SymValue::Int(a), SymValue::Int(b)) => logic::choose(symbols, condition, a, b).map(SymValue::Int),
        (a, b) => {
            let (a, b) = (logic::to_float(symbols, a)?, logic::to_float(symbols, b)?);
            logic::choose_float(symbols, condition, a, b).map(SymValue::Float)
        }
    }
}

/// `Piecewise((a, condition), (b, True))`, which is how PyTorch writes `torch.sym_ite`; the last condition must be `True`.
fn piecewise(symbols: &mut Symbols, values: &[SymValue]) -> Made<SymValue> {
    const NAME: &str = "Piecewise";
    let mut chosen: Option<SymValue> = None;
    for branch in values.rchunks(2) {
        let (value, condition) = binary(NAME, branch)?;
        let truth = boolean(symbols, condition, NAME)?;
        let always = matches!(symbols.expr(truth.0), Some(Expr::BoolConst(true)));
        chosen = Some(match chosen {
            _ if always => number(symbols, value, &quoted(NAME))?,
            Some(otherwise) => choose(symbols, NAME, condition, value, otherwise)?,
            None => return Err(wrong_sort(symbols, &quoted(NAME), "`True` as its last condition", condition)),
        });
    }
    chosen.ok_or_else(|| count(NAME, "one or more", values))
}

fn round(symbols: &mut Symbols, rounding: Rounding, operand: SymValue) -> Made<SymValue> {
    match number(symbols, operand, "a rounding")? {
        SymValue::Float(inner) => logic::round(symbols, rounding, inner).map(SymValue::Int),
        whole => Ok(whole),
    }
}

fn true_div(symbols: &mut Symbols, name: &str, operands: (SymValue, SymValue)) -> Made<SymValue> {
    let context = quoted(name);
    match (number(symbols, operands.0, &context)?, number(symbols, operands.1, &context)?) {
        (SymValue::Int(a), SymValue::Int(b)) => logic::int_true_div(symbols, a, b).map(SymValue::Float),
        (a, b) => {
            let (a, b) = (logic::to_float(symbols, a)?, logic::to_float(symbols, b)?);
            logic::float_expr(symbols, Expr::FloatTrueDiv(a, b)).map(SymValue::Float)
        }
    }
}

fn number(symbols: &Symbols, value: SymValue, context: &str) -> Made<SymValue> {
    match value {
        SymValue::Bool(_) => Err(wrong_sort(symbols, context, "a number", value)),
        number => Ok(number),
    }
}

fn int(symbols: &Symbols, value: SymValue, name: &str) -> Made<Dim> {
    value.as_int().ok_or_else(|| wrong_sort(symbols, &quoted(name), "an integer", value))
}

fn float(symbols: &mut Symbols, value: SymValue, context: &str) -> Made<SymFloat> {
    let inner = number(symbols, value, context)?;
    logic::to_float(symbols, inner)
}

fn boolean(symbols: &Symbols, value: SymValue, name: &str) -> Made<SymBool> {
    match value {
        SymValue::Bool(truth) => Ok(truth),
        other => Err(wrong_sort(symbols, &quoted(name), "a boolean", other)),
    }
}

fn bools(symbols: &Symbols, values: &[SymValue], name: &str) -> Made<Vec<SymBool>> {
    values.iter().map(|value| boolean(symbols, *value, name)).collect()
}

fn binary(name: &str, values: &[SymValue]) -> Made<(SymValue, SymValue)> {
    match values {
        [a, b] => Ok((*a, *b)),
        _ => Err(count(name, "two", values)),
    }
}

fn unary(name: &str, values: &[SymValue]) -> Made<SymValue> {
    match values {
        [a] => Ok(*a),
        _ => Err(count(name, "one", values)),
    }
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

fn count(name: &str, expected: &'static str, values: &[SymValue]) -> SymError {
    SymError::ArgumentCount { name: name.to_owned(), expected, found: values.len() }
}

fn unknown(name: &str) -> SymError {
    SymError::UnknownFunction { name: name.to_owned() }
}

fn wrong_sort(symbols: &Symbols, context: &str, expected: &'static str, value: SymValue) -> SymError {
    let found = print::python(tree_of(symbols, value));
    SymError::Sort { context: context.to_owned(), expected, found, found_sort: value.sort() }
}
