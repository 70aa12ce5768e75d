//! File formats that hold graphs: read and write, nothing else.

pub mod like;
mod map;
pub mod operators;
pub mod pickle;
pub mod pt2;
pub mod python;
pub mod recording;
pub mod text;
mod unfinished;
pub mod weights;

pub use map::{map, map_file, write_whole};
pub use unfinished::{Unfinished, remove_all as remove_unfinished};
