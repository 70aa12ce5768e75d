//! Calls whose result is one of their operands, bit for bit.
//!
//! Which these are is stated beside their schemas (`#same-as`).
//!
//! Promises: each holds for all inputs, -0.0 and NaN included, whatever the sizes, where dtype, device and sizes are the operand's; what
//! else must hold is the mark's condition. Whether the result may also *be* the operand's memory is not asked here: that is
//! aliasing. Each rule has its wrong twin in the tests of this file or of `judge`.

use crate::analysis::{Place, place_of};
use crate::graph::{Arg, NodeId, NodeKind, TensorType};
use crate::ops::{Bound, Given, Operator};
use crate::sym::Dim;
use crate::term::index_map::Step;
use crate::term::sizes::Dims;
use crate::term::term::Side;
use crate::verify::functional::values::{Functional, bind};

/// Returns the operand that the call's result equals.
pub fn equal_operand(
    f: &mut Functional<'_>,
    side: Side,
    operator: &Operator,
    bound: &Bound<'_>,
    place: Place,
) -> Option<NodeId> {
    let same = operator.facts.same_as.as_ref()?;
    let view = f.view(side);
    let node = match bound.get(operator.schema.param_index(&same.param)?) {
        Arg::Node(n) => *n,
        list => match list.items()? {
            [Arg::Node(n)] => *n,
            _ => return None,
        },
    };
    let (from, to) = (f.tensor(side, place_of(view, node))?, f.tensor(side, place)?);
    let holds = match &same.given {
        Given::Always => true,
        Given::Integer => from.dtype.is_integer(),
        Given::LaidOut => lies_as(f, side, place_of(view, node), place),
        Given::Argument(all) => {
            all.iter().any(|is| operator.schema.param_index(&is.param).is_some_and(|i| is.holds(bound.get(i))))
        }
    };
    let alike = from.dtype == to.dtype && from.device == to.device && f.sizes.all_same(&from.sizes, &to.sizes);
    (holds && alike).then_some(node)
}

/// Whether two values of one memory lie alike, and where: strides of a call's own result are counted from the beginning of its memory, those
/// of an input from wherever its caller has it.
fn lies_as(f: &mut Functional<'_>, side: Side, from: Place, to: Place) -> bool {
    let origin = f.side(side).storages.origin(from);
    let (Some(a), Some(b)) = (f.laid_out(side, from), f.laid_out(side, to)) else { return false };
    // The stride of a dimension of one element leads nowhere.
    let strides = |t: &TensorType| -> Dims {
        let dims = t.sizes.iter().zip(t.strides.iter().flatten());
        dims.filter(|(size, _)| **size != Dim::Fixed(1)).map(|(_, stride)| *stride).collect()
    };
    f.view(side).kind(origin.node) == NodeKind::Call
        && f.sizes.all_same(&strides(a), &strides(b))
        && f.sizes.same(a.offset, b.offset)
}

/// What a result by strides is of the value of whose memory it is: elements of that, which lies row by row, none of them beyond it.
pub fn strided_step(f: &mut Functional<'_>, side: Side, operator: &Operator, place: Place) -> Option<Step> {
    let by_strides = operator.facts.same_as.as_ref().is_some_and(|same| same.given == Given::LaidOut);
    let parent = if by_strides { f.side(side).storages.parent(place)?.place() } else { return None };
    let origin = f.side(side).storages.origin(parent);
    let (from, to) = (f.laid_out(side, parent)?, f.laid_out(side, place)?);
    let (base, first) = (fixed(from)?, from.offset.fixed()?);
    let (taken, offset) = (fixed(to)?, to.offset.fixed()?);
    // Where an input begins nobody says, nor a tensor of the module: of inputs it is taken for granted, and said.
    let view = f.view(side);
    let told = operator.schema.param_index("storage_offset").zip(bind(operator, view, place.node));
    let own = told.is_some_and(|(at, bound)| *bound.get(at) == Arg::None);
    let begins = matches!(view.kind(origin.node), NodeKind::Call | NodeKind::Placeholder);
    let start = offset.checked_sub(first).filter(|_| own || begins)?;
    f.begin_counts |= !own && view.kind(origin.node) == NodeKind::Placeholder;
    if start < 0 || from.dtype != to.dtype || taken.iter().any(|(size, stride)| *size < 1 || *stride < 0) {
        return None;
    }
    let reach = |ends: i64, (size, stride): &(i64, i64)| ends.checked_add(size.checked_sub(1)?.checked_mul(*stride)?);
    let last = taken.iter().try_fold(start, reach)?;
    if let [(whole, apart)] = base.as_slice()
        && let [(size, stride)] = taken.as_slice()
    {
        let even = *apart > 0 && *stride > 0 && start.checked_rem(*apart)? == 0 && stride.checked_rem(*apart)? == 0;
        let (start, step) = (start.checked_div(*apart)?, stride.checked_div(*apart)?);
        let inside = even && last.checked_div(*apart)? < *whole;
        return inside.then_some(Step::Slice { dim: 0, start: start.into(), step, size: (*size).into() });
    }
    let whole = base.iter().try_fold(1_i64, |n, (size, _)| n.checked_mul(*size))?;
    let inside = crate::analysis::contiguous(from) == Some(true) && last < whole;
    let strides = taken.iter().map(|(_, stride)| Dim::Fixed(*stride)).collect();
    inside.then_some(Step::Strided { sizes: to.sizes.clone(), strides, start: start.into() })
}

/// Sizes and strides of a tensor, as numbers.
fn fixed(t: &TensorType) -> Option<Vec<(i64, i64)>> {
    let strides = t.strides.as_deref()?;
    t.sizes.iter().zip(strides).map(|(size, stride)| Some((size.fixed()?, stride.fixed()?))).collect()
}
