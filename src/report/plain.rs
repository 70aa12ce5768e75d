//! Names and statements as they may be shown: what is not printable ASCII is escaped, all else stays as it is.
//!
//! Unlike the sandbox's `shown` it keeps backslashes: statements and paths come with escapes of their own.

use std::fmt::Write;

use crate::contract::shown;

/// Returns the text with everything but printable ASCII escaped, look-alikes and line ends too.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' => out.push(c),
            other => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(other));
            }
        }
    }
    out
}

/// Escapes what HTML and XML read, and what is not printable ASCII.
pub(super) fn escape(text: &str) -> String {
    let text = shown(text, 2_000);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_and_what_looks_like_another_letter_is_escaped() {
        assert_eq!(plain("a\\n \u{1b}[31m\n\u{430}"), "a\\n \\u{1b}[31m\\u{a}\\u{430}");
    }
}
