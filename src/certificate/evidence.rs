//! What an answer rests on.

use serde::Serialize;

/// What an answer rests on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum Evidence {
    /// The edit does not touch what the question asks about.
    Untouched,
    /// Two lists were compared one by one.
    Compared {
        /// How many pairs.
        pairs: usize,
    },
    /// Terms of both graphs were shown to be one class by their structure.
    Congruence {
        /// How many terms were built.
        terms: usize,
    },
    /// Terms that structure does not show equal were shown equal element by element, by rules.
    Rules {
        /// How many terms were built.
        terms: usize,
        /// The rules, by name.
        names: Vec<String>,
    },
    /// Terms were shown equal over the reals, with bounds of rounding, definedness and NaN; runs of both graphs do not disagree.
    Reals {
        /// How many terms were built.
        terms: usize,
        /// How many pairs of values are equal over the reals only.
        pairs: usize,
    },
    /// Every two accesses that conflict are ordered, or there are none.
    Ordered,
}
