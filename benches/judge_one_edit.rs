//! Edits on graphs of 1,000 to 50,000 nodes, judged from the journal; and by whole graphs, to compare.
//!
//! One edit costs the same on any of them, and two hundred grow with the edits.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    missing_docs
)]

use std::sync::Arc;

use airlock::editor::{Editor, NewCall, Point};
use airlock::graph::{Arg, BodyId, Device, Dtype, Graph, NewNode, NodeId, NodeKind, TensorType, ValueType, View};
use airlock::ops::Registry;
use airlock::sym::Dim;
use airlock::verify::{JudgeOptions, judge_editor, judge_pair};
use criterion::{Criterion, criterion_group, criterion_main};

const SIZES: [usize; 3] = [1_000, 10_000, 50_000];
const NODES: usize = 50_000;

fn tensor() -> ValueType {
    ValueType::tensor(TensorType::new(Dtype::F32, [Dim::Fixed(8), Dim::Fixed(16)], Device::cpu()))
}

/// Residual blocks of pointwise calls and views, each reading earlier values, from a fixed seed.
fn graph(nodes: usize) -> (Graph, Vec<NodeId>) {
    let mut g = Graph::new();
    let x = g.texts.intern("x");
    let node = |kind, target, args: Vec<Arg>| NewNode {
        kind,
        target,
        args: args.into(),
        kwargs: Box::default(),
        ty: tensor(),
    };
    let mut values = vec![g.push(BodyId::ROOT, "x", node(NodeKind::Placeholder, x, Vec::new()))];
    let mut seed = 7_u64;
    let targets = ["aten.neg.default", "aten.add.Tensor", "aten.sin.default", "aten.mul.Tensor", "aten.relu.default"];
    for i in 0..nodes {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let target = targets[i % targets.len()];
        let last = values[values.len() - 1];
        let other = values[values.len() - 1 - (seed >> 33) as usize % values.len().min(64)];
        let args =
            if target.ends_with("Tensor") { vec![Arg::Node(last), Arg::Node(other)] } else { vec![Arg::Node(last)] };
        let id = g.texts.intern(target);
        values.push(g.push(BodyId::ROOT, "n", node(NodeKind::Call, id, args)));
    }
    let output = g.texts.intern("output");
    let last = values[values.len() - 1];
    let returned = vec![Arg::Tuple(Box::new([Arg::Node(last)]))];
    let mut end = node(NodeKind::Output, output, returned);
    end.ty = ValueType::None;
    g.push(BodyId::ROOT, "output", end);
    (g, values)
}

/// Puts a copy behind so many values, each for all users of the value.
fn copied(registry: &Arc<Registry>, nodes: usize, edits: usize) -> (Graph, Editor) {
    let (mut graph, values) = graph(nodes);
    assert!(registry.check_types(&mut graph).is_empty());
    let before = graph.clone();
    let mut editor = Editor::new(graph, Arc::clone(registry));
    for number in 1..=edits {
        let value = values[nodes * number / (edits + 1)];
        let call = NewCall { target: "aten.clone.default".into(), args: vec![Arg::Node(value)], ..NewCall::default() };
        let users = editor.graph().users_in_order(value);
        let copy = editor.insert(Point::After(value), call).unwrap();
        editor.replace_uses(value, copy, Some(&users)).unwrap();
    }
    (before, editor)
}

fn judge(c: &mut Criterion) {
    let registry = Arc::new(Registry::standard());
    let options = JudgeOptions::default();
    for nodes in SIZES {
        let (_, editor) = copied(&registry, nodes, 1);
        let verdict = judge_editor(&editor, &options);
        assert!(verdict.accepted, "{verdict:#?}");
        println!("one edit of {nodes} nodes: {} terms", verdict.terms);
        c.bench_function(&format!("judge_one_edit/journal/{nodes}"), |b| b.iter(|| judge_editor(&editor, &options)));
    }
    let (before, editor) = copied(&registry, NODES, 200);
    assert!(judge_editor(&editor, &options).accepted);
    let mut group = c.benchmark_group("judge_one_edit");
    group.sample_size(10);
    group.bench_function("journal/200 edits", |b| b.iter(|| judge_editor(&editor, &options)));
    group.bench_function("whole/200 edits", |b| b.iter(|| judge_pair(&before, editor.graph(), &registry, &options)));
    group.bench_function("whole/itself", |b| b.iter(|| judge_pair(&before, &before, &registry, &options)));
    group.finish();
}

criterion_group!(benches, judge);
criterion_main!(benches);
