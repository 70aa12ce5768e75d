//! Extrema: largest and smallest values, and where they stand.
//!
//! A NaN is larger and smaller than everything; of equals the first is taken.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::reduce::{Made, axes};
use crate::exec::loops::pointwise::map2;
use crate::exec::loops::rows;
use crate::exec::loops::rows::with_order;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::lane::Lane;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
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
        #[allow(clippy::neg_cmp_op_on_partial_ord)]
        match self {
            End::Largest => !(v <= best),
            End::Smallest => !(v >= best),
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

/// Returns the extreme of a row: of several parts side by side, then of those.
#[allow(clippy::eq_op)]
fn extreme_value<L: Lane + PartialOrd>(row: &[L], end: End) -> L {
    const SIDE: usize = 16;
    let pick = |best: L, v: L| if best == best && end.takes(v, best) { v } else { best };
    let (whole, rest) = row.as_chunks::<SIDE>();
    let Some((first, others)) = whole.split_first() else { return extreme(row, end).0 };
    let mut best = *first;
    for part in others {
        best.iter_mut().zip(part).for_each(|(b, v)| *b = pick(*b, *v));
    }
    let [one, more @ ..] = best;
    more.iter().chain(rest).fold(one, |b, v| pick(b, *v))
}

/// What has no elements has no extreme.
pub(in crate::exec) fn check_rows(cx: &Cx<'_, '_, '_>, t: &Tensor, over: &[usize]) -> Result<(), CallFault> {
    if rows::length(t, over) > 0 {
        return Ok(());
    }
    Err(cx.bad(0, "reduced dimensions that are not empty", format!("the sizes {:?}", t.sizes())))
}

fn value(cx: &mut Cx<'_, '_, '_>, end: End) -> Made {
    let t = cx.tensor(0)?;
    let over = axes(cx, t.rank())?;
    check_rows(cx, t, &over)?;
    with_order!(t.dtype(), L => cx.emit(rows::fold::<L, L>(t, &over, t.dtype(), |row| extreme_value(row, end))?))
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
        let ends = |row: &[L]| (extreme_value(row, End::Smallest), extreme_value(row, End::Largest));
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

#[cfg(test)]
mod tests {
    use crate::exec::Value;
    use crate::exec::loops::rows::testing::{call, tensor};
    use crate::graph::Dtype;

    #[test]
    fn the_first_of_equals_is_named_and_a_nan_wins() {
        let nan = f64::NAN;
        let row = |v: &[f64]| Value::from(tensor(Dtype::F32, &[v.len()], v));
        assert_eq!(call("aten.argmax.default", &[row(&[1.0, 3.0, 3.0])]).unwrap(), [[1.0]]);
        assert_eq!(call("aten.argmin.default", &[row(&[1.0, nan, 0.0, nan])]).unwrap(), [[1.0]]);
        assert!(call("aten.amax.default", &[row(&[&[nan][..], &[1.0; 40]].concat())]).unwrap()[0][0].is_nan());
        assert_eq!(call("aten.amin.default", &[row(&[3.0, -1.0, 2.0])]).unwrap(), [[-1.0]]);
    }

    #[test]
    fn nothing_has_no_extreme() {
        let none = Value::from(tensor(Dtype::F32, &[2, 0], &[]));
        assert!(call("aten.amax.default", &[none.clone(), Value::List(vec![Value::Int(1)])]).is_err());
        assert_eq!(call("aten.amax.default", &[none, Value::List(vec![Value::Int(0)])]).unwrap(), [[0.0; 0]]);
    }
}
