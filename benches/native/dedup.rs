//! The example pass `dedup` as native code on the editor: the same questions, keys and edits as `guest-examples/rust/dedup`, without a component.

use std::collections::HashMap;

use airlock::analysis::{CallEffects, EffectsOf};
use airlock::editor::Editor;
use airlock::graph::{Arg, BodyId, NodeId, NodeKind, View};
use airlock::ops::SideEffect;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Pure,
    Single,
    Barrier,
}

fn kind(effects: &CallEffects<'_>) -> Kind {
    match effects.side {
        _ if effects.is_opaque || !effects.writes.is_empty() => Kind::Barrier,
        Some(SideEffect::Stream | SideEffect::Record) => Kind::Barrier,
        _ if effects.is_pure => Kind::Pure,
        _ => Kind::Single,
    }
}

#[derive(Clone, Copy, Default)]
struct Mark {
    written: bool,
    returned: bool,
}

/// Returns how many calls were merged.
pub fn dedup(editor: &mut Editor) -> usize {
    let nodes: Vec<NodeId> = editor.graph().nodes(BodyId::ROOT).collect();
    let merges = merges(editor, &nodes);
    for (node, kept) in &merges {
        editor.replace_uses(*node, *kept, None).unwrap();
        editor.erase(*node).unwrap();
    }
    merges.len()
}

fn merges(editor: &Editor, nodes: &[NodeId]) -> Vec<(NodeId, NodeId)> {
    let graph = editor.graph();
    let mut effects_of = EffectsOf::new(graph, editor.registry());
    let effects: Vec<CallEffects<'_>> = nodes.iter().map(|n| effects_of.of(*n)).collect();
    let index: HashMap<NodeId, usize> = nodes.iter().enumerate().map(|(i, n)| (*n, i)).collect();
    let mut marks = marks(graph, nodes, &effects, &index);
    let (mut epoch, mut merged, mut literals) = (0, HashMap::new(), HashMap::<String, u64>::new());
    let mut first: HashMap<Box<[u64]>, usize> = HashMap::new();
    let mut merges = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        if graph.kind(*node) != NodeKind::Call {
            continue;
        }
        match kind(&effects[at]) {
            Kind::Pure => {}
            Kind::Single => continue,
            Kind::Barrier => {
                epoch += 1;
                continue;
            }
        }
        if marks[at].written {
            continue;
        }
        let mut key = vec![epoch, u64::from(graph.target_id(*node).0)];
        let mut push = |key: &mut Vec<u64>, arg: &Arg| match arg {
            Arg::Node(n) => key.push(merged.get(n).copied().unwrap_or(*n).to_bits()),
            other => {
                let next = (1 << 63) + literals.len() as u64;
                key.push(*literals.entry(format!("{other:?}")).or_insert(next));
            }
        };
        graph.args(*node).iter().for_each(|arg| push(&mut key, arg));
        for (name, arg) in graph.kwargs(*node) {
            key.extend([u64::MAX, u64::from(name.0)]);
            push(&mut key, arg);
        }
        match first.get(key.as_slice()) {
            Some(&earlier) if !(marks[at].returned && marks[earlier].returned) => {
                marks[earlier].returned |= marks[at].returned;
                merged.insert(*node, nodes[earlier]);
                merges.push((*node, nodes[earlier]));
            }
            Some(_) => {}
            None => {
                first.insert(key.into_boxed_slice(), at);
            }
        }
    }
    merges
}

/// What may be written, and what is returned, also through views.
fn marks(graph: &dyn View, nodes: &[NodeId], effects: &[CallEffects<'_>], index: &HashMap<NodeId, usize>) -> Vec<Mark> {
    let mut marks = vec![Mark::default(); nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        let (own, effects) = (marks[at], &effects[at]);
        let parameter = |name: &str| effects.parameters.iter().position(|p| *p == name).map_or(u32::MAX, |p| p as u32);
        let args = (0..).zip(graph.args(*node));
        let kwargs = graph.kwargs(*node).iter().map(|(name, arg)| (parameter(graph.texts().text(*name)), arg));
        for (parameter, arg) in args.chain(kwargs) {
            for input in arg.nodes() {
                let Some(input) = index.get(&input) else { continue };
                let mark = &mut marks[*input];
                mark.returned |= graph.kind(*node) == NodeKind::Output;
                mark.written |= effects.is_opaque || effects.writes.contains(&parameter);
                let shares = effects.is_opaque || effects.results.iter().flatten().any(|s| s.parameter == parameter);
                if shares {
                    mark.written |= own.written;
                    mark.returned |= own.returned;
                }
            }
        }
    }
    marks
}
