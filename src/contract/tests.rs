//! What fits the contract, in every version that was released, and what does not.

use wit_parser::{Resolve, WorldId};

use crate::contract::{Contract, Limits, LoadError, Preflight, VERSION, WIT};

fn check(bytes: &[u8]) -> Result<Preflight, LoadError> {
    crate::contract::check("p", bytes, &Limits::default())
}

fn own_world() -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("airlock-pass.wit", WIT).unwrap();
    let world = resolve.select_world(&[package], Some("graph-pass")).unwrap();
    (resolve, world)
}

fn component(wit: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    for part in wit.split("=====") {
        resolve.push_str("test.wit", part).unwrap();
    }
    let world = resolve.worlds.iter().find(|(_, world)| world.name == "test").unwrap().0;
    let module = wit_component::dummy_module(&resolve, world, wit_parser::ManglingAndAbi::Standard32);
    let mut module = module;
    wit_component::embed_component_metadata(&mut module, &resolve, world, Default::default()).unwrap();
    let mut encoder = wit_component::ComponentEncoder::default().module(&module).unwrap().validate(true);
    encoder.encode().unwrap()
}

/// The contract as it was released, oldest first.
const RELEASED: [(&str, &str); 2] = [
    ("0.1.0", include_str!("../../wit/released/0.1.0/airlock-pass.wit")),
    ("0.1.1", include_str!("../../wit/released/0.1.1/airlock-pass.wit")),
];

fn with_contract(world: &str) -> Vec<u8> {
    component(&format!("{WIT}=====package test:test; world test {{ {world} }}"))
}

#[test]
fn the_contract_parses_and_has_its_world() {
    let (resolve, world) = own_world();
    let world = &resolve.worlds[world];
    let mut names: Vec<String> = world.imports.keys().map(|key| resolve.name_world_key(key)).collect();
    names.sort();
    let expected = ["constants", "graph", "host", "types"];
    assert_eq!(names, expected.map(|name| format!("airlock:pass/{name}@{VERSION}")));
    assert_eq!(Contract::current().unwrap().version, VERSION);
}

#[test]
fn every_item_of_the_contract_is_documented_and_says_since_when() {
    let (resolve, _) = own_world();
    let package = resolve.package_names.iter().find(|(name, _)| name.namespace == "airlock").unwrap().1;
    for (name, id) in &resolve.packages[*package].interfaces {
        let interface = &resolve.interfaces[*id];
        assert!(interface.docs.contents.is_some(), "{name}");
        for (item, function) in &interface.functions {
            assert!(function.docs.contents.is_some(), "{name}.{item}");
            assert_ne!(function.stability, wit_parser::Stability::Unknown, "{name}.{item}");
        }
        for (item, ty) in &interface.types {
            let ty = &resolve.types[*ty];
            let used = matches!(ty.kind, wit_parser::TypeDefKind::Type(wit_parser::Type::Id(_)));
            assert!(used || ty.docs.contents.is_some(), "{name}.{item}");
            assert_ne!(ty.stability, wit_parser::Stability::Unknown, "{name}.{item}");
        }
    }
}

#[test]
fn the_released_copy_of_this_version_is_what_was_released() {
    assert_eq!(RELEASED.last(), Some(&(VERSION, WIT)));
}

#[test]
fn a_version_has_every_line_of_the_one_before_it() {
    for pair in RELEASED.windows(2) {
        let [(_, older), (version, newer)] = pair else { panic!() };
        let mut lines = newer.lines();
        for line in older.lines().filter(|line| !line.starts_with("package ")) {
            assert!(lines.any(|l| l == line), "{version} lost or moved: {line}");
        }
    }
}

#[test]
fn a_pass_within_any_version_of_the_contract_fits() {
    for (version, wit) in RELEASED {
        let world =
            format!("import airlock:pass/graph@{version}; export airlock:pass/pass@{version}; export more: func();");
        let found = check(&component(&format!("{wit}=====package test:test; world test {{ {world} }}"))).unwrap();
        assert!(found.functions_used().contains(&"graph.read-columns".to_owned()));
        assert_eq!(found.functions_used().contains(&"graph.effects-of".to_owned()), version != "0.1.0");
        assert_eq!(found.exports, [&format!("airlock:pass/pass@{version}"), "more"]);
    }
}

#[test]
fn an_import_of_another_package_is_foreign() {
    let wit = format!(
        "{WIT}=====package wasi:clocks@0.2.0; interface wall-clock {{ now: func() -> u64; }}\
         =====package test:test; world test {{ import wasi:clocks/wall-clock@0.2.0; export airlock:pass/pass@{VERSION}; }}"
    );
    let import = "wasi:clocks/wall-clock@0.2.0".to_owned();
    assert!(matches!(check(&component(&wit)), Err(LoadError::ForeignImport { import: found, .. }) if found == import));
}

#[test]
fn a_bare_function_import_is_foreign() {
    let bytes = with_contract("import read-file: func() -> string; export airlock:pass/pass@0.1.1;");
    let import = "read-file".to_owned();
    assert!(matches!(check(&bytes), Err(LoadError::ForeignImport { import: found, .. }) if found == import));
}

#[test]
fn a_function_that_the_host_does_not_have_is_named() {
    let wit = "package airlock:pass@0.1.2; interface graph { teleport: func(); } interface pass { run: func(); }\
               =====package test:test; world test { import airlock:pass/graph@0.1.2; export airlock:pass/pass@0.1.2; }";
    let error = check(&component(wit)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "p: needs `graph.teleport` of airlock:pass@0.1.2; this Airlock offers airlock:pass@0.1.1, which does not have it: \
         build the pass against 0.1.1, or use a newer Airlock"
    );
}

#[test]
fn another_version_is_said_with_both_versions() {
    let wit = "package airlock:pass@0.2.0; interface pass { run: func(); }\
               =====package test:test; world test { export airlock:pass/pass@0.2.0; }";
    let error = check(&component(wit)).unwrap_err().to_string();
    assert!(error.contains("`pass` of airlock:pass@0.2.0") && error.contains("offers airlock:pass@0.1.1"), "{error}");
}

#[test]
fn a_component_that_exports_no_pass_is_none() {
    assert!(matches!(check(&with_contract("export run: func();")), Err(LoadError::MissingExport { .. })));
}

#[test]
fn bytes_that_are_no_component_are_said_to_be_none() {
    for bytes in [&b""[..], b"PK\x03\x04", b"\0asm\x01\0\0\0", b"\0asm\x0d\0\x01\0\xff\xff"] {
        assert!(check(bytes).is_err(), "{bytes:?}");
    }
    assert!(matches!(check(b"\0asm\x01\0\0\0"), Err(LoadError::CoreModule { .. })));
}
