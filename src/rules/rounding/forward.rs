//! In which interval each element lies, and which dimensions it depends on.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::cast::keeps_order;
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::make::width;
use crate::rules::rounding::interval::Interval;
use crate::rules::rounding::{Box, cancel, flushed};
use crate::rules::table::{Real, real};
use crate::sym::Dim;

/// Dimensions that are reduced around an element, by name, with their sizes.
pub type Free = SmallVec<[(u32, f64); 2]>;

/// What is known of each element.
pub type Ranges = FxHashMap<ExprId, Interval>;

/// Elements that may be past the largest number of their dtype: they are infinite then, and their interval ends there.
pub type Past = Vec<ExprId>;

/// Above what elements lie that are past the largest number of their dtype on the whole box.
pub type Beyond = FxHashMap<ExprId, f64>;

/// Returns the largest finite number of a dtype.
pub fn largest(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F16 => 65504.0,
        Dtype::F32 => f64::from(f32::MAX),
        Dtype::Bf16 => 3.38e38,
        _ => f64::MAX,
    }
}

/// Whether an element may leave its dtype for an infinite number and no order of computing decides where: what is added is of one sign.
fn may_be_past(expr: &Expr, range: Interval, known: &Ranges) -> bool {
    let sums = matches!(expr.form, Form::Op(Op::Add | Op::Sub) | Form::Reduce(Fold::Sum, ..));
    let one_sign = |r: &Interval| r.low >= 0.0 || r.high <= 0.0;
    let kids = expr.kids.iter().all(|k| known.get(k).is_some_and(one_sign));
    matches!(expr.dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32) && (!sums || kids && one_sign(&range))
}

/// How many sums and choices around the greatest of some are looked through.
const SOFTER: usize = 4;
/// What is left of a share of a number, whatever is rounded on the way.
const SHARE: f64 = 0.99;

/// Returns the interval of each float element, and of each number that becomes one; `None` where one of them has none. Conditions of
/// choices, and what only they ask, need none.
pub fn ranges(e: &Elements, order: &[ExprId], sources: Box<'_>) -> Option<(Ranges, Past, Beyond)> {
    let (mut out, mut past, mut beyond) = (Ranges::default(), Past::new(), Beyond::default());
    for id in order {
        let expr = e.expr(*id)?;
        let most = largest(expr.dtype);
        let mut found = one(e, expr, &out, sources).map(|range| with_nothing(expr, range));
        if e.ends.ones.contains(id) {
            found = found.and_then(|range| Interval::new(range.low.max(1.0), range.high.max(1.0)));
        }
        if let Some(by) = e.ends.shares.get(id).and_then(|by| out.get(by)).filter(|by| by.low > 0.0) {
            let least = SHARE / by.high;
            found = found.and_then(|range| Interval::new(range.low.max(least), range.high.max(least)));
        }
        if let Some(by) = e.ends.weighted.get(id).and_then(|by| out.get(by)).filter(|by| by.low > 0.0) {
            let least = SHARE * by.low;
            found = found.and_then(|range| Interval::new(range.low.max(least), range.high.max(least)));
        }
        if let Some(most) = e.ends.normed.get(id) {
            found = found.and_then(|range| Interval::new(range.low.max(-most), range.high.min(*most)));
        }
        if let Some(least) = e.ends.apart.get(id) {
            found = found.and_then(|range| Interval::new(range.low.max(*least), range.high.max(*least)));
        }
        if e.ends.never_above.contains(id) {
            found = found.and_then(|range| Interval::new(range.low.min(0.0), range.high.min(0.0)));
        }
        if let Some(least) = found.and_then(|range| beyond_of(expr, range, &out, &beyond)) {
            beyond.insert(*id, least);
        }
        let endless = expr.dtype == Dtype::F64 && is_past_far(expr, &out);
        match found {
            Some(range) if range.most() <= most && !endless => {
                out.insert(*id, range);
            }
            Some(range) if endless || may_be_past(expr, range, &out) => {
                past.push(*id);
                out.insert(*id, Interval::new(range.low.clamp(-most, most), range.high.clamp(-most, most))?);
            }
            // An integer or a truth that no float is made of needs no interval.
            _ if !expr.dtype.is_float() => {}
            _ => return None,
        }
    }
    Some((out, past, beyond))
}

/// A product or a quotient may be so small that a device gives 0: then that is one of its numbers.
fn with_nothing(expr: &Expr, range: Interval) -> Interval {
    let scales = matches!(expr.form, Form::Op(Op::Mul | Op::Div));
    let least = flushed(expr.dtype);
    if !scales || range.low >= least || range.high <= -least {
        return range;
    }
    range.or_nothing()
}

/// Returns above what an element lies that is past the largest number on the whole box: what is added to one, and is not negative, leaves it there.
fn beyond_of(expr: &Expr, range: Interval, known: &Ranges, beyond: &Beyond) -> Option<f64> {
    let adds =
        matches!(expr.form, Form::Op(Op::Add)) && expr.kids.iter().all(|k| known.get(k).is_some_and(|r| r.low >= 0.0));
    let kids = expr.kids.iter().filter_map(|k| beyond.get(k)).copied().filter(|_| adds);
    Some(kids.fold(range.low, f64::max)).filter(|least| *least >= largest(expr.dtype))
}

fn one(e: &Elements, expr: &Expr, known: &Ranges, sources: Box<'_>) -> Option<Interval> {
    let kid = |k: usize| expr.kids.get(k).and_then(|k| known.get(k)).copied();
    match &expr.form {
        Form::Const(v) if expr.dtype.is_float() => Interval::point(f64::from_bits(v.cast_unsigned())),
        #[allow(clippy::cast_precision_loss)]
        Form::Const(v) => Interval::point(*v as f64),
        Form::Number(bits) => Interval::point(f64::from_bits(*bits)),
        Form::Load(source, _) if expr.dtype == Dtype::Bool => {
            sources(Some(*source), expr.dtype).and(Interval::new(0.0, 1.0))
        }
        Form::Load(source, _) => sources(Some(*source), expr.dtype),
        Form::Index(i) => index(e, *i),
        Form::AtLeastZero(_) | Form::IsZero(_) => Interval::new(0.0, 1.0),
        Form::Op(op) => operator(e, *op, expr, known),
        Form::Named(target, _) => function(real(target).filter(|_| expr.dtype.is_float())?, kid(0)?),
        Form::Reduce(Fold::Most | Fold::Least, ..) => kid(0),
        Form::Reduce(Fold::Sum, _, sizes) if expr.dtype.is_float() => {
            let count = count(e, sizes)?;
            let sum = kid(0)?.scaled(count)?;
            let low = if holds_a_one(e, expr) { sum.low.max(1.0) } else { sum.low };
            Interval::new(low, sum.high)
        }
        // Integers, as long as they do not wrap around.
        Form::Poly(products) => {
            let (mut out, mut at) = (Interval::point(0.0)?, 0_usize);
            for (count, by) in products.iter() {
                #[allow(clippy::cast_precision_loss)]
                let mut product = Interval::point(*by as f64)?;
                for _ in 0..*count {
                    product = product.times(kid(at)?)?;
                    at = at.checked_add(1)?;
                }
                out = out.plus(product)?;
            }
            held(expr.dtype, out)
        }
        Form::Reduce(Fold::Sum, _, sizes) => held(expr.dtype, kid(0)?.scaled(count(e, sizes)?)?),
        _ => None,
    }
}

/// An interval of integers that surely do not wrap around.
#[allow(clippy::cast_precision_loss)]
fn held(dtype: Dtype, x: Interval) -> Option<Interval> {
    let bits = width(dtype).filter(|w| *w > 1)?;
    let (low, high) = match dtype {
        Dtype::U8 => (0.0, 255.0),
        _ => {
            let most = 2.0_f64.powi(i32::try_from(bits).ok()?.checked_sub(1)?);
            (-most, most - 1.0)
        }
    };
    // Of an f64 the last places are uncertain: far within.
    (x.low >= low * 0.5 && x.high <= high * 0.5 || x.low >= low && x.high <= high && bits < 48).then_some(x)
}

/// An exponent past which exponentials leave every dtype.
const FAR: f64 = 695.0;

/// Whether a function ends past what an `f64` holds of an element.
fn is_past_far(expr: &Expr, known: &Ranges) -> bool {
    let Form::Named(target, _) = &expr.form else { return false };
    let Some(x) = expr.kids.first().and_then(|k| known.get(k)) else { return false };
    match real(target) {
        Some(Real::Exp | Real::Expm1) => x.high > FAR,
        Some(Real::Exp2) => x.high > FAR / std::f64::consts::LN_2,
        Some(Real::Sinh | Real::Cosh) => x.most() > FAR,
        _ => false,
    }
}

/// Returns how many places dimensions have; at least one each.
pub fn count(e: &Elements, sizes: &[crate::sym::Dim]) -> Option<f64> {
    #[allow(clippy::cast_precision_loss)]
    sizes.iter().try_fold(1.0, |n, d| e.size_now(*d).filter(|d| *d > 0).map(|d| n * d as f64))
}

#[allow(clippy::cast_precision_loss)]
fn index(e: &Elements, i: IndexId) -> Option<Interval> {
    let sum = e.linear(i);
    let mut out = Interval::point(e.size_now(sum.offset())? as f64)?;
    for (place, by) in &sum.terms {
        let (Place::Var(_, size) | Place::Bound(_, size)) = place else { return None };
        let most = (e.size_now(*size).filter(|n| *n > 0)? as f64) - 1.0;
        out = out.plus(Interval::new(0.0, most)?.scaled(e.size_now(*by)? as f64)?)?;
    }
    Some(out)
}

fn operator(e: &Elements, op: Op, expr: &Expr, known: &Ranges) -> Option<Interval> {
    let kid = |k: usize| expr.kids.get(k).and_then(|k| known.get(k)).copied();
    if matches!(op, Op::Lt | Op::Le | Op::Eq) || expr.dtype == Dtype::Bool {
        return Interval::new(0.0, 1.0);
    }
    if !expr.dtype.is_float() {
        let whole = expr.kids.iter().all(|k| e.dtype(*k).is_some_and(|d| width(d).is_some()));
        let (a, b) = (kid(0)?, kid(1));
        let found = match op {
            Op::Cast => a,
            Op::Max | Op::AtLeast => Interval::new(a.low.max(b?.low), a.high.max(b?.high))?,
            Op::Min | Op::AtMost => Interval::new(a.low.min(b?.low), a.high.min(b?.high))?,
            Op::Choose => b?.with(kid(2)?),
            Op::Abs => a.magnitude(),
            _ => return None,
        };
        return held(expr.dtype, found).filter(|_| whole);
    }
    if let Some((from, to, part)) = between(e, expr)
        && let (Some(from), Some(to)) = (known.get(&from), known.get(&to))
    {
        return from.scaled(1.0 - part)?.plus(to.scaled(part)?);
    }
    match (op, expr.kids.as_slice()) {
        (Op::Add, [a, b]) if is_magnitude_of(e, *b, *a) => kid(0)?.rising(|v| 2.0 * v.max(0.0)),
        (Op::Add, [b, a]) if is_magnitude_of(e, *b, *a) => kid(1)?.rising(|v| 2.0 * v.max(0.0)),
        (Op::Add, _) => kid(0)?.plus(kid(1)?),
        (Op::Sub, [a, b]) if a == b => Interval::point(0.0),
        // Twice what is negative, or nothing.
        (Op::Sub, [a, b]) if is_magnitude_of(e, *b, *a) => kid(0)?.rising(|v| 2.0 * v.min(0.0)),
        (Op::Sub, [a, b]) => {
            let difference = kid(0)?.plus(kid(1)?.minus())?;
            let (x, most) = without_scales(e, *a, *b);
            let below = is_never_above(e, x, most, known, SOFTER);
            let high = if below { difference.high.min(0.0) } else { difference.high };
            Interval::new(difference.low.min(high), high)
        }
        (Op::Mul, [a, b]) if a == b => kid(0)?.squared(),
        (Op::Mul, [a, b]) => match squared_within(e, *a, *b, known) {
            Some(found) => Some(found),
            None => cancel::within(e, expr, known, kid(0)?.times(kid(1)?)?),
        },
        (Op::Div, [a, b]) => {
            let found = cancel::within(e, expr, known, kid(0)?.times(kid(1)?.inverse()?)?)?;
            // A part of a sum of what is never negative is no more than all of it.
            let part = kid(0)?.low >= 0.0 && is_end_of(e, *a, (*b, Fold::Sum), None);
            let high = if part { found.high.min(1.0 / SHARE) } else { found.high };
            Interval::new(found.low.min(high), high)
        }
        (Op::Neg, _) => Some(kid(0)?.minus()),
        (Op::Abs, _) => Some(kid(0)?.magnitude()),
        (Op::Max | Op::AtLeast, _) => {
            let (a, b) = (kid(0)?, kid(1)?);
            Interval::new(a.low.max(b.low), a.high.max(b.high))
        }
        (Op::Min | Op::AtMost, _) => {
            let (a, b) = (kid(0)?, kid(1)?);
            Interval::new(a.low.min(b.low), a.high.min(b.high))
        }
        (Op::Choose, _) => Some(kid(1)?.with(kid(2)?)),
        (Op::Cast, _) if !keeps_order(expr.dtype) => None,
        (Op::Cast, [from]) => kid(0).filter(|_| e.dtype(*from).is_some_and(|d| d.is_float() || width(d).is_some())),
        _ => None,
    }
}

/// Whether an element is the magnitude of another one.
fn is_magnitude_of(e: &Elements, abs: ExprId, x: ExprId) -> bool {
    matches!(e.op_of(abs), Some((Op::Abs, [of])) if *of == x)
}

/// Returns two elements, and which part of the way from the first to the second an element lies, at most half of it: `x + (y - x) * c`, or `x - (x - y) * c`.
pub(in crate::rules) fn between(e: &Elements, expr: &Expr) -> Option<(ExprId, ExprId, f64)> {
    let (Form::Op(op @ (Op::Add | Op::Sub)), [p, q]) = (&expr.form, expr.kids.as_slice()) else { return None };
    let literal = |id: ExprId| match e.expr(id).map(|x| &x.form) {
        Some(Form::Number(bits)) => Some(f64::from_bits(*bits)),
        _ => e.float(id),
    };
    let number = |id: ExprId| literal(id).filter(|v| *v > 0.0 && *v <= 0.5);
    let way = |product: ExprId| match e.op_of(product)? {
        (Op::Mul, [a, b]) => number(*b).map(|v| (*a, v)).or_else(|| number(*a).map(|v| (*b, v))),
        _ => None,
    };
    let along = |from: ExprId, product: ExprId| {
        let (difference, part) = way(product)?;
        match (op, e.op_of(difference)?) {
            (Op::Add, (Op::Sub, [to, same])) if *same == from => Some((from, *to, part)),
            (Op::Sub, (Op::Sub, [same, to])) if *same == from => Some((from, *to, part)),
            _ => None,
        }
    };
    along(*p, *q).or_else(|| along(*q, *p).filter(|_| *op == Op::Add))
}

/// Returns the values of `(c * x) * x`: those of a square, times what stands beside.
fn squared_within(e: &Elements, a: ExprId, b: ExprId, known: &Ranges) -> Option<Interval> {
    let beside = |product: ExprId, x: ExprId| match e.op_of(product) {
        Some((Op::Mul, [c, y])) if *y == x => known.get(c).copied(),
        Some((Op::Mul, [y, c])) if *y == x => known.get(c).copied(),
        _ => None,
    };
    let (x, c) = match beside(a, b) {
        Some(c) => (b, c),
        None => (a, beside(b, a)?),
    };
    known.get(&x)?.squared()?.times(c)
}

/// Returns what is multiplied, or divided, by a positive number, and how.
fn scaled(e: &Elements, id: ExprId) -> Option<(Op, ExprId, ExprId)> {
    let positive = |c: ExprId| match e.expr(c).map(|x| &x.form) {
        Some(Form::Number(bits)) => f64::from_bits(*bits) > 0.0,
        _ => e.float(c).is_some_and(|v| v > 0.0),
    };
    match e.op_of(id)? {
        (op @ (Op::Mul | Op::Div), [x, c]) if positive(*c) => Some((op, *x, *c)),
        (Op::Mul, [c, x]) if positive(*c) => Some((Op::Mul, *x, *c)),
        _ => None,
    }
}

/// Returns two elements without the positive numbers by which both are multiplied alike: what is greater is so before it is rounded, and no less after.
pub(super) fn without_scales(e: &Elements, mut a: ExprId, mut b: ExprId) -> (ExprId, ExprId) {
    while let (Some((p, x, c)), Some((q, y, d))) = (scaled(e, a), scaled(e, b))
        && p == q
        && c == d
    {
        (a, b) = (x, y);
    }
    (a, b)
}

/// Within a quarter of a turn of 0 a tangent is defined everywhere.
pub(super) const QUARTER: f64 = 1.57;

/// Returns the values of a function on an interval.
pub fn function(of: Real, x: Interval) -> Option<Interval> {
    let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
    match of {
        // Past what every dtype holds.
        Real::Exp => x.rising(|v| v.min(FAR).exp()),
        Real::Exp2 => x.rising(|v| v.min(FAR / std::f64::consts::LN_2).exp2()),
        Real::Expm1 => x.rising(|v| v.min(FAR).exp_m1()),
        Real::Log if x.low > 0.0 => x.rising(f64::ln),
        Real::Log1p if x.low > -1.0 => x.rising(f64::ln_1p),
        Real::Sqrt if x.low >= 0.0 => x.rising(f64::sqrt),
        Real::Rsqrt if x.low > 0.0 => x.falling(|v| 1.0 / v.sqrt()),
        Real::Reciprocal => x.inverse(),
        Real::Sigmoid => x.rising(sigmoid),
        // Its least value is above -0.28; below 0 it lies between 0 and x, which is taken the less the further down.
        Real::Silu => {
            let low = if x.low >= 0.0 {
                x.low * sigmoid(x.low)
            } else {
                x.low.max(-0.28).max(x.low * sigmoid(x.high.min(0.0)))
            };
            Interval::new(low, if x.high >= 0.0 { x.high * sigmoid(x.high) } else { 0.0 })
        }
        Real::Relu => x.rising(|v| v.max(0.0)),
        Real::Square => x.squared(),
        Real::Tanh => x.rising(f64::tanh),
        Real::Sinh => x.rising(|v| v.clamp(-FAR, FAR).sinh()),
        Real::Cosh => x.magnitude().rising(|v| v.min(FAR).cosh()),
        Real::Sin if x.most() < QUARTER => x.rising(f64::sin),
        Real::Sin => Interval::new(-x.most().min(1.0), x.most().min(1.0)),
        Real::Cos if x.most() < 2.0 * QUARTER => x.magnitude().falling(f64::cos),
        // Above 0 it lies between what is 1 but for `exp(-x * x)` and a multiple of x; below it is the opposite.
        Real::Erf => {
            let (least, most) = (|v: f64| 1.0 - (-v * v).exp(), |v: f64| (1.13 * v).min(1.0));
            let low = if x.low >= 0.0 { least(x.low) } else { -most(-x.low) };
            Interval::new(low, if x.high >= 0.0 { most(x.high) } else { -least(-x.high) })
        }
        Real::Cos => Interval::new(-1.0, 1.0),
        // 1 less that.
        Real::Erfc => function(Real::Erf, x)?.minus().plus(Interval::point(1.0)?),
        Real::Tan if x.most() < QUARTER => x.rising(f64::tan),
        Real::Log | Real::Log1p | Real::Sqrt | Real::Rsqrt | Real::Tan => None,
    }
}

/// Whether `a` is one of the elements of which `most` is the greatest; with a level, whether it is each of them as those dimensions run.
pub fn is_element_of(e: &Elements, a: ExprId, most: ExprId, level: Option<u32>) -> bool {
    is_end_of(e, a, (most, Fold::Most), level)
}

/// Whether `a` is never above what is the greatest of some and it, with what is never negative added: no rounding of that sum takes it below.
fn is_never_above(e: &Elements, a: ExprId, most: ExprId, known: &Ranges, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let under = |id: ExprId| id == a || is_never_above(e, a, id, known, depth);
    let adds = |id: &ExprId| known.get(id).is_some_and(|r| r.low >= 0.0);
    if let Some((Op::Min, [x, y])) = e.op_of(a)
        && [x, y].into_iter().any(|lesser| is_never_above(e, *lesser, most, known, depth) || *lesser == most)
    {
        return true;
    }
    match e.op_of(most) {
        Some((Op::Max, [x, y])) => under(*x) || under(*y),
        Some((Op::Add, [x, y])) => adds(y) && under(*x) || adds(x) && under(*y),
        Some((Op::Choose, [_, x, y])) => under(*x) && under(*y),
        _ => is_element_of(e, a, most, None),
    }
}

/// Whether `a` is one of the elements that are taken together so.
pub(in crate::rules) fn is_end_of(e: &Elements, a: ExprId, (end, fold): (ExprId, Fold), level: Option<u32>) -> bool {
    let Some(Expr { form: Form::Reduce(own, from, sizes), kids, .. }) = e.expr(end) else { return false };
    if *own != fold {
        return false;
    }
    let Some(body) = kids.first() else { return false };
    let mut names: Vec<Option<IndexId>> = vec![None; sizes.len()];
    let mut open = vec![(*body, a)];
    let mut conditions: Vec<(IndexId, IndexId, bool)> = Vec::new();
    while let Some((x, y)) = open.pop() {
        let (Some(p), Some(q)) = (e.expr(x), e.expr(y)) else { return false };
        if p.dtype != q.dtype || p.kids.len() != q.kids.len() {
            return false;
        }
        let same = match (&p.form, &q.form) {
            (Form::Load(s, at), Form::Load(t, to)) => {
                s == t
                    && at.len() == to.len()
                    && at.iter().zip(to).all(|(i, j)| {
                        // How far from the beginning is looked at once it is known which dimension is which.
                        let shifted = is_shifted(e, *i, *from, names.len());
                        if shifted {
                            conditions.push((*i, *j, false));
                        }
                        shifted || stands_for(e, *i, *j, *from, &mut names)
                    })
            }
            // Looked at once it is known which dimension is which.
            (Form::AtLeastZero(i), Form::AtLeastZero(j))
            | (Form::IsZero(i), Form::IsZero(j))
            | (Form::Index(i), Form::Index(j)) => {
                conditions.push((*i, *j, matches!(p.form, Form::IsZero(_))));
                true
            }
            // Nothing of what is bound within may be named.
            (Form::Op(_) | Form::Poly(_) | Form::Const(_) | Form::Number(_) | Form::Named(..), _) => p.form == q.form,
            (Form::Reduce(_, level, _), _) => p.form == q.form && level < from,
            _ => x == y && !e.places_below(x).iter().any(|p| matches!(p, Place::Bound(l, _) if l >= from)),
        };
        if !same {
            return false;
        }
        if matches!(p.form, Form::Op(_) | Form::Poly(_) | Form::Named(..) | Form::Reduce(..)) {
            open.extend(in_order(e, p).into_iter().zip(in_order(e, q)));
        }
    }
    for (i, j, _) in &conditions {
        name_by_condition(e, *i, *j, *from, &mut names);
    }
    // What is 0 is 0 with another sign.
    let holds = |(i, j, is_zero): (IndexId, IndexId, bool)| {
        let signs: &[i64] = if is_zero { &[1, -1] } else { &[1] };
        signs.iter().any(|sign| is_named(e, (i, j, *sign), *from, &names, NESTED_PLACES))
    };
    if !conditions.into_iter().all(holds) {
        return false;
    }
    let Some(level) = level else { return true };
    (0_u32..).zip(&names).zip(sizes.iter()).all(|((k, name), size)| {
        let own = name.map(|i| e.linear(i).clone());
        own.is_some_and(|i| {
            i.constant.is_none()
                && matches!(i.terms.as_slice(), [(Place::Bound(l, s), by)]
                    if l.checked_sub(level) == Some(k) && s == size && by.fixed() == Some(1))
        })
    })
}

/// Returns what an element is made of: of a sum or a product, numbers last.
fn in_order(e: &Elements, expr: &Expr) -> SmallVec<[ExprId; 3]> {
    let mut kids: SmallVec<[ExprId; 3]> = expr.kids.iter().copied().collect();
    if matches!(expr.form, Form::Op(Op::Add | Op::Mul)) {
        kids.sort_by_key(|k| e.float(*k).is_some());
    }
    kids
}

/// Whether an index is that of the greatest element with dimensions named otherwise; each has one name.
fn stands_for(e: &Elements, i: IndexId, j: IndexId, level: u32, names: &mut [Option<IndexId>]) -> bool {
    let sum = e.linear(i);
    if let ([(Place::Bound(l, size), by)], None) = (sum.terms.as_slice(), sum.constant)
        && by.fixed() == Some(1)
        && let Some(slot) = l.checked_sub(level).and_then(|k| names.get_mut(k as usize))
    {
        return runs_over(e, j, *size) && *slot.get_or_insert(j) == j;
    }
    let names_one = e.places_in(i).iter().any(|p| match p {
        Place::Bound(l, _) => l.checked_sub(level).is_some_and(|k| (k as usize) < names.len()),
        Place::Data(_) => true,
        _ => false,
    });
    !names_one && i == j
}

/// Whether an index is that along a dimension from a level on, and a number.
fn is_shifted(e: &Elements, i: IndexId, level: u32, dims: usize) -> bool {
    let sum = e.linear(i);
    match (sum.terms.as_slice(), sum.offset().fixed()) {
        ([(Place::Bound(l, _), by)], Some(offset)) => {
            by.fixed() == Some(1) && offset != 0 && l.checked_sub(level).is_some_and(|k| (k as usize) < dims)
        }
        _ => false,
    }
}

/// Names a dimension that only conditions ask: both ask the same of it, as far from its beginning.
fn name_by_condition(e: &Elements, i: IndexId, j: IndexId, level: u32, names: &mut [Option<IndexId>]) {
    let (x, y) = (e.linear(i), e.linear(j));
    let ([(Place::Bound(l, size), a)], [(Place::Bound(m, other), b)]) = (x.terms.as_slice(), y.terms.as_slice()) else {
        return;
    };
    let slot = l.checked_sub(level).and_then(|k| names.get_mut(k as usize)).filter(|slot| slot.is_none());
    if let (Some(slot), true) = (slot, a == b && size == other && x.constant == y.constant) {
        *slot = e.known_place(Place::Bound(*m, *other));
    }
}

/// How many quotients and remainders within one another are looked through.
const NESTED_PLACES: usize = 4;

/// Whether an index is another one, or its opposite by `sign`, with each dimension from a level on by its name.
fn is_named(
    e: &Elements,
    (i, j, sign): (IndexId, IndexId, i64),
    level: u32,
    names: &[Option<IndexId>],
    depth: usize,
) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let (mut terms, mut offset): (FxHashMap<Place, i64>, i64) = (FxHashMap::default(), 0);
    let mut add = |sum: &crate::rules::element::index::Linear, by: i64| -> Option<()> {
        for (place, own) in &sum.terms {
            let slot = terms.entry(*place).or_insert(0);
            *slot = slot.checked_add(own.fixed()?.checked_mul(by)?)?;
        }
        offset = offset.checked_add(sum.offset().fixed()?.checked_mul(by)?)?;
        Some(())
    };
    let mut plain = e.linear(i).clone();
    let (mut named, mut parts) = (Vec::new(), Vec::new());
    for (place, by) in &e.linear(i).terms {
        match place {
            Place::Bound(l, _) if *l >= level => match l.checked_sub(level).and_then(|k| names.get(k as usize)) {
                Some(Some(name)) => named.push((*place, *name, *by)),
                _ => return false,
            },
            Place::Var(..) | Place::Bound(..) => {}
            Place::Div(..) | Place::Mod(..) => {
                let is_part = |q: &&(Place, Dim)| is_named_part(e, (*place, q.0), level, names, depth);
                let counts = |q: &&(Place, Dim)| {
                    q.1.fixed().and_then(|c| c.checked_mul(sign)).is_some_and(|c| by.fixed() == Some(c))
                };
                let Some((part, own)) = e.linear(j).terms.iter().filter(counts).find(is_part) else { return false };
                parts.push((*place, *part, *own));
            }
            Place::Data(_) => return false,
        }
    }
    // Each part of the other one is that of one only.
    let mut others: Vec<Place> = parts.iter().map(|(_, part, _)| *part).collect();
    others.sort_unstable();
    if others.windows(2).any(|pair| pair.first() == pair.last()) {
        return false;
    }
    plain.terms.retain(|(p, _)| !named.iter().any(|(n, ..)| n == p) && !parts.iter().any(|(n, ..)| n == p));
    let mut rest = e.linear(j).clone();
    rest.terms.retain(|(p, _)| !others.contains(p));
    let mut shown = add(&plain, 1).is_some() && sign.checked_neg().is_some_and(|by| add(&rest, by).is_some());
    for (_, name, by) in named {
        shown &= by.fixed().is_some_and(|by| add(e.linear(name), by).is_some());
    }
    shown && offset == 0 && terms.values().all(|by| *by == 0)
}

/// Whether a quotient, or a remainder, is another one by the same size, of what is named so.
fn is_named_part(
    e: &Elements,
    (own, other): (Place, Place),
    level: u32,
    names: &[Option<IndexId>],
    depth: usize,
) -> bool {
    match (own, other) {
        (Place::Div(i, n), Place::Div(j, m)) | (Place::Mod(i, n), Place::Mod(j, m)) => {
            n == m && is_named(e, (i, j, 1), level, names, depth)
        }
        _ => false,
    }
}

/// Whether an index is that along one dimension of this size, or a number of it.
fn runs_over(e: &Elements, i: IndexId, size: crate::sym::Dim) -> bool {
    let sum = e.linear(i);
    match (sum.terms.as_slice(), sum.constant) {
        ([(Place::Var(_, s) | Place::Bound(_, s), by)], None) => *s == size && by.fixed() == Some(1),
        // One place of them.
        ([], _) => sum.offset().fixed().zip(size.fixed()).is_some_and(|(at, n)| 0 <= at && at < n),
        _ => false,
    }
}

/// Whether a sum is one of exponentials of `x - max(x)`, or of positive multiples of it, over all elements: one of them is 1.
pub fn holds_a_one(e: &Elements, sum: &Expr) -> bool {
    let Form::Reduce(Fold::Sum, level, sizes) = &sum.form else { return false };
    let body = sum.kids.first().and_then(|b| e.expr(*b));
    let Some(Expr { form: Form::Named(target, _), kids, .. }) = body else { return false };
    let Some(mut exponent) = kids.first().copied() else { return false };
    while let Some((_, inner, _)) = scaled(e, exponent) {
        exponent = inner;
    }
    let Some((Op::Sub, [a, most])) = e.op_of(exponent) else { return false };
    let (a, most) = without_scales(e, *a, *most);
    // The least, less each of them, is as good.
    let is_least = matches!(e.expr(a).map(|x| &x.form), Some(Form::Reduce(Fold::Least, ..)));
    let (a, most, fold) = if is_least { (most, a, Fold::Least) } else { (a, most, Fold::Most) };
    let Some(Expr { form: Form::Reduce(own, _, over), .. }) = e.expr(most) else { return false };
    // The greatest is the same for all of them.
    let names = |p: &Place| matches!(p, Place::Bound(l, _) if *l >= *level && (*l as usize) < (*level as usize).saturating_add(sizes.len()));
    matches!(real(target), Some(Real::Exp | Real::Exp2))
        && (*own, over) == (fold, sizes)
        && !e.places_below(most).iter().any(names)
        && is_end_of(e, a, (most, fold), Some(*level))
}

/// Returns the reduced dimensions on which each element depends.
pub fn free(e: &Elements, order: &[ExprId]) -> FxHashMap<ExprId, Free> {
    #[allow(clippy::cast_precision_loss)]
    let places = |size| e.size_now(size).map_or(f64::INFINITY, |n| n as f64);
    let named = e.bound_around(order).into_iter();
    named.map(|(id, names)| (id, names.into_iter().map(|(level, size)| (level, places(size))).collect())).collect()
}
