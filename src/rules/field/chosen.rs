//! Values of which nothing is computed: elements that are chosen by their places, or because they are the greatest.
//!
//! ## What it says
//! Where all that is done to elements is to move them, to choose one by its place, to bound it by a number, and to take the greatest or the least of some, expressions that are one
//! choice are equal whatever the elements are, infinite ones and NaN among them: -inf beside an image stands for no element.
//!
//! ## When it is wrong
//! Where anything is computed: of that -inf would be a number. Which of two zeros is the greater one is the kernel's.

use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op};
use crate::rules::table::{Real, real};

/// How deep calls within calls are compared.
const CALLS: usize = 8;
/// How many conditions may be split, one within another.
const CASES: usize = 4;

impl Elements {
    /// Whether two expressions are one choice of elements.
    pub fn are_chosen_alike(&mut self, a: ExprId, b: ExprId) -> bool {
        let takes = [a, b].iter().all(|root| self.below(*root).into_iter().any(|id| self.is_reduction(id)));
        takes
            && self.only_chooses(a)
            && self.only_chooses(b)
            && self.equal_by_cases((a, b), CASES, &mut |e, a, b| e.congruent(a, b, CALLS))
    }

    fn only_chooses(&self, root: ExprId) -> bool {
        let conditions =
            |id: ExprId| matches!(self.expr(id).map(|x| &x.form), Some(Form::AtLeastZero(_) | Form::IsZero(_)));
        self.below(root).into_iter().all(|id| match self.expr(id).map(|x| &x.form) {
            Some(Form::Load(..) | Form::Const(_) | Form::AtLeastZero(_) | Form::IsZero(_)) => true,
            Some(Form::Reduce(Fold::Most | Fold::Least, ..) | Form::Op(Op::Max | Op::Min)) => true,
            Some(Form::Op(Op::AtLeast | Op::AtMost | Op::Neg)) => true,
            Some(Form::Named(target, _)) => real(target) == Some(Real::Relu),
            Some(Form::Op(Op::Choose)) => self.expr(id).and_then(|x| x.kids.first()).is_some_and(|c| conditions(*c)),
            _ => false,
        })
    }
}
