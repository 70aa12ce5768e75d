//! Findings made small: outputs, nodes, inputs, symbols, layouts and differences are dropped while the pair stays as wrong as it was.

use super::pair::{First, Wrong, first_with, wrong};
use super::program::{A, Layout, Program, Size};
use super::run::Binding;

/// A pair that is wrong.
#[derive(Clone)]
pub struct Finding {
    pub a: Program,
    pub b: Program,
    pub wrong: Wrong,
    pub edits: Vec<&'static str>,
}

/// Most pairs that are tried.
const TRIES: usize = 700;

/// Returns a smaller pair of the same class.
pub fn shrink(found: &Finding, bindings: &[Binding]) -> Finding {
    let mut best = found.clone();
    let mut tries = 0;
    let bindings: Vec<Binding> = match &found.wrong {
        Wrong::Differs(_, b, _) => vec![b.clone()],
        _ => bindings.iter().take(1).cloned().collect(),
    };
    loop {
        let mut better = None;
        for (a, b) in smaller(&best.a, &best.b) {
            tries += 1;
            if tries > TRIES {
                return best;
            }
            let Some(first) = first_with(&a, bindings.clone()) else { continue };
            if let Some(w) = again(&first, &b, &best.wrong) {
                better = Some(Finding { a, b, wrong: w, edits: best.edits.clone() });
                break;
            }
        }
        match better {
            Some(found) => best = found,
            None => return best,
        }
    }
}

fn again(first: &First, b: &Program, old: &Wrong) -> Option<Wrong> {
    wrong(first, b).filter(|w| w.class() == old.class())
}

type Smaller = (Program, Program);

/// Pairs that are a little smaller.
fn smaller(a: &Program, b: &Program) -> Vec<Smaller> {
    let mut out: Vec<Smaller> = Vec::new();
    let mut add = |a: &Program, b: &Program, f: &dyn Fn(&mut Program)| {
        let (mut p, mut q) = (a.clone(), b.clone());
        f(&mut p);
        f(&mut q);
        if (&p, &q) != (a, b) {
            out.push((p, q));
        }
    };
    // Outputs.
    if a.outs.len() == b.outs.len() && a.outs.len() > 1 {
        for k in 0..a.outs.len() {
            add(a, b, &|p| {
                p.outs.remove(k);
            });
        }
    }
    // Nodes: later ones first.
    let mut names: Vec<String> = a.nodes.iter().chain(&b.nodes).map(|n| n.name.clone()).collect();
    names.reverse();
    names.dedup();
    for name in &names {
        add(a, b, &|p| {
            if !p.is_used(name) {
                p.nodes.retain(|n| n.name != *name);
            }
        });
        for k in 0..2 {
            add(a, b, &|p| {
                let Some(i) = p.place(name) else { return };
                let mut operands = Vec::new();
                p.nodes[i].each(&mut |n| operands.push(n.to_string()));
                if let Some(x) = operands.get(k).cloned() {
                    p.nodes.remove(i);
                    p.put_from(i, name, &A::N(x));
                }
            });
        }
    }
    // What differs: the same on both sides.
    for n in &b.nodes {
        if let Some(m) = a.nodes.iter().find(|m| m.name == n.name && *m != n) {
            let (mut p, mut q) = (a.clone(), b.clone());
            q.nodes.iter_mut().filter(|x| x.name == n.name).for_each(|x| *x = m.clone());
            out_push(&mut out, a, &q);
            p.nodes.iter_mut().filter(|x| x.name == n.name).for_each(|x| *x = n.clone());
            out_push(&mut out, &p, b);
        }
    }
    let mut add = |f: &dyn Fn(&mut Program)| {
        let (mut p, mut q) = (a.clone(), b.clone());
        f(&mut p);
        f(&mut q);
        if (&p, &q) != (a, b) {
            out.push((p, q));
        }
    };
    // Bodies: nodes of them.
    for body in &a.bodies {
        for n in &body.nodes {
            add(&|p| {
                for c in p.bodies.iter_mut().filter(|c| c.name == body.name) {
                    let Some(i) = c.nodes.iter().position(|m| m.name == n.name) else { continue };
                    let old = c.nodes.remove(i);
                    let mut operands = Vec::new();
                    old.each(&mut |x| operands.push(x.to_string()));
                    let to = operands.first().or(c.params.first()).cloned().unwrap_or_default();
                    c.nodes.iter_mut().for_each(|m| m.put(&old.name, &A::n(&to)));
                    c.outs.iter_mut().for_each(|o| o.put(&old.name, &A::n(&to)));
                }
            });
        }
        add(&|p| {
            if !p.nodes.iter().any(|n| n.target == "self" && n.args == [A::n(&body.name)]) {
                p.bodies.retain(|c| c.name != body.name);
            }
        });
    }
    // Inputs.
    for input in &a.inputs {
        if !a.is_used(&input.name) && !b.is_used(&input.name) {
            add(&|p| {
                p.inputs.retain(|i| i.name != input.name);
                p.may_alias.retain(|(x, y)| *x != input.name && *y != input.name);
            });
        }
        add(&|p| p.inputs.iter_mut().filter(|i| i.name == input.name).for_each(|i| i.layout = Layout::Rows));
        add(&|p| {
            p.inputs
                .iter_mut()
                .filter(|i| i.name == input.name)
                .for_each(|i| i.dtype = if i.dtype == "int" { "int".into() } else { "f32".into() })
        });
        for k in 0..input.sizes.len() {
            for n in [1, 2, 3] {
                let size = Size { times: n, symbol: None };
                if input.sizes[k].symbol.is_some() || input.sizes[k].times > n {
                    add(&|p| {
                        p.inputs
                            .iter_mut()
                            .filter(|i| i.name == input.name && i.dtype != "int")
                            .for_each(|i| i.sizes[k] = size)
                    });
                }
            }
        }
    }
    let symbols = a.ranges.len();
    if symbols > 0
        && !(a.text(false) + &b.text(false))
            .replace(&format!("s{}: VR", symbols - 1), "")
            .contains(&format!("s{}", symbols - 1))
    {
        add(&|p| {
            p.ranges.pop();
        });
    }
    add(&|p| p.bodies.iter_mut().for_each(|b| b.notes.clear()));
    add(&|p| p.may_alias.clear());
    add(&|p| p.inputs.iter_mut().for_each(|i| i.kind = super::program::Kind::User));
    for name in &names {
        add(&|p| p.nodes.iter_mut().filter(|n| n.name == *name).for_each(|n| n.note = None));
        add(&|p| p.nodes.iter_mut().filter(|n| n.name == *name).for_each(|n| n.kw.clear()));
    }
    out
}

fn out_push(out: &mut Vec<Smaller>, a: &Program, b: &Program) {
    out.push((a.clone(), b.clone()));
}
