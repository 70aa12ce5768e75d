//! Reductions.

use super::cx::{Cx, list};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};
use crate::sym::Dim;

pub(super) const TABLE: &[Entry] = &[
    ("aten.all.default", Rule::By(all)),
    ("aten.any.default", Rule::By(any)),
    ("aten.any.dim", Rule::By(any_dim)),
    ("aten.argmax.default", Rule::By(|cx| arg_extreme(cx, "ArgMaxV2", "ArgMaxWithValue"))),
    ("aten.argmin.default", Rule::By(|cx| arg_extreme(cx, "ArgMin", "ArgMinWithValue"))),
    ("aten.cumsum.default", Rule::By(cumsum)),
    ("aten.max.dim", Rule::By(max_dim)),
    ("aten.mean.default", Rule::By(mean)),
    ("aten.mean.dim", Rule::By(mean_dim)),
    ("aten.sum.default", Rule::By(sum)),
    ("aten.sum.dim_IntList", Rule::By(sum_dim)),
];

fn all_axes(cx: &Cx, x: TensorId) -> Result<Vec<i64>, Refusal> {
    Ok((0..i64::try_from(cx.rank(x)?).unwrap_or(i64::MAX)).collect())
}

/// Returns the axes of an argument; all of them where it is missing or empty.
fn axes(cx: &Cx, x: TensorId, place: usize, name: &str) -> Result<Vec<i64>, Refusal> {
    match cx.ints(place, name)? {
        Some(axes) if !axes.is_empty() => Ok(axes),
        _ => all_axes(cx, x),
    }
}

fn mean(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let dtype = cx.dtype_arg(usize::MAX, "dtype")?.map_or_else(|| cx.out_type(), Ok)?;
    let axes = all_axes(cx, x)?;
    let x = cx.cast(x, dtype)?;
    cx.ge("ReduceMean", vec![x.into(), Literal::Ints(axes).into()], &[])
}

fn mean_dim(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let axes = Literal::Ints(axes(cx, x, 1, "dim")?);
    let keep = ("keep_dims", Attr::Bool(cx.bool(2, "keepdim", false)?));
    let inputs = vec![x.into(), axes.into()];
    match cx.dtype_arg(usize::MAX, "dtype")? {
        Some(dtype) => cx.ge("ReduceMeanWithCast", inputs, &[keep, ("dtype", Attr::Type(dtype))]),
        None => cx.ge("ReduceMean", inputs, &[keep]),
    }
}

fn sum(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let dtype = cx.out_type()?;
    let axes = all_axes(cx, x)?;
    let x = cx.always_cast(x, dtype)?;
    cx.ge("ReduceSum", vec![x.into(), Literal::Ints(axes).into()], &[])
}

fn sum_dim(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let dtype = cx.out_type()?;
    let keep = cx.bool(2, "keepdim", false)?;
    let sizes = cx.sizes(x)?;
    if sizes.contains(&Dim::Fixed(0)) {
        return empty_sum(cx, x, keep);
    }
    let axes = axes(cx, x, 1, "dim")?;
    let x = cx.cast(x, dtype)?;
    cx.ge("ReduceSum", vec![x.into(), Literal::Ints(axes).into()], &[("keep_dims", Attr::Bool(keep))])
}

/// A sum over no elements is zero, of sizes read off the operand.
fn empty_sum(cx: &mut Cx, x: TensorId, keep: bool) -> Made {
    let rank = cx.rank(x)?;
    let Some(reduced) = cx.ints(1, "dim")? else {
        return Err(Refusal("argument dim of a sum over no elements must be a list".into()));
    };
    let shape = cx.op("Shape", vec![x.into()], &[])?;
    let mut parts = Vec::with_capacity(rank);
    for axis in 0..rank {
        let axis = i64::try_from(axis).unwrap_or(i64::MAX);
        parts.push(In::Tensor(cx.op("Gather", vec![shape.into(), Literal::Int(axis).into()], &[])?));
    }
    let mut reduced: Vec<usize> = reduced.iter().filter_map(|d| metas::axis(*d, rank)).collect();
    reduced.sort_unstable();
    for axis in reduced.into_iter().rev() {
        match parts.get_mut(axis) {
            Some(part) if keep => *part = In::Literal(Literal::Int(1)),
            Some(_) => drop(parts.remove(axis)),
            None => {}
        }
    }
    let sizes = if parts.is_empty() {
        In::Literal(Literal::Ints(Vec::new()))
    } else {
        let count = i64::try_from(parts.len()).unwrap_or(i64::MAX);
        cx.op("Pack", vec![In::Many(parts)], &[("N", Attr::Int(count)), ("axis", Attr::Int(0))])?.into()
    };
    let dtype = cx.out_type()?;
    let zero = cx.always_cast(Literal::Float(0.0), dtype)?;
    cx.ge("Fill", vec![sizes, zero.into()], &[])
}

fn all(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let (axes, dtype) = (all_axes(cx, x)?, cx.out_type()?);
    let x = cx.cast(x, dtype)?;
    cx.ge("ReduceAll", vec![x.into(), Literal::Ints(axes).into()], &[])
}

fn any(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let mut axes = all_axes(cx, x)?;
    let mut x = cx.cast(x, DataType::Bool)?;
    if axes.is_empty() {
        x = cx.op("Unsqueeze", vec![x.into()], &[("axes", Attr::Ints(vec![0]))])?;
        axes = vec![0];
    }
    cx.ge("ReduceAny", vec![x.into(), Literal::Ints(axes).into()], &[])
}

fn any_dim(cx: &mut Cx) -> Made {
    let (dim, keep) = (cx.int(1, "dim", 0)?, cx.bool(2, "keepdim", false)?);
    let x = cx.promoted(0, DataType::Bool)?;
    cx.ge("ReduceAny", vec![x.into(), Literal::Ints(vec![dim]).into()], &[("keep_dims", Attr::Bool(keep))])
}

fn arg_extreme(cx: &mut Cx, kind: &str, with_value: &str) -> Made {
    let x = cx.tensor(0, "self")?;
    let dim = match cx.get(1, "dim") {
        Value::None => {
            let flat = cx.constant(Literal::Ints(vec![-1]), DataType::Int64)?;
            let x = cx.op("Reshape", vec![x.into(), flat.into()], &[])?;
            return cx.ge(kind, vec![x.into(), Literal::Int(0).into()], &[]);
        }
        dim => dim,
    };
    if cx.bool(2, "keepdim", false)? {
        let attrs = [("dimension", Attr::Int(cx.int(1, "dim", 0)?)), ("keep_dims", Attr::Bool(true))];
        let x = cx.cast(x, DataType::Float)?;
        let index = cx.op(with_value, vec![x.into()], &attrs)?;
        return Ok(cx.cast(index, DataType::Int64)?.into());
    }
    let dim = cx.cast(dim, DataType::Int64)?;
    cx.ge(kind, vec![x.into(), dim.into()], &[])
}

fn max_dim(cx: &mut Cx) -> Made {
    let x = cx.input(0, "self")?;
    let attrs =
        [("dimension", Attr::Int(cx.int(1, "dim", 0)?)), ("keep_dims", Attr::Bool(cx.bool(2, "keepdim", false)?))];
    match cx.b.many("ArgMaxWithValue", vec![x], &attrs, None)?.as_slice() {
        [index, values] => {
            let index = cx.cast(*index, DataType::Int64)?;
            Ok(list(&[*values, index]))
        }
        _ => Err(Refusal("two results were expected".into())),
    }
}

fn cumsum(cx: &mut Cx) -> Made {
    let dtype = match cx.dtype_arg(usize::MAX, "dtype")? {
        Some(dtype) => dtype,
        None => cx.out_type()?,
    };
    let x = cx.promoted(0, dtype)?;
    let dim = cx.input(1, "dim")?;
    cx.ge("Cumsum", vec![x.into(), dim], &[])
}
