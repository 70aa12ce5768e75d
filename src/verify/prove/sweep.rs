//! Which values of two graphs may be one: those of one type that are made of the same inputs.
//!
//! Promises: nothing but an order in which rules are asked, from the inputs on: what is found equal early is not looked into again. The number of
//! pairs is bounded, and so is the part of the graphs that is looked at.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::Dtype;
use crate::term::sizes::Dims;
use crate::term::store::ValueId;
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

/// Returns pairs of values below two, those nearest to the inputs first.
pub fn pairs(f: &mut Functional<'_>, a: ValueId, b: ValueId) -> Vec<(ValueId, ValueId)> {
    let mut leaves: FxHashMap<ValueId, u32> = FxHashMap::default();
    let (Some(old), Some(new)) = (traits(f, a, &mut leaves), traits(f, b, &mut leaves)) else { return Vec::new() };
    let common: FxHashSet<ValueId> = old.iter().map(|(id, _)| *id).collect();
    let mut by_trait: FxHashMap<&Trait, Vec<ValueId>> = FxHashMap::default();
    let own: FxHashSet<ValueId> = new.iter().map(|(id, _)| *id).collect();
    for (id, t) in old.iter().filter(|(id, _)| !own.contains(id)) {
        by_trait.entry(t).or_default().push(*id);
    }
    let mut out = Vec::new();
    for (id, t) in new.iter().filter(|(id, _)| !common.contains(id)) {
        let partners = by_trait.get(t).map_or(&[][..], Vec::as_slice);
        // The last ones made of the same inputs are the likeliest.
        out.extend(partners.iter().rev().take(PARTNERS).map(|other| (*other, *id)));
    }
    out.truncate(PAIRS);
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
        if children.is_empty() {
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
