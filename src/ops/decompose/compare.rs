//! Comparisons, and choices by them.

use super::activation::is_real_float;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, isclose, &["aten.isclose.default"]),
    (Exact, |b| done![b.t(0)?.call("ne.Tensor", args![b.t(0)?])], &["aten.isnan.default"]),
    (Exact, isinf, &["aten.isinf.default"]),
    (Exact, isin, &["aten.isin.Tensor_Tensor"]),
    (Exact, isin_number, &["aten.isin.Tensor_Scalar"]),
    (Exact, isreal, &["aten.isreal.default"]),
    (Exact, isfinite, &["aten.isfinite.default"]),
    (Exact, |b| infinite(b, f64::INFINITY), &["aten.isposinf.default"]),
    (Exact, |b| infinite(b, f64::NEG_INFINITY), &["aten.isneginf.default"]),
    (Exact, choose, &["aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar"]),
];

fn isinf(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.dtype().is_float(), "this dtype")?;
    done![x.op("abs").call("eq", args![f64::INFINITY])]
}

/// `a == b`, or both NaN where asked for, or `|a - b| <= atol + |rtol * b|` and finite.
fn isclose(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    let (rtol, atol) = (b.float(2)?, b.float(3)?);
    let plain = |d: Dtype| d.is_float() || d.is_integer();
    b.only(plain(x.dtype()) && x.dtype() == y.dtype(), "these dtypes")?;
    let is_float = x.dtype().is_float();
    let mut close = x.call("eq.Tensor", args![y]);
    if b.flag(4)? && is_float {
        let nans = x.op("isnan").call("logical_and", args![y.op("isnan")]);
        close = close.call("logical_or", args![nans]);
    }
    if rtol == 0.0 && atol == 0.0 {
        return done![close];
    }
    let y = if is_float { y } else { y.to(Dtype::F32) };
    let allowed = (y * rtol).op("abs") + atol;
    let actual = (x - y).op("abs");
    let near = actual.op("isfinite").call("logical_and", args![actual.call("le.Tensor", args![allowed])]);
    done![close.call("logical_or", args![near])]
}

/// Each element against all of the others.
fn isin(b: &Builder<'_>) -> Made {
    let (x, among) = (b.t(0)?, b.t(1)?);
    // One without dimensions is converted to the other's dtype, and has some here.
    let alike = x.dtype() == among.dtype() || x.rank() > 0 && among.rank() > 0;
    b.only(alike, "these dtypes, one without dimensions")?;
    let equal = x.unsqueeze(x.dims()).call("eq.Tensor", args![among.reshape(vec![Arg::Int(-1)])]);
    let found = equal.call("any.dim", args![x.dims()]);
    done![if b.flag("invert")? { found.op("logical_not") } else { found }]
}

fn isin_number(b: &Builder<'_>) -> Made {
    let target = if b.flag("invert")? { "ne.Scalar" } else { "eq.Scalar" };
    done![b.t(0)?.call(target, args![b.arg(1)])]
}

fn isreal(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    if x.dtype().is_complex() {
        return done![x.op("imag").call("eq", args![0])];
    }
    done![x.call("ones_like", args![; dtype = Dtype::Bool])]
}

fn isfinite(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    if !is_real_float(x) {
        return done![x.call("ones_like", args![; dtype = Dtype::Bool])];
    }
    let known = x.call("eq.Tensor", args![x]);
    done![known.call("mul.Tensor", args![x.op("abs").call("ne", args![f64::INFINITY])])]
}

fn infinite(b: &Builder<'_>, which: f64) -> Made {
    let x = b.t(0)?;
    if !is_real_float(x) {
        return done![x.call("zeros_like", args![; dtype = Dtype::Bool])];
    }
    done![x.call("eq", args![which])]
}

/// A number becomes a tensor of the result's dtype.
fn choose(b: &Builder<'_>) -> Made {
    let dtype = b.own_tensor()?.dtype;
    let operand = |i: usize| match b.arg(i) {
        Arg::Node(_) => b.t(i).map(|t| t.to(dtype)),
        number => Ok(b.op("scalar_tensor", args![number; dtype = dtype])),
    };
    done![b.op("where.self", args![b.t(0)?, operand(1)?, operand(2)?])]
}
