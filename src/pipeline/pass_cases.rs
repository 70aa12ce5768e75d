//! What a pass comes to on graphs of its author's, beside what they expect.
//!
//! A `.case` file of a pass has `label = "accepted"`, `refused`, `unchanged` or `faulted` in its `meta`; `config` and `[options]` are what the user
//! gives the pass. Where it has an `after`, that is the output, to the letter.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::Config;
use super::cases::{self, CaseFault};
use super::load;
use super::run::{self, Outcome, PassSpec, RunError, Settings, Silent};
use crate::formats::text::{self, ReadOptions, case};
use crate::graph::{Graph, Model};
use crate::ops::Registry;
use crate::passes::BUILT_IN;
use crate::verify::{Budget, JudgeOptions, Mode, Policy};

/// What a pass came to on one case.
#[derive(Serialize)]
pub struct Found {
    /// The case.
    pub file: String,
    /// What it expects.
    pub label: String,
    /// Whether that is what came.
    pub right: bool,
    /// What came.
    pub outcome: &'static str,
    /// Why it was refused or faulted, or what is wrong with the output.
    pub reason: String,
}

/// Why a case of a pass does not serve.
#[derive(Debug, thiserror::Error)]
pub enum PassCaseFault {
    /// A label that says nothing of a pass.
    #[error("{file}: label = \"{label}\": of a pass it is accepted, refused, unchanged or faulted")]
    Label {
        /// The file.
        file: String,
        /// Its label.
        label: String,
    },
    /// Something else than a text for the pass to read.
    #[error("{file}: {key} = {value}: a text was expected")]
    NotText {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// What stands there.
        value: String,
    },
    /// The pass was not among those that ran.
    #[error("{file}: the pass did not run")]
    NotRun {
        /// The file.
        file: String,
    },
    /// It is no case.
    #[error("{0}")]
    Case(#[from] CaseFault),
    /// The run did not begin.
    #[error("{0}")]
    Run(#[from] RunError),
}

/// Returns the configuration in which a pass runs alone.
pub fn alone() -> Config {
    let mut config = Config::default();
    config.file.builtin = BUILT_IN.iter().map(|b| (b.name.to_string(), false)).collect();
    config
}

/// Runs a pass on a case.
pub fn run_case(
    file: &Path,
    spec: &mut PassSpec<'_>,
    config: &Config,
    registry: &Arc<Registry>,
    policy: Policy,
) -> Result<Found, PassCaseFault> {
    let name = file.display().to_string();
    let bytes = load::bytes(file).map_err(CaseFault::from)?;
    let text = cases::text(file, bytes.as_slice())?;
    let case = case::read_of_pass(text, &ReadOptions::of_file(&name)).map_err(CaseFault::from)?;
    let expected = Expected::of(&name, &case.meta)?;
    let mut before = case.before;
    cases::check_before(file, &mut before, registry)?;
    let given = (spec.config.clone(), spec.options.clone());
    spec.options.extend(expected.options);
    spec.config = expected.config.unwrap_or_else(|| given.0.clone());
    let mode = Mode::from_name(case.meta.mode.as_deref().unwrap_or("max-autotune")).unwrap_or_default();
    let judge = JudgeOptions { policy, budget: Budget::searching(), ..JudgeOptions::of_case(&case.meta, mode) };
    let mut settings = Settings::plain(config, registry.clone(), judge);
    let mut model = Model { graph: before, ..Model::default() };
    let run = run::run(&mut model, std::slice::from_mut(spec), &mut settings, &mut Silent);
    (spec.config, spec.options) = given;
    let run = run?;
    let Some(pass) = run.passes.first() else { return Err(PassCaseFault::NotRun { file: name }) };
    let outcome = pass.outcome.name();
    let differs = case.after.and_then(|after| difference(&model.graph, after, registry));
    let why = pass.fault.as_ref().map(|f| f.message.clone()).or(pass.verdict.as_ref().map(|v| v.reason.clone()));
    let right = outcome == expected.label && differs.is_none();
    let reason = if outcome == expected.label { differs.unwrap_or_default() } else { why.unwrap_or_default() };
    Ok(Found { file: name, label: expected.label, right, outcome, reason })
}

/// What a case expects of a pass, and gives it.
struct Expected {
    label: String,
    config: Option<String>,
    options: Vec<(String, String)>,
}

impl Expected {
    fn of(file: &str, meta: &case::CaseMeta) -> Result<Expected, PassCaseFault> {
        let label = meta.label.clone();
        if !Outcome::ALL.iter().any(|outcome| outcome.name() == label) {
            return Err(PassCaseFault::Label { file: file.into(), label });
        }
        let text = |key: &str, value: &toml::Value| match value.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(PassCaseFault::NotText { file: file.into(), key: key.into(), value: value.to_string() }),
        };
        let config = meta.other.get("config").map(|value| text("config", value)).transpose()?;
        let options = meta.other.get("options").and_then(toml::Value::as_table).into_iter().flatten();
        let options = options.map(|(key, value)| Ok((key.clone(), text(key, value)?)));
        Ok(Expected { label, config, options: options.collect::<Result<_, PassCaseFault>>()? })
    }
}

/// The first line in which the output is not what the case has.
fn difference(found: &Graph, mut expected: Graph, registry: &Registry) -> Option<String> {
    // Types are the rules' to say: a case need not state those of calls.
    let _ = load::problems(&mut expected, registry);
    let (found, expected) = (text::write(found), text::write(&expected));
    let mut lines =
        found.lines().map(Some).chain(std::iter::repeat(None)).zip(expected.lines().map(Some).chain([None]));
    let (ours, theirs) = lines.find(|(ours, theirs)| ours != theirs)?;
    let line = |line: Option<&str>| line.map_or("its end".to_owned(), |line| line.trim().to_owned());
    Some(format!("the output has `{}`, expected was `{}`", line(ours), line(theirs)))
}
