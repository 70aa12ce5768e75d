//! What every command prints with: standard streams, colours, exit codes.

use std::io::{self, Write};
use std::process::ExitCode;

use owo_colors::OwoColorize;

use super::{Color, Global};
use crate::formats::text::{TextError, case::CaseError};
use crate::report::plain;

/// How a command ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Exit {
    /// Accepted, equal, built.
    Done,
    /// Refused, different, failed.
    Refused,
    /// Bad input, bad usage, unsupported: nothing was written.
    Bad,
    /// A pass faulted.
    Faulted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Done => 0_u8,
            Exit::Refused => 1,
            Exit::Bad => 2,
            Exit::Faulted => 3,
        })
    }
}

/// Sets colours for the whole process; `auto` looks at the streams, `NO_COLOR` and `CLICOLOR_FORCE`.
pub fn set_color(color: Color) {
    let choice = match color {
        Color::Auto => return,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes results to standard output. A reader that went away is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes bytes to standard output as they are.
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes one JSON object to standard output, in ASCII.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = ascii(&serde_json::to_string_pretty(value)?);
    text.push('\n');
    print_bytes(text.as_bytes())
}

/// Returns JSON in ASCII: what looks like another letter is shown as what it is.
pub fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len().saturating_add(1));
    for c in json.chars() {
        // Only strings hold such characters, and there this escape is JSON's own.
        match c {
            ' '..='~' | '\n' => out.push(c),
            other => {
                let mut units = [0_u16; 2];
                out.extend(other.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    out
}

/// Writes to standard error what would be a result, where standard output holds a model.
#[cfg(feature = "sandbox")]
pub fn print_aside(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Tells something on standard error, with a right-aligned status word as cargo does.
pub fn status(global: &Global, word: &str, text: &str) {
    if !global.quiet {
        let _ = writeln!(anstream::stderr(), "{} {}", format!("{word:>12}").green().bold(), plain(text));
    }
}

/// Warns on standard error.
pub fn warn(text: &str) {
    let _ = writeln!(anstream::stderr(), "{} {}", "warning:".yellow().bold(), plain(text));
}

/// Shows an error and its causes on standard error.
pub fn error(error: &anyhow::Error) {
    let mut err = anstream::stderr();
    if let Some(text) = text_error(error) {
        let rendered = text.render();
        let _ = writeln!(err, "{}{}", "error:".red().bold(), rendered.trim_start_matches("error:"));
        return;
    }
    let _ = writeln!(err, "{} {}", "error:".red().bold(), lines(&error.to_string()));
    let mut shown = error.to_string();
    for cause in error.chain().skip(1) {
        // Errors that print their source themselves are not shown twice.
        let text = cause.to_string();
        if !shown.contains(&text) {
            let _ = writeln!(err, "  {} {}", "caused by:".bold(), lines(&text));
            shown = text;
        }
    }
}

/// An error and its causes in one line.
pub fn on_one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Errors that print their source themselves are not said twice.
        if !line.contains(&cause) {
            line.push_str(&format!(": {cause}"));
        }
    }
    line
}

/// A message of several lines, each with everything escaped that a terminal might act on.
fn lines(text: &str) -> String {
    const LINES: usize = 200;
    let mut all: Vec<String> = text.split('\n').take(LINES).map(|line| plain(&short(line)).to_string()).collect();
    let more = text.split('\n').count().saturating_sub(LINES);
    if more > 0 {
        all.push(format!("... and {more} more lines"));
    }
    all.join("\n")
}

/// A line of a message without its middle where it is very long: no error repeats a whole file.
fn short(line: &str) -> std::borrow::Cow<'_, str> {
    const HEAD: usize = 1_200;
    const TAIL: usize = 300;
    let count = line.chars().count();
    if count <= HEAD.saturating_add(TAIL) {
        return line.into();
    }
    let left_out = count.saturating_sub(HEAD).saturating_sub(TAIL);
    let head: String = line.chars().take(HEAD).collect();
    let tail: String = line.chars().skip(HEAD.saturating_add(left_out)).collect();
    format!("{head} ... ({left_out} characters left out) ... {tail}").into()
}

/// The error of a text that could not be read, which shows the line with a caret.
fn text_error(error: &anyhow::Error) -> Option<&TextError> {
    error.chain().find_map(|cause| match cause.downcast_ref::<CaseError>() {
        Some(CaseError::Text(text)) => Some(&**text),
        _ => cause.downcast_ref::<TextError>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_as_long_as_a_file_is_cut_in_its_middle() {
        let shown = lines(&format!("expected a number, found `{}` here\nhelp", "[".repeat(400_000)));
        assert!(shown.len() < 2_000 && shown.ends_with("` here\nhelp"), "{shown}");
        assert!(lines(&"x\n".repeat(1_000)).ends_with("... and 801 more lines"));
        assert_eq!(lines("a\nb"), "a\nb");
    }
}
