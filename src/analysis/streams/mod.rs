//! Streams: which node runs where, what orders nodes, and what should be ordered.
//!
//! - `scopes`: scopes and labels; the only reader of them;
//! - `events`: what records and waits name;
//! - `accesses`: what a call does to memory;
//! - `order`: what runs before what, by mode;
//! - `region`: which bytes of a storage a view takes;
//! - `conflicts`: accesses that must be ordered and are not;
//! - `lifetime`: memory that is handed out again too early.
//!
//! Leaves judging to `verify`.

mod accesses;
mod conflicts;
mod events;
mod lifetime;
mod order;
mod region;
mod scopes;

pub use accesses::{Accesses, Does, Touch, Work};
pub use conflicts::{Conflict, Conflicts, Kind, MAX_CONFLICTS};
pub use events::{Action, On, Tag};
pub use lifetime::{Reuse, reuses};
pub use order::{MAX_STREAMS, Order, Rules, Step, TooManyStreams};
pub use region::{Meeting, Region};
pub use scopes::{
    Member, STREAM_LABEL, Scope, ScopeFault, Scopes, StreamFault, StreamId, StreamOperator, Streams, mentions_streams,
    stream_operator,
};
