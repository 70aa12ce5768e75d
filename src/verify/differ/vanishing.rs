//! Values that are nothing but rounding: what cancels over the reals, and does not where it is rounded.
//!
//! Promises: a value that is a thousand times what it is in a run that rounds far less is found on any inputs on which it is not 0 by chance, whatever it is multiplied by afterwards. Only the first ones
//! are told, not what is made of them; programs of many elements are not looked at. Leaves it to `sampled` to hold both programs against one another.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::exec::{Floats, Observer, Step};
use crate::graph::{Graph, NodeId, View};
use crate::rules::rounding::flushed;
use crate::verify::differ::lab::Lab;
use crate::verify::differ::run::{self, Run};

/// How often as large a value is as in the wide run to be nothing but rounding.
const TIMES: f64 = 1000.0;
/// How many elements may be kept of a run.
const ELEMENTS: usize = 1 << 21;

/// Returns the nodes of a program whose values are nothing but rounding on a trial's inputs, and are made of none such.
pub fn vanishing(lab: &Lab<'_, '_>, graph: &Graph, floats: Option<Floats>) -> Vec<NodeId> {
    let mut wide = Largest::default();
    let run = |floats, observer: &mut dyn Observer| {
        run::watched(lab.subject, graph, lab.inputs, (lab.aliased, floats), lab.deadline, observer)
    };
    if !matches!(run(Some(Floats::Wide), &mut wide), Run::Done(_)) {
        return Vec::new();
    }
    let mut own = Beside { wide: wide.of, found: FxHashSet::default(), first: Vec::new() };
    match run(floats, &mut own) {
        Run::Done(_) => own.first,
        _ => Vec::new(),
    }
}

/// The greatest magnitude of each node's floats, where all are finite.
#[derive(Default)]
struct Largest {
    of: FxHashMap<NodeId, f64>,
    seen: usize,
}

impl Observer for Largest {
    fn computed(&mut self, step: &Step<'_>) {
        if let Some((most, _)) = largest(step, &mut self.seen) {
            self.of.insert(step.node, most);
        }
    }
}

/// Returns the greatest magnitude of a float that a call gave, and what its dtype does not tell from 0.
fn largest(step: &Step<'_>, seen: &mut usize) -> Option<(f64, f64)> {
    let t = step.result.as_tensor().filter(|t| t.dtype().is_float() || t.dtype().is_complex())?;
    *seen = seen.saturating_add(t.meta.numel());
    if *seen > ELEMENTS {
        return None;
    }
    let parts = t.parts().ok()?;
    let all_finite = parts.iter().all(|v| v.is_finite());
    all_finite.then(|| (parts.iter().fold(0.0, |most: f64, v| most.max(v.abs())), flushed(t.dtype())))
}

/// Holds a run against the wide one.
struct Beside {
    wide: FxHashMap<NodeId, f64>,
    found: FxHashSet<NodeId>,
    first: Vec<NodeId>,
}

impl Observer for Beside {
    fn computed(&mut self, step: &Step<'_>) {
        let Some(wide) = self.wide.get(&step.node) else { return };
        let Some((most, nothing)) = largest(step, &mut 0) else { return };
        if most > TIMES * (wide + nothing) {
            let is_first = !step.graph.operands(step.node).any(|n| self.found.contains(&n));
            if self.found.insert(step.node) && is_first {
                self.first.push(step.node);
            }
        }
    }
}
