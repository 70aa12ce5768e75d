//! Where two graphs part: pairs of values that are made alike of values of which one pair differs, from the outside in.
//!
//! Promises: both values of a pair are made in the root; each pair lies on the way to the same place of what the graphs return. Leaves whether they
//! differ to runs.

use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View};
use crate::verify::differ::parting::Alike;

/// No way is followed further.
const DEEPEST: usize = 4096;

/// Two values, one of each graph.
pub type Pair = (NodeId, NodeId);

/// Returns for each place of what the graphs return that is not made alike the pairs on the way inwards: the first that is returned, the last where
/// the graphs part.
pub fn ways(before: &Graph, after: &Graph, alike: &Alike) -> Vec<Vec<Pair>> {
    let returned = |g: &Graph| g.output(BodyId::ROOT).map_or(Vec::new(), |o| g.operands(o).collect());
    let pairs = returned(before).into_iter().zip(returned(after)).filter(|pair| !alike.are(*pair));
    pairs.map(|pair| inwards(before, after, alike, pair)).collect()
}

fn inwards(before: &Graph, after: &Graph, alike: &Alike, pair: Pair) -> Vec<Pair> {
    let mut way = vec![pair];
    let mut now = pair;
    while let Some(next) = next(before, after, alike, now).filter(|_| way.len() < DEEPEST) {
        way.push(next);
        now = next;
    }
    way
}

/// The one pair of operands that is not alike, where two calls are the same but for it.
fn next(before: &Graph, after: &Graph, alike: &Alike, (a, b): Pair) -> Option<Pair> {
    let are_calls = before.kind(a) == NodeKind::Call && after.kind(b) == NodeKind::Call;
    if !are_calls || before.target(a) != after.target(b) || !same_but_for_nodes(before, after, (a, b)) {
        return None;
    }
    let mut unlike = before.operands(a).zip(after.operands(b)).filter(|pair| !alike.are(*pair));
    let first = unlike.next()?;
    unlike.all(|other| other == first).then_some(first)
}

fn same_but_for_nodes(before: &Graph, after: &Graph, (a, b): Pair) -> bool {
    let same = |x: &[Arg], y: &[Arg]| {
        let blank =
            |all: &[Arg]| all.iter().map(|arg| arg.map_nodes(&mut |_| NodeId::new_in_batch(0))).collect::<Vec<_>>();
        blank(x) == blank(y)
    };
    let keywords = |g: &Graph, n: NodeId| -> (Vec<String>, Vec<Arg>) {
        g.kwargs(n).iter().map(|(k, v)| (g.texts.text(*k).to_string(), v.clone())).unzip()
    };
    let ((ka, va), (kb, vb)) = (keywords(before, a), keywords(after, b));
    ka == kb && same(before.args(a), after.args(b)) && same(&va, &vb)
}
