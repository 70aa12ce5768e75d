//! Python's `repr` of floats: what PyTorch prints, and writes as JSON.
//!
//! Promises: what is written reads back to the same value, bit by bit but for the payload of a NaN.

use std::fmt::Write as _;

/// Appends a float.
pub fn float(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("nan");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else {
        finite(out, value, ".0");
    }
}

/// Appends a finite float; one without fraction ends in `whole` (nothing, inside complex numbers).
pub(super) fn finite(out: &mut String, value: f64, whole: &str) {
    // Both languages print the shortest digits that read back to the same value; only the form differs: an exponent below 1e-4 and from 1e16.
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // Writing to a String cannot fail.
    let _ = if (-4..16).contains(&exponent) {
        write!(out, "{value}{}", if value.fract() == 0.0 { whole } else { "" })
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{digits}e{sign}{:02}", exponent.unsigned_abs())
    };
}
