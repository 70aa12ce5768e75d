//! What each expression is, by its form: integers and truths are known where indices and numbers alone say them.
//!
//! Promises: an integer of which too little is known is a number that is drawn for what it is made of; one that surely does not wrap around is the sum of products that it is.

use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, Fold, Form, Op};
use crate::rules::element::cast::loses_nothing;
use crate::rules::element::make::wrapped;
use crate::rules::fingerprint::Over;
use crate::rules::fingerprint::lane::{Lane, Number, Tag, Value};
use crate::rules::fingerprint::loops::{Algebra, At, Node};
use crate::rules::table::real;
use crate::sym::{floor_div, floor_mod};

impl Lane {
    /// A choice of which the truth is 1 or 0.
    fn chosen(&mut self, truth: Number, a: Number, b: Number) -> Value {
        let minus = self.minus(b);
        let Value::Number(over) = self.plus(a, minus) else { return Value::Undefined };
        match self.times(truth, over) {
            Value::Number(n) => self.plus(n, b),
            other => other,
        }
    }

    fn of_known(&self, op: Op, dtype: Dtype, kids: &[i64]) -> Option<i64> {
        let v = match (op, kids) {
            (Op::Lt, [a, b]) => i64::from(a < b),
            (Op::Le, [a, b]) => i64::from(a <= b),
            (Op::Eq, [a, b]) => i64::from(a == b),
            (Op::And, [a, b]) => a & b,
            (Op::Or, [a, b]) => a | b,
            (Op::Xor, [a, b]) => a ^ b,
            (Op::Not, [a]) if dtype == Dtype::Bool => i64::from(*a == 0),
            (Op::Max | Op::AtLeast, [a, b]) => *a.max(b),
            (Op::Min | Op::AtMost, [a, b]) => *a.min(b),
            (Op::DivFloor, [a, b]) => floor_div(*a, *b)?,
            (Op::Rem, [a, b]) => floor_mod(*a, *b)?,
            (Op::Cast, [a]) if !dtype.is_float() => *a,
            _ => return None,
        };
        wrapped(dtype, v)
    }

    /// An operator that gives an integer or a truth.
    fn integer(&mut self, op: Op, e: &Elements, expr: &Expr, node: &Node, kids: &[Value]) -> Value {
        let known: Option<SmallVec<[i64; 3]>> =
            kids.iter().map(|k| if let Value::Known(v) = k { Some(*v) } else { None }).collect();
        if let Some(v) = known.and_then(|known| self.of_known(op, expr.dtype, &known)) {
            return Value::Known(v);
        }
        let from = expr.kids.first().and_then(|k| e.dtype(*k));
        match (op, kids) {
            (Op::Cast, [a]) if from.is_some_and(|d| !d.is_float() && (loses_nothing(d, expr.dtype) || node.keeps)) => {
                *a
            }
            (Op::Not, [Value::Number(a)]) if expr.dtype == Dtype::Bool => {
                let (one, minus) = (self.whole(1), self.minus(*a));
                self.plus(one, minus)
            }
            (Op::Eq | Op::And | Op::Or | Op::Xor, _) => {
                let sorted = self.sorted(kids);
                self.call(Tag::Form(expr.form.clone(), expr.dtype), &sorted)
            }
            _ => self.call(Tag::Form(expr.form.clone(), expr.dtype), kids),
        }
    }

    /// A sum of products of integers.
    fn products(&mut self, products: &[(u32, i64)], expr: &Expr, node: &Node, kids: &[Value]) -> Value {
        let known = kids.iter().all(|k| matches!(k, Value::Known(_)));
        if known {
            let (mut sum, mut left) = (0_i64, kids.iter());
            for (count, by) in products {
                let factors = left.by_ref().take(*count as usize);
                let values = factors.map(|k| if let Value::Known(v) = k { *v } else { 0 });
                sum = sum.wrapping_add(values.fold(*by, i64::wrapping_mul));
            }
            return wrapped(expr.dtype, sum).map_or(Value::Undefined, Value::Known);
        }
        if !node.keeps {
            return self.call(Tag::Form(expr.form.clone(), expr.dtype), kids);
        }
        let (mut sum, mut left) = (self.whole(0), kids.iter());
        for (count, by) in products {
            let mut product = self.whole(*by);
            for kid in left.by_ref().take(*count as usize) {
                let Some(factor) = self.number(kid) else { return Value::Undefined };
                let Value::Number(n) = self.times(product, factor) else { return Value::Undefined };
                product = n;
            }
            let Value::Number(n) = self.plus(sum, product) else { return Value::Undefined };
            sum = n;
        }
        Value::Number(sum)
    }

    fn operator(&mut self, op: Op, e: &Elements, expr: &Expr, node: &Node, kids: &[Value]) -> Value {
        if let (Op::Choose, [c, a, b]) = (op, kids) {
            self.count(2);
            return match c {
                Value::Known(0) => *b,
                Value::Known(_) => *a,
                _ if self.are_one(a, b) => *a,
                Value::Number(truth) if self.over == Over::Reals || !expr.dtype.is_float() => {
                    match (self.number(a), self.number(b)) {
                        (Some(a), Some(b)) => self.chosen(*truth, a, b),
                        _ => Value::Undefined,
                    }
                }
                _ => self.call(Tag::Form(expr.form.clone(), expr.dtype), kids),
            };
        }
        if op == Op::Bits {
            let from = expr.kids.first().and_then(|k| e.dtype(*k));
            return self.call(Tag::Bits(from, expr.dtype), kids);
        }
        if !expr.dtype.is_float() {
            return self.integer(op, e, expr, node, kids);
        }
        if self.over == Over::Bits {
            let sorted = if matches!(op, Op::Add | Op::Mul) { self.sorted(kids) } else { kids.into() };
            return self.call(Tag::Form(expr.form.clone(), expr.dtype), &sorted);
        }
        let numbers: Option<SmallVec<[Number; 3]>> = kids.iter().map(|k| self.number(k)).collect();
        match numbers {
            Some(numbers) => self.over_reals(op, expr, node, &numbers, kids),
            None => Value::Undefined,
        }
    }
}

impl Algebra for Lane {
    type Value = Value;

    fn one(&mut self, e: &Elements, node: &Node, at: &[At], parts: &[Value], kids: usize) -> Value {
        let (Some(expr), Some(kids)) = (e.expr(node.id), parts.get(..kids)) else { return Value::Undefined };
        let place = |at: &[At]| match at {
            [At::Known(v)] => Some(*v),
            _ => None,
        };
        let places = |at: &[At]| -> SmallVec<[Value; 4]> {
            let value = |at: &At| match at {
                At::Known(v) => Value::Known(*v),
                At::Said(n) => Value::Number(*n),
            };
            at.iter().map(value).collect()
        };
        match &expr.form {
            Form::Load(source, _) => self.call(Tag::Load(*source), &places(at)),
            Form::Const(v) if !expr.dtype.is_float() => Value::Known(*v),
            Form::Const(_) | Form::Number(_) if self.over == Over::Bits => {
                self.call(Tag::Form(expr.form.clone(), expr.dtype), &[])
            }
            Form::Const(v) => self.float(expr.dtype, f64::from_bits(v.cast_unsigned())),
            Form::Number(bits) => self.float(Dtype::F64, f64::from_bits(*bits)),
            Form::Index(_) => match (place(at), places(at).first()) {
                (Some(v), _) => wrapped(expr.dtype, v).map_or(Value::Undefined, Value::Known),
                (None, Some(said)) if expr.dtype == Dtype::I64 => *said,
                // One that the data say may wrap around.
                (None, Some(said)) => self.call(Tag::Form(Form::Op(Op::Cast), expr.dtype), &[*said]),
                _ => Value::Undefined,
            },
            Form::AtLeastZero(_) | Form::IsZero(_) => match place(at) {
                Some(v) if matches!(expr.form, Form::IsZero(_)) => Value::Known(i64::from(v == 0)),
                Some(v) => Value::Known(i64::from(v >= 0)),
                None if matches!(expr.form, Form::IsZero(_)) => self.call(Tag::IsZero, &places(at)),
                None => self.call(Tag::AtLeastZero, &places(at)),
            },
            Form::Op(op) => self.operator(*op, e, expr, node, kids),
            Form::Poly(products) => self.products(products, expr, node, kids),
            Form::Named(target, _) => {
                let function = real(target).filter(|_| self.over == Over::Reals && expr.dtype.is_float());
                match (function, kids) {
                    (Some(function), [x]) => match self.number(x) {
                        Some(x) => self.function(function, x),
                        None => Value::Undefined,
                    },
                    _ => self.call(Tag::Form(expr.form.clone(), expr.dtype), kids),
                }
            }
            Form::Reduce(..) => Value::Undefined,
        }
    }

    fn folded(&mut self, e: &Elements, node: &Node, parts: &[Value]) -> Value {
        let Some(Expr { dtype, form: Form::Reduce(fold, ..), .. }) = e.expr(node.id) else { return Value::Undefined };
        let known: Option<Vec<i64>> =
            parts.iter().map(|p| if let Value::Known(v) = p { Some(*v) } else { None }).collect();
        let all = || Form::Reduce(*fold, 0, Box::default());
        if let Some(known) = known.filter(|_| !dtype.is_float()) {
            let value = match fold {
                Fold::Most => known.iter().copied().max(),
                Fold::Least => known.iter().copied().min(),
                Fold::Any => Some(i64::from(known.iter().any(|v| *v != 0))),
                Fold::Sum => Some(known.iter().fold(0_i64, |a, b| a.wrapping_add(*b))),
                Fold::Product => Some(known.iter().fold(1_i64, |a, b| a.wrapping_mul(*b))),
            };
            return value.and_then(|v| wrapped(*dtype, v)).map_or(Value::Undefined, Value::Known);
        }
        let exact = self.over == Over::Bits && dtype.is_float();
        let Some(numbers) = parts.iter().map(|p| self.number(p)).collect::<Option<Vec<Number>>>() else {
            return Value::Undefined;
        };
        match fold {
            Fold::Sum if !exact && (dtype.is_float() || node.keeps) => {
                let mut sum = self.whole(0);
                for n in numbers {
                    let Value::Number(made) = self.plus(sum, n) else { return Value::Undefined };
                    sum = made;
                }
                Value::Number(sum)
            }
            Fold::Product if !exact && dtype.is_float() => {
                let mut product = self.whole(1);
                for n in numbers {
                    let Value::Number(made) = self.times(product, n) else { return Value::Undefined };
                    product = made;
                }
                Value::Number(product)
            }
            Fold::Most if !exact && *dtype != Dtype::Bool => self.greatest(&numbers),
            Fold::Least if !exact && *dtype != Dtype::Bool => self.least(&numbers),
            // Floats are taken together in an order; integers in any.
            _ => {
                let given: Vec<Value> = numbers.into_iter().map(Value::Number).collect();
                let given = if exact { given } else { self.sorted(&given).to_vec() };
                self.call(Tag::Form(all(), *dtype), &given)
            }
        }
    }

    fn place(&mut self, value: &Value) -> Option<At> {
        match value {
            Value::Known(v) => Some(At::Known(*v)),
            Value::Number(n) => Some(At::Said(*n)),
            Value::Undefined => None,
        }
    }

    fn sum(&mut self, terms: &[(At, i64)], offset: i64) -> Option<At> {
        let mut sum = self.whole(offset);
        for (at, by) in terms {
            let place = match at {
                At::Known(v) => self.whole(*v),
                At::Said(n) => *n,
            };
            let by = self.whole(*by);
            let Value::Number(part) = self.times(place, by) else { return None };
            let Value::Number(made) = self.plus(sum, part) else { return None };
            sum = made;
        }
        Some(At::Said(sum))
    }

    fn divided(&mut self, over: Number, by: i64, rest: bool) -> Option<At> {
        let tag = if rest { Tag::Remainder } else { Tag::Divided };
        match self.call(tag, &[Value::Number(over), Value::Known(by)]) {
            Value::Number(n) => Some(At::Said(n)),
            _ => None,
        }
    }
}
