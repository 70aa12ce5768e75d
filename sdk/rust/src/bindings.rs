//! What `wit-bindgen` makes of the contract: types and raw calls, as WIT names them.
//!
//! The rest of the crate is a face over this module. A pass needs it only for what the face does not have.

#![allow(missing_docs)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "graph-pass",
    pub_export_macro: true,
    default_bindings_module: "airlock_pass::bindings",
    additional_derives: [PartialEq],
});
