//! Whether no kernel refuses the dtypes and numbers of a call.
//!
//! Promises: "yes" only among the dtypes that the operator's own mark names, and for numbers that all of these hold.

use crate::analysis::{Place, place_of};
use crate::graph::{Arg, Dtype, Layout, NodeId, TensorType, ValueType, View};
use crate::ops::{Base, Bound, Operator, PLAIN, Total, fits_plainly, parts_of};
use crate::sym::{Dim, ExprId, FloatParts, SymFloat, Symbols};
use crate::term::sizes::Sizes;
use crate::term::term::Side;
use crate::verify::functional::values::Functional;

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
    let each = numbers.flat_map(|(p, arg)| {
        let items: Vec<&Arg> = arg.items().map_or_else(|| vec![*arg], |items| items.iter().collect());
        items.into_iter().map(move |arg| (&p.ty.base, arg))
    });
    let fit = each.into_iter().all(|(base, arg)| match arg {
        // It becomes a float first, and may be larger then.
        Arg::Int(v) if *base == Base::Float && v.unsigned_abs() > 1 << 53 => false,
        // A truth is a number of a dtype of its own.
        Arg::Bool(_) if *base == Base::Scalar && total == Total::Reals => false,
        // Every size is a number of these.
        Arg::Node(n) => {
            let wide = |d: &Dtype| matches!(d, Dtype::F32 | Dtype::F64 | Dtype::I64);
            // A truth that a comparison gives holds none.
            let mut held = dtypes.iter().enumerate().filter(|(k, d)| *k < operands.len() || **d != Dtype::Bool);
            match view.ty(*n) {
                ValueType::SymInt(_) => operands.is_empty() || held.all(|(_, d)| wide(d)),
                ValueType::SymFloat(_) if operands.is_empty() => true,
                ValueType::SymFloat(v) => {
                    dtypes.iter().all(|d| matches!(d, Dtype::F32 | Dtype::F64)) && is_held(sizes, view.symbols(), *v)
                }
                _ => false,
            }
        }
        // Integers have none.
        Arg::Float(v) if operands.is_empty() && !v.is_finite() => {
            !dtypes.is_empty() && dtypes.iter().all(|d| d.is_float())
        }
        number => total.fits(number, &dtypes),
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
        Some(Arg::Node(n)) => match view.ty(*n) {
            ValueType::SymInt(d) => sizes.is_settled(*d) && sizes.at_most(Dim::Fixed(1), *d),
            ValueType::SymFloat(v) => is_one_or_more(sizes, view.symbols(), *v),
            _ => false,
        },
        _ => false,
    };
    let raised = dtypes.iter().all(|d| d.is_float()) || matches!(bound.args.get(1), Some(Arg::Int(0..)));
    let taken = (!complex || operator.facts.complex)
        && total.takes_all(&given) == Some(true)
        && dtypes.iter().all(|d| PLAIN.contains(d));
    let unless = operator.facts.unless.as_ref().and_then(|name| operator.schema.param_index(name));
    let stated = unless.is_none_or(|i| *bound.get(i) == Arg::None);
    let one_shape = operands.windows(2).all(|pair| matches!(pair, [a, b] if a.sizes == b.sizes));
    let shaped = total != Total::OneShape || one_shape;
    let worded = total != Total::PlainWords || dtypes.iter().all(|d| d.is_float()) || has_own_words(operator, bound);
    stated
        && fit
        && options
        && taken
        && shaped
        && worded
        && (total != Total::Divisor || divides)
        && (total != Total::Powers || raised)
        && (total != Total::Steps || steps(bound))
}

/// How many operations on sizes may stand in one another.
const OPERATIONS: usize = 8;
/// What no size is larger than.
const LARGEST: f64 = 9.3e18;

/// Whether every dtype of floats that is not narrow holds a float over sizes.
pub(super) fn is_held(sizes: &mut Sizes<'_>, symbols: &Symbols, float: ExprId) -> bool {
    most(sizes, symbols, float, OPERATIONS).is_some_and(|most| most <= f64::from(f32::MAX))
}

/// Returns what a float over sizes is at most, whatever its sign.
fn most(sizes: &mut Sizes<'_>, symbols: &Symbols, float: ExprId, depth: usize) -> Option<f64> {
    let inner = depth.checked_sub(1)?;
    let mut of = |one: SymFloat| most(sizes, symbols, one.into(), inner);
    match symbols.parts_of(float) {
        FloatParts::Number(v) => v.is_finite().then_some(v.abs()),
        FloatParts::Whole(d) => sizes.is_settled(d).then_some(LARGEST),
        FloatParts::Sum(all) => all.iter().map(|one| of(*one)).sum(),
        FloatParts::Product(all) => all.iter().map(|one| of(*one)).product(),
        FloatParts::Root(x) => of(x).map(|v| v.max(1.0)),
        FloatParts::InverseRoot(x) => is_one_or_more(sizes, symbols, x.into()).then_some(1.0),
        FloatParts::Quotient(x, y) => {
            let over = of(x)?;
            match symbols.parts_of(y.into()) {
                FloatParts::Number(v) => (v != 0.0).then(|| over / v.abs()),
                _ => is_one_or_more(sizes, symbols, y.into()).then_some(over),
            }
        }
        _ => None,
    }
}

/// Whether a float is a size that is at least 1, or the root of one.
fn is_one_or_more(sizes: &mut Sizes<'_>, symbols: &Symbols, float: ExprId) -> bool {
    match symbols.parts_of(float) {
        FloatParts::Whole(d) => sizes.is_settled(d) && sizes.at_most(Dim::Fixed(1), d),
        FloatParts::Root(x) => match symbols.parts_of(x.into()) {
            FloatParts::Whole(d) => sizes.is_settled(d) && sizes.at_most(Dim::Fixed(1), d),
            _ => false,
        },
        _ => false,
    }
}

/// Whether every word is the default one.
pub(super) fn has_own_words(operator: &Operator, bound: &Bound<'_>) -> bool {
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

/// Whether a number stands in the place of a tensor.
pub(super) fn has_number_for_tensor(view: &dyn View, operator: &Operator, bound: &Bound<'_>) -> bool {
    let is_number = |arg: &Arg| match arg {
        Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) => true,
        Arg::Node(n) => matches!(view.ty(*n), ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_)),
        _ => false,
    };
    let mut slots = operator.schema.params.iter().zip(&bound.args);
    slots.any(|(p, arg)| p.ty.base == Base::Tensor && !p.ty.is_list() && is_number(arg))
}

pub(super) fn is_plain_float(f: &mut Functional<'_>, side: Side, place: Place) -> bool {
    f.tensor(side, place).is_some_and(|t| matches!(t.dtype, Dtype::F32 | Dtype::F64))
}

/// Returns the one dtype of all operands, where all are tensors and every kernel takes it.
pub(super) fn numbers_of(f: &mut Functional<'_>, side: Side, node: NodeId) -> Option<Dtype> {
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
pub(super) fn has_defaults(operator: &Operator, bound: &Bound<'_>, dtype: Dtype) -> bool {
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
