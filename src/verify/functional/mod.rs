//! The functional form: what each value is, as a term.
//!
//! - `values`: the values of both graphs, found when asked for; `key`: where;
//! - `views`, `identities`: which calls are index maps, or one of their operands;
//! - `writes`, `memory`: what storages hold after a write, and storages that may overlap;
//! - `functionalized`: calls that stand for a call that writes, on copies;
//! - `layout`: how values lie; `bodies`: sub-graphs by structure;
//! - `position`: how a certificate names a value.

pub(in crate::verify) mod bodies;
pub(in crate::verify) mod functionalized;
pub(in crate::verify) mod identities;
pub(in crate::verify) mod key;
pub(in crate::verify) mod layout;
pub(in crate::verify) mod memory;
pub(in crate::verify) mod position;
pub(in crate::verify) mod values;
pub(in crate::verify) mod views;
pub(in crate::verify) mod writes;
