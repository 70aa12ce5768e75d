//! What the judge is told: mode, policy, and what the host says of inputs.

use std::sync::Arc;

use crate::formats::text::case::{CaseMeta, MODE};
use crate::formats::text::domain::Domain;
use crate::graph::{Graph, InputLayout};
use crate::verify::differ::{Given, Held};
use crate::verify::policy::Policy;
use crate::verify::user_rules::UserRules;

/// The NPU path for which is judged: each has its own rules of order.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// GE graphs: data edges order across streams, and control edges.
    #[default]
    MaxAutotune,
    /// Captured graphs: only events order across streams.
    ReduceOverhead,
}

impl Mode {
    /// Returns the mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "max-autotune" => Some(Mode::MaxAutotune),
            "reduce-overhead" => Some(Mode::ReduceOverhead),
            _ => None,
        }
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Mode::MaxAutotune => "max-autotune",
            Mode::ReduceOverhead => "reduce-overhead",
        }
    }
}

/// Who adds the forks and joins of side streams that `reduce-overhead` needs.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Closure {
    /// The mode, after the passes.
    #[default]
    ByMode,
    /// They are in the graph already, which must hold all of them.
    InGraph,
}

/// Options of a judgement.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JudgeOptions {
    /// The NPU path.
    pub mode: Mode,
    /// Which verdicts are taken.
    pub policy: Policy,
    /// Pairs of inputs, by name, that may be the same memory. Others never are.
    pub may_alias: Vec<(String, String)>,
    /// Tagged events that the user creates, by tag; `None` where nobody says.
    pub tags: Option<Vec<String>>,
    /// What inputs may hold, by name; others any value.
    pub domains: Vec<(String, Domain)>,
    /// Whether a rounding to a narrower dtype may be dropped, added or moved.
    pub allow_wider: bool,
    /// Whether integers behind a quantisation may be one quantum apart.
    pub integer_slack: bool,
    /// Whether the second graph may run where the first raises: a device raises nothing.
    pub may_stop_raising: bool,
    /// Inputs on which both graphs are run first.
    pub given: Option<Given>,
    /// What lifted constants hold, by the names of their placeholders. Without them nothing is run that reads one.
    pub constants: Arc<[Held]>,
    /// From which seed the values of trials are drawn.
    pub seed: u64,
    /// Whether another run is to say the same: then nothing is drawn that nobody knows, and nothing is checked.
    pub is_repeatable: bool,
    /// Who forks and joins side streams in `reduce-overhead`.
    pub closure: Closure,
    /// Rules that the user states.
    pub rules: UserRules,
    /// How much work a judgement may be.
    pub budget: Budget,
}

impl JudgeOptions {
    /// Returns how a case is judged in a mode: all that its `meta` says but the inputs that it states.
    pub fn of_case(meta: &CaseMeta, mode: Mode) -> JudgeOptions {
        let words = meta.inputs.iter().filter_map(|(n, w)| Some((n.clone(), Domain::parse(w)?)));
        let values = meta.values.iter().filter_map(|(n, v)| Some((n.clone(), Domain::from_table(v.as_table()?)?)));
        let is_applied = meta.closure.as_deref() == Some("applied");
        let domains: Vec<(String, Domain)> = words.chain(values).collect();
        let mut budget = Budget::searching();
        // Nobody knows which values an input may hold of which something is said that is not understood.
        if domains.len() < meta.inputs.len().saturating_add(meta.values.len()) {
            budget.trials = 0;
        }
        JudgeOptions {
            mode,
            budget,
            may_alias: meta.may_alias.clone(),
            tags: meta.tags.clone(),
            domains,
            allow_wider: meta.allow_wider,
            integer_slack: meta.integer_slack,
            closure: if is_applied { Closure::InGraph } else { Closure::ByMode },
            ..JudgeOptions::default()
        }
    }
}

/// Returns what a case of two graphs says in its `meta` of how they are judged; nothing of what is as usual.
pub fn stated(options: &JudgeOptions, before: &Graph) -> toml::Table {
    let mut meta = toml::Table::new();
    meta.insert(MODE.into(), options.mode.name().into());
    let mut set = |key: &str, value: toml::Value, is_usual: bool| {
        if !is_usual {
            meta.insert(key.into(), value);
        }
    };
    set("allow_wider", options.allow_wider.into(), !options.allow_wider);
    set("integer_slack", options.integer_slack.into(), !options.integer_slack);
    let pairs = options.may_alias.iter().map(|(a, b)| vec![a.clone(), b.clone()]).collect::<Vec<_>>();
    set("may_alias", pairs.into(), options.may_alias.is_empty());
    // What has no word is left out: nothing is run where a word is not understood.
    let worded = |(name, domain): &(String, Domain)| {
        let word = domain.to_string();
        (Domain::parse(&word).as_ref() == Some(domain)).then(|| (name.clone(), word.into()))
    };
    let inputs: toml::Table = options.domains.iter().filter_map(worded).collect();
    let none = inputs.is_empty();
    set("inputs", inputs.into(), none);
    set("tags", options.tags.clone().unwrap_or_default().into(), options.tags.is_none());
    set("closure", "applied".into(), options.closure == Closure::ByMode);
    if let (InputLayout::Any, Ok(word)) = (before.inputs_lie, toml::Value::try_from(before.inputs_lie)) {
        meta.insert("layout".into(), word);
    }
    meta
}

/// How much work a judgement may be; what ends it is in the verdict.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Pairs of values that are compared.
    pub pairs: usize,
    /// Calls near the edit that are tried for one that asks the same.
    pub near: usize,
    /// Calls of the whole graph that are tried for one that asks the same.
    pub candidates: usize,
    /// Calls of the other graph that are tried by rules for one that asks the same.
    pub partners: usize,
    /// Calls of one kind that are named.
    pub named: usize,
    /// Inputs on which both graphs are run to find a difference; 0: none.
    pub trials: usize,
    /// Runs that are made to show what was found on smaller inputs.
    pub shrinks: usize,
    /// Milliseconds that this may take.
    pub time_ms: u64,
    /// Bytes that the inputs of one trial may take.
    pub bytes: usize,
    /// Terms that one proof by rules looks into.
    pub region: usize,
    /// Work of one proof by rules: expressions made and compared.
    pub work: usize,
    /// Work of all of them until something is shown; eight times that in all.
    pub rules: usize,
    /// Places where graphs part that are tried by rules.
    pub differences: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            pairs: 20_000_000,
            near: 64,
            candidates: 1024,
            partners: 8,
            named: 8,
            trials: 0,
            shrinks: 0,
            time_ms: 2000,
            bytes: 1 << 26,
            region: 2000,
            work: 100_000,
            rules: 2_000_000,
            differences: 256,
        }
    }
}

impl Budget {
    /// Returns a budget in which both graphs are run where their values are not proved.
    pub fn searching() -> Budget {
        Budget { trials: 1000, ..Budget::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_states_its_options_is_judged_and_run_under_them() {
        let domains = vec![
            ("i".to_string(), Domain::Integers { lo: 0, hi: 6, distinct: false }),
            ("x".to_string(), Domain::Is(vec![1.0, 1.0])),
        ];
        let options = JudgeOptions { domains, closure: Closure::InGraph, ..JudgeOptions::default() };
        let graph = Graph { inputs_lie: InputLayout::Any, ..Graph::new() };
        let meta: CaseMeta = stated(&options, &graph).try_into().unwrap();
        let read = JudgeOptions::of_case(&meta, Mode::default());
        assert_eq!(read.domains, options.domains[..1]);
        assert!(read.budget.trials > 0, "what has no word keeps nothing from running");
        assert_eq!((read.closure, meta.layout), (options.closure, InputLayout::Any));
    }
}
