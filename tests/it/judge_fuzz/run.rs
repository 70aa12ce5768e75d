//! Running a program: inputs from a seed, what the caller sees afterwards, and operators that nobody described.
//!
//! An undescribed operator (`demo.*`) is played by a demon: an observer that after each of its calls scrambles what the operator may touch, from
//! a state that depends on every call so far and on all memory that it may read. Two programs that differ in merged, dropped, doubled or reordered
//! calls, or in writes moved across them, then differ in what they leave. Promises: the same program, binding and demon give the same run.

use std::sync::OnceLock;

use airlock::exec::{self, ExecError, Kernels, Meta, Meter, Observer, Session, Step, Storage, Tensor, Value};
use airlock::formats::text::{self, ReadOptions};
use airlock::graph::{Dtype, Graph, Model, View};
use airlock::ops::{CallFault, Registry};

use super::program::{Input, Program};
use super::random::{Rng, mix};

/// The operators that the judge knows: no `demo.*` among them.
pub fn registry() -> &'static std::sync::Arc<Registry> {
    static R: OnceLock<std::sync::Arc<Registry>> = OnceLock::new();
    R.get_or_init(|| std::sync::Arc::new(Registry::standard()))
}

/// The operators of a run: `demo.*` have a body there. With `sharing` their results are their operands' memory.
pub fn run_registry(sharing: bool) -> &'static Registry {
    static R: OnceLock<[Registry; 2]> = OnceLock::new();
    let make = |sharing: bool| {
        let mut registry = Registry::standard();
        let keep = if sharing { "alias" } else { "clone" };
        let one = |name: &str, params: &str, result: &str, names: &str, lines: &str, out: &str| {
            format!(
                "[[op]]\nname = \"demo.{name}.default\"\nschema = \"demo::{name}({params}) -> {result}\"\nmeaning = \"\"\"\nclass GraphModule(torch.nn.Module):\n    def forward(self, {names}):\n{lines}        return ({out})\n\"\"\"\n"
            )
        };
        let own = if sharing { "Tensor(a)" } else { "Tensor" };
        let line = format!("        r = torch.ops.aten.{keep}.default(x)\n");
        let file = [
            one("one", &format!("{own} x"), own, "x", &line, "r,"),
            one("two", &format!("{own} x, Tensor y"), own, "x, y", &line, "r,"),
            one("none", "Tensor x", "()", "x", "", ""),
        ];
        airlock::formats::operators::extend(&mut registry, "demo.toml", &file.join("\n")).unwrap();
        registry
    };
    &R.get_or_init(|| [make(false), make(true)])[usize::from(sharing)]
}

/// The kernels.
pub fn kernels() -> &'static Kernels {
    static K: OnceLock<Kernels> = OnceLock::new();
    K.get_or_init(Kernels::standard)
}

/// What an undescribed operator does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demon {
    /// Whether its results are its operands' memory.
    pub sharing: bool,
    /// Whether it writes what it may touch; else it only reads.
    pub writes: bool,
    /// Whether it remembers all memory that it ever saw, inputs included.
    pub remembers: bool,
}

/// With what a program is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    pub symbols: Vec<i64>,
    /// Whether inputs that may be the same memory are.
    pub alias: bool,
    pub seed: u64,
    pub demon: Demon,
}

/// What the caller sees.
pub struct Seen {
    /// The node that raised, and why.
    pub raised: Option<(String, String)>,
    pub outputs: Vec<Value>,
    /// Inputs as they are in the end.
    pub finals: Vec<(String, Tensor)>,
    /// What is drawn next.
    pub next_draw: u64,
    pub demon: u64,
}

/// Why nothing can be said of a run.
#[derive(Debug)]
#[allow(dead_code)]
pub struct NotRun(pub String);

/// Reads a program's text.
pub fn read(program: &Program, plain: bool) -> Result<Graph, String> {
    text::read(&program.text(plain), &ReadOptions::of_file("p.fx")).map_err(|e| e.render())
}

/// Makes a tensor of values that fit its dtype. `tame` leaves out what makes calls raise.
pub fn filled(dtype: Dtype, sizes: &[usize], strides: &[usize], rng: &mut Rng, tame: bool, meter: &Meter) -> Tensor {
    let meta = Meta { dtype, sizes: sizes.into(), strides: strides.into(), offset: 0 };
    // No byte more than its elements reach: what reads beyond them raises.
    let n = meta.needed().unwrap_or(0).max(1);
    let storage = match dtype.bytes() {
        1 => Storage::new(vec![0_u8; n], meter),
        2 => Storage::new(vec![0_u16; n], meter),
        4 => Storage::new(vec![0_u32; n], meter),
        width => Storage::new(vec![0_u64; n * width / 8], meter),
    };
    scramble(&storage, dtype, rng, tame);
    Tensor::new(meta, storage).unwrap()
}

/// Fills a storage with numbers of a dtype.
fn scramble(storage: &Storage, dtype: Dtype, rng: &mut Rng, tame: bool) {
    let Ok(mut content) = storage.write() else { return };
    for cell in content.bytes_mut().chunks_exact_mut(dtype.bytes()) {
        let v = float(rng, tame);
        let i = if rng.percent(80) { rng.between(0, 1) } else { rng.between(if tame { 0 } else { -1 }, 3) };
        match dtype {
            Dtype::F64 => cell.copy_from_slice(&v.to_le_bytes()),
            Dtype::F32 => cell.copy_from_slice(&(v as f32).to_le_bytes()),
            Dtype::F16 => cell.copy_from_slice(&half::f16::from_f64(v).to_le_bytes()),
            Dtype::Bf16 => cell.copy_from_slice(&half::bf16::from_f64(v).to_le_bytes()),
            Dtype::Bool => cell[0] = u8::from(rng.percent(if tame { 75 } else { 60 })),
            Dtype::U8 => cell[0] = i.unsigned_abs() as u8,
            Dtype::C64 => {
                cell[..4].copy_from_slice(&(v as f32).to_le_bytes());
                cell[4..].copy_from_slice(&(float(rng, tame) as f32).to_le_bytes());
            }
            _ => {
                let n = cell.len();
                cell.copy_from_slice(&i.to_le_bytes()[..n]);
            }
        }
    }
}

fn float(rng: &mut Rng, tame: bool) -> f64 {
    match rng.below(20) {
        0 => 0.0,
        1 => -0.0,
        2 => 1.0,
        3 if !tame => f64::NAN,
        4 => 0.5,
        5 => -3.25,
        6 => 2.0,
        7 => rng.between(-900, 900) as f64 * 1.1,
        _ => rng.between(-4000, 4000) as f64 / 977.0,
    }
}

/// Makes the inputs.
pub fn inputs(program: &Program, binding: &Binding, tame: bool, meter: &Meter) -> Vec<(String, Value)> {
    let mut rng = Rng::new(binding.seed);
    let mut out: Vec<(String, Value)> = Vec::new();
    for input in &program.inputs {
        let seed = rng.bits();
        let twin = program.may_alias.iter().find(|(_, b)| *b == input.name && binding.alias);
        let twin = twin.and_then(|(a, _)| program.inputs.iter().position(|i| i.name == *a));
        let place = |i: &Input| (i.dtype.clone(), i.sizes_at(&binding.symbols), i.strides_at(&binding.symbols));
        let value = match twin {
            Some(k) if k < out.len() && place(&program.inputs[k]) == place(input) => out[k].1.clone(),
            _ if input.dtype == "int" => Value::Int(input.sizes[0].at(&binding.symbols)),
            _ => {
                let dtype = Dtype::from_short(&input.dtype).unwrap();
                let (_, sizes, strides) = place(input);
                Value::Tensor(filled(dtype, &sizes, &strides, &mut Rng::new(seed), tame, meter))
            }
        };
        out.push((input.name.clone(), value));
    }
    out
}

struct Haunted {
    demon: Demon,
    state: u64,
    known: Vec<Tensor>,
}

/// A run makes no more calls than this: edits and shrinking can make loops that never end.
const MOST_CALLS: u64 = 20_000;

impl Haunted {
    fn see(&mut self, value: &Value) {
        match value {
            Value::Tensor(t) => self.known.push(t.clone()),
            Value::List(all) => all.iter().for_each(|v| self.see(v)),
            _ => {}
        }
    }

    fn call(&mut self, step: &Step<'_>) {
        if !self.demon.remembers {
            self.known.clear();
        }
        step.args.iter().for_each(|v| self.see(v));
        let results = self.known.len();
        self.see(step.result);
        for b in step.graph.target(step.node).bytes() {
            self.state = mix(self.state ^ u64::from(b)).wrapping_add(1);
        }
        for t in &self.known {
            self.state = mix(self.state ^ digest(t));
        }
        // Results are written in any case: they are the operator's to make.
        let from = if self.demon.writes { 0 } else { results };
        for t in self.known.iter().skip(from) {
            self.state = mix(self.state).wrapping_add(1);
            perturb(t, self.state);
        }
    }
}

impl Observer for Haunted {
    fn computed(&mut self, step: &Step<'_>) {
        if step.graph.target(step.node).starts_with("demo.") {
            self.call(step);
        }
    }
}

/// Returns where in its storage each element begins, in the order of its elements.
pub fn places(t: &Tensor) -> Vec<usize> {
    let mut out = vec![t.meta.offset];
    for (size, stride) in t.meta.sizes.iter().zip(&t.meta.strides) {
        out = out.into_iter().flat_map(|base| (0..*size).map(move |k| base + k * stride)).collect();
    }
    out.into_iter().map(|p| p * t.dtype().bytes()).collect()
}

/// Returns the bytes of its elements, in the order of its elements.
pub fn elements(t: &Tensor) -> Vec<u8> {
    let width = t.dtype().bytes();
    let Ok(content) = t.storage.read() else { return Vec::new() };
    let bytes = content.bytes();
    places(t).into_iter().flat_map(|p| bytes.get(p..p + width).unwrap_or(&[]).to_vec()).collect()
}

fn digest(t: &Tensor) -> u64 {
    let (bytes, width) = (elements(t), t.dtype().bytes());
    let width = if t.dtype().is_complex() { width / 2 } else { width };
    // Which NaN it is nobody says: products of a NaN and another number differ by the order of their operands.
    let exponent: u64 = match t.dtype() {
        Dtype::F16 => 0x7c00,
        Dtype::Bf16 => 0x7f80,
        Dtype::F32 | Dtype::C64 => 0x7f80_0000,
        Dtype::F64 | Dtype::C128 => 0x7ff0_0000_0000_0000,
        _ => u64::MAX,
    };
    let sign = !(1_u64 << (8 * width - 1));
    bytes.chunks(width).fold(t.numel() as u64, |h, cell| {
        let bits = cell.iter().rev().fold(0_u64, |bits, b| bits << 8 | u64::from(*b));
        mix(h ^ if bits & sign > exponent { exponent + 1 } else { bits }).wrapping_add(1)
    })
}

fn perturb(t: &Tensor, state: u64) {
    let at = places(t);
    let Ok(mut content) = t.storage.write() else { return };
    let bytes = content.bytes_mut();
    for (k, p) in at.into_iter().enumerate() {
        let z = mix(state ^ k as u64);
        let v = (z % 2000) as f64 / 250.0 - 4.0;
        match t.dtype() {
            Dtype::F32 => bytes[p..p + 4].copy_from_slice(&(v as f32).to_le_bytes()),
            Dtype::F64 => bytes[p..p + 8].copy_from_slice(&v.to_le_bytes()),
            Dtype::F16 => bytes[p..p + 2].copy_from_slice(&half::f16::from_f64(v).to_le_bytes()),
            Dtype::Bf16 => bytes[p..p + 2].copy_from_slice(&half::bf16::from_f64(v).to_le_bytes()),
            Dtype::C64 => bytes[p..p + 4].copy_from_slice(&(v as f32).to_le_bytes()),
            _ => bytes[p] = (z & 1) as u8,
        }
    }
}

/// Runs a program whose text was read with `plain`.
pub fn run(program: &Program, graph: &Graph, binding: &Binding) -> Result<Seen, NotRun> {
    let mut session = Session::new(run_registry(binding.demon.sharing), kernels(), binding.seed);
    let given = inputs(program, binding, false, &session.meter().clone());
    let mut haunted = Haunted { demon: binding.demon, state: binding.seed, known: Vec::new() };
    given.iter().for_each(|(_, v)| haunted.see(v));
    let model = Model { graph: graph.clone(), ..Model::default() };
    let values = given.iter().map(|(_, v)| v.clone()).collect();
    session.limit(MOST_CALLS);
    let ran = std::panic::AssertUnwindSafe(|| exec::run(&model, values, &mut session, &mut haunted));
    let outcome = std::panic::catch_unwind(ran).map_err(|_| NotRun("the executor panics".into()))?;
    if session.is_spent() {
        return Err(NotRun("a loop that does not end".into()));
    }
    let (raised, outputs) = match outcome {
        Ok(outcome) => (None, outcome.outputs),
        Err(ExecError::Node { node, source }) if !unclear(&source.fault) => {
            (Some((node, source.to_string())), Vec::new())
        }
        Err(other) => return Err(NotRun(other.to_string())),
    };
    // What the signature says becomes of inputs happens after everything else, in order.
    for (out, value) in program.outs.iter().zip(&outputs) {
        let Some((_, Value::Tensor(to))) = given.iter().find(|(n, _)| Some(n) == out.mutates.as_ref()) else {
            continue;
        };
        session
            .call("aten.copy_.default", &[Value::Tensor(to.clone()), value.clone()], &[])
            .map_err(|e| NotRun(e.to_string()))?;
    }
    let outputs = program.outs.iter().zip(outputs).filter(|(o, _)| o.mutates.is_none()).map(|(_, v)| v).collect();
    let finals = given.into_iter().filter_map(|(n, v)| v.as_tensor().map(|t| (n, t.clone()))).collect();
    Ok(Seen { raised, outputs, finals, next_draw: session.random.bits(), demon: haunted.state })
}

/// Whether a fault says that the executor cannot run the call, and nothing of what PyTorch does.
fn unclear(fault: &CallFault) -> bool {
    fault.is_ignorance() || matches!(fault, CallFault::Symbol(_))
}
