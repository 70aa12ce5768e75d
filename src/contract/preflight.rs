//! What is looked at before a component is compiled, without the engine.
//!
//! Checked here, in the order of the file, each with an error of its own:
//! - it is a component: not empty, not text, not a core module, not compiled native code;
//! - it is valid under [`FEATURES`], function bodies included;
//! - nothing in it is larger than [`Limits`] allow: bytes, functions, definitions (those of a part as often as it is
//!   instantiated), and for each function code, locals, nesting, branch tables, operands at once, values that blocks hand on, locals times blocks. The
//!   compiler's time and memory grow with those, not with the file;
//! - no part takes another one as an argument or out of an instance: then nobody could count them;
//! - strings are UTF-8 and calls are plain, also between its own parts;
//! - it imports interfaces of [`Contract`] only, of a compatible version, and of them only functions that exist;
//! - it exports what a pass exports. More exports are its own business.
//!
//! Leaves to the linker: whether imported and exported functions have the right types. Leaves to later walls: what
//! compiling costs where these bounds still allow much.

use wasmparser::component_types::ComponentEntityType;
use wasmparser::types::Types;
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentTypeRef, FuncValidator, FuncValidatorAllocations, FunctionBody, Operator,
    OperatorsReader, Parser, Payload, ValidPayload, Validator, ValidatorResources, WasmFeatures,
};

use crate::contract::escape::shown;
use crate::contract::offered::{Contract, InterfaceName};
use crate::contract::{Limits, LoadError};

/// The WebAssembly that a pass may use: 2.0 and what compilers emit by default, without SIMD, threads, tail calls,
/// exceptions, garbage collection, memories of 64 bits or several memories in a module.
pub const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .difference(WasmFeatures::SIMD)
    .difference(WasmFeatures::GC_TYPES)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::COMPONENT_MODEL);

/// What the look at a component found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Preflight {
    /// Bytes of the file.
    pub bytes: u64,
    /// Core functions.
    pub functions: u64,
    /// Imported interfaces and functions: `airlock:pass/graph@0.1.0`, `insert`; without a function where only types are
    /// imported.
    pub imports: Vec<(String, Option<String>)>,
    /// Everything that it exports, sorted.
    pub exports: Vec<String>,
}

impl Preflight {
    /// Returns the imported functions without package and version, `graph.insert`, sorted.
    pub fn functions_used(&self) -> Vec<String> {
        let short = |name: &str| InterfaceName::parse(name).map_or(String::new(), |parts| parts.interface.to_string());
        let used =
            self.imports.iter().filter_map(|(name, function)| Some(format!("{}.{}", short(name), function.as_ref()?)));
        let mut used: Vec<String> = used.collect();
        used.sort_unstable();
        used
    }
}

/// Checks a component. `pass` is the name that errors give it.
pub fn check(pass: &str, bytes: &[u8], limits: &Limits) -> Result<Preflight, LoadError> {
    check_kind(pass, bytes)?;
    let look = Look { pass, limits, contract: Contract::current()? };
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    look.bound("bytes of the component", size, limits.component_bytes, "component_bytes")?;
    let mut found = Preflight { bytes: size, ..Preflight::default() };
    let (types, imports) = look.scan(bytes, &mut found)?;
    look.check_imports(&types, &imports, &mut found)?;
    look.check_exports(&types, &found)?;
    found.exports.sort_unstable();
    Ok(found)
}

fn check_kind(pass: &str, bytes: &[u8]) -> Result<(), LoadError> {
    let pass = pass.to_string();
    if bytes.is_empty() {
        return Err(LoadError::Empty { pass });
    }
    if bytes.starts_with(b"\x7fELF") {
        return Err(LoadError::Artifact { pass });
    }
    if Parser::is_core_wasm(bytes) {
        return Err(LoadError::CoreModule { pass });
    }
    if !bytes.starts_with(b"\0asm") {
        let head = String::from_utf8_lossy(bytes.get(..8).unwrap_or(bytes)).into_owned();
        let hint = if bytes.trim_ascii_start().starts_with(b"(") {
            ": this is the text form; `wasm-tools parse` makes the binary"
        } else {
            ""
        };
        return Err(LoadError::NotWasm { pass, begins: format!("`{}`", shown(&head, 8)), hint });
    }
    Ok(())
}

/// What all functions come to.
#[derive(Default)]
struct Totals {
    locals_times_blocks: u64,
    values_squared: u64,
    allocations: FuncValidatorAllocations,
}

/// A component that is being read, or a module.
#[derive(Default)]
struct Part {
    is_module: bool,
    /// What it defines, those of the parts that it instantiates included.
    definitions: u64,
    /// The same of the components that it knows, by their index.
    inner: Vec<u64>,
}

impl Part {
    fn add(&mut self, count: u64) {
        self.definitions = self.definitions.saturating_add(count);
    }
}

/// The components that are open, outermost first.
struct Parts {
    open: Vec<Part>,
}

impl Default for Parts {
    fn default() -> Self {
        Parts { open: vec![Part::default()] }
    }
}

impl Parts {
    fn add(&mut self, count: u32) {
        if let Some(part) = self.open.last_mut() {
            part.add(u64::from(count));
        }
    }

    fn define(&mut self, weight: u64) {
        if let Some(part) = self.open.last_mut() {
            part.inner.push(weight);
        }
    }

    /// What instantiating a component that is known so many levels further out defines. What is not known counts as too much.
    fn weight_of(&self, levels: u32, index: u32) -> u64 {
        let at = usize::try_from(levels).ok().and_then(|l| self.open.len().checked_sub(l.saturating_add(1)));
        let part = at.and_then(|at| self.open.get(at));
        let weight = part.zip(usize::try_from(index).ok()).and_then(|(part, index)| part.inner.get(index));
        weight.copied().unwrap_or(u64::MAX)
    }
}

struct Look<'a> {
    pass: &'a str,
    limits: &'a Limits,
    contract: Contract,
}

impl Look<'_> {
    fn bound(&self, what: &str, found: u64, limit: u64, key: &'static str) -> Result<(), LoadError> {
        if found <= limit {
            return Ok(());
        }
        Err(LoadError::TooLarge { pass: self.pass.to_string(), what: what.to_string(), found, limit, key })
    }

    fn malformed(&self, error: &wasmparser::Error) -> LoadError {
        LoadError::Malformed {
            pass: self.pass.to_string(),
            offset: error.offset(),
            message: shown(error.message(), self.limits.message_chars),
        }
    }

    fn scan<'b>(&self, bytes: &'b [u8], found: &mut Preflight) -> Result<(Types, Vec<&'b str>), LoadError> {
        let bad = |e: wasmparser::Error| self.malformed(&e);
        let mut validator = Validator::new_with_features(FEATURES);
        let mut parser = Parser::new(0);
        parser.set_features(FEATURES);
        let (mut outermost, mut imports, mut depth) = (None, Vec::new(), 0_u32);
        let (mut parts, mut totals) = (Parts::default(), Totals::default());
        for payload in parser.parse_all(bytes) {
            let payload = payload.map_err(bad)?;
            match &payload {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth = depth.saturating_add(1),
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section.clone() {
                        imports.push(import.map_err(bad)?.name.name);
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section.clone() {
                        found.exports.push(export.map_err(bad)?.name.name.to_string());
                    }
                }
                Payload::CodeSectionStart { count, .. } => {
                    found.functions = found.functions.saturating_add(u64::from(*count));
                    self.bound("functions", found.functions, self.limits.functions, "functions")?;
                }
                Payload::ComponentCanonicalSection(section) => {
                    for function in section.clone() {
                        self.check_convention(&function.map_err(bad)?)?;
                    }
                }
                _ => {}
            }
            // Every end of a nested module or component is followed by that of what holds it: the last one counts.
            match validator.payload(&payload).map_err(bad)? {
                ValidPayload::End(types) => outermost = Some(types),
                ValidPayload::Func(function, body) => {
                    let mut checked = function.into_validator(std::mem::take(&mut totals.allocations));
                    self.check_body(&body, &mut checked, &mut totals)?;
                    totals.allocations = checked.into_allocations();
                }
                ValidPayload::Ok | ValidPayload::Parser(_) => {}
            }
            self.count_definitions(&payload, &mut parts)?;
        }
        let types = outermost.ok_or_else(|| LoadError::Malformed {
            pass: self.pass.to_string(),
            offset: bytes.len(),
            message: "the file ends before the component does".to_string(),
        })?;
        Ok((types, imports))
    }

    fn check_body(
        &self,
        body: &FunctionBody<'_>,
        checked: &mut FuncValidator<ValidatorResources>,
        totals: &mut Totals,
    ) -> Result<(), LoadError> {
        let bad = |e: wasmparser::Error| self.malformed(&e);
        let limits = self.limits;
        let at = body.range().start;
        let what = |of: &str| format!("{of} of the function at byte {at}");
        let bytes = u64::try_from(body.range().len()).unwrap_or(u64::MAX);
        self.bound(&what("bytes"), bytes, limits.function_bytes, "function_bytes")?;
        let mut locals = 0_u64;
        for group in body.get_locals_reader().map_err(bad)? {
            locals = locals.saturating_add(u64::from(group.map_err(bad)?.0));
        }
        self.bound(&what("locals"), locals, limits.function_locals, "function_locals")?;
        let mut reader = body.get_binary_reader();
        checked.read_locals(&mut reader).map_err(bad)?;
        let mut operators = OperatorsReader::new(reader);
        let (mut depth, mut deepest, mut loops, mut branches) = (0_u64, 0_u64, 0_u64, 0_u64);
        let (mut blocks, mut operands, mut handed) = (1_u64, 0_u64, 0_u64);
        while !operators.eof() {
            let offset = operators.original_position();
            let operator = operators.read().map_err(bad)?;
            handed = handed.saturating_add(values_handed_on(&operator, checked));
            checked.op(offset, &operator).map_err(bad)?;
            match operator {
                Operator::Block { .. } | Operator::If { .. } => {
                    depth = depth.saturating_add(1);
                    blocks = blocks.saturating_add(1);
                }
                Operator::Loop { .. } => {
                    depth = depth.saturating_add(1);
                    loops = loops.saturating_add(1);
                    blocks = blocks.saturating_add(1);
                }
                Operator::Else | Operator::Br { .. } | Operator::BrIf { .. } => blocks = blocks.saturating_add(1),
                Operator::End => depth = depth.saturating_sub(1),
                Operator::BrTable { targets } => {
                    branches = branches.saturating_add(u64::from(targets.len()));
                    blocks = blocks.saturating_add(u64::from(targets.len()));
                }
                _ => {}
            }
            deepest = deepest.max(depth);
            operands = operands.max(u64::from(checked.operand_stack_height()));
        }
        operators.finish().map_err(bad)?;
        self.bound(&what("nested blocks"), deepest, limits.function_nesting, "function_nesting")?;
        self.bound(&what("branch table targets"), branches, limits.function_branches, "function_branches")?;
        self.bound(&what("operands at once"), operands, limits.function_stack, "function_stack")?;
        let key = "function_block_values";
        self.bound(&what("values handed from block to block"), handed, limits.function_block_values, key)?;
        // A parameter is a local to the compiler.
        let locals = u64::from(checked.len_locals());
        let product = locals.saturating_mul(loops);
        let key = "function_locals_times_loops";
        self.bound(&what("locals times loops"), product, limits.function_locals_times_loops, key)?;
        let product = locals.saturating_mul(blocks);
        let key = "function_locals_times_blocks";
        self.bound(&what("locals times blocks"), product, limits.function_locals_times_blocks, key)?;
        totals.locals_times_blocks = totals.locals_times_blocks.saturating_add(product).saturating_add(handed);
        let what = "locals times blocks of all functions";
        self.bound(what, totals.locals_times_blocks, limits.locals_times_blocks, "locals_times_blocks")?;
        let values = locals.saturating_add(operands);
        totals.values_squared = totals.values_squared.saturating_add(values.saturating_mul(values));
        let what = "squares of locals and operands of all functions";
        self.bound(what, totals.values_squared, limits.values_squared, "values_squared")
    }

    /// Counts what a section defines, in the part that it is in.
    fn count_definitions(&self, payload: &Payload<'_>, parts: &mut Parts) -> Result<(), LoadError> {
        let bad = |e: wasmparser::Error| self.malformed(&e);
        match payload {
            Payload::ModuleSection { .. } => parts.open.push(Part { is_module: true, ..Part::default() }),
            Payload::ComponentSection { .. } => parts.open.push(Part::default()),
            Payload::End(_) => {
                let Some(done) = parts.open.pop() else { return Ok(()) };
                match parts.open.last_mut() {
                    Some(outer) if !done.is_module => outer.inner.push(done.definitions.saturating_add(1)),
                    Some(outer) => outer.add(1),
                    None => {}
                }
            }
            Payload::InstanceSection(section) => parts.add(section.count()),
            Payload::CoreTypeSection(section) => parts.add(section.count()),
            Payload::ComponentTypeSection(section) => parts.add(section.count()),
            Payload::ComponentCanonicalSection(section) => parts.add(section.count()),
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export.map_err(bad)?;
                    parts.add(1);
                    if export.kind == ComponentExternalKind::Component {
                        let weight = parts.weight_of(0, export.index);
                        parts.define(weight);
                    }
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    parts.add(1);
                    if let ComponentTypeRef::Component(_) = import.map_err(bad)?.ty {
                        return Err(self.convention("imports a component".to_string()));
                    }
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    parts.add(1);
                    match alias.map_err(bad)? {
                        ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                            let weight = parts.weight_of(count, index);
                            parts.define(weight);
                        }
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                            return Err(self.convention("takes a component out of an instance".to_string()));
                        }
                        _ => {}
                    }
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    let inner = match instance.map_err(bad)? {
                        ComponentInstance::Instantiate { component_index, .. } => parts.weight_of(0, component_index),
                        ComponentInstance::FromExports(_) => 0,
                    };
                    parts.add(1);
                    if let Some(part) = parts.open.last_mut() {
                        part.add(inner);
                    }
                }
            }
            _ => {}
        }
        let most = parts.open.iter().map(|part| part.definitions).max().unwrap_or(0);
        let what = "definitions, those of a part as often as it is instantiated";
        self.bound(what, most, self.limits.definitions, "definitions")
    }

    fn check_convention(&self, function: &CanonicalFunction) -> Result<(), LoadError> {
        let options = match function {
            CanonicalFunction::Lift { options, .. } | CanonicalFunction::Lower { options, .. } => options,
            CanonicalFunction::ResourceNew { .. }
            | CanonicalFunction::ResourceDrop { .. }
            | CanonicalFunction::ResourceRep { .. } => return Ok(()),
            other => return Err(self.convention(format!("uses the component built-in {other:?}"))),
        };
        for option in options {
            match option {
                CanonicalOption::UTF8
                | CanonicalOption::Memory(_)
                | CanonicalOption::Realloc(_)
                | CanonicalOption::PostReturn(_) => {}
                CanonicalOption::UTF16 | CanonicalOption::CompactUTF16 => {
                    return Err(self.convention("uses strings in UTF-16".to_string()));
                }
                other => return Err(self.convention(format!("uses the calling convention {other:?}"))),
            }
        }
        Ok(())
    }

    fn convention(&self, what: String) -> LoadError {
        LoadError::Convention { pass: self.pass.to_string(), what: shown(&what, self.limits.message_chars) }
    }

    fn check_imports(&self, types: &Types, imports: &[&str], found: &mut Preflight) -> Result<(), LoadError> {
        let types = types.as_ref();
        for name in imports {
            let shown_name = shown(name, self.limits.message_chars);
            let foreign = || LoadError::ForeignImport {
                pass: self.pass.to_string(),
                import: shown_name.clone(),
                offered: self.contract.version.clone(),
            };
            let parts = InterfaceName::parse(name).filter(|p| p.package == Contract::PACKAGE).ok_or_else(foreign)?;
            let item = types.component_item_for_import(name).ok_or_else(foreign)?;
            let ComponentEntityType::Instance(instance) = item.ty else { return Err(foreign()) };
            if !self.contract.accepts(parts.version) {
                return Err(LoadError::Version {
                    pass: self.pass.to_string(),
                    item: shown(parts.interface, self.limits.message_chars),
                    wanted: shown(parts.version, self.limits.message_chars),
                    offered: self.contract.version.clone(),
                });
            }
            let missing = |item: String| LoadError::MissingItem {
                pass: self.pass.to_string(),
                item: shown(&item, self.limits.message_chars),
                wanted: shown(parts.version, self.limits.message_chars),
                offered: self.contract.version.clone(),
            };
            let interface = self.contract.imports.get(parts.interface);
            let functions = interface.ok_or_else(|| missing(parts.interface.to_string()))?;
            let before = found.imports.len();
            for (export, item) in types.get(instance).iter().flat_map(|i| &i.exports) {
                match item.ty {
                    ComponentEntityType::Func(_) if functions.contains(export) => {
                        found.imports.push((name.to_string(), Some(export.clone())));
                    }
                    ComponentEntityType::Type { referenced, .. } if !is_resource(referenced) => {}
                    _ => return Err(missing(format!("{}.{export}", parts.interface))),
                }
            }
            if found.imports.len() == before {
                found.imports.push((name.to_string(), None));
            }
        }
        Ok(())
    }

    fn check_exports(&self, types: &Types, found: &Preflight) -> Result<(), LoadError> {
        let missing = |export: String| LoadError::MissingExport {
            pass: self.pass.to_string(),
            export,
            offered: self.contract.version.clone(),
        };
        for (interface, functions) in &self.contract.exports {
            let wanted = format!("{}/{interface}@{}", Contract::PACKAGE, self.contract.version);
            let of_contract = |name: &&String| {
                InterfaceName::parse(name).is_some_and(|p| p.package == Contract::PACKAGE && p.interface == interface)
            };
            let name = found.exports.iter().find(of_contract).ok_or_else(|| missing(wanted.clone()))?;
            let version = InterfaceName::parse(name).map_or("", |p| p.version);
            if !self.contract.accepts(version) {
                return Err(LoadError::Version {
                    pass: self.pass.to_string(),
                    item: interface.clone(),
                    wanted: shown(version, self.limits.message_chars),
                    offered: self.contract.version.clone(),
                });
            }
            let types = types.as_ref();
            let Some(ComponentEntityType::Instance(instance)) =
                types.component_item_for_export(name).map(|item| item.ty)
            else {
                return Err(missing(wanted));
            };
            for function in functions {
                if types.get(instance).is_none_or(|i| !i.exports.contains_key(function)) {
                    return Err(missing(format!("{wanted}.{function}")));
                }
            }
        }
        Ok(())
    }
}

fn is_resource(id: wasmparser::component_types::ComponentAnyTypeId) -> bool {
    matches!(id, wasmparser::component_types::ComponentAnyTypeId::Resource(_))
}

/// How many values an operator hands from one block to another, beyond the two that compiled languages have: the compiler keeps each.
fn values_handed_on(operator: &Operator<'_>, checked: &FuncValidator<ValidatorResources>) -> u64 {
    let times = match operator {
        Operator::BrTable { targets } => u64::from(targets.len()).saturating_add(1),
        Operator::Block { .. }
        | Operator::Loop { .. }
        | Operator::If { .. }
        | Operator::Else
        | Operator::End
        | Operator::Br { .. }
        | Operator::BrIf { .. } => 1,
        _ => return 0,
    };
    let (taken, given) = operator.operator_arity(checked).unwrap_or_default();
    u64::from(taken).saturating_add(u64::from(given)).saturating_sub(2).saturating_mul(times)
}
