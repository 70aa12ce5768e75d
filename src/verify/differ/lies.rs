//! How inputs lie in memory of whose strides nobody says anything: row by row, and in other ways in which PyTorch's operators leave tensors.
//!
//! Promises: strides of one input, never negative; elements of an expanded input are one element, all others lie apart. Leaves which inputs these
//! are to `run`: those whose type has no strides, where the host says that inputs lie anyhow.

/// How the elements of inputs lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lies {
    /// Row by row.
    #[default]
    Contiguous,
    /// Column by column: the transpose of what lies row by row.
    Transposed,
    /// The second dimension innermost.
    ChannelsLast,
    /// Along the first dimension that has several, all elements are one.
    Expanded,
    /// Every second element of what lies row by row.
    Spaced,
}

impl Lies {
    /// The ways beside row by row, the telling ones first.
    pub const OTHERS: [Lies; 4] = [Lies::Transposed, Lies::Expanded, Lies::Spaced, Lies::ChannelsLast];

    /// Returns the strides of a tensor of these sizes.
    pub fn strides(self, sizes: &[usize]) -> Vec<usize> {
        let inwards: Vec<usize> = (0..sizes.len()).rev().collect();
        match self {
            Lies::Contiguous => packed(sizes, inwards, 1),
            Lies::Transposed => packed(sizes, (0..sizes.len()).collect(), 1),
            Lies::ChannelsLast if sizes.len() > 2 => {
                packed(sizes, std::iter::once(1).chain(inwards.into_iter().filter(|d| *d != 1)).collect(), 1)
            }
            Lies::ChannelsLast => packed(sizes, inwards, 1),
            Lies::Spaced => packed(sizes, inwards, 2),
            Lies::Expanded => {
                let several = sizes.iter().position(|n| *n > 1);
                let once: Vec<usize> =
                    sizes.iter().enumerate().map(|(d, n)| if Some(d) == several { 1 } else { *n }).collect();
                let mut strides = packed(&once, inwards, 1);
                if let Some(stride) = several.and_then(|d| strides.get_mut(d)) {
                    *stride = 0;
                }
                strides
            }
        }
    }
}

/// Strides of a tensor whose dimensions are laid in this order, the innermost first.
fn packed(sizes: &[usize], order: Vec<usize>, innermost: usize) -> Vec<usize> {
    let mut strides = vec![0; sizes.len()];
    let mut next = innermost;
    for dim in order {
        if let (Some(stride), Some(size)) = (strides.get_mut(dim), sizes.get(dim)) {
            *stride = next;
            next = next.saturating_mul((*size).max(1));
        }
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_those_that_operators_of_pytorch_leave() {
        let of = |lies: Lies, sizes: &[usize]| lies.strides(sizes);
        assert_eq!(of(Lies::Contiguous, &[2, 3, 4]), [12, 4, 1]);
        assert_eq!(of(Lies::Transposed, &[3, 4]), [1, 3]);
        assert_eq!(of(Lies::ChannelsLast, &[2, 3, 4, 5]), [60, 1, 15, 3]);
        assert_eq!(of(Lies::Expanded, &[1, 3, 4]), [4, 0, 1]);
        assert_eq!(of(Lies::Spaced, &[3, 4]), [8, 2]);
    }

    #[test]
    fn a_tensor_of_no_dimension_or_no_element_has_strides() {
        for lies in Lies::OTHERS {
            assert!(lies.strides(&[]).is_empty());
            assert_eq!(lies.strides(&[0, 2]).len(), 2);
        }
    }
}
