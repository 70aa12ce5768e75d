//! What shows a difference on a region, tried on the whole graphs.
//!
//! Inputs that the region has too take the values that show it there. A value of the frontier that is no input is given to a user input of its
//! sizes, and the weights are made transparent: matrices that pass on what they are given, factors of 1 or of 0. Whether it arrives is seen in the runs.
//!
//! Promises: a witness is one of the whole graphs, on which both ran. Leaves which regions differ to `search`.

use std::time::Instant;

use crate::exec::Value;
use crate::graph::Graph;
use crate::ops::Registry;
use crate::verify::differ::error::Ground;
use crate::verify::differ::lies::Lies;
use crate::verify::differ::regimes::Regime;
use crate::verify::differ::region::cut::Region;
use crate::verify::differ::run::{self, From};
use crate::verify::differ::sizes::Sizes;
use crate::verify::differ::subject::{Kind, Subject};
use crate::verify::differ::trials::{self, Trial};
use crate::verify::differ::witness::Held;
use crate::verify::differ::{Once, Witness, once};
use crate::verify::options::JudgeOptions;

/// How the inputs are filled that the region does not have.
const AROUND: [Regime; 4] = [Regime::Transparent(1), Regime::Transparent(0), Regime::Normal(1), Regime::Normal(2)];

/// Sizes with which it is tried.
const SIZES: usize = 2;

/// Runs the whole graphs on inputs made of what shows a difference on a region.
pub fn replay(
    [before, after]: [&Graph; 2],
    registry: &Registry,
    options: &JudgeOptions,
    (region, shown): (&Region, &Witness),
    deadline: Instant,
) -> Option<Witness> {
    let mut subject = Subject::of(before, after, registry, options).ok()?;
    let trials = trials::of(&mut subject, options.budget.bytes);
    let agrees = |sizes: &&Sizes| {
        let same = |(name, size): &(String, i64)| sizes.iter().all(|(n, s)| n != name || s == size);
        shown.sizes.iter().all(same)
    };
    let sizes: Vec<Sizes> = trials.sizes.iter().filter(agrees).take(SIZES).cloned().collect();
    for sizes in &sizes {
        for regime in AROUND {
            if Instant::now() >= deadline {
                return None;
            }
            let trial =
                Trial { sizes: 0, regime, lies: Lies::default(), ground: Ground::Inside, aliased: shown.aliased };
            let Some(mut inputs) = run::inputs(&mut subject, sizes, From::Trial(&trial, options.seed)) else {
                continue;
            };
            put(&subject, &mut inputs, region, shown);
            let trial = Trial { ground: run::ground(&inputs, subject.is_narrow()), ..trial };
            if let Once::Differs(difference) = once(&subject, &trial, &inputs, deadline) {
                return Some(Witness::of(&subject, sizes, &trial, &inputs, difference));
            }
        }
    }
    None
}

/// Puts the values of a region's inputs into those of the whole graph.
fn put(subject: &Subject<'_>, inputs: &mut [Value], region: &Region, shown: &Witness) {
    let is_stand_in = |h: &&Held| region.stand_ins.iter().any(|(name, _)| *name == h.name);
    let mut taken = vec![false; inputs.len()];
    let own = shown.inputs.iter().filter(|h| !is_stand_in(h));
    for (held, by_name) in own.map(|h| (h, true)).chain(shown.inputs.iter().filter(is_stand_in).map(|h| (h, false))) {
        for ((value, input), taken) in inputs.iter_mut().zip(&subject.inputs).zip(&mut taken) {
            let is_one = if by_name { input.name == held.name } else { input.target.is_none() };
            if *taken || !is_one || !matches!(input.kind, Kind::Tensor(_)) || !input.domain.is_any() {
                continue;
            }
            let Value::Tensor(t) = &*value else { continue };
            if held.dtype != Some(t.dtype()) || held.sizes != t.sizes() {
                continue;
            }
            if let Some(made) = run::tensor(t.meta.clone(), &held.values) {
                *value = Value::Tensor(made);
                *taken = true;
                break;
            }
        }
    }
}
