//! Functions of one operand, element by element.

use super::cx::Cx;
use super::kernels::Entry;
use super::lane::{LaneKind, with_lane};
use super::map::map1;
use super::value::Value;
use crate::ops::Fault;

pub(super) const KERNELS: &[Entry] = &[(neg, &["aten.neg.default", "prims.neg.default"]), (exp, &["aten.exp.default"])];

type Made = Result<Value, Fault>;

fn neg(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let x = cx.operand(0)?;
    with_lane!(meta.dtype, L => map1(cx, &meta, x, meta.dtype, |v: L| super::lane::Lane::negate(v))).map(Value::Tensor)
}

fn exp(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let (x, dtype) = (cx.operand(0)?, meta.dtype);
    let out = match LaneKind::of(dtype) {
        LaneKind::F32 => map1(cx, &meta, x, dtype, f32::exp),
        LaneKind::F64 => map1(cx, &meta, x, dtype, f64::exp),
        LaneKind::C64 => map1(cx, &meta, x, dtype, |v: super::lane::C64| v.exp()),
        LaneKind::C128 => map1(cx, &meta, x, dtype, |v: super::lane::C128| v.exp()),
        LaneKind::I64 => Err(Fault::Unsupported { what: format!("exp in {}", dtype.long()) }),
    };
    out.map(Value::Tensor)
}
