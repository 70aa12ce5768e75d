//! A GE graph as producers and consumers: what each entry of `input` names, and an order in which every producer comes first.
//!
//! Promises: every edge leads to an operator and an output that are there, every data edge has its descriptor, and there is no cycle; else
//! the graph is no graph.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;

use super::RaiseError;
use crate::lower::ge::proto::edge;
use crate::lower::ge::written::{Written, WrittenOp};
use crate::sym::KeyedMap;

/// Producer and output.
pub type Wire = (usize, usize);

/// The edges of a graph.
pub struct Wires {
    /// One an operator: its data inputs in order; none where a slot is not fed.
    pub data: Vec<Vec<Option<Wire>>>,
    /// One an operator: those that must have run before it.
    pub control: Vec<Vec<usize>>,
    /// Operators, producers first, and otherwise as they stand.
    pub order: Vec<usize>,
    /// NetOutput.
    pub end: usize,
}

fn malformed<T>(what: String) -> Result<T, RaiseError> {
    Err(RaiseError::Malformed(what))
}

impl Wires {
    /// Reads the edges of a graph.
    pub fn of(graph: &Written<'_>) -> Result<Self, RaiseError> {
        let mut places: KeyedMap<&str, usize> = KeyedMap::default();
        places.reserve(graph.op.len());
        for (i, op) in graph.op.iter().enumerate() {
            if places.insert(op.name, i).is_some() {
                return malformed(format!("two operators are named `{}`", op.name));
            }
        }
        let ends: Vec<usize> =
            graph.op.iter().enumerate().filter(|(_, o)| o.r#type == "NetOutput").map(|(i, _)| i).collect();
        let &[end] = ends.as_slice() else { return malformed(format!("{} operators NetOutput, not one", ends.len())) };
        let mut wires = Wires { data: Vec::new(), control: Vec::new(), order: Vec::new(), end };
        for op in &graph.op {
            let (data, control) = of_operator(graph, &places, op)?;
            wires.data.push(data);
            wires.control.push(control);
        }
        wires.sort()?;
        Ok(wires)
    }

    /// Returns the producers of an operator, by data and by control.
    pub fn producers(&self, op: usize) -> impl Iterator<Item = usize> + '_ {
        let data = self.data.get(op).into_iter().flatten().flatten().map(|(p, _)| *p);
        data.chain(self.control.get(op).into_iter().flatten().copied())
    }

    fn sort(&mut self) -> Result<(), RaiseError> {
        let count = self.data.len();
        let mut consumers: Vec<SmallVec<[usize; 2]>> = vec![SmallVec::new(); count];
        let mut open: Vec<usize> = vec![0; count];
        for op in 0..count {
            for producer in self.producers(op) {
                if let (Some(list), Some(n)) = (consumers.get_mut(producer), open.get_mut(op)) {
                    list.push(op);
                    *n = n.saturating_add(1);
                }
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> =
            open.iter().enumerate().filter(|(_, n)| **n == 0).map(|(i, _)| Reverse(i)).collect();
        while let Some(Reverse(op)) = ready.pop() {
            self.order.push(op);
            for consumer in consumers.get(op).into_iter().flatten() {
                if let Some(n) = open.get_mut(*consumer) {
                    *n = n.saturating_sub(1);
                    if *n == 0 {
                        ready.push(Reverse(*consumer));
                    }
                }
            }
        }
        if self.order.len() < count { malformed("its edges make a cycle".into()) } else { Ok(()) }
    }

    /// Returns what must have run before an operator begins.
    pub fn before(&self, op: usize) -> Vec<bool> {
        let mut seen = vec![false; self.data.len()];
        let mut open = vec![op];
        while let Some(at) = open.pop() {
            for producer in self.producers(at) {
                if let Some(mark) = seen.get_mut(producer)
                    && !*mark
                {
                    *mark = true;
                    open.push(producer);
                }
            }
        }
        seen
    }
}

type Edges = (Vec<Option<Wire>>, Vec<usize>);

fn of_operator(graph: &Written<'_>, places: &KeyedMap<&str, usize>, op: &WrittenOp<'_>) -> Result<Edges, RaiseError> {
    let (mut data, mut control) = (Vec::new(), Vec::new());
    for input in &op.input {
        if input.is_empty() {
            data.push(None);
            continue;
        }
        let (name, at) = match edge(input) {
            Some((name, at)) => (Some(name), Some(at)),
            None => (input.strip_suffix(":-1"), None),
        };
        let Some(producer) = name.and_then(|n| places.get(n)).copied() else {
            return malformed(format!("`{}` takes `{input}`, which is not there", op.name));
        };
        match at {
            None => control.push(producer),
            Some(at) => {
                if graph.op.get(producer).is_none_or(|p| at >= p.output_desc.len()) {
                    return malformed(format!("`{}` takes `{input}`, an output that is not there", op.name));
                }
                data.push(Some((producer, at)));
            }
        }
    }
    // What the host feeds has a descriptor, and no edge.
    let is_fed_by_host = matches!(op.r#type, "Data" | "RefData");
    if data.len() != op.input_desc.len() && !is_fed_by_host {
        let (edges, slots) = (data.len(), op.input_desc.len());
        return malformed(format!("`{}` has {edges} data edges and {slots} descriptors", op.name));
    }
    Ok((data, control))
}
