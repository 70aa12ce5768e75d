//! Rows: a tensor read as rows along some of its dimensions, for kernels that turn rows into numbers or into other rows.
//!
//! Promises: rows come in row-major order of the dimensions that are left, and the elements of a row in row-major order of those that it
//! runs along; they are cast to a dtype first, with its rounding; what a row gives does not depend on the number of threads.

use bytemuck::Pod;
use rayon::prelude::*;

use crate::exec::call::cx::Cx;
use crate::exec::dense::DenseError;
use crate::exec::tensor::flat::Flat;
use crate::exec::tensor::lane::{Lane, LaneKind};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::source::Source;
use crate::exec::tensor::value::Operand;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

/// Below this many elements threads cost more than they save.
const ALONE: usize = 1 << 14;

/// Returns the view in which these dimensions stand last; those that a scalar lacks are left out.
pub fn dims_last(t: &Tensor, axes: &[usize]) -> Tensor {
    let rest = (0..t.rank()).filter(|d| !axes.contains(d));
    let order: Shape = rest.chain((0..t.rank()).filter(|d| axes.contains(d))).collect();
    t.permute(&order)
}

/// Returns how many elements lie along these dimensions.
pub fn length(t: &Tensor, axes: &[usize]) -> usize {
    let sizes = t.sizes().iter().enumerate().filter(|(d, _)| axes.contains(d));
    sizes.fold(1_usize, |n, (_, size)| n.saturating_mul(*size))
}

/// Returns the values in row-major order, cast to `dtype` before they become lanes.
pub fn cast<L: Lane>(t: &Tensor, dtype: Dtype) -> Result<Flat<'_, L>, CallFault> {
    let same_lane = LaneKind::of(t.dtype()) == LaneKind::of(dtype);
    let widens = dtype == L::DTYPE && same_lane;
    if t.dtype() == dtype || widens {
        return t.lanes();
    }
    let order: Shape = (0..t.rank()).collect();
    let source = Source::<L>::broadcast(&Operand::Tensor(t), t.sizes(), &order, Some(dtype))?;
    let mut out = vec![L::default(); t.numel()];
    let each = crate::exec::tensor::source::CHUNK;
    out.par_chunks_mut(each).enumerate().for_each(|(k, part)| source.load(k.saturating_mul(each), part));
    Ok(Flat::Own(out))
}

/// Computes one result a row.
pub fn fold<L: Lane, M: Send + Clone>(
    t: &Tensor,
    axes: &[usize],
    dtype: Dtype,
    f: impl Fn(&[L]) -> M + Sync + Send,
) -> Result<Vec<M>, CallFault> {
    match length(t, axes) {
        0 => of_empty_rows(t, axes, f),
        len => Ok(each_row(&cast::<L>(&dims_last(t, axes), dtype)?, len, f)),
    }
}

/// Computes one result a row of elements as they are stored; `U` has the dtype's width.
pub fn fold_raw<U: Pod + Default + Sync, M: Send + Clone>(
    t: &Tensor,
    axes: &[usize],
    f: impl Fn(&[U]) -> M + Sync + Send,
) -> Result<Vec<M>, CallFault> {
    match length(t, axes) {
        0 => of_empty_rows(t, axes, f),
        len => Ok(each_row(&dims_last(t, axes).raw::<U>()?, len, f)),
    }
}

fn of_empty_rows<U, M: Clone>(t: &Tensor, axes: &[usize], f: impl Fn(&[U]) -> M) -> Result<Vec<M>, CallFault> {
    let left = t.sizes().iter().enumerate().filter(|(d, _)| !axes.contains(d));
    let count = shape::count(&left.map(|(_, s)| *s).collect::<Shape>())?;
    Ok(vec![f(&[]); count])
}

fn each_row<U: Sync, M: Send>(values: &[U], len: usize, f: impl Fn(&[U]) -> M + Sync + Send) -> Vec<M> {
    if values.len() <= ALONE || values.len() == len {
        return values.chunks(len).map(f).collect();
    }
    values.par_chunks(len).map(f).collect()
}

/// Computes `len` results a row, written to the second slice; they come back row after row.
pub fn map<L: Lane, M: Lane>(
    t: &Tensor,
    axes: &[usize],
    dtype: Dtype,
    len: usize,
    f: impl Fn(&[L], &mut [M]) + Sync,
) -> Result<Vec<M>, CallFault> {
    let view = dims_last(t, axes);
    let own = length(t, axes);
    let values = cast::<L>(&view, dtype)?;
    let count = values.len().checked_div(own).unwrap_or(0);
    let mut out = vec![M::default(); count.saturating_mul(len)];
    if own == 0 || len == 0 {
        return Ok(out);
    }
    if values.len() <= ALONE {
        out.chunks_mut(len).zip(values.chunks(own)).for_each(|(o, row)| f(row, o));
    } else {
        out.par_chunks_mut(len).zip(values.par_chunks(own)).for_each(|(o, row)| f(row, o));
    }
    Ok(out)
}

/// Makes a tensor of `sizes` from values that come row after row along dimension `d`.
pub fn back<L: Lane>(
    cx: &Cx<'_, '_, '_>,
    dtype: Dtype,
    sizes: &[usize],
    d: usize,
    values: Vec<L>,
) -> Result<Tensor, CallFault> {
    let rank = sizes.len();
    let order: Shape = (0..rank).filter(|k| *k != d).chain((d < rank).then_some(d)).collect();
    let made = cx.make(dtype, &shape::permuted(sizes, &order), values)?;
    let inverse: Shape = (0..rank).map(|k| order.iter().position(|o| *o == k).unwrap_or(k)).collect();
    Ok(made.permute(&inverse))
}

/// Makes result `k`, as the rule lays it out, from values that come row after row along dimension `d`.
pub fn emit<L: Lane>(cx: &Cx<'_, '_, '_>, k: usize, d: usize, values: Vec<L>) -> Result<Tensor, CallFault> {
    let meta: Meta = cx.meta_of(k)?;
    if d.saturating_add(1) >= meta.rank() {
        return cx.emit_at(k, values);
    }
    let made = back(cx, meta.dtype, &meta.sizes, d, values)?;
    cx.laid_out(k, made)
}

/// Runs `$body` with `$L` as the lane of a real dtype; what has no order gives a fault.
macro_rules! with_order {
    ($dtype:expr, $L:ident => $body:expr) => {
        match ($dtype, $crate::exec::tensor::lane::LaneKind::of($dtype)) {
            ($crate::graph::Dtype::U64, _)
            | (_, $crate::exec::tensor::lane::LaneKind::C64 | $crate::exec::tensor::lane::LaneKind::C128) => {
                Err($crate::ops::CallFault::Unsupported { what: format!("the order of {}", $dtype.long()) })
            }
            (_, $crate::exec::tensor::lane::LaneKind::F32) => {
                type $L = f32;
                $body
            }
            (_, $crate::exec::tensor::lane::LaneKind::F64) => {
                type $L = f64;
                $body
            }
            (_, $crate::exec::tensor::lane::LaneKind::I64) => {
                type $L = i64;
                $body
            }
        }
    };
}
pub(in crate::exec) use with_order;

/// Returns the values that stand at these places of the rows along `d`: as many places a row as `len`.
pub fn at_places<L: Lane>(t: &Tensor, d: usize, len: usize, places: &[i64]) -> Result<Vec<L>, CallFault> {
    let view = dims_last(t, &[d]);
    let values = view.lanes::<L>()?;
    let own = length(t, &[d]);
    if own == 0 || len == 0 {
        return Ok(Vec::new());
    }
    let each = values.chunks(own).zip(places.chunks(len));
    let at = |row: &[L], k: &i64| usize::try_from(*k).ok().and_then(|k| row.get(k).copied()).unwrap_or_default();
    Ok(each.flat_map(|(row, places)| places.iter().map(move |k| at(row, k))).collect())
}

/// Says as a fault that sizes do not fit each other.
pub fn refused(error: DenseError) -> CallFault {
    CallFault::mismatch("self", "operands that fit each other", error.to_string())
}

/// What tests of the families along dimensions share.
#[cfg(test)]
pub mod testing {
    use crate::exec::tensor::fill;
    use crate::exec::tensor::{Meta, Tensor};
    use crate::exec::{Kernels, Meter, Session, Value};
    use crate::graph::Dtype;
    use crate::ops::Registry;

    /// Makes a tensor of values in row-major order.
    pub fn tensor(dtype: Dtype, sizes: &[usize], values: &[f64]) -> Tensor {
        fill::from_lanes(&Meta::contiguous(dtype, sizes), values.to_vec(), &Meter::default()).unwrap()
    }

    /// Returns a tensor's values in row-major order.
    pub fn values(t: &Tensor) -> Vec<f64> {
        t.lanes::<f64>().unwrap().to_vec()
    }

    /// Calls an operator; returns the values of each result, or the refusal.
    pub fn call(target: &str, args: &[Value]) -> Result<Vec<Vec<f64>>, String> {
        let (registry, kernels) = (Registry::standard(), Kernels::standard());
        let made = Session::new(&registry, &kernels, 0).call(target, args, &[]).map_err(|e| e.to_string())?;
        Ok(made.items().iter().filter_map(Value::as_tensor).map(values).collect())
    }

    /// Returns integers as an argument.
    pub fn ints(all: &[i64]) -> Value {
        Value::List(all.iter().map(|n| Value::Int(*n)).collect())
    }
}
