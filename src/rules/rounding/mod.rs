//! How far rounding may take a value: a first-order bound on boxes of inputs.
//!
//! ## What it says
//! On a box every element lies in an interval; what one rounding adds at most, times how far the end follows that place (interval derivatives,
//! along all ways, so that ways that cancel do), times how often the place is computed, summed over all places, bounds the error of the end.
//! One rounding adds a unit of the dtype at the largest magnitude there, a sum of n elements n - 1 of them at n times the largest
//! element, a function of a library two; a product, a quotient and a function half of the smallest number of the dtype, too, which is lost where they become less; adding 0 and multiplying by a power of two add none. What divides moves a quotient by its error beside it, where nothing in it cancels: the bounds of both ends are compared without that, and with it. `x - max(x)` is at most 0, and a sum of exponentials of all such differences at least 1, and so is
//! what is that sum over the reals. Where only products, quotients and roots stand one in another, each adds a unit of what the end is. `log(1 + exp(x))` follows `x` as far as
//! its sigmoid. What lies at most half of the way from one element to another lies between them. What is made of the same steps is rounded alike, where a divisor is off by a part of itself alone.
//!
//! ## When it is wrong
//! It is first order: products of errors are left out. An interval in which a function is not defined everywhere bounds nothing; one that leaves the
//! dtype ends where it does, provided that the end is infinite or NaN wherever that element is (or a divisor, or what is bounded from above, grows without end). Nor does a step (a comparison, an integer, an unknown function) that a rounding reaches, but for
//! a choice whose values are one where its condition turns.

mod absorb;
mod ahead;
mod backward;
mod bends;
mod beside;
mod cancel;
mod forward;
mod interval;
mod known;
mod leaving;
mod normed;
mod sample;
mod together;
mod within;

pub use absorb::without_absorbed;
pub use forward::{free, largest as greatest};
pub use interval::Interval;
pub use known::{APART, Known, known, remember};
pub use leaving::{Leaving, Reach, leave_alike, leave_together, reach};
pub use sample::largest;
pub use within::within_choices;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op, Source, SourceId};
use crate::rules::field::Field;
use crate::rules::rounding::backward::Follow;
use crate::rules::table;

/// What elements of a source lie in; without a source, those of an unknown function.
pub type Box<'b> = &'b dyn Fn(Option<SourceId>, Dtype) -> Option<Interval>;

pub(in crate::rules) use backward::constant;
pub(in crate::rules) use forward::{between, holds_a_one, is_element_of, is_end_of};
pub(in crate::rules) use known::{Least, least_of_sum, least_share};

/// Returns whether no rounding reaches an expression.
pub fn is_exact(e: &Elements, root: ExprId) -> bool {
    backward::inexact(e, &e.below(root)).is_empty()
}

/// How many expressions are looked through for what cancels.
const LOOKED_THROUGH: usize = 32;

/// Returns whether roundings are followed for what they are: none reaches a step, a function, which may have a pole or an end, or a divisor that is more than
/// rounded in its last places.
pub fn is_followed(e: &mut Elements, root: ExprId) -> Option<bool> {
    let order = e.below(root);
    let computed = backward::computed(e, &order);
    let mut kept: FxHashSet<ExprId> = FxHashSet::default();
    for id in &order {
        let expr = e.expr(*id)?;
        let below = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Div), [_, below]) => *below,
            (Form::Named(target, _), [x]) if is_root_or_inverse(target) => *x,
            _ => continue,
        };
        if cancels_nothing(e, below, &computed)? {
            kept.insert(below);
        }
    }
    let exact = |k: &ExprId| !computed.contains(k);
    Some(order.iter().filter_map(|id| e.expr(*id)).all(|expr| match (&expr.form, expr.kids.as_slice()) {
        (Form::Op(Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Abs), _)
        | (Form::Op(Op::Max | Op::Min | Op::AtLeast | Op::AtMost), _)
        | (Form::Reduce(Fold::Sum | Fold::Most | Fold::Least, ..), _) => true,
        // Which of two it is hangs on no rounding.
        (Form::Op(Op::Choose), [condition, ..]) => exact(condition),
        (Form::Op(Op::Div), [_, below]) => exact(below) || kept.contains(below),
        (Form::Named(target, _), [x]) if is_root_or_inverse(target) => exact(x) || kept.contains(x),
        (Form::Load(source, _), _) => matches!(e.source_of(*source), Some(Source::Value(_))) || e.is_in_order(*source),
        _ => e.parts(expr).iter().all(exact),
    }))
}

fn is_root_or_inverse(target: &str) -> bool {
    matches!(table::real(target), Some(table::Real::Sqrt | table::Real::Rsqrt | table::Real::Reciprocal))
}

/// Returns whether an element that is computed is off by a part of itself alone: products, quotients and roots, and sums of what is never negative. Such a one is 0 where
/// whoever sums it finds 0.
fn cancels_nothing(e: &mut Elements, root: ExprId, computed: &FxHashSet<ExprId>) -> Option<bool> {
    let (mut open, mut looked) = (vec![root], 0_usize);
    while let Some(id) = open.pop() {
        if !computed.contains(&id) {
            continue;
        }
        looked = looked.checked_add(1)?;
        let expr = e.expr(id)?.clone();
        let (wide, few) = (expr.dtype.is_float() && expr.dtype != Dtype::F16, looked <= LOOKED_THROUGH);
        let keeps = match &expr.form {
            Form::Op(Op::Mul | Op::Div | Op::Neg | Op::Abs) => true,
            Form::Named(target, _) => is_root_or_inverse(target) || table::real(target) == Some(table::Real::Square),
            Form::Op(Op::Add) | Form::Reduce(Fold::Sum, ..) => {
                let mut all = true;
                for kid in &expr.kids {
                    all = all && e.is_never_negative(*kid)?;
                }
                all
            }
            _ => false,
        };
        if !wide || !few || !keeps {
            return Some(false);
        }
        open.extend(expr.kids);
    }
    Some(true)
}

/// A bound of an element's error on a box.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The bound.
    pub error: f64,
    /// The same where what divides is followed by its error beside it, if that is less.
    pub beside: f64,
    /// The same where products and quotients in which nothing cancels are followed by their errors beside them.
    pub products: f64,
    /// The least of these, and of what the errors of its operands make it, step by step.
    pub least: f64,
    /// The elements that may be infinite there, and with which the end is: left out of the bound where they are.
    pub past: Vec<ExprId>,
}

/// Returns a bound of the error of an expression whose sources lie in a box; `None` where nothing bounds it.
pub fn bound(e: &mut Elements, root: ExprId, sources: Box<'_>) -> Option<Bound> {
    let order = e.below(root);
    e.spend(order.len())?;
    let (ranges, past, beyond) = forward::ranges(e, &order, sources)?;
    let (past, limits) = carried(e, &order, &past, &ranges)?;
    let free: FxHashMap<ExprId, forward::Free> = forward::free(e, &order);
    let meets = meeting(e, &order)?;
    let ways = (&limits, &meets);
    let errors = beside::errors(e, &order, &ranges);
    let by = |follow| backward::error(e, &order, (&ranges, &beyond), &free, ways, (&errors, follow));
    let error = by(Follow::Slopes).filter(|error| error.is_finite())?;
    let or_less = |follow| by(follow).map_or(error, |other| error.min(other));
    let (beside, products) = (or_less(Follow::Divisors), or_less(Follow::Products));
    let plain = past.is_empty() && limits.is_empty();
    let ahead = if plain { ahead::error(e, &order, &ranges).unwrap_or(error) } else { error };
    Some(Bound { error, beside, products, least: beside.min(products).min(ahead), past })
}

/// Returns those of some choices whose condition a rounding reaches and whose values are one where it turns: they follow what is compared without a
/// leap.
fn meeting(e: &mut Elements, order: &[ExprId]) -> Option<FxHashSet<ExprId>> {
    let inexact = backward::inexact(e, order);
    let mut out = FxHashSet::default();
    for id in order {
        if let Some((Op::Choose, [condition, a, b])) = e.op_of(*id)
            && inexact.contains(condition)
        {
            let (condition, a, b) = (*condition, *a, *b);
            if Field::meets_where(e, condition, a, b)? {
                out.insert(*id);
            }
        }
    }
    Some(out)
}

/// Returns whether two expressions are one element divided by 0 on the whole box: the same infinite numbers, and the same NaN.
pub fn are_one_by_zero(e: &mut Elements, a: ExprId, b: ExprId, sources: Box<'_>) -> bool {
    let quotient = |e: &Elements, at: ExprId| match e.op_of(at) {
        Some((Op::Div, [over, under])) => Some((*over, *under)),
        _ => None,
    };
    let (Some((p, below)), Some((q, under))) = (quotient(e, a), quotient(e, b)) else { return false };
    let nothing = Interval::point(0.0);
    p == q && range(e, below, sources) == nothing && range(e, under, sources) == nothing
}

/// Returns those of some infinite elements that make the last one of an order infinite, or NaN, wherever they are; `None` where one may do otherwise. An
/// divisor that is infinite leaves 0, which is its limit: those quotients are returned, too.
fn carried(
    e: &Elements,
    order: &[ExprId],
    past: &[ExprId],
    ranges: &forward::Ranges,
) -> Option<(Vec<ExprId>, FxHashSet<ExprId>)> {
    let (mut out, mut limits) = (Vec::new(), FxHashSet::default());
    if past.is_empty() {
        return Some((out, limits));
    }
    let last = *order.last()?;
    // What may be infinite, and whether upwards alone.
    let mut may: FxHashMap<ExprId, bool> = FxHashMap::default();
    for id in order {
        let expr = e.expr(*id)?;
        let from = expr.kids.iter().filter_map(|k| may.get(k)).copied().collect::<Vec<bool>>();
        let own = past.contains(id);
        if own {
            out.push(*id);
        }
        if from.is_empty() && !own {
            continue;
        }
        let divides = expr.kids.get(1).and_then(|k| may.get(k)).copied();
        let numerator = expr.kids.first().and_then(|k| may.get(k)).copied();
        match &expr.form {
            Form::Named(target, _) if from.is_empty() => {
                let upwards =
                    matches!(table::real(target), Some(table::Real::Exp | table::Real::Exp2 | table::Real::Expm1));
                may.insert(*id, upwards);
            }
            Form::Op(Op::Div) if !own && numerator.is_none() && divides == Some(true) => {
                // What grows without end divides to nothing.
                limits.insert(*id);
                ends_here(e, *expr.kids.get(1)?, &may, &mut out)?;
            }
            Form::Named(target, _)
                if !own && numerator == Some(true) && table::real(target) == Some(table::Real::Reciprocal) =>
            {
                limits.insert(*id);
                ends_here(e, *expr.kids.first()?, &may, &mut out)?;
            }
            // What it grows to is 1.
            Form::Named(target, _)
                if !own
                    && numerator == Some(true)
                    && matches!(
                        table::real(target),
                        Some(table::Real::Tanh | table::Real::Sigmoid | table::Real::Erf)
                    ) =>
            {
                limits.insert(*id);
                ends_here(e, *expr.kids.first()?, &may, &mut out)?;
            }
            Form::Named(target, _)
                if numerator == Some(true)
                    && matches!(
                        table::real(target),
                        Some(table::Real::Log | table::Real::Log1p | table::Real::Sqrt)
                    ) =>
            {
                may.insert(*id, !own);
            }
            // A bound stands where what is bounded grows without end.
            Form::Op(Op::Min | Op::AtMost) if !own && [numerator, divides].contains(&Some(true)) && from.len() == 1 => {
                limits.insert(*id);
                let grows = usize::from(numerator.is_none());
                ends_here(e, *expr.kids.get(grows)?, &may, &mut out)?;
            }
            Form::Op(Op::Max | Op::AtLeast) | Form::Reduce(Fold::Most, ..) if from.iter().all(|up| *up) => {
                may.insert(*id, !own);
            }
            Form::Op(Op::Mul | Op::Div) if from.len() == 1 && (divides.is_none() || expr.form == Form::Op(Op::Mul)) => {
                let (grows, other) = match (numerator, expr.kids.as_slice()) {
                    (Some(_), [x, y]) => (x, y),
                    (_, [x, y]) => (y, x),
                    _ => return None,
                };
                // Nor is it too small where it does not grow.
                let most = forward::largest(expr.dtype) / 1024.0;
                let still = ranges.get(grows).is_some_and(|r| r.low >= -most);
                let positive = backward::constant(e, *other).is_some_and(|v| (1.0 / 1024.0..=1024.0).contains(&v));
                may.insert(*id, from.iter().all(|up| *up) && still && positive);
            }
            Form::Op(Op::Div) if divides.is_some() => return None,
            Form::Op(Op::Add) => {
                may.insert(*id, !own && from.iter().all(|up| *up));
            }
            Form::Op(Op::Sub | Op::Mul | Op::Neg | Op::Div | Op::Abs | Op::Cast) | Form::Reduce(Fold::Sum, ..)
                if expr.dtype.is_float() =>
            {
                may.insert(*id, false);
            }
            _ => return None,
        }
    }
    // Where a limit is taken the end is finite; else it is not.
    let infinite = may.contains_key(&last);
    let holds = if limits.is_empty() { out.is_empty() || infinite } else { out.is_empty() && !infinite };
    holds.then_some((out, limits))
}

/// What is infinite below an element ends there: it is not carried on.
fn ends_here(e: &Elements, at: ExprId, may: &FxHashMap<ExprId, bool>, out: &mut Vec<ExprId>) -> Option<()> {
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        out.retain(|p| *p != at);
        open.extend(e.expr(at)?.kids.iter().filter(|k| may.contains_key(k)));
    }
    Some(())
}

/// Returns the interval in which an expression lies whose sources lie in a box; `None` where nothing bounds it.
pub fn range(e: &mut Elements, root: ExprId, sources: Box<'_>) -> Option<Interval> {
    let order = e.below(root);
    e.spend(order.len())?;
    let (ranges, past, _) = forward::ranges(e, &order, sources)?;
    ranges.get(&root).copied().filter(|_| past.is_empty())
}

/// The same with what else is known of its elements.
pub fn range_where(e: &mut Elements, root: ExprId, sources: Box<'_>, known: &Known) -> Option<Interval> {
    let before = known.put(e);
    let found = range(e, root, sources);
    before.put(e);
    found
}

/// Returns half the distance between numbers of a dtype near 1.
pub fn unit(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 => 0.5_f64.powi(53),
        Dtype::F32 => 0.5_f64.powi(24),
        Dtype::F16 => 0.5_f64.powi(11),
        Dtype::Bf16 => 0.5_f64.powi(8),
        _ => 1.0,
    }
}

/// Below which numbers of a dtype are not told from 0: the smallest normal one, where devices may take what is less for nothing.
pub fn flushed(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F64 | Dtype::C128 => f64::MIN_POSITIVE,
        Dtype::F32 | Dtype::C64 | Dtype::Bf16 | Dtype::Bc32 => f64::from(f32::MIN_POSITIVE),
        _ => 0.0,
    }
}
