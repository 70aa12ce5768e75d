//! Slopes between neighbours along dimensions.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[(
    Real,
    slopes,
    &[
        "aten.gradient.scalarint",
        "aten.gradient.scalararray",
        "aten.gradient.array",
        "aten.gradient.scalarrayint",
        "aten.gradient.scalarrayarray",
    ],
)];

/// The dimensions that are asked for: all of them where none is.
fn dimensions(b: &Builder<'_>, rank: usize) -> Result<Vec<i64>, CallFault> {
    match b.arg("dim") {
        Arg::None => Ok(range(rank)),
        Arg::Int(_) => Ok(vec![b.axis("dim", rank)?]),
        list if list.items().is_some_and(<[Arg]>::is_empty) => Ok(Vec::new()),
        _ => b.axes("dim", rank),
    }
}

/// How far neighbours are apart: one number for all dimensions, or one each.
fn spacing(b: &Builder<'_>, count: usize) -> Result<Vec<f64>, CallFault> {
    let number = |a: &Arg| match a {
        #[allow(clippy::cast_precision_loss)] // A distance.
        Arg::Int(n) => Ok(*n as f64),
        Arg::Float(v) => Ok(*v),
        _ => Err(b.unsupported("a distance that is not known")),
    };
    if b.operator().schema.param_index("spacing").is_none() {
        return Ok(vec![1.0; count]);
    }
    let given = b.arg("spacing");
    match &given {
        Arg::None => Ok(vec![1.0; count]),
        list if list.items().is_some() => {
            let all = list.items().unwrap_or_default().iter().map(number).collect::<Result<Vec<_>, _>>()?;
            b.only(all.len() == count, "distances of another number of dimensions")?;
            Ok(all)
        }
        one => Ok(vec![number(one)?; count]),
    }
}

/// Within by both neighbours, at the ends by the nearest one, or two.
fn slopes(b: &Builder<'_>) -> Made {
    let (x, order) = (b.t(0)?, b.int("edge_order")?);
    b.only(x.dtype().is_float() && matches!(order, 1 | 2), "integers, or another order")?;
    let axes = dimensions(b, x.rank())?;
    let mut all = Vec::new();
    for (axis, apart) in axes.iter().zip(spacing(b, axes.len())?) {
        let length = x.fixed(*axis)?;
        b.only(length > order, "too few elements")?;
        let at = |k: i64| x.slice(*axis, k, k.saturating_add(1)).id();
        let end = |near: i64, next: i64, far: i64| {
            if order == 1 {
                return (b.value(at(next)) - b.value(at(near))).id();
            }
            (b.value(at(near)) * -1.5 + b.value(at(next)) * 2.0 - b.value(at(far)) * 0.5).id()
        };
        let back = |k: i64| length.saturating_sub(k);
        let first = b.value(end(0, 1, 2)) / apart;
        let last = -(b.value(end(back(1), back(2), back(3))) / apart);
        let within = (x.slice(*axis, 2, length) - x.slice(*axis, 0, back(2))) / apart / 2;
        let parts: Arg = Arg::list([first.id(), within.id(), last.id()]);
        all.push(Arg::from(b.op("cat", args![parts, *axis])));
    }
    Ok(vec![Arg::List(all.into())])
}
