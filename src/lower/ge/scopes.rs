//! Scopes and streams: the attributes that operators made inside a scope get, and the control edges of record and wait.
//!
//! Two rules of TorchAir's that differ on purpose here as there: an operator's stream attribute is the innermost label,
//! but for record and wait the current stream is the *outermost* one.

use std::collections::HashMap;
use std::ops::Range;

use super::proto::{OpDef, Value};

const SUPER_KERNEL: [&str; 2] = ["_super_kernel_scope", "_super_kernel_options"];
/// Scope keys whose text becomes a truth value.
const BOOLEANS: [&str; 2] = ["_op_exec_never_timeout", "_enable_inner_parallel"];

/// The open scopes, outermost first.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    open: Vec<Vec<(String, String)>>,
}

impl Scopes {
    /// Opens a scope. Surplus keys or values are dropped; a repeated key keeps its place and takes the last value.
    pub(super) fn enter(&mut self, keys: &[String], values: &[String]) {
        let mut scope: Vec<(String, String)> = Vec::new();
        for (key, value) in keys.iter().zip(values) {
            match scope.iter_mut().find(|(k, _)| k == key) {
                Some(entry) => entry.1 = value.clone(),
                None => scope.push((key.clone(), value.clone())),
            }
        }
        self.open.push(scope);
    }

    /// Closes the innermost scope; returns whether there was one.
    pub(super) fn exit(&mut self) -> bool {
        self.open.pop().is_some()
    }

    /// Returns how many scopes are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns whether the open scopes have keys, and none but those of super kernels.
    pub(super) fn only_super_kernel(&self) -> bool {
        let mut keys = self.open.iter().flatten().map(|(k, _)| k.as_str()).peekable();
        keys.peek().is_some() && keys.all(|k| SUPER_KERNEL.contains(&k))
    }

    /// Returns the outermost stream label.
    pub(super) fn stream(&self) -> Option<&str> {
        self.open.iter().flatten().find(|(k, _)| k == "_user_stream_label").map(|(_, v)| v.as_str())
    }

    /// Puts the open scopes' attributes on operators: outermost first, so that an inner value wins.
    pub(super) fn apply(&self, ops: &mut [OpDef]) {
        for op in ops {
            for scope in &self.open {
                for (key, value) in scope {
                    if key == "_super_kernel_scope" && value.is_empty() {
                        SUPER_KERNEL.iter().for_each(|k| drop(op.attr.remove(*k)));
                        break;
                    }
                    let value = if BOOLEANS.contains(&key.as_str()) {
                        Value::B(value == "True")
                    } else {
                        Value::S(value.as_bytes().to_vec())
                    };
                    op.attr.insert(key.clone(), value.into());
                }
            }
        }
    }
}

/// What record and wait need to know of each stream.
#[derive(Debug, Default)]
pub(super) struct Streams {
    last: HashMap<Option<String>, usize>,
    waiting: HashMap<Option<String>, Vec<usize>>,
}

impl Streams {
    /// Returns the last operator on the stream.
    pub(super) fn record(&self, stream: Option<&str>) -> Option<usize> {
        self.last.get(&stream.map(str::to_string)).copied()
    }

    /// Lets the next operator on the stream wait for `ops`.
    pub(super) fn wait(&mut self, stream: Option<&str>, ops: impl IntoIterator<Item = usize>) {
        self.waiting.entry(stream.map(str::to_string)).or_default().extend(ops);
    }

    /// Notes the operators that a node made, and puts the edges that wait on the stream on the first that computes.
    ///
    /// TorchAir puts them on the first operator of any kind, which may be a constant that is folded away; its result is
    /// then not ordered at all. On an operator that computes the edge orders what was meant.
    pub(super) fn made(&mut self, stream: Option<&str>, made: Range<usize>, ops: &mut [OpDef]) {
        let Some(last) = made.clone().next_back() else { return };
        let stream = stream.map(str::to_string);
        self.last.insert(stream.clone(), last);
        let Some(first) = made.into_iter().find(|i| ops.get(*i).is_some_and(|op| op.r#type != "Const")) else { return };
        let edges: Vec<String> = self
            .waiting
            .remove(&stream)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|i| ops.get(i).map(|op| format!("{}:-1", op.name)))
            .collect();
        if let Some(op) = ops.get_mut(first) {
            op.input.extend(edges);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(list: &[&[(&str, &str)]]) -> Scopes {
        let mut scopes = Scopes::default();
        for scope in list {
            let (keys, values): (Vec<String>, Vec<String>) =
                scope.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).unzip();
            scopes.enter(&keys, &values);
        }
        scopes
    }

    fn applied(s: &Scopes, key: &str) -> Option<Value> {
        let mut ops = [OpDef::default()];
        s.apply(&mut ops);
        ops[0].attr.get(key).and_then(|a| a.value.clone())
    }

    #[test]
    fn the_attribute_is_the_innermost_label_but_the_stream_the_outermost() {
        let s = scopes(&[&[("_user_stream_label", "a")], &[("_user_stream_label", "b")]]);
        assert_eq!(applied(&s, "_user_stream_label"), Some(Value::S(b"b".to_vec())));
        assert_eq!(s.stream(), Some("a"));
    }

    #[test]
    fn an_empty_super_kernel_scope_takes_its_keys_off() {
        let outer: &[(&str, &str)] = &[("_super_kernel_scope", "sk"), ("_super_kernel_options", "o")];
        assert_eq!(applied(&scopes(&[outer]), "_super_kernel_options"), Some(Value::S(b"o".to_vec())));
        let inner: &[(&str, &str)] = &[("_super_kernel_scope", ""), ("_super_kernel_options", "")];
        assert_eq!(applied(&scopes(&[outer, inner]), "_super_kernel_options"), None);
    }

    #[test]
    fn two_keys_become_truth_values() {
        let s = scopes(&[&[("_op_exec_never_timeout", "True"), ("_enable_inner_parallel", "true")]]);
        assert_eq!(applied(&s, "_op_exec_never_timeout"), Some(Value::B(true)));
        assert_eq!(applied(&s, "_enable_inner_parallel"), Some(Value::B(false)));
    }

    #[test]
    fn views_are_put_off_only_in_super_kernel_scopes() {
        assert!(scopes(&[&[("_super_kernel_scope", "a")]]).only_super_kernel());
        assert!(!scopes(&[&[("_super_kernel_scope", "a"), ("_op_aicore_num", "1")]]).only_super_kernel());
        assert!(!scopes(&[&[]]).only_super_kernel());
    }

    fn named(kinds: &[&str]) -> Vec<OpDef> {
        kinds.iter().map(|k| OpDef { name: (*k).into(), r#type: (*k).into(), ..Default::default() }).collect()
    }

    #[test]
    fn a_wait_is_for_the_next_operator_that_computes() {
        let mut ops = named(&["MatMul", "Const", "Add", "Sub"]);
        let mut s = Streams::default();
        s.made(Some("s1"), 0..1, &mut ops);
        let recorded = s.record(Some("s1"));
        assert_eq!((recorded, s.record(None)), (Some(0), None));
        s.wait(None, recorded);
        s.made(None, 1..3, &mut ops);
        s.made(None, 3..4, &mut ops);
        assert_eq!(ops[2].input, ["MatMul:-1"]);
        assert!(ops[1].input.is_empty() && ops[3].input.is_empty());
    }
}
