//! The one way to make an expression: what the families' rules say of it, else as it is.
//!
//! Promises: what is made equals, bit by bit (payloads of NaN aside), the operator on the operands; `None` is work that ran out or arithmetic
//! that does not fit.

use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::sym::Dim;

/// How many bits an integer dtype has; 1 for bool.
pub fn width(dtype: Dtype) -> Option<u32> {
    match dtype {
        Dtype::Bool => Some(1),
        Dtype::I8 | Dtype::U8 => Some(8),
        Dtype::I16 => Some(16),
        Dtype::I32 => Some(32),
        Dtype::I64 => Some(64),
        _ => None,
    }
}

/// Returns the least and the greatest number of an integer dtype; bool is none.
pub fn ends(dtype: Dtype) -> Option<(i64, i64)> {
    match dtype {
        Dtype::I8 => Some((i64::from(i8::MIN), i64::from(i8::MAX))),
        Dtype::U8 => Some((0, i64::from(u8::MAX))),
        Dtype::I16 => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
        Dtype::I32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        Dtype::I64 => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

/// Brings a number into an integer dtype, wrapping around.
pub fn wrapped(dtype: Dtype, v: i64) -> Option<i64> {
    Some(match dtype {
        Dtype::Bool => i64::from(v != 0),
        Dtype::U8 => v & 0xff,
        _ => {
            let unused = 64_u32.checked_sub(width(dtype)?)?;
            v.wrapping_shl(unused).wrapping_shr(unused)
        }
    })
}

impl Elements {
    pub(super) fn plain(&mut self, dtype: Dtype, form: Form, kids: &[ExprId]) -> Option<ExprId> {
        self.spend(1)?;
        Some(self.store_expr(Expr { dtype, form, kids: kids.into() }))
    }

    /// Makes an expression as it is.
    pub(in crate::rules) fn raw(&mut self, op: Op, dtype: Dtype, kids: &[ExprId]) -> Option<ExprId> {
        self.plain(dtype, Form::Op(op), kids)
    }

    /// Returns a number of an integer dtype or of bool.
    pub fn integer(&mut self, dtype: Dtype, v: i64) -> Option<ExprId> {
        let v = wrapped(dtype, v)?;
        self.plain(dtype, Form::Const(v), &[])
    }

    /// Returns a float rounded to the dtype.
    pub fn rounded(&mut self, dtype: Dtype, v: f64) -> Option<ExprId> {
        let v = crate::rules::element::cast::round(dtype, v)?;
        let v = if v.is_nan() { f64::NAN } else { v };
        self.plain(dtype, Form::Const(v.to_bits().cast_signed()), &[])
    }

    /// Returns a truth.
    pub fn truth(&mut self, v: bool) -> Option<ExprId> {
        self.integer(Dtype::Bool, i64::from(v))
    }

    /// Returns a number that is an operand of arithmetic as it is, rounded only where the operator rounds.
    pub fn unrounded(&mut self, dtype: Dtype, v: f64) -> Option<ExprId> {
        let near = crate::rules::element::cast::round(dtype, v)?;
        let wide = matches!(dtype, Dtype::F32 | Dtype::F64);
        if wide || near == v || v.is_nan() {
            return self.rounded(dtype, v);
        }
        self.plain(dtype, Form::Number(v.to_bits()), &[])
    }

    /// Returns a number that stands for itself; where the dtype does not hold it, that is a rounding.
    pub fn literal(&mut self, dtype: Dtype, v: f64) -> Option<ExprId> {
        let near = crate::rules::element::cast::round(dtype, v)?;
        if near == v || !near.is_normal() {
            return self.rounded(dtype, v);
        }
        // What differs in the last places of an `f64` is one number here.
        let bits = v.to_bits().checked_add(1 << 5)? & !((1 << 6) - 1);
        self.plain(dtype, Form::Number(bits), &[])
    }

    /// Returns an element of a source.
    pub fn load(&mut self, dtype: Dtype, source: super::arena::SourceId, at: SmallVec<[IndexId; 4]>) -> Option<ExprId> {
        if let Some(end) = self.end_of_sorted(source, &at)? {
            return Some(end);
        }
        if let Some(place) = self.undone(source, &at)? {
            return self.op(Op::Cast, dtype, &[place]);
        }
        self.plain(dtype, Form::Load(source, at), &[])
    }

    /// Returns an index as a number.
    pub fn index_value(&mut self, dtype: Dtype, index: IndexId) -> Option<ExprId> {
        if self.linear(index).terms.is_empty()
            && let Some(v) = self.linear(index).offset().fixed()
        {
            return self.integer(dtype, v);
        }
        if let Some(number) = self.number_left(index)? {
            return self.integer(dtype, number);
        }
        if dtype == Dtype::I64
            && let Some(sum) = self.sum_with_data(index)?
        {
            return Some(sum);
        }
        self.plain(dtype, Form::Index(index), &[])
    }

    /// The one number that an index may be where what is assumed leaves no other.
    fn number_left(&mut self, index: IndexId) -> Option<Option<i64>> {
        if self.facts.is_empty() || self.linear(index).terms.len() > 2 {
            return Some(None);
        }
        let few =
            self.ends_of(index).filter(|(low, high)| high.checked_sub(*low).is_some_and(|n| (0..=4).contains(&n)));
        let Some((low, high)) = few else { return Some(None) };
        for number in low..=high {
            let above = self.shift(index, Dim::Fixed(number.checked_neg()?))?;
            let below = self.scale(above, Dim::Fixed(-1))?;
            if self.at_least_zero(above) == Some(true) && self.at_least_zero(below) == Some(true) {
                return Some(Some(number));
            }
        }
        Some(None)
    }

    /// An index in which integers of the data stand as they are: a sum of them, of their multiples and of the index that is left.
    fn sum_with_data(&mut self, index: IndexId) -> Option<Option<ExprId>> {
        let from = self.linear(index).clone();
        let mut told: SmallVec<[Option<ExprId>; 4]> = SmallVec::new();
        for (place, _) in &from.terms {
            told.push(self.told_by_data(*place)?);
        }
        if told.iter().all(Option::is_none) {
            return Some(None);
        }
        let mut rest = self.at(from.offset());
        let mut sum = self.integer(Dtype::I64, 0)?;
        for ((place, by), told) in from.terms.into_iter().zip(told) {
            match told {
                Some(id) => {
                    let by = self.at(by);
                    let by = self.index_value(Dtype::I64, by)?;
                    let multiple = self.op(Op::Mul, Dtype::I64, &[id, by])?;
                    sum = self.op(Op::Add, Dtype::I64, &[sum, multiple])?;
                }
                None => {
                    let one = self.place(place);
                    let part = self.scale(one, by)?;
                    rest = self.sum(rest, part)?;
                }
            }
        }
        let rest = self.index_value(Dtype::I64, rest)?;
        self.op(Op::Add, Dtype::I64, &[sum, rest]).map(Some)
    }

    /// Returns the integer of the data that a place is: one as it stands, or what is left of such, or its quotient.
    fn told_by_data(&mut self, place: Place) -> Option<Option<ExprId>> {
        let (over, by, op) = match place {
            Place::Data(id) => return Some((self.dtype(id) == Some(Dtype::I64)).then_some(id)),
            Place::Div(over, by) => (over, by, Op::DivFloor),
            Place::Mod(over, by) => (over, by, Op::Rem),
            _ => return Some(None),
        };
        let whole = |e: &Self, p: &Place| matches!(p, Place::Data(id) if e.dtype(*id) == Some(Dtype::I64));
        let by = by.fixed().filter(|by| *by > 0);
        let (Some(by), true) = (by, self.linear(over).terms.iter().all(|(p, _)| whole(self, p))) else {
            return Some(None);
        };
        let over = self.index_value(Dtype::I64, over)?;
        if self.integers_of(over).is_none() {
            return Some(None);
        }
        let by = self.integer(Dtype::I64, by)?;
        self.op(op, Dtype::I64, &[over, by]).map(Some)
    }

    /// Returns whether an index is at least 0.
    pub fn at_least_zero_expr(&mut self, index: IndexId) -> Option<ExprId> {
        if let Some(known) = self.at_least_zero(index) {
            return self.truth(known);
        }
        if let Some(other) = self.without_quotient(index)? {
            return self.at_least_zero_expr(other);
        }
        if let Some(other) = self.in_multiples(index)? {
            return self.at_least_zero_expr(other);
        }
        // One of `e >= 0` and `-e - 1 >= 0` stands for both.
        let other = self.scale(index, crate::sym::Dim::Fixed(-1))?;
        // What is assumed of the index makes it at most 0.
        if !self.facts.is_empty() && self.linear(index).terms.len() > 1 && self.at_least_zero(other) == Some(true) {
            return self.is_zero_expr(index);
        }
        let other = self.shift(other, crate::sym::Dim::Fixed(-1))?;
        let rises = self.linear(index).terms.first().is_none_or(|(_, c)| c.fixed().is_none_or(|c| c > 0));
        let settled = self.linear(index).terms.first().is_some_and(|(_, c)| c.fixed().is_some());
        if settled && !rises {
            let other = self.plain(Dtype::Bool, Form::AtLeastZero(other), &[])?;
            return self.op(Op::Not, Dtype::Bool, &[other]);
        }
        self.plain(Dtype::Bool, Form::AtLeastZero(index), &[])
    }

    /// Returns an index that is at least 0 where a quotient less a number, or a number less a quotient, is.
    fn without_quotient(&mut self, index: IndexId) -> Option<Option<IndexId>> {
        let sum = self.linear(index).clone();
        let ([(Place::Div(e, n), by)], Some(offset)) = (sum.terms.as_slice(), sum.offset().fixed()) else {
            return Some(None);
        };
        let (Some(n), Some(by)) = (n.fixed().filter(|n| *n > 0), by.fixed()) else { return Some(None) };
        match by {
            // `e / n >= -c` where `e >= -c * n`.
            1 => self.shift(*e, crate::sym::Dim::Fixed(offset.checked_mul(n)?)).map(Some),
            // `e / n <= c` where `e <= c * n + n - 1`.
            -1 => {
                let most = offset.checked_mul(n)?.checked_add(n.checked_sub(1)?)?;
                let minus = self.scale(*e, crate::sym::Dim::Fixed(-1))?;
                self.shift(minus, crate::sym::Dim::Fixed(most)).map(Some)
            }
            _ => Some(None),
        }
    }

    /// Returns whether an index is 0.
    pub fn is_zero_expr(&mut self, index: IndexId) -> Option<ExprId> {
        let other = self.scale(index, crate::sym::Dim::Fixed(-1))?;
        match (self.at_least_zero(index), self.at_least_zero(other)) {
            (Some(true), Some(true)) => return self.truth(true),
            (Some(false), _) | (_, Some(false)) => return self.truth(false),
            _ => {}
        }
        // A difference of two integers of the data is a comparison of these, which surely do not wrap around.
        let sum = self.linear(index);
        let both = sum.terms.iter().all(|(p, by)| matches!(p, Place::Data(_)) && matches!(by, Dim::Fixed(1 | -1)));
        if both && sum.terms.len() == 2 && sum.constant.is_none() {
            let value = self.index_value(Dtype::I64, index)?;
            if !matches!(self.expr(value)?.form, Form::Index(_)) && self.integers_of(value).is_some() {
                let zero = self.integer(Dtype::I64, 0)?;
                return self.op(Op::Eq, Dtype::Bool, &[value, zero]);
            }
        }
        self.plain(Dtype::Bool, Form::IsZero(index.min(other)), &[])
    }

    /// Returns a pointwise operator on operands.
    pub fn named(&mut self, dtype: Dtype, form: Form, kids: &[ExprId]) -> Option<ExprId> {
        self.plain(dtype, form, kids)
    }

    /// Returns an operator on operands; they have the dtype that it takes.
    pub fn op(&mut self, op: Op, dtype: Dtype, kids: &[ExprId]) -> Option<ExprId> {
        self.spend(1)?;
        match op {
            Op::Cast | Op::Bits => self.converted(op, dtype, *kids.first()?),
            Op::Choose => self.choose(dtype, *kids.first()?, *kids.get(1)?, *kids.get(2)?),
            Op::Lt | Op::Le | Op::Eq => self.compared(op, *kids.first()?, *kids.get(1)?),
            Op::Not if dtype == Dtype::Bool => self.negated(*kids.first()?),
            Op::Max | Op::Min | Op::AtLeast | Op::AtMost => self.bounded_by(op, dtype, *kids.first()?, *kids.get(1)?),
            _ if dtype == Dtype::Bool => self.logic(op, kids),
            _ if dtype.is_float() => self.float_op(op, dtype, kids),
            _ if width(dtype).is_some() => self.integer_op(op, dtype, kids),
            _ => None,
        }
    }

    /// Makes an expression again of other children.
    pub(in crate::rules) fn again(&mut self, expr: &Expr, kids: &[ExprId]) -> Option<ExprId> {
        match &expr.form {
            Form::Op(op) => self.op(*op, expr.dtype, kids),
            Form::Poly(products) => self.sum_of_products(expr.dtype, products, kids),
            Form::Reduce(fold, level, sizes) => self.reduced(*fold, *level, sizes, *kids.first()?),
            form => self.plain(expr.dtype, form.clone(), kids),
        }
    }
}
