//! What a verdict rests on, as data that is replayed without the search. Trusted.
//!
//! The theorem of a certificate: *under what it states, the second graph means what the first means, at the level that it states*. It holds what
//! identifies both graphs, under which conditions they were judged, and the steps: pairs of values, each with the level at which rules show
//! them equal once those before it are. Whoever replays it finds the terms of both whole graphs, shows each step by rules alone and where it
//! stands, and asks every question again; nothing is searched for, and no journal is read.
//!
//! - `evidence`: what one answer rests on; `format`: the file; `digest`: what identifies a graph.
//!
//! Promises: a certificate is never believed: a step that rules do not show refuses it, and so does a word of it that the replay does not find
//! again. Leaves the replay to `verify/replay.rs`, which shares the making of terms and the rules with the judge, and none of its search.

mod digest;
mod evidence;
mod format;

pub use digest::{GraphDigest, ranges};
pub use evidence::Evidence;
pub use format::{Answered, Certificate, CertificateError, Conditions, Position, Rests, Step, Version};
