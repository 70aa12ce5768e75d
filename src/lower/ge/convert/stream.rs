//! Operators of streams that make GE operators. Scopes, records and waits make none: the lowering keeps them itself.

use super::cx::Cx;
use super::{Entry, Made, Rule};

pub(super) const TABLE: &[Entry] = &[("air.wait_tensor.default", Rule::By(wait_tensor))];

fn wait_tensor(cx: &mut Cx) -> Made {
    let (x, dependency) = (cx.tensor(0, "self")?, cx.tensor(1, "dependency")?);
    let control = cx.b.after(dependency);
    let identity = cx.op("Identity", vec![x.into()], &[])?;
    cx.b.add_control(identity, control);
    Ok(identity.into())
}
