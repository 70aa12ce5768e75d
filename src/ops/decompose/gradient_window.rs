//! Gradients of what reads windows or resamples: each gradient is added where its value was read.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (
        Real,
        |b| padded(b, Edge::Repeats),
        &[
            "aten.replication_pad1d_backward.default",
            "aten.replication_pad2d_backward.default",
            "aten.replication_pad3d_backward.default",
        ],
    ),
    (
        Real,
        |b| padded(b, Edge::Reflects),
        &["aten.reflection_pad1d_backward.default", "aten.reflection_pad3d_backward.default"],
    ),
    (Real, |b| largest(b, b.t(2)?, 2), &["aten.adaptive_max_pool2d_backward.default"]),
    (Real, |b| largest(b, b.t(2)?, 3), &["aten.adaptive_max_pool3d_backward.default"]),
    (Real, |b| largest(b, b.t("indices")?, 2), &["aten.fractional_max_pool2d_backward.default"]),
    (Real, |b| largest(b, b.t("indices")?, 3), &["aten.max_pool3d_with_indices_backward.default"]),
    (Real, |b| resampled(b, "upsample_nearest1d.default", 1), &["aten.upsample_nearest1d_backward.default"]),
    (Real, |b| resampled(b, "upsample_nearest1d.default", 3), &["aten.upsample_nearest3d_backward.default"]),
    (
        Real,
        |b| resampled(b, "_upsample_nearest_exact1d.default", 1),
        &["aten._upsample_nearest_exact1d_backward.default"],
    ),
    (
        Real,
        |b| resampled(b, "_upsample_nearest_exact1d.default", 2),
        &["aten._upsample_nearest_exact2d_backward.default"],
    ),
    (
        Real,
        |b| resampled(b, "_upsample_nearest_exact1d.default", 3),
        &["aten._upsample_nearest_exact3d_backward.default"],
    ),
    (Real, |b| resampled(b, "upsample_linear1d.default", 1), &["aten.upsample_linear1d_backward.default"]),
    (Real, |b| resampled(b, "upsample_linear1d.default", 2), &["aten.upsample_bilinear2d_backward.default"]),
    (Real, |b| resampled(b, "upsample_linear1d.default", 3), &["aten.upsample_trilinear3d_backward.default"]),
    (Real, |b| resampled(b, "upsample_bicubic2d.default", 2), &["aten.upsample_bicubic2d_backward.default"]),
];

#[derive(Clone, Copy)]
enum Edge {
    Repeats,
    Reflects,
}

fn device_of(t: T<'_>) -> Arg {
    t.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()))
}

/// One dimension after the other: element `i` of the padded one was read at `i` less the padding, brought back within.
fn padded(b: &Builder<'_>, edge: Edge) -> Made {
    let (mut g, x, padding) = (b.t(0)?, b.t(1)?, b.ints(2)?);
    for (k, pair) in padding.chunks(2).enumerate() {
        let [before, _] = *pair else { return Err(b.unsupported("padding of one side")) };
        let axis = signed(x.rank()).saturating_sub(signed(k)).saturating_sub(1);
        let (own, last) = (x.fixed(axis)?, x.fixed(axis)?.saturating_sub(1));
        b.only(own > 0, "an empty dimension")?;
        let length = g.size(axis);
        let places = b.op("arange.default", args![length; device = device_of(g)]) - before;
        let places = match edge {
            Edge::Repeats => places.clamp(0, last),
            Edge::Reflects => places.op("abs").minus_from(last).op("abs").minus_from(last),
        };
        let mut sizes = g.shape();
        if let Some(size) = usize::try_from(axis).ok().and_then(|d| sizes.get_mut(d)) {
            *size = Arg::Int(own);
        }
        g = b.full(g, sizes, 0, g.dtype()).call("index_add", args![axis, places, g]);
    }
    done![g]
}

/// The gradient of a largest element goes to its place, counted over the last dimensions.
fn largest<'b>(b: &'b Builder<'_>, places: T<'b>, dims: usize) -> Made {
    let (g, x) = (b.t(0)?, b.t(1)?);
    let lead = x.rank().checked_sub(dims).ok_or_else(|| b.unsupported("fewer dimensions"))?;
    let flat = |t: T<'b>| {
        let sizes = t.shape().into_iter().take(lead).chain([Arg::Int(-1)]).collect::<Vec<_>>();
        t.reshape(sizes)
    };
    let sizes = x.shape();
    let ahead: Vec<Arg> = sizes.iter().take(lead).cloned().collect();
    let area = b.size_product(&tail(&sizes, lead));
    let zeros = b.full(g, [ahead, vec![area]].concat(), 0, g.dtype());
    done![zeros.call("scatter_add", args![-1, flat(places), flat(g)]).reshape(sizes)]
}

/// Resampling is linear, one dimension after the other: what it makes of unit vectors is its matrix, by whose transpose gradients come back.
fn resampled(b: &Builder<'_>, target: &str, dims: usize) -> Made {
    let (mut g, wanted) = (b.t(0)?, b.ints("input_size")?);
    let dtype = g.dtype();
    g = g.wide();
    b.only(g.rank() == dims.saturating_add(2) && wanted.len() == g.rank(), "another number of dimensions")?;
    let corners = match b.operator().schema.param_index("align_corners") {
        Some(place) => vec![Arg::Bool(b.flag(place)?)],
        None => Vec::new(),
    };
    for k in 0..dims {
        let axis = signed(k.saturating_add(2));
        let own = wanted.get(k.saturating_add(2)).copied().unwrap_or(1);
        let length = g.fixed(axis)?;
        b.only(own > 0 && length > 0, "an empty dimension")?;
        let scale = scale_of(b, k, dims);
        let unit = b.op("eye.default", args![own; dtype = g.dtype(), device = device_of(g)]);
        let matrix = if target.contains("2d") {
            let size = Arg::list([own, length]);
            let given = [vec![unit.unsqueeze(0).unsqueeze(0).into(), size], corners.clone(), vec![Arg::None, scale]];
            b.op(target, super::builder::Actual::new(given.concat(), Vec::new())).squeeze(0).squeeze(0)
        } else {
            let given = [vec![unit.unsqueeze(0).into(), Arg::list([length])], corners.clone(), vec![scale]];
            b.op(target, super::builder::Actual::new(given.concat(), Vec::new())).squeeze(0)
        };
        g = g.transpose(axis, -1).call("matmul", args![matrix.transpose(0, 1)]).transpose(axis, -1);
    }
    done![g.to(dtype).contiguous()]
}

/// The scale that was given for a dimension: `scales`, or by its letter.
fn scale_of(b: &Builder<'_>, k: usize, dims: usize) -> Arg {
    let name = match dims.saturating_sub(k) {
        _ if dims == 1 => "scales",
        1 => "scales_w",
        2 => "scales_h",
        _ => "scales_d",
    };
    b.arg(name)
}
