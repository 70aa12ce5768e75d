//! Whether a call surely holds: it never raises, for all inputs and all sizes.
//!
//! Promises: "yes" is said only where it was shown: the operator states that it never raises where types fit (`#total`), types are the
//! rules', and sizes that are symbols fit for all their values. Positional and keyword arguments count alike. What nobody states,
//! and what is not known, is "no".

use smallvec::SmallVec;

use crate::analysis::call::{Known, only_orders};
use crate::analysis::{getitem_of, place_of, tensor_operands};
use crate::graph::{Arg, Dtype, Layout, MemoryFormat, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::{Bound, Operator, Total};
use crate::sym::{Bindings, Dim, SymValue};
use crate::term::term::Side;
use crate::verify::effects::definition::by_definition;
use crate::verify::effects::numbers::{has_defaults, has_number_for_tensor, holds_plainly, is_plain_float, numbers_of};
use crate::verify::effects::quantised;
use crate::verify::effects::raises::integers_of;
use crate::verify::effects::sizes::{fits, is_python, is_symbolic};
use crate::verify::effects::trace::runs_nothing;
use crate::verify::effects::view_calls::holds_by_layout;
use crate::verify::functional::identities::{equal_operand, strided_step};
use crate::verify::functional::values::Functional;

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
        || operator.facts.not_on_views && !is_own(f, side, node)
        || !is_held_by_memory(f, view, operator, node)
        || operands_are_hearsay(f, side, node)
        || bound.args.iter().any(|arg| is_unread(arg))
        || !operator.facts.numbers && has_number_for_tensor(view, operator, &bound)
    {
        return false;
    }
    // What is its operand as it is needs no kernel.
    let numbers = f.tensor(side, place_of(view, node)).is_some_and(|t| t.dtype.is_float() || t.dtype.is_integer());
    if numbers
        && !operator.effects.writes()
        && equal_operand(f, side, operator, &bound, place_of(view, node)).is_some()
        && has_plain_options(f, side, node, (operator, &bound))
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
            Total::Enough => has_enough(f, side, node, &bound),
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
        && has_plain_options(f, side, node, (operator, &bound))
        && (is_fixed_call(f, side, node, stated)
            || fits(f, side, node, if operator.facts.copies { operator } else { stated }, &bound))
        && holds_by_layout(f, side, node, operator, &bound)
        && (!writes || f.writes_plainly(side, node, operator))
}

/// Whether an argument holds what is no value that is known: it may be any.
fn is_unread(arg: &Arg) -> bool {
    matches!(arg, Arg::Other(_)) || arg.items().is_some_and(|all| all.iter().any(is_unread))
}

/// Whether the first operand of a call is what another call made, in memory of its own.
fn is_own(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    tensor_operands(view, node)
        .first()
        .is_some_and(|p| view.kind(p.node) == NodeKind::Call && f.side(side).storages.home(*p).is_empty())
}

/// How many elements no memory of a machine holds.
const HELD: i64 = 1 << 44;

/// Whether there may be memory for what a call gives, where symbols are as small as they may be and leave some: what views give has it already.
fn is_held_by_memory(f: &mut Functional<'_>, view: &dyn View, operator: &Operator, node: NodeId) -> bool {
    let given = match view.ty(node) {
        ValueType::Many(all) => &all[..],
        one => std::slice::from_ref(one),
    };
    operator.facts.step.is_some()
        || given.iter().filter_map(ValueType::as_tensor).all(|t| {
            let holds = |all: i64| all < HELD;
            let mut sizes = t.sizes.iter().map(|d| least(f, *d));
            if t.sizes.contains(&Dim::Fixed(0)) {
                // No size is one that an integer does not hold, beside one that is 0, too.
                return t.sizes.iter().zip(sizes).all(|(d, size)| d.fixed().is_some() || holds(size));
            }
            sizes.try_fold(1_i64, |all, size| all.checked_mul(size)).is_some_and(holds)
        })
}

/// What a size is at least where no symbol of it is 0.
fn least(f: &mut Functional<'_>, size: Dim) -> i64 {
    if let Some(size) = size.fixed() {
        return size;
    }
    let (symbols, mut now) = (f.sizes.own(), Bindings::new());
    for name in symbols.symbols_in(SymValue::Int(size)) {
        let least = symbols.find_symbol(&name).and_then(|d| symbols.range_of(d).min).unwrap_or(1);
        symbols.bind(&mut now, &name, least.max(1));
    }
    // What no integer holds is more than any memory.
    symbols.eval(size, &now).map_or(i64::MAX, |size| size.max(1))
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

/// Whether the last operand surely has as many elements as the result has, of one dtype that every kernel moves, and the one before it says where by truth values.
fn has_enough(f: &mut Functional<'_>, side: Side, node: NodeId, bound: &Bound<'_>) -> bool {
    let view = f.view(side);
    let given: Option<Vec<&TensorType>> =
        bound.args.iter().map(|a| f.tensor(side, place_of(view, a.as_node()?))).collect();
    let (Some([into, mask, from]), Some(made)) = (given.as_deref(), f.tensor(side, place_of(view, node))) else {
        return false;
    };
    let count = |t: &TensorType| t.sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed()?));
    let plain = into.dtype.is_float() || into.dtype.is_integer() || into.dtype == Dtype::Bool;
    let fits = mask.dtype == Dtype::Bool && plain && from.dtype == into.dtype;
    fits && count(made).zip(count(from)).is_some_and(|(places, values)| places <= values)
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

/// Whether sizes are numbers, which type rules checked, and the call is no view, whose arguments say more than its sizes do.
fn is_fixed_call(f: &mut Functional<'_>, side: Side, node: NodeId, operator: &Operator) -> bool {
    operator.facts.step.is_none() && !is_python(operator) && !is_symbolic(f, side, node)
}

/// Whether no argument asks for another layout, pinned memory, a memory format of some ranks only, or another device.
fn has_plain_options(
    f: &mut Functional<'_>,
    side: Side,
    node: NodeId,
    (operator, bound): (&Operator, &Bound<'_>),
) -> bool {
    let view = f.view(side);
    let types: SmallVec<[&TensorType; 4]> =
        tensor_operands(view, node).into_iter().filter_map(|p| f.tensor(side, p)).collect();
    let args = bound.args.iter().copied().chain(bound.extra.iter().map(|(_, a)| *a));
    let pins_memory = || operator.schema.param_index("pin_memory").is_some_and(|i| *bound.get(i) == Arg::Bool(true));
    types.iter().zip(types.iter().skip(1)).all(|(one, next)| one.device == next.device)
        && args.into_iter().all(|a| match a {
            Arg::Layout(layout) => *layout == Layout::Strided,
            Arg::MemoryFormat(format) => takes_format(*format, &types),
            Arg::Device(device) => types.iter().all(|t| t.device == *device),
            _ => true,
        })
        && !pins_memory()
}

/// Whether tensors of so many dimensions have a memory format: that of images, and of volumes, is theirs alone.
fn takes_format(format: MemoryFormat, types: &[&TensorType]) -> bool {
    let all = |rank: usize| !types.is_empty() && types.iter().all(|t| t.rank() == rank);
    match format {
        MemoryFormat::Preserve | MemoryFormat::Contiguous => true,
        MemoryFormat::ChannelsLast => all(4),
        MemoryFormat::ChannelsLast3d => all(5),
    }
}

fn operands_are_hearsay(f: &Functional<'_>, side: Side, node: NodeId) -> bool {
    let view = f.view(side);
    view.operands(node).any(|n| view.hearsay(n).sizes() || *view.ty(n) == ValueType::Unknown)
}
