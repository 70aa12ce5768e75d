//! Sizes of a convolution, checked once.
//!
//! One, two or three spatial dimensions; fewer than three are computed as three with leading sizes of 1. A transposed convolution
//! is described by the convolution whose input gradient it is ([`ConvShape::transposed`]).

use super::DenseError;

/// Stride, padding, dilation (one number for each spatial dimension) and groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvOptions<'a> {
    /// Steps between windows.
    pub stride: &'a [usize],
    /// Zeros on either side.
    pub padding: &'a [usize],
    /// Steps between a window's elements.
    pub dilation: &'a [usize],
    /// Into how many groups the channels are divided.
    pub groups: usize,
}

/// A convolution's sizes: non-zero strides and dilations, channels that the groups divide, an output size for each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvShape {
    pub(super) batch: usize,
    pub(super) groups: usize,
    /// Input channels of a group.
    pub(super) group_in: usize,
    /// Output channels of a group.
    pub(super) group_out: usize,
    pub(super) input: [usize; 3],
    pub(super) kernel: [usize; 3],
    pub(super) output: [usize; 3],
    pub(super) stride: [usize; 3],
    pub(super) padding: [usize; 3],
    pub(super) dilation: [usize; 3],
    /// How many of the three dimensions the caller has.
    pub(super) dims: usize,
    /// How many input channels are summed together, window by window, before the sum is added to that of the channels before.
    pub(super) channel_block: Option<usize>,
}

/// The last three of up to three numbers, with `fill` before.
fn three(what: &'static str, dims: usize, values: &[usize], fill: usize) -> Result<[usize; 3], DenseError> {
    DenseError::expect(what, dims, values.len())?;
    let mut all = [fill; 3];
    for (to, &value) in all.iter_mut().rev().zip(values.iter().rev()) {
        *to = value;
    }
    Ok(all)
}

fn positive(what: &'static str, values: &[usize]) -> Result<(), DenseError> {
    if values.contains(&0) { Err(DenseError::Zero { what }) } else { Ok(()) }
}

/// Windows of a dimension: (input + 2 padding - dilation (kernel - 1) - 1) / stride + 1.
fn windows(input: usize, kernel: usize, stride: usize, padding: usize, dilation: usize) -> Option<usize> {
    let span = dilation.checked_mul(kernel.checked_sub(1)?)?.checked_add(1)?;
    let padded = input.checked_add(padding.checked_mul(2)?)?;
    padded.checked_sub(span)?.checked_div(stride)?.checked_add(1)
}

impl ConvShape {
    /// Sums products in blocks of so many input channels: of a block in the order (depth, height, width, channel). Without it channels
    /// are outermost, and sums come as the product has them. An input whose channels are fastest is summed in its own order.
    #[must_use]
    pub fn in_blocks_of(self, channels: Option<usize>) -> Self {
        Self { channel_block: channels.map(|n| n.clamp(1, self.group_in.max(1))), ..self }
    }

    /// A convolution of an input (batch, channels, spatial sizes) with a weight (output channels, channels of a group, window).
    pub fn new(input: &[usize], weight: &[usize], options: &ConvOptions<'_>) -> Result<Self, DenseError> {
        let dims = spatial_dims(input, weight)?;
        let ([batch, channels, spatial @ ..], [out_channels, group_in, kernel @ ..]) = (input, weight) else {
            return Err(DenseError::Zero { what: "the number of spatial dimensions" });
        };
        let mut shape = Self::unsized_output(dims, *batch, *out_channels, *group_in, kernel, options)?;
        DenseError::expect("the number of input channels", group_in.saturating_mul(shape.groups), *channels)?;
        shape.input = three("the number of input sizes", dims, spatial, 1)?;
        for (axis, out) in shape.output.iter_mut().enumerate() {
            let of = |values: &[usize; 3]| values.get(axis).copied().unwrap_or(1);
            let (input, kernel) = (of(&shape.input), of(&shape.kernel));
            let sizes = windows(input, kernel, of(&shape.stride), of(&shape.padding), of(&shape.dilation));
            *out = sizes.ok_or_else(|| DenseError::Window {
                what: "convolution",
                detail: format!(
                    "a window of {kernel} with dilation {} does not fit an input of {input} padded by {} on either side",
                    of(&shape.dilation),
                    of(&shape.padding)
                ),
            })?;
        }
        shape.bounded()
    }

    /// The convolution whose input gradient is the transposed convolution of an input (batch, channels, spatial sizes) with a
    /// weight (channels, output channels of a group, window). Its own *input* is what the transposed convolution puts out.
    pub fn transposed(
        input: &[usize],
        weight: &[usize],
        output_padding: &[usize],
        options: &ConvOptions<'_>,
    ) -> Result<Self, DenseError> {
        let dims = spatial_dims(input, weight)?;
        let ([batch, channels, spatial @ ..], [in_channels, group_out, kernel @ ..]) = (input, weight) else {
            return Err(DenseError::Zero { what: "the number of spatial dimensions" });
        };
        let mut shape = Self::unsized_output(dims, *batch, *in_channels, *group_out, kernel, options)?;
        DenseError::expect("the number of input channels", *in_channels, *channels)?;
        shape.output = three("the number of input sizes", dims, spatial, 1)?;
        let extra = three("the number of output paddings", dims, output_padding, 0)?;
        for (axis, size) in shape.input.iter_mut().enumerate() {
            let of = |values: &[usize; 3]| values.get(axis).copied().unwrap_or(1);
            *size = transposed_size(
                of(&shape.output),
                of(&shape.kernel),
                of(&shape.stride),
                of(&shape.padding),
                of(&shape.dilation),
            )
            .and_then(|(whole, less)| whole.checked_add(of(&extra))?.checked_sub(less))
            .ok_or_else(|| DenseError::Window {
                what: "transposed convolution",
                detail: format!("an input of {} gives an output of no size", of(&shape.output)),
            })?;
            if of(&extra) >= of(&shape.stride).max(of(&shape.dilation)) {
                return Err(DenseError::Window {
                    what: "transposed convolution",
                    detail: format!(
                        "output padding {} must be smaller than stride {} or dilation {}",
                        of(&extra),
                        of(&shape.stride),
                        of(&shape.dilation)
                    ),
                });
            }
        }
        shape.bounded()
    }

    /// All but the spatial sizes of input and output.
    fn unsized_output(
        dims: usize,
        batch: usize,
        out_channels: usize,
        group_in: usize,
        kernel: &[usize],
        options: &ConvOptions<'_>,
    ) -> Result<Self, DenseError> {
        let group_out =
            out_channels.checked_div(options.groups).ok_or(DenseError::Zero { what: "the number of groups" })?;
        DenseError::expect("the number of output channels", group_out.saturating_mul(options.groups), out_channels)?;
        positive("a stride", options.stride)?;
        positive("a dilation", options.dilation)?;
        Ok(Self {
            batch,
            groups: options.groups,
            group_in,
            group_out,
            input: [1; 3],
            kernel: three("the number of window sizes", dims, kernel, 1)?,
            output: [1; 3],
            stride: three("the number of strides", dims, options.stride, 1)?,
            padding: three("the number of paddings", dims, options.padding, 0)?,
            dilation: three("the number of dilations", dims, options.dilation, 1)?,
            dims,
            channel_block: None,
        })
    }

    /// Itself, if the element counts of input, weight and output are numbers, so that no later product overflows.
    fn bounded(self) -> Result<Self, DenseError> {
        let product = |sizes: &[usize]| sizes.iter().try_fold(1_usize, |p, &s| p.checked_mul(s.max(1)));
        let [id, ih, iw] = self.input;
        let [od, oh, ow] = self.output;
        let [kd, kh, kw] = self.kernel;
        let channels = [self.batch, self.groups, self.group_in, self.group_out];
        let fits = [[id, ih, iw], [od, oh, ow], [kd, kh, kw]].iter().all(|spatial| {
            product(&[product(&channels).unwrap_or(usize::MAX), product(spatial).unwrap_or(usize::MAX)]).is_some()
        });
        if fits {
            Ok(self)
        } else {
            Err(DenseError::Window { what: "convolution", detail: "the number of elements overflows".to_string() })
        }
    }

    /// Sizes of the output (batch, channels, spatial sizes).
    #[must_use]
    pub fn output_sizes(&self) -> Vec<usize> {
        self.sizes(self.group_out, &self.output)
    }

    /// Sizes of the input (batch, channels, spatial sizes).
    #[must_use]
    pub fn input_sizes(&self) -> Vec<usize> {
        self.sizes(self.group_in, &self.input)
    }

    fn sizes(&self, group_channels: usize, spatial: &[usize; 3]) -> Vec<usize> {
        let mut sizes = vec![self.batch, self.groups.saturating_mul(group_channels)];
        sizes.extend(spatial.iter().skip(3_usize.saturating_sub(self.dims)));
        sizes
    }

    /// Input channels of all groups.
    pub(super) fn in_channels(&self) -> usize {
        self.groups.saturating_mul(self.group_in)
    }

    /// Output channels of all groups.
    pub(super) fn out_channels(&self) -> usize {
        self.groups.saturating_mul(self.group_out)
    }

    /// Output positions of an image.
    pub(super) fn positions(&self) -> usize {
        self.output.iter().fold(1, |p, &s| p.saturating_mul(s))
    }

    /// Input positions of an image.
    pub(super) fn pixels(&self) -> usize {
        self.input.iter().fold(1, |p, &s| p.saturating_mul(s))
    }

    /// Elements of a window in one channel.
    pub(super) fn taps(&self) -> usize {
        self.kernel.iter().fold(1, |p, &s| p.saturating_mul(s))
    }

    /// Elements of a window in all channels of a group.
    pub(super) fn depth(&self) -> usize {
        self.taps().saturating_mul(self.group_in)
    }

    /// Whether each window is one pixel, in order: the input is its own matrix of windows.
    pub(super) fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3] && self.stride == [1; 3] && self.padding == [0; 3]
    }
}

fn spatial_dims(input: &[usize], weight: &[usize]) -> Result<usize, DenseError> {
    let dims = input.len().saturating_sub(2);
    DenseError::expect("the number of weight sizes", dims.saturating_add(2), weight.len())?;
    if (1..=3).contains(&dims) {
        Ok(dims)
    } else {
        Err(DenseError::Window {
            what: "convolution",
            detail: format!("{dims} spatial dimensions, 1 to 3 are supported"),
        })
    }
}

/// (size before output padding is added, what padding takes away).
fn transposed_size(
    input: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
) -> Option<(usize, usize)> {
    let whole = input
        .checked_sub(1)?
        .checked_mul(stride)?
        .checked_add(dilation.checked_mul(kernel.checked_sub(1)?)?)?
        .checked_add(1)?;
    Some((whole, padding.checked_mul(2)?))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn options<'a>(stride: &'a [usize], padding: &'a [usize], dilation: &'a [usize], groups: usize) -> ConvOptions<'a> {
        ConvOptions { stride, padding, dilation, groups }
    }

    #[test]
    fn output_sizes_are_pytorchs() {
        let shape = ConvShape::new(&[2, 3, 224, 224], &[64, 3, 7, 7], &options(&[2, 2], &[3, 3], &[1, 1], 1)).unwrap();
        assert_eq!(shape.output_sizes(), [2, 64, 112, 112]);
        let shape = ConvShape::new(&[1, 4, 10], &[6, 2, 3], &options(&[1], &[0], &[2], 2)).unwrap();
        assert_eq!(shape.output_sizes(), [1, 6, 6]);
        let shape = ConvShape::transposed(&[1, 4, 5], &[4, 3, 3], &[1], &options(&[2], &[1], &[1], 2)).unwrap();
        assert_eq!(shape.input_sizes(), [1, 6, 10]);
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let one = options(&[1], &[0], &[1], 1);
        assert!(ConvShape::new(&[1, 4, 2], &[6, 4, 3], &one).is_err());
        assert!(ConvShape::new(&[1, 5, 9], &[6, 4, 3], &one).is_err());
        assert!(ConvShape::new(&[1, 4, 9], &[6, 4, 3], &options(&[0], &[0], &[1], 1)).is_err());
        assert!(ConvShape::new(&[1, 4, 9], &[6, 4, 3], &options(&[1], &[0], &[1], 0)).is_err());
        assert!(ConvShape::new(&[1, 4, 9], &[5, 2, 3], &options(&[1], &[0], &[1], 2)).is_err());
        assert!(ConvShape::new(&[usize::MAX, 4, 9], &[6, 4, 3], &one).is_err());
        assert!(ConvShape::transposed(&[1, 4, 5], &[4, 3, 3], &[2], &options(&[2], &[1], &[1], 2)).is_err());
        let refusal = ConvShape::new(&[1, 4, 2], &[6, 4, 3], &one).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "convolution: a window of 3 with dilation 1 does not fit an input of 2 padded by 0 on either side"
        );
    }
}
