//! Editing a graph: the second half of the contract's interface `graph`.

use engine::sandbox::wit::{self, Host as _};

use crate::editor::{refused, stopped, with};
use crate::handles::Id;
use crate::status::{Failure, Status, call};
use crate::texts::{Text, give, list, option, place, text};
use crate::types::{Args, NamedArgs, Nodes};

/// What a place in a graph is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointKind {
    /// Right before `node`.
    Before = 0,
    /// Right after `node`.
    After = 1,
    /// After the placeholders of `graph`.
    Start = 2,
    /// Before the output of `graph`.
    End = 3,
}

/// A place in a graph.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// A `PointKind`.
    pub kind: u32,
    /// A graph.
    pub graph: u32,
    /// A node.
    pub node: u64,
}

impl Point {
    fn take(self) -> Result<wit::Point, Failure> {
        match self.kind {
            k if k == PointKind::Before as u32 => Ok(wit::Point::Before(self.node)),
            k if k == PointKind::After as u32 => Ok(wit::Point::After(self.node)),
            k if k == PointKind::Start as u32 => Ok(wit::Point::Start(self.graph)),
            k if k == PointKind::End as u32 => Ok(wit::Point::End(self.graph)),
            other => Err(Failure::input(format!("{other} is no kind of point"))),
        }
    }
}

/// A call to insert.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NewNode {
    /// Where.
    pub at: Point,
    /// The operator.
    pub target: Text,
    /// Positional arguments.
    pub args: Args,
    /// Keyword arguments.
    pub kwargs: NamedArgs,
    /// A wish, or null.
    pub name: Text,
}

impl NewNode {
    /// # Safety
    ///
    /// Texts and lists are the caller's.
    unsafe fn take(&self) -> Result<wit::NewNode, Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            Ok(wit::NewNode {
                at: self.at.take()?,
                target: text(self.target, "target")?.to_owned(),
                args: self.args.take()?,
                kwargs: self.kwargs.take()?,
                name: option(self.name, "name")?.map(str::to_owned),
            })
        }
    }
}

/// Which edit of a batch it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditKind {
    /// `insert`.
    Insert = 0,
    /// `node`, `args`, `kwargs`.
    SetArgs = 1,
    /// `node`, `target`.
    SetTarget = 2,
    /// `node` by `other`, in all users.
    ReplaceUses = 3,
    /// `node` by `other`, in `users`.
    ReplaceUsesIn = 4,
    /// `node` to `to`.
    MoveNode = 5,
    /// `node`.
    Erase = 6,
    /// `node`, `key`, `value` (null: the note goes).
    Annotate = 7,
}

/// One edit of a batch. It means what the function of the same name means.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// An `EditKind`, which says which of the others count.
    pub kind: u32,
    /// A call to insert.
    pub insert: NewNode,
    /// The node that is edited.
    pub node: u64,
    /// Another node.
    pub other: u64,
    /// Positional arguments.
    pub args: Args,
    /// Keyword arguments.
    pub kwargs: NamedArgs,
    /// An operator.
    pub target: Text,
    /// Users.
    pub users: Nodes,
    /// A place.
    pub to: Point,
    /// A note's key.
    pub key: Text,
    /// A note.
    pub value: Text,
}

impl Edit {
    /// # Safety
    ///
    /// Texts and lists are the caller's.
    unsafe fn take(&self) -> Result<wit::Edit, Failure> {
        // SAFETY: the caller's promise.
        unsafe {
            Ok(match self.kind {
                k if k == EditKind::Insert as u32 => wit::Edit::Insert(self.insert.take()?),
                k if k == EditKind::SetArgs as u32 => {
                    wit::Edit::SetArgs((self.node, self.args.take()?, self.kwargs.take()?))
                }
                k if k == EditKind::SetTarget as u32 => {
                    wit::Edit::SetTarget((self.node, text(self.target, "target")?.to_owned()))
                }
                k if k == EditKind::ReplaceUses as u32 => wit::Edit::ReplaceUses((self.node, self.other)),
                k if k == EditKind::ReplaceUsesIn as u32 => {
                    let users = list(self.users.items, self.users.len, "users")?.to_vec();
                    wit::Edit::ReplaceUsesIn((self.node, self.other, users))
                }
                k if k == EditKind::MoveNode as u32 => wit::Edit::MoveNode((self.node, self.to.take()?)),
                k if k == EditKind::Erase as u32 => wit::Edit::Erase(self.node),
                k if k == EditKind::Annotate as u32 => {
                    let value = option(self.value, "value")?.map(str::to_owned);
                    wit::Edit::Annotate((self.node, text(self.key, "key")?.to_owned(), value))
                }
                other => return Err(Failure::input(format!("{other} is no kind of edit"))),
            })
        }
    }
}

/// Inserts a call. Its type is inferred from its arguments.
///
/// # Safety
///
/// `insert` points to a call whose texts and lists are there; `node` points to a place for a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_insert(editor: Id, insert: *const NewNode, node: *mut u64) -> Status {
    call(|| {
        place(node, "node")?;
        place(insert.cast_mut(), "insert")?;
        // SAFETY: not null, and the caller's promise.
        let new = unsafe { insert.read_unaligned().take() }?;
        let made = with(editor, |calls, _| calls.call(|host| host.insert(new)).map_err(stopped)?.map_err(refused))?;
        // SAFETY: a place for it, as the caller promises.
        unsafe { give(node, made, "node") }
    })
}

/// Replaces all arguments of a call or of the output.
///
/// # Safety
///
/// Lists and their texts are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_set_args(editor: Id, node: u64, args: Args, kwargs: NamedArgs) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (args, kwargs) = unsafe { (args.take()?, kwargs.take()?) };
        with(editor, |calls, _| calls.call(|host| host.set_args(node, args, kwargs)).map_err(stopped)?.map_err(refused))
    })
}

/// Replaces the operator of a call, keeping its arguments.
///
/// # Safety
///
/// `target` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_set_target(editor: Id, node: u64, target: Text) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let target = unsafe { text(target, "target") }?.to_owned();
        with(editor, |calls, _| calls.call(|host| host.set_target(node, target)).map_err(stopped)?.map_err(refused))
    })
}

/// Makes users of `old` use `other` instead: all of them where `only_in` is null, else the `len` users that it lists. `changed` may be null.
///
/// # Safety
///
/// Where `only_in` is not null there are `len` nodes; `changed` is null or points to a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_replace_uses(
    editor: Id,
    old: u64,
    other: u64,
    only_in: *const u64,
    len: usize,
    changed: *mut u32,
) -> Status {
    call(|| {
        let users = match only_in.is_null() {
            true if len > 0 => return Err(Failure::null("only_in")),
            true => None,
            // SAFETY: the caller's promise.
            false => Some(unsafe { list(only_in, len, "only_in") }?.to_vec()),
        };
        let count = with(editor, |calls, _| {
            calls.call(|host| host.replace_uses(old, other, users)).map_err(stopped)?.map_err(refused)
        })?;
        match changed.is_null() {
            true => Ok(()),
            // SAFETY: a place for it, as the caller promises.
            false => unsafe { give(changed, count, "changed") },
        }
    })
}

/// Moves a call elsewhere in its graph.
#[unsafe(no_mangle)]
pub extern "C" fn airlock_graph_move_node(editor: Id, node: u64, to: Point) -> Status {
    call(|| {
        let to = to.take()?;
        with(editor, |calls, _| calls.call(|host| host.move_node(node, to)).map_err(stopped)?.map_err(refused))
    })
}

/// Removes a call or a get-attr that has no users.
#[unsafe(no_mangle)]
pub extern "C" fn airlock_graph_erase(editor: Id, node: u64) -> Status {
    call(|| with(editor, |calls, _| calls.call(|host| host.erase(node)).map_err(stopped)?.map_err(refused)))
}

/// Writes a note on a node, or with null removes it.
///
/// # Safety
///
/// `key` and `value` are texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_annotate(editor: Id, node: u64, key: Text, value: Text) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let (key, value) = unsafe { (text(key, "key")?.to_owned(), option(value, "value")?.map(str::to_owned)) };
        with(editor, |calls, _| calls.call(|host| host.annotate(node, key, value)).map_err(stopped)?.map_err(refused))
    })
}

/// Makes all edits in order, or none of them; gives the new nodes, one for each `insert`. Wherever a batch names a node, 2^63 + i is the node
/// that its i-th `insert` (from 0) made. `made` may be null.
///
/// # Safety
///
/// There are `len` edits at `edits`, with their texts and lists; `made` is null or points to a place for a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_graph_apply(editor: Id, edits: *const Edit, len: usize, made: *mut Nodes) -> Status {
    call(|| {
        // SAFETY: the caller's promise.
        let edits = unsafe { list(edits, len, "edits") }?;
        // SAFETY: the caller's promise.
        let edits = edits.iter().map(|edit| unsafe { edit.take() }).collect::<Result<Vec<_>, _>>()?;
        let nodes = with(editor, |calls, arena| {
            let answer = calls.call(|host| host.apply(edits)).map_err(stopped)?;
            let nodes = answer.map_err(|refusal| Failure::refused(refusal.error, Some(refusal.index)))?;
            Ok(Nodes::give(nodes, arena))
        })?;
        match made.is_null() {
            true => Ok(()),
            // SAFETY: a place for it, as the caller promises.
            false => unsafe { give(made, nodes, "made") },
        }
    })
}
