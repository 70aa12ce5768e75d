//! Recorded facts of operators (`tests/facts`), in the form of recorded calls that `golden` reads.

use std::path::PathBuf;

use serde_json::{Value, json};

/// What was recorded of one operator.
pub struct Facts {
    /// `aten.add.Tensor`.
    pub target: String,
    /// How many calls were made.
    pub calls: u64,
    /// How many of them with adverse contents.
    pub adverse: u64,
    /// How many raised for their contents alone.
    pub raised_by_contents: u64,
    /// The calls that were kept.
    pub lines: Vec<Line>,
}

/// One call.
pub struct Line {
    /// As recorded, for messages.
    pub text: String,
    /// The call in the form of `golden`: `args`, `kwargs`, `tensors`, `out`.
    pub sample: Value,
    /// How many of the tensors are operands.
    pub operands: usize,
    /// The exception, and whether contents alone were the reason.
    pub raised: Option<(String, bool)>,
    /// Storages whose contents changed.
    pub written: Vec<u64>,
    /// Operands that have another shape, other strides or another storage afterwards, with their rows.
    pub reshaped: Vec<(usize, Value)>,
    /// Whether the generator moved.
    pub drew: bool,
    /// Which operands the first result equals bit for bit, of those with its dtype and sizes; `None`: none has them.
    pub equals: Option<Vec<usize>>,
    /// Whether the first two tensors can be exchanged bit for bit; `None`: not tried.
    pub commutes: Option<bool>,
}

/// The folder: `AIRLOCK_FACTS`, or the tests' own.
pub fn folder() -> PathBuf {
    std::env::var("AIRLOCK_FACTS").unwrap_or_else(|_| format!("{}/tests/facts", env!("CARGO_MANIFEST_DIR"))).into()
}

/// Reads every file of a folder.
pub fn read(folder: &std::path::Path) -> Vec<Facts> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "facts"));
    files.sort();
    let mut all: Vec<Facts> = Vec::new();
    for file in files {
        for text in std::fs::read_to_string(file).unwrap().lines() {
            let line: Value = serde_json::from_str(text).unwrap();
            match line.get("op") {
                Some(op) => all.push(Facts {
                    target: op.as_str().unwrap().into(),
                    calls: line["calls"].as_u64().unwrap(),
                    adverse: line["adverse"].as_u64().unwrap(),
                    raised_by_contents: line["raised_by_contents"].as_u64().unwrap(),
                    lines: Vec::new(),
                }),
                None => all.last_mut().unwrap().lines.push(call(text, &line)),
            }
        }
    }
    all
}

fn call(text: &str, line: &Value) -> Line {
    let mut storages = 0;
    let tensors: Vec<Value> =
        line["t"].as_array().unwrap().iter().map(|t| row(t.as_str().unwrap(), &mut storages)).collect();
    let kwargs: serde_json::Map<_, _> =
        line.get("k").and_then(Value::as_object).into_iter().flatten().map(|(k, v)| (k.clone(), value(v))).collect();
    let mut largest = None;
    places(&value(&line["a"]), &mut largest);
    kwargs.values().for_each(|v| places(v, &mut largest));
    let contents = line.get("by").is_some_and(|by| by == "contents");
    let out = line.get("o").map_or(Value::Null, value);
    Line {
        text: text.into(),
        sample: json!({"args": value(&line["a"]), "kwargs": kwargs, "tensors": tensors, "out": out}),
        operands: largest.map_or(0, |n: u64| usize::try_from(n).unwrap() + 1),
        raised: line.get("e").map(|e| (e[0].as_str().unwrap().into(), contents)),
        written: line.get("w").and_then(Value::as_array).into_iter().flatten().map(|k| k.as_u64().unwrap()).collect(),
        reshaped: line
            .get("m")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(i, t)| (i.parse().unwrap(), row(t.as_str().unwrap(), &mut 0)))
            .collect(),
        drew: line.get("d").is_some(),
        equals: line
            .get("q")
            .and_then(Value::as_array)
            .map(|all| all.iter().map(|i| usize::try_from(i.as_u64().unwrap()).unwrap()).collect()),
        commutes: line.get("c").map(|c| c != 0),
    }
}

fn places(v: &Value, largest: &mut Option<u64>) {
    match v {
        Value::Array(items) => items.iter().for_each(|x| places(x, largest)),
        Value::Object(o) => *largest = (*largest).max(o.get("t").and_then(Value::as_u64)),
        _ => {}
    }
}

/// `%3` is tensor 3.
fn value(v: &Value) -> Value {
    match v {
        Value::String(s) if s.starts_with('%') => json!({"t": s[1..].parse::<u64>().unwrap()}),
        Value::Array(items) => items.iter().map(value).collect(),
        other => other.clone(),
    }
}

fn numbers(text: &str) -> Vec<i64> {
    text.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().unwrap()).collect()
}

/// Reads `f32[2,3](1,2)+4#0`: dtype, sizes, strides unless row by row, offset unless 0, storage unless a new one.
fn row(text: &str, storages: &mut u64) -> Value {
    let text = text.trim_end_matches(['*', '!']);
    let (text, storage) = match text.split_once('#') {
        Some((text, k)) => (text, k.parse().unwrap()),
        None => {
            *storages += 1;
            (text, *storages - 1)
        }
    };
    let (text, offset) = text.split_once('+').map_or((text, 0), |(text, n)| (text, n.parse::<i64>().unwrap()));
    let (dtype, rest) = text.split_once('[').unwrap();
    let (sizes, strides) = rest.split_once(']').unwrap();
    let sizes = numbers(sizes);
    let strides = match strides {
        "" => {
            let mut step = 1;
            let mut row: Vec<i64> = Vec::new();
            for n in sizes.iter().rev() {
                row.push(step);
                step *= (*n).max(1);
            }
            row.reverse();
            row
        }
        given => numbers(given.trim_matches(['(', ')'])),
    };
    json!([dtype, sizes, strides, offset, storage])
}
