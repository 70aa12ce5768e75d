//! A GE graph with what means nothing taken off: the form in which graphs are compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Differences;
use crate::lower::ge::operators;
use crate::lower::ge::proto::{AttrDef, Attrs, GraphDef, OpDef, TensorDescriptor, Value, edge, is_control};

/// Attributes that are derived, or for people.
const MEANINGLESS: [&str; 8] = [
    "_input_name_key",
    "_input_name_value",
    "_output_name_key",
    "_output_name_value",
    "_readable_value",
    "_origin_data_name",
    "nn_module_stack",
    "_meta",
];

/// A constant by content: type, sizes, bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Content {
    pub(super) dtype: i32,
    pub(super) dims: Vec<i64>,
    pub(super) data: Vec<u8>,
}

/// Where a slot's value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Constant(Content),
    Node { node: usize, output: usize },
}

/// A fed slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) dtype: i32,
    pub(super) layout: String,
    /// Of NetOutput only.
    pub(super) dims: Option<Vec<i64>>,
    pub(super) source: Source,
}

/// An output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Output {
    pub(super) name: String,
    pub(super) dtype: i32,
    pub(super) layout: String,
    /// Of Data only: sizes and device.
    pub(super) place: Option<(Vec<i64>, String)>,
}

/// An operator that is no constant.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    pub(super) attrs: BTreeMap<&'a str, AttrDef>,
    pub(super) slots: Vec<Slot>,
    pub(super) outputs: Vec<Output>,
    /// What must have run before, beyond the data; constants are seen through.
    pub(super) after: BTreeSet<usize>,
}

/// A graph in the form in which it is compared.
#[derive(Debug, Default)]
pub(super) struct Normal<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) net_output: Option<usize>,
    pub(super) constants: BTreeSet<Content>,
}

impl<'a> Normal<'a> {
    /// Returns the graph's normal form; what is not well formed becomes differences.
    pub(super) fn of(graph: &'a GraphDef, whose: &str, found: &mut Differences) -> Self {
        let mut ops: HashMap<&str, &OpDef> = HashMap::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut count = 0_usize;
        for op in &graph.op {
            if ops.insert(&op.name, op).is_some() {
                found.add(format!("{whose}: two operators are named {}", op.name));
            }
            if op.r#type != "Const" {
                places.insert(&op.name, count);
                count = count.saturating_add(1);
            }
        }
        let names = Names { ops, places };
        let mut normal = Normal::default();
        for op in &graph.op {
            if op.r#type == "Const" {
                normal.constants.insert(content(op));
                continue;
            }
            if op.r#type == "NetOutput" && normal.net_output.replace(normal.nodes.len()).is_some() {
                found.add(format!("{whose}: there are two NetOutputs"));
            }
            normal.nodes.push(names.node(op, whose, found));
        }
        if normal.net_output.is_none() {
            found.add(format!("{whose}: there is no NetOutput"));
        }
        normal
    }
}

struct Names<'a> {
    ops: HashMap<&'a str, &'a OpDef>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    fn node(&self, op: &'a OpDef, whose: &str, found: &mut Differences) -> Node<'a> {
        let known = operators::operator(&op.r#type);
        let attrs = op
            .attr
            .iter()
            .filter(|(name, attr)| attr.value.is_some() && !MEANINGLESS.contains(&name.as_str()))
            .filter(|(name, attr)| {
                known.and_then(|k| k.attribute(name)).and_then(|a| a.default.as_ref()) != Some(*attr)
            })
            .map(|(name, attr)| (name.as_str(), without_list_kind(name, attr)))
            .collect();
        let is_data = matches!(op.r#type.as_str(), "Data" | "RefData");
        let outputs = op
            .output_desc
            .iter()
            .map(|d| Output {
                name: d.name.clone(),
                dtype: d.dtype,
                layout: d.layout.clone(),
                place: is_data.then(|| (dims(d), d.device_type.clone())),
            })
            .collect();
        let slots = op
            .input
            .iter()
            .filter(|i| !is_control(i))
            .enumerate()
            .filter_map(|(at, input)| self.slot(op, at, input, whose, found))
            .collect();
        Node { name: &op.name, kind: &op.r#type, attrs, slots, outputs, after: self.after(op) }
    }

    fn slot(&self, op: &OpDef, at: usize, input: &str, whose: &str, found: &mut Differences) -> Option<Slot> {
        if input.is_empty() {
            return None;
        }
        let default = TensorDescriptor::default();
        let desc = op.input_desc.get(at).unwrap_or(&default);
        let producer = edge(input).and_then(|(name, output)| Some((*self.ops.get(name)?, output)));
        let Some((producer, output)) = producer else {
            found.add(format!("{whose}: input {at} of {} is {input}, which no operator produces", op.name));
            return None;
        };
        let source = match self.places.get(producer.name.as_str()) {
            Some(node) => Source::Node { node: *node, output },
            None => Source::Constant(content(producer)),
        };
        let is_output = op.r#type == "NetOutput";
        Some(Slot {
            name: if desc.name.is_empty() { format!("#{at}") } else { desc.name.clone() },
            dtype: desc.dtype,
            layout: if is_output { String::new() } else { desc.layout.clone() },
            dims: is_output.then(|| dims(desc)),
            source,
        })
    }

    /// A control edge whose operator was taken away forces nothing. An edge on a constant, or from one, forces what
    /// stands behind it.
    fn after(&self, op: &OpDef) -> BTreeSet<usize> {
        let mut after = BTreeSet::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut work: Vec<&OpDef> = vec![op];
        while let Some(next) = work.pop() {
            let behind = next.input.iter().filter_map(|i| {
                let name = if is_control(i) { i.strip_suffix(":-1") } else { edge(i).map(|(name, _)| name) };
                name.map(|n| (n, is_control(i)))
            });
            for (name, control) in behind {
                match (self.places.get(name), self.ops.get(name)) {
                    (Some(place), _) if control => {
                        after.insert(*place);
                    }
                    (None, Some(constant)) if seen.insert(name) => work.push(constant),
                    _ => {}
                }
            }
        }
        after
    }
}

fn dims(desc: &TensorDescriptor) -> Vec<i64> {
    desc.shape.as_ref().map_or_else(Vec::new, |s| s.dim.clone())
}

fn content(op: &OpDef) -> Content {
    match op.attr.get("value").and_then(|a| a.value.as_ref()) {
        Some(Value::T(t)) => Content {
            dtype: t.desc.as_ref().map_or(0, |d| d.dtype),
            dims: t.desc.as_ref().map_or_else(Vec::new, dims),
            data: t.data.clone(),
        },
        _ => Content { dtype: 0, dims: Vec::new(), data: Vec::new() },
    }
}

fn without_list_kind(name: &str, attr: &AttrDef) -> AttrDef {
    match &attr.value {
        Some(Value::List(l)) if name.starts_with('_') || name.ends_with("_layout_info") => {
            let mut l = l.clone();
            l.val_type = 0;
            Value::List(l).into()
        }
        _ => attr.clone(),
    }
}

/// Compares the attributes of the graphs themselves.
pub(super) fn compare_graph_attributes(ours: &GraphDef, reference: &GraphDef, found: &mut Differences) {
    let clean = |attrs: &Attrs| -> BTreeMap<String, AttrDef> {
        attrs
            .iter()
            .filter(|(_, a)| a.value.is_some())
            .map(|(name, a)| (name.clone(), without_list_kind(&format!("_{name}"), a)))
            .collect()
    };
    let (a, b) = (clean(&ours.attr), clean(&reference.attr));
    let view = |m: &BTreeMap<String, AttrDef>| m.keys().cloned().collect::<BTreeSet<_>>();
    for name in view(&a).union(&view(&b)) {
        if a.get(name) != b.get(name) {
            found.add(format!("graph attribute {name}: {} here, {} there", shown(a.get(name)), shown(b.get(name))));
        }
    }
}

/// Compares which constants there are; how often each is written does not count.
pub(super) fn compare_constants(left: &Normal, right: &Normal, found: &mut Differences) {
    for content in left.constants.difference(&right.constants) {
        found.add(format!("constant {} is not in the reference", content.shown()));
    }
    for content in right.constants.difference(&left.constants) {
        found.add(format!("constant {} is only in the reference", content.shown()));
    }
}

impl Content {
    pub(super) fn shown(&self) -> String {
        let bytes: Vec<String> = self.data.iter().take(16).map(|b| format!("{b:02x}")).collect();
        let more = if self.data.len() > 16 { "..." } else { "" };
        format!("{}{:?} of bytes {}{more}", type_name(self.dtype), self.dims, bytes.join(""))
    }
}

pub(super) fn type_name(dtype: i32) -> String {
    crate::lower::ge::proto::DataType::try_from(dtype).map_or_else(|_| format!("type {dtype}"), |t| t.name().into())
}

/// Returns an attribute in one line.
pub(super) fn shown(attr: Option<&AttrDef>) -> String {
    match attr {
        None => "absent".into(),
        Some(attr) => {
            let text = crate::lower::ge::files::attribute(attr);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
    }
}
