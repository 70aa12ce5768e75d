//! Scales of what is resampled, as the raised graph says them: by sizes alone where those say the same.
//!
//! Promises: a scale is left out only where corners are aligned, or where it is the ratio of the sizes bit by bit; one that only running tells stays.

use crate::graph::{Arg, Graph, NodeId, View};
use crate::sym::Dim;

/// Where corners are aligned scales place nothing; elsewhere one that is the ratio of the sizes places as these do.
pub(super) fn by_corners(graph: &mut Graph, node: NodeId) {
    let mut args = graph.args(node).to_vec();
    let sizes = |n: NodeId| -> Vec<Dim> {
        graph.ty(n).as_tensor().map(|t| t.sizes.iter().skip(2).copied().collect()).unwrap_or_default()
    };
    let (from, to) = match (graph.target(node).ends_with("_backward.default"), graph.args(node)) {
        // A gradient is told both.
        (true, [_, to, from, ..]) => (said(from, 2), said(to, 0)),
        (_, [x, ..]) => (x.as_node().map(sizes).unwrap_or_default(), sizes(node)),
        (_, []) => return,
    };
    // The nearest sample is taken without a word on corners.
    for scale in args.iter_mut().skip(2) {
        *scale = scale_of(scale);
    }
    let (corners, scales) = match args.as_mut_slice() {
        [_, _, Arg::Bool(corners), scales @ ..] => (*corners, scales),
        [_, _, scales @ ..] | [_, _, Arg::List(_), scales @ ..]
            if scales.iter().all(|s| matches!(s, Arg::Float(_) | Arg::None)) =>
        {
            (false, scales)
        }
        _ => return,
    };
    if !graph.kwargs(node).is_empty() || scales.len() > from.len() {
        return;
    }
    for (scale, (from, to)) in scales.iter_mut().zip(from.into_iter().zip(to)) {
        let is_of_sizes = match (&*scale, from, to) {
            (Arg::Float(by), Dim::Fixed(from), Dim::Fixed(to)) => is_ratio(from, to, *by),
            // Of every size, however it is rounded, as many times that by a power of two is the power.
            (Arg::Float(by), from, to) => {
                power(*by).is_some_and(|times| graph.symbols.mul(from, Dim::Fixed(times)).is_ok_and(|d| d == to))
            }
            _ => false,
        };
        if corners || is_of_sizes {
            *scale = Arg::None;
        }
    }
    graph.set_args(node, args.into(), Box::default());
}

/// A scale is a float, however it is written.
#[allow(clippy::cast_precision_loss)] // Small.
fn scale_of(arg: &Arg) -> Arg {
    match arg {
        Arg::Int(n) if n.unsigned_abs() <= 4096 => Arg::Float(*n as f64),
        other => other.clone(),
    }
}

/// The sizes that are said from a place on; none where one of them is a symbol.
fn said(sizes: &Arg, from: usize) -> Vec<Dim> {
    let fixed = |size: &Arg| if let Arg::Int(n) = size { Some(Dim::Fixed(*n)) } else { None };
    sizes.items().and_then(|all| all.iter().skip(from).map(fixed).collect()).unwrap_or_default()
}

/// A small power of two, from one on.
#[allow(clippy::cast_possible_truncation)] // Small.
fn power(scale: f64) -> Option<i64> {
    let whole = (scale.fract() == 0.0 && (1.0..=4096.0).contains(&scale)).then_some(scale as i64)?;
    (whole.count_ones() == 1).then_some(whole)
}

/// Sizes in the place of scales. A kernel divides one by the scale, or the sizes by each other.
pub(super) fn by_sizes(graph: &mut Graph, node: NodeId) {
    let mut args = graph.args(node).to_vec();
    let (Some(Arg::Node(x)), Some(Arg::None), Some(scales)) =
        (args.first(), args.get(1), args.last().and_then(|a| Some(a.items()?.to_vec())))
    else {
        return;
    };
    let sizes_of = |n: NodeId| -> Option<Vec<i64>> {
        graph.ty(n).as_tensor()?.sizes.iter().skip(2).map(|d: &Dim| d.fixed()).collect()
    };
    let (Some(from), Some(to)) = (sizes_of(*x), sizes_of(node)) else { return };
    let fits = |((from, to), scale): ((&i64, &i64), &Arg)| matches!(scale, Arg::Float(s) if is_ratio(*from, *to, *s));
    if !graph.kwargs(node).is_empty() || scales.len() != from.len() || !from.iter().zip(&to).zip(&scales).all(fits) {
        return;
    }
    if let Some(sizes) = args.get_mut(1) {
        *sizes = Arg::List(to.into_iter().map(Arg::Int).collect());
    }
    if let Some(scales) = args.last_mut() {
        *scales = Arg::None;
    }
    graph.set_args(node, args.into(), Box::default());
}

/// Whether a scale takes one size to the other, exactly. Then one by the scale and the one size by the other are one number: the kernel rounds it to
/// single precision, the first by way of double precision, which a quotient of numbers of 24 bits survives unchanged (53 are at least twice that and two).
fn is_ratio(from: i64, to: i64, scale: f64) -> bool {
    const EXACT: std::ops::Range<i64> = 1..1 << 24;
    // A number of so few digits times a size loses none.
    let is_short = scale > 0.0 && scale <= 4096.0 && (scale * 65536.0).fract() == 0.0;
    #[allow(clippy::cast_precision_loss, clippy::float_cmp)] // Below 2^24.
    let takes = |from: i64, to: i64| from as f64 * scale == to as f64;
    is_short && EXACT.contains(&from) && EXACT.contains(&to) && takes(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_numbers_that_take_one_size_to_the_other_are_ratios() {
        assert!(is_ratio(4, 8, 2.0) && is_ratio(4, 2, 0.5) && is_ratio(3, 3, 1.0));
        assert!(is_ratio(4, 12, 3.0) && is_ratio(2, 5, 2.5) && is_ratio(4, 6, 1.5));
        assert!(!is_ratio(4, 9, 2.0) && !is_ratio(4, 6, 1.7) && !is_ratio(4, 8, -2.0));
        // The product is five only because it is rounded.
        assert!(!is_ratio(3, 5, 5.0 / 3.0) && !is_ratio(1 << 24, 1 << 25, 2.0));
        for (size, times) in (1_i64..2000).flat_map(|size| [3_i64, 5, 7, 9].map(|times| (size, times))) {
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // As the kernel does.
            let (by_scale, by_sizes) = ((1.0 / times as f64) as f32, size as f32 / (size * times) as f32);
            assert!(by_scale.to_bits() == by_sizes.to_bits(), "{size} {times}");
        }
    }
}
