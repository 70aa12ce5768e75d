//! Passes in C and C++: a clang that compiles for WebAssembly and has a C library for it.
//!
//! In this order:
//!
//! 1. `AIRLOCK_GUEST_CC`, and nothing else where it is set: a command, as in `zig cc`;
//! 2. zig in the path;
//! 3. the package `ziglang` of Python: of the cache folder, where `scripts/setup.sh --languages` puts it, of the active
//!    environment, of the system. It is clang and the C library in one, and needs nothing else;
//! 4. clang in the path.
//!
//! C++ is compiled without exceptions: a pass that raised one could not be told from one that traps.
//!
//! Whatever is found has to compile and link a small program before it is taken. Files are compiled one by one and linked
//! with the SDK's own; the C library's calls of the system are answered by the SDK (`sdk/c/src/stdio.c`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{cache_folder, in_path, work_folder};
use crate::guest::build::Built;
use crate::guest::component::{componentize_untyped, without_debug};
use crate::guest::{BuildError, Language, Source, sdk};

const TARGET: &str = "--target=wasm32-wasi";

/// What the SDK and passes are compiled with.
const FLAGS: &[&str] =
    &[TARGET, "-Oz", "-gline-tables-only", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"];
const C_FLAGS: &[&str] = &["-std=c11"];
const CPP_FLAGS: &[&str] = &["-std=c++20", "-fno-exceptions", "-fno-rtti"];
const WARNINGS: &[&str] = &["-Wall", "-Wextra"];

const LINK_FLAGS: &[&str] = &[TARGET, "-mexec-model=reactor", "-Wl,--gc-sections", "-Wl,-z,stack-size=1048576"];

/// Sources of the SDK, below its folder.
const SDK_SOURCES: &[&str] = &["c/src/airlock.c", "c/src/stdio.c", "c/bindings/graph_pass.c"];
const SDK_INCLUDES: &[&str] = &["c/include", "c/bindings", "cpp/include"];

/// A compiler: a program and what stands before its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Compiler {
    program: PathBuf,
    before: Vec<OsString>,
}

/// Builds a pass in C or C++.
pub fn build(source: &Source) -> Result<Built, BuildError> {
    let compiler = Compiler::find()?;
    let sdk = sdk::folder(&source.dir, source.language)?;
    let work = work_folder()?;
    let built = compile_and_link(source, &compiler, &sdk, &work);
    let _ = std::fs::remove_dir_all(&work);
    let module = built?;
    let refused = |reason| BuildError::Componentize { package: source.name.clone(), reason };
    let (plain, debug) = match without_debug(&module).map_err(refused)? {
        Some(plain) => (plain, Some(module)),
        None => (module, None),
    };
    let component = componentize_untyped(plain).map_err(refused)?;
    Ok(Built { name: source.name.clone(), component, debug, toolchain: compiler.shown() })
}

fn compile_and_link(source: &Source, compiler: &Compiler, sdk: &Path, work: &Path) -> Result<Vec<u8>, BuildError> {
    let own = source.files.iter().map(|file| (file.clone(), WARNINGS));
    let sdks = SDK_SOURCES.iter().map(|file| (sdk.join(file), &[][..]));
    let mut objects = Vec::new();
    for (index, (file, warnings)) in own.chain(sdks).enumerate() {
        let object = work.join(format!("{index}.o"));
        let is_c = file.extension().is_some_and(|ending| ending == "c");
        let (language, flags) = if is_c { (Language::C, C_FLAGS) } else { (Language::Cpp, CPP_FLAGS) };
        let mut command = compiler.command(language);
        command.args(FLAGS).args(flags).args(warnings).arg("-I").arg(&source.dir);
        for folder in SDK_INCLUDES {
            command.arg("-I").arg(sdk.join(folder));
        }
        command.arg("-c").arg(&file).arg("-o").arg(&object);
        run(&mut command, &source.name)?;
        objects.push(object);
    }
    let module = work.join("module.wasm");
    let mut command = compiler.command(source.language);
    run(command.args(LINK_FLAGS).args(&objects).arg("-o").arg(&module), &source.name)?;
    std::fs::read(&module).map_err(|source| BuildError::Io { path: module, source })
}

/// Runs a compiler to its end; what it says goes to standard error.
fn run(command: &mut Command, package: &str) -> Result<(), BuildError> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|source| BuildError::Io { path: PathBuf::from(&program), source })?;
    match status.success() {
        true => Ok(()),
        false => Err(BuildError::Compiler { package: package.to_owned(), program, status: status.to_string() }),
    }
}

impl Compiler {
    fn find() -> Result<Compiler, BuildError> {
        if let Ok(named) = std::env::var("AIRLOCK_GUEST_CC") {
            let mut words = named.split_whitespace();
            let compiler = Compiler {
                program: words.next().unwrap_or_default().into(),
                before: words.map(OsString::from).collect(),
            };
            let reason = match compiler.probe() {
                Ok(()) => return Ok(compiler),
                Err(reason) => reason,
            };
            return Err(BuildError::NoCCompiler { tried: vec![format!("AIRLOCK_GUEST_CC={named}: {reason}")] });
        }
        let mut tried = Vec::new();
        for compiler in candidates() {
            match compiler.probe() {
                Ok(()) => return Ok(compiler),
                Err(reason) => tried.push(format!("{}: {reason}", compiler.shown())),
            }
        }
        Err(BuildError::NoCCompiler { tried })
    }

    /// The compiler of C, or as it is called for C++: zig has two commands, clang an option.
    fn command(&self, language: Language) -> Command {
        let mut command = Command::new(&self.program);
        let is_zig = self.before.last().is_some_and(|word| word == "cc");
        match language {
            Language::Cpp if is_zig => {
                let kept = self.before.len().saturating_sub(1);
                command.args(self.before.iter().take(kept)).arg("c++")
            }
            Language::Cpp => command.arg("--driver-mode=g++").args(&self.before),
            _ => command.args(&self.before),
        };
        command
    }

    fn shown(&self) -> String {
        let words = self.before.iter().map(|word| word.to_string_lossy());
        std::iter::once(self.program.to_string_lossy()).chain(words).collect::<Vec<_>>().join(" ")
    }

    /// Links a program that takes memory and text from the C library. In one line why not.
    fn probe(&self) -> Result<(), String> {
        let folder = work_folder().map_err(|error| error.to_string())?;
        let source = folder.join("probe.c");
        let text =
            "#include <stdio.h>\n#include <stdlib.h>\nint f(int n) { return snprintf(malloc(8), 8, \"%d\", n); }\n";
        std::fs::write(&source, text).map_err(|error| error.to_string())?;
        let mut command = self.command(Language::C);
        command.args(FLAGS).arg("-mexec-model=reactor").arg(&source).arg("-o").arg(folder.join("probe.wasm"));
        let output = command.stdin(Stdio::null()).output();
        let _ = std::fs::remove_dir_all(&folder);
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let says = String::from_utf8_lossy(&output.stderr);
        let errors = says.lines().find(|line| line.contains("error") || line.contains("No module"));
        Err(errors.or(says.lines().next()).unwrap_or("says nothing").trim().to_owned())
    }
}

/// Compilers that may be there, and are asked. What the path does not have is left out.
fn candidates() -> Vec<Compiler> {
    let plain =
        |program: PathBuf, before: &[&str]| Compiler { program, before: before.iter().map(OsString::from).collect() };
    let mut candidates: Vec<Compiler> = in_path("zig").map(|zig| plain(zig, &["cc"])).into_iter().collect();
    let own = cache_folder().join("python/bin/python");
    let pythons = own.is_file().then_some(own).into_iter().chain(in_path("python3")).chain(in_path("python"));
    candidates
        .extend(pythons.filter(|python| has_ziglang(python)).map(|python| plain(python, &["-m", "ziglang", "cc"])));
    // Where Debian's wasi-libc is.
    let sysroot: &[&str] = if Path::new("/usr/include/wasm32-wasi").is_dir() { &["--sysroot=/usr"] } else { &[] };
    let numbered = (16..40).rev().map(|version| format!("clang-{version}"));
    let clangs = std::iter::once("clang".to_owned()).chain(numbered).filter_map(|name| in_path(&name));
    candidates.extend(clangs.map(|clang| plain(clang, sysroot)));
    candidates
}

fn has_ziglang(python: &Path) -> bool {
    let status = Command::new(python).args(["-c", "import ziglang"]).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_compiler_is_found_the_package_and_the_command_are_named() {
        let tried = vec!["/usr/bin/clang: error: unable to find library -lc".to_owned()];
        let message = BuildError::NoCCompiler { tried }.to_string();
        for part in ["unable to find library -lc", "pip install ziglang", "apt-get install", "AIRLOCK_GUEST_CC"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_program_that_is_no_compiler_is_not_taken() {
        let compiler = Compiler { program: "/no/such/cc".into(), before: Vec::new() };
        assert!(compiler.probe().is_err());
        assert_eq!(compiler.shown(), "/no/such/cc");
    }
}
