//! `airlock exec`, as a user meets it: what agrees, what differs, what is refused and how that is said.

use std::path::{Path, PathBuf};

use crate::e2e::{airlock, file, json, model, text};
use safetensors::Dtype;
use safetensors::tensor::TensorView;

fn recording(name: &str) -> PathBuf {
    file(&format!("tests/models/{name}/io.safetensors"))
}

/// Writes f32 tensors (and others, as bytes) under these names.
fn write(path: &Path, tensors: &[(&str, Dtype, Vec<usize>, Vec<u8>)]) {
    let views = tensors.iter().map(|(n, d, s, b)| (*n, TensorView::new(*d, s.clone(), b).unwrap()));
    std::fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn longs(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn fx(folder: &Path, name: &str, parameters: &str, body: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("def forward(self, {parameters}):\n{body}")).unwrap();
    path
}

/// Runs a command that must be refused; returns what it says.
fn refused(model: &Path, inputs: &Path) -> String {
    let output = airlock().arg("exec").arg(model).arg("--inputs").arg(inputs).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(text(&output.stdout).is_empty());
    said
}

#[test]
fn a_model_agrees_with_its_recording_and_says_how_nearly() {
    let output = airlock()
        .args(["exec", "--compare", "--format", "json", "--inputs"])
        .arg(recording("input_mutation"))
        .arg(model("input_mutation", "core"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found = json(&output);
    assert_eq!(found["equal"], true);
    let roles: Vec<_> = found["tensors"].as_array().unwrap().iter().map(|t| t["role"].as_str().unwrap()).collect();
    assert!(roles.contains(&"output") && roles.contains(&"buffer") && roles.contains(&"input"), "{roles:?}");
    assert!(found["tensors"].as_array().unwrap().iter().all(|t| t["max_ulp"].as_u64().is_some()));
    assert!(found["peak_bytes"].as_u64().unwrap() >= found["live_bytes"].as_u64().unwrap());
}

#[test]
fn another_result_than_the_recorded_one_is_named_and_ends_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = folder.path().join("io.safetensors");
    write(
        &inputs,
        &[("in_0", Dtype::F32, vec![2], floats(&[1.0, 2.0])), ("out_0", Dtype::F32, vec![2], floats(&[-1.0, 2.0]))],
    );
    let graph =
        fx(folder.path(), "neg.fx", "x: \"f32[2]\"", "    neg = torch.ops.aten.neg.default(x)\n    return (neg,)\n");
    let output = airlock().args(["exec", "--compare"]).arg(&graph).arg("--inputs").arg(&inputs).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("element 1 is -2.0, recorded 2.0"), "{}", text(&output.stdout));
}

#[test]
fn missing_surplus_and_unfit_inputs_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let body = "    add = torch.ops.aten.add.Tensor(x, y)\n    return (add,)\n";
    let graph = fx(folder.path(), "add.fx", "x: \"f32[2]\", y: \"f32[2]\"", body);
    let inputs = folder.path().join("in.safetensors");
    let two = || ("in_0", Dtype::F32, vec![2], floats(&[1.0, 2.0]));
    write(&inputs, &[two()]);
    assert!(refused(&graph, &inputs).contains("takes 2 inputs (x, y), 1 are given"));
    write(
        &inputs,
        &[two(), ("in_1", Dtype::F32, vec![2], floats(&[0.0; 2])), ("in_2", Dtype::F32, vec![1], floats(&[0.0]))],
    );
    assert!(refused(&graph, &inputs).contains("takes 2 inputs (x, y), 3 are given"));
    write(&inputs, &[two(), ("in_1", Dtype::I64, vec![2], longs(&[1, 2]))]);
    let said = refused(&graph, &inputs);
    assert!(said.contains("input `y` (number 1)") && said.contains("f32[2]") && said.contains("i64[2]"), "{said}");
    write(&inputs, &[two(), ("in_1", Dtype::F32, vec![1, 2], floats(&[0.0; 2]))]);
    let said = refused(&graph, &inputs);
    assert!(said.contains("input `y`") && said.contains("f32[1, 2]"), "{said}");
    write(&inputs, &[two(), ("in_2", Dtype::F32, vec![2], floats(&[0.0; 2]))]);
    assert!(refused(&graph, &inputs).contains("has no `in_1`"));
}

#[test]
fn an_index_out_of_range_names_node_operator_and_argument() {
    let folder = tempfile::tempdir().unwrap();
    let body = "    picked = torch.ops.aten.index_select.default(x, 0, i)\n    return (picked,)\n";
    let graph = fx(folder.path(), "pick.fx", "x: \"f32[2]\", i: \"i64[1]\"", body);
    let inputs = folder.path().join("in.safetensors");
    write(&inputs, &[("in_0", Dtype::F32, vec![2], floats(&[1.0, 2.0])), ("in_1", Dtype::I64, vec![1], longs(&[7]))]);
    let said = refused(&graph, &inputs);
    for part in ["`picked`", "aten.index_select.default", "`index`", "7"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn a_size_whose_elements_cannot_be_counted_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let body = "    z = torch.ops.aten.full.default([n, n, n], 0.0)\n    add = torch.ops.aten.add.Tensor(x, 1)\n    return (add, z)\n";
    let graph = fx(folder.path(), "full.fx", "x: \"f32[2]\", n: \"Sym(s0)\"", body);
    let inputs = folder.path().join("in.safetensors");
    let metadata = Some([("in_1".to_string(), "4611686018427387904".to_string())].into());
    let bytes = floats(&[1.0, 2.0]);
    let view = TensorView::new(Dtype::F32, vec![2], &bytes).unwrap();
    std::fs::write(&inputs, safetensors::serialize([("in_0", view)], metadata).unwrap()).unwrap();
    let said = refused(&graph, &inputs);
    assert!(said.contains("`z`") && said.contains("aten.full.default"), "{said}");
}

#[test]
fn the_first_node_that_differs_between_two_graphs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let graph = |name: &str, second: &str| {
        let body = format!(
            "    a = torch.ops.aten.abs.default(x)\n    b = torch.ops.aten.{second}(a, 3)\n    c = torch.ops.aten.neg.default(b)\n    return (c,)\n"
        );
        fx(folder.path(), name, "x: \"f32[4]\"", &body)
    };
    let (one, other) = (graph("one.fx", "mul.Scalar"), graph("other.fx", "add.Scalar"));
    let output =
        airlock().args(["exec", "--format", "json"]).arg(&one).arg("--all-nodes").arg(&other).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let found = json(&output);
    assert_eq!(found["first_difference"]["node"], "b");
    assert_eq!(found["first_difference"]["target"], "aten.add.Scalar");
    let output = airlock().args(["exec", "--format", "json"]).arg(&one).arg("--all-nodes").arg(&one).output().unwrap();
    assert_eq!((output.status.code(), &json(&output)["nodes_compared"]), (Some(0), &3.into()));
}

#[test]
fn a_profile_has_a_row_for_each_call() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json");
    let output =
        airlock().arg("exec").arg(model("torchair_doc_model", "core")).arg("--profile").arg(&trace).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("seed 0"));
    let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let names: Vec<_> = events.iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let product = events.iter().find(|e| e["name"] == "aten.mm.default").unwrap();
    assert!(product["args"]["flops"].as_u64().unwrap() > 0 && product["dur"].as_f64().is_some());
}

#[test]
fn a_text_model_without_weights_runs_on_drawn_ones_and_says_so() {
    let output = airlock().arg("exec").arg(file("tests/models/mlp_inplace_relu/core.fx")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("--weights gives real ones"), "{}", text(&output.stderr));
}

#[test]
fn an_operator_of_the_user_runs_by_its_meaning_and_is_lowered_as_its_file_says() {
    let folder = tempfile::tempdir().unwrap();
    let ops = folder.path().join("my.toml");
    let page = std::fs::read_to_string(file("docs/operator-files.md")).unwrap();
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    std::fs::write(&ops, example).unwrap();
    let body = "    leaky = torch.ops.acme.leaky.default(x, 3.0)\n    return (leaky,)\n";
    let graph = fx(folder.path(), "leaky.fx", "x: \"f32[2]\"", body);
    let inputs = folder.path().join("io.safetensors");
    let row = |name, values: &[f32]| (name, Dtype::F32, vec![2], floats(values));
    write(&inputs, &[row("in_0", &[-1.0, 2.0]), row("out_0", &[-3.0, 2.0])]);
    let command = |name: &str| {
        let mut command = airlock();
        command.arg(name).arg(&graph).arg("--ops").arg(&ops);
        command
    };
    let output = command("exec").arg("--compare").arg("--inputs").arg(&inputs).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let lowered = folder.path().join("ge.txt");
    let output = command("lower").arg("-o").arg(&lowered).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let ge = std::fs::read_to_string(lowered).unwrap();
    assert!(ge.contains("type: \"LeakyRelu\"") && ge.contains("negative_slope"), "{ge}");
    let without = airlock().arg("exec").arg(&graph).arg("--inputs").arg(&inputs).output().unwrap();
    assert_eq!(without.status.code(), Some(2));
    assert!(text(&without.stderr).contains("--ops"), "{}", text(&without.stderr));
}

#[test]
fn what_a_recording_does_not_name_was_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let body = "    relu_ = torch.ops.aten.relu_.default(x)\n    add = torch.ops.aten.add.Tensor(relu_, 1.0)\n    return (add,)\n";
    let graph = fx(folder.path(), "write.fx", "x: \"f32[2]\"", body);
    let inputs = folder.path().join("io.safetensors");
    let row = |name, values: &[f32]| (name, Dtype::F32, vec![2], floats(values));
    for (given, code) in [([1.0, 2.0], 0), ([-1.0, 2.0], 1)] {
        let out = given.map(|v: f32| v.max(0.0) + 1.0);
        write(&inputs, &[row("in_0", &given), row("out_0", &out)]);
        let output = airlock().args(["exec", "--compare"]).arg(&graph).arg("--inputs").arg(&inputs).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
    }
}

#[test]
fn what_no_machine_can_hold_is_refused_and_never_ends_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = folder.path().join("in.safetensors");
    write(&inputs, &[("in_0", Dtype::F32, vec![1], floats(&[1.0]))]);
    let bodies = [
        ("full", "    big = torch.ops.aten.full.default([1099511627776, 1024], 1.0)\n    return (big,)\n"),
        (
            "clone",
            "    wide = torch.ops.aten.expand.default(x, [1152921504606846976])\n    big = torch.ops.aten.clone.default(wide)\n    return (big,)\n",
        ),
        (
            "sum",
            "    wide = torch.ops.aten.expand.default(x, [9223372036854775807])\n    big = torch.ops.aten.sum.default(wide)\n    return (big,)\n",
        ),
    ];
    for (name, body) in bodies {
        let graph = fx(folder.path(), &format!("{name}.fx"), "x: \"f32[1]\"", body);
        let said = refused(&graph, &inputs);
        assert!(said.contains("`big`") && said.contains("memory"), "{name}: {said}");
    }
    let graph = fx(
        folder.path(),
        "view.fx",
        "x: \"f32[1]\"",
        "    wide = torch.ops.aten.expand.default(x, [1099511627776])\n    one = torch.ops.aten.select.int(wide, 0, 7)\n    return (one,)\n",
    );
    let output = airlock().arg("exec").arg(&graph).arg("--inputs").arg(&inputs).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "a view takes no memory: {}", text(&output.stderr));
}

#[test]
fn two_graphs_are_compared_by_their_outputs_too_and_loops_round_by_round() {
    let folder = tempfile::tempdir().unwrap();
    let graph = |name: &str, node: &str, target: &str| {
        let body = format!("    {node} = torch.ops.aten.{target}.default(x)\n    return ({node},)\n");
        fx(folder.path(), name, "x: \"f32[4]\"", &body)
    };
    let (one, other) = (graph("one.fx", "a", "abs"), graph("other.fx", "n", "neg"));
    let output =
        airlock().args(["exec", "--format", "json"]).arg(&one).arg("--all-nodes").arg(&other).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(json(&output)["nodes_compared"], 0);
    let looped = model("cond_while", "core");
    let output = airlock().arg("exec").arg(&looped).arg("--all-nodes").arg(&looped).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn the_mask_of_an_expanded_tensor_is_drawn_as_pytorch_lays_it_out() {
    let folder = tempfile::tempdir().unwrap();
    // PyTorch lays the mask of strides [1, 0, 3] out as [1, 3, 12], and of strides [0, 1, 3] as [6, 1, 3]; it is drawn in that order.
    let cases =
        [("[2, 1, 3]", "[2, 4, 3]", "[2, 4, 3]", "[2, 1, 0]"), ("[2, 3, 1]", "[2, 3, 4]", "[4, 2, 3]", "[0, 2, 1]")];
    for (sizes, wide, memory, order) in cases {
        let expanded = format!(
            "    one = torch.ops.aten.full.default({sizes}, 1.0)\n    wide = torch.ops.aten.expand.default(one, {wide})\n    laid = torch.ops.aten.permute.default(wide, [2, 1, 0])\n    drop = torch.ops.aten.native_dropout.default(laid, 0.5, True)\n    mask = drop[1]\n    return (mask,)\n"
        );
        let dense = format!(
            "    rows = torch.ops.aten.full.default({memory}, 1.0)\n    dropped = torch.ops.aten.native_dropout.default(rows, 0.5, True)\n    drawn = dropped[1]\n    there = torch.ops.aten.permute.default(drawn, {order})\n    return (there,)\n"
        );
        let (one, other) = (
            fx(folder.path(), "one.fx", "x: \"f32[1]\"", &expanded),
            fx(folder.path(), "other.fx", "x: \"f32[1]\"", &dense),
        );
        let output = airlock().arg("exec").arg(&one).arg("--all-nodes").arg(&other).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    }
}
