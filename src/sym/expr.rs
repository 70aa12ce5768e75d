//! Expressions: what is interned, and the ids that name it.
//!
//! Promises: an integer expression that is a polynomial is stored as one ([`Expr::Poly`]), never as a tree of sums and products; operands
//! are interned before what uses them, so their ids are lower. `arith` makes canonical expressions; this file knows no rule.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::poly::Poly;

/// Names an interned expression of one [`Symbols`](super::Symbols); of another it means nothing.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ExprId(pub(super) u32);

impl ExprId {
    /// The id as a number, for tables beside the symbols.
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A size, a stride or a symbolic integer. A fixed value is never interned, so two equal fixed values are equal here.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Dim {
    /// A number.
    Fixed(i64),
    /// An integer expression over symbols.
    Expr(ExprId),
}

impl Dim {
    /// The number, where it is one.
    pub fn fixed(self) -> Option<i64> {
        match self {
            Dim::Fixed(value) => Some(value),
            Dim::Expr(_) => None,
        }
    }
}

impl From<i64> for Dim {
    fn from(value: i64) -> Dim {
        Dim::Fixed(value)
    }
}

/// A symbolic float (`SymFloat`).
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct SymFloat(pub(super) ExprId);

/// A symbolic boolean (`SymBool`).
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct SymBool(pub(super) ExprId);

impl From<SymFloat> for ExprId {
    fn from(value: SymFloat) -> ExprId {
        value.0
    }
}

impl From<SymBool> for ExprId {
    fn from(value: SymBool) -> ExprId {
        value.0
    }
}

/// A symbolic value of any sort.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum SymValue {
    /// An integer.
    Int(Dim),
    /// A float.
    Float(SymFloat),
    /// A boolean.
    Bool(SymBool),
}

impl SymValue {
    /// The sort in words, for messages.
    pub fn sort(&self) -> &'static str {
        match self {
            SymValue::Int(_) => "an integer",
            SymValue::Float(_) => "a float",
            SymValue::Bool(_) => "a boolean",
        }
    }

    /// The integer, where it is one.
    pub fn as_int(&self) -> Option<Dim> {
        match self {
            SymValue::Int(dim) => Some(*dim),
            SymValue::Float(_) | SymValue::Bool(_) => None,
        }
    }
}

/// A comparison of two numbers.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Comparison {
    /// `a == b`, printed as `Eq(a, b)`.
    Equal,
    /// `a != b`, printed as `Ne(a, b)`.
    NotEqual,
    /// `a < b`.
    Less,
    /// `a <= b`.
    LessOrEqual,
    /// `a > b`.
    Greater,
    /// `a >= b`.
    GreaterOrEqual,
}

impl Comparison {
    /// Whether the comparison holds, given how its two sides compare (`None`: one is NaN).
    pub fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        match self {
            Comparison::Equal => order.is_some_and(|o| o.is_eq()),
            Comparison::NotEqual => order.is_none_or(|o| o.is_ne()),
            Comparison::Less => order.is_some_and(|o| o.is_lt()),
            Comparison::LessOrEqual => order.is_some_and(|o| o.is_le()),
            Comparison::Greater => order.is_some_and(|o| o.is_gt()),
            Comparison::GreaterOrEqual => order.is_some_and(|o| o.is_ge()),
        }
    }
}

/// How a float becomes an integer.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Rounding {
    /// Up: `math.ceil`.
    Ceil,
    /// Down: `math.floor`.
    Floor,
    /// Towards zero: `int(x)`.
    Trunc,
    /// To the nearest, ties to even: `round(x)`.
    Nearest,
}

/// How a remainder is spelled: both mean Python's `%`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(super) enum Modulus {
    /// `Mod`, which PyTorch writes where it assumes both operands not to be negative.
    Natural,
    /// `PythonMod`.
    Python,
}

/// An operator on the bits of two integers.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum BitOperator {
    /// `a & b`.
    And,
    /// `a | b`.
    Or,
    /// `a ^ b`.
    Xor,
}

/// The number of a symbol, in the order in which symbols were made.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct SymbolId(pub(super) u32);

impl SymbolId {
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// An interned expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Expr {
    // integers
    Symbol(SymbolId),
    /// Never a number, never one bare atom.
    Poly(Poly),
    FloorDiv(Dim, Dim),
    Mod(Modulus, Dim, Dim),
    /// An exponent that is not a number, or a base that is one.
    Power(Dim, Dim),
    /// Flat, sorted, without repetition, at most one number, at least two operands; `Min` alike.
    Max(Box<[Dim]>),
    Min(Box<[Dim]>),
    Round(Rounding, SymFloat),
    Where(SymBool, Dim, Dim),
    Bitwise(BitOperator, Dim, Dim),

    // floats: kept as written, since float arithmetic has no laws to order it by
    FloatConst(u64),
    FloatSymbol(SymbolId),
    ToFloat(Dim),
    FloatSum(Box<[SymFloat]>),
    FloatProduct(Box<[SymFloat]>),
    IntTrueDiv(Dim, Dim),
    FloatTrueDiv(SymFloat, SymFloat),
    FloatPower(SymFloat, SymFloat),
    /// `x**2`, which is another function than `FloatPower` to PyTorch.
    FloatIntPower(SymFloat, i64),
    FloatMax(Box<[SymFloat]>),
    FloatMin(Box<[SymFloat]>),
    /// A function of `math`, by its name there.
    FloatCall(Arc<str>, SymFloat),
    TruncToFloat(SymFloat),
    RoundDecimal(SymFloat, Dim),
    FloatWhere(SymBool, SymFloat, SymFloat),

    // booleans
    BoolConst(bool),
    Compare(Comparison, Dim, Dim),
    FloatCompare(Comparison, SymFloat, SymFloat),
    And(Box<[SymBool]>),
    Or(Box<[SymBool]>),
    Not(SymBool),
}

impl Expr {
    /// The id, with the sort of the expression that it names.
    pub(super) fn sorted(&self, id: ExprId) -> SymValue {
        match self {
            Expr::Symbol(_)
            | Expr::Poly(_)
            | Expr::FloorDiv(..)
            | Expr::Mod(..)
            | Expr::Power(..)
            | Expr::Max(_)
            | Expr::Min(_)
            | Expr::Round(..)
            | Expr::Where(..)
            | Expr::Bitwise(..) => SymValue::Int(Dim::Expr(id)),
            Expr::FloatConst(_)
            | Expr::FloatSymbol(_)
            | Expr::ToFloat(_)
            | Expr::FloatSum(_)
            | Expr::FloatProduct(_)
            | Expr::IntTrueDiv(..)
            | Expr::FloatTrueDiv(..)
            | Expr::FloatPower(..)
            | Expr::FloatIntPower(..)
            | Expr::FloatMax(_)
            | Expr::FloatMin(_)
            | Expr::FloatCall(..)
            | Expr::TruncToFloat(_)
            | Expr::RoundDecimal(..)
            | Expr::FloatWhere(..) => SymValue::Float(SymFloat(id)),
            Expr::BoolConst(_)
            | Expr::Compare(..)
            | Expr::FloatCompare(..)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_) => SymValue::Bool(SymBool(id)),
        }
    }
}

/// Ids of the direct operands.
pub(super) type Children = SmallVec<[ExprId; 4]>;

impl Expr {
    /// The direct operands that are interned, in order, with repetitions.
    pub(super) fn children(&self) -> Children {
        fn push(children: &mut Children, dim: &Dim) {
            if let Dim::Expr(id) = dim {
                children.push(*id);
            }
        }
        let mut out = Children::new();
        match self {
            Expr::Symbol(_) | Expr::FloatConst(_) | Expr::FloatSymbol(_) | Expr::BoolConst(_) => {}
            Expr::Poly(poly) => out.extend(poly.atoms()),
            Expr::FloorDiv(a, b)
            | Expr::Mod(_, a, b)
            | Expr::Power(a, b)
            | Expr::Bitwise(_, a, b)
            | Expr::IntTrueDiv(a, b)
            | Expr::Compare(_, a, b) => {
                push(&mut out, a);
                push(&mut out, b);
            }
            Expr::Max(dims) | Expr::Min(dims) => dims.iter().for_each(|dim| push(&mut out, dim)),
            Expr::Round(_, x) | Expr::FloatCall(_, x) | Expr::TruncToFloat(x) | Expr::FloatIntPower(x, _) => {
                out.push(x.0)
            }
            Expr::Where(c, a, b) => {
                out.push(c.0);
                push(&mut out, a);
                push(&mut out, b);
            }
            Expr::ToFloat(a) => push(&mut out, a),
            Expr::FloatSum(xs) | Expr::FloatProduct(xs) | Expr::FloatMax(xs) | Expr::FloatMin(xs) => {
                out.extend(xs.iter().map(|x| x.0));
            }
            Expr::FloatTrueDiv(x, y) | Expr::FloatPower(x, y) | Expr::FloatCompare(_, x, y) => out.extend([x.0, y.0]),
            Expr::RoundDecimal(x, a) => {
                out.push(x.0);
                push(&mut out, a);
            }
            Expr::FloatWhere(c, x, y) => out.extend([c.0, x.0, y.0]),
            Expr::And(cs) | Expr::Or(cs) => out.extend(cs.iter().map(|c| c.0)),
            Expr::Not(c) => out.push(c.0),
        }
        out
    }
}
