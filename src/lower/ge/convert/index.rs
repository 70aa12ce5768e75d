//! Gathering and scattering.

use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;

pub(super) const TABLE: &[Entry] = &[
    ("aten.embedding.default", Rule::By(embedding)),
    ("aten.gather.default", Rule::By(gather)),
    ("aten.index_select.default", Rule::By(index_select)),
    ("aten.scatter.src", Rule::By(scatter)),
    ("aten.scatter.value", Rule::By(scatter_value)),
    ("aten.select.int", Rule::By(select)),
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
