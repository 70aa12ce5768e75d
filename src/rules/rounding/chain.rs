//! Products and quotients one in another: what is multiplied and divided by the same element, and what exponentials less the greatest of their
//! exponents come to.

use rustc_hash::FxHashMap;

use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::rounding::forward::{Ranges, largest};
use crate::rules::rounding::interval::Interval;
use crate::rules::table::{Real, real};

/// How many factors a chain may have.
const FACTORS: usize = 8;

/// A product of elements, divided by others, none of which is on both sides.
pub(super) struct Chain {
    over: Vec<ExprId>,
    under: Vec<ExprId>,
    /// By how much what is smaller than its dtype holds may be multiplied on its way, beside the smallest number.
    grows: f64,
}

impl Chain {
    /// Returns the chain that an element is, where some element is on both sides and never 0.
    pub(super) fn of(e: &Elements, expr: &Expr, known: &Ranges) -> Option<Chain> {
        let (mut over, mut under) = (Vec::new(), Vec::new());
        let mut open: Vec<(ExprId, bool)> = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Mul), [a, b]) => vec![(*a, true), (*b, true)],
            (Form::Op(Op::Div), [a, b]) => vec![(*a, true), (*b, false)],
            _ => return None,
        };
        while let Some((at, up)) = open.pop() {
            match e.op_of(at) {
                Some((Op::Mul, [a, b])) if e.dtype(at) == Some(expr.dtype) => open.extend([(*a, up), (*b, up)]),
                Some((Op::Div, [a, b])) if e.dtype(at) == Some(expr.dtype) => open.extend([(*a, up), (*b, !up)]),
                _ if up => over.push(at),
                _ => under.push(at),
            }
            (over.len().saturating_add(under.len()) <= FACTORS).then_some(())?;
        }
        let all: Vec<&Interval> = over.iter().chain(&under).map(|f| known.get(f)).collect::<Option<_>>()?;
        let size = |r: &Interval| r.inverse().map_or(r.most(), |i| r.most().max(i.most())).max(1.0);
        let grows = all.into_iter().map(size).product::<f64>();
        let before = over.len();
        over.retain(|one| {
            let apart = known.get(one).is_some_and(|r| r.inverse().is_some());
            let other = under.iter().position(|u| u == one).filter(|_| apart);
            other.is_none_or(|k| {
                under.swap_remove(k);
                false
            })
        });
        (over.len() < before && grows < largest(expr.dtype)).then_some(Chain { over, under, grows })
    }

    /// Returns the interval in which the element lies.
    pub(super) fn range(&self, known: &Ranges) -> Option<Interval> {
        let mut out = Interval::point(1.0)?;
        for one in &self.over {
            out = out.times(*known.get(one)?)?;
        }
        for one in &self.under {
            out = out.times(known.get(one)?.inverse()?)?;
        }
        Some(out)
    }

    /// Returns how far the element may be off: each factor and each rounding beside what it is, and what is lost below the smallest number.
    pub(super) fn error(&self, beside: f64, range: Interval, least: f64) -> f64 {
        beside * range.most() + self.grows * least * f64::from(u8::try_from(FACTORS).unwrap_or(u8::MAX))
    }
}

/// Whether an element is one of those of which another is the greater one, and so on.
pub(super) fn is_one_of_greatest(e: &Elements, x: ExprId, most: ExprId) -> bool {
    matches!(e.op_of(most), Some((Op::Max, _))) && leaves(e, most).contains(&x)
}

/// Whether a sum is one of exponentials of elements less the greatest of them: one of them is 1.
pub(super) fn adds_a_one(e: &Elements, sum: &Expr) -> bool {
    let mut less: FxHashMap<ExprId, Vec<ExprId>> = FxHashMap::default();
    let mut open: Vec<ExprId> = sum.kids.to_vec();
    while let Some(at) = open.pop() {
        match (e.op_of(at), e.expr(at)) {
            (Some((Op::Add, kids)), _) if open.len() < FACTORS => open.extend(kids),
            (_, Some(Expr { form: Form::Named(target, _), kids, .. })) => {
                let is_exponential = matches!(real(target), Some(Real::Exp | Real::Exp2));
                let exponent = kids.first().and_then(|k| e.op_of(*k)).filter(|_| is_exponential);
                let Some((Op::Sub, [x, most])) = exponent else { return false };
                less.entry(*most).or_default().push(*x);
            }
            _ => return false,
        }
    }
    less.iter().any(|(most, xs)| {
        matches!(e.op_of(*most), Some((Op::Max, _))) && leaves(e, *most).iter().all(|leaf| xs.contains(leaf))
    })
}

fn leaves(e: &Elements, most: ExprId) -> Vec<ExprId> {
    let (mut out, mut open) = (Vec::new(), vec![most]);
    while let Some(at) = open.pop() {
        match e.op_of(at) {
            Some((Op::Max, kids)) if out.len() < FACTORS => open.extend(kids),
            _ => out.push(at),
        }
    }
    out
}
