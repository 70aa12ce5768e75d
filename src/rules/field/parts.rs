//! Reductions taken apart where a condition on a reduced index cuts them, or another reduction over the same source does.
//!
//! ## What it says
//! A sum, or the greatest, over places of which the first are one thing and the others another is that over the first and that over the others.
//! A sum of which only one place is not 0 is that place.
//!
//! ## When it is wrong
//! Bit by bit, for the order of a sum is its kernel's. What is multiplied by 0 is gone, and its NaN with it: that is asked elsewhere. A place
//! that may lie beside the dimension is 0 there. A greatest over no place is nothing: both parts must hold one.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op, SourceId};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::rebuild::Moves;
use crate::sym::Dim;

/// Over how many places of a dimension a reduction is written out.
const FEW: i64 = 9;
/// How many factors a product over places is written out as.
const FACTORS: i64 = 24;
/// How often one reduction may be cut.
const CUTS: usize = 6;

/// A reduction.
#[derive(Clone)]
struct Reduced {
    fold: Fold,
    level: u32,
    sizes: Vec<Dim>,
    body: ExprId,
    by: Cuts,
}

/// Which cuts are made.
#[derive(Clone, Copy)]
struct Cuts {
    ranges: bool,
    ones: bool,
}

/// Where a condition cuts a reduced dimension.
enum Cut {
    /// The first places, so many.
    At(Dim),
    /// One place.
    Only(IndexId),
}

/// Of how many the greater ones are joined.
const JOINED: usize = 16;

impl Elements {
    /// Returns an expression, equal over the reals, whose reductions are taken apart.
    pub fn parted(&mut self, root: ExprId) -> Option<ExprId> {
        self.parted_by(root, Cuts { ranges: true, ones: true })
    }

    /// The same where reductions are cut in two alone: what is NaN stays NaN.
    pub fn parted_in_ranges(&mut self, root: ExprId) -> Option<ExprId> {
        self.parted_by(root, Cuts { ranges: true, ones: false })
    }

    /// The same where only sums of which one place is not 0 are taken apart: these are not rounded, in whichever order they are summed.
    pub fn parted_in_ones(&mut self, root: ExprId) -> Option<ExprId> {
        self.parted_by(root, Cuts { ranges: false, ones: true })
    }

    /// Returns an expression in which reductions over few places are those places, taken together.
    pub fn unrolled(&mut self, root: ExprId) -> Option<ExprId> {
        self.unrolled_where(root, Dtype::is_float)
    }

    /// The same of integers, and of truths.
    pub fn unrolled_integers(&mut self, root: ExprId) -> Option<ExprId> {
        self.unrolled_where(root, |d| d.is_integer() || d == Dtype::Bool)
    }

    /// Returns an expression whose sums of integers are taken apart where a condition cuts them.
    pub fn parted_integers(&mut self, root: ExprId) -> Option<ExprId> {
        self.parted_where(root, Cuts { ranges: true, ones: false }, |d| d.is_integer())
    }

    /// Returns an expression in which, where it is subtracted, the greater one of the greatest of some and the greatest of those that follow is the greatest
    /// of all; not from one of these itself.
    pub fn joined(&mut self, root: ExprId) -> Option<ExprId> {
        let mut known: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in self.below(root) {
            self.spend(1)?;
            let expr = self.expr(id)?.clone();
            let kids: SmallVec<[ExprId; 3]> = expr.kids.iter().map(|k| known.get(k).copied().unwrap_or(*k)).collect();
            let made = match (&expr.form, kids.as_slice()) {
                (Form::Op(Op::Sub), [x, most]) if matches!(self.op_of(*most), Some((Op::Max, _))) => {
                    match self.greatest_joined(*x, *most)? {
                        Some(all) => self.op(Op::Sub, expr.dtype, &[*x, all])?,
                        None if kids == expr.kids => id,
                        None => self.again(&expr, &kids)?,
                    }
                }
                _ if kids == expr.kids => id,
                _ => self.again(&expr, &kids)?,
            };
            known.insert(id, made);
        }
        known.get(&root).copied()
    }

    fn greatest_joined(&mut self, x: ExprId, most: ExprId) -> Option<Option<ExprId>> {
        let (mut open, mut each) = (vec![most], Vec::new());
        while let Some(one) = open.pop() {
            match self.op_of(one) {
                Some((Op::Max, kids)) if each.len() < JOINED => open.extend(kids),
                _ => each.push(one),
            }
        }
        let all = each.len();
        if each.contains(&x) {
            return Some(None);
        }
        'again: loop {
            for (i, first) in each.iter().enumerate() {
                for (j, second) in each.iter().enumerate() {
                    if i != j
                        && let Some(both) = self.follows_on(*first, *second)?
                    {
                        let rest = each.iter().enumerate().filter(|(k, _)| *k != i && *k != j).map(|(_, x)| *x);
                        each = rest.chain([both]).collect();
                        continue 'again;
                    }
                }
            }
            break;
        }
        if each.len() == all {
            return Some(None);
        }
        let mut each = each.into_iter();
        let mut out = each.next()?;
        for one in each {
            out = self.op(Op::Max, self.dtype(one)?, &[out, one])?;
        }
        Some(Some(out))
    }

    /// Returns the greatest of all where the second is the greatest of those that follow the ones of the first.
    fn follows_on(&mut self, first: ExprId, second: ExprId) -> Option<Option<ExprId>> {
        let most = |e: &Self, id: ExprId| {
            let expr = e.expr(id)?;
            let Form::Reduce(Fold::Most, level, sizes) = &expr.form else { return None };
            let [size] = &**sizes else { return None };
            Some((*level, size.fixed()?, *expr.kids.first()?))
        };
        let (Some((level, n, x)), Some((other, m, y))) = (most(self, first), most(self, second)) else {
            return Some(None);
        };
        let (Some(all), true) = (n.checked_add(m), level == other) else { return Some(None) };
        let own = self.place(Place::Bound(level, Dim::Fixed(all)));
        let behind = self.shift(own, Dim::Fixed(n.checked_neg()?))?;
        let at = |index| Moves { vars: SmallVec::new(), bound: Some((level, SmallVec::from_elem(index, 1))) };
        let (x, y) = (self.moved(x, &at(own))?, self.moved(y, &at(behind))?);
        if x != y {
            return Some(None);
        }
        self.reduced(Fold::Most, level, &[Dim::Fixed(all)], x).map(Some)
    }

    /// Whether a condition asks, or a quotient is, of the index along a dimension that is reduced.
    pub(super) fn asks_reduced(&self, root: ExprId) -> bool {
        let bound = |p: &Place| matches!(p, Place::Bound(..));
        self.below(root).into_iter().filter_map(|id| self.expr(id)).any(|expr| match &expr.form {
            Form::AtLeastZero(_) | Form::IsZero(_) => self.places_of(expr).iter().any(bound),
            Form::Load(_, at) => at.iter().flat_map(|i| self.places_in(*i)).any(|p| match p {
                Place::Div(inner, _) | Place::Mod(inner, _) => self.places_in(inner).iter().any(bound),
                _ => false,
            }),
            _ => false,
        })
    }

    /// Returns the lengths of dimensions over which floats are taken together.
    pub(super) fn lengths_reduced(&self, root: ExprId) -> FxHashSet<Dim> {
        let all = self.below(root).into_iter().filter_map(|id| self.expr(id)).filter(|x| x.dtype.is_float());
        all.flat_map(|expr| match &expr.form {
            Form::Reduce(_, _, sizes) => sizes.to_vec(),
            _ => Vec::new(),
        })
        .collect()
    }

    fn unrolled_where(&mut self, root: ExprId, of: fn(Dtype) -> bool) -> Option<ExprId> {
        let mut known: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in self.below(root) {
            let expr = self.expr(id)?.clone();
            let kids: SmallVec<[ExprId; 3]> = expr.kids.iter().map(|k| known.get(k).copied().unwrap_or(*k)).collect();
            let made = match (&expr.form, kids.as_slice()) {
                (Form::Reduce(fold, level, sizes), [body])
                    if of(expr.dtype)
                        && (!expr.dtype.is_float() || !matches!(fold, Fold::Product))
                        && sizes.iter().all(|d| d.fixed().is_some_and(|n| 0 < n && n <= FEW)) =>
                {
                    let none = Cuts { ranges: false, ones: false };
                    let mut r = Reduced { fold: *fold, level: *level, sizes: sizes.to_vec(), body: *body, by: none };
                    for place in 0..sizes.len() {
                        r.body = self.all_places(&r, place)?;
                    }
                    r.body
                }
                _ if kids == expr.kids => id,
                _ => self.again(&expr, &kids)?,
            };
            known.insert(id, made);
        }
        known.get(&root).copied()
    }

    /// Returns what one sum sums, multiplied as the sum is, and over which levels, where an expression is a multiple of one.
    pub(super) fn without_sum(&mut self, root: ExprId) -> Option<Option<(ExprId, (u32, u32))>> {
        let (mut way, mut at) = (Vec::new(), root);
        let (body, over) = loop {
            let expr = self.expr(at)?.clone();
            at = match (&expr.form, expr.kids.as_slice()) {
                (Form::Reduce(Fold::Sum, level, sizes), [body]) if expr.dtype.is_float() => {
                    break (*body, (*level, level.checked_add(u32::try_from(sizes.len()).ok()?)?));
                }
                (Form::Op(Op::Neg), [x]) => *x,
                (Form::Op(Op::Mul | Op::Div), [x, c]) if self.is_reduction_free(*c) => *x,
                (Form::Op(Op::Mul), [c, x]) if self.is_reduction_free(*c) => *x,
                _ => return Some(None),
            };
            way.push((expr, at));
        };
        let mut out = body;
        for (expr, inner) in way.into_iter().rev() {
            let kids: SmallVec<[ExprId; 3]> = expr.kids.iter().map(|k| if *k == inner { out } else { *k }).collect();
            out = self.again(&expr, &kids)?;
        }
        Some(Some((out, over)))
    }

    /// Whether an expression is the same at all places.
    fn is_reduction_free(&self, id: ExprId) -> bool {
        let number = |id: ExprId| {
            matches!(self.expr(id).map(|x| &x.form), Some(Form::Const(_) | Form::Number(_) | Form::Index(_)))
        };
        number(id)
            || matches!(self.op_of(id), Some((Op::Cast, [inner])) if number(*inner)) && self.places_below(id).is_empty()
    }

    /// Returns a product over few places as the product of these; `None` where they are many, or no number.
    pub fn factors_of(&mut self, product: ExprId) -> Option<ExprId> {
        let Expr { form, kids, .. } = self.expr(product)?.clone();
        let Form::Reduce(Fold::Product, level, sizes) = form else { return Some(product) };
        let all = sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed().filter(|d| *d > 0)?))?;
        let none = Cuts { ranges: false, ones: false };
        let mut r = Reduced { fold: Fold::Product, level, sizes: sizes.to_vec(), body: *kids.first()?, by: none };
        for place in 0..sizes.len() {
            r.body = (all <= FACTORS).then(|| self.all_places(&r, place))??;
        }
        Some(r.body)
    }

    /// Takes all places of one dimension of a reduction together.
    fn all_places(&mut self, r: &Reduced, place: usize) -> Option<ExprId> {
        let op = match r.fold {
            Fold::Sum => Op::Add,
            Fold::Most => Op::Max,
            Fold::Product => Op::Mul,
            Fold::Any => Op::Or,
            Fold::Least => Op::Min,
        };
        let mut out = None;
        for k in 0..r.sizes.get(place)?.fixed()? {
            self.spend(8)?;
            let at = self.at(Dim::Fixed(k));
            let one = self.at_place(r.body, r, place, at)?;
            out = Some(match out {
                Some(all) => self.op(op, self.dtype(one)?, &[all, one])?,
                None => one,
            });
        }
        out
    }

    /// Remembers where reductions of two expressions begin and end along the dimensions of sources: those that run over more are cut there from now
    /// on. Returns whether any is.
    pub fn cut_alike(&mut self, roots: [ExprId; 2]) -> bool {
        let mut found: FxHashMap<(SourceId, usize), Vec<i64>> = FxHashMap::default();
        for id in roots.into_iter().flat_map(|r| self.below(r)) {
            let Some(Form::Load(source, at)) = self.expr(id).map(|x| &x.form) else { continue };
            for (k, index) in at.iter().enumerate() {
                let sum = self.linear(*index);
                let Some(from) = sum.offset().fixed() else { continue };
                let [(Place::Bound(_, size), by)] = sum.terms.as_slice() else {
                    if sum.terms.is_empty() {
                        found.entry((*source, k)).or_default().extend([from, from.saturating_add(1)]);
                    }
                    continue;
                };
                let Some((1, end)) = by.fixed().zip(size.fixed().and_then(|n| from.checked_add(n))) else { continue };
                found.entry((*source, k)).or_default().extend([from, end]);
            }
        }
        for all in found.values_mut() {
            all.sort_unstable();
            all.dedup();
        }
        found.retain(|_, all| all.len() > 2);
        self.boundaries = found;
        !self.boundaries.is_empty()
    }

    /// Returns where a reduction runs over a boundary of a source.
    fn boundary_of(&mut self, r: &Reduced) -> Option<(usize, Dim, ExprId, Cut)> {
        if self.boundaries.is_empty() {
            return None;
        }
        for id in self.below(r.body) {
            let Some(Form::Load(source, at)) = self.expr(id).map(|x| x.form.clone()) else { continue };
            for (k, index) in at.into_iter().enumerate() {
                let Some(all) = self.boundaries.get(&(source, k)).cloned() else { continue };
                let Some((place, size, true, rest)) = self.own_place(r, index) else { continue };
                let rest = self.linear(rest);
                let (true, Some(from), Some(count)) = (rest.terms.is_empty(), rest.offset().fixed(), size.fixed())
                else {
                    continue;
                };
                let inner = |b: &i64| b.checked_sub(from).filter(|at| 0 < *at && *at < count);
                if let Some(at) = all.iter().find_map(inner) {
                    return Some((place, size, id, Cut::At(Dim::Fixed(at))));
                }
            }
        }
        None
    }

    fn parted_by(&mut self, root: ExprId, by: Cuts) -> Option<ExprId> {
        self.parted_where(root, by, Dtype::is_float)
    }

    fn parted_where(&mut self, root: ExprId, by: Cuts, of: fn(Dtype) -> bool) -> Option<ExprId> {
        let mut known: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in self.below(root) {
            let expr = self.expr(id)?.clone();
            let kids: SmallVec<[ExprId; 3]> = expr.kids.iter().map(|k| known.get(k).copied().unwrap_or(*k)).collect();
            let made = match (&expr.form, kids.as_slice()) {
                (Form::Reduce(fold @ (Fold::Sum | Fold::Most | Fold::Least), level, sizes), [body])
                    if of(expr.dtype) =>
                {
                    self.cut(Reduced { fold: *fold, level: *level, sizes: sizes.to_vec(), body: *body, by }, CUTS)?
                }
                _ if kids == expr.kids => id,
                _ => self.again(&expr, &kids)?,
            };
            known.insert(id, made);
        }
        known.get(&root).copied()
    }

    fn cut(&mut self, r: Reduced, cuts: usize) -> Option<ExprId> {
        self.spend(4)?;
        let found = if cuts == 0 { None } else { self.cut_of(&r).or_else(|| self.boundary_of(&r)) };
        let Some((place, size, condition, cut)) = found else {
            return self.reduced(r.fold, r.level, &r.sizes, r.body);
        };
        let cuts = cuts.checked_sub(1)?;
        match cut {
            Cut::At(first) => {
                let rest = self.minus(first)?;
                let rest = self.plus(size, rest)?;
                let low = self.part(&r, place, first, Dim::Fixed(0))?;
                let high = self.part(&r, place, rest, first)?;
                let (low, high) = (self.cut(low, cuts)?, self.cut(high, cuts)?);
                let op = match r.fold {
                    Fold::Sum => Op::Add,
                    Fold::Most => Op::Max,
                    _ => Op::Min,
                };
                self.op(op, self.dtype(low)?, &[low, high])
            }
            Cut::Only(at) => {
                let body = self.with_truths(r.body, &[(condition, true)])?;
                let body = self.at_place(body, &r, place, at)?;
                let mut sizes = r.sizes.clone();
                *sizes.get_mut(place)? = Dim::Fixed(1);
                let one = self.cut(Reduced { sizes, body, ..r }, cuts)?;
                let left = self.scale(at, Dim::Fixed(-1))?;
                let last = self.plus(size, Dim::Fixed(-1))?;
                let left = self.shift(left, last)?;
                let (low, high) = (self.at_least_zero_expr(at)?, self.at_least_zero_expr(left)?);
                let inside = self.op(Op::And, Dtype::Bool, &[low, high])?;
                let dtype = self.dtype(one)?;
                let zero = self.rounded(dtype, 0.0)?;
                self.op(Op::Choose, dtype, &[inside, one, zero])
            }
        }
    }

    /// Returns the first condition in the body of a reduction that cuts one of its dimensions, and where.
    fn cut_of(&mut self, r: &Reduced) -> Option<(usize, Dim, ExprId, Cut)> {
        for id in self.below(r.body) {
            let (index, only) = match self.expr(id)?.form {
                Form::AtLeastZero(i) => (i, false),
                Form::IsZero(i) => (i, true),
                _ => continue,
            };
            // What a reduction within binds has no one place here.
            if self.names_below(id).iter().any(|(level, _)| *level < r.level) {
                continue;
            }
            if only
                && r.by.ones
                && r.fold == Fold::Sum
                && let Some((place, size, at)) = self.place_among(r, index)?
                && self.is_nothing_without(r.body, id)
            {
                return Some((place, size, id, Cut::Only(at)));
            }
            let Some((place, size, rises, rest)) = self.own_place(r, index) else { continue };
            // What is left of the condition, for the place itself.
            let Some(at) = (if rises { self.scale(rest, Dim::Fixed(-1)) } else { Some(rest) }) else { continue };
            if only {
                if r.by.ones && r.fold == Fold::Sum && self.is_nothing_without(r.body, id) {
                    return Some((place, size, id, Cut::Only(at)));
                }
                continue;
            }
            if !r.by.ranges || !self.linear(at).terms.is_empty() {
                continue;
            }
            let mut first = self.linear(at).offset();
            if !rises {
                first = self.plus(first, Dim::Fixed(1))?;
            }
            let least = Dim::Fixed(i64::from(r.fold != Fold::Sum));
            let end = self.minus(least)?;
            let end = self.plus(size, end)?;
            let inner = first != Dim::Fixed(0) && first != size;
            if inner && self.at_most(least, first) && self.at_most(first, end) {
                return Some((place, size, id, Cut::At(first)));
            }
        }
        None
    }

    /// Returns a dimension of a reduction, and the place of it at which an index is 0 that names other dimensions of it, too: one that surely is there.
    fn place_among(&mut self, r: &Reduced, index: IndexId) -> Option<Option<(usize, Dim, IndexId)>> {
        let sum = self.linear(index).clone();
        for (place, by) in &sum.terms {
            let (Place::Bound(l, size), Some(by @ (1 | -1))) = (place, by.fixed()) else { continue };
            let Some(k) = l.checked_sub(r.level).map(|k| k as usize).filter(|k| r.sizes.get(*k) == Some(size)) else {
                continue;
            };
            let own = self.place(*place);
            let own = self.scale(own, Dim::Fixed(by))?;
            let rest = self.difference(index, own)?;
            let at = self.scale(rest, Dim::Fixed(by.checked_neg()?))?;
            let left = self.scale(at, Dim::Fixed(-1))?;
            let last = self.plus(*size, Dim::Fixed(-1))?;
            let left = self.shift(left, last)?;
            let mut below = self.places_in(at);
            for data in self.places_in(at) {
                if let Place::Data(x) = data {
                    below.extend(self.places_below(x));
                }
            }
            let apart = !below.contains(place) && below.iter().any(|p| matches!(p, Place::Bound(..)));
            if apart && self.at_least_zero(at) == Some(true) && self.at_least_zero(left) == Some(true) {
                return Some(Some((k, *size, at)));
            }
        }
        Some(None)
    }

    /// Returns which dimension of a reduction an index names, once and with no factor, its size, whether it rises with it, and what else is in the index.
    fn own_place(&mut self, r: &Reduced, index: IndexId) -> Option<(usize, Dim, bool, IndexId)> {
        let own = |p: &Place| match p {
            Place::Bound(l, size) => {
                let k = l.checked_sub(r.level)? as usize;
                (r.sizes.get(k) == Some(size)).then_some((k, *size))
            }
            _ => None,
        };
        let sum = self.linear(index).clone();
        let mut found = None;
        for (place, by) in &sum.terms {
            match own(place) {
                Some((k, size)) if found.is_none() && matches!(by.fixed(), Some(1 | -1)) => {
                    found = Some((k, size, by.fixed() == Some(1), *place));
                }
                Some(_) => return None,
                None => {}
            }
        }
        let (k, size, rises, place) = found?;
        let mut rest = sum;
        rest.terms.retain(|(p, _)| *p != place);
        let rest = self.index_of(rest);
        let mut below: Vec<Place> = self.places_in(rest).into_iter().collect();
        for data in self.places_in(rest) {
            if let Place::Data(x) = data {
                below.extend(self.places_below(x));
            }
        }
        below.iter().all(|p| own(p).is_none()).then_some((k, size, rises, rest))
    }

    /// Whether an expression is 0 over the reals where a truth does not hold.
    fn is_nothing_without(&mut self, body: ExprId, condition: ExprId) -> bool {
        self.with_truths(body, &[(condition, false)]).is_some_and(|without| self.is_nothing(without))
    }

    /// Whether an expression is 0 over the reals by its form.
    fn is_nothing(&self, root: ExprId) -> bool {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if self.float(id).or(self.number(id).filter(|v| *v == 0).map(|_| 0.0)) == Some(0.0) {
                continue;
            }
            match self.op_of(id) {
                Some((Op::Mul, kids)) => match kids.iter().find(|k| self.is_plainly_nothing(**k)) {
                    Some(_) => {}
                    None => return false,
                },
                Some((Op::Neg | Op::Abs | Op::Cast | Op::Add | Op::Sub, kids)) => open.extend(kids),
                _ => return false,
            }
        }
        true
    }

    fn is_plainly_nothing(&self, mut id: ExprId) -> bool {
        for _ in 0..8 {
            if self.float(id) == Some(0.0) || self.number(id) == Some(0) {
                return true;
            }
            match self.op_of(id) {
                Some((Op::Cast | Op::Neg | Op::Abs, [kid])) => id = *kid,
                Some((Op::Mul, [a, b])) => {
                    if self.float(*a) == Some(0.0) {
                        return true;
                    }
                    id = *b;
                }
                _ => return false,
            }
        }
        false
    }

    /// Returns a reduction over so many places of a dimension, from one on.
    fn part(&mut self, r: &Reduced, place: usize, count: Dim, from: Dim) -> Option<Reduced> {
        let level = r.level.checked_add(u32::try_from(place).ok()?)?;
        let own = self.place(Place::Bound(level, count));
        let at = self.shift(own, from)?;
        let body = self.at_place(r.body, r, place, at)?;
        let mut sizes = r.sizes.clone();
        *sizes.get_mut(place)? = count;
        Some(Reduced { sizes, body, ..*r })
    }

    fn at_place(&mut self, body: ExprId, r: &Reduced, place: usize, at: IndexId) -> Option<ExprId> {
        let level = r.level.checked_add(u32::try_from(place).ok()?)?;
        self.moved(body, &Moves { vars: SmallVec::new(), bound: Some((level, SmallVec::from_elem(at, 1))) })
    }
}
