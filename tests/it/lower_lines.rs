//! Operators that no recorded case has become the GE operators that the lines of TorchAir's table name: which argument feeds a slot, cast to which
//! type, which is an attribute.
//!
//! `torchair/lines.txt` says so of each, written from the table and not from what a converter gives.

use std::collections::BTreeSet;
use std::fmt::Write;

use airlock::formats::text;
use airlock::lower::ge::proto::{DataType, OpDef, Value, edge};
use airlock::lower::ge::{Options, lower};

struct Case {
    target: &'static str,
    device: Option<String>,
    program: String,
    operators: Vec<&'static str>,
}

fn case(text: &'static str) -> Case {
    let (title, rest) = text.split_once('\n').unwrap();
    let (target, device) = title.split_once(" on ").map_or((title, None), |(t, d)| (t, Some(d.to_string())));
    let program = rest.lines().filter(|l| !l.starts_with("--- ")).fold(String::new(), |all, l| all + l + "\n");
    Case { target, device, program, operators: rest.lines().filter_map(|l| l.strip_prefix("--- ")).collect() }
}

fn cases() -> Vec<Case> {
    include_str!("../torchair/lines.txt").split("\n=== ").skip(1).map(case).collect()
}

/// What only moves or casts its first input.
const MOVES: [&str; 9] =
    ["Cast", "Bitcast", "TensorMove", "Transpose", "Unsqueeze", "Squeeze", "Reshape", "Identity", "BroadcastTo"];

/// Returns the input from which a value comes, and the type that it was last cast to.
fn source(ops: &[OpDef], from: &str) -> (String, Option<DataType>) {
    let (mut name, mut cast) = (edge(from).map_or(from, |(n, _)| n).to_string(), None);
    while let Some(op) = ops.iter().find(|op| op.name == name) {
        if op.r#type == "Cast" && cast.is_none() {
            cast = op.attr.get("dst_type").and_then(|a| match a.value {
                Some(Value::Dt(number) | Value::I(number)) => DataType::from_cpp(number),
                _ => None,
            });
        }
        if !MOVES.contains(&op.r#type.as_str()) {
            let own = op.output_desc.first().and_then(|d| DataType::ALL.iter().find(|t| **t as i32 == d.dtype));
            return (name, cast.or(own.copied()));
        }
        let Some(before) = op.data_inputs().next() else { break };
        name = edge(before).map_or(before, |(n, _)| n).to_string();
    }
    (name, cast)
}

fn fed<'o>(op: &'o OpDef, slot: &str) -> Option<&'o str> {
    let dynamic = format!("{slot}0");
    let place = op.input_desc.iter().position(|d| d.name == slot || d.name == dynamic)?;
    op.data_inputs().nth(place)
}

fn number(wanted: &str, found: f32) -> bool {
    wanted.parse::<f32>().is_ok_and(|w| (w - found).abs() <= w.abs() * 1e-6)
}

fn is_attribute(wanted: &str, value: &Value) -> bool {
    let all = |items: Vec<String>| wanted == format!("[{}]", items.join(" "));
    match value {
        Value::I(n) | Value::Dt(n) => wanted == n.to_string(),
        Value::B(b) => wanted == b.to_string(),
        Value::F(f) => number(wanted, *f),
        Value::S(s) => wanted.as_bytes() == s.as_slice(),
        Value::List(l) if !l.b.is_empty() => all(l.b.iter().map(bool::to_string).collect()),
        Value::List(l) => all(l.i.iter().map(i64::to_string).collect()),
        _ => false,
    }
}

/// Returns what an operator has otherwise than a line says.
fn differs(ops: &[OpDef], op: &OpDef, parts: &str) -> Option<String> {
    parts.split(", ").filter(|p| !p.is_empty()).find_map(|part| {
        if let Some((slot, from)) = part.split_once('<') {
            let (from, dtype) = from.split_once(" as ").map_or((from, None), |(f, t)| (f, Some(t)));
            let Some(feed) = fed(op, slot) else { return Some(format!("nothing feeds {slot}")) };
            let (name, cast) = source(ops, feed);
            let other = dtype.filter(|d| cast.map(DataType::name) != Some(*d));
            return (name != from || other.is_some()).then(|| format!("{slot} is fed by {name}, {cast:?}"));
        }
        let (name, wanted) = part.split_once('=')?;
        let found = op.attr.get(name).and_then(|a| a.value.as_ref());
        (!found.is_some_and(|v| is_attribute(wanted, v))).then(|| format!("{name} is {found:?}, not {wanted}"))
    })
}

fn check(case: &Case) -> Result<(), String> {
    let graph = text::read(&case.program, &text::ReadOptions::of_file("t.fx")).map_err(|e| e.to_string())?;
    let options = Options { decompose: false, soc_version: case.device.clone(), ..Options::default() };
    let ops = lower(&graph, &options).map_err(|e| e.to_string())?.graph.op;
    for line in &case.operators {
        let (kind, parts) = line.strip_suffix(')').and_then(|l| l.split_once('(')).ok_or("a line is malformed")?;
        let wrong: Vec<Option<String>> =
            ops.iter().filter(|op| op.r#type == kind).map(|op| differs(&ops, op, parts)).collect();
        if !wrong.contains(&None) {
            return Err(format!("{kind}: {wrong:?}"));
        }
    }
    Ok(())
}

#[test]
fn operators_without_a_recorded_case_become_what_the_table_says() {
    let mut wrong = String::new();
    for case in cases() {
        if let Err(e) = check(&case) {
            writeln!(wrong, "{}: {e}", case.target).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let targets: BTreeSet<&str> = cases().iter().map(|c| c.target).collect();
    assert!(targets.len() >= 145, "{}", targets.len());
}

#[test]
fn a_line_that_names_another_slot_attribute_or_type_is_not_held() {
    let program = "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"i32[3, 4]\"):\n        r: \"i64[3, 4]\" = torch.ops.aten.cumsum.default(x, -1)\n        return (r,)\n";
    let is_held =
        |line| check(&Case { target: "", device: None, program: program.to_string(), operators: vec![line] }).is_ok();
    assert!(is_held("Cumsum(x<x as DT_INT64)"));
    for wrong in ["Cumsum(axis<x)", "Cumsum(x<x as DT_INT32)", "Cumsum(x<y)", "Cumsum(reverse=true)", "Cumprod(x<x)"] {
        assert!(!is_held(wrong), "{wrong}");
    }
}
