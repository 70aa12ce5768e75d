//! Each rule of acceptance, and beside it the nearest rewrite that is wrong.

use std::sync::Arc;

use crate::formats::text::{self, ReadOptions};
use crate::graph::Graph;
use crate::ops::Registry;
use crate::verify::{Finding, JudgeOptions, Question, Verdict, judge_pair};

pub(in crate::verify) fn program(inputs: &str, lines: &str) -> Graph {
    let inputs: Vec<String> = inputs
        .split(';')
        .map(str::trim)
        .filter(|i| !i.is_empty())
        .map(|i| i.split_once(':').map(|(n, t)| format!("{}: \"{}\"", n.trim(), t.trim())).unwrap())
        .collect();
    let body: Vec<String> =
        lines.lines().map(|l| format!("        {}", l.trim().replace("aten.", "torch.ops.aten."))).collect();
    let body: Vec<String> = body.into_iter().map(|l| l.replace("air.", "torch.ops.air.")).collect();
    let text = format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self, {}):\n{}\n",
        inputs.join(", "),
        body.join("\n")
    );
    let mut graph = text::read(&text, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
    let problems = registry().check_types(&mut graph);
    assert!(problems.is_empty(), "{problems:?}\n{text}");
    graph
}

pub(in crate::verify) fn registry() -> Arc<Registry> {
    static REGISTRY: std::sync::OnceLock<Arc<Registry>> = std::sync::OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(Registry::standard())).clone()
}

fn judge_with(inputs: &str, before: &str, after: &str, options: &JudgeOptions) -> Verdict {
    judge_pair(&program(inputs, before), &program(inputs, after), &registry(), options)
}

fn judge(inputs: &str, before: &str, after: &str) -> Verdict {
    judge_with(inputs, before, after, &JudgeOptions::default())
}

#[track_caller]
fn same(inputs: &str, before: &str, after: &str) {
    let v = judge(inputs, before, after);
    assert!(v.accepted && v.verdict == Finding::Proved, "{v:#?}");
}

#[track_caller]
fn refused(question: Question, inputs: &str, before: &str, after: &str) {
    let v = judge(inputs, before, after);
    assert!(!v.accepted && v.question == Some(question), "{v:#?}");
}

#[test]
fn dead_code_goes_and_live_code_stays() {
    let x = "x: f32[4]";
    same(x, "a = aten.abs.default(x)\nb = aten.neg.default(x)\nreturn (b,)", "b = aten.neg.default(x)\nreturn (b,)");
    refused(Question::Values, x, "a = aten.abs.default(x)\nreturn (a,)", "a = aten.neg.default(x)\nreturn (a,)");
}

#[test]
fn common_subexpressions_merge_and_draws_do_not() {
    let x = "x: f32[4]";
    same(
        x,
        "a = aten.sin.default(x)\nb = aten.sin.default(x)\nc = aten.mul.Tensor(a, b)\nreturn (c,)",
        "a = aten.sin.default(x)\nc = aten.mul.Tensor(a, a)\nreturn (c,)",
    );
    refused(
        Question::Effects,
        x,
        "a = aten.rand_like.default(x)\nb = aten.rand_like.default(x)\nc = aten.mul.Tensor(a, b)\nreturn (c,)",
        "a = aten.rand_like.default(x)\nc = aten.mul.Tensor(a, a)\nreturn (c,)",
    );
    refused(
        Question::Values,
        x,
        "a = aten.rand_like.default(x)\nb = aten.rand_like.default(x)\nreturn (a, b)",
        "a = aten.rand_like.default(x)\nb = aten.rand_like.default(x)\nreturn (b, a)",
    );
}

#[test]
fn an_unused_draw_is_not_dead() {
    let x = "x: f32[4]";
    let after = "b = aten.neg.default(x)\nreturn (b,)";
    refused(Question::Effects, x, "a = aten.rand_like.default(x)\nb = aten.neg.default(x)\nreturn (b,)", after);
}

#[test]
fn an_opaque_operator_is_neither_merged_nor_dropped() {
    let x = "x: f32[4]";
    let two = "a: \"f32[4]\" = torch.ops.mine.f.default(x)\nb: \"f32[4]\" = torch.ops.mine.f.default(x)\nreturn (a, b)";
    same(x, two, two);
    refused(Question::Effects, x, two, "a: \"f32[4]\" = torch.ops.mine.f.default(x)\nreturn (a, a)");
    refused(
        Question::Effects,
        x,
        "a: \"f32[4]\" = torch.ops.mine.f.default(x)\nb = aten.neg.default(x)\nreturn (b,)",
        "b = aten.neg.default(x)\nreturn (b,)",
    );
}

#[test]
fn an_opaque_operator_may_write_what_it_is_given() {
    let x = "x: f32[4]";
    refused(
        Question::Values,
        x,
        "b = aten.neg.default(x)\na: \"f32[4]\" = torch.ops.mine.f.default(x)\nreturn (a, b)",
        "a: \"f32[4]\" = torch.ops.mine.f.default(x)\nb = aten.neg.default(x)\nreturn (a, b)",
    );
    // Inputs it may know though it is not given them; what was made for itself it cannot.
    refused(
        Question::Values,
        "x: f32[4]; y: f32[4]",
        "b = aten.neg.default(y)\na: \"f32[4]\" = torch.ops.mine.f.default(x)\nreturn (a, b)",
        "a: \"f32[4]\" = torch.ops.mine.f.default(x)\nb = aten.neg.default(y)\nreturn (a, b)",
    );
    same(
        "x: f32[4]; y: f32[4]",
        "t = aten.neg.default(y)\nb = aten.abs.default(t)\na: \"f32[4]\" = torch.ops.mine.f.default(x)\nreturn (a, b)",
        "t = aten.neg.default(y)\na: \"f32[4]\" = torch.ops.mine.f.default(x)\nb = aten.abs.default(t)\nreturn (a, b)",
    );
}

#[test]
fn operands_exchange_only_where_the_operator_commutes() {
    let xy = "x: f32[4]; y: f32[4]";
    same(xy, "a = aten.add.Tensor(x, y)\nreturn (a,)", "a = aten.add.Tensor(y, x)\nreturn (a,)");
    refused(Question::Values, xy, "a = aten.sub.Tensor(x, y)\nreturn (a,)", "a = aten.sub.Tensor(y, x)\nreturn (a,)");
    refused(
        Question::Values,
        xy,
        "a = aten.add.Tensor(x, y, alpha = 2)\nreturn (a,)",
        "a = aten.add.Tensor(y, x, alpha = 2)\nreturn (a,)",
    );
}

#[test]
fn a_default_may_be_spelled_out_and_no_other_value() {
    let xy = "x: f32[4]; y: f32[4]";
    same(xy, "a = aten.add.Tensor(x, y)\nreturn (a,)", "a = aten.add.Tensor(x, other = y, alpha = 1)\nreturn (a,)");
    refused(
        Question::Values,
        xy,
        "a = aten.add.Tensor(x, y)\nreturn (a,)",
        "a = aten.add.Tensor(x, y, alpha = 2)\nreturn (a,)",
    );
}

#[test]
fn a_clone_goes_where_nothing_is_written_and_nobody_gets_it() {
    let x = "x: f32[4]";
    let through = "a = aten.clone.default(x)\nb = aten.neg.default(a)\nreturn (b,)";
    same(x, through, "b = aten.neg.default(x)\nreturn (b,)");
    refused(Question::Effects, x, "a = aten.clone.default(x)\nreturn (a,)", "return (x,)");
    refused(
        Question::Values,
        x,
        "a = aten.clone.default(x)\nw = aten.add_.Tensor(x, 1)\nb = aten.neg.default(a)\nreturn (b,)",
        "w = aten.add_.Tensor(x, 1)\nb = aten.neg.default(x)\nreturn (b,)",
    );
}

#[test]
fn adding_zero_to_a_float_is_no_identity() {
    let x = "x: f32[4]";
    refused(
        Question::Values,
        x,
        "a = aten.add.Tensor(x, 0)\nb = aten.neg.default(a)\nreturn (b,)",
        "b = aten.neg.default(x)\nreturn (b,)",
    );
}

#[test]
fn a_cast_to_the_same_dtype_goes_and_one_to_another_stays() {
    let x = "x: f32[4]";
    let after = "b = aten.neg.default(x)\nreturn (b,)";
    same(x, "a = aten._to_copy.default(x, dtype = torch.float32)\nb = aten.neg.default(a)\nreturn (b,)", after);
    refused(
        Question::Values,
        x,
        "a = aten._to_copy.default(x, dtype = torch.float16)\nc = aten._to_copy.default(a, dtype = torch.float32)\nb = aten.neg.default(c)\nreturn (b,)",
        after,
    );
}

#[test]
fn the_first_power_goes_and_another_stays() {
    let x = "x: f32[4]";
    let after = "b = aten.neg.default(x)\nreturn (b,)";
    let power = |e: &str| format!("a = aten.pow.Tensor_Scalar(x, {e})\nb = aten.neg.default(a)\nreturn (b,)");
    same(x, &power("1"), after);
    same(x, &power("1.0"), after);
    refused(Question::Values, x, &power("2"), after);
    refused(Question::Values, x, &power("1.0000000000000002"), after);
}

#[test]
fn permutations_that_cancel_go_and_others_stay() {
    let x = "x: f32[3, 3, 3]";
    let after = "b = aten.neg.default(x)\nreturn (b,)";
    let twice = |p: &str, q: &str| {
        format!(
            "a = aten.permute.default(x, {p})\nc = aten.permute.default(a, {q})\nb = aten.neg.default(c)\nreturn (b,)"
        )
    };
    same(x, &twice("[1, 2, 0]", "[2, 0, 1]"), after);
    refused(Question::Values, x, &twice("[1, 2, 0]", "[1, 2, 0]"), after);
}

#[test]
fn a_slice_of_everything_goes_also_for_symbolic_sizes() {
    let x = "x: f32[s0, 4]";
    let after = "b = aten.neg.default(x)\nreturn (b,)";
    same(x, "a = aten.slice.Tensor(x, 0, 0, 9223372036854775807)\nb = aten.neg.default(a)\nreturn (b,)", after);
    let v = judge(x, "a = aten.slice.Tensor(x, 0, 0, 4097)\nb = aten.neg.default(a)\nreturn (b,)", after);
    assert!(!v.accepted, "{v:#?}");
}

#[test]
fn a_read_moves_past_a_write_of_other_rows_only() {
    let x = "x: f32[4, 4]";
    let read = "s = aten.slice.Tensor(x, 0, 0, 2)\nr = aten.sum.default(s)";
    let write = |from: usize| format!("t = aten.slice.Tensor(x, 0, {from}, 4)\nw = aten.mul_.Tensor(t, 3)");
    let orders =
        |from| [format!("{read}\n{}\nreturn (r,)", write(from)), format!("{}\n{read}\nreturn (r,)", write(from))];
    let [before, after] = orders(2);
    same(x, &before, &after);
    let [before, after] = orders(1);
    refused(Question::Values, x, &before, &after);
}

#[test]
fn an_in_place_form_is_its_functional_twin_if_nobody_reads_the_old_value() {
    let x = "x: f32[4]";
    same(
        x,
        "a = aten.mul.Tensor(x, 2)\nb = aten.add.Tensor(a, 1)\nc = aten.neg.default(b)\nreturn (c,)",
        "a = aten.mul.Tensor(x, 2)\nb = aten.add_.Tensor(a, 1)\nc = aten.neg.default(b)\nreturn (c,)",
    );
    refused(
        Question::Values,
        x,
        "a = aten.mul.Tensor(x, 2)\nb = aten.add.Tensor(a, 1)\nc = aten.mul.Tensor(a, b)\nreturn (c,)",
        "a = aten.mul.Tensor(x, 2)\nb = aten.add_.Tensor(a, 1)\nc = aten.mul.Tensor(a, b)\nreturn (c,)",
    );
}

#[test]
fn inputs_that_may_be_one_see_each_others_writes() {
    let xy = "x: f32[4]; y: f32[4]";
    let read_first = "r = aten.mul.Tensor(y, 2)\na = aten.add_.Tensor(x, 1)\nreturn (r,)";
    let write_first = "a = aten.add_.Tensor(x, 1)\nr = aten.mul.Tensor(y, 2)\nreturn (r,)";
    same(xy, read_first, write_first);
    let options = JudgeOptions { may_alias: vec![("x".into(), "y".into())], ..JudgeOptions::default() };
    assert!(judge_with(xy, read_first, read_first, &options).accepted);
    assert!(!judge_with(xy, read_first, write_first, &options).accepted);
}

#[test]
fn two_outputs_do_not_become_one_memory() {
    let x = "x: f32[4]";
    let two = "a = aten.sin.default(x)\nb = aten.sin.default(x)\nreturn (a, b)";
    same(x, two, two);
    refused(Question::Effects, x, two, "a = aten.sin.default(x)\nreturn (a, a)");
}

#[test]
fn an_output_stays_the_same_part_of_memory_that_another_output_shows() {
    let part = |n: usize| format!("a = aten.zeros.default([2, 2])\nb = aten.select.int(a, 0, {n})\nreturn (b, a)");
    same("", &part(0), &part(0));
    refused(
        Question::Effects,
        "",
        &part(0),
        "a = aten.zeros.default([2, 2])\nb = aten.zeros.default([2])\nreturn (b, a)",
    );
    let v = judge("", &part(0), &part(1));
    assert!(!v.accepted, "{v:#?}");
    let twice = |n: usize| {
        format!(
            "a = aten.zeros.default([1, 2])\nc = aten.expand.default(a, [2, 2])\nb = aten.select.int(c, 0, {n})\nreturn (b, a)"
        )
    };
    same("", &twice(0), &twice(1));
}

#[test]
fn an_assertion_is_kept_and_asks_the_same() {
    let x = "x: f32[4]";
    let with = |scalar: &str| {
        format!(
            "m = aten.gt.Scalar(x, {scalar})\ns = aten.all.default(m)\nt = aten._assert_async.msg(s, 'm')\nr = aten.neg.default(x)\nreturn (r,)"
        )
    };
    same(x, &with("0"), &with("0"));
    refused(Question::Effects, x, &with("0"), &with("1"));
    refused(Question::Effects, x, &with("0"), "r = aten.neg.default(x)\nreturn (r,)");
    refused(Question::Effects, x, "r = aten.neg.default(x)\nreturn (r,)", &with("0"));
}

#[test]
fn what_may_raise_is_not_added() {
    let xi = "x: f32[4]; i: i64[2]";
    let plain = "r = aten.neg.default(x)\nreturn (r,)";
    let gather = "g = aten.gather.default(x, 0, i)\nr = aten.neg.default(x)\nreturn (r,)";
    same(xi, gather, plain);
    refused(Question::Effects, xi, plain, gather);
}

#[test]
fn what_asks_the_same_of_equal_operands_may_stand_for_what_asked() {
    let xi = "x: f32[4]; i: i64[2]";
    let gather = |lines: &str, i: &str| {
        format!("{lines}g = aten.gather.default(x, 0, {i})\nr = aten.neg.default(x)\nreturn (r,)")
    };
    same(xi, &gather("", "i"), &gather("n = aten.neg.default(i)\nm = aten.neg.default(n)\n", "m"));
    refused(Question::Effects, xi, &gather("", "i"), &gather("m = aten.neg.default(i)\n", "m"));
    let asserted = |lines: &str, c: &str| {
        format!(
            "{lines}b = aten.any.default({c})\nt = aten._assert_async.msg(b, 'm')\nr = aten.neg.default(x)\nreturn (r,)"
        )
    };
    same(xi, &asserted("", "i"), &asserted("n = aten.neg.default(i)\nm = aten.neg.default(n)\n", "m"));
    refused(Question::Effects, xi, &asserted("", "i"), &asserted("m = aten.sub.Tensor(i, 1)\n", "m"));
}

#[test]
fn pieces_of_a_size_that_is_a_symbol_are_not_counted() {
    let chunk = "c = aten.chunk.default(x, 2, 0)\n";
    let rest = "r = aten.neg.default(x)\nreturn (r,)";
    refused(Question::Effects, "x: f32[s0, 2]", &format!("{chunk}{rest}"), &format!("{chunk}g = c[1]\n{rest}"));
    same("x: f32[s0, 2]", &format!("{chunk}g = c[1]\n{rest}"), &format!("{chunk}{rest}"));
    same("x: f32[4, 2]", &format!("{chunk}{rest}"), &format!("{chunk}g = c[1]\n{rest}"));
}
