//! One edit on a graph of 50,000 nodes, judged from the journal; and the same by whole graphs, to compare.
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

const NODES: usize = 50_000;

fn tensor() -> ValueType {
    ValueType::tensor(TensorType::new(Dtype::F32, [Dim::Fixed(8), Dim::Fixed(16)], Device::cpu()))
}

/// Residual blocks of pointwise calls and views, each reading earlier values, from a fixed seed.
fn graph() -> (Graph, NodeId) {
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
    for i in 0..NODES {
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
    (g, values[NODES / 2])
}

fn judge(c: &mut Criterion) {
    let registry = Arc::new(Registry::standard());
    let (mut graph, middle) = graph();
    assert!(registry.check_types(&mut graph).is_empty());
    let before = graph.clone();
    let mut editor = Editor::new(graph, Arc::clone(&registry));
    let clone = NewCall { target: "aten.clone.default".into(), args: vec![Arg::Node(middle)], ..NewCall::default() };
    let users = editor.graph().users_in_order(middle);
    let copy = editor.insert(Point::After(middle), clone).unwrap();
    editor.replace_uses(middle, copy, Some(&users)).unwrap();
    let options = JudgeOptions::default();
    let verdict = judge_editor(&editor, &options);
    assert!(verdict.accepted, "{verdict:#?}");
    println!("one edit of {NODES} nodes: {} terms", verdict.terms);
    c.bench_function("judge_one_edit/journal", |b| b.iter(|| judge_editor(&editor, &options)));
    let mut group = c.benchmark_group("judge_one_edit");
    group.sample_size(10);
    group.bench_function("whole", |b| b.iter(|| judge_pair(&before, editor.graph(), &registry, &options)));
    group.finish();
}

criterion_group!(benches, judge);
criterion_main!(benches);
