//! Facts about a graph that many need: which values share memory, which writes they see, which stream a node runs in.
//!
//! - `call`: what one call does with its arguments as they stand; `results`: where results of bodies lie;
//! - `form`: what is wrong with the form of a graph;
//! - `place`: the values of a graph, results of multi-output calls told apart;
//! - `sharing`: whether a result lies in an operand's memory;
//! - `storage`: storages, their versions, and what may overlap;
//! - `streams`: scopes, labels, events;
//! - `effects_of`: what a call does beside computing its results, as a pass is told.
//!
//! Promises: facts are found where they are asked for and cost what they look at; nothing recurses; what cannot be
//! decided is said to be undecided. Leaves judging to `verify`.

pub mod call;
mod effects_of;
pub mod form;
mod place;
mod results;
mod sharing;
mod storage;
mod streams;

pub use effects_of::{CallEffects, EffectsOf, ResultMemory, SharedResult, effects_of_target};
pub use place::{GETITEM, Place, carriers, getitem_of, place_of, places_of, type_of};
pub use sharing::{Home, Shares, aliases, contiguous, home_of, tensor_operands};
pub use storage::{Event, FINAL_ORDER, Group, MayAlias, Stamp, Storages, bodies_called, inputs_by_name, placeholders};
pub use streams::{Fault, STREAM_LABEL, StreamFault, StreamOperator, Streams, mentions_streams, stream_operator};
