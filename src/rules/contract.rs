//! Einstein sums, over the reals; of integers, wrapping around.
//!
//! ## What it says
//! An element is the sum, over every label that the result does not name, of the products of the operands' elements at their labels.
//!
//! ## When it is wrong
//! Bit by bit: operands are multiplied in pairs, each of which sums in its kernel's order. Narrow floats are rounded after each pair: only two
//! operands that are summed together are understood.

use smallvec::SmallVec;

use crate::graph::{Arg, Dtype};
use crate::rules::element::arena::{ExprId, Fold, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::meaning::{Array, Said, Speaker};
use crate::sym::Dim;

/// A place in a term: a letter, or one of the dimensions that `...` stands for, counted from the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Rest(usize),
    Letter(char),
}

/// Reads a term of so many dimensions.
fn labels(term: &str, rank: usize) -> Option<Vec<Label>> {
    let letters = |part: &str| part.chars().map(Label::Letter).collect::<Vec<_>>();
    let Some((before, after)) = term.split_once("...") else { return Some(letters(term)).filter(|l| l.len() == rank) };
    let (mut out, after) = (letters(before), letters(after));
    let own = rank.checked_sub(out.len().checked_add(after.len())?)?;
    out.extend((0..own).rev().map(Label::Rest));
    out.extend(after);
    Some(out)
}

impl Speaker<'_> {
    pub(super) fn contracted(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let Arg::Str(equation) = c.arg(0) else { return None };
        let equation = equation.replace(' ', "");
        let arrays: Vec<Array> = c.arg(1).items()?.iter().map(|a| c.array_of(a).cloned()).collect::<Option<_>>()?;
        let to = c.result.dtype;
        let narrow = matches!(to, Dtype::F16 | Dtype::Bf16);
        let numbers = to.is_float() || crate::rules::element::make::width(to).is_some_and(|w| w > 1);
        if !numbers || arrays.iter().any(|a| a.dtype != to) || narrow && arrays.len() != 2 {
            return None;
        }
        let (inputs, result) = equation.split_once("->").map_or((equation.as_str(), None), |(i, r)| (i, Some(r)));
        let terms: Vec<Vec<Label>> =
            inputs.split(',').zip(&arrays).map(|(t, a)| labels(t, a.sizes.len())).collect::<Option<_>>()?;
        if inputs.split(',').count() != arrays.len() {
            return None;
        }
        let kept = match result {
            Some(text) => labels(text, c.result.sizes.len())?,
            None => implied(&terms),
        };
        let once = |l: &Label| terms.iter().filter(|t| t.contains(l)).count() == 1;
        if kept.len() != c.result.sizes.len() || narrow && terms.iter().flatten().any(|l| !kept.contains(l) && once(l))
        {
            return None;
        }
        self.summed_products(c, &arrays, &terms, &kept)
    }

    fn summed_products(
        &mut self,
        c: &Said<'_, '_>,
        arrays: &[Array],
        terms: &[Vec<Label>],
        kept: &[Label],
    ) -> Option<ExprId> {
        let to = c.result.dtype;
        let wide = if matches!(to, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { to };
        let level = arrays.iter().filter_map(|a| self.e.highest_level(a.expr)).max().map_or(0, |l| l.saturating_add(1));
        let mut sizes: Vec<Dim> = Vec::new();
        let mut places: Vec<(Label, Dim, IndexId)> = Vec::new();
        for (label, var) in kept.iter().zip(self.vars(&c.result.sizes)) {
            let size = *c.result.sizes.get(places.len())?;
            places.push((*label, size, var));
        }
        // A label is as long as its longest dimension.
        let one = Dim::Fixed(1);
        for (term, array) in terms.iter().zip(arrays) {
            for (label, size) in term.iter().zip(&array.sizes).filter(|(_, s)| **s != one) {
                if !places.iter().any(|(l, ..)| l == label) {
                    let next = level.checked_add(u32::try_from(sizes.len()).ok()?)?;
                    places.push((*label, *size, self.e.place(Place::Bound(next, *size))));
                    sizes.push(*size);
                }
            }
        }
        let mut product: Option<ExprId> = None;
        for (term, array) in terms.iter().zip(arrays) {
            let mut index: SmallVec<[IndexId; 4]> = SmallVec::new();
            for (label, size) in term.iter().zip(&array.sizes) {
                let whole = places.iter().find(|(l, ..)| l == label);
                index.push(match whole {
                    Some((_, all, at)) if self.e.same_size(*all, *size) => *at,
                    _ if *size == one => self.e.at(Dim::Fixed(0)),
                    _ => return None,
                });
            }
            let x = self.at(array, index)?;
            let x = self.e.op(Op::Cast, wide, &[x])?;
            product = Some(match product {
                Some(p) => self.e.op(Op::Mul, wide, &[p, x])?,
                None => x,
            });
        }
        let mut out = product?;
        if !sizes.is_empty() {
            out = self.e.reduced(Fold::Sum, level, &sizes, out)?;
        }
        self.e.op(Op::Cast, to, &[out])
    }
}

/// Where no result is written: what `...` stands for, then letters that occur once, in order.
fn implied(terms: &[Vec<Label>]) -> Vec<Label> {
    let all: Vec<Label> = terms.iter().flatten().copied().collect();
    let mut rests: Vec<usize> =
        all.iter().filter_map(|l| if let Label::Rest(k) = l { Some(*k) } else { None }).collect();
    rests.sort_unstable();
    rests.dedup();
    let mut letters: Vec<Label> = all.iter().copied().filter(|l| matches!(l, Label::Letter(_))).collect();
    letters.retain(|l| all.iter().filter(|x| *x == l).count() == 1);
    letters.sort_unstable();
    rests.into_iter().rev().map(Label::Rest).chain(letters).collect()
}
