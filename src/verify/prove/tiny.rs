//! Values that numbers of the graph make next to nothing.
//!
//! Promises: where what a value is made of lies in the working range, it is no more than what is told here. Only what lies far below that is told: there products and quotients fall under their dtype, and what
//! is made larger again has lost its places.

use rustc_hash::FxHashMap;

use crate::graph::Dtype;
use crate::rules::element::arena::{Form, SourceId};
use crate::rules::field::WORKING;
use crate::rules::meaning::Meant;
use crate::rules::rounding::{self, Interval};
use crate::term::store::ValueId;
use crate::verify::functional::values::Functional;
use crate::verify::prove::bounded::SMALLEST_BOX;
use crate::verify::prove::speak::Lowering;
use crate::verify::prove::{poles, real};

/// How often what a value is made of is looked into anew.
const DEEP: usize = 16;

/// What is less is next to nothing: a thousandth of it lies in no box of inputs.
const NEXT_TO_NOTHING: f64 = SMALLEST_BOX * WORKING;

/// How large values are that are next to nothing, as far as it was asked.
pub(super) type Magnitudes = FxHashMap<ValueId, Option<f64>>;

/// The largest magnitude of what is read, where that is next to nothing; `None` of anything else.
pub(super) fn magnitude_of(l: &mut Lowering<'_, '_>, source: SourceId, known: &mut Magnitudes) -> Option<f64> {
    let value = real::made(l, source)?;
    magnitude(l.f, value, known, DEEP)
}

fn magnitude(f: &mut Functional<'_>, value: ValueId, known: &mut Magnitudes, depth: usize) -> Option<f64> {
    let key = f.store.find(value);
    if let Some(found) = known.get(&key) {
        return *found;
    }
    // What stands below itself adds nothing.
    known.insert(key, None);
    let depth = depth.checked_sub(1)?;
    let [_, most] = poles::TERMS;
    let found = poles::looked_into(f, value, most, |l| {
        let Meant::One(x) = l.meant(value)? else { return None };
        let mut tiny: FxHashMap<SourceId, f64> = FxHashMap::default();
        for id in l.speaker.e.below(x.expr) {
            if let Some(Form::Load(source, _)) = l.speaker.e.expr(id).map(|x| x.form.clone()) {
                let own = real::made(l, source).and_then(|made| magnitude(l.f, made, known, depth));
                tiny.extend(own.map(|most| (source, most)));
            }
        }
        let sources = |source: Option<SourceId>, _: Dtype| {
            let most = source.and_then(|s| tiny.get(&s)).copied().unwrap_or(WORKING);
            Interval::new(-most, most)
        };
        rounding::range(&mut l.speaker.e, x.expr, &sources).map(Interval::most)
    });
    let found = found.filter(|most| *most > 0.0 && *most < NEXT_TO_NOTHING);
    known.insert(key, found);
    found
}
