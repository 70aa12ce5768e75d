//! Extrema: largest and smallest values, and where they stand.
//!
//! A NaN is larger and smaller than everything; of equals the first is taken.

use super::cx::Cx;
use super::kernels::Entry;
use super::lane::Lane;
use super::map::map2;
use super::reduce::{Made, axes};
use super::rows::{self, with_order};
use super::shape::Shape;
use super::tensor::Tensor;
use super::value::Value;
use crate::ops::Fault;

pub(super) const KERNELS: &[Entry] = &[
    (|cx| value(cx, End::Largest), &["aten.amax.default", "aten.max.default", "prims.amax.default"]),
    (|cx| value(cx, End::Smallest), &["aten.amin.default", "aten.min.default", "prims.amin.default"]),
    (|cx| value_and_place(cx, End::Largest), &["aten.max.dim"]),
    (|cx| value_and_place(cx, End::Smallest), &["aten.min.dim"]),
    (|cx| place(cx, End::Largest), &["aten.argmax.default"]),
    (|cx| place(cx, End::Smallest), &["aten.argmin.default"]),
    (both, &["aten.aminmax.default"]),
    (|cx| of_two(cx, End::Largest), &["aten.max.other"]),
    (|cx| of_two(cx, End::Smallest), &["aten.min.other"]),
];

/// Which end of the order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Largest,
    Smallest,
}

impl End {
    /// Returns whether `v` takes the place of `best`; a NaN does.
    #[inline]
    fn takes<L: PartialOrd>(self, v: L, best: L) -> bool {
        match self {
            End::Largest => !matches!(v.partial_cmp(&best), Some(std::cmp::Ordering::Less | std::cmp::Ordering::Equal)),
            End::Smallest => {
                !matches!(v.partial_cmp(&best), Some(std::cmp::Ordering::Greater | std::cmp::Ordering::Equal))
            }
        }
    }
}

/// Returns the first extreme of a row and its place; the default of an empty one.
#[allow(clippy::eq_op)]
fn extreme<L: Lane + PartialOrd>(row: &[L], end: End) -> (L, i64) {
    let Some((first, rest)) = row.split_first() else { return (L::default(), 0) };
    let (mut best, mut at) = (*first, 0_usize);
    for (k, v) in rest.iter().enumerate() {
        if best != best {
            break;
        }
        if end.takes(*v, best) {
            best = *v;
            at = k.saturating_add(1);
        }
    }
    (best, i64::try_from(at).unwrap_or(i64::MAX))
}

/// What has no elements has no extreme.
pub(super) fn check_rows(cx: &Cx<'_, '_, '_>, t: &Tensor, over: &[usize]) -> Result<(), Fault> {
    if rows::length(t, over) > 0 {
        return Ok(());
    }
    Err(cx.bad(0, "reduced dimensions that are not empty", format!("the sizes {:?}", t.sizes())))
}

fn value(cx: &mut Cx<'_, '_, '_>, end: End) -> Made {
    let t = cx.tensor(0)?;
    let over = axes(cx, t.rank())?;
    check_rows(cx, t, &over)?;
    with_order!(t.dtype(), L => cx.emit(rows::fold::<L, L>(t, &over, t.dtype(), |row| extreme(row, end).0)?))
}

fn value_and_place(cx: &mut Cx<'_, '_, '_>, end: End) -> Made {
    let t = cx.tensor(0)?;
    let over = axes(cx, t.rank())?;
    check_rows(cx, t, &over)?;
    with_order!(t.dtype(), L => {
        let found = rows::fold::<L, (L, i64)>(t, &over, t.dtype(), |row| extreme(row, end))?;
        let (values, places): (Vec<L>, Vec<i64>) = found.into_iter().unzip();
        Ok(vec![cx.emit_at(0, values)?, cx.emit_at(1, places)?].into())
    })
}

fn place(cx: &mut Cx<'_, '_, '_>, end: End) -> Made {
    let t = cx.tensor(0)?;
    let over: Shape = if cx.is_none(1) { (0..t.rank()).collect() } else { axes(cx, t.rank())? };
    check_rows(cx, t, &over)?;
    with_order!(t.dtype(), L => cx.emit(rows::fold::<L, i64>(t, &over, t.dtype(), |row| extreme(row, end).1)?))
}

fn both(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    let over = axes(cx, t.rank())?;
    check_rows(cx, t, &over)?;
    with_order!(t.dtype(), L => {
        let ends = |row: &[L]| (extreme(row, End::Smallest).0, extreme(row, End::Largest).0);
        let (low, high): (Vec<L>, Vec<L>) = rows::fold::<L, (L, L)>(t, &over, t.dtype(), ends)?.into_iter().unzip();
        Ok(vec![cx.emit_at(0, low)?, cx.emit_at(1, high)?].into())
    })
}

fn of_two(cx: &mut Cx<'_, '_, '_>, end: End) -> Made {
    let meta = cx.meta()?;
    let operands = [cx.operand(0)?, cx.operand(1)?];
    #[allow(clippy::eq_op)]
    let out = with_order!(meta.dtype, L => {
        map2(cx, &meta, operands, meta.dtype, |a: L, b: L| if a == a && end.takes(b, a) { b } else { a })
    })?;
    Ok(Value::Tensor(out))
}
