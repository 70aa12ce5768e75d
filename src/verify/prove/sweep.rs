//! Which values of two graphs may be one: those of one type that are made of the same inputs.
//!
//! Promises: nothing but an order in which rules are asked, from the inputs on: what is found equal early is not looked into again. The number of
//! pairs is bounded, and so is the part of the graphs that is looked at.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Stamp, place_of, type_of};
use crate::graph::Dtype;
use crate::term::sizes::Dims;
use crate::term::store::ValueId;
use crate::term::term::Form;
use crate::verify::differ::{self, Print, Prints};
use crate::verify::functional::key::Aspect;
use crate::verify::functional::values::Functional;

/// How many values of each side may be looked at.
const VALUES: usize = 2048;
/// How many partners a value may have.
const PARTNERS: usize = 4;
/// How many pairs there may be.
const PAIRS: usize = 400;

/// A type, and which inputs a value is made of.
type Trait = (Dtype, Dims, Vec<u32>);

/// Returns pairs of values below two, those nearest to the inputs first: those that are alike in a run, where the graphs can be run.
pub fn pairs(f: &mut Functional<'_>, a: ValueId, b: ValueId) -> Vec<(ValueId, ValueId)> {
    let mut leaves: FxHashMap<ValueId, u32> = FxHashMap::default();
    let (Some(old), Some(new)) = (traits(f, a, &mut leaves), traits(f, b, &mut leaves)) else { return Vec::new() };
    let common: FxHashSet<ValueId> = old.iter().map(|(id, _)| *id).collect();
    let own: FxHashSet<ValueId> = new.iter().map(|(id, _)| *id).collect();
    let old: Vec<(ValueId, Trait)> = old.into_iter().filter(|(id, _)| !own.contains(id)).collect();
    let new: Vec<(ValueId, Trait)> = new.into_iter().filter(|(id, _)| !common.contains(id)).collect();
    let run = || f.runs.and_then(|r| differ::prints(r.before, r.after, f.registry, r.options)).map(Rc::new);
    let prints = f.prints.clone().unwrap_or_else(run);
    f.prints = Some(prints.clone());
    let mut out = match prints {
        Some(prints) => alike(f, &prints, &old, &new),
        None => of_one_trait(&old, &new),
    };
    out.truncate(PAIRS);
    out
}

/// Whether two values are far apart in the run that pairs were looked for in: what shows them equal is not worth a search.
pub fn are_far(f: &Functional<'_>, a: ValueId, b: ValueId) -> bool {
    let Some(Some(prints)) = &f.prints else { return false };
    print_of(f, prints, a).zip(print_of(f, prints, b)).is_some_and(|(p, q)| p.is_far_from(q))
}

/// Returns the print of a value: of one that was written, what the writer gave.
fn print_of(f: &Functional<'_>, prints: &Prints, id: ValueId) -> Option<Print> {
    let key = f.store.key(id)?;
    let place = match key.stamp {
        Stamp::Birth => key.place,
        Stamp::Write(writer) => {
            let view = f.view(key.side);
            let place = place_of(view, writer);
            let sizes = |place| type_of(view, place).as_tensor().map(|t| &t.sizes);
            (sizes(place)? == sizes(key.place)?).then_some(place)?
        }
        Stamp::Final(_) => return None,
    };
    prints.get(&(key.side, place)).copied()
}

/// Pairs of one type that are made of the same inputs.
fn of_one_trait(old: &[(ValueId, Trait)], new: &[(ValueId, Trait)]) -> Vec<(ValueId, ValueId)> {
    let mut by_trait: FxHashMap<&Trait, Vec<ValueId>> = FxHashMap::default();
    for (id, t) in old {
        by_trait.entry(t).or_default().push(*id);
    }
    let mut out = Vec::new();
    for (id, t) in new {
        let partners = by_trait.get(t).map_or(&[][..], Vec::as_slice);
        // The last ones made of the same inputs are the likeliest.
        out.extend(partners.iter().rev().take(PARTNERS).map(|other| (*other, *id)));
    }
    out
}

/// Pairs of one type that are alike in a run.
fn alike(
    f: &Functional<'_>,
    prints: &Prints,
    old: &[(ValueId, Trait)],
    new: &[(ValueId, Trait)],
) -> Vec<(ValueId, ValueId)> {
    let print = |id: ValueId| print_of(f, prints, id);
    let mut by_type: FxHashMap<(Dtype, &Dims), Vec<(Print, ValueId)>> = FxHashMap::default();
    for (id, (dtype, sizes, _)) in old {
        by_type.entry((*dtype, sizes)).or_default().extend(print(*id).map(|p| (p, *id)));
    }
    by_type.values_mut().for_each(|all| all.sort_by(|(p, _), (q, _)| p.total_cmp(*q)));
    let mut out = Vec::new();
    for (id, (dtype, sizes, _)) in new {
        let (Some(own), Some(all)) = (print(*id), by_type.get(&(*dtype, sizes))) else { continue };
        let first = all.partition_point(|(p, _)| p.is_surely_less(own));
        let near = all.iter().skip(first).take_while(|(p, _)| !own.is_surely_less(*p));
        out.extend(near.filter(|(p, _)| own.is_like(*p)).take(PARTNERS).map(|(_, other)| (*other, *id)));
    }
    out
}

/// Returns the traits of all values below one, children first; `None` where there are too many.
fn traits(
    f: &mut Functional<'_>,
    root: ValueId,
    leaves: &mut FxHashMap<ValueId, u32>,
) -> Option<Vec<(ValueId, Trait)>> {
    let mut made_of: FxHashMap<ValueId, Vec<u32>> = FxHashMap::default();
    let mut out = Vec::new();
    let mut open = vec![(f.store.find(root), false)];
    let mut above: FxHashSet<ValueId> = FxHashSet::default();
    while let Some((id, done)) = open.pop() {
        if made_of.contains_key(&id) || !done && !above.insert(id) {
            continue;
        }
        if made_of.len() >= VALUES {
            return None;
        }
        let children: Vec<ValueId> = f.term(id).map(|t| t.children.to_vec()).unwrap_or_default();
        let children: Vec<ValueId> = children.into_iter().map(|c| f.store.find(c)).collect();
        if !done && !children.is_empty() {
            open.push((id, true));
            open.extend(children.iter().filter(|c| !made_of.contains_key(c)).map(|c| (*c, false)));
            continue;
        }
        let mut of: Vec<u32> = children.iter().filter_map(|c| made_of.get(c)).flatten().copied().collect();
        // What is made of nothing is no input: both sides may make it in their own way.
        let is_input = f.term(id).is_none_or(|t| matches!(*t.form, Form::Leaf(_)));
        if children.is_empty() && is_input {
            let next = u32::try_from(leaves.len()).ok()?;
            of.push(*leaves.entry(id).or_insert(next));
        }
        of.sort_unstable();
        of.dedup();
        made_of.insert(id, of.clone());
        if !children.is_empty()
            && let Some(key) = f.store.key(id).filter(|k| k.aspect == Aspect::Value)
            && let Some(t) = f.tensor(key.side, key.place)
        {
            out.push((id, (t.dtype, t.sizes.clone(), of)));
        }
    }
    Some(out)
}
