//! Built-in passes do what they say, leave the nearest other thing alone, and what they do is proved.

use std::sync::Arc;

use airlock::editor::{EditError, Editor};
use airlock::formats::text::{self, ReadOptions};
use airlock::graph::{BodyId, View};
use airlock::ops::Registry;
use airlock::passes::{BUILT_IN, remove_dead_code, remove_noop_ops};
use airlock::verify::{Finding, JudgeOptions, Level, judge_editor};

/// Runs a pass on a program; what it did must be proved. Returns the targets that are left.
fn left(pass: fn(&mut Editor) -> Result<(), EditError>, inputs: &str, body: &str) -> Vec<String> {
    let lines: Vec<String> = body.lines().map(|l| format!("        {}", l.trim())).collect();
    let program =
        format!("class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{}\n", lines.join("\n"));
    let mut graph = text::read(&program, &ReadOptions::of_file("program")).unwrap();
    let registry = Arc::new(Registry::standard());
    assert_eq!(registry.check_types(&mut graph), []);
    let mut editor = Editor::new(graph, registry);
    pass(&mut editor).unwrap();
    if !editor.changes().is_empty() {
        let verdict = judge_editor(&editor, &JudgeOptions::default());
        assert!(verdict.accepted, "{body}: {}", verdict.reason);
        assert_eq!((verdict.verdict, verdict.level), (Finding::Proved, Some(Level::Exact)));
    }
    let graph = editor.into_graph();
    let calls = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == airlock::graph::NodeKind::Call);
    calls.map(|n| graph.target(n).to_string()).collect()
}

/// What is left of one call on `x` between two negations.
fn left_of(call: &str, input: &str) -> usize {
    let body = format!(
        "y = torch.ops.aten.neg.default(x)\nz = torch.ops.{}\nw = torch.ops.aten.neg.default(z)\nreturn (w,)",
        call.replace("(x", "(y").replace("[x", "[y")
    );
    left(remove_noop_ops, input, &body).len() - 2
}

#[test]
fn every_kind_of_no_op_goes_and_the_nearest_other_call_stays() {
    let f = "x: \"f32[3, 4]\"";
    let i = "x: \"i32[3, 4]\"";
    for (input, no_op, other) in [
        (f, "aten.clone.default(x)", "aten.neg.default(x)"),
        (f, "aten.alias.default(x)", "aten.abs.default(x)"),
        (f, "aten.slice.Tensor(x, 0, 0, 9223372036854775807)", "aten.slice.Tensor(x, 0, 1, 9223372036854775807)"),
        (f, "aten.repeat.default(x, [1, 1])", "aten.repeat.default(x, [1, 2])"),
        (f, "aten.constant_pad_nd.default(x, [0, 0], 0.0)", "aten.constant_pad_nd.default(x, [1, -1], 0.0)"),
        (i, "aten.ceil.default(x)", "aten.abs.default(x)"),
        (i, "aten.round.default(x)", "aten.sign.default(x)"),
        (f, "aten.pow.Tensor_Scalar(x, 1)", "aten.pow.Tensor_Scalar(x, 2)"),
        (f, "aten.cat.default([x])", "aten.cat.default([x, x])"),
        (f, "aten.view.default(x, [3, 4])", "aten.view.default(x, [4, 3])"),
        (f, "aten.view.dtype(x, torch.float32)", "aten.view.dtype(x, torch.int32)"),
        (
            f,
            "prims.convert_element_type.default(x, torch.float32)",
            "prims.convert_element_type.default(x, torch.float16)",
        ),
    ] {
        assert_eq!(left_of(no_op, input), 0, "{no_op}");
        let back = if other.contains("int32") { 1 } else { left_of(other, input) };
        assert_eq!(back, 1, "{other}");
    }
}

#[test]
fn a_rounding_of_floats_and_another_stride_are_no_no_ops() {
    assert_eq!(left_of("aten.round.default(x)", "x: \"f32[3, 4]\""), 1);
    assert_eq!(left_of("aten.clone.default(x, memory_format = torch.channels_last)", "x: \"f32[2, 3, 4, 5]\""), 1);
}

#[test]
fn inputs_and_outputs_never_begin_to_share_memory() {
    let x = "x: \"f32[4]\"";
    let clone_of_input = "a = torch.ops.aten.clone.default(x)\nreturn (a,)";
    assert_eq!(left(remove_noop_ops, x, clone_of_input), ["aten.clone.default"]);
    let two_clones = "m = torch.ops.aten.neg.default(x)\na = torch.ops.aten.clone.default(m)\nb = torch.ops.aten.clone.default(m)\nreturn (a, b)";
    assert_eq!(left(remove_noop_ops, x, two_clones), ["aten.neg.default", "aten.clone.default"]);
}

#[test]
fn a_clone_of_what_is_written_later_stays() {
    let x = "x: \"f32[4]\"";
    let body = "a = torch.ops.aten.clone.default(x)\nw = torch.ops.aten.add_.Tensor(x, 1)\nb = torch.ops.aten.neg.default(a)\nreturn (b,)";
    assert_eq!(left(remove_noop_ops, x, body).len(), 3);
}

#[test]
fn dead_code_goes_and_effects_stay() {
    let x = "x: \"f32[4]\"";
    let body = "a = torch.ops.aten.abs.default(x)\nb = torch.ops.aten.neg.default(a)\nr = torch.ops.aten.rand.default([2], device = device(type='npu', index=0))\nw = torch.ops.aten.add_.Tensor(x, 1)\no = torch.ops.mine.thing.default(x)\nc = torch.ops.aten.neg.default(x)\nreturn (c,)";
    let expected = ["aten.rand.default", "aten.add_.Tensor", "mine.thing.default", "aten.neg.default"];
    assert_eq!(left(remove_dead_code, x, body), expected);
}

#[test]
fn no_ops_behind_no_ops_go_in_one_run() {
    let chain = "a = torch.ops.aten.clone.default(m)\nb = torch.ops.aten.view.default(a, [3, 4])\nc = torch.ops.aten.alias.default(b)\nw = torch.ops.aten.neg.default(c)\nreturn (w,)";
    let body = format!("m = torch.ops.aten.abs.default(x)\n{chain}");
    assert_eq!(left(remove_noop_ops, "x: \"f32[3, 4]\"", &body), ["aten.abs.default", "aten.neg.default"]);
    // What is a no-op only since another one went: a slice of a slice of all.
    let body = "a = torch.ops.aten.slice.Tensor(x, 0, 0, 3)\nb = torch.ops.aten.cat.default([a])\nw = torch.ops.aten.neg.default(b)\nreturn (w,)";
    assert_eq!(left(remove_noop_ops, "x: \"f32[3, 4]\"", body), ["aten.neg.default"]);
}

#[test]
fn every_built_in_pass_goes_through_every_model_and_is_accepted() {
    let registry = Arc::new(Registry::standard());
    let corpus = std::env::var_os("AIRLOCK_CORPUS").map(std::path::PathBuf::from);
    let folder = corpus.map_or_else(|| crate::e2e::file("tests/models"), |c| c.join("models"));
    let mut models = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        for form in ["core.pt2", "train.pt2", "core.fx"] {
            let path = entry.as_ref().unwrap().path().join(form);
            if !path.is_file() {
                continue;
            }
            let graph = match form.ends_with("pt2") {
                true => airlock::formats::pt2::read(&path, &registry).unwrap().graph,
                false => text::read(&std::fs::read_to_string(&path).unwrap(), &ReadOptions::default()).unwrap(),
            };
            let mut graph = graph;
            assert_eq!(registry.check_types(&mut graph), [], "{}", path.display());
            let mut editor = Editor::new(graph, registry.clone());
            for pass in BUILT_IN {
                (pass.run)(&mut editor).unwrap_or_else(|e| panic!("{} on {}: {e}", pass.name, path.display()));
                let verdict = judge_editor(&editor, &JudgeOptions::default());
                assert!(verdict.accepted, "{} on {}: {}", pass.name, path.display(), verdict.reason);
                editor.commit();
            }
            models += 1;
        }
    }
    assert!(models > 10, "{models}");
}
