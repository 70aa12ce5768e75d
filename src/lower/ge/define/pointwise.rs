//! Functions of elements that take more than a line: operands that may be numbers, types, and arithmetic on sizes.

use super::numbers::{self, Arithmetic};
use super::{Call, Made, Table, Undefined, Value, one, undefined};
use super::{create, dense};
use crate::graph::{Arg, Dtype, NodeId, View};
use crate::lower::ge::raise::types::of_cpp;
use crate::sym::Dim;

pub(super) const TABLE: Table = &[
    ("Add", |c| binary(c, "aten.add.Tensor", Some(Arithmetic::Add), true)),
    ("Sub", |c| binary(c, "aten.sub.Tensor", Some(Arithmetic::Sub), false)),
    ("Mul", |c| binary(c, "aten.mul.Tensor", Some(Arithmetic::Mul), true)),
    ("Complex", complex),
    ("RealDiv", quotient),
    ("Div", quotient),
    ("FloorDiv", floor_div),
    ("TruncateDiv", truncated),
    ("FloorMod", |c| compared(c, "aten.remainder", Some(Arithmetic::Mod))),
    ("Mod", |c| compared(c, "aten.fmod", None)),
    ("Greater", |c| compared(c, "aten.gt", None)),
    ("GreaterEqual", |c| compared(c, "aten.ge", None)),
    ("Less", |c| compared(c, "aten.lt", None)),
    ("LessEqual", |c| compared(c, "aten.le", None)),
    ("Equal", |c| compared(c, "aten.eq", None)),
    ("NotEqual", |c| compared(c, "aten.ne", None)),
    ("BitwiseAnd", |c| compared(c, "aten.bitwise_and", None)),
    ("BitwiseOr", |c| compared(c, "aten.bitwise_or", None)),
    ("BitwiseXor", |c| compared(c, "aten.bitwise_xor", None)),
    ("LeftShift", |c| {
        shifted(
            c,
            "aten.bitwise_left_shift.Tensor",
            ["aten.bitwise_left_shift.Tensor_Scalar", "aten.__lshift__.Scalar"],
        )
    }),
    ("RightShift", |c| {
        shifted(
            c,
            "aten.bitwise_right_shift.Tensor",
            ["aten.bitwise_right_shift.Tensor_Scalar", "aten.__rshift__.Scalar"],
        )
    }),
    ("Pow", power),
    ("Minimum", |c| bounded(c, "aten.minimum.default", Arithmetic::Min)),
    ("Maximum", |c| bounded(c, "aten.maximum.default", Arithmetic::Max)),
    ("Muls", |c| by_attribute(c, "aten.mul.Tensor")),
    ("Adds", |c| by_attribute(c, "aten.add.Tensor")),
    ("Sxpy", scaled_difference),
    ("Trunc", trunc),
    ("Axpy", |c| scaled_sum(c, "attribute")),
    ("AxpyV2", |c| scaled_sum(c, "input")),
    ("Cast", cast),
    ("Bitcast", bitcast),
    ("Lerp", lerp),
    ("SelectV2", select),
    ("MaskedFill", masked_fill),
    ("ClipByValueV2", clip),
    ("Log", logarithm),
    ("Swish", swish),
    ("HardSigmoid", hard_sigmoid),
    ("LogSigmoid", log_sigmoid),
    ("LogSigmoidGrad", log_sigmoid_grad),
    ("Real", |c| part(c, 0)),
    ("Imag", |c| part(c, 1)),
    ("PRelu", prelu),
    ("DropOutDoMask", dropped),
    ("FastGelu", fast_gelu),
];

/// The operands of an operator of two: the first as a tensor, the second as a number where it is one.
fn operands(c: &mut Call<'_, '_>) -> Result<(NodeId, Arg), Undefined> {
    let first = c.t("x1")?;
    let second = c.operand("x2", first)?;
    Ok((first, second))
}

/// Sums and products. A product with one is its other operand; the sum of a product of matrices and a row is that of addmm.
fn binary(c: &mut Call<'_, '_>, target: &str, arithmetic: Option<Arithmetic>, commutes: bool) -> Made {
    let (a, b) = (c.value("x1")?, c.value("x2")?);
    if let (Value::Numbers(a), Value::Numbers(b), Some(op)) = (&a, &b, arithmetic) {
        if let Some(known) = numbers::both(c.b, op, a, b)? {
            return one(known);
        }
        if let Some(known) = numbers::of_floats(c.b, op, a, b)? {
            return one(known);
        }
    }
    if commutes && a.numbers().is_some() && b.numbers().is_none() {
        let second = c.t("x2")?;
        let first = c.operand("x1", second)?;
        if arithmetic == Some(Arithmetic::Mul) && is_one(&first) {
            return one(second);
        }
        return one(c.b.call(target, vec![Arg::Node(second), first])?);
    }
    let (first, second) = operands(c)?;
    if arithmetic == Some(Arithmetic::Mul) && is_one(&second) {
        return one(first);
    }
    if let (Some(Arithmetic::Add), Arg::Node(other)) = (arithmetic, &second) {
        for (product, row) in [(first, *other), (*other, first)] {
            if let Some(sum) = dense::with_bias(c, product, row)? {
                return one(sum);
            }
        }
    }
    one(c.b.call(target, vec![Arg::Node(first), second])?)
}

fn is_one(number: &Arg) -> bool {
    #[allow(clippy::float_cmp)] // 1 is exact.
    match number {
        Arg::Int(v) => *v == 1,
        Arg::Float(v) => *v == 1.0,
        _ => false,
    }
}

/// Of parts of a type one of twice its width.
/// What both parts were taken of: pairs in its last dimension, which the graph that was lowered sees as complex numbers.
fn pairs_of(c: &Call<'_, '_>, real: NodeId, imag: NodeId) -> Option<NodeId> {
    let part = |n: NodeId, wanted: i64| -> Option<NodeId> {
        let [Arg::Node(of), Arg::Int(at), Arg::Int(place)] = c.b.graph.args(n) else { return None };
        let sizes = c.b.tensor(*of).ok()?.sizes.clone();
        let last = *at == -1 || usize::try_from(*at).ok()?.checked_add(1)? == sizes.len();
        let pair = sizes.last().and_then(|d| d.fixed()) == Some(2);
        (c.b.graph.target(n) == "aten.select.int" && last && pair && *place == wanted).then_some(*of)
    };
    let of = part(real, 0)?;
    (part(imag, 1)? == of && c.b.calls("aten.view_as_complex.default")).then_some(of)
}

fn complex(c: &mut Call<'_, '_>) -> Made {
    let (real, imag, whole) = (c.t("real")?, c.t("imag")?, c.dtype("Tout")?);
    let widths = (c.b.dtype(real)?, whole);
    let fits = matches!(widths, (Dtype::F16, Dtype::C32) | (Dtype::F32, Dtype::C64) | (Dtype::F64, Dtype::C128));
    c.only(fits, "parts of another width")?;
    if let Some(pairs) = pairs_of(c, real, imag)
        && let Ok(seen) = c.b.call("aten.view_as_complex.default", vec![Arg::Node(pairs)])
    {
        return one(seen);
    }
    one(c.b.call("aten.complex.default", vec![Arg::Node(real), Arg::Node(imag)])?)
}

fn quotient(c: &mut Call<'_, '_>) -> Made {
    let dtype = c.value("x1")?.dtype(c.b)?;
    if let (Value::Numbers(a), Value::Numbers(b)) = (c.value("x1")?, c.value("x2")?)
        && let Some(exact) = numbers::divided(&a, &b)
    {
        return one(exact);
    }
    // Of integers GE's quotient is an integer: which one, no documentation says.
    c.only(dtype.is_float() || dtype.is_complex(), "the quotient of integers")?;
    binary(c, "aten.div.Tensor", None, false)
}

fn floor_div(c: &mut Call<'_, '_>) -> Made {
    let (a, b) = (c.value("x1")?, c.value("x2")?);
    if let (Value::Numbers(a), Value::Numbers(b)) = (&a, &b)
        && let Some(known) = numbers::both(c.b, Arithmetic::FloorDiv, a, b)?
    {
        return one(known);
    }
    let (first, second) = operands(c)?;
    if c.b.spelled(&["aten.div.Tensor_mode", "aten.floor_divide.default"]) == "aten.floor_divide.default" {
        return one(c.b.call("aten.floor_divide.default", vec![Arg::Node(first), second])?);
    }
    let mode = vec![("rounding_mode", Arg::Str("floor".into()))];
    one(c.b.call_with("aten.div.Tensor_mode", vec![Arg::Node(first), second], mode)?)
}

/// The quotient of integers, rounded towards zero.
fn truncated(c: &mut Call<'_, '_>) -> Made {
    let (first, second) = operands(c)?;
    c.only(c.b.dtype(first)?.is_integer(), "the quotient of floats, rounded towards zero,")?;
    let mode = vec![("rounding_mode", Arg::Str("trunc".into()))];
    one(c.b.call_with("aten.div.Tensor_mode", vec![Arg::Node(first), second], mode)?)
}

const COMPARISONS: [&str; 6] = ["aten.gt", "aten.ge", "aten.lt", "aten.le", "aten.eq", "aten.ne"];

/// Operators whose overload says whether the second operand is a number.
fn compared(c: &mut Call<'_, '_>, packet: &str, arithmetic: Option<Arithmetic>) -> Made {
    let (a, b) = (c.value("x1")?, c.value("x2")?);
    if let (Value::Numbers(a), Value::Numbers(b), Some(op)) = (&a, &b, arithmetic)
        && let Some(known) = numbers::both(c.b, op, a, b)?
    {
        return one(known);
    }
    if packet == "aten.remainder" && a.numbers().is_some_and(|n| n.dims.is_empty()) && b.numbers().is_none() {
        let second = c.t("x2")?;
        let first = c.operand("x1", second)?;
        return one(c.b.call("aten.remainder.Scalar_Tensor", vec![first, Arg::Node(second)])?);
    }
    let (first, second) = operands(c)?;
    let overload = if matches!(second, Arg::Node(_)) { "Tensor" } else { "Scalar" };
    let second = match second {
        // Beside integers a whole number says the same as a float, as far as single precision holds it.
        Arg::Int(v)
            if COMPARISONS.contains(&packet) && v.unsigned_abs() <= 1 << 24 && c.b.dtype(first)?.is_integer() =>
        {
            c.b.named_float(v).map_or(Arg::Int(v), Arg::Float)
        }
        other => other,
    };
    one(c.b.call(&format!("{packet}.{overload}"), vec![Arg::Node(first), second])?)
}

fn shifted(c: &mut Call<'_, '_>, by_tensor: &str, by_number: [&'static str; 2]) -> Made {
    let x = c.t("x")?;
    let by = c.operand("y", x)?;
    let target = if matches!(by, Arg::Node(_)) { by_tensor } else { c.b.spelled(&by_number) };
    one(c.b.call(target, vec![Arg::Node(x), by])?)
}

fn power(c: &mut Call<'_, '_>) -> Made {
    let (a, b) = (c.value("x1")?, c.value("x2")?);
    if let (Value::Numbers(a), Value::Numbers(b)) = (&a, &b)
        && let Some(known) = numbers::both(c.b, Arithmetic::Pow, a, b)?
    {
        return one(known);
    }
    if a.numbers().is_some() && b.numbers().is_none() {
        let exponent = c.t("x2")?;
        if c.b.calls("aten.pow.Tensor_Tensor") && !c.b.calls("aten.pow.Scalar") {
            let base = c.t("x1")?;
            return one(c.b.call("aten.pow.Tensor_Tensor", vec![Arg::Node(base), Arg::Node(exponent)])?);
        }
        let base = c.operand("x1", exponent)?;
        let overload = if matches!(base, Arg::Node(_)) { "aten.pow.Tensor_Tensor" } else { "aten.pow.Scalar" };
        return one(c.b.call(overload, vec![base, Arg::Node(exponent)])?);
    }
    let (first, second) = operands(c)?;
    let overload = if matches!(second, Arg::Node(_)) { "aten.pow.Tensor_Tensor" } else { "aten.pow.Tensor_Scalar" };
    one(c.b.call(overload, vec![Arg::Node(first), second])?)
}

/// The lesser or greater of two: of sizes that are known, a number.
fn bounded(c: &mut Call<'_, '_>, target: &str, arithmetic: Arithmetic) -> Made {
    let (a, b) = (c.value("x1")?, c.value("x2")?);
    if let (Value::Numbers(a), Value::Numbers(b)) = (&a, &b)
        && let Some(known) = numbers::both(c.b, arithmetic, a, b)?
    {
        return one(known);
    }
    let (a, b) = (c.t("x1")?, c.t("x2")?);
    c.only(c.b.dtype(a)? == c.b.dtype(b)?, "operands of two types")?;
    one(c.b.call(target, vec![Arg::Node(a), Arg::Node(b)])?)
}

fn by_attribute(c: &mut Call<'_, '_>, target: &str) -> Made {
    let x = c.t("x")?;
    let value = Arg::Float(c.float("value")?);
    c.only(c.b.dtype(x)?.is_float(), "a float attribute beside integers")?;
    one(c.b.call(target, vec![Arg::Node(x), value])?)
}

/// `x1 + alpha * x2`.
fn scaled_sum(c: &mut Call<'_, '_>, alpha: &str) -> Made {
    let (first, second) = operands(c)?;
    let alpha = if alpha == "input" { c.one_number("alpha")? } else { Arg::Float(c.float("alpha")?) };
    one(c.b.call_with("aten.add.Tensor", vec![Arg::Node(first), second], vec![("alpha", alpha)])?)
}

/// The quotient without what is behind the point: PyTorch too rounds it before, but where narrow floats are divided by a number.
fn trunc(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("input_x")?;
    let is_wide = matches!(c.b.dtype(x)?, Dtype::F32 | Dtype::F64);
    let is_many =
        |a: &Arg| a.as_node().and_then(|n| c.b.tensor(n).ok()).is_some_and(|t| t.sizes.iter().any(at_least_two));
    let is_rounded = is_wide || c.b.graph.args(x).iter().all(is_many);
    if is_rounded && c.b.graph.target(x) == "aten.div.Tensor" && c.b.calls("aten.div.Tensor_mode") {
        let (args, mode) = (c.b.graph.args(x).to_vec(), vec![("rounding_mode", Arg::Str("trunc".into()))]);
        return one(c.b.call_with("aten.div.Tensor_mode", args, mode)?);
    }
    one(c.b.call("aten.trunc.default", vec![Arg::Node(x)])?)
}

fn at_least_two(size: &Dim) -> bool {
    size.fixed().is_some_and(|n| n > 1)
}

/// `x1 - alpha * x2`.
fn scaled_difference(c: &mut Call<'_, '_>) -> Made {
    let second = c.t("x2")?;
    let alpha = if c.is_fed("alpha") { c.one_number("alpha")? } else { Arg::Int(1) };
    let named = if is_one(&alpha) { Vec::new() } else { vec![("alpha", alpha.clone())] };
    match c.operand("x1", second)? {
        Arg::Node(first) => one(c.b.call_with("aten.sub.Tensor", vec![Arg::Node(first), Arg::Node(second)], named)?),
        number if is_one(&alpha) => one(c.b.call("aten.rsub.Scalar", vec![Arg::Node(second), number])?),
        number => {
            // Beside floats a whole number is the float.
            let numbers = [&number, &alpha].map(create::as_float);
            let alike = |own: &[Arg], named: &[(String, Arg)]| {
                let given = own.iter().skip(1).chain(named.iter().map(|(_, a)| a));
                given.map(create::as_float).eq(numbers)
            };
            let (args, named) =
                c.b.spelled_numbers("aten.rsub.Scalar", alike)
                    .unwrap_or_else(|| (vec![Arg::None, number.clone(), alpha.clone()], Vec::new()));
            let args = std::iter::once(Arg::Node(second)).chain(args.into_iter().skip(1)).collect();
            one(c.b.call_with(
                "aten.rsub.Scalar",
                args,
                named.iter().map(|(k, a)| (k.as_str(), a.clone())).collect(),
            )?)
        }
    }
}

fn cast(c: &mut Call<'_, '_>) -> Made {
    let to = c.int("dst_type")?;
    let Some(dtype) = of_cpp(to) else { return undefined(format!("type {to} of `dst_type`, which PyTorch lacks")) };
    let value = c.value("x")?;
    if let Value::Numbers(known) = &value
        && let Some(cast) = numbers::cast(known, dtype)
    {
        return one(cast);
    }
    let x = value.tensor(c.b)?;
    if let Some(counted) = create::counted(c, x, dtype) {
        return one(counted?);
    }
    if let Some(once) = rounded_once(c, x, dtype) {
        return one(once?);
    }
    // Places fit 32 bits: widened again they are what they were.
    if let (Dtype::I64, Some(whole)) = (dtype, c.b.places.get(&x)) {
        return one(*whole);
    }
    one(c.b.to(x, dtype)?)
}

/// What PyTorch computes in single precision of narrow floats and rounds once is itself, between two casts.
fn rounded_once(c: &mut Call<'_, '_>, x: NodeId, dtype: Dtype) -> Option<Result<NodeId, Undefined>> {
    const ROUNDS_ONCE: [&str; 2] = ["aten.upsample_nearest2d_backward.default", "aten.div.Tensor_mode"];
    let target = ROUNDS_ONCE.into_iter().find(|t| *t == c.b.graph.target(x))?;
    let mut args = c.b.graph.args(x).to_vec();
    let kwargs: Vec<(String, Arg)> =
        c.b.graph.kwargs(x).iter().map(|(k, a)| (c.b.graph.texts.text(*k).to_string(), a.clone())).collect();
    // A quotient by a number, and nothing behind the point.
    let is_whole = matches!(kwargs.as_slice(), [(_, Arg::Str(mode))] if &**mode == "trunc");
    let is_by_number = matches!(args.as_slice(), [_, Arg::Int(_) | Arg::Float(_)]);
    if target == "aten.div.Tensor_mode" && !(is_whole && is_by_number) {
        return None;
    }
    let [Arg::Node(wide), ..] = *args.as_slice() else { return None };
    let [Arg::Node(own)] = *c.b.graph.args(wide) else { return None };
    let narrow = matches!(dtype, Dtype::F16 | Dtype::Bf16) && c.b.dtype(own) == Ok(dtype);
    if !narrow || c.b.dtype(wide) != Ok(Dtype::F32) || c.b.graph.target(wide) != "aten._to_copy.default" {
        return None;
    }
    if let Some(first) = args.first_mut() {
        *first = Arg::Node(own);
    }
    Some(c.b.call_with(target, args, kwargs.iter().map(|(k, a)| (k.as_str(), a.clone())).collect()))
}

fn fast_gelu(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let target = c.b.spelled(&["npu.npu_fast_gelu.default", "npu.fast_gelu.default"]);
    one(c.b.call(target, vec![Arg::Node(x)])?)
}

/// What a mask keeps, divided by how likely that is: the gradient of a dropout.
pub fn dropped(c: &mut Call<'_, '_>) -> Made {
    let (x, mask) = (c.t("x")?, c.t("mask")?);
    c.only(c.b.dtype(mask)? == Dtype::Bool, "a mask of another type")?;
    let keep = c.value("keep_prob")?;
    let dtype = keep.dtype(c.b)?;
    let Some(Arg::Float(keep)) = keep.numbers().and_then(|n| n.only()).cloned() else {
        return undefined("no known probability");
    };
    let scale = c.b.reciprocal(keep, dtype);
    c.b.assumed.insert("a mask of dropout is, in the device's form, the mask that the graph has".into());
    let args = vec![Arg::Node(x), Arg::Node(mask), Arg::Float(scale)];
    one(c.b.call("aten.native_dropout_backward.default", args)?)
}

fn bitcast(c: &mut Call<'_, '_>) -> Made {
    let dtype = c.dtype("type")?;
    // Numbers of 4 bits that fill an element are that element.
    if let Value::Packed(p) = c.value("x")? {
        c.only(p.apart && c.b.dtype(p.packed)? == dtype, "packed numbers of another type")?;
        c.b.unpacked.insert(p.packed);
        return one(p.packed);
    }
    let x = c.t("x")?;
    c.only(c.b.dtype(x)?.bytes() == dtype.bytes(), "a change of the width of elements")?;
    one(c.b.call("aten.view.dtype", vec![Arg::Node(x), Arg::Dtype(dtype)])?)
}

fn lerp(c: &mut Call<'_, '_>) -> Made {
    let start = c.t("start")?;
    let end = c.t("end")?;
    let weight = c.operand("weight", start)?;
    let overload = if matches!(weight, Arg::Node(_)) { "aten.lerp.Tensor" } else { "aten.lerp.Scalar" };
    one(c.b.call(overload, vec![Arg::Node(start), Arg::Node(end), weight])?)
}

fn select(c: &mut Call<'_, '_>) -> Made {
    let condition = c.t("condition")?;
    c.only(c.b.dtype(condition)? == Dtype::Bool, "a condition that is no truth value")?;
    let (a, b) = (c.t("then")?, c.t("else")?);
    c.only(c.b.dtype(a)? == c.b.dtype(b)?, "a choice between two types")?;
    one(c.b.call("aten.where.self", vec![Arg::Node(condition), Arg::Node(a), Arg::Node(b)])?)
}

fn masked_fill(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let mask = c.t("mask")?;
    // A zero of another float type, which TorchAir's own graphs fill with, is the zero of this one.
    let zero = |n: &Arg| matches!(n, Arg::Float(v) if v.to_bits() == 0);
    let is_zero = c.value("value")?.numbers().and_then(|n| n.only()).is_some_and(zero);
    let value = if is_zero && c.b.dtype(x)?.is_float() { Arg::Float(0.0) } else { c.operand("value", x)? };
    let overload = if matches!(value, Arg::Node(_)) { "aten.masked_fill.Tensor" } else { "aten.masked_fill.Scalar" };
    one(c.b.call(overload, vec![Arg::Node(x), Arg::Node(mask), value])?)
}

fn clip(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let (low, high) = (c.operand("clip_value_min", x)?, c.operand("clip_value_max", x)?);
    if let (Arg::Node(_), _) | (_, Arg::Node(_)) = (&low, &high) {
        let (least, greatest) = ends(c.b.dtype(x)?);
        let mut bound = |slot: &str, given: &Arg, none: f64, end: Option<Arg>| match given {
            Arg::Float(v) if v.to_bits() == none.to_bits() => Ok(Arg::None),
            given if end.as_ref() == Some(given) => Ok(Arg::None),
            _ => c.t(slot).map(Arg::Node),
        };
        let low = bound("clip_value_min", &low, f64::NEG_INFINITY, least)?;
        let high = bound("clip_value_max", &high, f64::INFINITY, greatest)?;
        return one(c.b.call("aten.clamp.Tensor", vec![Arg::Node(x), low, high])?);
    }
    // What is at most infinite is what it is; so is NaN.
    let bound = |arg: Arg, none: f64| {
        let is_none = matches!(arg, Arg::Float(v) if v.to_bits() == none.to_bits()) && !c.b.names(none);
        if is_none { Arg::None } else { arg }
    };
    match (bound(low, f64::NEG_INFINITY), bound(high, f64::INFINITY)) {
        (Arg::None, Arg::None) => one(x),
        (low, Arg::None) => one(c.b.call("aten.clamp.default", vec![Arg::Node(x), low])?),
        (low, high) => one(c.b.call("aten.clamp.default", vec![Arg::Node(x), low, high])?),
    }
}

/// An operand of which GE's operator gives the type: of integers it would give integers.
fn floats(c: &mut Call<'_, '_>, slot: &str) -> Result<NodeId, Undefined> {
    let x = c.t(slot)?;
    let dtype = c.b.dtype(x)?;
    c.only(dtype.is_float() || dtype.is_complex(), "a function of integers that gives floats")?;
    Ok(x)
}

/// The least and the greatest number of a type, where these are integers or truth values: what they bound is what it is.
fn ends(dtype: Dtype) -> (Option<Arg>, Option<Arg>) {
    let both = |low: i64, high: i64| (Some(Arg::Int(low)), Some(Arg::Int(high)));
    match dtype {
        Dtype::I8 => both(i8::MIN.into(), i8::MAX.into()),
        Dtype::U8 => both(0, u8::MAX.into()),
        Dtype::I16 => both(i16::MIN.into(), i16::MAX.into()),
        Dtype::I32 => both(i32::MIN.into(), i32::MAX.into()),
        Dtype::I64 => both(i64::MIN, i64::MAX),
        Dtype::Bool => (Some(Arg::Bool(false)), Some(Arg::Bool(true))),
        _ => (None, None),
    }
}

/// To a base; -1 is that of the natural one.
fn logarithm(c: &mut Call<'_, '_>) -> Made {
    let x = floats(c, "x")?;
    let base = c.float("base")?;
    let target = match base {
        -1.0 => "aten.log.default",
        2.0 => "aten.log2.default",
        10.0 => "aten.log10.default",
        other => return undefined(format!("base {other}")),
    };
    one(c.b.call(target, vec![Arg::Node(x)])?)
}

/// `x * sigmoid(scale * x)`.
fn swish(c: &mut Call<'_, '_>) -> Made {
    let x = floats(c, "x")?;
    let scale = c.float("scale")?;
    #[allow(clippy::float_cmp)] // 1 is exact.
    if scale == 1.0 {
        return one(c.b.call("aten.silu.default", vec![Arg::Node(x)])?);
    }
    let scaled = c.b.call("aten.mul.Tensor", vec![Arg::Node(x), Arg::Float(scale)])?;
    let gate = c.b.call("aten.sigmoid.default", vec![Arg::Node(scaled)])?;
    one(c.b.call("aten.mul.Tensor", vec![Arg::Node(x), Arg::Node(gate)])?)
}

fn hard_sigmoid(c: &mut Call<'_, '_>) -> Made {
    let x = floats(c, "input_x")?;
    let (alpha, beta) = (c.float("alpha")?, c.float("beta")?);
    let sixth = (alpha - 1.0 / 6.0).abs() < 1e-7;
    #[allow(clippy::float_cmp)] // A half is exact.
    c.only(sixth && beta == 0.5, "another slope than a sixth")?;
    one(c.b.call("aten.hardsigmoid.default", vec![Arg::Node(x)])?)
}

fn log_sigmoid(c: &mut Call<'_, '_>) -> Made {
    let x = floats(c, "x")?;
    let both = c.b.call("aten.log_sigmoid_forward.default", vec![Arg::Node(x)])?;
    one(c.b.item(both, 0)?)
}

fn log_sigmoid_grad(c: &mut Call<'_, '_>) -> Made {
    let (grads, features) = (c.t("grads")?, c.t("features")?);
    let both = c.b.call("aten.log_sigmoid_forward.default", vec![Arg::Node(features)])?;
    let buffer = c.b.item(both, 1)?;
    let args = vec![Arg::Node(grads), Arg::Node(features), Arg::Node(buffer)];
    one(c.b.call("aten.log_sigmoid_backward.default", args)?)
}

fn part(c: &mut Call<'_, '_>, at: i64) -> Made {
    let x = c.t("input")?;
    let to = c.dtype("Tout")?;
    let pairs = c.b.call("aten.view_as_real.default", vec![Arg::Node(x)])?;
    let part = c.b.call("aten.select.int", vec![Arg::Node(pairs), Arg::Int(-1), Arg::Int(at)])?;
    c.only(c.b.dtype(part)? == to, "a part in another type")?;
    one(part)
}

/// A weight a channel is spread along the second dimension.
fn prelu(c: &mut Call<'_, '_>) -> Made {
    let (x, weight) = (c.t("x")?, c.t("weight")?);
    let channels = c.b.rank(weight)? == 1 && c.b.rank(x)? > 1;
    let target = if channels { "aten.prelu.default" } else { "aten._prelu_kernel.default" };
    one(c.b.call(target, vec![Arg::Node(x), Arg::Node(weight)])?)
}
