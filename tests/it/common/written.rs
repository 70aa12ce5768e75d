//! Programs written on a line each for their inputs and their calls: `x: f32[4]; y: f32[4]` and `a = aten.add.Tensor(x, y) | return a`.

use airlock::formats::text::{self, ReadOptions};
use airlock::graph::Graph;
use airlock::ops::Registry;

/// Reads a program; what is written wrong, or ill-typed, fails the test.
pub fn program(inputs: &str, lines: &str, registry: &Registry) -> Graph {
    let input = |i: &str| i.split_once(':').map(|(n, t)| format!("{}: \"{}\"", n.trim(), t.trim())).unwrap();
    let inputs: Vec<String> = inputs.split(';').map(input).collect();
    let line = |l: &str| l.trim().replace("aten.", "torch.ops.aten.").replace("= npu.", "= torch.ops.npu.");
    let body: Vec<String> = lines.split(" | ").map(|l| format!("        {}", line(l))).collect();
    let (inputs, body) = (inputs.join(", "), body.join("\n"));
    let text = format!("class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}\n");
    let mut graph = text::read(&text, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
    let faults = registry.check_types(&mut graph);
    assert!(faults.is_empty(), "{text}{faults:?}");
    graph
}
