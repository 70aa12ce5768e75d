//! Both programs on the same inputs, in their own dtypes and wide.
//!
//! Promises: each run begins with memory of its own and the same draws; a program that raises has run; what only the executor cannot do is no
//! run. Leaves what a difference means to `error`.

use std::sync::OnceLock;
use std::time::Instant;

use crate::exec::{self, ExecError, Floats, Kernels, Meta, Meter, Observer, Session, Step, Storage, Tensor, Value};
use crate::graph::{Bytes, Dtype, Graph, OutputKind, View};
use crate::sym::Dim;
use crate::verify::differ::error::Ground;
use crate::verify::differ::lies::Lies;
use crate::verify::differ::regimes::{self, Regime, Values, Wanted};
use crate::verify::differ::sizes::{self, Sizes};
use crate::verify::differ::subject::{Input, Kind, Subject};
use crate::verify::differ::trials::Trial;
use crate::verify::differ::witness::Held;

/// What a run leaves.
#[derive(Debug)]
pub struct Ran {
    /// What is returned to the caller.
    pub outputs: Vec<Value>,
    /// The place of each output in what the graph returns.
    pub places: Vec<usize>,
    /// The inputs, as the run left them.
    pub inputs: Vec<Value>,
    /// What is drawn next.
    pub next_draw: u64,
    /// Of a wide run: the largest magnitude that a value in it had, those left out that are no part of a sum of ordinary ones.
    pub magnitude: f64,
}

/// Larger magnitudes are masks and fills: what is added to them is lost on both sides.
const ORDINARY: f64 = 1e7;

/// Keeps the largest magnitude.
#[derive(Default)]
struct Largest(f64);

impl Observer for Largest {
    fn computed(&mut self, step: &Step<'_>) {
        let wide = |t: &&Tensor| matches!(t.dtype(), Dtype::F64 | Dtype::C128);
        for t in step.result.items().iter().filter_map(Value::as_tensor).filter(wide) {
            let Ok(all) = t.parts() else { continue };
            self.0 = all.iter().map(|v| v.abs()).filter(|v| *v < ORDINARY).fold(self.0, f64::max);
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub enum Run {
    /// At its end.
    Done(Ran),
    /// At a node that raises, for this reason.
    Raised(String, String),
    /// Nowhere: nothing is known of what the program does.
    Barred(String),
}

fn kernels() -> &'static Kernels {
    static KERNELS: OnceLock<Kernels> = OnceLock::new();
    KERNELS.get_or_init(Kernels::standard)
}

/// Returns the bytes that inputs of these sizes take; `None` where there are no such inputs.
pub fn bytes(subject: &mut Subject<'_>, sizes: &Sizes) -> Option<usize> {
    let mut symbols = std::mem::take(&mut subject.symbols);
    let bindings = sizes::bindings(sizes, &mut symbols);
    let mut total = Some(0_usize);
    for input in &subject.inputs {
        let Kind::Tensor(ty) = &input.kind else { continue };
        let count = ty.sizes.iter().try_fold(1_usize, |n, d| {
            let size = symbols.eval(*d, &bindings).ok().filter(|v| symbols.range_of(*d).contains(*v))?;
            n.checked_mul(usize::try_from(size).ok()?)
        });
        total = total.zip(count).and_then(|(t, n)| t.checked_add(n.checked_mul(ty.dtype.bytes().max(8))?));
    }
    subject.symbols = symbols;
    total
}

/// Where the values of inputs come from.
#[derive(Clone, Copy)]
pub enum From<'a> {
    /// A trial, varied by a number.
    Trial(&'a Trial, u64),
    /// A regime, of inputs that lie row by row.
    Regime(&'a Regime),
    /// What was kept.
    Held(&'a [Held]),
}

/// Makes the inputs of one trial; `None` where there are none of these sizes, or what was kept does not fit.
pub fn inputs(subject: &mut Subject<'_>, sizes: &Sizes, from: From<'_>) -> Option<Vec<Value>> {
    let (narrow, below) = (subject.is_narrow(), subject.integers_below);
    let mut symbols = std::mem::take(&mut subject.symbols);
    let bindings = sizes::bindings(sizes, &mut symbols);
    let number = |d: &Dim| symbols.eval(*d, &bindings).ok();
    let each = subject.inputs.iter().enumerate();
    let out = each.map(|(place, input)| one(input, place, from, (narrow, below), &number)).collect();
    subject.symbols = symbols;
    out
}

fn one(
    input: &Input,
    place: usize,
    from: From<'_>,
    (narrow, integers_below): (bool, Option<i64>),
    number: &dyn Fn(&Dim) -> Option<i64>,
) -> Option<Value> {
    let ty = match &input.kind {
        Kind::Fixed(value) => return Some(value.clone()),
        Kind::Size(dim) => return number(dim).map(Value::Int),
        Kind::Tensor(ty) => ty,
    };
    let all = |dims: &[Dim]| {
        dims.iter().map(|d| number(d).and_then(|n| usize::try_from(n).ok())).collect::<Option<Vec<usize>>>()
    };
    let sizes = all(&ty.sizes)?;
    let mut meta = Meta::contiguous(ty.dtype, &sizes);
    let stated = ty.strides.as_ref().and_then(|s| all(s));
    let (regime, shift) = match from {
        From::Trial(trial, shift) => (&trial.regime, shift),
        From::Regime(regime) => (regime, 0),
        From::Held(held) => {
            let fits = |h: &&Held| h.name == input.name && h.dtype == Some(ty.dtype) && h.sizes == sizes;
            let held = held.iter().find(fits)?;
            if let Some(strides) = stated.or_else(|| held.strides.clone()) {
                meta.strides = strides.as_slice().into();
            }
            return tensor(meta, &held.values).map(Value::Tensor);
        }
    };
    if let Some(strides) = stated.or_else(|| other_strides(from, &sizes)) {
        meta.strides = strides.as_slice().into();
    }
    let (count, row) = (meta.numel(), sizes.last().copied().unwrap_or(1));
    let wanted = Wanted {
        number: place,
        dtype: ty.dtype,
        count,
        row,
        domain: &input.domain,
        narrow,
        integers_below,
        weight: input.target.is_some(),
        on_the_way: input.on_the_way,
    };
    tensor(meta, &regimes::values(regime, wanted, shift)).map(Value::Tensor)
}

/// How an input lies of which nobody says it, where that is not row by row.
fn other_strides(from: From<'_>, sizes: &[usize]) -> Option<Vec<usize>> {
    match from {
        From::Trial(trial, _) if trial.lies != Lies::Contiguous => Some(trial.lies.strides(sizes)),
        _ => None,
    }
}

/// Returns what inputs may show, by their values.
pub fn ground(inputs: &[Value], narrow: bool) -> Ground {
    let numbers = |t: &&Tensor| t.dtype().is_float() || t.dtype().is_complex();
    let floats = inputs.iter().filter_map(Value::as_tensor).filter(numbers);
    let all: Vec<f64> = floats.filter_map(|t| t.parts().ok()).flatten().collect();
    // A few values of the regimes lie a little beyond the working range.
    let working = if narrow { 64.0 } else { 4096.0 };
    if all.iter().any(|v| v.abs() > working) {
        return Ground::Outside;
    }
    if all.iter().any(|v| v.is_nan()) { Ground::Nan } else { Ground::Inside }
}

/// Makes a tensor of these values; a complex one of real numbers, or of both parts of each.
pub fn tensor(meta: Meta, values: &Values) -> Option<Tensor> {
    let bytes = meta.needed().ok()?.max(1).checked_mul(meta.dtype.bytes())?;
    let is_complex = meta.dtype.is_complex();
    let out = Tensor::new(meta, Storage::new(vec![0_u8; bytes], &Meter::default())).ok()?;
    match values {
        Values::Floats(all) if all.len() == out.numel() => out.write(all).ok()?,
        Values::Floats(all) if is_complex && all.len() == out.numel().saturating_mul(2) => out.write_parts(all).ok()?,
        Values::Whole(all) if all.len() == out.numel() => out.write(all).ok()?,
        _ => return None,
    }
    let content = out.storage.read().ok()?.bytes().to_vec();
    Tensor::new(out.meta.clone(), Storage::mapped(Bytes::new(content), &Meter::default())).ok()
}

/// A value with memory of its own: writes of a run reach no other.
fn own(value: &Value, floats: Option<Floats>, meter: &Meter) -> Option<Value> {
    match value {
        Value::Tensor(t) => {
            if let Some(floats) = floats.filter(|f| f.of(t.dtype()) != t.dtype()) {
                return floats.hold(value, meter).ok();
            }
            let content = t.storage.read().ok()?.bytes().to_vec();
            let storage = Storage::mapped(Bytes::new(content), meter);
            Some(Value::Tensor(Tensor::new(t.meta.clone(), storage).ok()?))
        }
        other => Some(other.clone()),
    }
}

/// An input of that shape in the memory of another one, where it fits there.
fn within(twin: &Tensor, value: &Value, floats: Option<Floats>) -> Option<Value> {
    let t = value.as_tensor()?;
    let dtype = floats.map_or(t.dtype(), |f| f.of(t.dtype()));
    if dtype != twin.dtype() {
        return None;
    }
    let meta = Meta { dtype, ..t.meta.clone() };
    Tensor::new(meta, twin.storage.clone()).ok().map(Value::Tensor)
}

/// Makes inputs whose memory is the run's own; where that is asked for, those that may be one are.
fn given(
    subject: &Subject<'_>,
    inputs: &[Value],
    aliased: bool,
    floats: Option<Floats>,
    meter: &Meter,
) -> Option<Vec<Value>> {
    let mut given: Vec<Value> = Vec::with_capacity(inputs.len());
    for (value, input) in inputs.iter().zip(&subject.inputs) {
        let twin = input.twin.filter(|_| aliased).and_then(|t| given.get(t)).and_then(Value::as_tensor);
        let made = match twin.and_then(|t| within(t, value, floats)) {
            Some(shared) => shared,
            None => own(value, floats, meter)?,
        };
        given.push(made);
    }
    Some(given)
}

/// Runs a program of the pair.
pub fn run(
    subject: &Subject<'_>,
    graph: &Graph,
    inputs: &[Value],
    aliased: bool,
    floats: Option<Floats>,
    deadline: Instant,
) -> Run {
    let mut largest = Largest::default();
    let observer: &mut dyn Observer = if floats == Some(Floats::Wide) { &mut largest } else { &mut () };
    match watched(subject, graph, inputs, (aliased, floats), deadline, observer) {
        Run::Done(ran) => Run::Done(Ran { magnitude: largest.0, ..ran }),
        other => other,
    }
}

/// Runs a program of the pair, operators being what they are defined as: kernels that compute wider round less than that.
pub fn by_definition(
    subject: &Subject<'_>,
    graph: &Graph,
    inputs: &[Value],
    (aliased, floats): (bool, Option<Floats>),
    deadline: Instant,
) -> Run {
    let mut session = session(subject, floats, deadline);
    session.by_definition = true;
    in_session(subject, graph, inputs, aliased, session, &mut ())
}

fn session<'s>(subject: &Subject<'s>, floats: Option<Floats>, deadline: Instant) -> Session<'s> {
    let mut session = Session::new(subject.registry, kernels(), 1);
    session.floats = floats;
    session.deadline = Some(deadline);
    session.most_bytes = Some(subject.most_bytes);
    session
}

/// Runs a program of the pair and tells an observer of every call.
pub fn watched(
    subject: &Subject<'_>,
    graph: &Graph,
    inputs: &[Value],
    (aliased, floats): (bool, Option<Floats>),
    deadline: Instant,
    observer: &mut dyn Observer,
) -> Run {
    in_session(subject, graph, inputs, aliased, session(subject, floats, deadline), observer)
}

fn in_session(
    subject: &Subject<'_>,
    graph: &Graph,
    inputs: &[Value],
    aliased: bool,
    mut session: Session<'_>,
    observer: &mut dyn Observer,
) -> Run {
    let (floats, meter) = (session.floats, session.meter().clone());
    let Some(given) = given(subject, inputs, aliased, floats, &meter) else {
        return Run::Barred("an input cannot be made".into());
    };
    match exec::run_on(graph, &given, &mut session, observer) {
        Ok(returned) => done(subject, graph, returned, given, session),
        Err(ExecError::Node { node, source }) if !source.fault.is_ignorance() && is_the_programs(&source.fault) => {
            Run::Raised(node, source.to_string())
        }
        Err(other) => Run::Barred(other.to_string()),
    }
}

/// Whether a fault is the program's and not the executor's.
fn is_the_programs(fault: &crate::ops::CallFault) -> bool {
    !matches!(fault, crate::ops::CallFault::Symbol(_))
}

/// What the signature says becomes of inputs happens after all else, in order.
fn done(
    subject: &Subject<'_>,
    graph: &Graph,
    returned: Vec<Value>,
    inputs: Vec<Value>,
    mut session: Session<'_>,
) -> Run {
    let specs = graph.signature().map_or(&[][..], |s| &s.outputs);
    let mut ran = Ran { outputs: Vec::new(), places: Vec::new(), inputs, next_draw: 0, magnitude: 0.0 };
    for (place, value) in returned.into_iter().enumerate() {
        let spec = specs.get(place);
        let Some(spec) = spec.filter(|s| s.kind.is_mutation()) else {
            if spec.is_none_or(|s| s.kind != OutputKind::Token) {
                ran.outputs.push(value);
                ran.places.push(place);
            }
            continue;
        };
        let is_target = |i: &Input| match spec.kind {
            OutputKind::UserInputMutation => spec.target.as_deref() == Some(&i.name),
            _ => spec.target.is_some() && spec.target.as_deref() == i.target.as_deref(),
        };
        let at = subject.inputs.iter().position(is_target);
        let Some(Value::Tensor(to)) = at.and_then(|k| ran.inputs.get(k)) else {
            return Run::Barred("an output that changes an input names none".into());
        };
        match exec::copy_back(graph, place, (to, value.clone()), &mut session) {
            Ok(()) => {}
            Err(ExecError::Node { node, source }) if !source.fault.is_ignorance() && is_the_programs(&source.fault) => {
                return Run::Raised(node, source.to_string());
            }
            Err(other) => return Run::Barred(other.to_string()),
        }
    }
    ran.next_draw = session.random.bits();
    Run::Done(ran)
}
