//! Reductions over elements that are the same in any order.
//!
//! ## What it says
//! The greatest, the least and "any" of equal elements are that element.
//!
//! ## When it is wrong
//! Over no element: the dimensions must surely hold one. Sums of equal elements are multiples. Floats are summed in an order that the kernel
//! chooses by shape: a sum of floats is never looked into.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form};
use crate::sym::Dim;

impl Elements {
    /// Returns the child over all places of the dimensions `Bound(level), Bound(level + 1), ...`.
    pub fn reduced(&mut self, fold: Fold, level: u32, sizes: &[Dim], body: ExprId) -> Option<ExprId> {
        self.spend(1)?;
        let dtype = self.dtype(body)?;
        let holds_one = sizes.iter().all(|d| self.at_most(Dim::Fixed(1), *d));
        let is_one = sizes.iter().all(|d| *d == Dim::Fixed(1));
        let settles = matches!(fold, Fold::Most | Fold::Least | Fold::Any) || is_one;
        if holds_one && settles && !self.mentions(body, level) {
            self.by("fold-of-equal");
            return Some(body);
        }
        if fold == Fold::Any && self.number(body) == Some(0) {
            return self.truth(false);
        }
        let dtype = if fold == Fold::Any { Dtype::Bool } else { dtype };
        Some(self.store_expr(Expr { dtype, form: Form::Reduce(fold, level, sizes.into()), kids: smallvec::SmallVec::from_elem(body, 1) }))
    }
}
