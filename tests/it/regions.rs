//! Parts of two graphs that differ, run on their own: what is told of them, and what is shown on the graphs by them.

use airlock::formats::text::{self, ReadOptions};
use airlock::graph::Graph;
use airlock::ops::Registry;
use airlock::verify::{self, Budget, Finding, JudgeOptions, Shows, Verdict};

fn graph(text: &str) -> Graph {
    let mut graph = text::read(text, &ReadOptions::of_file("g.fx")).unwrap_or_else(|e| panic!("{}", e.render()));
    assert!(Registry::standard().check_types(&mut graph).is_empty(), "{text}");
    graph
}

fn judged(before: &str, after: &str) -> Verdict {
    let budget = Budget { shrinks: 100, time_ms: 40_000, ..Budget::searching() };
    let options = JudgeOptions { budget, ..JudgeOptions::default() };
    let (registry, [a, b]) = (Registry::standard(), [before, after].map(graph));
    let verdict = verify::judge_pair(&a, &b, &registry, &options);
    verify::settle(verdict, &a, &b, &registry, &options)
}

/// A norm of what nobody can run; `lines` stand around it.
fn behind_a_mystery(eps: &str, lines: &[&str], out: &str) -> String {
    let around: String = lines.iter().map(|l| format!("    {l}\n")).collect();
    format!(
        "def forward(self, x: \"f32[3, 4]\"):
    y: \"f32[3, 4]\" = torch.ops.mylib.mystery.default(x)
    square = torch.ops.aten.mul.Tensor(y, y)
    mean = torch.ops.aten.mean.dim(square, [-1], True)
    add = torch.ops.aten.add.Tensor(mean, {eps})
{around}    return ({out},)
"
    )
}

#[test]
fn a_difference_behind_what_nobody_can_run_is_told_and_refutes_nothing() {
    let around = &["root = torch.ops.aten.rsqrt.default(add)", "out = torch.ops.aten.mul.Tensor(y, root)"];
    let (before, after) = (behind_a_mystery("1e-06", around, "out"), behind_a_mystery("1e-03", around, "out"));
    let verdict = judged(&before, &after);
    let told = verdict.region.unwrap();
    assert!(told.starts_with("`add` and `add` of any `y` differ: "), "{told}");
    assert!(told.ends_with("; not shown on the graph"), "{told}");
    assert_eq!((verdict.verdict, verdict.accepted), (Finding::Unknown, false));
}

#[test]
fn a_difference_that_what_is_around_it_takes_back_is_not_told() {
    let square = |lines: &[&str]| behind_a_mystery("0.0", lines, "out");
    let before = square(&["root = torch.ops.aten.neg.default(mean)", "out = torch.ops.aten.cos.default(root)"]);
    let after = square(&["root = torch.ops.aten.abs.default(mean)", "out = torch.ops.aten.cos.default(root)"]);
    let verdict = judged(&before, &after);
    assert_ne!(verdict.verdict, Finding::Refuted);
    assert_eq!(verdict.region, None);
}

/// A narrow range that three products of matrices must hit, with weights that belong to the model.
fn behind_weights(last: &str) -> String {
    let inputs = ["u", "v", "w"];
    let typed: String = inputs.iter().map(|i| format!("{i}: \"f32[4, 4]\", ")).collect();
    let specs: String = inputs.iter().map(|i| format!("    {i}: PARAMETER target='{i}'\n")).collect();
    format!(
        "ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, {typed}x: \"f32[3, 4]\"):
            one = torch.ops.aten.mm.default(x, u)
            two = torch.ops.aten.mm.default(one, v)
            three = torch.ops.aten.mm.default(two, w)
            hit = torch.ops.aten.gt.Scalar(three, {last})
            return (hit,)

Graph signature:
    # inputs
{specs}    x: USER_INPUT

    # outputs
    hit: USER_OUTPUT

Range constraints: {{}}
"
    )
}

#[test]
fn what_shows_on_a_part_is_shown_on_the_graph_by_weights_that_pass_it_on() {
    let verdict = judged(&behind_weights("9e-31"), &behind_weights("1.1e-30"));
    assert_eq!(verdict.verdict, Finding::Refuted, "{verdict:?}");
    let witness = verdict.witness.unwrap();
    assert_eq!((witness.shows, witness.regime.as_str()), (Shows::Value, "Transparent(1)"));
}
