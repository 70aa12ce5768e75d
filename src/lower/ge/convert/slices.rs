//! Writing into a part of a tensor, and strided views.

use super::args::Args;
use super::cx::{Cx, int, ints, signed};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("aten.as_strided_scatter.default", By(as_strided_scatter)),
    ("aten.select_backward.default", By(select_backward)),
    ("aten.slice_backward.default", By(slice_backward)),
    ("aten.slice_scatter.default", By(slice_scatter)),
];

/// What a slice that ends nowhere ends at.
const WHOLE: i64 = i64::MAX;

fn as_strided_scatter(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self src size stride storage_offset")?;
    let offset = if args.get("storage_offset").is_none() { int(0) } else { args.input("storage_offset")? };
    let dtype = cx.out_type()?;
    let (x, src) = (cx.cast(args.get("self"), dtype)?, cx.cast(args.get("src"), dtype)?);
    let Some(sizes) = args.ints("size")? else { return Err(Refusal("argument size is no fixed list".into())) };
    let mut dense = vec![1_i64; sizes.len()];
    let mut step = 1_i64;
    for (stride, size) in dense.iter_mut().zip(&sizes).rev() {
        *stride = step;
        step = step.checked_mul(*size).ok_or_else(|| Refusal("sizes are beyond 64 bits".into()))?;
    }
    let view = [ints(&sizes), args.input("stride")?, offset];
    let of_src = [In::Tensor(src), ints(&sizes), ints(&dense), int(0)];
    cx.ge("ViewCopy", [In::Tensor(x)].into_iter().chain(view).chain(of_src).collect(), &[])
}

fn select_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_output input_sizes dim index")?;
    let (grad, sizes) = (args.tensor("grad_output")?, args.input("input_sizes")?);
    let dim = args.int("dim")?.unwrap_or(0);
    let dtype = cx.dtype(grad);
    let zeros = cx.filled(sizes.clone(), 0.0, dtype)?;
    let given = args.get("input_sizes").ints();
    let length = given.and_then(|s| s.get(metas::axis(dim, s.len())?).copied());
    let index = from_front(args.get("index"), length)?;
    let index = cx.op("BroadcastTo", vec![index, sizes.clone()], &[])?;
    let grad = cx.op("ExpandDims", vec![grad.into(), int(dim)], &[])?;
    let grad = cx.op("BroadcastTo", vec![grad.into(), sizes], &[])?;
    cx.ge("ScatterElements", vec![zeros.into(), index.into(), grad.into()], &[("axis", Attr::Int(dim))])
}

/// Returns a place counted from the front, as GE takes it.
pub(super) fn from_front(place: Value, size: Option<i64>) -> Result<In, Refusal> {
    match (place, size) {
        (Value::Int(i), Some(size)) if i < 0 => Ok(int(i.saturating_add(size))),
        (Value::Int(i), None) if i < 0 => Err(Refusal("a place from the end needs a fixed size".into())),
        (place, _) => In::try_from(&place),
    }
}

/// The bounds of a slice; none where it is not fixed.
struct Bounds {
    dim: i64,
    start: Option<i64>,
    end: Option<i64>,
    step: Option<i64>,
}

impl Bounds {
    fn of(args: &Args) -> Result<Bounds, Refusal> {
        let number = |name: &str, none: i64| match args.get(name) {
            Value::None => Some(none),
            Value::Int(i) => Some(i),
            _ => None,
        };
        let dim = args.int("dim")?.unwrap_or(0);
        Ok(Bounds { dim, start: number("start", 0), end: number("end", WHOLE), step: number("step", 1) })
    }

    fn is_whole(&self) -> bool {
        (self.start, self.end, self.step) == (Some(0), Some(WHOLE), Some(1))
    }
}

/// Returns the sizes or a bound as an input, where a missing one stands for a number.
fn bound(args: &Args, name: &str, none: i64) -> Result<In, Refusal> {
    if args.get(name).is_none() { Ok(int(none)) } else { args.input(name) }
}

fn slice_scatter(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self src dim=0 start end step=1")?;
    let bounds = Bounds::of(&args)?;
    let (x, src) = (args.tensor("self")?, args.tensor("src")?);
    if let (Some(start), Some(end), Some(1)) = (bounds.start, bounds.end, bounds.step) {
        if bounds.is_whole() {
            return Ok(src.into());
        }
        return between(cx, x, src, bounds.dim, start, end);
    }
    let own = cx.sizes(x)?;
    let axis = metas::axis(bounds.dim, own.len()).ok_or_else(|| Refusal("there is no such dimension".into()))?;
    let fixed = own.get(axis).and_then(|d| d.fixed());
    let (dim, sizes) = (signed(axis), cx.shape(x)?);
    let end = match bounds.end {
        Some(WHOLE) => cx.element(sizes, dim)?.into(),
        end => front_bound(end, fixed).map_or_else(|| args.input("end"), |e| e.map(int))?,
    };
    let sizes = cx.cast(sizes, DataType::Int32)?;
    let start = front_bound(bounds.start, fixed).map_or_else(|| bound(&args, "start", 0), |s| s.map(int))?;
    let start = in32(cx, start)?;
    let limit = in32(cx, end)?;
    let step = in32(cx, args.input("step")?)?;
    let length = cx.element(sizes, dim)?;
    let limit = cx.op("Minimum", vec![length.into(), limit.into()], &[])?;
    scatter(cx, x, src, dim, [start, limit, step])
}

fn in32(cx: &mut Cx, value: In) -> Result<TensorId, Refusal> {
    match value {
        In::Tensor(t) => cx.cast(t, DataType::Int32),
        In::Literal(l) => cx.constant(l, DataType::Int32),
        _ => Err(Refusal("a bound is neither tensor nor number".into())),
    }
}

/// What stands before the slice, the new part, what stands after it.
fn between(cx: &mut Cx, x: TensorId, src: TensorId, dim: i64, start: i64, end: i64) -> Made {
    let last = i64::from(i32::MAX);
    if end != WHOLE && end > last {
        return Err(Refusal(format!("an end of {end} is beyond 32 bits")));
    }
    let sizes = cx.sizes(x)?;
    let axis = metas::axis(dim, sizes.len()).ok_or_else(|| Refusal(format!("there is no dimension {dim}")))?;
    let limit = sizes.get(axis).and_then(|d| d.fixed());
    let from_end = |bound: i64| match (bound < 0, limit) {
        (false, _) => Ok(bound.min(last)),
        (true, Some(limit)) => Ok(bound.saturating_add(limit).max(0)),
        (true, None) => Err(Refusal("a bound from the end needs a fixed size".into())),
    };
    let end = from_end(end)?;
    let start = from_end(start)?.min(end);
    let axis = int(signed(axis));
    let mut part =
        |from: i64, to: i64| cx.op("StridedSliceV2", vec![x.into(), int(from), int(to), axis.clone(), int(1)], &[]);
    let (before, after) = (part(0, start)?, part(end, last)?);
    joined(cx, [before, src, after], axis)
}

fn joined(cx: &mut Cx, parts: [TensorId; 3], axis: In) -> Made {
    let parts = In::Many(parts.map(In::Tensor).to_vec());
    cx.ge("ConcatV2", vec![parts, axis], &[("N", Attr::Int(3))])
}

/// A fixed bound from the end as one from the front; nothing where it is one.
fn front_bound(bound: Option<i64>, length: Option<i64>) -> Option<Result<i64, Refusal>> {
    let bound = bound.filter(|b| *b < 0)?;
    Some(match length {
        Some(length) => Ok(clamped(bound, length)),
        None => Err(Refusal("a bound from the end needs a fixed size".into())),
    })
}

/// Writes `src` into `x` at the places of a range along a dimension.
fn scatter(cx: &mut Cx, x: TensorId, src: TensorId, dim: i64, range: [TensorId; 3]) -> Made {
    let rank = cx.rank(src)?;
    let dim = metas::axis(dim, rank).map(signed).ok_or_else(|| Refusal("there is no such dimension".into()))?;
    let rank = signed(rank);
    let mut index = cx.op("Range", range.map(In::Tensor).to_vec(), &[])?;
    let others: Vec<i64> = (0..rank).filter(|d| *d != dim).collect();
    if !others.is_empty() {
        index = cx.unsqueeze(index, &others)?;
        let shape = cx.shape(src)?;
        index = cx.op("Expand", vec![index.into(), shape.into()], &[])?;
    }
    cx.ge("ScatterElements", vec![x.into(), index.into(), src.into()], &[("axis", Attr::Int(dim))])
}

fn slice_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_output input_sizes dim start end step")?;
    let (grad, bounds) = (args.tensor("grad_output")?, Bounds::of(&args)?);
    if bounds.is_whole() {
        return Ok(grad.into());
    }
    let sizes = args.get("input_sizes").ints();
    let length = sizes.as_ref().and_then(|s| metas::axis(bounds.dim, s.len()).and_then(|a| s.get(a)).copied());
    if bounds.step == Some(1) {
        return match (bounds.start, bounds.end, sizes, length) {
            (Some(start), Some(end), Some(sizes), Some(length)) => {
                zeros_around(cx, grad, &sizes, length, bounds.dim, start, end)
            }
            _ => computed_zeros_around(cx, &args, grad, bounds.dim),
        };
    }
    let end = match (bounds.end, length) {
        (Some(end), Some(length)) if end > length => int(length),
        (Some(end), Some(length)) if end < 0 => int(length.saturating_add(end)),
        _ => args.input("end")?,
    };
    let fixed = sizes.is_some() && bounds.end.is_some();
    let sizes = in32(cx, args.input("input_sizes")?)?;
    let start = front_bound(bounds.start, length).map_or_else(|| bound(&args, "start", 0), |s| s.map(int))?;
    let (start, mut limit, step) = (in32(cx, start)?, in32(cx, end)?, in32(cx, args.input("step")?)?);
    let zero = cx.constant(Literal::Float(0.0), cx.dtype(grad))?;
    let zeros = cx.op("Fill", vec![sizes.into(), zero.into()], &[])?;
    if !fixed {
        let length = cx.element(sizes, bounds.dim)?;
        limit = cx.op("Minimum", vec![length.into(), limit.into()], &[])?;
    }
    scatter(cx, zeros, grad, bounds.dim, [start, limit, step])
}

/// A bound as a place from the front, within the dimension.
fn clamped(bound: i64, length: i64) -> i64 {
    let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
    bound.clamp(0, length.max(0))
}

fn zeros_around(cx: &mut Cx, grad: TensorId, sizes: &[i64], length: i64, dim: i64, start: i64, end: i64) -> Made {
    let within = |bound: i64| clamped(bound, length);
    let end = within(end);
    let start = within(start).min(end);
    let dtype = cx.out_type()?;
    let axis = metas::axis(dim, sizes.len()).unwrap_or(0);
    let mut zeros = |from: i64, to: i64| {
        let mut sizes = sizes.to_vec();
        if let Some(size) = sizes.get_mut(axis) {
            *size = to.saturating_sub(from).max(0);
        }
        cx.filled(ints(&sizes), 0.0, dtype)
    };
    let (before, after) = (zeros(0, start)?, zeros(end, length)?);
    joined(cx, [before, grad, after], int(dim))
}

fn computed_zeros_around(cx: &mut Cx, args: &Args, grad: TensorId, dim: i64) -> Made {
    let (sizes, dtype) = (args.input("input_sizes")?, cx.out_type()?);
    let length = cx.element(sizes.clone(), dim)?;
    let mut within = |bound: In| {
        let beyond = cx.op("GreaterEqual", vec![bound.clone(), length.into()], &[])?;
        let rest = cx.op("FloorMod", vec![bound, length.into()], &[])?;
        cx.op("SelectV2", vec![beyond.into(), length.into(), rest.into()], &[])
    };
    let (start, end) = (within(args.input("start")?)?, within(args.input("end")?)?);
    let start = cx.op("Minimum", vec![start.into(), end.into()], &[])?;
    let rank = signed(cx.rank(grad)?);
    let mut zeros = |from: In, to: TensorId| {
        let wide = cx.op("Sub", vec![to.into(), from], &[])?;
        let wide = cx.op("Maximum", vec![wide.into(), int(0)], &[])?;
        let mut parts: Vec<In> = Vec::new();
        for axis in 0..rank {
            parts.push(if axis == dim { wide.into() } else { cx.element(sizes.clone(), axis)?.into() });
        }
        let sizes = cx.pack(parts)?;
        cx.filled(sizes, 0.0, dtype)
    };
    let (before, after) = (zeros(int(0), start)?, zeros(end.into(), length)?);
    joined(cx, [before, grad, after], int(dim))
}
