//! What can be wrong with a `.pt2` file, or with a model that is to become one.
//!
//! One variant a situation; the fields are data and the message is made here. Nothing of a file that gives an error is used, and
//! nothing is written where writing gives one.

use crate::formats::pickle::PickleError;
use crate::graph::WeightError;
use crate::sym::SymError;

/// A problem, with the file that has it.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {problem}")]
pub struct Pt2Error {
    /// The file, as the caller named it.
    pub file: String,
    /// What is wrong.
    #[source]
    pub problem: Box<Problem>,
}

/// What is wrong with a `.pt2` file or with a model that is to become one.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The operating system said no.
    #[error("cannot {action} it: {source}")]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// No zip archive, or only a part of one.
    #[error("not a whole zip archive ({reason}); a .pt2 file is one: was it truncated, or is it another kind of file?")]
    NotZip {
        /// What the zip reader says.
        reason: String,
    },
    /// A zip archive, but not one of `torch.export.save`.
    #[error(
        "a zip archive, but not of torch.export.save: {found}; expected one folder that holds archive_format and models/model.json"
    )]
    NotPt2 {
        /// What is there instead.
        found: String,
    },
    /// Something wrong with an archive inside the archive.
    #[error("in entry `{entry}`: {problem}")]
    Inside {
        /// Name below the root folder.
        entry: String,
        /// What is wrong.
        #[source]
        problem: Box<Problem>,
    },
    /// A pickle that is not read.
    #[error("entry `{entry}`: {source}")]
    Pickle {
        /// Name below the root folder.
        entry: String,
        /// Why.
        source: PickleError,
    },
    /// An entry that every `.pt2` archive has.
    #[error("the archive has no entry `{entry}`; save the model again with torch.export.save")]
    MissingEntry {
        /// Name below the root folder.
        entry: String,
    },
    /// An entry that cannot be taken out of the archive.
    #[error("entry `{entry}` cannot be read: {reason}")]
    Entry {
        /// Name below the root folder.
        entry: String,
        /// Why.
        reason: String,
    },
    /// Compressed entries that become too large.
    #[error(
        "entry `{entry}` inflates to more than {limit} bytes, which is {ratio} times the file; store it uncompressed"
    )]
    Inflates {
        /// Name below the root folder.
        entry: String,
        /// How many bytes all entries together may inflate to.
        limit: u64,
        /// The stated multiple.
        ratio: u64,
    },
    /// `archive_version` or `archive_format` says something else.
    #[error("entry `{entry}` says `{found}`, expected `{expected}`")]
    Version {
        /// Name below the root folder.
        entry: &'static str,
        /// What it says.
        found: String,
        /// What it should say.
        expected: &'static str,
    },
    /// A tensor that there cannot be.
    #[error("{place}: the tensor {reason}")]
    Tensor {
        /// What holds it.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// JSON that is no JSON, or not of this form.
    #[error("entry `{entry}`, line {line}, column {column}{}: {message}{}", at_path(.path), near_text(.near))]
    Json {
        /// Name below the root folder.
        entry: String,
        /// Where in the document: `graph_module.graph.nodes[3].target`.
        path: String,
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// What was expected and found.
        message: String,
        /// The text there.
        near: String,
    },
    /// JSON nested deeper than any model.
    #[error(
        "entry `{entry}`, line {line}, column {column}: nested deeper than {limit} levels, which no exported model is"
    )]
    TooDeep {
        /// Name below the root folder.
        entry: String,
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// How deep is allowed.
        limit: usize,
    },
    /// Another major version of the schema.
    #[error(
        "schema version {major}.{minor}; only major version {} is read in this container: export the model again with PyTorch 2.9 or later", .expected.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
    )]
    Schema {
        /// Found.
        major: i64,
        /// Found.
        minor: i64,
        /// Major versions.
        expected: &'static [i64],
    },
    /// A number that stands for nothing known.
    #[error("{place}: {what} number {number} is unknown here")]
    UnknownNumber {
        /// `dtype`, `layout` or `memory format`.
        what: &'static str,
        /// The number.
        number: i64,
        /// Where.
        place: String,
    },
    /// A name used before its definition, or without one.
    #[error("node `{node}`, argument `{argument}`: uses `{name}`, {}", if *.later { "which is defined only later; the nodes must be in order" } else { "which nothing defines" })]
    Undefined {
        /// The user (`output` for what a graph returns).
        node: String,
        /// The argument.
        argument: String,
        /// The name.
        name: String,
        /// Whether a later node of the same graph defines it.
        later: bool,
    },
    /// A name defined twice.
    #[error("node `{node}` defines `{name}`, which is defined already; names are unique in a graph")]
    Twice {
        /// The second definition.
        node: String,
        /// The name.
        name: String,
    },
    /// An operand named twice.
    #[error("node `{node}` is given `{argument}` twice; each operand has one name")]
    GivenTwice {
        /// The node.
        node: String,
        /// The name.
        argument: String,
    },
    /// Operands of an operator that nobody describes, by other names than in an earlier call.
    #[error(
        "node `{node}`, operand {place}: named `{found}`, and `{expected}` in an earlier call of this operator, of which nothing else is known; describe it in an operator file"
    )]
    NamedOtherwise {
        /// The node.
        node: String,
        /// From 0.
        place: usize,
        /// The name.
        found: String,
        /// The name in an earlier call.
        expected: String,
    },
    /// Sub-graphs that PyTorch would take for one.
    #[error("node `{node}`: another sub-graph of this graph is `{name}`, too; PyTorch keeps one by each name")]
    BodiesOfOneName {
        /// The node that is given the second one.
        node: String,
        /// The name of both.
        name: String,
    },
    /// A value without a type.
    #[error("value `{name}` of node `{node}` has no entry in {table}")]
    Untyped {
        /// The node.
        node: String,
        /// The value.
        name: String,
        /// `tensor_values` or a sibling.
        table: &'static str,
    },
    /// Sizes and strides of different number.
    #[error("{place}: {sizes} sizes, but {strides} strides")]
    Rank {
        /// Where.
        place: String,
        /// How many.
        sizes: usize,
        /// How many.
        strides: usize,
    },
    /// A symbolic expression that is not understood.
    #[error("{place}: {source}")]
    Symbol {
        /// Where.
        place: String,
        /// What is wrong with it.
        source: SymError,
    },
    /// Something in the place of something else.
    #[error("{place}: expected {expected}, found {found}")]
    Unexpected {
        /// Where.
        place: String,
        /// What belongs there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A signature that does not fit the graph.
    #[error("the signature has {found} {what}, the graph has {expected}")]
    Signature {
        /// `inputs` or `outputs`.
        what: &'static str,
        /// In the signature.
        found: usize,
        /// In the graph.
        expected: usize,
    },
    /// Weights that are pickled.
    #[error("weight `{name}` is pickled (entry `{entry}`), which is not supported yet; save it as an ordinary tensor")]
    Pickled {
        /// Fully qualified name.
        name: String,
        /// Name below the root folder.
        entry: String,
    },
    /// Weights that are missing or too short.
    #[error("{0}")]
    Weight(#[from] WeightError),
    /// A weight record that is no whole number of elements.
    #[error(
        "entry `{entry}` has {found} bytes, which is no multiple of the {element} bytes of an element of weight `{name}`"
    )]
    Elements {
        /// Fully qualified name.
        name: String,
        /// Name below the root folder.
        entry: String,
        /// Bytes.
        found: u64,
        /// Bytes.
        element: u64,
    },
    /// An argument that a `.pt2` file cannot hold.
    #[error("node `{node}`, argument `{argument}`: {found} cannot be written to a .pt2 file: {reason}")]
    Argument {
        /// The node.
        node: String,
        /// The argument: its name, or its position from 0.
        argument: String,
        /// The value.
        found: String,
        /// Why not.
        reason: &'static str,
    },
    /// A value that a `.pt2` file cannot hold.
    #[error("node `{node}` cannot be written to a .pt2 file: {reason}")]
    Node {
        /// The node.
        node: String,
        /// Why not, and what to do.
        reason: String,
    },
}

impl Problem {
    /// Returns the error for `file`.
    pub(super) fn of(self, file: &str) -> Pt2Error {
        Pt2Error { file: file.to_string(), problem: Box::new(self) }
    }
}

fn at_path(path: &str) -> String {
    if path.is_empty() || path == "." { String::new() } else { format!(", at {path}") }
}

fn near_text(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(", near `{text}`") }
}
