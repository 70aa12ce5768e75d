//! `airlock exec`: runs a model on the CPU.
//!
//! - `feed`: inputs, from a recording or a seed; weights of a text model that has none;
//! - `compare`: outputs against recorded ones;
//! - `nodes`: two graphs on the same inputs, node by node;
//! - `command`: the command itself.

mod command;
mod compare;
mod feed;
mod nodes;

pub use command::{ExecArgs, exec};
