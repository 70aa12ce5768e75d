//! Whole models, as exported and decomposed, compute what PyTorch computed: outputs, changed buffers and changed inputs.
//!
//! f32 is held to a relative 1.3e-6 times the square root of the longest reduction and an absolute 1e-5, narrow floats to 2^-7 of the tensor's
//! largest magnitude, everything else exactly. Of `random_dropout` shapes and dtypes are compared: its numbers are another generator's.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use airlock::exec::{
    Execution, Kernels, Meta, Meter, Observer, Session, Step, Storage, Tensor, Tolerance, Value, compare, run,
};
use airlock::formats::pt2;
use airlock::formats::recording::{self, Recorded, Recording};
use airlock::graph::{Arg, Dtype, Model, View};
use airlock::ops::Registry;

/// The longest sum of a run: the error of a sum grows with the square root of its length.
struct Longest(usize);

impl Observer for Longest {
    fn computed(&mut self, step: &Step<'_>) {
        let sizes =
            |i: usize| step.args.get(i).and_then(Value::as_tensor).map(|t| t.sizes().to_vec()).unwrap_or_default();
        let length = match step.graph.target(step.node).split('.').nth(1).unwrap_or("") {
            "addmm" | "baddbmm" => *sizes(1).last().unwrap_or(&1),
            "convolution" | "conv1d" | "conv2d" => sizes(1).iter().skip(1).product(),
            "mm" | "bmm" | "matmul" | "linear" | "lstm" | "scaled_dot_product_attention" => {
                *sizes(0).last().unwrap_or(&1)
            }
            "sum" | "mean" | "native_layer_norm" | "layer_norm" | "native_group_norm" => sizes(0).iter().product(),
            _ => 1,
        };
        self.0 = self.0.max(length);
    }
}

fn value(recorded: &Recorded) -> Value {
    match recorded {
        Recorded::Tensor(ty, bytes) => {
            let storage = Storage::mapped(bytes.clone(), &Meter::default());
            Value::Tensor(Tensor::new(Meta::of(ty).unwrap(), storage).unwrap())
        }
        Recorded::Literal(Arg::None) => Value::None,
        Recorded::Literal(Arg::Bool(v)) => Value::Bool(*v),
        Recorded::Literal(Arg::Int(v)) => Value::Int(*v),
        Recorded::Literal(Arg::Float(v)) => Value::Float(*v),
        Recorded::Literal(other) => Value::Literal(other.clone()),
    }
}

fn tolerance(dtype: Dtype, longest: usize) -> Tolerance {
    match dtype {
        Dtype::F32 | Dtype::C64 => Tolerance::Close { rtol: 1.3e-6 * (longest as f64).sqrt(), atol: 1e-5 },
        Dtype::F64 | Dtype::C128 => Tolerance::Close { rtol: 1e-7, atol: 1e-7 },
        d if d.is_float() => Tolerance::OfLargest(1.0 / 128.0),
        _ => Tolerance::Exact,
    }
}

fn differs(name: &str, found: &Value, recorded: Option<&Recorded>, longest: usize, random: bool) -> Option<String> {
    let Some(recorded) = recorded else { return Some(format!("{name} is not in the recording")) };
    match (found, value(recorded)) {
        (Value::Tensor(a), Value::Tensor(b)) if random => {
            (a.dtype() != b.dtype() || a.sizes() != b.sizes()).then(|| format!("{name}: another dtype or shape"))
        }
        (Value::Tensor(a), Value::Tensor(b)) => match compare(a, &b, tolerance(b.dtype(), longest)) {
            Ok(c) => c.first.map(|(at, own, theirs)| format!("{name}: element {at} is {own}, recorded {theirs}")),
            Err(fault) => Some(format!("{name}: {fault}")),
        },
        (a, b) => {
            let same = match (a.as_scalar(), b.as_scalar()) {
                (Some(x), Some(y)) => x.to_f64() == y.to_f64(),
                _ => format!("{a:?}") == format!("{b:?}"),
            };
            (!same).then(|| format!("{name}: {a:?}, recorded {b:?}"))
        }
    }
}

fn problems(outcome: &Execution, recording: &Recording, longest: usize, random: bool) -> Vec<String> {
    let mut found = Vec::new();
    if outcome.outputs.len() < recording.outputs.len() {
        found.push(format!("{} outputs, {} recorded", outcome.outputs.len(), recording.outputs.len()));
    }
    for (i, output) in outcome.outputs.iter().enumerate() {
        found.extend(differs(&format!("out_{i}"), output, recording.outputs.get(i), longest, random));
    }
    for (name, t) in &outcome.buffers {
        let t = Value::Tensor(t.clone());
        found.extend(differs(&format!("buffer {name}"), &t, recording.buffers.get(name), longest, random));
    }
    for (i, t) in &outcome.inputs {
        let t = Value::Tensor(t.clone());
        found.extend(differs(&format!("input {i}"), &t, recording.changed.get(i), longest, random));
    }
    let missing = recording.buffers.keys().filter(|k| !outcome.buffers.iter().any(|(n, _)| n == *k));
    found.extend(missing.map(|k| format!("buffer {k} was not changed")));
    let missing = recording.changed.keys().filter(|k| !outcome.inputs.iter().any(|(n, _)| n == *k));
    found.extend(missing.map(|k| format!("input {k} was not changed")));
    found
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).collect();
    let older = root.join("older");
    if older.is_dir() {
        for version in std::fs::read_dir(older).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()) {
            found.extend(std::fs::read_dir(version).unwrap().map(|e| e.unwrap().path()));
        }
    }
    found.retain(|p| p.join("io.safetensors").exists());
    found.sort();
    found
}

/// Every recorded program: its name, its file, and what PyTorch computed.
pub fn programs() -> Vec<(String, PathBuf, Recording)> {
    let root = match std::env::var("AIRLOCK_CORPUS") {
        Ok(corpus) => Path::new(&corpus).join("models"),
        Err(_) => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models"),
    };
    let mut found = Vec::new();
    for folder in folders(&root) {
        for path in ["core.pt2", "train.pt2"].map(|form| folder.join(form)).into_iter().filter(|p| p.exists()) {
            let name = path.strip_prefix(&root).unwrap().with_extension("").display().to_string();
            found.push((name, path, recording::read(&folder.join("io.safetensors")).unwrap()));
        }
    }
    found
}

/// Runs a model on recorded inputs and says what is not as it was recorded.
pub fn differences(name: &str, model: &Model, recording: &Recording, random: bool) -> Vec<String> {
    static KERNELS: LazyLock<(Registry, Kernels)> = LazyLock::new(|| (Registry::standard(), Kernels::standard()));
    let mut longest = Longest(1);
    let mut session = Session::new(&KERNELS.0, &KERNELS.1, 0);
    let found = match run(model, recording.inputs.iter().map(value).collect(), &mut session, &mut longest) {
        Err(e) => vec![e.to_string()],
        Ok(outcome) => problems(&outcome, recording, longest.0, random),
    };
    found.into_iter().map(|p| format!("{name}: {p}")).collect()
}

#[test]
fn every_model_computes_what_was_recorded() {
    let registry = Registry::standard();
    let programs = programs();
    let mut wrong = Vec::new();
    for (name, path, recording) in &programs {
        let model = pt2::read(path, &registry).unwrap();
        wrong.extend(differences(name, &model, recording, name.contains("random_dropout")));
    }
    println!("{} programs", programs.len());
    assert!(!programs.is_empty());
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
