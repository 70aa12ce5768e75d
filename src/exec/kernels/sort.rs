//! Sorting, and what finds values by their rank: topk, kthvalue, median, mode.
//!
//! NaN counts as larger than everything. Stable sorting keeps equals in order; which of equals the others name is what the algorithms of
//! PyTorch's CPU kernels leave in that place.

use std::cmp::Ordering;

use crate::exec::call::cx::Cx;
use crate::exec::call::memory;
use crate::exec::kernels::Entry;
use crate::exec::kernels::extrema::check_rows;
use crate::exec::kernels::reduce::Made;
use crate::exec::loops::rows;
use crate::exec::loops::rows::with_order;
use crate::exec::numbers::introsort;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::lane::Lane;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (sort, &["aten.sort.default", "aten.sort.stable"]),
    (argsort, &["aten.argsort.default", "aten.argsort.stable"]),
    (msort, &["aten.msort.default"]),
    (topk, &["aten.topk.default"]),
    (kthvalue, &["aten.kthvalue.default"]),
    (|cx| median(cx, Nan::Wins), &["aten.median.default"]),
    (|cx| median(cx, Nan::Ignored), &["aten.nanmedian.default"]),
    (|cx| median_along(cx, Nan::Wins), &["aten.median.dim"]),
    (|cx| median_along(cx, Nan::Ignored), &["aten.nanmedian.dim"]),
    (mode, &["aten.mode.default"]),
    (|cx| quantile(cx, Nan::Wins), &["aten.quantile.default", "aten.quantile.scalar"]),
    (|cx| quantile(cx, Nan::Ignored), &["aten.nanquantile.default", "aten.nanquantile.scalar"]),
];

/// What a median makes of NaNs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nan {
    Wins,
    Ignored,
}

/// A value and its place.
pub(in crate::exec) type Pair<L> = (L, i64);

#[allow(clippy::eq_op)]
#[inline]
pub(in crate::exec) fn is_nan<L: PartialEq>(v: L) -> bool {
    v != v
}

/// Returns whether `a` comes before `b`, NaN last.
#[inline]
pub(in crate::exec) fn less<L: PartialOrd + Copy>(a: L, b: L) -> bool {
    (!is_nan(a) && is_nan(b)) || a < b
}

/// Returns whether `a` comes before `b` in descending order, NaN first.
#[inline]
pub(in crate::exec) fn greater<L: PartialOrd + Copy>(a: L, b: L) -> bool {
    (is_nan(a) && !is_nan(b)) || a > b
}

pub(in crate::exec) fn order<L: PartialOrd + Copy>(a: L, b: L) -> Ordering {
    if less(a, b) {
        Ordering::Less
    } else if less(b, a) {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// Returns the values of a row with their places.
pub(in crate::exec) fn pairs<L: Copy>(row: &[L]) -> Vec<Pair<L>> {
    row.iter().copied().zip(0_i64..).collect()
}

fn param(cx: &Cx<'_, '_, '_>, name: &str) -> usize {
    cx.operator.schema.param_index(name).unwrap_or(usize::MAX)
}

/// Asks for the memory that sorting rows of `len` elements takes: values, places, and pairs of both with room to merge them.
pub(in crate::exec) fn ask_to_sort(cx: &Cx<'_, '_, '_>, t: &Tensor, len: usize) -> Result<(), CallFault> {
    const PAIR: usize = 16;
    let rows = t.numel().checked_div(len).unwrap_or(0).min(rayon::current_num_threads());
    let pairs = len.saturating_mul(rows).saturating_mul(PAIR);
    let all = t.numel().saturating_mul(PAIR).saturating_add(pairs).saturating_add(pairs >> 1);
    memory::work(all, cx.session.most_bytes)
}

/// Whether equals keep their order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Equals {
    Keep,
    Mix,
}

fn equals(cx: &Cx<'_, '_, '_>) -> Result<Equals, CallFault> {
    let stable = cx.operator.schema.param_index("stable").map_or(Ok(false), |i| cx.bool(i))?;
    Ok(if stable { Equals::Keep } else { Equals::Mix })
}

/// Returns, row after row along `d`, the places of the sorted values.
fn sorted_places(t: &Tensor, d: usize, descending: bool, equals: Equals) -> Result<Vec<i64>, CallFault> {
    let len = rows::length(t, &[d]);
    with_order!(t.dtype(), L => {
        rows::map::<L, i64>(t, &[d], t.dtype(), len, |row, out| {
            let mut all = pairs(row);
            match (equals, descending) {
                (Equals::Keep, true) => all.sort_by(|a, b| order(b.0, a.0)),
                (Equals::Keep, false) => all.sort_by(|a, b| order(a.0, b.0)),
                (Equals::Mix, true) => introsort::sort(&mut all, &|a: &Pair<L>, b: &Pair<L>| greater(a.0, b.0)),
                (Equals::Mix, false) => introsort::sort(&mut all, &|a: &Pair<L>, b: &Pair<L>| less(a.0, b.0)),
            }
            out.iter_mut().zip(all).for_each(|(o, (_, k))| *o = k);
        })
    })
}

fn sort(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let (d, descending) = (cx.axis(param(cx, "dim"), t.rank())?, cx.bool(param(cx, "descending"))?);
    let len = rows::length(t, &[d]);
    ask_to_sort(cx, t, len)?;
    let places = sorted_places(t, d, descending, equals(cx)?)?;
    with_order!(t.dtype(), L => {
        let values = rows::at_places::<L>(t, d, len, &places)?;
        Ok(vec![rows::emit(cx, 0, d, values)?, rows::emit(cx, 1, d, places)?].into())
    })
}

fn argsort(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let (d, descending) = (cx.axis(param(cx, "dim"), t.rank())?, cx.bool(param(cx, "descending"))?);
    ask_to_sort(cx, t, rows::length(t, &[d]))?;
    let places = sorted_places(t, d, descending, equals(cx)?)?;
    rows::emit(cx, 0, d, places).map(Value::Tensor)
}

fn msort(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    ask_to_sort(cx, t, rows::length(t, &[0]))?;
    let places = sorted_places(t, 0, false, Equals::Mix)?;
    let len = rows::length(t, &[0]);
    with_order!(t.dtype(), L => rows::emit(cx, 0, 0, rows::at_places::<L>(t, 0, len, &places)?)).map(Value::Tensor)
}

/// Puts the `k` first of a row in front: a heap where few of many are wanted, else a partition.
fn select_first<L: Copy>(all: &mut [Pair<L>], k: usize, sorted: bool, before: impl Fn(&Pair<L>, &Pair<L>) -> bool) {
    if k.saturating_mul(64) <= all.len() {
        introsort::partial_sort(all, k, &before);
        return;
    }
    let last = k.saturating_sub(1);
    introsort::nth_element(all, last, &before);
    if sorted && let Some(front) = all.get_mut(..last) {
        introsort::sort(front, &before);
    }
}

fn topk(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let (d, largest, sorted) = (cx.axis(2, t.rank())?, cx.bool(3)?, cx.bool(4)?);
    let len = rows::length(t, &[d]);
    let k = usize::try_from(cx.int(1)?).ok().filter(|k| *k <= len);
    let k = k.ok_or_else(|| cx.bad(1, format!("0 to {len}"), cx.int(1).unwrap_or(0).to_string()))?;
    ask_to_sort(cx, t, len)?;
    with_order!(t.dtype(), L => {
        let places = rows::map::<L, i64>(t, &[d], t.dtype(), k, |row, out| {
            let mut all = pairs(row);
            if largest {
                select_first(&mut all, k, sorted, |a, b| greater(a.0, b.0));
            } else {
                select_first(&mut all, k, sorted, |a, b| less(a.0, b.0));
            }
            out.iter_mut().zip(all).for_each(|(o, (_, place))| *o = place);
        })?;
        let values = rows::at_places::<L>(t, d, k, &places)?;
        Ok(vec![rows::emit(cx, 0, d, values)?, rows::emit(cx, 1, d, places)?].into())
    })
}

/// Hoare's selection with the median of three, as PyTorch writes it out: element `k` ends in its place.
fn quick_select<L: Copy + PartialOrd>(v: &mut [Pair<L>], k: usize) {
    let after =
        |v: &[Pair<L>], a: usize, b: usize| matches!((v.get(a), v.get(b)), (Some(a), Some(b)) if greater(a.0, b.0));
    let (mut low, mut high) = (0_usize, v.len().saturating_sub(1));
    while high > low {
        let next = low.saturating_add(1);
        if high == next {
            if after(v, low, high) {
                v.swap(low, high);
            }
            return;
        }
        v.swap(low.saturating_add(high.saturating_sub(low) >> 1), next);
        if after(v, next, high) {
            v.swap(next, high);
        }
        if after(v, low, high) {
            v.swap(low, high);
        }
        if after(v, next, low) {
            v.swap(next, low);
        }
        let (mut i, mut j) = (next, high);
        loop {
            i = i.saturating_add(1);
            while after(v, low, i) {
                i = i.saturating_add(1);
            }
            j = j.saturating_sub(1);
            while after(v, j, low) {
                j = j.saturating_sub(1);
            }
            if j < i {
                break;
            }
            v.swap(i, j);
        }
        v.swap(low, j);
        if j >= k {
            high = j.saturating_sub(1);
        }
        if j <= k {
            low = i;
        }
    }
}

/// Gives value and place of one element a row, which `pick` finds.
fn picked<L: Lane + PartialOrd>(
    cx: &Cx<'_, '_, '_>,
    t: &Tensor,
    d: usize,
    pick: impl Fn(&[L]) -> Pair<L> + Sync + Send,
) -> Made {
    check_rows(cx, t, &[d])?;
    ask_to_sort(cx, t, rows::length(t, &[d]))?;
    let found = rows::fold::<L, Pair<L>>(t, &[d], t.dtype(), pick)?;
    let (values, places): (Vec<L>, Vec<i64>) = found.into_iter().unzip();
    Ok(vec![cx.emit_at(0, values)?, cx.emit_at(1, places)?].into())
}

fn kthvalue(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let d = cx.axis(2, t.rank())?;
    let len = rows::length(t, &[d]);
    let wanted = cx.int(1)?;
    let k = wanted.checked_sub(1).and_then(|k| usize::try_from(k).ok()).filter(|k| *k < len);
    let k = k.ok_or_else(|| cx.bad(1, format!("1 to {len}"), wanted.to_string()))?;
    with_order!(t.dtype(), L => picked::<L>(cx, t, d, |row| {
        let mut all = pairs(row);
        quick_select(&mut all, k);
        all.get(k).copied().unwrap_or_default()
    }))
}

/// Returns the lower median and its place: that which a stable sort would give it.
fn row_median<L: Lane + PartialOrd>(row: &[L], nan: Nan) -> Pair<L> {
    let nans = row.iter().filter(|v| is_nan(**v)).count();
    if nan == Nan::Wins && nans > 0 {
        return row.iter().copied().zip(0_i64..).find(|(v, _)| is_nan(*v)).unwrap_or_default();
    }
    let mut all = pairs(row);
    let nth = row.len().saturating_sub(nans).saturating_sub(1) >> 1;
    // Of equal ones the first counts as less; NaN only as greater than numbers: of nothing else C++ takes any.
    introsort::nth_element(&mut all, nth, &|a: &Pair<L>, b: &Pair<L>| {
        !is_nan(a.0) && is_nan(b.0) || a.0 < b.0 || a.0 == b.0 && a.1 < b.1
    });
    all.get(nth).copied().unwrap_or_default()
}

fn median(cx: &mut Cx<'_, '_, '_>, nan: Nan) -> Made {
    let t = cx.tensor(0)?;
    if t.numel() == 0 {
        return cx.emit(vec![f64::NAN]);
    }
    let all: Shape = (0..t.rank()).collect();
    ask_to_sort(cx, t, t.numel())?;
    with_order!(t.dtype(), L => cx.emit(rows::fold::<L, L>(t, &all, t.dtype(), |row| row_median(row, nan).0)?))
}

fn median_along(cx: &mut Cx<'_, '_, '_>, nan: Nan) -> Made {
    let t = cx.tensor(0)?;
    let d = cx.axis(1, t.rank())?;
    with_order!(t.dtype(), L => picked::<L>(cx, t, d, |row| row_median(row, nan)))
}

/// Of values that are equally frequent the smallest, with the place that sorting leaves last or first of it.
fn row_mode<L: Lane + PartialOrd>(row: &[L]) -> Pair<L> {
    let mut all = pairs(row);
    introsort::sort(&mut all, &|a: &Pair<L>, b: &Pair<L>| a.0 < b.0);
    let mut best = Pair::<L>::default();
    let (mut most, mut run) = (0_usize, 0_usize);
    for (k, pair) in all.iter().enumerate() {
        run = run.saturating_add(1);
        let ends = all.get(k.saturating_add(1)).is_none_or(|next| next.0 != pair.0);
        if ends && run > most {
            (best, most) = (*pair, run);
        }
        if ends {
            run = 0;
        }
    }
    best
}

fn mode(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let d = cx.axis(1, t.rank())?;
    with_order!(t.dtype(), L => picked::<L>(cx, t, d, row_mode))
}

/// Values at parts of the way through each sorted row. A row with a NaN gives NaN, unless these are ignored; a row of NaNs gives NaN.
fn quantile(cx: &mut Cx<'_, '_, '_>, nan: Nan) -> Made {
    let (t, dtype) = (cx.tensor(0)?, cx.meta()?.dtype);
    let all: Vec<usize> = (0..t.rank()).collect();
    let axes = if cx.is_none(2) { all } else { vec![cx.axis(2, t.rank())?] };
    let parts: Vec<f64> = match cx.operand(1)? {
        crate::exec::tensor::value::Operand::Tensor(q) => q.lanes::<f64>()?.to_vec(),
        crate::exec::tensor::value::Operand::Number(q) => vec![through(dtype, q.to_f64())],
    };
    if let Some(bad) = parts.iter().find(|q| !(0.0..=1.0).contains(*q)) {
        return Err(cx.bad(1, "0 to 1", bad.to_string()));
    }
    let len = rows::length(t, &axes);
    if len == 0 || t.numel() == 0 {
        return Err(cx.bad(0, "elements", "none"));
    }
    ask_to_sort(cx, t, len)?;
    let way = cx.text(4);
    let per_row = rows::fold::<f64, Vec<f64>>(t, &axes, dtype, |row| {
        let mut row = row.to_vec();
        row.sort_by(|a, b| order(*a, *b));
        let numbers = row.iter().position(|v| v.is_nan()).unwrap_or(row.len());
        let counted = if nan == Nan::Ignored { numbers } else { row.len() };
        parts
            .iter()
            .map(|q| {
                if nan == Nan::Wins && numbers < row.len() { f64::NAN } else { at_part(&row, counted, *q, way, dtype) }
            })
            .collect()
    })?;
    let values = (0..parts.len()).flat_map(|k| per_row.iter().map(move |r| r.get(k).copied().unwrap_or(f64::NAN)));
    cx.emit(values.collect())
}

/// Rounds as an operation in that dtype does.
#[allow(clippy::cast_possible_truncation)]
fn through(dtype: crate::graph::Dtype, v: f64) -> f64 {
    if dtype == crate::graph::Dtype::F32 { f64::from(v as f32) } else { v }
}

/// The value at part `q` of the way through the first `count` of a sorted row.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // A place in a row.
fn at_part(row: &[f64], count: usize, q: f64, way: &str, dtype: crate::graph::Dtype) -> f64 {
    let value = |place: f64| row.get(place as usize).copied().unwrap_or(f64::NAN);
    let rank = through(dtype, q * count.saturating_sub(1) as f64);
    let (below, above) = (value(rank.floor()), value(rank.ceil()));
    let weight = match way {
        "lower" => return below,
        "higher" => return above,
        "nearest" => return value(rank.round_ties_even()),
        "midpoint" => 0.5,
        _ => rank - rank.floor(),
    };
    let apart = through(dtype, above - below);
    // As `lerp` has it: from the nearer end.
    if weight < 0.5 {
        through(dtype, below + weight * apart)
    } else {
        through(dtype, above - apart * through(dtype, 1.0 - weight))
    }
}

#[cfg(test)]
mod tests {
    use crate::exec::Value;
    use crate::exec::loops::rows::testing::{call, tensor};
    use crate::graph::Dtype;

    fn thirds() -> Value {
        tensor(Dtype::F32, &[20], &(0..20).map(|k| f64::from(k % 3)).collect::<Vec<_>>()).into()
    }

    #[test]
    fn many_equals_are_left_as_an_unstable_sort_leaves_them() {
        // As PyTorch 2.15 sorts them.
        let found = call("aten.sort.default", &[thirds()]).unwrap();
        let places = [18, 3, 15, 6, 12, 9, 0, 10, 19, 16, 13, 7, 4, 1, 11, 8, 14, 5, 17, 2].map(f64::from);
        assert_eq!(found[1], places);
        let kept = call("aten.argsort.default", &[tensor(Dtype::F32, &[3], &[1.0, 0.0, 0.0]).into()]).unwrap();
        assert_eq!(kept, [[1.0, 2.0, 0.0]]);
    }

    #[test]
    fn ranks_name_the_place_that_pytorch_names() {
        let place = |target: &str, more: &[Value]| {
            let args: Vec<Value> = [thirds()].into_iter().chain(more.iter().cloned()).collect();
            call(target, &args).unwrap()[1][0]
        };
        assert_eq!(place("aten.topk.default", &[Value::Int(4)]), 8.0);
        assert_eq!(place("aten.kthvalue.default", &[Value::Int(10)]), 4.0);
        assert_eq!(place("aten.mode.default", &[]), 0.0);
        assert_eq!(place("aten.median.dim", &[Value::Int(0)]), 7.0);
    }

    #[test]
    fn nan_is_sorted_last_and_wins_a_median() {
        let t = Value::from(tensor(Dtype::F32, &[3], &[f64::NAN, 1.0, 0.0]));
        assert_eq!(call("aten.sort.default", std::slice::from_ref(&t)).unwrap()[1], [2.0, 1.0, 0.0]);
        assert_eq!(call("aten.median.dim", &[t.clone(), Value::Int(0)]).unwrap()[1], [0.0]);
        assert_eq!(call("aten.nanmedian.dim", &[t, Value::Int(0)]).unwrap()[0], [0.0]);
    }
}
