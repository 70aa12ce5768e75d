//! Quantisation as `quantized_decomposed` has it: integers that stand for steps of a scale, of a tensor, a channel or a row.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Real, fake_quantize_with_mask, &["aten.fake_quantize_per_tensor_affine_cachemask.default"]),
    (Real, fake_quantize_channels_with_mask, &["aten.fake_quantize_per_channel_affine_cachemask.default"]),
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
    (Exact, fake_quantize_channels, &["aten.fake_quantize_per_channel_affine.default"]),
    (Exact, quantize_blocks, &["torchao.quantize_affine.default"]),
    (Exact, dequantize_blocks, &["torchao.dequantize_affine.default"]),
    (Exact, choose_parameters, &["torchao.choose_qparams_affine.default"]),
];

fn wide_input<'b>(b: &'b Builder<'_>) -> Result<T<'b>, CallFault> {
    let x = b.t(0)?.wide();
    b.only(x.dtype() == Dtype::F32, "what is no f32 or narrower")?;
    Ok(x)
}

/// Bounded, and made integers.
fn stored<'b>(b: &Builder<'_>, steps: T<'b>) -> Result<T<'b>, CallFault> {
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

fn out_dtype(b: &Builder<'_>) -> Result<Dtype, CallFault> {
    Ok(b.dtype("out_dtype")?.unwrap_or(Dtype::F32))
}

/// Less the zero, times the scale: numbers, or tensors of one.
fn dequantize(b: &Builder<'_>) -> Made {
    let number = |key: usize| -> Result<Arg, CallFault> {
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
fn along<'b>(b: &Builder<'_>, x: T<'b>, each: T<'b>) -> Result<T<'b>, CallFault> {
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

fn fake_quantize_channels(b: &Builder<'_>) -> Made {
    let given = args![b.t(0)?, b.t(1)?, b.t(2)?, b.arg(3), b.arg(4), b.arg(5)];
    done![b.pick("fake_quantize_per_channel_affine_cachemask", given, 0)]
}

/// How torchao splits a tensor in blocks of one scale: the sizes with blocks apart, and the dimensions within blocks.
fn blocks(b: &Builder<'_>, x: T<'_>) -> Result<(Vec<i64>, Vec<i64>), CallFault> {
    let (mut split, mut within) = (Vec::new(), Vec::new());
    let wanted = b.ints("block_size")?;
    b.only(wanted.len() == x.rank(), "blocks of another number of dimensions")?;
    for (d, block) in (0_i64..).zip(wanted) {
        let size = x.fixed(d)?;
        if block != size && block > 1 {
            b.only(size.checked_rem(block) == Some(0), "blocks that do not divide a size")?;
            split.push(size.checked_div(block).unwrap_or(size));
        }
        if block != 1 {
            within.push(signed(split.len()));
        }
        split.push(if block > 1 { block } else { size });
    }
    Ok((split, within))
}

/// A scale or zero for each block, to be broadcast over it.
fn of_blocks<'b>(t: T<'b>, split: &[i64], within: &[i64]) -> T<'b> {
    let one = |(d, size): (i64, &i64)| Arg::Int(if within.contains(&d) { 1 } else { *size });
    t.view((0_i64..).zip(split).map(one).collect::<Vec<_>>())
}

/// The least and the largest step, by default those of the dtype.
fn steps(b: &Builder<'_>, dtype: Dtype) -> Result<(i64, i64), CallFault> {
    let (low, high) = match dtype {
        Dtype::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        Dtype::U8 => (0, i64::from(u8::MAX)),
        Dtype::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Dtype::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => return Err(b.unsupported("steps of this dtype")),
    };
    let (least, most) = (b.opt_int("quant_min")?.unwrap_or(low), b.opt_int("quant_max")?.unwrap_or(high));
    b.only(least >= low && most <= high, "steps beyond the dtype")?;
    Ok((least, most))
}

fn quantize_blocks(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(matches!(x.dtype(), Dtype::F32 | Dtype::F16 | Dtype::Bf16), "this dtype")?;
    let dtype = b.dtype("output_dtype")?.ok_or_else(|| b.unsupported("no dtype"))?;
    let ((split, within), (least, most)) = (blocks(b, x)?, steps(b, dtype)?);
    let zero = b.opt("zero_point")?.ok_or_else(|| b.unsupported("no zero points"))?;
    b.only(zero.count()? > 0, "no zero points")?;
    let (scale, zero) = (of_blocks(b.t("scale")?, &split, &within), of_blocks(zero, &split, &within));
    let apart: Vec<Arg> = split.iter().map(|n| Arg::Int(*n)).collect();
    let numbers = (x.view(apart) * scale.recip()).op("round") + zero;
    done![numbers.clamp(least, most).view(x.shape()).to(dtype)]
}

fn dequantize_blocks(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    // PyTorch's numbers of dtypes, where the default stands.
    let dtype = match b.arg("output_dtype") {
        Arg::Int(6) => Dtype::F32,
        Arg::Int(_) => return Err(b.unsupported("a dtype by this number")),
        _ => b.dtype("output_dtype")?.unwrap_or(Dtype::F32),
    };
    b.only(matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::Bf16), "this dtype")?;
    b.only(b.dtype("input_dtype")? == Some(x.dtype()), "a tensor of another dtype than stated")?;
    steps(b, x.dtype())?;
    let (split, within) = blocks(b, x)?;
    let apart: Vec<Arg> = split.iter().map(|n| Arg::Int(*n)).collect();
    let numbers = x.view(apart).to(dtype);
    let above = match b.opt("zero_point")? {
        Some(zero) => numbers - of_blocks(zero, &split, &within).to(dtype),
        None => numbers,
    };
    done![(above * of_blocks(b.t("scale")?, &split, &within)).view(x.shape()).to(dtype)]
}

/// How many blocks there are along each dimension, where dimensions are kept.
fn kept(b: &Builder<'_>, x: T<'_>) -> Result<Option<Vec<Arg>>, CallFault> {
    if !b.flag("keepdim")? {
        return Ok(None);
    }
    let mut sizes = Vec::new();
    for (d, block) in (0_i64..).zip(b.ints("block_size")?) {
        b.only(block > 0, "blocks without a size, and dimensions that are kept")?;
        sizes.push(Arg::Int(x.fixed(d)?.checked_div(block).unwrap_or(0)));
    }
    Ok(Some(sizes))
}

/// Scales and zeros by the least and the largest value of each block.
fn choose_parameters(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(matches!(x.dtype(), Dtype::F32 | Dtype::Bf16), "this dtype")?;
    let target = b.dtype("target_dtype")?.ok_or_else(|| b.unsupported("no dtype"))?;
    let ((split, within), (least, most)) = (blocks(b, x)?, steps(b, target)?);
    // An empty list would be all dimensions.
    b.only(!within.is_empty(), "blocks of one element")?;
    let apart = x.view(split.iter().map(|n| Arg::Int(*n)).collect::<Vec<_>>());
    let low = apart.call("amin", args![ints(&within), false]);
    let low = low.call("minimum.default", args![low.op("zeros_like")]);
    let high = apart.amax(&within, false);
    let high = high.call("maximum.default", args![high.op("zeros_like")]);
    let least_scale = b.opt_float("eps")?.unwrap_or(f64::from(f32::MIN_POSITIVE));
    #[allow(clippy::cast_precision_loss)] // As Python does it.
    let span = most.saturating_sub(least) as f64;
    let middle = least.saturating_add(most).saturating_add(1).checked_div(2).unwrap_or(0);
    let (scale, zero) = match b.text("mapping_type").as_str() {
        "ASYMMETRIC" => {
            let scale = ((high - low) / span).call("clamp_min", args![least_scale]);
            (scale, (low / scale).op("round").minus_from(least).clamp(least, most))
        }
        "SYMMETRIC" => {
            let scale = (-low).call("maximum.default", args![high]) / (span / 2.0);
            let zero = scale.call("full_like", args![middle]);
            (scale.call("clamp_min", args![least_scale]), zero)
        }
        // Either side has a scale that just holds it.
        "SYMMETRIC_NO_CLIPPING_ERR" => {
            #[allow(clippy::cast_precision_loss)]
            let (below, above) = (low / least as f64, high / most as f64);
            let scale = below.call("gt", args![above]).call("where.self", args![below, above]);
            let zero = scale.call("full_like", args![middle]);
            (scale.call("clamp_min", args![least_scale]), zero)
        }
        _ => return Err(b.unsupported("this way of choosing")),
    };
    let (scale, zero) = match kept(b, x)? {
        Some(sizes) => (scale.reshape(sizes.clone()), zero.reshape(sizes)),
        None => (scale, zero),
    };
    let asymmetric = b.text("mapping_type") == "ASYMMETRIC";
    let zero_dtype = b.dtype("zero_point_dtype")?.unwrap_or(if asymmetric { Dtype::I32 } else { scale.dtype() });
    done![scale.to(b.dtype("scale_dtype")?.unwrap_or(x.dtype())), zero.to(zero_dtype)]
}

/// The steps that a value is away from the zero point, kept within bounds, as a value again; and where it was within.
fn faked(b: &Builder<'_>, steps: T<'_>, zero: Arg, scale: Arg, [low, high]: [i64; 2]) -> Made {
    let within = steps.call("ge", args![low]).call("logical_and", args![steps.call("le", args![high])]);
    let made = (steps.clamp(low, high) - zero) * scale;
    done![made.to(b.t(0)?.dtype()), within]
}

#[allow(clippy::cast_possible_truncation)] // PyTorch's scale is an f32.
fn fake_quantize_with_mask(b: &Builder<'_>) -> Made {
    let (x, scale, zero) = (b.t(0)?.wide(), b.float(1)? as f32, b.int(2)?);
    let steps = (x * f64::from(1.0 / scale)).op("round") + zero;
    faked(b, steps, Arg::Int(zero), Arg::Float(f64::from(scale)), [b.int(3)?, b.int(4)?])
}

fn fake_quantize_channels_with_mask(b: &Builder<'_>) -> Made {
    let x = b.t(0)?.wide();
    let axis = b.axis(3_usize, x.rank())?;
    let spread = |t: T<'_>| {
        let mut sizes = vec![Arg::Int(1); x.rank()];
        if let Some(slot) = usize::try_from(axis).ok().and_then(|a| sizes.get_mut(a)) {
            *slot = t.size(0);
        }
        t.to(x.dtype()).reshape(sizes).id()
    };
    let (scale, zero) = (b.value(spread(b.t(1)?)), b.value(spread(b.t(2)?)));
    let steps = (x * scale.recip()).op("round") + zero;
    faked(b, steps, zero.into(), scale.into(), [b.int(4)?, b.int(5)?])
}
