//! The file of a certificate: JSON, versioned.
//!
//! Promises: what is written reads back the same; another version, a field that is unknown or missing, and a text whose seal is not that of what it
//! says are errors. The seal keeps accidents out, not liars: whoever changes a certificate can seal it again, and then the replay decides.

use serde::{Deserialize, Serialize};

use super::GraphDigest;
use crate::rules::Level;
use crate::sym::Range;

/// The name of the format.
const FORMAT: &str = "airlock-certificate";
/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;
/// The most bytes that a certificate may have.
pub const MAX_BYTES: usize = 1 << 28;

/// What a verdict rests on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The name of the format: `airlock-certificate`.
    format: String,
    /// Its version.
    version: u32,
    /// The version of Airlock that made it.
    pub airlock: String,
    /// The graph as it was.
    pub before: GraphDigest,
    /// The graph as it is.
    pub after: GraphDigest,
    /// What is stated of sizes that are symbols: name, and least and greatest value.
    pub sizes: Vec<(String, Range)>,
    /// Under which conditions the graphs were judged.
    pub under: Conditions,
    /// How equal the graphs are.
    pub level: Level,
    /// The answers to the five questions.
    pub answers: Vec<Answered>,
    /// What the verdict rests on beyond the registry, in words.
    pub assumes: Vec<String>,
    /// The chance, as a power of two, that values are not equal which fingerprints say are; nothing where rules alone show them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked_log2: Option<f64>,
    /// Which values are equal, each shown by rules once those before it are.
    pub steps: Vec<Step>,
    /// What more is equal in the same way once the writes are taken out of both graphs, where the steps do not show these; of their nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_writes: Vec<Step>,
    /// The BLAKE3 hash of the certificate without this field.
    seal: String,
}

/// Under which conditions two graphs were judged.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The NPU path whose order of streams counts.
    pub mode: String,
    /// Pairs of inputs that may be the same memory.
    pub may_alias: Vec<(String, String)>,
    /// Tagged events that the user creates, where somebody says.
    pub tags: Option<Vec<String>>,
    /// Who forks and joins side streams.
    pub closure: String,
    /// What inputs may hold, by name; others any value.
    pub inputs: Vec<(String, String)>,
    /// What is looked away from: `wider`, `integer-slack`, `stops-raising`.
    pub lenient: Vec<String>,
}

/// What a verdict rests on beyond the registry and the rules.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rests {
    /// What is assumed, in words.
    pub on: Vec<String>,
    /// The chance of a false accept, as a power of two, where values were compared by fingerprints.
    pub checked_log2: Option<f64>,
}

/// The answer to one question.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// Which question.
    pub question: String,
    /// How equal, where the question has levels.
    pub level: Option<Level>,
}

/// Two values that are equal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// How equal.
    pub level: Level,
    /// One value.
    pub one: Position,
    /// The other: over the reals the one whose rounding is held to that of the first.
    pub other: Position,
}

/// Where a value is found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// `before` or `after`.
    pub graph: String,
    /// The node that makes it, by name.
    pub node: String,
    /// Which of the node's results, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<u32>,
    /// Which version of its memory.
    pub version: Version,
    /// What of it: `value`, `layout`, `exact-layout` or `memory`.
    pub of: String,
}

/// A version of a storage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Version {
    /// As it was born.
    Born,
    /// After the write of the node of that name.
    WrittenBy(String),
    /// After the final copy that the output of that number of the calling convention stands for.
    FinalOutput(u32),
}

/// Why a certificate is not read.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// It is no JSON of that form.
    #[error(
        "this is no certificate: {0}; `airlock run --certificates DIR` and `airlock verify --certificate FILE` write them"
    )]
    Json(#[from] serde_json::Error),
    /// It is too large.
    #[error("the certificate has {found} bytes; at most {MAX_BYTES} are read")]
    Large {
        /// Its bytes.
        found: usize,
    },
    /// It is of another format or version.
    #[error(
        "the certificate is `{format}` version {version}; this Airlock reads `{FORMAT}` version {VERSION}: make it again"
    )]
    Version {
        /// The format that it names.
        format: String,
        /// The version that it names.
        version: u32,
    },
    /// It was changed.
    #[error("the certificate was changed since it was made: its seal is {found}, that of what it says {expected}")]
    Seal {
        /// The seal of what it says.
        expected: String,
        /// The seal that it has.
        found: String,
    },
}

impl Certificate {
    /// Returns a certificate, sealed.
    pub fn new(
        [before, after]: [GraphDigest; 2],
        (sizes, under): (Vec<(String, Range)>, Conditions),
        (level, answers): (Level, Vec<Answered>),
        Rests { on: assumes, checked_log2 }: Rests,
        (steps, without_writes): (Vec<Step>, Vec<Step>),
    ) -> Self {
        let (format, airlock) = (FORMAT.to_string(), env!("CARGO_PKG_VERSION").to_string());
        let mut new = Certificate {
            format,
            version: VERSION,
            airlock,
            before,
            after,
            sizes,
            under,
            level,
            answers,
            assumes,
            checked_log2,
            steps,
            without_writes,
            seal: String::new(),
        };
        new.seal = new.sealed();
        new
    }

    /// The seal of what it says.
    fn sealed(&self) -> String {
        let bare = Certificate { seal: String::new(), ..self.clone() };
        let text = serde_json::to_vec(&bare).unwrap_or_default();
        blake3::hash(&text).to_hex().to_string()
    }

    /// Returns the text of the file.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a certificate.
    ///
    /// # Errors
    /// What is no certificate of this version, or was changed since it was made.
    pub fn read(bytes: &[u8]) -> Result<Self, CertificateError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        if bytes.len() > MAX_BYTES {
            return Err(CertificateError::Large { found: bytes.len() });
        }
        let Head { format, version } = serde_json::from_slice(bytes)?;
        if format != FORMAT || version != VERSION {
            return Err(CertificateError::Version { format, version });
        }
        let read: Certificate = serde_json::from_slice(bytes)?;
        let expected = read.sealed();
        if expected != read.seal {
            return Err(CertificateError::Seal { expected, found: read.seal });
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Certificate {
        let graph = |blake3: &str| GraphDigest { nodes: 3, blake3: blake3.into() };
        let position = |graph: &str, version| Position {
            graph: graph.into(),
            node: "mul".into(),
            result: Some(1),
            version,
            of: "value".into(),
        };
        let step = Step {
            level: Level::Exact,
            one: position("before", Version::WrittenBy("add_".into())),
            other: position("after", Version::Born),
        };
        let under = Conditions { mode: "max-autotune".into(), closure: "by-mode".into(), ..Conditions::default() };
        let sizes = vec![("s0".to_string(), Range::new(2, None))];
        let answers = vec![Answered { question: "values".into(), level: Some(Level::Exact) }];
        let assumes = Rests { on: vec!["an assumption".to_string()], checked_log2: Some(-52.5) };
        Certificate::new(
            [graph("aa"), graph("bb")],
            (sizes, under),
            (Level::Exact, answers),
            assumes,
            (vec![step.clone()], vec![step]),
        )
    }

    #[test]
    fn what_is_written_reads_back() {
        let made = example();
        assert_eq!(Certificate::read(made.to_json().as_bytes()).unwrap(), made);
    }

    #[test]
    fn a_change_of_any_word_is_found() {
        let text = example().to_json();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut changed = 0;
        let mut open = vec![String::new()];
        while let Some(at) = open.pop() {
            match value.pointer(&at).unwrap() {
                serde_json::Value::Object(o) => open.extend(o.keys().map(|k| format!("{at}/{k}"))),
                serde_json::Value::Array(a) => open.extend((0..a.len()).map(|k| format!("{at}/{k}"))),
                leaf => {
                    let mut other = value.clone();
                    *other.pointer_mut(&at).unwrap() = match leaf {
                        serde_json::Value::Number(n) => (n.as_f64().unwrap() as i64 + 1).into(),
                        serde_json::Value::Null => 1.into(),
                        serde_json::Value::String(s) => format!("{s}x").into(),
                        _ => continue,
                    };
                    changed += 1;
                    assert!(Certificate::read(other.to_string().as_bytes()).is_err(), "{at}");
                }
            }
        }
        assert!(changed > 20, "{changed}");
    }

    #[test]
    fn another_version_is_named() {
        let text = example().to_json().replace("\"version\": 1", "\"version\": 9");
        let error = Certificate::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("version 9"), "{error}");
    }
}
