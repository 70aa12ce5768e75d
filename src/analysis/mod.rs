//! Facts about a Graph that many need.

pub mod form;
