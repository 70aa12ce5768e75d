//! Calls of the graph that was lowered that say in another spelling what the raised graph says.
//!
//! Promises: a call becomes one of the same meaning: PyTorch itself makes of a convolution's list of one number a list of that number for every
//! dimension, a norm by ones and zeros is one without, and one by given statistics one of any momentum, bits of truth values are these, values that are put are repeated by what puts them, an assertion asks the same whatever it prints, equals that may be sorted in any order may be in their own, windows are moved by their length and deviations corrected by one if nobody says otherwise, and a solver that raises where there is no solution gives what one does that says so (that
//! nothing raises in the graph that was lowered is assumed anyway). Leaves whole numbers to `numbers` and scales to `scales`.

use super::between::nothing_is_written;
use super::numbers::{COUNTED, COUNTED_BY, COUNTED_FROM, one_by_one, with_whole_numbers};
use super::scales::{by_corners, by_sizes};
use super::{fourier, scatters, told};
use crate::graph::{Arg, BodyId, Dtype, Graph, Layout, NewNode, NodeId, NodeKind, StrId, View, replace};
use crate::ops::Registry;

const CONVOLUTION: &str = "aten.convolution.default";
const ASSERTION_THAT_SPEAKS: &str = "aten._assert_async.msg";
const ASSERTION: &str = "aten._assert_async.default";
const SOLVED: &str = "aten._linalg_solve_ex.default";
const TURNED: &str = "aten.transpose.int";
const ITEM: &str = "_operator.getitem";
const CONVERTED: &str = "aten._to_copy.default";
const EMBEDDING: &str = "aten.embedding.default";
const PUT: &str = "aten.index_put.default";
const COPY: &str = "aten.clone.default";
const REAL: &str = "aten.real.default";
const IMAGINARY: &str = "aten.imag.default";
const QUOTIENT: &str = "aten.div.Tensor_mode";
const SORTED: &str = "aten.sort.stable";
const UNSET: &str = "aten.new_empty.default";
const EMPTY: &str = "aten.empty.memory_format";
const LOG_SIGMOID_GRADIENT: &str = "aten.log_sigmoid_backward.default";

/// What may widen half precision on the way.
const SOFTMAXES: [&str; 2] = ["aten._softmax.default", "aten._log_softmax.default"];

/// What takes or puts elements, and where its places stand.
const TAKEN: [(&str, usize); 6] = [
    ("aten.index.Tensor", 1),
    ("aten._unsafe_index.Tensor", 1),
    (PUT, 1),
    ("aten.gather.default", 2),
    ("aten.index_select.default", 2),
    (EMBEDDING, 1),
];

/// Whether any, or all, elements are not zero.
const OF_SOME: [&str; 6] =
    ["aten.any.default", "aten.any.dim", "aten.any.dims", "aten.all.default", "aten.all.dim", "aten.all.dims"];

/// Norms, and where what they are scaled by stands; what is added follows.
const NORMS: [(&str, usize); 7] = [
    ("aten.native_layer_norm.default", 2),
    ("aten.layer_norm.default", 2),
    ("aten.native_group_norm.default", 1),
    ("aten.group_norm.default", 2),
    ("aten._native_batch_norm_legit_no_training.default", 1),
    ("aten.batch_norm.default", 1),
    ("aten.native_batch_norm.default", 1),
];

/// Norms by statistics that are given, where the momentum stands with which no statistics are updated, and the argument that says so.
const BY_GIVEN: [(&str, usize, Option<usize>); 3] = [
    ("aten._native_batch_norm_legit_no_training.default", 5, None),
    ("aten.batch_norm.default", 6, Some(5)),
    ("aten.native_batch_norm.default", 6, Some(5)),
];

/// What is computed bit by bit, and the same of truth values.
const OF_BITS: [(&str, &str); 4] = [
    ("aten.bitwise_and.Tensor", "aten.logical_and.default"),
    ("aten.bitwise_or.Tensor", "aten.logical_or.default"),
    ("aten.bitwise_xor.Tensor", "aten.logical_xor.default"),
    ("aten.bitwise_not.default", "aten.logical_not.default"),
];

/// What adds up, or multiplies, in a dtype that may be said.
const ADDING_UP: [&str; 4] =
    ["aten.cumsum.default", "aten.cumprod.default", "aten.sum.dim_IntList", "aten.prod.dim_int"];

/// Extremes of all, or with their places, and what gives them alone.
const EXTREMES: [(&str, &str); 4] = [
    ("aten.max.default", "aten.amax.default"),
    ("aten.min.default", "aten.amin.default"),
    ("aten.max.dim", "aten.amax.default"),
    ("aten.min.dim", "aten.amin.default"),
];

/// Deviations, and what they are taken from: over all dimensions if none is named, and but for one if nobody says.
const DEVIATIONS: [&str; 4] =
    ["aten.std.correction", "aten.var.correction", "aten.std_mean.correction", "aten.var_mean.correction"];

/// Windows that are moved by their own length if nobody says by how much.
const WINDOWS: [&str; 3] = ["aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default"];

/// Resampling; the `vec` forms take sizes, or a scale for each dimension in their place.
const RESAMPLING: &str = "aten.upsample_";

/// What raises where `check_errors` is set and a matrix has no inverse.
const THAT_RAISE: [&str; 3] =
    ["aten.linalg_inv_ex.default", "aten._linalg_solve_ex.default", "aten.linalg_cholesky_ex.default"];

/// The arguments of a convolution that are a number for each dimension: strides, pads, dilations, and pads of the result.
const BY_DIMENSION: [usize; 4] = [3, 4, 5, 7];

/// Spells calls as the raised graph does, or of both graphs in the same way.
pub fn spelled(graph: &mut Graph, registry: &Registry) {
    let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
    for node in calls {
        with_whole_numbers(graph, registry, node);
        match graph.target(node) {
            CONVOLUTION => by_dimension(graph, node),
            ASSERTION_THAT_SPEAKS => without_message(graph, node),
            CONVERTED => of_bytes(graph, registry, node),
            QUOTIENT => without_mode(graph, node),
            target if let Some((_, places)) = TAKEN.iter().find(|(taken, _)| *taken == target) => {
                of_rows(graph, node);
                unspread(graph, node);
                by_narrow_places(graph, registry, node, *places);
            }
            target if let Some((_, scale)) = NORMS.iter().find(|(norm, _)| *norm == target) => {
                without_neutral(graph, node, *scale);
                without_momentum(graph, node);
            }
            target if let Some((_, extreme)) = EXTREMES.iter().find(|(of, _)| *of == target) => {
                values_alone(graph, registry, node, extreme).unwrap_or_default();
            }
            target if ADDING_UP.contains(&target) => without_dtype(graph, registry, node),
            target if DEVIATIONS.contains(&target) => with_correction(graph, node),
            target if WINDOWS.contains(&target) => with_steps(graph, node),
            COPY => as_conjugate(graph, node),
            REAL | IMAGINARY => as_half(graph, registry, node),
            COUNTED | COUNTED_FROM | COUNTED_BY => one_by_one(graph, node),
            target if target.starts_with(RESAMPLING) && target.ends_with(".vec") => by_sizes(graph, node),
            target if target.starts_with(RESAMPLING) => {
                by_place(graph, registry, node);
                by_corners(graph, node);
            }
            UNSET => as_empty(graph, node),
            LOG_SIGMOID_GRADIENT => without_buffer(graph, node),
            SORTED => as_stable(graph, node),
            target if SOFTMAXES.contains(&target) => widened_first(graph, registry, node),
            target if THAT_RAISE.contains(&target) => {
                without_check(graph, node);
                of_columns(graph, registry, node).unwrap_or_default();
            }
            target if let Some((_, logical)) = OF_BITS.iter().find(|(bits, _)| *bits == target) => {
                of_truths(graph, node, logical);
            }
            _ => {}
        }
    }
    scatters::without_neutral(graph, registry);
    told::spelled(graph, registry);
}

/// Half precision that is widened on the way is widened first: a device computes these in single precision, and rounds nothing that it widens.
fn widened_first(graph: &mut Graph, registry: &Registry, node: NodeId) {
    let args = graph.args(node).to_vec();
    let [Arg::Node(x), dim, Arg::Bool(true)] = args.as_slice() else { return };
    let dim = dim.clone();
    let kwargs = vec![(graph.texts.intern("dtype"), Arg::Dtype(Dtype::F32))];
    let own: Box<[Arg]> = Box::new([Arg::Node(*x)]);
    let Ok(ty) = registry.infer(graph, CONVERTED, &own, &kwargs) else { return };
    let (name, target) = (graph.free_name(BodyId::ROOT, "widened"), graph.texts.intern(CONVERTED));
    let new = NewNode { kind: NodeKind::Call, target, args: own, kwargs: kwargs.into(), ty };
    let widened = graph.insert(BodyId::ROOT, Some(node), &name, new);
    graph.set_args(node, Box::new([Arg::Node(widened), dim, Arg::Bool(false)]), Box::default());
}

/// A right side that is a vector is a column, and one from the other side is turned, where no factors are read.
fn of_columns(graph: &mut Graph, registry: &Registry, node: NodeId) -> Option<()> {
    let [Arg::Node(a), Arg::Node(b)] = graph.args(node) else { return None };
    let (a, b) = (*a, *b);
    let rank = |n: NodeId| graph.ty(n).as_tensor().map(|t| t.rank());
    let (of_a, of_b) = (rank(a)?, rank(b)?);
    let left = graph.texts.intern("left");
    let turned = graph.kwargs(node).iter().any(|(key, value)| *key == left && *value == Arg::Bool(false));
    if graph.target(node) != SOLVED || !(turned && of_a == of_b || !turned && of_b.checked_add(1) == Some(of_a)) {
        return None;
    }
    let is_read = |n: &NodeId| graph.target(*n) != ITEM || !graph.users_in_order(*n).is_empty();
    let read: Vec<NodeId> = graph.users_in_order(node).iter().copied().filter(is_read).collect();
    let item = |n: &NodeId| match graph.args(*n) {
        [_, Arg::Int(at)] if graph.target(*n) == ITEM => Some(*at),
        _ => None,
    };
    let (solutions, failures): (Vec<NodeId>, Vec<NodeId>) = read.into_iter().partition(|n| item(n) == Some(0));
    // At which step there is no pivot, other rows would tell otherwise.
    if !failures.iter().all(|n| item(n) == Some(3)) || turned && !failures.is_empty() {
        return None;
    }
    let mut call = |target: &str, args: Vec<Arg>| fourier::made(graph, registry, node, target, args);
    let exchanged = |n: NodeId| vec![Arg::Node(n), Arg::Int(-2), Arg::Int(-1)];
    let operands = if turned {
        [call(TURNED, exchanged(a))?, call(TURNED, exchanged(b))?]
    } else {
        [a, call("aten.unsqueeze.default", vec![Arg::Node(b), Arg::Int(-1)])?]
    };
    let solved = call(SOLVED, operands.map(Arg::Node).to_vec())?;
    let solution = call(ITEM, vec![Arg::Node(solved), Arg::Int(0)])?;
    let made = if turned {
        call(TURNED, exchanged(solution))?
    } else {
        call("aten.squeeze.dim", vec![Arg::Node(solution), Arg::Int(-1)])?
    };
    for old in solutions {
        replace(graph, old, &[Arg::Node(made)]);
    }
    for old in failures {
        let failure = fourier::made(graph, registry, node, ITEM, vec![Arg::Node(solved), Arg::Int(3)])?;
        replace(graph, old, &[Arg::Node(failure)]);
    }
    Some(())
}

/// An extreme whose place nobody reads.
fn values_alone(graph: &mut Graph, registry: &Registry, node: NodeId, extreme: &str) -> Option<()> {
    let args = graph.args(node).to_vec();
    let is_read = |n: &NodeId| graph.target(*n) != ITEM || !graph.users_in_order(*n).is_empty();
    let users: Vec<NodeId> = graph.users_in_order(node).iter().copied().filter(is_read).collect();
    let is_value = |n: &NodeId| graph.target(*n) == ITEM && matches!(graph.args(*n), [_, Arg::Int(0)]);
    let (args, read) = match args.as_slice() {
        _ if !graph.kwargs(node).is_empty() => return None,
        [Arg::Node(x)] => {
            let rank = i64::try_from(graph.ty(*x).as_tensor()?.rank()).ok()?;
            (vec![Arg::Node(*x), Arg::list(0..rank)], vec![node])
        }
        [x, dim @ Arg::Int(_), keep @ ..] if users.iter().all(is_value) => {
            ([vec![x.clone(), Arg::List(vec![dim.clone()].into())], keep.to_vec()].concat(), users)
        }
        _ => return None,
    };
    let made = fourier::made(graph, registry, node, extreme, args)?;
    for old in read {
        replace(graph, old, &[Arg::Node(made)]);
    }
    Some(())
}

/// What may be in any order of equals may be in their own.
fn as_stable(graph: &mut Graph, node: NodeId) {
    let args: Box<[Arg]> = graph.args(node).into();
    let mut kwargs = graph.kwargs(node).to_vec();
    let named = graph.texts.intern("stable");
    kwargs.retain(|(key, _)| *key != named);
    kwargs.insert(0, (named, Arg::Bool(true)));
    graph.set_args(node, args, kwargs.into());
}

/// Arguments that go by name, in their places, where nothing is left out between them.
fn by_place(graph: &mut Graph, registry: &Registry, node: NodeId) {
    let Some(operator) = registry.operator_of(graph, node) else { return };
    let (mut args, mut kwargs) = (graph.args(node).to_vec(), graph.kwargs(node).to_vec());
    let named = |kwargs: &[(StrId, Arg)], name: &str| kwargs.iter().position(|(k, _)| graph.texts.text(*k) == name);
    while let Some(param) = operator.schema.params.get(args.len()).filter(|p| !p.kwarg_only)
        && let Some(at) = named(&kwargs, &param.name)
    {
        args.push(kwargs.remove(at).1);
    }
    if kwargs.is_empty() {
        graph.set_args(node, args.into(), Box::default());
    }
}

/// New memory of which nothing is said but its size and type; where the operand lies says nothing of it.
fn as_empty(graph: &mut Graph, node: NodeId) {
    let [Arg::Node(_), sizes] = graph.args(node) else { return };
    let Some(ty) = graph.ty(node).as_tensor() else { return };
    let (sizes, dtype, device) = (sizes.clone(), ty.dtype, ty.device.clone());
    let is_stated = |(key, value): &(StrId, Arg)| match graph.texts.text(*key) {
        "dtype" | "device" => true,
        "layout" => *value == Arg::Layout(Layout::Strided) || *value == Arg::None,
        _ => *value == Arg::Bool(false) || *value == Arg::None,
    };
    if !graph.kwargs(node).iter().all(is_stated) {
        return;
    }
    let named = [("dtype", Arg::Dtype(dtype)), ("device", Arg::Device(device))];
    let kwargs: Vec<(StrId, Arg)> = named.into_iter().map(|(k, v)| (graph.texts.intern(k), v)).collect();
    graph.set_args(node, Box::new([sizes]), kwargs.into());
    let target = graph.texts.intern(EMPTY);
    graph.set_target(node, target);
}

/// Kernels of devices do not read what the forward pass kept for the CPU.
fn without_buffer(graph: &mut Graph, node: NodeId) {
    let [gradient, Arg::Node(own), Arg::Node(_)] = graph.args(node) else { return };
    if graph.ty(*own).as_tensor().is_some_and(|t| &*t.device.kind != "cpu") {
        let args = [gradient.clone(), Arg::Node(*own), Arg::Node(*own)];
        graph.set_args(node, args.into(), Box::default());
    }
}

/// Every dimension by its number, and the correction that nobody gave.
fn with_correction(graph: &mut Graph, node: NodeId) {
    let (mut args, mut kwargs) = (graph.args(node).to_vec(), graph.kwargs(node).to_vec());
    let operand = args.first().and_then(Arg::as_node);
    let Some(rank) = operand.and_then(|n| graph.ty(n).as_tensor()).map(|t| t.rank()) else { return };
    let (dim, correction) = (graph.texts.intern("dim"), graph.texts.intern("correction"));
    if args.len() == 1 {
        let named = kwargs.iter().position(|(key, _)| *key == dim);
        args.push(named.map_or(Arg::None, |at| kwargs.remove(at).1));
    }
    if args.len() != 2 || rank == 0 {
        return;
    }
    if let Some(dims) = args.get_mut(1)
        && (matches!(dims, Arg::None) || dims.items().is_some_and(<[Arg]>::is_empty))
    {
        *dims = Arg::list((0..rank).map(|d| i64::try_from(d).unwrap_or(i64::MAX)));
    }
    kwargs.retain(|(key, value)| *key != correction || *value != Arg::None);
    if !kwargs.iter().any(|(key, _)| *key == correction) {
        kwargs.insert(0, (correction, Arg::Int(1)));
    }
    graph.set_args(node, args.into(), kwargs.into());
}

/// The steps of windows, where they are their lengths.
fn with_steps(graph: &mut Graph, node: NodeId) {
    let (mut args, kwargs) = (graph.args(node).to_vec(), graph.kwargs(node).to_vec());
    let Some(window) = args.get(1).cloned() else { return };
    let stride = graph.texts.intern("stride");
    match args.get_mut(2) {
        Some(steps) if steps.items().is_some_and(<[Arg]>::is_empty) => *steps = window,
        None if !kwargs.iter().any(|(key, _)| *key == stride) => args.push(window),
        _ => return,
    }
    graph.set_args(node, args.into(), kwargs.into());
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

/// Rows that are taken: by a list of places too, and which of them learns nothing is the gradient's to know.
fn of_rows(graph: &mut Graph, node: NodeId) {
    if let [Arg::Node(x), Arg::Int(0), Arg::Node(places)] = *graph.args(node)
        && graph.target(node) == "aten.index_select.default"
        && [(x, 2), (places, 1)].iter().all(|(n, rank)| graph.ty(*n).as_tensor().is_some_and(|t| t.rank() == *rank))
    {
        graph.set_args(node, Box::new([Arg::Node(x), Arg::Node(places)]), Box::default());
        let target = graph.texts.intern(EMBEDDING);
        graph.set_target(node, target);
    }
    if graph.target(node) == EMBEDDING
        && let [rows @ Arg::Node(_), places @ Arg::Node(_), ..] = graph.args(node)
    {
        let args = [rows.clone(), places.clone()];
        graph.set_args(node, args.into(), Box::default());
    }
}

/// Values that are put are repeated over the places by the operator itself.
fn unspread(graph: &mut Graph, node: NodeId) {
    if graph.target(node) != PUT {
        return;
    }
    let mut args = graph.args(node).to_vec();
    while let Some(Arg::Node(values)) = args.get(2)
        && graph.kind(*values) == NodeKind::Call
        && graph.target(*values) == "aten.expand.default"
        && let Some(own @ Arg::Node(_)) = graph.args(*values).first().cloned()
        && let Some(slot) = args.get_mut(2)
    {
        *slot = own;
    }
    if args != graph.args(node) {
        let kwargs = graph.kwargs(node).to_vec();
        graph.set_args(node, args.into(), kwargs.into());
    }
}

/// A part of complex numbers is one of the two of each pair that they are seen as. What may be a conjugate that nobody computed yet is not seen as
/// pairs, PyTorch raises there: what a transform gives is none.
fn as_half(graph: &mut Graph, registry: &Registry, node: NodeId) {
    let [Arg::Node(whole)] = graph.args(node) else { return };
    let whole = *whole;
    let is_complex = graph.ty(whole).as_tensor().is_some_and(|t| t.dtype.is_complex());
    if !is_complex || !fourier::TRANSFORMS.contains(&graph.target(whole)) {
        return;
    }
    let which = i64::from(graph.target(node) == IMAGINARY);
    let pairs = fourier::made(graph, registry, node, "aten.view_as_real.default", vec![Arg::Node(whole)]);
    let Some(pairs) = pairs else { return };
    let target = graph.texts.intern("aten.select.int");
    graph.set_args(node, Box::new([Arg::Node(pairs), Arg::Int(-1), Arg::Int(which)]), Box::default());
    graph.set_target(node, target);
}

/// A norm is scaled by ones and moved by zeros where it is given neither.
fn without_neutral(graph: &mut Graph, node: NodeId, scale: usize) {
    let mut args = graph.args(node).to_vec();
    for (place, neutral) in [(scale, 1), (scale.saturating_add(1), 0)] {
        if let Some(slot) = args.get_mut(place)
            && matches!(slot, Arg::Node(n) if is_filled(graph, *n, neutral))
        {
            *slot = Arg::None;
        }
    }
    if args != graph.args(node) {
        let kwargs = graph.kwargs(node).to_vec();
        graph.set_args(node, args.into(), kwargs.into());
    }
}

/// What is normed by statistics that are given updates none: with which momentum says nothing.
fn without_momentum(graph: &mut Graph, node: NodeId) {
    let Some((_, place, trains)) = BY_GIVEN.iter().find(|(norm, ..)| *norm == graph.target(node)) else { return };
    let mut args = graph.args(node).to_vec();
    let updates = trains.is_some_and(|at| args.get(at) != Some(&Arg::Bool(false)));
    if let Some(momentum) = args.get_mut(*place).filter(|_| !updates) {
        *momentum = Arg::Float(0.0);
        let kwargs = graph.kwargs(node).to_vec();
        graph.set_args(node, args.into(), kwargs.into());
    }
}

/// A dtype that integers are added up in anyway, or that the operand has.
fn without_dtype(graph: &mut Graph, registry: &Registry, node: NodeId) {
    let (args, target) = (graph.args(node).to_vec(), graph.target(node).to_string());
    let all = graph.kwargs(node).to_vec();
    let kwargs: Vec<(StrId, Arg)> = all.iter().filter(|(k, _)| graph.texts.text(*k) != "dtype").cloned().collect();
    if kwargs.len() < all.len() && registry.infer(graph, &target, &args, &kwargs).is_ok_and(|ty| ty == *graph.ty(node))
    {
        graph.set_args(node, args.into(), kwargs.into());
    }
}

/// Places that were widened to 64 bits are those of 32.
fn by_narrow_places(graph: &mut Graph, registry: &Registry, node: NodeId, at: usize) {
    let narrow = |a: &Arg| -> Option<Arg> {
        let widened = a.as_node().filter(|n| graph.kind(*n) == NodeKind::Call)?;
        let own = graph.args(widened).first()?.as_node()?;
        let dtype = |n: NodeId| graph.ty(n).as_tensor().map(|t| t.dtype);
        let is_widened = graph.target(widened) == "aten._to_copy.default"
            && dtype(widened) == Some(Dtype::I64)
            && dtype(own) == Some(Dtype::I32);
        (is_widened && nothing_is_written(graph, registry, widened, node)).then_some(Arg::Node(own))
    };
    let mut args = graph.args(node).to_vec();
    let kept = |a: &Arg| narrow(a).unwrap_or_else(|| a.clone());
    if let Some(slot) = args.get_mut(at) {
        *slot = match &*slot {
            Arg::List(places) => Arg::List(places.iter().map(kept).collect()),
            one => kept(one),
        };
    }
    if args != graph.args(node) {
        let kwargs = graph.kwargs(node).to_vec();
        graph.set_args(node, args.into(), kwargs.into());
    }
}

/// Of bytes, whether some are not zero is a byte, too.
fn of_bytes(graph: &mut Graph, registry: &Registry, node: NodeId) {
    let dtype = |n: NodeId| graph.ty(n).as_tensor().map(|t| t.dtype);
    let Some(some) = graph.args(node).first().and_then(Arg::as_node).filter(|n| dtype(*n) == Some(Dtype::Bool)) else {
        return;
    };
    let Some(truths) = graph.args(some).first().and_then(Arg::as_node) else { return };
    let Some(bytes) = graph.args(truths).first().and_then(Arg::as_node) else { return };
    let is_some = OF_SOME.contains(&graph.target(some)) && graph.target(truths) == CONVERTED;
    let is_of_bytes =
        dtype(node) == Some(Dtype::U8) && dtype(truths) == Some(Dtype::Bool) && dtype(bytes) == Some(Dtype::U8);
    if is_some && is_of_bytes && nothing_is_written(graph, registry, truths, node) {
        let mut args = graph.args(some).to_vec();
        if let Some(slot) = args.first_mut() {
            *slot = Arg::Node(bytes);
        }
        let (kwargs, target) = (graph.kwargs(some).to_vec(), graph.target_id(some));
        graph.set_args(node, args.into(), kwargs.into());
        graph.set_target(node, target);
    }
}

/// A quotient that is not rounded.
fn without_mode(graph: &mut Graph, node: NodeId) {
    let mode = graph.kwargs(node).iter().all(|(_, mode)| *mode == Arg::None);
    if graph.args(node).len() == 2 && mode {
        let args: Box<[Arg]> = graph.args(node).into();
        graph.set_args(node, args, Box::default());
        let target = graph.texts.intern("aten.div.Tensor");
        graph.set_target(node, target);
    }
}

/// A copy of conjugates that are only seen so is their conjugates.
fn as_conjugate(graph: &mut Graph, node: NodeId) {
    let ([Arg::Node(seen)], []) = (graph.args(node), graph.kwargs(node)) else { return };
    if graph.kind(*seen) != NodeKind::Call || graph.target(*seen) != "aten._conj.default" {
        return;
    }
    let args: Box<[Arg]> = graph.args(*seen).into();
    graph.set_args(node, args, Box::default());
    let target = graph.texts.intern("aten._conj_physical.default");
    graph.set_target(node, target);
}

/// Whether a call fills a tensor of floats with a small number.
fn is_filled(graph: &Graph, node: NodeId, number: i32) -> bool {
    let is_float = graph.ty(node).as_tensor().is_some_and(|t| t.dtype.is_float());
    is_float
        && graph.target(node) == "aten.full.default"
        && match graph.args(node).get(1) {
            Some(Arg::Int(v)) => *v == i64::from(number),
            Some(Arg::Float(v)) => v.to_bits() == f64::from(number).to_bits(),
            _ => false,
        }
}

/// Truth values have one bit.
fn of_truths(graph: &mut Graph, node: NodeId, logical: &str) {
    let is_truth = |n: NodeId| graph.ty(n).as_tensor().is_some_and(|t| t.dtype == Dtype::Bool);
    let all = graph.args(node).iter().all(|a| matches!(a, Arg::Node(n) if is_truth(*n)));
    if all && is_truth(node) && graph.kwargs(node).is_empty() {
        let target = graph.texts.intern(logical);
        graph.set_target(node, target);
    }
}

/// Only where what is asked stands first and nothing goes by keyword.
fn without_message(graph: &mut Graph, node: NodeId) {
    let ([asked, _], []) = (graph.args(node), graph.kwargs(node)) else { return };
    let args = vec![asked.clone()];
    graph.set_args(node, args.into(), Box::default());
    let target = graph.texts.intern(ASSERTION);
    graph.set_target(node, target);
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
    use crate::formats::text;

    /// A graph of one call, as it is spelled.
    fn call(inputs: &str, ty: &str, call: &str) -> String {
        calls(inputs, &format!("        r: \"{ty}\" = torch.ops.aten.{call}\n        return (r,)\n"))
    }

    /// A graph of several calls, as it is spelled.
    fn calls(inputs: &str, body: &str) -> String {
        let program = format!("class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}");
        let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
        let registry = Registry::standard();
        let problems = registry.check_types(&mut graph);
        assert!(problems.is_empty(), "{problems:?}");
        spelled(&mut graph, &registry);
        text::write(&graph)
    }

    #[test]
    fn parts_of_what_was_transformed_are_halves_of_pairs_and_of_conjugates_are_not() {
        let program = |made: &str| {
            format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"c64[2, 3]\"):\n        z: \"c64[2, 3]\" = torch.ops.aten.{made}\n        r: \"f32[2, 3]\" = torch.ops.aten.imag.default(z)\n        return (r,)\n"
            )
        };
        let spelled = |made: &str| {
            let mut graph = text::read(&program(made), &text::ReadOptions::of_file("t.fx")).unwrap();
            let registry = Registry::standard();
            assert!(registry.check_types(&mut graph).is_empty());
            super::spelled(&mut graph, &registry);
            text::write(&graph)
        };
        assert!(spelled("_fft_c2c.default(x, [1], 0, True)").contains("-1, 1)"));
        assert!(spelled("_conj.default(x)").contains("imag.default(z)"));
    }

    #[test]
    fn an_extreme_whose_place_is_read_keeps_it() {
        let body = |at: u8| {
            format!("        m = torch.ops.aten.max.dim(x, 1, True)\n        r = m[{at}]\n        return (r,)\n")
        };
        let x = "x: \"f32[2, 3]\"";
        assert!(calls(x, &body(0)).contains("amax.default(x, [1], True)"));
        assert!(!calls(x, &body(1)).contains("amax"));
        assert!(call(x, "f32[]", "max.default(x)").contains("amax.default(x, [0, 1])"));
    }

    #[test]
    fn a_vector_is_solved_for_as_a_column_unless_factors_are_read() {
        let body = |named: &str, at: u8| {
            format!(
                "        s = torch.ops.aten._linalg_solve_ex.default(a, b{named})\n        r = s[{at}]\n        return (r,)\n"
            )
        };
        let vector = "a: \"f32[3, 3]\", b: \"f32[3]\"";
        assert!(calls(vector, &body("", 0)).contains("squeeze.dim"));
        assert!(!calls(vector, &body("", 1)).contains("unsqueeze"));
        let rows = "a: \"f32[3, 3]\", b: \"f32[2, 3]\"";
        assert!(calls(rows, &body(", left = False", 0)).contains("transpose.int(b, -2, -1)"));
        assert!(!calls(rows, &body(", left = False", 3)).contains("transpose"));
    }

    #[test]
    fn whole_numbers_beside_floats_are_integers_and_no_others() {
        let x = "x: \"f32[4]\"";
        assert!(call(x, "f32[4]", "mul.Tensor(x, 4.0)").contains("mul.Tensor(x, 4)"));
        assert!(call(x, "f32[4]", "elu.default(x, 1.0, 1.0, 1.0)").contains("elu.default(x, 1, 1, 1)"));
        for other in ["mul.Tensor(x, 4.5)", "mul.Tensor(x, -0.0)", "mul.Tensor(x, 33554432.0)", "mul.Tensor(x, inf)"] {
            assert!(call(x, "f32[4]", other).contains(other), "{other}");
        }
        // Beside integers a float makes floats, and compares as one.
        let i = "i: \"i64[4]\"";
        assert!(call(i, "f32[4]", "mul.Tensor(i, 4.0)").contains("mul.Tensor(i, 4.0)"));
        assert!(call(i, "b8[4]", "eq.Scalar(i, 4.0)").contains("eq.Scalar(i, 4.0)"));
    }

    #[test]
    fn integers_counted_one_by_one_are_spelled_alike() {
        let same = call("", "i64[4]", "arange.start_step(0, 4, 1)");
        assert!(same.contains("arange.default(4, dtype = torch.int64"), "{same}");
        assert!(call("", "i64[3]", "arange.start(1, 4)").contains("arange.start(1, 4, dtype = torch.int64"));
        for (ty, other) in [("i64[2]", "arange.start_step(0, 4, 2)"), ("f32[4]", "arange.start(0, 4.0)")] {
            assert!(call("", ty, other).contains(other), "{other}");
        }
    }

    #[test]
    fn bits_of_truths_alone_are_truths_and_a_norm_by_other_than_ones_is_scaled() {
        let two = |t: &str| format!("x: \"{t}[4]\", y: \"{t}[4]\"");
        assert!(call(&two("b8"), "b8[4]", "bitwise_and.Tensor(x, y)").contains("logical_and"));
        assert!(call(&two("i64"), "i64[4]", "bitwise_and.Tensor(x, y)").contains("bitwise_and"));
        for (number, left) in [(1, "None, None"), (2, "w, None")] {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[2, 4]\"):\n        w: \"f32[4]\" = torch.ops.aten.full.default([4], {number}, dtype = torch.float32)\n        r = torch.ops.aten.native_layer_norm.default(x, [4], w, None, 1e-05)\n        g: \"f32[2, 4]\" = r[0]\n        return (g,)\n"
            );
            let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            let registry = Registry::standard();
            let _ = registry.check_types(&mut graph);
            spelled(&mut graph, &registry);
            let made = text::write(&graph);
            assert!(made.contains(&format!("[4], {left}, 1e-05")), "{made}");
        }
    }

    #[test]
    fn momentum_counts_only_where_statistics_are_updated() {
        let normed = |trains: &str| {
            let inputs = "x: \"f32[2, 3, 4]\", m: \"f32[3]\", v: \"f32[3]\"";
            call(
                inputs,
                "f32[2, 3, 4]",
                &format!("batch_norm.default(x, None, None, m, v, {trains}, 0.1, 1e-05, True)"),
            )
        };
        assert!(normed("False").contains("False, 0.0, 1e-05, True)"));
        assert!(normed("True").contains("True, 0.1, 1e-05, True)"));
    }

    #[test]
    fn what_may_be_in_any_order_is_in_its_own_and_aligned_corners_need_no_scales() {
        let sorted = |how: &str| {
            let program = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4]\"):\n        r = torch.ops.aten.sort.stable(x, {how})\n        g: \"f32[4]\" = r[0]\n        return (g,)\n"
            );
            let mut graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
            let registry = Registry::standard();
            let _ = registry.check_types(&mut graph);
            spelled(&mut graph, &registry);
            text::write(&graph)
        };
        for how in ["stable = False", "stable = None", "stable = True"] {
            assert!(sorted(how).contains("sort.stable(x, stable = True)"), "{how}");
        }
        let backwards = sorted("stable = False, descending = True");
        assert!(backwards.contains("stable = True, descending = True"), "{backwards}");
        let (x, y) = ("x: \"f32[1, 2, 4, 4]\"", "f32[1, 2, 6, 6]");
        let resampled =
            |corners: &str| call(x, y, &format!("upsample_bilinear2d.default(x, [6, 6], {corners}, 1.7, 1.7)"));
        assert!(resampled("True").contains("[6, 6], True, None, None)"));
        assert!(resampled("False").contains("[6, 6], False, 1.7, 1.7)"));
    }

    #[test]
    fn whole_scales_are_scales_and_memory_that_is_pinned_or_a_buffer_that_is_read_is_kept() {
        let nearest = |how: &str| {
            let made = format!("upsample_nearest2d_backward.default(g, [4, 4], [1, 1, 2, 2], {how})");
            call("g: \"f32[1, 1, 4, 4]\"", "f32[1, 1, 2, 2]", &made)
        };
        for ratio in ["2, 2", "2.0, scales_w = 2", "scales_h = 2.0, scales_w = 2.0"] {
            assert!(nearest(ratio).contains("[1, 1, 2, 2], None, None)"), "{}", nearest(ratio));
        }
        assert!(nearest("3, 3").contains("[1, 1, 2, 2], 3.0, 3.0)"), "{}", nearest("3, 3"));
        let memory = |how: &str| call("x: \"f32[2]\"", "f32[4]", &format!("new_empty.default(x, [4]{how})"));
        assert!(memory("").contains("empty.memory_format([4], dtype = torch.float32"), "{}", memory(""));
        assert!(memory(", pin_memory = True").contains("new_empty"));
        let gradient = |device: &str| {
            let t = |name: &str| format!("{name}: \"f32[2]{device}\"");
            let inputs = format!("{}, {}, {}", t("g"), t("x"), t("b"));
            call(&inputs, &format!("f32[2]{device}"), "log_sigmoid_backward.default(g, x, b)")
        };
        assert!(gradient("npu:0").contains("(g, x, x)"), "{}", gradient("npu:0"));
        assert!(gradient("cpu").contains("(g, x, b)"), "{}", gradient("cpu"));
    }
}
