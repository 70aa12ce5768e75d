//! Reductions: sum, mean, product, logic, counts.
//!
//! Sums of floats are kept in `f64` in several accumulators and rounded once; integers wrap. Products are taken in the order of PyTorch's
//! vector loops, because each of them rounds. Extrema are in `extrema`, spreads and norms in `moments`.

use rayon::prelude::*;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::loops::rows;
use crate::exec::tensor::lane::{C64, C128, Lane, LaneKind, round_f32, with_lane};
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (sum, &["aten.sum.default", "aten.sum.dim_IntList", "prims.sum.default"]),
    (nansum, &["aten.nansum.default"]),
    (mean, &["aten.mean.default", "aten.mean.dim"]),
    (nanmean, &["aten.nanmean.default"]),
    (prod, &["aten.prod.default", "aten.prod.dim_int", "prims.prod.default"]),
    (trace, &["aten.trace.default"]),
    (|cx| logic(cx, Quantity::One), &["aten.any.default", "aten.any.dim", "aten.any.dims"]),
    (|cx| logic(cx, Quantity::All), &["aten.all.default", "aten.all.dim", "aten.all.dims"]),
    (count_nonzero, &["aten.count_nonzero.default", "aten.count_nonzero.dim_IntList"]),
];

pub(in crate::exec) type Made = Result<Value, CallFault>;

/// Returns the reduced dimensions: of parameter `dim` or `dims`; all where it is absent, `None` or empty.
pub(in crate::exec) fn axes(cx: &Cx<'_, '_, '_>, rank: usize) -> Result<Shape, CallFault> {
    let schema = &cx.operator.schema;
    let found = match schema.param_index("dim").or_else(|| schema.param_index("dims")) {
        None => None,
        Some(i) => cx.axes(i, rank)?.filter(|d| !d.is_empty()),
    };
    Ok(found.map_or_else(|| (0..rank).collect(), |d| d.into_iter().collect()))
}

/// A lane that is added up in a wider one.
pub(in crate::exec) trait Sum: Lane {
    /// The wider one.
    type Wide: Copy + Send + Sync + Default + std::iter::Sum;
    /// Widens.
    fn wide(self) -> Self::Wide;
    /// Adds.
    fn plus(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// Rounds.
    fn narrow(v: Self::Wide) -> Self;
    /// Divides by a count.
    fn over(self, n: f64) -> Self;
    /// Multiplies.
    fn times(self, other: Self) -> Self;
}

macro_rules! float_sum {
    ($t:ty, $wide:ty, $wide_of:expr, $narrow:expr, $over:expr) => {
        #[allow(clippy::cast_possible_truncation)]
        impl Sum for $t {
            type Wide = $wide;
            #[inline]
            fn wide(self) -> $wide {
                $wide_of(self)
            }
            #[inline]
            fn plus(a: $wide, b: $wide) -> $wide {
                a + b
            }
            #[inline]
            fn narrow(v: $wide) -> $t {
                $narrow(v)
            }
            fn over(self, n: f64) -> $t {
                $over(self, n)
            }
            #[inline]
            fn times(self, other: $t) -> $t {
                self * other
            }
        }
    };
}

float_sum!(f32, f64, f64::from, |v: f64| v as f32, |v: f32, n: f64| v / n as f32);
float_sum!(f64, f64, |v| v, |v| v, |v: f64, n: f64| v / n);
float_sum!(C64, C128, Lane::to_complex, |v: C128| C64::from_complex(v), |v: C64, n: f64| v / n as f32);
float_sum!(C128, C128, |v| v, |v| v, |v: C128, n: f64| v / n);

/// Integers that wrap when they are added up.
#[derive(Clone, Copy, Default)]
pub(in crate::exec) struct Wrapping(i64);

impl std::iter::Sum for Wrapping {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Wrapping(0), |a, b| Wrapping(a.0.wrapping_add(b.0)))
    }
}

impl Sum for i64 {
    type Wide = Wrapping;
    fn wide(self) -> Wrapping {
        Wrapping(self)
    }
    fn plus(a: Wrapping, b: Wrapping) -> Wrapping {
        Wrapping(a.0.wrapping_add(b.0))
    }
    fn narrow(v: Wrapping) -> i64 {
        v.0
    }
    fn over(self, _: f64) -> i64 {
        self
    }
    fn times(self, other: i64) -> i64 {
        self.wrapping_mul(other)
    }
}

/// Rows longer than this are added up in parts, side by side.
const PART: usize = 1 << 16;

/// Returns the wide sum of what `f` makes of each element.
pub(in crate::exec) fn total_of<L: Lane, S: Sum>(row: &[L], f: impl Fn(L) -> S + Sync + Copy) -> S::Wide {
    if row.len() > PART {
        let parts: Vec<S::Wide> = row.par_chunks(PART).map(|part| block_sum(part, f)).collect();
        return parts.into_iter().sum();
    }
    block_sum(row, f)
}

/// Eight sums side by side a block, blocks one behind another: errors grow with the number of blocks, not of elements.
fn block_sum<L: Lane, S: Sum>(row: &[L], f: impl Fn(L) -> S) -> S::Wide {
    let mut whole = S::Wide::default();
    for block in row.chunks(1024) {
        let mut sums = [S::Wide::default(); 8];
        let (eights, rest) = block.as_chunks::<8>();
        for eight in eights {
            sums.iter_mut().zip(eight).for_each(|(s, v)| *s = S::plus(*s, f(*v).wide()));
        }
        sums.iter_mut().zip(rest).for_each(|(s, v)| *s = S::plus(*s, f(*v).wide()));
        whole = S::plus(whole, sums.into_iter().sum());
    }
    whole
}

/// Rows of `f32` up to this length are added up in PyTorch's order: what follows them bit by bit (a norm before a quantisation) shows it.
const SHORT: usize = 512;

/// Returns the sum of a row: a short one of `f32` in PyTorch's order, any other rounded once.
pub(in crate::exec) fn total<L: Sum>(row: &[L]) -> L {
    if L::DTYPE == Dtype::F32 && row.len() <= SHORT {
        return L::from_f32(short_total(bytemuck::cast_slice(row)));
    }
    L::narrow(total_of(row, |v| v))
}

/// Four sums side by side of vectors of eight; behind them what fills no vector, before the eight lanes. Measured against PyTorch 2.15.
fn short_total(row: &[f32]) -> f32 {
    let (eights, rest) = row.as_chunks::<8>();
    if eights.is_empty() {
        let scalars: Vec<[f32; 1]> = rest.iter().map(|v| [*v]).collect();
        let [sum] = four_sums(&scalars);
        return sum;
    }
    let start: f32 = rest.iter().fold(0.0, |sum, v| sum + v);
    four_sums(eights).iter().fold(start, |sum, v| sum + v)
}

fn four_sums<const N: usize>(vectors: &[[f32; N]]) -> [f32; N] {
    let plus = |sum: &mut [f32; N], v: &[f32; N]| sum.iter_mut().zip(v).for_each(|(s, v)| *s += v);
    let mut sums = [[0.0; N]; 4];
    let (fours, rest) = vectors.as_chunks::<4>();
    for four in fours {
        sums.iter_mut().zip(four).for_each(|(s, v)| plus(s, v));
    }
    let [first, others @ ..] = &mut sums;
    rest.iter().for_each(|v| plus(first, v));
    others.iter().for_each(|v| plus(first, v));
    *first
}

fn sum(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let over = axes(cx, t.rank())?;
    with_lane!(dtype, L => cx.emit(rows::fold::<L, L>(t, &over, dtype, total)?))
}

fn number_or_zero<L: Lane>(v: L) -> L {
    #[allow(clippy::eq_op)]
    if v == v { v } else { L::default() }
}

fn nansum(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let over = axes(cx, t.rank())?;
    with_lane!(dtype, L => {
        cx.emit(rows::fold::<L, L>(t, &over, dtype, |row| L::narrow(total_of(row, number_or_zero)))?)
    })
}

#[allow(clippy::cast_precision_loss)]
fn count_of(n: usize) -> f64 {
    n as f64
}

/// The sum is rounded to the lane before it is divided, as PyTorch's is.
pub(in crate::exec) fn mean(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let over = axes(cx, t.rank())?;
    with_lane!(dtype, L => {
        cx.emit(rows::fold::<L, L>(t, &over, dtype, |row| Sum::over(total(row), count_of(row.len())))?)
    })
}

/// `nansum` divided by the number of numbers, each rounded to the dtype.
fn nanmean(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let over = axes(cx, t.rank())?;
    #[allow(clippy::eq_op)]
    let numbers = with_lane!(t.dtype(), L => {
        rows::fold::<L, f64>(t, &over, t.dtype(), |row| count_of(row.iter().filter(|v| *v == *v).count()))?
    });
    with_lane!(dtype, L => {
        let sums = rows::fold::<L, L>(t, &over, dtype, |row| L::narrow(total_of(row, number_or_zero)))?;
        let stored = cx.make(dtype, &[sums.len()], sums)?;
        let sums = stored.lanes::<L>()?;
        cx.emit(sums.iter().zip(numbers).map(|(s, n)| s.over(n)).collect::<Vec<L>>())
    })
}

/// How many elements PyTorch's vector loops multiply side by side: four vectors of 64 bytes.
fn side_by_side(dtype: Dtype) -> usize {
    256_usize.checked_div(dtype.bytes()).unwrap_or(1).max(1)
}

/// Multiplies as PyTorch's loops do: side by side if there are enough elements, and the rest one by one; each product rounds.
fn product<L: Sum>(row: &[L], wide: usize, round: impl Fn(L) -> L) -> L {
    let times = |a: L, b: L| round(a.times(b));
    let mut result = L::from_i64(1);
    let whole = row.len().checked_div(wide).unwrap_or(0).saturating_mul(wide);
    let (vectors, rest) = row.split_at(whole.min(row.len()));
    let mut groups = vectors.chunks_exact(wide.max(1));
    if let Some(first) = groups.next() {
        let mut lanes = first.to_vec();
        for group in groups {
            lanes.iter_mut().zip(group).for_each(|(a, b)| *a = times(*a, *b));
        }
        let quarter = wide.checked_div(4).unwrap_or(1).max(1);
        let mut quarters = lanes.chunks(quarter);
        let (a, b) = (quarters.next().unwrap_or(&[]), quarters.next().unwrap_or(&[]));
        let (c, d) = (quarters.next().unwrap_or(&[]), quarters.next().unwrap_or(&[]));
        let joined = a.iter().zip(b).zip(c.iter().zip(d)).map(|((a, b), (c, d))| times(times(*a, *b), times(*c, *d)));
        result = times(result, joined.reduce(times).unwrap_or(result));
    }
    rest.iter().fold(result, |a, b| times(a, *b))
}

fn prod(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let over = axes(cx, t.rank())?;
    let wide = side_by_side(dtype);
    match LaneKind::of(dtype) {
        LaneKind::F32 => {
            let round = |v| round_f32(dtype, v);
            cx.emit(rows::fold::<f32, f32>(t, &over, dtype, |row| product(row, wide, round))?)
        }
        _ => with_lane!(dtype, L => cx.emit(rows::fold::<L, L>(t, &over, dtype, |row| product(row, wide, |v| v))?)),
    }
}

fn trace(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    if t.rank() != 2 {
        return Err(cx.bad(0, "a matrix", format!("{} dimensions", t.rank())));
    }
    let size = t.meta.size(0).min(t.meta.size(1));
    let stride = t.meta.stride(0).saturating_add(t.meta.stride(1));
    let sizes = Shape::from_elem(size, 1);
    let diagonal: Tensor = t.with_meta(Meta { sizes, strides: Shape::from_elem(stride, 1), ..t.meta.clone() })?;
    with_lane!(dtype, L => cx.emit(rows::fold::<L, L>(&diagonal, &[0], dtype, total)?))
}

/// Which of the elements must be true.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantity {
    One,
    All,
}

/// An empty list of `dims` reduces nothing.
fn logic(cx: &mut Cx<'_, '_, '_>, quantity: Quantity) -> Made {
    let t = cx.tensor(0)?;
    let none = cx.operator.schema.params.len() > 1 && cx.arg(1).items().is_some_and(<[_]>::is_empty);
    let over = if none { Shape::new() } else { axes(cx, t.rank())? };
    if t.dtype() == Dtype::Bool {
        // A truth value is one byte: no lane of numbers is made of it.
        let truths = rows::fold_raw::<u8, i64>(t, &over, |row| {
            i64::from(match quantity {
                Quantity::One => row.iter().any(|v| *v != 0),
                Quantity::All => row.iter().all(|v| *v != 0),
            })
        })?;
        return cx.emit(truths);
    }
    let found = with_lane!(t.dtype(), L => rows::fold::<L, i64>(t, &over, t.dtype(), |row| {
        i64::from(match quantity {
            Quantity::One => row.iter().any(|v| v.truth()),
            Quantity::All => row.iter().all(|v| v.truth()),
        })
    })?);
    cx.emit(found)
}

fn count_nonzero(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let over = axes(cx, t.rank())?;
    #[allow(clippy::cast_possible_wrap)]
    let counts = with_lane!(t.dtype(), L => {
        rows::fold::<L, i64>(t, &over, t.dtype(), |row| row.iter().filter(|v| v.truth()).count() as i64)?
    });
    cx.emit(counts)
}

#[cfg(test)]
mod tests {
    use crate::exec::loops::rows::testing::{call, ints, tensor};
    use crate::graph::Dtype;

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn short_sums_have_pytorchs_order() {
        let row = |n: i32| -> Vec<f32> {
            (0..n).map(|i| (f64::from((i * 7919) % 101 - 50) * 0.1 * 10_f64.powi(i % 5)) as f32).collect()
        };
        // What `torch.sum` of PyTorch 2.15 gives.
        let recorded = [(5, 10506.0), (7, 10495.3), (9, 8345.3), (41, 176_367.81), (70, 342_344.28)];
        for (n, sum) in recorded {
            assert_eq!(super::short_total(&row(n)), sum, "{n}");
        }
    }

    #[test]
    fn sums_of_narrow_floats_are_rounded_once() {
        // Step by step 256 + 1 stays 256 in bf16.
        let t = tensor(Dtype::Bf16, &[257], &[vec![256.0], vec![1.0; 256]].concat());
        assert_eq!(call("aten.sum.default", &[t.into()]).unwrap(), [[512.0]]);
    }

    #[test]
    fn products_of_narrow_floats_round_at_every_step() {
        let t = tensor(Dtype::Bf16, &[3], &[1.0078125, 1.0078125, 1.0078125]);
        assert_eq!(call("aten.prod.default", &[t.into()]).unwrap(), [[1.0234375]]);
    }

    #[test]
    fn an_empty_list_reduces_all_but_in_logic_nothing() {
        let t = || tensor(Dtype::F32, &[2, 2], &[0.0, 1.0, 2.0, 3.0]).into();
        assert_eq!(call("aten.sum.dim_IntList", &[t(), ints(&[])]).unwrap(), [[6.0]]);
        assert_eq!(call("aten.any.dims", &[t(), ints(&[])]).unwrap(), [[0.0, 1.0, 1.0, 1.0]]);
        assert_eq!(call("aten.any.dims", &[t(), ints(&[0])]).unwrap(), [[1.0, 1.0]]);
    }

    #[test]
    fn a_middle_dimension_is_reduced_in_place_of_others() {
        let t = tensor(Dtype::I64, &[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(call("aten.sum.dim_IntList", &[t.into(), ints(&[1])]).unwrap(), [[4.0, 6.0, 12.0, 14.0]]);
    }
}
