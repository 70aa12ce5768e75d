//! What can go wrong with symbolic values: one variant a situation, the fields are data, the message names the thing.
//!
//! Nothing here is fatal to a graph: callers that only wanted to know more about a size may treat an error as "unknown".

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
    #[error("column {column} of `{text}`: expected {expected}, found {found}")]
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
    #[error("`{name}` is not a function of symbolic values that is known here")]
    UnknownFunction {
        /// The name as it was read.
        name: String,
    },
    /// A known function with another number of arguments.
    #[error("`{name}` takes {expected} arguments, {found} were given")]
    ArgumentCount {
        /// The function.
        name: String,
        /// How many it takes.
        expected: &'static str,
        /// How many there were.
        found: usize,
    },
    /// An integer where a boolean belongs, and the like.
    #[error("{context} needs {expected}, but `{found}` is {found_sort}")]
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
    #[error("`{text}` is unbounded: no size has this value")]
    Infinite {
        /// The value as it was read.
        text: String,
    },
    /// A symbol without a value, when evaluating.
    #[error("symbol `{name}` has no value; bind it first")]
    Unbound {
        /// The symbol.
        name: String,
    },
    /// A range that holds no value.
    #[error("the range of `{name}` is empty: VR[{min}, {max}]")]
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
