//! How many elements lie between edges.

use super::prelude::*;

pub(super) const TABLE: &[Line] =
    &[(Real, between_edges, &["aten.histogram.bins_tensor"]), (Real, in_equal_parts, &["aten.histogram.bin_ct"])];

fn between_edges(b: &Builder<'_>) -> Made {
    let edges = b.t("bins")?;
    b.only(edges.rank() == 1, "edges of several dimensions")?;
    counted(b, edges)
}

/// Edges as far apart as one another, from the least to the greatest element where no range is given.
fn in_equal_parts(b: &Builder<'_>) -> Made {
    let (x, parts) = (b.t(0)?, b.int("bins")?);
    b.only(parts > 0 && x.dtype().is_float(), "no parts, or integers")?;
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let count = parts.saturating_add(1);
    #[allow(clippy::cast_precision_loss)] // Bounds.
    let number = |a: &Arg| match a {
        Arg::Float(v) => Some(*v),
        Arg::Int(n) => Some(*n as f64),
        _ => None,
    };
    let given: Option<Vec<f64>> = b.arg("range").items().map(|all| all.iter().filter_map(number).collect());
    if let Some(&[low, high]) = given.as_deref() {
        b.only(low < high, "an empty range")?;
        return counted(b, b.op("linspace", args![low, high, count; dtype = x.dtype(), device = device]));
    }
    b.only(given.is_none() && x.count()? > 0, "no elements")?;
    let (low, high) = (x.op("min.default"), x.op("max.default"));
    let alike = low.call("eq.Tensor", args![high]).to(x.dtype()) * 0.5;
    let (low, high) = (low - alike, high + alike);
    let step = (high - low) / parts;
    let places = b.op("arange.default", args![count; dtype = x.dtype(), device = device]);
    let half = places.call("lt", args![count.div_euclid(2)]);
    counted(b, b.choose(half, places * step + low, high - places.minus_from(parts) * step))
}

/// The last part holds its upper edge, too.
fn counted(b: &Builder<'_>, edges: T<'_>) -> Made {
    let x = b.t(0)?.reshape(vec![Arg::Int(-1)]);
    b.only(x.dtype().is_float() && edges.dtype() == x.dtype(), "integers, or edges of another dtype")?;
    let parts = edges.fixed(0)?.saturating_sub(1);
    b.only(parts > 0, "a single edge")?;
    let (first, last) = (edges.slice(0, 0, 1), edges.slice(0, parts, parts.saturating_add(1)));
    let inside = x.call("ge.Tensor", args![first]).call("logical_and", args![x.call("le.Tensor", args![last])]);
    let place = (b.op("searchsorted.Tensor", args![edges, x; right = true]) - 1).clamp(0, parts.saturating_sub(1));
    let each = match b.opt("weight")? {
        Some(weight) => weight.reshape(vec![Arg::Int(-1)]),
        None => x.op("ones_like"),
    };
    let each = each.fill_where(inside.op("logical_not"), 0);
    let made = b.full(x, vec![Arg::Int(parts)], 0, x.dtype()).call("scatter_add", args![0, place, each]);
    if !b.flag("density")? {
        return done![made, edges.op("clone")];
    }
    let widths = edges.slice(0, 1, parts.saturating_add(1)) - edges.slice(0, 0, parts);
    done![made / made.op("sum.default") / widths, edges.op("clone")]
}
