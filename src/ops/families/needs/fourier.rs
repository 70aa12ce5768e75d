//! What transforms and windows need.

use crate::graph::{Arg, Dtype};
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed};

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (|c| c.need_dtype(0, "of complex numbers", Dtype::is_complex), &["aten._fft_c2c.default", "aten._fft_c2r.default"]),
    (|c| c.need_dtype(0, "of floats", Dtype::is_float), &["aten._fft_r2c.default"]),
    (
        transformed,
        &[
            "aten.fft_fft.default",
            "aten.fft_fft2.default",
            "aten.fft_fftn.default",
            "aten.fft_hfft.default",
            "aten.fft_ifft.default",
            "aten.fft_ifft2.default",
            "aten.fft_ifftn.default",
            "aten.fft_ihfft.default",
            "aten.fft_irfft.default",
            "aten.fft_irfft2.default",
            "aten.fft_irfftn.default",
            "aten.fft_rfft.default",
            "aten.fft_rfft2.default",
            "aten.fft_rfftn.default",
        ],
    ),
];

/// How many elements there are is no dtype, though other integers may be written as one.
fn transformed(c: &Call<'_>) -> Needed {
    c.need_word(3, &["backward", "forward", "ortho"])?;
    match c.arg(1) {
        Arg::Dtype(_) | Arg::Bool(_) => Err(c.bad(1, "lengths", "a dtype or a truth")),
        _ => Ok(()),
    }
}
