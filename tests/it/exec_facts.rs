//! What the executor does with memory is what PyTorch did: `tests/facts` holds recorded calls, made again here on real tensors.
//!
//! Asked of each call that neither raised there nor raises here: (1) dtype, sizes and strides of results; (2) which results are an operand, lie in
//! an operand's storage (and where in it), or have a storage of their own; (3) that nothing is written by operators that are not said to write;
//! (4) whether the generator moves.
//! Contents are small numbers of a seed: a call that refuses them is left out, and so is one that the executor says it cannot run.
//! `tests/facts/executor.txt` lists the operators that differ, with a call each; `AIRLOCK_UPDATE=1` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::common::committed;
use crate::common::facts::{self, Facts, Line};
use crate::common::golden;
use airlock::exec::{Kernels, Meta, Meter, Session, Storage, Tensor, Value};
use airlock::graph::{Arg, Dtype, Graph};
use airlock::ops::Registry;
use rayon::prelude::*;
use serde_json::Value as Json;

fn numbers(v: &Json) -> Vec<usize> {
    v.as_array().unwrap().iter().map(|n| n.as_i64().unwrap().max(0) as usize).collect()
}

fn meta(row: &Json) -> Meta {
    let dtype = Dtype::from_short(row[0].as_str().unwrap()).unwrap();
    let (sizes, strides) = (numbers(&row[1]), numbers(&row[2]));
    Meta {
        dtype,
        sizes: sizes.as_slice().into(),
        strides: strides.as_slice().into(),
        offset: row[3].as_i64().unwrap() as usize,
    }
}

fn storage_of(row: &Json) -> u64 {
    row[4].as_u64().unwrap()
}

/// Fills a storage with numbers that hardly any operator refuses: 1, 0.75, 0.5 ...; integers 0 and 1.
fn contents(dtype: Dtype, bytes: usize) -> Vec<u64> {
    let mut out = vec![0_u64; bytes.div_ceil(8)];
    for (k, cell) in bytemuck::cast_slice_mut::<u64, u8>(&mut out).chunks_exact_mut(dtype.bytes()).enumerate() {
        let v = [1.0, 0.75, 0.5, 0.25][k % 4];
        match dtype {
            Dtype::F64 => cell.copy_from_slice(&f64::to_le_bytes(v)),
            Dtype::F32 => cell.copy_from_slice(&(v as f32).to_le_bytes()),
            Dtype::F16 => cell.copy_from_slice(&half::f16::from_f64(v).to_le_bytes()),
            Dtype::Bf16 => cell.copy_from_slice(&half::bf16::from_f64(v).to_le_bytes()),
            d if d.is_integer() || d == Dtype::Bool => cell[0] = [0, 1][k % 2],
            _ => {}
        }
    }
    out
}

/// The bytes of a storage.
fn bytes(t: &Tensor) -> Vec<u8> {
    t.storage.read().unwrap().bytes().to_vec()
}

fn operands(line: &Line, meter: &Meter) -> Option<Vec<Tensor>> {
    let rows = line.sample["tensors"].as_array().unwrap();
    let mut storages: BTreeMap<u64, Storage> = BTreeMap::new();
    let mut needed: BTreeMap<u64, (Dtype, usize)> = BTreeMap::new();
    for row in rows {
        let m = meta(row);
        let n = m.needed().ok()?.max(1) * m.dtype.bytes();
        let entry = needed.entry(storage_of(row)).or_insert((m.dtype, n));
        entry.1 = entry.1.max(n);
    }
    let make = |row: &Json| {
        let (dtype, n) = needed[&storage_of(row)];
        let storage = storages.entry(storage_of(row)).or_insert_with(|| Storage::new(contents(dtype, n), meter));
        Tensor::new(meta(row), storage.clone()).ok()
    };
    rows.iter().take(line.operands).map(make).collect()
}

fn value(arg: &Arg, graph: &Graph, given: &[Tensor]) -> Option<Value> {
    Some(match arg {
        Arg::Node(n) => Value::Tensor(given.get(golden::place(graph, *n))?.clone()),
        Arg::None => Value::None,
        Arg::Bool(v) => Value::Bool(*v),
        Arg::Int(v) => Value::Int(*v),
        Arg::Float(v) => Value::Float(*v),
        Arg::Complex(re, im) => Value::Complex(*re, *im),
        Arg::List(all) | Arg::Tuple(all) => {
            Value::List(all.iter().map(|a| value(a, graph, given)).collect::<Option<_>>()?)
        }
        other => Value::Literal(other.clone()),
    })
}

/// Returns what differs; `None` also where nothing can be said.
fn differs(target: &str, line: &Line, registry: &Registry, kernels: &Kernels) -> Option<String> {
    if line.raised.is_some() || line.text.contains("*\"") || line.text.contains("!\"") {
        return None;
    }
    let mut session = Session::new(registry, kernels, 1);
    let given = operands(line, &session.meter().clone())?;
    let before: Vec<Vec<u8>> = given.iter().map(bytes).collect();
    let next = Session::new(registry, kernels, 1).random.bits();
    let mut graph = Graph::new();
    let (args, kwargs) = golden::call(&mut graph, &line.sample)?;
    let args: Vec<Value> = args.iter().map(|a| value(a, &graph, &given)).collect::<Option<_>>()?;
    let named = kwargs.iter().map(|(k, a)| Some((graph.texts.text(*k), value(a, &graph, &given)?)));
    let kwargs: Vec<(&str, Value)> = named.collect::<Option<_>>()?;
    let result = session.call(target, &args, &kwargs).ok()?;
    let rows = line.sample["tensors"].as_array().unwrap();
    let different = difference(&result, &line.sample["out"], rows, &given).filter(|_| line.reshaped.is_empty());
    if different.is_some() {
        return different;
    }
    let drew = session.random.bits() != next;
    if drew != line.drew {
        return Some(if drew { "draws" } else { "does not draw" }.into());
    }
    // What a call writes may be what was there: only operators that write nothing are asked.
    let writes = registry.get(target).is_none_or(|o| o.effects.writes());
    let wrote = given.iter().zip(&before).any(|(t, old)| bytes(t) != *old);
    (wrote && !writes).then(|| "writes an operand".into())
}

fn difference(found: &Value, recorded: &Json, rows: &[Json], given: &[Tensor]) -> Option<String> {
    match (found, recorded) {
        (Value::List(all), Json::Array(others)) => {
            if all.len() != others.len() {
                return Some(format!("{} results, not {}", all.len(), others.len()));
            }
            all.iter().zip(others).find_map(|(a, b)| difference(a, b, rows, given))
        }
        (Value::Tensor(t), Json::Object(o)) if o.contains_key("t") => {
            tensor_differs(t, o["t"].as_u64()? as usize, rows, given)
        }
        _ => None,
    }
}

fn tensor_differs(t: &Tensor, k: usize, rows: &[Json], given: &[Tensor]) -> Option<String> {
    let row = rows.get(k)?;
    let wanted = meta(row);
    if t.dtype() != wanted.dtype || t.sizes() != &*wanted.sizes {
        // Sizes may depend on contents, which are others here.
        return None;
    }
    let place = |x: &Tensor| given.iter().position(|g| g.storage.is(&x.storage));
    let recorded = given.iter().enumerate().position(|(i, _)| storage_of(&rows[i]) == storage_of(row));
    let (here, there) = (place(t), recorded);
    if t.numel() == 0 {
        return None;
    }
    let show = |p: Option<usize>| p.map_or("a storage of its own".into(), |p| format!("the storage of operand {p}"));
    if here != there {
        return Some(format!("lies in {}, not {}", show(here), show(there)));
    }
    let used = |m: &Meta| m.sizes.iter().zip(&m.strides).filter(|(n, _)| **n > 1).map(|(_, s)| *s).collect::<Vec<_>>();
    if used(&t.meta) != used(&wanted) {
        return Some(format!("strides {:?}, not {:?}", t.meta.strides, wanted.strides));
    }
    (there.is_some() && t.meta.offset != wanted.offset)
        .then(|| format!("offset {}, not {}", t.meta.offset, wanted.offset))
}

fn of(all: &Facts, registry: &Registry, kernels: &Kernels) -> Option<(String, usize, String)> {
    let mut first = None;
    let mut count = 0;
    for line in &all.lines {
        if let Some(what) = differs(&all.target, line, registry, kernels) {
            count += 1;
            first.get_or_insert_with(|| format!("{what}: {}", line.text));
        }
    }
    first.map(|text| (all.target.clone(), count, text))
}

#[test]
fn the_executor_shares_and_writes_as_pytorch_did() {
    let (registry, kernels) = (Registry::standard(), Kernels::standard());
    let mut text = String::new();
    let recorded = facts::read(&facts::folder());
    let found: Vec<_> = recorded.par_iter().map(|all| of(all, &registry, &kernels)).collect();
    for (all, (target, count, first)) in recorded.iter().zip(found).filter_map(|(all, f)| Some((all, f?))) {
        let _ = writeln!(text, "{target} {count} of {}: {first}", all.lines.len());
    }
    let file = format!("{}/tests/facts/executor.txt", env!("CARGO_MANIFEST_DIR"));
    if committed::is_updated() {
        std::fs::write(&file, &text).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let names = |t: &str| t.lines().map(|l| l.split(' ').next().unwrap_or("").to_string()).collect::<Vec<_>>();
    assert_eq!(names(&text), names(&known), "{text}");
}
