//! The columns of a Graph, and unchecked building and editing.
//!
//! Promises: users, names and order labels agree with the rows after every call; where a log is kept (an editor is at
//! work), every first change of a row or link saves what it overwrites. Leaves form and types to the editor.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::log::Log;
use super::names::Names;
use super::order::{self, Link, NONE};
use super::{
    Arg, BodyId, Bytes, Hearsay, Interner, Meta, NodeId, NodeKind, Operands, Row, Signature, StrId, Users, ValueType,
    View,
};
use crate::sym::{ExprId, KeyedMap, Range, Symbols};

/// A body: the graph itself or a sub-graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Body {
    pub(crate) name: StrId,
    pub(crate) parent: Option<BodyId>,
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) len: usize,
}

/// How inputs lie of which nobody states strides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputLayout {
    /// Row by row: an assumption, which verdicts name.
    #[default]
    Contiguous,
    /// In any way: nothing that strides decide is known of them.
    Any,
}

/// An FX graph with its sub-graphs.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Texts: targets, names, keywords, annotations.
    pub texts: Interner,
    /// Symbolic sizes and their ranges.
    pub symbols: Symbols,
    /// Symbols in the order in which the program states their ranges.
    pub range_constraints: Vec<ExprId>,
    /// The calling convention of an exported program; `None` for a bare graph module.
    pub signature: Option<Signature>,
    /// The bytes that the spans of node metadata point into.
    pub meta_source: Option<Bytes>,
    /// How inputs lie of which nobody states strides, as in a printed graph.
    pub inputs_lie: InputLayout,
    /// Whether there are inputs that lie row by row only because nobody states their strides.
    pub inputs_assumed: bool,
    /// Whether the file leaves out how values lie.
    pub layout_assumed: bool,
    pub(crate) columns: Columns,
    pub(crate) targets: Targets,
    pub(crate) bodies: Vec<Body>,
    pub(crate) names: Names,
    pub(crate) free: Vec<u32>,
    pub(crate) log: Option<Box<Log>>,
    pub(crate) checked: Option<Checked>,
}

/// That types were checked: by whom, and what was known of sizes and inputs then. Whoever changes a node takes it away.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    by: u64,
    ranges: Vec<(Box<str>, Range)>,
    inputs_lie: InputLayout,
    layout_assumed: bool,
}

/// One entry a slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Columns {
    pub(crate) generation: Vec<u32>,
    pub(crate) alive: Vec<bool>,
    pub(crate) kind: Vec<NodeKind>,
    pub(crate) target: Vec<StrId>,
    pub(crate) name: Vec<StrId>,
    pub(crate) args: Vec<Box<[Arg]>>,
    pub(crate) kwargs: Vec<Box<[(StrId, Arg)]>>,
    pub(crate) ty: Vec<ValueType>,
    pub(crate) hearsay: Vec<Hearsay>,
    pub(crate) printed: Vec<Option<StrId>>,
    pub(crate) meta: Vec<Meta>,
    #[serde(skip)]
    pub(crate) users: Vec<Users>,
    pub(crate) link: Vec<Link>,
}

/// Targets that calls have or had: never taken out, so that asking "does any call ...?" needs no walk where none ever did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Targets {
    seen: FxHashSet<StrId>,
    pub(crate) list: Vec<StrId>,
    pub(crate) names_attributes: bool,
}

impl Targets {
    pub(crate) fn add(&mut self, target: StrId) {
        if self.seen.insert(target) {
            self.list.push(target);
        }
    }
}

/// A node to be made.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// Kind.
    pub kind: NodeKind,
    /// Target, without `torch.ops.`.
    pub target: StrId,
    /// Positional arguments.
    pub args: Box<[Arg]>,
    /// Keyword arguments.
    pub kwargs: Box<[(StrId, Arg)]>,
    /// Type.
    pub ty: ValueType,
}

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

fn put<T>(column: &mut Vec<T>, slot: usize, value: T) {
    match column.get_mut(slot) {
        Some(old) => *old = value,
        None => column.push(value),
    }
}

impl Columns {
    pub(crate) fn set_row(&mut self, slot: usize, row: Row) {
        put(&mut self.kind, slot, row.kind);
        put(&mut self.target, slot, row.target);
        put(&mut self.name, slot, row.name);
        put(&mut self.args, slot, row.args);
        put(&mut self.kwargs, slot, row.kwargs);
        put(&mut self.ty, slot, row.ty);
        put(&mut self.hearsay, slot, row.hearsay);
        put(&mut self.printed, slot, row.printed);
        put(&mut self.meta, slot, row.meta);
    }

    pub(crate) fn row(&self, slot: usize) -> Option<Row> {
        Some(Row {
            kind: *self.kind.get(slot)?,
            target: *self.target.get(slot)?,
            name: *self.name.get(slot)?,
            args: self.args.get(slot)?.clone(),
            kwargs: self.kwargs.get(slot)?.clone(),
            ty: self.ty.get(slot)?.clone(),
            hearsay: *self.hearsay.get(slot)?,
            printed: *self.printed.get(slot)?,
            meta: self.meta.get(slot)?.clone(),
        })
    }
}

impl Graph {
    /// Returns a graph with one empty body.
    pub fn new() -> Self {
        let mut texts = Interner::default();
        let name = texts.intern("GraphModule");
        Self {
            texts,
            symbols: Symbols::default(),
            range_constraints: Vec::new(),
            signature: None,
            meta_source: None,
            inputs_lie: InputLayout::default(),
            inputs_assumed: false,
            layout_assumed: false,
            columns: Columns::default(),
            targets: Targets::default(),
            bodies: vec![Body { name, parent: None, head: NONE, tail: NONE, len: 0 }],
            names: Names::default(),
            free: Vec::new(),
            log: None,
            checked: None,
        }
    }

    /// Notes that the rules of that number gave every type, and found nothing wrong.
    pub(crate) fn note_checked(&mut self, by: u64) {
        let ranges = self.symbols.symbols().map(|(name, range)| (name.into(), range)).collect();
        let (inputs_lie, layout_assumed) = (self.inputs_lie, self.layout_assumed);
        self.checked = Some(Checked { by, ranges, inputs_lie, layout_assumed });
    }

    /// Returns whether the rules of that number gave every type, and nothing that they look at is another since. Symbols may have been added.
    pub(crate) fn is_checked(&self, by: u64) -> bool {
        let holds = |c: &Checked| {
            let own = self.symbols.symbols().take(c.ranges.len());
            c.by == by
                && (c.inputs_lie, c.layout_assumed) == (self.inputs_lie, self.layout_assumed)
                && c.ranges.iter().map(|(name, range)| (&**name, *range)).eq(own)
        };
        self.checked.as_ref().is_some_and(holds)
    }

    /// Notes that something is no longer as it was checked.
    pub(super) fn forget_checks(&mut self) {
        self.checked = None;
    }

    /// Adds an empty sub-graph of that name under `parent`.
    pub fn add_body(&mut self, parent: BodyId, name: &str) -> BodyId {
        let id = BodyId(u32::try_from(self.bodies.len()).unwrap_or(u32::MAX));
        let name = self.texts.intern(name);
        self.bodies.push(Body { name, parent: Some(parent), head: NONE, tail: NONE, len: 0 });
        id
    }

    /// Gives a body another name.
    pub fn set_body_name(&mut self, body: BodyId, name: &str) {
        let name = self.texts.intern(name);
        self.change_body(body, |b| b.name = name);
    }

    /// Appends a node with exactly that name (a taken one is made free as FX does). Form and types are not checked.
    pub fn push(&mut self, body: BodyId, name: &str, node: NewNode) -> NodeId {
        self.insert(body, None, name, node)
    }

    /// Appends a node with a free name made of `wanted`. Form and types are not checked.
    pub fn push_free(&mut self, body: BodyId, wanted: &str, node: NewNode) -> NodeId {
        let name = self.take_free(body, wanted);
        self.insert_named(body, None, name, node)
    }

    /// Inserts a node before `before` (`None`: at the end). Form and types are not checked.
    pub fn insert(&mut self, body: BodyId, before: Option<NodeId>, name: &str, node: NewNode) -> NodeId {
        let name = self.take_name(body, name);
        self.insert_named(body, before, name, node)
    }

    fn insert_named(&mut self, body: BodyId, before: Option<NodeId>, name: StrId, node: NewNode) -> NodeId {
        self.forget_checks();
        let slot = self.free.pop().unwrap_or(u32::try_from(self.columns.alive.len()).unwrap_or(NONE));
        let generation = self.columns.generation.get(slot as usize).copied().unwrap_or(0);
        let id = NodeId { index: slot, generation };
        if let Some(log) = &mut self.log {
            log.inserted.insert(slot);
        }
        let place = id.slot();
        put(&mut self.columns.generation, place, generation);
        put(&mut self.columns.alive, place, true);
        let NewNode { kind, target, args, kwargs, ty } = node;
        match kind {
            NodeKind::Call => self.targets.add(target),
            NodeKind::GetAttr => self.targets.names_attributes = true,
            NodeKind::Placeholder | NodeKind::Output => {}
        }
        // Until a rule was asked, what a call's annotation says is somebody's word.
        let hearsay = if kind == NodeKind::Call { Hearsay::TOLD } else { Hearsay::NONE };
        let (printed, meta) = (None, Meta::default());
        self.columns.set_row(place, Row { kind, target, name, args, kwargs, ty, hearsay, printed, meta });
        put(&mut self.columns.users, place, Users::default());
        put(&mut self.columns.link, place, Link { previous: NONE, next: NONE, label: 0, body });
        self.names.put(body, name, id);
        self.link_before(id, body, before);
        self.count_uses(id, Users::add);
        id
    }

    /// Replaces arguments.
    pub fn set_args(&mut self, id: NodeId, args: Box<[Arg]>, kwargs: Box<[(StrId, Arg)]>) {
        if !self.contains(id) {
            return;
        }
        self.forget_checks();
        self.save_row(id);
        self.count_uses(id, Users::remove);
        put(&mut self.columns.args, id.slot(), args);
        put(&mut self.columns.kwargs, id.slot(), kwargs);
        self.count_uses(id, Users::add);
    }

    /// Replaces the target.
    pub fn set_target(&mut self, id: NodeId, target: StrId) {
        if self.contains(id) {
            self.forget_checks();
            self.save_row(id);
            self.targets.add(target);
            put(&mut self.columns.target, id.slot(), target);
        }
    }

    /// Replaces the type; the annotation that was read no longer holds.
    pub fn set_type(&mut self, id: NodeId, ty: ValueType) {
        if self.contains(id) && self.columns.ty.get(id.slot()) != Some(&ty) {
            self.forget_checks();
            self.save_row(id);
            put(&mut self.columns.ty, id.slot(), ty);
            put(&mut self.columns.printed, id.slot(), None);
        }
    }

    /// Says what of the type is somebody's word.
    pub fn set_hearsay(&mut self, id: NodeId, hearsay: Hearsay) {
        if self.contains(id) && self.columns.hearsay.get(id.slot()) != Some(&hearsay) {
            self.forget_checks();
            self.save_row(id);
            put(&mut self.columns.hearsay, id.slot(), hearsay);
        }
    }

    /// Keeps the annotation as it was read.
    pub fn set_printed(&mut self, id: NodeId, text: Option<StrId>) {
        if self.contains(id) {
            self.save_row(id);
            put(&mut self.columns.printed, id.slot(), text);
        }
    }

    /// Replaces the metadata.
    pub fn set_meta(&mut self, id: NodeId, meta: Meta) {
        if self.contains(id) {
            self.save_row(id);
            put(&mut self.columns.meta, id.slot(), meta);
        }
    }

    /// Gives the node another name (a taken one is made free as FX does).
    pub fn rename(&mut self, id: NodeId, name: &str) {
        let (Some(link), Some(&old)) = (self.link(id), self.columns.name.get(id.slot())) else {
            return;
        };
        self.save_row(id);
        self.names.give_back(link.body, old, &self.texts);
        let name = self.take_name(link.body, name);
        self.names.put(link.body, name, id);
        put(&mut self.columns.name, id.slot(), name);
    }

    /// Moves a node before `before` (`None`: to the end) in the same body.
    pub fn move_before(&mut self, id: NodeId, before: Option<NodeId>) {
        if before == Some(id) {
            return;
        }
        if let Some(link) = self.link(id) {
            self.forget_checks();
            self.unlink(id);
            self.link_before(id, link.body, before);
        }
    }

    /// Takes a node out of its body. Its uses of others end; uses of it are the caller's to have ended.
    pub fn remove(&mut self, id: NodeId) {
        let (Some(link), Some(&name)) = (self.link(id), self.columns.name.get(id.slot())) else {
            return;
        };
        self.forget_checks();
        self.save_row(id);
        self.count_uses(id, Users::remove);
        self.names.give_back(link.body, name, &self.texts);
        self.unlink(id);
        put(&mut self.columns.alive, id.slot(), false);
        match &mut self.log {
            Some(log) => log.erased.push(id.index),
            None => self.recycle(id.index),
        }
    }

    pub(crate) fn recycle(&mut self, slot: u32) {
        let place = slot as usize;
        if let Some(generation) = self.columns.generation.get_mut(place) {
            // A slot whose generations are used up is never given out again.
            if *generation < u32::MAX >> 1 {
                *generation = generation.saturating_add(1);
                self.free.push(slot);
            }
        }
        put(&mut self.columns.args, place, Box::default());
        put(&mut self.columns.kwargs, place, Box::default());
        put(&mut self.columns.ty, place, ValueType::Unknown);
        put(&mut self.columns.meta, place, Meta::default());
        put(&mut self.columns.users, place, Users::default());
    }

    /// Returns a name that is free in the body, made of `wanted` as FX makes it: legal in Python, with a number where it is taken.
    pub fn free_name(&mut self, body: BodyId, wanted: &str) -> String {
        let (id, _, _) = self.names.free(body, wanted, &mut self.texts);
        self.texts.text(id).to_string()
    }

    fn take_name(&mut self, body: BodyId, wanted: &str) -> StrId {
        // A name that was read stands as it is, reserved or not, as long as it is free.
        if let Some(id) = self.texts.find(wanted)
            && !self.names.is_taken(body, id)
            && self.log.is_none()
        {
            return id;
        }
        if self.log.is_none() {
            let id = self.texts.intern(wanted);
            if !self.names.is_taken(body, id) {
                return id;
            }
        }
        self.take_free(body, wanted)
    }

    fn take_free(&mut self, body: BodyId, wanted: &str) -> StrId {
        let (id, base, count) = self.names.free(body, wanted, &mut self.texts);
        let old = self.names.counters.insert((body, base), count);
        if let Some(log) = &mut self.log {
            log.counters.entry((body, base)).or_insert(old);
        }
        id
    }

    pub(crate) fn count_uses(&mut self, id: NodeId, change: fn(&mut Users, NodeId)) {
        let Columns { args, kwargs, users, .. } = &mut self.columns;
        let (Some(args), Some(kwargs)) = (args.get(id.slot()), kwargs.get(id.slot())) else {
            return;
        };
        for operand in Operands::of(args, kwargs) {
            if let Some(users) = users.get_mut(operand.slot()) {
                change(users, id);
            }
        }
    }

    pub(crate) fn save_row(&mut self, id: NodeId) {
        let Some(log) = &mut self.log else { return };
        if log.inserted.contains(&id.index) || log.rows.contains_key(&id.index) {
            return;
        }
        if let Some(row) = self.columns.row(id.slot()) {
            log.rows.insert(id.index, row);
        }
    }

    fn set_link(&mut self, slot: u32, link: Link) {
        if let Some(log) = &mut self.log
            && !log.inserted.contains(&slot)
            && let Some(old) = self.columns.link.get(slot as usize)
        {
            log.links.entry(slot).or_insert(*old);
        }
        put(&mut self.columns.link, slot as usize, link);
    }

    fn change_link(&mut self, slot: u32, change: impl FnOnce(&mut Link)) {
        if let Some(mut link) = self.columns.link.get(slot as usize).copied() {
            change(&mut link);
            self.set_link(slot, link);
        }
    }

    fn change_body(&mut self, body: BodyId, change: impl FnOnce(&mut Body)) {
        if let Some(b) = self.bodies.get_mut(body.slot()) {
            if let Some(log) = &mut self.log {
                log.bodies.entry(body).or_insert_with(|| b.clone());
            }
            change(b);
        }
    }

    fn unlink(&mut self, id: NodeId) {
        let Some(link) = self.columns.link.get(id.slot()).copied() else {
            return;
        };
        self.change_link(link.previous, |l| l.next = link.next);
        self.change_link(link.next, |l| l.previous = link.previous);
        self.change_body(link.body, |b| {
            if b.head == id.index {
                b.head = link.next;
            }
            if b.tail == id.index {
                b.tail = link.previous;
            }
            b.len = b.len.saturating_sub(1);
        });
    }

    fn link_before(&mut self, id: NodeId, body: BodyId, before: Option<NodeId>) {
        let tail = self.bodies.get(body.slot()).map_or(NONE, |b| b.tail);
        let next = before.filter(|b| self.link(*b).is_some_and(|l| l.body == body)).map_or(NONE, |b| b.index);
        let previous =
            if next == NONE { tail } else { self.columns.link.get(next as usize).map_or(NONE, |l| l.previous) };
        let label = self.room(previous, next);
        self.set_link(id.index, Link { previous, next, label, body });
        self.change_link(previous, |l| l.next = id.index);
        self.change_link(next, |l| l.previous = id.index);
        self.change_body(body, |b| {
            if next == NONE {
                b.tail = id.index;
            }
            if previous == NONE {
                b.head = id.index;
            }
            b.len = b.len.saturating_add(1);
        });
    }

    /// Returns a label between two neighbours, spreading labels where there is no room.
    fn room(&mut self, previous: u32, next: u32) -> u64 {
        let label_of = |g: &Self, slot: u32| g.columns.link.get(slot as usize).map(|l| l.label);
        for _ in 0..2 {
            if let Some(label) = order::label_between(label_of(self, previous), label_of(self, next)) {
                return label;
            }
            let at = if previous == NONE { next } else { previous };
            for (slot, label) in order::spread(at, |i| self.columns.link.get(i as usize).copied()) {
                self.change_link(slot, |l| l.label = label);
            }
        }
        label_of(self, previous).unwrap_or(0)
    }

    /// Returns a map from names to nodes of one body.
    pub fn names_of(&self, body: BodyId) -> KeyedMap<&str, NodeId> {
        self.names.of(body).map(|(name, id)| (self.texts.text(name), id)).collect()
    }
}
