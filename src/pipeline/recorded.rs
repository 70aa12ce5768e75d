//! What a run leaves, outputs, changed buffers and changed inputs, against what was recorded or another run left.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::exec::{Execution, Meta, Meter, Storage, Tensor, Tolerance, Value, compare, literal};
use crate::formats::recording::{Recorded, Recording};
use crate::graph::Weights;
use crate::ops::CallFault;

/// A recorded value that does not fit its place.
#[derive(Debug, thiserror::Error)]
#[error("recorded `{name}`")]
pub struct RecordedError {
    name: String,
    source: CallFault,
}

/// Returns recorded values as values of a run; tensors stay in the file until they are written.
pub fn values(all: &[Recorded]) -> Result<Vec<Value>, RecordedError> {
    let named = |i: usize| move |source| RecordedError { name: format!("value {i}"), source };
    all.iter().enumerate().map(|(i, r)| value_of(r).map_err(named(i))).collect()
}

fn value_of(recorded: &Recorded) -> Result<Value, CallFault> {
    match recorded {
        Recorded::Tensor(ty, bytes) => {
            let storage = Storage::mapped(bytes.clone(), &Meter::default());
            Ok(Value::Tensor(Tensor::new(Meta::of(ty)?, storage)?))
        }
        Recorded::Literal(arg) => Ok(literal(arg)),
    }
}

/// One tensor of the result.
#[derive(Debug, Serialize)]
pub struct Row {
    /// `out_0`, the name of a buffer or `in_1`.
    pub name: String,
    /// `output`, `buffer` or `input`.
    pub role: &'static str,
    /// Short name.
    pub dtype: String,
    /// Sizes.
    pub shape: Vec<usize>,
    /// Whether it is near enough; true where nothing is compared.
    pub equal: bool,
    /// Largest absolute difference.
    pub max_abs: Option<f64>,
    /// Largest relative difference.
    pub max_rel: Option<f64>,
    /// Largest difference in units in the last place.
    pub max_ulp: Option<u64>,
    /// What else differs, or the first element that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Row {
    fn new(name: String, role: &'static str, value: &Value) -> Row {
        let (dtype, shape) = match value {
            Value::Tensor(t) => (t.dtype().short().into(), t.sizes().to_vec()),
            other => (other.kind().into(), Vec::new()),
        };
        Row { name, role, dtype, shape, equal: true, max_abs: None, max_rel: None, max_ulp: None, reason: None }
    }

    fn differs(self, reason: String) -> Row {
        Row { equal: false, reason: Some(reason), ..self }
    }
}

/// Tolerances that the user states in place of those of the dtype.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stated {
    /// Relative.
    pub rtol: Option<f64>,
    /// Absolute.
    pub atol: Option<f64>,
}

impl Stated {
    fn of(self, t: &Tensor) -> Tolerance {
        let Tolerance::Close { rtol, atol } = Tolerance::close(t.dtype()) else { return Tolerance::Exact };
        if !(t.dtype().is_float() || t.dtype().is_complex()) {
            return Tolerance::Exact;
        }
        Tolerance::Close { rtol: self.rtol.unwrap_or(rtol), atol: self.atol.unwrap_or(atol) }
    }
}

/// Lists what a run leaves, compared with a recording where there is one. A buffer or an input of which the recording says nothing was left as it was.
pub fn rows(
    outcome: &Execution,
    recording: Option<&Recording>,
    weights: &Weights,
    stated: Stated,
) -> Result<Vec<Row>, RecordedError> {
    let mut rows = Vec::new();
    let outputs = recording.map(|r| r.outputs.as_slice());
    for (i, value) in outcome.outputs.iter().enumerate() {
        let wanted = outputs.map(|o| o.get(i));
        rows.push(row(format!("out_{i}"), "output", value, wanted, stated)?);
    }
    for (i, _) in outputs.unwrap_or_default().iter().enumerate().skip(outcome.outputs.len()) {
        rows.push(Row::new(format!("out_{i}"), "output", &Value::None).differs("recorded, and not made here".into()));
    }
    for (name, tensor) in &outcome.buffers {
        let held = weights.find(name).ok().map(|(w, bytes)| Recorded::Tensor(w.ty.clone().into(), bytes.clone()));
        let wanted = recording.map(|r| r.buffers.get(name).or(held.as_ref()));
        rows.push(row(name.clone(), "buffer", &Value::Tensor(tensor.clone()), wanted, stated)?);
    }
    for (number, tensor) in &outcome.inputs {
        let wanted = recording.map(|r| r.changed.get(number).or(r.inputs.get(*number)));
        rows.push(row(format!("in_{number}"), "input", &Value::Tensor(tensor.clone()), wanted, stated)?);
    }
    for name in recording.iter().flat_map(|r| r.buffers.keys()) {
        if !outcome.buffers.iter().any(|(n, _)| n == name) {
            rows.push(
                Row::new(name.clone(), "buffer", &Value::None).differs("changed in the recording, not here".into()),
            );
        }
    }
    for number in recording.iter().flat_map(|r| r.changed.keys()) {
        if !outcome.inputs.iter().any(|(n, _)| n == number) {
            let row = Row::new(format!("in_{number}"), "input", &Value::None);
            rows.push(row.differs("changed in the recording, not here".into()));
        }
    }
    Ok(rows)
}

/// Lists what a second run leaves, compared with a first one: outputs, changed buffers and changed inputs, by their places and names.
pub fn rows_of_both(second: &Execution, first: &Execution) -> Vec<Row> {
    let none = Value::None;
    let mut rows = Vec::new();
    for i in 0..second.outputs.len().max(first.outputs.len()) {
        let name = format!("out_{i}");
        rows.push(match (second.outputs.get(i), first.outputs.get(i)) {
            (Some(found), Some(wanted)) => {
                held_against(Row::new(name, "output", found), found, wanted, Stated::default(), "the first's")
            }
            (found, _) => Row::new(name, "output", found.unwrap_or(&none)).differs("one graph has it alone".into()),
        });
    }
    let buffers = |o: &Execution| o.buffers.iter().map(|(n, t)| (n.clone(), t.clone())).collect::<BTreeMap<_, _>>();
    let inputs =
        |o: &Execution| o.inputs.iter().map(|(n, t)| (format!("in_{n}"), t.clone())).collect::<BTreeMap<_, _>>();
    for (role, second, first) in [("buffer", buffers(second), buffers(first)), ("input", inputs(second), inputs(first))]
    {
        for name in second.keys().chain(first.keys().filter(|n| !second.contains_key(*n))) {
            let (found, wanted) = (second.get(name), first.get(name));
            let shown = found.or(wanted).cloned().map_or(Value::None, Value::Tensor);
            let row = Row::new(name.clone(), role, &shown);
            rows.push(match (found, wanted) {
                (Some(_), Some(wanted)) => {
                    held_against(row, &shown, &Value::Tensor(wanted.clone()), Stated::default(), "the first's")
                }
                _ => row.differs("one graph changes it alone".into()),
            });
        }
    }
    rows
}

/// `wanted` is `None` where nothing is compared, `Some(None)` where the recording lacks the value.
fn row(
    name: String,
    role: &'static str,
    value: &Value,
    wanted: Option<Option<&Recorded>>,
    stated: Stated,
) -> Result<Row, RecordedError> {
    let row = Row::new(name, role, value);
    match wanted {
        None => Ok(row),
        // Constants and values of dtypes that the format lacks are not in recordings; an output that is None is.
        Some(None) => Ok(row.differs("not in the recording".into())),
        Some(Some(recorded)) => {
            let wanted = value_of(recorded).map_err(|source| RecordedError { name: row.name.clone(), source })?;
            Ok(held_against(row, value, &wanted, stated, "recorded"))
        }
    }
}

/// `whose` says in words where the wanted value is from.
fn held_against(mut row: Row, value: &Value, wanted: &Value, stated: Stated, whose: &str) -> Row {
    match (value, wanted) {
        (Value::Tensor(found), Value::Tensor(wanted)) => match compare(found, wanted, stated.of(wanted)) {
            Err(fault) => row.differs(fault.to_string()),
            Ok(c) => {
                (row.max_abs, row.max_rel, row.max_ulp) = (Some(c.max_abs), Some(c.max_rel), Some(c.max_ulp));
                match c.first {
                    Some((at, own, theirs)) => {
                        row.differs(format!("element {at} is {own}, {whose} {theirs}; {} are too far off", c.wrong))
                    }
                    None => row,
                }
            }
        },
        (found, wanted) => match (found.as_scalar(), wanted.as_scalar()) {
            _ if matches!((found, wanted), (Value::None, Value::None)) => row,
            (Some(a), Some(b)) if a.to_f64() == b.to_f64() || a.to_f64().is_nan() && b.to_f64().is_nan() => row,
            _ if matches!((found, wanted), (Value::Literal(a), Value::Literal(b)) if a == b) => row,
            _ => row.differs(format!("{found:?}, {whose} {wanted:?}")),
        },
    }
}
