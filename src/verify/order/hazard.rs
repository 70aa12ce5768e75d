//! Hazards in words: both accesses, their streams, the memory, and what would order them.

use crate::analysis::streams::{Conflict, Kind, Reuse, Streams};
use crate::graph::{NodeId, View};
use crate::verify::show::line;

/// A hazard, so that one of another graph can be recognised: its nodes as they print, and their streams.
pub type Identity = Vec<String>;

/// Returns which hazard it is, in terms that another graph has too.
pub fn identity(view: &dyn View, streams: &Streams, what: &str, nodes: &[NodeId]) -> Identity {
    let node = |n: &NodeId| {
        let label = streams.label(streams.stream(*n)).unwrap_or("");
        format!("{label} {}", line(view, *n))
    };
    std::iter::once(what.to_string()).chain(nodes.iter().map(node)).collect()
}

fn on(view: &dyn View, streams: &Streams, node: NodeId) -> String {
    match streams.label(streams.stream(node)) {
        Some(label) => format!("`{}` on stream `{label}`", view.name(node)),
        None => format!("`{}` on the main stream", view.name(node)),
    }
}

/// Says what a conflict is, and what would order it.
pub fn conflict_text(view: &dyn View, streams: &Streams, c: &Conflict) -> String {
    let (first, second) = (on(view, streams, c.first), on(view, streams, c.second));
    let memory = c.storage.map_or_else(String::new, |s| format!(" of `{}`", view.name(s.node)));
    let what = match c.kind {
        Kind::Made => format!("{second} uses what {first} makes"),
        Kind::Memory => format!("{first} and {second} access memory{memory}, and at least one writes it"),
        Kind::Known => format!("{first} and {second}: one is not described and may access what the other does"),
        Kind::Effects => format!("{first} and {second} have effects whose order counts"),
    };
    let name = view.name(c.first);
    format!("{what}, and nothing orders them; a record behind `{name}` and a wait for it before the other would")
}

/// Says what a reuse of memory is, and what would keep it.
pub fn reuse_text(view: &dyn View, streams: &Streams, r: &Reuse) -> String {
    let memory = view.name(r.storage.node);
    format!(
        "memory of `{memory}` is free while {} may still use it, and {} may get it; record_tagged_stream, or a wait before `{}`, would keep it",
        on(view, streams, r.user),
        on(view, streams, r.next),
        view.name(r.next)
    )
}
