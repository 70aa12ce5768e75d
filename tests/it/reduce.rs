//! `airlock reduce`: the smallest model on which it still happens, written so that it happens again.

use std::path::Path;

use crate::e2e::{airlock, file, json, model, text};

fn released(name: &str) -> std::path::PathBuf {
    file(&format!("tests/components/released-0.1.0/{name}.wasm"))
}

/// Calls that are left in a written model.
fn calls(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter_map(|l| Some(l.split_once("torch.ops.")?.1.split('(').next()?.to_string())).collect()
}

#[test]
fn a_model_on_which_a_pass_is_refused_shrinks_to_the_call_that_it_breaks() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small.fx");
    let pass = released("broken");
    let reduce = |from: &Path, to: &Path| {
        airlock()
            .args(["reduce", "--format", "json"])
            .arg(from)
            .arg("--pass")
            .arg(&pass)
            .arg("-o")
            .arg(to)
            .output()
            .unwrap()
    };
    let output = reduce(&model("input_mutation", "core"), &small);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    assert_eq!(report["happens"]["refused"]["finding"], "refuted");
    assert!(report["is_smallest"].as_bool().unwrap() && report["nodes"].as_u64() < report["nodes_before"].as_u64());
    assert_eq!(calls(&small), ["aten.add.Tensor"]);
    // What is written does it again, and is its own smallest model; an archive holds what is left of the weights.
    let run = airlock().arg("run").arg(&small).arg("--pass").arg(&pass).output().unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    let again = folder.path().join("again.pt2");
    let output = reduce(&small, &again);
    assert_eq!(json(&output)["nodes"], report["nodes"]);
    let run = airlock().arg("run").arg(&again).arg("--pass").arg(&pass).output().unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
}

#[test]
fn a_model_on_which_a_command_fails_shrinks_to_what_it_fails_for() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small.fx");
    let output = airlock()
        .arg("reduce")
        .arg(model("resnet18", "core"))
        .args(["--check", "! grep -q max_pool2d {}", "-o"])
        .arg(&small)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(calls(&small), ["aten.max_pool2d_with_indices.default"]);
    assert!(!std::fs::read_to_string(&small).unwrap().contains("PARAMETER"));
}

#[test]
fn where_nothing_happens_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small.fx");
    let nothing = airlock()
        .arg("reduce")
        .arg(model("bf16_mlp", "core"))
        .args(["--check", "true", "-o"])
        .arg(&small)
        .output()
        .unwrap();
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("must fail on the whole model") && !small.exists());
    let unwritable = airlock()
        .arg("reduce")
        .arg(model("bf16_mlp", "core"))
        .args(["--check", "false", "-o", "small.onnx"])
        .output()
        .unwrap();
    assert_eq!(unwritable.status.code(), Some(2));
    assert!(text(&unwritable.stderr).contains(".pt2 or .fx"));
}
