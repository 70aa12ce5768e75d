//! Numbers as the raised graph says them: whole ones beside floats are integers, and integers are counted in one way.
//!
//! Promises: an operator is given an integer for a float only where its type stays what it was, and every float that it computes with is that integer.

use crate::graph::{Arg, Dtype, Graph, Layout, NodeId, StrId, ValueType, View};
use crate::ops::{Base, Param, Registry};

pub(super) const COUNTED: &str = "aten.arange.default";
pub(super) const COUNTED_FROM: &str = "aten.arange.start";
pub(super) const COUNTED_BY: &str = "aten.arange.start_step";

/// Up to there every integer is a number of single precision, from which narrower ones are rounded.
const WHOLE: f64 = 16_777_216.0;

/// Whole numbers beside floats as integers: an operator of PyTorch converts both to the floats that it computes with.
pub(super) fn with_whole_numbers(graph: &mut Graph, registry: &Registry, node: NodeId) {
    let Some(operator) = registry.operator_of(graph, node).filter(|o| &*o.schema.namespace == "aten") else { return };
    let is_float = |ty: &ValueType| ty.as_tensor().is_some_and(|t| t.dtype.is_float());
    let is_numeric = |n: NodeId| graph.ty(n).as_tensor().is_none() || is_float(graph.ty(n));
    let gives = |t: &ValueType| is_float(t) || t.as_tensor().is_some_and(|t| t.dtype == Dtype::Bool);
    // Truths of integers beside a float are of these as floats.
    let names_whole = |a: &Arg| matches!(a, Arg::Float(v) if whole(*v).is_some());
    let named = graph.kwargs(node).iter().map(|(_, a)| a);
    if !graph.args(node).iter().chain(named).any(names_whole) {
        return;
    }
    if !gives(graph.ty(node)) || !is_float(graph.ty(node)) && !graph.operands(node).all(is_numeric) {
        return;
    }
    // A number in the place of a tensor is one beside it, too.
    let takes =
        |p: Option<&Param>| p.is_some_and(|p| matches!(p.ty.base, Base::Scalar | Base::Tensor) && !p.ty.is_list());
    let (mut args, mut kwargs) = (graph.args(node).to_vec(), graph.kwargs(node).to_vec());
    let params = &operator.schema.params;
    let by_place = args.iter_mut().enumerate().filter(|(place, _)| takes(params.get(*place))).map(|(_, arg)| arg);
    let by_name = kwargs.iter_mut().filter(|(key, _)| {
        let name = graph.texts.text(*key);
        takes(params.iter().find(|p| *p.name == *name))
    });
    let mut any = false;
    for arg in by_place.chain(by_name.map(|(_, arg)| arg)) {
        if let Arg::Float(v) = arg
            && let Some(whole) = whole(*v)
        {
            *arg = Arg::Int(whole);
            any = true;
        }
    }
    let target = graph.target(node).to_string();
    if any && registry.infer(graph, &target, &args, &kwargs).is_ok_and(|ty| ty == *graph.ty(node)) {
        graph.set_args(node, args.into(), kwargs.into());
    }
}

/// A float as the integer that it is: zero below zero is none.
#[allow(clippy::cast_possible_truncation)] // Whole and small.
fn whole(v: f64) -> Option<i64> {
    let is_whole = v.fract() == 0.0 && v.abs() <= WHOLE && !(v == 0.0 && v.is_sign_negative());
    is_whole.then_some(v as i64)
}

/// Integers of 64 bits that are counted one by one: how many, or from where to where, and nothing that is a default.
pub(super) fn one_by_one(graph: &mut Graph, node: NodeId) {
    let Some(ty) = graph.ty(node).as_tensor().filter(|t| t.dtype == Dtype::I64) else { return };
    let device = ty.device.clone();
    let (from, to) = match (graph.target(node), graph.args(node)) {
        (COUNTED, [to]) => (Arg::Int(0), to.clone()),
        (COUNTED_FROM, [from, to]) | (COUNTED_BY, [from, to] | [from, to, Arg::Int(1)]) => (from.clone(), to.clone()),
        _ => return,
    };
    let is_whole = |a: &Arg| match a {
        Arg::Int(_) => true,
        Arg::Node(n) => matches!(graph.ty(*n), ValueType::SymInt(_)),
        _ => false,
    };
    // What is pinned or laid out otherwise is another tensor; the result's type says where it is.
    let is_plain = |(key, value): &(StrId, Arg)| match (graph.texts.text(*key), value) {
        ("dtype" | "device", _) | ("layout" | "pin_memory", Arg::None) | ("pin_memory", Arg::Bool(false)) => true,
        ("layout", Arg::Layout(layout)) => *layout == Layout::Strided,
        _ => false,
    };
    if !is_whole(&from) || !is_whole(&to) || !graph.kwargs(node).iter().all(is_plain) {
        return;
    }
    let (target, args) = if from == Arg::Int(0) { (COUNTED, vec![to]) } else { (COUNTED_FROM, vec![from, to]) };
    let named = [("dtype", Arg::Dtype(Dtype::I64)), ("device", Arg::Device(device))];
    let kwargs: Vec<(StrId, Arg)> = named.into_iter().map(|(k, v)| (graph.texts.intern(k), v)).collect();
    graph.set_args(node, args.into(), kwargs.into());
    let target = graph.texts.intern(target);
    graph.set_target(node, target);
}
