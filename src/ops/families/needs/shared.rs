//! What operators of several families need.

use crate::graph::{Arg, Dtype, MemoryFormat, TensorType};
use crate::ops::error::CallFault;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::promote::Promotion;
use crate::ops::typing::require::{Needed, is_empty, is_integral};
use crate::ops::typing::sizes;
use crate::sym::Dim;

/// The tensors of the first argument: one, or a list.
pub(super) fn leading<'a>(c: &Call<'a>) -> Result<Vec<&'a TensorType>, crate::ops::error::CallFault> {
    if c.arg(0).items().is_some() {
        return c.tensors(0);
    }
    Ok(match c.operand(0)? {
        Operand::Tensor(t) => vec![t],
        Operand::Number(_) => Vec::new(),
    })
}

pub(super) fn first(c: &Call<'_>, what: &str, fits: fn(Dtype) -> bool) -> Needed {
    match leading(c)?.into_iter().find(|t| !fits(t.dtype)) {
        Some(t) => Err(c.bad(0, format!("dtype {what}"), t.dtype.long())),
        None => Ok(()),
    }
}

pub(super) fn no_complex_result(c: &Call<'_>) -> Needed {
    let Some(i) = c.operator.schema.param_index("dtype") else { return Ok(()) };
    match c.dtype(i)? {
        Some(d) if d.is_complex() => Err(c.bad(i, "a dtype of reals", d.long())),
        _ => Ok(()),
    }
}

/// Elementary operators neither broadcast nor promote; a scalar goes with anything.
pub(super) fn alike(c: &Call<'_>) -> Needed {
    let (Operand::Tensor(a), Operand::Tensor(b)) = (c.operand(0)?, c.operand(1)?) else { return Ok(()) };
    c.need_same_dtype(1, 0)?;
    let scalar = a.rank() == 0 || b.rank() == 0;
    let differ = a.rank() != b.rank() || a.sizes.iter().zip(&b.sizes).any(|(x, y)| sizes::differ(c.symbols, *x, *y));
    if !scalar && differ {
        return Err(c.bad(1, format!("sizes {}", sizes::show(c.symbols, &a.sizes)), sizes::show(c.symbols, &b.sizes)));
    }
    Ok(())
}

pub(super) fn count(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_rank(0, 1..=1)?;
    c.need_dtype(0, "of integers", is_integral)?;
    c.need_int(2, 0..=i64::MAX)?;
    match c.opt_tensor(1)? {
        Some(_) if !is_empty(t) => c.need_sizes(1, &t.sizes),
        _ => Ok(()),
    }
}

/// Channels-last formats are of tensors of 4 and of 5 dimensions.
pub(super) fn format(c: &Call<'_>) -> Needed {
    let Some(place) = c.operator.schema.param_index("memory_format") else { return Ok(()) };
    let wanted = match c.memory_format(place) {
        Some(MemoryFormat::ChannelsLast) => 4,
        Some(MemoryFormat::ChannelsLast3d) => 5,
        _ => return Ok(()),
    };
    let rank = match c.name(0) {
        "size" => c.dims(0)?.len(),
        _ if c.name(1) == "size" => c.dims(1)?.len(),
        _ => c.tensor(0)?.rank(),
    };
    if rank == wanted { Ok(()) } else { Err(c.bad(place, format!("a format of {rank} dimensions"), "channels last")) }
}

pub(super) fn below(c: &Call<'_>, i: usize, low: i64, high: Option<Dim>) -> Needed {
    match high.and_then(|d| d.fixed()) {
        Some(high) if high <= low => Err(c.bad(i, format!("more than {low}"), high.to_string())),
        _ => Ok(()),
    }
}

pub(super) fn drawn_up_to(c: &Call<'_>) -> Needed {
    let place = usize::from(c.name(0) == "self");
    below(c, place, 0, c.opt_dim(place)?)
}

pub(super) fn drawn_between(c: &Call<'_>) -> Needed {
    let place = usize::from(c.name(0) == "self");
    let next = place.saturating_add(1);
    match c.opt_dim(place)?.and_then(|d| d.fixed()) {
        Some(low) => below(c, next, low, c.opt_dim(next)?),
        None => Ok(()),
    }
}

pub(super) fn holds_bound(c: &Call<'_>, place: usize, less: i64, dtype: Dtype) -> Needed {
    let Some(value) = c.opt_dim(place)?.and_then(|d| d.fixed()) else { return Ok(()) };
    let last = value.saturating_sub(less);
    let fits = match dtype {
        Dtype::Bool => (0..=1).contains(&last),
        Dtype::U8 => (0..=255).contains(&last),
        Dtype::I8 => i8::try_from(last).is_ok(),
        Dtype::I16 => i16::try_from(last).is_ok(),
        Dtype::I32 => i32::try_from(last).is_ok(),
        _ => true,
    };
    if fits { Ok(()) } else { Err(c.bad(place, format!("a number that {} holds", dtype.long()), last.to_string())) }
}

/// The dtype of operands together.
pub(super) fn joint(c: &Call<'_>, places: &[usize]) -> Result<Dtype, CallFault> {
    let mut promotion = Promotion::default();
    for i in places {
        promotion.operand(c.operand(*i)?)?;
    }
    promotion.dtype()
}

pub(super) fn real_pair(c: &Call<'_>) -> Needed {
    match joint(c, &[0, 1])? {
        d if d.is_complex() => Err(c.bad(1, "reals, which have an order", d.long())),
        _ => Ok(()),
    }
}

/// Numbers that a double holds: no complex ones.
pub(super) fn real_numbers(c: &Call<'_>, places: &[usize]) -> Needed {
    for i in places {
        if let Arg::Complex(_, im) = c.arg(*i)
            && *im != 0.0
            && !c.opt_tensor(0).ok().flatten().is_some_and(|t| t.dtype.is_complex())
        {
            return Err(c.bad(*i, "a real number", "a complex one"));
        }
    }
    Ok(())
}

pub(super) fn tolerances(c: &Call<'_>) -> Needed {
    for i in [2, 3] {
        c.need_float(i, "a tolerance of 0 or more", |t| t >= 0.0)?;
    }
    Ok(())
}

/// How many of the last dimensions are spatial: from the digit in the name.
pub(in crate::ops) fn space(c: &Call<'_>) -> usize {
    let name = &c.operator.schema.name;
    [("1d", 1), ("3d", 3)].iter().find(|(text, _)| name.contains(text)).map_or(2, |(_, n)| *n)
}

pub(super) fn place(c: &Call<'_>, name: &str) -> usize {
    c.operator.schema.param_index(name).unwrap_or(usize::MAX)
}

/// Every size but that of the batch has elements.
pub(super) fn has_places(c: &Call<'_>, i: usize, space: usize, but: usize) -> Needed {
    let t = c.tensor(i)?;
    let batch = usize::from(t.rank() > space.saturating_add(1));
    if t.sizes.iter().skip(batch.max(but)).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(i, "elements in every dimension but the batch", sizes::show(c.symbols, &t.sizes)));
    }
    Ok(())
}

/// `beta` and `alpha` fit the result; complex ones need a complex dtype.
pub(super) fn factors(c: &Call<'_>) -> Needed {
    let dtype = c.tensor(0)?.dtype;
    let strict = &*c.operator.schema.name == "addr";
    for i in [3, 4] {
        if strict {
            c.need_factor(i, dtype)?;
        } else if let Arg::Complex(_, im) = c.arg(i)
            && *im != 0.0
            && !dtype.is_complex()
        {
            return Err(c.bad(i, format!("a factor for {}", dtype.long()), "a complex number"));
        }
    }
    Ok(())
}

/// Elementary reductions name each dimension, counted from the front.
pub(super) fn from_the_front(c: &Call<'_>) -> Needed {
    if c.is_none(1) {
        return Err(c.bad(1, "dimensions", "None"));
    }
    match c.dims(1)?.iter().find(|d| d.fixed().is_some_and(|n| n < 0)) {
        Some(d) => Err(c.bad(1, "dimensions counted from the front", c.symbols.print_python(*d))),
        None => Ok(()),
    }
}

/// A format, not whatever the operand has.
pub(super) fn not_preserved(c: &Call<'_>, name: &str) -> Needed {
    let Some(i) = c.operator.schema.param_index(name) else { return Ok(()) };
    match c.memory_format(i) {
        Some(crate::graph::MemoryFormat::Preserve) => Err(c.bad(i, "a memory format", "preserve")),
        _ => Ok(()),
    }
}

/// No strides or sizes below 0, as many of one as of the other.
pub(super) fn strided(c: &Call<'_>) -> Needed {
    let i = c.operator.schema.param_index("size").unwrap_or(1);
    let next = i.saturating_add(1);
    let (dims, strides) = (c.dims(i)?, c.dims(next)?);
    if dims.len() != strides.len() {
        return Err(c.bad(next, format!("{} strides", dims.len()), strides.len().to_string()));
    }
    for (place, list) in [(i, &dims), (next, &strides)] {
        if list.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
            let alias = place == next && &*c.operator.schema.name == "_reshape_alias";
            if !alias {
                return Err(c.bad(place, "values of 0 or more", sizes::show(c.symbols, list)));
            }
        }
    }
    match c.operator.schema.param_index("storage_offset") {
        Some(offset) => c.need_int(offset, 0..=i64::MAX),
        None => Ok(()),
    }
}

/// What a kernel reads row by row, wherever it lies.
pub(super) fn contiguous(c: &Call<'_>, i: usize) -> Needed {
    let t = c.tensor(i)?;
    let Some(strides) = &t.strides else { return Ok(()) };
    let mut expected = Some(1_i64);
    for (size, stride) in t.sizes.iter().zip(strides).rev() {
        let (Some(n), Some(s), Some(e)) = (size.fixed(), stride.fixed(), expected) else { return Ok(()) };
        if n != 1 && s != e && !t.sizes.contains(&Dim::Fixed(0)) {
            return Err(c.bad(i, "a contiguous tensor", sizes::show(c.symbols, strides)));
        }
        expected = e.checked_mul(n);
    }
    Ok(())
}
