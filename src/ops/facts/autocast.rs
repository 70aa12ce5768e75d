//! What PyTorch's autocast does to the operands of a call on the CPU.
//!
//! The tables are the operators that have a kernel for `AutocastCPU` in PyTorch 2.15. Promises: what is in no table either keeps its operands as
//! they are or says [`Policy::Inside`]. Leaves other devices, whose tables are others, to nobody: what they do is not known here.

use crate::graph::Dtype;

/// What happens to the operands of a call within a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// Floating-point tensors but `f64` are cast to the region's dtype.
    Lower,
    /// Those are cast to `f32`.
    Full,
    /// Those are cast to the widest dtype among them.
    Widest,
    /// It is made of calls of which some are cast.
    Inside,
}

const LOWER: &[&str] = &[
    "_addmm_activation",
    "_convolution.deprecated",
    "_native_multi_head_attention",
    "addbmm",
    "addmm",
    "baddbmm",
    "bmm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "linalg_vecdot",
    "linear",
    "matmul",
    "mkldnn_rnn_layer",
    "mm",
    "prelu",
    "scaled_dot_product_attention",
];

const FULL: &[&str] = &[
    "_grid_sampler_2d_cpu_fallback",
    "_lu_with_info",
    "adaptive_avg_pool3d",
    "adaptive_max_pool3d",
    "avg_pool3d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cdist",
    "cholesky_inverse",
    "cholesky_solve",
    "cosine_embedding_loss",
    "cross_entropy_loss",
    "ctc_loss",
    "fake_quantize_per_tensor_affine",
    "fft_fft",
    "fft_fft2",
    "fft_fftn",
    "fft_hfft",
    "fft_ifft",
    "fft_ifft2",
    "fft_ifftn",
    "fft_ihfft",
    "fft_irfft",
    "fft_irfft2",
    "fft_irfftn",
    "fft_rfft",
    "fft_rfft2",
    "fft_rfftn",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "geqrf",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "hinge_embedding_loss",
    "huber_loss",
    "inverse",
    "kl_div",
    "l1_loss",
    "linalg_cholesky",
    "linalg_cholesky_ex",
    "linalg_cond",
    "linalg_eig",
    "linalg_eigh",
    "linalg_eigvals",
    "linalg_eigvalsh",
    "linalg_householder_product",
    "linalg_inv",
    "linalg_inv_ex",
    "linalg_lstsq",
    "linalg_matrix_rank",
    "linalg_qr",
    "linalg_solve",
    "linalg_svd",
    "linalg_svdvals",
    "linalg_tensorinv",
    "linalg_tensorsolve",
    "lu_solve",
    "margin_ranking_loss",
    "max_pool3d",
    "max_unpool2d",
    "max_unpool3d",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_margin_loss_forward",
    "nanquantile",
    "nll_loss",
    "nll_loss2d",
    "orgqr",
    "ormqr",
    "pinverse",
    "poisson_nll_loss",
    "polar",
    "prod",
    "quantile",
    "reflection_pad1d",
    "reflection_pad2d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
    "smooth_l1_loss",
    "soft_margin_loss",
    "stft",
    "svd",
    "trace",
    "triangular_solve",
    "triplet_margin_loss",
    "view_as_complex",
];

const WIDEST: &[&str] = &["cat", "index_copy", "stack"];

/// Made of calls of the tables above.
const INSIDE: &[&str] = &[
    "_transformer_encoder_layer_fwd",
    "bilinear",
    "chain_matmul",
    "column_stack",
    "corrcoef",
    "cov",
    "dstack",
    "einsum",
    "fft_hfft2",
    "fft_hfftn",
    "fft_ihfft2",
    "fft_ihfftn",
    "gru",
    "gru_cell",
    "hstack",
    "inner",
    "istft",
    "linalg_multi_dot",
    "linalg_pinv",
    "lstm",
    "lstm_cell",
    "nll_loss_nd",
    "pad",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "tensordot",
    "vstack",
];

/// Overloads of operators of the tables that autocast leaves alone.
const NOT: &[&str] = &["prod.Dimname_out", "prod.dim_Dimname", "stack.out", "cat.out", "cat.names"];

/// Returns what autocast on the CPU does to the operands of a call of `target`; `None`: nothing.
pub fn policy(target: &str) -> Option<Policy> {
    let rest = target.strip_prefix("aten.")?;
    let (name, overload) = rest.split_once('.').unwrap_or((rest, "default"));
    // A call that writes its result where it is told keeps to that memory's dtype: autocast has no kernel for such forms.
    if NOT.contains(&rest) || overload == "out" || overload.ends_with("_out") {
        return None;
    }
    let tables = [(LOWER, Policy::Lower), (FULL, Policy::Full), (WIDEST, Policy::Widest), (INSIDE, Policy::Inside)];
    let holds = |table: &[&str]| table.binary_search(&name).is_ok() || table.binary_search(&rest).is_ok();
    tables.into_iter().find(|(table, _)| holds(table)).map(|(_, policy)| policy)
}

/// Returns whether a tensor of that dtype is one that autocast casts.
pub fn is_cast(dtype: Dtype) -> bool {
    dtype.is_float() && dtype != Dtype::F64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_apart() {
        let all: Vec<&str> = [LOWER, FULL, WIDEST, INSIDE].concat();
        for table in [LOWER, FULL, WIDEST, INSIDE] {
            assert!(table.is_sorted(), "{table:?}");
        }
        let mut each = all.clone();
        each.sort_unstable();
        each.dedup();
        assert_eq!(each.len(), all.len());
    }

    #[test]
    fn a_product_is_cast_a_loss_is_widened_and_a_sum_is_left() {
        assert_eq!(policy("aten.linear.default"), Some(Policy::Lower));
        assert_eq!(policy("aten.conv2d.padding"), Some(Policy::Lower));
        assert_eq!(policy("aten.mse_loss.default"), Some(Policy::Full));
        assert_eq!(policy("aten.cat.default"), Some(Policy::Widest));
        assert_eq!(policy("aten.einsum.default"), Some(Policy::Inside));
        for target in ["aten.add.Tensor", "aten.mm.out", "aten.sum.dim_IntList", "npu.linear.default"] {
            assert_eq!(policy(target), None, "{target}");
        }
    }
}
