//! Verdicts: what the judge says, and what it rests on.
//!
//! Promises: a verdict is a value, never an error; its JSON fields are fixed (`docs/json.md`). `accepted` is the policy's.

use serde::Serialize;

use crate::certificate::Evidence;
use crate::verify::differ::Witness;

/// What is known of "the same meaning".
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// It holds for all inputs and all sizes.
    Proved,
    /// Not proved; random evaluation with a bounded chance of a false accept says equal.
    Checked,
    /// It does not hold: the reason says where.
    Refuted,
    /// Neither was shown.
    Unknown,
}

pub use crate::rules::Level;

/// The five questions of "the same meaning".
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Question {
    Form,
    Values,
    Effects,
    Order,
    Lifetime,
}

impl Question {
    /// Every question: each must be answered.
    pub const ALL: [Question; 5] =
        [Question::Form, Question::Values, Question::Effects, Question::Order, Question::Lifetime];

    /// Returns the word that verdicts print.
    pub fn name(self) -> &'static str {
        match self {
            Question::Form => "form",
            Question::Values => "values",
            Question::Effects => "effects",
            Question::Order => "order",
            Question::Lifetime => "lifetime",
        }
    }
}

/// What a verdict rests on beyond the registry.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Assumption {
    /// Something about the device: that a fused operator computes what its definition says.
    Device(String),
    /// What an input holds, as the host says.
    Holds(String, String),
    /// Inputs of which nobody states strides lie row by row.
    Contiguous,
    /// Inputs begin where their memory begins: a call states how far from there it reads.
    Begin,
    /// Inputs are memory of their own, though one is written.
    Disjoint,
    /// Nodes of one stream run in list order.
    StreamOrder,
    /// A node whose elements lie in the working range.
    Range(String),
    /// What rounding does downstream of a node was sampled, not bounded.
    Sampled(String),
    /// A rule that the user states: its name, and on how many inputs it was run where there is no proof of it.
    Rule {
        /// Its name.
        name: String,
        /// On how many inputs it was run; `None` where it is proved.
        inputs: Option<usize>,
    },
    /// A hazard that the graph as it was has itself: reported, not charged.
    OwnHazard(String),
}

impl Assumption {
    /// Returns the assumption in words.
    pub fn text(&self) -> String {
        match self {
            Assumption::Device(text) => text.clone(),
            Assumption::Holds(input, values) => format!("`{input}` holds {values}"),
            Assumption::Contiguous => {
                "inputs without stated strides are contiguous (`inputs.layout = \"any\"` does not assume it)".into()
            }
            Assumption::Begin => "inputs begin where their memory begins: a call states an offset in it".into(),
            Assumption::Disjoint => "no inputs but those of `inputs.may_alias` share memory; one is written".into(),
            Assumption::StreamOrder => {
                "nodes of one stream run in list order (GE's topological order StableRDFS keeps it)".into()
            }
            Assumption::Range(node) => format!("|{node}| <= 2^10 (2^5 beside f16): what it holds is no input"),
            Assumption::Sampled(node) => format!("rounding downstream of `{node}` is sampled, not bounded"),
            Assumption::Rule { name, inputs: None } => format!("the rule `{name}`, which is proved"),
            Assumption::Rule { name, inputs: Some(inputs) } => {
                format!("the rule `{name}`, of which there is no proof: {inputs} runs do not contradict it")
            }
            Assumption::OwnHazard(text) => format!("the graph as it was has it too: {text}"),
        }
    }

    /// Returns whether it is about what the device computes.
    pub fn is_device(&self) -> bool {
        matches!(self, Assumption::Device(_))
    }

    /// Returns whether it is a rule of which there is no proof.
    pub fn is_unproved(&self) -> bool {
        matches!(self, Assumption::Rule { inputs: Some(_), .. })
    }
}

impl Serialize for Assumption {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.text())
    }
}

/// The two nodes at which the graphs part, as they print; empty where one side has none.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SideBySide {
    /// The node of the graph as it was.
    pub before: String,
    /// The node of the graph as it is.
    pub after: String,
}

/// The answer to one question.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Answer {
    /// Which question.
    pub question: Question,
    /// What was found.
    pub finding: Finding,
    /// How equal, where that was shown.
    pub level: Option<Level>,
    /// What it rests on, where it was shown.
    pub evidence: Option<Evidence>,
    /// Every reason why it was not, up to a limit.
    pub reasons: Vec<String>,
}

/// What ended the judge's work before it was through.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The budget of comparisons ran out.
    Pairs,
    /// The budget of trials ran out.
    Trials,
    /// The time for trials ran out.
    Time,
    /// Inputs of some sizes would have taken more bytes than the budget has.
    Bytes,
    /// The work of proofs by rules ran out.
    Work,
    /// The user's rules made more things equal than their budget has.
    Rules,
}

/// What the judge says.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// The worst of the five answers.
    pub verdict: Finding,
    /// How equal values are, where they were shown to be.
    pub level: Option<Level>,
    /// Whether the policy takes it.
    pub accepted: bool,
    /// What failed or stayed open.
    pub question: Option<Question>,
    /// Every question that failed or stayed open.
    pub open: Vec<Question>,
    /// What it rests on.
    pub assumes: Vec<Assumption>,
    /// Whether discrete steps may fall to a neighbouring value.
    pub quantum: bool,
    /// The bound on a false accept, as a power of two.
    pub bound_log2: Option<f64>,
    /// Why, in words.
    pub reason: String,
    /// The nodes that the reason is about.
    pub nodes: Vec<String>,
    /// A file that shows the difference.
    pub counterexample: Option<String>,
    /// How long judging took.
    pub ms: f64,
    /// Where the graphs part.
    pub differing: Option<SideBySide>,
    /// How many terms were built: the work that the edit caused.
    pub terms: usize,
    /// One answer a question.
    pub answers: Vec<Answer>,
    /// What ended the work early.
    pub stopped: Option<Stop>,
    /// Inputs that show the difference.
    pub witness: Option<Witness>,
    /// How many trials ran and showed none.
    pub tried: Option<usize>,
    /// What kept trials from running.
    pub obstacle: Option<String>,
    /// What differs where values that both graphs have are free, and is not shown on the graphs.
    pub region: Option<String>,
    /// Which outputs lie in memory in other strides than before: judged by the strict policy alone.
    pub strides: Vec<String>,
    /// Whether all that stands against it is that an output is rounded farther on the inputs of its seed.
    #[serde(skip)]
    pub rounds_farther: bool,
}

impl Verdict {
    /// Returns the verdict that nothing changed for the caller.
    pub fn proved_exact(assumes: Vec<Assumption>) -> Self {
        Verdict {
            verdict: Finding::Proved,
            level: Some(Level::Exact),
            accepted: false,
            question: None,
            open: Vec::new(),
            assumes,
            quantum: false,
            bound_log2: None,
            reason: String::new(),
            nodes: Vec::new(),
            counterexample: None,
            ms: 0.0,
            differing: None,
            terms: 0,
            answers: Vec::new(),
            stopped: None,
            witness: None,
            tried: None,
            obstacle: None,
            region: None,
            strides: Vec::new(),
            rounds_farther: false,
        }
    }

    /// Returns a verdict that refuses.
    pub fn refusal(finding: Finding, question: Question, reason: String, nodes: Vec<String>) -> Self {
        Verdict {
            verdict: finding,
            level: None,
            question: Some(question),
            open: vec![question],
            reason,
            nodes,
            ..Verdict::proved_exact(Vec::new())
        }
    }

    /// Returns the verdict that leaves values unknown, for that reason, where this one shows them.
    pub fn with_values_open(&self, why: String) -> Self {
        let mut answers = self.answers.clone();
        for answer in answers.iter_mut().filter(|a| a.question == Question::Values) {
            answer.finding = Finding::Unknown;
            (answer.level, answer.evidence) = (None, None);
            answer.reasons = vec![why.clone()];
        }
        let refusal = Verdict::refusal(Finding::Unknown, Question::Values, why, Vec::new());
        Verdict { answers, ms: self.ms, terms: self.terms, tried: self.tried, ..refusal }
    }
}
