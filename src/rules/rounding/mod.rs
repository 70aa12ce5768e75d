//! How far rounding may take a value: a first-order bound on boxes of inputs.
//!
//! ## What it says
//! On a box every element lies in an interval; what one rounding adds at most, times how far the end follows that place (interval derivatives,
//! along all ways, so that ways that cancel do), times how often the place is computed, summed over all places, bounds the error of the end.
//! One rounding adds a unit of the dtype at the largest magnitude there, a sum of n elements n - 1 of them at n times the largest
//! element, a function of a library two. `x - max(x)` is at most 0, and a sum of exponentials of all such differences at least 1.
//!
//! ## When it is wrong
//! It is first order: products of errors are left out. An interval that is not finite, that leaves the dtype, or in which a function is not
//! defined everywhere bounds nothing, nor does a step (a comparison, an integer, an unknown function) that a rounding reaches.

mod backward;
mod forward;
mod interval;
mod sample;

pub use interval::Interval;
pub use sample::largest;

use rustc_hash::FxHashMap;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, SourceId};

/// What elements of a source lie in; without a source, those of an unknown function.
pub type Box<'b> = &'b dyn Fn(Option<SourceId>, Dtype) -> Option<Interval>;

/// Returns whether no rounding reaches an expression.
pub fn is_exact(e: &Elements, root: ExprId) -> bool {
    backward::inexact(e, &e.below(root)).is_empty()
}

/// Returns a bound of the error of an expression whose sources lie in a box, and the interval in which it lies; `None` where nothing bounds it.
pub fn bound(e: &mut Elements, root: ExprId, sources: Box<'_>) -> Option<(f64, Interval)> {
    let order = e.below(root);
    e.spend(order.len().checked_mul(4)?)?;
    let ranges = forward::ranges(e, &order, sources)?;
    let free: FxHashMap<ExprId, forward::Free> = forward::free(e, &order);
    let error = backward::error(e, &order, &ranges, &free)?;
    Some((error, *ranges.get(&root)?)).filter(|(error, _)| error.is_finite())
}

/// Returns the interval in which an expression lies whose sources lie in a box; `None` where nothing bounds it.
pub fn range(e: &mut Elements, root: ExprId, sources: Box<'_>) -> Option<Interval> {
    let order = e.below(root);
    e.spend(order.len())?;
    forward::ranges(e, &order, sources)?.get(&root).copied()
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
