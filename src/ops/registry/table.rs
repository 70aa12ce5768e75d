//! The tables of schemas in `schemas/`: one operator a line, `SCHEMA  #mark #mark=value`.
//!
//! Marks say what a schema cannot: `#random` (draws random numbers), `#may-alias` (the alias marks of results hold only
//! sometimes), `#may-return=NAME` (results may share memory with that parameter), `#writes=NAMES` (hidden writes),
//! `#effect=KIND`, `#commutes`, `#pointwise`, and the facts of `facts.rs`. Lines that begin with `# ` are comments. Adding an operator is adding a
//! line here and, where its results have a type rule, an entry in its family's `RULES`.

use thiserror::Error;

use crate::ops::facts::effects::{Marks, SideEffect};
use crate::ops::registry::operator::is_bare;
use crate::ops::schema::Schema;
use crate::ops::schema::text::SchemaError;

/// Why a line of a table cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TableError {
    /// The schema does not parse.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A mark that is not one of the known ones.
    #[error(
        "`{mark}` is no mark of an operator; known: #random #may-alias #may-return= #writes= #effect= #commutes #pointwise #total #any-size #grid= #sees-layout #layout-decides #if-contiguous #not-on-views #if-given #reshapes #unset #asynchronous #waits #copies #numbers #moves #discrete #writes-if= #draws-unless= #same-as= #shares= #step= #scatters="
    )]
    Mark {
        /// As written.
        mark: String,
    },
}

/// Every table of the crate.
pub(in crate::ops) const TABLES: &[&str] = &[
    include_str!("../schemas/aten.txt"),
    include_str!("../schemas/prims.txt"),
    include_str!("../schemas/python.txt"),
    include_str!("../schemas/control.txt"),
    include_str!("../schemas/stream.txt"),
    include_str!("../schemas/npu.txt"),
    include_str!("../schemas/packages.txt"),
];

/// A line that is an operator, of which only the name was read.
#[derive(Clone, Copy, Debug)]
pub(in crate::ops) struct Line {
    /// All of it.
    pub text: &'static str,
    /// The family under whose heading it stands; empty where there is none.
    pub family: &'static str,
    namespace: &'static str,
    name: &'static str,
    overload: &'static str,
}

impl Line {
    /// Reads the name of a line; `None` for an empty one or a comment.
    pub fn of(text: &'static str, family: &'static str) -> Option<Line> {
        let text = text.trim();
        let (head, _) = text.split_once('(').filter(|_| !text.starts_with('#'))?;
        let (namespace, name) = head.split_once("::")?;
        let (name, overload) = name.split_once('.').unwrap_or((name, ""));
        Some(Line { text, family, namespace, name, overload })
    }

    /// Returns the target of calls.
    pub fn target(&self) -> String {
        match self.overload {
            "" if is_bare(self.namespace) => self.packet(),
            "" => format!("{}.default", self.packet()),
            overload => format!("{}.{overload}", self.packet()),
        }
    }

    /// Returns the target without overload.
    pub fn packet(&self) -> String {
        [self.namespace, ".", self.name].concat()
    }

    /// Returns whether it names no overload.
    pub fn is_default(&self) -> bool {
        self.overload.is_empty()
    }

    /// Returns the operator that this one is with its arguments, by its mark.
    pub fn functional_of(&self) -> Option<&'static str> {
        self.text.split_once("#functional-of=")?.1.split_whitespace().next()
    }
}

/// Returns the family that a comment line begins: a few words, what follows a colon left out.
pub(in crate::ops) fn heading(text: &str) -> Option<&str> {
    let words = text.strip_prefix("# ")?.split(':').next()?.trim();
    (words.split_whitespace().count() <= 4 && !words.contains(['.', '('])).then_some(words)
}

/// Reads one line; `None` for an empty one or a comment.
pub(in crate::ops) fn line(text: &str) -> Result<Option<(Schema, Marks)>, TableError> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let (schema, marks) = text.split_once("  #").unwrap_or((text, ""));
    Ok(Some((Schema::parse(schema)?, read_marks(marks)?)))
}

pub(in crate::ops) fn read_marks(text: &str) -> Result<Marks, TableError> {
    let mut marks = Marks::default();
    for mark in text.split_whitespace().map(|m| m.trim_start_matches('#')) {
        let (name, value) = mark.split_once('=').unwrap_or((mark, ""));
        match name {
            "random" => marks.random = true,
            "may-alias" => marks.may_alias = true,
            "may-return" => marks.may_return = Some(value.into()),
            "writes" => marks.writes = value.split(',').map(str::to_string).collect(),
            "commutes" => marks.commutes = true,
            "pointwise" => marks.pointwise = true,
            "effect" if SideEffect::from_name(value).is_some() => marks.effect = SideEffect::from_name(value),
            _ if marks.facts.read(name, value).is_some() => {}
            _ => return Err(TableError::Mark { mark: mark.into() }),
        }
    }
    Ok(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_of_the_tables_prints_back_as_it_was_read() {
        let mut count = 0;
        for text in TABLES.iter().flat_map(|t| t.lines()) {
            let Some((schema, _)) = line(text).unwrap() else { continue };
            assert_eq!(schema.to_string(), text.split_once("  #").map_or(text, |(s, _)| s));
            count += 1;
        }
        assert!(count > 900, "{count}");
    }

    #[test]
    fn what_aliases_sometimes_is_marked_by_the_schema() {
        for text in TABLES.iter().flat_map(|t| t.lines()) {
            let Some((schema, marks)) = line(text).unwrap() else { continue };
            assert!(!marks.may_alias || schema.returns.iter().any(|r| r.ty.alias.is_some()), "{schema}");
        }
    }

    #[test]
    fn an_unknown_mark_is_named() {
        let error = line("aten::f(Tensor self) -> Tensor  #random #fast").unwrap_err();
        assert_eq!(error, TableError::Mark { mark: "fast".into() });
    }
}
