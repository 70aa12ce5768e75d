//! `docs/operators.md` and `tests/golden/lacking.txt` say what is known of operators, and what is not.
//!
//! Both are generated: `AIRLOCK_UPDATE=1 cargo test --test it operators_doc` rewrites them; the change is a diff to be read.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::common::committed;
use airlock::exec::Kernels;
use airlock::ops::Registry;
use airlock::report::operators::{Known, known, write_markdown};

fn all() -> Vec<Known> {
    let registry = Registry::standard();
    known(&registry, &Kernels::standard(), registry.operators())
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_default()
}

#[test]
fn the_page_of_operators_is_current() {
    committed::hold("docs/operators.md", write_markdown(&all(), &read("tests/golden/failing.txt")));
}

/// What an overload lacks: a schema, a type rule, a kernel, and a decomposition where PyTorch always runs others.
fn lacking(known: Option<&Known>, composite: bool) -> Vec<&'static str> {
    let Some(k) = known else { return vec!["schema"] };
    let mut lacks = Vec::new();
    lacks.extend((k.types == "annotation").then_some("type rule"));
    lacks.extend(k.kernel.is_none().then_some("kernel"));
    lacks.extend((composite && k.decomposition.is_none()).then_some("decomposition"));
    lacks
}

#[test]
fn what_each_overload_lacks_is_listed() {
    let all = all();
    let by_target: BTreeMap<&str, &Known> = all.iter().map(|k| (k.target.as_str(), k)).collect();
    let list = read("tests/golden/overloads.txt");
    let mut made =
        String::from("# What Airlock lacks of the overloads to cover. Generated: see tests/it/operators_doc.rs.\n");
    let mut count = 0;
    for line in list.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let (target, defined) = line.split_once(' ').unwrap();
        let lacks = lacking(by_target.get(target).copied(), defined == "composite");
        if !lacks.is_empty() {
            writeln!(made, "{target}: {}", lacks.join(", ")).unwrap();
        }
        count += 1;
    }
    let npu = all.iter().filter(|k| k.family == "npu");
    for k in npu.filter(|k| k.types == "annotation" || k.kernel.is_none()) {
        writeln!(made, "{}: {}", k.target, lacking(Some(k), false).join(", ")).unwrap();
    }
    assert_eq!(count, 948);
    committed::hold("tests/golden/lacking.txt", made);
}

#[test]
fn every_overload_to_cover_has_a_schema() {
    let registry = Registry::standard();
    let list = read("tests/golden/overloads.txt");
    let names = list.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(' '));
    let absent: Vec<&str> = names.map(|(n, _)| n).filter(|n| registry.get(n).is_none()).collect();
    assert!(absent.is_empty(), "no schema: {absent:?}");
}
