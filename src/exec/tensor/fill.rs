//! Results: tensors made from values that a kernel computes.
//!
//! Promises: a result lies in memory as its type rule says; work is shared out in chunks, the same for every number of threads, so that
//! results do not depend on it.

use bytemuck::Pod;
use rayon::prelude::*;

use crate::exec::tensor::element;
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::lane::Lane;
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::source::CHUNK;
use crate::exec::tensor::storage::{Meter, Storage};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

/// Below this many elements threads cost more than they save.
const ALONE: usize = 16 * CHUNK;

/// Returns values as a storage of `dtype`; what is stored as it is computed is not copied.
pub fn stored<L: Lane>(dtype: Dtype, values: Vec<L>, meter: &Meter) -> Storage {
    if dtype == L::DTYPE {
        return Storage::new(values, meter);
    }
    with_width!(dtype.bytes(), U => {
        let mut out = meter.unset::<U>(values.len());
        chunks(&mut out, |start, part| {
            let from = values.get(start..).unwrap_or(&[]);
            let from = from.get(..part.len()).unwrap_or(from);
            element::write(dtype, from, 1, bytemuck::cast_slice_mut(part));
        });
        Storage::new(out, meter)
    })
}

fn chunks<T: Send>(out: &mut [T], f: impl Fn(usize, &mut [T]) + Sync) {
    if out.len() <= ALONE {
        out.chunks_mut(CHUNK).enumerate().for_each(|(k, part)| f(k.saturating_mul(CHUNK), part));
    } else {
        let part = CHUNK.saturating_mul(8);
        out.par_chunks_mut(part).enumerate().for_each(|(k, whole)| {
            let base = k.saturating_mul(part);
            let each = whole.chunks_mut(CHUNK).enumerate();
            each.for_each(|(j, piece)| f(base.saturating_add(j.saturating_mul(CHUNK)), piece));
        });
    }
}

/// The order in which a result's elements are computed: that in which they lie in memory, if they lie there without gaps.
pub struct Order {
    /// Dimensions, outermost first.
    pub dims: Shape,
    dense: bool,
}

impl Order {
    /// Returns the order for a result.
    pub fn of(meta: &Meta) -> Order {
        if meta.is_contiguous() {
            return Order { dims: (0..meta.rank()).collect(), dense: true };
        }
        let dims = shape::memory_order(&meta.sizes, &meta.strides);
        let (sizes, strides) = (shape::permuted(&meta.sizes, &dims), shape::permuted(&meta.strides, &dims));
        if shape::is_contiguous(&sizes, &strides) {
            Order { dims, dense: true }
        } else {
            Order { dims: (0..meta.rank()).collect(), dense: false }
        }
    }
}

/// Makes a tensor whose elements `f` computes, chunk by chunk: it is given the number of the first one, counted in `order`.
pub fn filled<L: Lane>(
    meta: &Meta,
    order: &Order,
    meter: &Meter,
    f: &(dyn Fn(usize, &mut [L]) + Sync),
) -> Result<Tensor, CallFault> {
    let total = shape::count(&meta.sizes)?;
    if !order.dense {
        let mut values = vec![L::default(); total];
        chunks(&mut values, f);
        let out = empty(meta, meter)?;
        out.write(&values)?;
        return Ok(out);
    }
    let storage = if meta.dtype == L::DTYPE {
        let mut out = meter.unset::<L>(total);
        chunks(&mut out, f);
        Storage::new(out, meter)
    } else {
        with_width!(meta.dtype.bytes(), U => {
            let mut out = meter.unset::<U>(total);
            chunks(&mut out, |start, part: &mut [U]| {
                let mut lanes = [L::default(); CHUNK];
                let Some(lanes) = lanes.get_mut(..part.len()) else { return };
                f(start, lanes);
                element::write(meta.dtype, lanes, 1, bytemuck::cast_slice_mut(part));
            });
            Storage::new(out, meter)
        })
    };
    Tensor::new(Meta { offset: 0, ..meta.clone() }, storage)
}

/// Makes a tensor of stored elements that `f` computes, as [`filled`] does of lanes; `U` has the dtype's width.
pub fn filled_raw<U: Pod + Send + Sync>(
    meta: &Meta,
    order: &Order,
    meter: &Meter,
    f: &(dyn Fn(usize, &mut [U]) + Sync),
) -> Result<Tensor, CallFault> {
    let mut values = meter.unset::<U>(shape::count(&meta.sizes)?);
    chunks(&mut values, f);
    if order.dense {
        return Tensor::new(Meta { offset: 0, ..meta.clone() }, Storage::new(values, meter));
    }
    let out = empty(meta, meter)?;
    out.write_raw(&values)?;
    Ok(out)
}

/// Makes a tensor all of whose elements are to be written: gaps between them are zero, they themselves are whatever was there.
pub fn unset(meta: &Meta, meter: &Meter) -> Result<Tensor, CallFault> {
    if !meta.is_dense() {
        return empty(meta, meter);
    }
    let meta = Meta { offset: 0, ..meta.clone() };
    let storage = with_width!(meta.dtype.bytes(), U => Storage::new(meter.unset::<U>(meta.needed()?), meter));
    Tensor::new(meta, storage)
}

/// Makes a tensor of zeros.
pub fn empty(meta: &Meta, meter: &Meter) -> Result<Tensor, CallFault> {
    let meta = Meta { offset: 0, ..meta.clone() };
    let needed = meta.needed()?;
    let storage = with_width!(meta.dtype.bytes(), U => Storage::new(vec![U::default(); needed], meter));
    Tensor::new(meta, storage)
}

/// Makes a tensor of values in row-major order.
pub fn from_lanes<L: Lane>(meta: &Meta, values: Vec<L>, meter: &Meter) -> Result<Tensor, CallFault> {
    check_count(meta, values.len())?;
    if meta.is_contiguous() {
        return Tensor::new(Meta { offset: 0, ..meta.clone() }, stored(meta.dtype, values, meter));
    }
    let out = empty(meta, meter)?;
    out.write(&values)?;
    Ok(out)
}

/// Makes a tensor of stored elements in row-major order; `U` has the dtype's width.
pub fn from_raw<U: Pod + Send + Sync>(meta: &Meta, values: Vec<U>, meter: &Meter) -> Result<Tensor, CallFault> {
    check_count(meta, values.len())?;
    if meta.is_contiguous() {
        return Tensor::new(Meta { offset: 0, ..meta.clone() }, Storage::new(values, meter));
    }
    let out = empty(meta, meter)?;
    out.write_raw(&values)?;
    Ok(out)
}

/// A kernel that makes another number of elements than its type rule says would be a defect; it is an error, not a wrong tensor.
fn check_count(meta: &Meta, found: usize) -> Result<(), CallFault> {
    if shape::count(&meta.sizes)? == found {
        return Ok(());
    }
    Err(CallFault::mismatch(
        "result",
        format!("{} elements for the sizes {:?}", meta.numel(), meta.sizes),
        found.to_string(),
    ))
}
