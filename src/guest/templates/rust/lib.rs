//! A pass: negating twice is the identity.

use airlock_pass::{Graph, Outcome, Result, pass};

const NEG: &str = "aten.neg.default";

fn run(graph: Graph) -> Result<Outcome> {
    let mut edits = 0;
    for outer in graph.find_nodes(NEG) {
        let inner = outer.input(0)?;
        if inner.is_call(NEG) {
            outer.replace_all_uses_with(inner.input(0)?)?;
            graph.erase_node(outer)?;
            edits += 1;
        }
    }
    Ok(Outcome::edits(edits))
}

pass!(run);
