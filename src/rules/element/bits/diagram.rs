//! Ordered decision diagrams: each function of truths once.
//!
//! Promises: two functions are equal where their references are; the number of nodes is bounded. The depth of what recurs here is the number
//! of variables, which is bounded too.

use rustc_hash::FxHashMap;

/// A function of truths.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ref(u32);

impl Ref {
    /// Always false.
    pub const FALSE: Ref = Ref(0);
    /// Always true.
    pub const TRUE: Ref = Ref(1);
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Node {
    level: u32,
    low: Ref,
    high: Ref,
}

/// All functions.
pub struct Diagram {
    nodes: Vec<Node>,
    known: FxHashMap<Node, Ref>,
    chosen: FxHashMap<(Ref, Ref, Ref), Ref>,
    limit: usize,
}

impl Diagram {
    /// Returns an empty diagram that grows no larger than that.
    pub fn with_limit(limit: usize) -> Self {
        let end = |r| Node { level: u32::MAX, low: r, high: r };
        let nodes = vec![end(Ref::FALSE), end(Ref::TRUE)];
        Diagram { nodes, known: FxHashMap::default(), chosen: FxHashMap::default(), limit }
    }

    /// Returns how much work was done.
    pub fn work(&self) -> usize {
        self.nodes.len().saturating_add(self.chosen.len())
    }

    fn node(&mut self, level: u32, low: Ref, high: Ref) -> Option<Ref> {
        if low == high {
            return Some(low);
        }
        let node = Node { level, low, high };
        if let Some(known) = self.known.get(&node) {
            return Some(*known);
        }
        if self.nodes.len() >= self.limit {
            return None;
        }
        let new = Ref(u32::try_from(self.nodes.len()).ok()?);
        self.nodes.push(node);
        self.known.insert(node, new);
        Some(new)
    }

    /// Returns the variable of a level; lower levels are asked first.
    pub fn variable(&mut self, level: u32) -> Option<Ref> {
        self.node(level, Ref::FALSE, Ref::TRUE)
    }

    fn at(&self, r: Ref) -> Option<Node> {
        self.nodes.get(r.0 as usize).copied()
    }

    /// Returns `a` where `p` holds, else `b`.
    pub fn choose(&mut self, p: Ref, a: Ref, b: Ref) -> Option<Ref> {
        match (p, a, b) {
            (Ref::TRUE, ..) => return Some(a),
            (Ref::FALSE, ..) => return Some(b),
            (_, Ref::TRUE, Ref::FALSE) => return Some(p),
            _ if a == b => return Some(a),
            _ => {}
        }
        if let Some(known) = self.chosen.get(&(p, a, b)) {
            return Some(*known);
        }
        let (x, y, z) = (self.at(p)?, self.at(a)?, self.at(b)?);
        let level = x.level.min(y.level).min(z.level);
        let part = |n: Node, r: Ref, high: bool| match n.level == level {
            true if high => n.high,
            true => n.low,
            false => r,
        };
        let low = self.choose(part(x, p, false), part(y, a, false), part(z, b, false))?;
        let high = self.choose(part(x, p, true), part(y, a, true), part(z, b, true))?;
        let made = self.node(level, low, high)?;
        if self.chosen.len() >= self.limit.saturating_mul(4) {
            return None;
        }
        self.chosen.insert((p, a, b), made);
        Some(made)
    }

    /// Returns the opposite.
    pub fn not(&mut self, a: Ref) -> Option<Ref> {
        self.choose(a, Ref::FALSE, Ref::TRUE)
    }

    /// Returns whether both hold.
    pub fn and(&mut self, a: Ref, b: Ref) -> Option<Ref> {
        self.choose(a, b, Ref::FALSE)
    }

    /// Returns whether one holds.
    pub fn or(&mut self, a: Ref, b: Ref) -> Option<Ref> {
        self.choose(a, Ref::TRUE, b)
    }

    /// Returns whether they differ.
    pub fn xor(&mut self, a: Ref, b: Ref) -> Option<Ref> {
        let other = self.not(b)?;
        self.choose(a, other, b)
    }
}
