//! Numbers of distributions beside the uniform and the normal one.
//!
//! As in `random`: shapes and dtypes are exact, numbers are those of the run's seed.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::arithmetic::{Made, no_kernel};
use crate::exec::kernels::random::{coin, deviation, drawn, in_memory, parameter, probability};
use crate::exec::numbers::generator::Generator;
use crate::exec::tensor::Meta;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (cauchy, &["aten.cauchy.default"]),
    (geometric, &["aten.geometric.default"]),
    (log_normal, &["aten.log_normal.default"]),
    (normal_functional, &["aten.normal_functional.default"]),
    (binomial, &["aten.binomial.default"]),
    (standard_gamma, &["aten._standard_gamma.default"]),
];

fn real_floats(cx: &Cx<'_, '_, '_>, meta: &Meta) -> Result<(), CallFault> {
    let fits = meta.dtype.is_float() || meta.numel() == 0;
    if fits { Ok(()) } else { Err(cx.bad(0, "a tensor of floats", meta.dtype.long())) }
}

/// The tangent of an angle that is drawn.
fn cauchy(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, median, sigma) = (cx.meta()?, cx.f64(1)?, cx.f64(2)?);
    real_floats(cx, &meta)?;
    if sigma.is_nan() || sigma <= 0.0 {
        return Err(cx.bad(2, "a scale above 0", sigma.to_string()));
    }
    let angle = |random: &mut Generator| std::f64::consts::PI * (random.uniform() - 0.5);
    drawn(cx, &meta, |random| median + sigma * angle(random).tan()).map(Value::Tensor)
}

/// How many trials there are up to the first that succeeds.
fn geometric(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, p) = (cx.meta()?, cx.f64(1)?);
    if p.is_nan() || p <= 0.0 || p >= 1.0 {
        return Err(cx.bad(1, "a probability above 0 and below 1", p.to_string()));
    }
    if meta.dtype.is_complex() || meta.dtype == Dtype::Bool {
        return Err(no_kernel(cx, meta.dtype));
    }
    drawn(cx, &meta, |random| ((1.0 - random.uniform()).ln() / (-p).ln_1p()).ceil().max(1.0)).map(Value::Tensor)
}

fn log_normal(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, mean, std) = (cx.meta()?, cx.f64(1)?, cx.f64(2)?);
    real_floats(cx, &meta)?;
    if std.is_nan() || std <= 0.0 {
        return Err(cx.bad(2, "a standard deviation above 0", std.to_string()));
    }
    drawn(cx, &meta, |random| (mean + std * random.normal()).exp()).map(Value::Tensor)
}

fn normal_functional(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, mean, std) = (cx.meta()?, cx.f64(1)?, cx.f64(2)?);
    real_floats(cx, &meta)?;
    deviation(cx, 2, std)?;
    drawn(cx, &meta, |random| mean + std * random.normal()).map(Value::Tensor)
}

/// The most trials that are made one by one.
const MOST_TRIALS: f64 = 1e6;

/// How many of so many trials succeed.
fn binomial(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let (count, chance) = (parameter(cx, 0, &meta)?, parameter(cx, 1, &meta)?);
    let mut values = Vec::with_capacity(meta.numel());
    for (n, p) in count.iter().zip(&chance) {
        cx.session.check_time()?;
        let p = probability(cx, 1, *p)?;
        if !(0.0..=MOST_TRIALS).contains(n) {
            return Err(cx.bad(0, format!("a number of trials from 0 to {MOST_TRIALS}"), n.to_string()));
        }
        let random = &mut cx.session.random;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Within bounds.
        values.push((0..*n as u32).map(|_| coin(random, p)).sum::<f64>());
    }
    in_memory(&meta, values, cx.meter()).map(Value::Tensor)
}

/// Numbers of the gamma distribution of scale 1 (G. Marsaglia and W. W. Tsang).
fn standard_gamma(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    real_floats(cx, &meta)?;
    let shapes = parameter(cx, 0, &meta)?;
    let random = &mut cx.session.random;
    let values = shapes.iter().map(|a| gamma(random, *a).max(f64::MIN_POSITIVE)).collect();
    in_memory(&meta, values, cx.meter()).map(Value::Tensor)
}

fn gamma(random: &mut Generator, shape: f64) -> f64 {
    if !shape.is_finite() || shape <= 0.0 {
        return if shape < 0.0 { f64::NAN } else { shape };
    }
    let (scale, shape) =
        if shape < 1.0 { ((1.0 - random.uniform()).powf(1.0 / shape), shape + 1.0) } else { (1.0, shape) };
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.normal();
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - random.uniform()).ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
            return scale * d * v;
        }
    }
}
