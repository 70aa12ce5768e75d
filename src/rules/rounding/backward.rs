//! How far the end follows each element, and what all roundings come to.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::cast::{loses_nothing, most_whole};
use crate::rules::rounding::beside::{self, Beside};
use crate::rules::rounding::forward::{Beyond, Free, QUARTER, Ranges, count, largest};
use crate::rules::rounding::interval::Interval;
use crate::rules::rounding::{bends, together, unit};
use crate::rules::table::{Real, real};

/// How far past the largest number an exponential is infinite whatever is rounded in its exponent: that moves by less than 1.
const FAR_PAST: f64 = 1024.0;
/// How many products and quotients are looked through.
const DEEP: usize = 4;

/// How the end follows what is off by a part of itself.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Follow {
    /// As all else: by derivatives.
    Slopes,
    /// What divides is followed by its error beside it.
    Divisors,
    /// Products and quotients in which nothing cancels are off by that part of what they are.
    Products,
}

/// Returns a bound of the error of the last element; `None` where nothing bounds it.
/// `limits`: quotients whose divisor may leave the dtype; they are 0 there. `meets`: choices whose values are one where the condition turns.
pub fn error(
    e: &Elements,
    order: &[ExprId],
    (ranges, beyond): (&Ranges, &Beyond),
    free: &FxHashMap<ExprId, Free>,
    (limits, meets): (&FxHashSet<ExprId>, &FxHashSet<ExprId>),
    (errors, follow): (&FxHashMap<ExprId, Beside>, Follow),
) -> Option<f64> {
    let root = *order.last()?;
    let (inexact, picked) = (inexact(e, order), together::picked(e, order));
    let mut follows: FxHashMap<ExprId, Interval> = FxHashMap::default();
    follows.insert(root, Interval::point(1.0)?);
    let mut total = 0.0;
    for id in order.iter().rev() {
        let Some(by) = follows.get(id).copied() else { continue };
        if !inexact.contains(id) {
            continue;
        }
        let expr = e.expr(*id)?;
        // Which element it is may not hang on a rounding.
        if e.parts(expr).iter().any(|p| inexact.contains(p) && !expr.kids.contains(p)) {
            return None;
        }
        let times: f64 = free.get(id)?.iter().map(|(_, n)| n).product();
        if follow == Follow::Products
            && matches!(expr.form, Form::Op(Op::Mul | Op::Div))
            && let Some(error) = errors.get(id).filter(|_| limits.is_empty())
        {
            total += error.whole(ranges.get(id)?.most()) * by.most() * times;
            continue;
        }
        let mut rounded = rounding(e, expr, ranges.get(id).copied(), ranges)? * times;
        if rounded > 0.0
            && picked.contains(id)
            && let Some(less) = rounded_together(e, *id, expr, free.get(id)?, ranges)
        {
            rounded = rounded.min(less);
        }
        total += rounded * by.most();
        if limits.contains(id) {
            total += left_by_limit(expr, ranges, beyond)? * by.most() * times;
        }
        let bound: Free = match &expr.form {
            Form::Reduce(Fold::Sum, level, sizes) => {
                let each = (*level..).zip(sizes.iter());
                #[allow(clippy::cast_precision_loss)]
                each.map(|(l, d)| e.size_now(*d).map(|n| (l, n as f64))).collect::<Option<_>>()?
            }
            _ => Free::new(),
        };
        // What is far past the largest number is infinite, wherever a rounding takes what it is the exponential of.
        let is_exponential = matches!(&expr.form, Form::Named(target, _) if matches!(real(target), Some(Real::Exp | Real::Exp2 | Real::Expm1)));
        let still = expr.kids.first().and_then(|k| ranges.get(k)).is_some_and(|r| r.most() * unit(expr.dtype) < 0.0625);
        if is_exponential && still && beyond.get(id).is_some_and(|least| *least > largest(expr.dtype) * FAR_PAST) {
            continue;
        }
        for (k, kid) in expr.kids.iter().enumerate() {
            if !inexact.contains(kid) {
                continue;
            }
            // Both values follow what is compared, and neither leaps where the condition turns.
            if k == 0 && meets.contains(id) {
                // Numbers are one where they round to one.
                total += unit(expr.dtype) * ranges.get(id)?.most() * by.most() * times;
                continue;
            }
            let divides = beside::divisor(&expr.form).filter(|(at, _)| *at == k && !limits.contains(id));
            if let (Follow::Divisors, Some((_, part))) = (follow, divides)
                && let (Some(error), Some(range)) = (errors.get(kid), ranges.get(kid))
            {
                let from_zero = range.low.max(-range.high);
                if from_zero > 0.0 {
                    total += error.of(from_zero) * part * ranges.get(id)?.most() * by.most() * times;
                    continue;
                }
            }
            // An exponential whose logarithm is taken beside 1: the end follows its exponent as it follows that of a sigmoid.
            if let Some(exponent) = softened(e, expr) {
                let at = *ranges.get(&exponent)?;
                let bend = at.rising(|v| 1.0 / (1.0 + (-v).exp()))?;
                total += (2.0 * unit(expr.dtype) * bend.high + least(expr.dtype)) * by.most() * times;
                if inexact.contains(&exponent) {
                    let more = by.times(bend)?;
                    let sum = match follows.get(&exponent) {
                        Some(known) => known.plus(more)?,
                        None => more,
                    };
                    follows.insert(exponent, sum);
                }
                continue;
            }
            // What is multiplied by its own sigmoid follows that one's operand no farther than by a quarter, wherever it is.
            if let Some((exponent, x, by_most)) = gated(e, expr, k) {
                let sigmoid = ranges.get(kid)?.high;
                total += 2.0 * unit(expr.dtype) * sigmoid * ranges.get(&x)?.most() * by.most() * times;
                if inexact.contains(&exponent) {
                    let more = by.times(Interval::new(-by_most, by_most)?)?;
                    let sum = match follows.get(&exponent) {
                        Some(known) => known.plus(more)?,
                        None => more,
                    };
                    follows.insert(exponent, sum);
                }
                continue;
            }
            // Every way in which the end sees an element that is the same for several places.
            let own = free.get(kid)?;
            let around = free.get(id)?.iter().chain(&bound);
            let shared: f64 = around.filter(|(l, _)| !own.iter().any(|(o, _)| o == l)).map(|(_, n)| n).product();
            let bent = bends::slope(e, expr, k, ranges);
            let Some(slope) = bent.or_else(|| slope(e, expr, k, ranges)) else {
                if let Some(length) = Length::of(e, expr) {
                    total += length.rounded(expr.dtype) * ranges.get(id)?.most() * by.most() * times;
                    let more = by.times(length.slope()?)?.scaled(length.shared(free.get(&length.of)?))?;
                    let sum = match follows.get(&length.of) {
                        Some(known) => known.plus(more)?,
                        None => more,
                    };
                    follows.insert(length.of, sum);
                    break;
                }
                // A root is steep near 0, but there what is below it is near 0 by as much, if it is a number at all.
                total += errors.get(id)?.whole(ranges.get(id)?.most()) * by.most() * times;
                break;
            };
            let more = by.times(slope)?.scaled(shared)?;
            let sum = match follows.get(kid) {
                Some(known) => known.plus(more)?,
                None => more,
            };
            follows.insert(*kid, sum);
        }
    }
    // Of what is multiplied and divided alone each rounding is one of the end; what is lost below the smallest number is not.
    if limits.is_empty() && matches!(e.op_of(root), Some((Op::Mul | Op::Div, _))) {
        let most = errors.get(&root).zip(ranges.get(&root)).map(|(error, range)| error.whole(range.most()));
        return Some(most.map_or(total, |most| total.min(most)));
    }
    Some(total)
}

/// Returns the exponent of `log(1 + exp(x))`.
fn softened(e: &Elements, expr: &Expr) -> Option<ExprId> {
    let Form::Named(target, _) = &expr.form else { return None };
    let inner = e.expr(*expr.kids.first()?).filter(|_| real(target) == Some(Real::Log1p))?;
    let Form::Named(target, _) = &inner.form else { return None };
    inner.kids.first().copied().filter(|_| real(target) == Some(Real::Exp))
}

/// The greatest of `t * sigmoid'(t)`.
const GATED: f64 = 0.23;

/// Returns the exponent of the sigmoid of a multiple of an element, by which that element is multiplied, the element, and how far the product follows the exponent at most.
fn gated(e: &Elements, product: &Expr, k: usize) -> Option<(ExprId, ExprId, f64)> {
    let (Form::Op(Op::Mul), [a, b]) = (&product.form, product.kids.as_slice()) else { return None };
    let (sigmoid, x) = if k == 0 { (*a, *b) } else { (*b, *a) };
    let gate = e.expr(sigmoid)?;
    let Form::Named(target, _) = &gate.form else { return None };
    let exponent = gate.kids.first().copied().filter(|_| real(target) == Some(Real::Sigmoid))?;
    let by = match e.op_of(exponent) {
        _ if exponent == x => 1.0,
        Some((Op::Mul, [y, c])) if *y == x => constant(e, *c)?,
        Some((Op::Mul, [c, y])) if *y == x => constant(e, *c)?,
        _ => return None,
    };
    Some((exponent, x, GATED / by))
}

/// The root of a multiple of a sum of squares: it follows what is squared as a length does, near 0 too.
struct Length {
    /// What is squared.
    of: ExprId,
    /// What the sum is multiplied by.
    by: f64,
    /// The dimensions that are summed over, by name, with their sizes.
    over: Free,
    /// How many roundings stand between.
    steps: f64,
}

impl Length {
    fn of(e: &Elements, root: &Expr) -> Option<Length> {
        let Form::Named(target, _) = &root.form else { return None };
        // The squares of what is small are 0 in `f16` too soon.
        if real(target) != Some(Real::Sqrt) || root.dtype == Dtype::F16 {
            return None;
        }
        let (mut at, mut by, mut steps) = (*root.kids.first()?, 1.0, 3.0);
        loop {
            let expr = e.expr(at)?;
            match (&expr.form, expr.kids.as_slice()) {
                (Form::Op(Op::Div), [x, c]) => (at, by) = (*x, by / constant(e, *c)?),
                (Form::Op(Op::Mul), [x, c]) if constant(e, *c).is_some() => (at, by) = (*x, by * constant(e, *c)?),
                (Form::Op(Op::Mul), [c, x]) if constant(e, *c).is_some() => (at, by) = (*x, by * constant(e, *c)?),
                (Form::Reduce(Fold::Sum, level, sizes), [body]) => {
                    let square = e.expr(*body)?;
                    let of = match (&square.form, square.kids.as_slice()) {
                        (Form::Op(Op::Mul), [x, y]) if x == y => *x,
                        (Form::Named(target, _), [x]) if real(target) == Some(Real::Square) => *x,
                        _ => return None,
                    };
                    #[allow(clippy::cast_precision_loss)]
                    let each = (*level..).zip(sizes.iter()).map(|(l, d)| e.size_now(*d).map(|n| (l, n as f64)));
                    let over: Free = each.collect::<Option<_>>()?;
                    let steps = steps + over.iter().map(|(_, n)| n).product::<f64>();
                    return (by > 0.0 && by.is_finite()).then_some(Length { of, by, over, steps });
                }
                _ => return None,
            }
            steps += 1.0;
        }
    }

    /// All roundings on the way are of what is not negative: beside the length they come to this.
    fn rounded(&self, dtype: Dtype) -> f64 {
        self.steps * unit(dtype)
    }

    /// Of n places each moves the length by at most what it moves itself, all together by at most its root: each counts as that one n-th.
    fn slope(&self) -> Option<Interval> {
        let n: f64 = self.over.iter().map(|(_, n)| n).product();
        let most = (self.by / n).sqrt();
        Interval::new(-most, most)
    }

    /// For how many places what is squared is one.
    fn shared(&self, own: &Free) -> f64 {
        self.over.iter().filter(|(l, _)| !own.iter().any(|(o, _)| o == l)).map(|(_, n)| n).product()
    }
}

/// Returns the number that an expression is, or the size.
#[allow(clippy::cast_precision_loss)]
pub(in crate::rules) fn constant(e: &Elements, id: ExprId) -> Option<f64> {
    let expr = e.expr(id)?;
    match &expr.form {
        Form::Number(bits) => Some(f64::from_bits(*bits)),
        Form::Op(Op::Cast) => constant(e, *expr.kids.first()?),
        Form::Index(i) => e.linear(*i).terms.is_empty().then(|| e.size_now(e.linear(*i).offset()))?.map(|n| n as f64),
        Form::Const(v) if !expr.dtype.is_float() => Some(*v as f64),
        _ => e.float(id),
    }
    .filter(|v| v.is_finite() && *v > 0.0)
}

/// Whether an element is one of a source times a power of two that makes it larger, by so little that it stays within its dtype.
fn is_scaled_element(e: &Elements, expr: &Expr) -> bool {
    let (Form::Op(Op::Mul), [a, b]) = (&expr.form, expr.kids.as_slice()) else { return false };
    let is_element = |id: ExprId| matches!(e.expr(id).map(|x| &x.form), Some(Form::Load(..)));
    let by = |id: ExprId| e.float(id).is_some_and(|v| is_power_of_two(v) && (1.0..=16.0).contains(&v.abs()));
    expr.dtype != Dtype::F16 && (is_element(*a) && by(*b) || is_element(*b) && by(*a))
}

/// Returns the truth that a float is 1 or 0 by, and whether it is 1 where that holds.
pub(super) fn truth_of(e: &Elements, id: ExprId) -> Option<(ExprId, bool)> {
    match e.op_of(id)? {
        (Op::Cast, &[truth]) if e.dtype(truth) == Some(Dtype::Bool) => match e.op_of(truth) {
            Some((Op::Not, &[inner])) => Some((inner, false)),
            _ => Some((truth, true)),
        },
        (Op::Choose, &[truth, a, b]) => match (e.float(a)?, e.float(b)?) {
            (1.0, 0.0) => Some((truth, true)),
            (0.0, 1.0) => Some((truth, false)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the truth that keeps a float or makes it 0, where it is a product with one.
fn kept_by(e: &Elements, id: ExprId) -> Option<(ExprId, bool)> {
    let expr = e.expr(id).filter(|x| matches!(x.form, Form::Op(Op::Mul)) && x.dtype.is_float())?;
    expr.kids.iter().find_map(|k| truth_of(e, *k))
}

/// Whether an element is a float times a truth: itself, or 0; or a sum of two of which a truth leaves one.
fn is_kept_or_nothing(e: &Elements, expr: &Expr) -> bool {
    match (&expr.form, expr.kids.as_slice()) {
        (Form::Op(Op::Mul), kids) => expr.dtype.is_float() && kids.iter().any(|k| truth_of(e, *k).is_some()),
        (Form::Op(Op::Add), [a, b]) => {
            let both = kept_by(e, *a).zip(kept_by(e, *b));
            both.is_some_and(|((truth, kept), (other, left))| truth == other && kept != left)
        }
        _ => false,
    }
}

/// Whether an element is rounded where it is made.
pub(super) fn rounds(e: &Elements, expr: &Expr) -> bool {
    match &expr.form {
        _ if is_scaled_element(e, expr) || is_kept_or_nothing(e, expr) => false,
        Form::Op(Op::Add | Op::Sub | Op::Mul | Op::Div) => expr.dtype.is_float(),
        Form::Op(Op::Cast) => {
            let Some(kid) = expr.kids.first() else { return true };
            let keeps = e.dtype(*kid).is_some_and(|from| loses_nothing(from, expr.dtype));
            // A size that is no larger than integers are held.
            #[allow(clippy::cast_precision_loss)]
            let held = most_whole(expr.dtype).zip(constant(e, *kid)).is_some_and(|(most, v)| v <= most as f64);
            let held = held && matches!(e.expr(*kid).map(|x| &x.form), Some(Form::Index(_)));
            expr.dtype.is_float() && !keeps && !held
        }
        Form::Named(target, _) => real(target) != Some(Real::Relu),
        Form::Reduce(Fold::Sum | Fold::Product, ..) => expr.dtype.is_float(),
        // Narrow ones are computed with in `f32`.
        Form::Number(_) => expr.dtype == Dtype::F32,
        _ => false,
    }
}

/// Returns the elements that a rounding reaches.
pub fn inexact(e: &Elements, order: &[ExprId]) -> FxHashSet<ExprId> {
    reached(e, order, |expr| rounds(e, expr))
}

/// Returns the elements that a rounding reaches which kernels may do in ways of their own: a conversion is one number, whoever makes it.
pub fn computed(e: &Elements, order: &[ExprId]) -> FxHashSet<ExprId> {
    reached(e, order, |expr| rounds(e, expr) && expr.form != Form::Op(Op::Cast))
}

fn reached(e: &Elements, order: &[ExprId], is_one: impl Fn(&Expr) -> bool) -> FxHashSet<ExprId> {
    let mut out = FxHashSet::default();
    for id in order {
        let Some(expr) = e.expr(*id) else { continue };
        if is_one(expr) || e.parts(expr).iter().any(|k| out.contains(k)) {
            out.insert(*id);
        }
    }
    out
}

/// Returns how far a quotient may be from its limit, 0, where its divisor is at least as large as its dtype holds; others are at theirs.
fn left_by_limit(expr: &Expr, ranges: &Ranges, beyond: &Beyond) -> Option<f64> {
    let divisor = beyond.get(expr.kids.last()?).copied().unwrap_or(largest(expr.dtype));
    Some(match &expr.form {
        Form::Op(Op::Div) => ranges.get(expr.kids.first()?)?.most() / divisor,
        Form::Named(target, _) if real(target) == Some(Real::Reciprocal) => 1.0 / divisor,
        _ => 0.0,
    })
}

/// Whether what an element is made of leaves nothing to round: nothing is added, or a power of two multiplies.
fn is_exact_here(e: &Elements, expr: &Expr) -> bool {
    let any = |is: fn(f64) -> bool| expr.kids.iter().any(|k| e.float(*k).is_some_and(is));
    match &expr.form {
        Form::Op(Op::Add | Op::Sub) => any(|v| v == 0.0),
        // What is made smaller may lose its last places in `f16`.
        Form::Op(Op::Mul) if expr.dtype == Dtype::F16 => any(|v| v.abs() >= 1.0 && is_power_of_two(v)),
        Form::Op(Op::Mul) => any(is_power_of_two),
        _ => false,
    }
}

fn is_power_of_two(v: f64) -> bool {
    v.is_normal() && v.to_bits() & ((1 << 52) - 1) == 0
}

/// Whether an element is a product, or a quotient, of what a bound makes 0 on the whole box: no number is rounded there. What is only too small to be seen
/// is none of these.
fn is_nothing(e: &Elements, expr: &Expr, ranges: &Ranges) -> bool {
    let zero = |id: ExprId| ranges.get(&id).is_some_and(|r| r.most() == 0.0);
    let bounded = |id: ExprId| match e.expr(id).map(|x| &x.form) {
        Some(Form::Op(Op::Max | Op::Min | Op::AtLeast | Op::AtMost)) => zero(id),
        Some(Form::Named(target, _)) => real(target) == Some(Real::Relu) && zero(id),
        _ => false,
    };
    let mut at = expr;
    for _ in 0..DEEP {
        if !matches!(at.form, Form::Op(Op::Mul | Op::Div)) {
            return false;
        }
        if at.kids.iter().copied().any(bounded) {
            return true;
        }
        let Some(next) = at.kids.iter().find(|k| zero(**k)).and_then(|k| e.expr(*k)) else { return false };
        at = next;
    }
    false
}

/// Returns how much one rounding adds at most.
fn rounding(e: &Elements, expr: &Expr, range: Option<Interval>, ranges: &Ranges) -> Option<f64> {
    if !rounds(e, expr) || is_exact_here(e, expr) {
        return Some(0.0);
    }
    let most = range?.most();
    if is_nothing(e, expr, ranges) {
        return Some(0.0);
    }
    Some(match &expr.form {
        Form::Reduce(Fold::Sum, _, sizes) => {
            let n = count(e, sizes)?;
            let each = ranges.get(expr.kids.first()?)?.most();
            (n - 1.0).max(0.0) * unit(expr.dtype) * n * each
        }
        // Its sigmoid is 0 where it is too small, and is multiplied.
        Form::Named(target, _) if real(target) == Some(Real::Silu) => {
            let by = ranges.get(expr.kids.first()?)?.most().max(1.0);
            2.0 * unit(expr.dtype) * most + by * least(expr.dtype)
        }
        Form::Named(..) => 2.0 * unit(expr.dtype) * most + least(expr.dtype),
        Form::Reduce(..) => return None,
        Form::Op(Op::Mul | Op::Div) => unit(expr.dtype) * most + least(expr.dtype),
        _ => unit(expr.dtype) * most,
    })
}

/// Returns how much the roundings of an element add at most at all places of dimensions together, where it is nothing at most of them.
fn rounded_together(e: &Elements, id: ExprId, expr: &Expr, over: &Free, ranges: &Ranges) -> Option<f64> {
    let places: f64 = over.iter().map(|(_, n)| n).product();
    match (&expr.form, expr.kids.as_slice()) {
        (Form::Op(Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Cast), _) => {
            let all = together::together(e, id, over, ranges)?;
            Some(unit(expr.dtype) * all + least(expr.dtype) * places)
        }
        (Form::Reduce(Fold::Sum, level, sizes), [body]) => {
            let mut all = over.clone();
            for (name, size) in (*level..).zip(sizes.iter()) {
                if all.iter().any(|(l, _)| *l == name) {
                    return None;
                }
                #[allow(clippy::cast_precision_loss)]
                all.push((name, e.size_now(*size)? as f64));
            }
            let added = (count(e, sizes)? - 1.0).max(0.0);
            Some(added * unit(expr.dtype) * together::together(e, *body, &all, ranges)?)
        }
        _ => None,
    }
}

/// Returns half of the smallest number of a dtype: what becomes smaller than that is 0.
pub(super) fn least(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F32 => 0.5_f64.powi(150),
        Dtype::Bf16 => 0.5_f64.powi(134),
        // A bound of `f16` counts what is lost there by its units.
        _ => 0.0,
    }
}

/// Returns the derivative of an element in one of those that it is made of.
fn slope(e: &Elements, expr: &Expr, k: usize, ranges: &Ranges) -> Option<Interval> {
    let range = |k: usize| expr.kids.get(k).and_then(|k| ranges.get(k)).copied();
    let one = Interval::point(1.0)?;
    let (none_or_all, either) = (one.or_nothing(), Interval::new(-1.0, 1.0)?);
    match &expr.form {
        Form::Op(op) => match (op, k) {
            _ if !expr.dtype.is_float() => None,
            (Op::Add, _) | (Op::Sub, 0) => Some(one),
            (Op::Sub | Op::Neg, _) => Some(one.minus()),
            (Op::Mul, 0) => range(1),
            (Op::Mul, _) => range(0),
            (Op::Div, 0) => range(1)?.inverse(),
            (Op::Div, _) => range(0)?.times(range(1)?.squared()?.inverse()?).map(Interval::minus),
            (Op::Abs, _) => Some(either),
            // What is never taken is not followed.
            (Op::Max | Op::AtLeast, _) if is_below(range(k), range(1_usize.checked_sub(k)?)) => Interval::point(0.0),
            (Op::Min | Op::AtMost, _) if is_below(range(1_usize.checked_sub(k)?), range(k)) => Interval::point(0.0),
            (Op::Max | Op::Min | Op::AtLeast | Op::AtMost, _) => Some(none_or_all),
            (Op::Choose, 1 | 2) => Some(none_or_all),
            (Op::Cast, _) => expr.kids.first().and_then(|k| e.dtype(*k)).filter(|d| d.is_float()).map(|_| one),
            _ => None,
        },
        Form::Reduce(Fold::Sum, ..) if expr.dtype.is_float() => Some(one),
        Form::Reduce(Fold::Most | Fold::Least, ..) if expr.dtype.is_float() => Some(none_or_all),
        Form::Named(target, _) => derivative(real(target)?, range(0)?),
        _ => None,
    }
}

/// Whether all of an interval lies surely below another one.
fn is_below(a: Option<Interval>, b: Option<Interval>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a.high < b.low - (a.high.abs() + b.low.abs()) * 0.01)
}

/// Returns the derivative of a function on an interval.
pub(super) fn derivative(function: Real, x: Interval) -> Option<Interval> {
    match function {
        Real::Exp | Real::Expm1 => x.rising(|v| v.min(695.0).exp()),
        Real::Exp2 => x.rising(|v| std::f64::consts::LN_2 * v.min(1000.0).exp2()),
        Real::Log => x.inverse(),
        Real::Log1p => x.plus(Interval::point(1.0)?)?.inverse(),
        Real::Sqrt if x.low > 0.0 => x.falling(|v| 0.5 / v.sqrt()),
        Real::Rsqrt if x.low > 0.0 => x.rising(|v| -0.5 / (v * v.sqrt())),
        Real::Reciprocal => x.squared()?.inverse().map(Interval::minus),
        Real::Sigmoid => Interval::new(0.0, 0.25),
        // It rises by at most 1.1, and falls by at most 0.1.
        Real::Silu => Interval::new(-0.1, 1.1),
        Real::Relu if x.high < 0.0 => Interval::point(0.0),
        Real::Relu => Interval::new(0.0, 1.0),
        Real::Square => x.scaled(2.0),
        Real::Tanh => Interval::new(0.0, 1.0),
        Real::Sinh => x.magnitude().rising(|v| v.min(695.0).cosh()),
        Real::Cosh => x.rising(|v| v.clamp(-695.0, 695.0).sinh()),
        // The slope at 0 is 2 / sqrt(pi), and `exp(-x * x)` times that elsewhere.
        Real::Erf => Interval::new(0.0, 1.13 * (-x.magnitude().low.powi(2)).exp()),
        Real::Erfc => derivative(Real::Erf, x).map(Interval::minus),
        Real::Tan if x.most() < QUARTER => Interval::new(1.0, 1.0 + x.most().tan().powi(2)),
        Real::Sin | Real::Cos => Interval::new(-1.0, 1.0),
        Real::Sqrt | Real::Rsqrt | Real::Tan => None,
    }
}
