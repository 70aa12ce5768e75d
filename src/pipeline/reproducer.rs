//! What runs a refusal or a fault again: one file with the model, the pass's digest, the settings and the command.
//!
//! A refusal is a `.case`: `airlock verify FILE` judges it again, without the pass. A fault is a `.case` without an
//! `after`: `airlock run FILE --pass PASS` runs the pass on it again.

use super::Dump;
use super::run::{PassReport, RunError, Settings};
use crate::editor::Editor;
use crate::formats::text;
use crate::graph::Graph;

/// Keeps a refused edit, where reproducers are asked for. Returns the file.
pub(super) fn refusal(
    settings: &mut Settings<'_>,
    editor: &Editor,
    report: &PassReport,
    file: &str,
) -> Result<Option<String>, RunError> {
    let Some(dump) = &mut settings.reproducers else { return Ok(None) };
    let meta = meta(report, settings.mode, file, "airlock verify");
    let before = text::write(&editor.copy_before());
    let after = text::write(editor.graph());
    keep(dump, report, &format!("=== meta\n{meta}=== before\n{before}\n=== after\n{after}"))
}

/// Keeps the graph on which a pass faulted, where reproducers are asked for. Returns the file.
pub(super) fn fault(
    settings: &mut Settings<'_>,
    graph: &Graph,
    report: &PassReport,
    file: &str,
) -> Result<Option<String>, RunError> {
    let Some(dump) = &mut settings.reproducers else { return Ok(None) };
    let meta = meta(report, settings.mode, file, "airlock run");
    keep(dump, report, &format!("=== meta\n{meta}=== before\n{}", text::write(graph)))
}

fn keep(dump: &mut Dump, report: &PassReport, text: &str) -> Result<Option<String>, RunError> {
    let path = dump.text(&report.name, "case", text)?;
    Ok(Some(path.display().to_string()))
}

fn meta(report: &PassReport, mode: &str, file: &str, command: &str) -> String {
    let mut table = toml::Table::new();
    let mut set = |key: &str, value: &str| table.insert(key.to_string(), toml::Value::String(value.to_string()));
    set("name", &report.name);
    set("version", &report.version);
    set("mode", mode);
    set("pass", file);
    set("command", command);
    if let Some(fault) = &report.fault {
        set("why", &format!("{} in {}: {}", fault.kind, fault.function, fault.message));
    }
    if let Some(verdict) = &report.verdict {
        set("label", "different");
        set("why", &verdict.reason);
    }
    toml::to_string(&table).unwrap_or_default()
}
