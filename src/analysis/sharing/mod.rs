//! Shared memory: one relation, whoever asks first, bodies of calls looked into.
//!
//! - `place`: a result of a call, told apart from its tuple;
//! - `may_share`: in which operands' memory a result lies, surely or maybe; `results`: the same of results of bodies;
//! - `storages`: which values share memory, which writes it sees, and since when; `idle`: which of them have no say in what others hold.

mod idle;
pub(in crate::analysis) mod may_share;
pub(in crate::analysis) mod place;
pub(in crate::analysis) mod results;
pub(in crate::analysis) mod storages;
