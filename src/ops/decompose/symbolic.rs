//! Sizes and values as scalars; complex parts of real tensors.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| done![b.op("sym_size.int", args![b.t(0)?, b.arg(1)])], &["aten.size.int"]),
    (Exact, |b| done![b.op("sym_stride.int", args![b.t(0)?, b.arg(1)])], &["aten.stride.int"]),
    (Exact, |b| done![b.op("sym_numel", args![b.t(0)?])], &["aten.numel.default"]),
    (Exact, |b| done![b.op("_local_scalar_dense", args![b.t(0)?])], &["aten.item.default"]),
    (Exact, real, &["aten.real.default", "aten.conj.default", "aten.resolve_conj.default", "aten.resolve_neg.default"]),
    (Exact, fake_quantize, &["aten.fake_quantize_per_tensor_affine.default"]),
];

/// Of real tensors: themselves.
fn real(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    done![x]
}

fn fake_quantize(b: &Builder<'_>) -> Made {
    let given = args![b.t(0)?, b.arg(1), b.arg(2), b.arg(3), b.arg(4)];
    done![b.pick("fake_quantize_per_tensor_affine_cachemask", given, 0)]
}
