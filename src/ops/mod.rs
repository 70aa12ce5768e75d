//! The registry: what Airlock knows of operators. Schema, effects, type rule and facts of each.
//!
//! - `schema`, `schema_text`: PyTorch's schemas, read and printed;
//! - `table`, `schemas/*.txt`: the operators, one a line; `file`: more of them from an operator file;
//! - `facts`: what marks state for the judge; `hearsay`: what of a type is an annotation's word;
//! - `effects`: what a call reads, writes, shares, draws and does;
//! - `bind`, `call`: arguments of a call by parameter, with typed access;
//! - `registry`, `infer`, `check`: lookup, the type of a call, the types of a whole graph;
//! - `sizes`, `layout`, `promote`, `out`: what rules are made of;
//! - `require`, `needs_*`: what calls must fulfil before a rule is asked;
//! - `decompose`: what operators are in more basic ones;
//! - one file a family of rules, listed in `rules`.
//!
//! Promises: a known operator's type is its rule's; what cannot be decided about symbols is never called a contradiction; adding an
//! operator is adding a line to a table and, for a type rule, an entry to its family.
//! Leaves kernels to `exec`, lowering to `lower`, storages to `analysis`.

mod bind;
mod blurred;
mod call;
mod check;
mod decompose;
mod effects;
mod error;
mod facts;
mod file;
mod hearsay;
mod infer;
mod layout;
mod lowering;
mod operator;
mod out;
mod promote;
mod registry;
mod require;
mod rules;
mod schema;
mod schema_text;
mod sizes;
mod table;

mod attention;
mod compare;
mod control;
mod conv;
mod create;
mod einsum;
mod foreach;
mod fourier;
mod gradient;
mod index;
mod matmul;
mod movement;
mod needs_dtype;
mod needs_index;
mod needs_make;
mod needs_math;
mod needs_nn;
mod needs_norm;
mod needs_shape;
mod norm;
mod npu;
mod npu_attention;
mod npu_cache;
mod npu_moe;
mod npu_quant;
mod pointwise;
mod pool;
mod random;
mod reduce;
mod sort;
mod split;
mod stream;
mod symbolic;
mod view;

pub use bind::Bound;
pub use call::{Call, Number, Operand};
pub use check::{Problem, TypeProblem, contradicts};
pub use decompose::{Exactness, Expansion};
pub use effects::{Access, Effects, Marks, ReturnAlias, Sharing, SideEffect};
pub use error::{Fault, TypeError};
pub use facts::{ArgumentIs, Facts, Given, PLAIN, SameAs, SharesWhen, Total, ViewStep, fits_plainly};
pub use file::{FileError, FileProblem};
pub use infer::CallSite;
pub use layout::{Viewed, contiguous as contiguous_strides, is_contiguous, view as view_strides};
pub use lowering::{Lowering, LoweringError};
pub use operator::{Meaning, Operator, Rule};
pub use promote::{Promotion, promote as promote_types};
pub use registry::Registry;
pub use schema::{Alias, Base, Default as ParamDefault, Param, Return, Schema, SchemaType, Suffix};
pub use schema_text::SchemaError;
pub use table::TableError;
