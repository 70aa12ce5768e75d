//! Reading a graph: the first half of the contract's interface `graph`, one function for each of its own.

use engine::sandbox::Calls;
use engine::sandbox::wit::{self, Host as _};

use crate::arena::Arena;
use crate::editor::{refused, stopped, with};
use crate::handles::Id;
use crate::status::{Failure, Status, call};
use crate::texts::{Text, give, list, place, text};
use crate::types::{Args, Bytes, Dim, NamedArgs, Nodes, Numbers, Texts, ValueType};

/// What a node is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// An input of the graph.
    Placeholder = 0,
    /// A call of an operator.
    Call = 1,
    /// A body, a parameter or a constant.
    GetAttr = 2,
    /// What the graph returns.
    Output = 3,
}

/// A relation between two sizes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// a = b
    Equal = 0,
    /// a < b
    Less = 1,
    /// b is a multiple of a
    Divides = 2,
}

/// Asks something of a graph, and gives the answer.
///
/// # Safety
///
/// `out` is null or points to a place for a `T`.
unsafe fn read<T>(editor: Id, out: *mut T, body: impl FnOnce(&mut Calls, &mut Arena) -> Result<T, Failure>) -> Status {
    call(|| {
        place(out, "out")?;
        let given = with(editor, body)?;
        // SAFETY: not null, and the caller's promise.
        unsafe { give(out, given, "out") }
    })
}

/// The contract's answer, or why there is none.
fn answer<T>(asked: Result<Result<T, wit::EditError>, String>) -> Result<T, Failure> {
    asked.map_err(stopped)?.map_err(refused)
}

fn relation(number: u32) -> Result<wit::Relation, Failure> {
    match number {
        n if n == Relation::Equal as u32 => Ok(wit::Relation::Equal),
        n if n == Relation::Less as u32 => Ok(wit::Relation::Less),
        n if n == Relation::Divides as u32 => Ok(wit::Relation::Divides),
        other => Err(Failure::input(format!("{other} is no relation"))),
    }
}

fn kind(kind: wit::NodeKind) -> NodeKind {
    match kind {
        wit::NodeKind::Placeholder => NodeKind::Placeholder,
        wit::NodeKind::Call => NodeKind::Call,
        wit::NodeKind::GetAttr => NodeKind::GetAttr,
        wit::NodeKind::Output => NodeKind::Output,
    }
}

/// The smallest and the largest value of a size.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The smallest.
    pub smallest: i64,
    /// The largest, where `is_bounded` is 1.
    pub largest: i64,
    /// Whether there is a largest.
    pub is_bounded: u32,
}

/// A whole graph in flat lists of numbers. An operand below 2^63 is a node; else it is 2^63 plus an index into `literals`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// The nodes.
    pub ids: Nodes,
    /// Kinds, as numbers of `airlock_node_kind`.
    pub kinds: Bytes,
    /// Targets, as indices into `texts`.
    pub targets: Numbers,
    /// Where each node's positional arguments begin.
    pub starts: Numbers,
    /// Positional arguments.
    pub operands: Nodes,
    /// Where each node's keyword arguments begin.
    pub kw_starts: Numbers,
    /// Keywords, as indices into `texts`.
    pub kw_names: Numbers,
    /// Keyword arguments.
    pub kw_operands: Nodes,
    /// Arguments that are not a node.
    pub literals: Args,
    /// The texts of all ids so far.
    pub texts: Texts,
}

impl Columns {
    fn give(columns: wit::Columns, arena: &mut Arena) -> Columns {
        Columns {
            ids: Nodes::give(columns.ids, arena),
            kinds: Bytes::give(columns.kinds, arena),
            targets: Numbers::give(columns.targets, arena),
            starts: Numbers::give(columns.starts, arena),
            operands: Nodes::give(columns.operands, arena),
            kw_starts: Numbers::give(columns.kw_starts, arena),
            kw_names: Numbers::give(columns.kw_names, arena),
            kw_operands: Nodes::give(columns.kw_operands, arena),
            literals: Args::give(columns.literals, arena),
            texts: Texts::of(columns.texts, arena),
        }
    }
}

/// What a call does beside computing its results: the contract's `side-effect`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideEffect {
    /// Nothing more.
    None = 0,
    /// Raises where what it checks does not hold.
    Assert = 1,
    /// Shows something to a person.
    Print = 2,
    /// Talks with other devices.
    Collective = 3,
    /// Runs bodies.
    Control = 4,
    /// Changes the stream or scope that later calls run in, or orders streams.
    Stream = 5,
    /// Records an event.
    Record = 6,
    /// Touches caches of a device.
    Prefetch = 7,
    /// Anything: nobody described the operator.
    Opaque = 8,
}

/// How a result lies in the memory of an operand.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// It is the operand itself, or an item of it.
    Same = 0,
    /// It is a view of the operand.
    View = 1,
    /// It is one of these, or fresh.
    Maybe = 2,
}

/// An operand whose memory a result lies in.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SharedOperand {
    /// Which result, by position.
    pub result: u32,
    /// The operand, as a position in `parameters`.
    pub parameter: u32,
    /// How.
    pub how: Sharing,
}

/// What a call does. Operands are named by parameter, as positions in `parameters`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Effects {
    /// The names of the parameters by position.
    pub parameters: Texts,
    /// 1: the call is a function of its operands that leaves no trace.
    pub pure: u32,
    /// The operands whose memory is read.
    pub reads: Numbers,
    /// The operands whose memory may be written.
    pub writes: Numbers,
    /// Which results may lie in the memory of which operands.
    pub shared: *const SharedOperand,
    /// How many of these.
    pub shared_len: usize,
    /// How many results are described; where there are more, the last entry holds for the others.
    pub results: usize,
    /// 1: it may draw random numbers.
    pub draws: u32,
    /// 1: it may raise though the types of its arguments fit.
    pub may_raise: u32,
    /// What else it does.
    pub side: SideEffect,
    /// 1: operands 0 and 1 may be exchanged.
    pub commutes: u32,
}

impl Effects {
    fn give(effects: wit::Effects, arena: &mut Arena) -> Effects {
        let results = effects.results.len();
        let shared = (0u32..).zip(effects.results).flat_map(|(result, operands)| {
            operands.into_iter().map(move |operand| SharedOperand {
                result,
                parameter: operand.parameter,
                how: match operand.how {
                    wit::Sharing::Same => Sharing::Same,
                    wit::Sharing::View => Sharing::View,
                    wit::Sharing::Maybe => Sharing::Maybe,
                },
            })
        });
        let (shared, shared_len) = arena.list(shared.collect());
        Effects {
            parameters: Texts::of(effects.parameters, arena),
            pure: u32::from(effects.pure),
            reads: Numbers::give(effects.reads, arena),
            writes: Numbers::give(effects.writes, arena),
            shared,
            shared_len,
            results,
            draws: u32::from(effects.draws),
            may_raise: u32::from(effects.may_raise),
            side: match effects.side {
                wit::SideEffect::None => SideEffect::None,
                wit::SideEffect::Assert => SideEffect::Assert,
                wit::SideEffect::Print => SideEffect::Print,
                wit::SideEffect::Collective => SideEffect::Collective,
                wit::SideEffect::Control => SideEffect::Control,
                wit::SideEffect::Stream => SideEffect::Stream,
                wit::SideEffect::Record => SideEffect::Record,
                wit::SideEffect::Prefetch => SideEffect::Prefetch,
                wit::SideEffect::Opaque => SideEffect::Opaque,
            },
            commutes: u32::from(effects.commutes),
        }
    }
}

/// What several calls do: equal effects are there once.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EffectsTable {
    /// For each call that was asked for, in order, its position in `distinct`.
    pub positions: Numbers,
    /// The effects.
    pub distinct: *const Effects,
    /// How many.
    pub distinct_len: usize,
}

impl EffectsTable {
    fn give(table: wit::EffectsTable, arena: &mut Arena) -> EffectsTable {
        let positions = Numbers::give(table.positions, arena);
        let distinct = table.distinct.into_iter().map(|effects| Effects::give(effects, arena)).collect();
        let (distinct, distinct_len) = arena.list(distinct);
        EffectsTable { positions, distinct, distinct_len }
    }
}

/// All graphs: 0 first, then the bodies in the order in which they are reached.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_sub_graphs(editor: Id, out: *mut Numbers) -> Status {
    let ask = |calls: &mut Calls, arena: &mut Arena| {
        Ok(Numbers::give(calls.call(|host| host.sub_graphs()).map_err(stopped)?, arena))
    };
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The nodes of a graph in order; none for a graph that does not exist.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_nodes(editor: Id, graph: u32, out: *mut Nodes) -> Status {
    let ask = |calls: &mut Calls, arena: &mut Arena| {
        Ok(Nodes::give(calls.call(|host| host.nodes(graph)).map_err(stopped)?, arena))
    };
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The calls of a graph that have this target, in order.
///
/// # Safety
///
/// Texts are texts; `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_find(editor: Id, graph: u32, target: Text, out: *mut Nodes) -> Status {
    let ask = |calls: &mut Calls, arena: &mut Arena| {
        // SAFETY: the caller's promise.
        let target = unsafe { text(target, "target") }?.to_owned();
        Ok(Nodes::give(calls.call(|host| host.find(graph, target)).map_err(stopped)?, arena))
    };
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// What kind of node it is.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_kind(editor: Id, node: u64, out: *mut NodeKind) -> Status {
    let ask = |calls: &mut Calls, _: &mut Arena| answer(calls.call(|host| host.kind(node))).map(kind);
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The graph that the node belongs to.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_owner(editor: Id, node: u64, out: *mut u32) -> Status {
    let ask = |calls: &mut Calls, _: &mut Arena| answer(calls.call(|host| host.owner(node)));
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The node's target as a text id: equal ids are equal texts.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_target_id(editor: Id, node: u64, out: *mut u32) -> Status {
    let ask = |calls: &mut Calls, _: &mut Arena| answer(calls.call(|host| host.target_id(node)));
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The text of an id that was given out; null for others.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_text(editor: Id, id: u32, out: *mut Text) -> Status {
    let ask =
        |calls: &mut Calls, arena: &mut Arena| Ok(arena.option(calls.call(|host| host.text(id)).map_err(stopped)?));
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The node's name, unique in its graph.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_name(editor: Id, node: u64, out: *mut Text) -> Status {
    let ask = |calls: &mut Calls, arena: &mut Arena| Ok(arena.text(answer(calls.call(|host| host.name(node)))?));
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The positional arguments. An output node has one for each value that it returns.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_args(editor: Id, node: u64, out: *mut Args) -> Status {
    let ask = |calls: &mut Calls, arena: &mut Arena| Ok(Args::give(answer(calls.call(|host| host.args(node)))?, arena));
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The keyword arguments, in order.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_kwargs(editor: Id, node: u64, out: *mut NamedArgs) -> Status {
    let ask = |calls: &mut Calls, arena: &mut Arena| {
        Ok(NamedArgs::give(answer(calls.call(|host| host.kwargs(node)))?, arena))
    };
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The nodes that use this one, each once, in graph order.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_users(editor: Id, node: u64, out: *mut Nodes) -> Status {
    let ask =
        |calls: &mut Calls, arena: &mut Arena| Ok(Nodes::give(answer(calls.call(|host| host.users(node)))?, arena));
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The type of the node's value.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_type_of(editor: Id, node: u64, out: *mut ValueType) -> Status {
    let ask = |calls: &mut Calls, arena: &mut Arena| {
        Ok(ValueType::give(answer(calls.call(|host| host.type_of(node)))?, arena))
    };
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The node after this one in its graph, or 0.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_next(editor: Id, node: u64, out: *mut u64) -> Status {
    let ask = |calls: &mut Calls, _: &mut Arena| answer(calls.call(|host| host.next(node))).map(or_none);
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The node before this one in its graph, or 0.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_previous(editor: Id, node: u64, out: *mut u64) -> Status {
    let ask = |calls: &mut Calls, _: &mut Arena| answer(calls.call(|host| host.previous(node))).map(or_none);
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// 1 where `a` stands before `b`.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_is_before(editor: Id, a: u64, b: u64, out: *mut u32) -> Status {
    let ask = |calls: &mut Calls, _: &mut Arena| answer(calls.call(|host| host.is_before(a, b))).map(u32::from);
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// A note on the node, or null.
///
/// # Safety
///
/// Texts are texts; `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_annotation(editor: Id, node: u64, key: Text, out: *mut Text) -> Status {
    let ask = |calls: &mut Calls, arena: &mut Arena| {
        // SAFETY: the caller's promise.
        let key = unsafe { text(key, "key") }?.to_owned();
        Ok(arena.option(answer(calls.call(|host| host.annotation(node, key)))?))
    };
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// What is known of two sizes, `relation` an `airlock_relation`: 1 always so, 0 never so, -1 neither.
///
/// # Safety
///
/// Texts are texts; `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_known(editor: Id, a: Dim, relation: u32, b: Dim, out: *mut i32) -> Status {
    let ask = |calls: &mut Calls, _: &mut Arena| {
        // SAFETY: the caller's promise.
        let a = unsafe { a.take() }?;
        // SAFETY: the caller's promise.
        let b = unsafe { b.take() }?;
        let relation = self::relation(relation)?;
        let known = calls.call(|host| host.known(a, relation, b)).map_err(stopped)?;
        Ok(known.map_or(-1, i32::from))
    };
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// The smallest and the largest value of a size.
///
/// # Safety
///
/// Texts are texts; `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_range_of(editor: Id, a: Dim, out: *mut Range) -> Status {
    let ask = |calls: &mut Calls, _: &mut Arena| {
        // SAFETY: the caller's promise.
        let a = unsafe { a.take() }?;
        let (smallest, largest) = calls.call(|host| host.range_of(a)).map_err(stopped)?;
        Ok(Range { smallest, largest: largest.unwrap_or(0), is_bounded: u32::from(largest.is_some()) })
    };
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// Reads a whole graph.
///
/// # Safety
///
/// `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_read_columns(editor: Id, graph: u32, out: *mut Columns) -> Status {
    let ask = |calls: &mut Calls, arena: &mut Arena| {
        Ok(Columns::give(calls.call(|host| host.read_columns(graph)).map_err(stopped)?, arena))
    };
    // SAFETY: the caller's promise.
    unsafe { read(editor, out, ask) }
}

/// An id of a node, or 0 for none. A node's id is never 0.
fn or_none(node: Option<u64>) -> u64 {
    node.unwrap_or(0)
}

/// What nodes do with their arguments as they stand.
///
/// # Safety
///
/// There are `len` nodes at `nodes`; `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_effects_of(
    editor: Id,
    nodes: *const u64,
    len: usize,
    out: *mut EffectsTable,
) -> Status {
    call(|| {
        place(out, "out")?;
        // SAFETY: the caller's promise.
        let nodes = unsafe { list(nodes, len, "nodes") }?.to_vec();
        let given = with(editor, |calls, arena| {
            let table = calls.call(|host| host.effects_of(nodes)).map_err(stopped)?.map_err(refused)?;
            Ok(EffectsTable::give(table, arena))
        })?;
        // SAFETY: a place for it, as the caller promises.
        unsafe { give(out, given, "out") }
    })
}

/// What calls of operators do, the worst over all arguments that they take.
///
/// # Safety
///
/// There are `len` texts at `targets`; `out` points to a place for what is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_effects_of_target(
    editor: Id,
    targets: *const Text,
    len: usize,
    out: *mut EffectsTable,
) -> Status {
    call(|| {
        place(out, "out")?;
        // SAFETY: the caller's promise.
        let targets = unsafe { list(targets, len, "targets") }?;
        let targets = targets.iter().map(|target| {
            // SAFETY: the caller's promise.
            unsafe { text(*target, "target") }.map(str::to_owned)
        });
        let targets = targets.collect::<Result<Vec<_>, _>>()?;
        let given = with(editor, |calls, arena| {
            Ok(EffectsTable::give(calls.call(|host| host.effects_of_target(targets)).map_err(stopped)?, arena))
        })?;
        // SAFETY: a place for it, as the caller promises.
        unsafe { give(out, given, "out") }
    })
}
