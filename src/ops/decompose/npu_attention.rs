//! Attention on torch_npu without pages, quantisation and varying lengths.

use super::npu::float_of;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, fusion, &["npu.npu_fusion_attention.default"]),
    (Exact, prompt, &["npu.npu_prompt_flash_attention.default"]),
    (Exact, incremental, &["npu.npu_incre_flash_attention.default"]),
];

/// How one call attends.
struct Form {
    layout: String,
    heads: i64,
    kv_heads: i64,
    scale: f64,
}

/// To `[batch, heads, sequence, width]`.
fn spread<'b>(b: &'b Builder<'_>, t: T<'b>, heads: i64, layout: &str) -> Result<T<'b>, CallFault> {
    let by_head = |t: T<'b>| {
        let width = b.size_op("floordiv", t.size(2), heads);
        t.view(vec![t.size(0), t.size(1), heads.into(), width])
    };
    match layout {
        "BNSD" => Ok(t),
        "BSND" => Ok(t.transpose(1, 2)),
        "BSH" => Ok(by_head(t).transpose(1, 2)),
        "SBH" => Ok(by_head(t).permute(&[1, 2, 0, 3])),
        other => Err(b.unsupported(format!("input_layout='{other}'"))),
    }
}

fn gathered<'b>(t: T<'b>, layout: &str) -> T<'b> {
    let flat = |t: T<'b>| t.call("flatten.using_ints", args![2, -1]);
    match layout {
        "BSND" => t.transpose(1, 2),
        "BSH" => flat(t.transpose(1, 2)),
        "SBH" => flat(t.permute(&[2, 0, 1, 3])),
        _ => t,
    }
}

/// The result, the greatest score of each row, and the sum of its exponentials.
fn attend<'b>(
    b: &'b Builder<'_>,
    form: &Form,
    mask: Option<T<'b>>,
    shift: Option<T<'b>>,
) -> Result<[T<'b>; 3], CallFault> {
    let q = b.t(0)?;
    let a = float_of(&[q]);
    let kv_heads = if form.kv_heads == 0 { form.heads } else { form.kv_heads };
    let times = form.heads.checked_div(kv_heads).filter(|n| *n > 0);
    let times = times.ok_or_else(|| b.unsupported("heads that do not divide"))?;
    let q4 = spread(b, q, form.heads, &form.layout)?.to(a);
    let repeated = |t: T<'b>| -> Result<T<'b>, CallFault> {
        let t = spread(b, t, kv_heads, &form.layout)?.to(a);
        Ok(t.call("repeat_interleave.self_int", args![times, 1]))
    };
    let (k4, v4) = (repeated(b.t(1)?)?, repeated(b.t(2)?)?);
    let mut s = super::matmul::product(b, q4, k4.transpose(-1, -2))?;
    s = shift.map_or(s, |p| s + p.to(a)) * form.scale;
    if let Some(mask) = mask {
        s = s.fill_where(mask.to(Dtype::Bool), f64::NEG_INFINITY);
    }
    let most = s.amax(&[-1], true);
    let e = (s - most).op("exp");
    let total = e.sum(&[-1], true);
    let out = super::matmul::product(b, e / total, v4)?.to(q.dtype());
    Ok([gathered(out, &form.layout).contiguous(), most, total])
}

fn fusion(b: &Builder<'_>) -> Made {
    let (q, k, layout, heads) = (b.t(0)?, b.t(1)?, b.text("input_layout"), b.int("head_num")?);
    let whole = b.int("pre_tockens")? == i64::from(i32::MAX) && b.int("next_tockens")? == i64::from(i32::MAX);
    let lengths = b.sizes("prefix").is_empty() && b.sizes("actual_seq_qlen").is_empty();
    let plain = b.float("keep_prob")? == 1.0 && b.int("sparse_mode")? == 0 && lengths && b.is_none("sink");
    b.only(plain && (b.is_none("atten_mask") || whole), "dropout, sparse modes, bands or lengths")?;
    let kv_heads = match layout.as_str() {
        "BNSD" => k.fixed(1)?,
        "BSND" => k.fixed(2)?,
        _ => heads.saturating_mul(k.fixed(2)?).checked_div(q.fixed(2)?).unwrap_or(heads),
    };
    let form = Form { layout, heads, kv_heads, scale: b.float("scale")? };
    let [out, most, total] = attend(b, &form, b.opt("atten_mask")?, b.opt("pse")?)?;
    let eight = |t: T<'_>| {
        let mut sizes = t.shape();
        sizes.pop();
        sizes.push(Arg::Int(8));
        t.to(Dtype::F32).expand(sizes).copy().id()
    };
    let none = b.full(q, vec![Arg::Int(0)], 0, q.dtype());
    done![out, eight(most), eight(total), none, 0, 0, 0]
}

/// The form that the last parameters give, where none of `off` is given.
fn simple<'b>(b: &'b Builder<'_>, off: &[&str]) -> Result<T<'b>, CallFault> {
    b.only(off.iter().all(|p| b.is_none(*p)), "pages, quantisation or lengths")?;
    let form = Form {
        layout: b.text("input_layout"),
        heads: b.int("num_heads")?,
        kv_heads: b.int("num_key_value_heads")?,
        scale: b.float("scale_value")?,
    };
    let [out, ..] = attend(b, &form, b.opt("atten_mask")?, None)?;
    Ok(out)
}

fn prompt(b: &Builder<'_>) -> Made {
    let whole = b.int("next_tokens")? == i64::from(i32::MAX);
    b.only(b.int("sparse_mode")? == 0 && (b.is_none("atten_mask") || whole), "bands or sparse modes")?;
    let off =
        ["actual_seq_lengths", "actual_seq_lengths_kv", "quant_scale1", "quant_scale2", "pse_shift", "padding_mask"];
    done![simple(b, &off)?]
}

fn incremental(b: &Builder<'_>) -> Made {
    let off = [
        "actual_seq_lengths",
        "block_table",
        "quant_scale1",
        "quant_scale2",
        "antiquant_scale",
        "pse_shift",
        "padding_mask",
        "kv_padding_size",
    ];
    done![simple(b, &off)?]
}
