//! Names of nodes: unique in their body, made as FX makes them.

use rustc_hash::FxHashMap;

use super::{BodyId, Interner, NodeId, StrId};

/// The names of all bodies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) nodes: FxHashMap<(BodyId, StrId), NodeId>,
    /// The last number tried for a base name: keeps naming linear.
    pub(crate) counters: FxHashMap<(BodyId, StrId), u32>,
}

impl Names {
    /// Returns a free name made of `wanted`, and the base whose counter moved.
    pub(crate) fn free(&self, body: BodyId, wanted: &str, texts: &mut Interner) -> (StrId, StrId, u32) {
        let clean = legal(wanted);
        let (stem, number) = split_number(&clean);
        let base = texts.intern(stem);
        let mut count = self.counters.get(&(body, base)).copied().unwrap_or(0).max(number.unwrap_or(0));
        let id = texts.intern(&clean);
        if !self.nodes.contains_key(&(body, id)) && !is_reserved(&clean) {
            return (id, base, count);
        }
        loop {
            count = count.saturating_add(1);
            let id = texts.intern(&format!("{stem}_{count}"));
            if !self.nodes.contains_key(&(body, id)) {
                return (id, base, count);
            }
        }
    }
}

/// Replaces what Python does not allow in a name, as FX does.
fn legal(wanted: &str) -> String {
    let mut clean: String =
        wanted.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if clean.is_empty() || clean.starts_with(|c: char| c.is_ascii_digit()) {
        clean.insert(0, '_');
    }
    clean
}

/// Splits `mm_3` into `mm` and 3.
fn split_number(name: &str) -> (&str, Option<u32>) {
    match name.rsplit_once('_') {
        Some((stem, digits))
            if !stem.is_empty() && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
        {
            (stem, digits.parse().ok())
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
            names.nodes.insert((BodyId::ROOT, id), NodeId { index: 0, generation: 0 });
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
}
