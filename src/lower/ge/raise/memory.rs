//! Memory that operators write: which it is, and whether edges say who reads it when.
//!
//! GE names an output as the input whose memory it is. So what a writer gives is the memory that it was given, through as many writers as there are,
//! and back to an input where it came from one.
//!
//! Promises: whoever reads an input's memory, under whichever of these names, or what an operator passes on of it, which may be a copy or not, is ordered
//! against each who writes it; memory that is no input's is read before it is written, under each of its names but those that the writer gives; a write
//! into what an operator passes on of an input is refused.

use rustc_hash::FxHashMap;

use super::wires::Wire;
use super::{RaiseError, Raising};
use crate::lower::ge::operators;
use crate::lower::ge::written::WrittenOp;

/// Operators that give what they take, in other sizes or none: whether in its memory, nobody says.
const PASSING: [&str; 7] = ["Identity", "Reshape", "Squeeze", "Unsqueeze", "ExpandDims", "FlattenV2", "Bitcast"];

fn is_input(op: &WrittenOp<'_>) -> bool {
    matches!(op.r#type, "Data" | "RefData")
}

/// The name of an output as that of an input: outputs of lists are numbered.
fn bare(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Whether an operator writes one of its inputs: GE names that output as the input.
fn written_slots(op: &WrittenOp<'_>) -> Vec<usize> {
    let Some(known) = operators::operator(op.r#type).filter(|_| !is_input(op)) else { return Vec::new() };
    // Most operators name no output as an input, by whatever number.
    let may_write = |name: &str| known.inputs.iter().any(|s| bare(s.name) == bare(name));
    if !known.outputs.iter().any(|(n, _)| may_write(n)) {
        return Vec::new();
    }
    let outputs: Vec<&str> = known.outputs.iter().map(|(n, _)| *n).collect();
    let is_written = |name: &str| outputs.contains(&name) || outputs.contains(&bare(name));
    let writes = |name: &str| {
        known
            .inputs
            .iter()
            .any(|s| s.name == name || name.strip_prefix(s.name).is_some_and(|n| n.parse::<u32>().is_ok()))
            && is_written(name)
    };
    op.input_desc.iter().enumerate().filter(|(_, d)| writes(d.name)).map(|(i, _)| i).collect()
}

/// Which input an output is, where an operator writes that.
fn written_by(op: &WrittenOp<'_>, output: usize) -> Option<usize> {
    let name = op.output_desc.get(output)?.name;
    written_slots(op).into_iter().find(|slot| op.input_desc.get(*slot).is_some_and(|d| d.name == name))
}

impl Raising<'_, '_> {
    /// What a writer was given of the memory that an edge carries; nothing where none wrote it.
    fn written_from(&self, wire: Wire) -> Option<Wire> {
        let slot = self.ge.op.get(wire.0).and_then(|op| written_by(op, wire.1))?;
        self.wires.data.get(wire.0)?.get(slot).copied().flatten()
    }

    /// What an operator passes on as an edge, perhaps in its memory.
    fn passed_from(&self, wire: Wire) -> Option<Wire> {
        let op = self.ge.op.get(wire.0).filter(|op| PASSING.contains(&op.r#type))?;
        let slot = op.input_desc.iter().position(|d| d.name == "x").unwrap_or(0);
        self.wires.data.get(wire.0)?.get(slot).copied().flatten()
    }

    /// The memory that an edge carries: what the first of a chain of writers was given.
    fn root(&self, wire: Wire) -> Wire {
        // There is no cycle.
        std::iter::successors(Some(wire), |at| self.written_from(*at)).last().unwrap_or(wire)
    }

    /// What an operator wrote or passed on as an edge.
    fn named_before(&self, wire: Wire) -> Option<Wire> {
        self.written_from(wire).or_else(|| self.passed_from(wire))
    }

    /// What operators passed on to give the memory of an edge, through writers or not; of all that were asked for, each step is taken once.
    fn source(&self, wire: Wire, known: &mut FxHashMap<Wire, Wire>) -> Wire {
        let (mut at, mut way) = (wire, Vec::new());
        let found = loop {
            if let Some(found) = known.get(&at) {
                break *found;
            }
            way.push(at);
            match self.named_before(at) {
                Some(before) => at = before,
                None => break at,
            }
        };
        known.extend(way.into_iter().map(|name| (name, found)));
        found
    }

    /// Returns the outputs of the graph that operators pass on of what an edge carries, each with the last of them.
    pub(super) fn passed_on(&self, from: Wire) -> Vec<(usize, usize)> {
        let outputs = self.wires.data.get(self.wires.end).map_or(&[][..], Vec::as_slice);
        let passes = |wire: Wire| std::iter::successors(Some(wire), |at| self.passed_from(*at)).last() == Some(from);
        let given = outputs.iter().enumerate().filter_map(|(place, wire)| Some((place, (*wire)?)));
        given.filter(|(_, wire)| *wire != from && passes(*wire)).map(|(place, wire)| (place, wire.0)).collect()
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
        let mut known: FxHashMap<Wire, Wire> = FxHashMap::default();
        let mut readers: FxHashMap<Wire, Vec<(usize, Wire)>> = FxHashMap::default();
        for (reader, data) in self.wires.data.iter().enumerate() {
            for wire in data.iter().flatten() {
                readers.entry(self.source(*wire, &mut known)).or_default().push((reader, *wire));
            }
        }
        for (writer, wire) in writers {
            let (root, source) = (self.root(wire), self.source(wire, &mut known));
            let is_input = self.comes_from_an_input(root);
            if !is_input && self.comes_from_an_input(source) {
                return Err(RaiseError::PassedOn { writer: self.name(writer), passed: self.name(root.0) });
            }
            self.check_write(writer, readers.get(&source).map_or(&[], Vec::as_slice), is_input)?;
        }
        Ok(())
    }

    /// Each reader comes before the writer by edges, or after it: of an input's memory by edges, of other memory by what the writer gives.
    fn check_write(&self, writer: usize, readers: &[(usize, Wire)], is_input: bool) -> Result<(), RaiseError> {
        let earlier = self.wires.before(writer);
        for (reader, wire) in readers.iter().copied().filter(|(reader, _)| *reader != writer) {
            let later = || match is_input {
                true => self.wires.before(reader).get(writer) == Some(&true),
                false => std::iter::successors(Some(wire), |at| self.named_before(*at)).any(|name| name.0 == writer),
            };
            if earlier.get(reader) != Some(&true) && !later() {
                return Err(RaiseError::Unordered { writer: self.name(writer), reader: self.name(reader) });
            }
        }
        Ok(())
    }

    fn name(&self, at: usize) -> String {
        self.ge.op.get(at).map(|o| o.name.to_string()).unwrap_or_default()
    }
}
