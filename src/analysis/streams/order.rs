//! Happens-before: which node is done before which begins, by mode.
//!
//! List order orders the nodes of one stream (in `max-autotune` that is an assumption: GE's order `StableRDFS`). Across streams:
//!
//! * `reduce-overhead`: only events order. `record` takes what the current stream was given so far, also what that waited for;
//!   `wait` lets the current stream begin what follows after that. A wait on a tensor is one for a record right behind its node,
//!   on that node's stream; on an input, for nothing. Tags: the latest record in list order. The mode itself adds a fork (every side
//!   stream waits for the *start* of the graph, which orders no access) and joins (the output waits for every side stream); a
//!   data dependence orders nothing.
//! * `max-autotune`: data edges order, and control edges: from the last operator that GE has on the record's stream to the next
//!   on the wait's stream (the *outermost* label, see `scopes`); without one the record, or the wait, stands for nothing. Nodes
//!   run on the stream of the *innermost* label.
//!
//! What GE has of a node is not always known: views are put off and made where they are used, on the main stream and not behind the
//! wait that their user got; some nodes leave nothing. So a node that may leave nothing passes on only what its operands
//! passed to it, is no target of a wait, and a record behind one takes what holds either way.
//!
//! Every edge goes forward in the list: there is no deadlock in a list whose uses stand behind their definitions, which `form`
//! checks.
//!
//! Promises: [`Order::before`] is said only of what is so in every schedule; with `s` streams a node costs at most `s` for each
//! operand or event that tells something new. Leaves to `conflicts`: what must be ordered.

use rustc_hash::FxHashMap;

use super::accesses::{Does, Work};
use super::events::{Action, On, Tag};
use super::scopes::{StreamId, Streams, nodes_of, stream_operator};
use crate::analysis::{Place, Shares, Storages, place_of};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, View};
use crate::sym::{KeyedMap, KeyedSet};

/// How many streams are told apart: clocks cost that much a node.
pub const MAX_STREAMS: usize = 64;

/// The rules of order.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Rules {
    /// GE graphs: data edges and control edges.
    MaxAutotune,
    /// Captured graphs: events.
    ReduceOverhead,
}

/// When something runs: the how-many-th of which stream, and what it comes after.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The stream.
    pub stream: StreamId,
    /// Counted from one.
    pub position: u32,
    clock: u32,
}

/// For each stream, up to which position it is done.
type Clock = Vec<u32>;

/// What runs before what.
#[derive(Clone, Debug)]
pub struct Order {
    width: usize,
    clocks: Vec<u32>,
    steps: FxHashMap<NodeId, Step>,
    /// Where a view that a node uses may be made, of nodes that use one: `max-autotune` only.
    made: FxHashMap<NodeId, Step>,
    /// When the final copies run that the signature stands for: number of the output, step.
    pub finals: Vec<(u32, Step)>,
    /// Side streams whose work the main stream has not waited for where the graph ends: `reduce-overhead` only.
    pub unjoined: Vec<StreamId>,
    /// Side streams that begin without having waited for an event of the main stream, with the node: `reduce-overhead` only.
    pub unforked: Vec<(StreamId, NodeId)>,
    /// Whether an event of the compiler's own is in the graph: it may hold the mode's forks and joins already.
    pub has_compilers_events: bool,
    /// Tags of the user's that the graph names, with the first node.
    pub tags: Vec<(Box<str>, NodeId)>,
    /// Whether what is not said to be ordered surely is not: `max-autotune` may order more than is known of GE's nodes.
    pub is_exact: bool,
    /// Operators on events whose arguments are not written out.
    pub unclear: Vec<NodeId>,
    /// Which streams' work the memory of a value waits for: node and stream.
    pub kept: Vec<(NodeId, StreamId)>,
}

/// There are more streams than are told apart.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there are {0} streams, and at most {MAX_STREAMS} are told apart")]
pub struct TooManyStreams(pub usize);

impl Order {
    /// Returns the order of a graph's root body. What its nodes do counts in `max-autotune` only.
    pub fn of(
        view: &dyn View,
        streams: &Streams,
        rules: Rules,
        work: &Work,
        storages: &mut Storages<'_>,
    ) -> Result<Self, TooManyStreams> {
        let width = streams.count();
        if width > MAX_STREAMS {
            return Err(TooManyStreams(width));
        }
        let mut walk = Walk::new(view, streams, width);
        let (mut work, nothing) = (work.nodes.iter().peekable(), Does::default());
        for (node, kind) in nodes_of(view, BodyId::ROOT) {
            match kind {
                NodeKind::Placeholder | NodeKind::GetAttr => {}
                NodeKind::Call | NodeKind::Output => {
                    if kind == NodeKind::Output {
                        walk.copies(rules, storages);
                    }
                    match rules {
                        Rules::ReduceOverhead => walk.captured(node, kind),
                        Rules::MaxAutotune => {
                            let does = work.next_if(|(n, _)| *n == node).map_or(&nothing, |(_, does)| does);
                            walk.compiled(node, kind, does, storages);
                        }
                    }
                }
            }
        }
        Ok(walk.finish())
    }

    /// Returns when a node runs; `None` for inputs, attributes and operators on streams.
    pub fn step(&self, node: NodeId) -> Option<Step> {
        self.steps.get(&node).copied()
    }

    /// Returns when views that a node uses may be made: not behind what the node waited for.
    pub fn made(&self, node: NodeId) -> Option<Step> {
        self.made.get(&node).copied()
    }

    /// Returns whether one step is done before the other begins, in every schedule.
    pub fn is_before(&self, a: Step, b: Step) -> bool {
        if a.stream == b.stream {
            return a.position < b.position;
        }
        self.known(b).get(a.stream.0 as usize).is_some_and(|known| *known >= a.position)
    }

    /// Returns whether one node is done before the other begins, in every schedule.
    pub fn before(&self, a: NodeId, b: NodeId) -> bool {
        matches!((self.step(a), self.step(b)), (Some(a), Some(b)) if self.is_before(a, b))
    }

    /// Returns, for each stream, up to which position it is done where a step begins; the step's own stream is not told.
    pub fn known(&self, step: Step) -> &[u32] {
        clock_at(&self.clocks, self.width, step.clock)
    }
}

fn clock_at(clocks: &[u32], width: usize, number: u32) -> &[u32] {
    let start = (number as usize).saturating_mul(width);
    clocks.get(start..start.saturating_add(width)).unwrap_or(&[])
}

fn raise(clock: &mut [u32], other: &[u32]) -> bool {
    let mut raised = false;
    for (mine, theirs) in clock.iter_mut().zip(other) {
        raised |= *theirs > *mine;
        *mine = (*mine).max(*theirs);
    }
    raised
}

fn lower_to(clock: &mut [u32], other: &[u32]) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).min(*theirs);
    }
}

/// What is done once something is: a clock, and the step itself where it is one.
#[derive(Clone, Debug)]
enum Done {
    Step(Step),
    Clock(Clock),
}

/// What a node passes to those that use its result, in `max-autotune`.
#[derive(Copy, Clone, Debug)]
enum Passes {
    /// It runs: itself, and what it comes after.
    Itself(Step),
    /// It may leave nothing: what its operands pass, by number of the clock.
    Operands(u32),
}

/// An event of captured graphs.
#[derive(Clone, Debug, Default)]
struct Event {
    clock: Clock,
    is_of_main: bool,
}

/// A wait that the next operator on its stream gets, in `max-autotune`.
#[derive(Clone, Debug)]
struct Waiting {
    clock: Clock,
    /// The stream of a node in between that may have got the edge instead.
    passed: Option<StreamId>,
    lost: bool,
}

struct Walk<'a> {
    view: &'a dyn View,
    streams: &'a Streams,
    width: usize,
    clocks: Vec<u32>,
    /// For each stream what it knows, and the number of that clock if it was not raised since.
    current: Vec<(Clock, Option<u32>)>,
    counts: Vec<u32>,
    steps: FxHashMap<NodeId, Step>,
    made: FxHashMap<NodeId, Step>,
    passes: FxHashMap<NodeId, Passes>,
    records: FxHashMap<NodeId, Event>,
    tagged: KeyedMap<Tag, Event>,
    forked: Vec<bool>,
    unforked: Vec<(StreamId, NodeId)>,
    unjoined: Vec<StreamId>,
    last: FxHashMap<StreamId, (Done, StreamId)>,
    waiting: FxHashMap<StreamId, Vec<Waiting>>,
    finals: Vec<(u32, Step)>,
    tags: Vec<(Box<str>, NodeId)>,
    tags_seen: KeyedSet<Box<str>>,
    has_compilers_events: bool,
    is_exact: bool,
    unclear: Vec<NodeId>,
    kept: Vec<(NodeId, StreamId)>,
}

impl<'a> Walk<'a> {
    fn new(view: &'a dyn View, streams: &'a Streams, width: usize) -> Self {
        Walk {
            view,
            streams,
            width,
            // Clock number 0 knows nothing.
            clocks: vec![0; width],
            current: vec![(vec![0; width], Some(0)); width],
            counts: vec![0; width],
            steps: FxHashMap::default(),
            made: FxHashMap::default(),
            passes: FxHashMap::default(),
            records: FxHashMap::default(),
            tagged: KeyedMap::default(),
            forked: vec![false; width],
            unforked: Vec::new(),
            unjoined: Vec::new(),
            last: FxHashMap::default(),
            waiting: FxHashMap::default(),
            finals: Vec::new(),
            tags: Vec::new(),
            tags_seen: KeyedSet::default(),
            has_compilers_events: false,
            is_exact: true,
            unclear: Vec::new(),
            kept: Vec::new(),
        }
    }

    fn finish(self) -> Order {
        Order {
            width: self.width,
            clocks: self.clocks,
            steps: self.steps,
            made: self.made,
            finals: self.finals,
            unjoined: self.unjoined,
            unforked: self.unforked,
            has_compilers_events: self.has_compilers_events,
            tags: self.tags,
            is_exact: self.is_exact && self.unclear.is_empty(),
            unclear: self.unclear,
            kept: self.kept,
        }
    }

    // Clocks.

    fn store(&mut self, clock: &[u32]) -> u32 {
        let number = self.clocks.len().checked_div(self.width).unwrap_or(0);
        self.clocks.extend_from_slice(clock);
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// The number of the clock of what a stream knows now.
    fn number(&mut self, stream: StreamId) -> u32 {
        let Some((clock, number)) = self.current.get(stream.0 as usize) else { return 0 };
        if let Some(number) = number {
            return *number;
        }
        let clock = clock.clone();
        let number = self.store(&clock);
        if let Some(entry) = self.current.get_mut(stream.0 as usize) {
            entry.1 = Some(number);
        }
        number
    }

    fn learn(&mut self, stream: StreamId, clock: &[u32]) {
        if let Some((own, number)) = self.current.get_mut(stream.0 as usize)
            && raise(own, clock)
        {
            *number = None;
        }
    }

    /// What is done once a step is.
    fn after(&self, step: Step) -> Clock {
        let mut clock = clock_at(&self.clocks, self.width, step.clock).to_vec();
        if let Some(own) = clock.get_mut(step.stream.0 as usize) {
            *own = (*own).max(step.position);
        }
        clock
    }

    fn done(&self, done: &Done) -> Clock {
        match done {
            Done::Step(step) => self.after(*step),
            Done::Clock(clock) => clock.clone(),
        }
    }

    /// The next step of a stream, with a clock.
    fn next(&mut self, stream: StreamId, clock: u32) -> Step {
        let count = self.counts.get_mut(stream.0 as usize);
        let position = count.map_or(0, |c| {
            *c = c.saturating_add(1);
            *c
        });
        Step { stream, position, clock }
    }

    /// What a stream was given so far, and what that waited for.
    fn given(&self, stream: StreamId) -> Event {
        let place = stream.0 as usize;
        let mut clock = self.current.get(place).map_or_else(Vec::new, |(clock, _)| clock.clone());
        if let (Some(own), Some(count)) = (clock.get_mut(place), self.counts.get(place)) {
            *own = *count;
        }
        let is_of_main = stream == StreamId::MAIN || self.forked.get(place).copied().unwrap_or(false);
        Event { clock, is_of_main }
    }

    /// Final copies that the signature stands for: on the main stream, before the output and the joins of the mode.
    fn copies(&mut self, rules: Rules, storages: &mut Storages<'_>) {
        let finals: Vec<(NodeId, u32)> = storages.finals().iter().map(|(_, value, number)| (*value, *number)).collect();
        for (value, number) in finals {
            let mut clock = self.current.first().map_or_else(Vec::new, |(clock, _)| clock.clone());
            if rules == Rules::MaxAutotune {
                self.raise_by(&mut clock, value);
            }
            let clock = self.store(&clock);
            let step = self.next(StreamId::MAIN, clock);
            self.finals.push((number, step));
        }
    }

    // Captured graphs.

    fn captured(&mut self, node: NodeId, kind: NodeKind) {
        let stream = self.streams.stream(node);
        if kind == NodeKind::Output {
            let main = self.given(StreamId::MAIN).clock;
            let behind = |s: &usize| main.get(*s) < self.counts.get(*s);
            let unjoined = (1..self.width).filter(behind).filter_map(|s| u32::try_from(s).ok().map(StreamId));
            self.unjoined = unjoined.collect();
            return;
        }
        let Some(operator) = stream_operator(self.view.target(node)).filter(|o| !o.computes()) else {
            if stream != StreamId::MAIN && self.forked.get(stream.0 as usize) == Some(&false) {
                self.unforked.push((stream, node));
                if let Some(forked) = self.forked.get_mut(stream.0 as usize) {
                    *forked = true;
                }
            }
            let clock = self.number(stream);
            let step = self.next(stream, clock);
            self.steps.insert(node, step);
            return;
        };
        match self.streams.action(self.view, node, operator) {
            None => self.unclear.push(node),
            Some(action) => self.act(node, stream, action),
        }
    }

    fn act(&mut self, node: NodeId, stream: StreamId, action: Action) {
        let on = |on: On| match on {
            On::Current => Some(stream),
            On::Stream(other) => Some(other),
            On::Outside => None,
        };
        match action {
            Action::Record => {
                let event = self.given(stream);
                self.records.insert(node, event);
            }
            Action::Wait(items) => {
                for item in items {
                    let event = match (self.records.get(&item), self.steps.get(&item)) {
                        (Some(event), _) => event.clone(),
                        (None, Some(step)) => {
                            let own = step.stream;
                            let is_of_main =
                                own == StreamId::MAIN || self.forked.get(own.0 as usize).copied().unwrap_or(false);
                            Event { clock: self.after(*step), is_of_main }
                        }
                        (None, None) => continue,
                    };
                    self.wait(stream, &event);
                }
            }
            Action::TaggedRecord(tag, place) => {
                self.note(&tag, node);
                let event = on(place).map(|s| self.given(s)).unwrap_or_default();
                self.tagged.insert(tag, event);
            }
            Action::TaggedWait(tag, place) => {
                self.note(&tag, node);
                if let (Some(stream), Some(event)) = (on(place), self.tagged.get(&tag).cloned()) {
                    self.wait(stream, &event);
                }
            }
            Action::StreamWaits(first, second) => {
                if let (Some(first), Some(second)) = (on(first), on(second)) {
                    let event = self.given(second);
                    self.wait(first, &event);
                }
            }
            Action::Keep(value, label) => {
                if let Some(stream) = self.streams.labelled(&label) {
                    self.kept.push((value, stream));
                }
            }
            Action::Nothing => {}
        }
    }

    fn wait(&mut self, stream: StreamId, event: &Event) {
        self.learn(stream, &event.clock);
        if let Some(forked) = self.forked.get_mut(stream.0 as usize) {
            *forked |= event.is_of_main;
        }
    }

    fn note(&mut self, tag: &Tag, node: NodeId) {
        if tag.is_compilers {
            self.has_compilers_events = true;
        } else if self.tags_seen.insert(tag.name.clone()) {
            self.tags.push((tag.name.clone(), node));
        }
    }

    // GE graphs.

    fn compiled(&mut self, node: NodeId, kind: NodeKind, does: &Does, storages: &mut Storages<'_>) {
        let member = self.streams.member(node);
        let operator = stream_operator(self.view.target(node)).filter(|_| kind == NodeKind::Call);
        if let Some(operator) = operator.filter(|o| !o.computes()) {
            match self.streams.action(self.view, node, operator) {
                None => self.unclear.push(node),
                Some(Action::Record) => {
                    let clock = self.last.get(&member.outer).map(|(done, _)| self.done(done)).unwrap_or_default();
                    self.records.insert(node, Event { clock, is_of_main: false });
                }
                Some(Action::Wait(items)) => {
                    self.is_exact = false;
                    self.wait_compiled(member.outer, &items, storages);
                }
                Some(_) => {}
            }
            return;
        }
        let passed = self.passed(node);
        let launches = does.launches || kind == NodeKind::Output;
        self.make_views(node, &passed, storages);
        if launches {
            self.learn(member.inner, &passed);
            // Nothing is made for the output but what gives its operands: what still waits there is lost.
            let waiting = self.waiting.remove(&member.outer).filter(|_| kind == NodeKind::Call);
            for waiting in waiting.unwrap_or_default() {
                if !waiting.lost && waiting.passed.is_none_or(|s| s == member.inner) {
                    self.learn(member.inner, &waiting.clock);
                }
            }
            let clock = self.number(member.inner);
            let step = self.next(member.inner, clock);
            self.steps.insert(node, step);
            self.passes.insert(node, Passes::Itself(step));
            self.last.insert(member.outer, (Done::Step(step), member.inner));
            return;
        }
        let mut clock = passed.clone();
        if let Some((own, _)) = self.current.get(member.inner.0 as usize) {
            raise(&mut clock, own);
        }
        let clock = self.store(&clock);
        let step = self.next(member.inner, clock);
        self.steps.insert(node, step);
        // Where all before it on its stream is done with its operands, nothing is claimed of others by counting it in.
        let mut passed = passed;
        if let Some(own) = passed.get_mut(member.inner.0 as usize).filter(|own| own.saturating_add(1) >= step.position)
        {
            *own = (*own).max(step.position);
        }
        let operands = self.store(&passed);
        self.passes.insert(node, Passes::Operands(operands));
        if does.touches.is_empty() && !does.opaque && !does.allocates {
            // An item of a tuple: nothing is made for it.
            return;
        }
        self.is_exact = false;
        for waiting in self.waiting.get_mut(&member.outer).into_iter().flatten() {
            waiting.lost |= waiting.passed.is_some_and(|s| s != member.inner);
            waiting.passed = Some(member.inner);
        }
        // A record behind it names it or what stood before: on one stream the latter is done either way.
        let both = match self.last.get(&member.outer) {
            Some((done, stream)) if *stream != member.inner => {
                let mut both = self.done(done);
                lower_to(&mut both, &self.after(step));
                Some((Done::Clock(both), *stream))
            }
            _ => None,
        };
        if let Some(both) = both {
            self.last.insert(member.outer, both);
        }
    }

    /// What the operands of a node pass to it.
    fn passed(&self, node: NodeId) -> Clock {
        let mut clock = vec![0; self.width];
        let args = self.view.args(node).iter().chain(self.view.kwargs(node).iter().map(|(_, a)| a));
        for operand in args.flat_map(Arg::nodes) {
            self.raise_by(&mut clock, operand);
        }
        clock
    }

    /// Raises a clock by what a node passes to those that use it.
    fn raise_by(&self, clock: &mut [u32], operand: NodeId) {
        match self.passes.get(&operand) {
            Some(Passes::Itself(step)) => {
                raise(clock, clock_at(&self.clocks, self.width, step.clock));
                if let Some(own) = clock.get_mut(step.stream.0 as usize) {
                    *own = (*own).max(step.position);
                }
            }
            Some(Passes::Operands(number)) => {
                raise(clock, clock_at(&self.clocks, self.width, *number));
            }
            None => {}
        }
    }

    /// A step on the main stream in which views that the node uses may be made: behind what passes to them, not behind waits.
    fn make_views(&mut self, node: NodeId, passed: &[u32], storages: &mut Storages<'_>) {
        let args = self.view.args(node).iter().chain(self.view.kwargs(node).iter().map(|(_, a)| a));
        let mut operands = args.flat_map(Arg::nodes);
        let uses_view = operands.any(|n| {
            let home = storages.home(place_of(self.view, n));
            home.iter().any(|s| !matches!(s, Shares::Same(_)))
        });
        if !uses_view {
            return;
        }
        let mut clock = passed.to_vec();
        if let Some((main, _)) = self.current.first() {
            raise(&mut clock, main);
        }
        let clock = self.store(&clock);
        let step = self.next(StreamId::MAIN, clock);
        self.made.insert(node, step);
    }

    fn wait_compiled(&mut self, outer: StreamId, items: &[NodeId], storages: &mut Storages<'_>) {
        let mut clock = vec![0; self.width];
        for item in items {
            match self.records.get(item) {
                Some(event) => {
                    raise(&mut clock, &event.clock);
                }
                None => {
                    if let Some(step) = self.maker(*item, storages) {
                        raise(&mut clock, &self.after(step));
                    }
                }
            }
        }
        let waiting = self.waiting.entry(outer).or_default();
        match waiting.last_mut().filter(|w| w.passed.is_none()) {
            Some(last) => {
                raise(&mut last.clock, &clock);
            }
            None => waiting.push(Waiting { clock, passed: None, lost: false }),
        }
    }

    /// The step that surely makes a tensor, behind its items and views.
    fn maker(&self, node: NodeId, storages: &mut Storages<'_>) -> Option<Step> {
        let mut place: Place = place_of(self.view, node);
        // A chain of views is as long as the list at most; wait on tensors of long chains are not common, one bound for all.
        for _ in 0..MAX_CHAIN {
            if let Some(Passes::Itself(step)) = self.passes.get(&place.node) {
                return Some(*step);
            }
            place = storages.parent(place)?.place();
        }
        None
    }
}

/// How long a chain of views is followed from a tensor that is waited for.
const MAX_CHAIN: usize = 64;
