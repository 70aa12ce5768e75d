//! Triangles and diagonals of matrices.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::view::fresh;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::fill;
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (|cx| kept(cx, Side::Lower), &["aten.tril.default"]),
    (|cx| kept(cx, Side::Upper), &["aten.triu.default"]),
    (|cx| indices(cx, Side::Lower), &["aten.tril_indices.default"]),
    (|cx| indices(cx, Side::Upper), &["aten.triu_indices.default"]),
    (diag, &["aten.diag.default"]),
    (diag_embed, &["aten.diag_embed.default"]),
];

/// Which part of a matrix is kept.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Lower,
    Upper,
}

impl Side {
    /// Returns the columns of a row that belong to the part.
    fn columns(self, row: usize, columns: usize, diagonal: i64) -> std::ops::Range<usize> {
        let row = i64::try_from(row).unwrap_or(i64::MAX);
        let place = |k: i64| usize::try_from(k.max(0)).unwrap_or(usize::MAX).min(columns);
        match self {
            Side::Lower => 0..place(row.saturating_add(diagonal).saturating_add(1)),
            Side::Upper => place(row.saturating_add(diagonal))..columns,
        }
    }
}

fn kept(cx: &mut Cx<'_, '_, '_>, side: Side) -> Made {
    let (t, meta, diagonal) = (cx.tensor(0)?, cx.meta()?, cx.int(1)?);
    let Some(d) = t.rank().checked_sub(2) else {
        return Err(cx.bad(0, "2 or more dimensions", t.rank().to_string()));
    };
    let (rows, columns) = (t.meta.size(d), t.meta.size(d.saturating_add(1)));
    with_width!(t.dtype().bytes(), U => {
        let mut values = t.raw::<U>()?.into_vec();
        for (k, row) in values.chunks_mut(columns.max(1)).enumerate() {
            let inside = side.columns(k.checked_rem(rows).unwrap_or(0), columns, diagonal);
            if let Some(before) = row.get_mut(..inside.start.min(columns)) {
                before.fill(U::default());
            }
            if let Some(after) = row.get_mut(inside.end..) {
                after.fill(U::default());
            }
        }
        fill::from_raw(&meta, values, cx.meter()).map(Value::Tensor)
    })
}

/// The rows of all places of the part, then their columns.
#[allow(clippy::cast_possible_wrap)]
fn indices(cx: &mut Cx<'_, '_, '_>, side: Side) -> Made {
    let size = |i: usize| -> Result<usize, CallFault> {
        let n = cx.int(i)?;
        usize::try_from(n).map_err(|_| cx.bad(i, "0 or more", n.to_string()))
    };
    let (rows, columns, diagonal) = (size(0)?, size(1)?, cx.int(2)?);
    let (mut all, mut across) = (Vec::new(), Vec::new());
    for row in 0..rows {
        for column in side.columns(row, columns, diagonal) {
            all.push(row as i64);
            across.push(column as i64);
        }
    }
    all.append(&mut across);
    cx.emit(all)
}

/// Returns the view along a diagonal.
fn along(cx: &mut Cx<'_, '_, '_>, t: &Tensor, args: [i64; 3]) -> Result<Tensor, CallFault> {
    let mut values = vec![Value::Tensor(t.clone())];
    values.extend(args.map(Value::Int));
    cx.run_tensor("aten.diagonal.default", &values)
}

fn diag(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, offset) = (cx.tensor(0)?, cx.int(1)?);
    if t.rank() != 1 {
        let seen = along(cx, t, [offset, 0, 1])?;
        return Ok(fresh(cx, 0, &seen)?.into());
    }
    let out = cx.zeros(0)?;
    along(cx, &out, [offset, 0, 1])?.copy_from(t)?;
    Ok(out.into())
}

fn diag_embed(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, out) = (cx.tensor(0)?, cx.zeros(0)?);
    let args = [cx.int(1)?, cx.int(2)?, cx.int(3)?];
    along(cx, &out, args)?.copy_from(t)?;
    Ok(out.into())
}
