//! Functions of floats of which the host says that they are one of few small integers.
//!
//! ## What it says
//! A function of what is one of few numbers is the sum of what it is for each of these, times what is 1 there and 0 for the others: of a label `y` that is 0
//! or 1, `f(y)` is `y * f(1) + (1 - y) * f(0)`.
//!
//! ## When it is wrong
//! Of any other float. Where places are summed or compared within the function, each has a label of its own. NaN is asked of the function as it stands.

use rustc_hash::FxHashMap;

use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};

/// Of how many expressions functions of labels are looked for.
const MOST: usize = 200;
/// How many labels a function may have.
const LABELS: usize = 2;

impl Elements {
    /// Returns an expression in which functions of labels are sums over what these may be.
    pub(super) fn labels_apart(&mut self, root: ExprId) -> Option<ExprId> {
        let all = self.below(root);
        if self.few.is_empty() || all.len() > MOST {
            return Some(root);
        }
        let mut known: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in all {
            let expr = self.expr(id)?.clone();
            if !expr.dtype.is_float() {
                continue;
            }
            let kids: Vec<ExprId> = expr.kids.iter().map(|k| known.get(k).copied().unwrap_or(*k)).collect();
            let made = match self.is_arithmetic(&expr) {
                true if kids.as_slice() == expr.kids.as_slice() => id,
                true => self.again(&expr, &kids)?,
                false => self.by_labels(id, LABELS)?,
            };
            known.insert(id, made);
        }
        Some(known.get(&root).copied().unwrap_or(root))
    }

    /// Whether an expression is a number, an element, or made of floats by sums and products alone.
    fn is_arithmetic(&self, expr: &Expr) -> bool {
        let floats = expr.kids.iter().all(|k| self.dtype(*k).is_some_and(|d| d.is_float()));
        match &expr.form {
            Form::Const(_) | Form::Number(_) | Form::Load(..) => true,
            Form::Op(Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg) | Form::Reduce(Fold::Sum, ..) => floats,
            _ => false,
        }
    }

    /// A function as the sum of what it is for each number that a label within may be.
    fn by_labels(&mut self, id: ExprId, labels: usize) -> Option<ExprId> {
        let (below, dtype) = (self.below(id), self.dtype(id)?);
        self.spend(below.len())?;
        let is_label = |e: &Self, x: ExprId| e.dtype(x) == Some(dtype) && e.few_of(x).is_some();
        let label = below.iter().copied().find(|x| is_label(self, *x));
        let (Some(label), Some(left)) = (label, labels.checked_sub(1)) else { return Some(id) };
        if below.iter().any(|x| self.is_reduction(*x)) {
            return Some(id);
        }
        let numbers = self.few_of(label)?.to_vec();
        let mut total = self.rounded(dtype, 0.0)?;
        for number in &numbers {
            let own = self.rounded(dtype, f64::from(*number))?;
            let there = self.with_others(id, &FxHashMap::from_iter([(label, own)]))?;
            let mut part = self.by_labels(there, left)?;
            for other in numbers.iter().filter(|other| *other != number) {
                let minus = self.rounded(dtype, -f64::from(*other))?;
                let apart = self.op(Op::Add, dtype, &[label, minus])?;
                let share = self.literal(dtype, 1.0 / (f64::from(*number) - f64::from(*other)))?;
                part = self.op(Op::Mul, dtype, &[part, apart])?;
                part = self.op(Op::Mul, dtype, &[part, share])?;
            }
            total = self.op(Op::Add, dtype, &[total, part])?;
        }
        Some(total)
    }
}
