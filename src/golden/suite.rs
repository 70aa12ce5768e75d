//! All recorded calls of a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::check::check;
use super::sample::{Sample, SampleError};
use crate::exec::Kernels;
use crate::ops::Registry;

/// Why a folder of recorded calls cannot be used.
#[derive(Debug, Error)]
pub enum SuiteError {
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// `schemas.json` of another form.
    #[error("{}: {source}", .path.display())]
    Schemas {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A line that is no recorded call.
    #[error("{}: line {line}: {source}", .path.display())]
    Sample {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Why.
        source: SampleError,
    },
    /// A folder without samples.
    #[error("no recorded calls (`*.gold`) in {}", .0.display())]
    Nothing(PathBuf),
}

/// A call that differs.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The operator.
    pub op: String,
    /// File and line.
    pub sample: String,
    /// What differs.
    pub reason: String,
}

/// What was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SuiteReport {
    /// Calls made.
    pub samples: usize,
    /// Calls that agree.
    pub passed: usize,
    /// Operators called.
    pub overloads: usize,
    /// Operators of which a call agrees.
    pub overloads_passed: usize,
    /// Calls that differ.
    pub failures: Vec<Failure>,
}

#[derive(Deserialize)]
struct SchemaRow {
    name: String,
    tolerance: Option<String>,
}

/// Recorded calls, read and not yet made.
pub struct Suite {
    lines: Vec<Line>,
    tolerances: BTreeMap<String, String>,
}

struct Line {
    path: PathBuf,
    number: usize,
    text: String,
}

impl Suite {
    /// Reads the `.gold` files of a folder (and the tolerances in its `schemas.json`), calls of operators whose name begins with `only`.
    pub fn open(folder: &Path, only: Option<&str>) -> Result<Suite, SuiteError> {
        let read_error = |path: &Path, source| SuiteError::Read { path: path.into(), source };
        let entries = fs::read_dir(folder).map_err(|e| read_error(folder, e))?;
        let mut files: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "gold"));
        files.sort();
        let mut lines = Vec::new();
        for path in files {
            let text = fs::read_to_string(&path).map_err(|e| read_error(&path, e))?;
            let wanted = |text: &str| {
                let only = only.map(|o| format!("\"op\":\"{o}"));
                !text.trim().is_empty() && only.is_none_or(|o| text.replace("\": ", "\":").contains(&o))
            };
            let each = text.lines().enumerate().filter(|(_, t)| wanted(t));
            lines.extend(each.map(|(n, t)| Line { path: path.clone(), number: n.saturating_add(1), text: t.into() }));
        }
        if lines.is_empty() {
            return Err(SuiteError::Nothing(folder.into()));
        }
        Ok(Suite { lines, tolerances: tolerances(&folder.join("schemas.json"))? })
    }

    /// Returns how many calls there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Makes every call; `done` is told of each.
    pub fn run(
        &self,
        registry: &Registry,
        kernels: &Kernels,
        done: &(dyn Fn() + Sync),
    ) -> Result<SuiteReport, SuiteError> {
        let results: Vec<(String, Option<Failure>)> = self
            .lines
            .par_iter()
            .map(|line| {
                let result = self.one(line, registry, kernels);
                done();
                result
            })
            .collect::<Result<_, _>>()?;
        let mut report = SuiteReport { samples: results.len(), ..SuiteReport::default() };
        let mut passed: BTreeMap<String, bool> = BTreeMap::new();
        for (op, failure) in results {
            let entry = passed.entry(op).or_default();
            match failure {
                None => {
                    *entry = true;
                    report.passed = report.passed.saturating_add(1);
                }
                Some(failure) => report.failures.push(failure),
            }
        }
        report.overloads = passed.len();
        report.overloads_passed = passed.values().filter(|p| **p).count();
        Ok(report)
    }

    fn one(
        &self,
        line: &Line,
        registry: &Registry,
        kernels: &Kernels,
    ) -> Result<(String, Option<Failure>), SuiteError> {
        let wrong = |source| SuiteError::Sample { path: line.path.clone(), line: line.number, source };
        let sample = Sample::parse(&line.text).map_err(wrong)?;
        let named = sample.tolerance.as_ref().or_else(|| self.tolerances.get(&sample.op));
        let tolerance = named.map_or("exact", String::as_str);
        let reason = check(&sample, tolerance, registry, kernels).map_err(wrong)?;
        let file = line.path.file_name().map(|f| f.to_string_lossy().into_owned()).unwrap_or_default();
        let failure =
            reason.map(|reason| Failure { op: sample.op.clone(), sample: format!("{file}:{}", line.number), reason });
        Ok((sample.op, failure))
    }
}

fn tolerances(path: &Path) -> Result<BTreeMap<String, String>, SuiteError> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text = fs::read_to_string(path).map_err(|source| SuiteError::Read { path: path.into(), source })?;
    let rows: Vec<SchemaRow> =
        serde_json::from_str(&text).map_err(|source| SuiteError::Schemas { path: path.into(), source })?;
    Ok(rows.into_iter().filter_map(|r| r.tolerance.map(|t| (r.name, t))).collect())
}
