//! Operators on elements, as the table says them.
//!
//! ## What it says
//! Operands are repeated to the sizes of the result and converted to the dtype in which the operator computes, then the operator is applied.
//! `ceil(x)` is `-floor(-x)`; `trunc(x)` is that below 0, else `floor(x)`; what `fmod` leaves of an integer is it less the multiple of the quotient,
//! rounded towards 0. A quotient of floats with the mode `trunc` is rounded, then cut; `2 ** n` of integers is a shift. Over the reals `hypot` is the root of two squares, where one is apart from 0,
//! or where the second graph alone asks for it of what is given.
//!
//! ## When it is wrong
//! Where a narrow float meets another dtype, kernels take an operand of one element as it is, not rounded: such calls are not looked
//! into. A number is rounded to a narrow float before it is added, not before it multiplies. `alpha` of floats is another kernel. The square of
//! what is tiny or large leaves its dtype, and `hypot` does not: a root in its place is rounded further, or infinite. A power of -0.0 is 0.0, where a root of it
//! keeps its sign: only the power of 0.5 is the root.

use smallvec::SmallVec;

use crate::graph::{Arg, Dtype};
use crate::ops::{Number, Promotion};
use crate::rules::element::arena::{ExprId, Fold, Form, Op, Source, Tensor, kernel_of};
use crate::rules::element::make::{ends, width};
use crate::rules::element::rebuild::Moves;
use crate::rules::meaning::{Array, Said, Speaker};
use crate::rules::rounding::range;
use crate::rules::table::{Meaning, Real, target};
use crate::sym::Dim;
use crate::term::term::Token;

/// Up to which exponent an exponential is rounded about as far as any function.
const SMALL: f64 = 16.0;

/// Up to which whole number a power is a product: one that stays within its dtype in the working range.
const WHOLE: f64 = 12.0;

/// How many operations on sizes may stand in one another.
const OPERATIONS: usize = 8;

fn is_narrow(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16)
}

pub(super) fn is_plain(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64) || width(dtype).is_some()
}

impl Speaker<'_> {
    pub(super) fn said(&mut self, c: &Said<'_, '_>, meaning: Meaning) -> Option<ExprId> {
        let to = c.result.dtype;
        match meaning {
            Meaning::Unary(op) => {
                let x = self.operand(c, c.arg(0), to, false)?;
                if op == Op::Not && to == Dtype::Bool {
                    return self.e.op(Op::Not, to, &[x]);
                }
                self.e.op(op, to, &[x])
            }
            Meaning::Not => {
                let x = self.truth_of(c, c.arg(0))?;
                self.e.op(Op::Not, Dtype::Bool, &[x])
            }
            Meaning::Binary(op) => self.binary(c, op),
            Meaning::Compare(op, exchanged, opposite) => {
                let dtype = self.common(c)?;
                let (a, b) = (self.operand(c, c.arg(0), dtype, false)?, self.operand(c, c.arg(1), dtype, false)?);
                if is_narrow(dtype)
                    && (self.exact(c, c.arg(0), dtype).is_none() || self.exact(c, c.arg(1), dtype).is_none())
                {
                    return None;
                }
                let (a, b) = if exchanged { (b, a) } else { (a, b) };
                let found = self.e.op(op, Dtype::Bool, &[a, b])?;
                if opposite { self.e.op(Op::Not, Dtype::Bool, &[found]) } else { Some(found) }
            }
            Meaning::Logical(op) => {
                let (a, b) = (self.truth_of(c, c.arg(0))?, self.truth_of(c, c.arg(1))?);
                self.e.op(op, Dtype::Bool, &[a, b])
            }
            Meaning::DivMode => {
                let op = match c.arg(2) {
                    Arg::Str(mode) => crate::rules::table::rounding(mode)?,
                    _ => return None,
                };
                // A quotient of floats is rounded as such, then cut; rounded down it is another kernel.
                if op == Op::DivTrunc && matches!(to, Dtype::F32 | Dtype::F64) {
                    let (a, b) = (self.operand(c, c.arg(0), to, false)?, self.operand(c, c.arg(1), to, false)?);
                    let over = self.e.op(Op::Div, to, &[a, b])?;
                    return self.e.truncated(to, over);
                }
                width(to).filter(|_| to != Dtype::Bool)?;
                let (a, b) = (self.operand(c, c.arg(0), to, false)?, self.operand(c, c.arg(1), to, false)?);
                if self.e.number(b).is_none() {
                    self.e.integers_of(b).filter(|(low, _)| *low > 0)?;
                }
                self.e.op(op, to, &[a, b])
            }
            Meaning::Where => {
                let p = self.truth_of(c, c.arg(0))?;
                let (a, b) = (self.operand(c, c.arg(1), to, false)?, self.operand(c, c.arg(2), to, false)?);
                self.e.op(Op::Choose, to, &[p, a, b])
            }
            Meaning::Clamp => self.clamped(c),
            Meaning::Bound(op) => {
                let (x, bound) = (self.operand(c, c.arg(0), to, false)?, self.bound(c, c.arg(1), to)?);
                self.e.op(op, to, &[x, bound])
            }
            Meaning::Convert => self.operand(c, c.arg(0), to, true),
            Meaning::Copy => self.operand(c, c.arg(1), to, true),
            Meaning::Full => {
                let at =
                    c.operator.schema.params.iter().position(|p| !p.ty.holds_tensors() && p.ty.suffixes.is_empty())?;
                self.filling(c, c.arg(at), to)
            }
            Meaning::FullLike => self.filling(c, c.arg(1), to),
            Meaning::Fold(fold) => self.folded(c, fold),
            Meaning::Sum(fold) => self.summed(c, Some(fold)),
            Meaning::Mean => self.summed(c, None),
            Meaning::MatMul => self.multiplied(c),
            Meaning::Variance if self.over_reals => self.varied(c),
            Meaning::Convolution if self.over_reals => self.convolved(c),
            Meaning::Contraction if self.over_reals || width(to).is_some_and(|w| w > 1) => self.contracted(c),
            Meaning::Pooling(rank) if self.over_reals => self.pooled(c, rank),
            Meaning::Bags if self.over_reals && c.item == Some(0) => self.summed_in_bags(c),
            Meaning::Bags => None,
            Meaning::Running if self.over_reals || width(to).is_some() => self.running(c),
            Meaning::RunningProduct if self.over_reals || width(to).is_some() => self.running_product(c),
            Meaning::RunningExtreme(fold) if (self.over_reals || !to.is_float()) && c.item == Some(0) => {
                self.running_extreme(c, fold)
            }
            Meaning::Median if self.over_reals && to.is_float() && c.item == Some(0) => self.median_of_few(c),
            Meaning::RunningProduct | Meaning::RunningExtreme(_) | Meaning::Median => None,
            Meaning::Variance
            | Meaning::Convolution
            | Meaning::Contraction
            | Meaning::Pooling(_)
            | Meaning::Running => None,
            Meaning::Power => match c.arg(1) {
                Arg::Int(n @ 0..=8) if width(to).is_some_and(|w| w > 1) && c.array(0)?.dtype == to => {
                    // Integers are multiplied, wrapping around, in any order.
                    let x = self.operand(c, c.arg(0), to, false)?;
                    let mut out = self.e.integer(to, 1)?;
                    for _ in 0..*n {
                        out = self.e.op(Op::Mul, to, &[out, x])?;
                    }
                    Some(out)
                }
                Arg::Int(2) if to.is_float() => {
                    let x = self.operand(c, c.arg(0), to, false)?;
                    (c.array(0)?.dtype == to).then(|| self.e.op(Op::Mul, to, &[x, x]))?
                }
                Arg::Float(2.0) if to.is_float() => {
                    let x = self.operand(c, c.arg(0), to, false)?;
                    (c.array(0)?.dtype == to).then(|| self.e.op(Op::Mul, to, &[x, x]))?
                }
                exponent if self.over_reals && to.is_float() && c.array(0)?.dtype == to => self.power(c, exponent),
                _ => None,
            },
            Meaning::Finite | Meaning::Infinite => {
                let x = c.array(0)?.clone();
                if !x.dtype.is_float() {
                    return if is_plain(x.dtype) { self.e.truth(meaning == Meaning::Finite) } else { None };
                }
                is_plain(x.dtype).then_some(())?;
                let (size, end) = (self.e.op(Op::Abs, x.dtype, &[x.expr])?, self.e.rounded(x.dtype, f64::INFINITY)?);
                let op = if meaning == Meaning::Finite { Op::Lt } else { Op::Eq };
                self.e.op(op, Dtype::Bool, &[size, end])
            }
            Meaning::SignBit => {
                let x = c.array(0)?.clone();
                let bits = match x.dtype {
                    Dtype::F32 => Dtype::I32,
                    Dtype::F16 | Dtype::Bf16 => Dtype::I16,
                    Dtype::F64 => Dtype::I64,
                    own => width(own).filter(|w| *w > 1).map(|_| own)?,
                };
                let (x, zero) = (self.e.op(Op::Bits, bits, &[x.expr])?, self.e.integer(bits, 0)?);
                self.e.op(Op::Lt, Dtype::Bool, &[x, zero])
            }
            Meaning::Leaky => {
                let x = self.operand(c, c.arg(0), to, false)?;
                let slope = self.constant(c, c.arg(1), to, true)?;
                let zero = self.e.rounded(to, 0.0)?;
                let above = self.e.op(Op::Lt, Dtype::Bool, &[zero, x])?;
                let multiple = self.e.op(Op::Mul, to, &[x, slope])?;
                self.e.op(Op::Choose, to, &[above, x, multiple])
            }
            Meaning::Sign if to.is_float() => {
                let x = self.operand(c, c.arg(0), to, false)?;
                let [minus, zero, plus] = [-1.0, 0.0, 1.0].map(|v| self.e.rounded(to, v));
                let above = self.e.op(Op::Lt, Dtype::Bool, &[zero?, x])?;
                let below = self.e.op(Op::Lt, Dtype::Bool, &[x, zero?])?;
                // The sign of NaN is 0.
                let rest = self.e.op(Op::Choose, to, &[below, minus?, zero?])?;
                self.e.op(Op::Choose, to, &[above, plus?, rest])
            }
            Meaning::Sign => {
                width(to).filter(|_| to != Dtype::Bool)?;
                let x = self.operand(c, c.arg(0), to, false)?;
                let zero = self.e.integer(to, 0)?;
                let (above, below) =
                    (self.e.op(Op::Lt, Dtype::Bool, &[zero, x])?, self.e.op(Op::Lt, Dtype::Bool, &[x, zero])?);
                let (plus, minus) =
                    (self.e.integer(to, 1)?, if to == Dtype::U8 { zero } else { self.e.integer(to, -1)? });
                let rest = self.e.op(Op::Choose, to, &[below, minus, zero])?;
                self.e.op(Op::Choose, to, &[above, plus, rest])
            }
            Meaning::Ceil if to.is_float() => {
                let x = self.operand(c, c.arg(0), to, false)?;
                let minus = self.e.op(Op::Neg, to, &[x])?;
                let below = self.e.floored(to, minus)?;
                self.e.op(Op::Neg, to, &[below])
            }
            Meaning::Trunc if to.is_float() => {
                let x = self.operand(c, c.arg(0), to, false)?;
                self.e.truncated(to, x)
            }
            Meaning::Floor if to.is_float() => {
                let x = self.operand(c, c.arg(0), to, false)?;
                self.e.floored(to, x)
            }
            Meaning::Ceil | Meaning::Trunc | Meaning::Floor => None,
            Meaning::Left => {
                width(to).filter(|_| to != Dtype::Bool)?;
                let (a, b) = (self.operand(c, c.arg(0), to, false)?, self.operand(c, c.arg(1), to, false)?);
                self.e.number(b).filter(|n| *n > 0)?;
                // Of what is not negative it is left of the one that rounds down, too.
                if self.e.integers_of(a).is_some_and(|(low, _)| low >= 0) {
                    return self.e.op(Op::Rem, to, &[a, b]);
                }
                if let Some(of) = self.rest_and_one_more(to, a, b)? {
                    return self.e.op(Op::Rem, to, &[of, b]);
                }
                self.left_over(to, a, b)
            }
            Meaning::Extreme(fold) if (self.over_reals || !to.is_float()) && c.item == Some(0) => self.folded(c, fold),
            Meaning::Extreme(fold) if c.item == Some(0) => self.value_of_extreme(c, fold),
            Meaning::Extreme(fold) if c.item == Some(1) => self.place_of_extreme(c, fold),
            Meaning::PlaceOf(fold) => self.place_of_extreme(c, fold),
            Meaning::Sorted if c.item == Some(0) => self.in_order(c),
            Meaning::Sorted if c.item == Some(1) => self.places_in_order(c),
            Meaning::Search { row, found } => {
                self.counted_below(c, row, found).or_else(|| self.searched(c, row, found))
            }
            Meaning::MaxPooling(rank) if self.over_reals && c.item == Some(0) => self.greatest_in_window(c, rank),
            Meaning::Logarithm(base) if self.over_reals && to.is_float() && c.array(0)?.dtype == to => {
                let x = self.operand(c, c.arg(0), to, false)?;
                let log = self.e.named(to, Form::Named(target(Real::Log).into(), Box::new([Token::Child])), &[x])?;
                let by = self.e.literal(to, 1.0 / f64::from(base).ln())?;
                self.e.op(Op::Mul, to, &[log, by])
            }
            Meaning::Logarithm(_) => None,
            Meaning::PowerOf if self.over_reals && to.is_float() && !c.array(1)?.dtype.is_complex() => {
                let base = match c.arg(0) {
                    Arg::Int(n) => f64::from(i32::try_from(*n).ok()?),
                    Arg::Float(v) => *v,
                    _ => return None,
                };
                let x = self.operand(c, c.arg(1), to, false)?;
                if base == 2.0 {
                    return self.e.named(to, Form::Named(target(Real::Exp2).into(), Box::new([Token::Child])), &[x]);
                }
                self.power_of_number(to, base, x)
            }
            // The powers of two that an integer holds are shifts.
            Meaning::PowerOf if matches!(c.arg(0), Arg::Int(2)) && c.array(1)?.dtype == to => {
                let bits = i64::from(width(to).filter(|w| *w > 8)?);
                let x = self.operand(c, c.arg(1), to, false)?;
                self.e.integers_of(x).filter(|(low, high)| *low >= 0 && *high <= bits.saturating_sub(2))?;
                let one = self.e.integer(to, 1)?;
                self.e.op(Op::Shl, to, &[one, x])
            }
            Meaning::PowerOf => None,
            Meaning::Length => self.length_of_two(c),
            Meaning::Extreme(_) | Meaning::Sorted | Meaning::MaxPooling(_) => None,
            other => self.moved_by(c, other),
        }
    }

    /// What is left of an integer by one above 0, as it is cut.
    fn left_over(&mut self, to: Dtype, a: ExprId, by: ExprId) -> Option<ExprId> {
        let over = self.e.op(Op::DivTrunc, to, &[a, by])?;
        let multiple = self.e.op(Op::Mul, to, &[over, by])?;
        self.e.op(Op::Sub, to, &[a, multiple])
    }

    /// Of which integer an integer is what is left by a number, and that number more: that is above 0, and left of it is what is left of the integer rounded down.
    fn rest_and_one_more(&mut self, to: Dtype, a: ExprId, by: ExprId) -> Option<Option<ExprId>> {
        let Some(number) = self.e.number(by) else { return Some(None) };
        let fits = number.checked_mul(2).zip(ends(to)).is_some_and(|(both, (_, most))| both <= most);
        let kids = self.e.expr(a)?.kids.clone();
        for kid in kids.into_iter().filter(|_| fits) {
            let Some((Op::DivTrunc, &[of, divisor])) = self.e.op_of(kid) else { continue };
            let rest = self.left_over(to, of, by)?;
            if divisor == by && self.e.op(Op::Add, to, &[rest, by])? == a {
                return Some(Some(of));
            }
        }
        Some(None)
    }

    /// The root of the sum of two squares; infinite beside anything, as its kernels say.
    fn length_of_two(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let to = c.result.dtype;
        let (x, y) = (self.operand(c, c.arg(0), to, false)?, self.operand(c, c.arg(1), to, false)?);
        if self.e.lengths_of_second && self.has_squares_within(x)? && self.has_squares_within(y)? {
            return self.root_of_squares(to, x, y);
        }
        self.length_of(to, x, y)
    }

    /// Whether the square of an element surely stays within its dtype where what it is made of is given, and lies in the working range.
    fn has_squares_within(&mut self, x: ExprId) -> Option<bool> {
        let sources = self.e.below(x).into_iter().filter_map(|id| match self.e.expr(id).map(|x| &x.form) {
            Some(Form::Load(source, _)) => Some(*source),
            _ => None,
        });
        let given = sources.collect::<Vec<_>>().iter().all(|source| self.e.given.contains(source));
        let square = self.e.op(Op::Mul, self.e.dtype(x)?, &[x, x])?;
        Some(given && self.e.stays_within(square)?)
    }

    pub(super) fn length_of(&mut self, to: Dtype, x: ExprId, y: ExprId) -> Option<ExprId> {
        // The square of what is tiny is nothing: its kernel knows better.
        (self.over_reals && (self.e.is_apart_from_zero(x)? || self.e.is_apart_from_zero(y)?)).then_some(())?;
        self.root_of_squares(to, x, y)
    }

    fn root_of_squares(&mut self, to: Dtype, x: ExprId, y: ExprId) -> Option<ExprId> {
        // The squares of what is small are 0 in `f16` too soon.
        (self.over_reals && matches!(to, Dtype::F32 | Dtype::F64)).then_some(())?;
        let endless = self.e.rounded(to, f64::INFINITY)?;
        let (mut squares, mut infinite) = (Vec::new(), Vec::new());
        for side in [x, y] {
            squares.push(self.e.op(Op::Mul, to, &[side, side])?);
            let magnitude = self.e.op(Op::Abs, to, &[side])?;
            infinite.push(self.e.op(Op::Eq, Dtype::Bool, &[magnitude, endless])?);
        }
        let sum = self.e.op(Op::Add, to, &squares)?;
        let root = self.e.named(to, Form::Named(target(Real::Sqrt).into(), Box::new([Token::Child])), &[sum])?;
        let any = self.e.op(Op::Or, Dtype::Bool, &infinite)?;
        self.e.op(Op::Choose, to, &[any, endless, root])
    }

    /// A power of a number to what is made of indices alone: an exponential, which is rounded as far where its exponent is small.
    fn power_of_number(&mut self, to: Dtype, base: f64, x: ExprId) -> Option<ExprId> {
        let most = range(&mut self.e, x, &|_, _| None)?.most() * base.ln().abs();
        (base > 0.0 && base.is_finite() && most <= SMALL).then_some(())?;
        let by = self.e.literal(to, base.ln())?;
        let exponent = self.e.op(Op::Mul, to, &[x, by])?;
        self.e.named(to, Form::Named(target(Real::Exp).into(), Box::new([Token::Child])), &[exponent])
    }

    /// A small power that is a product, a root, or one divided by these.
    fn power(&mut self, c: &Said<'_, '_>, exponent: &Arg) -> Option<ExprId> {
        let to = c.result.dtype;
        let x = self.operand(c, c.arg(0), to, false)?;
        let exponent = match exponent {
            Arg::Int(n) => f64::from(i32::try_from(*n).ok()?),
            Arg::Float(v) => *v,
            _ => return None,
        };
        let whole = exponent.abs().floor();
        let mut out = self.e.rounded(to, 1.0)?;
        let part = exponent.abs() - whole;
        if whole > WHOLE || ![0.0, 0.25, 0.5, 0.75].contains(&part) {
            return None;
        }
        let mut k = 0.0;
        while k < whole {
            out = if k == 0.0 { x } else { self.e.op(Op::Mul, to, &[out, x])? };
            k += 1.0;
        }
        if exponent.abs() > whole {
            let sqrt = || Form::Named(target(Real::Sqrt).into(), Box::new([Token::Child]));
            // A power of -0.0 is 0.0, but for the one that is a root and keeps its sign: so is what has an even number of signs.
            let zero = self.e.rounded(to, 0.0)?;
            let unsigned = self.e.op(Op::Add, to, &[x, zero])?;
            let even = whole % 2.0 == 0.0;
            let of = if part != 0.75 && even && exponent.abs() != 0.5 { unsigned } else { x };
            let mut root = self.e.named(to, sqrt(), &[of])?;
            if part != 0.5 {
                let half = if part == 0.75 && !even { self.e.named(to, sqrt(), &[unsigned])? } else { root };
                let fourth = self.e.named(to, sqrt(), &[half])?;
                root = if part == 0.75 { self.e.op(Op::Mul, to, &[root, fourth])? } else { fourth };
            }
            out = if whole == 0.0 { root } else { self.e.op(Op::Mul, to, &[out, root])? };
        }
        if exponent < 0.0 {
            let one = self.e.rounded(to, 1.0)?;
            out = self.e.op(Op::Div, to, &[one, out])?;
        }
        Some(out)
    }

    /// Returns an operand at the index of the result, in a dtype.
    pub(super) fn operand(&mut self, c: &Said<'_, '_>, arg: &Arg, dtype: Dtype, converts: bool) -> Option<ExprId> {
        let Some(array) = c.array_of(arg) else { return self.constant(c, arg, dtype, false) };
        // A number that the narrow dtype holds is the same rounded or not.
        if is_narrow(dtype)
            && let Some(v) =
                self.e.float(array.expr).filter(|v| crate::rules::element::cast::round(dtype, *v) == Some(*v))
        {
            return self.e.rounded(dtype, v);
        }
        // A kernel takes one element alone as it is, not rounded.
        let many = array.sizes.iter().any(|d| self.e.at_most(Dim::Fixed(2), *d));
        if array.dtype != dtype && is_narrow(dtype) && !converts && !many || array.dtype.is_complex() {
            return None;
        }
        let x = self.broadcast(array, &c.result.sizes)?;
        self.e.op(Op::Cast, dtype, &[x])
    }

    /// Returns a number as an operand; `keeps` where the operator does not round it to a narrow dtype first.
    pub(super) fn constant(&mut self, c: &Said<'_, '_>, arg: &Arg, dtype: Dtype, keeps: bool) -> Option<ExprId> {
        if !is_plain(dtype) {
            return None;
        }
        let float = |s: &mut Self, v: f64| if keeps { s.e.unrounded(dtype, v) } else { s.e.rounded(dtype, v) };
        match arg {
            Arg::Float(v) if dtype.is_float() => float(self, *v),
            Arg::Bool(v) if dtype.is_float() => float(self, f64::from(u8::from(*v))),
            Arg::Bool(v) => self.e.integer(dtype, i64::from(*v)),
            Arg::Int(v) if dtype.is_float() => {
                if v.unsigned_abs() > 1 << 24 {
                    return None;
                }
                #[allow(clippy::cast_precision_loss)]
                let v = *v as f64;
                float(self, v)
            }
            Arg::Int(v) => {
                let fits = crate::rules::element::make::wrapped(dtype, *v) == Some(*v);
                // `full` of a bool takes any number; else a number that does not fit raises or wraps by kernel.
                (fits || dtype == Dtype::Bool).then(|| self.e.integer(dtype, *v))?
            }
            Arg::Node(_) if let Some(number) = c.number(arg) => {
                let plain = self.over_reals && matches!(dtype, Dtype::F32 | Dtype::F64);
                plain.then(|| self.number_over_sizes(number, dtype, OPERATIONS))?
            }
            Arg::Node(_) => {
                let size = c.dim(arg)?;
                let at = self.e.at(size);
                let number = self.e.index_value(Dtype::I64, at)?;
                if is_narrow(dtype) {
                    return None;
                }
                self.e.op(Op::Cast, dtype, &[number])
            }
            _ => None,
        }
    }

    /// A number that a narrow float holds, or no number.
    fn exact(&mut self, c: &Said<'_, '_>, arg: &Arg, dtype: Dtype) -> Option<()> {
        if c.array_of(arg).is_some() {
            return Some(());
        }
        let v = match arg {
            Arg::Float(v) => *v,
            Arg::Int(v) if v.unsigned_abs() <= 2048 => f64::from(i32::try_from(*v).ok()?),
            _ => return None,
        };
        (crate::rules::element::cast::round(dtype, v) == Some(v)).then_some(())
    }

    fn truth_of(&mut self, c: &Said<'_, '_>, arg: &Arg) -> Option<ExprId> {
        let array = c.array_of(arg).filter(|a| is_plain(a.dtype))?;
        let x = self.broadcast(array, &c.result.sizes)?;
        self.e.op(Op::Cast, Dtype::Bool, &[x])
    }

    /// Returns a number that is filled in: a float becomes an integer as a conversion makes it one.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn filling(&mut self, c: &Said<'_, '_>, arg: &Arg, dtype: Dtype) -> Option<ExprId> {
        match arg {
            Arg::Float(v) if width(dtype).is_some_and(|w| w > 1) && v.abs() < 1e9 => {
                self.constant(c, &Arg::Int(v.trunc() as i64), dtype, false)
            }
            Arg::Float(v) if dtype == Dtype::Bool => self.constant(c, &Arg::Bool(*v != 0.0), dtype, false),
            given => self.constant(c, given, dtype, false),
        }
    }

    /// The dtype in which two operands are compared.
    fn common(&mut self, c: &Said<'_, '_>) -> Option<Dtype> {
        let mut promotion = Promotion::default();
        for arg in [c.arg(0), c.arg(1)] {
            match (c.array_of(arg), arg) {
                (Some(a), _) => promotion.tensor(a.dtype, a.sizes.len()).ok()?,
                (None, Arg::Bool(v)) => promotion.number(Number::Bool(Some(*v))).ok()?,
                (None, Arg::Float(v)) => promotion.number(Number::Float(Some(*v))).ok()?,
                (None, Arg::Int(v)) => promotion.number(Number::Int(Dim::Fixed(*v))).ok()?,
                (None, Arg::Node(_)) => promotion.number(Number::Int(c.dim(arg)?)).ok()?,
                _ => return None,
            }
        }
        promotion.dtype().ok().filter(|d| is_plain(*d))
    }

    fn binary(&mut self, c: &Said<'_, '_>, op: Op) -> Option<ExprId> {
        let to = c.result.dtype;
        let keeps = matches!(op, Op::Mul | Op::Div);
        let side = |s: &mut Self, arg: &Arg| match (c.array_of(arg), arg) {
            (Some(_), _) => s.operand(c, arg, to, false),
            // A literal stands for itself.
            (None, Arg::Float(v)) if s.over_reals && to == Dtype::F32 => s.e.literal(to, *v),
            (None, _) => s.constant(c, arg, to, keeps),
        };
        if matches!(op, Op::Sub) && to == Dtype::Bool || matches!(op, Op::Rem) && width(to).is_none() {
            return None;
        }
        let (a, mut b) = (side(self, c.arg(0))?, side(self, c.arg(1))?);
        match c.named("alpha") {
            None | Some(Arg::Int(1)) => {}
            Some(Arg::Float(1.0)) if to.is_float() => {}
            Some(Arg::Int(alpha)) if width(to).is_some() && to != Dtype::Bool => {
                let alpha = self.e.integer(to, *alpha)?;
                b = self.e.op(Op::Mul, to, &[b, alpha])?;
            }
            Some(alpha) if self.over_reals && to.is_float() && !is_narrow(to) => {
                let alpha = self.constant(c, alpha, to, false)?;
                b = self.e.op(Op::Mul, to, &[b, alpha])?;
            }
            Some(_) => return None,
        }
        if matches!(op, Op::Div) && !to.is_float() {
            return None;
        }
        if matches!(op, Op::Shl | Op::Shr) && to == Dtype::Bool {
            return None;
        }
        // A product of truths holds where both do.
        let op = if op == Op::Mul && to == Dtype::Bool { Op::And } else { op };
        self.e.op(op, to, &[a, b])
    }

    fn bound(&mut self, c: &Said<'_, '_>, arg: &Arg, to: Dtype) -> Option<ExprId> {
        if is_narrow(to) && c.array_of(arg).is_none() {
            self.exact(c, arg, to)?;
        }
        self.operand(c, arg, to, false)
    }

    fn clamped(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let to = c.result.dtype;
        let mut x = self.operand(c, c.arg(0), to, false)?;
        for (i, op) in [(1, Op::AtLeast), (2, Op::AtMost)] {
            if *c.arg(i) != Arg::None {
                let bound = self.bound(c, c.arg(i), to)?;
                if self.over_reals && to.is_float() && c.array_of(c.arg(i)).is_some() {
                    x = self.e.op(if op == Op::AtLeast { Op::Max } else { Op::Min }, to, &[x, bound])?;
                    continue;
                }
                // A bound that is NaN is taken or not, by which of the two it is.
                let nan = self.e.float(bound).is_some_and(f64::is_nan);
                let known = self.e.number(bound).is_some();
                if nan || to.is_float() && !known {
                    return None;
                }
                x = self.e.op(op, to, &[x, bound])?;
            }
        }
        Some(x)
    }

    /// Returns the dimensions that are reduced.
    pub(super) fn reduced_dims(&self, c: &Said<'_, '_>, rank: usize) -> Option<Vec<usize>> {
        let one = |a: &Arg| {
            let Arg::Int(d) = a else { return None };
            let signed = i64::try_from(rank).ok()?;
            let d = if *d < 0 { d.checked_add(signed)? } else { *d };
            usize::try_from(d).ok().filter(|d| *d < rank)
        };
        let mut dims: Vec<usize> = match c.named("dim") {
            None | Some(Arg::None) => (0..rank).collect(),
            Some(one_dim @ Arg::Int(_)) if rank > 0 => vec![one(one_dim)?],
            Some(Arg::Int(_)) => Vec::new(),
            // Of one number there is no other dimension.
            Some(list) if rank == 0 => list.items()?.iter().all(|d| matches!(d, Arg::Int(0 | -1))).then(Vec::new)?,
            Some(list) => match list.items()? {
                [] => (0..rank).collect(),
                many => many.iter().map(one).collect::<Option<_>>()?,
            },
        };
        dims.sort_unstable();
        dims.dedup();
        Some(dims)
    }

    fn folded(&mut self, c: &Said<'_, '_>, fold: Fold) -> Option<ExprId> {
        let array = c.array(0)?.clone();
        if !is_plain(array.dtype) || fold == Fold::Any && c.result.dtype != Dtype::Bool {
            return None;
        }
        // The greatest truth is whether any is one, the least whether none is none.
        if array.dtype == Dtype::Bool && fold == Fold::Most {
            return self.fold(c, Fold::Any, &array);
        }
        if array.dtype == Dtype::Bool && fold == Fold::Least {
            let expr = self.e.op(Op::Not, Dtype::Bool, &[array.expr])?;
            let any = self.fold(c, Fold::Any, &Array { expr, ..array })?;
            return self.e.op(Op::Not, Dtype::Bool, &[any]);
        }
        let expr = if fold == Fold::Any { self.e.op(Op::Cast, Dtype::Bool, &[array.expr])? } else { array.expr };
        self.fold(c, fold, &Array { dtype: c.result.dtype, expr, ..array })
    }

    /// Takes the elements of an array together over the dimensions that the call names.
    fn fold(&mut self, c: &Said<'_, '_>, fold: Fold, array: &Array) -> Option<ExprId> {
        let rank = array.sizes.len();
        let dims = self.reduced_dims(c, rank)?;
        let keeps = c.named("keepdim") == Some(&Arg::Bool(true));
        let level = self.e.highest_level(array.expr).map_or(0, |l| l.saturating_add(1));
        let (mut next, mut out) = (level, 0_u32);
        let (mut vars, mut sizes) = (SmallVec::new(), Vec::new());
        for (k, size) in array.sizes.iter().enumerate() {
            if dims.contains(&k) {
                out = out.checked_add(u32::from(keeps))?;
                if *size == Dim::Fixed(1) {
                    vars.push(self.e.at(Dim::Fixed(0)));
                    continue;
                }
                vars.push(self.e.place(crate::rules::element::index::Place::Bound(next, *size)));
                sizes.push(*size);
                next = next.checked_add(1)?;
            } else {
                vars.push(self.e.var(out, *size));
                out = out.checked_add(1)?;
            }
        }
        let body = self.e.moved(array.expr, &Moves { vars, bound: None })?;
        self.e.reduced(fold, level, &sizes, body)
    }

    fn summed(&mut self, c: &Said<'_, '_>, fold: Option<Fold>) -> Option<ExprId> {
        let array = c.array(0)?.clone();
        let to = c.result.dtype;
        if !is_plain(array.dtype) || !is_plain(to) {
            return None;
        }
        if fold.is_none() && is_narrow(to) && array.dtype != to {
            // A mean is rounded once, at its end.
            return None;
        }
        let expr = self.e.op(Op::Cast, to, &[array.expr])?;
        let array = Array { dtype: to, expr, ..array };
        if width(to).is_some() {
            return self.fold(c, fold?, &array);
        }
        if self.over_reals {
            return self.summed_over_reals(c, fold, &array);
        }
        if fold == Some(Fold::Sum)
            && let Some(whole) = self.summed_as_integers(c, &array)
        {
            return Some(whole);
        }
        let dims = self.reduced_dims(c, array.sizes.len())?;
        if fold.is_some() && dims.iter().any(|d| array.sizes.get(*d) == Some(&Dim::Fixed(0))) {
            return self.fold(c, fold?, &array);
        }
        // The kernel's order is that of a call with this shape over these dimensions, whichever way they are named.
        let mut tokens = vec![Token::List(dims.len())];
        tokens.extend(dims.iter().map(|d| Token::count(*d)));
        let keeps = c.named("keepdim") == Some(&Arg::Bool(true));
        let kid = self.e.tensor(Tensor { dtype: to, sizes: array.sizes.clone(), expr });
        let target = kernel_of(fold);
        let source = self.e.source(Source::Call { target, tokens: tokens.into(), kids: Box::new([kid]), item: 0 });
        let vars = self.vars(&c.result.sizes);
        let kept = (0_usize..).zip(vars).filter(|(k, _)| !keeps || !dims.contains(k)).map(|(_, v)| v);
        self.e.load(to, source, kept.collect())
    }

    /// A sum of floats that are integers: as long as none that is summed on the way leaves those that the dtype holds, the order does not matter.
    fn summed_as_integers(&mut self, c: &Said<'_, '_>, array: &Array) -> Option<ExprId> {
        let to = c.result.dtype;
        let whole = self.e.whole(array.expr)?;
        let dims = self.reduced_dims(c, array.sizes.len())?;
        let sizes: Vec<Dim> = dims.iter().filter_map(|d| array.sizes.get(*d).copied()).collect();
        let most = crate::rules::element::cast::most_whole(to)?;
        if !self.e.stays_below(whole, &sizes, most) {
            return None;
        }
        let sum = self.fold(c, Fold::Sum, &Array { dtype: Dtype::I64, expr: whole, ..array.clone() })?;
        self.e.applied.insert("integers-as-floats");
        self.e.op(Op::Cast, to, &[sum])
    }

    /// A sum of floats, or its mean, in any order; narrow ones are summed as f32.
    fn summed_over_reals(&mut self, c: &Said<'_, '_>, fold: Option<Fold>, array: &Array) -> Option<ExprId> {
        let to = c.result.dtype;
        let wide = if is_narrow(to) { Dtype::F32 } else { to };
        let expr = self.e.op(Op::Cast, wide, &[array.expr])?;
        if fold == Some(Fold::Product) && wide == to {
            let product = self.fold(c, Fold::Product, &Array { dtype: wide, expr, ..array.clone() })?;
            let product = self.e.factors_of(product)?;
            return self.e.op(Op::Cast, to, &[product]);
        }
        if fold.is_some_and(|f| f != Fold::Sum) {
            return None;
        }
        let mut sum = self.fold(c, Fold::Sum, &Array { dtype: wide, expr, ..array.clone() })?;
        if fold.is_none() {
            let dims = self.reduced_dims(c, array.sizes.len())?;
            let sizes: Vec<Dim> = dims.iter().filter_map(|d| array.sizes.get(*d).copied()).collect();
            let count = self.e.product(&sizes)?;
            let at = self.e.at(count);
            let count = self.e.index_value(Dtype::I64, at)?;
            let count = self.e.op(Op::Cast, wide, &[count])?;
            sum = self.e.op(Op::Div, wide, &[sum, count])?;
        }
        self.e.op(Op::Cast, to, &[sum])
    }

    /// A product of matrices: of integers a sum of products, wrapping around; over the reals of floats too, narrow ones summed as f32.
    fn multiplied(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let (mut a, mut b) = (c.array(0)?.clone(), c.array(1)?.clone());
        let result = c.result.dtype;
        let inner = *a.sizes.last()?;
        let to = if is_narrow(result) { Dtype::F32 } else { result };
        let floats = self.over_reals && is_plain(to) && to.is_float();
        if !floats && width(to).is_none_or(|w| w < 2) || a.dtype != result || b.dtype != result {
            return None;
        }
        for array in [&mut a, &mut b] {
            (array.dtype, array.expr) = (to, self.e.op(Op::Cast, to, &[array.expr])?);
        }
        let level = self.e.highest_level(a.expr).max(self.e.highest_level(b.expr)).map_or(0, |l| l.saturating_add(1));
        let bound = self.e.place(crate::rules::element::index::Place::Bound(level, inner));
        let vars = self.vars(&c.result.sizes);
        let (column, rows) = vars.split_last()?;
        let (row, batch) = rows.split_last()?;
        let left = batch.iter().copied().chain([*row, bound]).collect();
        let right = batch.iter().copied().chain([bound, *column]).collect();
        let (x, y) = (self.at(&a, left)?, self.at(&b, right)?);
        let product = self.e.op(Op::Mul, to, &[x, y])?;
        let sum = self.e.reduced(Fold::Sum, level, &[inner], product)?;
        self.e.op(Op::Cast, result, &[sum])
    }
}
