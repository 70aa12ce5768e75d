//! Convolutions of one to three dimensions, transposed ones too, and their gradients.
//!
//! One dimension is computed as two of which the first has size 1. All sizes in a [`Window`] are of two or three dimensions.

use super::args::Args;
use super::cx::{Cx, int, ints};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::By;

pub(super) const TABLE: &[Entry] =
    &[("aten.convolution.default", By(convolution)), ("aten.convolution_backward.default", By(backward))];

/// How a kernel moves over its operand.
struct Window {
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    output_padding: Vec<i64>,
    groups: i64,
    transposed: bool,
}

impl Window {
    /// Reads the window of an operand of `rank` dimensions.
    fn of(args: &Args, rank: usize) -> Result<Window, Refusal> {
        let spatial = match rank {
            3..=5 => rank.saturating_sub(2),
            _ => return Err(Refusal(format!("a convolution of {rank} dimensions is not supported"))),
        };
        let read = |name: &str, flat: i64| {
            let mut given = args.ints(name)?.unwrap_or_default();
            if given.len() == 1 {
                given = given.repeat(spatial);
            }
            if given.len() != spatial {
                return Err(Refusal(format!("argument {name} must have {spatial} numbers")));
            }
            if spatial == 1 {
                given.insert(0, flat);
            }
            Ok(given)
        };
        let transposed = args.flag("transposed")?;
        Ok(Window {
            stride: read("stride", 1)?,
            padding: read("padding", 0)?,
            dilation: read("dilation", 1)?,
            output_padding: if transposed { read("output_padding", 0)? } else { Vec::new() },
            groups: args.int("groups")?.unwrap_or(1),
            transposed,
        })
    }

    fn is_deep(&self) -> bool {
        self.stride.len() == 3
    }

    fn format(&self) -> &'static str {
        if self.is_deep() { "NCDHW" } else { "NCHW" }
    }

    fn pick<'k>(&self, flat: &'k str, deep: &'k str) -> &'k str {
        if self.is_deep() { deep } else { flat }
    }

    fn attrs(&self) -> Vec<(&'static str, Attr)> {
        let led = |v: &[i64]| Attr::Ints([&[1, 1], v].concat());
        vec![
            ("strides", led(&self.stride)),
            ("pads", Attr::Ints(self.padding.iter().flat_map(|p| [*p, *p]).collect())),
            ("dilations", led(&self.dilation)),
            ("groups", Attr::Int(self.groups)),
            ("data_format", Attr::Str(self.format().into())),
        ]
    }
}

/// A transposed convolution and gradients do not compute in eight bits.
fn refuse_eight_bits(cx: &Cx, tensors: &[TensorId]) -> Result<(), Refusal> {
    match tensors.iter().any(|t| cx.dtype(*t) == DataType::Float8E4m3fn) {
        true => Err(Refusal("operands of eight bits are not supported".into())),
        false => Ok(()),
    }
}

fn convolution(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "input weight bias stride padding dilation transposed output_padding groups")?;
    let (x, weight) = (args.tensor("input")?, args.tensor("weight")?);
    let rank = cx.rank(x)?;
    let window = Window::of(&args, rank)?;
    let dtype = cx.out_type()?;
    let bias = match args.optional("bias") {
        Some(bias) if cx.dtype(x) != DataType::Hifloat8 => Some(cx.cast(bias, dtype)?),
        bias => bias,
    };
    if window.transposed {
        refuse_eight_bits(cx, &[x, weight])?;
    }
    let fixed = cx.fixed_sizes(x)?.zip(cx.fixed_sizes(weight)?);
    let (mut x, mut weight) = (cx.cast(x, dtype)?, cx.cast(weight, dtype)?);
    // A cast has no sizes of its own yet.
    let fixed = fixed.filter(|_| cx.sizes(x).is_ok() && cx.sizes(weight).is_ok());
    if rank == 3 {
        (x, weight) = (cx.unsqueeze(x, &[2])?, cx.unsqueeze(weight, &[2])?);
    }
    let made = match window.transposed {
        false => forward(cx, &window, x, weight, bias)?,
        true => transposed(cx, &window, x, weight, bias, fixed)?,
    };
    Ok(if rank == 3 { cx.squeeze(made, &[2])? } else { made }.into())
}

fn forward(
    cx: &mut Cx,
    window: &Window,
    x: TensorId,
    weight: TensorId,
    bias: Option<TensorId>,
) -> Result<TensorId, Refusal> {
    let kind = window.pick("Conv2D", "Conv3D");
    let made = cx.op(kind, vec![x.into(), weight.into(), bias.into(), In::None], &window.attrs())?;
    match (bias, window.is_deep()) {
        (Some(_), false) => cx.formats(made, &[0, 1, 2], &[], "NCHW"),
        (Some(_), true) => {
            cx.formats(made, &[2], &[], "ND");
            cx.formats(made, &[0, 1], &[], "NCDHW");
        }
        (None, _) => cx.formats(made, &[0, 1], &[], window.format()),
    }
    cx.formats(made, &[], &[0], window.format());
    Ok(made)
}

fn transposed(
    cx: &mut Cx,
    window: &Window,
    x: TensorId,
    weight: TensorId,
    bias: Option<TensorId>,
    fixed: Option<(Vec<i64>, Vec<i64>)>,
) -> Result<TensorId, Refusal> {
    let size = match fixed {
        Some((x, weight)) if window.is_deep() => fixed_size(cx, window, &x, &weight)?,
        _ => computed_size(cx, window, x, weight)?,
    };
    let mut attrs = window.attrs();
    attrs.push(("output_padding", Attr::Ints([&[0, 0], window.output_padding.as_slice()].concat())));
    let kind = window.pick("Conv2DTranspose", "Conv3DTranspose");
    let made = cx.op(kind, vec![size.into(), x.into(), weight.into(), bias.into(), In::None], &attrs)?;
    cx.formats(made, if bias.is_some() { &[0, 3] } else { &[0] }, &[], "ND");
    cx.formats(made, &[1, 2], &[0], window.format());
    Ok(made)
}

fn at(list: &[i64], place: usize) -> i64 {
    list.get(place).copied().unwrap_or(1)
}

/// The size of a transposed convolution's result, where all is fixed.
fn fixed_size(cx: &mut Cx, window: &Window, x: &[i64], weight: &[i64]) -> Result<TensorId, Refusal> {
    let too_large = || Refusal("the size of the result is beyond 64 bits".into());
    let channels = at(weight, 1).checked_mul(window.groups).ok_or_else(too_large)?;
    let mut sizes = vec![at(x, 0), channels];
    for (axis, stride) in window.stride.iter().enumerate() {
        let place = axis.saturating_add(2);
        let (padding, dilation) = (at(&window.padding, axis), at(&window.dilation, axis));
        let kernel = at(weight, place).checked_sub(1).and_then(|k| k.checked_mul(dilation));
        let length = at(x, place).checked_sub(1).and_then(|l| l.checked_mul(*stride));
        let border = padding.checked_mul(2).and_then(|p| at(&window.output_padding, axis).checked_sub(p));
        let total = [length, kernel, border, Some(1)].into_iter().try_fold(0_i64, |sum, part| sum.checked_add(part?));
        sizes.push(total.ok_or_else(too_large)?);
    }
    let mut parts = Vec::with_capacity(sizes.len());
    for size in sizes {
        parts.push(cx.constant(Literal::Int(size), DataType::Int32)?.into());
    }
    cx.pack(parts)
}

/// The size of a transposed convolution's result, computed by operators.
fn computed_size(cx: &mut Cx, window: &Window, x: TensorId, weight: TensorId) -> Result<TensorId, Refusal> {
    let (shape, kernel) = (cx.shape(x)?, cx.shape(weight)?);
    let batch = cx.element(shape, 0)?;
    let channels = cx.element(kernel, 1)?;
    let channels = cx.op("Mul", vec![channels.into(), int(window.groups)], &[])?;
    let mut sizes = vec![batch, channels];
    for (axis, stride) in window.stride.iter().enumerate() {
        let place = super::cx::signed(axis).saturating_add(2);
        let (length, kernel) = (cx.element(shape, place)?, cx.element(kernel, place)?);
        let length = cx.op("Sub", vec![length.into(), int(1)], &[])?;
        let length = cx.op("Mul", vec![length.into(), int(*stride)], &[])?;
        let kernel = cx.op("Sub", vec![kernel.into(), int(1)], &[])?;
        let kernel = cx.op("Mul", vec![int(at(&window.dilation, axis)), kernel.into()], &[])?;
        let total = cx.op("Add", vec![length.into(), kernel.into()], &[])?;
        let border = at(&window.padding, axis).saturating_mul(-2).saturating_add(1);
        let border = border.saturating_add(at(&window.output_padding, axis));
        sizes.push(cx.op("Add", vec![total.into(), int(border)], &[])?);
    }
    let mut parts = Vec::with_capacity(sizes.len());
    for size in sizes {
        parts.push(cx.cast(size, DataType::Int32)?.into());
    }
    cx.pack(parts)
}

/// The operands of a gradient.
struct Operands {
    grad: TensorId,
    x: TensorId,
    weight: TensorId,
    /// The fixed sizes of `x` and `weight` where these are as they came.
    x_sizes: Option<Vec<i64>>,
    weight_sizes: Option<Vec<i64>>,
    /// What the gradient of the weight is cast to.
    dtype: DataType,
}

/// Makes one of the three gradients.
type Part = fn(&mut Cx, &Window, &Operands) -> Result<TensorId, Refusal>;

fn backward(cx: &mut Cx) -> Made {
    let signature =
        "grad_output input weight bias_sizes stride padding dilation transposed output_padding groups output_mask";
    let args = Args::of(cx, signature)?;
    let (x, weight) = (args.tensor("input")?, args.tensor("weight")?);
    let (rank, own) = (cx.rank(x)?, cx.dtype(x));
    let window = Window::of(&args, rank)?;
    let (mut grad, mut cast) = (cx.cast(args.get("grad_output"), own)?, cx.cast(weight, own)?);
    let (x_sizes, weight_sizes) = (cx.fixed_sizes(x)?, cx.sizes(cast).ok().and(cx.fixed_sizes(weight)?));
    let mut operand = x;
    if rank == 3 {
        operand = cx.unsqueeze(x, &[2])?;
        cast = cx.unsqueeze(cast, &[2])?;
        grad = cx.unsqueeze(grad, &[2])?;
    }
    let as_came = rank != 3;
    let operands = Operands {
        grad,
        x: operand,
        weight: cast,
        x_sizes: x_sizes.filter(|_| as_came),
        weight_sizes: weight_sizes.filter(|_| as_came),
        dtype: own,
    };
    let mask = args.get("output_mask").literal();
    let Some(Literal::Bools(mask)) = mask else { return Err(Refusal("argument output_mask is no fixed list".into())) };
    let parts: [Part; 3] = [of_input, of_weight, of_bias];
    let mut results = Vec::with_capacity(3);
    for (place, (wanted, part)) in mask.into_iter().zip(parts).enumerate() {
        results.push(match wanted {
            false => Value::None,
            true => {
                let made = part(cx, &window, &operands)?;
                Value::Tensor(if rank == 3 && place < 2 { cx.squeeze(made, &[2])? } else { made })
            }
        });
    }
    Ok(Value::List(results.into()))
}

fn of_input(cx: &mut Cx, window: &Window, o: &Operands) -> Result<TensorId, Refusal> {
    if window.transposed {
        let inputs = vec![o.grad.into(), o.weight.into(), In::None, In::None];
        let made = cx.op(window.pick("Conv2D", "Conv3D"), inputs, &window.attrs())?;
        cx.formats(made, &[0, 1], &[0], window.format());
        return Ok(made);
    }
    refuse_eight_bits(cx, &[o.grad, o.weight])?;
    let size = match &o.x_sizes {
        Some(sizes) if !window.is_deep() => ints(sizes),
        _ => cx.shape(o.x)?.into(),
    };
    let kind = window.pick("Conv2DBackpropInput", "Conv3DBackpropInput");
    let made = cx.op(kind, vec![size, o.weight.into(), o.grad.into()], &window.attrs())?;
    cx.formats(made, &[0], &[], "ND");
    cx.formats(made, &[1, 2], &[0], window.format());
    Ok(made)
}

fn of_weight(cx: &mut Cx, window: &Window, o: &Operands) -> Result<TensorId, Refusal> {
    refuse_eight_bits(cx, &[o.x, o.grad, o.weight])?;
    let size = match &o.weight_sizes {
        Some(sizes) if window.is_deep() && window.transposed => ints(sizes),
        _ => cx.shape(o.weight)?.into(),
    };
    let (x, grad) = if window.transposed { (o.grad, o.x) } else { (o.x, o.grad) };
    let kind = window.pick("Conv2DBackpropFilter", "Conv3DBackpropFilter");
    let made = cx.op(kind, vec![x.into(), size, grad.into()], &window.attrs())?;
    cx.formats(made, &[1], &[], "ND");
    cx.formats(made, &[0, 2], &[0], window.format());
    // The operator gives single precision.
    if o.dtype == DataType::Float { Ok(made) } else { cx.always_cast(made, o.dtype) }
}

fn of_bias(cx: &mut Cx, window: &Window, o: &Operands) -> Result<TensorId, Refusal> {
    let (axis, axes): (i64, &[i64]) = if window.is_deep() { (3, &[0, 2, 3]) } else { (2, &[0, 2]) };
    let flat = cx.op("FlattenV2", vec![o.grad.into()], &[("axis", Attr::Int(axis))])?;
    cx.op("ReduceSum", vec![flat.into(), ints(axes)], &[("keep_dims", Attr::Bool(false))])
}
