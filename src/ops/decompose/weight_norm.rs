//! Weights as directions and lengths: each slice along a dimension has a length of its own.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Real, weight, &["aten._weight_norm_interface.default"]),
    (Real, gradients, &["aten._weight_norm_interface_backward.default"]),
];

/// All dimensions but that one.
fn others(b: &Builder<'_>, x: T<'_>, dim: &str) -> Result<Vec<i64>, CallFault> {
    let own = b.axis(dim, x.rank())?;
    let rest: Vec<i64> = range(x.rank()).into_iter().filter(|d| *d != own).collect();
    b.only(!rest.is_empty() && x.dtype().is_float(), "a vector")?;
    Ok(rest)
}

fn weight(b: &Builder<'_>) -> Made {
    let (v, g) = (b.t(0)?, b.t(1)?);
    let rest = others(b, v, "dim")?;
    let wide = v.wide();
    let length = (wide * wide).sum(&rest, true).op("sqrt");
    b.only(g.sizes() == length.sizes() && g.dtype() == v.dtype(), "lengths of another form")?;
    done![(wide * (g.wide() / length)).to(v.dtype()), length]
}

fn gradients(b: &Builder<'_>) -> Made {
    let (grad, v, g, length) = (b.t(0)?, b.t(1)?, b.t(2)?, b.t(3)?);
    let rest = others(b, v, "dim")?;
    b.only(grad.sizes() == v.sizes() && g.sizes() == length.sizes(), "gradients of another form")?;
    let along = (grad * v).sum(&rest, true);
    let of_v = (g / length) * (grad - v * (along / (length * length)));
    done![of_v, along / length]
}
