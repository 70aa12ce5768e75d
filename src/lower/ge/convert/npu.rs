//! Operators of `torch_npu` on their own: casts, activations, norms, writes by position.

use super::args::Args;
use super::cx::Cx;
use super::direct;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

use Rule::{By, Direct, Unary};

pub(super) const TABLE: &[Entry] = &[
    ("npu._npu_dtype_cast.default", By(dtype_cast)),
    ("npu.fast_gelu.default", Unary("FastGelu")),
    ("npu.npu_add_rms_norm.default", Direct("x1 x2 gamma epsilon=1e-06", "AddRmsNorm(*; *)")),
    ("npu.npu_add_rms_norm_cast.default", By(add_rms_norm_cast)),
    ("npu.npu_add_rms_norm_dynamic_quant.default", By(add_rms_norm_dynamic_quant)),
    (
        "npu.npu_add_rms_norm_v2_functional.default",
        Direct("x1 x2 gamma epsilon=1e-06", "AddRmsNorm(move(x1), move(x2), gamma; epsilon) -> (rstd, y, x)"),
    ),
    (
        "npu.npu_clipped_swiglu.default",
        Direct("x group_index dim=-1 alpha=1.702 limit=7.0 bias=1.0 interleaved=true", "ClippedSwiglu(*; *)"),
    ),
    ("npu.npu_fast_gelu.default", Unary("FastGelu")),
    ("npu.npu_fast_gelu_backward.default", Direct("grad self", "FastGeluGrad(grad, self)")),
    ("npu.npu_gather_backward.default", By(gather_backward)),
    ("npu.npu_geglu.default", Direct("self dim=-1 approximate=1 activate_left=false", "GeGluV2(self; *)")),
    ("npu.npu_gelu.default", By(|cx| gelu(cx, "self approximate=none", "GeluV2(self; approximate)"))),
    (
        "npu.npu_gelu_backward.default",
        By(|cx| gelu(cx, "grad_output self approximate=none", "GeluGradV2(grad_output, self; approximate)")),
    ),
    (
        "npu.npu_group_norm_silu.default",
        Direct("input weight bias group eps=1e-05", "GroupNormSilu(input, weight, bias; num_groups=group, eps)"),
    ),
    ("npu.npu_prefetch.default", By(prefetch)),
    ("npu.npu_rms_norm.default", Direct("self gamma epsilon=1e-06", "RmsNorm(self, gamma; epsilon)")),
    ("npu.npu_rms_norm_backward.default", Direct("dy self gamma rstd", "RmsNormGrad(dy, self, rstd, gamma)")),
    (
        "npu.npu_scatter_nd_update.default",
        Direct("self indices updates", "ScatterNdUpdate(move(self), indices, updates)"),
    ),
    (
        "npu.npu_scatter_nd_update_.default",
        By(|cx| kept(cx, "self indices updates", "ScatterNdUpdate(self, indices, updates)")),
    ),
    ("npu.npu_swiglu.default", Direct("self dim=-1", "SwiGlu(self; dim)")),
    ("npu.npu_swiglu_backward.default", Direct("y_grad x dim=-1", "SwiGluGrad(y_grad, x; dim)")),
    (
        "npu.npu_trans_quant_param.default",
        Direct("scale offset round_mode=0", "TransQuantParamV2(scale, offset; round_mode)"),
    ),
    (
        "npu.scatter_update.default",
        Direct("self indices updates axis", "Scatter(move(self), indices, updates; reduce=|update, axis|0)"),
    ),
    (
        "npu.scatter_update_.default",
        By(|cx| kept(cx, "self indices updates axis", "Scatter(self, indices, updates; reduce=|update, axis|0)")),
    ),
];

fn dtype_cast(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dtype")?;
    let dtype = args.dtype("dtype")?.ok_or_else(|| Refusal("argument dtype is missing".into()))?;
    let x = args.input("self")?;
    Ok(cx.always_cast(x, dtype)?.into())
}

fn gelu(cx: &mut Cx, signature: &str, line: &str) -> Made {
    let args = Args::of(cx, signature)?;
    args.one_of("approximate", &["none", "tanh"])?;
    direct::make(cx, &args, line, &[])
}

fn gather_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad self_size dim index sparse_grad")?;
    let grad = args.tensor("grad")?;
    let zero = cx.always_cast(crate::lower::ge::literal::Literal::Int(0), cx.dtype(grad))?;
    let zeros = cx.op("Fill", vec![args.input("self_size")?, zero.into()], &[])?;
    let attrs = [("axis", Attr::Int(args.int("dim")?.unwrap_or(0))), ("reduction", Attr::Str("add".into()))];
    cx.ge("ScatterElements", vec![zeros.into(), args.input("index")?, grad.into()], &attrs)
}

/// Makes the operator of a line, which writes what it is given, so that it must run though nothing may read its result.
fn kept(cx: &mut Cx, signature: &str, line: &str) -> Made {
    let args = Args::of(cx, signature)?;
    let made = direct::outputs(cx, &args, line, &[])?;
    made.iter().for_each(|t| cx.b.keep(*t));
    Ok(made.first().map_or(Value::None, |t| (*t).into()))
}

/// Reads ahead after `dependency`; it makes no value.
fn prefetch(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dependency max_size offset=0")?;
    let (size, offset) = (args.int("max_size")?.unwrap_or(0), args.int("offset")?.unwrap_or(0));
    if size <= 0 || offset < 0 {
        return Err(Refusal("argument max_size must be above 0, and offset not below".into()));
    }
    let dependency = args.optional("dependency");
    let dependency = dependency.ok_or_else(|| Refusal("without a dependency it is not supported".into()))?;
    let after = cx.b.after(dependency);
    let inputs: Vec<In> = vec![args.input("self")?];
    cx.b.many("Cmo", inputs, &[("max_size", Attr::Int(size)), ("offset", Attr::Int(offset))], None)?;
    if let Some(op) = cx.b.ops.last_mut() {
        op.inputs.push(after);
    }
    Ok(Value::None)
}

/// Sets the types of results of which the graph may say nothing, being unused.
fn typed(cx: &mut Cx, made: Made, types: &[DataType]) -> Made {
    let made = made?;
    if let Value::List(outputs) = &made {
        for (output, dtype) in outputs.iter().filter_map(Value::tensor).zip(types) {
            cx.b.set_desc_type(output, *dtype);
        }
    }
    Ok(made)
}

fn add_rms_norm_cast(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "x1")?;
    let (float, own) = (DataType::Float, cx.dtype(x));
    let made = direct::convert(cx, "x1 x2 gamma epsilon=1e-06", "AddRmsNormCast(*; *)");
    typed(cx, made, &[float, own, float, own])
}

fn add_rms_norm_dynamic_quant(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "x1")?;
    let (float, own) = (DataType::Float, cx.dtype(x));
    let made = direct::convert(
        cx,
        "x1 x2 gamma smooth_scale1 smooth_scale2 beta epsilon=1e-06 output_mask",
        "AddRmsNormDynamicQuant(*; *)",
    );
    typed(cx, made, &[DataType::Int8, DataType::Int8, own, float, float])
}
