//! Programs in C and C++ against the library: misuse is an error, and the example gives what the command line gives.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const MODEL: &str = "tests/models/quantize_chain/core.fx";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The folder with the library and the program `airlock`, built. With the workspace's tests: these switch on other features of what
/// both stand on, and without them all of it would be compiled a second time.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--workspace", "--lib", "--bins", "--test", "*"]).current_dir(root());
        assert!(cargo.status().unwrap().success());
        target().join("debug")
    })
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let says = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}:\n{}{}", says(&output.stdout), says(&output.stderr));
    output
}

/// Says something past the test runner's capture.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A program of the path, or of the packages that `scripts/setup.sh --languages` installs.
fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = target().join("guest-toolchain/python/bin");
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain([own]).collect();
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

fn library_path(command: &mut Command) -> &mut Command {
    command.env("LD_LIBRARY_PATH", built())
}

#[test]
fn every_misuse_is_an_error() {
    let pass = target().join("components/broken.wasm");
    if !pass.is_file() {
        assert!(std::env::var_os("AIRLOCK_COMPONENTS_REQUIRED").is_none(), "{} is missing", pass.display());
        return say(&format!("skipped: {} is missing; scripts/setup.sh builds it", pass.display()));
    }
    let folder = tempfile::tempdir().unwrap();
    let misuse = folder.path().join("misuse");
    let compiler = program(&["cc", "gcc", "clang"]).expect("a C compiler, which links Rust programs too");
    let mut compile = Command::new(compiler);
    compile.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", "include", "tests/misuse.c", "-o"]).arg(&misuse);
    done(compile.arg("-L").arg(built()).args(["-lairlock", "-lpthread"]).current_dir(env!("CARGO_MANIFEST_DIR")));
    let mut run = Command::new(&misuse);
    let output = done(library_path(run.arg(built().join("airlock")).arg(root().join(MODEL)).arg(&pass)));
    assert_eq!(output.stdout, b"every misuse was an error\n");
}

/// A compiler of C++ for this machine: one that is there, else zig, which compiles passes.
fn compiler(folder: &Path) -> Option<PathBuf> {
    if let Some(found) = program(&["c++", "g++", "clang++"]) {
        return Some(found);
    }
    let python = target().join("guest-toolchain/python/bin/python");
    let script = folder.join("c++");
    std::fs::write(&script, format!("#!/bin/sh\nexec '{}' -m ziglang c++ \"$@\"\n", python.display())).ok()?;
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).ok()?;
    python.is_file().then_some(script)
}

/// Installs the library, builds the example against what was installed, and gives the program.
fn example(folder: &Path) -> Option<PathBuf> {
    let (cmake, compiler) = (program(&["cmake"])?, compiler(folder)?);
    let generator: &[&str] = if program(&["make"]).is_some() { &[] } else { &["-G", "Ninja"] };
    let path = std::env::join_paths([cmake.parent()?.to_owned(), "/usr/bin".into(), "/bin".into()]).ok()?;
    let cmake = |args: &[&str]| {
        let mut command = Command::new(&cmake);
        command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).env("PATH", &path).env("CXX", &compiler);
        done(&mut command);
    };
    let place = |name: &str| folder.join(name).display().to_string();
    let library = format!("-DAIRLOCK_LIBRARY={}", built().join("libairlock.so").display());
    cmake(&[&["-S", ".", "-B", &place("library"), &library], generator].concat());
    cmake(&["--install", &place("library"), "--prefix", &place("installed")]);
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", place("installed"));
    cmake(&[&["-S", "example", "-B", &place("example"), &prefix], generator].concat());
    cmake(&["--build", &place("example")]);
    Some(folder.join("example/quantize"))
}

#[test]
fn the_example_gives_what_the_command_line_gives() {
    let is_required =
        std::env::var("AIRLOCK_LANGUAGES_REQUIRED").is_ok_and(|names| names.split(',').any(|n| n == "capi"));
    let folder = tempfile::tempdir().unwrap();
    let (model, pass) = (root().join(MODEL), folder.path().join("quantize.wasm"));
    let mut build = Command::new(built().join("airlock"));
    build.arg("build").arg(root().join("capi/example/quantize")).arg("-o").arg(&pass);
    let is_built = build.output().unwrap().status.success();
    let Some(example) = Some(()).filter(|()| is_built).and_then(|()| example(folder.path())) else {
        assert!(!is_required, "a compiler for passes in C++, one for this machine, or cmake is missing");
        return say(
            "skipped: the example of the C API needs cmake, a C++ compiler, and one for passes (scripts/setup.sh --languages)",
        );
    };
    let [ours, theirs] = ["ours.pbtxt", "theirs.pbtxt"].map(|name| folder.path().join(name));
    let mut run = Command::new(&example);
    let output = done(library_path(run.arg(built().join("airlock")).args([&model, &pass, &ours])));

    let airlock = |args: &[&std::ffi::OsStr]| Command::new(built().join("airlock")).args(args).output().unwrap();
    let reason = |option: &str| {
        let args = ["run", "--format", "json", "--option", option, "--pass"].map(std::ffi::OsStr::new);
        let output = airlock(&[&args[..], &[pass.as_os_str(), model.as_os_str()]].concat());
        assert_eq!(output.status.code(), Some(1));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["passes"][0]["verdict"]["reason"].as_str().unwrap().to_owned()
    };
    let expected = format!(
        "as in the document: {}\ncast back: {}\nclamped twice: accepted\nlowered: proved exact\n",
        reason("cast=no"),
        reason("cast=back")
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert!(
        expected.contains("output 0 is f32[4, 16] before, i8[4, 16] after") && expected.contains("NaN before, 0 after")
    );
    // What stands is the model with one more clamp, and is lowered as the command line lowers it.
    let edited = folder.path().join("edited.fx");
    let text = std::fs::read_to_string(&model).unwrap();
    let again = "clamp_default: \"f32[4, 16]\" = torch.ops.aten.clamp.default(clamp, -128, 127);  clamp = None\n            return (clamp_default,)";
    std::fs::write(
        &edited,
        text.replace("return (clamp,)", again).replace("clamp: USER_OUTPUT", "clamp_default: USER_OUTPUT"),
    )
    .unwrap();
    let lower = airlock(&["lower".as_ref(), edited.as_os_str(), "-o".as_ref(), theirs.as_os_str()]);
    assert_eq!(lower.status.code(), Some(0), "{}", String::from_utf8_lossy(&lower.stderr));
    for ending in ["", ".options.json", ".host.json"] {
        let read = |path: &Path| std::fs::read_to_string(format!("{}{ending}", path.display())).unwrap();
        assert_eq!(read(&ours), read(&theirs), "OUT{ending}");
    }
}
