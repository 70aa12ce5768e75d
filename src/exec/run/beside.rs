//! Two graphs on the same inputs: the first node whose value differs.
//!
//! Nodes are matched by name. Values of the first graph are kept until the second has run.

use std::collections::VecDeque;

use serde::Serialize;

use super::program::{Observer, Step};
use crate::exec::closeness::{Tolerance, compare};
use crate::exec::tensor::Tensor;
use crate::exec::tensor::storage::Meter;
use crate::exec::tensor::value::Value;
use crate::graph::View;
use crate::sym::KeyedMap;

/// Keeps every tensor that a run makes.
#[derive(Default)]
pub struct Keep {
    /// Of a node that runs again, in a loop, each time in order.
    values: KeyedMap<String, VecDeque<Vec<Tensor>>>,
    meter: Meter,
}

impl Observer for Keep {
    fn computed(&mut self, step: &Step<'_>) {
        // Copies: later nodes may write into what this one made.
        let copies = tensors(step.result).filter_map(|t| t.resolved(&self.meter).ok()).collect();
        self.values.entry(step.graph.name(step.node).into()).or_default().push_back(copies);
    }
}

fn tensors(value: &Value) -> impl Iterator<Item = &Tensor> {
    value.items().iter().filter_map(Value::as_tensor)
}

/// A node whose value differs between two graphs.
#[derive(Debug, Serialize)]
pub struct Differing {
    /// Its name.
    pub node: String,
    /// What it calls in the second graph.
    pub target: String,
    /// What differs.
    pub reason: String,
    /// Largest absolute difference, of equal shapes.
    pub max_abs: Option<f64>,
}

/// Holds every value of a second run against the first run's.
pub struct Against {
    first: Keep,
    /// The first node that differs, in the order of the second graph.
    pub differing: Option<Differing>,
    /// How many nodes were compared.
    pub compared: usize,
}

impl Against {
    /// Returns an observer of the second run.
    pub fn new(first: Keep) -> Self {
        Against { first, differing: None, compared: 0 }
    }
}

impl Observer for Against {
    fn computed(&mut self, step: &Step<'_>) {
        let name = step.graph.name(step.node);
        let Some(expected) = self.first.values.get_mut(name).and_then(VecDeque::pop_front) else { return };
        if self.differing.is_some() {
            return;
        }
        self.compared = self.compared.saturating_add(1);
        let found: Vec<&Tensor> = tensors(step.result).collect();
        let differs = |reason: String, max_abs| {
            let target = step.graph.target(step.node).to_string();
            Some(Differing { node: name.into(), target, reason, max_abs })
        };
        if found.len() != expected.len() {
            self.differing = differs(format!("{} tensors here, {} in the first", found.len(), expected.len()), None);
            return;
        }
        for (found, expected) in found.into_iter().zip(&expected) {
            match compare(found, expected, Tolerance::close(expected.dtype())) {
                Ok(c) if c.equal => {}
                Ok(c) => {
                    let (at, here, there) = c.first.unwrap_or_default();
                    let reason = format!("element {at} is {here} here, {there} in the first; {} differ", c.wrong);
                    self.differing = differs(reason, Some(c.max_abs));
                    return;
                }
                Err(fault) => {
                    self.differing = differs(fault.to_string(), None);
                    return;
                }
            }
        }
    }
}
