//! How far a decomposition is the operator's own kernel.

/// How far the values of a decomposition are those of the operator's own kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Exactness {
    /// Bit by bit: the operator is defined by these calls, or they move, compare and choose only.
    Exact,
    /// Bit by bit of integers and truths; of floats it may be another zero.
    #[serde(rename = "exact but for zeros")]
    ButZeros,
    /// The same function of real numbers: a kernel of its own rounds at other places or sums in another order.
    Real,
}

impl Exactness {
    /// Returns the word for it: `exact`, `real`.
    pub fn name(self) -> &'static str {
        match self {
            Exactness::Exact => "exact",
            Exactness::ButZeros => "exact but for zeros",
            Exactness::Real => "real",
        }
    }
}
