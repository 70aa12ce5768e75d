//! One contract, several languages: the example passes make the same edits in each, byte for byte.
//!
//! `scripts/setup.sh --languages` builds the components. A language whose components are not there is skipped, loudly, unless
//! `AIRLOCK_LANGUAGES_REQUIRED` names it (as `scripts/test.sh` does): then the test fails.

use std::io::Write;
use std::path::PathBuf;

use airlock::contract::{self, Limits};

use crate::e2e::{airlock, component, file, json, model, text};

/// The languages beside Rust, which the others are compared with.
const LANGUAGES: [&str; 1] = ["c"];

/// Each pass with graphs on which it edits, or is refused or faults, and one on which it does nothing (unless it always does).
const PASSES: [(&str, &[&str]); 8] = [
    (
        "stream-split",
        &[
            "tests/models/torchair_doc_model/core.pt2",
            PRE,
            "tests/torchair/scope/doc_post_pass/in.fx",
            "tests/models/vit/core.fx",
        ],
    ),
    ("dedup", &["tests/models/gpt2/core.fx", "tests/models/llama_prefill/core.fx", "tests/models/bert/core.fx", PRE]),
    (
        "add-rms-norm",
        &[
            "tests/models/add_rms_norm/core.fx",
            "tests/languages/rms_norm.fx",
            "tests/languages/rms_norm_written_out.fx",
            PRE,
        ],
    ),
    (
        "dead-code",
        &["tests/languages/dead_chain.fx", "tests/languages/dead_symbolic.fx", "tests/languages/dead_in_body.fx", PRE],
    ),
    ("broken", &[PRE, "tests/models/add_rms_norm/core.fx", "tests/models/cond_while/core.fx"]),
    ("endless", &[PRE, "tests/models/add_rms_norm/core.fx", "tests/models/cond_while/core.fx"]),
    (
        "annotate",
        &[PRE, "tests/models/gpt2/core.fx", "tests/models/llama_prefill/core.fx", "tests/models/cond_while/core.fx"],
    ),
    (
        "same-shape",
        &["tests/models/gpt2/core.fx", "tests/languages/views_symbolic.fx", "tests/languages/views_in_body.fx", PRE],
    ),
];

const PRE: &str = "tests/torchair/scope/doc_pre_pass/in.fx";

/// Says something past the test runner's capture.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The component of a pass in a language, if it is there.
fn component_in(language: &str, pass: &str) -> Option<PathBuf> {
    if language == "rust" {
        return component(pass);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| file("target"), PathBuf::from);
    let path = target.join(format!("components/{language}/{pass}.wasm"));
    if path.is_file() {
        return Some(path);
    }
    let required = std::env::var("AIRLOCK_LANGUAGES_REQUIRED").unwrap_or_default();
    let is_required = required.split(',').any(|required| required == language);
    assert!(!is_required, "{} is missing: run scripts/setup.sh --languages", path.display());
    say(&format!("skipped: {} is missing; scripts/setup.sh --languages builds it", path.display()));
    None
}

/// What can be seen of a run from outside, but for fuel, times and the component's own path.
#[derive(Debug, PartialEq)]
struct Seen {
    exit: Option<i32>,
    edits: String,
    output: String,
    outcome: String,
    note: String,
    log: serde_json::Value,
}

fn run(component: &std::path::Path, graph: &str, more: &[&str]) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let (edits, edited) = (folder.path().join("edits.jsonl"), folder.path().join("edited.fx"));
    let output = airlock()
        .args(["run", "--format", "json", "--trials", "0", "--edits"])
        .args([&edits, &PathBuf::from("-o"), &edited, &file(graph)])
        .arg("--pass")
        .arg(component)
        .args(more)
        .output()
        .unwrap();
    assert!(edits.is_file(), "{graph}: {}", text(&output.stderr));
    let pass = json(&output)["passes"][0].clone();
    let string = |key: &str| pass[key].as_str().unwrap().to_owned();
    Seen {
        exit: output.status.code(),
        edits: std::fs::read_to_string(edits).unwrap(),
        output: std::fs::read_to_string(edited).unwrap(),
        outcome: string("outcome"),
        note: string("note"),
        log: pass["log"].clone(),
    }
}

/// Holds a pass in every language against the one in Rust.
fn is_the_same_in_every_language(pass: &str, more: &[&str]) {
    let Some(rust) = component_in("rust", pass) else { return };
    let (_, graphs) = PASSES.iter().find(|(name, _)| *name == pass).unwrap();
    let others: Vec<_> =
        LANGUAGES.iter().filter_map(|language| Some((language, component_in(language, pass)?))).collect();
    let mut with_edits = 0;
    for graph in *graphs {
        let expected = run(&rust, graph, more);
        with_edits += usize::from(!expected.edits.is_empty());
        for (language, component) in &others {
            assert_eq!(run(component, graph, more), expected, "{pass} on {graph} in {language}");
        }
    }
    assert!(with_edits >= 3, "{pass} edits {with_edits} graphs");
}

#[test]
fn stream_split_is_the_same_in_every_language() {
    is_the_same_in_every_language("stream-split", &["--option", "stream=side"]);
}

#[test]
fn dedup_is_the_same_in_every_language() {
    is_the_same_in_every_language("dedup", &[]);
}

#[test]
fn add_rms_norm_is_the_same_in_every_language() {
    is_the_same_in_every_language("add-rms-norm", &[]);
}

#[test]
fn dead_code_is_the_same_in_every_language() {
    is_the_same_in_every_language("dead-code", &[]);
}

#[test]
fn broken_is_the_same_in_every_language_and_the_log_ends_with_the_refusal() {
    is_the_same_in_every_language("broken", &[]);
    let Some(rust) = component_in("rust", "broken") else { return };
    let lines = |graph| run(&rust, graph, &[]).edits;
    assert!(lines(PRE).ends_with("{\"pass\":\"broken\",\"ended\":\"refused\"}\n"), "{}", lines(PRE));
    assert_eq!(lines("tests/models/cond_while/core.fx"), "{\"pass\":\"broken\",\"ended\":\"faulted\"}\n");
}

#[test]
fn endless_is_the_same_in_every_language_and_leaves_its_edits_in_the_log_only() {
    is_the_same_in_every_language("endless", &["--fuel", "300000000"]);
}

#[test]
fn annotate_is_the_same_in_every_language() {
    is_the_same_in_every_language("annotate", &["--pass-config", "mine"]);
    is_the_same_in_every_language("annotate", &["--option", "limit=1", "--option", "note=here"]);
}

#[test]
fn same_shape_is_the_same_in_every_language() {
    is_the_same_in_every_language("same-shape", &[]);
}

#[test]
fn no_component_imports_anything_outside_of_the_contract() {
    for language in LANGUAGES {
        for (pass, _) in PASSES {
            let Some(path) = component_in(language, pass) else { continue };
            let found = contract::check("p", &std::fs::read(&path).unwrap(), &Limits::default());
            let found = found.unwrap_or_else(|error| panic!("{} {error}", path.display()));
            assert!(found.exports.iter().any(|export| export == "airlock:pass/pass@0.1.1"), "{found:?}");
        }
    }
}

#[test]
fn a_new_pass_in_c_builds_and_prints_to_the_log() {
    let Some(_) = component_in("c", "dedup") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (dir, wasm) = (folder.path().join("no-negation"), folder.path().join("out.wasm"));
    let new = airlock().args(["new", "--lang", "c"]).arg(&dir).output().unwrap();
    assert_eq!(new.status.code(), Some(0), "{}", text(&new.stderr));
    let source = std::fs::read_to_string(dir.join("pass.c")).unwrap();
    let printing = source
        .replace("#include <airlock.h>", "#include <airlock.h>\n#include <stdio.h>")
        .replace("size_t edits = 0;", "size_t edits = 0;\n    printf(\"%d lines\\nno end\", 2);");
    std::fs::write(dir.join("pass.c"), printing).unwrap();
    let build = airlock().arg("build").arg(&dir).arg("-o").arg(&wasm).output().unwrap();
    assert_eq!(build.status.code(), Some(0), "{}", text(&build.stderr));
    let run = airlock()
        .args(["run", "--format", "json", "--pass"])
        .arg(&wasm)
        .arg(model("torchair_doc_model", "core"))
        .output()
        .unwrap();
    let pass = &json(&run)["passes"][0];
    assert_eq!((pass["name"].as_str(), pass["outcome"].as_str()), (Some("no-negation"), Some("unchanged")), "{pass}");
    let log: Vec<_> = pass["log"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(log, ["2 lines", "no end"]);
}

#[test]
fn a_source_that_does_not_compile_is_no_component() {
    let Some(_) = component_in("c", "dedup") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (source, wasm) = (folder.path().join("wrong.c"), folder.path().join("out.wasm"));
    std::fs::write(&source, "#include <airlock.h>\nint wrong(").unwrap();
    let build = airlock().arg("build").arg(&source).arg("-o").arg(&wasm).output().unwrap();
    assert_eq!(build.status.code(), Some(2));
    let says = text(&build.stderr);
    assert!(says.contains("wrong.c:2") && says.contains("could not build `wrong`"), "{says}");
    assert!(!wasm.exists());
}

#[test]
fn where_a_compiler_is_missing_the_package_and_the_command_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("pass.c");
    std::fs::write(&source, "#include <airlock.h>\n").unwrap();
    let build = airlock()
        .arg("build")
        .arg(&source)
        .env("PATH", folder.path())
        .env("AIRLOCK_GUEST_CACHE", folder.path().join("cache"))
        .output()
        .unwrap();
    assert_eq!(build.status.code(), Some(2));
    assert!(text(&build.stderr).contains("pip install ziglang"), "{}", text(&build.stderr));
}

/// `AIRLOCK_UPDATE=1` writes what is committed anew.
#[test]
fn the_bindings_of_c_are_what_the_generator_makes_of_the_contract() {
    let mut resolve = wit_bindgen_core::wit_parser::Resolve::default();
    let package = resolve.push_str("airlock-pass.wit", contract::WIT).unwrap();
    let world = resolve.select_world(&[package], Some("graph-pass")).unwrap();
    let options = wit_bindgen_c::Opts { no_object_file: true, ..Default::default() };
    let mut files = wit_bindgen_core::Files::default();
    options.build().generate(&mut resolve, world, &mut files).unwrap();
    for (name, bytes) in files.iter() {
        let path = file("sdk/c/bindings").join(name);
        if std::env::var_os("AIRLOCK_UPDATE").is_some() {
            std::fs::write(&path, bytes).unwrap();
        }
        assert!(std::fs::read(&path).unwrap() == bytes, "{name} is not up to date: AIRLOCK_UPDATE=1 writes it");
    }
}
