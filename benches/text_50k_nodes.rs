//! Reading and writing the text form of 50,000 nodes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    missing_docs
)]

use airlock::formats::text::{self, ReadOptions};
use criterion::{Criterion, criterion_group, criterion_main};

/// Returns a program of that many nodes: a chain of multiplications, additions and views, with comments and symbolic sizes.
fn program(nodes: usize) -> String {
    use std::fmt::Write as _;
    let mut out = String::from(
        "ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        def forward(self, x: \"f32[s77, 16]\", w: \"f32[16]\"):\n",
    );
    let mut last = "x".to_string();
    for i in 0..nodes {
        let name = format!("n_{i}");
        if i % 10 == 0 {
            let _ = writeln!(out, "            # File: model.py:{i} in forward, code: y = f(y)  # step {i}");
        }
        let call = match i % 3 {
            0 => format!("torch.ops.aten.mul.Tensor({last}, w);  {last} = None"),
            1 => format!("torch.ops.aten.add.Tensor({last}, {i}, alpha = 0.5);  {last} = None"),
            _ => format!("torch.ops.aten.view.default({last}, [-1, 16]);  {last} = None"),
        };
        let _ = writeln!(out, "            {name}: \"f32[s77, 16]\" = {call}");
        last = name;
    }
    let _ = write!(
        out,
        "            return ({last},)\n    \nGraph signature:\n    # inputs\n    x: USER_INPUT\n    w: USER_INPUT\n"
    );
    let _ =
        write!(out, "    \n    # outputs\n    {last}: USER_OUTPUT\n    \nRange constraints: {{s77: VR[2, 64]}}\n\n");
    out
}

fn benches(c: &mut Criterion) {
    let text = program(50_000);
    let options = ReadOptions::of_file("generated.fx");
    let graph = text::read(&text, &options).expect("the generated program reads");
    let mut group = c.benchmark_group("text_50k_nodes");
    group.sample_size(10);
    group.bench_function("read", |b| b.iter(|| text::read(&text, &options)));
    group.bench_function("write", |b| b.iter(|| text::write(&graph)));
    group.bench_function("check_form", |b| b.iter(|| airlock::analysis::form::check_form(&graph)));
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
