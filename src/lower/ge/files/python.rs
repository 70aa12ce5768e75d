//! GE graphs as Python: the calls of TorchAir's `ge` module that rebuild the graph (its `py` dump).
//!
//! Constants stand where they are used; attributes at their default are left out; control edges and attributes that
//! no call takes (stream and scope attributes) follow as lines on the node.

use std::collections::HashMap;

use super::pbtxt::literal;
use crate::lower::ge::operators::{self, Feed};
use crate::lower::ge::proto::{AttrDef, DataType, GraphDef, OpDef, TensorDef, Value, edge, is_control};

const HEAD: &str = "# -*- coding: utf-8 -*-
from torch import tensor
from torchair._ge_concrete_graph import ge_apis as ge
from torchair.ge._ge_graph import get_default_ge_graph

";

const DERIVED: [&str; 5] =
    ["_input_name_key", "_input_name_value", "_output_name_key", "_output_name_value", "_readable_value"];

/// Returns the graph as Python calls.
pub fn write(graph: &GraphDef) -> String {
    let constants: HashMap<&str, String> =
        graph.op.iter().filter(|op| op.r#type == "Const").map(|op| (op.name.as_str(), constant(op))).collect();
    let mut out = HEAD.to_string();
    for op in graph.op.iter().filter(|op| op.r#type != "Const") {
        call(&mut out, op, &constants);
    }
    out
}

fn constant(op: &OpDef) -> String {
    let Some(Value::T(tensor)) = op.attr.get("value").and_then(|a| a.value.as_ref()) else {
        return "None".into();
    };
    let dtype = tensor.desc.as_ref().and_then(|d| DataType::try_from(d.dtype).ok()).unwrap_or(DataType::Undefined);
    let value = match op.attr.get("_readable_value").and_then(|a| a.value.as_ref()) {
        Some(Value::S(text)) => String::from_utf8_lossy(text).into_owned(),
        _ => bytes(tensor),
    };
    format!("ge.Const({value}, dtype={})", dtype.cpp())
}

fn bytes(tensor: &TensorDef) -> String {
    let list: Vec<String> = tensor.data.iter().map(u8::to_string).collect();
    format!("bytes([{}])", list.join(", "))
}

fn variable(input: &str) -> String {
    input.replace([':', '/', '.'], "_")
}

fn call(out: &mut String, op: &OpDef, constants: &HashMap<&str, String>) {
    let known = operators::operator(&op.r#type);
    let value = |input: &str| match edge(input) {
        None => "None".to_string(),
        Some((name, _)) => constants.get(name).cloned().unwrap_or_else(|| variable(input)),
    };
    let mut inputs = op.data_inputs();
    let mut args: Vec<String> = Vec::new();
    if op.r#type == "Data" {
        args.extend(data(op));
    } else if let Some(known) = known {
        let fixed = known.inputs.iter().filter(|s| s.feed != Feed::Dynamic).count();
        let many = op.data_inputs().count().saturating_sub(fixed);
        for slot in &known.inputs {
            match slot.feed {
                Feed::Dynamic => {
                    let list: Vec<String> = inputs.by_ref().take(many).map(value).collect();
                    args.push(format!("[{}]", list.join(", ")));
                }
                _ => args.push(inputs.next().map_or_else(|| "None".into(), value)),
            }
        }
    } else {
        args.extend(inputs.map(value));
    }
    let mut extra = Vec::new();
    for (key, attr) in op.attr.iter().filter(|(k, _)| !DERIVED.contains(&k.as_str())) {
        match known.and_then(|k| k.attribute(key)) {
            Some(a) if a.default.as_ref() == Some(attr) => {}
            _ if op.r#type == "Data" && key == "index" => {}
            Some(_) => args.push(format!("{key}={}", attribute(attr))),
            None => extra.push((key, attr)),
        }
    }
    args.push(format!("node_name={}", text(&op.name)));
    let outputs: Vec<String> = (0..op.output_desc.len()).map(|i| variable(&format!("{}:{i}", op.name))).collect();
    let outputs = if outputs.is_empty() { "_".to_string() } else { outputs.join(", ") };
    out.push_str(&format!("{outputs} = ge.{}({})\n", op.r#type, args.join(", ")));
    let node = format!("{}.node", outputs.split(", ").next().unwrap_or("_"));
    for (key, attr) in extra {
        if let Some((field, value)) = assignment(attr) {
            out.push_str(&format!("{node}.attr[{}].{field} = {value}\n", text(key)));
        }
    }
    for control in op.input.iter().filter(|i| is_control(i)) {
        out.push_str(&format!("{node}.input.append({})\n", text(control)));
    }
}

fn data(op: &OpDef) -> Vec<String> {
    let index = op.attr.get("index").and_then(AttrDef::as_i).unwrap_or(0);
    let Some(desc) = op.output_desc.first() else { return vec![format!("index={index}")] };
    let dtype = DataType::try_from(desc.dtype).unwrap_or(DataType::Undefined).cpp();
    let shape = desc.shape.as_ref().map_or_else(Vec::new, |s| s.dim.clone());
    vec![
        format!("index={index}"),
        format!("dtype={dtype}"),
        format!("shape={shape:?}"),
        format!("format={}", text(&desc.layout)),
        format!("placement={}", text(&desc.device_type)),
    ]
}

fn text(value: &str) -> String {
    let quoted = literal(value);
    match quoted.strip_prefix('\'').and_then(|q| q.strip_suffix('\'')) {
        Some(inner) if !inner.contains('"') => format!("\"{inner}\""),
        _ => quoted,
    }
}

fn boolean(b: bool) -> &'static str {
    if b { "True" } else { "False" }
}

fn attribute(attr: &AttrDef) -> String {
    match &attr.value {
        Some(Value::List(l)) if !l.f.is_empty() => format!("{:?}", l.f),
        Some(Value::List(l)) if !l.dt.is_empty() => format!("{:?}", l.dt),
        Some(Value::List(l)) if !l.b.is_empty() => {
            format!("[{}]", l.b.iter().map(|b| boolean(*b)).collect::<Vec<_>>().join(", "))
        }
        Some(Value::List(l)) if !l.s.is_empty() => {
            format!("[{}]", l.s.iter().map(|s| text(&String::from_utf8_lossy(s))).collect::<Vec<_>>().join(", "))
        }
        Some(Value::List(l)) => format!("{:?}", l.i),
        Some(Value::ListListInt(l)) => format!("{:?}", l.list_list_i.iter().map(|x| &x.list_i).collect::<Vec<_>>()),
        Some(Value::ListListFloat(l)) => format!("{:?}", l.list_list_f.iter().map(|x| &x.list_f).collect::<Vec<_>>()),
        _ => assignment(attr).map_or_else(|| "None".into(), |(_, v)| v),
    }
}

fn assignment(attr: &AttrDef) -> Option<(&'static str, String)> {
    Some(match attr.value.as_ref()? {
        Value::S(s) => ("s", text(&String::from_utf8_lossy(s))),
        Value::I(i) => ("i", i.to_string()),
        Value::F(f) => ("f", format!("{f:?}")),
        Value::B(b) => ("b", boolean(*b).into()),
        Value::Dt(t) => ("dt", t.to_string()),
        _ => return None,
    })
}
