//! Views and rearrangements, made at once: those that can be put off come here only in scopes, or where a size is not known.

use super::args::Args;
use super::cx::{Cx, int, ints, signed};
use super::{Entry, Made, Rule};
use crate::graph::View;
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};
use crate::sym::{Dim, SymValue, is_unbacked};

pub(super) const TABLE: &[Entry] = &[
    ("aten.alias.default", Rule::By(alias)),
    ("aten.detach.default", Rule::Unary("Identity")),
    ("aten.permute.default", Rule::By(permute)),
    ("aten.reshape.default", Rule::By(reshape)),
    ("aten.squeeze.default", Rule::By(squeeze)),
    ("aten.squeeze.dim", Rule::By(squeeze_dim)),
    ("aten.t.default", Rule::By(t)),
    ("aten.transpose.int", Rule::By(transpose)),
    ("aten.unsqueeze.default", Rule::By(unsqueeze)),
    ("aten._unsafe_view.default", Rule::By(unsafe_view)),
    ("aten.view.default", Rule::By(reshape)),
    ("aten.expand.default", Rule::By(expand)),
    ("aten.slice.Tensor", Rule::By(slice)),
    ("aten.select.int", Rule::By(select)),
    ("aten.as_strided.default", Rule::By(as_strided)),
];

fn alias(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let shape = cx.op("Shape", vec![x.into()], &[])?;
    let shape = cx.cast(shape, DataType::Int64)?;
    cx.ge("Reshape", vec![x.into(), shape.into()], &[])
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

fn same_sizes(cx: &Cx, x: TensorId) -> Result<bool, Refusal> {
    Ok(cx.sizes(x)? == cx.out_sizes()?)
}

/// Whether the result has sizes that only running tells.
fn has_told_sizes(cx: &Cx) -> bool {
    let (graph, node) = cx.node;
    let dims = graph.ty(node).as_tensor().map(|t| t.sizes.clone()).unwrap_or_default();
    let names = dims.into_iter().flat_map(|d| graph.symbols.symbols_in(SymValue::Int(d)));
    names.into_iter().any(|name| is_unbacked(&name))
}

fn expand(cx: &mut Cx) -> Made {
    if cx.bool(usize::MAX, "implicit", false)? {
        return Err(Refusal("implicit=True is not supported".into()));
    }
    let x = cx.tensor(0, "self")?;
    // That a size which only running tells is another one, only its name says.
    if same_sizes(cx, x)? && !has_told_sizes(cx) {
        return Ok(x.into());
    }
    let size = cx.input(1, "size")?;
    cx.ge("BroadcastTo", vec![x.into(), size], &[])
}

fn slice(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    if same_sizes(cx, x)? {
        return Ok(x.into());
    }
    let given = |v: Value, default: i64| if v.is_none() { Value::Int(default) } else { v };
    let last = i64::from(i32::MAX);
    let (dim, start) = (given(cx.get(1, "dim"), 0), given(cx.get(2, "start"), 0));
    let end = match given(cx.get(3, "end"), last) {
        Value::Int(i64::MAX) => Value::Int(last),
        Value::Int(end) if end > last => return Err(Refusal(format!("an end of {end} is beyond 32 bits"))),
        end => end,
    };
    let step = given(cx.get(4, "step"), 1);
    let (dim, start) = (cx.cast(dim, DataType::Int64)?, cx.cast(start, DataType::Int64)?);
    let (end, step) = (cx.cast(end, DataType::Int64)?, cx.cast(step, DataType::Int64)?);
    cx.ge("StridedSliceV2", vec![x.into(), start.into(), end.into(), dim.into(), step.into()], &[])
}

fn select(cx: &mut Cx) -> Made {
    let (x, axis, index) = (cx.input(0, "self")?, cx.int(1, "dim", 0)?, cx.input(2, "index")?);
    let attrs = [("negative_index_support", Attr::Bool(true))];
    cx.ge("GatherV2", vec![x, index, Literal::Ints(vec![axis]).into()], &attrs)
}

fn as_strided(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self size stride storage_offset")?;
    let offset = if args.get("storage_offset").is_none() { int(0) } else { args.input("storage_offset")? };
    let x = args.input("self")?;
    let fixed = args.get("size").ints().zip(args.get("stride").ints());
    if let Some((sizes, strides)) = fixed.filter(|(_, strides)| strides.last().is_some_and(|s| *s >= 256)) {
        return transposed(cx, x, &sizes, &strides, offset);
    }
    cx.ge("AsStrided", vec![x, args.input("size")?, args.input("stride")?, offset], &[])
}

/// Far apart in the last dimension: read in the order in which they are stored, then put in theirs.
fn transposed(cx: &mut Cx, x: In, sizes: &[i64], strides: &[i64], offset: In) -> Made {
    let mut stored: Vec<(i64, usize, i64)> =
        strides.iter().zip(sizes).enumerate().map(|(axis, (stride, size))| (*stride, axis, *size)).collect();
    stored.sort_unstable();
    stored.reverse();
    let mut perm = vec![0_i64; stored.len()];
    for (place, (_, axis, _)) in stored.iter().enumerate() {
        if let Some(p) = perm.get_mut(*axis) {
            *p = signed(place);
        }
    }
    let strides: Vec<i64> = stored.iter().map(|(stride, ..)| *stride).collect();
    let sizes: Vec<i64> = stored.iter().map(|(.., size)| *size).collect();
    let made = cx.op("AsStrided", vec![x, ints(&sizes), ints(&strides), offset], &[])?;
    cx.ge("Transpose", vec![made.into(), ints(&perm)], &[])
}
