//! Whether sizes that are symbols fit for all their values, by types alone.
//!
//! Promises: "yes" only where every size that must be another is shown to be. Leaves dtypes, devices and flags to the caller.

use crate::graph::{Arg, TensorType};
use crate::ops::{Bound, Contracts};
use crate::sym::Dim;
use crate::term::sizes::Sizes;

/// Whether tensors may be multiplied in that way.
pub(super) fn fits(sizes: &Sizes, kind: Contracts, bound: &Bound<'_>, types: &[&TensorType]) -> bool {
    match (kind, types) {
        (Contracts::Matrices, [a, b]) => product(sizes, a, b).is_some(),
        (Contracts::Added, [i, a, b]) => product(sizes, a, b).is_some_and(|to| is_repeated_to(sizes, &i.sizes, &to)),
        (Contracts::Outer, [i, u, v]) => {
            let ([rows], [columns]) = (u.sizes.as_slice(), v.sizes.as_slice()) else { return false };
            is_repeated_to(sizes, &i.sizes, &[*rows, *columns])
        }
        (Contracts::Searched, [row, _]) if row.rank() == 1 => true,
        (Contracts::Searched, [rows, values]) => {
            let (Some((_, ahead)), Some((_, others))) = (rows.sizes.split_last(), values.sizes.split_last()) else {
                return false;
            };
            sizes.all_same(ahead, others)
        }
        (Contracts::Linear, [x, w, rest @ ..]) => {
            let [rows, columns] = w.sizes.as_slice() else { return false };
            let bias = match rest {
                [] => true,
                [bias] => matches!(bias.sizes.as_slice(), [one] if sizes.same(*one, *rows)),
                _ => false,
            };
            bias && x.rank() > 1 && x.sizes.last().is_some_and(|last| sizes.same(*last, *columns))
        }
        (Contracts::Repeated, [a, b]) => {
            let (Some(([_, k], ahead)), Some(([l, _], others))) = (matrix(a), matrix(b)) else {
                return with_vector(sizes, a, b);
            };
            let mut pairs = ahead.iter().rev().zip(others.iter().rev());
            sizes.same(k, l) && pairs.all(|(x, y)| is_one(*x) || is_one(*y) || sizes.same(*x, *y))
        }
        (Contracts::Vector, [a, b]) => {
            let (1 | 2, [length]) = (a.rank(), b.sizes.as_slice()) else { return false };
            a.sizes.last().is_some_and(|last| sizes.same(*last, *length))
        }
        (Contracts::Attention, [q, k, v, rest @ ..]) => {
            let (Some(([l, e], ahead)), Some(([s, f], keyed)), Some(([t, _], valued))) =
                (matrix(q), matrix(k), matrix(v))
            else {
                return false;
            };
            let mut to = ahead.to_vec();
            to.extend([l, s]);
            let masked = match rest {
                [] => true,
                [mask] => mask.rank() > 1 && is_repeated_to(sizes, &mask.sizes, &to),
                _ => false,
            };
            let ranks = !ahead.is_empty() && ahead.len() < 3;
            let shared = shares_heads(bound);
            let batches = [keyed, valued].into_iter().all(|own| {
                sizes.all_same(ahead, own) || shared && sizes.all_same(keyed, valued) && are_shared(sizes, ahead, own)
            });
            masked && ranks && batches && sizes.same(e, f) && sizes.same(s, t) && are_filled(sizes, types)
        }
        (Contracts::Labels, types) => bound.args.iter().any(|a| match a {
            Arg::Str(equation) => agree_by_labels(sizes, equation, types),
            _ => false,
        }),
        _ => false,
    }
}

/// Whether heads of keys and values may be fewer than those of queries: the last flag of its kind.
fn shares_heads(bound: &Bound<'_>) -> bool {
    bound.args.last().is_some_and(|flag| **flag == Arg::Bool(true))
}

/// Whether so many heads of queries have as many of keys each, by numbers, all else being alike.
fn are_shared(sizes: &Sizes, queries: &[Dim], keys: &[Dim]) -> bool {
    let (Some((Dim::Fixed(q), ahead)), Some((Dim::Fixed(k), others))) = (queries.split_last(), keys.split_last())
    else {
        return false;
    };
    sizes.all_same(ahead, others) && q.checked_rem(*k) == Some(0)
}

/// Whether all dimensions of one letter have one size.
fn agree_by_labels(sizes: &Sizes, equation: &str, types: &[&TensorType]) -> bool {
    let (operands, result) = equation.split_once("->").unwrap_or((equation, ""));
    let labels: Vec<Vec<char>> = operands.split(',').map(|t| t.chars().filter(|c| *c != ' ').collect()).collect();
    let plain = labels.iter().flatten().copied().chain(result.chars()).all(|c| c.is_ascii_alphabetic() || c == ' ');
    let mut met: Vec<(char, Dim)> = Vec::new();
    plain
        && labels.len() == types.len()
        && labels.iter().zip(types).all(|(labels, t)| {
            labels.len() == t.rank()
                && labels.iter().zip(&t.sizes).all(|(label, size)| {
                    let known = met.iter().find(|(other, _)| other == label).map(|(_, size)| *size);
                    met.push((*label, *size));
                    known.is_none_or(|known| sizes.same(known, *size))
                })
        })
}

/// Whether no size is 0.
pub(super) fn are_filled(sizes: &Sizes, types: &[&TensorType]) -> bool {
    types.iter().flat_map(|t| t.sizes.iter()).all(|d| sizes.at_most(Dim::Fixed(1), *d))
}

/// Whether sizes are the last of the first tensor, and all that the others have.
pub(super) fn are_trailing(sizes: &Sizes, named: &[Dim], types: &[&TensorType]) -> bool {
    let Some((first, others)) = types.split_first() else { return false };
    let ahead = first.rank().checked_sub(named.len()).filter(|_| !named.is_empty());
    let last = ahead.and_then(|n| first.sizes.get(n..));
    last.is_some_and(|last| sizes.all_same(last, named)) && others.iter().all(|t| sizes.all_same(&t.sizes, named))
}

/// Whether two tensors have the same sizes, of which these are the last, two more those ahead, and ones, and all others these.
pub(super) fn are_normalised(sizes: &Sizes<'_>, named: &[Dim], types: &[&TensorType]) -> bool {
    let [gradient, input, statistics @ ..] = types else { return false };
    let Some((statistics, weights)) = statistics.split_first_chunk::<2>() else { return false };
    let whole = are_trailing(sizes, named, &[*input]) && sizes.all_same(&gradient.sizes, &input.sizes);
    let ahead = input.rank().saturating_sub(named.len());
    let mut each = input.sizes.clone();
    each.iter_mut().skip(ahead).for_each(|d| *d = Dim::Fixed(1));
    whole
        && statistics.iter().all(|t| sizes.all_same(&t.sizes, &each))
        && weights.iter().all(|t| sizes.all_same(&t.sizes, named))
}

/// Whether one of two is a vector, and the other has as many elements along the dimension that is summed: its last but one behind a vector, else its last.
fn with_vector(sizes: &Sizes, a: &TensorType, b: &TensorType) -> bool {
    let summed = match (a.sizes.as_slice(), b.sizes.as_slice()) {
        ([.., k], [l]) | ([k], [.., l, _]) => Some((*k, *l)),
        _ => None,
    };
    summed.is_some_and(|(k, l)| sizes.same(k, l))
}

/// Returns the last two sizes, and those ahead.
fn matrix(t: &TensorType) -> Option<([Dim; 2], &[Dim])> {
    let (ahead, last) = t.sizes.split_last_chunk::<2>()?;
    Some((*last, ahead))
}

/// Returns the sizes of a product of two matrices, or of as many with the same sizes ahead.
fn product(sizes: &Sizes, a: &TensorType, b: &TensorType) -> Option<Vec<Dim>> {
    let (([m, k], ahead), ([l, n], others)) = (matrix(a)?, matrix(b)?);
    let fits = sizes.all_same(ahead, others) && sizes.same(k, l);
    fits.then(|| ahead.iter().copied().chain([m, n]).collect())
}

fn is_one(d: Dim) -> bool {
    d == Dim::Fixed(1)
}

fn is_repeated_to(sizes: &Sizes, from: &[Dim], to: &[Dim]) -> bool {
    let mut pairs = from.iter().rev().zip(to.iter().rev());
    from.len() <= to.len() && pairs.all(|(x, y)| is_one(*x) || sizes.same(*x, *y))
}
