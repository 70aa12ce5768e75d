//! Pooling, resampling, and their gradients.

use super::args::Args;
use super::cx::{Cx, list};
use super::direct;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::TensorId;

use Rule::{By, Direct};

pub(super) const TABLE: &[Entry] = &[
    ("aten._adaptive_avg_pool2d.default", Direct("self output_size", "AdaptiveAvgPool2d(self; output_size)")),
    ("aten._adaptive_avg_pool2d_backward.default", By(adaptive_backward)),
    ("aten.avg_pool2d.default", By(avg_pool2d)),
    ("aten.avg_pool2d_backward.default", By(avg_pool2d_backward)),
    ("aten.grid_sampler_2d.default", By(|cx| grid_sampler(cx, "GridSampler2D", 2))),
    ("aten.grid_sampler_2d_backward.default", By(grid_sampler_backward)),
    ("aten.grid_sampler_3d.default", By(|cx| grid_sampler(cx, "GridSampler3D", 1))),
    ("aten.max_pool2d_with_indices.default", By(max_pool2d)),
    ("aten.max_pool2d_with_indices_backward.default", By(max_pool2d_backward)),
    ("aten.max_pool3d_with_indices.default", By(max_pool3d)),
    ("aten.upsample_nearest2d.default", By(nearest2d)),
    ("aten.upsample_nearest2d_backward.default", By(nearest2d_backward)),
];

fn adaptive_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_output self")?;
    let sizes = cx.fixed_sizes(args.tensor("self")?)?;
    let sizes = sizes.ok_or_else(|| Refusal("sizes that are not fixed are not supported".into()))?;
    let line = "AdaptiveAvgPool2dGrad(grad_output)";
    direct::make(cx, &args, line, &[("orig_input_shape", Attr::Ints(sizes))])
}

/// Returns one number a dimension: those given, the one given for all, or what stands in for none.
fn each<const N: usize>(args: &Args, name: &str, none: Option<[i64; N]>) -> Result<[i64; N], Refusal> {
    let given = args.ints(name)?.unwrap_or_default();
    let wrong = || Refusal(format!("argument {name} must be one number or {N}"));
    match (given.as_slice(), none) {
        ([], Some(none)) => Ok(none),
        ([one], _) => Ok([*one; N]),
        (all, _) => all.try_into().map_err(|_| wrong()),
    }
}

/// The attributes of an average over windows.
fn average(args: &Args, exclusive: bool) -> Result<[(&'static str, Attr); 6], Refusal> {
    let [kh, kw] = each(args, "kernel_size", None)?;
    let [sh, sw] = each(args, "stride", Some([kh, kw]))?;
    let [ph, pw] = each(args, "padding", Some([0, 0]))?;
    let divisor = args.int("divisor_override")?.unwrap_or(0);
    Ok([
        ("ksize", Attr::Ints(vec![1, 1, kh, kw])),
        ("strides", Attr::Ints(vec![1, 1, sh, sw])),
        ("pads", Attr::Ints(vec![ph, ph, pw, pw])),
        ("ceil_mode", Attr::Bool(args.flag("ceil_mode")?)),
        ("exclusive", Attr::Bool(exclusive)),
        ("divisor_override", Attr::Int(divisor)),
    ])
}

const AVERAGE: &str =
    "self kernel_size stride=[] padding=[0,0] ceil_mode=false count_include_pad=true divisor_override";

const AVERAGE_OF_VOLUMES: &str =
    "self kernel_size stride=[] padding=[0,0,0] ceil_mode=false count_include_pad=true divisor_override";

fn avg_pool2d(cx: &mut Cx) -> Made {
    let args = Args::of(cx, AVERAGE)?;
    let x = args.tensor("self")?;
    let rank = cx.rank(x)?;
    if !matches!(rank, 3 | 4) {
        return Err(Refusal("only three or four dimensions are supported".into()));
    }
    if args.int("divisor_override")?.is_some_and(|d| !(1..=255).contains(&d)) {
        return Err(Refusal("argument divisor_override must be between 1 and 255".into()));
    }
    // For these two types the device only averages over what is inside: where that is not all, half precision is widened.
    let padded = args.ints("padding")?.unwrap_or_default().iter().any(|p| *p != 0) && args.flag("count_include_pad")?;
    let own = cx.dtype(x);
    let is_widened = padded && own == DataType::Float16 && args.int("divisor_override")?.is_none();
    let x = if is_widened { cx.cast(x, DataType::Float)? } else { x };
    let always_inside = !is_widened && matches!(own, DataType::Float16 | DataType::Int8);
    let attrs = average(&args, always_inside || !args.flag("count_include_pad")?)?;
    let x = if rank == 3 { cx.unsqueeze(x, &[0])? } else { x };
    let made = cx.op("AvgPoolV2", vec![x.into()], &attrs)?;
    cx.formats(made, &[0], &[0], "NCHW");
    let made = if is_widened { cx.cast(made, own)? } else { made };
    Ok(if rank == 3 { cx.squeeze(made, &[0])? } else { made }.into())
}

/// Of three dimensions: GE's windows are counted in the order of the tensor.
pub(super) fn avg_pool3d(cx: &mut Cx) -> Made {
    let args = Args::of(cx, AVERAGE_OF_VOLUMES)?;
    let x = args.tensor("self")?;
    let rank = cx.rank(x)?;
    if !matches!(rank, 4 | 5) {
        return Err(Refusal("only four or five dimensions are supported".into()));
    }
    let kernel = each::<3>(&args, "kernel_size", None)?;
    let stride = each(&args, "stride", Some(kernel))?;
    let [pd, ph, pw] = each(&args, "padding", Some([0, 0, 0]))?;
    let whole = |v: [i64; 3]| Attr::Ints([&[1, 1], v.as_slice()].concat());
    let attrs = [
        ("ksize", whole(kernel)),
        ("strides", whole(stride)),
        ("pads", Attr::Ints(vec![pd, pd, ph, ph, pw, pw])),
        ("ceil_mode", Attr::Bool(args.flag("ceil_mode")?)),
        ("count_include_pad", Attr::Bool(args.flag("count_include_pad")?)),
        ("divisor_override", Attr::Int(args.int("divisor_override")?.unwrap_or(0))),
        ("data_format", Attr::Str("NCDHW".into())),
    ];
    let x = if rank == 4 { cx.unsqueeze(x, &[0])? } else { x };
    let made = cx.op("AvgPool3D", vec![x.into()], &attrs)?;
    cx.formats(made, &[0], &[0], "NCDHW");
    Ok(if rank == 4 { cx.squeeze(made, &[0])? } else { made }.into())
}

/// Values and places; GE's places are those of PyTorch in 32 bits.
pub(super) fn adaptive_max_pool2d(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self output_size")?;
    let x = args.tensor("self")?;
    let (rank, sizes) = (cx.rank(x)?, each::<2>(&args, "output_size", None)?);
    let x = if rank == 3 { cx.unsqueeze(x, &[0])? } else { x };
    let attrs = [("output_size", Attr::Ints(sizes.to_vec()))];
    let (made, places) = both(&cx.b.many("AdaptiveMaxPool2d", vec![x.into()], &attrs, None)?)?;
    cx.formats(made, &[0], &[0, 1], "NCHW");
    let places = cx.cast(places, DataType::Int64)?;
    if rank == 3 {
        return Ok(list(&[cx.squeeze(made, &[0])?, cx.squeeze(places, &[0])?]));
    }
    Ok(list(&[made, places]))
}

fn avg_pool2d_backward(cx: &mut Cx) -> Made {
    let args =
        Args::of(cx, "grad_output self kernel_size stride padding ceil_mode count_include_pad divisor_override")?;
    let attrs = average(&args, !args.flag("count_include_pad")?)?;
    let shape = cx.shape(args.tensor("self")?)?;
    cx.ge("AvgPoolV2Grad", vec![shape.into(), args.input("grad_output")?], &attrs)
}

/// The attributes of a maximum over windows.
fn maximum(args: &Args) -> Result<[(&'static str, Attr); 5], Refusal> {
    let [kh, kw] = each(args, "kernel_size", None)?;
    let [sh, sw] = each(args, "stride", Some([kh, kw]))?;
    let [ph, pw] = each(args, "padding", Some([0, 0]))?;
    let [dh, dw] = each(args, "dilation", Some([1, 1]))?;
    Ok([
        ("ksize", Attr::Ints(vec![1, kh, kw, 1])),
        ("strides", Attr::Ints(vec![1, sh, sw, 1])),
        ("pads", Attr::Ints(vec![1, ph, pw, 1])),
        ("dilation", Attr::Ints(vec![1, dh, dw, 1])),
        ("ceil_mode", Attr::Bool(args.flag("ceil_mode")?)),
    ])
}

fn both(outputs: &[TensorId]) -> Result<(TensorId, TensorId), Refusal> {
    match outputs {
        [a, b, ..] => Ok((*a, *b)),
        _ => Err(Refusal("two results were expected".into())),
    }
}

fn largest(cx: &mut Cx, args: &Args) -> Result<(TensorId, TensorId), Refusal> {
    let attrs = maximum(args)?;
    let (made, places) = both(&cx.b.many("MaxPoolWithArgmaxV1", vec![args.input("self")?], &attrs, None)?)?;
    cx.formats(made, &[0], &[0, 1], "NCHW");
    Ok((made, places))
}

/// GE's places are none that PyTorch's gradient could use; the gradient finds them itself, so that these are but a stand-in.
fn max_pool2d(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self kernel_size stride=[] padding=[0,0] dilation=[1,1] ceil_mode=false")?;
    let (made, _) = largest(cx, &args)?;
    let places = cx.op("Identity", vec![made.into()], &[])?;
    let places = cx.cast(places, DataType::Int64)?;
    Ok(list(&[made, places]))
}

fn max_pool2d_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_output self kernel_size stride padding dilation ceil_mode indices")?;
    let (_, places) = largest(cx, &args)?;
    let (x, grad) = (args.input("self")?, args.input("grad_output")?);
    let made = cx.op("MaxPoolGradWithArgmaxV1", vec![x, grad, places.into()], &maximum(&args)?)?;
    cx.formats(made, &[0, 1, 2], &[0], "NCHW");
    Ok(made.into())
}

fn max_pool3d(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self kernel_size stride=[] padding=[0,0,0] dilation=[1,1,1] ceil_mode=false")?;
    let kernel = each::<3>(&args, "kernel_size", None)?;
    let attrs = [
        ("ksize", Attr::Ints(kernel.to_vec())),
        ("strides", Attr::Ints(each(&args, "stride", Some(kernel))?.to_vec())),
        ("pads", Attr::Ints(each(&args, "padding", Some([0; 3]))?.to_vec())),
        ("dilation", Attr::Ints(each(&args, "dilation", Some([1; 3]))?.to_vec())),
        ("ceil_mode", Attr::Bool(args.flag("ceil_mode")?)),
    ];
    let x = args.tensor("self")?;
    let rank = cx.rank(x)?;
    let x = if rank == 4 { cx.unsqueeze(x, &[0])? } else { x };
    let (made, places) = both(&cx.b.many("MaxPool3DWithArgmaxV2", vec![x.into()], &attrs, None)?)?;
    cx.formats(made, &[0], &[0, 1], "NCDHW");
    let places = cx.cast(places, DataType::Int64)?;
    if rank != 4 {
        return Ok(list(&[made, places]));
    }
    let (made, places) = (cx.squeeze(made, &[0])?, cx.squeeze(places, &[0])?);
    Ok(list(&[made, places]))
}

const SAMPLER: &str = "input grid interpolation_mode padding_mode align_corners";

/// The attributes of sampling at points; `modes` is the last number of a way to interpolate.
fn sampling(args: &Args, modes: usize) -> Result<[(&'static str, Attr); 3], Refusal> {
    let word = |name: &str, words: &[&str]| {
        let number = args.int(name)?.and_then(|n| usize::try_from(n).ok());
        let word = number.and_then(|n| words.get(n));
        word.map(|w| Attr::Str((*w).into())).ok_or_else(|| Refusal(format!("argument {name} is out of range")))
    };
    let ways = ["bilinear", "nearest", "bicubic"];
    Ok([
        ("interpolation_mode", word("interpolation_mode", ways.get(..=modes).unwrap_or_default())?),
        ("padding_mode", word("padding_mode", &["zeros", "border", "reflection"])?),
        ("align_corners", Attr::Bool(args.flag("align_corners")?)),
    ])
}

/// Half precision is sampled in single precision.
fn single(cx: &mut Cx, x: TensorId) -> Result<TensorId, Refusal> {
    if cx.dtype(x) == DataType::Float16 { cx.cast(x, DataType::Float) } else { Ok(x) }
}

fn grid_sampler(cx: &mut Cx, kind: &str, modes: usize) -> Made {
    let args = Args::of(cx, SAMPLER)?;
    let (attrs, own) = (sampling(&args, modes)?, cx.dtype(args.tensor("input")?));
    let (x, grid) = (single(cx, args.tensor("input")?)?, single(cx, args.tensor("grid")?)?);
    let made = cx.op(kind, vec![x.into(), grid.into()], &attrs)?;
    Ok(cx.cast(made, own)?.into())
}

fn grid_sampler_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, &format!("grad_output {SAMPLER} output_mask"))?;
    let (attrs, own) = (sampling(&args, 2)?, cx.dtype(args.tensor("input")?));
    let grad = single(cx, args.tensor("grad_output")?)?;
    let (x, grid) = (single(cx, args.tensor("input")?)?, single(cx, args.tensor("grid")?)?);
    let made = cx.b.many("GridSampler2DGrad", vec![grad.into(), x.into(), grid.into()], &attrs, None)?;
    let (dx, dgrid) = both(&made)?;
    let (dx, dgrid) = (cx.cast(dx, own)?, cx.cast(dgrid, own)?);
    Ok(list(&[dx, dgrid]))
}

const NEAREST: [(&str, Attr); 2] = [("align_corners", Attr::Bool(false)), ("half_pixel_centers", Attr::Bool(false))];

fn nearest2d(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self output_size scales_h scales_w")?;
    if let Some(picked) = super::resample::nearest_by_scales(cx, &args)? {
        return Ok(picked);
    }
    let size = cx.cast(args.get("output_size"), DataType::Int32)?;
    let made = cx.op("ResizeNearestNeighborV2", vec![args.input("self")?, size.into()], &NEAREST)?;
    cx.formats(made, &[0], &[0], "NCHW");
    Ok(made.into())
}

fn nearest2d_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_output output_size input_size scales_h scales_w")?;
    let Some([_, _, height, width]) = args.ints("input_size")?.and_then(|s| <[i64; 4]>::try_from(s).ok()) else {
        return Err(Refusal("argument input_size must be four fixed sizes".into()));
    };
    let after = args.ints("output_size")?;
    let known = |at: usize| after.as_ref().and_then(|sizes| sizes.get(at)).copied();
    for (name, before, after) in [("scales_h", height, known(0)), ("scales_w", width, known(1))] {
        super::resample::refuse_other_places(&args, name, before, after)?;
    }
    let grad = cx.cast(args.get("grad_output"), DataType::Float)?;
    let size = cx.constant(Literal::Ints(vec![height, width]), DataType::Int32)?;
    let made = cx.op("ResizeNearestNeighborV2Grad", vec![grad.into(), size.into()], &NEAREST)?;
    cx.formats(made, &[0], &[0], "NCHW");
    let dtype = cx.out_type()?;
    Ok(cx.always_cast(made, dtype)?.into())
}
