//! Index arithmetic: which place along a dimension, as a sum of products with sizes.
//!
//! ## What it says
//! An index is `c + a1*x1 + a2*x2 + ...`: coefficients are sizes, an `x` is an index variable, an index divided by a size or its
//! remainder, or an integer of the data. Equal sums are one number of the arena. `(n*q + r) / n` is `q + r/n`; `r / n` is 0 and `r mod n` is
//! `r` where `0 <= r < n` is known; as a number, an index of integers of the data is the sum of these, and one of which what is assumed leaves a single number is that; `n * (e / n) + e mod n` is `e`. `e / n` is at least `c` where `e` is at least `c * n`.
//!
//! ## When it is wrong
//! Divisors are sizes of dimensions that hold the place asked for, so they are at least 1: with a divisor of 0 there is no place. Nothing is
//! known of integers of the data. What bounds do not show stays as it is.

use smallvec::SmallVec;

use crate::rules::element::arena::{Elements, ExprId};
use crate::sym::{Dim, Relation, floor_div, floor_mod};

/// An index of the arena.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct IndexId(pub(super) u32);

/// What an index is made of.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Place {
    /// The index along a dimension of the tensor, and the size of that dimension.
    Var(u32, Dim),
    /// The index along a dimension that is reduced, by the level of the reduction and the dimension's number.
    Bound(u32, Dim),
    /// An index divided by a size, rounded down.
    Div(IndexId, Dim),
    /// The remainder of that division.
    Mod(IndexId, Dim),
    /// An integer of the data.
    Data(ExprId),
}

/// A sum.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Linear {
    /// Places in order, each once, with coefficients that are not 0.
    pub terms: SmallVec<[(Place, Dim); 2]>,
    /// What is added.
    pub constant: Option<Dim>,
}

impl Linear {
    /// Returns what is added.
    pub fn offset(&self) -> Dim {
        self.constant.unwrap_or(Dim::Fixed(0))
    }
}

/// How many sizes that are symbols are told apart.
const SIZES: usize = 32;
const ZERO: Dim = Dim::Fixed(0);
const ONE: Dim = Dim::Fixed(1);

impl Elements {
    /// Returns the sum of two sizes.
    pub fn plus(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        match (a, b) {
            (Dim::Fixed(a), Dim::Fixed(b)) => a.checked_add(b).map(Dim::Fixed),
            _ => self.symbols.add(a, b).ok(),
        }
    }

    /// Returns the product of two sizes.
    pub fn times(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        match (a, b) {
            (Dim::Fixed(a), Dim::Fixed(b)) => a.checked_mul(b).map(Dim::Fixed),
            _ => self.symbols.mul(a, b).ok(),
        }
    }

    /// Returns `-a`.
    pub fn minus(&mut self, a: Dim) -> Option<Dim> {
        self.times(a, Dim::Fixed(-1))
    }

    /// Returns the product of sizes.
    pub fn product(&mut self, dims: &[Dim]) -> Option<Dim> {
        dims.iter().try_fold(ONE, |p, d| self.times(p, *d))
    }

    /// Returns whether two sizes are equal for all values of the symbols.
    pub fn same_size(&self, a: Dim, b: Dim) -> bool {
        a == b || self.symbols.known(a, Relation::Equal, b) == Some(true)
    }

    /// Returns the one of several sizes of which the greatest, or the least, always is that.
    pub fn taken(&mut self, size: Dim) -> Dim {
        self.symbols.taken(size)
    }

    /// Returns whether `a <= b` for all values of the symbols.
    pub fn at_most(&self, a: Dim, b: Dim) -> bool {
        match (a, b) {
            (Dim::Fixed(a), Dim::Fixed(b)) => a <= b,
            _ => a == b || self.symbols.known(b, Relation::Less, a) == Some(false),
        }
    }

    /// Returns `a / b` where `b` surely divides `a`.
    pub fn exactly(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        match (a, b) {
            (Dim::Fixed(a), Dim::Fixed(b)) if b > 0 => {
                (floor_mod(a, b)? == 0).then(|| floor_div(a, b).map(Dim::Fixed))?
            }
            (Dim::Fixed(_), Dim::Fixed(_)) => None,
            _ if a == b => Some(ONE),
            _ => {
                let divides = self.symbols.known(b, Relation::Divides, a) == Some(true);
                let quotient = divides.then(|| self.symbols.floordiv(a, b).ok())??;
                (self.times(quotient, b)? == a).then_some(quotient)
            }
        }
    }

    /// Stores a sum.
    pub(in crate::rules) fn index_of(&mut self, mut sum: Linear) -> IndexId {
        sum.terms.sort_unstable_by_key(|(p, _)| *p);
        sum.constant = sum.constant.filter(|c| *c != ZERO);
        self.store_index(sum)
    }

    /// Returns an index that is a size.
    pub fn at(&mut self, size: Dim) -> IndexId {
        self.index_of(Linear { terms: SmallVec::new(), constant: Some(size) })
    }

    /// Returns the index along dimension `number` of a tensor; the one place of a dimension of size 1.
    pub fn var(&mut self, number: u32, size: Dim) -> IndexId {
        let size = self.taken(size);
        let size = self.one_of_equal(size);
        self.place(Place::Var(number, size))
    }

    /// Returns the first size that was met and is this one, however it is written.
    fn one_of_equal(&mut self, size: Dim) -> Dim {
        if size.fixed().is_some() || self.met.contains(&size) {
            return size;
        }
        let known = self.met.iter().copied().find(|known| self.same_size(*known, size));
        if known.is_none() && self.met.len() < SIZES {
            self.met.push(size);
        }
        known.unwrap_or(size)
    }

    /// Returns an index that is one place.
    pub fn place(&mut self, place: Place) -> IndexId {
        match place {
            Place::Var(_, ONE) | Place::Bound(_, ONE) => self.at(ZERO),
            _ => self.index_of(Linear { terms: SmallVec::from_elem((place, ONE), 1), constant: None }),
        }
    }

    /// Returns the sum of two indices.
    pub fn sum(&mut self, a: IndexId, b: IndexId) -> Option<IndexId> {
        let (mut out, more) = (self.linear(a).clone(), self.linear(b).clone());
        out.constant = Some(self.plus(out.offset(), more.offset())?);
        for (place, by) in more.terms {
            self.add_term(&mut out, place, by)?;
        }
        self.recombine(&mut out)?;
        Some(self.index_of(out))
    }

    fn add_term(&mut self, out: &mut Linear, place: Place, by: Dim) -> Option<()> {
        match out.terms.iter().position(|(p, _)| *p == place) {
            Some(at) => {
                let old = out.terms.get(at)?.1;
                let new = self.plus(old, by)?;
                if new == ZERO {
                    out.terms.remove(at);
                } else {
                    out.terms.get_mut(at)?.1 = new;
                }
            }
            None if by == ZERO => {}
            None => out.terms.push((place, by)),
        }
        Some(())
    }

    /// Returns a multiple of an index.
    pub fn scale(&mut self, a: IndexId, by: Dim) -> Option<IndexId> {
        let from = self.linear(a).clone();
        let mut out = Linear { terms: SmallVec::new(), constant: Some(self.times(from.offset(), by)?) };
        for (place, c) in from.terms {
            let c = self.times(c, by)?;
            if c != ZERO {
                out.terms.push((place, c));
            }
        }
        Some(self.index_of(out))
    }

    /// Returns an index moved by a size.
    pub fn shift(&mut self, a: IndexId, by: Dim) -> Option<IndexId> {
        let by = self.at(by);
        self.sum(a, by)
    }

    /// Returns `a - b`.
    pub fn difference(&mut self, a: IndexId, b: IndexId) -> Option<IndexId> {
        let b = self.scale(b, Dim::Fixed(-1))?;
        self.sum(a, b)
    }

    /// Puts `n * (e / n) + e mod n` together again.
    fn recombine(&mut self, out: &mut Linear) -> Option<()> {
        for _ in 0..16 {
            let Some((rest, whole, by)) = self.parts_of_one(out) else { break };
            out.terms.retain(|(p, _)| *p != rest && *p != whole);
            let Place::Mod(e, _) = rest else { break };
            let e = self.linear(e).clone();
            let constant = self.times(e.offset(), by)?;
            out.constant = Some(self.plus(out.offset(), constant)?);
            for (p, c) in e.terms {
                let c = self.times(c, by)?;
                self.add_term(out, p, c)?;
            }
        }
        Some(())
    }

    /// Returns a remainder and the quotient of the same division, the coefficients being those of one index.
    fn parts_of_one(&mut self, sum: &Linear) -> Option<(Place, Place, Dim)> {
        for (rest, by) in &sum.terms {
            let Place::Mod(e, n) = *rest else { continue };
            let wanted = self.times(*by, n)?;
            let inner = match (self.linear(e).terms.as_slice(), self.linear(e).constant) {
                ([(Place::Div(inner, m), ONE)], None) => Some((*inner, *m)),
                _ => None,
            };
            let nested = inner.and_then(|(inner, m)| Some((inner, self.times(m, n)?)));
            let is_whole = |p: &Place| matches!(p, Place::Div(f, m) if (*f, *m) == (e, n) || Some((*f, *m)) == nested);
            if let Some((whole, _)) = sum.terms.iter().find(|(p, c)| *c == wanted && is_whole(p)) {
                return Some((*rest, *whole, *by));
            }
        }
        None
    }

    /// Splits an index into `n * whole + rest`.
    fn split(&mut self, a: IndexId, n: Dim) -> Option<(Linear, Linear)> {
        let from = self.linear(a).clone();
        let c = from.offset();
        let (mut whole, mut rest) = (Linear::default(), Linear::default());
        for (place, c) in from.terms {
            match self.exactly(c, n) {
                Some(c) => whole.terms.push((place, c)),
                None => match (c, n) {
                    // What of a coefficient is multiples of the divisor.
                    (Dim::Fixed(c), Dim::Fixed(n)) if c.unsigned_abs() > n.unsigned_abs() && n > 0 => {
                        whole.terms.push((place, Dim::Fixed(c.checked_div(n)?)));
                        rest.terms.push((place, Dim::Fixed(c.checked_rem(n)?)));
                    }
                    _ => match self.beyond_once(c, n) {
                        Some(left) => {
                            whole.terms.push((place, ONE));
                            rest.terms.push((place, Dim::Fixed(left)));
                        }
                        None => rest.terms.push((place, c)),
                    },
                },
            }
        }
        match (c, n, self.exactly(c, n)) {
            (_, _, Some(c)) => whole.constant = Some(c),
            (Dim::Fixed(c), Dim::Fixed(n), None) => {
                whole.constant = Some(Dim::Fixed(floor_div(c, n)?));
                rest.constant = Some(Dim::Fixed(floor_mod(c, n)?));
            }
            _ => rest.constant = Some(c),
        }
        Some((whole, rest))
    }

    /// Returns by which number a size is more than a divisor that is none: a step of one row and some columns.
    fn beyond_once(&mut self, c: Dim, n: Dim) -> Option<i64> {
        if n.fixed().is_some() || c.fixed().is_some() {
            return None;
        }
        let minus = self.minus(n)?;
        self.plus(c, minus)?.fixed().filter(|left| *left > 0)
    }

    /// Returns the common divisor of all coefficients and of `n`, where these are numbers.
    fn common(&self, a: &Linear, n: Dim) -> Option<i64> {
        let mut g = n.fixed()?.unsigned_abs();
        for (_, c) in &a.terms {
            let mut c = c.fixed()?.unsigned_abs();
            while c != 0 {
                (g, c) = (c, g.checked_rem(c)?);
            }
        }
        i64::try_from(g).ok().filter(|g| *g > 1)
    }

    fn divided(&mut self, a: &Linear, g: i64) -> Option<IndexId> {
        let mut out = Linear::default();
        for (place, c) in &a.terms {
            out.terms.push((*place, Dim::Fixed(floor_div(c.fixed()?, g)?)));
        }
        out.constant = Some(Dim::Fixed(floor_div(a.offset().fixed()?, g)?));
        Some(self.index_of(out))
    }

    /// Returns `a / n`, rounded down.
    pub fn quotient(&mut self, a: IndexId, n: Dim) -> Option<IndexId> {
        if n == ONE {
            return Some(a);
        }
        if !self.at_most(ONE, n) && self.at_most(n, ZERO) {
            return None;
        }
        let (whole, rest) = self.split(a, n)?;
        let whole = self.index_of(whole);
        let rest_id = self.index_of(rest.clone());
        if self.linear(rest_id).terms.is_empty() && self.linear(rest_id).constant.is_none()
            || self.is_within(rest_id, n)
        {
            return Some(whole);
        }
        if let Some(g) = self.common(&rest, n) {
            let inner = self.divided(&rest, g)?;
            let n = Dim::Fixed(floor_div(n.fixed()?, g)?);
            let part = self.quotient(inner, n)?;
            return self.sum(whole, part);
        }
        if let Some((over, _, left)) = self.coarser(&rest, n)? {
            let part = self.quotient(over, left)?;
            return self.sum(whole, part);
        }
        if let Some(k) = self.times_within(rest_id, n)? {
            return self.shift(whole, Dim::Fixed(k));
        }
        let single = match (rest.terms.as_slice(), rest.offset()) {
            ([(place, ONE)], ZERO) => Some(*place),
            _ => None,
        };
        let part = match single {
            Some(Place::Div(e, m)) => {
                let both = self.times(m, n)?;
                self.quotient(e, both)?
            }
            Some(Place::Mod(e, m)) if self.exactly(m, n).is_some() => {
                let (quotient, left) = (self.quotient(e, n)?, self.exactly(m, n)?);
                self.remainder(quotient, left)?
            }
            _ => self.place(Place::Div(rest_id, n)),
        };
        self.sum(whole, part)
    }

    /// Returns `a mod n`, which is at least 0.
    pub fn remainder(&mut self, a: IndexId, n: Dim) -> Option<IndexId> {
        if n == ONE {
            return Some(self.at(ZERO));
        }
        if !self.at_most(ONE, n) && self.at_most(n, ZERO) {
            return None;
        }
        let (_, mut rest) = self.split(a, n)?;
        for (place, c) in rest.terms.clone() {
            let Place::Mod(e, m) = place else { continue };
            let multiple = self.times(c, m)?;
            if self.exactly(multiple, n).is_some() {
                rest.terms.retain(|(p, _)| *p != place);
                let (left, inner) = (self.index_of(rest), self.scale(e, c)?);
                let all = self.sum(left, inner)?;
                return self.remainder(all, n);
            }
        }
        let id = self.index_of(rest.clone());
        if rest.terms.is_empty() && rest.offset() == ZERO || self.is_within(id, n) {
            return Some(id);
        }
        if let Some(g) = self.common(&rest, n) {
            let inner = self.divided(&rest, g)?;
            let left = self.remainder(inner, Dim::Fixed(floor_div(n.fixed()?, g)?))?;
            let left = self.scale(left, Dim::Fixed(g))?;
            return self.shift(left, Dim::Fixed(floor_mod(rest.offset().fixed()?, g)?));
        }
        if let Some((over, small, left)) = self.coarser(&rest, n)? {
            let by = self.exactly(n, left)?;
            let part = self.remainder(over, left)?;
            let part = self.scale(part, by)?;
            return self.sum(part, small);
        }
        if let Some(k) = self.times_within(id, n)? {
            let all = self.times(n, Dim::Fixed(k.checked_neg()?))?;
            return self.shift(id, all);
        }
        Some(self.place(Place::Mod(id, n)))
    }

    /// Returns a sum as `g * over + small`, where g divides n and `small` is at least 0 and less than g: `over`, `small` and `n / g`. Then what n divides
    /// of the sum, `n / g` divides of `over`.
    fn coarser(&mut self, rest: &Linear, n: Dim) -> Option<Option<(IndexId, IndexId, Dim)>> {
        if n == ZERO || n == ONE {
            return Some(None);
        }
        for (_, c) in &rest.terms {
            let g = common_divisor(*c, n)?;
            // Where n may be 0, there is nothing to divide; where it is not, no divisor of it is.
            let Some(left) = self.exactly(n, g).filter(|left| *left != ONE && g != ONE && self.at_most(ZERO, g)) else {
                continue;
            };
            let (mut over, mut small) = (Linear::default(), Linear::default());
            for (place, c) in &rest.terms {
                match self.exactly(*c, g) {
                    Some(c) => over.terms.push((*place, c)),
                    None => small.terms.push((*place, *c)),
                }
            }
            if small.terms.is_empty() {
                continue;
            }
            match (rest.offset(), g) {
                (Dim::Fixed(c), Dim::Fixed(g)) => {
                    over.constant = Some(Dim::Fixed(floor_div(c, g)?));
                    small.constant = Some(Dim::Fixed(floor_mod(c, g)?));
                }
                (c, g) => match self.exactly(c, g) {
                    Some(c) => over.constant = Some(c),
                    None => small.constant = Some(c),
                },
            }
            let small = self.index_of(small);
            if self.is_within(small, g) {
                let over = self.index_of(over);
                return Some(Some((over, small, left)));
            }
        }
        Some(None)
    }

    /// Returns an index that is at least 0 where one of multiples of a number, and of what surely lies below that number, is: the multiples alone.
    pub(super) fn in_multiples(&mut self, a: IndexId) -> Option<Option<IndexId>> {
        let from = self.linear(a).clone();
        let Some(offset) = from.offset().fixed() else { return Some(None) };
        let numbers: Option<Vec<i64>> = from.terms.iter().map(|(_, by)| by.fixed()).collect();
        let Some(numbers) = numbers.filter(|n| n.len() > 1) else { return Some(None) };
        for g in numbers.iter().map(|n| n.saturating_abs()).filter(|n| *n > 1) {
            let (mut over, mut small) = (Linear::default(), Linear::default());
            for ((place, by), number) in from.terms.iter().zip(&numbers) {
                match number.checked_rem(g)? {
                    0 => over.terms.push((*place, Dim::Fixed(number.checked_div(g)?))),
                    _ => small.terms.push((*place, *by)),
                }
            }
            over.constant = Some(Dim::Fixed(floor_div(offset, g)?));
            small.constant = Some(Dim::Fixed(floor_mod(offset, g)?));
            let small = self.index_of(small);
            if self.is_within(small, Dim::Fixed(g)) {
                return Some(Some(self.index_of(over)));
            }
        }
        Some(None)
    }

    /// Returns how often a size goes into an index, where that is one number for all places that are there.
    fn times_within(&mut self, a: IndexId, n: Dim) -> Option<Option<i64>> {
        if self.facts.is_empty() {
            return Some(None);
        }
        let ends = (self.bound(a, false, 8).and_then(|d| d.fixed()), self.bound(a, true, 8).and_then(|d| d.fixed()));
        let Some(by) = n.fixed() else {
            // By a size that is a symbol: once too much or once too little.
            for k in [-1, 1] {
                let moved = self.times(n, Dim::Fixed(i64::checked_neg(k)?))?;
                let moved = self.shift(a, moved)?;
                if self.is_within(moved, n) {
                    return Some(Some(k));
                }
            }
            return Some(None);
        };
        let (Some(low), Some(high)) = ends else { return Some(None) };
        let (first, last) = (floor_div(low, by)?, floor_div(high, by)?);
        if last.checked_sub(first)? > 8 {
            return Some(None);
        }
        for k in first..=last {
            let moved = self.shift(a, Dim::Fixed(k.checked_mul(by)?.checked_neg()?))?;
            if self.is_within(moved, n) {
                return Some(Some(k));
            }
        }
        Some(None)
    }

    fn is_within(&mut self, a: IndexId, n: Dim) -> bool {
        self.room(a, n).is_some()
    }

    fn room(&mut self, a: IndexId, n: Dim) -> Option<()> {
        let last = self.plus(n, Dim::Fixed(-1))?;
        let end = self.at(last);
        let room = self.difference(end, a)?;
        (self.at_least_zero(a)? && self.at_least_zero(room)?).then_some(())
    }

    /// The least and the greatest value that a place may have.
    fn reach(&mut self, place: Place, upper: bool, depth: usize) -> Option<Dim> {
        match place {
            Place::Var(_, n) | Place::Bound(_, n) | Place::Mod(_, n) => {
                if upper {
                    self.plus(n, Dim::Fixed(-1))
                } else {
                    Some(ZERO)
                }
            }
            Place::Div(e, n) => {
                let bound = self.bound(e, upper, depth.checked_sub(1)?)?;
                match (bound, n) {
                    (Dim::Fixed(b), Dim::Fixed(n)) => floor_div(b, n).map(Dim::Fixed),
                    (b, _) if !upper && self.at_most(ZERO, b) => Some(ZERO),
                    (b, n) if upper => self.symbols.floordiv(b, n).ok(),
                    _ => None,
                }
            }
            Place::Data(id) => {
                let (low, high) = self.integers_of(id)?;
                Some(Dim::Fixed(if upper { high } else { low }))
            }
        }
    }

    /// Returns two numbers between which an index lies.
    pub(super) fn ends_of(&mut self, a: IndexId) -> Option<(i64, i64)> {
        let (low, high) = (self.bound(a, false, 8)?, self.bound(a, true, 8)?);
        let low = low.fixed().or_else(|| self.symbols.range_of(low).min)?;
        let high = high.fixed().or_else(|| self.symbols.range_of(high).max)?;
        Some((low, high))
    }

    /// Returns an index in which multiples of quotients are those of what is divided, less the remainder.
    pub(super) fn by_remainders(&mut self, a: IndexId) -> Option<IndexId> {
        let from = self.linear(a).clone();
        let mut out = self.at(from.offset());
        for (place, by) in from.terms {
            let own = match place {
                Place::Div(e, n) if self.exactly(by, n).is_some() => {
                    let left = self.place(Place::Mod(e, n));
                    let whole = self.difference(e, left)?;
                    let times = self.exactly(by, n)?;
                    self.scale(whole, times)?
                }
                _ => {
                    let one = self.place(place);
                    self.scale(one, by)?
                }
            };
            out = self.sum(out, own)?;
        }
        Some(out)
    }

    /// Returns a bound of an index: no value is above (below) it.
    fn bound(&mut self, a: IndexId, upper: bool, depth: usize) -> Option<Dim> {
        let from = self.linear(a).clone();
        let mut total = from.offset();
        for (place, c) in from.terms {
            let rises = if self.at_most(ZERO, c) {
                true
            } else if self.at_most(c, ZERO) {
                false
            } else {
                return None;
            };
            let end = self.reach(place, upper == rises, depth)?;
            let part = self.times(c, end)?;
            total = self.plus(total, part)?;
        }
        Some(total)
    }

    /// Returns whether an index is at least 0 for all places that are there, or never; what is assumed counts.
    pub fn at_least_zero(&mut self, a: IndexId) -> Option<bool> {
        if let Some(known) = self.bounded(a) {
            return Some(known);
        }
        for fact in self.facts.clone() {
            let over = self.difference(a, fact)?;
            if self.bounded(over) == Some(true) {
                return Some(true);
            }
            if let Some(times) = self.goes_into(fact, a) {
                let multiple = self.scale(fact, Dim::Fixed(times))?;
                let over = self.difference(a, multiple)?;
                if self.bounded(over) == Some(true) {
                    return Some(true);
                }
            }
            // `-a - 1 >= fact >= 0` makes `a` negative, and so does a multiple of the fact.
            let minus = self.scale(a, Dim::Fixed(-1))?;
            for times in [Some(1), self.goes_into(fact, minus)].into_iter().flatten() {
                let multiple = self.scale(fact, Dim::Fixed(times))?;
                let all = self.sum(a, multiple)?;
                let under = self.scale(all, Dim::Fixed(-1))?;
                let under = self.shift(under, Dim::Fixed(-1))?;
                if self.bounded(under) == Some(true) {
                    return Some(false);
                }
            }
        }
        None
    }

    /// Returns how often what a fact says of a place goes into an index, where that is more than once.
    fn goes_into(&self, fact: IndexId, a: IndexId) -> Option<i64> {
        let all = self.linear(a);
        self.linear(fact).terms.iter().find_map(|(place, by)| {
            let own = all.terms.iter().find(|(p, _)| p == place)?.1.fixed()?;
            let times = own.checked_div(by.fixed()?)?;
            (times > 1 && times.checked_mul(by.fixed()?) == Some(own)).then_some(times)
        })
    }

    fn bounded(&mut self, a: IndexId) -> Option<bool> {
        if let Some(low) = self.bound(a, false, 8)
            && self.at_most(ZERO, low)
        {
            return Some(true);
        }
        let high = self.bound(a, true, 8)?;
        self.at_most(high, Dim::Fixed(-1)).then_some(false)
    }
}

/// Returns the greatest common divisor of two numbers; of others the first: it may divide the second.
fn common_divisor(a: Dim, b: Dim) -> Option<Dim> {
    let (Some(a), Some(b)) = (a.fixed(), b.fixed()) else { return Some(a) };
    let (mut g, mut rest) = (b.unsigned_abs(), a.unsigned_abs());
    while rest != 0 {
        (g, rest) = (rest, g.checked_rem(rest)?);
    }
    i64::try_from(g).ok().map(Dim::Fixed)
}
