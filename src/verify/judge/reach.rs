//! Judging from the journal: only what the edit touched, and what that reaches.
//!
//! Touched nodes and, as long as values differ, their users are compared in program order; where a node turns out equal its
//! users are not asked. Every other node is one value on both sides.
//!
//! Why that is enough: let `n` be a node that is not reached. By induction over program order its operands are equal on both
//! sides (an operand that is touched or not equal has reached its users, `n` among them) and so are the versions that it
//! reads (a writer that is touched or not equal has reached everything that touches its storages). Equal calls of equal
//! operands are equal. Nodes that moved are not compared in place: everything that uses them is.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::analysis::{Place, Stamp, carriers, places_of, tensor_operands};
use crate::certificate::Evidence;
use crate::graph::{NodeId, NodeKind};
use crate::term::term::Side;
use crate::verify::effects::trace::Effect;
use crate::verify::findings::Findings;
use crate::verify::form::outputs::{compare_attributes, compare_finals, compare_outputs, same_part};
use crate::verify::form::strides::compare_strides;
use crate::verify::functional::key::Aspect;
use crate::verify::functional::values::{Functional, Shared};
use crate::verify::judge::edit::{compare_effect, compare_giving_assertion};
use crate::verify::judge::obligation::{Obligation, Owed};
use crate::verify::judge::touched::Touched;
use crate::verify::prove::congruence::Congruence;
use crate::verify::prove::widen;
use crate::verify::verdict::Question;

#[derive(Default)]
struct Reach {
    /// Nodes to compare, in program order of the graph as it is.
    queue: BTreeSet<(u64, NodeId)>,
    /// Storages that were written otherwise, on either side.
    written: FxHashSet<Place>,
    /// Whether what the caller finds must be compared.
    output: bool,
    /// Nodes that were compared.
    compared: Vec<NodeId>,
    /// Those of them that were not shown equal: what may lie in their memory lies in other memory than before.
    differing: FxHashSet<NodeId>,
}

/// Judges an edit of calls that leave no trace but values and writes.
pub fn judge_local(f: &mut Functional<'_>, c: &mut Congruence, touched: Touched, findings: &mut Findings) {
    f.shared = Shared::AllBut(touched.nodes().collect());
    let mut reach = Reach::default();
    let moved: FxHashSet<NodeId> = touched.moved.iter().copied().collect();
    for node in touched.changed.iter().filter(|n| !moved.contains(n)) {
        reach.push(f, *node);
    }
    for node in touched.nodes() {
        reach.follow_writes(f, node);
    }
    // What moved is not compared; where it was changed, too, its memory may be another.
    reach.differing.extend(touched.changed.iter().filter(|n| moved.contains(n)));
    for node in &touched.moved {
        reach.push_users(f, *node);
    }
    while let Some((_, node)) = reach.queue.pop_first() {
        if moved.contains(&node) {
            reach.differing.insert(node);
            reach.push_users(f, node);
        } else if f.after.view.kind(node) == NodeKind::Output {
            reach.output = true;
        } else {
            reach.compared.push(node);
            compare(f, c, node, &mut reach, findings);
        }
    }
    if reach.output {
        findings.problems.extend(compare_outputs(f, c));
        findings.strides = compare_strides(f, c);
        // What the signature copies to inputs is returned too.
        for side in [Side::Before, Side::After] {
            let copied: Vec<Place> = f.side(side).storages.finals().iter().map(|(input, _, _)| *input).collect();
            reach.written.extend(copied);
        }
    }
    let written: Vec<Place> = reach.written.iter().copied().collect();
    if !written.is_empty() {
        findings.problems.extend(compare_finals(f, c, Some(&written)));
        findings.problems.extend(compare_attributes(f, c, Some(&written)));
    }
    let reached = reach.compared.iter().chain(&touched.changed).chain(&touched.moved);
    let mut before: Vec<NodeId> = reached.clone().chain(&touched.erased).copied().collect();
    let mut after: Vec<NodeId> = reached.chain(&touched.inserted).copied().collect();
    before.sort_by_key(|n| (f.before.view.place(*n), *n));
    after.sort_by_key(|n| (f.after.view.place(*n), *n));
    before.dedup();
    after.dedup();
    crate::verify::effects::raises::check_some(f, c, &before, &after, findings);
    findings.answer(Question::Form, Evidence::Untouched);
    findings.answer(Question::Values, crate::verify::judge::edit::values_by(f, c));
    findings.answer(Question::Effects, Evidence::Compared { pairs: reach.compared.len() });
}

/// Compares one node of both sides; where it differs, its users are next.
fn compare(f: &mut Functional<'_>, c: &mut Congruence, node: NodeId, reach: &mut Reach, findings: &mut Findings) {
    let (old, new) = (places_of(f.before.view, node), places_of(f.after.view, node));
    let mut equal = f.before.view.ty(node) == f.after.view.ty(node) && old == new;
    for place in &old {
        if !equal {
            break;
        }
        let homes = (f.before.storages.origin(*place), f.after.storages.origin(*place));
        let sharing = (f.before.storages.home(homes.0), f.after.storages.home(homes.1));
        let (a, b) = (f.outcome(Side::Before, *place), f.outcome(Side::After, *place));
        let same_memory = homes.0 == homes.1
            && sharing.0 == sharing.1
            && (homes.0.node == node || !reach.differing.contains(&homes.0.node))
            && !sharing.0.iter().any(|s| reach.differing.contains(&s.place().node));
        // A rule may show equal what lies elsewhere in one memory.
        equal = same_memory
            && widen::equal(f, c, a, b)
            && lies_alike(f, c, *place, Aspect::Layout)
            // The copy of a value to the input in whose memory it lies asks for all strides.
            && (!lies_in_copied_input(f, *place) || lies_alike(f, c, *place, Aspect::Exact))
            && (homes.0 == *place || same_part(f, c, *place, *place));
    }
    let contents = same_contents(f, c, node);
    match f.effect(Side::After, node) {
        Some(Effect::Ordered) => compare_effect(f, c, node, node, findings),
        // What it gives is its operand's: that says nothing of what it asks.
        Some(Effect::Assertion) if f.after.view.ty(node).as_tensor().is_some() => {
            findings.problems.extend(compare_giving_assertion(f, c, node, node));
        }
        Some(Effect::Assertion) if !equal => {
            let (a, b) = (f.outcome(Side::Before, Place::of(node)), f.outcome(Side::After, Place::of(node)));
            // How its result lies is nothing that it asks.
            let owed = Owed::Assertion(f.after.view.name(node).to_string());
            findings.problems.extend(Obligation { owed, before: a, after: b }.discharge(f, c));
        }
        Some(Effect::Assertion) | None => {}
    }
    if !equal {
        reach.differing.insert(node);
        reach.push_users(f, node);
    }
    if !contents {
        reach.follow_writes(f, node);
    }
}

/// Returns whether a value lies alike on both sides: what it shares, and what its users ask, may depend on it.
fn lies_alike(f: &mut Functional<'_>, c: &mut Congruence, place: Place, aspect: Aspect) -> bool {
    if f.before.storages.type_of(place).as_tensor().is_none() {
        return true;
    }
    let (a, b) = (f.layout_as(Side::Before, place, aspect), f.layout_as(Side::After, place, aspect));
    c.equal(f, a, b)
}

/// Returns whether a value may lie in memory of an input to which the signature copies something.
fn lies_in_copied_input(f: &mut Functional<'_>, place: Place) -> bool {
    let inputs: Vec<Place> = f.before.storages.finals().iter().map(|(input, _, _)| *input).collect();
    if inputs.is_empty() {
        return false;
    }
    let origins = f.before.storages.group(place).origins.clone();
    inputs.into_iter().any(|input| origins.contains(&f.before.storages.origin(input)))
}

/// Returns whether a node leaves the same content in everything that it writes.
fn same_contents(f: &mut Functional<'_>, c: &mut Congruence, node: NodeId) -> bool {
    let (old, new) = (written_by(f, Side::Before, node), written_by(f, Side::After, node));
    let stamp = Stamp::Write(node);
    old == new
        && old.into_iter().all(|origin| {
            let (a, b) = (f.value(Side::Before, origin, stamp), f.value(Side::After, origin, stamp));
            widen::equal(f, c, a, b)
        })
}

/// Returns the storages that a node writes or may change by a write.
fn written_by(f: &mut Functional<'_>, side: Side, node: NodeId) -> Vec<Place> {
    let view = f.view(side);
    let mut out = Vec::new();
    if !view.contains(node) || view.kind(node) != NodeKind::Call || !may_write(f, side, node) {
        return out;
    }
    for operand in tensor_operands(view, node) {
        let group = f.side(side).storages.group(operand);
        if !group.writes(Stamp::Write(node)).is_empty() {
            out.extend(group.origins.iter().copied());
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

fn may_write(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    f.registry.operator_of(f.view(side), node).is_none_or(|o| {
        o.effects.opaque || o.effects.writes() || o.effects.side == Some(crate::ops::SideEffect::Control)
    })
}

impl Reach {
    fn push(&mut self, f: &mut Functional<'_>, node: NodeId) {
        if !f.after.view.contains(node) || !f.before.view.contains(node) {
            return;
        }
        if let Shared::AllBut(reached) = &mut f.shared {
            reached.insert(node);
        }
        let order = f.after.view.place(node).map_or(0, |(_, order)| order);
        self.queue.insert((order, node));
    }

    fn push_users(&mut self, f: &mut Functional<'_>, node: NodeId) {
        for user in f.after.view.users_in_order(node) {
            self.push(f, user);
        }
    }

    /// Everything that touches the storages that a node writes is reached.
    fn follow_writes(&mut self, f: &mut Functional<'_>, node: NodeId) {
        for side in [Side::Before, Side::After] {
            for origin in written_by(f, side, node) {
                if !self.written.insert(origin) {
                    continue;
                }
                let group = f.side(side).storages.group(origin);
                for member in &group.members {
                    for carrier in carriers(f.view(side), *member) {
                        for user in f.view(side).users_in_order(carrier) {
                            if user != node {
                                self.push(f, user);
                            }
                        }
                    }
                }
            }
        }
    }
}
