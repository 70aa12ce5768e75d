//! Faults put into what was lowered are found: operands exchanged, attributes and types changed, edges taken out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use airlock::formats::text;
use airlock::graph::Graph;
use airlock::lower::ge::operators::operator;
use airlock::lower::ge::proto::{AttrDef, GraphDef, OpDef, Value};
use airlock::lower::ge::{self, Format, Lowered, Options};
use airlock::ops::Registry;
use airlock::pipeline::judge_lowered;
use airlock::verify::{Budget, JudgeOptions};

use super::lower_torchair::{cases, meta, options, read};

/// Of these the order of operands means nothing.
const COMMUTE: [&str; 15] = [
    "Add",
    "Mul",
    "Maximum",
    "Minimum",
    "LogicalAnd",
    "LogicalOr",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Equal",
    "NotEqual",
    "ForeachMaximumList",
    "ForeachMinimumList",
    "ForeachMulList",
    // The square of a difference.
    "MseLoss",
];

/// Attributes that say how something is computed, or nothing, or nothing where they stand.
const IDLE: [(&str, &str); 9] = [
    ("Assign", "validate_shape"),
    ("", "use_locking"),
    ("Gather", "validate_indices"),
    ("", "is_preprocessed"),
    ("", "negative_index_support"),
    ("", "inner_precise"),
    // Sizes of 32 and of 64 bits are the same sizes; no list of axes is empty here; a norm divides by nothing.
    ("Shape", "dtype"),
    ("ReduceMean", "noop_with_empty_axes"),
    ("LpNormV2", "epsilon"),
];

fn is_idle(kind: &str, name: &str) -> bool {
    IDLE.iter().any(|(k, n)| (k.is_empty() || *k == kind) && *n == name)
}

fn accepted(graph: &Graph, lowered: &Lowered, registry: &Registry) -> bool {
    let bytes = ge::encode(&lowered.graph, Format::Bin);
    // A fault may be found by running both graphs, but it need not be: it is not accepted.
    let options =
        JudgeOptions { budget: Budget { trials: 20, time_ms: 200, ..Budget::searching() }, ..JudgeOptions::default() };
    judge_lowered(&bytes, &lowered.host, graph, registry, &options).verdict.accepted
}

fn changed(value: &Value) -> Option<Value> {
    Some(match value {
        Value::I(v) => Value::I(v.wrapping_add(1)),
        Value::F(v) => Value::F(v * 2.0 + 3.0),
        Value::B(v) => Value::B(!v),
        Value::S(v) => Value::S([v, b"x".as_slice()].concat()),
        Value::Dt(v) => Value::Dt(if *v == 0 { 1 } else { 0 }),
        Value::List(list) => {
            let mut list = list.clone();
            match (list.i.first_mut(), list.f.first_mut(), list.b.first_mut()) {
                (Some(i), _, _) => *i = i.wrapping_add(1),
                (_, Some(f), _) => *f = *f * 2.0 + 3.0,
                (_, _, Some(b)) => *b = !*b,
                _ => return None,
            }
            Value::List(list)
        }
        Value::T(tensor) => {
            let mut tensor = tensor.clone();
            *tensor.data.first_mut()? ^= 1;
            Value::T(tensor)
        }
        _ => return None,
    })
}

/// The operators of which an operator's data comes, by name.
fn data_of<'a>(graph: &'a GraphDef, from: &'a OpDef) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(op) = open.pop() {
        for (name, _) in op.data_inputs().filter_map(airlock::lower::ge::proto::edge) {
            if seen.insert(name) {
                open.extend(graph.op.iter().find(|o| o.name == name));
            }
        }
    }
    seen
}

/// What GE runs: what reaches NetOutput by data or by an edge that keeps it.
fn live(graph: &GraphDef) -> BTreeSet<&str> {
    let end = graph.op.iter().find(|op| op.r#type == "NetOutput").unwrap();
    let mut live: BTreeSet<&str> = [end.name.as_str()].into();
    let mut open = vec![end];
    while let Some(op) = open.pop() {
        let data = op.data_inputs().filter_map(airlock::lower::ge::proto::edge).map(|(n, _)| n);
        for name in data.chain(op.control_inputs()) {
            if live.insert(name) {
                open.extend(graph.op.iter().find(|o| o.name == name));
            }
        }
    }
    live
}

/// What makes tensors of no elements, and what it would fill them with.
fn of_nothing(graph: &GraphDef) -> BTreeSet<&str> {
    let producer = |op: &OpDef, slot: usize| {
        let (name, _) = airlock::lower::ge::proto::edge(op.input.get(slot)?)?;
        graph.op.iter().find(|o| o.name == name)
    };
    let is_zero =
        |op: &OpDef| matches!(op.attr.get("value").map(|a| &a.value), Some(Some(Value::T(t))) if t.data == [0; 8]);
    let mut found = BTreeSet::new();
    for fill in graph.op.iter().filter(|op| op.r#type == "Fill" && producer(op, 0).is_some_and(is_zero)) {
        let mut at = Some(fill);
        while let Some(op) = at {
            found.insert(op.name.as_str());
            at = if op.r#type == "Fill" { producer(op, 1) } else { producer(op, 0) };
        }
    }
    found
}

/// Every fault of a graph, with what it is. What does not run has none, nor an edge that data make as well.
fn faults(graph: &GraphDef) -> Vec<(String, &'static str, GraphDef)> {
    let mut all = Vec::new();
    let mut put = |at: usize, kind: &'static str, what: String, change: &dyn Fn(&mut OpDef)| {
        let mut copy = graph.clone();
        change(&mut copy.op[at]);
        all.push((what, kind, copy));
    };
    let live = live(graph);
    let empty = of_nothing(graph);
    for (at, op) in graph.op.iter().enumerate().filter(|(_, op)| live.contains(op.name.as_str())) {
        let kind = op.r#type.as_str();
        if empty.contains(op.name.as_str()) {
            continue;
        }
        let data: Vec<usize> =
            (0..op.input.len()).filter(|i| !op.input[*i].is_empty() && !op.input[*i].ends_with(":-1")).collect();
        if let [a, b, ..] = *data.as_slice()
            && op.input[a] != op.input[b]
            && !COMMUTE.contains(&kind)
            && kind != "NetOutput"
        {
            put(at, "inputs", format!("{kind}: inputs {a} and {b} exchanged"), &|op| op.input.swap(a, b));
        }
        let ordered = data_of(graph, op);
        for (i, input) in op.input.iter().enumerate().filter(|(_, i)| i.ends_with(":-1")) {
            let from = input.trim_end_matches(":-1");
            let is_source = graph.op.iter().any(|o| o.name == from && matches!(o.r#type.as_str(), "Data" | "Const"));
            if ordered.contains(from) || is_source {
                continue;
            }
            put(at, "control", format!("{kind}: no edge from {input}"), &|op| {
                op.input.remove(i);
            });
        }
        let declared = operator(kind);
        for (name, attr) in &op.attr {
            let is_declared =
                declared.is_some_and(|d| d.attribute(name).is_some()) || kind == "Const" && name == "value";
            let Some(value) = attr.value.as_ref().filter(|_| is_declared && !is_idle(kind, name)) else {
                continue;
            };
            let Some(wrong) = changed(value) else { continue };
            let which = if matches!(value, Value::Dt(_)) || name.contains("dtype") || name == "dst_type" {
                "dtype"
            } else {
                "attribute"
            };
            let what = format!("{kind}: {name} {value:?} made {wrong:?}");
            let set = AttrDef { value: Some(wrong) };
            put(at, which, what, &|op| {
                op.attr.insert(name.clone(), set.clone());
            });
        }
        if matches!(kind, "Data" | "Const") && !op.output_desc.is_empty() {
            put(at, "dtype", format!("{kind}: another dtype"), &|op| {
                let wrong = if op.output_desc[0].dtype == 1 { 2 } else { 1 };
                op.output_desc[0].dtype = wrong;
            });
        }
    }
    all
}

#[derive(Default)]
struct Tally {
    found: BTreeMap<&'static str, (usize, usize)>,
    kinds: BTreeSet<String>,
    missed: Vec<String>,
    /// Faults that were put already, without their values: a second of the same says nothing new.
    put: BTreeSet<String>,
}

impl Tally {
    fn add(&mut self, name: &str, graph: &Graph, lowered: &Lowered, registry: &Registry, most: usize) {
        if !accepted(graph, lowered, registry) {
            return;
        }
        for (what, kind, faulty) in faults(&lowered.graph).into_iter().take(most) {
            self.judge(name, &what, kind, graph, Lowered { graph: faulty, ..lowered.clone() }, registry);
        }
    }

    /// Puts the faults that no graph before had, and one at least of a converter that had none; returns whether any was put.
    fn add_new(&mut self, name: &str, graph: &Graph, lowered: &Lowered, registry: &Registry, is_new: bool) -> bool {
        let all = faults(&lowered.graph);
        let new: Vec<bool> = all.iter().map(|(what, ..)| !self.put.contains(class(what))).collect();
        let first = new.iter().position(|n| *n).or(is_new.then_some(0));
        if all.is_empty() || first.is_none() || !accepted(graph, lowered, registry) {
            return false;
        }
        for (i, (what, kind, faulty)) in all.into_iter().enumerate() {
            if Some(i) == first || self.put.insert(class(&what).to_string()) {
                self.put.insert(class(&what).to_string());
                self.judge(name, &what, kind, graph, Lowered { graph: faulty, ..lowered.clone() }, registry);
            }
        }
        true
    }

    fn judge(
        &mut self,
        name: &str,
        what: &str,
        kind: &'static str,
        graph: &Graph,
        wrong: Lowered,
        registry: &Registry,
    ) {
        let entry = self.found.entry(kind).or_default();
        entry.1 += 1;
        self.kinds.insert(what.split(':').next().unwrap_or("").to_string());
        if accepted(graph, &wrong, registry) {
            self.missed.push(format!("{name}: {what}"));
        } else {
            entry.0 += 1;
        }
    }

    fn check(&self) {
        let (found, all) = self.found.values().fold((0, 0), |(f, a), (x, y)| (f + x, a + y));
        println!(
            "{}\n{:?}\n{found} of {all} faults found, in {} GE operators",
            self.missed.join("\n"),
            self.found,
            self.kinds.len()
        );
        assert!(found * 100 >= all * 98, "{found} of {all}");
    }
}

fn recorded(root: &Path, most: usize) -> Tally {
    let registry = Registry::standard();
    let mut tally = Tally::default();
    for case in cases(root) {
        let meta = meta(&case);
        if meta.defect.is_some() || meta.kind == "error" {
            continue;
        }
        let graph = read(&case).unwrap();
        let Ok(lowered) = ge::lower(&graph, &options(&meta)) else { continue };
        tally.add(&case.file_name().unwrap().to_string_lossy(), &graph, &lowered, &registry, most);
    }
    tally
}

#[test]
fn faults_in_lowered_graphs_are_found() {
    let tally = recorded(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/torchair"), usize::MAX);
    tally.check();
    assert!(tally.found.values().map(|(_, n)| n).sum::<usize>() >= 100);
}

#[test]
fn faults_in_the_recorded_corpus_are_found() {
    let Some(corpus) = std::env::var_os("AIRLOCK_CORPUS") else {
        eprintln!("AIRLOCK_CORPUS is not set: skipped");
        return;
    };
    recorded(&PathBuf::from(corpus).join("cases/torchair"), 12).check();
}

/// A fault without the values that it changes.
fn class(what: &str) -> &str {
    let end = what.match_indices(' ').nth(1).map_or(what.len(), |(at, _)| at);
    if what.ends_with("exchanged") || what.ends_with("another dtype") { what } else { &what[..end] }
}

/// The operator of a graph that has one.
fn target(program: &str) -> Option<&str> {
    let mut calls = program.split("torch.ops.").skip(1);
    let target = calls.next()?.split('(').next();
    target.filter(|_| calls.next().is_none())
}

#[test]
fn faults_put_into_converters_of_all_families_are_found() {
    let registry = Registry::standard();
    let mut tally = Tally::default();
    let mut converters = BTreeSet::new();
    let forms = include_str!("../torchair/forms.txt")
        .split("\n=== ")
        .skip(1)
        .filter(|f| f.lines().next().unwrap().contains(": proved"));
    let lines = include_str!("../torchair/lines.txt").split("\n=== ").skip(1);
    for form in forms.chain(lines) {
        let (name, rest) = form.split_once('\n').unwrap();
        let Some(target) = target(rest) else { continue };
        let program = rest.lines().filter(|l| !l.starts_with("--- ")).fold(String::new(), |all, l| all + l + "\n");
        let Ok(graph) = text::read(&program, &text::ReadOptions::of_file("t.fx")) else { continue };
        let Ok(lowered) = ge::lower_with(&graph, &Options::default(), &registry) else { continue };
        if tally.add_new(name, &graph, &lowered, &registry, !converters.contains(target)) {
            converters.insert(target.to_string());
        }
    }
    tally.check();
    println!("in {} converters", converters.len());
    assert!(tally.kinds.len() >= 110 && converters.len() >= 110, "{} {}", tally.kinds.len(), converters.len());
}

#[test]
fn what_nothing_is_wrong_with_is_accepted_and_its_nearest_wrong_twin_is_not() {
    let text = "\
class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[2, 3]\", y: \"f32[2, 3]\"):
        d: \"f32[2, 3]\" = torch.ops.aten.sub.Tensor(x, y)
        m: \"f32[2]\" = torch.ops.aten.mean.dim(d, [1])
        return (m,)
";
    let graph = text::read(text, &text::ReadOptions::of_file("t.fx")).unwrap();
    let lowered = ge::lower(&graph, &Options::default()).unwrap();
    let registry = Registry::standard();
    assert!(accepted(&graph, &lowered, &registry));
    let mut wrong = lowered.clone();
    let sub = wrong.graph.op.iter_mut().find(|op| op.r#type == "Sub").unwrap();
    sub.input.swap(0, 1);
    assert!(!accepted(&graph, &wrong, &registry));
}
