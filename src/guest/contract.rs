//! The contract as data: the WIT package that this build was made with, and what a component may take of it.
//!
//! A component fits if
//!
//! * every import is an interface of `airlock:pass` that the world `graph-pass` imports, in a version that this host can
//!   serve: same major version (before 1.0: same minor version), not newer in what it uses;
//! * every function in those interfaces is one that the host has;
//! * it exports `airlock:pass/pass`. What it exports besides is its own.
//!
//! The engine checks types when it links; this says it earlier, and in words.

use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{InterfaceId, PackageName, Resolve, WorldId, WorldItem, WorldKey};

use super::ContractError;

/// The text of the contract.
pub const WIT: &str = include_str!("../../wit/airlock-pass.wit");

/// The version of the contract.
pub const VERSION: &str = "0.1.1";

/// What a component takes from the host, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interfaces {
    /// The functions that it imports, `graph.nodes`, sorted.
    pub imports: Vec<String>,
    /// The interfaces that it exports, sorted.
    pub exports: Vec<String>,
}

/// Checks a component against the contract and says what it uses of it.
pub fn check(component: &[u8]) -> Result<Interfaces, ContractError> {
    let (guest, guest_world) = decode_component(component)?;
    let (host, host_world) = own_world()?;
    let mut imports = Vec::new();
    let world = guest.worlds.get(guest_world).ok_or_else(|| not_a_component("it has no world"))?;
    for (key, item) in &world.imports {
        let name = guest.name_world_key(key);
        let (WorldKey::Interface(id), WorldItem::Interface { .. }) = (key, item) else {
            return Err(ContractError::ForeignImport { import: name });
        };
        check_import(&guest, *id, &host, host_world, &name, &mut imports)?;
    }
    let mut exports: Vec<String> = world.exports.keys().map(|key| guest.name_world_key(key)).collect();
    check_exports(&guest, world.exports.keys(), &host)?;
    imports.sort_unstable();
    exports.sort_unstable();
    Ok(Interfaces { imports, exports })
}

fn check_import(
    guest: &Resolve,
    interface: InterfaceId,
    host: &Resolve,
    host_world: WorldId,
    name: &str,
    imports: &mut Vec<String>,
) -> Result<(), ContractError> {
    let foreign = || ContractError::ForeignImport { import: name.to_owned() };
    let wanted = guest.interfaces.get(interface).ok_or_else(foreign)?;
    let package = wanted.package.and_then(|id| guest.packages.get(id)).ok_or_else(foreign)?;
    if !is_own(&package.name) {
        return Err(foreign());
    }
    let short = wanted.name.as_deref().ok_or_else(foreign)?;
    if !can_serve(&package.name) {
        return Err(ContractError::OtherVersion { import: name.to_owned(), host: VERSION.to_owned() });
    }
    let had = imported_interface(host, host_world, short).and_then(|id| host.interfaces.get(id));
    for function in wanted.functions.keys() {
        if !had.is_some_and(|had| had.functions.contains_key(function)) {
            return Err(ContractError::MissingItem {
                interface: name.to_owned(),
                item: function.clone(),
                host: VERSION.to_owned(),
            });
        }
        imports.push(format!("{short}.{function}"));
    }
    if had.is_none() {
        return Err(foreign());
    }
    Ok(())
}

fn check_exports<'k>(
    guest: &Resolve,
    exports: impl Iterator<Item = &'k WorldKey>,
    host: &Resolve,
) -> Result<(), ContractError> {
    for key in exports {
        let WorldKey::Interface(id) = key else { continue };
        let Some(interface) = guest.interfaces.get(*id) else { continue };
        let package = interface.package.and_then(|id| guest.packages.get(id));
        let Some(package) = package.filter(|package| is_own(&package.name)) else { continue };
        if interface.name.as_deref() == Some("pass") {
            return match can_serve(&package.name) {
                true => Ok(()),
                false => {
                    Err(ContractError::OtherVersion { import: guest.name_world_key(key), host: host_version(host) })
                }
            };
        }
    }
    Err(ContractError::NotAPass)
}

fn host_version(host: &Resolve) -> String {
    let own = host.package_names.keys().find(|name| is_own(name));
    own.and_then(|name| name.version.as_ref()).map_or_else(|| VERSION.to_owned(), ToString::to_string)
}

fn is_own(name: &PackageName) -> bool {
    name.namespace == "airlock" && name.name == "pass"
}

/// Whether a pass for that version runs here. Growth is by addition, so a newer patch is fine: what it uses is looked at
/// item by item.
fn can_serve(name: &PackageName) -> bool {
    let mut own = VERSION.split('.').map(|part| part.parse::<u64>().ok());
    let (major, minor) = (own.next().flatten(), own.next().flatten());
    name.version.as_ref().is_some_and(|version| {
        let same_major = Some(version.major) == major;
        same_major && (version.major > 0 || Some(version.minor) == minor)
    })
}

/// The interface of this short name that the world takes, or that one of those uses (`types`).
fn imported_interface(host: &Resolve, world: WorldId, name: &str) -> Option<InterfaceId> {
    let world = host.worlds.get(world)?;
    let mut ids = world.imports.keys().filter_map(|key| match key {
        WorldKey::Interface(id) => Some(*id),
        WorldKey::Name(_) => None,
    });
    ids.find(|id| host.interfaces.get(*id).is_some_and(|interface| interface.name.as_deref() == Some(name)))
}

fn decode_component(bytes: &[u8]) -> Result<(Resolve, WorldId), ContractError> {
    if wasmparser::Parser::is_core_wasm(bytes) {
        return Err(not_a_component("it is a core module, which `airlock build` would wrap"));
    }
    match decode(bytes) {
        Ok(DecodedWasm::Component(resolve, world)) => Ok((resolve, world)),
        Ok(DecodedWasm::WitPackage(..)) => Err(not_a_component("it is a WIT package")),
        Err(error) => Err(not_a_component(&format!("{error:#}"))),
    }
}

fn own_world() -> Result<(Resolve, WorldId), ContractError> {
    let mut resolve = Resolve::default();
    let world = resolve
        .push_str("airlock-pass.wit", WIT)
        .and_then(|package| resolve.select_world(&[package], Some("graph-pass")))
        .map_err(|error| not_a_component(&format!("the host's own contract: {error:#}")))?;
    Ok((resolve, world))
}

fn not_a_component(reason: &str) -> ContractError {
    ContractError::NotAComponent { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (resolve, world) = own_world().unwrap();
        let world = &resolve.worlds[world];
        let mut names: Vec<String> = world.imports.keys().map(|key| resolve.name_world_key(key)).collect();
        names.sort();
        let expected = ["constants", "graph", "host", "types"];
        assert_eq!(names, expected.map(|name| format!("airlock:pass/{name}@{VERSION}")));
        assert_eq!(host_version(&resolve), VERSION);
    }

    #[test]
    fn every_item_of_the_contract_is_documented_and_says_since_when() {
        let (resolve, _) = own_world().unwrap();
        let package = resolve.package_names.iter().find(|(name, _)| is_own(name)).unwrap().1;
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
            let world = format!(
                "import airlock:pass/graph@{version}; export airlock:pass/pass@{version}; export more: func();"
            );
            let found = check(&component(&format!("{wit}=====package test:test; world test {{ {world} }}"))).unwrap();
            assert!(found.imports.contains(&"graph.read-columns".to_owned()));
            assert_eq!(found.imports.contains(&"graph.effects-of".to_owned()), version != "0.1.0");
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
        assert_eq!(check(&component(&wit)), Err(ContractError::ForeignImport { import }));
    }

    #[test]
    fn a_bare_function_import_is_foreign() {
        let bytes = with_contract("import read-file: func() -> string; export airlock:pass/pass@0.1.1;");
        let import = "read-file".to_owned();
        assert_eq!(check(&bytes), Err(ContractError::ForeignImport { import }));
    }

    #[test]
    fn a_function_that_the_host_does_not_have_is_named() {
        let wit = "package airlock:pass@0.1.2; interface graph { teleport: func(); } interface pass { run: func(); }\
                   =====package test:test; world test { import airlock:pass/graph@0.1.2; export airlock:pass/pass@0.1.2; }";
        let error = check(&component(wit)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "needs `teleport` of `airlock:pass/graph@0.1.2`, which airlock:pass 0.1.1 does not have: it is there in a newer Airlock"
        );
    }

    #[test]
    fn another_version_is_said_with_both_versions() {
        let wit = "package airlock:pass@0.2.0; interface pass { run: func(); }\
                   =====package test:test; world test { export airlock:pass/pass@0.2.0; }";
        let error = check(&component(wit)).unwrap_err().to_string();
        assert!(error.contains("airlock:pass/pass@0.2.0") && error.contains("airlock:pass 0.1.1"), "{error}");
    }

    #[test]
    fn a_component_that_exports_no_pass_is_none() {
        assert_eq!(check(&with_contract("export run: func();")), Err(ContractError::NotAPass));
    }

    #[test]
    fn bytes_that_are_no_component_are_said_to_be_none() {
        for bytes in [&b""[..], b"PK\x03\x04", b"\0asm\x01\0\0\0", b"\0asm\x0d\0\x01\0\xff\xff"] {
            assert!(check(bytes).is_err(), "{bytes:?}");
        }
        assert!(matches!(check(b"\0asm\x01\0\0\0"), Err(ContractError::NotAComponent { .. })));
    }
}
