//! Dead code: a call that nobody uses, and that does nothing but compute, is erased.
//!
//! One walk backwards over each graph, bodies too: what only a dead call used is dead when the walk comes to it. What each
//! call does is asked of the host, once; a call that may raise is kept. Edits go to the host in batches.

use airlock_pass::{Edits, Graph, Node, NodeKind, Outcome, Result, Snapshot, pass};

/// A batch is sent when it is this long: one call to the host carries a limited amount of data.
const BATCH: usize = 4096;

fn run(_main: Graph) -> Result<Outcome> {
    let mut edits = Edits::new();
    let mut erased = 0;
    for graph in Graph::all() {
        let snapshot = graph.read();
        let nodes: Vec<Node> = snapshot.nodes().map(|node| node.node()).collect();
        let effects = Graph::effects_of(&nodes)?;
        let mut is_used = vec![false; snapshot.len()];
        for index in (0..snapshot.len()).rev() {
            let node = snapshot.at(index);
            let does = effects.at(index);
            let is_dead = node.kind() == NodeKind::Call && !is_used[index] && does.pure && !does.may_raise;
            if !is_dead {
                mark_inputs(&snapshot, index, &mut is_used);
                continue;
            }
            edits.erase(node.node());
            erased += 1;
            if edits.len() >= BATCH {
                edits.apply()?;
            }
        }
    }
    edits.apply()?;
    Ok(Outcome::edits(erased))
}

fn mark_inputs(snapshot: &Snapshot, index: usize, is_used: &mut [bool]) {
    for input in snapshot.at(index).input_nodes() {
        if let Some(input) = snapshot.get(input) {
            is_used[input.index()] = true;
        }
    }
}

pass!(run);
