//! What a call says: operands, constants, sizes, annotations, keywords.

use std::collections::BTreeMap;

use airlock::exec::{Tensor, Value};

use super::Draft;
use crate::judge_fuzz::program::{A, Node};
use crate::judge_fuzz::random::Rng;
use crate::judge_fuzz::run;

pub fn swap_operands(d: &mut Draft<'_>) -> bool {
    let two = |n: &Node| matches!(n.args.as_slice(), [A::N(a), A::N(b), ..] if a != b);
    let often =
        ["add", "mul", "maximum", "minimum", "eq", "ne", "logical_and", "bitwise_and", "bitwise_or", "add_", "mul_"];
    let likely = |_: &Draft<'_>, n: &Node| two(n) && often.contains(&n.op());
    let found = if d.rng.percent(85) { d.node_where(&likely) } else { d.node_where(&|_, n| two(n)) };
    let Some(i) = found else { return false };
    d.p.nodes[i].args.swap(0, 1);
    true
}

pub fn same_type(t: &Tensor, u: &Tensor) -> bool {
    t.dtype() == u.dtype() && t.sizes() == u.sizes()
}

pub fn other_operand(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.any_node() else { return false };
    let node = d.p.nodes[i].clone();
    let mut names = Vec::new();
    node.each(&mut |n| names.push(n.to_string()));
    let Some(x) = d.rng.maybe(&names).cloned() else { return false };
    match d.env.get(&x) {
        Some(Value::Tensor(t)) => {
            let all: Vec<(String, Tensor)> =
                d.above(i).into_iter().filter(|(n, u)| *n != x && same_type(t, u)).collect();
            let equal: Vec<(String, Tensor)> =
                all.iter().filter(|(_, u)| run::elements(t) == run::elements(u)).cloned().collect();
            let from = if !equal.is_empty() && d.rng.percent(80) { equal } else { all };
            let Some((y, _)) = d.rng.maybe(&from).cloned() else { return false };
            d.p.nodes[i].put(&x, &A::N(y));
            true
        }
        Some(Value::Int(n)) => {
            let above = |m: &str| d.p.place(m).is_none_or(|p| p < i);
            let all: Vec<String> = d
                .env
                .iter()
                .filter(|(m, v)| **m != x && matches!(v, Value::Int(k) if k == n) && above(m))
                .map(|(m, _)| m.clone())
                .collect();
            let Some(y) = d.rng.maybe(&all).cloned() else { return false };
            d.p.nodes[i].put(&x, &A::N(y));
            true
        }
        _ => false,
    }
}

pub fn other_constant(d: &mut Draft<'_>) -> bool {
    let constant =
        |a: &A| matches!(a, A::I(_) | A::T(_)) || matches!(a, A::L(all) if all.iter().any(|b| matches!(b, A::I(_))));
    let Some(i) = d.node_where(&|_, n| n.target != "self" && n.args.iter().any(constant)) else { return false };
    let rng = &mut *d.rng;
    let node = &mut d.p.nodes[i];
    let places: Vec<usize> = (0..node.args.len()).filter(|k| constant(&node.args[*k])).collect();
    let k = *rng.pick(&places);
    // A default written out, or left out, changes nothing.
    if rng.percent(20)
        && let Some(o) = run::registry().get(&node.target)
    {
        let next = o.schema.params.get(node.args.len());
        if let Some(text) = next.filter(|p| !p.kwarg_only).and_then(|p| p.default.as_ref())
            && crate::judge_fuzz::generate::literal(&text.text).is_some()
        {
            node.args.push(A::T(text.text.to_string()));
            return true;
        }
    }
    change(&mut node.args[k], rng)
}

fn change(a: &mut A, rng: &mut Rng) -> bool {
    match a {
        A::I(n) => {
            let by = *rng.pick(&[1, -1, 1, 2, -2]);
            *a = match rng.below(6) {
                0 => A::I(-*n),
                1 => A::T(format!("{}.0", *n)),
                _ => A::I(n.saturating_add(by)),
            };
            true
        }
        A::T(t) => {
            let new = match t.as_str() {
                "True" => "False",
                "False" => "True",
                "0.0" => *rng.pick(&["-0.0", "0"]),
                "1.0" => *rng.pick(&["1", "True"]),
                "torch.float32" => "torch.float64",
                "None" => "0",
                "0.5" => *rng.pick(&["0.0", "0.50", "1.0"]),
                _ => return false,
            };
            *a = A::t(new);
            true
        }
        A::L(all) => {
            let places: Vec<usize> = (0..all.len()).filter(|k| matches!(all[*k], A::I(_))).collect();
            let Some(k) = rng.maybe(&places).copied() else { return false };
            if rng.percent(30) {
                all[k] = A::I(-1);
                return true;
            }
            change(&mut all[k], rng)
        }
        _ => false,
    }
}

/// Calls `f` with the integers in an argument.
fn numbers(a: &mut A, f: &mut dyn FnMut(&mut A)) {
    match a {
        A::L(all) => all.iter_mut().for_each(|b| numbers(b, f)),
        other => f(other),
    }
}

pub fn size(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|_, n| n.target.starts_with("aten.") && n.args.len() > 1) else { return false };
    let known: BTreeMap<String, i64> =
        d.env.iter().filter_map(|(n, v)| if let Value::Int(k) = v { Some((n.clone(), *k)) } else { None }).collect();
    let above: Vec<(String, Tensor)> = d.above(i);
    let mut wanted: Option<i64> = None;
    let mut changed = false;
    let (rng, node) = (&mut *d.rng, &mut d.p.nodes[i]);
    for a in node.args.iter_mut().skip(1) {
        numbers(a, &mut |b| {
            if changed || wanted.is_some() || rng.percent(30) {
                return;
            }
            match b {
                A::N(n) if known.contains_key(n) => {
                    *b = A::I(known[n]);
                    changed = true;
                }
                A::I(n) if *n >= 0 => wanted = Some(*n),
                _ => {}
            }
        });
    }
    let Some(n) = wanted.filter(|_| !changed) else { return changed };
    // A size of some tensor above that is this number.
    let fits = |t: &Tensor| t.sizes().iter().position(|s| *s as i64 == n);
    let all: Vec<(String, usize)> = above.iter().filter_map(|(m, t)| Some((m.clone(), fits(t)?))).collect();
    let Some((x, dim)) = d.rng.maybe(&all).cloned() else { return false };
    let symbol = d.node("size", "aten.sym_size.int", vec![A::N(x), A::I(dim as i64)]);
    let (name, mut done) = (symbol.name.clone(), false);
    for a in d.p.nodes[i].args.iter_mut().skip(1) {
        numbers(a, &mut |b| {
            if !done && *b == A::I(n) {
                *b = A::n(&name);
                done = true;
            }
        });
    }
    d.p.nodes.insert(i, symbol);
    done
}

pub fn annotation(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|_, n| n.target != "self") else { return false };
    let name = d.p.nodes[i].name.clone();
    let note = match d.env.get(&name) {
        Some(Value::Tensor(t)) => {
            let mut sizes: Vec<String> = t.sizes().iter().map(|n| n.to_string()).collect();
            if let Some(k) = (!sizes.is_empty()).then(|| d.rng.below(sizes.len()))
                && d.rng.percent(50)
            {
                sizes[k] = (*d.rng.pick(&["s0", "3", "u0", "1", "2*s0"])).to_string();
            }
            if sizes.iter().any(|s| s.contains("s0")) && d.p.ranges.is_empty() {
                return false;
            }
            format!("{}[{}]", t.dtype(), sizes.join(", "))
        }
        Some(Value::Int(n)) => format!("Sym({})", if d.rng.percent(50) { n.to_string() } else { "u0".into() }),
        _ => return false,
    };
    let old = d.p.nodes[i].note.replace(note);
    if old.is_some() && d.rng.percent(40) {
        d.p.nodes[i].note = None;
    }
    true
}

pub fn keywords(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|_, n| {
        run::registry().get(&n.target).is_some()
            && n.args.len() > 1
            && !n.target.starts_with("_operator")
            && !n.target.starts_with("torch.")
            && !n.target.starts_with("higher")
    }) else {
        return false;
    };
    let node = &mut d.p.nodes[i];
    let Some(operator) = run::registry().get(&node.target) else { return false };
    let last = node.args.len() - 1;
    let Some(param) = operator.schema.params.get(last) else { return false };
    let value = node.args.remove(last);
    node.kw.insert(0, (param.name.to_string(), value));
    true
}

pub fn identity(d: &mut Draft<'_>) -> bool {
    let at = d.rng.below(d.p.nodes.len() + 1);
    let all = d.above(at);
    let Some((x, _)) = d.rng.maybe(&all).cloned() else { return false };
    let a = A::n(&x);
    let calls: Vec<(&str, Vec<A>)> = match d.rng.below(9) {
        0 => vec![("aten.mul.Tensor", vec![a, A::I(1)])],
        1 => vec![("aten.add.Tensor", vec![a, A::I(0)])],
        2 => vec![("aten.neg.default", vec![a]), ("aten.neg.default", vec![A::t("@")])],
        3 => vec![("aten.sub.Tensor", vec![a, A::I(0)])],
        4 => vec![("aten.div.Tensor", vec![a, A::I(1)])],
        5 => vec![
            ("aten.to.dtype", vec![a, A::t("torch.float64")]),
            ("aten.to.dtype", vec![A::t("@"), A::t("torch.float32")]),
        ],
        6 => vec![("aten.unsqueeze.default", vec![a, A::I(0)]), ("aten.squeeze.dim", vec![A::t("@"), A::I(0)])],
        7 => vec![
            ("aten.transpose.int", vec![a, A::I(0), A::I(-1)]),
            ("aten.transpose.int", vec![A::t("@"), A::I(-1), A::I(0)]),
        ],
        _ => vec![("aten.cat.default", vec![A::L(vec![a])])],
    };
    let mut last = A::n(&x);
    for (k, (target, mut args)) in calls.into_iter().enumerate() {
        args.iter_mut().filter(|b| **b == A::t("@")).for_each(|b| *b = last.clone());
        let node = d.node("same", target, args);
        last = A::n(&node.name);
        d.p.nodes.insert(at + k, node);
    }
    let behind = d.behind(match &last {
        A::N(n) => n,
        _ => "",
    });
    d.redirect(behind, &x, &last);
    true
}
