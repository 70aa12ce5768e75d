//! What two ends tell of the elements that they are made of: what is at least 1, and what is never above 0.
//!
//! ## What it says
//! A sum of exponentials of `x - max(x)`, over all elements, is at least 1; so is what is that sum over the reals: the divisor of a softmax that is
//! computed in blocks, and the sum of a few such exponentials, of some of them the greatest of which is told, too. Divided by one number each, their sum is at
//! least 1 by that; multiplied by what is never negative, the least of these. One of some, less the greatest of them, or less the greatest of these and others, is at most 0, though some stand beside
//! others (`cat`), or in a part of them. The same holds of the least, less one of those. The magnitude of an input that is stated not to be near 0 is at least
//! the number that is nearest, and its square the square of that. The greatest share of a sum is at least one over how many there are, and so is the sum of the greatest few. A sum
//! of what is never negative and of truths (a row of a matrix with ones on its diagonal) is at least how many of these hold.
//!
//! ## When it is wrong
//! Where the element is none of those of which the greatest is taken: which one it is, is put in its place and compared, and it must surely be there.

use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Ends, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::rebuild::Moves;
use crate::rules::field::Field;
use crate::rules::rounding::backward::truth_of;
use crate::rules::rounding::forward::{holds_a_one, is_end_of, without_scales};
use crate::rules::rounding::normed::normed;
use crate::rules::rounding::unit;
use crate::rules::table::{Real, real};
use crate::sym::Dim;

/// How many sums are compared with how many others.
const SUMS: usize = 8;
/// How many exponentials are looked for one by one.
const ADDED: usize = 8;
/// How many differences are looked at.
const DIFFERENCES: usize = 64;
/// Of how many elements the greatest share is looked for.
const SHARED: i64 = 4096;
/// Which part of their sum their roundings may come to.
const LOST: f64 = 0.005;
/// What is left of a number that is added to what is never negative, whatever is rounded.
const KEPT: f64 = 0.99;
/// How many places of a dimension are tried.
const TRIED: usize = 12;

/// Remembers what is known of the elements of two ends.
pub fn remember(e: &mut Elements, roots: [ExprId; 2]) {
    e.ends = Ends::default();
    let mut order: Vec<ExprId> = roots.into_iter().flat_map(|r| e.below(r)).collect();
    order.sort_unstable();
    order.dedup();
    never_above(e, &order);
    ones(e, &order);
    apart(e, &order);
    e.ends.normed = normed(e, &order);
}

/// No number that is stated not to be near 0 is nearer.
pub const APART: f64 = 0.125;

fn apart(e: &mut Elements, order: &[ExprId]) {
    let is_apart =
        |e: &Elements, x: ExprId| matches!(e.expr(x).map(|x| &x.form), Some(Form::Load(s, _)) if e.apart.contains(s));
    for id in order {
        let Some(expr) = e.expr(*id) else { continue };
        let (of, least) = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Abs), [x]) => (*x, APART),
            (Form::Op(Op::Mul), [x, y]) if x == y => (*x, APART * APART),
            (Form::Named(target, _), [x]) if real(target) == Some(Real::Square) => (*x, APART * APART),
            _ => continue,
        };
        if expr.dtype.is_float() && is_apart(e, of) {
            e.ends.apart.insert(*id, least);
        }
    }
    for id in order {
        let ordered = match e.expr(*id).map(|x| &x.form) {
            Some(Form::Load(source, _)) => e.ordered(*source).map(|t| t.expr),
            _ => None,
        };
        let never = ordered.is_some_and(|all| e.is_never_negative(all) == Some(true));
        if let Some(least) = least_share(e, *id).flatten().or(never.then_some(0.0)) {
            e.ends.apart.insert(*id, least);
        }
    }
    for id in divisors(e, order).into_iter().take(SUMS) {
        if let Some(least) = least_by_truths(e, id).flatten() {
            e.ends.apart.insert(id, least * KEPT);
        }
    }
}

/// Returns what a sum is at least of what is never negative, however it is rounded, and of truths, of which it is told how many hold.
fn least_by_truths(e: &mut Elements, sum: ExprId) -> Option<Option<f64>> {
    let Expr { dtype, form: Form::Reduce(Fold::Sum, level, sizes), kids } = e.expr(sum)?.clone() else {
        return Some(None);
    };
    let Some((Op::Add, &[a, b])) = kids.first().and_then(|body| e.op_of(*body)) else { return Some(None) };
    if unit(dtype) > unit(Dtype::F32) {
        return Some(None);
    }
    for (each, truth) in [(a, b), (b, a)] {
        if truth_of(e, truth).is_some() && e.is_never_negative(each)? {
            let held = e.reduced(Fold::Sum, level, &sizes, truth)?;
            return Some(Field::number_of(e, dtype, held).filter(|v| *v > 0.0));
        }
    }
    Some(None)
}

/// Returns sums over dimensions that something is divided by, or the root or the logarithm of which is taken.
fn divisors(e: &Elements, order: &[ExprId]) -> Vec<ExprId> {
    let mut out: Vec<ExprId> = Vec::new();
    for id in order {
        let Some(expr) = e.expr(*id) else { continue };
        let below = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Div), [_, below]) => *below,
            (Form::Named(target, _), [x])
                if matches!(real(target), Some(Real::Log | Real::Reciprocal | Real::Sqrt | Real::Rsqrt)) =>
            {
                *x
            }
            _ => continue,
        };
        if matches!(e.expr(below).map(|x| &x.form), Some(Form::Reduce(Fold::Sum, ..))) && !out.contains(&below) {
            out.push(below);
        }
    }
    out
}

/// What is known of the elements of two ends, to be put back.
#[derive(Clone, Debug)]
pub struct Known(Ends);

impl Known {
    /// Puts it in the place of what is known; returns that.
    pub fn put(&self, e: &mut Elements) -> Known {
        Known(std::mem::replace(&mut e.ends, self.0.clone()))
    }
}

/// Returns what is known of the elements of two ends.
pub fn known(e: &mut Elements, roots: [ExprId; 2]) -> Known {
    let before = std::mem::take(&mut e.ends);
    remember(e, roots);
    Known(std::mem::replace(&mut e.ends, before))
}

fn never_above(e: &mut Elements, order: &[ExprId]) {
    let differences = order.iter().filter_map(|id| match e.op_of(*id) {
        Some((Op::Sub, [a, most])) => Some((*id, *a, *most)),
        _ => None,
    });
    let differences: Vec<(ExprId, ExprId, ExprId)> = differences.take(DIFFERENCES).collect();
    for (id, a, most) in differences {
        let (a, most) = without_scales(e, a, most);
        if is_at_most(e, a, most) == Some(true) || is_one_of(e, most, a, Fold::Least) == Some(true) {
            e.ends.never_above.insert(id);
        }
    }
}

fn ones(e: &mut Elements, order: &[ExprId]) {
    let whole = order.iter().copied().filter(|id| e.expr(*id).is_some_and(|x| holds_a_one(e, x)));
    let whole: Vec<ExprId> = whole.take(SUMS).collect();
    let sums: Vec<ExprId> = order.iter().copied().filter(|id| matches!(e.op_of(*id), Some((Op::Add, _)))).collect();
    let added: Vec<ExprId> = sums.into_iter().filter(|id| adds_a_one(e, *id) == Some(true)).collect();
    for id in order {
        let Some(expr) = e.expr(*id).cloned() else { continue };
        match least_of_sum(e, &expr) {
            Some(Least::One) => {
                e.ends.ones.insert(*id);
            }
            Some(Least::Over(by)) => {
                e.ends.shares.insert(*id, by);
            }
            Some(Least::Times(by)) => {
                e.ends.weighted.insert(*id, by);
            }
            _ => {}
        }
    }
    e.ends.ones.extend(added);
    let below = |id: &ExprId| {
        let expr = e.expr(*id)?;
        let asked = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Div), [_, below]) => *below,
            (Form::Named(target, _), [x]) if matches!(real(target), Some(Real::Log | Real::Reciprocal)) => *x,
            _ => return None,
        };
        matches!(e.op_of(asked), Some((Op::Add, _))).then_some(asked)
    };
    let mut asked: Vec<ExprId> = order.iter().filter_map(below).collect();
    asked.sort_unstable();
    asked.dedup();
    for id in asked.into_iter().take(SUMS) {
        let Some(dtype) = e.dtype(id) else { continue };
        for one in &whole {
            if e.dtype(*one) == Some(dtype) && Field::same_value_in_parts(e, dtype, id, *one) {
                e.ends.ones.insert(id);
                break;
            }
        }
    }
}

/// Returns what an element is at least that is the greatest share of a sum, or a sum of some shares in order among which that is: one over how many there are. What is rounded on the
/// way takes less than what is left out here.
pub(in crate::rules) fn least_share(e: &mut Elements, id: ExprId) -> Option<Option<f64>> {
    let Some(Expr { form: Form::Reduce(fold, level, sizes), kids, .. }) = e.expr(id).cloned() else {
        return Some(None);
    };
    let body = *kids.first()?;
    match fold {
        Fold::Most => share_of(e, body, level, &sizes),
        Fold::Sum => {
            let Some(greatest) = greatest_summed(e, body, level, &sizes)? else { return Some(None) };
            match e.expr(greatest).cloned() {
                Some(Expr { form: Form::Reduce(Fold::Most, level, sizes), kids, .. }) => {
                    share_of(e, *kids.first()?, level, &sizes)
                }
                _ => Some(None),
            }
        }
        _ => Some(None),
    }
}

/// Returns one over how many elements there are, where one is divided by their sum, and none is negative.
#[allow(clippy::cast_precision_loss)]
fn share_of(e: &mut Elements, body: ExprId, level: u32, sizes: &[Dim]) -> Option<Option<f64>> {
    let Some((Op::Div, [each, all])) = e.op_of(body) else { return Some(None) };
    let (each, all) = (*each, *all);
    let count = sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed().filter(|d| *d > 0)?));
    let within = |p: &Place| matches!(p, Place::Bound(l, _) if *l >= level);
    let (Some(count), false) = (count.filter(|n| *n <= SHARED), e.places_below(all).iter().any(within)) else {
        return Some(None);
    };
    let narrow = e.dtype(all).is_none_or(|d| count as f64 * unit(d) > LOST);
    let whole = !narrow
        && e.reduced(Fold::Sum, level, sizes, each)? == all
        && e.is_never_negative(each)?
        && e.is_apart_from_zero(all)?;
    Some(whole.then_some(0.99 / count as f64))
}

/// Returns the greatest of elements in order, where it is among those that are summed, and none of these is negative.
fn greatest_summed(e: &mut Elements, body: ExprId, level: u32, sizes: &[Dim]) -> Option<Option<ExprId>> {
    let Some(Form::Load(source, at)) = e.expr(body).map(|x| x.form.clone()) else { return Some(None) };
    let Some((all, size)) = e.ordered(source).map(|t| (t.expr, t.sizes.last().copied())) else { return Some(None) };
    let (Some((place, others)), [count], Some(size)) = (at.split_last(), sizes, size) else { return Some(None) };
    let named =
        |e: &Elements, i: IndexId| e.places_in(i).iter().any(|p| matches!(p, Place::Bound(l, _) if *l >= level));
    if others.iter().any(|i| named(e, *i)) {
        return Some(None);
    }
    let sum = e.linear(*place);
    let ends = (sum.offset().fixed(), count.fixed(), size.fixed());
    let last = match (sum.terms.as_slice(), ends) {
        ([(Place::Bound(l, _), Dim::Fixed(-1))], (Some(from), Some(1..), Some(_))) if *l == level => from,
        ([(Place::Bound(l, _), Dim::Fixed(1))], (Some(from), Some(n), Some(_))) if *l == level => {
            from.checked_add(n)?.checked_sub(1)?
        }
        _ => return Some(None),
    };
    if size.fixed()?.checked_sub(1) != Some(last) || !e.is_never_negative(all)? {
        return Some(None);
    }
    e.last_in_order(body)
}

/// What a sum is at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rules) enum Least {
    /// Nothing is known.
    Unknown,
    /// 1.
    One,
    /// 1 by an element.
    Over(ExprId),
    /// The least of an element.
    Times(ExprId),
}

/// Returns what a sum is at least of exponentials, each of an element less the greatest of all these, as it is told: one of them is 1; or of such, each
/// divided by what is the same for all, or multiplied by what is never negative.
pub(in crate::rules) fn least_of_sum(e: &mut Elements, sum: &Expr) -> Option<Least> {
    let Form::Reduce(Fold::Sum, level, sizes) = &sum.form else { return Some(Least::Unknown) };
    let (mut body, mut least) = (*sum.kids.first()?, Least::One);
    let exponent = |e: &Elements, id: ExprId| match e.expr(id).map(|x| (&x.form, x.kids.as_slice())) {
        Some((Form::Named(target, _), [x])) if matches!(real(target), Some(Real::Exp | Real::Exp2)) => Some(*x),
        _ => None,
    };
    match e.op_of(body) {
        Some((Op::Div, [each, by])) => (body, least) = (*each, Least::Over(*by)),
        Some((Op::Mul, [each, by])) if exponent(e, *each).is_some() => (body, least) = (*each, Least::Times(*by)),
        Some((Op::Mul, [by, each])) if exponent(e, *each).is_some() => (body, least) = (*each, Least::Times(*by)),
        _ => {}
    }
    let exponent = exponent(e, body);
    let Some((Op::Sub, [a, most])) = exponent.and_then(|x| e.op_of(x)) else { return Some(Least::Unknown) };
    let least_of_all = matches!(e.expr(*a).map(|x| &x.form), Some(Form::Reduce(Fold::Least, ..)));
    let (a, most, fold) = if least_of_all { (*most, *a, Fold::Least) } else { (*a, *most, Fold::Most) };
    let names = |p: &Place| matches!(p, Place::Bound(l, _) if *l >= *level);
    let mut alike = vec![most];
    if let Least::Over(by) = least {
        alike.push(by);
    }
    // Dimensions that are reduced within have names below.
    if alike.iter().any(|x| e.places_below(*x).iter().any(names)) || !sizes.iter().all(|d| e.at_most(Dim::Fixed(1), *d))
    {
        return Some(Least::Unknown);
    }
    let is_end = e.reduced(fold, *level, sizes, a)? == most
        || is_end_of(e, a, (most, fold), Some(*level))
        || is_end_as_named(e, a, (most, fold), (*level, sizes))?;
    Some(if is_end { least } else { Least::Unknown })
}

/// Whether an element is each of those that are taken together, once their dimensions have its names.
fn is_end_as_named(
    e: &mut Elements,
    a: ExprId,
    (end, fold): (ExprId, Fold),
    (level, sizes): (u32, &[Dim]),
) -> Option<bool> {
    let Some(Expr { form: Form::Reduce(own, from, over), kids, .. }) = e.expr(end).cloned() else {
        return Some(false);
    };
    let body = *kids.first()?;
    // Nothing is captured: see `is_at_places`.
    let bare = !e.below(body).into_iter().any(|id| e.is_reduction(id));
    if own != fold || *over != *sizes || !(bare || level >= from) {
        return Some(false);
    }
    let names = (level..).zip(sizes.iter()).map(|(l, size)| e.place(Place::Bound(l, *size))).collect();
    Some(e.moved(body, &Moves { vars: SmallVec::new(), bound: Some((from, names)) })? == a)
}

/// Whether exponentials are added of some elements, each less the greatest of them: one of them is 1. Elements may stand in sums of their own, and one be a number.
fn adds_a_one(e: &mut Elements, sum: ExprId) -> Option<bool> {
    let (mut open, mut each, mut most) = (vec![sum], Vec::new(), None);
    while let Some(at) = open.pop() {
        if each.len().saturating_add(open.len()) > ADDED {
            return Some(false);
        }
        if let Some((Op::Add, kids)) = e.op_of(at) {
            open.extend(kids);
            continue;
        }
        let Some((of, less)) = exponentials(e, at)? else { return Some(false) };
        if *most.get_or_insert(less) != less {
            return Some(false);
        }
        each.push(of);
    }
    let mut open: Vec<ExprId> = most.into_iter().collect();
    for _ in 0..ADDED.saturating_mul(2) {
        let Some(at) = open.pop() else { return Some(each.len() > 1) };
        match e.op_of(at) {
            _ if each.contains(&Added::One(at)) => {}
            _ if e.float(at).is_some_and(|v| v == 0.0) && each.contains(&Added::Nothing) => {}
            Some((Op::Max | Op::AtLeast, kids)) => open.extend(kids),
            _ => return Some(false),
        }
    }
    Some(false)
}

/// Of what an exponential is added, beside what is taken away from it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Added {
    /// An element, or some of which this is the greatest.
    One(ExprId),
    /// 0.
    Nothing,
}

/// Returns of what an exponential, or a sum of some, is made, and what is taken away from it.
fn exponentials(e: &mut Elements, at: ExprId) -> Option<Option<(Added, ExprId)>> {
    let exponent = |e: &Elements, x: ExprId| match e.expr(x).map(|x| (&x.form, x.kids.as_slice())) {
        Some((Form::Named(target, _), [x])) if matches!(real(target), Some(Real::Exp | Real::Exp2)) => Some(*x),
        _ => None,
    };
    let expr = e.expr(at)?.clone();
    if let (Form::Reduce(Fold::Sum, level, sizes), [body]) = (&expr.form, expr.kids.as_slice()) {
        let Some((Op::Sub, [a, less])) = exponent(e, *body).and_then(|x| e.op_of(x)) else { return Some(None) };
        let (a, less) = (*a, *less);
        let within = |p: &Place| matches!(p, Place::Bound(l, _) if l >= level);
        let some = sizes.iter().all(|d| e.at_most(Dim::Fixed(1), *d)) && !e.places_below(less).iter().any(within);
        return Some(match some {
            true => Some((Added::One(e.reduced(Fold::Most, *level, sizes, a)?), less)),
            false => None,
        });
    }
    Some(match exponent(e, at).and_then(|x| e.op_of(x)) {
        Some((Op::Sub, [a, less])) => Some((Added::One(*a), *less)),
        Some((Op::Neg, [less])) => Some((Added::Nothing, *less)),
        _ => None,
    })
}

/// Whether an element is at most the greatest of some: one of them, or one of those that they are the greatest of.
fn is_at_most(e: &mut Elements, a: ExprId, most: ExprId) -> Option<bool> {
    let mut open = vec![most];
    for _ in 0..TRIED {
        let Some(most) = open.pop() else { break };
        if a == most || is_one_of(e, a, most, Fold::Most)? || e.last_in_order(a)? == Some(most) {
            return Some(true);
        }
        if let Some((Op::Max | Op::AtLeast, kids)) = e.op_of(most) {
            open.extend(kids);
        }
    }
    Some(false)
}

/// Whether an element is one of those of which the greatest, or the least, is taken: at places that surely are there, its dimensions as they are, or in
/// rows.
fn is_one_of(e: &mut Elements, a: ExprId, most: ExprId, fold: Fold) -> Option<bool> {
    if !matches!(e.expr(most).map(|x| &x.form), Some(Form::Reduce(own, ..)) if *own == fold) {
        return Some(false);
    }
    if is_at_places(e, a, most)? {
        return Some(true);
    }
    let rows = e.in_rows(most)?;
    if rows == most {
        return Some(false);
    }
    is_at_places(e, a, rows)
}

fn is_at_places(e: &mut Elements, a: ExprId, most: ExprId) -> Option<bool> {
    let expr = e.expr(most)?.clone();
    let (Form::Reduce(_, level, sizes), Some(body)) = (&expr.form, expr.kids.first().copied()) else {
        return Some(false);
    };
    let level = *level;
    // Nothing is captured where nothing within has names, or where names of dimensions within are below those around.
    let bare = !e.below(body).into_iter().any(|id| e.is_reduction(id));
    let mut all: Vec<SmallVec<[IndexId; 2]>> = vec![SmallVec::new()];
    for (name, size) in (level..).zip(sizes.iter().copied()) {
        let mut there = Vec::new();
        for place in places(e, a, body, name, size)?.into_iter().take(TRIED) {
            let around = e.places_in(place).iter().all(|p| match p {
                Place::Bound(l, _) => bare || *l >= level,
                Place::Data(_) => false,
                _ => true,
            });
            if around && is_there(e, place, size)? {
                there.push(place);
            }
        }
        let more = |known: &SmallVec<[IndexId; 2]>| {
            let known = known.clone();
            there.iter().map(move |place| known.iter().copied().chain([*place]).collect())
        };
        all = all.iter().flat_map(more).take(TRIED).collect();
    }
    for at in all {
        if e.moved(body, &Moves { vars: SmallVec::new(), bound: Some((level, at)) })? == a {
            return Some(true);
        }
    }
    Some(false)
}

/// Whether an index surely is a place of a dimension of this size.
fn is_there(e: &mut Elements, place: IndexId, size: Dim) -> Option<bool> {
    let left = e.difference(place, place)?;
    let last = e.plus(size, Dim::Fixed(-1))?;
    let end = e.shift(left, last)?;
    let left = e.difference(end, place)?;
    Some(e.at_least_zero(place) == Some(true) && e.at_least_zero(left) == Some(true))
}

/// Returns places of a dimension at which a body may be an element: where it reads a source as the element does, and where a condition turns.
fn places(e: &mut Elements, a: ExprId, body: ExprId, level: u32, size: Dim) -> Option<Vec<IndexId>> {
    let mut wanted: Vec<(IndexId, Option<IndexId>)> = Vec::new();
    let read: Vec<_> = e.below(a).into_iter().filter_map(|id| load(e, id)).collect();
    for id in e.below(body) {
        if let Some((source, at)) = load(e, id) {
            let alike = read.iter().filter(|(other, _)| *other == source);
            wanted.extend(alike.flat_map(|(_, to)| at.iter().copied().zip(to.iter().copied().map(Some))));
        } else if let Some(Form::AtLeastZero(i)) = e.expr(id).map(|x| &x.form) {
            wanted.push((*i, None));
        }
    }
    let own = e.place(Place::Bound(level, size));
    let mut out = Vec::new();
    for place in e.places_below(a) {
        if matches!(place, Place::Bound(l, s) if s == size && l != level) {
            out.push(e.place(place));
        }
    }
    for (index, to) in wanted {
        let sum = e.linear(index);
        let by =
            sum.terms.iter().find(|(p, _)| matches!(p, Place::Bound(l, _) if *l == level)).and_then(|t| t.1.fixed());
        let Some(by @ (1 | -1)) = by else { continue };
        let part = e.scale(own, Dim::Fixed(by))?;
        let rest = e.difference(index, part)?;
        let target = match to {
            Some(to) => to,
            None => e.at(Dim::Fixed(0)),
        };
        let at = e.difference(target, rest)?;
        let at = e.scale(at, Dim::Fixed(by))?;
        out.push(at);
        if to.is_none() {
            out.push(e.shift(at, Dim::Fixed(-1))?);
            out.push(e.shift(at, Dim::Fixed(1))?);
        }
    }
    out.sort_unstable();
    out.dedup();
    Some(out)
}

/// Returns a source and the index at which it is read.
fn load(e: &Elements, id: ExprId) -> Option<(crate::rules::element::arena::SourceId, SmallVec<[IndexId; 4]>)> {
    match &e.expr(id)?.form {
        Form::Load(source, at) => Some((*source, at.clone())),
        _ => None,
    }
}
