//! Masks of -inf within a softmax: what their infinite numbers are in the limit.
//!
//! ## What it says
//! Where -inf is chosen by a truth, or added to what is finite, and all that sees it are the greatest of some, differences from that, and exponentials, an
//! element is the limit of what it is for a number that falls without end: an exponential that is masked is 0. So two elements that are equal for every such
//! number are equal. A number far below all that is computed masks as -inf does, where no row is masked as a whole. A row in which all is masked is NaN, or what a choice puts in its place: which rows these are is compared by the truths alone.
//!
//! ## When it is wrong
//! Where an infinite number is subtracted from another one that is not the greatest of it, is multiplied, divided by, or is the end itself; where what is divided by
//! may be nothing without its masked exponentials; where a choice hides a row that is NaN on one side only. None of these is looked into.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op, Source, SourceId};
use crate::rules::rounding::{Interval, holds_a_one, is_element_of, range};
use crate::rules::table::{Real, real};

/// At most this is a number that masks, where no element is near it.
const ENDLESS: f64 = -1e29;
/// Farther from 0 than this nothing may be that stands beside a number that masks.
const NEAR: f64 = 1e20;
/// The least number by which what is masked may be multiplied.
const LEAST: f64 = 1e-3;

/// An element whose masks are understood.
#[derive(Clone, Debug)]
pub struct Unmasked {
    /// The element with a number in place of -inf.
    pub limit: ExprId,
    /// The same, where what is added to such a number is left out, and its NaN with it: for the second side alone, which shows more of it.
    pub absorbed: ExprId,
    /// The element of which nothing is masked.
    pub bare: ExprId,
    /// Truths each of which is false where the element is NaN by its masks alone, in order.
    pub alive: Vec<ExprId>,
}

/// What an expression that -inf reaches may be.
#[derive(Clone, Debug)]
struct Seen {
    /// Where it is not -inf; `None` where it never is.
    alive: Option<ExprId>,
    /// Truths that are false where it is NaN.
    nan: Vec<ExprId>,
    /// Whether it is a sum of which one part is 1.
    above: bool,
}

#[derive(Default)]
struct Work {
    seen: FxHashMap<ExprId, Seen>,
    limit: FxHashMap<ExprId, ExprId>,
    absorbed: FxHashMap<ExprId, ExprId>,
    bare: FxHashMap<ExprId, ExprId>,
}

impl Elements {
    fn is_below_all(&self, id: ExprId) -> bool {
        self.float(id).is_some_and(|v| v.is_infinite() && v < 0.0)
    }

    /// Returns an element in which comparisons with -inf of what is masked are the truths of its masks.
    pub fn without_mask_queries(&mut self, root: ExprId) -> Option<ExprId> {
        if !self.below(root).into_iter().any(|id| self.is_below_all(id)) {
            return Some(root);
        }
        let (mut known, mut alive): (FxHashMap<ExprId, ExprId>, FxHashMap<ExprId, Seen>) = Default::default();
        for id in self.below(root) {
            self.spend(4)?;
            let expr = self.expr(id)?.clone();
            let asked = match (&expr.form, expr.kids.as_slice()) {
                (Form::Op(Op::Eq), [a, b]) if self.is_below_all(*a) => alive.get(b).and_then(|s| s.alive),
                (Form::Op(Op::Eq), [a, b]) if self.is_below_all(*b) => alive.get(a).and_then(|s| s.alive),
                _ => None,
            };
            let made = match asked {
                Some(truth) => self.op(Op::Not, crate::graph::Dtype::Bool, &[truth])?,
                None => {
                    let kids: Vec<ExprId> = expr.kids.iter().map(|k| known.get(k).copied().unwrap_or(*k)).collect();
                    if kids == expr.kids.as_slice() { id } else { self.again(&expr, &kids)? }
                }
            };
            if let Some(Some(seen)) = self.seen_in(id, &expr, &alive) {
                alive.insert(id, seen);
            }
            known.insert(id, made);
        }
        known.get(&root).copied()
    }

    /// Returns an element in which numbers far below all others are -inf, where all that sees them are choices, sums, the greatest of some, differences,
    /// multiples and exponentials: these are 0 either way, in rows of which something is left. `None` where there are none, or something else sees them.
    pub fn with_endless_masks(&mut self, root: ExprId) -> Option<ExprId> {
        let order = self.below(root);
        let (mut seen, mut made): (FxHashSet<ExprId>, FxHashMap<ExprId, ExprId>) = Default::default();
        for id in order {
            self.spend(2)?;
            let expr = self.expr(id)?.clone();
            let wide = matches!(expr.dtype, Dtype::Bf16 | Dtype::F32 | Dtype::F64);
            if wide && self.float(id).is_some_and(|v| v.is_finite() && v <= ENDLESS) {
                seen.insert(id);
                made.insert(id, self.rounded(expr.dtype, f64::NEG_INFINITY)?);
                continue;
            }
            let reached: SmallVec<[bool; 3]> = expr.kids.iter().map(|k| seen.contains(k)).collect();
            if self.parts(&expr).iter().any(|p| seen.contains(p) && !expr.kids.contains(p)) {
                return None;
            }
            if reached.contains(&true) {
                let is_multiple = |e: &Self| {
                    let by = expr.kids.iter().zip(&reached).find(|(_, reached)| !**reached);
                    by.is_some_and(|(k, _)| e.float(*k).is_some_and(|v| (LEAST..1e3).contains(&v)))
                };
                let carries = match &expr.form {
                    _ if !wide => false,
                    Form::Op(Op::Choose) => reached.first() == Some(&false),
                    Form::Op(Op::Add | Op::Cast) | Form::Reduce(Fold::Most, ..) => true,
                    Form::Op(Op::Sub) => reached.first() == Some(&true),
                    Form::Op(Op::Mul) => is_multiple(self),
                    Form::Named(target, _) => real(target) == Some(Real::Exp),
                    _ => false,
                };
                carries.then_some(())?;
                if !matches!(expr.form, Form::Named(..)) {
                    seen.insert(id);
                }
            }
            let kids: Vec<ExprId> = expr.kids.iter().map(|k| made.get(k).copied().unwrap_or(*k)).collect();
            let again = if kids == expr.kids.as_slice() { id } else { self.again(&expr, &kids)? };
            made.insert(id, again);
        }
        made.get(&root).copied().filter(|new| *new != root && !seen.contains(&root))
    }

    /// Whether all of which the greatest is taken surely lies far above numbers that mask, wherever elements of sources lie in the working range.
    pub fn is_near(&mut self, bare: ExprId) -> bool {
        let order = self.below(bare);
        let most: Vec<ExprId> =
            order.into_iter().filter(|id| self.is_reduction(*id) && self.takes_greatest(*id)).collect();
        let sources = |_: Option<SourceId>, dtype: Dtype| match dtype {
            Dtype::Bool => Interval::new(0.0, 1.0),
            d if d.is_float() => Interval::new(-2048.0, 2048.0),
            _ => Interval::new(-2.0_f64.powi(63), 2.0_f64.powi(63)),
        };
        most.into_iter().all(|id| range(self, id, &sources).is_some_and(|r| r.most() < NEAR))
    }

    fn takes_greatest(&self, id: ExprId) -> bool {
        matches!(self.expr(id).map(|x| &x.form), Some(Form::Reduce(Fold::Most, ..)))
    }

    /// Returns what an element is without its masks; `Some(None)` where it has none.
    pub fn unmasked(&mut self, root: ExprId, number: ExprId) -> Option<Option<Unmasked>> {
        let order = self.below(root);
        if !order.iter().any(|id| self.is_below_all(*id)) {
            return Some(None);
        }
        let mut work = Work::default();
        for id in order {
            self.spend(4)?;
            let expr = self.expr(id)?.clone();
            if let Some(seen) = self.seen_in(id, &expr, &work.seen)? {
                work.seen.insert(id, seen);
            }
            let under = |made: &FxHashMap<ExprId, ExprId>| -> Vec<ExprId> {
                expr.kids.iter().map(|k| made.get(k).copied().unwrap_or(*k)).collect()
            };
            let (limits, bares, absorbed) = (under(&work.limit), under(&work.bare), under(&work.absorbed));
            let limit = match self.is_below_all(id) {
                true => number,
                false if limits.as_slice() == expr.kids.as_slice() => id,
                false => self.again(&expr, &limits)?,
            };
            let absorbed = match self.is_below_all(id) {
                true => number,
                false => match self.absorbing(&expr, &absorbed, number)? {
                    Some(made) => made,
                    None if absorbed.as_slice() == expr.kids.as_slice() => id,
                    None => self.again(&expr, &absorbed)?,
                },
            };
            work.absorbed.insert(id, absorbed);
            let bare = match (&expr.form, bares.as_slice()) {
                (Form::Op(Op::Choose), [_, a, b]) if self.is_below_all(*b) => *a,
                (Form::Op(Op::Choose), [_, a, b]) if self.is_below_all(*a) => *b,
                _ if bares.as_slice() == expr.kids.as_slice() => id,
                _ => self.again(&expr, &bares)?,
            };
            work.limit.insert(id, limit);
            work.bare.insert(id, bare);
        }
        let seen = work.seen.get(&root)?;
        if seen.alive.is_some() {
            return None;
        }
        let mut alive = seen.nan.clone();
        alive.sort_unstable();
        alive.dedup();
        let (limit, bare) = (*work.limit.get(&root)?, *work.bare.get(&root)?);
        let absorbed = *work.absorbed.get(&root)?;
        let gone = !self.below(bare).into_iter().any(|id| self.is_below_all(id));
        gone.then_some(Some(Unmasked { limit, absorbed, bare, alive }))
    }

    /// A sum with what is masked by a choice, as that choice.
    fn absorbing(&mut self, expr: &Expr, kids: &[ExprId], number: ExprId) -> Option<Option<ExprId>> {
        let (Form::Op(Op::Add), [a, b]) = (&expr.form, kids) else { return Some(None) };
        for (more, masked) in [(*a, *b), (*b, *a)] {
            let Some((Op::Choose, [c, x, y])) = self.op_of(masked) else { continue };
            let (c, x, y) = (*c, *x, *y);
            if x != number && y != number {
                continue;
            }
            let [x, y] = [x, y].map(|kid| match kid == number {
                true => Some(number),
                false => self.op(Op::Add, expr.dtype, &[more, kid]),
            });
            return self.op(Op::Choose, expr.dtype, &[c, x?, y?]).map(Some);
        }
        Some(None)
    }

    /// What an expression may be, given its children; `Some(None)` where -inf does not reach it, `None` where it is not understood.
    fn seen_in(&mut self, id: ExprId, expr: &Expr, known: &FxHashMap<ExprId, Seen>) -> Option<Option<Seen>> {
        if self.is_below_all(id) {
            return Some(Some(Seen { alive: Some(self.truth(false)?), nan: Vec::new(), above: false }));
        }
        let all: Vec<Option<Seen>> = expr.kids.iter().map(|k| known.get(k).cloned()).collect();
        if all.iter().all(|s| s.is_none()) {
            // What is masked may stand in an index.
            return self.parts(expr).iter().all(|p| !known.contains_key(p)).then_some(None);
        }
        if !expr.dtype.is_float() {
            return None;
        }
        let yes = self.truth(true)?;
        let alive = |s: &Option<Seen>| s.as_ref().map_or(Some(yes), |s| s.alive.or(Some(yes))).unwrap_or(yes);
        let masked = |s: &Option<Seen>| s.as_ref().is_some_and(|s| s.alive.is_some());
        let nan: Vec<ExprId> = all.iter().flatten().flat_map(|s| s.nan.iter().copied()).collect();
        let finite = |nan: Vec<ExprId>, above: bool| Some(Some(Seen { alive: None, nan, above }));
        let any_masked = all.iter().any(masked);
        match (&expr.form, expr.kids.as_slice(), all.as_slice()) {
            (Form::Op(Op::Choose), [c, ..], [None, a, b]) => {
                if any_masked {
                    // Nothing that was made of masks already stands beside them.
                    let plain = |s: &Option<Seen>| s.as_ref().is_none_or(|s| s.alive.is_some() && s.nan.is_empty());
                    (plain(a) && plain(b)).then_some(())?;
                    let truth = self.op(Op::Choose, crate::graph::Dtype::Bool, &[*c, alive(a), alive(b)])?;
                    return Some(Some(Seen { alive: Some(truth), nan: Vec::new(), above: false }));
                }
                // A row that is NaN is left out where the truth that says so chooses.
                let other = self.op(Op::Not, crate::graph::Dtype::Bool, &[*c])?;
                let left_out =
                    |s: &Option<Seen>, truth: ExprId| s.as_ref().is_none_or(|s| s.nan.iter().all(|n| *n == truth));
                (left_out(a, *c) && left_out(b, other)).then_some(())?;
                finite(Vec::new(), false)
            }
            (Form::Op(Op::Add), _, [a, b]) if any_masked => {
                nan.is_empty().then_some(())?;
                let sums = |s: &Option<Seen>| s.as_ref().is_none_or(|s| s.alive.is_some());
                (sums(a) && sums(b)).then_some(())?;
                let truth = self.op(Op::And, crate::graph::Dtype::Bool, &[alive(a), alive(b)])?;
                Some(Some(Seen { alive: Some(truth), nan, above: false }))
            }
            (Form::Op(Op::Sub), [x, most], [Some(a), b]) if a.alive.is_some() && a.nan.is_empty() => match b {
                None => Some(Some(a.clone())),
                Some(b) => {
                    let own = b.nan.is_empty() && is_element_of(self, *x, *most, None);
                    own.then_some(Some(Seen { alive: a.alive, nan: vec![b.alive?], above: false }))
                }
            },
            (Form::Op(Op::Mul), [x, y], _) if any_masked => {
                let rises = |e: &Elements, k: ExprId| e.float(k).is_some_and(|v| v.is_finite() && v > 0.0);
                let other = match (rises(self, *x), rises(self, *y)) {
                    (true, _) => all.get(1),
                    (_, true) => all.first(),
                    _ => None,
                }?;
                Some(other.clone())
            }
            (Form::Op(Op::Cast), [from], [Some(a)]) if self.dtype(*from).is_some_and(|d| d.is_float()) => {
                Some(Some(Seen { above: false, ..a.clone() }))
            }
            (Form::Reduce(Fold::Most, level, sizes), _, [Some(a)]) if a.alive.is_some() && a.nan.is_empty() => {
                let any = self.reduced(Fold::Any, *level, sizes, a.alive?)?;
                Some(Some(Seen { alive: Some(any), nan: Vec::new(), above: false }))
            }
            (Form::Named(target, _), _, [Some(a)]) if matches!(real(target), Some(Real::Exp | Real::Exp2)) => {
                finite(a.nan.clone(), false)
            }
            _ if any_masked => None,
            // All of it is finite, or NaN with a row.
            (Form::Op(Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Abs | Op::Max | Op::Min), ..) => finite(nan, false),
            (Form::Op(Op::Div), _, [_, below]) => {
                below.as_ref().is_none_or(|b| b.above).then_some(())?;
                finite(nan, false)
            }
            (Form::Reduce(Fold::Sum, level, sizes), _, [Some(_)]) => {
                // Which rows are NaN is said outside of the dimensions that are summed.
                let end = level.checked_add(u32::try_from(sizes.len()).ok()?)?;
                let within = nan.iter().any(|n| {
                    self.places_below(*n).iter().any(
                        |p| matches!(p, crate::rules::element::index::Place::Bound(l, _) if (*level..end).contains(l)),
                    )
                });
                (!within).then_some(())?;
                finite(nan, holds_a_one(self, expr))
            }
            (Form::Named(target, _), _, [Some(a)]) => {
                let smooth = matches!(
                    real(target),
                    Some(Real::Sigmoid | Real::Silu | Real::Tanh | Real::Erf | Real::Square | Real::Relu)
                );
                let log = real(target) == Some(Real::Log) && a.above;
                (smooth || log).then_some(())?;
                finite(nan, false)
            }
            _ => None,
        }
    }

    /// Returns a number of which nothing is known, in place of an infinite one.
    pub fn any_number(&mut self, dtype: crate::graph::Dtype) -> Option<ExprId> {
        let call = Source::Call { target: "a mask".into(), tokens: [].into(), kids: [].into(), item: 0 };
        let source = self.source(call);
        self.load(dtype, source, smallvec::SmallVec::new())
    }
}
