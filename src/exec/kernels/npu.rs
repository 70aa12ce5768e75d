//! Fused operators of the NPU that no decomposition says: what they do depends on values. The others run by their decompositions.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::value::Value;
use crate::graph::Arg;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[(grouped_matmul, &["npu.npu_grouped_matmul.default"])];

type Made = Result<Value, CallFault>;

/// Arguments of the quantised forms, which have no definition.
const QUANTISED: &[&str] = &[
    "scale",
    "offset",
    "antiquant_scale",
    "antiquant_offset",
    "per_token_scale",
    "activation_input",
    "activation_quant_scale",
    "activation_quant_offset",
];

/// One product a group: the rows of one tensor split as `group_list` says, or one tensor a group.
fn grouped_matmul(cx: &mut Cx<'_, '_, '_>) -> Made {
    let place = |name: &str| cx.operator.schema.param_index(name).unwrap_or(usize::MAX);
    let plain =
        QUANTISED.iter().all(|name| cx.is_none(place(name))) && cx.opt_int(place("act_type"))?.unwrap_or(0) == 0;
    if !plain || !matches!(cx.opt_int(place("output_dtype"))?, None | Some(-1)) {
        return Err(CallFault::Unsupported { what: "a quantised or activated form, which has no definition".into() });
    }
    let joined = matches!(cx.opt_int(place("split_item"))?, Some(2 | 3));
    let biases = if cx.is_none(place("bias")) { Vec::new() } else { parts(&cx.tensors(place("bias"))?, 2)? };
    let weights = parts(&cx.tensors(1)?, 3)?;
    let xs = match cx.tensors(0)?.as_slice() {
        [one] => split_rows(one, &group_sizes(cx)?)?,
        several => several.iter().map(|t| (*t).clone()).collect(),
    };
    if xs.len() != weights.len() {
        return Err(cx.bad(1, format!("{} weights, one a group", xs.len()), weights.len().to_string()));
    }
    let mut made = Vec::new();
    for (i, (x, weight)) in xs.iter().zip(&weights).enumerate() {
        let bias = match biases.get(i) {
            Some(b) => {
                let dtype = Value::Literal(Arg::Dtype(x.dtype()));
                Value::Tensor(cx.run_tensor("aten.to.dtype", &[Value::Tensor(b.clone()), dtype])?)
            }
            None => Value::None,
        };
        let transposed = Value::Tensor(weight.permute(&[1, 0]));
        made.push(cx.run_tensor("aten.linear.default", &[Value::Tensor(x.clone()), transposed, bias])?);
    }
    if joined {
        made = vec![cx.run_tensor("aten.cat.default", &[made.into(), Value::Int(0)])?];
    }
    Ok(made.into())
}

/// One tensor of that rank is a stack of parts; otherwise each tensor is one.
fn parts(all: &[&Tensor], rank: usize) -> Result<Vec<Tensor>, CallFault> {
    match all {
        [stack] if stack.rank() == rank => (0..stack.meta.size(0)).map(|i| stack.select(0, i)).collect(),
        _ => Ok(all.iter().map(|t| (*t).clone()).collect()),
    }
}

/// How many rows each group has.
fn group_sizes(cx: &Cx<'_, '_, '_>) -> Result<Vec<usize>, CallFault> {
    let at = cx.operator.schema.param_index("group_list").unwrap_or(usize::MAX);
    let kind = cx.operator.schema.param_index("group_list_type").unwrap_or(usize::MAX);
    let list: Vec<i64> = match cx.arg(at) {
        Arg::List(_) | Arg::Tuple(_) => cx.ints(at)?.to_vec(),
        _ => cx.tensor(at)?.lanes::<i64>()?.to_vec(),
    };
    let counts: Vec<i64> = match cx.opt_int(kind)?.unwrap_or(0) {
        // Running totals.
        0 => std::iter::once(&0).chain(&list).zip(&list).map(|(before, now)| now.saturating_sub(*before)).collect(),
        1 => list,
        other => {
            return Err(CallFault::Unsupported { what: format!("group_list_type {other}, which has no definition") });
        }
    };
    let negative = |n: &i64| cx.bad(at, "groups of 0 rows or more", n.to_string());
    counts.iter().map(|n| usize::try_from(*n).map_err(|_| negative(n))).collect()
}

fn split_rows(x: &Tensor, counts: &[usize]) -> Result<Vec<Tensor>, CallFault> {
    let mut start = 0_usize;
    let mut out = Vec::with_capacity(counts.len());
    for count in counts {
        out.push(x.narrow(0, start, *count)?);
        start = start.saturating_add(*count);
    }
    Ok(out)
}
