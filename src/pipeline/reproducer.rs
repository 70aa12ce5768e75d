//! What runs a refusal or a fault again: one file with the graph, the settings and the command.
//!
//! A refusal is a `.case`: `airlock verify FILE` judges it again, without the pass. A fault is a `.case` without an
//! `after`: `airlock run FILE --pass PASS` runs the pass on it again. Leaves out what the graph does not need: weights.

use super::run::{PassReport, RunError, Settings};
use crate::editor::Editor;
use crate::formats::text::{self, case};
use crate::graph::Graph;
use crate::verify;

/// Keeps a refused edit, where reproducers are asked for. Returns the file.
pub(super) fn refusal(
    settings: &mut Settings<'_>,
    editor: &Editor,
    report: &PassReport,
    file: &str,
) -> Result<Option<String>, RunError> {
    if settings.reproducers.is_none() {
        return Ok(None);
    }
    let command = format!("airlock verify --policy {}", settings.judge.policy.name());
    let before = editor.copy_before();
    let meta = meta(settings, &before, report, (file, &command));
    let before = text::write(&before);
    let after = text::write(editor.graph());
    keep(settings, report, &format!("=== meta\n{meta}=== before\n{before}\n=== after\n{after}"))
}

/// Keeps the graph on which a pass faulted, where reproducers are asked for. Returns the file.
pub(super) fn fault(
    settings: &mut Settings<'_>,
    graph: &Graph,
    report: &PassReport,
    file: &str,
) -> Result<Option<String>, RunError> {
    if settings.reproducers.is_none() {
        return Ok(None);
    }
    let command = format!("airlock run --pass {file}@{} --fuel {}", report.stage, report.fuel_limit);
    let meta = meta(settings, graph, report, (file, &command));
    keep(settings, report, &format!("=== meta\n{meta}=== before\n{}", text::write(graph)))
}

fn keep(settings: &mut Settings<'_>, report: &PassReport, text: &str) -> Result<Option<String>, RunError> {
    let Some(dump) = &mut settings.reproducers else { return Ok(None) };
    let path = dump.text(&report.name, "case", text)?;
    Ok(Some(path.display().to_string()))
}

fn meta(settings: &Settings<'_>, graph: &Graph, report: &PassReport, (file, command): (&str, &str)) -> String {
    let mut table = verify::stated(&settings.judge, graph);
    let mut set = |key: &str, value: &str| table.insert(key.to_string(), toml::Value::String(value.to_string()));
    set("name", &report.name);
    set("version", &report.version);
    set("pass", file);
    set("command", command);
    if let Some(fault) = &report.fault {
        set("why", &format!("{} in {}: {}", fault.kind, fault.function, fault.message));
    }
    if let Some(verdict) = &report.verdict {
        set("label", "different");
        set("why", &verdict.reason);
        if let Some(inputs) = verdict.witness.as_ref().and_then(verify::inline_table) {
            table.insert(case::GIVEN.into(), toml::Value::Table(inputs));
        }
    }
    toml::to_string(&table).unwrap_or_default()
}
