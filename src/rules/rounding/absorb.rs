//! What is added to a number so large that the sum is that number.
//!
//! ## What it says
//! `s + c` is `c` where the range of `s` lies under half a unit of `c`: a mask of -1e30 that is added is one that is filled in.
//!
//! ## When it is wrong
//! Where `s` is NaN, which the sum shows and `c` does not: only the second side may be read so, which then shows more of it than is said here. Where `s`
//! leaves the working range: of what is known to reach beyond, it is asked how far.

use rustc_hash::FxHashMap;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Form, Op, SourceId};
use crate::rules::rounding::{self, Interval, Leaving, unit};

/// Returns an expression of the second side in which what is added to a number so large that the sum is that number is left out. Its NaN is left out,
/// too: the second side shows more of it.
pub fn without_absorbed(e: &mut Elements, root: ExprId, leaving: &Leaving) -> Option<ExprId> {
    let order = e.below(root);
    let half = order.iter().any(|id| e.dtype(*id) == Some(Dtype::F16));
    let far = 2.0_f64.powi(if half { 6 } else { 11 });
    let sources = |source: Option<SourceId>, dtype: Dtype| match source.and_then(|s| leaving.get(&s)) {
        Some(reach) => Interval::new(reach.low, reach.high),
        None => Interval::new(-far, far).filter(|_| dtype.is_float() || dtype == Dtype::Bool),
    };
    let mut known: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    let mut changed = false;
    for id in order {
        let expr = e.expr(id)?.clone();
        let kids: Vec<ExprId> = expr.kids.iter().map(|k| known.get(k).copied().unwrap_or(*k)).collect();
        let mut made = if kids == expr.kids.as_slice() { id } else { e.again(&expr, &kids)? };
        if let (Form::Op(Op::Add), true, [a, b]) = (&expr.form, expr.dtype.is_float(), kids.as_slice()) {
            for (more, masked) in [(*a, *b), (*b, *a)] {
                let Some((Op::Choose, [condition, large, other])) = e.op_of(masked) else { continue };
                let (condition, large, other) = (*condition, *large, *other);
                let Some(number) = e.float(large).filter(|v| v.is_finite()) else { continue };
                // Half of what lies between numbers near it, and as much again.
                let least = unit(expr.dtype) * number.abs() / 4.0;
                if least < 1.0 || rounding::range(e, more, &sources).is_none_or(|r| r.most() >= least) {
                    continue;
                }
                let sum = e.op(Op::Add, expr.dtype, &[more, other])?;
                made = e.op(Op::Choose, expr.dtype, &[condition, large, sum])?;
                changed = true;
                break;
            }
        }
        known.insert(id, made);
    }
    if changed { known.get(&root).copied() } else { Some(root) }
}
