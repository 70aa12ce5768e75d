//! Programs of a few lines for the tests of this folder. What the judge promises of pairs stands in `tests/cases`.

use std::sync::Arc;

use crate::formats::text::{self, ReadOptions};
use crate::graph::Graph;
use crate::ops::Registry;

pub(in crate::verify) fn program(inputs: &str, lines: &str) -> Graph {
    let inputs: Vec<String> = inputs
        .split(';')
        .map(str::trim)
        .filter(|i| !i.is_empty())
        .map(|i| i.split_once(':').map(|(n, t)| format!("{}: \"{}\"", n.trim(), t.trim())).unwrap())
        .collect();
    let body: Vec<String> =
        lines.lines().map(|l| format!("        {}", l.trim().replace("aten.", "torch.ops.aten."))).collect();
    let body: Vec<String> = body.into_iter().map(|l| l.replace("air.", "torch.ops.air.")).collect();
    let text = format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self, {}):\n{}\n",
        inputs.join(", "),
        body.join("\n")
    );
    let mut graph = text::read(&text, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
    let problems = registry().check_types(&mut graph);
    assert!(problems.is_empty(), "{problems:?}\n{text}");
    graph
}

pub(in crate::verify) fn registry() -> Arc<Registry> {
    static REGISTRY: std::sync::OnceLock<Arc<Registry>> = std::sync::OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(Registry::standard())).clone()
}
