//! Which terms are looked into: those of two values down to what both have in common.
//!
//! Promises: a breadth-first search from both, bounded; a value that both reach is not looked into (unless asked for, or made of no input, as a
//! causal mask is), nor is one beyond the bound: it stands for itself. What is shown of values that stand for themselves holds for what they are.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::term::store::ValueId;
use crate::term::term::{Form, Term};
use crate::verify::functional::values::Functional;

/// Terms to look into.
pub struct Region {
    /// Terms by class. What is not here stands for itself.
    pub terms: FxHashMap<ValueId, Term>,
    /// Whether it ends at some view.
    pub ends_at_view: bool,
}

/// Where a region ends, its size aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// At what both values have in common.
    Common,
    /// There, but for views: one value may read what the other has a view of.
    CommonButViews,
    /// Nowhere.
    Nowhere,
}

/// The ends that are tried, in order.
pub const ENDS: [Ends; 3] = [Ends::Common, Ends::CommonButViews, Ends::Nowhere];

/// Finds the terms of a region.
pub fn region(f: &mut Functional<'_>, a: ValueId, b: ValueId, limit: usize, ends: Ends) -> Region {
    let (a, b) = (f.store.find(a), f.store.find(b));
    let mut reached: FxHashMap<ValueId, u8> = FxHashMap::default();
    let mut terms: FxHashMap<ValueId, Term> = FxHashMap::default();
    let mut open: VecDeque<(ValueId, u8)> = VecDeque::from([(a, 1), (b, 2)]);
    let mut ends_at_view = false;
    while let Some((id, side)) = open.pop_front() {
        let Some(term) = f.term(id) else { continue };
        let id = f.store.find(id);
        let marks = reached.entry(id).or_insert(0);
        if *marks & side != 0 {
            continue;
        }
        *marks |= side;
        let common = *marks == 3 && id != a && id != b;
        let is_view = matches!(*term.form, Form::View { .. });
        let is_end = ends == Ends::Common || ends == Ends::CommonButViews && !is_view;
        if is_end && common && !is_made_of_nothing(f, id) {
            ends_at_view |= is_view;
            terms.remove(&id);
            continue;
        }
        if terms.len() >= limit {
            break;
        }
        for child in &term.children {
            open.push_back((f.store.find(*child), side));
        }
        terms.insert(id, term);
    }
    Region { terms, ends_at_view }
}

/// How many terms something may have that is made of no input.
const CONSTANT: usize = 12;

/// Whether a value is made of few terms and of no input: what it is says more than that it is the same.
pub(super) fn is_made_of_nothing(f: &mut Functional<'_>, id: ValueId) -> bool {
    let (mut open, mut seen) = (vec![id], FxHashSet::default());
    while let Some(id) = open.pop() {
        if !seen.insert(f.store.find(id)) {
            continue;
        }
        let Some(term) = f.term(id).filter(|_| seen.len() <= CONSTANT) else { return false };
        if matches!(*term.form, Form::Leaf(_) | Form::Input(_)) {
            return false;
        }
        open.extend(term.children.iter().copied());
    }
    true
}
