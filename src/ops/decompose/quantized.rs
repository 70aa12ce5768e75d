//! Quantisation as `quantized_decomposed` has it: integers that stand for steps of a scale, of a tensor, a channel or a row.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, quantize_by_numbers, &["quantized_decomposed.quantize_per_tensor.default"]),
    (Real, quantize_by_tensors, &["quantized_decomposed.quantize_per_tensor.tensor"]),
    (
        Exact,
        dequantize,
        &["quantized_decomposed.dequantize_per_tensor.default", "quantized_decomposed.dequantize_per_tensor.tensor"],
    ),
    (Exact, quantize_channels, &["quantized_decomposed.quantize_per_channel.default"]),
    (Exact, dequantize_channels, &["quantized_decomposed.dequantize_per_channel.default"]),
    (Exact, quantize_rows, &["quantized_decomposed.quantize_per_token.default"]),
    (Exact, dequantize_rows, &["quantized_decomposed.dequantize_per_token.default"]),
    (Exact, fake_quantize, &["aten.fake_quantize_per_tensor_affine.default"]),
];

fn wide_input<'b>(b: &'b Builder<'_>) -> Result<T<'b>, Fault> {
    let x = b.t(0)?.wide();
    b.only(x.dtype() == Dtype::F32, "what is no f32 or narrower")?;
    Ok(x)
}

/// Bounded, and made integers.
fn stored<'b>(b: &Builder<'_>, steps: T<'b>) -> Result<T<'b>, Fault> {
    let dtype = b.dtype("dtype")?.ok_or_else(|| b.unsupported("no dtype"))?;
    Ok(steps.clamp(b.arg("quant_min"), b.arg("quant_max")).to(dtype))
}

fn quantize_by_numbers(b: &Builder<'_>) -> Made {
    let x = wide_input(b)?;
    done![stored(b, (x * (1.0 / b.float(1)?)).op("round") + b.arg(2))?]
}

fn quantize_by_tensors(b: &Builder<'_>) -> Made {
    let (x, scale, zero) = (wide_input(b)?, b.t(1)?, b.t(2)?);
    b.only(scale.count()? == 1 && zero.count()? == 1, "more than one scale")?;
    let number = |t: T<'_>| t.reshape(Vec::<Arg>::new()).id();
    let inverse = b.value(number(scale)).to(Dtype::F64).recip();
    done![stored(b, (x * inverse).op("round") + b.value(number(zero)))?]
}

fn out_dtype(b: &Builder<'_>) -> Result<Dtype, Fault> {
    Ok(b.dtype("out_dtype")?.unwrap_or(Dtype::F32))
}

/// Less the zero, times the scale: numbers, or tensors of one.
fn dequantize(b: &Builder<'_>) -> Made {
    let number = |key: usize| -> Result<Arg, Fault> {
        match b.arg(key) {
            Arg::Node(_) => {
                let t = b.t(key)?;
                b.only(t.count()? == 1, "more than one scale")?;
                Ok(t.reshape(Vec::<Arg>::new()).into())
            }
            number => Ok(number),
        }
    };
    done![(b.t(0)?.to(out_dtype(b)?) - number(2)?) * number(1)?]
}

/// One number a channel, broadcast against the whole.
fn along<'b>(b: &Builder<'_>, x: T<'b>, each: T<'b>) -> Result<T<'b>, Fault> {
    let axis = usize::try_from(b.axis("axis", x.rank())?).unwrap_or(0);
    let mut sizes = vec![Arg::Int(1); x.rank()];
    sizes.iter_mut().skip(axis).take(1).for_each(|s| *s = each.size(0));
    Ok(each.reshape(sizes))
}

fn quantize_channels(b: &Builder<'_>) -> Made {
    let x = wide_input(b)?;
    let (scales, zeros) = (along(b, x, b.t(1)?)?, along(b, x, b.t(2)?)?);
    done![stored(b, (x * scales.recip()).op("round") + zeros)?]
}

fn dequantize_channels(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let y = match b.opt(2)? {
        Some(zeros) => x - along(b, x, zeros)?,
        None => x,
    };
    done![(y * along(b, x, b.t(1)?)?).to(out_dtype(b)?)]
}

fn quantize_rows(b: &Builder<'_>) -> Made {
    let (x, scales, zeros) = (b.t(0)?, b.t(1)?, b.t(2)?);
    done![stored(b, (x * scales.recip() + zeros).op("round"))?]
}

fn dequantize_rows(b: &Builder<'_>) -> Made {
    let dtype = b.dtype("output_dtype")?.ok_or_else(|| b.unsupported("no dtype"))?;
    done![((b.t(0)? - b.t(2)?) * b.t(1)?).to(dtype)]
}

fn fake_quantize(b: &Builder<'_>) -> Made {
    let given = args![b.t(0)?, b.arg(1), b.arg(2), b.arg(3), b.arg(4)];
    done![b.pick("fake_quantize_per_tensor_affine_cachemask", given, 0)]
}
