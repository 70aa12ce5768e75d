//! Which elements of the sources surely make an element NaN where they are, and which may.
//!
//! ## What it says
//! Arithmetic, its functions, sums and the greatest of elements pass a NaN on, whichever operand it is. Of what a choice, a comparison or an unknown function
//! does nothing is known but that it is the same on both sides; a comparison with NaN fails, so that a choice by it is the other value.
//!
//! ## When it is wrong
//! `0 * x`, `x - x` and `x / x` are gone over the reals, and their NaN with them: then the first side shows one that the second hides. A comparison that
//! has one outcome over the reals has the other one where a NaN is compared.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::rebuild::Moves;
use crate::rules::table::real;

/// Names of dimensions where only which elements there are counts.
const NAMES: u32 = 1 << 24;

/// How much larger an index may be.
const STEPS: i64 = 2;
/// How deep choices may stand in choices.
const CHOICES: usize = 4;
/// How deep truths may be made of others.
const CONDITIONS: usize = 6;

/// Returns whether every NaN that reaches `a` reaches `b`.
pub fn hides_no_nan(e: &mut Elements, a: ExprId, b: ExprId) -> Option<bool> {
    let reached = reached(e, b, CHOICES)?;
    let chosen = chosen(e, b)?;
    let mut open = vec![(a, Choices::new())];
    let mut seen = FxHashSet::default();
    while let Some((id, choices)) = open.pop() {
        e.spend(1)?;
        let expr = e.expr(id)?.clone();
        if !seen.insert((id, choices.clone())) {
            continue;
        }
        let own = elements(e, id, &expr)?;
        if reached.contains(&own) {
            continue;
        }
        if !choices.is_empty() && expr.dtype.is_float() {
            let within = under(e, id, &choices)?;
            let within = elements(e, within, &e.expr(within)?.clone())?;
            if chosen.contains(&within) || is_within_others(e, id, &choices, &chosen)? {
                continue;
            }
        }
        if let (Form::Op(Op::Choose), [c, x, y]) = (&expr.form, expr.kids.as_slice())
            && choices.len() < CHOICES
        {
            open.push((*c, choices.clone()));
            for (kid, holds) in [(*x, true), (*y, false)] {
                let mut inner = choices.clone();
                inner.push((*c, holds));
                open.push((kid, inner));
            }
            continue;
        }
        match &expr.form {
            // An input that holds no NaN shows none.
            Form::Load(source, _) if e.numbers.contains_key(source) => {}
            Form::Load(..) if expr.dtype.is_float() => {
                let mut all: Vec<ExprId> = reached.iter().copied().collect();
                all.sort_unstable();
                if !all.into_iter().any(|other| covers(e, other, own)) {
                    return Some(false);
                }
            }
            _ => open.extend(e.parts(&expr).into_iter().map(|p| (p, choices.clone()))),
        }
    }
    Some(true)
}

/// Returns whether an element is NaN wherever another one is: that one reaches it as it stands, or makes no NaN but of elements that do.
pub fn shows_every_nan(e: &mut Elements, of: ExprId, a: ExprId) -> Option<bool> {
    let own = elements(e, of, &e.expr(of)?.clone())?;
    if reached(e, a, CHOICES)?.contains(&own) {
        return Some(true);
    }
    let makes_none = |x: &Expr| match &x.form {
        Form::Load(..) | Form::Number(_) | Form::Index(_) => true,
        Form::Const(v) => !x.dtype.is_float() || f64::from_bits(v.cast_unsigned()).is_finite(),
        Form::Op(op) => {
            matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Abs | Op::Max | Op::Min | Op::AtLeast | Op::AtMost)
        }
        Form::Reduce(fold, ..) => matches!(fold, Fold::Sum | Fold::Most | Fold::Least),
        _ => false,
    };
    let plain = e.below(of).into_iter().all(|id| e.expr(id).is_some_and(makes_none));
    Some(plain && hides_no_nan(e, of, a)?)
}

/// Returns whether a NaN that turns a comparison of `b`, one that `a` does not ask, reaches `b`: over the reals both outcomes may be one, and of a NaN neither is.
pub fn is_turned_by_no_nan(e: &mut Elements, a: ExprId, b: ExprId) -> Option<bool> {
    let asked: FxHashSet<ExprId> = e.below(a).into_iter().collect();
    is_not_turned(e, b, &asked)
}

/// Returns whether every NaN that turns a comparison of an element is one of the element.
pub fn shows_what_turns(e: &mut Elements, b: ExprId) -> Option<bool> {
    is_not_turned(e, b, &FxHashSet::default())
}

fn is_not_turned(e: &mut Elements, b: ExprId, asked: &FxHashSet<ExprId>) -> Option<bool> {
    for id in e.below(b) {
        let Some((Op::Lt | Op::Le | Op::Eq, [x, _])) = e.op_of(id) else { continue };
        let floats = e.dtype(*x).is_some_and(|d| d.is_float());
        if floats && !asked.contains(&id) && hides_no_nan(e, id, b) != Some(true) {
            return Some(false);
        }
    }
    Some(true)
}

/// Truths by which something was chosen, the outermost first.
type Choices = SmallVec<[(ExprId, bool); 4]>;

/// Returns an element chosen by truths, else nothing: what stands for the element where they hold.
fn under(e: &mut Elements, id: ExprId, choices: &Choices) -> Option<ExprId> {
    let dtype = e.dtype(id)?;
    let nothing = e.rounded(dtype, 0.0)?;
    let mut out = id;
    for (truth, holds) in choices.iter().rev() {
        let kids = if *holds { [*truth, out, nothing] } else { [*truth, nothing, out] };
        out = e.raw(Op::Choose, dtype, &kids)?;
    }
    Some(out)
}

/// Whether what truths choose is among what others choose: where an index is at least 0, one that is a little larger is, too.
fn is_within_others(e: &mut Elements, id: ExprId, choices: &Choices, chosen: &FxHashSet<ExprId>) -> Option<bool> {
    for (k, (truth, holds)) in choices.iter().enumerate() {
        let Some(Form::AtLeastZero(index)) = e.expr(*truth).map(|x| x.form.clone()) else { continue };
        for far in 1..=STEPS {
            let by = if *holds { far } else { far.checked_neg()? };
            let moved = e.shift(index, crate::sym::Dim::Fixed(by))?;
            let mut other = (e.at_least_zero_expr(moved)?, *holds);
            if let Some((Op::Not, [inner])) = e.op_of(other.0) {
                other = (*inner, !other.1);
            }
            let mut weaker = choices.clone();
            *weaker.get_mut(k)? = other;
            let within = under(e, id, &weaker)?;
            let within = elements(e, within, &e.expr(within)?.clone())?;
            if chosen.contains(&within) {
                return Some(true);
            }
        }
    }
    Some(false)
}

/// Returns what makes an expression NaN where truths choose it, each as it stands for that.
fn chosen(e: &mut Elements, root: ExprId) -> Option<FxHashSet<ExprId>> {
    let mut out = FxHashSet::default();
    let mut open = vec![(root, Choices::new())];
    let mut seen = FxHashSet::default();
    while let Some((id, choices)) = open.pop() {
        e.spend(1)?;
        let expr = e.expr(id)?.clone();
        if !seen.insert((id, choices.clone())) {
            continue;
        }
        if !choices.is_empty() && expr.dtype.is_float() {
            let within = under(e, id, &choices)?;
            out.insert(elements(e, within, &e.expr(within)?.clone())?);
        }
        if passes_on(e, &expr) {
            open.extend(expr.kids.iter().map(|k| (*k, choices.clone())));
        } else if let (Form::Op(Op::Choose), [c, x, y]) = (&expr.form, expr.kids.as_slice())
            && choices.len() < CHOICES
        {
            for (kid, holds) in [(*x, true), (*y, false)] {
                let mut inner = choices.clone();
                inner.push((*c, holds));
                open.push((kid, inner));
            }
        }
    }
    Some(out)
}

/// Whether elements of a source, some of whose dimensions run over places of their own, are among them the other ones.
fn covers(e: &mut Elements, all: ExprId, some: ExprId) -> bool {
    let (Some(x), Some(y)) = (e.expr(all).cloned(), e.expr(some).cloned()) else { return false };
    let (Form::Load(s, at), Form::Load(t, to)) = (&x.form, &y.form) else { return false };
    if s != t || at.len() != to.len() {
        return false;
    }
    let mut used: Vec<u32> = Vec::new();
    at.iter().zip(to).all(|(i, j)| {
        if i == j || e.same_index(*i, *j, 4) {
            // A name that stands on both sides is one dimension only where it is nowhere else.
            return !e.places_in(*i).iter().any(|p| matches!(p, Place::Bound(l, _) if used.contains(l)));
        }
        let sum = e.linear(*i).clone();
        let ([(Place::Bound(level, size), by)], None) = (sum.terms.as_slice(), sum.constant) else { return false };
        let (level, size) = (*level, *size);
        if level < NAMES || by.fixed() != Some(1) || used.contains(&level) {
            return false;
        }
        used.push(level);
        let names_it =
            |i: IndexId, e: &Elements| e.places_in(i).iter().any(|p| matches!(p, Place::Bound(l, _) if *l == level));
        let once = at.iter().filter(|i| names_it(**i, e)).count() == 1;
        once && e.is_place_of(*j, size) == Some(true)
    })
}

/// Returns what makes an expression NaN where it is. Of a choice, what both of its values have in common does.
fn reached(e: &mut Elements, root: ExprId, choices: usize) -> Option<FxHashSet<ExprId>> {
    let mut reached = FxHashSet::default();
    let mut open = vec![root];
    let mut seen = FxHashSet::default();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        e.spend(1)?;
        let expr = e.expr(id)?.clone();
        reached.insert(elements(e, id, &expr)?);
        if passes_on(e, &expr) {
            open.extend(expr.kids);
        } else if let (Form::Op(Op::Choose), [c, x, y]) = (&expr.form, expr.kids.as_slice())
            && let Some(choices) = choices.checked_sub(1)
        {
            let (x, y) = (self::reached(e, *x, choices)?, self::reached(e, *y, choices)?);
            reached.extend(x.intersection(&y).copied());
            // What is not chosen leaves a NaN.
            if let Some((Op::Eq, [p, q])) = e.op_of(*c)
                && p == q
                && y.contains(p)
            {
                reached.extend(x.iter().copied());
            }
            let [holds, fails] = decided(e, *c, choices, CONDITIONS)?;
            reached.extend(x.intersection(&holds).chain(y.intersection(&fails)).copied());
        }
    }
    Some(reached)
}

/// Returns what makes a truth hold, and what makes it fail, where it is NaN: a comparison with NaN fails.
fn decided(e: &mut Elements, truth: ExprId, choices: usize, depth: usize) -> Option<[FxHashSet<ExprId>; 2]> {
    let mut out = [FxHashSet::default(), FxHashSet::default()];
    let (Some(depth), Some((op, kids))) = (depth.checked_sub(1), e.op_of(truth)) else { return Some(out) };
    let kids: SmallVec<[ExprId; 3]> = kids.into();
    e.spend(1)?;
    match (op, kids.as_slice()) {
        (Op::Lt | Op::Le | Op::Eq, [a, b]) if e.dtype(*a).is_some_and(|d| d.is_float()) => {
            let [_, fails] = &mut out;
            for side in [a, b] {
                fails.extend(reached(e, *side, choices)?);
            }
        }
        (Op::Not, [a]) => {
            let [holds, fails] = decided(e, *a, choices, depth)?;
            out = [fails, holds];
        }
        (Op::And | Op::Or, [a, b]) => {
            let ([p, q], [r, s]) = (decided(e, *a, choices, depth)?, decided(e, *b, choices, depth)?);
            let both = |x: FxHashSet<ExprId>, y: &FxHashSet<ExprId>| x.intersection(y).copied().collect();
            out = match op {
                Op::And => [both(p, &r), q.into_iter().chain(s).collect()],
                _ => [p.into_iter().chain(r).collect(), both(q, &s)],
            };
        }
        _ => {}
    }
    Some(out)
}

/// Whether a NaN in any child is one in the element.
pub(in crate::rules) fn passes_on(e: &Elements, expr: &Expr) -> bool {
    if !expr.dtype.is_float() {
        return false;
    }
    match &expr.form {
        Form::Op(op) => match op {
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Neg
            | Op::Abs
            | Op::Max
            | Op::Min
            | Op::AtLeast
            | Op::AtMost => true,
            Op::Cast => expr.kids.first().and_then(|k| e.dtype(*k)).is_some_and(|d| d.is_float()),
            _ => false,
        },
        Form::Named(target, _) => real(target).is_some(),
        Form::Reduce(Fold::Sum | Fold::Most | Fold::Least, _, sizes) => {
            sizes.iter().all(|d| e.at_most(crate::sym::Dim::Fixed(1), *d))
        }
        _ => false,
    }
}

/// Returns an expression that stands for the set of elements that one is, as its dimensions run: they are named in the order in which they
/// stand in loads and choices. What holds reductions of its own keeps its names.
fn elements(e: &mut Elements, id: ExprId, expr: &Expr) -> Option<ExprId> {
    if !matches!(expr.form, Form::Load(..) | Form::Op(Op::Choose)) {
        return Some(id);
    }
    let Some(names) = names_in(e, id) else { return Some(id) };
    // Quotients and remainders of one dimension are two, and digits of one place are one.
    let mut out = id;
    let mut next = NAMES.checked_add(1 << 16)?;
    let mut open = names.into_iter().collect::<Vec<_>>();
    while let Some((level, size)) = open.pop() {
        let Some(by) = e.divisor_of(out, level) else { continue };
        let Some(times) = e.exactly(size, by) else { continue };
        let (high, low) = ((next, times), (next.checked_add(1)?, by));
        next = next.checked_add(2)?;
        let [q, r] = [high, low].map(|(l, n)| e.place(Place::Bound(l, n)));
        let whole = e.scale(q, by)?;
        let with = e.sum(whole, r)?;
        out = e.moved(out, &Moves { vars: SmallVec::new(), bound: Some((level, SmallVec::from_elem(with, 1))) })?;
        open.extend([low, high]);
    }
    out = digits_as_one(e, out, &mut next)?;
    let names = names_in(e, out)?;
    for (k, (level, size)) in (NAMES..).zip(names) {
        let mut with = e.place(Place::Bound(k, size));
        if runs_backwards(e, out, level) {
            let back = e.scale(with, crate::sym::Dim::Fixed(-1))?;
            let last = e.plus(size, crate::sym::Dim::Fixed(-1))?;
            with = e.shift(back, last)?;
        }
        out = e.moved(out, &Moves { vars: SmallVec::new(), bound: Some((level, SmallVec::from_elem(with, 1))) })?;
    }
    in_order(e, out)
}

/// Whether a dimension runs backwards where it first stands in a load.
fn runs_backwards(e: &Elements, root: ExprId, level: u32) -> bool {
    let mut loads: Vec<(crate::rules::element::arena::SourceId, i64)> = Vec::new();
    for id in e.below(root) {
        let Some(Form::Load(source, at)) = e.expr(id).map(|x| &x.form) else { continue };
        let terms = at.iter().flat_map(|i| e.linear(*i).terms.iter());
        let own = terms.filter(|(p, _)| matches!(p, Place::Bound(l, _) if *l == level));
        loads.extend(own.filter_map(|(_, by)| by.fixed()).map(|by| (*source, by)).take(1));
    }
    loads.into_iter().min_by_key(|(source, _)| *source).is_some_and(|(_, by)| by < 0)
}

/// Returns an element that truths choose, else nothing, with these in one order: which is asked first does not count.
fn in_order(e: &mut Elements, root: ExprId) -> Option<ExprId> {
    let is_nothing = |e: &Elements, id: ExprId| e.float(id).is_some_and(|v| v.to_bits() == 0);
    let (mut at, mut truths) = (root, Choices::new());
    while let Some((Op::Choose, [c, x, y])) = e.op_of(at) {
        let (c, x, y) = (*c, *x, *y);
        if is_nothing(e, y) {
            truths.push((c, true));
            at = x;
        } else if is_nothing(e, x) {
            truths.push((c, false));
            at = y;
        } else {
            break;
        }
    }
    if truths.is_empty() {
        return Some(root);
    }
    truths.sort_unstable();
    under(e, at, &truths)
}

/// Returns the dimensions that run in an expression, in the order in which they stand in it; `None` where it holds reductions of its own.
fn names_in(e: &Elements, root: ExprId) -> Option<SmallVec<[(u32, crate::sym::Dim); 4]>> {
    let mut names: SmallVec<[(u32, crate::sym::Dim); 4]> = SmallVec::new();
    let mut open = vec![root];
    let mut seen = FxHashSet::default();
    while let Some(at) = open.pop() {
        let Some(one) = e.expr(at).filter(|_| seen.insert(at)) else { continue };
        if matches!(one.form, Form::Reduce(..)) {
            return None;
        }
        for place in e.places_of(one) {
            match place {
                Place::Bound(level, size) if !names.iter().any(|(l, _)| *l == level) => names.push((level, size)),
                _ => {}
            }
        }
        // What is chosen before what chooses it.
        match (&one.form, one.kids.as_slice()) {
            (Form::Op(Op::Choose), [c, x, y]) => open.extend([*c, *y, *x]),
            (_, kids) => open.extend(kids.iter().rev()),
        }
    }
    Some(names)
}

/// Returns an element in which dimensions that stand nowhere but in one index, as digits of a place that runs over all below it, are one dimension.
fn digits_as_one(e: &mut Elements, root: ExprId, next: &mut u32) -> Option<ExprId> {
    let Some(Expr { form: Form::Load(_, at), .. }) = e.expr(root).cloned() else { return Some(root) };
    let mut out = root;
    for index in &at {
        let sum = e.linear(*index).clone();
        let mut own: Vec<(u32, i64, i64)> = Vec::new();
        for (place, by) in &sum.terms {
            let (Place::Bound(level, size), Some(by)) = (place, by.fixed()) else { continue };
            let Some(size) = size.fixed() else { continue };
            own.push((*level, size, by));
        }
        let elsewhere = |level: u32| {
            let within =
                |i: &IndexId| e.places_in(*i).iter().filter(|p| matches!(p, Place::Bound(l, _) if *l == level)).count();
            at.iter().map(within).sum::<usize>() != 1
        };
        own.sort_unstable_by_key(|(_, _, by)| *by);
        let mut all = 1_i64;
        let digits = own.len() > 1
            && own.iter().all(|(level, size, by)| {
                let fits = *by == all && *size > 0 && !elsewhere(*level);
                all = all.saturating_mul(*size);
                fits
            });
        if !digits {
            continue;
        }
        // The lowest digit is the place, all others are 0.
        let one = e.place(Place::Bound(*next, crate::sym::Dim::Fixed(all)));
        *next = next.checked_add(1)?;
        let zero = e.at(crate::sym::Dim::Fixed(0));
        for (k, (level, ..)) in own.iter().enumerate() {
            let with = if k == 0 { one } else { zero };
            out =
                e.moved(out, &Moves { vars: SmallVec::new(), bound: Some((*level, SmallVec::from_elem(with, 1))) })?;
        }
    }
    Some(out)
}
