//! `_foreach_*`: an operator on each tensor of a list. Each result is that of the operator on one tensor.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        |cx| each(cx, "default"),
        &[
            "aten._foreach_abs.default",
            "aten._foreach_acos.default",
            "aten._foreach_asin.default",
            "aten._foreach_atan.default",
            "aten._foreach_ceil.default",
            "aten._foreach_cos.default",
            "aten._foreach_cosh.default",
            "aten._foreach_erf.default",
            "aten._foreach_erfc.default",
            "aten._foreach_exp.default",
            "aten._foreach_expm1.default",
            "aten._foreach_floor.default",
            "aten._foreach_frac.default",
            "aten._foreach_clone.default",
            "aten._foreach_lgamma.default",
            "aten._foreach_max.default",
            "aten._foreach_rsqrt.default",
            "aten._foreach_log.default",
            "aten._foreach_log10.default",
            "aten._foreach_log1p.default",
            "aten._foreach_log2.default",
            "aten._foreach_maximum.List",
            "aten._foreach_minimum.List",
            "aten._foreach_neg.default",
            "aten._foreach_reciprocal.default",
            "aten._foreach_round.default",
            "aten._foreach_sigmoid.default",
            "aten._foreach_sign.default",
            "aten._foreach_sin.default",
            "aten._foreach_sinh.default",
            "aten._foreach_sqrt.default",
            "aten._foreach_tan.default",
            "aten._foreach_tanh.default",
            "aten._foreach_trunc.default",
            "aten._foreach_clamp_max.Scalar",
            "aten._foreach_clamp_max.ScalarList",
            "aten._foreach_clamp_min.Scalar",
            "aten._foreach_clamp_min.ScalarList",
        ],
    ),
    (
        |cx| each(cx, "Tensor"),
        &[
            "aten._foreach_clamp_max.List",
            "aten._foreach_clamp_min.List",
            "aten._foreach_div.List",
            "aten._foreach_lerp.List",
            "aten._foreach_div.Tensor",
            "aten._foreach_mul.List",
            "aten._foreach_mul.Tensor",
        ],
    ),
    (
        |cx| each(cx, "Scalar"),
        &[
            "aten._foreach_add.Scalar",
            "aten._foreach_add.ScalarList",
            "aten._foreach_div.Scalar",
            "aten._foreach_div.ScalarList",
            "aten._foreach_lerp.Scalar",
            "aten._foreach_lerp.ScalarList",
            "aten._foreach_mul.Scalar",
            "aten._foreach_mul.ScalarList",
            "aten._foreach_pow.ScalarAndTensor",
            "aten._foreach_sub.Scalar",
            "aten._foreach_sub.ScalarList",
        ],
    ),
    (|cx| each(cx, "Tensor_Tensor"), &["aten._foreach_pow.List"]),
    (|cx| each(cx, "Tensor_Scalar"), &["aten._foreach_pow.Scalar", "aten._foreach_pow.ScalarList"]),
    // A number as the larger or smaller of two is a bound.
    (
        |cx| mapped(cx, "aten.clamp_min.default", None),
        &["aten._foreach_maximum.Scalar", "aten._foreach_maximum.ScalarList"],
    ),
    (
        |cx| mapped(cx, "aten.clamp_max.default", None),
        &["aten._foreach_minimum.Scalar", "aten._foreach_minimum.ScalarList"],
    ),
    (|cx| mapped(cx, "aten.add.Tensor", Some("alpha")), &["aten._foreach_add.List", "aten._foreach_add.Tensor"]),
    (|cx| mapped(cx, "aten.sub.Tensor", Some("alpha")), &["aten._foreach_sub.List"]),
    (
        |cx| mapped(cx, "aten.addcmul.default", Some("value")),
        &["aten._foreach_addcmul.Scalar", "aten._foreach_addcmul.ScalarList"],
    ),
    (
        |cx| mapped(cx, "aten.addcdiv.default", Some("value")),
        &["aten._foreach_addcdiv.Scalar", "aten._foreach_addcdiv.ScalarList"],
    ),
    (norm, &["aten._foreach_norm.Scalar"]),
    (|cx| mapped(cx, "aten.copy_.default", None).map(|_| Value::None), &["aten._foreach_copy_.default"]),
    (|cx| mapped(cx, "aten.zero_.default", None).map(|_| Value::None), &["aten._foreach_zero_.default"]),
];

/// The norm over all elements of each tensor.
fn norm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let [tensors, order, dtype] = [0, 1, 2].map(|i| cx.values().get(i).cloned().unwrap_or_default());
    let mut results = Vec::with_capacity(tensors.items().len());
    for tensor in tensors.items() {
        let args = [tensor.clone(), order.clone(), Value::None, Value::Bool(false)];
        let made = cx.session.call("aten.linalg_vector_norm.default", &args, &[("dtype", dtype.clone())]);
        results.push(made.map_err(|e| *e.fault)?);
    }
    Ok(Value::List(results))
}

/// The operator of the same name on each tensor.
fn each(cx: &mut Cx<'_, '_, '_>, overload: &str) -> Made {
    let operator = cx.call.operator;
    let name = operator.schema.name.strip_prefix("_foreach_").unwrap_or(&operator.schema.name);
    mapped(cx, &format!("aten.{name}.{overload}"), None)
}

/// Calls `target` once a tensor: of lists it takes the elements in turn, of everything else always the same. The last argument goes by
/// `keyword` where there is one.
fn mapped(cx: &mut Cx<'_, '_, '_>, target: &str, keyword: Option<&str>) -> Made {
    let arguments = cx.values();
    let lengths = arguments.iter().filter_map(|v| if let Value::List(all) = v { Some(all.len()) } else { None });
    let count = lengths.max().unwrap_or(0);
    for (i, argument) in arguments.iter().enumerate() {
        if let Value::List(all) = argument
            && all.len() != count
        {
            return Err(cx.bad(i, format!("{count} elements, as many as the other lists have"), all.len().to_string()));
        }
    }
    let nth = |v: &Value, k: usize| match v {
        Value::List(all) => all.get(k).cloned().unwrap_or_default(),
        one => one.clone(),
    };
    let mut results = Vec::with_capacity(count);
    for k in 0..count {
        let mut args: Vec<Value> = arguments.iter().map(|v| nth(v, k)).collect();
        let by_keyword = keyword.and_then(|name| args.pop().map(|v| (name, v)));
        let made = cx.session.call(target, &args, by_keyword.as_slice());
        results.push(made.map_err(|e| *e.fault)?);
    }
    Ok(Value::List(results))
}

#[cfg(test)]
mod tests {
    use crate::exec::tensor::fill;
    use crate::exec::{Kernels, Meta, Session, Value};
    use crate::graph::Dtype;
    use crate::ops::Registry;

    #[test]
    fn each_tensor_gets_its_own_number_and_lists_must_be_as_long() {
        let (registry, kernels) = (Registry::standard(), Kernels::standard());
        let mut session = Session::new(&registry, &kernels, 0);
        let make = |v: f32| fill::from_lanes(&Meta::contiguous(Dtype::F32, &[1]), vec![v], session.meter()).unwrap();
        let tensors = Value::from(vec![make(2.0), make(3.0)]);
        let numbers = |all: &[i64]| Value::List(all.iter().map(|n| Value::Int(*n)).collect());
        let target = "aten._foreach_mul.ScalarList";
        let made = session.call(target, &[tensors.clone(), numbers(&[5, 7])], &[]).unwrap();
        let first = |v: &Value| v.as_tensor().unwrap().lanes::<f32>().unwrap()[0];
        assert_eq!(made.items().iter().map(first).collect::<Vec<_>>(), [10.0, 21.0]);
        assert!(session.call(target, &[tensors, numbers(&[5])], &[]).is_err());
    }
}
