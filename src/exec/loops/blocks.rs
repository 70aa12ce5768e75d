//! Functions of complex numbers that PyTorch rounds otherwise in whole vectors than at the end of a row.
//!
//! Elements that lie one behind another are taken by two vectors of 64 bytes at a time; what is left, and what does not lie so, goes
//! one by one. A kernel gives both forms; they differ in their last digits only.

use crate::exec::call::cx::Cx;
use crate::exec::tensor::fill::Order;
use crate::exec::tensor::lane::Lane;
use crate::exec::tensor::source::{Buffer, Source};
use crate::exec::tensor::{Meta, Tensor};
use crate::ops::CallFault;

/// How many bytes PyTorch's loops take at a time: two vectors of the widest unit.
const BLOCK_BYTES: usize = 128;

/// Computes a function of the first operand, which has the result's dtype.
pub fn in_blocks<L: Lane>(
    cx: &Cx<'_, '_, '_>,
    meta: &Meta,
    in_vectors: impl Fn(L) -> L + Sync,
    alone: impl Fn(L) -> L + Sync,
) -> Result<Tensor, CallFault> {
    let operand = cx.operand(0)?;
    let in_row = cx.tensor(0).is_ok_and(|t| t.meta.is_dense() && t.dtype() == L::DTYPE);
    let block = BLOCK_BYTES.checked_div(size_of::<L>()).unwrap_or(1).max(1);
    let left = meta.numel().checked_rem(block).unwrap_or(0);
    let whole = if in_row { meta.numel().saturating_sub(left) } else { 0 };
    let order = Order::of(meta);
    let source = Source::<L>::broadcast(&operand, &meta.sizes, &order.dims, Some(meta.dtype))?;
    cx.fill(meta, &order, &|start, part: &mut [L]| {
        let mut buffer = Buffer::default();
        let from = source.chunk(start, part.len(), &mut buffer);
        let (vectors, rest) = part.split_at_mut(whole.saturating_sub(start).min(part.len()));
        vectors.iter_mut().zip(from).for_each(|(o, v)| *o = in_vectors(*v));
        rest.iter_mut().zip(from.iter().skip(vectors.len())).for_each(|(o, v)| *o = alone(*v));
    })
}
