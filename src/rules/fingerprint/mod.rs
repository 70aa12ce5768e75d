//! Fingerprints: two elements computed at every place of their tensor, over prime fields that were drawn after both were fixed.
//!
//! ## What it says
//! Elements of sources, and what functions give of which nothing is known (`exp`, a comparison, a conversion that rounds, the greatest of some), are
//! numbers drawn by a key; sums, products and quotients are those of the field; which element stands where is computed as it is. If two rational functions
//! of total degree at most d with integer coefficients of at most h bits differ, they agree at such a point with a chance of at most
//! d / (p - c d) after c denominators that are not 0 (Schwartz, "Fast probabilistic algorithms for verification of polynomial identities"; Zippel,
//! "Probabilistic algorithms for sparse polynomials"), and modulo a prime drawn from N all of their coefficients vanish with one of at most h / (60 N).
//! Of k calls of functions any two may agree so, and of n elements any. The chance is that of all of these, multiplied over fields that are drawn
//! one apart from the other, of which there are as many as bring it to 2^-50. Bit by bit, every operator that rounds is such a function.
//!
//! ## When it is wrong
//! With the chance that it states, so that what rests on it is checked, not proved. It says nothing of sizes other than those that were computed. Over the reals it says
//! nothing of NaN, of definedness or of rounding: these are asked as of what is proved, but that NaN may be looked for at every place, too. Where all
//! floats are of one dtype, a number that is the nearest to a fraction of small numbers is that fraction: it is a rounding away from it; in a wider dtype it would be many.

mod calls;
mod lane;
mod loops;
mod nan;
mod prime;
mod reals;
#[cfg(test)]
mod tests;

use crate::rules::definedness::hides_no_nan;
use crate::rules::element::arena::{Elements, ExprId};
use crate::rules::fingerprint::lane::Lane;
use crate::rules::fingerprint::loops::Loops;
use crate::rules::fingerprint::nan::Reach;
use crate::sym::Dim;

/// The greatest chance of a false accept, as a power of two, of all that is taken.
pub const ALL_LOG2: f64 = -40.0;
/// That of two elements: a thousand pairs may be taken.
const MOST_LOG2: f64 = -50.0;
/// How many fields there may be.
const LANES: usize = 5;
/// How many elements may be computed of two that are compared.
const WORK: usize = 400_000;

/// Whether elements are compared bit by bit, or over the reals.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Over {
    /// Operators that round are functions of which nothing is known.
    Bits,
    /// Sums, products and quotients are those of a field.
    Reals,
}

/// Where numbers come from that nobody knows.
#[derive(Debug)]
pub struct Secret {
    key: [u8; 32],
    drawn: u64,
}

impl Secret {
    /// Draws a key from the operating system; `None` where it gives none.
    pub fn draw() -> Option<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).ok()?;
        Some(Secret { key, drawn: 0 })
    }

    #[cfg(test)]
    pub(super) fn fixed(seed: u8) -> Self {
        Secret { key: [seed; 32], drawn: 0 }
    }

    fn bytes(&mut self) -> [u8; 32] {
        self.drawn = self.drawn.wrapping_add(1);
        *blake3::keyed_hash(&self.key, &self.drawn.to_le_bytes()).as_bytes()
    }

    fn next(&mut self) -> Option<u64> {
        self.bytes().first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

/// Returns a bound on the chance, as a power of two, that two elements of a tensor of these sizes differ though they agree in every field; `None` where they do
/// not agree, where that is too much work, where no bound is small enough, or where, over the reals, a NaN may reach the first and not the second.
/// Takes of the work that may be done what it costs.
pub fn agree(
    e: &mut Elements,
    sizes: &[Dim],
    ends: [ExprId; 2],
    over: Over,
    (secret, left): (&mut Secret, &mut usize),
) -> Option<f64> {
    let given = WORK.min(*left);
    let mut work = given;
    let chance = compared(e, sizes, ends, over, (secret, &mut work));
    *left = left.saturating_sub(given.saturating_sub(work));
    chance
}

fn compared(
    e: &mut Elements,
    sizes: &[Dim],
    [a, b]: [ExprId; 2],
    over: Over,
    (secret, work): (&mut Secret, &mut usize),
) -> Option<f64> {
    let loops = Loops::plan(e, sizes, [a, b])?;
    let mut chance = 0.0;
    for _ in 0..LANES {
        let mut lane = Lane::draw(over, loops.is_of_one_float, secret)?;
        loops.compare(e, &mut lane, work, |lane, x, y| lane.are_one(x, y))?;
        chance += lane.chance_log2(loops.places())?;
        if chance <= MOST_LOG2 {
            break;
        }
    }
    if chance > MOST_LOG2 {
        return None;
    }
    if over == Over::Reals && hides_no_nan(e, a, b) != Some(true) {
        let mut reach = Reach::new(Lane::draw(over, loops.is_of_one_float, secret)?);
        loops.compare(e, &mut reach, work, |reach, x, y| reach.is_complete() && x.is_shown_by(y))?;
    }
    e.applied.insert("fingerprints");
    Some(chance)
}
