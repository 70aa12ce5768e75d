//! Arithmetic of sizes for type rules: fixed numbers at once, symbols through `sym`.
//!
//! Promises: nothing overflows silently; what cannot be decided about symbols is `None`, never a guess.

use smallvec::SmallVec;

use crate::ops::error::CallFault;
use crate::sym::{Dim, Relation, Symbols};

/// Sizes or strides of a tensor.
pub type Sizes = SmallVec<[Dim; 4]>;

/// `a + b`.
pub fn add(s: &mut Symbols, a: Dim, b: Dim) -> Result<Dim, CallFault> {
    Ok(s.add(a, b)?)
}

/// `a - b`.
pub fn sub(s: &mut Symbols, a: Dim, b: Dim) -> Result<Dim, CallFault> {
    Ok(s.sub(a, b)?)
}

/// `a * b`.
pub fn mul(s: &mut Symbols, a: Dim, b: Dim) -> Result<Dim, CallFault> {
    Ok(s.mul(a, b)?)
}

/// `a // b`, rounded down.
pub fn floordiv(s: &mut Symbols, a: Dim, b: Dim) -> Result<Dim, CallFault> {
    Ok(s.floordiv(a, b)?)
}

/// `a / b`, rounded up.
pub fn ceildiv(s: &mut Symbols, a: Dim, b: Dim) -> Result<Dim, CallFault> {
    Ok(s.ceildiv(a, b)?)
}

/// The greater of two.
pub fn max(s: &mut Symbols, a: Dim, b: Dim) -> Result<Dim, CallFault> {
    match less(s, a, b) {
        Some(true) => Ok(b),
        Some(false) => Ok(a),
        None if less(s, b, a) == Some(false) => Ok(b),
        None => Ok(s.max(a, b)?),
    }
}

/// The lesser of two.
pub fn min(s: &mut Symbols, a: Dim, b: Dim) -> Result<Dim, CallFault> {
    match less(s, a, b) {
        Some(true) => Ok(a),
        Some(false) => Ok(b),
        None if less(s, b, a) == Some(false) => Ok(a),
        None => Ok(s.min(a, b)?),
    }
}

/// Whether `a == b`, where it is known.
pub fn same(s: &Symbols, a: Dim, b: Dim) -> Option<bool> {
    match (a, b) {
        (Dim::Fixed(x), Dim::Fixed(y)) => Some(x == y),
        _ if a == b => Some(true),
        _ => s.known(a, Relation::Equal, b),
    }
}

/// Whether `a < b`, where it is known.
pub fn less(s: &Symbols, a: Dim, b: Dim) -> Option<bool> {
    match (a, b) {
        (Dim::Fixed(x), Dim::Fixed(y)) => Some(x < y),
        _ if a == b => Some(false),
        _ => s.known(a, Relation::Less, b),
    }
}

/// Whether `a` is surely `value`.
pub fn is(s: &Symbols, a: Dim, value: i64) -> bool {
    match a {
        Dim::Fixed(x) => x == value,
        Dim::Expr(_) => same(s, a, Dim::Fixed(value)) == Some(true),
    }
}

/// Whether `a` is surely not `b`.
pub fn differ(s: &Symbols, a: Dim, b: Dim) -> bool {
    same(s, a, b) == Some(false)
}

/// The product of all.
pub fn product(s: &mut Symbols, dims: &[Dim]) -> Result<Dim, CallFault> {
    dims.iter().try_fold(Dim::Fixed(1), |p, d| mul(s, p, *d))
}

/// Whether two lists of sizes are surely equal, element by element.
pub fn all_same(s: &Symbols, a: &[Dim], b: &[Dim]) -> bool {
    a == b || (a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(s, *x, *y) == Some(true)))
}

/// Prints sizes as in an annotation: `[2, s77]`.
pub fn show(s: &Symbols, dims: &[Dim]) -> String {
    let texts: Vec<String> = dims.iter().map(|d| s.print_python(*d)).collect();
    format!("[{}]", texts.join(", "))
}

/// A symbol that no size has yet: a free one of `u0`, `u1` ...
pub fn fresh_symbol(s: &mut Symbols) -> Dim {
    let name = fresh_name(s, "u");
    s.symbol(&name)
}

/// Returns a name of that prefix and a number that no symbol has yet. Costs a logarithm of how many are taken.
///
/// PyTorch's prefixes: `u` for integers, `zuf` for floats.
pub fn fresh_name(s: &Symbols, prefix: &str) -> String {
    let taken = |s: &Symbols, n: usize| s.find_symbol(&format!("{prefix}{n}")).is_some();
    let mut above = 0_usize;
    while taken(s, above) {
        above = above.saturating_mul(2).saturating_add(1);
    }
    // Some number up to `above` is free; halving finds one whose predecessor is taken, or 0.
    let mut below = above >> 1;
    if above == 0 {
        return format!("{prefix}0");
    }
    while above.saturating_sub(below) > 1 {
        let middle = below.midpoint(above);
        if taken(s, middle) {
            below = middle;
        } else {
            above = middle;
        }
    }
    format!("{prefix}{above}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_symbols_are_never_taken_ones() {
        let mut s = Symbols::new();
        s.symbol("u0");
        s.symbol("u2");
        let mut seen = vec![s.symbol("u0"), s.symbol("u2")];
        for _ in 0..40 {
            let new = fresh_symbol(&mut s);
            assert!(!seen.contains(&new));
            seen.push(new);
        }
    }
}
