//! The Graph: FX's graph, stored in columns.
//!
//! An ordered list of nodes, each with a target, args, kwargs, a name and a type; multi-output operators give a tuple and
//! `getitem`; sub-graphs ("bodies") are reached through get_attr nodes. Everything that Airlock knows of a model before
//! it knows any operator lives here: ids, types, arguments, order, users, signature, weights.
//!
//! Promises:
//! - a stale [`NodeId`] is never another node: ids carry a generation;
//! - users, names and order labels agree with rows and list after every call;
//! - "is a before b" is one comparison; appending, inserting, unlinking are amortised O(log n).
//!
//! Leaves to others: what operators mean (`ops`), checked changes with undo (`editor`), files (`formats`).

mod arg;
mod build;
mod cut;
mod dtype;
mod entry;
mod ids;
mod image;
mod log;
mod model;
mod names;
mod node;
mod order;
mod read;
mod reduce;
mod replace;
mod same_body;
mod signature;
mod types;
mod users;
mod weights;

pub use arg::{Arg, NodesIn};
pub use build::{Graph, InputLayout, NewNode};
pub use cut::{StandIn, region};
pub use dtype::{Device, Dtype, Layout, MemoryFormat};
pub use ids::{BodyId, Interner, NodeId, StrId};
pub(crate) use log::Log;
pub use model::{Envelope, Model, OpaqueForm, SymText};
pub use node::{Hearsay, Meta, MetaEntry, NodeKind, Row, Span};
pub use order::Link;
pub use read::{Nodes, Operands, View};
pub use reduce::{Reduced, reduce};
pub use replace::{put, replace, replaced_in};
pub use signature::{InputKind, InputSpec, OutputKind, OutputSpec, Signature};
pub use types::{TensorType, ValueType};
pub use users::Users;
pub use weights::{Bytes, Weight, WeightError, Weights};
