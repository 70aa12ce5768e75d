//! Which elements of sources make an element NaN at a place: which may, and which surely do.
//!
//! Promises: what may is never too little, and what surely does never too much; of what is known of a truth or an index only that counts. Sets that grow too
//! large are those of which nothing is shown.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::rules::definedness::passes_on;
use crate::rules::element::arena::{Elements, Form, Op, SourceId};
use crate::rules::fingerprint::lane::{Lane, Number, Value};
use crate::rules::fingerprint::loops::{Algebra, At, Node};

/// How many elements all sets may have.
const MOST: usize = 20_000_000;

/// A set of elements of sources, in order.
type Set = Rc<[u32]>;

/// An element, and what makes it NaN.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    value: Value,
    may: Set,
    surely: Set,
}

impl Reached {
    /// Whether all that may make this one NaN surely makes another one NaN.
    pub(super) fn is_shown_by(&self, other: &Reached) -> bool {
        let mut all = other.surely.iter();
        self.may.iter().all(|one| all.by_ref().any(|other| other == one))
    }
}

/// Finds what makes elements NaN.
#[derive(Debug)]
pub(super) struct Reach {
    lane: Lane,
    loads: FxHashMap<(SourceId, Vec<(bool, u64)>), u32>,
    none: Set,
    left: usize,
}

impl Reach {
    pub(super) fn new(lane: Lane) -> Self {
        Reach { lane, loads: FxHashMap::default(), none: Rc::from([]), left: MOST }
    }

    /// Whether sets may still grow: else nothing is sure.
    pub(super) fn is_complete(&self) -> bool {
        self.left > 0
    }

    fn union(&mut self, sets: &[Set]) -> Set {
        let mut full = sets.iter().filter(|s| !s.is_empty());
        let (first, second) = (full.next(), full.next());
        if second.is_none() {
            return first.unwrap_or(&self.none).clone();
        }
        let mut all: Vec<u32> = sets.iter().flat_map(|s| s.iter().copied()).collect();
        self.left = self.left.saturating_sub(all.len());
        all.sort_unstable();
        all.dedup();
        all.into()
    }

    fn both(&mut self, a: &Set, b: &Set) -> Set {
        self.left = self.left.saturating_sub(a.len());
        a.iter().copied().filter(|one| b.binary_search(one).is_ok()).collect()
    }

    /// Returns the set of one element of a source, which is empty where it holds no NaN.
    fn load(&mut self, e: &Elements, source: SourceId, at: &[At]) -> Set {
        if e.numbers.contains_key(&source) {
            return self.none.clone();
        }
        let key = |at: &At| match at {
            At::Known(v) => (false, v.cast_unsigned()),
            At::Said(n) => (true, n.v),
        };
        let next = u32::try_from(self.loads.len()).unwrap_or(u32::MAX);
        let number = *self.loads.entry((source, at.iter().map(key).collect())).or_insert(next);
        Rc::from([number])
    }
}

impl Algebra for Reach {
    type Value = Reached;

    fn one(&mut self, e: &Elements, node: &Node, at: &[At], parts: &[Reached], kids: usize) -> Reached {
        let given: Vec<Value> = parts.iter().take(kids).map(|k| k.value).collect();
        let value = self.lane.one(e, node, at, &given, kids);
        let Some(expr) = e.expr(node.id) else {
            return Reached { value: Value::Undefined, may: self.none.clone(), surely: self.none.clone() };
        };
        if let (Form::Op(Op::Choose), [condition, a, b]) = (&expr.form, parts) {
            return match condition.value {
                Value::Known(truth) => Reached { value, ..if truth == 0 { b.clone() } else { a.clone() } },
                _ => {
                    let may = self.union(&[condition.may.clone(), a.may.clone(), b.may.clone()]);
                    Reached { value, may, surely: self.both(&a.surely, &b.surely) }
                }
            };
        }
        let mut may: Vec<Set> = parts.iter().map(|k| k.may.clone()).collect();
        let mut surely: Vec<Set> = Vec::new();
        match &expr.form {
            Form::Load(source, _) if expr.dtype.is_float() => {
                let own = self.load(e, *source, at);
                may.push(own.clone());
                surely.push(own);
            }
            _ if passes_on(e, expr) => surely.extend(parts.iter().map(|k| k.surely.clone())),
            _ => {}
        }
        Reached { value, may: self.union(&may), surely: self.union(&surely) }
    }

    fn folded(&mut self, e: &Elements, node: &Node, parts: &[Reached]) -> Reached {
        let values: Vec<Value> = parts.iter().map(|k| k.value).collect();
        let value = self.lane.folded(e, node, &values);
        let may: Vec<Set> = parts.iter().map(|k| k.may.clone()).collect();
        let surely: Vec<Set> = match e.expr(node.id) {
            Some(expr) if passes_on(e, expr) => parts.iter().map(|k| k.surely.clone()).collect(),
            _ => Vec::new(),
        };
        Reached { value, may: self.union(&may), surely: self.union(&surely) }
    }

    fn place(&mut self, value: &Reached) -> Option<At> {
        self.lane.place(&value.value)
    }

    fn sum(&mut self, terms: &[(At, i64)], offset: i64) -> Option<At> {
        self.lane.sum(terms, offset)
    }

    fn divided(&mut self, over: Number, by: i64, rest: bool) -> Option<At> {
        self.lane.divided(over, by, rest)
    }
}
