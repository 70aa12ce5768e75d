//! Normalisations: layer norm and RMS norm over rows, scale and shift over channels (batch norm with known statistics).
//!
//! Rows are dense and lie one after the other. Mean and variance are two passes over the row, with many sums side by side: the
//! variance of equal numbers is 0. Variances are biased, eps is inside the root.

use rayon::prelude::*;

use super::DenseError;
use super::simd::{Kernel, fold_lanes, vectorised};

/// Elements below which one thread does it.
const MIN_PARALLEL: usize = 1 << 14;

/// A real number that norms are computed in.
pub trait Real: Copy + Send + Sync + 'static {
    /// (x - mean) / sqrt(variance + eps) * weight + bias of a row; returns mean and 1 / sqrt(variance + eps).
    fn layer_norm_row(
        x: &[Self],
        out: &mut [Self],
        weight: Option<&[Self]>,
        bias: Option<&[Self]>,
        eps: f64,
    ) -> (Self, Self);
    /// x / sqrt(mean of squares + eps) * weight of a row; returns the factor.
    fn rms_norm_row(x: &[Self], out: &mut [Self], weight: Option<&[Self]>, eps: f64) -> Self;
    /// x * scale + shift of a row.
    fn affine_row(x: &[Self], out: &mut [Self], scale: Self, shift: Self);
    /// v * scale + shift in the place of each number.
    fn affine(values: &mut [Self], scale: Self, shift: Self);
}

macro_rules! norms {
    ($($t:ty, $layer:ident, $rms:ident, $affine:ident, $own:ident;)*) => {$(
        struct $layer;
        type Layer<'a> = (&'a [$t], &'a mut [$t], Option<&'a [$t]>, Option<&'a [$t]>, f64);

        impl Kernel<Layer<'_>> for $layer {
            type Output = ($t, $t);

            #[inline(always)]
            fn run((x, out, weight, bias, eps): Layer<'_>) -> ($t, $t) {
                let count = x.len() as $t;
                let mean = fold_lanes(x, 0.0, |s, v| s + v, |a, b| a + b) / count;
                let square = |s: $t, v: $t| (v - mean).mul_add(v - mean, s);
                let variance = fold_lanes(x, 0.0, square, |a, b| a + b) / count;
                let scale = 1.0 / (variance + eps as $t).sqrt();
                match (weight, bias) {
                    (Some(weight), Some(bias)) => {
                        for (((o, &v), &w), &b) in out.iter_mut().zip(x).zip(weight).zip(bias) {
                            *o = ((v - mean) * scale).mul_add(w, b);
                        }
                    }
                    (weight, bias) => {
                        for (o, &v) in out.iter_mut().zip(x) {
                            *o = (v - mean) * scale;
                        }
                        for (o, &w) in out.iter_mut().zip(weight.unwrap_or(&[])) {
                            *o *= w;
                        }
                        for (o, &b) in out.iter_mut().zip(bias.unwrap_or(&[])) {
                            *o += b;
                        }
                    }
                }
                (mean, scale)
            }
        }

        struct $rms;
        impl Kernel<(&[$t], &mut [$t], Option<&[$t]>, f64)> for $rms {
            type Output = $t;

            #[inline(always)]
            fn run((x, out, weight, eps): (&[$t], &mut [$t], Option<&[$t]>, f64)) -> $t {
                let squares = fold_lanes(x, 0.0, |s: $t, v: $t| v.mul_add(v, s), |a, b| a + b);
                let scale = 1.0 / (squares / x.len() as $t + eps as $t).sqrt();
                for (o, &v) in out.iter_mut().zip(x) {
                    *o = v * scale;
                }
                for (o, &w) in out.iter_mut().zip(weight.unwrap_or(&[])) {
                    *o *= w;
                }
                scale
            }
        }

        struct $affine;
        impl Kernel<(&[$t], &mut [$t], $t, $t)> for $affine {
            type Output = ();

            #[inline(always)]
            fn run((x, out, scale, shift): (&[$t], &mut [$t], $t, $t)) {
                for (o, &v) in out.iter_mut().zip(x) {
                    *o = v.mul_add(scale, shift);
                }
            }
        }

        struct $own;
        impl Kernel<(&mut [$t], $t, $t)> for $own {
            type Output = ();

            #[inline(always)]
            fn run((values, scale, shift): (&mut [$t], $t, $t)) {
                for v in values {
                    *v = v.mul_add(scale, shift);
                }
            }
        }

        impl Real for $t {
            fn layer_norm_row(
                x: &[$t], out: &mut [$t], weight: Option<&[$t]>, bias: Option<&[$t]>, eps: f64,
            ) -> ($t, $t) {
                vectorised::<$layer, _>((x, out, weight, bias, eps))
            }
            fn rms_norm_row(x: &[$t], out: &mut [$t], weight: Option<&[$t]>, eps: f64) -> $t {
                vectorised::<$rms, _>((x, out, weight, eps))
            }
            fn affine_row(x: &[$t], out: &mut [$t], scale: $t, shift: $t) {
                vectorised::<$affine, _>((x, out, scale, shift));
            }
            fn affine(values: &mut [$t], scale: $t, shift: $t) {
                vectorised::<$own, _>((values, scale, shift));
            }
        }
    )*};
}

mod single {
    use super::*;
    norms! { f32, LayerSingle, RmsSingle, AffineSingle, OwnSingle; }
}
mod double {
    use super::*;
    norms! { f64, LayerDouble, RmsDouble, AffineDouble, OwnDouble; }
}

/// What a layer norm yields beside the values: one number a row.
#[derive(Debug)]
pub struct RowStatistics<'a, T> {
    /// Means.
    pub mean: &'a mut [T],
    /// 1 / sqrt(variance + eps).
    pub rstd: &'a mut [T],
}

/// Layer norm of `x`, rows of `width` elements, into `out`; weight and bias have `width` elements, the statistics one a row.
pub fn layer_norm<T: Real>(
    x: &[T],
    out: &mut [T],
    width: usize,
    weight: Option<&[T]>,
    bias: Option<&[T]>,
    eps: f64,
    statistics: RowStatistics<'_, T>,
) -> Result<(), DenseError> {
    let rows = rows_of(x.len(), out.len(), width)?;
    expect_width(width, weight, bias)?;
    let RowStatistics { mean, rstd } = statistics;
    DenseError::expect("the number of means", rows, mean.len())?;
    DenseError::expect("the number of reciprocal deviations", rows, rstd.len())?;
    if rows == 0 {
        return Ok(());
    }
    let min_rows = MIN_PARALLEL.checked_div(width).unwrap_or(1).max(1);
    x.par_chunks(width)
        .zip(out.par_chunks_mut(width))
        .zip(mean.par_iter_mut().zip(rstd.par_iter_mut()))
        .with_min_len(min_rows)
        .for_each(|((x, out), (mean, rstd))| (*mean, *rstd) = T::layer_norm_row(x, out, weight, bias, eps));
    Ok(())
}

/// RMS norm of `x`, rows of `width` elements, into `out`; the weight has `width` elements, `rstd` one a row.
pub fn rms_norm<T: Real>(
    x: &[T],
    out: &mut [T],
    width: usize,
    weight: Option<&[T]>,
    eps: f64,
    rstd: &mut [T],
) -> Result<(), DenseError> {
    let rows = rows_of(x.len(), out.len(), width)?;
    expect_width(width, weight, None)?;
    DenseError::expect("the number of reciprocal deviations", rows, rstd.len())?;
    if rows == 0 {
        return Ok(());
    }
    let min_rows = MIN_PARALLEL.checked_div(width).unwrap_or(1).max(1);
    x.par_chunks(width)
        .zip(out.par_chunks_mut(width))
        .zip(rstd.par_iter_mut())
        .with_min_len(min_rows)
        .for_each(|((x, out), rstd)| *rstd = T::rms_norm_row(x, out, weight, eps));
    Ok(())
}

/// `x * scale[c] + shift[c]` where `x` is any number of images of `scale.len()` channels of `inner` elements each.
pub fn affine_channels<T: Real>(
    x: &[T],
    out: &mut [T],
    inner: usize,
    scale: &[T],
    shift: &[T],
) -> Result<(), DenseError> {
    let planes = rows_of(x.len(), out.len(), inner)?;
    DenseError::expect("the number of shifts", scale.len(), shift.len())?;
    if planes == 0 {
        return Ok(());
    }
    let images = planes.checked_div(scale.len()).ok_or(DenseError::Zero { what: "the number of channels" })?;
    DenseError::expect("the number of channel planes", images.saturating_mul(scale.len()), planes)?;
    let image = inner.saturating_mul(scale.len());
    let min_planes = MIN_PARALLEL.checked_div(inner).unwrap_or(1).max(1);
    for (x, out) in x.chunks(image).zip(out.chunks_mut(image)) {
        x.par_chunks(inner)
            .zip(out.par_chunks_mut(inner))
            .zip(scale.par_iter().zip(shift))
            .with_min_len(min_planes)
            .for_each(|((x, out), (&scale, &shift))| T::affine_row(x, out, scale, shift));
    }
    Ok(())
}

/// The number of rows of `width` elements; an error if the lengths are not such.
fn rows_of(input: usize, output: usize, width: usize) -> Result<usize, DenseError> {
    DenseError::expect("the number of output elements", input, output)?;
    let rows = match input.checked_div(width) {
        Some(rows) => rows,
        None if input == 0 => 0,
        None => return Err(DenseError::Zero { what: "the width of a row" }),
    };
    DenseError::expect("the number of input elements", rows.saturating_mul(width), input)?;
    Ok(rows)
}

fn expect_width<T>(width: usize, weight: Option<&[T]>, bias: Option<&[T]>) -> Result<(), DenseError> {
    DenseError::expect("the number of weights", width, weight.map_or(width, <[T]>::len))?;
    DenseError::expect("the number of biases", width, bias.map_or(width, <[T]>::len))
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn sample(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 7919) % 211) as f32 / 31.0 - 3.0).collect()
    }

    #[test]
    fn single_precision_agrees_with_double() {
        for width in [1_usize, 3, 64, 100, 768] {
            let x = sample(width * 3);
            let (w, b) = (sample(width), sample(width));
            let (mut out, mut mean, mut rstd) = (vec![0.0; x.len()], vec![0.0; 3], vec![0.0; 3]);
            let statistics = RowStatistics { mean: &mut mean, rstd: &mut rstd };
            layer_norm(&x, &mut out, width, Some(&w), Some(&b), 1e-5, statistics).unwrap();
            let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let (xd, wd, bd) = (wide(&x), wide(&w), wide(&b));
            let (mut outd, mut meand, mut rstdd) = (vec![0.0; x.len()], vec![0.0; 3], vec![0.0; 3]);
            let statistics = RowStatistics { mean: &mut meand, rstd: &mut rstdd };
            layer_norm(&xd, &mut outd, width, Some(&wd), Some(&bd), 1e-5, statistics).unwrap();
            assert!(out.iter().zip(&outd).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5 * b.abs().max(1.0)));
            assert!(rstd.iter().zip(&rstdd).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5 * b.abs()));
        }
    }

    #[test]
    fn equal_numbers_have_no_variance() {
        let (mut out, mut mean, mut rstd) = (vec![1.0; 100], vec![0.0], vec![0.0]);
        let statistics = RowStatistics { mean: &mut mean, rstd: &mut rstd };
        layer_norm(&[3.0_f32; 100], &mut out, 100, None, None, 0.0, statistics).unwrap();
        assert_eq!((mean[0], rstd[0]), (3.0, f32::INFINITY));
    }

    #[test]
    fn channels_are_scaled_each_by_its_own() {
        let x = [1.0_f32; 12];
        let mut out = [0.0; 12];
        affine_channels(&x, &mut out, 2, &[1.0, 2.0, 3.0], &[0.0, 0.0, 1.0]).unwrap();
        assert_eq!(out, [1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0]);
        assert!(affine_channels(&x, &mut out, 5, &[1.0], &[1.0]).is_err());
        assert!(affine_channels(&x, &mut out, 0, &[1.0], &[1.0]).is_err());
    }
}
