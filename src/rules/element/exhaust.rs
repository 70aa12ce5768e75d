//! All values, where what stands in two expressions has few bits.
//!
//! ## What it says
//! Elements of at most 16 bits all in all (a float or an integer of 16, two of 8, truths, an integer or a float of which the host says that it is one of so many)
//! are each of their values in turn; two expressions of them that agree for all of these, bit by bit, are equal.
//!
//! ## When it is wrong
//! Only what every device computes alike is computed: sums, differences, products, quotients and roots, each rounded once, conversions, comparisons,
//! choices, bounds, integers and bits. A zero of either sign that a bound may give, a conversion to an integer that does not hold the number, a shift by
//! more than there is, a quotient by 0, and the bits of a NaN that was computed are nobody's: where one is met, nothing is shown. Nor is a number looked at
//! that a narrow float does not hold: what a product by 1.001 rounds away is a step that another device may take.

use half::{bf16, f16};
use rustc_hash::FxHashMap;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::element::cast::round;
use crate::rules::element::make::{ends, width, wrapped};
use crate::rules::table::{FLOOR, Real, real};

/// How many values all elements together may have.
const VALUES: u64 = 1 << 16;
/// How many are looked at together.
const TOGETHER: u64 = 1 << 12;
/// How many expressions two ends may be made of.
const MOST: usize = 96;
/// How much work as many values of one expression are.
const WORK: usize = 64;

/// Values of one expression, one for each of what its elements are.
enum Column {
    /// Integers and truths.
    Whole(Vec<i64>),
    /// Floats, each one of its dtype.
    Float(Vec<f64>),
}

/// An element that is each of its values in turn.
struct Leaf {
    id: ExprId,
    dtype: Dtype,
    /// The first value: an integer, or bits.
    first: i64,
    count: u64,
    /// After how many it is the next one.
    stride: u64,
    /// The floats of which it is one, where the host lists them.
    listed: Option<Box<[f64]>>,
}

impl Elements {
    /// Whether two expressions agree for all values of what stands in them, which are few.
    pub fn equal_exhausted(&mut self, a: ExprId, b: ExprId) -> bool {
        let Some(all) = self.order_of(a, b) else { return false };
        let Some((leaves, values)) = self.leaves(&all) else { return false };
        let work = all.len().saturating_mul(WORK);
        if self.spend(work).is_none() {
            return false;
        }
        let mut from = 0_u64;
        while from < values {
            let to = from.saturating_add(TOGETHER).min(values);
            if self.agree_on(&all, &leaves, from..to, (a, b)) != Some(true) {
                return false;
            }
            from = to;
        }
        // Of integers alone nothing is a NaN.
        let floats = all.iter().any(|id| self.dtype(*id).is_some_and(Dtype::is_float));
        if floats {
            self.by("exhausted");
        } else {
            self.by("exhausted-integers");
        }
        true
    }

    /// Everything below two expressions, children first; `None` where that is much.
    fn order_of(&self, a: ExprId, b: ExprId) -> Option<Vec<ExprId>> {
        let mut all = self.below(a);
        all.extend(self.below(b));
        all.sort_unstable();
        all.dedup();
        (all.len() <= MOST).then_some(all)
    }

    /// The elements among them, and how many values they have together.
    fn leaves(&self, all: &[ExprId]) -> Option<(Vec<Leaf>, u64)> {
        let mut out: Vec<Leaf> = Vec::new();
        let mut values = 1_u64;
        for id in all {
            let expr = self.expr(*id)?;
            let Form::Load(source, _) = &expr.form else { continue };
            let listed = self.listed.get(source).filter(|_| expr.dtype.is_float());
            let (first, count) = match (expr.dtype, self.between.get(source)) {
                _ if let Some(all) = listed => (0, u64::try_from(all.len()).ok()?),
                (Dtype::Bool, _) => (0, 2),
                (dtype, Some((low, high))) if width(dtype).is_some() => {
                    (*low, u64::try_from(high.checked_sub(*low)?).ok()?.checked_add(1)?)
                }
                (dtype @ (Dtype::I8 | Dtype::U8 | Dtype::I16), None) => {
                    (ends(dtype)?.0, 1_u64.checked_shl(width(dtype)?)?)
                }
                (Dtype::F16 | Dtype::Bf16, _) => (0, VALUES),
                _ => return None,
            };
            out.push(Leaf { id: *id, dtype: expr.dtype, first, count, stride: values, listed: listed.cloned() });
            values = values.checked_mul(count).filter(|n| *n <= VALUES)?;
        }
        (!out.is_empty()).then_some((out, values))
    }

    /// Whether both are equal for these values; `None` where something is nobody's.
    fn agree_on(
        &self,
        all: &[ExprId],
        leaves: &[Leaf],
        values: std::ops::Range<u64>,
        (a, b): (ExprId, ExprId),
    ) -> Option<bool> {
        let mut made: FxHashMap<ExprId, Column> = FxHashMap::default();
        for id in all {
            let expr = self.expr(*id)?;
            let column = match leaves.iter().find(|leaf| leaf.id == *id) {
                Some(leaf) => leaf.column(values.clone())?,
                None => self.column(expr, &made, leaves, values.clone())?,
            };
            made.insert(*id, column);
        }
        Some(match (made.get(&a)?, made.get(&b)?) {
            (Column::Whole(x), Column::Whole(y)) => x == y,
            (Column::Float(x), Column::Float(y)) => {
                x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
            }
            _ => false,
        })
    }

    fn column(
        &self,
        expr: &Expr,
        made: &FxHashMap<ExprId, Column>,
        leaves: &[Leaf],
        values: std::ops::Range<u64>,
    ) -> Option<Column> {
        let count = usize::try_from(values.end.checked_sub(values.start)?).ok()?;
        let kids: Vec<&Column> = expr.kids.iter().map(|k| made.get(k)).collect::<Option<_>>()?;
        let dtype = expr.dtype;
        match (&expr.form, kids.as_slice()) {
            (Form::Const(v), _) if dtype.is_float() => {
                Some(Column::Float(vec![f64::from_bits(v.cast_unsigned()); count]))
            }
            (Form::Const(v), _) => Some(Column::Whole(vec![*v; count])),
            (Form::Op(Op::Bits), [of]) => {
                // The bits of an element that is any are what was counted.
                let is_own = |leaf: &&Leaf| expr.kids.first() == Some(&leaf.id) && leaf.listed.is_none();
                let own = leaves.iter().find(is_own);
                match own {
                    Some(leaf) => of_bits(dtype, leaf.dtype, &leaf.bits(values)),
                    None => of_bits(
                        dtype,
                        self.dtype(*expr.kids.first()?)?,
                        &bits_of(of, self.dtype(*expr.kids.first()?)?)?,
                    ),
                }
            }
            (Form::Op(Op::Cast), [Column::Whole(x)]) => cast_whole(dtype, x),
            (Form::Op(Op::Cast), [Column::Float(x)]) => cast_float(dtype, x),
            (Form::Op(Op::Choose), [Column::Whole(c), x, y]) => chosen(c, x, y),
            (Form::Op(op), [Column::Whole(x)]) => each(x, |x| whole_of_one(*op, dtype, x)).map(Column::Whole),
            (Form::Op(op), [Column::Float(x)]) => each(x, |x| float_of_one(*op, x)).map(Column::Float),
            (Form::Op(op @ (Op::Lt | Op::Le | Op::Eq)), [Column::Float(x), Column::Float(y)]) => {
                pairs(x, y, |x, y| compared(*op, x, y)).map(Column::Whole)
            }
            (Form::Op(op), [Column::Whole(x), Column::Whole(y)]) => {
                pairs(x, y, |x, y| whole_of_two(*op, dtype, x, y)).map(Column::Whole)
            }
            (Form::Op(op), [Column::Float(x), Column::Float(y)]) => {
                pairs(x, y, |x, y| float_of_two(*op, dtype, x, y)).map(Column::Float)
            }
            (Form::Poly(products), kids) => poly(dtype, products, kids, count),
            (Form::Named(target, _), [Column::Float(x)]) if **target == *FLOOR => {
                Some(Column::Float(x.iter().map(|v| v.floor()).collect()))
            }
            (Form::Named(target, _), [Column::Float(x)]) if real(target) == Some(Real::Sqrt) => {
                each(x, |v| round(dtype, v.sqrt())).map(Column::Float)
            }
            _ => None,
        }
    }
}

impl Leaf {
    fn places(&self, values: std::ops::Range<u64>) -> impl Iterator<Item = i64> + '_ {
        values.map(|n| {
            let place = n.checked_div(self.stride).and_then(|n| n.checked_rem(self.count)).unwrap_or(0);
            self.first.saturating_add(i64::try_from(place).unwrap_or(0))
        })
    }

    fn bits(&self, values: std::ops::Range<u64>) -> Vec<i64> {
        self.places(values).collect()
    }

    fn column(&self, values: std::ops::Range<u64>) -> Option<Column> {
        let places = self.bits(values);
        if let Some(all) = &self.listed {
            let number = |place: i64| round(self.dtype, *all.get(usize::try_from(place).ok()?)?);
            return each(&places, number).map(Column::Float);
        }
        if self.dtype.is_float() { of_bits(self.dtype, self.dtype, &places) } else { Some(Column::Whole(places)) }
    }
}

fn each<X: Copy, Y>(x: &[X], f: impl Fn(X) -> Option<Y>) -> Option<Vec<Y>> {
    x.iter().map(|x| f(*x)).collect()
}

fn pairs<X: Copy, Y>(x: &[X], y: &[X], f: impl Fn(X, X) -> Option<Y>) -> Option<Vec<Y>> {
    x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect()
}

fn chosen(c: &[i64], x: &Column, y: &Column) -> Option<Column> {
    fn of<T: Copy>(c: &[i64], x: &[T], y: &[T]) -> Vec<T> {
        c.iter().zip(x.iter().zip(y)).map(|(c, (x, y))| if *c != 0 { *x } else { *y }).collect()
    }
    match (x, y) {
        (Column::Whole(x), Column::Whole(y)) => Some(Column::Whole(of(c, x, y))),
        (Column::Float(x), Column::Float(y)) => Some(Column::Float(of(c, x, y))),
        _ => None,
    }
}

/// Values of a dtype that have these bits, of another of the same width.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn of_bits(to: Dtype, from: Dtype, bits: &[i64]) -> Option<Column> {
    let wide = |d: Dtype| {
        width(d).or(match d {
            Dtype::F16 | Dtype::Bf16 => Some(16),
            Dtype::F32 => Some(32),
            Dtype::F64 => Some(64),
            _ => None,
        })
    };
    (wide(to)? == wide(from)? && to != Dtype::Bool && from != Dtype::Bool).then_some(())?;
    Some(match to {
        Dtype::F16 => Column::Float(bits.iter().map(|b| f16::from_bits(*b as u16).to_f64()).collect()),
        Dtype::Bf16 => Column::Float(bits.iter().map(|b| bf16::from_bits(*b as u16).to_f64()).collect()),
        Dtype::F32 => Column::Float(bits.iter().map(|b| f64::from(f32::from_bits(*b as u32))).collect()),
        Dtype::F64 => Column::Float(bits.iter().map(|b| f64::from_bits(*b as u64)).collect()),
        _ => Column::Whole(each(bits, |b| wrapped(to, b))?),
    })
}

/// The bits of values of a dtype: of a NaN they are nobody's.
#[allow(clippy::cast_possible_truncation)]
fn bits_of(of: &Column, dtype: Dtype) -> Option<Vec<i64>> {
    match of {
        Column::Whole(x) => Some(x.clone()),
        Column::Float(x) => each(x, |v| match dtype {
            _ if v.is_nan() => None,
            Dtype::F16 => Some(i64::from(f16::from_f64(v).to_bits())),
            Dtype::Bf16 => Some(i64::from(bf16::from_f64(v).to_bits())),
            Dtype::F32 => Some(i64::from((v as f32).to_bits())),
            Dtype::F64 => Some(v.to_bits().cast_signed()),
            _ => None,
        }),
    }
}

#[allow(clippy::cast_precision_loss)]
fn cast_whole(to: Dtype, x: &[i64]) -> Option<Column> {
    if to.is_float() {
        // As native code does: rounded from the integer, not from what is nearest among wider floats.
        let one = |v: i64| match to {
            Dtype::F64 => Some(v as f64),
            _ => round(to, f64::from(v as f32)),
        };
        return each(x, one).map(Column::Float);
    }
    each(x, |v| wrapped(to, v)).map(Column::Whole)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn cast_float(to: Dtype, x: &[f64]) -> Option<Column> {
    if to.is_float() {
        return each(x, |v| round(to, v)).map(Column::Float);
    }
    let one = |v: f64| {
        if to == Dtype::Bool {
            return Some(i64::from(v != 0.0));
        }
        let (least, most) = ends(to)?;
        let cut = v.trunc();
        let held = cut >= least as f64 && (cut <= most as f64 && cut < 9.2e18);
        held.then_some(cut as i64)
    };
    each(x, one).map(Column::Whole)
}

fn compared(op: Op, x: f64, y: f64) -> Option<i64> {
    Some(i64::from(match op {
        Op::Lt => x < y,
        Op::Le => x <= y,
        Op::Eq => x == y,
        _ => return None,
    }))
}

fn whole_of_one(op: Op, dtype: Dtype, x: i64) -> Option<i64> {
    match op {
        Op::Not if dtype == Dtype::Bool => Some(i64::from(x == 0)),
        Op::Neg => wrapped(dtype, x.wrapping_neg()),
        Op::Abs => wrapped(dtype, x.wrapping_abs()),
        _ => None,
    }
}

fn float_of_one(op: Op, x: f64) -> Option<f64> {
    match op {
        Op::Neg => Some(-x),
        Op::Abs => Some(x.abs()),
        Op::Round => Some(x.round_ties_even()),
        _ => None,
    }
}

fn whole_of_two(op: Op, dtype: Dtype, x: i64, y: i64) -> Option<i64> {
    let shift = || u32::try_from(y).ok().filter(|n| width(dtype).is_some_and(|w| *n < w));
    match op {
        Op::Lt => Some(i64::from(x < y)),
        Op::Le => Some(i64::from(x <= y)),
        Op::Eq => Some(i64::from(x == y)),
        Op::And => Some(x & y),
        Op::Or => Some(x | y),
        Op::Xor => Some(x ^ y),
        Op::Max => Some(x.max(y)),
        Op::Min => Some(x.min(y)),
        _ if dtype == Dtype::Bool => None,
        Op::Add => wrapped(dtype, x.wrapping_add(y)),
        Op::Sub => wrapped(dtype, x.wrapping_sub(y)),
        Op::Mul => wrapped(dtype, x.wrapping_mul(y)),
        Op::Shl => wrapped(dtype, x.wrapping_shl(shift()?)),
        Op::Shr => wrapped(dtype, x.wrapping_shr(shift()?)),
        Op::DivTrunc => wrapped(dtype, x.checked_div(y)?).filter(|q| x.checked_div(y) == Some(*q)),
        Op::DivFloor => {
            let (quotient, rest) = (x.checked_div(y)?, x.checked_rem(y)?);
            let below = rest != 0 && (rest < 0) != (y < 0);
            let floor = quotient.checked_sub(i64::from(below))?;
            wrapped(dtype, floor).filter(|q| *q == floor)
        }
        Op::Rem => {
            let rest = x.checked_rem(y)?;
            Some(if rest != 0 && (rest < 0) != (y < 0) { rest.checked_add(y)? } else { rest })
        }
        _ => None,
    }
}

fn float_of_two(op: Op, dtype: Dtype, x: f64, y: f64) -> Option<f64> {
    let bound = |greater: bool| match () {
        () if x.is_nan() || y.is_nan() => Some(f64::NAN),
        // Which zero it is is the kernel's.
        () if x == y && x.to_bits() != y.to_bits() => None,
        () => Some(if (x > y) == greater { x } else { y }),
    };
    // What `round` makes of a result in `f64` is what one rounding makes of it: `f64` has more than twice the places, a narrow float is made of an `f32`.
    match op {
        Op::Add => round(dtype, x + y),
        Op::Sub => round(dtype, x - y),
        Op::Mul => round(dtype, x * y),
        Op::Div => round(dtype, x / y),
        Op::Max | Op::AtLeast => bound(true),
        Op::Min | Op::AtMost => bound(false),
        _ => None,
    }
}

/// A sum of products that wraps around: each takes so many of the operands, in order, and a factor.
fn poly(dtype: Dtype, products: &[(u32, i64)], kids: &[&Column], count: usize) -> Option<Column> {
    let mut sums = vec![0_i64; count];
    let mut rest = kids.iter();
    for (factors, by) in products {
        let mut product = vec![*by; count];
        for _ in 0..*factors {
            let Column::Whole(x) = rest.next()? else { return None };
            product.iter_mut().zip(x).for_each(|(p, x)| *p = p.wrapping_mul(*x));
        }
        sums.iter_mut().zip(&product).for_each(|(s, p)| *s = s.wrapping_add(*p));
    }
    each(&sums, |v| wrapped(dtype, v)).map(Column::Whole)
}
