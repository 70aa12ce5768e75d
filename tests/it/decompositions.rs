//! Every decomposition gives the types that the operator's rule gives, and the values that PyTorch recorded.
//!
//! `tests/golden` holds a third of the samples; `AIRLOCK_CORPUS` names a folder whose `golden` and `golden-npu` hold more. `AIRLOCK_DECOMPOSITIONS=FILE` writes each expansion as a line of JSON with its sample's place.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::common::golden;
use airlock::exec::Kernels;
use airlock::formats::text;
use airlock::golden::{Sample, check};
use airlock::graph::{Arg, Graph, StrId, View};
use airlock::ops::{CallSite, Exactness, Registry};
use serde_json::{Value, json};

#[derive(Default)]
struct Tally {
    made: usize,
    refused: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

/// Expands one sample; the expansion as text, its statements without names of results.
fn expand(registry: &Registry, sample: &Value, tally: &mut Tally) -> Option<Value> {
    let mut g = Graph::new();
    let (args, kwargs): (Vec<Arg>, Vec<(StrId, Arg)>) = golden::call(&mut g, sample)?;
    let target = sample["op"].as_str().unwrap();
    let mut symbols = std::mem::take(&mut g.symbols);
    let site = CallSite { target, args: &args, kwargs: &kwargs, annotated: None };
    let expansion = match registry.decompose(&g, &mut symbols, site) {
        Ok(Some(expansion)) => expansion,
        Ok(None) => return None,
        Err(e) if sample.get("error").is_some() || e.fault.is_ignorance() => {
            *tally.refused.entry(e.to_string()).or_default() += 1;
            return None;
        }
        Err(e) => {
            tally.wrong.push(format!("{e}   {}", sample["args"]));
            return None;
        }
    };
    tally.made += 1;
    let operands: Vec<usize> = expansion.inputs.iter().map(|n| golden::place(&g, *n)).collect();
    let mut body = String::new();
    for node in expansion.graph.nodes(airlock::graph::BodyId::ROOT) {
        writeln!(body, "{}", text::write_node_line(&expansion.graph, node)).unwrap();
    }
    Some(json!({ "op": target, "inputs": operands, "body": body, "exact": expansion.exactness }))
}

#[test]
fn every_decomposition_gives_the_types_of_the_rule() {
    let corpus = golden::corpus();
    let registry = Registry::standard();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut lines = String::new();
    for (file, number, sample) in golden::samples(&corpus) {
        let tally = tallies.entry(sample["op"].as_str().unwrap().to_string()).or_default();
        if let Some(mut expansion) = expand(&registry, &sample, tally) {
            expansion["file"] = file.into();
            expansion["line"] = number.into();
            writeln!(lines, "{expansion}").unwrap();
        }
    }
    if let Ok(path) = std::env::var("AIRLOCK_DECOMPOSITIONS") {
        std::fs::write(path, lines).unwrap();
    }
    let made: usize = tallies.values().map(|t| t.made).sum();
    let covered = tallies.values().filter(|t| t.made > 0).count();
    let refused: usize = tallies.values().flat_map(|t| t.refused.values()).sum();
    println!("{made} calls of {covered} overloads decomposed, {refused} refused");
    if std::env::var_os("AIRLOCK_GOLDEN_SHOW").is_some() {
        for (op, tally) in &tallies {
            tally.refused.iter().for_each(|(why, count)| println!("{op}: {count} x {why}"));
        }
    }
    let wrong: Vec<&String> = tallies.values().flat_map(|t| &t.wrong).collect();
    assert!(wrong.is_empty(), "{} calls: {:#?}", wrong.len(), &wrong[..wrong.len().min(40)]);
}

/// The tolerance of each overload in `schemas.json`.
fn tolerances(corpus: &str) -> BTreeMap<String, String> {
    let rows: Value =
        serde_json::from_str(&std::fs::read_to_string(format!("{corpus}/golden/schemas.json")).unwrap()).unwrap();
    let row = |r: &Value| Some((r["name"].as_str()?.to_string(), r["tolerance"].as_str()?.to_string()));
    rows.as_array().unwrap().iter().filter_map(row).collect()
}

/// What a decomposition that is the same function of real numbers may differ by: that of a kernel of its own, but never single units.
fn tolerance(own: &str, exactness: Exactness) -> &str {
    match exactness {
        Exactness::Real if own.starts_with("ulp") => "close",
        _ => own,
    }
}

/// Runs each operator by its decomposition, though it may have a kernel.
#[test]
fn decomposed_calls_give_the_recorded_values() {
    let corpus = golden::corpus();
    let (registry, kernels, tolerances) = (Registry::standard(), Kernels::standard(), tolerances(&corpus));
    let mut without: BTreeMap<String, Kernels> = BTreeMap::new();
    let (mut agree, mut differ) = (0, BTreeMap::<String, Vec<String>>::new());
    for (file, number, line) in golden::samples(&corpus) {
        let sample = Sample::parse(&line.to_string()).unwrap();
        let Some(operator) = registry.get(&sample.op) else { continue };
        let Some(exactness) = registry.exactness(operator).filter(|_| sample.error.is_none()) else { continue };
        let mut tally = Tally::default();
        if expand(&registry, &line, &mut tally).is_none() {
            continue;
        }
        let rest = without.entry(sample.op.clone()).or_insert_with(|| kernels.without(&sample.op));
        let own = sample.tolerance.clone().or_else(|| tolerances.get(&sample.op).cloned()).unwrap_or("exact".into());
        match check(&sample, tolerance(&own, exactness), &registry, rest).unwrap() {
            None => agree += 1,
            Some(why) => differ.entry(sample.op.clone()).or_default().push(format!("{file}:{number} {why}")),
        }
    }
    let count: usize = differ.values().map(Vec::len).sum();
    println!("{agree} calls agree decomposed, {count} of {} overloads differ", differ.len());
    differ.iter().for_each(|(op, all)| println!("{op}: {} x, {}", all.len(), all[0]));
    // What differs is told above: kernels that round otherwise, and values beyond all bounds.
    assert!(count * 50 <= agree, "{count} decomposed calls differ, {agree} agree");
}
