//! What two runs differ in, as the caller sees it.
//!
//! Promises: bits of movement, integers and operators that IEEE fixes; `assert_close` where a program holds sums, products or functions of libm,
//! whose last places may depend on how operands lie. NaN equals NaN. What memory holds after a raise is not compared.

use airlock::exec::{self, Tensor, Tolerance, Value};

use super::program::Program;
use super::run::{Seen, places};

/// What differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// An output's dtype, sizes or elements.
    Value,
    /// What an input holds in the end.
    Content,
    /// Which bytes outputs lie in.
    Sharing,
    /// Which storage outputs lie in, where they share no bytes of it.
    Storage,
    /// The second program raises, and the first one does not.
    Raises,
    /// The first program raises by a call that is not dead, and the second one does not.
    StopsRaising,
    /// Random draws.
    Draws,
    /// Calls of operators that nobody described.
    Opaque,
}

/// A difference.
#[derive(Clone, Debug)]
pub struct Difference {
    pub kind: Kind,
    pub what: String,
}

fn found(kind: Kind, what: String) -> Option<Difference> {
    Some(Difference { kind, what })
}

/// Returns what differs first. A call that raised before is not yet asked whether it is dead.
pub fn compare(a: &Program, b: &Program, x: &Seen, y: &Seen) -> Option<Difference> {
    match (&x.raised, &y.raised) {
        (Some(_), Some(_)) => return None,
        (None, Some((node, why))) => return found(Kind::Raises, format!("after raises at `{node}`: {why}")),
        (Some((node, why)), None) => return found(Kind::StopsRaising, format!("before raises at `{node}`: {why}")),
        (None, None) => {}
    }
    if x.next_draw != y.next_draw {
        return found(Kind::Draws, "the generator stands elsewhere in the end".into());
    }
    if x.demon != y.demon {
        return found(Kind::Opaque, "undescribed operators were called otherwise, or found other memory".into());
    }
    if x.outputs.len() != y.outputs.len() {
        return found(Kind::Value, format!("{} outputs, then {}", x.outputs.len(), y.outputs.len()));
    }
    let exact = is_exact(a) && is_exact(b);
    for (k, (v, w)) in x.outputs.iter().zip(&y.outputs).enumerate() {
        if let Some(what) = values(v, w, exact) {
            return found(Kind::Value, format!("output {k}: {what}"));
        }
    }
    for ((name, t), (_, u)) in x.finals.iter().zip(&y.finals) {
        if let Some(what) = tensors(t, u, exact) {
            return found(Kind::Content, format!("input `{name}`: {what}"));
        }
    }
    let (s, t) = (memory(x), memory(y));
    if s != t {
        let at = s.iter().zip(&t).position(|(p, q)| p != q).unwrap_or(s.len().min(t.len()));
        let show = |all: &[Shared]| all.get(at).map_or("nothing".into(), |m| format!("{m:?}"));
        let bytes = |all: &[Shared]| {
            all.iter().filter(|m| !m.elements.is_empty()).map(|m| format!("{m:?}")).collect::<Vec<_>>()
        };
        let kind = if bytes(&s) == bytes(&t) { Kind::Storage } else { Kind::Sharing };
        return found(kind, format!("inputs and outputs (numbered together) share {}, then {}", show(&s), show(&t)));
    }
    None
}

fn values(v: &Value, w: &Value, exact: bool) -> Option<String> {
    match (v, w) {
        (Value::Tensor(t), Value::Tensor(u)) => tensors(t, u, exact),
        (Value::List(all), Value::List(others)) if all.len() == others.len() => {
            all.iter().zip(others).find_map(|(v, w)| values(v, w, exact))
        }
        (Value::Float(a), Value::Float(b)) => {
            let near =
                a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || !exact && (a - b).abs() <= 1e-5 * b.abs();
            (!near).then(|| format!("{a}, then {b}"))
        }
        _ => {
            let (p, q) = (format!("{v:?}"), format!("{w:?}"));
            (p != q).then(|| format!("{p}, then {q}"))
        }
    }
}

fn tensors(t: &Tensor, u: &Tensor, exact: bool) -> Option<String> {
    if t.dtype() != u.dtype() || t.sizes() != u.sizes() {
        return Some(format!("{}{:?}, then {}{:?}", t.dtype(), t.sizes(), u.dtype(), u.sizes()));
    }
    let tolerance = if exact { Tolerance::Exact } else { Tolerance::close(t.dtype()) };
    match exec::compare(u, t, tolerance) {
        Ok(c) if c.equal => None,
        Ok(c) => Some(format!("{} elements differ, {:?}", c.wrong, c.first)),
        Err(fault) => Some(fault.to_string()),
    }
}

/// How one tensor lies in the memory of an earlier one: for each element of either the first of the other that has its bytes.
#[derive(PartialEq, Debug)]
struct Shared {
    tensors: (usize, usize),
    /// Elements of the first and of the second; empty where they share a storage and no bytes.
    elements: Vec<Option<usize>>,
}

/// Returns how inputs and outputs share memory with one another. Tensors without elements, and what an output shares with itself, are left out.
fn memory(seen: &Seen) -> Vec<Shared> {
    let inputs = seen.finals.iter().map(|(_, t)| t);
    let outputs = seen.outputs.iter().flat_map(|v| v.items().iter().filter_map(Value::as_tensor));
    let all: Vec<&Tensor> = inputs.chain(outputs).collect();
    let at: Vec<Vec<usize>> = all.iter().map(|t| places(t)).collect();
    let mut out = Vec::new();
    for j in seen.finals.len()..all.len() {
        for i in 0..j {
            if all[i].numel() == 0 || all[j].numel() == 0 || !all[i].storage.is(&all[j].storage) {
                continue;
            }
            let first = |of: &[usize]| {
                let mut map = std::collections::BTreeMap::new();
                of.iter().enumerate().for_each(|(k, p)| {
                    map.entry(*p).or_insert(k);
                });
                map
            };
            let (x, y) = (first(&at[i]), first(&at[j]));
            let mut elements: Vec<Option<usize>> = at[i].iter().map(|p| y.get(p).copied()).collect();
            elements.extend(at[j].iter().map(|p| x.get(p).copied()));
            if elements.iter().all(Option::is_none) {
                elements.clear();
            }
            out.push(Shared { tensors: (i, j), elements });
        }
    }
    out
}

/// Operators whose last places may depend on how their operands lie, or that PyTorch computes by libm.
const INEXACT: &[&str] = &[
    "sum",
    "mean",
    "prod",
    "var",
    "std",
    "mm",
    "bmm",
    "matmul",
    "addmm",
    "softmax",
    "_softmax",
    "_log_softmax",
    "log_softmax",
    "exp",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "layer_norm",
    "native_layer_norm",
    "rms_norm",
    "cumsum",
    "cumprod",
    "logsumexp",
    "norm",
    "linear",
    "einsum",
    "convolution",
    "conv",
    "log",
    "pow",
    "erf",
    "gelu",
    "silu",
    "dot",
    "mv",
    "baddbmm",
    "addbmm",
    "addmv",
    "index_add",
    "scatter_add",
    "index_put",
    "scatter_reduce",
    "rsqrt",
    "std_mean",
    "var_mean",
];

/// Whether all of a program is fixed bit by bit.
pub fn is_exact(p: &Program) -> bool {
    let fixed = |op: &str| {
        !INEXACT.contains(&op.trim_end_matches('_'))
            && !op.contains("norm")
            && !op.contains("conv")
            && !op.contains("loss")
    };
    let known = |t: &str| {
        t.starts_with("aten.")
            || t.starts_with("_operator.")
            || t == "self"
            || t.starts_with("demo.")
            || t.starts_with("higher_order.")
    };
    p.nodes.iter().chain(p.bodies.iter().flat_map(|b| &b.nodes)).all(|n| fixed(n.op()) && known(&n.target))
}

/// Returns the program without a node and all that uses it; `None` where the caller sees one of these, or it asserts.
pub fn without(p: &Program, node: &str) -> Option<Program> {
    let mut gone = vec![node.to_string()];
    for n in &p.nodes[p.place(node)?..] {
        if n.name == node || gone.iter().any(|r| n.uses(r)) {
            if n.op().contains("assert") || n.op().contains("constrain") || n.target.starts_with("demo.") {
                return None;
            }
            gone.push(n.name.clone());
        }
    }
    let mut left = p.clone();
    left.nodes.retain(|n| !gone.contains(&n.name));
    let mut seen = false;
    p.outs.iter().for_each(|o| o.value.each(&mut |n| seen |= gone.iter().any(|r| r == n)));
    (!seen).then_some(left)
}
