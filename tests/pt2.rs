//! Every exported model reads from its `.pt2`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::string_slice,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

use std::io::Read;
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

/// The entries of an archive by name below the root folder.
fn entries(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    (0..zip.len())
        .map(|i| {
            let mut entry = zip.by_index(i).unwrap();
            let name = entry.name().unwrap().split_once('/').unwrap().1.to_string();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (name, content)
        })
        .collect()
}

#[test]
fn an_unedited_model_is_written_byte_for_byte_as_it_was() {
    let ops = Registry::standard();
    let dir = tempfile::tempdir().unwrap();
    for path in archives() {
        let model = pt2::read(&path, &ops).unwrap();
        let copy = dir.path().join(path.file_name().unwrap());
        pt2::write(&model, &copy, &ops).unwrap_or_else(|e| panic!("{e}"));
        let (before, after) = (std::fs::read(&path).unwrap(), std::fs::read(&copy).unwrap());
        for (old, new) in entries(&before).iter().zip(&entries(&after)) {
            assert_eq!(old.0, new.0, "{}", path.display());
            // PyTorch's id is a hash of another kind.
            if old.1 != new.1 && old.0 != ".data/serialization_id" {
                let at = old.1.iter().zip(&new.1).position(|(a, b)| a != b).unwrap_or(old.1.len().min(new.1.len()));
                let cut = |b: &[u8]| {
                    String::from_utf8_lossy(&b[at.saturating_sub(150)..(at + 150).min(b.len())]).into_owned()
                };
                panic!("{}: {}\nbefore: {}\nafter:  {}", path.display(), old.0, cut(&old.1), cut(&new.1));
            }
        }
        assert_eq!(before.len(), after.len(), "{}", path.display());
        let differing = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        assert!(differing <= 40 + 8, "{}: {differing} bytes differ beyond the id", path.display());
    }
}
