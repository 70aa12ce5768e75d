//! Floats over sizes as elements.
//!
//! ## What it says
//! A number that a program computes of sizes, in double precision, is over the reals the sum, the product, the quotient or the root that it is.
//!
//! ## When it is wrong
//! Bit by bit: it is rounded as a double, then once more.

use crate::graph::Dtype;
use crate::rules::element::arena::{ExprId, Form, Op};
use crate::rules::meaning::Speaker;
use crate::rules::table::{Real, target};
use crate::sym::{Dim, FloatParts, SymFloat};
use crate::term::term::Token;

impl Speaker<'_> {
    /// Returns a float over sizes, over the reals: what rounds it in double precision is no more than what rounds it here.
    pub(super) fn number_over_sizes(
        &mut self,
        number: impl Into<crate::sym::ExprId>,
        dtype: Dtype,
        depth: usize,
    ) -> Option<ExprId> {
        let inner = depth.checked_sub(1)?;
        let all = |s: &mut Self, op: Op, all: &[SymFloat]| {
            let mut out = None;
            for one in all {
                let one = s.number_over_sizes(*one, dtype, inner)?;
                out = Some(match out {
                    Some(known) => s.e.op(op, dtype, &[known, one])?,
                    None => one,
                });
            }
            out
        };
        match self.e.symbols.parts_of(number.into()) {
            FloatParts::Number(v) => self.e.literal(dtype, v),
            FloatParts::Whole(d) => self.size_as_number(d, dtype),
            FloatParts::Sum(parts) => all(self, Op::Add, &parts),
            FloatParts::Product(parts) => all(self, Op::Mul, &parts),
            FloatParts::Quotient(x, y) => all(self, Op::Div, &[x, y]),
            FloatParts::Ratio(a, b) => {
                let (a, b) = (self.size_as_number(a, dtype)?, self.size_as_number(b, dtype)?);
                self.e.op(Op::Div, dtype, &[a, b])
            }
            FloatParts::Root(x) => {
                let x = self.number_over_sizes(x, dtype, inner)?;
                self.e.named(dtype, Form::Named(target(Real::Sqrt).into(), Box::new([Token::Child])), &[x])
            }
            FloatParts::InverseRoot(x) => {
                let x = self.number_over_sizes(x, dtype, inner)?;
                self.e.named(dtype, Form::Named(target(Real::Rsqrt).into(), Box::new([Token::Child])), &[x])
            }
            FloatParts::Power(..) | FloatParts::Other => None,
        }
    }

    fn size_as_number(&mut self, size: Dim, dtype: Dtype) -> Option<ExprId> {
        self.e.are_settled(&[size]).then_some(())?;
        let at = self.e.at(size);
        let number = self.e.index_value(Dtype::I64, at)?;
        self.e.op(Op::Cast, dtype, &[number])
    }
}
