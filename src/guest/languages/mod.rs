//! A language a file: finding its toolchain, and making a component with it.

pub mod c;
mod cargo;
pub mod rust;
mod rustc;

pub use rustc::cache_folder;
