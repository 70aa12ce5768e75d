//! Smaller graphs: outputs left out, calls taken out, values that become inputs.
//!
//! Promises: the root's inputs and outputs are as many as its signature says; each step costs what it touches. Leaves to callers whether what is
//! left still means anything.

use super::{Arg, BodyId, Graph, InputKind, InputSpec, NewNode, NodeId, NodeKind, ValueType, View};

impl Graph {
    /// Leaves out these of the root's outputs, by place; returns whether there was one to leave out.
    pub fn drop_outputs(&mut self, places: &[usize]) -> bool {
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

    /// Takes a node out of the root. Where its value is read, an input of its name and type takes its place; of several results, one for each item.
    /// Returns whether it is out: what inputs cannot be stays.
    pub fn take_out(&mut self, node: NodeId) -> bool {
        if !self.contains(node) || !matches!(self.kind(node), NodeKind::Call | NodeKind::GetAttr) {
            return false;
        }
        if matches!(self.ty(node), ValueType::Many(_)) {
            for item in self.users_in_order(node) {
                let is_item = self.target(item) == "_operator.getitem" && self.args(item).len() == 2;
                if !is_item || !self.take_out_one(item) {
                    return false;
                }
            }
        }
        self.take_out_one(node)
    }

    fn take_out_one(&mut self, node: NodeId) -> bool {
        if self.place(node).is_none_or(|(body, _)| body != BodyId::ROOT) {
            return false;
        }
        let readers = self.users_in_order(node);
        if readers.is_empty() {
            self.remove(node);
            return true;
        }
        if !matches!(self.ty(node), ValueType::Tensor(_) | ValueType::SymInt(_)) {
            return false;
        }
        let name = self.name(node).to_string();
        let input = self.add_input(&name, self.ty(node).clone());
        self.redirect(node, input);
        self.remove(node);
        self.rename(input, &name);
        if let Some(signature) = &mut self.signature {
            let (kind, target, persistent) = (InputKind::UserInput, None, None);
            signature.inputs.push(InputSpec { kind, name: name.into(), target, persistent });
        }
        true
    }

    /// Takes a node out of the root; who read it reads `instead`, which stands before it.
    pub fn bypass(&mut self, node: NodeId, instead: NodeId) {
        if self.is_before(instead, node) {
            self.redirect(node, instead);
            self.remove(node);
        }
    }

    /// Takes out the root's inputs that nobody reads and no output changes; returns how many.
    pub fn drop_unread_inputs(&mut self) -> usize {
        let is_input = |n: &NodeId| self.kind(*n) == NodeKind::Placeholder;
        let inputs: Vec<NodeId> = self.nodes(BodyId::ROOT).take_while(is_input).collect();
        let changed = |g: &Graph, place: usize| {
            let Some(signature) = &g.signature else { return false };
            signature.inputs.get(place).is_some_and(|input| {
                let names = [Some(&input.name), input.target.as_ref()];
                signature.outputs.iter().any(|o| o.target.is_some() && names.contains(&o.target.as_ref()))
            })
        };
        let unread = |(place, node): &(usize, NodeId)| {
            self.users(*node).is_none_or(super::Users::is_empty) && !changed(self, *place)
        };
        let drop: Vec<(usize, NodeId)> = inputs.into_iter().enumerate().filter(unread).collect();
        for (place, node) in drop.iter().rev() {
            self.remove(*node);
            if let Some(signature) = &mut self.signature
                && *place < signature.inputs.len()
            {
                signature.inputs.remove(*place);
            }
        }
        drop.len()
    }

    /// Adds an input behind the last one.
    fn add_input(&mut self, name: &str, ty: ValueType) -> NodeId {
        let mut behind = self.first(BodyId::ROOT);
        while let Some(node) = behind.filter(|n| self.kind(*n) == NodeKind::Placeholder) {
            behind = self.next(node);
        }
        let target = self.texts.intern(name);
        let (kind, args, kwargs) = (NodeKind::Placeholder, Box::default(), Box::default());
        self.insert(BodyId::ROOT, behind, name, NewNode { kind, target, args, kwargs, ty })
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
