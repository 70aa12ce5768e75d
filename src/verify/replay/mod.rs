//! Certificates: an answer written down, and shown again without a search.
//!
//! Promises: (1) [`check_certificate`] takes nothing from a certificate but what to try: every step is shown by rules on terms of both whole
//! graphs, in the order of the certificate, and every question is asked again, answered by structure once the steps are; (2) it reads no journal,
//! tries no pair that no step names, and what is equal over the reals is sampled on inputs of a seed of its own; (3) what it finds must be what the
//! certificate states, word by word; (4) where graphs write, the steps are shown once more on both graphs with their writes taken out by another walk
//! than the judge's (`again`). Shares with the judge how terms are made of what does not write, what is asked, and the rules.

mod again;

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::analysis::places_of;
use crate::certificate::{Answered, Certificate, Conditions, GraphDigest, Rests, Step, ranges};
use crate::graph::{BodyId, Graph};
use crate::ops::Registry;
use crate::rules::Level;
use crate::sym::Range;
use crate::term::store::ValueId;
use crate::term::term::Side;
use crate::verify::functional::position::{Names, find, given_by, names};
use crate::verify::functional::values::Functional;
use crate::verify::judge::pair::judge_pair_by;
use crate::verify::options::{Budget, Closure, JudgeOptions, Mode};
use crate::verify::policy::Policy;
use crate::verify::prove::congruence::{Congruence, Proof};
use crate::verify::prove::widen;
use crate::verify::verdict::{Finding, Question, Verdict};

pub use again::Again;

/// Both graphs as they were judged, and what is stated of their sizes.
#[derive(Debug, Default)]
pub(in crate::verify) struct Seen {
    digests: Option<[GraphDigest; 2]>,
    sizes: Vec<(String, Range)>,
    /// Of a search: what it showed, in order.
    steps: Vec<Step>,
}

/// Where equal values come from.
#[derive(Debug)]
pub(in crate::verify) enum Replay<'c> {
    /// They are looked for.
    Search,
    /// They are looked for, and kept.
    Record(Seen),
    /// They are given.
    Given(&'c [Step], Seen),
    /// They are given, and looked at once all values of both graphs are known: what was shown to be what it is made of is still found by how it is made.
    GivenLast(&'c [Step], Seen),
}

/// A step that is not shown.
#[derive(Debug)]
pub(in crate::verify) struct Unshown {
    number: usize,
    step: Step,
    why: &'static str,
}

impl fmt::Display for Unshown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, other) = (&self.step.one, &self.step.other);
        write!(f, "step {} of the certificate (`{}` is `{}`): {}", self.number, one.node, other.node, self.why)
    }
}

impl Unshown {
    /// Returns the nodes that the step names.
    pub fn nodes(self) -> [String; 2] {
        [self.step.one.node, self.step.other.node]
    }
}

impl Replay<'_> {
    /// Keeps what identifies the graphs.
    pub fn see(&mut self, before: &Graph, after: &Graph) {
        let (Replay::Record(seen) | Replay::Given(_, seen) | Replay::GivenLast(_, seen)) = self else { return };
        seen.digests = Some([GraphDigest::of(before), GraphDigest::of(after)]);
        seen.sizes = ranges(before);
    }

    /// Shows the steps that are given: from then on nothing is looked for.
    pub fn begin(&self, f: &mut Functional<'_>, c: &mut Congruence) -> Result<(), Box<Unshown>> {
        match self {
            Replay::Search => {}
            Replay::Record(_) => c.proof = Proof::Record(Vec::new()),
            Replay::Given(steps, _) | Replay::GivenLast(steps, _) => {
                if matches!(self, Replay::GivenLast(..)) {
                    settle_all(f);
                }
                let names = [Side::Before, Side::After].map(|side| names(f.view(side)));
                for (number, step) in (1..).zip(*steps) {
                    shown(f, c, &names, step).map_err(|why| Box::new(Unshown { number, step: step.clone(), why }))?;
                }
                c.proof = Proof::Given;
            }
        }
        Ok(())
    }

    /// Whether steps are looked for anew: those that were kept are forgotten.
    pub fn forget(&mut self) -> bool {
        match self {
            Replay::Search => true,
            Replay::Record(seen) => {
                seen.steps.clear();
                true
            }
            Replay::Given(..) | Replay::GivenLast(..) => false,
        }
    }

    /// Keeps the steps that were shown.
    pub fn end(&mut self, c: &mut Congruence) {
        if let (Replay::Record(seen), Proof::Record(steps)) = (self, &mut c.proof) {
            seen.steps.append(steps);
        }
    }
}

/// Finds the values of all nodes of both graphs, so that equal structures are one class.
fn settle_all(f: &mut Functional<'_>) {
    for side in [Side::Before, Side::After] {
        let view = f.view(side);
        for place in view.nodes(BodyId::ROOT).flat_map(|node| places_of(view, node)) {
            let value = f.outcome(side, place);
            f.settle(value);
        }
    }
}

/// Shows one step: by structure, or by rules.
fn shown(f: &mut Functional<'_>, c: &mut Congruence, names: &[Names<'_>; 2], step: &Step) -> Result<(), &'static str> {
    let a = find(f, names, &step.one).ok_or("its first value is not in the graph")?;
    let b = find(f, names, &step.other).ok_or("its second value is not in the graph")?;
    c.forget();
    if c.equal(f, a, b) {
        return Ok(());
    }
    if step.level == Level::Real {
        if f.kinds.sees_nan {
            return Err("one of the graphs sees which NaN it is given: nothing is equal over the reals alone");
        }
        if !(is_of(f, Side::Before, a) && is_of(f, Side::After, b)) {
            return Err("over the reals a value of the graph as it is is held to one of the graph as it was");
        }
    }
    let shown = widen::show(f, c, (a, b), step.level) || widen::check(f, c, (a, b), step.level);
    shown.then_some(()).ok_or("neither rules nor fingerprints show that")
}

/// Whether a node of a graph gives that value.
fn is_of(f: &mut Functional<'_>, side: Side, value: ValueId) -> bool {
    given_by(f, side, value).is_some()
}

/// What came of asking for a certificate.
#[derive(Debug)]
pub struct Certified {
    /// The verdict on the whole graphs.
    pub verdict: Verdict,
    /// The certificate, where every question was answered.
    pub certificate: Option<Certificate>,
}

/// Judges two whole graphs, and writes down what the verdict rests on.
pub fn certify(before: &Graph, after: &Graph, registry: &Registry, options: &JudgeOptions) -> Certified {
    let mut replay = Replay::Record(Seen::default());
    let mut verdict = judge_pair_by(before, after, registry, options, &mut replay);
    let Replay::Record(Seen { digests: Some(digests), sizes, steps }) = replay else {
        return Certified { verdict, certificate: None };
    };
    if verdict.accepted && verdict.level == Some(Level::Real) {
        // What a search found equal by the way is looked into less: what is assumed is what the steps alone assume.
        verdict = judge_pair_by(before, after, registry, options, &mut Replay::Given(&steps, Seen::default()));
    }
    let is_proved = matches!(verdict.verdict, Finding::Proved | Finding::Checked)
        && Policy::Default.accepts(&verdict)
        && verdict.accepted;
    let certificate = verdict.level.filter(|_| is_proved).map(|level| {
        let answers = (level, answered(&verdict));
        let rests = Rests { on: assumed(&verdict), checked_log2: verdict.bound_log2 };
        let without_writes = again::more([before, after], registry, options, (&steps, level));
        Certificate::new(digests, (sizes, conditions(options)), answers, rests, (steps, without_writes))
    });
    Certified { verdict, certificate }
}

fn answered(verdict: &Verdict) -> Vec<Answered> {
    let answer = |q: &Question| {
        let found = verdict.answers.iter().find(|a| a.question == *q)?;
        Some(Answered { question: q.name().to_string(), level: found.level })
    };
    Question::ALL.iter().filter_map(answer).collect()
}

fn assumed(verdict: &Verdict) -> Vec<String> {
    verdict.assumes.iter().map(crate::verify::Assumption::text).collect()
}

/// Returns what options say of how graphs are judged.
fn conditions(options: &JudgeOptions) -> Conditions {
    let lenient = [
        (options.allow_wider, "wider"),
        (options.integer_slack, "integer-slack"),
        (options.may_stop_raising, "stops-raising"),
    ];
    let closure = match options.closure {
        Closure::ByMode => "by-mode",
        Closure::InGraph => "in-graph",
    };
    Conditions {
        mode: options.mode.name().to_string(),
        may_alias: options.may_alias.clone(),
        tags: options.tags.clone(),
        closure: closure.to_string(),
        inputs: options.domains.iter().map(|(name, domain)| (name.clone(), domain.to_string())).collect(),
        lenient: lenient.into_iter().filter(|(is, _)| *is).map(|(_, word)| word.to_string()).collect(),
    }
}

/// A certificate that holds.
#[derive(Debug)]
pub struct Held {
    /// What the replay found.
    pub verdict: Verdict,
    /// What came of showing it again without writes.
    pub again: Again,
}

/// Why a certificate does not hold for two graphs.
#[derive(Debug, thiserror::Error)]
pub enum Unproved {
    /// It is of another graph.
    #[error("the certificate is of another graph {which}: it names {stated}, this one is {found}")]
    OtherGraph {
        /// `before` or `after`.
        which: &'static str,
        /// What the certificate names.
        stated: String,
        /// What was read.
        found: String,
    },
    /// The replay finds something else than it states.
    #[error("the certificate states {what} {stated}; the replay finds {found}")]
    Otherwise {
        /// Of what.
        what: &'static str,
        /// What it states.
        stated: String,
        /// What was found.
        found: String,
    },
    /// It is for a mode that nobody knows.
    #[error("the certificate is for mode `{0}`; there are max-autotune and reduce-overhead")]
    Mode(String),
    /// It is for less than the host states.
    #[error("the certificate does not hold where {0}, which the host states; judge the pair again under that")]
    ForLess(String),
    /// A step or a question is not shown.
    #[error("{0}")]
    NotShown(String),
}

/// By how much, as a power of two, the chance of a false accept may differ between two runs.
const OTHER_PRIMES: f64 = 1.0;
/// How far from a seed those are that are asked where its inputs are rounded farther than may be.
const OTHER_SEEDS: [u64; 2] = [1, 2];

/// Shows again what a certificate states of two graphs. `options` say what inputs hold, what is looked away from, and how much may be tried and from which seed
/// rounding is sampled (0: one of the operating system); mode and aliases are the certificate's, which must hold what `options` state of them.
///
/// # Errors
/// The first thing that does not hold.
pub fn check_certificate(
    certificate: &Certificate,
    before: &Graph,
    after: &Graph,
    registry: &Registry,
    options: &JudgeOptions,
) -> Result<Held, Unproved> {
    let under = &certificate.under;
    let mode = Mode::from_name(&under.mode).ok_or_else(|| Unproved::Mode(under.mode.clone()))?;
    if let Some(unheld) = stated_beyond(options, mode, under) {
        return Err(Unproved::ForLess(unheld));
    }
    let seed = if options.seed == 0 { RandomState::new().build_hasher().finish() } else { options.seed };
    let options = JudgeOptions {
        mode,
        may_alias: under.may_alias.clone(),
        policy: Policy::Default,
        seed,
        given: None,
        budget: Budget { shrinks: 0, ..options.budget },
        ..options.clone()
    };
    same("the conditions", under, &conditions(&options))?;
    let judged = |seed: u64| {
        let mut replay = Replay::Given(&certificate.steps, Seen::default());
        let options = JudgeOptions { seed, ..options.clone() };
        (judge_pair_by(before, after, registry, &options, &mut replay), replay)
    };
    let (mut verdict, mut replay) = judged(seed);
    if !verdict.accepted {
        let mut last = Replay::GivenLast(&certificate.steps, Seen::default());
        let options = JudgeOptions { seed, ..options.clone() };
        let again = judge_pair_by(before, after, registry, &options, &mut last);
        if again.accepted {
            (verdict, replay) = (again, last);
        }
    }
    // What is rounded as far as may be is farther on some inputs: two other seeds outvote one.
    if verdict.rounds_farther {
        let others = OTHER_SEEDS.map(|more| judged(seed.wrapping_add(more).max(1)).0);
        if others.iter().all(|other| other.accepted) {
            let [other, _] = others;
            verdict = other;
        }
    }
    let (Replay::Given(_, Seen { digests: Some(digests), sizes, .. })
    | Replay::GivenLast(_, Seen { digests: Some(digests), sizes, .. })) = replay
    else {
        return Err(Unproved::NotShown(verdict.reason));
    };
    for ((which, stated), found) in
        [("before", &certificate.before), ("after", &certificate.after)].into_iter().zip(&digests)
    {
        if stated != found {
            let shown = |g: &GraphDigest| format!("{} nodes, blake3 {}", g.nodes, g.blake3);
            return Err(Unproved::OtherGraph { which, stated: shown(stated), found: shown(found) });
        }
    }
    same("of sizes", &certificate.sizes, &sizes)?;
    if !verdict.accepted {
        return Err(Unproved::NotShown(verdict.reason));
    }
    // Fingerprints are drawn again, over other primes: what is stated may not be much less than what this run finds.
    if let Some(found) = verdict.bound_log2
        && certificate.checked_log2.is_none_or(|stated| stated < found - OTHER_PRIMES)
    {
        same("as checked", &certificate.checked_log2, &Some(found))?;
    }
    same("the level", &Some(certificate.level), &verdict.level)?;
    same("the answers", &certificate.answers, &answered(&verdict))?;
    // A search may have asked more than was needed in the end.
    let found = assumed(&verdict);
    if !found.iter().all(|a| certificate.assumes.contains(a)) {
        same("as assumed", &certificate.assumes, &found)?;
    }
    let is_as_close = |step: &&Step| step.level <= certificate.level;
    let without_writes: Vec<Step> = certificate.without_writes.iter().filter(is_as_close).cloned().collect();
    match again::again([before, after], registry, &options, (&certificate.steps, &without_writes)) {
        unshown @ Again::Unshown(_) => Err(Unproved::NotShown(unshown.to_string())),
        again => Ok(Held { verdict, again }),
    }
}

/// Returns what the host states of memory and mode that a certificate does not reckon with.
fn stated_beyond(options: &JudgeOptions, mode: Mode, under: &Conditions) -> Option<String> {
    let holds = |a: &String, b: &String| under.may_alias.iter().any(|(x, y)| (x, y) == (a, b) || (x, y) == (b, a));
    if let Some((a, b)) = options.may_alias.iter().find(|(a, b)| !holds(a, b)) {
        return Some(format!("`{a}` and `{b}` may be one memory"));
    }
    let of_streams = options.mode == Mode::ReduceOverhead && mode != Mode::ReduceOverhead;
    of_streams.then(|| format!("the mode is {}", options.mode.name()))
}

fn same<T: PartialEq + fmt::Debug>(what: &'static str, stated: &T, found: &T) -> Result<(), Unproved> {
    if stated == found {
        return Ok(());
    }
    Err(Unproved::Otherwise { what, stated: format!("{stated:?}"), found: format!("{found:?}") })
}
