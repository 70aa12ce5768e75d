//! What sorts and searches need.

use super::shared::count;
use crate::graph::TensorType;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::require::{Entry, Needed, is_long, is_real};
use crate::ops::typing::sizes;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (count, &["aten.bincount.default"]),
    (search, &["aten.searchsorted.Tensor", "aten.searchsorted.Scalar"]),
    (|c| c.need_rank(1, 1..=1), &["aten.bucketize.Tensor"]),
    (histogram, &["aten.histc.default"]),
    (|c| c.need_int(1, 0..=i64::MAX), &["aten.nonzero_static.default"]),
    (
        |c| c.need_dtype(0, "of reals", is_real),
        &["aten.sort.default", "aten.sort.stable", "aten.argsort.default", "aten.argsort.stable", "aten.msort.default"],
    ),
    (along, &["aten.unique_dim.default", "aten.unique_consecutive.default"]),
];

fn search(c: &Call<'_>) -> Needed {
    let sequence = c.tensor(0)?;
    if sequence.rank() == 0 {
        return Err(c.bad(0, "1 or more dimensions", "a scalar"));
    }
    let place = |name| c.operator.schema.param_index(name).unwrap_or(usize::MAX);
    if c.opt_tensor(place("sorter"))?.is_some() {
        c.need_dtype(place("sorter"), "int64", is_long)?;
        c.need_sizes(place("sorter"), &sequence.sizes)?;
    }
    c.need_word(place("side"), &["left", "right"])?;
    if c.text(place("side")) == "left" && c.bool(place("right"))? {
        return Err(c.bad(place("side"), "one of `side` and `right`", "left, and right=True"));
    }
    let values = match c.operand(1)? {
        Operand::Tensor(t) if t.rank() > 0 => t,
        _ if sequence.rank() != 1 => return Err(c.bad(0, "1 dimension for a scalar", sequence.rank().to_string())),
        _ => return Ok(()),
    };
    let outer = |t: &TensorType| t.sizes.iter().take(t.rank().saturating_sub(1)).copied().collect::<Vec<_>>();
    if sequence.rank() != 1 && !c.can_equal(&outer(sequence), &outer(values)) {
        let expected = format!("sizes like {} but in the last dimension", sizes::show(c.symbols, &sequence.sizes));
        return Err(c.bad(1, expected, sizes::show(c.symbols, &values.sizes)));
    }
    Ok(())
}

fn histogram(c: &Call<'_>) -> Needed {
    c.need_int(1, 1..=i64::MAX)?;
    c.need_dtype(0, "of reals", |d| !d.is_complex())?;
    let dtype = c.tensor(0)?.dtype;
    c.need_number_of(2, dtype)?;
    c.need_number_of(3, dtype)?;
    match (c.float(2), c.float(3)) {
        (Some(low), Some(high)) if low > high => Err(c.bad(3, format!("{low} or more"), high.to_string())),
        _ => Ok(()),
    }
}

fn along(c: &Call<'_>) -> Needed {
    let i = c.operator.schema.param_index("dim").unwrap_or(usize::MAX);
    if c.is_none(i) { Ok(()) } else { c.need_nonscalar_axis(i, c.tensor(0)?).map(|_| ()) }
}
