//! Fused operators: those whose documentation gives them as one operator of torch_npu, with attributes or slots under other names.

use super::{Call, Made, Table, one, undefined};
use crate::graph::Arg;

pub(super) const TABLE: Table =
    &[("PromptFlashAttention", prompt_attention), ("RotaryPositionEmbedding", rotary_embedding)];

/// Arguments by keyword, those left out that are not given.
fn given(all: Vec<(&'static str, Arg)>) -> Vec<(&'static str, Arg)> {
    all.into_iter().filter(|(_, v)| *v != Arg::None).collect()
}

fn prompt_attention(c: &mut Call<'_, '_>) -> Made {
    let args = vec![Arg::Node(c.t("query")?), Arg::Node(c.t("key")?), Arg::Node(c.t("value")?)];
    let mut keywords = Vec::new();
    for slot in ["atten_mask", "pse_shift", "deq_scale1", "quant_scale1", "deq_scale2", "quant_scale2", "quant_offset2"]
    {
        keywords.push((slot, c.maybe(slot)?));
    }
    for attribute in
        ["num_heads", "scale_value", "pre_tokens", "next_tokens", "input_layout", "num_key_value_heads", "sparse_mode"]
    {
        keywords.push((attribute, c.attribute_argument(attribute)?));
    }
    // How precisely the inside is computed is the device's.
    let _ = c.int("inner_precise")?;
    one(c.b.call_with("npu.npu_prompt_flash_attention.default", args, given(keywords))?)
}

/// Turned by angles: which elements are turned against each other, the mode says by number.
fn rotary_embedding(c: &mut Call<'_, '_>) -> Made {
    let (x, cos, sin, rotate) = (c.t("x")?, c.t("cos")?, c.t("sin")?, c.maybe("rotate")?);
    let mode = match c.int("mode")? {
        0 => "half",
        1 => "interleave",
        2 => "quarter",
        3 => "interleave-half",
        _ => return undefined("an embedding of another mode"),
    };
    let mut args = vec![Arg::Node(x), Arg::Node(cos), Arg::Node(sin), Arg::Str(mode.into())];
    if rotate != Arg::None {
        args.push(rotate);
    }
    one(c.b.call("npu.npu_rotary_mul.default", args)?)
}
