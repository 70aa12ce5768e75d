//! What assertions on symbols need.

use super::shared::tolerances;
use crate::graph::Arg;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (tolerances, &["aten.allclose.default"]),
    (metadata, &["aten._assert_tensor_metadata.default"]),
    (truth, &["aten._assert_async.default", "aten._assert_async.msg", "aten._functional_assert_async.msg"]),
    (known_true, &["aten._assert_scalar.default", "aten._functional_assert_scalar.default"]),
    (within_range, &["aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default"]),
    (|c| c.need_int(2, 3..=i64::MAX), &["aten.sym_constrain_range_for_size.default"]),
];

/// A graph may hold what fails when it runs; where it is known to fail, the call is at fault.
fn metadata(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    if let Some(wanted) = c.opt_dims(1)? {
        c.need_sizes(0, &wanted)?;
    }
    if let (Some(wanted), Some(own)) = (c.opt_dims(2)?, &t.strides)
        && !c.can_equal(own, &wanted)
    {
        let expected = format!("strides {}", sizes::show(c.symbols, &wanted));
        return Err(c.bad(0, expected, sizes::show(c.symbols, own)));
    }
    match c.dtype(3)? {
        Some(d) if d != t.dtype => Err(c.bad(0, format!("dtype {}", d.long()), t.dtype.long())),
        _ => Ok(()),
    }
}

fn truth(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    match t.sizes.iter().find(|d| sizes::differ(c.symbols, **d, Dim::Fixed(1))) {
        Some(_) => Err(c.bad(0, "a tensor of one element", sizes::show(c.symbols, &t.sizes))),
        None => Ok(()),
    }
}

fn known_true(c: &Call<'_>) -> Needed {
    let fails = match c.arg(0) {
        Arg::Bool(b) => !b,
        Arg::Int(n) => *n == 0,
        Arg::Float(v) => *v == 0.0,
        _ => false,
    };
    if fails { Err(c.bad(0, format!("what holds: {}", c.text(1)), "False")) } else { Ok(()) }
}

fn within_range(c: &Call<'_>) -> Needed {
    if let Arg::Complex(..) = c.arg(0) {
        return Err(c.bad(0, "an integer", "a complex number"));
    }
    let place = |name| c.operator.schema.param_index(name).unwrap_or(usize::MAX);
    let bound = |name| c.opt_dim(place(name)).map(|d| d.and_then(|d| d.fixed()));
    let (low, high) = (bound("min")?.unwrap_or(i64::MIN), bound("max")?.unwrap_or(i64::MAX));
    if low > high {
        return Err(c.bad(place("max"), format!("{low} or more"), high.to_string()));
    }
    match c.arg(0) {
        Arg::Int(_) | Arg::Bool(_) => c.need_int(0, low..=high),
        #[allow(clippy::cast_precision_loss)]
        Arg::Float(v) if v.trunc() < low as f64 || v.trunc() > high as f64 => {
            Err(c.bad(0, format!("{low} to {high}"), v.to_string()))
        }
        _ => Ok(()),
    }
}
