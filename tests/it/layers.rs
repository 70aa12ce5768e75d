//! A module uses those of lower layers, and none of its own layer.
//!
//! This table is the only place where the rule is written as code; `docs/architecture.md` tells what lives where.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Layer by module: the first component of a path below `crate::` (of `formats::` and `lower::`: all parts are one layer).
const LAYERS: &[(&str, u8)] = &[
    ("sym", 0),
    ("graph", 1),
    ("ops", 2),
    ("contract", 2),
    ("editor", 3),
    ("term", 3),
    ("analysis", 4),
    ("exec", 4),
    ("formats", 5),
    ("rules", 5),
    ("passes", 5),
    ("golden", 5),
    ("certificate", 6),
    ("functionalize", 6),
    ("lower", 7),
    ("verify", 7),
    ("sandbox", 8),
    ("guest", 8),
    ("pipeline", 9),
    ("report", 10),
    ("cli", 11),
];

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The modules named after `crate::` in a source text, comments and doc links left out.
fn uses(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        for (at, _) in code.match_indices("crate::") {
            let rest = &code[at + "crate::".len()..];
            let names: Vec<&str> = match rest.strip_prefix('{') {
                Some(group) => {
                    group.split(['{', '}', ',']).map(|n| n.split("::").next().unwrap_or("").trim()).collect()
                }
                None => vec![rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")],
            };
            found.extend(
                names.into_iter().filter(|n| n.starts_with(char::is_alphabetic)).map(|n| (number + 1, n.to_string())),
            );
        }
    }
    found
}

fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    files.sort();
    files
        .into_iter()
        .filter_map(|file| {
            let relative = file.strip_prefix(&root).unwrap().to_path_buf();
            let module = relative.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
            (relative.components().count() > 1).then(|| (module, relative, fs::read_to_string(&file).unwrap()))
        })
        .collect()
}

#[test]
fn modules_use_lower_layers_only() {
    let layers: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (module, file, text) in sources() {
        let Some(own) = layers.get(module.as_str()) else {
            panic!("src/{} belongs to no layer; add it to the table", file.display());
        };
        for (line, used) in uses(&text) {
            let Some(layer) = layers.get(used.as_str()) else { continue };
            if used != module && layer >= own {
                wrong.push(format!("src/{}:{line} (layer {own}) uses {used} (layer {layer})", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_layer_of_the_table_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let absent: Vec<&str> = LAYERS.iter().map(|(m, _)| *m).filter(|m| !root.join(m).is_dir()).collect();
    assert!(absent.iter().all(|m| ["guest"].contains(m)), "no folder for {absent:?}");
}

#[test]
fn only_the_sandbox_names_the_engine() {
    let named: Vec<String> = sources()
        .into_iter()
        .filter(|(module, _, text)| {
            module != "sandbox" && text.lines().any(|l| l.split("//").next().unwrap_or("").contains("wasmtime::"))
        })
        .map(|(_, file, _)| file.display().to_string())
        .collect();
    assert!(named.is_empty(), "these name wasmtime: {named:?}");
}

/// Where names of operators stand: tables that say what they are tables of.
const NAME_TABLES: &[&str] = &[
    // The one Python function that takes an item.
    "analysis/sharing/place.rs",
    // Operators of streams, scopes and events.
    "analysis/streams/scopes.rs",
    // Inductor's no-op passes.
    "passes/noop.rs",
    // Which operator is which function of elements.
    "rules/table.rs",
];

/// The text literals of the code of a source text, tests left out.
fn literals(text: &str) -> Vec<(usize, String)> {
    let code = text.split("#[cfg(test)]").next().unwrap_or("");
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let line = line.split("//").next().unwrap_or("");
        found.extend(line.split('"').skip(1).step_by(2).map(|l| (number + 1, l.to_string())));
    }
    found
}

#[test]
fn no_meaning_is_read_off_the_name_of_an_operator() {
    let registry = airlock::ops::Registry::standard();
    let names: std::collections::BTreeSet<String> =
        registry.operators().flat_map(|o| [o.target.to_string(), o.packet(), o.schema.name.to_string()]).collect();
    let mut wrong = Vec::new();
    for (module, file, text) in sources() {
        let name = file.display().to_string();
        let judges = ["verify", "analysis", "passes", "certificate", "term", "rules"].contains(&module.as_str());
        if !judges
            || NAME_TABLES.contains(&name.as_str())
            || file.components().any(|c| ["tests", "tests.rs"].iter().any(|t| c.as_os_str() == *t))
        {
            continue;
        }
        for (line, literal) in literals(&text) {
            // The names of arguments of `to` and dropout are names of operators too.
            if names.contains(&literal) && !["copy"].contains(&literal.as_str()) {
                wrong.push(format!("src/{name}:{line}: `{literal}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "these name operators; state a mark in the tables instead:\n{}", wrong.join("\n"));
    assert_eq!(literals("match name { \"relu\" => 1 } // \"not\"")[0].1, "relu");
}

#[test]
fn the_judge_has_no_unsafe_code() {
    let found: Vec<String> = sources()
        .into_iter()
        .filter(|(module, _, text)| ["verify", "term"].contains(&module.as_str()) && text.contains("unsafe "))
        .map(|(_, file, _)| file.display().to_string())
        .collect();
    assert!(found.is_empty(), "unsafe code in {found:?}");
}

#[test]
fn a_use_of_a_higher_layer_is_found_in_every_spelling() {
    assert_eq!(uses("use crate::verify::Verdict;")[0].1, "verify");
    let group: Vec<String> = uses("use crate::{graph::Graph, cli};").into_iter().map(|(_, n)| n).collect();
    assert_eq!(group, ["graph", "cli"]);
    assert!(uses("// crate::verify").is_empty());
}
