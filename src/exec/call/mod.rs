//! One call: bound, typed by its rule, computed by its kernel.
//!
//! - `session`: what a run holds beside values, and the call; `cx`: a call as its kernel sees it; `operands`: values as arguments;
//! - `overlap`: what a call may not write; `memory`: whether there is room for it.

pub(in crate::exec) mod cx;
pub(in crate::exec) mod memory;
pub(in crate::exec) mod operands;
pub(in crate::exec) mod overlap;
pub(in crate::exec) mod session;
