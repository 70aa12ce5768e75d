//! Every exported model reads from its `.pt2`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::string_slice, clippy::arithmetic_side_effects)]

use std::path::{Path, PathBuf};

use airlock::formats::pt2;
use airlock::graph::{BodyId, NodeKind, View};
use airlock::ops::Registry;

/// Every `.pt2` of the models, in order.
fn archives() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let mut found = Vec::new();
    for model in std::fs::read_dir(root).unwrap().flatten() {
        for form in ["core", "train"] {
            let path = model.path().join(form).with_extension("pt2");
            if path.exists() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_model_reads_with_the_names_and_the_order_of_pytorchs_loader() {
    let ops = Registry::standard();
    let archives = archives();
    assert_eq!(archives.len(), 60);
    for path in archives {
        let model = pt2::read(&path, &ops).unwrap_or_else(|e| panic!("{e}"));
        let printed = std::fs::read_to_string(loaded(&path)).unwrap();
        let mut at = 0;
        for node in model.graph.nodes(BodyId::ROOT) {
            let name = model.graph.name(node);
            if model.graph.kind(node) == NodeKind::Call {
                let found =
                    printed[at..].find(&format!(" {name}: ")).or_else(|| printed[at..].find(&format!(" {name} = ")));
                at += found.unwrap_or_else(|| panic!("{}: {name}", path.display()));
            }
        }
    }
}

/// The print of the program as PyTorch loads it.
fn loaded(path: &Path) -> PathBuf {
    let loaded = path.with_extension("loaded.fx");
    if loaded.exists() { loaded } else { path.with_extension("fx") }
}
