//! A position in a text of Python code: spaces, names, numbers, strings.
//!
//! Promises: every byte is looked at a bounded number of times; errors carry their place. Inside brackets ends of lines and comments are
//! space, as in Python. Knows no graph.

use std::borrow::Cow;

use super::error::{TextError, TextFault};

type Found<T> = Result<T, TextError>;

/// A number as Python writes one, without its sign.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number<'a> {
    Int(i64),
    /// An integer that 64 bits do not hold.
    Large(&'a str),
    Float(f64),
    Imaginary(f64),
}

/// A place in a text.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    file: &'a str,
    text: &'a str,
    position: usize,
    /// How many brackets are open: inside, a line goes on.
    pub(super) brackets: usize,
}

fn is_name_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || c == b'_' || c >= 0x80
}

fn is_name_part(c: u8) -> bool {
    is_name_start(c) || c.is_ascii_digit()
}

impl<'a> Cursor<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, position: 0, brackets: 0 }
    }

    /// Returns a cursor at another place of the same text.
    pub(super) fn moved_to(&self, position: usize) -> Self {
        Self { position: position.min(self.text.len()), brackets: 0, ..*self }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Returns the text from `start` to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.position).unwrap_or("")
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.position..).unwrap_or("")
    }

    /// Returns the next byte; 0 at the end.
    pub(super) fn peek(&self) -> u8 {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, by: usize) -> u8 {
        self.text.as_bytes().get(self.position.saturating_add(by)).copied().unwrap_or(0)
    }

    pub(super) fn at_end(&self) -> bool {
        self.position >= self.text.len()
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.position = self.position.saturating_add(bytes).min(self.text.len());
    }

    fn advance_while(&mut self, keep: impl Fn(u8) -> bool) {
        let count = self.rest().bytes().take_while(|b| keep(*b)).count();
        self.advance(count);
    }

    /// Skips blanks, and inside brackets ends of lines and comments too.
    pub(super) fn space(&mut self) {
        // Mostly there is none.
        if !matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r' | b'#') {
            return;
        }
        loop {
            let before = self.position;
            let inside = self.brackets > 0;
            self.advance_while(|b| b == b' ' || b == b'\t' || (inside && (b == b'\n' || b == b'\r')));
            if inside && self.peek() == b'#' {
                self.advance_while(|b| b != b'\n');
            }
            if self.position == before {
                return;
            }
        }
    }

    /// Takes `byte` after blanks.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let here = self.peek() == byte && !self.at_end();
        if here {
            self.advance(1);
        }
        here
    }

    /// Takes `byte` after blanks, or says what was expected.
    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Found<()> {
        if self.eat(byte) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// Takes an opening bracket, which makes the ends of lines that follow space.
    pub(super) fn open(&mut self, byte: u8, expected: &'static str) -> Found<()> {
        self.expect(byte, expected)?;
        self.brackets = self.brackets.saturating_add(1);
        Ok(())
    }

    /// Takes a closing bracket if it stands here.
    pub(super) fn close(&mut self, byte: u8) -> bool {
        let closed = self.eat(byte);
        if closed {
            self.brackets = self.brackets.saturating_sub(1);
        }
        closed
    }

    /// Takes a word that stands whole here.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        self.space();
        let rest = self.rest().as_bytes();
        let here = rest.starts_with(word.as_bytes()) && !rest.get(word.len()).is_some_and(|b| is_name_part(*b));
        if here {
            self.advance(word.len());
        }
        here
    }

    pub(super) fn at_name(&self) -> bool {
        is_name_start(self.peek())
    }

    /// Takes a name.
    pub(super) fn name(&mut self, expected: &'static str) -> Found<&'a str> {
        self.space();
        if !self.at_name() {
            return Err(self.expected(expected));
        }
        let start = self.position;
        self.advance_while(is_name_part);
        Ok(self.since(start))
    }

    /// Takes names with dots between them.
    pub(super) fn path(&mut self, expected: &'static str) -> Found<&'a str> {
        self.space();
        let start = self.position;
        self.name(expected)?;
        while self.peek() == b'.' && is_name_part(self.ahead(1)) {
            self.advance(1);
            self.advance_while(is_name_part);
        }
        Ok(self.since(start))
    }

    /// Takes what is left of the line, without its end.
    pub(super) fn line(&mut self) -> &'a str {
        let start = self.position;
        self.advance_while(|b| b != b'\n');
        let line = self.since(start);
        self.advance(1);
        line.trim_end_matches('\r')
    }

    /// Takes the end of a line, and a comment before it.
    pub(super) fn end_of_line(&mut self, expected: &'static str) -> Found<()> {
        self.space();
        if matches!(self.peek(), b'\n' | b'\r' | b'#') || self.at_end() {
            self.line();
            return Ok(());
        }
        Err(self.expected(expected))
    }

    /// Takes a number without sign.
    pub(super) fn number(&mut self) -> Found<Number<'a>> {
        self.space();
        let start = self.position;
        self.advance_while(|b| b.is_ascii_digit());
        let mut whole = true;
        if self.peek() == b'.' {
            whole = false;
            self.advance(1);
            self.advance_while(|b| b.is_ascii_digit());
        }
        let signed = usize::from(matches!(self.ahead(1), b'+' | b'-'));
        if matches!(self.peek(), b'e' | b'E') && self.ahead(signed.saturating_add(1)).is_ascii_digit() {
            whole = false;
            self.advance(signed.saturating_add(1));
            self.advance_while(|b| b.is_ascii_digit());
        }
        let text = self.since(start);
        let float = || text.parse::<f64>().map_err(|_| self.expected_at(start, "a number"));
        let number = if matches!(self.peek(), b'j' | b'J') {
            let value = float()?;
            self.advance(1);
            Number::Imaginary(value)
        } else if whole {
            text.parse().map_or(Number::Large(text), Number::Int)
        } else {
            Number::Float(float()?)
        };
        if text.is_empty() || is_name_start(self.peek()) {
            return Err(self.expected_at(start, "a number"));
        }
        Ok(number)
    }

    /// Takes a string in quotes, without its escapes.
    pub(super) fn string(&mut self, expected: &'static str) -> Found<Cow<'a, str>> {
        self.space();
        let start = self.position;
        let quote = self.peek();
        if quote != b'\'' && quote != b'"' {
            return Err(self.expected(expected));
        }
        self.advance(1);
        let mut out: Cow<'a, str> = Cow::Borrowed("");
        loop {
            let from = self.position;
            self.advance_while(|b| b != quote && b != b'\\' && b != b'\n');
            let piece = self.since(from);
            if out.is_empty() {
                out = Cow::Borrowed(piece)
            } else {
                out.to_mut().push_str(piece)
            }
            match self.peek() {
                b'\\' => {
                    let c = self.escape()?;
                    out.to_mut().push(c);
                }
                b if b == quote => {
                    self.advance(1);
                    return Ok(out);
                }
                _ => return Err(self.fault_since(start, TextFault::OpenString)),
            }
        }
    }

    fn escape(&mut self) -> Found<char> {
        let start = self.position;
        let kind = self.ahead(1);
        let digits = match kind {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => 0,
        };
        self.advance(2);
        let simple = match kind {
            b'n' => Some('\n'),
            b't' => Some('\t'),
            b'r' => Some('\r'),
            b'0' => Some('\0'),
            b'a' => Some('\u{7}'),
            b'b' => Some('\u{8}'),
            b'f' => Some('\u{c}'),
            b'v' => Some('\u{b}'),
            b'\\' | b'\'' | b'"' => Some(char::from(kind)),
            _ => None,
        };
        let found = simple.or_else(|| {
            let code = self.rest().get(..digits).filter(|t| digits > 0 && t.bytes().all(|b| b.is_ascii_hexdigit()))?;
            char::from_u32(u32::from_str_radix(code, 16).ok()?)
        });
        match found {
            Some(c) => {
                self.advance(if simple.is_some() { 0 } else { digits });
                Ok(c)
            }
            None => {
                // Whole characters, so that the message can show them.
                let escape =
                    self.text.get(start..).unwrap_or("").chars().take(digits.max(1).saturating_add(1)).collect();
                Err(self.moved_to(start).fault(2, TextFault::Escape { escape }))
            }
        }
    }

    /// Skips a text in which brackets and quotes pair, up to one of `stops` outside of them, a closing bracket that none opens, or the end of the line.
    pub(super) fn balanced(&mut self, stops: &[u8]) -> Found<&'a str> {
        let start = self.position;
        let mut open = 0_usize;
        while !self.at_end() {
            let byte = self.peek();
            match byte {
                b'\'' | b'"' => {
                    self.string("a string")?;
                    continue;
                }
                b if open == 0 && stops.contains(&b) => break,
                b'(' | b'[' | b'{' => open = open.saturating_add(1),
                b')' | b']' | b'}' if open == 0 => break,
                b')' | b']' | b'}' => open = open.saturating_sub(1),
                b'\n' => break,
                _ => {}
            }
            self.advance(1);
        }
        Ok(self.since(start))
    }

    /// Returns the error of having found something else here.
    pub(super) fn expected(&self, expected: &'static str) -> TextError {
        let (found, width) = self.describe();
        self.fault(width, TextFault::Expected { expected, found })
    }

    fn expected_at(&self, start: usize, expected: &'static str) -> TextError {
        self.moved_to(start).expected(expected)
    }

    /// Returns the error of a fault of that width here.
    pub(super) fn fault(&self, width: usize, fault: impl Into<Box<TextFault>>) -> TextError {
        TextError::at(self.file, self.text, self.position, width, fault)
    }

    /// Returns the error of a fault that spans from `start` to here.
    pub(super) fn fault_since(&self, start: usize, fault: TextFault) -> TextError {
        self.moved_to(start).fault(self.since(start).chars().count(), fault)
    }

    /// Returns what stands here, in words, and its width.
    fn describe(&self) -> (String, usize) {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return ("the end of the file".to_string(), 1);
        };
        if first == '\n' || first == '\r' {
            return ("the end of the line".to_string(), 1);
        }
        let word: String =
            rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '.').take(40).collect();
        let word = if word.is_empty() { first.to_string() } else { word };
        let width = word.chars().count();
        (format!("`{}`", super::error::shown(&word)), width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> Found<String> {
        Cursor::new("t.fx", text).string("a string").map(|s| s.into_owned())
    }

    #[test]
    fn strings_give_back_what_they_escape() {
        assert_eq!(string(r"'it\'s'").unwrap(), "it's");
        assert_eq!(string(r#""a\n\\\x07\u00e9\U0001f600b""#).unwrap(), "a\n\\\u{7}é😀b");
        assert_eq!(string("''").unwrap(), "");
        assert_eq!(string(r"'\\'").unwrap(), "\\");
    }

    #[test]
    fn a_bad_escape_and_an_open_string_are_faults_with_a_place() {
        let error = string(r"'ab\q'").unwrap_err();
        assert_eq!((error.column, error.to_string().contains(r"`\q`")), (4, true));
        assert_eq!(*string(r"'\ud800'").unwrap_err().fault, TextFault::Escape { escape: r"\ud80".into() });
        assert_eq!(*string("'ab\n'").unwrap_err().fault, TextFault::OpenString);
        assert_eq!(string(r"'ab\").unwrap_err().column, 4);
    }

    #[test]
    fn numbers_are_what_python_takes_them_for() {
        let number = |t| Cursor::new("t.fx", t).number().unwrap();
        assert_eq!(number("12"), Number::Int(12));
        assert_eq!(number("1e-06,"), Number::Float(1e-6));
        assert_eq!(number("1."), Number::Float(1.0));
        assert_eq!(number("2j"), Number::Imaginary(2.0));
        assert_eq!(number("9223372036854775808"), Number::Large("9223372036854775808"));
        assert!(Cursor::new("t.fx", "12ab").number().is_err());
    }
}
