//! Arithmetic on numbers that are known, or symbolic, when the graph is raised.

use super::Undefined;
use super::build::Build;
use super::value::{Numbers, Value};
use crate::graph::{Arg, Dtype};

/// What is computed of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// Their sum.
    Add,
    /// Their difference.
    Sub,
    /// Their product.
    Mul,
    /// The quotient, rounded down.
    FloorDiv,
    /// What that leaves, with the sign of the divisor.
    Mod,
    /// The power.
    Pow,
}

impl Arithmetic {
    fn target(self) -> &'static str {
        match self {
            Arithmetic::Add => "_operator.add",
            Arithmetic::Sub => "_operator.sub",
            Arithmetic::Mul => "_operator.mul",
            Arithmetic::FloorDiv => "_operator.floordiv",
            Arithmetic::Mod => "_operator.mod",
            Arithmetic::Pow => "_operator.pow",
        }
    }

    fn known(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Arithmetic::Add => a.checked_add(b),
            Arithmetic::Sub => a.checked_sub(b),
            Arithmetic::Mul => a.checked_mul(b),
            Arithmetic::FloorDiv => a.checked_div_euclid(b).filter(|_| b > 0),
            Arithmetic::Mod => a.checked_rem_euclid(b).filter(|_| b > 0),
            Arithmetic::Pow => a.checked_pow(u32::try_from(b).ok()?),
        }
    }
}

/// Computes element by element with two lists of integers, one of which may be a single number; nothing where they are no integers.
pub fn both(b: &mut Build<'_>, op: Arithmetic, x: &Numbers, y: &Numbers) -> Result<Option<Value>, Undefined> {
    let whole = |n: &Numbers| n.dtype.is_integer() && !n.items.iter().any(|i| matches!(i, Arg::Float(_)));
    if !whole(x) || !whole(y) {
        return Ok(None);
    }
    let shape = if x.items.len() == 1 && x.dims.len() <= y.dims.len() { y } else { x };
    if shape.items.len() != x.items.len().max(y.items.len())
        || (x.items.len() != y.items.len() && x.only().is_none() && y.only().is_none())
    {
        return Ok(None);
    }
    let mut items = Vec::new();
    for i in 0..shape.items.len() {
        let (Some(p), Some(q)) = (x.only().or_else(|| x.items.get(i)), y.only().or_else(|| y.items.get(i))) else {
            return Ok(None);
        };
        items.push(match (p, q) {
            (Arg::Int(p), Arg::Int(q)) => match op.known(*p, *q) {
                Some(known) => Arg::Int(known),
                None => return Ok(None),
            },
            _ => Arg::Node(b.call(op.target(), vec![p.clone(), q.clone()])?),
        });
    }
    Ok(Some(Value::Numbers(std::rc::Rc::new(Numbers {
        dtype: wider(x.dtype, y.dtype),
        dims: shape.dims.clone(),
        items,
    }))))
}

/// Sizes of 32 and of 64 bits are computed with side by side, as GE does with what it knows before the graph runs.
pub fn wider(a: Dtype, b: Dtype) -> Dtype {
    if a.bytes() >= b.bytes() { a } else { b }
}

/// Returns the numbers in another type, where that loses nothing.
pub fn cast(known: &Numbers, dtype: Dtype) -> Option<Value> {
    let fits = |i: &Arg| match i {
        Arg::Int(v) => match dtype {
            Dtype::I64 => Some(Arg::Int(*v)),
            Dtype::I32 => i32::try_from(*v).is_ok().then_some(Arg::Int(*v)),
            Dtype::I8 => i8::try_from(*v).is_ok().then_some(Arg::Int(*v)),
            Dtype::F32 | Dtype::F64 => (v.unsigned_abs() <= 1 << 24)
                .then(|| i32::try_from(*v).ok())
                .flatten()
                .map(|v| Arg::Float(f64::from(v))),
            _ => None,
        },
        // Sizes are far below what 32 bits hold on a device.
        Arg::Node(_) => matches!(dtype, Dtype::I64 | Dtype::I32).then(|| i.clone()),
        _ => None,
    };
    if !known.dtype.is_integer() {
        return None;
    }
    let items: Vec<Arg> = known.items.iter().map(fits).collect::<Option<_>>()?;
    Some(Value::Numbers(std::rc::Rc::new(Numbers { dtype, dims: known.dims.clone(), items })))
}
