//! What the host offers a component: the imports of world `graph-pass`, read from the WIT itself.
//!
//! Promises: an interface or function is offered exactly if `wit/` names it. Leaves types to the linker, which compares
//! them when a component is bound, before anything of it runs.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;
use wit_parser::{Resolve, WorldItem};

use crate::contract::LoadError;

/// The text of the contract.
pub const WIT: &str = include_str!("../../wit/airlock-pass.wit");

/// The version of the contract.
pub const VERSION: &str = "0.1.1";

/// Interfaces, functions and exports of the contract.
#[derive(Clone, Debug)]
pub struct Contract {
    /// `0.1.1`.
    pub version: String,
    /// Functions by imported interface. An interface of types alone has none.
    pub imports: BTreeMap<String, BTreeSet<String>>,
    /// Functions by exported interface.
    pub exports: BTreeMap<String, BTreeSet<String>>,
}

impl Contract {
    /// The package that everything of the contract is in.
    pub const PACKAGE: &'static str = "airlock:pass";

    /// Reads the contract of this host.
    pub fn current() -> Result<Self, LoadError> {
        Self::parse(WIT).map_err(|message| LoadError::Engine { message })
    }

    fn parse(wit: &str) -> Result<Self, String> {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("airlock-pass.wit", wit).map_err(|e| format!("{e:#}"))?;
        let world = resolve.select_world(&[package], Some("graph-pass")).map_err(|e| format!("{e:#}"))?;
        let world = resolve.worlds.get(world).ok_or("no world `graph-pass`")?;
        let version = resolve.packages.get(package).and_then(|p| p.name.version.as_ref());
        let interfaces = |items: &mut dyn Iterator<Item = &WorldItem>| -> BTreeMap<String, BTreeSet<String>> {
            items
                .filter_map(|item| match item {
                    WorldItem::Interface { id, .. } => resolve.interfaces.get(*id),
                    WorldItem::Function(_) | WorldItem::Type { .. } => None,
                })
                .filter_map(|i| Some((i.name.clone()?, i.functions.keys().cloned().collect())))
                .collect()
        };
        Ok(Self {
            version: version.map(ToString::to_string).ok_or("the package has no version")?,
            imports: interfaces(&mut world.imports.values()),
            exports: interfaces(&mut world.exports.values()),
        })
    }

    /// Returns whether something built against `wanted` may run here at all: versions are compatible as Cargo has it. Growth is by addition,
    /// so a newer patch is fine: what it uses is looked at item by item.
    pub fn accepts(&self, wanted: &str) -> bool {
        let (Ok(wanted), Ok(own)) = (Version::parse(wanted), Version::parse(&self.version)) else { return false };
        wanted.major == own.major && (own.major > 0 || wanted.minor == own.minor)
    }
}

/// The parts of an imported or exported name: `airlock:pass/graph@0.1.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceName<'a> {
    /// `airlock:pass`.
    pub package: &'a str,
    /// `graph`.
    pub interface: &'a str,
    /// `0.1.0`; empty where there is none.
    pub version: &'a str,
}

impl<'a> InterfaceName<'a> {
    /// Returns the parts of a name, or nothing where it is no name of an interface.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (package, rest) = name.split_once('/')?;
        let (interface, version) = rest.split_once('@').unwrap_or((rest, ""));
        Some(Self { package, interface, version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_is_what_the_wit_says() {
        let contract = Contract::current().unwrap();
        assert_eq!(contract.imports.keys().collect::<Vec<_>>(), ["constants", "graph", "host", "types"]);
        assert!(contract.imports["graph"].contains("read-columns") && contract.imports["graph"].contains("effects-of"));
        assert_eq!(contract.exports["pass"].iter().collect::<Vec<_>>(), ["describe", "run"]);
    }

    #[test]
    fn versions_are_compatible_as_cargo_has_it() {
        let contract = Contract { version: "0.1.3".into(), ..Contract::current().unwrap() };
        assert!(contract.accepts("0.1.0") && contract.accepts("0.1.9"));
        assert!(!contract.accepts("0.2.0") && !contract.accepts("1.1.3") && !contract.accepts(""));
    }

    #[test]
    fn names_of_interfaces_come_apart() {
        let name = InterfaceName::parse("wasi:cli/environment@0.2.0").unwrap();
        assert_eq!((name.package, name.interface, name.version), ("wasi:cli", "environment", "0.2.0"));
        assert_eq!(InterfaceName::parse("log"), None);
    }
}
