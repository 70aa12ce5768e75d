//! What an accumulation's name means, means among them.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::index::cells::{offsets, update};
use crate::exec::numbers::accumulate::Ring;
use crate::exec::tensor::lane::{Lane, LaneKind, with_lane};
use crate::exec::tensor::storage::{Meter, Storage};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

/// How values are joined with what is there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
    /// The mean.
    Mean,
}

impl Reduction {
    /// Returns the reduction that argument `i` names.
    pub fn named(cx: &Cx<'_, '_, '_>, i: usize) -> Result<Reduction, CallFault> {
        match cx.text(i) {
            "sum" | "add" => Ok(Reduction::Sum),
            "prod" | "multiply" => Ok(Reduction::Product),
            "amax" => Ok(Reduction::Largest),
            "amin" => Ok(Reduction::Smallest),
            "mean" => Ok(Reduction::Mean),
            other => Err(cx.bad(i, "sum, prod, mean, amax or amin", other)),
        }
    }

    fn joined<L: Ring>(self, a: L, b: L) -> L {
        match self {
            Reduction::Sum | Reduction::Mean => a.plus(b),
            Reduction::Product => a.times(b),
            Reduction::Largest => a.larger(b),
            Reduction::Smallest => a.smaller(b),
        }
    }
}

/// Whether what was there takes part.
#[derive(Clone, Copy, PartialEq)]
pub enum Start {
    /// It does.
    Included,
    /// The first value of each place replaces it.
    Replaced,
}

/// Accumulates values into the elements at these places.
pub fn reduce(t: &Tensor, at: &[usize], values: &Tensor, by: Reduction, start: Start) -> Result<(), CallFault> {
    with_lane!(t.dtype(), L => {
        let values = values.lanes::<L>()?;
        reduce_lanes::<L>(t, at, &values, by, start)
    })
}

/// Accumulates as `reduce`, but in the lane of narrow floats, and rounds once: what `scatter` does. (Means are rounded again when they are
/// divided.)
pub fn reduce_wide(t: &Tensor, at: &[usize], values: &Tensor, by: Reduction, start: Start) -> Result<(), CallFault> {
    if LaneKind::of(t.dtype()) != LaneKind::F32 || t.dtype() == Dtype::F32 {
        return reduce(t, at, values, by, start);
    }
    let mut slots: rustc_hash::FxHashMap<usize, usize> = rustc_hash::FxHashMap::default();
    let (mut order, mut places) = (Vec::new(), Vec::with_capacity(at.len()));
    for k in at {
        let slot = *slots.entry(*k).or_insert_with(|| {
            order.push(*k);
            order.len().saturating_sub(1)
        });
        places.push(slot);
    }
    let sums = std::cell::RefCell::new(Vec::with_capacity(order.len()));
    update(t, &order, &vec![0_f32; order.len()], |old, _| {
        sums.borrow_mut().push(old);
        old
    })?;
    let meter = Meter::default();
    let wide = Tensor::new(Meta::contiguous(Dtype::F32, &[order.len()]), Storage::new(sums.take(), &meter))?;
    let total = if by == Reduction::Mean { Reduction::Sum } else { by };
    let values = values.lanes::<f32>()?;
    reduce_lanes(&wide, &places, &values, total, start)?;
    update(t, &order, &wide.lanes::<f32>()?, |_, new| new)?;
    if by == Reduction::Mean { divide(t, &counted(at, start)) } else { Ok(()) }
}

/// How many values meet at each place.
type Counts = rustc_hash::FxHashMap<usize, i64>;

fn counted(at: &[usize], start: Start) -> Counts {
    let mut counts = Counts::default();
    for k in at {
        let count = counts.entry(*k).or_insert(i64::from(start == Start::Included));
        *count = count.saturating_add(1);
    }
    counts
}

fn divide(t: &Tensor, counts: &Counts) -> Result<(), CallFault> {
    let order: Vec<usize> = offsets(&t.meta).filter(|k| counts.contains_key(k)).collect();
    with_lane!(t.dtype(), L => {
        let divisors: Vec<L> = order.iter().map(|k| L::from_i64(counts.get(k).copied().unwrap_or(1))).collect();
        update(t, &order, &divisors, |a: L, n| a.over(n))
    })
}

fn reduce_lanes<L: Ring>(t: &Tensor, at: &[usize], values: &[L], by: Reduction, start: Start) -> Result<(), CallFault> {
    if start == Start::Included && by != Reduction::Mean {
        return update(t, at, values, |a: L, b| by.joined(a, b));
    }
    if start == Start::Replaced {
        // The last of several firsts would be lost: each place is begun once, with its first value, and joined by the others.
        let mut seen = rustc_hash::FxHashSet::default();
        let (mut first, mut begun) = (Vec::new(), Vec::new());
        let (mut rest, mut others) = (Vec::new(), Vec::new());
        for (k, v) in at.iter().zip(values) {
            let (places, list) = if seen.insert(*k) { (&mut first, &mut begun) } else { (&mut rest, &mut others) };
            places.push(*k);
            list.push(*v);
        }
        update(t, &first, &begun, |_, b: L| b)?;
        update(t, &rest, &others, |a: L, b| by.joined(a, b))?;
    } else {
        update(t, at, values, |a: L, b| by.joined(a, b))?;
    }
    if by == Reduction::Mean { divide(t, &counted(at, start)) } else { Ok(()) }
}

/// Returns the values scaled.
pub fn scaled<L: Ring + Lane>(values: &[L], by: L) -> Vec<L> {
    values.iter().map(|v| v.times(by)).collect()
}
