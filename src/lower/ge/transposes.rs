//! Transposed weights that are seen as another type: where the product can transpose, it does; else the transposition comes after.
//!
//! Only a Transpose and a Bitcast that nothing else reads are moved.

use std::collections::HashMap;

use super::cleanup::Work;
use super::proto::{Value, edge};

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
            let kind = self.ops.get(at).map(|op| op.r#type.clone()).unwrap_or_default();
            let weight = self.seen(at, 1);
            match (TRANSPOSING.iter().find(|(k, ..)| *k == kind), weight) {
                (Some((_, slots, attribute)), Some(weight)) => {
                    if let Some(scale) = slots.iter().find_map(|slot| self.seen(at, *slot)) {
                        if let Some(op) = self.ops.get_mut(at) {
                            op.attr.insert((*attribute).into(), Value::B(true).into());
                        }
                        self.fold(weight);
                        self.fold(scale);
                    }
                }
                (None, Some(weight)) => self.swap(at, weight),
                _ => {}
            }
        }
        let gone = std::mem::take(&mut self.gone);
        self.ops.retain(|op| !gone.contains(&op.name));
    }

    fn is_product(&self, at: usize) -> bool {
        let kind = self.ops.get(at).map_or("", |op| op.r#type.as_str());
        kind == "QuantBatchMatmulV3" || TRANSPOSING.iter().any(|(k, ..)| *k == kind)
    }

    /// Returns the Bitcast of a Transpose that feeds a slot, if only that slot reads them.
    fn seen(&self, at: usize, slot: usize) -> Option<Seen> {
        let places: HashMap<&str, usize> = self.ops.iter().enumerate().map(|(i, op)| (op.name.as_str(), i)).collect();
        let producer = |at: usize, slot: usize, kind: &str| {
            let input = self.ops.get(at)?.data_inputs().nth(slot)?;
            let place = *places.get(edge(input)?.0)?;
            let readers = self.ops.iter().flat_map(|op| &op.input).filter(|i| *i == input).count();
            (self.ops.get(place)?.r#type == kind && readers == 1).then_some(place)
        };
        let bitcast = producer(at, slot, "Bitcast")?;
        let transpose = producer(bitcast, 0, "Transpose")?;
        Some(Seen { bitcast, transpose })
    }

    /// Takes the Transpose out, and its permutation if nothing else reads that.
    fn fold(&mut self, seen: Seen) {
        let Some(source) = self.ops.get(seen.transpose).and_then(|op| op.input.first()).cloned() else { return };
        if let Some(input) = self.ops.get_mut(seen.bitcast).and_then(|op| op.input.first_mut()) {
            *input = source;
        }
        let inputs = self.ops.get_mut(seen.transpose).map(|op| std::mem::take(&mut op.input)).unwrap_or_default();
        self.gone.extend(self.ops.get(seen.transpose).map(|op| op.name.clone()));
        if let Some(perm) = inputs.get(1)
            && !self.ops.iter().any(|op| op.input.contains(perm))
        {
            self.gone.extend(edge(perm).map(|(name, _)| name.to_string()));
        }
    }

    fn swap(&mut self, product: usize, seen: Seen) {
        let name = |at: usize| self.ops.get(at).map(|op| format!("{}:0", op.name)).unwrap_or_default();
        let (bitcast, transpose) = (name(seen.bitcast), name(seen.transpose));
        let Some(source) = self.ops.get(seen.transpose).and_then(|op| op.input.first()).cloned() else { return };
        for (at, old, new) in [
            (seen.bitcast, transpose.clone(), source.clone()),
            (product, bitcast.clone(), transpose),
            (seen.transpose, source, bitcast),
        ] {
            if let Some(input) = self.ops.get_mut(at).and_then(|op| op.input.iter_mut().find(|i| **i == old)) {
                *input = new;
            }
        }
    }
}
