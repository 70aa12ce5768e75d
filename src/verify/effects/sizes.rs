//! Whether the sizes of a call fit for all values of their symbols.
//!
//! Promises: "yes" only by what the operator states of its sizes (`#any-size`, `#joins`, `#counts` ...), its numbers counted among them. Whether there
//! is such a view of an operand is asked of `view_calls`, windows of `windows`, products and norms of `contract`.

use crate::analysis::{place_of, tensor_operands};
use crate::graph::{Arg, Dtype, NodeId, TensorType, ValueType, View};
use crate::ops::{Base, Bound, Grid, Operator, Total, ViewStep};
use crate::sym::Dim;
use crate::term::sizes::Sizes;
use crate::term::term::Side;
use crate::verify::effects::contract;
use crate::verify::effects::numbers::{has_own_words, is_held};
use crate::verify::effects::view_calls::step_fits;
use crate::verify::effects::windows::grid_fits;
use crate::verify::functional::values::Functional;
use crate::verify::functional::views::{as_dim, axis};

/// Whether the sizes of a call fit for all values of their symbols.
pub(super) fn fits(f: &mut Functional<'_>, side: Side, node: NodeId, operator: &Operator, bound: &Bound<'_>) -> bool {
    let view = f.view(side);
    let types: Vec<&TensorType> = tensor_operands(view, node).into_iter().filter_map(|p| f.tensor(side, p)).collect();
    let result = f.tensor(side, place_of(view, node));
    let from = bound.args.first().and_then(|a| a.as_node()).and_then(|n| f.tensor(side, place_of(view, n)));
    if let Some(step) = operator.facts.step {
        let Some(from) = from else { return false };
        return step_fits(f, side, node, step, operator, bound, from);
    }
    if operator.facts.copies {
        return types.len() < 2 || fits_into(f, types.get(1).copied(), types.first().copied());
    }
    let given_sizes = !scalars_of(view, node).is_empty();
    if operator.facts.any_size
        && types.is_empty()
        && matches!(operator.facts.total, Total::Plain | Total::PlainWords | Total::Steps)
    {
        return numbers_rise(f, side, operator, bound);
    }
    if operator.facts.joins {
        // Without one named it is the first of all that have two.
        let dim = match operator.schema.param_index("dim") {
            Some(i) => result.and_then(|t| axis(bound.get(i), t.rank())),
            None => types.iter().all(|t| t.rank() >= 2).then_some(0),
        };
        return dim.is_some_and(|dim| agree_but(f, &types, dim));
    }
    if operator.facts.any_size && matches!(operator.facts.total, Total::Plain | Total::PlainWords) && given_sizes {
        return numbers_rise(f, side, operator, bound);
    }
    if operator.facts.any_size_alone && types.len() == 1 && !given_sizes {
        return true;
    }
    if operator.facts.any_size {
        // What is told of the result's size is held to the operands' own.
        let is_told = |k: usize| operator.schema.params.get(k).is_some_and(|p| p.default.is_some());
        if operator.schema.param_index("output_size").is_some_and(|k| is_told(k) && *bound.get(k) != Arg::None) {
            return false;
        }
        return !given_sizes || &*operator.schema.namespace == "aten" && result.is_none() && is_size_query(operator);
    }
    if is_python(operator) {
        let is_number = |a: &Arg| match a {
            Arg::Int(_) | Arg::Float(_) => true,
            Arg::Node(n) => matches!(view.ty(*n), ValueType::SymInt(_) | ValueType::SymFloat(_)),
            _ => false,
        };
        return bound.args.iter().all(|a| is_number(a));
    }
    if let Some(kind) = operator.facts.contracts {
        // One that is given twice is two of them.
        let given = bound.args.iter().flat_map(|a| a.nodes()).filter_map(|n| f.tensor(side, place_of(view, n)));
        let given: Vec<&TensorType> = given.collect();
        return !given_sizes && takes_flags(operator, bound) && contract::fits(&f.sizes, kind, bound, &given);
    }
    if operator.facts.fits_filled {
        return !given_sizes && (contract::are_filled(&f.sizes, &types) || is_reduced_filled(f, operator, bound, from));
    }
    if has_known_sizes(&f.sizes, operator, bound, from, &types)
        || from.is_some_and(|from| {
            grid_fits(&f.sizes, operator, bound, (from, result), &types) && has_batch(&f.sizes, operator, from, &types)
        })
    {
        return !given_sizes && operator.facts.counts.is_none() || are_counts(&mut f.sizes, view, operator, bound);
    }
    if operator.facts.fits_alike {
        return !given_sizes && are_alike(f, &types);
    }
    if let Some(name) = &operator.facts.adds {
        let numbers = operator.schema.param_index(name).and_then(|i| bound.get(i).items());
        let sizes = numbers.and_then(|all| all.iter().map(|a| as_dim(view, a)).collect::<Option<Vec<Dim>>>());
        let Some(sizes) = sizes else { return false };
        if !sizes.iter().all(|d| f.sizes.at_most(Dim::Fixed(0), *d)) {
            return has_own_words(operator, bound) && from.is_some_and(|from| is_cut_within(f, from, &sizes));
        }
        return has_own_words(operator, bound)
            || from.is_some_and(|from| are_repeated(f, operator, bound, from, &sizes));
    }
    if let (Some(kind), [to, part]) = (operator.facts.scatters, types.as_slice()) {
        return !given_sizes && part_fits(f, kind, bound, to, part)
            || part_fits_sizes(f, side, kind, bound, (to, part));
    }
    let named = |name: &str| {
        let named = operator.schema.param_index(name).and_then(|i| bound.get(i).items());
        named.and_then(|all| all.iter().map(|a| as_dim(view, a)).collect::<Option<Vec<Dim>>>())
    };
    if let Some(name) = &operator.facts.fits_trailing {
        return named(name).is_some_and(|sizes| contract::are_trailing(&f.sizes, &sizes, &types));
    }
    if let Some(name) = &operator.facts.fits_normalised {
        return named(name).is_some_and(|sizes| contract::are_normalised(&f.sizes, &sizes, &types));
    }
    operator.pointwise
        && (!given_sizes || are_numbers_among(f, view, &scalars_of(view, node), &types))
        && types.iter().enumerate().all(|(i, a)| {
            types.iter().take(i).all(|b| {
                let pairs = a.sizes.iter().rev().zip(b.sizes.iter().rev());
                let one = Dim::Fixed(1);
                pairs.into_iter().all(|(x, y)| *x == one || *y == one || f.sizes.same(*x, *y))
            })
        })
}

/// Whether there are as many elements along each dimension as are taken away at both of its ends, the last dimension first.
fn is_cut_within(f: &Functional<'_>, from: &TensorType, added: &[Dim]) -> bool {
    let pairs = added.chunks(2).zip(from.sizes.iter().rev());
    added.len() <= from.rank().saturating_mul(2)
        && pairs.into_iter().all(|(ends, size)| {
            let taken = ends.iter().try_fold(0_i64, |all, d| all.checked_add(d.fixed()?.min(0).checked_neg()?));
            taken.is_some_and(|n| f.sizes.at_most(Dim::Fixed(n), *size))
        })
}

/// Whether there are as many elements along each dimension as are repeated beside it, in the way that a word says, the last dimension first.
fn are_repeated(f: &Functional<'_>, operator: &Operator, bound: &Bound<'_>, from: &TensorType, sizes: &[Dim]) -> bool {
    let mut slots = operator.schema.params.iter().zip(&bound.args);
    let word = slots.find(|(p, _)| p.ty.base == Base::Str).map(|(_, a)| *a);
    let pairs = sizes.len().div_euclid(2);
    let leading = from.rank().checked_sub(pairs).filter(|n| (1..=2).contains(n) && (1..=3).contains(&pairs));
    let filled = from.sizes.iter().all(|d| f.sizes.at_most(Dim::Fixed(1), *d));
    let (Some(Arg::Str(word)), Some(_), true) = (word, leading, filled) else { return false };
    sizes.chunks(2).zip(from.sizes.iter().rev()).all(|(pair, size)| {
        pair.iter().all(|added| {
            let Some(added) = added.fixed() else { return false };
            match &**word {
                "reflect" => f.sizes.at_most(Dim::Fixed(added.saturating_add(1)), *size),
                "circular" => f.sizes.at_most(Dim::Fixed(added), *size),
                "replicate" => true,
                _ => false,
            }
        })
    })
}

/// Whether all sizes that a call asks something of are numbers, which its type rule checked.
pub(super) fn has_known_sizes(
    all: &Sizes<'_>,
    operator: &Operator,
    bound: &Bound<'_>,
    from: Option<&TensorType>,
    types: &[&TensorType],
) -> bool {
    let Some(from) = from else { return false };
    if operator.facts.any_batch.is_some() {
        return from.sizes.iter().skip(1).all(|d| d.fixed().is_some()) && has_batch(all, operator, from, types);
    }
    let named = operator.facts.fits_along.as_ref().and_then(|name| operator.schema.param_index(name));
    let size = named.and_then(|i| axis(bound.get(i), from.rank())).and_then(|d| from.sizes.get(d));
    !types.is_empty()
        && types.iter().all(|t| all.all_same(&t.sizes, &from.sizes))
        && size.is_some_and(|d| d.fixed().is_some())
}

/// Whether the first dimension of the first tensor is a batch, and all that stands beside it has sizes that are numbers.
fn has_batch(sizes: &Sizes<'_>, operator: &Operator, from: &TensorType, types: &[&TensorType]) -> bool {
    let Some(ranks) = operator.facts.any_batch else { return false };
    let filled = || from.sizes.first().is_some_and(|d| sizes.at_most(Dim::Fixed(1), *d));
    if operator.facts.grid == Some(Grid::Filled) && !filled() {
        return false;
    }
    // One of more dimensions says that there is no batch.
    let known = |t: &&TensorType| t.rank() <= from.rank() && t.sizes.iter().all(|d| d.fixed().is_some());
    ranks.hold(from.rank()) && types.iter().skip(1).all(known)
}

/// Whether the numbers that `#counts` names are the first size of the first tensor, the second, and the product of all others.
pub(super) fn are_counts(sizes: &mut Sizes<'_>, view: &dyn View, operator: &Operator, bound: &Bound<'_>) -> bool {
    let Some(names) = &operator.facts.counts else { return false };
    let given: Option<Vec<Dim>> =
        names.split('|').map(|name| as_dim(view, bound.get(operator.schema.param_index(name)?))).collect();
    let from = bound.args.first().and_then(|a| a.as_node()).and_then(|n| view.ty(n).as_tensor());
    let (Some(given), Some([batch, channels, rest @ ..])) = (given, from.map(|t| t.sizes.as_slice())) else {
        return false;
    };
    let Some(inner) = sizes.product(rest) else { return false };
    matches!(given.as_slice(), [n, c, hw] if sizes.same(*n, *batch) && sizes.same(*c, *channels) && sizes.same(*hw, inner))
}

/// Whether all tensors have the same sizes.
fn are_alike(f: &Functional<'_>, types: &[&TensorType]) -> bool {
    types.windows(2).all(|pair| matches!(pair, [a, b] if f.sizes.all_same(&a.sizes, &b.sizes)))
}

/// Whether there is something along each dimension that is reduced, if those are named.
pub(super) fn is_reduced_filled(
    f: &Functional<'_>,
    operator: &Operator,
    bound: &Bound<'_>,
    from: Option<&TensorType>,
) -> bool {
    let (Some(from), Some(at)) = (from, operator.schema.param_index("dim")) else { return false };
    let named = bound.get(at);
    let dims = named.items().map_or_else(|| vec![named], |items| items.iter().collect());
    let filled = |a: &Arg| {
        let size = axis(a, from.rank()).and_then(|d| from.sizes.get(d));
        size.is_some_and(|d| f.sizes.at_most(Dim::Fixed(1), *d))
    };
    !dims.is_empty() && dims.into_iter().all(filled)
}

/// Whether what is put in place of a part has the sizes of that part, which is told by numbers of a dimension whose size is one.
fn part_fits(f: &Functional<'_>, kind: ViewStep, bound: &Bound<'_>, to: &TensorType, part: &TensorType) -> bool {
    let Some(dim) = axis(bound.get(2), to.rank()) else { return false };
    let Some(size) = to.sizes.get(dim).and_then(|d| d.fixed()) else { return false };
    let mut rest = to.sizes.clone();
    rest.remove(dim);
    let place = |arg: &Arg, default: i64| match arg {
        Arg::Int(v) if *v < 0 => v.checked_add(size).map(|v| v.clamp(0, size)),
        Arg::Int(v) => Some((*v).min(size)),
        Arg::None => Some(default),
        _ => None,
    };
    match kind {
        ViewStep::Select => {
            let there =
                matches!(bound.get(3), Arg::Int(v) if v.checked_add(size).is_some_and(|end| end >= 0) && *v < size);
            there && f.sizes.all_same(&rest, &part.sizes)
        }
        ViewStep::Slice => {
            let (Some(start), Some(end), Arg::Int(step @ 1..)) =
                (place(bound.get(3), 0), place(bound.get(4), size), bound.get(5))
            else {
                return false;
            };
            let span = end.max(start).checked_sub(start).and_then(|n| n.checked_add(step.checked_sub(1)?));
            let length = span.and_then(|n| n.checked_div(*step));
            let mut others = part.sizes.clone();
            if others.len() != to.rank() {
                return false;
            }
            let own = others.remove(dim);
            own.fixed() == length && length.is_some() && f.sizes.all_same(&rest, &others)
        }
        _ => false,
    }
}

/// The same where sizes are symbols, counted from the front: a part of as many places in a row, or one place, for all their values.
fn part_fits_sizes(
    f: &mut Functional<'_>,
    side: Side,
    kind: ViewStep,
    bound: &Bound<'_>,
    (to, part): (&TensorType, &TensorType),
) -> bool {
    let view = f.view(side);
    let Some(dim) = axis(bound.get(2), to.rank()) else { return false };
    let (Some(size), Some(start)) = (to.sizes.get(dim).copied(), as_dim(view, bound.get(3))) else { return false };
    let end = match kind {
        ViewStep::Select => f.sizes.add(start, Dim::Fixed(1)),
        ViewStep::Slice if *bound.get(5) == Arg::Int(1) => match bound.get(4) {
            Arg::None | Arg::Int(i64::MAX) => Some(size),
            given => as_dim(view, given),
        },
        _ => None,
    };
    let Some(end) = end else { return false };
    let inside = f.sizes.are_settled(&[start, end, size])
        && f.sizes.at_most(Dim::Fixed(0), start)
        && f.sizes.at_most(start, end)
        && f.sizes.at_most(end, size);
    let mut wanted = to.sizes.clone();
    match (kind, wanted.get_mut(dim)) {
        (ViewStep::Slice, Some(own)) => {
            let back = f.sizes.product(&[start, Dim::Fixed(-1)]);
            let Some(length) = back.and_then(|back| f.sizes.add(end, back)) else { return false };
            *own = length;
        }
        _ => drop(wanted.remove(dim)),
    }
    inside && f.sizes.all_same(&wanted, &part.sizes)
}

/// What a call is given that is no tensor and no list of tensors.
fn scalars_of(view: &dyn View, node: NodeId) -> Vec<NodeId> {
    let is_number = |n: &NodeId| !matches!(view.ty(*n), ValueType::Tensor(_) | ValueType::Many(_));
    view.operands(node).filter(is_number).collect()
}

/// Whether sizes stand as numbers beside tensors whose dtypes hold every integer, or what is nearest to it.
fn are_numbers_among(f: &mut Functional<'_>, view: &dyn View, numbers: &[NodeId], types: &[&TensorType]) -> bool {
    let floats = types.iter().all(|t| matches!(t.dtype, Dtype::F32 | Dtype::F64));
    let wide = floats || types.iter().all(|t| matches!(t.dtype, Dtype::F32 | Dtype::F64 | Dtype::I64));
    let mut held = |n: &NodeId| match view.ty(*n) {
        ValueType::SymInt(d) => f.sizes.is_settled(*d),
        ValueType::SymFloat(v) => floats && is_held(&mut f.sizes, view.symbols(), *v),
        _ => false,
    };
    numbers.iter().all(&mut held) && !types.is_empty() && wide
}

/// Whether flags that exclude one another are not set together.
fn takes_flags(operator: &Operator, bound: &Bound<'_>) -> bool {
    let is_true = |name: &str| operator.schema.param_index(name).is_some_and(|i| *bound.get(i) == Arg::Bool(true));
    let masked = operator.schema.param_index("attn_mask").is_some_and(|i| *bound.get(i) != Arg::None);
    !(is_true("is_causal") && masked)
}

/// Whether tensors have the same sizes along all dimensions but one.
pub(super) fn agree_but(f: &Functional<'_>, types: &[&TensorType], dim: usize) -> bool {
    types.windows(2).all(|pair| match pair {
        [a, b] => {
            let pairs = a.sizes.iter().zip(&b.sizes).enumerate();
            a.rank() == b.rank() && pairs.into_iter().all(|(k, (x, y))| k == dim || f.sizes.same(*x, *y))
        }
        _ => false,
    })
}

/// Whether sizes are at least 0 and the first two numbers do not fall: what is made of sizes and numbers alone.
fn numbers_rise(f: &mut Functional<'_>, side: Side, operator: &Operator, bound: &Bound<'_>) -> bool {
    let view = f.view(side);
    let mut numbers = Vec::new();
    for (param, arg) in operator.schema.params.iter().zip(&bound.args) {
        let all = arg.items().map_or_else(|| vec![*arg], |items| items.iter().collect());
        // Dimensions are checked by the type rule; tensors are no numbers.
        let counts = matches!(param.ty.base, Base::Scalar | Base::SymInt);
        for arg in all.into_iter().filter(|a| counts && matches!(a, Arg::Node(_) | Arg::Int(_))) {
            let Some(dim) = as_dim(view, arg).filter(|d| f.sizes.is_settled(*d)) else { return false };
            if operator.facts.any_number {
                continue;
            }
            if param.ty.base == Base::Scalar {
                numbers.push(dim);
            } else if !f.sizes.at_most(Dim::Fixed(0), dim) {
                return false;
            }
        }
    }
    match numbers.as_slice() {
        // Downwards where the step is negative.
        [first, second, Dim::Fixed(step), ..] if *step < 0 => f.sizes.at_most(*second, *first),
        [first, second, Dim::Fixed(1..), ..] | [first, second] => f.sizes.at_most(*first, *second),
        [_, _, ..] => false,
        [only] => f.sizes.at_most(Dim::Fixed(0), *only),
        [] => true,
    }
}

/// Whether an operator asks a tensor for numbers only.
fn is_size_query(operator: &Operator) -> bool {
    operator.schema.params.iter().filter(|p| p.ty.holds_tensors()).count() == 1
}

/// Whether an operator takes numbers only: no size has to fit another.
pub(super) fn is_python(operator: &Operator) -> bool {
    operator.schema.params.iter().all(|p| !p.ty.holds_tensors())
        && !operator.schema.returns.is_empty()
        && operator.schema.returns.iter().all(|r| !r.ty.holds_tensors())
}

/// Returns whether one broadcasts to the sizes of the other.
pub(super) fn fits_into(f: &Functional<'_>, from: Option<&TensorType>, to: Option<&TensorType>) -> bool {
    let (Some(from), Some(to)) = (from, to) else { return false };
    let mut pairs = from.sizes.iter().rev().zip(to.sizes.iter().rev());
    from.rank() <= to.rank() && pairs.all(|(x, y)| *x == Dim::Fixed(1) || f.sizes.same(*x, *y))
}

/// Whether any size that the call sees is a symbol.
pub(super) fn is_symbolic(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    let open = |t: &TensorType| t.sizes.iter().any(|d| d.fixed().is_none());
    let mut given = view.operands(node);
    given.any(|n| {
        !matches!(view.ty(n), ValueType::Tensor(_) | ValueType::Many(_))
            && view.ty(n) != &ValueType::None
            && !is_fixed_scalar(view.ty(n))
    }) || tensor_operands(view, node).into_iter().any(|p| f.tensor(side, p).is_none_or(open))
}

fn is_fixed_scalar(ty: &ValueType) -> bool {
    matches!(ty, ValueType::SymInt(Dim::Fixed(_)) | ValueType::Body(_))
}
