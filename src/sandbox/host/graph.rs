//! The interface `graph`: each function checks its ids, asks the graph or the editor, and answers in the contract's words.

use wasmtime::Result as Trap;

use super::super::bindings::airlock::pass::graph::{
    BatchError, Columns, Edit, EffectsTable, Host as GraphHost, NewNode, Point, Relation,
};
use super::super::bindings::airlock::pass::types::{Arg, Dim, EditCode, EditError, NamedArg, NodeKind, ValueType};
use super::edits::{self, EDIT_BYTES, Reader};
use super::state::{edit_error, live, refused};
use super::{Host, args, columns, effects, sizes, types};
use crate::analysis::{EffectsOf, effects_of_target};
use crate::editor::{Edit as GraphEdit, Editor};
use crate::graph::{BodyId, Graph, NodeId, NodeKind as Kind, View};

/// After how many edits of a batch the clock is looked at.
const EDITS_BETWEEN: usize = 16;

type Answer<T> = Trap<Result<T, EditError>>;

fn ids(nodes: impl IntoIterator<Item = NodeId>) -> Vec<u64> {
    nodes.into_iter().map(NodeId::to_bits).collect()
}

/// Bodies in the order in which they are reached: 0 first, each body's own before those of bodies after it.
fn reached(graph: &Graph) -> Vec<BodyId> {
    let mut found = Vec::new();
    let mut seen = vec![false; graph.body_count()];
    let mut stack = vec![BodyId::ROOT];
    while let Some(body) = stack.pop() {
        let Some(seen) = seen.get_mut(body.0 as usize).filter(|s| !**s) else { continue };
        *seen = true;
        found.push(body);
        let mut inner: Vec<BodyId> = graph
            .nodes(body)
            .filter_map(|n| match graph.ty(n) {
                crate::graph::ValueType::Body(b) => Some(*b),
                _ => None,
            })
            .collect();
        inner.reverse();
        stack.extend(inner);
    }
    found
}

impl Host {
    /// Charges an edit, reads it, notes it where somebody keeps a journal, and hands it to the editor.
    fn edit(
        &mut self,
        function: &'static str,
        bytes: u64,
        read: impl FnOnce(&Reader<'_>) -> Result<GraphEdit, EditError>,
    ) -> Answer<Made> {
        self.enter(function)?;
        self.charge(bytes.saturating_add(EDIT_BYTES))?;
        self.bound_edits();
        let Self { editor, words, journal, .. } = self;
        let reader = Reader { graph: editor.graph(), words, in_batch: false };
        let answer = match read(&reader) {
            Ok(edit) => {
                let noted = journal.as_mut().map(|j| j.note(std::slice::from_ref(&edit)));
                let made = make(editor, edit);
                if let (Some(journal), Some(noted)) = (journal, noted) {
                    journal.ended(noted, made.is_ok());
                }
                made.map_err(edit_error)
            }
            Err(error) => Err(error),
        };
        self.charge_edits()?;
        Ok(answer)
    }
}

/// What a single edit gives.
struct Made {
    /// The node that an insertion made.
    node: u64,
    /// How many users a replacement changed.
    users: u32,
}

fn make(editor: &mut Editor, edit: GraphEdit) -> Result<Made, crate::editor::EditError> {
    let (mut node, mut users) = (0, 0);
    match edit {
        GraphEdit::Insert(at, call) => node = editor.insert(at, call)?.to_bits(),
        GraphEdit::SetArgs(n, args, kwargs) => editor.set_args(n, args, kwargs)?,
        GraphEdit::SetTarget(n, target) => editor.set_target(n, &target)?,
        GraphEdit::ReplaceUses(old, new) => users = editor.replace_uses(old, new, None)?,
        GraphEdit::ReplaceUsesIn(old, new, only_in) => users = editor.replace_uses(old, new, Some(&only_in))?,
        GraphEdit::Move(n, to) => editor.move_node(n, to)?,
        GraphEdit::Erase(n) => editor.erase(n)?,
        GraphEdit::Annotate(n, key, value) => editor.annotate(n, &key, value.as_deref())?,
    }
    Ok(Made { node, users })
}

impl GraphHost for Host {
    fn sub_graphs(&mut self) -> Trap<Vec<u32>> {
        Ok(reached(self.graph("graph.sub-graphs")?).into_iter().map(|b| b.0).collect())
    }

    fn nodes(&mut self, g: u32) -> Trap<Vec<u64>> {
        Ok(ids(self.graph("graph.nodes")?.nodes(BodyId(g))))
    }

    fn find(&mut self, g: u32, target: String) -> Trap<Vec<u64>> {
        let graph = self.graph("graph.find")?;
        let target = target.strip_prefix("torch.ops.").unwrap_or(&target);
        let Some(target) = graph.texts().find(target) else { return Ok(Vec::new()) };
        let is_call = |n: &NodeId| graph.kind(*n) == Kind::Call && graph.target_id(*n) == target;
        Ok(ids(graph.nodes(BodyId(g)).filter(is_call)))
    }

    fn kind(&mut self, n: u64) -> Answer<NodeKind> {
        let found = self.node("graph.kind", n)?;
        Ok(found.map(|(graph, n)| match graph.kind(n) {
            Kind::Placeholder => NodeKind::Placeholder,
            Kind::Call => NodeKind::Call,
            Kind::GetAttr => NodeKind::GetAttr,
            Kind::Output => NodeKind::Output,
        }))
    }

    fn owner(&mut self, n: u64) -> Answer<u32> {
        let found = self.node("graph.owner", n)?;
        Ok(found.map(|(graph, n)| graph.place(n).map_or(0, |(body, _)| body.0)))
    }

    fn target_id(&mut self, n: u64) -> Answer<u32> {
        let target = self.node("graph.target-id", n)?.map(|(graph, n)| columns::target_of(graph, n));
        Ok(target.map(|t| self.texts.number(t)))
    }

    fn text(&mut self, id: u32) -> Trap<Option<String>> {
        self.enter("graph.text")?;
        let Self { editor, texts, .. } = self;
        Ok(texts.text(id, editor.graph().texts()).map(str::to_string))
    }

    fn name(&mut self, n: u64) -> Answer<String> {
        Ok(self.node("graph.name", n)?.map(|(graph, n)| graph.name(n).to_string()))
    }

    fn args(&mut self, n: u64) -> Answer<Vec<Arg>> {
        self.enter("graph.args")?;
        let Self { editor, words, .. } = self;
        let graph = editor.graph();
        Ok(live(graph, n).map(|n| columns::args_of(graph, n).iter().map(|a| words.give(a)).collect()))
    }

    fn kwargs(&mut self, n: u64) -> Answer<Vec<NamedArg>> {
        self.enter("graph.kwargs")?;
        let Self { editor, words, .. } = self;
        let graph = editor.graph();
        Ok(live(graph, n).map(|n| args::give_kwargs(words, graph.texts(), graph.kwargs(n))))
    }

    fn users(&mut self, n: u64) -> Answer<Vec<u64>> {
        Ok(self.node("graph.users", n)?.map(|(graph, n)| ids(graph.users_in_order(n))))
    }

    fn type_of(&mut self, n: u64) -> Answer<ValueType> {
        Ok(self.node("graph.type-of", n)?.map(|(graph, n)| types::value_type(graph, graph.ty(n))))
    }

    fn next(&mut self, n: u64) -> Answer<Option<u64>> {
        Ok(self.node("graph.next", n)?.map(|(graph, n)| graph.next(n).map(NodeId::to_bits)))
    }

    fn previous(&mut self, n: u64) -> Answer<Option<u64>> {
        Ok(self.node("graph.previous", n)?.map(|(graph, n)| graph.previous(n).map(NodeId::to_bits)))
    }

    fn is_before(&mut self, a: u64, b: u64) -> Answer<bool> {
        let graph = self.graph("graph.is-before")?;
        Ok(live(graph, a).and_then(|first| {
            let second = live(graph, b)?;
            let body = |n| graph.place(n).map(|(body, _)| body);
            if body(first) != body(second) {
                let message = "the nodes belong to different graphs, which have no common order";
                return Err(refused(EditCode::NotAllowed, Some(b), message));
            }
            Ok(graph.is_before(first, second))
        }))
    }

    fn annotation(&mut self, n: u64, key: String) -> Answer<Option<String>> {
        Ok(self.node("graph.annotation", n)?.map(|(graph, n)| graph.annotation(n, &key)))
    }

    fn known(&mut self, a: Dim, r: Relation, b: Dim) -> Trap<Option<bool>> {
        self.enter("graph.known")?;
        self.charge(sizes::weight_of(&a).saturating_add(sizes::weight_of(&b)))?;
        let Self { editor, sizes, .. } = self;
        let known = sizes.known(editor.graph(), &a, r, &b);
        self.charge_sizes()?;
        Ok(known)
    }

    fn range_of(&mut self, a: Dim) -> Trap<(i64, Option<i64>)> {
        self.enter("graph.range-of")?;
        self.charge(sizes::weight_of(&a))?;
        let Self { editor, sizes, .. } = self;
        let range = sizes.range_of(editor.graph(), &a);
        self.charge_sizes()?;
        Ok(range)
    }

    fn read_columns(&mut self, g: u32) -> Trap<Columns> {
        self.enter("graph.read-columns")?;
        let Self { editor, texts, words, .. } = self;
        Ok(columns::read(editor.graph(), BodyId(g), texts, words))
    }

    fn effects_of(&mut self, nodes: Vec<u64>) -> Answer<EffectsTable> {
        self.enter("graph.effects-of")?;
        let Self { editor, deadline, .. } = self;
        let graph = editor.graph();
        let (mut asked, mut table) = (EffectsOf::new(graph, editor.registry()), effects::Table::default());
        for id in nodes {
            // No epoch ends a host call, and some millions of nodes may take long.
            deadline.check()?;
            match live(graph, id) {
                Ok(node) => table.push(asked.of(node)),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(table.finish()))
    }

    fn effects_of_target(&mut self, targets: Vec<String>) -> Trap<EffectsTable> {
        self.enter("graph.effects-of-target")?;
        let Self { editor, deadline, .. } = self;
        let mut table = effects::Table::default();
        for target in targets {
            deadline.check()?;
            table.push(effects_of_target(editor.registry(), &target));
        }
        Ok(table.finish())
    }

    fn insert(&mut self, new: NewNode) -> Answer<u64> {
        let bytes = edits::weight_of_call(&new);
        let read = |r: &Reader<'_>| r.call(new).map(|(at, call)| GraphEdit::Insert(at, call));
        Ok(self.edit("graph.insert", bytes, read)?.map(|made| made.node))
    }

    fn set_args(&mut self, n: u64, args: Vec<Arg>, kwargs: Vec<NamedArg>) -> Answer<()> {
        let bytes = args::weight_of(&args, &kwargs);
        let read = |r: &Reader<'_>| {
            let n = r.node(n)?;
            r.new_args(n, args, kwargs).map(|(args, kwargs)| GraphEdit::SetArgs(n, args, kwargs))
        };
        Ok(self.edit("graph.set-args", bytes, read)?.map(drop))
    }

    fn set_target(&mut self, n: u64, target: String) -> Answer<()> {
        let bytes = u64::try_from(target.len()).unwrap_or(u64::MAX);
        let read = |r: &Reader<'_>| Ok(GraphEdit::SetTarget(r.node(n)?, target));
        Ok(self.edit("graph.set-target", bytes, read)?.map(drop))
    }

    fn replace_uses(&mut self, old: u64, new: u64, only_in: Option<Vec<u64>>) -> Answer<u32> {
        let bytes = only_in.as_deref().map_or(0, edits::len_of);
        let read = |r: &Reader<'_>| {
            let only_in = only_in.map(|users| users.into_iter().map(|u| r.node(u)).collect::<Result<Vec<_>, _>>());
            let (old, new) = (r.node(old)?, r.node(new)?);
            Ok(match only_in.transpose()? {
                Some(users) => GraphEdit::ReplaceUsesIn(old, new, users),
                None => GraphEdit::ReplaceUses(old, new),
            })
        };
        Ok(self.edit("graph.replace-uses", bytes, read)?.map(|made| made.users))
    }

    fn move_node(&mut self, n: u64, to: Point) -> Answer<()> {
        let read = |r: &Reader<'_>| Ok(GraphEdit::Move(r.node(n)?, r.point(&to)?));
        Ok(self.edit("graph.move-node", 0, read)?.map(drop))
    }

    fn erase(&mut self, n: u64) -> Answer<()> {
        Ok(self.edit("graph.erase", 0, |r| Ok(GraphEdit::Erase(r.node(n)?)))?.map(drop))
    }

    fn annotate(&mut self, n: u64, key: String, value: Option<String>) -> Answer<()> {
        edits::check_reserved(&key)?;
        let bytes = key.len().saturating_add(value.as_ref().map_or(0, String::len));
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let read = |r: &Reader<'_>| {
            edits::check_key(&key)?;
            Ok(GraphEdit::Annotate(r.node(n)?, key, value))
        };
        Ok(self.edit("graph.annotate", bytes, read)?.map(drop))
    }

    fn apply(&mut self, edits: Vec<Edit>) -> Trap<Result<Vec<u64>, BatchError>> {
        self.enter("graph.apply")?;
        self.charge(edits.iter().map(edits::weight_of).fold(0, u64::saturating_add))?;
        self.bound_edits();
        for edit in &edits {
            if let Edit::Annotate((_, key, _)) = edit {
                edits::check_reserved(key)?;
            }
        }
        let Self { editor, words, deadline, most_kept, journal, .. } = self;
        let mut read = Vec::with_capacity(edits.len());
        let reader = Reader { graph: editor.graph(), words, in_batch: true };
        for (index, edit) in edits.into_iter().enumerate() {
            match reader.edit(edit) {
                Ok(edit) => read.push(edit),
                Err(error) => return Ok(Err(BatchError { index: u32::try_from(index).unwrap_or(u32::MAX), error })),
            }
        }
        let noted = journal.as_mut().map(|j| j.note(&read));
        // No epoch ends a host call, and a batch of a few million edits may take long. The editor looks at the clock itself where it makes types.
        let mut made = 0_usize;
        let answer = editor.apply_while(&read, &mut |e| {
            made = made.wrapping_add(1);
            (!made.is_multiple_of(EDITS_BETWEEN) || deadline.check().is_ok()) && e.kept_bytes() <= *most_kept
        });
        if let (Some(journal), Some(noted)) = (journal, noted) {
            journal.ended(noted, matches!(answer, Some(Ok(_))));
        }
        self.charge_edits()?;
        Ok(match answer {
            Some(Ok(made)) => Ok(ids(made)),
            Some(Err((index, error))) => Err(BatchError { index, error: edit_error(error) }),
            None => Ok(Vec::new()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::super::bindings::airlock::pass::graph::SideEffect;
    use super::super::super::bindings::airlock::pass::types::Scalar;
    use super::super::super::store::Stop;
    use super::super::Job;
    use super::*;
    use crate::contract::Limits;
    use crate::editor::Editor;
    use crate::graph::{Arg as GraphArg, Device, Dtype, NewNode as Row, TensorType, ValueType as GraphType};
    use crate::ops::Registry;
    use crate::sym::Dim as Size;

    const FIRST_NEW: u64 = 1 << 63;

    /// `x`, `add = x + x`, `return (add,)`.
    fn host(limits: &Limits) -> (Host, [u64; 3]) {
        let mut g = Graph::new();
        let ty = GraphType::tensor(TensorType::new(Dtype::F32, [Size::Fixed(2)], Device::cpu()));
        let mut push = |kind, name: &str, target: &str, args: &[GraphArg], ty: &GraphType| {
            let target = g.texts.intern(target);
            let row = Row { kind, target, args: args.into(), kwargs: Box::default(), ty: ty.clone() };
            g.push(BodyId::ROOT, name, row)
        };
        let x = push(Kind::Placeholder, "x", "x", &[], &ty);
        let add = push(Kind::Call, "add", "aten.add.Tensor", &[x.into(), x.into()], &ty);
        let returned = GraphArg::Tuple(Box::new([add.into()]));
        let out = push(Kind::Output, "output", "output", &[returned], &GraphType::Unknown);
        let mut host = Host::new(Editor::new(g, Arc::new(Registry::standard())), Job::default(), limits);
        host.is_open = true;
        (host, [x, add, out].map(NodeId::to_bits))
    }

    fn call(at: Point, args: &[u64]) -> NewNode {
        let args = args.iter().map(|n| Arg::One(Scalar::Node(*n))).collect();
        NewNode { at, target: "torch.ops.aten.add.Tensor".into(), args, kwargs: Vec::new(), name: None }
    }

    fn code<T: std::fmt::Debug>(answer: Answer<T>) -> EditCode {
        answer.unwrap().unwrap_err().code
    }

    #[test]
    fn single_calls_edit_and_read_what_they_edited() {
        let (mut host, [x, add, out]) = host(&Limits::default());
        let new = host.insert(call(Point::Before(out), &[add, x])).unwrap().unwrap();
        assert_eq!(host.name(new).unwrap().unwrap(), "add_tensor");
        assert_eq!(host.replace_uses(add, new, None).unwrap().unwrap(), 1);
        assert_eq!(host.users(new).unwrap().unwrap(), [out]);
        assert_eq!(host.users(add).unwrap().unwrap(), [new]);
        assert_eq!(host.nodes(0).unwrap(), [x, add, new, out]);
        assert_eq!(host.find(0, "torch.ops.aten.add.Tensor".into()).unwrap(), [add, new]);
        let id = host.target_id(new).unwrap().unwrap();
        assert_eq!(host.text(id).unwrap().as_deref(), Some("aten.add.Tensor"));
        assert_eq!(host.text(id + 1).unwrap(), None);
        assert!(host.is_before(add, new).unwrap().unwrap());
        host.annotate(new, "why".into(), Some("because".into())).unwrap().unwrap();
        assert_eq!(host.annotation(new, "why".into()).unwrap().unwrap().as_deref(), Some("because"));
    }

    #[test]
    fn an_output_keeps_its_container() {
        let (mut host, [x, _, out]) = host(&Limits::default());
        assert!(matches!(host.args(out).unwrap().unwrap().as_slice(), [Arg::One(Scalar::Node(_))]));
        host.set_args(out, vec![Arg::One(Scalar::Node(x))], Vec::new()).unwrap().unwrap();
        let graph = host.editor.graph();
        let out = NodeId::from_bits(out).unwrap();
        assert!(matches!(graph.args(out), [GraphArg::Tuple(items)] if items.len() == 1));
    }

    #[test]
    fn refused_edits_are_typed_and_change_nothing() {
        let (mut host, [x, add, out]) = host(&Limits::default());
        assert_eq!(code(host.kind(77)), EditCode::Stale);
        assert_eq!(code(host.erase(FIRST_NEW)), EditCode::Stale);
        assert_eq!(code(host.erase(add)), EditCode::StillUsed);
        assert_eq!(code(host.erase(x)), EditCode::NotAllowed);
        assert_eq!(code(host.insert(call(Point::Before(add), &[add, x]))), EditCode::UseBeforeDefinition);
        assert_eq!(code(host.insert(call(Point::Start(9), &[x, x]))), EditCode::NotAllowed);
        let named = NewNode { name: Some("a b".into()), ..call(Point::End(0), &[x, x]) };
        assert_eq!(code(host.insert(named)), EditCode::BadArgument);
        let many = (0..1_000).map(|i| NamedArg { name: format!("k{i}"), value: Arg::One(Scalar::None) }).collect();
        assert_eq!(code(host.set_args(add, Vec::new(), many)), EditCode::BadArgument);
        assert_eq!(host.nodes(0).unwrap(), [x, add, out]);
        assert!(host.editor.changes().is_empty());
    }

    #[test]
    fn a_batch_names_its_own_nodes_and_holds_whole_or_not_at_all() {
        let (mut host, [x, add, out]) = host(&Limits::default());
        let edits = || {
            vec![
                Edit::Insert(call(Point::End(0), &[add, x])),
                Edit::Insert(call(Point::After(FIRST_NEW), &[FIRST_NEW, x])),
                Edit::ReplaceUsesIn((add, FIRST_NEW + 1, vec![out])),
                // Its own node takes no part of whatever stands in the graph at that position.
                Edit::SetArgs((
                    FIRST_NEW + 1,
                    vec![Arg::One(Scalar::Node(x)), Arg::One(Scalar::Node(FIRST_NEW))],
                    vec![],
                )),
            ]
        };
        let mut wrong = edits();
        wrong.push(Edit::Erase(add));
        let error = host.apply(wrong).unwrap().unwrap_err();
        assert_eq!((error.index, error.error.code), (4, EditCode::StillUsed));
        assert!(host.editor.changes().is_empty());
        let made = host.apply(edits()).unwrap().unwrap();
        assert_eq!(host.nodes(0).unwrap(), [x, add, made[0], made[1], out]);
        assert_eq!(host.users(made[1]).unwrap().unwrap(), [out]);
    }

    #[test]
    fn effects_of_many_calls_are_there_once_and_a_stale_id_is_named() {
        let (mut host, [x, add, out]) = host(&Limits::default());
        let new = host.insert(call(Point::Before(out), &[add, x])).unwrap().unwrap();
        let table = host.effects_of(vec![x, add, new, out]).unwrap().unwrap();
        assert_eq!((table.positions.as_slice(), table.distinct.len()), (&[0, 1, 1, 2][..], 3));
        let does = &table.distinct[1];
        assert_eq!(does.parameters, ["self", "other", "alpha"]);
        assert!(does.pure && does.commutes && !does.draws && does.writes.is_empty() && does.results[0].is_empty());
        assert_eq!((does.reads.as_slice(), does.side), (&[0, 1][..], SideEffect::None));
        host.erase(new).unwrap().unwrap();
        let error = host.effects_of(vec![x, new]).unwrap().unwrap_err();
        assert_eq!((error.code, error.node), (EditCode::Stale, Some(new)));
        assert_eq!(host.effects_of(Vec::new()).unwrap().unwrap().distinct.len(), 0);
    }

    #[test]
    fn effects_of_targets_are_those_of_the_operators_that_the_run_knows() {
        let (mut host, _) = host(&Limits::default());
        let targets = ["aten.add_.Tensor", "demo.mystery.default", "torch.ops.aten.add_.Tensor"];
        let table = host.effects_of_target(targets.map(String::from).to_vec()).unwrap();
        assert_eq!(table.positions, [0, 1, 0]);
        let (write, mystery) = (&table.distinct[0], &table.distinct[1]);
        assert!(!write.pure && write.writes == [0] && write.results[0][0].parameter == 0);
        assert!(mystery.side == SideEffect::Opaque && mystery.draws && mystery.may_raise && !mystery.pure);
    }

    #[test]
    fn what_many_calls_do_is_answered_within_the_time() {
        let (mut host, [x, ..]) = host(&Limits { time_seconds: 0.0, ..Limits::default() });
        let error = host.effects_of(vec![x]).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(Stop::Time { .. })), "{error}");
        let error = host.effects_of_target(vec!["aten.add.Tensor".into()]).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(Stop::Time { .. })), "{error}");
    }

    #[test]
    fn a_batch_ends_when_the_time_is_up() {
        let (mut host, [x, add, out]) = host(&Limits { time_seconds: 0.0, ..Limits::default() });
        let error = host.apply(vec![Edit::Insert(call(Point::End(0), &[add, x]))]).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(Stop::Time { .. })), "{error}");
        assert_eq!(ids(host.editor.graph().nodes(BodyId(0))), [x, add, out]);
    }

    #[test]
    fn every_call_ends_when_the_time_is_up() {
        let (mut host, [_, add, _]) = host(&Limits { time_seconds: 0.0, ..Limits::default() });
        for error in [host.nodes(0).unwrap_err(), host.erase(add).unwrap_err(), host.kind(add).unwrap_err()] {
            assert!(matches!(error.downcast_ref(), Some(Stop::Time { .. })), "{error}");
        }
    }

    #[test]
    fn a_note_under_a_key_that_is_read_as_structure_ends_the_run() {
        let (mut host, [_, add, _]) = host(&Limits::default());
        let note = |key: &str| Edit::Annotate((add, key.to_string(), Some("x".into())));
        for key in ["airlock.form", "nn_module_stack", "custom"] {
            let one = host.annotate(add, key.into(), None).unwrap_err();
            let batch = host.apply(vec![note("why"), note(key)]).unwrap_err();
            for error in [one, batch] {
                assert!(matches!(error.downcast_ref(), Some(Stop::ReservedKey { .. })), "{error}");
            }
        }
        assert!(host.editor.changes().is_empty());
    }

    #[test]
    fn what_edits_make_the_graph_keep_is_counted_with_their_types() {
        let (mut host, [x, add, out]) = host(&Limits { host_bytes: 64 << 20, ..Limits::default() });
        let split = |n: u64| {
            let args = vec![Arg::One(Scalar::Node(n)), Arg::One(Scalar::Int(60_000))];
            let target = "torch.ops.aten.tensor_split.sections".into();
            NewNode { at: Point::Before(out), target, args, kwargs: Vec::new(), name: None }
        };
        host.insert(split(x)).unwrap().unwrap();
        assert!(host.host_bytes > 4 << 20, "{}", host.host_bytes);
        let error = (0..10).find_map(|_| host.insert(split(add)).err()).unwrap();
        assert!(matches!(error.downcast_ref(), Some(Stop::HostBytes { .. })), "{error}");
        // A batch, too.
        let mut host = self::host(&Limits { host_bytes: 64 << 20, ..Limits::default() }).0;
        let error = host.apply((0..10).map(|_| Edit::Insert(split(x))).collect()).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(Stop::HostBytes { .. })), "{error}");
        assert_eq!(host.editor.graph().len(), 3);
    }
}
