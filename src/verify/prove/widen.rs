//! Where congruence parts, rules are asked: of the innermost pair first, then of those around it.
//!
//! Promises: what rules show equal becomes one class, and congruence goes on from there; attempts are bounded, and what stopped them is
//! known. Costs nothing where congruence suffices.

use crate::analysis::{getitem_of, place_of};
use crate::certificate::Step;
use crate::graph::Dtype;
use crate::ops::Operator;
use crate::rules::Level;
use crate::term::sizes::Dims;
use crate::term::store::ValueId;
use crate::term::term::Side;
use crate::verify::functional::key::Aspect;
use crate::verify::functional::position;
use crate::verify::functional::values::Functional;
use crate::verify::prove::congruence::{Congruence, Proof};
use crate::verify::prove::normal::{self, Names};
use crate::verify::prove::real::{self, Reals};
use crate::verify::prove::sweep;

/// What provers by rules have done so far.
#[derive(Debug, Default)]
pub struct Rules {
    /// Names of the rules by which values were shown equal.
    pub names: Names,
    /// Work that was done since they showed something.
    pub spent: usize,
    /// Work that was done before.
    past: usize,
    /// What is equal over the reals only.
    pub reals: Reals,
}

impl Rules {
    /// What was shown earns the work of the next: a graph in which much was edited is not one in which one thing is sought for long.
    fn refill(&mut self, budget: usize) {
        if self.past < budget.saturating_mul(REFILLS) {
            self.past = self.past.saturating_add(std::mem::take(&mut self.spent));
        }
    }
}

/// How often the work of a run may be done in all, as long as something is shown.
const REFILLS: usize = 8;

/// Returns whether two values are shown to be equal, over the reals at least.
pub fn equal(f: &mut Functional<'_>, c: &mut Congruence, a: ValueId, b: ValueId) -> bool {
    equal_at(f, c, a, b, Level::Real)
}

/// Returns whether two values are shown to be equal bit by bit: what effects and questions are asked of.
pub fn equal_exactly(f: &mut Functional<'_>, c: &mut Congruence, a: ValueId, b: ValueId) -> bool {
    equal_at(f, c, a, b, Level::Exact)
}

fn equal_at(f: &mut Functional<'_>, c: &mut Congruence, a: ValueId, b: ValueId, level: Level) -> bool {
    if matches!(c.proof, Proof::Given) {
        return c.equal(f, a, b);
    }
    let reals = level == Level::Real && f.budget.trials > 0 && !f.kinds.sees_nan;
    let mut swept = false;
    c.pairs_alike = false;
    if reals && c.inner_first && !c.equal_or_part(f, a, b) {
        swept = true;
        by_sweep(f, c, a, b);
        c.try_again();
    }
    for _ in 0..f.budget.differences {
        if c.equal_or_part(f, a, b) {
            return true;
        }
        let mut pairs: Vec<(ValueId, ValueId)> = c.first_difference.into_iter().collect();
        pairs.extend(c.around.iter().copied());
        pairs.push((a, b));
        let mut shown = by_rules(f, c, &pairs, Level::Exact) || reals && by_rules(f, c, &pairs, Level::Real);
        if !shown && reals && !swept {
            swept = true;
            shown = by_sweep(f, c, a, b);
            if shown {
                c.try_again();
            }
        }
        shown = shown || reals && !sweep::are_far(f, a, b) && by_fingerprints(f, c, &pairs);
        // Either pairing of operands may hide where the graphs part: the other one is asked before giving up.
        if !shown && std::mem::replace(&mut c.pairs_alike, true) {
            return false;
        }
        c.forget();
    }
    false
}

/// Tries what may be equal anywhere below two values, from the inputs on: whether anything was.
fn by_sweep(f: &mut Functional<'_>, c: &mut Congruence, a: ValueId, b: ValueId) -> bool {
    let (mut shown, budget) = (false, f.budget);
    // Little work for each: what is near is found, and what is below it is common by then.
    if !c.inner_first {
        f.budget.region = SWEPT_TERMS;
    }
    f.budget.work = SWEPT_WORK;
    let pairs = sweep::pairs(f, a, b);
    for (x, y) in pairs {
        if f.store.find(x) == f.store.find(y) {
            continue;
        }
        c.forget();
        shown |= c.equal(f, x, y) || by_rules(f, c, &[(x, y)], Level::Exact) || by_rules(f, c, &[(x, y)], Level::Real);
    }
    f.budget = budget;
    shown
}

/// How many terms one pair of a sweep is looked into.
const SWEPT_TERMS: usize = 64;
/// How much work one pair of a sweep is.
const SWEPT_WORK: usize = 20_000;

/// Tries pairs by fingerprints, from the inside out, bit by bit first.
fn by_fingerprints(f: &mut Functional<'_>, c: &mut Congruence, pairs: &[(ValueId, ValueId)]) -> bool {
    if !f.checking.is_allowed() {
        return false;
    }
    let last = pairs.len().saturating_sub(1);
    let near = |k: &usize| *k < 3 || k.is_power_of_two() && *k < 32 || *k == last;
    let pairs = pairs.iter().copied().enumerate().filter(|(k, _)| near(k)).map(|(_, pair)| pair);
    for (a, b) in pairs {
        let is_new = f.store.find(a) != f.store.find(b) && c.check_once(a, b) && f.budget.rules > c.rules.spent;
        if is_new && (check(f, c, (a, b), Level::Exact) || check(f, c, (a, b), Level::Real)) {
            return true;
        }
    }
    false
}

/// Makes two values one class where fingerprints agree at a level.
pub(in crate::verify) fn check(
    f: &mut Functional<'_>,
    c: &mut Congruence,
    pair: (ValueId, ValueId),
    level: Level,
) -> bool {
    let agree = f.checking.begin() && show(f, c, pair, level);
    f.checking.now = false;
    agree
}

/// What an attempt costs at least: to look at a region is work, too.
const ATTEMPT: usize = 1000;

/// Tries pairs from the inside out, ever fewer of those far out; the outermost one at last.
fn by_rules(f: &mut Functional<'_>, c: &mut Congruence, pairs: &[(ValueId, ValueId)], level: Level) -> bool {
    let last = pairs.len().saturating_sub(1);
    for (k, (a, b)) in pairs.iter().copied().enumerate() {
        let near = k < 6 || k.is_power_of_two() || k == last;
        if !near || f.store.find(a) == f.store.find(b) || !c.try_once(a, b, level) {
            continue;
        }
        if f.budget.rules <= c.rules.spent {
            return false;
        }
        if level == Level::Real && beneath_is_shown(f, c, (a, b)) || show(f, c, (a, b), level) {
            return true;
        }
    }
    false
}

/// Whether what two values move is shown equal: what else moves it is equal then, bit by bit.
fn beneath_is_shown(f: &mut Functional<'_>, c: &mut Congruence, (a, b): (ValueId, ValueId)) -> bool {
    let [first, second] = [a, b].map(|id| moved(f, id));
    let partner = |own| second.iter().rev().find(|(_, other)| own == other).map(|(y, _)| *y);
    let pair = first.iter().rev().find_map(|(x, own)| partner(own).map(|y| (*x, y)));
    let Some((x, y)) = pair.filter(|(x, y)| f.store.find(*x) != f.store.find(*y)) else { return false };
    c.try_once(x, y, Level::Exact) && show(f, c, (x, y), Level::Exact)
        || c.try_once(x, y, Level::Real) && show(f, c, (x, y), Level::Real)
}

/// Returns what a node's value moves, and what that moves, with their types.
fn moved(f: &mut Functional<'_>, value: ValueId) -> Vec<(ValueId, (Dtype, Dims))> {
    let mut out = Vec::new();
    let Some(key) = f.store.key(value).filter(|k| k.aspect == Aspect::Value) else { return out };
    let (view, mut at) = (f.view(key.side), key.place.node);
    let moves =
        |o: &Operator| o.facts.moves || o.facts.same_as.is_some() || o.effects.returns.iter().any(|r| !r.is_empty());
    for _ in 0..VIEWS {
        let is_item = getitem_of(view, at).is_some();
        let operator = f.registry.operator_of(view, at);
        let is_pure = operator.is_some_and(|o| o.effects.is_pure() && moves(o));
        let Some(next) = view.operands(at).next().filter(|_| is_item || is_pure) else { break };
        at = next;
        let place = place_of(view, at);
        if let (Some(t), None) = (f.tensor(key.side, place), getitem_of(view, at)) {
            out.push((f.outcome(key.side, place), (t.dtype, t.sizes.clone())));
        }
    }
    out
}

/// How many nodes that move what others give are looked through.
const VIEWS: usize = 16;

/// Makes two values one class where rules show them equal at a level: the step that a certificate names.
pub(in crate::verify) fn show(
    f: &mut Functional<'_>,
    c: &mut Congruence,
    (a, b): (ValueId, ValueId),
    level: Level,
) -> bool {
    // A class has one name for all that is in it: each value is named before they are one.
    let named = match c.proof {
        Proof::Record(_) => match position::name(f, a, Side::Before).zip(position::name(f, b, Side::After)) {
            Some(named) => Some(named),
            None => return false,
        },
        Proof::Search | Proof::Given => None,
    };
    let before = f.budget.rules.saturating_sub(c.rules.spent);
    let mut fuel = before;
    let shown = match level {
        Level::Exact => normal::equal(f, a, b, &mut fuel),
        Level::Real => real::equal(f, &mut c.rules.reals, a, b, &mut fuel).then(Names::new),
    };
    let used = before.saturating_sub(fuel).max(ATTEMPT);
    c.rules.spent = c.rules.spent.saturating_add(used);
    let Some(names) = shown else { return false };
    c.rules.names.extend(names);
    c.rules.refill(f.budget.rules);
    if let (Proof::Record(steps), Some((one, other))) = (&mut c.proof, named) {
        steps.push(Step { level, one, other });
    }
    f.checking.take();
    match level {
        Level::Exact => f.store.union_of_terms(a, b),
        Level::Real => f.store.union_near(a, b),
    }
    true
}
