//! Sizes and values as scalars.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| done![b.op("sym_size.int", args![b.t(0)?, b.arg(1)])], &["aten.size.int"]),
    (Exact, |b| done![b.op("sym_stride.int", args![b.t(0)?, b.arg(1)])], &["aten.stride.int"]),
    (Exact, |b| done![b.op("sym_numel", args![b.t(0)?])], &["aten.numel.default"]),
    (Exact, |b| done![b.op("_local_scalar_dense", args![b.t(0)?])], &["aten.item.default"]),
];
