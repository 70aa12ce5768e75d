//! From a core module to a component.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::contract;

/// Wraps a core module that carries the types of its world, as `wit-bindgen` for Rust writes them.
pub fn componentize(module: &[u8]) -> Result<Vec<u8>, String> {
    let encoder = ComponentEncoder::default().module(module);
    let encoded = encoder.and_then(|encoder| encoder.validate(true).encode());
    encoded.map_err(|error| format!("{error:#}"))
}

/// Wraps a core module that was built against the contract and carries no types.
pub fn componentize_untyped(mut module: Vec<u8>) -> Result<Vec<u8>, String> {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("airlock-pass.wit", contract::WIT).map_err(|e| format!("{e:#}"))?;
    let world = resolve.select_world(&[package], Some("graph-pass")).map_err(|e| format!("{e:#}"))?;
    let embedded = embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8);
    embedded.map_err(|error| format!("{error:#}"))?;
    componentize(&module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Limits;

    #[test]
    fn a_module_without_a_world_is_no_pass() {
        let module = wat::parse_str("(module)").unwrap();
        let component = componentize(&module).unwrap();
        let error = contract::check("p", &component, &Limits::default()).unwrap_err();
        assert!(matches!(error, contract::LoadError::MissingExport { .. }), "{error}");
    }

    #[test]
    fn a_module_with_an_unknown_import_does_not_become_a_component() {
        let module = wat::parse_str("(module (import \"env\" \"open\" (func)))").unwrap();
        for reason in [componentize(&module).unwrap_err(), componentize_untyped(module).unwrap_err()] {
            assert!(reason.contains("env") || reason.contains("export"), "{reason}");
        }
    }
}
