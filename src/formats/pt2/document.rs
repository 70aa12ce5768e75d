//! JSON documents of an archive: parsed to typed structs, with errors that say where in the document.
//!
//! PyTorch 2.5 writes infinities and NaN as Python does, bare; later versions as the texts that the schema knows. [`quoted`] makes the
//! one the other.

use std::borrow::Cow;

use serde::Deserialize;

use super::error::Problem;
use super::schema::{Program, VersionOnly, too_deep};

/// How deep a document may nest; serde_json's own limit.
const DEPTH: usize = 127;

/// Parses a document.
pub(super) fn parse<'a, T: Deserialize<'a>>(entry: &str, json: &'a [u8]) -> Result<T, Problem> {
    if let Some((line, column)) = too_deep(json, DEPTH) {
        return Err(Problem::TooDeep { entry: entry.to_string(), line, column, limit: DEPTH });
    }
    // Texts of a document that is known to be UTF-8 are not looked at one by one.
    let parsed = std::str::from_utf8(json).map_or_else(|_| serde_json::from_slice(json), serde_json::from_str);
    parsed.map_err(|error| {
        // Parsed again, slowly, to say where.
        let path = match serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_slice(json)) {
            Err(found) => found.path().to_string(),
            Ok(_) => String::new(),
        };
        broken(entry, json, &error, path)
    })
}

/// Parses the program, telling another version than those of `majors` from a broken document.
pub(super) fn program<'a>(entry: &str, json: &'a [u8], majors: &'static [i64]) -> Result<Program<'a>, Problem> {
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
        Some((major, minor)) if !majors.contains(&major) && (major, minor) != (0, 0) => {
            Err(Problem::Schema { major, minor, expected: majors })
        }
        _ => parsed,
    }
}

/// The numbers that Python writes and JSON does not know. The longer spelling of two that begin alike comes first.
const BARE: &[&str] = &["-Infinity", "Infinity", "NaN"];

/// Returns the document with bare `Infinity`, `-Infinity` and `NaN` as texts.
pub(super) fn quoted(json: &[u8]) -> Cow<'_, [u8]> {
    let (mut made, mut copied) = (Vec::new(), 0_usize);
    let (mut in_text, mut escaped) = (false, false);
    for (place, byte) in json.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'-' | b'I' | b'N' if !in_text && place >= copied => {
                let rest = json.get(place..).unwrap_or_default();
                let Some(bare) = BARE.iter().find(|bare| rest.starts_with(bare.as_bytes())) else { continue };
                made.extend_from_slice(json.get(copied..place).unwrap_or_default());
                made.push(b'"');
                made.extend_from_slice(bare.as_bytes());
                made.push(b'"');
                copied = place.saturating_add(bare.len());
            }
            _ => {}
        }
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    made.extend_from_slice(json.get(copied..).unwrap_or_default());
    Cow::Owned(made)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_infinities_become_texts_and_texts_stay() {
        let text = |json: &str| String::from_utf8(quoted(json.as_bytes()).into_owned()).unwrap();
        assert_eq!(
            text(r#"{"a": Infinity, "b": [-Infinity,NaN], "c": -1, "d": Infinity}"#),
            r#"{"a": "Infinity", "b": ["-Infinity","NaN"], "c": -1, "d": "Infinity"}"#
        );
        for same in [r#"{"NaN": "-Infinity"}"#, r#"["\\\" Infinity"]"#, r#"["\\", "NaN\""]"#, "-1", ""] {
            assert_eq!(text(same), same);
            assert!(matches!(quoted(same.as_bytes()), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn brackets_in_texts_do_not_count_however_long_these_are() {
        for length in 0..80 {
            for escape in [r#"\""#, r"\\", r"\u005b", ""] {
                for place in 0..=length {
                    let (before, behind) = ("[".repeat(place), "[".repeat(length - place));
                    let text = format!("\"{before}{escape}{behind}\"");
                    let nested = |depth: usize| format!("{}{text}{}", "[".repeat(depth), "]".repeat(depth));
                    assert_eq!(too_deep(nested(3).as_bytes(), 3), None, "{text}");
                    assert_eq!(too_deep(format!("[{text},{}]", nested(3)).as_bytes(), 3), Some((1, text.len() + 5)));
                }
            }
        }
        // Of a text without an end the parser says more.
        for open in ["[\"", "[\"\\", r#"["a\""#] {
            assert_eq!(too_deep(open.as_bytes(), 0), Some((1, 1)));
            assert_eq!(too_deep(open.as_bytes(), 1), None);
        }
    }
}
