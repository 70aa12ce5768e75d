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
        &[
            "aten.reflection_pad1d_backward.default",
            "aten.reflection_pad2d_backward.default",
            "aten.reflection_pad3d_backward.default",
        ],
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
    (Real, convolution, &["aten.convolution_backward.default"]),
    (Real, |b| averaged(b, 2, windowed), &["aten.avg_pool2d_backward.default"]),
    (Real, |b| averaged(b, 2, adapted), &["aten._adaptive_avg_pool2d_backward.default"]),
    (Real, |b| averaged(b, 3, windowed), &["aten.avg_pool3d_backward.default"]),
    (Real, |b| averaged(b, 3, adapted), &["aten._adaptive_avg_pool3d_backward.default"]),
    (Real, |b| largest(b, b.t("indices")?, 3), &["aten.fractional_max_pool3d_backward.default"]),
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

/// What an average makes of unit vectors, in a dimension of `own` elements of which `length` are left.
type Averages<'b> = fn(b: &'b Builder<'_>, k: usize, dims: usize, unit: T<'b>, length: i64) -> Result<T<'b>, CallFault>;

/// An average is linear, one dimension after the other, as resampling is. Of the operand its sizes alone are read.
fn averaged<'b>(b: &'b Builder<'_>, dims: usize, average: Averages<'b>) -> Made {
    let (mut g, x) = (b.t(0)?, b.t(1)?);
    let dtype = g.dtype();
    b.only(dtype.is_float(), "this dtype")?;
    g = g.wide();
    for k in 0..dims {
        let axis = signed(k).saturating_sub(signed(dims));
        let (own, length) = (x.fixed(axis)?, g.fixed(axis)?);
        b.only(own > 0 && length > 0, "an empty dimension")?;
        if let Some(times) = tiles(b, k, dims, own, length)? {
            g = g.call("repeat_interleave.self_int", args![times, axis]);
            let summed = b.operator().schema.param_index("divisor_override").is_some()
                && b.opt_int("divisor_override")?.is_some();
            g = if summed { g } else { g / times };
            continue;
        }
        let unit = b.op("eye.default", args![own; dtype = g.dtype(), device = device_of(g)]).unsqueeze(0);
        let matrix = average(b, k, dims, unit, length)?.squeeze(0);
        g = g.transpose(axis, -1).call("matmul", args![matrix.transpose(0, 1)]).transpose(axis, -1);
    }
    if let (Some(_), Some(divisor)) =
        (b.operator().schema.param_index("divisor_override"), b.opt_int("divisor_override")?)
    {
        g = g / divisor;
    }
    done![g.to(dtype).contiguous()]
}

/// Returns how long windows are that stand one beside the other and leave nothing.
fn tiles(b: &Builder<'_>, k: usize, dims: usize, own: i64, length: i64) -> Result<Option<i64>, CallFault> {
    let times = own.checked_div(length).filter(|times| times.checked_mul(length) == Some(own));
    if b.operator().schema.param_index("kernel_size").is_none() {
        return Ok(times);
    }
    let kernel = b.ints_of("kernel_size", dims)?;
    let stride = if b.ints("stride")?.is_empty() { kernel.clone() } else { b.ints_of("stride", dims)? };
    let padding = b.ints_of("padding", dims)?;
    let is = |list: &[i64], n: Option<i64>| n.is_some() && list.get(k).copied() == n;
    Ok(times.filter(|_| is(&kernel, times) && is(&stride, times) && is(&padding, Some(0))))
}

/// Averages over windows, by the own length of each; sums where a divisor is given for all.
fn windowed<'b>(b: &'b Builder<'_>, k: usize, dims: usize, unit: T<'b>, _: i64) -> Result<T<'b>, CallFault> {
    let kernel = b.ints_of("kernel_size", dims)?;
    let stride = if b.ints("stride")?.is_empty() { kernel.clone() } else { b.ints_of("stride", dims)? };
    let padding = b.ints_of("padding", dims)?;
    let at = |list: &[i64], none: i64| Arg::list([none, list.get(k).copied().unwrap_or(none)]);
    let divisor = b.opt_int("divisor_override")?.map_or(Arg::None, |_| Arg::Int(1));
    let (kernel, stride, padding) = (at(&kernel, 1), at(&stride, 1), at(&padding, 0));
    Ok(unit.call("avg_pool2d", args![kernel, stride, padding, b.arg("ceil_mode"), b.arg("count_include_pad"), divisor]))
}

/// Averages over windows that share the dimension out.
fn adapted<'b>(_: &'b Builder<'_>, _: usize, _: usize, unit: T<'b>, length: i64) -> Result<T<'b>, CallFault> {
    Ok(unit.call("_adaptive_avg_pool2d", args![Arg::list([unit.fixed(1)?, length])]))
}

/// A convolution whose gradients are convolutions.
struct Window {
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    transposed: bool,
    groups: i64,
}

/// By the input a convolution the other way, by the weight one of the input with the gradient, by the bias a sum.
fn convolution(b: &Builder<'_>) -> Made {
    let (g, x, weight) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let spatial = weight.rank().saturating_sub(2);
    b.only(spatial > 0 && x.rank() == weight.rank() && x.dtype().is_float(), "another number of dimensions, or dtype")?;
    let w = Window {
        stride: b.ints_of("stride", spatial)?,
        padding: b.ints_of("padding", spatial)?,
        dilation: b.ints_of("dilation", spatial)?,
        transposed: b.flag("transposed")?,
        groups: b.int("groups")?,
    };
    let mask = b.arg("output_mask");
    let on = |k: usize| mask.items().and_then(|m| m.get(k)).is_none_or(|a| *a == Arg::Bool(true));
    let input = if on(0) { of_input(b, &w, g, x, weight)?.into() } else { Arg::None };
    let kernel = if on(1) { of_weight(b, &w, g, x, weight)?.into() } else { Arg::None };
    let over: Vec<i64> = range(g.rank()).into_iter().filter(|d| *d != 1).collect();
    let bias = if on(2) { g.sum(&over, false).into() } else { Arg::None };
    Ok(vec![input, kernel, bias])
}

fn of_input<'b>(b: &'b Builder<'_>, w: &Window, g: T<'b>, x: T<'b>, weight: T<'b>) -> Result<T<'b>, CallFault> {
    let mut more = vec![0; w.stride.len()];
    if !w.transposed {
        for (d, more) in more.iter_mut().enumerate() {
            let at = |list: &[i64]| list.get(d).copied().unwrap_or(1);
            let (axis, stride) = (signed(d.saturating_add(2)), at(&w.stride));
            // What a step left over; of steps of one nothing is.
            if stride != 1 {
                let reach = x.fixed(axis)?.saturating_add(at(&w.padding).saturating_mul(2)).saturating_sub(1);
                let kernel = weight.fixed(axis)?.saturating_sub(1).saturating_mul(at(&w.dilation));
                *more = reach.saturating_sub(kernel).rem_euclid(stride.max(1));
            }
        }
    }
    let (stride, padding, dilation) = (ints(&w.stride), ints(&w.padding), ints(&w.dilation));
    Ok(b.op(
        "convolution",
        args![g, weight, Arg::None, stride, padding, dilation, !w.transposed, ints(&more), w.groups],
    ))
}

/// Channels become the batch, and the batch channels; a convolution with the gradient, whose steps are the dilation and the other way round.
fn of_weight<'b>(b: &'b Builder<'_>, w: &Window, g: T<'b>, x: T<'b>, weight: T<'b>) -> Result<T<'b>, CallFault> {
    let (of, by) = if w.transposed { (g, x) } else { (x, g) };
    b.only(of.fixed(0)? > 0 && w.groups > 0, "an empty batch")?;
    let turned = if w.groups == 1 {
        of.transpose(0, 1)
    } else {
        let sizes = of.shape();
        let (own, rest) = (of.fixed(1)?.div_euclid(w.groups), tail(&sizes, 2));
        let apart = [vec![of.size(0), Arg::Int(w.groups), Arg::Int(own)], rest.clone()].concat();
        let order: Vec<i64> = [2, 1, 0].into_iter().chain(3..of.dims().saturating_add(1)).collect();
        let inputs = b.size_product(&[of.size(0), Arg::Int(w.groups)]);
        of.reshape(apart).permute(&order).reshape([vec![Arg::Int(own), inputs], rest].concat())
    };
    let none = vec![0; w.stride.len()];
    let (stride, padding, dilation) = (ints(&w.dilation), ints(&w.padding), ints(&w.stride));
    let given = args![turned, by.transpose(0, 1), Arg::None, stride, padding, dilation, false, ints(&none), w.groups];
    let mut made = b.op("convolution", given);
    for d in 2..weight.dims() {
        made = made.slice(d, 0, weight.size(d));
    }
    Ok(made.transpose(0, 1))
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
