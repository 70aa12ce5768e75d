//! Views in other sizes: which there are, and with which strides.
//!
//! Promises: what PyTorch's own code computes (`computeStride`); [`Viewed::Never`] holds for all values of the symbols of which there are elements at all.

use smallvec::SmallVec;

use crate::graph::TensorType;
use crate::ops::error::CallFault;
use crate::ops::typing::cases;
use crate::ops::typing::layout::{contiguous, is_contiguous};
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::{Dim, Symbols};

/// How a tensor can be seen in other sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Viewed {
    /// With these strides.
    As(Sizes),
    /// Not without a copy.
    Never,
    /// Symbols or missing strides leave it open.
    Unknown,
}

/// Returns the strides that a view of `t` in other sizes has (`computeStride`).
pub fn view(s: &mut Symbols, t: &TensorType, sizes: &[Dim]) -> Result<Viewed, CallFault> {
    let Some(old_strides) = t.strides.clone() else { return Ok(Viewed::Unknown) };
    if t.sizes.contains(&Dim::Fixed(0)) {
        let same = t.sizes.as_slice() == sizes;
        return Ok(Viewed::As(if same { old_strides } else { contiguous(s, sizes)? }));
    }
    // Of numbers, dimensions of size 1 too get the strides that PyTorch computes; of symbols, what is the same stays as it is.
    let fixed = |dims: &[Dim]| dims.iter().all(|d| d.fixed().is_some());
    if t.sizes.is_empty() && fixed(sizes) {
        return Ok(Viewed::As(SmallVec::from_elem(Dim::Fixed(1), sizes.len())));
    }
    if fixed(sizes) && fixed(&t.sizes) && fixed(&old_strides) {
        return chunks(s, &t.sizes, &old_strides, sizes);
    }
    if is_contiguous(s, t) == Some(true) {
        let same = t.sizes.as_slice() == sizes;
        return Ok(Viewed::As(if same { old_strides } else { contiguous(s, sizes)? }));
    }
    if t.sizes.as_slice() == sizes {
        return Ok(Viewed::As(old_strides));
    }
    chunks(s, &t.sizes, &old_strides, sizes)
}

/// Walks both shapes from the innermost dimension, chunk by chunk of dimensions that lie one in another.
fn chunks(s: &mut Symbols, old: &[Dim], strides: &[Dim], new: &[Dim]) -> Result<Viewed, CallFault> {
    let mut out: Sizes = SmallVec::from_elem(Dim::Fixed(1), new.len());
    let mut next = new.len();
    let mut chunk = strides.last().copied().unwrap_or(Dim::Fixed(1));
    let (mut there, mut here) = (Dim::Fixed(1), Dim::Fixed(1));
    // A chunk ends at no dimension of size 1: where a symbol may be 1, there may be fewer chunks than are seen here, which lets more views be.
    let mut surely_ends = true;
    for d in (0..old.len()).rev() {
        let Some(&size) = old.get(d) else { break };
        there = sizes::mul(s, there, size)?;
        let outer = d.checked_sub(1).and_then(|o| Some((*old.get(o)?, *strides.get(o)?)));
        if let Some((outer_size, outer_stride)) = outer {
            let joined = sizes::mul(s, there, chunk)?;
            let ends = !sizes::is(s, outer_size, 1) && {
                match sizes::same(s, outer_stride, joined) {
                    Some(same) => !same,
                    None => return Ok(Viewed::Unknown),
                }
            };
            if !ends {
                continue;
            }
            surely_ends &= sizes::differ(s, outer_size, Dim::Fixed(1));
        }
        let mut is_guessed = false;
        while let Some(at) = next.checked_sub(1) {
            let Some(&wanted) = new.get(at) else { break };
            let full = match sizes::less(s, here, there) {
                Some(below) => !below,
                // Both grow to the same product in the end; between, sizes beyond 1 are what symbols stand for.
                None => sizes::same(s, here, there).unwrap_or_else(|| {
                    is_guessed = true;
                    false
                }),
            };
            if full && !sizes::is(s, wanted, 1) {
                break;
            }
            if let Some(slot) = out.get_mut(at) {
                *slot = sizes::mul(s, here, chunk)?;
            }
            here = sizes::mul(s, here, wanted)?;
            next = at;
        }
        match sizes::same(s, here, there) {
            Some(true) => {}
            Some(false) if !is_guessed && surely_ends => return Ok(Viewed::Never),
            Some(false) | None => return Ok(Viewed::Unknown),
        }
        if let Some((_, outer_stride)) = outer {
            chunk = outer_stride;
            (there, here) = (Dim::Fixed(1), Dim::Fixed(1));
        }
    }
    Ok(match next {
        0 => Viewed::As(out),
        _ if surely_ends => Viewed::Never,
        _ => Viewed::Unknown,
    })
}

/// Whether a tensor has a view in these sizes, whatever its symbols are: where numbers in their place would answer differently, nobody knows.
pub fn has_view(s: &Symbols, t: &TensorType, sizes: &[Dim]) -> Option<bool> {
    t.strides.as_ref()?;
    cases::agree(s, &[t], sizes, |s, operands, sizes| match view(s, operands.first()?, sizes) {
        Ok(Viewed::As(_)) => Some(true),
        Ok(Viewed::Never) => Some(false),
        Ok(Viewed::Unknown) | Err(_) => None,
    })
}

/// Whether a reshape of a tensor has a view in these sizes: as a copy it has, as a view it is seen as what it is a view of.
pub fn has_view_of_reshape(s: &Symbols, t: &TensorType, reshaped: &[Dim], sizes: &[Dim]) -> bool {
    let (Some(_), between) = (&t.strides, TensorType { strides: None, ..t.clone() }) else { return false };
    let between = TensorType { sizes: reshaped.into(), ..between };
    let holds = cases::agree(s, &[t, &between], sizes, |s, operands, sizes| {
        let (t, between) = (operands.first()?, operands.last()?);
        match view(s, t, &between.sizes).ok()? {
            Viewed::Never => Some(()),
            Viewed::As(_) => matches!(view(s, t, sizes), Ok(Viewed::As(_))).then_some(()),
            Viewed::Unknown => None,
        }
    });
    holds.is_some()
}

/// Whether a reshape lies row by row whatever its symbols are: as a copy it does, and so does every view that there is instead of one.
pub fn reshapes_to_rows(s: &Symbols, t: &TensorType, sizes: &[Dim]) -> bool {
    let Some(strides) = &t.strides else { return false };
    let lies_so = cases::agree(s, &[t], sizes, |s, operands, sizes| {
        let t = operands.first()?;
        let found = chunks(s, &t.sizes, t.strides.as_ref()?, sizes).ok()?;
        match found {
            Viewed::As(found) => {
                let rows = contiguous(s, sizes).ok()?;
                sizes::all_same(s, &found, &rows).then_some(true)
            }
            Viewed::Never => Some(true),
            Viewed::Unknown => None,
        }
    });
    !strides.is_empty() && t.offset == Dim::Fixed(0) && lies_so == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Device, Dtype};
    use crate::sym::Range;

    fn fixed(v: &[i64]) -> Sizes {
        v.iter().map(|x| Dim::Fixed(*x)).collect()
    }

    fn tensor(sizes: &[i64], strides: &[i64]) -> TensorType {
        laid(&fixed(sizes), &fixed(strides))
    }

    fn laid(sizes: &[Dim], strides: &[Dim]) -> TensorType {
        let t = TensorType::new(Dtype::F32, sizes.iter().copied().collect::<Sizes>(), Device::cpu());
        TensorType { strides: Some(strides.iter().copied().collect()), ..t }
    }

    fn viewed(t: &TensorType, sizes: &[i64]) -> Viewed {
        view(&mut Symbols::new(), t, &fixed(sizes)).unwrap()
    }

    #[test]
    fn a_view_of_a_transpose_exists_only_where_memory_allows_it() {
        let t = tensor(&[4, 6], &[1, 4]);
        assert_eq!(viewed(&t, &[24]), Viewed::Never);
        assert_eq!(viewed(&t, &[4, 2, 3]), Viewed::As(fixed(&[1, 12, 4])));
        assert_eq!(viewed(&t, &[2, 2, 6]), Viewed::As(fixed(&[2, 1, 4])));
        assert_eq!(viewed(&tensor(&[2, 3], &[3, 1]), &[3, 2]), Viewed::As(fixed(&[2, 1])));
    }

    #[test]
    fn a_symbolic_batch_is_seen_through() {
        let mut s = Symbols::new();
        let n = s.symbol("s0");
        let mut t = TensorType::new(Dtype::F32, [n, Dim::Fixed(8), Dim::Fixed(5)], Device::cpu());
        t.strides = Some(smallvec::smallvec![Dim::Fixed(40), Dim::Fixed(1), Dim::Fixed(8)]);
        let sizes: Sizes = smallvec::smallvec![n, Dim::Fixed(2), Dim::Fixed(4), Dim::Fixed(5)];
        let strides: Sizes = smallvec::smallvec![Dim::Fixed(40), Dim::Fixed(4), Dim::Fixed(1), Dim::Fixed(8)];
        assert_eq!(view(&mut s, &t, &sizes).unwrap(), Viewed::As(strides));
    }

    /// Heads beside rows, as attention leaves them: `[b, s, 4, 8]` that lies as `[b, 4, s, 8]`.
    fn heads(s: &mut Symbols, rows: Range) -> (TensorType, Sizes) {
        s.set_range("b", Range::new(1, 64)).unwrap();
        s.set_range("s", rows).unwrap();
        let (batch, rows) = (s.symbol("b"), s.symbol("s"));
        let (outer, head) = (s.mul(Dim::Fixed(32), rows).unwrap(), s.mul(Dim::Fixed(8), rows).unwrap());
        let t = laid(&[batch, rows, Dim::Fixed(4), Dim::Fixed(8)], &[outer, Dim::Fixed(8), head, Dim::Fixed(1)]);
        (t, smallvec::smallvec![batch, rows, Dim::Fixed(32)])
    }

    #[test]
    fn a_reshape_that_is_a_view_of_one_row_only_lies_row_by_row_either_way() {
        let mut s = Symbols::new();
        let (t, sizes) = heads(&mut s, Range::new(1, 64));
        assert_eq!(view(&mut s, &t, &sizes).unwrap(), Viewed::Unknown);
        assert_eq!(has_view(&s, &t, &sizes), None);
        assert!(reshapes_to_rows(&s, &t, &sizes));
        let mut s = Symbols::new();
        let (t, sizes) = heads(&mut s, Range::new(2, 64));
        assert_eq!(has_view(&s, &t, &sizes), Some(false));
        assert!(reshapes_to_rows(&s, &t, &sizes));
    }

    #[test]
    fn a_reshape_that_is_a_view_with_holes_for_some_sizes_is_not_known_to_lie_row_by_row() {
        let mut s = Symbols::new();
        s.set_range("s", Range::new(1, 64)).unwrap();
        let rows = s.symbol("s");
        // Each second one of a row: there is a view of one row, which has holes.
        let wide = s.mul(Dim::Fixed(2), rows).unwrap();
        let t = laid(&[rows, Dim::Fixed(4)], &[Dim::Fixed(2), wide]);
        let all = s.mul(Dim::Fixed(4), rows).unwrap();
        assert!(!reshapes_to_rows(&s, &t, &[all]));
        assert_eq!(has_view(&s, &t, &[all]), None);
    }

    #[test]
    fn what_is_repeated_within_has_no_view_of_all_of_it() {
        let mut s = Symbols::new();
        let rows = s.symbol("s");
        let (outer, head) = (s.mul(Dim::Fixed(8), rows).unwrap(), s.mul(Dim::Fixed(4), rows).unwrap());
        let n = Dim::Fixed;
        let t = laid(&[n(5), n(2), n(3), rows, n(4)], &[outer, head, n(0), n(4), n(1)]);
        assert_eq!(has_view(&s, &t, &[n(5), n(6), rows, n(4)]), Some(false));
        let one = laid(&[n(5), n(1), n(3), rows, n(4)], &[head, head, n(0), n(4), n(1)]);
        assert_eq!(has_view(&s, &one, &[n(5), n(3), rows, n(4)]), Some(true));
    }

    #[test]
    fn a_reshape_is_seen_as_what_it_is_of_whether_or_not_it_is_a_view() {
        let mut s = Symbols::new();
        s.set_range("a", Range::new(1, 64)).unwrap();
        s.set_range("b", Range::new(1, 64)).unwrap();
        let (a, b) = (s.symbol("a"), s.symbol("b"));
        let four = s.mul(Dim::Fixed(4), b).unwrap();
        let t = laid(&[a, b, Dim::Fixed(4)], &[four, Dim::Fixed(1), b]);
        let all = s.mul(a, b).unwrap();
        assert_eq!(view(&mut s, &t, &[all, Dim::Fixed(4)]).unwrap(), Viewed::Unknown);
        // Of one matrix it is a view of its columns.
        assert!(!reshapes_to_rows(&s, &t, &[all, Dim::Fixed(4)]));
        assert!(has_view_of_reshape(&s, &t, &[all, Dim::Fixed(4)], &[a, b, Dim::Fixed(4)]));
        let flat = s.mul(Dim::Fixed(4), all).unwrap();
        assert!(!has_view_of_reshape(&s, &t, &[all, Dim::Fixed(4)], &[flat]));
    }
}
