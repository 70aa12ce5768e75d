//! The edits of a run's passes as JSON lines.
//!
//! Promises: passes that make the same edits on the same graph have the same lines, byte for byte, whatever they are written
//! in: no ids, no fuel, no times. What was refused or faulted says so in its last line; its edits are not in the graph.

use serde_json::{Map, Value, json};

use crate::pipeline::{Outcome, RunReport};

/// Returns one line for each edit, in the order in which passes ran and made them; each names its pass.
pub fn edits_jsonl(run: &RunReport) -> String {
    let mut text = String::new();
    for pass in &run.passes {
        let ended = match pass.outcome {
            Outcome::Refused => Some("refused"),
            Outcome::Faulted => Some("faulted"),
            Outcome::Accepted | Outcome::Unchanged => None,
        };
        let last = ended.map(|ended| json!({ "ended": ended }));
        for edit in pass.edit_log.iter().chain(&last) {
            let mut line = Map::new();
            line.insert("pass".into(), pass.name.as_str().into());
            line.extend(edit.as_object().cloned().unwrap_or_default());
            text.push_str(&Value::Object(line).to_string());
            text.push('\n');
        }
    }
    text
}
