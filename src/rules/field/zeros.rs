//! Where two elements that are equal over the reals lie beside 0.
//!
//! ## What it says
//! Both may lie surely apart from 0, or surely on one side of it, whatever is rounded. Or both are 0 in the same places: of sums of what is not negative,
//! their roots, and what they are multiplied by that is no tiny number, nothing cancels and nothing vanishes; what both are made of, sums of many aside,
//! is the same bits in both. Two computations of one element, step by step, differ in the last places of sums and functions alone.
//!
//! ## When it is wrong
//! Of a difference, which is 0 where both parts round to one; of a product of two tiny numbers, which is 0 in a dtype though neither is. Numbers under the
//! smallest normal one are not told from 0, as a device may not. Which of two zeros is the greater one, and which comes first of those in order, is the
//! kernel's: what is divided by it is infinite on one side or the other. What is never negative may be -0.0, which a magnitude, a square and what 0 is added to are not.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op, Source};
use crate::rules::element::cast::loses_nothing;
use crate::rules::field::extent::{SEEN, least_normal};
use crate::rules::rounding::constant;
use crate::rules::table::{Edge, Real, edge_of, real};

/// The least magnitude that a factor may have for a product to vanish only with its other factor.
const SMALL: f64 = 1.0 / 16_777_216.0;

/// Where two elements, or one, lie beside 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BesideZero {
    /// Whether both are surely apart from it.
    pub apart: bool,
    /// Whether both are surely not below it.
    pub never_negative: bool,
    /// Whether both are 0, and on either side of it, in the same places.
    pub alike: bool,
    /// Whether their zeros have the same signs there, too.
    pub signed: bool,
}

impl BesideZero {
    /// Returns what is known in one way or another.
    pub fn or(self, other: Self) -> Self {
        Self {
            apart: self.apart || other.apart,
            never_negative: self.never_negative || other.never_negative,
            alike: self.alike || other.alike,
            signed: self.signed || other.signed,
        }
    }

    /// Returns what is known of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            apart: self.apart && other.apart,
            never_negative: self.never_negative && other.never_negative,
            alike: self.alike && other.alike,
            signed: self.signed && other.signed,
        }
    }
}

/// What two elements are both made of.
struct Common {
    /// Bit by bit.
    bits: FxHashSet<ExprId>,
    /// By the same steps, those that sum floats, too.
    steps: FxHashSet<ExprId>,
}

impl Elements {
    /// Returns where two elements that are equal over the reals lie beside 0.
    pub fn beside_zero(&mut self, x: ExprId, y: ExprId) -> Option<BesideZero> {
        let common = self.in_common(x, y);
        let mut each = |root: ExprId| {
            let apart = self.is_apart_from_zero(root)?;
            let never_negative = self.is_never_negative(root)?;
            let alike = apart || self.keeps_zero(root, &common.bits)?;
            Some(BesideZero {
                apart,
                never_negative,
                alike,
                signed: apart || alike && self.signs_zeros(root, &common)?,
            })
        };
        Some(each(x)?.and(each(y)?))
    }

    /// Returns what two elements are both made of.
    fn in_common(&self, x: ExprId, y: ExprId) -> Common {
        let below = |root| self.below(root).into_iter().collect::<FxHashSet<ExprId>>();
        let steps: FxHashSet<ExprId> = below(x).intersection(&below(y)).copied().collect();
        let mut bits = steps.clone();
        self.leave_out_sums(x, &mut bits);
        Common { bits, steps }
    }

    /// Takes what is a sum of floats, or made of one, out of what two elements have in common: kernels may add in another order.
    fn leave_out_sums(&self, root: ExprId, common: &mut FxHashSet<ExprId>) {
        let mut summed: FxHashSet<ExprId> = FxHashSet::default();
        for id in self.below(root) {
            let Some(expr) = self.expr(id) else { continue };
            let adds = matches!(expr.form, Form::Reduce(Fold::Sum | Fold::Product, ..)) && expr.dtype.is_float();
            if adds || expr.kids.iter().any(|k| summed.contains(k)) {
                summed.insert(id);
                common.remove(&id);
            }
        }
    }

    /// Whether an element is 0 where it would be one if nothing were rounded, on the same side of 0 elsewhere; some of what it is made of is taken as it is.
    fn keeps_zero(&mut self, root: ExprId, given: &FxHashSet<ExprId>) -> Option<bool> {
        let mut kept: FxHashSet<ExprId> = FxHashSet::default();
        // What numbers made of it so far, and at least: small ones one by one are a tiny one together.
        let mut scales: FxHashMap<ExprId, (f64, f64)> = FxHashMap::default();
        for id in self.below(root) {
            self.spend(1)?;
            let expr = self.expr(id)?.clone();
            let own = given.contains(&id) || matches!(expr.form, Form::Const(_) | Form::Number(_) | Form::Load(..));
            let (now, least) = if own { (1.0, 1.0) } else { self.scaled_by_numbers(&expr, &scales) };
            scales.insert(id, (now, least));
            if own || expr.dtype.is_float() && least >= SMALL && self.step_keeps_zero(&expr, &kept)? {
                kept.insert(id);
            }
        }
        Some(kept.contains(&root))
    }

    /// By which numbers an element was multiplied, now and where they were smallest.
    fn scaled_by_numbers(&self, expr: &Expr, scales: &FxHashMap<ExprId, (f64, f64)>) -> (f64, f64) {
        let of = |k: &ExprId| scales.get(k).copied().unwrap_or((1.0, 1.0));
        let (now, least) =
            expr.kids.iter().map(of).fold((f64::INFINITY, 1.0_f64), |(now, least), (n, l)| (now.min(n), least.min(l)));
        let number = |k: &ExprId| constant(self, *k).map(f64::abs);
        let by = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Mul), [a, b]) => number(a).or(number(b)).unwrap_or(1.0),
            (Form::Op(Op::Div), [_, b]) => number(b).map_or(1.0, |v| 1.0 / v),
            _ => 1.0,
        };
        let now = if now.is_finite() { now * by } else { 1.0 };
        (now, least.min(now))
    }

    /// Whether nothing below an element leaves it open which of 0.0 and -0.0 it is.
    fn signs_zeros(&mut self, root: ExprId, common: &Common) -> Option<bool> {
        Some(!self.open_zeros(root, common)?.contains(&root))
    }

    /// Returns what below an element may be 0.0 or -0.0, as the kernel has it: the greater and the lesser of two, and what is put in order, unless no
    /// zero among them is negative; and what takes the sign from a zero, unless it is in common.
    fn open_zeros(&mut self, root: ExprId, common: &Common) -> Option<FxHashSet<ExprId>> {
        let (mut open, mut plus) = (FxHashSet::default(), FxHashSet::default());
        let known = self.extents(root)?;
        for id in self.below(root) {
            self.spend(1)?;
            let expr = self.expr(id)?.clone();
            let extent = known.get(&id).filter(|_| expr.dtype.is_float());
            let is_no_zero = extent.is_some_and(|found| found.is_apart_from_zero());
            let is_positive = is_no_zero && extent.is_some_and(|found| found.is_never_negative());
            let common = match expr.form {
                Form::Reduce(..) => &common.steps,
                _ => &common.bits,
            };
            if !is_no_zero && !common.contains(&id) && self.takes_the_sign(id, &expr, &plus)? {
                open.insert(id);
                continue;
            }
            let expr = &expr;
            let never_negative = |k: &ExprId| known.get(k).is_some_and(|found| found.is_never_negative());
            if is_positive || self.has_no_negative_zero(id, expr, &plus, expr.kids.iter().all(never_negative)) {
                plus.insert(id);
                continue;
            }
            if is_no_zero {
                continue;
            }
            let own = match &expr.form {
                Form::Op(Op::Max | Op::Min | Op::AtLeast | Op::AtMost) => true,
                Form::Reduce(Fold::Most | Fold::Least, ..) => true,
                Form::Named(..) => expr.kids.len() > 1,
                Form::Load(source, _) => matches!(self.source_of(*source), Some(Source::Call { .. })),
                Form::Op(Op::Choose) => self.chooses_the_greater(&expr.kids),
                _ => false,
            };
            if expr.dtype.is_float() && (own || expr.kids.iter().any(|k| open.contains(k))) {
                open.insert(id);
            }
        }
        Some(open)
    }

    /// Whether an element gives 0.0 of what may be -0.0, though over the reals it is that, or its opposite: 0 is added to it, it is taken from 0, or is a magnitude, or a
    /// square, of what is never negative, or a sum over dimensions; or it is the number -0.0.
    fn takes_the_sign(&mut self, id: ExprId, expr: &Expr, plus: &FxHashSet<ExprId>) -> Option<bool> {
        let is_zero = |e: &Self, k: ExprId| e.float(k) == Some(0.0);
        Some(match (&expr.form, expr.kids.as_slice()) {
            _ if !expr.dtype.is_float() => false,
            // One of two numbers.
            (Form::Const(_), []) => is_zero(self, id) && !plus.contains(&id) && !self.float(id)?.is_sign_positive(),
            (Form::Op(Op::Add), &[a, b]) => {
                is_zero(self, a) && !plus.contains(&b) || is_zero(self, b) && !plus.contains(&a)
            }
            (Form::Op(Op::Sub), &[a, _]) => is_zero(self, a),
            // A sum begins with 0, additions of the same elements do not.
            (Form::Reduce(Fold::Sum, ..), &[each]) => !plus.contains(&each),
            (Form::Op(Op::Abs), &[a]) => !plus.contains(&a) && self.is_never_negative(a)?,
            (Form::Op(Op::Mul), &[a, b]) => a == b && !plus.contains(&a) && self.is_never_negative(a)?,
            (Form::Named(target, _), &[a]) if real(target) == Some(Real::Square) => {
                !plus.contains(&a) && self.is_never_negative(a)?
            }
            _ => false,
        })
    }

    /// Whether an element is never -0.0; of some of what it is made of that is known. `above`: all of that is never negative.
    fn has_no_negative_zero(&self, id: ExprId, expr: &Expr, plus: &FxHashSet<ExprId>, above: bool) -> bool {
        let all = !expr.kids.is_empty() && expr.kids.iter().all(|k| plus.contains(k));
        let is_positive = |k: ExprId| constant(self, k).is_some_and(|v| v > 0.0);
        match (&expr.form, expr.kids.as_slice()) {
            // A negative integer that vanishes as a float is -0.0.
            _ if !expr.dtype.is_float() => expr.dtype == Dtype::Bool,
            (Form::Const(_) | Form::Number(_), _) => self.float(id).is_some_and(f64::is_sign_positive),
            (Form::Op(Op::Abs), _) => true,
            // What is negative times a zero is none of these.
            (Form::Op(Op::Mul), [a, b]) => a == b || all && (above || [*a, *b].iter().any(|k| is_positive(*k))),
            (Form::Op(Op::Div), [_, b]) => all && is_positive(*b),
            (Form::Op(Op::Choose), [_, a, b]) => plus.contains(a) && plus.contains(b),
            // That is the sum of two such alone.
            (Form::Op(Op::Add), [a, b]) => plus.contains(a) || plus.contains(b),
            (Form::Op(Op::Cast | Op::Max | Op::Min | Op::AtLeast | Op::AtMost), _) => all,
            (Form::Reduce(Fold::Sum | Fold::Most | Fold::Least, ..), _) => all,
            (Form::Named(target, _), [_]) => match real(target) {
                Some(Real::Exp | Real::Exp2 | Real::Sigmoid | Real::Erfc | Real::Cosh | Real::Square) => true,
                Some(Real::Sqrt | Real::Rsqrt | Real::Reciprocal | Real::Relu) => all,
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a tiny root makes no difference to what is made of it: it is squared again, or held above a number that is not tiny.
    fn spares_tiny_roots(&self, expr: &Expr) -> bool {
        let is_seen = |id: &ExprId| self.float(*id).is_some_and(|v| v >= SEEN);
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Mul), [a, b]) => a == b,
            (Form::Op(Op::Max), kids) => expr.dtype != Dtype::F16 && kids.iter().any(is_seen),
            (Form::Named(target, _), [_]) => real(target) == Some(Real::Square),
            _ => false,
        }
    }

    /// Whether roots are taken of products that may be nothing because they are tiny, and that makes a difference.
    pub fn has_roots_of_what_vanishes(&mut self, root: ExprId) -> Option<bool> {
        let below = self.below(root);
        let mut not_squared: FxHashSet<ExprId> = [root].into_iter().collect();
        for id in &below {
            let expr = self.expr(*id)?;
            if !self.spares_tiny_roots(expr) {
                not_squared.extend(self.parts(expr));
            }
        }
        for id in below {
            let Some(Expr { form: Form::Named(target, _), kids, .. }) = self.expr(id) else { continue };
            let is_root = match real(target) {
                Some(Real::Sqrt) => not_squared.contains(&id),
                Some(Real::Rsqrt) => true,
                _ => false,
            };
            let Some(x) = kids.first().copied().filter(|_| is_root) else { continue };
            let apart = match self.op_of(x) {
                Some((Op::Mul, [a, b])) => {
                    let (a, b) = (*a, *b);
                    self.is_apart_from_zero(a)? && self.is_apart_from_zero(b)?
                }
                Some((Op::Div, [a, _])) => {
                    let a = *a;
                    self.is_apart_from_zero(a)?
                }
                _ => self.extent_of(x)?.low >= SEEN * SEEN || matches!(self.expr(x)?.form, Form::Load(..)),
            };
            if !apart {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Returns an element in which the number -0.0 is 0.0, and nothing is added to 0: one number, where no sign of a zero is asked.
    pub fn without_signs_of_zeros(&mut self, root: ExprId) -> Option<ExprId> {
        let is_minus = |e: &Self, id: ExprId| e.float(id).is_some_and(|v| v == 0.0 && v.is_sign_negative());
        let beside_zero = |e: &Self, kids: &[ExprId]| match kids {
            [a, b] if e.float(*b) == Some(0.0) => Some(*a),
            [a, b] if e.float(*a) == Some(0.0) => Some(*b),
            _ => None,
        };
        let adds_zero = |e: &Self, id: ExprId| match e.op_of(id) {
            Some((Op::Add, kids)) => beside_zero(e, kids).is_some(),
            _ => false,
        };
        let order = self.below(root);
        if !order.iter().any(|id| is_minus(self, *id) || adds_zero(self, *id)) {
            return Some(root);
        }
        let mut made: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in order {
            self.spend(1)?;
            let expr = self.expr(id)?.clone();
            let kids: Vec<ExprId> = expr.kids.iter().map(|k| made.get(k).copied().unwrap_or(*k)).collect();
            let alone = match expr.form {
                Form::Op(Op::Add) => beside_zero(self, &kids),
                _ => None,
            };
            let plain = match is_minus(self, id) {
                true => self.rounded(expr.dtype, 0.0)?,
                false if let Some(alone) = alone => alone,
                false if kids.as_slice() == expr.kids.as_slice() => id,
                false => self.again(&expr, &kids)?,
            };
            made.insert(id, plain);
        }
        made.get(&root).copied()
    }

    /// Whether an element divides by a number below the smallest normal one of its dtype, which a device may take for 0.
    pub fn divides_by_nothing(&self, root: ExprId) -> bool {
        self.below(root).into_iter().any(|id| match (self.dtype(id), self.op_of(id)) {
            (Some(dtype), Some((Op::Div, [_, by]))) if dtype.is_float() => {
                constant(self, *by).is_some_and(|v| v.abs() < least_normal(dtype))
            }
            _ => false,
        })
    }

    /// Whether one of two elements divides by what may be 0.0 or -0.0, as the kernel has it, or in it alone, or takes a root of it in a divisor.
    pub fn divide_by_open_zeros(&mut self, x: ExprId, y: ExprId) -> Option<bool> {
        let common = self.in_common(x, y);
        Some(self.divides_by_open_zeros(x, &common)? || self.divides_by_open_zeros(y, &common)?)
    }

    fn divides_by_open_zeros(&mut self, root: ExprId, common: &Common) -> Option<bool> {
        let open = self.open_zeros(root, common)?;
        for id in self.below(root).into_iter().filter(|_| !open.is_empty()) {
            let divisor = match self.expr(id).map(|x| (&x.form, x.kids.as_slice())) {
                Some((Form::Op(Op::Div), [_, below])) => *below,
                Some((Form::Named(target, _), [of])) => match edge_of(target, 0) {
                    Some(Edge::Zero | Edge::Positive) => *of,
                    _ => continue,
                },
                _ => continue,
            };
            if open.contains(&divisor) && !self.is_apart_from_zero(divisor)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether all that two computations of one element may differ in is the last places of sums and functions: these reach no comparison and no integer,
    /// and decide nowhere whether a divisor is 0, or a function defined.
    pub fn is_one_computation(&mut self, root: ExprId) -> Option<bool> {
        let (mut exact, mut cancels) = (FxHashSet::default(), FxHashSet::default());
        for id in self.below(root) {
            self.spend(1)?;
            let expr = self.expr(id)?.clone();
            let kids = expr.kids.as_slice();
            let sums = matches!(expr.form, Form::Reduce(Fold::Sum | Fold::Product, ..)) && expr.dtype.is_float();
            let all_exact = kids.iter().all(|k| exact.contains(k));
            let from_float = kids.iter().any(|k| self.dtype(*k).is_some_and(Dtype::is_float));
            let steps = match &expr.form {
                Form::Op(Op::Round | Op::Bits | Op::Rem | Op::DivFloor | Op::DivTrunc) => true,
                Form::Op(Op::Choose) => false,
                Form::Op(_) | Form::Reduce(..) => !expr.dtype.is_float(),
                Form::Named(target, _) => real(target).is_none(),
                _ => false,
            };
            let is_exact = match &expr.form {
                Form::Named(target, _) => matches!(real(target), Some(Real::Sqrt | Real::Relu | Real::Square)),
                _ => !sums,
            };
            let ends = match (&expr.form, kids) {
                (Form::Op(Op::Div), [_, by]) => cancels.contains(by),
                (Form::Named(target, _), [of]) => edge_of(target, 0).is_some() && cancels.contains(of),
                _ => false,
            };
            if steps && from_float && !all_exact || ends {
                return Some(false);
            }
            if is_exact && all_exact {
                exact.insert(id);
            }
            let positive = match kids {
                [each] if sums => self.is_never_negative(*each)?,
                _ => false,
            };
            if sums && !positive || kids.iter().any(|k| cancels.contains(k)) {
                cancels.insert(id);
            }
        }
        Some(true)
    }

    /// Whether a choice is made by a comparison of what is chosen from.
    fn chooses_the_greater(&self, kids: &[ExprId]) -> bool {
        let &[truth, a, b] = kids else { return true };
        let (mut open, mut seen) = (vec![truth], FxHashSet::default());
        while let Some(id) = open.pop() {
            match self.op_of(id).filter(|_| seen.insert(id)) {
                Some((Op::Lt | Op::Le, [x, y])) if [*x, *y] == [a, b] || [*x, *y] == [b, a] => return true,
                Some((Op::And | Op::Or | Op::Not, kids)) => open.extend(kids),
                _ => {}
            }
        }
        false
    }

    fn step_keeps_zero(&mut self, expr: &Expr, kept: &FxHashSet<ExprId>) -> Option<bool> {
        let all = expr.kids.iter().all(|k| kept.contains(k));
        Some(match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Neg | Op::Abs | Op::Max | Op::AtLeast | Op::Min | Op::AtMost), _) => all,
            (Form::Op(Op::Cast), [from]) => {
                all && self.dtype(*from).is_some_and(|d| d.is_float() && loses_nothing(d, expr.dtype))
            }
            (Form::Op(Op::Add), [a, b]) => all && self.is_never_negative(*a)? && self.is_never_negative(*b)?,
            (Form::Op(Op::Mul), [a, b]) => all && (self.is_no_less(*a) || self.is_no_less(*b)),
            (Form::Op(Op::Div), [_, b]) => all && constant(self, *b).is_some_and(|v| v <= 1.0 / SMALL),
            (Form::Reduce(Fold::Most | Fold::Least, ..), _) => all,
            (Form::Reduce(Fold::Sum, ..), [each]) => all && self.is_never_negative(*each)?,
            (Form::Named(target, _), [_]) => all && matches!(real(target), Some(Real::Sqrt | Real::Relu)),
            _ => false,
        })
    }

    /// Whether an element is a number that is not tiny.
    fn is_no_less(&self, id: ExprId) -> bool {
        constant(self, id).is_some_and(|v| v >= SMALL)
    }
}
