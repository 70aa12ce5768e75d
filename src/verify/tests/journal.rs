//! Judging from the journal: the same verdicts as from whole graphs, for the work that the edit causes.

use std::sync::Arc;

use proptest::prelude::*;

use crate::editor::{Editor, NewCall, Point};
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View};
use crate::verify::tests::programs::{program, registry};
use crate::verify::{JudgeOptions, judge_editor, judge_pair};

fn find(g: &Graph, name: &str) -> NodeId {
    g.find_name(BodyId::ROOT, name).unwrap()
}

fn call(target: &str, args: Vec<Arg>) -> NewCall {
    NewCall { target: target.into(), args, ..NewCall::default() }
}

/// A chain of so many calls with a duplicate of the first at its end.
fn chain(length: usize) -> Graph {
    let mut lines = String::from("n0 = aten.abs.default(x)\n");
    for i in 1..length {
        lines += &format!("n{i} = aten.{}.default(n{})\n", ["neg", "abs", "sin"][i % 3], i - 1);
    }
    lines += &format!("twin = aten.abs.default(x)\nlast = aten.mul.Tensor(n{}, twin)\nreturn (last,)", length - 1);
    program("x: f32[4]", &lines)
}

#[test]
fn one_edit_costs_what_it_touches_and_not_the_graph() {
    let work = |length: usize| {
        let mut e = Editor::new(chain(length), registry());
        let (n0, twin) = (find(e.graph(), "n0"), find(e.graph(), "twin"));
        e.replace_uses(twin, n0, None).unwrap();
        e.erase(twin).unwrap();
        let v = judge_editor(&e, &JudgeOptions::default());
        assert!(v.accepted, "{v:#?}");
        println!("{length} nodes: {} terms, {} ms", v.terms, v.ms);
        v.terms
    };
    assert_eq!(work(50), work(50_000));
    assert!(work(50) < 12, "{}", work(50));
}

#[test]
fn an_edit_that_changes_nothing_later_is_cut_off_where_values_meet_again() {
    let mut e = Editor::new(chain(2000), registry());
    let (n0, x, n1) = (find(e.graph(), "n0"), find(e.graph(), "x"), find(e.graph(), "n1"));
    let copy = e.insert(Point::Before(n1), call("aten.clone.default", vec![Arg::Node(n0)])).unwrap();
    e.set_args(n1, vec![Arg::Node(copy)], Vec::new()).unwrap();
    let v = judge_editor(&e, &JudgeOptions::default());
    assert!(v.accepted && v.terms < 12, "{v:#?}");
    // Another operand of which the result is the same, by a rule.
    e.set_args(n1, vec![Arg::Node(x)], Vec::new()).unwrap();
    assert!(judge_editor(&e, &JudgeOptions::default()).accepted);
    // The wrong twin: another operand.
    let n2 = find(e.graph(), "n2");
    e.set_args(n2, vec![Arg::Node(x)], Vec::new()).unwrap();
    assert!(!judge_editor(&e, &JudgeOptions::default()).accepted);
}

#[test]
fn a_write_that_moves_past_a_read_is_seen_from_the_journal() {
    let lines = "c = aten.clone.default(x)\nr = aten.sum.default(c)\nw = aten.add_.Tensor(c, 1)\ns = aten.mul.Tensor(c, r)\nreturn (s,)";
    let mut e = Editor::new(program("x: f32[4]", lines), registry());
    let (r, w, c) = (find(e.graph(), "r"), find(e.graph(), "w"), find(e.graph(), "c"));
    e.move_node(w, Point::Before(r)).unwrap();
    assert!(!judge_editor(&e, &JudgeOptions::default()).accepted);
    e.undo();
    // The right twin: a read of the copy's source moves freely.
    let n = e.insert(Point::Before(w), call("aten.sum.default", vec![Arg::Node(find(e.graph(), "x"))])).unwrap();
    e.replace_uses(r, n, None).unwrap();
    let v = judge_editor(&e, &JudgeOptions::default());
    assert!(v.accepted, "{v:#?}");
    let _ = c;
}

#[test]
fn an_equal_part_elsewhere_in_one_memory_is_not_the_same_part() {
    let lines = "c = aten.cat.default([x, x])\nv = aten.slice.Tensor(c, 0, 0, 4)\nreturn (c, v)";
    let mut e = Editor::new(program("x: f32[4]", lines), registry());
    let v = find(e.graph(), "v");
    let c = Arg::Node(find(e.graph(), "c"));
    e.set_args(v, vec![c.clone(), Arg::Int(0), Arg::Int(4), Arg::Int(8)], Vec::new()).unwrap();
    assert!(!judge_editor(&e, &JudgeOptions::default()).accepted);
    // The right twin: it is said in other words.
    e.set_args(v, vec![c, Arg::Int(-1), Arg::Int(0), Arg::Int(-4)], Vec::new()).unwrap();
    let verdict = judge_editor(&e, &JudgeOptions::default());
    assert!(verdict.accepted, "{verdict:#?}");
}

#[test]
fn a_view_of_an_equal_value_in_other_memory_is_not_the_same_view() {
    // `v` is written later: through the copy the write reaches nobody, through `x` it reaches the caller.
    let lines = "c = aten.clone.default(x)\nv = aten.view.default(c, [2, 2])\nw = aten.add_.Tensor(v, 1)\nr = aten.neg.default(x)\nreturn (r,)";
    let mut e = Editor::new(program("x: f32[4]", lines), registry());
    let (v, x) = (find(e.graph(), "v"), find(e.graph(), "x"));
    let size = Arg::list([2_i64, 2]);
    e.set_args(v, vec![Arg::Node(x), size], Vec::new()).unwrap();
    let verdict = judge_editor(&e, &JudgeOptions::default());
    assert!(!verdict.accepted, "{verdict:#?}");
}

#[test]
fn a_view_that_moves_and_takes_other_memory_is_compared() {
    // Whether the reshape copies depends on `s0`: then the result may be a view of the input.
    let lines = "c = aten.clone.default(x)\nv = aten.expand.default(c, [1, 5])\nr = aten.reshape.default(v, [1, 1, -1])\nreturn (r,)";
    let mut e = Editor::new(program("x: f32[1, s0]", lines), registry());
    let (c, v, x) = (find(e.graph(), "c"), find(e.graph(), "v"), find(e.graph(), "x"));
    let size = Arg::list([1_i64, 5]);
    e.set_args(v, vec![Arg::Node(x), size.clone()], Vec::new()).unwrap();
    e.move_node(v, Point::Before(c)).unwrap();
    e.erase(c).unwrap();
    let verdict = judge_editor(&e, &JudgeOptions::default());
    assert!(!verdict.accepted, "{verdict:#?}");
    e.undo();
    // The right twin: it moves with the copy.
    let copy = e.insert(Point::Before(c), call("aten.clone.default", vec![Arg::Node(x)])).unwrap();
    e.set_args(v, vec![Arg::Node(copy), size], Vec::new()).unwrap();
    e.move_node(v, Point::Before(c)).unwrap();
    e.erase(c).unwrap();
    let verdict = judge_editor(&e, &JudgeOptions::default());
    assert!(verdict.accepted, "{verdict:#?}");
}

/// Random programs over a few operators, pure and writing, and random edits of them.
#[derive(Clone, Debug)]
enum Op {
    Unary(u8, u8),
    Binary(u8, u8, u8),
    Clone(u8),
    Turn(u8),
    Write(u8, u8),
    Draw,
}

fn op() -> impl Strategy<Value = Op> {
    let n = any::<u8>;
    prop_oneof![
        4 => (n(), n()).prop_map(|(k, a)| Op::Unary(k, a)),
        3 => (n(), n(), n()).prop_map(|(k, a, b)| Op::Binary(k, a, b)),
        2 => n().prop_map(Op::Clone),
        2 => n().prop_map(Op::Turn),
        2 => (n(), n()).prop_map(|(k, a)| Op::Write(k, a)),
        1 => Just(Op::Draw),
    ]
}

fn call_of(op: &Op, values: &[NodeId]) -> NewCall {
    let pick = |i: u8| Arg::Node(values[usize::from(i) % values.len()]);
    match op {
        Op::Unary(k, a) => call(["aten.neg.default", "aten.sin.default"][usize::from(*k) % 2], vec![pick(*a)]),
        Op::Binary(k, a, b) => {
            call(["aten.add.Tensor", "aten.sub.Tensor"][usize::from(*k) % 2], vec![pick(*a), pick(*b)])
        }
        Op::Clone(a) => call("aten.clone.default", vec![pick(*a)]),
        Op::Turn(a) => call("aten.permute.default", vec![pick(*a), Arg::list([1_i64, 0])]),
        Op::Write(k, a) => call(["aten.neg_.default", "aten.sin_.default"][usize::from(*k) % 2], vec![pick(*a)]),
        Op::Draw => call("aten.rand.default", vec![Arg::list([2_i64, 2])]),
    }
}

#[derive(Clone, Debug)]
enum Change {
    Insert(Op, prop::sample::Index),
    Redirect(prop::sample::Index, prop::sample::Index),
    Duplicate(prop::sample::Index),
    Move(prop::sample::Index, prop::sample::Index),
    Sweep,
}

fn change() -> impl Strategy<Value = Change> {
    let i = any::<prop::sample::Index>;
    prop_oneof![
        2 => (op(), i()).prop_map(|(o, at)| Change::Insert(o, at)),
        2 => (i(), i()).prop_map(|(a, b)| Change::Redirect(a, b)),
        3 => i().prop_map(Change::Duplicate),
        3 => (i(), i()).prop_map(|(a, b)| Change::Move(a, b)),
        2 => Just(Change::Sweep),
    ]
}

fn calls(g: &Graph) -> Vec<NodeId> {
    g.nodes(BodyId::ROOT).filter(|n| g.kind(*n) == NodeKind::Call).collect()
}

fn values(g: &Graph, before: Option<NodeId>) -> Vec<NodeId> {
    let all = g.nodes(BodyId::ROOT).filter(|n| matches!(g.kind(*n), NodeKind::Call | NodeKind::Placeholder));
    all.filter(|n| before.is_none_or(|b| g.is_before(*n, b))).collect()
}

fn random_graph(ops: &[Op], outputs: &[u8]) -> Graph {
    let mut e = Editor::new(program("x: f32[2, 2]; y: f32[2, 2]", "return (x,)"), registry());
    for op in ops {
        let new = call_of(op, &values(e.graph(), None));
        e.insert(Point::End(BodyId::ROOT), new).unwrap();
    }
    let all = values(e.graph(), None);
    let returned: Vec<Arg> = outputs.iter().map(|o| Arg::Node(all[usize::from(*o) % all.len()])).collect();
    let output = e.graph().output(BodyId::ROOT).unwrap();
    let mut g = e.into_graph();
    g.set_args(output, Box::new([Arg::Tuple(returned.into())]), Box::default());
    g
}

/// Edits that do not hold are left out.
fn edit(e: &mut Editor, changes: &[Change]) {
    for change in changes {
        let all = calls(e.graph());
        let _ = match change {
            Change::Insert(op, at) if !all.is_empty() => {
                let at = *at.get(&all);
                let new = call_of(op, &values(e.graph(), Some(at)));
                e.insert(Point::Before(at), new).map(|_| ())
            }
            Change::Redirect(old, new) if !all.is_empty() => {
                e.replace_uses(*old.get(&all), *new.get(&all), None).map(|_| ())
            }
            Change::Duplicate(n) if !all.is_empty() => {
                let n = *n.get(&all);
                let row = e.graph().row(n).unwrap();
                let new = call(e.graph().target(n), row.args.to_vec());
                let at = e.insert(Point::After(n), new).unwrap();
                e.replace_uses(n, at, None).map(|_| ())
            }
            Change::Move(n, to) if !all.is_empty() => {
                e.move_node(*n.get(&all), Point::Before(*to.get(&all))).map(|_| ())
            }
            Change::Sweep => {
                for n in all.into_iter().rev() {
                    let pure = registry().operator_of(e.graph(), n).is_some_and(|o| o.effects.may_be_dropped());
                    if pure && e.graph().users(n).is_some_and(|u| u.is_empty()) {
                        e.erase(n).unwrap();
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        };
    }
}

/// What a program does, by running it on numbers: the oracle of the laws below.
mod run {
    use std::collections::HashMap;

    use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View};

    /// A tensor of 2 by 2: its storage, and whether it is turned.
    #[derive(Clone, Copy)]
    struct Tensor {
        storage: usize,
        turned: bool,
    }

    /// Values of outputs and inputs in the end, with the storage of each output by first use.
    #[derive(Debug, PartialEq)]
    pub struct Seen {
        pub contents: Vec<[u64; 4]>,
        pub memory: Vec<(usize, bool)>,
        pub draws: usize,
    }

    struct Machine {
        memory: Vec<[f64; 4]>,
        draws: usize,
    }

    const TURN: [usize; 4] = [0, 2, 1, 3];

    impl Machine {
        fn read(&self, t: Tensor) -> [f64; 4] {
            let m = self.memory[t.storage];
            if t.turned { TURN.map(|i| m[i]) } else { m }
        }

        fn write(&mut self, t: Tensor, v: [f64; 4]) {
            self.memory[t.storage] = if t.turned { TURN.map(|i| v[i]) } else { v };
        }

        fn fresh(&mut self, v: [f64; 4]) -> Tensor {
            self.memory.push(v);
            Tensor { storage: self.memory.len() - 1, turned: false }
        }
    }

    pub fn run(g: &Graph) -> Seen {
        let mut m = Machine { memory: Vec::new(), draws: 0 };
        let mut at: HashMap<NodeId, Tensor> = HashMap::new();
        let mut inputs = Vec::new();
        let mut out = Vec::new();
        for n in g.nodes(BodyId::ROOT) {
            let args: Vec<Tensor> = g.args(n).iter().filter_map(Arg::as_node).map(|a| at[&a]).collect();
            let t = match (g.kind(n), g.target(n)) {
                (NodeKind::Placeholder, _) => {
                    let base = 0.37 + inputs.len() as f64;
                    let t = m.fresh([base, base * 1.7, base * 2.3, base * 3.1]);
                    inputs.push(t);
                    t
                }
                (NodeKind::Output, _) => {
                    out = g.args(n).iter().flat_map(Arg::nodes).map(|a| at[&a]).collect();
                    continue;
                }
                (_, "aten.neg.default") => {
                    let v = m.read(args[0]).map(|v| -v);
                    m.fresh(v)
                }
                (_, "aten.sin.default") => {
                    let v = m.read(args[0]).map(f64::sin);
                    m.fresh(v)
                }
                (_, "aten.add.Tensor") => {
                    let (a, b) = (m.read(args[0]), m.read(args[1]));
                    m.fresh([0, 1, 2, 3].map(|i| a[i] + b[i]))
                }
                (_, "aten.sub.Tensor") => {
                    let (a, b) = (m.read(args[0]), m.read(args[1]));
                    m.fresh([0, 1, 2, 3].map(|i| a[i] - b[i]))
                }
                (_, "aten.clone.default") => {
                    let v = m.read(args[0]);
                    m.fresh(v)
                }
                (_, "aten.permute.default") => Tensor { turned: !args[0].turned, ..args[0] },
                (_, "aten.neg_.default") => {
                    let v = m.read(args[0]).map(|v| -v);
                    m.write(args[0], v);
                    args[0]
                }
                (_, "aten.sin_.default") => {
                    let v = m.read(args[0]).map(f64::sin);
                    m.write(args[0], v);
                    args[0]
                }
                (_, "aten.rand.default") => {
                    m.draws += 1;
                    let d = m.draws as f64;
                    m.fresh([d / 7.0, d / 11.0, d / 13.0, d / 17.0])
                }
                (_, other) => panic!("{other}"),
            };
            at.insert(n, t);
        }
        let all: Vec<Tensor> = inputs.into_iter().chain(out).collect();
        let contents = all.iter().map(|t| m.read(*t).map(f64::to_bits)).collect();
        // Storages by first use; which part only where the memory is shared.
        let first = |s: usize| all.iter().position(|t| t.storage == s).unwrap();
        let shared = |s: usize| all.iter().filter(|t| t.storage == s).count() > 1;
        let memory = all
            .iter()
            .map(|t| (first(t.storage), shared(t.storage) && t.turned != all[first(t.storage)].turned))
            .collect();
        Seen { contents, memory, draws: m.draws }
    }
}

proptest! {
    /// The journal leaves nothing out, and what is accepted does the same when it is run.
    #[test]
    fn journal_and_whole_graphs_agree_and_accepted_implies_equal_by_running(
        ops in prop::collection::vec(op(), 1..12),
        outputs in prop::collection::vec(any::<u8>(), 1..3),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let before = random_graph(&ops, &outputs);
        let mut e = Editor::new(before.clone(), Arc::clone(&registry()));
        edit(&mut e, &changes);
        let local = judge_editor(&e, &JudgeOptions::default());
        let whole = judge_pair(&before, e.graph(), &registry(), &JudgeOptions::default());
        prop_assert_eq!(local.accepted, whole.accepted, "{:#?}\n{:#?}", local, whole);
        if local.accepted {
            prop_assert_eq!(run::run(&before), run::run(e.graph()), "accepted, but it does something else");
        }
    }

    #[test]
    fn no_edit_is_always_accepted(
        ops in prop::collection::vec(op(), 0..16),
        outputs in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let before = random_graph(&ops, &outputs);
        let verdict = judge_pair(&before, &before, &registry(), &JudgeOptions::default());
        prop_assert!(verdict.accepted, "{:#?}", verdict);
    }
}

#[test]
fn a_final_copy_of_another_shape_is_the_same_from_the_journal() {
    let text = "ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        def forward(self, x0: \"f32[1, 1]\", x1: \"f32[1, s0]\"):\n            e = torch.ops.aten.expand.default(x1, [5, 5])\n            p = torch.ops.aten.permute.default(x0, [1, 0])\n            return (e, p)\n\nGraph signature:\n    # inputs\n    x0: USER_INPUT\n    x1: USER_INPUT\n\n    # outputs\n    e: USER_INPUT_MUTATION target='x1'\n    p: USER_OUTPUT\n\nRange constraints: {s0: VR[2, 40]}\n";
    let mut graph = crate::formats::text::read(text, &Default::default()).unwrap_or_else(|e| panic!("{}", e.render()));
    registry().check_types(&mut graph);
    let mut e = Editor::new(graph, registry());
    let (copied, other) = (find(e.graph(), "e"), find(e.graph(), "p"));
    e.move_node(other, Point::Before(copied)).unwrap();
    let v = judge_editor(&e, &JudgeOptions::default());
    assert!(v.accepted, "{v:#?}");
}

#[test]
fn what_may_lie_in_other_memory_than_before_is_followed_through_what_may_lie_in_it() {
    let lines = "l1 = aten.lift.default(x)\nl2 = aten.lift.default(l1)\nl3 = aten.lift.default(l2)\nreturn (l3,)";
    let mut e = Editor::new(program("x: f32[4]", lines), registry());
    let (l1, x) = (find(e.graph(), "l1"), find(e.graph(), "x"));
    let copy = e.insert(Point::Before(l1), call("aten.clone.default", vec![Arg::Node(x)])).unwrap();
    e.set_args(l1, vec![Arg::Node(copy)], Vec::new()).unwrap();
    assert!(!judge_editor(&e, &JudgeOptions::default()).accepted);
}

#[test]
fn who_asks_where_a_value_begins_hears_of_an_update_in_place() {
    let lines =
        "s = aten.select.int(x, 0, 1)\nm = aten.mul.Tensor(s, 2)\no = aten.sym_storage_offset.default(m)\nreturn (o,)";
    let mut e = Editor::new(program("x: f32[3, 3]", lines), registry());
    let m = find(e.graph(), "m");
    e.set_target(m, "aten.mul_.Tensor").unwrap();
    let o = find(e.graph(), "o");
    assert_eq!(*e.graph().ty(o), crate::graph::ValueType::SymInt(crate::sym::Dim::Fixed(3)));
    assert!(!judge_editor(&e, &JudgeOptions::default()).accepted);
}

#[test]
fn contiguous_of_what_lies_row_by_row_is_its_operand() {
    let lines = "c = aten.contiguous.default(x)\nw = aten.add_.Tensor(c, 1)\nreturn (w,)";
    let direct = "w = aten.add_.Tensor(x, 1)\nreturn (w,)";
    let v =
        judge_pair(&program("x: f32[4]", lines), &program("x: f32[4]", direct), &registry(), &JudgeOptions::default());
    assert!(v.accepted, "{v:#?}");
    // The wrong twin: asked for another format it may be a copy.
    let other = lines.replace("(x)", "(x, memory_format = torch.channels_last)");
    let x = "x: f32[2, 2, 2, 2]";
    let v = judge_pair(&program(x, &other), &program(x, direct), &registry(), &JudgeOptions::default());
    assert!(!v.accepted, "{v:#?}");
}

#[test]
fn what_a_body_sees_of_how_its_operand_lies_belongs_to_the_call() {
    let graph = |body: &str| {
        let text = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"i64[1]\"):\n        s = torch.ops.aten.slice.Tensor(x, 0, 0, 9223372036854775807, 2)\n        b = self.b\n        w = torch.ops.higher_order.wrap_with_set_grad_enabled(False, b, s)\n        g = w[0]\n        return (g,)\n    class b(torch.nn.Module):\n        def forward(self, a: \"i64[1]\"):\n{body}            return (t,)\n"
        );
        let mut graph =
            crate::formats::text::read(&text, &Default::default()).unwrap_or_else(|e| panic!("{}", e.render()));
        registry().check_types(&mut graph);
        graph
    };
    let without_slice = |graph: Graph| {
        let mut e = Editor::new(graph, registry());
        let (s, x) = (find(e.graph(), "s"), find(e.graph(), "x"));
        e.replace_uses(s, x, None).unwrap();
        e.erase(s).unwrap();
        e
    };
    let sees = "            n = torch.ops.aten.sym_stride.int(a, 0)\n            t = torch.ops.aten.mul.Tensor(a, n)\n";
    let e = without_slice(graph(sees));
    assert!(!judge_editor(&e, &JudgeOptions::default()).accepted);
    assert!(!judge_pair(&graph(sees), e.graph(), &registry(), &JudgeOptions::default()).accepted);
}
