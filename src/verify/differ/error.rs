//! When two runs on the same inputs show that two programs mean different things.
//!
//! What counts, output by output: dtype and sizes; an element that is finite, infinite or NaN on one side only; integers and bits; a wide
//! difference (the function is another); an error against the own wide run far beyond that of the first program (its rounding is worse); any
//! marked difference where one side rounds to a narrower dtype, or takes a discrete step, and the other does not. Promises: a
//! difference that rounding or a neighbour of the inputs explains is none. Leaves which inputs are tried to `mod`.

use crate::exec::{Tensor, Value};
use crate::graph::Dtype;
use crate::rules::rounding::flushed;
use crate::verify::differ::lab::Lab;
use crate::verify::differ::run::Ran;
use crate::verify::differ::subject::{Subject, roundoff};

/// What a regime allows to conclude.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ground {
    /// Inputs of the working range.
    Inside,
    /// One element is NaN: only a NaN that is hidden counts.
    Nan,
    /// Beyond the working range.
    Outside,
}

/// What a difference shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// Only the second program raises.
    Raises,
    /// Only the first program raises, by a call that is not dead.
    StopsRaising,
    /// Another number of outputs, dtype or size.
    Shape,
    /// Another value.
    Value,
    /// The same function, computed far worse.
    Precision,
    /// A rounding or discrete step that only one side has.
    Step,
    /// Finite, infinite or NaN on one side only.
    Definedness,
    /// NaN before, and not after.
    HiddenNan,
    /// Other bits, where bits are read.
    Bits,
    /// Which outputs share memory with what.
    Sharing,
    /// Another number of draws.
    Draws,
}

/// A difference that two runs show.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// What it shows.
    pub shows: Shows,
    /// Which output, or which input's final content.
    pub what: String,
    /// The element.
    pub index: Vec<usize>,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
    /// Its value in the first program's wide run.
    pub wide: Option<f64>,
    /// How far after lies from the wide value, in units of roundoff of the tensor's largest magnitude.
    pub units: Option<f64>,
}

/// One tensor that the caller sees, on both sides.
struct Slot<'a> {
    what: String,
    /// Where it stands in what a run leaves: output (and item), or input.
    at: At,
    exact: bool,
    before: &'a Value,
    after: &'a Value,
}

#[derive(Clone, Copy)]
enum At {
    Output(usize, usize),
    Input(usize),
}

impl At {
    fn of(self, ran: &Ran) -> Option<&Value> {
        match self {
            At::Output(k, item) => ran.outputs.get(k)?.items().get(item),
            At::Input(k) => ran.inputs.get(k),
        }
    }

    fn floats(self, ran: &Ran) -> Option<Vec<f64>> {
        parts(self.of(ran)?.as_tensor()?)
    }
}

fn found(shows: Shows, what: &str, before: String, after: String) -> Option<Difference> {
    Some(Difference { shows, what: what.into(), index: Vec::new(), before, after, wide: None, units: None })
}

/// Returns the first difference that two runs show.
pub fn compare(lab: &Lab<'_, '_>, ground: Ground, a: &Ran, b: &Ran) -> Option<Difference> {
    if a.outputs.len() != b.outputs.len() {
        let count = |r: &Ran| r.outputs.len().to_string();
        return found(Shows::Shape, "number of outputs", count(a), count(b));
    }
    let mut slots = Vec::new();
    for (k, (v, w)) in a.outputs.iter().zip(&b.outputs).enumerate() {
        let what = format!("output {k}");
        if v.items().len() != w.items().len() {
            return found(Shows::Shape, &what, v.items().len().to_string(), w.items().len().to_string());
        }
        let exact = a.places.get(k).is_some_and(|p| lab.subject.is_exact(*p));
        let items = v.items().iter().zip(w.items()).enumerate();
        slots.extend(items.map(|(i, (before, after))| Slot {
            what: what.clone(),
            at: At::Output(k, i),
            exact,
            before,
            after,
        }));
    }
    for (k, (v, w)) in a.inputs.iter().zip(&b.inputs).enumerate() {
        let touched = |v: &Value| v.as_tensor().is_some_and(|t| !t.storage.is_untouched());
        if touched(v) || touched(w) {
            let name = lab.subject.inputs.get(k).map_or("", |i| &i.name);
            let what = format!("input `{name}` in the end");
            slots.push(Slot { what, at: At::Input(k), exact: false, before: v, after: w });
        }
    }
    slots.iter().find_map(|s| slot(lab, ground, s))
}

fn slot(lab: &Lab<'_, '_>, ground: Ground, slot: &Slot<'_>) -> Option<Difference> {
    let (Value::Tensor(t), Value::Tensor(u)) = (slot.before, slot.after) else {
        return number(ground, slot);
    };
    if t.dtype() != u.dtype() || t.sizes() != u.sizes() {
        let show = |t: &Tensor| format!("{}{:?}", t.dtype(), t.sizes());
        return found(Shows::Shape, &slot.what, show(t), show(u));
    }
    let difference = match t.dtype() {
        d if d.is_complex() => floats(lab, ground, slot, t, u).map(|(part, d)| (part / 2, d)),
        d if d.is_float() => floats(lab, ground, slot, t, u),
        _ => whole(lab, ground, slot, t, u),
    };
    difference.map(|d| Difference { what: slot.what.clone(), index: place(t.sizes(), d.0), ..d.1 })
}

fn number(ground: Ground, slot: &Slot<'_>) -> Option<Difference> {
    let (v, w) = (slot.before.as_scalar(), slot.after.as_scalar());
    let (Some(x), Some(y)) = (v, w) else {
        let differ = slot.before.kind() != slot.after.kind();
        return found(Shows::Shape, &slot.what, slot.before.kind().into(), slot.after.kind().into()).filter(|_| differ);
    };
    let (p, q) = (x.to_f64(), y.to_f64());
    let is_float = matches!((slot.before, slot.after), (Value::Float(_), _) | (_, Value::Float(_)));
    let near = p == q || p.is_nan() && q.is_nan() || is_float && (p - q).abs() <= 1e-6 * p.abs();
    found(Shows::Value, &slot.what, p.to_string(), q.to_string()).filter(|_| !near && ground == Ground::Inside)
}

fn place(sizes: &[usize], mut element: usize) -> Vec<usize> {
    let mut out: Vec<usize> = Vec::with_capacity(sizes.len());
    for size in sizes.iter().rev() {
        out.push(element.checked_rem(*size).unwrap_or(0));
        element = element.checked_div(*size).unwrap_or(0);
    }
    out.reverse();
    out
}

/// An element's number, and what differs there.
type Hit = (usize, Difference);

fn hit(shows: Shows, at: usize, before: impl ToString, after: impl ToString) -> Hit {
    let (before, after) = (before.to_string(), after.to_string());
    (at, Difference { shows, what: String::new(), index: Vec::new(), before, after, wide: None, units: None })
}

// ---- integers and truth values

fn whole(lab: &Lab<'_, '_>, ground: Ground, slot: &Slot<'_>, t: &Tensor, u: &Tensor) -> Option<Hit> {
    let (x, y) = (t.lanes::<i64>().ok()?, u.lanes::<i64>().ok()?);
    let far = if lab.subject.integer_slack { 1 } else { 0 };
    let differs = |p: &i64, q: &i64| p.abs_diff(*q) > far;
    let at = x.iter().zip(y.iter()).position(|(p, q)| differs(p, q))?;
    let hit = || Some(hit(Shows::Value, at, x.get(at)?, y.get(at)?));
    let subject = lab.subject;
    let other_steps = subject.other_roundings() || subject.other_discrete();
    match ground {
        // Where a NaN goes, a mask may differ that hides nothing.
        Ground::Nan => None,
        Ground::Outside if !(subject.other_roundings() || slot.exact) => None,
        _ if slot.exact || other_steps || persists(lab, slot, far) => hit(),
        _ => None,
    }
}

/// Whether integers differ for neighbours of the inputs too: then no rounding in front of a step explains it.
fn persists(lab: &Lab<'_, '_>, slot: &Slot<'_>, far: u64) -> bool {
    let integers = |ran: &Ran| Some(slot.at.of(ran)?.as_tensor()?.lanes::<i64>().ok()?.to_vec());
    let differ = |(a, b): &(Ran, Ran)| match (integers(a), integers(b)) {
        (Some(x), Some(y)) => x.iter().zip(&y).any(|(p, q)| p.abs_diff(*q) > far),
        _ => false,
    };
    if lab.wide().is_some_and(differ) {
        let around = lab.around(1e-4, Some(crate::exec::Floats::Wide), 3);
        return around.len() == 3 && around.iter().all(differ);
    }
    let few = slot.before.as_tensor().is_some_and(|t| t.numel() <= 4096);
    if lab.wide().is_some() || !few {
        return false;
    }
    let around = lab.around(16.0 * lab.subject.unit(), None, 3);
    around.len() == 3 && around.iter().all(differ)
}

// ---- floats, and parts of complex numbers

/// The numbers of floats, or both parts of complex ones: which part of these is NaN, or infinite, is no matter.
fn parts(t: &Tensor) -> Option<Vec<f64>> {
    let mut all = t.parts().ok()?;
    if t.dtype().is_complex() {
        for pair in all.chunks_exact_mut(2) {
            let found =
                [f64::is_nan, f64::is_infinite].into_iter().find_map(|is| pair.iter().copied().find(|v| is(*v)));
            if let Some(v) = found {
                pair.fill(v.abs());
            }
        }
    }
    Some(all)
}

fn floats(lab: &Lab<'_, '_>, ground: Ground, slot: &Slot<'_>, t: &Tensor, u: &Tensor) -> Option<Hit> {
    let (x, y) = (parts(t)?, parts(u)?);
    let subject = lab.subject;
    let pairs = || x.iter().zip(y.iter());
    let at = |shows: Shows, k: usize| Some(hit(shows, k, x.get(k)?, y.get(k)?));
    if ground == Ground::Nan {
        return at(Shows::HiddenNan, pairs().position(|(p, q)| p.is_nan() && !q.is_nan())?);
    }
    let unlike =
        |p: &f64, q: &f64| p.is_nan() != q.is_nan() || (p.is_infinite() || q.is_infinite()) && p != q && !p.is_nan();
    let bits = |p: &f64, q: &f64| !(p.is_nan() && q.is_nan()) && p.to_bits() != q.to_bits();
    if ground == Ground::Outside && !subject.other_roundings() && !subject.reads_bits() {
        return None;
    }
    if let Some(k) = pairs().position(|(p, q)| unlike(p, q)) {
        return at(Shows::Definedness, k);
    }
    if subject.reads_bits() {
        return at(Shows::Bits, pairs().position(|(p, q)| bits(p, q))?);
    }
    if pairs().all(|(p, q)| p == q || p.is_nan()) {
        return None;
    }
    if slot.exact {
        return at(Shows::Value, pairs().position(|(p, q)| p != q && !p.is_nan())?);
    }
    if ground == Ground::Inside {
        let wide = lab.wide().and_then(|(a, b)| Some((slot.at.floats(a)?, slot.at.floats(b)?)));
        if let Some((ra, rb)) = wide
            && let Some(k) = function(lab, slot, (&x, &y), (&ra, &rb)).map(|k| (Shows::Value, k)).or_else(|| {
                precision(lab, slot, (&x, &y), (&ra, &rb), flushed(t.dtype())).map(|k| (Shows::Precision, k))
            })
        {
            let scale = largest(&ra) * roundoff(t.dtype());
            let (found, wide) = (y.get(k.1)?, ra.get(k.1)?);
            let mut out = at(k.0, k.1)?;
            (out.1.wide, out.1.units) = (Some(*wide), Some((found - wide).abs() / scale));
            return Some(out);
        }
    }
    at(Shows::Step, step(subject, ground, t.dtype(), &x, &y, lab, slot)?)
}

fn largest(all: &[f64]) -> f64 {
    all.iter().map(|v| v.abs()).filter(|v| v.is_finite()).fold(0.0, f64::max)
}

/// Absolute differences; 0 where a side is not finite.
fn apart(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(p, q)| (p - q).abs()).map(|d| if d.is_finite() { d } else { 0.0 }).collect()
}

fn worst(all: &[f64]) -> Option<(usize, f64)> {
    all.iter().copied().enumerate().fold(None, |best: Option<(usize, f64)>, (k, d)| match best {
        Some((_, b)) if b >= d => best,
        _ => Some((k, d)),
    })
}

type Two<'a> = (&'a [f64], &'a [f64]);

/// Whether the functions differ: wide runs are further apart than neighbours of the inputs are, and the own runs show it.
fn function(lab: &Lab<'_, '_>, slot: &Slot<'_>, (x, y): Two<'_>, (ra, rb): Two<'_>) -> Option<usize> {
    if ra.len() != x.len() || rb.len() != y.len() {
        return None;
    }
    let scale = largest(ra);
    if scale >= 1e30 {
        return None;
    }
    let (wide, own) = (apart(ra, rb), apart(x, y));
    let shown: Vec<f64> = wide.iter().zip(&own).map(|(w, o)| if *o >= 0.25 * w { *w } else { 0.0 }).collect();
    let (k, far) = worst(&shown)?;
    // What wide runs lose themselves: a thousand of their units of the largest value on the way.
    let (a, b) = lab.wide()?;
    let lost = 1e3 * roundoff(Dtype::F64) * a.magnitude.max(b.magnitude);
    if far <= (1e-6 * scale).max(lost) + 1e-30 {
        return None;
    }
    if lab.subject.other_discrete() {
        // Edges are where such steps differ: there neighbours are far apart by rights. Own and wide runs must agree on it.
        let agree = |o: &[f64], r: &[f64]| Some((o.get(k)? - r.get(k)?).abs() <= 0.125 * far);
        if agree(x, ra)? && agree(y, rb)? {
            return Some(k);
        }
    }
    (far > 16.0 * moved(lab, slot, k, (ra, rb))).then_some(k)
}

/// How far an element moves among neighbours of the inputs, on either side.
fn moved(lab: &Lab<'_, '_>, slot: &Slot<'_>, k: usize, (ra, rb): Two<'_>) -> f64 {
    let mut far: f64 = 0.0;
    for (a, b) in lab.near() {
        for (ran, wide) in [(a, ra), (b, rb)] {
            let Some(all) = slot.at.floats(ran) else { return f64::INFINITY };
            let d = all.get(k).zip(wide.get(k)).map_or(f64::INFINITY, |(p, q)| (p - q).abs());
            far = far.max(if d.is_nan() { f64::INFINITY } else { d });
        }
    }
    if lab.near().is_empty() { f64::INFINITY } else { far }
}

/// Whether the second program rounds far worse: each side against its own wide run.
fn precision(lab: &Lab<'_, '_>, slot: &Slot<'_>, (x, y): Two<'_>, (ra, rb): Two<'_>, flushed: f64) -> Option<usize> {
    let (old, new) = (apart(x, ra), apart(y, rb));
    let ((_, ea), (k, eb)) = (worst(&old)?, worst(&new)?);
    let unit = lab.subject.unit();
    let seen = apart(x, y).get(k).is_some_and(|d| *d >= 0.25 * eb);
    if !seen || eb <= 100.0 * ea + 1000.0 * unit * largest(ra) + flushed {
        return None;
    }
    // Neighbours are a unit of f32 away; errors of a coarser dtype are that much larger.
    let coarser = (unit / roundoff(Dtype::F32)).max(1.0);
    (eb > 16.0 * coarser * moved(lab, slot, k, (ra, rb))).then_some(k)
}

/// Whether a rounding or a discrete step without a partner shows.
fn step(
    subject: &Subject<'_>,
    ground: Ground,
    dtype: Dtype,
    x: &[f64],
    y: &[f64],
    lab: &Lab<'_, '_>,
    slot: &Slot<'_>,
) -> Option<usize> {
    let (k, far) = worst(&apart(x, y))?;
    let marked = far > 32.0 * roundoff(dtype) * largest(x).max(largest(y));
    if marked && subject.other_roundings() {
        return Some(k);
    }
    if !marked || !subject.other_discrete() || ground != Ground::Inside {
        return None;
    }
    // Not what rounding alone does: both sides lie near their own wide runs.
    let (a, b) = lab.wide()?;
    let error = |own: &[f64], ran: &Ran| Some((own.get(k)? - slot.at.floats(ran)?.get(k)?).abs());
    (error(x, a)? + error(y, b)? < 0.25 * far).then_some(k)
}
