//! A graph as data, for a process that works on a copy of it.
//!
//! Promises: what was made of an image is the same graph with the same ids: the same edits, in the same order, give it nodes of the
//! same ids and names. Metadata that the file holds is carried over, and nothing else of the file. Reading believes what it reads: an image
//! goes from a host to its own workers only. Leaves out logs: what could be taken back stays behind.

use std::sync::Arc;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use super::build::{Body, Columns};
use super::{BodyId, Bytes, Graph, NodeId, NodeKind, Signature, Span, StrId, Users};
use crate::sym::{ExprId, Symbols};

#[derive(serde::Serialize)]
struct Written<'a> {
    texts: Vec<&'a str>,
    symbols: &'a Symbols,
    range_constraints: &'a [ExprId],
    signature: &'a Option<Signature>,
    columns: &'a Columns,
    targets: &'a [StrId],
    bodies: &'a [Body],
    counters: Vec<((BodyId, StrId), u64)>,
    free: &'a [u32],
    /// The metadata of nodes, in the order of their slots: each where the one before ends.
    meta: Vec<u8>,
}

#[derive(serde::Deserialize)]
struct Read {
    texts: Vec<Arc<str>>,
    symbols: Symbols,
    range_constraints: Vec<ExprId>,
    signature: Option<Signature>,
    columns: Columns,
    targets: Vec<StrId>,
    bodies: Vec<Body>,
    counters: Vec<((BodyId, StrId), u64)>,
    free: Vec<u32>,
    meta: Vec<u8>,
}

impl Serialize for Graph {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut counters: Vec<_> = self.names.counters.iter().map(|(k, v)| (*k, *v)).collect();
        counters.sort_unstable();
        let mut meta = Vec::new();
        if let Some(source) = &self.meta_source {
            for span in self.columns.meta.iter().filter_map(|m| m.json) {
                meta.extend_from_slice(source.slice(span).unwrap_or_default());
            }
        }
        let image = Written {
            texts: self.texts.texts().collect(),
            symbols: &self.symbols,
            range_constraints: &self.range_constraints,
            signature: &self.signature,
            columns: &self.columns,
            targets: &self.targets.list,
            bodies: &self.bodies,
            counters,
            free: &self.free,
            meta,
        };
        image.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Graph {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Read::deserialize(deserializer)?;
        let mut graph = Graph::new();
        graph.texts = read.texts.into_iter().collect();
        graph.symbols = read.symbols;
        graph.range_constraints = read.range_constraints;
        graph.signature = read.signature;
        graph.columns = read.columns;
        graph.bodies = read.bodies;
        graph.names.counters = read.counters.into_iter().collect();
        graph.free = read.free;
        read.targets.into_iter().for_each(|t| graph.targets.add(t));
        let mut start = 0_u64;
        for meta in &mut graph.columns.meta {
            if let Some(span) = &mut meta.json {
                *span = Span { start, len: span.len };
                start = start.saturating_add(u64::from(span.len));
            }
        }
        graph.meta_source = Some(Bytes::new(read.meta));
        graph.derive();
        Ok(graph)
    }
}

impl Graph {
    /// Fills in what follows from the columns: users and names.
    fn derive(&mut self) {
        self.columns.users = vec![Users::default(); self.columns.alive.len()];
        for slot in 0..self.columns.alive.len() {
            if self.columns.alive.get(slot) != Some(&true) {
                continue;
            }
            let generation = self.columns.generation.get(slot).copied().unwrap_or(0);
            let id = NodeId { index: u32::try_from(slot).unwrap_or(u32::MAX), generation };
            self.count_uses(id, Users::add);
            if let (Some(link), Some(name)) = (self.columns.link.get(slot), self.columns.name.get(slot)) {
                self.names.put(link.body, *name, id);
            }
            if self.columns.kind.get(slot) == Some(&NodeKind::GetAttr) {
                self.targets.names_attributes = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arg, Device, Dtype, Meta, NewNode, TensorType, ValueType, View};
    use super::*;

    fn node(g: &mut Graph, before: Option<NodeId>, name: &str, args: &[Arg]) -> NodeId {
        let s = g.symbols.symbol("s0");
        let ty = ValueType::tensor(TensorType::new(Dtype::F32, [s], Device::new("npu")));
        let target = g.texts.intern("aten.neg.default");
        let kwargs = Box::new([(g.texts.intern("k"), Arg::list([1, 2]))]);
        g.insert(BodyId::ROOT, before, name, NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs, ty })
    }

    /// A graph with slots that are free, one that an outer log still holds, counters and metadata.
    fn graph() -> Graph {
        let mut g = Graph::new();
        g.meta_source = Some(Bytes::new(*br#"...{"why":"a"}..{"why":"b"}"#));
        let a = node(&mut g, None, "a", &[]);
        let b = node(&mut g, None, "b", &[a.into(), a.into()]);
        let gone = node(&mut g, None, "gone", &[]);
        g.remove(gone);
        for (n, start) in [(a, 16), (b, 3)] {
            g.set_meta(n, Meta { json: Some(Span { start, len: 11 }), set: None });
        }
        g.add_body(BodyId::ROOT, "body");
        g.begin_log();
        let held = node(&mut g, Some(b), "b", &[a.into()]);
        g.remove(held);
        g.annotate(b, "note", Some("x"));
        g
    }

    fn content(g: &Graph) -> Vec<String> {
        let show = |n| {
            let (row, place, users) = (g.row(n), g.place(n), g.users_in_order(n));
            format!("{n:?} {} {row:?} {place:?} {users:?} {:?}", g.name(n), g.annotation(n, "why"))
        };
        let all = g.bodies().flat_map(|b| g.nodes(b)).map(show);
        all.chain([format!("{:?} {}", g.symbols.symbols().collect::<Vec<_>>(), g.body_count())]).collect()
    }

    #[test]
    fn an_image_is_the_same_graph_and_is_edited_alike() {
        let mut first = graph();
        let mut second: Graph = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
        // Spans are of the bytes that each has.
        let told = |g: &Graph| content(g).join("\n").replace("start: 16", "start").replace("start: 3", "start");
        let of_image = |g: &Graph| content(g).join("\n").replace("start: 0", "start").replace("start: 11", "start");
        assert_eq!(told(&first), of_image(&second));
        second.begin_log();
        for g in [&mut first, &mut second] {
            let b = g.find_name(BodyId::ROOT, "b").unwrap();
            let made = node(g, Some(b), "b", &[]);
            let more = node(g, None, "a", &[made.into()]);
            g.set_args(b, Box::new([more.into()]), Box::default());
        }
        assert_eq!(told(&first), of_image(&second));
        assert!(told(&first).contains("Some(\"a\")") && told(&first).contains("Some(\"b\")"));
    }
}
