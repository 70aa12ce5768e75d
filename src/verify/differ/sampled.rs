//! The sampled test of rounding: each program against its own wide run, on inputs of the working range.
//!
//! A program in f64 is run in f32, too: no run is wider. Promises: it holds only where both programs and both wide runs were made on the inputs that tell most (what lies close together, what is
//! ordinary, what is tiny, and one ordinary tensor beside others that lie close together), every element that is not finite on one side is not
//! on the other, and no error of the second is above 12 times the first's, there or a few units beside, and 64 units of the tensor. It is asked
//! of what was shown equal over the reals, beside a bound; alone it shows nothing.

use std::time::Instant;

use crate::exec::{Floats, Value};
use crate::rules::rounding::flushed;
use crate::verify::differ::error::Ground;
use crate::verify::differ::lab::{Lab, singles};
use crate::verify::differ::regimes::Regime;
use crate::verify::differ::run::{self, From, Ran, Run};
use crate::verify::differ::subject::{Input, Kind, Subject, roundoff};
use crate::verify::differ::trials::{Trial, Trials};

/// On how many inputs beside those that show it the first program is run before its rounding is called better.
const BESIDE: u64 = 4;
/// On how many inputs it is asked.
const INPUTS: usize = 24;
/// On how many it is asked where f64 is f32: no differing run has looked at rounding there before.
const SINGLE_INPUTS: usize = 96;
/// On how many regimes of one size it is asked whatever that takes: where time ends before, nothing is said.
const LEAST: usize = 3;
/// How many inputs are left ordinary in turn, where others lie close together.
const LEFT_ORDINARY: usize = 4;
/// Of how many sizes the telling inputs come first.
const FIRST_SIZES: usize = 2;

/// Returns on how many inputs the second program's rounding is no worse; else why it is not taken.
pub fn rounding(subject: &mut Subject<'_>, trials: &Trials, seed: u64, deadline: Instant) -> Result<usize, String> {
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
) -> Result<usize, String> {
    // What a comparison chooses was shown to be one over the reals, for every number that is compared.
    if subject.other_roundings() || subject.old.beyond_comparisons() != subject.new.beyond_comparisons() {
        return Err("one graph rounds to a narrower dtype, or takes a step, that the other does not".into());
    }
    let mut held = 0_usize;
    let over = || "time ran out before both graphs were run to see what rounding does".to_string();
    let most = if floats.is_some() { SINGLE_INPUTS } else { INPUTS };
    let beside = beside(subject);
    let least = LEAST.saturating_add(beside.len());
    for (k, trial) in telling_first(trials, &beside).iter().take(most).enumerate() {
        // Inputs alone may take long to make; runs that were made before count.
        if Instant::now() >= deadline {
            if k <= least {
                return Err(over());
            }
            break;
        }
        let sizes = trials.sizes.get(trial.sizes).cloned().unwrap_or_default();
        let Some(mut inputs) = run::inputs(subject, &sizes, From::Trial(trial, seed)) else { continue };
        if floats.is_some() {
            let Some(singles) = singles(&inputs) else { continue };
            inputs = singles;
        }
        let lab = Lab::new(subject, &inputs, trial.aliased, deadline);
        let (Run::Done(a), Run::Done(b)) = lab.own(floats) else { continue };
        let Some((ra, rb)) = lab.wide() else { continue };
        let Some(k) = worse(&[(&a, ra)], &b, ra, rb) else {
            held = held.saturating_add(1);
            continue;
        };
        // The first program is what its operators are defined as, where kernels come nearer.
        let defined = run::by_definition(subject, subject.before, &inputs, (trial.aliased, floats), deadline);
        let mut firsts = vec![(&a, ra)];
        if let Run::Done(d) = &defined {
            firsts.push((d, ra));
        }
        // What meets no rounding at these inputs, by chance, meets one beside them.
        let beside: Vec<(Vec<Ran>, Ran)> = (1..=BESIDE).filter_map(|seed| lab.first_beside(seed, floats)).collect();
        firsts.extend(beside.iter().flat_map(|(all, wide)| all.iter().map(move |ran| (ran, wide))));
        if worse(&firsts, &b, ra, rb).is_some() {
            return Err(format!("output {k} is rounded more than 12 times as far as before, and 64 units"));
        }
        held = held.saturating_add(1);
    }
    if held == 0 && Instant::now() >= deadline {
        return Err(over());
    }
    if held == 0 {
        return Err("no inputs could be run on both graphs to see what rounding does".into());
    }
    Ok(held)
}

/// Regimes that leave one tensor ordinary where others lie close together.
fn beside(subject: &Subject<'_>) -> Vec<Regime> {
    let float = |kind: &Kind| matches!(kind, Kind::Tensor(t) if t.dtype.is_float() || t.dtype.is_complex());
    let drawn = |(k, i): (usize, &Input)| (float(&i.kind) && i.domain.is_any()).then_some(Regime::Beside(k));
    let all: Vec<Regime> = subject.inputs.iter().enumerate().filter_map(drawn).take(LEFT_ORDINARY).collect();
    if all.len() > 1 { all } else { Vec::new() }
}

/// Trials in the working range: first those that tell most of rounding, size by size of the first ones. Fills round little.
fn telling_first(trials: &Trials, beside: &[Regime]) -> Vec<Trial> {
    let inside = trials.list.iter().filter(|t| t.ground == Ground::Inside);
    let first = inside.clone().find(|t| t.regime == Regime::Offset(1));
    let more = |t: &Trial| beside.iter().map(|r| Trial { regime: r.clone(), ..t.clone() }).collect::<Vec<_>>();
    let mut all: Vec<Trial> = inside.cloned().chain(first.into_iter().flat_map(more)).collect();
    all.sort_by_key(|t| {
        let late = tells(&t.regime);
        let first = t.sizes < FIRST_SIZES && late < u8::MAX;
        if first { (t.sizes, late) } else { (usize::MAX, u8::MAX) }
    });
    all
}

/// How late a regime is asked for what rounding does: what lies close together, and what is tiny, cancels.
fn tells(regime: &Regime) -> u8 {
    match regime {
        Regime::Offset(1) => 0,
        Regime::Normal(1) => 1,
        Regime::Small(_) => 2,
        Regime::Beside(_) => 3,
        Regime::Large(_) => 4,
        Regime::Ramp | Regime::Normal(_) | Regime::Offset(_) | Regime::Halves(_) => 5,
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
        (farthest(y, q) > 12.0 * off + 64.0 * unit * scale + flushed).then_some(k)
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
    use crate::ops::Registry;
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
        let over = rounding(&mut subject, &trials, options.seed, now).unwrap_err();
        assert!(over.starts_with("time ran out"), "{over}");
        let later = now.checked_add(std::time::Duration::from_secs(600)).unwrap();
        assert!(rounding(&mut subject, &trials, options.seed, later).unwrap() > 0);
    }
}
