//! Each promise of the question "order", and beside it the nearest rewrite that breaks it.

use crate::verify::tests::twins::{program, registry};
use crate::verify::{Assumption, Finding, JudgeOptions, Mode, Question, Verdict, judge_pair};

const X: &str = "x: f32[3, 3]";
const GE: Mode = Mode::MaxAutotune;
const ACL: Mode = Mode::ReduceOverhead;

fn judge_with(inputs: &str, before: &str, after: &str, options: &JudgeOptions) -> Verdict {
    judge_pair(&program(inputs, before), &program(inputs, after), &registry(), options)
}

fn judge(mode: Mode, before: &str, after: &str) -> Verdict {
    judge_with(X, before, after, &JudgeOptions { mode, ..JudgeOptions::default() })
}

#[track_caller]
fn same(mode: Mode, before: &str, after: &str) {
    let v = judge(mode, before, after);
    assert!(v.accepted && v.verdict == Finding::Proved, "{v:#?}");
}

#[track_caller]
fn refused(mode: Mode, question: Question, before: &str, after: &str) {
    let v = judge(mode, before, after);
    assert!(!v.accepted && v.question == Some(question), "{v:#?}");
}

/// Lines in a scope with a label.
fn on(label: &str, lines: &str) -> String {
    format!("E = air.scope_enter.default(['_user_stream_label'], ['{label}'])\n{lines}\nF = air.scope_exit.default()")
}

/// Numbers the names `E`, `F`, `W`, which are of no account, so that none is there twice.
fn numbered(parts: &[&str]) -> String {
    let mut out = String::new();
    for (number, line) in parts.join("\n").lines().enumerate() {
        match line.split_once(" = ") {
            Some((name @ ("E" | "F" | "W"), rest)) => {
                out.push_str(&format!("{}{number} = {rest}\n", name.to_lowercase()))
            }
            _ => out.push_str(&format!("{line}\n")),
        }
    }
    out.trim_end().to_string()
}

const MM: &str = "m = aten.mm.default(x, x)";
const NEG: &str = "n = aten.neg.default(x)";
const ADD: &str = "o = aten.add.Tensor(m, n)\nreturn (o,)";
const RECORD: &str = "r = air.record.default()";
const WAIT: &str = "W = air.wait.default([r])";

fn plain() -> String {
    numbered(&[MM, NEG, ADD])
}

#[test]
fn a_value_that_crosses_streams_needs_a_wait_in_reduce_overhead_and_none_in_max_autotune() {
    let waited = numbered(&[&on("s1", &format!("{MM}\n{RECORD}")), WAIT, NEG, ADD]);
    let unwaited = numbered(&[&on("s1", &format!("{MM}\n{RECORD}")), NEG, ADD]);
    same(ACL, &plain(), &waited);
    refused(ACL, Question::Order, &plain(), &unwaited);
    same(GE, &plain(), &waited);
    same(GE, &plain(), &unwaited);
    assert_eq!(judge(GE, &plain(), &waited).assumes, [Assumption::StreamOrder]);
}

#[test]
fn both_name_spaces_are_one() {
    let other =
        |text: String| text.replace("air.", "torch.ops.npugraph_ex.").replace("torch.ops.torch.ops", "torch.ops");
    let waited = numbered(&[&on("s1", &format!("{MM}\n{RECORD}")), WAIT, NEG, ADD]);
    same(ACL, &plain(), &other(waited.clone()));
    refused(ACL, Question::Order, &plain(), &other(waited.replace("[r]", "[x]")));
    let open = waited.lines().filter(|l| !l.contains("scope_exit")).collect::<Vec<_>>().join("\n");
    refused(ACL, Question::Form, &plain(), &open);
    refused(ACL, Question::Form, &plain(), &other(open));
}

#[test]
fn a_write_that_waits_for_the_readers_on_other_streams_is_ordered() {
    for mode in [GE, ACL] {
        let written =
            |wait: &str| numbered(&[&on("s1", &format!("{MM}\n{RECORD}")), wait, "n = aten.neg_.default(x)", ADD]);
        let before = numbered(&[MM, "n = aten.neg_.default(x)", ADD]);
        same(mode, &before, &written(WAIT));
        refused(mode, Question::Order, &before, &written("z = aten.abs.default(x)"));
    }
}

#[test]
fn a_record_covers_what_stood_before_it_and_nothing_behind() {
    for mode in [GE, ACL] {
        let with = |one: &str, two: &str| {
            let side = format!("{one}\n{two}\np = aten.abs.default(m)");
            numbered(&[
                &on("s1", &side),
                WAIT,
                "n = aten.neg_.default(x)",
                "o = aten.add.Tensor(m, n)\nq = aten.add.Tensor(o, p)\nreturn (q,)",
            ])
        };
        let before = numbered(&[
            MM,
            "p = aten.abs.default(m)",
            "n = aten.neg_.default(x)",
            "o = aten.add.Tensor(m, n)\nq = aten.add.Tensor(o, p)\nreturn (q,)",
        ]);
        let early = judge(mode, &before, &with(RECORD, MM));
        assert!(!early.accepted && early.question == Some(Question::Order), "{early:#?}");
        let late = judge(mode, &before, &with(MM, RECORD));
        // In reduce-overhead `q` reads `p`, which is behind the record.
        assert_eq!(late.accepted, mode == GE, "{late:#?}");
    }
}

#[test]
fn nested_labels_a_record_is_of_the_outermost_in_max_autotune_and_of_the_innermost_in_reduce_overhead() {
    let write = "n = aten.neg_.default(x)";
    let before = numbered(&[
        MM,
        "k = aten.abs.default(x)",
        write,
        "o = aten.add.Tensor(m, n)\nq = aten.add.Tensor(o, k)\nreturn (o, k)",
    ]);
    let after = |outer: &str, inner: &str| {
        let inner = on("s2", &format!("k = aten.abs.default(x)\n{inner}"));
        let end = "o = aten.add.Tensor(m, n)\nq = aten.add.Tensor(o, k)\nreturn (o, k)";
        numbered(&[&on("s1", &format!("{MM}\n{inner}\n{outer}")), WAIT, write, end])
    };
    // Behind the inner scope: GE's last operator of the outermost stream is the inner scope's, captured graphs take the outer's.
    // Each covers one of two readers only.
    for mode in [GE, ACL] {
        refused(mode, Question::Order, &before, &after(RECORD, ""));
        refused(mode, Question::Order, &before, &after("", RECORD));
    }
    let both = |first: &str| {
        let inner = on("s2", &format!("{first}\nk = aten.abs.default(x)"));
        let end = "o = aten.add.Tensor(m, n)\nq = aten.add.Tensor(o, k)\nreturn (o, k)";
        numbered(&[&on("s1", &format!("{MM}\nt = air.record.default()\n{inner}\n{RECORD}")), WAIT, write, end])
    };
    // The inner stream waits for the outer one first: now GE's record covers both.
    let v = judge(GE, &before, &both("W = air.wait.default([t])"));
    assert!(v.accepted, "{v:#?}");
    refused(ACL, Question::Order, &before, &both("W = air.wait.default([t])"));
}

#[test]
fn a_view_that_ge_makes_where_it_is_used_does_not_wait_with_its_user() {
    let before = "n = aten.neg_.default(x)\nv = aten.permute.default(x, [1, 0])\no = aten.exp.default(v)\nreturn (o,)";
    let side = on("s1", &format!("n = aten.neg_.default(x)\n{RECORD}"));
    let viewed = numbered(&[&side, WAIT, "v = aten.permute.default(x, [1, 0])\no = aten.exp.default(v)\nreturn (o,)"]);
    refused(GE, Question::Order, before, &viewed);
    same(ACL, before, &viewed);
    let straight = |text: &str| {
        text.replace("v = aten.permute.default(x, [1, 0])\n", "").replace("exp.default(v)", "exp.default(x)")
    };
    same(GE, &straight(before), &straight(&viewed));
    // Through the result of the write there is a data edge.
    let edge = viewed.replace("permute.default(x", "permute.default(n");
    same(GE, before, &edge);
}

#[test]
fn parts_of_a_storage_that_are_apart_are_not_ordered_and_those_that_meet_are() {
    let x = "x: f32[8, 4]";
    let parts = |from: i64| format!("t = aten.slice.Tensor(x, 0, 0, 4)\nu = aten.slice.Tensor(x, 0, {from}, 8)\n");
    let before = |from| format!("{}a = aten.exp_.default(t)\nb = aten.neg_.default(u)\nreturn ()", parts(from));
    let after = |from| {
        numbered(&[
            parts(from).trim_end(),
            &on("s1", "a = aten.exp_.default(t)"),
            "b = aten.neg_.default(u)\nreturn ()",
        ])
    };
    for mode in [GE, ACL] {
        let options = JudgeOptions { mode, ..JudgeOptions::default() };
        let apart = judge_with(x, &before(4), &after(4), &options);
        assert!(apart.accepted, "{apart:#?}");
        let meet = judge_with(x, &before(3), &after(3), &options);
        assert_eq!((meet.accepted, meet.question), (false, Some(Question::Order)), "{meet:#?}");
        let any = JudgeOptions { mode, ..JudgeOptions::default() };
        let symbolic = |t: String| t.replace("x, 0, 4, 8", "x, 0, 4, 9223372036854775807");
        let v = judge_with("x: f32[s77, 4]", &symbolic(before(4)), &symbolic(after(4)), &any);
        assert!(!v.accepted, "sizes that are symbols show nothing: {v:#?}");
    }
}

#[test]
fn draws_on_two_streams_are_ordered_by_a_wait_and_by_nothing_else() {
    let draws = "a = aten.rand.default([3, 3])\nb = aten.rand.default([3, 3])\no = aten.sub.Tensor(a, b)\nreturn (o,)";
    let end = "b = aten.rand.default([3, 3])\nW2 = air.wait.default([r])\no = aten.sub.Tensor(a, b)\nreturn (o,)";
    let side = on("s1", &format!("a = aten.rand.default([3, 3])\n{RECORD}"));
    for mode in [GE, ACL] {
        refused(mode, Question::Order, draws, &numbered(&[&side, end]));
    }
    same(ACL, draws, &numbered(&[&side, WAIT, end]));
}

#[test]
fn an_opaque_operator_accesses_all_that_it_can_know_also_without_arguments() {
    let opaque = "a: \"f32[3, 3]\" = torch.ops.mine.f.default()";
    let write = "b = aten.add_.Tensor(x, 1)\nreturn (a, b)";
    let before = format!("{opaque}\n{write}");
    for mode in [GE, ACL] {
        refused(mode, Question::Order, &before, &numbered(&[&on("s1", opaque), write]));
        // A temporary of another stream it cannot know.
        let end = "c = aten.exp.default(y)\nd = aten.neg_.default(c)\nreturn (a, d)";
        let alone = format!("y = aten.full.default([3, 3], 1.0)\n{end}");
        let both = numbered(&[opaque, &alone]);
        same(mode, &both, &numbered(&[&on("s1", opaque), &alone]));
    }
    same(ACL, &before, &numbered(&[&on("s1", &format!("{opaque}\n{RECORD}")), WAIT, write]));
}

#[test]
fn a_copy_that_may_be_a_view_of_known_memory_is_known() {
    let inputs = "x: f32[s77, 4]";
    let opaque = "a: \"f32[3, 3]\" = torch.ops.mine.f.default()";
    let seen = "v = aten.permute.default(x, [1, 0])\nw = aten.reshape.default(v, [-1])";
    let end = "b = aten.exp.default(w)\nreturn (a, b)";
    let before = numbered(&[seen, opaque, end]);
    let after = |wait: &str| {
        numbered(&[
            seen,
            "q = air.record.default()",
            &on("s1", &format!("W = air.wait.default([q])\n{opaque}\n{RECORD}")),
            wait,
            end,
        ])
    };
    let options = JudgeOptions { mode: ACL, ..JudgeOptions::default() };
    let v = judge_with(inputs, &before, &after(WAIT), &options);
    assert!(v.accepted, "{v:#?}");
    let v = judge_with(inputs, &before, &after("c = aten.abs.default(x)"), &options);
    assert_eq!((v.accepted, v.question), (false, Some(Question::Order)), "{v:#?}");
}

#[test]
fn a_wait_with_nothing_behind_it_orders_nothing_in_max_autotune() {
    let before = "n = aten.neg_.default(x)\nreturn (x,)";
    let side = on("s1", &format!("n = aten.neg_.default(x)\n{RECORD}"));
    refused(GE, Question::Order, before, &numbered(&[&side, WAIT, "return (x,)"]));
    same(GE, before, &numbered(&[&side, WAIT, "return (n,)"]));
    same(ACL, before, &numbered(&[&side, WAIT, "return (x,)"]));
}

#[test]
fn a_hazard_of_the_graph_as_it_was_is_told_and_not_charged() {
    let race = |lines: &str| {
        numbered(&[&on("s1", "a = aten.exp.default(x)"), lines, "b = aten.add_.Tensor(x, 1)\nreturn (a, b)"])
    };
    for mode in [GE, ACL] {
        let v = judge(mode, &race("c = aten.sin.default(x)"), &race(""));
        assert!(v.accepted && v.assumes.iter().any(|a| matches!(a, Assumption::OwnHazard(_))), "{v:#?}");
        // One more reader beside is charged.
        let more = |lines: &str| {
            numbered(&[
                &on("s1", &format!("a = aten.exp.default(x)\n{lines}")),
                "b = aten.add_.Tensor(x, 1)\nreturn (a, b)",
            ])
        };
        refused(mode, Question::Order, &more(""), &more("d = aten.exp.default(x)").replace("(a, b)", "(d, b)"));
    }
}

#[test]
fn memory_that_another_stream_still_reads_is_not_handed_out_again() {
    let made = "a = aten.mul.Tensor(x, 2)\nr = air.record.default()";
    let side = on("s1", "W = air.wait.default([r])\nb = aten.exp.default(a)\ns = air.record.default()");
    let kept =
        on("s1", "W = air.wait.default([r])\nb = aten.exp.default(a)\nk = air.record_tagged_stream.default(a, 's1')");
    let end = "c = aten.neg.default(x)\nreturn (b, c)";
    let before = numbered(&["a = aten.mul.Tensor(x, 2)\nb = aten.exp.default(a)", end]);
    refused(ACL, Question::Lifetime, &before, &numbered(&[made, &side, end]));
    same(ACL, &before, &numbered(&[made, &side, "W = air.wait.default([s])", end]));
    same(ACL, &before, &numbered(&[made, &kept, end]));
    refused(ACL, Question::Lifetime, &before, &numbered(&[made, &kept.replace("(a, 's1')", "(a, 's2')"), end]));
    // GE plans memory itself.
    same(GE, &before, &numbered(&[made, &side, end]));
}

#[test]
fn a_tag_must_have_been_created_once() {
    let tagged = |tag: &str| {
        let side = on("s1", &format!("{MM}\nt = air.tagged_event_record.default('{tag}')"));
        numbered(&[&side, &format!("W = air.tagged_event_wait.default('{tag}')"), NEG, ADD])
    };
    let judge = |tags: Option<&[&str]>, before: &str| {
        let tags = tags.map(|t| t.iter().map(ToString::to_string).collect());
        judge_with(X, before, &tagged("7"), &JudgeOptions { mode: ACL, tags, ..JudgeOptions::default() })
    };
    assert!(judge(Some(&["7", "8"]), &plain()).accepted);
    let told = |v: Verdict| (v.accepted, v.question, v.verdict);
    assert_eq!(told(judge(Some(&["8"]), &plain())), (false, Some(Question::Form), Finding::Refuted));
    assert_eq!(told(judge(Some(&["7", "7"]), &plain())), (false, Some(Question::Form), Finding::Refuted));
    assert_eq!(told(judge(None, &plain())), (false, Some(Question::Form), Finding::Unknown));
    // The graph as it was has it already.
    assert!(judge(None, &tagged("7")).accepted);
    refused(GE, Question::Form, &plain(), &tagged("7"));
}

#[test]
fn where_the_compilers_own_events_stand_a_side_stream_must_be_joined() {
    let side = |end: &str| on("s1", &format!("W = air.tagged_event_wait.default('g', True)\n{MM}\n{end}"));
    let start = "t = air.tagged_event_record.default('g', True)";
    let out = "return (m, n)";
    let record = "u = air.tagged_event_record.default('j', True)";
    let before = numbered(&[MM, NEG, out]);
    let joined = numbered(&[start, &side(record), NEG, "W = air.tagged_event_wait.default('j', True)", out]);
    let open = numbered(&[start, &side(record), NEG, out]);
    same(ACL, &before, &joined);
    refused(ACL, Question::Order, &before, &open);
    // Without such events the mode joins.
    same(ACL, &before, &numbered(&[&on("s1", MM), NEG, out]));
}

#[test]
fn twenty_thousand_nodes_on_two_streams_are_judged_in_a_moment() {
    use std::fmt::Write as _;
    let mut lines = String::from("v0 = aten.neg.default(x)\n");
    let mut after = lines.clone();
    for i in 0..2000 {
        let mut main = String::new();
        for k in 0..5 {
            let _ = writeln!(main, "v{i}_{k} = aten.add_.Tensor(x, {k})");
        }
        let mut side = String::new();
        for k in 0..5 {
            let _ = writeln!(side, "w{i}_{k} = aten.exp.default(x)");
        }
        lines += &format!("{main}{side}");
        let _ = write!(
            after,
            "{main}r{i} = air.record.default()\ne{i} = air.scope_enter.default(['_user_stream_label'], ['s1'])\n\
             p{i} = air.wait.default([r{i}])\n{side}q{i} = air.record.default()\nf{i} = air.scope_exit.default()\n\
             o{i} = air.wait.default([q{i}])\n"
        );
    }
    let (before, after) = (program(X, &format!("{lines}return (v0,)")), program(X, &format!("{after}return (v0,)")));
    for mode in [GE, ACL] {
        let options = JudgeOptions { mode, ..JudgeOptions::default() };
        let mut findings = crate::verify::findings::Findings::default();
        let start = std::time::Instant::now();
        super::judge_order(&before, &after, &registry(), &options, &mut findings);
        let took = start.elapsed();
        assert!(findings.problems.is_empty(), "{:#?}", findings.problems);
        assert!(took.as_secs_f64() < 5.0, "{took:?}");
        println!("{}: {took:?}", mode.name());
    }
}
