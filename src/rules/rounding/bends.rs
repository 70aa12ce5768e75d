//! Bends at 0, beside which no rounding leads.
//!
//! Promises: what is a product, a quotient or an odd function of what is not rounded has its sign however it is rounded, or is 0; so what bends at 0 is followed there
//! on the side of the bend on which it lies.

use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::rounding::forward::Ranges;
use crate::rules::rounding::interval::Interval;
use crate::rules::table::{Real, real};

/// How many products and functions within one another are looked through.
const DEEP: usize = 6;

/// Returns the derivative in an operand of what bends at 0, where that operand lies on one side of it with its sign kept.
pub fn slope(e: &Elements, expr: &Expr, k: usize, ranges: &Ranges) -> Option<Interval> {
    let kid = *expr.kids.get(k)?;
    let other = expr.kids.get(1_usize.checked_sub(k)?).copied();
    let beside_zero = || other.and_then(|o| e.float(o)) == Some(0.0);
    let [below, above] = match &expr.form {
        Form::Named(target, _) if real(target) == Some(Real::Relu) => [0.0, 1.0],
        Form::Op(Op::Max | Op::AtLeast) if beside_zero() => [0.0, 1.0],
        Form::Op(Op::Min | Op::AtMost) if beside_zero() => [1.0, 0.0],
        Form::Op(Op::Abs) => [-1.0, 1.0],
        _ => return None,
    };
    let range = ranges.get(&kid)?;
    let side = if range.high <= 0.0 { below } else { above };
    ((range.high <= 0.0 || range.low >= 0.0) && keeps_sign(e, kid)).then(|| Interval::point(side))?
}

/// Whether no rounding gives an element the other sign.
fn keeps_sign(e: &Elements, id: ExprId) -> bool {
    let mut open = vec![(id, DEEP)];
    while let Some((id, depth)) = open.pop() {
        let (Some(expr), Some(depth)) = (e.expr(id), depth.checked_sub(1)) else { return false };
        let kept = match &expr.form {
            Form::Load(..) | Form::Number(_) | Form::Const(_) => continue,
            Form::Op(Op::Mul | Op::Div | Op::Neg | Op::Cast) => expr.dtype.is_float(),
            Form::Named(target, _) => match real(target) {
                // Never below 0, however they are rounded.
                Some(Real::Exp | Real::Exp2 | Real::Sigmoid | Real::Sqrt | Real::Rsqrt | Real::Square) => continue,
                known => matches!(known, Some(Real::Relu | Real::Tanh | Real::Erf | Real::Silu | Real::Sinh)),
            },
            _ => false,
        };
        if !kept {
            return false;
        }
        open.extend(expr.kids.iter().map(|k| (*k, depth)));
    }
    true
}
