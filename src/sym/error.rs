//! What can go wrong with symbolic values: one variant a situation, the fields are data, the message names the thing.
//!
//! Nothing here is fatal to a graph: callers that only wanted to know more about a size may treat an error as "unknown".

use std::borrow::Cow;

use thiserror::Error;

/// Why a symbolic value could not be made, read or evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SymError {
    /// A coefficient or a value left the range of 64-bit integers.
    #[error("{operation} overflows a 64-bit integer; sizes must stay below 2^63")]
    Overflow {
        /// The operation that overflowed.
        operation: &'static str,
    },
    /// A floor division or a remainder by zero.
    #[error("{operation} by zero")]
    DivisionByZero {
        /// The operation that divides.
        operation: &'static str,
    },
    /// A power with a negative exponent, which is no integer.
    #[error("an integer power with exponent {exponent}; exponents of integers must not be negative")]
    NegativeExponent {
        /// The exponent that was given.
        exponent: i64,
    },
    /// An expression that is larger than expressions of sizes ever are.
    #[error("the expression has more than {limit} {what}; simplify it or split it into several values")]
    TooLarge {
        /// What was counted: levels, terms, factors or parts.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// Text that is not an expression.
    #[error("column {column} of `{}`: expected {expected}, found {}", around(.text, *.column), cut(.found))]
    Syntax {
        /// The whole text.
        text: String,
        /// Where, counted in characters from 1.
        column: usize,
        /// What may stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A function that has no meaning for symbolic values here.
    #[error("`{}` is not a function of symbolic values that is known here", cut(.name))]
    UnknownFunction {
        /// The name as it was read.
        name: String,
    },
    /// A known function with another number of arguments.
    #[error("`{}` takes {expected} arguments, {found} were given", cut(.name))]
    ArgumentCount {
        /// The function.
        name: String,
        /// How many it takes.
        expected: &'static str,
        /// How many there were.
        found: usize,
    },
    /// An integer where a boolean belongs, and the like.
    #[error("{} needs {expected}, but `{}` is {found_sort}", cut(.context), cut(.found))]
    Sort {
        /// Where the value stands.
        context: String,
        /// The sort that belongs there.
        expected: &'static str,
        /// The value, printed.
        found: String,
        /// Its sort.
        found_sort: &'static str,
    },
    /// An infinite bound used as a value.
    #[error("`{}` is unbounded: no size has this value", cut(.text))]
    Infinite {
        /// The value as it was read.
        text: String,
    },
    /// A symbol without a value, when evaluating.
    #[error("symbol `{}` has no value; bind it first", cut(.name))]
    Unbound {
        /// The symbol.
        name: String,
    },
    /// A range that holds no value.
    #[error("the range of `{}` is empty: VR[{min}, {max}]", cut(.name))]
    EmptyRange {
        /// The symbol.
        name: String,
        /// The lower bound.
        min: i64,
        /// The upper bound.
        max: i64,
    },
    /// A float that is not a number or infinite where an integer is made of it.
    #[error("{operation} of {value} is no 64-bit integer")]
    NotAnInteger {
        /// The rounding.
        operation: &'static str,
        /// The value, printed.
        value: String,
    },
    /// An id that another set of symbols gave out.
    #[error("expression {id} is not of this graph's symbols; translate it with `import` first")]
    Foreign {
        /// The id.
        id: u32,
    },
}

/// How many characters of an expression a message shows.
const SHOWN: usize = 120;

/// Returns the beginning of a text, and how much more there is: no message repeats a whole file.
pub fn cut(text: &str) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(SHOWN) else { return text.into() };
    let (head, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    format!("{head}... ({} more characters)", rest.chars().count()).into()
}

/// Returns what stands around a column (characters, from 1).
fn around(text: &str, column: usize) -> Cow<'_, str> {
    let first = column.saturating_sub(SHOWN.div_euclid(2).saturating_add(1));
    match text.char_indices().nth(first) {
        Some((start, _)) if start > 0 => format!("...{}", cut(text.get(start..).unwrap_or(""))).into(),
        _ => cut(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_a_part_of_what_is_long() {
        let text = "s+".repeat(1_000_000);
        let error = SymError::Syntax {
            text: text.clone(),
            column: 1_000_000,
            expected: "a number".into(),
            found: text.clone(),
        };
        let shown = error.to_string();
        assert!(shown.len() < 1_000 && shown.contains("of `..."), "{shown}");
        let error = SymError::Unbound { name: text };
        assert!(error.to_string().len() < 500);
        assert_eq!(cut("s0 + 1"), "s0 + 1");
    }
}
