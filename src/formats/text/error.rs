//! Errors of reading text: where, what was expected, what stands there.
//!
//! Promises: an error names file, line and column (in characters, from 1) and carries the line itself, so that it can be shown without the
//! file; what is shown holds no control characters, whatever the file holds. Colour is left to the command line.

use std::fmt;

use thiserror::Error;

use crate::sym::{SymError, cut};

/// How much of a line is shown on each side of the fault.
const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 60;

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TextFault {
    /// Something else belongs here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What may stand here.
        expected: &'static str,
        /// What stands here.
        found: String,
    },
    /// The file is not UTF-8.
    #[error("the file is not UTF-8 text; the text form is what `print(exported_program)` writes")]
    NotUtf8,
    /// A string without its closing quote.
    #[error("the string is not closed on its line")]
    OpenString,
    /// A backslash and something that Python does not know, or that is no character.
    #[error("`{escape}` is not an escape that a Python string can have")]
    Escape {
        /// Backslash and what follows.
        escape: String,
    },
    /// Lists in lists in lists.
    #[error("lists nest more than {limit} deep; no operator takes such an argument")]
    TooDeep {
        /// How deep they may nest.
        limit: usize,
    },
    /// An annotation whose dtype nobody knows.
    #[error("`{}` is not a dtype of annotations (`f32`, `bf16`, `i64`, `b8` ...)", cut(.found))]
    Dtype {
        /// What stands there.
        found: String,
    },
    /// An annotation that is neither a tensor's nor a symbolic scalar's.
    #[error("`{}` is not a type; expected `DTYPE[sizes]` or `Sym(expression)`", cut(.found))]
    Annotation {
        /// What stands there.
        found: String,
    },
    /// A size below 0.
    #[error("a tensor cannot have the size {size}; sizes are 0 or more")]
    NegativeSize {
        /// What stands there.
        size: i64,
    },
    /// More dimensions than tensors can have.
    #[error("a tensor of {rank} dimensions; PyTorch's have at most {limit}")]
    Rank {
        /// How many there are.
        rank: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A symbolic expression that cannot be read.
    #[error("`{}` is not a symbolic expression", cut(.text))]
    Expression {
        /// The expression.
        text: String,
        /// Why.
        #[source]
        source: SymError,
    },
    /// A range that cannot be kept.
    #[error("the range of `{}` cannot be used", cut(.name))]
    Range {
        /// The symbol.
        name: String,
        /// Why.
        #[source]
        source: SymError,
    },
    /// Python that prints of graphs may hold but exported programs do not.
    #[error("{what}: not part of the text form; {instead}")]
    Unsupported {
        /// What it is.
        what: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// What is said of how the program is called cannot be read.
    #[error("how the program is called cannot be read: {reason}")]
    Calling {
        /// What the reader of JSON says.
        reason: String,
    },
    /// There is no program in the text.
    #[error("there is no `def forward(self, ...):` in this text")]
    NoProgram,
    /// There is more than one program in the text.
    #[error("a second program begins here; a file of the text form holds one")]
    SecondProgram,
    /// Two classes of one name within one class, which are not the same.
    #[error("another class of this name stands in the same class; Python keeps the last one: give each its own name")]
    ClassesOfOneName,
}

/// A fault with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// How many characters the fault spans; at least 1.
    pub width: usize,
    /// The line itself, without its end.
    pub text: String,
    /// What is wrong.
    pub fault: Box<TextFault>,
}

impl TextError {
    /// Returns the error of `fault` at a byte position of `text`, spanning `width` characters.
    pub(crate) fn at(file: &str, text: &str, position: usize, width: usize, fault: impl Into<Box<TextFault>>) -> Self {
        let (before, after) = text.split_at_checked(position).unwrap_or((text, ""));
        let start = before.rfind('\n').map_or(0, |i| i.saturating_add(1));
        let head = before.get(start..).unwrap_or("");
        let tail = after.split('\n').next().unwrap_or("");
        Self {
            file: file.to_string(),
            line: before.bytes().filter(|b| *b == b'\n').count().saturating_add(1),
            column: head.chars().count().saturating_add(1),
            width: width.max(1),
            text: format!("{head}{}", tail.trim_end_matches('\r')),
            fault: fault.into(),
        }
    }

    /// Returns the error as rustc shows one: message, place, line, caret, cause. Plain text, several lines, no newline at the end.
    pub fn render(&self) -> String {
        use std::error::Error as _;
        use std::fmt::Write as _;
        let skipped = self.column.saturating_sub(1).saturating_sub(SHOWN_BEFORE);
        let before: String =
            self.text.chars().skip(skipped).take(self.column.saturating_sub(1).min(SHOWN_BEFORE)).collect();
        let rest: Vec<char> = self.text.chars().skip(self.column.saturating_sub(1)).collect();
        let after: String = rest.iter().take(SHOWN_AFTER).collect();
        let (before, after) = (shown(&before), shown(&after));
        let cut = |yes: bool| if yes { "..." } else { "" };
        let line = format!("{}{before}{after}{}", cut(skipped > 0), cut(rest.len() > SHOWN_AFTER));
        let indent = before.chars().count().saturating_add(cut(skipped > 0).len());
        let carets = "^".repeat(self.width.min(after.chars().count()).max(1));
        let gutter = " ".repeat(self.line.to_string().len());
        let mut out = format!("error: {}\n", shown(&self.fault.to_string()));
        let _ = writeln!(out, "{gutter}--> {}:{}:{}", shown(&self.file), self.line, self.column);
        let _ = writeln!(out, "{gutter} |");
        let _ = writeln!(out, "{} | {line}", self.line);
        let _ = write!(out, "{gutter} | {}{carets}", " ".repeat(indent));
        let mut cause = self.fault.source();
        while let Some(error) = cause {
            let _ = write!(out, "\n{gutter} = {}", shown(&error.to_string()));
            cause = error.source();
        }
        out
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", shown(&self.file), self.line, self.column, shown(&self.fault.to_string()))
    }
}

impl std::error::Error for TextError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.fault.source()
    }
}

/// Returns the text with everything that a terminal might act on escaped.
pub fn shown(text: &str) -> std::borrow::Cow<'_, str> {
    use super::pyrepr::is_printable;
    if text.chars().all(is_printable) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_printable(c) { out.push(c) } else { out.extend(c.escape_unicode()) }
    }
    out.into()
}
