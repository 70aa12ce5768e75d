//! What decompositions promise, on small graphs.

use super::*;
use crate::graph::{Arg, BodyId, Device, Dtype, Graph, NewNode, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::Registry;
use crate::ops::error::TypeError;
use crate::sym::Dim;

fn input(g: &mut Graph, dtype: Dtype, sizes: &[Dim]) -> Arg {
    let t = TensorType::new(dtype, sizes.iter().copied(), Device::cpu());
    let strides = crate::ops::contiguous_strides(&mut g.symbols, &t.sizes).unwrap();
    let ty = ValueType::tensor(TensorType { strides: Some(strides), ..t });
    let node = NewNode {
        kind: NodeKind::Placeholder,
        target: g.texts.intern("x"),
        args: Box::default(),
        kwargs: Box::default(),
        ty,
    };
    let name = g.free_name(BodyId::ROOT, "x");
    Arg::Node(g.push(BodyId::ROOT, &name, node))
}

fn fixed(g: &mut Graph, dtype: Dtype, sizes: &[i64]) -> Arg {
    let sizes: Vec<Dim> = sizes.iter().map(|n| Dim::Fixed(*n)).collect();
    input(g, dtype, &sizes)
}

fn call(g: &mut Graph, target: &str, args: Vec<Arg>) -> NodeId {
    let ty = Registry::standard().infer(g, target, &args, &[]).unwrap();
    let target = g.texts.intern(target);
    let node = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: Box::default(), ty };
    g.push(BodyId::ROOT, "call", node)
}

fn expand(g: &mut Graph, target: &str, args: Vec<Arg>) -> Result<Option<Expansion>, TypeError> {
    let node = call(g, target, args);
    Registry::standard().decompose_node(g, node)
}

fn targets(e: &Expansion) -> Vec<&str> {
    e.calls().map(|n| e.graph.target(n)).collect()
}

#[test]
fn an_expansion_has_the_operands_as_inputs_and_typed_calls() {
    let mut g = Graph::new();
    let (x, w) = (fixed(&mut g, Dtype::F32, &[2, 3]), fixed(&mut g, Dtype::F32, &[4, 3]));
    let e = expand(&mut g, "aten.linear.default", vec![x.clone(), w.clone()]).unwrap().unwrap();
    assert_eq!(targets(&e), ["aten.t.default", "aten.mm.default"]);
    assert_eq!(e.inputs, [x.as_node().unwrap(), w.as_node().unwrap()]);
    assert_eq!(e.exactness, Exactness::Exact);
    let result = e.results()[0].as_node().unwrap();
    assert_eq!(e.graph.ty(result).annotation(&e.graph.symbols).unwrap(), "f32[2, 4]");
}

#[test]
fn half_precision_is_widened_once_and_rounded_once() {
    let mut g = Graph::new();
    let x = fixed(&mut g, Dtype::Bf16, &[5]);
    let e = expand(&mut g, "aten.silu.default", vec![x]).unwrap().unwrap();
    assert_eq!(targets(&e).iter().filter(|t| **t == "aten._to_copy.default").count(), 2);
    assert_eq!(e.exactness, Exactness::Real);
}

#[test]
fn an_in_place_operator_is_its_functional_form_and_a_copy() {
    let mut g = Graph::new();
    let (x, y) = (fixed(&mut g, Dtype::F32, &[3]), fixed(&mut g, Dtype::F32, &[3]));
    let e = expand(&mut g, "aten.add_.Tensor", vec![x.clone(), y]).unwrap().unwrap();
    assert_eq!(targets(&e), ["aten.add.Tensor", "aten.copy_.default"]);
    let sizes = Arg::List([Arg::Int(2)].into());
    assert!(expand(&mut g, "aten.resize_.default", vec![x, sizes]).unwrap().is_none());
}

#[test]
fn symbolic_sizes_stay_symbolic() {
    let mut g = Graph::new();
    let s = g.symbols.symbol("s0");
    let x = input(&mut g, Dtype::F32, &[s, Dim::Fixed(3)]);
    let e = expand(&mut g, "aten.softmax.int", vec![x.clone(), Arg::Int(-1)]).unwrap().unwrap();
    assert_eq!(targets(&e), ["aten._softmax.default"]);
    let e = expand(&mut g, "aten.flatten.using_ints", vec![x]).unwrap().unwrap();
    assert_eq!(targets(&e), ["aten.sym_size.int", "_operator.mul", "aten.reshape.default"]);
}

#[test]
fn what_is_not_covered_is_refused_and_leaves_the_symbols() {
    let mut g = Graph::new();
    let s = g.symbols.symbol("s0");
    let x = input(&mut g, Dtype::F32, &[s]);
    let error = expand(&mut g, "aten.chunk.default", vec![x, Arg::Int(2)]).unwrap_err();
    assert!(error.fault.is_ignorance() && error.to_string().contains("a symbolic size"), "{error}");
    assert!(g.symbols.find_symbol("s0").is_some());
}

#[test]
fn a_result_lies_as_the_rule_says() {
    let mut g = Graph::new();
    let x = fixed(&mut g, Dtype::F32, &[2, 3]);
    let turned = Arg::Node(call(&mut g, "aten.t.default", vec![x]));
    let mask = Arg::Node(call(&mut g, "aten.isnan.default", vec![turned.clone()]));
    let e = expand(&mut g, "aten.masked_fill.Scalar", vec![turned, mask, Arg::Int(0)]);
    let e = e.unwrap().unwrap();
    let result = e.results()[0].as_node().unwrap();
    let strides = e.graph.ty(result).as_tensor().unwrap().strides.clone().unwrap();
    assert_eq!(strides.as_slice(), [Dim::Fixed(2), Dim::Fixed(1)]);
}

#[test]
fn an_expansion_goes_into_the_callers_graph() {
    let mut g = Graph::new();
    let (x, w) = (fixed(&mut g, Dtype::F32, &[2, 3]), fixed(&mut g, Dtype::F32, &[4, 3]));
    let node = call(&mut g, "aten.linear.default", vec![x, w]);
    let e = Registry::standard().decompose_node(&mut g, node).unwrap().unwrap();
    let results = e.inline(&mut g, BodyId::ROOT, Some(node));
    let made: Vec<&str> = g.nodes(BodyId::ROOT).map(|n| g.target(n)).collect();
    assert_eq!(made, ["x", "x", "aten.t.default", "aten.mm.default", "aten.linear.default"]);
    assert_eq!(g.ty(results[0].as_node().unwrap()), g.ty(node));
}

#[test]
fn lists_are_decomposed_element_by_element() {
    let mut g = Graph::new();
    let (x, y) = (fixed(&mut g, Dtype::F32, &[3]), fixed(&mut g, Dtype::F32, &[2]));
    let list = Arg::List(vec![x, y].into());
    let e = expand(&mut g, "aten._foreach_mul.Scalar", vec![list, Arg::Float(2.0)]).unwrap().unwrap();
    assert_eq!(targets(&e), ["aten.mul.Scalar", "aten.mul.Scalar"]);
}

#[test]
fn a_gradient_of_a_mean_asks_for_the_number_of_elements() {
    let mut g = Graph::new();
    let (dy, x, y) =
        (fixed(&mut g, Dtype::F32, &[]), fixed(&mut g, Dtype::F32, &[2, 3]), fixed(&mut g, Dtype::F32, &[2, 3]));
    let e = expand(&mut g, "aten.mse_loss_backward.default", vec![dy, x, y, Arg::Int(1)]).unwrap();
    assert!(targets(&e.unwrap()).contains(&"aten.sub.Tensor"));
}

#[test]
fn a_grid_by_columns_and_rows_has_the_first_vector_along_the_columns() {
    let mut g = Graph::new();
    let (x, y) = (fixed(&mut g, Dtype::F32, &[2]), fixed(&mut g, Dtype::F32, &[2]));
    let (vectors, target) = (vec![Arg::List([x, y].into())], "aten.meshgrid.indexing");
    let named = vec![(g.texts.intern("indexing"), Arg::Str("xy".into()))];
    let ty = Registry::standard().infer(&mut g, target, &vectors, &named).unwrap();
    let target = g.texts.intern(target);
    let node = NewNode { kind: NodeKind::Call, target, args: vectors.into(), kwargs: named.into(), ty };
    let node = g.push(BodyId::ROOT, "grids", node);
    let e = Registry::standard().decompose_node(&mut g, node).unwrap().unwrap();
    let views: Vec<NodeId> = e.calls().filter(|c| e.graph.target(*c) == "aten.view.default").collect();
    // The second vector is put along the rows first.
    let sizes: Vec<Arg> = views.iter().filter_map(|v| e.graph.args(*v).get(1).cloned()).collect();
    assert_eq!(sizes, [Arg::list(vec![2, 1]), Arg::list(vec![1, 2])]);
    assert!(!targets(&e).contains(&"aten.transpose.int"));
}

/// Bytes that are said to hold another type (`x1_dtype`, `input_dtype`) are not what their tensor says: nothing is computed of them as if they were.
#[test]
fn operands_that_hold_another_type_are_not_taken_for_what_their_tensor_says() {
    let mut g = Graph::new();
    let (x, w) = (fixed(&mut g, Dtype::I8, &[4, 16]), fixed(&mut g, Dtype::I8, &[16, 8]));
    let scale = fixed(&mut g, Dtype::F32, &[8]);
    let product = |g: &mut Graph, types: &[(&str, i64)]| {
        let node = call(g, "npu.npu_quant_matmul.default", vec![x.clone(), w.clone(), scale.clone()]);
        let named: Vec<_> = types.iter().map(|(name, code)| (g.texts.intern(name), Arg::Int(*code))).collect();
        g.set_args(node, vec![x.clone(), w.clone(), scale.clone()].into(), named.into());
        Registry::standard().decompose_node(g, node)
    };
    assert!(product(&mut g, &[]).is_ok());
    assert!(product(&mut g, &[("x1_dtype", 1), ("x2_dtype", 1)]).is_ok());
    for types in [("x1_dtype", 296), ("x2_dtype", 5), ("output_dtype", 285)] {
        let error = product(&mut g, &[types]).unwrap_err();
        assert!(error.to_string().contains("dtype"), "{error}");
    }

    let bytes = fixed(&mut g, Dtype::U8, &[4, 16]);
    let cast = |g: &mut Graph, to: i64, from: Arg| {
        expand(g, "npu.npu_dtype_cast.default", vec![bytes.clone(), Arg::Int(to), from])
    };
    assert!(cast(&mut g, 5, Arg::None).is_ok());
    for (to, from) in [(5, Arg::Int(296)), (5, Arg::Int(290)), (290, Arg::None), (296, Arg::None)] {
        assert!(cast(&mut g, to, from.clone()).is_err(), "{to} from {from:?}");
    }
}
