//! Views of several pieces (`split`, `chunk`, `unbind`), of other dtypes, of complex parts.

use smallvec::SmallVec;

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::families::view::{copied, piece, seen};
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::promote::{to_complex, to_real};
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

/// More pieces than this are not typed.
const MAX_PIECES: i64 = 1 << 16;

pub(in crate::ops) const RULES: &[Entry] = &[
    (split, &["aten.split.Tensor", "aten.unsafe_split.Tensor"]),
    (split_sizes, &["aten.split.sizes", "aten.split_with_sizes.default", "aten.unsafe_split_with_sizes.default"]),
    (chunk, &["aten.chunk.default", "aten.unsafe_chunk.default"]),
    (unbind, &["aten.unbind.int"]),
    (sections, &["aten.tensor_split.sections"]),
    (indices, &["aten.tensor_split.indices"]),
    (|c| copied(split(c), c), &["aten.split_copy.Tensor"]),
    (|c| copied(split_sizes(c), c), &["aten.split_with_sizes_copy.default"]),
    (|c| copied(unbind(c), c), &["aten.unbind_copy.int"]),
    (as_dtype, &["aten.view.dtype"]),
    (|c| copied(as_dtype(c), c), &["aten.view_copy.dtype"]),
    (view_as_real, &["aten.view_as_real.default"]),
    (view_as_complex, &["aten.view_as_complex.default"]),
    (part, &["aten.real.default", "aten.imag.default"]),
];

fn size_at(t: &TensorType, d: usize) -> Dim {
    t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1))
}

fn pieces(c: &mut Call<'_>, t: &TensorType, d: usize, lengths: &[Dim]) -> Typed {
    let mut start = Dim::Fixed(0);
    let mut all = Vec::with_capacity(lengths.len());
    for length in lengths {
        all.push(piece(c, t, d, start, *length)?);
        start = sizes::add(c.symbols, start, *length)?;
    }
    Ok(out::many(all))
}

fn dimension(c: &Call<'_>, i: usize, t: &TensorType) -> Result<usize, CallFault> {
    if t.rank() == 0 {
        return Err(c.bad(0, "a tensor with dimensions", "a scalar"));
    }
    c.axis(i, t.rank())
}

/// Pieces of `length`, the last one shorter.
fn by_length(c: &mut Call<'_>, t: &TensorType, d: usize, length: Dim, count: Option<i64>) -> Typed {
    let size = size_at(t, d);
    if length.fixed().is_some_and(|n| n < 0) || (length == Dim::Fixed(0) && size != Dim::Fixed(0)) {
        return Err(c.bad(1, "a length of 1 or more", c.symbols.print_python(length)));
    }
    let count = match (count, size == Dim::Fixed(0)) {
        (Some(count), _) => count,
        (None, true) => 1,
        (None, false) => {
            let count = sizes::ceildiv(c.symbols, size, length)?;
            let Some(count) = count.fixed().or_else(|| annotated_count(c)) else {
                return Err(CallFault::Unsupported { what: "a number of pieces that is symbolic".into() });
            };
            count
        }
    };
    if !(0..=MAX_PIECES).contains(&count) {
        return Err(c.bad(1, format!("at most {MAX_PIECES} pieces"), count.to_string()));
    }
    let mut lengths: SmallVec<[Dim; 8]> = SmallVec::new();
    let mut left = size;
    for k in 1..=count {
        let here = if k == count { left } else { sizes::min(c.symbols, length, left)? };
        lengths.push(here);
        left = sizes::sub(c.symbols, left, here)?;
    }
    pieces(c, t, d, &lengths)
}

fn annotated_count(c: &Call<'_>) -> Option<i64> {
    match c.told() {
        Some(ValueType::Many(all)) => i64::try_from(all.len()).ok(),
        _ => None,
    }
}

fn split(c: &mut Call<'_>) -> Typed {
    let (t, length) = (c.tensor(0)?, c.dim(1)?);
    let d = dimension(c, 2, t)?;
    by_length(c, t, d, length, None)
}

fn split_sizes(c: &mut Call<'_>) -> Typed {
    let (t, lengths) = (c.tensor(0)?, c.dims(1)?);
    let d = dimension(c, 2, t)?;
    let sum = lengths.iter().try_fold(Dim::Fixed(0), |sum, l| sizes::add(c.symbols, sum, *l))?;
    if sizes::differ(c.symbols, sum, size_at(t, d)) || lengths.iter().any(|l| l.fixed().is_some_and(|n| n < 0)) {
        let expected = format!("lengths whose sum is {}", c.symbols.print_python(size_at(t, d)));
        return Err(c.bad(1, expected, sizes::show(c.symbols, &lengths)));
    }
    pieces(c, t, d, &lengths)
}

fn chunk(c: &mut Call<'_>) -> Typed {
    let (t, count) = (c.tensor(0)?, c.int(1)?);
    let d = dimension(c, 2, t)?;
    if !(1..=MAX_PIECES).contains(&count) {
        return Err(c.bad(1, format!("1 to {MAX_PIECES} chunks"), count.to_string()));
    }
    let size = size_at(t, d);
    if size == Dim::Fixed(0) {
        let lengths: Vec<Dim> = (0..count).map(|_| Dim::Fixed(0)).collect();
        return pieces(c, t, d, &lengths);
    }
    let length = sizes::ceildiv(c.symbols, size, Dim::Fixed(count))?;
    // Of a symbolic size there are as many chunks as asked for: PyTorch guards on that.
    let known = size.fixed().is_none().then_some(annotated_count(c).unwrap_or(count));
    by_length(c, t, d, length, known)
}

fn unbind(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let d = dimension(c, 1, t)?;
    let Some(count) = size_at(t, d).fixed().or_else(|| annotated_count(c)) else {
        return Err(CallFault::Unsupported { what: "a number of pieces that is symbolic".into() });
    };
    if count > MAX_PIECES {
        return Err(c.bad(0, format!("at most {MAX_PIECES} pieces"), count.to_string()));
    }
    let mut all = Vec::new();
    for k in 0..count {
        let one = piece(c, t, d, Dim::Fixed(k), Dim::Fixed(1))?;
        let Some(one) = one.as_tensor() else { continue };
        let without = |v: &Sizes| v.iter().enumerate().filter(|(i, _)| *i != d).map(|(_, x)| *x).collect::<Sizes>();
        all.push(seen(t, without(&one.sizes), one.strides.as_ref().map(without), one.offset));
    }
    Ok(out::many(all))
}

fn sections(c: &mut Call<'_>) -> Typed {
    let (t, count) = (c.tensor(0)?, c.int(1)?);
    let d = dimension(c, 2, t)?;
    if !(1..=MAX_PIECES).contains(&count) {
        return Err(c.bad(1, format!("1 to {MAX_PIECES} sections"), count.to_string()));
    }
    let Some(size) = size_at(t, d).fixed() else {
        return Err(CallFault::Unsupported { what: "sections of a symbolic size".into() });
    };
    let (small, larger) = (size.checked_div(count).unwrap_or(0), size.checked_rem(count).unwrap_or(0));
    let lengths: Vec<Dim> = (0..count).map(|k| Dim::Fixed(small.saturating_add(i64::from(k < larger)))).collect();
    pieces(c, t, d, &lengths)
}

fn indices(c: &mut Call<'_>) -> Typed {
    let (t, cuts) = (c.tensor(0)?, c.dims(1)?);
    let d = dimension(c, 2, t)?;
    let size = size_at(t, d);
    let mut all = Vec::new();
    let mut start = None;
    for end in cuts.iter().copied().map(Some).chain([None]) {
        let (from, length) = crate::ops::families::view::slice_range(c, size, start, end, Dim::Fixed(1))?;
        all.push(piece(c, t, d, from, length)?);
        start = end;
    }
    Ok(out::many(all))
}

fn as_dtype(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dtype = c.dtype(1)?.unwrap_or(t.dtype);
    let (old, new) = (t.dtype.bytes(), dtype.bytes());
    let mut result = TensorType { dtype, requires_grad: false, ..t.clone() };
    if old == new {
        return Ok(ValueType::tensor(result));
    }
    let scale = |c: &mut Call<'_>, d: Dim| -> Result<Dim, CallFault> {
        let (old, new) = (Dim::Fixed(i64::try_from(old).unwrap_or(1)), Dim::Fixed(i64::try_from(new).unwrap_or(1)));
        let bytes = sizes::mul(c.symbols, d, old)?;
        sizes::floordiv(c.symbols, bytes, new)
    };
    let Some(last) = result.sizes.last().copied() else {
        return Err(c.bad(1, "a dtype of the same size for a scalar", dtype.long()));
    };
    let scaled = scale(c, last)?;
    if let (Some(before), Some(after)) = (last.fixed(), scaled.fixed()) {
        let bytes = |n: i64, size: usize| n.saturating_mul(i64::try_from(size).unwrap_or(1));
        if bytes(before, old) != bytes(after, new) {
            return Err(c.bad(1, "a dtype whose size divides the last dimension", dtype.long()));
        }
    }
    if let Some(slot) = result.sizes.last_mut() {
        *slot = scaled;
    }
    if new > old {
        let by = i64::try_from(new.checked_div(old).unwrap_or(1)).unwrap_or(1);
        let inner = t.rank().saturating_sub(1);
        let outer = t.strides.iter().flat_map(|s| s.iter().take(inner)).chain([&t.offset]);
        for step in outer {
            if step.fixed().is_some_and(|n| n.checked_rem(by) != Some(0)) {
                return Err(c.bad(
                    0,
                    format!("strides and an offset that {by} divides"),
                    c.symbols.print_python(*step),
                ));
            }
        }
    }
    result.offset = scale(c, t.offset)?;
    if let Some(strides) = &mut result.strides {
        if strides.last().is_some_and(|s| sizes::differ(c.symbols, *s, Dim::Fixed(1))) {
            return Err(c.bad(0, "a last dimension of stride 1", sizes::show(c.symbols, strides)));
        }
        let inner = strides.len().saturating_sub(1);
        for stride in strides.iter_mut().take(inner) {
            *stride = scale(c, *stride)?;
        }
    }
    Ok(ValueType::tensor(result))
}

fn view_as_real(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if !t.dtype.is_complex() {
        return Err(c.bad(0, "a complex tensor", t.dtype.long()));
    }
    let mut out_sizes = t.sizes.clone();
    out_sizes.push(Dim::Fixed(2));
    let strides = match &t.strides {
        Some(old) => {
            let mut strides = Sizes::new();
            for s in old {
                strides.push(sizes::mul(c.symbols, *s, Dim::Fixed(2))?);
            }
            strides.push(Dim::Fixed(1));
            Some(strides)
        }
        None => None,
    };
    let offset = sizes::mul(c.symbols, t.offset, Dim::Fixed(2))?;
    let real = TensorType { dtype: to_real(t.dtype), ..t.clone() };
    Ok(seen(&real, out_sizes, strides, offset))
}

fn view_as_complex(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if t.sizes.last().is_none_or(|s| sizes::differ(c.symbols, *s, Dim::Fixed(2))) {
        return Err(c.bad(0, "a last dimension of size 2", sizes::show(c.symbols, &t.sizes)));
    }
    let rank = t.rank().saturating_sub(1);
    if !matches!(t.dtype, Dtype::F16 | Dtype::F32 | Dtype::F64) {
        return Err(c.bad(0, "dtype float16, float32 or float64", t.dtype.long()));
    }
    if let Some(steps) = &t.strides {
        let odd = |d: &Dim| d.fixed().is_some_and(|n| n % 2 != 0);
        // A dimension of size 1 has no pitch that could be odd.
        let pitches = steps.iter().zip(&t.sizes).take(rank).filter(|(_, size)| **size != Dim::Fixed(1)).map(|(s, _)| s);
        let inner = steps.last().is_some_and(|s| sizes::differ(c.symbols, *s, Dim::Fixed(1)));
        if inner || pitches.clone().any(odd) || odd(&t.offset) {
            return Err(c.bad(0, "pairs side by side, at even places", sizes::show(c.symbols, steps)));
        }
    }
    let strides = match &t.strides {
        Some(old) => {
            let mut strides = Sizes::new();
            for s in old.iter().take(rank) {
                strides.push(sizes::floordiv(c.symbols, *s, Dim::Fixed(2))?);
            }
            Some(strides)
        }
        None => None,
    };
    let offset = sizes::floordiv(c.symbols, t.offset, Dim::Fixed(2))?;
    let complex = TensorType { dtype: to_complex(t.dtype), ..t.clone() };
    Ok(seen(&complex, t.sizes.iter().take(rank).copied().collect(), strides, offset))
}

fn part(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let imaginary = &*c.operator.schema.name == "imag";
    if !t.dtype.is_complex() {
        return if imaginary { Err(c.bad(0, "a complex tensor", t.dtype.long())) } else { Ok(out::itself(t)) };
    }
    let pair = view_as_real(c)?;
    let Some(pair) = pair.as_tensor() else { return Ok(pair) };
    let inner = |v: &Sizes| v.iter().take(t.rank()).copied().collect::<Sizes>();
    let offset = sizes::add(c.symbols, pair.offset, Dim::Fixed(i64::from(imaginary)))?;
    Ok(seen(pair, inner(&pair.sizes), pair.strides.as_ref().map(inner), offset))
}
