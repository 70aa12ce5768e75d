//! What several tests of the text form share.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod archive;
pub mod committed;
pub mod facts;
pub mod golden;
pub mod written;

use std::path::{Path, PathBuf};

use airlock::formats::text::{self, ReadOptions};
use airlock::graph::{Graph, View};

/// Returns every file of that ending in the test data, and below `AIRLOCK_CORPUS` if that is set.
pub fn files(ending: &str) -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut folders = vec![here.join("models"), here.join("fx")];
    match std::env::var_os("AIRLOCK_CORPUS") {
        Some(corpus) => folders.push(corpus.into()),
        None => eprintln!("AIRLOCK_CORPUS is not set: only the test data of the repository is looked at"),
    }
    let mut found: Vec<PathBuf> = folders.iter().flat_map(|folder| files_below(folder, ending)).collect();
    found.sort();
    found
}

/// Returns every file of that ending in a folder and the folders in it, in order.
pub fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns whether PyTorch printed a file (rules of search and replace and texts with faults are written by hand).
pub fn printed(file: &Path) -> bool {
    let name = file.display().to_string();
    !name.contains("patterns") && !name.contains("errors")
}

/// Returns whether a file is what PyTorch 2.15 printed, unchanged.
pub fn newest_print(file: &Path) -> bool {
    // The repository itself may lie in a folder of any name.
    let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(file).display().to_string();
    printed(file) && !name.contains("older") && !name.contains("fx/expanded")
}

/// Reads a text that must read.
pub fn read(file: &Path, text: &str) -> Graph {
    let name = file.display().to_string();
    text::read(text, &ReadOptions::of_file(&name)).unwrap_or_else(|e| panic!("{}", e.render()))
}

/// Returns all that the text form holds of a graph: names, order, arguments, types, signature, ranges.
pub fn describe(graph: &Graph) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for body in graph.bodies() {
        let _ = writeln!(out, "{} {:?} {:?}", graph.body_name(body), body, graph.body_parent(body));
        for node in graph.nodes(body) {
            let row = graph.row(node).unwrap();
            let name = |n| format!("%{}", graph.name(n));
            let args: Vec<String> = row.args.iter().map(|a| shown(a, &name)).collect();
            let kwargs: Vec<String> =
                row.kwargs.iter().map(|(k, a)| format!("{}={}", graph.texts.text(*k), shown(a, &name))).collect();
            let ty = match row.ty.as_tensor() {
                Some(t) => {
                    let dims = |d: &[airlock::sym::Dim]| -> Vec<String> {
                        d.iter().map(|d| graph.symbols.print_python(*d)).collect()
                    };
                    format!("{} {:?} {:?} {}", t.dtype, dims(&t.sizes), t.strides.as_ref().map(|s| dims(s)), t.device)
                }
                None => row.ty.annotation(&graph.symbols).unwrap_or_else(|| format!("{:?}", row.ty)),
            };
            let _ = writeln!(
                out,
                "  {} = {:?} {} {args:?} {kwargs:?}: {ty} {:?} {:?}",
                graph.name(node),
                row.kind,
                graph.target(node),
                graph.printed(node),
                graph.annotation(node, "stack_trace"),
            );
        }
    }
    let _ = writeln!(out, "{:?}", graph.signature);
    for id in &graph.range_constraints {
        let name = graph.symbols.print_expr(*id);
        let _ = writeln!(out, "{name}: {:?}", graph.symbols.declared_range(&name));
    }
    out
}

fn shown(arg: &airlock::graph::Arg, name: &impl Fn(airlock::graph::NodeId) -> String) -> String {
    use airlock::graph::Arg;
    match arg {
        Arg::Node(n) => name(*n),
        Arg::List(items) => format!("{:?}", items.iter().map(|a| shown(a, name)).collect::<Vec<_>>()),
        Arg::Tuple(items) => format!("tuple{:?}", items.iter().map(|a| shown(a, name)).collect::<Vec<_>>()),
        Arg::Dict(entries) => format!("dict{:?}", entries.iter().map(|(k, a)| (k, shown(a, name))).collect::<Vec<_>>()),
        other => format!("{other:?}"),
    }
}
