//! A diff as text: one statement a line, grouped by body, coloured where the reader's terminal is.

use std::fmt::Write;

use owo_colors::OwoColorize;

use super::{Change, Entry, plain};

/// Prints the entries of a diff; nothing where there are none.
pub fn diff_text(entries: &[Entry]) -> String {
    let mut text = String::new();
    let mut place: Option<(&str, Option<&str>)> = None;
    for entry in entries {
        let here = (entry.body.as_str(), entry.follows.as_deref());
        // A run of neighbours needs its place named once.
        let goes_on = place.is_some_and(|(body, last)| body == here.0 && last == here.1);
        if !goes_on {
            let body = if entry.body.is_empty() { String::new() } else { format!("in {} ", plain(&entry.body)) };
            let after = entry.follows.as_deref().map_or("at the start".to_string(), |f| format!("after {}", plain(f)));
            let _ = writeln!(text, "{}", format!("@@ {body}{after} @@").cyan());
        }
        lines(&mut text, entry);
        place = Some((&entry.body, Some(&entry.node)));
    }
    text
}

fn lines(text: &mut String, entry: &Entry) {
    let (old, new) = (plain(entry.before.as_deref().unwrap_or("")), plain(entry.after.as_deref().unwrap_or("")));
    let _ = match entry.change {
        Change::Inserted => writeln!(text, "{}", format!("+ {new}").green()),
        Change::Erased => writeln!(text, "{}", format!("- {old}").red()),
        Change::Moved => writeln!(text, "{}", format!("~ {new}    (moved)").yellow()),
        Change::Changed => writeln!(text, "{}", format!("- {old}").red())
            .and_then(|()| writeln!(text, "{}", format!("+ {new}").green())),
    };
}
