//! Errors of elements from those of what they are made of, step by step, where what cancels may count for more than it is.
//!
//! Promises: an element's error is at most `far` times its magnitude, and `lost`. That of an exponential is a part of itself, as large as its exponent is
//! off; that of a logarithm as large as what it is taken of is off beside itself. What is steep, and what hangs on a condition that is rounded, has none.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::rounding::backward::{derivative, inexact, least, rounds};
use crate::rules::rounding::beside::{self, Beside};
use crate::rules::rounding::forward::{Ranges, count};
use crate::rules::rounding::unit;
use crate::rules::table::{Real, real};

/// How far an exponent may be off for its exponential to be off by about as large a part of itself.
const STEEP: f64 = 1.0 / 16.0;

/// Returns a bound of the error of the last element; `None` where one of those it is made of has none.
pub(super) fn error(e: &Elements, order: &[ExprId], ranges: &Ranges) -> Option<f64> {
    let inexact = inexact(e, order);
    let mut known: FxHashMap<ExprId, Beside> = FxHashMap::default();
    for id in order {
        let Some(expr) = e.expr(*id).filter(|x| x.dtype.is_float()) else { continue };
        if !inexact.contains(id) {
            known.insert(*id, Beside::default());
            continue;
        }
        // What is small is 0 in `f16` too soon.
        let narrow = expr.dtype == Dtype::F16;
        let hangs = e.parts(expr).iter().any(|p| inexact.contains(p) && !known.contains_key(p));
        let found = if narrow || hangs { None } else { step(e, expr, (ranges, &known, &inexact)) };
        known.insert(*id, found.filter(|b| b.far.is_finite() && b.lost.is_finite())?);
    }
    let root = *order.last()?;
    Some(known.get(&root)?.whole(ranges.get(&root)?.most()))
}

/// Intervals of elements, errors of those before, and those that a rounding reaches.
type Before<'b> = (&'b Ranges, &'b FxHashMap<ExprId, Beside>, &'b FxHashSet<ExprId>);

fn step(e: &Elements, expr: &Expr, (ranges, known, inexact): Before<'_>) -> Option<Beside> {
    if let Some(own) = beside::step(e, expr, ranges, known, inexact) {
        return Some(own);
    }
    let of = |k: usize| expr.kids.get(k).and_then(|k| known.get(k)).copied();
    let range = |k: usize| expr.kids.get(k).and_then(|k| ranges.get(k)).copied();
    let whole = |k: usize| Some(of(k)?.whole(range(k)?.most()));
    let (one, gone) = (if rounds(e, expr) { unit(expr.dtype) } else { 0.0 }, least(expr.dtype));
    match &expr.form {
        Form::Op(Op::Add | Op::Sub) => Some(Beside { far: one, lost: whole(0)? + whole(1)? }),
        // The greater of two is off by no more than one of them.
        Form::Op(Op::Max | Op::Min | Op::AtLeast | Op::AtMost) => {
            Some(Beside { far: 0.0, lost: whole(0)?.max(whole(1)?) })
        }
        Form::Op(Op::Choose) => {
            let (a, b) = (of(1)?, of(2)?);
            Some(Beside { far: a.far.max(b.far), lost: a.lost.max(b.lost) })
        }
        Form::Op(Op::Div) => {
            let (x, y) = (range(0)?, range(1)?.inverse()?.most());
            Some(Beside { far: one, lost: whole(0)? * y + whole(1)? * x.most() * y * y + gone })
        }
        Form::Reduce(Fold::Most | Fold::Least, ..) => {
            of(0).map(|a| Beside { far: 0.0, lost: a.whole(range(0).map_or(f64::INFINITY, |r| r.most())) })
        }
        Form::Reduce(Fold::Sum, _, sizes) => {
            let n = count(e, sizes)?;
            let added = (n - 1.0).max(0.0) * one * n * range(0)?.most();
            Some(Beside { far: 0.0, lost: n * whole(0)? + added })
        }
        Form::Named(target, _) => function(real(target)?, (of(0)?, range(0)?), (2.0 * one, gone)),
        _ => None,
    }
}

/// The error of a function of what is off, itself rounded.
fn function(of: Real, (error, range): (Beside, super::Interval), (rounded, gone): (f64, f64)) -> Option<Beside> {
    let off = error.whole(range.most());
    match of {
        Real::Exp | Real::Exp2 => (off <= STEEP).then_some(Beside { far: off * (1.0 + STEEP) + rounded, lost: gone }),
        // Of what is surely above 0.
        Real::Log if range.low > 0.0 => {
            let part = error.of(range.low);
            (part <= STEEP).then_some(Beside { far: rounded, lost: part * (1.0 + STEEP) + gone })
        }
        Real::Silu => Some(Beside { far: rounded, lost: off * 1.1 + range.most().max(1.0) * gone }),
        _ => Some(Beside { far: rounded, lost: off * derivative(of, range)?.most() + gone }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rounding::Interval;

    #[test]
    fn an_exponential_is_off_by_a_part_of_itself_as_large_as_its_exponent_is_off() {
        let (error, range) = (Beside { far: 0.0, lost: 1e-6 }, Interval::new(-100.0, 0.0).unwrap());
        let found = function(Real::Exp, (error, range), (0.0, 0.0)).unwrap();
        assert!(found.lost == 0.0 && found.far >= 1e-6 && found.far < 1.1e-6);
        let steep = Beside { far: 0.0, lost: 1.0 };
        assert!(function(Real::Exp, (steep, range), (0.0, 0.0)).is_none());
    }

    #[test]
    fn a_logarithm_is_off_by_the_part_that_what_it_is_taken_of_is() {
        let (error, range) = (Beside { far: 1e-6, lost: 0.0 }, Interval::new(1e-3, 1e3).unwrap());
        let found = function(Real::Log, (error, range), (0.0, 0.0)).unwrap();
        assert!(found.far == 0.0 && found.lost >= 1e-6 && found.lost < 1.1e-6);
        let near = Interval::new(0.0, 1.0).unwrap();
        assert!(function(Real::Log, (error, near), (0.0, 0.0)).is_none());
    }
}
