//! A graph that the program edits itself, as a pass does: `reading` and `editing` are the contract's interface `graph`, call by call.

use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use engine::editor::Editor as Inner;
use engine::sandbox::{Calls, wit};
use engine::verify;

use crate::arena::Arena;
use crate::handles::{self, Id, Object, add, lock};
use crate::model::Model;
use crate::run::{Outcome, Report, plain, to_json};
use crate::status::{Failure, Status, call};
use crate::texts::{give, place};

/// The graph of a model while it is edited.
pub struct Editor {
    model: Arc<Mutex<Model>>,
    thread: ThreadId,
    /// Nothing once its edits were judged.
    calls: Option<Calls>,
    arena: Arena,
}

impl Editor {
    fn open(model: Arc<Mutex<Model>>) -> Result<Editor, Failure> {
        let mut locked = lock(&model)?;
        let registry = locked.host.registry.clone();
        let graph = std::mem::take(&mut locked.whole()?.graph);
        locked.is_edited = true;
        drop(locked);
        let calls = Calls::new(Inner::new(graph, registry));
        Ok(Editor { model, thread: std::thread::current().id(), calls: Some(calls), arena: Arena::default() })
    }

    /// Gives the graph back to the model, after `settle` said which edits stand.
    fn close<T>(&mut self, settle: impl FnOnce(&mut Inner, &Model) -> T) -> Result<T, Failure> {
        let mut editor = self.calls.take().ok_or_else(over)?.into_editor();
        let mut model = lock(&self.model)?;
        let settled = settle(&mut editor, &model);
        model.inner.graph = editor.into_graph();
        model.is_edited = false;
        Ok(settled)
    }

    fn judge(&mut self) -> Result<Report, Failure> {
        self.close(|editor, model| {
            if editor.changes().is_empty() {
                return Ok(Report::new(Outcome::Unchanged, None, String::new(), "unchanged\n".into(), "null".into()));
            }
            let constants = verify::constants(editor.graph(), &model.inner.weights);
            let judge = verify::JudgeOptions { constants, ..model.host.judge.clone() };
            let verdict = verify::judge_editor(editor, &judge);
            let outcome = if verdict.accepted { Outcome::Accepted } else { Outcome::Refused };
            match outcome {
                Outcome::Accepted => editor.commit(),
                _ => editor.undo(),
            }
            let text =
                format!("{}\n{}", engine::report::verdict_words(&verdict), engine::report::verdict_details(&verdict));
            Ok(Report::new(outcome, Some(&verdict), verdict.reason.clone(), plain(&text), to_json(&verdict)?))
        })?
    }
}

fn over() -> Failure {
    Failure::new(Status::BadHandle, "the editor was judged: its edits are over")
}

fn own(editor: &Editor) -> Result<(), Failure> {
    match editor.thread == std::thread::current().id() {
        true => Ok(()),
        false => Err(Failure::new(Status::WrongThread, "the editor belongs to the thread that opened it")),
    }
}

/// Takes the edits of an editor that is freed back, unless they were judged.
pub fn abandon(editor: &Mutex<Editor>) -> Result<(), Failure> {
    let mut editor = lock(editor)?;
    own(&editor)?;
    match editor.calls {
        Some(_) => editor.close(|inner, _| inner.undo()),
        None => Ok(()),
    }
}

/// Uses an editor, from its own thread.
pub fn with<T>(editor: Id, body: impl FnOnce(&mut Calls, &mut Arena) -> Result<T, Failure>) -> Result<T, Failure> {
    let editor = handles::editor(editor)?;
    let mut editor = lock(&editor)?;
    own(&editor)?;
    let Editor { calls, arena, .. } = &mut *editor;
    body(calls.as_mut().ok_or_else(over)?, arena)
}

/// What may not be asked at all.
pub fn stopped(message: String) -> Failure {
    Failure::new(Status::Refused, message)
}

/// What the contract refuses.
pub fn refused(error: wit::EditError) -> Failure {
    Failure::refused(error, None)
}

/// Opens a model's graph for edits. Until the editor is judged or freed nothing else may be done with the model; all calls on it are made by
/// this thread.
///
/// # Safety
///
/// `editor` points to a place for an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_editor_open(model: Id, editor: *mut Id) -> Status {
    call(|| {
        place(editor, "editor")?;
        let opened = Editor::open(handles::model(model)?)?;
        let made = add(Object::Editor(Arc::new(Mutex::new(opened))))?;
        // SAFETY: a place for an id, as the caller promises.
        unsafe { give(editor, made, "editor") }
    })
}

/// Frees all texts and lists that calls on this editor have given. They last until here, or until the editor is freed.
#[unsafe(no_mangle)]
pub extern "C" fn airlock_editor_release(editor: Id) -> Status {
    call(|| {
        let editor = handles::editor(editor)?;
        let mut editor = lock(&editor)?;
        own(&editor)?;
        editor.arena.release();
        Ok(())
    })
}

/// Ends the edits: they are judged, as a pass's are, and stand or are taken back. The editor is of no more use but to be freed.
///
/// # Safety
///
/// `report` points to a place for an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_editor_judge(editor: Id, report: *mut Id) -> Status {
    call(|| {
        place(report, "report")?;
        let editor = handles::editor(editor)?;
        let mut editor = lock(&editor)?;
        own(&editor)?;
        let made = add(Object::Report(Arc::new(editor.judge()?)))?;
        // SAFETY: a place for an id, as the caller promises.
        unsafe { give(report, made, "report") }
    })
}
