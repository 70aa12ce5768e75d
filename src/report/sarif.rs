//! Findings as SARIF 2.1.0, for code hosts that show them beside the files.

use serde_json::{Value, json};

use super::{CaseReport, verdict_words};

/// Prints a result for each case whose verdict disagrees with its label.
pub fn sarif(cases: &[CaseReport]) -> Value {
    let results: Vec<Value> = cases
        .iter()
        .filter(|c| !c.right)
        .map(|c| {
            let level = if c.verdict.accepted { "error" } else { "warning" };
            let text =
                format!("{}: labelled {}, judged {}. {}", c.name, c.label, verdict_words(&c.verdict), c.verdict.reason);
            json!({
                "ruleId": c.verdict.question.map_or("accepted", |q| q.name()),
                "level": level,
                "message": { "text": text },
                "locations": [{ "physicalLocation": { "artifactLocation": { "uri": c.file } } }],
            })
        })
        .collect();
    let rules: Vec<Value> =
        ["accepted", "form", "values", "effects", "order", "lifetime"].iter().map(|id| json!({ "id": id })).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "airlock", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": results,
        }],
    })
}
