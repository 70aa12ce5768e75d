//! Operators of core graphs for which TorchAir has no converter: each is one GE operator, or a few, of the same meaning.
//!
//! What is converted here is said in the report, since TorchAir stops at it.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::args::Args;
use super::cx::{Cx, ints, list, signed};
use super::random;
use super::reduce::places;
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::metas;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::{By, Unary};

pub(super) const TABLE: &[Entry] = &[
    ("aten.__lshift__.Scalar", By(|cx| of_result(cx, "LeftShift"))),
    ("aten.__rshift__.Scalar", By(|cx| of_result(cx, "RightShift"))),
    ("aten._assert_async.default", By(asserted)),
    ("aten._assert_async.msg", By(asserted)),
    ("aten._conj.default", Unary("Conj")),
    ("aten._local_scalar_dense.default", By(item)),
    ("aten._fft_c2r.default", By(super::fourier::c2r)),
    ("aten._fft_r2c.default", By(super::fourier::r2c)),
    ("aten._grouped_mm.default", By(super::npu_grouped::rows_by_groups)),
    ("aten.amax.default", By(|cx| extreme(cx, "ReduceMax"))),
    ("aten.atan2.default", By(|cx| of_result(cx, "Atan2"))),
    ("aten.bucketize.Tensor", By(bucketize)),
    ("aten.cumprod.default", By(cumprod)),
    ("aten.erfc.default", By(|cx| unary(cx, "Erfc"))),
    ("aten.logical_xor.default", By(xor)),
    ("aten.masked_scatter.default", By(masked_scatter)),
    ("aten.min.dim", By(min_dim)),
    ("aten.nonzero.default", By(nonzero)),
    ("aten.trunc.default", By(|cx| unary(cx, "Trunc"))),
    ("aten.view.dtype", By(view_dtype)),
    ("aten._conj_physical.default", Unary("Conj")),
    ("aten.angle.default", By(angle)),
    ("aten.complex.default", By(complex)),
    ("aten.cummax.default", By(|cx| running(cx, "Cummax", "dim"))),
    ("aten.cummin.default", By(|cx| running(cx, "Cummin", "axis"))),
    ("aten.gcd.default", By(|cx| of_result(cx, "Gcd"))),
    ("aten.igamma.default", By(|cx| of_result(cx, "Igamma"))),
    ("aten.igammac.default", By(|cx| of_result(cx, "Igammac"))),
    ("aten.special_ndtri.default", By(|cx| unary(cx, "Ndtri"))),
    ("aten.kthvalue.default", By(super::sort::kth_value)),
    ("aten.logcumsumexp.default", By(logcumsumexp)),
    ("aten.masked_select.default", By(masked_select)),
    ("aten.bincount.default", By(bincount)),
    ("aten.mv.default", By(super::matmul::by_column)),
    ("aten.cauchy.default", By(random::cauchy)),
    ("aten.geometric.default", By(random::geometric)),
    ("aten.log_normal.default", By(random::log_normal)),
    ("aten.nextafter.default", By(|cx| of_result(cx, "NextAfter"))),
    ("aten.special_i0e.default", By(|cx| unary(cx, "BesselI0e"))),
    ("aten.special_i1e.default", By(|cx| unary(cx, "BesselI1e"))),
    ("aten.special_zeta.default", By(|cx| of_result(cx, "Zeta"))),
    ("aten._pdist_forward.default", Rule::Direct("self p=2.0", "Pdist(self; p)")),
    ("aten.adaptive_max_pool2d.default", By(super::pool::adaptive_max_pool2d)),
    ("aten.avg_pool3d.default", By(super::pool::avg_pool3d)),
    ("aten.tril_indices.default", By(|cx| triangle(cx, true))),
    ("aten.triu_indices.default", By(|cx| triangle(cx, false))),
    ("aten._int_mm.default", By(int_mm)),
    ("aten.amin.default", By(|cx| extreme(cx, "ReduceMin"))),
    ("aten.any.dims", By(any_dims)),
    ("aten.bitwise_and.Scalar", By(|cx| bits(cx, "LogicalAnd", "BitwiseAnd"))),
    ("aten.bitwise_left_shift.Tensor", By(|cx| of_result(cx, "LeftShift"))),
    ("aten.bitwise_left_shift.Tensor_Scalar", By(|cx| of_result(cx, "LeftShift"))),
    ("aten.bitwise_or.Scalar", By(|cx| bits(cx, "LogicalOr", "BitwiseOr"))),
    ("aten.bitwise_right_shift.Tensor", By(|cx| of_result(cx, "RightShift"))),
    ("aten.bitwise_right_shift.Tensor_Scalar", By(|cx| of_result(cx, "RightShift"))),
    ("aten.bitwise_xor.Scalar", By(|cx| bits(cx, "NotEqual", "BitwiseXor"))),
    ("aten.bitwise_xor.Tensor", By(|cx| bits(cx, "NotEqual", "BitwiseXor"))),
    ("aten.detach_.default", Unary("Identity")),
    ("aten.diagonal.default", By(diagonal)),
    ("aten.empty_permuted.default", By(super::create::empty)),
    ("aten.empty_strided.default", By(super::create::empty_strided)),
    ("aten.exponential.default", By(random::exponential)),
    ("aten.fmod.Scalar", By(|cx| of_result(cx, "Mod"))),
    ("aten.fmod.Tensor", By(|cx| of_result(cx, "Mod"))),
    ("aten.histc.default", By(histc)),
    ("aten.imag.default", Unary("Imag")),
    ("aten.index_put.default", By(super::put::index_put)),
    ("aten.narrow.default", By(narrow)),
    ("aten.native_batch_norm.default", By(super::batch_norm::native)),
    ("aten.prod.default", By(product)),
    ("aten.prod.dim_int", By(product)),
    ("aten.rand_like.default", By(|cx| random::like(cx, "StatelessRandomUniformV2"))),
    ("aten.randint.low", By(random::randint_low)),
    ("aten.randn_like.default", By(|cx| random::like(cx, "StatelessRandomNormalV2"))),
    ("aten.real.default", Unary("Real")),
    ("aten.scatter_reduce.two", By(scatter_reduce)),
    ("aten.sort.stable", By(sort_stable)),
    ("aten.squeeze.dims", By(squeeze_dims)),
    ("aten.unfold.default", By(unfold)),
    (
        "aten._unique2.default",
        Rule::Direct(
            "self sorted=true return_inverse=false return_counts=false",
            "UniqueWithCountsAndSorting(self; return_inverse, return_counts, sorted)",
        ),
    ),
    (
        "aten.unique_consecutive.default",
        Rule::Direct(
            "self return_inverse=false return_counts=false dim",
            "UniqueConsecutive(self; return_idx=return_inverse, return_counts, axis=dim|1000)",
        ),
    ),
    ("aten.upsample_bilinear2d.default", By(bilinear2d)),
    ("aten.var.correction", By(super::reduce::var)),
    ("transformers.grouped_mm_fallback.default", By(super::npu_grouped::rows_by_groups)),
];

/// Both operands as the result's type.
fn of_result(cx: &mut Cx, kind: &str) -> Made {
    let dtype = cx.out_type()?;
    let (a, b) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?);
    cx.ge(kind, vec![a.into(), b.into()], &[])
}

/// The one element of a tensor, which later operators take as a number.
fn item(cx: &mut Cx) -> Made {
    use crate::lower::ge::value::{Meta, SymbolKind};
    let x = cx.tensor(0, "self")?;
    let dtype = match cx.out()? {
        Meta::Symbol(_, SymbolKind::Int) => DataType::Int64,
        Meta::Symbol(_, SymbolKind::Float) => DataType::Float,
        Meta::Symbol(_, SymbolKind::Bool) => DataType::Bool,
        _ => return Err(Refusal("the type of the result is not known".into())),
    };
    let x = if cx.rank(x)? == 0 { x } else { cx.op("Reshape", vec![x.into(), ints(&[])], &[])? };
    Ok(cx.always_cast(x, dtype)?.into())
}

/// A slice of a length, from a place that a tensor may say.
fn narrow(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dim start length")?;
    let (x, sizes) = (args.tensor("self")?, cx.sizes(args.tensor("self")?)?);
    let axis = metas::axis(args.int("dim")?.unwrap_or(0), sizes.len());
    let axis = axis.ok_or_else(|| Refusal("there is no such dimension".into()))?;
    let own = sizes.get(axis).and_then(|d| d.fixed());
    let start = super::slices::from_front(args.get("start"), own)?;
    let end = match (&start, args.get("length")) {
        (In::Literal(Literal::Int(start)), Value::Int(length)) => super::cx::int(start.saturating_add(length)),
        _ => cx.op("Add", vec![start.clone(), args.input("length")?], &[])?.into(),
    };
    let axis = super::cx::int(signed(axis));
    cx.ge("StridedSliceV2", vec![x.into(), start, end, axis, super::cx::int(1)], &[])
}

/// Of bytes of one type GE makes sums of 32 bits; others are widened first.
fn int_mm(cx: &mut Cx) -> Made {
    let (a, b) = (cx.tensor(0, "self")?, cx.tensor(1, "mat2")?);
    if cx.dtype(a) == DataType::Int8 && cx.dtype(b) == DataType::Int8 {
        return cx.ge("MatMulV2", vec![a.into(), b.into()], &[]);
    }
    let (a, b) = (cx.cast(a, DataType::Int32)?, cx.cast(b, DataType::Int32)?);
    cx.ge("MatMulV2", vec![a.into(), b.into()], &[])
}

/// One operand, as the result's type.
fn unary(cx: &mut Cx, kind: &str) -> Made {
    let dtype = cx.out_type()?;
    let x = cx.promoted(0, dtype)?;
    cx.ge(kind, vec![x.into()], &[])
}

fn xor(cx: &mut Cx) -> Made {
    let (a, b) = (cx.promoted(0, DataType::Bool)?, cx.promoted(1, DataType::Bool)?);
    cx.ge("NotEqual", vec![a.into(), b.into()], &[])
}

fn cumprod(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let (x, dim) = (cx.promoted(0, dtype)?, cx.input(1, "dim")?);
    cx.ge("Cumprod", vec![x.into(), dim], &[])
}

/// The greatest or least so far, and where it stands.
fn running(cx: &mut Cx, kind: &str, attribute: &str) -> Made {
    let args = Args::of(cx, "self dim")?;
    let dim = args.int("dim")?.ok_or_else(|| Refusal("argument dim is missing".into()))?;
    let made = cx.b.many(kind, vec![args.input("self")?], &[(attribute, Attr::Int(dim))], None)?;
    let [values, places] = <[TensorId; 2]>::try_from(made).map_err(|_| Refusal("two results were expected".into()))?;
    let places = cx.cast(places, DataType::Int64)?;
    Ok(list(&[values, places]))
}

fn logcumsumexp(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dim")?;
    let axis = cx.cast(args.get("dim"), DataType::Int32)?;
    cx.ge("CumulativeLogsumexp", vec![args.input("self")?, axis.into()], &[])
}

fn complex(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "real imag")?;
    let dtype = cx.out_type()?;
    cx.ge("Complex", vec![args.input("real")?, args.input("imag")?], &[("Tout", dtype.into())])
}

/// Of complex numbers; others are compared with zero.
fn angle(cx: &mut Cx) -> Made {
    let (x, dtype) = (cx.tensor(0, "self")?, cx.out_type()?);
    if !matches!(cx.dtype(x), DataType::Complex64 | DataType::Complex128) {
        return Err(Refusal("GE has it of complex numbers only".into()));
    }
    cx.ge("Angle", vec![x.into()], &[("Tout", dtype.into())])
}

fn masked_select(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self mask")?;
    let (x, mask) = (args.tensor("self")?, args.tensor("mask")?);
    let sizes = super::put::common_sizes(cx, &[x, mask])?;
    let (x, mask) = (super::put::spread_to(cx, x, &sizes)?, super::put::spread_to(cx, mask, &sizes)?);
    cx.ge("MaskedSelect", vec![x.into(), mask.into()], &[])
}

/// How often each number stands there, or the sum of its weights: up to the greatest, or as many as are asked for.
fn bincount(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self weights minlength=0")?;
    let (x, dtype) = (args.tensor("self")?, cx.out_type()?);
    let weights = match args.get("weights") {
        Value::None => {
            let (shape, one) = (cx.shape(x)?, cx.always_cast(Literal::Int(1), dtype)?);
            cx.op("Fill", vec![shape.into(), one.into()], &[])?
        }
        weights => cx.cast(weights, dtype)?,
    };
    let x = cx.cast(x, DataType::Int32)?;
    let greatest = cx.op("ReduceMax", vec![x.into(), ints(&[0])], &[])?;
    let one = cx.constant(Literal::Int(1), DataType::Int32)?;
    let count = cx.op("Add", vec![greatest.into(), one.into()], &[])?;
    let least = cx.constant(Literal::Int(args.int("minlength")?.unwrap_or(0)), DataType::Int32)?;
    let count = cx.op("Maximum", vec![count.into(), least.into()], &[])?;
    cx.ge("Bincount", vec![x.into(), count.into(), weights.into()], &[])
}

/// Rows and columns of what lies on one side of a diagonal: known numbers.
fn triangle(cx: &mut Cx, lower: bool) -> Made {
    let args = Args::of(cx, "row col offset=0 dtype layout device pin_memory")?;
    super::create::refuse_layout(cx)?;
    let number = |name: &str| args.int(name).map(|n| n.unwrap_or(0));
    let (rows, columns, offset) = (number("row")?, number("col")?, number("offset")?);
    if rows.saturating_mul(columns) > 1 << 20 {
        return Err(Refusal("more than a million places are not supported".into()));
    }
    let within = |r: i64, c: i64| {
        let along = c.saturating_sub(r);
        if lower { along <= offset } else { along >= offset }
    };
    let all = (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c)));
    let (r, c): (Vec<i64>, Vec<i64>) = all.filter(|(r, c)| within(*r, *c)).unzip();
    let (count, dtype) = (signed(r.len()), cx.out_type()?);
    let bytes = |v: i64| match dtype {
        DataType::Int32 => i32::try_from(v).ok().map(|v| v.to_le_bytes().to_vec()),
        DataType::Int64 => Some(v.to_le_bytes().to_vec()),
        _ => None,
    };
    let data: Option<Vec<Vec<u8>>> = r.into_iter().chain(c).map(bytes).collect();
    let data = data.ok_or_else(|| Refusal("places of this type are not supported".into()))?.concat();
    Ok(cx.b.raw_constant(dtype, vec![2, count], data, None).into())
}

/// GE gives places first.
fn min_dim(cx: &mut Cx) -> Made {
    let (x, dim, keep) = (cx.tensor(0, "self")?, cx.int(1, "dim", 0)?, cx.bool(2, "keepdim", false)?);
    let attrs = [("dimension", Attr::Int(dim)), ("keep_dims", Attr::Bool(keep))];
    let made = cx.b.many("ArgMinWithValue", vec![x.into()], &attrs, None)?;
    let [places, values] = <[TensorId; 2]>::try_from(made).map_err(|_| Refusal("two results were expected".into()))?;
    let places = cx.cast(places, DataType::Int64)?;
    Ok(list(&[values, places]))
}

/// A row a place.
fn nonzero(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    cx.ge("NonZero", vec![x.into()], &[("transpose", Attr::Bool(false)), ("dtype", DataType::Int64.into())])
}

fn view_dtype(cx: &mut Cx) -> Made {
    let (x, dtype) = (cx.tensor(0, "self")?, cx.out_type()?);
    if cx.sizes(x)? != cx.out_sizes()? {
        return Err(Refusal("elements of another width are not supported".into()));
    }
    cx.ge("Bitcast", vec![x.into()], &[("type", dtype.into())])
}

/// As places in the sorted boundaries.
fn bucketize(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self boundaries out_int32=false right=false")?;
    let dtype = if args.flag("out_int32")? { DataType::Int32 } else { DataType::Int64 };
    let attrs = [("dtype", dtype.into()), ("right", Attr::Bool(args.flag("right")?))];
    cx.ge("SearchSorted", vec![args.input("boundaries")?, args.input("self")?], &attrs)
}

fn masked_scatter(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self mask source")?;
    let (x, mask) = (args.tensor("self")?, args.tensor("mask")?);
    // The operand may be the one that is repeated.
    let of = if cx.out_sizes()? == cx.sizes(x)? { x } else { mask };
    let sizes = super::put::sizes_of(cx, of)?;
    let (x, mask) = (super::put::spread_to(cx, x, &sizes)?, super::put::spread_to(cx, mask, &sizes)?);
    cx.ge("MaskedScatter", vec![x.into(), mask.into(), args.input("source")?], &[])
}

fn bits(cx: &mut Cx, logical: &str, bitwise: &str) -> Made {
    let kind = if cx.out_type()? == DataType::Bool { logical } else { bitwise };
    of_result(cx, kind)
}

/// Returns the dimensions of a list as positions from the front; all of them where it is missing or empty.
fn axes(cx: &Cx, x: TensorId, place: usize) -> Result<Vec<i64>, Refusal> {
    let (rank, dims) = (cx.rank(x)?, cx.ints(place, "dim")?.unwrap_or_default());
    let axes = if dims.is_empty() { (0..rank).collect() } else { places(&dims, rank)? };
    Ok(axes.into_iter().map(signed).collect())
}

fn extreme(cx: &mut Cx, kind: &str) -> Made {
    let x = cx.tensor(0, "self")?;
    let (axes, keep) = (axes(cx, x, 1)?, cx.bool(2, "keepdim", false)?);
    cx.ge(kind, vec![x.into(), ints(&axes)], &[("keep_dims", Attr::Bool(keep))])
}

/// Stops where it does not hold; nothing follows from it, and it stays.
fn asserted(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let holds = cx.cast(x, DataType::Bool)?;
    cx.b.many("Assert", vec![holds.into(), In::Many(vec![holds.into()])], &[], None)?;
    cx.b.kept.extend(cx.b.ops.len().checked_sub(1));
    Ok(Value::None)
}

/// Over all dimensions, or one.
fn product(cx: &mut Cx) -> Made {
    let dtype = cx.out_type()?;
    let rank = cx.rank(cx.tensor(0, "self")?)?;
    let x = cx.promoted(0, dtype)?;
    let args = Args::of(cx, "self dim keepdim=false dtype")?;
    let axes = match args.int("dim").ok().flatten() {
        Some(dim) => places(&[dim], rank)?,
        None => (0..rank).collect(),
    };
    let axes: Vec<i64> = axes.into_iter().map(signed).collect();
    let keep = args.flag("keepdim")?;
    cx.ge("ReduceProdD", vec![x.into()], &[("axes", Attr::Ints(axes)), ("keep_dims", Attr::Bool(keep))])
}

/// Counts in equal bins.
fn histc(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self bins=100 min=0 max=0")?;
    let number = |name: &str| match args.get(name) {
        Value::Float(f) => Ok(Attr::Float(f)),
        #[allow(clippy::cast_precision_loss)] // A bound of counted values.
        Value::Int(i) => Ok(Attr::Float(i as f64)),
        _ => Err(Refusal(format!("argument {name} is no number"))),
    };
    let attrs =
        [("bins", Attr::Int(args.int("bins")?.unwrap_or(100))), ("min", number("min")?), ("max", number("max")?)];
    let x = args.tensor("self")?;
    cx.ge("Histogram", vec![x.into()], &attrs)
}

fn dense_strides(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1_i64; sizes.len()];
    let mut step = 1_i64;
    for (stride, size) in strides.iter_mut().zip(sizes).rev() {
        *stride = step;
        step = step.saturating_mul(*size);
    }
    strides
}

/// Windows of a dimension, as a strided view of the operand, which is dense.
fn unfold(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dimension size step")?;
    let x = args.tensor("self")?;
    let mut sizes = fixed(cx, x)?;
    let mut strides = dense_strides(&sizes);
    let (size, step) = (args.int("size")?.unwrap_or(1), args.int("step")?.unwrap_or(1));
    let axis = metas::axis(args.int("dimension")?.unwrap_or(0), sizes.len());
    let places = axis.and_then(|a| Some((sizes.get_mut(a)?, strides.get_mut(a)?)));
    let Some((length, stride)) = places else { return Err(Refusal("a dimension is out of range".into())) };
    let own = *stride;
    *length = length.saturating_sub(size).checked_div(step).map_or(1, |n| n.saturating_add(1));
    *stride = own.saturating_mul(step);
    sizes.push(size);
    strides.push(own);
    cx.ge("AsStrided", vec![x.into(), ints(&sizes), ints(&strides), super::cx::int(0)], &[])
}

fn any_dims(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let (axes, keep) = (axes(cx, x, 1)?, cx.bool(2, "keepdim", false)?);
    let x = cx.cast(x, DataType::Bool)?;
    super::reduce::truth(cx, "ReduceAny", vec![x.into(), ints(&axes)], &[("keep_dims", Attr::Bool(keep))])
}

/// Of the listed dimensions those of size 1 go.
fn squeeze_dims(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let sizes = cx.sizes(x)?;
    let dims = cx.ints(1, "dim")?.unwrap_or_default();
    let is_one = |p: &usize| sizes.get(*p) == Some(&crate::sym::Dim::Fixed(1));
    let ones: Vec<i64> = places(&dims, sizes.len())?.into_iter().filter(is_one).map(signed).collect();
    if ones.is_empty() {
        return cx.ge("Identity", vec![x.into()], &[]);
    }
    Ok(cx.squeeze(x, &ones)?.into())
}

/// As a strided view of the operand, which is dense.
fn diagonal(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self offset=0 dim1=0 dim2=1")?;
    let x = args.tensor("self")?;
    let Some(sizes) = cx.fixed_sizes(x)? else {
        return Err(Refusal("sizes that are not fixed are not supported".into()));
    };
    let axis = |name: &str| metas::axis(args.int(name).ok()??, sizes.len());
    let (Some(a), Some(b)) = (axis("dim1"), axis("dim2")) else {
        return Err(Refusal("a dimension is out of range".into()));
    };
    let strides = dense_strides(&sizes);
    let at = |list: &[i64], place: usize| list.get(place).copied().unwrap_or(1);
    let offset = args.int("offset")?.unwrap_or(0);
    let start = if offset >= 0 {
        offset.saturating_mul(at(&strides, b))
    } else {
        offset.saturating_neg().saturating_mul(at(&strides, a))
    };
    let rows = at(&sizes, a).saturating_add(offset.min(0));
    let columns = at(&sizes, b).saturating_sub(offset.max(0));
    let kept =
        |list: &[i64]| list.iter().enumerate().filter(|(i, _)| *i != a && *i != b).map(|(_, v)| *v).collect::<Vec<_>>();
    let (mut of_sizes, mut of_strides) = (kept(&sizes), kept(&strides));
    of_sizes.push(rows.min(columns).max(0));
    of_strides.push(at(&strides, a).saturating_add(at(&strides, b)));
    cx.ge("AsStrided", vec![x.into(), ints(&of_sizes), ints(&of_strides), super::cx::int(start)], &[])
}

fn fixed(cx: &Cx, t: TensorId) -> Result<Vec<i64>, Refusal> {
    cx.fixed_sizes(t)?.ok_or_else(|| Refusal("sizes that are not fixed are not supported".into()))
}

fn scatter_reduce(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self dim index src reduce include_self=true")?;
    let reduction = match args.text("reduce")?.as_str() {
        "sum" => "add",
        "prod" => "mul",
        "amax" => return extreme_of_parts(cx, &args, "TensorScatterMax"),
        "amin" => return extreme_of_parts(cx, &args, "TensorScatterMin"),
        other => return Err(Refusal(format!("a reduction by {other} is not supported"))),
    };
    let none = if reduction == "add" { 0.0 } else { 1.0 };
    let into = without_itself(cx, &args, Literal::Float(none))?;
    let attrs = [("axis", Attr::Int(args.int("dim")?.unwrap_or(0))), ("reduction", Attr::Str(reduction.into()))];
    let (index, src) = (args.tensor("index")?, args.tensor("src")?);
    let src = super::index::corner(cx, src, index)?;
    cx.ge("ScatterElements", vec![into.into(), index.into(), src.into()], &attrs)
}

/// What is sent anything to begins with what changes nothing, where it does not count itself.
fn without_itself(cx: &mut Cx, args: &Args, nothing: Literal) -> Result<TensorId, Refusal> {
    let (x, index) = (args.tensor("self")?, args.tensor("index")?);
    if args.flag("include_self")? {
        return Ok(x);
    }
    let (shape, dtype) = (cx.shape(index)?, cx.dtype(x));
    let nothing = cx.always_cast(nothing, dtype)?;
    let nothing = cx.op("Fill", vec![shape.into(), nothing.into()], &[])?;
    let attrs = [("axis", Attr::Int(args.int("dim")?.unwrap_or(0))), ("reduction", Attr::Str("none".into()))];
    cx.op("ScatterElements", vec![x.into(), index.into(), nothing.into()], &attrs)
}

/// The largest or smallest of what is sent to each place: GE has that by coordinates.
fn extreme_of_parts(cx: &mut Cx, args: &Args, kind: &str) -> Made {
    let (x, index, src) = (args.tensor("self")?, args.tensor("index")?, args.tensor("src")?);
    let dtype = cx.dtype(x);
    let (sizes, of_src) = (cx.sizes(index)?, cx.sizes(src)?);
    let is_taken = super::cx::is_float(dtype) || matches!(dtype, DataType::Int32 | DataType::Int64);
    if !is_taken || sizes != of_src || sizes.is_empty() {
        return Err(Refusal("only floats and integers, and an index of the sizes of what it sends".into()));
    }
    let (low, high) = super::pointwise::limits(dtype);
    let least = if kind == "TensorScatterMax" { low } else { high };
    let axis = metas::axis(args.int("dim")?.unwrap_or(0), sizes.len())
        .ok_or_else(|| Refusal("there is no such dimension".into()))?;
    let into = without_itself(cx, args, least)?;
    let mut coordinates = Vec::with_capacity(sizes.len());
    for (d, size) in sizes.iter().enumerate() {
        if d == axis {
            coordinates.push(cx.always_cast(index, DataType::Int64)?);
            continue;
        }
        let steps = match size.fixed() {
            Some(size) => cx.constant(Literal::Ints((0..size).collect()), DataType::Int64)?,
            None => {
                let shape = cx.op("Shape", vec![index.into()], &[("dtype", DataType::Int64.into())])?;
                let size = cx.element(shape, signed(d))?;
                cx.op("Range", vec![super::cx::int(0), size.into(), super::cx::int(1)], &[])?
            }
        };
        let others: Vec<i64> = (0..sizes.len()).filter(|o| *o != d).map(signed).collect();
        let steps = cx.unsqueeze(steps, &others)?;
        let whole = super::put::sizes_of(cx, index)?;
        let whole = super::put::as_input(cx, &whole)?;
        coordinates.push(cx.op("BroadcastTo", vec![steps.into(), whole], &[])?);
    }
    let count = signed(coordinates.len());
    let attrs = [("N", Attr::Int(count)), ("axis", Attr::Int(count))];
    let places = cx.op("Pack", vec![coordinates.as_slice().into()], &attrs)?;
    Ok(cx.op(kind, vec![into.into(), places.into(), src.into()], &[])?.into())
}

/// Along the last dimension; another one is brought there and back.
fn sort_stable(cx: &mut Cx) -> Made {
    let x = cx.tensor(0, "self")?;
    let rank = cx.rank(x)?;
    // All but the operand are given by name, or follow one that is only given by name.
    let dim = cx.int(1, "dim", -1)?;
    let descending = cx.bool(2, "descending", false)?;
    let axis = metas::axis(dim, rank).ok_or_else(|| Refusal(format!("there is no dimension {dim}")))?;
    let last = rank.saturating_sub(1);
    let attrs =
        [("axis", Attr::Int(signed(last))), ("descending", Attr::Bool(descending)), ("stable", Attr::Bool(true))];
    let perm: Vec<i64> = metas::swapped(rank, axis, last).into_iter().map(signed).collect();
    let operand = if axis == last { x } else { cx.op("Transpose", vec![x.into(), ints(&perm)], &[])? };
    let made = cx.b.many("Sort", vec![operand.into()], &attrs, None)?;
    let [mut values, mut indices] =
        <[TensorId; 2]>::try_from(made).map_err(|_| Refusal("two results were expected".into()))?;
    if axis != last {
        values = cx.op("Transpose", vec![values.into(), ints(&perm)], &[])?;
        indices = cx.op("Transpose", vec![indices.into(), ints(&perm)], &[])?;
    }
    let indices = cx.cast(indices, DataType::Int64)?;
    Ok(list(&[values, indices]))
}

#[allow(clippy::cast_precision_loss, clippy::float_cmp)] // Sizes of images; another scale than the ratio moves every sample.
fn bilinear2d(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self output_size align_corners scales_h scales_w")?;
    let x = args.tensor("self")?;
    let (from, to, corners) = (cx.sizes(x)?, cx.out_sizes()?, args.flag("align_corners")?);
    for (place, name) in [(0_usize, "scales_h"), (1, "scales_w")] {
        let Some(scale) = (match args.get(name) {
            Value::Float(f) => Some(f),
            Value::Int(i) => Some(i as f64),
            _ => None,
        }) else {
            continue;
        };
        let axis = place.saturating_add(2);
        let known = |sizes: &[crate::sym::Dim]| sizes.get(axis).and_then(|d| d.fixed());
        let is_ratio = match known(&from).zip(known(&to)) {
            Some((from, to)) => from as f64 * scale == to as f64,
            // As many times the samples as a whole number says.
            None => scale >= 1.0 && scale.fract() == 0.0,
        };
        // Where corners are aligned scales say nothing.
        if !corners && !is_ratio {
            return super::resample::bilinear_by_scales(cx, &args);
        }
    }
    let size = cx.cast(args.get("output_size"), DataType::Int32)?;
    let dtype = cx.out_type()?;
    let attrs = [
        ("align_corners", Attr::Bool(corners)),
        ("half_pixel_centers", Attr::Bool(!corners)),
        ("dtype", Attr::Type(dtype)),
    ];
    let made = cx.op("ResizeBilinearV2", vec![x.into(), size.into()], &attrs)?;
    cx.formats(made, &[0], &[0], "NCHW");
    Ok(made.into())
}

/// Returns whether TorchAir has no converter for what is converted here.
pub(in crate::lower::ge) fn is_beyond(target: &str) -> bool {
    static ALL: LazyLock<FxHashSet<&'static str>> = LazyLock::new(|| {
        let families = [TABLE, super::resample::TABLE, super::detection::TABLE, super::linalg::TABLE];
        families.into_iter().flatten().map(|(target, _)| *target).collect()
    });
    ALL.contains(target)
}
