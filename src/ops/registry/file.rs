//! Operator files (`--ops FILE`): operators that a user describes, as TOML.
//!
//! One `[[op]]` an operator: `name` (the target), `schema` (PyTorch's text), and if wanted
//! - `about`: a sentence for people;
//! - `marks`: as in this crate's tables (`#random`, `#writes=NAMES`, `#effect=KIND` ...);
//! - `like`: a known operator whose type rule holds;
//! - `meaning`: the operator in other operators, as a function in the text form whose parameters are the schema's;
//! - `lowering`: the GE operator that it becomes, as `Kind(inputs; attributes) -> (outputs)`: see [`Lowering`].
//!
//! A file only adds; what it says of a known operator replaces that. An operator with a schema and nothing else has every effect that the
//! schema admits. Errors name file, line, operator and key. Leaves reading `meaning` to `formats::operators`.

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use crate::ops::facts::effects::Marks;
use crate::ops::registry::Registry;
use crate::ops::registry::lowering::{Lowering, LoweringError};
use crate::ops::registry::operator::{Meaning, Operator};
use crate::ops::registry::table;
use crate::ops::registry::table::TableError;
use crate::ops::schema::Schema;
use crate::ops::schema::text::SchemaError;

/// Why an operator file cannot be read: where, and what is wrong.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("{file}:{line}: {}{problem}", place(operator, key))]
pub struct FileError {
    /// The file, as the caller names it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The operator; empty where the file is no TOML.
    pub operator: String,
    /// The key of its entry.
    pub key: &'static str,
    /// What is wrong.
    pub problem: Box<FileProblem>,
}

fn place(operator: &str, key: &str) -> String {
    if operator.is_empty() { String::new() } else { format!("operator `{operator}`, `{key}`: ") }
}

/// What is wrong with an operator file.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum FileProblem {
    /// It is not TOML, or has other entries.
    #[error("the operator file cannot be read: {message}")]
    Toml {
        /// The reason.
        message: String,
    },
    /// A schema does not parse.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Name and schema disagree.
    #[error("its schema is that of `{found}`")]
    Name {
        /// As the schema says.
        found: String,
    },
    /// A mark that is none.
    #[error(transparent)]
    Marks(#[from] TableError),
    /// `like` names an operator that is not known or has no rule.
    #[error("`like` names `{like}`, which has no type rule here")]
    Like {
        /// As given.
        like: String,
    },
    /// A lowering that does not fit the schema.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    op: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    schema: Spanned<String>,
    about: Option<String>,
    meaning: Option<Spanned<String>>,
    marks: Option<Spanned<String>>,
    like: Option<Spanned<String>>,
    lowering: Option<Spanned<String>>,
}

/// A file that is being read.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
    /// Where line ends stand: a file of n operators asks n times.
    ends: Vec<usize>,
}

impl<'a> Source<'a> {
    fn new(file: &'a str, text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at).collect();
        Source { file, text, ends }
    }

    fn line(&self, at: usize) -> usize {
        self.ends.partition_point(|end| *end < at).saturating_add(1)
    }

    fn wrong(&self, operator: &str, key: &'static str, at: usize, problem: impl Into<FileProblem>) -> FileError {
        let (file, operator) = (self.file.to_string(), operator.to_string());
        FileError { file, line: self.line(at), operator, key, problem: Box::new(problem.into()) }
    }

    /// The line on which a text begins: below the quotes, where these stand alone.
    fn first_line(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or("");
        let quoted = rest.strip_prefix("\"\"\"").or_else(|| rest.strip_prefix("'''"));
        let below = quoted.is_some_and(|r| r.starts_with(['\n', '\r']));
        self.line(at).saturating_add(usize::from(below))
    }
}

impl Registry {
    /// Adds the operators of an operator file; all of them or, with an error, none. Returns how many there were.
    pub fn extend_toml(&mut self, text: &str) -> Result<usize, FileError> {
        self.extend_file("the operator file", text).map(|added| added.len())
    }

    /// Adds the operators of an operator file of that name; all of them or, with an error, none. Returns their targets, in order.
    pub fn extend_file(&mut self, file: &str, text: &str) -> Result<Vec<String>, FileError> {
        let source = Source::new(file, text);
        let unreadable = |e: toml::de::Error| {
            let at = e.span().map_or(0, |s| s.start);
            source.wrong("", "", at, FileProblem::Toml { message: e.message().to_string() })
        };
        let entries: File = toml::from_str(text).map_err(unreadable)?;
        let operators = entries.op.iter().map(|e| self.read(&source, e)).collect::<Result<Vec<_>, _>>()?;
        let added = operators.iter().map(|o| o.target.to_string()).collect();
        for operator in operators {
            self.add(operator);
        }
        Ok(added)
    }

    fn read(&self, source: &Source<'_>, entry: &Entry) -> Result<Operator, FileError> {
        let name = entry.name.get_ref().as_str();
        let at = |key: &'static str, text: &Spanned<String>| {
            let start = text.span().start;
            move |problem: FileProblem| source.wrong(name, key, start, problem)
        };
        let schema = Schema::parse(entry.schema.get_ref()).map_err(|e| at("schema", &entry.schema)(e.into()))?;
        let marks = match &entry.marks {
            Some(marks) => table::read_marks(marks.get_ref()).map_err(|e| at("marks", marks)(e.into()))?,
            None => Marks::default(),
        };
        let mut operator = Operator::new(schema, &marks);
        if *operator.target != *name {
            return Err(at("name", &entry.name)(FileProblem::Name { found: operator.target.to_string() }));
        }
        if let Some(like) = &entry.like {
            let rule = self.get(like.get_ref()).and_then(|o| o.rule);
            let unknown = || at("like", like)(FileProblem::Like { like: like.get_ref().clone() });
            operator.rule = Some(rule.ok_or_else(unknown)?);
        }
        if let Some(text) = &entry.lowering {
            let lowering = Lowering::parse(text.get_ref(), &operator.schema);
            operator.lowering = Some(lowering.map_err(|e| at("lowering", text)(e.into()))?);
        }
        operator.about = entry.about.as_deref().map(Into::into);
        operator.meaning = entry.meaning.as_ref().map(|text| {
            let line = source.first_line(text.span().start);
            Meaning { text: text.get_ref().as_str().into(), line }
        });
        Ok(operator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIN_INTO: &str = r#"
[[op]]
name = "demo.sin_into.default"
schema = "demo::sin_into(Tensor x, Tensor(a!) result) -> ()"
about = "Writes sin(x) into result."

[[op]]
name = "demo.twice.default"
schema = "demo::twice(Tensor x) -> Tensor"
like = "aten.relu.default"
"#;

    #[test]
    fn a_file_adds_operators_with_effects_and_rules() {
        let mut registry = Registry::standard();
        assert_eq!(registry.extend_toml(SIN_INTO), Ok(2));
        let into = registry.get("demo.sin_into.default").unwrap();
        assert!(into.effects.params[1].writes && into.rule.is_some());
        assert!(registry.get("demo.twice.default").unwrap().effects.is_pure());
    }

    #[test]
    fn a_wrong_file_adds_nothing_and_says_why() {
        let mut registry = Registry::standard();
        let error = |r: &mut Registry, text: &str| r.extend_toml(text).unwrap_err().to_string();
        let wrong = SIN_INTO.replace("Tensor(a!)", "Tensor(a!");
        assert!(error(&mut registry, &wrong).contains("expected `)` of the alias mark"));
        let wrong = SIN_INTO.replace("name = \"demo.twice", "name = \"demo.thrice");
        assert!(error(&mut registry, &wrong).contains("its schema is that of `demo.twice.default`"));
        let wrong = SIN_INTO.replace("aten.relu.default", "aten.rulu.default");
        assert!(error(&mut registry, &wrong).contains("`like` names `aten.rulu.default`"));
        assert!(error(&mut registry, "[[op]]\nnam = 1").contains("cannot be read"));
        let wrong = SIN_INTO.replace("about =", "lowering = \"Sin(y)\"\nabout =");
        assert!(error(&mut registry, &wrong).contains("`y` is no parameter"));
        assert!(registry.get("demo.sin_into.default").is_none());
    }

    #[test]
    fn an_error_names_file_line_operator_and_key() {
        let mut registry = Registry::standard();
        let wrong = SIN_INTO.replace("like = \"aten.relu.default\"", "marks = \"#fast\"");
        let error = registry.extend_file("my.toml", &wrong).unwrap_err();
        assert!(
            error.to_string().starts_with("my.toml:10: operator `demo.twice.default`, `marks`: `fast` is no mark"),
            "{error}"
        );
    }

    #[test]
    fn with_a_schema_alone_an_operator_has_every_effect_that_it_admits_and_no_type() {
        let mut registry = Registry::standard();
        let text = "[[op]]\nname = \"demo.f.default\"\nschema = \"demo::f(Tensor(a!) x, Tensor y) -> Tensor\"";
        registry.extend_toml(text).unwrap();
        let f = registry.get("demo.f.default").unwrap();
        assert!(f.effects.params[0].writes && !f.effects.params[1].writes && !f.effects.may_be_dropped());
        assert!(f.rule.is_none() && f.body.is_none() && f.lowering.is_none());
    }

    #[test]
    fn the_line_of_a_meaning_is_that_of_its_first_statement() {
        let mut registry = Registry::standard();
        let text = SIN_INTO.replace("about = \"Writes sin(x) into result.\"", "meaning = \"\"\"\nx\n\"\"\"");
        registry.extend_toml(&text).unwrap();
        assert_eq!(registry.get("demo.sin_into.default").unwrap().meaning.as_ref().unwrap().line, 6);
    }
}
