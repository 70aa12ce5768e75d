//! Operators that write what feeds them, or stop the run.

use super::{Call, Made, Table, Undefined, one};
use crate::graph::{Arg, NodeId};

pub(super) const TABLE: Table = &[("Assert", assert), ("Assign", assign)];

/// What is shown of it when it does not hold changes nothing.
fn assert(c: &mut Call<'_, '_>) -> Made {
    let (_, _) = (c.many("input_data")?, c.int("summarize")?);
    let holds = c.t("input_condition")?;
    c.b.call("aten._assert_async.default", vec![Arg::Node(holds)])?;
    Ok(Vec::new())
}

fn assign(c: &mut Call<'_, '_>) -> Made {
    let _ = (c.flag("validate_shape")?, c.flag("use_locking")?);
    let (old, new) = (c.t("ref")?, c.t("value")?);
    c.only(c.b.dtype(old)? == c.b.dtype(new)?, "a write of another type")?;
    one(write(c, old, new)?)
}

/// Lets `new` be the content of `old`: of an input's memory, that is a write; else of memory that nobody reads any more (`raise` holds that).
pub(super) fn write(c: &mut Call<'_, '_>, old: NodeId, new: NodeId) -> Result<NodeId, Undefined> {
    if c.b.written_inputs.contains(&old) {
        return c.b.call("aten.copy_.default", vec![Arg::Node(old), Arg::Node(new)]);
    }
    Ok(new)
}
