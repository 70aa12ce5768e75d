//! `libairlock`: Airlock for compilers in C and C++. `include/airlock.h` is made of this crate; `README.md` tells how it is used.
//!
//! - `status`: what a call gives, and the error behind it; `handles`: ids of objects; `texts`: texts and lists on their way;
//! - `host`: settings; `model`, `pass`, `run`: the main job; `editor`: a graph that the program edits itself, in the words of the contract:
//!   `types`, `reading`, `editing`.
//!
//! Promises: no call crashes on what it is given, as long as pointers point where they say: null, an id that was freed or is of
//! another kind, a number that means nothing, and a text that is no UTF-8 are errors; a panic inside is one too. Every object may be
//! used from every thread, one call at a time (a second one waits); an editor belongs to the thread that opened it.
//! `unsafe` is what C's pointers need: each block says what it relies on.

mod arena;
mod editing;
mod editor;
mod handles;
mod host;
mod model;
mod pass;
mod reading;
mod run;
mod status;
mod texts;
mod types;
