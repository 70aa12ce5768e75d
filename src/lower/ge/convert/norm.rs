//! Normalizations and softmax.

use super::cx::Cx;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

pub(super) const TABLE: &[Entry] = &[
    ("aten._log_softmax.default", Rule::By(log_softmax)),
    ("aten._softmax.default", Rule::By(softmax)),
    ("aten.native_layer_norm.default", Rule::By(layer_norm)),
];

fn softmax(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let (axis, to_float) = (cx.int(1, "dim", -1)?, cx.bool(2, "half_to_float", false)?);
    if to_float && cx.dtype(x) != DataType::Float16 {
        return Err(Refusal("half_to_float needs a float16 operand".into()));
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
