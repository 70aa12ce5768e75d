//! Lowering 50,000 nodes to GE: to the bytes of the graph, and these read back and judged.
//!
//! `cargo bench --bench lower_50k`. The model stands for a decoder of 5,000 layers: products, views, norms and constants, each layer
//! reading the last. Reading the model is not measured here.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    missing_docs
)]

use std::fmt::Write as _;

use airlock::formats::text::{self, ReadOptions};
use airlock::graph::Graph;
use airlock::lower::ge::{self, Format, Options};
use airlock::ops::Registry;
use airlock::pipeline::judge_lowered;
use airlock::verify::JudgeOptions;
use criterion::{Criterion, criterion_group, criterion_main};

/// Calls of a layer.
const LAYER: [(&str, &str, &str); 10] = [
    ("sq", "f32[1, 4, 8]", "aten.pow.Tensor_Scalar({last}, 2)"),
    ("mean", "f32[1, 4, 1]", "aten.mean.dim(sq_{i}, [-1], True)"),
    ("eps", "f32[1, 4, 1]", "aten.add.Tensor(mean_{i}, 1e-06)"),
    ("scale", "f32[1, 4, 1]", "aten.rsqrt.default(eps_{i})"),
    ("norm", "f32[1, 4, 8]", "aten.mul.Tensor({last}, scale_{i})"),
    ("flat", "f32[4, 8]", "aten.view.default(norm_{i}, [4, 8])"),
    ("turned", "f32[8, 8]", "aten.permute.default(w, [1, 0])"),
    ("product", "f32[4, 8]", "aten.mm.default(flat_{i}, turned_{i})"),
    ("back", "f32[1, 4, 8]", "aten.view.default(product_{i}, [1, 4, 8])"),
    ("sum", "f32[1, 4, 8]", "aten.add.Tensor({last}, back_{i})"),
];

fn graph(layers: usize) -> Graph {
    let mut program = String::from(
        "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[1, 4, 8]\", w: \"f32[8, 8]\"):\n",
    );
    let mut last = "x".to_string();
    for i in 0..layers {
        for (name, ty, call) in LAYER {
            let call = call.replace("{last}", &last).replace("{i}", &i.to_string());
            let _ = writeln!(program, "        {name}_{i}: \"{ty}\" = torch.ops.{call}");
        }
        last = format!("sum_{i}");
    }
    let _ = writeln!(program, "        return ({last},)");
    text::read(&program, &ReadOptions::of_file("generated.fx")).unwrap()
}

fn benches(c: &mut Criterion) {
    let (mut graph, registry) = (graph(5_000), Registry::standard());
    // Whoever reads a model has its types checked.
    assert!(registry.check_types(&mut graph).is_empty());
    let options = Options::default();
    let lowered = ge::draft(&graph, &options, &registry).unwrap();
    let bytes = lowered.graph.encode(Format::Bin);
    println!("{} operators, {} bytes", lowered.graph.len(), bytes.len());
    let mut group = c.benchmark_group("lower_50k");
    group.sample_size(10);
    group.bench_function("lower", |b| b.iter(|| ge::draft(&graph, &options, &registry)));
    group.bench_function("write", |b| b.iter(|| lowered.graph.encode(Format::Bin)));
    group.bench_function("read back", |b| b.iter(|| ge::decode(&bytes)));
    let judging = JudgeOptions::default();
    group.bench_function("read back and judge", |b| {
        b.iter(|| judge_lowered(&bytes, &lowered.host, &graph, &registry, &judging));
    });
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
