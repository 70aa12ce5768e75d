//! Ordering and searching.

use super::args::Args;
use super::cx::{Cx, list};
use super::{Entry, Made, Rule, direct};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

pub(super) const TABLE: &[Entry] = &[
    ("aten.sort.default", Rule::By(sort)),
    ("aten.topk.default", Rule::By(topk)),
    ("aten.searchsorted.Tensor", Rule::By(searchsorted)),
];

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

fn searchsorted(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "sorted_sequence self out_int32=false right=false side sorter")?;
    match args.text("side")?.as_str() {
        "" => {}
        "left" => args.set("right", Value::Bool(false)),
        "right" => args.set("right", Value::Bool(true)),
        other => return Err(Refusal(format!("argument side is {other:?}, not left or right"))),
    }
    let dtype = if args.flag("out_int32")? { DataType::Int32 } else { DataType::Int64 };
    let line = "SearchSorted(sorted_sequence, self, sorter; right)";
    direct::make(cx, &args, line, &[("dtype", Attr::Type(dtype))])
}

/// The one at a place of the sorted row, and where it stood; of equal ones PyTorch names any.
pub(super) fn kth_value(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self k dim=-1 keepdim=false")?;
    let x = args.tensor("self")?;
    let sizes = cx.sizes(x)?;
    let axis = metas::axis(args.int("dim")?.unwrap_or(-1), sizes.len());
    let (Some(axis), Some(k)) = (axis, args.int("k")?) else {
        return Err(Refusal("there is no such dimension".into()));
    };
    let last = sizes.len().saturating_sub(1);
    let order: Vec<i64> = metas::swapped(sizes.len(), axis, last).into_iter().map(super::cx::signed).collect();
    let order = super::cx::ints(&order);
    let row = if axis == last { x } else { cx.op("Transpose", vec![x.into(), order.clone()], &[])? };
    let attrs = [("axis", Attr::Int(super::cx::signed(last))), ("stable", Attr::Bool(true))];
    let (values, places) = pair(&cx.b.many("Sort", vec![row.into()], &attrs, None)?)?;
    let places = cx.cast(places, DataType::Int64)?;
    let mut found = Vec::new();
    for all in [values, places] {
        let bounds = [k.saturating_sub(1), k, super::cx::signed(last), 1].map(|n| super::cx::ints(&[n]));
        let [begin, end, axes, step] = bounds;
        let mut one = cx.op("StridedSliceV2", vec![all.into(), begin, end, axes, step], &[])?;
        if axis != last {
            one = cx.op("Transpose", vec![one.into(), order.clone()], &[])?;
        }
        if !args.flag("keepdim")? {
            one = cx.squeeze(one, &[super::cx::signed(axis)])?;
        }
        found.push(one);
    }
    Ok(list(&found))
}
