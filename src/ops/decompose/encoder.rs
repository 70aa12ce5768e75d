//! Layers of an encoder that PyTorch computes as one operator when nothing is learnt.

use super::matmul::linear_of;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Real, layer, &["aten._transformer_encoder_layer_fwd.default"]),
    (Real, masked_softmax, &["aten._masked_softmax.default"]),
];

/// Attention and two linear maps, each added to what it was given, with a norm ahead of each or after it.
fn layer(b: &Builder<'_>) -> Made {
    let x = b.t("src")?;
    b.only(x.rank() == 3 && x.dtype().is_float(), "other than a batch of sequences")?;
    let first = b.flag("norm_first")?;
    let norm = |x: T<'_>, n: usize| -> Result<Arg, CallFault> {
        let (weight, bias) = (b.t(&*format!("norm_weight_{n}"))?, b.t(&*format!("norm_bias_{n}"))?);
        Ok(b.op("layer_norm", args![x, vec![x.size(-1)], weight, bias, b.float("eps")?]).into())
    };
    let normed = |x: T<'_>, n: usize| -> Result<_, CallFault> {
        match norm(x, n)? {
            Arg::Node(id) => Ok(id),
            _ => Err(b.unsupported("no norm")),
        }
    };
    let ahead = if first { b.value(normed(x, 1)?) } else { x };
    let mut y = attended(b, ahead)? + x;
    if !first {
        y = b.value(normed(y, 1)?);
    }
    let ahead = if first { b.value(normed(y, 2)?) } else { y };
    let hidden = linear_of(b, ahead, b.t("ffn_weight_1")?, b.opt("ffn_bias_1")?)?;
    let hidden = if b.flag("use_gelu")? { hidden.op("gelu") } else { hidden.op("relu") };
    y = linear_of(b, hidden, b.t("ffn_weight_2")?, b.opt("ffn_bias_2")?)? + y;
    done![if first { y } else { b.value(normed(y, 2)?) }]
}

/// Self-attention of several heads, whose queries, keys and values are one linear map.
fn attended<'b>(b: &'b Builder<'_>, x: T<'b>) -> Result<T<'b>, CallFault> {
    let (heads, width) = (b.int("num_heads")?, b.int("embed_dim")?);
    b.only(heads > 0 && width.rem_euclid(heads.max(1)) == 0, "heads that do not divide")?;
    let per = width.div_euclid(heads.max(1));
    let qkv = linear_of(b, x, b.t("qkv_weight")?, b.opt("qkv_bias")?)?;
    let apart = qkv.reshape(vec![x.size(0), x.size(1), Arg::Int(3), Arg::Int(heads), Arg::Int(per)]);
    let part = |k: i64| apart.select(2, k).transpose(1, 2).id();
    #[allow(clippy::cast_precision_loss)] // A size.
    let scale = 1.0 / (per as f64).sqrt();
    let scores = b.op("matmul", args![b.value(part(0)) * scale, b.value(part(1)).transpose(-2, -1)]);
    let weights = match b.opt("mask")? {
        Some(mask) => unmasked(b, scores, mask, b.opt_int("mask_type")?)?.call("softmax.int", args![-1]),
        None => scores.call("softmax.int", args![-1]),
    };
    let made = b.op("matmul", args![weights, b.value(part(2))]).transpose(1, 2);
    let made = made.reshape(vec![x.size(0), x.size(1), Arg::Int(width)]);
    linear_of(b, made, b.t("proj_weight")?, b.opt("proj_bias")?)
}

/// Scores of a batch of heads, without those that the mask covers: of pairs, of keys, or of both in each head.
fn unmasked<'b>(b: &'b Builder<'_>, scores: T<'b>, mask: T<'b>, kind: Option<i64>) -> Result<T<'b>, CallFault> {
    let mask = match (kind, mask.rank()) {
        (Some(0), 2) | (_, 4) => mask,
        (Some(1), 2) => mask.unsqueeze(1).unsqueeze(1),
        _ => return Err(b.unsupported("a mask of this kind")),
    };
    b.only(mask.dtype() == Dtype::Bool, "a mask that is added")?;
    Ok(scores.fill_where(mask, f64::NEG_INFINITY))
}

fn masked_softmax(b: &Builder<'_>) -> Made {
    let (x, mask) = (b.t(0)?, b.t(1)?);
    let axis = b.opt_int("dim")?.unwrap_or(-1);
    b.only(mask.dtype() == Dtype::Bool, "a mask that is added")?;
    let covered = if b.is_none("mask_type") || b.opt_int("mask_type")? == Some(2) {
        b.only(mask.sizes() == x.sizes(), "a mask of other sizes")?;
        x.fill_where(mask, f64::NEG_INFINITY)
    } else {
        b.only(x.rank() == 4, "another number of dimensions")?;
        unmasked(b, x, mask, b.opt_int("mask_type")?)?
    };
    done![covered.call("softmax.int", args![axis])]
}
