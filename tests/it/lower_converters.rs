//! Every operator that TorchAir converts has a converter, and arguments go into the slots and attributes that its table names.
//!
//! `torchair/converters.txt` has a line an operator: its GE operators; where there is one whose inputs and attributes are arguments as they
//! are, which goes where (`slot<argument`, `attribute=argument`). Where it comes from is said in `torchair/README.md`.

use std::collections::BTreeMap;
use std::fmt::Write;

use airlock::formats::text;
use airlock::lower::ge::operators::{Feed, operator};
use airlock::lower::ge::proto::{OpDef, Value};
use airlock::lower::ge::{Options, lower, targets};

/// Lines whose arguments have other names in PyTorch than in the table, or fit together only in ways that no stand-in has. Recorded
/// cases and tests of their own hold these.
const NOT_BY_STAND_INS: &[&str] = &[
    "<built-in function neg>",
    "_c10d_functional.all_gather_into_tensor.default",
    "aten._foreach_acos.default",
    "aten._foreach_addcdiv.ScalarList",
    "aten._foreach_addcdiv.Tensor",
    "aten._foreach_addcmul.ScalarList",
    "aten._foreach_addcmul.Tensor",
    "aten._foreach_asin.default",
    "aten._foreach_atan.default",
    "aten._foreach_lerp.List",
    "aten._foreach_lerp.Scalar",
    "aten._foreach_norm.Scalar",
    "aten.constant_pad_nd.default",
    "aten.copy_.default",
    "aten.erfinv.out",
    "aten.expand.default",
    "c10d_functional.all_gather_into_tensor.default",
    "npu.npu_add_rms_norm_dynamic_quant.default",
    "npu.npu_attention_worker_combine.default",
    "npu.npu_batch_gather_matmul.default",
    "npu.npu_dequant_rope_quant_kvcache.default",
    "npu.npu_dynamic_block_quant.default",
    "npu.npu_fusion_attention.default",
    "npu.npu_fusion_attention_grad.default",
    "npu.npu_group_norm_silu.default",
    "npu.npu_grouped_dynamic_mx_quant.default",
    "npu.npu_moe_distribute_combine_add_rms_norm.default",
    // TorchAir names an operator that has not these attributes.
    "npu.npu_moe_gating_top_k_softmax_v2.default",
    "npu.npu_recurrent_gated_delta_rule.default",
    "npu.npu_rms_norm_backward.default",
    "npu.npu_rope_quant_kvcache.default",
    "npu_define._send.default",
    "prims.add.default",
    "prims.le.default",
    "prims.lt.default",
    "prims.maximum.default",
    "prims.minimum.default",
    "prims.mul.default",
];

fn lines() -> Vec<(&'static str, &'static str)> {
    let text = include_str!("../torchair/converters.txt");
    text.lines().map(|l| l.split_once('\t').unwrap_or((l, ""))).collect()
}

/// The table names Python's operators as Python shows them.
fn target(name: &str) -> String {
    match name.strip_prefix("<built-in function ").and_then(|n| n.strip_suffix('>')) {
        Some(name @ ("ceil" | "floor")) => format!("math.{name}"),
        Some(name) => format!("_operator.{name}"),
        None => name.into(),
    }
}

#[test]
fn every_line_of_the_table_has_a_converter() {
    let known = targets();
    let missing: Vec<_> = lines().into_iter().filter(|(name, _)| !known.contains(&target(name).as_str())).collect();
    assert_eq!(lines().len(), 487);
    assert!(missing.is_empty(), "{missing:?}");
}

/// Where an argument goes.
struct Wiring {
    kind: &'static str,
    slots: Vec<(&'static str, &'static str)>,
    attributes: Vec<(&'static str, &'static str)>,
}

fn wiring(line: &'static str) -> Option<Wiring> {
    let (kind, rest) = line.split_once('(')?;
    let parts: Vec<&str> = rest.strip_suffix(')')?.split(", ").collect();
    let pairs = |by: char| parts.iter().filter_map(|p| p.split_once(by)).collect();
    Some(Wiring { kind, slots: pairs('<'), attributes: pairs('=') })
}

/// A value for an attribute, as it stands in the graph and as it must arrive.
fn stand_in(kind: &str, place: usize) -> Option<(String, Vec<i64>)> {
    let n = i64::try_from(place).unwrap() + 3;
    Some(match kind {
        "int" | "float" => (n.to_string(), vec![n]),
        "bool" => ("True".into(), vec![1]),
        "ints" => (format!("[{n}, {}]", n + 1), vec![n, n + 1]),
        _ => return None,
    })
}

#[allow(clippy::cast_possible_truncation)] // Stand-ins are small.
fn arrived(op: &OpDef, name: &str) -> Vec<i64> {
    match op.attr.get(name).and_then(|a| a.value.as_ref()) {
        Some(Value::I(i)) => vec![*i],
        Some(Value::F(f)) => vec![*f as i64],
        Some(Value::B(b)) => vec![i64::from(*b)],
        Some(Value::List(l)) => l.i.clone(),
        _ => Vec::new(),
    }
}

/// Lowers one call with a tensor for each slot and a number for each attribute; returns what went elsewhere.
fn check(name: &str, wiring: &Wiring) -> Result<(), String> {
    let known = operator(wiring.kind).ok_or_else(|| format!("GE has no {}", wiring.kind))?;
    let mut inputs = String::new();
    let mut args = Vec::new();
    let mut lists = BTreeMap::new();
    for (slot, arg) in &wiring.slots {
        let many = known.inputs.iter().any(|s| s.name == *slot && s.feed == Feed::Dynamic);
        write!(inputs, ", {arg}: \"f16[2, 64, 4, 64]\"").unwrap();
        args.push(if many { format!("{arg} = [{arg}]") } else { format!("{arg} = {arg}") });
        lists.insert(*slot, many);
    }
    let mut wanted = Vec::new();
    for (place, (attribute, arg)) in wiring.attributes.iter().enumerate() {
        let Some(found) = known.attribute(attribute) else { return Err(format!("no attribute {attribute}")) };
        if let Some((text, value)) = stand_in(found.kind, place) {
            args.push(format!("{arg} = {text}"));
            wanted.push((*attribute, value));
        }
    }
    for (at, found) in known.attributes.iter().filter(|a| a.default.is_none() && a.kind == "str").enumerate() {
        let from = wiring.attributes.iter().find(|(a, _)| *a == found.name).map(|(_, arg)| arg);
        args.extend(from.map(|arg| format!("{arg} = 'g{at}'")));
    }
    let text = format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self{inputs}):\n        r: \"f16[2, 64, 4, 64]\" = torch.ops.{name}({})\n        return (r,)\n",
        args.join(", ")
    );
    let graph = text::read(&text, &text::ReadOptions::of_file("t.fx")).map_err(|e| e.to_string())?;
    let options = Options { decompose: false, ..Options::default() };
    let lowered = lower(&graph, &options).map_err(|e| e.to_string())?;
    let op = lowered.graph.op.iter().find(|op| op.r#type == wiring.kind).ok_or("the operator is not made")?;
    for (slot, arg) in &wiring.slots {
        let wanted = if lists[slot] { format!("{slot}0") } else { (*slot).to_string() };
        let place = op.input_desc.iter().position(|d| d.name == wanted).ok_or_else(|| format!("no slot {slot}"))?;
        let data: Vec<&String> = op.input.iter().filter(|i| !i.ends_with(":-1")).collect();
        let from = producer(&lowered.graph.op, data[place]);
        if from != *arg {
            return Err(format!("{slot} is fed by {from}, not {arg}"));
        }
    }
    let wrong = wanted.into_iter().find(|(name, value)| arrived(op, name) != *value);
    wrong.map_or(Ok(()), |(name, value)| Err(format!("{name} is {:?}, not {value:?}", arrived(op, name))))
}

/// Returns the input from which a value comes, through copies.
fn producer(ops: &[OpDef], edge: &str) -> String {
    let name = edge.rsplit_once(':').map_or(edge, |(n, _)| n);
    match ops.iter().find(|op| op.name == name) {
        Some(op) if matches!(op.r#type.as_str(), "TensorMove" | "Cast") => producer(ops, &op.input[0]),
        _ => name.into(),
    }
}

#[test]
fn arguments_go_where_the_table_says() {
    let mut wrong = String::new();
    let mut count = 0;
    for (name, line) in lines() {
        let Some(wiring) = wiring(line) else { continue };
        if NOT_BY_STAND_INS.contains(&name) {
            continue;
        }
        count += 1;
        if let Err(e) = check(name, &wiring) {
            writeln!(wrong, "{name}: {e}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}of {count}");
    assert!(count >= 100, "{count}");
}
