//! Sums of floats, over the reals: variances and convolutions.
//!
//! ## What it says
//! A variance is the mean of the squares of differences from the mean; a convolution sums products over channels of a group and over a window,
//! and what lies beside the input is 0.
//!
//! ## When it is wrong
//! Bit by bit: the order in which a kernel sums is its own. Narrow floats are summed as f32; that they are is each operator's definition.

use smallvec::SmallVec;

use crate::graph::{Arg, Dtype};
use crate::rules::element::arena::{ExprId, Fold, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::make::{ends, width};
use crate::rules::meaning::{Array, Said, Speaker};
use crate::rules::pointwise::is_plain;
use crate::sym::Dim;

/// How many factors a product may have.
const FACTORS: i64 = 8;

impl Speaker<'_> {
    /// Rows at integers of the data, so many for each bag: their sum, or their mean.
    pub(super) fn summed_in_bags(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let (weight, rows, offsets) = (c.array(0)?.clone(), c.array(1)?.clone(), c.array(2)?.clone());
        let to = c.result.dtype;
        let plain = weight.dtype == to && matches!(to, Dtype::F32 | Dtype::F64);
        let factors = match c.named("per_sample_weights")? {
            Arg::None => None,
            given => Some(c.array_of(given).filter(|w| w.dtype == to && *c.arg(4) == Arg::Int(0))?.clone()),
        };
        let fit = factors.as_ref().is_none_or(|w| self.same_sizes(&w.sizes, &rows.sizes));
        let whole = fit && c.named("include_last_offset") == Some(&Arg::Bool(false));
        let unpadded = matches!(c.named("padding_idx"), Some(Arg::Int(..0)));
        (plain && whole && unpadded).then_some(())?;
        let ([Dim::Fixed(count)], [Dim::Fixed(bags @ 1..)]) = (rows.sizes.as_slice(), offsets.sizes.as_slice()) else {
            return None;
        };
        let length = count.checked_div(*bags).filter(|n| *n > 0 && n.checked_mul(*bags) == Some(*count))?;
        // Each bag begins where the one before ends.
        let first = self.e.var(0, Dim::Fixed(*bags));
        let begins = self.e.scale(first, Dim::Fixed(length))?;
        let own = self.vars(&offsets.sizes);
        let told = self.data(&offsets, own)?;
        (told == begins).then_some(())?;
        let all = [&rows, &weight].into_iter().chain(&factors);
        let level = all.filter_map(|a| self.e.highest_level(a.expr)).max().map_or(0, |l| l.saturating_add(1));
        let within = self.e.place(Place::Bound(level, Dim::Fixed(length)));
        let [bag, column] = self.vars(&c.result.sizes)[..] else { return None };
        let at = self.e.scale(bag, Dim::Fixed(length))?;
        let at = self.e.sum(at, within)?;
        let row = self.data(&rows, SmallVec::from_elem(at, 1))?;
        let mut each = self.at(&weight, SmallVec::from_slice(&[row, column]))?;
        if let Some(factors) = factors {
            let factor = self.at(&factors, SmallVec::from_elem(at, 1))?;
            each = self.e.op(Op::Mul, to, &[each, factor])?;
        }
        let sum = self.e.reduced(Fold::Sum, level, &[Dim::Fixed(length)], each)?;
        match c.arg(4) {
            Arg::Int(0) => Some(sum),
            Arg::Int(1) => {
                let length = self.number_of(to, Dim::Fixed(length))?;
                self.e.op(Op::Div, to, &[sum, length])
            }
            _ => None,
        }
    }

    pub(super) fn varied(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let array = c.array(0)?.clone();
        let to = c.result.dtype;
        if array.dtype != to || !matches!(to, Dtype::F32 | Dtype::F64) {
            return None;
        }
        let dims = self.reduced_dims(c, array.sizes.len())?;
        let sizes: Vec<Dim> = dims.iter().filter_map(|d| array.sizes.get(*d).copied()).collect();
        let count = self.e.product(&sizes)?;
        let correction = match c.named("correction") {
            None | Some(Arg::None) => 1.0,
            Some(Arg::Int(n)) => f64::from(i32::try_from(*n).ok()?),
            Some(Arg::Float(v)) => *v,
            Some(_) => return None,
        };
        let freedom = match count.fixed() {
            Some(count) => {
                let freedom = f64::from(i32::try_from(count).ok()?) - correction;
                (freedom > 0.0).then(|| self.e.rounded(to, freedom))??
            }
            None => {
                // Never below 0: a divisor is not.
                let less = [0.0, 1.0, 2.0].iter().position(|c| (c - correction).abs() == 0.0)?;
                let less = Dim::Fixed(i64::try_from(less).ok()?);
                let minus = self.e.minus(less)?;
                let freedom = self.e.plus(count, minus)?;
                let holds = self.e.at_most(less, count) && self.e.at_most(Dim::Fixed(1), count);
                holds.then(|| self.number_of(to, freedom))??
            }
        };
        // The mean, at every place over which it was taken.
        let kept = |k: usize| !dims.contains(&k);
        let level = self.e.highest_level(array.expr).map_or(0, |l| l.saturating_add(1));
        let mut vars = self.vars(&array.sizes);
        for (next, k) in (level..).zip(&dims) {
            *vars.get_mut(*k)? = self.e.place(Place::Bound(next, *array.sizes.get(*k)?));
        }
        let body = self.at(&array, vars)?;
        let sum = self.e.reduced(Fold::Sum, level, &sizes, body)?;
        let all = self.number_of(to, count)?;
        let mean = self.e.op(Op::Div, to, &[sum, all])?;
        let apart = self.e.op(Op::Sub, to, &[array.expr, mean])?;
        let square = self.e.op(Op::Mul, to, &[apart, apart])?;
        // Summed again, at the index of the result.
        let keeps = c.named("keepdim") == Some(&Arg::Bool(true));
        let level = self.e.highest_level(square).map_or(0, |l| l.saturating_add(1));
        let (mut next, mut out) = (level, 0_u32);
        let mut vars: SmallVec<[IndexId; 4]> = SmallVec::new();
        for (k, size) in array.sizes.iter().enumerate() {
            if kept(k) {
                vars.push(self.e.var(out, *size));
                out = out.checked_add(1)?;
            } else {
                vars.push(self.e.place(Place::Bound(next, *size)));
                next = next.checked_add(1)?;
                out = out.checked_add(u32::from(keeps))?;
            }
        }
        let body = self.at(&Array { expr: square, ..array }, vars)?;
        let sum = self.e.reduced(Fold::Sum, level, &sizes, body)?;
        self.e.op(Op::Div, to, &[sum, freedom])
    }

    /// A size as a float.
    pub(super) fn number_of(&mut self, to: Dtype, size: Dim) -> Option<ExprId> {
        let at = self.e.at(size);
        let number = self.e.index_value(Dtype::I64, at)?;
        self.e.op(Op::Cast, to, &[number])
    }

    pub(super) fn convolved(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let (x, w) = (c.array(0)?.clone(), c.array(1)?.clone());
        let to = c.result.dtype;
        let wide = if matches!(to, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { to };
        let numbers = |a: &Arg| -> Option<Vec<i64>> {
            a.items()?.iter().map(|a| if let Arg::Int(v) = a { Some(*v) } else { None }).collect()
        };
        let (Arg::Bool(transposed), Arg::Int(groups)) = (c.arg(6), c.arg(8)) else { return None };
        if *transposed {
            return self.spread(c);
        }
        let (mut strides, mut pads, mut steps) = (numbers(c.arg(3))?, numbers(c.arg(4))?, numbers(c.arg(5))?);
        let rank = x.sizes.len().checked_sub(2)?;
        // One number stands for all.
        for list in [&mut strides, &mut pads, &mut steps].into_iter().filter(|l| l.len() == 1) {
            *list = list.repeat(rank);
        }
        let fits = w.sizes.len() == x.sizes.len() && [&strides, &pads, &steps].iter().all(|l| l.len() == rank);
        if !fits || x.dtype != to || w.dtype != to || c.result.sizes.len() != x.sizes.len() {
            return None;
        }
        let fixed = |d: Option<&Dim>| d.and_then(|d| d.fixed());
        let (out, inner) = (fixed(w.sizes.first())?, fixed(w.sizes.get(1))?);
        let in_group = out.checked_div(*groups).filter(|n| *n > 0)?;
        let mut inputs = [(&x, x.expr), (&w, w.expr)];
        for (_, expr) in &mut inputs {
            *expr = self.e.op(Op::Cast, wide, &[*expr])?;
        }
        let (x, w) = (
            Array { dtype: wide, expr: inputs.first()?.1, ..x.clone() },
            Array { dtype: wide, expr: inputs.last()?.1, ..w.clone() },
        );
        let level = self.e.highest_level(x.expr).max(self.e.highest_level(w.expr)).map_or(0, |l| l.saturating_add(1));
        let vars = self.vars(&c.result.sizes);
        let channel = match inner {
            1 => self.e.at(Dim::Fixed(0)),
            _ => self.e.place(Place::Bound(level, Dim::Fixed(inner))),
        };
        let group = self.e.quotient(*vars.get(1)?, Dim::Fixed(in_group))?;
        let first = self.e.scale(group, Dim::Fixed(inner))?;
        let mut at: SmallVec<[IndexId; 4]> = SmallVec::from_slice(&[*vars.first()?, self.e.sum(first, channel)?]);
        let mut weight: SmallVec<[IndexId; 4]> = SmallVec::from_slice(&[*vars.get(1)?, channel]);
        let mut sizes = vec![Dim::Fixed(inner)];
        let mut inside = Vec::new();
        for k in 0..rank {
            let dim = k.checked_add(2)?;
            let size = *w.sizes.get(dim)?;
            let bound = match size {
                Dim::Fixed(1) => self.e.at(Dim::Fixed(0)),
                _ => {
                    sizes.push(size);
                    let before = u32::try_from(sizes.len().checked_sub(1)?).ok()?;
                    self.e.place(Place::Bound(level.checked_add(before)?, size))
                }
            };
            let begin = self.e.scale(*vars.get(dim)?, Dim::Fixed(*strides.get(k)?))?;
            let step = self.e.scale(bound, Dim::Fixed(*steps.get(k)?))?;
            let place = self.e.sum(begin, step)?;
            let place = self.e.shift(place, Dim::Fixed(pads.get(k)?.checked_neg()?))?;
            if *pads.get(k)? > 0 {
                let left = self.e.scale(place, Dim::Fixed(-1))?;
                let last = self.e.plus(*x.sizes.get(dim)?, Dim::Fixed(-1))?;
                // The last dimension first, as padding has it.
                inside.splice(0..0, [place, self.e.shift(left, last)?]);
            }
            at.push(place);
            weight.push(bound);
        }
        let zero = self.e.rounded(wide, 0.0)?;
        let mut element = self.within(&inside.clone(), |s| s.at(&x, at))?;
        for fact in inside {
            let holds = self.e.at_least_zero_expr(fact)?;
            element = self.e.op(Op::Choose, wide, &[holds, element, zero])?;
        }
        let factor = self.at(&w, weight)?;
        let product = self.e.op(Op::Mul, wide, &[element, factor])?;
        let mut sum = self.e.reduced(Fold::Sum, level, &sizes, product)?;
        if *c.arg(2) != Arg::None {
            let bias = c.array(2)?.clone();
            let bias = self.at(&bias, SmallVec::from_elem(*vars.get(1)?, 1))?;
            let bias = self.e.op(Op::Cast, wide, &[bias])?;
            sum = self.e.op(Op::Add, wide, &[sum, bias])?;
        }
        self.e.op(Op::Cast, to, &[sum])
    }

    /// A convolution that spreads each element over a window: what reaches a place is summed, where steps lead there.
    fn spread(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let (x, w) = (c.array(0)?.clone(), c.array(1)?.clone());
        let to = c.result.dtype;
        let numbers = |a: &Arg| -> Option<Vec<i64>> {
            a.items()?.iter().map(|a| if let Arg::Int(v) = a { Some(*v) } else { None }).collect()
        };
        let Arg::Int(groups) = c.arg(8) else { return None };
        let (strides, pads, steps) = (numbers(c.arg(3))?, numbers(c.arg(4))?, numbers(c.arg(5))?);
        let rank = x.sizes.len().checked_sub(2)?;
        let fits = w.sizes.len() == x.sizes.len() && [&strides, &pads, &steps].iter().all(|l| l.len() == rank);
        let plain = matches!(to, Dtype::F32 | Dtype::F64) && x.dtype == to && w.dtype == to;
        if !fits || !plain || c.result.sizes.len() != x.sizes.len() || strides.iter().any(|s| *s < 1) {
            return None;
        }
        let fixed = |d: Option<&Dim>| d.and_then(|d| d.fixed());
        let (all, out) = (fixed(w.sizes.first())?, fixed(w.sizes.get(1))?);
        let inner = all.checked_div(*groups).filter(|n| *n > 0)?;
        let level = self.e.highest_level(x.expr).max(self.e.highest_level(w.expr)).map_or(0, |l| l.saturating_add(1));
        let vars = self.vars(&c.result.sizes);
        let group = self.e.quotient(*vars.get(1)?, Dim::Fixed(out))?;
        let own = self.e.remainder(*vars.get(1)?, Dim::Fixed(out))?;
        let first = self.e.scale(group, Dim::Fixed(inner))?;
        let channel = self.e.place(Place::Bound(level, Dim::Fixed(inner)));
        let channel = self.e.sum(first, channel)?;
        let mut at: SmallVec<[IndexId; 4]> = SmallVec::from_slice(&[*vars.first()?, channel]);
        let mut weight: SmallVec<[IndexId; 4]> = SmallVec::from_slice(&[channel, own]);
        let mut sizes = vec![Dim::Fixed(inner)];
        let (mut inside, mut whole) = (Vec::new(), Vec::new());
        for k in 0..rank {
            let dim = k.checked_add(2)?;
            let size = *w.sizes.get(dim)?;
            if size == Dim::Fixed(*strides.get(k)?) && *steps.get(k)? == 1 {
                // Windows side by side: one element reaches a place.
                let place = self.e.shift(*vars.get(dim)?, Dim::Fixed(*pads.get(k)?))?;
                let (over, within) = (self.e.quotient(place, size)?, self.e.remainder(place, size)?);
                let beyond = self.e.scale(over, Dim::Fixed(-1))?;
                let last = self.e.plus(*x.sizes.get(dim)?, Dim::Fixed(-1))?;
                inside.extend([over, self.e.shift(beyond, last)?]);
                at.push(over);
                weight.push(within);
                continue;
            }
            let name = level.checked_add(u32::try_from(sizes.len()).ok()?)?;
            let bound = self.e.place(Place::Bound(name, size));
            sizes.push(size);
            let step = self.e.scale(bound, Dim::Fixed(steps.get(k)?.checked_neg()?))?;
            let place = self.e.sum(*vars.get(dim)?, step)?;
            let place = self.e.shift(place, Dim::Fixed(*pads.get(k)?))?;
            let stride = Dim::Fixed(*strides.get(k)?);
            let (over, left) = (self.e.quotient(place, stride)?, self.e.remainder(place, stride)?);
            whole.push(left);
            let beyond = self.e.scale(over, Dim::Fixed(-1))?;
            let last = self.e.plus(*x.sizes.get(dim)?, Dim::Fixed(-1))?;
            inside.extend([over, self.e.shift(beyond, last)?]);
            at.push(over);
            weight.push(bound);
        }
        let zero = self.e.rounded(to, 0.0)?;
        let mut element = self.within(&inside.clone(), |s| s.at(&x, at))?;
        for fact in inside {
            let holds = self.e.at_least_zero_expr(fact)?;
            element = self.e.op(Op::Choose, to, &[holds, element, zero])?;
        }
        for left in whole {
            let holds = self.e.is_zero_expr(left)?;
            element = self.e.op(Op::Choose, to, &[holds, element, zero])?;
        }
        let factor = self.at(&w, weight)?;
        let product = self.e.op(Op::Mul, to, &[element, factor])?;
        let mut sum = self.e.reduced(Fold::Sum, level, &sizes, product)?;
        if *c.arg(2) != Arg::None {
            let bias = c.array(2)?.clone();
            let bias = self.at(&bias, SmallVec::from_elem(*vars.get(1)?, 1))?;
            sum = self.e.op(Op::Add, to, &[sum, bias])?;
        }
        Some(sum)
    }

    /// The sum of the elements of a dimension up to this one.
    pub(super) fn running(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let mut x = c.array(0)?.clone();
        let to = c.result.dtype;
        let floats = matches!(to, Dtype::F32 | Dtype::F64);
        let converts = width(x.dtype).is_some() || is_plain(x.dtype) && floats;
        if converts && (floats || width(to).is_some_and(|w| w > 1)) {
            // What is summed in another dtype is converted first.
            x = Array { dtype: to, expr: self.e.op(Op::Cast, to, &[x.expr])?, ..x };
        } else {
            return None;
        }
        let [dim] = <[usize; 1]>::try_from(self.reduced_dims(c, x.sizes.len())?).ok()?;
        let size = *x.sizes.get(dim)?;
        let level = self.e.highest_level(x.expr).map_or(0, |l| l.saturating_add(1));
        let own = self.e.place(Place::Bound(level, size));
        let mut at = self.vars(&x.sizes);
        let before = self.e.scale(own, Dim::Fixed(-1))?;
        let before = self.e.sum(*at.get(dim)?, before)?;
        *at.get_mut(dim)? = own;
        let element = self.at(&x, at)?;
        let zero = if to.is_float() { self.e.rounded(to, 0.0) } else { self.e.integer(to, 0) }?;
        let counts = self.e.at_least_zero_expr(before)?;
        let element = self.e.op(Op::Choose, to, &[counts, element, zero])?;
        self.e.reduced(Fold::Sum, level, &[size], element)
    }

    /// The product of the elements of a dimension up to this one, where they are few.
    pub(super) fn running_product(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let (x, to) = (c.array(0)?.clone(), c.result.dtype);
        if width(to).is_some_and(|w| w > 1) && width(x.dtype).is_some() {
            return self.running_product_of_integers(c, x);
        }
        if !is_plain(x.dtype) || !matches!(to, Dtype::F32 | Dtype::F64) {
            return None;
        }
        let x = Array { dtype: to, expr: self.e.op(Op::Cast, to, &[x.expr])?, ..x };
        let [dim] = <[usize; 1]>::try_from(self.reduced_dims(c, x.sizes.len())?).ok()?;
        let size = x.sizes.get(dim)?.fixed().filter(|n| (1..=FACTORS).contains(n))?;
        let (vars, one) = (self.vars(&x.sizes), self.e.rounded(to, 1.0)?);
        let mut out = one;
        for k in 0..size {
            let mut at = vars.clone();
            *at.get_mut(dim)? = self.e.at(Dim::Fixed(k));
            let element = self.at(&x, at)?;
            let reached = self.e.shift(*vars.get(dim)?, Dim::Fixed(k.checked_neg()?))?;
            let reached = self.e.at_least_zero_expr(reached)?;
            let factor = self.e.op(Op::Choose, to, &[reached, element, one])?;
            out = self.e.op(Op::Mul, to, &[out, factor])?;
        }
        Some(out)
    }

    /// The same of integers, however many there are: what is beyond counts as 1.
    fn running_product_of_integers(&mut self, c: &Said<'_, '_>, x: Array) -> Option<ExprId> {
        let to = c.result.dtype;
        let x = Array { dtype: to, expr: self.e.op(Op::Cast, to, &[x.expr])?, ..x };
        let [dim] = <[usize; 1]>::try_from(self.reduced_dims(c, x.sizes.len())?).ok()?;
        let size = *x.sizes.get(dim)?;
        let level = self.e.highest_level(x.expr).map_or(0, |l| l.saturating_add(1));
        let own = self.e.place(Place::Bound(level, size));
        let mut at = self.vars(&x.sizes);
        let reached = self.e.difference(*at.get(dim)?, own)?;
        let reached = self.e.at_least_zero_expr(reached)?;
        *at.get_mut(dim)? = own;
        let element = self.at(&x, at)?;
        let truth = match self.e.op_of(element) {
            Some((Op::Cast, [inner])) if self.e.dtype(*inner) == Some(Dtype::Bool) => Some(*inner),
            _ => None,
        };
        let Some(truth) = truth else {
            let one = self.e.integer(to, 1)?;
            let factor = self.e.op(Op::Choose, to, &[reached, element, one])?;
            return self.e.reduced(Fold::Product, level, &[size], factor);
        };
        // Of truths it is 1 where none so far is false.
        let opposite = self.e.op(Op::Not, Dtype::Bool, &[truth])?;
        let opposite = self.e.op(Op::Cast, Dtype::I64, &[opposite])?;
        let zero = self.e.integer(Dtype::I64, 0)?;
        let counted = self.e.op(Op::Choose, Dtype::I64, &[reached, opposite, zero])?;
        let count = self.e.reduced(Fold::Sum, level, &[size], counted)?;
        let none = self.e.op(Op::Eq, Dtype::Bool, &[count, zero])?;
        self.e.op(Op::Cast, to, &[none])
    }

    /// The greatest (least) of the elements of a dimension up to this one: what is beyond is the least (greatest) number of the dtype.
    pub(super) fn running_extreme(&mut self, c: &Said<'_, '_>, fold: Fold) -> Option<ExprId> {
        let x = c.array(0)?.clone();
        if x.dtype != c.result.dtype || x.sizes.is_empty() {
            return None;
        }
        let dim = self.axis(c.arg(1), x.sizes.len())?;
        self.extreme_up_to(&x, fold, dim)
    }

    /// The same of an array, along a dimension.
    pub(super) fn extreme_up_to(&mut self, x: &Array, fold: Fold, dim: usize) -> Option<ExprId> {
        let size = *x.sizes.get(dim)?;
        let level = self.e.highest_level(x.expr).map_or(0, |l| l.saturating_add(1));
        let own = self.e.place(Place::Bound(level, size));
        let mut at = self.vars(&x.sizes);
        let reached = self.e.difference(*at.get(dim)?, own)?;
        *at.get_mut(dim)? = own;
        let element = self.at(x, at)?;
        let least = if x.dtype.is_float() {
            self.e.rounded(x.dtype, if fold == Fold::Most { f64::NEG_INFINITY } else { f64::INFINITY })?
        } else {
            let (least, most) = ends(x.dtype)?;
            self.e.integer(x.dtype, if fold == Fold::Most { least } else { most })?
        };
        let reached = self.e.at_least_zero_expr(reached)?;
        let element = self.e.op(Op::Choose, x.dtype, &[reached, element, least])?;
        self.e.reduced(fold, level, &[size], element)
    }
}
