//! From a core module to a component.

use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::contract;

/// Returns a module without its debug information; `None` where it has none. Names of functions stay: they are in messages.
pub fn without_debug(module: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut kept = module.get(..8).unwrap_or_default().to_vec();
    let mut has_debug = false;
    let mut at = kept.len();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.map_err(|e| e.to_string())?;
        let end = match &payload {
            Payload::CustomSection(custom) => custom.range().end,
            Payload::CodeSectionStart { range, .. } => range.end,
            other => other.as_section().map_or(at, |(_, range)| range.end),
        };
        match payload {
            Payload::CustomSection(custom) if custom.name().starts_with(".debug_") => has_debug = true,
            _ => kept.extend_from_slice(module.get(at..end).unwrap_or_default()),
        }
        at = at.max(end);
    }
    Ok(has_debug.then_some(kept))
}

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
    fn a_module_without_its_debug_information_is_else_the_same() {
        let text = |debug: &str| format!("(module (func (export \"f\") nop) {debug} (@custom \"producers\" \"x\"))");
        let plain = wat::parse_str(text("")).unwrap();
        let with = wat::parse_str(text("(@custom \".debug_line\" \"abc\") (@custom \".debug_str\" \"\")")).unwrap();
        assert!(with.len() > plain.len());
        assert_eq!(without_debug(&with).unwrap(), Some(plain.clone()));
        assert_eq!(without_debug(&plain).unwrap(), None);
        assert!(without_debug(b"\0asm\x01\0\0\0\x01").is_err());
    }

    #[test]
    fn a_module_with_an_unknown_import_does_not_become_a_component() {
        let module = wat::parse_str("(module (import \"env\" \"open\" (func)))").unwrap();
        for reason in [componentize(&module).unwrap_err(), componentize_untyped(module).unwrap_err()] {
            assert!(reason.contains("env") || reason.contains("export"), "{reason}");
        }
    }
}
