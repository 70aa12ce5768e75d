//! Fourier transforms. Results are stored with the transformed dimensions inside, the others as the operand has them.

use smallvec::SmallVec;

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::promote::{to_complex, to_real};
use crate::ops::typing::require::size;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;
type Axes = SmallVec<[usize; 4]>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (complex, &["aten._fft_c2c.default"]),
    (of_reals, &["aten._fft_r2c.default"]),
    (to_reals, &["aten._fft_c2r.default"]),
];

/// Sorts dimensions by falling stride; `None` where strides are not known.
fn sorted(t: &TensorType, dims: &mut [usize]) -> Option<()> {
    let steps: Option<Vec<i64>> = t.strides.as_ref()?.iter().map(|s| s.fixed()).collect();
    let steps = steps?;
    let of = |d: &usize| steps.get(*d).copied().unwrap_or(0);
    dims.sort_by_key(|d| std::cmp::Reverse(of(d)));
    Some(())
}

/// Strides of a transform over `axes`: batches outside, in the operand's order, then the axes.
fn stored(c: &mut Call<'_>, t: &TensorType, dims: &Sizes, axes: &[usize]) -> Result<Option<Sizes>, CallFault> {
    let mut order: Axes = (0..t.rank()).filter(|d| !axes.contains(d)).collect();
    if sorted(t, &mut order).is_none() {
        return Ok(None);
    }
    order.extend(axes.iter().copied());
    layout::dense(c.symbols, dims, order.iter().rev().copied()).map(Some)
}

fn axes(c: &Call<'_>, t: &TensorType) -> Result<Axes, CallFault> {
    let axes = c.axes(1, t.rank())?.unwrap_or_default();
    for d in &axes {
        if t.rank() == 0 || size(t, *d) == Dim::Fixed(0) {
            return Err(c.bad(0, "elements along each transformed dimension", sizes::show(c.symbols, &t.sizes)));
        }
    }
    Ok(axes)
}

fn last(c: &Call<'_>, axes: &[usize]) -> Result<usize, CallFault> {
    axes.last().copied().ok_or_else(|| c.bad(1, "one dimension or more", "none"))
}

fn transformed(
    c: &mut Call<'_>,
    t: &TensorType,
    dims: Sizes,
    axes: &[usize],
    dtype: Dtype,
) -> Result<TensorType, CallFault> {
    let strides = stored(c, t, &dims, axes)?;
    Ok(out::tensor(dtype, dims, strides, t.device.clone()))
}

fn complex(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let mut axes = axes(c, t)?;
    if axes.is_empty() {
        return out::like(c, t.dtype, t);
    }
    let known = sorted(t, &mut axes);
    let mut result = transformed(c, t, t.sizes.clone(), &axes, t.dtype)?;
    result.strides = result.strides.filter(|_| known.is_some());
    Ok(ValueType::tensor(result))
}

fn of_reals(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let mut axes = axes(c, t)?;
    let d = last(c, &axes)?;
    let mut dims = t.sizes.clone();
    if c.bool(3)? {
        let half = sizes::floordiv(c.symbols, size(t, d), Dim::Fixed(2))?;
        if let Some(slot) = dims.get_mut(d) {
            *slot = sizes::add(c.symbols, half, Dim::Fixed(1))?;
        }
    }
    let inner = axes.len().saturating_sub(1);
    let known = axes.get_mut(..inner).and_then(|outer| sorted(t, outer));
    let mut result = transformed(c, t, dims, &axes, to_complex(t.dtype))?;
    result.strides = result.strides.filter(|_| known.is_some());
    Ok(ValueType::tensor(result))
}

/// All but the last dimension by a complex transform first.
fn to_reals(c: &mut Call<'_>) -> Typed {
    let (t, length) = (c.tensor(0)?, c.dim(3)?);
    let mut axes = axes(c, t)?;
    let d = last(c, &axes)?;
    axes.pop();
    c.need_int(3, 1..=i64::MAX)?;
    if let (Some(own), Some(wanted)) = (size(t, d).fixed(), length.fixed()) {
        let whole = own.max(wanted);
        let fits = |n: i64| n == whole || n == (whole / 2).saturating_add(1);
        if !fits(own) || !fits(wanted) {
            return Err(c.bad(3, format!("a length of which {own} is the half spectrum"), wanted.to_string()));
        }
    }
    let mut first = t.clone();
    if !axes.is_empty() {
        let known = sorted(t, &mut axes);
        first = transformed(c, t, t.sizes.clone(), &axes, t.dtype)?;
        first.strides = first.strides.filter(|_| known.is_some());
    }
    let mut dims = t.sizes.clone();
    if let Some(slot) = dims.get_mut(d) {
        *slot = length;
    }
    Ok(ValueType::tensor(transformed(c, &first, dims, &[d], to_real(t.dtype))?))
}
