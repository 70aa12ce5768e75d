//! Fourier transforms. The device transforms the last one or two dimensions of complex numbers; other dimensions are brought there
//! as pairs of floats, which it can permute.

use super::args::Args;
use super::cx::{Cx, int, ints, signed};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::TensorId;

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("aten._fft_c2c.default", By(c2c)),
    ("aten.view_as_complex.default", By(view_as_complex)),
    ("aten.view_as_real.default", By(|cx| cx.tensor(0, "self").and_then(|x| as_pairs(cx, x)).map(Into::into))),
];

fn view_as_complex(cx: &mut Cx) -> Made {
    let x = cx.promoted(0, DataType::Float)?;
    let attrs = [("negative_index_support", Attr::Bool(true))];
    let real = cx.op("GatherV2", vec![x.into(), int(0), ints(&[-1])], &attrs)?;
    let imag = cx.op("GatherV2", vec![x.into(), int(1), ints(&[-1])], &attrs)?;
    cx.ge("Complex", vec![real.into(), imag.into()], &[])
}

fn as_pairs(cx: &mut Cx, x: TensorId) -> Result<TensorId, Refusal> {
    let real = cx.op("Real", vec![x.into()], &[])?;
    let imag = cx.op("Imag", vec![x.into()], &[])?;
    let attrs = [("N", Attr::Int(2)), ("axis", Attr::Int(-1))];
    cx.op("Pack", vec![In::Many(vec![real.into(), imag.into()])], &attrs)
}

fn as_complex(cx: &mut Cx, pairs: TensorId) -> Result<TensorId, Refusal> {
    let inputs = vec![pairs.into(), ints(&[1, -1]), int(-1)];
    let parts = cx.b.many("SplitV", inputs, &[("num_split", Attr::Int(2))], Some(2))?;
    let mut floats: Vec<In> = Vec::new();
    for part in parts {
        let part = cx.squeeze(part, &[-1])?;
        floats.push(cx.cast(part, DataType::Float)?.into());
    }
    cx.op("Complex", floats, &[])
}

fn permuted(cx: &mut Cx, x: TensorId, order: &[i64]) -> Result<TensorId, Refusal> {
    let pairs = as_pairs(cx, x)?;
    let pairs = cx.op("Permute", vec![pairs.into()], &[("order", Attr::Ints(order.to_vec()))])?;
    as_complex(cx, pairs)
}

fn c2c(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dim normalization forward")?;
    let x = args.tensor("self")?;
    let rank = signed(cx.rank(x)?);
    let Some(dims) = args.ints("dim")? else { return Err(Refusal("argument dim is no fixed list".into())) };
    if !args.flag("forward")? || dims.len() > 2 {
        return one_by_one(cx, &args);
    }
    if dims.iter().any(|d| !(0..rank).contains(d)) {
        return Err(Refusal("a dimension is out of range; those from the end are not supported".into()));
    }
    let (kind, there, back) = match dims.as_slice() {
        [dim] => {
            let swapped: Vec<i64> = (0..rank).map(|d| swap(d, *dim, rank.saturating_sub(1))).collect();
            ("FFT", swapped.clone(), swapped)
        }
        [_, _] => {
            let (last, first): (Vec<i64>, Vec<i64>) = (0..rank).partition(|d| dims.contains(d));
            let order = [first, last].concat();
            let back = (0..rank).map(|d| signed(order.iter().position(|o| *o == d).unwrap_or(0))).collect();
            ("FFT2D", order, back)
        }
        _ => return Err(Refusal("only one or two dimensions are supported".into())),
    };
    let operand = permuted(cx, x, &there)?;
    let made = cx.op(kind, vec![operand.into()], &[])?;
    let made = normalized(cx, made, args.int("normalization")?.unwrap_or(0), rank, signed(dims.len()))?;
    Ok(permuted(cx, made, &back)?.into())
}

fn swap(place: i64, a: i64, b: i64) -> i64 {
    match place {
        p if p == a => b,
        p if p == b => a,
        p => p,
    }
}

/// The order in which a dimension stands at the end; nothing where it does.
fn to_the_end(rank: i64, dim: i64) -> Option<Vec<i64>> {
    let last = rank.saturating_sub(1);
    (dim != last).then(|| (0..rank).map(|d| swap(d, dim, last)).collect())
}

/// Real numbers are moved as they are.
fn moved(cx: &mut Cx, x: TensorId, order: Option<Vec<i64>>) -> Result<TensorId, Refusal> {
    match order {
        Some(order) => cx.op("Transpose", vec![x.into(), ints(&order)], &[]),
        None => Ok(x),
    }
}

/// Complex numbers are moved as pairs of floats.
fn moved_in_pairs(cx: &mut Cx, x: TensorId, order: Option<Vec<i64>>) -> Result<TensorId, Refusal> {
    match order {
        Some(mut order) => {
            order.push(super::cx::signed(order.len()));
            permuted(cx, x, &order)
        }
        None => Ok(x),
    }
}

/// The dimensions that are transformed, from the front, each with its length.
fn dims_of(cx: &Cx, args: &Args, x: TensorId) -> Result<Vec<(i64, i64)>, Refusal> {
    let rank = signed(cx.rank(x)?);
    let sizes = cx.fixed_sizes(x)?.ok_or_else(|| Refusal("sizes that are not fixed are not supported".into()))?;
    let dims = args.ints("dim")?.unwrap_or_default();
    let each = dims.into_iter().map(|d| {
        let dim = if d < 0 { d.saturating_add(rank) } else { d };
        let length = usize::try_from(dim).ok().and_then(|d| sizes.get(d)).copied();
        length.map(|n| (dim, n)).ok_or_else(|| Refusal("a dimension is out of range".into()))
    });
    each.collect()
}

/// Transforms one dimension of complex numbers there or back; the device divides by the count on the way back.
fn along(cx: &mut Cx, x: TensorId, kind: &str, (rank, dim): (i64, i64)) -> Result<TensorId, Refusal> {
    let operand = moved_in_pairs(cx, x, to_the_end(rank, dim))?;
    let made = cx.op(kind, vec![operand.into()], &[])?;
    moved_in_pairs(cx, made, to_the_end(rank, dim))
}

/// Back, and of more dimensions than the device takes at once: one dimension after the other.
fn one_by_one(cx: &mut Cx, args: &Args) -> Made {
    let mut x = args.tensor("self")?;
    if cx.dtype(x) != DataType::Complex64 {
        return Err(Refusal("only complex64 is supported".into()));
    }
    let (rank, dims) = (signed(cx.rank(x)?), dims_of(cx, args, x)?);
    let is_forward = args.flag("forward")?;
    for (dim, _) in &dims {
        x = along(cx, x, if is_forward { "FFT" } else { "IFFT" }, (rank, *dim))?;
    }
    let count = dims.iter().map(|(_, n)| *n).product::<i64>();
    // What the device divides by on the way back is taken back.
    #[allow(clippy::cast_precision_loss)]
    let divided = if is_forward { 1.0 } else { count as f64 };
    scaled(cx, x, normalization(args, count)? * divided, DataType::Complex64)
}

/// Of real numbers, the half that says all: the last of the dimensions, then the others.
pub(super) fn r2c(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dim normalization onesided")?;
    let x = args.tensor("self")?;
    let rank = signed(cx.rank(x)?);
    let dims = dims_of(cx, &args, x)?;
    let Some(((last, length), others)) = dims.split_last() else { return Err(Refusal("no dimension is named".into())) };
    if !args.flag("onesided")? || cx.dtype(x) != DataType::Float {
        return Err(Refusal("only the one-sided transform of float32 is supported".into()));
    }
    let operand = moved(cx, x, to_the_end(rank, *last))?;
    let count = cx.constant(Literal::Ints(vec![*length]), DataType::Int32)?;
    let made = cx.op("RFFT", vec![operand.into(), count.into()], &[])?;
    let mut made = moved_in_pairs(cx, made, to_the_end(rank, *last))?;
    for (dim, _) in others {
        made = along(cx, made, "FFT", (rank, *dim))?;
    }
    let count = dims.iter().map(|(_, n)| *n).product();
    scaled(cx, made, normalization(&args, count)?, DataType::Complex64)
}

/// Back to real numbers: the last of the dimensions last.
pub(super) fn c2r(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dim normalization last_dim_size")?;
    let x = args.tensor("self")?;
    let rank = signed(cx.rank(x)?);
    let dims = dims_of(cx, &args, x)?;
    let Some(((last, _), others)) = dims.split_last() else { return Err(Refusal("no dimension is named".into())) };
    if cx.dtype(x) != DataType::Complex64 {
        return Err(Refusal("only complex64 is supported".into()));
    }
    let length = args.int("last_dim_size")?.unwrap_or(1);
    let mut operand = x;
    for (dim, _) in others {
        operand = along(cx, operand, "IFFT", (rank, *dim))?;
    }
    let operand = moved_in_pairs(cx, operand, to_the_end(rank, *last))?;
    let size = cx.constant(Literal::Ints(vec![length]), DataType::Int32)?;
    let made = cx.op("IRFFT", vec![operand.into(), size.into()], &[])?;
    let made = moved(cx, made, to_the_end(rank, *last))?;
    let count = others.iter().map(|(_, n)| *n).product::<i64>().saturating_mul(length);
    // What the device divides by is taken back.
    #[allow(clippy::cast_precision_loss)]
    let factor = normalization(&args, count)? * count as f64;
    scaled(cx, made, factor, DataType::Float)
}

/// What PyTorch's normalization multiplies by: nothing, one by the root of the count, one by the count.
#[allow(clippy::cast_precision_loss)] // Lengths of signals.
fn normalization(args: &Args, count: i64) -> Result<f64, Refusal> {
    match args.int("normalization")?.unwrap_or(0) {
        0 => Ok(1.0),
        1 => Ok(1.0 / (count as f64).sqrt()),
        2 => Ok(1.0 / count as f64),
        mode => Err(Refusal(format!("there is no normalization {mode}"))),
    }
}

fn scaled(cx: &mut Cx, x: TensorId, factor: f64, dtype: DataType) -> Made {
    if (factor - 1.0).abs() < f64::EPSILON {
        return Ok(x.into());
    }
    let factor = cx.always_cast(Literal::Float(factor), dtype)?;
    cx.ge("Mul", vec![x.into(), factor.into()], &[])
}

/// Divides by the number of elements that were transformed, or by its root.
fn normalized(cx: &mut Cx, x: TensorId, mode: i64, rank: i64, last: i64) -> Result<TensorId, Refusal> {
    let shape = cx.shape(x)?;
    let mut count = int(1);
    for back in 0..last {
        let place = rank.saturating_sub(1).saturating_sub(back);
        let size = cx.element(shape, place)?;
        count = cx.op("Mul", vec![size.into(), count], &[])?.into();
    }
    let mut count = cx.always_cast(count, DataType::Complex64)?;
    match mode {
        0 => return Ok(x),
        1 => count = cx.op("Sqrt", vec![count.into()], &[])?,
        2 => {}
        _ => return Err(Refusal(format!("there is no normalization {mode}"))),
    }
    cx.op("RealDiv", vec![x.into(), count.into()], &[])
}
