//! Edits on their way from the guest to the editor.

use super::super::bindings::airlock::pass::graph as wit;
use super::super::bindings::airlock::pass::types::{Arg as WitArg, EditCode, EditError, NamedArg};
use super::super::store::Stop;
use super::args::Words;
use super::state::{refused, stale};
use crate::editor::{Edit, NewCall, Point};
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View};

/// Names and keys beyond this many bytes are refused.
const MAX_NAME_BYTES: usize = 256;

/// Keyword arguments beyond this many are refused: no schema has as many.
pub(in super::super) const MAX_KWARGS: usize = 256;

/// In a batch, ids from here on are its own new nodes.
const FIRST_NEW: u64 = 1 << 63;

/// What an edit keeps in host memory beside its arguments: a row, a link, a name, an entry of the log; derived types.
pub(in super::super) const EDIT_BYTES: u64 = 512;

/// Positional and keyword arguments.
type NewArgs = (Vec<Arg>, Vec<(String, Arg)>);

/// Reads what guests send. Ids of nodes are looked at here only for their form: the editor knows which are alive.
pub(super) struct Reader<'a> {
    pub(super) graph: &'a Graph,
    pub(super) words: &'a Words,
    /// Whether ids from 2^63 on mean something.
    pub(super) in_batch: bool,
}

impl Reader<'_> {
    pub(super) fn node(&self, id: u64) -> Result<NodeId, EditError> {
        if let Some(node) = NodeId::from_bits(id) {
            return Ok(node);
        }
        let position = id.checked_sub(FIRST_NEW).and_then(|p| u32::try_from(p).ok());
        position.filter(|_| self.in_batch).map(NodeId::new_in_batch).ok_or_else(|| stale(id))
    }

    pub(super) fn point(&self, point: &wit::Point) -> Result<Point, EditError> {
        Ok(match *point {
            wit::Point::Before(n) => Point::Before(self.node(n)?),
            wit::Point::After(n) => Point::After(self.node(n)?),
            wit::Point::Start(g) => Point::Start(self.body(g)?),
            wit::Point::End(g) => Point::End(self.body(g)?),
        })
    }

    fn body(&self, g: u32) -> Result<BodyId, EditError> {
        let body = BodyId(g);
        let exists = self.graph.first(body).is_some();
        if exists { Ok(body) } else { Err(refused(EditCode::NotAllowed, None, format!("there is no sub-graph {g}"))) }
    }

    pub(super) fn call(&self, new: wit::NewNode) -> Result<(Point, NewCall), EditError> {
        let at = self.point(&new.at)?;
        if let Some(name) = &new.name {
            check_name(name)?;
        }
        let args = self.args(new.args, &[])?;
        let kwargs = self.kwargs(new.kwargs, &|_| None)?;
        Ok((at, NewCall { target: new.target, args, kwargs, name: new.name }))
    }

    /// Reads the new arguments of a node. Those of an output are put into the container that it returns.
    pub(super) fn new_args(&self, n: NodeId, args: Vec<WitArg>, kwargs: Vec<NamedArg>) -> Result<NewArgs, EditError> {
        if !self.graph.contains(n) {
            // A node that this batch makes, or none: the editor will tell.
            return Ok((self.args(args, &[])?, self.kwargs(kwargs, &|_| None)?));
        }
        let args = self.args(args, super::columns::args_of(self.graph, n))?;
        let args = match (self.graph.kind(n), self.graph.args(n)) {
            (NodeKind::Output, [Arg::Tuple(_)]) => vec![Arg::Tuple(args.into())],
            (NodeKind::Output, [Arg::List(_)]) => vec![Arg::List(args.into())],
            _ => args,
        };
        let kwargs = self.kwargs(kwargs, &|name| self.graph.kwarg(n, name))?;
        Ok((args, kwargs))
    }

    fn args(&self, args: Vec<WitArg>, old: &[Arg]) -> Result<Vec<Arg>, EditError> {
        let mut read = Vec::with_capacity(args.len());
        for (position, arg) in args.into_iter().enumerate() {
            let named = |e| about(e, || position.to_string());
            read.push(self.words.take(arg, old.get(position), &mut |id| self.node(id)).map_err(named)?);
        }
        Ok(read)
    }

    fn kwargs<'b>(
        &self,
        kwargs: Vec<NamedArg>,
        old: &dyn Fn(&str) -> Option<&'b Arg>,
    ) -> Result<Vec<(String, Arg)>, EditError> {
        if kwargs.len() > MAX_KWARGS {
            let message = format!("{} keyword arguments, at most {MAX_KWARGS} are possible", kwargs.len());
            return Err(refused(EditCode::BadArgument, None, message));
        }
        let mut read: Vec<(String, Arg)> = Vec::with_capacity(kwargs.len());
        for NamedArg { name, value } in kwargs {
            check_name(&name)?;
            let named = |e| about(e, || name.clone());
            let value = self.words.take(value, old(&name), &mut |id| self.node(id)).map_err(named)?;
            if read.iter().any(|(n, _)| *n == name) {
                let message = format!("the keyword argument `{name}` is given twice");
                return Err(about(refused(EditCode::BadArgument, None, message), || name.clone()));
            }
            read.push((name, value));
        }
        Ok(read)
    }

    pub(super) fn edit(&self, edit: wit::Edit) -> Result<Edit, EditError> {
        Ok(match edit {
            wit::Edit::Insert(new) => {
                let (at, call) = self.call(new)?;
                Edit::Insert(at, call)
            }
            wit::Edit::SetArgs((n, args, kwargs)) => {
                let n = self.node(n)?;
                let (args, kwargs) = self.new_args(n, args, kwargs)?;
                Edit::SetArgs(n, args, kwargs)
            }
            wit::Edit::SetTarget((n, target)) => Edit::SetTarget(self.node(n)?, target),
            wit::Edit::ReplaceUses((old, new)) => Edit::ReplaceUses(self.node(old)?, self.node(new)?),
            wit::Edit::ReplaceUsesIn((old, new, users)) => {
                let users = users.into_iter().map(|u| self.node(u)).collect::<Result<_, _>>()?;
                Edit::ReplaceUsesIn(self.node(old)?, self.node(new)?, users)
            }
            wit::Edit::MoveNode((n, to)) => Edit::Move(self.node(n)?, self.point(&to)?),
            wit::Edit::Erase(n) => Edit::Erase(self.node(n)?),
            wit::Edit::Annotate((n, key, value)) => {
                check_key(&key)?;
                Edit::Annotate(self.node(n)?, key, value)
            }
        })
    }
}

/// Returns how many bytes of host memory an edit may fill.
pub(super) fn weight_of(edit: &wit::Edit) -> u64 {
    let len = |t: &str| u64::try_from(t.len()).unwrap_or(u64::MAX);
    let more = match edit {
        wit::Edit::Insert(new) => weight_of_call(new),
        wit::Edit::SetArgs((_, args, kwargs)) => super::args::weight_of(args, kwargs),
        wit::Edit::SetTarget((_, target)) => len(target),
        wit::Edit::ReplaceUses(_) | wit::Edit::MoveNode(_) | wit::Edit::Erase(_) => 0,
        wit::Edit::ReplaceUsesIn((_, _, users)) => len_of(users),
        wit::Edit::Annotate((_, key, value)) => len(key).saturating_add(value.as_deref().map_or(0, len)),
    };
    more.saturating_add(EDIT_BYTES)
}

pub(super) fn weight_of_call(new: &wit::NewNode) -> u64 {
    let texts = new.target.len().saturating_add(new.name.as_ref().map_or(0, String::len));
    super::args::weight_of(&new.args, &new.kwargs).saturating_add(u64::try_from(texts).unwrap_or(u64::MAX))
}

pub(super) fn len_of(users: &[u64]) -> u64 {
    u64::try_from(size_of_val(users)).unwrap_or(u64::MAX)
}

/// A name of a node or of a keyword: an identifier, so that it means one thing in text, Python and GE files.
pub(in super::super) fn check_name(name: &str) -> Result<(), EditError> {
    let mut chars = name.chars();
    let begins = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if begins && name.len() <= MAX_NAME_BYTES && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    let message = format!("a name is letters, digits and `_`, at most {MAX_NAME_BYTES}, and begins with no digit");
    Err(about(refused(EditCode::BadArgument, None, message), || "name".to_string()))
}

/// Keys under which PyTorch keeps structure of its own in the metadata of a node: their values are no notes.
const PYTORCHS_KEYS: &[&str] = &[
    "custom",
    "eager_input_vals",
    "example_value",
    "from_node",
    "nn_module_stack",
    "original_aten",
    "partitioner_tag",
    "quantization_tag",
    "replay",
    "seq_nr",
    "source_fn_stack",
    "tensor_meta",
    "torch_fn",
    "unbacked_bindings",
    "val",
];

/// What keys begin with that are Airlock's own.
const OWN_KEYS: &str = "airlock.";

/// Stops a guest that would write under a key that Airlock or PyTorch reads as more than a text: it can mean no note.
pub(in super::super) fn check_reserved(key: &str) -> Result<(), Stop> {
    if key.starts_with(OWN_KEYS) {
        return Err(Stop::ReservedKey { key: OWN_KEYS, whose: "Airlock" });
    }
    match PYTORCHS_KEYS.iter().find(|k| **k == key) {
        Some(key) => Err(Stop::ReservedKey { key, whose: "PyTorch" }),
        None => Ok(()),
    }
}

/// A key of a note.
pub(in super::super) fn check_key(key: &str) -> Result<(), EditError> {
    if !key.is_empty() && key.len() <= MAX_NAME_BYTES && key.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(());
    }
    let message = format!("a key is 1 to {MAX_NAME_BYTES} printable ASCII characters without spaces");
    Err(about(refused(EditCode::BadArgument, None, message), || "key".to_string()))
}

fn about(mut error: EditError, argument: impl FnOnce() -> String) -> EditError {
    if error.argument.is_none() {
        error.argument = Some(argument());
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers() {
        for good in ["mm", "_x1", "A"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "a b", "a.b", "x\n", "\u{430}", &"a".repeat(257)] {
            assert_eq!(check_name(bad).unwrap_err().code, EditCode::BadArgument, "{bad}");
        }
    }

    #[test]
    fn a_note_never_has_a_key_that_is_read_as_structure() {
        for bad in ["airlock.form", "airlock.", "nn_module_stack", "from_node", "source_fn_stack", "custom", "torch_fn"]
        {
            assert!(matches!(check_reserved(bad), Err(Stop::ReservedKey { .. })), "{bad}");
        }
        for good in ["stack_trace", "why", "my.airlock", "airlocked"] {
            assert!(check_key(good).is_ok() && check_reserved(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn new_nodes_have_ids_in_batches_only() {
        let (graph, words) = (Graph::new(), Words::default());
        let single = Reader { graph: &graph, words: &words, in_batch: false };
        let batch = Reader { graph: &graph, words: &words, in_batch: true };
        assert_eq!(batch.node(FIRST_NEW + 3).unwrap(), NodeId::new_in_batch(3));
        assert_eq!(single.node(FIRST_NEW + 3).unwrap_err().code, EditCode::Stale);
        assert_eq!(batch.node(u64::MAX).unwrap_err().code, EditCode::Stale);
    }
}
