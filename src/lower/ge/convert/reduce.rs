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
    ("aten.linalg_vector_norm.default", Rule::By(vector_norm)),
    ("aten.logsumexp.default", Rule::By(logsumexp)),
    ("aten.max.default", Rule::By(max)),
    ("aten.max.dim", Rule::By(max_dim)),
    ("aten.mean.default", Rule::By(mean)),
    ("aten.mean.dim", Rule::By(mean_dim)),
    ("aten.std.correction", Rule::By(std)),
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
    let x = cx.cast(x, if dtype == DataType::Uint8 { DataType::Bool } else { dtype })?;
    truth(cx, "ReduceAll", vec![x.into(), Literal::Ints(axes).into()], &[])
}

/// Of bytes PyTorch gives a byte, GE a truth value.
pub(super) fn truth(cx: &mut Cx, kind: &str, inputs: Vec<In>, attrs: &[(&str, Attr)]) -> Made {
    if cx.out_type().ok() != Some(DataType::Uint8) {
        return cx.ge(kind, inputs, attrs);
    }
    let made = cx.op(kind, inputs, attrs)?;
    Ok(cx.always_cast(made, DataType::Uint8)?.into())
}

fn any(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let mut axes = all_axes(cx, x)?;
    let mut x = cx.cast(x, DataType::Bool)?;
    if axes.is_empty() {
        x = cx.op("Unsqueeze", vec![x.into()], &[("axes", Attr::Ints(vec![0]))])?;
        axes = vec![0];
    }
    truth(cx, "ReduceAny", vec![x.into(), Literal::Ints(axes).into()], &[])
}

fn any_dim(cx: &mut Cx) -> Made {
    let (dim, keep) = (cx.int(1, "dim", 0)?, cx.bool(2, "keepdim", false)?);
    let x = cx.promoted(0, DataType::Bool)?;
    truth(cx, "ReduceAny", vec![x.into(), Literal::Ints(vec![dim]).into()], &[("keep_dims", Attr::Bool(keep))])
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
    let is_kept = cx.bool(2, "keepdim", false)?;
    if is_kept && is_wide(cx.dtype(x)) {
        let axis = cx.int(1, "dim", 0)?;
        let dim = cx.cast(dim, DataType::Int64)?;
        let place = cx.op(kind, vec![x.into(), dim.into()], &[])?;
        return if cx.rank(x)? == 0 { Ok(place.into()) } else { Ok(cx.unsqueeze(place, &[axis])?.into()) };
    }
    if is_kept {
        let attrs = [("dimension", Attr::Int(cx.int(1, "dim", 0)?)), ("keep_dims", Attr::Bool(true))];
        let x = cx.cast(x, DataType::Float)?;
        let index = cx.op(with_value, vec![x.into()], &attrs)?;
        return Ok(cx.cast(index, DataType::Int64)?.into());
    }
    let dim = cx.cast(dim, DataType::Int64)?;
    cx.ge(kind, vec![x.into(), dim.into()], &[])
}

/// Whether a type has numbers that are no floats of 32 bits: cast to these, other elements may be the greatest.
fn is_wide(dtype: DataType) -> bool {
    matches!(dtype, DataType::Int32 | DataType::Int64 | DataType::Double)
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

fn max(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let (axes, dtype) = (all_axes(cx, x)?, cx.out_type()?);
    let axes = cx.constant(Literal::Ints(axes), DataType::Int64)?;
    let x = cx.cast(x, dtype)?;
    cx.ge("ReduceMax", vec![x.into(), axes.into()], &[])
}

#[allow(clippy::cast_precision_loss)] // As Python does it.
fn vector_norm(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    if matches!(cx.dtype(x), DataType::Complex32 | DataType::Complex64 | DataType::Complex128) {
        return Err(Refusal("GE has no norm of complex numbers".into()));
    }
    let order = match cx.float(1, "ord", 2.0)? {
        f if f == f64::INFINITY => f64::from(i32::MAX),
        f if f == f64::NEG_INFINITY => f64::from(i32::MIN),
        f => f,
    };
    let attrs = [
        ("p", Attr::Float(order)),
        ("axes", Attr::Ints(cx.ints(2, "dim")?.unwrap_or_default())),
        ("keepdim", Attr::Bool(cx.bool(3, "keepdim", false)?)),
        ("epsilon", Attr::Float(0.0)),
    ];
    let own = cx.dtype(x);
    let dtype = cx.dtype_arg(usize::MAX, "dtype")?.unwrap_or(own);
    // A wider type is that of the sum, not of what is made of it.
    let x = if dtype == DataType::Float && own != dtype { cx.cast(x, dtype)? } else { x };
    let norm = cx.op("LpNormV2", vec![x.into()], &attrs)?;
    Ok(cx.cast(norm, dtype)?.into())
}

/// The greatest element is taken out of the exponential, and put back unless it is infinite.
fn logsumexp(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let (rank, dtype) = (cx.rank(x)?, cx.out_type()?);
    let dims = cx.ints(1, "dim")?.unwrap_or_default();
    let keep = cx.bool(2, "keepdim", false)?;
    let x = cx.cast(x, dtype)?;
    let axes = cx.constant(Literal::Ints(dims.clone()), DataType::Int64)?;
    let greatest = cx.op("ReduceMax", vec![x.into(), axes.into()], &[("keep_dims", Attr::Bool(true))])?;
    let size = cx.op("Abs", vec![greatest.into()], &[])?;
    let infinity = cx.constant(Literal::Float(f64::INFINITY), dtype)?;
    let infinite = cx.op("Equal", vec![size.into(), infinity.into()], &[])?;
    let shift = cx.op("MaskedFill", vec![greatest.into(), infinite.into(), Literal::Float(0.0).into()], &[])?;
    let mut back = shift;
    if !keep {
        let places = if dims.is_empty() { (0..rank).collect() } else { places(&dims, rank)? };
        let places: Vec<i64> = places.into_iter().map(super::cx::signed).collect();
        back = cx.squeeze(shift, &places)?;
    }
    let rest = cx.op("Sub", vec![x.into(), shift.into()], &[])?;
    let sum = cx.op("ReduceLogSumExp", vec![rest.into(), axes.into()], &[("keep_dims", Attr::Bool(keep))])?;
    cx.ge("Add", vec![sum.into(), back.into()], &[])
}

pub(super) fn places(dims: &[i64], rank: usize) -> Result<Vec<usize>, Refusal> {
    let places: Option<Vec<usize>> = dims.iter().map(|d| metas::axis(*d, rank.max(1))).collect();
    let places = places.ok_or_else(|| Refusal("a dimension is out of range".into()))?;
    let twice = places.iter().enumerate().any(|(i, p)| places.iter().take(i).any(|q| q == p));
    if twice { Err(Refusal("a dimension appears twice".into())) } else { Ok(places) }
}

pub(super) fn std(cx: &mut Cx) -> Made {
    spread(cx, false)
}

/// The variance: as the deviation, of which GE computes it too.
pub(super) fn var(cx: &mut Cx) -> Made {
    spread(cx, true)
}

#[allow(clippy::cast_precision_loss)] // Only compared with small numbers.
fn spread(cx: &mut Cx, squared: bool) -> Made {
    let x = cx.tensor(0, "self")?;
    if matches!(cx.dtype(x), DataType::Complex32 | DataType::Complex64 | DataType::Complex128) {
        return Err(Refusal("a deviation of complex numbers is not supported".into()));
    }
    let (rank, keep) = (cx.rank(x)?, cx.bool(usize::MAX, "keepdim", false)?);
    let mut dims = cx.ints(1, "dim")?.unwrap_or_default();
    if dims.is_empty() {
        // A mean over no axes is the operand.
        dims = (0..rank).map(super::cx::signed).collect();
    }
    let correction = cx.float(usize::MAX, "correction", 1.0)?;
    let reduced = places(&dims, rank)?;
    let sizes = cx.sizes(x)?;
    let over = if reduced.is_empty() { (0..rank).collect() } else { reduced.clone() };
    let count = over.iter().try_fold(1_i64, |n, a| n.checked_mul(sizes.get(*a)?.fixed()?));
    if let Some(count) = count {
        let left = left_sizes(cx, x, rank, &reduced, keep)?;
        let fewer = count as f64 <= correction;
        if let Some(value) = match count {
            0 => Some(f64::NAN),
            1 if fewer => Some(f64::NAN),
            _ if correction > 1.0 && fewer => Some(f64::INFINITY),
            _ => None,
        } {
            let dtype = cx.out_type()?;
            return Ok(cx.filled(left, value, dtype)?.into());
        }
    }
    let correction = match cx.kwarg("correction") {
        Value::None => Attr::Int(1),
        #[allow(clippy::cast_possible_truncation)] // Whole and small.
        Value::Float(f) if f.fract() == 0.0 && f.abs() < 1e6 => Attr::Int(f as i64),
        Value::Float(f) => return Err(Refusal(format!("a correction of {f} is not supported: GE takes whole ones"))),
        _ => Attr::Int(cx.int(usize::MAX, "correction", 1)?),
    };
    let attrs = [("dim", Attr::Ints(dims.clone())), ("keepdim", Attr::Bool(keep)), ("correction", correction)];
    if cx.b.arch35 && !squared {
        let attrs = [attrs.as_slice(), &[("is_mean_out", Attr::Bool(false))]].concat();
        let made = cx.b.many("ReduceStdV2", vec![x.into()], &attrs, None)?;
        return made.first().map(|t| Value::Tensor(*t)).ok_or_else(|| Refusal("a result was expected".into()));
    }
    let axes = In::Literal(Literal::Ints(dims.clone()));
    let mut mean = cx.op("ReduceMean", vec![x.into(), axes], &[("keep_dims", Attr::Bool(keep))])?;
    if !keep && dims.len() != rank {
        let mut sorted = match dims.as_slice() {
            [dim] => vec![*dim],
            _ => reduced.into_iter().map(super::cx::signed).collect(),
        };
        sorted.sort_unstable();
        for dim in sorted {
            mean = cx.unsqueeze(mean, &[dim])?;
        }
    }
    let shape = cx.shape(x)?;
    let mean = cx.op("Expand", vec![mean.into(), shape.into()], &[])?;
    let kind = if squared { "ReduceStdV2Update" } else { "ReduceStdWithMean" };
    cx.ge(kind, vec![x.into(), mean.into()], &attrs)
}

/// Returns the sizes that are left, read off the operand.
fn left_sizes(cx: &mut Cx, x: TensorId, rank: usize, reduced: &[usize], keep: bool) -> Result<In, Refusal> {
    let shape = cx.shape(x)?;
    let mut parts = Vec::new();
    for axis in 0..rank {
        let size = cx.element(shape, super::cx::signed(axis))?;
        match reduced.contains(&axis) {
            false => parts.push(In::Tensor(size)),
            true if keep => parts.push(In::Literal(Literal::Int(1))),
            true => {}
        }
    }
    if parts.is_empty() { Ok(super::cx::ints(&[])) } else { Ok(cx.pack(parts)?.into()) }
}
