//! Weights and constants of an archive: names to places in storages, storages to cuts of the file.
//!
//! Promises: no byte of a weight is looked at or copied (unless its entry is compressed); every tensor lies inside its storage; what the
//! signature names is there. Leaves the values to whoever runs the graph.

use std::sync::Arc;

use indexmap::IndexMap;

use super::archive::Archive;
use super::container::Container;
use super::error::Problem;
use super::pickled;
use super::schema::{self, Payload, SymInt, TensorMeta};
use super::values::{dtype, layout};
use crate::graph::{Device, InputKind, Signature, TensorType, Weight, WeightError, Weights};
use crate::sym::Dim;

pub(super) const WEIGHTS: &str = "data/weights/";
pub(super) const CONSTANTS: &str = "data/constants/";
pub(super) const WEIGHTS_CONFIG: &str = "data/weights/model_weights_config.json";
pub(super) const CONSTANTS_CONFIG: &str = "data/constants/model_constants_config.json";

/// Reads both tables, pickled or not, and the storages that they name.
pub(super) fn read(archive: &mut Archive) -> Result<Weights, Problem> {
    let mut weights = Weights::default();
    let mut used = Vec::new();
    let Container { weights: state, constants, .. } = *archive.container();
    for (folder, config, pickle, stem) in
        [(WEIGHTS, WEIGHTS_CONFIG, state, "state_dict"), (CONSTANTS, CONSTANTS_CONFIG, constants, "constants")]
    {
        let table = if is_pickled(archive, config, pickle) {
            pickled::read(archive, pickle, stem, &mut weights)?
        } else {
            configured(archive, folder, config, &mut used)?
        };
        if folder == WEIGHTS {
            weights.state = table;
        } else {
            weights.constants = table;
        }
    }
    storages(archive, &used, &mut weights)?;
    for (name, weight) in weights.state.iter().chain(&weights.constants) {
        fits(name, weight, &weights)?;
    }
    Ok(weights)
}

/// Returns whether a table is a pickle: where there is one and no configuration, and always where there is no folder.
fn is_pickled(archive: &Archive, config: &str, pickle: &str) -> bool {
    !archive.container().is_stated || (!archive.has(config) && archive.has(pickle))
}

/// Returns the entries that were read as weights, which the writer makes anew.
pub(super) fn is_remade(archive: &Archive, entry: &str) -> bool {
    let Container { weights, constants, .. } = *archive.container();
    [(WEIGHTS_CONFIG, weights), (CONSTANTS_CONFIG, constants)]
        .into_iter()
        .any(|(config, pickle)| entry == config || (entry == pickle && is_pickled(archive, config, pickle)))
}

/// Reads a configuration, and which storages it names.
fn configured(
    archive: &mut Archive,
    folder: &str,
    config: &str,
    used: &mut Vec<String>,
) -> Result<IndexMap<Box<str>, Weight>, Problem> {
    let json = archive.entry(config)?;
    let parsed: schema::WeightsConfig<'_> = super::document::parse(config, json.as_slice())?;
    let mut table = IndexMap::with_capacity(parsed.config.0.len());
    for (name, payload) in &parsed.config.0 {
        let entry = format!("{folder}{}", &*payload.path_name);
        table.insert(Box::from(&**name), weight(name, &entry, payload)?);
        used.push(entry);
    }
    Ok(table)
}

/// Takes the storages, in the order in which the archive holds them.
fn storages(archive: &mut Archive, used: &[String], weights: &mut Weights) -> Result<(), Problem> {
    for entry in used {
        if !archive.has(entry) {
            return Err(Problem::MissingEntry { entry: entry.clone() });
        }
    }
    let wanted: crate::sym::KeyedSet<&str> = used.iter().map(String::as_str).collect();
    let ordered: Vec<String> = archive.names().filter(|n| wanted.contains(n)).map(str::to_string).collect();
    for entry in ordered {
        let bytes = archive.entry(&entry)?;
        weights.storages.insert(entry.into(), bytes);
    }
    Ok(())
}

fn weight(name: &str, entry: &str, payload: &Payload<'_>) -> Result<Weight, Problem> {
    let meta = match &payload.tensor_meta {
        Some(meta) if !payload.use_pickle => meta,
        _ => return Err(Problem::Pickled { name: name.to_string(), entry: entry.to_string() }),
    };
    Ok(Weight { ty: fixed_type(meta, name)?, storage: Arc::from(entry), is_param: payload.is_param })
}

/// Returns the type of a stored tensor, whose sizes are numbers.
fn fixed_type(meta: &TensorMeta<'_>, name: &str) -> Result<TensorType, Problem> {
    let place = || format!("weight `{name}`");
    let fixed = |s: &SymInt<'_>| match s {
        SymInt::Int(v) if *v >= 0 => Ok(Dim::Fixed(*v)),
        SymInt::Int(v) => Err((v.to_string(), "a number that is not negative")),
        SymInt::Expr(e) => Err((format!("`{}`", &*e.expr_str), "a number")),
    };
    let unexpected = |(found, expected): (String, &str)| Problem::Unexpected {
        place: place(),
        expected: expected.to_string(),
        found,
    };
    if meta.sizes.len() != meta.strides.len() {
        return Err(Problem::Rank { place: place(), sizes: meta.sizes.len(), strides: meta.strides.len() });
    }
    Ok(TensorType {
        dtype: dtype(meta.dtype, &place)?,
        sizes: meta.sizes.iter().map(fixed).collect::<Result<_, _>>().map_err(unexpected)?,
        strides: Some(meta.strides.iter().map(fixed).collect::<Result<_, _>>().map_err(unexpected)?),
        offset: fixed(&meta.storage_offset).map_err(unexpected)?,
        device: Device { kind: (*meta.device.kind).into(), index: meta.device.index },
        layout: layout(meta.layout, &place)?,
        requires_grad: meta.requires_grad,
    })
}

/// Holds that a tensor lies inside its storage, which holds whole elements.
fn fits(name: &str, weight: &Weight, weights: &Weights) -> Result<(), Problem> {
    let found = weights.storages.get(&weight.storage).map_or(0, |b| u64::try_from(b.len()).unwrap_or(u64::MAX));
    let element = u64::try_from(weight.ty.dtype.bytes()).unwrap_or(u64::MAX);
    let needed = extent(&weight.ty).unwrap_or(u64::MAX);
    if needed > found {
        let (name, storage) = (name.to_string(), weight.storage.to_string());
        return Err(WeightError::TooShort { name, storage, needed, found }.into());
    }
    if found.checked_rem(element).unwrap_or(0) != 0 {
        let (name, entry) = (name.to_string(), weight.storage.to_string());
        return Err(Problem::Elements { name, entry, found, element });
    }
    Ok(())
}

/// Returns how many bytes from the start of its storage a tensor needs; `None` where that exceeds 64 bits.
pub(super) fn extent(ty: &TensorType) -> Option<u64> {
    let number = |d: &Dim| d.fixed().and_then(|v| u64::try_from(v).ok());
    if ty.sizes.iter().any(|d| number(d) == Some(0)) {
        return Some(0);
    }
    let mut last = number(&ty.offset)?;
    for (size, stride) in ty.sizes.iter().zip(ty.strides.as_deref().unwrap_or_default()) {
        last = last.checked_add(number(size)?.checked_sub(1)?.checked_mul(number(stride)?)?)?;
    }
    last.checked_add(1)?.checked_mul(u64::try_from(ty.dtype.bytes()).ok()?)
}

/// Holds that every parameter, buffer and constant of the signature has data.
pub(super) fn complete(signature: &Signature, weights: &Weights) -> Result<(), Problem> {
    for spec in &signature.inputs {
        let Some(target) = &spec.target else { continue };
        let there = match spec.kind {
            InputKind::Parameter => weights.state.contains_key(target),
            InputKind::Buffer if spec.persistent == Some(true) => weights.state.contains_key(target),
            InputKind::Buffer | InputKind::ConstantTensor => weights.constants.contains_key(target),
            InputKind::UserInput | InputKind::CustomObj | InputKind::Token => true,
        };
        if !there {
            return Err(WeightError::Missing { name: target.to_string() }.into());
        }
    }
    Ok(())
}
