//! Edits on their way from a worker to its host: a journal of what a pass asked the editor for, to be made again.
//!
//! A journal is a sequence of groups, each made whole or not at all: how many edits, whether they stood; then the edits. Refused ones are in it,
//! since they too leave texts and symbols behind: made again in the same order, everything gets the ids and names that it had.
//!
//! Promises: [`replay`] takes no more memory than the limits of the run allow, whatever the bytes are, looks at everything that the contract
//! forbids as at a guest's own words, and leaves the rest to the editor, which checks each edit again. Leaves to the caller to undo.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::host;
use crate::contract::Limits;
use crate::editor::{Edit, Editor, NewCall, Point};
use crate::graph::{Arg, BodyId, Dtype, Layout, MemoryFormat, NodeId};

/// From here on a number is a node that the group itself makes.
const FIRST_NEW: u64 = 1 << 63;

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Group {
    edits: u32,
    stands: bool,
}

/// An edit; `words` are its arguments, as [`Word`]s.
#[derive(Serialize, Deserialize)]
enum Act<'a> {
    Insert { at: At, target: &'a str, name: Option<&'a str>, words: &'a [u8] },
    SetArgs { node: u64, words: &'a [u8] },
    SetTarget { node: u64, target: &'a str },
    ReplaceUses { old: u64, new: u64 },
    ReplaceUsesIn { old: u64, new: u64, words: &'a [u8] },
    Move { node: u64, to: At },
    Erase { node: u64 },
    Annotate { node: u64, key: &'a str, value: Option<&'a str> },
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum At {
    Before(u64),
    After(u64),
    Start(u32),
    End(u32),
}

/// A part of arguments. A list says how many follow; a key says that the next is a keyword argument, or an entry of a dictionary.
#[derive(Serialize, Deserialize)]
enum Word<'a> {
    None,
    Node(u64),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    Bool(bool),
    Str(&'a str),
    Dtype(Dtype),
    Device(&'a str),
    Layout(Layout),
    MemoryFormat(MemoryFormat),
    Operator(&'a str),
    List(u32),
    Tuple(u32),
    Dict(u32),
    Key(&'a str),
    Other(&'a str),
}

/// A journal that is being written.
#[derive(Default)]
pub(super) struct Journal {
    bytes: Vec<u8>,
    words: Vec<u8>,
}

impl Journal {
    /// Returns what was written.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Notes edits that are about to be made, whole or not at all; returns where.
    pub(super) fn note(&mut self, edits: &[Edit]) -> usize {
        let Self { bytes, words } = self;
        let start = bytes.len();
        append(bytes, &Group { edits: count(edits.len()), stands: false });
        for edit in edits {
            words.clear();
            append(bytes, &act(edit, words));
        }
        start
    }

    /// Notes whether the edits that were noted there stand.
    pub(super) fn ended(&mut self, noted: usize, stands: bool) {
        // It is the last byte of the head of the group.
        let head = self.bytes.get(noted..).unwrap_or_default();
        let Ok((_, rest)) = postcard::take_from_bytes::<Group>(head) else { return };
        let at = self.bytes.len().saturating_sub(rest.len()).saturating_sub(1);
        if let Some(byte) = self.bytes.get_mut(at) {
            *byte = u8::from(stands);
        }
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Appends what postcard makes of a value; writing to memory cannot fail.
fn append(out: &mut Vec<u8>, value: &impl Serialize) {
    if let Ok(bytes) = postcard::to_extend(value, std::mem::take(out)) {
        *out = bytes;
    }
}

fn act<'a>(edit: &'a Edit, words: &'a mut Vec<u8>) -> Act<'a> {
    match edit {
        Edit::Insert(at, call) => {
            write_args(&call.args, &call.kwargs, words);
            Act::Insert { at: place(*at), target: &call.target, name: call.name.as_deref(), words }
        }
        Edit::SetArgs(n, args, kwargs) => {
            write_args(args, kwargs, words);
            Act::SetArgs { node: n.to_bits(), words }
        }
        Edit::SetTarget(n, target) => Act::SetTarget { node: n.to_bits(), target },
        Edit::ReplaceUses(old, new) => Act::ReplaceUses { old: old.to_bits(), new: new.to_bits() },
        Edit::ReplaceUsesIn(old, new, users) => {
            users.iter().for_each(|u| append(words, &Word::Node(u.to_bits())));
            Act::ReplaceUsesIn { old: old.to_bits(), new: new.to_bits(), words }
        }
        Edit::Move(n, to) => Act::Move { node: n.to_bits(), to: place(*to) },
        Edit::Erase(n) => Act::Erase { node: n.to_bits() },
        Edit::Annotate(n, key, value) => Act::Annotate { node: n.to_bits(), key, value: value.as_deref() },
    }
}

fn place(at: Point) -> At {
    match at {
        Point::Before(n) => At::Before(n.to_bits()),
        Point::After(n) => At::After(n.to_bits()),
        Point::Start(body) => At::Start(body.0),
        Point::End(body) => At::End(body.0),
    }
}

fn write_args(args: &[Arg], kwargs: &[(String, Arg)], out: &mut Vec<u8>) {
    args.iter().for_each(|a| write_arg(a, out));
    for (key, arg) in kwargs {
        append(out, &Word::Key(key));
        write_arg(arg, out);
    }
}

/// Lists nest at most [`Arg::MAX_DEPTH`] deep where an editor takes them; what a guest hands over nests less.
fn write_arg(arg: &Arg, out: &mut Vec<u8>) {
    let device;
    let word = match arg {
        Arg::None => Word::None,
        Arg::Node(n) => Word::Node(n.to_bits()),
        Arg::Int(v) => Word::Int(*v),
        Arg::Float(v) => Word::Float(*v),
        Arg::Complex(re, im) => Word::Complex(*re, *im),
        Arg::Bool(v) => Word::Bool(*v),
        Arg::Str(text) => Word::Str(text),
        Arg::Dtype(v) => Word::Dtype(*v),
        Arg::Device(v) => {
            device = v.to_string();
            Word::Device(&device)
        }
        Arg::Layout(v) => Word::Layout(*v),
        Arg::MemoryFormat(v) => Word::MemoryFormat(*v),
        Arg::Operator(text) => Word::Operator(text),
        Arg::Other(text) => Word::Other(text),
        Arg::List(items) => Word::List(count(items.len())),
        Arg::Tuple(items) => Word::Tuple(count(items.len())),
        Arg::Dict(items) => Word::Dict(count(items.len())),
    };
    append(out, &word);
    match arg {
        Arg::List(items) | Arg::Tuple(items) => items.iter().for_each(|a| write_arg(a, out)),
        Arg::Dict(items) => {
            for (key, arg) in items {
                append(out, &Word::Key(key));
                write_arg(arg, out);
            }
        }
        _ => {}
    }
}

/// Why edits of a worker are not made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReplayError {
    #[error("edits that are none: {0}")]
    Nonsense(String),
    #[error("edits that the contract forbids: {0}")]
    Forbidden(String),
    #[error("edit {index} {} when it was made again: {why}", if *stood { "did not hold" } else { "held" })]
    Differs { index: u64, stood: bool, why: String },
    #[error("edits that would fill more than {limit} bytes of memory (limits.host_bytes)")]
    Memory { limit: u64 },
    #[error("edits that take longer than there is time")]
    Time,
}

type Read<T> = Result<T, ReplayError>;

/// Positional and keyword arguments.
type Args = (Vec<Arg>, Vec<(String, Arg)>);

fn nonsense(why: impl ToString) -> ReplayError {
    ReplayError::Nonsense(why.to_string())
}

/// Makes the edits of a journal. On an error some are made: the caller undoes them.
pub(super) fn replay(journal: &[u8], editor: &mut Editor, limits: &Limits, until: Option<Instant>) -> Read<()> {
    let most = editor.kept_bytes().saturating_add(limits.host_bytes);
    editor.limit_work(most, until);
    let done = Reader { rest: journal, left: limits.host_bytes, limit: limits.host_bytes }.replay(editor, until);
    editor.limit_work(u64::MAX, None);
    done
}

/// Reads a journal of anybody's.
struct Reader<'a> {
    rest: &'a [u8],
    /// Bytes of memory that reading may still fill.
    left: u64,
    limit: u64,
}

impl<'a> Reader<'a> {
    fn replay(mut self, editor: &mut Editor, until: Option<Instant>) -> Read<()> {
        let mut index = 0_u64;
        let in_time = || until.is_none_or(|until| Instant::now() < until);
        while !self.rest.is_empty() {
            let group: Group = self.take()?;
            let mut edits = Vec::new();
            for _ in 0..group.edits {
                edits.push(self.edit()?);
            }
            let made = editor.apply_while(&edits, &mut |_| in_time()).ok_or(ReplayError::Time)?;
            if !in_time() {
                return Err(ReplayError::Time);
            }
            if made.is_ok() != group.stands {
                let why = made.err().map_or_else(|| "the worker says that it was refused".into(), |(_, e)| e.message);
                return Err(ReplayError::Differs { index, stood: group.stands, why });
            }
            index = index.saturating_add(u64::from(group.edits));
        }
        Ok(())
    }

    fn take<T: Deserialize<'a>>(&mut self) -> Read<T> {
        let (value, rest) = postcard::take_from_bytes(self.rest).map_err(nonsense)?;
        self.rest = rest;
        Ok(value)
    }

    fn charge(&mut self, bytes: usize) -> Read<()> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(bytes).ok_or(ReplayError::Memory { limit: self.limit })?;
        Ok(())
    }

    fn edit(&mut self) -> Read<Edit> {
        let act: Act<'a> = self.take()?;
        self.charge(usize::try_from(host::EDIT_BYTES).unwrap_or(usize::MAX))?;
        Ok(match act {
            Act::Insert { at, target, name, words } => {
                if let Some(name) = name {
                    host::check_name(name).map_err(|e| ReplayError::Forbidden(e.message))?;
                }
                self.charge(target.len())?;
                let (args, kwargs) = self.args(words)?;
                let call = NewCall { target: target.into(), args, kwargs, name: name.map(str::to_string) };
                Edit::Insert(self.point(at)?, call)
            }
            Act::SetArgs { node, words } => {
                let (args, kwargs) = self.args(words)?;
                Edit::SetArgs(self.node(node)?, args, kwargs)
            }
            Act::SetTarget { node, target } => {
                self.charge(target.len())?;
                Edit::SetTarget(self.node(node)?, target.into())
            }
            Act::ReplaceUses { old, new } => Edit::ReplaceUses(self.node(old)?, self.node(new)?),
            Act::ReplaceUsesIn { old, new, mut words } => {
                let mut users = Vec::new();
                while !words.is_empty() {
                    let (Word::Node(user), rest) = postcard::take_from_bytes(words).map_err(nonsense)? else {
                        return Err(nonsense("a user that is no node"));
                    };
                    self.charge(size_of::<NodeId>())?;
                    users.push(self.node(user)?);
                    words = rest;
                }
                Edit::ReplaceUsesIn(self.node(old)?, self.node(new)?, users)
            }
            Act::Move { node, to } => Edit::Move(self.node(node)?, self.point(to)?),
            Act::Erase { node } => Edit::Erase(self.node(node)?),
            Act::Annotate { node, key, value } => {
                host::check_key(key).map_err(|e| ReplayError::Forbidden(e.message))?;
                host::check_reserved(key).map_err(|e| ReplayError::Forbidden(e.to_string()))?;
                self.charge(key.len().saturating_add(value.map_or(0, str::len)))?;
                Edit::Annotate(self.node(node)?, key.into(), value.map(str::to_string))
            }
        })
    }

    fn node(&self, bits: u64) -> Read<NodeId> {
        if let Some(id) = NodeId::from_bits(bits) {
            return Ok(id);
        }
        let position = bits.checked_sub(FIRST_NEW).and_then(|p| u32::try_from(p).ok());
        position.map(NodeId::new_in_batch).ok_or_else(|| nonsense(format!("{bits} is no node")))
    }

    fn point(&self, at: At) -> Read<Point> {
        Ok(match at {
            At::Before(n) => Point::Before(self.node(n)?),
            At::After(n) => Point::After(self.node(n)?),
            At::Start(body) => Point::Start(BodyId(body)),
            At::End(body) => Point::End(BodyId(body)),
        })
    }

    fn args(&mut self, mut words: &'a [u8]) -> Read<Args> {
        let (mut args, mut kwargs) = (Vec::new(), Vec::<(String, Arg)>::new());
        while !words.is_empty() {
            match self.word(&mut words)? {
                Word::Key(key) => {
                    host::check_name(key).map_err(|e| ReplayError::Forbidden(e.message))?;
                    if kwargs.len() == host::MAX_KWARGS || kwargs.iter().any(|(k, _)| k == key) {
                        return Err(ReplayError::Forbidden(format!("the keyword argument `{key}` once more")));
                    }
                    self.charge(key.len())?;
                    let word = self.word(&mut words)?;
                    kwargs.push((key.into(), self.arg(word, &mut words, 0)?));
                }
                word if kwargs.is_empty() => args.push(self.arg(word, &mut words, 0)?),
                _ => return Err(nonsense("a positional argument after one with a keyword")),
            }
        }
        Ok((args, kwargs))
    }

    fn word(&mut self, words: &mut &'a [u8]) -> Read<Word<'a>> {
        self.charge(size_of::<Arg>())?;
        let (word, rest) = postcard::take_from_bytes(words).map_err(nonsense)?;
        *words = rest;
        Ok(word)
    }

    /// Reads what a word stands for. Calls itself no deeper than lists may nest.
    fn arg(&mut self, word: Word<'a>, words: &mut &'a [u8], depth: usize) -> Read<Arg> {
        if depth > Arg::MAX_DEPTH {
            return Err(nonsense("lists that nest too deep"));
        }
        let below = depth.saturating_add(1);
        Ok(match word {
            Word::None => Arg::None,
            Word::Node(n) => Arg::Node(self.node(n)?),
            Word::Int(v) => Arg::Int(v),
            Word::Float(v) => Arg::Float(v),
            Word::Complex(re, im) => Arg::Complex(re, im),
            Word::Bool(v) => Arg::Bool(v),
            Word::Str(text) => Arg::Str(self.text(text)?),
            Word::Dtype(v) => Arg::Dtype(v),
            Word::Device(text) => {
                Arg::Device(host::device(text).ok_or_else(|| nonsense(format!("the device {text:?}")))?)
            }
            Word::Layout(v) => Arg::Layout(v),
            Word::MemoryFormat(v) => Arg::MemoryFormat(v),
            Word::Operator(text) => Arg::Operator(self.text(text)?),
            Word::Other(text) => Arg::Other(self.text(text)?),
            Word::List(n) => Arg::List(self.items(n, words, below)?),
            Word::Tuple(n) => Arg::Tuple(self.items(n, words, below)?),
            Word::Dict(n) => {
                let mut items = Vec::new();
                for _ in 0..n {
                    let Word::Key(key) = self.word(words)? else { return Err(nonsense("an entry without a key")) };
                    let key = self.text(key)?;
                    let word = self.word(words)?;
                    items.push((key, self.arg(word, words, below)?));
                }
                Arg::Dict(items.into())
            }
            Word::Key(_) => return Err(nonsense("a key where a value should be")),
        })
    }

    fn items(&mut self, n: u32, words: &mut &'a [u8], depth: usize) -> Read<Box<[Arg]>> {
        let mut items = Vec::new();
        for _ in 0..n {
            let word = self.word(words)?;
            items.push(self.arg(word, words, depth)?);
        }
        Ok(items.into())
    }

    fn text(&mut self, text: &str) -> Read<Box<str>> {
        self.charge(text.len())?;
        Ok(text.into())
    }
}

/// What fuzzers of journals need. It is no part of what this library offers.
#[doc(hidden)]
pub mod for_fuzzers {
    use super::{Edit, Editor, Journal, Limits};

    /// Returns the journal of these groups of edits, each with whether it stands.
    pub fn journal_of(groups: &[(&[Edit], bool)]) -> Vec<u8> {
        let mut journal = Journal::default();
        for (edits, stands) in groups {
            let noted = journal.note(edits);
            journal.ended(noted, *stands);
        }
        journal.into_bytes()
    }

    /// Makes the edits of a journal, or says why not.
    pub fn replay(journal: &[u8], editor: &mut Editor, limits: &Limits) -> Result<(), String> {
        super::replay(journal, editor, limits, None).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::graph::{Device, Graph, NewNode, NodeKind, TensorType, ValueType, View};
    use crate::ops::Registry;
    use crate::sym::Dim;

    /// `x`, `neg = -x`, `return (neg,)`.
    fn editor() -> (Editor, [NodeId; 3]) {
        let mut g = Graph::new();
        let ty = ValueType::tensor(TensorType::new(Dtype::F32, [Dim::Fixed(2)], Device::cpu()));
        let mut push = |kind, name: &str, args: &[Arg], ty: &ValueType| {
            let target = g.texts.intern(if kind == NodeKind::Call { "aten.neg.default" } else { name });
            g.push(
                BodyId::ROOT,
                name,
                NewNode { kind, target, args: args.into(), kwargs: Box::default(), ty: ty.clone() },
            )
        };
        let x = push(NodeKind::Placeholder, "x", &[], &ty);
        let neg = push(NodeKind::Call, "neg", &[x.into()], &ty);
        let output = push(NodeKind::Output, "output", &[Arg::Tuple(Box::new([neg.into()]))], &ValueType::Unknown);
        (Editor::new(g, Arc::new(Registry::standard())), [x, neg, output])
    }

    fn call(target: &str, args: Vec<Arg>) -> NewCall {
        NewCall { target: target.into(), args, kwargs: Vec::new(), name: None }
    }

    fn written(groups: &[(&[Edit], bool)]) -> Vec<u8> {
        for_fuzzers::journal_of(groups)
    }

    fn refused(groups: &[(&[Edit], bool)]) -> ReplayError {
        let (mut editor, _) = editor();
        replay(&written(groups), &mut editor, &Limits::default(), None).unwrap_err()
    }

    #[test]
    fn edits_are_made_again_as_they_were_refused_ones_included() {
        let (mut first, [x, neg, output]) = editor();
        let many = Arg::List(Box::new([Arg::list([1, 2]), Arg::Tuple(Box::new([Arg::Float(-0.0), x.into()]))]));
        let dict = Arg::Dict(Box::new([("k".into(), Arg::Str("v".into())), ("d".into(), Arg::Device(Device::cpu()))]));
        let groups: [(&[Edit], bool); 5] = [
            (&[Edit::Insert(Point::Before(output), call("aten.neg.default", vec![neg.into()]))], true),
            (&[Edit::Insert(Point::Before(output), call("no.such.operator", vec![many, dict]))], false),
            (
                &[
                    Edit::Insert(Point::Start(BodyId::ROOT), call("aten.relu.default", vec![x.into()])),
                    Edit::ReplaceUses(neg, NodeId::new_in_batch(0)),
                    Edit::Annotate(NodeId::new_in_batch(0), "why".into(), Some("because".into())),
                ],
                true,
            ),
            (&[Edit::Erase(neg), Edit::Erase(x)], false),
            (&[Edit::ReplaceUsesIn(neg, x, vec![output]), Edit::Move(neg, Point::Start(BodyId::ROOT))], true),
        ];
        for (edits, stands) in groups {
            assert_eq!(first.apply(edits).is_ok(), stands);
        }
        let (mut second, _) = editor();
        replay(&written(&groups), &mut second, &Limits::default(), None).unwrap();
        let all = |e: &Editor| {
            let g = e.graph();
            let rows = g.nodes(BodyId::ROOT).map(|n| format!("{n:?} {} {:?} {:?}", g.name(n), g.row(n), g.meta(n)));
            rows.collect::<Vec<_>>()
        };
        assert_eq!(all(&first), all(&second));
        assert_eq!(first.changes(), second.changes());
    }

    #[test]
    fn what_the_worker_tells_of_an_edit_must_hold() {
        let (_, [x, neg, _]) = editor();
        assert!(matches!(refused(&[(&[Edit::Erase(x)], true)]), ReplayError::Differs { index: 0, stood: true, .. }));
        let moved = [Edit::Annotate(neg, "k".into(), None)];
        assert!(matches!(refused(&[(&moved, false)]), ReplayError::Differs { stood: false, .. }));
    }

    #[test]
    fn what_the_contract_forbids_a_guest_it_forbids_a_worker() {
        let (_, [x, neg, output]) = editor();
        let named = |name: &str| {
            let call = NewCall { name: Some(name.into()), ..call("aten.neg.default", vec![x.into()]) };
            Edit::Insert(Point::Before(output), call)
        };
        let keyword = |names: &[&str]| {
            Edit::SetArgs(neg, vec![x.into()], names.iter().map(|n| (n.to_string(), Arg::None)).collect())
        };
        for edit in [
            Edit::Annotate(neg, "airlock.form".into(), Some("x".into())),
            Edit::Annotate(neg, "nn_module_stack".into(), None),
            Edit::Annotate(neg, "a b".into(), None),
            named("a b"),
            named("\u{430}"),
            keyword(&["alpha", "alpha"]),
            keyword(&["a-b"]),
        ] {
            let error = refused(&[(std::slice::from_ref(&edit), true)]);
            assert!(matches!(error, ReplayError::Forbidden(_)), "{edit:?}: {error}");
        }
        let bad = Edit::SetArgs(neg, vec![Arg::Device(Device::new("npu\n"))], Vec::new());
        assert!(matches!(refused(&[(&[bad], true)]), ReplayError::Nonsense(_)));
    }

    #[test]
    fn no_bytes_make_the_host_take_more_than_it_allows() {
        let limits = Limits { host_bytes: 1 << 20, ..Limits::default() };
        let replayed = |bytes: &[u8]| replay(bytes, &mut editor().0, &limits, None).unwrap_err();
        // A group of more edits than there are bytes; erasures without end; lists in lists; a list of 2^32 items.
        let mut many = Vec::new();
        append(&mut many, &Group { edits: u32::MAX, stands: true });
        assert!(matches!(replayed(&many), ReplayError::Nonsense(_)));
        (0..10_000).for_each(|n| append(&mut many, &Act::Erase { node: n }));
        assert_eq!(replayed(&many), ReplayError::Memory { limit: 1 << 20 });
        let with_words = |word: Word<'_>, times: usize| {
            let (mut words, mut bytes) = (Vec::new(), Vec::new());
            (0..times).for_each(|_| append(&mut words, &word));
            append(&mut bytes, &Group { edits: 1, stands: true });
            append(&mut bytes, &Act::SetArgs { node: 1, words: &words });
            bytes
        };
        assert!(matches!(replayed(&with_words(Word::List(1), 1_000)), ReplayError::Nonsense(_)));
        assert!(matches!(replayed(&with_words(Word::Tuple(u32::MAX), 1)), ReplayError::Nonsense(_)));
        assert_eq!(replayed(&with_words(Word::None, 1 << 17)), ReplayError::Memory { limit: 1 << 20 });
        assert!(matches!(replayed(&with_words(Word::Key("k"), 2)), ReplayError::Nonsense(_)));
    }

    #[test]
    fn edits_that_nobody_has_time_for_end() {
        let (mut editor, [_, neg, _]) = editor();
        let notes = vec![Edit::Annotate(neg, "k".into(), Some("v".into())); 1_000];
        let over = Some(Instant::now());
        assert_eq!(replay(&written(&[(&notes, true)]), &mut editor, &Limits::default(), over), Err(ReplayError::Time));
    }

    #[test]
    fn any_byte_may_be_another() {
        let (_, [x, neg, output]) = editor();
        let good = written(&[
            (&[Edit::Insert(Point::Before(output), call("aten.neg.default", vec![neg.into()]))], true),
            (&[Edit::SetArgs(output, vec![Arg::Tuple(Box::new([x.into()]))], Vec::new())], true),
        ]);
        for at in 0..good.len() {
            for flip in [1_u8, 2, 4, 8, 16, 32, 64, 128] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                let (mut editor, _) = editor();
                let _ = replay(&bytes, &mut editor, &Limits::default(), None);
                editor.undo();
                assert!(editor.changes().is_empty());
            }
        }
    }
}
