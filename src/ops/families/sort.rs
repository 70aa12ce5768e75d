//! Sorting and what counts or finds by value.

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (sort, &["aten.sort.default", "aten.sort.stable"]),
    (argsort, &["aten.argsort.default", "aten.argsort.stable"]),
    (msort, &["aten.msort.default"]),
    (topk, &["aten.topk.default"]),
    (nonzero, &["aten.nonzero.default"]),
    (nonzero_static, &["aten.nonzero_static.default"]),
    (nonzero_numpy, &["aten.nonzero_numpy.default"]),
    (unique, &["aten._unique2.default", "aten.unique_consecutive.default"]),
    (unique_dim, &["aten.unique_dim.default"]),
    (search, &["aten.searchsorted.Tensor", "aten.searchsorted.Scalar"]),
    (bucketize, &["aten.bucketize.Tensor"]),
    (bincount, &["aten.bincount.default"]),
    (histogram, &["aten.histc.default"]),
    (
        quantile,
        &["aten.quantile.default", "aten.quantile.scalar", "aten.nanquantile.default", "aten.nanquantile.scalar"],
    ),
];

fn place(c: &Call<'_>, name: &str) -> usize {
    c.operator.schema.param_index(name).unwrap_or(usize::MAX)
}

fn sorted(c: &mut Call<'_>, t: &TensorType, dtype: Dtype) -> Typed {
    let strides = layout::preserved(c.symbols, t)?;
    Ok(out::strided(dtype, t.sizes.clone(), strides, t.device.clone()))
}

fn sort(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    c.axis(place(c, "dim"), t.rank())?;
    Ok(out::many([sorted(c, t, t.dtype)?, sorted(c, t, Dtype::I64)?]))
}

fn argsort(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    c.axis(place(c, "dim"), t.rank())?;
    sorted(c, t, Dtype::I64)
}

fn msort(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    sorted(c, t, t.dtype)
}

fn topk(c: &mut Call<'_>) -> Typed {
    let (t, k) = (c.tensor(0)?, c.dim(1)?);
    let d = c.axis(2, t.rank())?;
    let size = t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    if sizes::less(c.symbols, size, k) == Some(true) || k.fixed().is_some_and(|n| n < 0) {
        return Err(c.bad(1, format!("at most {}", c.symbols.print_python(size)), c.symbols.print_python(k)));
    }
    let mut left = t.sizes.clone();
    if let Some(slot) = left.get_mut(d) {
        *slot = k;
    }
    let one = |c: &mut Call<'_>, dtype| out::contiguous(c.symbols, dtype, left.clone(), t.device.clone());
    Ok(out::many([one(c, t.dtype)?, one(c, Dtype::I64)?]))
}

/// Written column by column: dimension 0 is innermost.
fn nonzero(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let found = c.unbacked(0, 0);
    let rank = Dim::Fixed(i64::try_from(t.rank()).unwrap_or(0));
    let strides = smallvec::smallvec![Dim::Fixed(1), found];
    Ok(out::strided(Dtype::I64, smallvec::smallvec![found, rank], Some(strides), t.device.clone()))
}

fn nonzero_static(c: &mut Call<'_>) -> Typed {
    let (t, size) = (c.tensor(0)?, c.dim(1)?);
    let rank = Dim::Fixed(i64::try_from(t.rank()).unwrap_or(0));
    out::contiguous(c.symbols, Dtype::I64, smallvec::smallvec![size, rank], t.device.clone())
}

fn nonzero_numpy(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let found = c.unbacked(0, 0);
    columns(c, t, found)
}

/// Columns of one result of `nonzero`, which lie one behind the other.
pub(in crate::ops) fn columns(c: &mut Call<'_>, t: &TensorType, found: Dim) -> Typed {
    let (mut all, mut offset) = (Vec::new(), Dim::Fixed(0));
    for _ in 0..t.rank().max(1) {
        let strides = Some(smallvec::smallvec![Dim::Fixed(1)]);
        let one = out::tensor(Dtype::I64, smallvec::smallvec![found], strides, t.device.clone());
        all.push(ValueType::tensor(TensorType { offset, ..one }));
        offset = sizes::add(c.symbols, offset, found)?;
    }
    Ok(out::many(all))
}

fn unique(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if let Some(place) = c.operator.schema.param_index("dim")
        && !c.is_none(place)
    {
        let d = c.axis(place, t.rank())?;
        // Dimension 0 of a vector, written so, is as if none were given.
        if &*c.operator.schema.name != "unique_consecutive" || t.rank() != 1 || c.int(place)? != 0 {
            return unique_along(c, d);
        }
    }
    let found = c.unbacked(0, 0);
    let flag = |name| c.operator.schema.param_index(name).map_or(Ok(false), |i| c.bool(i));
    let (inverse, counts) = (flag("return_inverse")?, flag("return_counts")?);
    let mut make = |dtype, dims: Sizes| out::contiguous(c.symbols, dtype, dims, t.device.clone());
    let none: Sizes = smallvec::smallvec![Dim::Fixed(0)];
    let values = make(t.dtype, smallvec::smallvec![found])?;
    let inverse = make(Dtype::I64, if inverse { t.sizes.clone() } else { none.clone() })?;
    let counts = make(Dtype::I64, if counts { smallvec::smallvec![found] } else { none })?;
    Ok(out::many([values, inverse, counts]))
}

fn unique_dim(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let d = c.axis(1, t.rank())?;
    unique_along(c, d)
}

/// Along a dimension inverse and counts are given whether asked for or not.
fn unique_along(c: &mut Call<'_>, d: usize) -> Typed {
    let t = c.tensor(0)?;
    let found = c.unbacked(0, d);
    let mut left = t.sizes.clone();
    let mut size = Dim::Fixed(0);
    if let Some(slot) = left.get_mut(d) {
        size = *slot;
        *slot = found;
    }
    let mut make = |dtype, dims: Sizes| out::contiguous(c.symbols, dtype, dims, t.device.clone());
    let values = make(t.dtype, left)?;
    let inverse = make(Dtype::I64, smallvec::smallvec![size])?;
    let counts = make(Dtype::I64, smallvec::smallvec![found])?;
    Ok(out::many([values, inverse, counts]))
}

fn found_places(c: &mut Call<'_>, of: Operand<'_>, like: &TensorType) -> Typed {
    let dtype = if c.bool(place(c, "out_int32"))? { Dtype::I32 } else { Dtype::I64 };
    match of {
        Operand::Tensor(t) => out::contiguous(c.symbols, dtype, t.sizes.clone(), t.device.clone()),
        Operand::Number(_) => out::contiguous(c.symbols, dtype, Sizes::new(), like.device.clone()),
    }
}

fn search(c: &mut Call<'_>) -> Typed {
    let (sequence, values) = (c.tensor(0)?, c.operand(1)?);
    found_places(c, values, sequence)
}

fn bucketize(c: &mut Call<'_>) -> Typed {
    let (values, boundaries) = (c.operand(0)?, c.tensor(1)?);
    found_places(c, values, boundaries)
}

fn bincount(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if t.sizes.contains(&Dim::Fixed(0)) {
        let least = c.dim(2)?;
        return out::contiguous(c.symbols, Dtype::I64, smallvec::smallvec![least], t.device.clone());
    }
    let dtype = match c.opt_tensor(1)? {
        Some(w) if w.dtype == Dtype::F32 => Dtype::F32,
        Some(_) => Dtype::F64,
        None => Dtype::I64,
    };
    let found = c.unbacked(0, 0);
    out::contiguous(c.symbols, dtype, smallvec::smallvec![found], t.device.clone())
}

fn histogram(c: &mut Call<'_>) -> Typed {
    let (t, bins) = (c.tensor(0)?, c.dim(1)?);
    out::contiguous(c.symbols, t.dtype, smallvec::smallvec![bins], t.device.clone())
}

/// The quantiles stand first, where there is more than a number of them.
fn quantile(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if !matches!(t.dtype, Dtype::F32 | Dtype::F64) {
        return Err(c.bad(0, "f32 or f64", t.dtype.long()));
    }
    let mut dims = Sizes::new();
    if c.operator.schema.params.get(1).is_some_and(|p| p.ty.holds_tensors()) {
        let q = c.tensor(1)?;
        if q.rank() > 1 || q.dtype != t.dtype {
            return Err(c.bad(1, "at most 1 dimension, of the first tensor's dtype", sizes::show(c.symbols, &q.sizes)));
        }
        dims.extend(q.sizes.iter().copied());
    } else if c.float(1).is_some_and(|q| !(0.0..=1.0).contains(&q)) {
        return Err(c.bad(1, "0 to 1", c.float(1).unwrap_or_default().to_string()));
    }
    if !matches!(c.text(4), "linear" | "lower" | "higher" | "midpoint" | "nearest") {
        return Err(c.bad(4, "a way to interpolate", format!("'{}'", c.text(4))));
    }
    let (along, keep) = (if c.is_none(2) { None } else { Some(c.axis(2, t.rank())?) }, c.bool(3)?);
    for (d, size) in t.sizes.iter().enumerate() {
        match along.is_none_or(|a| a == d) {
            true if keep => dims.push(Dim::Fixed(1)),
            true => {}
            false => dims.push(*size),
        }
    }
    // Values are gathered along the last dimension and brought back: other layouts than row by row occur.
    let row = dims.len() <= 1;
    match row {
        true => out::contiguous(c.symbols, t.dtype, dims, t.device.clone()),
        false => Ok(out::strided(t.dtype, dims, None, t.device.clone())),
    }
}
