//! Common subexpression elimination: what is computed twice from the same arguments is computed once.
//!
//! One walk over a snapshot in graph order. A call's key is its target with its arguments, in which every node is replaced
//! by the first one that computes the same; the second call with a key is replaced by the first. Edits go to the host in
//! batches. Time and memory are linear in the graph.
//!
//! What each call does is asked of the host, once for all graphs: no list of operators is kept here. What is left alone: what
//! nobody described, what draws random numbers, what has effects. In addition:
//!
//! * no call is merged across a write or a stream operator: reads may differ, and work would change streams;
//! * a value that may be written later is not merged: the other name would be written with it;
//! * of two values that the graph returns only one may be another's: outputs would begin to share memory.

mod alias;
mod facts;
mod keys;

use std::collections::HashMap;

use airlock_pass::{Edits, Graph, Node, NodeKind, Outcome, Result, Snapshot, pass};
use alias::Aliases;
use facts::{Facts, Kind};
use keys::Keys;

/// A batch is sent when it is this long: one call to the host carries a limited amount of data.
const BATCH: usize = 4096;

fn run(_main: Graph) -> Result<Outcome> {
    let snapshots: Vec<Snapshot> = Graph::all().into_iter().map(Graph::read).collect();
    let nodes: Vec<Node> = snapshots.iter().flat_map(|snapshot| snapshot.nodes().map(|node| node.node())).collect();
    let effects = Graph::effects_of(&nodes)?;
    let (mut merged, mut first) = (0, 0);
    for snapshot in &snapshots {
        merged += dedup(snapshot, &Facts::new(&effects, first))?;
        first += snapshot.len();
    }
    Ok(Outcome::edits(merged))
}

fn dedup(snapshot: &Snapshot, facts: &Facts<'_>) -> Result<usize> {
    let mut aliases = Aliases::of(snapshot, facts);
    let mut keys = Keys::default();
    let mut first: HashMap<Box<[u64]>, usize> = HashMap::new();
    let mut edits = Edits::new();
    let mut merged = 0;
    for (index, call) in snapshot.nodes().enumerate() {
        if call.kind() != NodeKind::Call {
            continue;
        }
        match facts.kind(index) {
            Kind::Pure => {}
            Kind::Single => continue,
            Kind::Barrier => {
                keys.forget();
                continue;
            }
        }
        if aliases.may_be_written(index) {
            continue;
        }
        let key = keys.of(call);
        match first.get(&key) {
            Some(&earlier) if aliases.may_merge(index, earlier) => {
                aliases.merge(index, earlier);
                let kept = snapshot.at(earlier).node();
                keys.merge(call.node(), kept);
                edits.replace_all_uses(call.node(), kept);
                edits.erase(call.node());
                merged += 1;
            }
            Some(_) => {}
            None => {
                first.insert(key, index);
            }
        }
        if edits.len() >= BATCH {
            edits.apply()?;
        }
    }
    edits.apply()?;
    Ok(merged)
}

pass!(run);
