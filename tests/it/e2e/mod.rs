//! What end-to-end tests share: the binary, the example passes, files of the repository.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;

/// The binary, with no colours and no progress.
pub fn airlock() -> Command {
    let mut command = Command::cargo_bin("airlock").unwrap();
    command.env("NO_COLOR", "1").arg("--no-progress");
    let own = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    command.env("XDG_CACHE_HOME", own("cache")).env("XDG_STATE_HOME", own("state"));
    command
}

/// A file of the repository.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// An exported model of the tests.
pub fn model(name: &str, form: &str) -> PathBuf {
    file(&format!("tests/models/{name}/{form}.pt2"))
}

/// An example pass that `scripts/setup.sh` built. Without it the test is skipped, or fails where `scripts/test.sh` says that
/// it must be there.
pub fn component(name: &str) -> Option<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| file("target"), PathBuf::from);
    let path = target.join(format!("components/{name}.wasm"));
    if path.is_file() {
        return Some(path);
    }
    assert!(
        std::env::var_os("AIRLOCK_COMPONENTS_REQUIRED").is_none(),
        "{} is missing: run scripts/setup.sh",
        path.display()
    );
    eprintln!("skipped: {} is missing; scripts/setup.sh builds it", path.display());
    None
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e} in {}\n{}", text(&output.stdout), text(&output.stderr)))
}

/// Names of all files below a folder.
pub fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
