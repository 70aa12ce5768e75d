//! Passes in JavaScript and TypeScript: `esbuild` makes one module of the pass and the SDK, and drops types; `componentize-js`
//! puts that and a JavaScript engine into a component. Both are packages of npm, and `node` runs them (`javascript.mjs`).
//!
//! The packages are looked for in `AIRLOCK_GUEST_NODE_MODULES`, and nothing else where that is set; in the `node_modules` of the
//! pass's folder and of those above it, as node does; in the cache folder, where `scripts/setup.sh --languages` puts them; in npm's
//! global folder. `node` is looked for in the path, and in the cache folder.
//!
//! The engine's features are off: a component imports the contract and nothing else. `componentize-qjs`, whose components are a
//! tenth as large, hands 64-bit integers over as doubles, and node ids and slice ends do not fit one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{cache_folder, entry, in_path, work_folder};
use crate::contract;
use crate::guest::build::Built;
use crate::guest::{BuildError, Language, Source, sdk};

/// The versions that are known to work.
const PACKAGES: &str = "@bytecodealliance/componentize-js@0.23.0 @bytecodealliance/preview2-shim@0.25.0 esbuild@0.28.2";

/// What has to be in a folder of packages. The second is one that the first needs and does not name.
const NEEDED: [&str; 3] = ["@bytecodealliance/componentize-js", "@bytecodealliance/preview2-shim", "esbuild"];

const SCRIPT: &str = include_str!("javascript.mjs");

/// Builds the pass.
pub fn build(source: &Source) -> Result<Built, BuildError> {
    let (language, expected) = match source.language {
        Language::TypeScript => ("TypeScript", "pass.ts"),
        _ => ("JavaScript", "pass.js"),
    };
    let node = node()?;
    let modules = modules(&source.dir)?;
    let pass = entry(source, language, expected)?;
    let sdk = sdk::folder(&source.dir, source.language)?.join("js/airlock-pass");
    let work = work_folder()?;
    let built = componentize(source, pass, &sdk, &node, &modules, &work);
    let _ = std::fs::remove_dir_all(&work);
    let toolchain = format!("{} with {}", node.display(), modules.display());
    // Its stacks name file and line.
    Ok(Built { name: source.name.clone(), component: built?, debug: None, toolchain })
}

fn componentize(
    source: &Source,
    pass: &Path,
    sdk: &Path,
    node: &Path,
    modules: &Path,
    work: &Path,
) -> Result<Vec<u8>, BuildError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| BuildError::Io { path, source }
    };
    let (script, wit, out) = (work.join("build.mjs"), work.join("airlock-pass.wit"), work.join("pass.wasm"));
    std::fs::write(&script, SCRIPT).map_err(io(&script))?;
    std::fs::write(&wit, contract::WIT).map_err(io(&wit))?;
    let name = source.name.to_lowercase().replace('_', "-");
    let mut command = Command::new(node);
    command.arg(&script).args([modules, sdk, pass]).arg(&name).args([&wit, &out]);
    command.current_dir(work).env("TMPDIR", work).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().map_err(io(node))?;
    if !status.success() {
        let (package, program) = (source.name.clone(), "componentize-js".to_owned());
        return Err(BuildError::Compiler { package, program, status: status.to_string() });
    }
    std::fs::read(&out).map_err(io(&out))
}

/// The oldest node that the packages run on.
const OLDEST_NODE: u32 = 20;

fn node() -> Result<PathBuf, BuildError> {
    let unpacked = Some(cache_folder().join("python/bin/node")).filter(|node| node.is_file());
    let mut tried = Vec::new();
    for node in in_path("node").into_iter().chain(unpacked) {
        match probe(&node) {
            Ok(()) => return Ok(node),
            Err(reason) => tried.push(format!("{}: {reason}", node.display())),
        }
    }
    Err(BuildError::NoNode { oldest: OLDEST_NODE, tried })
}

/// Whether a node is of use. In one line why not.
fn probe(node: &Path) -> Result<(), String> {
    let output =
        Command::new(node).arg("--version").stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version.strip_prefix('v').and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST_NODE => Ok(()),
        _ => Err(format!("its version is `{version}`")),
    }
}

/// The folder `node_modules` that has all that is needed.
fn modules(dir: &Path) -> Result<PathBuf, BuildError> {
    let candidates = match std::env::var_os("AIRLOCK_GUEST_NODE_MODULES") {
        Some(named) => vec![PathBuf::from(named)],
        None => {
            let own = cache_folder().join("js/node_modules");
            let above = dir.ancestors().map(|dir| dir.join("node_modules"));
            above.chain([own]).chain(global_modules()).filter(|folder| folder.is_dir()).collect()
        }
    };
    let mut tried = Vec::new();
    for folder in candidates {
        let lacking: Vec<&str> = NEEDED.into_iter().filter(|package| !folder.join(package).is_dir()).collect();
        if lacking.is_empty() {
            return Ok(folder);
        }
        tried.push(format!("{}: lacks {}", folder.display(), lacking.join(" and ")));
    }
    Err(BuildError::NoComponentizeJs { packages: PACKAGES, tried })
}

/// Where `npm install -g` puts packages.
fn global_modules() -> Option<PathBuf> {
    let npm = in_path("npm")?;
    let output = Command::new(npm).args(["root", "-g"]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let root = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    root.is_absolute().then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_they_are_missing_the_packages_and_the_command_are_named() {
        let tried = vec!["/p/node_modules: lacks esbuild".to_owned()];
        let message = BuildError::NoComponentizeJs { packages: PACKAGES, tried }.to_string();
        for part in ["npm install @bytecodealliance/componentize-js@0.23.0", " esbuild@0.28.2", "lacks esbuild"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
