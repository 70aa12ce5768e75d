//! Operator files (`--ops FILE`): operators that a user describes, as TOML.
//!
//! One `[[op]]` an operator: `name` (the target), `schema` (PyTorch's text), and if wanted `about`, `meaning` (the operator in other
//! operators, as text), `marks` (as in this crate's tables) and `like` (a known operator whose type rule holds).
//! A file only adds; what it says of a known operator replaces that.

use serde::Deserialize;
use thiserror::Error;

use super::effects::Marks;
use super::operator::Operator;
use super::registry::Registry;
use super::schema::Schema;
use super::schema_text::SchemaError;
use super::table::{self, TableError};

/// Why an operator file cannot be read.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum FileError {
    /// It is not TOML, or has other entries.
    #[error("the operator file cannot be read: {message}")]
    Toml {
        /// Place and reason.
        message: String,
    },
    /// A schema does not parse.
    #[error("operator `{name}`: {error}")]
    Schema {
        /// The operator.
        name: String,
        /// Why.
        error: SchemaError,
    },
    /// Name and schema disagree.
    #[error("operator `{name}`: its schema is that of `{found}`")]
    Name {
        /// As given.
        name: String,
        /// As the schema says.
        found: String,
    },
    /// A mark that is none.
    #[error("operator `{name}`: {error}")]
    Marks {
        /// The operator.
        name: String,
        /// Why.
        error: TableError,
    },
    /// `like` names an operator that is not known or has no rule.
    #[error("operator `{name}`: `like` names `{like}`, which has no type rule here")]
    Like {
        /// The operator.
        name: String,
        /// As given.
        like: String,
    },
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
    name: String,
    schema: String,
    #[serde(default)]
    about: Option<String>,
    #[serde(default)]
    meaning: Option<String>,
    #[serde(default)]
    marks: String,
    #[serde(default)]
    like: Option<String>,
}

impl Registry {
    /// Adds the operators of an operator file; all of them or, with an error, none. Returns how many there were.
    pub fn extend_toml(&mut self, text: &str) -> Result<usize, FileError> {
        let file: File = toml::from_str(text).map_err(|e| FileError::Toml { message: e.to_string() })?;
        let operators = file.op.iter().map(|e| self.read(e)).collect::<Result<Vec<_>, _>>()?;
        let count = operators.len();
        for operator in operators {
            self.add(operator);
        }
        Ok(count)
    }

    fn read(&self, entry: &Entry) -> Result<Operator, FileError> {
        let name = || entry.name.clone();
        let schema = Schema::parse(&entry.schema).map_err(|error| FileError::Schema { name: name(), error })?;
        let marks: Marks = table::read_marks(&entry.marks).map_err(|error| FileError::Marks { name: name(), error })?;
        let mut operator = Operator::new(schema, &marks);
        if *operator.target != *entry.name {
            return Err(FileError::Name { name: name(), found: operator.target.to_string() });
        }
        if let Some(like) = &entry.like {
            let rule = self.get(like).and_then(|o| o.rule);
            operator.rule = Some(rule.ok_or_else(|| FileError::Like { name: name(), like: like.clone() })?);
        }
        operator.about = entry.about.as_deref().map(Into::into);
        operator.meaning = entry.meaning.as_deref().map(Into::into);
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
        assert!(registry.get("demo.sin_into.default").is_none());
    }
}
