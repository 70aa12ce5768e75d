//! What can be wrong with slices and sizes: the caller adds which node and argument they belong to.

/// Why sizes, strides and slices cannot be computed with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DenseError {
    /// Sizes and strides reach outside the slice, overflow, or (for a written operand) name an element twice.
    #[error("sizes {sizes:?} with strides {strides:?} do not describe a part of {elements} elements")]
    Layout {
        /// Sizes as given.
        sizes: Vec<usize>,
        /// Strides as given, in elements.
        strides: Vec<usize>,
        /// Length of the slice.
        elements: usize,
    },
    /// Two operands disagree.
    #[error("{what} is {found}, expected {expected}")]
    Mismatch {
        /// Which size or length.
        what: &'static str,
        /// What the other operands need.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// A number that must be positive is zero.
    #[error("{what} must be positive")]
    Zero {
        /// Which number.
        what: &'static str,
    },
    /// A window is larger than the padded input, or a size does not fit in memory.
    #[error("{what}: {detail}")]
    Window {
        /// Which computation.
        what: &'static str,
        /// The sizes, in words.
        detail: String,
    },
}

impl DenseError {
    /// `Ok` if both numbers are the same.
    pub(super) fn expect(what: &'static str, expected: usize, found: usize) -> Result<(), DenseError> {
        if expected == found { Ok(()) } else { Err(DenseError::Mismatch { what, expected, found }) }
    }
}
