//! Index lists: `x[i, :, j]`, where a mask counts as the places at which it is true.
//!
//! All index tensors are broadcast to one another; where they stand side by side their joint dimensions take that place in the result,
//! otherwise they come first.

use smallvec::SmallVec;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::index::cells::{Range, apart, emit_taken, offsets, overwrite, target};
use crate::exec::kernels::index::reduction::{Reduction, Start, reduce};
use crate::exec::numbers::checked::{filled, scalar_for};
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::{Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (index, &["aten.index.Tensor", "aten._unsafe_index.Tensor"]),
    (
        put,
        &[
            "aten.index_put.default",
            "aten.index_put_.default",
            "aten._unsafe_index_put.default",
            "aten._index_put_impl.default",
            "aten._index_put_impl_.default",
        ],
    ),
    (masked_index, &["aten._unsafe_masked_index.default"]),
    (masked_put, &["aten._unsafe_masked_index_put_accumulate.default"]),
];

/// An index list, one entry a dimension; masks have become places.
type Indices = Vec<Option<Tensor>>;

/// Returns the index list of argument `i`, with each mask as one list of places a dimension that it covers.
fn indices(cx: &mut Cx<'_, '_, '_>, i: usize) -> Result<Indices, CallFault> {
    let rank = cx.tensor(0)?.rank();
    let mut all: Indices = Vec::new();
    for one in cx.opt_tensors(i)? {
        match one {
            Some(mask) if matches!(mask.dtype(), Dtype::Bool | Dtype::U8) => {
                for d in 0..mask.rank() {
                    let own = cx.tensor(0)?.meta.size(all.len().saturating_add(d));
                    if mask.meta.size(d) != own {
                        return Err(cx.bad(i, format!("a mask of size {own} there"), mask.meta.size(d).to_string()));
                    }
                }
                all.extend(true_places(cx, mask)?.into_iter().map(Some));
            }
            Some(index) if !matches!(index.dtype(), Dtype::I64 | Dtype::I32) => {
                return Err(cx.bad(i, "indices of int32 or int64, or masks", index.dtype().long()));
            }
            other => all.push(other.cloned()),
        }
    }
    if all.len() > rank {
        return Err(cx.bad(i, format!("at most {rank} indices"), all.len().to_string()));
    }
    all.resize(rank, None);
    Ok(all)
}

/// Returns where a mask is true: one list a dimension. One without dimensions is one dimension more, of size 1, that is taken or not.
fn true_places(cx: &mut Cx<'_, '_, '_>, mask: &Tensor) -> Result<Vec<Tensor>, CallFault> {
    if mask.rank() == 0 {
        return Err(CallFault::Unsupported { what: "a mask without dimensions in an index list".into() });
    }
    let found = cx.run("aten.nonzero_numpy.default", &[Value::Tensor(mask.clone())])?;
    Ok(found.items().iter().filter_map(|v| v.as_tensor().cloned()).collect())
}

/// Where the elements that an index list names lie.
struct Plan {
    /// Dimensions that come before the joint ones, and behind them: sizes and strides.
    before: Meta,
    after: Meta,
    /// Sizes of the joint dimensions.
    joint: Shape,
    /// Offset for each joint position, in row-major order.
    at: Vec<usize>,
}

impl Plan {
    fn of(cx: &Cx<'_, '_, '_>, i: usize, meta: &Meta, indices: &Indices) -> Result<Plan, CallFault> {
        let used: SmallVec<[usize; 6]> =
            indices.iter().enumerate().filter_map(|(d, x)| x.as_ref().map(|_| d)).collect();
        let (first, last) = (used.first().copied().unwrap_or(0), used.last().copied().unwrap_or(0));
        let adjacent = last.saturating_sub(first).saturating_add(1) == used.len();
        let front = if adjacent { first } else { 0 };
        let pick = |keep: &dyn Fn(usize) -> bool| {
            let dims: Shape = (0..meta.rank()).filter(|d| !used.contains(d) && keep(*d)).collect();
            let (sizes, strides) = (shape::permuted(&meta.sizes, &dims), shape::permuted(&meta.strides, &dims));
            Meta { sizes, strides, offset: 0, ..meta.clone() }
        };
        if used.is_empty() && meta.numel() > 0 {
            return Err(cx.bad(i, "one index tensor or more", "none"));
        }
        let joint = joint_sizes(cx, i, indices)?;
        let mut at = vec![meta.offset; shape::count(&joint)?];
        let (before, after) = (pick(&|d| d < front), pick(&|d| d >= front));
        if before.numel() == 0 || after.numel() == 0 {
            // Nothing is touched, so no index is looked at; but an empty dimension has none.
            if !at.is_empty() && used.iter().any(|d| meta.size(*d) == 0) {
                return Err(cx.bad(i, "no index into an empty dimension", format!("{} of them", at.len())));
            }
            return Ok(Plan { before, after, joint, at });
        }
        for (d, index) in indices.iter().enumerate() {
            let Some(index) = index else { continue };
            let (size, stride, spread) = (meta.size(d), meta.stride(d), index.broadcast(&joint)?);
            for (slot, v) in at.iter_mut().zip(spread.lanes::<i64>()?.iter()) {
                let place = Range::Wrapping.place(cx, i, *v, size)?;
                *slot = slot.wrapping_add(place.wrapping_mul(stride));
            }
        }
        Ok(Plan { before, after, joint, at })
    }

    /// Returns the sizes of what is named.
    fn sizes(&self) -> Shape {
        let dims = self.before.sizes.iter().chain(&self.joint).chain(&self.after.sizes);
        dims.copied().collect()
    }

    /// Returns the offsets of what is named, in row-major order.
    fn offsets(&self) -> Vec<usize> {
        let within: Vec<usize> = offsets(&self.after).collect();
        let mut out = Vec::with_capacity(shape::numel(&self.sizes()));
        for outer in offsets(&self.before) {
            for at in &self.at {
                let start = outer.wrapping_add(*at);
                out.extend(within.iter().map(|k| start.wrapping_add(*k)));
            }
        }
        out
    }

    /// Returns how many elements behind one another each joint position names, if they lie so.
    fn row(&self) -> Option<usize> {
        self.after.is_contiguous().then(|| self.after.numel()).filter(|n| *n > 1)
    }
}

fn joint_sizes(cx: &Cx<'_, '_, '_>, i: usize, indices: &Indices) -> Result<Shape, CallFault> {
    let mut out = Shape::new();
    for index in indices.iter().flatten() {
        while out.len() < index.rank() {
            out.insert(0, 1);
        }
        for (slot, size) in out.iter_mut().rev().zip(index.sizes().iter().rev()) {
            if *slot == 1 {
                *slot = *size;
            } else if *size != 1 && *size != *slot {
                return Err(cx.bad(i, "indices that broadcast to one another", format!("sizes {slot} and {size}")));
            }
        }
    }
    Ok(out)
}

fn has_masks(cx: &Cx<'_, '_, '_>, i: usize) -> Result<bool, CallFault> {
    Ok(cx.opt_tensors(i)?.iter().flatten().any(|t| matches!(t.dtype(), Dtype::Bool | Dtype::U8)))
}

fn list(indices: Indices) -> Value {
    Value::List(indices.into_iter().map(|x| x.map_or(Value::None, Value::Tensor)).collect())
}

/// With masks the rule cannot say the sizes: it is asked again with their places.
fn index(cx: &mut Cx<'_, '_, '_>) -> Made {
    let indices = indices(cx, 1)?;
    if has_masks(cx, 1)? {
        let (target, args) = (cx.operator.target.clone(), [cx.value(0), list(indices)]);
        return cx.run(&target, &args);
    }
    let t = cx.tensor(0)?;
    let plan = Plan::of(cx, 1, &t.meta, &indices)?;
    match plan.row() {
        Some(row) if !t.conj && !t.neg => rows(cx, t, &plan, row),
        _ => emit_taken(cx, t, &plan.offsets()),
    }
}

/// Copies rows of elements that lie behind one another.
fn rows(cx: &Cx<'_, '_, '_>, t: &Tensor, plan: &Plan, row: usize) -> Made {
    with_width!(t.dtype().bytes(), U => {
        let count = t.storage.len().checked_div(std::mem::size_of::<U>()).unwrap_or(0);
        let memory = t.with_meta(Meta::contiguous(t.dtype(), &[count]))?;
        let all = memory.raw::<U>()?;
        let mut out: Vec<U> = Vec::with_capacity(shape::numel(&plan.sizes()));
        for outer in offsets(&plan.before) {
            for at in &plan.at {
                let start = outer.wrapping_add(*at);
                out.extend_from_slice(all.get(start..start.saturating_add(row)).unwrap_or(&[]));
            }
        }
        cx.emit_raw(out)
    })
}

fn put(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (indices, accumulate) = (indices(cx, 1)?, cx.bool(3)?);
    put_at(cx, &indices, cx.tensor(2)?, accumulate)
}

fn put_at(cx: &Cx<'_, '_, '_>, indices: &Indices, values: &Tensor, accumulate: bool) -> Made {
    let t = cx.tensor(0)?;
    if values.dtype() != t.dtype() {
        return Err(cx.bad(2, format!("dtype {}", t.dtype().long()), values.dtype().long()));
    }
    let out = if cx.operator.schema.name.ends_with('_') && crate::exec::call::overlap::overlaps_itself(t) {
        // PyTorch only warns here, and writes one element for several.
        t.clone()
    } else {
        target(cx)?
    };
    let apart_indices = indices.iter().map(|x| x.as_ref().map(|x| apart(cx, x, &out)).transpose());
    let indices = apart_indices.collect::<Result<Indices, _>>()?;
    let plan = Plan::of(cx, 1, &out.meta, &indices)?;
    let values = apart(cx, values, &out)?;
    let sizes = plan.sizes();
    let fitting = trimmed(&values, sizes.len());
    let spread = fitting.broadcast(&sizes).map_err(|_| {
        cx.bad(2, format!("sizes that broadcast to {:?}", sizes.as_slice()), format!("{:?}", values.sizes()))
    })?;
    if accumulate {
        reduce(&out, &plan.offsets(), &spread, Reduction::Sum, Start::Included)?;
    } else if let Some(row) = plan.row().filter(|_| plan.before.rank() == 0) {
        put_rows(&out, &plan, row, &spread)?;
    } else {
        overwrite(&out, &plan.offsets(), &spread)?;
    }
    Ok(out.into())
}

/// Leading dimensions of size 1 beyond the result's rank are dropped, as PyTorch's `expand` of values allows.
fn trimmed(t: &Tensor, rank: usize) -> Tensor {
    let mut out = t.clone();
    while out.rank() > rank && out.sizes().first() == Some(&1) {
        out.meta.sizes.remove(0);
        out.meta.strides.remove(0);
    }
    out
}

fn put_rows(out: &Tensor, plan: &Plan, row: usize, values: &Tensor) -> Result<(), CallFault> {
    with_width!(out.dtype().bytes(), U => {
        let values = values.raw::<U>()?;
        let size = std::mem::size_of::<U>();
        let mut content = out.storage.write()?;
        let bytes = content.bytes_mut();
        for (at, from) in plan.at.iter().zip(values.chunks(row)) {
            let start = at.saturating_mul(size);
            let from: &[u8] = bytemuck::cast_slice(from);
            if let Some(place) = bytes.get_mut(start..start.saturating_add(from.len())) {
                place.copy_from_slice(from);
            }
        }
        Ok(())
    })
}

/// Returns the index list with every index brought into its dimension.
fn clamped(cx: &mut Cx<'_, '_, '_>, i: usize) -> Result<Indices, CallFault> {
    let (mut all, meta) = (indices(cx, i)?, cx.tensor(0)?.meta.clone());
    for (d, slot) in all.iter_mut().enumerate() {
        let Some(index) = slot else { continue };
        let size = i64::try_from(meta.size(d)).unwrap_or(i64::MAX);
        let (least, most) = (size.saturating_neg(), size.saturating_sub(1));
        let values = index.lanes::<i64>()?.iter().map(|v| (*v).max(least).min(most)).collect();
        *slot = Some(cx.make::<i64>(Dtype::I64, index.sizes(), values)?);
    }
    Ok(all)
}

fn negated(cx: &Cx<'_, '_, '_>, mask: &Tensor) -> Result<Value, CallFault> {
    let values = mask.lanes::<i64>()?.iter().map(|v| i64::from(*v == 0)).collect();
    cx.make::<i64>(Dtype::Bool, mask.sizes(), values).map(Value::Tensor)
}

/// What the mask leaves out is `fill`; indices there mean nothing.
fn masked_index(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, mask) = (cx.tensor(0)?, cx.tensor(1)?);
    if t.numel() == 0 {
        let value = scalar_for(cx, 3, t.dtype())?;
        return Ok(filled(cx, &cx.meta()?, value)?.into());
    }
    let args = [Value::Tensor(t.clone()), list(clamped(cx, 2)?)];
    let found = cx.run("aten.index.Tensor", &args)?;
    let args = [found, negated(cx, mask)?, cx.value(3)];
    cx.run("aten.masked_fill.Scalar", &args)
}

fn masked_put(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, mask) = (cx.tensor(0)?, cx.tensor(1)?);
    if t.numel() == 0 {
        return Ok(crate::exec::kernels::view::fresh(cx, 0, t)?.into());
    }
    let args = [cx.value(3), negated(cx, mask)?, Scalar::Int(0).into()];
    let values = cx.run_tensor("aten.masked_fill.Scalar", &args)?;
    let indices = clamped(cx, 2)?;
    put_at(cx, &indices, &values, true)
}
