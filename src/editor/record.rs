//! The edits that were made, in order, each as one JSON object: for people, and to compare passes with each other.
//!
//! Nodes are named, by what they were called when the edit was made; ids do not appear. Where a node was put is the node
//! that it stands before, however the place was given. A batch is its single edits; what was taken back because the
//! batch was refused is not there. An edit that was refused is no edit.

use serde_json::{Map, Value, json};

use crate::graph::{Arg, Graph, NodeId, View};

/// Edits so far; nothing while nobody asked for them.
#[derive(Debug, Default)]
pub(super) struct Record {
    lines: Option<Vec<Value>>,
}

impl Record {
    pub(super) fn begin(&mut self) {
        self.lines = Some(Vec::new());
    }

    pub(super) fn take(&mut self) -> Vec<Value> {
        self.lines.take().unwrap_or_default()
    }

    /// Adds an edit; `line` is asked for only where edits are recorded.
    pub(super) fn push(&mut self, line: impl FnOnce() -> Value) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.as_ref().map_or(0, Vec::len)
    }

    /// Forgets the edits from there on.
    pub(super) fn truncate(&mut self, len: usize) {
        if let Some(lines) = &mut self.lines {
            lines.truncate(len);
        }
    }
}

/// `edit` of a node: both, and the graph in which it is.
pub(super) fn line(graph: &Graph, edit: &str, node: NodeId) -> Map<String, Value> {
    let mut line = Map::new();
    line.insert("edit".into(), edit.into());
    line.insert("graph".into(), graph.place(node).map(|(body, _)| body.0).into());
    line.insert("node".into(), graph.name(node).into());
    line
}

/// The node that this one stands before.
pub(super) fn place(graph: &Graph, line: &mut Map<String, Value>, node: NodeId) {
    line.insert("before".into(), graph.next(node).map(|next| graph.name(next)).into());
}

/// The arguments that the node has.
pub(super) fn arguments(graph: &Graph, line: &mut Map<String, Value>, node: NodeId) {
    let args: Vec<Value> = graph.args(node).iter().map(|arg| argument(graph, arg)).collect();
    let kwargs: Map<String, Value> =
        graph.kwargs(node).iter().map(|(key, arg)| (graph.texts.text(*key).to_owned(), argument(graph, arg))).collect();
    line.insert("args".into(), args.into());
    line.insert("kwargs".into(), kwargs.into());
}

/// Numbers, texts, truth values and lists are JSON's own; whatever else is an object that says what it is. Nesting is
/// bounded by [`Arg::MAX_DEPTH`].
fn argument(graph: &Graph, arg: &Arg) -> Value {
    let items = |items: &[Arg]| items.iter().map(|item| argument(graph, item)).collect::<Vec<Value>>();
    match arg {
        Arg::None => Value::Null,
        Arg::Node(node) => json!({ "node": graph.name(*node) }),
        Arg::Int(value) => (*value).into(),
        Arg::Float(value) => float(*value),
        Arg::Complex(re, im) => json!({ "complex": [float(*re), float(*im)] }),
        Arg::Bool(value) => (*value).into(),
        Arg::Str(text) => (**text).into(),
        Arg::Dtype(dtype) => json!({ "dtype": dtype.long() }),
        Arg::Device(device) => json!({ "device": device.to_string() }),
        Arg::Layout(layout) => json!({ "layout": layout.name() }),
        Arg::MemoryFormat(format) => json!({ "memory_format": format.name() }),
        Arg::Operator(target) => json!({ "operator": **target }),
        Arg::List(list) => items(list).into(),
        Arg::Tuple(tuple) => json!({ "tuple": items(tuple) }),
        Arg::Dict(entries) => {
            let entries: Map<String, Value> =
                entries.iter().map(|(key, arg)| (key.to_string(), argument(graph, arg))).collect();
            json!({ "dict": entries })
        }
        Arg::Other(text) => json!({ "other": **text }),
    }
}

/// JSON has no names for what is no number.
fn float(value: f64) -> Value {
    match value.is_finite() {
        true => value.into(),
        false => json!({ "float": value.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Edit, Editor, NewCall, Point};
    use super::*;
    use crate::graph::{BodyId, Device, Dtype, NewNode, NodeKind, TensorType, ValueType};
    use crate::ops::Registry;
    use crate::sym::Dim;

    /// `x`, `add = x + x`, `return (add,)`; with `x` and `add`.
    fn editor() -> (Editor, NodeId, NodeId) {
        let mut g = Graph::new();
        let ty = ValueType::tensor(TensorType::new(Dtype::F32, [Dim::Fixed(2)], Device::cpu()));
        let mut push = |kind, name: &str, target: &str, args: &[Arg], ty: &ValueType| {
            let target = g.texts.intern(target);
            let row = NewNode { kind, target, args: args.into(), kwargs: Box::default(), ty: ty.clone() };
            g.push(BodyId::ROOT, name, row)
        };
        let x = push(NodeKind::Placeholder, "x", "x", &[], &ty);
        let add = push(NodeKind::Call, "add", "aten.add.Tensor", &[x.into(), x.into()], &ty);
        let returned = Arg::Tuple(Box::new([add.into()]));
        push(NodeKind::Output, "output", "output", &[returned], &ValueType::Unknown);
        let mut editor = Editor::new(g, Arc::new(Registry::standard()));
        editor.record_edits();
        (editor, x, add)
    }

    fn mul(x: NodeId, scale: f64) -> NewCall {
        NewCall { target: "aten.mul.Tensor".into(), args: vec![x.into(), Arg::Float(scale)], ..NewCall::default() }
    }

    #[test]
    fn every_edit_is_a_line_in_the_order_in_which_they_were_made() {
        let (mut editor, x, add) = editor();
        let mul = editor.insert(Point::After(add), mul(x, f64::INFINITY)).unwrap();
        editor.replace_uses(add, mul, None).unwrap();
        editor.set_target(mul, "aten.div.Tensor").unwrap();
        editor.move_node(mul, Point::Before(add)).unwrap();
        editor.annotate(mul, "why", Some("because")).unwrap();
        editor.erase(add).unwrap();
        let lines: Vec<String> = editor.take_record().iter().map(Value::to_string).collect();
        assert_eq!(
            lines,
            [
                r#"{"edit":"insert","graph":0,"node":"mul_tensor","before":"output","target":"aten.mul.Tensor","args":[{"node":"x"},{"float":"inf"}],"kwargs":{}}"#,
                r#"{"edit":"replace-uses","graph":0,"node":"add","with":"mul_tensor"}"#,
                r#"{"edit":"set-target","graph":0,"node":"mul_tensor","target":"aten.div.Tensor"}"#,
                r#"{"edit":"move","graph":0,"node":"mul_tensor","before":"add"}"#,
                r#"{"edit":"annotate","graph":0,"node":"mul_tensor","key":"why","value":"because"}"#,
                r#"{"edit":"erase","graph":0,"node":"add"}"#,
            ]
        );
    }

    #[test]
    fn a_refused_edit_and_a_refused_batch_leave_no_line() {
        let (mut editor, x, add) = editor();
        assert!(editor.erase(add).is_err());
        let batch = [Edit::Insert(Point::After(add), mul(x, 2.0)), Edit::Erase(add)];
        assert!(editor.apply(&batch).is_err());
        assert!(editor.take_record().is_empty());
    }

    #[test]
    fn a_batch_is_its_single_edits() {
        let (mut one, x, add) = editor();
        let made = one.insert(Point::After(add), mul(x, 2.0)).unwrap();
        one.replace_uses(add, made, None).unwrap();
        let (mut other, x, add) = editor();
        let new = NodeId::new_in_batch(0);
        other.apply(&[Edit::Insert(Point::After(add), mul(x, 2.0)), Edit::ReplaceUses(add, new)]).unwrap();
        assert_eq!(one.take_record(), other.take_record());
    }
}
