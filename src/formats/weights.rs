//! Weights beside a text model: a `.safetensors` file, mapped.
//!
//! Promises: every parameter, buffer and constant of the signature is found with the dtype and shape that the program
//! states, or an error names it; bytes stay in the file. Leaves the safetensors format to its own crate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use safetensors::{Dtype as FileDtype, SafeTensors};

use super::map;
use crate::graph::{BodyId, Bytes, Dtype, Graph, InputKind, NodeKind, TensorType, View, Weight, Weights};
use crate::sym::Dim;

/// Why a weights file does not serve.
#[derive(Debug, thiserror::Error)]
pub enum WeightsFileError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is not of this format.
    #[error("{} is not a safetensors file: {reason}", path.display())]
    Format {
        /// File.
        path: PathBuf,
        /// What the format's reader says.
        reason: String,
    },
    /// A tensor of the signature is not there.
    #[error("{} has no tensor `{name}`, which the signature calls {kind}", path.display())]
    Missing {
        /// File.
        path: PathBuf,
        /// Fully qualified name.
        name: String,
        /// `PARAMETER` ...
        kind: &'static str,
    },
    /// A tensor is not what the program says.
    #[error("tensor `{name}` of {} is {found}, but the program says {expected}", path.display())]
    Mismatch {
        /// File.
        path: PathBuf,
        /// Fully qualified name.
        name: String,
        /// Dtype and shape in the program.
        expected: String,
        /// Dtype and shape in the file.
        found: String,
    },
}

/// Reads the weights that the signature of `graph` names.
pub fn read(path: &Path, graph: &Graph) -> Result<Weights, WeightsFileError> {
    let bytes = map(path).map_err(|source| WeightsFileError::Io { path: path.into(), source })?;
    let file = SafeTensors::deserialize(bytes.as_slice())
        .map_err(|e| WeightsFileError::Format { path: path.into(), reason: e.to_string() })?;
    let mut weights = Weights::default();
    let specs = graph.signature.iter().flat_map(|s| s.inputs.iter());
    let placeholders = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
    for (spec, node) in specs.zip(placeholders) {
        let Some(name) = spec.target.as_deref() else { continue };
        let is_constant = spec.kind == InputKind::ConstantTensor || spec.persistent == Some(false);
        if !matches!(spec.kind, InputKind::Parameter | InputKind::Buffer | InputKind::ConstantTensor) {
            continue;
        }
        let view = file.tensor(name).map_err(|_| WeightsFileError::Missing {
            path: path.into(),
            name: name.into(),
            kind: spec.kind.name(),
        })?;
        let stated = graph.ty(node).as_tensor();
        let mut ty = placed(view.dtype(), view.shape(), stated);
        if let Some(stated) = stated
            && (ty.dtype, &ty.sizes) != (stated.dtype, &stated.sizes)
        {
            return Err(WeightsFileError::Mismatch {
                path: path.into(),
                name: name.into(),
                expected: stated.print(&graph.symbols),
                found: ty.print(&graph.symbols),
            });
        }
        // PyTorch's default for a parameter. Its composite operators choose kernels by it (lstm's last bits depend on it).
        ty.requires_grad |= spec.kind == InputKind::Parameter && (ty.dtype.is_float() || ty.dtype.is_complex());
        let storage: Arc<str> = name.into();
        weights.storages.insert(storage.clone(), cut_of(&bytes, view.data()));
        let weight = Weight { ty, storage, is_param: spec.kind == InputKind::Parameter };
        let table = if is_constant { &mut weights.constants } else { &mut weights.state };
        table.insert(name.into(), weight);
    }
    Ok(weights)
}

/// The part of the mapped file that `data` is.
pub(super) fn cut_of(bytes: &Bytes, data: &[u8]) -> Bytes {
    let start = (data.as_ptr() as usize).wrapping_sub(bytes.as_slice().as_ptr() as usize);
    bytes.cut(start, data.len()).unwrap_or_else(|| Bytes::new(data.to_vec()))
}

/// The type of a tensor that lies contiguously in a storage of its own.
pub(super) fn placed(dtype: FileDtype, shape: &[usize], stated: Option<&TensorType>) -> TensorType {
    let fixed = |size: usize| Dim::Fixed(i64::try_from(size).unwrap_or(i64::MAX));
    let device = stated.map_or_else(crate::graph::Device::cpu, |t| t.device.clone());
    let mut ty = TensorType::new(dtype_of(dtype), shape.iter().copied().map(fixed), device);
    let mut stride = 1_usize;
    let mut strides: Vec<Dim> = Vec::new();
    for size in shape.iter().rev() {
        strides.push(fixed(stride));
        stride = stride.saturating_mul((*size).max(1));
    }
    strides.reverse();
    ty.strides = Some(strides.into_iter().collect());
    ty.requires_grad = stated.is_some_and(|t| t.requires_grad);
    ty
}

fn dtype_of(dtype: FileDtype) -> Dtype {
    match dtype {
        FileDtype::BOOL => Dtype::Bool,
        FileDtype::U8 => Dtype::U8,
        FileDtype::I8 => Dtype::I8,
        FileDtype::F8_E5M2 => Dtype::F8E5m2,
        FileDtype::F8_E4M3 => Dtype::F8E4m3fn,
        FileDtype::F8_E4M3FNUZ => Dtype::F8E4m3fnuz,
        FileDtype::F8_E5M2FNUZ => Dtype::F8E5m2fnuz,
        FileDtype::F8_E8M0 => Dtype::F8E8m0fnu,
        FileDtype::I16 => Dtype::I16,
        FileDtype::U16 => Dtype::U16,
        FileDtype::F16 => Dtype::F16,
        FileDtype::BF16 => Dtype::Bf16,
        FileDtype::C64 => Dtype::C64,
        FileDtype::I32 => Dtype::I32,
        FileDtype::U32 => Dtype::U32,
        FileDtype::F32 => Dtype::F32,
        FileDtype::F64 => Dtype::F64,
        FileDtype::I64 => Dtype::I64,
        FileDtype::U64 => Dtype::U64,
        // Packed formats of the file have no dtype of their own in PyTorch: a mismatch with whatever is stated.
        _ => Dtype::F4E2m1fnX2,
    }
}
