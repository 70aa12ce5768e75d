//! Which bytes a node stands for.

use crate::graph::{BodyId, Graph, NodeId, NodeKind, View, Weight, WeightError, Weights};
use crate::sym::Dim;
use crate::sym::KeyedMap;

/// Names of weights by name of placeholder, of the graph itself.
#[derive(Debug)]
pub(in super::super) struct Named(KeyedMap<String, String>);

impl Named {
    pub(super) fn of(graph: &Graph) -> Self {
        let inputs = graph.signature().map_or(&[][..], |s| &s.inputs);
        Self(inputs.iter().filter_map(|i| Some((i.name.to_string(), i.target.as_ref()?.to_string()))).collect())
    }

    /// Returns the name of the weight that a node stands for.
    pub(super) fn weight<'a>(&'a self, graph: &'a Graph, n: NodeId) -> Option<&'a str> {
        let (body, _) = graph.place(n)?;
        match graph.kind(n) {
            NodeKind::Placeholder if body == BodyId::ROOT => self.0.get(graph.name(n)).map(String::as_str),
            NodeKind::GetAttr => Some(graph.target(n)),
            NodeKind::Placeholder | NodeKind::Call | NodeKind::Output => None,
        }
    }
}

/// Returns at most `len` bytes, from `offset`, of the weight that a node stands for; an error says why there are none.
pub(in super::super) fn weight_bytes<'a>(
    weights: &'a Weights,
    graph: &Graph,
    named: &mut Option<Named>,
    node: NodeId,
    offset: u64,
    len: u32,
) -> Result<&'a [u8], String> {
    let Some(name) = named.get_or_insert_with(|| Named::of(graph)).weight(graph, node) else {
        return Err("the node is no parameter, buffer or constant".to_string());
    };
    let bytes = bytes_of(weights, name).map_err(|e| e.to_string())?;
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let end = start.saturating_add(len as usize).min(bytes.len());
    Ok(bytes.get(start..end).unwrap_or_default())
}

/// Returns the bytes of a weight: its part of the storage, from its first element to its last.
pub(super) fn bytes_of<'a>(weights: &'a Weights, name: &str) -> Result<&'a [u8], WeightError> {
    let (weight, storage) = weights.find(name)?;
    let missing = |needed: u64| WeightError::TooShort {
        name: name.to_string(),
        storage: weight.storage.to_string(),
        needed,
        found: u64::try_from(storage.len()).unwrap_or(u64::MAX),
    };
    let (start, end) = span(weight).ok_or_else(|| missing(u64::MAX))?;
    storage.as_slice().get(start..end).ok_or_else(|| missing(u64::try_from(end).unwrap_or(u64::MAX)))
}

/// Returns the first byte of a tensor in its storage and the one after its last.
fn span(weight: &Weight) -> Option<(usize, usize)> {
    let fixed = |d: &Dim| match d {
        Dim::Fixed(v) => usize::try_from(*v).ok(),
        Dim::Expr(_) => None,
    };
    let ty = &weight.ty;
    let start = fixed(&ty.offset)?;
    let sizes = ty.sizes.iter().map(fixed).collect::<Option<Vec<usize>>>()?;
    let elements = if sizes.contains(&0) {
        0
    } else {
        let last = match &ty.strides {
            Some(strides) => sizes.iter().zip(strides).try_fold(0_usize, |sum, (size, stride)| {
                sum.checked_add(size.checked_sub(1)?.checked_mul(fixed(stride)?)?)
            })?,
            None => sizes.iter().try_fold(1_usize, |n, s| n.checked_mul(*s))?.checked_sub(1)?,
        };
        last.checked_add(1)?
    };
    let bytes = ty.dtype.bytes();
    Some((start.checked_mul(bytes)?, start.checked_add(elements)?.checked_mul(bytes)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Bytes, Device, Dtype, TensorType};

    fn weights(sizes: &[i64], strides: Option<&[i64]>, offset: i64, bytes: usize) -> Weights {
        let mut ty = TensorType::new(Dtype::F32, sizes.iter().map(|s| Dim::Fixed(*s)), Device::cpu());
        ty.strides = strides.map(|s| s.iter().map(|s| Dim::Fixed(*s)).collect());
        ty.offset = Dim::Fixed(offset);
        let mut weights = Weights::default();
        weights.state.insert("w".into(), Weight { ty, storage: "s".into(), is_param: true });
        weights.storages.insert("s".into(), Bytes::new((0..bytes).map(|b| b as u8).collect::<Vec<u8>>()));
        weights
    }

    #[test]
    fn a_tensor_is_its_part_of_the_storage() {
        assert_eq!(bytes_of(&weights(&[2, 2], None, 1, 24), "w").unwrap(), (4..20).collect::<Vec<u8>>());
        assert_eq!(bytes_of(&weights(&[2, 2], Some(&[1, 2]), 0, 16), "w").unwrap().len(), 16);
        assert_eq!(bytes_of(&weights(&[0, 4], None, 0, 0), "w").unwrap().len(), 0);
        assert_eq!(bytes_of(&weights(&[], None, 0, 4), "w").unwrap().len(), 4);
    }

    #[test]
    fn a_short_storage_is_an_error_that_says_how_short() {
        let error = bytes_of(&weights(&[4], None, 0, 12), "w").unwrap_err();
        assert!(matches!(error, WeightError::TooShort { needed: 16, found: 12, .. }), "{error}");
        assert!(bytes_of(&weights(&[i64::MAX, 4], None, 0, 12), "w").is_err());
        assert!(bytes_of(&weights(&[-1], None, 0, 12), "w").is_err());
        assert!(bytes_of(&weights(&[1], None, 0, 4), "v").is_err());
    }
}
