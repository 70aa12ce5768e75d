//! Gathering and scattering.

use super::args::Args;
use super::cx::{Cx, ints, signed};
use super::{Entry, Made, Rule, direct};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::TensorId;

pub(super) const TABLE: &[Entry] = &[
    ("aten.embedding.default", Rule::By(embedding)),
    ("aten._embedding_bag.default", Rule::By(|cx| embedding_bag(cx, false))),
    ("aten._embedding_bag_forward_only.default", Rule::By(|cx| embedding_bag(cx, true))),
    ("aten.embedding_dense_backward.default", Rule::By(embedding_backward)),
    ("aten.gather.default", Rule::By(gather)),
    ("aten.index_add.default", Rule::By(index_add)),
    ("aten.index_select.default", Rule::By(index_select)),
    ("aten.index.Tensor", Rule::By(index)),
    ("aten.scatter.src", Rule::By(scatter)),
    ("aten.scatter_add.default", Rule::By(scatter_add)),
    ("aten.scatter.value", Rule::By(scatter_value)),
    ("aten._unsafe_index.Tensor", Rule::By(unsafe_index)),
    ("aten.masked_fill_.Scalar", Rule::Direct("self mask value", "MaskedFill(self, mask, value)")),
    ("aten.masked_fill.Scalar", Rule::By(masked_fill)),
    ("aten.masked_fill.Tensor", Rule::By(masked_fill)),
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
    let (x, axis, mut index) = (cx.tensor(0, "self")?, cx.get(1, "dim"), cx.tensor(2, "index")?);
    if cx.rank(x)? == 0 {
        return Err(Refusal("an operand without dimensions is not supported".into()));
    }
    // A single place keeps its dimension, which GE would take out.
    if cx.rank(index)? == 0 {
        index = cx.unsqueeze(index, &[0])?;
    }
    let axis = cx.cast(axis, DataType::Int64)?;
    cx.ge("GatherV2", vec![x.into(), index.into(), axis.into()], &[])
}

/// The part of what is sent that indices of smaller sizes reach: GE wants both of one size.
pub(super) fn corner(cx: &mut Cx, src: TensorId, index: TensorId) -> Result<TensorId, Refusal> {
    let (Some(all), Some(part)) = (cx.fixed_sizes(src)?, cx.fixed_sizes(index)?) else { return Ok(src) };
    let mut at = src;
    for ((axis, _), part) in (0_i64..).zip(&all).zip(&part).filter(|((_, all), part)| all > part) {
        let bounds = [0, *part, axis, 1].map(|n| ints(&[n]));
        at = cx.op("StridedSliceV2", std::iter::once(at.into()).chain(bounds).collect(), &[])?;
    }
    Ok(at)
}

fn scatter(cx: &mut Cx) -> Made {
    let (x, axis) = (cx.input(0, "self")?, cx.int(1, "dim", 0)?);
    let index = cx.tensor(2, "index")?;
    let src = cx.tensor(3, "src")?;
    let src = corner(cx, src, index)?;
    cx.ge("ScatterElements", vec![x, index.into(), src.into()], &[("axis", Attr::Int(axis))])
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
    let index = cx.tensor(2, "index")?;
    let src = cx.tensor(3, "src")?;
    let src = corner(cx, src, index)?;
    let attrs = [("axis", Attr::Int(axis)), ("reduction", Attr::Str("add".into()))];
    cx.ge("ScatterElements", vec![x, index.into(), src.into()], &attrs)
}

/// Which dimensions are indexed is an attribute; only those have a tensor.
fn by_tensors(cx: &mut Cx, cast: bool) -> Made {
    let x = cx.input(0, "self")?;
    let given = cx.tensors(1, "indices")?;
    let (mut mask, mut indices) = (Vec::new(), Vec::new());
    for index in &given {
        let Some(index) = index.tensor() else {
            mask.push(0);
            continue;
        };
        if matches!(cx.dtype(index), DataType::Bool | DataType::Uint8) {
            // A mask stands for the places where it holds, one index a dimension of it.
            let rank = cx.rank(index)?;
            let places = places_of(cx, index, rank)?;
            mask.extend(std::iter::repeat_n(1, rank));
            indices.extend(places.into_iter().map(In::Tensor));
            continue;
        }
        mask.push(1);
        indices.push(In::Tensor(if cast { cx.cast(index, DataType::Int64)? } else { index }));
    }
    cx.ge("IndexByTensor", vec![x, In::Many(indices)], &[("indices_mask", Attr::Ints(mask))])
}

/// The places where a mask holds: their positions, a tensor a dimension.
fn places_of(cx: &mut Cx, mask: TensorId, rank: usize) -> Result<Vec<TensorId>, Refusal> {
    if rank == 0 {
        return Err(Refusal("an index by a single truth value is not supported".into()));
    }
    let mask = cx.cast(mask, DataType::Bool)?;
    let attrs = [("transpose", Attr::Bool(false)), ("dtype", DataType::Int64.into())];
    let places = cx.op("NonZero", vec![mask.into()], &attrs)?;
    let mut columns = Vec::new();
    for axis in 0..rank {
        columns.push(cx.op(
            "GatherV2",
            vec![places.into(), super::cx::int(signed(axis)), super::cx::ints(&[1])],
            &[],
        )?);
    }
    Ok(columns)
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

const BAG: &str = "weight indices offsets scale_grad_by_freq=false mode=0 sparse=false per_sample_weights \
                   include_last_offset=false padding_idx=-1";

fn embedding_bag(cx: &mut Cx, narrow: bool) -> Made {
    let mut args = Args::of(cx, BAG)?;
    let mode = match args.int("mode")? {
        Some(0) => "sum",
        Some(2) => "max",
        _ => "mean",
    };
    if narrow {
        for name in ["indices", "offsets"] {
            let value = args.get(name);
            let value = cx.cast(value, DataType::Int32)?;
            args.set(name, value);
        }
    }
    let attrs = [("mode", Attr::Str(mode.into()))];
    direct::make(cx, &args, "EmbeddingBag(weight, indices, offsets, per_sample_weights; *)", &attrs)
}

fn embedding_backward(cx: &mut Cx) -> Made {
    let mut args = Args::of(cx, "grad_output indices num_weights padding_idx scale_grad_by_freq")?;
    if args.flag("scale_grad_by_freq")? {
        let indices = cx.always_cast(args.input("indices")?, DataType::Int32)?;
        args.set("indices", indices);
    }
    direct::make(cx, &args, "EmbeddingDenseGrad(grad_output, indices; *)", &[])
}

/// The source is spread over the sizes of the result but for the index's along `dim`, then added in place to a copy.
fn index_add(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dim index source alpha=1")?;
    let (x, mut index) = (args.tensor("self")?, args.tensor("index")?);
    let rank = cx.rank(x)?;
    let dim = args.int("dim")?.unwrap_or(0);
    let dim = metas::axis(dim, rank).ok_or_else(|| Refusal(format!("there is no dimension {dim}")))?;
    let dtype = cx.dtype(x);
    let alpha = cx.cast(args.get("alpha"), dtype)?;
    if cx.rank(index)? == 0 {
        index = cx.unsqueeze(index, &[0])?;
    }
    let (of_index, of_self) = (cx.shape32(index)?, cx.shape32(x)?);
    let index = cx.cast(index, DataType::Int32)?;
    let mut sizes: Vec<In> = Vec::new();
    for axis in 0..rank {
        let size = if axis == dim { cx.element(of_index, 0)? } else { cx.element(of_self, signed(axis))? };
        sizes.push(size.into());
    }
    let sizes = cx.pack(sizes)?;
    let source = cx.op("BroadcastTo", vec![args.input("source")?, sizes.into()], &[])?;
    let copy = cx.op("TensorMove", vec![x.into()], &[])?;
    let inputs = vec![copy.into(), index.into(), source.into(), alpha.into()];
    cx.ge("InplaceIndexAdd", inputs, &[("axis", Attr::Int(signed(dim)))])
}

fn masked_fill(cx: &mut Cx) -> Made {
    let (x, mask, dtype) = (cx.input(0, "self")?, cx.input(1, "mask")?, cx.out_type()?);
    let value = cx.get(2, "value");
    let value = cx.cast(value, dtype)?;
    cx.ge("MaskedFill", vec![x, mask, value.into()], &[])
}
