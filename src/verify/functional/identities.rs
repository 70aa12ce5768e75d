//! Calls whose result is one of their operands, bit for bit.
//!
//! Which these are is stated beside their schemas (`#same-as`).
//!
//! Promises: each holds for all inputs, -0.0 and NaN included, whatever the sizes, where dtype, device and sizes are the operand's; what
//! else must hold is the mark's condition. Whether the result may also *be* the operand's memory is not asked here: that is
//! aliasing. Each rule has its wrong twin in the tests of this file or of `judge`.

use crate::analysis::{Place, place_of};
use crate::graph::{Arg, NodeId};
use crate::ops::{Bound, Given, Operator};
use crate::term::term::Side;
use crate::verify::functional::values::Functional;

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
        Given::Argument(all) => {
            all.iter().any(|is| operator.schema.param_index(&is.param).is_some_and(|i| is.holds(bound.get(i))))
        }
    };
    let alike = from.dtype == to.dtype && from.device == to.device && f.sizes.all_same(&from.sizes, &to.sizes);
    (holds && alike).then_some(node)
}
