//! Which terms are looked into: those of two values down to what both have in common.
//!
//! Promises: a breadth-first search from both, bounded; a value that both reach is not looked into (unless asked for, or made of no input, as a
//! causal mask is), nor is one beyond the bound: it stands for itself. What is shown of values that stand for themselves holds for what they are.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::{Dtype, ValueType};
use crate::term::store::ValueId;
use crate::term::term::{Form, Term, Token};
use crate::verify::functional::values::Functional;

/// Terms to look into.
pub struct Region {
    /// Terms by class. What is not here stands for itself.
    pub terms: FxHashMap<ValueId, Term>,
}

/// Finds the terms of a region. `cuts`: what both values have in common is not looked into.
///
/// Nor is a class of which some are equal over the reals only, where a step is taken of it: it is none of its values there.
pub fn region(f: &mut Functional<'_>, a: ValueId, b: ValueId, limit: usize, cuts: bool) -> Region {
    let all = reach(f, [a, b], limit, [cuts, false]);
    if is_near_below_a_step(f, &all.terms) { reach(f, [a, b], limit, [cuts, true]) } else { all }
}

/// Finds terms from two values on. `cuts`: neither what both have in common nor what is equal over the reals only is looked into.
fn reach(f: &mut Functional<'_>, [a, b]: [ValueId; 2], limit: usize, [cuts, cuts_near]: [bool; 2]) -> Region {
    let (a, b) = (f.store.find(a), f.store.find(b));
    let mut reached: FxHashMap<ValueId, u8> = FxHashMap::default();
    let mut terms: FxHashMap<ValueId, Term> = FxHashMap::default();
    let mut open: VecDeque<(ValueId, u8)> = VecDeque::from([(a, 1), (b, 2)]);
    while let Some((id, side)) = open.pop_front() {
        if cuts_near && f.store.is_near(id) {
            continue;
        }
        let Some(term) = f.term(id) else { continue };
        let id = f.store.find(id);
        let marks = reached.entry(id).or_insert(0);
        if *marks & side != 0 {
            continue;
        }
        *marks |= side;
        let common = *marks == 3 && id != a && id != b;
        if cuts && common && !is_made_of_nothing(f, id) {
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
    Region { terms }
}

/// Whether some of these terms are of a class of which some are equal over the reals only, and below a step.
fn is_near_below_a_step(f: &mut Functional<'_>, terms: &FxHashMap<ValueId, Term>) -> bool {
    if !terms.keys().any(|id| f.store.is_near(*id)) {
        return false;
    }
    let mut open: Vec<ValueId> = Vec::new();
    for (id, term) in terms {
        if is_step(f, *id, term) {
            open.extend(term.children.iter().copied());
        }
    }
    let mut seen = FxHashSet::default();
    while let Some(id) = open.pop() {
        let id = f.store.find(id);
        let Some(term) = terms.get(&id).filter(|_| seen.insert(id)) else { continue };
        if f.store.is_near(id) {
            return true;
        }
        open.extend(term.children.iter().copied());
    }
    false
}

/// Whether a term may tell real numbers apart that are near each other. Comparisons with an infinite number do not.
fn is_step(f: &mut Functional<'_>, id: ValueId, term: &Term) -> bool {
    let (callee, tokens) = match &*term.form {
        Form::Call { callee, tokens, .. } | Form::Written { callee, tokens, .. } => (*callee, tokens),
        Form::Cast(dtype) => return !dtype.is_float(),
        Form::Of(..) => return true,
        _ => return false,
    };
    let Some(key) = f.store.key(id) else { return true };
    let ty = f.view(key.side).ty(key.place.node);
    let is_real = |ty: &ValueType| matches!(ty, ValueType::Tensor(t) if t.dtype.is_float());
    let gives_reals = match ty {
        ValueType::Many(all) => all.iter().all(is_real),
        one => is_real(one),
    };
    let infinite = |t: &Token| matches!(t, Token::Float(bits) if f64::from_bits(*bits).is_infinite());
    let gives_truths = matches!(ty, ValueType::Tensor(t) if t.dtype == Dtype::Bool);
    if gives_truths && tokens.iter().any(infinite) {
        return false;
    }
    let target = f.store.targets().find(|(known, _)| *known == callee).map(|(_, target)| target);
    !gives_reals || target.and_then(|t| f.registry.get(t)).is_none_or(|o| o.facts.discrete)
}

/// How many terms something may have that is made of no input.
const CONSTANT: usize = 12;

/// Whether a value is made of few terms and of no input: what it is says more than that it is the same.
fn is_made_of_nothing(f: &mut Functional<'_>, id: ValueId) -> bool {
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
