//! Attacks that are kept as text.
//!
//! A file begins with lines of comment: what it does, then `against:`, `ends:`, and where it needs them `limits:` (TOML, parted by `;`),
//! `more:` (words for the command line), `seconds:`, `mebibytes:`. A file that begins with a component is one; others are the inside
//! of a core module (`tests/components/README.md`).

use std::path::Path;

use super::{Attack, GRAPH, INPUT, LIVES, READS, WORDS};
use crate::components::component;

/// Returns the attacks of the files that say how they end.
pub fn attacks() -> Vec<Attack> {
    let mut found = Vec::new();
    for folder in ["tests/hostile", "tests/components"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "wat") {
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                found.extend(attack(&name, &std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let file = |name: &str| std::fs::read(crate::e2e::file(&format!("tests/components/{name}.wasm"))).unwrap();
    let handles = "it holds more resources at once than limits.handles allows";
    found.push(Attack::new(
        LIVES,
        "many_handles",
        "makes resources without end",
        &format!("fault host-limit in start: {handles}"),
        file("many_handles"),
    ));
    found.push(Attack::new(
        LIVES,
        "endless (Rust)",
        "an example pass in Rust that never ends",
        "fault fuel in run: its fuel is used up",
        file("released-0.1.0/endless"),
    ));
    found
}

fn attack(name: &str, text: &str) -> Option<Attack> {
    let head: Vec<&str> = text.lines().map_while(|l| l.strip_prefix(";;")).map(str::trim).collect();
    let stated = |key: &str| head.iter().find_map(|l| l.strip_prefix(key)?.strip_prefix(": "));
    let ends = stated("ends")?;
    let against = match stated("against") {
        None | Some("lives") => LIVES,
        Some("graph") => GRAPH,
        Some("reads") => READS,
        Some("words") => WORDS,
        Some("input") => INPUT,
        Some(other) => panic!("{name}: against `{other}`?"),
    };
    let bytes = match text.lines().any(|l| l.starts_with("(component")) {
        true => wat::parse_str(text).unwrap_or_else(|e| panic!("{name}: {e}")),
        false => component(text),
    };
    let mut attack = Attack::new(against, name, head.first()?.trim_end_matches('.'), ends, bytes);
    attack.limits = stated("limits").unwrap_or_default().split("; ").map(|l| format!("{l}\n")).collect();
    attack.more = stated("more").unwrap_or_default().split_whitespace().map(str::to_string).collect();
    attack.seconds = stated("seconds").map_or(attack.seconds, |s| s.parse().unwrap());
    attack.mebibytes = stated("mebibytes").map_or(attack.mebibytes, |s| s.parse().unwrap());
    Some(attack)
}
