//! Types of a whole graph: what a reader of 50,000 nodes waits for after parsing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    missing_docs
)]

use airlock::graph::{Arg, BodyId, Device, Dtype, Graph, NewNode, NodeId, NodeKind, TensorType, ValueType};
use airlock::ops::Registry;
use airlock::sym::Dim;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

fn push(g: &mut Graph, kind: NodeKind, target: &str, args: Vec<Arg>, ty: ValueType) -> NodeId {
    let target = g.texts.intern(target);
    g.push(BodyId::ROOT, "n", NewNode { kind, target, args: args.into(), kwargs: Box::default(), ty })
}

/// A chain of pointwise operators, views and products over a symbolic batch.
fn chain(nodes: usize) -> Graph {
    let mut g = Graph::new();
    let batch = g.symbols.symbol("s0");
    let tensor = |dims: &[Dim]| ValueType::tensor(TensorType::new(Dtype::F32, dims.iter().copied(), Device::cpu()));
    let wide = tensor(&[batch, Dim::Fixed(16), Dim::Fixed(64)]);
    let mut x = push(&mut g, NodeKind::Placeholder, "x", Vec::new(), wide);
    let w = push(&mut g, NodeKind::Placeholder, "w", Vec::new(), tensor(&[Dim::Fixed(64), Dim::Fixed(64)]));
    let call = |g: &mut Graph, target: &str, args: Vec<Arg>| push(g, NodeKind::Call, target, args, ValueType::Unknown);
    for _ in 0..nodes / 8 {
        let y = call(&mut g, "aten.mul.Tensor", vec![x.into(), 0.5.into()]);
        let z = call(&mut g, "aten.add.Tensor", vec![x.into(), y.into()]);
        let size = call(&mut g, "aten.sym_size.int", vec![z.into(), 0.into()]);
        let flat = call(&mut g, "aten.view.default", vec![z.into(), Arg::list([Arg::Int(-1), Arg::Int(64)])]);
        let product = call(&mut g, "aten.mm.default", vec![flat.into(), w.into()]);
        let sizes = [Arg::Node(size), Arg::Int(16), Arg::Int(64)];
        let back = call(&mut g, "aten.view.default", vec![product.into(), Arg::list(sizes)]);
        let turned = call(&mut g, "aten.permute.default", vec![back.into(), Arg::list([0_i64, 1, 2])]);
        x = call(&mut g, "aten.relu.default", vec![turned.into()]);
    }
    g
}

fn check_types(c: &mut Criterion) {
    let registry = Registry::standard();
    c.bench_function("registry", |b| b.iter(Registry::standard));
    let unread = chain(50_000);
    let mut typed = unread.clone();
    assert_eq!(registry.check_types(&mut typed), []);
    let mut group = c.benchmark_group("types of 50,000 nodes");
    group.sample_size(10);
    group.bench_function("none annotated", |b| {
        b.iter_batched(|| unread.clone(), |mut g| registry.check_types(&mut g), BatchSize::LargeInput);
    });
    group.bench_function("all annotated", |b| {
        b.iter_batched(|| typed.clone(), |mut g| registry.check_types(&mut g), BatchSize::LargeInput);
    });
    group.finish();
}

criterion_group!(benches, check_types);
criterion_main!(benches);
