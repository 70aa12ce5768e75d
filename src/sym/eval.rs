//! Values of expressions for given values of the symbols.
//!
//! Promise: what is computed is what Python computes for PyTorch's program, or an error: no step wraps or saturates. Recursion is
//! bounded by the arena's limits on depth and size.

use super::arith::bits;
use super::error::SymError;
use super::expr::{Dim, Expr, ExprId, SymBool, SymFloat, SymValue, SymbolId};
use super::logic::rounded;
use super::range::{floor_div, floor_mod};
use super::store::{Arena, Symbols};

/// Values for symbols of one [`Symbols`].
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Bindings {
    values: Vec<Option<i64>>,
}

impl Bindings {
    /// No values.
    pub fn new() -> Bindings {
        Bindings::default()
    }

    /// The value of a symbol, where it has one.
    pub fn get(&self, symbols: &Symbols, name: &str) -> Option<i64> {
        let Some(Dim::Expr(id)) = symbols.find_symbol(name) else { return None };
        match symbols.expr(id) {
            Some(Expr::Symbol(symbol)) => self.of(*symbol),
            _ => None,
        }
    }

    fn of(&self, symbol: SymbolId) -> Option<i64> {
        self.values.get(symbol.index()).copied().flatten()
    }

    /// Gives a symbol a value, and the value that it had.
    pub(super) fn set(&mut self, symbol: SymbolId, value: i64) -> Option<i64> {
        if self.values.len() <= symbol.index() {
            self.values.resize(symbol.index().saturating_add(1), None);
        }
        self.values.get_mut(symbol.index()).and_then(|slot| slot.replace(value))
    }
}

/// What a symbolic value comes to.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A boolean.
    Bool(bool),
}

pub(super) struct Evaluator<'a> {
    pub(super) symbols: &'a Symbols,
    pub(super) bindings: &'a Bindings,
}

type Value<T> = Result<T, SymError>;

impl Evaluator<'_> {
    pub(super) fn value(&self, value: SymValue) -> Value<Number> {
        match value {
            SymValue::Int(dim) => self.int(dim).map(Number::Int),
            SymValue::Float(float) => self.float(float).map(Number::Float),
            SymValue::Bool(truth) => self.truth(truth).map(Number::Bool),
        }
    }

    pub(super) fn int(&self, dim: Dim) -> Value<i64> {
        match dim {
            Dim::Fixed(value) => Ok(value),
            Dim::Expr(id) => self.int_expr(id),
        }
    }

    fn int_expr(&self, id: ExprId) -> Value<i64> {
        match self.symbols.expr_or_err(id)? {
            Expr::Symbol(symbol) => {
                let unbound = || SymError::Unbound { name: self.symbols.symbol_name(*symbol).to_string() };
                self.bindings.of(*symbol).ok_or_else(unbound)
            }
            Expr::Poly(poly) => {
                let mut sum = 0i128;
                for (monomial, coefficient) in poly.terms() {
                    let mut product = i128::from(coefficient);
                    for (atom, power) in monomial.factors() {
                        let factor = checked_pow(self.int_expr(atom)?.into(), power.into())?;
                        product = product.checked_mul(factor).ok_or(overflow("a product"))?;
                    }
                    sum = sum.checked_add(product).ok_or(overflow("a sum"))?;
                }
                i64::try_from(sum).map_err(|_| overflow("a sum"))
            }
            Expr::FloorDiv(a, b) => divide(self.int(*a)?, self.int(*b)?, "a floor division", floor_div),
            Expr::Mod(_, a, b) => divide(self.int(*a)?, self.int(*b)?, "a remainder", floor_mod),
            Expr::Power(a, b) => {
                let (base, exponent) = (self.int(*a)?, self.int(*b)?);
                let exponent = u64::try_from(exponent).map_err(|_| SymError::NegativeExponent { exponent })?;
                i64::try_from(checked_pow(base.into(), exponent)?).map_err(|_| overflow("a power"))
            }
            Expr::Max(dims) => self.extreme(dims, i64::max),
            Expr::Min(dims) => self.extreme(dims, i64::min),
            Expr::Round(rounding, x) => rounded(*rounding, self.float(*x)?),
            Expr::Where(c, a, b) => self.int(if self.truth(*c)? { *a } else { *b }),
            Expr::Bitwise(operator, a, b) => Ok(bits(*operator, self.int(*a)?, self.int(*b)?)),
            _ => Err(SymError::Foreign { id: id.0 }),
        }
    }

    fn extreme(&self, dims: &[Dim], choose: fn(i64, i64) -> i64) -> Value<i64> {
        let (first, rest) = dims.split_first().ok_or(overflow("an empty maximum"))?;
        rest.iter().try_fold(self.int(*first)?, |chosen, dim| Ok(choose(chosen, self.int(*dim)?)))
    }

    pub(super) fn float(&self, float: SymFloat) -> Value<f64> {
        match self.symbols.expr_or_err(float.0)? {
            Expr::FloatConst(bits) => Ok(f64::from_bits(*bits)),
            Expr::FloatSymbol(symbol) => Err(SymError::Unbound { name: self.symbols.symbol_name(*symbol).to_string() }),
            Expr::ToFloat(a) => Ok(self.int(*a)? as f64),
            Expr::FloatSum(xs) => self.fold(xs, |a, b| a + b),
            Expr::FloatProduct(xs) => self.fold(xs, |a, b| a * b),
            Expr::IntTrueDiv(a, b) => {
                let (a, b) = (self.int(*a)?, self.int(*b)?);
                if b == 0 {
                    return Err(SymError::DivisionByZero { operation: "a true division" });
                }
                Ok(a as f64 / b as f64)
            }
            Expr::FloatTrueDiv(x, y) => {
                let (x, y) = (self.float(*x)?, self.float(*y)?);
                if y == 0.0 { Err(SymError::DivisionByZero { operation: "a float division" }) } else { Ok(x / y) }
            }
            Expr::FloatIntPower(x, power) => Ok(self.float(*x)?.powf(*power as f64)),
            Expr::FloatPower(x, y) => Ok(self.float(*x)?.powf(self.float(*y)?)),
            Expr::FloatMax(xs) => self.fold(xs, |a, b| if b > a { b } else { a }),
            Expr::FloatMin(xs) => self.fold(xs, |a, b| if b < a { b } else { a }),
            Expr::FloatCall(name, x) => math(name, self.float(*x)?),
            Expr::TruncToFloat(x) => Ok(self.float(*x)?.trunc()),
            Expr::RoundDecimal(x, digits) => round_decimal(self.float(*x)?, self.int(*digits)?),
            Expr::FloatWhere(c, x, y) => self.float(if self.truth(*c)? { *x } else { *y }),
            _ => Err(SymError::Foreign { id: float.0.0 }),
        }
    }

    fn fold(&self, operands: &[SymFloat], combine: fn(f64, f64) -> f64) -> Value<f64> {
        let (first, rest) = operands.split_first().ok_or(overflow("an empty sum"))?;
        rest.iter().try_fold(self.float(*first)?, |sum, x| Ok(combine(sum, self.float(*x)?)))
    }

    pub(super) fn truth(&self, truth: SymBool) -> Value<bool> {
        match self.symbols.expr_or_err(truth.0)? {
            Expr::BoolConst(value) => Ok(*value),
            Expr::Compare(comparison, a, b) => Ok(comparison.holds(Some(self.int(*a)?.cmp(&self.int(*b)?)))),
            Expr::FloatCompare(comparison, x, y) => Ok(comparison.holds(self.float(*x)?.partial_cmp(&self.float(*y)?))),
            Expr::And(operands) => operands.iter().try_fold(true, |all, operand| Ok(all & self.truth(*operand)?)),
            Expr::Or(operands) => operands.iter().try_fold(false, |any, operand| Ok(any | self.truth(*operand)?)),
            Expr::Not(operand) => Ok(!self.truth(*operand)?),
            _ => Err(SymError::Foreign { id: truth.0.0 }),
        }
    }
}

fn overflow(operation: &'static str) -> SymError {
    SymError::Overflow { operation }
}

fn divide(a: i64, b: i64, operation: &'static str, by: fn(i64, i64) -> Option<i64>) -> Value<i64> {
    if b == 0 {
        return Err(SymError::DivisionByZero { operation });
    }
    by(a, b).ok_or(SymError::Overflow { operation })
}

fn checked_pow(base: i128, exponent: u64) -> Value<i128> {
    match (base, exponent) {
        (_, 0) | (1, _) => Ok(1),
        (0, _) => Ok(0),
        (-1, _) => Ok(if exponent.is_multiple_of(2) { 1 } else { -1 }),
        _ => u32::try_from(exponent).ok().and_then(|exponent| base.checked_pow(exponent)).ok_or(overflow("a power")),
    }
}

fn math(name: &str, x: f64) -> Value<f64> {
    Ok(match name {
        "sqrt" => x.sqrt(),
        "cos" => x.cos(),
        "cosh" => x.cosh(),
        "sin" => x.sin(),
        "sinh" => x.sinh(),
        "tan" => x.tan(),
        "tanh" => x.tanh(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "asinh" => x.asinh(),
        "exp" => x.exp(),
        "log" => x.ln(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        "log1p" => x.ln_1p(),
        _ => return Err(SymError::UnknownFunction { name: name.to_owned() }),
    })
}

/// `round(x, digits)` as Python has it: the decimal that is nearest, ties by the exact value.
fn round_decimal(x: f64, digits: i64) -> Value<f64> {
    if !x.is_finite() {
        return Ok(x);
    }
    match usize::try_from(digits) {
        Ok(digits) if digits > 400 => Ok(x),
        Ok(digits) => Ok(format!("{x:.digits$}").parse().unwrap_or(x)),
        Err(_) => {
            let scale = 10f64.powi(i32::try_from(digits.saturating_neg()).unwrap_or(400).min(400));
            Ok(if scale.is_finite() { (x / scale).round_ties_even() * scale } else { 0.0 })
        }
    }
}
