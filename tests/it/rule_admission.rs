//! Every rule by which values are shown equal, at random instances: what the judge accepts gives the same bits when both sides are run.
//!
//! A statement is a pair of programs in which dtypes and sizes are left open. For each dtype and size the judge is asked; where it accepts, both
//! programs are run on numbers that are hard (NaN, infinities, -0.0, subnormals, extremes) and compared bit by bit, payloads of NaN
//! aside. A true statement must be accepted somewhere (else its condition never holds); a false one, the nearest to it, never.

use airlock::exec::{self, Kernels, Meta, Meter, Observer, Session, Step, Storage, Tensor, Tolerance, Value};
use airlock::formats::text::{self, ReadOptions};
use airlock::graph::{Dtype, Graph, Model};
use airlock::ops::Registry;
use airlock::verify::{Budget, JudgeOptions, Policy, judge_pair};
use rayon::prelude::*;

/// Inputs by name and type (`$d` the dtype, `$n` and `$m` sizes), both sides, and the dtypes in which it is true.
struct Statement {
    inputs: &'static str,
    before: &'static str,
    after: &'static str,
    /// Dtypes in which the judge must accept it at size 2; nowhere else may it accept what differs.
    shown: &'static str,
}

const fn rule(inputs: &'static str, before: &'static str, after: &'static str, shown: &'static str) -> Statement {
    Statement { inputs, before, after, shown }
}

const X: &str = "x: $d[$n, $m]";
const XY: &str = "x: $d[$n, $m]; y: $d[$n, $m]";
const P: &str = "p: b8[$n, $m]; q: b8[$n, $m]";
const ALL: &str = "f32 f16 bf16 f64 i64 i32 u8 b8";

include!("rule_admission/statements.rs");

fn program(inputs: &str, lines: &str, dtype: &str, n: usize, m: usize) -> Option<Graph> {
    let fill = |t: &str| t.replace("$d", dtype).replace("$n", &n.to_string()).replace("$m", &m.to_string());
    let inputs: Vec<String> = fill(inputs)
        .split(';')
        .map(|i| i.split_once(':').map(|(n, t)| format!("{}: \"{}\"", n.trim(), t.trim())).unwrap())
        .collect();
    let body: Vec<String> = fill(lines)
        .replace(" | ", "\n")
        .lines()
        .map(|l| format!("        {}", l.trim().replace("aten.", "torch.ops.aten.")))
        .collect();
    let text = format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self, {}):\n{}\n",
        inputs.join(", "),
        body.join("\n")
    );
    let mut graph = text::read(&text, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
    registry().check_types(&mut graph).is_empty().then_some(graph)
}

fn registry() -> &'static Registry {
    static R: std::sync::OnceLock<Registry> = std::sync::OnceLock::new();
    R.get_or_init(Registry::standard)
}

fn kernels() -> &'static Kernels {
    static K: std::sync::OnceLock<Kernels> = std::sync::OnceLock::new();
    K.get_or_init(Kernels::standard)
}

const HARD: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    -3.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e-40,
    -1e-40,
    6e-8,
    3.4e38,
    65504.0,
    -65520.0,
    0.1,
    127.5,
    -128.5,
    16777217.0,
    3.0,
    -7.25,
];

const HARD_INTEGERS: &[i64] =
    &[0, 1, -1, 2, 3, -3, 7, -7, 127, 128, -128, 255, i64::MAX, i64::MIN, 1 << 31, -(1 << 31), 12345678901];

fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn filled(dtype: Dtype, sizes: &[usize], seed: u64, plain: bool, meter: &Meter) -> Tensor {
    let mut strides = vec![1; sizes.len()];
    for k in (0..sizes.len().saturating_sub(1)).rev() {
        strides[k] = strides[k + 1] * sizes[k + 1].max(1);
    }
    let count: usize = sizes.iter().product();
    let bytes = dtype.bytes();
    let mut content = Vec::new();
    for k in 0..count.max(1) {
        let r = mix(seed ^ (k as u64) << 20);
        let v = if plain || r.is_multiple_of(3) {
            (mix(r) % 4000) as f64 / 130.0 - 15.0
        } else {
            HARD[(mix(r) % HARD.len() as u64) as usize]
        };
        let i = if r.is_multiple_of(4) {
            mix(r) as i64
        } else {
            HARD_INTEGERS[(mix(r) % HARD_INTEGERS.len() as u64) as usize]
        };
        match dtype {
            Dtype::F64 => content.extend(v.to_le_bytes()),
            Dtype::F32 => content.extend((v as f32).to_le_bytes()),
            Dtype::F16 => content.extend(half::f16::from_f64(v).to_le_bytes()),
            Dtype::Bf16 => content.extend(half::bf16::from_f64(v).to_le_bytes()),
            Dtype::Bool => content.push(u8::from(r & 1 == 1)),
            _ => content.extend(&i.to_le_bytes()[..bytes]),
        }
    }
    let meta = Meta { dtype, sizes: sizes.into(), strides: strides.as_slice().into(), offset: 0 };
    let n = count.max(1);
    let storage = match bytes {
        1 => Storage::new(vec![0_u8; n], meter),
        2 => Storage::new(vec![0_u16; n], meter),
        4 => Storage::new(vec![0_u32; n], meter),
        _ => Storage::new(vec![0_u64; n], meter),
    };
    storage.write().unwrap().bytes_mut()[..content.len()].copy_from_slice(&content);
    Tensor::new(meta, storage).unwrap()
}

struct Nobody;

impl Observer for Nobody {
    fn computed(&mut self, _: &Step<'_>) {}
}

fn run(graph: &Graph, seed: u64, plain: bool) -> Result<Vec<Value>, String> {
    use airlock::graph::{BodyId, NodeKind, View};
    let mut session = Session::new(registry(), kernels(), 0);
    let meter = session.meter().clone();
    let inputs = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
    let values = inputs
        .enumerate()
        .map(|(k, n)| {
            let t = graph.ty(n).as_tensor().unwrap();
            let sizes: Vec<usize> = t.sizes.iter().map(|d| d.fixed().unwrap() as usize).collect();
            Value::Tensor(filled(t.dtype, &sizes, mix(seed ^ (k as u64) << 50), plain, &meter))
        })
        .collect();
    let model = Model { graph: graph.clone(), ..Model::default() };
    exec::run(&model, values, &mut session, &mut Nobody).map(|o| o.outputs).map_err(|e| e.to_string())
}

/// Runs both sides; what differs, in words. `plain`: on numbers near 1, up to rounding.
fn differ(a: &Graph, b: &Graph, plain: bool) -> Option<String> {
    let tolerance = if plain { Tolerance::Close { rtol: 1e-4, atol: 1e-4 } } else { Tolerance::Exact };
    for seed in 0..6 {
        let (x, y) = (run(a, mix(seed), plain), run(b, mix(seed), plain));
        let (x, y) = match (x, y) {
            (Ok(x), Ok(y)) => (x, y),
            // Neither can be run here, or both raise.
            (Err(_), Err(_)) => continue,
            (x, y) => return Some(format!("one side raises: {:?} {:?}", x.err(), y.err())),
        };
        for (v, w) in x.iter().zip(&y) {
            let (Value::Tensor(t), Value::Tensor(u)) = (v, w) else { panic!("no tensors") };
            if t.dtype() != u.dtype() || t.sizes() != u.sizes() {
                return Some(format!("{} {:?}, {} {:?}", t.dtype(), t.sizes(), u.dtype(), u.sizes()));
            }
            match exec::compare(u, t, tolerance) {
                Ok(c) if c.equal => {}
                Ok(c) => return Some(format!("{} elements, {:?}", c.wrong, c.first)),
                Err(fault) => return Some(fault.to_string()),
            }
        }
    }
    None
}

/// Whether the judge accepts a pair; what is equal over the reals alone where that is asked.
fn accepts(a: &Graph, b: &Graph, reals: bool) -> bool {
    let mut options = JudgeOptions::default();
    if reals {
        options = JudgeOptions { policy: Policy::Default, budget: Budget::searching(), ..options };
    }
    judge_pair(a, b, registry(), &options).accepted
}

#[test]
fn what_rules_show_equal_is_equal_when_it_is_run() {
    let wrong: Vec<String> = STATEMENTS.par_iter().flat_map_iter(|s| of_statement(s, false)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_rules_show_equal_over_the_reals_is_when_it_is_run() {
    let wrong: Vec<String> = REALS.par_iter().flat_map_iter(|s| of_statement(s, true)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn of_statement(s: &Statement, plain: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for dtype in ALL.split(' ') {
        for (n, m) in [(2, 5), (0, 2), (1, 1), (5, 1)] {
            let both = (program(s.inputs, s.before, dtype, n, m), program(s.inputs, s.after, dtype, n, m));
            let (Some(a), Some(b)) = both else { continue };
            let accepted = accepts(&a, &b, plain);
            let must = (n, m) == (2, 5) && s.shown.split(' ').any(|d| d == dtype);
            if must && !accepted {
                wrong.push(format!("{dtype}: not shown: {} == {}", s.before, s.after));
            }
            if accepted && let Some(what) = differ(&a, &b, plain) {
                wrong.push(format!("{dtype} [{n}, {m}]: accepted and differs: {} == {}: {what}", s.before, s.after));
            }
            if (n, m) == (2, 5) && !accepted {
                // Where it is not shown at one size, others are not tried.
                break;
            }
        }
    }
    // Told as it is found: the whole run takes minutes without optimisation.
    wrong.iter().for_each(|w| eprintln!("{w}"));
    wrong
}

#[test]
fn what_is_nearly_a_rule_is_refused() {
    let mut wrong = Vec::new();
    for (s, plain) in TWINS.iter().map(|s| (s, false)).chain(REAL_TWINS.iter().map(|s| (s, true))) {
        for dtype in s.shown.split(' ') {
            let (Some(a), Some(b)) =
                (program(s.inputs, s.before, dtype, 2, 5), program(s.inputs, s.after, dtype, 2, 5))
            else {
                panic!("{dtype}: {} or {} has no type", s.before, s.after);
            };
            if accepts(&a, &b, plain) {
                wrong.push(format!("{dtype}: accepted: {} == {}", s.before, s.after));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
