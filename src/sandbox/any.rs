//! A pass, wherever its code runs.

use super::{Info, Job, Pass, PassFault, PassRun};
use crate::contract::Limits;
use crate::editor::Editor;

/// A pass that can be run, here or by workers.
pub enum AnyPass<'e> {
    /// In this process.
    Here(Pass<'e>),
    /// In processes of its own.
    #[cfg(target_os = "linux")]
    Apart(Box<super::worker::WorkerPass>),
}

impl AnyPass<'_> {
    /// Returns the name under which it was loaded.
    pub fn label(&self) -> &str {
        match self {
            AnyPass::Here(pass) => pass.label(),
            #[cfg(target_os = "linux")]
            AnyPass::Apart(pass) => pass.label(),
        }
    }

    /// Asks the pass what it is.
    pub fn describe(&mut self, limits: &Limits) -> Result<Info, PassFault> {
        match self {
            AnyPass::Here(pass) => pass.describe(limits),
            #[cfg(target_os = "linux")]
            AnyPass::Apart(pass) => pass.describe(limits),
        }
    }

    /// Runs the pass once over the editor's graph.
    pub fn run(&mut self, editor: Editor, job: Job, limits: &Limits) -> PassRun {
        match self {
            AnyPass::Here(pass) => pass.run(editor, job, limits),
            #[cfg(target_os = "linux")]
            AnyPass::Apart(pass) => pass.run(editor, job, limits),
        }
    }
}
