//! Elements divided by the root of a sum of squares that holds their own.
//!
//! ## What it says
//! `|x| <= sqrt(x*x + ...)`: divided by that root an element is at most 1 from 0, and by the root of the mean of n squares at most `sqrt(n)`, whatever is added below the root that is not below 0.
//!
//! ## When it is wrong
//! The squares must be of the same elements, and none of them left out; what is added must not be below 0.

use rustc_hash::FxHashMap;

use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op};
use crate::rules::rounding::backward::constant;
use crate::rules::rounding::forward::is_end_of;
use crate::rules::table::{Real, real};

/// What rounding may add to a quotient.
const ROUNDED: f64 = 1.01;

/// Returns how far from 0 such elements are at most.
pub(super) fn normed(e: &mut Elements, order: &[ExprId]) -> FxHashMap<ExprId, f64> {
    let mut out = FxHashMap::default();
    for id in order {
        let Some((op @ (Op::Mul | Op::Div), [a, b])) = e.op_of(*id) else { continue };
        let (a, b) = (*a, *b);
        let mut ways = vec![(a, b)];
        if op == Op::Mul {
            ways.push((b, a));
        }
        let most = ways.into_iter().find_map(|(x, by)| {
            let under = if op == Op::Div { named(e, by, Real::Sqrt) } else { inverse_root(e, by) }?;
            at_most(e, x, under)
        });
        out.extend(most.map(|most| (*id, most * ROUNDED)));
    }
    out
}

fn named(e: &Elements, id: ExprId, function: Real) -> Option<ExprId> {
    let expr = e.expr(id)?;
    let Form::Named(target, _) = &expr.form else { return None };
    (real(target) == Some(function)).then(|| expr.kids.first().copied())?
}

fn inverse_root(e: &Elements, id: ExprId) -> Option<ExprId> {
    named(e, id, Real::Rsqrt).or_else(|| named(e, named(e, id, Real::Reciprocal)?, Real::Sqrt))
}

/// How far from 0 an element is at most that is divided by the root of what stands under it.
fn at_most(e: &mut Elements, x: ExprId, under: ExprId) -> Option<f64> {
    let (mut at, mut divisor) = (under, 1.0_f64);
    let sum = loop {
        match (e.expr(at)?.form.clone(), e.expr(at)?.kids.as_slice()) {
            (Form::Reduce(Fold::Sum, ..), _) => break at,
            (Form::Op(Op::Add), [a, b]) => {
                let (a, b) = (*a, *b);
                at = if constant(e, b).is_some() { a } else { constant(e, a).map(|_| b)? };
            }
            (Form::Op(Op::Mul), [a, b]) => {
                let (x, by) = constant(e, *b).map(|v| (*a, v)).or_else(|| Some((*b, constant(e, *a)?)))?;
                (at, divisor) = (x, divisor / by);
            }
            (Form::Op(Op::Div), [a, b]) => (at, divisor) = (*a, divisor * constant(e, *b)?),
            _ => return None,
        }
    };
    let dtype = e.dtype(x)?;
    let square = e.op(Op::Mul, dtype, &[x, x])?;
    is_end_of(e, square, (sum, Fold::Sum), None).then(|| divisor.sqrt())
}

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::graph::Dtype;
    use crate::rules::element::arena::Source;
    use crate::rules::element::index::Place;
    use crate::sym::{Dim, Symbols};
    use crate::term::store::Store;

    #[test]
    fn an_element_by_the_root_of_the_mean_of_squares_is_at_most_the_root_of_their_number() {
        let mut e = Elements::new(Symbols::new(), crate::sym::KeyedSet::default(), 100_000);
        let mut store: Store<u32> = Store::default();
        let [x, y] = [0, 1].map(|k| e.source(Source::Value(store.at(k))));
        let n = Dim::Fixed(16);
        let (bound, var) = (e.place(Place::Bound(0, n)), e.place(Place::Var(0, n)));
        let each = e.load(Dtype::F32, x, smallvec![bound]).unwrap();
        let square = e.op(Op::Mul, Dtype::F32, &[each, each]).unwrap();
        let sum = e.reduced(Fold::Sum, 0, &[n], square).unwrap();
        let [count, eps] = [16.0, 1e-6].map(|v| e.rounded(Dtype::F32, v).unwrap());
        let mean = e.op(Op::Div, Dtype::F32, &[sum, count]).unwrap();
        let more = e.op(Op::Add, Dtype::F32, &[mean, eps]).unwrap();
        let own = e.load(Dtype::F32, x, smallvec![var]).unwrap();
        let other = e.load(Dtype::F32, y, smallvec![var]).unwrap();
        assert_eq!(at_most(&mut e, own, more), Some(4.0));
        assert_eq!(at_most(&mut e, own, sum), Some(1.0));
        assert_eq!(at_most(&mut e, other, more), None);
        let less = e.rounded(Dtype::F32, -1e-6).unwrap();
        let below = e.raw(Op::Add, Dtype::F32, &[mean, less]).unwrap();
        assert_eq!(at_most(&mut e, own, below), None);
    }
}
