//! FX types to GE types, and the texts that TorchAir keeps of them.

use super::proto::DataType;
use super::value::{Meta, SymbolKind, TensorMeta};
use crate::graph::Dtype;
use crate::sym::{Dim, Symbols};

/// Returns the GE type of a torch dtype; `None` where there is none.
pub(super) fn ge_type(dtype: Dtype) -> Option<DataType> {
    Some(match dtype {
        Dtype::F32 => DataType::Float,
        Dtype::I32 => DataType::Int32,
        Dtype::Bool => DataType::Bool,
        Dtype::F16 => DataType::Float16,
        Dtype::I8 => DataType::Int8,
        Dtype::U8 => DataType::Uint8,
        Dtype::I16 => DataType::Int16,
        Dtype::I64 => DataType::Int64,
        Dtype::F64 => DataType::Double,
        Dtype::Bf16 => DataType::Bf16,
        Dtype::C32 => DataType::Complex32,
        Dtype::C64 => DataType::Complex64,
        Dtype::C128 => DataType::Complex128,
        Dtype::Qint8 => DataType::Qint8,
        Dtype::Quint8 => DataType::Quint8,
        Dtype::Qint32 => DataType::Qint32,
        Dtype::Quint4x2 => DataType::Int4,
        Dtype::F8E5m2 => DataType::Float8E5m2,
        Dtype::F8E4m3fn => DataType::Float8E4m3fn,
        Dtype::U16 => DataType::Uint16,
        Dtype::U32 => DataType::Uint32,
        Dtype::U64 => DataType::Uint64,
        Dtype::F8E8m0fnu => DataType::Float8E8m0,
        Dtype::F8E4m3fnuz | Dtype::F8E5m2fnuz | Dtype::F4E2m1fnX2 | Dtype::Bc32 => return None,
    })
}

/// Returns the GE type of a value.
pub(super) fn type_of(meta: &Meta) -> Option<DataType> {
    match meta {
        Meta::Tensor(t) => ge_type(t.dtype),
        Meta::Symbol(_, SymbolKind::Int) | Meta::Sizes(_) => Some(DataType::Int64),
        Meta::Symbol(_, SymbolKind::Float) => Some(DataType::Float),
        Meta::Symbol(_, SymbolKind::Bool) => Some(DataType::Bool),
    }
}

/// Returns the type of a number as torch_npu passes it in integer arguments.
pub(super) fn of_torch_number(number: i64) -> Option<DataType> {
    Some(match number {
        0 => DataType::Uint8,
        1 => DataType::Int8,
        2 => DataType::Int16,
        3 => DataType::Int32,
        4 => DataType::Int64,
        5 => DataType::Float16,
        6 => DataType::Float,
        7 => DataType::Double,
        8 => DataType::Complex32,
        9 => DataType::Complex64,
        10 => DataType::Complex128,
        11 => DataType::Bool,
        12 => DataType::Qint8,
        13 => DataType::Quint8,
        14 => DataType::Qint32,
        15 => DataType::Bf16,
        16 | 285 => DataType::Int4,
        23 | 291 => DataType::Float8E5m2,
        24 | 292 => DataType::Float8E4m3fn,
        290 => DataType::Hifloat8,
        293 => DataType::Float8E8m0,
        296 => DataType::Float4E2m1,
        297 => DataType::Float4E1m2,
        _ => return None,
    })
}

/// Returns sizes as descriptors hold them: -1 for what a symbol says.
pub(super) fn dims(sizes: &[Dim]) -> Vec<i64> {
    sizes.iter().map(|d| d.fixed().unwrap_or(-1)).collect()
}

/// Returns what TorchAir writes into a descriptor's `_meta`.
pub(super) fn text(meta: &Meta, symbols: &Symbols) -> String {
    let list = |sizes: &[Dim]| sizes.iter().map(|d| symbols.print_python(*d)).collect::<Vec<_>>().join(", ");
    match meta {
        Meta::Tensor(TensorMeta { dtype, sizes, .. }) => {
            // TorchAir leaves the last parenthesis open.
            format!("Tensor(dtype=torch.{}, shape=torch.Size([{}])", dtype.long(), list(sizes))
        }
        Meta::Symbol(d, kind) => {
            let class = match kind {
                SymbolKind::Int => "SymInt",
                SymbolKind::Float => "SymFloat",
                SymbolKind::Bool => "SymBool",
            };
            format!("<class 'torch.{class}'>({})", symbols.print_python(*d))
        }
        Meta::Sizes(sizes) => format!("<class 'list'>([{}])", list(sizes)),
    }
}
