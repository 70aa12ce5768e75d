//! Regions: what computes a pair of values of both graphs, of a frontier of values that both have.
//!
//! Promises: both graphs of a region take the same inputs by name and type, and are well formed; what is made of no input is no frontier, but comes
//! along. A region whose calls do more than compute, or of whose values memory is written, is none. Leaves what its frontier may hold to runs.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::analysis::form::check_form;
use crate::graph::{self, BodyId, Graph, NodeId, NodeKind, StandIn, ValueType, View};
use crate::ops::Registry;
use crate::verify::differ::parting::Alike;
use crate::verify::differ::region::sites::Pair;

/// What a pair of values is made of: values that both graphs have, by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frontier(BTreeSet<u32>);

/// Two small graphs.
pub struct Region {
    /// What computes the value of the graph before.
    pub before: Graph,
    /// What computes that of the graph after.
    pub after: Graph,
    /// Inputs that stand for nodes of the graph before: the input's name, and the node's.
    pub stand_ins: Vec<(String, String)>,
}

/// How many definitions stand behind one another in front of a region at most.
const DEEPEST: usize = 256;

/// Cuts regions out of a pair of graphs.
pub struct Cutter<'a> {
    /// Both graphs.
    pub graphs: [&'a Graph; 2],
    /// The operators.
    pub registry: &'a Registry,
    /// Which values they make alike.
    pub alike: &'a Alike,
    /// Nodes in whose memory something may be written.
    written: [FxHashSet<NodeId>; 2],
}

impl<'a> Cutter<'a> {
    /// Makes a pair ready.
    pub fn new(graphs: [&'a Graph; 2], registry: &'a Registry, alike: &'a Alike) -> Self {
        Cutter { graphs, registry, alike, written: graphs.map(|g| written(g, registry)) }
    }

    /// Returns the nearest frontier of a pair.
    pub fn frontier(&self, (a, b): Pair) -> Frontier {
        let mut found = BTreeSet::new();
        for (program, start) in [a, b].into_iter().enumerate() {
            self.walk(program, vec![start], &mut found);
        }
        Frontier(found)
    }

    /// Returns the frontier of which no value is made of another: those that are, are defined.
    pub fn independent(&self, mut frontier: Frontier) -> Frontier {
        for _ in 0..DEEPEST {
            let made = self.made_of_others(&frontier);
            if made.is_empty() {
                break;
            }
            frontier.0.retain(|number| !made.contains(number));
            let [before, _] = self.graphs;
            for node in made.iter().filter_map(|number| self.alike.makers(0, *number).first()) {
                self.walk(0, before.operands(*node).collect(), &mut frontier.0);
            }
        }
        frontier
    }

    /// The values of a frontier that are made of others of it.
    fn made_of_others(&self, frontier: &Frontier) -> BTreeSet<u32> {
        let [before, _] = self.graphs;
        let (mut above, mut made) = (FxHashSet::default(), BTreeSet::new());
        for node in before.nodes(BodyId::ROOT) {
            let number = self.alike.common(0, node).filter(|number| frontier.0.contains(number));
            let is_above = before.operands(node).any(|n| above.contains(&n));
            if is_above || number.is_some() {
                above.insert(node);
            }
            made.extend(number.filter(|_| is_above));
        }
        made
    }

    /// Returns the frontier one layer of definitions further in; `None` where nothing is left to define.
    pub fn wider(&self, frontier: &Frontier) -> Option<Frontier> {
        let [before, _] = self.graphs;
        let mut found = BTreeSet::new();
        for number in &frontier.0 {
            let Some(node) = self.alike.makers(0, *number).first() else { continue };
            match before.kind(*node) {
                NodeKind::Placeholder => {
                    found.insert(*number);
                }
                _ => self.walk(0, before.operands(*node).collect(), &mut found),
            }
        }
        let wider = Frontier(found);
        (wider != *frontier).then_some(wider)
    }

    /// Returns how many calls of both graphs lie between a pair and a frontier.
    pub fn calls(&self, (a, b): Pair, frontier: &Frontier) -> usize {
        let mut count = 0_usize;
        for (program, start) in [a, b].into_iter().enumerate() {
            let Some(graph) = self.graphs.get(program) else { continue };
            let (mut open, mut seen) = (vec![start], FxHashSet::default());
            while let Some(node) = open.pop() {
                let is_end = self.alike.common(program, node).is_some_and(|number| frontier.0.contains(&number));
                if !is_end && seen.insert(node) {
                    count = count.saturating_add(1);
                    open.extend(graph.operands(node));
                }
            }
        }
        count
    }

    /// Finds where values begin that both graphs have and that may be inputs.
    fn walk(&self, program: usize, mut open: Vec<NodeId>, found: &mut BTreeSet<u32>) {
        let Some(graph) = self.graphs.get(program) else { return };
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            match self.alike.common(program, node) {
                Some(number) if is_value(graph.ty(node)) && !is_made_of_nothing(graph, node) => {
                    found.insert(number);
                }
                _ => open.extend(graph.operands(node)),
            }
        }
    }

    /// Cuts the region of a pair out; `None` where there is none.
    pub fn cut(&self, (a, b): Pair, frontier: &Frontier) -> Option<Region> {
        let names: Vec<(u32, String)> = frontier.0.iter().filter_map(|n| Some((*n, self.name(*n)?))).collect();
        let of = |program: usize| -> Vec<StandIn> {
            let stand_in = |(number, name): &(u32, String)| {
                let nodes = self.alike.makers(program, *number).to_vec();
                let ty = self.graphs.first()?.ty(*self.alike.makers(0, *number).first()?).clone();
                Some((name.clone(), nodes, ty))
            };
            names.iter().filter_map(stand_in).collect()
        };
        let copies = self.graphs.map(Graph::clone).into();
        let cut = graph::region(copies, &[a, b], &[of(0), of(1)]);
        let [before, after] = <[Graph; 2]>::try_from(cut).ok()?;
        let is_sound = self.computes_only(0, &before) && self.computes_only(1, &after);
        let (before, after) = (self.typed(before)?, self.typed(after)?);
        let [whole, _] = self.graphs;
        let node = |number: &u32| self.alike.makers(0, *number).first().map(|n| whole.name(*n).to_string());
        let stand_ins = names.iter().filter_map(|(number, name)| Some((name.clone(), node(number)?))).collect();
        is_sound.then_some(Region { before, after, stand_ins })
    }

    /// The name of an input that stands for a value; `None` where the value is an input.
    fn name(&self, number: u32) -> Option<String> {
        let [before, _] = self.graphs;
        let node = self.alike.makers(0, number).first().filter(|n| before.kind(**n) != NodeKind::Placeholder)?;
        let is_free = |name: &String| self.graphs.iter().all(|g| g.find_name(BodyId::ROOT, name).is_none());
        let base = format!("{}_given", before.name(*node));
        std::iter::once(base.clone()).chain((1_u32..).map(|k| format!("{base}_{k}"))).find(is_free)
    }

    /// Whether the calls of a region only compute, and nothing is written of which it is made.
    fn computes_only(&self, program: usize, region: &Graph) -> bool {
        let (Some(whole), Some(written)) = (self.graphs.get(program), self.written.get(program)) else { return false };
        let computes = |node: NodeId| match region.kind(node) {
            NodeKind::Call => self.registry.get(region.target(node)).is_some_and(|o| o.effects.is_pure()),
            NodeKind::Placeholder | NodeKind::Output => true,
            NodeKind::GetAttr => false,
        };
        let is_apart = |node: NodeId| match whole.find_name(BodyId::ROOT, region.name(node)) {
            Some(own) => !written.contains(&own),
            None => true,
        };
        region.nodes(BodyId::ROOT).all(|n| computes(n) && is_apart(n))
    }

    fn typed(&self, mut graph: Graph) -> Option<Graph> {
        (check_form(&graph).is_empty() && self.registry.check_types(&mut graph).is_empty()).then_some(graph)
    }
}

fn is_value(ty: &ValueType) -> bool {
    matches!(ty, ValueType::Tensor(_) | ValueType::SymInt(_))
}

/// How many calls something may have that is made of no input.
const CONSTANT: usize = 12;

fn is_made_of_nothing(graph: &Graph, node: NodeId) -> bool {
    let (mut open, mut seen) = (vec![node], FxHashSet::default());
    while let Some(node) = open.pop() {
        if !seen.insert(node) {
            continue;
        }
        if seen.len() > CONSTANT || graph.kind(node) == NodeKind::Placeholder {
            return false;
        }
        open.extend(graph.operands(node));
    }
    true
}

/// Nodes whose memory may be what some call writes: its operands, and what those may be views of.
fn written(graph: &Graph, registry: &Registry) -> FxHashSet<NodeId> {
    let effects = |n: NodeId| registry.get(graph.target(n)).map(|o| &o.effects);
    let writes = |n: &NodeId| graph.kind(*n) == NodeKind::Call && effects(*n).is_none_or(|e| e.opaque || e.writes());
    let mut open: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(writes).flat_map(|n| graph.operands(n)).collect();
    let mut written = FxHashSet::default();
    while let Some(node) = open.pop() {
        if written.insert(node) && effects(node).is_none_or(|e| e.returns.iter().any(|r| !r.is_empty())) {
            open.extend(graph.operands(node));
        }
    }
    written
}
