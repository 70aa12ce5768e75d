//! Components for tests: from core modules in WAT (`README.md`), or from component text.

use std::path::{Path, PathBuf};

use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::Resolve;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/components")
}

/// Returns the component of the file of that name.
pub fn hostile(name: &str) -> Vec<u8> {
    let path = folder().join(format!("{name}.wat"));
    component(&std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// Returns a component of the inside of a core module; what it does not export of the world is added.
pub fn component(inside: &str) -> Vec<u8> {
    encode(inside, StringEncoding::UTF8)
}

/// The newest contract, for components that name it; all others are of the first.
const NEWEST: &str = "0.1.1";
const FIRST: &str = "0.1.0";

/// The same with another encoding of strings.
pub fn encode(inside: &str, encoding: StringEncoding) -> Vec<u8> {
    let version = if inside.contains(&format!("@{NEWEST}")) { NEWEST } else { FIRST };
    let mut module = format!("(module\n{inside}\n");
    for (export, file) in
        [("\"memory\"", "memory"), ("\"cabi_realloc\"", "realloc"), ("#describe\"", "describe"), ("#run\"", "run")]
    {
        let exports = format!("(export {export}");
        if !inside.contains(if export.starts_with('#') { export } else { &exports }) {
            let default = std::fs::read_to_string(folder().join(format!("defaults/{file}.wat"))).unwrap();
            module += &default.replace(&format!("@{FIRST}"), &format!("@{version}"));
        }
    }
    module.push(')');
    let mut wasm = wat::parse_str(&module).unwrap_or_else(|e| panic!("{e}\n{module}"));
    let mut resolve = Resolve::default();
    let wit = std::fs::read_to_string(folder().join(format!("../../wit/released/{version}/airlock-pass.wit"))).unwrap();
    let package = resolve.push_str("airlock-pass.wit", &wit).unwrap();
    let world = resolve.select_world(&[package], Some("graph-pass")).unwrap();
    wit_component::embed_component_metadata(&mut wasm, &resolve, world, encoding).unwrap();
    ComponentEncoder::default().validate(true).module(&wasm).unwrap().encode().unwrap()
}
