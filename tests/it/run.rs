//! `airlock run`: what is accepted is written, what is refused or faulted is not in the output.

use crate::e2e::{airlock, component, file, json, listing, model, text};

#[test]
fn the_document_model_goes_through_stream_split_to_a_ge_graph_with_streams_and_control_edges() {
    let Some(pass) = component("stream-split") else { return };
    let folder = tempfile::tempdir().unwrap();
    let lowered = folder.path().join("out.bin");
    let output = airlock()
        .args(["run", "--format", "json", "--lower"])
        .arg(&lowered)
        .arg(model("torchair_doc_model", "core"))
        .arg("--pass")
        .arg(&pass)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = json(&output);
    let pass = &report["passes"][0];
    assert_eq!((pass["name"].as_str(), pass["outcome"].as_str()), (Some("stream-split"), Some("accepted")));
    assert_eq!(
        (pass["verdict"]["verdict"].as_str(), pass["verdict"]["level"].as_str()),
        (Some("proved"), Some("exact"))
    );
    assert_eq!(pass["edits"]["inserted"], 4);
    let graph = airlock::lower::ge::read_file(&lowered).unwrap();
    let op = |kind: &str| graph.op.iter().find(|o| o.r#type == kind).unwrap();
    let label = |kind: &str| match op(kind).attr.get("_user_stream_label").and_then(|a| a.value.clone()) {
        Some(airlock::lower::ge::proto::attr_def::Value::S(label)) => Some(text(&label)),
        _ => None,
    };
    let side = Some("stream_1".to_string());
    assert_eq!((label("MatMul"), label("Abs"), label("Add"), label("Sub")), (side.clone(), side, None, None));
    let control: Vec<&str> = op("Sub").control_inputs().collect();
    assert_eq!(control, [op("Abs").name.as_str()], "Sub waits for where record stood");
}

#[test]
fn stream_split_makes_what_torchair_lowers_of_its_documents_example() {
    let Some(pass) = component("stream-split") else { return };
    let folder = tempfile::tempdir().unwrap();
    for case in ["doc_pre_pass", "doc_post_pass"] {
        let case = file(&format!("tests/torchair/scope/{case}"));
        let edited = folder.path().join("edited.fx");
        let run = airlock()
            .arg("run")
            .arg(case.join("in.fx"))
            .arg("--pass")
            .arg(&pass)
            .arg("-o")
            .arg(&edited)
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let same = airlock().arg("lower").arg(&edited).arg("--compare").arg(case.join("ge.bin")).output().unwrap();
        assert_eq!(same.status.code(), Some(0), "{}{}", text(&same.stdout), text(&same.stderr));
    }
}

#[test]
fn a_broken_pass_is_refused_with_the_differing_nodes_and_the_output_is_the_original_model() {
    let Some(pass) = component("broken") else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt2");
    let model = model("torchair_doc_model", "core");
    let output = airlock()
        .args(["run", "--format", "json"])
        .arg(&model)
        .arg("--pass")
        .arg(&pass)
        .arg("-o")
        .arg(&out)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let report = json(&output);
    let pass = &report["passes"][0];
    assert_eq!((pass["outcome"].as_str(), pass["verdict"]["accepted"].as_bool()), (Some("refused"), Some(false)));
    assert_eq!(pass["verdict"]["nodes"], serde_json::json!(["sub"]), "the node whose operands were swapped is named");
    let diff = airlock().arg("diff").arg(&model).arg(&out).output().unwrap();
    assert_eq!((diff.status.code(), diff.stdout.len()), (Some(0), 0), "{}", text(&diff.stdout));
}

#[test]
fn an_endless_pass_ends_by_fuel_and_leaves_no_trace() {
    let Some(pass) = component("endless") else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.pt2");
    let model = model("mlp_inplace_relu", "core");
    let output = airlock()
        .args(["run", "--format", "json", "--fuel", "10000000"])
        .arg(&model)
        .arg("--pass")
        .arg(&pass)
        .arg("-o")
        .arg(&out)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let fault = &json(&output)["passes"][0]["fault"];
    assert_eq!((fault["kind"].as_str(), fault["limit"].as_u64()), (Some("fuel"), Some(10_000_000)));
    assert!(fault["used"].as_u64().unwrap() > 9_000_000, "{fault}");
    let diff = airlock().arg("diff").arg(&model).arg(&out).output().unwrap();
    assert_eq!((diff.status.code(), diff.stdout.len()), (Some(0), 0), "{}", text(&diff.stdout));
}

#[test]
fn a_run_goes_on_after_a_refused_pass_unless_all_or_nothing_is_wanted() {
    let (Some(broken), Some(split)) = (component("broken"), component("stream-split")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let model = model("torchair_doc_model", "core");
    let run = |out: &str, more: &[&str]| {
        let out = folder.path().join(out);
        let mut command = airlock();
        command
            .arg("run")
            .arg(&model)
            .args(more)
            .arg("--pass")
            .arg(&broken)
            .arg("--pass")
            .arg(&split)
            .arg("-o")
            .arg(&out);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        std::fs::read_to_string(&out).unwrap()
    };
    assert!(run("on.fx", &[]).contains("air.scope_enter"));
    assert!(!run("nothing.fx", &["--all-or-nothing"]).contains("air."));
}

#[test]
fn a_dump_holds_the_graph_before_and_after_each_pass_and_what_runs_a_refusal_again() {
    let (Some(broken), Some(split)) = (component("broken"), component("stream-split")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump");
    let output = airlock()
        .arg("run")
        .arg(model("torchair_doc_model", "core"))
        .arg("--pass")
        .arg(&split)
        .arg("--pass")
        .arg(format!("{}@post", broken.display()))
        .arg("--dump")
        .arg(&dump)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let expected =
        ["000_graph.fx", "001_graph_after_stream-split.fx", "002_graph_after_broken_refused.fx", "reproducers"];
    assert_eq!(listing(&dump), expected);
    let again = airlock().arg("verify").arg(dump.join("reproducers/000_broken.case")).output().unwrap();
    assert_eq!(again.status.code(), Some(1), "{}{}", text(&again.stdout), text(&again.stderr));
}

#[test]
fn the_configuration_is_found_and_printed_with_where_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("airlock.toml"),
        "policy = 'strict'\n[limits]\nfuel_base = 7\n[judge]\nrules = 9\n",
    )
    .unwrap();
    let output = airlock()
        .current_dir(folder.path())
        .args(["run", "--print-config", "--mode", "max-autotune"])
        .output()
        .unwrap();
    let shown = text(&output.stdout);
    assert!(
        shown.contains("policy = \"strict\"") && shown.contains("airlock.toml") && shown.contains("# flag"),
        "{shown}"
    );
    let line = |name: &str| shown.lines().find(|l| l.starts_with(name)).unwrap_or_default();
    assert!(line("fuel_base = 7 ").contains("airlock.toml"), "{shown}");
    assert!(line("memory_bytes").ends_with("# default"), "{shown}");
    assert!(line("rules = 9 ").contains("airlock.toml") && line("region").ends_with("# default"), "{shown}");
}

#[test]
fn a_fault_leaves_a_file_that_run_reads_again() {
    let Some(pass) = component("endless") else { return };
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let run = |model: &std::path::Path| {
        let mut command = airlock();
        command.args(["run", "--format", "json", "--fuel", "1000000", "--pass"]).arg(&pass).arg(model);
        command.arg("--reproducer").arg(&kept).output().unwrap()
    };
    let first = run(&model("torchair_doc_model", "core"));
    assert_eq!(first.status.code(), Some(3), "{}", text(&first.stderr));
    let report = json(&first);
    let again = run(std::path::Path::new(report["passes"][0]["reproducer"].as_str().unwrap()));
    assert_eq!(again.status.code(), Some(3), "{}", text(&again.stderr));
    assert_eq!(json(&again)["passes"][0]["fault"], report["passes"][0]["fault"]);
}

#[test]
fn where_one_output_cannot_be_written_none_is() {
    let Some(pass) = component("stream-split") else { return };
    let folder = tempfile::tempdir().unwrap();
    let model = model("torchair_doc_model", "core");
    let out = folder.path().join("out.fx");
    let lost = folder.path().join("lost/ge.txt");
    let page = folder.path().join("lost/page.html");
    let taken = folder.path().join("taken.fx");
    let fails = |args: &[&std::ffi::OsStr]| {
        let mut command = airlock();
        command.arg("run").arg(&model).arg("--pass").arg(&pass).args(args);
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{}", text(&output.stderr));
        assert!(listing(folder.path()).is_empty(), "{:?}", listing(folder.path()));
    };
    fails(&["-o".as_ref(), out.as_ref(), "--lower".as_ref(), lost.as_ref()]);
    fails(&["-o".as_ref(), out.as_ref(), "--report".as_ref(), page.as_ref()]);
    fails(&["-o".as_ref(), taken.as_ref(), "--report".as_ref(), taken.as_ref()]);
    fails(&["-o".as_ref(), out.as_ref(), "--mode=reduce-overhead".as_ref(), "--lower=ge.txt".as_ref()]);
    fails(&["-o".as_ref(), "-".as_ref(), "--format=json".as_ref()]);
    fails(&["--grant=everything".as_ref(), "-o".as_ref(), out.as_ref()]);
    fails(&["--time=nan".as_ref(), "-o".as_ref(), out.as_ref()]);
}

#[test]
fn a_model_on_standard_output_is_nothing_but_the_model_and_the_table_beside_it_has_no_colours() {
    let Some(pass) = component("stream-split") else { return };
    let mut command = airlock();
    command.arg("run").arg(model("torchair_doc_model", "core")).arg("--pass").arg(&pass).args(["-o", "-"]);
    let output = command.output().unwrap();
    assert!(text(&output.stdout).starts_with("ExportedProgram:"), "{}", text(&output.stdout));
    let said = text(&output.stderr);
    assert!(said.contains("accepted") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn an_output_that_is_another_one_or_an_input_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::copy(model("add_rms_norm", "core"), at("model.pt2")).unwrap();
    let before = std::fs::read(at("model.pt2")).unwrap();
    for (args, what) in [
        (["-o", "out.fx", "--report", "./out.fx"], "two outputs cannot both be"),
        (["-o", "out.fx", "--report", "model.pt2"], "it is read as"),
        (["-o", "out.fx", "--report", "./more.wasm"], "it is read as"),
        (["-o", "./model.pt2", "--report", "r.html"], "it is read as"),
        (["-o", "out.fx", "--lower", "../nowhere/out.txt"], "there is no folder"),
    ] {
        std::fs::write(at("more.wasm"), "no component").unwrap();
        let mut command = airlock();
        command.current_dir(folder.path()).args(["run", "model.pt2", "--pass", "more.wasm"]).args(args);
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read(at("model.pt2")).unwrap(), before);
    assert_eq!(listing(folder.path()), ["model.pt2", "more.wasm"]);
}

#[cfg(unix)]
#[test]
fn a_device_stays_a_device_whichever_output_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["o.fx", "r.html", "l.txt"] {
        std::os::unix::fs::symlink("/dev/null", folder.path().join(name)).unwrap();
    }
    let mut command = airlock();
    command.current_dir(folder.path()).arg("run").arg(model("add_rms_norm", "core"));
    let output = command.args(["-o", "o.fx", "--report", "r.html", "--lower", "l.txt"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["o.fx", "r.html", "l.txt"] {
        let path = folder.path().join(name);
        assert!(std::fs::symlink_metadata(&path).unwrap().is_symlink() && !std::fs::metadata(&path).unwrap().is_file());
    }
}
