//! The contract's interface `graph` for a program that edits by itself, without a component: the same calls and the same checks.
//!
//! Promises: a call does what it does for a guest, ids are checked at each, and a refused edit changes nothing; there is no fuel and no
//! bound on memory, which are a guest's, and a day of time. Leaves to its user to have the edits judged.

use super::bindings::airlock::pass::{graph, types};
use super::host::{Host, Job};
use crate::contract::Limits;
use crate::editor::Editor;

/// The contract's types and calls, as the generator makes them.
#[doc(hidden)]
pub mod wit {
    pub use super::graph::*;
    pub use super::types::{
        Arg, Dim, EditCode, EditError, ElementType, NamedArg, NodeKind, Scalar, TensorType, ValueType,
    };
}

/// An editor behind the contract's calls.
pub struct Calls {
    host: Host,
}

impl Calls {
    /// Takes an editor.
    pub fn new(editor: Editor) -> Self {
        let limits = Limits {
            time_seconds: f64::from(u32::MAX),
            host_bytes: u64::MAX,
            call_bytes: u64::MAX,
            ..Limits::default()
        };
        let mut host = Host::new(editor, Job::default(), &limits);
        host.is_open = true;
        Self { host }
    }

    /// Makes one call; an error is why it may not be made at all, for people.
    pub fn call<T>(&mut self, call: impl FnOnce(&mut Host) -> wasmtime::Result<T>) -> Result<T, String> {
        call(&mut self.host).map_err(|stop| format!("{stop:#}"))
    }

    /// Returns the editor.
    pub fn editor(&self) -> &Editor {
        &self.host.editor
    }

    /// Gives the editor back.
    pub fn into_editor(self) -> Editor {
        let mut editor = self.host.editor;
        editor.limit_work(u64::MAX, None);
        editor
    }
}
