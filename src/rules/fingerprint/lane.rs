//! One field: what each expression is at one place.
//!
//! Promises: equal expressions are equal numbers; degrees, sizes of coefficients and calls are counted, so that the chance that different ones are is known.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Form, SourceId};
use crate::rules::fingerprint::prime::{LEAST_LOG2, PRIMES_LOG2, Prime};
use crate::rules::fingerprint::{Over, Secret};
use crate::rules::table::Real;

/// What an expression is.
#[derive(Copy, Clone, Debug)]
pub(super) enum Value {
    /// An integer, or a truth.
    Known(i64),
    /// A number of the field.
    Number(Number),
    /// Nothing: it is divided by 0, or infinite.
    Undefined,
}

/// A number of the field: a quotient of polynomials at a point.
#[derive(Copy, Clone, Debug)]
pub(super) struct Number {
    pub(super) v: u64,
    /// The degree of the numerator, at most, and that of the denominator.
    pub(super) over: u64,
    pub(super) under: u64,
    /// How many bits the sum of the magnitudes of all coefficients of the numerator has, at most, and of the denominator.
    pub(super) above: u64,
    pub(super) below: u64,
}

/// A sum of numbers, each so many times.
pub(super) type Terms = SmallVec<[(Number, i64); 4]>;

/// What a function is that is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Tag {
    Load(SourceId),
    Form(Form, Dtype),
    Real(Real),
    Bits(Option<Dtype>, Dtype),
    AtLeastZero,
    IsZero,
    Divided,
    Remainder,
    Greatest,
}

/// One field.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) prime: Prime,
    key: [u8; 32],
    pub(super) over: Over,
    /// Whether a number is the fraction that it is the nearest to.
    pub(super) takes_fractions: bool,
    tags: FxHashMap<Tag, u64>,
    /// Of what some numbers are the greatest.
    pub(super) greatest: FxHashMap<u64, Rc<[Number]>>,
    /// Of what some numbers are sums and differences, each so many times.
    pub(super) sums: FxHashMap<u64, Terms>,
    /// How many numbers were held against others: functions are called with them, or the greatest is among them.
    compared: u64,
    inverses: u64,
    degree: u64,
    bits: u64,
}

impl Lane {
    /// Draws a field and a key.
    pub(super) fn draw(over: Over, takes_fractions: bool, secret: &mut Secret) -> Option<Self> {
        Some(Lane {
            prime: Prime::draw(secret)?,
            key: secret.bytes(),
            over,
            takes_fractions,
            tags: FxHashMap::default(),
            greatest: FxHashMap::default(),
            sums: FxHashMap::default(),
            compared: 0,
            inverses: 0,
            degree: 0,
            bits: 0,
        })
    }

    /// Whether two values are one.
    pub(super) fn are_one(&self, x: &Value, y: &Value) -> bool {
        match (x, y) {
            (Value::Known(x), Value::Known(y)) => x == y,
            (Value::Number(x), Value::Number(y)) => x.v == y.v,
            _ => false,
        }
    }

    /// Returns a bound on the chance, as a power of two, that any two of what was compared agree and are not one, of so many elements and all calls; `None` where there is none below 1.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn chance_log2(&self, elements: i64) -> Option<f64> {
        // Any two, and any one with the opposite of another.
        let compared = self.compared as f64;
        let pairs = compared * compared + elements as f64;
        let degree = 2.0 * self.degree.max(1) as f64;
        let field = 2.0_f64.powi(i32::try_from(LEAST_LOG2).ok()?) - self.inverses as f64 * degree;
        let bits = 2.0 * self.bits as f64 + 1.0;
        let vanishes = bits / (f64::from(LEAST_LOG2) * 2.0_f64.powf(PRIMES_LOG2));
        // What is drawn is a number of 128 bits, divided by the prime.
        let uneven = compared * 2.0_f64.powi(-66);
        let chance = pairs * (degree / field + vanishes) + uneven;
        (field > 0.0 && chance < 1.0).then(|| chance.log2())
    }

    // ---- numbers

    pub(super) fn made(&mut self, n: Number) -> Value {
        self.degree = self.degree.max(n.over).max(n.under);
        self.bits = self.bits.max(n.above).max(n.below);
        Value::Number(n)
    }

    pub(super) fn whole(&mut self, v: i64) -> Number {
        let above = u64::from(64_u32.saturating_sub(v.unsigned_abs().leading_zeros()));
        Number { v: self.prime.whole(v), over: 0, under: 0, above, below: 0 }
    }

    /// Returns a value as a number; `None` where it is none.
    pub(super) fn number(&mut self, value: &Value) -> Option<Number> {
        match value {
            Value::Known(v) => Some(self.whole(*v)),
            Value::Number(n) => Some(*n),
            Value::Undefined => None,
        }
    }

    pub(super) fn plus(&mut self, x: Number, y: Number) -> Value {
        self.made(Number {
            v: self.prime.plus(x.v, y.v),
            over: x.over.saturating_add(y.under).max(y.over.saturating_add(x.under)),
            under: x.under.saturating_add(y.under),
            above: x.above.saturating_add(y.below).max(y.above.saturating_add(x.below)).saturating_add(1),
            below: x.below.saturating_add(y.below),
        })
    }

    pub(super) fn minus(&self, x: Number) -> Number {
        Number { v: self.prime.minus(x.v), ..x }
    }

    pub(super) fn times(&mut self, x: Number, y: Number) -> Value {
        self.made(Number {
            v: self.prime.times(x.v, y.v),
            over: x.over.saturating_add(y.over),
            under: x.under.saturating_add(y.under),
            above: x.above.saturating_add(y.above),
            below: x.below.saturating_add(y.below),
        })
    }

    pub(super) fn quotient(&mut self, x: Number, y: Number) -> Value {
        self.inverses = self.inverses.saturating_add(1);
        let Some(v) = self.prime.inverse(y.v) else { return Value::Undefined };
        let inverse = Number { v, over: y.under, under: y.over, above: y.below, below: y.above };
        self.times(x, inverse)
    }

    // ---- functions of which nothing is known

    /// Returns what a function gives that is drawn: one number for equal operands.
    pub(super) fn call(&mut self, tag: Tag, operands: &[Value]) -> Value {
        let next = u64::try_from(self.tags.len()).unwrap_or(u64::MAX);
        let tag = *self.tags.entry(tag).or_insert(next);
        let mut bytes: SmallVec<[u8; 64]> = SmallVec::new();
        bytes.extend_from_slice(&tag.to_le_bytes());
        for operand in operands {
            let (kind, v) = match operand {
                Value::Known(v) => (0, v.cast_unsigned()),
                Value::Number(n) => (1, n.v),
                Value::Undefined => return Value::Undefined,
            };
            bytes.push(kind);
            bytes.extend_from_slice(&v.to_le_bytes());
        }
        self.count(1);
        let hash = blake3::keyed_hash(&self.key, &bytes);
        let drawn = hash.as_bytes().first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
        let v = self.prime.of(drawn);
        self.made(Number { v, over: 1, under: 0, above: 1, below: 0 })
    }

    pub(super) fn count(&mut self, numbers: usize) {
        self.compared = self.compared.saturating_add(u64::try_from(numbers).unwrap_or(u64::MAX));
    }

    /// Returns operands in an order that is theirs, whatever the one they were given in.
    pub(super) fn sorted(&mut self, operands: &[Value]) -> SmallVec<[Value; 3]> {
        let mut all: SmallVec<[Value; 3]> = operands.into();
        self.count(all.len());
        all.sort_by_key(|v| match v {
            Value::Known(v) => (0, v.cast_unsigned()),
            Value::Number(n) => (1, n.v),
            Value::Undefined => (2, 0),
        });
        all
    }

    /// Returns the greatest of some numbers, each of which may itself be the greatest of others.
    pub(super) fn greatest(&mut self, of: &[Number]) -> Value {
        let mut all: Vec<Number> = Vec::with_capacity(of.len());
        for n in of {
            match self.greatest.get(&n.v) {
                Some(inner) => all.extend_from_slice(inner),
                None => all.push(*n),
            }
        }
        self.count(all.len());
        all.sort_unstable_by_key(|n| n.v);
        all.dedup_by_key(|n| n.v);
        if let [one] = all.as_slice() {
            return Value::Number(*one);
        }
        let operands: Vec<Value> = all.iter().map(|n| Value::Number(*n)).collect();
        let made = self.call(Tag::Greatest, &operands);
        if let Value::Number(n) = made {
            self.greatest.insert(n.v, all.into());
        }
        made
    }

    pub(super) fn least(&mut self, of: &[Number]) -> Value {
        let opposite: Vec<Number> = of.iter().map(|n| self.minus(*n)).collect();
        match self.greatest(&opposite) {
            Value::Number(n) => Value::Number(self.minus(n)),
            other => other,
        }
    }
}
