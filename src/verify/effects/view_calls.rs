//! Whether there is the view that a call asks for: places within their dimension, sizes that make up the whole, strides that have such a view.
//!
//! Promises: "yes" only for all values of symbols. Layouts count only where no strides are hearsay.

use crate::analysis::{Place, place_of, tensor_operands};
use crate::graph::{Arg, Dtype, NodeId, NodeKind, TensorType};
use crate::ops::{Bound, Operator, SharesWhen, ViewStep, Viewed, has_view_of_reshape, view_strides};
use crate::sym::{Dim, Symbols};
use crate::term::term::Side;
use crate::verify::effects::sizes::{fits_into, is_symbolic};
use crate::verify::functional::values::{Functional, bind};
use crate::verify::functional::views::{ViewCall, as_dim, axis};

/// Whether sizes that stand for one dimension are that one, where a call names it: there may be no elements whatever it is.
fn is_parted(
    f: &mut Functional<'_>,
    operator: &Operator,
    bound: &Bound<'_>,
    from: &TensorType,
    to: &TensorType,
) -> bool {
    let (Some(dim), Some(_)) = (operator.schema.param_index("dim"), operator.schema.param_index("sizes")) else {
        return true;
    };
    let parts = to.rank().checked_add(1).and_then(|n| n.checked_sub(from.rank()));
    let (Some(d), Some(parts)) = (axis(bound.get(dim), from.rank()), parts) else { return false };
    let whole = from.sizes.get(d).copied();
    let product = to.sizes.get(d..d.saturating_add(parts)).and_then(|all| f.sizes.product(all));
    whole.zip(product).is_some_and(|(a, b)| f.sizes.same(a, b))
}

/// Whether there is the view of an operand that a step asks for.
pub(super) fn step_fits(
    f: &mut Functional<'_>,
    side: Side,
    node: NodeId,
    step: ViewStep,
    operator: &Operator,
    bound: &Bound<'_>,
    from: &TensorType,
) -> bool {
    let view = f.view(side);
    let place = place_of(view, node);
    let to = f.tensor(side, place);
    match step {
        _ if to.is_some_and(|t| !t.sizes.iter().all(|d| f.sizes.at_most(Dim::Fixed(0), *d))) => false,
        ViewStep::Permute
        | ViewStep::Transpose
        | ViewStep::Reverse
        | ViewStep::LastTwo
        | ViewStep::Move
        | ViewStep::Flip
        | ViewStep::Diagonal => true,
        ViewStep::Slice => bound.args.get(4).is_none_or(|a| matches!(a, Arg::Int(step) if *step > 0)),
        ViewStep::Expand => {
            let not_negative = to.is_some_and(|t| t.sizes.iter().all(|d| f.sizes.at_most(Dim::Fixed(0), *d)));
            not_negative && fits_into(f, Some(from), to)
        }
        ViewStep::Select => selects(f, side, bound, from),
        ViewStep::Unbind => bound
            .args
            .get(1)
            .and_then(|a| axis(a, from.rank()))
            .and_then(|d| from.sizes.get(d))
            .is_some_and(|d| d.fixed().is_some()),
        ViewStep::Pieces => pieces_fit(f, side, node, bound, from),
        ViewStep::Reshape => {
            let Some(to) = to else { return false };
            // Another dtype of the same width sees each element where it is.
            if bound.args.iter().any(|a| matches!(a, Arg::Dtype(_))) && from.dtype.bytes() == to.dtype.bytes() {
                // Parts of complex numbers may be negations that are not computed yet.
                let source = bound.args.first().and_then(|a| a.as_node()).map(|n| place_of(view, n));
                let origin = source.map(|s| f.side(side).storages.origin(s));
                let memory = origin.and_then(|o| f.tensor(side, o)).map(|t| t.dtype);
                return memory.is_some_and(|d| !d.is_complex()) && !to.dtype.is_complex();
            }
            if bound.args.iter().any(|a| matches!(a, Arg::Dtype(_))) {
                return bytes_lie_together(f, side, bound, to);
            }
            let call = ViewCall { view, operator, bound, place };
            is_parted(f, operator, bound, from, to)
                && call.step(from, to, &mut f.sizes).is_some()
                && guesses_no_size(f, side, bound, to)
        }
        ViewStep::PiecesAt => !is_symbolic(f, side, node),
        ViewStep::Windows => !is_symbolic(f, side, node) || windows_lie_within(f, bound, from),
        ViewStep::Narrow if is_symbolic(f, side, node) => lies_within_sizes(f, side, bound, from),
        ViewStep::Narrow => lies_within(bound, from),
    }
}

/// Whether elements of another width may be seen in those of an operand: its last dimension lies without gaps, and where they are wider it has as many bytes as
/// some of them, and begins where one may.
fn bytes_lie_together(f: &mut Functional<'_>, side: Side, bound: &Bound<'_>, to: &TensorType) -> bool {
    let Some(source) = bound.args.first().and_then(|a| a.as_node()) else { return false };
    let place = place_of(f.view(side), source);
    let origin = f.side(side).storages.origin(place);
    let Some(from) = f.laid_out(side, place) else { return false };
    let plain = |d: Dtype| d.is_integer() || d.is_float();
    // The stride of a dimension of one place is asked for, too.
    let Some((Dim::Fixed(1), others)) = from.strides.as_deref().and_then(|all| all.split_last().map(|(l, o)| (*l, o)))
    else {
        return false;
    };
    if crate::analysis::contiguous(from) != Some(true) || !plain(from.dtype) || !plain(to.dtype) {
        return false;
    }
    let (own, wide) = (from.dtype.bytes().max(1), to.dtype.bytes());
    if wide <= own {
        return own.checked_rem(wide) == Some(0);
    }
    let times = wide.checked_div(own).and_then(|n| i64::try_from(n).ok()).unwrap_or(1);
    let fits = |d: Dim| d.fixed().and_then(|n| n.checked_rem(times)) == Some(0);
    f.view(side).kind(origin.node) == NodeKind::Call
        && fits(from.offset)
        && others.iter().all(|stride| fits(*stride))
        && from.sizes.last().is_some_and(|size| fits(*size))
}

/// Whether a dimension has room for one window at least, in steps of 1 or more.
fn windows_lie_within(f: &Functional<'_>, bound: &Bound<'_>, from: &TensorType) -> bool {
    let (Arg::Int(size @ 0..), Arg::Int(1..)) = (bound.get(2), bound.get(3)) else { return false };
    let along = axis(bound.get(1), from.rank()).and_then(|d| from.sizes.get(d));
    along.is_some_and(|whole| f.sizes.at_most(Dim::Fixed(*size), *whole))
}

/// A size of -1 stands for what is left: where another may be 0, nobody knows what that is. Sizes are not negative.
fn guesses_no_size(f: &mut Functional<'_>, side: Side, bound: &Bound<'_>, to: &TensorType) -> bool {
    let view = f.view(side);
    let given: Vec<&Arg> = bound.args.iter().filter_map(|a| a.items()).flatten().collect();
    let sizes = &f.sizes;
    let is_guess = |a: &Arg| as_dim(view, a).is_none_or(|d| !sizes.at_most(Dim::Fixed(0), d));
    let least = Dim::Fixed(i64::from(given.iter().any(|a| is_guess(a))));
    let aligned = given.len() == to.rank();
    to.sizes.iter().enumerate().all(|(i, d)| {
        let guessed = aligned && given.get(i).is_some_and(|a| is_guess(a));
        f.sizes.at_most(if guessed { Dim::Fixed(0) } else { least }, *d)
    })
}

/// Pieces of a size that is a symbol: there are as many as said, and they make up the whole.
fn pieces_fit(f: &mut Functional<'_>, side: Side, node: NodeId, bound: &Bound<'_>, from: &TensorType) -> bool {
    let positive = |a: &Arg| matches!(a, Arg::Int(n) if *n > 0);
    let lengths_are_sizes = bound.args.get(1).is_some_and(|a| match a.items() {
        Some(all) => all.iter().all(|a| positive(a) || *a == Arg::Int(0)),
        None => positive(a),
    });
    if !lengths_are_sizes {
        return false;
    }
    let places = f.side(side).storages.places(node);
    let Some(dim) = bound.args.get(2).and_then(|a| axis(a, from.rank())) else { return false };
    let Some(whole) = from.sizes.get(dim).copied() else { return false };
    let mut lengths = Vec::new();
    for place in places {
        let Some(length) = f.tensor(side, place).and_then(|t| t.sizes.get(dim)).copied() else { return false };
        lengths.push(length);
    }
    if whole.fixed().is_some() && lengths.iter().all(|l| l.fixed().is_some()) {
        return true;
    }
    let mut sum = Dim::Fixed(0);
    for length in &lengths {
        let Some(more) = f.sizes.add(sum, *length) else { return false };
        sum = more;
    }
    let (Some(first), Some(last)) = (lengths.first().copied(), lengths.last().copied()) else { return false };
    let listed = bound.args.get(1).is_some_and(|a| a.items().is_some());
    let even = lengths.iter().rev().skip(1).all(|l| f.sizes.same(*l, first)) && f.sizes.at_most(last, first);
    let least = Dim::Fixed(i64::from(!listed));
    f.sizes.same(sum, whole) && lengths.iter().all(|l| f.sizes.at_most(least, *l)) && (listed || even)
}

/// Whether a part of a dimension, by numbers, lies in it.
fn lies_within(bound: &Bound<'_>, from: &TensorType) -> bool {
    let (Arg::Int(start), Arg::Int(length)) = (bound.get(2), bound.get(3)) else { return false };
    let size = axis(bound.get(1), from.rank()).and_then(|d| from.sizes.get(d)).and_then(|d| d.fixed());
    let Some(size) = size else { return false };
    let first = if *start < 0 { start.saturating_add(size) } else { *start };
    first >= 0 && *length >= 0 && first.saturating_add(*length) <= size
}

/// The same of a part, counted from the front, by sizes that are symbols.
fn lies_within_sizes(f: &mut Functional<'_>, side: Side, bound: &Bound<'_>, from: &TensorType) -> bool {
    let view = f.view(side);
    let (Some(dim), Some(start), Some(length)) = (bound.args.get(1), bound.args.get(2), bound.args.get(3)) else {
        return false;
    };
    let size = axis(dim, from.rank()).and_then(|d| from.sizes.get(d).copied());
    let (Some(size), Some(start), Some(length)) = (size, as_dim(view, start), as_dim(view, length)) else {
        return false;
    };
    let Some(end) = f.sizes.add(start, length) else { return false };
    let zero = Dim::Fixed(0);
    f.sizes.are_settled(&[start, length, size])
        && f.sizes.at_most(zero, start)
        && f.sizes.at_most(zero, length)
        && f.sizes.at_most(end, size)
}

/// Returns whether the index of a selection is always in range.
fn selects(f: &mut Functional<'_>, side: Side, bound: &Bound<'_>, from: &TensorType) -> bool {
    let view = f.view(side);
    let (Some(dim), Some(index)) = (bound.args.get(1), bound.args.get(2)) else { return false };
    let size = axis(dim, from.rank()).and_then(|d| from.sizes.get(d).copied());
    let (Some(size), Some(index)) = (size, as_dim(view, index)) else { return false };
    let Some(after) = f.sizes.add(index, Dim::Fixed(1)) else { return false };
    let Some(end) = f.sizes.add(index, size) else { return false };
    f.sizes.are_settled(&[index, size]) && f.sizes.at_most(after, size) && f.sizes.at_most(Dim::Fixed(0), end)
}

/// Whether there is a view of that operand, where its strides decide.
pub(super) fn holds_by_layout(
    f: &mut Functional<'_>,
    side: Side,
    node: NodeId,
    operator: &Operator,
    bound: &Bound<'_>,
) -> bool {
    if operator.facts.if_contiguous && !are_contiguous(f, side, node) {
        return false;
    }
    if !operator.facts.layout_decides {
        return true;
    }
    let view = f.view(side);
    let Some(source) = bound.args.first().and_then(|a| a.as_node()) else { return false };
    let source = place_of(view, source);
    if view.hearsay(source.node).strides() {
        return false;
    }
    f.layout_counts = true;
    let (Some(from), Some(to)) = (f.tensor(side, source), f.tensor(side, place_of(view, node))) else { return false };
    if to.dtype.is_complex() && !from.dtype.is_complex() {
        // Pairs begin at even places; parts of complex numbers may be negations that are not computed yet.
        let origin = f.side(side).storages.origin(source);
        let plain = f.tensor(side, origin).is_some_and(|t| !t.dtype.is_complex());
        return plain && from.offset.fixed().is_some() && crate::analysis::contiguous(from) == Some(true);
    }
    if from.dtype.bytes() != to.dtype.bytes() {
        return bytes_lie_together(f, side, bound, to);
    }
    has_view(f.sizes.own(), from, to, bound) || is_seen_through_a_reshape(f, side, source, to)
}

/// Whether all tensors that a call is given lie row by row, by rules; strides of dimensions of one place count, too.
fn are_contiguous(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    f.layout_counts = true;
    let view = f.view(side);
    let told = |p: &Place| view.hearsay(p.node).strides();
    let operands = tensor_operands(view, node);
    let lies = |t: &TensorType| {
        let mut step = Some(1_i64);
        let strides = t.strides.iter().flatten().rev();
        t.strides.is_some()
            && t.sizes.iter().rev().zip(strides).all(|(size, stride)| {
                let holds = step.is_some() && stride.fixed() == step;
                step = step.zip(size.fixed()).and_then(|(step, size)| step.checked_mul(size.max(1)));
                holds
            })
    };
    operands.iter().all(|p| !told(p) && f.tensor(side, *p).is_some_and(lies))
}

/// Whether what is viewed is a reshape, and there is a view of it whether or not that is one itself.
fn is_seen_through_a_reshape(f: &mut Functional<'_>, side: Side, reshaped: Place, to: &TensorType) -> bool {
    let view = f.view(side);
    let operator = f.registry.operator_of(view, reshaped.node).filter(|o| o.facts.shares == Some(SharesWhen::Reshaped));
    let (Some(operator), Some(between)) = (operator, f.tensor(side, reshaped)) else { return false };
    let source = bind(operator, view, reshaped.node).and_then(|b| b.args.first()?.as_node()).map(|n| place_of(view, n));
    let Some(from) = source.filter(|s| !view.hearsay(s.node).strides()).and_then(|s| f.tensor(side, s)) else {
        return false;
    };
    let alike = from.dtype == between.dtype && between.dtype == to.dtype && !from.dtype.is_complex();
    alike && has_view_of_reshape(f.sizes.own(), from, &between.sizes, &to.sizes)
}

/// Whether a tensor that lies so has a view of that type.
pub(super) fn has_view(symbols: &mut Symbols, from: &TensorType, to: &TensorType, bound: &Bound<'_>) -> bool {
    if from.dtype.is_complex() {
        // A conjugate that is not computed yet has no such view.
        return false;
    }
    if bound.args.iter().any(|a| matches!(a, Arg::Dtype(_))) {
        // A dtype of another width sees other elements.
        return from.dtype.bytes() == to.dtype.bytes();
    }
    crate::analysis::contiguous(from) == Some(true)
        || matches!(view_strides(symbols, from, &to.sizes), Ok(Viewed::As(_)))
        || crate::ops::has_view(symbols, from, &to.sizes) == Some(true)
}

#[cfg(test)]
mod tests {
    use crate::verify::tests::programs::{program, registry};
    use crate::verify::{JudgeOptions, judge_pair};

    #[test]
    fn elements_of_another_width_are_seen_where_they_may_begin() {
        let accepted = |seen: &str| {
            let added = format!("v = aten.view.dtype({seen})\ny = aten.add.Tensor(x, 1)\nreturn (y,)");
            let (before, after) = ("y = aten.add.Tensor(x, 1)\nreturn (y,)", added.as_str());
            let [before, after] = [before, after].map(|lines| program("x: f32[1, 4]", lines));
            judge_pair(&before, &after, &registry(), &JudgeOptions::default()).accepted
        };
        assert!(accepted("x, torch.int16"));
        // Where an input begins, a wider element may not.
        assert!(!accepted("x, torch.int64"));
    }
}
