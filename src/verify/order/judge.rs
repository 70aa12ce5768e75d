//! Whether streams keep the order of accesses.
//!
//! Claim: if nothing is found, every schedule of the edited graph that its mode allows computes what its list order computes, and
//! every side stream is joined at the end. Argument: every two steps that access common memory (one of them writing), whose
//! effects are ordered, or of which one uses what the other makes, are ordered by happens-before (`analysis::streams`), and
//! all edges go forward in the list; so a schedule is the list order with neighbours exchanged that do not see each other.
//! Memory that is handed out again is no common memory where no lifetime is open. What list order computes is the other
//! questions' to compare with the graph as it was.
//!
//! A hazard that the graph as it was has itself, between the same nodes on the same streams, is noted among the assumptions
//! and not charged. A certain race of two certain accesses is refuted, whatever else is open is unknown.

use rustc_hash::FxHashSet;

use super::hazard::{Identity, conflict_text, identity, reuse_text};
use crate::analysis::Storages;
use crate::analysis::streams::{
    Accesses, Conflicts, MAX_CONFLICTS, Order, Rules, ScopeFault, StreamOperator, Streams, Work, mentions_streams,
    reuses,
};
use crate::certificate::Evidence;
use crate::graph::{NodeId, View};
use crate::ops::Registry;
use crate::sym::KeyedSet;
use crate::verify::findings::{Findings, Problem};
use crate::verify::options::{Closure, JudgeOptions, Mode};
use crate::verify::verdict::{Assumption, Finding, Question};

/// How many hazards of one graph are put into words.
const MAX_TOLD: usize = 20;

/// Judges form of scopes and events, order, and lifetime across streams.
pub fn judge_order(
    before: &dyn View,
    after: &dyn View,
    registry: &Registry,
    options: &JudgeOptions,
    findings: &mut Findings,
) {
    if let Some(evidence) = look(before, after, registry, options, findings) {
        findings.answer(Question::Order, evidence.clone());
        findings.answer(Question::Lifetime, evidence);
    }
}

/// Looks at every access across streams; `None` where that could not be done.
fn look(
    before: &dyn View,
    after: &dyn View,
    registry: &Registry,
    options: &JudgeOptions,
    findings: &mut Findings,
) -> Option<Evidence> {
    if !mentions_streams(after) {
        return Some(Evidence::Untouched);
    }
    let streams = Streams::of(after);
    if let Some(node) = streams.in_body {
        let reason = "an operator on streams in a sub-graph: what it does there nobody says";
        findings.push(problem(after, Finding::Unknown, Question::Order, reason, &[node]));
    }
    if streams.operators.is_empty() {
        return Some(Evidence::Untouched);
    }
    let rules = match options.mode {
        Mode::MaxAutotune => Rules::MaxAutotune,
        Mode::ReduceOverhead => Rules::ReduceOverhead,
    };
    if rules == Rules::MaxAutotune {
        findings.assumes.push(Assumption::StreamOrder);
    }
    form(before, after, &streams, options, findings);
    let hazards = match Hazards::of(after, registry, rules, &streams, options) {
        Ok(hazards) => hazards,
        Err(reason) => {
            findings.push(Problem::unknown(Question::Order, reason));
            return None;
        }
    };
    closure(after, &streams, &hazards.order, options, findings);
    tags(before, after, registry, rules, &hazards.order, options, findings);
    if hazards.list.is_empty() && !hazards.is_cut_short {
        return Some(Evidence::Ordered);
    }
    let own = own_hazards(before, registry, rules, options);
    let mut charged = 0_usize;
    for hazard in &hazards.list {
        if own.contains(&hazard.identity) && !hazards.is_cut_short {
            findings.assumes.push(Assumption::OwnHazard(hazard.reason.clone()));
            continue;
        }
        charged = charged.saturating_add(1);
        if charged <= MAX_TOLD {
            let finding = if hazard.certain { Finding::Refuted } else { Finding::Unknown };
            findings.push(problem(after, finding, hazard.question, &hazard.reason, &hazard.nodes));
        }
    }
    if hazards.is_cut_short {
        findings.push(Problem::unknown(Question::Order, "there are more accesses across streams than are looked at"));
        return None;
    }
    Some(Evidence::Ordered)
}

fn problem(view: &dyn View, finding: Finding, question: Question, reason: &str, nodes: &[NodeId]) -> Problem {
    Problem { finding, ..Problem::unknown(question, reason) }.at(nodes.iter().map(|n| view.name(*n).to_string()))
}

/// Scopes, arguments, and operators that the mode lacks.
fn form(before: &dyn View, after: &dyn View, streams: &Streams, options: &JudgeOptions, findings: &mut Findings) {
    let named = |view: &dyn View, node: NodeId, fault: ScopeFault| (view.name(node).to_string(), fault.to_string());
    let tolerated = streams.faults.iter().any(|f| !f.fault.is_of_form()) && mentions_streams(before);
    let own: KeyedSet<(String, String)> = if tolerated {
        Streams::of(before).faults.iter().map(|f| named(before, f.node, f.fault)).collect()
    } else {
        KeyedSet::default()
    };
    for fault in &streams.faults {
        // What the mode itself takes, and the graph as it was has, is not charged.
        if !fault.fault.is_of_form() && own.contains(&named(after, fault.node, fault.fault)) {
            continue;
        }
        let reason = format!("`{}` {}", after.name(fault.node), fault.fault);
        findings.push(problem(after, Finding::Refuted, Question::Form, &reason, &[fault.node]));
    }
    let is_lacking = |operator: StreamOperator| match options.mode {
        Mode::MaxAutotune => operator.is_captured_only(),
        Mode::ReduceOverhead => operator == StreamOperator::WaitTensor,
    };
    for (node, _) in streams.operators.iter().filter(|(_, o)| is_lacking(*o)) {
        let name = after.name(*node);
        let reason = format!("`{name}`: mode {} has no `{}`", options.mode.name(), after.target(*node));
        findings.push(problem(after, Finding::Refuted, Question::Form, &reason, &[*node]));
    }
}

/// The mode's own forks and joins: added where the mode adds them, looked for where the graph holds them.
fn closure(after: &dyn View, streams: &Streams, order: &Order, options: &JudgeOptions, findings: &mut Findings) {
    let (finding, question) = match (options.closure, order.has_compilers_events) {
        (Closure::InGraph, _) => (Finding::Refuted, Question::Form),
        // Events of the compiler's own: the closure may be in the graph already.
        (Closure::ByMode, true) => (Finding::Unknown, Question::Order),
        (Closure::ByMode, false) => return,
    };
    for stream in &order.unjoined {
        let label = streams.label(*stream).unwrap_or("");
        let reason = format!("stream `{label}` is not joined: the main stream does not wait for all of it at the end");
        findings.push(problem(after, finding, question, &reason, &[]));
    }
    if options.closure == Closure::InGraph {
        for (stream, node) in &order.unforked {
            let label = streams.label(*stream).unwrap_or("");
            let reason = format!("stream `{label}` begins without waiting for the main stream");
            findings.push(problem(after, finding, question, &reason, &[*node]));
        }
    }
}

/// A tag must have been created, once: the host says which are; those that the graph as it was names are.
fn tags(
    before: &dyn View,
    after: &dyn View,
    registry: &Registry,
    rules: Rules,
    order: &Order,
    options: &JudgeOptions,
    findings: &mut Findings,
) {
    if order.tags.is_empty() {
        return;
    }
    let own = Hazards::of(before, registry, rules, &Streams::of(before), options);
    let own: KeyedSet<Box<str>> =
        own.map_or_else(|_| KeyedSet::default(), |h| h.order.tags.into_iter().map(|(tag, _)| tag).collect());
    for (tag, node) in &order.tags {
        let created = options.tags.as_ref().map(|tags| tags.iter().filter(|t| **t == **tag).count());
        let (finding, reason) = match created {
            Some(1) => continue,
            Some(0) => (Finding::Refuted, format!("tag `{tag}` was never created")),
            Some(_) => (Finding::Refuted, format!("tag `{tag}` is created twice")),
            None if own.contains(tag) => continue,
            None => (Finding::Unknown, format!("nobody says that tag `{tag}` is created")),
        };
        findings.push(problem(after, finding, Question::Form, &reason, &[*node]));
    }
}

/// Something that the schedule may decide.
struct Hazard {
    identity: Identity,
    question: Question,
    reason: String,
    nodes: Vec<NodeId>,
    certain: bool,
}

struct Hazards {
    order: Order,
    list: Vec<Hazard>,
    is_cut_short: bool,
}

impl Hazards {
    fn of(
        view: &dyn View,
        registry: &Registry,
        rules: Rules,
        streams: &Streams,
        options: &JudgeOptions,
    ) -> Result<Self, String> {
        let mut storages = Storages::new(view, registry, &options.may_alias);
        let is_multi_stream = streams.is_multi_stream(view);
        let work = match is_multi_stream {
            true => Work::of(view, &mut Accesses::new(view, registry), &mut storages),
            false => Work::default(),
        };
        let order = Order::of(view, streams, rules, &work, &mut storages).map_err(|e| e.to_string())?;
        let mut out = Hazards { order, list: Vec::new(), is_cut_short: false };
        if !is_multi_stream {
            return Ok(out);
        }
        if let Some(node) = out.order.unclear.first() {
            let what = "its arguments are not written out, so that nobody knows what it orders";
            out.list.push(Hazard {
                identity: identity(view, streams, "unclear", &[*node]),
                question: Question::Order,
                reason: format!("`{}`: {what}", view.name(*node)),
                nodes: vec![*node],
                certain: false,
            });
        }
        let conflicts = Conflicts::of(view, registry, rules, &out.order, &work, &mut storages);
        out.is_cut_short = conflicts.is_cut_short;
        let is_exact = out.order.is_exact;
        for c in &conflicts.found {
            out.list.push(Hazard {
                identity: identity(view, streams, &format!("{:?}", c.kind), &[c.first, c.second]),
                question: Question::Order,
                reason: conflict_text(view, streams, c),
                nodes: vec![c.first, c.second],
                certain: c.certain && is_exact,
            });
        }
        if rules == Rules::ReduceOverhead {
            let reuses = reuses(view, &out.order, &work, &mut storages);
            out.is_cut_short |= reuses.len() >= MAX_CONFLICTS;
            for r in &reuses {
                out.list.push(Hazard {
                    identity: identity(view, streams, "reuse", &[r.storage.node, r.user, r.next]),
                    question: Question::Lifetime,
                    reason: reuse_text(view, streams, r),
                    nodes: vec![r.storage.node, r.user, r.next],
                    certain: r.certain && is_exact,
                });
            }
        }
        Ok(out)
    }
}

/// The hazards of the graph as it was; none, where there are more than are looked at.
fn own_hazards(before: &dyn View, registry: &Registry, rules: Rules, options: &JudgeOptions) -> FxHashSet<Identity> {
    if !mentions_streams(before) {
        return FxHashSet::default();
    }
    match Hazards::of(before, registry, rules, &Streams::of(before), options) {
        Ok(hazards) if !hazards.is_cut_short => hazards.list.into_iter().map(|h| h.identity).collect(),
        _ => FxHashSet::default(),
    }
}
