//! Expressions made again: at another index, or where something more is known.
//!
//! Promises: what is made again equals the expression with its indices replaced, for every element that is there; each expression is made once.
//! A worklist, no recursion: children have smaller numbers.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::make::width;

/// What stands in place of index variables.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    /// For `Var(0), Var(1), ...`; those beyond stay.
    pub vars: SmallVec<[IndexId; 4]>,
    /// For `Bound(level)`.
    pub bound: Option<(u32, SmallVec<[IndexId; 2]>)>,
}

struct Work {
    moves: Moves,
    exprs: FxHashMap<ExprId, ExprId>,
    indices: FxHashMap<IndexId, IndexId>,
}

impl Elements {
    /// Returns the indices that an expression names itself.
    pub(in crate::rules) fn indices_in(expr: &Expr) -> SmallVec<[IndexId; 4]> {
        match &expr.form {
            Form::Load(_, at) => at.clone(),
            Form::Index(i) | Form::AtLeastZero(i) | Form::IsZero(i) => SmallVec::from_elem(*i, 1),
            _ => SmallVec::new(),
        }
    }

    /// Returns the places in an index, those within divisions too.
    pub fn places_in(&self, index: IndexId) -> Vec<Place> {
        let (mut out, mut open) = (Vec::new(), vec![index]);
        while let Some(at) = open.pop() {
            for (place, _) in &self.linear(at).terms {
                out.push(*place);
                if let Place::Div(inner, _) | Place::Mod(inner, _) = place {
                    open.push(*inner);
                }
            }
        }
        out
    }

    /// Returns whether dimensions that are reduced at that level or above stand in an expression.
    pub(super) fn mentions(&self, root: ExprId, level: u32) -> bool {
        self.highest_level(root).is_some_and(|l| l >= level)
    }

    /// Whether every float in an expression is an element as it is, with another sign, chosen, or bits seen as one: no arithmetic makes it.
    pub fn only_moves_floats(&self, root: ExprId) -> bool {
        use crate::rules::element::arena::Op;
        let of_short = |x: &Expr| {
            let from = x.kids.first().and_then(|k| self.dtype(*k));
            matches!(x.form, Form::Op(Op::Cast)) && x.dtype == Dtype::F32 && from == Some(Dtype::Bf16)
        };
        self.below(root).into_iter().filter_map(|id| self.expr(id)).filter(|x| x.dtype.is_float()).all(|x| {
            matches!(x.form, Form::Load(..) | Form::Const(_) | Form::Op(Op::Neg | Op::Abs | Op::Choose | Op::Bits))
                || of_short(x)
        })
    }

    /// Returns the highest dimension that is reduced anywhere in an expression.
    pub fn highest_level(&self, root: ExprId) -> Option<u32> {
        let mut most = None;
        for id in self.below(root) {
            let Some(expr) = self.expr(id) else { continue };
            for index in Self::indices_in(expr) {
                for place in self.places_in(index) {
                    if let Place::Bound(level, _) = place {
                        most = most.max(Some(level));
                    }
                }
            }
            if let Form::Reduce(_, level, sizes) = &expr.form {
                let last = level.saturating_add(u32::try_from(sizes.len()).unwrap_or(u32::MAX));
                most = most.max(Some(last));
            }
        }
        most
    }

    /// Returns an expression with its index variables replaced, simplified by what is known now.
    pub fn moved(&mut self, root: ExprId, moves: &Moves) -> Option<ExprId> {
        let mut work = Work { moves: moves.clone(), exprs: FxHashMap::default(), indices: FxHashMap::default() };
        let all = self.below(root);
        self.spend(all.len())?;
        for id in all {
            let expr = self.expr(id)?.clone();
            let made = match (self.truths.get(&id), self.assumed.get(&id)) {
                (Some(known), _) => self.truth(*known)?,
                (None, Some(number)) => *number,
                (None, None) => match self.number_by_truths(id, &expr)? {
                    Some(number) => number,
                    None => self.remade(id, &expr, &mut work)?,
                },
            };
            work.exprs.insert(id, made);
        }
        work.exprs.get(&root).copied()
    }

    /// The one number that truths leave of an integer of a source.
    fn number_by_truths(&mut self, id: ExprId, expr: &Expr) -> Option<Option<ExprId>> {
        if self.truths.is_empty() || !matches!(expr.form, Form::Load(..)) || width(expr.dtype).is_none_or(|w| w < 2) {
            return Some(None);
        }
        match self.integers_of(id) {
            Some((low, high)) if low == high => self.integer(expr.dtype, low).map(Some),
            _ => Some(None),
        }
    }

    /// Returns an expression with other ones in the place of some that it is made of, simplified.
    pub fn with_others(&mut self, root: ExprId, others: &FxHashMap<ExprId, ExprId>) -> Option<ExprId> {
        let before = std::mem::replace(&mut self.assumed, others.clone());
        let made = self.moved(root, &Moves::default());
        self.assumed = before;
        made
    }

    fn remade(&mut self, id: ExprId, expr: &Expr, work: &mut Work) -> Option<ExprId> {
        match &expr.form {
            Form::Load(source, at) => {
                let at = at.iter().map(|i| self.index_moved(*i, work)).collect::<Option<_>>()?;
                self.load(expr.dtype, *source, at)
            }
            Form::Index(i) => {
                let i = self.index_moved(*i, work)?;
                self.index_value(expr.dtype, i)
            }
            Form::AtLeastZero(i) => {
                let i = self.index_moved(*i, work)?;
                self.at_least_zero_expr(i)
            }
            Form::IsZero(i) => {
                let i = self.index_moved(*i, work)?;
                self.is_zero_expr(i)
            }
            Form::Const(_) | Form::Number(_) => Some(id),
            _ => {
                let kids: Vec<ExprId> = expr.kids.iter().map(|k| work.exprs.get(k).copied()).collect::<Option<_>>()?;
                // A choice that was made leaves only one of its values to be known.
                self.again(expr, &kids)
            }
        }
    }

    fn index_moved(&mut self, index: IndexId, work: &mut Work) -> Option<IndexId> {
        if let Some(known) = work.indices.get(&index) {
            return Some(*known);
        }
        let mut open = vec![(index, false)];
        while let Some((at, below_done)) = open.pop() {
            if work.indices.contains_key(&at) {
                continue;
            }
            let sum = self.linear(at).clone();
            if !below_done {
                open.push((at, true));
                open.extend(sum.terms.iter().filter_map(|(p, _)| match p {
                    Place::Div(e, _) | Place::Mod(e, _) => Some((*e, false)),
                    _ => None,
                }));
                continue;
            }
            let mut total = self.at(sum.offset());
            for (place, by) in sum.terms {
                let part = match place {
                    Place::Var(k, _) => work.moves.vars.get(k as usize).copied(),
                    Place::Bound(k, _) => work
                        .moves
                        .bound
                        .as_ref()
                        .and_then(|(level, with)| with.get(usize::try_from(k.checked_sub(*level)?).ok()?).copied()),
                    Place::Div(e, n) => Some(self.quotient(*work.indices.get(&e)?, n)?),
                    Place::Mod(e, n) => Some(self.remainder(*work.indices.get(&e)?, n)?),
                    Place::Data(e) => {
                        let e = *work.exprs.get(&e)?;
                        Some(self.data_index(e)?)
                    }
                };
                let part = match part {
                    Some(part) => part,
                    None => self.place(place),
                };
                let part = self.scale(part, by)?;
                total = self.sum(total, part)?;
            }
            work.indices.insert(at, total);
        }
        work.indices.get(&index).copied()
    }

    /// Returns the index that an integer of the data is.
    pub fn data_index(&mut self, e: ExprId) -> Option<IndexId> {
        match self.expr(e)?.form {
            Form::Index(i) => Some(i),
            Form::Const(v) => Some(self.at(crate::sym::Dim::Fixed(v))),
            Form::Poly(_) | Form::Op(Op::DivFloor | Op::Shr) => match self.quotient_as_index(e)? {
                Some(quotient) => Some(quotient),
                None => self.sum_or_place(e),
            },
            _ => Some(self.place(Place::Data(e))),
        }
    }

    fn sum_or_place(&mut self, e: ExprId) -> Option<IndexId> {
        match self.sum_as_index(e)? {
            Some(sum) => Some(sum),
            None => Some(self.place(Place::Data(e))),
        }
    }

    /// A quotient of an integer of the data by a number, rounded down, or what is left of it, is one of the index that it is.
    fn quotient_as_index(&mut self, e: ExprId) -> Option<Option<IndexId>> {
        let Expr { dtype, form, kids } = self.expr(e)?.clone();
        let found = match (&form, kids.as_slice()) {
            (Form::Op(Op::DivFloor), [x, n]) => self.number(*n).map(|n| (*x, n, false)),
            (Form::Op(Op::Shr), [x, n]) => {
                let by = self.number(*n).and_then(|n| 1_i64.checked_shl(u32::try_from(n).ok()?));
                by.map(|by| (*x, by, false))
            }
            (Form::Poly(products), kids) => self.remainder_of(products, kids).map(|(x, by)| (x, by, true)),
            _ => None,
        };
        let Some((x, by, left)) = found.filter(|(_, by, _)| *by > 0 && dtype == crate::graph::Dtype::I64) else {
            return Some(None);
        };
        if self.integers_of(x).is_none_or(|(low, _)| low < 0) {
            return Some(None);
        }
        self.by("quotient-of-index");
        let (at, by) = (self.sum_or_place(x)?, crate::sym::Dim::Fixed(by));
        if left { self.remainder(at, by).map(Some) } else { self.quotient(at, by).map(Some) }
    }

    /// A sum of integers of the data that surely does not wrap around is a sum of indices.
    fn sum_as_index(&mut self, e: ExprId) -> Option<Option<IndexId>> {
        let Expr { dtype, form: Form::Poly(products), kids } = self.expr(e)?.clone() else { return Some(None) };
        let single = products.iter().all(|(count, by)| *count <= 1 && by.unsigned_abs() <= 1 << 20);
        if dtype != crate::graph::Dtype::I64 || !single || products.len() > 8 || self.integers_of(e).is_none() {
            return Some(None);
        }
        self.by("sum-of-indices");
        let mut kids = kids.iter().copied();
        let mut out = self.at(crate::sym::Dim::Fixed(0));
        for (count, by) in products.iter() {
            let part = match count {
                0 => self.at(crate::sym::Dim::Fixed(*by)),
                _ => {
                    let kid = kids.next()?;
                    let one = match self.expr(kid)?.form {
                        Form::Index(i) => i,
                        _ => self.place(Place::Data(kid)),
                    };
                    self.scale(one, crate::sym::Dim::Fixed(*by))?
                }
            };
            out = self.sum(out, part)?;
        }
        Some(Some(out))
    }
}
