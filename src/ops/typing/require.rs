//! What a call must fulfil beyond the kinds of its arguments: dtypes, ranks, sizes, values that fit.
//!
//! Promises: a requirement refuses only what surely does not hold, of symbols too; the fault names the argument. The tables are in
//! `needs_*`; [`Call::infer`] asks an operator's needs before its rule. What depends on the contents of tensors is left to kernels.

use std::ops::RangeInclusive;

use crate::graph::{Arg, Dtype, TensorType};
use crate::ops::error::CallFault;
use crate::ops::typing::call::Call;
use crate::ops::typing::promote;
use crate::ops::typing::sizes;
use crate::sym::Dim;

/// Checks a call whose arguments are bound.
pub(in crate::ops) type Need = fn(&Call<'_>) -> Result<(), CallFault>;

/// A need and the operators that have it.
pub(in crate::ops) type Entry = (Need, &'static [&'static str]);

pub(in crate::ops) type Needed = Result<(), CallFault>;

/// The size of a dimension; a scalar counts as one element.
pub(in crate::ops) fn size(t: &TensorType, d: usize) -> Dim {
    t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1))
}

/// An integer with which tensors are indexed.
pub(in crate::ops) fn is_index(d: Dtype) -> bool {
    matches!(d, Dtype::I64 | Dtype::I32)
}

pub(in crate::ops) fn is_long(d: Dtype) -> bool {
    d == Dtype::I64
}

pub(in crate::ops) fn is_bool(d: Dtype) -> bool {
    d == Dtype::Bool
}

pub(in crate::ops) fn is_real(d: Dtype) -> bool {
    !d.is_complex()
}

pub(in crate::ops) fn is_inexact(d: Dtype) -> bool {
    d.is_float() || d.is_complex()
}

pub(in crate::ops) fn is_integral(d: Dtype) -> bool {
    promote::category(d) < 2
}

/// Whether an element surely is missing.
pub(in crate::ops) fn is_empty(t: &TensorType) -> bool {
    t.sizes.contains(&Dim::Fixed(0))
}

/// Whether two elements surely lie in one place: a dimension of stride 0 with more than one element.
pub(in crate::ops) fn overlaps_itself(c: &Call<'_>, t: &TensorType) -> bool {
    let Some(strides) = &t.strides else { return false };
    let stretched = |(stride, size): (&Dim, &Dim)| {
        sizes::is(c.symbols, *stride, 0) && sizes::less(c.symbols, Dim::Fixed(1), *size) == Some(true)
    };
    !is_empty(t) && strides.iter().zip(&t.sizes).any(stretched)
}

impl Call<'_> {
    fn found_sizes(&self, i: usize, expected: String, t: &TensorType) -> CallFault {
        self.bad(i, expected, sizes::show(self.symbols, &t.sizes))
    }

    /// Needs a number of dimensions.
    pub(in crate::ops) fn need_rank(&self, i: usize, ranks: RangeInclusive<usize>) -> Needed {
        let t = self.tensor(i)?;
        if ranks.contains(&t.rank()) {
            return Ok(());
        }
        let (low, high) = (ranks.start(), ranks.end());
        let expected = match (low == high, *high == usize::MAX) {
            (true, _) => format!("{low} dimensions"),
            (_, true) => format!("{low} or more dimensions"),
            _ => format!("{low} to {high} dimensions"),
        };
        Err(self.found_sizes(i, expected, t))
    }

    /// Needs a dtype of a kind; `what` names the kind.
    pub(in crate::ops) fn need_dtype(&self, i: usize, what: &str, fits: fn(Dtype) -> bool) -> Needed {
        let t = self.tensor(i)?;
        if fits(t.dtype) { Ok(()) } else { Err(self.bad(i, format!("dtype {what}"), t.dtype.long())) }
    }

    /// Needs tensor `i`, if there is one, to have the dtype of tensor `like`.
    pub(in crate::ops) fn need_same_dtype(&self, i: usize, like: usize) -> Needed {
        let Some(wanted) = self.opt_tensor(like)? else { return Ok(()) };
        match self.opt_tensor(i)? {
            Some(t) if t.dtype != wanted.dtype => {
                Err(self.bad(i, format!("dtype {} as of `{}`", wanted.dtype.long(), self.name(like)), t.dtype.long()))
            }
            _ => Ok(()),
        }
    }

    /// Whether two tensors can have the same sizes.
    pub(in crate::ops) fn can_equal(&self, a: &[Dim], b: &[Dim]) -> bool {
        a.len() == b.len() && !a.iter().zip(b).any(|(x, y)| sizes::differ(self.symbols, *x, *y))
    }

    /// Needs tensor `i` to have these sizes.
    pub(in crate::ops) fn need_sizes(&self, i: usize, wanted: &[Dim]) -> Needed {
        let t = self.tensor(i)?;
        if self.can_equal(&t.sizes, wanted) {
            return Ok(());
        }
        Err(self.found_sizes(i, format!("sizes {}", sizes::show(self.symbols, wanted)), t))
    }

    /// Needs the sizes of tensor `i` to broadcast to these.
    pub(in crate::ops) fn need_broadcast_to(&self, i: usize, wanted: &[Dim]) -> Needed {
        let t = self.tensor(i)?;
        if self.broadcasts_to(&t.sizes, wanted) {
            return Ok(());
        }
        Err(self.found_sizes(i, format!("sizes that broadcast to {}", sizes::show(self.symbols, wanted)), t))
    }

    /// Whether sizes may broadcast to others.
    pub(in crate::ops) fn broadcasts_to(&self, own: &[Dim], wanted: &[Dim]) -> bool {
        let one = Dim::Fixed(1);
        let differ = |a: Dim, b: Dim| sizes::differ(self.symbols, a, b);
        own.len() <= wanted.len()
            && !own.iter().rev().zip(wanted.iter().rev()).any(|(a, b)| differ(*a, *b) && differ(*a, one))
    }

    /// Needs two sizes to be equal.
    pub(in crate::ops) fn need_equal(&self, i: usize, what: &str, wanted: Dim, found: Dim) -> Needed {
        if !sizes::differ(self.symbols, wanted, found) {
            return Ok(());
        }
        Err(self.bad(i, format!("{what} {}", self.symbols.print_python(wanted)), self.symbols.print_python(found)))
    }

    /// Needs an integer, if it is known, to lie in a range.
    pub(in crate::ops) fn need_int(&self, i: usize, range: RangeInclusive<i64>) -> Needed {
        let Some(value) = self.opt_dim(i)?.and_then(|d| d.fixed()) else { return Ok(()) };
        if range.contains(&value) {
            return Ok(());
        }
        let (low, high) = (range.start(), range.end());
        let expected = if *high == i64::MAX { format!("{low} or more") } else { format!("{low} to {high}") };
        Err(self.bad(i, expected, value.to_string()))
    }

    /// Needs a float, if it is known, for which `fits` holds.
    pub(in crate::ops) fn need_float(&self, i: usize, what: &str, fits: fn(f64) -> bool) -> Needed {
        match self.float(i) {
            Some(value) if !fits(value) => Err(self.bad(i, what, value.to_string())),
            _ => Ok(()),
        }
    }

    /// Needs one of several words.
    pub(in crate::ops) fn need_word(&self, i: usize, words: &[&str]) -> Needed {
        match self.arg(i) {
            Arg::Str(word) if !words.contains(&&**word) => Err(self.bad(i, words.join(" or "), word.to_string())),
            _ => Ok(()),
        }
    }

    /// Needs a list of so many integers (one stands for all where `one` says so).
    pub(in crate::ops) fn need_length(&self, i: usize, lengths: &[usize]) -> Needed {
        let found = self.arg(i).items().map_or(1, <[Arg]>::len);
        if self.is_none(i) || lengths.contains(&found) {
            return Ok(());
        }
        let expected: Vec<String> = lengths.iter().map(ToString::to_string).collect();
        Err(self.bad(i, format!("{} values", expected.join(" or ")), found.to_string()))
    }

    /// Needs a dimension of the tensor; a tensor without dimensions has none here.
    pub(in crate::ops) fn need_nonscalar_axis(&self, i: usize, t: &TensorType) -> Result<usize, CallFault> {
        if t.rank() == 0 {
            return Err(self.bad(i, "a dimension of the tensor", "a scalar"));
        }
        self.axis(i, t.rank())
    }

    /// Needs number `i`, where it is known, to be one that `dtype` holds (`Scalar::to`).
    pub(in crate::ops) fn need_number_of(&self, i: usize, dtype: Dtype) -> Needed {
        if dtype == Dtype::Bool {
            return Ok(());
        }
        let (value, fits) = match self.arg(i) {
            Arg::Complex(re, im) => (format!("{re}+{im}j"), dtype.is_complex() || *im == 0.0),
            Arg::Int(v) => (v.to_string(), integer_fits(*v, dtype)),
            Arg::Float(v) => (v.to_string(), float_fits(*v, dtype)),
            _ => return Ok(()),
        };
        if fits { Ok(()) } else { Err(self.bad(i, format!("a number that {} holds", dtype.long()), value)) }
    }

    /// Needs an alpha or beta that fits the result: no float for integers, no complex for reals, no boolean but for booleans.
    pub(in crate::ops) fn need_factor(&self, i: usize, dtype: Dtype) -> Needed {
        let fits = match self.arg(i) {
            Arg::Float(_) => !is_integral(dtype),
            Arg::Complex(..) => dtype.is_complex(),
            Arg::Bool(_) => dtype == Dtype::Bool,
            _ => true,
        };
        if fits { Ok(()) } else { Err(self.bad(i, format!("a factor for {}", dtype.long()), "another kind of number")) }
    }
}

fn bounds(dtype: Dtype) -> Option<(i64, i64)> {
    Some(match dtype {
        Dtype::U8 => (0, 255),
        Dtype::I8 => (-128, 127),
        Dtype::I16 => (-32_768, 32_767),
        Dtype::U16 => (0, 65_535),
        Dtype::I32 => (-2_147_483_648, 2_147_483_647),
        Dtype::U32 => (0, 4_294_967_295),
        _ => return None,
    })
}

/// Negative integers wrap around in unsigned dtypes as far as their magnitude fits.
fn integer_fits(v: i64, dtype: Dtype) -> bool {
    match bounds(dtype) {
        Some((0, high)) => v <= high && v >= 0_i64.saturating_sub(high),
        Some((low, high)) => (low..=high).contains(&v),
        #[allow(clippy::cast_precision_loss)]
        None => float_fits(v as f64, dtype),
    }
}

fn float_fits(v: f64, dtype: Dtype) -> bool {
    let limit = match dtype {
        Dtype::F16 | Dtype::C32 => 65_504.0,
        Dtype::F32 | Dtype::C64 | Dtype::Bf16 => f64::from(f32::MAX),
        Dtype::I64 => {
            return v.is_finite() && (-9_223_372_036_854_775_808.0..=9_223_372_036_854_775_807.0).contains(&v);
        }
        _ => {
            #[allow(clippy::cast_precision_loss)]
            let range = bounds(dtype).map(|(low, high)| low as f64..=high as f64);
            return range.is_none_or(|r| r.contains(&v));
        }
    };
    !v.is_finite() || v.abs() <= limit
}
