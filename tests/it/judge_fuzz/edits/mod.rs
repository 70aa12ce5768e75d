//! Edits of programs: those that passes make, right ones and their wrong neighbours.
//!
//! Each takes the program, what its values were in one run, and a generator; it says whether it changed anything. No edit knows whether it is
//! right: that is the judge's to say, and running both programs to contradict.

mod calls;
mod places;
mod views;
mod words;
mod writes;

use std::collections::BTreeMap;

use airlock::exec::{Tensor, Value};

use super::program::{A, Node, Program};
use super::random::Rng;

/// What an edit works on.
pub struct Draft<'a> {
    pub p: Program,
    pub env: &'a BTreeMap<String, Value>,
    pub rng: &'a mut Rng,
    pub skip: &'a [String],
    pub hint: &'a super::run::Binding,
    pub opaque: bool,
}

type Edit = fn(&mut Draft<'_>) -> bool;

/// Every kind of edit, and how often it is made.
pub const EDITS: &[(&str, usize, Edit)] = &[
    ("none", 1, |_| true),
    ("merge equal calls", 8, calls::merge),
    ("double a call", 4, calls::double),
    ("drop a dead call", 5, calls::drop_dead),
    ("drop all dead calls", 4, calls::drop_all_dead),
    ("insert a copy or view", 9, views::insert_copy),
    ("remove a copy or view", 7, views::remove_copy),
    ("lay out otherwise", 6, views::lay_out),
    ("another view operator", 7, views::other_view),
    ("move a call", 9, places::move_call),
    ("move past bodies", 5, places::move_past_bodies),
    ("swap neighbours", 4, places::swap_neighbours),
    ("swap operands", 11, words::swap_operands),
    ("in place", 8, writes::in_place),
    ("functional", 8, writes::functional),
    ("another operand", 5, words::other_operand),
    ("another constant", 4, words::other_constant),
    ("drop or double an effect", 4, calls::effect),
    ("another output", 4, calls::output),
    ("size as number or symbol", 10, words::size),
    ("another annotation", 3, words::annotation),
    ("edit a body", 20, calls::body),
    ("keywords", 3, words::keywords),
    ("insert a dead call", 6, calls::dead),
    ("merge views", 14, views::merge_views),
    ("mutation by signature", 6, writes::mutation),
    ("insert an identity", 5, words::identity),
    ("slices", 12, views::slices),
];

/// Makes one edit; returns its name, if it changed anything.
pub fn edit(draft: &mut Draft<'_>) -> Option<&'static str> {
    let total: usize = EDITS.iter().map(|(_, w, _)| w).sum();
    let mut at = draft.rng.below(total);
    let (name, _, edit) = EDITS.iter().find(|(_, w, _)| {
        let here = at < *w;
        at = at.saturating_sub(*w);
        here
    })?;
    edit(draft).then_some(*name)
}

impl Draft<'_> {
    fn value(&self, a: &A) -> Option<&Value> {
        match a {
            A::N(n) => self.env.get(n),
            _ => None,
        }
    }

    fn tensor(&self, a: &A) -> Option<&Tensor> {
        self.value(a)?.as_tensor()
    }

    fn any_node(&mut self) -> Option<usize> {
        (!self.p.nodes.is_empty()).then(|| self.rng.below(self.p.nodes.len()))
    }

    fn node_where(&mut self, fits: &dyn Fn(&Self, &Node) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.p.nodes.len()).filter(|i| fits(self, &self.p.nodes[*i])).collect();
        self.rng.maybe(&all).copied()
    }

    /// Tensors defined above a place.
    fn above(&self, at: usize) -> Vec<(String, Tensor)> {
        let inputs = self.p.inputs.iter().map(|i| &i.name);
        let nodes = self.p.nodes.iter().take(at).map(|n| &n.name);
        inputs.chain(nodes).filter_map(|n| self.env.get(n)?.as_tensor().map(|t| (n.clone(), t.clone()))).collect()
    }

    fn node(&self, name: &str, target: &str, args: Vec<A>) -> Node {
        Node { name: self.p.free(name), target: target.into(), args, kw: vec![], note: None }
    }

    /// Replaces uses of a name from a place on: all, or each with a chance.
    fn redirect(&mut self, from: usize, old: &str, new: &A) {
        if self.rng.percent(65) {
            self.p.put_from(from, old, new);
            return;
        }
        for i in from..self.p.nodes.len() {
            if self.rng.percent(50) {
                self.p.nodes[i].put(old, new);
            }
        }
        for out in &mut self.p.outs {
            if self.rng.percent(50) {
                out.value.put(old, new);
            }
        }
    }

    /// Where uses of a value may begin to change: behind its definition.
    fn behind(&self, name: &str) -> usize {
        self.p.place(name).map_or(0, |p| p + 1)
    }
}
