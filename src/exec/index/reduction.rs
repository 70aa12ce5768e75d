//! What an accumulation's name means, means among them.

use super::cells::{offsets, update};
use crate::exec::cx::Cx;
use crate::exec::lane::{Lane, with_lane};
use crate::exec::ring::Ring;
use crate::exec::tensor::Tensor;
use crate::ops::Fault;

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
    pub fn named(cx: &Cx<'_, '_, '_>, i: usize) -> Result<Reduction, Fault> {
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
pub fn reduce(t: &Tensor, at: &[usize], values: &Tensor, by: Reduction, start: Start) -> Result<(), Fault> {
    with_lane!(t.dtype(), L => {
        let values = values.lanes::<L>()?;
        reduce_lanes::<L>(t, at, &values, by, start)
    })
}

fn reduce_lanes<L: Ring>(t: &Tensor, at: &[usize], values: &[L], by: Reduction, start: Start) -> Result<(), Fault> {
    if start == Start::Included && by != Reduction::Mean {
        return update(t, at, values, |a: L, b| by.joined(a, b));
    }
    let mut counts: rustc_hash::FxHashMap<usize, i64> = rustc_hash::FxHashMap::default();
    for k in at {
        let count = counts.entry(*k).or_insert(i64::from(start == Start::Included));
        *count = count.saturating_add(1);
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
    if by == Reduction::Mean {
        let order: Vec<usize> = offsets(&t.meta).filter(|k| counts.contains_key(k)).collect();
        let divisors: Vec<L> = order.iter().map(|k| L::from_i64(counts.get(k).copied().unwrap_or(1))).collect();
        update(t, &order, &divisors, |a: L, n| a.over(n))?;
    }
    Ok(())
}

/// Returns a value of the lane, for operators that scale.
pub fn scaled<L: Ring + Lane>(values: &[L], by: L) -> Vec<L> {
    values.iter().map(|v| v.times(by)).collect()
}
