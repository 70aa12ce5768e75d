//! Why a run fails.

use thiserror::Error;

use crate::graph::WeightError;
use crate::ops::{CallFault, TypeError};

/// Why a graph cannot be run, or ends before its outputs are there.
#[derive(PartialEq, Debug, Error)]
pub enum ExecError {
    /// Another number of inputs than the program takes.
    #[error("the program takes {expected} inputs ({names}), {found} are given")]
    Inputs {
        /// How many it takes.
        expected: usize,
        /// Their names.
        names: String,
        /// How many there are.
        found: usize,
    },
    /// An input of another kind, dtype or shape.
    #[error("input `{name}` (number {index}): expected {expected}, found {found}")]
    Input {
        /// Placeholder.
        name: String,
        /// Its place among the user's inputs.
        index: usize,
        /// What the program states.
        expected: String,
        /// What is given.
        found: String,
    },
    /// A weight that is not there, or too short.
    #[error("input `{name}`: {source}")]
    Weight {
        /// Placeholder.
        name: String,
        /// Which weight.
        source: WeightError,
    },
    /// A weight that does not fit its storage.
    #[error("input `{name}`: weight `{weight}`: {fault}")]
    Place {
        /// Placeholder.
        name: String,
        /// Fully qualified name.
        weight: String,
        /// What is wrong.
        fault: Box<CallFault>,
    },
    /// A call that fails.
    #[error("node `{node}`: {source}")]
    Node {
        /// The node.
        node: String,
        /// Operator, argument, expected and found.
        source: TypeError,
    },
    /// A node that uses a value that nothing has made.
    #[error("node `{node}` uses `{operand}`, which has no value here")]
    NoValue {
        /// The node.
        node: String,
        /// What it uses.
        operand: String,
    },
    /// A body without output, or one of higher-order calls nested too deep.
    #[error("{what}")]
    Body {
        /// What is wrong, naming the body.
        what: String,
    },
}
