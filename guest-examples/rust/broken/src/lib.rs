//! A pass that is wrong: its result is well formed and computes something else. It must be refused.
//!
//! It swaps the operands of the first `sub`, as a careless rewrite of `a - b` to `-b + a` would; in a graph without one it
//! turns the first `add` into a `sub`.

use airlock_pass::{Arg, Error, Graph, Node, Outcome, Result, pass};

fn run(graph: Graph) -> Result<Outcome> {
    for sub in graph.find_nodes("aten.sub.Tensor") {
        if swap_operands(sub)? {
            return Ok(Outcome::edits(1));
        }
    }
    if let Some(add) = graph.find_nodes("aten.add.Tensor").first() {
        add.set_target("aten.sub.Tensor")?;
        return Ok(Outcome::edits(1));
    }
    Err(Error::new("there is no sub and no add to break"))
}

/// Only two different nodes: a number cannot stand first, and `x - x` would stay right.
fn swap_operands(sub: Node) -> Result<bool> {
    let mut args = sub.args()?;
    let both = (args.first().and_then(Arg::as_node), args.get(1).and_then(Arg::as_node));
    match both {
        (Some(a), Some(b)) if a != b => args.swap(0, 1),
        _ => return Ok(false),
    }
    sub.set_args(args, &sub.kwargs()?)?;
    Ok(true)
}

pass!(run);
