//! Airlock lets people who did not write your compiler change the graphs that it compiles, without being able to break them.
//!
//! A pass is a WebAssembly component. The host owns the graph; the pass edits it through a WIT interface; what it leaves
//! behind is judged for the same meaning, and only then lowered to the NPU. `docs/architecture.md` is the map.
//!
//! Modules are layers: each uses those below it (`tests/it/layers.rs` holds the table).

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

pub mod sym;

pub mod graph;

pub mod contract;
pub mod ops;

pub mod editor;
pub mod term;

pub mod analysis;
pub mod exec;

pub mod formats;
pub mod functionalize;
pub mod passes;
pub mod rules;

pub mod golden;
pub mod lower;

pub mod certificate;

pub mod verify;

pub mod guest;
pub mod sandbox;

pub mod pipeline;

pub mod report;

pub mod cli;
