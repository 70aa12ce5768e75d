//! Calls that come and go: merged, doubled, dropped, put in dead; bodies and outputs.

use std::collections::BTreeMap;

use airlock::exec::{Tensor, Value};

use super::Draft;
use super::places::{move_call, swap_neighbours};
use super::views::dims;
use super::words::{other_constant, same_type, swap_operands};
use super::writes::{functional, in_place};
use crate::judge_fuzz::generate::Gen;
use crate::judge_fuzz::program::{A, Body, Node, Out, Program};
use crate::judge_fuzz::run;

pub fn merge(d: &mut Draft<'_>) -> bool {
    let n = d.p.nodes.len();
    let same = |a: &Node, b: &Node| a.target == b.target && a.args == b.args && a.kw == b.kw && a.target != "self";
    let pairs: Vec<(usize, usize)> = (0..n)
        .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
        .filter(|(i, j)| same(&d.p.nodes[*i], &d.p.nodes[*j]))
        .collect();
    let Some((i, j)) = d.rng.maybe(&pairs).copied() else { return false };
    let (keep, drop) = (d.p.nodes[i].name.clone(), d.p.nodes[j].name.clone());
    d.p.put_from(j, &drop, &A::N(keep));
    if d.rng.percent(85) {
        d.p.nodes.remove(j);
    }
    true
}

pub fn double(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|_, n| n.target != "self") else { return false };
    let old = d.p.nodes[i].clone();
    let copy = Node { name: d.p.free("twin"), ..old.clone() };
    let at = i + 1 + if d.rng.percent(50) { 0 } else { d.rng.below(d.p.nodes.len() - i) };
    d.p.nodes.insert(at, copy.clone());
    d.redirect(at + 1, &old.name, &A::N(copy.name));
    true
}

pub fn effectful(n: &Node) -> bool {
    let known = run::registry().get(&n.target).is_some_and(|o| o.effects.may_be_dropped());
    !known
}

pub fn drop_dead(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|d, n| !d.p.is_used(&n.name)) else { return false };
    if effectful(&d.p.nodes[i]) && d.rng.percent(60) {
        return false;
    }
    d.p.nodes.remove(i);
    true
}

pub fn drop_all_dead(d: &mut Draft<'_>) -> bool {
    let before = d.p.nodes.len();
    for i in (0..before).rev() {
        let n = &d.p.nodes[i];
        if !d.p.is_used(&n.name) && !effectful(n) {
            d.p.nodes.remove(i);
        }
    }
    d.p.nodes.len() != before
}

pub fn effect(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|_, n| effectful(n) && n.target != "self") else { return false };
    let node = d.p.nodes[i].clone();
    if d.rng.percent(55) {
        let first = node.args.first().cloned().unwrap_or(A::t("None"));
        if d.p.is_used(&node.name) && d.tensor(&first).is_none() {
            return false;
        }
        d.p.nodes.remove(i);
        d.p.put_from(i, &node.name, &first);
    } else {
        let copy = Node { name: d.p.free("more"), ..node };
        d.p.nodes.insert(i + 1, copy);
    }
    true
}

pub fn output(d: &mut Draft<'_>) -> bool {
    let k = d.rng.below(d.p.outs.len());
    let A::N(x) = d.p.outs[k].value.clone() else { return false };
    let Some(Value::Tensor(t)) = d.env.get(&x).cloned() else { return false };
    if d.rng.percent(35) {
        let all: Vec<(String, Tensor)> =
            d.above(usize::MAX).into_iter().filter(|(n, u)| *n != x && same_type(&t, u)).collect();
        let equal: Vec<(String, Tensor)> =
            all.into_iter().filter(|(_, u)| run::elements(&t) == run::elements(u)).collect();
        let Some((y, _)) = d.rng.maybe(&equal).cloned() else { return false };
        d.p.outs[k].value = A::N(y);
        return true;
    }
    let (target, args) = match d.rng.below(5) {
        0 => ("aten.clone.default", vec![A::N(x)]),
        1 => ("aten.alias.default", vec![A::N(x)]),
        2 => ("aten.view.default", vec![A::N(x), dims(&t)]),
        3 => ("aten.contiguous.default", vec![A::N(x)]),
        _ => ("aten.reshape.default", vec![A::N(x), dims(&t)]),
    };
    let node = d.node("last", target, args);
    d.p.outs[k].value = A::n(&node.name);
    d.p.nodes.push(node);
    true
}

pub fn body(d: &mut Draft<'_>) -> bool {
    if d.p.bodies.is_empty() {
        return false;
    }
    let k = d.rng.below(d.p.bodies.len());
    if d.rng.percent(20) {
        // Another operand for the call.
        let Some(i) = d.node_where(&|_, n| n.target.starts_with("higher_order")) else { return false };
        let mut names = Vec::new();
        d.p.nodes[i].each(&mut |n| names.push(n.to_string()));
        names.retain(|n| d.env.contains_key(n));
        let Some(x) = d.rng.maybe(&names).cloned() else { return false };
        let Some(t) = d.env.get(&x).and_then(Value::as_tensor).cloned() else { return false };
        let all: Vec<(String, Tensor)> = d.above(i).into_iter().filter(|(n, u)| *n != x && same_type(&t, u)).collect();
        let Some((y, _)) = d.rng.maybe(&all).cloned() else { return false };
        d.p.nodes[i].put(&x, &A::N(y));
        return true;
    }
    let Body { name, params, notes, nodes, outs } = d.p.bodies[k].clone();
    // The body as a program without known values: edits that need none work on it.
    let mut inner = Program {
        nodes,
        outs: outs.into_iter().map(|value| Out { value, mutates: None }).collect(),
        ..Program::default()
    };
    let none = BTreeMap::new();
    let mut draft =
        Draft { p: std::mem::take(&mut inner), env: &none, rng: d.rng, skip: d.skip, hint: d.hint, opaque: d.opaque };
    let changed = match draft.rng.below(10) {
        0 => move_call(&mut draft),
        1 => swap_neighbours(&mut draft),
        2 => drop_dead(&mut draft),
        3 => in_place(&mut draft),
        4 => functional(&mut draft),
        5 => double(&mut draft),
        6 => other_constant(&mut draft),
        7 => swap_operands(&mut draft),
        8 => {
            // A copy of what is returned, or what it is a copy of.
            let k = draft.rng.below(draft.p.outs.len());
            let A::N(x) = draft.p.outs[k].value.clone() else { return false };
            match draft.p.place(&x).map(|i| draft.p.nodes[i].clone()) {
                Some(n)
                    if draft.rng.percent(50)
                        && matches!(n.op(), "clone" | "contiguous" | "view" | "reshape" | "alias" | "to") =>
                {
                    draft.p.outs[k].value = n.args[0].clone();
                }
                _ => {
                    let target =
                        *draft.rng.pick(&["aten.clone.default", "aten.alias.default", "aten.contiguous.default"]);
                    let node = draft.node("last", target, vec![A::N(x)]);
                    draft.p.outs[k].value = A::n(&node.name);
                    draft.p.nodes.push(node);
                }
            }
            true
        }
        _ => {
            let Some(param) = params.first().cloned() else { return false };
            let target =
                *draft.rng.pick(&["aten.clone.default", "aten.alias.default", "aten.neg_.default", "aten.neg.default"]);
            let node = draft.node("first", target, vec![A::N(param.clone())]);
            let name = node.name.clone();
            if draft.rng.percent(60) {
                draft.p.put_from(0, &param, &A::N(name));
            }
            draft.p.nodes.insert(0, node);
            true
        }
    };
    let p = draft.p;
    d.p.bodies[k] = Body { name, params, notes, nodes: p.nodes, outs: p.outs.into_iter().map(|o| o.value).collect() };
    changed
}

pub fn dead(d: &mut Draft<'_>) -> bool {
    let at = d.rng.below(d.p.nodes.len() + 1);
    let mut g = Gen::new(d.rng.bits(), d.skip);
    g.hint = d.hint.clone();
    g.opaque = d.opaque;
    g.resume(&d.p, at, d.env);
    let mut made = None;
    for _ in 0..6 {
        made = g.step();
        if made.is_some() {
            break;
        }
    }
    // A second call on top of the first one: what only raises for some sizes needs a number first.
    if made.is_some() && d.rng.percent(40) {
        g.step();
    }
    if made.is_none() {
        return false;
    }
    d.p = g.p;
    true
}
