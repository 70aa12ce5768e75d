//! Transposed weights that are seen as another type: where the product can transpose, it does; else the transposition comes after.
//!
//! Only a Transpose and a Bitcast that nothing else reads are moved.

use super::cleanup::Work;
use super::draft::Source;
use super::proto::Value;

/// Products, the slots of their scales, and the attribute that transposes the weight in slot 1.
const TRANSPOSING: [(&str, &[usize], &str); 3] = [
    ("GroupedMatmul", &[5, 3], "transpose_weight"),
    ("QuantBatchMatmulV4", &[4], "transpose_x2"),
    ("GroupedMatmulFinalizeRouting", &[2], "transpose_w"),
];

/// A Bitcast of a Transpose, by their places.
#[derive(Clone, Copy)]
struct Seen {
    bitcast: usize,
    transpose: usize,
}

impl Work {
    /// Folds transpositions of weight and scale into the product, and moves those of a weight alone behind its Bitcast.
    pub(super) fn move_weight_transposes(&mut self) {
        let products: Vec<usize> = (0..self.ops.len()).filter(|at| self.is_product(*at)).collect();
        if products.is_empty() {
            return;
        }
        for at in products {
            let weight = self.seen(at, 1);
            match (TRANSPOSING.iter().find(|(k, ..)| *k == self.kind(at)), weight) {
                (Some((_, slots, attribute)), Some(weight)) => {
                    if let Some(scale) = slots.iter().find_map(|slot| self.seen(at, *slot)) {
                        if let Some(op) = self.ops.get_mut(at) {
                            op.attrs.insert(*attribute, Value::B(true));
                        }
                        self.fold(weight);
                        self.fold(scale);
                    }
                }
                (None, Some(weight)) => self.swap(at, weight),
                _ => {}
            }
        }
    }

    fn is_product(&self, at: usize) -> bool {
        let kind = self.kind(at);
        kind == "QuantBatchMatmulV3" || TRANSPOSING.iter().any(|(k, ..)| *k == kind)
    }

    fn kind(&self, at: usize) -> &'static str {
        self.ops.get(at).filter(|op| !op.is_gone).map_or("", |op| op.kind)
    }

    /// Returns the Bitcast of a Transpose that feeds a slot, if only that slot reads them.
    fn seen(&self, at: usize, slot: usize) -> Option<Seen> {
        let producer = |at: usize, slot: usize, kind: &str| {
            let input = self.ops.get(at)?.data_inputs().nth(slot)?;
            let Source::Data(place, _) = input else { return None };
            let readers = || self.live().flat_map(|op| &op.inputs).filter(|i| **i == input).count();
            (self.kind(place) == kind && readers() == 1).then_some(place)
        };
        let bitcast = producer(at, slot, "Bitcast")?;
        let transpose = producer(bitcast, 0, "Transpose")?;
        Some(Seen { bitcast, transpose })
    }

    /// Takes the Transpose out, and its permutation if nothing else reads that.
    fn fold(&mut self, seen: Seen) {
        let Some(source) = self.ops.get(seen.transpose).and_then(|op| op.inputs.first()).copied() else { return };
        if let Some(input) = self.ops.get_mut(seen.bitcast).and_then(|op| op.inputs.first_mut()) {
            *input = source;
        }
        let perm = self.ops.get(seen.transpose).and_then(|op| op.inputs.get(1)).copied();
        self.take_out(seen.transpose);
        if let Some(perm @ Source::Data(constant, _)) = perm
            && !self.live().any(|op| op.inputs.contains(&perm))
        {
            self.take_out(constant);
        }
    }

    fn swap(&mut self, product: usize, seen: Seen) {
        let (bitcast, transpose) = (Source::Data(seen.bitcast, 0), Source::Data(seen.transpose, 0));
        let Some(source) = self.ops.get(seen.transpose).and_then(|op| op.inputs.first()).copied() else { return };
        for (at, old, new) in
            [(seen.bitcast, transpose, source), (product, bitcast, transpose), (seen.transpose, source, bitcast)]
        {
            if let Some(input) = self.ops.get_mut(at).and_then(|op| op.inputs.iter_mut().find(|i| **i == old)) {
                *input = new;
            }
        }
    }
}
