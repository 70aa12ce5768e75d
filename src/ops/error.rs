//! What can be wrong with a call: a fault, and the operator that was called.

use thiserror::Error;

use crate::sym::SymError;

/// A call that does not hold.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("`{target}`: {fault}")]
pub struct TypeError {
    /// The operator, as the node names it.
    pub target: String,
    /// What is wrong.
    pub fault: Box<CallFault>,
}

impl TypeError {
    /// Returns whether nothing is known of the results: the operator is opaque or has no rule.
    pub fn is_unknown_target(&self) -> bool {
        matches!(*self.fault, CallFault::Opaque | CallFault::NoRule)
    }

    /// Returns whether the arguments do not fit the schema (their kinds, names or number).
    pub fn is_bad_argument(&self) -> bool {
        use CallFault::*;
        matches!(
            *self.fault,
            NoOverload { .. } | Missing { .. } | TooMany { .. } | UnknownKeyword { .. } | Twice { .. } | Kind { .. }
        )
    }

    /// Returns the name of the argument at fault.
    pub fn argument(&self) -> Option<&str> {
        match &*self.fault {
            CallFault::Missing { argument }
            | CallFault::Twice { argument }
            | CallFault::Kind { argument, .. }
            | CallFault::Untyped { argument }
            | CallFault::Unseen { argument, .. }
            | CallFault::Mismatch { argument, .. } => Some(argument),
            CallFault::UnknownKeyword { keyword, .. } => Some(keyword),
            _ => None,
        }
    }
}

/// What is wrong with a call.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum CallFault {
    /// No schema is known.
    #[error("nobody described this operator; describe it in an operator file (`--ops FILE`)")]
    Opaque,
    /// The schema is known, the types of its results are not.
    #[error("its schema is known, but no rule that types its results; it can be kept where it stands, not inserted")]
    NoRule,
    /// A target without overload that no overload takes.
    #[error("no overload takes these arguments; tried {}", .tried.join(", "))]
    NoOverload {
        /// The overloads.
        tried: Vec<String>,
    },
    /// An argument that has no default is missing.
    #[error("argument `{argument}` is missing")]
    Missing {
        /// The parameter.
        argument: String,
    },
    /// More positional arguments than the schema has.
    #[error("takes at most {limit} positional arguments, {found} are given")]
    TooMany {
        /// How many there may be.
        limit: usize,
        /// How many there are.
        found: usize,
    },
    /// A keyword that is no parameter.
    #[error("`{keyword}` is none of its arguments ({known})")]
    UnknownKeyword {
        /// The keyword.
        keyword: String,
        /// The parameters.
        known: String,
    },
    /// An argument given by position and by keyword.
    #[error("argument `{argument}` is given twice")]
    Twice {
        /// The parameter.
        argument: String,
    },
    /// A value of the wrong kind.
    #[error("argument `{argument}`: expected {expected}, found {found}")]
    Kind {
        /// The parameter.
        argument: String,
        /// Its type in the schema.
        expected: String,
        /// What is there.
        found: String,
    },
    /// An operand whose type nobody knows.
    #[error("argument `{argument}`: the type of its value is not known; annotate the node that makes it")]
    Untyped {
        /// The parameter.
        argument: String,
    },
    /// Values of the right kinds that do not fit.
    #[error("argument `{argument}`: expected {expected}, found {found}")]
    Mismatch {
        /// The parameter.
        argument: String,
        /// What fits.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Sizes in which the operand's memory cannot be seen, as its strides are known.
    #[error(
        "argument `{argument}`: expected sizes in which the memory can be seen, found {found}; use reshape or contiguous"
    )]
    Unseen {
        /// The parameter.
        argument: String,
        /// The sizes, and the operand's sizes and strides.
        found: String,
    },
    /// More of something than a call may have.
    #[error("{what}: {found}, of which there may be {limit}")]
    TooMuch {
        /// What was counted.
        what: String,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Something that the rule does not cover.
    #[error("{what}: not supported")]
    Unsupported {
        /// What it is.
        what: String,
    },
    /// A size that cannot be computed.
    #[error(transparent)]
    Symbol(Box<SymError>),
}

impl CallFault {
    /// Returns a mismatch.
    pub fn mismatch(argument: &str, expected: impl Into<String>, found: impl Into<String>) -> Self {
        CallFault::Mismatch { argument: argument.into(), expected: expected.into(), found: found.into() }
    }

    /// Returns whether the fault says that something is not known, not that something is wrong.
    pub fn is_ignorance(&self) -> bool {
        matches!(
            self,
            CallFault::Opaque | CallFault::NoRule | CallFault::Untyped { .. } | CallFault::Unsupported { .. }
        )
    }

    /// Returns the fault as that of a call of `target`.
    pub fn of(self, target: &str) -> TypeError {
        TypeError { target: target.into(), fault: Box::new(self) }
    }
}

impl From<SymError> for CallFault {
    fn from(e: SymError) -> Self {
        CallFault::Symbol(Box::new(e))
    }
}
