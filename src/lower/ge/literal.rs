//! Python numbers and lists as the bytes of GE constants, by TorchAir's (that is torch's and numpy's) rules.

use half::{bf16, f16};

use super::proto::DataType;
use crate::formats::python;

/// A Python number or list of numbers.
#[derive(Clone, PartialEq, Debug)]
pub enum Literal {
    /// `True`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1.0`
    Float(f64),
    /// `1j`
    Complex(f64, f64),
    /// `[1, 0]`
    Ints(Vec<i64>),
    /// `[1.0, 2]`
    Floats(Vec<f64>),
    /// `[True]`
    Bools(Vec<bool>),
}

/// Why a number has no constant of a type.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
pub enum LiteralError {
    /// Out of the type's range.
    #[error("{value} does not fit into {}", dtype.name())]
    Range {
        /// The number.
        value: f64,
        /// The type.
        dtype: DataType,
    },
    /// A type that no Python number has.
    #[error("numbers cannot be made constants of type {}", dtype.name())]
    Type {
        /// The type.
        dtype: DataType,
    },
}

impl Literal {
    /// Returns the type that numpy gives it; a single float is single precision, as TorchAir has it.
    pub fn default_type(&self) -> DataType {
        match self {
            Literal::Bool(_) | Literal::Bools(_) => DataType::Bool,
            Literal::Int(_) => DataType::Int64,
            Literal::Ints(v) if v.is_empty() => DataType::Int32,
            Literal::Ints(_) => DataType::Int64,
            Literal::Float(_) => DataType::Float,
            Literal::Floats(_) => DataType::Double,
            Literal::Complex(..) => DataType::Complex64,
        }
    }

    /// Returns whether its first number is a float.
    pub fn is_float(&self) -> bool {
        matches!(self, Literal::Float(_) | Literal::Floats(_))
    }

    /// Returns whether it is an empty list.
    pub fn is_empty(&self) -> bool {
        match self {
            Literal::Ints(v) => v.is_empty(),
            Literal::Floats(v) => v.is_empty(),
            Literal::Bools(v) => v.is_empty(),
            _ => false,
        }
    }

    /// Returns the sizes: none for a number, the length for a list.
    pub fn dims(&self) -> Vec<i64> {
        let len = match self {
            Literal::Ints(v) => v.len(),
            Literal::Floats(v) => v.len(),
            Literal::Bools(v) => v.len(),
            _ => return Vec::new(),
        };
        vec![i64::try_from(len).unwrap_or(i64::MAX)]
    }

    /// Returns the little-endian bytes of the constant of type `dtype`.
    pub fn bytes(&self, dtype: DataType) -> Result<Vec<u8>, LiteralError> {
        let mut out = Vec::new();
        match self {
            Literal::Bool(b) => integer(i64::from(*b), dtype, &mut out)?,
            Literal::Int(i) => integer(*i, dtype, &mut out)?,
            Literal::Float(f) => float(*f, dtype, &mut out)?,
            Literal::Complex(real, imag) => complex(*real, *imag, dtype, &mut out)?,
            Literal::Ints(v) => v.iter().try_for_each(|i| integer(*i, dtype, &mut out))?,
            Literal::Floats(v) => v.iter().try_for_each(|f| float(*f, dtype, &mut out))?,
            Literal::Bools(v) => v.iter().try_for_each(|b| integer(i64::from(*b), dtype, &mut out))?,
        }
        Ok(out)
    }

    /// Returns Python's `repr`.
    pub fn repr(&self) -> String {
        match self {
            Literal::Bool(b) => if *b { "True" } else { "False" }.into(),
            Literal::Int(i) => i.to_string(),
            Literal::Float(f) => repr(*f),
            Literal::Complex(real, imag) => format!("complex({}, {})", repr(*real), repr(*imag)),
            Literal::Ints(v) => format!("{v:?}"),
            Literal::Floats(v) => format!("[{}]", v.iter().map(|f| repr(*f)).collect::<Vec<_>>().join(", ")),
            Literal::Bools(v) => {
                let words = v.iter().map(|b| if *b { "True" } else { "False" });
                format!("[{}]", words.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn repr(f: f64) -> String {
    let mut out = String::new();
    python::float(&mut out, f);
    out
}

#[allow(clippy::cast_precision_loss)] // Integers become floats as in Python: rounded to nearest.
fn integer(value: i64, dtype: DataType, out: &mut Vec<u8>) -> Result<(), LiteralError> {
    let range = || LiteralError::Range { value: value as f64, dtype };
    match dtype {
        DataType::Bool => out.push(u8::from(value != 0)),
        DataType::Int8 | DataType::Qint8 => out.extend(i8::try_from(value).map_err(|_| range())?.to_le_bytes()),
        DataType::Uint8 | DataType::Quint8 => out.push(u8::try_from(value).map_err(|_| range())?),
        DataType::Int16 => out.extend(i16::try_from(value).map_err(|_| range())?.to_le_bytes()),
        DataType::Uint16 => out.extend(u16::try_from(value).map_err(|_| range())?.to_le_bytes()),
        DataType::Int32 | DataType::Qint32 => out.extend(i32::try_from(value).map_err(|_| range())?.to_le_bytes()),
        DataType::Uint32 => out.extend(u32::try_from(value).map_err(|_| range())?.to_le_bytes()),
        DataType::Int64 => out.extend(value.to_le_bytes()),
        DataType::Uint64 => out.extend(u64::try_from(value).map_err(|_| range())?.to_le_bytes()),
        _ => float(value as f64, dtype, out)?,
    }
    Ok(())
}

#[allow(clippy::cast_possible_truncation)] // What torch does: floats are cut to integers, and rounded to single precision first.
fn float(value: f64, dtype: DataType, out: &mut Vec<u8>) -> Result<(), LiteralError> {
    let single = value as f32;
    match dtype {
        DataType::Float => out.extend(single.to_le_bytes()),
        DataType::Double => out.extend(value.to_le_bytes()),
        DataType::Float16 => out.extend(f16::from_f32(single).to_le_bytes()),
        DataType::Bf16 => out.extend(bf16::from_f32(single).to_le_bytes()),
        DataType::Complex64 => {
            out.extend(single.to_le_bytes());
            out.extend(0.0_f32.to_le_bytes());
        }
        DataType::Complex128 => {
            out.extend(value.to_le_bytes());
            out.extend(0.0_f64.to_le_bytes());
        }
        DataType::Bool => out.push(u8::from(value != 0.0)),
        DataType::Int8 | DataType::Uint8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
            // 2^63 is the least float beyond i64.
            if !value.is_finite() || value.abs() >= 9_223_372_036_854_775_808.0 {
                return Err(LiteralError::Range { value, dtype });
            }
            integer(value.trunc() as i64, dtype, out)?;
        }
        _ => return Err(LiteralError::Type { dtype }),
    }
    Ok(())
}

#[allow(clippy::cast_possible_truncation)] // Rounded to single precision, as torch does it.
fn complex(real: f64, imag: f64, dtype: DataType, out: &mut Vec<u8>) -> Result<(), LiteralError> {
    match dtype {
        DataType::Complex64 => [real, imag].iter().for_each(|v| out.extend((*v as f32).to_le_bytes())),
        DataType::Complex128 => [real, imag].iter().for_each(|v| out.extend(v.to_le_bytes())),
        _ => return Err(LiteralError::Type { dtype }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_bytes_of_the_type() {
        assert_eq!(Literal::Float(1.0).bytes(DataType::Float16).unwrap(), [0x00, 0x3c]);
        assert_eq!(Literal::Int(1).bytes(DataType::Bf16).unwrap(), [0x80, 0x3f]);
        assert_eq!(Literal::Float(2.7).bytes(DataType::Int8).unwrap(), [2]);
        assert_eq!(Literal::Ints(vec![1, -1]).bytes(DataType::Int32).unwrap(), [1, 0, 0, 0, 255, 255, 255, 255]);
        assert_eq!(Literal::Complex(0.0, 1.0).bytes(DataType::Complex64).unwrap(), [0, 0, 0, 0, 0, 0, 0x80, 0x3f]);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let error = Literal::Int(300).bytes(DataType::Int8).unwrap_err();
        assert_eq!(error.to_string(), "300 does not fit into DT_INT8");
        assert!(Literal::Float(f64::INFINITY).bytes(DataType::Int64).is_err());
        assert!(Literal::Float(1.0).bytes(DataType::String).is_err());
        assert!(Literal::Complex(1.0, 1.0).bytes(DataType::Float).is_err());
    }

    #[test]
    fn a_list_of_floats_is_double_but_a_float_is_single() {
        assert_eq!(Literal::Float(1.0).default_type(), DataType::Float);
        assert_eq!(Literal::Floats(vec![1.0]).default_type(), DataType::Double);
        assert_eq!(Literal::Ints(vec![]).default_type(), DataType::Int32);
    }

    #[test]
    fn repr_is_pythons() {
        assert_eq!(Literal::Float(1e-6).repr(), "1e-06");
        assert_eq!(Literal::Float(2.0).repr(), "2.0");
        assert_eq!(Literal::Ints(vec![1, 0]).repr(), "[1, 0]");
        assert_eq!(Literal::Float(f64::NEG_INFINITY).repr(), "-inf");
    }
}
