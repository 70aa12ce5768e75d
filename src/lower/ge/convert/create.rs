//! Tensors out of nothing, and copies in other dtypes.

use super::cx::{Cx, ge_type, int};
use super::{Entry, Made, Rule};
use crate::graph::{Arg, Layout, MemoryFormat};
use crate::lower::ge::builder::{In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::Value;

pub(super) const TABLE: &[Entry] = &[
    ("aten.arange.default", Rule::By(|cx| arange(cx, Span::To))),
    ("aten.arange.start", Rule::By(|cx| arange(cx, Span::FromTo))),
    ("aten.arange.start_step", Rule::By(|cx| arange(cx, Span::FromToBy))),
    ("aten.empty.memory_format", Rule::By(empty)),
    ("aten.empty_like.default", Rule::By(empty_like)),
    ("aten.fill.Scalar", Rule::By(fill)),
    ("aten.fill.Tensor", Rule::By(fill)),
    ("aten.full.default", Rule::By(full)),
    ("aten.full_like.default", Rule::By(full_like)),
    ("aten.linspace.default", Rule::By(linspace)),
    ("aten.new_empty.default", Rule::By(new_empty)),
    ("aten.new_full.default", Rule::By(new_full)),
    ("aten.new_ones.default", Rule::By(|cx| new_filled(cx, 1.0))),
    ("aten.new_zeros.default", Rule::By(|cx| new_filled(cx, 0.0))),
    ("aten.ones.default", Rule::By(ones)),
    ("aten.ones_like.default", Rule::By(|cx| like(cx, "OnesLike"))),
    ("aten.scalar_tensor.default", Rule::By(scalar_tensor)),
    ("aten.zeros.default", Rule::By(zeros)),
    ("aten.zeros_like.default", Rule::By(|cx| like(cx, "ZerosLike"))),
    ("aten.clone.default", Rule::By(clone)),
    ("aten.lift_fresh_copy.default", Rule::Unary("Identity")),
    ("aten.new_empty_strided.default", Rule::By(new_empty_strided)),
    (
        "aten.copy_.default",
        Rule::By(|cx| {
            let (dst, src) = (cx.input(0, "self")?, cx.input(1, "src")?);
            cx.ge("Assign", vec![dst, src], &[])
        }),
    ),
    ("aten._to_copy.default", Rule::By(to_copy)),
    ("aten.zero.default", Rule::Unary("ZerosLike")),
    ("aten.copy.default", Rule::By(copy)),
    ("prims.convert_element_type.default", Rule::By(convert)),
];

fn full(cx: &mut Cx) -> Made {
    let dtype = match cx.kwarg("dtype") {
        Value::Dtype(d) => ge_type(d)?,
        _ => cx.out_type()?,
    };
    let value = cx.get(1, "fill_value");
    let value = cx.cast(value, dtype)?;
    match cx.input(0, "size")? {
        In::Literal(l) if l.is_empty() => Ok(value.into()),
        size => cx.ge("Fill", vec![size, value.into()], &[]),
    }
}

pub(super) fn refuse_layout(cx: &Cx) -> Result<(), Refusal> {
    match cx.kwarg("layout") {
        Value::Other(l) if *l != Arg::Layout(Layout::Strided) => {
            Err(Refusal("only dense tensors are supported".into()))
        }
        _ => Ok(()),
    }
}

fn new_filled(cx: &mut Cx, value: f64) -> Made {
    refuse_layout(cx)?;
    let (dtype, size) = (own_type(cx)?, cx.input(1, "size")?);
    let value = cx.always_cast(Literal::Float(value), dtype)?;
    cx.ge("Fill", vec![size, value.into()], &[])
}

fn zeros(cx: &mut Cx) -> Made {
    refuse_layout(cx)?;
    let size = cx.input(0, "size")?;
    let zero = match cx.dtype_arg(usize::MAX, "dtype")? {
        None => Literal::Float(0.0).into(),
        Some(dtype) => cx.always_cast(Literal::Float(0.0), dtype)?.into(),
    };
    cx.ge("Fill", vec![size, zero], &[])
}

fn ones(cx: &mut Cx) -> Made {
    refuse_layout(cx)?;
    let (size, dtype) = (cx.input(0, "size")?, cx.dtype_arg(usize::MAX, "dtype")?);
    let one = cx.constant(Literal::Int(1), dtype.unwrap_or(DataType::Float))?;
    cx.ge("Fill", vec![size, one.into()], &[])
}

fn linspace(cx: &mut Cx) -> Made {
    refuse_layout(cx)?;
    if cx.int(2, "steps", 0)? < 0 {
        return Err(Refusal("the number of steps must not be negative".into()));
    }
    // GE draws lines of floats only.
    #[allow(clippy::cast_precision_loss)] // Numbers that somebody wrote.
    let float = |v: Value| if let Value::Int(i) = v { Value::Float(i as f64) } else { v };
    let (start, end) = (float(cx.get(0, "start")), float(cx.get(1, "end")));
    let (start, end, steps) = (In::try_from(&start)?, In::try_from(&end)?, cx.input(2, "steps")?);
    let line = cx.op("LinSpace", vec![start, end, steps], &[])?;
    match cx.dtype_arg(usize::MAX, "dtype")? {
        None => Ok(line.into()),
        Some(dtype) => Ok(cx.cast(line, dtype)?.into()),
    }
}

/// Which of start, end and step an overload takes.
enum Span {
    To,
    FromTo,
    FromToBy,
}

fn arange(cx: &mut Cx, span: Span) -> Made {
    let dtype = match cx.dtype_arg(usize::MAX, "dtype")? {
        Some(dtype) => dtype,
        None => cx.out_type()?,
    };
    let (start, end, step) = match span {
        // GE's Range has one type: a float makes floats of all three.
        Span::To if is_float(&cx.get(0, "end")) => {
            let end = cx.cast(cx.get(0, "end"), dtype)?;
            (cx.cast(Value::Int(0), dtype)?.into(), end.into(), cx.cast(Value::Int(1), dtype)?.into())
        }
        Span::To => {
            let start = cx.constant(Literal::Int(0), DataType::Int32)?;
            let step = cx.constant(Literal::Int(1), DataType::Int32)?;
            (In::Tensor(start), cx.input(0, "end")?, In::Tensor(step))
        }
        Span::FromTo if is_float(&cx.get(0, "start")) || is_float(&cx.get(1, "end")) => {
            let (start, end) = (cx.get(0, "start"), cx.get(1, "end"));
            let (start, end) = (cx.cast(start, dtype)?, cx.cast(end, dtype)?);
            (start.into(), end.into(), cx.cast(Value::Int(1), dtype)?.into())
        }
        Span::FromTo => {
            let step = cx.constant(Literal::Int(1), DataType::Int32)?;
            (cx.input(0, "start")?, cx.input(1, "end")?, In::Tensor(step))
        }
        Span::FromToBy => {
            let step = cx.get(2, "step");
            let step = if step.is_none() { Value::Int(1) } else { step };
            let (start, end) = (cx.get(0, "start"), cx.get(1, "end"));
            let (start, end) = (cx.cast(start, dtype)?, cx.cast(end, dtype)?);
            (start.into(), end.into(), cx.cast(step, dtype)?.into())
        }
    };
    let range = cx.op("Range", vec![start, end, step], &[])?;
    Ok(cx.cast(range, dtype)?.into())
}

fn is_float(value: &Value) -> bool {
    matches!(value, Value::Float(_))
}

fn like(cx: &mut Cx, kind: &str) -> Made {
    let mut x = cx.tensor(0, "self")?;
    if let Some(dtype) = cx.dtype_arg(usize::MAX, "dtype")? {
        x = cx.cast(x, dtype)?;
    }
    cx.ge(kind, vec![x.into()], &[])
}

pub(super) fn empty(cx: &mut Cx) -> Made {
    let (size, dtype) = (cx.input(0, "size")?, cx.out_type()?);
    let zero = cx.always_cast(Literal::Float(0.0), dtype)?;
    cx.ge("Fill", vec![size, zero.into()], &[])
}

fn empty_like(cx: &mut Cx) -> Made {
    let (x, dtype) = (cx.input(0, "self")?, cx.out_type()?);
    let shape = cx.op("Shape", vec![x], &[])?;
    let zero = cx.always_cast(Literal::Float(0.0), dtype)?;
    cx.ge("Fill", vec![shape.into(), zero.into()], &[])
}

fn fill(cx: &mut Cx) -> Made {
    let (x, value) = (cx.tensor(0, "self")?, cx.input(1, "value")?);
    let shape = cx.op("Shape", vec![x.into()], &[])?;
    let dtype = cx.dtype(x);
    let value = cx.always_cast(value, dtype)?;
    cx.ge("Fill", vec![shape.into(), value.into()], &[])
}

fn full_like(cx: &mut Cx) -> Made {
    let (x, value) = (cx.tensor(0, "self")?, cx.input(1, "fill_value")?);
    let shape = cx.op("Shape", vec![x.into()], &[])?;
    let dtype = match cx.dtype_arg(usize::MAX, "dtype")? {
        Some(dtype) => {
            // TorchAir casts the operand too, and uses only its type.
            cx.cast(x, dtype)?;
            dtype
        }
        None => cx.dtype(x),
    };
    let value = cx.always_cast(value, dtype)?;
    cx.ge("Fill", vec![shape.into(), value.into()], &[])
}

fn own_type(cx: &Cx) -> Result<DataType, Refusal> {
    let x = cx.tensor(0, "self")?;
    Ok(cx.dtype_arg(usize::MAX, "dtype")?.unwrap_or_else(|| cx.dtype(x)))
}

fn new_full(cx: &mut Cx) -> Made {
    let (dtype, value) = (own_type(cx)?, cx.get(2, "fill_value"));
    let value = cx.cast(value, dtype)?;
    let size = cx.input(1, "size")?;
    cx.ge("Fill", vec![size, value.into()], &[])
}

fn new_empty(cx: &mut Cx) -> Made {
    let (dtype, size) = (own_type(cx)?, cx.get(1, "size"));
    let size = cx.cast(size, DataType::Int32)?;
    cx.ge("Empty", vec![size.into()], &[("dtype", dtype.into())])
}

fn scalar_tensor(cx: &mut Cx) -> Made {
    let value = cx.get(0, "s");
    match (cx.dtype_arg(usize::MAX, "dtype")?, value.tensor(), value.literal()) {
        (Some(dtype), _, _) => Ok(cx.cast(value, dtype)?.into()),
        (None, Some(t), _) => Ok(t.into()),
        (None, None, Some(l)) => Ok(cx.b.constant(&l, None)?.into()),
        _ => Err(Refusal("argument s is no number".into())),
    }
}

fn clone(cx: &mut Cx) -> Made {
    if let Value::Other(format) = cx.kwarg("memory_format")
        && *format != crate::graph::Arg::MemoryFormat(crate::graph::MemoryFormat::Contiguous)
    {
        return Err(Refusal("only memory_format=torch.contiguous_format is supported".into()));
    }
    let x = cx.input(0, "self")?;
    cx.ge("Identity", vec![x], &[])
}

/// GE's tensors have no gaps, and lie in the order of their dimensions.
pub(super) fn empty_strided(cx: &mut Cx) -> Made {
    refuse_layout(cx)?;
    let (size, dtype) = (cx.get(0, "size"), cx.out_type()?);
    let size = cx.cast(size, DataType::Int32)?;
    cx.ge("Empty", vec![size.into()], &[("dtype", dtype.into())])
}

fn new_empty_strided(cx: &mut Cx) -> Made {
    refuse_layout(cx)?;
    let x = cx.tensor(0, "self")?;
    let dtype = cx.dtype_arg(usize::MAX, "dtype")?.unwrap_or_else(|| cx.dtype(x));
    let size = cx.get(1, "size");
    let size = cx.cast(size, DataType::Int32)?;
    let empty = cx.op("Empty", vec![size.into()], &[("dtype", dtype.into())])?;
    let stride = cx.input(2, "stride")?;
    // GE's tensors have no gaps: one with some is as it is without.
    let (sizes, strides) = (cx.ints(1, "size")?.unwrap_or_default(), cx.ints(2, "stride")?.unwrap_or_default());
    let reach = sizes
        .iter()
        .zip(&strides)
        .fold(1_i64, |n, (size, step)| n.saturating_add(size.saturating_sub(1).saturating_mul(*step)));
    if reach > sizes.iter().fold(1_i64, |n, size| n.saturating_mul(*size)) {
        return Ok(empty.into());
    }
    cx.ge("AsStrided", vec![empty.into(), size.into(), stride, int(0)], &[])
}

fn to_copy(cx: &mut Cx) -> Made {
    if let Value::Other(layout) = cx.kwarg("layout")
        && *layout != Arg::Layout(Layout::Strided)
    {
        return Err(Refusal("only layout=torch.strided is supported".into()));
    }
    if let Value::Other(format) = cx.kwarg("memory_format")
        && *format != Arg::MemoryFormat(MemoryFormat::Contiguous)
    {
        return Err(Refusal("only memory_format=torch.contiguous_format is supported".into()));
    }
    let x = cx.tensor(0, "self")?;
    match cx.dtype_arg(usize::MAX, "dtype")? {
        Some(dtype) if dtype != cx.dtype(x) => Ok(cx.cast(x, dtype)?.into()),
        _ => cx.ge("TensorMove", vec![x.into()], &[]),
    }
}

fn copy(cx: &mut Cx) -> Made {
    let (x, src) = (cx.tensor(0, "self")?, cx.tensor(1, "src")?);
    if x == src {
        return cx.ge("Identity", vec![src.into()], &[]);
    }
    let dtype = cx.dtype(x);
    if cx.dtype(src) == dtype && cx.sizes(src)? == cx.sizes(x)? {
        return Ok(src.into());
    }
    let src = cx.cast(src, dtype)?;
    let shape = cx.shape(x)?;
    cx.ge("BroadcastTo", vec![src.into(), shape.into()], &[])
}

fn convert(cx: &mut Cx) -> Made {
    let x = cx.input(0, "a")?;
    let dtype = cx.dtype_arg(1, "dtype")?.ok_or_else(|| Refusal("argument dtype is missing".into()))?;
    Ok(cx.always_cast(x, dtype)?.into())
}
