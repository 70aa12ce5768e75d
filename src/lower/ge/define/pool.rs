//! Pooling and resampling, of tensors in the order NCHW.

use super::dense::even_pads;
use super::{Call, Made, Table, Undefined, Value, one, undefined};
use crate::graph::{Arg, NodeId, View};

pub(super) const TABLE: Table = &[
    ("Resize", resize),
    ("UpsampleTrilinear3d", trilinear),
    ("GridSampler2D", grid_sampler),
    ("GridSampler3D", grid_sampler),
    ("AvgPoolV2", avg_pool),
    ("AvgPool3D", avg_pool3d),
    ("AdaptiveMaxPool2d", adaptive_max_pool),
    ("AdaptiveAvgPool2d", adaptive_avg_pool),
    ("MaxPoolWithArgmaxV1", max_pool),
    ("MaxPoolGradWithArgmaxV1", max_pool_gradient),
    ("AvgPoolV2Grad", avg_pool_gradient),
    ("AdaptiveAvgPool2dGrad", adaptive_gradient),
    ("ResizeNearestNeighborV2", nearest),
    ("ResizeBilinearV2", bilinear),
];

fn window(c: &Call<'_, '_>, name: &str) -> Result<Vec<i64>, Undefined> {
    let list = c.int_list(name)?;
    let (outer, inner) = list.split_at_checked(2).unwrap_or((&[], &[]));
    c.only(outer == [1, 1] && inner.len() == 2, &format!("`{name}` beyond the spatial dimensions"))?;
    Ok(inner.to_vec())
}

fn in_order(c: &Call<'_, '_>) -> Result<(), Undefined> {
    c.only(c.layout("x") == "NCHW" && c.output_layout(0) == "NCHW", "a tensor in another layout than NCHW")
}

fn avg_pool(c: &mut Call<'_, '_>) -> Made {
    c.only(c.text("padding_mode")? == "CALCULATED", "another way to pad")?;
    c.only(c.text("data_format")? == "NCHW" && !c.flag("global_pooling")?, "another format, or a pool of everything")?;
    in_order(c)?;
    let divisor = c.int("divisor_override")?;
    let args = vec![
        Arg::Node(c.t("x")?),
        Arg::list(window(c, "ksize")?),
        Arg::list(window(c, "strides")?),
        Arg::list(even_pads(c, 2)?),
        Arg::Bool(c.flag("ceil_mode")?),
        Arg::Bool(!c.flag("exclusive")?),
        if divisor == 0 { Arg::None } else { Arg::Int(divisor) },
    ];
    one(c.b.call("aten.avg_pool2d.default", args)?)
}

/// The numbers of the three spatial dimensions.
fn volume(c: &Call<'_, '_>, name: &str) -> Result<Vec<i64>, Undefined> {
    match c.int_list(name)?.as_slice() {
        [1, 1, d, h, w] => Ok(vec![*d, *h, *w]),
        _ => undefined(format!("`{name}` beyond the spatial dimensions")),
    }
}

fn avg_pool3d(c: &mut Call<'_, '_>) -> Made {
    c.only(c.text("data_format")? == "NCDHW", "another format")?;
    c.only(c.layout("x") == "NCDHW" && c.output_layout(0) == "NCDHW", "a tensor in another layout than NCDHW")?;
    let pads = match c.int_list("pads")?.as_slice() {
        [a, b, c, d, e, f] if a == b && c == d && e == f => vec![*a, *c, *e],
        _ => return undefined("uneven pads"),
    };
    let divisor = c.int("divisor_override")?;
    let args = vec![
        Arg::Node(c.t("x")?),
        Arg::list(volume(c, "ksize")?),
        Arg::list(volume(c, "strides")?),
        Arg::list(pads),
        Arg::Bool(c.flag("ceil_mode")?),
        Arg::Bool(c.flag("count_include_pad")?),
        if divisor == 0 { Arg::None } else { Arg::Int(divisor) },
    ];
    one(c.b.call("aten.avg_pool3d.default", args)?)
}

fn adaptive_max_pool(c: &mut Call<'_, '_>) -> Made {
    in_order(c)?;
    let (given, sizes) = (c.t("x")?, c.int_list("output_size")?);
    // One image of three dimensions is a batch of one.
    let image = match c.b.graph.args(given) {
        [Arg::Node(image), Arg::Int(0)] if c.b.graph.target(given) == "aten.unsqueeze.default" => Some(*image),
        _ => None,
    };
    let x = image.unwrap_or(given);
    let made = c.b.call("aten.adaptive_max_pool2d.default", vec![Arg::Node(x), Arg::list(sizes)])?;
    let (mut values, mut places) = (c.b.item(made, 0)?, c.b.item(made, 1)?);
    if image.is_some() {
        values = c.b.call("aten.unsqueeze.default", vec![Arg::Node(values), Arg::Int(0)])?;
        places = c.b.call("aten.unsqueeze.default", vec![Arg::Node(places), Arg::Int(0)])?;
    }
    let places = c.b.narrow_places(places)?;
    Ok(vec![Some(values.into()), Some(places.into())])
}

fn adaptive_avg_pool(c: &mut Call<'_, '_>) -> Made {
    let (x, sizes) = (c.t("x")?, c.int_list("output_size")?);
    one(c.b.call("aten._adaptive_avg_pool2d.default", vec![Arg::Node(x), Arg::list(sizes)])?)
}

/// The gradient of an average over windows: of what was averaged the sizes are given.
fn avg_pool_gradient(c: &mut Call<'_, '_>) -> Made {
    c.only(c.text("padding_mode")? == "CALCULATED", "another way to pad")?;
    c.only(c.text("data_format")? == "NCHW" && !c.flag("global_pooling")?, "another format, or a pool of everything")?;
    let (grad, divisor) = (c.t("input_grad")?, c.int("divisor_override")?);
    let (sizes, dtype) = (c.sizes("orig_input_shape")?, c.b.dtype(grad)?);
    let lost = c.b.full(sizes, Arg::Float(0.0), dtype)?;
    let args = vec![
        Arg::Node(grad),
        Arg::Node(lost),
        Arg::list(window(c, "ksize")?),
        Arg::list(window(c, "strides")?),
        Arg::list(even_pads(c, 2)?),
        Arg::Bool(c.flag("ceil_mode")?),
        Arg::Bool(!c.flag("exclusive")?),
        if divisor == 0 { Arg::None } else { Arg::Int(divisor) },
    ];
    first(c.b.by_definition("aten.avg_pool2d_backward.default", args)?)
}

fn adaptive_gradient(c: &mut Call<'_, '_>) -> Made {
    let (grad, sizes) = (c.t("input_grad")?, c.int_list("orig_input_shape")?);
    let dtype = c.b.dtype(grad)?;
    let lost = c.b.full(sizes.into_iter().map(Arg::Int).collect(), Arg::Float(0.0), dtype)?;
    let args = vec![Arg::Node(grad), Arg::Node(lost)];
    first(c.b.by_definition("aten._adaptive_avg_pool2d_backward.default", args)?)
}

fn first(results: Vec<Arg>) -> Made {
    match results.first() {
        Some(Arg::Node(made)) => one(*made),
        _ => undefined("a gradient that is not there"),
    }
}

/// What a maximum over windows is of: kernel, steps, padding, dilation. The window stands in the middle of the lists.
fn maximum(c: &Call<'_, '_>) -> Result<[Vec<i64>; 4], Undefined> {
    let middle = |name: &str| -> Result<Vec<i64>, Undefined> {
        match c.int_list(name)?.as_slice() {
            [1, h, w, 1] => Ok(vec![*h, *w]),
            _ => undefined(format!("`{name}` beyond the spatial dimensions")),
        }
    };
    let _ = c.int("dtype")?;
    let dilation = c.int_list("dilation")?;
    c.only(matches!(dilation.as_slice(), [1, _, _, 1]), "a dilation beyond the spatial dimensions")?;
    let dilation = dilation.get(1..3).unwrap_or(&[]).to_vec();
    Ok([middle("ksize")?, middle("strides")?, middle("pads")?, dilation])
}

/// The pool that gives values and places, its defaults left out.
fn pooled(c: &Call<'_, '_>, x: NodeId) -> Result<Vec<Arg>, Undefined> {
    let [kernel, strides, pads, dilation] = maximum(c)?;
    let ceil = c.flag("ceil_mode")?;
    let plain = dilation == [1, 1] && !ceil;
    let mut args = vec![Arg::Node(x), Arg::list(kernel), Arg::list(strides), Arg::list(pads)];
    if !plain {
        args.push(Arg::list(dilation));
    }
    if ceil {
        args.push(Arg::Bool(true));
    }
    Ok(args)
}

/// Where the greatest stood is said in a form of the device's own: only the gradient reads it.
fn max_pool(c: &mut Call<'_, '_>) -> Made {
    in_order(c)?;
    let x = c.t("x")?;
    let args = pooled(c, x)?;
    let both = c.b.call("aten.max_pool2d_with_indices.default", args)?;
    Ok(vec![Some(c.b.item(both, 0)?.into()), Some(Value::Places(both))])
}

/// The gradient of a maximum over windows, by the places of the same pool of the same tensor.
fn max_pool_gradient(c: &mut Call<'_, '_>) -> Made {
    in_order(c)?;
    let (x, grad, places) = (c.t("x")?, c.t("grad")?, c.value("argmax")?);
    let Value::Places(both) = places else { return undefined("places that no pool found") };
    c.only(c.b.graph.args(both) == pooled(c, x)?, "the gradient of another pool than the one that found the places")?;
    let [kernel, strides, pads, dilation] = maximum(c)?;
    let ceil = c.flag("ceil_mode")?;
    let places = c.b.item(both, 1)?;
    c.b.assumed.insert("of equal greatest elements of a window the first is given the gradient".into());
    let args = vec![
        Arg::Node(grad),
        Arg::Node(x),
        Arg::list(kernel),
        Arg::list(strides),
        Arg::list(pads),
        Arg::list(dilation),
        Arg::Bool(ceil),
        Arg::Node(places),
    ];
    one(c.b.call("aten.max_pool2d_with_indices_backward.default", args)?)
}

fn nearest(c: &mut Call<'_, '_>) -> Made {
    c.only(!c.flag("align_corners")? && !c.flag("half_pixel_centers")?, "corners or centres that are aligned")?;
    in_order(c)?;
    let (x, size) = (c.t("x")?, c.sizes("size")?);
    one(c.b.call("aten.upsample_nearest2d.default", vec![Arg::Node(x), Arg::List(size.into())])?)
}

/// By corners that are aligned, or by the centres of pixels, as PyTorch has it.
fn bilinear(c: &mut Call<'_, '_>) -> Made {
    let (aligned, centres) = (c.flag("align_corners")?, c.flag("half_pixel_centers")?);
    c.only(aligned != centres, "neither corners nor centres that are aligned, or both")?;
    in_order(c)?;
    let (x, size) = (c.t("x")?, c.sizes("size")?);
    c.only(c.b.dtype(x)? == c.dtype("dtype")?, "a result of another type")?;
    let args = vec![Arg::Node(x), Arg::List(size.into()), Arg::Bool(aligned)];
    one(c.b.call("aten.upsample_bilinear2d.default", args)?)
}

/// As ONNX has it: by sizes, cubic, each sample's place at its middle or at the corners.
/// To sizes; by scales that are not their ratios samples would lie elsewhere.
fn trilinear(c: &mut Call<'_, '_>) -> Made {
    let (x, to, corners) = (c.t("x")?, c.int_list("output_size")?, c.flag("align_corners")?);
    c.only(c.b.rank(x)? == 5 && to.len() == 3, "other than volumes to three sizes")?;
    c.only(c.b.dtype(x)?.is_float(), "a resize of numbers that are no floats")?;
    let args = vec![Arg::Node(x), Arg::list(to), Arg::Bool(corners)];
    one(c.b.call("aten.upsample_trilinear3d.default", args)?)
}

fn resize(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    c.only(!c.is_fed("roi") && !c.is_fed("scales"), "a resize of a part, or by scales")?;
    c.only(c.text("mode")? == "cubic", "a resize that is not cubic")?;
    let coefficient = c.float("cubic_coeff_a")?;
    #[allow(clippy::float_cmp)] // Three quarters are exact.
    c.only(coefficient == -0.75 && c.int("exclude_outside")? == 0, "another cubic filter")?;
    let corners = match c.text("coordinate_transformation_mode")?.as_str() {
        "half_pixel" => false,
        "align_corners" => true,
        other => return undefined(format!("places by {other}")),
    };
    let (own, sizes) = (c.b.sizes(x)?, c.sizes("sizes")?);
    let [_, _, high, wide] = sizes.as_slice() else { return undefined("an image of other than four dimensions") };
    let is_kept = own.iter().zip(&sizes).take(2).all(|(a, b)| a == b || c.b.same_size(a, b));
    c.only(own.len() == 4 && is_kept, "a resize of images or channels")?;
    let to = Arg::List(vec![high.clone(), wide.clone()].into());
    one(c.b.call("aten.upsample_bicubic2d.default", vec![Arg::Node(x), to, Arg::Bool(corners)])?)
}

fn grid_sampler(c: &mut Call<'_, '_>) -> Made {
    let (x, grid) = (c.t("x")?, c.t("grid")?);
    let deep = c.kind() == "GridSampler3D";
    c.only(!deep || c.text("data_format")? == "NCDHW", "another format")?;
    let mode = match c.text("interpolation_mode")?.as_str() {
        "bilinear" => 0,
        "nearest" => 1,
        "bicubic" if !deep => 2,
        other => return undefined(format!("samples that are {other}")),
    };
    let padding = match c.text("padding_mode")?.as_str() {
        "zeros" => 0,
        "border" => 1,
        "reflection" => 2,
        other => return undefined(format!("padding by {other}")),
    };
    let corners = Arg::Bool(c.flag("align_corners")?);
    let args = vec![Arg::Node(x), Arg::Node(grid), Arg::Int(mode), Arg::Int(padding), corners];
    one(c.b.call(if deep { "aten.grid_sampler_3d.default" } else { "aten.grid_sampler_2d.default" }, args)?)
}
