//! Which operator is which function of elements. The one place of the rules where operators have names.
//!
//! What is not here is a view by its marks, its decomposition where that is exact, an unknown function of elements where it is marked
//! pointwise, and else a call of which nothing is known but that equal operands give equal results.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::rules::element::arena::{Fold, Op};

/// What an operator does to elements.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Meaning {
    /// One operand, in the dtype of the result.
    Unary(Op),
    /// Two operands in the dtype of the result, and `alpha` where there is one.
    Binary(Op),
    /// A comparison: of the operands exchanged, and the opposite of it.
    Compare(Op, bool, bool),
    /// Truths of the operands.
    Logical(Op),
    Not,
    /// A quotient with a rounding mode.
    DivMode,
    /// Where the first operand is true.
    Where,
    Clamp,
    /// A bound of which the sign of zero is the kernel's.
    Bound(Op),
    Convert,
    /// The second operand, converted and repeated to the first.
    Copy,
    Full,
    FullLike,
    Arange,
    Cat,
    Pad,
    Flip,
    Roll,
    Repeat,
    /// The lower triangle, or the upper one.
    Triangle(bool),
    IndexSelect,
    Gather,
    Index,
    /// Elements taken together in any order.
    Fold(Fold),
    /// Elements taken together in the kernel's order, in the dtype of the result.
    Sum(Fold),
    Mean,
    /// Products summed: of integers in any order.
    MatMul,
    /// The mean of the squares of differences from the mean, over the reals.
    Variance,
    /// Products summed over a window, over the reals.
    Convolution,
    /// The sum of what stands before and here along a dimension, over the reals.
    Running,
    /// The product of what stands before and here along a dimension: of few places over the reals, else of integers.
    RunningProduct,
    /// The greatest, or the least, of what stands before and here along a dimension, of integers and over the reals, and where it stands.
    RunningExtreme(Fold),
    /// The one in the middle of a dimension, of few over the reals, and where it stands.
    Median,
    /// The mean over a window, over the reals.
    Pooling(usize),
    /// Products summed over labels, over the reals.
    Contraction,
    /// A diagonal of zeros but for the operand.
    Diagonal,
    /// The second power is the number times itself.
    Power,
    /// Below zero a multiple.
    Leaky,
    /// The sign of an integer.
    Sign,
    /// The least integer that is not below.
    Ceil,
    /// The integer towards 0.
    Trunc,
    /// The integer below.
    Floor,
    /// What is left of a quotient that is rounded towards 0.
    Left,
    /// Parts of a dimension that overlap, along a new last one.
    Windows,
    /// Elements repeated or skipped, to other sizes.
    Nearest,
    /// The greatest over a window of so many dimensions, over the reals.
    MaxPooling(usize),
    /// The greatest, or the least, of a dimension, and where it stands.
    Extreme(Fold),
    /// Where the greatest, or the least, of a dimension stands.
    PlaceOf(Fold),
    /// The elements of a dimension in order: of integers, and over the reals.
    Sorted,
    /// How many of a row that rises lie below: the row and what is looked for, by their places among the arguments.
    Search {
        row: usize,
        found: usize,
    },
    /// Whether a number is neither infinite nor NaN, or is infinite.
    Finite,
    Infinite,
    /// Whether the bit of the sign is set.
    SignBit,
    /// A number to the power of its operand, over the reals: of two.
    PowerOf,
    /// The root of the sum of the squares of both, over the reals.
    Length,
    /// A logarithm to another base, over the reals.
    Logarithm(u32),
    /// Elements written at places that other operands say.
    Written(Write),
    /// Windows of the last two dimensions as columns.
    Columns,
    /// Rows of bags that are all as long as one another, added up or their mean taken, over the reals.
    Bags,
}

/// How elements are written at places.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Write {
    /// At indices of some dimensions.
    Put,
    /// At places along one dimension; a tensor, or one number, and whether it is added.
    Scatter { adds: bool },
    /// At places along one dimension, as the greatest or the least of what stood there and all that lead there.
    Reduced,
    /// At rows, added up.
    Rows,
    /// Along one dimension, each times a number, added up.
    Multiples,
}

use Meaning::*;

const TABLE: &[(Meaning, &[&str])] = &[
    (Unary(Op::Neg), &["aten.neg.default", "prims.neg.default"]),
    (Unary(Op::Abs), &["aten.abs.default", "prims.abs.default"]),
    (Unary(Op::Round), &["aten.round.default", "prims.round.default"]),
    (Not, &["aten.logical_not.default"]),
    (Unary(Op::Not), &["aten.bitwise_not.default"]),
    (Binary(Op::Add), &["aten.add.Tensor", "aten.add.Scalar", "prims.add.default"]),
    (Binary(Op::Sub), &["aten.sub.Tensor", "aten.sub.Scalar", "prims.sub.default"]),
    (Binary(Op::Mul), &["aten.mul.Tensor", "aten.mul.Scalar", "prims.mul.default"]),
    (Binary(Op::Div), &["aten.div.Tensor", "aten.div.Scalar"]),
    (Binary(Op::Max), &["aten.maximum.default", "prims.maximum.default"]),
    (Binary(Op::Min), &["aten.minimum.default", "prims.minimum.default"]),
    (
        Binary(Op::And),
        &[
            "aten.bitwise_and.Tensor",
            "aten.bitwise_and.Scalar",
            "aten.__and__.Tensor",
            "aten.__and__.Scalar",
            "prims.bitwise_and.default",
        ],
    ),
    (
        Binary(Op::Or),
        &[
            "aten.bitwise_or.Tensor",
            "aten.bitwise_or.Scalar",
            "aten.__or__.Tensor",
            "aten.__or__.Scalar",
            "prims.bitwise_or.default",
        ],
    ),
    (
        Binary(Op::Xor),
        &[
            "aten.bitwise_xor.Tensor",
            "aten.bitwise_xor.Scalar",
            "aten.__xor__.Tensor",
            "aten.__xor__.Scalar",
            "prims.bitwise_xor.default",
        ],
    ),
    (
        Binary(Op::Shl),
        &[
            "aten.bitwise_left_shift.Tensor",
            "aten.bitwise_left_shift.Tensor_Scalar",
            "aten.__lshift__.Tensor",
            "aten.__lshift__.Scalar",
        ],
    ),
    (
        Binary(Op::Shr),
        &[
            "aten.bitwise_right_shift.Tensor",
            "aten.bitwise_right_shift.Tensor_Scalar",
            "aten.__rshift__.Tensor",
            "aten.__rshift__.Scalar",
        ],
    ),
    (Binary(Op::Rem), &["aten.remainder.Scalar", "aten.remainder.Tensor"]),
    (Compare(Op::Lt, false, false), &["aten.lt.Tensor", "aten.lt.Scalar", "prims.lt.default"]),
    (Compare(Op::Lt, true, false), &["aten.gt.Tensor", "aten.gt.Scalar", "prims.gt.default"]),
    (Compare(Op::Le, false, false), &["aten.le.Tensor", "aten.le.Scalar", "prims.le.default"]),
    (Compare(Op::Le, true, false), &["aten.ge.Tensor", "aten.ge.Scalar", "prims.ge.default"]),
    (Compare(Op::Eq, false, false), &["aten.eq.Tensor", "aten.eq.Scalar", "prims.eq.default"]),
    (Compare(Op::Eq, false, true), &["aten.ne.Tensor", "aten.ne.Scalar", "prims.ne.default"]),
    (Logical(Op::And), &["aten.logical_and.default"]),
    (Logical(Op::Or), &["aten.logical_or.default"]),
    (Logical(Op::Xor), &["aten.logical_xor.default"]),
    (DivMode, &["aten.div.Tensor_mode", "aten.div.Scalar_mode"]),
    (Where, &["aten.where.self", "prims.where.default"]),
    (Clamp, &["aten.clamp.default", "aten.clamp.Tensor"]),
    (Bound(Op::AtLeast), &["aten.clamp_min.default"]),
    (Bound(Op::AtMost), &["aten.clamp_max.default"]),
    (Convert, &["aten._to_copy.default", "aten.to.dtype", "prims.convert_element_type.default"]),
    (Copy, &["aten.copy.default"]),
    (Full, &["aten.full.default", "aten.scalar_tensor.default"]),
    (FullLike, &["aten.full_like.default", "aten.fill.Scalar"]),
    (Arange, &["aten.arange.start_step"]),
    (Cat, &["aten.cat.default"]),
    (Pad, &["aten.constant_pad_nd.default"]),
    (Flip, &["aten.flip.default"]),
    (Roll, &["aten.roll.default"]),
    (Repeat, &["aten.repeat.default"]),
    (Triangle(true), &["aten.tril.default"]),
    (Triangle(false), &["aten.triu.default"]),
    (IndexSelect, &["aten.index_select.default"]),
    (Gather, &["aten.gather.default"]),
    (Index, &["aten.index.Tensor"]),
    (Fold(Fold::Most), &["aten.amax.default"]),
    (Fold(Fold::Least), &["aten.amin.default"]),
    (Fold(Fold::Any), &["aten.any.default", "aten.any.dim", "aten.any.dims"]),
    (Sum(Fold::Sum), &["aten.sum.default", "aten.sum.dim_IntList"]),
    (Sum(Fold::Product), &["aten.prod.default", "aten.prod.dim_int"]),
    (Mean, &["aten.mean.default", "aten.mean.dim"]),
    (MatMul, &["aten.mm.default", "aten.bmm.default"]),
    (Variance, &["aten.var.correction"]),
    (Convolution, &["aten.convolution.default"]),
    (Running, &["aten.cumsum.default"]),
    (RunningProduct, &["aten.cumprod.default"]),
    (RunningExtreme(Fold::Most), &["aten.cummax.default"]),
    (RunningExtreme(Fold::Least), &["aten.cummin.default"]),
    (Median, &["aten.median.dim"]),
    (Pooling(2), &["aten.avg_pool2d.default", "aten._adaptive_avg_pool2d.default"]),
    (Pooling(3), &["aten.avg_pool3d.default"]),
    (Contraction, &["aten.einsum.default"]),
    (Diagonal, &["aten.diag_embed.default"]),
    (Power, &["aten.pow.Tensor_Scalar"]),
    (Leaky, &["aten.leaky_relu.default"]),
    (Sign, &["aten.sign.default", "aten.sgn.default"]),
    (Ceil, &["aten.ceil.default", "prims.ceil.default"]),
    (Trunc, &["aten.trunc.default", "prims.trunc.default"]),
    (Floor, &[FLOOR]),
    (Left, &["aten.fmod.Scalar", "aten.fmod.Tensor"]),
    (Windows, &["aten.unfold.default"]),
    (Nearest, &["aten.upsample_nearest1d.default", "aten.upsample_nearest2d.default"]),
    (MaxPooling(2), &["aten.max_pool2d_with_indices.default", "aten.adaptive_max_pool2d.default"]),
    (MaxPooling(3), &["aten.max_pool3d_with_indices.default"]),
    (Extreme(Fold::Most), &["aten.max.dim"]),
    (Extreme(Fold::Least), &["aten.min.dim"]),
    (Finite, &["aten.isfinite.default"]),
    (Infinite, &["aten.isinf.default"]),
    (SignBit, &["aten.signbit.default"]),
    (PlaceOf(Fold::Most), &["aten.argmax.default"]),
    (PlaceOf(Fold::Least), &["aten.argmin.default"]),
    (Written(Write::Put), &["aten.index_put.default"]),
    (Written(Write::Scatter { adds: false }), &["aten.scatter.src", "aten.scatter.value"]),
    (Written(Write::Scatter { adds: true }), &["aten.scatter_add.default"]),
    (Written(Write::Reduced), &["aten.scatter_reduce.two"]),
    (Written(Write::Rows), &["aten.embedding_dense_backward.default"]),
    (Written(Write::Multiples), &["aten.index_add.default"]),
    (Columns, &["aten.im2col.default"]),
    (Bags, &["aten._embedding_bag.default"]),
    (PowerOf, &["aten.pow.Scalar"]),
    (Length, &["aten.hypot.default"]),
    (Logarithm(2), &["aten.log2.default"]),
    (Logarithm(10), &["aten.log10.default"]),
    (Search { row: 1, found: 0 }, &["aten.bucketize.Tensor"]),
    (Search { row: 0, found: 1 }, &["aten.searchsorted.Tensor"]),
    (Sorted, &["aten.sort.default", "aten.sort.stable", "aten.topk.default", "aten.kthvalue.default"]),
];

/// What an operator does between complex numbers and real ones.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Complex {
    /// A complex number of two real ones.
    Made,
    /// Pairs along the last dimension, seen as complex numbers.
    Seen,
    /// Its parts along a new last dimension.
    Parts,
    /// The real part.
    Real,
    /// The imaginary part.
    Imaginary,
    /// The number with the other sign of its imaginary part.
    Conjugate,
}

const COMPLEX: &[(Complex, &[&str])] = &[
    (Complex::Made, &["aten.complex.default"]),
    (Complex::Seen, &["aten.view_as_complex.default"]),
    (Complex::Parts, &["aten.view_as_real.default"]),
    (Complex::Real, &["aten.real.default"]),
    (Complex::Imaginary, &["aten.imag.default"]),
    (
        Complex::Conjugate,
        &["aten._conj.default", "aten.conj.default", "aten._conj_physical.default", "aten.conj_physical.default"],
    ),
];

/// Returns what an operator does between complex numbers and real ones.
pub fn complex(target: &str) -> Option<Complex> {
    COMPLEX.iter().find(|(_, all)| all.contains(&target)).map(|(c, _)| *c)
}

/// A function of one real number.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Real {
    Exp,
    Exp2,
    Expm1,
    Log,
    Log1p,
    Sqrt,
    Rsqrt,
    Reciprocal,
    Sigmoid,
    Silu,
    Relu,
    Square,
    Tanh,
    Erf,
    Sin,
    Cos,
    Sinh,
    Cosh,
    Erfc,
    Tan,
}

const REALS: &[(Real, &str)] = &[
    (Real::Exp, "aten.exp.default"),
    (Real::Exp2, "aten.exp2.default"),
    (Real::Expm1, "aten.expm1.default"),
    (Real::Log, "aten.log.default"),
    (Real::Log1p, "aten.log1p.default"),
    (Real::Sqrt, "aten.sqrt.default"),
    (Real::Rsqrt, "aten.rsqrt.default"),
    (Real::Reciprocal, "aten.reciprocal.default"),
    (Real::Sigmoid, "aten.sigmoid.default"),
    (Real::Silu, "aten.silu.default"),
    (Real::Relu, "aten.relu.default"),
    (Real::Square, "aten.square.default"),
    (Real::Tanh, "aten.tanh.default"),
    (Real::Erf, "aten.erf.default"),
    (Real::Sin, "aten.sin.default"),
    (Real::Cos, "aten.cos.default"),
    (Real::Sinh, "aten.sinh.default"),
    (Real::Cosh, "aten.cosh.default"),
    (Real::Erfc, "aten.erfc.default"),
    (Real::Tan, "aten.tan.default"),
];

/// Returns the operator that is a function of a real number.
pub fn target(function: Real) -> &'static str {
    REALS.iter().find(|(r, _)| *r == function).map_or("", |(_, t)| t)
}

/// Returns the function of a real number that an operator of one operand is.
pub fn real(target: &str) -> Option<Real> {
    REALS.iter().find(|(_, t)| *t == target).map(|(r, _)| *r)
}

/// The operator that gives the greatest integer that is not above.
pub const FLOOR: &str = "aten.floor.default";
/// What is left of a float by a division that cuts: of the sign of what is divided.
pub const FMOD: &str = "aten.fmod.Tensor";
/// The same by one that rounds down: of the sign of the divisor.
pub const REMAINDER: &str = "aten.remainder.Tensor";

/// Whether an operator tells rows and columns of the places of a triangle.
pub fn tells_triangle(target: &str) -> bool {
    matches!(target, "aten.triu_indices.default" | "aten.tril_indices.default")
}

/// Returns the operator that says where the greatest, or the least, of a dimension stands.
pub fn place_of(fold: Fold) -> Option<&'static str> {
    match fold {
        Fold::Most => Some("aten.argmax.default"),
        Fold::Least => Some("aten.argmin.default"),
        _ => None,
    }
}

/// Returns the operator that gives the greatest, or the least, of a dimension as the element that it is.
pub fn extreme_of(fold: Fold) -> Option<&'static str> {
    match fold {
        Fold::Most => Some("aten.max.dim"),
        Fold::Least => Some("aten.min.dim"),
        _ => None,
    }
}

/// What an operator's second result says: where along a dimension the elements stand that its first result gives.
#[derive(Copy, Clone, Debug)]
pub struct Chosen {
    target: &'static str,
    /// Which argument is the dimension.
    pub dim: usize,
    /// Which one says whether the greatest stands first.
    pub falls: Option<usize>,
    /// Which one says whether they are given in order.
    pub ordered: Option<usize>,
    /// Which one says whether equal elements stay in their order.
    pub stable: Option<usize>,
    /// Whether the second argument says which one is given, counted from 1.
    pub counted: bool,
}

const fn chosen(target: &'static str, dim: usize, falls: Option<usize>) -> Chosen {
    Chosen { target, dim, falls, ordered: None, stable: None, counted: false }
}

const CHOSEN: &[Chosen] = &[
    chosen("aten.sort.default", 1, Some(2)),
    Chosen { stable: Some(1), ..chosen("aten.sort.stable", 2, Some(3)) },
    Chosen { ordered: Some(4), ..chosen("aten.topk.default", 2, Some(3)) },
    Chosen { counted: true, ..chosen("aten.kthvalue.default", 2, None) },
    chosen("aten.cummax.default", 1, None),
    chosen("aten.cummin.default", 1, None),
];

/// Returns what the second result of an operator says of its first.
pub fn chosen_by(target: &str) -> Option<&'static Chosen> {
    CHOSEN.iter().find(|one| one.target == target)
}

/// Where a function of an operand ends.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Edge {
    /// It has none at 0.
    Zero,
    /// It has none at 0, and below.
    Positive,
    /// It has none below 0.
    Negative,
    /// It has none at -1, and below.
    AboveMinusOne,
    /// It has none at another place, or at one that depends on more than this.
    Elsewhere,
}

/// Functions that end somewhere, and which operand says where.
const EDGES: &[(Edge, usize, &[&str])] = &[
    (
        Edge::Positive,
        0,
        &[
            "aten.log.default",
            "aten.log2.default",
            "aten.log10.default",
            "aten.rsqrt.default",
            "prims.log.default",
            "prims.log2.default",
            "prims.log10.default",
            "prims.rsqrt.default",
            "aten.pow.Tensor_Tensor",
            "prims.pow.default",
            "aten.float_power.Tensor_Tensor",
            "aten._foreach_log.default",
            "aten._foreach_log2.default",
            "aten._foreach_log10.default",
            "aten._foreach_rsqrt.default",
        ],
    ),
    (
        Edge::Elsewhere,
        1,
        &[
            "aten.pow.Tensor_Tensor",
            "prims.pow.default",
            "aten.float_power.Tensor_Tensor",
            "aten.float_power.Scalar",
            "aten.logit_backward.default",
            "aten._foreach_pow.List",
            "aten._foreach_pow.ScalarAndTensor",
        ],
    ),
    // What is divided by the root of it and a little more.
    (
        Edge::Negative,
        4,
        &[
            "aten.batch_norm.default",
            "aten.instance_norm.default",
            "aten.native_batch_norm.default",
            "aten._native_batch_norm_legit.default",
            "aten._native_batch_norm_legit_no_training.default",
            "aten._batch_norm_no_update.default",
        ],
    ),
    (Edge::Negative, 0, &["aten.sqrt.default", "prims.sqrt.default", "aten._foreach_sqrt.default"]),
    (Edge::Zero, 0, &["aten.reciprocal.default", "prims.reciprocal.default", "aten._foreach_reciprocal.default"]),
    (
        Edge::Zero,
        1,
        &[
            "aten.div.Scalar",
            "aten.div.Tensor",
            "aten.true_divide.Scalar",
            "aten.true_divide.Tensor",
            "aten.divide.Scalar",
            "aten.divide.Tensor",
            "aten.div.Tensor_mode",
            "prims.div.default",
            "aten._foreach_div.List",
            "aten._foreach_div.Scalar",
            "aten._foreach_div.ScalarList",
            "aten._foreach_div.Tensor",
        ],
    ),
    (
        Edge::Zero,
        2,
        &[
            "aten.addcdiv.default",
            "aten._foreach_addcdiv.Scalar",
            "aten._foreach_addcdiv.ScalarList",
            "aten._foreach_addcdiv.Tensor",
        ],
    ),
    (
        Edge::Positive,
        1,
        &[
            "aten.xlogy.Tensor",
            "aten.xlogy.Scalar_Self",
            "aten.special_xlogy.default",
            "aten.special_xlogy.self_scalar",
        ],
    ),
    (
        Edge::AboveMinusOne,
        0,
        &["aten.log1p.default", "aten.special_log1p.default", "prims.log1p.default", "aten._foreach_log1p.default"],
    ),
    (
        Edge::Elsewhere,
        0,
        &[
            "aten.logit.default",
            "aten.float_power.Tensor_Scalar",
            "aten.arccos.default",
            "aten.arcsin.default",
            "aten.arccosh.default",
            "aten.arctanh.default",
            "aten._foreach_acos.default",
            "aten._foreach_asin.default",
            "aten._foreach_tan.default",
            "aten._foreach_lgamma.default",
            "aten._foreach_pow.List",
            "aten._foreach_pow.Scalar",
            "aten._foreach_pow.ScalarList",
            "aten.acos.default",
            "aten.asin.default",
            "aten.acosh.default",
            "aten.atanh.default",
            "aten.tan.default",
            "aten.lgamma.default",
            "aten.digamma.default",
            "aten.polygamma.default",
            "aten.mvlgamma.default",
            "aten.erfinv.default",
            "aten.special_logit.default",
            "aten.special_gammaln.default",
            "aten.special_digamma.default",
            "aten.special_psi.default",
            "aten.special_polygamma.default",
            "aten.special_multigammaln.default",
            "aten.special_erfinv.default",
            "aten.special_ndtri.default",
            "aten.special_modified_bessel_k0.default",
            "aten.special_modified_bessel_k1.default",
            "aten.special_scaled_modified_bessel_k0.default",
            "aten.special_scaled_modified_bessel_k1.default",
            "aten.special_bessel_y0.default",
            "aten.special_bessel_y1.default",
            "prims.acos.default",
            "prims.asin.default",
            "prims.acosh.default",
            "prims.atanh.default",
            "prims.tan.default",
            "prims.lgamma.default",
            "prims.digamma.default",
            "prims.erf_inv.default",
        ],
    ),
];

/// Functions that leap where a number is next to 0, or next to another operand, which a rounding may take to the other side: of an operand.
const LEAPS: &[(usize, &[&str])] = &[
    (
        0,
        &[
            "aten.angle.default",
            "aten.xlogy.Tensor",
            "aten.xlogy.Scalar_Other",
            "aten.special_xlogy.default",
            "aten.special_xlogy.other_scalar",
            "aten.special_xlog1py.default",
            "aten.special_xlog1py.other_scalar",
        ],
    ),
    (
        1,
        &[
            "aten.copysign.Tensor",
            "aten.hardshrink_backward.default",
            "aten.hardsigmoid_backward.default",
            "aten.hardswish_backward.default",
            "aten.hardtanh_backward.default",
            "aten.hinge_embedding_loss.default",
            "aten.leaky_relu_backward.default",
            "aten.rrelu_with_noise_backward.default",
            "aten.softshrink_backward.default",
            "aten.threshold_backward.default",
        ],
    ),
    (5, &["aten.elu_backward.default"]),
];

/// Operators that are another function beyond a threshold: of which operand, and which argument the threshold is. What they leap by there is `exp(-threshold)`.
const SWITCHES: &[(&str, usize, usize)] = &[("aten.softplus.default", 0, 2), ("aten.softplus_backward.default", 1, 3)];

/// Returns of which operand an operator is another function beyond a threshold, and which argument that is.
pub fn threshold_of(target: &str) -> Option<(usize, usize)> {
    SWITCHES.iter().find(|(one, ..)| *one == target).map(|(_, x, at)| (*x, *at))
}

/// Functions that leave their dtype over a whole part of the working range, of which no bounds are known.
const GROWING: &[&str] = &[
    "aten.pow.Scalar",
    "aten.pow.Tensor_Tensor",
    "aten.float_power.Scalar",
    "aten.float_power.Tensor_Tensor",
    "aten.ldexp.Tensor",
    "aten.special_erfcx.default",
    "aten.special_i0.default",
    "aten.i0.default",
];

/// Returns whether what an operator gives may be infinite over a whole part of the working range.
pub fn grows(target: &str) -> bool {
    GROWING.contains(&target)
}

/// Slopes and scales: which arguments of an operator multiply, or divide, what it gives.
const MULTIPLIERS: &[(&str, &[usize])] = &[
    ("aten.leaky_relu.default", &[1]),
    ("aten.elu.default", &[1, 2, 3]),
    ("aten.celu.default", &[1]),
    ("aten._foreach_mul.Scalar", &[1]),
    ("aten._foreach_div.Scalar", &[1]),
];

/// Returns which arguments of an operator, products and quotients aside, multiply what it gives.
pub fn multipliers(target: &str) -> &'static [usize] {
    MULTIPLIERS.iter().find(|(one, _)| *one == target).map_or(&[], |(_, all)| *all)
}

/// Operators that divide by how many elements there are, less an argument of that name.
const CORRECTED: &[&str] =
    &["aten.var.correction", "aten.std.correction", "aten.var_mean.correction", "aten.std_mean.correction"];

/// Returns whether an operator divides by how many elements of `dim` there are, less its `correction`.
pub fn is_corrected(target: &str) -> bool {
    CORRECTED.contains(&target)
}

/// Norms to a power, and which argument that is: to 0 they count, and less ends at 0.
const NORMS: &[(&str, usize)] = &[
    ("aten.linalg_vector_norm.default", 1),
    ("aten.norm.Scalar", 1),
    ("aten.norm.ScalarOpt_dtype", 1),
    ("aten.norm.ScalarOpt_dim", 1),
    ("aten.norm.ScalarOpt_dim_dtype", 1),
    ("aten._foreach_norm.Scalar", 1),
    ("aten.dist.default", 2),
    ("aten.cdist.default", 2),
    ("aten._cdist_forward.default", 2),
    ("aten.pairwise_distance.default", 2),
    ("aten.triplet_margin_loss.default", 4),
];

/// Returns which argument of an operator is the power of a norm.
pub fn norm_power(target: &str) -> Option<usize> {
    NORMS.iter().find(|(one, _)| *one == target).map(|(_, k)| *k)
}

/// Operators that look elements up at places that their second operand gives, the nearest ones where their third is 1.
const SAMPLERS: &[&str] =
    &["aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default"];

/// Returns whether an operator looks elements up at places that are numbers.
pub fn is_sampler(target: &str) -> bool {
    SAMPLERS.contains(&target)
}

/// Functions that are defined everywhere, though their definitions divide or take logarithms.
const EVERYWHERE: &[&str] = &[
    "aten.logsumexp.default",
    "aten.special_logsumexp.default",
    "aten.logcumsumexp.default",
    "aten.logaddexp.default",
    "aten.logaddexp2.default",
    "aten.sinc.default",
    "aten.special_sinc.default",
];

/// Returns whether an operator is defined for every number, whatever its definition says.
pub fn is_defined_everywhere(target: &str) -> bool {
    EVERYWHERE.contains(&target)
}

/// Returns where what an operator computes of one of its operands ends, powers to a number aside.
pub fn edge_of(target: &str, operand: usize) -> Option<Edge> {
    let leaps = LEAPS.iter().any(|(k, all)| *k == operand && all.contains(&target));
    let ends = || EDGES.iter().find(|(_, k, all)| *k == operand && all.contains(&target)).map(|(edge, ..)| *edge);
    if leaps { Some(Edge::Elsewhere) } else { ends() }
}

/// Operators whose results are finite or NaN, whatever they are given.
const FINITE: &[&str] = &[
    "aten.softmax.int",
    "aten._softmax.default",
    "aten._safe_softmax.default",
    "aten.asin.default",
    "aten.acos.default",
    "aten.atan.default",
    "aten.atan2.default",
];

/// Returns whether what an operator gives is never infinite, whatever it is given.
pub fn is_never_infinite(target: &str) -> bool {
    FINITE.contains(&target)
        || matches!(real(target), Some(Real::Sigmoid | Real::Tanh | Real::Erf | Real::Erfc | Real::Sin | Real::Cos))
}

/// The operand of attention that stands within a softmax alone.
const WITHIN_SOFTMAX: &[(&str, &str)] = &[("aten.scaled_dot_product_attention.default", "attn_mask")];

/// Returns whether an operand of an operator, by name, never makes its result infinite.
pub fn is_within_softmax(target: &str, operand: &str) -> bool {
    WITHIN_SOFTMAX.contains(&(target, operand))
}

/// What gives a number where an operand is NaN, and which one depends on where that is.
const HIDES_NAN: &[&str] = &[
    "aten.fmax.default",
    "aten.fmin.default",
    "aten.msort.default",
    "aten.nan_to_num.default",
    "aten.nanmean.default",
    "aten.nansum.default",
];

/// Returns whether an operator gives a number where an operand is NaN.
pub fn hides_nan(target: &str) -> bool {
    HIDES_NAN.contains(&target)
}

static BY_TARGET: LazyLock<FxHashMap<&'static str, Meaning>> =
    LazyLock::new(|| TABLE.iter().flat_map(|(m, targets)| targets.iter().map(|t| (*t, *m))).collect());

/// Returns what an operator does to elements.
pub fn meaning(target: &str) -> Option<Meaning> {
    BY_TARGET.get(target).copied()
}

/// Returns how what is written to one place is joined, by the word of a reduction: of those that take one of the elements.
pub fn joined_by(word: &str) -> Option<Fold> {
    match word {
        "amax" => Some(Fold::Most),
        "amin" => Some(Fold::Least),
        _ => None,
    }
}

/// Returns the quotient of integers that a rounding mode names.
pub fn rounding(mode: &str) -> Option<Op> {
    match mode {
        "floor" => Some(Op::DivFloor),
        "trunc" => Some(Op::DivTrunc),
        _ => None,
    }
}
