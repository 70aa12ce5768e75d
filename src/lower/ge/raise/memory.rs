//! Memory that operators write: which it is, and whether edges say who reads it when.
//!
//! GE names an output as the input whose memory it is. So what a writer gives is the memory that it was given, through as many writers as there are,
//! and back to an input where it came from one.
//!
//! Promises: whoever reads an input's memory, under whichever of these names, is ordered against each who writes it; memory that is no input's is read
//! before it is written; a write into what an operator passes on of an input, which may be a copy or not, is refused.

use std::collections::HashMap;

use super::wires::Wire;
use super::{RaiseError, Raising};
use crate::lower::ge::operators;
use crate::lower::ge::proto::OpDef;

/// Operators that give what they take, in other sizes or none: whether in its memory, nobody says.
const PASSING: [&str; 7] = ["Identity", "Reshape", "Squeeze", "Unsqueeze", "ExpandDims", "FlattenV2", "Bitcast"];

fn is_input(op: &OpDef) -> bool {
    matches!(op.r#type.as_str(), "Data" | "RefData")
}

/// The name of an output as that of an input: outputs of lists are numbered.
fn bare(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Whether an operator writes one of its inputs: GE names that output as the input.
fn written_slots(op: &OpDef) -> Vec<usize> {
    let Some(known) = operators::operator(&op.r#type).filter(|_| !is_input(op)) else { return Vec::new() };
    let outputs: Vec<&str> = known.outputs.iter().map(|(n, _)| *n).collect();
    let is_written = |name: &str| outputs.contains(&name) || outputs.contains(&bare(name));
    let writes = |name: &str| {
        known
            .inputs
            .iter()
            .any(|s| s.name == name || name.strip_prefix(s.name).is_some_and(|n| n.parse::<u32>().is_ok()))
            && is_written(name)
    };
    op.input_desc.iter().enumerate().filter(|(_, d)| writes(&d.name)).map(|(i, _)| i).collect()
}

/// Which input an output is, where an operator writes that.
fn written_by(op: &OpDef, output: usize) -> Option<usize> {
    let name = &op.output_desc.get(output)?.name;
    written_slots(op).into_iter().find(|slot| op.input_desc.get(*slot).is_some_and(|d| d.name == *name))
}

impl Raising<'_, '_> {
    /// The memory that an edge carries: what the first of a chain of writers was given.
    fn root(&self, wire: Wire) -> Wire {
        let mut at = wire;
        // There is no cycle.
        while let Some(slot) = self.ge.op.get(at.0).and_then(|op| written_by(op, at.1)) {
            match self.wires.data.get(at.0).and_then(|d| d.get(slot)).copied().flatten() {
                Some(before) => at = before,
                None => break,
            }
        }
        at
    }

    /// What operators passed on to give that memory, through writers or not.
    fn source(&self, wire: Wire) -> Wire {
        let mut at = self.root(wire);
        while let Some(op) = self.ge.op.get(at.0).filter(|op| PASSING.contains(&op.r#type.as_str())) {
            let slot = op.input_desc.iter().position(|d| d.name == "x").unwrap_or(0);
            match self.wires.data.get(at.0).and_then(|d| d.get(slot)).copied().flatten() {
                Some(before) => at = self.root(before),
                None => break,
            }
        }
        at
    }

    fn comes_from_an_input(&self, wire: Wire) -> bool {
        self.ge.op.get(wire.0).is_some_and(is_input)
    }

    /// The slots of an operator whose memory is an input's, and written.
    pub(super) fn written_inputs(&self, at: usize) -> Vec<usize> {
        let Some(op) = self.ge.op.get(at) else { return Vec::new() };
        let wire = |slot: &usize| self.wires.data.get(at).and_then(|d| d.get(*slot)).copied().flatten();
        let is_of_input = |slot: &usize| wire(slot).is_some_and(|w| self.comes_from_an_input(self.root(w)));
        written_slots(op).into_iter().filter(is_of_input).collect()
    }

    /// Holds all that is written to what edges say.
    pub(super) fn check_writes(&self) -> Result<(), RaiseError> {
        let mut writers: Vec<(usize, Wire)> = Vec::new();
        for (writer, op) in self.ge.op.iter().enumerate() {
            let data = self.wires.data.get(writer).map_or(&[][..], Vec::as_slice);
            writers.extend(written_slots(op).into_iter().filter_map(|slot| Some((writer, (*data.get(slot)?)?))));
        }
        if writers.is_empty() {
            return Ok(());
        }
        let (mut under_name, mut of_memory): (HashMap<Wire, Vec<usize>>, HashMap<Wire, Vec<usize>>) =
            Default::default();
        for (reader, data) in self.wires.data.iter().enumerate() {
            for wire in data.iter().flatten() {
                under_name.entry(*wire).or_default().push(reader);
                of_memory.entry(self.root(*wire)).or_default().push(reader);
            }
        }
        for (writer, wire) in writers {
            let root = self.root(wire);
            match self.comes_from_an_input(root) {
                true => self.check_write(writer, of_memory.get(&root), true)?,
                false if self.comes_from_an_input(self.source(root)) => {
                    return Err(RaiseError::PassedOn { writer: self.name(writer), passed: self.name(root.0) });
                }
                false => self.check_write(writer, under_name.get(&wire), false)?,
            }
        }
        Ok(())
    }

    /// Each reader comes before the writer by edges, or, of an input's memory, after it.
    fn check_write(&self, writer: usize, readers: Option<&Vec<usize>>, is_input: bool) -> Result<(), RaiseError> {
        let earlier = self.wires.before(writer);
        for reader in readers.into_iter().flatten().copied().filter(|r| *r != writer) {
            let ordered =
                earlier.get(reader) == Some(&true) || is_input && self.wires.before(reader).get(writer) == Some(&true);
            if !ordered {
                return Err(RaiseError::Unordered { writer: self.name(writer), reader: self.name(reader) });
            }
        }
        Ok(())
    }

    fn name(&self, at: usize) -> String {
        self.ge.op.get(at).map(|o| o.name.clone()).unwrap_or_default()
    }
}
