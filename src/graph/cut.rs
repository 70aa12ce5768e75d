//! Steps by which graphs become smaller: outputs left out, calls taken out, values that become inputs. Several graphs are cut alike, by name, so
//! that a graph and its edited copy keep one calling convention.
//!
//! Promises: the root's inputs and outputs are as many as its signature says; each step costs what it touches. Leaves to callers whether what is
//! left still means anything.

use super::{
    Arg, BodyId, Graph, InputKind, InputSpec, NewNode, NodeId, NodeKind, OutputKind, OutputSpec, Users, ValueType, View,
};

/// A node to take out, and the items of its results.
pub(super) type Item = Vec<Box<str>>;

/// Leaves out these of the outputs, by place; returns whether each graph has them.
pub(super) fn drop_outputs(graphs: &mut [Graph], places: &[usize]) -> bool {
    graphs.iter_mut().all(|g| g.drop_outputs(places))
}

/// Takes nodes out of the roots. Where a value is still read in one of the graphs, each gets an input of its name and type. Returns
/// whether a node is out.
pub(super) fn take_out(graphs: &mut [Graph], items: &[Item]) -> bool {
    let mut changed = false;
    // From the end, so that a call whose readers go with it leaves no input behind.
    for name in items.iter().rev().flat_map(|i| i.iter().rev()) {
        changed |= take_out_one(graphs, name);
    }
    changed
}

fn take_out_one(graphs: &mut [Graph], name: &str) -> bool {
    let there: Vec<Option<NodeId>> = graphs.iter().map(|g| g.find_name(BodyId::ROOT, name)).collect();
    let is_call = |g: &Graph, n: NodeId| matches!(g.kind(n), NodeKind::Call | NodeKind::GetAttr);
    if there.iter().all(Option::is_none) || !graphs.iter().zip(&there).all(|(g, n)| n.is_none_or(|n| is_call(g, n))) {
        return false;
    }
    let read = |(g, n): (&Graph, &Option<NodeId>)| n.filter(|n| g.users(*n).is_some_and(|u| !u.is_empty()));
    let Some(ty) = graphs.iter().zip(&there).find_map(|(g, n)| Some(g.ty(read((g, n))?).clone())) else {
        for (g, n) in graphs.iter_mut().zip(&there) {
            n.inspect(|n| g.remove(*n));
        }
        return true;
    };
    if !matches!(ty, ValueType::Tensor(_) | ValueType::SymInt(_)) {
        return false;
    }
    for (g, n) in graphs.iter_mut().zip(&there) {
        g.make_input(name, *n, &ty);
    }
    true
}

/// Returns a value of each graph, by name, instead of the one that is returned at this place; returns whether each has it.
pub(super) fn return_instead(graphs: &mut [Graph], place: usize, name: &str) -> bool {
    graphs.iter_mut().all(|g| g.return_instead(place, name).is_some())
}

/// Lets the operand take the place of a node where both are there and the operand stands before it.
pub(super) fn bypass(graphs: &mut [Graph], node: &str, operand: &str) {
    for g in graphs {
        let both = (g.find_name(BodyId::ROOT, node), g.find_name(BodyId::ROOT, operand));
        if let (Some(node), Some(operand)) = both
            && g.is_before(operand, node)
        {
            g.redirect(node, operand);
            g.remove(node);
        }
    }
}

/// Takes out inputs that no graph reads and no output changes; returns whether there were any.
pub(super) fn drop_unread_inputs(graphs: &mut [Graph]) -> bool {
    let Some(first) = graphs.first() else { return false };
    let is_input = |n: &NodeId| first.kind(*n) == NodeKind::Placeholder;
    let names: Vec<String> =
        first.nodes(BodyId::ROOT).take_while(is_input).map(|n| first.name(n).to_string()).collect();
    let unread: Vec<&String> = names.iter().filter(|n| graphs.iter().all(|g| g.is_unread_input(n))).collect();
    for name in &unread {
        graphs.iter_mut().for_each(|g| g.drop_input(name));
    }
    !unread.is_empty()
}

/// A value that becomes an input: its name there, the nodes that stand for it, its type.
pub type StandIn = (String, Vec<NodeId>, ValueType);

/// Leaves of each graph what computes one value, which is returned, of its inputs and these stand-ins, one list a graph; inputs that no graph reads
/// are out. All graphs get the same inputs where their stand-ins have the same names and types.
pub fn region(mut graphs: Vec<Graph>, results: &[NodeId], stand_ins: &[Vec<StandIn>]) -> Vec<Graph> {
    for ((graph, result), inputs) in graphs.iter_mut().zip(results).zip(stand_ins) {
        graph.return_only(*result);
        for (name, nodes, ty) in inputs {
            graph.make_input(name, nodes.first().copied(), ty);
            let input = graph.find_name(BodyId::ROOT, name);
            for node in nodes.iter().skip(1) {
                input.inspect(|input| graph.redirect(*node, *input));
            }
        }
        graph.remove_unread();
    }
    drop_unread_inputs(&mut graphs);
    graphs
}

impl Graph {
    fn return_only(&mut self, value: NodeId) {
        let Some(output) = self.output(BodyId::ROOT) else { return };
        self.set_args(output, Box::new([Arg::Tuple(Box::new([Arg::Node(value)]))]), Box::default());
        if let Some(signature) = &mut self.signature {
            signature.outputs = vec![OutputSpec { kind: OutputKind::UserOutput, target: None }];
        }
    }

    /// Takes out calls that nobody reads, whatever they do.
    fn remove_unread(&mut self) {
        let nodes: Vec<NodeId> = self.nodes(BodyId::ROOT).collect();
        for node in nodes.into_iter().rev() {
            let is_read = self.users(node).is_some_and(|u| !u.is_empty());
            if !is_read && matches!(self.kind(node), NodeKind::Call | NodeKind::GetAttr) {
                self.remove(node);
            }
        }
    }

    fn drop_outputs(&mut self, places: &[usize]) -> bool {
        let Some(node) = self.output(BodyId::ROOT) else { return false };
        let [Arg::Tuple(items) | Arg::List(items)] = self.args(node) else { return false };
        let stays = |place: &usize| !places.contains(place);
        let kept: Vec<Arg> = items.iter().enumerate().filter(|(i, _)| stays(i)).map(|(_, a)| a.clone()).collect();
        if kept.len() == items.len() {
            return false;
        }
        let kwargs = self.kwargs(node).into();
        self.set_args(node, Box::new([Arg::Tuple(kept.into())]), kwargs);
        if let Some(signature) = &mut self.signature {
            let mut place = 0_usize..;
            signature.outputs.retain(|_| place.next().is_some_and(|p| stays(&p)));
        }
        true
    }

    fn return_instead(&mut self, place: usize, name: &str) -> Option<()> {
        let (output, value) = (self.output(BodyId::ROOT)?, self.find_name(BodyId::ROOT, name)?);
        let mut items = self.args(output).first()?.items()?.to_vec();
        *items.get_mut(place)? = Arg::Node(value);
        let spec = self.signature.as_mut().and_then(|s| s.outputs.get_mut(place));
        // What becomes of an input is no value that is returned.
        if spec.is_some_and(|s| s.kind != OutputKind::UserOutput) {
            return None;
        }
        let kwargs = self.kwargs(output).into();
        self.set_args(output, Box::new([Arg::Tuple(items.into())]), kwargs);
        Some(())
    }

    /// Adds an input behind the last one; it takes the place of the node, where there is one.
    fn make_input(&mut self, name: &str, node: Option<NodeId>, ty: &ValueType) {
        let mut behind = self.first(BodyId::ROOT);
        while let Some(next) = behind.filter(|n| self.kind(*n) == NodeKind::Placeholder) {
            behind = self.next(next);
        }
        let (kind, args, kwargs) = (NodeKind::Placeholder, Box::default(), Box::default());
        let target = self.texts.intern(name);
        let input = self.insert(BodyId::ROOT, behind, name, NewNode { kind, target, args, kwargs, ty: ty.clone() });
        if let Some(node) = node {
            self.redirect(node, input);
            self.remove(node);
            self.rename(input, name);
        }
        if let Some(signature) = &mut self.signature {
            let (kind, target, persistent) = (InputKind::UserInput, None, None);
            signature.inputs.push(InputSpec { kind, name: name.into(), target, persistent });
        }
    }

    fn is_unread_input(&self, name: &str) -> bool {
        let Some(node) = self.find_name(BodyId::ROOT, name) else { return true };
        let is_changed = self.signature.as_ref().is_some_and(|s| {
            s.inputs.iter().filter(|i| &*i.name == name).any(|input| {
                let names = [Some(&input.name), input.target.as_ref()];
                s.outputs.iter().any(|o| o.target.is_some() && names.contains(&o.target.as_ref()))
            })
        });
        !is_changed && self.kind(node) == NodeKind::Placeholder && self.users(node).is_none_or(Users::is_empty)
    }

    fn drop_input(&mut self, name: &str) {
        if let Some(node) = self.find_name(BodyId::ROOT, name) {
            self.remove(node);
        }
        if let Some(signature) = &mut self.signature {
            signature.inputs.retain(|i| &*i.name != name);
        }
    }

    fn redirect(&mut self, from: NodeId, to: NodeId) {
        let mut map = |n: NodeId| if n == from { to } else { n };
        for reader in self.users_in_order(from) {
            let args = self.args(reader).iter().map(|a| a.map_nodes(&mut map)).collect();
            let kwargs = self.kwargs(reader).iter().map(|(k, a)| (*k, a.map_nodes(&mut map))).collect();
            self.set_args(reader, args, kwargs);
        }
    }
}
