//! One recorded call, made here: what differs from the recording.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::sample::{self, Sample, SampleError};
use crate::exec::compare;
use crate::exec::{Kernels, Meter, Session, Storage, Tensor, Tolerance, Value};
use crate::ops::Registry;

/// Operators on whose ties of +0 and -0 either sign is right: it depends on the vector unit.
const ZERO_TIES: &[&str] = &[
    "maximum",
    "minimum",
    "clamp",
    "clamp_",
    "clamp_min",
    "clamp_max",
    "clamp_min_",
    "clamp_max_",
    "clip",
    "amax",
    "amin",
    "aminmax",
    "fmax",
    "fmin",
    "max",
    "min",
    "hardtanh",
    "hardtanh_",
    "relu6",
    "relu6_",
];

/// Makes a recorded call.
///
/// Returns what differs, `None` if nothing does. Errors: a line that is no recorded call.
pub fn check(
    sample: &Sample,
    tolerance: &str,
    registry: &Registry,
    kernels: &Kernels,
) -> Result<Option<String>, SampleError> {
    let meter = Meter::default();
    let mut run = Run { sample, tolerance, storages: BTreeMap::new(), fresh: BTreeMap::new(), meter };
    let mut tensors = BTreeMap::new();
    for i in sample.inputs() {
        tensors.insert(i, run.input(i)?);
    }
    let args = sample.args.iter().map(|v| sample::value(v, &tensors)).collect::<Result<Vec<_>, _>>()?;
    let kwargs = sample.kwargs.iter().map(|(k, v)| Ok((k.as_str(), sample::value(v, &tensors)?)));
    let kwargs = kwargs.collect::<Result<Vec<_>, SampleError>>()?;
    let mut session = Session::new(registry, kernels, 0);
    Ok(match (session.call(&sample.op, &args, &kwargs), &sample.error) {
        (Err(_), Some(_)) => None,
        (Ok(_), Some(error)) => Some(format!("accepted, PyTorch says {error}")),
        (Err(e), None) => Some(e.fault.to_string()),
        (Ok(found), None) => match run.result(&found, &sample.out)? {
            None => run.written()?,
            different => different,
        },
    })
}

struct Run<'a> {
    sample: &'a Sample,
    tolerance: &'a str,
    /// Storages of inputs.
    storages: BTreeMap<usize, Storage>,
    /// Storages of results, as they were met.
    fresh: BTreeMap<usize, Storage>,
    meter: Meter,
}

impl Run<'_> {
    fn input(&mut self, i: usize) -> Result<Tensor, SampleError> {
        let row = self.sample.row(i)?;
        let storage = match self.storages.get(&row.storage) {
            Some(known) => known.clone(),
            None => {
                let made = sample::storage(self.sample.bytes(row.storage)?, &row, &self.meter)?;
                self.storages.insert(row.storage, made.clone());
                made
            }
        };
        sample::tensor(&row, storage, i)
    }

    fn result(&mut self, found: &Value, expected: &Json) -> Result<Option<String>, SampleError> {
        let name = |k: usize| format!("result {k}");
        if let Json::Array(all) = expected {
            let items = found.items();
            if items.len() != all.len() && !matches!(found, Value::Tensor(_))
                || all.len() > 1 && items.len() != all.len()
            {
                return Ok(Some(format!("{} results, PyTorch gives {}", items.len(), all.len())));
            }
            for (k, (one, wanted)) in items.iter().zip(all).enumerate() {
                let different = if wanted.is_array() { self.result(one, wanted)? } else { self.one(one, wanted)? };
                if let Some(text) = different {
                    return Ok(Some(format!("{}: {text}", name(k))));
                }
            }
            return Ok(None);
        }
        self.one(found, expected)
    }

    fn one(&mut self, found: &Value, expected: &Json) -> Result<Option<String>, SampleError> {
        let index = expected.get("t").and_then(Json::as_u64).and_then(|i| usize::try_from(i).ok());
        match (found, index) {
            (Value::Tensor(t), Some(i)) => self.tensor(t, i),
            (other, Some(_)) => Ok(Some(format!("{}, PyTorch gives a tensor", other.kind()))),
            (found, None) => {
                let wanted = sample::value(expected, &BTreeMap::new())?;
                Ok(self.plain(found, &wanted))
            }
        }
    }

    fn plain(&self, found: &Value, wanted: &Value) -> Option<String> {
        let same = match (found, wanted) {
            (Value::None, Value::None) => true,
            (Value::Literal(a), Value::Literal(b)) => a == b,
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.plain(a, b).is_none())
            }
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (a, b) => match (a.as_scalar(), b.as_scalar()) {
                (Some(a), Some(b)) => {
                    let (x, y) = (a.to_f64(), b.to_f64());
                    x == y || x.is_nan() && y.is_nan() || self.tolerance == "close" && (x - y).abs() <= 1e-6 * y.abs()
                }
                _ => false,
            },
        };
        (!same).then(|| format!("{found:?}, PyTorch gives {wanted:?}"))
    }

    fn tensor(&mut self, t: &Tensor, index: usize) -> Result<Option<String>, SampleError> {
        let row = self.sample.row_after(index)?;
        if t.meta.dtype != row.meta.dtype || t.meta.sizes != row.meta.sizes {
            let (own, wanted) = (show(&t.meta), show(&row.meta));
            return Ok(Some(format!("{own}, PyTorch gives {wanted}")));
        }
        if t.meta.strides != row.meta.strides || t.meta.offset != row.meta.offset {
            let place = |m: &crate::exec::Meta| format!("strides {:?} offset {}", m.strides, m.offset);
            return Ok(Some(format!("{}, PyTorch gives {}", place(&t.meta), place(&row.meta))));
        }
        if (t.conj, t.neg) != (row.conj, row.neg) {
            return Ok(Some("other lazy marks than PyTorch's".into()));
        }
        if let Some(text) = self.shares(t, row.storage) {
            return Ok(Some(text));
        }
        let bytes = self.sample.bytes_after(row.storage)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let wanted = sample::tensor(&row, sample::storage(Some(bytes), &row, &self.meter)?, index)?;
        Ok(self.values(t, &wanted))
    }

    fn shares(&mut self, t: &Tensor, storage: usize) -> Option<String> {
        let input = self.storages.iter().find(|(_, s)| s.is(&t.storage)).map(|(i, _)| *i);
        match (input, self.storages.contains_key(&storage)) {
            (Some(i), true) if i == storage => None,
            (_, true) if t.numel() == 0 && t.storage.is_empty() => None,
            (_, true) => Some("new memory, PyTorch's shares an input's".into()),
            (Some(_), false) => Some("shares an input's memory, PyTorch's is new".into()),
            (None, false) => {
                let known = self.fresh.entry(storage).or_insert_with(|| t.storage.clone());
                (!known.is(&t.storage)).then(|| "results share no memory, PyTorch's do".into())
            }
        }
    }

    fn values(&self, found: &Tensor, wanted: &Tensor) -> Option<String> {
        let name = self.sample.op.split('.').nth(1).unwrap_or("");
        let tolerance = match self.tolerance {
            "meta" => Tolerance::Any,
            "ulp1" => Tolerance::Ulp(1),
            "ulp4" => Tolerance::Ulp(4),
            "close" => Tolerance::close(wanted.dtype()),
            _ if ZERO_TIES.contains(&name) => Tolerance::ExactButZeroSign,
            _ => Tolerance::Exact,
        };
        match compare(found, wanted, tolerance) {
            Err(fault) => Some(fault.to_string()),
            Ok(c) if c.equal => None,
            Ok(c) => {
                let (at, own, theirs) = c.first.unwrap_or_default();
                Some(format!(
                    "element {at} is {own}, PyTorch's {theirs}; {} of {} beyond {}, up to {} ulp",
                    c.wrong,
                    found.numel(),
                    self.tolerance,
                    c.max_ulp
                ))
            }
        }
    }

    /// Checks what lies in the storages of inputs after the call.
    fn written(&self) -> Result<Option<String>, SampleError> {
        if self.tolerance == "meta" {
            return Ok(None);
        }
        for i in self.sample.inputs() {
            let row = self.sample.row(i)?;
            let (Some(storage), Some(bytes)) = (self.storages.get(&row.storage), self.sample.bytes_after(row.storage)?)
            else {
                continue;
            };
            let len = bytes.len().min(storage.len()).checked_div(row.meta.dtype.bytes()).unwrap_or(0);
            let whole = |s: Storage| {
                let meta = crate::exec::Meta::contiguous(row.meta.dtype, &[len]);
                Tensor::new(meta, s).map_err(|fault| SampleError::Tensor { index: i, fault: Box::new(fault) })
            };
            let wanted = whole(sample::storage(Some(bytes), &row, &self.meter)?)?;
            if let Some(text) = self.values(&whole(storage.clone())?, &wanted) {
                return Ok(Some(format!("input {i} afterwards: {text}")));
            }
        }
        Ok(None)
    }
}

fn show(meta: &crate::exec::Meta) -> String {
    format!("{}{:?}", meta.dtype, meta.sizes.as_slice())
}
