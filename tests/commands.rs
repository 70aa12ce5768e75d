//! The other commands, as a user meets them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects
)]

mod e2e;

use e2e::{airlock, file, json, model, text};

#[test]
fn every_command_has_help_with_an_example() {
    let commands: &[&str] = if cfg!(feature = "sandbox") {
        &["run", "verify", "inspect", "diff", "convert", "lower", "test", "ops", "new", "build"]
    } else {
        &["verify", "inspect", "diff", "convert", "lower", "test", "ops", "new", "build"]
    };
    for command in commands {
        let output = airlock().args([command, "--help"]).output().unwrap();
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("airlock "), "{command}: {}", text(&output.stdout));
    }
}

#[test]
fn a_model_read_from_standard_input_converts_to_what_pytorch_prints() {
    let printed = std::fs::read_to_string(file("tests/models/add_rms_norm/core.fx")).unwrap();
    let bytes = std::fs::read(model("add_rms_norm", "core")).unwrap();
    let output = airlock().args(["convert", "-", "-"]).write_stdin(bytes).output().unwrap();
    assert_eq!(text(&output.stdout), printed, "{}", text(&output.stderr));
}

#[test]
fn inspect_tells_what_is_in_a_model() {
    let output =
        airlock().args(["inspect", "--format", "json"]).arg(model("torchair_doc_model", "core")).output().unwrap();
    let found = json(&output);
    assert_eq!((found["kind"].as_str(), found["nodes"].as_u64()), (Some("model"), Some(6)));
    assert_eq!(found["operators"]["aten.mm.default"], 1);
    assert_eq!(found["inputs"][0]["name"], "x");
    assert_eq!(found["outputs"].as_array().unwrap().len(), 2);
}

#[test]
fn diff_shows_the_edit_and_says_so_by_its_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let before = std::fs::read_to_string(file("tests/models/torchair_doc_model/core.fx")).unwrap();
    let after = folder.path().join("after.fx");
    std::fs::write(&after, before.replace("add.Tensor(abs_1, 1)", "add.Tensor(abs_1, 2)")).unwrap();
    let before = file("tests/models/torchair_doc_model/core.fx");
    let output = airlock().args(["diff", "--format", "json"]).arg(&before).arg(&after).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let changes = json(&output);
    assert_eq!(changes["changes"].as_array().unwrap().len(), 1);
    assert_eq!(
        (changes["changes"][0]["change"].as_str(), changes["changes"][0]["node"].as_str()),
        (Some("changed"), Some("add"))
    );
    let same = airlock().arg("diff").arg(&before).arg(&before).output().unwrap();
    assert_eq!(same.status.code(), Some(0));
}

#[test]
fn verify_refuses_another_constant_and_accepts_the_graph_itself() {
    let folder = tempfile::tempdir().unwrap();
    let before = file("tests/models/torchair_doc_model/core.fx");
    let other = folder.path().join("other.fx");
    std::fs::write(&other, std::fs::read_to_string(&before).unwrap().replace("(abs_1, 1)", "(abs_1, 2)")).unwrap();
    let refused = airlock().args(["verify", "--format", "json"]).arg(&before).arg(&other).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    let verdict = json(&refused);
    assert_eq!((verdict["accepted"].as_bool(), verdict["question"].as_str()), (Some(false), Some("values")));
    let accepted = airlock().arg("verify").arg(&before).arg(&before).output().unwrap();
    assert_eq!(accepted.status.code(), Some(0), "{}", text(&accepted.stdout));
}

#[test]
fn an_after_that_is_not_well_formed_is_refused_for_form_and_a_before_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let good = file("tests/models/torchair_doc_model/core.fx");
    let bad = folder.path().join("bad.fx");
    std::fs::write(&bad, std::fs::read_to_string(&good).unwrap().replace("abs.default(mm)", "abs.default(sub)"))
        .unwrap();
    let refused = airlock().args(["verify", "--format", "json"]).arg(&good).arg(&bad).output().unwrap();
    assert_eq!((refused.status.code(), json(&refused)["question"].as_str()), (Some(1), Some("form")));
    let error = airlock().arg("verify").arg(&bad).arg(&good).output().unwrap();
    assert_eq!(error.status.code(), Some(2));
}

#[test]
fn an_operator_nobody_knows_is_read_and_a_command_that_needs_its_meaning_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let text_of = std::fs::read_to_string(file("tests/models/torchair_doc_model/core.fx")).unwrap();
    let model = folder.path().join("opaque.fx");
    std::fs::write(&model, text_of.replace("torch.ops.aten.abs.default", "torch.ops.mine.thing.default")).unwrap();
    let read = airlock().args(["inspect", "--format", "json"]).arg(&model).output().unwrap();
    assert_eq!((read.status.code(), json(&read)["opaque"][0].as_str()), (Some(0), Some("mine.thing.default")));
    let out = folder.path().join("out.pbtxt");
    let lower = airlock().arg("lower").arg(&model).arg("-o").arg(&out).output().unwrap();
    assert_eq!(lower.status.code(), Some(2));
    assert!(text(&lower.stderr).contains("mine.thing.default"), "{}", text(&lower.stderr));
    assert!(!out.exists());
}
