//! The store: one hash-consed table of values for both graphs.
//!
//! A value is named by where it was found (a key that the caller chooses) or by its term; its term is found when it is first needed. Values
//! that were shown to be equal are one class (union-find).
//!
//! Promises: (1) one key is one value, one term is one class; (2) classes are joined only for equal terms, compared by
//! their structure: a hash only finds the candidate; (3) [`Store::terms_hashed`] counts the work.

use std::hash::Hash;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::sym::KeyedMap;
use crate::term::term::{Callee, Form, Term, Token};

/// A value of either graph.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ValueId(u32);

impl ValueId {
    fn slot(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug)]
struct Value<K> {
    parent: ValueId,
    key: Option<K>,
    term: Option<Term>,
    /// Whose term that is: of a class whose members are equal over the reals only, one of them.
    owner: ValueId,
    /// Towards the name of what is equal bit by bit.
    exact: ValueId,
    settled: bool,
    /// Whether some of the class are equal over the reals only.
    near: bool,
}

/// All values.
#[derive(Debug)]
pub struct Store<K> {
    values: Vec<Value<K>>,
    keys: KeyedMap<K, ValueId>,
    terms: KeyedMap<Term, ValueId>,
    callees: KeyedMap<Box<str>, Callee>,
    bodies: KeyedMap<Box<[Token]>, u32>,
    terms_hashed: usize,
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Store {
            values: Vec::new(),
            keys: KeyedMap::default(),
            terms: KeyedMap::default(),
            callees: KeyedMap::default(),
            bodies: KeyedMap::default(),
            terms_hashed: 0,
        }
    }
}

impl<K: Copy + Eq + Hash> Store<K> {
    fn push(&mut self, key: Option<K>, term: Option<Term>) -> ValueId {
        let id = ValueId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(Value { parent: id, key, term, owner: id, exact: id, settled: false, near: false });
        id
    }

    /// Returns how many values are kept.
    pub fn kept(&self) -> usize {
        self.values.len()
    }

    /// Returns the number of a target.
    pub fn callee(&mut self, target: &str) -> Callee {
        if let Some(known) = self.callees.get(target) {
            return *known;
        }
        let new = Callee(u32::try_from(self.callees.len()).unwrap_or(u32::MAX));
        self.callees.insert(target.into(), new);
        new
    }

    /// Returns the targets with their numbers.
    pub fn targets(&self) -> impl Iterator<Item = (Callee, &str)> {
        self.callees.iter().map(|(target, callee)| (*callee, &**target))
    }

    /// Returns the number of a sub-graph of that structure.
    pub fn body(&mut self, structure: Vec<Token>) -> u32 {
        let next = u32::try_from(self.bodies.len()).unwrap_or(u32::MAX);
        *self.bodies.entry(structure.into()).or_insert(next)
    }

    /// Returns the value found there; its term is not known yet if it is new.
    pub fn at(&mut self, key: K) -> ValueId {
        if let Some(id) = self.keys.get(&key) {
            return *id;
        }
        let id = self.push(Some(key), None);
        self.keys.insert(key, id);
        id
    }

    /// Returns the value of a term.
    pub fn of_term(&mut self, form: Form, children: impl IntoIterator<Item = ValueId>) -> ValueId {
        let term = self.canonical(Term { form: Arc::new(form), children: children.into_iter().collect() });
        match self.terms.get(&term) {
            Some(id) => {
                let id = *id;
                self.find(id)
            }
            None => {
                let id = self.push(None, Some(term.clone()));
                self.terms.insert(term, id);
                id
            }
        }
    }

    fn canonical(&mut self, term: Term) -> Term {
        self.terms_hashed = self.terms_hashed.saturating_add(1);
        let Term { form, children } = term;
        let mut children: SmallVec<[ValueId; 3]> = children.into_iter().map(|c| self.find(c)).collect();
        if matches!(*form, Form::Call { commutes: true, .. })
            && let [a, b, ..] = children.as_mut_slice()
            && *a > *b
        {
            std::mem::swap(a, b);
        }
        Term { form, children }
    }

    /// Says what the value of `id` is; joins it with the value that has this term already.
    pub fn define(&mut self, id: ValueId, form: Form, children: impl IntoIterator<Item = ValueId>) {
        let term = self.canonical(Term { form: Arc::new(form), children: children.into_iter().collect() });
        let root = self.find(id);
        if let Some(v) = self.values.get_mut(root.slot()) {
            (v.term, v.owner) = (Some(term.clone()), id);
        }
        match self.terms.get(&term) {
            Some(known) => self.union(*known, id),
            None => {
                self.terms.insert(term, id);
            }
        }
    }

    /// Whether a term names a child by what is no longer its class: if not, it is in the table as it stands.
    fn has_moved(&self, term: &Term) -> bool {
        term.children.iter().any(|c| self.values.get(c.slot()).is_some_and(|v| v.parent != *c))
    }

    /// Looks a term up again after those of its children were found; from then on the class is settled.
    pub fn rehash(&mut self, id: ValueId) {
        let root = self.find(id);
        let old = self.values.get(root.slot()).and_then(|v| v.term.as_ref()).filter(|t| self.has_moved(t)).cloned();
        if let Some(old) = old {
            let (term, owner) = (self.canonical(old), self.owner(root));
            match self.terms.get(&term) {
                Some(known) => self.union(*known, owner),
                None => {
                    self.terms.insert(term.clone(), owner);
                    if let Some(v) = self.values.get_mut(root.slot()) {
                        v.term = Some(term);
                    }
                }
            }
        }
        let root = self.find(id);
        if let Some(v) = self.values.get_mut(root.slot()) {
            v.settled = true;
        }
    }

    /// Returns whether everything below a value was found.
    pub fn is_settled(&mut self, id: ValueId) -> bool {
        let root = self.find(id);
        self.values.get(root.slot()).is_some_and(|v| v.settled)
    }

    /// Returns the class of a value.
    pub fn find(&mut self, id: ValueId) -> ValueId {
        let parent_of = |values: &[Value<K>], id: ValueId| values.get(id.slot()).map_or(id, |v| v.parent);
        let mut root = id;
        while parent_of(&self.values, root) != root {
            root = parent_of(&self.values, root);
        }
        let mut at = id;
        while at != root {
            let Some(value) = self.values.get_mut(at.slot()) else { break };
            at = std::mem::replace(&mut value.parent, root);
        }
        root
    }

    /// Joins two values. The caller has shown that they are equal.
    pub fn union(&mut self, a: ValueId, b: ValueId) {
        let (first, second) = (self.exactly(a), self.exactly(b));
        if let Some(value) = self.values.get_mut(first.max(second).slot()) {
            value.exact = first.min(second);
        }
        // The term that the class does not keep is met again in the words of the class: `floor(x)` once it is `x`.
        if let Some((hidden, owner)) = self.join(a, b).filter(|(hidden, _)| self.has_moved(hidden)) {
            let term = self.canonical(hidden);
            self.terms.entry(term).or_insert(owner);
        }
    }

    /// Joins two classes, of which the terms were shown to be equal.
    pub fn union_of_terms(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.owner(a), self.owner(b));
        self.union(a, b);
    }

    /// Returns the name, bit by bit, of the value that is looked at where a class is.
    pub fn shown_of(&mut self, id: ValueId) -> ValueId {
        let owner = self.owner(id);
        self.exactly(owner)
    }

    /// Returns whose term that of a class is.
    fn owner(&mut self, id: ValueId) -> ValueId {
        let root = self.find(id);
        self.values.get(root.slot()).map_or(root, |v| v.owner)
    }

    /// Returns the name of all that is equal to a value bit by bit, if what is equal over the reals only is.
    pub fn exactly(&mut self, id: ValueId) -> ValueId {
        let mut at = id;
        while let Some(next) = self.values.get(at.slot()).map(|v| v.exact).filter(|next| *next != at) {
            let after = self.values.get(next.slot()).map_or(next, |v| v.exact);
            if let Some(value) = self.values.get_mut(at.slot()) {
                value.exact = after;
            }
            at = next;
        }
        at
    }

    /// Makes two classes one; returns the term, and whose it is, that the class does not keep.
    fn join(&mut self, a: ValueId, b: ValueId) -> Option<(Term, ValueId)> {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return None;
        }
        // Terms above a settled class name it as it is: it stays the root.
        let (first, second) = (a.min(b), a.max(b));
        let keeps_second = self.is_settled(second) && !self.is_settled(first);
        let (root, child) = if keeps_second { (second, first) } else { (first, second) };
        let value = self.values.get_mut(child.slot())?;
        value.parent = root;
        let (term, key, owner) = (value.term.clone(), value.key, value.owner);
        let (settled, near) = (value.settled, value.near);
        let value = self.values.get_mut(root.slot())?;
        // Whatever is below either was found: their terms are equal.
        value.settled |= settled;
        value.near |= near;
        // What is an input stays one: it is not what it was found equal to, which may be made of it.
        let is_leaf = |t: &Option<Term>| t.as_ref().is_some_and(|t| matches!(*t.form, Form::Leaf(_) | Form::Input(_)));
        let is_kept = is_leaf(&term) && !is_leaf(&value.term);
        value.key = if is_kept { key.or(value.key) } else { value.key.or(key) };
        if is_kept || value.term.is_none() && term.is_some() {
            let hidden = std::mem::replace(&mut value.term, term);
            hidden.zip(Some(std::mem::replace(&mut value.owner, owner)))
        } else {
            term.zip(Some(owner))
        }
    }

    /// Joins two classes that are equal over the reals only.
    pub fn union_near(&mut self, a: ValueId, b: ValueId) {
        self.join(a, b);
        let root = self.find(a);
        if let Some(value) = self.values.get_mut(root.slot()) {
            value.near = true;
        }
    }

    /// Returns whether some of a value's class are equal over the reals only.
    pub fn is_near(&mut self, id: ValueId) -> bool {
        let root = self.find(id);
        self.values.get(root.slot()).is_some_and(|v| v.near)
    }

    /// Returns the term of a value, if it was found.
    pub fn term(&mut self, id: ValueId) -> Option<&Term> {
        let root = self.find(id);
        self.values.get(root.slot())?.term.as_ref()
    }

    /// Returns where the value was found first; values that are only parts of others have no such place.
    pub fn key(&self, id: ValueId) -> Option<K> {
        self.values.get(id.slot())?.key
    }

    /// Returns how many terms were built and looked up.
    pub fn terms_hashed(&self) -> usize {
        self.terms_hashed
    }
}
