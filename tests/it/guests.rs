//! The example passes, as built by `scripts/setup.sh`, take from the host what the contract has and nothing else.

use std::path::PathBuf;

use airlock::contract::{self, Limits};

const EXAMPLES: [&str; 8] =
    ["add-rms-norm", "annotate", "broken", "dead-code", "dedup", "endless", "same-shape", "stream-split"];

/// The component of an example; nothing, with a word, where the examples are not built.
fn component(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/components").join(format!("{name}.wasm"));
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        eprintln!("skipped: {} is not there; scripts/setup.sh builds it", path.display());
    }
    bytes
}

#[test]
fn example_passes_import_nothing_outside_of_the_contract() {
    for (name, bytes) in EXAMPLES.iter().filter_map(|name| Some((name, component(name)?))) {
        let found = contract::check("p", &bytes, &Limits::default()).unwrap_or_else(|error| panic!("{name} {error}"));
        assert!(found.exports.iter().any(|export| export == "airlock:pass/pass@0.1.1"), "{name}: {found:?}");
        assert!(
            !found.functions_used().iter().any(|import| import.starts_with("constants.")),
            "{name} asks for weights"
        );
    }
}

#[test]
fn dedup_reads_in_columns_and_edits_in_batches() {
    let Some(bytes) = component("dedup") else { return };
    let found = contract::check("p", &bytes, &Limits::default()).unwrap();
    for call in ["graph.read-columns", "graph.effects-of", "graph.apply"] {
        assert!(found.functions_used().iter().any(|import| import == call), "{call}: {found:?}");
    }
    assert!(!found.functions_used().iter().any(|import| import == "graph.args"), "{found:?}");
}

#[test]
fn example_passes_keep_the_names_of_their_functions() {
    for (name, bytes) in EXAMPLES.iter().filter_map(|name| Some((name, component(name)?))) {
        let mut sections = wasmparser::Parser::new(0).parse_all(&bytes).flatten();
        let named =
            sections.any(|payload| matches!(payload, wasmparser::Payload::CustomSection(c) if c.name() == "name"));
        assert!(named, "{name}: a trap could not say where it happened");
    }
}
