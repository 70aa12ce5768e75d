//! Whether a quantisation takes its numbers: what PyTorch asserts of them before anything is computed.
//!
//! Promises: "yes" only where dtypes and numbers stand in the call: what is quantised is a float of at most 32 bits, what is read back has the dtype that
//! the call names, the bounds lie in that dtype, and the scale is a finite number other than 0; of a channel each, scales are as many floats as there are
//! channels, and zero points as many integers.

use crate::graph::{Arg, Dtype, TensorType};
use crate::ops::{Bound, Operator};
use crate::term::sizes::Sizes;

/// Returns whether a call of an operator marked `#total=quantised` never raises.
pub fn fits(sizes: &Sizes, operator: &Operator, bound: &Bound<'_>, operands: &[&TensorType]) -> bool {
    let named = |name: &str| operator.schema.param_index(name).map(|i| bound.get(i));
    let (Some(Arg::Dtype(dtype)), [input, numbers @ ..]) = (named("dtype"), operands) else { return false };
    let Some((low, high)) = bounds(*dtype) else { return false };
    let within = |name: &str| matches!(named(name), Some(Arg::Int(v)) if (low..=high).contains(v));
    let reads = operator.schema.param_index("out_dtype").is_some();
    let narrow = |d: Dtype| matches!(d, Dtype::F16 | Dtype::Bf16 | Dtype::F32);
    let given = if reads { input.dtype == *dtype } else { narrow(input.dtype) };
    let out = match named("out_dtype") {
        Some(Arg::Dtype(d)) => narrow(*d),
        _ => true,
    };
    let numbered = match named("axis") {
        Some(axis) => are_of_channels(sizes, input, axis, numbers),
        None => {
            let scale = matches!(named("scale"), Some(Arg::Float(v)) if v.is_normal());
            let zero = matches!(named("zero_point"), Some(Arg::Int(v)) if v.unsigned_abs() < 1 << 31);
            scale && zero && numbers.is_empty()
        }
    };
    given && out && numbered && within("quant_min") && within("quant_max")
}

/// Whether there are as many scales, and as many zero points where there are any, as a tensor has channels.
fn are_of_channels(sizes: &Sizes, input: &TensorType, axis: &Arg, numbers: &[&TensorType]) -> bool {
    let Arg::Int(axis) = axis else { return false };
    let channels = usize::try_from(*axis).ok().and_then(|k| input.sizes.get(k).copied());
    let fit = |t: &TensorType| matches!((t.sizes.as_slice(), channels), ([n], Some(of)) if sizes.same(*n, of));
    let scale = |t: &TensorType| matches!(t.dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64);
    let zero = |t: &TensorType| matches!(t.dtype, Dtype::I8 | Dtype::U8 | Dtype::I16 | Dtype::I32 | Dtype::I64);
    match numbers {
        [scales] => fit(scales) && scale(scales),
        [scales, zeros] => fit(scales) && scale(scales) && fit(zeros) && zero(zeros),
        _ => false,
    }
}

/// The least and the greatest integer of a dtype in which steps are kept.
fn bounds(dtype: Dtype) -> Option<(i64, i64)> {
    match dtype {
        Dtype::U8 => Some((0, 255)),
        Dtype::I8 => Some((-128, 127)),
        Dtype::I16 => Some((-32768, 32767)),
        Dtype::I32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        _ => None,
    }
}
