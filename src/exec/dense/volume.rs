//! Images and weights: five sizes (batch, channels, depth, height, width), any strides, checked when they are made.

use super::DenseError;

/// Tensor of (batch, channels, up to three spatial sizes) that is read; any strides (0 repeats).
#[derive(Clone, Copy, Debug)]
pub struct Volume<'a, T> {
    data: &'a [T],
    pub(super) sizes: [usize; 5],
    pub(super) strides: [usize; 5],
}

/// How a dense result lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Batch, channels, spatial sizes; the last fastest.
    ChannelsFirst,
    /// Batch, spatial sizes, channels.
    ChannelsLast,
}

impl<'a, T> Volume<'a, T> {
    /// A tensor of 3 to 5 sizes: the first two are batch and channels (of a weight: output and input channels).
    pub fn new(data: &'a [T], sizes: &[usize], strides: &[usize]) -> Result<Self, DenseError> {
        let refused = || DenseError::Layout { sizes: sizes.to_vec(), strides: strides.to_vec(), elements: data.len() };
        let (all, steps) = match (five(sizes, 1), five(strides, 0)) {
            (Some(all), Some(steps)) if sizes.len() == strides.len() => (all, steps),
            _ => return Err(refused()),
        };
        if !all.contains(&0) {
            let last = all
                .iter()
                .zip(&steps)
                .try_fold(0_usize, |last, (size, stride)| last.checked_add(size.checked_sub(1)?.checked_mul(*stride)?));
            if last.is_none_or(|last| last >= data.len()) {
                return Err(refused());
            }
        }
        Ok(Self { data, sizes: all, strides: steps })
    }

    /// The tensor whose elements lie in order.
    pub fn contiguous(data: &'a [T], sizes: &[usize]) -> Result<Self, DenseError> {
        let mut strides = vec![0; sizes.len()];
        let mut stride = 1_usize;
        for (to, size) in strides.iter_mut().zip(sizes).rev() {
            *to = stride;
            stride = stride.saturating_mul((*size).max(1));
        }
        Self::new(data, sizes, &strides)
    }

    /// The elements from a position on: the first is the element at `index`; nothing if it is outside.
    #[inline]
    pub(super) fn from(&self, index: [usize; 5]) -> &'a [T] {
        let at = index.iter().zip(&self.strides).fold(0_usize, |at, (i, s)| at.saturating_add(i.saturating_mul(*s)));
        self.data.get(at..).unwrap_or(&[])
    }

    /// The stride of one running spatial index, if the three spatial sizes can be walked by one.
    pub(super) fn spatial_stride(&self) -> Option<usize> {
        let [_, _, d, h, w] = self.sizes;
        let [_, _, sd, sh, sw] = self.strides;
        let rows = h == 1 || sh == w.saturating_mul(sw);
        let planes = d == 1 || sd == h.saturating_mul(w).saturating_mul(sw);
        // A single column is walked by its rows' stride.
        match (rows && planes, w, h, d) {
            (_, 1, 1, _) => Some(sd.max(1)),
            (_, 1, _, 1) => Some(sh),
            (true, ..) => Some(sw),
            _ => None,
        }
    }
}

/// Batch and channels, then the spatial values, right-aligned in three.
fn five(values: &[usize], fill: usize) -> Option<[usize; 5]> {
    let [batch, channels, spatial @ ..] = values else { return None };
    let mut all = [*batch, *channels, fill, fill, fill];
    if spatial.is_empty() || spatial.len() > 3 {
        return None;
    }
    for (to, &value) in all.iter_mut().rev().zip(spatial.iter().rev()) {
        *to = value;
    }
    Some(all)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_stays_within_its_slice() {
        let data = [0_u8; 24];
        assert!(Volume::contiguous(&data, &[1, 2, 3, 4]).is_ok());
        assert!(Volume::contiguous(&data, &[1, 2, 3, 5]).is_err());
        assert!(Volume::new(&data, &[1, 2, 3, 4], &[0, 1, 8, 2]).is_ok());
        assert!(Volume::new(&data, &[1, 2, 3, 4], &[0, 2, 8, 2]).is_err());
        assert!(Volume::new(&data, &[1, 2], &[1, 1]).is_err());
        assert!(Volume::new(&data, &[0, 2, 9], &[99, 99, 99]).is_ok());
        assert!(Volume::new(&data, &[2, 2, usize::MAX], &[1, 1, 2]).is_err());
    }

    #[test]
    fn spatial_sizes_are_walked_by_one_stride_where_they_can() {
        let data = [0_u8; 48];
        let stride = |sizes: &[usize], strides: &[usize]| Volume::new(&data, sizes, strides).unwrap().spatial_stride();
        assert_eq!(stride(&[1, 2, 3, 4], &[24, 12, 4, 1]), Some(1));
        assert_eq!(stride(&[1, 2, 3, 4], &[24, 1, 8, 2]), Some(2));
        assert_eq!(stride(&[1, 2, 3, 4], &[24, 12, 5, 1]), None);
        assert_eq!(stride(&[1, 2, 3, 1], &[24, 12, 4, 4]), Some(4));
    }
}
