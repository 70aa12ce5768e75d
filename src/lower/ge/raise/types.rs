//! GE's types of elements as PyTorch's.

use crate::graph::Dtype;
use crate::lower::ge::proto::DataType;

/// Returns the dtype of a number in descriptors.
pub fn of_proto(number: i32) -> Option<Dtype> {
    of(DataType::try_from(number).ok()?)
}

/// Returns the dtype of a number in attributes.
pub fn of_cpp(number: i64) -> Option<Dtype> {
    of(DataType::from_cpp(number)?)
}

fn of(ty: DataType) -> Option<Dtype> {
    Some(match ty {
        DataType::Float => Dtype::F32,
        DataType::Float16 => Dtype::F16,
        DataType::Bf16 => Dtype::Bf16,
        DataType::Double => Dtype::F64,
        DataType::Int8 => Dtype::I8,
        DataType::Int16 => Dtype::I16,
        DataType::Int32 => Dtype::I32,
        DataType::Int64 => Dtype::I64,
        DataType::Uint8 => Dtype::U8,
        DataType::Uint16 => Dtype::U16,
        DataType::Uint32 => Dtype::U32,
        DataType::Uint64 => Dtype::U64,
        DataType::Bool => Dtype::Bool,
        DataType::Complex32 => Dtype::C32,
        DataType::Complex64 => Dtype::C64,
        DataType::Complex128 => Dtype::C128,
        DataType::Qint8 => Dtype::Qint8,
        DataType::Quint8 => Dtype::Quint8,
        DataType::Qint32 => Dtype::Qint32,
        DataType::Float8E5m2 => Dtype::F8E5m2,
        DataType::Float8E4m3fn => Dtype::F8E4m3fn,
        DataType::Float8E8m0 => Dtype::F8E8m0fnu,
        _ => return None,
    })
}
