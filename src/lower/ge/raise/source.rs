//! What has no inputs: Data and constants.

use std::rc::Rc;

use super::attributes::is_on_host;
use super::types::of_proto;
use crate::graph::{Arg, Dtype, NodeId, ValueType};
use crate::lower::ge::define::{Build, Numbers, Undefined, Value};
use crate::lower::ge::proto::{AttrDef, Value as Attr};
use crate::lower::ge::written::{WrittenDesc, WrittenOp};
use crate::sym::Dim;

fn undefined<T>(why: String) -> Result<T, Undefined> {
    Err(Undefined(why))
}

/// Returns what a Data gives, of what the host passes it.
pub fn data(b: &mut Build<'_>, op: &WrittenOp<'_>, from: &str, inputs: &[NodeId]) -> Result<Value, Undefined> {
    let Some(desc) = op.output_desc.first() else { return undefined("a Data without output".into()) };
    let input = |text: &str| text.parse::<usize>().ok().and_then(|i| inputs.get(i)).copied();
    // What is no tensor the host holds; a tensor is where the graph has it, and what was exported on the device.
    let whole = from.strip_prefix("contiguous(").and_then(|f| f.strip_suffix(')')).unwrap_or(from);
    let tensor = whole.strip_prefix("fx:").and_then(input).and_then(|n| b.tensor(n).ok());
    let stays = tensor.is_none_or(|t| b.graph.signature.is_none() && &*t.device.kind == "cpu");
    if is_on_host(op) != stays {
        return undefined(format!("the host passes `{from}` to the other side"));
    }
    if let Some(fx) = from.strip_prefix("fx:").and_then(input) {
        agree(b, desc, fx)?;
        return Ok(fx.into());
    }
    if let Some(fx) = from.strip_prefix("contiguous(fx:").and_then(|f| f.strip_suffix(')')).and_then(input) {
        agree(b, desc, fx)?;
        let named = vec![("memory_format", Arg::MemoryFormat(crate::graph::MemoryFormat::Contiguous))];
        return Ok(b.call_with("aten.clone.default", vec![Arg::Node(fx)], named)?.into());
    }
    if let Some(fx) = from.strip_prefix("sym:").and_then(input) {
        let plain = desc.sizes().is_empty();
        if of_proto(desc.dtype) != Some(Dtype::I64) || !plain {
            return undefined("a symbol that is no int64 scalar".into());
        }
        return Ok(Value::scalar(Dtype::I64, Arg::Node(fx)));
    }
    if let Some(list) = from.strip_prefix("pack:") {
        let all: Option<Vec<NodeId>> = list.split(',').map(input).collect();
        let Some(all) = all else { return undefined(format!("the host passes `{from}`")) };
        let dims = desc.sizes();
        if of_proto(desc.dtype) != Some(Dtype::I64) || dims != [i64::try_from(all.len()).unwrap_or(-1)] {
            return undefined("a list of symbols of another type or length".into());
        }
        return Ok(Value::list(Dtype::I64, all.into_iter().map(Arg::Node).collect()));
    }
    undefined(format!("the host passes `{from}`, of which nothing is defined"))
}

/// Refuses a Data of another type than the input: fixed sizes are the same, and -1 stands where the input has a symbol.
fn agree(b: &Build<'_>, desc: &WrittenDesc<'_>, input: NodeId) -> Result<(), Undefined> {
    use crate::graph::View;
    let ValueType::Tensor(ty) = b.graph.ty(input) else { return undefined("an input that is no tensor".into()) };
    let dims = desc.sizes();
    let same = dims.len() == ty.rank()
        && dims.iter().zip(&ty.sizes).all(|(d, s)| match s {
            Dim::Fixed(n) => d == n,
            Dim::Expr(_) => *d == -1,
        });
    if of_proto(desc.dtype) != Some(ty.dtype) || !same {
        return undefined(format!("a Data of {dims:?} for an input of {}", ty.print(&b.graph.symbols)));
    }
    Ok(())
}

/// Returns the numbers of a constant.
pub fn constant(op: &WrittenOp<'_>) -> Result<Value, Undefined> {
    let Some(AttrDef { value: Some(Attr::T(tensor)) }) = op.attr.get("value") else {
        return undefined("a constant without value".into());
    };
    let said = tensor.desc.as_ref().map_or(0, |d| d.dtype);
    let Some(dtype) = of_proto(said) else { return undefined("a constant of a type that PyTorch lacks".into()) };
    if op.output_desc.first().map(|d| d.dtype) != Some(said) {
        return undefined("a constant of another type than its descriptor's".into());
    }
    let dims = tensor.desc.as_ref().and_then(|d| d.shape.as_ref()).map(|s| s.dim.clone()).unwrap_or_default();
    let Some(items) = elements(dtype, &tensor.data) else { return undefined(format!("a constant of {dtype}")) };
    let count = dims.iter().try_fold(1_i64, |n, d| n.checked_mul(*d));
    if count.and_then(|c| usize::try_from(c).ok()) != Some(items.len()) {
        return undefined("a constant with other bytes than its sizes need".into());
    }
    Ok(Value::Numbers(Rc::new(Numbers { dtype, dims, items })))
}

fn elements(dtype: Dtype, bytes: &[u8]) -> Option<Vec<Arg>> {
    fn each<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> Arg) -> Option<Vec<Arg>> {
        let chunks = bytes.chunks_exact(N);
        if !chunks.remainder().is_empty() {
            return None;
        }
        chunks.map(|c| c.try_into().ok().map(&read)).collect()
    }
    match dtype {
        Dtype::Bool => each::<1>(bytes, |b| Arg::Bool(b != [0])),
        Dtype::U8 => each::<1>(bytes, |b| Arg::Int(i64::from(u8::from_le_bytes(b)))),
        Dtype::I8 => each::<1>(bytes, |b| Arg::Int(i64::from(i8::from_le_bytes(b)))),
        Dtype::I16 => each::<2>(bytes, |b| Arg::Int(i64::from(i16::from_le_bytes(b)))),
        Dtype::I32 => each::<4>(bytes, |b| Arg::Int(i64::from(i32::from_le_bytes(b)))),
        Dtype::I64 => each::<8>(bytes, |b| Arg::Int(i64::from_le_bytes(b))),
        Dtype::F16 => each::<2>(bytes, |b| Arg::Float(half::f16::from_le_bytes(b).to_f64())),
        Dtype::Bf16 => each::<2>(bytes, |b| Arg::Float(half::bf16::from_le_bytes(b).to_f64())),
        Dtype::F32 => each::<4>(bytes, |b| Arg::Float(f64::from(f32::from_le_bytes(b)))),
        Dtype::F64 => each::<8>(bytes, |b| Arg::Float(f64::from_le_bytes(b))),
        Dtype::C64 => each::<8>(bytes, |[a, b, c, d, e, f, g, h]| {
            let (real, imag) = (f32::from_le_bytes([a, b, c, d]), f32::from_le_bytes([e, f, g, h]));
            // One that is real is written as such.
            if imag.to_bits() == 0 { Arg::Float(real.into()) } else { Arg::Complex(real.into(), imag.into()) }
        }),
        Dtype::C128 => each::<16>(bytes, |b| {
            let (real, imag) = b.split_at(8);
            let part = |bytes: &[u8]| bytes.try_into().map_or(f64::NAN, f64::from_le_bytes);
            let (real, imag) = (part(real), part(imag));
            if imag.to_bits() == 0 { Arg::Float(real) } else { Arg::Complex(real, imag) }
        }),
        _ => None,
    }
}
