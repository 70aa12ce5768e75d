//! Keys of calls: equal keys are the same computation.
//!
//! A key is a list of numbers: the stretch of the graph, the target, the positional arguments, the keyword arguments with their names. A node stands
//! as the first node that computes the same value, a literal as its index (equal literals have one index); a list with
//! nodes in it is written out, as what it holds may have been merged.

use std::collections::HashMap;

use airlock_pass::{Arg, Node, NodeRef, Operand, Scalar};

/// Numbers that are no node: they begin at 2^63.
const LITERAL: u64 = 1 << 63;
const LIST: u64 = u64::MAX;
const KEYWORD: u64 = u64::MAX - 1;
const SCALAR: u64 = u64::MAX - (1 << 32);

#[derive(Default)]
pub struct Keys {
    /// Counts the places that nothing is merged across.
    epoch: u64,
    merged: HashMap<Node, Node>,
    scalars: HashMap<String, u64>,
}

impl Keys {
    /// From here on no key equals an earlier one.
    pub fn forget(&mut self) {
        self.epoch += 1;
    }

    /// From now on `node` is `kept`.
    pub fn merge(&mut self, node: Node, kept: Node) {
        self.merged.insert(node, kept);
    }

    pub fn of(&mut self, call: NodeRef<'_>) -> Box<[u64]> {
        let mut key = vec![self.epoch, call.target_id() as u64];
        for operand in call.args() {
            self.push(&mut key, operand);
        }
        for (name, operand) in call.kwargs() {
            key.push(KEYWORD);
            let name = self.scalar(&Scalar::Str(name.to_owned()));
            key.push(name);
            self.push(&mut key, operand);
        }
        key.into_boxed_slice()
    }

    fn push(&mut self, key: &mut Vec<u64>, operand: Operand<'_>) {
        match operand {
            Operand::Node(node) => key.push(self.kept(node)),
            Operand::Literal { arg: Arg::Many(items), .. } if items.iter().any(|item| item.as_node().is_some()) => {
                key.extend([LIST, items.len() as u64]);
                for item in items {
                    let number = match item.as_node() {
                        Some(node) => self.kept(node),
                        None => self.scalar(item),
                    };
                    key.push(number);
                }
            }
            Operand::Literal { index, .. } => key.push(LITERAL + index as u64),
        }
    }

    fn kept(&self, node: Node) -> u64 {
        self.merged.get(&node).copied().unwrap_or(node).id()
    }

    /// A number for a scalar: its debug text tells apart what is different, `0.0` and `-0.0` too.
    fn scalar(&mut self, scalar: &Scalar) -> u64 {
        let next = SCALAR + self.scalars.len() as u64;
        *self.scalars.entry(format!("{scalar:?}")).or_insert(next)
    }
}
