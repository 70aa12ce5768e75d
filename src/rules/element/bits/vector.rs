//! Numbers as vectors of bits, the lowest first.

use super::diagram::{Diagram, Ref};

/// Bits of a number, the lowest first.
pub type Vector = Vec<Ref>;

/// Returns a number's bits.
pub fn constant(v: i64, bits: usize) -> Vector {
    let bit = |k: usize| u32::try_from(k).ok().and_then(|k| v.checked_shr(k)).unwrap_or(if v < 0 { -1 } else { 0 }) & 1;
    (0..bits).map(|k| if bit(k) == 1 { Ref::TRUE } else { Ref::FALSE }).collect()
}

/// Applies a function to each bit.
pub fn map(d: &mut Diagram, a: &[Ref], f: impl Fn(&mut Diagram, Ref) -> Option<Ref>) -> Option<Vector> {
    a.iter().map(|x| f(d, *x)).collect()
}

/// Applies a function to each pair of bits.
pub fn zip(d: &mut Diagram, a: &[Ref], b: &[Ref], f: impl Fn(&mut Diagram, Ref, Ref) -> Option<Ref>) -> Option<Vector> {
    if a.len() != b.len() {
        return None;
    }
    a.iter().zip(b).map(|(x, y)| f(d, *x, *y)).collect()
}

/// Returns `a` where `p` holds, else `b`.
pub fn choose(d: &mut Diagram, p: Ref, a: &[Ref], b: &[Ref]) -> Option<Vector> {
    zip(d, a, b, |d, x, y| d.choose(p, x, y))
}

/// Returns the sum, wrapping around.
pub fn sum(d: &mut Diagram, a: &[Ref], b: &[Ref]) -> Option<Vector> {
    let mut carry = Ref::FALSE;
    let mut out = Vector::new();
    for (x, y) in a.iter().zip(b) {
        let one = d.xor(*x, *y)?;
        out.push(d.xor(one, carry)?);
        let both = d.and(*x, *y)?;
        let passed = d.and(one, carry)?;
        carry = d.or(both, passed)?;
    }
    (a.len() == b.len()).then_some(out)
}

/// Returns a multiple, wrapping around.
pub fn times(d: &mut Diagram, a: &[Ref], factor: i64) -> Option<Vector> {
    let mut total = constant(0, a.len());
    let size = factor.unsigned_abs();
    for k in 0..a.len().min(64) {
        if size.checked_shr(u32::try_from(k).ok()?).unwrap_or(0) & 1 == 1 {
            let moved: Vector = std::iter::repeat_n(Ref::FALSE, k).chain(a.iter().copied()).take(a.len()).collect();
            total = sum(d, &total, &moved)?;
        }
    }
    if factor < 0 {
        let other = map(d, &total, Diagram::not)?;
        total = sum(d, &other, &constant(1, a.len()))?;
    }
    Some(total)
}

/// Returns the bits moved down; the highest one fills up where there is a sign.
pub fn shifted_right(a: &[Ref], by: usize, signed: bool) -> Option<Vector> {
    let fill = if signed { *a.last()? } else { Ref::FALSE };
    Some(a.iter().copied().skip(by).chain(std::iter::repeat(fill)).take(a.len()).collect())
}

/// Returns the number in another width.
pub fn resized(a: &[Ref], bits: usize, signed: bool) -> Option<Vector> {
    let fill = if signed { *a.last()? } else { Ref::FALSE };
    Some(a.iter().copied().chain(std::iter::repeat(fill)).take(bits).collect())
}

/// Returns the number with another highest bit.
pub fn with_top(a: &[Ref], top: Ref) -> Option<Vector> {
    let (_, rest) = a.split_last()?;
    Some(rest.iter().copied().chain([top]).collect())
}

/// Returns whether all bits are equal.
pub fn equal(d: &mut Diagram, a: &[Ref], b: &[Ref]) -> Option<Ref> {
    let differ = zip(d, a, b, Diagram::xor)?;
    let mut any = Ref::FALSE;
    for x in differ {
        any = d.or(any, x)?;
    }
    d.not(any)
}

/// Returns whether `a < b`.
pub fn less(d: &mut Diagram, a: &[Ref], b: &[Ref], signed: bool) -> Option<Ref> {
    if a.len() != b.len() {
        return None;
    }
    let mut less = Ref::FALSE;
    for (k, (x, y)) in a.iter().zip(b).enumerate() {
        let is_sign = signed && k.checked_add(1)? == a.len();
        let (x, y) = if is_sign { (*y, *x) } else { (*x, *y) };
        let differ = d.xor(x, y)?;
        less = d.choose(differ, y, less)?;
    }
    Some(less)
}

/// Returns the quotient by a positive number, rounded down, or towards 0.
pub fn divided(d: &mut Diagram, a: &[Ref], by: i64, signed: bool, towards_zero: bool) -> Option<Vector> {
    if !(1..=1 << 12).contains(&by) {
        return None;
    }
    let sign = if signed { *a.last()? } else { Ref::FALSE };
    // Of a negative number: rounded down, what is left of it in the complement; towards 0, the quotient of its opposite.
    let mut size = map(d, a, |d, x| d.xor(x, sign))?;
    if towards_zero {
        let one: Vector = std::iter::once(sign).chain(std::iter::repeat(Ref::FALSE)).take(a.len()).collect();
        size = sum(d, &size, &one)?;
    }
    let quotient = unsigned_quotient(d, &size, by)?;
    let back = map(d, &quotient, |d, x| d.xor(x, sign))?;
    if !towards_zero {
        return Some(back);
    }
    let one: Vector = std::iter::once(sign).chain(std::iter::repeat(Ref::FALSE)).take(a.len()).collect();
    sum(d, &back, &one)
}

fn unsigned_quotient(d: &mut Diagram, a: &[Ref], by: i64) -> Option<Vector> {
    const ROOM: usize = 14;
    let divisor = constant(by, ROOM);
    let opposite = constant(by.checked_neg()?, ROOM);
    let mut rest = constant(0, ROOM);
    let mut out = Vector::new();
    for bit in a.iter().rev() {
        rest = std::iter::once(*bit).chain(rest).take(ROOM).collect();
        let below = less(d, &rest, &divisor, false)?;
        let reduced = sum(d, &rest, &opposite)?;
        rest = choose(d, below, &rest, &reduced)?;
        out.push(d.not(below)?);
    }
    out.reverse();
    Some(out)
}
