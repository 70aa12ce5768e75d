//! Findings as `.case` files, and what a run counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::program::Program;
use super::shrink::Finding;

/// Counts of a run.
#[derive(Default)]
pub struct Counts {
    pub programs: usize,
    pub malformed: usize,
    pub pairs: usize,
    pub unreadable: usize,
    pub accepted: usize,
    pub journals: usize,
    /// Runs of both sides, those without raising, and accepted pairs that never ran to their end.
    pub ran: usize,
    pub to_the_end: usize,
    pub never: usize,
    pub wrong: usize,
    /// Judged, accepted, wrong, by kind of edit.
    pub edits: BTreeMap<&'static str, [usize; 3]>,
    /// Pairs judged until the first of a class, and how many.
    pub classes: BTreeMap<String, (usize, usize)>,
    /// Why pairs were refused, by kind of edit: the reasons without their names.
    pub reasons: BTreeMap<(&'static str, String), usize>,
    /// How often an operator stands in a program.
    pub operators: BTreeMap<String, usize>,
}

impl Counts {
    /// Returns the table.
    pub fn table(&self) -> String {
        let mut s = String::new();
        let share = |a: usize, b: usize| a * 100 / b.max(1);
        let _ = writeln!(
            s,
            "{} programs ({} not well formed), {} operators; {} pairs ({} unreadable), {} with a journal; {} accepted ({} %), {} runs of both sides, {} of them to the end, {} accepted pairs never; {} wrong",
            self.programs,
            self.malformed,
            self.operators.len(),
            self.pairs,
            self.unreadable,
            self.journals,
            self.accepted,
            share(self.accepted, self.pairs),
            self.ran,
            self.to_the_end,
            self.never,
            self.wrong
        );
        for (edit, [judged, accepted, wrong]) in &self.edits {
            let _ = writeln!(
                s,
                "  {edit:26} {judged:6} judged {accepted:6} accepted ({:2} %) {wrong:4} wrong",
                share(*accepted, *judged)
            );
        }
        if std::env::var_os("AIRLOCK_FUZZ_REASONS").is_some() {
            let mut all: Vec<_> = self.reasons.iter().collect();
            all.sort_by_key(|(key, count)| (key.0, std::cmp::Reverse(**count)));
            for ((edit, reason), count) in all {
                let _ = writeln!(s, "  {edit:26} {count:6} refused: {reason}");
            }
        }
        for (class, (first, count)) in &self.classes {
            let _ = writeln!(s, "  {class:60} first after {first:7} pairs, {count:5} in all");
        }
        s
    }
}

/// Returns a reason without the names in it.
pub fn plain(reason: &str) -> String {
    reason.split('`').enumerate().map(|(k, part)| if k % 2 == 0 { part } else { "_" }).collect()
}

/// Operators of a pair, sorted.
pub fn operators(found: &Finding) -> Vec<String> {
    let all = [&found.a, &found.b];
    let nodes = all.iter().flat_map(|p| p.nodes.iter().chain(p.bodies.iter().flat_map(|b| &b.nodes)));
    let mut out: Vec<String> =
        nodes.filter(|n| n.target != "self" && n.target != "_operator.getitem").map(|n| n.op().to_string()).collect();
    out.sort();
    out.dedup();
    out
}

/// Returns a name for what a shrunk finding is about.
pub fn class(found: &Finding) -> String {
    format!("{}: {}", found.wrong.class(), operators(found).join(" "))
}

/// Returns the pair as a case.
pub fn case(a: &Program, b: &Program, name: &str, label: &str, why: &str, extra: &str) -> String {
    let alias = match a.may_alias.is_empty() {
        true => String::new(),
        false => format!(
            "may_alias = [{}]\n",
            a.may_alias.iter().map(|(x, y)| format!("[\"{x}\", \"{y}\"]")).collect::<Vec<_>>().join(", ")
        ),
    };
    let why = why.replace('\\', "/").replace('"', "'").replace('\n', " ");
    format!(
        "=== meta\nname = \"{name}\"\narea = \"fuzz\"\nmode = \"any\"\nlabel = \"{label}\"\nwhy = \"{why}\"\n{alias}{extra}=== before\n{}=== after\n{}",
        a.text(false),
        b.text(false)
    )
}
