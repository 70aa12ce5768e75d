//! Each aspect that counts, changed alone, makes a difference; each that does not count, makes none.

use super::*;
use crate::lower::ge::proto::{AttrDef, DataType, ListValue, OpDef, ShapeDef, TensorDef, TensorDescriptor, Value};

fn desc(name: &str, dtype: DataType) -> TensorDescriptor {
    TensorDescriptor { name: name.into(), dtype: dtype as i32, layout: "ND".into(), ..Default::default() }
}

fn data(name: &str, index: i64) -> OpDef {
    let side = |name: &str| TensorDescriptor {
        shape: Some(ShapeDef { dim: vec![2, 3] }),
        device_type: "NPU".into(),
        ..desc(name, DataType::Float)
    };
    OpDef {
        name: name.into(),
        r#type: "Data".into(),
        attr: [("index".to_string(), Value::I(index).into())].into(),
        input_desc: vec![side("x")],
        output_desc: vec![side("y")],
        ..Default::default()
    }
}

fn constant(name: &str, value: f32) -> OpDef {
    let d = TensorDescriptor { shape: Some(ShapeDef::default()), ..desc("", DataType::Float) };
    let tensor = TensorDef { desc: Some(d.clone()), data: value.to_le_bytes().to_vec() };
    OpDef {
        name: name.into(),
        r#type: "Const".into(),
        attr: [("value".to_string(), Value::T(tensor).into())].into(),
        output_desc: vec![d],
        ..Default::default()
    }
}

fn op(name: &str, kind: &str, inputs: &[(&str, &str)]) -> OpDef {
    let unfed = || TensorDescriptor {
        attr: [("_is_unfed_optional".to_string(), Value::I(1).into())].into(),
        layout: String::new(),
        ..desc("", DataType::Undefined)
    };
    OpDef {
        name: name.into(),
        r#type: kind.into(),
        input: inputs.iter().map(|(_, from)| (*from).to_string()).collect(),
        input_desc: inputs
            .iter()
            .map(|(slot, from)| TensorDescriptor {
                name: (*slot).into(),
                ..if from.is_empty() { unfed() } else { desc("", DataType::Float) }
            })
            .collect(),
        output_desc: vec![desc("y", DataType::Float)],
        ..Default::default()
    }
}

/// x, w -> MatMul (with a control edge from Abs) -> Add(1.0) -> NetOutput; Abs(x) -> NetOutput; a Pack that nobody uses.
fn base() -> GraphDef {
    let mut mm = op("MatMul", "MatMul", &[("x1", "x:0"), ("x2", "w:0"), ("bias", "")]);
    mm.input.push("Abs:-1".into());
    mm.attr.insert("transpose_x1".into(), Value::B(false).into());
    mm.attr.insert("_user_stream_label".into(), Value::S(b"s1".to_vec()).into());
    let mut out = op("NetOutput", "NetOutput", &[("input0", "Add:0"), ("input1", "Abs:0")]);
    out.output_desc.clear();
    out.input_desc.iter_mut().for_each(|d| d.shape = Some(ShapeDef { dim: vec![2, 2] }));
    let mut pack = op("Pack", "Pack", &[("x0", "x:0"), ("x1", "w:0")]);
    pack.attr.insert("N".into(), Value::I(2).into());
    let list = |i: Vec<i64>| AttrDef::from(Value::List(ListValue { i, ..Default::default() }));
    GraphDef {
        name: "graph_1".into(),
        op: vec![
            data("x", 0),
            data("w", 1),
            op("Abs", "Abs", &[("x", "x:0")]),
            mm,
            constant("Const", 1.0),
            op("Add", "Add", &[("x1", "MatMul:0"), ("x2", "Const:0")]),
            pack,
            out,
        ],
        attr: [("_output_dtypes".to_string(), list(vec![0, 0])), ("_input_placements".to_string(), list(vec![1, 1]))]
            .into(),
    }
}

fn at<'g>(g: &'g mut GraphDef, name: &str) -> &'g mut OpDef {
    g.op.iter_mut().find(|o| o.name == name).unwrap()
}

fn changed(change: impl FnOnce(&mut GraphDef)) -> Comparison {
    let mut twin = base();
    change(&mut twin);
    let there = compare(&base(), &twin);
    let back = compare(&twin, &base());
    assert_eq!(there.same, back.same, "{:?} against {:?}", there.differences, back.differences);
    assert_eq!(there.same, there.differences.is_empty());
    there
}

fn assert_same(change: impl FnOnce(&mut GraphDef)) {
    let result = changed(change);
    assert!(result.same, "{:?}", result.differences);
}

fn assert_differs(change: impl FnOnce(&mut GraphDef), with: &str) {
    let result = changed(change);
    assert!(result.differences.iter().any(|d| d.contains(with)), "{with:?} is not in {:?}", result.differences);
}

#[test]
fn a_graph_is_the_same_as_itself() {
    let result = compare(&base(), &base());
    assert_eq!(result, Comparison { same: true, differences: vec![], nodes: 7 });
}

#[test]
fn names_do_not_count() {
    assert_same(|g| {
        g.name = "other".into();
        for op in &mut g.op {
            op.name = format!("n_{}", op.name);
            for input in op.input.iter_mut().filter(|i| !i.is_empty()) {
                *input = format!("n_{input}");
            }
        }
    });
}

#[test]
fn written_order_does_not_count() {
    assert_same(|g| g.op.reverse());
    assert_same(|g| at(g, "MatMul").input.rotate_right(1));
}

#[test]
fn text_for_people_does_not_count() {
    for key in ["_readable_value", "_input_name_key", "nn_module_stack", "_origin_data_name"] {
        assert_same(|g| {
            at(g, "Add").attr.insert(key.into(), Value::S(b"any".to_vec()).into());
        });
    }
    assert_same(|g| {
        at(g, "Add").output_desc[0].attr.insert("_meta".into(), Value::S(b"any".to_vec()).into());
    });
    assert_same(|g| {
        at(g, "Pack").attr.insert("_inputs_all_sym".into(), AttrDef::default());
    });
}

#[test]
fn defaults_and_unfed_inputs_may_be_left_out() {
    assert_same(|g| {
        at(g, "MatMul").attr.remove("transpose_x1");
    });
    assert_same(|g| {
        let mm = at(g, "MatMul");
        mm.input.retain(|i| !i.is_empty());
        mm.input_desc.pop();
    });
    assert_same(|g| at(g, "MatMul").input_desc[2].layout = "NCHW".into());
}

#[test]
fn shapes_and_devices_of_intermediate_tensors_do_not_count() {
    assert_same(|g| at(g, "Add").input_desc[0].shape = Some(ShapeDef { dim: vec![9] }));
    assert_same(|g| at(g, "Add").output_desc[0].device_type = "CPU".into());
    assert_same(|g| at(g, "NetOutput").input_desc[0].layout = "NCHW".into());
}

#[test]
fn constants_may_be_shared_or_repeated() {
    assert_same(|g| {
        g.op.push(constant("Const_1", 1.0));
        at(g, "Add").input[1] = "Const_1:0".into();
    });
    assert_same(|g| {
        at(g, "Const").attr.insert("_user_stream_label".into(), Value::S(b"s1".to_vec()).into());
    });
}

#[test]
fn control_edges_that_other_edges_force_do_not_count() {
    assert_same(|g| at(g, "Add").input.push("Abs:-1".into()));
    assert_same(|g| at(g, "Add").input.push("Gone:-1".into()));
    assert_same(|g| at(g, "Add").input.push("MatMul:-1".into()));
}

#[test]
fn kinds_of_list_on_derived_attributes_do_not_count() {
    assert_same(|g| {
        let list = ListValue { i: vec![0, 0], val_type: 2, ..Default::default() };
        g.attr.insert("_output_dtypes".into(), Value::List(list).into());
    });
}

#[test]
fn operator_types_count() {
    assert_differs(|g| at(g, "Add").r#type = "Sub".into(), "Add is a Add here, a Sub there");
    assert_differs(|g| at(g, "Pack").r#type = "Concat".into(), "Pack (Pack) is used by no output");
}

#[test]
fn data_edges_count_with_their_slots() {
    assert_differs(|g| at(g, "MatMul").input.swap(0, 1), "different operators");
    assert_differs(|g| at(g, "Add").input[0] = "Abs:0".into(), "different operators");
    assert_differs(|g| at(g, "Add").input[0] = "Const:0".into(), "MatMul:0 here, the constant");
    assert_differs(|g| at(g, "Add").input[0] = "MatMul:1".into(), "output 0 here, output 1 there");
    assert_differs(|g| at(g, "MatMul").input[2] = "w:0".into(), "fed inputs");
    assert_differs(|g| at(g, "Pack").input.swap(0, 1), "is used by no output");
    assert_differs(|g| at(g, "Add").input[0] = "Lost:0".into(), "which no operator produces");
}

#[test]
fn sharing_of_operators_counts() {
    let twice = |g: &mut GraphDef| {
        let again = OpDef { name: "Abs_1".into(), ..at(g, "Abs").clone() };
        g.op.insert(3, again);
        at(g, "NetOutput").input[1] = "Abs_1:0".into();
    };
    assert_differs(twice, "Abs");
}

#[test]
fn attributes_count() {
    assert_differs(
        |g| {
            at(g, "MatMul").attr.insert("transpose_x1".into(), Value::B(true).into());
        },
        "attribute transpose_x1 of MatMul: absent here, b: true there",
    );
    assert_differs(
        |g| {
            at(g, "MatMul").attr.insert("_user_stream_label".into(), Value::S(b"s2".to_vec()).into());
        },
        "_user_stream_label",
    );
    assert_differs(
        |g| {
            at(g, "Abs").attr.insert("_user_stream_label".into(), Value::S(b"s1".to_vec()).into());
        },
        "_user_stream_label",
    );
    assert_differs(
        |g| {
            at(g, "Pack").attr.insert("N".into(), Value::I(3).into());
        },
        "used by no output",
    );
}

#[test]
fn data_and_net_output_count() {
    assert_differs(
        |g| {
            at(g, "x").attr.insert("index".into(), Value::I(5).into());
        },
        "attribute index",
    );
    assert_differs(|g| at(g, "x").output_desc[0].shape = Some(ShapeDef { dim: vec![-1, 3] }), "output 0 of x");
    assert_differs(|g| at(g, "x").output_desc[0].device_type = "CPU".into(), "output 0 of x");
    assert_differs(|g| at(g, "x").output_desc[0].dtype = DataType::Bf16 as i32, "output 0 of x");
    assert_differs(|g| at(g, "NetOutput").input_desc[0].shape = None, "sizes [2, 2] here, [] there");
    assert_differs(|g| at(g, "NetOutput").input_desc[0].dtype = DataType::Int8 as i32, "type DT_FLOAT here");
    assert_differs(|g| g.op.retain(|o| o.name != "NetOutput"), "there is no NetOutput");
}

#[test]
fn types_and_formats_of_fed_slots_count() {
    assert_differs(|g| at(g, "Add").input_desc[0].dtype = DataType::Int8 as i32, "type DT_FLOAT here, DT_INT8 there");
    assert_differs(|g| at(g, "Add").input_desc[0].layout = "NCHW".into(), "format ND here, NCHW there");
    assert_differs(|g| at(g, "Add").output_desc[0].dtype = DataType::Int8 as i32, "output 0 of Add");
}

#[test]
fn contents_of_constants_count() {
    let other = |g: &mut GraphDef| {
        let twin = constant("Const", 2.0);
        *at(g, "Const") = twin;
    };
    assert_differs(other, "the constant DT_FLOAT[]");
    assert_differs(|g| g.op.push(constant("Const_9", 9.0)), "is only in the reference");
}

#[test]
fn graph_attributes_count() {
    assert_differs(
        |g| {
            g.attr.remove("_output_dtypes");
        },
        "graph attribute _output_dtypes",
    );
}

#[test]
fn the_order_that_control_edges_force_counts() {
    assert_differs(|g| at(g, "MatMul").input.retain(|i| i != "Abs:-1"), "MatMul runs after Abs here");
    assert_differs(|g| at(g, "Abs").input.push("w:-1".into()), "Abs runs after w there");
    // An edge on the constant orders what uses the constant.
    assert_differs(|g| at(g, "Const").input.push("Pack:-1".into()), "Add runs after Pack there");
}

#[test]
fn unused_equal_operators_are_paired_by_what_uses_them() {
    let chain = |order: [&str; 4]| {
        let mut g = base();
        for name in order {
            let op = match name {
                "a" | "b" => op(name, "Neg", &[("x", "x:0")]),
                "p" => op(name, "Mul", &[("x1", "a:0"), ("x2", "b:0")]),
                _ => op(name, "Relu", &[("x", "b:0")]),
            };
            g.op.push(op);
        }
        g
    };
    // Term by term "a" of one meets "b" of the other; only a search finds the right pairing.
    let result = compare(&chain(["a", "b", "p", "q"]), &chain(["b", "a", "p", "q"]));
    assert!(result.same, "{:?}", result.differences);
    let mut shared = chain(["a", "b", "p", "q"]);
    at(&mut shared, "p").input[1] = "a:0".into();
    assert!(!compare(&chain(["a", "b", "p", "q"]), &shared).same);
}

#[test]
fn fifty_thousand_operators_are_compared_at_once() {
    let mut g = base();
    g.op.retain(|o| o.name != "NetOutput");
    let mut last = "Add".to_string();
    for i in 0..50_000 {
        let name = format!("Relu_{i}");
        g.op.push(op(&name, "Relu", &[("x", &format!("{last}:0"))]));
        last = name;
    }
    let mut out = op("NetOutput", "NetOutput", &[("input0", &format!("{last}:0"))]);
    out.output_desc.clear();
    g.op.push(out);
    let mut twin = g.clone();
    twin.op.reverse();
    assert!(compare(&g, &twin).same);
}
