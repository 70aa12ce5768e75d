//! Elements as sums of products.
//!
//! Promises: what is made equals the expression over the reals wherever both are defined; children first, no recursion on depth.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::definedness::hides_no_nan;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op};
use crate::rules::element::cast::{loses_nothing, most_whole, round};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::field::poly::{Atom, Binders, Function, Poly};
use crate::rules::table::{Real, real};

/// Names from here on are none of the arena's own.
const FRESH: u32 = 1 << 20;

/// How many conditions may be split, one within another.
const CASES: usize = 4;
/// How many where bounds and magnitudes are choices: one comparison with a number often decides others.
const SIGNS: usize = 8;

/// Of how many the greatest may be one thing.
const WIDEST: usize = 6;

/// Expressions over the reals.
pub struct Field<'e> {
    pub(super) e: &'e mut Elements,
    /// The dtype of the ends: how near numbers must be.
    pub(super) dtype: Dtype,
    pub(super) next: u32,
    /// Whether the greater of two is written by the magnitude of their difference.
    signs: bool,
    /// Whether a hyperbolic tangent is written by exponentials.
    tangents: bool,
    /// Whether a float is taken as the number that a choice compares it with: no choice within is looked at in that way.
    meets: bool,
    /// Whether a condition that an index is at least 0 is the one less that it is at least 1, and that it is 0.
    pub(super) telescopes: bool,
    /// The dtype of integers whose sums of products are taken as those of whole numbers, nothing else being looked into.
    ring: Option<Dtype>,
    known: FxHashMap<ExprId, Rc<Poly>>,
}

impl<'e> Field<'e> {
    fn new(e: &'e mut Elements, dtype: Dtype, signs: bool) -> Self {
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
        Field { ring: Some(dtype), ..Field::new(e, Dtype::F64, false) }
    }
}

impl Field<'_> {
    /// Returns whether two expressions of one dtype are equal over the reals, and no NaN that reaches the first is hidden from the second; `None`
    /// where that was too much work.
    pub fn equal(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<bool> {
        e.boundaries.clear();
        let whole = Self::equal_as_cut(e, dtype, a, b);
        if whole == Some(true) {
            return whole;
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

    /// Returns whether two expressions are equal over the reals wherever each condition, and each comparison that a bound is, is what it may be.
    pub fn equal_by_signs(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<bool> {
        if !Self::has_signs(e, &[a, b]) || hides_no_nan(e, a, b) != Some(true) {
            return Some(false);
        }
        let (a, b) = (Self::as_choices(e, dtype, a)?, Self::as_choices(e, dtype, b)?);
        let equal = |e: &mut Elements, a, b| Self::same_value(e, dtype, a, b) == Some(true);
        if e.equal_by_cases((a, b), SIGNS, &mut |e, a, b| equal(e, a, b)) {
            return Some(true);
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
                    None => e.again(&expr, &kids)?,
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
        let mut field = Field::new(e, dtype, false);
        let (x, y) = (field.of(a)?, field.of(b)?);
        let Some(soft) = field.softened(condition, &x, &y)? else { return Some(None) };
        Some(Some(if field.same(&soft, &x, &[])? { a } else { b }))
    }

    fn chosen(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        let (above, opposite) = Self::greater(e, dtype, a, b)?;
        let of = e.dtype(a)?;
        let (yes, no) = if opposite { (b, a) } else { (a, b) };
        e.op(Op::Choose, of, &[above, yes, no])
    }

    fn chosen_less(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        let (above, opposite) = Self::greater(e, dtype, a, b)?;
        let of = e.dtype(a)?;
        let (yes, no) = if opposite { (a, b) } else { (b, a) };
        e.op(Op::Choose, of, &[above, yes, no])
    }

    /// Returns whether the first is greater, or, opposite, the second, as a comparison of one element with a number where it is one: where both are
    /// equal it does not count.
    fn greater(e: &mut Elements, dtype: Dtype, a: ExprId, b: ExprId) -> Option<(ExprId, bool)> {
        let mut field = Field::new(e, dtype, false);
        let (x, y) = (field.of(a)?, field.of(b)?);
        let over = field.plus(&x, &y, -1.0)?;
        let (mut leaf, mut number) = (None, 0.0);
        for term in &over.terms {
            match term.factors.as_slice() {
                [] if term.binders.is_empty() => number = term.number,
                [(Atom::Leaf(id), 1)] if term.binders.is_empty() && leaf.is_none() => leaf = Some((*id, term.number)),
                _ => return Some((e.op(Op::Lt, Dtype::Bool, &[b, a])?, false)),
            }
        }
        let of = e.dtype(a)?;
        let at = leaf.map(|(_, by)| if number == 0.0 { 0.0 } else { -number / by });
        match (leaf, at) {
            (Some((id, by)), Some(at)) if e.dtype(id) == Some(of) && round(of, at) == Some(at) => {
                let at = e.rounded(of, at)?;
                Some((e.op(Op::Lt, Dtype::Bool, &[at, id])?, by < 0.0))
            }
            _ => Some((e.op(Op::Lt, Dtype::Bool, &[b, a])?, false)),
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
            let mut same = Field::new(e, dtype, false).same_by_any(a, b);
            if same != Some(true) && Self::has_signs(e, &[a, b]) {
                same = Field::new(e, dtype, true).same_by_any(a, b).or(same);
            }
            if same != Some(true) && Self::has_tangents(e, &[a, b]) {
                let by_exponentials = Field { tangents: true, ..Field::new(e, dtype, false) }.same_by_any(a, b);
                same = by_exponentials.or(same);
            }
            if same != Some(true) && Self::has_steps(e, &[a, b]) {
                same = Field { telescopes: true, ..Field::new(e, dtype, false) }.same_by_any(a, b).or(same);
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
        let mut field = Field::new(e, dtype, false);
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
            _ => false,
        })
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

    fn call(function: Function, kids: Vec<Rc<Poly>>) -> Option<Poly> {
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
    fn magnitude(&mut self, p: &Poly) -> Option<Poly> {
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
                let from = self.e.dtype(*expr.kids.first()?)?;
                let few = matches!(self.e.expr(*expr.kids.first()?)?.form, Form::Index(_));
                let inner = *expr.kids.first()?;
                let held = most_whole(expr.dtype).zip(self.e.integers_of(inner).filter(|_| !from.is_float()));
                let held = held.is_some_and(|(most, (low, high))| most.saturating_neg() <= low && high <= most);
                let keeps = loses_nothing(from, expr.dtype)
                    || few && matches!(expr.dtype, Dtype::F32 | Dtype::F64)
                    || held
                    || self.e.is_one_of(inner, expr.dtype);
                if keeps { Some((**a).clone()) } else { other() }
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

    fn is_of_index(&self, condition: ExprId) -> bool {
        matches!(self.e.expr(condition).map(|x| &x.form), Some(Form::AtLeastZero(_) | Form::IsZero(_)))
    }

    /// A choice: one number in front of both, and, where both are one at the number that is compared with, the comparison that leaves it out.
    fn choice(&mut self, expr: &Expr, c: &Rc<Poly>, a: &Rc<Poly>, b: &Rc<Poly>) -> Option<Poly> {
        let numbers = |p: &Poly| p.terms.iter().map(|t| t.number.abs()).fold(0.0_f64, f64::max);
        let lead = numbers(a).max(numbers(b));
        if lead <= 0.0 || !lead.is_finite() {
            return Self::call(Function::Other(expr.form.clone(), expr.dtype), vec![c.clone(), a.clone(), b.clone()]);
        }
        let (mut yes, mut no) =
            (self.plus(&Poly::default(), a, 1.0 / lead)?, self.plus(&Poly::default(), b, 1.0 / lead)?);
        let mut truth = c.clone();
        let [condition, first, second] = expr.kids.as_slice() else { return None };
        if let Some((x, at, order)) = self.meets(*condition, *first, *second)? {
            let of = self.e.dtype(x)?;
            let at = self.e.rounded(of, at)?;
            let less = self.e.op(Op::Lt, Dtype::Bool, &[x, at])?;
            truth = self.of(less)?;
            if !order {
                std::mem::swap(&mut yes, &mut no);
            }
        }
        let form = Function::Other(expr.form.clone(), expr.dtype);
        let made = Self::call(form, vec![truth, Rc::new(yes), Rc::new(no)])?;
        self.plus(&Poly::default(), &made, lead)
    }

    /// Returns whether two values are one over the reals where the float that a condition compares with a number is that number.
    pub fn meets_where(e: &mut Elements, condition: ExprId, a: ExprId, b: ExprId) -> Option<bool> {
        let dtype = e.dtype(a)?;
        Field::new(e, dtype, false).meets(condition, a, b).map(|found| found.is_some())
    }

    /// Returns the float and the number that a condition compares, where two expressions are one once the float is that number, and whether the
    /// condition says that the float is the lesser one.
    fn meets(&mut self, condition: ExprId, a: ExprId, b: ExprId) -> Option<Option<(ExprId, f64, bool)>> {
        let Some((Op::Lt | Op::Le, [p, q])) = self.e.op_of(condition) else { return Some(None) };
        let (x, at, order) = match (self.e.float(*p), self.e.float(*q)) {
            (Some(at), None) => (*q, at, false),
            (None, Some(at)) => (*p, at, true),
            _ => return Some(None),
        };
        if self.meets || !at.is_finite() || round(self.e.dtype(x)?, at) != Some(at) {
            return Some(None);
        }
        // What has that magnitude is that number or its opposite.
        let within = match self.e.op_of(x) {
            Some((Op::Abs, [inner])) => Some(*inner),
            _ => None,
        };
        for sign in if within.is_some() { &[1.0, -1.0][..] } else { &[1.0] } {
            let mut there = Field { known: FxHashMap::default(), meets: true, e: &mut *self.e, ..*self };
            there.known.insert(x, Rc::new(Poly::number(at)?));
            if let Some(inner) = within {
                there.known.insert(inner, Rc::new(Poly::number(at * sign)?));
            }
            let (first, second) = (there.of(a)?, there.of(b)?);
            if !there.same(&first, &second, &[])? {
                return Some(None);
            }
        }
        Some(Some((x, at, order)))
    }

    /// Returns `log(1 + exp(z))` where a choice is that below a number, and `z` above it, where both round to one number.
    fn softened(&mut self, condition: ExprId, a: &Poly, b: &Poly) -> Option<Option<Poly>> {
        let Some((Op::Lt | Op::Le, [p, q])) = self.e.op_of(condition) else { return Some(None) };
        let (x, at) = match (self.e.float(*p), self.e.float(*q)) {
            (Some(at), None) => (*q, at),
            (None, Some(at)) => (*p, at),
            _ => return Some(None),
        };
        let high = at.abs();
        let half = if self.dtype == Dtype::F64 { 0.5_f64.powi(54) } else { 0.5_f64.powi(25) };
        if !high.is_finite() || high <= 1.0 || (-high).exp() > half * high {
            return Some(None);
        }
        // Below a negative number it is what falls that is linear.
        let (above, rises) = (x == *q, at > 0.0);
        let (a, b) = if above == rises { (a, b) } else { (b, a) };
        let x = self.of(x)?;
        let z = self.plus(&Poly::default(), &x, if rises { 1.0 } else { -1.0 })?;
        let one = Poly::number(1.0)?;
        let more = self.exp(&z)?;
        let more = self.plus(&more, &one, 1.0)?;
        let soft = self.log(&more)?;
        let lead = |p: &Poly| p.terms.first().map(|t| t.number);
        let (Some(k), Some(own)) = (lead(a), lead(&z)) else { return Some(None) };
        let (linear, soft) = (self.plus(&Poly::default(), &z, k / own)?, self.plus(&Poly::default(), &soft, k / own)?);
        Some((self.same(a, &linear, &[])? && self.same(b, &soft, &[])?).then_some(soft))
    }

    pub(super) fn reduced(
        &mut self,
        fold: Fold,
        level: u32,
        sizes: &[crate::sym::Dim],
        id: ExprId,
        expr: &Expr,
        kids: &[Rc<Poly>],
    ) -> Option<Poly> {
        let [body] = kids else { return None };
        let sums = fold == Fold::Sum
            && !expr.dtype.is_float()
            && (self.ring == Some(expr.dtype) || self.ring.is_none() && self.e.integers_of(id).is_some());
        if !expr.dtype.is_float() && !sums || matches!(fold, Fold::Any | Fold::Product) {
            return Self::leaf(id);
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

    fn named(&mut self, target: &str, expr: &Expr, kids: Vec<Rc<Poly>>) -> Option<Poly> {
        let (Some(function), [x]) = (real(target).filter(|_| expr.dtype.is_float()), kids.as_slice()) else {
            return Self::call(Function::Other(expr.form.clone(), expr.dtype), kids);
        };
        let x = x.clone();
        let one = Poly::number(1.0)?;
        match function {
            Real::Exp => self.exp(&x),
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
            Real::Tanh | Real::Erf | Real::Sin | Real::Cos => {
                // A sign passes through, or is lost.
                let negative = matches!(x.terms.as_slice(), [one] if one.number < 0.0);
                let form = Function::Other(expr.form.clone(), Dtype::F64);
                if !negative {
                    return Self::call(form, vec![x]);
                }
                let minus = Rc::new(self.plus(&Poly::default(), &x, -1.0)?);
                let found = Self::call(form, vec![minus])?;
                if function == Real::Cos { Some(found) } else { self.plus(&Poly::default(), &found, -1.0) }
            }
        }
    }

    /// The greatest of some: those that are greatest of others are these, each once, and a number that all have in front stands outside.
    fn greatest(&mut self, all: &[Rc<Poly>]) -> Option<Poly> {
        let mut each: Vec<Rc<Poly>> = Vec::new();
        for one in all {
            let within = match one.terms.as_slice() {
                [t] if t.binders.is_empty() && t.number > 0.0 => match t.factors.as_slice() {
                    [(Atom::Call(Function::Max, kids), 1)] => Some((t.number, kids.clone())),
                    _ => None,
                },
                _ => None,
            };
            let Some((number, kids)) = within else {
                each.push(one.clone());
                continue;
            };
            for kid in kids.iter() {
                each.push(Rc::new(self.plus(&Poly::default(), kid, number)?));
            }
        }
        let mut kept: Vec<Rc<Poly>> = Vec::new();
        'each: for one in each {
            for known in &kept {
                if self.same(known, &one, &[])? {
                    continue 'each;
                }
            }
            kept.push(one);
        }
        if let [one] = kept.as_slice() {
            return Some((**one).clone());
        }
        if let Some(found) = self.greatest_of_rounded(&kept)? {
            return Some(found);
        }
        if let (true, [a, b]) = (self.signs, kept.as_slice()) {
            let (a, b) = (a.clone(), b.clone());
            let (sum, apart) = (self.plus(&a, &b, 1.0)?, self.plus(&a, &b, -1.0)?);
            let apart = self.magnitude(&apart)?;
            let twice = self.plus(&sum, &apart, 1.0)?;
            return self.plus(&Poly::default(), &twice, 0.5);
        }
        let numbers = kept.iter().flat_map(|p| p.terms.iter().map(|t| t.number.abs()));
        let lead = numbers.fold(0.0_f64, f64::max);
        if kept.len() > WIDEST || lead <= 0.0 {
            return Self::call(Function::Max, kept);
        }
        let mut scaled = Vec::new();
        for one in &kept {
            scaled.push(Rc::new(self.plus(&Poly::default(), one, 1.0 / lead)?));
        }
        let most = Self::call(Function::Max, scaled)?;
        self.plus(&Poly::default(), &most, lead)
    }

    /// The greatest of what is rounded to one dtype, or is a number of it, is the greatest, rounded.
    fn greatest_of_rounded(&mut self, all: &[Rc<Poly>]) -> Option<Option<Poly>> {
        let mut to: Option<(Function, Dtype)> = None;
        let mut inner = Vec::new();
        for one in all {
            match (Self::rounded(one), one.as_number()) {
                (Some((function, dtype, kid, 1.0)), _) if to.as_ref().is_none_or(|(f, _)| *f == function) => {
                    to = Some((function, dtype));
                    inner.push(kid);
                }
                (None, Some(_)) => inner.push(one.clone()),
                _ => return Some(None),
            }
        }
        let Some((function, dtype)) = to else { return Some(None) };
        let held = |p: &Rc<Poly>| p.as_number().is_none_or(|v| round(dtype, v) == Some(v));
        if !all.iter().all(held) {
            return Some(None);
        }
        let most = self.greatest(&inner)?;
        Self::call(function, vec![Rc::new(most)]).map(Some)
    }

    /// Returns what is rounded to a float dtype, where a number times that is all, and the number, which is not negative.
    fn rounded(p: &Poly) -> Option<(Function, Dtype, Rc<Poly>, f64)> {
        let [term] = p.terms.as_slice() else { return None };
        let ([(Atom::Call(function @ Function::Other(Form::Op(Op::Cast), dtype), kids), 1)], true) =
            (term.factors.as_slice(), term.binders.is_empty())
        else {
            return None;
        };
        let kid = kids.first().filter(|_| dtype.is_float())?;
        if term.number >= 0.0 {
            return Some((function.clone(), *dtype, kid.clone(), term.number));
        }
        // Roundings are the same below 0.
        let mut minus = (**kid).clone();
        minus.terms.iter_mut().for_each(|t| t.number = -t.number);
        Some((function.clone(), *dtype, Rc::new(minus), -term.number))
    }

    /// The greatest over dimensions: what does not depend on them is added outside; of the greatest of some it is the greatest of theirs.
    fn most(&mut self, inner: &Poly, binders: &Binders) -> Option<Poly> {
        if binders.is_empty() {
            return Some(inner.clone());
        }
        let (mut within, mut beside) = (Poly::default(), Poly::default());
        (within.depth, beside.depth) = (inner.depth, inner.depth);
        for term in &inner.terms {
            let depends = term.factors.iter().any(|(a, _)| self.names_any(a, binders));
            if depends { within.terms.push(term.clone()) } else { beside.terms.push(term.clone()) }
        }
        if let Some((function, _, inner, number)) = Self::rounded(&within) {
            let most = self.most(&inner, binders)?;
            let found = Self::call(function, vec![Rc::new(most)])?;
            return self.plus(&beside, &found, number);
        }
        let greatest = match within.terms.as_slice() {
            [] => return Some(beside),
            [t] if t.binders.is_empty() && t.number > 0.0 => match t.factors.as_slice() {
                [(Atom::Call(Function::Max, kids), 1)] => Some((t.number, kids.clone())),
                // The greatest magnitude is that of the greatest or of the least.
                [(Atom::Call(Function::Other(Form::Op(Op::Abs), _), kids), 1)] => {
                    let (number, inner) = (t.number, kids.first()?.clone());
                    let minus = self.plus(&Poly::default(), &inner, -1.0)?;
                    Some((number, [inner, Rc::new(minus)].into()))
                }
                _ => None,
            },
            _ => None,
        };
        let found = match greatest {
            Some((number, kids)) => {
                let mut each = Vec::new();
                for kid in kids.iter() {
                    each.push(Rc::new(self.most(kid, binders)?));
                }
                let most = self.greatest(&each)?;
                self.plus(&Poly::default(), &most, number)?
            }
            None => {
                let lead = within.terms.iter().map(|t| t.number.abs()).fold(0.0_f64, f64::max);
                let scaled = self.plus(&Poly::default(), &within, 1.0 / lead)?;
                let mut used = binders.clone();
                used.retain(|b| scaled.terms.iter().any(|t| t.factors.iter().any(|(a, _)| self.names_any(a, &[*b]))));
                let most = Self::call(Function::Most(used), vec![Rc::new(scaled)])?;
                self.plus(&Poly::default(), &most, lead)?
            }
        };
        self.plus(&found, &beside, 1.0)
    }

    /// `1 / (1 + exp(-x))`.
    fn sigmoid(&mut self, x: &Poly) -> Option<Poly> {
        let minus = self.plus(&Poly::default(), x, -1.0)?;
        let exp = self.exp(&minus)?;
        let one = Poly::number(1.0)?;
        let below = self.plus(&one, &exp, 1.0)?;
        self.power(&below, -1)
    }

    /// One number in front.
    fn sqrt(&mut self, x: &Poly) -> Option<Poly> {
        let lead = x.terms.iter().map(|t| t.number).fold(0.0_f64, |m, v| if v.abs() > m.abs() { v } else { m });
        if lead <= 0.0 {
            return Self::call(Function::Sqrt, vec![Rc::new(x.clone())]);
        }
        let inner = self.plus(&Poly::default(), x, 1.0 / lead)?;
        let root = Self::call(Function::Sqrt, vec![Rc::new(inner)])?;
        self.plus(&Poly::default(), &root, lead.sqrt())
    }

    /// A product: one exponential for each product of the sum.
    #[allow(clippy::cast_possible_truncation)]
    fn exp(&mut self, x: &Poly) -> Option<Poly> {
        let mut out = Poly::number(1.0)?;
        for term in &x.terms {
            if term.factors.is_empty() && term.binders.is_empty() {
                out = self.plus(&Poly::default(), &out, term.number.exp())?;
                continue;
            }
            let whole = term.number.fract() == 0.0 && term.number.abs() <= 8.0;
            let exponent = if whole { term.number as i32 } else { 1 };
            let mut inner = term.clone();
            if whole {
                (inner.number, inner.scale) = (1.0, 1.0);
            }
            // The exponential of a logarithm.
            let alone = match inner.factors.as_slice() {
                [(Atom::Call(Function::Log, kids), 1)] if whole && inner.binders.is_empty() => kids.first().cloned(),
                _ => None,
            };
            let factor = match alone {
                Some(of) => self.power(&of, exponent)?,
                None => {
                    let inner = Rc::new(Poly { terms: vec![inner], depth: x.depth });
                    let mut one = Self::call(Function::Exp, vec![inner])?;
                    one.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = exponent);
                    one
                }
            };
            out = self.times(&out, &factor)?;
        }
        Some(out)
    }

    /// Returns a sum as what all of its products have in common of exponentials, and what is left: none of these has a negative power there.
    pub(super) fn without_common_exponentials(&mut self, x: &Poly) -> Option<(Vec<(Atom, i32)>, Poly)> {
        let mut all: Vec<Atom> = Vec::new();
        for (atom, _) in x.terms.iter().flat_map(|t| &t.factors) {
            let is_one = matches!(atom, Atom::Call(Function::Exp, _));
            let mut known = !is_one;
            for other in &all {
                known = known || self.same_atom(other, atom, &[])?;
            }
            if !known {
                all.push(atom.clone());
            }
        }
        let (mut common, mut left) = (Vec::new(), x.clone());
        for atom in all {
            let mut least: Option<i32> = None;
            for term in &x.terms {
                // What a sum binds stays within it.
                if !term.binders.is_empty() && self.names_any(&atom, &term.binders) {
                    least = Some(0);
                    break;
                }
                let mut own = 0;
                for (other, exponent) in &term.factors {
                    if self.same_atom(other, &atom, &[])? {
                        own = *exponent;
                    }
                }
                least = Some(least.map_or(own, |l| l.min(own)));
            }
            let Some(least) = least.filter(|l| *l != 0) else { continue };
            let mut power = Poly::atom(atom.clone(), x.depth)?;
            power.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = least.saturating_neg());
            left = self.times(&left, &power)?;
            common.push((atom, least));
        }
        Some((common, left))
    }

    /// A sum: one logarithm for each factor of a product.
    fn log(&mut self, x: &Poly) -> Option<Poly> {
        let (common, left) = self.without_common_exponentials(x)?;
        let mut out = self.log_of_product(&left)?;
        for (atom, exponent) in common {
            let Atom::Call(Function::Exp, kids) = &atom else { return None };
            let inner = kids.first()?.clone();
            out = self.plus(&out, &inner, f64::from(exponent))?;
        }
        Some(out)
    }

    fn log_of_product(&mut self, x: &Poly) -> Option<Poly> {
        let [term] = x.terms.as_slice() else { return Self::call(Function::Log, vec![Rc::new(x.clone())]) };
        if !term.binders.is_empty() || term.number <= 0.0 {
            return Self::call(Function::Log, vec![Rc::new(x.clone())]);
        }
        let mut out = Poly::number(term.number.ln())?;
        for (atom, exponent) in &term.factors {
            let one = match atom {
                Atom::Call(Function::Exp, kids) => (**kids.first()?).clone(),
                Atom::Call(Function::Sqrt, kids) => {
                    let log = Self::call(Function::Log, vec![kids.first()?.clone()])?;
                    self.plus(&Poly::default(), &log, 0.5)?
                }
                other => {
                    let inner = Poly::atom(other.clone(), x.depth)?;
                    let inner = match other {
                        Atom::Sum(p) => (**p).clone(),
                        _ => inner,
                    };
                    Self::call(Function::Log, vec![Rc::new(inner)])?
                }
            };
            out = self.plus(&out, &one, f64::from(*exponent))?;
        }
        Some(out)
    }
}

impl Elements {
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

    /// Returns the places in all indices of an expression.
    pub fn places_below(&self, root: ExprId) -> Vec<Place> {
        let mut out = Vec::new();
        for id in self.below(root) {
            out.extend(self.expr(id).map(|expr| self.places_of(expr)).unwrap_or_default());
        }
        out
    }

    /// Returns the number by which an expression divides a reduced dimension, where that goes without rest.
    pub fn divisor_of(&self, id: ExprId, name: u32) -> Option<i64> {
        self.places_below(id).into_iter().find_map(|p| {
            let (Place::Div(i, by) | Place::Mod(i, by)) = p else { return None };
            let sum = self.linear(i);
            let ([(Place::Bound(level, size), one)], None) = (sum.terms.as_slice(), sum.constant) else { return None };
            let (by, size) = (by.fixed()?, size.fixed()?);
            let divides = by > 1 && by < size && size.checked_rem(by) == Some(0);
            (*level == name && one.fixed() == Some(1) && divides).then_some(by)
        })
    }

    /// Returns the places in an expression's own indices.
    pub fn places_of(&self, expr: &Expr) -> Vec<Place> {
        let indices: SmallVec<[_; 4]> = match &expr.form {
            Form::Load(_, at) => at.clone(),
            Form::Index(i) | Form::AtLeastZero(i) | Form::IsZero(i) => SmallVec::from_elem(*i, 1),
            _ => SmallVec::new(),
        };
        indices.into_iter().flat_map(|i| self.places_in(i)).collect()
    }
}
