//! Element by element: the loops under every pointwise kernel.
//!
//! Operands are broadcast to the result's sizes, cast to the common dtype, and visited in the order in which the result lies in memory.

use crate::exec::call::cx::Cx;
use crate::exec::tensor::fill::{self, Order};
use crate::exec::tensor::lane::Lane;
use crate::exec::tensor::source::{Buffer, Source, number};
use crate::exec::tensor::value::Operand;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

/// Computes `out = f(a)`.
pub fn map1<L: Lane, M: Lane>(
    cx: &Cx<'_, '_, '_>,
    out: &Meta,
    a: Operand<'_>,
    common: Dtype,
    f: impl Fn(L) -> M + Sync,
) -> Result<Tensor, CallFault> {
    let order = Order::of(out);
    let a = Source::<L>::broadcast(&a, &out.sizes, &order.dims, Some(common))?;
    cx.fill(out, &order, &|start, part: &mut [M]| {
        let mut buffer = Buffer::default();
        let a = a.chunk(start, part.len(), &mut buffer);
        part.iter_mut().zip(a).for_each(|(o, a)| *o = f(*a));
    })
}

/// Computes `out = f(a, b)`.
pub fn map2<L: Lane, M: Lane>(
    cx: &Cx<'_, '_, '_>,
    out: &Meta,
    [a, b]: [Operand<'_>; 2],
    common: Dtype,
    f: impl Fn(L, L) -> M + Sync,
) -> Result<Tensor, CallFault> {
    let order = Order::of(out);
    let a = Source::<L>::broadcast(&a, &out.sizes, &order.dims, Some(common))?;
    let b = Source::<L>::broadcast(&b, &out.sizes, &order.dims, Some(common))?;
    cx.fill(out, &order, &|start, part: &mut [M]| {
        let (mut first, mut second) = (Buffer::default(), Buffer::default());
        let a = a.chunk(start, part.len(), &mut first);
        let b = b.chunk(start, part.len(), &mut second);
        part.iter_mut().zip(a).zip(b).for_each(|((o, a), b)| *o = f(*a, *b));
    })
}

/// Computes truth values `f(a)`, which are stored as they are.
pub fn truths1<L: Lane>(
    cx: &Cx<'_, '_, '_>,
    out: &Meta,
    a: Operand<'_>,
    common: Dtype,
    f: impl Fn(L) -> bool + Sync,
) -> Result<Tensor, CallFault> {
    if out.dtype != Dtype::Bool {
        return map1(cx, out, a, common, |a| i64::from(f(a)));
    }
    let order = Order::of(out);
    let a = Source::<L>::broadcast(&a, &out.sizes, &order.dims, Some(common))?;
    fill::filled_raw(out, &order, cx.meter(), &|start, part: &mut [u8]| {
        let mut buffer = Buffer::default();
        let a = a.chunk(start, part.len(), &mut buffer);
        part.iter_mut().zip(a).for_each(|(o, a)| *o = u8::from(f(*a)));
    })
}

/// Computes truth values `f(a, b)`, which are stored as they are.
pub fn truths2<L: Lane>(
    cx: &Cx<'_, '_, '_>,
    out: &Meta,
    [a, b]: [Operand<'_>; 2],
    common: Dtype,
    f: impl Fn(L, L) -> bool + Sync,
) -> Result<Tensor, CallFault> {
    if out.dtype != Dtype::Bool {
        return map2(cx, out, [a, b], common, |a, b| i64::from(f(a, b)));
    }
    if let Operand::Number(n) = b {
        let b: L = number(n, Some(common));
        return truths1(cx, out, a, common, |a| f(a, b));
    }
    let order = Order::of(out);
    let a = Source::<L>::broadcast(&a, &out.sizes, &order.dims, Some(common))?;
    let b = Source::<L>::broadcast(&b, &out.sizes, &order.dims, Some(common))?;
    fill::filled_raw(out, &order, cx.meter(), &|start, part: &mut [u8]| {
        let (mut first, mut second) = (Buffer::default(), Buffer::default());
        let a = a.chunk(start, part.len(), &mut first);
        let b = b.chunk(start, part.len(), &mut second);
        part.iter_mut().zip(a).zip(b).for_each(|((o, a), b)| *o = u8::from(f(*a, *b)));
    })
}

/// Computes `out = f(a, b, c)`.
pub fn map3<L: Lane, M: Lane>(
    cx: &Cx<'_, '_, '_>,
    out: &Meta,
    [a, b, c]: [Operand<'_>; 3],
    common: Dtype,
    f: impl Fn(L, L, L) -> M + Sync,
) -> Result<Tensor, CallFault> {
    let order = Order::of(out);
    let a = Source::<L>::broadcast(&a, &out.sizes, &order.dims, Some(common))?;
    let b = Source::<L>::broadcast(&b, &out.sizes, &order.dims, Some(common))?;
    let c = Source::<L>::broadcast(&c, &out.sizes, &order.dims, Some(common))?;
    cx.fill(out, &order, &|start, part: &mut [M]| {
        let (mut first, mut second, mut third) = (Buffer::default(), Buffer::default(), Buffer::default());
        let a = a.chunk(start, part.len(), &mut first);
        let b = b.chunk(start, part.len(), &mut second);
        let c = c.chunk(start, part.len(), &mut third);
        part.iter_mut().zip(a).zip(b).zip(c).for_each(|(((o, a), b), c)| *o = f(*a, *b, *c));
    })
}

/// Computes `out = f(elements)` for any number of operands.
pub fn map_all<L: Lane, M: Lane>(
    cx: &Cx<'_, '_, '_>,
    out: &Meta,
    operands: &[Operand<'_>],
    common: Dtype,
    f: impl Fn(&[L]) -> M + Sync,
) -> Result<Tensor, CallFault> {
    let order = Order::of(out);
    let mut sources: Vec<Source<'_, L>> = Vec::with_capacity(operands.len());
    for operand in operands {
        sources.push(Source::broadcast(operand, &out.sizes, &order.dims, Some(common))?);
    }
    cx.fill(out, &order, &|start, part: &mut [M]| {
        let mut rows: Vec<Vec<L>> = sources.iter().map(|_| vec![L::default(); part.len()]).collect();
        rows.iter_mut().zip(&sources).for_each(|(row, source)| source.load(start, row));
        let mut at = vec![L::default(); rows.len()];
        for (k, o) in part.iter_mut().enumerate() {
            at.iter_mut().zip(&rows).for_each(|(v, row)| *v = row.get(k).copied().unwrap_or_default());
            *o = f(&at);
        }
    })
}
