//! The loss of connectionist temporal classification, by what each sequence costs.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[(Real, loss, &["aten.ctc_loss.IntList"])];

fn loss(b: &Builder<'_>) -> Made {
    let (x, lengths) = (b.t("log_probs")?, b.ints("target_lengths")?);
    b.only(x.rank() == 3, "a sequence without batch")?;
    let endless = b.flag("zero_infinity")?;
    let given = args![x, b.t("targets")?, b.arg("input_lengths"), b.arg("target_lengths"), b.arg("blank"), endless];
    let mut cost = b.pick("_ctc_loss", given, 0);
    if endless {
        cost = cost.fill_where(cost.call("eq", args![f64::INFINITY]), 0);
    }
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    match b.int("reduction")? {
        0 => done![cost],
        2 => done![cost.op("sum.default")],
        1 => {
            let each: Vec<Arg> = lengths.iter().map(|n| Arg::Int((*n).max(1))).collect();
            let each: Vec<Arg> = each
                .into_iter()
                .map(|n| {
                    b.op("full", args![Vec::<Arg>::new(), n; dtype = cost.dtype(), device = device.clone()]).into()
                })
                .collect();
            done![(cost / b.op("stack", args![each])).op("mean.default")]
        }
        _ => Err(b.unsupported("this reduction")),
    }
}
