//! Write Airlock passes in Rust.
