//! The greater and the lesser of integers, nested in any way.
//!
//! ## What it says
//! Of integers `max` and `min` distribute over one another, and absorb: two nestings over the same integers are equal where they are for 0 and 1, whichever of
//! the integers are 1 (what is made by them alone is at least `t` where it is so of what says of each integer whether that is at least `t`). The
//! element at a place of few in order, the greatest and the least of them included, is the least of the greatest of as many as reach that place.
//!
//! ## When it is wrong
//! Of floats NaN is the greater one and the lesser one. Of zeros of both signs the kernel chooses.

use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op};
use crate::rules::element::make::width;
use crate::sym::Dim;

/// Of how many integers all combinations of 0 and 1 are looked at: as many as a word has bits.
const MOST: usize = 6;
/// Of how many places of a dimension each is looked at.
const FEW: i64 = 6;
/// How many nested calls are looked into.
const CALLS: usize = 128;
/// Which of the combinations say 1 of each of the integers.
const TABLES: [u64; MOST] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
];

impl Elements {
    /// Whether two nestings of the greater and the lesser of integers are equal.
    pub(super) fn equal_in_order(&mut self, a: ExprId, b: ExprId) -> bool {
        let bounds = |e: &Self, x: ExprId| {
            let integers = e.dtype(x).is_some_and(|d| width(d).is_some_and(|w| w > 1));
            integers && (matches!(e.op_of(x), Some((Op::Max | Op::Min, _))) || e.is_end_of_few(x))
        };
        if !bounds(self, a) && !bounds(self, b) || self.dtype(a) != self.dtype(b) {
            return false;
        }
        let (a, b) = if [a, b].iter().any(|x| self.is_end_of_few(*x)) {
            let (Some(a), Some(b)) = (self.unrolled_integers(a), self.unrolled_integers(b)) else { return false };
            (a, b)
        } else {
            (a, b)
        };
        let mut atoms: SmallVec<[ExprId; MOST]> = SmallVec::new();
        let (Some(x), Some(y)) = (self.order_table(a, &mut atoms), self.order_table(b, &mut atoms)) else {
            return false;
        };
        // Of two numbers the lesser one is not 1 where the greater one is 0.
        let mut possible = u64::MAX;
        for (p, table) in atoms.iter().zip(TABLES) {
            for (q, other) in atoms.iter().zip(TABLES) {
                if self.number(*p).zip(self.number(*q)).is_some_and(|(p, q)| p < q) {
                    possible &= !(table & !other);
                }
            }
        }
        let equal = (x ^ y) & possible == 0;
        if equal {
            self.by("order-of-integers");
        }
        equal
    }

    /// Whether an element is the greatest, or the least, of a dimension of few.
    fn is_end_of_few(&self, x: ExprId) -> bool {
        let few = |d: &Dim| d.fixed().is_some_and(|n| (1..=FEW).contains(&n));
        matches!(self.expr(x).map(|x| &x.form), Some(Form::Reduce(Fold::Most | Fold::Least, _, sizes)) if sizes.iter().all(few))
    }

    /// For which combinations of the integers it is 1. A worklist: children first.
    fn order_table(&self, root: ExprId, atoms: &mut SmallVec<[ExprId; MOST]>) -> Option<u64> {
        let mut known: rustc_hash::FxHashMap<ExprId, u64> = rustc_hash::FxHashMap::default();
        let mut open = vec![root];
        let mut calls = 0_usize;
        while let Some(at) = open.last().copied() {
            calls = calls.checked_add(1).filter(|n| *n < CALLS)?;
            let table = match self.op_of(at) {
                Some((op @ (Op::Max | Op::Min), [p, q])) => match (known.get(p), known.get(q)) {
                    (Some(x), Some(y)) => {
                        if op == Op::Max {
                            x | y
                        } else {
                            x & y
                        }
                    }
                    _ => {
                        open.extend([*p, *q].iter().filter(|k| !known.contains_key(k)));
                        continue;
                    }
                },
                _ => {
                    let place = atoms.iter().position(|x| *x == at).unwrap_or(atoms.len());
                    if place == atoms.len() {
                        atoms.push(at);
                    }
                    *TABLES.get(place)?
                }
            };
            known.insert(at, table);
            open.pop();
        }
        known.get(&root).copied()
    }

    /// The one of a few integers that stands at a place once they are in order: the least of the greatest of each `place + 1` of them.
    pub(in crate::rules) fn at_place_of_few(&mut self, dtype: Dtype, all: &[ExprId], place: usize) -> Option<ExprId> {
        let count = u32::try_from(place.checked_add(1)?).ok()?;
        let ends = 1_u32.checked_shl(u32::try_from(all.len()).ok().filter(|n| *n <= 5)?)?;
        let mut least: Option<ExprId> = None;
        for some in (0..ends).filter(|some| some.count_ones() == count) {
            let mut most: Option<ExprId> = None;
            for (k, one) in (0_u32..).zip(all) {
                if some.checked_shr(k).is_some_and(|rest| rest & 1 == 1) {
                    most = Some(most.map_or(Some(*one), |most| self.op(Op::Max, dtype, &[most, *one]))?);
                }
            }
            let most = most?;
            least = Some(least.map_or(Some(most), |least| self.op(Op::Min, dtype, &[least, most]))?);
        }
        least
    }
}
