//! Linear algebra: factors, solutions, eigenvalues. TorchAir has no converter for any of it.
//!
//! What PyTorch gives beside a result (how far a factorization came) is all zeros: the device stops where there is none. Factors that only
//! a gradient reads are not made.

use super::args::Args;
use super::cx::{Cx, ints, signed};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("aten._linalg_det.default", By(determinant)),
    ("aten._linalg_slogdet.default", By(log_determinant)),
    ("aten._linalg_check_errors.default", By(checked)),
    ("aten.linalg_inv_ex.default", By(inverse)),
    ("aten._linalg_solve_ex.default", By(solve)),
    ("aten.linalg_cholesky_ex.default", By(cholesky)),
    ("aten.linalg_solve_triangular.default", By(solve_triangular)),
    ("aten.linalg_qr.default", By(qr)),
    ("aten._linalg_eigh.default", By(eigen)),
    ("aten._linalg_svd.default", By(singular)),
];

/// What GE gives of the results; what it does not may not be read.
fn results(cx: &Cx, made: &[Option<TensorId>]) -> Made {
    let lacking = made.iter().enumerate().find(|(place, t)| t.is_none() && cx.result_is_read(*place, ""));
    match lacking {
        Some((place, _)) => Err(Refusal(format!("result {place} is read, and GE's operator does not give it"))),
        None => Ok(Value::List(made.iter().map(|t| t.map_or(Value::None, Value::Tensor)).collect())),
    }
}

fn matrix(cx: &Cx, args: &Args, name: &str) -> Result<TensorId, Refusal> {
    let t = args.tensor(name)?;
    if cx.rank(t)? < 2 {
        return Err(Refusal(format!("argument {name} is no matrix")));
    }
    Ok(t)
}

/// The last two dimensions exchanged.
fn turned(cx: &mut Cx, t: TensorId) -> Result<TensorId, Refusal> {
    let rank = cx.rank(t)?;
    turned_of(cx, t, rank)
}

fn turned_of(cx: &mut Cx, t: TensorId, rank: usize) -> Result<TensorId, Refusal> {
    let mut order: Vec<i64> = (0..rank).map(signed).collect();
    let last = rank.saturating_sub(1);
    order.swap(last.saturating_sub(1), last);
    cx.op("Transpose", vec![t.into(), ints(&order)], &[])
}

/// No failure, of each matrix.
fn no_failure(cx: &mut Cx, t: TensorId) -> Result<TensorId, Refusal> {
    let sizes = super::put::sizes_of(cx, t)?;
    let zero = cx.constant(crate::lower::ge::literal::Literal::Int(0), DataType::Int32)?;
    if sizes.len() == 2 {
        return Ok(zero);
    }
    let outer = super::put::as_input(cx, sizes.get(..sizes.len().saturating_sub(2)).unwrap_or(&[]))?;
    cx.op("Fill", vec![outer, zero.into()], &[])
}

/// The program goes on only where nothing failed: where the device stops by itself, as the first lines say, nothing is left to ask.
fn checked(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "info api_name is_matrix")?;
    let info = args.tensor("info")?;
    if cx.b.op_of(info).is_some_and(|op| matches!(op.kind, "Const" | "Fill")) {
        return Ok(Value::None);
    }
    let zero = cx.constant(crate::lower::ge::literal::Literal::Int(0), DataType::Int32)?;
    let holds = cx.op("Equal", vec![info.into(), zero.into()], &[])?;
    cx.b.many("Assert", vec![holds.into(), In::Many(vec![holds.into()])], &[], None)?;
    cx.b.kept.extend(cx.b.ops.len().checked_sub(1));
    Ok(Value::None)
}

fn two(cx: &mut Cx, kind: &str, x: TensorId, attrs: &[(&str, Attr)]) -> Result<[TensorId; 2], Refusal> {
    let made = cx.b.many(kind, vec![x.into()], attrs, None)?;
    <[TensorId; 2]>::try_from(made).map_err(|_| Refusal("two results were expected".into()))
}

fn determinant(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "A")?;
    let x = matrix(cx, &args, "A")?;
    let made = cx.op("MatrixDeterminant", vec![x.into()], &[])?;
    results(cx, &[Some(made), None, None])
}

fn log_determinant(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "A")?;
    let x = matrix(cx, &args, "A")?;
    let [sign, log] = two(cx, "LogMatrixDeterminant", x, &[])?;
    results(cx, &[Some(sign), Some(log), None, None])
}

fn inverse(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "A check_errors=false")?;
    let x = matrix(cx, &args, "A")?;
    let made = cx.op("MatrixInverse", vec![x.into()], &[])?;
    let info = no_failure(cx, x)?;
    results(cx, &[Some(made), Some(info)])
}

/// A right side that is a vector is one column; from the other side all is turned.
fn solve(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "A B left=true check_errors=false")?;
    let (a, b, left) = (matrix(cx, &args, "A")?, args.tensor("B")?, args.flag("left")?);
    let (rank, of_b) = (cx.rank(a)?, cx.rank(b)?);
    let is_vector = of_b == 1 || of_b < rank;
    if is_vector && !left {
        return Err(Refusal("a row from the other side is not supported".into()));
    }
    let info = no_failure(cx, a)?;
    if is_vector {
        if of_b.saturating_add(1) != rank {
            return Err(Refusal("right sides of another number of dimensions are not supported".into()));
        }
        let column = cx.unsqueeze(b, &[-1])?;
        let made = cx.op("MatrixSolve", vec![a.into(), column.into()], &[])?;
        let made = cx.squeeze(made, &[-1])?;
        return results(cx, &[Some(made), None, None, Some(info)]);
    }
    if of_b != rank || !outer_alike(cx, a, b)? {
        return Err(Refusal("right sides that are spread over matrices are not supported".into()));
    }
    let made = if left {
        cx.op("MatrixSolve", vec![a.into(), b.into()], &[])?
    } else {
        let (a, b) = (turned(cx, a)?, turned(cx, b)?);
        let made = cx.op("MatrixSolve", vec![a.into(), b.into()], &[])?;
        turned_of(cx, made, rank)?
    };
    results(cx, &[Some(made), None, None, Some(info)])
}

fn outer_alike(cx: &Cx, a: TensorId, b: TensorId) -> Result<bool, Refusal> {
    let (a, b) = (cx.sizes(a)?, cx.sizes(b)?);
    let outer = a.len().saturating_sub(2);
    Ok(a.get(..outer) == b.get(..outer))
}

fn cholesky(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self upper=false check_errors=false")?;
    let x = matrix(cx, &args, "self")?;
    let rank = cx.rank(x)?;
    let info = no_failure(cx, x)?;
    // GE reads the lower triangle; of the upper one PyTorch makes the upper factor.
    let upper = args.flag("upper")?;
    let read = if upper { turned(cx, x)? } else { x };
    let made = cx.op("Cholesky", vec![read.into()], &[])?;
    let made = if upper { turned_of(cx, made, rank)? } else { made };
    results(cx, &[Some(made), Some(info)])
}

fn solve_triangular(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self B upper left=true unitriangular=false")?;
    let (a, b) = (matrix(cx, &args, "self")?, matrix(cx, &args, "B")?);
    if args.flag("unitriangular")? || cx.rank(a)? != cx.rank(b)? || !outer_alike(cx, a, b)? {
        return Err(Refusal("a diagonal of ones, or right sides spread over matrices, are not supported".into()));
    }
    let (upper, rank) = (args.flag("upper")?, cx.rank(a)?);
    let solve = |cx: &mut Cx, a: TensorId, b: TensorId, lower: bool| {
        cx.op("MatrixTriangularSolve", vec![a.into(), b.into()], &[("lower", Attr::Bool(lower))])
    };
    if args.flag("left")? {
        return Ok(solve(cx, a, b, !upper)?.into());
    }
    let (a, b) = (turned(cx, a)?, turned(cx, b)?);
    let made = solve(cx, a, b, upper)?;
    Ok(turned_of(cx, made, rank)?.into())
}

fn qr(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "A mode=reduced")?;
    let x = matrix(cx, &args, "A")?;
    args.one_of("mode", &["reduced", "complete"])?;
    let whole = args.text("mode")? == "complete";
    let [q, r] = two(cx, "Qr", x, &[("full_matrices", Attr::Bool(whole))])?;
    results(cx, &[Some(q), Some(r)])
}

/// GE reads the lower triangle.
fn eigen(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "A UPLO=L compute_v=true")?;
    let x = matrix(cx, &args, "A")?;
    args.one_of("UPLO", &["L", "U"])?;
    let read = if args.text("UPLO")? == "U" { turned(cx, x)? } else { x };
    let vectors = args.flag("compute_v")?;
    let [values, of] = two(cx, "SelfAdjointEig", read, &[("compute_v", Attr::Bool(vectors))])?;
    results(cx, &[Some(values), vectors.then_some(of)])
}

fn is_complex(dtype: DataType) -> bool {
    matches!(dtype, DataType::Complex32 | DataType::Complex64 | DataType::Complex128)
}

/// GE gives the right vectors as columns, PyTorch as rows.
fn singular(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "A full_matrices=false compute_uv=true driver")?;
    let x = matrix(cx, &args, "A")?;
    let (whole, vectors, rank) = (args.flag("full_matrices")?, args.flag("compute_uv")?, cx.rank(x)?);
    if vectors && is_complex(cx.dtype(x)) {
        return Err(Refusal("vectors of complex numbers are not supported".into()));
    }
    let attrs = [("compute_uv", Attr::Bool(vectors)), ("full_matrices", Attr::Bool(whole && vectors))];
    let made = cx.b.many("Svd", vec![In::from(x)], &attrs, None)?;
    let [sigma, u, v] = <[TensorId; 3]>::try_from(made).map_err(|_| Refusal("three results were expected".into()))?;
    if !vectors {
        return results(cx, &[None, Some(sigma), None]);
    }
    let v = turned_of(cx, v, rank)?;
    results(cx, &[Some(u), Some(sigma), Some(v)])
}
