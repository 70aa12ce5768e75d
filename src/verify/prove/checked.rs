//! Fingerprints, asked where no rule shows two values equal: what rests on them is checked, not proved.
//!
//! Promises: nothing is checked where another run is to say the same, since an edit that knows the numbers could be made for them; they are drawn once both graphs are
//! fixed; the chance that anything was taken wrongly, all in all, is at most 2^-40.

use crate::rules::element::arena::{Elements, ExprId};
use crate::rules::fingerprint::{self, Over, Secret};
use crate::sym::Dim;

/// How many elements may be computed for one judgement.
const WORK: usize = 1_200_000;

/// What is checked of a judgement.
#[derive(Debug)]
pub struct Checking {
    is_allowed: bool,
    /// Whether values are compared by fingerprints now: rules were asked before.
    pub now: bool,
    /// Whether anything agreed since: else rules showed what was compared.
    agreed: bool,
    secret: Option<Secret>,
    chance: f64,
    is_used: bool,
    /// How many elements may still be computed.
    left: usize,
}

impl Checking {
    /// Returns what may be checked where another run is to say the same, or need not.
    pub fn new(is_repeatable: bool) -> Self {
        Checking {
            is_allowed: !is_repeatable,
            now: false,
            agreed: false,
            secret: None,
            chance: 0.0,
            is_used: false,
            left: WORK,
        }
    }

    /// Begins to compare by fingerprints, where that is allowed.
    pub fn begin(&mut self) -> bool {
        (self.now, self.agreed) = (self.is_allowed, false);
        self.now
    }

    /// Whether anything may be checked.
    pub fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    /// Says that what was compared just now is taken.
    pub fn take(&mut self) {
        self.is_used |= self.now && self.agreed;
    }

    /// Returns a bound on the chance of a false accept, as a power of two, where anything that was taken is checked.
    pub fn bound_log2(&self) -> Option<f64> {
        self.is_used.then(|| self.chance.log2())
    }

    /// Whether two elements of a tensor agree.
    pub fn agree(&mut self, e: &mut Elements, sizes: &[Dim], ends: [ExprId; 2], over: Over) -> bool {
        if !(self.is_allowed && self.now) {
            return false;
        }
        if self.secret.is_none() {
            self.secret = Secret::draw();
        }
        let Some(secret) = &mut self.secret else { return false };
        let Some(log2) = fingerprint::agree(e, sizes, ends, over, (secret, &mut self.left)) else { return false };
        let chance = self.chance + 2.0_f64.powf(log2);
        if chance > 2.0_f64.powf(fingerprint::ALL_LOG2) {
            return false;
        }
        (self.chance, self.agreed) = (chance, true);
        true
    }
}
