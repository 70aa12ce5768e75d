//! What running both graphs shows: each kind of difference with the twin that must not be refuted.

use airlock::formats::text::{self, ReadOptions, case};
use airlock::graph::{Graph, InputLayout};
use airlock::ops::Registry;
use airlock::verify::{self, Budget, Domain, Finding, JudgeOptions, Shows, Stop, Tried, Values, Verdict};

fn graph(inputs: &str, lines: &[&str], out: &str) -> Graph {
    lying(InputLayout::Contiguous, inputs, lines, out)
}

fn lying(inputs_lie: InputLayout, inputs: &str, lines: &[&str], out: &str) -> Graph {
    let body: String = lines.iter().map(|l| format!("        {l}\n")).collect();
    let text = format!("class M(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}        return ({out},)\n");
    let mut graph = text::read(&text, &ReadOptions { inputs_lie, ..ReadOptions::of_file("g.fx") })
        .unwrap_or_else(|e| panic!("{}", e.render()));
    assert!(Registry::standard().check_types(&mut graph).is_empty(), "{text}");
    graph
}

fn options() -> JudgeOptions {
    JudgeOptions { budget: Budget { shrinks: 200, time_ms: 60_000, ..Budget::searching() }, ..JudgeOptions::default() }
}

fn tried(inputs: &str, before: (&[&str], &str), after: (&[&str], &str), options: &JudgeOptions) -> Tried {
    let registry = Registry::standard();
    let (a, b) = (graph(inputs, before.0, before.1), graph(inputs, after.0, after.1));
    verify::refute(&a, &b, &registry, options)
}

/// What the first change shows, and that the second one shows nothing.
fn shows(inputs: &str, before: (&[&str], &str), wrong: (&[&str], &str), twin: (&[&str], &str)) -> Shows {
    let same = tried(inputs, before, twin, &options());
    assert!(same.witness.is_none(), "{:?}", same.witness);
    assert!(same.ran > 20, "{same:?}");
    let found = tried(inputs, before, wrong, &options());
    found.witness.unwrap_or_else(|| panic!("{:?}", (found.ran, found.obstacle))).shows
}

const X: &str = "x: \"f32[4, 6]\"";

#[test]
fn another_eps_is_another_function_and_another_order_of_operands_is_not() {
    let norm = |eps: &str, swapped: bool| {
        let args = if swapped { "rsqrt, x" } else { "x, rsqrt" };
        vec![
            "square = torch.ops.aten.mul.Tensor(x, x)".to_string(),
            "mean = torch.ops.aten.mean.dim(square, [-1], True)".to_string(),
            format!("add = torch.ops.aten.add.Tensor(mean, {eps})"),
            "rsqrt = torch.ops.aten.rsqrt.default(add)".to_string(),
            format!("out = torch.ops.aten.mul.Tensor({args})"),
        ]
    };
    let (a, b, c) = (norm("1e-06", false), norm("1e-05", false), norm("1e-06", true));
    let lines = |v: &[String]| v.iter().map(|s| s.to_string()).collect::<Vec<_>>();
    let (a, b, c) = (lines(&a), lines(&b), lines(&c));
    let of = |v: &'static [String]| v.iter().map(String::as_str).collect::<Vec<&'static str>>();
    let (a, b, c) = (of(a.leak()), of(b.leak()), of(c.leak()));
    assert_eq!(shows(X, (&a, "out"), (&b, "out"), (&c, "out")), Shows::Value);
}

#[test]
fn a_variance_by_moments_is_the_same_function_computed_far_worse() {
    let plain = &["out = torch.ops.aten.var.correction(x, [-1], correction = 0)"];
    let moments = &[
        "square = torch.ops.aten.mul.Tensor(x, x)",
        "mean = torch.ops.aten.mean.dim(square, [-1])",
        "one = torch.ops.aten.mean.dim(x, [-1])",
        "other = torch.ops.aten.mul.Tensor(one, one)",
        "out = torch.ops.aten.sub.Tensor(mean, other)",
    ];
    let centred = &[
        "one = torch.ops.aten.mean.dim(x, [-1], True)",
        "less = torch.ops.aten.sub.Tensor(x, one)",
        "square = torch.ops.aten.mul.Tensor(less, less)",
        "out = torch.ops.aten.mean.dim(square, [-1])",
    ];
    assert_eq!(shows(X, (plain, "out"), (moments, "out"), (centred, "out")), Shows::Precision);
}

#[test]
fn a_rounding_that_is_dropped_shows_and_one_that_loses_nothing_does_not() {
    let narrow = &[
        "half = torch.ops.aten._to_copy.default(x, dtype = torch.float16)",
        "full = torch.ops.aten._to_copy.default(half, dtype = torch.float32)",
        "out = torch.ops.aten.mul.Tensor(full, 2.0)",
    ];
    let kept = &[
        "half = torch.ops.aten._to_copy.default(x, dtype = torch.float16)",
        "full = torch.ops.aten._to_copy.default(half, dtype = torch.float32)",
        "out = torch.ops.aten.add.Tensor(full, full)",
    ];
    let dropped = &["out = torch.ops.aten.mul.Tensor(x, 2.0)"];
    assert_eq!(shows(X, (narrow, "out"), (dropped, "out"), (kept, "out")), Shows::Step);
    let wider = JudgeOptions { allow_wider: true, ..options() };
    assert!(tried(X, (narrow, "out"), (dropped, "out"), &wider).witness.is_none());
}

#[test]
fn ties_tell_rounding_from_flooring_and_a_step_that_stays_is_not_told_by_a_unit() {
    let round = &["out = torch.ops.aten.round.default(x)"];
    let floor = &["add = torch.ops.aten.add.Tensor(x, 0.5)", "out = torch.ops.aten.floor.default(add)"];
    let twice = &[
        "neg = torch.ops.aten.neg.default(x)",
        "less = torch.ops.aten.neg.default(neg)",
        "out = torch.ops.aten.round.default(less)",
    ];
    assert_eq!(shows(X, (round, "out"), (floor, "out"), (twice, "out")), Shows::Value);
    // Rounding in front of a step may lift it to the neighbour: that is within `real`.
    let scaled = &["div = torch.ops.aten.div.Tensor(x, 10.0)", "out = torch.ops.aten.round.default(div)"];
    let times = &["mul = torch.ops.aten.mul.Tensor(x, 0.1)", "out = torch.ops.aten.round.default(mul)"];
    assert!(tried(X, (scaled, "out"), (times, "out"), &options()).witness.is_none());
}

#[test]
fn integers_differ_by_a_wrap_around_and_not_by_a_shift() {
    let inputs = "x: \"i8[4, 6]\"";
    let halved = &[
        "two = torch.ops.aten.mul.Tensor(x, 2)",
        "out = torch.ops.aten.div.Tensor_mode(two, 2, rounding_mode = 'floor')",
    ];
    let plain = &["out = torch.ops.aten.clone.default(x)"];
    let doubled = &[
        "two = torch.ops.aten.add.Tensor(x, x)",
        "out = torch.ops.aten.div.Tensor_mode(two, 2, rounding_mode = 'floor')",
    ];
    assert_eq!(shows(inputs, (halved, "out"), (plain, "out"), (doubled, "out")), Shows::Value);
    // Where the host says that nothing wraps, nothing shows.
    let domain = Domain::Integers { lo: -60, hi: 60, distinct: false };
    let narrow = JudgeOptions { domains: vec![("x".into(), domain)], ..options() };
    assert!(tried(inputs, (halved, "out"), (plain, "out"), &narrow).witness.is_none());
}

#[test]
fn a_hidden_nan_shows_and_one_that_appears_does_not() {
    let inputs = "x: \"f32[4, 6]\", y: \"f32[4, 6]\"";
    let keeps = &["out = torch.ops.aten.relu.default(x)"];
    let hides = &[
        "gt = torch.ops.aten.gt.Scalar(x, 0)",
        "zeros = torch.ops.aten.zeros_like.default(x)",
        "out = torch.ops.aten.where.self(gt, x, zeros)",
    ];
    let more = &[
        "add = torch.ops.aten.add.Tensor(x, y)",
        "sub = torch.ops.aten.sub.Tensor(add, y)",
        "out = torch.ops.aten.relu.default(x)",
    ];
    assert_eq!(shows(inputs, (keeps, "out"), (hides, "out"), (more, "out")), Shows::HiddenNan);
    let other = tried(inputs, (hides, "out"), (keeps, "out"), &options());
    assert!(other.witness.is_none(), "{:?}", other.witness);
}

#[test]
fn what_divides_zero_by_zero_is_not_one() {
    let before = &["out = torch.ops.aten.div.Tensor(x, x)"];
    let after = &["out = torch.ops.aten.ones_like.default(x)"];
    let twin = &["copy = torch.ops.aten.clone.default(x)", "out = torch.ops.aten.div.Tensor(x, copy)"];
    assert_eq!(shows(X, (before, "out"), (after, "out"), (twin, "out")), Shows::Definedness);
}

#[test]
fn an_output_that_shares_an_input_s_memory_on_one_side_only_shows() {
    let copy = &["out = torch.ops.aten.clone.default(x)"];
    let view = &["out = torch.ops.aten.view.default(x, [4, 6])"];
    let twin = &["again = torch.ops.aten.clone.default(x)", "out = torch.ops.aten.view.default(again, [4, 6])"];
    assert_eq!(shows(X, (copy, "out"), (view, "out"), (twin, "out")), Shows::Sharing);
}

#[test]
fn a_write_that_is_dropped_shows_in_the_input_s_final_content() {
    let writes = &["add_ = torch.ops.aten.add_.Tensor(x, 1.0)", "out = torch.ops.aten.mul.Tensor(x, 2.0)"];
    let dropped = &["add = torch.ops.aten.add.Tensor(x, 1.0)", "out = torch.ops.aten.mul.Tensor(add, 2.0)"];
    let copied = &[
        "add = torch.ops.aten.add.Tensor(x, 1.0)",
        "copy_ = torch.ops.aten.copy_.default(x, add)",
        "out = torch.ops.aten.mul.Tensor(add, 2.0)",
    ];
    assert_eq!(shows(X, (writes, "out"), (dropped, "out"), (copied, "out")), Shows::Value);
}

#[test]
fn a_slice_bound_that_only_large_sizes_meet_is_found() {
    let inputs = "x: \"f32[s0, 2]\"";
    let whole = &["out: \"f32[s0, 2]\" = torch.ops.aten.clone.default(x)"];
    let text = |lines: &[&str], constraint: &str| {
        let body: String = lines.iter().map(|l| format!("            {l}\n")).collect();
        format!(
            "ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        def forward(self, {inputs}):\n{body}            return (out,)\n\nGraph signature:\n    # inputs\n    x: USER_INPUT\n\n    # outputs\n    out: USER_OUTPUT\n\nRange constraints: {{{constraint}}}\n"
        )
    };
    let sliced = ["slice_1 = torch.ops.aten.slice.Tensor(x, 0, 0, 97)", "out = torch.ops.aten.clone.default(slice_1)"];
    let read = |t: String| text::read(&t, &ReadOptions::of_file("g.fx")).unwrap_or_else(|e| panic!("{}", e.render()));
    let registry = Registry::standard();
    let refuted = |range: &str| {
        let (mut a, mut b) = (read(text(whole, range)), read(text(&sliced, range)));
        registry.check_types(&mut a);
        registry.check_types(&mut b);
        verify::refute(&a, &b, &registry, &options()).witness
    };
    let witness = refuted("s0: VR[2, int_oo]").expect("a size beyond the bound");
    assert_eq!((witness.shows, witness.sizes), (Shows::Shape, vec![("s0".to_string(), 98)]));
    assert!(refuted("s0: VR[2, 97]").is_none());
}

fn verdict(case: &case::Case) -> Verdict {
    let registry = Registry::standard();
    let mut options = JudgeOptions::of_case(&case.meta, verify::Mode::default());
    options.given = verify::given(&case.meta, None).unwrap();
    options.budget.shrinks = 200;
    verify::judge_pair(&case.before, &case.after, &registry, &options)
}

const CASE: &str = "=== meta\nlabel = \"different\"\n=== before\nclass M(torch.nn.Module):\n    def forward(self, x: \"f32[3]\", y: \"f32[3]\"):\n        sub: \"f32[3]\" = torch.ops.aten.sub.Tensor(x, y)\n        return (sub,)\n=== after\nclass M(torch.nn.Module):\n    def forward(self, x: \"f32[3]\", y: \"f32[3]\"):\n        sub: \"f32[3]\" = torch.ops.aten.sub.Tensor(y, x)\n        return (sub,)\n";

fn read_case(text: &str) -> case::Case {
    case::read(text, &ReadOptions::of_file("c.case")).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_counterexample_that_was_written_shows_the_same_when_it_is_judged() {
    let case = read_case(CASE);
    let first = verdict(&case);
    assert_eq!((first.verdict, first.accepted), (Finding::Refuted, false));
    let witness = first.witness.unwrap();
    let ordinary: usize = witness
        .inputs
        .iter()
        .map(|h| match &h.values {
            Values::Floats(all) => all.iter().filter(|v| ![0.0, 1.0].contains(*v)).count(),
            Values::Whole(_) => 0,
        })
        .sum();
    assert_eq!(ordinary, 0, "shrunk: {:?}", witness.inputs);
    let written =
        verify::write_counterexample((&case.before, &case.after), &witness, &JudgeOptions::default(), "c", "");
    assert!(written.beside.is_none());
    assert!(written.script.unwrap().contains("torch.ops.aten.sub.Tensor(y, x)"));
    let again = verdict(&read_case(&written.case)).witness.unwrap();
    let seen = |w: &verify::Witness| (w.shows, w.output.clone(), w.element.clone(), w.before.clone(), w.after.clone());
    assert_eq!((again.regime.as_str(), seen(&again)), ("Given", seen(&witness)));
    assert_eq!(again.inputs, witness.inputs);
}

#[test]
fn without_trials_nothing_is_run_and_what_ended_the_search_is_said() {
    let case = read_case(CASE);
    let registry = Registry::standard();
    let judged = |trials: usize| {
        let budget = Budget { trials, ..Budget::default() };
        verify::judge_pair(&case.before, &case.before, &registry, &JudgeOptions { budget, ..JudgeOptions::default() })
    };
    assert!(judged(1000).accepted && judged(1000).tried.is_none());
    let none = verify::judge_pair(&case.before, &case.after, &registry, &JudgeOptions::default());
    assert_eq!((none.verdict, none.tried), (Finding::Unknown, None));
    let two = &["neg = torch.ops.aten.neg.default(x)", "out = torch.ops.aten.neg.default(neg)"];
    let one = &["out = torch.ops.aten.clone.default(x)"];
    let few = JudgeOptions { budget: Budget { trials: 5, ..Budget::searching() }, ..JudgeOptions::default() };
    let ended = tried(X, (two, "out"), (one, "out"), &few);
    assert_eq!((ended.witness, ended.ran, ended.stopped), (None, 5, Some(Stop::Trials)));
}

#[test]
fn a_difference_in_a_large_graph_is_shown_on_a_small_one() {
    let registry = Registry::standard();
    let chain = |eps: &str| {
        let mut lines = vec!["n0 = torch.ops.aten.abs.default(x)".to_string()];
        for i in 1..60 {
            let call = match i {
                30 => format!("torch.ops.aten.add.Tensor(n{}, {eps})", i - 1),
                _ => format!("torch.ops.aten.{}.default(n{})", ["sigmoid", "cos", "exp"][i % 3], i - 1),
            };
            lines.push(format!("n{i} = {call}"));
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        graph(X, &lines, "n33, n10")
    };
    let (a, b) = (chain("1.0"), chain("1.5"));
    let options = options();
    let shown = verify::refute(&a, &b, &registry, &options).witness.unwrap();
    let soon = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let small = verify::illustrate((&a, &b), shown.shows, &registry, &options, soon).unwrap();
    assert!(small.before.len() <= 4 && small.after.len() <= 4, "{}", text::write(&small.before));
    assert_eq!(small.stand_ins, ["n29"]);
    let plain = |h: &verify::Held| match &h.values {
        Values::Floats(all) => all.iter().filter(|v| **v != 0.0 && **v != 1.0).count(),
        Values::Whole(all) => all.iter().filter(|v| **v > 1 || **v < 0).count(),
    };
    assert!(small.witness.inputs.iter().all(|h| plain(h) <= 8), "{:?}", small.witness.inputs);
    // Both graphs as they are show nothing smaller than themselves.
    assert!(verify::illustrate((&small.before, &small.after), shown.shows, &registry, &options, soon).is_none());
    // Equal graphs show nothing.
    assert!(verify::illustrate((&a, &a), shown.shows, &registry, &options, soon).is_none());
}

#[test]
fn a_picture_has_the_values_of_both_graphs_and_marks_where_they_part() {
    let x = "x: \"f32[2, 8]\"";
    let before = graph(x, &["s = torch.ops.aten.sum.dim_IntList(x, [1])", "y = torch.ops.aten.neg.default(s)"], "y");
    let near = graph(x, &["s = torch.ops.aten.sum.dim_IntList(x, [1])", "y = torch.ops.aten.abs.default(s)"], "y");
    let tried = verify::refute(&before, &near, &Registry::standard(), &options());
    let witness = tried.witness.expect("a sum below zero");
    let traced = verify::trace((&before, &near), &witness, &Registry::standard(), &options()).expect("inputs of both");
    let marks = |nodes: &[verify::TracedNode]| nodes.iter().map(|n| (n.name.clone(), n.differs)).collect::<Vec<_>>();
    let expected = [("x", false), ("s", false), ("y", true), ("output", false)].map(|(n, d)| (n.to_string(), d));
    assert_eq!((marks(&traced.before), marks(&traced.after)), (expected.to_vec(), expected.to_vec()));
    assert_eq!(traced.before[2].operands, [1]);
    let negated = |text: &str| text.replace('-', "");
    let (a, b) = (traced.before[2].value.as_deref().unwrap(), traced.after[2].value.as_deref().unwrap());
    assert_eq!(negated(a), negated(b), "the same but for signs");
    let page = airlock::report::side_by_side("near.fx", "<script>", "whole", &witness, &traced);
    assert!(page.contains(a) && page.contains(b) && !page.contains("<script"));
}

#[test]
fn a_conversion_to_the_dtype_that_is_there_is_its_operand_in_a_wide_run_too() {
    // Both leave x + 1 in x; a copy would leave x as it was.
    let converted = &["t = torch.ops.aten.to.dtype(x, torch.float32)", "out = torch.ops.aten.add_.Tensor(t, 1)"];
    let plain = &["out = torch.ops.aten.add_.Tensor(x, 1)"];
    let copied = &["t = torch.ops.aten._to_copy.default(x)", "out = torch.ops.aten.add_.Tensor(t, 1)"];
    assert_eq!(shows(X, (converted, "out"), (copied, "out"), (plain, "out")), Shows::Value);
}

#[test]
fn where_integers_are_indices_those_that_both_graphs_take_are_tried() {
    // The rows differ only in a place that large values show, and only small indices are rows.
    let inputs = "w: \"f32[5, 4]\", ids: \"i64[3]\"";
    let read = "e = torch.ops.aten.embedding.default(w, ids)";
    let before = &[read, "out = torch.ops.aten.clamp.default(e, -500.0, 500.0)"];
    let wrong = &[read, "out = torch.ops.aten.clamp.default(e, -501.0, 501.0)"];
    let same = &[
        read,
        "low = torch.ops.aten.clamp.default(e, -500.0)",
        "out = torch.ops.aten.clamp.default(low, None, 500.0)",
    ];
    assert_eq!(shows(inputs, (before, "out"), (wrong, "out"), (same, "out")), Shows::Value);
}

/// What shows that two programs differ, where nothing is known of how inputs lie, and where they lie row by row.
fn shows_by_layout(inputs: &str, before: (&[&str], &str), after: (&[&str], &str)) -> (Option<Shows>, Option<Shows>) {
    let registry = Registry::standard();
    let run = |layout: InputLayout| {
        let [a, b] = [before, after].map(|(lines, out)| lying(layout, inputs, lines, out));
        let tried = verify::refute(&a, &b, &registry, &options());
        assert!(tried.ran > 20 || tried.witness.is_some(), "{tried:?}");
        tried.witness.map(|w| w.shows)
    };
    (run(InputLayout::Any), run(InputLayout::Contiguous))
}

#[test]
fn a_copy_that_only_some_layouts_need_is_missed_where_inputs_lie_anyhow() {
    let copied = &["out = torch.ops.aten.contiguous.default(x)"];
    assert_eq!(shows_by_layout(X, (copied, "out"), (&[], "x")), (Some(Shows::Sharing), None));
    let again = &["one = torch.ops.aten.contiguous.default(x)", "out = torch.ops.aten.contiguous.default(one)"];
    assert_eq!(shows_by_layout(X, (copied, "out"), (again, "out")), (None, None));
}

#[test]
fn a_view_that_only_some_layouts_have_raises_where_inputs_lie_anyhow() {
    let sum = "out = torch.ops.aten.sum.dim_IntList(flat, [0])";
    let reshaped = &["flat = torch.ops.aten.reshape.default(x, [24])", sum];
    let viewed = &["flat = torch.ops.aten.view.default(x, [24])", sum];
    assert_eq!(shows_by_layout(X, (reshaped, "out"), (viewed, "out")), (Some(Shows::Raises), None));
    // That the view of the graph before exists is taken for granted.
    assert_eq!(shows_by_layout(X, (viewed, "out"), (reshaped, "out")), (None, None));
}

#[test]
fn the_script_of_a_witness_has_its_inputs_as_they_lie() {
    let registry = Registry::standard();
    let copied = &["out = torch.ops.aten.contiguous.default(x)"];
    let [a, b] = [(&copied[..], "out"), (&[][..], "x")]
        .map(|(lines, out)| lying(InputLayout::Any, "x: \"f32[2, 2]\"", lines, out));
    let witness = verify::refute(&a, &b, &registry, &options()).witness.unwrap();
    let written = verify::write_counterexample((&a, &b), &witness, &options(), "w", "");
    assert!(written.script.unwrap().contains(".as_strided([2, 2], [1, 2])"));
    let read = case::read(&written.case, &ReadOptions::of_file("w.case")).unwrap();
    let given = verify::given(&read.meta, None).unwrap().unwrap();
    assert_eq!(given.inputs.first().and_then(|h| h.strides.clone()), Some(vec![1, 2]));
}
