//! Whether a call surely holds: it never raises, for all inputs and all sizes.
//!
//! Promises: "yes" is said only where it was shown: the operator states that it never raises where types fit (`#total`), types are the
//! rules', and sizes that are symbols fit for all their values. Positional and keyword arguments count alike. What nobody states,
//! and what is not known, is "no".

use smallvec::SmallVec;

use crate::analysis::call::{Known, only_orders};
use crate::analysis::{Place, getitem_of, place_of, tensor_operands};
use crate::graph::{Arg, Device, Dtype, Layout, MemoryFormat, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::{
    Base, Bound, Grid, Operator, PLAIN, SharesWhen, Total, ViewStep, Viewed, fits_plainly, has_view_of_reshape,
    parts_of, view_strides,
};
use crate::sym::{Dim, Symbols};
use crate::term::sizes::Sizes;
use crate::term::term::Side;
use crate::verify::effects::definition::by_definition;
use crate::verify::effects::raises::integers_of;
use crate::verify::effects::trace::runs_nothing;
use crate::verify::effects::windows::grid_fits;
use crate::verify::effects::{contract, quantised};
use crate::verify::functional::identities::{equal_operand, strided_step};
use crate::verify::functional::values::{Functional, bind};
use crate::verify::functional::views::{ViewCall, as_dim, axis};

/// Returns whether a call never raises.
pub fn surely_holds(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    if view.kind(node) != NodeKind::Call {
        return true;
    }
    if let Some((of, item)) = getitem_of(view, node) {
        let count = match view.ty(of) {
            ValueType::Many(items) if !view.hearsay(of).sizes() => items.len(),
            _ => return false,
        };
        return (item as usize) < count && is_counted(f, side, of);
    }
    call_surely_holds(f, side, node)
}

/// The same of a call that takes no item.
fn call_surely_holds(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    let Known::As(operator, bound) = Known::of(view, f.registry, node) else { return false };
    // A call that only orders streams takes what it is given.
    if only_orders(operator) || runs_nothing(view, operator, node) {
        return true;
    }
    // A list of tensors is of one at least.
    let is_number = operator.facts.numbers && matches!(bound.get(0), Arg::Int(_) | Arg::Float(_) | Arg::Bool(_));
    let is_empty = operator.schema.params.first().is_some_and(|p| p.ty.holds_tensors())
        && bound.get(0).nodes().next().is_none()
        && !is_number;
    if view.hearsay(node).is_told()
        || is_empty
        || !is_held_by_memory(view, operator, node)
        || operands_are_hearsay(f, side, node)
        || !operator.facts.numbers && has_number_for_tensor(view, operator, &bound)
    {
        return false;
    }
    // What is its operand as it is needs no kernel.
    let numbers = f.tensor(side, place_of(view, node)).is_some_and(|t| t.dtype.is_float() || t.dtype.is_integer());
    if numbers
        && !operator.effects.writes()
        && equal_operand(f, side, operator, &bound, place_of(view, node)).is_some()
        && has_plain_options(f, side, node, &bound)
    {
        return true;
    }
    // A part of the elements of a vector is within its memory.
    if strided_step(f, side, operator, place_of(view, node)).is_some() {
        return true;
    }
    let given = |i: usize| *bound.get(i) != Arg::None;
    let writes = (0..bound.args.len()).any(|i| given(i) && crate::analysis::call::writes(operator, &bound, i));
    let functional = f.registry.functional(operator).filter(|_| writes);
    let stated = functional.unwrap_or(operator);
    let total = is_given_all(f, side, node, stated, &bound)
        && match stated.facts.total {
            Total::Always => true,
            Total::Floats => tensor_operands(view, node).into_iter().all(|p| is_plain_float(f, side, p)),
            Total::Numbers => numbers_of(f, side, node).is_some_and(|dtype| has_defaults(operator, &bound, dtype)),
            Total::Quantised => {
                tensor_types(f, side, node).is_some_and(|types| quantised::fits(&f.sizes, stated, &bound, &types))
            }
            Total::Computed => is_computed(f, side, &bound),
            total if total.goes_by_dtypes() => {
                let above = total == Total::Divisor && is_divided_by_positive(f, side, node, &bound);
                let (view, types) = (f.view(side), tensor_types(f, side, node));
                holds_plainly(&mut f.sizes, view, node, stated, &bound, (types.as_deref(), above))
            }
            _ => false,
        };
    if !total && (!writes || f.writes_apart(side, node, operator)) && by_definition(f, side, node) {
        return true;
    }
    (total || operator.facts.copies)
        && has_plain_options(f, side, node, &bound)
        && (is_fixed_call(f, side, node, stated)
            || fits(f, side, node, if operator.facts.copies { operator } else { stated }, &bound))
        && holds_by_layout(f, side, node, operator, &bound)
        && (!writes || f.writes_plainly(side, node, operator))
}

/// How many elements no memory of a machine holds.
const HELD: i64 = 1 << 44;

/// Whether there may be memory for what a call gives, as far as its sizes are numbers: what views give has it already.
fn is_held_by_memory(view: &dyn View, operator: &Operator, node: NodeId) -> bool {
    let given = match view.ty(node) {
        ValueType::Many(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    operator.facts.step.is_some()
        || given.iter().filter_map(ValueType::as_tensor).all(|t| {
            let mut fixed = t.sizes.iter().map(|d| d.fixed().unwrap_or(1));
            t.sizes.contains(&Dim::Fixed(0))
                || fixed.try_fold(1_i64, |all, size| all.checked_mul(size)).is_some_and(|all| all < HELD)
        })
}

/// How many views may lie between a call and what it sees.
const VIEWS: usize = 32;

/// Whether the first operand, or what it is a view of, is no conjugate that is left to be computed.
fn is_computed(f: &mut Functional<'_>, side: Side, bound: &Bound<'_>) -> bool {
    let view = f.view(side);
    let mut next = bound.args.first().and_then(|a| a.as_node());
    for _ in 0..VIEWS {
        let Some(node) = next else { return false };
        let Known::As(operator, bound) = Known::of(view, f.registry, node) else { return false };
        if operator.facts.computes {
            // Real numbers may be negations that are left to be computed, where they are parts of complex ones.
            let place = place_of(view, node);
            let origin = f.side(side).storages.origin(place);
            let memory = (origin != place).then(|| f.tensor(side, origin));
            return memory.is_none_or(|t| t.is_some_and(|t| !t.dtype.is_complex()));
        }
        next = operator.facts.step.and(bound.args.first()).and_then(|a| a.as_node());
    }
    false
}

/// Whether what a call divides by is a tensor of integers all of which are above 0, as the call computes with them: a tensor without dimensions is
/// converted to the dtype of the other one, among which 256 may be 0.
fn is_divided_by_positive(f: &mut Functional<'_>, side: Side, node: NodeId, bound: &Bound<'_>) -> bool {
    let Some(divisor) = bound.args.get(1).and_then(|a| a.as_node()) else { return false };
    let view = f.view(side);
    let [own, made] = [divisor, node].map(|n| view.ty(n).as_tensor().map(|t| t.dtype));
    let holds_it = own.is_some() && (own == made || made == Some(Dtype::I64));
    holds_it && integers_of(f, side, node, divisor).is_some_and(|(low, _)| low > 0)
}

/// Whether a call surely gives as many results as its type says: how many pieces a size makes that is a symbol, depends on its value.
fn is_counted(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    let Known::As(operator, _) = Known::of(view, f.registry, node) else { return getitem_of(view, node).is_some() };
    let runs_bodies = operator.effects.side == Some(crate::ops::SideEffect::Control);
    let is_list = operator.schema.returns.len() == 1 && !runs_bodies;
    !is_list || !is_symbolic(f, side, node) || call_surely_holds(f, side, node)
}

/// Types of all tensors that a call is given; `None` where one is not the rules'.
fn tensor_types<'a>(f: &mut Functional<'a>, side: Side, node: NodeId) -> Option<Vec<&'a TensorType>> {
    tensor_operands(f.view(side), node).into_iter().map(|p| f.tensor(side, p)).collect()
}

/// Whether a call is given all tensors, each with elements, where what is stated of it is so only then.
fn is_given_all(f: &mut Functional<'_>, side: Side, node: NodeId, operator: &Operator, bound: &Bound<'_>) -> bool {
    let Some(mask) = &operator.facts.if_given else { return true };
    let first_alone =
        operator.schema.param_index(mask).and_then(|i| bound.get(i).items()).is_some_and(
            |asked| matches!(asked, [Arg::Bool(_), rest @ ..] if rest.iter().all(|a| *a == Arg::Bool(false))),
        );
    let mut slots = operator.schema.params.iter().zip(&bound.args);
    let given = first_alone || slots.all(|(p, arg)| !p.ty.holds_tensors() || **arg != Arg::None);
    let types = tensor_types(f, side, node);
    let filled = |t: &&TensorType| t.sizes.iter().all(|d| f.sizes.at_most(Dim::Fixed(1), *d));
    given && types.is_some_and(|types| types.iter().all(filled))
}

/// Whether a call is one of those that never raise among plain dtypes.
pub(super) fn holds_plainly(
    sizes: &mut Sizes<'_>,
    view: &dyn View,
    node: NodeId,
    operator: &Operator,
    bound: &Bound<'_>,
    (operands, by_positive): (Option<&[&TensorType]>, bool),
) -> bool {
    let Some(operands) = operands else { return false };
    let total = operator.facts.total;
    let mut dtypes: Vec<Dtype> = operands.iter().map(|t| t.dtype).collect();
    dtypes.extend(view.ty(node).as_tensor().map(|t| t.dtype));
    let Some((dtypes, complex)) = parts_of(&dtypes) else { return false };
    let given: Vec<Dtype> = dtypes.iter().copied().take(operands.len()).collect();
    let numbers =
        operator.schema.params.iter().zip(&bound.args).filter(|(p, _)| matches!(p.ty.base, Base::Scalar | Base::Float));
    let each = numbers.flat_map(|(_, arg)| arg.items().map_or_else(|| vec![*arg], |items| items.iter().collect()));
    let fit = each.into_iter().all(|arg| match arg {
        // Every size is a number of these.
        Arg::Node(n) => {
            let wide = |d: &Dtype| matches!(d, Dtype::F32 | Dtype::F64 | Dtype::I64);
            // A truth that a comparison gives holds none.
            let mut held = dtypes.iter().enumerate().filter(|(k, d)| *k < operands.len() || **d != Dtype::Bool);
            matches!(view.ty(*n), ValueType::SymInt(_)) && (operands.is_empty() || held.all(|(_, d)| wide(d)))
        }
        // Integers have none.
        Arg::Float(v) if operands.is_empty() && !v.is_finite() => {
            !dtypes.is_empty() && dtypes.iter().all(|d| d.is_float())
        }
        // A whole number is one of integers, too.
        #[allow(clippy::cast_possible_truncation)]
        Arg::Float(v) if total == Total::PlainWords && v.fract() == 0.0 && v.abs() < f64::from(1_i32 << 24) => {
            fits_plainly(&Arg::Int(*v as i64), &dtypes)
        }
        number => fits_plainly(number, &dtypes),
    });
    // Words are the type rules' to refuse; a dtype of truth values kernels refuse as they like, unless it is stated that they do not.
    let options = operator.schema.params.iter().zip(&bound.args).all(|(p, a)| {
        let strided = p.ty.base != Base::Layout || matches!(a, Arg::None | Arg::Layout(Layout::Strided));
        strided && (operator.facts.makes_truths || !matches!(a, Arg::Dtype(Dtype::Bool)))
    });
    let divides = match bound.args.get(1) {
        _ if by_positive => true,
        // Floats are divided by 0, too.
        _ if view.ty(node).as_tensor().is_some_and(|t| t.dtype.is_float()) => true,
        // A number that stands for a tensor is one of the other's dtype: 256 is 0 among `u8`.
        Some(Arg::Int(v)) => *v != 0 && fits_plainly(&Arg::Int(*v), &dtypes),
        Some(Arg::Float(v)) => *v != 0.0,
        Some(Arg::Node(n)) => {
            matches!(view.ty(*n), ValueType::SymInt(d) if sizes.is_settled(*d) && sizes.at_most(Dim::Fixed(1), *d))
        }
        _ => false,
    };
    let raised = dtypes.iter().all(|d| d.is_float()) || matches!(bound.args.get(1), Some(Arg::Int(0..)));
    let taken = (!complex || operator.facts.complex)
        && total.takes_all(&given) == Some(true)
        && dtypes.iter().all(|d| PLAIN.contains(d));
    let one_shape = operands.windows(2).all(|pair| matches!(pair, [a, b] if a.sizes == b.sizes));
    let shaped = total != Total::OneShape || one_shape;
    let worded = total != Total::PlainWords || dtypes.iter().all(|d| d.is_float()) || has_own_words(operator, bound);
    fit && options
        && taken
        && shaped
        && worded
        && (total != Total::Divisor || divides)
        && (total != Total::Powers || raised)
        && (total != Total::Steps || steps(bound))
}

/// Whether every word is the default one.
fn has_own_words(operator: &Operator, bound: &Bound<'_>) -> bool {
    let mut words = operator.schema.params.iter().zip(&bound.args).filter(|(p, _)| p.ty.base == Base::Str);
    words.all(|(p, a)| p.default.as_ref().is_some_and(|d| d.value == **a))
}

/// Whether a row of numbers is told by numbers, and its step leads on. That it leads to the end, type rules check; of sizes that are symbols `fits` does.
fn steps(bound: &Bound<'_>) -> bool {
    let number = |i: usize| match bound.args.get(i) {
        Some(Arg::Int(v)) => Some(*v != 0),
        Some(Arg::Float(v)) if v.is_finite() => Some(*v != 0.0),
        _ => None,
    };
    let given = |i: usize| number(i).is_some() || bound.args.get(i).is_some_and(|a| a.as_node().is_some());
    given(0) && given(1) && number(2) == Some(true)
}

/// Whether sizes are numbers, which type rules checked, and the call is no view, whose arguments say more than its sizes do.
fn is_fixed_call(f: &mut Functional<'_>, side: Side, node: NodeId, operator: &Operator) -> bool {
    operator.facts.step.is_none() && !is_python(operator) && !is_symbolic(f, side, node)
}

/// Whether no argument asks for another layout, pinned memory, a memory format of some ranks only, or another device.
fn has_plain_options(f: &mut Functional<'_>, side: Side, node: NodeId, bound: &Bound<'_>) -> bool {
    let view = f.view(side);
    let types: SmallVec<[&TensorType; 4]> =
        tensor_operands(view, node).into_iter().filter_map(|p| f.tensor(side, p)).collect();
    let devices: SmallVec<[&Device; 4]> = types.iter().map(|t| &t.device).collect();
    let ranks: SmallVec<[usize; 4]> = types.iter().map(|t| t.rank()).collect();
    let one_device = devices.windows(2).all(|pair| pair.first() == pair.last());
    let args = bound.args.iter().copied().chain(bound.extra.iter().map(|(_, a)| *a));
    one_device
        && args.into_iter().all(|a| match a {
            Arg::Layout(layout) => *layout == Layout::Strided,
            Arg::MemoryFormat(format) => takes_format(*format, &ranks),
            Arg::Device(device) => devices.iter().all(|d| *d == device),
            _ => true,
        })
        && !pins_memory(f, side, node, bound)
}

/// Whether tensors of so many dimensions have a memory format: that of images, and of volumes, is theirs alone.
fn takes_format(format: MemoryFormat, ranks: &[usize]) -> bool {
    let all = |rank: usize| !ranks.is_empty() && ranks.iter().all(|r| *r == rank);
    match format {
        MemoryFormat::Preserve | MemoryFormat::Contiguous => true,
        MemoryFormat::ChannelsLast => all(4),
        MemoryFormat::ChannelsLast3d => all(5),
    }
}

/// Whether a number stands in the place of a tensor.
fn has_number_for_tensor(view: &dyn View, operator: &Operator, bound: &Bound<'_>) -> bool {
    let is_number = |arg: &Arg| match arg {
        Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) => true,
        Arg::Node(n) => matches!(view.ty(*n), ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_)),
        _ => false,
    };
    let mut slots = operator.schema.params.iter().zip(&bound.args);
    slots.any(|(p, arg)| p.ty.base == Base::Tensor && !p.ty.is_list() && is_number(arg))
}

fn pins_memory(f: &Functional<'_>, side: Side, node: NodeId, bound: &Bound<'_>) -> bool {
    let Some(operator) = f.registry.operator_of(f.view(side), node) else { return true };
    operator.schema.param_index("pin_memory").is_some_and(|i| *bound.get(i) == Arg::Bool(true))
}

fn operands_are_hearsay(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    view.operands(node).any(|n| view.hearsay(n).sizes() || *view.ty(n) == ValueType::Unknown)
}

fn is_plain_float(f: &mut Functional<'_>, side: Side, place: Place) -> bool {
    f.tensor(side, place).is_some_and(|t| matches!(t.dtype, Dtype::F32 | Dtype::F64))
}

/// Returns the one dtype of all operands, where all are tensors and every kernel takes it.
fn numbers_of(f: &mut Functional<'_>, side: Side, node: NodeId) -> Option<Dtype> {
    let view = f.view(side);
    let nodes: Vec<NodeId> = view.operands(node).collect();
    let dtypes: Vec<Option<Dtype>> =
        nodes.into_iter().map(|n| f.tensor(side, place_of(view, n)).map(|t| t.dtype)).collect();
    let first = dtypes.first().copied()??;
    let taken =
        [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::I8, Dtype::I16, Dtype::I32, Dtype::I64, Dtype::U8];
    (taken.contains(&first) && dtypes.iter().all(|d| *d == Some(first))).then_some(first)
}

/// Whether everything that is no tensor has its default, or is a number that every such dtype holds.
fn has_defaults(operator: &Operator, bound: &Bound<'_>, dtype: Dtype) -> bool {
    let is_small = |arg: &Arg| match arg {
        Arg::Int(v) => (0..=100).contains(v) || dtype.is_float() && v.unsigned_abs() < 1 << 15,
        Arg::Float(v) => dtype.is_float() && v.abs() < f64::from(1_u16 << 15),
        _ => false,
    };
    let mut given = operator.schema.params.iter().zip(&bound.args);
    given.all(|(param, arg)| {
        arg.as_node().is_some() || is_small(arg) || param.default.as_ref().is_some_and(|d| d.value == **arg)
    })
}

/// Whether any size that the call sees is a symbol.
fn is_symbolic(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
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

/// Whether the sizes of a call fit for all values of their symbols.
fn fits(f: &mut Functional<'_>, side: Side, node: NodeId, operator: &Operator, bound: &Bound<'_>) -> bool {
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
    if operator.facts.any_size && types.is_empty() && matches!(operator.facts.total, Total::Plain | Total::Steps) {
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
    if operator.facts.any_size && operator.facts.total == Total::Plain && given_sizes {
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
        let is_int = |a: &Arg| match a {
            Arg::Int(_) => true,
            Arg::Node(n) => matches!(view.ty(*n), ValueType::SymInt(_)),
            _ => false,
        };
        return bound.args.iter().all(|a| is_int(a));
    }
    if let Some(kind) = operator.facts.contracts {
        return !given_sizes && takes_flags(operator, bound) && contract::fits(&f.sizes, kind, bound, &types);
    }
    if operator.facts.fits_filled {
        return !given_sizes && (contract::are_filled(&f.sizes, &types) || is_reduced_filled(f, operator, bound, from));
    }
    if has_known_sizes(&f.sizes, operator, bound, from, &types)
        || from.is_some_and(|from| {
            grid_fits(&f.sizes, operator, bound, from, &types) && has_batch(&f.sizes, operator, from, &types)
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
    types.len() == 1 && size.is_some_and(|d| d.fixed().is_some())
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
    let mut settled = |n: &NodeId| matches!(view.ty(*n), ValueType::SymInt(d) if f.sizes.is_settled(*d));
    let wide = |t: &&TensorType| matches!(t.dtype, Dtype::F32 | Dtype::F64 | Dtype::I64);
    numbers.iter().all(&mut settled) && !types.is_empty() && types.iter().all(wide)
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
fn is_python(operator: &Operator) -> bool {
    operator.schema.params.iter().all(|p| !p.ty.holds_tensors())
        && !operator.schema.returns.is_empty()
        && operator.schema.returns.iter().all(|r| !r.ty.holds_tensors())
}

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

fn step_fits(
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

/// Returns whether one broadcasts to the sizes of the other.
fn fits_into(f: &Functional<'_>, from: Option<&TensorType>, to: Option<&TensorType>) -> bool {
    let (Some(from), Some(to)) = (from, to) else { return false };
    let mut pairs = from.sizes.iter().rev().zip(to.sizes.iter().rev());
    from.rank() <= to.rank() && pairs.all(|(x, y)| *x == Dim::Fixed(1) || f.sizes.same(*x, *y))
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
fn holds_by_layout(f: &mut Functional<'_>, side: Side, node: NodeId, operator: &Operator, bound: &Bound<'_>) -> bool {
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
