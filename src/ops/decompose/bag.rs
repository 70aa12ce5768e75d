//! Gradients of bags of embeddings: a row's is the sum over its uses.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Real, |b| of_rows(b, bags(b)?), &["aten._embedding_bag_backward.default"]),
    (Real, |b| of_rows(b, b.t("offset2bag")?), &["aten._embedding_bag_dense_backward.default"]),
    (Real, |b| of_weights(b, bags(b)?), &["aten._embedding_bag_per_sample_weights_backward.default"]),
];

const MEAN: i64 = 1;
const MAX: i64 = 2;

/// The bag of each index: as given, or by where bags begin.
fn bags<'b>(b: &'b Builder<'_>) -> Result<T<'b>, CallFault> {
    let (given, indices, offsets) = (b.t("offset2bag")?, b.t("indices")?, b.t("offsets")?);
    let count = indices.fixed(0)?;
    if given.fixed(0)? == count {
        return Ok(given);
    }
    let begins = b.full(offsets, vec![Arg::Int(count.saturating_add(1))], 0, offsets.dtype());
    let begins = begins.call("index_add", args![0, offsets, offsets.op("ones_like")]);
    Ok((begins.call("cumsum", args![0]).slice(0, 0, count) - 1).to(offsets.dtype()))
}

/// Whether an index stands for no row.
fn is_padding<'b>(b: &'b Builder<'_>, indices: T<'b>) -> Result<Option<T<'b>>, CallFault> {
    let padding = b.int("padding_idx")?;
    Ok((padding >= 0).then(|| indices.call("eq", args![padding])))
}

fn of_rows<'b>(b: &'b Builder<'_>, bags: T<'b>) -> Made {
    let (g, indices, mode) = (b.t("grad")?, b.t("indices")?, b.int("mode")?);
    b.only(!b.flag("scale_grad_by_freq")?, "gradients by frequency")?;
    b.only(g.rank() == 2 && (0..=MAX).contains(&mode), "this form of bags")?;
    let zeros = b.full(g, vec![b.arg("num_weights"), g.size(1)], 0, g.dtype());
    let filled = || b.t("bag_size").map(|sizes| sizes.unsqueeze(1).id());
    if mode == MAX {
        let empty = b.value(filled()?).call("le", args![0]);
        let places = b.t("maximum_indices")?.to(Dtype::I64);
        return done![zeros.call("scatter_add", args![0, places, g.fill_where(empty, 0)])];
    }
    let g = if mode == MEAN { g / b.value(filled()?).call("clamp_min", args![1]) } else { g };
    let mut rows = g.call("index_select", args![0, bags]);
    if let Some(weights) = b.opt("per_sample_weights")? {
        rows = rows * weights.unsqueeze(1);
    }
    if let Some(padding) = is_padding(b, indices)? {
        rows = rows.fill_where(padding.unsqueeze(1), 0);
    }
    done![zeros.call("index_add", args![0, indices, rows.to(g.dtype())])]
}

/// What a row was weighed by: its product with the bag's gradient.
fn of_weights<'b>(b: &'b Builder<'_>, bags: T<'b>) -> Made {
    let (g, weight, indices) = (b.t("grad")?, b.t("weight")?, b.t("indices")?);
    b.only(b.int("mode")? == 0, "other than sums")?;
    let rows = weight.call("index_select", args![0, indices]) * g.call("index_select", args![0, bags]);
    let made = rows.sum(&[1], false);
    done![match is_padding(b, indices)? {
        Some(padding) => made.fill_where(padding, 0),
        None => made,
    }]
}
