//! A witness as a file: a `.case` whose `meta` holds the inputs, inline where they are small, else in a safetensors file beside.
//!
//! Promises: `airlock verify` on the file runs both programs on these inputs first, and finds what the witness says. Floats are written
//! exactly; large inputs as f64 and i64. Leaves putting files down to callers.

use std::collections::BTreeMap;

use safetensors::tensor::{Dtype as FileDtype, SafeTensors, TensorView};
use thiserror::Error;

use crate::formats::text::case::{self, CaseMeta, GivenInput};
use crate::graph::{Dtype, Graph};
use crate::verify::differ::regimes::Values;
use crate::verify::differ::witness::{Held, Witness};
use crate::verify::options::{JudgeOptions, stated};

/// Of inputs with more elements than that together, the values stand in a file beside.
const INLINE: usize = 4096;

/// The memory of an input of a file may be so many times larger than what lies in it.
const GAPS: usize = 16;

/// Inputs with which a judgement begins.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Given {
    /// The sizes of symbols.
    pub sizes: Vec<(String, i64)>,
    /// The inputs, by name.
    pub inputs: Vec<Held>,
    /// Whether inputs that may be the same memory are.
    pub aliased: bool,
}

/// Why the inputs of a case cannot be read.
#[derive(Debug, Error)]
pub enum GivenError {
    /// A dtype that is none.
    #[error("counterexample input `{name}`: `{dtype}` is no dtype")]
    Dtype {
        /// Input.
        name: String,
        /// As written.
        dtype: String,
    },
    /// Values that are no numbers, or too many or few.
    #[error("counterexample input `{name}`: expected {expected} numbers")]
    Values {
        /// Input.
        name: String,
        /// How many its sizes come to.
        expected: usize,
    },
    /// Strides that do not fit.
    #[error(
        "counterexample input `{name}`: expected a stride for each of {dims} dimensions, within {most} elements in all"
    )]
    Strides {
        /// Input.
        name: String,
        /// How many its sizes are.
        dims: usize,
        /// How far it may reach.
        most: usize,
    },
    /// The file beside is not of its format.
    #[error("the file of counterexample inputs is not a safetensors file: {0}")]
    Beside(String),
}

/// A counterexample, written.
#[derive(Clone, PartialEq, Debug)]
pub struct Written {
    /// The case.
    pub case: String,
    /// The inputs beside, where they are large.
    pub beside: Option<Vec<u8>>,
    /// What shows it in PyTorch, where every operator is PyTorch's.
    pub script: Option<String>,
}

/// Writes a witness of two graphs; `name` is the file's name without ending, `note` what else is to be said of it.
pub fn write(
    (before, after): (&Graph, &Graph),
    witness: &Witness,
    options: &JudgeOptions,
    name: &str,
    note: &str,
) -> Written {
    let total = witness.inputs.iter().map(|h| count(&h.sizes)).fold(0_usize, usize::saturating_add);
    let is_large = total > INLINE;
    let mut meta = stated(options, before);
    meta.insert("name".into(), name.into());
    meta.insert("label".into(), "different".into());
    let separator = if note.is_empty() { "" } else { "; " };
    meta.insert("why".into(), format!("{}{separator}{note}", witness.sentence()).into());
    let file = is_large.then(|| format!("{name}.safetensors"));
    meta.insert(case::GIVEN.into(), toml::Value::Table(table(witness, file.as_deref())));
    let case = case::write(&meta, before, after);
    let beside = if is_large { beside(&witness.inputs) } else { None };
    let script = if is_large { None } else { super::script::write(before, after, witness) };
    Written { case, beside, script }
}

fn count(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |n, s| n.saturating_mul(*s))
}

/// How many numbers are written of a tensor: of complex ones both parts.
fn numbers(dtype: Option<Dtype>, sizes: &[usize]) -> usize {
    count(sizes).saturating_mul(if dtype.is_some_and(Dtype::is_complex) { 2 } else { 1 })
}

/// Returns what a case's `meta` says of a witness under [`case::GIVEN`]; `None` where its inputs are too large to stand there.
pub fn inline_table(witness: &Witness) -> Option<toml::Table> {
    let total = witness.inputs.iter().map(|h| count(&h.sizes)).fold(0_usize, usize::saturating_add);
    (total <= INLINE).then(|| table(witness, None))
}

#[allow(clippy::cast_possible_wrap)]
fn table(witness: &Witness, file: Option<&str>) -> toml::Table {
    let mut out = toml::Table::new();
    let place = witness.element.iter().map(|k| toml::Value::Integer(*k as i64)).collect();
    out.insert("output".into(), witness.output.clone().into());
    out.insert("element".into(), toml::Value::Array(place));
    out.insert("before".into(), witness.before.clone().into());
    out.insert("after".into(), witness.after.clone().into());
    out.insert("aliased".into(), witness.aliased.into());
    if let Some(wide) = witness.wide {
        out.insert("wide".into(), wide.into());
    }
    if let Some(file) = file {
        out.insert("file".into(), file.into());
    }
    let sizes: toml::Table = witness.sizes.iter().map(|(n, v)| (n.clone(), (*v).into())).collect();
    out.insert("sizes".into(), toml::Value::Table(sizes));
    let input = |h: &Held| {
        let mut one = toml::Table::new();
        if let Some(dtype) = h.dtype {
            one.insert("dtype".into(), dtype.short().into());
        }
        let numbers = |all: &[usize]| toml::Value::Array(all.iter().map(|n| (*n as i64).into()).collect());
        one.insert("sizes".into(), numbers(&h.sizes));
        if let Some(strides) = &h.strides {
            one.insert("strides".into(), numbers(strides));
        }
        if file.is_none() {
            let values = match &h.values {
                Values::Floats(all) => all.iter().map(|v| toml::Value::Float(*v)).collect(),
                Values::Whole(all) => all.iter().map(|v| toml::Value::Integer(*v)).collect(),
            };
            one.insert("values".into(), toml::Value::Array(values));
        }
        (h.name.clone(), toml::Value::Table(one))
    };
    out.insert("inputs".into(), toml::Value::Table(witness.inputs.iter().map(input).collect()));
    out
}

fn beside(inputs: &[Held]) -> Option<Vec<u8>> {
    let bytes = |h: &Held| match &h.values {
        Values::Floats(all) => (FileDtype::F64, all.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>()),
        Values::Whole(all) => (FileDtype::I64, all.iter().flat_map(|v| v.to_le_bytes()).collect()),
    };
    let all: Vec<(&Held, (FileDtype, Vec<u8>))> = inputs.iter().map(|h| (h, bytes(h))).collect();
    fn view<'a>(h: &Held, dtype: FileDtype, data: &'a [u8]) -> Option<(String, TensorView<'a>)> {
        let parts = h.dtype.is_some_and(Dtype::is_complex).then_some(2);
        let sizes = h.sizes.iter().copied().chain(parts).collect();
        Some((h.name.clone(), TensorView::new(dtype, sizes, data).ok()?))
    }
    let views = all.iter().map(|(h, (dtype, data))| view(h, *dtype, data));
    safetensors::serialize(views.collect::<Option<Vec<_>>>()?, None).ok()
}

/// Reads the inputs of a case; `beside` is the content of the file that it names.
pub fn read(meta: &CaseMeta, beside: Option<&[u8]>) -> Result<Option<Given>, GivenError> {
    let Some(stated) = &meta.counterexample else { return Ok(None) };
    let file = beside.map(SafeTensors::deserialize).transpose().map_err(|e| GivenError::Beside(e.to_string()))?;
    let mut inputs = Vec::new();
    for (name, one) in &stated.inputs {
        let dtype = one
            .dtype
            .as_deref()
            .map(|d| Dtype::from_short(d).ok_or_else(|| GivenError::Dtype { name: name.clone(), dtype: d.into() }));
        let dtype = dtype.transpose()?;
        let tensor = file.as_ref().and_then(|f| f.tensor(name).ok());
        let values = match &tensor {
            Some(view) => of_file(view),
            None => inline(one, dtype),
        };
        let expected = numbers(dtype, &one.sizes);
        let values = values.filter(|v| v.len() == expected);
        let values = values.ok_or_else(|| GivenError::Values { name: name.clone(), expected })?;
        let most = expected.saturating_mul(GAPS);
        if one.strides.as_ref().is_some_and(|s| s.len() != one.sizes.len() || reach(&one.sizes, s) > most) {
            return Err(GivenError::Strides { name: name.clone(), dims: one.sizes.len(), most });
        }
        inputs.push(Held { name: name.clone(), dtype, sizes: one.sizes.clone(), strides: one.strides.clone(), values });
    }
    let sizes: BTreeMap<String, i64> = stated.sizes.clone();
    Ok(Some(Given { sizes: sizes.into_iter().collect(), inputs, aliased: stated.aliased }))
}

/// How many elements of memory a tensor of these strides reaches over.
fn reach(sizes: &[usize], strides: &[usize]) -> usize {
    let last = sizes.iter().zip(strides).map(|(n, s)| n.saturating_sub(1).saturating_mul(*s));
    last.fold(1, usize::saturating_add)
}

fn of_file(view: &TensorView<'_>) -> Option<Values> {
    let words = view.data().chunks_exact(8).map(|c| <[u8; 8]>::try_from(c).unwrap_or_default());
    match view.dtype() {
        FileDtype::F64 => Some(Values::Floats(words.map(f64::from_le_bytes).collect())),
        FileDtype::I64 => Some(Values::Whole(words.map(i64::from_le_bytes).collect())),
        _ => None,
    }
}

#[allow(clippy::cast_precision_loss)]
fn inline(one: &GivenInput, dtype: Option<Dtype>) -> Option<Values> {
    let is_float = dtype.map_or(one.values.iter().any(toml::Value::is_float), |d| d.is_float() || d.is_complex());
    let float = |v: &toml::Value| v.as_float().or_else(|| v.as_integer().map(|i| i as f64));
    Some(match is_float {
        true => Values::Floats(one.values.iter().map(float).collect::<Option<_>>()?),
        false => Values::Whole(one.values.iter().map(toml::Value::as_integer).collect::<Option<_>>()?),
    })
}
