//! What elements come to together, over the places of some dimensions: where a truth of the index picks one place, the others are nothing.
//!
//! ## What it says
//! The magnitudes of elements, added up over all places of some dimensions, are at most as many times the largest. What is multiplied by a truth that an
//! index is 0, or chosen by it beside nothing, is there at one place of a dimension that the index names once, and what is chosen by the index along one dimension at some of
//! its places; sums of such come to what their parts do.
//!
//! ## When it is wrong
//! Where an index names the dimension twice, within a quotient, or by an integer of the data that depends on it, more places than one are picked.

use std::cell::Cell;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::rounding::forward::{Free, Ranges};

/// How deep elements are looked into.
const DEPTH: usize = 16;
/// How many elements are looked at, as often as they stand there.
const WORK: usize = 512;

/// Intervals of elements, and how many more are looked at.
type Within<'w> = (&'w Ranges, &'w Cell<usize>);

/// Returns those of some elements in which a truth of the index stands.
pub(super) fn picked(e: &Elements, order: &[ExprId]) -> FxHashSet<ExprId> {
    let mut out = FxHashSet::default();
    for id in order {
        let Some(expr) = e.expr(*id) else { continue };
        let own = match expr.form {
            Form::IsZero(_) => true,
            Form::AtLeastZero(index) => matches!(e.linear(index).terms.as_slice(), [(Place::Bound(..), _)]),
            _ => false,
        };
        if own || e.parts(expr).iter().any(|p| out.contains(p)) {
            out.insert(*id);
        }
    }
    out
}

/// Dimensions by name, with the first and the last of their places that are looked at.
type Over = SmallVec<[(u32, f64, f64); 4]>;

/// How many places there are.
fn places(over: &Over) -> f64 {
    over.iter().map(|(_, first, last)| (last - first + 1.0).max(0.0)).product()
}

/// Returns a bound of what the magnitudes of an element come to over all places of dimensions, by name, with their sizes; `None` where nothing bounds it.
pub(super) fn together(e: &Elements, id: ExprId, over: &Free, ranges: &Ranges) -> Option<f64> {
    let over: Over = over.iter().map(|(name, n)| (*name, 0.0, n - 1.0)).collect();
    sum_of(e, id, &over, (ranges, &Cell::new(WORK)), DEPTH)
}

fn sum_of(e: &Elements, id: ExprId, over: &Over, (ranges, work): Within<'_>, depth: usize) -> Option<f64> {
    let expr = e.expr(id)?;
    let left = work.get().checked_sub(1);
    work.set(left.unwrap_or(0));
    let truth = expr.dtype == Dtype::Bool;
    let most = ranges.get(&id).map(|r| r.most()).or(truth.then_some(1.0));
    let whole = most.map(|most| most * places(over));
    let depends = e.names_below(id).iter().any(|(l, _)| over.iter().any(|(o, ..)| o == l));
    let Some(depth) = depth.checked_sub(1).filter(|_| depends && left.is_some()) else { return whole };
    lesser(whole, in_parts(e, expr, over, (ranges, work), depth))
}

fn lesser(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

fn in_parts(e: &Elements, expr: &Expr, over: &Over, (ranges, work): Within<'_>, depth: usize) -> Option<f64> {
    let within = (ranges, work);
    let truth = expr.dtype == Dtype::Bool;
    let sum = |id: ExprId| sum_of(e, id, over, within, depth);
    let most = |id: ExprId| ranges.get(&id).map(|r| r.most());
    match (&expr.form, expr.kids.as_slice()) {
        (Form::IsZero(index), _) => places_of_one(e, *index, over),
        // Bits of integers are no sums.
        (Form::Op(Op::And), [a, b]) if truth => lesser(sum(*a), sum(*b)),
        (Form::Op(Op::Or), [a, b]) if truth => Some(sum(*a)? + sum(*b)?),
        (Form::Op(_), _) if truth => None,
        (Form::Op(Op::Add | Op::Sub), [a, b]) => Some(sum(*a)? + sum(*b)?),
        (Form::Op(Op::Cast | Op::Neg | Op::Abs), [x]) => sum(*x),
        (Form::Op(Op::Mul), [a, b]) => {
            let times = |x: ExprId, y: ExprId| Some(sum(x)? * most(y)?);
            lesser(times(*a, *b), times(*b, *a))
        }
        (Form::Op(Op::Div), [x, by]) => Some(sum(*x)? * ranges.get(by)?.inverse()?.most()),
        (Form::Op(Op::Choose), [truth, a, b]) => {
            let where_holds = |id: ExprId, holds: bool| {
                let some = narrowed(e, *truth, holds, over).unwrap_or_else(|| over.clone());
                sum_of(e, id, &some, within, depth)
            };
            let chosen = sum(*truth).zip(most(*a)).map(|(count, most)| count * most);
            Some(lesser(where_holds(*a, true), chosen)? + where_holds(*b, false)?)
        }
        // Sums within are sums over more places.
        (Form::Reduce(Fold::Sum, level, sizes), [body]) => {
            let mut all = over.clone();
            for (name, size) in (*level..).zip(sizes.iter()) {
                if all.iter().any(|(l, ..)| *l == name) {
                    return None;
                }
                #[allow(clippy::cast_precision_loss)]
                all.push((name, 0.0, e.size_now(*size)? as f64 - 1.0));
            }
            sum_of(e, *body, &all, within, depth)
        }
        _ => None,
    }
}

/// Returns the places at which a truth of the index along one dimension is so.
fn narrowed(e: &Elements, truth: ExprId, holds: bool, over: &Over) -> Option<Over> {
    if let Some((Op::Not, [inner])) = e.op_of(truth) {
        return narrowed_by(e, *inner, !holds, over);
    }
    narrowed_by(e, truth, holds, over)
}

#[allow(clippy::cast_precision_loss)]
fn narrowed_by(e: &Elements, truth: ExprId, holds: bool, over: &Over) -> Option<Over> {
    let (index, zero) = match e.expr(truth)?.form {
        Form::AtLeastZero(index) => (index, false),
        Form::IsZero(index) => (index, true),
        _ => return None,
    };
    let sum = e.linear(index);
    let ([(Place::Bound(name, _), by)], Some(offset)) = (sum.terms.as_slice(), sum.offset().fixed()) else {
        return None;
    };
    let (offset, rises) = match by.fixed()? {
        1 => (-(offset as f64), true),
        -1 => (offset as f64, false),
        _ => return None,
    };
    let mut out = over.clone();
    let (_, first, last) = out.iter_mut().find(|(l, ..)| l == name)?;
    match (zero, holds, rises) {
        (true, true, _) => (*first, *last) = (first.max(offset), last.min(offset)),
        (true, false, _) => return None,
        (false, true, true) => *first = first.max(offset),
        (false, true, false) => *last = last.min(offset),
        (false, false, true) => *last = last.min(offset - 1.0),
        (false, false, false) => *first = first.max(offset + 1.0),
    }
    Some(out)
}

/// At how many places an index may be 0: one of a dimension that it names once, whatever the other places are.
fn places_of_one(e: &Elements, index: IndexId, over: &Over) -> Option<f64> {
    let sum = e.linear(index);
    let inner: SmallVec<[u32; 4]> = sum
        .terms
        .iter()
        .flat_map(|(place, _)| match place {
            Place::Data(id) => e.names_below(*id).iter().map(|(l, _)| *l).collect::<Vec<u32>>(),
            Place::Div(inner, _) | Place::Mod(inner, _) => names_within(e, *inner),
            Place::Var(..) | Place::Bound(..) => Vec::new(),
        })
        .collect();
    let once = |name: u32| {
        let own = |(place, by): &&(Place, crate::sym::Dim)| {
            matches!(place, Place::Bound(l, _) if *l == name) && by.fixed().is_some_and(|by| by != 0)
        };
        sum.terms.iter().filter(own).count() == 1 && !inner.contains(&name)
    };
    let own = |(name, first, last): &(u32, f64, f64)| once(*name).then_some((last - first + 1.0).max(0.0));
    let largest = over.iter().filter_map(own).fold(1.0, f64::max);
    Some(places(over) / largest)
}

/// Names of the dimensions that stand anywhere in an index.
fn names_within(e: &Elements, index: IndexId) -> Vec<u32> {
    let mut out = Vec::new();
    for place in e.places_in(index) {
        match place {
            Place::Bound(l, _) => out.push(l),
            Place::Data(id) => out.extend(e.names_below(id).iter().map(|(l, _)| *l)),
            _ => {}
        }
    }
    out
}
