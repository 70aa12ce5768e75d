//! The half of the judge that refutes: both programs run on the same inputs, until one shows a difference or the budget ends.
//!
//! - `subject`, `steps`, `parting`: the pair, its inputs, which steps each side takes, which inputs lie before the first difference; `sizes`, `regimes`, `lies`, `trials`: what is tried;
//! - `run`, `lab`: runs in own dtypes and wide; `error`: when two runs show a difference; `sharing`: whose memory outputs are; `draws`: how often each draws;
//! - `likeness`: which values are alike in a run, for provers to look at first;
//! - `region`: parts of both graphs that differ, run on their own;
//! - `sampled`: what rounding does where values are equal over the reals; `vanishing`: what is nothing but rounding;
//! - `witness`: what is kept of it, made smaller by `shrink`; `counterexample`, `script`: that as files;
//! - `in_a_row`: what several edits led to;
//! - `illustrate`: the same kind of difference on graphs that a person can look through; `traced`: what each node of them came to.
//!
//! Promises: what is refuted is refuted at level `real` (at `exact` where operators leave no `real`) by inputs of the graph as it was given,
//! on which both programs were run; nothing else is concluded. Parameters and buffers are inputs of a witness. A run that only the
//! executor cannot make shows nothing. Leaves proofs to `prove`.

mod counterexample;
mod draws;
mod error;
mod illustrate;
mod in_a_row;
mod lab;
mod lies;
mod likeness;
mod parting;
mod regimes;
mod region;
mod run;
mod sampled;
mod script;
mod sharing;
mod shrink;
mod sizes;
mod steps;
mod subject;
mod traced;
mod trials;
mod vanishing;
mod witness;

pub use counterexample::{Given, GivenError, Written, inline_table, read as given, write as write_counterexample};
pub use error::Shows;
pub use illustrate::{Illustration, illustrate};
pub use in_a_row::adds_up;
pub use likeness::{Print, Prints, prints};
pub use regimes::Values;
pub use traced::{Traced, TracedNode, trace};
pub use witness::{Held, Witness, values as values_of};

use std::time::{Duration, Instant};

use crate::exec::Value;
use crate::graph::{BodyId, Graph, View};
use crate::ops::Registry;
use crate::rules::Level;
use crate::verify::differ::error::{Difference, Ground};
use crate::verify::differ::lab::Lab;
use crate::verify::differ::lies::Lies;
use crate::verify::differ::regimes::Regime;
use crate::verify::differ::run::{From, Run};
use crate::verify::differ::sampled::Unheld;
use crate::verify::differ::shrink::Shrunk;
use crate::verify::differ::sizes::Sizes;
use crate::verify::differ::subject::Subject;
use crate::verify::differ::trials::Trial;
use crate::verify::options::JudgeOptions;
use crate::verify::verdict::{Finding, Question, Stop, Verdict};

/// What running both programs came to.
#[derive(Debug, Default)]
pub struct Tried {
    /// Inputs that show a difference.
    pub witness: Option<Witness>,
    /// How many trials were made in which both programs ran.
    pub ran: usize,
    /// What ended it early.
    pub stopped: Option<Stop>,
    /// Why nothing could be run, or what kept the last trial from it.
    pub obstacle: Option<String>,
}

/// Whether a verdict leaves values or effects unknown, and nothing else, and there is a budget to run both programs.
pub fn is_open(verdict: &Verdict, options: &JudgeOptions) -> bool {
    let settles = |q: &Question| matches!(q, Question::Values | Question::Effects);
    let is_open = verdict.verdict == Finding::Unknown && verdict.open.iter().all(settles);
    (is_open || is_run(verdict)) && options.budget.trials > 0
}

/// Whether values were shown equal, but over the reals, or by fingerprints: both programs are run before that is taken, and what rounding does is sampled.
pub fn is_run(verdict: &Verdict) -> bool {
    match verdict.verdict {
        Finding::Proved => verdict.level == Some(Level::Real),
        Finding::Checked => true,
        Finding::Refuted | Finding::Unknown => false,
    }
}

/// Runs both programs against each other where a verdict left values or effects unknown, and nothing else.
pub fn settle(verdict: Verdict, before: &Graph, after: &Graph, registry: &Registry, options: &JudgeOptions) -> Verdict {
    if !is_open(&verdict, options) {
        return verdict;
    }
    let start = Instant::now();
    let tried = refute(before, after, registry, options);
    let ms = verdict.ms + start.elapsed().as_secs_f64() * 1e3;
    let stopped = verdict.stopped.or(tried.stopped);
    let verdict = Verdict { ms, stopped, ..verdict };
    match tried.witness {
        Some(witness) => witness.refutes(verdict),
        None if is_run(&verdict) => {
            sampled(Verdict { tried: Some(tried.ran), ..verdict }, before, after, registry, options)
        }
        None => {
            let open = Verdict { tried: Some(tried.ran), obstacle: tried.obstacle, ..verdict };
            by_region(open, before, after, registry, options)
        }
    }
}

/// Looks at the parts in which the graphs differ, where runs of the whole ones showed nothing; a quarter of the time that those may take.
fn by_region(verdict: Verdict, before: &Graph, after: &Graph, registry: &Registry, options: &JudgeOptions) -> Verdict {
    let start = Instant::now();
    let deadline = within(quarter(options.budget.time_ms));
    let found = region::search((before, after), registry, options, deadline);
    let ms = verdict.ms + start.elapsed().as_secs_f64() * 1e3;
    let verdict = Verdict { ms, region: found.told, ..verdict };
    match found.witness {
        Some(witness) => witness.refutes(verdict),
        None => verdict,
    }
}

/// Takes what is equal over the reals where the sampled test of rounding holds; else it is unknown.
fn sampled(verdict: Verdict, before: &Graph, after: &Graph, registry: &Registry, options: &JudgeOptions) -> Verdict {
    let deadline = within(options.budget.time_ms);
    let held = Subject::of(before, after, registry, options).map_err(Unheld::Open).and_then(|mut subject| {
        let trials = trials::of(&mut subject, options.budget.bytes);
        sampled::rounding(&mut subject, &trials, options.seed, deadline)
    });
    let held = held.and_then(|ran| {
        region::vanish_alike((before, after), registry, options, deadline)?;
        Ok(ran)
    });
    match held {
        Ok(_) => Verdict { accepted: options.policy.accepts(&verdict), ..verdict },
        Err(unheld) => {
            let mut refused = verdict.with_values_open(unheld.to_string());
            refused.rounds_farther = matches!(unheld, Unheld::Farther(_));
            refused.accepted = options.policy.accepts(&refused);
            refused
        }
    }
}

/// Looks for inputs on which both programs differ.
pub fn refute(before: &Graph, after: &Graph, registry: &Registry, options: &JudgeOptions) -> Tried {
    match Subject::of(before, after, registry, options) {
        Ok(subject) => searched(subject, options),
        Err(obstacle) => Tried { obstacle: Some(obstacle), ..Tried::default() },
    }
}

/// Looks for inputs on which both programs differ by a bit, where their dtypes are so coarse that no run tells what is near.
pub fn differ_if_coarse(before: &Graph, after: &Graph, registry: &Registry, options: &JudgeOptions) -> Option<Witness> {
    let mut subject = Subject::of(before, after, registry, options).ok().filter(Subject::is_coarse)?;
    subject.old.bits = true;
    searched(subject, options).witness
}

fn searched(mut subject: Subject<'_>, options: &JudgeOptions) -> Tried {
    let budget = options.budget;
    let deadline = within(budget.time_ms);
    let trials = trials::of(&mut subject, budget.bytes);
    if let Some(given) = &options.given
        && let Some(witness) = shown_by(&mut subject, given, deadline)
    {
        return Tried { witness: Some(witness), ..Tried::default() };
    }
    let mut tried = Tried { stopped: trials.too_large.then_some(Stop::Bytes), ..Tried::default() };
    for (made, trial) in trials.list.iter().enumerate() {
        if made >= budget.trials || Instant::now() >= deadline {
            tried.stopped = Some(if made >= budget.trials { Stop::Trials } else { Stop::Time });
            break;
        }
        let sizes = trials.sizes.get(trial.sizes).cloned().unwrap_or_default();
        let Some((inputs, came_to)) = tried_once(&mut subject, (&sizes, trial, options.seed), deadline) else {
            continue;
        };
        match came_to {
            Once::Differs(difference) => {
                let found = Shrunk { sizes, inputs, difference };
                let now = (trial, options.seed);
                let Shrunk { sizes, inputs, difference } = shrink::shrink(
                    &mut subject,
                    &trials,
                    now,
                    found,
                    (budget.shrinks, within(quarter(budget.time_ms)).min(deadline)),
                );
                tried.witness = Some(Witness::of(&subject, &sizes, trial, &inputs, difference));
                break;
            }
            Once::Same => tried.ran = tried.ran.saturating_add(1),
            Once::BothRaise(why) | Once::NotRun(why) => tried.obstacle = Some(why),
        }
    }
    tried
}

/// Limits of integers that are tried where both programs raise: most likely an integer is an index that is out of range.
const INDEX_LIMITS: &[i64] = &[256, 32, 8, 4, 2];

/// Makes the inputs of a trial and runs both programs; where both raise, again with integers that may be indices. `None` where there are no
/// such inputs.
fn tried_once(
    subject: &mut Subject<'_>,
    (sizes, trial, seed): (&Sizes, &Trial, u64),
    deadline: Instant,
) -> Option<(Vec<Value>, Once)> {
    let run = |subject: &mut Subject<'_>, limit: Option<i64>| {
        subject.integers_below = limit;
        let inputs = run::inputs(subject, sizes, From::Trial(trial, seed))?;
        let came_to = once(subject, trial, &inputs, deadline);
        Some((inputs, came_to))
    };
    let first = run(subject, None)?;
    if !matches!(first.1, Once::BothRaise(_)) || !subject.has_free_integers() {
        return Some(first);
    }
    let known = subject.index_limit;
    for limit in INDEX_LIMITS.iter().filter(|l| known.is_none_or(|k| **l <= k)) {
        let again = run(subject, Some(*limit))?;
        if !matches!(again.1, Once::BothRaise(_)) {
            subject.index_limit = Some(*limit);
            return Some(again);
        }
    }
    Some(first)
}

/// Making a witness smaller, or looking at regions, takes a quarter of the time at most.
fn quarter(time_ms: u64) -> u64 {
    time_ms.checked_div(4).unwrap_or(0)
}

fn within(time_ms: u64) -> Instant {
    let now = Instant::now();
    now.checked_add(Duration::from_millis(time_ms)).unwrap_or(now)
}

/// Runs both programs on given inputs.
fn shown_by(subject: &mut Subject<'_>, given: &Given, deadline: Instant) -> Option<Witness> {
    let inputs = run::inputs(subject, &given.sizes, From::Held(&given.inputs))?;
    let ground = run::ground(&inputs, subject.is_narrow());
    let trial = Trial { sizes: 0, regime: Regime::Given, lies: Lies::default(), ground, aliased: given.aliased };
    match once(subject, &trial, &inputs, deadline) {
        Once::Differs(difference) => Some(Witness::of(subject, &given.sizes, &trial, &inputs, difference)),
        _ => None,
    }
}

/// What one trial came to.
enum Once {
    Differs(Difference),
    Same,
    BothRaise(String),
    NotRun(String),
}

fn once(subject: &Subject<'_>, trial: &Trial, inputs: &[Value], deadline: Instant) -> Once {
    let lab = Lab::new(subject, inputs, trial.aliased, deadline);
    let raise = |shows, before: String, after: String| {
        Once::Differs(Difference {
            shows,
            what: "the run".into(),
            index: Vec::new(),
            before,
            after,
            wide: None,
            units: None,
        })
    };
    match lab.own(None) {
        (Run::Barred(why), _) | (_, Run::Barred(why)) => Once::NotRun(why),
        (Run::Raised(node, why), Run::Raised(..)) => Once::BothRaise(format!("both graphs raise: `{node}`: {why}")),
        (Run::Done(_), Run::Raised(node, why)) => {
            raise(Shows::Raises, "runs".into(), format!("raises at `{node}`: {why}"))
        }
        (Run::Raised(node, why), Run::Done(_)) if subject.may_stop_raising || trial.lies != Lies::Contiguous => {
            Once::NotRun(format!("the graph before raises at `{node}`: {why}"))
        }
        (Run::Raised(node, why), Run::Done(_)) => match is_live(subject, &node) {
            true => raise(Shows::StopsRaising, format!("raises at `{node}`: {why}"), "runs".into()),
            false => Once::NotRun(format!("the graph before raises at `{node}`, which is dead")),
        },
        (Run::Done(a), Run::Done(b)) => {
            // Draws that were not the same make every value another one.
            if a.next_draw != b.next_draw {
                let not_run = || Once::NotRun("the two graphs draw other random numbers".into());
                return draws::compare(subject).map_or_else(not_run, Once::Differs);
            }
            let shared = || if trial.ground == Ground::Inside { sharing::compare(subject, &a, &b) } else { None };
            match error::compare(&lab, trial.ground, &a, &b).or_else(shared) {
                Some(difference) => Once::Differs(difference),
                None => Once::Same,
            }
        }
    }
}

/// Whether what a node of the graph before gives reaches an output, or it is there for what it does.
fn is_live(subject: &Subject<'_>, name: &str) -> bool {
    let graph = subject.before;
    let Some(node) = graph.find_name(BodyId::ROOT, name) else { return false };
    // What only asserts is never dead.
    if subject.registry.get(graph.target(node)).is_some_and(|o| o.effects.side.is_some()) {
        return true;
    }
    let mut seen = rustc_hash::FxHashSet::default();
    let mut open: Vec<_> = graph.output(BodyId::ROOT).into_iter().collect();
    while let Some(next) = open.pop() {
        if next == node {
            return true;
        }
        open.extend(graph.operands(next).filter(|n| seen.insert(*n)));
    }
    false
}
