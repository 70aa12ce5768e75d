//! Elements of a dimension in order.
//!
//! ## What it says
//! What is put in order may have been in another order before: sorted already, or read from the end. The last one is the greatest, and of
//! integers the first one the least; so it is of those at some of the places. A conversion that loses nothing keeps order. Of at most five integers the one at any place is told by the greater and the lesser
//! of them.
//!
//! ## When it is wrong
//! NaN comes last: the first of floats is not the least where one is NaN. Of zeros of both signs the kernel chooses: bit by bit only integers
//! are put in order here. Where an element stood is another question.

use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op, Source, SourceId, Tensor};
use crate::rules::element::cast::loses_nothing;
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::rebuild::Moves;
use crate::sym::Dim;
use crate::term::sizes::Dims;
use crate::term::term::Token;

/// What stands for the elements of the last dimension in order.
const IN_ORDER: &str = "in order";

/// Of how many elements in order each is written out.
const FEW: i64 = 5;

/// How often what is put in order may have been put in order before.
const NESTED: usize = 8;

impl Elements {
    /// Returns the element at an index of a tensor whose last dimension is put in order.
    pub(in crate::rules) fn sorted_at(
        &mut self,
        dtype: Dtype,
        sizes: Dims,
        expr: ExprId,
        at: SmallVec<[IndexId; 4]>,
    ) -> Option<ExprId> {
        // A conversion that loses nothing keeps order.
        if let Some((Op::Cast, [inner])) = self.op_of(expr)
            && let (inner, from) = (*inner, self.dtype(*inner)?)
            && loses_nothing(from, dtype)
            && from != Dtype::Bool
        {
            self.by("sort-before-cast");
            let found = self.sorted_at(from, sizes, inner, at)?;
            return self.op(Op::Cast, dtype, &[found]);
        }
        let vars: SmallVec<[IndexId; 4]> = (0_u32..).zip(&sizes).map(|(k, d)| self.var(k, *d)).collect();
        let mut turned = vars.clone();
        let (last, size) = (turned.last_mut()?, *sizes.last()?);
        let back = self.scale(*last, Dim::Fixed(-1))?;
        let end = self.plus(size, Dim::Fixed(-1))?;
        *last = self.shift(back, end)?;
        let mut expr = expr;
        for _ in 0..NESTED {
            let other = self.moved(expr, &Moves { vars: turned.clone(), bound: None })?;
            match [expr, other].into_iter().find_map(|x| self.put_in_order(x, &vars)) {
                Some(inner) => {
                    self.by("sort-of-sorted");
                    expr = inner;
                }
                None => {
                    expr = expr.min(other);
                    break;
                }
            }
        }
        let kid = self.tensor(Tensor { dtype, sizes, expr });
        let source = Source::Call { target: IN_ORDER.into(), tokens: Box::new([]), kids: [kid].into(), item: 0 };
        let source = self.source(source);
        self.load(dtype, source, at)
    }

    /// Returns what was put in order, where an expression is all of that.
    fn put_in_order(&self, expr: ExprId, vars: &[IndexId]) -> Option<ExprId> {
        match &self.expr(expr)?.form {
            Form::Load(source, at) if at.as_slice() == vars => Some(self.ordered(*source)?.expr),
            _ => None,
        }
    }

    /// Returns the size of the dimension of which a source says places, counted from the front.
    pub fn places_among(&self, source: SourceId) -> Option<Dim> {
        if let Some((_, size)) = self.permutes(source) {
            return Some(size);
        }
        let Source::Call { target, tokens, kids, item } = self.source_of(source)? else { return None };
        if crate::rules::table::tells_triangle(target) {
            let (Token::Int(rows), Token::Int(columns)) = (tokens.first()?, tokens.get(1)?) else { return None };
            return Some(Dim::Fixed(*rows.max(columns)));
        }
        let sizes = &self.tensor_of(*kids.first()?)?.sizes;
        let is_place = |fold| crate::rules::table::place_of(fold).is_some_and(|name| *name == **target);
        let along = match crate::rules::table::chosen_by(target) {
            Some(chosen) if *item == 1 => chosen.dim,
            None if [Fold::Most, Fold::Least].into_iter().any(is_place) => 1,
            _ => return None,
        };
        match (tokens.get(along)?, sizes.as_slice()) {
            (Token::None, [one]) => Some(*one),
            (Token::Int(d), sizes) => {
                let rank = i64::try_from(sizes.len()).ok()?;
                let d = if *d < 0 { d.checked_add(rank)? } else { *d };
                sizes.get(usize::try_from(d).ok()?).copied()
            }
            _ => None,
        }
    }

    /// Whether a source is a dimension of others in order: of floats, of such as no rounding reaches.
    pub(in crate::rules) fn is_in_order(&self, source: SourceId) -> bool {
        self.ordered(source).is_some()
    }

    /// Returns what stands last where an element is one of a dimension in order.
    pub(in crate::rules) fn last_in_order(&mut self, id: ExprId) -> Option<Option<ExprId>> {
        let expr = self.expr(id)?.clone();
        let Form::Load(source, mut at) = expr.form else { return Some(None) };
        let Some(size) = self.ordered(source).and_then(|t| t.sizes.last().copied()) else { return Some(None) };
        let end = self.plus(size, Dim::Fixed(-1))?;
        *at.last_mut()? = self.at(end);
        self.load(expr.dtype, source, at).map(Some)
    }

    /// Returns the tensor of which a source has a dimension in order.
    pub(in crate::rules) fn ordered(&self, source: SourceId) -> Option<&Tensor> {
        match self.source_of(source)? {
            Source::Call { target, kids, .. } if &**target == IN_ORDER => self.tensor_of(*kids.first()?),
            _ => None,
        }
    }

    /// Returns the greatest, or the least, where the last, or the first, of a dimension in order is looked up.
    pub(super) fn end_of_sorted(&mut self, source: SourceId, at: &[IndexId]) -> Option<Option<ExprId>> {
        let Some(Tensor { dtype, sizes, expr }) = self.ordered(source).cloned() else { return Some(None) };
        let (place, size) = (*at.last()?, *sizes.last()?);
        let end = self.plus(size, Dim::Fixed(-1))?;
        let fold = if place == self.at(end) {
            Fold::Most
        } else if place == self.at(Dim::Fixed(0)) && !dtype.is_float() {
            Fold::Least
        } else {
            return self.one_of_few_in_order((dtype, &sizes, expr), at);
        };
        self.by("end-of-sorted");
        let mut vars: SmallVec<[IndexId; 4]> = at.into();
        let level = self.highest_level(expr).into_iter().chain(self.levels_in(at)).max();
        let level = level.map_or(0, |l| l.saturating_add(1));
        *vars.last_mut()? = self.place(Place::Bound(level, size));
        let element = self.moved(expr, &Moves { vars, bound: None })?;
        self.extreme(fold, level, size, element).map(Some)
    }

    /// The greatest (least) of some places of a dimension in order: what stands at the last (first) of these.
    pub(super) fn end_of_places(
        &mut self,
        fold: Fold,
        level: u32,
        sizes: &[Dim],
        body: ExprId,
    ) -> Option<Option<ExprId>> {
        let expr = self.expr(body)?.clone();
        let Form::Load(source, mut at) = expr.form else { return Some(None) };
        let numbers = fold == Fold::Most || fold == Fold::Least && !expr.dtype.is_float();
        if !numbers || self.ordered(source).is_none() {
            return Some(None);
        }
        let own = |p: &Place| match p {
            Place::Bound(l, size) => {
                l.checked_sub(level).is_some_and(|k| sizes.get(k as usize) == Some(size)).then_some(*size)
            }
            _ => None,
        };
        let place = self.linear(at.pop()?).clone();
        let mut end = self.at(place.offset());
        for (place, by) in place.terms {
            let part = match (own(&place), by.fixed(), place) {
                // What is divided, or comes from the data, may depend on the place.
                (_, _, Place::Div(..) | Place::Mod(..) | Place::Data(_)) | (Some(_), None, _) => return Some(None),
                (Some(_), Some(by), _) if (by > 0) != (fold == Fold::Most) => continue,
                (Some(size), Some(_), _) => {
                    let last = self.plus(size, Dim::Fixed(-1))?;
                    self.at(last)
                }
                (None, _, place) => self.place(place),
            };
            let part = self.scale(part, by)?;
            end = self.sum(end, part)?;
        }
        let rest = self.levels_in(&at).into_iter().chain(self.levels_in(&[end])).max();
        if rest.is_some_and(|l| l >= level) {
            return Some(None);
        }
        at.push(end);
        self.by("end-of-sorted");
        self.load(expr.dtype, source, at).map(Some)
    }

    /// The integer at a place, a number, of few in order.
    fn one_of_few_in_order(
        &mut self,
        (dtype, sizes, expr): (Dtype, &Dims, ExprId),
        at: &[IndexId],
    ) -> Option<Option<ExprId>> {
        let place = self.linear(*at.last()?).clone();
        let known = place.offset().fixed().filter(|_| place.terms.is_empty()).and_then(|p| usize::try_from(p).ok());
        let count = sizes.last()?.fixed().filter(|n| (2..=FEW).contains(n));
        let (Some(place), Some(count)) = (known, count) else { return Some(None) };
        if dtype.is_float() || dtype == Dtype::Bool {
            return Some(None);
        }
        let mut all = Vec::new();
        for k in 0..count {
            let mut vars: SmallVec<[IndexId; 4]> = at.into();
            *vars.last_mut()? = self.at(Dim::Fixed(k));
            all.push(self.moved(expr, &Moves { vars, bound: None })?);
        }
        self.by("one-of-few-in-order");
        self.at_place_of_few(dtype, &all, place).map(Some)
    }

    /// The greatest or the least of a dimension: of truths whether any is one, or none is none.
    pub(in crate::rules) fn extreme(&mut self, fold: Fold, level: u32, size: Dim, body: ExprId) -> Option<ExprId> {
        if self.dtype(body)? != Dtype::Bool {
            return self.reduced(fold, level, &[size], body);
        }
        if fold == Fold::Most {
            return self.reduced(Fold::Any, level, &[size], body);
        }
        let body = self.op(Op::Not, Dtype::Bool, &[body])?;
        let any = self.reduced(Fold::Any, level, &[size], body)?;
        self.op(Op::Not, Dtype::Bool, &[any])
    }

    /// Returns dimensions that are reduced and stand in indices, within what they look up too.
    pub(in crate::rules) fn levels_in(&self, at: &[IndexId]) -> Option<u32> {
        let places = at.iter().flat_map(|i| self.places_in(*i));
        places
            .filter_map(|place| match place {
                Place::Bound(level, _) => Some(level),
                Place::Data(e) => self.highest_level(e),
                _ => None,
            })
            .max()
    }
}
