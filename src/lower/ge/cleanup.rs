//! What TorchAir does to a GE graph once all nodes are converted, in its order.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::draft::{Desc, Draft, Op, Source};
use super::proto::{AttrDef, DataType, ListValue, Value};

/// Operators that write a reference: output to the input whose memory it is.
const REFERENCES: &[(&str, &[(usize, usize)])] = &[
    ("AttentionWorkerScheduler", &[(0, 0)]),
    ("FfnWorkerScheduler", &[(0, 0)]),
    ("GatherSelectionKvCache", &[(0, 0), (1, 1), (2, 2), (3, 3)]),
    ("KvRmsNormRopeCache", &[(0, 5), (1, 6)]),
    ("MlaPrologV3", &[(2, 9), (3, 10)]),
    ("QkvRmsNormRopeCache", &[(0, 6), (1, 7), (2, 8)]),
    ("QuantUpdateScatter", &[(0, 0)]),
    ("RecurrentGatedDeltaRule", &[(1, 4)]),
    ("Scatter", &[(0, 0)]),
    ("ScatterNdUpdate", &[(0, 0)]),
    ("ScatterPaKvCache", &[(0, 1), (1, 4)]),
];

/// Operators whose effects are in program order.
const SIDE_EFFECTS: [&str; 3] = ["PrintV2", "AttentionToFFN", "FFNToAttention"];

/// A graph that is being cleaned up.
pub(super) struct Work {
    pub(super) ops: Vec<Op>,
    /// Where a Data's content comes from, by its place among the operators.
    pub(super) info: FxHashMap<usize, String>,
    /// How many FX inputs there are: the next free Data index.
    pub(super) inputs: usize,
    /// Types of the outputs in the numbering of attributes.
    pub(super) output_types: Vec<i64>,
}

fn index_of(op: &Op) -> usize {
    op.attrs.get("index").and_then(AttrDef::as_i).and_then(|i| usize::try_from(i).ok()).unwrap_or(0)
}

impl Work {
    /// Returns the operators that were not taken out.
    pub(super) fn live(&self) -> impl Iterator<Item = &Op> {
        self.ops.iter().filter(|op| !op.is_gone)
    }

    /// Returns the places of the operators of a kind.
    fn places(&self, wanted: impl Fn(&Op) -> bool) -> Vec<usize> {
        self.ops.iter().enumerate().filter(|(_, op)| !op.is_gone && wanted(op)).map(|(i, _)| i).collect()
    }

    pub(super) fn take_out(&mut self, at: usize) {
        if let Some(op) = self.ops.get_mut(at) {
            op.is_gone = true;
        }
    }

    /// Returns the operator that gives what is read, if it is the first output of a Data.
    fn data(&self, input: Source) -> Option<&Op> {
        let Source::Data(op, 0) = input else { return None };
        self.ops.get(op).filter(|op| op.kind == "Data" && !op.is_gone)
    }

    fn output(&self) -> Option<usize> {
        self.ops.iter().position(|op| op.kind == "NetOutput" && !op.is_gone)
    }

    /// A Pack of sizes that the host knows becomes one more Data; equal Packs share it.
    pub(super) fn pack_host_sizes(&mut self) {
        let packs = self.places(|op| {
            op.kind == "Pack" && matches!(op.attrs.get("_inputs_all_sym").map(|a| &a.value), Some(Some(Value::B(true))))
        });
        if packs.is_empty() {
            return;
        }
        let mut names: HashSet<Arc<str>> = self.ops.iter().map(|op| op.name.clone()).collect();
        let mut made: FxHashMap<SmallVec<[Source; 2]>, usize> = FxHashMap::default();
        let mut by: FxHashMap<usize, usize> = FxHashMap::default();
        for at in packs {
            let Some(pack) = self.ops.get(at) else { continue };
            let place = match made.get(&pack.inputs) {
                Some(place) => *place,
                None => {
                    let from: Vec<String> =
                        pack.inputs.iter().filter_map(|i| self.data(*i)).map(|op| index_of(op).to_string()).collect();
                    let (inputs, data) = (pack.inputs.clone(), host_data(free_name(&mut names), self.inputs, pack));
                    let place = self.ops.len();
                    self.info.insert(place, format!("pack:{}", from.join(",")));
                    self.ops.push(data);
                    self.inputs = self.inputs.saturating_add(1);
                    made.insert(inputs, place);
                    place
                }
            };
            by.insert(at, place);
        }
        by.keys().for_each(|at| self.take_out(*at));
        for input in self.ops.iter_mut().flat_map(|op| &mut op.inputs) {
            if let Some(place) = input.op().and_then(|op| by.get(&op)) {
                *input = input.of(*place);
            }
        }
    }

    /// Takes away Data that nothing reads and closes up the indices; returns where each remaining one comes from.
    pub(super) fn remove_dead_data(&mut self) -> Vec<String> {
        let mut is_read = vec![false; self.ops.len()];
        for input in self.live().flat_map(|op| &op.inputs) {
            if let Source::Data(op, 0) = input
                && let Some(mark) = is_read.get_mut(*op)
            {
                *mark = true;
            }
        }
        let is_dead: Vec<bool> = self.ops.iter().zip(&is_read).map(|(op, read)| op.kind == "Data" && !read).collect();
        let mut from = Vec::new();
        for (at, op) in self.ops.iter_mut().enumerate() {
            op.is_gone |= is_dead.get(at) == Some(&true);
            op.inputs.retain(|i| !matches!(i, Source::Control(op) if is_dead.get(*op) == Some(&true)));
            if op.kind == "Data" && !op.is_gone {
                op.attrs.insert("index", Value::I(i64::try_from(from.len()).unwrap_or(i64::MAX)));
                from.push(self.info.get(&at).cloned().unwrap_or_default());
            }
        }
        from
    }

    /// A copy of an input that only a writing operator reads, whose result then is written into that input, is not needed:
    /// the operator may write the input itself. Returns the inputs that are written.
    pub(super) fn drop_moves_before_writes(&mut self) -> Vec<usize> {
        let assigns = self.places(|op| op.kind == "Assign");
        if assigns.is_empty() {
            return Vec::new();
        }
        let mut written_by: FxHashMap<Source, (usize, usize)> = FxHashMap::default();
        for (place, op) in self.ops.iter().enumerate().filter(|(_, op)| !op.is_gone) {
            if !matches!(op.kind, "Data" | "TensorMove" | "Assign" | "NetOutput") {
                for (output, input) in references(op) {
                    written_by.insert(Source::Data(place, output), (place, input));
                }
            }
        }
        let mut readers: FxHashMap<Source, usize> = FxHashMap::default();
        for op in self.live().filter(|op| op.kind != "Data") {
            for input in &op.inputs {
                if written_by.contains_key(input) || (self.data(*input).is_some() && op.kind != "Cmo") {
                    let n = readers.entry(*input).or_default();
                    *n = n.saturating_add(1);
                }
            }
        }
        let is_output = |value: &Source| self.live().any(|op| op.kind == "NetOutput" && op.inputs.contains(value));
        let mut written = Vec::new();
        let mut gone: BTreeSet<usize> = BTreeSet::new();
        let mut edits: Vec<(usize, usize, Source)> = Vec::new();
        for assign in assigns {
            let mut inputs = self.ops.get(assign).into_iter().flat_map(Op::data_inputs);
            let (Some(target), Some(value)) = (inputs.next(), inputs.next()) else { continue };
            let Some(data) = self.data(target) else { continue };
            written.push(index_of(data));
            let Some((writer, slot)) = written_by.get(&value) else { continue };
            let source = self.ops.get(*writer).and_then(|op| op.inputs.get(*slot));
            let Some(Source::Data(moved, 0)) = source else { continue };
            let Some(copy) = self.ops.get(*moved).filter(|op| op.kind == "TensorMove") else { continue };
            if copy.inputs.first() != Some(&target) || readers.get(&target) != Some(&2) {
                continue;
            }
            edits.push((*writer, *slot, target));
            gone.insert(*moved);
            if !is_output(&value) && readers.get(&value) != Some(&1) {
                gone.insert(assign);
            }
        }
        for (writer, slot, input) in edits {
            if let Some(entry) = self.ops.get_mut(writer).and_then(|op| op.inputs.get_mut(slot)) {
                *entry = input;
            }
        }
        gone.into_iter().for_each(|at| self.take_out(at));
        written
    }

    /// An Assign to an input becomes an output that lies in the input's memory; others are only ordered before the end.
    /// Returns output to input.
    pub(super) fn assigns_to_outputs(&mut self) -> BTreeMap<usize, usize> {
        let mut pairs = BTreeMap::new();
        let assigns = self.places(|op| op.kind == "Assign");
        let Some(mut out) = self.output().and_then(|at| self.ops.get(at)).cloned() else { return pairs };
        let target_of = |at: &usize| self.ops.get(*at).and_then(|a| a.data_inputs().next());
        // Of several writes of one input the last is what it holds in the end.
        let last: FxHashMap<Source, usize> = assigns.iter().filter_map(|a| Some((target_of(a)?, *a))).collect();
        let mut gone = Vec::new();
        for at in assigns {
            let Some(assign) = self.ops.get(at) else { continue };
            let mut data_inputs = assign.data_inputs();
            let (Some(target), Some(value)) = (data_inputs.next(), data_inputs.next()) else { continue };
            let Some(data) = self.data(target) else {
                out.inputs.push(Source::Control(at));
                continue;
            };
            gone.push(at);
            if last.get(&target) != Some(&at) {
                continue;
            }
            let index = index_of(data);
            let slots = out.inputs.iter_mut().filter(|i| !i.is_control()).enumerate();
            let mut found = false;
            for (slot, input) in slots.filter(|(_, i)| **i == Source::Data(at, 0) || **i == value) {
                *input = value;
                // An output is made in the memory of one input: who writes the same into another takes an output more.
                found |= *pairs.entry(slot).or_insert(index) == index;
            }
            if found {
                continue;
            }
            let desc = assign.gives.first().cloned().unwrap_or_default();
            let dims = data.gives.first().and_then(|d| d.shape.clone()).unwrap_or_default();
            self.output_types.push(desc.dtype.cpp());
            pairs.insert(out.takes.len(), index);
            let name = format!("input{}", out.takes.len()).into();
            out.inputs.push(value);
            out.takes.push(Desc { name, shape: Some(dims), ..desc });
        }
        gone.into_iter().for_each(|at| self.take_out(at));
        if let Some(op) = self.output().and_then(|at| self.ops.get_mut(at)) {
            *op = out;
        }
        pairs
    }

    /// Chains operators whose effects are in program order, and keeps the last from being dropped.
    pub(super) fn order_side_effects(&mut self, output_ref_input: &BTreeMap<usize, usize>) {
        let effects = self.places(|op| SIDE_EFFECTS.contains(&op.kind));
        if !effects.is_empty() {
            self.chain(&effects);
            self.order_against_writers(&effects, output_ref_input);
        }
        let prefetches = self.places(|op| op.kind == "Cmo");
        self.chain(&prefetches);
    }

    fn chain(&mut self, places: &[usize]) {
        for pair in places.windows(2) {
            if let [before, after] = pair {
                self.control(*before, *after);
            }
        }
        if let (Some(last), Some(out)) = (places.last(), self.output()) {
            let fed = self.ops.get(out).is_some_and(|op| op.inputs.iter().any(|i| i.op() == Some(*last)));
            if !fed {
                self.control(*last, out);
            }
        }
    }

    fn control(&mut self, before: usize, after: usize) {
        let control = Source::Control(before);
        if let Some(op) = self.ops.get_mut(after)
            && !op.inputs.contains(&control)
        {
            op.inputs.push(control);
        }
    }

    fn order_against_writers(&mut self, effects: &[usize], output_ref_input: &BTreeMap<usize, usize>) {
        let datas: FxHashMap<usize, Source> = self
            .places(|op| op.kind == "Data")
            .into_iter()
            .filter_map(|at| Some((index_of(self.ops.get(at)?), Source::Data(at, 0))))
            .collect();
        let out = self.output().and_then(|at| self.ops.get(at));
        let sources: Vec<usize> = out.into_iter().flat_map(Op::data_inputs).filter_map(Source::op).collect();
        let writers: FxHashMap<Source, usize> = output_ref_input
            .iter()
            .filter_map(|(output, input)| Some((*datas.get(input)?, *sources.get(*output)?)))
            .collect();
        let mut edges = Vec::new();
        for effect in effects {
            let mut reads: Vec<Source> = self.ops.get(*effect).map(|op| op.inputs.to_vec()).unwrap_or_default();
            // What a print reads through its format counts as read by the print.
            let formats: Vec<Source> = reads
                .iter()
                .filter_map(|i| if let Source::Data(op, _) = i { self.ops.get(*op) } else { None })
                .filter(|op| op.kind == "StringFormat")
                .flat_map(|op| op.inputs.iter().copied())
                .collect();
            reads.extend(formats);
            let users: BTreeSet<usize> = reads.into_iter().filter_map(|i| writers.get(&i).copied()).collect();
            edges.extend(users.into_iter().map(|user| (*effect.min(&user), *effect.max(&user))));
        }
        for (before, after) in edges {
            self.control(before, after);
        }
    }

    /// Returns the graph with what is derived: name lists, formats, types that nobody set, graph attributes.
    pub(super) fn finish(mut self, ref_data: &[usize]) -> Draft {
        let mut placements: BTreeMap<usize, i64> = BTreeMap::new();
        for op in self.ops.iter_mut().filter(|op| !op.is_gone) {
            if op.kind == "Data" {
                let index = index_of(op);
                let on_host = op.gives.first().is_some_and(|d| d.device == "CPU");
                placements.insert(index, i64::from(!on_host));
                if ref_data.contains(&index) {
                    op.attrs.insert("_origin_data_name", Value::S(op.name.as_bytes().to_vec()));
                    op.name = ref_data_name(op, index).into();
                    op.kind = "RefData";
                }
            }
            normalize(op);
        }
        let list = |i: Vec<i64>| AttrDef::from(Value::List(ListValue { i, ..Default::default() }));
        let attrs = [
            ("_executor_type".to_string(), Value::I(1).into()),
            ("_input_placements".to_string(), list(placements.into_values().collect())),
            ("_output_dtypes".to_string(), list(self.output_types)),
        ];
        Draft { ops: self.ops, attrs: attrs.into() }
    }
}

/// Takes a name for a Data that no operator has.
fn free_name(names: &mut HashSet<Arc<str>>) -> Arc<str> {
    let mut name: Arc<str> = "Data".into();
    let mut count = 0_usize;
    while !names.insert(name.clone()) {
        count = count.saturating_add(1);
        name = format!("Data_{count}").into();
    }
    name
}

fn references(op: &Op) -> Vec<(usize, usize)> {
    if op.kind == "ScatterList" {
        return (0..op.gives.len()).map(|i| (i, i)).collect();
    }
    REFERENCES.iter().find(|(kind, _)| *kind == op.kind).map_or_else(Vec::new, |(_, pairs)| pairs.to_vec())
}

fn host_data(name: Arc<str>, index: usize, pack: &Op) -> Op {
    let desc = Desc {
        dtype: pack.takes.first().map_or(DataType::Undefined, |d| d.dtype),
        layout: "ND".into(),
        device: "CPU",
        shape: Some([i64::try_from(pack.inputs.len()).unwrap_or(i64::MAX)].into()),
        ..Desc::named("x")
    };
    let mut op = Op::new(name, "Data");
    op.attrs.insert("index", Value::I(i64::try_from(index).unwrap_or(i64::MAX)));
    op.takes.push(desc.clone());
    op.gives.push(Desc { name: "y".into(), ..desc });
    op
}

fn ref_data_name(op: &Op, index: usize) -> String {
    let dims = op.gives.first().and_then(|d| d.shape.clone()).unwrap_or_default();
    let mut strides = Vec::with_capacity(dims.len());
    let mut step = 1_i64;
    for d in dims.iter().rev() {
        strides.push(step);
        step = step.saturating_mul(*d);
    }
    strides.reverse();
    let parts: Vec<String> = dims.iter().chain(&strides).map(ToString::to_string).collect();
    format!("RefData_{}_0_ID{index}", parts.join("_"))
}

fn normalize(op: &mut Op) {
    op.attrs.derive();
    if matches!(op.kind, "Data" | "RefData") {
        return;
    }
    let attrs = &op.attrs;
    let format = |key: &str, place: usize| -> Option<String> {
        let list = attrs.get(key).and_then(AttrDef::as_list)?;
        let mut of_slot = list.i.iter().zip(&list.s).rev().filter(|(i, _)| usize::try_from(**i) == Ok(place));
        of_slot.next().map(|(_, s)| String::from_utf8_lossy(s).into_owned())
    };
    for (descs, key) in [(&mut op.takes, "input_layout_info"), (&mut op.gives, "output_layout_info")] {
        for (place, desc) in descs.iter_mut().enumerate().filter(|(_, desc)| !desc.is_unfed) {
            if desc.dtype == DataType::Undefined {
                desc.dtype = DataType::Float;
            }
            desc.layout = format(key, place).map_or("ND".into(), Into::into);
        }
    }
}
