//! Normal forms: two values are equal if they are element by element.
//!
//! The terms of a region become expressions over the index (`rules`); these are compared. Rules say when they are wrong; here it is only said
//! which terms they are asked of.
//!
//! Promises: (1) `Some` rests on rules alone, whose names it gives; (2) types of what stands between are the rules', those of what stands
//! for itself are those of the graphs, where no annotation alone states them; (3) work is bounded.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::rules::element::arena::{Elements, ExprId, Form, Op, Source, Tensor};
use crate::rules::element::index::Place;
use crate::rules::field::Field;
use crate::rules::fingerprint::Over;
use crate::rules::meaning::{Meant, Speaker};
use crate::sym::Dim;
use crate::term::store::ValueId;
use crate::verify::functional::values::Functional;
use crate::verify::prove::region::{ENDS, Ends, region};
use crate::verify::prove::speak::Lowering;

/// Names of rules.
pub type Names = BTreeSet<&'static str>;

/// Returns the rules by which two values are equal; `None` where that is not shown.
pub fn equal(f: &mut Functional<'_>, a: ValueId, b: ValueId, fuel: &mut usize) -> Option<Names> {
    let mut ends_at_view = false;
    for ends in ENDS {
        if ends == Ends::CommonButViews && !ends_at_view {
            continue;
        }
        let limit = if ends == Ends::Nowhere { f.budget.region.min(512) } else { f.budget.region };
        let found = region(f, a, b, limit, ends);
        ends_at_view |= found.ends_at_view;
        let mut terms = found.terms;
        // Bit by bit, a class of which some are equal over the reals only is none of its values.
        terms.retain(|class, _| !f.store.is_near(*class));
        let bound = f.sizes.settled_names();
        let symbols = f.sizes.symbols().clone();
        let given = (*fuel).min(f.budget.work);
        let speaker = Speaker::new(f.registry, Elements::bit_by_bit(symbols, bound, given), false);
        let names: FxHashMap<_, _> = f.store.targets().map(|(c, t)| (c, t.to_string())).collect();
        let mut lowering = Lowering { f: &mut *f, terms, names, speaker, meant: FxHashMap::default() };
        let shown = shown(&mut lowering, a, b).filter(|names| !lowering.f.kinds.sees_nan || keep_nan(names));
        *fuel = fuel.saturating_sub(given.saturating_sub(lowering.speaker.e.fuel));
        if shown.is_some() {
            let defined = std::mem::take(&mut lowering.speaker.e.defined);
            f.defined.extend(defined);
            return shown;
        }
    }
    None
}

/// Returns what is found of the expression that stands for every element of a value.
fn of_element<R>(
    f: &mut Functional<'_>,
    value: ValueId,
    look: impl FnOnce(&mut Elements, ExprId, &[Dim]) -> Option<R>,
) -> Option<R> {
    let limit = f.budget.region.min(64);
    let terms = region(f, value, value, limit, Ends::Nowhere).terms;
    let (bound, symbols) = (f.sizes.settled_names(), f.sizes.symbols().clone());
    let speaker = Speaker::new(f.registry, Elements::new(symbols, bound, f.budget.work), false);
    let names: FxHashMap<_, _> = f.store.targets().map(|(c, t)| (c, t.to_string())).collect();
    let mut lowering = Lowering { f, terms, names, speaker, meant: FxHashMap::default() };
    let found = match lowering.meant(value)? {
        Meant::One(x) => look(&mut lowering.speaker.e, x.expr, &x.sizes)?,
        _ => return None,
    };
    let Lowering { f, speaker, .. } = lowering;
    f.defined.extend(speaker.e.defined);
    Some(found)
}

/// Returns two integers between which every element of a value lies.
pub fn integers(f: &mut Functional<'_>, value: ValueId) -> Option<(i64, i64)> {
    of_element(f, value, Elements::integers_at_places)
}

/// Whether every element of a value, an index counted from the front, or from either end, is surely a place of a dimension of this size.
pub fn are_places(f: &mut Functional<'_>, value: ValueId, size: Dim, either: bool) -> bool {
    let inside = of_element(f, value, |e, x, _| {
        let at = e.data_index(x)?;
        let low = if either { e.shift(at, size)? } else { at };
        let left = e.scale(at, Dim::Fixed(-1))?;
        let last = e.plus(size, Dim::Fixed(-1))?;
        let left = e.shift(left, last)?;
        Some(e.at_least_zero(low) == Some(true) && e.at_least_zero(left) == Some(true))
    });
    inside == Some(true)
}

/// Whether elements of a vector are counted from 0 in equal steps, to at most this one.
pub fn are_counted_to(f: &mut Functional<'_>, value: ValueId, most: i64) -> bool {
    let counted = of_element(f, value, |e, x, _| {
        let Form::Index(at) = e.expr(x)?.form.clone() else { return None };
        let sum = e.linear(at);
        let last = match sum.terms.as_slice() {
            [] => 0,
            [(Place::Var(0, Dim::Fixed(size @ 1..)), Dim::Fixed(by @ 0..))] => size.checked_sub(1)?.checked_mul(*by)?,
            _ => return None,
        };
        Some(sum.offset() == Dim::Fixed(0) && last <= most)
    });
    counted == Some(true)
}

/// Whether every element of a value is a place, counted from the front, of a dimension of this size: a call said so of such a one.
pub fn are_said_places(f: &mut Functional<'_>, value: ValueId, size: Dim) -> bool {
    let inside = of_element(f, value, |e, x, _| {
        let Form::Load(source, _) = e.expr(x)?.form else { return None };
        Some(e.same_size(e.places_among(source)?, size))
    });
    inside == Some(true)
}

/// Returns the tensor of which every element is chosen but where it is one number, for which a place of a dimension of this size stands; and that number.
pub fn spared(f: &mut Functional<'_>, value: ValueId, size: i64) -> Option<(ValueId, i64)> {
    let (of, number, sizes) = of_element(f, value, |e, x, _| {
        let (Op::Choose, &[truth, instead, chosen]) = e.op_of(x)? else { return None };
        let (compared, number) = e.is_number_where(truth)?;
        let Form::Load(source, at) = e.expr(chosen)?.form.clone() else { return None };
        let place = e.number(instead).is_some_and(|v| (0..size).contains(&v));
        let (Source::Value(of), true) = (e.source_of(source)?.clone(), place && compared == chosen) else {
            return None;
        };
        // Every element, each once.
        let mut vars: Vec<u32> = Vec::new();
        let mut sizes: Vec<Dim> = Vec::new();
        for index in at {
            let sum = e.linear(index);
            let ([(Place::Var(k, n), Dim::Fixed(1))], Dim::Fixed(0)) = (sum.terms.as_slice(), sum.offset()) else {
                return None;
            };
            vars.push(*k);
            sizes.push(*n);
        }
        vars.sort_unstable();
        vars.windows(2).all(|pair| pair.first() != pair.last()).then_some((of, number, sizes))
    })?;
    let key = f.store.key(of)?;
    let whole = f.tensor(key.side, key.place)?.sizes.as_slice() == sizes.as_slice();
    whole.then_some((of, number))
}

/// Whether these rules keep every bit of a NaN. Most keep none apart from another.
fn keep_nan(names: &Names) -> bool {
    names.iter().all(|n| crate::rules::KEEP_NAN.contains(n))
}

fn shown(l: &mut Lowering<'_, '_>, a: ValueId, b: ValueId) -> Option<Names> {
    let (x, y) = (l.meant(a)?, l.meant(b)?);
    let mut open = vec![(x, y)];
    while let Some((x, y)) = open.pop() {
        match (x, y) {
            (Meant::One(x), Meant::One(y)) => {
                if l.f.kinds.sees_nan && ![x.expr, y.expr].iter().all(|r| l.speaker.e.only_moves_floats(*r)) {
                    return None;
                }
                let e = &mut l.speaker.e;
                let ends = (x.expr, y.expr);
                let alike = x.dtype == y.dtype && x.sizes.len() == y.sizes.len();
                let alike = alike && x.sizes.iter().zip(&y.sizes).all(|(a, b)| e.same_size(*a, *b));
                let (dtype, sizes) = (x.dtype, x.sizes.clone());
                let x = e.tensor(Tensor { dtype: x.dtype, sizes: x.sizes, expr: x.expr });
                let y = e.tensor(Tensor { dtype: y.dtype, sizes: y.sizes, expr: y.expr });
                if l.f.checking.now {
                    let agree = alike && !l.f.kinds.sees_nan && l.f.checking.agree(e, &sizes, ends.into(), Over::Bits);
                    agree.then_some(())?;
                    continue;
                }
                let equal = alike && e.equal_ranked(dtype, &sizes, ends.into())
                    || e.equal_tensors(x, y)
                    || alike && Field::equal_as_ring(e, ends.0, ends.1)
                    || alike && Field::equal_each_named(e, ends.0, ends.1)
                    || alike && e.equal_divided(ends.0, ends.1)
                    || alike && e.equal_exhausted(ends.0, ends.1);
                (equal || alike && e.equal_at_each_place(&sizes, ends.into())).then_some(())?;
            }
            (Meant::Complex(x), Meant::Complex(y)) => {
                open.extend(x.into_iter().zip(*y).map(|(x, y)| (Meant::One(x), Meant::One(y))));
            }
            (Meant::Many(x), Meant::Many(y)) if x.len() == y.len() => open.extend(x.into_iter().zip(y)),
            (Meant::Size(x), Meant::Size(y)) if l.speaker.e.same_size(x, y) => {}
            _ => return None,
        }
    }
    Some(std::mem::take(&mut l.speaker.e.applied))
}
