//! Provers, in order of cost.
//!
//! - `congruence`: equal forms, equal children;
//! - `normal`: values element by element, by rules; `region`: which terms are looked into; `speak`: terms as calls that rules understand;
//! - `real`: values equal over the reals, with what that asks of both ends;
//! - `bounded`: how far rounding may take them;
//! - `carried`: whether what is equal over the reals only is no more than real numbers to what reads it;
//! - `checked`: fingerprints, where no rule shows two values equal;
//! - `endless`: what is equal over the reals only, beside what may be infinite or vanish;
//! - `poles`: what is equal over the reals only, where functions end;
//! - `partners`: which question of the other graph is the same;
//! - `remains`: what only the first of two values was made of that are equal over the reals only, and is computed with still;
//! - `tiny`: values that numbers of the graph make next to nothing;
//! - `sweep`: which values of both graphs may be one;
//! - `ways`: which values of a class stand for which, where some are equal over the reals only;
//! - `widen`: where congruence parts, the smallest terms around it that rules show equal.

mod bounded;
pub(in crate::verify) mod carried;
pub(in crate::verify) mod checked;
mod common;
pub(in crate::verify) mod congruence;
pub(in crate::verify) mod endless;
pub(in crate::verify) mod normal;
pub(in crate::verify) mod partners;
pub(in crate::verify) mod poles;
pub(in crate::verify) mod real;
mod region;
pub(in crate::verify) mod remains;
mod speak;
mod sweep;
mod tiny;
pub(in crate::verify) mod ways;
pub(in crate::verify) mod widen;
mod windows;
