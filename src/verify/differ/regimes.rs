//! Values that are tried, by regime and dtype.
//!
//! Promises: the same regime, number of input and sizes give the same values; values lie in the input's domain; regimes of [`inside`] lie in the
//! working range (2^10, 2^5 where f16 occurs), those of [`outside`] do not. No value is infinite. Leaves tensors to `run`.

use crate::formats::text::domain::Domain;
use crate::graph::Dtype;

/// One way to fill all inputs.
#[derive(Clone, PartialEq, Debug)]
pub enum Regime {
    /// Small multiples of a quarter, none like its neighbour.
    Ramp,
    /// Of the normal distribution.
    Normal(u64),
    /// Normal, over the working range.
    Large(u64),
    /// Normal, a thousandth of it.
    Small(u64),
    /// Normal; what lies on the way to the place where the programs part, a thousandth of it.
    Faint(u64),
    /// Close together, at the end of the working range.
    Offset(u64),
    /// As [`Regime::Offset`], at the other end of the working range.
    Below,
    /// The same at both ends: inputs of even number at one, of odd number at the other; which one is which.
    Apart(bool),
    /// Close together in the middle of the working range, where what saturates almost does.
    Middle,
    /// As [`Regime::Offset`], but for this input, which is ordinary: what is far and what is near in one sum.
    Beside(usize),
    /// The same for the products of any two: around the root of that number.
    Roots,
    /// One input close together at the end of the working range; others leave it as it is, where they are added or multiplied.
    Alone {
        /// Which input.
        input: usize,
        /// What the others are.
        others: Idle,
    },
    /// Multiples of a half: ties of rounding.
    Halves(u64),
    /// Two values only: equal elements.
    Equal(u64),
    /// Input `k` is filled with value `k` of these, over and over.
    Fill(&'static [f64]),
    /// Floats normal; integers over their whole type, or (odd seeds) its extremes.
    Integers(u64),
    /// Masks all true or all false; floats normal.
    Masks(bool),
    /// Masks whose first row is false; integers at one end of their domain.
    Row(u64),
    /// Extremes, subnormal numbers, signed zeros among normal numbers; NaN.
    Special(u64),
    /// Normal, far beyond the working range.
    Huge(u64),
    /// Ordinary values, and weights that pass on what they are given: matrices of ones on the diagonal, vectors of this number.
    Transparent(u8),
    /// As they were given.
    Given,
    /// Normal (or large), and one element of one input is NaN.
    Nan {
        /// Whether the others are large.
        large: bool,
        /// Which input.
        input: usize,
        /// Which element, in row-major order.
        element: usize,
    },
}

/// Values that change nothing in a sum, or in a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Idle {
    /// 0.
    Zero,
    /// 1.
    One,
    /// 1 on the diagonal of a matrix.
    Diagonal,
}

/// Fills that lie in every working range.
const FILLS: &[&[f64]] = &[
    &[0.0],
    &[1.0],
    &[-1.0],
    &[0.0, 1.0],
    &[1.0, 0.0],
    &[-2.5, 0.5],
    &[0.25, -0.75, 2.0],
    &[30.0, 0.05],
    &[-30.0, 0.05],
    &[-0.0],
    &[0.5],
    &[2.0],
    &[1.0, -0.0],
    &[-1.0, 0.0],
    &[2.5],
    &[0.5, 1.0],
    &[1.5, 1.0],
    &[1e-8],
    &[1e-12],
    &[1e-30],
    &[7.0, -2.0],
    &[-7.0, 2.0],
    &[-1.0, 1.0],
    &[5.0, 0.0, -3.0],
];

/// Fills that lie in the wider working range only.
const WIDE_FILLS: &[&[f64]] = &[&[100.0], &[-100.0], &[300.0]];

/// Returns the regimes of the working range, the telling ones first.
pub fn inside(narrow: bool) -> Vec<Regime> {
    use Regime::*;
    let mut all =
        vec![Ramp, Normal(1), Normal(2), Integers(1), Halves(1), Large(1), Integers(2), Small(1), Offset(1), Equal(1)];
    all.extend([Masks(true), Masks(false), Row(0), Row(1)]);
    all.extend(FILLS.iter().map(|f| Fill(f)));
    if !narrow {
        all.extend(WIDE_FILLS.iter().map(|f| Fill(f)));
    }
    all.extend([Normal(3), Large(2), Halves(2), Integers(3), Integers(4), Equal(2), Integers(5), Integers(6)]);
    all.extend([Offset(2), Offset(3)]);
    all
}

/// Returns the regimes beyond the working range.
pub fn outside() -> Vec<Regime> {
    use Regime::*;
    let mut all = vec![Huge(1), Special(1), Special(2), Special(3), Special(4), Special(5)];
    all.extend([&[70000.0][..], &[3e38], &[65504.0, 1.0], &[3e38, 0.5], &[1e-45]].into_iter().map(Fill));
    all
}

const SPECIALS: &[f64] = &[
    f64::NAN,
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-45,
    -1e-40,
    65504.0,
    3.0e38,
    -3.0e38,
    0.5,
    1.5,
    2.5,
    255.0,
    1e-8,
    100.0,
    -100.0,
    1e-20,
];

/// What one input is, for the values that it is given.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Its place among the inputs.
    pub number: usize,
    /// Element type.
    pub dtype: Dtype,
    /// How many elements.
    pub count: usize,
    /// How many elements a row has.
    pub row: usize,
    /// The host's word.
    pub domain: &'a Domain,
    /// Whether the working range is the narrow one.
    pub narrow: bool,
    /// Where integers of which nothing is said lie: from 0 on, below this.
    pub integers_below: Option<i64>,
    /// Whether it is a parameter or a buffer.
    pub weight: bool,
    /// Whether it lies on the way to the place where the programs part.
    pub on_the_way: bool,
}

/// The values of one input.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Floats; of complex numbers both parts, the real one first.
    Floats(Vec<f64>),
    /// Integers and truth values.
    Whole(Vec<i64>),
}

impl Values {
    /// Returns how many numbers there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Floats(all) => all.len(),
            Values::Whole(all) => all.len(),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Draws by place: what an element is depends on nothing but seed and place.
#[derive(Clone, Copy)]
struct Draw(u64);

impl Draw {
    fn bits(self, place: usize) -> u64 {
        let place = u64::try_from(place).unwrap_or(0);
        let mut z = place.wrapping_add(self.0 << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[allow(clippy::cast_precision_loss)]
    fn uniform(self, place: usize) -> f64 {
        (self.bits(place) >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// The sum of twelve uniform numbers, less 6.
    fn normal(self, place: usize) -> f64 {
        let from = place.saturating_mul(12);
        (from..from.saturating_add(12)).map(|p| self.uniform(p)).sum::<f64>() - 6.0
    }

    fn below(self, place: usize, n: usize) -> usize {
        let n = u64::try_from(n).unwrap_or(1).max(1);
        usize::try_from(self.bits(place).checked_rem(n).unwrap_or(0)).unwrap_or(0)
    }

    fn one<T: Copy + Default>(self, place: usize, of: &[T]) -> T {
        of.get(self.below(place, of.len())).copied().unwrap_or_default()
    }
}

/// Returns the values of one input in a regime; `shift` varies all of it.
pub fn values(regime: &Regime, wanted: Wanted<'_>, shift: u64) -> Values {
    let (regime, nan) = match regime {
        Regime::Nan { large: false, input, element } => (&Regime::Normal(1), Some((*input, *element))),
        Regime::Nan { large: true, input, element } => (&Regime::Large(1), Some((*input, *element))),
        other => (other, None),
    };
    let draw = Draw(seed(regime).wrapping_mul(64).wrapping_add(wanted.number as u64).wrapping_add(shift << 20));
    if let Domain::Is(all) = wanted.domain {
        return exactly(all, wanted.dtype);
    }
    if wanted.dtype == Dtype::Bool {
        return Values::Whole((0..wanted.count).map(|i| i64::from(truth(regime, wanted, draw, i))).collect());
    }
    if !wanted.dtype.is_float() && !wanted.dtype.is_complex() {
        return Values::Whole(whole(regime, wanted, draw));
    }
    // Of complex numbers both parts, one after the other.
    let parts = if wanted.dtype.is_complex() { 2 } else { 1 };
    let count = wanted.count.saturating_mul(parts);
    let wanted = Wanted { count, row: wanted.row.saturating_mul(parts), ..wanted };
    let one =
        |i| near(regime, wanted, draw, i).unwrap_or_else(|| in_domain(float(regime, wanted, draw, i), wanted.domain));
    let mut all: Vec<f64> = (0..count).map(one).collect();
    if let Some((input, element)) = nan
        && input == wanted.number
        && let Some(value) = all.get_mut(element)
    {
        *value = f64::NAN;
    }
    Values::Floats(all)
}

/// Whether an input's values lie close together at an end of the working range.
fn are_near(regime: &Regime, wanted: Wanted<'_>) -> bool {
    match regime {
        Regime::Offset(_) | Regime::Below | Regime::Apart(_) => true,
        Regime::Beside(ordinary) => *ordinary != wanted.number,
        Regime::Alone { input, .. } => *input == wanted.number,
        _ => false,
    }
}

/// At which end of the working range an input's values lie close together.
fn end(regime: &Regime, wanted: Wanted<'_>) -> f64 {
    let lies_below = match regime {
        Regime::Below => true,
        Regime::Apart(odd) => wanted.number.is_multiple_of(2) != *odd,
        _ => false,
    };
    let working = if wanted.narrow { 32.0 } else { 1024.0 };
    if lies_below { -working } else { working }
}

/// What changes nothing, and what lies close together at the end of a domain that the end of the working range is no part of.
#[allow(clippy::float_arithmetic)]
fn near(regime: &Regime, wanted: Wanted<'_>, draw: Draw, i: usize) -> Option<f64> {
    if let Regime::Alone { input, others } = regime
        && *input != wanted.number
        && matches!(wanted.domain, Domain::Any | Domain::Unit | Domain::Positive | Domain::Nonzero)
    {
        let on_diagonal = i.checked_div(wanted.row) == i.checked_rem(wanted.row);
        let is_one = *others == Idle::One || *others == Idle::Diagonal && on_diagonal;
        return Some(if is_one || matches!(wanted.domain, Domain::Positive | Domain::Nonzero) { 1.0 } else { 0.0 });
    }
    let end = match wanted.domain {
        Domain::Unit => 1.0,
        Domain::Probability => 0.99,
        _ => return None,
    };
    are_near(regime, wanted).then(|| end - draw.normal(i).abs() * 1e-3)
}

fn seed(regime: &Regime) -> u64 {
    use Regime::*;
    match regime {
        Normal(s) | Large(s) | Small(s) | Faint(s) | Offset(s) | Halves(s) | Equal(s) | Integers(s) | Row(s)
        | Special(s) | Huge(s) => *s,
        Masks(on) => 5_u64.saturating_add(u64::from(*on)),
        Below | Apart(_) | Middle | Beside(_) | Roots | Alone { .. } => 1,
        Ramp | Fill(_) | Nan { .. } | Given | Transparent(_) => 0,
    }
}

#[allow(clippy::cast_possible_truncation)]
fn exactly(all: &[f64], dtype: Dtype) -> Values {
    if dtype.is_float() || dtype.is_complex() {
        return Values::Floats(all.to_vec());
    }
    Values::Whole(all.iter().map(|v| *v as i64).collect())
}

fn truth(regime: &Regime, wanted: Wanted<'_>, draw: Draw, i: usize) -> bool {
    match regime {
        Regime::Fill(all) => filling(all, wanted.number) > 0.0,
        Regime::Masks(on) => *on,
        Regime::Row(_) if i < wanted.row => false,
        _ => (draw.bits(i) >> 40) & 1 == 1,
    }
}

/// A number that the dtype holds as a finite one: no input is infinite.
fn finite(v: f64, dtype: Dtype) -> f64 {
    let most = match dtype {
        Dtype::F16 => 65504.0,
        Dtype::Bf16 => 3.38e38,
        Dtype::F32 => f64::from(f32::MAX),
        _ => return v,
    };
    if v.is_nan() { v } else { v.clamp(-most, most) }
}

fn filling(all: &[f64], number: usize) -> f64 {
    let at = number.checked_rem(all.len()).unwrap_or(0);
    all.get(at).copied().unwrap_or(0.0)
}

/// An element of a weight that passes on what it is given.
fn transparent(wanted: Wanted<'_>, i: usize, vectors: f64) -> f64 {
    if wanted.row == wanted.count {
        return vectors;
    }
    let (row, column) = (i.checked_div(wanted.row), i.checked_rem(wanted.row));
    if row == column { 1.0 } else { 0.0 }
}

#[allow(clippy::cast_precision_loss, clippy::float_arithmetic)]
fn float(regime: &Regime, wanted: Wanted<'_>, draw: Draw, i: usize) -> f64 {
    let working = if wanted.narrow { 32.0 } else { 1024.0 };
    if let Domain::Spread(spread) = wanted.domain {
        return draw.normal(i) * spread;
    }
    // Weights as models have them keep values ordinary through many layers; variances are positive.
    match regime {
        Regime::Normal(2) | Regime::Large(2) | Regime::Halves(2) if wanted.weight => {
            return draw.uniform(i) * 0.25 + 0.05;
        }
        Regime::Normal(3) if wanted.weight => return draw.normal(i) * 0.1,
        Regime::Transparent(vectors) if wanted.weight => return transparent(wanted, i, f64::from(*vectors)),
        _ => {}
    }
    match regime {
        Regime::Ramp => {
            let at = i.wrapping_mul(7).wrapping_add(wanted.number).wrapping_add(3);
            (at.checked_rem(23).unwrap_or(0) as f64 - 11.0) / 4.0
        }
        Regime::Normal(_) | Regime::Masks(_) | Regime::Row(_) | Regime::Integers(_) => draw.normal(i),
        Regime::Nan { .. } | Regime::Given | Regime::Transparent(_) => draw.normal(i),
        Regime::Large(_) => draw.normal(i) * (working / 3.0),
        Regime::Small(_) => draw.normal(i) * 1e-3,
        Regime::Faint(_) => draw.normal(i) * if wanted.on_the_way { 1e-3 } else { 1.0 },
        _ if are_near(regime, wanted) => end(regime, wanted) + draw.normal(i),
        Regime::Offset(_) | Regime::Below | Regime::Apart(_) | Regime::Beside(_) | Regime::Alone { .. } => {
            draw.normal(i)
        }
        Regime::Middle => 4.0 + draw.normal(i) / 8.0,
        Regime::Roots => working.sqrt() + draw.normal(i) / (2.0 * working.sqrt()),
        Regime::Halves(_) => (draw.uniform(i) * 16.0 - 8.0).floor() / 2.0,
        Regime::Equal(_) => draw.one(i, &[0.5, 2.0]),
        Regime::Fill(all) => finite(filling(all, wanted.number), wanted.dtype),
        Regime::Special(_) => match draw.below(i.wrapping_add(1 << 24), 3) {
            0 => draw.normal(i),
            _ => finite(draw.one(i, SPECIALS), wanted.dtype),
        },
        Regime::Huge(_) => draw.normal(i) * if wanted.dtype == Dtype::F16 { 3.0e4 } else { 1e19 },
    }
}

#[allow(clippy::float_arithmetic)]
fn in_domain(v: f64, domain: &Domain) -> f64 {
    let finite = if v.is_finite() { v } else { 1.0 };
    match domain {
        Domain::Positive => finite.abs() + 0.125,
        Domain::Nonzero if finite.abs() < 0.125 => 0.125_f64.copysign(finite) + finite,
        Domain::Nonzero => finite,
        Domain::Unit => finite.cos(),
        Domain::Probability => (finite.abs() % 1.0 + 0.01).min(0.99),
        Domain::OneOf(all) => {
            let at = usize::try_from(v.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).unwrap_or(0);
            all.get(at.checked_rem(all.len()).unwrap_or(0)).copied().unwrap_or(v)
        }
        _ => v,
    }
}

/// The least and the largest number of an integer dtype, as far as `i64` goes.
pub fn ends(dtype: Dtype) -> (i64, i64) {
    match dtype {
        Dtype::U8 => (0, 255),
        Dtype::I8 => (-128, 127),
        Dtype::I16 => (i16::MIN.into(), i16::MAX.into()),
        Dtype::U16 => (0, u16::MAX.into()),
        Dtype::I32 => (i32::MIN.into(), i32::MAX.into()),
        Dtype::U32 => (0, u32::MAX.into()),
        Dtype::U64 => (0, i64::MAX),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Where integers of which nothing is said lie close together: `f32` holds them.
const NEAR_INTEGERS: i64 = 1 << 20;

/// How far an integer lies from the end where they lie close together.
fn near_end(draw: Draw, i: usize) -> i64 {
    i64::try_from(draw.below(i, 10)).unwrap_or(0)
}

fn whole(regime: &Regime, wanted: Wanted<'_>, draw: Draw) -> Vec<i64> {
    if let Domain::Integers { lo, hi, distinct } = wanted.domain {
        return limited(regime, wanted, draw, (*lo, *hi), *distinct);
    }
    let (lo, hi) = ends(wanted.dtype);
    if let (Some(below), true) = (wanted.integers_below, wanted.domain.is_any()) {
        return limited(regime, wanted, draw, (0, below.saturating_sub(1).min(hi)), false);
    }
    let half = hi.checked_div(2).unwrap_or(0).saturating_add(1);
    let extremes =
        [hi, lo, 0, 1, if lo < 0 { -1 } else { 3 }, hi.saturating_sub(1), 2, 7, lo.saturating_add(1), half, 5, 100];
    let clamped = |v: i64| v.clamp(lo, hi);
    let span = u64::try_from(i128::from(hi).saturating_sub(i128::from(lo))).unwrap_or(u64::MAX);
    #[allow(clippy::cast_possible_truncation)]
    let one = |i: usize| match regime {
        Regime::Fill(all) => clamped(filling(all, wanted.number) as i64),
        _ if are_near(regime, wanted) => hi.min(NEAR_INTEGERS).saturating_sub(near_end(draw, i)).max(lo),
        Regime::Integers(seed) if *seed & 1 == 1 => draw.one(i, &extremes),
        Regime::Integers(_) | Regime::Large(_) | Regime::Huge(_) => {
            let offset = if span == u64::MAX {
                draw.bits(i)
            } else {
                draw.bits(i).checked_rem(span.saturating_add(1)).unwrap_or(0)
            };
            lo.wrapping_add(i64::from_ne_bytes(offset.to_ne_bytes()))
        }
        Regime::Special(_) => draw.one(i, &extremes),
        Regime::Equal(_) => clamped(draw.one(i, &[1, 2])),
        // Indices that almost every table has.
        Regime::Normal(2) | Regime::Small(_) | Regime::Alone { .. } => draw.one(i, &[0, 1]),
        Regime::Normal(3) => draw.one(i, &[0, 1, 2, 3]),
        _ => {
            let least = lo.max(-9);
            let width = usize::try_from(10_i64.saturating_sub(least)).unwrap_or(1);
            clamped(least.saturating_add(i64::try_from(draw.below(i, width)).unwrap_or(0)))
        }
    };
    (0..wanted.count).map(one).collect()
}

/// Integers of a stated domain: drawn, at one end, or each once.
fn limited(regime: &Regime, wanted: Wanted<'_>, draw: Draw, (lo, hi): (i64, i64), distinct: bool) -> Vec<i64> {
    let width = usize::try_from(hi.saturating_sub(lo).saturating_add(1)).unwrap_or(usize::MAX).max(1);
    let at = |k: usize| lo.saturating_add(i64::try_from(k).unwrap_or(0)).min(hi);
    if distinct {
        let mut all: Vec<usize> = (0..width.min(1 << 16)).collect();
        all.sort_by_key(|k| draw.bits(*k));
        return all.into_iter().cycle().take(wanted.count).map(at).collect();
    }
    #[allow(clippy::cast_possible_truncation)]
    let one = |i: usize| match regime {
        Regime::Row(0) => lo,
        Regime::Row(_) => hi,
        Regime::Integers(seed) if *seed & 1 == 1 => draw.one(i, &[lo, hi]),
        Regime::Fill(all) => (filling(all, wanted.number) as i64).clamp(lo, hi.max(lo)),
        _ if are_near(regime, wanted) => hi.saturating_sub(near_end(draw, i)).max(lo),
        _ => at(draw.below(i, width)),
    };
    (0..wanted.count).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(dtype: Dtype, domain: &Domain) -> Wanted<'_> {
        Wanted {
            number: 0,
            dtype,
            count: 24,
            row: 6,
            domain,
            narrow: false,
            integers_below: None,
            weight: false,
            on_the_way: false,
        }
    }

    fn floats(regime: &Regime, domain: &Domain) -> Vec<f64> {
        let Values::Floats(all) = values(regime, wanted(Dtype::F32, domain), 0) else { panic!("no floats") };
        all
    }

    #[test]
    fn regimes_inside_stay_in_the_working_range_and_none_is_infinite() {
        for regime in inside(false).iter().chain(&outside()) {
            assert!(floats(regime, &Domain::Any).iter().all(|v| !v.is_infinite()), "{regime:?}");
        }
        for regime in inside(false) {
            assert!(floats(&regime, &Domain::Any).iter().all(|v| v.abs() < 4096.0), "{regime:?}");
        }
    }

    #[test]
    fn a_domain_is_kept_in_every_regime() {
        for regime in inside(false).iter().chain(&outside()) {
            assert!(floats(regime, &Domain::Positive).iter().all(|v| *v >= 0.125), "{regime:?}");
            assert!(floats(regime, &Domain::OneOf(vec![0.5, 1.0])).iter().all(|v| [0.5, 1.0].contains(v)));
            let domain = Domain::Integers { lo: 0, hi: 30, distinct: true };
            let Values::Whole(mut all) = values(regime, wanted(Dtype::I64, &domain), 0) else { panic!("no integers") };
            all.sort();
            all.dedup();
            assert!(all.len() == 24 && all.iter().all(|v| (0..=30).contains(v)), "{regime:?}");
        }
    }

    #[test]
    fn what_lies_close_together_does_so_at_either_end_or_in_the_middle() {
        let lies = |regime: &Regime, at: f64| floats(regime, &Domain::Any).iter().all(|v| (v - at).abs() < 6.5);
        assert!(lies(&Regime::Offset(1), 1024.0) && lies(&Regime::Below, -1024.0) && lies(&Regime::Middle, 4.0));
        // The input has number 0.
        assert!(lies(&Regime::Apart(true), 1024.0) && lies(&Regime::Apart(false), -1024.0));
    }

    #[test]
    fn a_transparent_matrix_passes_on_what_it_is_given() {
        let domain = Domain::Any;
        let matrix = Wanted { count: 4, row: 2, weight: true, ..wanted(Dtype::F32, &domain) };
        assert_eq!(values(&Regime::Transparent(0), matrix, 0), Values::Floats(vec![1.0, 0.0, 0.0, 1.0]));
        let vector = Wanted { count: 3, row: 3, ..matrix };
        assert_eq!(values(&Regime::Transparent(0), vector, 0), Values::Floats(vec![0.0; 3]));
    }

    #[test]
    fn one_element_of_one_input_is_nan() {
        let all = floats(&Regime::Nan { large: false, input: 0, element: 3 }, &Domain::Any);
        assert_eq!(all.iter().position(|v| v.is_nan()), Some(3));
        let other = floats(&Regime::Nan { large: false, input: 1, element: 3 }, &Domain::Any);
        assert!(other.iter().all(|v| v.is_finite()));
    }
}
