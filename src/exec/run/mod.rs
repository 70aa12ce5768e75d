//! A run: a whole graph on given inputs.
//!
//! - `program`: node by node, in list order; `control`: calls that run bodies or other operators;
//! - `inputs`: what a run begins with; `sample`: inputs and weights of a seed; `wide`: a whole run in other floats;
//! - `tiles`, `tiled`: calls that run together, some rows at a time;
//! - `beside`: two graphs on the same inputs.

pub(in crate::exec) mod autocast;
pub(in crate::exec) mod beside;
pub(in crate::exec) mod control;
pub(in crate::exec) mod inputs;
pub(in crate::exec) mod program;
pub(in crate::exec) mod sample;
pub(in crate::exec) mod tiled;
pub(in crate::exec) mod tiles;
pub(in crate::exec) mod wide;
