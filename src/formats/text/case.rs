//! Cases: two programs in one file, with what is expected of them (`.case`).
//!
//! Three parts, each begun by a line that starts with `=== `: `meta` (TOML), `before` and `after` (the text form). Promises: lines in
//! errors are lines of the file; keys of `meta` that nobody here knows are kept. Leaves to others what labels and policies mean.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use super::error::{TextError, shown};
use super::read::{self, ReadOptions};
use crate::graph::{Graph, InputLayout};

/// A rewrite, and what it is said to be.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is said of it.
    pub meta: CaseMeta,
    /// The program before.
    pub before: Graph,
    /// The program after; not checked.
    pub after: Graph,
}

/// The first part of a case.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct CaseMeta {
    /// The case's name.
    #[serde(default)]
    pub name: String,
    /// To which group it belongs.
    #[serde(default)]
    pub area: String,
    /// What is right: `exact`, `real`, `equivalent`, `different`, `race`, `lifetime`, `malformed`, `recorded`.
    #[serde(default)]
    pub label: String,
    /// Why, in one sentence.
    #[serde(default)]
    pub why: String,
    /// Where the rewrite is known from.
    #[serde(default)]
    pub source: Option<String>,
    /// `any`, `max-autotune` or `reduce-overhead`; none means any.
    #[serde(default)]
    pub mode: Option<String>,
    /// `training`: the graph is a training graph.
    #[serde(default)]
    pub policy: Option<String>,
    /// Whether a rounding to a narrower dtype may be dropped, added or moved.
    #[serde(default)]
    pub allow_wider: bool,
    /// Whether integers behind a quantisation may be one quantum apart.
    #[serde(default)]
    pub integer_slack: bool,
    /// Domains of inputs by name: `positive`, `int(0,6)`, `normal(0.3)` ...
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// Values that inputs hold, by name: `{ lo, hi, distinct }`, `{ is }`, `{ positive }`.
    #[serde(default)]
    pub values: BTreeMap<String, toml::Value>,
    /// How inputs lie of which the programs state no strides: `contiguous`, where nothing is said, or `any`.
    #[serde(default)]
    pub layout: InputLayout,
    /// Pairs of inputs that may be the same memory.
    #[serde(default)]
    pub may_alias: Vec<(String, String)>,
    /// Tagged events that the user has created; none means that nothing is said.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// `applied`: `after` already holds the mode's own fork and join events.
    #[serde(default)]
    pub closure: Option<String>,
    /// The same of `before`.
    #[serde(default)]
    pub closure_before: Option<String>,
    /// Of recorded cases: what a checker says of `after` against `before`.
    #[serde(default)]
    pub judged: Option<String>,
    /// Inputs on which both programs are run first.
    #[serde(default)]
    pub counterexample: Option<StatedInputs>,
    /// All other keys.
    #[serde(flatten)]
    pub other: toml::Table,
}

/// Inputs that a case states, complete.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct StatedInputs {
    /// The sizes of symbols.
    #[serde(default)]
    pub sizes: BTreeMap<String, i64>,
    /// Whether inputs that may be the same memory are.
    #[serde(default)]
    pub aliased: bool,
    /// The file beside that holds the values.
    #[serde(default)]
    pub file: Option<String>,
    /// By name.
    #[serde(default)]
    pub inputs: BTreeMap<String, GivenInput>,
}

/// One input that a case states.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct GivenInput {
    /// `f32`; none of a number.
    #[serde(default)]
    pub dtype: Option<String>,
    /// Sizes.
    #[serde(default)]
    pub sizes: Vec<usize>,
    /// Strides, where it does not lie row by row.
    #[serde(default)]
    pub strides: Option<Vec<usize>>,
    /// Row-major; none where they stand in the file beside.
    #[serde(default)]
    pub values: Vec<toml::Value>,
}

/// Why a case cannot be read.
#[derive(Debug, Error)]
pub enum CaseError {
    /// A part is not there.
    #[error("{file}: there is no line `=== {part}`; a case has the parts `meta`, `before` and `after`")]
    MissingPart {
        /// The file.
        file: String,
        /// The part.
        part: &'static str,
    },
    /// A part that is none of the three, or is there twice.
    #[error(
        "{file}:{line}: `=== {part}` does not belong here; a case has the parts `meta`, `before` and `after`, each once"
    )]
    UnexpectedPart {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What the line says.
        part: String,
    },
    /// `meta` is not the TOML that is expected.
    #[error("{file}: part `meta` cannot be read: {source}")]
    Meta {
        /// The file.
        file: String,
        /// Why, with line and column.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A program cannot be read.
    #[error("{0}")]
    Text(#[from] Box<TextError>),
}

/// The key of `meta` that names the mode.
pub const MODE: &str = "mode";

/// The key of `meta` under which inputs stand on which both programs are run first.
pub const GIVEN: &str = "counterexample";

/// Returns a case of these parts.
pub fn write(meta: &toml::Table, before: &Graph, after: &Graph) -> String {
    let meta = toml::to_string(meta).unwrap_or_default();
    format!("=== meta\n{meta}=== before\n{}\n=== after\n{}", super::write(before), super::write(after))
}

/// The parts in the order in which they stand.
const PARTS: [&str; 3] = ["meta", "before", "after"];

/// A part's text, and how many lines stand above it.
#[derive(Clone, Copy, Default)]
struct Part<'a> {
    text: &'a str,
    above: usize,
}

/// Reads a case.
pub fn read(text: &str, options: &ReadOptions) -> Result<Case, CaseError> {
    let [meta_part, before, after] = parts(text, &options.file)?;
    let meta_part = needed(meta_part, "meta", options)?;
    let (before, after) = (needed(before, "before", options)?, needed(after, "after", options)?);
    let meta = meta(meta_part, options)?;
    let options = &laid_out(options, &meta);
    Ok(Case { meta, before: program(before, options)?, after: program(after, options)? })
}

/// A case of a pass: what it must come to, and where it is stated the output.
#[derive(Clone, Debug)]
pub struct PassCase {
    /// What is said of it.
    pub meta: CaseMeta,
    /// The program that the pass is run on.
    pub before: Graph,
    /// The program after, where there is one.
    pub after: Option<Graph>,
}

/// Reads a case of a pass, which may have no `after`.
pub fn read_of_pass(text: &str, options: &ReadOptions) -> Result<PassCase, CaseError> {
    let [meta_part, before, after] = parts(text, &options.file)?;
    let meta = meta(needed(meta_part, "meta", options)?, options)?;
    let options = &laid_out(options, &meta);
    let before = program(needed(before, "before", options)?, options)?;
    Ok(PassCase { meta, before, after: after.map(|part| program(part, options)).transpose()? })
}

fn meta(part: Part<'_>, options: &ReadOptions) -> Result<CaseMeta, CaseError> {
    // Empty lines above it make the lines of TOML errors those of the file.
    let padded = "\n".repeat(part.above) + part.text;
    toml::from_str(&padded)
        .map_err(|source| CaseError::Meta { file: shown(&options.file).into_owned(), source: Box::new(source) })
}

fn laid_out(options: &ReadOptions, meta: &CaseMeta) -> ReadOptions {
    ReadOptions { inputs_lie: meta.layout, ..options.clone() }
}

/// Reads the program before alone. A case that keeps the graph on which a pass failed has no `after`.
pub fn read_before(text: &str, options: &ReadOptions) -> Result<Graph, CaseError> {
    let [meta_part, before, _] = parts(text, &options.file)?;
    let meta = meta_part.map(|part| meta(part, options)).transpose()?.unwrap_or_default();
    program(needed(before, "before", options)?, &laid_out(options, &meta))
}

fn needed<'a>(part: Option<Part<'a>>, name: &'static str, options: &ReadOptions) -> Result<Part<'a>, CaseError> {
    part.ok_or_else(|| CaseError::MissingPart { file: shown(&options.file).into_owned(), part: name })
}

fn program(part: Part<'_>, options: &ReadOptions) -> Result<Graph, CaseError> {
    read::read(part.text, options).map_err(|mut error| {
        error.line = error.line.saturating_add(part.above);
        CaseError::Text(Box::new(error))
    })
}

fn parts<'a>(text: &'a str, file: &str) -> Result<[Option<Part<'a>>; 3], CaseError> {
    let mut found: [Option<Part<'a>>; 3] = [None; 3];
    let mut current: Option<usize> = None;
    let (mut position, mut begun, mut above) = (0_usize, 0_usize, 0_usize);
    let mut close = |part: Option<usize>, begun: usize, end: usize, above: usize| {
        if let Some(slot) = part.and_then(|p| found.get_mut(p)) {
            *slot = Some(Part { text: text.get(begun..end).unwrap_or(""), above });
        }
    };
    let mut seen = [false; 3];
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = position.saturating_add(line.len());
        if let Some(name) = line.strip_prefix("=== ") {
            let name = name.trim();
            close(current, begun, position, above);
            current = PARTS.iter().position(|p| *p == name);
            let fresh = current.and_then(|p| seen.get_mut(p)).is_some_and(|seen| !std::mem::replace(seen, true));
            let line = index.saturating_add(1);
            if !fresh {
                let (file, part) = (shown(file).into_owned(), shown(name).into_owned());
                return Err(CaseError::UnexpectedPart { file, line, part });
            }
            (begun, above) = (end, line);
        }
        position = end;
    }
    close(current, begun, position, above);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str =
        "=== meta\nname = \"n\"\nlabel = \"exact\"\nwitness = { regime = \"ramp(0)\" }\n\n[inputs]\nx = \"positive\"\n";
    const PROGRAM: &str = "class M(torch.nn.Module):\n    def forward(self, x: \"f32[2]\"):\n        return (x,)\n";

    fn read_case(text: &str) -> Result<Case, String> {
        read(text, &ReadOptions::of_file("c.case")).map_err(|e| match e {
            CaseError::Text(e) => e.render(),
            other => other.to_string(),
        })
    }

    #[test]
    fn a_case_gives_its_meta_and_two_programs() {
        let case = read_case(&format!("{META}=== before\n{PROGRAM}=== after\n{PROGRAM}")).unwrap();
        assert_eq!((case.meta.name.as_str(), case.meta.label.as_str()), ("n", "exact"));
        assert_eq!(case.meta.inputs.get("x").map(String::as_str), Some("positive"));
        assert!(case.meta.other.contains_key("witness") && !case.meta.other.contains_key("name"));
        assert_eq!((case.before.len(), case.after.len()), (2, 2));
    }

    #[test]
    fn faults_of_a_case_name_the_line_of_the_file() {
        let broken = PROGRAM.replace("(x,)", "(x,");
        let error = read_case(&format!("{META}=== before\n{PROGRAM}=== after\n{broken}")).unwrap_err();
        assert!(error.contains("c.case:16:1"), "{error}");
        let error = read_case(&format!("=== meta\nname = 1\n=== before\n{PROGRAM}=== after\n{PROGRAM}")).unwrap_err();
        assert!(error.contains("line 2"), "{error}");
        let error = read_case(&format!("{META}=== before\n{PROGRAM}")).unwrap_err();
        assert_eq!(error, "c.case: there is no line `=== after`; a case has the parts `meta`, `before` and `after`");
        let error = read_case(&format!("{META}=== before\n{PROGRAM}=== befor\n")).unwrap_err();
        assert!(error.starts_with("c.case:12: `=== befor` does not belong here"), "{error}");
    }
}
