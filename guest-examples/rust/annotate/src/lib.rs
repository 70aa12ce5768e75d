//! Writes a note on the calls of an operator: what options are, and what a log is for.
//!
//! Options: `target` names the operator (`aten.mm.default` without it), `note` is the text (`seen`), `limit` bounds how many
//! calls get one. The run's text, where there is one, stands before the note.

use airlock_pass::{Error, Graph, Outcome, Result, host, pass};

const KEY: &str = "annotate.note";

fn run(_main: Graph) -> Result<Outcome> {
    let target = host::option("target").unwrap_or_else(|| "aten.mm.default".to_owned());
    let note = host::option("note").unwrap_or_else(|| "seen".to_owned());
    let limit = host::parsed_option::<i64>("limit")?;
    if limit.is_some_and(|limit| limit < 0) {
        return Err(Error::new("option `limit` is below 0"));
    }
    host::debug(format!("stage {}, mode {}", host::stage(), host::mode()));
    let text = match host::config() {
        config if config.is_empty() => note,
        config => format!("{config}: {note}"),
    };
    let calls: Vec<_> = Graph::all().into_iter().flat_map(|graph| graph.find_nodes(&target)).collect();
    let wanted = limit.map_or(calls.len(), |limit| calls.len().min(limit as usize));
    for call in &calls[..wanted] {
        call.annotate(KEY, Some(&text))?;
    }
    host::info(format!("{wanted} of {} calls of {target} have the note", calls.len()));
    if wanted < calls.len() {
        host::warn(format!("{} calls are beyond the limit", calls.len() - wanted));
    }
    Ok(Outcome::edits(wanted))
}

pass!(run);
