//! Taking apart.

use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

pub(super) const TABLE: &[Entry] = &[
    ("aten.split.Tensor", Rule::By(split)),
    ("aten.split_with_sizes.default", Rule::By(split_with_sizes)),
    ("aten.unbind.int", Rule::By(unbind)),
];

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
