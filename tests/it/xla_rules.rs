//! The rules of XLA's algebraic simplifier that TensorRight lists, stated in operators of ATen: what is true of each in floats, and what the judge says.
//!
//! `docs/xla-rules.md` is the table; `AIRLOCK_UPDATE=1` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::common::committed;
use airlock::formats::text::{self, ReadOptions};
use airlock::graph::Graph;
use airlock::ops::Registry;
use airlock::verify::{Budget, Finding, JudgeOptions, Level, Policy, judge_pair};

/// What is true of a rule.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Truth {
    /// The same bits.
    Exact,
    /// The same but for rounding.
    Real,
    /// Some inputs of the domain tell both sides apart.
    Different,
}

struct Rule {
    family: &'static str,
    name: &'static str,
    truth: Truth,
    inputs: &'static str,
    before: &'static str,
    after: &'static str,
}

const fn rule(
    family: &'static str,
    name: &'static str,
    truth: Truth,
    inputs: &'static str,
    before: &'static str,
    after: &'static str,
) -> Rule {
    Rule { family, name, truth, inputs, before, after }
}

include!("xla_rules/rules.rs");

fn program(inputs: &str, lines: &str, registry: &Registry) -> Graph {
    let inputs: Vec<String> = inputs
        .split(';')
        .map(|i| i.split_once(':').map(|(n, t)| format!("{}: \"{}\"", n.trim(), t.trim())).unwrap())
        .collect();
    let body: Vec<String> =
        lines.split(" | ").map(|l| format!("        {}", l.trim().replace("aten.", "torch.ops.aten."))).collect();
    let (inputs, body) = (inputs.join(", "), body.join("\n"));
    let text = format!("class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}\n");
    let mut graph = text::read(&text, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
    assert!(registry.check_types(&mut graph).is_empty(), "{text}");
    graph
}

#[test]
fn the_table_of_xla_s_rules_is_what_the_judge_says_of_them() {
    let registry = Registry::standard();
    let budget = Budget { time_ms: 60_000, shrinks: 0, ..Budget::searching() };
    let options = JudgeOptions { policy: Policy::Default, budget, ..JudgeOptions::default() };
    let (mut lines, mut counts) = (String::new(), BTreeMap::<&str, usize>::new());
    for rule in RULES {
        let (before, after) =
            (program(rule.inputs, rule.before, &registry), program(rule.inputs, rule.after, &registry));
        let verdict = judge_pair(&before, &after, &registry, &options);
        assert!(!verdict.accepted || rule.truth != Truth::Different, "{}: accepted", rule.name);
        assert!(verdict.level != Some(Level::Exact) || rule.truth == Truth::Exact, "{}: shown bit by bit", rule.name);
        let truth = match rule.truth {
            Truth::Exact => "exact",
            Truth::Real => "real",
            Truth::Different => "different",
        };
        let said = match (verdict.verdict, verdict.level) {
            (Finding::Proved, Some(Level::Exact)) => "proved exact",
            (Finding::Proved, Some(Level::Real)) if verdict.accepted => "proved real",
            (Finding::Refuted, _) => "refuted",
            _ => "unknown",
        };
        let key = if rule.truth == Truth::Different && !verdict.accepted { "refused rightly" } else { said };
        *counts.entry(key).or_default() += 1;
        writeln!(lines, "| {} | `{}` | {truth} | {said} |", rule.family, rule.name).unwrap();
    }
    let count = |key: &str| counts.get(key).copied().unwrap_or(0);
    let page = format!(
        "# XLA's simplifier\n\nThe rules of XLA's algebraic simplifier that TensorRight lists (`rules/xla`), each stated as a pair of programs of ATen \
         operators at sizes that are numbers (`tests/it/xla_rules/rules.rs`), on float32 where a rule is of any dtype. *True* is what holds in floats: \
         the same bits, the same but for rounding, or different for some inputs (NaN, an overflow, a product that wraps around). This page is made by \
         a test (`AIRLOCK_UPDATE=1 cargo test --test it xla_rules`).\n\n\
         Of {} rules stated {} are proved exact, {} are proved over the reals with a bound of their rounding, {} differ and are refused, and {} are true \
         and not accepted. Where a place comes from data, an index that is looked up stands for it; what XLA clamps raises here. No operator pads within (one rule of `pad`). TensorRight states 121 of XLA's 175 rules and proves 115, over the reals alone and for every rank and size.\n\n\
         | family | rule | true | said |\n|---|---|---|---|\n{lines}",
        RULES.len(),
        count("proved exact"),
        count("proved real"),
        count("refused rightly"),
        count("unknown") + count("refuted"),
    );
    committed::hold("docs/xla-rules.md", page);
}
