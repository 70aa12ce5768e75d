//! Text of an expression into tokens, each with its column.

use super::error::SymError;

/// More tokens than an expression of admissible size can have.
const MAX_TOKENS: usize = 65_536;

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    Name(String),
    Int(i64),
    Float(f64),
    /// The content of a quoted string.
    Quoted(String),
    /// An operator or a bracket.
    Mark(&'static str),
    End,
}

impl Token {
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Name(name) => format!("`{name}`"),
            Token::Int(value) => format!("`{value}`"),
            Token::Float(value) => format!("`{value}`"),
            Token::Quoted(content) => format!("'{content}'"),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::End => "the end".to_owned(),
        }
    }
}

/// The longest come first.
const MARKS: [&str; 23] = [
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "<", ">", "(", ")", ",", "=", "&", "|",
    "~", "^",
];

/// The tokens of `text` with their columns (characters, from 1), ended by [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, SymError> {
    let mut out = Vec::new();
    let mut rest = text;
    let mut column = 1usize;
    loop {
        let trimmed = rest.trim_start();
        let skipped = rest.split_at_checked(rest.len().saturating_sub(trimmed.len())).map_or("", |(space, _)| space);
        column = column.saturating_add(characters(skipped));
        rest = trimmed;
        let Some(first) = rest.chars().next() else {
            out.push((column, Token::End));
            return Ok(out);
        };
        if out.len() >= MAX_TOKENS {
            return Err(SymError::TooLarge { what: "tokens", limit: MAX_TOKENS });
        }
        let fail = |expected: &str, found: String| SymError::Syntax {
            text: text.to_owned(),
            column,
            expected: expected.to_owned(),
            found,
        };
        let (token, length) = if first.is_ascii_digit() || first == '.' {
            number(rest).ok_or_else(|| fail("a 64-bit integer or a float", format!("`{}`", word(rest))))?
        } else if first.is_alphabetic() || first == '_' {
            let name = word(rest);
            (Token::Name(name.to_owned()), name.len())
        } else if first == '\'' || first == '"' {
            quoted(rest, first).ok_or_else(|| fail("a closing quote", "the end".to_owned()))?
        } else {
            let mark = MARKS.iter().find(|mark| rest.starts_with(**mark));
            let mark = mark.ok_or_else(|| fail("an operator, a name or a number", format!("`{first}`")))?;
            (Token::Mark(mark), mark.len())
        };
        out.push((column, token));
        let (eaten, left) = rest.split_at_checked(length).unwrap_or((rest, ""));
        column = column.saturating_add(characters(eaten));
        rest = left;
    }
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

/// The name at the start; dots belong to it (`torch.sym_max`).
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(text.len());
    text.split_at_checked(end).map_or("", |(word, _)| word)
}

fn number(text: &str) -> Option<(Token, usize)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes
            .iter()
            .skip(from)
            .position(|b| !b.is_ascii_digit())
            .map_or(bytes.len(), |count| from.saturating_add(count))
    };
    let mut end = digits(0);
    let mut whole = true;
    if bytes.get(end) == Some(&b'.') {
        whole = false;
        end = digits(end.saturating_add(1));
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let signed = matches!(bytes.get(end.saturating_add(1)), Some(b'+' | b'-'));
        let start = end.saturating_add(if signed { 2 } else { 1 });
        if digits(start) > start {
            whole = false;
            end = digits(start);
        }
    }
    let literal = text.get(..end)?;
    let token = if whole { Token::Int(literal.parse().ok()?) } else { Token::Float(literal.parse().ok()?) };
    Some((token, end))
}

fn quoted(text: &str, quote: char) -> Option<(Token, usize)> {
    let inner = text.strip_prefix(quote)?;
    let (content, _) = inner.split_once(quote)?;
    Some((Token::Quoted(content.to_owned()), content.len().checked_add(2)?))
}
