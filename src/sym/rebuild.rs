//! Building an expression anew: with other values for symbols, from another arena, or in another normal form.
//!
//! Promise: every operand is built before its user, each once; recursion is bounded by the arena's depth.

use rustc_hash::FxHashMap;

use super::arith::{self, Extreme};
use super::error::SymError;
use super::expr::{Dim, Expr, ExprId, SymBool, SymFloat, SymValue};
use super::logic;
use super::poly::Poly;
use super::store::{Arena, Symbols};

type Made<T> = Result<T, SymError>;

/// What a symbol becomes.
enum Leaves<'a> {
    Substitute(&'a dyn Fn(&str) -> Option<Dim>),
    Import(&'a Symbols),
}

pub(super) struct Rebuild<'a> {
    target: &'a mut Symbols,
    leaves: Leaves<'a>,
    done: FxHashMap<ExprId, SymValue>,
}

impl<'a> Rebuild<'a> {
    pub(super) fn within(target: &'a mut Symbols, with: &'a dyn Fn(&str) -> Option<Dim>) -> Rebuild<'a> {
        Rebuild { target, leaves: Leaves::Substitute(with), done: FxHashMap::default() }
    }

    pub(super) fn from(target: &'a mut Symbols, source: &'a Symbols) -> Rebuild<'a> {
        Rebuild { target, leaves: Leaves::Import(source), done: FxHashMap::default() }
    }

    fn source(&self) -> &Symbols {
        match &self.leaves {
            Leaves::Substitute(_) => self.target,
            Leaves::Import(source) => source,
        }
    }

    pub(super) fn value(&mut self, value: SymValue) -> Made<SymValue> {
        let id = match value {
            SymValue::Int(Dim::Fixed(_)) => return Ok(value),
            SymValue::Int(Dim::Expr(id)) | SymValue::Float(SymFloat(id)) | SymValue::Bool(SymBool(id)) => id,
        };
        if let Some(done) = self.done.get(&id) {
            return Ok(*done);
        }
        let built = self.expr(id)?;
        self.done.insert(id, built);
        Ok(built)
    }

    fn dim(&mut self, dim: Dim) -> Made<Dim> {
        match self.value(SymValue::Int(dim))? {
            SymValue::Int(built) => Ok(built),
            SymValue::Float(SymFloat(id)) | SymValue::Bool(SymBool(id)) => Err(SymError::Foreign { id: id.0 }),
        }
    }

    fn float(&mut self, float: SymFloat) -> Made<SymFloat> {
        let built = self.value(SymValue::Float(float))?;
        logic::to_float(self.target, built)
    }

    fn truth(&mut self, truth: SymBool) -> Made<SymBool> {
        match self.value(SymValue::Bool(truth))? {
            SymValue::Bool(built) => Ok(built),
            SymValue::Int(_) | SymValue::Float(_) => Err(SymError::Foreign { id: truth.0.0 }),
        }
    }

    fn dims(&mut self, dims: &[Dim]) -> Made<Vec<Dim>> {
        dims.iter().map(|dim| self.dim(*dim)).collect()
    }

    fn floats(&mut self, floats: &[SymFloat]) -> Made<Box<[SymFloat]>> {
        floats.iter().map(|float| self.float(*float)).collect()
    }

    fn truths(&mut self, truths: &[SymBool]) -> Made<Vec<SymBool>> {
        truths.iter().map(|truth| self.truth(*truth)).collect()
    }

    fn symbol(&mut self, id: ExprId, name: &str) -> Made<Dim> {
        match &self.leaves {
            Leaves::Substitute(with) => Ok(with(name).unwrap_or(Dim::Expr(id))),
            Leaves::Import(source) => {
                let range = source.declared_range(name);
                match (self.target.find_symbol(name), range) {
                    (Some(known), _) => Ok(known),
                    (None, Some(range)) => {
                        self.target.set_range(name, range)?;
                        if let Some(believed) = source.believed_range(name).filter(|b| *b != range) {
                            self.target.believe(name, believed);
                        }
                        Ok(self.target.symbol(name))
                    }
                    (None, None) => Ok(self.target.symbol(name)),
                }
            }
        }
    }

    fn expr(&mut self, id: ExprId) -> Made<SymValue> {
        let expr = self.source().expr_or_err(id)?.clone();
        match &expr {
            Expr::Symbol(symbol) => {
                let name = self.source().symbol_name(*symbol);
                self.symbol(id, &name).map(SymValue::Int)
            }
            Expr::Poly(_)
            | Expr::FloorDiv(..)
            | Expr::Mod(..)
            | Expr::Power(..)
            | Expr::Max(_)
            | Expr::Min(_)
            | Expr::Round(..)
            | Expr::Where(..)
            | Expr::Bitwise(..) => self.int_expr(&expr).map(SymValue::Int),
            Expr::BoolConst(_)
            | Expr::Compare(..)
            | Expr::FloatCompare(..)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_) => self.bool_expr(&expr).map(SymValue::Bool),
            _ => self.float_expr(&expr).map(SymValue::Float),
        }
    }

    fn int_expr(&mut self, expr: &Expr) -> Made<Dim> {
        match expr {
            Expr::Poly(poly) => self.poly(poly),
            Expr::FloorDiv(a, b) => {
                let (a, b) = (self.dim(*a)?, self.dim(*b)?);
                arith::floordiv(self.target, a, b)
            }
            Expr::Mod(spelling, a, b) => {
                let (a, b) = (self.dim(*a)?, self.dim(*b)?);
                arith::modulo_as(self.target, *spelling, a, b)
            }
            Expr::Power(a, b) => {
                let (a, b) = (self.dim(*a)?, self.dim(*b)?);
                arith::power(self.target, a, b)
            }
            Expr::Max(dims) => {
                let dims = self.dims(dims)?;
                arith::extreme(self.target, Extreme::Max, &dims)
            }
            Expr::Min(dims) => {
                let dims = self.dims(dims)?;
                arith::extreme(self.target, Extreme::Min, &dims)
            }
            Expr::Round(rounding, x) => {
                let x = self.float(*x)?;
                logic::round(self.target, *rounding, x)
            }
            Expr::Where(c, a, b) => {
                let (c, a, b) = (self.truth(*c)?, self.dim(*a)?, self.dim(*b)?);
                logic::choose(self.target, c, a, b)
            }
            Expr::Bitwise(operator, a, b) => {
                let (a, b) = (self.dim(*a)?, self.dim(*b)?);
                arith::bitwise(self.target, *operator, a, b)
            }
            other => self.target.int(other.clone()),
        }
    }

    fn poly(&mut self, poly: &Poly) -> Made<Dim> {
        let mut sum = Poly::default();
        for (monomial, value) in poly.terms() {
            let mut term = Poly::constant(value);
            for (atom, power) in monomial.factors() {
                let built = self.dim(Dim::Expr(atom))?;
                let factor = arith::poly_of(self.target, built)?.raised(power)?;
                term = term.times(&factor)?;
            }
            sum = sum.plus(&term)?;
        }
        arith::from_poly(self.target, sum)
    }

    fn bool_expr(&mut self, expr: &Expr) -> Made<SymBool> {
        match expr {
            Expr::Compare(comparison, a, b) => {
                let (a, b) = (self.dim(*a)?, self.dim(*b)?);
                logic::compare(self.target, *comparison, a, b)
            }
            Expr::FloatCompare(comparison, x, y) => {
                let (x, y) = (self.float(*x)?, self.float(*y)?);
                logic::compare_floats(self.target, *comparison, x, y)
            }
            Expr::And(operands) => {
                let operands = self.truths(operands)?;
                logic::and(self.target, &operands)
            }
            Expr::Or(operands) => {
                let operands = self.truths(operands)?;
                logic::or(self.target, &operands)
            }
            Expr::Not(operand) => {
                let operand = self.truth(*operand)?;
                logic::not(self.target, operand)
            }
            other => self.target.intern(other.clone()).map(SymBool),
        }
    }

    fn float_expr(&mut self, expr: &Expr) -> Made<SymFloat> {
        let built = match expr {
            Expr::FloatSymbol(symbol) => {
                let name = self.source().symbol_name(*symbol);
                Expr::FloatSymbol(self.target.symbol_id(&name))
            }
            Expr::ToFloat(a) => {
                let a = self.dim(*a)?;
                return logic::to_float(self.target, SymValue::Int(a));
            }
            Expr::FloatSum(xs) => Expr::FloatSum(self.floats(xs)?),
            Expr::FloatProduct(xs) => Expr::FloatProduct(self.floats(xs)?),
            Expr::IntTrueDiv(a, b) => {
                let (a, b) = (self.dim(*a)?, self.dim(*b)?);
                return logic::int_true_div(self.target, a, b);
            }
            Expr::FloatTrueDiv(x, y) => Expr::FloatTrueDiv(self.float(*x)?, self.float(*y)?),
            Expr::FloatIntPower(x, power) => Expr::FloatIntPower(self.float(*x)?, *power),
            Expr::FloatPower(x, y) => Expr::FloatPower(self.float(*x)?, self.float(*y)?),
            Expr::FloatMax(xs) => Expr::FloatMax(self.floats(xs)?),
            Expr::FloatMin(xs) => Expr::FloatMin(self.floats(xs)?),
            Expr::FloatCall(name, x) => Expr::FloatCall(name.clone(), self.float(*x)?),
            Expr::TruncToFloat(x) => Expr::TruncToFloat(self.float(*x)?),
            Expr::RoundDecimal(x, digits) => Expr::RoundDecimal(self.float(*x)?, self.dim(*digits)?),
            Expr::FloatWhere(c, x, y) => {
                let (c, x, y) = (self.truth(*c)?, self.float(*x)?, self.float(*y)?);
                return logic::choose_float(self.target, c, x, y);
            }
            other => other.clone(),
        };
        logic::float_expr(self.target, built)
    }
}
