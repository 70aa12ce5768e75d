//! Random operators: shapes and dtypes are exact, numbers are those of the run's seed, of the distribution that is asked for.
//!
//! Numbers are drawn in the order in which the result's elements lie in memory, as PyTorch's loops fill it: a transposed result has other
//! numbers in its elements than a row-major one.
//!
//! Leaves dropout and its kin to `dropout`, further distributions to `distributions`. Parameters that PyTorch refuses (probabilities beyond 0 to 1, empty ranges) are refused.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::{Made, no_kernel};
use crate::exec::numbers::generator::Generator;
use crate::exec::tensor::fill;
use crate::exec::tensor::lane::{Lane, LaneKind};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::storage::Meter;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (rand, &["aten.rand.default", "aten.rand_like.default"]),
    (randn, &["aten.randn.default", "aten.randn.generator", "aten.randn_like.default"]),
    (
        randint,
        &[
            "aten.randint.default",
            "aten.randint.low",
            "aten.randint_like.default",
            "aten.randint_like.low_dtype",
            "aten.random.default",
            "aten.random.from",
            "aten.random.to",
        ],
    ),
    (randperm, &["aten.randperm.default"]),
    (uniform, &["aten.uniform.default"]),
    (bernoulli_self, &["aten.bernoulli.default"]),
    (bernoulli_p, &["aten.bernoulli.p"]),
    (bernoulli_tensor, &["aten.bernoulli.Tensor"]),
    (normal, &["aten.normal.Tensor_float", "aten.normal.float_Tensor", "aten.normal.Tensor_Tensor"]),
    (normal_in_place, &["aten.normal_.default"]),
    (exponential, &["aten.exponential.default"]),
    (multinomial, &["aten.multinomial.default"]),
    (poisson, &["aten.poisson.default"]),
];

/// Returns the order of a result's dimensions in memory, outermost first.
fn order(meta: &Meta) -> Shape {
    shape::memory_order(&meta.sizes, &meta.strides)
}

/// Makes a tensor of values in the order in which its elements lie in memory.
pub(in crate::exec) fn in_memory<L: Lane>(meta: &Meta, values: Vec<L>, meter: &Meter) -> Result<Tensor, CallFault> {
    let order = order(meta);
    let (sizes, strides) = (shape::permuted(&meta.sizes, &order), shape::permuted(&meta.strides, &order));
    let rows = fill::from_lanes(&Meta { sizes, strides, ..meta.clone() }, values, meter)?;
    rows.with_meta(Meta { offset: 0, ..meta.clone() })
}

/// Makes a tensor of drawn numbers.
pub(in crate::exec) fn drawn(
    cx: &mut Cx<'_, '_, '_>,
    meta: &Meta,
    mut draw: impl FnMut(&mut Generator) -> f64,
) -> Result<Tensor, CallFault> {
    let parts = if meta.dtype.is_complex() { 2 } else { 1 };
    let mut next = || draw(&mut cx.session.random);
    if parts == 2 {
        let values = (0..meta.numel()).map(|_| crate::exec::tensor::lane::C128::new(next(), next())).collect();
        return in_memory::<crate::exec::tensor::lane::C128>(meta, values, cx.meter());
    }
    let values = (0..meta.numel()).map(|_| next()).collect();
    in_memory::<f64>(meta, values, cx.meter())
}

/// Refuses dtypes that are no floats (nor complex), where anything is to be drawn.
fn continuous(cx: &Cx<'_, '_, '_>, meta: &Meta) -> Result<(), CallFault> {
    let fits = meta.dtype.is_float() || meta.dtype.is_complex() || meta.numel() == 0;
    if fits { Ok(()) } else { Err(no_kernel(cx, meta.dtype)) }
}

/// A number from 0 inclusive to 1 exclusive, which the dtype holds exactly.
fn fraction(dtype: Dtype, random: &mut Generator) -> f64 {
    let bits = match dtype {
        Dtype::Bf16 => 8,
        Dtype::F16 | Dtype::C32 => 11,
        d if d.bytes() == 1 => 3,
        Dtype::F32 | Dtype::C64 => 24,
        _ => return random.uniform(),
    };
    let steps = f64::from(1_u32.wrapping_shl(bits));
    (random.uniform() * steps).floor() / steps
}

fn rand(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    continuous(cx, &meta)?;
    drawn(cx, &meta, |random| fraction(meta.dtype, random)).map(Value::Tensor)
}

fn randn(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    continuous(cx, &meta)?;
    let scale = if meta.dtype.is_complex() { std::f64::consts::FRAC_1_SQRT_2 } else { 1.0 };
    drawn(cx, &meta, |random| scale * random.normal()).map(Value::Tensor)
}

/// The largest number up to which a dtype has all integers, as `random_` draws them; of integers the largest.
fn most(dtype: Dtype) -> i64 {
    match dtype {
        Dtype::Bool => 1,
        Dtype::U8 => 255,
        Dtype::I8 => 127,
        Dtype::I16 => 32767,
        Dtype::U16 => 65535,
        Dtype::I32 => i64::from(i32::MAX),
        Dtype::U32 => i64::from(u32::MAX),
        Dtype::Bf16 => 1 << 8,
        Dtype::F16 => 1 << 11,
        Dtype::F32 => 1 << 24,
        Dtype::F64 => 1 << 53,
        _ => i64::MAX,
    }
}

/// The least and the largest bound that a dtype takes.
#[allow(clippy::cast_precision_loss)]
fn holds(dtype: Dtype, v: i64) -> bool {
    match dtype {
        Dtype::F16 => v.unsigned_abs() <= 65504,
        d if d.is_float() => true,
        Dtype::Bool | Dtype::U8 | Dtype::U16 | Dtype::U32 => (0..=most(dtype)).contains(&v),
        Dtype::U64 => v >= 0,
        _ => v <= most(dtype) && v >= most(dtype).saturating_neg().saturating_sub(1),
    }
}

/// Returns the range of a draw of integers: its first and last number.
fn range(cx: &Cx<'_, '_, '_>, dtype: Dtype) -> Result<(i64, i64), CallFault> {
    let schema = &cx.operator.schema;
    let place = |names: [&str; 2]| names.iter().find_map(|n| schema.param_index(n));
    let (low, high) = (place(["low", "from"]), place(["high", "to"]));
    let first = low.map_or(Ok(0), |i| cx.int(i))?;
    let last = match high {
        Some(i) if !cx.is_none(i) => {
            let end = cx.int(i)?;
            if first >= end {
                return Err(cx.bad(i, format!("a number above {first}, from which on is drawn"), end.to_string()));
            }
            end.saturating_sub(1)
        }
        // Without bounds floats are drawn below the power of two, with a lower bound alone up to it.
        _ if low.is_none() && dtype.is_float() => most(dtype),
        _ => most(dtype),
    };
    for (i, v) in [(low, first), (high, last)] {
        if let Some(i) = i.filter(|_| !holds(dtype, v)) {
            return Err(cx.bad(i, format!("a bound that {} can hold", dtype.long()), v.to_string()));
        }
    }
    Ok((first, last))
}

fn randint(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    if meta.dtype.is_complex() && meta.numel() > 0 {
        return Err(no_kernel(cx, meta.dtype));
    }
    let (first, last) = range(cx, meta.dtype)?;
    let mut next = || match last.checked_add(1) {
        Some(end) => cx.session.random.integer(first, end),
        None => cx.session.random.integer(first, last),
    };
    let values: Vec<i64> = (0..meta.numel()).map(|_| next()).collect();
    in_memory(&meta, values, cx.meter()).map(Value::Tensor)
}

/// Exchanges each element with one not yet placed (Fisher and Yates).
fn randperm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let count = i64::try_from(meta.numel()).unwrap_or(i64::MAX);
    let exact =
        if LaneKind::of(meta.dtype) == LaneKind::I64 { most(meta.dtype) } else { most(meta.dtype).saturating_add(1) };
    if count > exact {
        return Err(cx.bad(
            0,
            format!("at most {exact}, so that {} holds all numbers", meta.dtype.long()),
            count.to_string(),
        ));
    }
    let mut values: Vec<i64> = (0..count).collect();
    for (k, left) in (0..values.len()).zip((1..=count).rev()) {
        let other = usize::try_from(cx.session.random.integer(0, left)).unwrap_or(0);
        values.swap(k, k.saturating_add(other));
    }
    cx.emit(values)
}

#[allow(clippy::cast_possible_truncation)]
fn uniform(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, from, to) = (cx.meta()?, cx.f64(1)?, cx.f64(2)?);
    continuous(cx, &meta)?;
    for (i, v) in [(1, from), (2, to)] {
        crate::exec::numbers::checked::check_fits(cx, i, crate::exec::tensor::value::Scalar::Float(v), meta.dtype)?;
        if !v.is_finite() {
            return Err(cx.bad(i, "a finite number", v.to_string()));
        }
    }
    if from > to {
        return Err(cx.bad(2, format!("a number not below {from}"), to.to_string()));
    }
    drawn(cx, &meta, |random| fraction(meta.dtype, random) * (to - from) + from).map(Value::Tensor)
}

/// Checks a probability.
pub(in crate::exec) fn probability(cx: &Cx<'_, '_, '_>, i: usize, p: f64) -> Result<f64, CallFault> {
    if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(cx.bad(i, "a probability from 0 to 1", p.to_string())) }
}

/// 1 with that probability, else 0; 1 is certain where `p` is.
pub(in crate::exec) fn coin(random: &mut Generator, p: f64) -> f64 {
    if random.uniform() < p { 1.0 } else { 0.0 }
}

/// Draws with probabilities of a tensor, which is broadcast to the result's sizes.
fn bernoulli_of(cx: &mut Cx<'_, '_, '_>, i: usize) -> Made {
    let (meta, p) = (cx.meta()?, cx.tensor(i)?);
    if !p.dtype().is_float() {
        return Err(no_kernel(cx, p.dtype()));
    }
    let all = p.broadcast(&meta.sizes)?.permute(&order(&meta));
    let all = all.lanes::<f64>()?;
    all.iter().try_for_each(|p| probability(cx, i, *p).map(|_| ()))?;
    let values: Vec<f64> = all.iter().map(|p| coin(&mut cx.session.random, *p)).collect();
    in_memory(&meta, values, cx.meter()).map(Value::Tensor)
}

fn bernoulli_self(cx: &mut Cx<'_, '_, '_>) -> Made {
    bernoulli_of(cx, 0)
}

fn bernoulli_tensor(cx: &mut Cx<'_, '_, '_>) -> Made {
    bernoulli_of(cx, 1)
}

fn bernoulli_p(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let p = probability(cx, 1, cx.f64(1)?)?;
    drawn(cx, &meta, |random| coin(random, p)).map(Value::Tensor)
}

/// A parameter for each element in memory's order: a number or a tensor, broadcast.
pub(in crate::exec) fn parameter(cx: &Cx<'_, '_, '_>, i: usize, meta: &Meta) -> Result<Vec<f64>, CallFault> {
    match cx.tensor(i) {
        Ok(t) => Ok(t.broadcast(&meta.sizes)?.permute(&order(meta)).lanes::<f64>()?.to_vec()),
        Err(_) => Ok(vec![cx.f64(i)?; meta.numel()]),
    }
}

pub(in crate::exec) fn deviation(cx: &Cx<'_, '_, '_>, i: usize, std: f64) -> Result<(), CallFault> {
    if std >= 0.0 { Ok(()) } else { Err(cx.bad(i, "a standard deviation of 0 or more", std.to_string())) }
}

fn normal(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    continuous(cx, &meta)?;
    if cx.tensor(1).is_ok_and(|t| t.dtype().is_complex()) {
        return Err(cx.bad(1, "a real standard deviation", "a complex one"));
    }
    let std = parameter(cx, 1, &meta)?;
    std.iter().try_for_each(|v| deviation(cx, 1, *v))?;
    if cx.tensor(1).is_err() {
        deviation(cx, 1, cx.f64(1)?)?;
    }
    if meta.dtype.is_complex() {
        let mean = cx.tensor(0)?.broadcast(&meta.sizes)?.permute(&order(&meta));
        let mean = mean.lanes::<crate::exec::tensor::lane::C128>()?;
        let random = &mut cx.session.random;
        let mut part = |std: f64| std * std::f64::consts::FRAC_1_SQRT_2 * random.normal();
        let values = mean.iter().zip(&std).map(|(m, s)| m + crate::exec::tensor::lane::C128::new(part(*s), part(*s)));
        let values: Vec<_> = values.collect();
        return in_memory(&meta, values, cx.meter()).map(Value::Tensor);
    }
    let mean = parameter(cx, 0, &meta)?;
    let random = &mut cx.session.random;
    let values: Vec<f64> = mean.iter().zip(&std).map(|(m, s)| m + s * random.normal()).collect();
    in_memory(&meta, values, cx.meter()).map(Value::Tensor)
}

fn normal_in_place(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (target, mean, std) = (cx.tensor(0)?, cx.f64(1)?, cx.f64(2)?);
    continuous(cx, &target.meta)?;
    deviation(cx, 2, std)?;
    let scale = if target.dtype().is_complex() { std::f64::consts::FRAC_1_SQRT_2 } else { 1.0 };
    // Its memory need not be dense: numbers are drawn in the order of its strides, and then written.
    let places = order(&target.meta);
    let meta = Meta::contiguous(target.dtype(), &shape::permuted(target.sizes(), &places));
    let values = drawn(cx, &meta, |random| mean + std * scale * random.normal())?;
    target.permute(&places).copy_from(&values)?;
    Ok(Value::Tensor(target.clone()))
}

fn exponential(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, rate) = (cx.meta()?, cx.f64(1)?);
    if !meta.dtype.is_float() && meta.numel() > 0 {
        return Err(cx.bad(0, "a tensor of floats, as the distribution is continuous", meta.dtype.long()));
    }
    if rate.is_nan() || rate <= 0.0 {
        return Err(cx.bad(1, "a rate above 0", rate.to_string()));
    }
    drawn(cx, &meta, |random| -(1.0 - random.uniform()).ln() / rate).map(Value::Tensor)
}

/// Draws positions by weight, row by row; without replacement a drawn one has no weight any more.
fn multinomial(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, count, replace) = (cx.tensor(0)?, cx.int(1)?, cx.bool(2)?);
    let choices = t.sizes().last().copied().unwrap_or(0);
    let each = usize::try_from(count).unwrap_or(0);
    if !(1..=2).contains(&t.rank()) {
        return Err(cx.bad(0, "a vector or a matrix of weights", format!("{} dimensions", t.rank())));
    }
    if !t.dtype().is_float() {
        return Err(cx.bad(0, "weights in floats", t.dtype().long()));
    }
    if each == 0 {
        return Err(cx.bad(1, "a number of draws above 0", count.to_string()));
    }
    if !replace && each > choices {
        return Err(cx.bad(1, format!("at most {choices} draws without replacement"), count.to_string()));
    }
    let weights = t.lanes::<f64>()?;
    let mut values: Vec<i64> = Vec::new();
    for row in weights.chunks(choices.max(1)) {
        if row.iter().any(|w| !w.is_finite() || *w < 0.0) {
            return Err(cx.bad(0, "finite weights of 0 or more", "another one"));
        }
        if row.iter().sum::<f64>() <= 0.0 {
            return Err(cx.bad(0, "weights whose sum is above 0", "zeros"));
        }
        draw_row(&mut cx.session.random, row, each, replace, &mut values);
    }
    cx.emit(values)
}

fn draw_row(random: &mut Generator, row: &[f64], count: usize, replace: bool, out: &mut Vec<i64>) {
    let mut left = row.to_vec();
    for _ in 0..count {
        let total: f64 = left.iter().sum();
        let at = if total > 0.0 { pick(random.uniform() * total, &left) } else { first_undrawn(&left) };
        out.push(i64::try_from(at).unwrap_or(i64::MAX));
        if let Some(weight) = left.get_mut(at).filter(|_| !replace) {
            *weight = -0.0;
        }
    }
}

/// Returns the position into whose share of the weights a number falls.
fn pick(mut at: f64, weights: &[f64]) -> usize {
    let mut last = 0;
    for (k, weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        if at < *weight {
            return k;
        }
        at -= weight;
        last = k;
    }
    last
}

/// Positions without weight follow when all others are drawn; drawn ones are marked by the sign of their zero.
fn first_undrawn(weights: &[f64]) -> usize {
    weights.iter().position(|w| w.is_sign_positive()).unwrap_or(0)
}

fn poisson(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, rates) = (cx.meta()?, cx.tensor(0)?);
    if !rates.dtype().is_float() {
        return Err(no_kernel(cx, rates.dtype()));
    }
    let rates = rates.permute(&order(&meta));
    let rates = rates.lanes::<f64>()?;
    if let Some(rate) = rates.iter().find(|r| r.is_nan() || **r < 0.0) {
        return Err(cx.bad(0, "rates of 0 or more", rate.to_string()));
    }
    let values: Vec<f64> = rates.iter().map(|r| poisson_of(&mut cx.session.random, *r)).collect();
    debug_assert_eq!(values.len(), meta.numel());
    in_memory(&meta, values, cx.meter()).map(Value::Tensor)
}

/// The logarithm of `k!`, by Stirling's series from 10 on.
fn ln_factorial(k: f64) -> f64 {
    if k < 10.0 {
        return (2..=9_u32).map(f64::from).filter(|v| *v <= k).map(f64::ln).sum();
    }
    let n = k + 1.0;
    (n - 0.5) * n.ln() - n + 0.5 * std::f64::consts::TAU.ln() + 1.0 / (12.0 * n) - 1.0 / (360.0 * n * n * n)
}

/// A number of the Poisson distribution: by products of uniform numbers, for large rates by transformed rejection (PTRS, W. Hörmann).
fn poisson_of(random: &mut Generator, rate: f64) -> f64 {
    if rate < 10.0 {
        let (limit, mut product, mut count) = ((-rate).exp(), random.uniform(), 0.0);
        while product > limit {
            product *= random.uniform();
            count += 1.0;
        }
        return count;
    }
    let (root, log_rate) = (rate.sqrt(), rate.ln());
    let b = 0.931 + 2.53 * root;
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let squeeze = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (random.uniform() - 0.5, random.uniform());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
        if us >= 0.07 && v <= squeeze {
            return k;
        }
        if k < 0.0 || us < 0.013 && v > us {
            continue;
        }
        let left = v.ln() + inverse_alpha.ln() - (a / (us * us) + b).ln();
        if left <= -rate + k * log_rate - ln_factorial(k) {
            return k;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_variance(n: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let all: Vec<f64> = (0..n).map(|_| draw()).collect();
        let mean = all.iter().sum::<f64>() / f64::from(n);
        (mean, all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n))
    }

    #[test]
    fn poisson_numbers_have_their_rate_as_mean_and_variance() {
        let mut random = Generator::new(1);
        for rate in [0.5, 4.0, 12.0, 300.0] {
            let (mean, variance) = mean_and_variance(20_000, || poisson_of(&mut random, rate));
            assert!(
                (mean / rate - 1.0).abs() < 0.04 && (variance / rate - 1.0).abs() < 0.08,
                "{rate} {mean} {variance}"
            );
        }
        assert_eq!(poisson_of(&mut random, 0.0), 0.0);
    }

    #[test]
    fn numbers_are_drawn_in_the_order_of_memory() {
        let meta =
            Meta { dtype: Dtype::F32, sizes: [2, 3].as_slice().into(), strides: [1, 2].as_slice().into(), offset: 0 };
        let drawn = in_memory(&meta, vec![0_f32, 1.0, 2.0, 3.0, 4.0, 5.0], &Meter::default()).unwrap();
        assert_eq!(drawn.lanes::<f32>().unwrap().to_vec(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
        let rows = Meta::contiguous(Dtype::F32, &[2, 3]);
        let drawn = in_memory(&rows, vec![0_f32, 1.0, 2.0, 3.0, 4.0, 5.0], &Meter::default()).unwrap();
        assert_eq!(drawn.lanes::<f32>().unwrap().to_vec(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn fractions_and_coins_have_the_mean_that_is_asked_for() {
        let mut random = Generator::new(2);
        for dtype in [Dtype::F32, Dtype::Bf16, Dtype::F64] {
            let (mean, variance) = mean_and_variance(20_000, || fraction(dtype, &mut random));
            assert!((mean - 0.5).abs() < 0.02 && (variance - 1.0 / 12.0).abs() < 0.01, "{mean} {variance}");
        }
        let (mean, _) = mean_and_variance(20_000, || coin(&mut random, 0.3));
        assert!((mean - 0.3).abs() < 0.02);
        assert_eq!((coin(&mut random, 0.0), coin(&mut random, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn draws_without_replacement_are_all_different_and_follow_the_weights() {
        let (mut random, mut first) = (Generator::new(3), [0_u32; 3]);
        for _ in 0..3000 {
            let mut out = Vec::new();
            draw_row(&mut random, &[1.0, 0.0, 3.0], 3, false, &mut out);
            first[usize::try_from(out[0]).unwrap()] += 1;
            out.sort_unstable();
            assert_eq!(out, [0, 1, 2]);
        }
        assert!(first[1] == 0 && (2100..2400).contains(&first[2]), "{first:?}");
    }
}
