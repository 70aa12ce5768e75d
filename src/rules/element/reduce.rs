//! Reductions over elements that are the same in any order.
//!
//! ## What it says
//! The greatest, the least and "any" of equal elements are that element. The greatest of truths that are numbers is 1 where any is true.
//! The greatest of what is bounded by a number is the greatest, bounded; that of a sum of integers which does not wrap around is the greatest of what
//! depends on the place, and the rest; that of integers as floats is the greatest integer as one.
//! Beside another element -inf is never the greatest one. An index is at
//! least 0 at any place where it is at the one where it is greatest. Where a condition names the one place at which it holds, the others are asked there. What holds at a place that surely is there holds somewhere; either of two holds somewhere where one of them does. A sum of sums of
//! integers is the sum of their sums, and a factor that is the same everywhere stands outside. The sum of no elements is 0, their product 1; a product of truths that are integers is 1 where none is false. The sum of the numbers 0 to n - 1 is n * (n - 1) / 2; that of one number up to an index,
//! which surely is a place, is a multiple of it; so it is up to an integer, held between none and all of the places. As many truths are false as are not true.
//!
//! ## When it is wrong
//! Over no element: the dimensions must surely hold one. Sums of equal elements are multiples. Floats are summed in an order that the kernel chooses by
//! shape: a sum of floats is never looked into.

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::rebuild::Moves;
use crate::sym::Dim;

/// At how many places a truth is asked for.
const TRIED: usize = 8;

impl Elements {
    /// Returns the child over all places of the dimensions `Bound(level), Bound(level + 1), ...`.
    pub fn reduced(&mut self, fold: Fold, level: u32, sizes: &[Dim], body: ExprId) -> Option<ExprId> {
        self.spend(1)?;
        let dtype = self.dtype(body)?;
        if let Some((sizes, body)) = self.without_least(fold, level, sizes, body)? {
            self.by("infinite-beside");
            return self.reduced(fold, level, &sizes, body);
        }
        if let Some(other) = self.in_own_order(fold, (level, sizes), body)? {
            self.by("places-exchanged");
            return self.reduced(fold, level, sizes, other);
        }
        if let Some(other) = self.in_rising_order(fold, (level, sizes), body)? {
            self.by("fold-backwards");
            return self.reduced(fold, level, sizes, other);
        }
        let holds_one = sizes.iter().all(|d| self.at_most(Dim::Fixed(1), *d));
        let is_one = sizes.iter().all(|d| *d == Dim::Fixed(1));
        let settles = matches!(fold, Fold::Most | Fold::Least | Fold::Any) || is_one;
        if holds_one && settles && !self.mentions(body, level) {
            self.by("fold-of-equal");
            if fold != Fold::Sum || !dtype.is_float() {
                return Some(body);
            }
            // A sum begins with 0: it is never -0.0.
            let zero = self.rounded(dtype, 0.0)?;
            return self.op(Op::Add, dtype, &[body, zero]);
        }
        if let (Fold::Most | Fold::Least, Some((Op::Cast, [truth])), true) = (fold, self.op_of(body), holds_one) {
            let truth = *truth;
            if self.dtype(truth) == Some(Dtype::Bool) {
                // As a number a truth is 1 or 0: the least is 0 where any is false.
                self.by("greatest-of-truths");
                let asked = if fold == Fold::Most { truth } else { self.op(Op::Not, Dtype::Bool, &[truth])? };
                let any = self.reduced(Fold::Any, level, sizes, asked)?;
                let found = if fold == Fold::Most { any } else { self.op(Op::Not, Dtype::Bool, &[any])? };
                return self.op(Op::Cast, dtype, &[found]);
            }
        }
        if holds_one && let Some(found) = self.order_kept(fold, level, sizes, body)? {
            return Some(found);
        }
        if holds_one && let Some(found) = self.end_of_places(fold, level, sizes, body)? {
            return Some(found);
        }
        if fold == Fold::Any && self.number(body) == Some(0) {
            return self.truth(false);
        }
        if fold == Fold::Any
            && holds_one
            && let Some(found) = self.any_place(level, sizes, body)?
        {
            self.by("any-of-places");
            return Some(found);
        }
        if let (Fold::Any, Some((Op::Or, [a, b]))) = (fold, self.op_of(body)) {
            let (a, b) = (*a, *b);
            self.by("any-of-either");
            let (a, b) = (self.reduced(fold, level, sizes, a)?, self.reduced(fold, level, sizes, b)?);
            return self.op(Op::Or, Dtype::Bool, &[a, b]);
        }
        if fold == Fold::Any
            && let Some(found) = self.at_named_place(level, sizes, body)?
        {
            self.by("any-of-places");
            return Some(found);
        }
        if fold == Fold::Any && self.holds_somewhere(level, sizes, body)? {
            self.by("any-of-places");
            return self.truth(true);
        }
        if matches!(fold, Fold::Sum | Fold::Product) && sizes.contains(&Dim::Fixed(0)) {
            self.by("sum-of-nothing");
            let one = fold == Fold::Product;
            let number = f64::from(u8::from(one));
            return if dtype.is_float() { self.rounded(dtype, number) } else { self.integer(dtype, i64::from(one)) };
        }
        if let (Fold::Product, Some((Op::Cast, [truth]))) = (fold, self.op_of(body)) {
            let truth = *truth;
            if self.dtype(truth) == Some(Dtype::Bool) && crate::rules::element::make::width(dtype).is_some() {
                self.by("product-of-truths");
                let asked = self.op(Op::Not, Dtype::Bool, &[truth])?;
                let any = self.reduced(Fold::Any, level, sizes, asked)?;
                let all = self.op(Op::Not, Dtype::Bool, &[any])?;
                return self.op(Op::Cast, dtype, &[all]);
            }
        }
        if let (Fold::Sum, Some((Op::Cast, [truth]))) = (fold, self.op_of(body))
            && crate::rules::element::make::width(dtype).is_some_and(|w| w > 1)
            && self.dtype(*truth) == Some(Dtype::Bool)
            && let Some((Op::Not, [opposite])) = self.op_of(*truth)
        {
            let opposite = *opposite;
            self.by("count-of-opposites");
            let all = self.product(sizes)?;
            let at = self.at(all);
            let all = self.index_value(Dtype::I64, at)?;
            let all = self.op(Op::Cast, dtype, &[all])?;
            let holds = self.op(Op::Cast, dtype, &[opposite])?;
            let holds = self.reduced(Fold::Sum, level, sizes, holds)?;
            return self.op(Op::Sub, dtype, &[all, holds]);
        }
        if fold == Fold::Sum
            && let Some(total) = self.counted_up(level, sizes, dtype, body)
        {
            self.by("sum-of-indices");
            return Some(total);
        }
        if fold == Fold::Sum
            && let Some(total) = self.counted_where(level, sizes, dtype, body)
        {
            self.by("sum-up-to-an-index");
            return Some(total);
        }
        if let (Fold::Sum, [first, .., last]) = (fold, sizes) {
            // One dimension after another, from the last or the first.
            let (rest, own) = (sizes.len().checked_sub(1)?, u32::try_from(sizes.len()).ok()?.checked_sub(1)?);
            if let Some(inner) = self.counted_where(level.checked_add(own)?, &[*last], dtype, body) {
                self.by("sum-up-to-an-index");
                return self.reduced(fold, level, sizes.get(..rest)?, inner);
            }
            if let Some(inner) = self.counted_where(level, &[*first], dtype, body) {
                self.by("sum-up-to-an-index");
                return self.reduced(fold, level.checked_add(1)?, sizes.get(1..)?, inner);
            }
        }
        if fold == Fold::Sum
            && crate::rules::element::make::width(dtype).is_some_and(|w| w > 1)
            && !self.mentions(body, level)
        {
            self.by("integer-sum-in-parts");
            let all = self.product(sizes)?;
            let at = self.at(all);
            let count = self.index_value(Dtype::I64, at)?;
            let count = self.op(Op::Cast, dtype, &[count])?;
            return self.op(Op::Mul, dtype, &[count, body]);
        }
        if fold == Fold::Sum
            && let Some(parts) = self.summed_in_parts(level, sizes, dtype, body)?
        {
            self.by("integer-sum-in-parts");
            return Some(parts);
        }
        let dtype = if fold == Fold::Any { Dtype::Bool } else { dtype };
        Some(self.store_expr(Expr {
            dtype,
            form: Form::Reduce(fold, level, sizes.into()),
            kids: smallvec::SmallVec::from_elem(body, 1),
        }))
    }

    /// The greatest (least) of what is bounded by a number is the greatest, bounded; of integers as floats, it is the greatest integer as one.
    fn order_kept(&mut self, fold: Fold, level: u32, sizes: &[Dim], body: ExprId) -> Option<Option<ExprId>> {
        if !matches!(fold, Fold::Most | Fold::Least) {
            return Some(None);
        }
        let dtype = self.dtype(body)?;
        match self.op_of(body) {
            Some((op @ (Op::Max | Op::Min | Op::AtLeast | Op::AtMost), [x, bound])) => {
                let (x, bound) = (*x, *bound);
                // Which of two zeros is the greater one is the kernel's.
                let number = match self.float(bound) {
                    Some(v) => !v.is_nan() && (v != 0.0 || !self.exact),
                    None => self.number(bound).is_some(),
                };
                if !number || self.number(x).is_some() {
                    return Some(None);
                }
                self.by("bound-of-greatest");
                let most = self.reduced(fold, level, sizes, x)?;
                self.op(op, dtype, &[most, bound]).map(Some)
            }
            None if !dtype.is_float() => self.greatest_of_sum(fold, level, sizes, body),
            Some((Op::Cast, [x])) if dtype.is_float() => {
                let x = *x;
                let integers = self.dtype(x).and_then(crate::rules::element::make::width).is_some_and(|w| w > 1);
                if !integers {
                    return Some(None);
                }
                self.by("greatest-of-numbers");
                let most = self.reduced(fold, level, sizes, x)?;
                self.op(Op::Cast, dtype, &[most]).map(Some)
            }
            _ => Some(None),
        }
    }

    /// The greatest of a sum that surely does not wrap around, one number of which depends on the place: the greatest of that number, or the least
    /// where it is subtracted.
    fn greatest_of_sum(&mut self, fold: Fold, level: u32, sizes: &[Dim], body: ExprId) -> Option<Option<ExprId>> {
        let dtype = self.dtype(body)?;
        let Some(Form::Poly(products)) = self.expr(body).map(|x| x.form.clone()) else { return Some(None) };
        if self.integers_of(body).is_none() {
            return Some(None);
        }
        let kids = self.expr(body)?.kids.clone();
        let mut kids = kids.iter().copied();
        let (mut own, mut rest) = (None, self.integer(dtype, 0)?);
        for (count, factor) in products {
            let product: Vec<ExprId> = kids.by_ref().take(count as usize).collect();
            let depends = product.iter().any(|k| self.mentions(*k, level));
            match (depends, product.as_slice()) {
                (true, [one]) if own.is_none() => own = Some((*one, factor)),
                (true, _) => return Some(None),
                (false, _) => {
                    let mut part = self.integer(dtype, factor)?;
                    for kid in product {
                        part = self.op(Op::Mul, dtype, &[part, kid])?;
                    }
                    rest = self.op(Op::Add, dtype, &[rest, part])?;
                }
            }
        }
        let Some((own, factor)) = own else { return Some(None) };
        let turned = if fold == Fold::Most { Fold::Least } else { Fold::Most };
        let most = self.reduced(if factor > 0 { fold } else { turned }, level, sizes, own)?;
        let factor = self.integer(dtype, factor)?;
        let most = self.op(Op::Mul, dtype, &[factor, most])?;
        self.by("bound-of-greatest");
        self.op(Op::Add, dtype, &[most, rest]).map(Some)
    }

    /// The greatest (least) over places of a dimension, beside some of which -inf (inf) stands: that over the others, of which there are some.
    fn without_least(
        &mut self,
        fold: Fold,
        level: u32,
        sizes: &[Dim],
        body: ExprId,
    ) -> Option<Option<(Vec<Dim>, ExprId)>> {
        let least = match fold {
            Fold::Most => f64::NEG_INFINITY,
            Fold::Least => f64::INFINITY,
            _ => return Some(None),
        };
        let Some((Op::Choose, [condition, yes, no])) = self.op_of(body) else { return Some(None) };
        let is_least = |id: ExprId| self.float(id).is_some_and(|v| v.total_cmp(&least).is_eq());
        let kept = match (is_least(*yes), is_least(*no)) {
            (false, true) => true,
            (true, false) => false,
            _ => return Some(None),
        };
        let Some(Form::AtLeastZero(index)) = self.expr(*condition).map(|x| x.form.clone()) else { return Some(None) };
        let sum = self.linear(index).clone();
        let ([(Place::Bound(own, size), by)], Some(offset)) = (sum.terms.as_slice(), sum.offset().fixed()) else {
            return Some(None);
        };
        let place = own.checked_sub(level).map(|k| k as usize).filter(|k| sizes.get(*k) == Some(size));
        let (Some(place), Some(count), Some(by @ (1 | -1))) = (place, size.fixed(), by.fixed()) else {
            return Some(None);
        };
        // It holds from a place on, or up to one.
        let (from, to) = match (by == 1, kept) {
            (true, true) => (offset.checked_neg()?, count),
            (true, false) => (0, offset.checked_neg()?),
            (false, true) => (0, offset.checked_add(1)?),
            (false, false) => (offset.checked_add(1)?, count),
        };
        let (from, to) = (from.clamp(0, count), to.clamp(0, count));
        if from >= to || (from, to) == (0, count) {
            return Some(None);
        }
        let left = Dim::Fixed(to.checked_sub(from)?);
        let at = self.place(Place::Bound(*own, left));
        let at = self.shift(at, Dim::Fixed(from))?;
        let moves =
            Moves { vars: smallvec::SmallVec::new(), bound: Some((*own, smallvec::SmallVec::from_elem(at, 1))) };
        let body = self.moved(body, &moves)?;
        let mut sizes = sizes.to_vec();
        *sizes.get_mut(place)? = left;
        Some(Some((sizes, body)))
    }

    /// A sum of sums of products of integers: each for itself, what does not depend on the place outside.
    fn summed_in_parts(&mut self, level: u32, sizes: &[Dim], dtype: Dtype, body: ExprId) -> Option<Option<ExprId>> {
        let Some(Form::Poly(products)) = self.expr(body).map(|x| x.form.clone()) else { return Some(None) };
        let kids = self.expr(body)?.kids.clone();
        let alone = matches!(&*products, [(_, 1)]);
        let mut kids = kids.iter().copied();
        let mut total = self.integer(dtype, 0)?;
        let mut apart = !alone;
        for (count, factor) in products {
            let (mut own, mut rest) = (self.integer(dtype, 1)?, self.integer(dtype, factor)?);
            let mut depends = false;
            for kid in kids.by_ref().take(count as usize) {
                if self.mentions(kid, level) {
                    depends = true;
                    own = self.op(Op::Mul, dtype, &[own, kid])?;
                } else {
                    apart = true;
                    rest = self.op(Op::Mul, dtype, &[rest, kid])?;
                }
            }
            if !apart {
                return Some(None);
            }
            let sum = if depends {
                // Its factor is 1, and all of it depends: no further parts.
                self.store_expr(Expr {
                    dtype,
                    form: Form::Reduce(Fold::Sum, level, sizes.into()),
                    kids: smallvec::SmallVec::from_elem(own, 1),
                })
            } else {
                let all = self.product(sizes)?;
                let at = self.at(all);
                let count = self.index_value(Dtype::I64, at)?;
                self.op(Op::Cast, dtype, &[count])?
            };
            let part = self.op(Op::Mul, dtype, &[rest, sum])?;
            total = self.op(Op::Add, dtype, &[total, part])?;
        }
        Some(Some(total))
    }

    /// Whether an index is at least 0 at any place: at the one where it is greatest.
    fn any_place(&mut self, level: u32, sizes: &[Dim], body: ExprId) -> Option<Option<ExprId>> {
        let Form::AtLeastZero(index) = self.expr(body)?.form else { return Some(None) };
        let sum = self.linear(index).clone();
        let mut most = self.at(sum.offset());
        for (place, by) in sum.terms {
            let own = match place {
                Place::Bound(l, size) => {
                    l.checked_sub(level).is_some_and(|k| sizes.get(k as usize) == Some(&size)).then_some(size)
                }
                // What is divided, or comes from the data, may depend on the place.
                Place::Div(..) | Place::Mod(..) | Place::Data(_) => return Some(None),
                Place::Var(..) => None,
            };
            let part = match (own, by.fixed()) {
                (Some(_), Some(by)) if by < 0 => continue,
                (Some(size), Some(_)) => {
                    let last = self.plus(size, Dim::Fixed(-1))?;
                    self.at(last)
                }
                (Some(_), None) => return Some(None),
                (None, _) => self.place(place),
            };
            let part = self.scale(part, by)?;
            most = self.sum(most, part)?;
        }
        self.at_least_zero_expr(most).map(Some)
    }

    /// What holds at some place of one dimension where one of the conditions names the place: that the place is there, and the others hold there.
    fn at_named_place(&mut self, level: u32, sizes: &[Dim], body: ExprId) -> Option<Option<ExprId>> {
        let [size] = sizes else { return Some(None) };
        let (mut open, mut all) = (vec![body], Vec::new());
        while let Some(one) = open.pop() {
            match self.op_of(one) {
                Some((Op::And, kids)) if all.len() < TRIED => open.extend(kids),
                _ => all.push(one),
            }
        }
        let own = self.place(Place::Bound(level, *size));
        for (k, condition) in all.iter().enumerate() {
            let Some(Form::IsZero(index)) = self.expr(*condition).map(|x| x.form.clone()) else { continue };
            let Some(place) = self.place_named(index, own, level)? else { continue };
            let left = self.scale(place, Dim::Fixed(-1))?;
            let last = self.plus(*size, Dim::Fixed(-1))?;
            let left = self.shift(left, last)?;
            let (there, before) = (self.at_least_zero_expr(place)?, self.at_least_zero_expr(left)?);
            let mut holds = self.op(Op::And, Dtype::Bool, &[there, before])?;
            for other in all.iter().enumerate().filter(|(other, _)| *other != k).map(|(_, other)| *other) {
                let at = Moves {
                    vars: smallvec::SmallVec::new(),
                    bound: Some((level, smallvec::SmallVec::from_elem(place, 1))),
                };
                let there = self.moved(other, &at)?;
                holds = self.op(Op::And, Dtype::Bool, &[holds, there])?;
            }
            return Some(Some(holds));
        }
        Some(None)
    }

    /// Returns the place of a dimension at which an index is 0, if that hangs on nothing that is reduced within.
    fn place_named(&mut self, index: IndexId, own: IndexId, level: u32) -> Option<Option<IndexId>> {
        let is_own = |p: &Place| matches!(p, Place::Bound(l, _) if *l == level);
        let sum = self.linear(index).clone();
        let by = sum.terms.iter().find(|(p, _)| is_own(p)).and_then(|(_, by)| by.fixed());
        let Some(by @ (1 | -1)) = by else { return Some(None) };
        let part = self.scale(own, Dim::Fixed(by))?;
        let rest = self.difference(index, part)?;
        let place = self.scale(rest, Dim::Fixed(by.checked_neg()?))?;
        // Names of dimensions within are below those around: nothing is captured.
        let around = |p: &Place| match p {
            Place::Bound(l, _) => *l > level,
            _ => true,
        };
        let mut inner: Vec<Place> = self.places_in(place).to_vec();
        let told: Vec<ExprId> =
            inner.iter().filter_map(|p| if let Place::Data(id) = p { Some(*id) } else { None }).collect();
        inner.extend(told.into_iter().flat_map(|id| self.places_below(id)));
        Some(inner.iter().all(around).then_some(place))
    }

    /// Whether a truth surely holds at a place of one dimension: where one of its conditions turns, where one of its numbers is 0, or where it reads what it reads elsewhere.
    fn holds_somewhere(&mut self, level: u32, sizes: &[Dim], body: ExprId) -> Option<bool> {
        let [size] = sizes else { return Some(false) };
        let own = self.place(Place::Bound(level, *size));
        let is_own = |p: &Place| matches!(p, Place::Bound(l, _) if *l == level);
        let alike = |p: &Place| matches!(p, Place::Var(_, n) | Place::Bound(_, n) if n == size);
        let mut places = Vec::new();
        for id in self.below(body) {
            match self.expr(id).map(|x| x.form.clone()) {
                Some(Form::AtLeastZero(index) | Form::IsZero(index) | Form::Index(index)) => {
                    let sum = self.linear(index).clone();
                    let by = sum.terms.iter().find(|(p, _)| is_own(p)).and_then(|(_, by)| by.fixed());
                    let Some(by @ (1 | -1)) = by else {
                        let around: Vec<Place> = self.places_in(index).into_iter().filter(alike).collect();
                        places.extend(around.into_iter().map(|p| self.place(p)));
                        continue;
                    };
                    let part = self.scale(own, Dim::Fixed(by))?;
                    let rest = self.difference(index, part)?;
                    places.push(self.scale(rest, Dim::Fixed(by.checked_neg()?))?);
                }
                Some(Form::Load(_, at)) => {
                    let around: Vec<Place> = at.iter().flat_map(|i| self.places_in(*i)).filter(alike).collect();
                    places.extend(around.into_iter().map(|p| self.place(p)));
                }
                _ => {}
            }
        }
        places.sort_unstable();
        places.dedup();
        for place in places.into_iter().take(TRIED) {
            // Names of dimensions within are below those around: nothing is captured.
            let around = self.places_in(place).iter().all(|p| match p {
                Place::Var(..) => true,
                Place::Bound(l, _) => *l > level,
                _ => false,
            });
            let left = self.scale(place, Dim::Fixed(-1))?;
            let last = self.plus(*size, Dim::Fixed(-1))?;
            let left = self.shift(left, last)?;
            if !around || self.at_least_zero(place) != Some(true) || self.at_least_zero(left) != Some(true) {
                continue;
            }
            let at = Moves {
                vars: smallvec::SmallVec::new(),
                bound: Some((level, smallvec::SmallVec::from_elem(place, 1))),
            };
            let there = self.moved(body, &at)?;
            if self.number(there) == Some(1) {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The sum of one integer at the places up to an index, or from one on, and 0 at the others: as often as there are places.
    fn counted_where(&mut self, level: u32, sizes: &[Dim], dtype: Dtype, body: ExprId) -> Option<ExprId> {
        let [size] = sizes else { return None };
        let wide = crate::rules::element::make::width(dtype).is_some_and(|w| w > 1);
        let (size, condition, each, rest) = match self.op_of(body) {
            Some((Op::Choose, [condition, each, rest])) => (*size, *condition, *each, *rest),
            // A truth is 1.
            Some((Op::Cast, [condition])) if wide && self.dtype(*condition) == Some(Dtype::Bool) => {
                let condition = *condition;
                (*size, condition, self.integer(dtype, 1)?, self.integer(dtype, 0)?)
            }
            _ => return None,
        };
        if !wide || self.number(rest) != Some(0) || self.mentions(each, level) {
            return None;
        }
        if let Some((op @ Op::Lt, [a, b])) = self.op_of(condition) {
            let (a, b) = (*a, *b);
            let count = self.counted_beside((level, size), op, a, b)?;
            let count = self.op(Op::Cast, dtype, &[count])?;
            return self.op(Op::Mul, dtype, &[count, each]);
        }
        let Form::AtLeastZero(index) = self.expr(condition)?.form else { return None };
        let sum = self.linear(index).clone();
        let (own, by) = sum.terms.iter().find(|(p, _)| matches!(p, Place::Bound(l, _) if *l == level)).copied()?;
        let own = self.place(own);
        let less = self.minus(by)?;
        let at = self.scale(own, less)?;
        let beside = self.sum(index, at)?;
        let count = match by.fixed()? {
            // Up to the index that stands beside, this one included.
            -1 => self.shift(beside, Dim::Fixed(1))?,
            // From the place on that makes it 0.
            1 => self.shift(beside, size)?,
            _ => return None,
        };
        let left = self.scale(count, Dim::Fixed(-1))?;
        let left = self.shift(left, size)?;
        let names = |e: &Self, i| e.places_in(i).iter().any(|p| matches!(p, Place::Bound(l, _) if *l == level));
        if names(self, count) || self.at_least_zero(count) != Some(true) || self.at_least_zero(left) != Some(true) {
            return None;
        }
        let count = self.index_value(Dtype::I64, count)?;
        let count = self.op(Op::Cast, dtype, &[count])?;
        self.op(Op::Mul, dtype, &[count, each])
    }

    /// At how many places of a dimension the place is less than an integer, or more: as many as that says, held between none and all.
    fn counted_beside(&mut self, (level, size): (u32, Dim), op: Op, a: ExprId, b: ExprId) -> Option<ExprId> {
        let own = self.place(Place::Bound(level, size));
        let is_own = |e: &Self, x: ExprId| matches!(e.expr(x)?.form, Form::Index(at) if at == own).then_some(());
        let (below, other) = if is_own(self, a).is_some() { (true, b) } else { (false, a) };
        if op != Op::Lt || self.dtype(other)? != Dtype::I64 || self.mentions(other, level) {
            return None;
        }
        if !below {
            is_own(self, b)?;
        }
        let all = self.at(size);
        let (all, last) = (self.index_value(Dtype::I64, all)?, self.shift(all, Dim::Fixed(-1))?);
        let last = self.index_value(Dtype::I64, last)?;
        let (least, most) = if below { (0, all) } else { (-1, last) };
        let least = self.integer(Dtype::I64, least)?;
        let held = self.op(Op::Max, Dtype::I64, &[other, least])?;
        let held = self.op(Op::Min, Dtype::I64, &[held, most])?;
        if below { Some(held) } else { self.op(Op::Sub, Dtype::I64, &[last, held]) }
    }

    /// The sum of a multiple of the index and a number, over few enough places that nothing wraps around.
    fn counted_up(&mut self, level: u32, sizes: &[Dim], dtype: Dtype, body: ExprId) -> Option<ExprId> {
        let Form::Index(index) = self.expr(body)?.form else { return None };
        let ([size], Dtype::I64) = (sizes, dtype) else { return None };
        let few = self.symbols.range_of(*size).at_most(1 << 20);
        let sum = self.linear(index).clone();
        let [(Place::Bound(at, _), by)] = sum.terms.as_slice() else { return None };
        let small = by.fixed().is_some_and(|c| c.unsigned_abs() <= 4096);
        let offset = sum.offset().fixed().is_some_and(|c| c.unsigned_abs() <= 1 << 20);
        if *at != level || !few || !small || !offset {
            return None;
        }
        let before = self.plus(*size, Dim::Fixed(-1))?;
        let twice = self.times(*size, before)?;
        let pairs = self.symbols.floordiv(twice, Dim::Fixed(2)).ok()?;
        let (counted, all) = (self.times(pairs, *by)?, self.times(*size, sum.offset())?);
        let total = self.plus(counted, all)?;
        let at = self.at(total);
        self.index_value(dtype, at)
    }
}
