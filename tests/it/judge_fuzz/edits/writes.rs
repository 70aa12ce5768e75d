//! Writes in place and their functional forms.

use super::Draft;
use crate::judge_fuzz::program::{A, Out};
use crate::judge_fuzz::run;

/// The operator with or without the underscore.
fn sibling(target: &str, in_place: bool) -> Option<String> {
    let mut parts: Vec<String> = target.split('.').map(String::from).collect();
    let name = parts.get(1)?.clone();
    parts[1] = if in_place { format!("{name}_") } else { name.strip_suffix('_')?.to_string() };
    let other = parts.join(".");
    run::registry().get(&other)?;
    Some(other)
}

pub fn in_place(d: &mut Draft<'_>) -> bool {
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

pub fn functional(d: &mut Draft<'_>) -> bool {
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

pub fn mutation(d: &mut Draft<'_>) -> bool {
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
