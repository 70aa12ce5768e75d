//! What judging costs grows as the graph grows, whatever hangs on one value: looks at nodes are counted.

use std::cell::Cell;
use std::time::Instant;

use crate::analysis::Place;
use crate::graph::{Arg, BodyId, Graph, Hearsay, Interner, NodeId, NodeKind, Signature, StrId, ValueType, View};
use crate::sym::Symbols;
use crate::term::sizes::Sizes;
use crate::term::term::Side;
use crate::verify::findings::Findings;
use crate::verify::judge::edit::{functional, judge_graphs};
use crate::verify::judge::kinds::Kinds;
use crate::verify::prove::congruence::Congruence;
use crate::verify::replay::Replay;
use crate::verify::tests::programs::{program, registry};
use crate::verify::{JudgeOptions, Verdict};

/// A graph that counts who looks at it; a look at all users counts as many.
struct Counted<'a> {
    graph: &'a Graph,
    looks: Cell<usize>,
}

impl Counted<'_> {
    fn look(&self) -> &Graph {
        self.looks.set(self.looks.get() + 1);
        self.graph
    }
}

impl View for Counted<'_> {
    fn as_view(&self) -> &dyn View {
        self
    }

    fn assumes_contiguous(&self) -> bool {
        self.graph.assumes_contiguous()
    }
    fn texts(&self) -> &Interner {
        self.graph.texts()
    }
    fn symbols(&self) -> &Symbols {
        self.graph.symbols()
    }
    fn signature(&self) -> Option<&Signature> {
        self.look().signature()
    }
    fn contains(&self, id: NodeId) -> bool {
        self.look().contains(id)
    }
    fn first(&self, body: BodyId) -> Option<NodeId> {
        self.look().first(body)
    }
    fn last(&self, body: BodyId) -> Option<NodeId> {
        self.look().last(body)
    }
    fn next(&self, id: NodeId) -> Option<NodeId> {
        self.look().next(id)
    }
    fn previous(&self, id: NodeId) -> Option<NodeId> {
        self.look().previous(id)
    }
    fn place(&self, id: NodeId) -> Option<(BodyId, u64)> {
        self.look().place(id)
    }
    fn kind(&self, id: NodeId) -> NodeKind {
        self.look().kind(id)
    }
    fn target_id(&self, id: NodeId) -> StrId {
        self.look().target_id(id)
    }
    fn name_id(&self, id: NodeId) -> StrId {
        self.look().name_id(id)
    }
    fn args(&self, id: NodeId) -> &[Arg] {
        self.look().args(id)
    }
    fn kwargs(&self, id: NodeId) -> &[(StrId, Arg)] {
        self.look().kwargs(id)
    }
    fn ty(&self, id: NodeId) -> &ValueType {
        self.look().ty(id)
    }
    fn hearsay(&self, id: NodeId) -> Hearsay {
        self.look().hearsay(id)
    }
    fn users_in_order(&self, id: NodeId) -> Vec<NodeId> {
        let users = self.graph.users_in_order(id);
        self.looks.set(self.looks.get() + users.len() + 1);
        users
    }
    fn targets(&self) -> &[StrId] {
        self.look().targets()
    }
    fn names_attributes(&self) -> bool {
        self.look().names_attributes()
    }
    fn body_count(&self) -> usize {
        self.look().body_count()
    }
    fn body_name(&self, body: BodyId) -> &str {
        self.look().body_name(body)
    }
    fn body_parent(&self, body: BodyId) -> Option<BodyId> {
        self.look().body_parent(body)
    }
}

/// Judges a program of so many lines against another of as many; returns looks and terms.
fn work(before: &Graph, after: &Graph) -> (Verdict, usize) {
    let [x, y] = [before, after].map(|graph| Counted { graph, looks: Cell::new(0) });
    let (registry, options) = (registry(), JudgeOptions::default());
    let verdict =
        judge_graphs(&x, &y, &registry, &options, (Findings::default(), &mut Replay::Search), None, Instant::now());
    let terms = verdict.terms;
    (verdict, x.looks.get() + y.looks.get() + terms)
}

/// Asserts that eight times the lines cost at most some ten times the work.
#[track_caller]
fn grows_as_the_graph(lines: impl Fn(usize) -> [String; 2]) {
    let cost = |n: usize| {
        let [before, after] = lines(n).map(|l| program("x: f32[4]; y: f32[4]", &l));
        let (verdict, work) = work(&before, &after);
        assert!(verdict.accepted, "{verdict:#?}");
        work
    };
    let (small, large) = (cost(125), cost(1000));
    println!("{small} for 125, {large} for 1,000");
    assert!(large < small * 10, "{small} for 125, {large} for 1,000");
}

fn each(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

#[test]
fn calls_of_unknown_operators_on_one_input_cost_one_by_one() {
    grows_as_the_graph(|n| {
        let lines = each(n, |i| format!("o{i} = torch.ops.mine.f.default(x)\n")) + &format!("return (o{},)", n - 1);
        [lines.clone(), lines]
    });
}

#[test]
fn calls_of_unknown_operators_between_writes_cost_one_by_one() {
    grows_as_the_graph(|n| {
        let line = |i| {
            format!(
                "w{i} = aten.add_.Tensor(y, x)\no{i} = torch.ops.mine.f.default(x, y)\nc{i} = aten.clone.default(y)\n"
            )
        };
        let lines = each(n, line) + &format!("return (o{}, c3)", n - 1);
        [lines.clone(), lines]
    });
}

#[test]
fn items_of_one_result_that_nobody_described_cost_one_by_one() {
    grows_as_the_graph(|n| {
        let all: Vec<String> = (0..n).map(|i| format!("g{i}")).collect();
        let lines = String::from("s = torch.ops.mine.g.default(x)\n") + &each(n, |i| format!("g{i} = s[{i}]\n"));
        let lines = lines + &format!("c = aten.stack.default([{0}])\nreturn ({0}, c)", all.join(", "));
        [lines.clone(), lines]
    });
}

#[test]
fn items_of_one_split_cost_one_by_one() {
    grows_as_the_graph(|n| {
        let lines = format!("z = aten.new_zeros.default(x, [{n}, 4])\ns = aten.unbind.int(z)\n")
            + &each(n, |i| format!("g{i} = s[{i}]\nw{i} = aten.add_.Tensor(g{i}, x)\n"));
        let lines = lines + "r = aten.sum.default(z)\nreturn (r, z)";
        [lines.clone(), lines]
    });
}

#[test]
fn assertions_in_another_order_cost_one_by_one() {
    grows_as_the_graph(|n| {
        let line = |i: usize| {
            format!(
                "b{i} = aten.ge.Scalar(x, {i})\na{i} = aten.all.default(b{i})\nt{i} = aten._assert_async.default(a{i})\n"
            )
        };
        let last = "r = aten.neg.default(x)\nreturn (r,)";
        [each(n, line) + last, each(n, |i| line(n - 1 - i)) + last]
    });
}

#[test]
fn writes_to_one_memory_cost_one_by_one() {
    grows_as_the_graph(|n| {
        let line = |i: usize| format!("v{i} = aten.select.int(x, 0, {})\nw{i} = aten.add_.Scalar(v{i}, {i})\n", i % 4);
        let lines = String::from("r = aten.neg.default(y)\n") + &each(n, line) + "return (r,)";
        [lines.clone(), lines]
    });
}

#[test]
fn writes_each_to_what_the_one_before_gave_cost_one_by_one() {
    grows_as_the_graph(|n| {
        let of = |i: usize| if i == 0 { "x".to_string() } else { format!("a{}", i - 1) };
        let line = |i: usize| format!("a{i} = aten.add_.Tensor({}, {})\n", of(i), i % 7 + 1);
        let lines = each(n, line) + &format!("return (a{},)", n - 1);
        [lines.clone(), lines]
    });
}

#[test]
fn a_chain_of_writes_keeps_as_many_values_as_it_has_lines() {
    let kept = |n: usize| {
        let line = |i: usize| {
            let of = if i == 0 { "x".to_string() } else { format!("a{}", i - 1) };
            format!("a{i} = aten.add_.Tensor({of}, 1)\n")
        };
        let graph = program("x: f32[4]", &(each(n, line) + &format!("return (a{},)", n - 1)));
        let (registry, options) = (registry(), JudgeOptions::default());
        let kinds = Kinds::of(&[&graph], &registry);
        let mut f = functional(&graph, &graph, &registry, &options, (Sizes::new(&graph.symbols, &graph), kinds));
        let nodes: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
        for node in nodes {
            let value = f.outcome(Side::After, Place::of(node));
            f.settle(value);
        }
        f.store.kept()
    };
    let (small, large) = (kept(50), kept(400));
    assert!(large < small * 10, "{small} for 50, {large} for 400");
}

#[test]
fn values_that_are_made_of_themselves_are_compared_once() {
    let lines = |by: usize| {
        format!("a = aten.add.Tensor(x, {by})\nf = aten.floor.default(a)\ng = aten.floor.default(f)\nreturn (f, g)")
    };
    let [before, after] = [1, 2].map(|by| program("x: f32[4]", &lines(by)));
    let (registry, options) = (registry(), JudgeOptions::default());
    let kinds = Kinds::of(&[&before, &after], &registry);
    let mut f = functional(&before, &after, &registry, &options, (Sizes::new(&after.symbols, &before), kinds));
    let mut of = |side, graph: &Graph| {
        let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
        let [outer, inner] = [2, 1].map(|k| f.outcome(side, Place::of(calls[k])));
        // The value that is older stays the root: the term of the class is over the class.
        f.settle(outer);
        f.store.union(outer, inner);
        outer
    };
    let (a, b) = (of(Side::Before, &before), of(Side::After, &after));
    let mut c = Congruence::with_limit(1000);
    assert!(!c.equal(&mut f, a, b));
    assert!(!c.is_exhausted());
}

#[test]
fn a_value_that_is_made_of_itself_is_found_in_bounded_steps() {
    let lines = "f = aten.floor.default(x)\ng = aten.floor.default(f)\nh = aten.neg.default(g)\nreturn (h,)";
    let graph = program("x: f32[4]", lines);
    let (registry, options) = (registry(), JudgeOptions::default());
    let kinds = Kinds::of(&[&graph], &registry);
    let mut f = functional(&graph, &graph, &registry, &options, (Sizes::new(&graph.symbols, &graph), kinds));
    let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
    let [above, outer, inner] = [2, 1, 0].map(|k| f.outcome(Side::After, Place::of(calls[k])));
    for value in [outer, inner] {
        f.term(value);
    }
    f.store.union(outer, inner);
    f.settle(above);
    assert!(f.store.is_settled(above) && f.store.is_settled(inner));
}
