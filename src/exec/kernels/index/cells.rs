//! Elements at places of a storage, each named by its offset in elements.

use bytemuck::Pod;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::view::fresh;
use crate::exec::tensor::element;
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::lane::Lane;
use crate::exec::tensor::shape::{Runs, Shape};
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

/// Returns what the call writes: the tensor itself if the operator's name ends in `_`, a copy laid out as the rule says otherwise.
pub fn target(cx: &Cx<'_, '_, '_>) -> Result<Tensor, CallFault> {
    let t = cx.tensor(0)?;
    if !cx.operator.schema.name.ends_with('_') {
        return fresh(cx, 0, t);
    }
    if crate::exec::call::overlap::overlaps_itself(t) {
        let found = format!("sizes {:?} with strides {:?}", t.meta.sizes, t.meta.strides);
        return Err(cx.bad(0, "a tensor each of whose elements has its own memory (clone it first)", found));
    }
    if t.conj || t.neg {
        return Err(CallFault::Unsupported {
            what: "writing by index into a lazily conjugated or negated tensor".into(),
        });
    }
    Ok(t.clone())
}

/// Returns a tensor to read while `target` is written: a copy if both share memory.
pub fn apart(cx: &Cx<'_, '_, '_>, t: &Tensor, target: &Tensor) -> Result<Tensor, CallFault> {
    if t.shares_storage(target) { t.resolved(cx.meter()) } else { Ok(t.clone()) }
}

/// Returns the offsets of a tensor's elements in row-major order.
pub fn offsets(meta: &Meta) -> impl Iterator<Item = usize> + '_ {
    let first = meta.offset;
    let runs = Runs::new(&meta.sizes, &meta.strides, 0, meta.numel());
    runs.flat_map(move |r| (0..r.len).map(move |k| first.wrapping_add(r.offset).wrapping_add(k.wrapping_mul(r.step))))
}

/// Returns the elements at these places as they are stored.
pub fn taken<U: Pod + Default>(t: &Tensor, at: &[usize]) -> Result<Vec<U>, CallFault> {
    let bytes = t.storage.len();
    let count = bytes.checked_div(std::mem::size_of::<U>()).unwrap_or(0);
    let memory = Tensor { meta: Meta::contiguous(t.dtype(), &[count]), ..t.clone() };
    let memory = Tensor { conj: false, neg: false, ..memory };
    let all = memory.raw::<U>()?;
    Ok(at.iter().map(|k| all.get(*k).copied().unwrap_or_default()).collect())
}

/// Returns result 0 made of the elements at these places, without lazy marks.
pub fn emit_taken(cx: &Cx<'_, '_, '_>, t: &Tensor, at: &[usize]) -> Result<Value, CallFault> {
    if t.conj || t.neg {
        let meta = Meta::contiguous(t.dtype(), &[at.len()]);
        let lazy = with_width!(t.dtype().bytes(), U => {
            crate::exec::tensor::fill::from_raw::<U>(&meta, taken(t, at)?, cx.meter())
        })?;
        let plain = Tensor { conj: t.conj, neg: t.neg, ..lazy }.resolved(cx.meter())?;
        return with_width!(t.dtype().bytes(), U => cx.emit_raw(plain.raw::<U>()?.into_vec()));
    }
    with_width!(t.dtype().bytes(), U => cx.emit_raw::<U>(taken(t, at)?))
}

/// Overwrites the elements at these places; `values` has as many, of the same dtype, in row-major order.
pub fn overwrite(t: &Tensor, at: &[usize], values: &Tensor) -> Result<(), CallFault> {
    with_width!(t.dtype().bytes(), U => {
        let values = values.raw::<U>()?;
        let mut content = t.storage.write()?;
        let size = std::mem::size_of::<U>();
        let bytes = content.bytes_mut();
        for (k, v) in at.iter().zip(values.iter()) {
            let start = k.saturating_mul(size);
            if let Some(place) = bytes.get_mut(start..start.saturating_add(size)) {
                place.copy_from_slice(bytemuck::bytes_of(v));
            }
        }
        Ok(())
    })
}

/// Changes the elements at these places one after another: each becomes `f(element, value)`, rounded to the dtype.
pub fn update<L: Lane>(t: &Tensor, at: &[usize], values: &[L], f: impl Fn(L, L) -> L) -> Result<(), CallFault> {
    let (dtype, size) = (t.dtype(), t.dtype().bytes());
    let mut content = t.storage.write()?;
    let bytes = content.bytes_mut();
    if dtype == L::DTYPE {
        let whole = bytes.len().saturating_sub(bytes.len().checked_rem(size).unwrap_or(0));
        if let Some(Ok(all)) = bytes.get_mut(..whole).map(bytemuck::try_cast_slice_mut::<u8, L>) {
            for (k, v) in at.iter().zip(values) {
                if let Some(place) = all.get_mut(*k) {
                    *place = f(*place, *v);
                }
            }
            return Ok(());
        }
    }
    for (k, v) in at.iter().zip(values) {
        let start = k.saturating_mul(size);
        let Some(place) = bytes.get_mut(start..start.saturating_add(size)) else { continue };
        let mut one = [L::default()];
        element::read(dtype, place, 1, &mut one);
        let [old] = one;
        element::write(dtype, &[f(old, *v)], 1, place);
    }
    Ok(())
}

/// Returns what storing a value and reading it back gives.
pub fn rounded<L: Lane>(dtype: Dtype, v: L) -> L {
    let (mut bytes, mut out) = ([0_u8; 16], [v]);
    element::write(dtype, &out, 1, &mut bytes);
    element::read(dtype, &bytes, 1, &mut out);
    let [value] = out;
    value
}

/// Which indices a kernel takes.
#[derive(Clone, Copy, PartialEq)]
pub enum Range {
    /// From 0 on.
    Strict,
    /// Negative ones count from the end.
    Wrapping,
}

impl Range {
    /// Returns the place that an index means in a dimension; argument `i` is at fault where it means none.
    pub fn place(self, cx: &Cx<'_, '_, '_>, i: usize, index: i64, size: usize) -> Result<usize, CallFault> {
        let n = i64::try_from(size).unwrap_or(i64::MAX);
        let least = if self == Range::Wrapping { n.saturating_neg() } else { 0 };
        if !(least..n).contains(&index) {
            let expected = format!("indices from {least} to {}", n.saturating_sub(1));
            return Err(cx.bad(i, expected, index.to_string()));
        }
        let at = if index < 0 { index.saturating_add(n) } else { index };
        Ok(usize::try_from(at).unwrap_or(0))
    }
}

/// Returns the strides with that of dimension `d` 0.
pub fn without(strides: &[usize], d: usize) -> Shape {
    strides.iter().enumerate().map(|(k, s)| if k == d { 0 } else { *s }).collect()
}
