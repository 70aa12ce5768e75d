//! Putting together, repeating, turning round.

use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::value::Value;

pub(super) const TABLE: &[Entry] = &[
    ("aten.flip.default", Rule::Direct("self dims", "ReverseV2(self, dims)")),
    ("aten.repeat.default", Rule::Direct("self repeats", "Tile(self, repeats)")),
    ("aten.stack.default", Rule::By(stack)),
    ("aten.tril.default", Rule::Direct("self diagonal", "Tril(self; diagonal|0)")),
    ("aten.triu.default", Rule::Direct("self diagonal", "Triu(self; diagonal|0)")),
    ("aten.cat.default", Rule::By(cat)),
    ("aten.select_scatter.default", Rule::By(select_scatter)),
];

fn stack(cx: &mut Cx) -> Made {
    let (mut tensors, axis) = (cx.input(0, "tensors")?, cx.int(1, "dim", 0)?);
    let parts = cx.tensors(0, "tensors")?;
    let count = i64::try_from(parts.len()).unwrap_or(i64::MAX);
    let dtypes: Vec<_> = parts.iter().filter_map(|p| p.tensor()).map(|t| cx.dtype(t)).collect();
    // GE has one type for all; TorchAir leaves that to the device.
    if dtypes.windows(2).any(|w| w.first() != w.last()) {
        let dtype = cx.out_type()?;
        let cast = |part| cx.cast(part, dtype).map(In::Tensor);
        tensors = In::Many(parts.into_iter().map(cast).collect::<Result<_, _>>()?);
    }
    cx.ge("Pack", vec![tensors], &[("N", Attr::Int(count)), ("axis", Attr::Int(axis))])
}

fn cat(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let axis = cx.input(1, "dim")?;
    let axis = if matches!(axis, In::None) { In::Literal(Literal::Int(0)) } else { axis };
    let mut tensors = cx.tensors(0, "tensors")?;
    // PyTorch leaves out vectors of no elements beside what is no vector; GE reads dimensions that they do not have.
    let is_vector = |part: &Value| Some(cx.rank(part.tensor()?).ok()? == 1);
    if tensors.iter().any(|part| is_vector(part) == Some(false)) {
        tensors.retain(|part| is_vector(part) != Some(true));
    }
    let mut parts = Vec::new();
    for part in tensors {
        parts.push(In::Tensor(cx.cast(part, dtype)?));
    }
    let count = i64::try_from(parts.len()).unwrap_or(i64::MAX);
    cx.ge("ConcatV2", vec![In::Many(parts), axis], &[("N", Attr::Int(count))])
}

fn select_scatter(cx: &mut Cx) -> Made {
    let (x, src, dim) = (cx.tensor(0, "self")?, cx.input(1, "src")?, cx.int(2, "dim", 0)?);
    let shape = cx.op("Shape", vec![x.into()], &[])?;
    let size = cx.sizes(x)?;
    let size = metas::axis(dim, size.len()).and_then(|a| size.get(a)?.fixed());
    let index = super::slices::from_front(cx.get(3, "index"), size)?;
    let index = cx.op("BroadcastTo", vec![index, shape.into()], &[])?;
    let src = cx.op("ExpandDims", vec![src, Literal::Int(dim).into()], &[])?;
    let src = cx.op("BroadcastTo", vec![src.into(), shape.into()], &[])?;
    cx.ge("ScatterElements", vec![x.into(), index.into(), src.into()], &[("axis", Attr::Int(dim))])
}
