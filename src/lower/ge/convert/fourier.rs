//! Fourier transforms. The device transforms the last one or two dimensions of complex numbers; other dimensions are brought there
//! as pairs of floats, which it can permute.

use super::args::Args;
use super::cx::{Cx, int, ints, signed};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
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
    if !args.flag("forward")? {
        return Err(Refusal("only the forward transform is supported".into()));
    }
    let Some(dims) = args.ints("dim")? else { return Err(Refusal("argument dim is no fixed list".into())) };
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
