//! Dtypes of results: PyTorch's promotion.
//!
//! Promises: the same dtype as `torch.result_type` gives, tensors with dimensions before scalars tensors before Python numbers, each
//! deciding only its category. Default dtype: float32.

use crate::graph::Dtype;
use crate::ops::error::CallFault;
use crate::ops::typing::call::{Number, Operand};

/// Returns the dtype of a `torch.dtype` number as native code has it (`ScalarType`).
pub fn from_code(code: i64) -> Option<Dtype> {
    use Dtype::*;
    const CODES: &[Dtype] =
        &[U8, I8, I16, I32, I64, F16, F32, F64, C32, C64, C128, Bool, Qint8, Quint8, Qint32, Bf16, Quint4x2];
    match code {
        23 => Some(F8E5m2),
        24 => Some(F8E4m3fn),
        _ => usize::try_from(code).ok().and_then(|i| CODES.get(i)).copied(),
    }
}

/// bool, integer, float, complex: a higher one decides.
pub(in crate::ops) fn category(d: Dtype) -> u8 {
    match d {
        Dtype::Bool => 0,
        d if d.is_float() => 2,
        d if d.is_complex() => 3,
        _ => 1,
    }
}

fn is_float8(d: Dtype) -> bool {
    d.is_float() && d.bytes() == 1
}

/// Returns the complex dtype of a float's precision.
pub fn to_complex(d: Dtype) -> Dtype {
    match d {
        Dtype::F16 => Dtype::C32,
        Dtype::F64 => Dtype::C128,
        d if d.is_complex() => d,
        _ => Dtype::C64,
    }
}

/// Returns the float dtype of the parts of a complex one.
pub fn to_real(d: Dtype) -> Dtype {
    match d {
        Dtype::C32 => Dtype::F16,
        Dtype::C64 => Dtype::F32,
        Dtype::C128 => Dtype::F64,
        d => d,
    }
}

fn bits(d: Dtype) -> usize {
    d.bytes()
}

/// Returns `torch.promote_types(a, b)`, or `None` where PyTorch has none.
pub fn promote(a: Dtype, b: Dtype) -> Option<Dtype> {
    use Dtype::*;
    if a == b {
        return Some(a);
    }
    let (ca, cb) = (category(a), category(b));
    if is_float8(a) || is_float8(b) {
        let (eight, other) = if is_float8(a) { (a, b) } else { (b, a) };
        return (category(other) < 2).then_some(eight);
    }
    if ca != cb && ca.max(cb) < 3 {
        return Some(if ca > cb { a } else { b });
    }
    match ca.max(cb) {
        3 => {
            let real = |d: Dtype| if category(d) < 2 { None } else { Some(to_real(d)) };
            match (real(a), real(b)) {
                (Some(x), Some(y)) => promote(x, y).map(to_complex),
                (Some(x), None) | (None, Some(x)) => Some(to_complex(x)),
                (None, None) => None,
            }
        }
        2 => match (a, b) {
            (F16, Bf16) | (Bf16, F16) => Some(F32),
            _ => Some(if bits(a) > bits(b) { a } else { b }),
        },
        _ => integers(a, b),
    }
}

fn integers(a: Dtype, b: Dtype) -> Option<Dtype> {
    use Dtype::*;
    let barebones = |d| matches!(d, U16 | U32 | U64);
    if barebones(a) || barebones(b) {
        return None;
    }
    match (a, b) {
        (U8, I8) | (I8, U8) => Some(I16),
        (U8, other) | (other, U8) => Some(other),
        _ => Some(if bits(a) > bits(b) { a } else { b }),
    }
}

/// Collects operands and gives the dtype that PyTorch computes them in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Promotion {
    dimensional: Option<Dtype>,
    scalar: Option<Dtype>,
    number: Option<Dtype>,
}

fn join(a: Option<Dtype>, b: Dtype) -> Result<Option<Dtype>, CallFault> {
    match a {
        None => Ok(Some(b)),
        Some(a) => match promote(a, b) {
            Some(d) => Ok(Some(d)),
            None => Err(CallFault::Unsupported { what: format!("promotion of {} with {}", a.long(), b.long()) }),
        },
    }
}

fn combine(higher: Option<Dtype>, lower: Option<Dtype>) -> Result<Option<Dtype>, CallFault> {
    let (Some(high), Some(low)) = (higher, lower) else { return Ok(higher.or(lower)) };
    match (category(high), category(low)) {
        (3, _) => Ok(Some(high)),
        (2, 3) => Ok(Some(to_complex(high))),
        (2, _) => Ok(Some(high)),
        (0, _) | (_, 2 | 3) => join(Some(high), low),
        _ => Ok(Some(high)),
    }
}

impl Promotion {
    /// Adds a tensor.
    pub fn tensor(&mut self, dtype: Dtype, rank: usize) -> Result<(), CallFault> {
        let slot = if rank > 0 { &mut self.dimensional } else { &mut self.scalar };
        *slot = join(*slot, dtype)?;
        Ok(())
    }

    /// Adds a Python number.
    pub fn number(&mut self, n: Number) -> Result<(), CallFault> {
        self.number = join(self.number, n.dtype())?;
        Ok(())
    }

    /// Adds a tensor or number.
    pub fn operand(&mut self, o: Operand<'_>) -> Result<(), CallFault> {
        match o {
            Operand::Tensor(t) => self.tensor(t.dtype, t.rank()),
            Operand::Number(n) => self.number(n),
        }
    }

    /// Returns the dtype of the operands together.
    pub fn dtype(self) -> Result<Dtype, CallFault> {
        let low = combine(self.scalar, self.number)?;
        Ok(combine(self.dimensional, low)?.unwrap_or(Dtype::F32))
    }
}

/// Returns the dtype of a result that is a float for integers: `sin`, true division.
pub fn float_of(d: Dtype) -> Dtype {
    if category(d) < 2 { Dtype::F32 } else { d }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sym::Dim;
    use Dtype::*;

    #[test]
    fn promotion_is_pytorchs() {
        for (a, b, result) in [
            (U8, I8, I16),
            (I64, F16, F16),
            (Bf16, F16, F32),
            (Bool, I8, I8),
            (I32, F32, F32),
            (F16, F32, F32),
            (C64, F64, C128),
            (F16, C32, C32),
            (I64, C64, C64),
        ] {
            assert_eq!((promote(a, b), promote(b, a)), (Some(result), Some(result)), "{a} {b}");
        }
        assert_eq!(promote(U16, I32), None);
    }

    fn of(tensors: &[(Dtype, usize)], number: Option<Number>) -> Dtype {
        let mut p = Promotion::default();
        tensors.iter().for_each(|(d, r)| p.tensor(*d, *r).unwrap());
        number.iter().for_each(|n| p.number(*n).unwrap());
        p.dtype().unwrap()
    }

    #[test]
    fn scalars_decide_only_the_category() {
        assert_eq!(of(&[(I8, 1), (I64, 0)], None), I8);
        assert_eq!(of(&[(F16, 1), (F64, 0)], None), F16);
        assert_eq!(of(&[(I32, 1), (F64, 0)], None), F64);
        assert_eq!(of(&[(I64, 1)], Some(Number::Float(Some(1.5)))), F32);
        assert_eq!(of(&[(U8, 1)], Some(Number::Int(Dim::Fixed(-1)))), U8);
        assert_eq!(of(&[(Bool, 1)], Some(Number::Int(Dim::Fixed(1)))), I64);
        assert_eq!(of(&[(F64, 0)], Some(Number::Float(None))), F64);
    }
}
