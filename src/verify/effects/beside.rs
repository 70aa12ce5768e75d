//! What collectives may still work on once they gave their results.
//!
//! Promises: [`Beside::touches`] says of every call that reads what such a collective may still write, or writes what it may still read. That something waits in between is not looked at: such calls are
//! compared in their order beside collectives and waits. Where anything waits, what nobody described may be a collective that writes its operands. Costs a walk, where there is one at all. Which memory is one is what the storages say.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Place, Storages, bodies_called, getitem_of, tensor_operands};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, View};
use crate::ops::{Operator, Registry};
use crate::verify::judge::kinds::Kinds;

/// Whether a call itself may go on once it gave its results: a collective, or what is given one to run.
fn goes_on(view: &dyn View, registry: &Registry, kinds: &Kinds, node: NodeId) -> bool {
    let is_one = |operator: Option<&Operator>| operator.map_or(kinds.waits, |o| o.facts.asynchronous);
    let given = |arg: &Arg| match arg {
        Arg::Operator(target) => is_one(registry.get(target.strip_prefix("torch.ops.").unwrap_or(target))),
        _ => false,
    };
    is_one(registry.operator_of(view, node)) || view.args(node).iter().any(given)
}

/// Returns the bodies in which something goes on, and those that run such.
fn bodies_that_go_on(view: &dyn View, registry: &Registry, kinds: &Kinds) -> FxHashSet<BodyId> {
    let (mut callers, mut open): (FxHashMap<BodyId, Vec<BodyId>>, Vec<BodyId>) = (FxHashMap::default(), Vec::new());
    for body in view.bodies() {
        for node in calls(view, body) {
            if goes_on(view, registry, kinds, node) {
                open.push(body);
            }
            for called in bodies_called(view, node) {
                callers.entry(called).or_default().push(body);
            }
        }
    }
    let mut out = FxHashSet::default();
    while let Some(body) = open.pop() {
        if out.insert(body) {
            open.extend(callers.get(&body).into_iter().flatten());
        }
    }
    out
}

fn calls(view: &dyn View, body: BodyId) -> impl Iterator<Item = NodeId> + '_ {
    view.nodes(body).filter(|n| view.kind(*n) == NodeKind::Call && getitem_of(view, *n).is_none())
}

/// What is done to memory.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Work {
    Reads,
    Writes,
}

/// On which values, and all that may lie in their memory, collectives may still work.
#[derive(Debug, Default)]
pub struct Beside {
    works: FxHashMap<Place, Work>,
}

impl Beside {
    /// Looks at the collectives of a graph.
    pub fn of(view: &dyn View, registry: &Registry, kinds: &Kinds, storages: &mut Storages<'_>) -> Self {
        let mut out = Beside::default();
        if !kinds.goes_on {
            return out;
        }
        let bodies = bodies_that_go_on(view, registry, kinds);
        for node in view.bodies().flat_map(|body| calls(view, body)) {
            let runs_one = || bodies_called(view, node).iter().any(|body| bodies.contains(body));
            if goes_on(view, registry, kinds, node) || runs_one() {
                let to_operands = match registry.operator_of(view, node) {
                    Some(known) if known.facts.asynchronous && !known.effects.writes() => Work::Reads,
                    _ => Work::Writes,
                };
                for place in storages.places(node) {
                    out.add(storages, place, Work::Writes);
                }
                for place in tensor_operands(view, node) {
                    out.add(storages, place, to_operands);
                }
            }
        }
        out
    }

    fn add(&mut self, storages: &mut Storages<'_>, place: Place, work: Work) {
        if self.works.get(&place).is_some_and(|known| *known >= work) {
            return;
        }
        for member in storages.group(place).members.iter().chain([&place]) {
            let known = self.works.entry(*member).or_insert(work);
            *known = work.max(*known);
        }
    }

    /// Whether a call meets what a collective may still work on.
    pub fn touches(&self, view: &dyn View, node: NodeId, operator: &Operator) -> bool {
        let meets = if operator.effects.writes() { Work::Reads } else { Work::Writes };
        !self.works.is_empty()
            && tensor_operands(view, node).iter().any(|place| self.works.get(place).is_some_and(|work| *work >= meets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::tests::programs::{program, registry};

    const REDUCE: &str = "c = torch.ops._c10d_functional.all_reduce.default(v, 'sum', '0')\n";
    const WAIT: &str = "w = torch.ops._c10d_functional.wait_tensor.default(c)\n";

    /// Whether the call of that name meets what a collective may still work on.
    fn meets(lines: &str, name: &str) -> bool {
        let graph = program("x: f32[4, 4]; y: f32[4, 4]", lines);
        let registry = registry();
        let mut storages = Storages::new(&graph, &registry, &[]);
        let beside = Beside::of(&graph, &registry, &Kinds::of(&[&graph], &registry), &mut storages);
        let node = graph.find_name(BodyId::ROOT, name).unwrap();
        let operator = registry.operator_of(&graph, node).unwrap();
        beside.touches(&graph, node, operator)
    }

    #[test]
    fn what_a_collective_gives_is_met_also_by_views_of_it() {
        let lines = format!(
            "v = aten.exp.default(x)\n{REDUCE}p = aten.permute.default(c, [1, 0])
            a = aten.exp.default(c)\nb = aten.exp.default(p)\no = aten.exp.default(y)\n{WAIT}return (w, a, b, o)"
        );
        assert!(meets(&lines, "a") && meets(&lines, "b"));
        assert!(!meets(&lines, "o"));
    }

    #[test]
    fn what_a_collective_reads_may_be_read_and_is_not_written() {
        let lines = format!(
            "v = aten.exp.default(x)\n{REDUCE}p = aten.permute.default(v, [1, 0])
            a = aten.exp.default(p)\nb = aten.add_.Tensor(p, y)\n{WAIT}return (w, a, b)"
        );
        assert!(!meets(&lines, "a"));
        assert!(meets(&lines, "b"));
    }

    #[test]
    fn what_a_collective_writes_is_not_read_either() {
        let lines = "v = aten.exp.default(x)
            c = torch.ops._c10d_functional.all_reduce_.default(v, 'sum', '0')
            a = aten.exp.default(v)\nw = torch.ops._c10d_functional.wait_tensor.default(c)\nreturn (w, a)";
        assert!(meets(lines, "a"));
    }

    #[test]
    fn without_collectives_nothing_is_met() {
        assert!(!meets("a = aten.exp.default(x)\nb = aten.add_.Tensor(a, y)\nreturn (b,)", "b"));
    }
}
