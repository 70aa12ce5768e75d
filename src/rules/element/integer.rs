//! Integers: the ring modulo 2^n, and division by numbers.
//!
//! ## What it says
//! Sums, differences, products, signs, `~x` (which is `-x - 1`) and shifts to the left by a number are sums of products, wrapping around: one normal
//! form. Of a sum that surely does not wrap around multiples of the divisor are divided, and a rest between 0 and the divisor is gone; a quotient of which the range holds
//! one number is that. `x mod c` is `x -
//! c * (x / c)`, rounded down; `(6 * x) / 30` is `x / 5` where nothing wraps around; divisions by positive numbers compose where both are rounded down or both cut, shifts to the right among them; dividing by 2^k, rounded down, shifts to the right. `-x / n`, rounded down, is
//! `-((x + n - 1) / n)`, where neither wraps around. Of sums that surely do not wrap around one is less than, or the greater of, another as what they do not have in common is. What is left of a sum by
//! a power of two is that of the lowest bits of all that it is made of, wrapping around or not. The magnitude of what is surely at least 0 is that, of what is surely at most 0 its opposite. A quotient rounded down, and 1 more where a rest is left, is the quotient rounded up.
//! A quotient that is cut is the opposite of that of the opposite, which is none of the least integer; so it is by the opposite of a number.
//!
//! ## When it is wrong
//! Division does not undo a product that wrapped around: `(x * 2) / 2` is not `x`. Rounded towards 0, a division is no shift for negative numbers. The least integer is its own opposite. A
//! divisor of 0 raises: only numbers divide here. Indices are no ring: their numbers never wrap.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::element::index::IndexId;
use crate::rules::element::make::{ends, width, wrapped};
use crate::sym::Dim;

type Product = SmallVec<[ExprId; 3]>;
type Sum = FxHashMap<Product, i64>;

/// How many products a sum may have.
const MOST: usize = 64;

impl Elements {
    fn as_sum(&self, x: ExprId) -> Option<Sum> {
        let expr = self.expr(x)?;
        let mut out = Sum::default();
        match &expr.form {
            Form::Const(v) => {
                out.insert(Product::new(), *v);
            }
            Form::Poly(products) => {
                let mut kids = expr.kids.iter().copied();
                for (count, factor) in products {
                    out.insert(kids.by_ref().take(*count as usize).collect(), *factor);
                }
            }
            _ => {
                out.insert(SmallVec::from_elem(x, 1), 1);
            }
        }
        Some(out)
    }

    fn of_sum(&mut self, dtype: Dtype, sum: Sum) -> Option<ExprId> {
        let mut all: Vec<(Product, i64)> = Vec::with_capacity(sum.len());
        for (product, factor) in sum {
            let factor = wrapped(dtype, factor)?;
            if factor != 0 {
                all.push((product, factor));
            }
        }
        all.sort_unstable();
        if all.len() > MOST {
            return None;
        }
        match all.as_slice() {
            [] => return self.integer(dtype, 0),
            [(product, factor)] if product.is_empty() => return self.integer(dtype, *factor),
            [(product, 1)] if product.len() == 1 => return product.first().copied(),
            _ => {}
        }
        if let Some(index) = self.index_sum(dtype, &all) {
            return Some(index);
        }
        if let Some(fewer) = self.indices_together(dtype, &all)? {
            all = fewer;
            match all.as_slice() {
                [] => return self.integer(dtype, 0),
                [(product, 1)] if product.len() == 1 => return product.first().copied(),
                _ => {}
            }
        }
        if let Some(fewer) = self.rounded_up_by_rest(dtype, &all)? {
            self.by("quotient-rounded-up");
            return self.of_sum(dtype, fewer);
        }
        let form = all.iter().map(|(p, f)| (u32::try_from(p.len()).unwrap_or(u32::MAX), *f)).collect();
        let kids = all.into_iter().flat_map(|(p, _)| p).collect();
        self.spend(1)?;
        Some(self.store_expr(Expr { dtype, form: Form::Poly(form), kids }))
    }

    /// A quotient rounded down, and 1 more where a rest is left, is the quotient rounded up: that of the number and the divisor less 1, which surely is no more than
    /// the dtype holds.
    fn rounded_up_by_rest(&mut self, dtype: Dtype, all: &[(Product, i64)]) -> Option<Option<Sum>> {
        for (k, (product, factor)) in all.iter().enumerate() {
            let [more] = product.as_slice() else { continue };
            let Some((rest, above)) = self.is_left(*more) else { continue };
            for (j, (product, other)) in all.iter().enumerate() {
                let ([quotient], true) = (product.as_slice(), factor == other) else { continue };
                let Some((x, by)) = self.quotient_by_number(*quotient) else { continue };
                let divisor = self.integer(dtype, by)?;
                let multiple = self.integer_op(Op::Mul, dtype, &[*quotient, divisor])?;
                let left = self.integer_op(Op::Sub, dtype, &[x, multiple])?;
                let minus = self.integer_op(Op::Neg, dtype, &[left])?;
                let most = self.integers_of(x).and_then(|(_, high)| high.checked_add(by.checked_sub(1)?));
                let holds = most.zip(ends(dtype)).is_some_and(|(most, (_, end))| most <= end);
                // What is left is not negative.
                if rest != left && (above || rest != minus) || !holds {
                    continue;
                }
                let above = self.integer(dtype, by.checked_sub(1)?)?;
                let above = self.integer_op(Op::Add, dtype, &[x, above])?;
                let up = self.divided_down(dtype, above, divisor)?;
                let mut sum = Sum::default();
                for (_, (product, factor)) in all.iter().enumerate().filter(|(i, _)| ![k, j].contains(i)) {
                    sum.insert(product.clone(), *factor);
                }
                add(&mut sum, &self.as_sum(up)?, *factor);
                return Some(Some(sum));
            }
        }
        Some(None)
    }

    /// Returns the integer of which a truth, as a number, says that it is not 0, or that it is above 0, and whether it says that.
    fn is_left(&self, x: ExprId) -> Option<(ExprId, bool)> {
        let (Op::Cast, [truth]) = self.op_of(x)? else { return None };
        let (rest, zero, above) = match self.op_of(*truth)? {
            (Op::Not, [equal]) => match self.op_of(*equal)? {
                (Op::Eq, [rest, zero]) => (*rest, *zero, false),
                _ => return None,
            },
            (Op::Lt, [zero, rest]) => (*rest, *zero, true),
            _ => return None,
        };
        (self.number(zero) == Some(0) && self.dtype(rest) == self.dtype(x)).then_some((rest, above))
    }

    /// Returns what is divided by a positive number, rounded down, and the number.
    fn quotient_by_number(&self, x: ExprId) -> Option<(ExprId, i64)> {
        match self.op_of(x)? {
            (Op::DivFloor, [x, by]) => Some((*x, self.number(*by).filter(|by| *by > 1)?)),
            (Op::Shr, [x, by]) => {
                let by = u32::try_from(self.number(*by)?).ok().filter(|by| *by < 62)?;
                Some((*x, 1_i64.checked_shl(by)?))
            }
            _ => None,
        }
    }

    /// A sum of indices is an index, where it surely does not wrap: dimensions have fewer than 2^48 places.
    fn index_sum(&mut self, dtype: Dtype, all: &[(Product, i64)]) -> Option<ExprId> {
        let mut total = self.at(Dim::Fixed(0));
        let mut terms = 0_usize;
        for (product, factor) in all {
            if product.is_empty() {
                if factor.unsigned_abs() > 1 << 32 {
                    return None;
                }
                total = self.shift(total, Dim::Fixed(*factor))?;
                continue;
            }
            let [one] = product.as_slice() else { return None };
            let Form::Index(index) = self.expr(*one)?.form else { return None };
            if factor.unsigned_abs() > 256 {
                return None;
            }
            let part = self.scale(index, Dim::Fixed(*factor))?;
            total = self.sum(total, part)?;
            terms = terms.checked_add(1)?;
        }
        let modest = self.linear(total).terms.iter().all(|(_, c)| c.fixed().is_some_and(|c| c.unsigned_abs() <= 4096));
        if terms == 0 || !modest || dtype != Dtype::I64 || self.linear(total).terms.len() > 8 {
            return None;
        }
        self.by("sum-of-indices");
        self.index_value(dtype, total)
    }

    /// A sum in which all that indices and sizes say is one index, and sizes that are multiplied are one size, where these are surely small.
    fn indices_together(&mut self, dtype: Dtype, all: &[(Product, i64)]) -> Option<Option<Vec<(Product, i64)>>> {
        if dtype != Dtype::I64 {
            return Some(None);
        }
        if let Some(rest) = self.rest_of_division(dtype, all)? {
            return Some(Some(rest));
        }
        let (mut total, mut rest) = (self.at(Dim::Fixed(0)), Sum::default());
        let (mut merged, mut indices) = (false, 0_usize);
        for (product, factor) in all {
            let mut size = Dim::Fixed(1);
            let mut others = Product::new();
            let mut sizes = 0_usize;
            for kid in product {
                match self.size_of_index(*kid).and_then(|d| self.small_product(size, d)) {
                    Some(both) => (size, sizes) = (both, sizes.checked_add(1)?),
                    None => others.push(*kid),
                }
            }
            let index = match others.as_slice() {
                [] if sizes > 0 || product.is_empty() => Some(self.at(Dim::Fixed(1))),
                [one] => self.index_of_value(*one),
                _ => None,
            };
            let part = index.and_then(|i| self.scale(i, size)).and_then(|i| self.scale(i, Dim::Fixed(*factor)));
            let sum = part.and_then(|p| self.sum(total, p));
            if let Some(sum) = sum.filter(|s| self.is_small(*s)) {
                total = sum;
                indices = indices.checked_add(usize::from(!product.is_empty()))?;
                continue;
            }
            if sizes > 1 {
                merged = true;
                let at = self.at(size);
                others.push(self.index_value(Dtype::I64, at)?);
                others.sort_unstable();
                add(&mut rest, &Sum::from_iter([(others, *factor)]), 1);
            } else {
                add(&mut rest, &Sum::from_iter([(product.clone(), *factor)]), 1);
            }
        }
        if indices == 0 && !merged {
            return Some(None);
        }
        self.by("sum-of-indices");
        if indices > 0 || self.linear(total).offset() != Dim::Fixed(0) {
            let number = self.index_value(Dtype::I64, total)?;
            add(&mut rest, &self.as_sum(number)?, 1);
        }
        let mut out: Vec<(Product, i64)> = rest.into_iter().filter(|(_, factor)| *factor != 0).collect();
        out.sort_unstable();
        Some(Some(out))
    }

    /// A sum in which an integer less the multiple of its quotient by a size, rounded down, is what that division leaves.
    fn rest_of_division(&mut self, dtype: Dtype, all: &[(Product, i64)]) -> Option<Option<Vec<(Product, i64)>>> {
        for (k, (product, _)) in all.iter().enumerate().filter(|(_, (product, by))| product.len() == 2 && *by == -1) {
            let quotient = product.iter().find_map(|kid| match self.op_of(*kid) {
                Some((Op::DivFloor, [over, by])) => Some((*kid, *over, *by)),
                _ => None,
            });
            let Some((quotient, over, by)) = quotient else { continue };
            let other = product.iter().copied().find(|kid| *kid != quotient);
            let sizes = other.and_then(|kid| self.size_of_index(kid)).zip(self.whole_size(dtype, by));
            let whole: Product = [over].into_iter().collect();
            let beside = all.iter().position(|(product, by)| *product == whole && *by == 1);
            let (Some((own, size)), Some(beside)) = (sizes, beside) else { continue };
            if !self.same_size(own, size) {
                continue;
            }
            self.by("remainder-by-quotient");
            let left = self.integer_op(Op::Rem, dtype, &[over, by])?;
            let others = all.iter().enumerate().filter(|(at, _)| *at != k && *at != beside);
            let mut out: Vec<(Product, i64)> = others.map(|(_, term)| term.clone()).collect();
            out.push(([left].into_iter().collect(), 1));
            out.sort_unstable();
            return Some(Some(out));
        }
        Some(None)
    }

    fn index_of_value(&self, x: ExprId) -> Option<IndexId> {
        match self.expr(x)?.form {
            Form::Index(i) => Some(i),
            _ => None,
        }
    }

    /// The size that an integer is, where it is one of no index.
    fn size_of_index(&self, x: ExprId) -> Option<Dim> {
        let index = self.linear(self.index_of_value(x)?);
        index.terms.is_empty().then(|| index.offset())
    }

    fn small_product(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        let both = self.times(a, b)?;
        let at = self.at(both);
        self.is_small(at).then_some(both)
    }

    /// Whether an index surely is a number far from where integers wrap around, and few places are named.
    fn is_small(&mut self, at: IndexId) -> bool {
        let few = self.linear(at).terms.len() <= 8;
        few && self.ends_of(at).is_some_and(|(low, high)| low > -(1 << 48) && high < 1 << 48)
    }

    /// Returns the sum of products of these children, each product by how many it takes and its factor.
    pub(super) fn sum_of_products(&mut self, dtype: Dtype, form: &[(u32, i64)], kids: &[ExprId]) -> Option<ExprId> {
        let mut kids = kids.iter().copied();
        let mut total = Sum::default();
        for (count, factor) in form {
            let mut product = Sum::default();
            product.insert(Product::new(), *factor);
            for kid in kids.by_ref().take(*count as usize) {
                let kid = self.as_sum(kid)?;
                product = multiplied(&product, &kid)?;
            }
            add(&mut total, &product, 1);
        }
        self.of_sum(dtype, total)
    }

    pub(super) fn integer_op(&mut self, op: Op, dtype: Dtype, kids: &[ExprId]) -> Option<ExprId> {
        match (op, kids) {
            (Op::Add | Op::Sub | Op::Mul, [a, b]) => {
                let (mut x, y) = (self.as_sum(*a)?, self.as_sum(*b)?);
                match op {
                    Op::Mul => x = multiplied(&x, &y)?,
                    Op::Sub => add(&mut x, &y, -1),
                    _ => add(&mut x, &y, 1),
                }
                self.by("integer-ring");
                self.of_sum(dtype, x)
            }
            (Op::Neg, [a]) => {
                let mut out = Sum::default();
                add(&mut out, &self.as_sum(*a)?, -1);
                self.of_sum(dtype, out)
            }
            (Op::Not, [a]) => {
                let mut out = Sum::default();
                out.insert(Product::new(), -1);
                add(&mut out, &self.as_sum(*a)?, -1);
                self.by("integer-ring");
                self.of_sum(dtype, out)
            }
            (Op::Shl, [a, b]) => {
                let bits = i64::from(width(dtype).unwrap_or(0));
                if self.number(*b).is_none() {
                    // By an integer that is a number of bits it is a product with that power of two.
                    self.integers_of(*b).filter(|(low, high)| *low >= 0 && *high < bits)?;
                    let one = self.integer(dtype, 1)?;
                    if *a == one {
                        return self.raw(op, dtype, kids);
                    }
                    let power = self.raw(op, dtype, &[one, *b])?;
                    return self.integer_op(Op::Mul, dtype, &[*a, power]);
                }
                let by = self.number(*b).filter(|n| *n >= 0 && *n < bits)?;
                let mut out = Sum::default();
                add(&mut out, &self.as_sum(*a)?, 1_i64.checked_shl(u32::try_from(by).ok()?)?);
                self.by("integer-ring");
                self.of_sum(dtype, out)
            }
            (Op::DivFloor, [a, b]) => self.divided_down(dtype, *a, *b),
            (Op::DivTrunc, [a, b]) => {
                let Some(by) = self.number(*b) else {
                    self.integers_of(*b).filter(|(low, _)| *low > 0)?;
                    return self.raw(op, dtype, kids);
                };
                if by < -1 && by > i64::MIN {
                    self.by("quotient-of-opposite");
                    let by = self.integer(dtype, by.checked_neg()?)?;
                    let over = self.integer_op(op, dtype, &[*a, by])?;
                    return self.integer_op(Op::Neg, dtype, &[over]);
                }
                if by < 1 {
                    return None;
                }
                match (dtype, by) {
                    (_, 1) => Some(*a),
                    (Dtype::U8, _) => self.divided_down(dtype, *a, *b),
                    _ if self.integers_of(*a).is_some_and(|(low, _)| low >= 0) => {
                        self.by("division-by-range");
                        self.divided_down(dtype, *a, *b)
                    }
                    _ => match self.divided_exactly(dtype, *a, by)? {
                        Some(over) => Some(over),
                        None if let Some((inner, both)) = self.cut_by_both(dtype, *a, by) => {
                            self.by("divisions-compose");
                            let both = self.integer(dtype, both)?;
                            self.integer_op(op, dtype, &[inner, both])
                        }
                        None if self.is_opposite_of_sum(*a) && self.is_above_least(dtype, *a) => {
                            self.by("quotient-of-opposite");
                            let plus = self.integer_op(Op::Neg, dtype, &[*a])?;
                            let over = self.integer_op(op, dtype, &[plus, *b])?;
                            self.integer_op(Op::Neg, dtype, &[over])
                        }
                        None => self.raw(op, dtype, kids),
                    },
                }
            }
            (Op::Rem, [a, b]) => {
                if let Some(size) = self.whole_size(dtype, *b) {
                    self.by("remainder-by-quotient");
                    let at = self.data_index(*a)?;
                    let left = self.remainder(at, size)?;
                    return self.index_value(dtype, left);
                }
                if self.number(*b).is_none_or(|n| n <= 0) {
                    self.integers_of(*b).filter(|(low, _)| *low > 0)?;
                }
                self.by("remainder-by-quotient");
                if let (Form::Index(at), Some(by), Dtype::I64) = (self.expr(*a)?.form.clone(), self.number(*b), dtype) {
                    let left = self.remainder(at, Dim::Fixed(by))?;
                    return self.index_value(dtype, left);
                }
                let a = match self.number(*b).filter(|by| *by > 1 && by.count_ones() == 1) {
                    Some(by) => self.lowest_bits(dtype, *a, by)?.unwrap_or(*a),
                    None => *a,
                };
                let quotient = self.divided_down(dtype, a, *b)?;
                let multiple = self.integer_op(Op::Mul, dtype, &[quotient, *b])?;
                self.integer_op(Op::Sub, dtype, &[a, multiple])
            }
            (Op::And | Op::Or | Op::Xor, [a, b]) => {
                let kids = [*a.min(b), *a.max(b)];
                match (op, a == b) {
                    (Op::Xor, true) => self.integer(dtype, 0),
                    (_, true) => Some(*a),
                    _ => match self.bits_apart(op, dtype, *a, *b)? {
                        Some(found) => Some(found),
                        None => self.raw(op, dtype, &kids),
                    },
                }
            }
            (Op::Shr, [a, b]) => {
                let bits = i64::from(width(dtype).unwrap_or(0));
                if self.number(*b).is_none() {
                    // By an integer that is a number of bits.
                    self.integers_of(*b).filter(|(low, high)| *low >= 0 && *high < bits)?;
                    return self.raw(op, dtype, kids);
                }
                let by = self.number(*b).filter(|n| *n >= 0 && *n < bits)?;
                let divisor = 1_i64.checked_shl(u32::try_from(by).ok()?).filter(|by| *by > 0);
                let is_index = dtype == Dtype::I64 && matches!(self.expr(*a)?.form, Form::Index(_));
                if let Some(by) = divisor.filter(|_| is_index) {
                    let by = self.integer(dtype, by)?;
                    return self.divided_down(dtype, *a, by);
                }
                if let Some(by) = divisor
                    && let Some(over) = self.divided_by_range(dtype, *a, by)?
                {
                    return Some(over);
                }
                if let Some(by) = divisor
                    && let Some(over) = self.rounded_up(dtype, *a, by)?
                {
                    return Some(over);
                }
                if let Some(by) = divisor.filter(|by| *by > 1 && wrapped(dtype, *by) == Some(*by))
                    && let Some((inner, first)) = self.quotient_by_number(*a)
                    && let Some(both) = first.checked_mul(by).filter(|both| wrapped(dtype, *both) == Some(*both))
                {
                    self.by("divisions-compose");
                    let both = self.integer(dtype, both)?;
                    return self.divided_down(dtype, inner, both);
                }
                self.raw(op, dtype, kids)
            }
            (Op::Round, [a]) => Some(*a),
            // Without a sign there is nothing to take away.
            (Op::Abs, [a]) if dtype == Dtype::U8 => Some(*a),
            (Op::Abs, [a]) => {
                let minus = self.integer_op(Op::Neg, dtype, &[*a])?;
                match self.sign_of(*a, minus)? {
                    Some(true) => Some(*a),
                    Some(false) => Some(minus),
                    None => self.raw(op, dtype, &[minus.min(*a)]),
                }
            }
            _ => self.raw(op, dtype, kids),
        }
    }

    /// Whether every product of a sum has a factor below 0.
    fn is_opposite_of_sum(&self, x: ExprId) -> bool {
        matches!(self.expr(x).map(|e| &e.form), Some(Form::Poly(all)) if all.iter().all(|(_, factor)| *factor < 0))
    }

    /// Whether an integer surely is not the least of its dtype, which is its own opposite.
    fn is_above_least(&mut self, dtype: Dtype, x: ExprId) -> bool {
        self.integers_of(x).zip(ends(dtype)).is_some_and(|((low, _), (least, _))| low > least)
    }

    /// Returns whether an integer surely is at least 0, or at most 0, given its negative too.
    fn sign_of(&mut self, a: ExprId, minus: ExprId) -> Option<Option<bool>> {
        if let Some((low, high)) = self.integers_of(a)
            && (low >= 0 || high <= 0)
        {
            return Some(Some(low >= 0));
        }
        for (x, sign) in [(a, true), (minus, false)] {
            if let Some(at) = self.index_of_value(x)
                && self.at_least_zero(at) == Some(true)
            {
                return Some(Some(sign));
            }
        }
        Some(None)
    }

    /// The size, a symbol that is at least 1, that an integer is.
    fn whole_size(&self, dtype: Dtype, x: ExprId) -> Option<Dim> {
        let size = self.size_of_index(x).filter(|size| size.fixed().is_none() && dtype == Dtype::I64)?;
        self.at_most(Dim::Fixed(1), size).then_some(size)
    }

    /// Returns what is divided by a number above 1 and cut, where it is divided by another one and cut again, and the product of both.
    fn cut_by_both(&self, dtype: Dtype, a: ExprId, by: i64) -> Option<(ExprId, i64)> {
        let (Op::DivTrunc, [inner, first]) = self.op_of(a)? else { return None };
        let both = self.number(*first).filter(|n| *n > 1)?.checked_mul(by)?;
        (wrapped(dtype, both) == Some(both)).then_some((*inner, both))
    }

    /// Returns what a sum that surely does not wrap around is a multiple of, by a size.
    fn multiple_of_size(&mut self, dtype: Dtype, a: ExprId, size: ExprId) -> Option<Option<ExprId>> {
        if self.whole_size(dtype, size).is_none() || self.integers_of(a).is_none() {
            return Some(None);
        }
        let mut over = Sum::default();
        for (mut product, factor) in self.as_sum(a)? {
            let Some(at) = product.iter().position(|kid| *kid == size) else { return Some(None) };
            product.remove(at);
            over.insert(product, factor);
        }
        self.of_sum(dtype, over).map(Some)
    }

    fn divided_down(&mut self, dtype: Dtype, a: ExprId, b: ExprId) -> Option<ExprId> {
        let Some(by) = self.number(b) else {
            if let (Form::Index(at), Some(size)) = (self.expr(a)?.form.clone(), self.whole_size(dtype, b)) {
                self.by("quotient-of-index");
                let over = self.quotient(at, size)?;
                return self.index_value(dtype, over);
            }
            if let Some(over) = self.multiple_of_size(dtype, a, b)? {
                self.by("divisions-compose");
                return Some(over);
            }
            self.integers_of(b).filter(|(low, _)| *low > 0)?;
            return self.raw(Op::DivFloor, dtype, &[a, b]);
        };
        if by < 1 {
            return None;
        }
        if by == 1 {
            return Some(a);
        }
        if let (Form::Index(at), Dtype::I64) = (self.expr(a)?.form.clone(), dtype) {
            self.by("quotient-of-index");
            let over = self.quotient(at, Dim::Fixed(by))?;
            return self.index_value(dtype, over);
        }
        if let Some(over) = self.divided_by_range(dtype, a, by)? {
            return Some(over);
        }
        if let Some(up) = self.rounded_up(dtype, a, by)? {
            return Some(up);
        }
        if let Some((inner, first)) = self.quotient_by_number(a)
            && let Some(both) = first.checked_mul(by).filter(|both| wrapped(dtype, *both) == Some(*both))
        {
            self.by("divisions-compose");
            let both = self.integer(dtype, both)?;
            return self.divided_down(dtype, inner, both);
        }
        if by.count_ones() == 1 {
            self.by("division-is-shift");
            let bits = self.integer(dtype, i64::from(by.trailing_zeros()))?;
            return self.raw(Op::Shr, dtype, &[a, bits]);
        }
        self.raw(Op::DivFloor, dtype, &[a, b])
    }
}

impl Elements {
    /// Bits of numbers that have none in common are added; the lowest bits of a sum of multiples of what stands above them are the rest's.
    fn bits_apart(&mut self, op: Op, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        for (x, y) in [(a, b), (b, a)] {
            if op == Op::And {
                let Some(by) = self.number(y).and_then(|n| n.checked_add(1)).filter(|n| *n > 1 && n.count_ones() == 1)
                else {
                    continue;
                };
                let Some(over) = self.divided_by_range(dtype, x, by)? else {
                    let sum = matches!(self.expr(x)?.form, Form::Poly(_)) && wrapped(dtype, by) == Some(by);
                    if !sum {
                        continue;
                    }
                    let Some(low) = self.lowest_bits(dtype, x, by)? else { continue };
                    let by = self.integer(dtype, by)?;
                    return self.integer_op(Op::Rem, dtype, &[low, by]).map(Some);
                };
                let by = self.integer(dtype, by)?;
                let multiple = self.integer_op(Op::Mul, dtype, &[over, by])?;
                return self.integer_op(Op::Sub, dtype, &[x, multiple]).map(Some);
            }
            let Some((low, high)) = self.integers_of(y) else { continue };
            let most = u64::try_from(high).ok().filter(|_| low >= 0);
            let above = most.and_then(|m| m.checked_add(1)?.checked_next_power_of_two());
            let Some(above) = above.and_then(|n| i64::try_from(n).ok()) else { continue };
            let multiple = |f: &i64| f.checked_rem(above) == Some(0);
            if self.number(x).is_none() && self.as_sum(x)?.values().all(multiple) {
                self.by("bits-apart");
                return self.integer_op(Op::Add, dtype, &[x, y]).map(Some);
            }
        }
        Some(None)
    }

    /// `-x / n`, rounded down, is `-((x + n - 1) / n)`, where neither wraps around: a sum of which all is subtracted.
    fn rounded_up(&mut self, dtype: Dtype, a: ExprId, by: i64) -> Option<Option<ExprId>> {
        let sum = self.as_sum(a)?;
        let mut moved = sum.iter().filter(|(product, _)| !product.is_empty()).peekable();
        if moved.peek().is_none() || !moved.all(|(_, factor)| *factor < 0) || self.integers_of(a).is_none() {
            return Some(None);
        }
        let mut opposite = Sum::default();
        add(&mut opposite, &sum, -1);
        let before = opposite.entry(Product::new()).or_insert(0);
        *before = before.checked_add(by.checked_sub(1)?)?;
        let opposite = self.of_sum(dtype, opposite)?;
        if self.integers_of(opposite).is_none() {
            return Some(None);
        }
        self.by("division-by-range");
        let by = self.integer(dtype, by)?;
        let over = self.divided_down(dtype, opposite, by)?;
        self.integer_op(Op::Neg, dtype, &[over]).map(Some)
    }

    /// A sum of multiples of the divisor alone, which surely does not wrap around: however it is rounded.
    fn divided_exactly(&mut self, dtype: Dtype, a: ExprId, by: i64) -> Option<Option<ExprId>> {
        let sum = self.as_sum(a)?;
        if sum.values().any(|factor| factor.checked_rem(by) != Some(0)) || self.integers_of(a).is_none() {
            return Some(None);
        }
        self.by("division-by-range");
        let over = sum.into_iter().map(|(product, factor)| Some((product, factor.checked_div(by)?)));
        let over = over.collect::<Option<Sum>>()?;
        self.of_sum(dtype, over).map(Some)
    }

    /// Multiples of a number, none of which wraps around, divided by another multiple of it: both are divided by that number.
    fn divided_by_less(&mut self, dtype: Dtype, a: ExprId, by: i64) -> Option<Option<ExprId>> {
        let sum = self.as_sum(a)?;
        let mut common = by;
        for factor in sum.values() {
            let mut other = *factor;
            while other != 0 {
                (common, other) = (other, common.checked_rem(other)?);
            }
        }
        let common = common.checked_abs()?;
        if common < 2 || common == by || sum.is_empty() {
            return Some(None);
        }
        self.by("division-by-range");
        let over = sum.into_iter().map(|(product, factor)| Some((product, factor.checked_div(common)?)));
        let over = over.collect::<Option<Sum>>()?;
        let over = self.of_sum(dtype, over)?;
        let divisor = self.integer(dtype, by.checked_div(common)?)?;
        self.divided_down(dtype, over, divisor).map(Some)
    }

    /// A sum of multiples of the divisor and a rest, none of which wraps around: the multiples are divided, the rest, too, which is 0 where it is less than the divisor.
    fn divided_by_range(&mut self, dtype: Dtype, a: ExprId, by: i64) -> Option<Option<ExprId>> {
        let Some((low, high)) = self.integers_of(a) else { return Some(None) };
        let over = low.checked_div_euclid(by)?;
        if over == high.checked_div_euclid(by)? {
            self.by("division-by-range");
            return self.integer(dtype, over).map(Some);
        }
        if let Some(found) = self.divided_by_less(dtype, a, by)? {
            return Some(Some(found));
        }
        let (mut over, mut rest) = (Sum::default(), Sum::default());
        for (product, factor) in self.as_sum(a)? {
            match factor.checked_rem(by)? {
                0 => over.insert(product, factor.checked_div(by)?),
                _ => rest.insert(product, factor),
            };
        }
        if let Some(number) = rest.get_mut(&Product::new()) {
            let whole = number.checked_div_euclid(by)?;
            *number = number.checked_rem_euclid(by)?;
            if whole != 0 {
                let sum = over.entry(Product::new()).or_insert(0);
                *sum = sum.checked_add(whole)?;
            }
        }
        let rest = self.of_sum(dtype, rest)?;
        // What is left of a number by a multiple of the divisor is a sum that does not wrap around, whatever the number is.
        let known = self.integers_of(rest);
        if known.is_none() && !self.is_left_by(a, by) {
            return Some(None);
        }
        if known.is_none_or(|(low, high)| low < 0 || high >= by) {
            if over.is_empty() {
                return Some(None);
            }
            let divisor = self.integer(dtype, by)?;
            let left = self.divided_down(dtype, rest, divisor)?;
            add(&mut over, &self.as_sum(left)?, 1);
        }
        self.by("division-by-range");
        self.of_sum(dtype, over).map(Some)
    }
}

impl Elements {
    /// Returns a sum that leaves the same, divided by a power of two: each factor as near to 0 as may be, and nothing masked of which the lowest bits are left; `None`
    /// within where nothing is masked in a sum that does not wrap around.
    fn lowest_bits(&mut self, dtype: Dtype, x: ExprId, by: i64) -> Option<Option<ExprId>> {
        let (low, mut masked) = (by.checked_sub(1)?, false);
        let mut out = Sum::default();
        for (product, factor) in self.as_sum(x)? {
            let mut term = Sum::default();
            term.insert(Product::new(), factor);
            for mut kid in product {
                while let Some((Op::And, &[p, q])) = self.op_of(kid).filter(|_| self.dtype(kid) == Some(dtype)) {
                    let keeps = |mask: Option<i64>| mask.is_some_and(|m| m & low == low);
                    kid = match (keeps(self.number(p)), keeps(self.number(q))) {
                        (true, _) => q,
                        (_, true) => p,
                        _ => break,
                    };
                    masked = true;
                }
                term = multiplied(&term, &self.as_sum(kid)?)?;
            }
            add(&mut out, &term, 1);
        }
        let known = self.integers_of(x);
        if known.is_some_and(|(least, most)| !masked || least >= 0 && most < by) {
            return Some(None);
        }
        for factor in out.values_mut() {
            let left = factor.checked_rem_euclid(by)?;
            *factor = if left > by.checked_sub(left)? { left.checked_sub(by)? } else { left };
        }
        let found = self.of_sum(dtype, out)?;
        if found != x {
            self.by("lowest-bits");
        }
        Some(Some(found))
    }

    /// Whether one integer is less than another, by what sums that surely do not wrap around do not have in common: without a factor of all, each part on
    /// the side on which it is added, and the number where it is not negative; `None` where that is how they stand.
    pub(super) fn less_by_parts(&mut self, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        let sum = |e: &Self, x: ExprId| e.expr(x).is_some_and(|e| matches!(e.form, Form::Poly(_)));
        if !sum(self, a) && !sum(self, b) || self.integers_of(a).is_none() || self.integers_of(b).is_none() {
            return Some(None);
        }
        // What a division leaves is asked for as it is.
        let divides = |e: &Self, x: ExprId| {
            let kids = e.expr(x).map(|e| e.kids.as_slice()).unwrap_or_default();
            kids.iter().any(|k| matches!(e.op_of(*k), Some((Op::DivFloor | Op::DivTrunc, _))))
        };
        if divides(self, a) || divides(self, b) {
            return Some(None);
        }
        let mut over = self.as_sum(b)?;
        for (product, factor) in self.as_sum(a)? {
            let place = over.entry(product).or_insert(0);
            let Some(left) = place.checked_sub(factor) else { return Some(None) };
            *place = left;
        }
        over.retain(|_, factor| *factor != 0);
        let number = over.remove(&Product::new()).unwrap_or(0);
        if over.is_empty() {
            self.by("compare-sums");
            return self.truth(number > 0).map(Some);
        }
        let factor = over.values().fold(0, |g, v| crate::sym::gcd(g, v.unsigned_abs()));
        let Some(factor) = i64::try_from(factor).ok().filter(|f| *f > 0) else { return Some(None) };
        // The rest is above this number, an integer as it is.
        let Some(least) = number.checked_neg().and_then(|n| n.checked_div_euclid(factor)) else { return Some(None) };
        let (mut more, mut less) = (Sum::default(), Sum::default());
        for (product, by) in over {
            let by = by.checked_div(factor)?;
            let Some(size) = by.checked_abs().filter(|size| wrapped(dtype, *size) == Some(*size)) else {
                return Some(None);
            };
            if by > 0 {
                more.insert(product, size)
            } else {
                less.insert(product, size)
            };
        }
        let alone = more.is_empty() || less.is_empty();
        let turned = !alone && least < 0;
        let (mut below, mut above) = if turned { (more, less) } else { (less, more) };
        let ends = match (turned, above.is_empty()) {
            (true, _) => (least.checked_neg()?.checked_sub(1)?, 0),
            (_, true) => (0, least.checked_neg()?),
            _ => (least, 0),
        };
        for (side, number) in [(&mut below, ends.0), (&mut above, ends.1)] {
            if wrapped(dtype, number) != Some(number) {
                return Some(None);
            }
            side.insert(Product::new(), number);
        }
        let (below, above) = (self.of_sum(dtype, below)?, self.of_sum(dtype, above)?);
        if (below, above) == (a, b) || self.integers_of(below).is_none() || self.integers_of(above).is_none() {
            return Some(None);
        }
        self.by("compare-sums");
        let found = self.compared(Op::Lt, below, above)?;
        if turned { self.op(Op::Not, Dtype::Bool, &[found]).map(Some) } else { Some(Some(found)) }
    }

    /// The greater (lesser) of two sums that surely do not wrap around is that of what they do not have in common, and what they have.
    pub(super) fn bound_by_parts(&mut self, op: Op, dtype: Dtype, a: ExprId, b: ExprId) -> Option<Option<ExprId>> {
        if self.number(a).is_some() || self.number(b).is_some() {
            return Some(None);
        }
        let (mut first, mut second) = (self.as_sum(a)?, self.as_sum(b)?);
        let common: Sum =
            first.iter().filter(|(p, f)| second.get(*p) == Some(*f)).map(|(p, f)| (p.clone(), *f)).collect();
        if common.is_empty() || self.integers_of(a).is_none() || self.integers_of(b).is_none() {
            return Some(None);
        }
        first.retain(|p, _| !common.contains_key(p));
        second.retain(|p, _| !common.contains_key(p));
        let (first, second) = (self.of_sum(dtype, first)?, self.of_sum(dtype, second)?);
        if self.integers_of(first).is_none() || self.integers_of(second).is_none() {
            return Some(None);
        }
        self.by("bound-of-sums");
        let bound = self.op(op, dtype, &[first, second])?;
        let common = self.of_sum(dtype, common)?;
        self.integer_op(Op::Add, dtype, &[bound, common]).map(Some)
    }

    /// Whether an integer is what a division of another by a multiple of this divisor leaves.
    fn is_left_by(&self, a: ExprId, by: i64) -> bool {
        let Some(Expr { form: Form::Poly(products), kids, .. }) = self.expr(a) else { return false };
        self.remainder_by(products, kids).is_some_and(|first| first.checked_rem(by) == Some(0))
    }
}

fn add(to: &mut Sum, more: &Sum, factor: i64) {
    for (product, by) in more {
        let place = to.entry(product.clone()).or_insert(0);
        *place = place.wrapping_add(by.wrapping_mul(factor));
    }
}

fn multiplied(a: &Sum, b: &Sum) -> Option<Sum> {
    let mut out = Sum::default();
    if a.len().saturating_mul(b.len()) > MOST {
        return None;
    }
    for (x, f) in a {
        for (y, g) in b {
            let mut product: Product = x.iter().chain(y).copied().collect();
            product.sort_unstable();
            let place = out.entry(product).or_insert(0);
            *place = place.wrapping_add(f.wrapping_mul(*g));
        }
    }
    Some(out)
}
