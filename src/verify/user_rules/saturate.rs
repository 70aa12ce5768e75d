//! What rules that hold both ways make of two graphs at once, in any order and as often as they hold: equality saturation.
//!
//! Promises: two graphs come back in which everything that the rules make equal is written alike, as far as the budget goes; a rule is used only where its operands' types are what it states, and
//! what is replaced makes new memory, before and after, so that what outputs share stays as it was. Leaves it to the judge whether the two mean the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use egg::{
    Applier, BackoffScheduler, ENodeOrVar, Id, Pattern, PatternAst, Rewrite, Runner, StopReason, Subst, Symbol, Var,
};
use rustc_hash::FxHashMap;

use super::UserRule;
use super::matching::{Applied, Found, fits, inputs, is_left_alone, is_near, result};
use super::rebuild::rebuilt;
use super::terms::{Heads, Term, Terms, Typed, add};
use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};
use crate::ops::Registry;
use crate::verify::verdict::Level;

/// How often all rules are asked.
const ROUNDS: usize = 12;
/// How many terms they may add.
const TERMS: usize = 20_000;
/// For how long.
const TIME: Duration = Duration::from_secs(5);

/// Two graphs after rules were applied.
pub(super) struct Saturated {
    pub(super) before: Applied,
    pub(super) after: Applied,
    /// Whether rules make nothing else equal.
    pub(super) is_whole: bool,
}

/// Returns both graphs in one form; `None` where one is none that rules are applied to.
pub(super) fn saturated(
    before: &Graph,
    after: &Graph,
    rules: &Arc<[UserRule]>,
    registry: &Registry,
) -> Option<Saturated> {
    if is_left_alone(before, registry) || is_left_alone(after, registry) {
        return None;
    }
    let most = after.len().saturating_add(TERMS);
    let mut runner = Runner::<Term, Typed>::new(Typed::new(before, Arc::clone(rules), registry, most));
    let sides = [add(&mut runner.egraph, before, true, registry), add(&mut runner.egraph, after, false, registry)];
    let heads = &mut runner.egraph.analysis.heads;
    // What holds one way only makes nothing equal.
    let equal = rules.iter().enumerate().filter(|(_, rule)| rule.backwards.is_some());
    let ways = equal.flat_map(|(k, rule)| [(k, rule, true), (k, rule, false)]);
    let rewrites: Vec<_> = ways.filter_map(|(k, rule, ahead)| rewrite(k, rule, ahead, heads)).collect();
    let limit = runner.egraph.total_size().saturating_add(TERMS);
    let scheduler = BackoffScheduler::default().with_initial_match_limit(TERMS);
    let runner = runner.with_scheduler(scheduler).with_iter_limit(ROUNDS).with_node_limit(limit).with_time_limit(TIME);
    let runner = runner.run(&rewrites);
    let is_whole = matches!(runner.stop_reason, Some(StopReason::Saturated));
    let terms = runner.egraph;
    let mut touched = BTreeSet::new();
    let [first, second] = &sides;
    let before = rebuilt(&terms, before, first, registry, &mut touched)?;
    let after = rebuilt(&terms, after, second, registry, &mut touched)?;
    let rests_on = below(&terms, touched);
    let joined = terms.analysis.joined.iter();
    let used: BTreeSet<usize> =
        joined.filter(|(_, class)| rests_on.contains(&terms.find(*class))).map(|(k, _)| *k).collect();
    let is_real = used.iter().filter_map(|k| rules.get(*k)).any(|rule| rule.level == Level::Real);
    let [before, after] = [before, after].map(|(graph, mut reals)| {
        reals.retain(|(n, _)| is_real && is_near(graph.ty(*n)));
        Applied { graph, used: used.clone(), reals }
    });
    Some(Saturated { before, after, is_whole })
}

/// Returns these classes and all that is below them: what joined those may have joined these.
fn below(terms: &Terms, mut classes: BTreeSet<Id>) -> BTreeSet<Id> {
    let mut open: Vec<Id> = classes.iter().copied().collect();
    while let Some(class) = open.pop() {
        let operands = terms[class].nodes.iter().flat_map(|term| &term.operands);
        open.extend(operands.copied().filter(|id| classes.insert(*id)));
    }
    classes
}

/// One way of a rule: what is made of what stands for its inputs.
struct Replacement {
    rule: usize,
    ahead: bool,
    /// For each input: its variable, itself on the side that is found, and on the side that is made.
    inputs: Vec<(Var, NodeId, NodeId)>,
    /// The calls of the side that is made, in order.
    calls: Vec<(NodeId, u32, Vec<NodeId>)>,
    result: NodeId,
}

/// Returns one way of a rule; `None` where what is made needs an input that is not found.
fn rewrite(k: usize, rule: &UserRule, ahead: bool, heads: &mut Heads) -> Option<Rewrite<Term, Typed>> {
    let (from, to) = sides(rule, ahead);
    let variables = inputs(from).into_iter().zip(inputs(to)).zip(0_u32..);
    let mut inputs: Vec<_> = variables.map(|((a, b), k)| (Var::from_u32(k), a, b)).collect();
    let pattern = pattern(from, &inputs, heads)?;
    let found = pattern.vars();
    inputs.retain(|(variable, _, _)| found.contains(variable));
    let calls: Vec<_> = calls(to).map(|node| (node, heads.of_call(to, node))).map(|(n, (h, o))| (n, h, o)).collect();
    let given = |node: &NodeId| to.kind(*node) == NodeKind::Call || inputs.iter().any(|(_, _, own)| own == node);
    calls.iter().all(|(_, _, operands)| operands.iter().all(given)).then_some(())?;
    let replacement = Replacement { rule: k, ahead, inputs, calls, result: result(to)? };
    Rewrite::new(format!("{k} {ahead}"), pattern, replacement).ok()
}

fn sides(rule: &UserRule, ahead: bool) -> (&Graph, &Graph) {
    if ahead { (&rule.before, &rule.after) } else { (&rule.after, &rule.before) }
}

fn calls(side: &Graph) -> impl Iterator<Item = NodeId> {
    side.nodes(BodyId::ROOT).filter(|n| side.kind(*n) == NodeKind::Call)
}

/// Returns what a side looks like, of what its result needs.
fn pattern(side: &Graph, inputs: &[(Var, NodeId, NodeId)], heads: &mut Heads) -> Option<Pattern<Term>> {
    let mut needed = BTreeSet::from([result(side)?]);
    let nodes: Vec<NodeId> = side.nodes(BodyId::ROOT).collect();
    for node in nodes.iter().rev().filter(|n| side.kind(**n) == NodeKind::Call) {
        if needed.contains(node) {
            needed.extend(side.operands(*node));
        }
    }
    let mut ast = PatternAst::default();
    let mut at: FxHashMap<NodeId, Id> = FxHashMap::default();
    for node in nodes.into_iter().filter(|n| needed.contains(n)) {
        let part = match inputs.iter().find(|(_, own, _)| *own == node) {
            Some((variable, _, _)) => ENodeOrVar::Var(*variable),
            None => {
                let (head, operands) = heads.of_call(side, node);
                let operands: Option<_> = operands.iter().map(|n| at.get(n).copied()).collect();
                ENodeOrVar::ENode(Term { head, operands: operands? })
            }
        };
        at.insert(node, ast.add(part));
    }
    Some(Pattern::new(ast))
}

impl Applier<Term, Typed> for Replacement {
    fn apply_one(
        &self,
        terms: &mut Terms,
        found: Id,
        stands: &Subst,
        _: Option<&PatternAst<Term>>,
        _: Symbol,
    ) -> Vec<Id> {
        self.made(terms, stands).filter(|made| terms.union(found, *made)).map_or_else(Vec::new, |_| {
            terms.analysis.joined.push((self.rule, found));
            vec![found]
        })
    }
}

impl Replacement {
    /// Returns the class of what a rule makes; `None` where its operands are not of the types that the rule states, or a call cannot be made of them.
    fn made(&self, terms: &mut Terms, stands: &Subst) -> Option<Id> {
        let rules = Arc::clone(&terms.analysis.rules);
        let (from, _) = sides(rules.get(self.rule)?, self.ahead);
        let mut sizes = Found::default();
        let mut classes: FxHashMap<NodeId, Id> = FxHashMap::default();
        for (variable, input, own) in &self.inputs {
            let class = *stands.get(*variable)?;
            let graph = terms.analysis.graph.graph();
            fits(from, from.ty(*input), graph, graph.ty(terms[class].data?), &mut sizes)?;
            classes.insert(*own, class);
        }
        for (node, head, operands) in &self.calls {
            let operands: Option<_> = operands.iter().map(|n| classes.get(n).copied()).collect();
            let class = terms.add(Term { head: *head, operands: operands? });
            terms[class].data?;
            classes.insert(*node, class);
        }
        classes.get(&self.result).copied()
    }
}
