//! What puts a number in the place of NaN.
//!
//! ## What it says
//! A float that is an integer, within what an integer dtype holds, is the same number converted to that dtype and back; a number that is chosen where a float
//! equals itself, else another, is that number. So both are but for NaN, which such a conversion and such a choice hide: what is without them shows
//! more of it, and that all the way up; where inputs are numbers of the working range neither does.
//!
//! ## When it is wrong
//! Where what is hidden is the NaN of numbers (`log(x)` below 0, `0 / 0`). Where a NaN would turn a comparison, or is no NaN at the end. Which zero it is counts where something is divided by it. Not the other way round: a graph
//! may not hide what it showed.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Dtype;
use crate::rules::definedness::passes_on;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::cast::{keeps_order, most_whole};
use crate::rules::element::make::ends;
use crate::rules::field::Extent;
use crate::rules::table::{FLOOR, Real, real};

impl Elements {
    /// Returns an element without what hides NaN in it, where all that is left out reaches the end as it is and is a number wherever inputs are some; `None` where there is
    /// nothing of that kind.
    pub fn without_guards(&mut self, root: ExprId) -> Option<ExprId> {
        let mut made: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        let mut above: FxHashSet<ExprId> = FxHashSet::default();
        // Integers that only what is left out may be made of.
        let mut within: FxHashSet<ExprId> = FxHashSet::default();
        for id in self.below(root) {
            self.spend(1)?;
            let expr = self.expr(id)?.clone();
            let kids: Vec<ExprId> = expr.kids.iter().map(|k| made.get(k).copied().unwrap_or(*k)).collect();
            let sees = |all: &FxHashSet<ExprId>| self.parts(&expr).iter().any(|p| all.contains(p));
            let (touched, hidden) = (sees(&above), sees(&within));
            let found = match self.guarded(&expr, &kids, &made)? {
                Some(bare) => {
                    self.is_number_of_numbers(bare)?.then_some(())?;
                    above.insert(id);
                    bare
                }
                None if !touched && !hidden => id,
                None if !hidden && self.is_cut(&expr) => {
                    within.insert(id);
                    self.again(&expr, &kids)?
                }
                None => {
                    // Neither a step nor a divisor sees what is left out.
                    (!hidden && self.carries(&expr, &above)).then_some(())?;
                    above.insert(id);
                    self.again(&expr, &kids)?
                }
            };
            made.insert(id, found);
        }
        made.get(&root).copied().filter(|found| *found != root && !within.contains(&root))
    }

    /// Whether an element is a number wherever the inputs that all of it is made of are some of the working range.
    fn is_number_of_numbers(&mut self, root: ExprId) -> Option<bool> {
        let stated = self.numbers.clone();
        self.lies_in_working_range(root);
        let extents = self.extents(root);
        self.numbers = stated;
        let (extents, mut numbers) = (extents?, FxHashSet::default());
        for id in self.below(root) {
            let expr = self.expr(id)?;
            let is_number = |k: &ExprId| numbers.contains(k);
            if !expr.dtype.is_float() || expr.kids.iter().all(is_number) && self.makes_a_number(expr, &extents) {
                numbers.insert(id);
            }
        }
        Some(numbers.contains(&root))
    }

    /// Whether an element that is made of numbers is one.
    fn makes_a_number(&self, expr: &Expr, extents: &FxHashMap<ExprId, Extent>) -> bool {
        let of = |k: &ExprId| extents.get(k).copied().unwrap_or_default();
        let finite = || expr.kids.iter().all(|k| of(k).is_finite());
        let first = expr.kids.first().map(of).unwrap_or_default();
        match &expr.form {
            Form::Load(source, _) => self.given.contains(source),
            Form::Const(v) => !f64::from_bits(v.cast_unsigned()).is_nan(),
            Form::Number(_) => true,
            Form::Op(op) => match (op, expr.kids.as_slice()) {
                (Op::Add | Op::Sub | Op::Mul, _) => finite(),
                (Op::Div, [_, below]) => finite() && of(below).is_apart_from_zero(),
                (Op::Neg | Op::Abs | Op::Max | Op::Min | Op::AtLeast | Op::AtMost | Op::Round | Op::Choose, _) => true,
                // There are floats that have no infinite number.
                (Op::Cast, _) => keeps_order(expr.dtype),
                _ => false,
            },
            Form::Reduce(Fold::Most | Fold::Least, ..) => true,
            Form::Reduce(Fold::Sum, ..) => finite(),
            Form::Named(target, _) if **target == *FLOOR => true,
            Form::Named(target, _) => match real(target) {
                Some(Real::Exp | Real::Exp2 | Real::Expm1 | Real::Sigmoid | Real::Tanh | Real::Erf | Real::Erfc) => {
                    true
                }
                Some(Real::Relu | Real::Square) => true,
                Some(Real::Silu | Real::Sin | Real::Cos) => first.is_finite(),
                Some(Real::Sqrt) => first.is_never_negative(),
                Some(Real::Log | Real::Rsqrt) => first.is_never_negative() && first.is_apart_from_zero(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an element is a float converted to an integer.
    fn is_cut(&self, expr: &Expr) -> bool {
        let float = expr.kids.first().and_then(|k| self.dtype(*k)).is_some_and(Dtype::is_float);
        expr.form == Form::Op(Op::Cast) && float && ends(expr.dtype).is_some()
    }

    /// Whether a NaN in a child is one in the element, and another zero at most another zero.
    fn carries(&self, expr: &Expr, above: &FxHashSet<ExprId>) -> bool {
        let plain = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Div), [_, below]) => !above.contains(below),
            (Form::Op(Op::Choose), _) => false,
            (Form::Op(_) | Form::Reduce(Fold::Sum, ..), _) => true,
            _ => false,
        };
        plain && passes_on(self, expr)
    }

    /// Returns the number that a conversion there and back, or a choice, hides the NaN of.
    fn guarded(&mut self, expr: &Expr, kids: &[ExprId], made: &FxHashMap<ExprId, ExprId>) -> Option<Option<ExprId>> {
        let bare = match (&expr.form, expr.kids.as_slice(), kids) {
            (Form::Op(Op::Choose), [condition, own, _], [_, bare, _]) => {
                let Some((Op::Eq, [x, same])) = self.op_of(*condition) else { return Some(None) };
                (x == same && x == own && expr.dtype.is_float()).then_some(*bare)
            }
            (Form::Op(Op::Cast), [integer], _) if expr.dtype.is_float() => match self.op_of(*integer) {
                Some((Op::Cast, [x])) if self.is_kept_by(*x, *integer, expr.dtype) => {
                    let bare = made.get(x).copied().unwrap_or(*x);
                    Some(self.op(Op::Cast, expr.dtype, &[bare])?)
                }
                _ => None,
            },
            _ => None,
        };
        Some(bare)
    }

    /// Whether a float is the same number converted to an integer and to a float.
    #[allow(clippy::cast_precision_loss)]
    fn is_kept_by(&self, x: ExprId, integer: ExprId, to: Dtype) -> bool {
        let most = self.dtype(x).and_then(most_whole).zip(most_whole(to)).map(|(a, b)| a.min(b));
        let (Some(most), Some((low, high))) = (most, self.dtype(integer).and_then(ends)) else { return false };
        let (first, last) = self.between_numbers(x);
        self.is_integer(x) && low.max(most.saturating_neg()) as f64 <= first && last <= high.min(most) as f64
    }

    /// Whether a float surely is an integer, infinite, or NaN.
    fn is_integer(&self, root: ExprId) -> bool {
        let mut open = vec![root];
        for _ in 0..32 {
            let Some(id) = open.pop() else { return true };
            let Some(expr) = self.expr(id) else { return false };
            match &expr.form {
                Form::Op(Op::Round) if expr.dtype.is_float() => {}
                Form::Named(target, _) if **target == *FLOOR => {}
                Form::Const(_) if self.float(id).is_some_and(|v| v.fract() == 0.0) => {}
                // A sum of two is rounded to one, too: what is not held exactly is a multiple of a larger power of two.
                Form::Op(
                    Op::Max | Op::Min | Op::AtLeast | Op::AtMost | Op::Neg | Op::Abs | Op::Add | Op::Sub | Op::Mul,
                ) if expr.dtype.is_float() => {
                    open.extend(&expr.kids);
                }
                // What is chosen where it is no NaN.
                Form::Op(Op::Choose) => open.extend(expr.kids.iter().skip(1)),
                _ => return false,
            }
        }
        false
    }

    /// Returns the numbers between which bounds hold a float that is none of them NaN.
    fn between_numbers(&self, root: ExprId) -> (f64, f64) {
        let mut known: FxHashMap<ExprId, (f64, f64)> = FxHashMap::default();
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        for id in self.below(root) {
            let Some(expr) = self.expr(id) else { return all };
            let of = |k: usize| expr.kids.get(k).and_then(|k| known.get(k)).copied().unwrap_or(all);
            let (a, b) = (of(0), of(1));
            let own = match (&expr.form, self.float(id)) {
                (_, Some(v)) if !v.is_nan() => (v, v),
                (Form::Op(Op::Max | Op::AtLeast), _) => (a.0.max(b.0), a.1.max(b.1)),
                (Form::Op(Op::Min | Op::AtMost), _) => (a.0.min(b.0), a.1.min(b.1)),
                (Form::Op(Op::Add), _) if a.0.is_finite() && b.0.is_finite() => (a.0 + b.0, a.1 + b.1),
                (Form::Op(Op::Neg), _) => (-a.1, -a.0),
                _ => all,
            };
            known.insert(id, own);
        }
        known.get(&root).copied().unwrap_or(all)
    }
}
