//! Reduced dimensions that are one, or two: what is taken together along both is taken together along their elements in a row.
//!
//! ## What it says
//! Places along a dimension of which quotients and remainders by a number are asked are those of two dimensions; places along two of which only
//! their elements in a row are asked, `m * q + r`, are those of one. So the greatest, and a sum of integers, over merged dimensions are those over the dimensions.
//!
//! ## When it is wrong
//! Bit by bit, of sums of floats: their order is their kernel's. A divisor that leaves a rest cuts no dimension in two.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::rebuild::Moves;
use crate::sym::Dim;

/// Names from here on are of dimensions that were looked at: above those that were made, below those of sums of products.
const NAMED: u32 = 1 << 16;
/// How many conditions may be split, one within another.
const CASES: usize = 4;
/// How many calls may stand one in another.
const CALLS: usize = 8;
/// How often a dimension may be cut again.
const ROUNDS: usize = 3;

impl Elements {
    /// Returns whether two expressions are equal once dimensions that are reduced are joined and cut.
    pub fn equal_divided(&mut self, a: ExprId, b: ExprId) -> bool {
        let Some(Some((x, y))) = self.cut_and_joined(a, b) else { return false };
        let equal = self.equal_by_cases((x, y), CASES, &mut |e, a, b| e.congruent(a, b, CALLS));
        if equal {
            self.by("dimensions-in-a-row");
        }
        equal
    }

    /// Returns two expressions whose reduced dimensions are joined, and cut, as what is read at their places asks; `None` where nothing asks it.
    pub fn cut_and_joined(&mut self, a: ExprId, b: ExprId) -> Option<Option<(ExprId, ExprId)>> {
        let mut all = self.below(a);
        all.extend(self.below(b));
        self.spend(all.len())?;
        let several = |e: &Self, id: ExprId| matches!(e.expr(id).map(|x| &x.form), Some(Form::Reduce(_, _, sizes)) if sizes.len() > 1);
        let parts = |e: &Self, id: ExprId| {
            let places = e.expr(id).map(|x| e.places_of(x)).unwrap_or_default();
            places.iter().any(|p| matches!(p, Place::Div(..) | Place::Mod(..)))
        };
        let asked = all.iter().any(|id| several(self, *id) || parts(self, *id));
        if !asked || !all.iter().any(|id| self.is_reduction(*id)) {
            return Some(None);
        }
        Some(Some((self.in_rows(a)?, self.in_rows(b)?)))
    }

    /// The same of one expression.
    pub fn in_rows(&mut self, root: ExprId) -> Option<ExprId> {
        let mut known: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in self.below(root) {
            self.spend(1)?;
            let expr = self.expr(id)?.clone();
            let kids: SmallVec<[ExprId; 3]> = expr.kids.iter().map(|k| known.get(k).copied().unwrap_or(*k)).collect();
            let made = match (&expr.form, kids.as_slice()) {
                (Form::Reduce(fold, level, sizes), [body])
                    if !(self.exact && expr.dtype.is_float() && matches!(fold, Fold::Sum | Fold::Product)) =>
                {
                    self.reduced_divided(*fold, *level, sizes, *body)?
                }
                _ if kids == expr.kids => id,
                _ => self.again(&expr, &kids)?,
            };
            known.insert(id, made);
        }
        known.get(&root).copied()
    }

    fn reduced_divided(&mut self, fold: Fold, level: u32, sizes: &[Dim], body: ExprId) -> Option<ExprId> {
        let (mut level, mut sizes, mut body) = (level, sizes.to_vec(), body);
        for _ in 0..ROUNDS {
            // Dimensions around have smaller names until they are looked at.
            let within = self.highest_level(body).filter(|l| *l >= NAMED && level < NAMED);
            let first = match level >= NAMED {
                true => level,
                false => within.map_or(NAMED, |l| l.saturating_add(1)),
            };
            let (places, next) = self.in_a_row(level, first, &sizes, body)?;
            if level == first && next == sizes {
                break;
            }
            body = self.moved(body, &Moves { vars: SmallVec::new(), bound: Some((level, places)) })?;
            (level, sizes) = (first, next);
        }
        self.reduced(fold, level, &sizes, body)
    }

    /// Returns what stands for each of some dimensions, and the sizes of those that are named from `first` on.
    fn in_a_row(
        &mut self,
        level: u32,
        first: u32,
        sizes: &[Dim],
        body: ExprId,
    ) -> Option<(SmallVec<[IndexId; 2]>, Vec<Dim>)> {
        let (mut places, mut out): (SmallVec<[IndexId; 2]>, Vec<Dim>) = (SmallVec::new(), Vec::new());
        let mut k = 0_usize;
        while let Some(size) = sizes.get(k).copied() {
            let name = level.checked_add(u32::try_from(k).ok()?)?;
            let own = first.checked_add(u32::try_from(out.len()).ok()?)?;
            if let Some(next) = sizes.get(k.checked_add(1)?).copied()
                && self.are_in_a_row(body, name, next)?
            {
                let both = self.times(size, next)?;
                places.push(self.at(Dim::Fixed(0)));
                places.push(self.place(Place::Bound(own, both)));
                out.push(both);
                k = k.checked_add(2)?;
                continue;
            }
            let by = self.divisor_of(body, name);
            let place = match by.and_then(|by| self.exactly(size, by).map(|times| (by, times))) {
                Some((by, times)) => {
                    let (q, r) =
                        (self.place(Place::Bound(own, times)), self.place(Place::Bound(own.checked_add(1)?, by)));
                    out.extend([times, by]);
                    let whole = self.scale(q, by)?;
                    self.sum(whole, r)?
                }
                None => {
                    out.push(size);
                    self.place(Place::Bound(own, size))
                }
            };
            places.push(place);
            k = k.checked_add(1)?;
        }
        Some((places, out))
    }

    /// Whether all that is read names a dimension and the one that follows as their elements in a row.
    fn are_in_a_row(&mut self, body: ExprId, name: u32, size: Dim) -> Option<bool> {
        let mut open: Vec<IndexId> = Vec::new();
        for id in self.below(body) {
            let expr: Expr = self.expr(id)?.clone();
            open.extend(Self::indices_in(&expr));
        }
        open.sort_unstable();
        open.dedup();
        let (mut seen, mut found) = (rustc_hash::FxHashSet::default(), false);
        while let Some(index) = open.pop() {
            self.spend(1)?;
            if !seen.insert(index) {
                continue;
            }
            let sum = self.linear(index).clone();
            let by = |name: u32| {
                sum.terms.iter().find(|(p, _)| matches!(p, Place::Bound(l, _) if *l == name)).map(|(_, by)| *by)
            };
            match (by(name), by(name.checked_add(1)?)) {
                (None, None) => {}
                (Some(whole), Some(one)) if self.times(one, size) == Some(whole) => found = true,
                _ => return Some(false),
            }
            open.extend(sum.terms.iter().filter_map(|(p, _)| match p {
                Place::Div(inner, _) | Place::Mod(inner, _) => Some(*inner),
                _ => None,
            }));
        }
        Some(found)
    }
}
