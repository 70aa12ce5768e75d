//! Clocks are the order of events: for captured graphs, `before` is reachability over list order of a stream and record to wait.
//!
//! Random programs of nested scopes, records, waits on records and tensors, tagged events, and operators; an order made by hand,
//! with one set of predecessors a node, says the same of every two operators.

use std::collections::{BTreeSet, HashMap};

use airlock::analysis::Storages;
use airlock::analysis::streams::{Accesses, Order, Rules, Streams, Work};
use airlock::formats::text::{self, ReadOptions};
use airlock::graph::{BodyId, NodeId, View};
use airlock::ops::Registry;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

/// Text lines, and for each operator the operators that are before it.
#[derive(Default)]
struct Program {
    lines: Vec<String>,
    before: Vec<(String, BTreeSet<String>)>,
    /// What each stream was given, and what that waited for.
    streams: HashMap<String, BTreeSet<String>>,
    scopes: Vec<Option<String>>,
    records: Vec<BTreeSet<String>>,
    tags: HashMap<String, BTreeSet<String>>,
}

impl Program {
    fn current(&self) -> String {
        self.scopes.iter().rev().flatten().next().cloned().unwrap_or_default()
    }

    fn learn(&mut self, from: &BTreeSet<String>) {
        let current = self.current();
        self.streams.entry(current).or_default().extend(from.iter().cloned());
    }

    fn step(&mut self, dice: &mut Dice) {
        let number = self.lines.len();
        let current = self.current();
        let given = self.streams.get(&current).cloned().unwrap_or_default();
        match dice.below(12) {
            0 | 1 if self.scopes.len() < 3 => {
                let label = ["s1", "s2", "s3"][dice.below(3)];
                let key = if dice.below(4) == 0 { "_op_aicore_num" } else { "_user_stream_label" };
                self.lines.push(format!("e{number} = torch.ops.air.scope_enter.default(['{key}'], ['{label}'])"));
                self.scopes.push((key == "_user_stream_label").then(|| label.to_string()));
            }
            2 | 3 if !self.scopes.is_empty() => {
                self.lines.push(format!("f{number} = torch.ops.npugraph_ex.scope_exit.default()"));
                self.scopes.pop();
            }
            4 | 5 => {
                self.lines.push(format!("r{} = torch.ops.air.record.default()", self.records.len()));
                self.records.push(given);
            }
            6 | 7 if !self.records.is_empty() => {
                let record = dice.below(self.records.len());
                self.lines.push(format!("w{number} = torch.ops.air.wait.default([r{record}])"));
                self.learn(&self.records[record].clone());
            }
            8 if !self.before.is_empty() => {
                let (name, mut before) = self.before[dice.below(self.before.len())].clone();
                self.lines.push(format!("w{number} = torch.ops.npugraph_ex.wait.default([{name}])"));
                before.insert(name);
                self.learn(&before);
            }
            9 => {
                let tag = dice.below(2).to_string();
                self.lines.push(format!("t{number} = torch.ops.air.tagged_event_record.default('{tag}')"));
                self.tags.insert(tag, given);
            }
            10 => {
                let tag = dice.below(2).to_string();
                self.lines.push(format!("t{number} = torch.ops.air.tagged_event_wait.default('{tag}')"));
                self.learn(&self.tags.get(&tag).cloned().unwrap_or_default());
            }
            _ => {
                let name = format!("n{number}");
                self.lines.push(format!("{name}: \"f32[3, 3]\" = torch.ops.aten.neg.default(x)"));
                self.before.push((name.clone(), given));
                self.learn(&BTreeSet::from([name]));
            }
        }
    }
}

#[test]
fn clocks_say_what_events_and_list_order_say() {
    let registry = Registry::standard();
    let mut dice = Dice(7);
    let (mut ordered, mut all) = (0, 0);
    for _ in 0..300 {
        let mut program = Program::default();
        (0..60).for_each(|_| program.step(&mut dice));
        while program.scopes.pop().is_some() {
            let number = program.lines.len();
            program.lines.push(format!("f{number} = torch.ops.air.scope_exit.default()"));
        }
        let body: String = program.lines.iter().map(|l| format!("        {l}\n")).collect();
        let text = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[3, 3]\"):\n{body}        return (x,)\n"
        );
        let mut graph = text::read(&text, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
        registry.check_types(&mut graph);
        let mut storages = Storages::new(&graph, &registry, &[]);
        let work = Work::of(&graph, &mut Accesses::new(&graph, &registry), &mut storages);
        let streams = Streams::of(&graph);
        assert!(streams.faults.is_empty(), "{text}");
        let order = Order::of(&graph, &streams, Rules::ReduceOverhead, &work, &mut storages).unwrap();
        let nodes: HashMap<&str, NodeId> = graph.nodes(BodyId::ROOT).map(|n| (graph.name(n), n)).collect();
        for (b, before) in &program.before {
            for (a, _) in &program.before {
                assert_eq!(order.before(nodes[a.as_str()], nodes[b.as_str()]), before.contains(a), "{a} {b}\n{text}");
                all += 1;
                ordered += usize::from(before.contains(a));
            }
        }
    }
    assert!(ordered > 1000 && ordered * 2 < all, "{ordered} of {all}");
}
