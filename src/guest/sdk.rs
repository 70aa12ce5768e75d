//! The SDK's own sources, carried along: a new pass gets a copy, so that it builds anywhere.

use crate::contract;

/// Paths below the copy's folder, with contents. The SDK finds the contract at `../../wit`.
pub const FILES: &[(&str, &str)] = &[
    ("wit/airlock-pass.wit", contract::WIT),
    ("sdk/rust/Cargo.toml", include_str!("../../sdk/rust/Cargo.toml")),
    ("sdk/rust/README.md", include_str!("../../sdk/rust/README.md")),
    ("sdk/rust/src/arg.rs", include_str!("../../sdk/rust/src/arg.rs")),
    ("sdk/rust/src/bindings.rs", include_str!("../../sdk/rust/src/bindings.rs")),
    ("sdk/rust/src/call.rs", include_str!("../../sdk/rust/src/call.rs")),
    ("sdk/rust/src/edits.rs", include_str!("../../sdk/rust/src/edits.rs")),
    ("sdk/rust/src/effects.rs", include_str!("../../sdk/rust/src/effects.rs")),
    ("sdk/rust/src/error.rs", include_str!("../../sdk/rust/src/error.rs")),
    ("sdk/rust/src/graph.rs", include_str!("../../sdk/rust/src/graph.rs")),
    ("sdk/rust/src/host.rs", include_str!("../../sdk/rust/src/host.rs")),
    ("sdk/rust/src/lib.rs", include_str!("../../sdk/rust/src/lib.rs")),
    ("sdk/rust/src/node.rs", include_str!("../../sdk/rust/src/node.rs")),
    ("sdk/rust/src/pass.rs", include_str!("../../sdk/rust/src/pass.rs")),
    ("sdk/rust/src/snapshot.rs", include_str!("../../sdk/rust/src/snapshot.rs")),
    ("sdk/rust/src/texts.rs", include_str!("../../sdk/rust/src/texts.rs")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_every_source_of_the_sdk() {
        let src = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/rust/src");
        for entry in src.read_dir().unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("sdk/rust/src/{name}");
            assert!(FILES.iter().any(|(file, _)| *file == path), "{path} is missing");
        }
    }
}
