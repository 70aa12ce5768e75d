//! Components that were built for an older version of the contract run on this host as they did on theirs.

use std::path::PathBuf;

use crate::e2e::{airlock, file, json, model, text};
use airlock::contract::{self, Limits};

const FOLDER: &str = "tests/components/released-0.1.0";

/// Component, model, outcome, nodes that were inserted, erased and changed. What the judge makes of a fused norm may change
/// with what it can prove; what the pass does may not.
type Row = (&'static str, &'static str, &'static [&'static str], [u64; 3]);

const ROWS: &[Row] = &[
    ("add-rms-norm", "add_rms_norm", &["accepted", "refused"], [3, 7, 1]),
    ("broken", "torchair_doc_model", &["refused"], [0, 0, 1]),
    ("dedup", "llama_prefill_eager", &["accepted"], [0, 15, 12]),
    ("endless", "torchair_doc_model", &["faulted"], [0, 0, 0]),
    ("stream-split", "torchair_doc_model", &["accepted"], [4, 0, 0]),
];

fn component(name: &str) -> PathBuf {
    file(FOLDER).join(format!("{name}.wasm"))
}

#[test]
fn every_component_that_is_kept_has_a_row() {
    let mut kept: Vec<String> = std::fs::read_dir(file(FOLDER))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "wasm"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    kept.sort();
    assert_eq!(kept, ROWS.iter().map(|row| row.0).collect::<Vec<_>>());
}

#[test]
fn a_component_of_an_older_contract_does_what_it_did() {
    for (name, graph, outcomes, edits) in ROWS {
        let run = airlock()
            .args(["run", "--format", "json", "--no-builtin", "--fuel", "10000000"])
            .arg(model(graph, "core"))
            .arg("--pass")
            .arg(component(name))
            .output()
            .unwrap();
        let report = json(&run);
        let pass = &report["passes"][0];
        assert_eq!(
            (pass["name"].as_str(), pass["version"].as_str()),
            (Some(*name), Some("0.1.0")),
            "{}",
            text(&run.stderr)
        );
        assert!(outcomes.contains(&pass["outcome"].as_str().unwrap()), "{name}: {pass}");
        let count = |key: &str| pass["edits"][key].as_u64().unwrap_or_default();
        assert_eq!(["inserted", "erased", "changed"].map(count), *edits, "{name}: {pass}");
    }
}

#[test]
fn an_older_component_names_the_version_that_it_was_built_for() {
    for (name, ..) in ROWS {
        let found = contract::check(name, &std::fs::read(component(name)).unwrap(), &Limits::default()).unwrap();
        assert_eq!(found.exports, ["airlock:pass/pass@0.1.0"], "{name}");
        assert!(found.functions_used().iter().all(|import| !import.starts_with("graph.effects-of")), "{name}");
    }
}
