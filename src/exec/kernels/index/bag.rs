//! Bags of table rows: their sum, mean or largest elements.
//!
//! A bag is what lies between two offsets. Promises: sums are rounded to the dtype once, means twice, as PyTorch's kernels do; rows of
//! the padding index take no part.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::index::cells::rounded;
use crate::exec::kernels::index::embedding::rows;
use crate::exec::numbers::accumulate::Ring;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::lane::{Lane, with_lane};
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[(
    bags,
    &[
        "aten.embedding_bag.default",
        "aten.embedding_bag.padding_idx",
        "aten._embedding_bag.default",
        "aten._embedding_bag_forward_only.default",
    ],
)];

/// What is made of a bag's rows.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Sum,
    Mean,
    Largest,
}

/// Which rows lie in which bag.
struct Bags {
    mode: Mode,
    /// First and last position of each bag in the list of indices.
    ranges: Vec<(usize, usize)>,
    /// Row of each position.
    rows: Vec<usize>,
    padding: Option<usize>,
    joining: Joining,
}

/// How a weighted row is added: PyTorch's fast kernels round once, its plain ones twice.
#[derive(Clone, Copy, PartialEq)]
enum Joining {
    Fused,
    Plain,
}

impl Bags {
    fn of(cx: &Cx<'_, '_, '_>) -> Result<Bags, CallFault> {
        let (table, offsets) = (cx.tensor(0)?, cx.tensor(2)?);
        let mode = match cx.int(4)? {
            0 => Mode::Sum,
            1 => Mode::Mean,
            2 => Mode::Largest,
            other => return Err(cx.bad(4, "0 (sum), 1 (mean) or 2 (max)", other.to_string())),
        };
        let count = table.meta.size(0);
        let rows = rows(cx, 1, count)?;
        let place = cx.operator.schema.param_index("padding_idx");
        let padding = place.map_or(Ok(None), |p| cx.opt_int(p))?;
        // Negative ones count from the end only where the caller may leave them out.
        let wraps = &*cx.operator.schema.overload == "padding_idx";
        let size = i64::try_from(count).unwrap_or(i64::MAX);
        let padding = padding.map(|p| if wraps && p < 0 { p.saturating_add(size) } else { p });
        let padding = padding.and_then(|p| usize::try_from(p).ok());
        let fast = padding.is_none() && matches!(table.dtype(), Dtype::F32 | Dtype::F16 | Dtype::Bf16);
        let joining = if fast { Joining::Fused } else { Joining::Plain };
        Ok(Bags { mode, ranges: ranges(cx, offsets, rows.len())?, rows, padding, joining })
    }

    /// Returns the positions of a bag whose rows count.
    fn inside(&self, (start, end): (usize, usize)) -> impl Iterator<Item = usize> + '_ {
        (start..end).filter(|p| self.rows.get(*p).copied() != self.padding)
    }
}

/// Returns where each bag begins and ends. A last offset that is no bag's begin ends the last one.
fn ranges(cx: &Cx<'_, '_, '_>, offsets: &Tensor, count: usize) -> Result<Vec<(usize, usize)>, CallFault> {
    let mut starts = Vec::new();
    for v in offsets.lanes::<i64>()?.iter() {
        let before = starts.last().copied().unwrap_or(0);
        let start = usize::try_from(*v).ok().filter(|s| *s >= before && *s <= count);
        starts.push(start.ok_or_else(|| cx.bad(2, format!("rising offsets up to {count}"), v.to_string()))?);
    }
    if starts.first().is_some_and(|s| *s != 0) {
        return Err(cx.bad(2, "0 first", starts.first().copied().unwrap_or(0).to_string()));
    }
    if cx.bool(7)? {
        starts.pop().ok_or_else(|| cx.bad(2, "one offset or more", "none"))?;
    }
    let ends = starts.iter().copied().skip(1).chain([count]);
    Ok(starts.iter().copied().zip(ends).collect())
}

fn bags(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (table, bags) = (cx.tensor(0)?, Bags::of(cx)?);
    let weights = cx.opt_tensor(6)?;
    if let Some(w) = weights {
        if bags.mode != Mode::Sum {
            return Err(cx.bad(6, "no weights but for sums", "weights"));
        }
        if w.dtype() != table.dtype() || w.numel() != bags.rows.len() {
            let expected = format!("{} weights of {}", bags.rows.len(), table.dtype().long());
            return Err(cx.bad(6, expected, format!("{} of {}", w.numel(), w.dtype().long())));
        }
    }
    let mut maxima = Vec::new();
    let first = with_lane!(table.dtype(), L => {
        let values = table.lanes::<L>()?;
        let weights = weights.map(Tensor::lanes::<L>).transpose()?;
        cx.emit_at(0, pooled::<L>(&bags, table, &values, weights.as_deref(), &mut maxima))?
    });
    let rest = [1, 2, 3].map(|k| side_result(cx, &bags, k, &maxima));
    let mut all = vec![first];
    for one in rest {
        all.push(one?);
    }
    Ok(all.into())
}

fn pooled<L: Ring>(bags: &Bags, table: &Tensor, values: &[L], weights: Option<&[L]>, maxima: &mut Vec<i64>) -> Vec<L> {
    let width = table.meta.size(1);
    let mut out = Vec::with_capacity(bags.ranges.len().saturating_mul(width));
    for range in &bags.ranges {
        let mut sums = vec![L::default(); width];
        let (mut count, mut best) = (0_i64, vec![0_i64; width]);
        for p in bags.inside(*range) {
            let row = bags.rows.get(p).copied().unwrap_or(0);
            let from = row.saturating_mul(width);
            let from = values.get(from..from.saturating_add(width)).unwrap_or(&[]);
            let weight = weights.map(|w| w.get(p).copied().unwrap_or_default());
            join(bags, count == 0, (&mut sums, &mut best), from, (row, weight));
            count = count.saturating_add(1);
        }
        if bags.joining == Joining::Fused && table.dtype() == Dtype::Bf16 && bags.mode != Mode::Largest {
            sums.iter_mut().for_each(|s| *s = halves_up(*s));
        }
        if bags.mode == Mode::Mean && count > 0 {
            let n = L::from_i64(count);
            sums.iter_mut().for_each(|s| *s = rounded(table.dtype(), *s).over(n));
        }
        if bags.mode == Mode::Largest {
            maxima.append(&mut best);
        }
        out.append(&mut sums);
    }
    out
}

#[allow(clippy::cast_possible_wrap)]
fn join<L: Ring>(
    bags: &Bags,
    first: bool,
    (sums, best): (&mut [L], &mut [i64]),
    from: &[L],
    (row, weight): (usize, Option<L>),
) {
    for ((sum, best), v) in sums.iter_mut().zip(best).zip(from) {
        if bags.mode == Mode::Largest {
            if first || v.to_f64() > sum.to_f64() {
                (*sum, *best) = (*v, row as i64);
            }
        } else {
            *sum = match (weight, bags.joining) {
                (None, _) => sum.plus(*v),
                (Some(w), Joining::Fused) => sum.plus_product(*v, w),
                (Some(w), Joining::Plain) => sum.plus(v.times(w)),
            };
        }
    }
}

/// PyTorch's fast kernels round to bf16 by adding half a unit: ties go away from zero.
fn halves_up<L: Lane>(v: L) -> L {
    let bits = v.to_f32().to_bits();
    if v.to_f32().is_finite() { L::from_f32(f32::from_bits(bits.saturating_add(0x8000) & 0xffff_0000)) } else { v }
}

/// Which bag each index belongs to, how many rows each bag has, and where its maxima are; a result that its rule keeps shorter is so.
#[allow(clippy::cast_possible_wrap)]
fn side_result(cx: &Cx<'_, '_, '_>, bags: &Bags, k: usize, maxima: &[i64]) -> Result<Tensor, CallFault> {
    let meta = cx.meta_of(k)?;
    let mut values: Vec<i64> = match (k, bags.mode) {
        (1, _) => {
            let each = bags.ranges.iter().enumerate();
            each.flat_map(|(bag, (start, end))| std::iter::repeat_n(bag as i64, end.saturating_sub(*start))).collect()
        }
        (3, Mode::Largest) => maxima.to_vec(),
        (_, Mode::Sum) => Vec::new(),
        _ => bags.ranges.iter().map(|r| bags.inside(*r).count() as i64).collect(),
    };
    values.resize(meta.numel(), 0);
    cx.emit_at(k, values)
}
