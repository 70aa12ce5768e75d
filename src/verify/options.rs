//! What the judge is told: mode, policy, and what the host says of inputs.

use crate::verify::policy::Policy;

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
    /// Who forks and joins side streams in `reduce-overhead`.
    pub closure: Closure,
    /// How much work a judgement may be.
    pub budget: Budget,
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
    /// Calls of one kind that are named.
    pub named: usize,
    /// Terms that one proof by rules looks into.
    pub region: usize,
    /// Work of one proof by rules: expressions made and compared.
    pub work: usize,
    /// Work of all of them.
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
            named: 8,
            region: 2000,
            work: 100_000,
            rules: 800_000,
            differences: 256,
        }
    }
}
