//! What a float over sizes is made of.
//!
//! Promises: the outermost operation, as PyTorch would compute it in double precision; nothing of what is inside. Leaves to others: what its operands are.

use super::expr::{Dim, Expr, ExprId, SymFloat};
use super::store::{Arena, Symbols};

/// The outermost operation of a float.
#[derive(Clone, PartialEq, Debug)]
pub enum FloatParts {
    /// A number.
    Number(f64),
    /// An integer.
    Whole(Dim),
    /// A sum.
    Sum(Box<[SymFloat]>),
    /// A product.
    Product(Box<[SymFloat]>),
    /// A quotient.
    Quotient(SymFloat, SymFloat),
    /// A quotient of integers.
    Ratio(Dim, Dim),
    /// A power to a whole number.
    Power(SymFloat, i64),
    /// One over a root.
    InverseRoot(SymFloat),
    /// A root.
    Root(SymFloat),
    /// Something else.
    Other,
}

impl Symbols {
    /// Returns of what a float is made.
    pub fn parts_of(&self, float: ExprId) -> FloatParts {
        match self.expr(float) {
            Some(Expr::FloatConst(bits)) => FloatParts::Number(f64::from_bits(*bits)),
            Some(Expr::ToFloat(a)) => FloatParts::Whole(*a),
            Some(Expr::FloatSum(all)) => FloatParts::Sum(all.clone()),
            Some(Expr::FloatProduct(all)) => FloatParts::Product(all.clone()),
            Some(Expr::FloatTrueDiv(x, y)) => FloatParts::Quotient(*x, *y),
            Some(Expr::IntTrueDiv(a, b)) => FloatParts::Ratio(*a, *b),
            Some(Expr::FloatIntPower(x, n)) => FloatParts::Power(*x, *n),
            Some(Expr::FloatCall(name, x)) if &**name == "sqrt" => FloatParts::Root(*x),
            Some(Expr::FloatPower(x, y)) => match self.parts_of(y.0) {
                FloatParts::Number(0.5) => FloatParts::Root(*x),
                FloatParts::Number(-0.5) => FloatParts::InverseRoot(*x),
                _ => FloatParts::Other,
            },
            _ => FloatParts::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sym::SymValue;

    fn parts(text: &str) -> FloatParts {
        let mut symbols = Symbols::new();
        let SymValue::Float(float) = symbols.parse_python(text).unwrap() else { panic!("`{text}` is no float") };
        symbols.parts_of(float.0)
    }

    #[test]
    fn the_outermost_operation_is_told() {
        assert!(matches!(parts("ToFloat(s0)"), FloatParts::Whole(_)));
        assert!(matches!(parts("0.5*ToFloat(s0)"), FloatParts::Product(all) if all.len() == 2));
        assert!(matches!(parts("FloatTrueDiv(1.0, ToFloat(s0))"), FloatParts::Quotient(..)));
        assert!(matches!(parts("IntTrueDiv(s0, s1)"), FloatParts::Ratio(..)));
        assert!(matches!(parts("OpaqueUnaryFn_sqrt(ToFloat(s0))"), FloatParts::Root(_)));
        assert_eq!(parts("TruncToFloat(ToFloat(s0))"), FloatParts::Other);
    }
}
