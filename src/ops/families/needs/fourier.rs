//! What transforms and windows need.

use crate::graph::Dtype;
use crate::ops::typing::require::Entry;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (|c| c.need_dtype(0, "of complex numbers", Dtype::is_complex), &["aten._fft_c2c.default", "aten._fft_c2r.default"]),
    (|c| c.need_dtype(0, "of floats", Dtype::is_float), &["aten._fft_r2c.default"]),
];
