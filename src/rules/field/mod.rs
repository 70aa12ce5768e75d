//! Equality over the reals: elements as sums of products.
//!
//! ## What it says
//! Over a field sums and products have one form, whatever the order; sums over a dimension are linear, and what does not depend on it stands
//! outside. `exp(a + b)` is `exp(a) * exp(b)`; `log(a * b)` is `log(a) + log(b)`, `log(a * a)` is `2 * log(|a|)`; `sqrt(a) * sqrt(a)` is `a`, `a / sqrt(a)` is `sqrt(a)`, `sqrt(a * a)` is `|a|`, and the root of a product that of each factor that is never negative; the least is the negative of the
//! greatest of negatives, and the greater and the lesser of some, nested, have one form; roots of the greatest of what is never negative, and inverses where a number above 0 is among it, are the greatest root and the least inverse, and a factor of known sign stands outside (of the least where it is negative); the greatest of what is rounded to one dtype is the greatest, rounded. What is summed over a dimension with a factor that
//! is 1 at one place of it, and 0 at the others, is what stands there. A conversion to a wider float is nothing, nor is one to a narrower one of which every value is one. Integers that
//! surely do not wrap around are numbers. A choice by a comparison with a number is the one without the edge where both values are one there. `log(1 + exp(x))` is `x` above a number where both round to one. `log(1 + exp(-|x|))` is `log(1 + exp(x)) - max(x, 0)`. So is `y / (1 + exp(-x))` there `y`. `tanh(x)` is `2 * sigmoid(2 * x) - 1`, `tan(x)` is `sin(x) / cos(x)`, `cos(x) * cos(x)` is `1 - sin(x) * sin(x)`, `sin(2 * x)` is `2 * sin(x) * cos(x)` (up to eight times an element), `sin(x + pi / 2)` is `cos(x)`, `log(max(x * x, c))` is `2 * log(max(|x|, sqrt(c)))`, `sin(x + y)` is `sin(x) * cos(y) + cos(x) * sin(y)`,
//! `erfc(x)` is `1 - erf(x)`. What the host says is one of few small integers is a root of the product of what it is less each.
//! Numbers are equal where they round to one number of f32, or are nearer than any two of it are (of
//! f64: to a few units).
//!
//! ## When it is wrong
//! It says nothing of NaN, of what is not defined (a denominator of 0, the logarithm of a negative number, an overflow), or of rounding: those are
//! asked of both ends (`rounding`). The root of a product of two negative numbers is no product of roots: only factors that are never negative have roots of
//! their own. A conversion to a narrower float, a comparison and a choice are steps: functions of which nothing is known.

mod choice;
mod chosen;
mod ends;
mod extent;
mod greatest;
mod labels;
mod nested;
mod normal;
mod parts;
mod poly;
mod powers;
mod ring;
mod same;
mod steps;
mod zeros;

pub use ends::{LARGE, Met, POWERS};
pub(in crate::rules) use extent::Extent;
pub use extent::WORKING;
pub use normal::Field;
pub use zeros::BesideZero;
