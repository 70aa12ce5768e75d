//! The registry: what Airlock knows of operators. Schema, effects, type rule and facts of each.
//!
//! - `schema`: PyTorch's schemas, read and printed, and arguments bound to them;
//! - `registry`: operators by name, read from `schemas/*.txt` (one a line) and from operator files;
//! - `facts`: what a call reads, writes, shares, draws and does, and what marks state for the judge;
//! - `typing`: the type of a call and the types of a whole graph, what of them is an annotation's word, and what rules are made of;
//! - `families`: type rules, one file a family, and what calls must fulfil before a rule is asked;
//! - `decompose`: what operators are in more basic ones.
//!
//! Promises: a known operator's type is its rule's; what cannot be decided about symbols is never called a contradiction; adding an
//! operator is adding a line to a table and, for a type rule, an entry to its family.
//! Leaves kernels to `exec`, lowering to `lower`, storages to `analysis`.

mod decompose;
mod error;
mod facts;
mod families;
mod registry;
mod schema;
mod typing;

pub use decompose::{Exactness, Expansion};
pub use error::{CallFault, TypeError};
pub use facts::autocast::{Policy as AutocastPolicy, is_cast as is_autocast, policy as autocast_policy};
pub use facts::effects::{Access, Effects, Marks, ReturnAlias, Sharing, SideEffect};
pub use facts::{
    ArgumentIs, Contracts, Facts, Functionalizes, Given, Grid, PLAIN, SameAs, SharesWhen, Total, ViewStep,
    fits_plainly, parts_of,
};
pub use registry::Registry;
pub use registry::file::{FileError, FileProblem};
pub use registry::lowering::{Lowering, LoweringError};
pub use registry::operator::{Meaning, Operator, Rule};
pub use registry::table::TableError;
pub use schema::bind::Bound;
pub use schema::text::SchemaError;
pub use schema::{Alias, Base, Default as ParamDefault, Param, Return, Schema, SchemaType, Suffix};
pub use typing::call::{Call, Number, Operand, memory_format_of};
pub use typing::check::{Problem, TypeProblem, contradicts};
pub use typing::infer::CallSite;
pub use typing::layout::{contiguous as contiguous_strides, is_contiguous, lies_in_rows};
pub use typing::promote::{Promotion, promote as promote_types};
pub use typing::viewed::{Viewed, has_view, has_view_of_reshape, view as view_strides};
