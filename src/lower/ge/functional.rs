//! Writes taken out of a graph, as AOT Autograd does: a write gives a new value, and whoever reads the memory later reads that.
//!
//! Promises: what is written through a chain of views is scattered back into the memory that the chain begins at, and every view of it is made
//! again before its next read; an input that was written is written once, at the end. What may or may not share memory that is written and read
//! later is refused. The graph that results means what the graph means only if this is right: the lowered graph is judged against the
//! graph as it was.

use std::collections::HashMap;

use super::expand::{put, replace, with};
use crate::analysis::{self, Place, Shares};
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, ValueType, View};
use crate::ops::Registry;

const COPY: &str = "aten.copy_.default";

/// Why writes cannot be taken out: the node, and what is in the way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Kept {
    pub(super) node: String,
    pub(super) reason: String,
}

/// Returns the graph without writes; nothing where it has none.
pub(super) fn of(graph: &Graph, registry: &Registry) -> Result<Option<Graph>, Kept> {
    let writes = |g: &Graph, n: NodeId| registry.operator_of(g, n).is_some_and(|o| o.effects.writes());
    if !graph.nodes(BodyId::ROOT).any(|n| writes(graph, n)) {
        return Ok(None);
    }
    let (memory, perhaps, writes) = (HashMap::new(), HashMap::new(), HashMap::new());
    let mut taking = Taking { graph: graph.clone(), registry, memory, perhaps, writes, items: HashMap::new() };
    let mut next = taking.graph.first(BodyId::ROOT);
    while let Some(node) = next {
        next = match taking.graph.kind(node) {
            NodeKind::Call => taking.call(node)?,
            NodeKind::Output => {
                taking.write_inputs(node)?;
                taking.refresh(node)?;
                taking.graph.next(node)
            }
            NodeKind::Placeholder | NodeKind::GetAttr => taking.graph.next(node),
        };
    }
    Ok(Some(taking.graph))
}

/// Where a value lies, and what it holds now.
#[derive(Clone, Debug)]
struct Lies {
    /// The node whose memory it is at the end of the chain.
    root: NodeId,
    /// Of what it is a view; `None` for the root itself.
    of: Option<NodeId>,
    /// The node that holds its content, as of a number of writes to the root.
    now: NodeId,
    writes: usize,
}

struct Taking<'r> {
    graph: Graph,
    registry: &'r Registry,
    memory: HashMap<NodeId, Lies>,
    /// Values of which nobody can say whether they lie in these roots, each with the writes that there were.
    perhaps: HashMap<NodeId, Vec<(NodeId, usize)>>,
    /// How often each root was written.
    writes: HashMap<NodeId, usize>,
    /// Which node takes an item of a tuple.
    items: HashMap<Place, NodeId>,
}

impl Taking<'_> {
    fn kept(&self, node: NodeId, reason: impl Into<String>) -> Kept {
        Kept { node: self.graph.name(node).to_string(), reason: reason.into() }
    }

    /// Takes the write out of one call; returns the node to go on with.
    fn call(&mut self, node: NodeId) -> Result<Option<NodeId>, Kept> {
        let operator = self.registry.operator_of(&self.graph, node);
        let writes = operator.is_some_and(|o| o.effects.writes());
        if !writes {
            self.lay(node);
            self.refresh(node)?;
            return Ok(self.graph.next(node));
        }
        if self.graph.target(node) == COPY {
            return self.copied(node);
        }
        let expansion = self.registry.decompose_values(&mut self.graph, node);
        let Ok(Some(expansion)) = expansion else {
            return Err(self.kept(node, "it writes, and has no functional form here"));
        };
        let before = self.graph.previous(node);
        let results = expansion.inline(&mut self.graph, BodyId::ROOT, Some(node));
        let first = before.map_or_else(|| self.graph.first(BodyId::ROOT), |b| self.graph.next(b));
        let target = self.graph.target(node).to_string();
        if first.is_none_or(|f| f == node) {
            // It is an operand of its own, and writes nothing.
            let next = self.graph.next(node);
            replace(&mut self.graph, node, &results);
            return Ok(next);
        }
        if expansion.calls().any(|c| *expansion.graph.target(c) == *target) {
            return Err(self.kept(node, "it writes, and its decomposition does not end"));
        }
        replace(&mut self.graph, node, &results);
        Ok(first)
    }

    /// Notes where the result of a call lies; its operands are those that the program names.
    fn lay(&mut self, node: NodeId) {
        let place = analysis::place_of(&self.graph, node);
        let home = analysis::home_of(&self.graph, self.registry, place);
        let is_item = place.node != node;
        match home.as_slice() {
            [] if !is_item => {}
            // The only node that takes an item in memory of its own.
            [] if *self.items.entry(place).or_insert(node) == node => {}
            [Shares::Same(of) | Shares::View(of)]
                if !is_item
                    && of.item == Place::WHOLE
                    && is_first(&self.graph, node, of.node)
                    && !self.perhaps.contains_key(&of.node) =>
            {
                let root = self.root_of(of.node);
                let writes = self.written(root);
                self.memory.insert(node, Lies { root, of: Some(of.node), now: node, writes });
            }
            many => {
                let mut roots: Vec<(NodeId, usize)> = Vec::new();
                let twin = self.items.get(&place).copied().filter(|_| is_item);
                for of in many.iter().map(|s| s.place().node).chain(twin) {
                    let root = self.root_of(of);
                    roots.push((root, self.written(root)));
                    roots.extend(self.perhaps.get(&of).into_iter().flatten());
                }
                self.perhaps.insert(node, roots);
            }
        }
    }

    fn root_of(&self, node: NodeId) -> NodeId {
        self.memory.get(&node).map_or(node, |l| l.root)
    }

    fn written(&self, root: NodeId) -> usize {
        self.writes.get(&root).copied().unwrap_or(0)
    }

    /// Lets a call read what its operands hold now.
    fn refresh(&mut self, node: NodeId) -> Result<(), Kept> {
        let operands: Vec<NodeId> = self.graph.operands(node).collect();
        for operand in operands {
            let now = self.now(operand, node)?;
            if now != operand {
                put(&mut self.graph, node, operand, &Arg::Node(now));
            }
        }
        Ok(())
    }

    /// Returns the node that holds the content of `value` before `reader`; makes it where a write has been since.
    fn now(&mut self, value: NodeId, reader: NodeId) -> Result<NodeId, Kept> {
        let mut chain = Vec::new();
        let mut at = value;
        let mut now = loop {
            if let Some(roots) = self.perhaps.get(&at) {
                if roots.iter().any(|(root, writes)| self.written(*root) != *writes) {
                    return Err(self.kept(value, "it may share memory that is written, and is read later"));
                }
                break at;
            }
            let Some(lies) = self.memory.get(&at) else { break at };
            match lies.of {
                Some(of) if lies.writes != self.written(lies.root) => {
                    chain.push(at);
                    at = of;
                }
                _ => break lies.now,
            }
        };
        for view in chain.into_iter().rev() {
            let source = self.graph.args(view).first().and_then(Arg::as_node);
            let (Some(source), target) = (source, self.graph.target(view).to_string()) else { return Ok(now) };
            let args: Vec<Arg> = self.graph.args(view).iter().map(|a| with(a, source, &Arg::Node(now))).collect();
            now = self.insert(reader, &target, args)?;
            let writes = self.written(self.root_of(view));
            if let Some(lies) = self.memory.get_mut(&view) {
                (lies.now, lies.writes) = (now, writes);
            }
        }
        Ok(now)
    }

    /// Takes out a `copy_`: its target holds what is copied from now on, and so does the memory that it is a view of.
    fn copied(&mut self, node: NodeId) -> Result<Option<NodeId>, Kept> {
        let (Some(target), Some(Arg::Node(source))) =
            (self.graph.args(node).first().and_then(Arg::as_node), self.graph.args(node).get(1).cloned())
        else {
            return Err(self.kept(node, "it copies what is no tensor"));
        };
        let source = self.now(source, node)?;
        let mut value = self.fitted(node, target, source)?;
        let root = self.root_of(target);
        if self.perhaps.contains_key(&target) {
            return Err(self.kept(node, "nobody can say what memory it writes"));
        }
        let mut path = vec![(target, value)];
        let mut at = target;
        while let Some(of) = self.memory.get(&at).and_then(|l| l.of) {
            let whole = self.now(of, node)?;
            value = self.scattered(node, at, whole, value)?;
            path.push((of, value));
            at = of;
        }
        let writes = self.written(root).saturating_add(1);
        self.writes.insert(root, writes);
        for (view, now) in path {
            let of = self.memory.get(&view).and_then(|l| l.of);
            self.memory.insert(view, Lies { root, of, now, writes });
        }
        let next = self.graph.next(node);
        replace(&mut self.graph, node, &[Arg::Node(target)]);
        Ok(next)
    }

    /// The value that a `copy_` leaves in its target: of the target's dtype and sizes.
    fn fitted(&mut self, node: NodeId, target: NodeId, source: NodeId) -> Result<NodeId, Kept> {
        let [to, from] = [target, source].map(|n| self.graph.ty(n).as_tensor().cloned());
        let (Some(to), Some(from)) = (to, from) else {
            return Err(self.kept(node, "the types of what it copies are not known"));
        };
        let mut value = source;
        if from.dtype != to.dtype {
            let dtype = self.graph.texts.intern("dtype");
            value = self.insert_with(
                node,
                "aten._to_copy.default",
                vec![Arg::Node(value)],
                vec![(dtype, Arg::Dtype(to.dtype))],
            )?;
        }
        if from.sizes != to.sizes {
            let sizes = fixed(&to.sizes).ok_or_else(|| self.kept(node, "it copies into sizes that are symbols"))?;
            value = self.insert(node, "aten.expand.default", vec![Arg::Node(value), sizes])?;
        }
        Ok(value)
    }

    /// `whole` with `part` in the place of the view `view` of it.
    fn scattered(&mut self, node: NodeId, view: NodeId, whole: NodeId, part: NodeId) -> Result<NodeId, Kept> {
        let target = self.graph.target(view).to_string();
        let args: Vec<Arg> = self.graph.args(view).to_vec();
        let rest = || args.iter().skip(1).cloned();
        let into =
            |name: &str| (name.to_string(), [Arg::Node(whole), Arg::Node(part)].into_iter().chain(rest()).collect());
        let back = |name: &str, more: Vec<Arg>| {
            (name.to_string(), std::iter::once(Arg::Node(part)).chain(more).collect::<Vec<Arg>>())
        };
        if !self.graph.kwargs(view).is_empty() {
            return Err(self.kept(node, format!("it writes through {target} with arguments by name")));
        }
        let (target, args): (String, Vec<Arg>) = match target.as_str() {
            "aten.select.int" => into("aten.select_scatter.default"),
            "aten.slice.Tensor" => {
                let size = |dim: usize| self.graph.ty(whole).as_tensor()?.sizes.get(dim)?.fixed();
                let rank = self.graph.ty(whole).as_tensor().map_or(0, crate::graph::TensorType::rank);
                let args: Vec<Arg> = rest().collect();
                let between = settled(&args, rank, size).unwrap_or(args);
                let all = [Arg::Node(whole), Arg::Node(part)].into_iter().chain(between).collect();
                ("aten.slice_scatter.default".to_string(), all)
            }
            "aten.diagonal.default" => into("aten.diagonal_scatter.default"),
            "aten.narrow.default" => match rest().collect::<Vec<_>>().as_slice() {
                [dim, Arg::Int(start), Arg::Int(length)] if *start >= 0 => (
                    "aten.slice_scatter.default".to_string(),
                    vec![
                        Arg::Node(whole),
                        Arg::Node(part),
                        dim.clone(),
                        Arg::Int(*start),
                        Arg::Int(start.saturating_add(*length)),
                    ],
                ),
                _ => return Err(self.kept(node, "it writes through a narrow at a place that is a symbol")),
            },
            "aten.alias.default" | "aten.detach.default" | "aten.detach_.default" => return Ok(part),
            "aten.t.default" => back("aten.t.default", Vec::new()),
            "aten.transpose.int" => back("aten.transpose.int", rest().collect()),
            "aten.permute.default" => {
                let axes = args
                    .get(1)
                    .and_then(inverse)
                    .ok_or_else(|| self.kept(node, "it writes through a permute of unknown axes"))?;
                back("aten.permute.default", vec![axes])
            }
            "aten.view.default"
            | "aten._unsafe_view.default"
            | "aten.reshape.default"
            | "aten.flatten.using_ints"
            | "aten.unflatten.int"
            | "aten.squeeze.default"
            | "aten.squeeze.dim"
            | "aten.squeeze.dims"
            | "aten.unsqueeze.default" => {
                let sizes = self.graph.ty(whole).as_tensor().and_then(|t| fixed(&t.sizes));
                let sizes =
                    sizes.ok_or_else(|| self.kept(node, "it writes through a view of sizes that are symbols"))?;
                back("aten.reshape.default", vec![sizes])
            }
            other => return Err(self.kept(node, format!("it writes through {other}"))),
        };
        self.insert(node, &target, args)
    }

    fn insert(&mut self, before: NodeId, target: &str, args: Vec<Arg>) -> Result<NodeId, Kept> {
        self.insert_with(before, target, args, Vec::new())
    }

    fn insert_with(
        &mut self,
        before: NodeId,
        target: &str,
        args: Vec<Arg>,
        kwargs: Vec<(crate::graph::StrId, Arg)>,
    ) -> Result<NodeId, Kept> {
        let name = target.split('.').nth(1).unwrap_or("value").to_string();
        let id = self.graph.texts.intern(target);
        let name = self.graph.free_name(BodyId::ROOT, &name);
        let (args, kwargs) = (args.into_boxed_slice(), kwargs.into_boxed_slice());
        let new = NewNode { kind: NodeKind::Call, target: id, args, kwargs, ty: ValueType::Unknown };
        let node = self.graph.insert(BodyId::ROOT, Some(before), &name, new);
        match self.registry.infer_node(&mut self.graph, node) {
            Ok(ty) => {
                self.graph.set_type(node, ty);
                Ok(node)
            }
            Err(error) => Err(self.kept(before, error.to_string())),
        }
    }

    /// Writes the inputs that were written into, each once, before the output.
    fn write_inputs(&mut self, output: NodeId) -> Result<(), Kept> {
        let inputs: Vec<NodeId> =
            self.graph.nodes(BodyId::ROOT).filter(|n| self.graph.kind(*n) == NodeKind::Placeholder).collect();
        for input in inputs {
            if self.written(input) > 0 {
                let now = self.now(input, output)?;
                self.insert(output, COPY, vec![Arg::Node(input), Arg::Node(now)])?;
            }
        }
        Ok(())
    }
}

/// Whether a view's operand is its first argument, so that it can be made again of another one.
fn is_first(graph: &Graph, node: NodeId, of: NodeId) -> bool {
    graph.args(node).first() == Some(&Arg::Node(of))
}

fn fixed(sizes: &[crate::sym::Dim]) -> Option<Arg> {
    Some(Arg::List(sizes.iter().map(|d| d.fixed().map(Arg::Int)).collect::<Option<_>>()?))
}

/// The arguments of a slice with its ends as places, where they and the size are numbers.
fn settled(args: &[Arg], rank: usize, size: impl Fn(usize) -> Option<i64>) -> Option<Vec<Arg>> {
    let number = |at: usize, default: i64| match args.get(at) {
        None | Some(Arg::None) => Some(default),
        Some(Arg::Int(v)) => Some(*v),
        Some(_) => None,
    };
    let dim = number(0, 0)?;
    let dim = usize::try_from(if dim < 0 { dim.checked_add(i64::try_from(rank).ok()?)? } else { dim }).ok()?;
    let size = size(dim)?;
    let place = |v: i64| if v < 0 { v.saturating_add(size).max(0) } else { v.min(size) };
    let (start, end) = (place(number(1, 0)?), place(number(2, size)?));
    let between = [i64::try_from(dim).ok()?, start, end.max(start), number(3, 1)?];
    Some(between.into_iter().map(Arg::Int).collect())
}

/// The axes that undo a permutation.
fn inverse(axes: &Arg) -> Option<Arg> {
    let axes = axes.items()?;
    let rank = i64::try_from(axes.len()).ok()?;
    let mut back = vec![Arg::Int(0); axes.len()];
    for (place, axis) in axes.iter().enumerate() {
        let Arg::Int(axis) = axis else { return None };
        let axis = if *axis < 0 { axis.checked_add(rank)? } else { *axis };
        *back.get_mut(usize::try_from(axis).ok()?)? = Arg::Int(i64::try_from(place).ok()?);
    }
    Some(Arg::List(back.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{Kernels, Meta, Session, Storage, Tensor, Value, run_on};
    use crate::formats::text;
    use crate::graph::Dtype;

    fn program(body: &str) -> Graph {
        let lines: String = body.lines().map(|l| format!("        {}\n", l.trim())).collect();
        let head = "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4, 6]\", y: \"f32[6]\"):\n";
        let mut graph = text::read(&format!("{head}{lines}"), &text::ReadOptions::of_file("t.fx")).unwrap();
        let problems = Registry::standard().check_types(&mut graph);
        assert!(problems.is_empty(), "{problems:?}");
        graph
    }

    /// Both graphs on the same inputs: what they return, and what the inputs hold afterwards.
    fn assert_means_the_same(body: &str) {
        let registry = Registry::standard();
        let graph = program(body);
        let taken = of(&graph, &registry).unwrap_or_else(|k| panic!("{k:?}\n{body}")).unwrap();
        let writes = |n: NodeId| registry.operator_of(&taken, n).is_some_and(|o| o.effects.writes());
        let order: Vec<NodeId> = taken.nodes(BodyId::ROOT).collect();
        for node in order.iter().filter(|n| writes(**n)) {
            let into = taken.args(*node).first().and_then(Arg::as_node).unwrap();
            assert_eq!(taken.kind(into), NodeKind::Placeholder, "{body}");
        }
        let kernels = Kernels::standard();
        let run = |g: &Graph| {
            let mut session = Session::new(&registry, &kernels, 7);
            let counted = |dims: &[usize]| {
                let values: Vec<f32> = (0..dims.iter().product()).map(|i: usize| i as f32 * 0.5 - 3.0).collect();
                let storage = Storage::new(values, session.meter());
                Value::Tensor(Tensor::new(Meta::contiguous(Dtype::F32, dims), storage).unwrap())
            };
            let inputs = [counted(&[4, 6]), counted(&[6])];
            let mut all = run_on(g, &inputs, &mut session, &mut ()).unwrap();
            all.extend(inputs);
            all.iter().map(|v| v.as_tensor().unwrap().lanes::<f32>().unwrap().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(run(&graph), run(&taken), "{body}\n{}", text::write(&taken));
    }

    #[test]
    fn a_write_through_views_is_seen_by_all_that_read_the_memory_later() {
        assert_means_the_same(
            "c = torch.ops.aten.clone.default(x)
             before = torch.ops.aten.slice.Tensor(c, 1, 0, 3)
             s = torch.ops.aten.select.int(c, 0, 1)
             f = torch.ops.aten.fill_.Scalar(s, 2.0)
             t = torch.ops.aten.t.default(c)
             row = torch.ops.aten.select.int(t, 1, 2)
             a = torch.ops.aten.add_.Tensor(row, y)
             sum_1 = torch.ops.aten.add.Tensor(before, 1)
             return (c, sum_1, s, f, t)",
        );
    }

    #[test]
    fn what_was_read_before_a_write_stays() {
        assert_means_the_same(
            "c = torch.ops.aten.clone.default(x)
             old = torch.ops.aten.add.Tensor(c, 0)
             z = torch.ops.aten.zero_.default(c)
             return (old, c)",
        );
    }

    #[test]
    fn an_input_is_written_once_and_its_views_go_with_it() {
        assert_means_the_same(
            "v = torch.ops.aten.view.default(x, [24])
             s = torch.ops.aten.slice.Tensor(v, 0, 3, 20, 2)
             m = torch.ops.aten.mul_.Tensor(s, 3.0)
             r = torch.ops.aten.select.int(x, 0, 0)
             c = torch.ops.aten.copy_.default(r, y)
             out = torch.ops.aten.sum.default(x)
             return (out, v)",
        );
    }

    #[test]
    fn views_of_views_of_an_updated_value_are_its_views() {
        assert_means_the_same(
            "c = torch.ops.aten.clone.default(x)
             s = torch.ops.aten.select.int(c, 0, 1)
             z = torch.ops.aten.zero_.default(s)
             w = torch.ops.aten.slice.Tensor(c, 1, 2, 5)
             u = torch.ops.aten.unsqueeze.default(w, 0)
             a = torch.ops.aten.add_.Scalar(u, 5.0)
             p = torch.ops.aten.permute.default(c, [1, 0])
             d = torch.ops.aten.diagonal.default(p)
             n = torch.ops.aten.neg_.default(d)
             q = torch.ops.aten.narrow.default(c, 1, 1, 2)
             k = torch.ops.aten.copy_.default(q, z)
             return (c, w, p, d)"
                .replace("copy_.default(q, z)", "copy_.default(q, a0)")
                .replace(
                    "q = torch",
                    "a0 = torch.ops.aten.full.default([4, 1], 9.0, dtype = torch.float64)\n q = torch",
                )
                .as_str(),
        );
    }

    #[test]
    fn memory_of_which_nobody_can_say_whether_it_is_shared_is_refused_where_it_is_read_later() {
        let registry = Registry::standard();
        let graph = program(
            "c = torch.ops.aten.clone.default(x)
             parts = torch.ops.aten.split.Tensor(c, 2)
             part: \"f32[2, 6]\" = parts[0]
             z = torch.ops.aten.zero_.default(c)
             n = torch.ops.aten.neg.default(part)
             return (n,)",
        );
        assert!(of(&graph, &registry).unwrap_err().reason.contains("may share memory"));
    }
}
