//! The type rules agree with PyTorch, sample by sample: dtype, sizes, strides, offset of every result.
//!
//! `tests/golden` holds a third of the samples; `AIRLOCK_CORPUS` names a folder whose `golden` and `golden-npu` hold more. `AIRLOCK_GOLDEN_SHOW=20`
//! lists that many overloads with samples that do not agree, each with `AIRLOCK_GOLDEN_EACH` of them (2): results that differ, calls refused that
//! PyTorch takes, calls taken that PyTorch refuses, and results left open.
//! `AIRLOCK_GOLDEN_ONLY=pool` looks only at overloads whose names hold that.

use std::collections::BTreeMap;

use crate::common::golden::{self, shown};
use airlock::graph::{Graph, ValueType};
use airlock::ops::Registry;
use airlock::sym::Dim;
use serde_json::Value;

fn expected(v: &Value, rows: &[Value]) -> ValueType {
    match v {
        Value::Object(o) if o.contains_key("t") => {
            ValueType::tensor(golden::tensor(&rows[usize::try_from(o["t"].as_u64().unwrap()).unwrap()]))
        }
        Value::Array(all) => ValueType::Many(all.iter().map(|x| expected(x, rows)).collect()),
        Value::Null => ValueType::None,
        Value::Number(n) if n.is_i64() => ValueType::SymInt(Dim::Fixed(n.as_i64().unwrap())),
        _ => ValueType::Unknown,
    }
}

#[derive(Default)]
struct Tally {
    agree: usize,
    no_rule: usize,
    differ: usize,
    refused: usize,
    lax: usize,
    open: usize,
    shown: Vec<String>,
}

impl Tally {
    fn note(&mut self, sample: &Value, what: &str, why: &str) {
        let given = |v: &Value| v.to_string().replace("{\"t\":", "t").replace(['}', '"'], "");
        let (args, kwargs) = (given(&sample["args"]), given(&sample["kwargs"]));
        self.shown.push(format!("{what}: {why}   args {args} {kwargs} of {}", given(&sample["tensors"])));
    }
}

/// Sizes that only running the call tells are symbols here: any number agrees with them.
fn agrees(found: &ValueType, wanted: &ValueType) -> Option<bool> {
    match (found, wanted) {
        (ValueType::Tensor(a), ValueType::Tensor(b)) => {
            let open = a.sizes.iter().any(|d| d.fixed().is_none());
            if open {
                return Some(a.dtype == b.dtype && a.sizes.len() == b.sizes.len());
            }
            let same = a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides;
            if a.offset.fixed().is_none() {
                return Some(same);
            }
            if a.strides.is_none() {
                return (a.dtype == b.dtype && a.sizes == b.sizes).then_some(true).or(Some(false)).filter(|ok| !ok);
            }
            Some(same && a.offset == b.offset)
        }
        (ValueType::Many(a), ValueType::Many(b)) => {
            let each: Option<Vec<bool>> = a.iter().zip(b.iter()).map(|(x, y)| agrees(x, y)).collect();
            each.map(|e| a.len() == b.len() && e.iter().all(|x| *x))
        }
        (_, ValueType::Unknown) => Some(true),
        (ValueType::SymInt(d), ValueType::SymInt(_)) if d.fixed().is_none() => Some(true),
        (ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_), ValueType::SymInt(_)) => {
            Some(found == wanted || !matches!(found, ValueType::SymInt(_)))
        }
        _ => Some(found == wanted),
    }
}

fn run_sample(registry: &Registry, sample: &Value, tally: &mut BTreeMap<String, Tally>) {
    let op = sample["op"].as_str().unwrap();
    let entry = tally.entry(op.to_string()).or_default();
    let rows = sample["tensors"].as_array().unwrap();
    let mut g = Graph::new();
    let (args, kwargs) = golden::call(&mut g, sample).expect("arguments of a known form");
    let fails = sample.get("error").is_some();
    match registry.infer(&mut g, op, &args, &kwargs) {
        Err(e) if e.is_unknown_target() => entry.no_rule += 1,
        Err(_) if fails && sample["error"][0] == "NotImplementedError" => entry.agree += 1,
        Err(e) if e.fault.is_ignorance() => {
            entry.open += 1;
            entry.note(sample, "open", &e.to_string());
        }
        Err(_) if fails => entry.agree += 1,
        Err(e) => {
            entry.refused += 1;
            entry.note(sample, "refused", &e.to_string());
        }
        // A dtype that PyTorch's CPU kernels do not cover may be typed all the same.
        Ok(_) if fails && sample["error"][0] == "NotImplementedError" => entry.agree += 1,
        Ok(_) if fails => {
            entry.lax += 1;
            entry.note(sample, "taken", &sample["error"].to_string());
        }
        Ok(ty) => {
            let mut rows = rows.clone();
            if let Some(after) = sample.get("meta_after").and_then(Value::as_object) {
                for (i, row) in after {
                    rows[i.parse::<usize>().unwrap()] = row.clone();
                }
            }
            let wanted = expected(&sample["out"], &rows);
            match agrees(&ty, &wanted) {
                Some(true) => entry.agree += 1,
                None => {
                    entry.open += 1;
                    entry.note(sample, "open", &shown(&ty));
                }
                Some(false) => {
                    entry.differ += 1;
                    entry.note(sample, "differs", &format!("{} but PyTorch {}", shown(&ty), shown(&wanted)));
                }
            }
        }
    }
}

fn run_folder(folder: &str) -> BTreeMap<String, Tally> {
    let only = std::env::var("AIRLOCK_GOLDEN_ONLY").unwrap_or_default();
    let registry = Registry::standard();
    let mut tally = BTreeMap::new();
    for (file, _, sample) in golden::samples(&golden::corpus()) {
        let of_npu = file.ends_with("/npu.gold");
        if of_npu == (folder == "golden-npu") && sample["op"].as_str().unwrap().contains(&only) {
            run_sample(&registry, &sample, &mut tally);
        }
    }
    tally
}

fn judge(folder: &str) {
    let tally = run_folder(folder);
    let number = |name: &str, otherwise| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise);
    let (show, each): (usize, usize) = (number("AIRLOCK_GOLDEN_SHOW", 0), number("AIRLOCK_GOLDEN_EACH", 2));
    let sum = |f: fn(&Tally) -> usize| tally.values().map(f).sum::<usize>();
    let (agree, differ, refused) = (sum(|t| t.agree), sum(|t| t.differ), sum(|t| t.refused));
    println!(
        "{folder}: agree {agree}, differ {differ}, refused {refused}, left open {}, errors not seen {}, without rule {} ({} overloads)",
        sum(|t| t.open),
        sum(|t| t.lax),
        sum(|t| t.no_rule),
        tally.values().filter(|t| t.no_rule > 0).count()
    );
    let without: Vec<&str> = tally.iter().filter(|(_, t)| t.no_rule > 0).map(|(op, _)| op.as_str()).collect();
    println!("{folder}: without rule: {}", without.join(" "));
    for (op, t) in tally.iter().filter(|(_, t)| !t.shown.is_empty()).take(show) {
        println!("{op}: differ {} refused {} taken {} open {} agree {}", t.differ, t.refused, t.lax, t.open, t.agree);
        t.shown.iter().take(each).for_each(|s| println!("    {}", s.chars().take(420).collect::<String>()));
    }
    assert!(agree > 0, "no samples for {folder}");
    assert_eq!((differ, refused), (0, 0), "type rules that disagree; AIRLOCK_GOLDEN_SHOW=20 shows them");
}

#[test]
fn type_rules_agree_with_recorded_calls() {
    judge("golden");
}

#[test]
fn type_rules_of_npu_operators_agree_with_their_definitions() {
    judge("golden-npu");
}
