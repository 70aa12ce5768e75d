//! Values of products and quotients in which one element is multiplied and divided by.
//!
//! Promises: what is multiplied and divided by one number lies where it lies without it; a square is never negative. What only one factor names is left to plain
//! intervals.

use smallvec::SmallVec;

use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::rounding::forward::Ranges;
use crate::rules::rounding::interval::Interval;

/// How many factors are looked at.
const FACTORS: usize = 8;

/// What is multiplied, and how often; divided, where that is negative.
type Factors = SmallVec<[(ExprId, i32); FACTORS]>;

/// Returns the part of an interval of a product, or a quotient, in which it lies once what cancels in it is left out.
pub(super) fn within(e: &Elements, expr: &Expr, known: &Ranges, plain: Interval) -> Option<Interval> {
    let Some(found) = cancelled(e, expr, known) else { return Some(plain) };
    let (low, high) = (plain.low.max(found.low), plain.high.min(found.high));
    Interval::new(low, high).or(Some(found))
}

fn cancelled(e: &Elements, expr: &Expr, known: &Ranges) -> Option<Interval> {
    let (factors, sign) = factors(e, expr)?;
    let mut product = Interval::point(sign)?;
    for (factor, times) in factors {
        let one = *known.get(&factor)?;
        let of = if times < 0 { one.inverse()? } else { one };
        for _ in 0..times.unsigned_abs() / 2 {
            product = product.times(of.squared()?)?;
        }
        if times % 2 != 0 {
            product = product.times(of)?;
        }
    }
    Some(product)
}

/// Returns the factors of a product with its sign, where one of them is named more than once.
fn factors(e: &Elements, expr: &Expr) -> Option<(Factors, f64)> {
    let (mut out, mut repeats, mut sign) = (Factors::new(), false, 1.0);
    let mut open: SmallVec<[(ExprId, i32); FACTORS]> = SmallVec::new();
    let opened =
        |form: &Form, kids: &[ExprId], by: i32, open: &mut SmallVec<[(ExprId, i32); FACTORS]>| match (form, kids) {
            (Form::Op(Op::Mul), [a, b]) => open.extend([(*a, by), (*b, by)]),
            (Form::Op(Op::Div), [a, b]) => open.extend([(*a, by), (*b, by.saturating_neg())]),
            _ => {}
        };
    opened(&expr.form, &expr.kids, 1, &mut open);
    while let Some((at, by)) = open.pop() {
        if out.len().saturating_add(open.len()) >= FACTORS {
            return None;
        }
        let of = e.expr(at).filter(|x| x.dtype == expr.dtype)?;
        match (&of.form, of.kids.as_slice()) {
            (Form::Op(Op::Mul | Op::Div), kids) => opened(&of.form, kids, by, &mut open),
            (Form::Op(Op::Neg), [x]) => {
                sign = -sign;
                open.push((*x, by));
            }
            _ => match out.iter_mut().find(|(known, _)| *known == at) {
                Some((_, times)) => (*times, repeats) = (times.saturating_add(by), true),
                None => out.push((at, by)),
            },
        }
    }
    repeats.then_some((out, sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dtype;
    use crate::rules::element::arena::{Elements, Source};
    use crate::sym::Symbols;
    use crate::term::store::Store;

    /// Elements with floats, and between which numbers these lie.
    fn with<const N: usize>(ends: [(f64, f64); N]) -> (Elements, [ExprId; N], Ranges) {
        let mut e = Elements::new(Symbols::new(), crate::sym::KeyedSet::default(), 100_000);
        let (mut store, mut known): (Store<u32>, Ranges) = (Store::default(), Ranges::default());
        let mut count = 0;
        let all = ends.map(|(low, high)| {
            let source = e.source(Source::Value(store.at(count)));
            count += 1;
            let id = e.load(Dtype::F32, source, SmallVec::new()).unwrap();
            known.insert(id, Interval::new(low, high).unwrap());
            id
        });
        (e, all, known)
    }

    fn made(e: &mut Elements, op: Op, kids: &[ExprId]) -> ExprId {
        e.raw(op, Dtype::F32, kids).unwrap()
    }

    fn found(e: &Elements, id: ExprId, known: &Ranges) -> Option<Interval> {
        within(e, e.expr(id).unwrap(), known, Interval::new(-1e9, 1e9).unwrap())
    }

    #[test]
    fn a_scale_that_is_divided_by_again_leaves_what_it_scaled() {
        let (mut e, [x, w, s], known) = with([(-2.0, 2.0), (0.0, 3.0), (0.125, 1024.0)]);
        let (d, m) = (made(&mut e, Op::Div, &[x, s]), made(&mut e, Op::Mul, &[w, s]));
        let both = made(&mut e, Op::Mul, &[d, m]);
        assert_eq!(found(&e, both, &known), Interval::new(-6.0, 6.0));
        let alone = made(&mut e, Op::Mul, &[d, w]);
        assert_eq!(found(&e, alone, &known), Interval::new(-1e9, 1e9));
    }

    #[test]
    fn an_opposite_turns_the_sign_and_a_square_has_none() {
        let (mut e, [x, y], known) = with([(-2.0, 1.0), (1.0, 3.0)]);
        let back = made(&mut e, Op::Neg, &[x]);
        let square = made(&mut e, Op::Mul, &[x, y]);
        let square = made(&mut e, Op::Mul, &[back, square]);
        assert_eq!(found(&e, square, &known), Interval::new(-12.0, 0.0));
    }

    #[test]
    fn what_is_divided_by_more_often_may_not_be_near_zero() {
        let (mut e, [x, s], known) = with([(1.0, 2.0), (-1.0, 1.0)]);
        let d = made(&mut e, Op::Div, &[x, s]);
        let d = made(&mut e, Op::Div, &[d, s]);
        assert_eq!(found(&e, d, &known), Interval::new(-1e9, 1e9));
    }
}
