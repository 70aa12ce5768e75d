//! JSON documents of an archive: parsed to typed structs, with errors that say where in the document.

use serde::Deserialize;

use super::error::Problem;
use super::schema::{Program, VersionOnly, too_deep};

/// How deep a document may nest; serde_json's own limit.
const DEPTH: usize = 127;
/// The schema's major version that is read.
const MAJOR: i64 = 8;

/// Parses a document.
pub(super) fn parse<'a, T: Deserialize<'a>>(entry: &str, json: &'a [u8]) -> Result<T, Problem> {
    if let Some((line, column)) = too_deep(json, DEPTH) {
        return Err(Problem::TooDeep { entry: entry.to_string(), line, column, limit: DEPTH });
    }
    serde_json::from_slice(json).map_err(|error| {
        // Parsed again, slowly, to say where.
        let path = match serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(json)) {
            Err(found) => found.path().to_string(),
            Ok(_) => String::new(),
        };
        broken(entry, json, &error, path)
    })
}

/// Parses `model.json`, telling another version from a broken document.
pub(super) fn program<'a>(entry: &str, json: &'a [u8]) -> Result<Program<'a>, Problem> {
    let parsed: Result<Program<'a>, Problem> = parse(entry, json);
    let version = match &parsed {
        Ok(program) => Some((program.schema_version.major, program.schema_version.minor)),
        Err(Problem::TooDeep { .. }) => None,
        Err(_) => {
            serde_json::from_slice::<VersionOnly>(json).ok().map(|v| (v.schema_version.major, v.schema_version.minor))
        }
    };
    match version {
        // PyTorch takes 0.0 as well: a program that was never versioned.
        Some((major, minor)) if major != MAJOR && (major, minor) != (0, 0) => Err(Problem::Schema { major, minor }),
        _ => parsed,
    }
}

fn broken(entry: &str, json: &[u8], error: &serde_json::Error, path: String) -> Problem {
    let message = error.to_string();
    // The place has its own fields.
    let message = message.split(" at line ").next().unwrap_or(&message).to_string();
    Problem::Json {
        entry: entry.to_string(),
        path,
        line: error.line(),
        column: error.column(),
        message,
        near: near(json, error.line(), error.column()),
    }
}

/// Returns the text before a place, cut to what fits a line.
fn near(json: &[u8], line: usize, column: usize) -> String {
    let Some(text) = json.split(|b| *b == b'\n').nth(line.saturating_sub(1)) else { return String::new() };
    let end = column.min(text.len());
    let start = end.saturating_sub(40);
    let cut = text.get(start..end).unwrap_or_default();
    String::from_utf8_lossy(cut).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
