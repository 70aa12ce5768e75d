//! Scopes and streams: the attributes that operators made inside a scope get, and the control edges of record and wait.
//!
//! Scopes themselves are read by `analysis::streams`, which says of which label what is: an operator's stream attribute is the
//! innermost one, but for record and wait the current stream is the *outermost* one.

use std::collections::HashMap;
use std::ops::Range;

use crate::analysis::streams::{Scopes, StreamId};

use super::draft::{Op, Source};
use super::proto::Value;

const SUPER_KERNEL: [&str; 2] = ["_super_kernel_scope", "_super_kernel_options"];
/// Scope keys whose text becomes a truth value.
const BOOLEANS: [&str; 2] = ["_op_exec_never_timeout", "_enable_inner_parallel"];

/// Returns whether the open scopes have keys, and none but those of super kernels.
pub(super) fn only_super_kernel(scopes: &Scopes) -> bool {
    let mut keys = scopes.open.iter().flat_map(|s| &s.pairs).map(|(k, _)| &**k).peekable();
    keys.peek().is_some() && keys.all(|k| SUPER_KERNEL.contains(&k))
}

/// Puts the open scopes' attributes on operators: outermost first, so that an inner value wins.
pub(super) fn apply(scopes: &Scopes, ops: &mut [Op]) {
    if scopes.open.is_empty() {
        return;
    }
    for op in ops {
        for scope in &scopes.open {
            for (key, value) in &scope.pairs {
                if &**key == "_super_kernel_scope" && value.is_empty() {
                    SUPER_KERNEL.iter().for_each(|k| op.attrs.remove(k));
                    break;
                }
                let value = if BOOLEANS.contains(&&**key) {
                    Value::B(&**value == "True")
                } else {
                    Value::S(value.as_bytes().to_vec())
                };
                op.attrs.insert(key.to_string(), value);
            }
        }
    }
}

/// What record and wait need to know of each stream.
#[derive(Debug, Default)]
pub(super) struct Edges {
    last: HashMap<StreamId, usize>,
    waiting: HashMap<StreamId, Vec<usize>>,
}

impl Edges {
    /// Returns the last operator on the stream.
    pub(super) fn record(&self, stream: StreamId) -> Option<usize> {
        self.last.get(&stream).copied()
    }

    /// Lets the next operator on the stream wait for `ops`.
    pub(super) fn wait(&mut self, stream: StreamId, ops: impl IntoIterator<Item = usize>) {
        self.waiting.entry(stream).or_default().extend(ops);
    }

    /// Notes the operators that a node made, and puts the edges that wait on the stream on the first that computes.
    ///
    /// TorchAir puts them on the first operator of any kind, which may be a constant that is folded away; its result is
    /// then not ordered at all. On an operator that computes the edge orders what was meant.
    pub(super) fn made(&mut self, stream: StreamId, made: Range<usize>, ops: &mut [Op]) {
        let Some(last) = made.clone().next_back() else { return };
        self.last.insert(stream, last);
        let Some(first) = made.into_iter().find(|i| ops.get(*i).is_some_and(|op| !matches!(op.kind, "Const" | "Data")))
        else {
            return;
        };
        let Some(edges) = self.waiting.remove(&stream) else { return };
        if let Some(op) = ops.get_mut(first) {
            op.inputs.extend(edges.into_iter().map(Source::Control));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Arg, BodyId, Graph, NewNode, NodeKind, ValueType};

    fn scopes(list: &[&[(&str, &str)]]) -> Scopes {
        let mut g = Graph::new();
        let mut scopes = Scopes::default();
        for (number, scope) in list.iter().enumerate() {
            let args = [Arg::list(scope.iter().map(|(k, _)| *k)), Arg::list(scope.iter().map(|(_, v)| *v))];
            let target = g.texts.intern("air.scope_enter.default");
            let new = NewNode {
                kind: NodeKind::Call,
                target,
                args: args.into(),
                kwargs: Box::default(),
                ty: ValueType::None,
            };
            let node = g.push(BodyId::ROOT, &format!("e{number}"), new);
            scopes.read(&g, node);
        }
        scopes
    }

    fn applied(s: &Scopes, key: &str) -> Option<Value> {
        let mut ops = named(&["Add"]);
        apply(s, &mut ops);
        ops[0].attrs.get(key).and_then(|a| a.value.clone())
    }

    #[test]
    fn the_attribute_is_the_innermost_label_but_the_stream_the_outermost() {
        let s = scopes(&[&[("_user_stream_label", "a")], &[("_user_stream_label", "b")]]);
        assert_eq!(applied(&s, "_user_stream_label"), Some(Value::S(b"b".to_vec())));
        assert_eq!(s.label(s.outer()), Some("a"));
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
        assert!(only_super_kernel(&scopes(&[&[("_super_kernel_scope", "a")]])));
        assert!(!only_super_kernel(&scopes(&[&[("_super_kernel_scope", "a"), ("_op_aicore_num", "1")]])));
        assert!(!only_super_kernel(&scopes(&[&[]])));
    }

    fn named(kinds: &[&'static str]) -> Vec<Op> {
        kinds.iter().map(|k| Op::new((*k).into(), k)).collect()
    }

    #[test]
    fn a_wait_is_for_the_next_operator_that_computes() {
        let mut ops = named(&["MatMul", "Const", "Add", "Sub"]);
        let mut s = Edges::default();
        s.made(StreamId(1), 0..1, &mut ops);
        let recorded = s.record(StreamId(1));
        assert_eq!((recorded, s.record(StreamId::MAIN)), (Some(0), None));
        s.wait(StreamId::MAIN, recorded);
        s.made(StreamId::MAIN, 1..3, &mut ops);
        s.made(StreamId::MAIN, 3..4, &mut ops);
        assert_eq!(ops[2].inputs.as_slice(), [Source::Control(0)]);
        assert!(ops[1].inputs.is_empty() && ops[3].inputs.is_empty());
    }
}
