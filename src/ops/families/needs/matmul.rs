//! What products need.

use super::shared::{contiguous, factors};
use crate::graph::{Dtype, TensorType};
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, size};
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (|c| c.need_float(3, "0 or more", |e| e >= 0.0), &["aten.cosine_similarity.default"]),
    (distances, &["aten.cdist.default", "aten._cdist_forward.default"]),
    (own_distances, &["aten._pdist_forward.default"]),
    (cross, &["aten.linalg_cross.default"]),
    (eight_bits, &["aten._int_mm.default"]),
    (bilinear, &["aten.bilinear.default"]),
    (
        factors,
        &[
            "aten.addmm.default",
            "aten.baddbmm.default",
            "aten.addbmm.default",
            "aten.addmv.default",
            "aten.addr.default",
        ],
    ),
    (similar, &["aten.cosine_similarity.default"]),
    (tensordot, &["aten.tensordot.default"]),
    (chain, &["aten.linalg_multi_dot.default"]),
];

fn distances(c: &Call<'_>) -> Needed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    for i in [0, 1] {
        c.need_rank(i, 2..=usize::MAX)?;
        c.need_dtype(i, "of floats", Dtype::is_float)?;
    }
    c.need_same_dtype(1, 0)?;
    let last = |t: &TensorType| size(t, t.rank().saturating_sub(1));
    c.need_equal(1, "columns:", last(a), last(b))?;
    c.need_float(2, "an order of 0 or more", |p| p >= 0.0)?;
    c.need_int(3, 0..=2)
}

fn own_distances(c: &Call<'_>) -> Needed {
    c.need_rank(0, 2..=2)?;
    contiguous(c, 0)
}

fn cross(c: &Call<'_>) -> Needed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    c.need_rank(1, a.rank()..=a.rank())?;
    c.need_same_dtype(1, 0)?;
    let d = c.axis(2, a.rank())?;
    c.need_equal(0, "a size of", Dim::Fixed(3), size(a, d))?;
    c.need_equal(1, "a size of", Dim::Fixed(3), size(b, d))
}

fn eight_bits(c: &Call<'_>) -> Needed {
    c.need_dtype(0, "int8 or uint8", |d| matches!(d, Dtype::I8 | Dtype::U8))?;
    c.need_dtype(1, "int8", |d| d == Dtype::I8)
}

fn bilinear(c: &Call<'_>) -> Needed {
    let (a, b, weight) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    for i in 1..=3 {
        c.need_same_dtype(i, 0)?;
    }
    c.need_rank(1, a.rank()..=a.rank())?;
    c.need_rank(2, 3..=3)?;
    for d in 0..a.rank().saturating_sub(1) {
        c.need_equal(1, "a batch of", size(a, d), size(b, d))?;
    }
    let last = |t: &TensorType| size(t, t.rank().saturating_sub(1));
    c.need_equal(2, "a size of", last(a), size(weight, 1))?;
    c.need_equal(2, "a size of", last(b), size(weight, 2))?;
    match c.opt_tensor(3)? {
        Some(_) => c.need_sizes(3, &[size(weight, 0)]),
        None => Ok(()),
    }
}

fn similar(c: &Call<'_>) -> Needed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let joint = crate::ops::typing::promote::promote(a.dtype, b.dtype).unwrap_or(a.dtype);
    if joint.is_float() { Ok(()) } else { Err(c.bad(0, "floats together", joint.long())) }
}

/// Only the first and the last of a chain may be vectors.
fn chain(c: &Call<'_>) -> Needed {
    let all = c.tensors(0)?;
    let between = all.get(1..all.len().saturating_sub(1)).unwrap_or_default();
    match between.iter().find(|t| t.rank() != 2) {
        Some(t) => Err(c.bad(0, "matrices between the first and the last", format!("{} dimensions", t.rank()))),
        None => Ok(()),
    }
}

fn tensordot(c: &Call<'_>) -> Needed {
    c.need_same_dtype(1, 0)?;
    // A tensor without dimensions has none that could be named, -1 included.
    for (tensor, dims) in [(0, 2), (1, 3)] {
        if c.tensor(tensor)?.rank() == 0 && c.arg(dims).items().is_some_and(|d| !d.is_empty()) {
            return Err(c.bad(dims, "no dimensions of a tensor that has none", "some"));
        }
    }
    Ok(())
}
