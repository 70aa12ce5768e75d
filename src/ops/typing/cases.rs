//! Sizes that may be 1, taken as 1 and as more: how tensors lie often turns on that alone.
//!
//! Promises: an answer that all cases agree on holds for all values of the symbols for which there are elements at all. Each case has an
//! arena of its own, into which what is asked of is brought: the symbols of the graph stay as they are.

use smallvec::SmallVec;

use crate::graph::TensorType;
use crate::ops::typing::sizes::Sizes;
use crate::sym::{Dim, Range, SymValue, Symbols};

/// How many symbols are looked at both ways.
const MOST: u32 = 4;

/// Returns what `ask` says of the tensors and sizes in every case; `None` where it says different things, or nothing.
pub fn agree<T: PartialEq>(
    s: &Symbols,
    tensors: &[&TensorType],
    sizes: &[Dim],
    ask: impl Fn(&mut Symbols, &[TensorType], &[Dim]) -> Option<T>,
) -> Option<T> {
    let ranges = ranges_of(s, tensors);
    let open: SmallVec<[&str; 4]> =
        ranges.iter().filter(|(_, r)| r.contains(1) && r.single().is_none()).map(|(name, _)| &**name).collect();
    let count = u32::try_from(open.len()).ok().filter(|n| *n <= MOST)?;
    let mut said = None;
    for case in 0..1_u32.checked_shl(count)? {
        let is_one = |name: &str| {
            let place = open.iter().position(|n| *n == name).and_then(|i| u32::try_from(i).ok());
            place.is_some_and(|i| case.checked_shr(i).is_some_and(|c| c & 1 == 1))
        };
        let mut own = Symbols::new();
        for (name, range) in &ranges {
            let more = Range { min: Some(2), ..*range };
            own.set_range(name, if open.contains(&name.as_str()) { more } else { *range }).ok()?;
        }
        let mut bring = |dims: &[Dim]| bring(&mut own, s, dims, &is_one);
        let mut brought = Vec::new();
        for t in tensors {
            let strides = t.strides.as_ref().map(|dims| bring(dims));
            let strides = if t.strides.is_some() { Some(strides??) } else { None };
            brought.push(TensorType { sizes: bring(&t.sizes)?, strides, ..(*t).clone() });
        }
        let sizes = bring(sizes)?;
        let answer = ask(&mut own, &brought, &sizes)?;
        if said.as_ref().is_some_and(|other| *other != answer) {
            return None;
        }
        said = Some(answer);
    }
    said
}

/// Symbols that are sizes themselves, with their ranges: each is at least 1 where there are elements.
fn ranges_of(s: &Symbols, tensors: &[&TensorType]) -> Vec<(String, Range)> {
    let mut out: Vec<(String, Range)> = Vec::new();
    for dim in tensors.iter().flat_map(|t| t.sizes.iter()).copied() {
        let names = s.symbols_in(SymValue::Int(dim));
        let [name] = names.as_slice() else { continue };
        if s.find_symbol(name) == Some(dim) && out.iter().all(|(other, _)| other != name) {
            let range = s.range_of(dim);
            out.push((name.clone(), Range { min: Some(range.min.map_or(1, |min| min.max(1))), ..range }));
        }
    }
    out.retain(|(_, range)| !range.is_empty());
    out
}

/// Brings sizes from one arena into another, in which some symbols are 1.
fn bring(own: &mut Symbols, s: &Symbols, dims: &[Dim], is_one: &dyn Fn(&str) -> bool) -> Option<Sizes> {
    let one = |name: &str| is_one(name).then_some(Dim::Fixed(1));
    let mut out = Sizes::new();
    for dim in dims {
        out.push(match dim {
            Dim::Fixed(_) => *dim,
            Dim::Expr(_) => {
                let brought = own.import_dim(s, *dim).ok()?;
                match own.substitute(SymValue::Int(brought), &one).ok()? {
                    SymValue::Int(dim) => dim,
                    SymValue::Float(_) | SymValue::Bool(_) => return None,
                }
            }
        });
    }
    Some(out)
}
