//! The pass of TorchAir's document: each `mm` runs on a side stream, together with the `abs` of its result.
//!
//! ```text
//! scope_enter(['_user_stream_label'], ['stream_1'])
//! mm = aten.mm(...)
//! abs = aten.abs(mm)
//! record = record()
//! scope_exit()
//! ...
//! wait([record])
//! sub = aten.sub(..., mm)
//! ```
//!
//! The three are found by what they compute from each other: an `abs` of the `mm`, and the first `sub` that reads either.
//! Where one of them is missing the `mm` stays on the main stream. The option `stream` names the stream.

use airlock_pass::{Graph, Node, NodeKind, Outcome, Result, host, pass};

const MM: &str = "aten.mm.default";
const ABS: &str = "aten.abs.default";
const SUB: &str = "aten.sub.Tensor";

/// What goes to the side stream, and who waits for it.
struct Split {
    mm: Node,
    abs: Node,
    sub: Node,
}

fn run(graph: Graph) -> Result<Outcome> {
    let stream = host::option("stream").unwrap_or_else(|| "stream_1".to_owned());
    let mut splits = 0;
    for mm in outside_of_scopes(graph) {
        if let Some(split) = find(mm)? {
            put_on_stream(graph, &split, &stream)?;
            splits += 1;
        }
    }
    Ok(Outcome::edits(splits))
}

/// The `mm`s that nobody has put on a stream yet.
fn outside_of_scopes(graph: Graph) -> Vec<Node> {
    let snapshot = graph.read();
    let mut depth = 0u32;
    let mut found = Vec::new();
    for node in snapshot.nodes().filter(|node| node.kind() == NodeKind::Call) {
        match node.target() {
            "air.scope_enter.default" => depth += 1,
            "air.scope_exit.default" => depth = depth.saturating_sub(1),
            MM if depth == 0 => found.push(node.node()),
            _ => {}
        }
    }
    found
}

fn find(mm: Node) -> Result<Option<Split>> {
    let users = mm.users()?;
    let Some(abs) = users.iter().copied().find(|user| user.is_call(ABS)) else {
        return Ok(None);
    };
    if !nothing_is_written_between(mm, abs)? {
        return Ok(None);
    }
    let mut first_sub: Option<Node> = None;
    for user in users.into_iter().chain(abs.users()?) {
        let earlier = match first_sub {
            Some(found) => user.is_before(found)?,
            None => true,
        };
        if user.is_call(SUB) && earlier {
            first_sub = Some(user);
        }
    }
    Ok(first_sub.map(|sub| Split { mm, abs, sub }))
}

/// Whether `abs` can stand right after `mm`: no operator between them writes in place.
fn nothing_is_written_between(mm: Node, abs: Node) -> Result<bool> {
    let mut between = mm.next()?;
    while let Some(node) = between.filter(|node| *node != abs) {
        let operator = node.target()?.split('.').nth(1).unwrap_or_default();
        if operator.ends_with('_') {
            return Ok(false);
        }
        between = node.next()?;
    }
    Ok(true)
}

fn put_on_stream(graph: Graph, split: &Split, stream: &str) -> Result<()> {
    let Split { mm, abs, sub } = *split;
    if mm.next()? != Some(abs) {
        abs.move_after(mm)?;
    }
    graph.inserting_before(mm).call_function("air.scope_enter.default", (["_user_stream_label"], [stream]))?;
    let after = graph.inserting_after(abs);
    let record = after.call_function("air.record.default", ())?;
    after.call_function("air.scope_exit.default", ())?;
    graph.inserting_before(sub).call_function("air.wait.default", ([record],))?;
    Ok(())
}

pass!(run);
