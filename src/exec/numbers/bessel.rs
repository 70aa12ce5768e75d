//! Bessel functions, the zeta function of Hurwitz and the derivatives of digamma, after the Cephes library, whose series PyTorch has too.

#![allow(clippy::arithmetic_side_effects, reason = "floats")]
#![allow(clippy::unreadable_literal, clippy::excessive_precision, reason = "coefficients as they are published")]

use std::f64::consts::PI;

/// `e^-x I0(x)` up to 8.
const I0_NEAR: [f64; 30] = [
    -4.4153416464793395e-18,
    3.3307945188222384e-17,
    -2.431279846547955e-16,
    1.715391285555133e-15,
    -1.1685332877993451e-14,
    7.676185498604936e-14,
    -4.856446783111929e-13,
    2.95505266312964e-12,
    -1.726826291441556e-11,
    9.675809035373237e-11,
    -5.189795601635263e-10,
    2.6598237246823866e-9,
    -1.300025009986248e-8,
    6.046995022541919e-8,
    -2.670793853940612e-7,
    1.1173875391201037e-6,
    -4.4167383584587505e-6,
    1.6448448070728896e-5,
    -5.754195010082104e-5,
    0.00018850288509584165,
    -0.0005763755745385824,
    0.0016394756169413357,
    -0.004324309995050576,
    0.010546460394594998,
    -0.02373741480589947,
    0.04930528423967071,
    -0.09490109704804764,
    0.17162090152220877,
    -0.3046826723431984,
    0.6767952744094761,
];
/// `e^-x sqrt(x) I0(x)` beyond 8.
const I0_FAR: [f64; 25] = [
    -7.233180487874754e-18,
    -4.830504485944182e-18,
    4.46562142029676e-17,
    3.461222867697461e-17,
    -2.8276239805165836e-16,
    -3.425485619677219e-16,
    1.7725601330565263e-15,
    3.8116806693526224e-15,
    -9.554846698828307e-15,
    -4.150569347287222e-14,
    1.54008621752141e-14,
    3.8527783827421426e-13,
    7.180124451383666e-13,
    -1.7941785315068062e-12,
    -1.3215811840447713e-11,
    -3.1499165279632416e-11,
    1.1889147107846439e-11,
    4.94060238822497e-10,
    3.3962320257083865e-9,
    2.266668990498178e-8,
    2.0489185894690638e-7,
    2.8913705208347567e-6,
    6.889758346916825e-5,
    0.0033691164782556943,
    0.8044904110141088,
];
/// `e^-x I1(x) / x` up to 8.
const I1_NEAR: [f64; 29] = [
    2.7779141127610464e-18,
    -2.111421214358166e-17,
    1.5536319577362005e-16,
    -1.1055969477353862e-15,
    7.600684294735408e-15,
    -5.042185504727912e-14,
    3.223793365945575e-13,
    -1.9839743977649436e-12,
    1.1736186298890901e-11,
    -6.663489723502027e-11,
    3.625590281552117e-10,
    -1.8872497517228294e-9,
    9.381537386495773e-9,
    -4.445059128796328e-8,
    2.0032947535521353e-7,
    -8.568720264695455e-7,
    3.4702513081376785e-6,
    -1.3273163656039436e-5,
    4.781565107550054e-5,
    -0.00016176081582589674,
    0.0005122859561685758,
    -0.0015135724506312532,
    0.004156422944312888,
    -0.010564084894626197,
    0.024726449030626516,
    -0.05294598120809499,
    0.1026436586898471,
    -0.17641651835783406,
    0.25258718644363365,
];
/// `e^-x sqrt(x) I1(x)` beyond 8.
const I1_FAR: [f64; 25] = [
    7.517296310842105e-18,
    4.414348323071708e-18,
    -4.6503053684893586e-17,
    -3.209525921993424e-17,
    2.96262899764595e-16,
    3.3082023109209285e-16,
    -1.8803547755107825e-15,
    -3.8144030724370075e-15,
    1.0420276984128802e-14,
    4.272440016711951e-14,
    -2.1015418427726643e-14,
    -4.0835511110921974e-13,
    -7.198551776245908e-13,
    2.0356285441470896e-12,
    1.4125807436613782e-11,
    3.2526035830154884e-11,
    -1.8974958123505413e-11,
    -5.589743462196584e-10,
    -3.835380385964237e-9,
    -2.6314688468895196e-8,
    -2.512236237870209e-7,
    -3.882564808877691e-6,
    -0.00011058893876262371,
    -0.009761097491361469,
    0.7785762350182801,
];
/// `K0(x) + ln(x / 2) I0(x)` up to 2.
const K0_NEAR: [f64; 10] = [
    1.374465435613523e-16,
    4.25981614279661e-14,
    1.0349695257633842e-11,
    1.904516377220209e-9,
    2.5347910790261494e-7,
    2.286212103119452e-5,
    0.001264615411446926,
    0.0359799365153615,
    0.3442898999246285,
    -0.5353273932339028,
];
/// `e^x sqrt(x) K0(x)` beyond 2.
const K0_FAR: [f64; 25] = [
    5.300433772686263e-18,
    -1.6475804301524212e-17,
    5.2103915050390274e-17,
    -1.678231096805412e-16,
    5.512055978524319e-16,
    -1.848593377343779e-15,
    6.3400764774050706e-15,
    -2.2275133269916698e-14,
    8.032890775363575e-14,
    -2.9800969231727303e-13,
    1.140340588208475e-12,
    -4.514597883373944e-12,
    1.8559491149547177e-11,
    -7.957489244477107e-11,
    3.577397281400301e-10,
    -1.69753450938906e-9,
    8.574034017414225e-9,
    -4.660489897687948e-8,
    2.766813639445015e-7,
    -1.8317555227191195e-6,
    1.39498137188765e-5,
    -0.00012849549581627802,
    0.0015698838857300533,
    -0.0314481013119645,
    2.4403030820659555,
];
/// `x (K1(x) - ln(x / 2) I1(x))` up to 2.
const K1_NEAR: [f64; 11] = [
    -7.023863479386288e-18,
    -2.427449850519366e-15,
    -6.666901694199329e-13,
    -1.4114883926335278e-10,
    -2.213387630734726e-8,
    -2.4334061415659684e-6,
    -0.0001730288957513052,
    -0.006975723859639864,
    -0.12261118082265715,
    -0.3531559607765449,
    1.5253002273389478,
];
/// `e^x sqrt(x) K1(x)` beyond 2.
const K1_FAR: [f64; 25] = [
    -5.756744483665017e-18,
    1.7940508731475592e-17,
    -5.689462558442859e-17,
    1.838093544366639e-16,
    -6.057047248373319e-16,
    2.038703165624334e-15,
    -7.019837090418314e-15,
    2.4771544244813043e-14,
    -8.976705182324994e-14,
    3.3484196660784293e-13,
    -1.2891739609510289e-12,
    5.13963967348173e-12,
    -2.1299678384275683e-11,
    9.218315187605006e-11,
    -4.1903547593418965e-10,
    2.015049755197033e-9,
    -1.0345762465678097e-8,
    5.7410841254500495e-8,
    -3.5019606030878126e-7,
    2.406484947837217e-6,
    -1.936197974166083e-5,
    0.00019521551847135162,
    -0.002857816859622779,
    0.10392373657681724,
    2.7206261904844427,
];

/// Sums a series of Chebyshev polynomials of `x / 2`.
fn series(x: f64, coefficients: &[f64]) -> f64 {
    let (mut now, mut before, mut last) = (0.0, 0.0, 0.0);
    for c in coefficients {
        last = before;
        before = now;
        now = x * before - last + c;
    }
    0.5 * (now - last)
}

/// The modified function of the first kind, order 0, times `e^-|x|`.
pub fn i0e(x: f64) -> f64 {
    let x = x.abs();
    if x <= 8.0 { series(x / 2.0 - 2.0, &I0_NEAR) } else { series(32.0 / x - 2.0, &I0_FAR) / x.sqrt() }
}

/// The modified function of the first kind, order 0.
pub fn i0(x: f64) -> f64 {
    x.abs().exp() * i0e(x)
}

/// The modified function of the first kind, order 1, times `e^-|x|`.
pub fn i1e(x: f64) -> f64 {
    let size = x.abs();
    let value = if size <= 8.0 {
        size * series(size / 2.0 - 2.0, &I1_NEAR)
    } else {
        series(32.0 / size - 2.0, &I1_FAR) / size.sqrt()
    };
    if x < 0.0 { -value } else { value }
}

/// The modified function of the first kind, order 1.
pub fn i1(x: f64) -> f64 {
    x.abs().exp() * i1e(x)
}

/// The modified function of the second kind, order 0, times `e^x`.
pub fn k0e(x: f64) -> f64 {
    match x {
        0.0 => f64::INFINITY,
        x if x < 0.0 => f64::NAN,
        x if x <= 2.0 => (series(x * x - 2.0, &K0_NEAR) - (0.5 * x).ln() * i0(x)) * x.exp(),
        x => series(8.0 / x - 2.0, &K0_FAR) / x.sqrt(),
    }
}

/// The modified function of the second kind, order 0.
pub fn k0(x: f64) -> f64 {
    (-x).exp() * k0e(x)
}

/// The modified function of the second kind, order 1, times `e^x`.
pub fn k1e(x: f64) -> f64 {
    match x {
        0.0 => f64::INFINITY,
        x if x < 0.0 => f64::NAN,
        x if x <= 2.0 => ((0.5 * x).ln() * i1(x) + series(x * x - 2.0, &K1_NEAR) / x) * x.exp(),
        x => series(8.0 / x - 2.0, &K1_FAR) / x.sqrt(),
    }
}

/// The modified function of the second kind, order 1.
pub fn k1(x: f64) -> f64 {
    (-x).exp() * k1e(x)
}

/// A function of the first or second kind, which PyTorch's of an infinite argument is not a number.
fn finite(f: fn(f64) -> f64, x: f64) -> f64 {
    if x.is_infinite() { f64::NAN } else { f(x) }
}

/// The function of the first kind, order 0.
pub fn j0(x: f64) -> f64 {
    finite(libm::j0, x)
}

/// The function of the first kind, order 1.
pub fn j1(x: f64) -> f64 {
    finite(libm::j1, x)
}

/// The function of the second kind, order 0.
pub fn y0(x: f64) -> f64 {
    finite(libm::y0, x)
}

/// The function of the second kind, order 1.
pub fn y1(x: f64) -> f64 {
    finite(libm::y1, x)
}

/// The spherical function of the first kind, order 0: `sin x / x`.
pub fn spherical_j0(x: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    if x.abs() < 0.5 { special_sinc(x) } else { x.sin() / x }
}

/// The series of `sin x / x` near 0.
fn special_sinc(x: f64) -> f64 {
    const TERMS: [f64; 7] = [210.0, 156.0, 110.0, 72.0, 42.0, 20.0, 6.0];
    TERMS.iter().fold(1.0, |sum, t| 1.0 - x * x / t * sum)
}

/// The sum of `(q + k)^-x` over k from 0: Euler and Maclaurin's formula behind the first terms.
pub fn zeta(x: f64, q: f64) -> f64 {
    const PRECISION: f64 = 1.110_223_024_625_156_5e-16;
    const TAIL: [f64; 12] = [
        12.0,
        -720.0,
        30240.0,
        -1209600.0,
        47900160.0,
        -1.8924375803183791606e9,
        7.47242496e10,
        -2.950130727918164224e12,
        1.1646782814350067249e14,
        -4.5979787224074726105e15,
        1.8152105401943546773e17,
        -7.1661652561756670113e18,
    ];
    if x == 1.0 {
        return f64::INFINITY;
    }
    if x < 1.0 {
        return f64::NAN;
    }
    if q <= 0.0 {
        if q == q.floor() {
            return f64::INFINITY;
        }
        if x != x.floor() {
            return f64::NAN;
        }
        // The terms up to there would be as many as q is below 0.
        if q < -1e6 {
            return f64::NAN;
        }
    }
    let (mut sum, mut a, mut b, mut i) = (q.powf(-x), q, 0.0, 0);
    while i < 9 || a <= 9.0 {
        i += 1;
        a += 1.0;
        b = a.powf(-x);
        sum += b;
        if -PRECISION * sum < b && b < PRECISION * sum {
            return sum;
        }
    }
    let w = a;
    sum += b * w / (x - 1.0) - 0.5 * b;
    let (mut a, mut k) = (1.0, 0.0);
    for c in TAIL {
        a *= x + k;
        b /= w;
        let t = a * b / c;
        sum += t;
        if (t / sum).abs() < PRECISION {
            break;
        }
        k += 1.0;
        a *= x + k;
        b /= w;
        k += 1.0;
    }
    sum
}

/// The derivative of digamma.
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut result, mut sign) = (x, 0.0, 1.0);
    if x < 0.5 {
        sign = -1.0;
        let sine = (PI * x).sin();
        result -= (PI * PI) / (sine * sine);
        x = 1.0 - x;
    }
    for _ in 0..6 {
        result += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    result += (1.0 + 1.0 / (2.0 * x) + square * (1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0)))) / x;
    sign * result
}

/// `e^(x^2) erfc(x)`, without what overflows.
pub fn erfcx(x: f64) -> f64 {
    if x < 25.0 {
        return (x * x).exp() * libm::erfc(x);
    }
    let t = 1.0 / (x * x);
    (1.0 - t * (0.5 - t * (0.75 - t * (1.875 - t * (6.5625 - t * 29.53125))))) / (x * PI.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-13 * b.abs(), "{a} is not {b}");
    }

    #[test]
    fn known_values() {
        near(i0(1.0), 1.2660658777520082);
        near(i0(10.0), 2815.716628466254);
        near(i1(-2.0), -1.5906368546373291);
        near(k0(1.0), 0.42102443824070834);
        near(k1(3.0), 0.040156431128194184);
        near(zeta(2.0, 1.0), PI * PI / 6.0);
        near(spherical_j0(0.3), 0.3_f64.sin() / 0.3);
        near(erfcx(30.0), 0.018795888861416751);
        assert!((trigamma(1.0) - PI * PI / 6.0).abs() < 1e-7);
    }
}
