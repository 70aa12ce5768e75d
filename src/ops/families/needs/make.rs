//! What making tensors needs: sizes of 0 or more, values that the dtype holds, sensible distributions.

use crate::graph::{Arg, Dtype, MemoryFormat};
use crate::ops::error::Fault;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, is_empty, is_integral, is_real};
use crate::ops::typing::sizes;
use crate::sym::Dim;

const SIZES: std::ops::RangeInclusive<i64> = 0..=i64::MAX;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (|c| c.need_int(0, SIZES), &["aten.eye.default", "aten.eye.m", "aten.randperm.default"]),
    (|c| c.need_int(1, SIZES), &["aten.eye.m"]),
    (spaced, &["aten.linspace.default", "aten.logspace.default"]),
    (real_bounds, &["aten.arange.default", "aten.arange.start", "aten.arange.start_step"]),
    (|c| c.need_number_of(0, dtype_or(c, Dtype::F32)?), &["aten.scalar_tensor.default"]),
    (|c| c.need_number_of(1, dtype_or(c, c.number(1)?.dtype())?), &["aten.full.default"]),
    (|c| c.need_number_of(1, dtype_or(c, c.tensor(0)?.dtype)?), &["aten.full_like.default"]),
    (|c| c.need_number_of(2, dtype_or(c, c.tensor(0)?.dtype)?), &["aten.new_full.default"]),
    (strided, &["aten.empty_strided.default", "aten.new_empty_strided.default"]),
    (permuted, &["aten.empty_permuted.default"]),
    (
        format,
        &[
            "aten.contiguous.default",
            "aten.to.device",
            "aten.to.dtype",
            "aten.to.dtype_layout",
            "aten.to.other",
            "aten._to_copy.default",
            "aten.clone.default",
            "aten.resize_.default",
            "aten.full_like.default",
            "aten.zeros_like.default",
            "aten.ones_like.default",
            "aten.empty_like.default",
            "aten.rand_like.default",
            "aten.randn_like.default",
            "aten.randint_like.default",
            "aten.randint_like.low_dtype",
            "aten.empty.memory_format",
        ],
    ),
    (filled, &["aten.fill.Tensor", "aten.fill_.Tensor"]),
    (|c| c.need_number_of(1, c.tensor(0)?.dtype), &["aten.fill.Scalar", "aten.fill_.Scalar"]),
    (copied, &["aten.copy.default"]),
    (drawn_up_to, &["aten.randint.default", "aten.random.to", "aten.random_.to", "aten.randint_like.default"]),
    (drawn_between, &["aten.randint.low", "aten.random.from", "aten.random_.from", "aten.randint_like.low_dtype"]),
    (
        |c| c.need_dtype(0, "of integers or reals", is_real),
        &["aten.random.from", "aten.random_.from", "aten.random.to", "aten.random_.to"],
    ),
    (|c| bounded_by(c, 1), &["aten.random.from", "aten.random_.from", "aten.random.to", "aten.random_.to"]),
    (|c| probability(c, 1), &["aten.bernoulli.p", "aten.bernoulli_.float"]),
    (|c| c.need_broadcast_to(1, &c.tensor(0)?.sizes), &["aten.bernoulli.Tensor", "aten.bernoulli_.Tensor"]),
    (
        |c| probability(c, 1),
        &[
            "aten.dropout.default",
            "aten.dropout_.default",
            "aten.alpha_dropout.default",
            "aten.feature_dropout.default",
        ],
    ),
    (
        dropped,
        &[
            "aten.dropout.default",
            "aten.dropout_.default",
            "aten.alpha_dropout.default",
            "aten.feature_dropout.default",
        ],
    ),
    (native_dropped, &["aten.native_dropout.default"]),
    (bounded_like, &["aten.randint_like.default", "aten.randint_like.low_dtype"]),
    (uniform, &["aten.uniform.default", "aten.uniform_.default"]),
    (exponential, &["aten.exponential.default", "aten.exponential_.default"]),
    (|c| deviation(c, 1), &["aten.normal.Tensor_float"]),
    (|c| deviation(c, 2), &["aten.normal_.default"]),
    (|c| c.need_dtype(1, "of reals", is_real), &["aten.normal.float_Tensor", "aten.normal.Tensor_Tensor"]),
    (multinomial, &["aten.multinomial.default"]),
    (noise, &["aten.rrelu_with_noise.default"]),
];

fn dtype_or(c: &Call<'_>, otherwise: Dtype) -> Result<Dtype, Fault> {
    let place = c.operator.schema.param_index("dtype");
    Ok(place.map_or(Ok(None), |i| c.dtype(i))?.unwrap_or(otherwise))
}

fn spaced(c: &Call<'_>) -> Needed {
    c.need_int(2, SIZES)?;
    let complex = |i| matches!(c.arg(i), Arg::Complex(..));
    if (complex(0) || complex(1)) && !dtype_or(c, Dtype::C64)?.is_complex() {
        return Err(c.bad(1, "real ends for a real dtype", "a complex number"));
    }
    Ok(())
}

fn real_bounds(c: &Call<'_>) -> Needed {
    for i in 0..3_usize {
        if let Arg::Complex(_, im) = c.arg(i)
            && *im != 0.0
            && c.operator.schema.params.get(i).is_some_and(|p| !p.kwarg_only)
        {
            return Err(c.bad(i, "a real number", "a complex one"));
        }
    }
    Ok(())
}

fn whole(c: &Call<'_>, i: usize, dims: &[Dim]) -> Needed {
    if dims.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(i, "values of 0 or more", sizes::show(c.symbols, dims)));
    }
    Ok(())
}

fn strided(c: &Call<'_>) -> Needed {
    let base = usize::from(c.name(0) == "self");
    let strides = base.saturating_add(1);
    let (dims, steps) = (c.dims(base)?, c.dims(strides)?);
    whole(c, base, &dims)?;
    // Of an empty tensor strides do not matter.
    if dims.contains(&Dim::Fixed(0)) { Ok(()) } else { whole(c, strides, &steps) }
}

fn permuted(c: &Call<'_>) -> Needed {
    whole(c, 0, &c.dims(0)?)?;
    whole(c, 1, &c.dims(1)?)
}

/// Channels-last formats are of tensors of 4 and of 5 dimensions.
fn format(c: &Call<'_>) -> Needed {
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

fn filled(c: &Call<'_>) -> Needed {
    match c.operand(1)? {
        crate::ops::typing::call::Operand::Tensor(_) => c.need_rank(1, 0..=0),
        crate::ops::typing::call::Operand::Number(_) => Ok(()),
    }
}

fn copied(c: &Call<'_>) -> Needed {
    match c.operand(1)? {
        crate::ops::typing::call::Operand::Tensor(_) => c.need_broadcast_to(1, &c.tensor(0)?.sizes),
        crate::ops::typing::call::Operand::Number(_) => Ok(()),
    }
}

fn below(c: &Call<'_>, i: usize, low: i64, high: Option<Dim>) -> Needed {
    match high.and_then(|d| d.fixed()) {
        Some(high) if high <= low => Err(c.bad(i, format!("more than {low}"), high.to_string())),
        _ => Ok(()),
    }
}

fn drawn_up_to(c: &Call<'_>) -> Needed {
    let place = usize::from(c.name(0) == "self");
    below(c, place, 0, c.opt_dim(place)?)
}

fn drawn_between(c: &Call<'_>) -> Needed {
    let place = usize::from(c.name(0) == "self");
    let next = place.saturating_add(1);
    match c.opt_dim(place)?.and_then(|d| d.fixed()) {
        Some(low) => below(c, next, low, c.opt_dim(next)?),
        None => Ok(()),
    }
}

/// The ends of a range, the upper one exclusive, are numbers of the dtype.
fn bounded_by(c: &Call<'_>, i: usize) -> Needed {
    let dtype = c.tensor(0)?.dtype;
    if !is_integral(dtype) {
        return Ok(());
    }
    let upper = i.saturating_add(usize::from(c.name(i) == "from"));
    for (place, less) in [(i, i64::from(c.name(i) == "to")), (upper, 1)] {
        if place == upper && less == 1 && c.is_none(place) {
            continue;
        }
        holds_bound(c, place, less, dtype)?;
    }
    Ok(())
}

fn holds_bound(c: &Call<'_>, place: usize, less: i64, dtype: Dtype) -> Needed {
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

fn probability(c: &Call<'_>, i: usize) -> Needed {
    c.need_float(i, "a probability from 0 to 1", |p| (0.0..=1.0).contains(&p))
}

/// What is scaled must hold fractions.
fn dropped(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    let scales = c.bool(2)? && c.float(1).is_some_and(|p| p > 0.0 && p < 1.0) && !is_empty(t);
    if scales { c.need_dtype(0, "of floats", |d| !is_integral(d)) } else { Ok(()) }
}

fn native_dropped(c: &Call<'_>) -> Needed {
    if !c.is_none(2) && !c.bool(2)? {
        return Ok(());
    }
    probability(c, 1)?;
    if is_empty(c.tensor(0)?) { Ok(()) } else { c.need_dtype(0, "of floats", |d| !is_integral(d)) }
}

fn bounded_like(c: &Call<'_>) -> Needed {
    let dtype = dtype_or(c, c.tensor(0)?.dtype)?;
    if dtype.is_complex() {
        return Err(c.bad(0, "a dtype of integers or reals", dtype.long()));
    }
    let last = if c.name(1) == "low" { 2 } else { 1 };
    holds_bound(c, last, 1, dtype)
}

fn uniform(c: &Call<'_>) -> Needed {
    match (c.float(1), c.float(2)) {
        (Some(low), Some(high)) if low > high => Err(c.bad(2, format!("{low} or more"), high.to_string())),
        _ => Ok(()),
    }
}

fn exponential(c: &Call<'_>) -> Needed {
    if !is_empty(c.tensor(0)?) {
        c.need_dtype(0, "of floats", Dtype::is_float)?;
    }
    c.need_float(1, "more than 0", |rate| rate > 0.0)
}

fn deviation(c: &Call<'_>, i: usize) -> Needed {
    c.need_float(i, "a deviation of 0 or more", |d| d >= 0.0)
}

fn multinomial(c: &Call<'_>) -> Needed {
    let (t, count) = (c.tensor(0)?, c.dim(1)?);
    c.need_dtype(0, "of floats", Dtype::is_float)?;
    c.need_rank(0, 1..=2)?;
    c.need_int(1, 1..=i64::MAX)?;
    let choices = t.sizes.last().copied().unwrap_or(Dim::Fixed(1));
    if !c.bool(2)? && sizes::less(c.symbols, choices, count) == Some(true) {
        let (choices, count) = (c.symbols.print_python(choices), c.symbols.print_python(count));
        return Err(c.bad(1, format!("at most {choices} without replacement"), count));
    }
    Ok(())
}

fn noise(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_sizes(1, &t.sizes)?;
    match (c.bool(4)?, c.float(2), c.float(3)) {
        (true, Some(low), Some(high)) if low > high => Err(c.bad(3, format!("{low} or more"), high.to_string())),
        _ => c.need_same_dtype(1, 0),
    }
}
