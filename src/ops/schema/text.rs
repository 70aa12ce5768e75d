//! Reading of schema text: `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.
//!
//! Promises: no input panics or recurses; an error names the column and what may stand there.

use smallvec::SmallVec;
use thiserror::Error;

use crate::graph::{Arg, Dtype, Layout, MemoryFormat};
use crate::ops::schema::{Alias, Base, Default, Param, Return, Schema, SchemaType, Suffix};

/// Why a text is no schema.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("schema `{text}`, column {column}: expected {expected}, found {found}")]
pub struct SchemaError {
    /// The whole text.
    pub text: String,
    /// Counted in characters from 1.
    pub column: usize,
    /// What may stand there.
    pub expected: &'static str,
    /// What stands there.
    pub found: String,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

type Read<T> = Result<T, SchemaError>;

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn fail<T>(&self, expected: &'static str) -> Read<T> {
        let found = self.rest().split([',', ')', ' ']).next().unwrap_or("");
        let found = match (found.is_empty(), self.rest().chars().next()) {
            (true, None) => "the end".to_string(),
            (true, Some(c)) => format!("`{c}`"),
            _ => format!("`{}`", found.chars().take(40).collect::<String>()),
        };
        let column = self.text.get(..self.at).map_or(0, |t| t.chars().count()).saturating_add(1);
        Err(SchemaError { text: self.text.into(), column, expected, found })
    }

    fn take(&mut self, token: &str) -> bool {
        let is = self.rest().starts_with(token);
        if is {
            self.at = self.at.saturating_add(token.len());
        }
        is
    }

    fn spaces(&mut self) {
        while self.take(" ") {}
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Read<()> {
        if self.take(token) { Ok(()) } else { self.fail(expected) }
    }

    fn word(&mut self, accept: impl Fn(char) -> bool, expected: &'static str) -> Read<&'a str> {
        let rest = self.rest();
        let len = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        match rest.get(..len) {
            Some(word) if len > 0 => {
                self.at = self.at.saturating_add(len);
                Ok(word)
            }
            _ => self.fail(expected),
        }
    }

    fn alias(&mut self) -> Read<Alias> {
        let mut alias = Alias { before: SmallVec::new(), after: SmallVec::new(), writes: false };
        let names = |r: &mut Self| -> Read<SmallVec<[Box<str>; 1]>> {
            let mut names = SmallVec::new();
            loop {
                names.push(r.word(|c| is_word(c) || c == '*', "an alias name")?.into());
                if !r.take("|") {
                    return Ok(names);
                }
            }
        };
        alias.before = names(self)?;
        alias.writes = self.take("!");
        if self.take(" -> ") {
            alias.after = names(self)?;
        }
        self.expect(")", "`)` of the alias mark")?;
        Ok(alias)
    }

    fn ty(&mut self) -> Read<SchemaType> {
        let base = Base::from_name(self.word(|c| is_word(c) || c == '.', "a type")?);
        let mut ty = SchemaType { base, suffixes: SmallVec::new(), alias: None };
        loop {
            if self.take("(") {
                if ty.alias.is_some() {
                    return self.fail("one alias mark");
                }
                ty.alias = Some(self.alias()?);
            } else if self.take("?") {
                ty.suffixes.push(Suffix::Optional);
            } else if self.take("[]") {
                ty.suffixes.push(Suffix::List(None));
            } else if self.take("[") {
                let size = self.word(|c| c.is_ascii_digit(), "the size of a list")?;
                let Ok(size) = size.parse() else { return self.fail("a smaller size") };
                ty.suffixes.push(Suffix::List(Some(size)));
                self.expect("]", "`]`")?;
            } else {
                return Ok(ty);
            }
        }
    }

    fn literal_text(&mut self) -> Read<&'a str> {
        let rest = self.rest();
        let mut quote: Option<char> = None;
        let mut depth = 0_usize;
        let mut escaped = false;
        for (at, c) in rest.char_indices() {
            match (quote, c) {
                (Some(_), _) if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(q), c) if c == q => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(c),
                (None, '[') => depth = depth.saturating_add(1),
                (None, ']') if depth > 0 => depth = depth.saturating_sub(1),
                (None, ',' | ')') if depth == 0 => {
                    return match rest.get(..at) {
                        Some(text) if at > 0 => {
                            self.at = self.at.saturating_add(at);
                            Ok(text)
                        }
                        _ => self.fail("a default"),
                    };
                }
                _ => {}
            }
        }
        self.fail("a default, then `,` or `)`")
    }

    fn param(&mut self, kwarg_only: bool) -> Read<Param> {
        let ty = self.ty()?;
        self.expect(" ", "a space and the name of the parameter")?;
        self.spaces();
        let name = self.word(is_word, "the name of the parameter")?.into();
        let default = if self.take("=") {
            let text = self.literal_text()?;
            match literal(text) {
                Some(value) => Some(Default { text: text.into(), value }),
                None => {
                    self.at = self.at.saturating_sub(text.len());
                    return self.fail("a default that is a literal");
                }
            }
        } else {
            None
        };
        Ok(Param { name, ty, default, kwarg_only, positional_only: false })
    }

    fn result(&mut self) -> Read<Return> {
        let ty = self.ty()?;
        let mut name = None;
        if self.rest().starts_with(' ') && !self.rest().trim_start().is_empty() {
            self.spaces();
            name = Some(self.word(is_word, "the name of the result")?.into());
        }
        Ok(Return { name, ty })
    }

    fn results(&mut self) -> Read<(Vec<Return>, bool)> {
        if !self.take("(") {
            return Ok((vec![self.result()?], false));
        }
        let mut out = Vec::new();
        if self.take(")") {
            return Ok((out, true));
        }
        loop {
            out.push(self.result()?);
            if self.take(")") {
                return Ok((out, true));
            }
            self.expect(",", "`,` or `)`")?;
            self.spaces();
        }
    }

    fn params(&mut self) -> Read<(Vec<Param>, bool)> {
        let (mut out, mut kwarg_only, mut varargs) = (Vec::new(), false, false);
        self.expect("(", "`(`")?;
        if self.take(")") {
            return Ok((out, varargs));
        }
        loop {
            if self.take("...") {
                varargs = true;
            } else if self.take("*") {
                kwarg_only = true;
            } else if self.take("/") {
                out.iter_mut().for_each(|p: &mut Param| p.positional_only = true);
            } else {
                out.push(self.param(kwarg_only)?);
            }
            if self.take(")") {
                return Ok((out, varargs));
            }
            self.expect(",", "`,` or `)`")?;
            self.spaces();
        }
    }
}

/// The value of a default, or `None` for what is no literal.
fn literal(text: &str) -> Option<Arg> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        if inner.contains('[') {
            return None;
        }
        let items = inner.split(',').map(str::trim).filter(|t| !t.is_empty());
        return items.map(scalar).collect::<Option<Box<[Arg]>>>().map(Arg::List);
    }
    scalar(text)
}

fn scalar(text: &str) -> Option<Arg> {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.strip_suffix(quote).map(Arg::from);
        }
    }
    match text {
        "None" => return Some(Arg::None),
        "True" | "true" => return Some(Arg::Bool(true)),
        "False" | "false" => return Some(Arg::Bool(false)),
        "long" => return Some(Arg::Dtype(Dtype::I64)),
        _ => {}
    }
    if let Ok(int) = text.parse::<i64>() {
        return Some(Arg::Int(int));
    }
    if let Ok(float) = text.parse::<f64>() {
        return Some(Arg::Float(float));
    }
    let named = MemoryFormat::from_name(text)
        .map(Arg::MemoryFormat)
        .or_else(|| Layout::from_name(text).map(Arg::Layout))
        .or_else(|| Dtype::from_long(text).map(Arg::Dtype));
    named.or_else(|| (!text.is_empty() && text.chars().all(is_word)).then(|| Arg::Other(text.into())))
}

impl Schema {
    /// Reads a schema as PyTorch prints it.
    pub fn parse(text: &str) -> Result<Schema, SchemaError> {
        let text = text.trim();
        let mut r = Reader { text, at: 0 };
        let namespace = r.word(is_word, "a namespace")?.into();
        r.expect("::", "`::` and the operator's name")?;
        let name = r.word(is_word, "the operator's name")?.into();
        let overload = if r.take(".") { r.word(is_word, "the overload's name")?.into() } else { Box::default() };
        let (params, varargs) = r.params()?;
        r.expect(" -> ", "` -> ` and the results")?;
        let (returns, parenthesized) = r.results()?;
        if !r.rest().is_empty() {
            return r.fail("the end");
        }
        Ok(Schema { namespace, name, overload, params: params.into(), varargs, returns: returns.into(), parenthesized })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn alias_marks_lists_and_defaults_are_read_and_printed_back() {
        for text in [
            "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
            "aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
            "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
            "aten::f(Tensor?[] x, int[1]? dim=None, float eps=1.0000000000000001e-05, str mode=\"a, b)\") -> (Tensor x)",
            "higher_order::cond(Any op, ...) -> Any",
        ] {
            assert_eq!(Schema::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_error_names_column_and_what_was_expected() {
        let error = Schema::parse("aten::f(Tensor(a! self) -> Tensor").unwrap_err();
        assert_eq!(
            error.to_string(),
            "schema `aten::f(Tensor(a! self) -> Tensor`, column 18: expected `)` of the alias mark, found ` `"
        );
        assert_eq!(Schema::parse("aten::f(Tensor self)").unwrap_err().expected, "` -> ` and the results");
        assert_eq!(Schema::parse("f(Tensor self) -> ()").unwrap_err().column, 2);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,80}") {
            let _ = Schema::parse(&text);
        }

        #[test]
        fn no_near_schema_panics(text in "a::b\\((Tensor|int|str)[a-z!?() >*\\[\\]=\",.0-9-]{0,30}\\) -> [A-Z()a-z]{0,9}") {
            if let Ok(schema) = Schema::parse(&text) {
                prop_assert_eq!(Schema::parse(&schema.to_string()), Ok(schema));
            }
        }
    }
}
