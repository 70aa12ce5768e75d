//! Symbolic scalars: sizes of tensors, Python arithmetic on them, values read out of tensors.
//!
//! Integers are computed by `sym`; where floats or booleans take part, the expression is made from PyTorch's text of it.

use crate::graph::{Arg, Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::{Call, Number, Operand};
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::sym::{Dim, SymValue};

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (size, &["aten.sym_size.int", "aten.size.int"]),
    (all_sizes, &["aten.sym_size.default"]),
    (stride, &["aten.sym_stride.int", "aten.stride.int"]),
    (all_strides, &["aten.sym_stride.default"]),
    (numel, &["aten.sym_numel.default", "aten.numel.default"]),
    (offset, &["aten.sym_storage_offset.default"]),
    (is_contiguous, &["aten.sym_is_contiguous.default"]),
    (item, &["aten.item.default", "aten._local_scalar_dense.default"]),
    (is_nonzero, &["aten.is_nonzero.default"]),
    (equal, &["aten.equal.default"]),
    (all_close, &["aten.allclose.default"]),
    (is_same_size, &["aten.is_same_size.default"]),
    (|c| infix(c, "+"), &["_operator.add"]),
    (|c| infix(c, "-"), &["_operator.sub"]),
    (|c| infix(c, "*"), &["_operator.mul"]),
    (|c| infix(c, "/"), &["_operator.truediv"]),
    (|c| infix(c, "//"), &["_operator.floordiv"]),
    (|c| infix(c, "%"), &["_operator.mod"]),
    (|c| infix(c, "**"), &["_operator.pow", "builtins.pow"]),
    (|c| infix(c, "&"), &["_operator.and_"]),
    (|c| infix(c, "|"), &["_operator.or_"]),
    (|c| infix(c, "^"), &["_operator.xor"]),
    (|c| call(c, "LShift", &[0, 1]), &["_operator.lshift"]),
    (|c| call(c, "RShift", &[0, 1]), &["_operator.rshift"]),
    (|c| call(c, "Eq", &[0, 1]), &["_operator.eq"]),
    (|c| call(c, "Ne", &[0, 1]), &["_operator.ne"]),
    (|c| infix(c, "<"), &["_operator.lt"]),
    (|c| infix(c, "<="), &["_operator.le"]),
    (|c| infix(c, ">"), &["_operator.gt"]),
    (|c| infix(c, ">="), &["_operator.ge"]),
    (|c| prefix(c, "-"), &["_operator.neg"]),
    (|c| prefix(c, "~"), &["_operator.not_", "torch.sym_not"]),
    (|c| prefix(c, ""), &["_operator.pos", "_operator.index", "builtins.int"]),
    (|c| call(c, "abs", &[0]), &["_operator.abs", "builtins.abs"]),
    (|c| call(c, "Max", &[0, 1]), &["torch.sym_max", "builtins.max"]),
    (|c| call(c, "Min", &[0, 1]), &["torch.sym_min", "builtins.min"]),
    (to_float, &["torch.sym_float", "builtins.float"]),
    (to_int, &["torch.sym_int", "math.trunc"]),
    (|c| rounded(c, "CeilToInt"), &["math.ceil"]),
    (|c| rounded(c, "FloorToInt"), &["math.floor"]),
    (|c| rounded(c, "RoundToInt"), &["builtins.round"]),
    (|c| call(c, "Where", &[0, 1, 2]), &["torch.sym_ite"]),
    (sum, &["torch.sym_sum"]),
    (|c| call(c, "OpaqueUnaryFn_sqrt", &[0]), &["torch.sym_sqrt", "torch._sym_sqrt", "math.sqrt"]),
    (|c| call(c, "OpaqueUnaryFn_exp", &[0]), &["math.exp"]),
    (|c| call(c, "OpaqueUnaryFn_log", &[0]), &["math.log"]),
    (|c| call(c, "OpaqueUnaryFn_log2", &[0]), &["math.log2", "torch._sym_log2"]),
    (|c| call(c, "OpaqueUnaryFn_sin", &[0]), &["math.sin", "torch._sym_sin"]),
    (|c| call(c, "OpaqueUnaryFn_cos", &[0]), &["math.cos", "torch._sym_cos"]),
    (|c| call(c, "OpaqueUnaryFn_tan", &[0]), &["math.tan", "torch._sym_tan"]),
    (|c| call(c, "OpaqueUnaryFn_sinh", &[0]), &["math.sinh", "torch._sym_sinh"]),
    (|c| call(c, "OpaqueUnaryFn_cosh", &[0]), &["math.cosh", "torch._sym_cosh"]),
    (|c| call(c, "OpaqueUnaryFn_tanh", &[0]), &["math.tanh", "torch._sym_tanh"]),
    (|c| call(c, "OpaqueUnaryFn_asin", &[0]), &["math.asin", "torch._sym_asin"]),
    (|c| call(c, "OpaqueUnaryFn_acos", &[0]), &["math.acos", "torch._sym_acos"]),
    (|c| call(c, "OpaqueUnaryFn_atan", &[0]), &["math.atan", "torch._sym_atan"]),
    (getitem, &["_operator.getitem"]),
    (token, &["aten._functional_assert_async.msg", "aten._functional_assert_scalar.default"]),
];

fn size(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let d = nonscalar_axis(c)?;
    t.sizes.get(d).copied().map(ValueType::SymInt).ok_or_else(|| c.bad(1, "a dimension of the tensor", d.to_string()))
}

fn nonscalar_axis(c: &Call<'_>) -> Result<usize, CallFault> {
    let t = c.tensor(0)?;
    if t.rank() == 0 {
        return Err(c.bad(0, "a tensor with dimensions", "a scalar"));
    }
    c.axis(1, t.rank())
}

fn all_sizes(c: &mut Call<'_>) -> Typed {
    Ok(out::many(c.tensor(0)?.sizes.iter().copied().map(ValueType::SymInt)))
}

fn unknown_strides() -> CallFault {
    CallFault::Unsupported { what: "strides that are not known".into() }
}

fn stride(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let d = nonscalar_axis(c)?;
    let strides = strides_of(c, t).ok_or_else(unknown_strides)?;
    strides.get(d).copied().map(ValueType::SymInt).ok_or_else(unknown_strides)
}

/// Returns the strides of a tensor, where they are numbers or it surely has elements: those of nothing are no products of sizes.
fn strides_of<'t>(c: &Call<'_>, t: &'t TensorType) -> Option<&'t [Dim]> {
    let strides = t.strides.as_deref()?;
    let fixed = strides.iter().all(|d| d.fixed().is_some());
    let holds_some = t.sizes.iter().all(|d| !c.symbols.range_of(*d).contains(0));
    (fixed || holds_some).then_some(strides)
}

fn all_strides(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let strides = strides_of(c, t).ok_or_else(unknown_strides)?;
    Ok(out::many(strides.iter().copied().map(ValueType::SymInt)))
}

fn numel(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    sizes::product(c.symbols, &t.sizes).map(ValueType::SymInt)
}

fn offset(c: &mut Call<'_>) -> Typed {
    Ok(ValueType::SymInt(c.tensor(0)?.offset))
}

fn is_contiguous(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let format = c.memory_format(1).unwrap_or(crate::graph::MemoryFormat::Contiguous);
    match layout::is_in_format(c.symbols, t, format) {
        Some(known) => Ok(ValueType::SymBool(c.symbols.constant_bool(known)?.into())),
        None => Err(unknown_strides()),
    }
}

/// Only running it tells the value: as annotated, else a new symbol.
fn item(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    // The inner operator reads the first element, whatever follows.
    if &*c.operator.schema.name == "item" {
        single(c)?;
    }
    match c.annotation(0) {
        Some(known @ (ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_))) => Ok(known.clone()),
        // There are no complex symbols.
        _ if t.dtype.is_complex() => Ok(ValueType::Unknown),
        _ if t.dtype.is_float() => {
            let name = sizes::fresh_name(c.symbols, "zuf");
            parsed(c, &name)
        }
        _ if t.dtype == Dtype::Bool => truth(c),
        _ => Ok(ValueType::SymInt(sizes::fresh_symbol(c.symbols))),
    }
}

/// A boolean that only running it tells, as PyTorch writes it: whether a new integer is 1.
fn truth(c: &mut Call<'_>) -> Typed {
    if let Some(known @ ValueType::SymBool(_)) = c.annotation(0) {
        return Ok(known.clone());
    }
    let value = sizes::fresh_symbol(c.symbols);
    let text = format!("Eq({}, 1)", c.symbols.print_python(value));
    parsed(c, &text)
}

fn single(c: &Call<'_>) -> Result<(), CallFault> {
    let t = c.tensor(0)?;
    match t.sizes.iter().find(|d| sizes::differ(c.symbols, **d, Dim::Fixed(1))) {
        Some(_) => Err(c.bad(0, "a tensor of one element", sizes::show(c.symbols, &t.sizes))),
        None => Ok(()),
    }
}

fn is_nonzero(c: &mut Call<'_>) -> Typed {
    single(c)?;
    truth(c)
}

/// Whether two tensors are equal: known where their sizes are not.
fn equal(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    if a.dtype != b.dtype && crate::ops::typing::promote::promote(a.dtype, b.dtype).is_none() {
        return Err(c.bad(1, format!("a dtype that compares with {}", a.dtype.long()), b.dtype.long()));
    }
    truth(c)
}

fn all_close(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    if a.dtype != b.dtype {
        return Err(c.bad(1, format!("dtype {}", a.dtype.long()), b.dtype.long()));
    }
    out::broadcast(c, 1, &[&a.sizes, &b.sizes])?;
    truth(c)
}

fn is_same_size(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    if sizes::all_same(c.symbols, &a.sizes, &b.sizes) {
        return Ok(ValueType::SymBool(c.symbols.constant_bool(true)?.into()));
    }
    let sure = a.rank() != b.rank() || a.sizes.iter().zip(&b.sizes).any(|(x, y)| sizes::differ(c.symbols, *x, *y));
    if sure { Ok(ValueType::SymBool(c.symbols.constant_bool(false)?.into())) } else { truth(c) }
}

/// Returns an operand as text, in parentheses where that is needed, and as an integer where it is one.
fn operand(c: &Call<'_>, i: usize) -> Result<(String, Option<Dim>), CallFault> {
    written(c, i, c.arg(i))
}

fn written(c: &Call<'_>, i: usize, arg: &Arg) -> Result<(String, Option<Dim>), CallFault> {
    if let Arg::Node(n) = arg
        && let ValueType::SymFloat(e) | ValueType::SymBool(e) = c.view.ty(*n)
    {
        return Ok((format!("({})", c.symbols.print_expr(*e)), None));
    }
    match c.number_in(i, arg)? {
        Number::Int(d) => Ok((format!("({})", c.symbols.print_python(d)), Some(d))),
        Number::Bool(Some(b)) => Ok((if b { "True" } else { "False" }.into(), None)),
        Number::Float(Some(v)) if v.is_finite() => Ok((format!("({v:?})"), None)),
        _ => Err(CallFault::Unsupported { what: format!("this kind of number for `{}`", c.name(i)) }),
    }
}

fn typed(value: SymValue) -> ValueType {
    match value {
        SymValue::Int(d) => ValueType::SymInt(d),
        SymValue::Float(f) => ValueType::SymFloat(f.into()),
        SymValue::Bool(b) => ValueType::SymBool(b.into()),
    }
}

fn parsed(c: &mut Call<'_>, text: &str) -> Typed {
    Ok(typed(c.symbols.parse_python(text)?))
}

fn infix(c: &mut Call<'_>, sign: &str) -> Typed {
    let ((a, x), (b, y)) = (operand(c, 0)?, operand(c, 1)?);
    if let (Some(x), Some(y)) = (x, y) {
        let s = &mut *c.symbols;
        let made = match sign {
            "+" => Some(s.add(x, y)),
            "-" => Some(s.sub(x, y)),
            "*" => Some(s.mul(x, y)),
            "//" => Some(s.floordiv(x, y)),
            "%" => Some(s.modulo(x, y)),
            _ => None,
        };
        if let Some(made) = made {
            return Ok(ValueType::SymInt(made?));
        }
    }
    parsed(c, &format!("{a} {sign} {b}"))
}

fn prefix(c: &mut Call<'_>, sign: &str) -> Typed {
    let (a, _) = operand(c, 0)?;
    parsed(c, &format!("{sign}{a}"))
}

fn call(c: &mut Call<'_>, name: &str, places: &[usize]) -> Typed {
    let mut parts = Vec::new();
    for i in places {
        parts.push(operand(c, *i)?.0);
    }
    parsed(c, &format!("{name}({})", parts.join(", ")))
}

fn to_float(c: &mut Call<'_>) -> Typed {
    if matches!(c.number(0)?, Number::Float(_)) { prefix(c, "") } else { call(c, "ToFloat", &[0]) }
}

fn rounded(c: &mut Call<'_>, name: &str) -> Typed {
    if matches!(c.number(0)?, Number::Int(_)) { prefix(c, "") } else { call(c, name, &[0]) }
}

fn to_int(c: &mut Call<'_>) -> Typed {
    rounded(c, "TruncToInt")
}

fn sum(c: &mut Call<'_>) -> Typed {
    let mut parts = Vec::new();
    for arg in c.arg(0).items().unwrap_or_default() {
        parts.push(written(c, 0, arg)?.0);
    }
    if parts.is_empty() {
        return Ok(ValueType::SymInt(Dim::Fixed(0)));
    }
    parsed(c, &parts.join(" + "))
}

/// One of several results, or an element of a list argument.
fn getitem(c: &mut Call<'_>) -> Typed {
    let Arg::Node(n) = c.arg(0) else {
        return Err(c.wrong_kind(0, "a node with several results", c.arg(0)));
    };
    match c.view.ty(*n) {
        ValueType::Many(all) => {
            let at = c.int(1)?;
            let place = usize::try_from(at).ok().and_then(|k| all.get(k));
            match place {
                Some(ValueType::Unknown) => Err(CallFault::Untyped { argument: c.name(0).into() }),
                Some(known) => Ok(known.clone()),
                None => Err(c.bad(1, format!("an index below {}", all.len()), at.to_string())),
            }
        }
        ValueType::Unknown | ValueType::Const(_) | ValueType::Other(_) => {
            Err(CallFault::Untyped { argument: c.name(0).into() })
        }
        _ => Err(c.wrong_kind(0, "a node with several results", c.arg(0))),
    }
}

/// The token that asserts are strung on.
fn token(c: &mut Call<'_>) -> Typed {
    match c.operand(2)? {
        Operand::Tensor(t) => out::like(c, t.dtype, t),
        Operand::Number(_) => Err(c.bad(2, "a tensor", "a number")),
    }
}
