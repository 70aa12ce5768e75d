//! The other commands, as a user meets them.

use crate::e2e::{airlock, file, json, listing, model, text};

#[test]
fn every_command_has_help_with_an_example() {
    let commands: &[&str] = if cfg!(feature = "sandbox") {
        &["run", "verify", "inspect", "diff", "convert", "exec", "lower", "test", "ops", "new", "build"]
    } else {
        &["verify", "inspect", "diff", "convert", "exec", "lower", "test", "ops", "new", "build"]
    };
    let of_linux: &[&str] = if cfg!(all(feature = "sandbox", target_os = "linux")) { &["cache"] } else { &[] };
    for command in commands.iter().chain(of_linux) {
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

#[test]
fn a_form_of_results_that_a_command_does_not_have_is_an_error_and_nothing_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let model = model("torchair_doc_model", "core");
    let out = folder.path().join("out.fx");
    for (form, args) in [
        ("sarif", vec!["inspect".into(), model.clone()]),
        ("junit", vec!["verify".into(), model.clone(), model.clone()]),
        ("junit", vec!["convert".into(), model.clone(), out.clone()]),
        ("sarif", vec!["ops".into(), "aten.neg".into()]),
        ("junit", vec!["new".into(), folder.path().join("pass")]),
    ] {
        let output = airlock().args(["--format", form]).args(&args).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
        assert!(said.contains(&format!("--format {form}")) && said.contains("json"), "{said}");
    }
    assert!(listing(folder.path()).is_empty());
}

#[test]
fn standard_output_holds_a_model_or_a_report_and_standard_input_one_model() {
    let model = model("torchair_doc_model", "core");
    let both = airlock().args(["convert", "--format", "json"]).arg(&model).arg("-").output().unwrap();
    assert_eq!((both.status.code(), both.stdout.len()), (Some(2), 0), "{}", text(&both.stderr));
    for command in ["diff", "verify"] {
        let output = airlock().args([command, "-", "-"]).write_stdin("").output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("standard input"), "{}", text(&output.stderr));
    }
}

#[test]
fn inspect_reads_standard_input_once() {
    let bytes = std::fs::read(model("torchair_doc_model", "core")).unwrap();
    let output = airlock().args(["inspect", "-", "--format", "json"]).write_stdin(bytes).output().unwrap();
    assert_eq!(json(&output)["nodes"], 6, "{}", text(&output.stderr));
}

#[test]
fn names_cannot_lie_to_the_reader_in_text_or_json() {
    let folder = tempfile::tempdir().unwrap();
    let printed = std::fs::read_to_string(file("tests/models/torchair_doc_model/core.fx")).unwrap();
    // A Cyrillic letter, and a file name that would colour the terminal.
    let model = folder.path().join("red\u{1b}[31m.fx");
    std::fs::write(&model, printed.replace("abs_1", "\u{430}bs_1").replace("x: \"f32", "\u{445}: \"f32")).unwrap();
    for command in ["inspect", "diff"] {
        for form in ["text", "json"] {
            let mut run = airlock();
            run.args([command, "--format", form]).arg(&model);
            if command == "diff" {
                run.arg(file("tests/models/torchair_doc_model/core.fx"));
            }
            let output = run.output().unwrap();
            let plain = |c: &u8| *c == b'\n' || (b' '..=b'~').contains(c);
            assert!(output.stdout.iter().chain(&output.stderr).all(plain), "{command} {form}");
        }
    }
    let lost = airlock().arg("inspect").arg(folder.path().join("no\u{1b}[31m.fx")).output().unwrap();
    assert!(text(&lost.stderr).contains("no\\u{1b}[31m.fx"), "{}", text(&lost.stderr));
}

#[test]
fn verify_of_a_case_accepts_only_what_holds_in_every_mode_whatever_its_label_says() {
    let folder = tempfile::tempdir().unwrap();
    let before = std::fs::read_to_string(file("tests/models/torchair_doc_model/core.fx")).unwrap();
    let other = before.replace("(abs_1, 1)", "(abs_1, 2)");
    for label in ["different", "recorded", "nobody knows"] {
        let case = folder.path().join("x.case");
        let write = |after: &str| {
            let meta = format!("=== meta\nname = 'x'\nlabel = '{label}'\n");
            std::fs::write(&case, format!("{meta}=== before\n{before}\n=== after\n{after}")).unwrap();
        };
        write(&other);
        let refused = airlock().arg("verify").arg(&case).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
        write(&before);
        let accepted = airlock().arg("verify").arg(&case).output().unwrap();
        assert_eq!(accepted.status.code(), Some(0), "{}", text(&accepted.stderr));
    }
}

#[cfg(feature = "sandbox")]
#[test]
fn commands_that_tell_no_trap_by_its_place_take_no_symbols() {
    for command in ["bench", "reduce"] {
        let output = airlock().args([command, "--symbols", "x.pt2", "--pass", "p.wasm"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("unexpected argument '--symbols'"), "{command}");
    }
}
