//! Where two elements that are equal over the reals meet what ends: infinite numbers in products, and nothing as a divisor.
//!
//! ## What it says
//! A sum that each of two elements makes in its own way may be 0 in one of them alone. Within neither is it multiplied by what leaves its dtype in the working
//! range, nor by a number that shows what a rounding left of it, and divided by nothing that vanishes there: the one would be NaN where the other is infinite.
//!
//! ## When it is wrong
//! What both are made of is the same bits in both, whatever becomes of it. What is surely apart from 0, and what exponentials and sigmoids make, is not 0 in one
//! alone. An infinite number that a choice leaves out counts as met.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::rules::element::arena::{Elements, Expr, ExprId, Fold, Form, Op, SourceId};
use crate::rules::field::extent::Extent;
use crate::rules::rounding;
use crate::rules::table::{Real, real};

/// Beyond this a factor shows what a rounding left of a difference.
pub const LARGE: f64 = 1_048_576.0;
/// By how many powers of two such factors together may make it larger.
pub const POWERS: f64 = 60.0;

/// How many factors of a divisor are looked at one by one.
const FACTORS: usize = 16;

/// What two elements meet.
#[derive(Debug, Default)]
pub struct Met {
    /// Whether that is an end.
    pub end: bool,
    /// Of what is read, what multiplies a rest: it may itself leave its dtype.
    pub factors: Vec<SourceId>,
    /// Of what is read, what divides a rest: it may itself vanish.
    pub divisors: Vec<SourceId>,
}

/// What is known of the elements below one of two.
struct Below {
    extents: FxHashMap<ExprId, Extent>,
    /// Those of which both are made.
    common: FxHashSet<ExprId>,
    /// Those that leave their dtype, and what is made of them.
    endless: FxHashSet<ExprId>,
    /// Those that come to their end, and what is made of them.
    ending: FxHashSet<ExprId>,
    /// Those that may be 0 in one of the two alone, and by how many powers of two such a rest was made larger.
    open: FxHashMap<ExprId, f64>,
}

impl Elements {
    /// Whether what a rounding may take to 0 in one of two elements alone is multiplied there by what leaves its dtype, or divided by what vanishes, as
    /// far as these elements tell.
    pub fn ends_met(&mut self, x: ExprId, y: ExprId) -> Option<Met> {
        let stated = self.numbers.clone();
        rounding::remember(self, [x, y]);
        let mut met = Met::default();
        let done = [(x, y), (y, x)].into_iter().try_for_each(|(root, other)| self.add_ends_met(root, other, &mut met));
        self.numbers = stated;
        done.map(|()| met)
    }

    fn add_ends_met(&mut self, root: ExprId, other: ExprId, met: &mut Met) -> Option<()> {
        self.lies_in_working_range(root);
        let extents = self.extents(root)?;
        let common: FxHashSet<ExprId> = self.below(other).into_iter().filter(|id| extents.contains_key(id)).collect();
        let endless = self.endless_within(root, &extents);
        let ending = extents.keys().copied().filter(|id| self.ends_beyond(*id, &extents)).collect();
        let mut below = Below { extents, common, endless, ending, open: FxHashMap::default() };
        for id in self.below(root) {
            self.spend(1)?;
            let Some(expr) = self.expr(id) else { continue };
            if expr.kids.iter().any(|k| below.ending.contains(k)) {
                below.ending.insert(id);
            }
            if !expr.dtype.is_float() || below.common.contains(&id) {
                continue;
            }
            match self.rest_of(id, expr, &below) {
                Rest::None => {}
                Rest::Larger(by) if by <= POWERS => {
                    below.open.insert(id, by);
                }
                Rest::Larger(_) | Rest::Met => met.end = true,
            }
            if met.end {
                return Some(());
            }
            let open = |k: &ExprId| below.open.contains_key(k);
            match (&expr.form, expr.kids.as_slice()) {
                (Form::Op(Op::Mul), [a, b]) if open(a) || open(b) => {
                    let by = [(a, b), (b, a)].into_iter().filter(|(near, _)| open(near));
                    met.factors.extend(by.flat_map(|(_, by)| self.read_by(*by)));
                }
                (Form::Op(Op::Div), [near, by]) if open(near) && !self.ends.ones.contains(by) => {
                    met.divisors.extend(self.read_by_factors(*by, &below.extents));
                }
                _ => {}
            }
        }
        Some(())
    }

    /// What those factors of an element read that may be 0.
    fn read_by_factors(&self, root: ExprId, extents: &FxHashMap<ExprId, Extent>) -> Vec<SourceId> {
        let (mut open, mut out) = (vec![root], Vec::new());
        while open.len() < FACTORS
            && let Some(id) = open.pop()
        {
            match self.op_of(id) {
                _ if extents.get(&id).is_some_and(|e| e.is_apart_from_zero()) => {}
                Some((Op::Mul, factors)) => open.extend(factors),
                _ => out.extend(self.read_by(id)),
            }
        }
        open.into_iter().for_each(|id| out.extend(self.read_by(id)));
        out
    }

    /// What an element reads.
    fn read_by(&self, root: ExprId) -> Vec<SourceId> {
        let forms = self.below(root).into_iter().filter_map(|id| self.expr(id));
        forms.filter_map(|x| if let Form::Load(source, _) = &x.form { Some(*source) } else { None }).collect()
    }

    /// What becomes of a rest in one element.
    fn rest_of(&self, id: ExprId, expr: &Expr, below: &Below) -> Rest {
        let open = |k: &ExprId| below.open.get(k).copied();
        let within = expr.kids.iter().filter_map(open).reduce(f64::max);
        let extent = below.extents.get(&id).copied().unwrap_or_default();
        let rest = match (&expr.form, expr.kids.as_slice()) {
            (Form::Op(Op::Mul), [a, b]) => [(a, b), (b, a)]
                .into_iter()
                .map(|(near, by)| open(near).map_or(Rest::None, |larger| below.times(larger, *by)))
                .fold(Rest::None, Rest::or),
            (Form::Op(Op::Div), [near, by]) => open(near)
                .map_or(Rest::None, |larger| below.divided(larger, *by, self.ends.ones.contains(by)))
                .or(open(by).map_or(Rest::None, Rest::Larger)),
            (Form::Op(Op::Add | Op::Sub) | Form::Reduce(Fold::Sum, ..), _) if !extent.is_never_negative() => {
                Rest::Larger(within.unwrap_or(0.0))
            }
            (Form::Named(target, _), _) if is_never_zero(real(target)) => Rest::None,
            _ => within.map_or(Rest::None, Rest::Larger),
        };
        match rest {
            Rest::Larger(_) if extent.is_apart_from_zero() => Rest::None,
            rest => rest,
        }
    }
}

/// Functions that are 0 nowhere, wherever their dtype does not end.
fn is_never_zero(function: Option<Real>) -> bool {
    matches!(function, Some(Real::Exp | Real::Exp2 | Real::Sigmoid | Real::Cosh | Real::Rsqrt | Real::Erfc))
}

/// What becomes of a number that may be 0 in one of two elements alone.
enum Rest {
    /// It is no such number.
    None,
    /// It is one, so many powers of two larger.
    Larger(f64),
    /// It meets an end.
    Met,
}

impl Rest {
    fn or(self, other: Rest) -> Rest {
        match (self, other) {
            (Rest::Met, _) | (_, Rest::Met) => Rest::Met,
            (Rest::Larger(a), Rest::Larger(b)) => Rest::Larger(a.max(b)),
            (Rest::None, one) | (one, Rest::None) => one,
        }
    }
}

impl Below {
    /// A rest multiplied by an element.
    fn times(&self, larger: f64, by: ExprId) -> Rest {
        let least = self.extents.get(&by).map_or(0.0, |e| e.least_magnitude());
        if self.endless.contains(&by) || least > LARGE {
            return Rest::Met;
        }
        Rest::Larger(if self.is_number(by) { larger + least.log2() } else { larger })
    }

    /// A rest divided by an element, which may be known to be at least 1.
    fn divided(&self, larger: f64, by: ExprId, is_one: bool) -> Rest {
        let extent = self.extents.get(&by).copied().unwrap_or_default();
        let number = self.is_number(by);
        let ends = self.ending.contains(&by) && !is_one && !extent.is_apart_from_zero();
        if ends || number && extent.least_magnitude() < 1.0 / LARGE {
            return Rest::Met;
        }
        Rest::Larger(if number { larger - extent.least_magnitude().log2() } else { larger })
    }

    /// Whether an element is one number other than 0, whatever it is made of.
    fn is_number(&self, id: ExprId) -> bool {
        self.extents.get(&id).is_some_and(|e| e.is_one_number() && e.least_magnitude() > 0.0)
    }
}
