//! Fourier transforms of the last dimension, or of the last two, not normalized but for those that go back.

use super::{Call, Made, Table, one};
use crate::graph::{Arg, NodeId};

pub(super) const TABLE: Table =
    &[("FFT", forward), ("FFT2D", of_planes), ("IFFT", back), ("RFFT", of_reals), ("IRFFT", to_reals)];

const NOTHING: i64 = 0;
const BY_COUNT: i64 = 2;

fn last(c: &Call<'_, '_>, x: NodeId) -> Result<Arg, super::Undefined> {
    Ok(Arg::list([super::build::signed(c.b.rank(x)?).saturating_sub(1)]))
}

fn forward(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let args = vec![Arg::Node(x), last(c, x)?, Arg::Int(NOTHING), Arg::Bool(true)];
    one(c.b.call("aten._fft_c2c.default", args)?)
}

fn of_planes(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let rank = super::build::signed(c.b.rank(x)?);
    c.only(rank >= 2, "an operand of fewer than two dimensions")?;
    let dims = Arg::list([rank.saturating_sub(2), rank.saturating_sub(1)]);
    let args = vec![Arg::Node(x), dims, Arg::Int(NOTHING), Arg::Bool(true)];
    one(c.b.call("aten._fft_c2c.default", args)?)
}

fn back(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let args = vec![Arg::Node(x), last(c, x)?, Arg::Int(BY_COUNT), Arg::Bool(false)];
    one(c.b.call("aten._fft_c2c.default", args)?)
}

/// The length may differ from that of the operand, which is then cut or filled up: not said here.
fn of_reals(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("input")?;
    let length = c.one_int("fft_length")?;
    let own = c.b.tensor(x)?.sizes.last().and_then(|d| d.fixed());
    c.only(own == Some(length), "a length that is not the operand's")?;
    let args = vec![Arg::Node(x), last(c, x)?, Arg::Int(NOTHING), Arg::Bool(true)];
    one(c.b.call("aten._fft_r2c.default", args)?)
}

fn to_reals(c: &mut Call<'_, '_>) -> Made {
    let x = c.t("x")?;
    let length = c.one_int("fft_length")?;
    let own = c.b.tensor(x)?.sizes.last().and_then(|d| d.fixed());
    c.only(own == Some(length.div_euclid(2).saturating_add(1)), "a length that is not the operand's")?;
    let args = vec![Arg::Node(x), last(c, x)?, Arg::Int(BY_COUNT), Arg::Int(length)];
    one(c.b.call("aten._fft_c2r.default", args)?)
}
