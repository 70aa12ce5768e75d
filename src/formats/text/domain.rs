//! Domains: what a case says of the values that an input may hold.
//!
//! Promises: only the host narrows a domain; what is not understood is `None`, and then nothing is run. Leaves to others which
//! values of a domain are tried.

use std::fmt;

/// The values that the elements of an input may have.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Domain {
    /// Every value of the dtype that is finite, and NaN.
    #[default]
    Any,
    /// At least 0.125.
    Positive,
    /// Not nearer to 0 than 0.125.
    Nonzero,
    /// From -1 to 1.
    Unit,
    /// From 0.01 to 0.99.
    Probability,
    /// Integers from the first to the last, both included; each at most once where `distinct`.
    Integers {
        /// The least.
        lo: i64,
        /// The largest.
        hi: i64,
        /// Whether none comes twice.
        distinct: bool,
    },
    /// One of these.
    OneOf(Vec<f64>),
    /// Exactly these, in row-major order.
    Is(Vec<f64>),
    /// Of that spread around 0, whatever else is tried.
    Spread(f64),
}

impl fmt::Display for Domain {
    /// Writes the word that [`Domain::parse`] reads, where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |all: &[f64]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        match self {
            Domain::Any => f.write_str("any"),
            Domain::Positive => f.write_str("positive"),
            Domain::Nonzero => f.write_str("nonzero"),
            Domain::Unit => f.write_str("unit"),
            Domain::Probability => f.write_str("prob"),
            Domain::Integers { lo: 0, hi, distinct: true } => write!(f, "perm({})", hi.saturating_add(1)),
            Domain::Integers { lo, hi, distinct: false } => write!(f, "int({lo},{hi})"),
            Domain::Integers { lo, hi, distinct: true } => write!(f, "int({lo},{hi}), none twice"),
            Domain::OneOf(all) => write!(f, "values:[{}]", listed(all)),
            Domain::Is(all) => write!(f, "[{}]", listed(all)),
            Domain::Spread(spread) => write!(f, "normal({spread})"),
        }
    }
}

impl Domain {
    /// The words that [`Domain::parse`] reads, each as an example.
    pub const WORDS: &[&str] =
        &["any", "positive", "nonzero", "unit", "prob", "int(-5,4)", "perm(4)", "values:[0.5,1]", "normal(0.3)"];

    /// Reads a word: `positive`, `int(0,6)`, `perm(4)`, `values:[0.5,1]`, `normal(0.3)`.
    pub fn parse(text: &str) -> Option<Domain> {
        let inside = |prefix: &str| text.strip_prefix(prefix).and_then(|t| t.strip_suffix(')'));
        if let Some(ends) = inside("int(") {
            let (lo, hi) = ends.split_once(',')?;
            let (lo, hi) = (lo.trim().parse().ok()?, hi.trim().parse().ok()?);
            return Some(Domain::Integers { lo, hi, distinct: false });
        }
        if let Some(count) = inside("perm(") {
            let hi = count.trim().parse::<i64>().ok()?.checked_sub(1)?;
            return Some(Domain::Integers { lo: 0, hi, distinct: true });
        }
        if let Some(spread) = inside("normal(") {
            return Some(Domain::Spread(spread.trim().parse().ok()?));
        }
        if let Some(list) = text.strip_prefix("values:[").and_then(|t| t.strip_suffix(']')) {
            let all = list.split(',').map(|v| v.trim().parse().ok()).collect::<Option<Vec<f64>>>()?;
            return (!all.is_empty()).then_some(Domain::OneOf(all));
        }
        Some(match text {
            "any" => Domain::Any,
            "positive" => Domain::Positive,
            "nonzero" => Domain::Nonzero,
            "unit" => Domain::Unit,
            "prob" => Domain::Probability,
            _ => return None,
        })
    }

    /// Reads a table: `{ lo, hi, distinct }`, `{ is = [...] }`, and `{ positive = true }`, which promises nothing.
    #[allow(clippy::cast_precision_loss)]
    pub fn from_table(table: &toml::Table) -> Option<Domain> {
        if let Some(all) = table.get("is") {
            let mut out = Vec::new();
            let mut open = vec![all];
            while let Some(next) = open.pop() {
                match next {
                    toml::Value::Array(items) => open.extend(items.iter().rev()),
                    toml::Value::Float(v) => out.push(*v),
                    toml::Value::Integer(v) => out.push(*v as f64),
                    toml::Value::Boolean(v) => out.push(f64::from(u8::from(*v))),
                    _ => return None,
                }
            }
            return Some(Domain::Is(out));
        }
        let integer = |key: &str| table.get(key).and_then(toml::Value::as_integer);
        let is = |key: &str| table.get(key).and_then(toml::Value::as_bool).unwrap_or(false);
        match (integer("lo"), integer("hi")) {
            (Some(lo), Some(hi)) => Some(Domain::Integers { lo, hi, distinct: is("distinct") }),
            // Which inputs are tried first is no promise: what an assertion asks of them, others may fail.
            _ => is("positive").then_some(Domain::Any),
        }
    }

    /// Returns whether every value of the dtype belongs to it.
    pub fn is_any(&self) -> bool {
        *self == Domain::Any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_domains_and_other_words_are_none() {
        assert_eq!(Domain::parse("int(-5,4)"), Some(Domain::Integers { lo: -5, hi: 4, distinct: false }));
        assert_eq!(Domain::parse("perm(4)"), Some(Domain::Integers { lo: 0, hi: 3, distinct: true }));
        assert_eq!(Domain::parse("values:[0.5, 1]"), Some(Domain::OneOf(vec![0.5, 1.0])));
        assert_eq!(Domain::parse("normal(0.3)"), Some(Domain::Spread(0.3)));
        for word in Domain::WORDS {
            assert_eq!(Domain::parse(word).map(|d| d.to_string()).as_deref(), Some(*word));
        }
        assert_eq!(Domain::parse("prime"), None);
        assert_eq!(Domain::parse("int(0)"), None);
    }
}
