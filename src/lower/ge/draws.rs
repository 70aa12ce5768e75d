//! Random numbers: the seed is a constant, the offsets of all draws are one input of the host, which one Unpack hands out.
//!
//! The host advances the generator by what the draws use up; here only their number counts.

use super::builder::{Attr, Builder, In, Refusal};
use super::draft::Desc;
use super::literal::Literal;
use super::proto::{DataType, Value as Pb};
use super::value::TensorId;

/// The operators that hand out random states.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws {
    seed: TensorId,
    data: usize,
    unpack: usize,
    count: usize,
}

impl Builder {
    /// Returns seed and offset of one more random operator.
    pub(super) fn draw(&mut self) -> Result<(TensorId, TensorId), Refusal> {
        let mut draws = match self.draws {
            Some(draws) => draws,
            None => self.first_draw()?,
        };
        let place = draws.count;
        draws.count = place.saturating_add(1);
        self.draws = Some(draws);
        let count = i64::try_from(draws.count).unwrap_or(i64::MAX);
        if let Some(data) = self.ops.get_mut(draws.data) {
            for desc in data.takes.iter_mut().chain(&mut data.gives) {
                desc.shape = Some([count].into());
            }
        }
        if let Some(unpack) = self.ops.get_mut(draws.unpack) {
            unpack.attrs.insert("num", Pb::I(count));
            if place > 0 {
                unpack.gives.push(Desc::named(format!("y{place}")));
            }
        }
        Ok((draws.seed, self.output(draws.unpack, place)))
    }

    fn first_draw(&mut self) -> Result<Draws, Refusal> {
        let seed = self.constant(&Literal::Int(self.seed), Some(DataType::Int64))?;
        // Its index is closed up with the others at the end.
        let offsets = self.data(Some("offset_list"), usize::MAX, DataType::Int64, vec![1], true);
        let data = self.ops.len().saturating_sub(1);
        self.many("Unpack", vec![In::Tensor(offsets)], &[("num", Attr::Int(1))], Some(1))?;
        Ok(Draws { seed, data, unpack: self.ops.len().saturating_sub(1), count: 0 })
    }

    /// Returns the input that holds the offsets.
    pub(super) fn offsets(&self) -> Option<usize> {
        self.draws.map(|draws| draws.data)
    }
}
