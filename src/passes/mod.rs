//! Passes that need no component: those that Airlock runs by itself between a user's `pre` and `post` passes.
//!
//! Promises: they edit through the Editor like any other pass, and are judged like any other: nothing here is believed.

mod dead_code;
mod noop;

use crate::editor::{EditError, Editor};

pub use dead_code::remove_dead_code;
pub use noop::remove_noop_ops;

/// A pass of Airlock's own.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Name, as the configuration switches it.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// The pass.
    pub run: fn(&mut Editor) -> Result<(), EditError>,
}

/// All built-in passes, in the order in which they run.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "remove_noop_ops",
        about: "removes operators that return their operand as it is",
        run: remove_noop_ops,
    },
    BuiltIn {
        name: "remove_dead_code",
        about: "removes nodes that nobody uses and that leave no trace",
        run: remove_dead_code,
    },
];
