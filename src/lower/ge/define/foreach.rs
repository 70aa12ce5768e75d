//! Operators on lists.

use super::{Call, Made, Table, Undefined};
use crate::graph::{Arg, Dtype, NodeId, View};

macro_rules! unary {
    ($($kind:literal $target:literal),* $(,)?) => { &[
        $(($kind, |c| plain(c, $target)),)*
        ("ForeachAddList", |c| with_list(c, "aten._foreach_add.List", true)),
        ("ForeachSubList", |c| with_list(c, "aten._foreach_sub.List", true)),
        ("ForeachMulList", |c| with_list(c, "aten._foreach_mul.List", false)),
        ("ForeachDivList", |c| with_list(c, "aten._foreach_div.List", false)),
        ("ForeachPowList", |c| with_list(c, "aten._foreach_pow.List", false)),
        ("ForeachMaximumList", |c| with_list(c, "aten._foreach_maximum.List", false)),
        ("ForeachMinimumList", |c| with_list(c, "aten._foreach_minimum.List", false)),
        ("ForeachAddScalar", |c| with_number(c, "aten._foreach_add.Scalar")),
        ("ForeachSubScalar", |c| with_number(c, "aten._foreach_sub.Scalar")),
        ("ForeachMulScalar", |c| with_number(c, "aten._foreach_mul.Scalar")),
        ("ForeachDivScalar", |c| with_number(c, "aten._foreach_div.Scalar")),
        ("ForeachPowScalar", |c| with_number(c, "aten._foreach_pow.Scalar")),
        ("ForeachMaximumScalar", |c| with_number(c, "aten._foreach_maximum.Scalar")),
        ("ForeachMinimumScalar", |c| with_number(c, "aten._foreach_minimum.Scalar")),
        ("ForeachAddScalarList", |c| with_numbers(c, "aten._foreach_add.ScalarList")),
        ("ForeachSubScalarList", |c| with_numbers(c, "aten._foreach_sub.ScalarList")),
        ("ForeachMulScalarList", |c| with_numbers(c, "aten._foreach_mul.ScalarList")),
        ("ForeachDivScalarList", |c| with_numbers(c, "aten._foreach_div.ScalarList")),
        ("ForeachPowScalarList", |c| with_numbers(c, "aten._foreach_pow.ScalarList")),
        ("ForeachMaximumScalarList", |c| with_numbers(c, "aten._foreach_maximum.ScalarList")),
        ("ForeachMinimumScalarList", |c| with_numbers(c, "aten._foreach_minimum.ScalarList")),
        ("ForeachRoundOffNumber", rounded),
        ("ForeachPowScalarAndTensor", power_of_number),
        ("ForeachLerpList", lerp_list),
        ("ForeachLerpScalar", lerp_number),
        ("ForeachAddcdivScalar", |c| with_product(c, "aten._foreach_addcdiv.Scalar")),
        ("ForeachAddcmulScalar", |c| with_product(c, "aten._foreach_addcmul.Scalar")),
        ("ForeachAddcdivScalarList", |c| with_products(c, "aten._foreach_addcdiv.ScalarList")),
        ("ForeachAddcmulScalarList", |c| with_products(c, "aten._foreach_addcmul.ScalarList")),
        ("ForeachNorm", norm),
    ] };
}

pub(super) const TABLE: Table = unary![
    "ForeachAbs" "aten._foreach_abs.default",
    "ForeachACos" "aten._foreach_acos.default",
    "ForeachASin" "aten._foreach_asin.default",
    "ForeachATan" "aten._foreach_atan.default",
    "ForeachCos" "aten._foreach_cos.default",
    "ForeachCosh" "aten._foreach_cosh.default",
    "ForeachErf" "aten._foreach_erf.default",
    "ForeachErfc" "aten._foreach_erfc.default",
    "ForeachExp" "aten._foreach_exp.default",
    "ForeachExpm1" "aten._foreach_expm1.default",
    "ForeachLog" "aten._foreach_log.default",
    "ForeachLog10" "aten._foreach_log10.default",
    "ForeachLog1p" "aten._foreach_log1p.default",
    "ForeachLog2" "aten._foreach_log2.default",
    "ForeachSigmoid" "aten._foreach_sigmoid.default",
    "ForeachSin" "aten._foreach_sin.default",
    "ForeachSinh" "aten._foreach_sinh.default",
    "ForeachTan" "aten._foreach_tan.default",
    "ForeachTanh" "aten._foreach_tanh.default",
];

/// Results one by one: of the type of the lists, as GE has it.
fn each(c: &mut Call<'_, '_>, list: NodeId) -> Made {
    let count = c.outputs();
    let items = c.b.items(list, count)?;
    let lists = c.b.graph.args(list).iter().find_map(|a| a.items()?.first()?.as_node());
    if let Some(first) = lists {
        let dtype = c.b.dtype(first)?;
        let alike = items.iter().all(|n| c.b.dtype(*n).is_ok_and(|d| d == dtype));
        c.only(alike, "an operator on lists that gives another type")?;
    }
    Ok(items.into_iter().map(|n| Some(n.into())).collect())
}

/// The tensors that feed some slots: GE has one type for all.
fn lists<const N: usize>(c: &mut Call<'_, '_>, slots: [&str; N]) -> Result<[Arg; N], Undefined> {
    let mut all = Vec::new();
    let mut out = [(); N].map(|()| Arg::None);
    for (list, slot) in out.iter_mut().zip(slots) {
        let tensors = c.many(slot)?;
        all.extend(tensors.iter().map(|t| c.b.dtype(*t)).collect::<Result<Vec<_>, _>>()?);
        *list = Arg::list(tensors);
    }
    c.only(all.windows(2).all(|w| w.first() == w.last()), "lists of several types")?;
    Ok(out)
}

fn plain(c: &mut Call<'_, '_>, target: &str) -> Made {
    let [x] = lists(c, ["x"])?;
    let list = c.b.call(target, vec![x])?;
    each(c, list)
}

fn with_list(c: &mut Call<'_, '_>, target: &str, alpha: bool) -> Made {
    let [a, b] = lists(c, ["x1", "x2"])?;
    let named = if alpha { vec![("alpha", c.one_number("alpha")?)] } else { Vec::new() };
    let list = c.b.call_with(target, vec![a, b], named)?;
    each(c, list)
}

fn with_number(c: &mut Call<'_, '_>, target: &str) -> Made {
    let [x] = lists(c, ["x"])?;
    let number = c.one_number("scalar")?;
    let list = c.b.call(target, vec![x, number])?;
    each(c, list)
}

fn numbers(c: &mut Call<'_, '_>, slot: &str) -> Result<Arg, Undefined> {
    let numbers = c.numbers(slot)?;
    Ok(Arg::list(numbers.items.iter().map(|i| c.scalar(&numbers, i)).collect::<Vec<_>>()))
}

fn with_numbers(c: &mut Call<'_, '_>, target: &str) -> Made {
    let [x] = lists(c, ["x"])?;
    let numbers = numbers(c, "scalars")?;
    let list = c.b.call(target, vec![x, numbers])?;
    each(c, list)
}

fn power_of_number(c: &mut Call<'_, '_>) -> Made {
    let base = c.one_number("scalar")?;
    let [x] = lists(c, ["x"])?;
    let list = c.b.call("aten._foreach_pow.ScalarAndTensor", vec![base, x])?;
    each(c, list)
}

fn lerp_list(c: &mut Call<'_, '_>) -> Made {
    let [a, b, w] = lists(c, ["x1", "x2", "weight"])?;
    // One tensor a place: the slot is not dynamic, but holds as many as there are.
    let list = c.b.call("aten._foreach_lerp.List", vec![a, b, w])?;
    each(c, list)
}

fn lerp_number(c: &mut Call<'_, '_>) -> Made {
    let [a, b] = lists(c, ["x1", "x2"])?;
    let weight = c.one_number("weight")?;
    let list = c.b.call("aten._foreach_lerp.Scalar", vec![a, b, weight])?;
    each(c, list)
}

fn three_lists(c: &mut Call<'_, '_>) -> Result<Vec<Arg>, Undefined> {
    lists(c, ["x1", "x2", "x3"]).map(Vec::from)
}

fn with_product(c: &mut Call<'_, '_>, target: &str) -> Made {
    let mut args = three_lists(c)?;
    args.push(c.one_number("scalar")?);
    let list = c.b.call(target, args)?;
    each(c, list)
}

fn with_products(c: &mut Call<'_, '_>, target: &str) -> Made {
    let mut args = three_lists(c)?;
    args.push(numbers(c, "scalars")?);
    let list = c.b.call(target, args)?;
    each(c, list)
}

fn norm(c: &mut Call<'_, '_>) -> Made {
    let [x] = lists(c, ["x"])?;
    let order = c.one_number("scalar")?;
    let list = c.b.call("aten._foreach_norm.Scalar", vec![x, order])?;
    each(c, list)
}

/// By the number of the mode.
fn rounded(c: &mut Call<'_, '_>) -> Made {
    c.only(c.value("roundMode")?.dtype(c.b)? == Dtype::I8, "a mode that is no int8")?;
    let target = match c.one_int("roundMode")? {
        2 => "aten._foreach_floor.default",
        3 => "aten._foreach_ceil.default",
        4 => "aten._foreach_round.default",
        5 => "aten._foreach_trunc.default",
        7 => "aten._foreach_frac.default",
        other => return super::undefined(format!("mode {other}")),
    };
    plain(c, target)
}
