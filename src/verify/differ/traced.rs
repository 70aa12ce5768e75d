//! What each node of two graphs came to on the inputs of a witness: for a picture.
//!
//! Promises: the values are those of a run in the graphs' own dtypes; a node that was not reached has none. Nodes of bodies are left out: they
//! stand in the value of the call that runs them.

use std::time::{Duration, Instant};

use crate::exec::{Meter, Observer, Step, Value};
use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};
use crate::ops::Registry;
use crate::sym::KeyedMap;
use crate::verify::differ::run::{self, From};
use crate::verify::differ::subject::Subject;
use crate::verify::differ::witness::Witness;
use crate::verify::options::JudgeOptions;
use crate::verify::show;

/// How many elements of a tensor are told.
const TOLD: usize = 6;

/// A node and its value.
#[derive(Clone, PartialEq, Debug)]
pub struct TracedNode {
    /// Its name.
    pub name: String,
    /// As it prints.
    pub line: String,
    /// The places of its operands in the list, each once.
    pub operands: Vec<usize>,
    /// Its first elements; `None` where the run did not come to it.
    pub value: Option<String>,
    /// Whether the other graph has no node of this name and value.
    pub differs: bool,
}

/// Both graphs, node by node.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traced {
    /// The graph before.
    pub before: Vec<TracedNode>,
    /// The graph after.
    pub after: Vec<TracedNode>,
}

/// A value, as it is told and as it is compared.
#[derive(Clone, PartialEq, Debug, Default)]
struct Kept {
    text: String,
    /// Every element, as it prints.
    elements: Vec<String>,
}

/// Keeps each value by node; the last one of a node that runs again.
#[derive(Default)]
struct Values {
    of: KeyedMap<String, Kept>,
    meter: Meter,
}

impl Observer for Values {
    fn computed(&mut self, step: &Step<'_>) {
        self.of.insert(step.graph.name(step.node).into(), kept(step.result, &self.meter));
    }
}

fn kept(value: &Value, meter: &Meter) -> Kept {
    let mut out = Kept::default();
    for v in value.items() {
        let all = elements(v, meter);
        let more = if all.len() > TOLD { ", ..." } else { "" };
        let first = all.iter().take(TOLD).cloned().collect::<Vec<_>>().join(", ");
        let separator = if out.text.is_empty() { "" } else { "; " };
        out.text += &format!("{separator}[{first}{more}]");
        out.elements.extend(all);
    }
    out
}

fn elements(value: &Value, meter: &Meter) -> Vec<String> {
    let Some(t) = value.as_tensor() else {
        return vec![value.as_scalar().map_or_else(|| value.kind().to_string(), |s| s.to_f64().to_string())];
    };
    let t = t.resolved(meter).unwrap_or_else(|_| t.clone());
    let all = match t.dtype().is_float() || t.dtype().is_complex() {
        true => t.parts().map(|l| l.iter().map(ToString::to_string).collect()),
        false => t.lanes::<i64>().map(|l| l.iter().map(ToString::to_string).collect()),
    };
    all.unwrap_or_else(|_| vec![t.dtype().long().to_string()])
}

/// Runs both graphs on a witness's inputs; `None` where these are not inputs of the graphs.
pub fn trace(
    (before, after): (&Graph, &Graph),
    witness: &Witness,
    registry: &Registry,
    options: &JudgeOptions,
) -> Option<Traced> {
    let mut subject = Subject::of(before, after, registry, options).ok()?;
    let inputs = run::inputs(&mut subject, &witness.sizes, From::Held(&witness.inputs))?;
    let given: Vec<Kept> = inputs.iter().map(|v| kept(v, &Meter::default())).collect();
    let now = Instant::now();
    let deadline = now.checked_add(Duration::from_millis(options.budget.time_ms)).unwrap_or(now);
    let side = |graph: &Graph| {
        let mut values = Values::default();
        // Where a graph raises, the calls before are told.
        run::watched(&subject, graph, &inputs, (witness.aliased, None), deadline, &mut values);
        let placeholders = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
        values.of.extend(placeholders.zip(&given).map(|(n, v)| (graph.name(n).to_string(), v.clone())));
        values.of
    };
    let (old, new) = (side(before), side(after));
    Some(Traced { before: nodes(before, &old, &new), after: nodes(after, &new, &old) })
}

/// The nodes of a graph in order, with their values, held against those of the other graph.
fn nodes(graph: &Graph, values: &KeyedMap<String, Kept>, others: &KeyedMap<String, Kept>) -> Vec<TracedNode> {
    let mut places: KeyedMap<NodeId, usize> = KeyedMap::default();
    let mut out: Vec<TracedNode> = Vec::new();
    for node in graph.nodes(BodyId::ROOT) {
        let mut operands: Vec<usize> = graph.operands(node).filter_map(|n| places.get(&n).copied()).collect();
        operands.sort_unstable();
        operands.dedup();
        let name = graph.name(node).to_string();
        let (value, other) = (values.get(&name), others.get(&name));
        let is_output = graph.kind(node) == NodeKind::Output;
        places.insert(node, out.len());
        out.push(TracedNode {
            line: show::line(graph, node),
            operands,
            value: value.map(|v| told_against(v, other)),
            differs: !is_output && value != other,
            name,
        });
    }
    out
}

/// The text of a value, with the first element that differs where that is not among those told.
fn told_against(value: &Kept, other: Option<&Kept>) -> String {
    let other = other.filter(|o| o.elements.len() == value.elements.len());
    let differing = other.and_then(|o| value.elements.iter().zip(&o.elements).position(|(a, b)| a != b));
    match differing.and_then(|k| Some((k, value.elements.get(k)?))) {
        Some((k, element)) if k >= TOLD => format!("{} element {k}: {element}", value.text),
        _ => value.text.clone(),
    }
}
