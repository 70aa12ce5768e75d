//! Integers and truths bit by bit.
//!
//! ## What it says
//! Each bit of an expression is a function of the bits of what stands in it that has no bits of its own kind (elements, floats compared, products).
//! Functions are kept as ordered decision diagrams, of which each function has one: equal diagrams are equal bits for all inputs. A float of which
//! the host says that it is above 0 has no bit of sign; the highest bits of an integer that lies between few numbers are its sign.
//!
//! ## When it is wrong
//! Numbers wrap around at their width; shifts, quotients and remainders are those by numbers; a quotient rounds as its operator says.
//! What is not an integer, a truth or the bits of one is taken as it is. A diagram that grows too large shows nothing.

mod diagram;
mod vector;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::element::make::width;
use diagram::{Diagram, Ref};
use vector::Vector;

/// How many nodes diagrams may have.
const NODES: usize = 20_000;
/// How many values without bits of their own may stand in an expression.
const ATOMS: usize = 12;

struct Compiler {
    diagram: Diagram,
    atoms: Vec<(ExprId, Vector)>,
    done: FxHashMap<ExprId, Vector>,
}

impl Elements {
    /// Returns whether two integers or truths have the same bits for all inputs.
    pub(super) fn equal_bits(&mut self, a: ExprId, b: ExprId, calls: usize) -> bool {
        let Some(dtype) = self.dtype(a) else { return false };
        if width(dtype).is_none() || self.dtype(b) != Some(dtype) || !(self.has_bits(a) || self.has_bits(b)) {
            return false;
        }
        if !self.tried_bits.insert((a, b)) {
            return false;
        }
        let mut c = Compiler { diagram: Diagram::with_limit(NODES), atoms: Vec::new(), done: FxHashMap::default() };
        if self.spend(64).is_none() {
            return false;
        }
        let (x, y) = (self.compile(&mut c, a, calls), self.compile(&mut c, b, calls));
        // What a diagram costs counts, whether it showed something or not.
        let spent = self.spend(c.diagram.work());
        let equal = x.is_some() && x == y && spent.is_some();
        if equal {
            self.tried_bits.remove(&(a, b));
        }
        equal
    }

    fn has_bits(&self, x: ExprId) -> bool {
        self.expr(x).is_some_and(|e| self.is_made_of_bits(e) && !matches!(e.form, Form::Const(_)))
    }

    fn compile(&mut self, c: &mut Compiler, root: ExprId, calls: usize) -> Option<Vector> {
        let mut open = vec![(root, false)];
        while let Some((at, below_done)) = open.pop() {
            if c.done.contains_key(&at) {
                continue;
            }
            let expr = self.expr(at)?.clone();
            if !self.is_made_of_bits(&expr) {
                let atom = self.atom(c, at, expr.dtype, calls)?;
                c.done.insert(at, atom);
            } else if below_done {
                let made = self.combined(c, &expr, calls)?;
                c.done.insert(at, made);
            } else {
                open.push((at, true));
                open.extend(expr.kids.iter().map(|k| (*k, false)));
            }
        }
        c.done.get(&root).cloned()
    }

    fn atom(&mut self, c: &mut Compiler, at: ExprId, dtype: Dtype, calls: usize) -> Option<Vector> {
        for (known, bits) in c.atoms.clone() {
            if known == at || self.dtype(known) == Some(dtype) && self.congruent(known, at, calls) {
                return Some(bits);
            }
        }
        let number = c.atoms.len();
        let bits = bits_of(dtype).filter(|_| number < ATOMS)?;
        // A float above 0 has no sign.
        let unsigned = dtype.is_float() && self.floats_of(at).is_some_and(|(low, _)| low > 0.0);
        let vector = (0..bits)
            .map(|bit| {
                // The highest bits come first, those of all values beside one another.
                let level = 63_usize.checked_sub(bit as usize)?.checked_mul(ATOMS)?.checked_add(number)?;
                c.diagram.variable(u32::try_from(level).ok()?)
            })
            .collect::<Option<Vector>>()?;
        let vector =
            if unsigned { vector::with_top(&vector, Ref::FALSE)? } else { self.within_bounds(at, dtype, vector) };
        c.atoms.push((at, vector.clone()));
        Some(vector)
    }

    /// The highest bits of an integer are all that of its sign, as far as it lies between numbers that need no more.
    fn within_bounds(&mut self, at: ExprId, dtype: Dtype, bits: Vector) -> Vector {
        let Some((low, high)) = self.integers_of(at).filter(|_| width(dtype).is_some_and(|w| w > 1)) else {
            return bits;
        };
        let needed =
            [low, high].map(|v| 64_u32.saturating_sub(if v < 0 { v.leading_ones() } else { v.leading_zeros() }));
        let needed = needed.into_iter().max().unwrap_or(64) as usize;
        let sign = if low >= 0 { Ref::FALSE } else { *bits.last().unwrap_or(&Ref::FALSE) };
        let own = bits.iter().copied().take(needed);
        own.chain(std::iter::repeat(sign)).take(bits.len()).collect()
    }

    fn combined(&mut self, c: &mut Compiler, expr: &Expr, calls: usize) -> Option<Vector> {
        let kids: SmallVec<[Vector; 3]> = expr.kids.iter().map(|k| c.done.get(k).cloned()).collect::<Option<_>>()?;
        let bits = bits_of(expr.dtype)? as usize;
        let first = expr.kids.first().and_then(|k| self.dtype(*k)).unwrap_or(expr.dtype);
        let number = expr.kids.get(1).and_then(|k| self.number(*k));
        let d = &mut c.diagram;
        match (&expr.form, kids.as_slice()) {
            (Form::Const(v), _) => {
                let v = if expr.dtype.is_float() { float_bits(expr.dtype, *v)? } else { *v };
                Some(vector::constant(v, bits))
            }
            (Form::Poly(products), _) => self.poly(c, expr, products, bits, calls),
            (Form::Op(op), kids) => match (op, kids) {
                (Op::Not, [a]) => vector::map(d, a, Diagram::not),
                (Op::And, [a, b]) => vector::zip(d, a, b, Diagram::and),
                (Op::Or, [a, b]) => vector::zip(d, a, b, Diagram::or),
                (Op::Xor, [a, b]) => vector::zip(d, a, b, Diagram::xor),
                (Op::Shr, [a, _]) => vector::shifted_right(a, usize::try_from(number?).ok()?, is_signed(expr.dtype)),
                (Op::DivFloor | Op::DivTrunc, [a, _]) => {
                    vector::divided(d, a, number?, is_signed(expr.dtype), *op == Op::DivTrunc)
                }
                (Op::Choose, [p, a, b]) => vector::choose(d, *p.first()?, a, b),
                (Op::Lt, [a, b]) => vector::less(d, a, b, is_signed(first)).map(|r| vec![r]),
                (Op::Eq, [a, b]) => vector::equal(d, a, b).map(|r| vec![r]),
                (Op::Max | Op::Min, [a, b]) => {
                    let less = vector::less(d, a, b, is_signed(expr.dtype))?;
                    let (yes, no) = if *op == Op::Max { (b, a) } else { (a, b) };
                    vector::choose(d, less, yes, no)
                }
                (Op::Abs, [a]) if expr.dtype.is_float() => vector::with_top(a, Ref::FALSE),
                (Op::Neg, [a]) if expr.dtype.is_float() => {
                    let sign = d.not(*a.last()?)?;
                    vector::with_top(a, sign)
                }
                (Op::Abs, [a]) if !is_signed(expr.dtype) => Some(a.clone()),
                (Op::Abs, [a]) => {
                    let minus = vector::times(d, a, -1)?;
                    vector::choose(d, *a.last()?, &minus, a)
                }
                (Op::Cast, [a]) => vector::resized(a, bits, is_signed(first)),
                (Op::Bits, [a]) => Some(a.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    fn poly(
        &mut self,
        c: &mut Compiler,
        expr: &Expr,
        products: &[(u32, i64)],
        bits: usize,
        calls: usize,
    ) -> Option<Vector> {
        let mut total = vector::constant(0, bits);
        let mut kids = expr.kids.iter().copied();
        for (count, factor) in products {
            let taken: Vec<ExprId> = kids.by_ref().take(*count as usize).collect();
            let value = match taken.as_slice() {
                [] => vector::constant(1, bits),
                [one] => c.done.get(one)?.clone(),
                many => {
                    // A product of unknowns has no bits that are worth following: it is one unknown.
                    let product = self.sum_of_products(expr.dtype, &[(*count, 1)], many)?;
                    self.atom(c, product, expr.dtype, calls)?
                }
            };
            let part = vector::times(&mut c.diagram, &value, *factor)?;
            total = vector::sum(&mut c.diagram, &total, &part)?;
        }
        Some(total)
    }
}

fn bits_of(dtype: Dtype) -> Option<u32> {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => Some(16),
        Dtype::F32 => Some(32),
        Dtype::F64 => Some(64),
        _ => width(dtype),
    }
}

fn float_bits(dtype: Dtype, v: i64) -> Option<i64> {
    let v = f64::from_bits(v.cast_unsigned());
    #[allow(clippy::cast_possible_truncation)]
    let single = v as f32;
    Some(match dtype {
        Dtype::F64 => v.to_bits().cast_signed(),
        Dtype::F32 => i64::from(single.to_bits()),
        Dtype::F16 => i64::from(half::f16::from_f32(single).to_bits()),
        Dtype::Bf16 => i64::from(half::bf16::from_f32(single).to_bits()),
        _ => return None,
    })
}

fn is_signed(dtype: Dtype) -> bool {
    !matches!(dtype, Dtype::U8 | Dtype::Bool)
}

impl Elements {
    /// Whether an expression's bits follow from those of its children.
    fn is_made_of_bits(&self, e: &Expr) -> bool {
        let integer = |d: Option<Dtype>| d.is_some_and(|d| width(d).is_some());
        let of = |k: usize| e.kids.get(k).and_then(|k| self.dtype(*k));
        match &e.form {
            Form::Const(_) => bits_of(e.dtype).is_some(),
            Form::Poly(products) => products.iter().any(|(n, _)| *n <= 1) || products.len() > 1,
            Form::Op(op) => match op {
                Op::Not | Op::And | Op::Or | Op::Xor | Op::Max | Op::Min => integer(Some(e.dtype)),
                Op::DivFloor | Op::DivTrunc | Op::Shr => {
                    integer(Some(e.dtype)) && e.kids.get(1).is_some_and(|k| self.number(*k).is_some())
                }
                Op::Choose => integer(Some(e.dtype)),
                Op::Lt | Op::Eq => integer(of(0)),
                Op::Abs => integer(Some(e.dtype)) || bits_of(e.dtype).is_some(),
                Op::Neg => bits_of(e.dtype).is_some(),
                Op::Cast => integer(Some(e.dtype)) && integer(of(0)),
                Op::Bits => bits_of(e.dtype).is_some() && of(0).is_some_and(|d| bits_of(d).is_some()),
                _ => false,
            },
            _ => false,
        }
    }
}
