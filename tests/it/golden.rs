//! Operators compute what PyTorch computes: recorded calls, made here.
//!
//! `AIRLOCK_CORPUS` names a folder with more of them (`golden/`, `golden-npu/`); unset, those of `tests/golden` are made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use airlock::exec::Kernels;
use airlock::golden::{Suite, SuiteReport, check};
use airlock::ops::Registry;

fn run(folder: &Path) -> SuiteReport {
    Suite::open(folder, None).unwrap().run(&Registry::standard(), &Kernels::standard(), &|| ()).unwrap()
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Operators of which some calls are known to differ: one a line, then why.
fn known_to_differ() -> BTreeSet<String> {
    let text = std::fs::read_to_string(own().join("failing.txt")).unwrap();
    let lines = text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty());
    lines.map(|l| l.split_whitespace().next().unwrap().to_string()).collect()
}

#[test]
fn recorded_calls_agree_but_for_those_listed_with_their_reason() {
    let report = run(&own());
    let known = known_to_differ();
    let new: Vec<String> = report
        .failures
        .iter()
        .filter(|f| !known.contains(&f.op))
        .map(|f| format!("{} {}: {}", f.sample, f.op, f.reason))
        .collect();
    assert!(new.is_empty(), "{} of {} calls differ:\n{}", new.len(), report.samples, new.join("\n"));
    assert_eq!(report.overloads, report.overloads_passed, "operators without a call that agrees");
}

#[test]
fn a_wrong_value_a_wrong_stride_and_a_missing_error_are_seen() {
    let registry = Registry::standard();
    let kernels = Kernels::standard();
    let sample = |text: &str| airlock::golden::Sample::parse(text).unwrap();
    let good = r#"{"op":"aten.neg.default","args":[{"t":0}],"out":{"t":1},"tensors":[["i64",[2],[1],0,0],["i64",[2],[1],0,1]],"storages":["AQAAAAAAAAACAAAAAAAAAA==","//////////7+/////////w=="]}"#;
    let good = good.replace("//////////7+/////////w==", "///////////+/////////w==");
    assert_eq!(check(&sample(&good), "exact", &registry, &kernels).unwrap(), None);
    let wrong = good.replace("///////////+/////////w==", "///////////9/////////w==");
    assert!(check(&sample(&wrong), "exact", &registry, &kernels).unwrap().unwrap().contains("element 1"));
    let strides = good.replace(r#"["i64",[2],[1],0,1]"#, r#"["i64",[2],[2],0,1]"#);
    assert!(check(&sample(&strides), "exact", &registry, &kernels).unwrap().unwrap().contains("strides"));
    let refused = good.replace(r#""out":{"t":1}"#, r#""error":["RuntimeError","no"]"#);
    assert!(check(&sample(&refused), "exact", &registry, &kernels).unwrap().unwrap().contains("accepted"));
    let shared = good.replace(r#""out":{"t":1}"#, r#""out":{"t":0}"#);
    assert!(check(&sample(&shared), "exact", &registry, &kernels).unwrap().unwrap().contains("memory"));
}

#[test]
fn the_larger_collection_agrees_to_199_in_200() {
    let Ok(corpus) = std::env::var("AIRLOCK_CORPUS") else {
        eprintln!("skipped: AIRLOCK_CORPUS is not set");
        return;
    };
    for folder in ["golden", "golden-npu"] {
        let report = run(&Path::new(&corpus).join(folder));
        for f in &report.failures {
            println!("{} {}: {}", f.sample, f.op, f.reason);
        }
        println!(
            "{folder}: {} of {} agree, {} of {} operators",
            report.passed, report.samples, report.overloads_passed, report.overloads
        );
        assert!(report.passed * 1000 >= report.samples * 995, "{folder}");
    }
}
