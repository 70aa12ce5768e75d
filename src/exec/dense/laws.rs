//! The fast path against the plain one, over drawn shapes, strides, groups and dilations.
//!
//! Tolerance: values are at most 1 in magnitude, so a sum of n products may be off by some n units of the last place of n; what is
//! asked is `1e-6 * (n + 4)`.

use proptest::prelude::*;

use super::{Batch, BatchMut, ConvOptions, ConvShape, Layout, Mat, MatMut, Volume};
use super::{attention, conv, conv_back, gemm, plain, plain_conv};

/// Numbers of -1..1 in a fixed order that hits no pattern of strides.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| (((i + seed) * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

fn close(fast: &[f32], exact: &[f64], terms: usize) -> Result<(), TestCaseError> {
    let limit = 1e-6 * (terms as f64 + 4.0);
    prop_assert_eq!(fast.len(), exact.len());
    for (i, (f, e)) in fast.iter().zip(exact).enumerate() {
        prop_assert!((f64::from(*f) - e).abs() <= limit, "element {} is {}, expected {}", i, f, e);
    }
    Ok(())
}

fn in_pool<R: Send>(threads: usize, job: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(job)
}

/// Row and column stride of a matrix that lies row by row or column by column, with gaps.
fn strides(rows: usize, cols: usize, by_column: bool, gap: usize) -> (usize, usize, usize) {
    if by_column {
        (1 + gap, rows * (1 + gap) + gap, cols * (rows * (1 + gap) + gap) + 1)
    } else {
        (cols * (1 + gap) + gap, 1 + gap, rows * (cols * (1 + gap) + gap) + 1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn products_agree(
        (m, k, n) in (0_usize..70, 0_usize..90, 0_usize..70),
        (at, bt, ct) in any::<(bool, bool, bool)>(),
        gap in 0_usize..3,
        (alpha, beta) in (prop_oneof![Just(1.0_f32), Just(0.5)], prop_oneof![Just(0.0_f32), Just(1.0), Just(-0.5)]),
        threads in 1_usize..4,
    ) {
        let (ar, ac, al) = strides(m, k, at, gap);
        let (br, bc, bl) = strides(k, n, bt, gap);
        let (cr, cc, cl) = strides(m, n, ct, gap);
        let (a, b, start) = (numbers(al, 1), numbers(bl, 2), numbers(cl, 3));
        let a = Mat::new(&a, m, k, ar, ac).unwrap();
        let b = Mat::new(&b, k, n, br, bc).unwrap();
        let mut c = if beta == 0.0 { vec![f32::NAN; cl] } else { start.clone() };
        in_pool(threads, || gemm::gemm(alpha, &a, &b, beta, MatMut::new(&mut c, m, n, cr, cc).unwrap())).unwrap();
        let mut exact = vec![0.0_f64; m * n];
        plain::matmul(&a, &b, &mut exact).unwrap();
        let mut fast = Vec::new();
        for (i, e) in exact.iter_mut().enumerate() {
            let at = (i / n) * cr + (i % n) * cc;
            *e = f64::from(alpha) * *e + if beta == 0.0 { 0.0 } else { f64::from(beta) * f64::from(start[at]) };
            fast.push(c[at]);
        }
        close(&fast, &exact, k)?;
    }

    #[test]
    fn batches_are_their_matrices(batch in 0_usize..6, m in 1_usize..20, k in 1_usize..20, n in 1_usize..20, shared in any::<bool>()) {
        let (a, b) = (numbers(batch * m * k, 1), numbers(batch.max(1) * k * n, 2));
        let step = if shared { 0 } else { k * n };
        let mut c = vec![f32::NAN; batch * m * n];
        in_pool(2, || gemm::gemm_batch(
            1.0,
            &Batch::new(&a, [batch, m, k], [m * k, k, 1]).unwrap(),
            &Batch::new(&b, [batch, k, n], [step, n, 1]).unwrap(),
            0.0,
            BatchMut::new(&mut c, [batch, m, n], [m * n, n, 1]).unwrap(),
        )).unwrap();
        for i in 0..batch {
            let mut exact = vec![0.0_f64; m * n];
            plain::matmul(
                &Mat::row_major(&a[i * m * k..], m, k).unwrap(),
                &Mat::row_major(&b[i * step..], k, n).unwrap(),
                &mut exact,
            ).unwrap();
            close(&c[i * m * n..][..m * n], &exact, k)?;
        }
    }
}

/// A drawn convolution.
#[derive(Debug, Clone)]
struct Case {
    dims: usize,
    batch: usize,
    groups: usize,
    group_in: usize,
    group_out: usize,
    input: Vec<usize>,
    kernel: Vec<usize>,
    stride: Vec<usize>,
    padding: Vec<usize>,
    dilation: Vec<usize>,
    last: bool,
    out_last: bool,
    bias: bool,
    threads: usize,
}

fn case() -> impl Strategy<Value = Case> {
    (1_usize..=3)
        .prop_flat_map(|dims| {
            let each = |range: std::ops::Range<usize>| prop::collection::vec(range, dims..=dims);
            let top = [14, 9, 6][dims - 1];
            (
                (Just(dims), 0_usize..3, prop_oneof![Just(1_usize), Just(1), Just(2), Just(3)], 1_usize..5, 1_usize..4),
                (each(4..top), each(1..4), each(1..4), each(0..3), each(1..3)),
                (any::<bool>(), any::<bool>(), any::<bool>(), 1_usize..3),
            )
        })
        .prop_map(
            |((dims, batch, groups, group_in, group_out), (mut input, kernel, stride, padding, dilation), rest)| {
                for ((i, k), d) in input.iter_mut().zip(&kernel).zip(&dilation) {
                    *i = (*i).max(d * (k - 1) + 1);
                }
                let (last, out_last, bias, threads) = rest;
                Case {
                    dims,
                    batch,
                    groups,
                    group_in,
                    group_out,
                    input,
                    kernel,
                    stride,
                    padding,
                    dilation,
                    last,
                    out_last,
                    bias,
                    threads,
                }
            },
        )
}

impl Case {
    fn sizes(&self, channels: usize, spatial: &[usize]) -> Vec<usize> {
        let mut sizes = vec![self.batch, channels];
        sizes.extend(spatial);
        sizes
    }

    fn options(&self) -> ConvOptions<'_> {
        ConvOptions { stride: &self.stride, padding: &self.padding, dilation: &self.dilation, groups: self.groups }
    }
}

/// Strides of dense sizes with channels last, or in order.
fn dense_strides(sizes: &[usize], last: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    if last {
        order.remove(1);
        order.push(1);
    }
    let mut strides = vec![0; sizes.len()];
    let mut step = 1;
    for &axis in order.iter().rev() {
        strides[axis] = step;
        step *= sizes[axis].max(1);
    }
    strides
}

/// A dense result in order, whichever layout it is in.
fn in_order(values: &[f32], sizes: &[usize], layout: Layout) -> Vec<f32> {
    let (channels, positions) = (sizes[1], sizes[2..].iter().product::<usize>());
    match layout {
        Layout::ChannelsFirst => values.to_vec(),
        Layout::ChannelsLast => values
            .chunks((channels * positions).max(1))
            .flat_map(|image| (0..channels).flat_map(move |c| image.iter().skip(c).step_by(channels).copied()))
            .collect(),
    }
}

fn layout(last: bool) -> Layout {
    if last { Layout::ChannelsLast } else { Layout::ChannelsFirst }
}

/// Forward and all gradients of a case, fast against plain.
fn check(case: &Case) -> Result<(), TestCaseError> {
    let input = case.sizes(case.groups * case.group_in, &case.input);
    let mut weight = vec![case.groups * case.group_out, case.group_in];
    weight.extend(&case.kernel);
    let shape = ConvShape::new(&input, &weight, &case.options()).unwrap();
    let output = shape.output_sizes();
    let count = |sizes: &[usize]| sizes.iter().product::<usize>();
    let (x, w, g) = (numbers(count(&input), 1), numbers(count(&weight), 2), numbers(count(&output), 3));
    let b = numbers(weight[0], 4);
    let bias = case.bias.then_some(b.as_slice());
    let x = Volume::new(&x, &input, &dense_strides(&input, case.last)).unwrap();
    let w = Volume::new(&w, &weight, &dense_strides(&weight, case.out_last)).unwrap();
    let g = Volume::new(&g, &output, &dense_strides(&output, case.last)).unwrap();
    let layout = layout(case.out_last);
    let depth = case.group_in * count(&case.kernel);

    let (mut fast, mut exact) = (vec![f32::NAN; count(&output)], vec![f64::NAN; count(&output)]);
    in_pool(case.threads, || conv::conv(&shape, &x, &w, bias, &mut fast, layout)).unwrap();
    plain_conv::conv(&shape, &x, &w, bias, &mut exact).unwrap();
    close(&in_order(&fast, &output, layout), &exact, depth)?;
    for channels in [2, 16, usize::MAX] {
        let shape = shape.clone().in_blocks_of(Some(channels));
        let mut fast = vec![f32::NAN; count(&output)];
        in_pool(case.threads, || conv::conv(&shape, &x, &w, bias, &mut fast, layout)).unwrap();
        close(&in_order(&fast, &output, layout), &exact, depth)?;
    }

    let (mut fast, mut exact) = (vec![f32::NAN; count(&input)], vec![f64::NAN; count(&input)]);
    in_pool(case.threads, || conv_back::conv_input_gradient(&shape, &g, &w, None, &mut fast, layout)).unwrap();
    plain_conv::conv_input_gradient(&shape, &g, &w, &mut exact).unwrap();
    close(&in_order(&fast, &input, layout), &exact, case.group_out * count(&case.kernel))?;

    let terms = case.batch * count(&output[2..]);
    let (mut fast, mut exact) = (vec![f32::NAN; count(&weight)], vec![f64::NAN; count(&weight)]);
    in_pool(case.threads, || conv_back::conv_weight_gradient(&shape, &x, &g, &mut fast)).unwrap();
    plain_conv::conv_weight_gradient(&shape, &x, &g, &mut exact).unwrap();
    close(&fast, &exact, terms)?;

    let (mut fast, mut exact) = (vec![f32::NAN; weight[0]], vec![f64::NAN; weight[0]]);
    conv_back::conv_bias_gradient(&shape, &g, &mut fast).unwrap();
    plain_conv::conv_bias_gradient(&shape, &g, &mut exact).unwrap();
    close(&fast, &exact, terms)?;
    Ok(())
}

/// Sizes at which the matrix of windows is cut into several blocks both ways, and channel by channel convolutions.
#[test]
fn large_convolutions_agree() {
    let plane = |groups, group_in, group_out, size, kernel, stride, padding| Case {
        dims: 2,
        batch: 1,
        groups,
        group_in,
        group_out,
        input: vec![size, size + 1],
        kernel: vec![kernel; 2],
        stride: vec![stride; 2],
        padding: vec![padding; 2],
        dilation: vec![1; 2],
        last: false,
        out_last: false,
        bias: true,
        threads: 1,
    };
    for base in [
        plane(1, 30, 2, 32, 3, 1, 1),
        plane(1, 30, 1, 40, 3, 2, 1),
        plane(1, 30, 40, 5, 3, 1, 1),
        plane(5, 1, 1, 30, 3, 1, 1),
        plane(5, 1, 2, 20, 3, 2, 0),
        plane(2, 3, 5, 33, 1, 1, 0),
    ] {
        for (threads, last, out_last) in [(1, false, false), (2, false, false), (2, true, true)] {
            check(&Case { threads, last, out_last, ..base.clone() }).unwrap();
        }
    }
}

/// Bit by bit: a sum for each block of channels, windows outside and channels inside, each product added without being rounded; then sums
/// one behind another, and the bias at the end.
#[test]
fn blocks_of_channels_are_summed_by_themselves() {
    #[cfg(target_arch = "x86_64")]
    if !std::is_x86_feature_detected!("fma") {
        return;
    }
    let (channels, outputs, size) = (37, 19, 6);
    let options = ConvOptions { stride: &[1, 1], padding: &[0, 0], dilation: &[1, 1], groups: 1 };
    let (input, weight) = ([1, channels, size, size], [outputs, channels, 3, 3]);
    let (x, w, b) = (numbers(channels * size * size, 1), numbers(outputs * channels * 9, 2), numbers(outputs, 3));
    let at = |c: usize, h: usize, v: usize| x[(c * size + h) * size + v];
    for block in [16, 5, 100] {
        let shape = ConvShape::new(&input, &weight, &options).unwrap().in_blocks_of(Some(block));
        let places = size - 2;
        let mut found = vec![f32::NAN; outputs * places * places];
        let x = Volume::new(&x, &input, &dense_strides(&input, false)).unwrap();
        // The kernel's own weight layout, and one with channels last.
        for last in [false, true] {
            let strides = dense_strides(&weight, last);
            let place = |o: usize, c: usize, h: usize, v: usize| {
                o * strides[0] + c * strides[1] + h * strides[2] + v * strides[3]
            };
            let mut laid = vec![0.0; w.len()];
            for (o, c, t) in (0..outputs).flat_map(|o| (0..channels).flat_map(move |c| (0..9).map(move |t| (o, c, t))))
            {
                laid[place(o, c, t / 3, t % 3)] = w[(o * channels + c) * 9 + t];
            }
            let weight = Volume::new(&laid, &weight, &strides).unwrap();
            conv::conv(&shape, &x, &weight, Some(&b), &mut found, Layout::ChannelsFirst).unwrap();
            for (k, found) in found.iter().enumerate() {
                let (o, row, column) = (k / (places * places), k / places % places, k % places);
                let mut sum = 0.0_f32;
                // A product of more than 256 terms is cut there by its kernel.
                let wanted = (0..channels).step_by(block).all(|first| {
                    let taps = (0..9).flat_map(|t| (first..(first + block).min(channels)).map(move |c| (t, c)));
                    let terms = taps.clone().count();
                    let add = |s: f32, (t, c): (usize, usize)| {
                        w[(o * channels + c) * 9 + t].mul_add(at(c, row + t / 3, column + t % 3), s)
                    };
                    sum += taps.fold(0.0, add);
                    terms <= 256
                });
                if wanted {
                    assert_eq!(
                        (sum + b[o]).to_bits(),
                        found.to_bits(),
                        "output {o} at {row}, {column} in blocks of {block}"
                    );
                }
            }
        }
    }
}

/// What is repeated without lying there more than once is convolved as if it did, along every dimension.
#[test]
fn an_expanded_input_is_convolved_as_its_copy() {
    let count = |sizes: &[usize]| sizes.iter().product::<usize>();
    let sizes = [2, 6, 9, 11];
    let weights = numbers(30 * 6 * 9, 2);
    for (groups, stride, window) in [(1, 1, 3), (1, 2, 3), (6, 1, 3), (6, 2, 3), (1, 1, 1)] {
        let options = ConvOptions { stride: &[stride; 2], padding: &[1, 1], dilation: &[1, 1], groups };
        let weight = [30, 6 / groups, window, window];
        let shape = ConvShape::new(&sizes, &weight, &options).unwrap();
        let w = Volume::contiguous(&weights[..count(&weight)], &weight).unwrap();
        for (last, axis) in (0..4).flat_map(|axis| [(false, axis), (true, axis)]) {
            let mut own = sizes;
            own[axis] = 1;
            let mut strides = dense_strides(&own, last);
            strides[axis] = 0;
            let data = numbers(count(&own), 1);
            let at = |k: usize| {
                let index = [k / 594, k / 99 % 6, k / 11 % 9, k % 11];
                data[index.iter().zip(&strides).map(|(i, s)| i * s).sum::<usize>()]
            };
            let copy: Vec<f32> = (0..count(&sizes)).map(at).collect();
            let (x, whole) =
                (Volume::new(&data, &sizes, &strides).unwrap(), Volume::contiguous(&copy, &sizes).unwrap());
            let outputs = count(&shape.output_sizes());
            let (mut found, mut exact) = (vec![f32::NAN; outputs], vec![f64::NAN; outputs]);
            conv::conv(&shape, &x, &w, None, &mut found, Layout::ChannelsFirst).unwrap();
            plain_conv::conv(&shape, &whole, &w, None, &mut exact).unwrap();
            close(&found, &exact, 54).unwrap();
            let (wide, w): (Vec<f64>, Vec<f64>) =
                (data.iter().map(|v| (*v).into()).collect(), weights.iter().map(|v| (*v).into()).collect());
            let (x, w) = (
                Volume::new(&wide, &sizes, &strides).unwrap(),
                Volume::contiguous(&w[..count(&weight)], &weight).unwrap(),
            );
            let mut found = vec![f64::NAN; outputs];
            conv::conv(&shape, &x, &w, None, &mut found, Layout::ChannelsFirst).unwrap();
            assert!(found.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-9), "{groups} groups, dimension {axis}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn convolutions_and_their_gradients_agree(case in case()) {
        check(&case)?;
    }

    #[test]
    fn transposed_convolutions_have_the_size_that_convolves_back(case in case(), extra in 0_usize..2) {
        let input = case.sizes(case.groups * case.group_out, &case.input);
        let mut weight = vec![case.groups * case.group_out, case.group_in];
        weight.extend(&case.kernel);
        let padding: Vec<usize> =
            case.padding.iter().zip(&case.kernel).zip(&case.dilation).map(|((&p, &k), &d)| p.min(d * (k - 1) / 2)).collect();
        let extra: Vec<usize> = case.stride.iter().map(|&s| extra.min(s - 1)).collect();
        let options = ConvOptions { padding: &padding, ..case.options() };
        let shape = ConvShape::transposed(&input, &weight, &extra, &options).unwrap();
        let back = ConvShape::new(&shape.input_sizes(), &weight, &options).unwrap();
        prop_assert_eq!(back.output_sizes(), input.clone());
        prop_assert_eq!(&back, &shape);
        let (x, w) = (numbers(input.iter().product(), 1), numbers(weight.iter().product(), 2));
        let (x, w) = (Volume::contiguous(&x, &input).unwrap(), Volume::contiguous(&w, &weight).unwrap());
        let sizes = shape.input_sizes();
        let count = sizes.iter().product::<usize>();
        let b = numbers(sizes[1], 5);
        let (mut fast, mut exact) = (vec![f32::NAN; count], vec![f64::NAN; count]);
        conv_back::conv_input_gradient(&shape, &x, &w, Some(&b), &mut fast, Layout::ChannelsFirst).unwrap();
        plain_conv::conv_input_gradient(&shape, &x, &w, &mut exact).unwrap();
        let plane = sizes[2..].iter().product::<usize>().max(1);
        for (plane, b) in exact.chunks_mut(plane).zip(b.iter().cycle()) {
            plane.iter_mut().for_each(|e| *e += f64::from(*b));
        }
        close(&fast, &exact, case.group_out * case.kernel.iter().product::<usize>())?;
        prop_assert!(case.dims <= 3);
    }

    #[test]
    fn attention_agrees_with_its_definition(
        heads in 1_usize..4, queries in 1_usize..80, keys in 1_usize..20, width in 1_usize..9, kind in 0_usize..4,
    ) {
        let (q, k, v) = (numbers(heads * queries * width, 1), numbers(heads * keys * width, 2), numbers(heads * keys * width, 3));
        let added: Vec<f32> = numbers(heads * queries * keys, 4).iter().map(|&a| if a < -0.5 { f32::NEG_INFINITY } else { a }).collect();
        let seen: Vec<bool> = added.iter().map(|&a| a > 0.0).collect();
        let of = |data, rows, cols| Batch::new(data, [heads, rows, cols], [rows * cols, cols, 1]).unwrap();
        let mask = match kind {
            0 => attention::Mask::None,
            1 => attention::Mask::Causal,
            2 => attention::Mask::Added(of(&added, queries, keys)),
            _ => attention::Mask::Seen(Batch::new(&seen, [heads, queries, keys], [queries * keys, keys, 1]).unwrap()),
        };
        let mut out = vec![f32::NAN; heads * queries * width];
        let result = BatchMut::new(&mut out, [heads, queries, width], [queries * width, width, 1]).unwrap();
        attention::attention(&of(&q, queries, width), &of(&k, keys, width), &of(&v, keys, width), &mask, 0.5, result).unwrap();
        let mut exact = Vec::new();
        for h in 0..heads {
            for i in 0..queries {
                let hidden = |j: usize| match kind {
                    0 => 0.0,
                    1 => if j > i { f64::NEG_INFINITY } else { 0.0 },
                    2 => f64::from(added[(h * queries + i) * keys + j]),
                    _ => if seen[(h * queries + i) * keys + j] { 0.0 } else { f64::NEG_INFINITY },
                };
                let dot = |j: usize| (0..width).map(|c| f64::from(q[(h * queries + i) * width + c]) * f64::from(k[(h * keys + j) * width + c])).sum::<f64>();
                let weights: Vec<f64> = (0..keys).map(|j| (0.5 * dot(j) + hidden(j)).exp()).collect();
                let total: f64 = weights.iter().sum();
                for c in 0..width {
                    let sum: f64 = (0..keys).map(|j| weights[j] * f64::from(v[(h * keys + j) * width + c])).sum();
                    exact.push(if total == 0.0 { 0.0 } else { sum / total });
                }
            }
        }
        close(&out, &exact, keys)?;
    }
}
