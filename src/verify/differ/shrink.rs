//! A smaller witness: smaller sizes, then values towards 0, 1 and small integers.
//!
//! Promises: what comes out shows the same kind of difference, and was run; values stay in their domains; no more steps are made than the budget
//! has. Leaves the graph as it is.

use std::time::Instant;

use crate::exec::Value;
use crate::formats::text::domain::Domain;
use crate::verify::differ::error::Difference;
use crate::verify::differ::regimes::{Regime, Values};
use crate::verify::differ::run::{self, From};
use crate::verify::differ::sizes::Sizes;
use crate::verify::differ::subject::{Kind, Subject};
use crate::verify::differ::trials::{Trial, Trials};
use crate::verify::differ::witness::{Held, held};
use crate::verify::differ::{Once, once};

/// What shows a difference, on its way to something smaller.
pub struct Shrunk {
    /// The sizes of symbols.
    pub sizes: Sizes,
    /// The inputs.
    pub inputs: Vec<Value>,
    /// What they show.
    pub difference: Difference,
}

struct Shrinker<'a, 's> {
    subject: &'a mut Subject<'s>,
    trial: &'a Trial,
    steps: usize,
    deadline: Instant,
    now: Shrunk,
}

/// Makes what a trial showed smaller.
pub fn shrink(
    subject: &mut Subject<'_>,
    trials: &Trials,
    (trial, seed): (&Trial, u64),
    found: Shrunk,
    (steps, deadline): (usize, Instant),
) -> Shrunk {
    let mut shrinker = Shrinker { subject, trial, steps, deadline, now: found };
    shrinker.sizes(trials, seed);
    for input in 0..shrinker.now.inputs.len() {
        shrinker.values(input);
    }
    shrinker.now
}

impl Shrinker<'_, '_> {
    /// Takes inputs if they show the same kind of difference.
    fn takes(&mut self, sizes: &Sizes, inputs: Vec<Value>) -> bool {
        if self.steps == 0 || Instant::now() >= self.deadline {
            return false;
        }
        self.steps = self.steps.saturating_sub(1);
        let shows = self.now.difference.shows;
        match once(self.subject, self.trial, &inputs, self.deadline) {
            Once::Differs(difference) if difference.shows == shows => {
                self.now = Shrunk { sizes: sizes.clone(), inputs, difference };
                true
            }
            _ => false,
        }
    }

    fn sizes(&mut self, trials: &Trials, seed: u64) {
        // A single NaN stands at a place that smaller inputs may not have.
        if matches!(self.trial.regime, Regime::Nan { .. } | Regime::Given) {
            return;
        }
        let own = run::bytes(self.subject, &self.now.sizes).unwrap_or(usize::MAX);
        let mut smaller: Vec<(usize, &Sizes)> = trials
            .sizes
            .iter()
            .filter_map(|s| Some((run::bytes(self.subject, s)?, s)))
            .filter(|(n, _)| *n < own)
            .collect();
        smaller.sort();
        for (_, sizes) in smaller {
            let Some(inputs) = run::inputs(self.subject, sizes, From::Trial(self.trial, seed)) else {
                continue;
            };
            if self.takes(sizes, inputs) {
                return;
            }
        }
    }

    /// Puts 0, 1 and whole numbers for more and more of an input's elements: half of them, a quarter, and so on.
    fn values(&mut self, input: usize) {
        let Some(stated) = self.subject.inputs.get(input) else { return };
        if matches!(stated.kind, Kind::Fixed(_)) {
            return;
        }
        let domain = stated.domain.clone();
        let name = stated.name.clone();
        let plain: &[f64] = match domain {
            Domain::Any => &[0.0, 1.0],
            Domain::Positive | Domain::Nonzero => &[1.0],
            _ => return,
        };
        let Some(count) = self.held(&name, input).map(|h| h.values.len()) else { return };
        let mut part = count;
        while part > 0 && self.steps > 0 {
            let mut from = 0_usize;
            while from < count && self.steps > 0 {
                let to = from.saturating_add(part).min(count);
                let done = plain.iter().any(|v| self.puts(&name, input, (from, to), |_| *v));
                if !done && part <= 8 {
                    self.puts(&name, input, (from, to), |v| if v.abs() >= 1.0 { v.round() } else { v });
                }
                from = to;
            }
            part = part.checked_div(if part > 64 { 8 } else { 2 }).unwrap_or(0);
        }
    }

    fn held(&self, name: &str, input: usize) -> Option<Held> {
        held(name, self.now.inputs.get(input)?)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    fn puts(&mut self, name: &str, input: usize, (from, to): (usize, usize), new: impl Fn(f64) -> f64) -> bool {
        let Some(mut held) = self.held(name, input) else { return false };
        let Some(Value::Tensor(old)) = self.now.inputs.get(input) else { return false };
        let meta = old.meta.clone();
        let before = held.values.clone();
        let len = to.saturating_sub(from);
        match &mut held.values {
            Values::Floats(all) => all.iter_mut().skip(from).take(len).for_each(|v| *v = new(*v)),
            Values::Whole(all) => all.iter_mut().skip(from).take(len).for_each(|v| *v = new(*v as f64) as i64),
        }
        // Whole numbers lose nothing where they are replaced; NaN equals no NaN, and is replaced once.
        if held.values == before {
            return true;
        }
        let Some(tensor) = run::tensor(meta, &held.values) else { return false };
        let mut inputs = self.now.inputs.clone();
        let Some(slot) = inputs.get_mut(input) else { return false };
        *slot = Value::Tensor(tensor);
        let sizes = self.now.sizes.clone();
        self.takes(&sizes, inputs)
    }
}
