//! Edits of programs: those that passes make, right ones and their wrong neighbours.
//!
//! Each takes the program, what its values were in one run, and a generator; it says whether it changed anything. No edit knows whether it is
//! right: that is the judge's to say, and running both programs to contradict.

use std::collections::BTreeMap;

use airlock::exec::{Tensor, Value};

use super::generate::Gen;
use super::program::{A, Body, Node, Out, Program};
use super::random::Rng;
use super::run;

/// What an edit works on.
pub struct Draft<'a> {
    pub p: Program,
    pub env: &'a BTreeMap<String, Value>,
    pub rng: &'a mut Rng,
    pub skip: &'a [String],
    pub hint: &'a super::run::Binding,
    pub opaque: bool,
}

type Edit = fn(&mut Draft<'_>) -> bool;

/// Every kind of edit, and how often it is made.
pub const EDITS: &[(&str, usize, Edit)] = &[
    ("none", 1, |_| true),
    ("merge equal calls", 8, merge),
    ("double a call", 4, double),
    ("drop a dead call", 5, drop_dead),
    ("drop all dead calls", 4, drop_all_dead),
    ("insert a copy or view", 9, insert_copy),
    ("remove a copy or view", 7, remove_copy),
    ("lay out otherwise", 6, lay_out),
    ("another view operator", 7, other_view),
    ("move a call", 9, move_call),
    ("move past bodies", 5, move_past_bodies),
    ("swap neighbours", 4, swap_neighbours),
    ("swap operands", 11, swap_operands),
    ("in place", 8, in_place),
    ("functional", 8, functional),
    ("another operand", 5, other_operand),
    ("another constant", 4, other_constant),
    ("drop or double an effect", 4, effect),
    ("another output", 4, output),
    ("size as number or symbol", 10, size),
    ("another annotation", 3, annotation),
    ("edit a body", 20, body),
    ("keywords", 3, keywords),
    ("insert a dead call", 6, dead),
    ("merge views", 14, merge_views),
    ("mutation by signature", 6, mutation),
    ("insert an identity", 5, identity),
    ("slices", 12, slices),
];

/// Makes one edit; returns its name, if it changed anything.
pub fn edit(draft: &mut Draft<'_>) -> Option<&'static str> {
    let total: usize = EDITS.iter().map(|(_, w, _)| w).sum();
    let mut at = draft.rng.below(total);
    let (name, _, edit) = EDITS.iter().find(|(_, w, _)| {
        let here = at < *w;
        at = at.saturating_sub(*w);
        here
    })?;
    edit(draft).then_some(*name)
}

impl Draft<'_> {
    fn value(&self, a: &A) -> Option<&Value> {
        match a {
            A::N(n) => self.env.get(n),
            _ => None,
        }
    }

    fn tensor(&self, a: &A) -> Option<&Tensor> {
        self.value(a)?.as_tensor()
    }

    fn any_node(&mut self) -> Option<usize> {
        (!self.p.nodes.is_empty()).then(|| self.rng.below(self.p.nodes.len()))
    }

    fn node_where(&mut self, fits: &dyn Fn(&Self, &Node) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.p.nodes.len()).filter(|i| fits(self, &self.p.nodes[*i])).collect();
        self.rng.maybe(&all).copied()
    }

    /// Tensors defined above a place.
    fn above(&self, at: usize) -> Vec<(String, Tensor)> {
        let inputs = self.p.inputs.iter().map(|i| &i.name);
        let nodes = self.p.nodes.iter().take(at).map(|n| &n.name);
        inputs.chain(nodes).filter_map(|n| self.env.get(n)?.as_tensor().map(|t| (n.clone(), t.clone()))).collect()
    }

    fn node(&self, name: &str, target: &str, args: Vec<A>) -> Node {
        Node { name: self.p.free(name), target: target.into(), args, kw: vec![], note: None }
    }

    /// Replaces uses of a name from a place on: all, or each with a chance.
    fn redirect(&mut self, from: usize, old: &str, new: &A) {
        if self.rng.percent(65) {
            self.p.put_from(from, old, new);
            return;
        }
        for i in from..self.p.nodes.len() {
            if self.rng.percent(50) {
                self.p.nodes[i].put(old, new);
            }
        }
        for out in &mut self.p.outs {
            if self.rng.percent(50) {
                out.value.put(old, new);
            }
        }
    }

    /// Where uses of a value may begin to change: behind its definition.
    fn behind(&self, name: &str) -> usize {
        self.p.place(name).map_or(0, |p| p + 1)
    }
}

fn dims(t: &Tensor) -> A {
    A::L(t.sizes().iter().map(|n| A::I(*n as i64)).collect())
}

fn merge(d: &mut Draft<'_>) -> bool {
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

fn double(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|_, n| n.target != "self") else { return false };
    let old = d.p.nodes[i].clone();
    let copy = Node { name: d.p.free("twin"), ..old.clone() };
    let at = i + 1 + if d.rng.percent(50) { 0 } else { d.rng.below(d.p.nodes.len() - i) };
    d.p.nodes.insert(at, copy.clone());
    d.redirect(at + 1, &old.name, &A::N(copy.name));
    true
}

fn effectful(n: &Node) -> bool {
    let known = run::registry().get(&n.target).is_some_and(|o| o.effects.may_be_dropped());
    !known
}

fn drop_dead(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|d, n| !d.p.is_used(&n.name)) else { return false };
    if effectful(&d.p.nodes[i]) && d.rng.percent(60) {
        return false;
    }
    d.p.nodes.remove(i);
    true
}

fn drop_all_dead(d: &mut Draft<'_>) -> bool {
    let before = d.p.nodes.len();
    for i in (0..before).rev() {
        let n = &d.p.nodes[i];
        if !d.p.is_used(&n.name) && !effectful(n) {
            d.p.nodes.remove(i);
        }
    }
    d.p.nodes.len() != before
}

fn insert_copy(d: &mut Draft<'_>) -> bool {
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
fn lay_out(d: &mut Draft<'_>) -> bool {
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

fn remove_copy(d: &mut Draft<'_>) -> bool {
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

fn other_view(d: &mut Draft<'_>) -> bool {
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

/// Where a node may stand: from behind its operands to before its users.
fn room(p: &Program, i: usize) -> (usize, usize) {
    let node = &p.nodes[i];
    let low = (0..i).rev().find(|j| node.uses(&p.nodes[*j].name)).map_or(0, |j| j + 1);
    let high = (i + 1..p.nodes.len()).find(|j| p.nodes[*j].uses(&node.name)).map_or(p.nodes.len(), |j| j) - 1;
    (low, high)
}

fn move_call(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.any_node() else { return false };
    let (low, high) = room(&d.p, i);
    if low >= high {
        return false;
    }
    let to = match d.rng.below(3) {
        0 => low,
        1 => high,
        _ => d.rng.between(low as i64, high as i64) as usize,
    };
    let node = d.p.nodes.remove(i);
    d.p.nodes.insert(to, node);
    to != i
}

/// A call that reads what a call of bodies, or of an operator that nobody described, takes or gives: to the other side of it.
fn move_past_bodies(d: &mut Draft<'_>) -> bool {
    let runs = |n: &Node| n.target.starts_with("higher_order") || n.target.starts_with("demo.");
    let Some(i) = d.node_where(&|_, n| runs(n)) else { return false };
    let fits = |j: &usize| {
        let (low, high) = room(&d.p, *j);
        *j != i && (low..=high).contains(&i) && d.p.nodes[*j].target != "self"
    };
    let all: Vec<usize> = (0..d.p.nodes.len()).filter(fits).collect();
    let shares = |j: &&usize| {
        let mut met = false;
        d.p.nodes[**j].each(&mut |n| met |= d.p.nodes[i].uses(n));
        met
    };
    let near: Vec<usize> = all.iter().filter(shares).copied().collect();
    let from = if near.is_empty() { &all } else { &near };
    let Some(j) = d.rng.maybe(from).copied() else { return false };
    let node = d.p.nodes.remove(j);
    d.p.nodes.insert(i, node);
    true
}

fn swap_neighbours(d: &mut Draft<'_>) -> bool {
    let pairs: Vec<usize> = (1..d.p.nodes.len()).filter(|i| !d.p.nodes[*i].uses(&d.p.nodes[i - 1].name)).collect();
    let effect = |i: &&usize| effectful(&d.p.nodes[**i]) || effectful(&d.p.nodes[**i - 1]);
    let between: Vec<usize> = pairs.iter().filter(effect).copied().collect();
    let from = if between.is_empty() { &pairs } else { &between };
    let Some(i) = d.rng.maybe(from).copied() else { return false };
    d.p.nodes.swap(i, i - 1);
    true
}

fn swap_operands(d: &mut Draft<'_>) -> bool {
    let two = |n: &Node| matches!(n.args.as_slice(), [A::N(a), A::N(b), ..] if a != b);
    let often =
        ["add", "mul", "maximum", "minimum", "eq", "ne", "logical_and", "bitwise_and", "bitwise_or", "add_", "mul_"];
    let likely = |_: &Draft<'_>, n: &Node| two(n) && often.contains(&n.op());
    let found = if d.rng.percent(85) { d.node_where(&likely) } else { d.node_where(&|_, n| two(n)) };
    let Some(i) = found else { return false };
    d.p.nodes[i].args.swap(0, 1);
    true
}

/// The operator with or without the underscore.
fn sibling(target: &str, in_place: bool) -> Option<String> {
    let mut parts: Vec<String> = target.split('.').map(String::from).collect();
    let name = parts.get(1)?.clone();
    parts[1] = if in_place { format!("{name}_") } else { name.strip_suffix('_')?.to_string() };
    let other = parts.join(".");
    run::registry().get(&other)?;
    Some(other)
}

fn in_place(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|_, n| sibling(&n.target, true).is_some() && n.kw.iter().all(|(k, _)| k != "dtype"))
    else {
        return false;
    };
    let node = d.p.nodes[i].clone();
    let Some(target) = sibling(&node.target, true) else { return false };
    // Right only where nobody reads the operand any more: mostly tried there.
    if let Some(A::N(x)) = node.args.first() {
        let later = d.p.nodes[i + 1..].iter().any(|n| n.uses(x)) || d.p.inputs.iter().any(|k| k.name == *x);
        if later && d.rng.percent(60) {
            // Through a copy it is right again.
            let copy = d.node("own", "aten.clone.default", vec![node.args[0].clone()]);
            d.p.nodes[i].args[0] = A::n(&copy.name);
            d.p.nodes[i].target = target;
            d.p.nodes.insert(i, copy);
            return true;
        }
    }
    d.p.nodes[i].target = target;
    true
}

fn functional(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.node_where(&|_, n| n.target.ends_with(".out") || sibling(&n.target, false).is_some()) else {
        return false;
    };
    let node = d.p.nodes[i].clone();
    if let Some((_, out)) = node.kw.iter().find(|(k, _)| k == "out").cloned() {
        let n = &mut d.p.nodes[i];
        n.kw.retain(|(k, _)| k != "out");
        n.target = n.target.replace(".out", ".Tensor");
        let name = n.name.clone();
        let copy = d.node("put", "aten.copy_.default", vec![out, A::N(name)]);
        d.p.nodes.insert(i + 1, copy);
        return true;
    }
    let Some(target) = sibling(&node.target, false) else { return false };
    d.p.nodes[i].target = target;
    let Some(x @ A::N(old)) = node.args.first() else { return true };
    match d.rng.below(3) {
        // The value goes back into memory.
        0 | 1 => {
            let copy = d.node("put", "aten.copy_.default", vec![x.clone(), A::n(&node.name)]);
            let name = copy.name.clone();
            d.p.nodes.insert(i + 1, copy);
            if d.rng.percent(60) {
                d.p.put_from(i + 2, &node.name, &if d.rng.percent(50) { x.clone() } else { A::N(name) });
            }
        }
        // Later uses of what was written see the new value.
        _ => {
            let (old, name) = (old.clone(), node.name.clone());
            d.p.put_from(i + 1, &old, &A::N(name));
        }
    }
    true
}

fn same_type(t: &Tensor, u: &Tensor) -> bool {
    t.dtype() == u.dtype() && t.sizes() == u.sizes()
}

fn other_operand(d: &mut Draft<'_>) -> bool {
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

fn other_constant(d: &mut Draft<'_>) -> bool {
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
            && super::generate::literal(&text.text).is_some()
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

fn effect(d: &mut Draft<'_>) -> bool {
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

fn output(d: &mut Draft<'_>) -> bool {
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

/// Calls `f` with the integers in an argument.
fn numbers(a: &mut A, f: &mut dyn FnMut(&mut A)) {
    match a {
        A::L(all) => all.iter_mut().for_each(|b| numbers(b, f)),
        other => f(other),
    }
}

fn size(d: &mut Draft<'_>) -> bool {
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

fn annotation(d: &mut Draft<'_>) -> bool {
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

fn body(d: &mut Draft<'_>) -> bool {
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

fn keywords(d: &mut Draft<'_>) -> bool {
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

fn dead(d: &mut Draft<'_>) -> bool {
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

fn merge_views(d: &mut Draft<'_>) -> bool {
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

fn mutation(d: &mut Draft<'_>) -> bool {
    if let Some(k) = d.p.outs.iter().position(|o| o.mutates.is_some()) {
        let out = d.p.outs.remove(k);
        let Some(input) = out.mutates else { return false };
        let copy = d.node("put", "aten.copy_.default", vec![A::N(input), out.value]);
        d.p.nodes.push(copy);
        return !d.p.outs.is_empty();
    }
    let Some(i) = d.node_where(&|d, n| {
        n.op() == "copy_" && matches!(n.args.first(), Some(A::N(x)) if d.p.inputs.iter().any(|i| i.name == *x))
    }) else {
        return false;
    };
    let node = d.p.nodes[i].clone();
    let [A::N(input), value, ..] = node.args.as_slice() else { return false };
    let (input, value) = (input.clone(), value.clone());
    d.p.put_from(i, &node.name, &value);
    d.p.nodes.remove(i);
    d.p.outs.insert(0, Out { value, mutates: Some(input) });
    true
}

fn identity(d: &mut Draft<'_>) -> bool {
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

/// Pieces by another operator: items of split, chunk, tensor_split and unbind as slices and selects.
fn slices(d: &mut Draft<'_>) -> bool {
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
