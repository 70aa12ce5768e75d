//! Convolutions.

use smallvec::SmallVec;

use crate::graph::{Arg, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::families::norm::joint_format;
use crate::ops::typing::call::Call;
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (convolution, &["aten.convolution.default", "aten._convolution.default"]),
    (
        forward,
        &[
            "aten.conv1d.default",
            "aten.conv1d.padding",
            "aten.conv2d.default",
            "aten.conv2d.padding",
            "aten.conv3d.default",
        ],
    ),
    (transposed, &["aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input"]),
    (gradients, &["aten.convolution_backward.default"]),
];

/// What says how a window moves, one entry a spatial dimension.
struct Window {
    stride: SmallVec<[i64; 4]>,
    padding: SmallVec<[i64; 4]>,
    dilation: SmallVec<[i64; 4]>,
    output_padding: SmallVec<[i64; 4]>,
    groups: i64,
    transposed: bool,
    /// `padding='same'`.
    same: bool,
}

fn at(list: &[i64], d: usize, default: i64) -> i64 {
    match list {
        [one] => *one,
        many => many.get(d).copied().unwrap_or(default),
    }
}

/// The size of one spatial dimension.
fn spatial(c: &mut Call<'_>, w: &Window, d: usize, size: Dim, kernel: Dim) -> Result<Dim, CallFault> {
    if w.same {
        return Ok(size);
    }
    let (stride, padding, dilation) = (at(&w.stride, d, 1), at(&w.padding, d, 0), at(&w.dilation, d, 1));
    if stride < 1 || dilation < 1 || padding < 0 {
        return Err(CallFault::mismatch(
            "stride",
            "strides and dilations of 1 or more, paddings of 0 or more",
            stride.to_string(),
        ));
    }
    let one = Dim::Fixed(1);
    let less = sizes::sub(c.symbols, kernel, one)?;
    let reach = sizes::mul(c.symbols, less, Dim::Fixed(dilation))?;
    let pads = Dim::Fixed(padding.saturating_mul(2));
    if w.transposed {
        let steps = sizes::sub(c.symbols, size, one)?;
        let span = sizes::mul(c.symbols, steps, Dim::Fixed(stride))?;
        let inside = sizes::sub(c.symbols, span, pads)?;
        let whole = sizes::add(c.symbols, inside, reach)?;
        let more = Dim::Fixed(at(&w.output_padding, d, 0).saturating_add(1));
        let made = sizes::add(c.symbols, whole, more)?;
        // Some of PyTorch's kernels let a result come out empty, others raise.
        if made.fixed().is_some_and(|n| n < 1) {
            return Err(c.bad(0, "an input that the padding does not exceed", c.symbols.print_python(size)));
        }
        return Ok(made);
    }
    let padded = sizes::add(c.symbols, size, pads)?;
    let room = sizes::sub(c.symbols, padded, reach)?;
    let room = sizes::sub(c.symbols, room, one)?;
    if sizes::less(c.symbols, room, Dim::Fixed(0)) == Some(true) {
        let (kernel, padded) = (c.symbols.print_python(kernel), c.symbols.print_python(padded));
        return Err(c.bad(1, format!("a kernel within the padded size {padded}"), kernel));
    }
    let steps = sizes::floordiv(c.symbols, room, Dim::Fixed(stride))?;
    sizes::add(c.symbols, steps, one)
}

/// Checks what the window says of itself: one number for all dimensions or one for each, strides and dilations of 1 or more.
fn check_window(c: &Call<'_>, w: &Window, space: usize) -> Result<(), CallFault> {
    let lists = [
        ("stride", &w.stride, 1, false),
        ("padding", &w.padding, 0, w.same),
        ("dilation", &w.dilation, 1, false),
        (
            "output_padding",
            &w.output_padding,
            0,
            !c.operator.schema.params.iter().any(|p| &*p.name == "output_padding"),
        ),
    ];
    let place = |name| c.operator.schema.param_index(name).unwrap_or(usize::MAX);
    for (name, list, least, absent) in lists {
        let word = matches!(c.arg(place(name)), Arg::Str(_));
        if !absent && !word && list.len() != 1 && list.len() != space {
            return Err(c.bad(place(name), format!("1 or {space} values"), list.len().to_string()));
        }
        if list.iter().any(|n| *n < least) {
            return Err(c.bad(place(name), format!("values of {least} or more"), format!("{list:?}")));
        }
    }
    if w.same && w.stride.iter().any(|n| *n != 1) {
        return Err(c.bad(place("stride"), "strides of 1 for 'same'", format!("{:?}", w.stride)));
    }
    for d in 0..space {
        let more = at(&w.output_padding, d, 0);
        if w.transposed && more >= at(&w.stride, d, 1).max(at(&w.dilation, d, 1)) {
            return Err(c.bad(place("output_padding"), "less than the stride or the dilation", more.to_string()));
        }
    }
    if w.groups < 1 {
        return Err(c.bad(place("groups"), "1 group or more", w.groups.to_string()));
    }
    Ok(())
}

/// Checks that there are filters for each group, that they have elements, and that the bias is one for each result channel.
fn check_weights(c: &Call<'_>, w: &Window, t: &TensorType, weight: &TensorType, gives: Dim) -> Result<(), CallFault> {
    let filters = weight.sizes.first().and_then(|d| d.fixed());
    if filters.is_some_and(|n| n < w.groups || n.checked_rem(w.groups) != Some(0)) {
        let expected = format!("a multiple of {} filters", w.groups);
        return Err(c.bad(1, expected, sizes::show(c.symbols, &weight.sizes)));
    }
    if weight.sizes.iter().skip(2).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(1, "a kernel with elements", sizes::show(c.symbols, &weight.sizes)));
    }
    let space = weight.rank().saturating_sub(2);
    if t.sizes.iter().rev().take(space).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(0, "elements in every spatial dimension", sizes::show(c.symbols, &t.sizes)));
    }
    let Some(i) = c.operator.schema.param_index("bias") else { return Ok(()) };
    match c.opt_tensor(i)? {
        Some(bias) if bias.dtype != t.dtype => Err(c.bad(i, format!("dtype {}", t.dtype.long()), bias.dtype.long())),
        Some(_) => c.need_sizes(i, &[gives]),
        None => Ok(()),
    }
}

fn convolve(c: &mut Call<'_>, w: &Window) -> Typed {
    let (t, weight) = (c.tensor(0)?, c.tensor(1)?);
    let dims = convolved(c, w, t, weight)?;
    let strides = stored(c, &[t, weight], &dims, weight.rank())?;
    Ok(out::strided(t.dtype, dims, strides, t.device.clone()))
}

/// Strides of a result of these sizes: row by row where all operands surely are, channels-last where an image or its kernel is.
///
/// Which kernel convolves anything else (rows, volumes, what has no batch, integers), and so what it makes of channels that lie innermost,
/// depends on sizes and on the machine.
fn stored(c: &mut Call<'_>, operands: &[&TensorType], dims: &Sizes, rank: usize) -> Result<Option<Sizes>, CallFault> {
    let mut row = true;
    for t in operands {
        // Strides of sizes of 1 count too: a kernel of one channel may look like channels-last.
        let plain = layout::contiguous(c.symbols, &t.sizes)?;
        row &= t.strides.as_ref() == Some(&plain);
    }
    if row {
        return layout::contiguous(c.symbols, dims).map(Some);
    }
    if rank != 4 || dims.len() != 4 || operands.iter().any(|t| !t.dtype.is_float()) {
        return Ok(None);
    }
    match joint_format(c, operands) {
        Some(format) => layout::of_format(c.symbols, dims, format).map(Some),
        None => Ok(None),
    }
}

/// The sizes of the result.
fn convolved(c: &mut Call<'_>, w: &Window, t: &TensorType, weight: &TensorType) -> Result<Sizes, CallFault> {
    let Some(space) = weight.rank().checked_sub(2).filter(|n| (1..=3).contains(n)) else {
        return Err(c.bad(1, "3, 4 or 5 dimensions", weight.rank().to_string()));
    };
    let named = [("1d", 1), ("2d", 2), ("3d", 3)].iter().find(|(n, _)| c.operator.schema.name.contains(n));
    if named.is_some_and(|(_, n)| *n != space) {
        return Err(c.bad(1, "a kernel of the convolution's dimensions", sizes::show(c.symbols, &weight.sizes)));
    }
    check_window(c, w, space)?;
    if t.sizes.iter().chain(&weight.sizes).take(t.rank().saturating_sub(space)).any(|d| *d == Dim::Fixed(0))
        && weight.sizes.get(1) == Some(&Dim::Fixed(0))
    {
        return Err(CallFault::Unsupported { what: "a convolution of no channels".into() });
    }
    if t.dtype != weight.dtype {
        return Err(c.bad(1, format!("dtype {}", t.dtype.long()), weight.dtype.long()));
    }
    // Without a batch there is one dimension less.
    let batch = match t.rank().checked_sub(space) {
        Some(2) => 1,
        Some(1) => 0,
        _ => {
            let expected = format!("{} dimensions, or one less", weight.rank());
            return Err(c.bad(0, expected, t.rank().to_string()));
        }
    };
    let weight_size = |d: usize| weight.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    let groups = Dim::Fixed(w.groups);
    let channels = t.sizes.get(batch).copied().unwrap_or(Dim::Fixed(1));
    let (takes, gives) = if w.transposed {
        (weight_size(0), sizes::mul(c.symbols, weight_size(1), groups)?)
    } else {
        (sizes::mul(c.symbols, weight_size(1), groups)?, weight_size(0))
    };
    if w.transposed && gives == Dim::Fixed(0) {
        return Err(CallFault::Unsupported { what: "a transposed convolution that gives no channels".into() });
    }
    if sizes::differ(c.symbols, channels, takes) {
        let (takes, channels) = (c.symbols.print_python(takes), c.symbols.print_python(channels));
        return Err(c.bad(0, format!("{takes} channels"), channels));
    }
    let mut dims: Sizes = t.sizes.iter().take(batch).copied().collect();
    dims.push(gives);
    for d in 0..space {
        let size = t.sizes.get(batch.saturating_add(1).saturating_add(d)).copied().unwrap_or(Dim::Fixed(1));
        dims.push(spatial(c, w, d, size, weight_size(d.saturating_add(2)))?);
    }
    check_weights(c, w, t, weight, gives)?;
    Ok(dims)
}

/// Takes an input with a batch only: what adds one to others is `conv1d` and its kin.
fn convolution(c: &mut Call<'_>) -> Typed {
    let (rank, expected) = (c.tensor(0)?.rank(), c.tensor(1)?.rank());
    if rank != expected {
        return Err(c.bad(0, format!("{expected} dimensions, as the weight has"), rank.to_string()));
    }
    let w = Window {
        stride: c.ints(3)?,
        padding: c.ints(4)?,
        dilation: c.ints(5)?,
        transposed: c.bool(6)?,
        output_padding: c.ints(7)?,
        groups: c.int(8)?,
        same: false,
    };
    convolve(c, &w)
}

fn forward(c: &mut Call<'_>) -> Typed {
    let (padding, same) = match c.arg(4) {
        Arg::Str(word) if matches!(&**word, "same" | "valid") => (SmallVec::new(), &**word == "same"),
        Arg::Str(word) => return Err(c.bad(4, "'same' or 'valid'", word.to_string())),
        _ => (c.ints(4)?, false),
    };
    let w = Window {
        stride: c.ints(3)?,
        padding,
        dilation: c.ints(5)?,
        transposed: false,
        output_padding: SmallVec::new(),
        groups: c.int(6)?,
        same,
    };
    convolve(c, &w)
}

fn transposed(c: &mut Call<'_>) -> Typed {
    let w = Window {
        stride: c.ints(3)?,
        padding: c.ints(4)?,
        output_padding: c.ints(5)?,
        groups: c.int(6)?,
        dilation: c.ints(7)?,
        transposed: true,
        same: false,
    };
    convolve(c, &w)
}

fn gradients(c: &mut Call<'_>) -> Typed {
    let (gradient, t, weight) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let w = Window {
        stride: c.ints(4)?,
        padding: c.ints(5)?,
        dilation: c.ints(6)?,
        transposed: c.bool(7)?,
        output_padding: c.ints(8)?,
        groups: c.int(9)?,
        same: false,
    };
    if t.rank() != weight.rank() {
        return Err(c.bad(1, format!("{} dimensions", weight.rank()), t.rank().to_string()));
    }
    let forward = convolved(c, &w, t, weight)?;
    c.need_sizes(0, &forward)?;
    c.need_same_dtype(0, 1)?;
    let wanted = c.arg(10).items().unwrap_or_default();
    let on = |k: usize| wanted.get(k).is_none_or(|a| *a == Arg::Bool(true));
    let mut like = |of: &TensorType| -> Typed {
        let strides = stored(c, &[t, weight], &of.sizes, weight.rank())?;
        let t = of;
        Ok(out::strided(t.dtype, t.sizes.clone(), strides, t.device.clone()))
    };
    let input = if on(0) { like(t)? } else { ValueType::None };
    let kernel = if on(1) { like(weight)? } else { ValueType::None };
    let bias = if on(2) {
        let channels = gradient.sizes.get(1).copied().unwrap_or(Dim::Fixed(1));
        out::contiguous(c.symbols, gradient.dtype, smallvec::smallvec![channels], gradient.device.clone())?
    } else {
        ValueType::None
    };
    Ok(out::many([input, kernel, bias]))
}
