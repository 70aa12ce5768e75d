//! Scans: running sums, products and extrema along a dimension, and differences of neighbours.
//!
//! Sums and products of `f32` run in `f64`, those of narrower floats in `f32`, as PyTorch's do; each element is rounded.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::reduce::Made;
use crate::exec::loops::pointwise::map2;
use crate::exec::loops::rows;
use crate::exec::loops::rows::with_order;
use crate::exec::tensor::lane::{C128, Lane, LaneKind, with_lane};
use crate::exec::tensor::value::{Operand, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (|cx| running(cx, Step::Sum), &["aten.cumsum.default"]),
    (|cx| running(cx, Step::Product), &["aten.cumprod.default"]),
    (logcumsumexp, &["aten.logcumsumexp.default"]),
    (|cx| extremes(cx, |v, best| v >= best, |v, best| v >= best, |v, best| v >= best), &["aten.cummax.default"]),
    (|cx| extremes(cx, |v, best| v <= best, |v, best| v <= best, |v, best| v <= best), &["aten.cummin.default"]),
    (diff, &["aten.diff.default"]),
];

#[derive(Clone, Copy)]
enum Step {
    Sum,
    Product,
}

fn scan<A: Lane, M: Lane>(row: &[A], out: &mut [M], from: A, step: impl Fn(A, A) -> A, store: impl Fn(A) -> M) {
    let mut now = from;
    for (o, v) in out.iter_mut().zip(row) {
        now = step(now, *v);
        *o = store(now);
    }
}

fn running(cx: &mut Cx<'_, '_, '_>, step: Step) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let d = cx.axis(1, t.rank())?;
    let len = rows::length(t, &[d]);
    macro_rules! scanned {
        ($A:ty, $M:ty, $store:expr, $sum:expr, $product:expr) => {
            rows::emit(
                cx,
                0,
                d,
                rows::map::<$A, $M>(t, &[d], dtype, len, |row, out| match step {
                    Step::Sum => scan(row, out, <$A>::from_i64(0), $sum, $store),
                    Step::Product => scan(row, out, <$A>::from_i64(1), $product, $store),
                })?,
            )
        };
    }
    let made = match (LaneKind::of(dtype), dtype) {
        (LaneKind::F32, Dtype::F32) | (LaneKind::F64, _) => scanned!(f64, f64, |v| v, |a, b| a + b, |a, b| a * b),
        (LaneKind::F32, _) => scanned!(f32, f32, |v| v, |a, b| a + b, |a, b| a * b),
        (LaneKind::I64, _) => scanned!(i64, i64, |v| v, i64::wrapping_add, i64::wrapping_mul),
        (LaneKind::C64 | LaneKind::C128, _) => scanned!(C128, C128, |v| v, |a, b| a + b, |a, b| a * b),
    };
    made.map(Value::Tensor)
}

fn log_add(x: f64, y: f64) -> f64 {
    let (low, high) = if y.is_nan() {
        (y, y)
    } else if x.is_nan() {
        (x, x)
    } else {
        (x.min(y), x.max(y))
    };
    if low != high || low.is_finite() { (low - high).exp().ln_1p() + high } else { x }
}

fn complex_log_add(x: C128, y: C128) -> C128 {
    let no = |v: C128| v.re.is_nan() || v.im.is_nan();
    if no(x) || no(y) {
        return C128::new(f64::NAN, f64::NAN);
    }
    let (low, high) = if x.re < y.re { (x, y) } else { (y, x) };
    if !low.re.is_finite() && low.re == high.re {
        return if low.re < 0.0 { low } else { (low.exp() + high.exp()).ln() };
    }
    ((low - high).exp() + 1.0).ln() + high
}

fn logcumsumexp(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let d = cx.axis(1, t.rank())?;
    let len = rows::length(t, &[d]);
    let made = match LaneKind::of(dtype) {
        LaneKind::I64 => return Err(cx.bad(0, "a floating point or complex dtype", dtype.long())),
        LaneKind::C64 | LaneKind::C128 => rows::emit(
            cx,
            0,
            d,
            rows::map::<C128, C128>(t, &[d], dtype, len, |row, out| {
                scan(row, out, C128::new(f64::NEG_INFINITY, 0.0), |now, v| complex_log_add(v, now), |v| v);
            })?,
        ),
        _ => rows::emit(
            cx,
            0,
            d,
            rows::map::<f64, f64>(t, &[d], dtype, len, |row, out| {
                scan(row, out, f64::NEG_INFINITY, |now, v| log_add(v, now), |v| v);
            })?,
        ),
    };
    made.map(Value::Tensor)
}

/// Returns where the extreme of each beginning stands: the last of equals, and the last NaN.
#[allow(clippy::eq_op)]
fn extreme_places<L: Lane>(row: &[L], takes: impl Fn(L, L) -> bool, out: &mut [i64]) {
    let Some(first) = row.first() else { return };
    let (mut best, mut at) = (*first, 0_i64);
    for ((k, v), o) in (0_i64..).zip(row).zip(out) {
        if v != v || (best == best && takes(*v, best)) {
            (best, at) = (*v, k);
        }
        *o = at;
    }
}

fn extremes(
    cx: &mut Cx<'_, '_, '_>,
    f32s: fn(f32, f32) -> bool,
    f64s: fn(f64, f64) -> bool,
    i64s: fn(i64, i64) -> bool,
) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let d = cx.axis(1, t.rank())?;
    let len = rows::length(t, &[d]);
    let places = match LaneKind::of(dtype) {
        LaneKind::F32 => rows::map::<f32, i64>(t, &[d], dtype, len, |row, out| extreme_places(row, f32s, out))?,
        LaneKind::F64 => rows::map::<f64, i64>(t, &[d], dtype, len, |row, out| extreme_places(row, f64s, out))?,
        LaneKind::I64 => rows::map::<i64, i64>(t, &[d], dtype, len, |row, out| extreme_places(row, i64s, out))?,
        _ => return Err(cx.bad(0, "a real dtype", dtype.long())),
    };
    with_order!(dtype, L => {
        let values = rows::at_places::<L>(t, d, len, &places)?;
        Ok(vec![rows::emit(cx, 0, d, values)?, rows::emit(cx, 1, d, places)?].into())
    })
}

/// Subtracts neighbours, `n` times; booleans are compared.
fn diff(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, times) = (cx.tensor(0)?, cx.int(1)?);
    if t.rank() == 0 {
        return Err(cx.bad(0, "at least one dimension", "a scalar"));
    }
    let d = cx.axis(2, t.rank())?;
    let times = usize::try_from(times).map_err(|_| cx.bad(1, "no negative number", times.to_string()))?;
    if times == 0 {
        // Nothing is joined either.
        let copy = cx.zeros(0)?;
        copy.copy_from(t)?;
        return Ok(Value::Tensor(copy));
    }
    let mut now = t.clone();
    if let Some(joined) = joined(cx, t, d)? {
        now = joined;
    }
    let size = now.meta.size(d);
    if times >= size {
        return Ok(Value::Tensor(cx.zeros(0)?));
    }
    for _ in 0..times {
        let len = now.meta.size(d).saturating_sub(1);
        let (later, sooner) = (now.narrow(d, 1, len)?, now.narrow(d, 0, len)?);
        let meta = Meta::contiguous(now.dtype(), later.sizes());
        let pair = [Operand::Tensor(&later), Operand::Tensor(&sooner)];
        now = match LaneKind::of(now.dtype()) {
            LaneKind::F32 => map2(cx, &meta, pair, meta.dtype, |a: f32, b| a - b),
            LaneKind::F64 => map2(cx, &meta, pair, meta.dtype, |a: f64, b| a - b),
            LaneKind::I64 => map2(cx, &meta, pair, meta.dtype, i64::wrapping_sub),
            LaneKind::C64 | LaneKind::C128 => map2(cx, &meta, pair, meta.dtype, |a: C128, b| a - b),
        }?;
    }
    cx.laid_out(0, now).map(Value::Tensor)
}

/// Returns what stands before, the tensor, and what stands behind, as one; `None` where nothing is joined.
fn joined(cx: &Cx<'_, '_, '_>, t: &Tensor, d: usize) -> Result<Option<Tensor>, CallFault> {
    let (before, behind) = (cx.opt_tensor(3)?, cx.opt_tensor(4)?);
    if before.is_none() && behind.is_none() {
        return Ok(None);
    }
    let parts: Vec<&Tensor> = before.into_iter().chain([t]).chain(behind).collect();
    let mut sizes = t.meta.sizes.clone();
    let total = parts.iter().fold(0_usize, |n, p| n.saturating_add(p.meta.size(d)));
    if let Some(size) = sizes.get_mut(d) {
        *size = total;
    }
    let whole = with_lane!(t.dtype(), L => cx.make(t.dtype(), &sizes, vec![L::default(); crate::exec::tensor::shape::count(&sizes)?]))?;
    let mut at = 0_usize;
    for part in parts {
        let len = part.meta.size(d);
        let place = whole.narrow(d, at, len)?;
        if place.sizes() != part.sizes() {
            return Err(cx.bad(
                3,
                format!("sizes like {:?} beside dimension {d}", t.sizes()),
                format!("{:?}", part.sizes()),
            ));
        }
        place.copy_from(part)?;
        at = at.saturating_add(len);
    }
    Ok(Some(whole))
}

#[cfg(test)]
mod tests {
    use crate::exec::Value;
    use crate::exec::loops::rows::testing::{call, tensor};
    use crate::graph::Dtype;

    #[test]
    fn running_extremes_name_the_last_of_equals_and_the_last_nan() {
        let t = Value::from(tensor(Dtype::F32, &[5], &[1.0, 1.0, f64::NAN, 7.0, f64::NAN]));
        let found = call("aten.cummax.default", &[t, Value::Int(0)]).unwrap();
        assert_eq!(found[1], [0.0, 1.0, 2.0, 2.0, 4.0]);
    }

    #[test]
    fn running_sums_of_narrow_floats_run_in_single_precision() {
        let t = Value::from(tensor(Dtype::Bf16, &[4], &[256.0, 1.0, 1.0, 1.0]));
        assert_eq!(call("aten.cumsum.default", &[t, Value::Int(0)]).unwrap(), [[256.0, 256.0, 258.0, 260.0]]);
    }

    #[test]
    fn what_is_summed_up_along_a_dimension_is_undone_by_differences() {
        let t = tensor(Dtype::I64, &[3, 2], &[1.0, 4.0, 9.0, 16.0, 25.0, 36.0]);
        let args = [t.into(), Value::Int(1), Value::Int(0)];
        assert_eq!(call("aten.diff.default", &args).unwrap(), [[8.0, 12.0, 16.0, 20.0]]);
    }
}
