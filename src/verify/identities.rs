//! Calls whose result is one of their operands, bit for bit.
//!
//! Promises: each holds for all inputs, -0.0 and NaN included, whatever the sizes; a rule that holds for some
//! dtypes only says so in its condition. Whether the result may also *be* the operand's memory is not asked here: that is
//! aliasing. Each rule has its wrong twin in the tests of this file or of `judge`.

use super::sizes::Sizes;
use super::views::as_dim;
use crate::analysis::{Place, place_of, type_of};
use crate::graph::{Arg, TensorType, View};
use crate::ops::{Bound, Operator};
use crate::sym::Dim;

/// Returns the operand that the call's result equals.
pub fn equal_operand(
    view: &dyn View,
    operator: &Operator,
    bound: &Bound<'_>,
    place: Place,
    sizes: &mut Sizes<'_>,
) -> Option<crate::graph::NodeId> {
    let arg = |name: &str| operator.schema.param_index(name).map_or(&Arg::None, |i| bound.get(i));
    let node = match bound.args.first()? {
        Arg::Node(n) => *n,
        list => match (&*operator.schema.name, list.items()?) {
            // Of one tensor nothing is concatenated.
            ("cat", [Arg::Node(n)]) => *n,
            _ => return None,
        },
    };
    let from = type_of(view, place_of(view, node)).as_tensor()?;
    let to = type_of(view, place).as_tensor()?;
    let same = from.dtype == to.dtype && from.device == to.device && sizes.all_same(&from.sizes, &to.sizes);
    // A type that no rule gave is somebody's word.
    if !same
        || operator.rule.is_none()
        || !matches!(&*operator.schema.namespace, "aten" | "prims" | "air" | "npugraph_ex")
    {
        return None;
    }
    let rank_same = from.rank() == to.rank();
    let holds = match &*operator.schema.name {
        "clone"
        | "alias"
        | "alias_copy"
        | "detach"
        | "detach_copy"
        | "lift"
        | "lift_fresh"
        | "lift_fresh_copy"
        | "contiguous"
        | "positive"
        | "wait_tensor"
        | "_to_copy"
        | "to"
        | "type_as"
        | "convert_element_type"
        | "device_put"
        | "cat" => true,
        "dropout" | "alpha_dropout" | "feature_dropout" => *arg("train") == Arg::Bool(false),
        "ceil" | "floor" | "round" | "trunc" => is_integer(from) && operator.schema.overload.is_empty(),
        // PyTorch copies: no power is computed.
        "pow" => &*operator.schema.overload == "Tensor_Scalar" && is_one(arg("exponent")),
        "repeat" => rank_same && all_are(view, arg("repeats"), 1),
        "constant_pad_nd" => all_are(view, arg("pad"), 0),
        _ => false,
    };
    holds.then_some(node)
}

fn is_one(exponent: &Arg) -> bool {
    matches!(exponent, Arg::Int(1)) || matches!(exponent, Arg::Float(e) if *e == 1.0)
}

fn is_integer(t: &TensorType) -> bool {
    t.dtype.is_integer()
}

fn all_are(view: &dyn View, list: &Arg, value: i64) -> bool {
    list.items().is_some_and(|items| items.iter().all(|a| as_dim(view, a) == Some(Dim::Fixed(value))))
}
