//! Elements that are chosen by their order along a dimension, and where they stand.
//!
//! ## What it says
//! Where a call says at which places along a dimension the elements that it gives stand, the elements at these places are those. The greatest of
//! integers, and of floats over the reals, is the one that stands where the greatest does. Where what is looked for belongs in a row that surely rises (of numbers that are known, of integers that were put in order, of sums of
//! integers that are not negative up to each place) is how many of the row are less, or at most as large. Of what is 1 at one place and 0 at the others that place is where the greatest stands.
//! The greatest stands where it stands in a dtype that holds each of its numbers; so do elements in an order that leaves equal ones as they come. Places in one row
//! are searched alike by each operator that does.
//! Over the reals the one in the middle of few is told by the greater and the lesser of them.
//!
//! ## When it is wrong
//! Along another dimension, or of another tensor, the same places hold other elements. Of zeros of both signs `amax` gives one or the other, `max.dim` the one
//! that stands at its place.

use smallvec::SmallVec;

use crate::graph::{Arg, Dtype};
use crate::rules::element::arena::{Expr, ExprId, Fold, Form, Op, Source, Tensor};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::make::width;
use crate::rules::meaning::{Array, Said, Speaker};
use crate::rules::rounding;
use crate::rules::table::{Chosen, Meaning, chosen_by, extreme_of, meaning, place_of};
use crate::sym::Dim;
use crate::term::term::Token;

/// In how long a row of numbers something is looked for.
const MOST_COUNTED: i64 = 256;

/// Of how many the one in the middle is written out.
const FEW: i64 = 5;

/// How many operators are looked through to what a call says a place of.
const AROUND: usize = 8;

/// What stands for the places at which elements belong in a row.
const SEARCHED: &str = "searched";

/// How a dimension is put in order, and which place of it is asked for.
#[derive(Clone, Copy)]
struct Order {
    dim: usize,
    /// Whether the greatest stands first.
    falls: bool,
    /// The one place that is given.
    only: Option<i64>,
}

impl Speaker<'_> {
    /// How many of a row of numbers that rise are not at least what is looked for, or not above it: NaN is beyond them all.
    pub(super) fn counted_below(&mut self, c: &Said<'_, '_>, row: usize, found: usize) -> Option<ExprId> {
        let (row, x) = (c.array(row)?.clone(), c.array(found)?.clone());
        let plain =
            c.named("sorter").is_none_or(|s| *s == Arg::None) && c.named("side").is_none_or(|s| *s == Arg::None);
        let (true, [Dim::Fixed(count @ 1..=MOST_COUNTED)]) = (plain && row.dtype == x.dtype, row.sizes.as_slice())
        else {
            return None;
        };
        if !self.is_sorted_row(&row) && !self.is_running_sum(&row)? {
            self.rises(&row, *count).filter(|rises| *rises)?;
        }
        let level = self.e.highest_level(row.expr).max(self.e.highest_level(x.expr)).map_or(0, |l| l.saturating_add(1));
        let place = self.e.place(Place::Bound(level, Dim::Fixed(*count)));
        let one = self.at(&row, SmallVec::from_elem(place, 1))?;
        let x = self.broadcast(&x, &c.result.sizes)?;
        let op = if c.named("right") == Some(&Arg::Bool(true)) { Op::Lt } else { Op::Le };
        let beyond = self.e.op(op, Dtype::Bool, &[x, one])?;
        let below = self.e.op(Op::Not, Dtype::Bool, &[beyond])?;
        let each = self.e.op(Op::Cast, Dtype::I64, &[below])?;
        let sum = self.e.reduced(Fold::Sum, level, &[Dim::Fixed(*count)], each)?;
        self.e.op(Op::Cast, c.result.dtype, &[sum])
    }

    /// Where something is looked for in one row of which nothing is known: by whichever operator.
    pub(super) fn searched(&mut self, c: &Said<'_, '_>, row: usize, found: usize) -> Option<ExprId> {
        let (row, x) = (c.array(row)?.clone(), c.array(found)?.clone());
        let right = c.named("right")?;
        let plain =
            c.named("sorter").is_none_or(|s| *s == Arg::None) && c.named("side").is_none_or(|s| *s == Arg::None);
        let known = !self.over_reals || [&row, &x].iter().all(|a| rounding::is_exact(&self.e, a.expr));
        (plain && known && row.dtype == x.dtype && row.sizes.len() == 1).then_some(())?;
        let kids = [row, x].map(|a| self.e.tensor(Tensor { dtype: a.dtype, sizes: a.sizes, expr: a.expr }));
        let tokens = [Token::Child, Token::Child, Token::scalar(right)?].into();
        let source = self.e.source(Source::Call { target: SEARCHED.into(), tokens, kids: kids.into(), item: 0 });
        let at = self.vars(&c.result.sizes);
        self.e.load(c.result.dtype, source, at)
    }

    /// Where the elements of a dimension in order stand: where they stand in a dtype that holds each of its numbers, equal ones as they come.
    pub(super) fn places_in_order(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        (c.named("stable") == Some(&Arg::Bool(true))).then_some(())?;
        let (tokens, mut kids) = self.given(c)?;
        let [x] = kids.as_mut_slice() else { return None };
        let narrow = self.e.without_wider(x.expr);
        (narrow != x.expr).then_some(())?;
        (x.dtype, x.expr) = (self.e.dtype(narrow)?, narrow);
        self.e.applied.insert("sort-before-cast");
        let source = self.source_of_call(c, tokens, kids);
        let source = self.e.source(source);
        let at = self.vars(&c.result.sizes);
        self.e.load(c.result.dtype, source, at)
    }

    /// Whether a row surely holds integers that were put in order.
    fn is_sorted_row(&self, row: &Array) -> bool {
        let integers = width(row.dtype).is_some_and(|bits| bits > 1);
        match self.e.expr(self.e.without_wider(row.expr)).map(|x| &x.form) {
            Some(Form::Load(source, at)) => {
                let own = |p: &[(Place, Dim)]| matches!(p, [(Place::Var(0, _), Dim::Fixed(1))]);
                let each = |i: &IndexId| own(&self.e.linear(*i).terms) && self.e.linear(*i).constant.is_none();
                integers && at.len() == 1 && at.iter().all(each) && self.e.is_in_order(*source)
            }
            _ => false,
        }
    }

    /// Whether a row surely holds sums of integers that are not negative, each up to its place, that do not wrap around.
    fn is_running_sum(&mut self, row: &Array) -> Option<bool> {
        let expr = self.e.expr(row.expr)?.clone();
        let (Form::Reduce(Fold::Sum, ..), [body]) = (&expr.form, expr.kids.as_slice()) else { return Some(false) };
        let Some((Op::Choose, &[reached, one, zero])) = self.e.op_of(*body) else { return Some(false) };
        let Form::AtLeastZero(over) = self.e.expr(reached)?.form else { return Some(false) };
        let own = |place: &Place| matches!(place, Place::Var(0, _));
        let rises = self.e.linear(over).terms.iter().any(|(p, by)| own(p) && by.fixed().is_some_and(|by| by > 0));
        let deep = self.e.linear(over).terms.iter().any(|(p, _)| !matches!(p, Place::Var(..) | Place::Bound(..)));
        let places = self.e.below(one).into_iter().filter_map(|id| self.e.expr(id)).flat_map(|x| self.e.places_of(x));
        let changes = places.collect::<Vec<_>>().iter().any(|p| own(p) || matches!(p, Place::Data(_)));
        let never = self.e.integers_of(one).is_some_and(|(low, _)| low >= 0) && self.e.number(zero) == Some(0);
        Some(rises && !deep && !changes && never && self.e.integers_of(row.expr).is_some())
    }

    /// Whether the numbers of a row are known, and none is below the one before.
    fn rises(&mut self, row: &Array, count: i64) -> Option<bool> {
        let mut last = f64::NEG_INFINITY;
        for k in 0..count {
            let place = self.e.at(Dim::Fixed(k));
            let one = self.at(row, SmallVec::from_elem(place, 1))?;
            #[allow(clippy::cast_precision_loss)]
            let number =
                self.e.float(one).or_else(|| self.e.number(one).filter(|n| n.abs() < 1 << 53).map(|n| n as f64))?;
            if number.is_nan() || last > number {
                return Some(false);
            }
            last = number;
        }
        Some(true)
    }

    /// The one in the middle of a dimension of few, the lower one of two: NaN where any is, as the greater and the lesser of some are.
    pub(super) fn median_of_few(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let (x, to) = (c.array(0)?.clone(), c.result.dtype);
        let dim = match c.named("dim")? {
            Arg::Int(d) if !x.sizes.is_empty() && x.dtype == to => self.axis(&Arg::Int(*d), x.sizes.len())?,
            _ => return None,
        };
        let count = x.sizes.get(dim)?.fixed().filter(|n| (1..=FEW).contains(n))?;
        let mut at = self.vars(&c.result.sizes);
        if c.named("keepdim") != Some(&Arg::Bool(true)) {
            let zero = self.e.at(Dim::Fixed(0));
            (dim <= at.len()).then(|| at.insert(dim, zero))?;
        }
        let mut all = Vec::new();
        for k in 0..count {
            *at.get_mut(dim)? = self.e.at(Dim::Fixed(k));
            all.push(self.at(&x, at.clone())?);
        }
        let middle = usize::try_from(count.checked_sub(1)?.checked_div(2)?).ok()?;
        self.e.at_place_of_few(to, &all, middle)
    }

    /// The elements of a dimension in order: NaN is the greatest.
    pub(super) fn in_order(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let x = c.array(0)?.clone();
        let dim = match c.named("dim")? {
            Arg::Int(d) if !x.sizes.is_empty() => self.axis(&Arg::Int(*d), x.sizes.len())?,
            _ => return None,
        };
        let mut vars = self.vars(&c.result.sizes);
        let (mut falls, mut only) = (c.named("descending") == Some(&Arg::Bool(true)), None);
        if c.named("largest").is_some() {
            falls = c.named("largest") == Some(&Arg::Bool(true));
            let ordered = c.named("sorted") == Some(&Arg::Bool(true)) || c.arg(1) == &Arg::Int(1);
            ordered.then_some(())?;
        } else if let (Some(k), Some(keeps)) = (c.named("k"), c.named("keepdim")) {
            let Arg::Int(k) = k else { return None };
            only = Some(k.checked_sub(1)?);
            if keeps != &Arg::Bool(true) {
                let zero = self.e.at(Dim::Fixed(0));
                (dim <= vars.len()).then(|| vars.insert(dim, zero))?;
            }
        }
        (x.dtype == c.result.dtype).then(|| self.ordered(&x, Order { dim, falls, only }, vars))?
    }

    /// The same at an index.
    fn ordered(&mut self, x: &Array, order: Order, mut at: SmallVec<[IndexId; 4]>) -> Option<ExprId> {
        if at.len() != x.sizes.len() || x.dtype.is_float() && !self.over_reals {
            return None;
        }
        let peeled = self.e.peeled(x.expr, order.dim)?;
        let dtype = self.e.dtype(peeled.inner)?;
        let is_known = match dtype.is_float() {
            true => rounding::is_exact(&self.e, peeled.inner),
            false => width(dtype).is_some(),
        };
        is_known.then_some(())?;
        if peeled.inner != x.expr {
            self.e.applied.insert("order-kept");
            let inner = Array { dtype, expr: peeled.inner, ..x.clone() };
            let own = self.ordered(&inner, Order { falls: order.falls ^ peeled.falls, ..order }, at.clone())?;
            return self.e.put_on(&peeled, own, &at);
        }
        let size = *x.sizes.get(order.dim)?;
        let place = at.get_mut(order.dim)?;
        if let Some(only) = order.only {
            *place = self.e.at(Dim::Fixed(only));
        }
        if order.falls {
            let last = self.e.plus(size, Dim::Fixed(-1))?;
            let back = self.e.scale(*place, Dim::Fixed(-1))?;
            *place = self.e.shift(back, last)?;
        }
        let place = at.remove(order.dim);
        at.push(place);
        let x = self.with_last(x, order.dim)?;
        self.e.sorted_at(x.dtype, x.sizes, x.expr, at)
    }

    /// The greatest, or the least, of a dimension of floats, bit by bit: the one that stands where it does.
    pub(super) fn value_of_extreme(&mut self, c: &Said<'_, '_>, fold: Fold) -> Option<ExprId> {
        let x = c.array(0)?.clone();
        if x.sizes.is_empty() {
            return None;
        }
        let dim = self.axis(c.arg(1), x.sizes.len())?;
        let mut at = self.vars(&c.result.sizes);
        if c.named("keepdim") == Some(&Arg::Bool(true)) {
            at.remove(dim);
        }
        self.extreme_at(&x, fold, dim, at)
    }

    /// The same at an index, in which the dimension is left out: of integers, and over the reals, the greatest is a value.
    fn extreme_at(&mut self, x: &Array, fold: Fold, dim: usize, mut at: SmallVec<[IndexId; 4]>) -> Option<ExprId> {
        if x.dtype.is_float() && !self.over_reals {
            let kid = self.e.tensor(Tensor { dtype: x.dtype, sizes: x.sizes.clone(), expr: x.expr });
            let (target, tokens) = (extreme_of(fold)?.into(), [Token::Child, Token::count(dim)].into());
            let source = self.e.source(Source::Call { target, tokens, kids: [kid].into(), item: 0 });
            return self.e.load(x.dtype, source, at);
        }
        let size = *x.sizes.get(dim)?;
        (dim <= at.len()).then_some(())?;
        if size == Dim::Fixed(1) {
            at.insert(dim, self.e.at(Dim::Fixed(0)));
            return self.at(x, at);
        }
        let level = self.e.highest_level(x.expr).into_iter().chain(self.e.levels_in(&at)).max();
        let level = level.map_or(0, |l| l.saturating_add(1));
        at.insert(dim, self.e.place(Place::Bound(level, size)));
        let element = self.at(x, at)?;
        self.e.extreme(fold, level, size, element)
    }

    /// Returns the element of an array at a place along a dimension that a call says of it, or of what it is made of element by element, the other indices being `at`: what the call
    /// gives there; `Some(None)` where nothing says so.
    pub(super) fn at_own_place(
        &mut self,
        from: &Array,
        dim: usize,
        at: &[IndexId],
        place: ExprId,
    ) -> Option<Option<ExprId>> {
        let (mut from, mut around) = (from.clone(), Vec::new());
        loop {
            if let Some(mut found) = self.said_at_place(&from, dim, at, place)? {
                while let Some((expr, k)) = around.pop() {
                    let expr: Expr = expr;
                    let mut kids = expr.kids.clone();
                    *kids.get_mut::<usize>(k)? = found;
                    found = self.e.again(&expr, &kids)?;
                }
                return Some(Some(found));
            }
            let expr = self.e.expr(from.expr)?.clone();
            let is_made = matches!(expr.form, Form::Op(_) | Form::Named(..)) && around.len() < AROUND;
            let is_number = |id: &ExprId| self.e.float(*id).is_some() || self.e.number(*id).is_some();
            let mut open = (0..expr.kids.len()).filter(|k| expr.kids.get(*k).is_some_and(|id| !is_number(id)));
            let (Some(k), None, true) = (open.next(), open.next(), is_made) else { return Some(None) };
            let inner = *expr.kids.get(k)?;
            from = Array { dtype: self.e.dtype(inner)?, expr: inner, ..from };
            around.push((expr, k));
        }
    }

    fn said_at_place(&mut self, from: &Array, dim: usize, at: &[IndexId], place: ExprId) -> Option<Option<ExprId>> {
        let Some(Form::Load(source, index)) = self.e.expr(place).map(|x| x.form.clone()) else { return Some(None) };
        let Some(Source::Call { target, tokens, kids, item }) = self.e.source_of(source).cloned() else {
            return Some(None);
        };
        let [kid] = &*kids else { return Some(None) };
        let is = |s: &Self, whole: &Array| {
            s.e.tensor_of(*kid)
                .is_some_and(|t| t.dtype == whole.dtype && t.expr == whole.expr && s.same_sizes(&t.sizes, &whole.sizes))
        };
        let rank = from.sizes.len();
        let along = |token: Option<&Token>| match token {
            Some(Token::Int(d)) if *d < 0 => {
                d.checked_add(i64::try_from(rank).ok()?).and_then(|d| usize::try_from(d).ok())
            }
            Some(Token::Int(d)) => usize::try_from(*d).ok(),
            // Of one dimension there is no other.
            Some(Token::None) if rank == 1 => Some(0),
            _ => None,
        };
        // All other indices are those at which the place was said.
        let others = |index: &[IndexId]| {
            let rest = |all: &[IndexId]| (0..).zip(all).filter(|(k, _)| *k != dim).map(|(_, i)| *i).collect::<Vec<_>>();
            rank == 1 || rest(at) == index
        };
        let fold = [Fold::Most, Fold::Least].into_iter().find(|f| place_of(*f).is_some_and(|name| *name == *target));
        if let Some(fold) = fold {
            let keeps = tokens.get(2) == Some(&Token::Bool(true));
            let mut index = index;
            if keeps && dim < index.len() {
                index.remove(dim);
            }
            let is_own = match self.with_last(from, dim) {
                Some(whole) => is(self, &whole) && along(tokens.get(1)).and_then(|d| d.checked_add(1)) == Some(rank),
                None => is(self, from),
            };
            if !is_own || index.len().checked_add(1) != Some(rank) || !others(&index) {
                return Some(None);
            }
            self.e.applied.insert("own-place");
            return self.extreme_at(from, fold, dim, index).map(Some);
        }
        let Some(chosen) = chosen_by(&target) else { return Some(None) };
        let narrow = self.e.without_wider(from.expr);
        let narrow = Array { dtype: self.e.dtype(narrow)?, expr: narrow, ..from.clone() };
        let (own, said) = (is(self, from) || is(self, &narrow), along(tokens.get(chosen.dim)));
        let rest: Vec<IndexId> = (0..).zip(&index).filter(|(k, _)| *k != dim).map(|(_, i)| *i).collect();
        if !own || item != 1 || said != Some(dim) || index.len() != rank || !others(&rest) {
            return Some(None);
        }
        self.e.applied.insert("own-place");
        if let Some(order) = order_of(chosen, &tokens)
            && let Some(value) = self.ordered(from, Order { dim, ..order }, index.clone())
        {
            return Some(Some(value));
        }
        if let Some(Meaning::RunningExtreme(fold)) = meaning(&target)
            && !from.dtype.is_float()
            && let Some(expr) = self.extreme_up_to(from, fold, dim)
        {
            return self.at(&Array { expr, ..from.clone() }, index).map(Some);
        }
        let dtype = self.e.tensor_of(*kid)?.dtype;
        let source = self.e.source(Source::Call { target, tokens, kids, item: 0 });
        let value = self.e.load(dtype, source, index)?;
        self.e.op(Op::Cast, from.dtype, &[value]).map(Some)
    }

    /// Returns all elements of a tensor as one dimension.
    fn in_a_row(&mut self, x: &Array) -> Option<Array> {
        if x.sizes.len() == 1 {
            return Some(x.clone());
        }
        let some = x.sizes.iter().all(|d| self.e.at_most(Dim::Fixed(1), *d));
        let size = self.e.product(&x.sizes).filter(|_| some)?;
        let mut left = self.e.var(0, size);
        let mut index = SmallVec::new();
        for size in x.sizes.iter().rev() {
            index.push(self.e.remainder(left, *size)?);
            left = self.e.quotient(left, *size)?;
        }
        index.reverse();
        let expr = self.at(x, index)?;
        Some(Array { expr, sizes: std::iter::once(size).collect(), ..x.clone() })
    }

    /// An array whose dimension stands last, whichever it was.
    fn with_last(&mut self, x: &Array, dim: usize) -> Option<Array> {
        let mut sizes = x.sizes.clone();
        let size = (dim < sizes.len()).then(|| sizes.remove(dim))?;
        sizes.push(size);
        let mut own = self.vars(&sizes);
        let last = own.pop()?;
        own.insert(dim, last);
        let expr = self.at(x, own)?;
        Some(Array { expr, sizes, ..x.clone() })
    }

    /// Returns the one place along a dimension, surely one of its places, where a truth holds that is a number above that at the other places.
    fn only_place(&mut self, x: &Array, dim: usize) -> Option<Option<ExprId>> {
        let truth = match self.e.op_of(x.expr) {
            Some((Op::Cast, [truth])) if self.e.dtype(*truth) == Some(Dtype::Bool) => *truth,
            Some((Op::Choose, [truth, yes, no])) => {
                let floats = self.e.float(*yes).zip(self.e.float(*no)).is_some_and(|(yes, no)| yes > no);
                let whole = self.e.number(*yes).zip(self.e.number(*no)).filter(|_| !x.dtype.is_float());
                let above = floats || whole.is_some_and(|(yes, no)| yes > no);
                if !above {
                    return Some(None);
                }
                *truth
            }
            _ => return Some(None),
        };
        let Some(Form::IsZero(index)) = self.e.expr(truth).map(|t| t.form.clone()) else { return Some(None) };
        let size = *x.sizes.get(dim)?;
        let own = self.e.var(u32::try_from(dim).ok()?, size);
        let is_own = |p: &Place| matches!(p, Place::Var(k, _) if *k as usize == dim);
        let by = self.e.linear(index).terms.iter().find(|(p, _)| is_own(p)).and_then(|(_, by)| by.fixed());
        let Some(by @ (1 | -1)) = by else { return Some(None) };
        let part = self.e.scale(own, Dim::Fixed(by))?;
        let rest = self.e.difference(index, part)?;
        let at = self.e.scale(rest, Dim::Fixed(by.checked_neg()?))?;
        let (inside, place) = (self.e.is_place_of(at, size)?, self.e.index_value(Dtype::I64, at)?);
        let names = self.e.places_below(place).iter().any(is_own);
        Some((inside && !names).then_some(place))
    }

    /// Where the greatest, or the least, of a dimension stands: the first of them, as the operators that give nothing else say it.
    pub(super) fn place_of_extreme(&mut self, c: &Said<'_, '_>, fold: Fold) -> Option<ExprId> {
        let mut x = c.array(0)?.clone();
        let (keeps, rank) = (c.named("keepdim") == Some(&Arg::Bool(true)), x.sizes.len());
        let dim = match c.arg(1) {
            Arg::Int(_) if x.sizes.is_empty() => return None,
            Arg::Int(_) => Token::count(self.axis(c.arg(1), x.sizes.len())?),
            Arg::None if x.sizes.is_empty() => Token::None,
            // Of all elements, one after another.
            Arg::None => {
                x = self.in_a_row(&x)?;
                Token::Int(0)
            }
            _ => return None,
        };
        if self.over_reals && !rounding::is_exact(&self.e, x.expr) {
            return None;
        }
        let (fold, expr) = match (self.e.op_of(x.expr), fold) {
            // The least of negatives stands where the greatest does; the least integer has no negative.
            (Some((Op::Neg, [inner])), Fold::Most) if x.dtype.is_float() => (Fold::Least, *inner),
            (Some((Op::Neg, [inner])), Fold::Least) if x.dtype.is_float() => (Fold::Most, *inner),
            _ => (fold, x.expr),
        };
        let expr = self.e.without_exact_factors(expr);
        let expr = self.e.without_wider(expr);
        let x = Array { dtype: self.e.dtype(expr)?, ..x };
        if let (Fold::Most, Token::Int(along)) = (fold, &dim)
            && let Some(place) = self.only_place(&x, usize::try_from(*along).ok()?)?
        {
            self.e.applied.insert("own-place");
            let mut at = self.vars(&c.result.sizes);
            match self.axis(c.arg(1), rank) {
                Some(own) if keeps => drop(at.remove(own)),
                None if keeps => at.clear(),
                _ => {}
            }
            let along = usize::try_from(*along).ok().filter(|d| *d <= at.len())?;
            at.insert(along, self.e.at(Dim::Fixed(0)));
            let found = self.at(&Array { expr: place, dtype: Dtype::I64, ..x.clone() }, at)?;
            return self.e.op(Op::Cast, c.result.dtype, &[found]);
        }
        let mut x = Array { expr, ..x };
        if let Token::Int(d) = dim {
            x = self.with_last(&x, usize::try_from(d).ok()?)?;
        }
        let last = if x.sizes.is_empty() { Token::None } else { Token::count(x.sizes.len().checked_sub(1)?) };
        let kid = self.e.tensor(Tensor { dtype: x.dtype, sizes: x.sizes, expr: x.expr });
        let source = Source::Call {
            target: place_of(fold)?.into(),
            tokens: [Token::Child, last, Token::scalar(&Arg::Bool(false))?].into(),
            kids: [kid].into(),
            item: 0,
        };
        let (source, mut at) = (self.e.source(source), self.vars(&c.result.sizes));
        // A dimension that is kept has one place.
        match self.axis(c.arg(1), rank) {
            Some(dim) if keeps => {
                at.remove(dim);
            }
            None if keeps => at.clear(),
            _ => {}
        }
        self.e.load(c.result.dtype, source, at)
    }
}

/// Returns the order in which a call gives elements; `None` where it gives them in none.
fn order_of(chosen: &Chosen, tokens: &[Token]) -> Option<Order> {
    let truth = |at: Option<usize>| at.map(|i| tokens.get(i) == Some(&Token::Bool(true)));
    let one = tokens.get(1) == Some(&Token::Int(1));
    (truth(chosen.ordered) != Some(false) || one).then_some(())?;
    let only = match (chosen.counted, tokens.get(1)) {
        (true, Some(Token::Int(k))) => Some(k.checked_sub(1)?),
        (true, _) => return None,
        _ => None,
    };
    let falls = if only.is_some() { false } else { truth(chosen.falls)? };
    Some(Order { dim: 0, falls, only })
}
