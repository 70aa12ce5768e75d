//! Arithmetic on numbers that are known, or symbolic, when the graph is raised.

use super::Undefined;
use super::build::{Build, round};
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
    /// The lesser.
    Min,
    /// The greater.
    Max,
}

impl Arithmetic {
    /// Returns the operator of numbers that computes it.
    pub fn target(self) -> &'static str {
        match self {
            Arithmetic::Add => "_operator.add",
            Arithmetic::Sub => "_operator.sub",
            Arithmetic::Mul => "_operator.mul",
            Arithmetic::FloorDiv => "_operator.floordiv",
            Arithmetic::Mod => "_operator.mod",
            Arithmetic::Pow => "_operator.pow",
            Arithmetic::Min => "torch.sym_min",
            Arithmetic::Max => "torch.sym_max",
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
            Arithmetic::Min => Some(a.min(b)),
            Arithmetic::Max => Some(a.max(b)),
        }
    }
}

/// Computes element by element with two lists of integers, one of which may be a single number; nothing where they are no integers, where one is spread
/// otherwise, or where the result's type does not hold what comes out: there it wraps.
pub fn both(b: &mut Build<'_>, op: Arithmetic, x: &Numbers, y: &Numbers) -> Result<Option<Value>, Undefined> {
    let whole = |n: &Numbers| n.dtype.is_integer() && !n.items.iter().any(|i| matches!(i, Arg::Float(_)));
    if !whole(x) || !whole(y) {
        return Ok(None);
    }
    let (shape, spread) = if x.dims.len() < y.dims.len() || x.items.len() < y.items.len() { (y, x) } else { (x, y) };
    // Each element beside its own, or beside the only one: whatever else is spread is no list.
    let padded = shape.dims.len().checked_sub(spread.dims.len()).and_then(|at| shape.dims.split_at_checked(at));
    let alike = padded.is_some_and(|(outer, inner)| outer.iter().all(|d| *d == 1) && inner == &*spread.dims);
    if !alike && (spread.only().is_none() || padded.is_none()) {
        return Ok(None);
    }
    let (dtype, mut items) = (wider(x.dtype, y.dtype), Vec::new());
    for i in 0..shape.items.len() {
        let (Some(p), Some(q)) = (x.only().or_else(|| x.items.get(i)), y.only().or_else(|| y.items.get(i))) else {
            return Ok(None);
        };
        items.push(match (p, q) {
            (Arg::Int(p), Arg::Int(q)) => match op.known(*p, *q) {
                Some(known) if holds(known, dtype) => Arg::Int(known),
                _ => return Ok(None),
            },
            _ => Arg::Node(b.call(op.target(), vec![p.clone(), q.clone()])?),
        });
    }
    Ok(Some(Value::Numbers(std::rc::Rc::new(Numbers { dtype, dims: shape.dims.clone(), items }))))
}

/// The same of single floats, one of which is made of a size: computed as Python does, where the graph that was lowered makes floats of sizes.
pub fn of_floats(b: &mut Build<'_>, op: Arithmetic, x: &Numbers, y: &Numbers) -> Result<Option<Value>, Undefined> {
    let (Some(p), Some(q)) = (x.only(), y.only()) else { return Ok(None) };
    let is_made = |item: &Arg| matches!(item, Arg::Node(_));
    let are_single = [x, y].iter().all(|n| n.dtype == Dtype::F32);
    if !are_single || !(is_made(p) || is_made(q)) || !b.calls(MADE_FLOAT) {
        return Ok(None);
    }
    let mut sides = Vec::with_capacity(2);
    for item in [p, q] {
        sides.push(match item {
            Arg::Node(size) if b.is_number(*size) => Arg::Node(b.call(MADE_FLOAT, vec![item.clone()])?),
            Arg::Float(held) => b.number(*held, Dtype::F32),
            other => other.clone(),
        });
    }
    b.assumed.insert("floats that are made of sizes are numbers of single precision".into());
    let (item, dims) = (Arg::Node(b.call(op.target(), sides)?), if x.dims.len() < y.dims.len() { y } else { x });
    let (dims, items) = (dims.dims.clone(), vec![item]);
    Ok(Some(Value::Numbers(std::rc::Rc::new(Numbers { dtype: Dtype::F32, dims, items }))))
}

/// Makes a float of a size.
const MADE_FLOAT: &str = "torch.sym_float";

/// Computes one number of a list of integers, from the first to the last.
pub fn folded(b: &mut Build<'_>, op: Arithmetic, known: &Numbers) -> Result<Option<Value>, Undefined> {
    let Some((first, rest)) = known.items.split_first().filter(|_| known.dims.len() == 1) else { return Ok(None) };
    let one = |item: &Arg| Numbers { dtype: known.dtype, dims: Vec::new(), items: vec![item.clone()] };
    let mut all = one(first);
    for item in rest {
        match both(b, op, &all, &one(item))? {
            Some(Value::Numbers(next)) => all = (*next).clone(),
            _ => return Ok(None),
        }
    }
    let is_whole = known.dtype.is_integer() && !matches!(all.items.as_slice(), [Arg::Float(_)]);
    Ok(is_whole.then(|| Value::Numbers(std::rc::Rc::new(all))))
}

/// Divides known integers by others, element by element, where nothing is left over.
pub fn divided(x: &Numbers, y: &Numbers) -> Option<Value> {
    let whole = |n: &Numbers| matches!(n.dtype, Dtype::I32 | Dtype::I64).then(|| n.ints())?;
    let (a, b) = (whole(x)?, whole(y)?);
    if x.dims != y.dims {
        return None;
    }
    let one = |(a, b): (&i64, &i64)| (a.checked_rem(*b)? == 0).then(|| a.checked_div(*b)).flatten().map(Arg::Int);
    let items = a.iter().zip(&b).map(one).collect::<Option<Vec<_>>>()?;
    let dtype = wider(x.dtype, y.dtype);
    Some(Value::Numbers(std::rc::Rc::new(Numbers { dtype, dims: x.dims.clone(), items })))
}

/// Sizes of 32 and of 64 bits are computed with side by side, as GE does with what it knows before the graph runs.
pub fn wider(a: Dtype, b: Dtype) -> Dtype {
    if a.bytes() >= b.bytes() { a } else { b }
}

/// Returns the numbers in another type: those that it holds, and floats rounded to it.
pub fn cast(known: &Numbers, dtype: Dtype) -> Option<Value> {
    // A size that was rounded to a float is not the size any more.
    let is_rounded = |i: &Arg| matches!(i, Arg::Node(_)) && !known.dtype.is_integer();
    if dtype != known.dtype && known.items.iter().any(is_rounded) {
        return None;
    }
    let items: Vec<Arg> = known.items.iter().map(|i| cast_one(i, dtype)).collect::<Option<_>>()?;
    Some(Value::Numbers(std::rc::Rc::new(Numbers { dtype, dims: known.dims.clone(), items })))
}

fn cast_one(item: &Arg, dtype: Dtype) -> Option<Arg> {
    match item {
        // Sizes are far below what 32 bits hold on a device; as a float of 32 bits one is rounded by whoever takes it.
        Arg::Node(_) => matches!(dtype, Dtype::I64 | Dtype::I32 | Dtype::F32).then(|| item.clone()),
        Arg::Int(v) if dtype.is_integer() => holds(*v, dtype).then_some(Arg::Int(*v)),
        // Up to there every integer is a number of single precision.
        Arg::Int(v) if v.unsigned_abs() <= 1 << 24 => round(f64::from(i32::try_from(*v).ok()?), dtype).map(Arg::Float),
        #[allow(clippy::cast_possible_truncation)] // Whole and small.
        Arg::Float(v) if dtype.is_integer() => {
            let whole = (v.fract() == 0.0 && v.abs() < 9e15).then_some(*v as i64)?;
            holds(whole, dtype).then_some(Arg::Int(whole))
        }
        Arg::Float(v) => round(*v, dtype).map(Arg::Float),
        _ => None,
    }
}

fn holds(v: i64, dtype: Dtype) -> bool {
    match dtype {
        Dtype::I64 => true,
        Dtype::I32 => i32::try_from(v).is_ok(),
        Dtype::I16 => i16::try_from(v).is_ok(),
        Dtype::I8 => i8::try_from(v).is_ok(),
        Dtype::U8 => u8::try_from(v).is_ok(),
        Dtype::U16 => u16::try_from(v).is_ok(),
        Dtype::U32 => u32::try_from(v).is_ok(),
        Dtype::U64 => v >= 0,
        _ => false,
    }
}
