//! Operators that are another one under a second name.

use super::builder::Actual;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| again(b, "abs"), &["aten.absolute.default", "aten.absolute_.default"]),
    (Exact, |b| again(b, "acos"), &["aten.arccos.default", "aten.arccos_.default"]),
    (Exact, |b| again(b, "acosh"), &["aten.arccosh.default", "aten.arccosh_.default"]),
    (Exact, |b| again(b, "asin"), &["aten.arcsin.default", "aten.arcsin_.default"]),
    (Exact, |b| again(b, "asinh"), &["aten.arcsinh.default", "aten.arcsinh_.default"]),
    (Exact, |b| again(b, "atan"), &["aten.arctan.default", "aten.arctan_.default"]),
    (Exact, |b| again(b, "atan2"), &["aten.arctan2.default", "aten.arctan2_.default"]),
    (Exact, |b| again(b, "atanh"), &["aten.arctanh.default", "aten.arctanh_.default"]),
    (Exact, |b| again(b, "nonzero"), &["aten.argwhere.default"]),
    (Exact, |b| again(b, "clamp.Tensor"), &["aten.clip.Tensor"]),
    (Exact, |b| again(b, "cat"), &["aten.concatenate.default"]),
    (
        Exact,
        |b| again(b, "div.Scalar"),
        &["aten.divide.Scalar", "aten.divide_.Scalar", "aten.true_divide.Scalar", "aten.true_divide_.Scalar"],
    ),
    (Exact, |b| again(b, "div.Scalar_mode"), &["aten.divide.Scalar_mode", "aten.divide_.Scalar_mode"]),
    (Exact, |b| again(b, "div.Tensor_mode"), &["aten.divide.Tensor_mode", "aten.divide_.Tensor_mode"]),
    (Exact, |b| again(b, "trunc"), &["aten.fix.default", "aten.fix_.default"]),
    (Exact, |b| again(b, "outer"), &["aten.ger.default"]),
    (Exact, |b| again(b, "gt.Scalar"), &["aten.greater.Scalar", "aten.greater_.Scalar"]),
    (Exact, |b| again(b, "gt.Tensor"), &["aten.greater.Tensor", "aten.greater_.Tensor"]),
    (Exact, |b| again(b, "ge.Scalar"), &["aten.greater_equal.Scalar", "aten.greater_equal_.Scalar"]),
    (Exact, |b| again(b, "ge.Tensor"), &["aten.greater_equal.Tensor", "aten.greater_equal_.Tensor"]),
    (Exact, |b| again(b, "lt.Scalar"), &["aten.less.Scalar", "aten.less_.Scalar"]),
    (Exact, |b| again(b, "lt.Tensor"), &["aten.less.Tensor", "aten.less_.Tensor"]),
    (Exact, |b| again(b, "le.Scalar"), &["aten.less_equal.Scalar", "aten.less_equal_.Scalar"]),
    (Exact, |b| again(b, "le.Tensor"), &["aten.less_equal.Tensor", "aten.less_equal_.Tensor"]),
    (Exact, |b| again(b, "ne.Scalar"), &["aten.not_equal.Scalar", "aten.not_equal_.Scalar"]),
    (Exact, |b| again(b, "ne.Tensor"), &["aten.not_equal.Tensor", "aten.not_equal_.Tensor"]),
    (Exact, |b| again(b, "mul.Scalar"), &["aten.multiply.Scalar", "aten.multiply_.Scalar"]),
    (Exact, |b| again(b, "sub.Scalar"), &["aten.subtract.Scalar", "aten.subtract_.Scalar"]),
    (Exact, |b| again(b, "neg"), &["aten.negative.default", "aten.negative_.default"]),
    (Exact, |b| again(b, "vstack"), &["aten.row_stack.default"]),
    (Exact, |b| again(b, "movedim.int"), &["aten.moveaxis.int"]),
    (Exact, |b| again(b, "movedim.intlist"), &["aten.moveaxis.intlist"]),
    (Exact, |b| again(b, "transpose.int"), &["aten.swapdims.default"]),
    (Exact, |b| again(b, "adjoint"), &["aten.mH.default"]),
    (Exact, |b| again(b, "diagonal"), &["aten.linalg_diagonal.default"]),
    (Exact, |b| again(b, "polygamma"), &["aten.special_polygamma.default"]),
    (Exact, |b| again(b, "i0"), &["aten.special_i0.default"]),
    (Exact, |b| again(b, "digamma"), &["aten.special_digamma.default", "aten.special_psi.default"]),
    (Exact, |b| again(b, "erf"), &["aten.special_erf.default"]),
    (Exact, |b| again(b, "erfc"), &["aten.special_erfc.default"]),
    (Exact, |b| again(b, "erfinv"), &["aten.special_erfinv.default"]),
    (Exact, |b| again(b, "exp2"), &["aten.special_exp2.default"]),
    (Exact, |b| again(b, "sigmoid"), &["aten.special_expit.default"]),
    (Exact, |b| again(b, "expm1"), &["aten.special_expm1.default"]),
    (Exact, |b| again(b, "lgamma"), &["aten.special_gammaln.default"]),
    (Exact, |b| again(b, "log1p"), &["aten.special_log1p.default"]),
    (Exact, |b| again(b, "logit"), &["aten.special_logit.default"]),
    (Exact, |b| again(b, "logsumexp"), &["aten.special_logsumexp.default"]),
    (Exact, |b| again(b, "round.decimals"), &["aten.special_round.default"]),
    (Exact, |b| again(b, "sinc"), &["aten.special_sinc.default"]),
    (Exact, |b| again(b, "xlogy.Tensor"), &["aten.special_xlogy.default"]),
    (Exact, |b| again(b, "xlogy.Scalar_Other"), &["aten.special_xlogy.other_scalar"]),
    (Exact, |b| placed(b, "softmax.int"), &["aten.special_softmax.default"]),
    (Exact, |b| placed(b, "log_softmax.int"), &["aten.special_log_softmax.default"]),
    (Exact, |b| again(b, "all"), &["aten._is_all_true.default"]),
    (Exact, |b| again(b, "any"), &["aten._is_any_true.default"]),
];

/// The same arguments for another operator, whose parameters are these; for its in-place form from an in-place form.
fn again(b: &Builder<'_>, name: &str) -> Made {
    let name = match (b.operator().schema.name.ends_with('_'), name.split_once('.')) {
        (false, _) => name.to_string(),
        (true, None) => format!("{name}_"),
        (true, Some((name, overload))) => format!("{name}_.{overload}"),
    };
    let params = &b.operator().schema.params;
    let given = |only: bool| params.iter().enumerate().filter(move |(_, p)| p.kwarg_only == only);
    let args = given(false).map(|(i, _)| b.arg(i)).collect();
    let named = given(true).map(|(i, p)| (p.name.clone(), b.arg(i))).collect();
    done![b.op(&name, Actual::new(args, named))]
}

/// The same arguments for an operator that takes all of them by place.
fn placed(b: &Builder<'_>, name: &str) -> Made {
    let args = (0..b.operator().schema.params.len()).map(|i| b.arg(i)).collect();
    done![b.op(name, Actual::new(args, Vec::new()))]
}
