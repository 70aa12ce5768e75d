//! What an author's own debug information tells of a trap: file and line.
//!
//! `airlock build` writes it beside the component: the core module with its DWARF sections, from which the component's was made by leaving
//! them out. It is read only where the pass's author asks: what comes from strangers is no help to anybody, and an attacker's input.
//!
//! Promises: a place is told of a function only where number and name are those of the module that the information is of.

use std::ops::Range;

use addr2line::gimli::{self, EndianSlice, LittleEndian};
use wasmparser::{KnownCustom, Name, Parser, Payload};

use super::classify::function_name;
use super::fault::Frame;
use crate::contract::shown;

/// Bytes of a file that is read: what compilers write has a few MiB.
const MOST: usize = 1 << 30;
const SHOWN: u32 = 500;

/// Debug information of one pass.
pub struct Symbols {
    module: Vec<u8>,
    /// Where its sections of that name are.
    sections: Vec<(String, Range<usize>)>,
    /// By number: those that the module imports come first, and have no place.
    functions: Vec<Function>,
}

type Lines<'m> = addr2line::Context<EndianSlice<'m, LittleEndian>>;

#[derive(Clone, Default)]
struct Function {
    name: String,
    /// Where its body begins, from where the code section does: the addresses of DWARF in a module.
    start: Option<u64>,
}

/// Why debug information does not read.
#[derive(Debug, thiserror::Error)]
pub enum SymbolsError {
    /// No module.
    #[error("no core module of WebAssembly, as `airlock build` writes it beside a component: {0}")]
    Module(#[from] wasmparser::BinaryReaderError),
    /// A module without lines, or lines that do not read.
    #[error("no debug information of lines: {0}")]
    Lines(#[from] gimli::Error),
    /// More than any compiler writes.
    #[error("{found} bytes, at most {MOST} are read")]
    Large {
        /// How many there are.
        found: usize,
    },
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Symbols of {} functions", self.functions.len())
    }
}

impl Symbols {
    /// Reads the file that `airlock build` writes beside a component.
    pub fn read(module: Vec<u8>) -> Result<Self, SymbolsError> {
        if module.len() > MOST {
            return Err(SymbolsError::Large { found: module.len() });
        }
        let (mut functions, mut sections): (Vec<Function>, Vec<_>) = (Vec::new(), Vec::new());
        let mut code = 0_u64;
        for payload in Parser::new(0).parse_all(&module) {
            match payload? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        let is_function = matches!(import?.ty, wasmparser::TypeRef::Func(_));
                        functions.extend(is_function.then(Function::default));
                    }
                }
                Payload::CodeSectionStart { range, .. } => code = offset(range.start),
                Payload::CodeSectionEntry(body) => {
                    let start = offset(body.range().start).checked_sub(code);
                    functions.push(Function { name: String::new(), start });
                }
                Payload::CustomSection(custom) => {
                    if let KnownCustom::Name(names) = custom.as_known() {
                        name(&mut functions, names)?;
                    }
                    let start = custom.data_offset();
                    sections.push((custom.name().to_string(), start..start.saturating_add(custom.data().len())));
                }
                _ => {}
            }
        }
        let symbols = Self { module, sections, functions };
        symbols.lines()?;
        Ok(symbols)
    }

    fn lines(&self) -> Result<Lines<'_>, gimli::Error> {
        let section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
            let found = self.sections.iter().find(|(name, _)| *name == id.name());
            let bytes = found.and_then(|(_, range)| self.module.get(range.clone()));
            Ok(EndianSlice::new(bytes.unwrap_or_default(), LittleEndian))
        };
        addr2line::Context::from_dwarf(gimli::Dwarf::load(section)?)
    }

    /// Returns file, line and column of what a guest was at, where they are known. Escaped.
    pub fn source(&self, frame: &Frame) -> Option<String> {
        let (number, offset) = frame.place?;
        let function = self.functions.get(usize::try_from(number).ok()?)?;
        if function_name(&function.name) != frame.name {
            return None;
        }
        let address = function.start?.checked_add(u64::from(offset))?;
        let lines = self.lines().ok()?;
        let location = lines.find_location(address).ok()??;
        let mut source = location.file?.to_string();
        for number in [location.line, location.column].into_iter().flatten() {
            source.push_str(&format!(":{number}"));
        }
        Some(shown(&source, SHOWN))
    }
}

fn offset(at: usize) -> u64 {
    u64::try_from(at).unwrap_or(u64::MAX)
}

fn name(functions: &mut [Function], names: wasmparser::NameSectionReader<'_>) -> Result<(), SymbolsError> {
    for part in names {
        let Name::Function(map) = part? else { continue };
        for naming in map {
            let naming = naming?;
            let function = usize::try_from(naming.index).ok().and_then(|i| functions.get_mut(i));
            if let Some(function) = function {
                function.name = naming.name.to_string();
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_module_is_refused() {
        assert!(matches!(Symbols::read(b"\0asm".to_vec()), Err(SymbolsError::Module(_))));
    }

    #[test]
    fn a_module_without_lines_tells_nothing() {
        let module = wat::parse_str("(module (func $spin unreachable))").unwrap();
        let symbols = Symbols::read(module).unwrap();
        assert_eq!(symbols.source(&Frame { name: "spin".into(), place: Some((0, 1)) }), None);
    }
}
