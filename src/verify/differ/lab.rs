//! One trial: inputs, both runs, and what further runs on the same inputs say. Each further run is made when it is asked for.
//!
//! Promises: a wide run is that of the same inputs; neighbours lie within the relative distance asked for, zeros stay. Leaves tests to
//! `error`.

use std::cell::OnceCell;
use std::time::Instant;

use crate::exec::{Floats, Meta, Meter, Value};
use crate::formats::text::domain::Domain;
use crate::graph::Dtype;
use crate::verify::differ::regimes::Values;
use crate::verify::differ::run::{self, Ran, Run};
use crate::verify::differ::subject::{Subject, roundoff};

/// Both programs, run.
pub type Pair = (Ran, Ran);

/// One trial.
pub struct Lab<'a, 's> {
    /// The pair.
    pub subject: &'a Subject<'s>,
    /// The inputs.
    pub inputs: &'a [Value],
    /// Whether inputs that may be the same memory are.
    pub aliased: bool,
    /// When runs end.
    pub deadline: Instant,
    wide: OnceCell<Option<Pair>>,
    near: OnceCell<Vec<Pair>>,
}

/// How many neighbours are asked.
const NEIGHBOURS: u64 = 2;
/// How far inputs beside others lie, in units of roundoff.
const UNITS: f64 = 8.0;

impl<'a, 's> Lab<'a, 's> {
    /// Makes a trial; nothing is run yet.
    pub fn new(subject: &'a Subject<'s>, inputs: &'a [Value], aliased: bool, deadline: Instant) -> Self {
        Lab { subject, inputs, aliased, deadline, wide: OnceCell::new(), near: OnceCell::new() }
    }

    /// Runs both programs in their own dtypes, or with f64 as f32.
    pub fn own(&self, floats: Option<Floats>) -> (Run, Run) {
        let run = |graph| run::run(self.subject, graph, self.inputs, self.aliased, floats, self.deadline);
        (run(self.subject.before), run(self.subject.after))
    }

    fn both(&self, inputs: &[Value], floats: Option<Floats>) -> Option<Pair> {
        let run = |graph| match run::run(self.subject, graph, inputs, self.aliased, floats, self.deadline) {
            Run::Done(ran) => Some(ran),
            _ => None,
        };
        Some((run(self.subject.before)?, run(self.subject.after)?))
    }

    /// Returns both programs' wide runs without floats; `None` where there is one that cannot be made.
    pub fn wide(&self) -> Option<&Pair> {
        self.wide.get_or_init(|| self.both(self.inputs, Some(Floats::Wide))).as_ref()
    }

    /// Returns wide runs of neighbours at one unit of f32: how far values move there, rounding of literals moves them too.
    pub fn near(&self) -> &[Pair] {
        self.near.get_or_init(|| self.around(f64::from(f32::EPSILON), Some(Floats::Wide), NEIGHBOURS))
    }

    /// Returns runs of both programs on inputs that lie within a relative distance.
    pub fn around(&self, distance: f64, floats: Option<Floats>, count: u64) -> Vec<Pair> {
        let runs = (1..=count).filter_map(|seed| {
            let moved = self
                .inputs
                .iter()
                .enumerate()
                .map(|(k, v)| moved(v, distance, seed.wrapping_mul(977).wrapping_add(k as u64), floats));
            self.both(&moved.collect::<Option<Vec<Value>>>()?, floats)
        });
        runs.collect()
    }
}

impl Lab<'_, '_> {
    /// Runs the first program on inputs a few units of roundoff beside, by its kernels and by definition, and wide on the same; f64 as f32, or in its own dtypes.
    pub fn first_beside(&self, seed: u64, floats: Option<Floats>) -> Option<(Vec<Ran>, Ran)> {
        let unit = if floats.is_some() { roundoff(Dtype::F32) } else { 0.0 };
        let distance = UNITS * self.subject.unit().max(unit);
        let each = self.inputs.iter().zip(&self.subject.inputs).enumerate();
        let inputs = each.map(|(k, (value, input))| match input.domain {
            // What is stated number by number stays.
            Domain::OneOf(_) | Domain::Is(_) | Domain::Integers { .. } => Some(value.clone()),
            _ => moved(value, distance, seed.wrapping_mul(977).wrapping_add(k as u64), None),
        });
        let inputs = inputs.collect::<Option<Vec<Value>>>()?;
        let inputs = if floats.is_some() { singles(&inputs)? } else { inputs };
        let (subject, graph) = (self.subject, self.subject.before);
        let run = |floats| run::run(subject, graph, &inputs, self.aliased, floats, self.deadline);
        let defined = run::by_definition(subject, graph, &inputs, (self.aliased, floats), self.deadline);
        let done = |ran| if let Run::Done(ran) = ran { Some(ran) } else { None };
        let wide = done(run(Some(Floats::Wide)))?;
        Some(([run(floats), defined].into_iter().filter_map(done).collect(), wide))
    }
}

/// Returns values whose f64 are numbers of f32.
pub fn singles(inputs: &[Value]) -> Option<Vec<Value>> {
    let meter = Meter::default();
    let single = |v: &Value| match v {
        Value::Tensor(t) if Floats::Single.of(t.dtype()) != t.dtype() => {
            let near = Floats::Single.hold(v, &meter).ok()?;
            let meta = Meta { offset: 0, ..t.meta.clone() };
            run::tensor(meta, &Values::Floats(near.as_tensor()?.parts().ok()?)).map(Value::Tensor)
        }
        other => Some(other.clone()),
    };
    inputs.iter().map(single).collect()
}

/// Returns a value whose floats are moved by up to that part of them; wide where the run is.
#[allow(clippy::cast_precision_loss, clippy::float_arithmetic)]
fn moved(value: &Value, distance: f64, seed: u64, floats: Option<Floats>) -> Option<Value> {
    let Value::Tensor(t) = value else { return Some(value.clone()) };
    if !t.dtype().is_float() && !t.dtype().is_complex() {
        return Some(value.clone());
    }
    let dtype = floats.map_or(t.dtype(), |f| f.of(t.dtype()));
    let hash = |i: u64| {
        let z = i.wrapping_add(seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((z ^ (z >> 32)) >> 11) as f64 / 4_503_599_627_370_496.0 - 1.0
    };
    let values = t.parts().ok()?;
    let all = values.iter().zip(0_u64..).map(|(v, i)| v * (1.0 + distance * hash(i))).collect();
    let meta = Meta { dtype, offset: 0, ..t.meta.clone() };
    run::tensor(meta, &Values::Floats(all)).map(Value::Tensor)
}
