//! Linear algebra that has another form in PyTorch.

use super::{Call, Made, Table, one, undefined};
use crate::graph::Arg;

pub(super) const TABLE: Table = &[("MatrixTriangularSolve", triangular), ("Svd", singular)];

/// GE says which triangle is read as the lower one.
fn triangular(c: &mut Call<'_, '_>) -> Made {
    c.only(!c.flag("adjoint")?, "the adjoint of a matrix")?;
    let (matrix, rhs, lower) = (c.t("matrix")?, c.t("rhs")?, c.flag("lower")?);
    let named = vec![("upper", Arg::Bool(!lower))];
    one(c.b.call_with("aten.linalg_solve_triangular.default", vec![Arg::Node(matrix), Arg::Node(rhs)], named)?)
}

/// Singular values first, then the vectors of both sides as columns.
fn singular(c: &mut Call<'_, '_>) -> Made {
    let (x, whole, vectors) = (c.t("x")?, c.flag("full_matrices")?, c.flag("compute_uv")?);
    let rank = c.b.tensor(x)?.rank();
    let Some(last) = rank.checked_sub(1).and_then(|r| i64::try_from(r).ok()) else {
        return undefined("a matrix of no dimension");
    };
    let args = vec![Arg::Node(x), Arg::Bool(whole), Arg::Bool(vectors)];
    let made = c.b.call_with("aten._linalg_svd.default", args, Vec::new())?;
    let sigma = c.b.item(made, 1)?;
    if !vectors {
        return Ok(vec![Some(sigma.into()), None, None]);
    }
    let (left, right) = (c.b.item(made, 0)?, c.b.item(made, 2)?);
    // PyTorch's rows are the conjugates of GE's columns.
    c.only(!c.b.dtype(x)?.is_complex(), "vectors of complex numbers")?;
    let right =
        c.b.call("aten.transpose.int", vec![Arg::Node(right), Arg::Int(last), Arg::Int(last.saturating_sub(1))])?;
    Ok(vec![Some(sigma.into()), Some(left.into()), Some(right.into())])
}
