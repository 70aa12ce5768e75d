//! Elements at each place of a dimension that has few.
//!
//! ## What it says
//! What is equal at each place of a dimension is equal: an index that conditions ask, or that is divided, is each of its numbers in turn. A bound or a
//! magnitude of indices lies between what it is at the places.
//!
//! ## When it is wrong
//! Of a symbol nobody knows how many places there are: only numbers are counted. A bound of rounding is asked at each place, too.

use smallvec::SmallVec;

use crate::rules::element::arena::{Elements, ExprId, Form, Op};
use crate::rules::element::index::Place;
use crate::rules::element::rebuild::Moves;
use crate::sym::Dim;

/// How many places there may be, all in all.
const PLACES: i64 = 64;

/// Of how many parts an element may be joined.
const PARTS: usize = 16;
/// How much work places may be.
const WORK: usize = 10_000;
/// How many expressions two elements may be made of.
const MOST: usize = 200;
/// How deep calls within calls are compared.
const CALLS: usize = 8;
/// How many conditions may be split, one within another.
const CASES: usize = 4;

impl Elements {
    /// Returns the dimension along which an element was joined of several, and where these begin; `None` where it was not.
    pub fn cuts_of(&self, root: ExprId) -> Option<(usize, Vec<i64>)> {
        let (mut open, mut cuts, mut along) = (vec![root], Vec::new(), None);
        while let Some(at) = open.pop() {
            let Some((Op::Choose, [condition, yes, no])) = self.op_of(at) else { continue };
            let Some(Form::AtLeastZero(index)) = self.expr(*condition).map(|x| &x.form) else { continue };
            let sum = self.linear(*index);
            let ([(Place::Var(k, _), by)], Some(offset)) = (sum.terms.as_slice(), sum.offset().fixed()) else {
                continue;
            };
            let cut = match by.fixed() {
                Some(1) => offset.checked_neg()?,
                Some(-1) => offset.checked_add(1)?,
                _ => continue,
            };
            if *along.get_or_insert(*k) != *k || cuts.len() >= PARTS {
                return None;
            }
            cuts.push(cut);
            open.extend([*yes, *no]);
        }
        cuts.sort_unstable();
        cuts.dedup();
        Some((usize::try_from(along?).ok()?, cuts))
    }

    /// Whether two elements of a tensor of these sizes are equal at each place.
    pub fn equal_at_each_place(&mut self, sizes: &[Dim], ends: [ExprId; 2]) -> bool {
        let size: usize = ends.iter().map(|end| self.below(*end).len()).sum();
        // Most that is not equal is not so at its first place: that is no great work.
        let left = self.fuel;
        if size > MOST {
            return false;
        }
        let given = left.min(WORK);
        self.fuel = given;
        let mut equal = false;
        if let Some(places) = self.at_each_place(sizes, ends) {
            let mut all = places.into_iter();
            equal = all.all(|[a, b]| self.equal_by_cases((a, b), CASES, &mut |e, a, b| e.congruent(a, b, CALLS)));
        }
        self.fuel = left.saturating_sub(given.saturating_sub(self.fuel));
        if equal {
            self.by("at-each-place");
        }
        equal
    }

    /// Returns two elements at each place of the dimensions of which more is asked than what stands there; `None` where none is, or they have too many places.
    pub fn at_each_place(&mut self, sizes: &[Dim], ends: [ExprId; 2]) -> Option<Vec<[ExprId; 2]>> {
        let mut asked = self.asked_of(ends);
        asked.sort_unstable();
        asked.dedup();
        let mut all: Vec<Vec<(u32, i64)>> = vec![Vec::new()];
        let mut count = 1_i64;
        for var in asked {
            let size = sizes.get(var as usize)?.fixed().filter(|n| *n > 1)?;
            count = count.checked_mul(size).filter(|n| *n <= PLACES)?;
            let with = |at: &Vec<(u32, i64)>| {
                (0..size).map(|k| at.iter().copied().chain([(var, k)]).collect()).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(with).collect();
        }
        if count == 1 {
            return None;
        }
        let mut out = Vec::with_capacity(all.len());
        for place in all {
            self.spend(16)?;
            let mut vars = SmallVec::new();
            for (k, size) in (0_u32..).zip(sizes) {
                let known = place.iter().find(|(var, _)| *var == k);
                vars.push(match known {
                    Some((_, at)) => self.at(Dim::Fixed(*at)),
                    None => self.var(k, *size),
                });
            }
            let moves = Moves { vars, bound: None };
            let [a, b] = ends;
            out.push([self.moved(a, &moves)?, self.moved(b, &moves)?]);
        }
        Some(out)
    }

    /// Returns two integers between which an expression of integers lies: of a bound or a magnitude of indices alone, the ends of what it is at each place.
    pub fn integers_at_places(&mut self, id: ExprId, sizes: &[Dim]) -> Option<(i64, i64)> {
        let whole = self.integers_of(id);
        let below = self.below(id);
        let looks_up = |e: &Self, id: ExprId| matches!(e.expr(id).map(|x| &x.form), Some(Form::Load(..)));
        let bounds = |e: &Self, id: ExprId| {
            matches!(e.op_of(id), Some((Op::Abs | Op::Max | Op::Min | Op::AtLeast | Op::AtMost | Op::Choose, _)))
        };
        let few = below.len() <= MOST && below.iter().any(|id| bounds(self, *id));
        if !few || below.iter().any(|id| looks_up(self, *id)) {
            return whole;
        }
        let Some(places) = self.at_each_place(sizes, [id, id]) else { return whole };
        let mut ends: Option<(i64, i64)> = None;
        for [one, _] in places {
            let Some((low, high)) = self.integers_of(one) else { return whole };
            ends = Some(ends.map_or((low, high), |(least, most)| (least.min(low), most.max(high))));
        }
        ends.or(whole)
    }

    /// Returns the dimensions of the result whose index a condition asks, is a number, or is divided.
    fn asked_of(&self, ends: [ExprId; 2]) -> Vec<u32> {
        let mut out = Vec::new();
        let var = |p: &Place| match p {
            Place::Var(k, _) => Some(*k),
            _ => None,
        };
        for expr in ends.into_iter().flat_map(|end| self.below(end)).filter_map(|id| self.expr(id)) {
            match &expr.form {
                Form::AtLeastZero(_) | Form::IsZero(_) | Form::Index(_) => {
                    out.extend(self.places_of(expr).iter().filter_map(var));
                }
                Form::Load(_, at) => {
                    let divided = at.iter().flat_map(|i| self.places_in(*i)).filter_map(|p| match p {
                        Place::Div(inner, _) | Place::Mod(inner, _) => Some(inner),
                        _ => None,
                    });
                    out.extend(divided.flat_map(|inner| self.places_in(inner)).filter_map(|p| var(&p)));
                }
                _ => {}
            }
        }
        out
    }
}
