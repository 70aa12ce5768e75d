//! Which elements of a value another one is made of, where it takes them as they are.
//!
//! ## What it says
//! Parts of one value (the queries and the keys of one product of matrices, the steps of a sequence that is projected as a whole) share none of its elements: their
//! roundings are not one. Where elements of two parts are made of equal numbers they are equal, and so is what makes them anew, by the same calls of what stands at
//! the same places.
//!
//! ## When it is wrong
//! Where an element is read by more than movements, or an index is divided or read from data: then all of the value counts as read. Where two parts are made anew in
//! another order each: `cat(x, x) + y + z`, cut in two, is one value twice.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::analysis::getitem_of;
use crate::graph::{Arg, NodeId, NodeKind};
use crate::rules::element::arena::{Elements, Form as Shape, Source};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::meaning::Meant;
use crate::term::store::ValueId;
use crate::term::term::{Form, Side, Term};
use crate::verify::functional::values::Functional;
use crate::verify::prove::poles;

/// How many places along a dimension are looked at.
const PLACES: usize = 1 << 14;

/// Of each dimension of a value the places that are read; `None` where they may be any.
pub(super) type Window = SmallVec<[Option<BTreeSet<i64>>; 4]>;

/// Whether two windows share no element: their places along one dimension are others.
pub(super) fn are_apart(a: &Window, b: &Window) -> bool {
    let apart = |(x, y): (&Option<BTreeSet<i64>>, &Option<BTreeSet<i64>>)| {
        x.as_ref().zip(y.as_ref()).is_some_and(|(x, y)| x.is_disjoint(y))
    };
    a.len() == b.len() && a.iter().zip(b).any(apart)
}

/// Whether parts hold each element of a window: those that are read along all dimensions but one as that is, and along that one together.
pub(super) fn are_all(all: &Window, parts: &[&Window]) -> bool {
    (0..all.len()).any(|dim| {
        let alike = |part: &&&Window| {
            part.len() == all.len()
                && part.iter().zip(all).enumerate().all(|(k, (x, y))| k == dim || x.is_some() && x == y)
        };
        let along: BTreeSet<i64> =
            parts.iter().filter(alike).filter_map(|part| part.get(dim)?.as_ref()).flatten().copied().collect();
        all.get(dim).is_some_and(|own| own.as_ref().is_some_and(|own| own.is_subset(&along)))
    })
}

/// Which of some terms read each class.
pub(super) type Readers = FxHashMap<ValueId, Vec<ValueId>>;

/// Returns which of the terms of a root read each class.
pub(super) fn readers(f: &mut Functional<'_>, terms: &FxHashMap<ValueId, Term>, within: &[ValueId]) -> Readers {
    let mut out = Readers::default();
    for id in within {
        for child in terms.get(id).into_iter().flat_map(|term| term.children.iter()) {
            out.entry(f.store.find(*child)).or_default().push(*id);
        }
    }
    out
}

/// Returns which elements of `of` are read by a root within some terms; `None` where it may be all of them.
pub(super) fn window(
    f: &mut Functional<'_>,
    terms: &FxHashMap<ValueId, Term>,
    readers: &Readers,
    of: ValueId,
) -> Option<Window> {
    let first = readers.get(&of)?;
    if !first.iter().all(|reader| terms.get(reader).is_some_and(|term| gives_elements(f, term))) {
        return None;
    }
    // What moves its elements, up to what computes with them.
    let (mut open, mut moved, mut ends) = (vec![of], FxHashMap::default(), FxHashSet::default());
    let mut seen = FxHashSet::default();
    while let Some(at) = open.pop() {
        let own = readers.get(&at).cloned().unwrap_or_default();
        if own.is_empty() {
            ends.insert(at);
        }
        for reader in own {
            match terms.get(&reader).filter(|term| gives_elements(f, term)) {
                Some(term) if seen.insert(reader) => {
                    moved.insert(reader, term.clone());
                    open.push(reader);
                }
                Some(_) => {}
                None => drop(ends.insert(at)),
            }
        }
    }
    if ends.contains(&of) {
        return None;
    }
    let mut l = poles::lowering(f, moved);
    let mut out: Option<Window> = None;
    for end in ends {
        let Meant::One(array) = l.meant(end)? else { return None };
        for id in l.speaker.e.below(array.expr) {
            let Some(Shape::Load(source, at)) = l.speaker.e.expr(id).map(|x| x.form.clone()) else { continue };
            match l.speaker.e.source_of(source).cloned() {
                Some(Source::Value(value)) if l.f.store.find(value) == of => {}
                _ => return None,
            }
            let own: Window = at.iter().map(|index| places(&l.speaker.e, *index)).collect();
            out = Some(match out.take() {
                None => own,
                Some(known) => both(known, own)?,
            });
        }
    }
    out
}

/// Returns a window that holds two; `None` where they are not of one value.
fn both(a: Window, b: Window) -> Option<Window> {
    let places = |(a, b): (Option<BTreeSet<i64>>, Option<BTreeSet<i64>>)| Some(a?.union(&b?).copied().collect());
    (a.len() == b.len()).then(|| a.into_iter().zip(b).map(places).collect())
}

/// Whether each element of a term is one of its operands', whichever.
fn gives_elements(f: &Functional<'_>, term: &Term) -> bool {
    match &*term.form {
        Form::View { .. } | Form::Part(_) | Form::Item(_) => true,
        Form::Call { callee, .. } => f
            .store
            .targets()
            .find(|(id, _)| id == callee)
            .is_some_and(|(_, target)| f.registry.get(target).is_some_and(|operator| operator.facts.moves)),
        _ => false,
    }
}

/// How many calls are looked at of which two values are made.
const CALLS: usize = 64;

/// Whether two nodes of the graph as it is are made by the same calls: of parts of the same values at the same places, and of inputs of which each kind is there once.
pub(super) fn are_made_alike(f: &Functional<'_>, a: NodeId, b: NodeId) -> bool {
    let view = f.view(Side::After);
    let (mut open, mut looked_at) = (vec![(a, b)], 0_usize);
    let mut pairs: Vec<(NodeId, NodeId)> = Vec::new();
    while let Some((a, b)) = open.pop() {
        looked_at = looked_at.saturating_add(1);
        if looked_at > CALLS {
            return false;
        }
        let (x, y) = (moved_from(f, a), moved_from(f, b));
        if x == y {
            pairs.extend((a != b).then_some((x, y)));
        } else if let Some(operands) = same_call(f, x, y) {
            open.extend(operands);
        } else if [x, y].iter().all(|n| matches!(view.kind(*n), NodeKind::Placeholder | NodeKind::GetAttr)) {
            pairs.push((x, y));
        } else {
            return false;
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    let rank = |n: NodeId| view.ty(n).as_tensor().map(|t| t.sizes.len());
    pairs.iter().enumerate().all(|(k, (x, y))| {
        let mut others = pairs.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, pair)| pair);
        others.all(|(p, q)| {
            let apart = [p, q].iter().all(|n| *n != x && *n != y);
            apart && (x == y || p == q || rank(*x) != rank(*p))
        })
    })
}

/// Returns what a node moves elements of, by way of any number of calls.
fn moved_from(f: &Functional<'_>, node: NodeId) -> NodeId {
    let view = f.view(Side::After);
    let mut at = node;
    for _ in 0..CALLS {
        // What is taken out of several results is a part of what these are parts of, or of nothing else.
        let call = getitem_of(view, at).map_or(at, |(of, _)| of);
        let operator = f.registry.operator_of(view, call);
        let moves = operator.is_some_and(|o| o.effects.is_pure() && (o.facts.moves || o.is_view()));
        let mut operands = view.operands(at);
        match (operands.next(), operands.next()) {
            (Some(one), None) if moves => at = one,
            _ => break,
        }
    }
    at
}

/// Returns the operands of two pure calls that differ in nothing else, side by side.
fn same_call(f: &Functional<'_>, a: NodeId, b: NodeId) -> Option<Vec<(NodeId, NodeId)>> {
    let view = f.view(Side::After);
    let pure = f.registry.operator_of(view, a).is_some_and(|o| o.effects.is_pure());
    let calls = [a, b].iter().all(|n| view.kind(*n) == NodeKind::Call);
    if !pure || !calls || view.target(a) != view.target(b) || view.args(a).len() != view.args(b).len() {
        return None;
    }
    let (named, others) = (view.kwargs(a), view.kwargs(b));
    if named.len() != others.len() || named.iter().zip(others).any(|((p, _), (q, _))| p != q) {
        return None;
    }
    let mut out = Vec::new();
    let given =
        view.args(a).iter().zip(view.args(b)).chain(named.iter().map(|(_, x)| x).zip(others.iter().map(|(_, y)| y)));
    for (x, y) in given {
        match (x, y) {
            (Arg::Node(p), Arg::Node(q)) => out.push((*p, *q)),
            _ if x == y && x.nodes().next().is_none() => {}
            _ => return None,
        }
    }
    Some(out)
}

/// Returns the numbers that an index may be: those of a sum of multiples of places along dimensions of fixed sizes.
fn places(e: &Elements, index: IndexId) -> Option<BTreeSet<i64>> {
    let sum = e.linear(index);
    let mut all = BTreeSet::from([sum.offset().fixed()?]);
    for (place, by) in &sum.terms {
        let (Place::Var(_, size) | Place::Bound(_, size)) = place else { return None };
        let (size, by) = (size.fixed()?, by.fixed()?);
        if all.len().checked_mul(usize::try_from(size).ok()?)? > PLACES {
            return None;
        }
        let mut more = BTreeSet::new();
        for k in 0..size {
            let far = k.checked_mul(by)?;
            for at in &all {
                more.insert(at.checked_add(far)?);
            }
        }
        all = more;
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window<const N: usize>(dims: [std::ops::Range<i64>; N]) -> Window {
        dims.into_iter().map(|places| Some(places.collect())).collect()
    }

    #[test]
    fn windows_are_apart_along_one_dimension() {
        let [a, b, c] = [window([0..2, 0..4]), window([0..2, 4..8]), window([0..2, 3..5])];
        assert!(are_apart(&a, &b) && !are_apart(&a, &c) && !are_apart(&b, &c));
        let any: Window = SmallVec::from_iter([Some((0..2).collect()), None]);
        assert!(!are_apart(&a, &any));
    }

    #[test]
    fn parts_hold_a_window_together_along_one_dimension_alone() {
        let all = window([0..2, 0..8]);
        let [a, b, half] = [window([0..2, 0..4]), window([0..2, 4..8]), window([0..1, 4..8])];
        assert!(are_all(&all, &[&a, &b]) && are_all(&a, &[&a]));
        assert!(!are_all(&all, &[&a]) && !are_all(&all, &[&a, &half]));
    }
}
