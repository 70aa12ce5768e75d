//! File formats that hold graphs: read and write, nothing else.

pub mod pt2;
pub mod text;
