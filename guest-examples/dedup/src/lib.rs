//! Common subexpression elimination: what is computed twice from the same arguments is computed once.
//!
//! One walk over a snapshot in graph order. A call's key is its target with its arguments, in which every node is replaced
//! by the first one that computes the same; the second call with a key is replaced by the first. Edits go to the host in
//! batches. Time and memory are linear in the graph.
//!
//! What is left alone (`purity` says why for each operator): what nobody here knows, what draws random numbers, what has
//! effects. In addition:
//!
//! * no call is merged across a write or a stream operator: reads may differ, and work would change streams;
//! * a value that may be written later is not merged: the other name would be written with it;
//! * of two values that the graph returns only one may be another's: outputs would begin to share memory.

mod alias;
mod keys;
mod purity;

use std::collections::HashMap;

use airlock_pass::{Edits, Graph, NodeKind, Outcome, Result, Snapshot, pass};
use alias::Aliases;
use keys::Keys;
use purity::Purity;

/// A batch is sent when it is this long: one call to the host carries a limited amount of data.
const BATCH: usize = 4096;

fn run(_main: Graph) -> Result<Outcome> {
    let mut merged = 0;
    for graph in Graph::all() {
        merged += dedup(&graph.read())?;
    }
    Ok(Outcome::edits(merged))
}

fn dedup(snapshot: &Snapshot) -> Result<usize> {
    let purity = purity::of_texts(snapshot);
    let mut aliases = Aliases::of(snapshot, &purity);
    let mut keys = Keys::default();
    let mut first: HashMap<Box<[u64]>, usize> = HashMap::new();
    let mut edits = Edits::new();
    let mut merged = 0;
    for (index, call) in snapshot.nodes().enumerate() {
        if call.kind() != NodeKind::Call {
            continue;
        }
        match purity.get(call.target_id()).copied().unwrap_or(Purity::Unknown) {
            Purity::Pure => {}
            Purity::Single => continue,
            Purity::Barrier | Purity::WritesFirst | Purity::Unknown => {
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
