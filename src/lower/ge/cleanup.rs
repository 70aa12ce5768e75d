//! What TorchAir does to a GE graph once all nodes are converted, in its order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::proto::{AttrDef, GraphDef, ListValue, OpDef, ShapeDef, TensorDescriptor, Value, edge, is_control};

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
    pub(super) ops: Vec<OpDef>,
    /// Where a Data's content comes from, by its name.
    pub(super) info: HashMap<String, String>,
    /// How many FX inputs there are: the next free Data index.
    pub(super) inputs: usize,
    /// Types of the outputs in the numbering of attributes.
    pub(super) output_types: Vec<i64>,
    /// Names of operators that are about to be dropped.
    pub(super) gone: HashSet<String>,
}

fn first_output(op: &OpDef) -> String {
    format!("{}:0", op.name)
}

fn index_of(op: &OpDef) -> usize {
    op.attr.get("index").and_then(AttrDef::as_i).and_then(|i| usize::try_from(i).ok()).unwrap_or(0)
}

impl Work {
    /// A Pack of sizes that the host knows becomes one more Data; equal Packs share it.
    pub(super) fn pack_host_sizes(&mut self) {
        let is_pack = |op: &OpDef| {
            op.r#type == "Pack"
                && matches!(op.attr.get("_inputs_all_sym").map(|a| &a.value), Some(Some(Value::B(true))))
        };
        let indices: HashMap<String, usize> =
            self.ops.iter().filter(|op| op.r#type == "Data").map(|op| (first_output(op), index_of(op))).collect();
        let mut made: HashMap<Vec<String>, String> = HashMap::new();
        let mut renamed: HashMap<String, String> = HashMap::new();
        let mut names: HashSet<String> = self.ops.iter().map(|op| op.name.clone()).collect();
        let packs: Vec<OpDef> = self.ops.iter().filter(|op| is_pack(op)).cloned().collect();
        for pack in &packs {
            let name = made.get(&pack.input).cloned().unwrap_or_else(|| {
                let mut name = "Data".to_string();
                let mut count = 0_usize;
                while !names.insert(name.clone()) {
                    count = count.saturating_add(1);
                    name = format!("Data_{count}");
                }
                let from: Vec<String> =
                    pack.input.iter().filter_map(|i| indices.get(i)).map(ToString::to_string).collect();
                self.info.insert(name.clone(), format!("pack:{}", from.join(",")));
                self.ops.push(host_data(&name, self.inputs, pack));
                self.inputs = self.inputs.saturating_add(1);
                made.insert(pack.input.clone(), name.clone());
                name
            });
            renamed.insert(pack.name.clone(), name);
        }
        self.ops.retain(|op| !is_pack(op));
        rename(&mut self.ops, &renamed);
    }

    /// Takes away Data that nothing reads and closes up the indices; returns where each remaining one comes from.
    pub(super) fn remove_dead_data(&mut self) -> Vec<String> {
        let read: HashSet<String> =
            self.ops.iter().flat_map(|op| &op.input).filter(|i| !is_control(i)).cloned().collect();
        let dead: HashSet<String> = self
            .ops
            .iter()
            .filter(|op| op.r#type == "Data" && !read.contains(&first_output(op)))
            .map(|op| op.name.clone())
            .collect();
        self.ops.retain(|op| !dead.contains(&op.name));
        let mut from = Vec::new();
        for op in &mut self.ops {
            op.input.retain(|i| !i.strip_suffix(":-1").is_some_and(|name| dead.contains(name)));
            if op.r#type == "Data" {
                let index = i64::try_from(from.len()).unwrap_or(i64::MAX);
                op.attr.insert("index".into(), Value::I(index).into());
                from.push(self.info.get(&op.name).cloned().unwrap_or_default());
            }
        }
        from
    }

    /// A copy of an input that only a writing operator reads, whose result then is written into that input, is not needed:
    /// the operator may write the input itself. Returns the inputs that are written.
    pub(super) fn drop_moves_before_writes(&mut self) -> Vec<usize> {
        let mut datas: HashMap<String, usize> = HashMap::new();
        let mut moves: HashMap<String, usize> = HashMap::new();
        let mut written_by: HashMap<String, (usize, usize)> = HashMap::new();
        let mut assigns = Vec::new();
        let mut outputs: HashSet<String> = HashSet::new();
        for (place, op) in self.ops.iter().enumerate() {
            match op.r#type.as_str() {
                "Data" => drop(datas.insert(first_output(op), index_of(op))),
                "TensorMove" => drop(moves.insert(first_output(op), place)),
                "Assign" => assigns.push(place),
                "NetOutput" => outputs.extend(op.input.iter().cloned()),
                _ => {
                    for (output, input) in references(op) {
                        written_by.insert(format!("{}:{output}", op.name), (place, input));
                    }
                }
            }
        }
        let mut readers: HashMap<&str, usize> = HashMap::new();
        for op in self.ops.iter().filter(|op| op.r#type != "Data") {
            for input in &op.input {
                if written_by.contains_key(input) || (datas.contains_key(input) && op.r#type != "Cmo") {
                    let n = readers.entry(input).or_default();
                    *n = n.saturating_add(1);
                }
            }
        }
        let mut written = Vec::new();
        let mut gone: BTreeSet<usize> = BTreeSet::new();
        let mut edits: Vec<(usize, usize, String)> = Vec::new();
        for assign in assigns {
            let mut inputs = self.ops.get(assign).into_iter().flat_map(OpDef::data_inputs).map(str::to_string);
            let (Some(target), Some(value)) = (inputs.next(), inputs.next()) else { continue };
            let Some(data) = datas.get(&target) else { continue };
            written.push(*data);
            let Some((writer, slot)) = written_by.get(&value) else { continue };
            let source = self.ops.get(*writer).and_then(|op| op.input.get(*slot));
            let Some(moved) = source.and_then(|s| moves.get(s)) else { continue };
            let from = self.ops.get(*moved).and_then(|op| op.input.first());
            if from != Some(&target) || readers.get(target.as_str()) != Some(&2) {
                continue;
            }
            edits.push((*writer, *slot, target.clone()));
            gone.insert(*moved);
            if !outputs.contains(&value) && readers.get(value.as_str()) != Some(&1) {
                gone.insert(assign);
            }
        }
        for (writer, slot, input) in edits {
            if let Some(entry) = self.ops.get_mut(writer).and_then(|op| op.input.get_mut(slot)) {
                *entry = input;
            }
        }
        let mut place = 0_usize;
        self.ops.retain(|_| {
            let keep = !gone.contains(&place);
            place = place.saturating_add(1);
            keep
        });
        written
    }

    /// An Assign to an input becomes an output that lies in the input's memory; others are only ordered before the end.
    /// Returns output to input.
    pub(super) fn assigns_to_outputs(&mut self) -> BTreeMap<usize, usize> {
        let datas: HashMap<String, (usize, Vec<i64>)> = self
            .ops
            .iter()
            .filter(|op| op.r#type == "Data")
            .map(|op| {
                let dims =
                    op.output_desc.first().and_then(|d| d.shape.as_ref()).map_or_else(Vec::new, |s| s.dim.clone());
                (first_output(op), (index_of(op), dims))
            })
            .collect();
        let assigns: Vec<OpDef> = self.ops.iter().filter(|op| op.r#type == "Assign").cloned().collect();
        let mut pairs = BTreeMap::new();
        let mut gone: HashSet<&str> = HashSet::new();
        let Some(out) = self.ops.iter_mut().find(|op| op.r#type == "NetOutput") else { return pairs };
        // Of several writes of one input the last is what it holds in the end.
        let last: HashMap<&str, &str> =
            assigns.iter().filter_map(|a| Some((a.data_inputs().next()?, a.name.as_str()))).collect();
        for assign in &assigns {
            let mut data_inputs = assign.data_inputs();
            let (Some(target), Some(value)) = (data_inputs.next(), data_inputs.next()) else { continue };
            let Some((index, dims)) = datas.get(target) else {
                out.input.push(format!("{}:-1", assign.name));
                continue;
            };
            gone.insert(&assign.name);
            if last.get(target) != Some(&assign.name.as_str()) {
                continue;
            }
            let result = first_output(assign);
            let mut found = false;
            let mut slot = 0_usize;
            for input in out.input.iter_mut().filter(|i| !is_control(i)) {
                if *input == result || input == value {
                    *input = value.to_string();
                    pairs.insert(slot, *index);
                    found = true;
                }
                slot = slot.saturating_add(1);
            }
            if found {
                continue;
            }
            let desc = assign.output_desc.first().cloned().unwrap_or_default();
            let dtype = super::proto::DataType::try_from(desc.dtype).map_or(0, super::proto::DataType::cpp);
            self.output_types.push(dtype);
            pairs.insert(out.input_desc.len(), *index);
            let name = format!("input{}", out.input_desc.len());
            out.input.push(value.to_string());
            out.input_desc.push(TensorDescriptor { name, shape: Some(ShapeDef { dim: dims.clone() }), ..desc });
        }
        let gone: HashSet<String> = gone.into_iter().map(str::to_string).collect();
        self.ops.retain(|op| !gone.contains(&op.name));
        pairs
    }

    /// Chains operators whose effects are in program order, and keeps the last from being dropped.
    pub(super) fn order_side_effects(&mut self, output_ref_input: &BTreeMap<usize, usize>) {
        let effects = self.places(|op| SIDE_EFFECTS.contains(&op.r#type.as_str()));
        if !effects.is_empty() {
            self.chain(&effects);
            self.order_against_writers(&effects, output_ref_input);
        }
        let prefetches = self.places(|op| op.r#type == "Cmo");
        self.chain(&prefetches);
    }

    fn places(&self, wanted: impl Fn(&OpDef) -> bool) -> Vec<usize> {
        self.ops.iter().enumerate().filter(|(_, op)| wanted(op)).map(|(i, _)| i).collect()
    }

    fn chain(&mut self, places: &[usize]) {
        for pair in places.windows(2) {
            if let [before, after] = pair {
                self.control(*before, *after);
            }
        }
        let out = self.ops.iter().position(|op| op.r#type == "NetOutput");
        if let (Some(last), Some(out)) = (places.last(), out) {
            let name = self.ops.get(*last).map_or_else(String::new, |op| op.name.clone());
            let fed = self
                .ops
                .get(out)
                .is_some_and(|op| op.input.iter().any(|i| i.rsplit_once(':').is_some_and(|(n, _)| n == name)));
            if !fed {
                self.control(*last, out);
            }
        }
    }

    fn control(&mut self, before: usize, after: usize) {
        let Some(control) = self.ops.get(before).map(|op| format!("{}:-1", op.name)) else { return };
        if let Some(op) = self.ops.get_mut(after)
            && !op.input.contains(&control)
        {
            op.input.push(control);
        }
    }

    fn order_against_writers(&mut self, effects: &[usize], output_ref_input: &BTreeMap<usize, usize>) {
        let datas: HashMap<usize, String> =
            self.ops.iter().filter(|op| op.r#type == "Data").map(|op| (index_of(op), first_output(op))).collect();
        let places: HashMap<&str, usize> = self.ops.iter().enumerate().map(|(i, op)| (op.name.as_str(), i)).collect();
        let sources: Vec<&str> = self
            .ops
            .iter()
            .find(|op| op.r#type == "NetOutput")
            .map(|op| op.data_inputs().filter_map(|i| i.rsplit_once(':')).map(|(n, _)| n).collect())
            .unwrap_or_default();
        let writers: HashMap<&String, usize> = output_ref_input
            .iter()
            .filter_map(|(output, input)| Some((datas.get(input)?, *places.get(sources.get(*output)?)?)))
            .collect();
        let mut edges = Vec::new();
        for effect in effects {
            let mut reads: Vec<&String> = self.ops.get(*effect).map(|op| op.input.iter().collect()).unwrap_or_default();
            // What a print reads through its format counts as read by the print.
            let formats: Vec<&String> = reads
                .iter()
                .filter_map(|i| self.ops.get(*places.get(edge(i)?.0)?))
                .filter(|op| op.r#type == "StringFormat")
                .flat_map(|op| &op.input)
                .collect();
            reads.extend(formats);
            let users: BTreeSet<usize> = reads.into_iter().filter_map(|i| writers.get(i).copied()).collect();
            edges.extend(users.into_iter().map(|user| (*effect.min(&user), *effect.max(&user))));
        }
        for (before, after) in edges {
            self.control(before, after);
        }
    }

    /// Returns the graph with what is derived: name lists, formats, types that nobody set, graph attributes.
    pub(super) fn finish(mut self, ref_data: &[usize]) -> GraphDef {
        let mut placements: BTreeMap<usize, i64> = BTreeMap::new();
        let mut renamed: HashMap<String, String> = HashMap::new();
        for op in &mut self.ops {
            if op.r#type == "Data" {
                let index = index_of(op);
                let on_host = op.output_desc.first().is_some_and(|d| d.device_type == "CPU");
                placements.insert(index, i64::from(!on_host));
                if ref_data.contains(&index) {
                    let name = ref_data_name(op, index);
                    op.attr.insert("_origin_data_name".into(), Value::S(op.name.clone().into_bytes()).into());
                    renamed.insert(op.name.clone(), name.clone());
                    op.name = name;
                    op.r#type = "RefData".into();
                }
            }
            normalize(op);
        }
        rename(&mut self.ops, &renamed);
        let list = |i: Vec<i64>| AttrDef::from(Value::List(ListValue { i, ..Default::default() }));
        let attr = [
            ("_executor_type".to_string(), Value::I(1).into()),
            ("_input_placements".to_string(), list(placements.into_values().collect())),
            ("_output_dtypes".to_string(), list(self.output_types)),
        ];
        GraphDef { name: "graph_1".into(), op: self.ops, attr: attr.into() }
    }
}

fn references(op: &OpDef) -> Vec<(usize, usize)> {
    if op.r#type == "ScatterList" {
        return (0..op.output_desc.len()).map(|i| (i, i)).collect();
    }
    REFERENCES.iter().find(|(kind, _)| *kind == op.r#type).map_or_else(Vec::new, |(_, pairs)| pairs.to_vec())
}

fn host_data(name: &str, index: usize, pack: &OpDef) -> OpDef {
    let desc = |slot: &str| TensorDescriptor {
        name: slot.into(),
        dtype: pack.input_desc.first().map_or(0, |d| d.dtype),
        layout: "ND".into(),
        device_type: "CPU".into(),
        shape: Some(ShapeDef { dim: vec![i64::try_from(pack.input.len()).unwrap_or(i64::MAX)] }),
        ..Default::default()
    };
    OpDef {
        name: name.into(),
        r#type: "Data".into(),
        attr: [("index".to_string(), Value::I(i64::try_from(index).unwrap_or(i64::MAX)).into())].into(),
        input_desc: vec![desc("x")],
        output_desc: vec![desc("y")],
        ..Default::default()
    }
}

fn ref_data_name(op: &OpDef, index: usize) -> String {
    let dims = op.output_desc.first().and_then(|d| d.shape.as_ref()).map_or_else(Vec::new, |s| s.dim.clone());
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

fn rename(ops: &mut [OpDef], names: &HashMap<String, String>) {
    if names.is_empty() {
        return;
    }
    for input in ops.iter_mut().flat_map(|op| &mut op.input) {
        if let Some((name, output)) = input.rsplit_once(':')
            && let Some(new) = names.get(name)
        {
            *input = format!("{new}:{output}");
        }
    }
}

fn normalize(op: &mut OpDef) {
    let names = |descs: &[TensorDescriptor]| ListValue {
        s: descs.iter().map(|d| d.name.clone().into_bytes()).collect(),
        ..Default::default()
    };
    let count = |descs: &[TensorDescriptor]| ListValue {
        i: (0..i64::try_from(descs.len()).unwrap_or(i64::MAX)).collect(),
        ..Default::default()
    };
    let lists = [
        ("_input_name_key", names(&op.input_desc)),
        ("_input_name_value", count(&op.input_desc)),
        ("_output_name_key", names(&op.output_desc)),
        ("_output_name_value", count(&op.output_desc)),
    ];
    op.attr.extend(lists.map(|(key, list)| (key.to_string(), Value::List(list).into())));
    if matches!(op.r#type.as_str(), "Data" | "RefData") {
        return;
    }
    let formats = |key: &str| -> Vec<(usize, String)> {
        let list = op.attr.get(key).and_then(AttrDef::as_list);
        let pairs = list.map(|l| l.i.iter().zip(&l.s));
        pairs
            .into_iter()
            .flatten()
            .filter_map(|(i, s)| Some((usize::try_from(*i).ok()?, String::from_utf8_lossy(s).into_owned())))
            .collect()
    };
    let (inputs, outputs) = (formats("input_layout_info"), formats("output_layout_info"));
    for (descs, formats) in [(&mut op.input_desc, inputs), (&mut op.output_desc, outputs)] {
        for (place, desc) in descs.iter_mut().enumerate() {
            if desc.attr.contains_key("_is_unfed_optional") {
                continue;
            }
            if desc.dtype == 0 {
                desc.dtype = 1;
            }
            let format = formats.iter().rev().find(|(i, _)| *i == place);
            desc.layout = format.map_or_else(|| "ND".into(), |(_, f)| f.clone());
        }
    }
}
