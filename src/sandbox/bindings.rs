//! What `bindgen!` makes of the contract for the host: types, and a trait for each imported interface.

#![allow(missing_docs, unsafe_code, clippy::all, clippy::arithmetic_side_effects, clippy::indexing_slicing)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::string_slice)]

wasmtime::component::bindgen!({
    path: "wit",
    world: "graph-pass",
    imports: { default: trappable },
});
