//! Order across streams: the ground floor.
//!
//! Promises: a rewrite passes only if nothing that is written is touched from two streams, and effects stay on one stream; then
//! data edges, which `max-autotune` keeps, and list order within a stream give every access its place. In
//! `reduce-overhead`, where only events order streams, work on two streams is not understood here and stays open.

use rustc_hash::FxHashSet;

use super::effects::{Effect, effect_of};
use super::findings::{Findings, Problem};
use super::options::{JudgeOptions, Mode};
use super::verdict::{Assumption, Question};
use crate::analysis::{
    Place, Storages, StreamOperator, Streams, carriers, getitem_of, mentions_streams, stream_operator, tensor_operands,
};
use crate::graph::{BodyId, NodeId, NodeKind, View};
use crate::ops::Registry;

/// Judges form of scopes and events, and order.
pub fn judge_order(view: &dyn View, registry: &Registry, options: &JudgeOptions, findings: &mut Findings) {
    if !mentions_streams(view) {
        return;
    }
    let streams = Streams::of(view, BodyId::ROOT);
    if streams.operators.is_empty() {
        return;
    }
    for fault in &streams.faults {
        let name = view.name(fault.node).to_string();
        let reason = format!("`{name}` {}", fault.fault);
        findings.push(Problem::refuted(Question::Form, reason).at([name]));
    }
    let lacking = match options.mode {
        Mode::MaxAutotune => StreamOperator::Tagged,
        Mode::ReduceOverhead => StreamOperator::WaitTensor,
    };
    for (node, _) in streams.operators.iter().filter(|(_, o)| *o == lacking) {
        let name = view.name(*node).to_string();
        let reason = format!("`{name}`: mode {} has no `{}`", options.mode.name(), view.target(*node));
        findings.push(Problem::refuted(Question::Form, reason).at([name]));
    }
    match options.mode {
        Mode::MaxAutotune => {
            findings.assumes.push(Assumption::StreamOrder);
            if streams.is_multi_stream(view) {
                written_storages(view, registry, options, &streams, findings);
                effects_on_streams(view, registry, &streams, findings);
            }
        }
        Mode::ReduceOverhead => {
            let tagged = streams.operators.iter().find(|(_, o)| *o == StreamOperator::Tagged).map(|(n, _)| *n);
            let beside = first_beside(view, &streams);
            if let Some(node) = beside.or(tagged) {
                let name = view.name(node).to_string();
                let reason = format!(
                    "work on more than one stream is ordered by events only, which is not analysed yet (`{name}`)"
                );
                findings.push(Problem::unknown(Question::Order, reason).at([name]));
            }
        }
    }
}

fn first_beside(view: &dyn View, streams: &Streams) -> Option<NodeId> {
    let mut next = view.first(BodyId::ROOT);
    while let Some(node) = next {
        let is_operator = stream_operator(view.target(node)).is_some();
        if view.kind(node) == NodeKind::Call && !is_operator && streams.stream(node).is_some() {
            return Some(node);
        }
        next = view.next(node);
    }
    None
}

/// Every storage that anything writes must be touched from one stream only.
fn written_storages(
    view: &dyn View,
    registry: &Registry,
    options: &JudgeOptions,
    streams: &Streams,
    findings: &mut Findings,
) {
    let mut storages = Storages::new(view, registry, &options.may_alias);
    let mut seen: FxHashSet<Place> = FxHashSet::default();
    let mut next = view.first(BodyId::ROOT);
    let mut written: Vec<Place> = storages.finals().iter().map(|(input, _, _)| *input).collect();
    let finals: FxHashSet<Place> = written.iter().copied().collect();
    loop {
        for operand in std::mem::take(&mut written) {
            let group = storages.group(operand);
            let Some(origin) = group.origins.first().copied() else { continue };
            if group.events.is_empty() || !seen.insert(origin) {
                continue;
            }
            let mut touching: Vec<NodeId> = Vec::new();
            for member in &group.members {
                if view.kind(member.node) == NodeKind::Call {
                    touching.push(member.node);
                }
                for carrier in carriers(view, *member) {
                    let users = view.users_in_order(carrier).into_iter();
                    touching.extend(users.filter(|u| accesses(view, *u)));
                }
            }
            touching.sort_by_key(|n| (view.place(*n), *n));
            // The copy at the end that the signature stands for runs on the main stream.
            let is_final = group.members.iter().any(|m| finals.contains(m));
            let first = if is_final { Some(None) } else { touching.first().map(|n| streams.stream(*n)) };
            if let Some(other) = touching.iter().find(|n| Some(streams.stream(**n)) != first) {
                let names = [touching.first().copied(), Some(*other)].into_iter().flatten();
                let names: Vec<String> = names.map(|n| view.name(n).to_string()).collect();
                let reason = format!(
                    "memory of `{}` is written and touched from more than one stream ({})",
                    view.name(origin.node),
                    names.join(", ")
                );
                findings.push(Problem::unknown(Question::Order, reason).at(names));
            }
        }
        let Some(node) = next else { return };
        next = view.next(node);
        let writes = view.kind(node) == NodeKind::Call
            && registry.operator_of(view, node).is_none_or(|o| o.effects.opaque || o.effects.writes());
        if writes {
            written = tensor_operands(view, node);
        }
    }
}

/// Events and scopes touch no memory; an item is the call's.
fn accesses(view: &dyn View, node: NodeId) -> bool {
    let operator = stream_operator(view.target(node));
    view.kind(node) == NodeKind::Call
        && getitem_of(view, node).is_none()
        && matches!(operator, None | Some(StreamOperator::WaitTensor))
}

/// Draws, prints and collectives keep their order only on one stream.
fn effects_on_streams(view: &dyn View, registry: &Registry, streams: &Streams, findings: &mut Findings) {
    let mut first: Option<NodeId> = None;
    let mut next = view.first(BodyId::ROOT);
    while let Some(node) = next {
        next = view.next(node);
        if effect_of(view, registry, node) != Some(Effect::Ordered) {
            continue;
        }
        match first {
            None => first = Some(node),
            Some(one) if streams.stream(one) != streams.stream(node) => {
                let names = [one, node].map(|n| view.name(n).to_string());
                let reason = format!(
                    "`{}` and `{}` have effects whose order counts, on two streams",
                    view.name(one),
                    view.name(node)
                );
                findings.push(Problem::unknown(Question::Order, reason).at(names));
                return;
            }
            Some(_) => {}
        }
    }
}
