//! Names of nodes: unique in their body, made as FX makes them.
//!
//! Promises: a free name is found in logarithmic time (amortised over the names that are taken), whatever numbers names end in.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{BodyId, Interner, NodeId, StrId};

/// A number that a name may end in and still be counted on from: what is larger is no number of ours.
const MAX_NUMBER: u64 = 1 << 62;

/// The names of all bodies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    nodes: FxHashMap<(BodyId, StrId), NodeId>,
    /// The last number tried for a base name: keeps naming linear.
    pub(crate) counters: FxHashMap<(BodyId, StrId), u64>,
    /// Numbers of a base name that were found taken, as runs from a first to a last, so that none is tried twice.
    runs: FxHashMap<(BodyId, StrId), BTreeMap<u64, u64>>,
}

impl Names {
    /// Returns the node of that name.
    pub(crate) fn get(&self, body: BodyId, name: StrId) -> Option<NodeId> {
        self.nodes.get(&(body, name)).copied()
    }

    pub(crate) fn is_taken(&self, body: BodyId, name: StrId) -> bool {
        self.nodes.contains_key(&(body, name))
    }

    pub(crate) fn put(&mut self, body: BodyId, name: StrId, node: NodeId) {
        self.nodes.insert((body, name), node);
    }

    /// Makes a name free again.
    pub(crate) fn give_back(&mut self, body: BodyId, name: StrId, texts: &Interner) {
        self.nodes.remove(&(body, name));
        if !self.runs.is_empty()
            && let Some(base) = texts.find(split_number(texts.text(name)).0)
        {
            self.runs.remove(&(body, base));
        }
    }

    /// Returns every name of a body.
    pub(crate) fn of(&self, body: BodyId) -> impl Iterator<Item = (StrId, NodeId)> {
        self.nodes.iter().filter(move |((b, _), _)| *b == body).map(|((_, name), id)| (*name, *id))
    }

    /// Returns a free name made of `wanted`, and the base whose counter moved.
    pub(crate) fn free(&mut self, body: BodyId, wanted: &str, texts: &mut Interner) -> (StrId, StrId, u64) {
        let clean = legal(wanted);
        let (stem, number) = split_number(&clean);
        let base = texts.intern(stem);
        let count = self.counters.get(&(body, base)).copied().unwrap_or(0).max(number.unwrap_or(0));
        let id = texts.intern(&clean);
        if !self.is_taken(body, id) && !is_reserved(&clean) {
            return (id, base, count);
        }
        let runs = self.runs.entry((body, base)).or_default();
        let first = count.saturating_add(1);
        let mut next = first;
        loop {
            // What lies in a run that is known is passed over in one step.
            if let Some((_, last)) = runs.range(..=next).next_back().filter(|(_, last)| **last >= next) {
                next = last.saturating_add(1);
                continue;
            }
            let name = format!("{stem}_{next}");
            if texts.find(&name).is_none_or(|id| !self.nodes.contains_key(&(body, id))) {
                let id = texts.intern(&name);
                note_run(runs, first, next);
                return (id, base, next);
            }
            next = next.saturating_add(1);
        }
    }
}

/// Notes that numbers from `first` up to `end`, which is not one of them, are taken.
fn note_run(runs: &mut BTreeMap<u64, u64>, first: u64, end: u64) {
    let Some(last) = end.checked_sub(1).filter(|last| *last >= first) else { return };
    let start = match runs.range(..=first).next_back() {
        Some((start, old)) if old.saturating_add(1) >= first => *start,
        _ => first,
    };
    let within: Vec<u64> = runs.range(first..=last).map(|(start, _)| *start).collect();
    for start in within {
        runs.remove(&start);
    }
    runs.insert(start, last);
}

/// Replaces what Python does not allow in a name, as FX does.
fn legal(wanted: &str) -> Cow<'_, str> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = |text: &str| !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit());
    if begins(wanted) && wanted.chars().all(is_legal) {
        return Cow::Borrowed(wanted);
    }
    let mut clean: String = wanted.chars().map(|c| if is_legal(c) { c } else { '_' }).collect();
    if !begins(&clean) {
        clean.insert(0, '_');
    }
    Cow::Owned(clean)
}

/// Splits `mm_3` into `mm` and 3.
fn split_number(name: &str) -> (&str, Option<u64>) {
    match name.rsplit_once('_') {
        Some((stem, digits))
            if !stem.is_empty() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
        {
            (stem, digits.parse().ok().filter(|n| *n <= MAX_NUMBER))
        }
        _ => (name, None),
    }
}

/// Python keywords and builtins that FX does not give to a node.
fn is_reserved(name: &str) -> bool {
    const RESERVED: &[&str] = &[
        "False",
        "None",
        "True",
        "abs",
        "all",
        "and",
        "any",
        "as",
        "ascii",
        "assert",
        "async",
        "await",
        "bin",
        "bool",
        "break",
        "bytes",
        "callable",
        "chr",
        "class",
        "compile",
        "complex",
        "continue",
        "def",
        "del",
        "delattr",
        "device",
        "dict",
        "dir",
        "divmod",
        "elif",
        "else",
        "enumerate",
        "eval",
        "except",
        "exec",
        "exit",
        "filter",
        "finally",
        "float",
        "for",
        "format",
        "from",
        "frozenset",
        "getattr",
        "global",
        "globals",
        "hasattr",
        "hash",
        "help",
        "hex",
        "id",
        "if",
        "import",
        "in",
        "inf",
        "input",
        "int",
        "is",
        "isinstance",
        "issubclass",
        "iter",
        "lambda",
        "len",
        "list",
        "locals",
        "map",
        "max",
        "memoryview",
        "min",
        "nan",
        "next",
        "nonlocal",
        "not",
        "object",
        "oct",
        "open",
        "or",
        "ord",
        "pass",
        "pow",
        "print",
        "property",
        "quit",
        "raise",
        "range",
        "repr",
        "return",
        "reversed",
        "round",
        "set",
        "setattr",
        "slice",
        "sorted",
        "staticmethod",
        "str",
        "sum",
        "super",
        "torch",
        "try",
        "tuple",
        "type",
        "vars",
        "while",
        "with",
        "yield",
        "zip",
    ];
    RESERVED.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_as_fx_makes_them() {
        let (mut texts, mut names) = (Interner::default(), Names::default());
        let mut take = |wanted: &str| {
            let (id, base, count) = names.free(BodyId::ROOT, wanted, &mut texts);
            names.put(BodyId::ROOT, id, NodeId { index: 0, generation: 0 });
            names.counters.insert((BodyId::ROOT, base), count);
            texts.text(id).to_string()
        };
        assert_eq!(take("mm"), "mm");
        assert_eq!(take("mm"), "mm_1");
        assert_eq!(take("abs"), "abs_1");
        assert_eq!(take("a.b"), "a_b");
        assert_eq!(take("mm_7"), "mm_7");
        assert_eq!(take("mm"), "mm_8");
    }

    #[test]
    fn a_name_that_ends_in_a_large_number_is_counted_on_from_or_not_at_all() {
        let (mut texts, mut names) = (Interner::default(), Names::default());
        let mut take = |wanted: &str| {
            let (id, base, count) = names.free(BodyId::ROOT, wanted, &mut texts);
            assert!(!names.is_taken(BodyId::ROOT, id));
            names.put(BodyId::ROOT, id, NodeId { index: 0, generation: 0 });
            names.counters.insert((BodyId::ROOT, base), count);
            texts.text(id).to_string()
        };
        assert_eq!(take("mm_4294967295"), "mm_4294967295");
        assert_eq!(take("mm_4294967295"), "mm_4294967296");
        for number in ["4611686018427387904", "9223372036854775807", "18446744073709551615", "99999999999999999999999"]
        {
            let wanted = format!("x_{number}");
            assert_eq!(take(&wanted), wanted);
            assert_ne!(take(&wanted), wanted);
            assert!(take("x").starts_with('x'));
        }
    }

    #[test]
    fn a_number_that_was_found_taken_is_tried_once() {
        let (mut texts, mut names) = (Interner::default(), Names::default());
        let node = NodeId { index: 0, generation: 0 };
        for i in 1..=20_000 {
            let id = texts.intern(&format!("n_{i}"));
            names.put(BodyId::ROOT, id, node);
        }
        // No counter moves, as where a file is read: quadratic if each began anew.
        for i in 1..=20_000 {
            let (id, ..) = names.free(BodyId::ROOT, &format!("n_{i}"), &mut texts);
            assert_eq!(texts.text(id), format!("n_{}", 20_000 + i));
            names.put(BodyId::ROOT, id, node);
        }
        let seven = texts.intern("n_7");
        names.give_back(BodyId::ROOT, seven, &texts);
        let (id, ..) = names.free(BodyId::ROOT, "n_2", &mut texts);
        assert_eq!(texts.text(id), "n_7");
    }
}
