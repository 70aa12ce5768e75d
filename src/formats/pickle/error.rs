//! What can be wrong with a pickle.
//!
//! Places are byte offsets in the pickle, as Python's `pickletools.dis` shows them.

/// Why a pickle is not read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PickleError {
    /// A name that is not of a tensor.
    #[error("the pickle asks for `{name}` (byte {at}); only tensors are read")]
    Global {
        /// Offset.
        at: usize,
        /// Module and name.
        name: String,
    },
    /// An opcode that tensors do not need.
    #[error("the pickle uses opcode {opcode} (byte {at}); only what torch.save writes for tensors is read")]
    Opcode {
        /// Offset.
        at: usize,
        /// Its name, or its number where it has none.
        opcode: String,
    },
    /// Another protocol, or no pickle.
    #[error("not a pickle of torch.save: it begins with {found}, expected protocol 2")]
    Protocol {
        /// What stands there.
        found: String,
    },
    /// The end before the end.
    #[error("the pickle ends within {within} (byte {at}); was it truncated?")]
    Truncated {
        /// Offset of the opcode.
        at: usize,
        /// What is not whole.
        within: &'static str,
    },
    /// More bytes than any table of tensors has.
    #[error("the pickle has {found} bytes; at most {limit} are read")]
    TooLarge {
        /// Bytes.
        found: usize,
        /// Bytes.
        limit: usize,
    },
    /// An opcode that takes more values than there are.
    #[error("{opcode} (byte {at}) finds {found}")]
    Stack {
        /// Offset.
        at: usize,
        /// The opcode.
        opcode: &'static str,
        /// What is there instead of its operands.
        found: &'static str,
    },
    /// A memo entry that was never made.
    #[error("{opcode} (byte {at}) takes entry {index} of the memo, which nothing put there")]
    Memo {
        /// Offset.
        at: usize,
        /// The opcode.
        opcode: &'static str,
        /// The entry.
        index: u32,
    },
    /// A text that is no text.
    #[error("the text at byte {at} is not UTF-8")]
    Text {
        /// Offset.
        at: usize,
    },
    /// An integer of more than 64 bits.
    #[error("the integer at byte {at} has more than 64 bits")]
    Integer {
        /// Offset.
        at: usize,
    },
    /// An operand of another kind.
    #[error("{of} (byte {at}), {part}: expected {expected}, found {found}")]
    Operand {
        /// Offset.
        at: usize,
        /// The opcode or function.
        of: &'static str,
        /// Which operand.
        part: &'static str,
        /// What belongs there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
}
