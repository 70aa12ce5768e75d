//! What happens on a model, and must go on happening while it is reduced: a refusal, a fault, or a command that fails.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;

use super::outputs::{OutputError, write_model};
use super::run::{self, Outcome, PassReport, PassSpec, RunError, Settings, Silent};
use crate::graph::Model;
use crate::ops::Registry;
use crate::verify::{Finding, Question};

/// What happens on a model.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Happening {
    /// A pass is refused.
    Refused {
        /// Which.
        pass: String,
        /// For which question.
        question: Option<Question>,
        /// What that is.
        finding: Finding,
    },
    /// A pass faults.
    Faulted {
        /// Which.
        pass: String,
        /// How.
        fault: &'static str,
    },
    /// The command fails.
    Failed {
        /// It ends with this, or by a signal.
        code: Option<i32>,
    },
}

impl std::fmt::Display for Happening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Happening::Refused { pass, question, finding } => {
                let finding = match finding {
                    Finding::Refuted => "refuted",
                    _ => "not shown",
                };
                write!(f, "pass `{pass}` is refused ({} {finding})", question.map_or("a question", Question::name))
            }
            Happening::Faulted { pass, fault } => write!(f, "pass `{pass}` faults ({fault})"),
            Happening::Failed { code: Some(code) } => write!(f, "the command ends with {code}"),
            Happening::Failed { code: None } => write!(f, "the command is killed"),
        }
    }
}

/// Why nobody can tell what happens.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The command does not start.
    #[error("cannot run `{line}`")]
    Command {
        /// As it was given to the shell.
        line: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// Its model cannot be written.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// The passes do not run.
    #[error("{0}")]
    Run(#[from] RunError),
}

/// Tells what happens on a model: to passes, or to a command that is given what they leave.
pub struct Trial<'a> {
    /// The passes.
    pub specs: Vec<PassSpec<'a>>,
    /// How they run.
    pub settings: Settings<'a>,
    /// The command, and the file that it is given.
    pub check: Option<(&'a str, &'a Path)>,
}

impl Trial<'_> {
    /// Runs the passes on a copy, and the command.
    pub fn happens(&mut self, model: &Model) -> Result<Option<Happening>, TrialError> {
        let mut model = model.clone();
        let mut found = None;
        if !self.specs.is_empty() {
            let report = run::run(&mut model, &mut self.specs, &mut self.settings, &mut Silent)?;
            found = report.passes.iter().find_map(of_pass);
        }
        match self.check {
            Some((command, file)) => of_command(command, file, &model, &self.settings.registry),
            None => Ok(found),
        }
    }
}

fn of_pass(report: &PassReport) -> Option<Happening> {
    let pass = report.name.clone();
    match (report.outcome, &report.verdict, &report.fault) {
        (Outcome::Refused, Some(verdict), _) => {
            Some(Happening::Refused { pass, question: verdict.question, finding: verdict.verdict })
        }
        (Outcome::Faulted, _, Some(fault)) => Some(Happening::Faulted { pass, fault: fault.kind }),
        _ => None,
    }
}

/// The command is given the file as its last argument, or where it says `{}`.
fn of_command(command: &str, file: &Path, model: &Model, registry: &Registry) -> Result<Option<Happening>, TrialError> {
    write_model(model, registry, file, file)?;
    let path = file.display().to_string();
    let line = if command.contains("{}") { command.replace("{}", &path) } else { format!("{command} {path}") };
    let ended = Command::new("sh")
        .args(["-c", &line])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|source| TrialError::Command { line, source })?;
    Ok((!ended.success()).then(|| Happening::Failed { code: ended.code() }))
}
