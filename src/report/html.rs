//! A run as one HTML page that stands alone: a table of passes, verdicts, and the edit.
//!
//! Promises: every text is escaped; no script, no address outside the page.

use std::fmt::Write;

use super::plain::escape;
use super::{Change, Entry, verdict_words};
use crate::pipeline::{Outcome, PassReport, RunReport};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;color:#222}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.35em .8em;border-bottom:1px solid #ddd;vertical-align:top}\
pre{background:#f6f6f6;padding:1em;overflow:auto;line-height:1.4}.ok{color:#176117}.bad{color:#a11}.dim{color:#777}\
.ins{color:#176117}.del{color:#a11}.mov{color:#8a6200}";

/// Prints the page: what became of each pass of a run on `model`, and the edit of what was accepted.
pub fn html(model: &str, run: &RunReport, changes: &[Entry]) -> String {
    let model = escape(model);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Airlock: {model}</title><style>{STYLE}</style></head>\n\
         <body><h1>Airlock</h1><p>Passes on <code>{model}</code>{}</p>\n\
         <table><tr><th>pass</th><th>stage</th><th>outcome</th><th>verdict</th><th>edits</th><th>sandbox</th><th>judge</th></tr>\n",
        if run.is_original { "; the output is the original model" } else { "" }
    );
    for pass in run.passes.iter().chain(&run.builtin) {
        row(&mut page, pass);
    }
    page.push_str("</table>\n<h2>The edit</h2>\n<pre>");
    if changes.is_empty() {
        page.push_str("<span class=\"dim\">none</span>\n");
    }
    for entry in changes {
        change(&mut page, entry);
    }
    page.push_str("</pre></body></html>\n");
    page
}

fn row(page: &mut String, pass: &PassReport) {
    let (class, outcome) = match pass.outcome {
        Outcome::Accepted => ("ok", "accepted"),
        Outcome::Unchanged => ("dim", "unchanged"),
        Outcome::Refused => ("bad", "refused"),
        Outcome::Faulted => ("bad", "faulted"),
    };
    let mut said = String::new();
    if let Some(verdict) = &pass.verdict {
        let _ = write!(said, "{}", escape(&verdict_words(verdict)));
        if !verdict.reason.is_empty() {
            let _ = write!(said, "<br>{}", escape(&verdict.reason));
        }
        if let Some(side) = &verdict.differing {
            let _ = write!(said, "<pre>{}\n{}</pre>", escape(&side.before), escape(&side.after));
        }
        for assumption in &verdict.assumes {
            let _ = write!(said, "<br><span class=\"dim\">assumes: {}</span>", escape(&assumption.text()));
        }
    }
    if let Some(fault) = &pass.fault {
        let _ = write!(said, "{} in <code>{}</code>: {}", fault.kind, escape(&fault.function), escape(&fault.message));
        if let (Some(used), Some(limit)) = (fault.used, fault.limit) {
            let _ = write!(said, " (used {used} of {limit})");
        }
        for frame in &fault.frames {
            let source = frame.source.as_ref().map_or_else(String::new, |source| format!(" at {}", escape(source)));
            let _ = write!(said, "<br><span class=\"dim\">in {}{source}</span>", escape(&frame.function));
        }
    }
    let edits = &pass.edits;
    let _ = writeln!(
        page,
        "<tr><td>{} {}</td><td>{}</td><td class=\"{class}\">{outcome}</td><td>{said}</td>\
         <td>{} inserted, {} erased, {} changed</td><td>{:.1} ms<br>fuel {} / {}</td><td>{:.1} ms</td></tr>",
        escape(&pass.name),
        escape(&pass.version),
        pass.stage,
        edits.inserted,
        edits.erased,
        edits.changed,
        pass.sandbox_ms,
        pass.fuel,
        pass.fuel_limit,
        pass.judge_ms,
    );
}

fn change(page: &mut String, entry: &Entry) {
    let (old, new) = (entry.before.as_deref().unwrap_or(""), entry.after.as_deref().unwrap_or(""));
    let mut line = |class: &str, mark: char, text: &str| {
        let _ = writeln!(page, "<span class=\"{class}\">{mark} {}</span>", escape(text));
    };
    match entry.change {
        Change::Inserted => line("ins", '+', new),
        Change::Erased => line("del", '-', old),
        Change::Moved => line("mov", '~', new),
        Change::Changed => {
            line("del", '-', old);
            line("ins", '+', new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_write_into_the_page() {
        let page = html("<script>alert(1)</script>", &RunReport::default(), &[]);
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"));
    }
}
