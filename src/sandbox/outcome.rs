//! What a run came to.

use serde::{Deserialize, Serialize};

use super::{LogLine, PassFault};
use crate::editor::Editor;

/// What a pass says of itself. Texts are escaped and bounded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Info {
    /// Its name: lower case, digits and dashes.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The grants that it asks for.
    pub needs: Vec<String>,
    /// One line for people.
    pub about: String,
}

/// A run that is over, with the editor it was given.
#[derive(Debug)]
pub struct PassRun {
    /// The graph: edited where the pass ended well, else as it was before the run.
    pub editor: Editor,
    /// How the run ended.
    pub ended: Ended,
    /// What it used.
    pub usage: Usage,
    /// What it wrote to the log.
    pub log: Vec<LogLine>,
    /// How many more lines it wrote than were kept.
    pub log_dropped: u64,
}

/// How a run ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Ended {
    /// The pass edited the graph.
    Changed(Said),
    /// It did not.
    Unchanged(Said),
    /// It failed, and its edits are undone.
    Faulted(PassFault),
}

/// What a pass that ended well says of its run. It is no evidence of anything.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Said {
    /// Whether it says that it edited the graph.
    pub changed: bool,
    /// One line for people, escaped; or empty.
    pub note: String,
}

/// What a run used, and might have used.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Usage {
    /// Fuel.
    pub fuel: u64,
    /// Fuel that there was.
    pub fuel_limit: u64,
    /// Bytes of linear memory at the end: memories never shrink.
    pub memory_bytes: u64,
    /// Bytes that there might have been.
    pub memory_limit: u64,
    /// Bytes of host memory that calls filled, as the host counts them.
    pub host_bytes: u64,
    /// Bytes that they might have filled.
    pub host_limit: u64,
    /// Calls of the host.
    pub calls: u64,
    /// Milliseconds from making the store to dropping it.
    pub sandbox_ms: f64,
}
