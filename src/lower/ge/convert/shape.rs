//! Taking apart, putting together, repeating, ordering.

use super::cx::{Cx, list};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

pub(super) const TABLE: &[Entry] = &[
    ("aten.expand.default", Rule::By(expand)),
    ("aten.flip.default", Rule::Direct("self dims", "ReverseV2(self, dims)")),
    ("aten.repeat.default", Rule::Direct("self repeats", "Tile(self, repeats)")),
    ("aten.slice.Tensor", Rule::By(slice)),
    ("aten.sort.default", Rule::By(sort)),
    ("aten.split.Tensor", Rule::By(split)),
    ("aten.split_with_sizes.default", Rule::By(split_with_sizes)),
    ("aten.stack.default", Rule::By(stack)),
    ("aten.topk.default", Rule::By(topk)),
    ("aten.tril.default", Rule::Direct("self diagonal", "Tril(self; diagonal|0)")),
    ("aten.triu.default", Rule::Direct("self diagonal", "Triu(self; diagonal|0)")),
    ("aten.unbind.int", Rule::By(unbind)),
];

fn same_sizes(cx: &Cx, x: TensorId) -> Result<bool, Refusal> {
    Ok(cx.sizes(x)? == cx.out_sizes()?)
}

fn expand(cx: &mut Cx) -> Made {
    if cx.bool(usize::MAX, "implicit", false)? {
        return Err(Refusal("implicit=True is not supported".into()));
    }
    let x = cx.tensor(0, "self")?;
    if same_sizes(cx, x)? {
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

fn axis_constant(cx: &mut Cx, place: usize) -> Result<TensorId, Refusal> {
    let axis = cx.int(place, "dim", 0)?;
    cx.constant(Literal::Int(axis), DataType::Int32)
}

fn count(cx: &Cx) -> (usize, Attr) {
    let count = cx.result_count();
    (count, Attr::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

/// Returns how many parts there are: by the sizes where they are fixed, since unused parts may have left no trace.
fn parts(cx: &Cx) -> Result<usize, Refusal> {
    let (x, dim) = (cx.tensor(0, "self")?, cx.int(2, "dim", 0)?);
    let sizes = cx.sizes(x)?;
    let whole = metas::axis(dim, sizes.len()).and_then(|a| sizes.get(a)).and_then(|d| d.fixed());
    let parts = match (whole, cx.get(1, "split_size")) {
        (Some(whole), Value::Int(size)) if size > 0 => {
            usize::try_from(whole.max(1)).ok().map(|w| w.div_ceil(usize::try_from(size).unwrap_or(usize::MAX)))
        }
        _ => None,
    };
    Ok(parts.unwrap_or(0).max(cx.result_count()))
}

fn split(cx: &mut Cx) -> Made {
    let (x, size) = (cx.input(0, "self")?, cx.input(1, "split_size")?);
    let axis = axis_constant(cx, 2)?;
    let parts = parts(cx)?;
    let number = Attr::Int(i64::try_from(parts).unwrap_or(i64::MAX));
    let mut sizes = vec![size; parts];
    if let Some(rest) = sizes.last_mut() {
        *rest = In::Literal(Literal::Int(-1));
    }
    let sizes = cx.op("Pack", vec![In::Many(sizes)], &[("N", number.clone())])?;
    let sizes = cx.cast(sizes, DataType::Int64)?;
    cx.ge_split("SplitV", vec![x, sizes.into(), axis.into()], &[("num_split", number)], parts)
}

fn split_with_sizes(cx: &mut Cx) -> Made {
    let (x, sizes) = (cx.input(0, "self")?, cx.get(1, "split_sizes"));
    let sizes = cx.cast(sizes, DataType::Int64)?;
    let axis = axis_constant(cx, 2)?;
    let parts = cx.tensors(1, "split_sizes").map_or_else(|_| cx.result_count(), |l| l.len());
    let number = Attr::Int(i64::try_from(parts).unwrap_or(i64::MAX));
    cx.ge_split("SplitV", vec![x, sizes.into(), axis.into()], &[("num_split", number)], parts)
}

fn unbind(cx: &mut Cx) -> Made {
    let (x, axis) = (cx.input(0, "self")?, cx.int(1, "dim", 0)?);
    let (parts, number) = count(cx);
    cx.ge_split("Unpack", vec![x], &[("num", number), ("axis", Attr::Int(axis))], parts)
}

fn stack(cx: &mut Cx) -> Made {
    let (tensors, axis) = (cx.input(0, "tensors")?, cx.int(1, "dim", 0)?);
    let count = i64::try_from(cx.tensors(0, "tensors")?.len()).unwrap_or(i64::MAX);
    cx.ge("Pack", vec![tensors], &[("N", Attr::Int(count)), ("axis", Attr::Int(axis))])
}

fn pair(outputs: &[TensorId]) -> Result<(TensorId, TensorId), Refusal> {
    match outputs {
        [a, b, ..] => Ok((*a, *b)),
        _ => Err(Refusal("two results were expected".into())),
    }
}

fn topk(cx: &mut Cx) -> Made {
    let (x, k) = (cx.input(0, "self")?, cx.input(1, "k")?);
    let attrs = [
        ("sorted", Attr::Bool(cx.bool(4, "sorted", true)?)),
        ("dim", Attr::Int(cx.int(2, "dim", -1)?)),
        ("largest", Attr::Bool(cx.bool(3, "largest", true)?)),
    ];
    let (values, indices) = pair(&cx.b.many("TopKV2", vec![x, k], &attrs, None)?)?;
    let indices = cx.cast(indices, DataType::Int64)?;
    Ok(list(&[values, indices]))
}

/// Sorting is along the last dimension; another one is brought there and back.
fn sort(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let rank = cx.rank(x)?;
    let dim = cx.int(1, "dim", -1)?;
    let axis = metas::axis(dim, rank).ok_or_else(|| Refusal(format!("there is no dimension {dim}")))?;
    let last = rank.saturating_sub(1);
    let attrs = [
        ("axis", Attr::Int(i64::try_from(last).unwrap_or(i64::MAX))),
        ("descending", Attr::Bool(cx.bool(2, "descending", false)?)),
    ];
    let (values, indices) = if axis == last {
        pair(&cx.b.many("Sort", vec![x.into()], &attrs, None)?)?
    } else {
        let perm: Vec<i64> =
            metas::swapped(rank, axis, last).into_iter().map(|a| i64::try_from(a).unwrap_or(i64::MAX)).collect();
        let perm = cx.constant(Literal::Ints(perm), DataType::Int64)?;
        let x = cx.op("Transpose", vec![x.into(), perm.into()], &[])?;
        let (values, indices) = pair(&cx.b.many("Sort", vec![x.into()], &attrs, None)?)?;
        let values = cx.op("Transpose", vec![values.into(), perm.into()], &[])?;
        (values, cx.op("Transpose", vec![indices.into(), perm.into()], &[])?)
    };
    let indices = cx.cast(indices, DataType::Int64)?;
    Ok(list(&[values, indices]))
}
