//! Fourier transforms by the three that compute (complex, of reals, to reals), short-time ones, and windows.
//!
//! Follows PyTorch's `SpectralOps.cpp`: operands are cut or filled up to the stated sizes, integers become `f32`, and what is normalised how
//! goes by the direction.

use super::prelude::*;
use crate::ops::typing::promote::to_complex;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| one(b, false), &["aten.fft_fft.default"]),
    (Exact, |b| one(b, true), &["aten.fft_ifft.default"]),
    (Exact, half, &["aten.fft_rfft.default"]),
    (Exact, |b| from_half(b, false), &["aten.fft_irfft.default"]),
    (Exact, |b| from_half(b, true), &["aten.fft_hfft.default"]),
    (Exact, inverse_half, &["aten.fft_ihfft.default"]),
    (Exact, |b| many(b, false), &["aten.fft_fftn.default", "aten.fft_fft2.default"]),
    (Exact, |b| many(b, true), &["aten.fft_ifftn.default", "aten.fft_ifft2.default"]),
    (Real, along_each, &["aten._fft_c2c.default"]),
    (Real, of_reals_along_each, &["aten._fft_r2c.default"]),
    (Real, to_reals_along_each, &["aten._fft_c2r.default"]),
    (Exact, many_half, &["aten.fft_rfftn.default", "aten.fft_rfft2.default"]),
    (Exact, many_from_half, &["aten.fft_irfftn.default", "aten.fft_irfft2.default"]),
    (Exact, |b| shifted(b, 0), &["aten.fft_fftshift.default"]),
    (Exact, |b| shifted(b, 1), &["aten.fft_ifftshift.default"]),
    (Real, |b| frequencies(b, true), &["aten.fft_fftfreq.default"]),
    (Real, |b| frequencies(b, false), &["aten.fft_rfftfreq.default"]),
    (Exact, stft, &["aten.stft.default", "aten.stft.center"]),
    (Real, istft, &["aten.istft.default"]),
    (Exact, |b| hamming(b, 0.5, 0.5), &["aten.hann_window.default", "aten.hann_window.periodic"]),
    (Exact, |b| hamming(b, 0.54, 0.46), &["aten.hamming_window.default", "aten.hamming_window.periodic"]),
    (
        Exact,
        |b| hamming(b, b.float("alpha")?, b.opt_float("beta")?.unwrap_or(0.46)),
        &["aten.hamming_window.periodic_alpha", "aten.hamming_window.periodic_alpha_beta"],
    ),
    (Exact, blackman, &["aten.blackman_window.default", "aten.blackman_window.periodic"]),
    (Exact, bartlett, &["aten.bartlett_window.default", "aten.bartlett_window.periodic"]),
    (Real, kaiser, &["aten.kaiser_window.default", "aten.kaiser_window.periodic", "aten.kaiser_window.beta"]),
];

/// How PyTorch numbers the factors: none, by the root of the number of elements, by the number.
const PLAIN: i64 = 0;
const BY_ROOT: i64 = 1;
const BY_COUNT: i64 = 2;

fn factor(b: &Builder<'_>, inverse: bool) -> Result<i64, CallFault> {
    match (&*b.text("norm"), inverse) {
        ("" | "backward", false) | ("forward", true) => Ok(PLAIN),
        ("" | "backward", true) | ("forward", false) => Ok(BY_COUNT),
        ("ortho", _) => Ok(BY_ROOT),
        _ => Err(b.unsupported("this norm")),
    }
}

fn floating<'b>(b: &'b Builder<'_>) -> Result<T<'b>, CallFault> {
    let x = b.t(0)?;
    let kept = x.dtype().is_float() || x.dtype().is_complex();
    Ok(if kept { x } else { x.to(Dtype::F32) })
}

fn complex<'b>(b: &'b Builder<'_>) -> Result<T<'b>, CallFault> {
    let x = floating(b)?;
    Ok(if x.dtype().is_complex() { x } else { x.to(to_complex(x.dtype())) })
}

/// Cut, or filled up with zeros at the end, to a size.
fn resized<'b>(b: &Builder<'_>, x: T<'b>, axis: i64, size: Option<i64>) -> Result<T<'b>, CallFault> {
    let Some(size) = size else { return Ok(x) };
    b.only(size >= 1, "a size below 1")?;
    let found = x.fixed(axis)?;
    if found >= size {
        return Ok(if found == size { x } else { x.slice(axis, 0, size) });
    }
    let behind = usize::try_from(x.dims().saturating_sub(1).saturating_sub(axis)).unwrap_or(0);
    let mut pad = vec![0_i64; behind.saturating_mul(2)];
    pad.extend([0, size.saturating_sub(found)]);
    Ok(x.call("constant_pad_nd", args![ints(&pad)]))
}

fn transform<'b>(b: &Builder<'_>, x: T<'b>, axes: &[i64], inverse: bool) -> Result<T<'b>, CallFault> {
    Ok(x.call("_fft_c2c", args![ints(axes), factor(b, inverse)?, !inverse]))
}

fn of_reals<'b>(x: T<'b>, axes: &[i64], factor: i64, half: bool) -> T<'b> {
    x.call("_fft_r2c", args![ints(axes), factor, half])
}

/// The dimensions that are transformed, from the front; more than one, or one that is not the last, which is all that a step is.
fn steps(b: &Builder<'_>, x: T<'_>) -> Result<Vec<i64>, CallFault> {
    let axes: Vec<i64> =
        b.ints("dim")?.into_iter().map(|d| if d < 0 { d.saturating_add(x.dims()) } else { d }).collect();
    let last = x.dims().saturating_sub(1);
    b.only(axes.iter().any(|d| *d != last), "the last dimension alone")?;
    Ok(axes)
}

/// What is done to the last dimension, done to another one.
fn along<'b>(x: T<'b>, axis: i64, step: impl Fn(T<'b>, i64) -> T<'b>) -> T<'b> {
    let last = x.dims().saturating_sub(1);
    if axis == last {
        return step(x, last);
    }
    step(x.transpose(axis, last), last).transpose(axis, last)
}

/// Complex numbers along one dimension after the other; each has its own share of the factor.
fn along_each(b: &Builder<'_>) -> Made {
    let mut x = b.t(0)?;
    let (factor, forward) = (b.int("normalization")?, b.flag("forward")?);
    for axis in steps(b, x)? {
        x = along(x, axis, |x, at| x.call("_fft_c2c", args![ints(&[at]), factor, forward]));
    }
    done![x]
}

/// Of reals all of the result is the transform of complex numbers without imaginary part; half of it is half along the last of the dimensions, then
/// all along the others.
fn of_reals_along_each(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    if !b.flag("onesided")? {
        let complex = b.op("complex", args![x, x.op("zeros_like")]);
        return done![complex.call("_fft_c2c", args![b.arg("dim"), b.arg("normalization"), true])];
    }
    let (factor, axes) = (b.int("normalization")?, steps(b, x)?);
    let Some((last, others)) = axes.split_last() else { return Err(b.unsupported("no dimension")) };
    let mut y = along(x, *last, |x, at| of_reals(x, &[at], factor, true));
    for axis in others {
        y = along(y, *axis, |y, at| y.call("_fft_c2c", args![ints(&[at]), factor, true]));
    }
    done![y]
}

/// Back to reals along the last of the dimensions, once the others are done.
fn to_reals_along_each(b: &Builder<'_>) -> Made {
    let mut x = b.t(0)?;
    let (factor, size, axes) = (b.int("normalization")?, b.arg("last_dim_size"), steps(b, x)?);
    let Some((last, others)) = axes.split_last() else { return Err(b.unsupported("no dimension")) };
    for axis in others {
        x = along(x, *axis, |x, at| x.call("_fft_c2c", args![ints(&[at]), factor, false]));
    }
    done![along(x, *last, |x, at| x.call("_fft_c2r", args![ints(&[at]), factor, size.clone()]))]
}

fn one(b: &Builder<'_>, inverse: bool) -> Made {
    let x = floating(b)?;
    let axis = b.axis("dim", x.rank())?;
    let x = resized(b, x, axis, b.opt_int("n")?)?;
    if x.dtype().is_complex() {
        return done![transform(b, x, &[axis], inverse)?];
    }
    let y = of_reals(x, &[axis], factor(b, inverse)?, false);
    done![if inverse { y.op("_conj") } else { y }]
}

fn half(b: &Builder<'_>) -> Made {
    let x = floating(b)?;
    let axis = b.axis("dim", x.rank())?;
    done![of_reals(resized(b, x, axis, b.opt_int("n")?)?, &[axis], factor(b, false)?, true)]
}

fn inverse_half(b: &Builder<'_>) -> Made {
    let x = floating(b)?;
    let axis = b.axis("dim", x.rank())?;
    done![of_reals(resized(b, x, axis, b.opt_int("n")?)?, &[axis], factor(b, true)?, true).op("_conj")]
}

/// The size of a real result of which a half is given.
fn whole(x: T<'_>, axis: i64, stated: Option<i64>) -> Result<i64, CallFault> {
    Ok(match stated {
        Some(n) => n,
        None => x.fixed(axis)?.saturating_sub(1).saturating_mul(2),
    })
}

fn from_half(b: &Builder<'_>, forward: bool) -> Made {
    let x = complex(b)?;
    let axis = b.axis("dim", x.rank())?;
    let n = whole(x, axis, b.opt_int("n")?)?;
    b.only(n >= 1, "a size below 1")?;
    let mut x = resized(b, x, axis, Some(n.wrapping_div(2).saturating_add(1)))?;
    if forward {
        x = x.op("_conj");
    }
    done![x.call("_fft_c2r", args![ints(&[axis]), factor(b, !forward)?, n])]
}

/// The dimensions, and the sizes that are stated of them.
fn shape(b: &Builder<'_>, x: T<'_>) -> Result<Vec<(i64, Option<i64>)>, CallFault> {
    let sizes = b.opt_ints("s")?;
    let rank = x.rank();
    let axes = match (&sizes, b.is_none("dim")) {
        (Some(sizes), true) => tail(&range(rank), rank.saturating_sub(sizes.len())),
        (None, true) => range(rank),
        _ => b.axes("dim", rank)?,
    };
    let count = axes.len();
    b.only(sizes.as_ref().is_none_or(|s| s.len() == count), "another number of sizes than of dimensions")?;
    let stated = |i: usize| sizes.as_ref().and_then(|s| s.get(i).copied()).filter(|n| *n != -1);
    Ok(axes.into_iter().enumerate().map(|(i, axis)| (axis, stated(i))).collect())
}

fn shaped<'b>(b: &Builder<'_>, mut x: T<'b>, shape: &[(i64, Option<i64>)]) -> Result<(T<'b>, Vec<i64>), CallFault> {
    for (axis, size) in shape {
        x = resized(b, x, *axis, *size)?;
    }
    Ok((x, shape.iter().map(|(axis, _)| *axis).collect()))
}

fn many(b: &Builder<'_>, inverse: bool) -> Made {
    let x = complex(b)?;
    let (x, axes) = shaped(b, x, &shape(b, x)?)?;
    done![transform(b, x, &axes, inverse)?]
}

fn many_half(b: &Builder<'_>) -> Made {
    let x = floating(b)?;
    let (x, axes) = shaped(b, x, &shape(b, x)?)?;
    b.only(!axes.is_empty(), "no dimension")?;
    done![of_reals(x, &axes, factor(b, false)?, true)]
}

fn many_from_half(b: &Builder<'_>) -> Made {
    let x = complex(b)?;
    let mut shape = shape(b, x)?;
    let Some((axis, stated)) = shape.last_mut() else { return Err(b.unsupported("no dimension")) };
    let n = whole(x, *axis, *stated)?;
    b.only(n >= 1, "a size below 1")?;
    *stated = Some(n.wrapping_div(2).saturating_add(1));
    let (x, axes) = shaped(b, x, &shape)?;
    done![x.call("_fft_c2r", args![ints(&axes), factor(b, true)?, n])]
}

fn shifted(b: &Builder<'_>, more: i64) -> Made {
    let x = b.t(0)?;
    let axes = if b.is_none("dim") { range(x.rank()) } else { b.axes("dim", x.rank())? };
    let shifts = axes.iter().map(|d| Ok(x.fixed(*d)?.saturating_add(more).wrapping_div(2)));
    let shifts = shifts.collect::<Result<Vec<i64>, CallFault>>()?;
    done![x.call("roll", args![ints(&shifts), ints(&axes)])]
}

fn counted<'b>(b: &'b Builder<'_>, start: i64, end: i64, dtype: Dtype) -> T<'b> {
    b.op("arange.start", args![start, end; dtype = dtype, device = b.arg("device")])
}

fn made_dtype(b: &Builder<'_>) -> Result<Dtype, CallFault> {
    Ok(b.dtype("dtype")?.unwrap_or(Dtype::F32))
}

#[allow(clippy::cast_precision_loss)] // Sizes are far below 2^53.
fn frequencies(b: &Builder<'_>, negative: bool) -> Made {
    let (n, d, dtype) = (b.int("n")?, b.float("d")?, made_dtype(b)?);
    b.only(n >= 1, "a size below 1")?;
    let middle = n.saturating_add(1).wrapping_div(2);
    let places = match negative {
        true => {
            let behind = counted(b, n.wrapping_div(2).saturating_neg(), 0, dtype);
            b.op("cat", args![vec![Arg::from(counted(b, 0, middle, dtype)), Arg::from(behind)]])
        }
        false => counted(b, 0, n.wrapping_div(2).saturating_add(1), dtype),
    };
    done![places * (1.0 / (n as f64 * d))]
}

/// The window that a transform's frames are multiplied by, in the middle of a frame.
fn window<'b>(b: &'b Builder<'_>, like: T<'b>, frame: i64, dtype: Dtype) -> Result<T<'b>, CallFault> {
    let length = b.opt_int("win_length")?.unwrap_or(frame);
    b.only((1..=frame).contains(&length), "a window longer than a frame")?;
    let given = match b.opt("window")? {
        Some(window) => {
            b.only(window.rank() == 1 && window.fixed(0)? == length, "a window of another length")?;
            window
        }
        None => b.full(like, vec![Arg::Int(length)], 1, dtype),
    };
    let left = frame.saturating_sub(length).wrapping_div(2);
    let right = frame.saturating_sub(length).saturating_sub(left);
    Ok(if frame == length { given } else { given.call("constant_pad_nd", args![ints(&[left, right])]) })
}

fn hop(b: &Builder<'_>, frame: i64) -> Result<i64, CallFault> {
    let hop = b.opt_int("hop_length")?.unwrap_or(frame.wrapping_div(4));
    b.only(hop > 0, "steps that do not go forward")?;
    Ok(hop)
}

fn stft(b: &Builder<'_>) -> Made {
    let (given, frame) = (b.t(0)?, b.int("n_fft")?);
    b.only(frame >= 1 && (1..=2).contains(&given.rank()), "this signal or frame")?;
    b.only(b.is_none("align_to_window") || !b.flag("align_to_window")?, "frames that are aligned to the window")?;
    let hop = hop(b, frame)?;
    let mut x = if given.rank() == 1 { given.unsqueeze(0) } else { given };
    if b.operator().schema.param_index("center").is_some() && b.flag("center")? {
        let pad = ints(&[frame.wrapping_div(2), frame.wrapping_div(2)]);
        x = x.unsqueeze(0).call("pad", args![pad, Arg::Str(b.text("pad_mode").into())]).select(0, 0);
    }
    let real = if x.dtype().is_complex() { x.dtype() } else { given.dtype() };
    let window = window(b, given, frame, real)?;
    let complex = x.dtype().is_complex() || window.dtype().is_complex();
    b.only(complex || !b.is_none("return_complex"), "a real signal without return_complex")?;
    let mut frames = x.call("unfold", args![1, frame, hop]);
    if !b.is_none("window") || frame != b.opt_int("win_length")?.unwrap_or(frame) {
        frames = frames * window;
    }
    let factor = if b.flag("normalized")? { BY_ROOT } else { PLAIN };
    let y = match complex {
        true => {
            b.only(b.is_none("onesided") || !b.flag("onesided")?, "a half of a complex signal's transform")?;
            frames.call("_fft_c2c", args![ints(&[2]), factor, true])
        }
        false => of_reals(frames, &[2], factor, b.is_none("onesided") || b.flag("onesided")?),
    };
    let mut y = y.transpose(1, 2);
    if given.rank() == 1 {
        y = y.squeeze(0);
    }
    let as_complex = b.is_none("return_complex") || b.flag("return_complex")?;
    done![if as_complex { y } else { y.op("view_as_real") }]
}

/// Frames put where they were taken from, those that overlap added.
fn overlapped<'b>(frames: T<'b>, length: &Arg, frame: i64, hop: i64) -> T<'b> {
    let size = vec![Arg::Int(1), length.clone()];
    let given = args![size, ints(&[1, frame]), ints(&[1, 1]), ints(&[0, 0]), ints(&[1, hop])];
    frames.transpose(1, 2).call("col2im", given).select(1, 0).select(1, 0)
}

fn istft(b: &Builder<'_>) -> Made {
    let (given, frame) = (b.t(0)?, b.int("n_fft")?);
    b.only(given.dtype().is_complex() && (2..=3).contains(&given.rank()), "this transform")?;
    b.only(!b.flag("return_complex")?, "a complex signal")?;
    let half = b.is_none("onesided") || b.flag("onesided")?;
    b.only(half, "a transform that is whole")?;
    let hop = hop(b, frame)?;
    let x = if given.rank() == 2 { given.unsqueeze(0) } else { given };
    let count = x.fixed(2)?;
    let length = count.saturating_sub(1).saturating_mul(hop).saturating_add(frame);
    let real = if given.dtype() == Dtype::C128 { Dtype::F64 } else { Dtype::F32 };
    let window = window(b, given, frame, real)?;
    let factor = if b.flag("normalized")? { BY_ROOT } else { BY_COUNT };
    let frames = x.transpose(1, 2).call("_fft_c2r", args![ints(&[2]), factor, frame]);
    let weighted = overlapped(frames * window, &Arg::Int(length), frame, hop);
    let squares = (window * window).expand(vec![Arg::Int(1), Arg::Int(count), Arg::Int(frame)]);
    let weights = overlapped(squares, &Arg::Int(length), frame, hop);
    let start = if b.flag("center")? { frame.wrapping_div(2) } else { 0 };
    let end = match (b.opt_int("length")?, b.flag("center")?) {
        (Some(n), _) => start.saturating_add(n),
        (None, true) => length.saturating_sub(start),
        (None, false) => length,
    };
    let within = |t: T<'_>| t.slice(1, start, end.min(length)).id();
    let mut y = b.value(within(weighted)) / b.value(within(weights));
    if end > length {
        y = y.call("constant_pad_nd", args![ints(&[0, end.saturating_sub(length)])]);
    }
    done![if given.rank() == 2 { y.squeeze(0) } else { y }]
}

/// A window of a length, computed for the length of a period: `make` gets the places and how many steps there are.
fn windowed<'b>(b: &'b Builder<'_>, make: impl FnOnce(T<'b>, f64) -> T<'b>) -> Made {
    let (n, dtype) = (b.int("window_length")?, made_dtype(b)?);
    b.only(n >= 0 && dtype.is_float(), "this length or dtype")?;
    let sizes = args![vec![Arg::Int(n)]; dtype = dtype, device = b.arg("device")];
    match n {
        0 => return done![b.op("empty.memory_format", sizes)],
        1 => return done![b.op("ones", sizes)],
        _ => {}
    }
    let periodic = b.operator().schema.param_index("periodic").is_none() || b.flag("periodic")?;
    let places = if periodic { n.saturating_add(1) } else { n };
    #[allow(clippy::cast_precision_loss)] // Lengths are far below 2^53.
    let steps = places.saturating_sub(1) as f64;
    let window = make(counted(b, 0, places, dtype), steps);
    done![if periodic { window.slice(0, 0, n) } else { window }]
}

fn hamming(b: &Builder<'_>, alpha: f64, beta: f64) -> Made {
    windowed(b, |at, steps| (at * (std::f64::consts::PI * 2.0 / steps)).op("cos") * -beta + alpha)
}

fn blackman(b: &Builder<'_>) -> Made {
    windowed(b, |at, steps| {
        let at = at * (std::f64::consts::PI / steps);
        (at * 4.0).op("cos") * 0.08 - (at * 2.0).op("cos") * 0.5 + 0.42
    })
}

fn bartlett(b: &Builder<'_>) -> Made {
    windowed(b, |at, steps| {
        let rising = at * (2.0 / steps);
        b.choose(at.call("le", args![(steps / 2.0).floor()]), rising, rising * -1.0 + 2.0)
    })
}

/// Bessel's function of the height of an ellipse, by its greatest value.
fn kaiser(b: &Builder<'_>) -> Made {
    let beta = if b.operator().schema.param_index("beta").is_some() { b.float("beta")? } else { 12.0 };
    b.only(beta.is_finite(), "this beta")?;
    windowed(b, |at, steps| {
        let across = at * (2.0 / steps) - 1;
        let height = (across * across).minus_from(1).call("clamp_min", args![0]).op("sqrt") * beta;
        let most = b.full(at, Vec::new(), beta, at.dtype()).op("i0");
        height.op("i0") / most
    })
}
