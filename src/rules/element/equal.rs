//! Whether two expressions are equal: congruence first, then by cases, then bit by bit.
//!
//! ## What it says
//! Operators of equal operands are equal; elements of one source at one index are; so are elements of calls that were given the same arguments and
//! tensors that are equal element by element. Where a condition on the index, or a truth of the data, stands in either expression, it is
//! true or false: both cases are looked at, each with what it says; comparisons of floats that exclude one another are no case. An integer that is one of few numbers is each of them in turn.
//!
//! Promises: `true` was shown; cases are bounded; nothing that was assumed outlives its case.

use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op, Source, SourceId, TensorId};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::rebuild::Moves;
use crate::sym::Dim;

/// How many numbers an integer may be of which each is looked at.
const FEW: i64 = 4;
/// How many conditions may be split, one within another.
const DEPTH: usize = 10;
/// Within how many conditions a truth that is an integer is split.
const TRUTHS: usize = 2;
/// How many conditions may be split within a reduction, and how many reductions looked into.
const BODIES: usize = 4;
/// How deep calls within calls are compared.
const CALLS: usize = 64;

impl Elements {
    /// Returns whether two tensors are equal, element by element, with one dtype and one shape.
    pub fn equal_tensors(&mut self, a: TensorId, b: TensorId) -> bool {
        self.tensors_equal(a, b, CALLS)
    }

    fn tensors_equal(&mut self, a: TensorId, b: TensorId, calls: usize) -> bool {
        if a == b {
            return true;
        }
        let (Some(x), Some(y)) = (self.tensor_of(a).cloned(), self.tensor_of(b).cloned()) else { return false };
        let sizes = x.sizes.len() == y.sizes.len() && x.sizes.iter().zip(&y.sizes).all(|(a, b)| self.same_size(*a, *b));
        if x.dtype != y.dtype || !sizes {
            return false;
        }
        if x.sizes.contains(&Dim::Fixed(0)) {
            return true;
        }
        if let Some(known) = self.compared.get(&(a, b)) {
            return *known;
        }
        // What is assumed of the index around says nothing of the index within.
        let facts = std::mem::take(&mut self.facts);
        let truths = std::mem::take(&mut self.truths);
        let assumed = std::mem::take(&mut self.assumed);
        let within = std::mem::take(&mut self.within);
        let equal = self.equal_by_cases((x.expr, y.expr), DEPTH, &mut |e, a, b| e.congruent(a, b, calls));
        self.facts = facts;
        self.truths = truths;
        self.assumed = assumed;
        self.within = within;
        self.compared.insert((a, b), equal);
        equal
    }

    /// Returns an expression made again where these truths are known.
    pub fn with_truths(&mut self, root: ExprId, known: &[(ExprId, bool)]) -> Option<ExprId> {
        if known.is_empty() {
            return Some(root);
        }
        self.truths.extend(known.iter().copied());
        let made = self.moved(root, &Moves::default());
        known.iter().for_each(|(id, _)| {
            self.truths.remove(id);
        });
        made
    }

    /// Returns whether two expressions are equal, by what `equal` says of them in every case of the conditions that stand in them.
    pub fn equal_by_cases(
        &mut self,
        (a, b): (ExprId, ExprId),
        depth: usize,
        equal: &mut dyn FnMut(&mut Elements, ExprId, ExprId) -> bool,
    ) -> bool {
        if equal(self, a, b) {
            return true;
        }
        if self.spend(16).is_none() {
            return false;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        // An integer of few numbers first: what conditions ask of it is known then.
        if let Some(shown) = self.equal_for_each_number((a, b), depth, equal) {
            return shown;
        }
        let Some(condition) = self.condition_in(a).into_iter().chain(self.condition_in(b)).min() else { return false };
        let split = self.split_on(condition, (a, b), depth, equal);
        if split {
            self.by("by-cases");
        }
        split
    }

    /// The same for each number that an integer may be of which the host says that it is one of few; `None` where none is.
    fn equal_for_each_number(
        &mut self,
        (a, b): (ExprId, ExprId),
        depth: usize,
        equal: &mut dyn FnMut(&mut Elements, ExprId, ExprId) -> bool,
    ) -> Option<bool> {
        if self.between.is_empty() {
            return None;
        }
        let mut all = self.below(a);
        all.extend(self.below(b));
        let few = |e: &Self, id: ExprId| {
            let Form::Load(source, _) = e.expr(id)?.form else { return None };
            let (low, high) = *e.between.get(&source)?;
            (high.checked_sub(low)? < FEW && !e.names_bound(id) && !e.assumed.contains_key(&id)).then_some((low, high))
        };
        let (id, (low, high)) = all.into_iter().find_map(|id| Some((id, few(self, id)?)))?;
        let dtype = self.dtype(id)?;
        let mut holds = true;
        for number in low..=high {
            let number = self.integer(dtype, number)?;
            self.assumed.insert(id, number);
            let ends = self.moved(a, &Moves::default()).zip(self.moved(b, &Moves::default()));
            holds = holds && ends.is_some_and(|ends| self.equal_by_cases(ends, depth, equal));
            self.assumed.remove(&id);
        }
        if holds {
            self.by("few-numbers");
        }
        Some(holds)
    }

    fn split_on(
        &mut self,
        condition: ExprId,
        (a, b): (ExprId, ExprId),
        depth: usize,
        equal: &mut dyn FnMut(&mut Elements, ExprId, ExprId) -> bool,
    ) -> bool {
        for holds in [true, false] {
            let facts = self.facts.len();
            self.truths.insert(condition, holds);
            let assumed = self.assume(condition, holds);
            let both = assumed.and_then(|()| {
                let moves = self.pinned(&[a, b], facts);
                let x = self.moved(a, &moves)?;
                let y = self.moved(b, &moves)?;
                Some((x, y))
            });
            // What two facts exclude needs no proof.
            let never = self.facts.get(facts..).is_some_and(|new| !new.is_empty()) && self.contradicts(facts)
                || self.truths_exclude(condition)
                || self.numbers_alone && self.holds_of_nan_alone();
            let equal = never || both.is_some_and(|ends| self.equal_by_cases(ends, depth, equal));
            self.truths.remove(&condition);
            self.facts.truncate(facts);
            if !equal {
                return false;
            }
        }
        true
    }

    /// Whether comparisons of floats that are assumed cannot all be so: what the others say of one is its opposite.
    fn truths_exclude(&mut self, new: ExprId) -> bool {
        let comparison = |e: &Self, id: ExprId| match e.op_of(id) {
            Some((op @ (Op::Lt | Op::Le | Op::Eq), [a, b])) if e.dtype(*a).is_some_and(|d| d.is_float()) => {
                Some((op, *a, *b))
            }
            _ => None,
        };
        if comparison(self, new).is_none() {
            return false;
        }
        let all: Vec<(ExprId, bool)> = self.truths.iter().map(|(id, holds)| (*id, *holds)).collect();
        for (id, holds) in all {
            let Some((op, a, b)) = comparison(self, id) else { continue };
            self.truths.remove(&id);
            let others = self.follows(op, a, b).flatten();
            self.truths.insert(id, holds);
            if others == Some(!holds) {
                return true;
            }
        }
        false
    }

    /// Returns what places of the result are, of which the facts from one on leave a single one.
    fn pinned(&mut self, roots: &[ExprId], first: usize) -> Moves {
        let mut only: Option<(u32, Dim)> = None;
        for fact in self.facts.get(first..).unwrap_or_default().to_vec() {
            let sum = self.linear(fact);
            let [(Place::Var(k, size), by)] = sum.terms.as_slice() else { continue };
            // At most 0, or at least the last one.
            only = match (by.fixed(), sum.offset().fixed(), size.fixed()) {
                (Some(-1), Some(0), _) => Some((*k, Dim::Fixed(0))),
                (Some(1), Some(less), Some(n)) if less.checked_add(n) == Some(1) => {
                    Some((*k, Dim::Fixed(n.saturating_sub(1))))
                }
                _ => only,
            };
        }
        let Some((place, at)) = only else { return Moves::default() };
        let mut vars: Vec<Place> = roots.iter().flat_map(|r| self.places_below(*r)).collect();
        vars.retain(|p| matches!(p, Place::Var(..)));
        let count = vars.iter().filter_map(|p| if let Place::Var(k, _) = p { Some(*k) } else { None }).max();
        let mut out = Moves::default();
        for k in 0..=count.unwrap_or(0) {
            let known = vars.iter().find(|p| matches!(p, Place::Var(l, _) if *l == k)).copied();
            let one = match known {
                Some(_) if k == place => self.at(at),
                Some(own) => self.place(own),
                None => self.at(Dim::Fixed(0)),
            };
            out.vars.push(one);
        }
        out
    }

    fn assume(&mut self, condition: ExprId, holds: bool) -> Option<()> {
        match (self.expr(condition)?.form.clone(), holds) {
            (Form::AtLeastZero(i), true) => self.facts.push(i),
            (Form::AtLeastZero(i), false) => {
                let i = self.scale(i, Dim::Fixed(-1))?;
                let i = self.shift(i, Dim::Fixed(-1))?;
                self.facts.push(i);
            }
            (Form::IsZero(i), true) => {
                let minus = self.scale(i, Dim::Fixed(-1))?;
                self.facts.extend([i, minus]);
            }
            (Form::IsZero(i), false) => {
                let minus = self.scale(i, Dim::Fixed(-1))?;
                for side in [i, minus] {
                    if self.at_least_zero(side) == Some(true) {
                        let beyond = self.shift(side, Dim::Fixed(-1))?;
                        self.facts.push(beyond);
                    }
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Whether the facts from `first` on cannot hold with those before.
    fn contradicts(&mut self, first: usize) -> bool {
        let new: Vec<IndexId> = self.facts.get(first..).unwrap_or_default().to_vec();
        let all = std::mem::take(&mut self.facts);
        let mut found = false;
        for fact in new {
            self.facts = all.iter().copied().filter(|f| *f != fact).collect();
            found |= self.at_least_zero(fact) == Some(false);
        }
        self.facts = all;
        // What is not 0 cannot lie between 0 and 0.
        let not: Vec<ExprId> = self.truths.iter().filter(|(_, holds)| !**holds).map(|(id, _)| *id).collect();
        for id in not {
            let Some(Form::IsZero(i)) = self.expr(id).map(|x| x.form.clone()) else { continue };
            let Some(minus) = self.scale(i, Dim::Fixed(-1)) else { continue };
            found |= self.at_least_zero(i) == Some(true) && self.at_least_zero(minus) == Some(true);
        }
        found
    }

    /// Returns the first condition that stands in an expression, on which both cases can be looked at.
    fn condition_in(&self, root: ExprId) -> Option<ExprId> {
        let mut best = None;
        for id in self.below(root) {
            let Some(expr) = self.expr(id) else { continue };
            let Some(condition) = self.asked_by(expr, id) else { continue };
            // What a reduction binds has no value outside of it.
            let free = |c: ExprId| !self.names_bound(c);
            if free(condition) && !self.truths.contains_key(&condition) {
                best = best.min(Some(condition)).or(Some(condition));
                break;
            }
        }
        // A truth that is the end itself.
        let own = |e: &crate::rules::element::arena::Expr| {
            e.dtype == crate::graph::Dtype::Bool && matches!(e.form, Form::Op(Op::Lt | Op::Le | Op::Eq))
        };
        let floats = |id: ExprId| {
            let kid = self.expr(id).and_then(|e| e.kids.first().copied());
            kid.and_then(|k| self.dtype(k)).is_some_and(|d| d.is_float())
        };
        let best = best.or_else(|| self.truth_as_integer(root));
        best.or_else(|| {
            let free = self.expr(root).is_some_and(own) && floats(root) && !self.names_bound(root);
            (free && !self.truths.contains_key(&root)).then_some(root)
        })
    }

    /// Within a case a truth that is an integer, 1 or 0, is looked at, too.
    fn truth_as_integer(&self, root: ExprId) -> Option<ExprId> {
        if !(1..=TRUTHS).contains(&self.truths.len()) || !self.exact {
            return None;
        }
        let truth = |id: ExprId| match self.op_of(id)? {
            (Op::Cast, [truth]) if self.dtype(*truth) == Some(crate::graph::Dtype::Bool) => Some(*truth),
            _ => None,
        };
        let free = |c: &ExprId| !self.truths.contains_key(c) && self.number(*c).is_none() && !self.names_bound(*c);
        let compares = |c: &ExprId| matches!(self.op_of(*c), Some((Op::Lt | Op::Le | Op::Eq, _)));
        self.below(root).into_iter().filter_map(truth).find(|c| compares(c) && free(c))
    }

    /// The truth that decides what an expression is: a choice's condition, a truth that is combined with others, a comparison of indices.
    fn asked_by(&self, expr: &Expr, id: ExprId) -> Option<ExprId> {
        let mut at = match &expr.form {
            Form::AtLeastZero(_) | Form::IsZero(_) => return Some(id),
            Form::Op(Op::Choose | Op::Not | Op::And | Op::Or | Op::Xor) => *expr.kids.first()?,
            // As a number over the reals a truth chooses between 1 and 0.
            Form::Op(Op::Cast) if !self.exact && expr.dtype.is_float() => {
                expr.kids.first().copied().filter(|k| self.dtype(*k) == Some(crate::graph::Dtype::Bool))?
            }
            _ => return None,
        };
        // The innermost truth first: those around it are then known.
        for _ in 0..64 {
            let inner = self.expr(at)?;
            match (&inner.form, inner.kids.first()) {
                (Form::Op(Op::Not | Op::And | Op::Or | Op::Xor), Some(kid)) => at = *kid,
                (Form::Op(Op::Choose), Some(kid)) => at = *kid,
                (Form::Const(_), _) => return None,
                _ => return (inner.dtype == crate::graph::Dtype::Bool).then_some(at),
            }
        }
        None
    }

    /// Whether an expression names a dimension that a reduction around it binds, but for those within which it is asked.
    fn names_bound(&self, root: ExprId) -> bool {
        let within = |level: u32| self.within.iter().any(|(from, to)| (*from..*to).contains(&level));
        let named = self.bound_around(&self.below(root));
        named.get(&root).is_none_or(|named| named.iter().any(|(level, _)| !within(*level)))
    }

    /// Equal operators of equal operands, down to equal elements: a worklist of pairs, all of which must hold.
    pub fn congruent(&mut self, a: ExprId, b: ExprId, calls: usize) -> bool {
        let mut open = vec![(a, b)];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some((a, b)) = open.pop() {
            if a == b || !seen.insert((a, b)) {
                continue;
            }
            if self.spend(1).is_none() {
                return false;
            }
            let (Some(x), Some(y)) = (self.expr(a).cloned(), self.expr(b).cloned()) else { return false };
            if x.dtype != y.dtype {
                return false;
            }
            let same = x.kids.len() == y.kids.len()
                && match (&x.form, &y.form) {
                    (Form::Load(s, at), Form::Load(t, to)) => {
                        at.len() == to.len()
                            && at.iter().zip(to).all(|(i, j)| self.same_index(*i, *j, calls))
                            && self.same_source(*s, *t, calls)
                    }
                    (Form::Index(i), Form::Index(j)) => self.same_index(*i, *j, calls),
                    (Form::Reduce(f, l, s), Form::Reduce(g, m, t)) => f == g && l == m && s == t,
                    (f, g) => f == g,
                };
            if self.equal_in_order(a, b) {
                continue;
            }
            if self.equal_bits(a, b, calls) {
                self.by("bit-by-bit");
                continue;
            }
            if !same {
                return false;
            }
            if let (Form::Reduce(_, level, sizes), [p], [q]) = (&x.form, x.kids.as_slice(), y.kids.as_slice())
                && self.bodies_equal(*p, *q, (*level, sizes.len()), calls)
            {
                continue;
            }
            open.extend(x.kids.iter().copied().zip(y.kids.iter().copied()));
        }
        true
    }

    /// Whether what two reductions over the same places take together is equal at each place, by the conditions on it.
    fn bodies_equal(&mut self, p: ExprId, q: ExprId, (level, count): (u32, usize), calls: usize) -> bool {
        let Ok(count) = u32::try_from(count) else { return false };
        if p == q || self.within.len() >= BODIES {
            return p == q;
        }
        self.within.push((level, level.saturating_add(count)));
        let equal = self.equal_by_cases((p, q), BODIES, &mut |e, a, b| e.congruent(a, b, calls));
        self.within.pop();
        equal
    }

    pub(in crate::rules) fn same_index(&mut self, i: IndexId, j: IndexId, calls: usize) -> bool {
        if i == j {
            return true;
        }
        self.index_equal(i, j, calls).is_some()
    }

    fn index_equal(&mut self, i: IndexId, j: IndexId, calls: usize) -> Option<()> {
        let over = self.difference(i, j)?;
        let under = self.scale(over, Dim::Fixed(-1))?;
        if self.at_least_zero(over) == Some(true) && self.at_least_zero(under) == Some(true) {
            return Some(());
        }
        let divides = |e: &Self, i| e.linear(i).terms.iter().any(|(p, _)| matches!(p, super::index::Place::Div(..)));
        if divides(self, over) {
            let over = self.by_remainders(over)?;
            let under = self.scale(over, Dim::Fixed(-1))?;
            if self.at_least_zero(over) == Some(true) && self.at_least_zero(under) == Some(true) {
                return Some(());
            }
        }
        let (x, y) = (self.linear(i).clone(), self.linear(j).clone());
        let ([(p, c)], [(q, d)]) = (x.terms.as_slice(), y.terms.as_slice()) else { return None };
        if c != d || !self.same_size(x.offset(), y.offset()) {
            return None;
        }
        use super::index::Place;
        match (*p, *q) {
            // Remainders are equal where a multiple of the divisor is between.
            (Place::Mod(e, n), Place::Mod(f, m)) if self.same_size(n, m) => {
                let between = self.difference(e, f)?;
                let left = self.remainder(between, n)?;
                let zero = self.at(Dim::Fixed(0));
                (left == zero).then_some(())
            }
            (Place::Data(e), Place::Data(f)) => {
                let calls = calls.checked_sub(1)?;
                self.congruent(e, f, calls).then_some(())
            }
            _ => None,
        }
    }

    fn same_source(&mut self, s: SourceId, t: SourceId, calls: usize) -> bool {
        if s == t {
            return true;
        }
        let Some(calls) = calls.checked_sub(1) else { return false };
        let (
            Some(Source::Call { target, tokens, kids, item }),
            Some(Source::Call { target: u, tokens: v, kids: w, item: k }),
        ) = (self.source_of(s).cloned(), self.source_of(t).cloned())
        else {
            return false;
        };
        target == u
            && tokens == v
            && item == k
            && kids.len() == w.len()
            && kids.iter().zip(&w).all(|(a, b)| self.tensors_equal(*a, *b, calls))
    }
}
