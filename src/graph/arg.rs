//! Arguments of nodes.

use serde::{Deserialize, Serialize};

use super::{Device, Dtype, Layout, MemoryFormat, NodeId};

/// One argument: what FX allows in `args` and `kwargs`.
///
/// Equality is of bits for floats, so that a NaN equals itself and -0.0 is not 0.0.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Arg {
    None,
    Node(NodeId),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    Bool(bool),
    Str(Box<str>),
    Dtype(Dtype),
    Device(Device),
    Layout(Layout),
    MemoryFormat(MemoryFormat),
    /// An operator as a value, spelled as a target: `aten.add.Tensor`.
    Operator(Box<str>),
    List(Box<[Arg]>),
    Tuple(Box<[Arg]>),
    /// Keys are texts; order is kept.
    Dict(Box<[(Box<str>, Arg)]>),
    /// Something that a newer PyTorch writes, as text.
    Other(Box<str>),
}

impl PartialEq for Arg {
    fn eq(&self, other: &Self) -> bool {
        use Arg::*;
        match (self, other) {
            (None, None) => true,
            (Node(a), Node(b)) => a == b,
            (Int(a), Int(b)) => a == b,
            (Float(a), Float(b)) => a.to_bits() == b.to_bits(),
            (Complex(a, b), Complex(c, d)) => (a.to_bits(), b.to_bits()) == (c.to_bits(), d.to_bits()),
            (Bool(a), Bool(b)) => a == b,
            (Str(a), Str(b)) | (Operator(a), Operator(b)) | (Other(a), Other(b)) => a == b,
            (Dtype(a), Dtype(b)) => a == b,
            (Device(a), Device(b)) => a == b,
            (Layout(a), Layout(b)) => a == b,
            (MemoryFormat(a), MemoryFormat(b)) => a == b,
            (List(a), List(b)) | (Tuple(a), Tuple(b)) => a == b,
            (Dict(a), Dict(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Arg {}

impl From<NodeId> for Arg {
    fn from(n: NodeId) -> Self {
        Arg::Node(n)
    }
}

impl From<i64> for Arg {
    fn from(v: i64) -> Self {
        Arg::Int(v)
    }
}

impl From<f64> for Arg {
    fn from(v: f64) -> Self {
        Arg::Float(v)
    }
}

impl From<bool> for Arg {
    fn from(v: bool) -> Self {
        Arg::Bool(v)
    }
}

impl From<&str> for Arg {
    fn from(v: &str) -> Self {
        Arg::Str(v.into())
    }
}

impl From<Dtype> for Arg {
    fn from(v: Dtype) -> Self {
        Arg::Dtype(v)
    }
}

impl From<Vec<Arg>> for Arg {
    fn from(v: Vec<Arg>) -> Self {
        Arg::List(v.into())
    }
}

impl<A: Into<Arg>> From<Option<A>> for Arg {
    fn from(v: Option<A>) -> Self {
        v.map_or(Arg::None, Into::into)
    }
}

impl Arg {
    /// How deep lists may nest; deeper input is refused by readers and by the editor.
    pub const MAX_DEPTH: usize = 16;

    /// Returns a list of what `items` gives.
    pub fn list<A: Into<Arg>>(items: impl IntoIterator<Item = A>) -> Self {
        Arg::List(items.into_iter().map(Into::into).collect())
    }

    /// Returns the elements of a list or tuple.
    pub fn items(&self) -> Option<&[Arg]> {
        match self {
            Arg::List(v) | Arg::Tuple(v) => Some(v),
            _ => None,
        }
    }

    /// Returns the node that this argument is.
    pub fn as_node(&self) -> Option<NodeId> {
        match self {
            Arg::Node(n) => Some(*n),
            _ => None,
        }
    }

    /// Returns every node in this argument, in the order in which it is written.
    pub fn nodes(&self) -> NodesIn<'_> {
        NodesIn { stack: smallvec::smallvec![self] }
    }

    /// Whether this is made of arguments.
    pub(super) fn nests(&self) -> bool {
        matches!(self, Arg::List(_) | Arg::Tuple(_) | Arg::Dict(_))
    }

    /// Returns how deep lists nest here: 0 for a scalar, 1 for a list of scalars.
    pub fn depth(&self) -> usize {
        if !self.nests() {
            return 0;
        }
        let mut deepest = 0;
        let mut stack = vec![(self, 0_usize)];
        while let Some((arg, depth)) = stack.pop() {
            deepest = deepest.max(depth);
            let below = depth.saturating_add(1);
            match arg {
                Arg::List(v) | Arg::Tuple(v) => stack.extend(v.iter().map(|a| (a, below))),
                Arg::Dict(v) => stack.extend(v.iter().map(|(_, a)| (a, below))),
                _ => {}
            }
        }
        deepest
    }

    /// Replaces every node by what `map` says. Depth is bounded by [`Arg::MAX_DEPTH`].
    pub fn map_nodes(&self, map: &mut impl FnMut(NodeId) -> NodeId) -> Arg {
        match self {
            Arg::Node(n) => Arg::Node(map(*n)),
            Arg::List(v) => Arg::List(v.iter().map(|a| a.map_nodes(map)).collect()),
            Arg::Tuple(v) => Arg::Tuple(v.iter().map(|a| a.map_nodes(map)).collect()),
            Arg::Dict(v) => Arg::Dict(v.iter().map(|(k, a)| (k.clone(), a.map_nodes(map))).collect()),
            scalar => scalar.clone(),
        }
    }
}

/// Iterates over the nodes in an argument.
#[derive(Default)]
pub struct NodesIn<'a> {
    stack: smallvec::SmallVec<[&'a Arg; 4]>,
}

impl Iterator for NodesIn<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        while let Some(arg) = self.stack.pop() {
            match arg {
                Arg::Node(n) => return Some(*n),
                // Most lists are of numbers.
                Arg::List(v) | Arg::Tuple(v) => self.stack.extend(v.iter().rev().filter(|a| holds_nodes(a))),
                Arg::Dict(v) => self.stack.extend(v.iter().rev().map(|(_, a)| a)),
                _ => {}
            }
        }
        None
    }
}

fn holds_nodes(arg: &Arg) -> bool {
    matches!(arg, Arg::Node(_)) || arg.nests()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(index: u32) -> NodeId {
        NodeId { index, generation: 0 }
    }

    #[test]
    fn nodes_come_in_written_order() {
        let arg = Arg::List(Box::new([
            Arg::Node(node(1)),
            Arg::Tuple(Box::new([Arg::Node(node(2)), Arg::None])),
            Arg::Node(node(3)),
        ]));
        assert_eq!(arg.nodes().collect::<Vec<_>>(), [node(1), node(2), node(3)]);
        assert_eq!(arg.depth(), 2);
    }

    #[test]
    fn float_arguments_are_equal_by_bits() {
        assert_eq!(Arg::Float(f64::NAN), Arg::Float(f64::NAN));
        assert_ne!(Arg::Float(0.0), Arg::Float(-0.0));
    }
}
