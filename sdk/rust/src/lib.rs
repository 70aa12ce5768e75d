//! Write Airlock passes in Rust, with the words of `torch.fx`.
//!
//! A pass is a function over a [`Graph`]. [`pass!`] makes a component of it; name, version and description are those of
//! the crate. This one is whole:
//!
//! ```
//! use airlock_pass::{Graph, Outcome, Result, pass};
//!
//! /// Negating twice is the identity.
//! fn run(graph: Graph) -> Result<Outcome> {
//!     let mut edits = 0;
//!     for outer in graph.find_nodes("aten.neg.default") {
//!         let inner = outer.input(0)?;
//!         if inner.is_call("aten.neg.default") {
//!             outer.replace_all_uses_with(inner.input(0)?)?;
//!             outer.erase()?;
//!             edits += 1;
//!         }
//!     }
//!     Ok(Outcome::edits(edits))
//! }
//!
//! pass!(run);
//! # fn main() {}
//! ```
//!
//! `airlock build` turns the crate (a `cdylib`) into `NAME.wasm`, and `airlock run MODEL --pass NAME.wasm` runs it.
//!
//! | FX | here |
//! |---|---|
//! | `for n in graph.nodes` | `for n in graph.nodes()` |
//! | `graph.find_nodes(op="call_function", target=t)` | [`graph.find_nodes(t)`](Graph::find_nodes) |
//! | `with graph.inserting_before(n): graph.call_function(t, args)` | [`graph.inserting_before(n).call_function(t, args)?`](InsertionPoint::call_function) |
//! | `n.replace_all_uses_with(m)` | [`n.replace_all_uses_with(m)?`](Node::replace_all_uses_with) |
//! | `graph.erase_node(n)` | [`graph.erase_node(n)?`](Graph::erase_node) |
//! | `n.args`, `n.kwargs`, `n.users`, `n.target`, `n.meta["val"]` | [`n.args()?`](Node::args), [`n.kwargs()?`](Node::kwargs), [`n.users()?`](Node::users), [`n.target()?`](Node::target), [`n.value_type()?`](Node::value_type) |
//!
//! * **Targets** are spelled as in the text form: `aten.mm.default`, `air.record.default`, `npu.npu_rms_norm.default`, and
//!   `_operator.getitem`, `_operator.mul` for Python's own. A leading `torch.ops.` is ignored.
//! * **Errors** are values ([`Error`]) with code, node and argument. A pass that returns one leaves the graph as it was.
//! * **Long passes** read the whole graph at once ([`Graph::read`]) and edit in batches ([`Edits`]): the same words, a
//!   hundred times cheaper on graphs of many thousand nodes.
//! * **What an operator does** (writes, shares memory, draws, raises) is asked, not listed: [`Graph::effects_of`], for a whole
//!   graph in one call.
//! * Outside of a component the calls to the host are not there: unit tests can use [`Arg`], [`Snapshot::from_columns`]
//!   and the like, but not [`Graph`].

#![warn(missing_docs)]

pub mod bindings;

mod arg;
mod call;
mod edits;
mod effects;
mod error;
mod graph;
pub mod host;
mod node;
mod pass;
mod snapshot;
mod texts;

pub use arg::{IntoArgs, device, dtype, layout, memory_format, operator};
pub use bindings::airlock::pass::graph::{Columns, Effects, Relation, SharedOperand, Sharing, SideEffect};
pub use bindings::airlock::pass::types::{
    Arg, Dim, EditCode, EditError, ElementType, NamedArg, NodeKind, Scalar, TensorType,
};
pub use call::{Call, InsertionPoint};
pub use edits::Edits;
pub use effects::EffectsTable;
pub use error::{Error, Result};
pub use graph::{Graph, known, range_of};
pub use node::{Node, ValueType};
pub use pass::Outcome;
#[doc(hidden)]
pub use pass::exported;
pub use snapshot::{NodeRef, Operand, Snapshot};
