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

#[cfg(test)]
mod tests {
    use std::time::Duration;
    use std::time::Instant;

    use super::*;
    use crate::graph::BodyId;
    use crate::verify::JudgeOptions;
    use crate::verify::differ::regimes::Regime;
    use crate::verify::differ::run::From;
    use crate::verify::differ::subject::Subject;
    use crate::verify::tests::programs::{program, registry};

    /// The nodes of a program that are nothing but rounding on ordinary inputs.
    fn vanishing_in(inputs: &str, lines: &str, floats: Option<Floats>) -> Vec<String> {
        let graph = program(inputs, lines);
        let (registry, options) = (registry(), JudgeOptions::default());
        let mut subject = Subject::of(&graph, &graph, &registry, &options).unwrap();
        let inputs = run::inputs(&mut subject, &Vec::new(), From::Regime(&Regime::Normal(1))).unwrap();
        let deadline = Instant::now().checked_add(Duration::from_secs(600)).unwrap();
        let found = vanishing(&Lab::new(&subject, &inputs, false, deadline), &graph, floats);
        assert!(found.iter().all(|n| graph.nodes(BodyId::ROOT).any(|own| own == *n)));
        found.iter().map(|n| graph.name(*n).to_string()).collect()
    }

    #[test]
    fn what_cancels_only_over_the_reals_is_told_and_what_is_made_of_it_is_not() {
        let lines = "a = aten.div.Tensor(x, 49.0)\nb = aten.mul.Tensor(a, 49.0)\nd = aten.sub.Tensor(x, b)
            e = aten.mul.Tensor(d, 1e8)\nf = aten.add.Tensor(e, x)\nreturn (f, e)";
        assert_eq!(vanishing_in("x: f32[64]", lines, None), ["d"]);
    }

    #[test]
    fn what_is_zero_bit_by_bit_and_what_is_small_is_none() {
        let lines = "z = aten.sub.Tensor(x, x)\nn = aten.neg.default(x)\nw = aten.add.Tensor(x, n)
            s = aten.mul.Tensor(x, 1e-30)\nreturn (z, w, s)";
        assert!(vanishing_in("x: f32[64]", lines, None).is_empty());
    }

    #[test]
    fn in_f64_it_is_seen_where_that_is_f32() {
        let lines =
            "a = aten.div.Tensor(x, 49.0)\nb = aten.mul.Tensor(a, 49.0)\nd = aten.sub.Tensor(x, b)\nreturn (d,)";
        assert!(vanishing_in("x: f64[64]", lines, None).is_empty());
        assert_eq!(vanishing_in("x: f64[64]", lines, Some(Floats::Single)), ["d"]);
    }
}
