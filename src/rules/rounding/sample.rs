//! How large elements become: expressions computed at points of a box.
//!
//! Promises: what is returned is the magnitude of some element for some values of the sources; 0 where that was too much work.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op, SourceId};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::rounding::Box;
use crate::rules::rounding::forward::Free;
use crate::rules::table::{Real, real};
use crate::sym::{floor_div, floor_mod};

/// At how many points.
const POINTS: u64 = 64;
/// How many elements may be computed for one point.
const WORK: usize = 20_000;
/// How deep expressions may be.
const DEPTH: usize = 256;

/// Returns the largest magnitude of an element at some points of a box.
pub fn largest(e: &Elements, root: ExprId, sources: Box<'_>, sizes: &[i64]) -> f64 {
    let order = e.below(root);
    let free = super::forward::free(e, &order);
    let mut most: f64 = 0.0;
    for point in 0..POINTS {
        let vars = sizes.iter().zip(1..).map(|(n, k)| pick(point, k, *n)).collect();
        let mut at = Point {
            e,
            sources,
            free: &free,
            seed: point,
            vars,
            bounds: FxHashMap::default(),
            known: FxHashMap::default(),
            work: WORK,
        };
        match at.value(root, DEPTH) {
            Some(v) if v.is_finite() => most = most.max(v.abs()),
            _ => return 0.0,
        }
    }
    most
}

fn mix(v: u64) -> u64 {
    let z = v.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn pick(seed: u64, k: u64, n: i64) -> i64 {
    let n = u64::try_from(n).unwrap_or(1).max(1);
    i64::try_from(mix(mix(seed).wrapping_add(k)).checked_rem(n).unwrap_or(0)).unwrap_or(0)
}

struct Point<'p> {
    e: &'p Elements,
    sources: Box<'p>,
    free: &'p FxHashMap<ExprId, Free>,
    seed: u64,
    vars: Vec<i64>,
    bounds: FxHashMap<u32, i64>,
    known: FxHashMap<(ExprId, SmallVec<[i64; 2]>), f64>,
    work: usize,
}

impl Point<'_> {
    fn value(&mut self, id: ExprId, depth: usize) -> Option<f64> {
        let depth = depth.checked_sub(1)?;
        let own = self.free.get(&id)?;
        let key = (id, own.iter().map(|(l, _)| self.bounds.get(l).copied().unwrap_or(0)).collect());
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        self.work = self.work.checked_sub(1)?;
        let value = self.made(self.e.expr(id)?, depth)?;
        self.known.insert(key, value);
        Some(value)
    }

    #[allow(clippy::cast_precision_loss)]
    fn made(&mut self, expr: &Expr, depth: usize) -> Option<f64> {
        let truth = |b: bool| f64::from(u8::from(b));
        Some(match &expr.form {
            Form::Const(v) if expr.dtype.is_float() => f64::from_bits(v.cast_unsigned()),
            Form::Const(v) => *v as f64,
            Form::Number(bits) => f64::from_bits(*bits),
            Form::Load(source, at) => {
                let at: Vec<i64> = at.iter().map(|i| self.index(*i, depth)).collect::<Option<_>>()?;
                self.element(*source, &at, expr)?
            }
            Form::Index(i) => self.index(*i, depth)? as f64,
            Form::AtLeastZero(i) => truth(self.index(*i, depth)? >= 0),
            Form::IsZero(i) => truth(self.index(*i, depth)? == 0),
            Form::Op(op) => self.operator(*op, expr, depth)?,
            Form::Named(target, _) => {
                let function = real(target)?;
                apply(function, self.value(*expr.kids.first()?, depth)?)
            }
            Form::Reduce(fold, level, sizes) => {
                let sizes: Vec<i64> = sizes.iter().map(|d| self.e.size_now(*d)).collect::<Option<_>>()?;
                self.reduced(*fold, *level, &sizes, *expr.kids.first()?, depth)?
            }
            Form::Poly(_) => return None,
        })
    }

    fn element(&self, source: SourceId, at: &[i64], expr: &Expr) -> Option<f64> {
        let range = (self.sources)(Some(source), expr.dtype)?;
        let place = at.iter().fold(u64::from(source.number()), |h, i| mix(h.wrapping_add(i.cast_unsigned())));
        let unit = f64::from(u32::try_from(mix(place.wrapping_add(mix(self.seed))) >> 32).ok()?) / f64::from(u32::MAX);
        let value = range.low + (range.high - range.low) * unit;
        Some(if expr.dtype == crate::graph::Dtype::Bool { unit.round() } else { value })
    }

    fn index(&mut self, i: IndexId, depth: usize) -> Option<i64> {
        let sum = self.e.linear(i);
        let mut out = self.e.size_now(sum.offset())?;
        for (place, by) in &sum.terms {
            let value = match place {
                Place::Var(k, _) => *self.vars.get(*k as usize)?,
                Place::Bound(l, _) => *self.bounds.get(l)?,
                Place::Div(inner, n) => floor_div(self.index(*inner, depth.checked_sub(1)?)?, self.e.size_now(*n)?)?,
                Place::Mod(inner, n) => floor_mod(self.index(*inner, depth.checked_sub(1)?)?, self.e.size_now(*n)?)?,
                Place::Data(_) => return None,
            };
            out = out.checked_add(value.checked_mul(self.e.size_now(*by)?)?)?;
        }
        Some(out)
    }

    fn operator(&mut self, op: Op, expr: &Expr, depth: usize) -> Option<f64> {
        let first = self.value(*expr.kids.first()?, depth)?;
        if op == Op::Choose {
            let taken = if first == 0.0 { 2 } else { 1 };
            return self.value(*expr.kids.get(taken)?, depth);
        }
        if expr.kids.len() == 1 {
            return match op {
                Op::Neg => Some(-first),
                Op::Abs => Some(first.abs()),
                Op::Not => Some(1.0 - first),
                Op::Cast => Some(first),
                _ => None,
            };
        }
        let second = self.value(*expr.kids.get(1)?, depth)?;
        let truth = |b: bool| f64::from(u8::from(b));
        match op {
            Op::Add => Some(first + second),
            Op::Sub => Some(first - second),
            Op::Mul => Some(first * second),
            Op::Div => Some(first / second),
            Op::Max | Op::AtLeast => Some(first.max(second)),
            Op::Min | Op::AtMost => Some(first.min(second)),
            Op::Lt => Some(truth(first < second)),
            Op::Le => Some(truth(first <= second)),
            #[allow(clippy::float_cmp)]
            Op::Eq => Some(truth(first == second)),
            _ => None,
        }
    }

    fn reduced(&mut self, fold: Fold, level: u32, sizes: &[i64], body: ExprId, depth: usize) -> Option<f64> {
        let count = sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(*d)).filter(|n| *n > 0)?;
        let mut out: Option<f64> = None;
        for place in 0..count {
            let mut left = place;
            for (l, n) in (level..).zip(sizes) {
                self.bounds.insert(l, left.checked_rem(*n)?);
                left = left.checked_div(*n)?;
            }
            let value = self.value(body, depth)?;
            out = Some(match (fold, out) {
                (_, None) => value,
                (Fold::Sum, Some(sum)) => sum + value,
                (Fold::Most, Some(most)) => most.max(value),
                (Fold::Least, Some(least)) => least.min(value),
                _ => return None,
            });
        }
        out
    }
}

fn apply(function: Real, x: f64) -> f64 {
    let sigmoid = 1.0 / (1.0 + (-x).exp());
    match function {
        Real::Exp => x.exp(),
        Real::Exp2 => x.exp2(),
        Real::Expm1 => x.exp_m1(),
        Real::Log => x.ln(),
        Real::Log1p => x.ln_1p(),
        Real::Sqrt => x.sqrt(),
        Real::Rsqrt => 1.0 / x.sqrt(),
        Real::Reciprocal => 1.0 / x,
        Real::Sigmoid => sigmoid,
        Real::Silu => x * sigmoid,
        Real::Relu => x.max(0.0),
        Real::Square => x * x,
        Real::Tanh => x.tanh(),
        Real::Sinh => x.sinh(),
        Real::Cosh => x.cosh(),
        Real::Sin => x.sin(),
        Real::Cos => x.cos(),
        // No magnitude is known of it but that it is small.
        Real::Erf => x.tanh() * 0.5,
        Real::Erfc => 1.0 - x.signum().max(0.0),
        Real::Tan => x.tan(),
    }
}
