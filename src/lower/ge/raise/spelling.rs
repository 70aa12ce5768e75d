//! Calls of the graph that was lowered that say in another spelling what the raised graph says.
//!
//! Promises: a call becomes one of the same meaning: PyTorch itself makes of a convolution's list of one number a list of that number for every
//! dimension, an assertion asks the same whatever it prints, a solver that raises where there is no solution gives what one does that says so (that
//! nothing raises in the graph that was lowered is assumed anyway), and a scale that is a power of two is the ratio of the sizes, bit by bit, where these
//! are in that ratio.

use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, StrId, View};
use crate::sym::Dim;

const CONVOLUTION: &str = "aten.convolution.default";
const ASSERTION_THAT_SPEAKS: &str = "aten._assert_async.msg";
const ASSERTION: &str = "aten._assert_async.default";

/// Resampling; the `vec` forms take sizes, or a scale for each dimension in their place.
const RESAMPLING: &str = "aten.upsample_";

/// What raises where `check_errors` is set and a matrix has no inverse.
const THAT_RAISE: [&str; 3] =
    ["aten.linalg_inv_ex.default", "aten._linalg_solve_ex.default", "aten.linalg_cholesky_ex.default"];

/// The arguments of a convolution that are a number for each dimension: strides, pads, dilations, and pads of the result.
const BY_DIMENSION: [usize; 4] = [3, 4, 5, 7];

/// Spells calls as the raised graph does.
pub fn spelled(graph: &mut Graph) {
    let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
    for node in calls {
        match graph.target(node) {
            CONVOLUTION => by_dimension(graph, node),
            ASSERTION_THAT_SPEAKS => without_message(graph, node),
            target if target.starts_with(RESAMPLING) && target.ends_with(".vec") => by_sizes(graph, node),
            target if THAT_RAISE.contains(&target) => without_check(graph, node),
            _ => {}
        }
    }
}

fn by_dimension(graph: &mut Graph, node: NodeId) {
    let filter = graph.args(node).get(1).and_then(Arg::as_node);
    let Some(dims) = filter.and_then(|f| graph.ty(f).as_tensor()).and_then(|t| t.rank().checked_sub(2)) else { return };
    let mut args = graph.args(node).to_vec();
    for arg in args.iter_mut().enumerate().filter(|(place, _)| BY_DIMENSION.contains(place)).map(|(_, arg)| arg) {
        if let Some([one]) = arg.items() {
            *arg = Arg::List(vec![one.clone(); dims].into());
        }
    }
    let kwargs = graph.kwargs(node).to_vec();
    graph.set_args(node, args.into(), kwargs.into());
}

/// Only where what is asked stands first and nothing goes by keyword.
fn without_message(graph: &mut Graph, node: NodeId) {
    let ([asked, _], []) = (graph.args(node), graph.kwargs(node)) else { return };
    let args = vec![asked.clone()];
    graph.set_args(node, args.into(), Box::default());
    let target = graph.texts.intern(ASSERTION);
    graph.set_target(node, target);
}

/// Sizes in the place of scales. A kernel divides one by the scale, or the sizes by each other.
fn by_sizes(graph: &mut Graph, node: NodeId) {
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

/// Whether a scale is a power of two and takes one size to the other: then both quotients are it, exactly.
fn is_ratio(from: i64, to: i64, scale: f64) -> bool {
    const EXACT: std::ops::Range<i64> = 1..1 << 24;
    const MANTISSA: u64 = (1 << 52) - 1;
    let is_power = scale.is_normal() && scale > 0.0 && scale.to_bits() & MANTISSA == 0;
    #[allow(clippy::cast_precision_loss)] // Below 2^24.
    let takes = |from: i64, to: i64| from as f64 * scale == to as f64;
    is_power && EXACT.contains(&from) && EXACT.contains(&to) && takes(from, to)
}

fn without_check(graph: &mut Graph, node: NodeId) {
    let args = graph.args(node).to_vec();
    let kept = |key: StrId| graph.texts.text(key) != "check_errors";
    let kwargs: Vec<(StrId, Arg)> = graph.kwargs(node).iter().filter(|(key, _)| kept(*key)).cloned().collect();
    graph.set_args(node, args.into(), kwargs.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_powers_of_two_that_take_one_size_to_the_other_are_ratios() {
        assert!(is_ratio(4, 8, 2.0) && is_ratio(4, 2, 0.5) && is_ratio(3, 3, 1.0));
        assert!(!is_ratio(4, 9, 2.0) && !is_ratio(4, 12, 3.0) && !is_ratio(2, 5, 2.5) && !is_ratio(4, 8, -2.0));
    }
}
