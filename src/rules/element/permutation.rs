//! Permutations, what undoes them, and what does not see them.
//!
//! ## What it says
//! Where a dimension is put in order, the places that are told are all of its places, each once; so are integers of which the host says it. What
//! puts such places in order themselves undoes them: `p[argsort(p)]` is each place in its turn, and so is `argsort(p)[p]`. The greatest, the least, "any", a sum of integers,
//! or of real numbers, over all places is the same in another order of them. Where an element comes in an order that leaves equal ones as they stand is how
//! many are less, and how many equal ones stand before it. What is taken together backwards is taken together forwards.
//!
//! ## When it is wrong
//! Places that may be told twice, or that are not all (`topk`), undo nothing. A sum of floats bit by bit is another one in another order, and of two
//! zeros the kernel's order says which is the greater one. A NaN, which is less than nothing, comes last: of such floats no places are counted.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op, Source, SourceId, Tensor};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::make::width;
use crate::rules::element::rebuild::Moves;
use crate::rules::table::chosen_by;
use crate::sym::Dim;
use crate::term::term::Token;

/// What stands for the places that undo others.
const UNDOES: &str = "undoes";

impl Elements {
    /// Says that the elements of a source of one dimension are all its places, each once.
    pub fn holds_all_places(&mut self, source: SourceId) {
        self.permutations.insert(source);
    }

    /// Returns the dimension along which the elements of a source are all places, each once, with its size.
    pub(in crate::rules) fn permutes(&self, source: SourceId) -> Option<(usize, Dim)> {
        let found = match self.source_of(source)? {
            Source::Value(_) => return self.permutations.get(&source).and_then(|_| Some((0, self.own_size(source)?))),
            Source::Call { target, tokens, kids, .. } if &**target == UNDOES => {
                let dim = along(tokens.first()?, self.tensor_of(*kids.first()?)?.sizes.len())?;
                (dim, kids.first()?)
            }
            Source::Call { target, tokens, kids, item: 1 } => {
                let chosen = chosen_by(target)?;
                let all = chosen.falls.is_some() && chosen.ordered.is_none() && !chosen.counted;
                all.then_some(())?;
                (along(tokens.get(chosen.dim)?, self.tensor_of(*kids.first()?)?.sizes.len())?, kids.first()?)
            }
            Source::Call { .. } => return None,
        };
        let (dim, kid) = found;
        Some((dim, *self.tensor_of(*kid)?.sizes.get(dim)?))
    }

    /// The size of a source of one dimension that the host says holds all places: one more than the greatest of them.
    fn own_size(&self, source: SourceId) -> Option<Dim> {
        self.between.get(&source).and_then(|(_, high)| high.checked_add(1)).map(Dim::Fixed)
    }

    /// Returns what places undo: all of an expression that is a source of places, looked up at each index in its turn.
    fn undone_by(&self, source: SourceId) -> Option<SourceId> {
        let Source::Call { target, kids, .. } = self.source_of(source)? else { return None };
        (&**target == UNDOES).then_some(())?;
        self.all_of(self.tensor_of(*kids.first()?)?)
    }

    /// Returns the source that a tensor is.
    fn all_of(&self, tensor: &Tensor) -> Option<SourceId> {
        let Form::Load(of, at) = &self.expr(tensor.expr)?.form else { return None };
        let each = (0_u32..).zip(&tensor.sizes).zip(at).all(|((k, d), i)| {
            let sum = self.linear(*i);
            sum.offset() == Dim::Fixed(0)
                && matches!(sum.terms.as_slice(), [(Place::Var(v, s), Dim::Fixed(1))] if *v == k && s == d)
        });
        (each && at.len() == tensor.sizes.len()).then_some(*of)
    }

    /// Returns the places that undo those of a source.
    pub(in crate::rules) fn undoing(&mut self, source: SourceId) -> Option<SourceId> {
        if let Some(own) = self.undone_by(source) {
            return Some(own);
        }
        let (dim, size) = self.permutes(source)?;
        let (dtype, sizes) = match self.source_of(source)? {
            Source::Value(_) => (Dtype::I64, [size].into_iter().collect()),
            Source::Call { kids, .. } => (Dtype::I64, self.tensor_of(*kids.first()?)?.sizes.clone()),
        };
        let vars: SmallVec<[IndexId; 4]> = (0_u32..).zip(&sizes).map(|(k, d)| self.var(k, *d)).collect();
        let expr = self.plain(dtype, Form::Load(source, vars), &[])?;
        let kid = self.tensor(Tensor { dtype, sizes, expr });
        let tokens = Box::new([Token::count(dim)]);
        Some(self.source(Source::Call { target: UNDOES.into(), tokens, kids: [kid].into(), item: 0 }))
    }

    /// Places put in order undo what they are: returns that source.
    fn orders_places(&mut self, source: SourceId) -> Option<SourceId> {
        let Source::Call { target, tokens, kids, item: 1 } = self.source_of(source)? else { return None };
        let falls = chosen_by(target)?.falls?;
        (tokens.get(falls) == Some(&Token::Bool(false))).then_some(())?;
        let (of, dim) = (self.all_of(self.tensor_of(*kids.first()?)?)?, self.permutes(source)?);
        (self.permutes(of)? == dim).then_some(())?;
        self.undoing(of)
    }

    /// Returns what is looked up among places, where these are undone at the index, or put in order what undoes them.
    pub(super) fn undone(&mut self, source: SourceId, at: &[IndexId]) -> Option<Option<ExprId>> {
        if let Some(undoing) = self.orders_places(source) {
            self.by("places-undone");
            return self.load(Dtype::I64, undoing, at.into()).map(Some);
        }
        let Some((dim, _)) = self.permutes(source) else { return Some(None) };
        let Some((other, index)) = at.get(dim).and_then(|i| self.looked_up_place(*i)) else { return Some(None) };
        let same = index.len() == at.len() && (0..).zip(at).all(|(k, i)| k == dim || index.get(k) == Some(i));
        let undone = self.undone_by(source) == Some(other) || self.undone_by(other) == Some(source);
        match index.get(dim) {
            Some(place) if same && undone && self.permutes(other).is_some_and(|(d, _)| d == dim) => {
                self.by("places-undone");
                let dtype = Dtype::I64;
                self.index_value(dtype, *place).map(Some)
            }
            _ => Some(None),
        }
    }

    /// Returns whether two expressions are equal once where an element comes in order is how many come before it.
    pub fn equal_ranked(&mut self, dtype: Dtype, sizes: &[Dim], ends: [ExprId; 2]) -> bool {
        let [Some(a), Some(b)] = ends.map(|end| self.with_ranks(end)) else { return false };
        if [a, b] == ends {
            return false;
        }
        let [a, b] = [a, b].map(|expr| self.tensor(Tensor { dtype, sizes: sizes.into(), expr }));
        let equal = self.equal_tensors(a, b);
        if equal {
            self.by("places-counted");
        }
        equal
    }

    fn with_ranks(&mut self, root: ExprId) -> Option<ExprId> {
        let mut others: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in self.below(root) {
            let Some(Form::Load(source, at)) = self.expr(id).map(|x| x.form.clone()) else { continue };
            if let Some(rank) = self.rank(source, &at)? {
                others.insert(id, rank);
            }
        }
        if others.is_empty() { Some(root) } else { self.with_others(root, &others) }
    }

    /// Returns how many elements of a dimension come before one where equal ones stay in their order; `None` within of what undoes other places.
    fn rank(&mut self, source: SourceId, at: &[IndexId]) -> Option<Option<ExprId>> {
        let Some(Source::Call { target, tokens, kids, item: 1 }) =
            self.undone_by(source).and_then(|own| self.source_of(own)).cloned()
        else {
            return Some(None);
        };
        let chosen = chosen_by(&target)?;
        let says = |at: Option<usize>, truth| at.and_then(|k| tokens.get(k)) == Some(&Token::Bool(truth));
        let x = self.tensor_of(*kids.first()?)?.clone();
        let (stable, falls) = (says(chosen.stable, true), says(chosen.falls, true));
        let ordered = if x.dtype.is_float() { self.floats_of(x.expr).is_some() } else { width(x.dtype).is_some() };
        let dim = along(tokens.get(chosen.dim)?, x.sizes.len())?;
        let (size, own) = (*x.sizes.get(dim)?, *at.get(dim)?);
        if !stable || !ordered || !falls && !says(chosen.falls, false) || at.len() != x.sizes.len() {
            return Some(None);
        }
        let level = self.highest_level(x.expr).into_iter().chain(self.levels_in(at)).max();
        let level = level.map_or(0, |l| l.saturating_add(1));
        let place = self.place(Place::Bound(level, size));
        let mut there: SmallVec<[IndexId; 4]> = at.into();
        *there.get_mut(dim)? = place;
        let here = self.moved(x.expr, &Moves { vars: at.into(), bound: None })?;
        let there = self.moved(x.expr, &Moves { vars: there, bound: None })?;
        let (first, second) = if falls { (here, there) } else { (there, here) };
        let less = self.op(Op::Lt, Dtype::Bool, &[first, second])?;
        let equal = self.op(Op::Eq, Dtype::Bool, &[here, there])?;
        let apart = self.difference(own, place)?;
        let apart = self.shift(apart, Dim::Fixed(-1))?;
        let ahead = self.at_least_zero_expr(apart)?;
        let tied = self.op(Op::And, Dtype::Bool, &[equal, ahead])?;
        let before = self.op(Op::Or, Dtype::Bool, &[less, tied])?;
        let each = self.op(Op::Cast, Dtype::I64, &[before])?;
        self.reduced(Fold::Sum, level, &[size], each).map(Some)
    }

    /// Returns the source and the index of the element that an index is.
    pub(in crate::rules) fn looked_up_place(&self, index: IndexId) -> Option<(SourceId, SmallVec<[IndexId; 4]>)> {
        let sum = self.linear(index);
        let [(Place::Data(e), Dim::Fixed(1))] = sum.terms.as_slice() else { return None };
        (sum.offset() == Dim::Fixed(0)).then_some(())?;
        let inner = match self.op_of(*e) {
            Some((Op::Cast, [x])) => *x,
            _ => *e,
        };
        match &self.expr(inner)?.form {
            Form::Load(source, at) => Some((*source, at.clone())),
            _ => None,
        }
    }

    /// Returns what is taken together over dimensions, in the order in which places of it are read: then it says nothing of that order.
    pub(super) fn in_own_order(
        &mut self,
        fold: Fold,
        (level, sizes): (u32, &[Dim]),
        body: ExprId,
    ) -> Option<Option<ExprId>> {
        let floats = self.dtype(body)?.is_float();
        if floats && (self.exact || fold == Fold::Product) {
            return Some(None);
        }
        let mut found: Option<(SourceId, SmallVec<[IndexId; 4]>, usize, u32)> = None;
        for id in self.below(body) {
            let Some(Form::Load(source, at)) = self.expr(id).map(|x| x.form.clone()) else { continue };
            let Some((dim, size)) = self.permutes(source).filter(|_| self.undone_by(source).is_none()) else {
                continue;
            };
            let Some(place) = at.get(dim).map(|i| self.linear(*i)) else { continue };
            let [(Place::Bound(name, own), Dim::Fixed(1))] = place.terms.as_slice() else { continue };
            let k = name.checked_sub(level).map(|k| k as usize);
            let whole = place.offset() == Dim::Fixed(0) && k.and_then(|k| sizes.get(k)) == Some(own) && *own == size;
            if whole {
                found = Some((source, at, dim, *name));
                break;
            }
        }
        let Some((source, at, dim, name)) = found else { return Some(None) };
        // Along other dimensions one order a place: which one must not be said by what is exchanged.
        let names_it = |e: &Self, i: &IndexId| {
            e.places_in(*i).iter().any(|p| matches!(p, Place::Bound(n, _) if *n == name) || matches!(p, Place::Data(_)))
        };
        if (0..).zip(&at).any(|(k, i)| k != dim && names_it(self, i)) {
            return Some(None);
        }
        let Some(undoing) = self.undoing(source) else { return Some(None) };
        let place = self.load(Dtype::I64, undoing, at)?;
        let place = self.data_index(place)?;
        let mut with: SmallVec<[IndexId; 2]> = SmallVec::new();
        for (k, size) in (0_u32..).zip(sizes) {
            let own = level.checked_add(k)?;
            with.push(if own == name { place } else { self.place(Place::Bound(own, *size)) });
        }
        let other = self.moved(body, &Moves { vars: SmallVec::new(), bound: Some((level, with)) })?;
        // Where both orders are told, what undoes places tells which one stands.
        let sees = self
            .below(other)
            .into_iter()
            .any(|id| matches!(self.expr(id).map(|x| &x.form), Some(Form::Load(s, _)) if *s == source));
        Some((!sees).then_some(other))
    }

    /// Returns what is taken together over dimensions, each of which is read backwards alone, in rising order.
    pub(super) fn in_rising_order(
        &mut self,
        fold: Fold,
        (level, sizes): (u32, &[Dim]),
        body: ExprId,
    ) -> Option<Option<ExprId>> {
        if self.dtype(body)?.is_float() && (self.exact || fold == Fold::Product) {
            return Some(None);
        }
        let mut falls: SmallVec<[bool; 2]> = SmallVec::from_elem(false, sizes.len());
        let mut stays = falls.clone();
        for id in self.below(body) {
            let read: SmallVec<[IndexId; 4]> = match &self.expr(id)?.form {
                Form::Load(_, at) => at.clone(),
                Form::Index(at) => SmallVec::from_elem(*at, 1),
                _ => continue,
            };
            let is_load = matches!(self.expr(id)?.form, Form::Load(..));
            for index in read {
                let own = self.linear(index).terms.clone();
                for place in self.places_in(index) {
                    let Place::Bound(name, _) = place else { continue };
                    let Some(k) = name.checked_sub(level).map(|k| k as usize).filter(|k| *k < sizes.len()) else {
                        continue;
                    };
                    let by = own.iter().find(|(p, _)| *p == place).and_then(|(_, by)| by.fixed());
                    let backwards = is_load && by.is_some_and(|by| by < 0);
                    *(if backwards { falls.get_mut(k)? } else { stays.get_mut(k)? }) = true;
                }
            }
        }
        let mut with: SmallVec<[IndexId; 2]> = SmallVec::new();
        for (k, size) in (0_u32..).zip(sizes) {
            let place = self.place(Place::Bound(level.checked_add(k)?, *size));
            let turned = *falls.get(k as usize)? && !*stays.get(k as usize)?;
            let last = self.at(*size);
            with.push(if turned {
                self.difference(last, place).and_then(|i| self.shift(i, Dim::Fixed(-1)))?
            } else {
                place
            });
        }
        if !falls.iter().zip(&stays).any(|(falls, stays)| *falls && !stays) {
            return Some(None);
        }
        self.moved(body, &Moves { vars: SmallVec::new(), bound: Some((level, with)) }).map(Some)
    }
}

fn along(token: &Token, rank: usize) -> Option<usize> {
    match token {
        Token::Int(d) => {
            let d = if *d < 0 { d.checked_add(i64::try_from(rank).ok()?)? } else { *d };
            usize::try_from(d).ok().filter(|d| *d < rank)
        }
        Token::None if rank == 1 => Some(0),
        _ => None,
    }
}
