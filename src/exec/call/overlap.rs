//! Overlap of memory: which written tensors PyTorch's pointwise operators refuse.
//!
//! Promises: what is refused is what `TensorIterator` refuses: a written tensor with an element that stands for several, and an
//! operand that covers a part of the written memory, both dense. It leaves overlap that is hard to tell alone, as PyTorch does.

use crate::exec::call::cx::Cx;
use crate::exec::tensor::Tensor;
use crate::ops::CallFault;

/// Checks that argument `written` overlaps neither itself nor, in part, another tensor of the call.
pub fn check_written(cx: &Cx<'_, '_, '_>, written: usize) -> Result<(), CallFault> {
    let target = cx.tensor(written)?;
    if overlaps_itself(target) {
        let found = format!("sizes {:?} with strides {:?}", target.meta.sizes, target.meta.strides);
        return Err(cx.bad(written, "a tensor each of whose elements has its own memory (clone it first)", found));
    }
    let params = cx.call.operator.schema.params.len();
    let others = (0..params).filter(|i| *i != written).filter_map(|i| cx.tensor(i).ok());
    for other in others {
        if overlaps_partly(target, other) {
            return Err(cx.bad(
                written,
                "memory of its own, or all of an operand's",
                "memory that an operand shares in part",
            ));
        }
    }
    Ok(())
}

/// Returns whether one element of memory surely stands for several of the tensor.
pub fn overlaps_itself(t: &Tensor) -> bool {
    let repeated = |(size, stride): (&usize, &usize)| *size > 1 && *stride == 0;
    t.numel() > 0 && !t.meta.is_dense() && t.meta.sizes.iter().zip(&t.meta.strides).any(repeated)
}

/// Returns whether two dense tensors share memory, but are not the same view of it.
pub fn overlaps_partly(a: &Tensor, b: &Tensor) -> bool {
    if !a.shares_storage(b) || a.numel() == 0 || b.numel() == 0 || !a.meta.is_dense() || !b.meta.is_dense() {
        return false;
    }
    let range = |t: &Tensor| {
        let start = t.meta.offset.saturating_mul(t.dtype().bytes());
        start..start.saturating_add(t.byte_count())
    };
    let (one, other) = (range(a), range(b));
    if one == other {
        return a.meta.strides != b.meta.strides;
    }
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::tensor::Meta;
    use crate::exec::tensor::storage::{Meter, Storage};
    use crate::graph::Dtype;

    fn views(metas: [(&[usize], &[usize], usize); 2]) -> [Tensor; 2] {
        let storage = Storage::new(vec![0_f32; 8], &Meter::default());
        metas.map(|(sizes, strides, offset)| {
            let meta = Meta { dtype: Dtype::F32, sizes: sizes.into(), strides: strides.into(), offset };
            Tensor::new(meta, storage.clone()).unwrap()
        })
    }

    #[test]
    fn shifted_and_transposed_views_overlap_in_part_the_same_view_does_not() {
        let [a, b] = views([(&[4], &[1], 0), (&[4], &[1], 1)]);
        assert!(overlaps_partly(&a, &b));
        let [a, b] = views([(&[2, 2], &[2, 1], 0), (&[2, 2], &[1, 2], 0)]);
        assert!(overlaps_partly(&a, &b) && !overlaps_partly(&a, &a));
        let [a, b] = views([(&[4], &[1], 0), (&[4], &[1], 4)]);
        assert!(!overlaps_partly(&a, &b));
    }

    #[test]
    fn expanded_tensors_overlap_themselves_dense_ones_do_not() {
        let [a, b] = views([(&[4], &[0], 0), (&[1, 4], &[0, 1], 0)]);
        assert!(overlaps_itself(&a) && !overlaps_itself(&b));
    }
}
