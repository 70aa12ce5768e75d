//! Views and rearrangements, made at once: those that can be put off come here only in scopes, or where a size is not known.

use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};
use crate::sym::Dim;

pub(super) const TABLE: &[Entry] = &[
    ("aten.alias.default", Rule::By(alias)),
    ("aten.cat.default", Rule::By(cat)),
    ("aten.clone.default", Rule::By(clone)),
    ("aten.detach.default", Rule::Unary("Identity")),
    ("aten.lift_fresh_copy.default", Rule::Unary("Identity")),
    ("aten.permute.default", Rule::By(permute)),
    ("aten.reshape.default", Rule::By(reshape)),
    ("aten.squeeze.default", Rule::By(squeeze)),
    ("aten.squeeze.dim", Rule::By(squeeze_dim)),
    ("aten.t.default", Rule::By(t)),
    ("aten.transpose.int", Rule::By(transpose)),
    ("aten.unsqueeze.default", Rule::By(unsqueeze)),
    ("aten._unsafe_view.default", Rule::By(unsafe_view)),
    ("aten.view.default", Rule::By(reshape)),
];

fn alias(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let shape = cx.op("Shape", vec![x.into()], &[])?;
    let shape = cx.cast(shape, DataType::Int64)?;
    cx.ge("Reshape", vec![x.into(), shape.into()], &[])
}

fn cat(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let axis = cx.input(1, "dim")?;
    let axis = if matches!(axis, In::None) { In::Literal(Literal::Int(0)) } else { axis };
    let mut parts = Vec::new();
    for part in cx.tensors(0, "tensors")? {
        parts.push(In::Tensor(cx.cast(part, dtype)?));
    }
    let count = i64::try_from(parts.len()).unwrap_or(i64::MAX);
    cx.ge("ConcatV2", vec![In::Many(parts), axis], &[("N", Attr::Int(count))])
}

fn clone(cx: &mut Cx) -> Made {
    if let Value::Other(format) = cx.kwarg("memory_format")
        && *format != crate::graph::Arg::MemoryFormat(crate::graph::MemoryFormat::Contiguous)
    {
        return Err(Refusal("only memory_format=torch.contiguous_format is supported".into()));
    }
    let x = cx.input(0, "self")?;
    cx.ge("Identity", vec![x], &[])
}

fn perm(cx: &mut Cx, x: TensorId, axes: &[usize]) -> Made {
    let axes = axes.iter().map(|a| i64::try_from(*a).unwrap_or(i64::MAX)).collect();
    let axes = cx.constant(Literal::Ints(axes), DataType::Int64)?;
    cx.ge("Transpose", vec![x.into(), axes.into()], &[])
}

/// A permutation that only moves dimensions of size 1 moves no data.
fn permute(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let sizes = cx.sizes(x)?;
    let axes: Option<Vec<usize>> =
        cx.ints(1, "dims")?.and_then(|dims| dims.iter().map(|d| metas::axis(*d, sizes.len())).collect());
    let axes = axes.ok_or_else(|| Refusal("argument dims is no permutation".into()))?;
    let matters = |axis: &usize| sizes.get(*axis) != Some(&Dim::Fixed(1));
    let moved: Vec<usize> = axes.iter().copied().filter(matters).collect();
    if moved.is_sorted() {
        let ones = axes.iter().enumerate().filter(|(_, axis)| !matters(axis));
        let ones = ones.map(|(place, _)| i64::try_from(place).unwrap_or(i64::MAX)).collect();
        let squeezed = cx.op("Squeeze", vec![x.into()], &[])?;
        return cx.ge("Unsqueeze", vec![squeezed.into()], &[("axes", Attr::Ints(ones))]);
    }
    perm(cx, x, &axes)
}

fn transpose(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let rank = cx.rank(x)?;
    let (a, b) = (cx.int(1, "dim0", 0)?, cx.int(2, "dim1", 0)?);
    match (metas::axis(a, rank), metas::axis(b, rank)) {
        (Some(a), Some(b)) => perm(cx, x, &metas::swapped(rank, a, b)),
        _ => Err(Refusal("a dimension is out of range".into())),
    }
}

fn t(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    match cx.rank(x)? {
        0 | 1 => cx.ge("Identity", vec![x.into()], &[]),
        2 => perm(cx, x, &[1, 0]),
        rank => Err(Refusal(format!("t of a tensor with {rank} dimensions"))),
    }
}

fn reshape(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let shape = match cx.args.get(1).cloned() {
        Some(shape) => shape,
        None => [cx.kwarg("size"), cx.kwarg("shape")].into_iter().find(|v| !v.is_none()).unwrap_or(Value::None),
    };
    let shape = match shape.tensor() {
        Some(t) if matches!(cx.dtype(t), DataType::Int64 | DataType::Int32) => t,
        _ => cx.cast(shape, DataType::Int64)?,
    };
    cx.ge("Reshape", vec![x.into(), shape.into()], &[])
}

fn unsafe_view(cx: &mut Cx) -> Made {
    let x = cx.input(0, "self")?;
    let size = cx.get(1, "size");
    let size = cx.cast(size, DataType::Int64)?;
    cx.ge("Reshape", vec![x, size.into()], &[])
}

fn unsqueeze(cx: &mut Cx) -> Made {
    let (x, axis) = (cx.input(0, "self")?, cx.int(1, "dim", 0)?);
    cx.ge("Unsqueeze", vec![x], &[("axes", Attr::Ints(vec![axis]))])
}

fn squeeze(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let sizes = cx.sizes(x)?;
    let ones = sizes.iter().enumerate().filter(|(_, d)| **d == Dim::Fixed(1));
    let ones: Vec<i64> = ones.map(|(i, _)| i64::try_from(i).unwrap_or(i64::MAX)).collect();
    if ones.is_empty() {
        return cx.ge("Identity", vec![x.into()], &[]);
    }
    cx.ge("Squeeze", vec![x.into()], &[("axis", Attr::Ints(ones))])
}

fn squeeze_dim(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let (sizes, dim) = (cx.sizes(x)?, cx.int(1, "dim", 0)?);
    match metas::axis(dim, sizes.len()).and_then(|a| sizes.get(a)) {
        Some(Dim::Fixed(1)) => cx.ge("Squeeze", vec![x.into()], &[("axis", Attr::Ints(vec![dim]))]),
        _ => cx.ge("Identity", vec![x.into()], &[]),
    }
}
