//! Operators of torch_npu that are compositions: activations, rotary embeddings, products, layout. The composition is their definition.

use super::matmul::product;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, swiglu, &["npu.npu_swiglu.default"]),
    (Exact, clipped_swiglu, &["npu.npu_clipped_swiglu.default"]),
    (Exact, geglu, &["npu.npu_geglu.default"]),
    (Exact, |b| done![gelu(b, b.t(0)?)], &["npu.npu_gelu.default"]),
    (Exact, gelu_mul, &["npu.npu_gelu_mul.default"]),
    (Exact, |b| done![b.t(0)?.op("silu")], &["npu.npu_silu.default"]),
    (
        Exact,
        |b| done![b.t(0)? * (b.t(0)? * 1.702).op("sigmoid")],
        &["npu.npu_fast_gelu.default", "npu.fast_gelu.default"],
    ),
    (Exact, gelu_backward, &["npu.npu_gelu_backward.default"]),
    (Exact, scaled_masked_softmax, &["npu.npu_scaled_masked_softmax.default"]),
    (Exact, rotary_mul, &["npu.npu_rotary_mul.default"]),
    (Exact, rotary_pair, &["npu.npu_apply_rotary_pos_emb.default"]),
    (Exact, |b| done![rope(b, b.t(0)?, b.t(1)?, b.t(2)?)?], &["npu.npu_interleave_rope.default"]),
    (Exact, |b| done![b.op("linear", args![b.t(0)?, b.t(1)?, b.arg(2)])], &["npu.npu_linear.default"]),
    (Exact, bmm, &["npu.npu_bmmV2.default"]),
    (Exact, transpose_bmm, &["npu.npu_transpose_batchmatmul.default"]),
    (Exact, |b| done![b.t(0)?.permute(&b.ints(1)?).copy()], &["npu.npu_transpose.default"]),
    (Exact, confusion_transpose, &["npu.npu_confusion_transpose.default"]),
    (Exact, |b| done![b.t(0)?.copy()], &["npu.npu_format_cast.default"]),
    (
        Exact,
        cast,
        &["npu.npu_dtype_cast.default", "npu._npu_dtype_cast.default", "npu._npu_dtype_cast_backward.default"],
    ),
    (Exact, cast_back, &["npu.npu_dtype_cast_backward.default"]),
    (Exact, top_k_top_p, &["npu.npu_top_k_top_p.default"]),
    (Exact, cross_entropy, &["npu.npu_cross_entropy_loss.default"]),
    (Exact, grouped_matmul, &["npu.npu_grouped_matmul.default"]),
];

/// f64 where an operand is, else f32.
pub(super) fn float_of(operands: &[T<'_>]) -> Dtype {
    if operands.iter().any(|t| t.dtype() == Dtype::F64) { Dtype::F64 } else { Dtype::F32 }
}

fn swiglu(b: &Builder<'_>) -> Made {
    let (left, right) = b.t(0)?.halves(b.int(1)?)?;
    done![left.op("silu") * right]
}

fn clipped_swiglu(b: &Builder<'_>) -> Made {
    let (x, axis) = (b.t("x")?, b.int("dim")?);
    b.only(b.is_none("group_index"), "group_index")?;
    let (act, linear) =
        if b.flag("interleaved")? { (x.every_second(axis, 0), x.every_second(axis, 1)) } else { x.halves(axis)? };
    done![clipped(act, linear, b.float("limit")?, b.float("alpha")?, b.float("bias")?)]
}

/// `a * sigmoid(alpha * a) * (b + bias)` of clamped halves.
pub(super) fn clipped<'b>(act: T<'b>, linear: T<'b>, limit: f64, alpha: f64, bias: f64) -> T<'b> {
    let (act, linear) = (act.clamp(Arg::None, limit), linear.clamp(-limit, limit));
    act * (act * alpha).op("sigmoid") * (linear + bias)
}

fn gelu<'b>(b: &'b Builder<'_>, x: T<'b>) -> T<'b> {
    let how = b.text("approximate");
    x.call("gelu", args![; approximate = how.as_str()])
}

fn gelu_backward(b: &Builder<'_>) -> Made {
    let how = b.text("approximate");
    done![b.t(0)?.call("gelu_backward", args![b.t(1)?; approximate = how.as_str()])]
}

fn geglu(b: &Builder<'_>) -> Made {
    let (left, right) = b.t(0)?.halves(b.int(1)?)?;
    let (act, other) = if b.flag(3)? { (left, right) } else { (right, left) };
    let how = if b.int(2)? == 1 { "tanh" } else { "none" };
    let g = act.call("gelu", args![; approximate = how]);
    done![other * g, g]
}

fn gelu_mul(b: &Builder<'_>) -> Made {
    let (left, right) = b.t(0)?.halves(-1)?;
    done![gelu(b, left) * right]
}

fn scaled_masked_softmax(b: &Builder<'_>) -> Made {
    let (x, mask) = (b.t(0)?, b.t(1)?);
    // Its own mask covers what lies above the diagonal.
    let above = |x: T<'_>| {
        let square = tail(&x.shape(), x.rank().saturating_sub(2));
        b.full(x, square, true, Dtype::Bool).call("triu", args![1]).id()
    };
    let mask = if b.flag(3)? { b.value(above(x)) } else { mask };
    let v = (x.to(float_of(&[x])) * b.arg(2)).fill_where(mask, -10000.0);
    done![v.call("softmax.int", args![-1]).to(x.dtype())]
}

/// `cat(-second half, first half)`.
fn half<'b>(b: &'b Builder<'_>, x: T<'b>) -> Result<T<'b>, CallFault> {
    let (left, right) = x.halves(-1)?;
    Ok(b.op("cat", args![vec![Arg::from(-right), Arg::from(left)], -1]))
}

/// Pairs `(-odd, even)`.
fn pairs<'b>(b: &'b Builder<'_>, x: T<'b>) -> T<'b> {
    let both = vec![Arg::from(-x.every_second(-1, 1)), Arg::from(x.every_second(-1, 0))];
    b.op("stack", args![both, -1]).call("flatten.using_ints", args![-2, -1])
}

/// Rotary embedding of elements that lie in pairs: even ones first, then `q * cos + half(q) * sin`.
pub(super) fn rope<'b>(b: &'b Builder<'_>, x: T<'b>, cos: T<'b>, sin: T<'b>) -> Result<T<'b>, CallFault> {
    let both = vec![Arg::from(x.every_second(-1, 0)), Arg::from(x.every_second(-1, 1))];
    let q = b.op("cat", args![both, -1]);
    Ok(q * cos + half(b, q)? * sin)
}

fn rotated<'b>(
    b: &'b Builder<'_>,
    x: T<'b>,
    cos: T<'b>,
    sin: T<'b>,
    rotate: Option<T<'b>>,
) -> Result<T<'b>, CallFault> {
    let turned = match (rotate, b.text("rotary_mode").as_str()) {
        (Some(matrix), _) => product(b, x, matrix)?,
        (None, "half") => half(b, x)?,
        (None, "interleave") => pairs(b, x),
        (None, other) => return Err(b.unsupported(format!("rotary_mode='{other}'"))),
    };
    Ok((x * cos + turned * sin).to(x.dtype()))
}

fn rotary_mul(b: &Builder<'_>) -> Made {
    done![rotated(b, b.t(0)?, b.t(1)?, b.t(2)?, b.opt(4)?)?]
}

fn rotary_pair(b: &Builder<'_>) -> Made {
    let (cos, sin) = (b.t(2)?, b.t(3)?);
    done![rotated(b, b.t(0)?, cos, sin, None)?, rotated(b, b.t(1)?, cos, sin, None)?]
}

fn bmm(b: &Builder<'_>) -> Made {
    b.only(b.sizes(2).is_empty(), "output_sizes")?;
    done![b.op("bmm", args![b.t(0)?, b.t(1)?])]
}

fn transpose_bmm(b: &Builder<'_>) -> Made {
    b.only(b.is_none("bias") && b.is_none("scale"), "bias or scale")?;
    b.only(matches!(b.opt_int("batch_split_factor")?, None | Some(1)), "splitting")?;
    let moved = |t: T<'_>, perm: Option<Vec<i64>>| t.permute(&perm.unwrap_or_else(|| vec![0, 1, 2])).id();
    let (x, w) = (moved(b.t(0)?, b.opt_ints("perm_x1")?), moved(b.t(1)?, b.opt_ints("perm_x2")?));
    done![b.op("bmm", args![x, w]).permute(&b.opt_ints("perm_y")?.unwrap_or_else(|| vec![1, 0, 2])).copy()]
}

fn confusion_transpose(b: &Builder<'_>) -> Made {
    let (x, perm, sizes) = (b.t(0)?, b.ints(1)?, b.sizes(2));
    done![if b.flag(3)? { x.permute(&perm).reshape(sizes) } else { x.reshape(sizes).permute(&perm) }.copy()]
}

fn cast(b: &Builder<'_>) -> Made {
    if b.operator().schema.param_index("input_dtype").is_some() {
        b.only(b.is_none("input_dtype"), "input_dtype")?;
    }
    let (x, dtype) = (b.t(0)?, b.own_tensor()?.dtype);
    done![if x.dtype() == dtype { x.copy() } else { x.to(dtype) }]
}

/// A gradient in the dtype that is named; types that torch lacks are numbers beside it.
fn cast_back(b: &Builder<'_>) -> Made {
    for name in ["grad_dtype", "input_dtype"] {
        b.only(b.is_none(name), name)?;
    }
    cast(b)
}

/// Below the k-th largest, and in the tail of the distribution, to -inf.
fn top_k_top_p(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.rank() == 2, "other than two dimensions")?;
    let [mut v, order] = b.many("sort.stable", args![x; stable = true, dim = -1, descending = false])?;
    let width = x.size(1);
    if let Some(k) = b.opt(2)? {
        let place = k.to(Dtype::I64).minus_from(width.clone()).unsqueeze(1);
        let least = v.call("gather", args![1, place]);
        v = v.fill_where(v.call("lt.Tensor", args![least]), f64::NEG_INFINITY);
    }
    if let Some(p) = b.opt(1)? {
        let sums = v.to(Dtype::F32).call("softmax.int", args![-1]).call("cumsum", args![-1]);
        let tail = sums.call("le.Tensor", args![p.to(Dtype::F32).unsqueeze(1).minus_from(1)]);
        let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
        let places = b.op("arange.default", args![width.clone(); device = device]);
        let not_last = places.call("ne", args![b.size_op("sub", width, 1)]);
        v = v.fill_where(tail.call("logical_and", args![not_last]), f64::NEG_INFINITY);
    }
    done![v.op("empty_like").call("scatter.src", args![1, order, v])]
}

fn cross_entropy(b: &Builder<'_>) -> Made {
    let (x, target, reduction, ignored) = (b.t(0)?, b.t(1)?, b.text(3), b.int(4)?);
    b.only(b.float(5)? == 0.0 && b.float(6)? == 0.0 && !b.flag(7)?, "smoothing or z-loss")?;
    let a = float_of(&[x]);
    let log = x.to(a).call("log_softmax.int", args![-1]);
    let weight = match b.opt(2)? {
        Some(w) => w.to(a),
        None => b.full(x, vec![x.size(1)], 1.0, a),
    };
    let picked = weight.call("index.Tensor", args![vec![Arg::from(target)]]);
    let kept = if ignored < 0 { b.full(x, vec![x.size(0)], 1.0, a) } else { target.call("ne", args![ignored]).to(a) };
    let mut loss = -log.call("gather", args![1, target.unsqueeze(1)]).squeeze(1) * picked * kept;
    if reduction != "none" {
        loss = loss.op("sum.default").reshape(vec![Arg::Int(1)]);
        loss = if reduction == "mean" { loss / (picked * kept).op("sum.default") } else { loss };
    }
    let dtype = x.dtype();
    let zeros = b.full(x, loss.shape(), 0, dtype);
    done![loss.to(dtype), log.to(dtype), zeros, b.full(x, vec![x.size(0)], 0, dtype)]
}

/// One product an input. Of one input, its rows are split by values: no decomposition says that.
fn grouped_matmul(b: &Builder<'_>) -> Made {
    const PLAIN: &[&str] = &[
        "scale",
        "offset",
        "antiquant_scale",
        "antiquant_offset",
        "per_token_scale",
        "activation_input",
        "activation_quant_scale",
        "activation_quant_offset",
    ];
    let (xs, weights) = (b.ts(0)?, b.ts(1)?);
    b.only(PLAIN.iter().all(|p| b.is_none(*p)) && b.opt_int("act_type")?.unwrap_or(0) == 0, "quantisation")?;
    b.only(matches!(b.opt_int("output_dtype")?, None | Some(-1)), "output_dtype")?;
    b.only(xs.len() > 1 && xs.len() == weights.len(), "rows that values split")?;
    let biases = b.opt_ts("bias")?.unwrap_or_default();
    let mut made = Vec::new();
    for (i, (x, w)) in xs.iter().zip(&weights).enumerate() {
        let bias = biases.get(i).copied().flatten().map(|v| v.to(x.dtype()));
        made.push(Arg::from(b.op("linear", args![*x, w.op("t"), bias])));
    }
    let together = matches!(b.opt_int("split_item")?, Some(2 | 3));
    if together {
        made = vec![b.op("cat", args![made, 0]).into()];
    }
    Ok(vec![Arg::List(made.into())])
}
