//! Which values of two graphs are alike in one wide run of both: where to look first, and evidence of nothing.
//!
//! Promises: no answer rests on what is found here; where the graphs cannot be run, nothing is. The same graphs give the same likeness.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::analysis::Place;
use crate::exec::{Floats, Observer, Step, Tensor, Value};
use crate::graph::Graph;
use crate::ops::Registry;
use crate::term::term::Side;
use crate::verify::differ::regimes::Regime;
use crate::verify::differ::run::{self, From};
use crate::verify::differ::subject::Subject;
use crate::verify::differ::trials;
use crate::verify::options::JudgeOptions;

/// How far apart sums may be beside the sum of magnitudes: wide runs differ by far less.
const NEAR: f64 = 1e-7;
/// How far apart they are at least where no rounding of a wide run explains it.
const FAR: f64 = 1e-6;

/// A tensor in few numbers: a sum with a weight for each place, and the sum of magnitudes.
#[derive(Copy, Clone, Debug)]
pub struct Print {
    sum: f64,
    all: f64,
}

impl Print {
    fn of(t: &Tensor) -> Option<Print> {
        let elements = t.parts().ok()?;
        let (mut sum, mut all, mut weight) = (0.0, 0.0, 0x9e37_79b9_u32);
        for v in elements {
            weight = weight.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // What is not finite is a number of its own.
            let v = if v.is_nan() { 3e3 } else { v.clamp(-1e6, 1e6) };
            sum += v * (0.5 + f64::from(weight >> 16) / 65536.0);
            all += v.abs();
        }
        Some(Print { sum, all })
    }

    /// An order by size.
    pub fn total_cmp(self, other: Print) -> std::cmp::Ordering {
        self.all.total_cmp(&other.all)
    }

    /// Whether it is smaller, and by too much to be alike.
    pub fn is_surely_less(self, other: Print) -> bool {
        other.all - self.all > NEAR * other.all
    }

    /// Whether two differ by no more than roundings.
    pub fn is_like(self, other: Print) -> bool {
        self.is_within(other, NEAR)
    }

    /// Whether two differ by more than roundings of wide runs.
    pub fn is_far_from(self, other: Print) -> bool {
        !self.is_within(other, FAR)
    }

    fn is_within(self, other: Print, part: f64) -> bool {
        let near = part * self.all.max(other.all);
        (self.all - other.all).abs() <= near && (self.sum - other.sum).abs() <= near
    }
}

/// What each value was in the run of its graph.
pub type Prints = FxHashMap<(Side, Place), Print>;

/// Notes what each call gives.
struct Noted<'p> {
    side: Side,
    prints: &'p mut Prints,
}

impl Observer for Noted<'_> {
    fn computed(&mut self, step: &Step<'_>) {
        let mut note = |item: u32, value: &Value| {
            if let Some(print) = value.as_tensor().and_then(Print::of) {
                self.prints.insert((self.side, Place { node: step.node, item }), print);
            }
        };
        match step.result {
            one @ Value::Tensor(_) => note(Place::WHOLE, one),
            many => (0_u32..).zip(many.items()).for_each(|(k, item)| note(k, item)),
        }
    }
}

/// Runs both graphs once, on the first ordinary inputs, and notes what each value was.
pub fn prints(before: &Graph, after: &Graph, registry: &Registry, options: &JudgeOptions) -> Option<Prints> {
    let mut subject = Subject::of(before, after, registry, options).ok()?;
    let now = Instant::now();
    let deadline = now.checked_add(Duration::from_millis(options.budget.time_ms)).unwrap_or(now);
    let trials = trials::of(&mut subject, options.budget.bytes);
    let is_normal = |t: &&trials::Trial| matches!(t.regime, Regime::Normal(_));
    let trial = trials.list.iter().find(is_normal)?;
    let inputs = run::inputs(&mut subject, trials.sizes.get(trial.sizes)?, From::Trial(trial, options.seed))?;
    let mut prints = Prints::default();
    for (side, graph) in [(Side::Before, before), (Side::After, after)] {
        let mut noted = Noted { side, prints: &mut prints };
        run::watched(&subject, graph, &inputs, (trial.aliased, Some(Floats::Wide)), deadline, &mut noted);
    }
    Some(prints)
}
