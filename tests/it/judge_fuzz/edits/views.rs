//! Copies and views: put in, taken out, merged, written by another operator.

use airlock::exec::{Tensor, Value};

use super::Draft;
use super::words::same_type;
use crate::judge_fuzz::program::{A, Node};
use crate::judge_fuzz::run;

pub fn dims(t: &Tensor) -> A {
    A::L(t.sizes().iter().map(|n| A::I(*n as i64)).collect())
}

pub fn insert_copy(d: &mut Draft<'_>) -> bool {
    let at = d.rng.below(d.p.nodes.len() + 1);
    let all = d.above(at);
    let Some((x, t)) = d.rng.maybe(&all).cloned() else { return false };
    let dtype = A::T(format!("torch.{}", t.dtype().long()));
    let arg = A::n(&x);
    let (target, args): (&str, Vec<A>) = match d.rng.below(16) {
        0 | 1 => ("aten.clone.default", vec![arg]),
        2 | 3 => ("aten.contiguous.default", vec![arg]),
        4 => ("aten.alias.default", vec![arg]),
        5 => ("aten.view.default", vec![arg, dims(&t)]),
        6 => ("aten.reshape.default", vec![arg, dims(&t)]),
        7 => ("aten.to.dtype", vec![arg, dtype]),
        8 => ("aten.detach.default", vec![arg]),
        9 => ("aten._to_copy.default", vec![arg]),
        10 => ("aten.expand.default", vec![arg, dims(&t)]),
        11 => ("aten.type_as.default", vec![arg.clone(), arg]),
        12 => ("aten.slice.Tensor", vec![arg]),
        13 => ("aten.view.default", vec![arg, A::ints(&[-1])]),
        14 => ("prims.convert_element_type.default", vec![arg, dtype]),
        _ => ("aten.permute.default", vec![arg, A::L((0..t.rank() as i64).map(A::I).collect())]),
    };
    let mut node = d.node("copy", target, args);
    if target == "aten.clone.default" && d.rng.percent(50) {
        node.kw.push(("memory_format".into(), A::t("torch.contiguous_format")));
    }
    let name = node.name.clone();
    d.p.nodes.insert(at, node);
    d.redirect(at + 1, &x, &A::N(name));
    true
}

/// The same elements in another arrangement, for a call that may see how its operand lies.
pub fn lay_out(d: &mut Draft<'_>) -> bool {
    let sees = |n: &Node| {
        let registry = run::registry().get(&n.target);
        registry.is_some_and(|o| o.effects.random || o.facts.sees_layout || o.facts.layout_decides)
            || ["reshape", "flatten", "contiguous", "sym_stride", "zeros_like", "full_like", "clone"].contains(&n.op())
    };
    let lies_otherwise = |d: &Draft<'_>, n: &Node| {
        let t = n.args.first().and_then(|a| d.tensor(a));
        t.is_some_and(|t| t.rank() > 1 && !t.meta.is_contiguous())
    };
    let likely = |d: &Draft<'_>, n: &Node| sees(n) && lies_otherwise(d, n);
    let any = |d: &Draft<'_>, n: &Node| sees(n) && n.args.first().is_some_and(|a| d.tensor(a).is_some());
    let found = if d.rng.percent(80) { d.node_where(&likely) } else { d.node_where(&any) };
    let Some(i) = found else { return false };
    let x = d.p.nodes[i].args[0].clone();
    let (target, format) = *d.rng.pick(&[
        ("aten.contiguous.default", None),
        ("aten.clone.default", Some("torch.contiguous_format")),
        ("aten.clone.default", Some("torch.preserve_format")),
        ("aten.view_copy.default", None),
    ]);
    let Some(t) = d.tensor(&x).cloned() else { return false };
    let args = if target.contains("view") { vec![x, dims(&t)] } else { vec![x] };
    let mut node = d.node("laid", target, args);
    node.kw.extend(format.map(|f| ("memory_format".into(), A::t(f))));
    d.p.nodes[i].args[0] = A::n(&node.name);
    d.p.nodes.insert(i, node);
    true
}

pub fn remove_copy(d: &mut Draft<'_>) -> bool {
    let fits = |d: &Draft<'_>, n: &Node| match (n.args.first(), d.env.get(&n.name)) {
        (Some(a), Some(Value::Tensor(t))) => {
            d.tensor(a).is_some_and(|u| u.dtype() == t.dtype() && u.sizes() == t.sizes())
        }
        _ => false,
    };
    let copies = [
        "clone",
        "contiguous",
        "alias",
        "view",
        "reshape",
        "to",
        "detach",
        "_to_copy",
        "expand",
        "type_as",
        "dropout",
        "alpha_dropout",
        "squeeze",
        "convert_element_type",
        "slice",
        "permute",
        "lift",
        "device_put",
        "_unsafe_view",
        "flatten",
        "transpose",
        "relu",
        "abs",
    ];
    let likely = |d: &Draft<'_>, n: &Node| fits(d, n) && copies.contains(&n.op());
    let found = if d.rng.percent(85) { d.node_where(&likely) } else { d.node_where(&fits) };
    let Some(i) = found else { return false };
    let node = d.p.nodes[i].clone();
    let to = node.args[0].clone();
    if d.rng.percent(75) {
        d.p.nodes.remove(i);
        d.p.put_from(i, &node.name, &to);
    } else {
        d.redirect(i + 1, &node.name, &to);
    }
    true
}

pub fn other_view(d: &mut Draft<'_>) -> bool {
    let views = [
        "view",
        "reshape",
        "_unsafe_view",
        "view_copy",
        "flatten",
        "unsqueeze",
        "squeeze",
        "permute",
        "transpose",
        "t",
        "contiguous",
        "clone",
        "slice",
        "expand",
        "to",
        "_to_copy",
        "select",
        "alias",
        "detach",
        "type_as",
        "unfold",
        "diagonal",
        "as_strided",
        "numpy_T",
        "mT",
        "narrow",
        "view_as",
        "reshape_as",
        "movedim",
        "swapaxes",
        "convert_element_type",
        "dropout",
    ];
    let Some(i) = d.node_where(&|_, n| views.contains(&n.op())) else { return false };
    let node = d.p.nodes[i].clone();
    let Some(Value::Tensor(t)) = d.env.get(&node.name).cloned() else { return false };
    let Some(u) = node.args.first().and_then(|a| d.tensor(a)).cloned() else { return false };
    let x = node.args[0].clone();
    let rest = node.args.get(1).cloned();
    let dtype = A::T(format!("torch.{}", t.dtype().long()));
    let strides = A::L(t.meta.strides.iter().map(|s| A::I(*s as i64)).collect());
    let mut all: Vec<(&str, Vec<A>)> = vec![
        ("aten.view.default", vec![x.clone(), dims(&t)]),
        ("aten.reshape.default", vec![x.clone(), dims(&t)]),
        ("aten._unsafe_view.default", vec![x.clone(), dims(&t)]),
        ("aten.expand.default", vec![x.clone(), dims(&t)]),
        ("aten.as_strided.default", vec![x.clone(), dims(&t), strides, A::I(t.meta.offset as i64)]),
    ];
    match (node.op(), rest) {
        ("view" | "reshape" | "_unsafe_view" | "view_copy", Some(size)) => {
            for other in [
                "aten.view.default",
                "aten.reshape.default",
                "aten.reshape.default",
                "aten._unsafe_view.default",
                "aten.view_copy.default",
            ] {
                all.push((other, vec![x.clone(), size.clone()]));
            }
        }
        ("contiguous" | "clone" | "alias" | "detach", _) => {
            for other in [
                "aten.contiguous.default",
                "aten.clone.default",
                "aten.alias.default",
                "aten._to_copy.default",
                "aten.detach.default",
            ] {
                all.push((other, vec![x.clone()]));
            }
        }
        ("to" | "_to_copy" | "type_as" | "convert_element_type", _) => {
            all.push(("aten.to.dtype", vec![x.clone(), dtype.clone()]));
            all.push(("prims.convert_element_type.default", vec![x.clone(), dtype.clone()]));
            all.push(("aten.to.dtype", vec![x.clone(), dtype, A::t("False"), A::t("True")]));
        }
        ("t" | "transpose" | "numpy_T" | "mT" | "permute" | "swapaxes" | "movedim", _) if t.rank() == 2 => {
            all.push(("aten.permute.default", vec![x.clone(), A::ints(&[1, 0])]));
            all.push(("aten.transpose.int", vec![x.clone(), A::I(0), A::I(1)]));
            all.push(("aten.transpose.int", vec![x.clone(), A::I(-1), A::I(0)]));
            all.push(("aten.t.default", vec![x.clone()]));
        }
        ("slice" | "select" | "narrow", Some(dim)) => {
            if let (Some(A::I(start)), true) = (node.args.get(2), node.args.len() > 2) {
                let end = start + 1;
                all.push(("aten.slice.Tensor", vec![x.clone(), dim.clone(), A::I(*start), A::I(end)]));
                all.push(("aten.select.int", vec![x.clone(), dim.clone(), A::I(*start)]));
                let len = dim_of(&dim, &u).map_or(1, |k| t.sizes().get(k).copied().unwrap_or(1) as i64);
                all.push(("aten.narrow.default", vec![x.clone(), dim.clone(), A::I(*start), A::I(len)]));
            }
        }
        ("squeeze", _) => {
            all.push(("aten.squeeze.default", vec![x.clone()]));
            all.push(("aten.squeeze.dim", vec![x.clone(), A::I(0)]));
            all.push(("aten.select.int", vec![x.clone(), A::I(0), A::I(0)]));
        }
        ("dropout", _) => all.push(("aten.alias.default", vec![x.clone()])),
        _ => {}
    }
    let (target, args) = d.rng.pick(&all).clone();
    let n = &mut d.p.nodes[i];
    (n.target, n.args, n.kw) = (target.to_string(), args, vec![]);
    *n != node
}

fn dim_of(a: &A, t: &Tensor) -> Option<usize> {
    match a {
        A::I(k) => usize::try_from(k.rem_euclid(t.rank().max(1) as i64)).ok(),
        _ => None,
    }
}

pub fn merge_views(d: &mut Draft<'_>) -> bool {
    let views = [
        "view",
        "reshape",
        "permute",
        "transpose",
        "expand",
        "slice",
        "unsqueeze",
        "squeeze",
        "_unsafe_view",
        "flatten",
        "contiguous",
        "to",
        "clone",
        "alias",
    ];
    let inner = |d: &Draft<'_>, n: &Node| -> Option<Node> {
        let Some(A::N(x)) = n.args.first() else { return None };
        d.p.place(x).map(|k| d.p.nodes[k].clone()).filter(|m| views.contains(&m.op()) && !m.args.is_empty())
    };
    let Some(i) = d.node_where(&|d, n| views.contains(&n.op()) && inner(d, n).is_some()) else { return false };
    let outer = d.p.nodes[i].clone();
    let Some(below) = inner(d, &outer) else { return false };
    let x = below.args[0].clone();
    let Some(t) = d.env.get(&outer.name).and_then(Value::as_tensor).cloned() else { return false };
    if let (Some(u), "permute" | "transpose", "permute" | "transpose") = (d.tensor(&x), outer.op(), below.op())
        && same_type(&t, u)
        && d.rng.percent(50)
    {
        d.p.put_from(i + 1, &outer.name, &x);
        return true;
    }
    let node = &mut d.p.nodes[i];
    match (outer.op(), below.op(), outer.args.get(1), below.args.get(1)) {
        ("permute", "permute", Some(A::L(p)), Some(A::L(q))) => {
            let all: Option<Vec<A>> =
                p.iter().map(|k| if let A::I(k) = k { q.get(*k as usize).cloned() } else { None }).collect();
            let Some(all) = all else { return false };
            node.args = vec![x, A::L(all)];
        }
        ("view" | "reshape" | "_unsafe_view" | "expand", _, Some(_), _) => node.args[0] = x,
        (_, "alias" | "clone" | "contiguous" | "to", _, _) => node.args[0] = x,
        _ => {
            let target = *d.rng.pick(&["aten.view.default", "aten.reshape.default"]);
            (node.target, node.args, node.kw) = (target.into(), vec![x, dims(&t)], vec![]);
        }
    }
    true
}

/// Pieces by another operator: items of split, chunk, tensor_split and unbind as slices and selects.
pub fn slices(d: &mut Draft<'_>) -> bool {
    let pieces = ["split", "chunk", "tensor_split", "unbind", "split_with_sizes"];
    let of = |d: &Draft<'_>, n: &Node| -> Option<Node> {
        let Some(A::N(x)) = n.args.first().filter(|_| n.target == "_operator.getitem") else { return None };
        d.p.place(x).map(|k| d.p.nodes[k].clone()).filter(|m| pieces.contains(&m.op()))
    };
    let Some(i) = d.node_where(&|d, n| of(d, n).is_some()) else { return false };
    let item = d.p.nodes[i].clone();
    let Some(whole) = of(d, &item) else { return false };
    let (Some(u), Some(Value::Tensor(t))) = (d.tensor(&whole.args[0]).cloned(), d.env.get(&item.name).cloned()) else {
        return false;
    };
    let position = if whole.op() == "unbind" { 1 } else { 2 };
    let dim = whole.args.get(position).cloned().unwrap_or(A::I(0));
    let Some(k) = dim_of(&dim, &u).filter(|k| *k < u.rank()) else { return false };
    let stride = u.meta.strides[k].max(1);
    let start = ((t.meta.offset.saturating_sub(u.meta.offset)) / stride) as i64;
    let length = if whole.op() == "unbind" { 1 } else { t.sizes().get(k).copied().unwrap_or(1) as i64 };
    let x = whole.args[0].clone();
    let node = &mut d.p.nodes[i];
    (node.target, node.args) = match (whole.op(), d.rng.below(3)) {
        ("unbind", _) => ("aten.select.int".into(), vec![x, dim, A::I(start)]),
        (_, 0) => ("aten.narrow.default".into(), vec![x, dim, A::I(start), A::I(length)]),
        (_, 1) => (
            "aten.slice.Tensor".into(),
            vec![
                x,
                dim,
                A::I(start),
                A::I(if start + length >= u.sizes()[k] as i64 { i64::MAX } else { start + length }),
            ],
        ),
        _ => ("aten.slice.Tensor".into(), vec![x, dim, A::I(start), A::I(start + length)]),
    };
    true
}
