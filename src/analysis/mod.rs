//! Facts about a graph that many need: which values share memory, which writes they see, which stream a node runs in.
//!
//! - `call`: what one call does with its arguments as they stand;
//! - `form`: what is wrong with the form of a graph;
//! - `sharing/`: the values of a graph, which memory they lie in, its versions, and what may overlap;
//! - `effects_of`: what a call does beside computing its results, as a pass is told;
//! - `streams/`: scopes, labels, events, what they order, and what should be ordered.
//!
//! Promises: facts are found where they are asked for and cost what they look at; nothing recurses; what cannot be
//! decided is said to be undecided. Leaves judging to `verify`.

pub mod call;
mod effects_of;
pub mod form;
mod sharing;
pub mod streams;

pub use effects_of::{CallEffects, EffectsOf, ResultMemory, SharedResult, effects_of_target};
pub use sharing::may_share::{Home, Shares, aliases, contiguous, home_of, tensor_operands};
pub use sharing::place::{GETITEM, Place, carriers, getitem_of, place_of, places_of, type_of};
pub use sharing::storages::{
    Event, FINAL_ORDER, Group, MayAlias, Stamp, Storages, bodies_called, inputs_by_name, placeholders,
};
