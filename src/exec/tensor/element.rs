//! Elements: how each dtype lies in storage, and how it is read into a lane and written from one.
//!
//! Promises: little-endian, unaligned bytes are fine; every rounding is to nearest, ties to even, by way of `f32` for the narrow floats
//! (a double too, as in PyTorch); integers wrap; what a dtype cannot hold becomes what PyTorch's casts give. Dtypes without arithmetic
//! (quantised, sub-byte) are read as raw bytes only.

use half::{bf16, f16};
use num_complex::Complex;

use crate::exec::tensor::lane::{C64, C128, Lane};
use crate::graph::Dtype;

/// An f8 format: how many exponent and mantissa bits, the bias, and what its upper codes mean.
#[derive(Clone, Copy)]
struct Mini {
    mantissa: u32,
    bias: i32,
    /// The largest finite code, without sign.
    max: u8,
    /// The code of NaN, without sign (`0x80` with it in the `fnuz` forms).
    nan: u8,
    /// The code of what is too large: infinity, or NaN, or the largest.
    over: u8,
    /// Whether there is no negative zero, and `0x80` is NaN.
    fnuz: bool,
}

const E4M3FN: Mini = Mini { mantissa: 3, bias: 7, max: 0x7e, nan: 0x7f, over: 0x7e, fnuz: false };
const E5M2: Mini = Mini { mantissa: 2, bias: 15, max: 0x7b, nan: 0x7f, over: 0x7c, fnuz: false };
const E4M3FNUZ: Mini = Mini { mantissa: 3, bias: 8, max: 0x7f, nan: 0x80, over: 0x80, fnuz: true };
const E5M2FNUZ: Mini = Mini { mantissa: 2, bias: 16, max: 0x7f, nan: 0x80, over: 0x80, fnuz: true };

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::arithmetic_side_effects)]
impl Mini {
    fn decode(self, code: u8) -> f32 {
        if self.fnuz && code == 0x80 {
            return f32::NAN;
        }
        let (sign, magnitude) = (if code & 0x80 == 0 { 1.0_f32 } else { -1.0 }, code & 0x7f);
        if magnitude > self.max {
            let infinite = self.over == magnitude && self.over != self.nan;
            return if infinite { sign * f32::INFINITY } else { f32::NAN };
        }
        let exponent = i32::from(magnitude >> self.mantissa);
        let fraction = f32::from(magnitude & ((1 << self.mantissa) - 1)) / (1_u32 << self.mantissa) as f32;
        let value = if exponent == 0 {
            fraction * 2_f32.powi(1 - self.bias)
        } else {
            (1.0 + fraction) * 2_f32.powi(exponent - self.bias)
        };
        sign * value
    }

    fn encode(self, v: f32) -> u8 {
        let sign = if v.is_sign_negative() { 0x80_u8 } else { 0 };
        if v.is_nan() {
            return if self.fnuz { 0x80 } else { sign | self.nan };
        }
        let magnitude = v.abs();
        if magnitude == 0.0 {
            return if self.fnuz { 0 } else { sign };
        }
        let exponent = (((magnitude.to_bits() >> 23) & 0xff) as i32 - 127).max(1 - self.bias);
        // In units of the last place at this exponent the value is exact in f32, and rounding is to even.
        let unit = 2_f64.powi(exponent - self.mantissa as i32);
        let steps = (f64::from(magnitude) / unit).round_ties_even() as i64;
        let code = steps.saturating_add(i64::from(exponent - 1 + self.bias) << self.mantissa);
        let code = if code > i64::from(self.max) { self.over } else { code as u8 };
        if self.fnuz && (code == 0 || code == 0x80) { code } else { sign | code }
    }
}

fn e8m0(code: u8) -> f32 {
    match code {
        0xff => f32::NAN,
        0 => f32::from_bits(0x0040_0000),
        _ => f32::from_bits(u32::from(code) << 23),
    }
}

/// The nearest power of two, as PyTorch rounds: up from the middle on.
#[allow(clippy::cast_possible_truncation, clippy::arithmetic_side_effects)]
fn to_e8m0(v: f32) -> u8 {
    let bits = v.to_bits();
    let exponent = (bits >> 23) & 0xff;
    if exponent == 0xff {
        return 0xff;
    }
    let (guard, rest) = (bits & 0x40_0000 != 0, bits & 0x3f_ffff != 0);
    (exponent + u32::from(guard && (rest || exponent > 0))) as u8
}

/// Rounds to a narrow float dtype and back.
pub fn through(dtype: Dtype, v: f32) -> f32 {
    match dtype {
        Dtype::F8E4m3fn => E4M3FN.decode(E4M3FN.encode(v)),
        Dtype::F8E5m2 => E5M2.decode(E5M2.encode(v)),
        Dtype::F8E4m3fnuz => E4M3FNUZ.decode(E4M3FNUZ.encode(v)),
        Dtype::F8E5m2fnuz => E5M2FNUZ.decode(E5M2FNUZ.encode(v)),
        Dtype::F8E8m0fnu => e8m0(to_e8m0(v)),
        _ => v,
    }
}

/// Reads `out.len()` elements of `dtype` from the start of `bytes`, `step` elements apart. What lies outside reads as zero.
#[allow(clippy::cast_possible_wrap)]
pub fn read<L: Lane>(dtype: Dtype, bytes: &[u8], step: usize, out: &mut [L]) {
    macro_rules! each {
        ($n:literal, $raw:ident => $value:expr) => {{
            let size = $n;
            let pitch = step.saturating_mul(size);
            if step == 1 {
                for (o, raw) in out.iter_mut().zip(bytes.chunks_exact(size)) {
                    if let Ok($raw) = <[u8; $n]>::try_from(raw) {
                        *o = $value;
                    }
                }
            } else if step == 0 {
                if let Some($raw) = bytes.first_chunk::<$n>().copied() {
                    out.fill($value);
                }
            } else {
                let mut rest = bytes;
                for o in out.iter_mut() {
                    if let Some($raw) = rest.first_chunk::<$n>().copied() {
                        *o = $value;
                    }
                    rest = rest.get(pitch..).unwrap_or(&[]);
                }
            }
        }};
    }
    match dtype {
        Dtype::F32 => each!(4, b => L::from_f32(f32::from_le_bytes(b))),
        Dtype::F64 => each!(8, b => L::from_f64(f64::from_le_bytes(b))),
        Dtype::F16 => each!(2, b => L::from_f32(f16::from_le_bytes(b).to_f32())),
        Dtype::Bf16 => each!(2, b => L::from_f32(bf16::from_le_bytes(b).to_f32())),
        Dtype::F8E4m3fn => each!(1, b => L::from_f32(E4M3FN.decode(u8::from_le_bytes(b)))),
        Dtype::F8E5m2 => each!(1, b => L::from_f32(E5M2.decode(u8::from_le_bytes(b)))),
        Dtype::F8E4m3fnuz => each!(1, b => L::from_f32(E4M3FNUZ.decode(u8::from_le_bytes(b)))),
        Dtype::F8E5m2fnuz => each!(1, b => L::from_f32(E5M2FNUZ.decode(u8::from_le_bytes(b)))),
        Dtype::F8E8m0fnu => each!(1, b => L::from_f32(e8m0(u8::from_le_bytes(b)))),
        Dtype::Bool => each!(1, b => L::from_i64(i64::from(u8::from_le_bytes(b) != 0))),
        Dtype::U8 => each!(1, b => L::from_i64(i64::from(u8::from_le_bytes(b)))),
        Dtype::I8 => each!(1, b => L::from_i64(i64::from(i8::from_le_bytes(b)))),
        Dtype::I16 => each!(2, b => L::from_i64(i64::from(i16::from_le_bytes(b)))),
        Dtype::U16 => each!(2, b => L::from_i64(i64::from(u16::from_le_bytes(b)))),
        Dtype::I32 => each!(4, b => L::from_i64(i64::from(i32::from_le_bytes(b)))),
        Dtype::U32 => each!(4, b => L::from_i64(i64::from(u32::from_le_bytes(b)))),
        Dtype::I64 => each!(8, b => L::from_i64(i64::from_le_bytes(b))),
        Dtype::U64 => each!(8, b => L::from_u64(u64::from_le_bytes(b))),
        Dtype::C64 => each!(8, b => {
            let v: C64 = bytemuck::pod_read_unaligned(&b);
            L::from_complex(C128::new(f64::from(v.re), f64::from(v.im)))
        }),
        Dtype::C128 => each!(16, b => L::from_complex(bytemuck::pod_read_unaligned::<C128>(&b))),
        Dtype::C32 => each!(4, b => {
            let v: Complex<f16> = bytemuck::pod_read_unaligned(&b);
            L::from_complex(C128::new(v.re.to_f64(), v.im.to_f64()))
        }),
        Dtype::Bc32 => each!(4, b => {
            let v: Complex<bf16> = bytemuck::pod_read_unaligned(&b);
            L::from_complex(C128::new(v.re.to_f64(), v.im.to_f64()))
        }),
        Dtype::F4E2m1fnX2 | Dtype::Qint8 | Dtype::Quint8 | Dtype::Qint32 | Dtype::Quint4x2 => {}
    }
}

/// Writes lanes as elements of `dtype` to the start of `bytes`, `step` elements apart. What would lie outside is not written.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn write<L: Lane>(dtype: Dtype, values: &[L], step: usize, bytes: &mut [u8]) {
    macro_rules! each {
        ($n:literal, $v:ident => $raw:expr) => {{
            let pitch = step.max(1).saturating_mul($n);
            for ($v, place) in values.iter().copied().zip(bytes.chunks_mut(pitch)) {
                if let Some(place) = place.first_chunk_mut::<$n>() {
                    *place = $raw;
                }
            }
        }};
    }
    match dtype {
        Dtype::F32 => each!(4, v => v.to_f32().to_le_bytes()),
        Dtype::F64 => each!(8, v => v.to_f64().to_le_bytes()),
        Dtype::F16 => each!(2, v => f16::from_f32(v.to_f32()).to_le_bytes()),
        Dtype::Bf16 => each!(2, v => bf16::from_f32(v.to_f32()).to_le_bytes()),
        Dtype::F8E4m3fn => each!(1, v => [E4M3FN.encode(v.to_f32())]),
        Dtype::F8E5m2 => each!(1, v => [E5M2.encode(v.to_f32())]),
        Dtype::F8E4m3fnuz => each!(1, v => [E4M3FNUZ.encode(v.to_f32())]),
        Dtype::F8E5m2fnuz => each!(1, v => [E5M2FNUZ.encode(v.to_f32())]),
        Dtype::F8E8m0fnu => each!(1, v => [to_e8m0(v.to_f32())]),
        Dtype::Bool => each!(1, v => [u8::from(v.truth())]),
        // By way of 64 bits, as PyTorch does for this dtype alone.
        Dtype::U8 => each!(1, v => [v.to_i64() as u8]),
        Dtype::I8 => each!(1, v => [v.to_i32() as u8]),
        Dtype::I16 => each!(2, v => (v.to_i32() as i16).to_le_bytes()),
        Dtype::U16 => each!(2, v => (v.to_i32() as u16).to_le_bytes()),
        Dtype::I32 => each!(4, v => v.to_i32().to_le_bytes()),
        Dtype::U32 => each!(4, v => (v.to_i64() as u32).to_le_bytes()),
        Dtype::I64 => each!(8, v => v.to_i64().to_le_bytes()),
        Dtype::U64 => each!(8, v => v.to_u64().to_le_bytes()),
        Dtype::C64 => each!(8, v => {
            let c = v.to_complex();
            bytemuck::cast(C64::new(c.re as f32, c.im as f32))
        }),
        Dtype::C128 => each!(16, v => bytemuck::cast(v.to_complex())),
        Dtype::C32 => each!(4, v => {
            let c = v.to_complex();
            bytemuck::cast(Complex::new(f16::from_f32(c.re as f32), f16::from_f32(c.im as f32)))
        }),
        Dtype::Bc32 => each!(4, v => {
            let c = v.to_complex();
            bytemuck::cast(Complex::new(bf16::from_f32(c.re as f32), bf16::from_f32(c.im as f32)))
        }),
        Dtype::F4E2m1fnX2 | Dtype::Qint8 | Dtype::Quint8 | Dtype::Qint32 | Dtype::Quint4x2 => {}
    }
}

/// Returns whether values of the dtype can be computed with here.
pub fn has_arithmetic(dtype: Dtype) -> bool {
    !matches!(dtype, Dtype::F4E2m1fnX2 | Dtype::Qint8 | Dtype::Quint8 | Dtype::Qint32 | Dtype::Quint4x2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast(dtype: Dtype, v: f32) -> f32 {
        through(dtype, v)
    }

    #[test]
    fn f8_rounds_as_recorded() {
        assert_eq!([464.0, 465.0, 448.0, 500.0, f32::INFINITY].map(|v| cast(Dtype::F8E4m3fn, v)), [448.0; 5]);
        assert!(cast(Dtype::F8E4m3fn, f32::NAN).is_nan());
        assert_eq!([0.75, 1.5, 6.0, 448.0, 240.1].map(|v| cast(Dtype::F8E8m0fnu, v)), [1.0, 2.0, 8.0, 512.0, 256.0]);
        assert!([61441.0, 1e9, f32::INFINITY].map(|v| cast(Dtype::F8E5m2, v)).iter().all(|v| v.is_infinite()));
    }

    #[test]
    fn every_f8_code_survives() {
        for format in [E4M3FN, E5M2, E4M3FNUZ, E5M2FNUZ] {
            for code in 0..=255_u8 {
                let value = format.decode(code);
                let back = format.encode(value);
                assert!(value.is_nan() && format.decode(back).is_nan() || back == code, "{code:#x} {value} {back:#x}");
            }
        }
    }
}
