//! What is committed is what is made: a test holds the two against each other, and one variable writes all of it anew.

use std::path::Path;

/// Whether what is committed is to be written anew: `AIRLOCK_UPDATE` is set. The change is a diff to be read.
pub fn is_updated() -> bool {
    std::env::var_os("AIRLOCK_UPDATE").is_some()
}

/// Fails where a file of this repository is not what was made now, or writes it where that is asked for.
#[track_caller]
pub fn hold(path: impl AsRef<Path>, made: impl AsRef<[u8]>) {
    let (path, made) = (Path::new(env!("CARGO_MANIFEST_DIR")).join(path), made.as_ref());
    if is_updated() {
        std::fs::write(&path, made).unwrap();
        return;
    }
    let held = std::fs::read(&path).unwrap_or_default();
    let (held_text, made_text) = (String::from_utf8_lossy(&held), String::from_utf8_lossy(made));
    let (mut held_lines, mut made_lines) = (held_text.lines(), made_text.lines());
    let first = (1..).map(|line| (line, held_lines.next(), made_lines.next())).find(|(_, a, b)| a != b || a.is_none());
    let file = path.display();
    assert!(
        held == made,
        "{file} is not what is made now; AIRLOCK_UPDATE=1 writes it; first difference (line, held, made): {first:?}"
    );
}
