//! The options that users of TorchAir know, as `airlock.toml` states them: `CompilerConfig`'s dotted names, npugraph_ex's flat ones, and
//! Torch-AIE's compile specification as the table `torch_aie`.
//!
//! - `table`: every option; `device`: those that configure the device, by GE's names of them.
//!
//! Promises: an option that is not known is an error that lists those beside it, a value that is not allowed one that lists those that are;
//! what asks for something that is not there is an error, never dropped. Leaves acting on them to who lowers and runs.

mod device;
mod table;

use std::collections::BTreeMap;

use toml::Value;

pub use device::{assumed, device_options};

/// What a value may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Flag,
    /// A truth value that nobody may have stated.
    Maybe,
    OneOf(&'static [&'static str]),
    Text,
    /// At least this.
    Integer(i64),
    /// A text, or several.
    Strings,
    /// Anything: it is looked at nowhere.
    Words,
}

/// What an option is to this program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// It changes graphs, or what is written of them.
    Acts,
    /// It goes to the device beside the graph.
    Device,
    /// It asks for something that is not there, unless it has this value.
    Missing { inert: &'static str, what: &'static str },
    /// It is of launch plans (`reduce-overhead`); with this value it asks for nothing.
    Plan { inert: &'static str },
}

struct Known {
    name: &'static str,
    kind: Kind,
    role: Role,
}

/// Why an option is not taken.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum OptionError {
    /// Nobody knows it.
    #[error("there is no option {name}; there are {}", known.join(", "))]
    Unknown {
        /// The option.
        name: String,
        /// Those that there are at this place.
        known: Vec<String>,
    },
    /// It cannot have the value.
    #[error("{name} = {found}: expected {expected}")]
    Value {
        /// The option.
        name: String,
        /// What it was given.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// It is stated twice, by two names.
    #[error("{name} is stated twice, by two names, with two values: {one} and {other}")]
    Twice {
        /// The option.
        name: String,
        /// A value.
        one: String,
        /// The other.
        other: String,
    },
    /// What it asks for is not there.
    #[error("{name} = {found} is not supported yet: it needs {what}{}", leave(inert))]
    Missing {
        /// The option.
        name: String,
        /// What it was given.
        found: String,
        /// What is not there.
        what: String,
        /// The value with which it is taken.
        inert: String,
    },
}

fn leave(inert: &str) -> String {
    if inert.is_empty() { "; leave it out".into() } else { format!("; leave it out or state {inert}") }
}

/// The options that a file states.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CompilerOptions {
    stated: BTreeMap<&'static str, Value>,
}

impl CompilerOptions {
    /// Returns whether a key at the top of a file belongs here.
    pub fn owns(key: &str) -> bool {
        table::FLAT.iter().any(|(flat, ..)| *flat == key)
            || table::OPTIONS.iter().any(|o| o.name.split('.').next() == Some(key))
    }

    /// Returns the keys that belong at the top of a file.
    pub fn roots() -> Vec<&'static str> {
        let dotted = table::OPTIONS.iter().filter_map(|o| o.name.split('.').next());
        let mut all: Vec<_> = dotted.chain(table::FLAT.iter().map(|(flat, ..)| *flat)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Reads those keys of a file that belong here.
    pub fn read(file: &toml::Table) -> Result<Self, OptionError> {
        let mut options = Self::default();
        let mut open: Vec<(String, &Value)> =
            file.iter().filter(|(key, _)| Self::owns(key)).map(|(k, v)| (k.clone(), v)).collect();
        while let Some((name, value)) = open.pop() {
            if let Some((_, dotted, is_opposite)) = table::FLAT.iter().find(|(flat, ..)| *flat == name) {
                let value = match (value, is_opposite) {
                    (Value::Boolean(b), true) => Value::Boolean(!b),
                    _ => value.clone(),
                };
                options.state(known(dotted), &name, value)?;
                continue;
            }
            match (known(&name), value) {
                (Some(option), value) => options.state(Some(option), &name, value.clone())?,
                (None, Value::Table(inner)) if has_below(&name) => {
                    open.extend(inner.iter().map(|(k, v)| (format!("{name}.{k}"), v)));
                }
                (None, _) => return Err(unknown(&name)),
            }
        }
        Ok(options)
    }

    fn state(&mut self, option: Option<&'static Known>, name: &str, value: Value) -> Result<(), OptionError> {
        let Some(option) = option else { return Err(unknown(name)) };
        check(option, &value)?;
        match self.stated.insert(option.name, value.clone()) {
            Some(other) if other != value => {
                Err(OptionError::Twice { name: option.name.into(), one: other.to_string(), other: value.to_string() })
            }
            _ => Ok(()),
        }
    }

    /// Refuses what asks for something that is not there; returns those that do not belong to lowering to GE.
    pub fn check(&self, for_plans: bool) -> Result<Vec<&'static str>, OptionError> {
        let mut foreign = Vec::new();
        for option in table::OPTIONS {
            let Some(value) = self.stated.get(option.name) else { continue };
            let (inert, what) = match option.role {
                Role::Acts | Role::Device => continue,
                Role::Plan { inert } if plain(value) == inert => continue,
                Role::Plan { .. } if !for_plans => {
                    foreign.push(option.name);
                    continue;
                }
                Role::Plan { inert } => (inert, "the launch plan"),
                Role::Missing { inert, what } => (inert, what),
            };
            if plain(value) != inert {
                return Err(OptionError::Missing {
                    name: option.name.into(),
                    found: value.to_string(),
                    what: what.into(),
                    inert: inert.into(),
                });
            }
        }
        Ok(foreign)
    }

    /// Returns a truth value that is stated.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.stated.get(name).and_then(Value::as_bool)
    }

    /// Returns what is stated, as a text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.stated.get(name).map(plain)
    }

    /// Returns the texts that are stated.
    pub fn texts(&self, name: &str) -> Vec<String> {
        match self.stated.get(name) {
            Some(Value::Array(items)) => items.iter().map(plain).collect(),
            Some(one) => vec![plain(one)],
            None => Vec::new(),
        }
    }

    /// Returns what is stated, by name.
    pub fn stated(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.stated.iter().map(|(name, value)| (*name, value))
    }
}

fn known(name: &str) -> Option<&'static Known> {
    table::OPTIONS.iter().find(|o| o.name == name)
}

fn has_below(name: &str) -> bool {
    table::OPTIONS.iter().any(|o| o.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// The error for a name, with the names that there are in its group.
fn unknown(name: &str) -> OptionError {
    let group = name.rsplit_once('.').map_or("", |(group, _)| group);
    let below = |o: &Known| match group {
        "" => Some(o.name.to_string()),
        _ => o.name.strip_prefix(group)?.strip_prefix('.').map(String::from),
    };
    OptionError::Unknown { name: name.into(), known: table::OPTIONS.iter().filter_map(below).collect() }
}

fn check(option: &Known, value: &Value) -> Result<(), OptionError> {
    let (fits, expected) = match option.kind {
        Kind::Flag | Kind::Maybe => (value.is_bool(), "true or false".to_string()),
        Kind::OneOf(words) => {
            (value.as_str().is_some_and(|v| words.contains(&v)), format!("one of {}", words.join(", ")))
        }
        Kind::Text => (value.is_str() || value.is_integer(), "a text".into()),
        Kind::Integer(least) if least == i64::MIN => (value.is_integer(), "a whole number".into()),
        Kind::Integer(least) => {
            (value.as_integer().is_some_and(|v| v >= least), format!("a whole number from {least}"))
        }
        Kind::Strings => {
            let all = value.as_array().is_some_and(|items| items.iter().all(Value::is_str));
            (all || value.is_str(), "a text, or a list of texts".into())
        }
        Kind::Words => (true, String::new()),
    };
    if fits {
        return Ok(());
    }
    Err(OptionError::Value { name: option.name.into(), found: value.to_string(), expected })
}

/// Returns a value as it is compared and passed on: a text without its quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string().replace(' ', ""), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CompilerOptions, OptionError> {
        CompilerOptions::read(&text.parse().unwrap())
    }

    #[test]
    fn dotted_names_tables_and_flat_names_are_one() {
        let dotted = read("experimental_config.remove_noop_ops = false").unwrap();
        assert_eq!(read("[experimental_config]\nremove_noop_ops = false").unwrap(), dotted);
        assert_eq!(read("remove_noop_ops = false").unwrap(), dotted);
        let opposite = read("inplace_pass = false").unwrap();
        assert_eq!(opposite.flag("debug.aclgraph.disable_reinplace_inplaceable_ops_pass"), Some(true));
        assert!(read("remove_noop_ops = false\nexperimental_config.remove_noop_ops = true").is_err());
    }

    #[test]
    fn an_unknown_option_is_an_error_that_lists_what_there_is() {
        let error = read("ge_config.oo_levl = 'O1'").unwrap_err().to_string();
        assert!(error.contains("ge_config.oo_levl") && error.contains("oo_level, oo_constant_folding"), "{error}");
        let error = read("debug.dump = 1").unwrap_err().to_string();
        assert!(error.contains("graph_dump.type"), "{error}");
    }

    #[test]
    fn a_value_that_is_not_allowed_is_an_error_that_lists_what_is() {
        let error = read("ge_config.oo_level = 'O2'").unwrap_err().to_string();
        assert_eq!(error, "ge_config.oo_level = \"O2\": expected one of O1, O3");
        assert!(read("experimental_config.static_model_ops_lower_limit = -2").is_err());
        assert!(read("experimental_config.static_model_ops_lower_limit = -1").is_ok());
        assert!(read("frozen_parameter = 'yes'").is_err());
    }

    #[test]
    fn what_asks_for_something_that_is_not_there_is_an_error_and_its_twin_is_not() {
        let refused = |text: &str, plans| read(text).unwrap().check(plans).map_err(|e| e.to_string());
        assert!(refused("pattern_fusion_pass = true", false).unwrap_err().contains("the fusions by patterns"));
        assert_eq!(refused("pattern_fusion_pass = false", false), Ok(vec![]));
        assert!(refused("inplace_pass = true", true).unwrap_err().contains("the launch plan"));
        assert_eq!(refused("inplace_pass = false", true), Ok(vec![]));
        assert_eq!(refused("capture_limit = 3", false), Ok(vec!["debug.aclgraph.static_capture_size_limit"]));
    }

    #[test]
    fn every_flat_name_stands_for_an_option_and_no_option_stands_twice() {
        for (flat, dotted, _) in table::FLAT {
            assert!(known(dotted).is_some(), "{flat}");
        }
        let mut names: Vec<_> = table::OPTIONS.iter().map(|o| o.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table::OPTIONS.len());
    }
}
