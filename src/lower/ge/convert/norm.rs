//! Normalizations and softmax.

use super::args::Args;
use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

pub(super) const TABLE: &[Entry] = &[
    ("aten._log_softmax.default", Rule::By(log_softmax)),
    ("aten._log_softmax_backward_data.default", Rule::By(log_softmax_backward)),
    ("aten._safe_softmax.default", Rule::By(safe_softmax)),
    ("aten._softmax.default", Rule::By(softmax)),
    ("aten._softmax_backward_data.default", Rule::By(softmax_backward)),
    ("aten.native_layer_norm.default", Rule::By(layer_norm)),
    ("aten.native_layer_norm_backward.default", Rule::By(layer_norm_backward)),
];

fn safe_softmax(cx: &mut Cx) -> Made {
    let dtype = cx.dtype_arg(2, "dtype")?.map_or_else(|| cx.out_type(), Ok)?;
    let (x, axis) = (cx.promoted(0, dtype)?, cx.int(1, "dim", -1)?);
    cx.ge("SoftmaxV2", vec![x.into()], &[("axes", Attr::Ints(vec![axis])), ("half_to_float", Attr::Bool(false))])
}

/// Only half precision may have been made single by the softmax.
fn refuse_other_types(cx: &Cx) -> Result<(), Refusal> {
    let grad = cx.dtype(cx.tensor(0, "grad_output")?);
    match (grad, cx.dtype_arg(3, "input_dtype")?) {
        (DataType::Float, Some(DataType::Float16)) | (_, None) => Ok(()),
        (grad, Some(own)) if grad == own => Ok(()),
        _ => Err(Refusal("operand and gradient must have one type, or float16 and float32".into())),
    }
}

fn softmax_backward(cx: &mut Cx) -> Made {
    refuse_other_types(cx)?;
    let axis = cx.int(2, "dim", -1)?;
    let (grad, output) = (cx.input(0, "grad_output")?, cx.input(1, "output")?);
    cx.ge("SoftmaxGrad", vec![output, grad], &[("axes", Attr::Ints(vec![axis]))])
}

fn log_softmax_backward(cx: &mut Cx) -> Made {
    refuse_other_types(cx)?;
    let axis = cx.int(2, "dim", -1)?;
    let (grad, output) = (cx.input(0, "grad_output")?, cx.input(1, "output")?);
    cx.ge("LogSoftmaxGrad", vec![grad, output], &[("axis", Attr::Ints(vec![axis]))])
}

fn softmax(cx: &mut Cx) -> Made {
    let mut x = cx.tensor(0, "self")?;
    let (axis, mut to_float) = (cx.int(1, "dim", -1)?, cx.bool(2, "half_to_float", false)?);
    if to_float && cx.dtype(x) != DataType::Float16 {
        // The attribute is of float16 alone.
        (x, to_float) = (cx.promoted(0, DataType::Float)?, false);
    }
    cx.ge("SoftmaxV2", vec![x.into()], &[("axes", Attr::Ints(vec![axis])), ("half_to_float", Attr::Bool(to_float))])
}

fn log_softmax(cx: &mut Cx) -> Made {
    let (axis, dtype) = (cx.int(1, "dim", -1)?, cx.out_type()?);
    let x = cx.promoted(0, dtype)?;
    cx.ge("LogSoftmaxV2", vec![x.into()], &[("axes", Attr::Ints(vec![axis]))])
}

fn layer_norm(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "input")?;
    let shape = cx.get(1, "normalized_shape");
    let weight = filled(cx, 2, "weight", &shape, 1.0, x)?;
    let bias = filled(cx, 3, "bias", &shape, 0.0, x)?;
    let eps = cx.float(4, "eps", 1e-5)?;
    let shape = cx.input(1, "normalized_shape")?;
    cx.ge("LayerNormV4", vec![x.into(), shape, weight.into(), bias.into()], &[("epsilon", Attr::Float(eps))])
}

/// Returns an argument, or a tensor of one value where it is missing.
fn filled(cx: &mut Cx, place: usize, name: &str, shape: &Value, value: f64, x: TensorId) -> Result<TensorId, Refusal> {
    if let Some(t) = cx.get(place, name).tensor() {
        return Ok(t);
    }
    let dtype = cx.dtype(x);
    let dims = match (shape.tensor(), shape.literal()) {
        (Some(t), _) => {
            // TorchAir casts here too, and then uses the uncast sizes.
            cx.cast(t, DataType::Int32)?;
            t
        }
        (None, Some(l)) => cx.constant(l, DataType::Int32)?,
        (None, None) => return Err(Refusal("argument normalized_shape is no list of sizes".into())),
    };
    let value = cx.constant(Literal::Float(value), dtype)?;
    cx.op("Fill", vec![dims.into(), value.into()], &[])
}

fn layer_norm_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_out input normalized_shape mean rstd weight bias output_mask")?;
    let mut inputs = vec![args.input("grad_out")?, args.input("input")?, args.input("rstd")?, args.input("mean")?];
    inputs.push(match args.optional("weight") {
        Some(weight) => weight.into(),
        None => {
            let dtype = cx.dtype(args.tensor("input")?);
            let Some(shape) = args.ints("normalized_shape")? else {
                return Err(Refusal("argument normalized_shape is no list of sizes".into()));
            };
            let shape = cx.constant(Literal::Ints(shape), DataType::Int32)?;
            cx.filled(shape, 1.0, dtype)?.into()
        }
    });
    cx.ge("LayerNormGradV3", inputs, &[])
}
