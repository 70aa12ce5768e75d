//! Linear algebra: factors, solutions, eigenvalues. What LAPACK fills lies column by column.

use smallvec::smallvec;

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (check_errors, &["aten._linalg_check_errors.default"]),
    (inverse, &["aten.linalg_inv_ex.default"]),
    (solve, &["aten._linalg_solve_ex.default"]),
    (determinant, &["aten._linalg_det.default"]),
    (sign_and_log, &["aten._linalg_slogdet.default"]),
    (lu_factor, &["aten.linalg_lu_factor_ex.default"]),
    (lu, &["aten.linalg_lu.default"]),
    (lu_unpack, &["aten.lu_unpack.default"]),
    (cholesky, &["aten.linalg_cholesky_ex.default"]),
    (triangular, &["aten.linalg_solve_triangular.default"]),
    (qr, &["aten.linalg_qr.default"]),
    (reflections, &["aten.geqrf.default"]),
    (reflected, &["aten.linalg_householder_product.default"]),
    (eigh, &["aten._linalg_eigh.default"]),
    (svd, &["aten._linalg_svd.default"]),
    (exponential, &["aten.linalg_matrix_exp.default"]),
];

/// A stack of matrices of floating point numbers: sizes ahead, rows, columns.
fn matrices<'a>(c: &Call<'a>, i: usize) -> Result<(&'a TensorType, Sizes, Dim, Dim), CallFault> {
    let t = c.tensor(i)?;
    if !matches!(t.dtype, Dtype::F32 | Dtype::F64 | Dtype::C64 | Dtype::C128) {
        return Err(c.bad(i, "f32, f64, c64 or c128", t.dtype.long()));
    }
    match t.sizes.as_slice() {
        [ahead @ .., rows, columns] => Ok((t, ahead.into(), *rows, *columns)),
        found => Err(c.bad(i, "at least 2 dimensions", sizes::show(c.symbols, found))),
    }
}

/// The same, as many rows as columns.
fn square<'a>(c: &Call<'a>, i: usize) -> Result<(&'a TensorType, Sizes, Dim), CallFault> {
    let (t, ahead, rows, columns) = matrices(c, i)?;
    if sizes::differ(c.symbols, rows, columns) {
        return Err(c.bad(i, "as many rows as columns", sizes::show(c.symbols, &t.sizes)));
    }
    Ok((t, ahead, rows))
}

fn joined(ahead: &[Dim], last: &[Dim]) -> Sizes {
    ahead.iter().chain(last).copied().collect()
}

fn real_of(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::C64 => Dtype::F32,
        Dtype::C128 => Dtype::F64,
        other => other,
    }
}

fn rows_of(c: &mut Call<'_>, t: &TensorType, dtype: Dtype, sizes: Sizes) -> Typed {
    out::contiguous(c.symbols, dtype, sizes, t.device.clone())
}

/// Column by column within each matrix.
fn columns_of(c: &mut Call<'_>, t: &TensorType, sizes: Sizes) -> Typed {
    let rank = sizes.len();
    let ahead = rank.saturating_sub(2);
    let strides = layout::dense(c.symbols, &sizes, (ahead..rank).chain((0..ahead).rev()))?;
    Ok(out::strided(t.dtype, sizes, Some(strides), t.device.clone()))
}

fn nothing(c: &mut Call<'_>, t: &TensorType, dtype: Dtype) -> Typed {
    rows_of(c, t, dtype, smallvec![Dim::Fixed(0)])
}

fn check_errors(c: &mut Call<'_>) -> Typed {
    c.tensor(0)?;
    Ok(ValueType::None)
}

fn inverse(c: &mut Call<'_>) -> Typed {
    let (t, ahead, _) = square(c, 0)?;
    Ok(out::many([columns_of(c, t, t.sizes.clone())?, rows_of(c, t, Dtype::I32, ahead)?]))
}

/// Whether the right side is a vector for each matrix.
fn vectors(c: &Call<'_>, a: &TensorType, b: &TensorType) -> bool {
    let without = a.sizes.len().saturating_sub(1);
    b.rank() == 1
        || (b.rank() == without && sizes::all_same(c.symbols, &b.sizes, a.sizes.get(..without).unwrap_or_default()))
}

fn solve(c: &mut Call<'_>) -> Typed {
    let (a, ahead, n) = square(c, 0)?;
    let (b, left) = (c.tensor(1)?, c.bool(2)?);
    if a.dtype != b.dtype {
        return Err(c.bad(1, format!("dtype {}", a.dtype.long()), b.dtype.long()));
    }
    let vector = vectors(c, a, b);
    if vector && !left {
        return Err(c.bad(1, "matrices, as they stand to the left", sizes::show(c.symbols, &b.sizes)));
    }
    let (b_ahead, held): (&[Dim], &[Dim]) = match b.sizes.as_slice() {
        [ahead @ .., _] if vector => (ahead, b.sizes.get(ahead.len()..).unwrap_or_default()),
        [ahead @ .., _, _] => (ahead, b.sizes.get(ahead.len()..).unwrap_or_default()),
        found => return Err(c.bad(1, "at least 2 dimensions", sizes::show(c.symbols, found))),
    };
    let joint = if left { held.first() } else { held.last() };
    if joint.is_none_or(|d| sizes::differ(c.symbols, *d, n)) {
        return Err(c.bad(1, "the size of the matrices", sizes::show(c.symbols, &b.sizes)));
    }
    let shared = out::broadcast(c, 1, &[&ahead, b_ahead])?;
    let result = joined(&shared, held);
    let result = if left { columns_of(c, a, result)? } else { rows_of(c, a, a.dtype, result)? };
    let factors = columns_of(c, a, a.sizes.clone())?;
    let pivots = rows_of(c, a, Dtype::I32, joined(&ahead, &[n]))?;
    Ok(out::many([result, factors, pivots, rows_of(c, a, Dtype::I32, ahead)?]))
}

fn determinant(c: &mut Call<'_>) -> Typed {
    let (t, ahead, n) = square(c, 0)?;
    let result = rows_of(c, t, t.dtype, ahead.clone())?;
    let factors = columns_of(c, t, t.sizes.clone())?;
    Ok(out::many([result, factors, rows_of(c, t, Dtype::I32, joined(&ahead, &[n]))?]))
}

fn sign_and_log(c: &mut Call<'_>) -> Typed {
    let (t, ahead, n) = square(c, 0)?;
    let sign = rows_of(c, t, t.dtype, ahead.clone())?;
    let log = rows_of(c, t, real_of(t.dtype), ahead.clone())?;
    let factors = columns_of(c, t, t.sizes.clone())?;
    Ok(out::many([sign, log, factors, rows_of(c, t, Dtype::I32, joined(&ahead, &[n]))?]))
}

fn lu_factor(c: &mut Call<'_>) -> Typed {
    let (t, ahead, rows, columns) = matrices(c, 0)?;
    let least = sizes::min(c.symbols, rows, columns)?;
    let factors = columns_of(c, t, t.sizes.clone())?;
    let pivots = rows_of(c, t, Dtype::I32, joined(&ahead, &[least]))?;
    Ok(out::many([factors, pivots, rows_of(c, t, Dtype::I32, ahead)?]))
}

fn lu(c: &mut Call<'_>) -> Typed {
    let (t, ahead, rows, columns) = matrices(c, 0)?;
    let least = sizes::min(c.symbols, rows, columns)?;
    let order =
        if c.bool(1)? { rows_of(c, t, t.dtype, joined(&ahead, &[rows, rows]))? } else { nothing(c, t, t.dtype)? };
    let lower = rows_of(c, t, t.dtype, joined(&ahead, &[rows, least]))?;
    Ok(out::many([order, lower, rows_of(c, t, t.dtype, joined(&ahead, &[least, columns]))?]))
}

/// Permutation and factors out of what a factorization leaves; those that are not asked for are empty.
fn lu_unpack(c: &mut Call<'_>) -> Typed {
    let (t, ahead, rows, columns) = matrices(c, 0)?;
    let (pivots, least) = (c.tensor(1)?, sizes::min(c.symbols, rows, columns)?);
    if pivots.dtype != Dtype::I32 {
        return Err(c.bad(1, "dtype torch.int32", pivots.dtype.long()));
    }
    c.need_sizes(1, &joined(&ahead, &[least]))?;
    let (factors, order) = (c.bool(2)?, c.bool(3)?);
    let order = if order { rows_of(c, t, t.dtype, joined(&ahead, &[rows, rows]))? } else { nothing(c, t, t.dtype)? };
    if !factors {
        return Ok(out::many([order, nothing(c, t, t.dtype)?, nothing(c, t, t.dtype)?]));
    }
    let lower = rows_of(c, t, t.dtype, joined(&ahead, &[rows, least]))?;
    Ok(out::many([order, lower, rows_of(c, t, t.dtype, joined(&ahead, &[least, columns]))?]))
}

fn cholesky(c: &mut Call<'_>) -> Typed {
    let (t, ahead, _) = square(c, 0)?;
    Ok(out::many([columns_of(c, t, t.sizes.clone())?, rows_of(c, t, Dtype::I32, ahead)?]))
}

fn triangular(c: &mut Call<'_>) -> Typed {
    let (a, ahead, n) = square(c, 0)?;
    let (b, b_ahead, rows, columns) = matrices(c, 1)?;
    let left = c.bool(3)?;
    if a.dtype != b.dtype {
        return Err(c.bad(1, format!("dtype {}", a.dtype.long()), b.dtype.long()));
    }
    if sizes::differ(c.symbols, if left { rows } else { columns }, n) {
        return Err(c.bad(1, "the size of the matrices", sizes::show(c.symbols, &b.sizes)));
    }
    let shared = out::broadcast(c, 1, &[&ahead, &b_ahead])?;
    columns_of(c, b, joined(&shared, &[rows, columns]))
}

fn qr(c: &mut Call<'_>) -> Typed {
    let (t, ahead, rows, columns) = matrices(c, 0)?;
    let least = sizes::min(c.symbols, rows, columns)?;
    let (inner, whole) = match c.text(1) {
        "reduced" => (least, true),
        "complete" => (rows, true),
        "r" => (least, false),
        other => return Err(c.bad(1, "'reduced', 'complete' or 'r'", format!("'{other}'"))),
    };
    let q = if whole { columns_of(c, t, joined(&ahead, &[rows, inner]))? } else { nothing(c, t, t.dtype)? };
    Ok(out::many([q, columns_of(c, t, joined(&ahead, &[inner, columns]))?]))
}

/// A factor and the reflections that make it, and how much each reflects.
fn reflections(c: &mut Call<'_>) -> Typed {
    let (t, ahead, rows, columns) = matrices(c, 0)?;
    let least = sizes::min(c.symbols, rows, columns)?;
    Ok(out::many([columns_of(c, t, t.sizes.clone())?, rows_of(c, t, t.dtype, joined(&ahead, &[least]))?]))
}

fn reflected(c: &mut Call<'_>) -> Typed {
    let (t, ahead, rows, columns) = matrices(c, 0)?;
    let tau = c.tensor(1)?;
    let wide = sizes::less(c.symbols, rows, columns) == Some(true);
    let fits = match tau.sizes.as_slice() {
        [outer @ .., count] => outer == ahead.as_slice() && sizes::less(c.symbols, columns, *count) != Some(true),
        [] => false,
    };
    if wide || !fits || tau.dtype != t.dtype {
        return Err(c.bad(
            1,
            "at most one number a column, and no more columns than rows",
            sizes::show(c.symbols, &tau.sizes),
        ));
    }
    columns_of(c, t, t.sizes.clone())
}

fn eigh(c: &mut Call<'_>) -> Typed {
    let (t, ahead, n) = square(c, 0)?;
    if !matches!(c.text(1), "L" | "U" | "l" | "u") {
        return Err(c.bad(1, "'L' or 'U'", format!("'{}'", c.text(1))));
    }
    let values = rows_of(c, t, real_of(t.dtype), joined(&ahead, &[n]))?;
    let vectors = if c.bool(2)? { columns_of(c, t, t.sizes.clone())? } else { nothing(c, t, t.dtype)? };
    Ok(out::many([values, vectors]))
}

fn svd(c: &mut Call<'_>) -> Typed {
    let (t, ahead, rows, columns) = matrices(c, 0)?;
    let least = sizes::min(c.symbols, rows, columns)?;
    let (full, vectors) = (c.bool(1)?, c.bool(2)?);
    if !c.is_none(3) {
        return Err(c.bad(3, "None: a driver is CUDA's", c.text(3)));
    }
    let values = rows_of(c, t, real_of(t.dtype), joined(&ahead, &[least]))?;
    if !vectors {
        return Ok(out::many([nothing(c, t, t.dtype)?, values, nothing(c, t, t.dtype)?]));
    }
    let u = columns_of(c, t, joined(&ahead, &[rows, if full { rows } else { least }]))?;
    let v = columns_of(c, t, joined(&ahead, &[if full { columns } else { least }, columns]))?;
    Ok(out::many([u, values, v]))
}

fn exponential(c: &mut Call<'_>) -> Typed {
    let (t, ..) = square(c, 0)?;
    rows_of(c, t, t.dtype, t.sizes.clone())
}
