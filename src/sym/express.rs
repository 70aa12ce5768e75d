//! Interned values as trees: the spelling that PyTorch has for each expression.

use super::expr::{BitOperator, Dim, Expr, ExprId, Modulus, Rounding, SymBool, SymFloat, SymValue};
use super::poly::Monomial;
use super::store::{Arena, Symbols};
use super::tree::Tree;

/// What PyTorch puts before the name of a function of `math`.
pub(super) const OPAQUE: &str = "OpaqueUnaryFn_";

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
