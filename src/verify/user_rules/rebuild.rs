//! A graph in which each class that rules joined is written in one way.
//!
//! Promises: the way is the same for every graph of an e-graph that has what it needs: the flattest term, the first of those in the order of terms; what is replaced made new memory and is replaced by
//! what does, a node of its own for each, so that nothing shares memory that did not; a graph that cannot be written so is none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use egg::Id;
use rustc_hash::{FxHashMap, FxHashSet};

use super::terms::{Side, Term, Terms};
use crate::editor::{Editor, Point};
use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};
use crate::ops::Registry;

/// Returns a graph with every class in the one way that it is written, and what stands there in the place of what; adds the classes that were written anew.
pub(super) fn rebuilt(
    terms: &Terms,
    graph: &Graph,
    side: &Side,
    registry: &Registry,
    touched: &mut BTreeSet<Id>,
) -> Option<(Graph, Vec<(NodeId, NodeId)>)> {
    let editor = Editor::new(graph.clone(), Arc::new(registry.clone()));
    let mut writer = Writer { terms, best: flattest(terms, side), editor, stands: FxHashMap::default(), touched };
    let mut placed = Vec::new();
    let nodes: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) != NodeKind::Output).collect();
    for node in nodes {
        let class = terms.find(side.class(node)?);
        let own = side.term(node)?;
        let stays = writer.best.get(&class).is_none_or(|best| *best == canonical(terms, own));
        let stands = if stays { None } else { writer.replace(node, class)? };
        placed.extend(stands.map(|new| (new, node)));
        writer.stands.entry(class).or_insert(stands.unwrap_or(node));
    }
    Some((writer.editor.into_graph(), placed))
}

fn canonical(terms: &Terms, term: &Term) -> Term {
    Term { head: term.head, operands: term.operands.iter().map(|id| terms.find(*id)).collect() }
}

struct Writer<'a> {
    terms: &'a Terms,
    best: FxHashMap<Id, Term>,
    editor: Editor,
    /// The first node of each class, from which it is read.
    stands: FxHashMap<Id, NodeId>,
    touched: &'a mut BTreeSet<Id>,
}

impl Writer<'_> {
    /// Replaces a node by the one way that its class is written; `Some(None)` where one of both is no memory of its own, `None` where that cannot be done.
    fn replace(&mut self, node: NodeId, class: Id) -> Option<Option<NodeId>> {
        if !self.is_new_memory(node) {
            return Some(None);
        }
        let best = self.best.get(&class)?.clone();
        for operand in &best.operands {
            self.write(*operand, node)?;
        }
        let new = self.insert(&best, node)?;
        if !self.is_new_memory(new) {
            self.editor.erase(new).ok()?;
            return Some(None);
        }
        self.touched.insert(class);
        self.editor.replace_uses(node, new, None).ok()?;
        self.editor.erase(node).ok()?;
        Some(Some(new))
    }

    /// Sees to it that there is a node of a class before this one.
    fn write(&mut self, class: Id, before: NodeId) -> Option<()> {
        let mut open = vec![self.terms.find(class)];
        while let Some(class) = open.last().copied() {
            let best = if self.stands.contains_key(&class) { None } else { Some(self.best.get(&class)?.clone()) };
            let missing: Vec<Id> = best
                .iter()
                .flat_map(|b| b.operands.iter())
                .copied()
                .filter(|id| !self.stands.contains_key(id))
                .collect();
            if missing.is_empty() {
                open.pop();
                if let Some(best) = best {
                    let new = self.insert(&best, before)?;
                    self.stands.insert(class, new);
                    self.touched.insert(class);
                }
            }
            open.extend(missing);
        }
        Some(())
    }

    fn insert(&mut self, term: &Term, before: NodeId) -> Option<NodeId> {
        let operands: Option<Vec<NodeId>> = term.operands.iter().map(|id| self.stands.get(id).copied()).collect();
        let call = self.terms.analysis.heads.call(term.head, &operands?)?;
        self.editor.insert(Point::Before(before), call).ok()
    }

    fn is_new_memory(&self, node: NodeId) -> bool {
        let operator = self.editor.registry().operator_of(self.editor.graph(), node);
        operator.is_some_and(|o| o.effects.is_pure() && o.effects.returns.iter().all(|r| r.is_empty()))
    }
}

/// Returns for each class that a graph can write the flattest term, the first of those in their order: level by level (Knuth, "A generalization of Dijkstra's algorithm", 1977).
fn flattest(terms: &Terms, side: &Side) -> FxHashMap<Id, Term> {
    let leaves: FxHashSet<u32> = side.leaves().collect();
    let mut users: FxHashMap<Id, Vec<(Id, &Term)>> = FxHashMap::default();
    let mut missing: FxHashMap<&Term, usize> = FxHashMap::default();
    let mut level: BTreeMap<Id, &Term> = BTreeMap::new();
    for class in terms.classes().filter(|class| class.data.is_some()) {
        for term in &class.nodes {
            if term.operands.is_empty() && (leaves.contains(&term.head) || terms.analysis.heads.is_call(term.head)) {
                offer(&mut level, class.id, term);
            }
            let operands: BTreeSet<Id> = term.operands.iter().copied().collect();
            missing.insert(term, operands.len());
            operands.into_iter().for_each(|id| users.entry(id).or_default().push((class.id, term)));
        }
    }
    let mut best: FxHashMap<Id, Term> = FxHashMap::default();
    while !level.is_empty() {
        let mut next: BTreeMap<Id, &Term> = BTreeMap::new();
        best.extend(level.iter().map(|(class, term)| (*class, (*term).clone())));
        for (class, term) in level.keys().flat_map(|class| users.get(class)).flatten() {
            let Some(left) = missing.get_mut(term) else { continue };
            *left = left.saturating_sub(1);
            if *left == 0 && !best.contains_key(class) {
                offer(&mut next, *class, term);
            }
        }
        level = next;
    }
    best
}

fn offer<'a>(level: &mut BTreeMap<Id, &'a Term>, class: Id, term: &'a Term) {
    let best = level.entry(class).or_insert(term);
    *best = (*best).min(term);
}
