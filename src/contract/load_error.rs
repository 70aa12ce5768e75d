//! Why a file is no pass that can be run here. Nothing of it has run when one of these is given.

use std::path::PathBuf;

use thiserror::Error;

/// A component was refused before anything ran.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is nothing in it.
    #[error("{pass}: the file is empty; a pass is a WebAssembly component")]
    Empty {
        /// The pass.
        pass: String,
    },
    /// It is not WebAssembly.
    #[error("{pass}: not a WebAssembly component (it begins with {begins}){hint}")]
    NotWasm {
        /// The pass.
        pass: String,
        /// Its first bytes.
        begins: String,
        /// What to do, if known.
        hint: &'static str,
    },
    /// A core module.
    #[error("{pass}: a core WebAssembly module, not a component; `airlock build` makes a component of a pass's source")]
    CoreModule {
        /// The pass.
        pass: String,
    },
    /// A compiled artifact: native code, which is never taken from a user.
    #[error(
        "{pass}: compiled native code, which Airlock never runs from a file; give the component that it was made of"
    )]
    Artifact {
        /// The pass.
        pass: String,
    },
    /// Bytes that are no valid component, or one that uses features of WebAssembly that are off.
    #[error("{pass}: not a valid component, at byte {offset}: {message}")]
    Malformed {
        /// The pass.
        pass: String,
        /// Where.
        offset: usize,
        /// What is wrong.
        message: String,
    },
    /// An import from outside the contract.
    #[error(
        "{pass}: imports `{import}`, which passes are not given: they have only what `airlock:pass@{offered}` offers \
         (no files, clock, network, randomness or environment){}",
        if import.starts_with("wasi:") { "; build it for a target without WASI (wasm32-unknown-unknown)" } else { "" }
    )]
    ForeignImport {
        /// The pass.
        pass: String,
        /// The import: interface or, where there is none, function.
        import: String,
        /// The version of the contract that is offered.
        offered: String,
    },
    /// An item of the contract that this host does not have.
    #[error(
        "{pass}: needs `{item}` of airlock:pass@{wanted}; this Airlock offers airlock:pass@{offered}, which does not have it: \
         build the pass against {offered}, or use a newer Airlock"
    )]
    MissingItem {
        /// The pass.
        pass: String,
        /// The item: `graph.colour`.
        item: String,
        /// The version that the pass was built against.
        wanted: String,
        /// The version that is offered.
        offered: String,
    },
    /// A version of the contract that is not compatible.
    #[error(
        "{pass}: needs `{item}` of airlock:pass@{wanted}; this Airlock offers airlock:pass@{offered}, which is another contract: \
         build the pass against {offered}"
    )]
    Version {
        /// The pass.
        pass: String,
        /// The interface: `graph`.
        item: String,
        /// The version that the pass was built against.
        wanted: String,
        /// The version that is offered.
        offered: String,
    },
    /// It does not export what a pass exports.
    #[error("{pass}: does not export `{export}`: it is no pass of the world airlock:pass/graph-pass@{offered}")]
    MissingExport {
        /// The pass.
        pass: String,
        /// What is missing.
        export: String,
        /// The version that is offered.
        offered: String,
    },
    /// Names are right, types are not.
    #[error("{pass}: does not fit airlock:pass@{offered}: {message}")]
    Mismatch {
        /// The pass.
        pass: String,
        /// What does not fit.
        message: String,
        /// The version that is offered.
        offered: String,
    },
    /// Strings in another encoding than UTF-8, or calls in another convention than plain ones.
    #[error("{pass}: {what}; passes use UTF-8 and plain calls only")]
    Convention {
        /// The pass.
        pass: String,
        /// What it uses.
        what: String,
    },
    /// Something in it is larger than may be compiled.
    #[error("{pass}: {what}: {found}, at most {limit} allowed (limits.{key})")]
    TooLarge {
        /// The pass.
        pass: String,
        /// What was counted.
        what: String,
        /// How many there are.
        found: u64,
        /// How many there may be.
        limit: u64,
        /// The name of the limit in `airlock.toml`.
        key: &'static str,
    },
    /// The compiler refused it.
    #[error("{pass}: cannot be compiled: {message}")]
    Compile {
        /// The pass.
        pass: String,
        /// Why.
        message: String,
    },
    /// The process that was to compile or load it ended first.
    #[error("{pass}: cannot be loaded: {message}")]
    Worker {
        /// The pass.
        pass: String,
        /// How it ended.
        message: String,
    },
    /// No process that is safe to run untrusted code in.
    #[error(
        "no worker process of this system is safe to run a pass in: its system calls are not filtered ({why}); \
         `airlock inspect --host` tells what stands; --in-process runs passes in this process, with one wall less"
    )]
    NoWalls {
        /// Why there is no filter.
        why: String,
    },
    /// The engine cannot be made on this machine.
    #[error("the WebAssembly engine does not start here: {message}")]
    Engine {
        /// Why.
        message: String,
    },
}
