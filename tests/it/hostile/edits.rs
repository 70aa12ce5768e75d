//! Attacks that hand over odd edits: each makes some batches, and logs why they are refused.
//!
//! The model (`tests/hostile/model.fx`) has these nodes, in order: 0 x, 1 y, 2 z, 3 p, 4 relu, 5 sub, 6 rand, 7 add_, 8 read,
//! 9 and 10 the sub-graphs, 11 cond, 12 getitem, 13 tall, 14 dead, 15 output.

use super::assemble::{A, E, N, P, S, guest};
use super::{Attack, GRAPH, LIVES, READS, WORDS};
use crate::components::component;

const X: N = N::Of(0);
const Y: N = N::Of(1);
const Z: N = N::Of(2);
const RELU: N = N::Of(4);
const SUB: N = N::Of(5);
const RAND: N = N::Of(6);
const ADD: N = N::Of(7);
const READ: N = N::Of(8);
const COND: N = N::Of(11);
const GETITEM: N = N::Of(12);
const TALL: N = N::Of(13);
const DEAD: N = N::Of(14);
const OUTPUT: N = N::Of(15);

const NEG: &str = "aten.neg.default";
const MUL: &str = "aten.mul.Tensor";

fn node(n: N) -> A<'static> {
    A::One(S::Node(n))
}

fn int(v: i64) -> A<'static> {
    A::One(S::Int(v))
}

fn call<'a>(at: P, target: &'a str, args: Vec<A<'a>>) -> E<'a> {
    E::Insert(at, target, args, Vec::new(), None)
}

fn named<'a>(name: &'a str) -> E<'a> {
    E::Insert(P::Start(0), NEG, vec![node(X)], Vec::new(), Some(name))
}

fn with(key: &'static str, value: S<'static>) -> E<'static> {
    let size = A::Many(vec![S::Int(2), S::Int(3)]);
    E::Insert(P::Start(0), "aten.full.default", vec![size, int(1)], vec![(key, A::One(value))], None)
}

/// A call of an operator whose argument may be any number.
fn scaled(value: S<'static>) -> E<'static> {
    call(P::Start(0), MUL, vec![node(X), A::One(value)])
}

fn plain(edits: Vec<E<'_>>) -> Vec<Vec<E<'_>>> {
    vec![edits]
}

type Row<'a> = (&'static str, &'static str, &'static str, Vec<Vec<E<'a>>>);

fn made(against: &'static str, (name, what, ends, batches): Row<'_>) -> Attack {
    Attack::new(against, name, what, ends, component(&guest(&batches, 1)))
}

fn made_again_and_again(times: u32, limits: &str, row: Row<'_>) -> Attack {
    let (name, what, ends, batches) = row;
    let mut attack = Attack::new(LIVES, name, what, ends, component(&guest(&batches, times)));
    attack.limits = limits.to_string();
    attack
}

pub fn attacks() -> Vec<Attack> {
    let mut all: Vec<Attack> = ids().into_iter().map(|row| made(GRAPH, row)).collect();
    all.extend(order().into_iter().map(|row| made(GRAPH, row)));
    all.extend(meaning().into_iter().map(|row| made(GRAPH, row)));
    all.extend(values().into_iter().map(|row| made(GRAPH, row)));
    all.extend(words().into_iter().map(|row| made(WORDS, row)));
    all.extend(floods());
    let smuggled = vec![scaled(S::Float(0x7ff8_dead_beef_cafe))];
    all.push(made(READS, ("nan_payload", "hands over a NaN with 51 bits of its own", "accepted", plain(smuggled))));
    all
}

/// Forged, stale and foreign ids.
fn ids() -> Vec<Row<'static>> {
    vec![
        (
            "id_all_ones",
            "erases node 2^64 - 1",
            "unchanged: is no node of this graph",
            plain(vec![E::Erase(N::Raw(u64::MAX))]),
        ),
        (
            "id_beyond",
            "erases a node with an index that there is not",
            "unchanged: node",
            plain(vec![E::Erase(N::Raw(0x7fff_ffff))]),
        ),
        (
            "id_generation",
            "erases node 4 of another generation",
            "unchanged: node",
            plain(vec![E::Erase(N::Raw((7 << 32) | 4))]),
        ),
        ("id_zero_generation", "uses id 2^62", "unchanged: node", plain(vec![E::Uses(SUB, N::Raw(1 << 62))])),
        (
            "id_erased",
            "uses a node that it has erased",
            "unchanged: node",
            plain(vec![E::Erase(DEAD), call(P::End(0), NEG, vec![node(DEAD)])]),
        ),
        ("id_erased_twice", "erases a node twice", "unchanged: node", plain(vec![E::Erase(DEAD), E::Erase(DEAD)])),
        (
            "id_of_the_future",
            "uses the node that a later insertion would make",
            "unchanged: no",
            plain(vec![call(P::End(0), NEG, vec![node(N::New(5))])]),
        ),
        (
            "id_of_itself",
            "inserts a node that uses itself",
            "unchanged: no",
            plain(vec![call(P::End(0), NEG, vec![node(N::New(0))])]),
        ),
        (
            "id_of_another_graph",
            "uses a node of a sub-graph in the model's own",
            "unchanged: ",
            plain(vec![E::SetArgs(SUB, vec![node(N::Inner(1)), node(Y)], vec![])]),
        ),
        (
            "place_in_another_graph",
            "moves a node into a sub-graph",
            "unchanged: ",
            plain(vec![E::Move(DEAD, P::Before(N::Inner(1)))]),
        ),
        (
            "no_such_graph",
            "inserts into sub-graph 2^32 - 1",
            "unchanged: there is no sub-graph 4294967295",
            plain(vec![call(P::Start(u32::MAX), NEG, vec![node(X)])]),
        ),
        (
            "uses_of_a_foreign_node",
            "replaces a node by one of a sub-graph",
            "unchanged: ",
            plain(vec![E::Uses(SUB, N::Inner(0))]),
        ),
        (
            "users_that_are_none",
            "replaces uses in forged users",
            "unchanged: ",
            plain(vec![E::UsesIn(SUB, RELU, vec![N::Raw(1 << 40), N::Raw(3)])]),
        ),
        (
            "erased_sub_graph",
            "erases the node of a sub-graph that is in use",
            "unchanged: ",
            plain(vec![E::Erase(N::Of(9))]),
        ),
    ]
}

/// Cycles, and what stands where it may not.
fn order() -> Vec<Row<'static>> {
    vec![
        (
            "cycle_by_arguments",
            "gives a node its own user as operand",
            "unchanged: ",
            plain(vec![E::SetArgs(RELU, vec![node(SUB)], vec![])]),
        ),
        (
            "cycle_of_itself",
            "gives a node itself as operand",
            "unchanged: ",
            plain(vec![E::SetArgs(RELU, vec![node(RELU)], vec![])]),
        ),
        ("cycle_by_replacing", "replaces an operand by its user", "unchanged: ", plain(vec![E::Uses(RELU, DEAD)])),
        (
            "moved_before_operand",
            "moves a node before its operand",
            "unchanged: ",
            plain(vec![E::Move(SUB, P::Before(RELU))]),
        ),
        ("moved_after_user", "moves a node after its users", "unchanged: ", plain(vec![E::Move(SUB, P::After(DEAD))])),
        ("moved_output", "moves the output to the front", "unchanged: ", plain(vec![E::Move(OUTPUT, P::Start(0))])),
        ("moved_input", "moves an input behind its users", "unchanged: ", plain(vec![E::Move(X, P::End(0))])),
        (
            "call_before_inputs",
            "inserts a call before the inputs",
            "unchanged: ",
            plain(vec![call(P::Before(X), NEG, vec![node(X)])]),
        ),
        (
            "call_after_output",
            "inserts a call after the output",
            "unchanged: ",
            plain(vec![call(P::After(OUTPUT), NEG, vec![node(X)])]),
        ),
        ("erased_input", "erases an input", "unchanged: ", plain(vec![E::Erase(Z)])),
        ("erased_output", "erases the output", "unchanged: ", plain(vec![E::Erase(OUTPUT)])),
        ("erased_in_use", "erases a node that is used", "unchanged: ", plain(vec![E::Erase(SUB)])),
        ("second_output", "inserts an output", "unchanged: ", plain(vec![call(P::End(0), "output", vec![node(X)])])),
        ("target_of_an_input", "gives an input a target", "unchanged: ", plain(vec![E::SetTarget(X, NEG)])),
        (
            "arguments_of_an_input",
            "gives an input arguments",
            "unchanged: ",
            plain(vec![E::SetArgs(X, vec![node(Y)], vec![])]),
        ),
        (
            "half_a_batch",
            "makes eight good edits and a bad one",
            "unchanged: ",
            plain(
                std::iter::repeat_n(call(P::End(0), NEG, vec![node(X)]), 7)
                    .chain([E::Erase(DEAD), E::Erase(OUTPUT)])
                    .collect(),
            ),
        ),
    ]
}

/// Well-formed edits that change what the graph means: the judge refuses them.
fn meaning() -> Vec<Row<'static>> {
    vec![
        (
            "swapped_operands",
            "a - b becomes b - a",
            "judged: ",
            plain(vec![E::SetArgs(SUB, vec![node(Y), node(RELU)], vec![])]),
        ),
        ("other_operator", "relu becomes neg", "judged: ", plain(vec![E::SetTarget(RELU, NEG)])),
        (
            "other_constant",
            "1.0 becomes 1.0 + 2^-23",
            "judged: ",
            plain(vec![E::SetArgs(ADD, vec![node(Y), A::One(S::Float(0x3ff0_0000_2000_0000))], vec![])]),
        ),
        ("dropped_write", "erases a write to an input", "judged: ", plain(vec![E::Erase(ADD)])),
        (
            "write_moved_over_read",
            "moves a write behind its reader",
            "judged: ",
            plain(vec![E::Move(ADD, P::After(READ))]),
        ),
        (
            "write_moved_before_read",
            "moves a write before a reader of what was there",
            "judged: ",
            plain(vec![E::Move(ADD, P::Before(SUB))]),
        ),
        (
            "drawn_twice",
            "draws random numbers once more before",
            "judged: ",
            plain(vec![call(P::Before(RAND), "aten.rand_like.default", vec![node(SUB)])]),
        ),
        (
            "drawn_from_another",
            "draws where something else was computed",
            "judged: ",
            plain(vec![E::Uses(GETITEM, RAND)]),
        ),
        (
            "outputs_exchanged",
            "exchanges two outputs of one type",
            "judged: ",
            plain(vec![E::SetArgs(OUTPUT, vec![node(READ), node(SUB), node(GETITEM), node(TALL)], vec![])]),
        ),
        (
            "outputs_of_one_memory",
            "returns an input where a fresh value was",
            "judged: ",
            plain(vec![E::SetArgs(OUTPUT, vec![node(SUB), node(READ), node(X), node(TALL)], vec![])]),
        ),
        (
            "outputs_of_other_types",
            "returns a value of another size",
            "judged: ",
            plain(vec![E::SetArgs(OUTPUT, vec![node(TALL), node(READ), node(GETITEM), node(TALL)], vec![])]),
        ),
        (
            "outputs_dropped",
            "returns less",
            "unchanged: must go on returning 4 values",
            plain(vec![E::SetArgs(OUTPUT, vec![node(SUB)], vec![])]),
        ),
        (
            "branches_exchanged",
            "exchanges the branches of a cond",
            "judged: ",
            plain(vec![E::SetArgs(
                COND,
                vec![node(N::Of(3)), node(N::Of(10)), node(N::Of(9)), A::Many(vec![S::Node(X)])],
                vec![],
            )]),
        ),
        ("other_branch", "edits a branch of a cond", "judged: ", plain(vec![E::SetTarget(N::Inner(1), MUL)])),
        (
            "new_write",
            "writes to an input",
            "judged: ",
            plain(vec![call(P::End(0), "aten.mul_.Tensor", vec![node(Z), int(0)])]),
        ),
        (
            "new_assertion",
            "asserts what need not hold",
            "judged: ",
            plain(vec![call(P::End(0), "aten._assert_async.default", vec![node(N::Of(3))])]),
        ),
        (
            "prints",
            "prints a text",
            "unchanged: ",
            plain(vec![call(P::End(0), "aten._print.default", vec![A::One(S::Str("\u{1b}[2J"))])]),
        ),
        (
            "division_by_zero_in_the_graph",
            "divides an integer by zero",
            "unchanged: ",
            plain(vec![call(P::End(0), "_operator.floordiv", vec![int(1), int(0)])]),
        ),
        (
            "lies_about_types",
            "hands f32 to an operator of integers",
            "unchanged: ",
            plain(vec![E::SetTarget(RELU, "aten.bitwise_not.default")]),
        ),
        (
            "pingpong_that_ends_well",
            "changes a target to and fro, and leaves it as it was",
            "unchanged",
            plain(vec![E::SetTarget(RELU, NEG), E::SetTarget(RELU, "aten.relu.default")]),
        ),
    ]
}

/// Two of what two of ... come to.
fn doubled() -> Vec<E<'static>> {
    let twice = |n| call(P::End(0), "aten.cat.default", vec![A::Many(vec![S::Node(n), S::Node(n)])]);
    std::iter::once(X).chain((0..63).map(N::New)).map(twice).collect()
}

/// Values that are none, or at the ends of what there is.
fn values() -> Vec<Row<'static>> {
    let size = |sizes: Vec<S<'static>>| call(P::Start(0), "aten.zeros.default", vec![A::Many(sizes)]);
    vec![
        (
            "size_2_62",
            "a tensor of 2^62 by 2^62",
            "unchanged: ",
            plain(vec![size(vec![S::Int(1 << 62), S::Int(1 << 62)])]),
        ),
        ("size_that_doubles", "doubles a tensor 64 times", "unchanged: ", vec![doubled()]),
        ("size_negative", "a tensor of -1 elements", "unchanged: ", plain(vec![size(vec![S::Int(-1)])])),
        ("size_min", "a tensor of -2^63 elements", "unchanged: ", plain(vec![size(vec![S::Int(i64::MIN)])])),
        ("rank_1000", "a tensor of 1,000 dimensions", "unchanged: ", plain(vec![size(vec![S::Int(1); 1000])])),
        (
            "slice_at_the_ends",
            "slices from -2^63 to 2^63 - 1 in steps of 2^63 - 1",
            "unchanged: a sum overflows a 64-bit integer",
            plain(vec![E::Insert(
                P::Start(0),
                "aten.slice.Tensor",
                vec![node(X), int(0), int(i64::MIN), int(i64::MAX), int(i64::MAX)],
                vec![],
                None,
            )]),
        ),
        (
            "step_zero",
            "slices in steps of 0",
            "unchanged: ",
            plain(vec![call(P::Start(0), "aten.slice.Tensor", vec![node(X), int(0), int(0), int(2), int(0)])]),
        ),
        (
            "dim_min",
            "sums over dimension -2^63",
            "unchanged: ",
            plain(vec![call(P::Start(0), "aten.sum.dim_IntList", vec![node(X), A::Many(vec![S::Int(i64::MIN)])])]),
        ),
        (
            "division_that_overflows",
            "divides -2^63 by -1",
            "unchanged: ",
            plain(vec![call(P::Start(0), "_operator.floordiv", vec![int(i64::MIN), int(-1)])]),
        ),
        (
            "power_2_63",
            "raises 2 to the power of 2^63 - 1",
            "unchanged: ",
            plain(vec![call(P::Start(0), "_operator.pow", vec![int(2), int(i64::MAX)])]),
        ),
        (
            "shift_2_63",
            "shifts by 2^63 - 1",
            "unchanged: ",
            plain(vec![call(P::Start(0), "_operator.lshift", vec![int(1), int(i64::MAX)])]),
        ),
        (
            "repeat_2_40",
            "repeats 2^40 times",
            "accepted",
            plain(vec![call(
                P::Start(0),
                "aten.repeat.default",
                vec![node(X), A::Many(vec![S::Int(1 << 20), S::Int(1 << 20)])],
            )]),
        ),
        (
            "split_into_nothing",
            "splits into pieces of 0",
            "unchanged: ",
            plain(vec![call(P::Start(0), "aten.split.Tensor", vec![node(X), int(0)])]),
        ),
        (
            "window_2_40",
            "pools over a window of 2^40",
            "unchanged: ",
            plain(vec![call(P::Start(0), "aten.avg_pool1d.default", vec![node(X), A::Many(vec![S::Int(1 << 40)])])]),
        ),
        (
            "no_arguments",
            "calls an operator without arguments",
            "unchanged: ",
            plain(vec![call(P::End(0), MUL, vec![])]),
        ),
        (
            "too_many_arguments",
            "calls an operator with 500",
            "unchanged: ",
            plain(vec![call(P::End(0), NEG, vec![node(X); 500])]),
        ),
        (
            "keyword_twice",
            "gives a keyword twice",
            "unchanged: is given twice",
            plain(vec![E::Insert(
                P::End(0),
                "aten.add.Tensor",
                vec![node(X), node(X)],
                vec![("alpha", int(1)), ("alpha", int(2))],
                None,
            )]),
        ),
        (
            "keywords_300",
            "gives 300 keywords",
            "unchanged: keyword arguments, at most 256",
            plain(vec![E::Insert(P::End(0), NEG, vec![node(X)], vec![("a", int(1)); 300], None)]),
        ),
        (
            "case_beyond_edit",
            "hands over an edit that there is not",
            "fault contract in run: unexpected discriminant",
            plain(vec![E::Beyond]),
        ),
        (
            "case_beyond_scalar",
            "hands over an argument that there is not",
            "fault contract in run: unexpected discriminant",
            plain(vec![scaled(S::Beyond)]),
        ),
        ("bool_of_7", "hands over a truth value of 7", "accepted", plain(vec![scaled(S::Bool(7))])),
        (
            "infinite",
            "multiplies by infinity, not used",
            "accepted",
            plain(vec![scaled(S::Float(f64::INFINITY.to_bits()))]),
        ),
        (
            "complex_nan",
            "multiplies by a complex NaN, not used",
            "accepted",
            plain(vec![scaled(S::Complex(0xfff0_0000_0000_0001, 0x7ff0_0000_0000_0001))]),
        ),
        ("int_min", "multiplies by -2^63, not used", "accepted", plain(vec![scaled(S::Int(i64::MIN))])),
        (
            "unknown_operator",
            "calls what nobody described",
            "unchanged: ",
            plain(vec![call(P::End(0), "evil.exec.default", vec![node(X)])]),
        ),
        ("dtype_that_is_none", "asks for float99", "unchanged: ", plain(vec![with("dtype", S::Dtype("float99"))])),
        (
            "device_that_is_none",
            "asks for npu:99999999999999",
            "unchanged: ",
            plain(vec![with("device", S::Device("npu:99999999999999"))]),
        ),
        (
            "layout_that_is_none",
            "asks for the layout of `;rm`",
            "unchanged: ",
            plain(vec![with("layout", S::Layout(";rm"))]),
        ),
        (
            "format_that_is_none",
            "asks for a memory format that there is not",
            "unchanged: ",
            plain(vec![E::Insert(
                P::Start(0),
                "aten.clone.default",
                vec![node(X)],
                vec![("memory_format", A::One(S::Format("x")))],
                None,
            )]),
        ),
        (
            "operator_as_argument",
            "hands over an operator that is Python code",
            "unchanged: ",
            plain(vec![scaled(S::Operator("os.system('x')"))]),
        ),
        (
            "other_as_argument",
            "hands over Python code in words of the host's",
            "unchanged: ",
            plain(vec![scaled(S::Other("__import__('os').system('x')"))]),
        ),
        (
            "none_as_operand",
            "hands over None where a tensor belongs",
            "unchanged: ",
            plain(vec![call(P::End(0), NEG, vec![A::One(S::None)])]),
        ),
    ]
}

/// Names, notes, targets and literals that want to be read as something else.
fn words() -> Vec<Row<'static>> {
    const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\r\n\u{202e}gnp.exe\u{2028}";
    vec![
        (
            "name_escapes",
            "a name of escapes",
            "unchanged: a name is letters, digits and `_`",
            plain(vec![named("\u{1b}[31m")]),
        ),
        (
            "name_lines",
            "a name of two lines of Python",
            "unchanged: a name is letters",
            plain(vec![named("a = 1\n    return x #")]),
        ),
        ("name_cyrillic", "a name that looks like `x`", "unchanged: a name is letters", plain(vec![named("\u{445}")])),
        (
            "name_of_another",
            "the name of another node",
            "accepted",
            plain(vec![named("relu"), named("relu"), named("x"), named("output")]),
        ),
        (
            "name_of_a_sub_graph",
            "the name of a sub-graph",
            "accepted",
            plain(vec![named("true_graph_0"), named("self"), named("torch")]),
        ),
        (
            "name_keyword",
            "names that Python keeps for itself",
            "accepted",
            plain(vec![named("return"), named("None"), named("class"), named("lambda")]),
        ),
        (
            "name_numbered",
            "names with the largest numbers",
            "accepted",
            plain(vec![named("mm_4294967295"), named("mm_4294967295"), named("mm_18446744073709551615"), named("mm")]),
        ),
        ("name_long", "a name of 10,000 letters", "unchanged: a name is letters", vec![vec![named(LONG)]]),
        ("target_escapes", "a target of escapes", "unchanged: ", plain(vec![E::SetTarget(RELU, ESCAPES)])),
        (
            "target_lines",
            "a target with a second statement",
            "unchanged: ",
            plain(vec![E::SetTarget(RELU, "aten.relu.default(x); import os #")]),
        ),
        (
            "note_escapes",
            "a stack trace of escapes",
            "accepted",
            plain(vec![E::Note(
                RELU,
                "stack_trace",
                Some("  File \"\u{1b}[2J\u{202e}.py\", line 1, in f\u{7}\n    x = 1 \u{9b}2J\r\u{2028}\u{445}\n"),
            )]),
        ),
        (
            "note_of_no_form",
            "a stack trace that is none",
            "accepted",
            plain(vec![E::Erase(DEAD), E::Note(RELU, "stack_trace", Some(ESCAPES))]),
        ),
        (
            "note_statement",
            "a stack trace with a statement on a line of its own",
            "accepted",
            plain(vec![E::Note(RELU, "stack_trace", Some("File \"a\", line 1, in f\n\n    return (x,)\n"))]),
        ),
        (
            "note_key_escapes",
            "a note under a key of escapes",
            "unchanged: a key is 1 to",
            plain(vec![E::Note(RELU, "\u{1b}[2J", Some("x"))]),
        ),
        (
            "note_key_of_airlock",
            "a note under Airlock's own key",
            "fault contract in run: which Airlock reads as structure",
            plain(vec![E::Note(RELU, "airlock.form", Some("x"))]),
        ),
        (
            "note_key_of_pytorch",
            "a note under `nn_module_stack`",
            "fault contract in run: which PyTorch reads as structure",
            plain(vec![E::Note(RELU, "nn_module_stack", Some("x"))]),
        ),
        (
            "note_key_val",
            "a note under `val`",
            "fault contract in run: which PyTorch reads as structure",
            plain(vec![E::Note(RELU, "val", Some("x"))]),
        ),
        (
            "note_key_custom",
            "a note under `custom`, by a batch whose first edit is good",
            "fault contract in run: which PyTorch reads as structure",
            plain(vec![E::Erase(DEAD), E::Note(RELU, "custom", None)]),
        ),
        (
            "text_argument",
            "a text of quotes, lines and escapes as argument",
            "unchanged: ",
            plain(vec![scaled(S::Str("'\"\\\n\u{1b}[0m{x}"))]),
        ),
        (
            "key_that_is_no_name",
            "a keyword of Python code",
            "unchanged: a name is letters",
            plain(vec![E::Insert(P::End(0), NEG, vec![node(X)], vec![("a=1, **x", int(1))], None)]),
        ),
    ]
}

const LONG: &str = match std::str::from_utf8(&[b'n'; 10_000]) {
    Ok(text) => text,
    Err(_) => "",
};

/// The same again and again, until a limit ends it.
fn floods() -> Vec<Attack> {
    const FOREVER: u32 = 0;
    let wide = || call(P::End(0), "aten.unbind.int", vec![node(N::New(0))]);
    let row = || call(P::Start(0), "aten.zeros.default", vec![A::Many(vec![S::Int(60_000)])]);
    let kept = "fault host-limit in run: its calls would fill";
    vec![
        made_again_and_again(
            FOREVER,
            "",
            ("flood_of_nodes", "inserts without end", kept, plain(vec![call(P::End(0), NEG, vec![node(X)])])),
        ),
        made_again_and_again(
            FOREVER,
            "",
            ("flood_of_results", "inserts calls of 60,000 results without end", kept, plain(vec![row(), wide()])),
        ),
        made_again_and_again(
            FOREVER,
            "",
            (
                "flood_of_inserts_and_erasures",
                "inserts and erases without end",
                kept,
                plain(vec![call(P::End(0), NEG, vec![node(X)]), E::Erase(N::New(0))]),
            ),
        ),
        made_again_and_again(
            FOREVER,
            "",
            (
                "flood_of_targets",
                "changes a target to and fro without end",
                kept,
                plain(vec![E::SetTarget(RELU, NEG), E::SetTarget(RELU, "aten.relu.default")]),
            ),
        ),
        made_again_and_again(
            FOREVER,
            "",
            (
                "flood_of_moves",
                "moves a node to and fro without end",
                kept,
                plain(vec![E::Move(DEAD, P::After(SUB)), E::Move(DEAD, P::End(0))]),
            ),
        ),
        made_again_and_again(
            FOREVER,
            "",
            (
                "flood_of_notes",
                "writes and removes a note without end",
                kept,
                plain(vec![E::Note(RELU, "why", Some("because")), E::Note(RELU, "why", None)]),
            ),
        ),
        made_again_and_again(
            FOREVER,
            "",
            ("flood_of_refusals", "asks for what is refused without end", kept, plain(vec![E::Erase(OUTPUT)])),
        ),
        made_again_and_again(
            FOREVER,
            "",
            (
                "flood_of_faulty_targets",
                "asks for operators that there are not without end",
                kept,
                plain(vec![E::SetTarget(RELU, "evil.exec.default")]),
            ),
        ),
    ]
}
