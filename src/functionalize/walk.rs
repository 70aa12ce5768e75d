//! One walk forward: what writes is taken apart into what it computes and a copy, and copies are taken out.

use super::memory::Memory;
use super::{Functionalized, Kept, writes};
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View, replace};
use crate::ops::Registry;

const COPY: &str = "aten.copy_.default";

struct Walk<'r> {
    memory: Memory<'r>,
    /// The call of the graph as it was that is being taken out, and what stands behind it.
    writer: Option<(Box<str>, Option<NodeId>)>,
    /// Whether calls that stand for one that writes are taken apart, too.
    everything: bool,
}

/// Returns a graph without its writes, and without calls that stand for some where `everything` is asked for.
pub(super) fn taken(graph: &Graph, registry: &Registry, everything: bool) -> Result<Functionalized, Kept> {
    let memory = Memory::of(graph.clone(), registry);
    let mut walk = Walk { memory, writer: None, everything };
    let mut next = walk.memory.graph.first(BodyId::ROOT);
    while let Some(node) = next {
        if walk.writer.as_ref().is_some_and(|(_, behind)| *behind == Some(node)) {
            walk.writer = None;
        }
        next = match walk.memory.graph.kind(node) {
            NodeKind::Call => walk.call(node)?,
            NodeKind::Output => {
                walk.write_inputs(node)?;
                walk.memory.give_back(node)?;
                walk.memory.graph.next(node)
            }
            NodeKind::Placeholder | NodeKind::GetAttr => walk.memory.graph.next(node),
        };
    }
    let Memory { graph, versions, given, .. } = walk.memory;
    Ok(Functionalized { graph, versions, given })
}

impl Walk<'_> {
    /// Takes the write out of one call; returns the node to go on with.
    fn call(&mut self, node: NodeId) -> Result<Option<NodeId>, Kept> {
        let m = &mut self.memory;
        if !writes(&m.graph, m.registry, node) {
            if self.everything && m.stands_for_another(node) {
                m.refresh(node)?;
                let before = m.graph.previous(node);
                if let Some(results) = m.called(node)? {
                    let first = before.map_or_else(|| m.graph.first(BodyId::ROOT), |b| m.graph.next(b));
                    replace(&mut m.graph, node, &results);
                    return Ok(first);
                }
            }
            // What is taken out of a call once more may have been written since.
            if let Some(first) = m.taken_before(node) {
                let next = m.graph.next(node);
                m.given.insert(m.graph.name(node).into(), m.graph.name(first).into());
                replace(&mut m.graph, node, &[Arg::Node(first)]);
                return Ok(next);
            }
            m.lay(node);
            m.refresh(node)?;
            return Ok(m.graph.next(node));
        }
        if m.graph.target(node) == COPY {
            return self.copied(node);
        }
        let expansion = m.registry.decompose_values(&mut m.graph, node);
        let Ok(Some(expansion)) = expansion else {
            return Err(m.kept(node, "it writes, and has no functional form here"));
        };
        let (before, name) = (m.graph.previous(node), Box::from(m.graph.name(node)));
        let results = expansion.inline(&mut m.graph, BodyId::ROOT, Some(node));
        let first = before.map_or_else(|| m.graph.first(BodyId::ROOT), |b| m.graph.next(b));
        let next = m.graph.next(node);
        let target = m.graph.target(node).to_string();
        if first.is_none_or(|f| f == node) {
            // It is an operand of its own, and writes nothing.
            if let [Arg::Node(target)] = results.as_slice() {
                m.given.insert(name, m.graph.name(*target).into());
            }
            replace(&mut m.graph, node, &results);
            return Ok(next);
        }
        if expansion.calls().any(|c| *expansion.graph.target(c) == *target) {
            return Err(m.kept(node, "it writes, and its decomposition does not end"));
        }
        // What it is taken apart into may be taken apart itself: the writer is the graph's own call.
        self.writer.get_or_insert((name, next));
        replace(&mut m.graph, node, &results);
        Ok(first)
    }

    /// Takes out a `copy_`: its target holds what is copied from now on, and so does the memory that it is a view of.
    fn copied(&mut self, node: NodeId) -> Result<Option<NodeId>, Kept> {
        let m = &mut self.memory;
        let (Some(target), Some(Arg::Node(source))) =
            (m.graph.args(node).first().and_then(Arg::as_node), m.graph.args(node).get(1).cloned())
        else {
            return Err(m.kept(node, "it copies what is no tensor"));
        };
        let root = m.root_of(target);
        if m.is_open(target) {
            return Err(m.kept(node, "nobody can say what memory it writes"));
        }
        if m.graph.kind(root) == NodeKind::GetAttr {
            return Err(m.kept(node, "it writes a tensor of the module"));
        }
        if source == target {
            // It holds what it held.
            let next = m.graph.next(node);
            m.given.insert(m.graph.name(node).into(), m.graph.name(target).into());
            replace(&mut m.graph, node, &[Arg::Node(target)]);
            return Ok(next);
        }
        let mut source = m.now(source, node)?;
        // What an input came with is not there any more once that is written, at the end.
        if m.may_lie_in_a_written_input(source) {
            source = m.insert(node, "aten.clone.default", vec![Arg::Node(source)])?;
        }
        let mut value = m.fitted(node, target, source)?;
        let mut path = vec![(target, value)];
        let mut at = target;
        while let Some(seen) = m.lies.get(&at).and_then(|l| l.seen) {
            let whole = m.now(seen.of, node)?;
            value = m.scattered(node, seen, whole, value)?;
            path.push((seen.of, value));
            at = seen.of;
        }
        let writer = self.writer.as_ref().map_or_else(|| m.graph.name(node).into(), |(name, _)| name.clone());
        m.write(root, path, writer);
        let next = m.graph.next(node);
        replace(&mut m.graph, node, &[Arg::Node(target)]);
        Ok(next)
    }

    /// Writes the inputs that were written into, each once, before the output.
    fn write_inputs(&mut self, output: NodeId) -> Result<(), Kept> {
        let m = &mut self.memory;
        let inputs: Vec<NodeId> =
            m.graph.nodes(BodyId::ROOT).filter(|n| m.graph.kind(*n) == NodeKind::Placeholder).collect();
        for input in inputs {
            if m.written(input) > 0 {
                let now = m.now(input, output)?;
                m.insert(output, COPY, vec![Arg::Node(input), Arg::Node(now)])?;
            }
        }
        Ok(())
    }
}
