//! Passes in Python: `componentize-py`, which puts the pass, the SDK and Python itself into a component.
//!
//! It is looked for in `AIRLOCK_GUEST_COMPONENTIZE_PY`, and nothing else where that is set; in the cache folder, where
//! `scripts/setup.sh --languages` puts it; in the path. A system is not there for such a component (`--stub-wasi`): it imports
//! the contract and nothing else, and is the same at every build.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{cache_folder, entry, in_path, work_folder};
use crate::contract;
use crate::guest::build::Built;
use crate::guest::{BuildError, BuildOptions, Language, Source, sdk};

/// The version that is known to work.
const VERSION: &str = "0.25.1";

/// The module that the component begins with.
const ENTRY: &str = "airlock_entry";

/// Builds the pass.
pub fn build(source: &Source, options: &BuildOptions) -> Result<Built, BuildError> {
    let program = find()?;
    let file = entry(source, "Python", "pass.py")?;
    let module = file.file_stem().unwrap_or_default().to_string_lossy();
    let sdk = sdk::folder(&source.dir, Language::Python)?;
    let work = work_folder()?;
    let built = componentize(source, &module, &program, &sdk, &work, options);
    let _ = std::fs::remove_dir_all(&work);
    let toolchain = program.display().to_string();
    // Its tracebacks name file and line.
    Ok(Built { name: source.name.clone(), component: built?, debug: None, toolchain })
}

fn componentize(
    source: &Source,
    module: &str,
    program: &Path,
    sdk: &Path,
    work: &Path,
    options: &BuildOptions,
) -> Result<Vec<u8>, BuildError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| BuildError::Io { path, source }
    };
    let (app, wit, out) = (work.join("app"), work.join("airlock-pass.wit"), work.join("pass.wasm"));
    // A copy of all that is imported: Python writes what it compiles beside its sources.
    copy_files(&source.files, &app)?;
    let package = sdk.join("python/airlock_pass");
    let entries = package.read_dir().and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(io(&package))?;
    let files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    copy_files(&files, &app.join("airlock_pass"))?;
    let name = source.name.to_lowercase().replace('_', "-");
    let text = format!("from airlock_pass import entry\n\nentry.load({module:?}, {name:?})\nPass = entry.Pass\n");
    let entry = app.join(format!("{ENTRY}.py"));
    std::fs::write(&entry, text).map_err(io(&entry))?;
    std::fs::write(&wit, contract::WIT).map_err(io(&wit))?;

    let mut command = Command::new(program);
    if options.quiet {
        command.arg("--quiet");
    }
    command.arg("-d").arg(&wit).args(["-w", "graph-pass", "componentize", "--stub-wasi", "-p"]).arg(&app);
    command.arg(ENTRY).arg("-o").arg(&out).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().map_err(io(program))?;
    if !status.success() {
        let (package, program) = (source.name.clone(), program.display().to_string());
        return Err(BuildError::Compiler { package, program, status: status.to_string() });
    }
    std::fs::read(&out).map_err(io(&out))
}

fn copy_files(files: &[PathBuf], folder: &Path) -> Result<(), BuildError> {
    std::fs::create_dir_all(folder).map_err(|source| BuildError::Io { path: folder.to_owned(), source })?;
    for file in files {
        let copied = std::fs::copy(file, folder.join(file.file_name().unwrap_or_default()));
        copied.map_err(|source| BuildError::Io { path: file.clone(), source })?;
    }
    Ok(())
}

fn find() -> Result<PathBuf, BuildError> {
    let candidates: Vec<PathBuf> = match std::env::var_os("AIRLOCK_GUEST_COMPONENTIZE_PY") {
        Some(named) => vec![PathBuf::from(named)],
        None => {
            let own = cache_folder().join("python/bin/componentize-py");
            own.is_file().then_some(own).into_iter().chain(in_path("componentize-py")).collect()
        }
    };
    let mut tried = Vec::new();
    for program in candidates {
        match probe(&program) {
            Ok(()) => return Ok(program),
            Err(reason) => tried.push(format!("{}: {reason}", program.display())),
        }
    }
    Err(BuildError::NoComponentizePy { version: VERSION, tried })
}

/// Whether it runs. In one line why not.
fn probe(program: &Path) -> Result<(), String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("does not run").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is_missing_the_package_and_the_command_are_named() {
        let message = BuildError::NoComponentizePy { version: VERSION, tried: Vec::new() }.to_string();
        assert!(message.contains("pip install componentize-py==0.25.1"), "{message}");
    }
}
