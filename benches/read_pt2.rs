//! Reading and writing a `.pt2` archive of 50,000 nodes and some 45 MB, most of it metadata, as PyTorch's are.
//!
//! The archive is made here. A real one of that size is timed instead where AIRLOCK_LARGE_PT2 names it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    missing_docs
)]

use airlock::formats::pt2;
use airlock::graph::{
    Arg, BodyId, Bytes, Device, Dtype, Model, NewNode, NodeId, NodeKind, OutputKind, OutputSpec, Signature, TensorType,
    ValueType, Weight,
};
use airlock::ops::Registry;
use criterion::{Criterion, criterion_group, criterion_main};

const NODES: usize = 50_000;
const LAYERS: usize = 400;

/// Returns a model of that many nodes: matrix products, additions and views, 64 x 64, with a weight a layer.
fn generated() -> Model {
    let mut model = Model::default();
    let ty = |dtype| {
        let mut ty = TensorType::new(dtype, [64.into(), 64.into()], Device::cpu());
        ty.strides = Some([64.into(), 1.into()].into_iter().collect());
        ty
    };
    let mut inputs = Vec::new();
    let mut placeholder = |model: &mut Model, name: &str, kind, target: Option<String>| -> NodeId {
        let id = model.graph.texts.intern(name);
        let node = NewNode {
            kind: NodeKind::Placeholder,
            target: id,
            args: Box::default(),
            kwargs: Box::default(),
            ty: ValueType::tensor(ty(Dtype::F32)),
        };
        let target = target.map(String::into_boxed_str);
        inputs.push(airlock::graph::InputSpec { kind, name: name.into(), target, persistent: None });
        model.graph.push(BodyId::ROOT, name, node)
    };
    let mut weights = Vec::new();
    for layer in 0..LAYERS {
        let target = format!("layers.{layer}.weight");
        let storage = format!("data/weights/weight_{layer}").into();
        let bytes = Bytes::new(vec![u8::try_from(layer % 251).unwrap(); 64 * 64 * 4]);
        model.weights.storages.insert(std::sync::Arc::clone(&storage), bytes);
        let weight = Weight { ty: ty(Dtype::F32), storage, is_param: true };
        model.weights.state.insert(target.as_str().into(), weight);
        let kind = airlock::graph::InputKind::Parameter;
        weights.push(placeholder(&mut model, &format!("p_layers_{layer}_weight"), kind, Some(target)));
    }
    let mut last = placeholder(&mut model, "x", airlock::graph::InputKind::UserInput, None);
    for i in 0..NODES {
        let weight = weights[i * LAYERS / NODES];
        let (target, args) = match i % 3 {
            0 => ("aten.mm.default", vec![Arg::Node(last), Arg::Node(weight)]),
            1 => ("aten.add.Tensor", vec![Arg::Node(last), Arg::Node(weight)]),
            _ => ("aten.view.default", vec![Arg::Node(last), Arg::list([64_i64, 64])]),
        };
        let target = model.graph.texts.intern(target);
        let ty = ValueType::tensor(ty(Dtype::F32));
        let node = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: Box::default(), ty };
        last = model.graph.push(BodyId::ROOT, &format!("n_{i}"), node);
        let frame = format!("File \"model.py\", line {i}, in forward\n    y = self.layers[{i}](y)\n  ");
        model.graph.annotate(last, "stack_trace", Some(&frame.repeat(5)));
        model.graph.annotate(last, "torch_fn", Some(&format!("call_{i};builtin_function_or_method.call")));
    }
    let target = model.graph.texts.intern("output");
    let args = Box::new([Arg::Tuple(Box::new([Arg::Node(last)]))]);
    let output = NewNode { kind: NodeKind::Output, target, args, kwargs: Box::default(), ty: ValueType::None };
    model.graph.push(BodyId::ROOT, "output", output);
    let outputs = vec![OutputSpec { kind: OutputKind::UserOutput, target: None }];
    model.graph.signature = Some(Signature { inputs, outputs });
    model
}

fn benches(c: &mut Criterion) {
    let ops = Registry::standard();
    let bytes = match std::env::var_os("AIRLOCK_LARGE_PT2") {
        Some(path) => std::fs::read(path).expect("the file that AIRLOCK_LARGE_PT2 names"),
        None => {
            let mut bytes = Vec::new();
            pt2::write_to(&generated(), "generated.pt2", &mut bytes, &ops).expect("the generated model can be written");
            bytes
        }
    };
    let bytes = Bytes::new(bytes);
    let model = pt2::read_bytes("large.pt2", bytes.clone(), &ops).expect("the model reads");
    let mut group = c.benchmark_group("pt2_50k_nodes");
    group.sample_size(10);
    group.throughput(criterion::Throughput::Bytes(u64::try_from(bytes.len()).unwrap()));
    group.bench_function("read", |b| b.iter(|| pt2::read_bytes("large.pt2", bytes.clone(), &ops)));
    group.bench_function("write", |b| b.iter(|| pt2::write_to(&model, "out.pt2", &mut std::io::sink(), &ops)));
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
