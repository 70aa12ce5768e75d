//! `airlock inspect`: what is in a file; of this machine: `host`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use super::{Exit, Format, Global, Reading, load, output};
use crate::contract::{self, Limits};
use crate::graph::{Bytes, Graph, InputKind, NodeKind, View};
use crate::lower::ge;
use crate::report::plain;

/// Tells what is in a model, a graph, a pass or a GE graph.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  airlock inspect model.pt2\n  airlock inspect pass.wasm --format json\n  airlock inspect --host"
)]
pub struct InspectArgs {
    /// The file; its content decides what it is.
    #[arg(required_unless_present = "host")]
    file: Option<PathBuf>,
    /// Tell instead which walls stand around passes on this machine.
    #[arg(long, conflicts_with = "file")]
    host: bool,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Found {
    Model(ModelFacts),
    Graph(ModelFacts),
    Pass(PassFacts),
    Ge(GeFacts),
}

#[derive(Serialize)]
struct ModelFacts {
    nodes: usize,
    operators: BTreeMap<String, usize>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    subgraphs: usize,
    symbols: BTreeMap<String, String>,
    opaque: Vec<String>,
    weights_bytes: usize,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct Port {
    name: String,
    kind: &'static str,
    #[serde(rename = "type")]
    ty: Option<String>,
    target: Option<String>,
}

#[derive(Serialize)]
struct PassFacts {
    bytes: usize,
    imports: Vec<String>,
    exports: Vec<String>,
}

#[derive(Serialize)]
struct GeFacts {
    nodes: usize,
    operators: BTreeMap<String, usize>,
}

pub fn inspect(args: &InspectArgs, global: &Global) -> anyhow::Result<Exit> {
    let Some(file) = args.file.as_deref() else { return super::host::inspect(global) };
    let bytes = load::bytes(file)?;
    let found = match bytes.as_slice() {
        b if b.starts_with(b"\0asm") => Found::Pass(pass(b).with_context(|| unreadable(file))?),
        b if file.extension().is_some_and(|e| e == "bin") => Found::Ge(ge_graph(b).with_context(|| unreadable(file))?),
        _ => model(file, &args.reading, bytes)?,
    };
    match global.format {
        Format::Json => output::print_json(&found)?,
        _ => output::print(&text(&found, file))?,
    }
    Ok(Exit::Done)
}

fn unreadable(file: &Path) -> String {
    format!("cannot read {}", file.display())
}

fn model(file: &Path, reading: &Reading, bytes: Bytes) -> anyhow::Result<Found> {
    let registry = reading.sources().registry()?;
    let (mut model, kind) = reading.sources().unchecked_bytes(file, bytes, &registry)?;
    let problems = load::problems(&mut model.graph, &registry);
    let graph = &model.graph;
    let mut operators = BTreeMap::new();
    let mut opaque = std::collections::BTreeSet::new();
    for node in graph.bodies().flat_map(|b| graph.nodes(b)).filter(|n| graph.kind(*n) == NodeKind::Call) {
        let count = operators.entry(graph.target(node).to_string()).or_insert(0_usize);
        *count = count.saturating_add(1);
        if registry.operator_of(graph, node).is_none() {
            opaque.insert(graph.target(node).to_string());
        }
    }
    let facts = ModelFacts {
        nodes: graph.len(),
        operators,
        inputs: inputs(graph),
        outputs: outputs(graph),
        subgraphs: graph.body_count().saturating_sub(1),
        symbols: graph.symbols.symbols().map(|(name, range)| (name.to_string(), range.to_string())).collect(),
        opaque: opaque.into_iter().collect(),
        weights_bytes: model.weights.storages.values().fold(0, |n, b| n.saturating_add(b.len())),
        problems,
    };
    Ok(if kind == load::Kind::Pt2 || graph.signature.is_some() { Found::Model(facts) } else { Found::Graph(facts) })
}

fn inputs(graph: &Graph) -> Vec<Port> {
    let placeholders = graph.nodes(crate::graph::BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
    let mut specs = graph.signature.iter().flat_map(|s| s.inputs.iter());
    placeholders
        .map(|n| {
            let spec = specs.next();
            Port {
                name: graph.name(n).to_string(),
                kind: spec.map_or(InputKind::UserInput, |s| s.kind).name(),
                ty: graph.ty(n).annotation(&graph.symbols),
                target: spec.and_then(|s| s.target.as_deref()).map(str::to_string),
            }
        })
        .collect()
}

fn outputs(graph: &Graph) -> Vec<Port> {
    let Some(output) = graph.output(crate::graph::BodyId::ROOT) else { return Vec::new() };
    let returned = match graph.args(output) {
        [one] => one.items().unwrap_or_else(|| std::slice::from_ref(one)),
        all => all,
    };
    let mut specs = graph.signature.iter().flat_map(|s| s.outputs.iter());
    returned
        .iter()
        .map(|value| {
            let spec = specs.next();
            let node = value.as_node();
            Port {
                name: node.map_or_else(|| "(constant)".to_string(), |n| graph.name(n).to_string()),
                kind: spec.map_or("USER_OUTPUT", |s| s.kind.name()),
                ty: node.and_then(|n| graph.ty(n).annotation(&graph.symbols)),
                target: spec.and_then(|s| s.target.as_deref()).map(str::to_string),
            }
        })
        .collect()
}

fn pass(bytes: &[u8]) -> anyhow::Result<PassFacts> {
    // What `run` would refuse before anything runs is refused here as well.
    let found = contract::check("the component", bytes, &Limits::default())?;
    Ok(PassFacts { bytes: bytes.len(), imports: found.functions_used(), exports: found.exports })
}

fn ge_graph(bytes: &[u8]) -> anyhow::Result<GeFacts> {
    let graph = ge::decode(bytes)?;
    let mut operators = BTreeMap::new();
    for op in &graph.op {
        let count = operators.entry(op.r#type.clone()).or_insert(0_usize);
        *count = count.saturating_add(1);
    }
    Ok(GeFacts { nodes: graph.op.len(), operators })
}

fn text(found: &Found, file: &Path) -> String {
    let file = plain(&file.display().to_string());
    match found {
        Found::Model(m) => model_text(&format!("{file}: a model"), m),
        Found::Graph(m) => model_text(&format!("{file}: a graph"), m),
        Found::Pass(p) => format!(
            "{file}: a pass, {} bytes\n  imports  {}\n  exports  {}\n",
            p.bytes,
            plain(&p.imports.join(", ")),
            plain(&p.exports.join(", "))
        ),
        Found::Ge(g) => {
            let mut text = format!("{file}: a GE graph, {} nodes\n", g.nodes);
            text.push_str(&counts(&g.operators));
            text
        }
    }
}

fn model_text(title: &str, m: &ModelFacts) -> String {
    let mut text = format!("{title}, {} nodes", m.nodes);
    if m.subgraphs > 0 {
        text.push_str(&format!(", {} sub-graphs", m.subgraphs));
    }
    text.push_str(&format!(", {} bytes of weights\n", m.weights_bytes));
    for (what, ports) in [("inputs", &m.inputs), ("outputs", &m.outputs)] {
        text.push_str(&format!("  {what}\n"));
        for p in ports {
            let target = p.target.as_deref().map(|t| format!(" {}", plain(t))).unwrap_or_default();
            let (name, ty) = (plain(&p.name), plain(p.ty.as_deref().unwrap_or("-")));
            text.push_str(&format!("    {name:<24} {ty:<20} {}{target}\n", p.kind));
        }
    }
    if !m.symbols.is_empty() {
        let symbols: Vec<String> = m.symbols.iter().map(|(n, r)| format!("{n}: {r}")).collect();
        text.push_str(&format!("  symbols  {}\n", plain(&symbols.join(", "))));
    }
    text.push_str(&counts(&m.operators));
    if !m.opaque.is_empty() {
        text.push_str(&format!("  nobody knows  {}\n", plain(&m.opaque.join(", "))));
    }
    for problem in &m.problems {
        text.push_str(&format!("  problem  {}\n", plain(problem)));
    }
    text
}

fn counts(operators: &BTreeMap<String, usize>) -> String {
    let mut text = "  operators\n".to_string();
    let mut sorted: Vec<(&String, &usize)> = operators.iter().collect();
    sorted.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
    for (name, count) in sorted {
        text.push_str(&format!("    {count:>6}  {}\n", plain(name)));
    }
    text
}
