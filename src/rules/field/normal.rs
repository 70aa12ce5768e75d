//! Elements as sums of products.
//!
//! Promises: what is made equals the expression over the reals wherever both are defined; children first, no recursion on depth.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::graph::Dtype;
use crate::rules::definedness::{hides_no_nan, is_turned_by_no_nan, shows_every_nan, shows_what_turns};
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::cast::{keeps_order, loses_nothing, most_whole, round};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::field::poly::{Atom, Binders, Function, Poly};
use crate::rules::rounding::unit;
use crate::rules::table::{Real, real, target};
use crate::sym::Dim;
use crate::term::term::Token;

/// Names from here on are none of the arena's own.
const FRESH: u32 = 1 << 20;

/// Of how many expressions places of reductions that conditions ask are named.
const UNROLLED: usize = 96;
/// How much work that may be.
const UNROLLING: usize = 6000;
/// How many conditions may be split, one within another.
const CASES: usize = 4;
/// How many products two truths may have together.
const TRUTHS: usize = 16;
/// Of how many angles a sum is taken apart.
const ANGLES: usize = 3;
/// How many quarters of a turn a number may be.
const QUARTERS: f64 = 8.0;
/// How often an element stands in an angle that is taken for the double of its half: more often that is not looked for.
const DOUBLED: std::ops::Range<f64> = 2.0..8.0;
/// How deep choices are looked into that a number bounds.
const BOUNDS: usize = 3;
/// How many where bounds and magnitudes are choices: one comparison with a number often decides others.
const SIGNS: usize = 8;

/// Expressions over the reals.
pub struct Field<'e> {
    pub(super) e: &'e mut Elements,
    /// The dtype of the ends, or the finer one of what they are made of: how near numbers must be.
    pub(super) dtype: Dtype,
    pub(super) next: u32,
    /// Whether the greater of two is written by the magnitude of their difference.
    pub(super) signs: bool,
    /// Whether a hyperbolic tangent is written by exponentials.
    tangents: bool,
    /// Whether a float is taken as the number that a choice compares it with: no choice within is looked at in that way.
    pub(super) meets: bool,
    /// Whether a condition that an index is at least 0 is the one less that it is at least 1, and that it is 0.
    pub(super) telescopes: bool,
    /// The dtype of integers whose sums of products are taken as those of whole numbers, nothing else being looked into.
    ring: Option<Dtype>,
    pub(super) known: FxHashMap<ExprId, Rc<Poly>>,
}

impl<'e> Field<'e> {
    /// Numbers must be as near as the ends' dtype asks, or the finest of what these are made of: within functions a small difference grows.
    pub(super) fn new(e: &'e mut Elements, dtype: Dtype, ends: &[ExprId], signs: bool) -> Self {
        let is_double = |id: ExprId| e.dtype(id) == Some(Dtype::F64);
        let dtype = if ends.iter().any(|end| e.below(*end).into_iter().any(is_double)) { Dtype::F64 } else { dtype };
        Field {
            e,
            dtype,
            next: FRESH,
            signs,
            tangents: false,
            meets: false,
            telescopes: false,
            ring: None,
            known: FxHashMap::default(),
        }
    }
}

impl<'e> Field<'e> {
    /// The same for integers that wrap around.
    pub(super) fn as_ring(e: &'e mut Elements, dtype: Dtype) -> Self {
        Field { ring: Some(dtype), ..Field::new(e, Dtype::F64, &[], false) }
    }
}

impl Field<'_> {
    /// The same where a float is the number that a choice compares it with: nothing is known yet.
    pub(super) fn where_it_meets(&mut self) -> Field<'_> {
        Field { known: FxHashMap::default(), meets: true, e: &mut *self.e, ..*self }
    }

    /// Returns whether two expressions of one dtype are equal over the reals, and no NaN that reaches the first is hidden from the second; `None`
    /// where that was too much work.
    pub fn equal(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<bool> {
        e.boundaries.clear();
        let whole = Self::equal_as_cut(e, dtype, a, b);
        if whole == Some(true) {
            return whole;
        }
        if let Some((x, y)) = e.cut_and_joined(a, b)?
            && Self::equal_as_cut(e, dtype, x, y) == Some(true)
        {
            return Some(true);
        }
        let parted = [e.parted(a)?, e.parted(b)?];
        if e.cut_alike(parted) {
            let cut = Self::equal_as_cut(e, dtype, a, b);
            e.boundaries.clear();
            if cut == Some(true) {
                return cut;
            }
        }
        // Where one side names each place.
        let reductions = parted.map(|r| e.below(r).into_iter().filter(|id| e.is_reduction(*id)).count());
        if reductions.first() == reductions.last() {
            return whole;
        }
        let (a, b) = (e.unrolled(a)?, e.unrolled(b)?);
        Self::equal_as_cut(e, dtype, a, b)
    }

    /// Returns whether two expressions are equal over the reals, and hide no NaN, once each place of their reductions is named, where conditions ask which one
    /// it is.
    pub fn equal_unrolled(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<bool> {
        let few = [a, b].iter().map(|r| e.below(*r).len()).sum::<usize>() <= UNROLLED;
        // Of other lengths they are not the same places.
        let [first, second] = [a, b].map(|r| e.lengths_reduced(r));
        if !few || first == second && ![a, b].iter().any(|r| e.asks_reduced(*r)) {
            return Some(false);
        }
        // Most that is not equal is not so unrolled, too.
        let left = e.fuel;
        let given = left.min(UNROLLING);
        e.fuel = given;
        let ends = e.unrolled(a).zip(e.unrolled(b));
        let equal = ends.and_then(|(a, b)| Self::equal_as_cut(e, dtype, a, b));
        e.fuel = left.saturating_sub(given.saturating_sub(e.fuel));
        Some(equal == Some(true))
    }

    /// Returns whether two expressions are equal over the reals wherever each condition, and each comparison that a bound is, is what it may be of numbers:
    /// every NaN of the first, and each that turns a comparison of the second alone, is one of the second.
    pub fn equal_by_signs(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<bool> {
        let reductions = [a, b].map(|r| e.below(r).into_iter().filter(|id| e.is_reduction(*id)).count());
        // Where one side names each place: what is NaN stays NaN.
        let (a, b) = match reductions.first() == reductions.last() {
            true => (a, b),
            false => (e.unrolled(a)?, e.unrolled(b)?),
        };
        let holds = |found: Option<bool>| found == Some(true);
        let shown = Self::numbers_shown(e, a, b)?;
        let (bare_a, bare_b) = (e.with_truths(a, &shown)?, e.with_truths(b, &shown)?);
        let (bare_a, bare_b) = (e.labels_apart(bare_a)?, e.labels_apart(bare_b)?);
        let asks = (bare_a, bare_b) != (a, b);
        let bends = asks || Self::has_signs(e, &[a, b]) || Self::chooses_by_order(e, &[a, b]);
        if !bends || !holds(hides_no_nan(e, a, b)) || !holds(is_turned_by_no_nan(e, a, b)) {
            return Some(false);
        }
        let shows = shows_what_turns(e, b)?;
        let (a, b) = (bare_a, bare_b);
        if asks && holds(Self::same_value(e, dtype, a, b)) {
            return Some(true);
        }
        let (a, b) = (Self::as_choices(e, dtype, a)?, Self::as_choices(e, dtype, b)?);
        let equal = |e: &mut Elements, a, b| Self::same_value(e, dtype, a, b) == Some(true);
        if e.equal_by_cases((a, b), SIGNS, &mut |e, a, b| equal(e, a, b)) {
            return Some(true);
        }
        // Where no NaN turns any comparison but shows, no case of NaN is left.
        if shows {
            let before = std::mem::replace(&mut e.numbers_alone, true);
            let alike = e.equal_by_cases((a, b), SIGNS, &mut |e, a, b| equal(e, a, b));
            e.numbers_alone = before;
            if alike {
                return Some(true);
            }
        }
        // Two sums over the same places are one where what is summed is, at each place.
        let (Some((x, over)), Some((y, same))) = (e.without_sum(a)?, e.without_sum(b)?) else { return Some(false) };
        if over != same {
            return Some(false);
        }
        e.within.push(over);
        let alike = e.equal_by_cases((x, y), SIGNS, &mut |e, a, b| equal(e, a, b));
        e.within.pop();
        Some(alike)
    }

    /// Returns which floats of two elements are asked whether they equal themselves of which the first element shows every NaN: where one is none, so is the element.
    fn numbers_shown(e: &mut Elements, a: ExprId, b: ExprId) -> Option<Vec<(ExprId, bool)>> {
        let mut asked: Vec<(ExprId, ExprId)> = Vec::new();
        for id in [a, b].into_iter().flat_map(|root| e.below(root)) {
            if let Some((Op::Eq, [x, y])) = e.op_of(id)
                && x == y
                && e.dtype(*x).is_some_and(|d| d.is_float())
            {
                asked.push((id, *x));
            }
        }
        asked.sort_unstable();
        asked.dedup();
        let mut out = Vec::new();
        for (truth, of) in asked {
            if shows_every_nan(e, of, a)? {
                out.push((truth, true));
            }
        }
        Some(out)
    }

    /// Returns an expression in which bounds and magnitudes are choices.
    fn as_choices(e: &mut Elements, dtype: Dtype, root: ExprId) -> Option<ExprId> {
        let mut known: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in e.below(root) {
            e.spend(4)?;
            let expr = e.expr(id)?.clone();
            let kids: Vec<ExprId> = expr.kids.iter().map(|k| known.get(k).copied().unwrap_or(*k)).collect();
            let float = expr.dtype.is_float();
            let zero = if float { e.rounded(expr.dtype, 0.0) } else { None };
            let made = match (&expr.form, kids.as_slice()) {
                (Form::Op(Op::Max | Op::AtLeast), [a, b]) if float => Self::chosen(e, dtype, *a, *b)?,
                (Form::Op(Op::Min | Op::AtMost), [a, b]) if float => Self::chosen_less(e, dtype, *a, *b)?,
                (Form::Op(Op::Choose), [c, a, b]) if float => match Self::soft_of(e, dtype, [*c, *a, *b])? {
                    Some(soft) => soft,
                    None => Self::without_edge(e, &expr, [*c, *a, *b])?,
                },
                (Form::Op(Op::Abs), [a]) if float => {
                    let minus = e.op(Op::Neg, expr.dtype, &[*a])?;
                    Self::chosen(e, dtype, *a, minus)?
                }
                (Form::Named(target, _), [a]) if float && real(target) == Some(Real::Relu) => {
                    Self::chosen(e, dtype, *a, zero?)?
                }
                _ if kids.as_slice() == expr.kids.as_slice() => id,
                _ => e.again(&expr, &kids)?,
            };
            known.insert(id, made);
        }
        known.get(&root).copied()
    }

    /// Returns the value of a choice that is a softplus, linear above a number: the one that bends.
    fn soft_of(e: &mut Elements, dtype: Dtype, [condition, a, b]: [ExprId; 3]) -> Option<Option<ExprId>> {
        let mut field = Field::new(e, dtype, &[condition, a, b], false);
        let (x, y) = (field.of(a)?, field.of(b)?);
        let Some(soft) = field.softened(condition, &x, &y)? else { return Some(None) };
        Some(Some(if field.same(&soft, &x, &[])? { a } else { b }))
    }

    /// A choice by "at most" is one by "greater", the other way round, where both values are one at the number that is compared with.
    fn without_edge(e: &mut Elements, choice: &Expr, [condition, a, b]: [ExprId; 3]) -> Option<ExprId> {
        let compared = match e.op_of(condition) {
            Some((Op::Le, [p, q])) => Some((*p, *q)),
            _ => None,
        };
        if let Some((p, q)) = compared.filter(|_| Self::meets_where(e, condition, a, b) == Some(true)) {
            let greater = e.op(Op::Lt, Dtype::Bool, &[q, p])?;
            return e.op(Op::Choose, choice.dtype, &[greater, b, a]);
        }
        e.again(choice, &[condition, a, b])
    }

    fn chosen(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        Self::chosen_of(e, dtype, (a, b), false, BOUNDS)
    }

    fn chosen_less(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        Self::chosen_of(e, dtype, (a, b), true, BOUNDS)
    }

    /// The greater, or the lesser, of an expression and a number is that of each value which a choice has.
    fn chosen_of(e: &mut Elements, dtype: Dtype, (a, b): (ExprId, ExprId), less: bool, depth: usize) -> Option<ExprId> {
        let of = e.dtype(a)?;
        if let (Some((Op::Choose, [c, x, y])), Some(_), Some(depth)) = (e.op_of(a), e.float(b), depth.checked_sub(1)) {
            let (c, x, y) = (*c, *x, *y);
            let x = Self::chosen_of(e, dtype, (x, b), less, depth)?;
            let y = Self::chosen_of(e, dtype, (y, b), less, depth)?;
            return e.op(Op::Choose, of, &[c, x, y]);
        }
        let (above, opposite) = Self::greater(e, dtype, a, b)?;
        let (yes, no) = if opposite == less { (a, b) } else { (b, a) };
        e.op(Op::Choose, of, &[above, yes, no])
    }

    /// Returns whether the first is greater, or, opposite, the second, as a comparison of one element with a number where it is one: where both are
    /// equal it does not count.
    fn greater(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<(ExprId, bool)> {
        // What is above 0 where something else is.
        if e.float(b) == Some(0.0)
            && let Some(inner) = Self::signed_by(e, a)
            && e.float(inner).is_none()
        {
            return Self::greater(e, dtype, inner, b);
        }
        let mut field = Field::new(e, dtype, &[a, b], false);
        let (x, y) = (field.of(a)?, field.of(b)?);
        let over = field.plus(&x, &y, -1.0)?;
        let of = e.dtype(a)?;
        // Of two elements the one that was met first stands first.
        if let [p, q] = over.terms.as_slice()
            && let ([(Atom::Leaf(first), 1)], [(Atom::Leaf(second), 1)]) = (p.factors.as_slice(), q.factors.as_slice())
            && p.binders.is_empty()
            && q.binders.is_empty()
            && p.number == -q.number
            && [first, second].iter().all(|id| e.dtype(**id) == Some(of))
        {
            let (low, high) = (*first.min(second), *first.max(second));
            let above = if low == *first { p.number } else { q.number };
            return Some((e.op(Op::Lt, Dtype::Bool, &[high, low])?, above < 0.0));
        }
        let (mut leaf, mut number) = (None, 0.0);
        for term in &over.terms {
            match term.factors.as_slice() {
                [] if term.binders.is_empty() => number = term.number,
                [(Atom::Leaf(id), 1)] if term.binders.is_empty() && leaf.is_none() => leaf = Some((*id, term.number)),
                _ => return Some((e.op(Op::Lt, Dtype::Bool, &[b, a])?, false)),
            }
        }
        let at = leaf.map(|(_, by)| if number == 0.0 { 0.0 } else { -number / by });
        match (leaf, at) {
            (Some((id, by)), Some(at)) if e.dtype(id) == Some(of) && round(of, at) == Some(at) => {
                let at = e.rounded(of, at)?;
                Some((e.op(Op::Lt, Dtype::Bool, &[at, id])?, by < 0.0))
            }
            _ => Some((e.op(Op::Lt, Dtype::Bool, &[b, a])?, false)),
        }
    }

    /// Returns what has the sign of an expression: what is multiplied by a positive number, of which one less 1 is the exponential, or the like.
    fn signed_by(e: &Elements, id: ExprId) -> Option<ExprId> {
        let positive = |c: ExprId| e.float(c).is_some_and(|v| v > 0.0 && v.is_finite());
        let expr = e.expr(id)?;
        match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Mul | Op::Div), [x, c]) if positive(*c) => Some(*x),
            (Form::Op(Op::Mul), [c, x]) if positive(*c) => Some(*x),
            // Where the magnitude is 0, so is the product.
            (Form::Op(Op::Mul), [x, m]) | (Form::Op(Op::Mul), [m, x])
                if matches!(e.op_of(*m), Some((Op::Abs, _))) && e.float(*x).is_none() =>
            {
                Some(*x)
            }
            (Form::Named(target, _), [x]) => {
                matches!(real(target), Some(Real::Expm1 | Real::Tanh | Real::Erf | Real::Sinh)).then_some(*x)
            }
            _ => None,
        }
    }

    fn equal_as_cut(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<bool> {
        let mut complete = Some(());
        let equal = e.equal_by_cases((a, b), CASES, &mut |e, before, after| {
            let (a, b) = (before, after);
            let (Some(a), Some(b)) = (e.parted(a), e.parted(b)) else {
                complete = None;
                return false;
            };
            let mut same = Field::new(e, dtype, &[a, b], false).same_by_any(a, b);
            if same != Some(true) && Self::has_signs(e, &[a, b]) {
                same = Field::new(e, dtype, &[a, b], true).same_by_any(a, b).or(same);
            }
            if same != Some(true) && Self::has_tangents(e, &[a, b]) {
                let by_exponentials =
                    Field { tangents: true, ..Field::new(e, dtype, &[a, b], false) }.same_by_any(a, b);
                same = by_exponentials.or(same);
            }
            if same != Some(true) && Self::has_steps(e, &[a, b]) {
                same = Field { telescopes: true, ..Field::new(e, dtype, &[a, b], false) }.same_by_any(a, b).or(same);
            }
            complete = complete.and(same.map(|_| ()));
            let Some(shown) = e.parted_in_ranges(before).filter(|_| same == Some(true)) else { return false };
            // What is multiplied by 0 is left out of the second alone: its NaN is one more.
            [after, b].into_iter().any(|end| [before, shown].into_iter().any(|s| hides_no_nan(e, s, end) == Some(true)))
        });
        if equal { Some(true) } else { complete.map(|()| false) }
    }

    /// Returns whether two expressions are equal over the reals, whatever NaN does; `None` where that was too much work.
    pub fn same_value(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<bool> {
        let (a, b) = (e.parted(a)?, e.parted(b)?);
        let mut field = Field::new(e, dtype, &[a, b], false);
        field.assume_numbers()?;
        let (x, y) = (field.of(a)?, field.of(b)?);
        field.same(&x, &y, &[])
    }

    /// The same, reductions over the same source being cut where either begins or ends.
    pub fn same_value_in_parts(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> bool {
        let whole = Self::same_value(e, dtype, a, b) == Some(true);
        if whole || !e.cut_alike([a, b]) {
            return whole;
        }
        let cut = Self::same_value(e, dtype, a, b) == Some(true);
        e.boundaries.clear();
        cut
    }

    /// Whether a magnitude, or the greater or lesser of two, stands in any of these.
    fn has_signs(e: &Elements, roots: &[ExprId]) -> bool {
        roots.iter().flat_map(|r| e.below(*r)).any(|id| match e.expr(id).map(|x| &x.form) {
            Some(Form::Op(Op::Max | Op::Min | Op::AtLeast | Op::AtMost | Op::Abs)) => true,
            Some(Form::Named(target, _)) => real(target) == Some(Real::Relu),
            // A truth multiplies.
            Some(Form::Op(Op::Cast)) => {
                e.op_of(id).is_some_and(|(_, kids)| kids.iter().any(|k| e.dtype(*k) == Some(Dtype::Bool)))
            }
            _ => false,
        })
    }

    /// Whether a float is chosen in any of these by the order of two.
    fn chooses_by_order(e: &Elements, roots: &[ExprId]) -> bool {
        let floats = |p: &ExprId| e.dtype(*p).is_some_and(|d| d.is_float());
        let compares = |c: ExprId| matches!(e.op_of(c), Some((Op::Lt | Op::Le, [p, _])) if floats(p));
        let by_order = |id: ExprId| matches!(e.op_of(id), Some((Op::Choose, [c, ..])) if compares(*c));
        roots.iter().flat_map(|r| e.below(*r)).any(by_order)
    }

    /// Whether a hyperbolic tangent stands in any of these.
    fn has_tangents(e: &Elements, roots: &[ExprId]) -> bool {
        let is_one = |id: ExprId| match e.expr(id).map(|x| &x.form) {
            Some(Form::Named(target, _)) => real(target) == Some(Real::Tanh),
            _ => false,
        };
        roots.iter().flat_map(|r| e.below(*r)).any(is_one)
    }

    /// What is assumed to equal a number is that number.
    fn assume_numbers(&mut self) -> Option<()> {
        for (x, v) in self.e.assumed_numbers() {
            self.known.insert(x, Rc::new(Poly::number(v)?));
        }
        Some(())
    }

    /// Whether both are one as sums of products, or once multiplied by all that they are divided by.
    fn same_by_any(&mut self, a: ExprId, b: ExprId) -> Option<bool> {
        self.assume_numbers()?;
        let (x, y) = (self.of(a)?, self.of(b)?);
        if self.same(&x, &y, &[])? {
            return Some(true);
        }
        Some(self.is_nothing_cleared(&x, &y).unwrap_or(false))
    }

    pub(super) fn of(&mut self, root: ExprId) -> Option<Rc<Poly>> {
        for id in self.e.below(root) {
            if self.known.contains_key(&id) {
                continue;
            }
            self.e.spend(4)?;
            let expr = self.e.expr(id)?.clone();
            let made = self.one(id, &expr)?;
            let made = self.settled(made)?;
            self.known.insert(id, Rc::new(made));
        }
        self.known.get(&root).cloned()
    }

    pub(super) fn leaf(id: ExprId) -> Option<Poly> {
        Poly::atom(Atom::Leaf(id), 0)
    }

    pub(super) fn call(function: Function, kids: Vec<Rc<Poly>>) -> Option<Poly> {
        let depth = kids.iter().map(|k| k.depth).max().unwrap_or(0).checked_add(1)?;
        Poly::atom(Atom::Call(function, kids.into()), depth)
    }

    #[allow(clippy::cast_precision_loss)]
    fn one(&mut self, id: ExprId, expr: &Expr) -> Option<Poly> {
        let kids: Vec<Rc<Poly>> = match expr.form {
            Form::Load(..) => Vec::new(),
            _ => expr.kids.iter().map(|k| self.known.get(k).cloned()).collect::<Option<_>>()?,
        };
        if let Some(dtype) = self.ring {
            return self.ring_one(dtype, id, expr, &kids);
        }
        match &expr.form {
            Form::Const(v) if expr.dtype.is_float() => Poly::number(f64::from_bits(v.cast_unsigned())),
            Form::Const(v) => Poly::number(*v as f64),
            Form::Number(bits) => Poly::number(f64::from_bits(*bits)),
            Form::Op(op) => self.operator(*op, id, expr, &kids),
            Form::Named(target, _) => self.named(target, expr, kids),
            Form::Reduce(fold, level, sizes) => self.reduced(*fold, *level, sizes, id, expr, &kids),
            Form::Index(i) => self.place_of(*i, id),
            Form::Poly(products) if self.e.integers_of(id).is_some() => {
                // A sum of integers that surely does not wrap around.
                let (mut out, mut kids) = (Poly::default(), kids.into_iter());
                for (count, by) in products.iter() {
                    let mut product = Poly::number(1.0)?;
                    for kid in kids.by_ref().take(*count as usize) {
                        product = self.times(&product, &kid)?;
                    }
                    out = self.plus(&out, &product, *by as f64)?;
                }
                Some(out)
            }
            _ => Self::leaf(id),
        }
    }

    /// An index is a sum of places, as a number.
    #[allow(clippy::cast_precision_loss)]
    fn place_of(&mut self, index: IndexId, id: ExprId) -> Option<Poly> {
        let sum = self.e.linear(index).clone();
        if sum.terms.is_empty() && sum.offset().fixed().is_none() {
            return self.size_as_sum(sum.offset());
        }
        let numbers: Option<Vec<i64>> = sum.terms.iter().map(|(_, by)| by.fixed()).collect();
        let (Some(numbers), Some(offset)) = (numbers, sum.offset().fixed()) else { return Self::leaf(id) };
        let small = |n: &i64| n.unsigned_abs() < 1 << 40;
        if sum.terms.iter().any(|(p, _)| matches!(p, Place::Data(_))) || !numbers.iter().all(small) || !small(&offset) {
            return Self::leaf(id);
        }
        let mut out = Poly::number(offset as f64)?;
        for ((place, _), by) in sum.terms.iter().zip(numbers) {
            let at = self.e.place(*place);
            let one = self.e.index_value(Dtype::I64, at)?;
            let one = Self::leaf(one)?;
            out = self.plus(&out, &one, by as f64)?;
        }
        Some(out)
    }

    /// A magnitude: those of the factors of a single product, with one number in front.
    pub(super) fn magnitude(&mut self, p: &Poly) -> Option<Poly> {
        let lead = p.terms.iter().map(|t| t.number.abs()).fold(0.0_f64, f64::max);
        if lead <= 0.0 {
            return Some(Poly::default());
        }
        if let [term] = p.terms.as_slice()
            && term.binders.is_empty()
        {
            let mut out = Poly::number(lead)?;
            for (atom, exponent) in &term.factors {
                let plain = matches!(atom, Atom::Call(Function::Exp | Function::Sqrt, _)) || Self::is_magnitude(atom);
                let inner = Rc::new(Poly::atom(atom.clone(), p.depth)?);
                let one = if plain || exponent.checked_rem(2)? == 0 {
                    (*inner).clone()
                } else {
                    Self::call(Function::Other(Form::Op(Op::Abs), Dtype::F64), vec![inner])?
                };
                let mut one = one;
                one.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = *exponent);
                out = self.times(&out, &one)?;
            }
            return Some(out);
        }
        let scaled = self.plus(&Poly::default(), p, 1.0 / lead)?;
        let one = Self::call(Function::Other(Form::Op(Op::Abs), Dtype::F64), vec![Rc::new(scaled)])?;
        self.plus(&Poly::default(), &one, lead)
    }

    fn is_magnitude(atom: &Atom) -> bool {
        matches!(atom, Atom::Call(Function::Other(Form::Op(Op::Abs), _), _))
    }

    fn operator(&mut self, op: Op, id: ExprId, expr: &Expr, kids: &[Rc<Poly>]) -> Option<Poly> {
        let other = || Self::call(Function::Other(expr.form.clone(), expr.dtype), kids.to_vec());
        if !expr.dtype.is_float() {
            // Integers wrap around: a ring of their own.
            let floats = expr.kids.iter().any(|k| self.e.dtype(*k).is_some_and(Dtype::is_float));
            return match (op, kids) {
                _ if floats => other(),
                // Numbers of which there are none that wrap around.
                (Op::Cast, [a]) if self.e.integers_of(id).is_some() => Some((**a).clone()),
                (Op::Max | Op::AtLeast, [a, b]) if expr.dtype != Dtype::Bool && self.e.integers_of(id).is_some() => {
                    self.greatest(&[a.clone(), b.clone()])
                }
                (Op::Not, [a]) if expr.dtype == Dtype::Bool => {
                    let one = Poly::number(1.0)?;
                    self.plus(&one, a, -1.0)
                }
                (Op::And | Op::Or | Op::Xor, [a, b])
                    if expr.dtype == Dtype::Bool && !expr.kids.iter().any(|k| self.asks_index(*k)) =>
                {
                    match self.of_truths(op, a, b)? {
                        Some(truth) => Some(truth),
                        None => Self::leaf(id),
                    }
                }
                _ => Self::leaf(id),
            };
        }
        match (op, kids) {
            (Op::Add, [a, b]) => self.plus(a, b, 1.0),
            (Op::Sub, [a, b]) => self.plus(a, b, -1.0),
            (Op::Neg, [a]) => self.plus(&Poly::default(), a, -1.0),
            (Op::Mul, [a, b]) => self.times(a, b),
            (Op::Div, [a, b]) => {
                let inverse = self.power(b, -1)?;
                self.times(a, &inverse)
            }
            (Op::Max | Op::AtLeast, [a, b]) => self.greatest(&[a.clone(), b.clone()]),
            (Op::Min | Op::AtMost, [a, b]) => {
                let (a, b) = (self.plus(&Poly::default(), a, -1.0)?, self.plus(&Poly::default(), b, -1.0)?);
                let most = self.greatest(&[Rc::new(a), Rc::new(b)])?;
                self.plus(&Poly::default(), &most, -1.0)
            }
            (Op::Cast, [a]) => {
                let of_float = expr.kids.first().and_then(|k| self.e.dtype(*k)).is_some_and(Dtype::is_float);
                let wider = self.e.wider && of_float && keeps_order(expr.dtype);
                if wider || self.e.is_kept(expr)? { Some((**a).clone()) } else { other() }
            }
            (Op::Abs, [a]) => {
                let a = a.clone();
                self.magnitude(&a)
            }
            // A truth is 1 or 0.
            (Op::Choose, [_, a, b]) if self.telescopes && (a.terms.is_empty() || b.terms.is_empty()) => {
                let truth = self.stepped(*expr.kids.first()?)?;
                let (one, value) = (Poly::number(1.0)?, if b.terms.is_empty() { a } else { b });
                let truth = if b.terms.is_empty() { truth } else { self.plus(&one, &truth, -1.0)? };
                self.times(&truth, value)
            }
            (Op::Choose, [c, a, b]) if b.terms.is_empty() && !c.terms.is_empty() => self.times(c, a),
            // So is the opposite of one of an index.
            (Op::Choose, [_, a, b]) if a.terms.is_empty() && self.is_of_index(*expr.kids.first()?) => {
                let other = self.e.op(Op::Not, Dtype::Bool, &[*expr.kids.first()?])?;
                let other = Self::leaf(other)?;
                self.times(&other, b)
            }
            // Whichever it is.
            (Op::Choose, [_, a, b]) if self.same(a, b, &[])? => Some((**a).clone()),
            (Op::Choose, [c, a, b]) => match self.softened(*expr.kids.first()?, a, b)? {
                Some(soft) => Some(soft),
                None => self.choice(expr, c, a, b),
            },
            _ => other(),
        }
    }

    /// Whether a truth, or its opposite, is one of an index.
    fn asks_index(&self, truth: ExprId) -> bool {
        match self.e.op_of(truth) {
            Some((Op::Not, [inner])) => self.is_of_index(*inner),
            _ => self.is_of_index(truth),
        }
    }

    /// What holds of two truths, as a number: of both it is their product, of either their sum without that, of one alone their sum without it twice;
    /// `None` where that has many products.
    pub(super) fn of_truths(&mut self, op: Op, a: &Poly, b: &Poly) -> Option<Option<Poly>> {
        if a.terms.len().saturating_mul(b.terms.len()) > TRUTHS {
            return Some(None);
        }
        let both = self.times(a, b)?;
        let sum = self.plus(a, b, 1.0)?;
        match op {
            Op::And => Some(Some(both)),
            Op::Or => self.plus(&sum, &both, -1.0).map(Some),
            Op::Xor => self.plus(&sum, &both, -2.0).map(Some),
            _ => Some(None),
        }
    }

    fn is_of_index(&self, condition: ExprId) -> bool {
        matches!(self.e.expr(condition).map(|x| &x.form), Some(Form::AtLeastZero(_) | Form::IsZero(_)))
    }

    pub(super) fn reduced(
        &mut self,
        fold: Fold,
        level: u32,
        sizes: &[Dim],
        id: ExprId,
        expr: &Expr,
        kids: &[Rc<Poly>],
    ) -> Option<Poly> {
        let [body] = kids else { return None };
        let sums = fold == Fold::Sum
            && !expr.dtype.is_float()
            && (self.ring == Some(expr.dtype) || self.ring.is_none() && self.e.integers_of(id).is_some());
        let extremes = matches!(fold, Fold::Most | Fold::Least)
            && self.ring.is_none()
            && expr.dtype.is_integer()
            && self.e.integers_of(id).is_some();
        if !expr.dtype.is_float() && !sums && !extremes || matches!(fold, Fold::Any | Fold::Product) {
            return Self::leaf(id);
        }
        if let (Fold::Sum, true) = (fold, self.ring.is_none())
            && let Some(count) = self.counted(level, sizes, *expr.kids.first()?)?
        {
            return Some(count);
        }
        let mut binders = Binders::new();
        let mut inner = (**body).clone();
        for (k, size) in (0_u32..).zip(sizes) {
            let name = self.next;
            self.next = self.next.checked_add(1)?;
            inner = self.poly_renamed(&inner, level.checked_add(k)?, name)?;
            inner = self.forwards(inner, name, *size)?;
            self.split(&mut inner, name, *size, &mut binders)?;
        }
        match fold {
            Fold::Sum => self.summed(&inner, &binders),
            Fold::Most => self.most(&inner, &binders),
            _ => {
                let inner = self.plus(&Poly::default(), &inner, -1.0)?;
                let most = self.most(&inner, &binders)?;
                self.plus(&Poly::default(), &most, -1.0)
            }
        }
    }

    /// Returns how many of some truths hold that are added up as floats, where that is told without looking at each.
    fn counted(&mut self, level: u32, sizes: &[Dim], body: ExprId) -> Option<Option<Poly>> {
        let truth = match self.e.op_of(body) {
            Some((Op::Cast, [truth])) if self.e.dtype(body)?.is_float() => *truth,
            _ => return Some(None),
        };
        if self.e.dtype(truth) != Some(Dtype::Bool) {
            return Some(None);
        }
        let one = self.e.op(Op::Cast, Dtype::I64, &[truth])?;
        let count = self.e.reduced(Fold::Sum, level, sizes, one)?;
        if self.e.is_reduction(count) || self.e.integers_of(count).is_none() {
            return Some(None);
        }
        self.of(count).map(|p| Some((*p).clone()))
    }

    fn named(&mut self, target: &str, expr: &Expr, kids: Vec<Rc<Poly>>) -> Option<Poly> {
        let (Some(function), [x]) = (real(target).filter(|_| expr.dtype.is_float()), kids.as_slice()) else {
            return Self::call(Function::Other(expr.form.clone(), expr.dtype), kids);
        };
        let x = x.clone();
        let one = Poly::number(1.0)?;
        match function {
            Real::Exp => self.exp(&x),
            Real::Exp2 => {
                let scaled = self.plus(&Poly::default(), &x, std::f64::consts::LN_2)?;
                self.exp(&scaled)
            }
            Real::Expm1 => {
                let exp = self.exp(&x)?;
                self.plus(&exp, &one, -1.0)
            }
            Real::Log => self.log(&x),
            Real::Log1p => {
                let more = self.plus(&x, &one, 1.0)?;
                self.log(&more)
            }
            Real::Sqrt => self.sqrt(&x),
            Real::Rsqrt => {
                let root = self.sqrt(&x)?;
                self.power(&root, -1)
            }
            Real::Reciprocal => self.power(&x, -1),
            Real::Sigmoid => self.sigmoid(&x),
            Real::Silu => {
                let sigmoid = self.sigmoid(&x)?;
                self.times(&x, &sigmoid)
            }
            Real::Relu => {
                let zero = Rc::new(Poly::default());
                self.greatest(&[x, zero])
            }
            Real::Square => self.times(&x, &x),
            Real::Sinh | Real::Cosh => {
                let minus = self.plus(&Poly::default(), &x, -1.0)?;
                let (up, down) = (self.exp(&x)?, self.exp(&minus)?);
                let twice = self.plus(&up, &down, if function == Real::Cosh { 1.0 } else { -1.0 })?;
                self.plus(&Poly::default(), &twice, 0.5)
            }
            Real::Tanh if self.tangents => {
                let twice = self.plus(&x, &x, 1.0)?;
                let sigmoid = self.sigmoid(&twice)?;
                let minus = self.plus(&Poly::default(), &one, -1.0)?;
                self.plus(&minus, &sigmoid, 2.0)
            }
            Real::Erfc => {
                let erf = self.odd_or_even(Real::Erf, &x)?;
                self.plus(&one, &erf, -1.0)
            }
            Real::Tan => {
                let (over, under) = (self.odd_or_even(Real::Sin, &x)?, self.odd_or_even(Real::Cos, &x)?);
                let inverse = self.power(&under, -1)?;
                self.times(&over, &inverse)
            }
            Real::Sin | Real::Cos => self.of_angle(function, &x),
            Real::Tanh | Real::Erf => self.odd_or_even(function, &x),
        }
    }

    /// Of a sum of few angles `sin(x + y)` is `sin(x) * cos(y) + cos(x) * sin(y)`, `cos(x + y)` is `cos(x) * cos(y) - sin(x) * sin(y)`.
    fn of_angle(&mut self, function: Real, x: &Rc<Poly>) -> Option<Poly> {
        let [first, rest @ ..] = x.terms.as_slice() else { return self.odd_or_even(function, x) };
        if rest.is_empty() && DOUBLED.contains(&first.number.abs()) {
            return self.of_double(function, x);
        }
        if rest.is_empty() || rest.len() >= ANGLES {
            return self.odd_or_even(function, x);
        }
        let first = Rc::new(Poly { terms: vec![first.clone()], depth: x.depth });
        let rest = Rc::new(Poly { terms: rest.to_vec(), depth: x.depth });
        let other = if function == Real::Sin { Real::Cos } else { Real::Sin };
        let (a, b) = (self.of_part(function, &first)?, self.of_part(Real::Cos, &rest)?);
        let (c, d) = (self.of_part(other, &first)?, self.of_part(Real::Sin, &rest)?);
        let (same, turned) = (self.times(&a, &b)?, self.times(&c, &d)?);
        self.plus(&same, &turned, if function == Real::Sin { 1.0 } else { -1.0 })
    }

    /// Of a part of an angle: of a number that is as near to quarters of a turn as these rounded are it is what it is of those, since the whole is rounded no less.
    fn of_part(&mut self, function: Real, x: &Rc<Poly>) -> Option<Poly> {
        let Some(turns) = x.as_number().map(|v| v / std::f64::consts::FRAC_PI_2) else {
            return self.of_angle(function, x);
        };
        let whole = turns.round();
        let near = (turns - whole).abs() <= unit(self.dtype).min(unit(Dtype::F32)) * whole.abs();
        if !near || !(1.0..=QUARTERS).contains(&whole.abs()) {
            return self.odd_or_even(function, x);
        }
        let quarter = if function == Real::Sin { whole } else { whole + 1.0 };
        let quarter = quarter.rem_euclid(4.0);
        Poly::number(if quarter == 1.0 {
            1.0
        } else if quarter == 3.0 {
            -1.0
        } else {
            0.0
        })
    }

    /// `sin(2 * x)` is `2 * sin(x) * cos(x)`, `cos(2 * x)` is `1 - 2 * sin(x) * sin(x)`.
    fn of_double(&mut self, function: Real, x: &Rc<Poly>) -> Option<Poly> {
        let half = Rc::new(self.plus(&Poly::default(), x, 0.5)?);
        let sine = self.of_angle(Real::Sin, &half)?;
        let other = if function == Real::Sin { self.of_angle(Real::Cos, &half)? } else { sine.clone() };
        let product = self.times(&sine, &other)?;
        match function {
            Real::Sin => self.plus(&Poly::default(), &product, 2.0),
            _ => {
                let one = Poly::number(1.0)?;
                self.plus(&one, &product, -2.0)
            }
        }
    }

    /// A function that a sign passes through, or is lost in.
    pub(super) fn odd_or_even(&mut self, function: Real, x: &Rc<Poly>) -> Option<Poly> {
        if x.terms.is_empty() {
            return Poly::number(if function == Real::Cos { 1.0 } else { 0.0 });
        }
        let form = Form::Named(target(function).into(), Box::new([Token::Child]));
        let form = Function::Other(form, Dtype::F64);
        if !matches!(x.terms.as_slice(), [one] if one.number < 0.0) {
            return Self::call(form, vec![x.clone()]);
        }
        let minus = Rc::new(self.plus(&Poly::default(), x, -1.0)?);
        let found = Self::call(form, vec![minus])?;
        if function == Real::Cos { Some(found) } else { self.plus(&Poly::default(), &found, -1.0) }
    }
}

impl Elements {
    /// Whether a conversion to a float gives the number that it is given, whatever that is.
    pub(in crate::rules) fn is_kept(&mut self, cast: &Expr) -> Option<bool> {
        let inner = *cast.kids.first()?;
        let from = self.dtype(inner)?;
        // A size, not a place: how often something is summed is rounded alike wherever it is counted.
        let counts = matches!(self.expr(inner)?.form, Form::Index(i) if self.linear(i).terms.is_empty());
        let held = most_whole(cast.dtype).zip(self.integers_of(inner).filter(|_| !from.is_float()));
        let held = held.is_some_and(|(most, (low, high))| most.saturating_neg() <= low && high <= most);
        let keeps = loses_nothing(from, cast.dtype)
            || counts && matches!(cast.dtype, Dtype::F32 | Dtype::F64)
            || held
            || self.is_one_of(inner, cast.dtype);
        Some(keeps)
    }

    /// Whether every value that a float may have is one of a narrower dtype: some of those that were converted from it, or the opposite of one.
    pub(super) fn is_one_of(&self, root: ExprId, dtype: Dtype) -> bool {
        let mut open = vec![root];
        for _ in 0..64 {
            let Some(id) = open.pop() else { return true };
            let Some(expr) = self.expr(id).filter(|x| x.dtype.is_float()) else { return false };
            let number = self.float(id).is_some_and(|v| round(dtype, v) == Some(v));
            match (&expr.form, expr.kids.as_slice()) {
                _ if number => {}
                (Form::Op(Op::Cast), [from]) if self.dtype(*from) == Some(dtype) => {}
                (Form::Op(Op::Max | Op::Min | Op::AtLeast | Op::AtMost | Op::Neg | Op::Abs), kids)
                | (Form::Op(Op::Choose), [_, kids @ ..])
                | (Form::Reduce(Fold::Most | Fold::Least, ..), kids) => open.extend(kids),
                _ => return false,
            }
        }
        false
    }

    /// Returns the number by which an expression divides a reduced dimension, where that goes without rest.
    pub fn divisor_of(&mut self, id: ExprId, name: u32) -> Option<Dim> {
        self.places_below(id).into_iter().find_map(|p| {
            let (Place::Div(i, by) | Place::Mod(i, by)) = p else { return None };
            let sum = self.linear(i);
            let ([(Place::Bound(level, size), one)], None) = (sum.terms.as_slice(), sum.constant) else { return None };
            let (own, size) = (*level == name && one.fixed() == Some(1), *size);
            let divides = own && self.exactly(size, by).is_some_and(|times| times != Dim::Fixed(1));
            (divides && by != Dim::Fixed(1)).then_some(by)
        })
    }
}
