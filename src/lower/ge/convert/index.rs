//! Gathering and scattering.

use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

pub(super) const TABLE: &[Entry] = &[
    ("aten.embedding.default", Rule::By(embedding)),
    ("aten.gather.default", Rule::By(gather)),
    ("aten.index_select.default", Rule::By(index_select)),
    ("aten.index.Tensor", Rule::By(index)),
    ("aten.scatter.src", Rule::By(scatter)),
    ("aten.scatter_add.default", Rule::By(scatter_add)),
    ("aten.scatter.value", Rule::By(scatter_value)),
    ("aten.select.int", Rule::By(select)),
    ("aten.select_scatter.default", Rule::By(select_scatter)),
    ("aten._unsafe_index.Tensor", Rule::By(unsafe_index)),
];

fn embedding(cx: &mut Cx) -> Made {
    for (place, name) in [(3, "scale_grad_by_freq"), (4, "sparse")] {
        if cx.bool(place, name, false)? {
            return Err(Refusal(format!("{name}=True is not supported")));
        }
    }
    let (weight, indices) = (cx.input(0, "weight")?, cx.input(1, "indices")?);
    cx.ge("GatherV2", vec![weight, indices, Literal::Ints(vec![0]).into()], &[])
}

fn gather(cx: &mut Cx) -> Made {
    let (x, axis, index) = (cx.input(0, "self")?, cx.int(1, "dim", 0)?, cx.get(2, "index"));
    let index = cx.cast(index, DataType::Int64)?;
    cx.ge("GatherElements", vec![x, index.into()], &[("dim", Attr::Int(axis))])
}

fn index_select(cx: &mut Cx) -> Made {
    let (x, axis, index) = (cx.input(0, "self")?, cx.get(1, "dim"), cx.input(2, "index")?);
    let axis = cx.cast(axis, DataType::Int64)?;
    cx.ge("GatherV2", vec![x, index, axis.into()], &[])
}

fn select(cx: &mut Cx) -> Made {
    let (x, axis, index) = (cx.input(0, "self")?, cx.int(1, "dim", 0)?, cx.input(2, "index")?);
    let attrs = [("negative_index_support", Attr::Bool(true))];
    cx.ge("GatherV2", vec![x, index, Literal::Ints(vec![axis]).into()], &attrs)
}

fn scatter(cx: &mut Cx) -> Made {
    let (x, axis) = (cx.input(0, "self")?, cx.int(1, "dim", 0)?);
    let (index, src) = (cx.input(2, "index")?, cx.input(3, "src")?);
    cx.ge("ScatterElements", vec![x, index, src], &[("axis", Attr::Int(axis))])
}

fn scatter_value(cx: &mut Cx) -> Made {
    let (x, axis, index) = (cx.tensor(0, "self")?, cx.int(1, "dim", 0)?, cx.tensor(2, "index")?);
    let shape = cx.op("Shape", vec![index.into()], &[])?;
    let value = cx.input(3, "value")?;
    let dtype = cx.dtype(x);
    let value = cx.always_cast(value, dtype)?;
    let src = cx.op("Fill", vec![shape.into(), value.into()], &[])?;
    cx.ge("ScatterElements", vec![x.into(), index.into(), src.into()], &[("axis", Attr::Int(axis))])
}

fn scatter_add(cx: &mut Cx) -> Made {
    let (x, axis) = (cx.input(0, "self")?, cx.int(1, "dim", 0)?);
    let (index, src) = (cx.input(2, "index")?, cx.input(3, "src")?);
    let attrs = [("axis", Attr::Int(axis)), ("reduction", Attr::Str("add".into()))];
    cx.ge("ScatterElements", vec![x, index, src], &attrs)
}

fn select_scatter(cx: &mut Cx) -> Made {
    let (x, src, dim) = (cx.tensor(0, "self")?, cx.input(1, "src")?, cx.int(2, "dim", 0)?);
    let shape = cx.op("Shape", vec![x.into()], &[])?;
    let index = cx.input(3, "index")?;
    let index = cx.op("BroadcastTo", vec![index, shape.into()], &[])?;
    let src = cx.op("ExpandDims", vec![src, Literal::Int(dim).into()], &[])?;
    let src = cx.op("BroadcastTo", vec![src.into(), shape.into()], &[])?;
    cx.ge("ScatterElements", vec![x.into(), index.into(), src.into()], &[("axis", Attr::Int(dim))])
}

/// Which dimensions are indexed is an attribute; only those have a tensor.
fn by_tensors(cx: &mut Cx, cast: bool) -> Made {
    let x = cx.input(0, "self")?;
    let given = cx.tensors(1, "indices")?;
    let mask = given.iter().map(|v| i64::from(v.tensor().is_some())).collect();
    let mut indices = Vec::new();
    for index in given.iter().filter_map(Value::tensor) {
        indices.push(In::Tensor(if cast { cx.cast(index, DataType::Int64)? } else { index }));
    }
    cx.ge("IndexByTensor", vec![x, In::Many(indices)], &[("indices_mask", Attr::Ints(mask))])
}

fn index(cx: &mut Cx) -> Made {
    by_tensors(cx, true)
}

fn unsafe_index(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    if matches!(cx.dtype(x), DataType::Bool | DataType::Uint8) {
        return Err(Refusal("bool and uint8 are not supported".into()));
    }
    by_tensors(cx, false)
}
