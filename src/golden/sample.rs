//! One recorded call: a JSON object on a line.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value as Json;
use thiserror::Error;

use crate::exec::{Meta, Meter, Storage, Tensor, Value};
use crate::graph::{Arg, Bytes, Device, Dtype, Layout, MemoryFormat};
use crate::ops::CallFault;

/// Why a line is no recorded call.
#[derive(Debug, Error)]
pub enum SampleError {
    /// Not JSON of that form.
    #[error("not a recorded call: {0}")]
    Json(#[from] serde_json::Error),
    /// A value of no known form.
    #[error("`{value}` is no {what}")]
    Value {
        /// What it should be.
        what: &'static str,
        /// As it stands.
        value: String,
    },
    /// A tensor that does not lie in its storage.
    #[error("tensor {index}: {fault}")]
    Tensor {
        /// Its place in the table.
        index: usize,
        /// What is wrong.
        fault: Box<CallFault>,
    },
}

fn bad(what: &'static str, value: &Json) -> SampleError {
    SampleError::Value { what, value: value.to_string().chars().take(80).collect() }
}

/// One recorded call.
#[derive(Debug, Deserialize)]
pub struct Sample {
    /// The operator.
    pub op: String,
    /// Positional arguments.
    pub args: Vec<Json>,
    /// Keyword arguments.
    #[serde(default)]
    pub kwargs: serde_json::Map<String, Json>,
    /// The result.
    #[serde(default)]
    pub out: Json,
    /// What the call says instead of giving a result.
    #[serde(default)]
    pub error: Option<Json>,
    /// Table of tensors.
    #[serde(default)]
    pub tensors: Vec<Json>,
    /// Bytes of storages in base64: of inputs before, of others after the call.
    #[serde(default)]
    pub storages: Vec<Option<String>>,
    /// Storages of inputs that the call changed.
    #[serde(default)]
    pub after: BTreeMap<String, Option<String>>,
    /// Tensors whose shape or place the call changed.
    #[serde(default)]
    pub meta_after: BTreeMap<String, Json>,
    /// Tolerance, where the sample names one.
    #[serde(default, alias = "tol")]
    pub tolerance: Option<String>,
}

/// A row of the table of tensors.
#[derive(Clone, Debug)]
pub struct Row {
    /// Dtype, shape, place.
    pub meta: Meta,
    /// Which storage.
    pub storage: usize,
    /// Lazy marks.
    pub conj: bool,
    /// Lazy marks.
    pub neg: bool,
}

impl Sample {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<Sample, SampleError> {
        Ok(serde_json::from_str(line)?)
    }

    /// Returns row `i` of the table.
    pub fn row(&self, i: usize) -> Result<Row, SampleError> {
        row(self.tensors.get(i).unwrap_or(&Json::Null))
    }

    /// Returns the row of tensor `i` after the call.
    pub fn row_after(&self, i: usize) -> Result<Row, SampleError> {
        match self.meta_after.get(&i.to_string()) {
            Some(changed) => row(changed),
            None => self.row(i),
        }
    }

    /// Returns the bytes of a storage before the call; `None` where they were not recorded.
    pub fn bytes(&self, storage: usize) -> Result<Option<Vec<u8>>, SampleError> {
        self.storages.get(storage).and_then(Option::as_ref).map(|text| base64(text)).transpose()
    }

    /// Returns the bytes of a storage after the call; `None` where they are random.
    pub fn bytes_after(&self, storage: usize) -> Result<Option<Vec<u8>>, SampleError> {
        match self.after.get(&storage.to_string()) {
            Some(changed) => changed.as_ref().map(|text| base64(text)).transpose(),
            None => self.bytes(storage),
        }
    }

    /// Returns the tensors that the arguments name, by their place in the table.
    pub fn inputs(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut work: Vec<&Json> = self.args.iter().chain(self.kwargs.values()).collect();
        while let Some(value) = work.pop() {
            match value {
                Json::Array(all) => work.extend(all),
                Json::Object(o) => {
                    found.extend(o.get("t").and_then(Json::as_u64).and_then(|i| usize::try_from(i).ok()))
                }
                _ => {}
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn row(value: &Json) -> Result<Row, SampleError> {
    let wrong = || bad("row of a tensor", value);
    let parts = value.as_array().ok_or_else(wrong)?;
    let number = |v: &Json| v.as_u64().and_then(|n| usize::try_from(n).ok()).ok_or_else(wrong);
    let list = |i: usize| {
        let all = parts.get(i).and_then(Json::as_array).ok_or_else(wrong)?;
        all.iter().map(number).collect::<Result<_, _>>()
    };
    let dtype = parts.first().and_then(Json::as_str).and_then(Dtype::from_short).ok_or_else(wrong)?;
    let at = |i: usize| number(parts.get(i).unwrap_or(&Json::Null));
    let meta = Meta { dtype, sizes: list(1)?, strides: list(2)?, offset: at(3)? };
    let marked = |mark: &str| parts.iter().any(|p| p.as_str() == Some(mark));
    Ok(Row { meta, storage: at(4)?, conj: marked("conj"), neg: marked("neg") })
}

/// Returns a tensor of a row, in that storage.
pub fn tensor(row: &Row, storage: Storage, index: usize) -> Result<Tensor, SampleError> {
    let mut t = Tensor::new(row.meta.clone(), storage)
        .map_err(|fault| SampleError::Tensor { index, fault: Box::new(fault) })?;
    (t.conj, t.neg) = (row.conj, row.neg);
    Ok(t)
}

/// The most that a storage without recorded content may need: recorded calls are small.
const LARGEST: usize = 1 << 30;

/// Returns a storage of these bytes, or of as many zeros as the row needs.
pub fn storage(bytes: Option<Vec<u8>>, row: &Row, meter: &Meter) -> Result<Storage, SampleError> {
    let bytes = match bytes {
        Some(bytes) => bytes,
        None => {
            let needed = row.meta.needed().unwrap_or(usize::MAX).saturating_mul(row.meta.dtype.bytes());
            if needed > LARGEST {
                let value = format!("{:?}", row.meta.sizes);
                return Err(SampleError::Value { what: "size of a tensor without recorded content", value });
            }
            vec![0; needed]
        }
    };
    Ok(Storage::mapped(Bytes::new(bytes), meter))
}

/// Returns the value that an argument or a result is; tensors are looked up in `tensors`.
pub fn value(json: &Json, tensors: &BTreeMap<usize, Tensor>) -> Result<Value, SampleError> {
    Ok(match json {
        Json::Null => Value::None,
        Json::Bool(v) => Value::Bool(*v),
        Json::Number(n) => match n.as_i64() {
            Some(v) => Value::Int(v),
            None => Value::Float(n.as_f64().ok_or_else(|| bad("number", json))?),
        },
        Json::String(s) => Value::Literal(Arg::Str(s.as_str().into())),
        Json::Array(all) => Value::List(all.iter().map(|v| value(v, tensors)).collect::<Result<_, _>>()?),
        Json::Object(o) => {
            let (key, inner) = o.iter().next().ok_or_else(|| bad("value", json))?;
            special(key, inner, tensors)?.ok_or_else(|| bad("value", json))?
        }
    })
}

fn special(key: &str, inner: &Json, tensors: &BTreeMap<usize, Tensor>) -> Result<Option<Value>, SampleError> {
    let text = inner.as_str().unwrap_or("");
    Ok(match key {
        "t" => {
            let index = inner.as_u64().and_then(|i| usize::try_from(i).ok());
            index.and_then(|i| tensors.get(&i)).cloned().map(Value::Tensor)
        }
        "float" => float(inner).map(Value::Float),
        "complex" => {
            let part = |i: usize| inner.get(i).and_then(|v| v.as_f64().or_else(|| float(v.get("float").unwrap_or(v))));
            part(0).zip(part(1)).map(|(re, im)| Value::Complex(re, im))
        }
        "dtype" => Dtype::from_short(text).map(|d| Value::Literal(Arg::Dtype(d))),
        "device" => Some(Value::Literal(Arg::Device(Device::new(text)))),
        "layout" => Layout::from_name(text).map(|l| Value::Literal(Arg::Layout(l))),
        "memory_format" => MemoryFormat::from_name(text)
            .or_else(|| MemoryFormat::from_name(&format!("{text}_format")))
            .map(|m| Value::Literal(Arg::MemoryFormat(m))),
        _ => None,
    })
}

fn float(v: &Json) -> Option<f64> {
    match v.as_str()? {
        "nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Decodes base64 (RFC 4648, padded).
fn base64(text: &str) -> Result<Vec<u8>, SampleError> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|_| SampleError::Value { what: "base64 text", value: text.chars().take(40).collect() })
}
