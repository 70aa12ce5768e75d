//! Laws of editing, on random scripts: undo restores, `before` equals a copy, users and order agree with a naive model.

use proptest::prelude::*;

use super::Before;
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, Row, ValueType, View};

#[derive(Clone, Debug)]
enum Step {
    Insert(prop::sample::Index, Vec<prop::sample::Index>),
    SetArgs(prop::sample::Index, Vec<prop::sample::Index>),
    Move(prop::sample::Index, prop::sample::Index),
    Remove(prop::sample::Index),
    Rename(prop::sample::Index, u8),
    Annotate(prop::sample::Index),
    Nested(Vec<Step>, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    let leaf = prop_oneof![
        4 => (index(), prop::collection::vec(index(), 0..3)).prop_map(|(a, b)| Step::Insert(a, b)),
        3 => (index(), prop::collection::vec(index(), 0..4)).prop_map(|(a, b)| Step::SetArgs(a, b)),
        2 => (index(), index()).prop_map(|(a, b)| Step::Move(a, b)),
        2 => index().prop_map(Step::Remove),
        1 => (index(), any::<u8>()).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => index().prop_map(Step::Annotate),
    ];
    leaf.prop_recursive(2, 12, 6, |inner| {
        (prop::collection::vec(inner, 1..6), any::<bool>()).prop_map(|(s, keep)| Step::Nested(s, keep))
    })
}

fn nodes(g: &Graph) -> Vec<NodeId> {
    g.nodes(BodyId::ROOT).collect()
}

fn args_of(all: &[NodeId], picks: &[prop::sample::Index]) -> Box<[Arg]> {
    picks.iter().filter(|_| !all.is_empty()).map(|p| Arg::Node(*p.get(all))).collect()
}

fn run(g: &mut Graph, steps: &[Step]) {
    for step in steps {
        let all = nodes(g);
        let pick = |i: &prop::sample::Index| (!all.is_empty()).then(|| *i.get(&all));
        match step {
            Step::Insert(at, picks) => {
                let target = g.texts.intern("aten.add.Tensor");
                let node = NewNode {
                    kind: NodeKind::Call,
                    target,
                    args: args_of(&all, picks),
                    kwargs: Box::default(),
                    ty: ValueType::None,
                };
                g.insert(BodyId::ROOT, pick(at), "add", node);
            }
            Step::SetArgs(n, picks) => {
                if let Some(n) = pick(n) {
                    g.set_args(n, args_of(&all, picks), Box::default());
                }
            }
            Step::Move(n, to) => {
                if let (Some(n), Some(to)) = (pick(n), pick(to)) {
                    g.move_before(n, Some(to));
                }
            }
            Step::Remove(n) => {
                if let Some(n) = pick(n).filter(|n| g.users(*n).is_some_and(|u| u.is_empty())) {
                    g.remove(n);
                }
            }
            Step::Rename(n, to) => {
                if let Some(n) = pick(n) {
                    g.rename(n, &format!("r{}", to % 8));
                }
            }
            Step::Annotate(n) => {
                if let Some(n) = pick(n) {
                    g.annotate(n, "custom", Some("x"));
                }
            }
            Step::Nested(inner, keep) => {
                g.begin_log();
                run(g, inner);
                if *keep { g.commit_log() } else { g.undo_log() }
            }
        }
    }
}

/// All that can be seen of a graph through [`View`], with users and order by the naive model.
#[derive(Debug, PartialEq)]
struct Seen {
    rows: Vec<(NodeId, Row)>,
    users: Vec<Vec<NodeId>>,
}

fn see(v: &impl View, row: impl Fn(NodeId) -> Row) -> Seen {
    let order: Vec<NodeId> = v.nodes(BodyId::ROOT).collect();
    let mut backwards = Vec::new();
    let mut at = v.last(BodyId::ROOT);
    while let Some(n) = at {
        backwards.push(n);
        at = v.previous(n);
    }
    backwards.reverse();
    assert_eq!(order, backwards, "links agree in both directions");
    for pair in order.windows(2) {
        assert!(v.is_before(pair[0], pair[1]) && !v.is_before(pair[1], pair[0]), "labels agree with the list");
    }
    let users: Vec<Vec<NodeId>> = order.iter().map(|n| v.users_in_order(*n)).collect();
    for (n, found) in order.iter().zip(&users) {
        let naive: Vec<NodeId> = order.iter().copied().filter(|u| v.operands(*u).any(|o| o == *n)).collect();
        assert_eq!(*found, naive, "users agree with the arguments");
    }
    Seen { rows: order.iter().map(|n| (*n, row(*n))).collect(), users }
}

fn see_graph(g: &Graph) -> Seen {
    for n in nodes(g) {
        assert_eq!(g.find_name(BodyId::ROOT, g.name(n)), Some(n), "names lead to their nodes");
    }
    see(g, |n| g.row(n).unwrap())
}

fn see_before(b: &Before<'_>, copy: &Graph) -> Seen {
    see(b, |n| Row {
        kind: b.kind(n),
        target: b.target_id(n),
        name: b.name_id(n),
        args: b.args(n).into(),
        kwargs: b.kwargs(n).into(),
        ty: b.ty(n).clone(),
        hearsay: b.hearsay(n),
        printed: None,
        meta: copy.meta(n).cloned().unwrap_or_default(),
    })
}

proptest! {
    #[test]
    fn undo_restores_the_graph_and_before_is_the_graph_as_it_was(
        build in prop::collection::vec(step(), 0..20),
        edit in prop::collection::vec(step(), 0..25),
    ) {
        let mut g = Graph::new();
        run(&mut g, &build);
        let copy = g.clone();
        let was = see_graph(&g);
        g.begin_log();
        run(&mut g, &edit);
        see_graph(&g);
        prop_assert_eq!(&see_before(&Before::new(&g), &copy), &was);
        let mut kept = g.clone();
        kept.commit_log();
        prop_assert_eq!(see_graph(&kept), see_graph(&g));
        g.undo_log();
        prop_assert_eq!(see_graph(&g), was);
        prop_assert!(g.names_of(BodyId::ROOT).len() == nodes(&g).len());
    }
}

#[test]
fn a_stale_id_is_never_another_node() {
    let mut g = Graph::new();
    let target = g.texts.intern("aten.abs.default");
    let new =
        || NewNode { kind: NodeKind::Call, target, args: Box::default(), kwargs: Box::default(), ty: ValueType::None };
    let old = g.push(BodyId::ROOT, "a", new());
    g.remove(old);
    let other = g.push(BodyId::ROOT, "b", new());
    assert!(!g.contains(old) && g.contains(other) && old != other);
}

#[test]
fn inserting_at_one_place_stays_in_order_for_a_hundred_thousand_nodes() {
    let mut g = Graph::new();
    let target = g.texts.intern("aten.abs.default");
    let new =
        || NewNode { kind: NodeKind::Call, target, args: Box::default(), kwargs: Box::default(), ty: ValueType::None };
    let last = g.push(BodyId::ROOT, "last", new());
    for _ in 0..100_000 {
        g.insert(BodyId::ROOT, Some(last), "abs", new());
    }
    let order = nodes(&g);
    assert_eq!(order.len(), 100_001);
    assert!(order.windows(2).all(|w| g.is_before(w[0], w[1])));
}
