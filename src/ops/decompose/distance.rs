//! Gradients of distances between rows.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[(Real, of_pairs, &["aten._cdist_backward.default"])];

/// Each row of the first operand against all of the second: by the norm's derivative, 0 where rows are one.
fn of_pairs(b: &Builder<'_>) -> Made {
    let (g, x, y, p, distance) = (b.t(0)?, b.t(1)?, b.t(2)?, b.float(3)?, b.t(4)?);
    b.only(x.dtype().is_float() && x.rank() >= 2 && x.rank() == y.rank(), "this form of rows")?;
    let apart = x.unsqueeze(-2) - y.unsqueeze(-3);
    let zero = distance.call("eq", args![0]);
    let slope = |t: T<'_>| t.unsqueeze(-1).id();
    let made = if p == 0.0 {
        apart * 0.0
    } else if p == 1.0 {
        apart.op("sign") * b.value(slope(g))
    } else if p == 2.0 {
        apart * b.value(slope((g / distance).fill_where(zero, 0)))
    } else if p == f64::INFINITY {
        let most = apart.op("abs").call("eq.Tensor", args![b.value(slope(distance))]);
        (apart.op("sign") * b.value(slope(g))).fill_where(most.op("logical_not"), 0)
    } else {
        let power = apart.op("sign") * apart.op("abs").pow(p - 1.0);
        let power = if p < 1.0 { power.fill_where(apart.call("eq", args![0]), 0) } else { power };
        power * b.value(slope((g / distance.pow(p - 1.0)).fill_where(zero, 0)))
    };
    done![made.sum(&[-2], false)]
}
