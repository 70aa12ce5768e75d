//! What stands below an expression: its parts, all of them, and the reduced dimensions that any of them names.
//!
//! Promises: what is asked of one expression again and again is known from when it was made: parts and names never change.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::rules::element::arena::{Elements, Expr, ExprId, Form};
use crate::rules::element::index::Place;
use crate::sym::Dim;

/// Dimensions that are reduced, by level and size.
pub type Names = SmallVec<[(u32, Dim); 2]>;

/// What is known of an expression since it was made.
#[derive(Clone, Debug, Default)]
pub(super) struct Below {
    parts: SmallVec<[ExprId; 3]>,
    /// Dimensions that are reduced, by level and size; often those of a part.
    names: Rc<[(u32, Dim)]>,
}

impl Elements {
    /// Returns what will be known of an expression.
    pub(super) fn look_below(&self, expr: &Expr) -> Below {
        let parts: SmallVec<[ExprId; 3]> = self.parts(expr).into();
        let own = self.places_of(expr).into_iter().filter_map(|p| match p {
            Place::Bound(level, size) => Some((level, size)),
            _ => None,
        });
        let first = parts.iter().map(|p| self.names_below(*p)).max_by_key(|names| names.len()).unwrap_or_default();
        let mut more: SmallVec<[(u32, Dim); 4]> = SmallVec::new();
        for name in own.chain(parts.iter().flat_map(|p| self.names_below(*p).iter().copied())) {
            if !first.contains(&name) && !more.contains(&name) {
                more.push(name);
            }
        }
        let shared = parts.iter().filter_map(|p| self.known(*p)).find(|known| known.names.len() == first.len());
        let names = match shared {
            Some(known) if more.is_empty() => known.names.clone(),
            _ => first.iter().copied().chain(more).collect(),
        };
        Below { parts, names }
    }

    /// Returns an expression's parts, children and those that stand in indices.
    pub fn parts(&self, expr: &Expr) -> Vec<ExprId> {
        let mut out: Vec<ExprId> = expr.kids.to_vec();
        for index in Self::indices_in(expr) {
            out.extend(self.places_in(index).into_iter().filter_map(|p| match p {
                Place::Data(e) => Some(e),
                _ => None,
            }));
        }
        out
    }

    /// Returns everything below an expression, children first.
    pub fn below(&self, root: ExprId) -> Vec<ExprId> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut open = vec![root];
        while let Some(at) = open.pop() {
            if seen.insert(at)
                && let Some(known) = self.known(at)
            {
                open.extend(&known.parts);
            }
        }
        let mut all: Vec<ExprId> = seen.into_iter().collect();
        all.sort_unstable();
        all
    }

    /// Returns the dimensions that are reduced, by level and size, that an expression names, or anything below it.
    pub fn names_below(&self, root: ExprId) -> &[(u32, Dim)] {
        self.known(root).map_or(&[], |known| &known.names)
    }

    /// Returns, of each of some expressions, children first, the dimensions by level and size that it names and a reduction around it binds.
    pub fn bound_around(&self, order: &[ExprId]) -> FxHashMap<ExprId, Names> {
        let mut out: FxHashMap<ExprId, Names> = FxHashMap::default();
        for id in order {
            let Some(expr) = self.expr(*id) else { continue };
            let own = self.places_of(expr).into_iter().filter_map(|p| match p {
                Place::Bound(level, size) => Some((level, size)),
                _ => None,
            });
            let mut named: Names = own.collect();
            for part in self.parts(expr) {
                named.extend(out.get(&part).into_iter().flatten().copied());
            }
            if let Form::Reduce(_, level, sizes) = &expr.form {
                let end = (*level as usize).saturating_add(sizes.len());
                named.retain(|(l, _)| *l < *level || *l as usize >= end);
            }
            named.sort_unstable_by_key(|(level, _)| *level);
            named.dedup_by_key(|(level, _)| *level);
            out.insert(*id, named);
        }
        out
    }

    /// Returns the places in all indices of an expression, and of those below it.
    pub fn places_below(&self, root: ExprId) -> Vec<Place> {
        let all = self.below(root);
        all.into_iter().filter_map(|id| self.expr(id)).flat_map(|expr| self.places_of(expr)).collect()
    }

    /// Returns the places in an expression's own indices.
    pub fn places_of(&self, expr: &Expr) -> Vec<Place> {
        Self::indices_in(expr).into_iter().flat_map(|i| self.places_in(i)).collect()
    }
}
