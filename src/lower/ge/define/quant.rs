//! Numbers in few bits.

use super::{Call, Made, Table, Undefined, one, undefined};
use crate::graph::{Arg, Dtype};

pub(super) const TABLE: Table =
    &[("DynamicQuant", dynamic_quant), ("AscendAntiQuantV2", anti_quant), ("QuantBatchMatmulV3", quant_matmul)];

/// The number by which torch_npu names a type; none where it is the one that it takes without.
fn named(dtype: Dtype, usual: Dtype) -> Result<Arg, Undefined> {
    if dtype == usual {
        return Ok(Arg::None);
    }
    Ok(Arg::Int(match dtype {
        Dtype::I8 => 1,
        Dtype::I32 => 3,
        Dtype::F16 => 5,
        Dtype::F32 => 6,
        Dtype::Bf16 => 15,
        other => return undefined(format!("a result of {other}")),
    }))
}

fn dynamic_quant(c: &mut Call<'_, '_>) -> Made {
    let to = named(c.dtype("dst_type")?, Dtype::I8)?;
    let x = c.t("x")?;
    let keywords =
        vec![("smooth_scales", c.maybe("smooth_scales")?), ("group_index", c.maybe("group_index")?), ("dst_type", to)];
    let keywords = keywords.into_iter().filter(|(_, v)| *v != Arg::None).collect();
    let both = c.b.call_with("npu.npu_dynamic_quant.default", vec![Arg::Node(x)], keywords)?;
    Ok(c.b.items(both, 2)?.into_iter().map(|n| Some(n.into())).collect())
}

fn anti_quant(c: &mut Call<'_, '_>) -> Made {
    c.only(!c.flag("sqrt_mode")?, "a scale that is used twice")?;
    let to = named(c.dtype("dst_type")?, Dtype::F16)?;
    let (x, scale) = (c.t("x")?, c.t("scale")?);
    c.only(c.b.dtype(x)? == Dtype::I8, "a quantised tensor of another type than int8")?;
    let keywords = vec![("offset", c.maybe("offset")?), ("dst_dtype", to)];
    let keywords = keywords.into_iter().filter(|(_, v)| *v != Arg::None).collect();
    one(c.b.call_with("npu.npu_anti_quant.default", vec![Arg::Node(x), Arg::Node(scale)], keywords)?)
}

fn quant_matmul(c: &mut Call<'_, '_>) -> Made {
    c.only(!c.flag("transpose_x1")? && !c.flag("transpose_x2")?, "an operand that the product transposes")?;
    let to = named(c.dtype("dtype")?, Dtype::I8)?;
    let (x1, x2, scale) = (c.t("x1")?, c.t("x2")?, c.t("scale")?);
    let keywords = vec![
        ("offset", c.maybe("offset")?),
        ("pertoken_scale", c.maybe("pertoken_scale")?),
        ("bias", c.maybe("bias")?),
        ("output_dtype", to),
    ];
    let keywords = keywords.into_iter().filter(|(_, v)| *v != Arg::None).collect();
    let args = vec![Arg::Node(x1), Arg::Node(x2), Arg::Node(scale)];
    one(c.b.call_with("npu.npu_quant_matmul.default", args, keywords)?)
}
