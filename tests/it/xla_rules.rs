//! The rules of XLA's algebraic simplifier that TensorRight lists, stated in operators of ATen: what is true of each in floats, and what the judge says.
//!
//! `docs/xla-rules.md` is the table; `AIRLOCK_UPDATE=1` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::common::committed;
use crate::common::written::program;
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

/// Family, name, what is true; inputs, then the lines of both programs.
type Rule = (&'static str, &'static str, Truth, &'static str, &'static str, &'static str);

include!("xla_rules/rules.rs");

#[test]
fn the_table_of_xla_s_rules_is_what_the_judge_says_of_them() {
    let registry = Registry::standard();
    let budget = Budget { time_ms: 60_000, shrinks: 0, ..Budget::searching() };
    let options = JudgeOptions { policy: Policy::Default, budget, ..JudgeOptions::default() };
    let (mut lines, mut counts) = (String::new(), BTreeMap::<&str, usize>::new());
    for (family, name, truth, inputs, before, after) in RULES {
        let (before, after) = (program(inputs, before, &registry), program(inputs, after, &registry));
        let verdict = judge_pair(&before, &after, &registry, &options);
        let differs = *truth == Truth::Different;
        assert!(!verdict.accepted || !differs, "{name}: accepted");
        assert!(verdict.verdict != Finding::Refuted || differs, "{name}: refuted");
        assert!(verdict.level != Some(Level::Exact) || *truth == Truth::Exact, "{name}: shown bit by bit");
        let truth = match truth {
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
        let key = if differs { "refused rightly" } else { said };
        *counts.entry(key).or_default() += 1;
        writeln!(lines, "| {family} | `{name}` | {truth} | {said} |").unwrap();
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
        count("unknown"),
    );
    committed::hold("docs/xla-rules.md", page);
}
