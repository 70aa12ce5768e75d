//! Weights as PyTorch 2.5 to 2.8 write them: a `torch.save` archive inside the archive, with a pickle of names and tensors.
//!
//! Promises: storages that are stored uncompressed are cuts of the file, as raw ones are; tensors that share a storage share it here;
//! the types made are at most a small multiple of the pickle. Leaves whether tensors lie inside their storages to `weights`.

use std::sync::Arc;

use indexmap::IndexMap;

use super::archive::Archive;
use super::error::Problem;
use crate::formats::pickle::{self, Pickle, Storage, Tensor, Value};
use crate::graph::{Bytes, Device, Layout, TensorType, Weight, Weights};
use crate::sym::Dim;

const PICKLE: &str = "data.pkl";
const BYTE_ORDER: &str = "byteorder";

/// Reads the tensors of an entry; its storages go to `weights` under names that begin with `stem`.
pub(super) fn read(
    archive: &mut Archive,
    entry: &str,
    stem: &str,
    weights: &mut Weights,
) -> Result<IndexMap<Box<str>, Weight>, Problem> {
    // PyTorch writes nothing at all where there is no dictionary.
    if archive.entry(entry)?.is_empty() {
        return Ok(IndexMap::new());
    }
    archive.inside(entry, |inner| {
        little_endian(inner)?;
        let bytes = inner.entry(PICKLE)?;
        let pickle =
            pickle::read(bytes.as_slice()).map_err(|source| Problem::Pickle { entry: PICKLE.to_string(), source })?;
        let mut storages = IndexMap::new();
        let table = table(&pickle, bytes.len(), stem, &mut storages)?;
        for (name, storage) in storages {
            weights.storages.insert(name, bytes_of(inner, storage)?);
        }
        Ok(table)
    })
}

/// torch.load swaps the bytes of a file from a big-endian machine; here they stay in the file as they are.
fn little_endian(inner: &mut Archive) -> Result<(), Problem> {
    if !inner.has(BYTE_ORDER) {
        return Ok(());
    }
    let order = inner.entry(BYTE_ORDER)?;
    match order.as_slice() {
        b"little" => Ok(()),
        other => {
            let found = String::from_utf8_lossy(other).chars().take(40).collect();
            Err(Problem::Version { entry: BYTE_ORDER, found, expected: "little" })
        }
    }
}

/// Returns the named tensors of a pickle, and the storages that they use.
fn table<'k>(
    pickle: &'k Pickle<'_>,
    pickle_bytes: usize,
    stem: &str,
    storages: &mut IndexMap<Arc<str>, &'k Storage>,
) -> Result<IndexMap<Box<str>, Weight>, Problem> {
    let unexpected = |place: String, expected: &str, found: &Value<'_>| Problem::Unexpected {
        place,
        expected: expected.to_string(),
        found: found.kind(),
    };
    let Value::Dict(pairs) = pickle.root() else {
        return Err(unexpected(format!("what `{PICKLE}` holds"), "a dictionary of tensors", pickle.root()));
    };
    let mut table = IndexMap::with_capacity(pairs.len());
    // One tuple of sizes may serve many tensors: without a bound a small pickle could state large types.
    let mut dimensions = pickle_bytes;
    for (key, value) in pairs {
        let Value::Text(name) = pickle.value(*key) else {
            return Err(unexpected(format!("a name in `{PICKLE}`"), "a text", pickle.value(*key)));
        };
        let Value::Tensor(tensor) = pickle.value(*value) else {
            return Err(unexpected(format!("weight `{name}`"), "a tensor", pickle.value(*value)));
        };
        let rank = pickle.sizes(tensor).len();
        dimensions = dimensions.checked_sub(rank).ok_or_else(|| Problem::Unexpected {
            place: format!("weight `{name}`"),
            expected: format!("at most {pickle_bytes} dimensions in all weights together"),
            found: "more".to_string(),
        })?;
        let own = format!("{stem}/{}", tensor.storage.key);
        let storage = match storages.get_key_value(own.as_str()) {
            Some((known, _)) => known.clone(),
            None => Arc::from(own),
        };
        storages.entry(storage.clone()).or_insert(&tensor.storage);
        let weight = Weight { ty: type_of(pickle, tensor), storage, is_param: tensor.is_parameter };
        table.insert(Box::from(*name), weight);
    }
    Ok(table)
}

fn type_of(pickle: &Pickle<'_>, tensor: &Tensor) -> TensorType {
    TensorType {
        dtype: tensor.dtype,
        sizes: pickle.sizes(tensor).map(Dim::Fixed).collect(),
        strides: Some(pickle.strides(tensor).map(Dim::Fixed).collect()),
        offset: Dim::Fixed(tensor.offset),
        device: device(&tensor.storage.location),
        layout: Layout::Strided,
        requires_grad: tensor.requires_grad,
    }
}

/// `cpu`, `cuda:0`.
fn device(location: &str) -> Device {
    match location.split_once(':').and_then(|(kind, index)| Some((kind, index.parse().ok()?))) {
        Some((kind, index)) => Device { kind: kind.into(), index: Some(index) },
        None => Device::new(location),
    }
}

/// Returns the bytes of a storage, which are at least as many as the pickle says.
fn bytes_of(inner: &mut Archive, storage: &Storage) -> Result<Bytes, Problem> {
    let entry = format!("data/{}", storage.key);
    let bytes = inner.entry(&entry)?;
    let element = storage.dtype.map_or(1, |dtype| u64::try_from(dtype.bytes()).unwrap_or(u64::MAX));
    let needed = storage.elements.checked_mul(element);
    if needed.is_none_or(|needed| needed > u64::try_from(bytes.len()).unwrap_or(u64::MAX)) {
        return Err(Problem::Unexpected {
            place: format!("storage `{entry}`"),
            expected: format!("{} elements of {element} bytes", storage.elements),
            found: format!("{} bytes", bytes.len()),
        });
    }
    Ok(bytes)
}
