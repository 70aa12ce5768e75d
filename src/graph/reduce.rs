//! The smallest graphs for which something still holds.
//!
//! Outputs are left out, or moved up to what they are made of, then calls in ever smaller groups (Zeller and Hildebrandt's delta debugging): a value that is still read becomes an input,
//! a call that gives its operand's type is passed by. Each try is a copy that the caller's test sees; what it does not recognise is forgotten.
//!
//! Promises: what comes out passed the test; where time ran out it is the smallest so far, and that is said. Leaves the test, and sizes of tensors,
//! to callers.

use std::time::Instant;

use rustc_hash::FxHashSet;

use super::cut::{self, Item};
use super::{Arg, BodyId, Graph, NodeId, NodeKind, ValueType, View};

/// What is left of graphs.
pub struct Reduced {
    /// The graphs.
    pub graphs: Vec<Graph>,
    /// How often the test was run.
    pub tried: usize,
    /// Whether nothing more can be taken out; else time ran out.
    pub is_done: bool,
}

struct Reducer<'t> {
    now: Vec<Graph>,
    test: &'t mut dyn FnMut(&[Graph]) -> bool,
    tried: usize,
    deadline: Instant,
}

/// Makes graphs of one calling convention smaller, alike, as long as the test, which they pass, says yes; no try begins after the deadline.
pub fn reduce(graphs: Vec<Graph>, deadline: Instant, test: &mut dyn FnMut(&[Graph]) -> bool) -> Reduced {
    let mut r = Reducer { now: graphs, test, tried: 0, deadline };
    loop {
        let before = r.size();
        r.outputs();
        r.raises();
        r.calls();
        r.bypasses();
        r.accept(&mut cut::drop_unread_inputs);
        if r.size() == before || r.is_late() {
            break;
        }
    }
    Reduced { is_done: !r.is_late(), tried: r.tried, graphs: r.now }
}

impl Reducer<'_> {
    fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    fn size(&self) -> (usize, usize) {
        (self.now.iter().map(Graph::len).sum(), self.output_count())
    }

    fn output_count(&self) -> usize {
        let count = |g: &Graph| g.args(g.output(BodyId::ROOT)?).first()?.items().map(<[_]>::len);
        self.now.first().and_then(count).unwrap_or(0)
    }

    /// Takes a change of the graphs if it changes something and the test still says yes.
    fn accept(&mut self, change: &mut dyn FnMut(&mut [Graph]) -> bool) -> bool {
        if self.is_late() {
            return false;
        }
        let mut graphs = self.now.clone();
        if !change(&mut graphs) {
            return false;
        }
        self.tried = self.tried.saturating_add(1);
        let holds = (self.test)(&graphs);
        if holds {
            self.now = graphs;
        }
        holds
    }

    /// Tries to do without groups of items: all, halves, quarters, and so on to single ones.
    fn without<T: Clone>(&mut self, mut items: Vec<T>, change: &dyn Fn(&mut [Graph], &[T]) -> bool) {
        let mut group = items.len();
        while group > 0 {
            let mut at = 0_usize;
            while at < items.len() && !self.is_late() {
                let end = at.saturating_add(group).min(items.len());
                let some: Vec<T> = items.get(at..end).unwrap_or_default().to_vec();
                if self.accept(&mut |g| change(g, &some)) {
                    items.drain(at..end);
                } else {
                    at = end;
                }
            }
            group = group.checked_div(2).unwrap_or(0);
        }
    }

    fn outputs(&mut self) {
        let mut group = self.output_count();
        while group > 0 {
            let mut at = 0_usize;
            while at < self.output_count() && !self.is_late() {
                let places: Vec<usize> = (at..at.saturating_add(group).min(self.output_count())).collect();
                if !self.accept(&mut |g| cut::drop_outputs(g, &places)) {
                    at = at.saturating_add(group);
                }
            }
            group = group.checked_div(2).unwrap_or(0);
        }
    }

    /// Returns earlier values: what comes after them is no part of it.
    fn raises(&mut self) {
        for place in 0..self.output_count() {
            let names = self.now.first().map_or_else(Vec::new, |g| raised(g, place, parted(&self.now).as_ref()));
            // The later a value, the likelier it shows what the last one shows: the first that does is looked for between the two.
            let (mut low, mut high) = (0_usize, names.len());
            while low < high && !self.is_late() {
                let middle = low.midpoint(high);
                let holds = names.get(middle).is_some_and(|n| self.accept(&mut |g| cut::return_instead(g, place, n)));
                (low, high) = if holds { (low, middle) } else { (middle.saturating_add(1), high) };
            }
        }
    }

    fn calls(&mut self) {
        let mut seen = FxHashSet::default();
        let mut items: Vec<Item> = Vec::new();
        for g in &self.now {
            for node in g.nodes(BodyId::ROOT).filter(|n| matches!(g.kind(*n), NodeKind::Call | NodeKind::GetAttr)) {
                if seen.insert(g.name(node).to_string()) {
                    items.push(item(g, node));
                }
            }
        }
        self.without(items, &|g, some| {
            let is_out = cut::take_out(g, some);
            cut::drop_unread_inputs(g) || is_out
        });
    }

    /// Passes by calls that give what one of their operands is, by type.
    fn bypasses(&mut self) {
        let Some(g) = self.now.first() else { return };
        let name = |n: NodeId| Box::<str>::from(g.name(n));
        let pair = |n: NodeId| Some((name(n), name(alike(g, n)?)));
        let pairs: Vec<(Box<str>, Box<str>)> = g.nodes(BodyId::ROOT).filter_map(pair).collect();
        self.without(pairs, &|g, some| {
            for (node, operand) in some.iter().rev() {
                cut::bypass(g, node, operand);
            }
            cut::drop_unread_inputs(g);
            true
        });
    }
}

/// A node's name, and those of the items that are taken out of its results.
fn item(g: &Graph, node: NodeId) -> Item {
    let mut names = vec![Box::from(g.name(node))];
    if matches!(g.ty(node), ValueType::Many(_)) {
        let items = g.users_in_order(node).into_iter().filter(|u| g.target(*u) == "_operator.getitem");
        names.extend(items.map(|u| Box::from(g.name(u))));
    }
    names
}

/// Names of the tensors of which an output is made, in order, and of those only what may differ.
fn raised(g: &Graph, place: usize, differing: Option<&FxHashSet<NodeId>>) -> Vec<Box<str>> {
    let returned = || g.args(g.output(BodyId::ROOT)?).first()?.items()?.get(place)?.as_node();
    let Some(returned) = returned() else { return Vec::new() };
    let (mut seen, mut open) = (FxHashSet::default(), vec![returned]);
    while let Some(node) = open.pop() {
        open.extend(g.operands(node).filter(|o| seen.insert(*o)));
    }
    let is_tensor = |n: &NodeId| g.kind(*n) == NodeKind::Call && matches!(g.ty(*n), ValueType::Tensor(_));
    let counts = |n: &NodeId| seen.contains(n) && differing.is_none_or(|d| d.contains(n));
    g.nodes(BodyId::ROOT).filter(|n| is_tensor(n) && counts(n)).map(|n| Box::from(g.name(n))).collect()
}

/// The nodes of the first of two graphs that the second calls otherwise, and what is made of them.
fn parted(graphs: &[Graph]) -> Option<FxHashSet<NodeId>> {
    let [a, b] = graphs else { return None };
    let mut out = FxHashSet::default();
    for node in a.nodes(BodyId::ROOT) {
        let other = b.find_name(BodyId::ROOT, a.name(node));
        let is_same = other.is_some_and(|o| is_same_call(a, node, b, o));
        if !is_same || a.operands(node).any(|o| out.contains(&o)) {
            out.insert(node);
        }
    }
    Some(out)
}

/// Whether calls of two graphs are the same, by the names of their operands.
fn is_same_call(a: &Graph, x: NodeId, b: &Graph, y: NodeId) -> bool {
    let names = |g: &Graph, n: NodeId| g.operands(n).map(|o| g.name(o).to_string()).collect::<Vec<_>>();
    let unnamed = |arg: &Arg| arg.map_nodes(&mut |_| x);
    let args = |g: &Graph, n: NodeId| g.args(n).iter().map(unnamed).collect::<Vec<_>>();
    let kwargs = |g: &Graph, n: NodeId| {
        g.kwargs(n).iter().map(|(k, v)| (g.texts.text(*k).to_string(), unnamed(v))).collect::<Vec<_>>()
    };
    a.target(x) == b.target(y) && names(a, x) == names(b, y) && args(a, x) == args(b, y) && kwargs(a, x) == kwargs(b, y)
}

/// The first operand of a call that has its type.
fn alike(g: &Graph, node: NodeId) -> Option<NodeId> {
    if g.kind(node) != NodeKind::Call || !matches!(g.ty(node), ValueType::Tensor(_)) {
        return None;
    }
    g.operands(node).find(|o| g.ty(*o) == g.ty(node))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Device, Dtype, NewNode, TensorType};
    use super::*;
    use crate::sym::Dim;

    /// `x`, then so many calls in a chain, of which the last is returned.
    fn chain(targets: &[&str]) -> Graph {
        let ty = ValueType::tensor(TensorType::new(Dtype::F32, [Dim::Fixed(4)], Device::cpu()));
        let mut g = Graph::new();
        let mut put = |name: &str, kind, target: &str, args: Vec<Arg>, ty| {
            let target = g.texts.intern(target);
            g.push(BodyId::ROOT, name, NewNode { kind, target, args: args.into(), kwargs: Box::default(), ty })
        };
        let mut last = put("x", NodeKind::Placeholder, "x", Vec::new(), ty.clone());
        for (i, target) in targets.iter().enumerate() {
            last = put(&format!("n{i}"), NodeKind::Call, target, vec![Arg::Node(last)], ty.clone());
        }
        let returned = vec![Arg::Tuple(Box::new([Arg::Node(last)]))];
        put("output", NodeKind::Output, "output", returned, ValueType::None);
        g
    }

    fn targets(g: &Graph) -> Vec<&str> {
        g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Call).map(|n| g.target(n)).collect()
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn what_is_left_is_what_the_test_asks_for() {
        let g = chain(&["a.a", "a.b", "a.c", "a.d", "a.e", "a.f", "a.g"]);
        let asks = |g: &[Graph]| g.iter().all(|g| targets(g).contains(&"a.c") && targets(g).contains(&"a.f"));
        let left = reduce(vec![g], soon(), &mut |g| asks(g));
        assert_eq!(targets(&left.graphs[0]), ["a.c", "a.f"]);
        assert!(left.is_done && left.tried < 40, "{}", left.tried);
    }

    #[test]
    fn two_graphs_keep_one_calling_convention() {
        let (a, b) = (chain(&["a.a", "a.b", "a.c", "a.d"]), chain(&["a.a", "a.b", "a.z", "a.d"]));
        let inputs = |g: &Graph| {
            let inputs = g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Placeholder);
            inputs.map(|n| g.name(n).to_string()).collect::<Vec<_>>()
        };
        let mut asks = |g: &[Graph]| {
            assert_eq!(inputs(&g[0]), inputs(&g[1]));
            targets(&g[0]).contains(&"a.c") && targets(&g[1]).contains(&"a.z")
        };
        let left = reduce(vec![a, b], soon(), &mut asks);
        assert_eq!((targets(&left.graphs[0]), targets(&left.graphs[1])), (vec!["a.c"], vec!["a.z"]));
    }

    #[test]
    fn an_output_is_moved_up_to_where_two_graphs_part() {
        let (a, b) = (chain(&["a.a", "a.b", "a.c", "a.d", "a.e"]), chain(&["a.a", "a.z", "a.c", "a.d", "a.e"]));
        let returned = |g: &Graph| g.operands(g.output(BodyId::ROOT).unwrap()).next().map(|n| g.target(n).to_string());
        // Only what stands at the end of its graph is seen.
        let mut asks = |g: &[Graph]| {
            let differs = g.iter().map(returned).collect::<Vec<_>>();
            let (x, y) = (targets(&g[0]), targets(&g[1]));
            x != y && x.contains(&"a.b") && y.contains(&"a.z") && differs.iter().all(Option::is_some)
        };
        let whole = [a, b];
        let differing = parted(&whole).unwrap();
        assert_eq!(raised(&whole[0], 0, Some(&differing)).len(), 3);
        let mut r = Reducer { now: whole.into(), test: &mut asks, tried: 0, deadline: soon() };
        r.raises();
        assert_eq!((returned(&r.now[0]).as_deref(), returned(&r.now[1]).as_deref()), (Some("a.b"), Some("a.z")));
    }

    #[test]
    fn without_time_nothing_is_tried() {
        let left = reduce(vec![chain(&["a.a"])], Instant::now(), &mut |_| unreachable!());
        assert!(!left.is_done && left.tried == 0 && left.graphs[0].len() == 3);
    }
}
