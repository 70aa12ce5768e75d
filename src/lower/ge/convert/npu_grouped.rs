//! Grouped matrix products of `torch_npu`: a list of products as one operator.
//!
//! Lists that were not given are fed with one tensor without elements, of the type that the operator expects there.

use super::args::Args;
use super::cx::{Cx, ints};
use super::direct;
use super::packed::{FLOAT4, bitcast, bitcast_in_place, see, seen_as, swapped, unpacked, unpacked_across};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("npu.npu_grouped_matmul.List", By(grouped)),
    ("npu.npu_grouped_matmul.default", By(grouped)),
    ("npu.npu_grouped_matmul_finalize_routing.default", By(finalize_routing)),
    ("npu.npu_grouped_matmul_swiglu_quant_v2.default", By(swiglu_quant)),
];

const GROUPED: &str = "x weight bias scale offset antiquant_scale antiquant_offset per_token_scale group_list \
                       activation_input activation_quant_scale activation_quant_offset split_item=0 group_type=-1 \
                       group_list_type=0 act_type=0 tuning_config output_dtype x_dtype weight_dtype scale_dtype \
                       per_token_scale_dtype";

fn tensors(args: &Args, name: &str) -> Result<Vec<TensorId>, Refusal> {
    match args.get(name) {
        Value::None => Ok(Vec::new()),
        Value::Tensor(t) => Ok(vec![t]),
        Value::List(items) => {
            let tensors: Option<Vec<TensorId>> = items.iter().map(Value::tensor).collect();
            tensors.ok_or_else(|| Refusal(format!("argument {name} is no list of tensors")))
        }
        _ => Err(Refusal(format!("argument {name} is no list of tensors"))),
    }
}

/// Returns a list that was given, else one tensor without elements.
fn or_empty(cx: &mut Cx, args: &Args, name: &str, dtype: DataType) -> Result<Vec<TensorId>, Refusal> {
    let given = tensors(args, name)?;
    if given.is_empty() { Ok(vec![cx.filled(ints(&[0]), 0.0, dtype)?]) } else { Ok(given) }
}

fn size(cx: &Cx, t: TensorId, back: usize) -> Result<Option<i64>, Refusal> {
    let sizes = cx.sizes(t)?;
    Ok(sizes.len().checked_sub(back).and_then(|at| sizes.get(at)).and_then(|d| d.fixed()))
}

/// Returns the number by which the product is told its type; -1 leaves it to the operands.
fn output_number(cx: &Cx, args: &Args, own: DataType) -> Result<i64, Refusal> {
    use DataType::{Bf16, Float, Float16, Int8, Int32};
    let Some(dtype) = args.dtype("output_dtype")? else { return Ok(-1) };
    match (dtype, own) {
        (_, own) if !cx.b.arch35 && !matches!(own, Int8 | Int32) => Ok(-1),
        (Float16, _) => Ok(0),
        (Bf16, _) => Ok(1),
        (Int32, own) if cx.b.arch35 || own == Int8 => Ok(2),
        (Float, _) if cx.b.arch35 => Ok(3),
        (other, _) => Err(Refusal(format!("argument output_dtype cannot be {} here", other.name()))),
    }
}

/// The types of the lists that were not given.
struct Fillers {
    bias: DataType,
    antiquant: DataType,
}

fn fillers(cx: &Cx, args: &Args, x: DataType, weight: DataType) -> Result<Fillers, Refusal> {
    use DataType::{Bf16, Float, Float8E4m3fn, Float8E5m2, Float16, Hifloat8, Int8, Int32};
    let narrow = |name: &str| Ok::<_, Refusal>(args.int(name)?.is_some_and(|d| FLOAT4.contains(&d)));
    let hifloat = args.dtype("x_dtype")? == Some(Hifloat8) && args.dtype("weight_dtype")? == Some(Hifloat8);
    let scaled = !args.get("scale").is_none();
    let eight = scaled && (matches!(x, Float8E4m3fn | Float8E5m2) || hifloat);
    let four = scaled && narrow("x_dtype")? && narrow("weight_dtype")?;
    let mixed = x == Float8E4m3fn && (weight == Float || (cx.b.arch35 && narrow("weight_dtype")?));
    let named = args.dtype("output_dtype")?.unwrap_or(Float16);
    let bias = match x {
        _ if eight || four => Float,
        Bf16 => Float,
        Int8 => {
            if weight == Int32 {
                Float
            } else {
                Int32
            }
        }
        _ if mixed => named,
        other => other,
    };
    let antiquant = match (x, weight) {
        (Float16 | Bf16, Int8 | Float | Int32) => x,
        _ if mixed => named,
        _ => Float16,
    };
    Ok(Fillers { bias, antiquant })
}

fn grouped(cx: &mut Cx) -> Made {
    let args = Args::of(cx, GROUPED)?;
    let (xs, weights) = (tensors(&args, "x")?, tensors(&args, "weight")?);
    let (Some(x), Some(weight)) = (xs.first().copied(), weights.first().copied()) else {
        return Err(Refusal("x and weight must not be empty".into()));
    };
    let (own, of_weight) = (cx.dtype(x), cx.dtype(weight));
    let fillers = fillers(cx, &args, own, of_weight)?;
    let bias = or_empty(cx, &args, "bias", fillers.bias)?;
    let mut scale = or_empty(cx, &args, "scale", DataType::Uint64)?;
    if scale.first().is_some_and(|t| cx.dtype(*t) == DataType::Int64) {
        for t in &mut scale {
            *t = cx.always_cast(*t, DataType::Uint64)?;
        }
    }
    let offset = or_empty(cx, &args, "offset", DataType::Float)?;
    let mut antiquant_scale = or_empty(cx, &args, "antiquant_scale", fillers.antiquant)?;
    let antiquant_offset = or_empty(cx, &args, "antiquant_offset", fillers.antiquant)?;
    if let Some(first) = antiquant_scale.first_mut().filter(|t| cx.dtype(**t) == DataType::Uint8) {
        *first = scale_in_stored_order(cx, *first, x, weight)?;
    }
    let number = output_number(cx, &args, own)?;
    let (mut xs, mut weights) = operands(cx, &args, xs, weights)?;
    let mut per_token = tensors(&args, "per_token_scale")?.first().copied();
    for (list, of) in [(&mut xs, "x_dtype"), (&mut weights, "weight_dtype"), (&mut scale, "scale_dtype")] {
        see_first(cx, &args, list, of)?;
    }
    if let (Some(t), Some(dtype)) = (per_token, args.dtype("per_token_scale_dtype")?) {
        per_token = Some(seen_as(cx, t, dtype)?);
    }
    let group_list = match args.get("group_list") {
        Value::None => In::None,
        Value::Tensor(t) => t.into(),
        list => cx.cast(list, DataType::Int64)?.into(),
    };
    let lists = [&xs, &weights, &bias, &scale, &offset, &antiquant_scale, &antiquant_offset];
    let mut inputs: Vec<In> = lists.into_iter().map(|l| l.as_slice().into()).collect();
    inputs.extend([group_list, per_token.into()]);
    let given = |name: &'static str, none: i64| Ok::<_, Refusal>((name, Attr::Int(args.int(name)?.unwrap_or(none))));
    let attrs = [
        given("split_item", 0)?,
        ("dtype", Attr::Int(number)),
        given("group_type", -1)?,
        given("group_list_type", 0)?,
        given("act_type", 0)?,
        ("tuning_config", Attr::Ints(tuning(&args)?)),
    ];
    let count = match (args.int("split_item")?.unwrap_or(0), xs.len()) {
        (0 | 1, count) => count,
        _ => 1,
    };
    let made = cx.b.many("GroupedMatmul", inputs, &attrs, Some(count.max(cx.result_count())))?;
    Ok(super::cx::list(&made))
}

/// Rows of a matrix in groups that end where `offs` says, each group by a matrix of its own: the one form of PyTorch's that GE has too.
pub(super) fn rows_by_groups(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self mat2 offs bias out_dtype")?;
    let (x, weight) = (args.tensor("self")?, args.tensor("mat2")?);
    if cx.rank(x)? != 2 || cx.rank(weight)? != 3 || args.get("offs").is_none() || !args.get("bias").is_none() {
        return Err(Refusal("only rows in groups, each by a matrix of its own, and no bias".into()));
    }
    let ends = cx.cast(args.get("offs"), DataType::Int64)?;
    let own = cx.dtype(x);
    let fillers = fillers(cx, &args, own, cx.dtype(weight))?;
    let mut inputs: Vec<In> = vec![[x].as_slice().into(), [weight].as_slice().into()];
    for dtype in [fillers.bias, DataType::Uint64, DataType::Float, fillers.antiquant, fillers.antiquant] {
        let empty = cx.filled(ints(&[0]), 0.0, dtype)?;
        inputs.push([empty].as_slice().into());
    }
    inputs.extend([ends.into(), In::None]);
    let attrs = [
        // One result, of rows in the order of the groups, whose ends are counted from the first row.
        ("split_item", Attr::Int(3)),
        ("dtype", Attr::Int(-1)),
        ("group_type", Attr::Int(0)),
        ("group_list_type", Attr::Int(0)),
        ("act_type", Attr::Int(0)),
        ("tuning_config", Attr::Ints(vec![0])),
    ];
    let made = cx.b.many("GroupedMatmul", inputs, &attrs, Some(1))?;
    made.first().map(|t| Value::Tensor(*t)).ok_or_else(|| Refusal("the product has no result".into()))
}

fn tuning(args: &Args) -> Result<Vec<i64>, Refusal> {
    Ok(args.ints("tuning_config")?.filter(|t| !t.is_empty()).unwrap_or_else(|| vec![0]))
}

fn see_first(cx: &mut Cx, args: &Args, list: &mut [TensorId], of: &str) -> Result<(), Refusal> {
    if let (Some(first), Some(dtype)) = (list.first_mut(), args.dtype(of)?) {
        match args.int(of)?.is_some_and(|d| FLOAT4.contains(&d)) {
            true => cx.b.set_desc_type(*first, dtype),
            false => *first = seen_as(cx, *first, dtype)?,
        }
    }
    Ok(())
}

/// Scales of 8 bits are seen as such; where the weight is transposed, in the order in which they are stored.
fn scale_in_stored_order(cx: &mut Cx, scale: TensorId, x: TensorId, weight: TensorId) -> Result<TensorId, Refusal> {
    let inner = size(cx, weight, 2)?.and_then(|n| n.checked_mul(8));
    let turned = inner.is_some() && size(cx, x, 1)? == inner;
    let perm = ints(&[0, 2, 1, 3]);
    let mut seen = if turned { cx.op("Transpose", vec![scale.into(), perm.clone()], &[])? } else { scale };
    seen = bitcast(cx, seen, DataType::Float8E8m0)?;
    if turned {
        seen = cx.op("Transpose", vec![seen.into(), perm], &[])?;
    }
    cx.b.set_desc_type(seen, DataType::Float8E8m0);
    Ok(seen)
}

type Lists = (Vec<TensorId>, Vec<TensorId>);

/// Takes weights apart that hold several numbers in one element.
fn operands(cx: &mut Cx, args: &Args, mut xs: Vec<TensorId>, mut weights: Vec<TensorId>) -> Result<Lists, Refusal> {
    let (Some(x), Some(weight)) = (xs.first().copied(), weights.first().copied()) else { return Ok((xs, weights)) };
    let (own, of_weight) = (cx.dtype(x), cx.dtype(weight));
    let half = matches!(own, DataType::Float16 | DataType::Bf16);
    let narrow = [args.int("x_dtype")?, args.int("weight_dtype")?].map(|d| d.is_some_and(|d| FLOAT4.contains(&d)));
    if of_weight == DataType::Int32 && (!cx.b.arch35 || half) {
        let inner = size(cx, weight, 2)?.and_then(|n| n.checked_mul(8));
        let turned = inner.is_some() && size(cx, x, 1)? == inner;
        for w in &mut weights {
            *w = match (cx.b.arch35, turned) {
                (true, true) => unpacked_across(cx, *w, DataType::Int4, 8)?,
                (true, false) => unpacked(cx, *w, DataType::Int4, 8)?,
                (false, turned) => int4_in_place(cx, *w, turned)?,
            };
        }
    } else if narrow == [true, true] {
        let (Some(of_x), Some(of_weight)) = (args.dtype("x_dtype")?, args.dtype("weight_dtype")?) else {
            return Ok((xs, weights));
        };
        for t in &mut xs {
            *t = bitcast_in_place(cx, *t, of_x)?;
        }
        for t in &mut weights {
            *t = bitcast_in_place(cx, *t, of_weight)?;
        }
    } else if narrow[1] && own == DataType::Float8E4m3fn {
        let sizes = cx.fixed_sizes(weight)?.unwrap_or_default();
        if sizes.first() == Some(&1) || sizes.get(1) == Some(&32) {
            return Err(Refusal("one expert only, or an inner dimension of 64, is not supported".into()));
        }
        if let Some(dtype) = args.dtype("weight_dtype")? {
            for t in &mut weights {
                *t = bitcast_in_place(cx, *t, dtype)?;
            }
        }
    }
    Ok((xs, weights))
}

fn int4_in_place(cx: &mut Cx, weight: TensorId, turned: bool) -> Result<TensorId, Refusal> {
    if !turned {
        return bitcast_in_place(cx, weight, DataType::Int4);
    }
    let rank = cx.rank(weight)?;
    let stored = swapped(cx, weight, rank)?;
    let seen = bitcast_in_place(cx, stored, DataType::Int4)?;
    swapped(cx, seen, rank)
}

fn finalize_routing(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x w group_list scale bias offset pertoken_scale shared_input logit row_index dtype shared_input_weight=1.0 \
         shared_input_offset=0 output_bs=0 group_list_type=1 tuning_config x_dtype w_dtype scale_dtype \
         pertoken_scale_dtype",
    )?;
    if !matches!(args.dtype("dtype")?, None | Some(DataType::Float)) {
        return Err(Refusal("argument dtype must be float32".into()));
    }
    let (x, w) = (args.tensor("x")?, args.tensor("w")?);
    let float4 =
        ["x_dtype", "w_dtype"].iter().any(|n| args.int(n).is_ok_and(|d| d.is_some_and(|d| FLOAT4.contains(&d))));
    if float4 {
        return Err(Refusal("operands of 4-bit floats are not supported".into()));
    }
    let first = cx.sizes(x)?.first().and_then(|d| d.fixed());
    if cx.dtype(w) == DataType::Int32 {
        let seen = bitcast_in_place(cx, w, DataType::Int4)?;
        args.set("w", seen);
    }
    see(
        cx,
        &mut args,
        &[("x", "x_dtype"), ("w", "w_dtype"), ("scale", "scale_dtype"), ("pertoken_scale", "pertoken_scale_dtype")],
    )?;
    let output_bs = match (args.int("output_bs")?.unwrap_or(0), first) {
        (0, Some(rows)) => rows,
        (0, None) => return Err(Refusal("argument output_bs is needed where the number of rows is not fixed".into())),
        (given, _) => given,
    };
    let attrs = [
        ("dtype", Attr::Type(DataType::Float)),
        ("output_bs", Attr::Int(output_bs)),
        ("tuning_config", Attr::Ints(tuning(&args)?)),
    ];
    direct::make(cx, &args, "GroupedMatmulFinalizeRouting(*; *)", &attrs)
}

fn swiglu_quant(cx: &mut Cx) -> Made {
    let mut args = Args::of(
        cx,
        "x weight weight_scale x_scale group_list smooth_scale weight_assist_matrix bias dequant_mode=0 dequant_dtype=0 \
         quant_mode=0 quant_dtype=1 group_list_type=0 tuning_config x_dtype weight_dtype weight_scale_dtype x_scale_dtype",
    )?;
    let is_float4 = |name: &str| Ok::<_, Refusal>(args.int(name)?.is_some_and(|d| FLOAT4.contains(&d)));
    if is_float4("x_dtype")? || is_float4("weight_dtype")? || is_float4("quant_dtype")? {
        return Err(Refusal("4-bit floats are not supported".into()));
    }
    let assist = or_empty(cx, &args, "weight_assist_matrix", DataType::Float)?;
    args.set("weight_assist_matrix", Value::List(assist.into_iter().map(Value::Tensor).collect()));
    for (name, of) in [("weight_scale", "weight_scale_dtype"), ("weight", "weight_dtype")] {
        let mut list = tensors(&args, name)?;
        see_first(cx, &args, &mut list, of)?;
        args.set(name, Value::List(list.into_iter().map(Value::Tensor).collect()));
    }
    see(cx, &mut args, &[("x_scale", "x_scale_dtype"), ("x", "x_dtype")])?;
    let dtype = args.dtype("quant_dtype")?.unwrap_or(DataType::Int8);
    use DataType::{Float, Float8E4m3fn, Float8E5m2, Float8E8m0, Hifloat8, Int8};
    let by_token = args.int("quant_mode")? == Some(0) && matches!(dtype, Int8 | Hifloat8 | Float8E4m3fn | Float8E5m2);
    let line = "GroupedMatmulSwigluQuantV2(*; *, quant_dtype=type(quant_dtype), dequant_dtype=type(dequant_dtype))";
    let made = direct::outputs(cx, &args, line, &[("tuning_config", Attr::Ints(tuning(&args)?))])?;
    let [y, scale] = made.as_slice() else { return Err(Refusal("two results were expected".into())) };
    cx.b.set_desc_type(*y, dtype);
    if by_token {
        cx.b.set_desc_type(*scale, Float);
    } else if dtype != Int8 {
        cx.b.set_desc_type(*scale, Float8E8m0);
    }
    Ok(super::cx::list(&made))
}
