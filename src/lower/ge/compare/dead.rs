//! Operators that no output depends on: TorchAir leaves some behind, and they count.
//!
//! Each is given a term: what it computes, from what. Terms are interned exactly, for both graphs in one table, so
//! equal numbers are equal terms. Operators that nothing uses are paired by term; a pair forces the rest. Where equal
//! terms share their operands differently, the pairing is a choice, and a small search makes it.

use std::collections::{BTreeMap, HashMap};

use petgraph::algo::isomorphism::subgraph_isomorphisms_iter;
use petgraph::graph::DiGraph;

use super::Differences;
use super::normal::{Content, Normal, Source};
use super::pairs::Pairs;
use prost::Message as _;

/// Above this many operators no search is tried.
const SEARCHABLE: usize = 200;

#[derive(PartialEq, Eq, Hash, Clone)]
enum Operand {
    Pair(usize, usize),
    Term(usize, usize),
    Constant(Content),
    Unknown,
}

#[derive(PartialEq, Eq, Hash)]
struct Term {
    what: Vec<u8>,
    operands: Vec<(String, i32, String, Operand)>,
}

/// Pairs what is not paired yet.
pub(super) fn pair(pairs: &mut Pairs, found: &mut Differences) {
    let mut interned: HashMap<Term, usize> = HashMap::new();
    let left = terms(pairs.left, |n| pairs.to_right.get(n).copied().flatten().map(|_| n), &mut interned);
    let right = terms(pairs.right, |n| pairs.to_left.get(n).copied().flatten(), &mut interned);
    if left.is_empty() && right.is_empty() {
        return;
    }
    let counted = |terms: &BTreeMap<usize, usize>| {
        let mut counts: BTreeMap<usize, i64> = BTreeMap::new();
        terms.values().for_each(|t| {
            let n = counts.entry(*t).or_default();
            *n = n.saturating_add(1);
        });
        counts
    };
    if counted(&left) != counted(&right) {
        report(pairs, &left, &right, found);
        return;
    }
    let map = by_term(pairs, &left, &right).or_else(|| search(pairs, &left, &right));
    match map {
        Some(map) => map.into_iter().for_each(|(a, b)| pairs.force(a, b, found)),
        None => found.add(format!(
            "{} operators that no output depends on compute the same but share their operands differently",
            left.len()
        )),
    }
}

/// Returns the term of every operator that is not paired. `pair` names a pair by its operator of ours.
fn terms(
    graph: &Normal,
    pair: impl Fn(usize) -> Option<usize>,
    interned: &mut HashMap<Term, usize>,
) -> BTreeMap<usize, usize> {
    let mut terms = BTreeMap::new();
    for node in topological(graph) {
        let Some(n) = graph.nodes.get(node).filter(|_| pair(node).is_none()) else { continue };
        let operands = n
            .slots
            .iter()
            .map(|s| {
                let operand = match &s.source {
                    Source::Constant(c) => Operand::Constant(c.clone()),
                    Source::Node { node, output } => match (pair(*node), terms.get(node)) {
                        (Some(p), _) => Operand::Pair(p, *output),
                        (None, Some(t)) => Operand::Term(*t, *output),
                        (None, None) => Operand::Unknown,
                    },
                };
                (s.name.clone(), s.dtype, s.layout.clone(), operand)
            })
            .collect();
        let mut what = n.kind.as_bytes().to_vec();
        for (name, attr) in &n.attrs {
            what.push(0);
            what.extend(name.as_bytes());
            what.push(0);
            what.extend(attr.encode_to_vec());
        }
        what.extend(format!("{:?}", n.outputs).as_bytes());
        let next = interned.len();
        terms.insert(node, *interned.entry(Term { what, operands }).or_insert(next));
    }
    terms
}

/// Returns all operators, producers first; what stands in a cycle comes last in written order.
fn topological(graph: &Normal) -> Vec<usize> {
    let count = graph.nodes.len();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut missing = vec![0_usize; count];
    for (user, n) in graph.nodes.iter().enumerate() {
        for s in &n.slots {
            if let Source::Node { node, .. } = s.source {
                if let Some(u) = users.get_mut(node) {
                    u.push(user);
                }
                if let Some(m) = missing.get_mut(user) {
                    *m = m.saturating_add(1);
                }
            }
        }
    }
    let mut ready: Vec<usize> = (0..count).rev().filter(|n| missing.get(*n) == Some(&0)).collect();
    let mut order = Vec::with_capacity(count);
    let mut placed = vec![false; count];
    while let Some(n) = ready.pop() {
        order.push(n);
        if let Some(p) = placed.get_mut(n) {
            *p = true;
        }
        for user in users.get(n).into_iter().flatten() {
            if let Some(m) = missing.get_mut(*user) {
                *m = m.saturating_sub(1);
                if *m == 0 {
                    ready.push(*user);
                }
            }
        }
    }
    order.extend((0..count).filter(|n| placed.get(*n) == Some(&false)));
    order
}

/// Pairs equal terms in written order, and says so only if every producer is then paired with its counterpart.
fn by_term(
    pairs: &Pairs,
    left: &BTreeMap<usize, usize>,
    right: &BTreeMap<usize, usize>,
) -> Option<BTreeMap<usize, usize>> {
    let mut queues: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    right.iter().rev().for_each(|(node, term)| queues.entry(*term).or_default().push(*node));
    let mut map = BTreeMap::new();
    for (node, term) in left {
        map.insert(*node, queues.get_mut(term)?.pop()?);
    }
    let fits = map.iter().all(|(a, b)| {
        let (Some(x), Some(y)) = (pairs.left.nodes.get(*a), pairs.right.nodes.get(*b)) else { return false };
        x.slots.iter().zip(&y.slots).all(|(s, t)| match (&s.source, &t.source) {
            (Source::Node { node: a, .. }, Source::Node { node: b, .. }) => {
                pairs.to_right.get(*a).copied().flatten().or_else(|| map.get(a).copied()) == Some(*b)
            }
            _ => true,
        })
    });
    fits.then_some(map)
}

fn search(
    pairs: &Pairs,
    left: &BTreeMap<usize, usize>,
    right: &BTreeMap<usize, usize>,
) -> Option<BTreeMap<usize, usize>> {
    if left.len() > SEARCHABLE {
        return None;
    }
    let build = |graph: &Normal, terms: &BTreeMap<usize, usize>| {
        let mut g: DiGraph<(usize, usize), String> = DiGraph::new();
        let at: BTreeMap<usize, _> = terms.iter().map(|(n, t)| (*n, g.add_node((*n, *t)))).collect();
        for (user, place) in &at {
            for s in graph.nodes.get(*user).into_iter().flat_map(|n| &n.slots) {
                if let Source::Node { node, output } = s.source
                    && let Some(producer) = at.get(&node)
                {
                    let label = format!("{} {output}", s.name);
                    match g.find_edge(*producer, *place) {
                        Some(edge) => {
                            if let Some(weight) = g.edge_weight_mut(edge) {
                                weight.push_str(&label);
                            }
                        }
                        None => {
                            g.add_edge(*producer, *place, label);
                        }
                    }
                }
            }
        }
        g
    };
    let (a, b) = (build(pairs.left, left), build(pairs.right, right));
    let (a, b) = (&a, &b);
    let mut same_term = |x: &(usize, usize), y: &(usize, usize)| x.1 == y.1;
    let mut same_slot = |x: &String, y: &String| x == y;
    let found = subgraph_isomorphisms_iter(&a, &b, &mut same_term, &mut same_slot)?.next()?;
    let (a_nodes, b_nodes): (Vec<_>, Vec<_>) = (a.node_weights().collect(), b.node_weights().collect());
    found.iter().enumerate().map(|(x, y)| Some((a_nodes.get(x)?.0, b_nodes.get(*y)?.0))).collect()
}

fn report(pairs: &Pairs, left: &BTreeMap<usize, usize>, right: &BTreeMap<usize, usize>, found: &mut Differences) {
    let mut queues: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    right.iter().for_each(|(node, term)| queues.entry(*term).or_default().push(*node));
    for (node, term) in left {
        if queues.get_mut(term).and_then(Vec::pop).is_none()
            && let Some(n) = pairs.left.nodes.get(*node)
        {
            found.add(format!("{} ({}) is used by no output and is not in the reference", n.name, n.kind));
        }
    }
    for node in queues.into_values().flatten() {
        if let Some(n) = pairs.right.nodes.get(node) {
            found.add(format!("{} ({}) is used by no output and is only in the reference", n.name, n.kind));
        }
    }
}
