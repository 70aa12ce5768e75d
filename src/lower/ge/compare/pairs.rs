//! Pairs of operators: one of ours, one of the reference. A pair forces the pairs of its producers.

use std::collections::BTreeSet;

use super::Differences;
use super::normal::{Node, Normal, Slot, Source, shown, type_name};

/// A partial one-to-one map between the operators of two graphs.
pub(super) struct Pairs<'n, 'a> {
    pub(super) left: &'n Normal<'a>,
    pub(super) right: &'n Normal<'a>,
    pub(super) to_right: Vec<Option<usize>>,
    pub(super) to_left: Vec<Option<usize>>,
}

impl<'n, 'a> Pairs<'n, 'a> {
    pub(super) fn new(left: &'n Normal<'a>, right: &'n Normal<'a>) -> Self {
        Self { left, right, to_right: vec![None; left.nodes.len()], to_left: vec![None; right.nodes.len()] }
    }

    /// Pairs `a` with `b` and everything that this forces; what does not fit becomes differences.
    pub(super) fn force(&mut self, a: usize, b: usize, found: &mut Differences) {
        let mut work = vec![(a, b)];
        while let Some((a, b)) = work.pop() {
            let (Some(x), Some(y)) = (self.left.nodes.get(a), self.right.nodes.get(b)) else { continue };
            match (self.to_right.get(a).copied().flatten(), self.to_left.get(b).copied().flatten()) {
                (Some(b2), Some(a2)) if b2 == b && a2 == a => continue,
                (None, None) => {}
                _ => {
                    found.add(format!("{} and {} stand for different operators in different places", x.name, y.name));
                    continue;
                }
            }
            if let Some(slot) = self.to_right.get_mut(a) {
                *slot = Some(b);
            }
            if let Some(slot) = self.to_left.get_mut(b) {
                *slot = Some(a);
            }
            if compare_nodes(x, y, found) {
                self.compare_slots(x, y, &mut work, found);
            }
        }
    }

    fn compare_slots(&self, x: &Node, y: &Node, work: &mut Vec<(usize, usize)>, found: &mut Differences) {
        if let Some(difference) = slot_names(x, y) {
            found.add(difference);
            return;
        }
        for (s, t) in x.slots.iter().zip(&y.slots) {
            compare_slot_types(x, y, s, t, found);
            match (&s.source, &t.source) {
                (Source::Node { node: a, output: i }, Source::Node { node: b, output: j }) => {
                    if i != j {
                        found.add(format!("input {} of {}: output {i} here, output {j} there", s.name, at(x, y)));
                    }
                    work.push((*a, *b));
                }
                (Source::Constant(c), Source::Constant(d)) if c == d => {}
                (s_source, t_source) => found.add(format!(
                    "input {} of {}: {} here, {} there",
                    s.name,
                    at(x, y),
                    self.source_name(s_source, self.left),
                    self.source_name(t_source, self.right)
                )),
            }
        }
    }

    fn source_name(&self, source: &Source, graph: &Normal) -> String {
        match source {
            Source::Constant(c) => format!("the constant {}", c.shown()),
            Source::Node { node, output } => {
                graph.nodes.get(*node).map_or_else(String::new, |n| format!("{}:{output}", n.name))
            }
        }
    }
}

/// Returns the name of a pair, as short as it can be.
pub(super) fn at(x: &Node, y: &Node) -> String {
    if x.name == y.name { x.name.to_string() } else { format!("{} ({} there)", x.name, y.name) }
}

fn slot_names(x: &Node, y: &Node) -> Option<String> {
    let names = |n: &Node| n.slots.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let (a, b) = (names(x), names(y));
    (a != b).then(|| format!("{}: fed inputs are [{}] here, [{}] there", at(x, y), a.join(", "), b.join(", ")))
}

fn compare_slot_types(x: &Node, y: &Node, s: &Slot, t: &Slot, found: &mut Differences) {
    if s.dtype != t.dtype {
        let (a, b) = (type_name(s.dtype), type_name(t.dtype));
        found.add(format!("input {} of {}: type {a} here, {b} there", s.name, at(x, y)));
    }
    if s.layout != t.layout {
        found.add(format!("input {} of {}: format {} here, {} there", s.name, at(x, y), s.layout, t.layout));
    }
    if s.dims != t.dims {
        let show = |d: &Option<Vec<i64>>| format!("{:?}", d.clone().unwrap_or_default());
        found.add(format!("input {} of {}: sizes {} here, {} there", s.name, at(x, y), show(&s.dims), show(&t.dims)));
    }
}

/// Compares two operators without their inputs; returns whether these are worth comparing too.
fn compare_nodes(x: &Node, y: &Node, found: &mut Differences) -> bool {
    if x.kind != y.kind {
        found.add(format!("{} is a {} here, a {} there", at(x, y), x.kind, y.kind));
        return false;
    }
    let names: BTreeSet<&str> = x.attrs.keys().chain(y.attrs.keys()).copied().collect();
    for name in names {
        let (a, b) = (x.attrs.get(name), y.attrs.get(name));
        if a != b {
            found.add(format!("attribute {name} of {}: {} here, {} there", at(x, y), shown(a), shown(b)));
        }
    }
    if x.outputs.len() != y.outputs.len() {
        found.add(format!("{}: {} outputs here, {} there", at(x, y), x.outputs.len(), y.outputs.len()));
    }
    for (i, (o, p)) in x.outputs.iter().zip(&y.outputs).enumerate() {
        if o != p {
            let show = |o: &super::normal::Output| {
                let place = o.place.as_ref().map_or_else(String::new, |(d, device)| format!(" {d:?} {device}"));
                format!("{} {} {}{place}", o.name, type_name(o.dtype), o.layout)
            };
            found.add(format!("output {i} of {}: {} here, {} there", at(x, y), show(o), show(p)));
        }
    }
    true
}
