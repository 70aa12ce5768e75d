//! Facts about a graph that many need: which values share memory, which writes they see, which stream a node runs in.
//!
//! - `form`: what is wrong with the form of a graph;
//! - `place`: the values of a graph, results of multi-output calls told apart;
//! - `sharing`: whether a result lies in an operand's memory;
//! - `storage`: storages, their versions, and what may overlap;
//! - `streams/`: scopes, labels, events, what they order, and what should be ordered.
//!
//! Promises: facts are found where they are asked for and cost what they look at; nothing recurses; what cannot be
//! decided is said to be undecided. Leaves judging to `verify`.

pub mod form;
mod place;
mod sharing;
mod storage;
pub mod streams;

pub use place::{GETITEM, Place, carriers, getitem_of, place_of, places_of, type_of};
pub use sharing::{Home, Shares, aliases, contiguous, home_of, tensor_operands};
pub use storage::{Event, FINAL_ORDER, Group, MayAlias, Stamp, Storages, bodies_called, inputs_by_name, placeholders};
