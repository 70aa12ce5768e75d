//! Einstein sums: sizes by label, strides by the products that PyTorch makes of them.
//!
//! Promises: operands are brought to one order of dimensions (those of the result, then those that are summed) and multiplied from the
//! left, each pair element by element or as a batched matrix product; the result has the strides of that. Where sizes are symbols or
//! strides unknown, or a path of contraction is given, sizes are typed and strides are not.

use smallvec::SmallVec;

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::families::reduce::reduced_sizes;
use crate::ops::typing::call::Call;
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::promote::promote;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::ops::typing::viewed::{self, Viewed};
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;
type Axes = SmallVec<[usize; 6]>;

pub(in crate::ops) const RULES: &[Entry] = &[(einsum, &["aten.einsum.default"])];

/// A place in a term: a label, or one of the dimensions that `...` stands for, counted from the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Ellipsis(usize),
    Letter(char),
}

fn labels(c: &Call<'_>, term: &str, rank: Option<usize>, covered: usize) -> Result<Vec<Label>, CallFault> {
    let bad = |found: &str| Err(c.bad(0, "letters and at most one `...` in each term", found.to_string()));
    let (before, after) = match term.split_once("...") {
        None => (term, None),
        Some((before, after)) => (before, Some(after)),
    };
    let letters = |part: &str| part.chars().map(Label::Letter).collect::<Vec<_>>();
    if !before.chars().chain(after.unwrap_or("").chars()).all(|ch| ch.is_ascii_alphabetic()) {
        return bad(term);
    }
    let mut all = letters(before);
    if let Some(after) = after {
        let rest = letters(after);
        let own = match rank {
            Some(rank) => match rank.checked_sub(all.len().saturating_add(rest.len())) {
                Some(own) => own,
                None => return Err(c.bad(1, format!("dimensions for `{term}`"), rank.to_string())),
            },
            None => covered,
        };
        all.extend((0..own).rev().map(Label::Ellipsis));
        all.extend(rest);
    }
    match rank {
        Some(rank) if rank != all.len() => {
            Err(c.bad(1, format!("{} dimensions for `{term}`", all.len()), rank.to_string()))
        }
        _ => Ok(all),
    }
}

/// The order of dimensions: those of the result first; where it is not written, `...` and what occurs once.
fn order(c: &Call<'_>, terms: &[Vec<Label>], result: Option<&str>) -> Result<(Vec<Label>, usize), CallFault> {
    let mut all: Vec<Label> = terms.iter().flatten().copied().collect();
    all.sort_unstable_by_key(|l| match l {
        Label::Ellipsis(k) => (0, usize::MAX.saturating_sub(*k), ' '),
        Label::Letter(ch) => (1, 0, *ch),
    });
    let times = |l: Label| all.iter().filter(|x| **x == l).count();
    let mut unique = all.clone();
    unique.dedup();
    let covered = unique.iter().filter(|l| matches!(l, Label::Ellipsis(_))).count();
    let mut places: Vec<Label> = match result {
        Some(text) => labels(c, text, None, covered)?,
        None => unique.iter().copied().filter(|l| matches!(l, Label::Ellipsis(_)) || times(*l) == 1).collect(),
    };
    for (k, l) in places.iter().enumerate() {
        let again = places.iter().skip(k.saturating_add(1)).any(|x| x == l);
        if again || !unique.contains(l) {
            let text = result.unwrap_or("").to_string();
            return Err(c.bad(0, "labels of the operands, each once, in the result", text));
        }
    }
    let kept = places.len();
    places.extend(unique.iter().copied().filter(|l| !places.contains(l)).collect::<Vec<_>>());
    Ok((places, kept))
}

fn size(t: &TensorType, d: usize) -> Dim {
    t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1))
}

fn picked(t: &TensorType, order: &[usize]) -> TensorType {
    let pick = |v: &Sizes| order.iter().filter_map(|d| v.get(*d)).copied().collect::<Sizes>();
    TensorType { sizes: pick(&t.sizes), strides: t.strides.as_ref().map(pick), ..t.clone() }
}

/// An operand in the common order: repeated labels are diagonals, missing ones are of size 1.
fn arranged(c: &mut Call<'_>, t: &TensorType, term: &[Label], places: &[Label]) -> Result<TensorType, CallFault> {
    let mut dims = Sizes::new();
    let mut strides: Option<Sizes> = t.strides.is_some().then(Sizes::new);
    for place in places {
        let mut own: Option<(Dim, Dim)> = None;
        for (d, _) in term.iter().enumerate().filter(|(_, l)| *l == place) {
            let stride = t.strides.as_ref().and_then(|s| s.get(d)).copied().unwrap_or(Dim::Fixed(0));
            own = Some(match own {
                None => (size(t, d), stride),
                Some((seen, step)) => {
                    c.need_equal(1, "equal sizes of a repeated label,", seen, size(t, d))?;
                    (seen, sizes::add(c.symbols, step, stride)?)
                }
            });
        }
        let (length, step) = own.unwrap_or((Dim::Fixed(1), Dim::Fixed(1)));
        dims.push(length);
        if let Some(s) = &mut strides {
            s.push(step);
        }
    }
    Ok(TensorType { sizes: dims, strides, ..t.clone() })
}

fn summed(c: &mut Call<'_>, t: &TensorType, over: &[usize]) -> Result<TensorType, CallFault> {
    let left = reduced_sizes(t, over, true);
    let strides = layout::contiguous(c.symbols, &left)?;
    let dtype = if t.dtype == Dtype::Bool || t.dtype.is_integer() { Dtype::I64 } else { t.dtype };
    Ok(out::tensor(dtype, left, Some(strides), t.device.clone()))
}

/// The product of a pair, summed over some dimensions, which stay with size 1 (`sumproduct_pair`).
fn product(c: &mut Call<'_>, a: &TensorType, b: &TensorType, over: &[usize]) -> Result<TensorType, CallFault> {
    if over.is_empty() {
        let dims = out::broadcast(c, 1, &[&a.sizes, &b.sizes])?;
        let strides = layout::pointwise(c.symbols, &dims, &[a, b])?;
        let dtype = promote(a.dtype, b.dtype).unwrap_or(a.dtype);
        return Ok(out::tensor(dtype, dims, strides, a.device.clone()));
    }
    if a.dtype != b.dtype {
        return Err(c.bad(1, format!("dtype {}", a.dtype.long()), b.dtype.long()));
    }
    let one = |t: &TensorType, d: usize| size(t, d) == Dim::Fixed(1);
    let rest: Axes = (0..a.rank()).filter(|d| !over.contains(d)).collect();
    let both: Axes = rest.iter().copied().filter(|d| !one(a, *d) && !one(b, *d)).collect();
    let left: Axes = rest.iter().copied().filter(|d| !one(a, *d) && one(b, *d)).collect();
    let right: Axes = rest.iter().copied().filter(|d| one(a, *d)).collect();
    // As bmm gives it: shared dimensions, the left ones, the summed, the right ones.
    let inner: Axes = both.iter().chain(&left).chain(over).chain(&right).copied().collect();
    let of = |d: usize| match (over.contains(&d), right.contains(&d)) {
        (true, _) => Dim::Fixed(1),
        (_, true) => size(b, d),
        _ => size(a, d),
    };
    let inner_sizes: Sizes = inner.iter().map(|d| of(*d)).collect();
    let flat = [both.as_slice(), left.as_slice(), right.as_slice()]
        .map(|group| group.iter().map(|d| of(*d)).collect::<Sizes>());
    let mut folded = Sizes::new();
    for group in &flat {
        folded.push(sizes::product(c.symbols, group)?);
    }
    let bmm = out::tensor(a.dtype, folded.clone(), Some(layout::contiguous(c.symbols, &folded)?), a.device.clone());
    let strides = match viewed::view(c.symbols, &bmm, &inner_sizes)? {
        Viewed::As(strides) => Some(strides),
        _ => None,
    };
    let stored = out::tensor(a.dtype, inner_sizes, strides, a.device.clone());
    let back: Axes = (0..a.rank()).filter_map(|d| inner.iter().position(|x| *x == d)).collect();
    Ok(picked(&stored, &back))
}

/// One step: what only one of the two still has to be summed is summed before.
fn contracted(
    c: &mut Call<'_>,
    a: TensorType,
    b: TensorType,
    kept: usize,
    uses: &mut [usize],
) -> Result<TensorType, CallFault> {
    let (mut of_a, mut of_b, mut of_both) = (Axes::new(), Axes::new(), Axes::new());
    for (d, count) in uses.iter_mut().enumerate().skip(kept) {
        let (in_a, in_b) = (size(&a, d) != Dim::Fixed(1), size(&b, d) != Dim::Fixed(1));
        match (in_a, in_b, *count) {
            (true, true, 2) => {
                of_both.push(d);
                *count = 0;
            }
            (true, true, n) => *count = n.saturating_sub(1),
            (true, false, 1) => {
                of_a.push(d);
                *count = 0;
            }
            (false, true, 1) => {
                of_b.push(d);
                *count = 0;
            }
            _ => {}
        }
    }
    let a = if of_a.is_empty() { a } else { summed(c, &a, &of_a)? };
    let b = if of_b.is_empty() { b } else { summed(c, &b, &of_b)? };
    product(c, &a, &b, &of_both)
}

/// A path names two of the operands that are left, as often as there are products.
fn check_path(c: &Call<'_>, operands: usize) -> Result<(), CallFault> {
    if c.is_none(2) {
        return Ok(());
    }
    let path = c.ints(2)?;
    let steps = operands.saturating_sub(1);
    let mut left = operands;
    let fits = path.chunks(2).all(|pair| {
        let inside = pair.iter().all(|i| usize::try_from(*i).is_ok_and(|i| i < left));
        left = left.saturating_sub(1);
        inside && matches!(pair, [a, b] if a != b)
    });
    if path.len() == steps.saturating_mul(2) && fits {
        return Ok(());
    }
    Err(c.bad(2, format!("{steps} pairs of operands that are left"), format!("{path:?}")))
}

fn einsum(c: &mut Call<'_>) -> Typed {
    let (equation, tensors) = (c.text(0).replace(' ', ""), c.tensors(1)?);
    let (inputs, result) = equation.split_once("->").map_or((equation.as_str(), None), |(i, r)| (i, Some(r)));
    let texts: Vec<&str> = inputs.split(',').collect();
    if texts.len() != tensors.len() {
        return Err(c.bad(1, format!("{} tensors", texts.len()), tensors.len().to_string()));
    }
    check_path(c, tensors.len())?;
    let mut terms = Vec::with_capacity(texts.len());
    for (text, t) in texts.iter().zip(&tensors) {
        terms.push(labels(c, text, Some(t.rank()), 0)?);
    }
    let (places, kept) = order(c, &terms, result)?;
    let mut operands = Vec::with_capacity(terms.len());
    for (term, t) in terms.iter().zip(&tensors) {
        operands.push(arranged(c, t, term, &places)?);
    }
    let shapes: Vec<&[Dim]> = operands.iter().map(|t| t.sizes.as_slice()).collect();
    let joint = out::broadcast(c, 1, &shapes)?;
    let wanted: Sizes = joint.iter().take(kept).copied().collect();
    let uses = |d: usize| operands.iter().filter(|t| size(t, d) != Dim::Fixed(1)).count();
    let mut uses: Vec<usize> = (0..places.len()).map(uses).collect();
    let open = joint.iter().any(|d| d.fixed().is_none()) || !c.is_none(2);
    let mut rest = operands.into_iter();
    let Some(mut whole) = rest.next() else { return Err(c.bad(1, "a tensor", "none")) };
    let single = tensors.len() == 1;
    for next in rest {
        whole = contracted(c, whole, next, kept, &mut uses)?;
    }
    let dtype = whole.dtype;
    if open {
        return Ok(out::strided(dtype, wanted, None, whole.device.clone()));
    }
    let inside: Axes = (kept..places.len()).collect();
    if single && !inside.is_empty() {
        let sum = summed(c, &whole, &inside)?;
        return out::contiguous(c.symbols, sum.dtype, wanted, whole.device.clone());
    }
    if single {
        // No product, no sum: a view of the operand.
        let first = tensors.first().map_or(Dim::Fixed(0), |t| t.offset);
        return Ok(crate::ops::families::view::seen(&whole, whole.sizes.clone(), whole.strides.clone(), first));
    }
    let strides = match viewed::view(c.symbols, &whole, &wanted)? {
        Viewed::As(strides) => Some(strides),
        _ => whole.strides.clone().filter(|_| inside.is_empty()),
    };
    Ok(out::strided(dtype, wanted, strides, whole.device.clone()))
}
