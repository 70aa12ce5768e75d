//! Values of choices by a comparison with a number, as far as they are chosen.
//!
//! ## What it says
//! Where a float is greater than a number, the greater one of both is that float; where it is not, the lesser one is. So what is chosen there may be made of
//! these: an exponential that is chosen where its exponent is at most 20 never leaves its dtype.
//!
//! ## When it is wrong
//! Of another float: only the one that is compared is bounded, and only where it is chosen by.

use rustc_hash::FxHashMap;

use crate::rules::element::arena::{Elements, ExprId, Form, Op};

/// Returns an expression in which what a choice compares with a number is bounded by that number in either value.
pub fn within_choices(e: &mut Elements, root: ExprId) -> Option<ExprId> {
    let mut known: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for id in e.below(root) {
        e.spend(1)?;
        let expr = e.expr(id)?.clone();
        let kids: Vec<ExprId> = expr.kids.iter().map(|k| known.get(k).copied().unwrap_or(*k)).collect();
        let made = match (&expr.form, kids.as_slice()) {
            (Form::Op(Op::Choose), [c, yes, no]) if expr.dtype.is_float() => match compared(e, *c) {
                Some((x, at, above)) => {
                    let (over, under) = if above { (Op::Max, Op::Min) } else { (Op::Min, Op::Max) };
                    let yes = bounded(e, *yes, over, (x, at))?;
                    let no = bounded(e, *no, under, (x, at))?;
                    e.op(Op::Choose, expr.dtype, &[*c, yes, no])?
                }
                None => e.again(&expr, &kids)?,
            },
            _ if kids.as_slice() == expr.kids.as_slice() => id,
            _ => e.again(&expr, &kids)?,
        };
        known.insert(id, made);
    }
    known.get(&root).copied()
}

/// Returns the float that a condition compares with a number, the number, and whether it asks whether the float is above.
fn compared(e: &Elements, condition: ExprId) -> Option<(ExprId, ExprId, bool)> {
    let (Op::Lt | Op::Le, [p, q]) = e.op_of(condition)? else { return None };
    match (e.float(*p), e.float(*q)) {
        (Some(at), None) if at.is_finite() => Some((*q, *p, true)),
        (None, Some(at)) if at.is_finite() => Some((*p, *q, false)),
        _ => None,
    }
}

fn bounded(e: &mut Elements, value: ExprId, op: Op, (x, at): (ExprId, ExprId)) -> Option<ExprId> {
    // By itself it is as large as it is.
    if value == x {
        return Some(value);
    }
    let bound = e.op(op, e.dtype(x)?, &[x, at])?;
    let others = FxHashMap::from_iter([(x, bound)]);
    e.with_others(value, &others)
}
