//! Views of complex tensors: lazy conjugation and negation, and the real and imaginary parts.
//!
//! Promises: conjugating is a mark, not a copy; a part of a conjugated tensor is a view too, its imaginary one lazily negated.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (conj, &["aten._conj.default", "aten.conj.default", "aten.adjoint.default"]),
    (resolve_conj, &["aten.resolve_conj.default"]),
    (resolve_neg, &["aten.resolve_neg.default"]),
    (as_real, &["aten.view_as_real.default"]),
    (as_complex, &["aten.view_as_complex.default"]),
    (part, &["aten.real.default", "aten.imag.default"]),
];

fn conj(cx: &mut Cx<'_, '_, '_>) -> Made {
    let mut t = cx.tensor(0)?.with_meta(cx.meta()?)?;
    t.conj ^= t.dtype().is_complex();
    Ok(t.into())
}

fn resolve_conj(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.conj { resolved(cx, t) } else { Ok(t.clone().into()) }
}

fn resolve_neg(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.neg { resolved(cx, t) } else { Ok(t.clone().into()) }
}

/// What `clone` makes of it, which carries marks out.
fn resolved(cx: &mut Cx<'_, '_, '_>, t: &Tensor) -> Made {
    cx.run("aten.clone.default", &[t.clone().into()])
}

fn as_real(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if t.conj {
        return Err(cx.bad(0, "a tensor that is not lazily conjugated (resolve_conj makes one)", "a lazy conjugate"));
    }
    Ok(t.with_meta(cx.meta()?)?.into())
}

fn as_complex(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    // A dimension of size 1 has no pitch that could be odd.
    let even = |(size, stride): (&usize, &usize)| *size == 1 || stride.is_multiple_of(2);
    let rest = t.rank().saturating_sub(1);
    let paired = t.meta.stride(rest) == 1 && t.sizes().iter().zip(&t.meta.strides).take(rest).all(even);
    if !paired || !t.meta.offset.is_multiple_of(2) {
        let found = format!("strides {:?}, offset {}", t.meta.strides.as_slice(), t.meta.offset);
        return Err(cx.bad(0, "a last stride of 1, and an even offset and other strides", found));
    }
    Ok(t.with_meta(cx.meta()?)?.into())
}

fn part(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    if !t.dtype().is_complex() {
        return Ok(t.clone().into());
    }
    let mut out = t.with_meta(cx.meta()?)?;
    let imaginary = &*cx.operator.schema.name == "imag";
    out.neg = t.neg ^ (t.conj && imaginary);
    out.conj = false;
    Ok(out.into())
}
