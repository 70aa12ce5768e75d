//! Removes views that give back what they were given: `view`, `expand` and the like to the sizes that the operand has.
//!
//! Sizes may be symbols: whether two are equal is the host's to say, and a size that it does not know keeps its view. Bodies
//! of `cond` and the like are walked as the graph itself is. A view stays where its operand may be written, or where both
//! are returned: outputs would begin to share memory in another way.

use airlock_pass::{Dim, Graph, Node, NodeKind, Outcome, Relation, Result, host, known, pass, range_of};

/// Operators whose result lies in their operand, at the same places where the sizes are the same.
const VIEWS: [&str; 4] =
    ["aten.view.default", "aten.expand.default", "aten._unsafe_view.default", "aten.reshape.default"];

fn run(_main: Graph) -> Result<Outcome> {
    let mut removed = 0;
    for graph in Graph::all() {
        for target in VIEWS {
            for view in graph.find_nodes(target) {
                removed += usize::from(remove(view)?);
            }
        }
    }
    Ok(Outcome::edits(removed))
}

fn remove(view: Node) -> Result<bool> {
    let operand = view.input(0)?;
    let (Some(from), Some(to)) = (operand.tensor_type()?, view.tensor_type()?) else { return Ok(false) };
    if from.dtype != to.dtype || !same_sizes(&from.sizes, &to.sizes) || !may_be_one(operand, view)? {
        return Ok(false);
    }
    if let Some(size) = from.sizes.iter().find(|size| matches!(size, Dim::Symbolic(_))) {
        let (smallest, largest) = range_of(size);
        let largest = largest.map_or("any".to_owned(), |largest| largest.to_string());
        host::info(format!("{} keeps a size from {smallest} to {largest}", view.name()?));
    }
    view.replace_all_uses_with(operand)?;
    view.erase()?;
    Ok(true)
}

fn same_sizes(a: &[Dim], b: &[Dim]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| known(a, Relation::Equal, b) == Some(true))
}

/// Whether neither is returned, and nobody who uses either may write it.
fn may_be_one(operand: Node, view: Node) -> Result<bool> {
    let mut users = operand.users()?;
    users.extend(view.users()?);
    let effects = Graph::effects_of(&users)?;
    for (user, does) in users.iter().zip(effects.iter()) {
        if user.kind()? == NodeKind::Output || does.is_opaque() || !does.writes.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

pass!(run);
