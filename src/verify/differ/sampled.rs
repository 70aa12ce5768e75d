//! The sampled test of rounding: each program against its own wide run, on inputs of the working range.
//!
//! A program in f64 is run in f32, too: no run is wider. Promises: it holds only where both programs and both wide runs were made on the inputs that tell most (what lies close together, what is
//! ordinary, what is tiny, and one ordinary tensor beside others that lie close together), every element that is not finite on one side is not
//! on the other, and no error of the second is above 12 times the first's, there or a few units beside, and 64 units of the tensor. It is asked
//! of what was shown equal over the reals, beside a bound; alone it shows nothing.

use std::fmt;
use std::time::Instant;

use crate::exec::{Floats, Value};
use crate::formats::text::domain::Domain;
use crate::graph::{BodyId, Dtype, Graph, NodeId, NodeKind, View};
use crate::ops::Registry;
use crate::rules::element::arena::{Fold, Op};
use crate::rules::rounding::flushed;
use crate::rules::table::{Meaning, Real, meaning, real};
use crate::verify::differ::INDEX_LIMITS;
use crate::verify::differ::error::Ground;
use crate::verify::differ::lab::{Lab, singles};
use crate::verify::differ::regimes::{Idle, Regime};
use crate::verify::differ::run::{self, From, Ran, Run};
use crate::verify::differ::sizes::Sizes;
use crate::verify::differ::subject::{Input, Kind, Subject, roundoff};
use crate::verify::differ::trials::{Trial, Trials};
use crate::verify::differ::vanishing::vanishing;

/// On how many inputs beside those that show it the first program is run before its rounding is called better.
const BESIDE: u64 = 4;
/// On how many inputs it is asked.
const INPUTS: usize = 28;
/// On how many it is asked where f64 is f32: no differing run has looked at rounding there before.
const SINGLE_INPUTS: usize = 96;
/// How many inputs are, in turn, the one that is ordinary where others lie close together, and the one that lies close together where others are idle.
const IN_TURN: usize = 4;
/// Regimes up to this late are asked whatever that takes: where time ends before, nothing is said.
const MUST: u8 = 5;
/// Of how many sizes the telling inputs come first.
const FIRST_SIZES: usize = 2;

/// How many units of the dtype of a tensor rounding may come to, whatever it was.
pub const UNITS: f64 = 64.0;

/// From how many seeds what is nothing but rounding is looked for, until so many elements were looked at: most quotients are not rounded when they are multiplied back.
const SEEDS: u64 = 16;
const ELEMENTS: usize = 1024;

/// Why what rounding does is not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unheld {
    /// That output is rounded farther on the inputs of the seed.
    Farther(usize),
    /// It was not, or could not be, looked at as far as it must be.
    Open(String),
}

impl fmt::Display for Unheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unheld::Farther(k) => write!(f, "output {k} is rounded more than 12 times as far as before, and 64 units"),
            Unheld::Open(why) => f.write_str(why),
        }
    }
}

impl std::convert::From<&str> for Unheld {
    fn from(why: &str) -> Self {
        Unheld::Open(why.into())
    }
}

/// Returns on how many inputs the second program's rounding is no worse; else why it is not taken.
pub fn rounding(subject: &mut Subject<'_>, trials: &Trials, seed: u64, deadline: Instant) -> Result<usize, Unheld> {
    let held = rounding_in(subject, trials, seed, deadline, None)?;
    // No run is wider than one in f64: what its rounding does is seen where it is f32.
    if subject.holds_doubles() {
        rounding_in(subject, trials, seed, deadline, Some(Floats::Single))?;
    }
    Ok(held)
}

fn rounding_in(
    subject: &mut Subject<'_>,
    trials: &Trials,
    seed: u64,
    deadline: Instant,
    floats: Option<Floats>,
) -> Result<usize, Unheld> {
    // What a comparison chooses was shown to be one over the reals, for every number that is compared.
    if subject.other_roundings() || subject.old.beyond_comparisons() != subject.new.beyond_comparisons() {
        return Err("one graph rounds to a narrower dtype, or takes a step, that the other does not".into());
    }
    let mut held = 0_usize;
    let over = || Unheld::Open("time ran out before both graphs were run to see what rounding does".into());
    let most = if floats.is_some() { SINGLE_INPUTS } else { INPUTS };
    let (mut near, mut has_near) = (false, false);
    // What must be run has twice the time.
    let late = deadline.checked_add(deadline.saturating_duration_since(Instant::now())).unwrap_or(deadline);
    for trial in telling_first(trials, &in_turn(subject)).iter().take(most) {
        let until = if must_run(trial) { late } else { deadline };
        // Inputs alone may take long to make; runs that were made before count.
        if Instant::now() >= until {
            if must_run(trial) {
                return Err(over());
            }
            break;
        }
        has_near |= trial.regime == Regime::Offset(1);
        let sizes = trials.sizes.get(trial.sizes).cloned().unwrap_or_default();
        let Some((inputs, a, b)) = both_run(subject, &sizes, (trial, seed), until, floats) else { continue };
        let lab = Lab::new(subject, &inputs, trial.aliased, until);
        let Some((ra, rb)) = lab.wide() else { continue };
        near |= trial.regime == Regime::Offset(1);
        if trial.regime == Regime::Normal(1) && trial.sizes == 0 {
            vanish_alike(&lab, floats)?;
        }
        let Some(k) = worse(&[(&a, ra)], &b, ra, rb) else {
            held = held.saturating_add(1);
            continue;
        };
        // The first program is what its operators are defined as, where kernels come nearer.
        let defined = run::by_definition(subject, subject.before, &inputs, (trial.aliased, floats), until);
        let mut firsts = vec![(&a, ra)];
        if let Run::Done(d) = &defined {
            firsts.push((d, ra));
        }
        // What meets no rounding at these inputs, by chance, meets one beside them.
        let beside: Vec<(Vec<Ran>, Ran)> = (1..=BESIDE).filter_map(|seed| lab.first_beside(seed, floats)).collect();
        firsts.extend(beside.iter().flat_map(|(all, wide)| all.iter().map(move |ran| (ran, wide))));
        if worse(&firsts, &b, ra, rb).is_some() {
            return Err(Unheld::Farther(k));
        }
        held = held.saturating_add(1);
    }
    if (held == 0 || has_near && !near) && Instant::now() >= deadline {
        return Err(over());
    }
    if has_near && !near {
        return Err("no inputs that lie close together could be run on both graphs to see what rounding does".into());
    }
    if held == 0 {
        return Err("no inputs could be run on both graphs to see what rounding does".into());
    }
    Ok(held)
}

/// Whether no more of the second program than of the first is nothing but rounding: what is made of that may be large on inputs that no run meets.
fn vanish_alike(lab: &Lab<'_, '_>, floats: Option<Floats>) -> Result<(), Unheld> {
    no_more(lab.subject, &[lab.subject.before, lab.subject.after].map(|graph| vanishing(lab, graph, floats)))
}

/// The same on ordinary inputs of other seeds, as many as it takes for some elements to be rounded; nothing is said where both programs do not run on them.
pub fn vanish_alike_on_some(
    subject: &mut Subject<'_>,
    trials: &Trials,
    seed: u64,
    deadline: Instant,
) -> Result<(), Unheld> {
    let ordinary = |t: &&Trial| t.regime == Regime::Normal(1) && t.sizes == 0;
    let Some(trial) = trials.list.iter().find(ordinary) else { return Ok(()) };
    let sizes = trials.sizes.first().cloned().unwrap_or_default();
    let doubles = subject.holds_doubles();
    for floats in [None, Some(Floats::Single)].into_iter().filter(|f| f.is_none() || doubles) {
        let (mut found, mut looked_at) = ([Vec::new(), Vec::new()], 0_usize);
        for more in 0..SEEDS {
            if looked_at >= ELEMENTS {
                break;
            }
            let ran = both_run(subject, &sizes, (trial, seed.wrapping_add(more)), deadline, floats);
            let Some((inputs, ..)) = ran else { break };
            let elements = inputs.iter().filter_map(Value::as_tensor).map(|t| t.numel()).max().unwrap_or(0);
            looked_at = looked_at.saturating_add(elements.max(1));
            let lab = Lab::new(subject, &inputs, trial.aliased, deadline);
            for (all, graph) in found.iter_mut().zip([subject.before, subject.after]) {
                let more: Vec<NodeId> =
                    vanishing(&lab, graph, floats).into_iter().filter(|node| !all.contains(node)).collect();
                all.extend(more);
            }
        }
        no_more(subject, &found)?;
    }
    Ok(())
}

/// Whether of the second program no more values are nothing but rounding than of the first.
fn no_more(subject: &Subject<'_>, [first, second]: &[Vec<NodeId>; 2]) -> Result<(), Unheld> {
    if second.len() <= first.len() {
        return Ok(());
    }
    let name = second.first().map_or("", |node| subject.after.name(*node));
    Err(Unheld::Open(format!("`{name}` is nothing but what rounding leaves where over the reals it is 0")))
}

/// Makes inputs of a trial and runs both programs to their end: where they do not come to it, with integers that may be indices.
fn both_run(
    subject: &mut Subject<'_>,
    sizes: &Sizes,
    (trial, seed): (&Trial, u64),
    deadline: Instant,
    floats: Option<Floats>,
) -> Option<(Vec<Value>, Ran, Ran)> {
    let limits = INDEX_LIMITS.iter().copied().map(Some).filter(|_| subject.has_free_integers());
    for limit in std::iter::once(None).chain(limits.collect::<Vec<_>>()) {
        subject.integers_below = limit;
        let inputs = run::inputs(subject, sizes, From::Trial(trial, seed))?;
        let inputs = if floats.is_some() { singles(&inputs)? } else { inputs };
        let lab = Lab::new(subject, &inputs, trial.aliased, deadline);
        if let (Run::Done(a), Run::Done(b)) = lab.own(floats) {
            return Some((inputs, a, b));
        }
    }
    None
}

/// Regimes in which one tensor is ordinary and others lie close together, or one lies close together and others are idle.
fn in_turn(subject: &Subject<'_>) -> Vec<Regime> {
    let number = |kind: &Kind| matches!(kind, Kind::Tensor(t) if t.dtype != Dtype::Bool);
    let stated = |domain: &Domain| matches!(domain, Domain::Is(_) | Domain::OneOf(_) | Domain::Spread(_));
    let drawn = |(k, i): (usize, &Input)| (number(&i.kind) && !stated(&i.domain)).then_some(k);
    let all: Vec<usize> = subject.inputs.iter().enumerate().filter_map(drawn).take(IN_TURN).collect();
    if all.len() < 2 {
        return vec![Regime::Below, Regime::Middle];
    }
    let alone = |input: usize| [Idle::Zero, Idle::One, Idle::Diagonal].map(|others| Regime::Alone { input, others });
    // Sums and differences may stand in another order: where some of them cancel is where another order loses.
    let sums = [subject.before, subject.after].iter().all(|graph| only_sums(subject.registry, graph));
    // What only one of both chooses may lie at the other end than what it meets.
    let chooses = choices(subject.registry, subject.before) != choices(subject.registry, subject.after);
    let apart = [Regime::Apart(false), Regime::Apart(true)].into_iter().filter(|_| chooses);
    let beside = apart.chain(all.iter().map(|k| Regime::Beside(*k))).filter(|_| !sums);
    let near = [Regime::Below, Regime::Middle].into_iter().chain(beside);
    near.chain(all.iter().flat_map(|k| alone(*k))).collect()
}

/// How many calls of a program take one of some values.
fn choices(registry: &Registry, graph: &Graph) -> usize {
    let calls = graph.nodes(BodyId::ROOT).filter_map(|node| registry.operator_of(graph, node));
    let takes_one = |target: &str| {
        let chosen = matches!(
            meaning(target),
            Some(
                Meaning::Clamp
                    | Meaning::Bound(_)
                    | Meaning::Where
                    | Meaning::Fold(_)
                    | Meaning::Binary(Op::Max | Op::Min)
            )
        );
        chosen || real(target) == Some(Real::Relu)
    };
    calls.filter(|operator| takes_one(&operator.target)).count()
}

/// Whether a program does nothing but sum, subtract and move what it is given.
fn only_sums(registry: &Registry, graph: &Graph) -> bool {
    graph.nodes(BodyId::ROOT).filter(|node| graph.kind(*node) == NodeKind::Call).all(|node| {
        registry.operator_of(graph, node).is_some_and(|operator| {
            let sums = matches!(
                meaning(&operator.target),
                Some(Meaning::Binary(Op::Add | Op::Sub) | Meaning::Unary(Op::Neg) | Meaning::Sum(Fold::Sum))
            );
            sums || operator.facts.moves || operator.facts.step.is_some() || operator.facts.same_as.is_some()
        })
    })
}

/// Trials in the working range: first those that tell most of rounding, size by size of the first ones. Fills round little.
fn telling_first(trials: &Trials, in_turn: &[Regime]) -> Vec<Trial> {
    let inside = trials.list.iter().filter(|t| t.ground == Ground::Inside);
    let first = inside.clone().find(|t| t.regime == Regime::Offset(1));
    let regimes = || std::iter::once(Regime::Roots).chain(in_turn.iter().cloned());
    let more = |t: &Trial| regimes().map(|regime| Trial { regime, ..t.clone() }).collect::<Vec<_>>();
    let mut all: Vec<Trial> = inside.cloned().chain(first.into_iter().flat_map(more)).collect();
    all.sort_by_key(|t| {
        let late = tells(&t.regime);
        let first = t.sizes < FIRST_SIZES && late < u8::MAX;
        if first { (t.sizes, late) } else { (usize::MAX, u8::MAX) }
    });
    all
}

/// Whether nothing is said where time ends before that trial: what tells most, of the first size.
fn must_run(trial: &Trial) -> bool {
    trial.sizes == 0 && tells(&trial.regime) <= MUST
}

/// How late a regime is asked for what rounding does: what lies close together, and what is tiny, cancels.
fn tells(regime: &Regime) -> u8 {
    match regime {
        Regime::Offset(1) => 0,
        Regime::Normal(1) => 1,
        Regime::Small(_) => 2,
        Regime::Roots | Regime::Below | Regime::Middle => 3,
        Regime::Apart(_) | Regime::Beside(_) => 4,
        Regime::Alone { .. } => MUST,
        Regime::Large(_) => 6,
        Regime::Ramp | Regime::Normal(_) | Regime::Offset(_) | Regime::Halves(_) => 7,
        _ => u8::MAX,
    }
}

/// The first output, or final content, whose rounding is worse than that of the first program in any of its runs, each beside its wide run.
fn worse(firsts: &[(&Ran, &Ran)], b: &Ran, ra: &Ran, rb: &Ran) -> Option<usize> {
    let firsts: Vec<_> = firsts.iter().map(|(x, p)| (floats(x), floats(p), std::ptr::eq(*p, ra))).collect();
    let (y, p, q) = (floats(b), floats(ra), floats(rb));
    let alike = firsts.iter().all(|(x, own, _)| x.len() == p.len() && own.len() == p.len());
    if !alike || y.len() != p.len() || y.len() != q.len() {
        return Some(0);
    }
    y.iter().zip(p.iter().zip(&q)).enumerate().find_map(|(k, (y, (p, q)))| {
        let (Some((y, unit, flushed)), Some((p, ..)), Some((q, ..))) = (y, p, q) else { return None };
        let mut off = 0.0_f64;
        for (x, own, here) in &firsts {
            let (Some(Some((x, ..))), Some(Some((own, ..)))) = (x.get(k), own.get(k)) else { return None };
            let alike = x.len() == y.len() && x.len() == p.len() && y.len() == q.len() && own.len() == x.len();
            let defined = !here || x.iter().zip(y).all(|(u, v)| u.is_finite() == v.is_finite());
            if !alike || !defined {
                return Some(k);
            }
            off = off.max(farthest(x, own));
        }
        let scale = p.iter().map(|v| v.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max);
        (farthest(y, q) > 12.0 * off + UNITS * unit * scale + flushed).then_some(k)
    })
}

/// All tensors of floats and of complex numbers that the caller sees, with the roundoff of their dtype, and what it does not tell from 0; `None` for any other value.
fn floats(ran: &Ran) -> Vec<Option<(Vec<f64>, f64, f64)>> {
    let all = ran.outputs.iter().flat_map(|v| v.items().to_vec()).chain(ran.inputs.iter().cloned());
    all.map(|v: Value| {
        let t = v.as_tensor().filter(|t| t.dtype().is_float() || t.dtype().is_complex())?.clone();
        Some((t.parts().ok()?, roundoff(t.dtype()), flushed(t.dtype())))
    })
    .collect()
}

fn farthest(x: &[f64], p: &[f64]) -> f64 {
    x.iter().zip(p).map(|(u, v)| (u - v).abs()).filter(|d| d.is_finite()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text::{ReadOptions, read};
    use crate::verify::JudgeOptions;
    use crate::verify::differ::trials;

    #[test]
    fn no_inputs_are_made_once_the_time_is_over() {
        let text = "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4]\"):
        y: \"f32[4]\" = torch.ops.aten.exp.default(x)
        return (y,)
";
        let graph = read(text, &ReadOptions::of_file("t.fx")).unwrap();
        let (registry, options) = (Registry::standard(), JudgeOptions::default());
        let mut subject = Subject::of(&graph, &graph, &registry, &options).unwrap();
        let trials = trials::of(&mut subject, options.budget.bytes);
        let now = Instant::now();
        let over = rounding(&mut subject, &trials, options.seed, now).unwrap_err().to_string();
        assert!(over.starts_with("time ran out"), "{over}");
        let later = now.checked_add(std::time::Duration::from_secs(600)).unwrap();
        assert!(rounding(&mut subject, &trials, options.seed, later).unwrap() > 0);
    }
}
