//! Cases, judged beside what is known of them.
//!
//! Promises: a case is judged in the mode that is asked for, else in its own; one for any mode in each. What refutes it is kept where it shows the
//! same again. Leaves how a `.case` is written to `formats`.

use std::path::{Path, PathBuf};

use super::counterexample;
use super::load::{self, ReadError};
use super::outputs::OutputError;
use super::settle::Search;
use crate::formats::text::{ReadOptions, case};
use crate::graph::Graph;
use crate::ops::Registry;
use crate::verify::{self, JudgeOptions, Mode, Policy, Question, UserRules, Verdict};

/// Why a case has no verdict.
#[derive(Debug, thiserror::Error)]
pub enum CaseFault {
    /// A folder cannot be read.
    #[error("cannot read {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// No cases where they were looked for.
    #[error("there are no .case files in {}", paths.join(", "))]
    None {
        /// Where.
        paths: Vec<String>,
    },
    /// A file that is no text.
    #[error("{file} is not UTF-8 text; a case has the parts `meta`, `before` and `after`")]
    NotText {
        /// The file.
        file: String,
        /// Where.
        source: std::str::Utf8Error,
    },
    /// A mode that there is not.
    #[error("{file}: mode = \"{mode}\": expected max-autotune, reduce-overhead or any")]
    Mode {
        /// The file.
        file: String,
        /// Its mode.
        mode: String,
    },
    /// A program that does not hold by itself.
    #[error("{file}: `before` is not well formed:\n  {}", problems.join("\n  "))]
    IllFormed {
        /// The file.
        file: String,
        /// What does not hold.
        problems: Vec<String>,
    },
    /// Inputs that cannot be taken.
    #[error("{file}")]
    Given {
        /// The file.
        file: String,
        /// Why.
        source: verify::GivenError,
    },
    /// A label that nobody knows.
    #[error("{file}: nothing is known of the label `{label}`")]
    Label {
        /// The file.
        file: String,
        /// Its label.
        label: String,
    },
    /// The file cannot be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// It is no case.
    #[error("{0}")]
    Case(#[from] case::CaseError),
    /// What refutes it cannot be kept.
    #[error("{0}")]
    Output(#[from] OutputError),
}

/// How cases are judged.
#[derive(Clone, Debug, Default)]
pub struct Judging {
    /// What a verdict must say to be accepted.
    pub policy: Policy,
    /// In this mode, whatever the case says.
    pub mode: Option<Mode>,
    /// How differences are searched for.
    pub search: Search,
    /// Rules that the user states.
    pub rules: UserRules,
    /// Whether smaller inputs are looked for that show a difference as well.
    pub shrinks: bool,
}

/// A case that was read, and its verdict in each mode that it is for.
pub struct JudgedCase {
    file: PathBuf,
    /// What it says of itself.
    pub meta: case::CaseMeta,
    before: Graph,
    after: Graph,
    options: JudgeOptions,
    /// At least one.
    pub verdicts: Vec<(Mode, Verdict)>,
}

/// Returns the cases that are named, and those of folders, in order.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CaseFault> {
    let mut files = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => files.extend(below(path)?),
            false => files.push(path.clone()),
        }
    }
    if files.is_empty() {
        return Err(CaseFault::None { paths: paths.iter().map(|p| p.display().to_string()).collect() });
    }
    Ok(files)
}

/// All cases below a folder.
fn below(folder: &Path) -> Result<Vec<PathBuf>, CaseFault> {
    let mut open = vec![folder.to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        let cannot = |source| CaseFault::Folder { folder: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            if entry.file_type().map_err(cannot)?.is_dir() {
                open.push(entry.path());
            } else if entry.path().extension().is_some_and(|e| e == "case") {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a case file's text.
pub(super) fn text<'a>(file: &Path, bytes: &'a [u8]) -> Result<&'a str, CaseFault> {
    std::str::from_utf8(bytes).map_err(|source| CaseFault::NotText { file: file.display().to_string(), source })
}

/// Checks the program before, and fills in the types that rules give.
pub(super) fn check_before(file: &Path, before: &mut Graph, registry: &Registry) -> Result<(), CaseFault> {
    let problems = load::problems(before, registry);
    if problems.is_empty() {
        return Ok(());
    }
    Err(CaseFault::IllFormed { file: file.display().to_string(), problems })
}

impl JudgedCase {
    /// Reads a case and judges it.
    pub fn of(file: &Path, registry: &Registry, how: &Judging) -> Result<Self, CaseFault> {
        let bytes = load::bytes(file)?;
        let mut case = case::read(text(file, bytes.as_slice())?, &ReadOptions::of_file(&file.display().to_string()))?;
        let modes = modes(file, &case.meta, how.mode)?;
        check_before(file, &mut case.before, registry)?;
        let given = given(file, &case.meta)?;
        let options = |mode| {
            // What a counterexample says of a lifted constant is what the model held.
            let constants = given.as_ref().map(|g| g.inputs.as_slice().into()).unwrap_or_default();
            let options = JudgeOptions {
                given: given.clone(),
                constants,
                rules: how.rules.clone(),
                ..JudgeOptions::of_case(&case.meta, mode)
            };
            let mut options = how.search.applied(JudgeOptions { policy: how.policy, ..options });
            options.budget.shrinks = if how.shrinks { counterexample::SHRINKS } else { 0 };
            options
        };
        let judge = |mode| (mode, verify::judge_pair(&case.before, &case.after, registry, &options(mode)));
        let verdicts = modes.iter().copied().map(judge).collect();
        let options = options(modes.first().copied().unwrap_or_default());
        Ok(Self { file: file.into(), verdicts, options, meta: case.meta, before: case.before, after: case.after })
    }

    /// Returns its worst verdict: whether it agrees with the label, the mode, the verdict.
    pub fn worst(&self) -> Result<(bool, Mode, &Verdict), CaseFault> {
        let file = || self.file.display().to_string();
        let unknown = || CaseFault::Label { file: file(), label: self.meta.label.clone() };
        let mut worst = None;
        for (mode, verdict) in &self.verdicts {
            let right = is_right(&self.meta, verdict).ok_or_else(unknown)?;
            if worst.is_none_or(|(was_right, _, _)| was_right && !right) {
                worst = Some((right, *mode, verdict));
            }
        }
        worst.ok_or_else(|| CaseFault::Mode { file: file(), mode: String::new() })
    }

    /// Returns its verdict as a pair of programs, whatever the label says: a rewrite for any mode is accepted only if it is in every mode.
    pub fn as_pair(&self) -> Option<(Mode, &Verdict)> {
        let refused = self.verdicts.iter().position(|(_, v)| !v.accepted).unwrap_or(0);
        self.verdicts.get(refused).map(|(mode, verdict)| (*mode, verdict))
    }

    /// Judges the case again in one mode, for a certificate.
    pub fn certify(&self, mode: Mode, registry: &Registry) -> verify::Certified {
        let options = JudgeOptions { mode, ..self.options.clone() };
        verify::certify(&self.before, &self.after, registry, &options)
    }

    /// Keeps what refutes the case beside others in a folder; returns the file.
    pub fn keep(
        &self,
        verdict: &Verdict,
        registry: &Registry,
        dir: &Path,
        name: &str,
    ) -> Result<Option<PathBuf>, OutputError> {
        counterexample::keep((&self.before, &self.after), verdict, (registry, &self.options), dir, name)
    }

    /// Returns what there is to be drawn of a refutation.
    pub fn picture(&self, verdict: &Verdict, registry: &Registry) -> Option<counterexample::Picture> {
        counterexample::picture((&self.before, &self.after), verdict, registry, &self.options)
    }
}

fn modes(file: &Path, meta: &case::CaseMeta, asked: Option<Mode>) -> Result<Vec<Mode>, CaseFault> {
    let unknown = |mode: &str| CaseFault::Mode { file: file.display().to_string(), mode: mode.to_string() };
    match (asked, meta.mode.as_deref()) {
        (Some(mode), _) => Ok(vec![mode]),
        (None, None | Some("any")) => Ok(vec![Mode::MaxAutotune, Mode::ReduceOverhead]),
        (None, Some(own)) => Ok(vec![Mode::from_name(own).ok_or_else(|| unknown(own))?]),
    }
}

/// The inputs that a case states, from the file beside where it names one.
fn given(file: &Path, meta: &case::CaseMeta) -> Result<Option<verify::Given>, CaseFault> {
    let beside = meta.counterexample.as_ref().and_then(|c| c.file.as_deref());
    let bytes = beside.map(|name| load::bytes(&file.with_file_name(name))).transpose()?;
    verify::given(meta, bytes.as_ref().map(|b| b.as_slice()))
        .map_err(|source| CaseFault::Given { file: file.display().to_string(), source })
}

/// Whether a verdict agrees with a label; `None` for a label that nobody knows.
fn is_right(meta: &case::CaseMeta, verdict: &Verdict) -> Option<bool> {
    let refused_for = |question: Question| !verdict.accepted && verdict.question == Some(question);
    Some(match meta.label.as_str() {
        "exact" | "real" | "equivalent" => verdict.accepted,
        // A difference may be one of values or of effects: `differs_in` says which, the judge may see either first.
        "different" => !verdict.accepted,
        "race" => refused_for(Question::Order),
        "lifetime" => refused_for(Question::Lifetime),
        "malformed" => refused_for(Question::Form),
        "recorded" => verdict.accepted == (meta.judged.as_deref() == Some("equivalent")),
        _ => return None,
    })
}
