//! Texts that a guest wrote, made fit to be shown.
//!
//! Promises: what comes out is printable ASCII of bounded length and on one line, so it can neither move a cursor nor
//! look like something else; different texts below the bound come out different.

use std::fmt::Write;

/// Returns the text with everything but printable ASCII escaped, cut after `max_chars` characters of the original.
pub fn shown(text: &str, max_chars: u32) -> String {
    let max = max_chars as usize;
    let mut out = String::new();
    let mut chars = text.chars();
    for c in chars.by_ref().take(max) {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            ' '..='~' => out.push(c),
            other => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(other));
            }
        }
    }
    let rest = chars.count();
    if rest > 0 {
        let _ = write!(out, "... ({rest} more characters)");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_and_look_alikes_are_escaped() {
        assert_eq!(shown("ok\x1b[2J \u{430}b\n", 100), "ok\\u{1b}[2J \\u{430}b\\n");
        assert_ne!(shown("\\n", 100), shown("\n", 100));
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        assert_eq!(shown(&"x".repeat(5), 3), "xxx... (2 more characters)");
        assert_eq!(shown("xxx", 3), "xxx");
    }
}
