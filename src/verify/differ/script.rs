//! A witness as a Python script, for PyTorch itself.
//!
//! Promises: nothing but PyTorch is imported; both programs run in their own dtypes on the witness's inputs, then in f64 with casts kept.
//! Leaves programs with operators of others, or with bodies, without one.

use std::fmt::Write;

use crate::formats::text;
use crate::graph::{Graph, NodeId, NodeKind, View};
use crate::verify::differ::regimes::Values;
use crate::verify::differ::witness::{Held, Witness};

/// Name spaces that PyTorch has.
const OWN: &[&str] = &["aten", "prims", "_operator", "torch", "math", "builtins"];

/// Writes the script; `None` where PyTorch cannot run both programs.
pub fn write(before: &Graph, after: &Graph, witness: &Witness) -> Option<String> {
    let (old, new) = (program(before)?, program(after)?);
    let mut out = String::from("\"\"\"");
    let _ = writeln!(out, "{}\"\"\"", witness.sentence().replace(['\\', '"'], "'"));
    out.push_str(
        "import math\nimport torch\nfrom torch import device\n\ninf, nan = math.inf, math.nan\n\nINPUTS = [\n",
    );
    for input in &witness.inputs {
        let _ = writeln!(out, "    {},  # {}", value(input), input.name);
    }
    out.push_str("]\n\n");
    let _ = writeln!(out, "BEFORE = '''\n{old}'''\n\nAFTER = '''\n{new}'''\n{SCRIPT}");
    Some(out)
}

const SCRIPT: &str = r#"

def run(text, wide):
    scope = {"torch": torch, "device": device, "inf": inf, "nan": nan, "Sym": None}
    exec(text, scope)
    def own(v):
        if not isinstance(v, torch.Tensor):
            return v
        memory = v if v._base is None else v._base
        memory = memory.double() if wide and v.is_floating_point() else memory.clone()
        memory = memory.to(torch.complex128) if wide and v.is_complex() else memory
        return memory.as_strided(v.size(), v.stride())
    inputs = [own(v) for v in INPUTS]
    torch.manual_seed(0)
    try:
        # The last: what the generator is left with.
        return list(scope["GraphModule"]().forward(*inputs)) + inputs + [torch.get_rng_state()]
    except Exception as e:
        return "raises %s: %s" % (type(e).__name__, str(e).split("\n")[0])


def shared(values):
    tensors = [(k, v) for k, v in enumerate(values) if isinstance(v, torch.Tensor) and v.numel()]
    memory = lambda v: v.untyped_storage().data_ptr()
    return [(k, l) for k, v in tensors for l, w in tensors if k < l and memory(v) == memory(w)]


def show(wide):
    a, b = run(BEFORE, wide), run(AFTER, wide)
    if isinstance(a, str) or isinstance(b, str):
        print("before", a if isinstance(a, str) else "runs", "\nafter ", b if isinstance(b, str) else "runs")
        return isinstance(a, str) != isinstance(b, str)
    differs = len(a) != len(b)
    for k, (x, y) in enumerate(zip(a, b)):
        if not isinstance(x, torch.Tensor):
            same = x == y
        elif x.dtype != y.dtype or x.shape != y.shape:
            same = False
        else:
            same = bool(((x == y) | (x != x) & (y != y)).all())
        if not same:
            print("value", k, "before", x, "after", y, sep="\n")
        differs |= not same
    if shared(a) != shared(b):
        print("values that share memory", "before", shared(a), "after", shared(b), sep="\n")
        differs = True
    return differs


if __name__ == "__main__":
    print("in their own dtypes:")
    differs = show(False)
    print("in float64, casts kept:")
    show(True)
    raise SystemExit(0 if differs else 1)
"#;

/// The class of a program, from its text.
fn program(graph: &Graph) -> Option<String> {
    let is_own = |n: NodeId| {
        let name = graph.target(n).split('.').next().unwrap_or("");
        graph.kind(n) != NodeKind::Call || OWN.contains(&name)
    };
    if graph.body_count() > 1 || !graph.nodes(crate::graph::BodyId::ROOT).all(is_own) {
        return None;
    }
    let text = text::write(graph);
    let lines: Vec<&str> = text.lines().take_while(|l| !l.trim_start().starts_with("Graph signature:")).collect();
    let lines = lines.into_iter().filter(|l| !l.trim().is_empty() && !l.starts_with("ExportedProgram"));
    let lines: Vec<&str> = lines.collect();
    let indent = lines.iter().map(|l| l.len().saturating_sub(l.trim_start().len())).min().unwrap_or(0);
    let mut out = String::new();
    for line in lines {
        out.push_str(&line.get(indent..).unwrap_or("").replace('\\', "\\\\"));
        out.push('\n');
    }
    Some(out)
}

fn value(input: &Held) -> String {
    let float = |v: &f64| match v {
        v if v.is_nan() => "nan".to_string(),
        v if v.is_infinite() => if *v > 0.0 { "inf" } else { "-inf" }.to_string(),
        v => format!("{v:?}"),
    };
    let all: Vec<String> = match &input.values {
        Values::Floats(all) => all.iter().map(float).collect(),
        Values::Whole(all) => all.iter().map(ToString::to_string).collect(),
    };
    match input.dtype {
        Some(dtype) => {
            let complex = |p: &[String]| format!("complex({})", p.join(", "));
            let all: Vec<String> = if dtype.is_complex() { all.chunks(2).map(complex).collect() } else { all };
            let wide = match dtype {
                d if d.is_float() => "float64",
                d if d.is_complex() => "complex128",
                _ => "int64",
            };
            let dtype = dtype.long();
            let of = |all: &[String], shape: String| {
                format!("torch.tensor([{}], dtype=torch.{wide}).to(torch.{dtype}).{shape}", all.join(", "))
            };
            match &input.strides {
                None => of(&all, format!("reshape({:?})", input.sizes)),
                Some(strides) => {
                    of(&spread(&all, &input.sizes, strides), format!("as_strided({:?}, {strides:?})", input.sizes))
                }
            }
        }
        None => all.join(", "),
    }
}

/// The memory in which these values, row by row, lie with these strides.
fn spread(values: &[String], sizes: &[usize], strides: &[usize]) -> Vec<String> {
    let mut memory = Vec::new();
    let mut index = vec![0_usize; sizes.len()];
    for value in values {
        let at = index.iter().zip(strides).map(|(i, s)| i.saturating_mul(*s)).fold(0_usize, usize::saturating_add);
        if memory.len() <= at {
            memory.resize(at.saturating_add(1), "0".to_string());
        }
        if let Some(place) = memory.get_mut(at) {
            place.clone_from(value);
        }
        for (i, size) in index.iter_mut().zip(sizes).rev() {
            *i = i.saturating_add(1);
            if *i < *size {
                break;
            }
            *i = 0;
        }
    }
    memory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_where_their_strides_say() {
        let all: Vec<String> = (1..=6).map(|v| v.to_string()).collect();
        assert_eq!(spread(&all, &[2, 3], &[1, 2]), ["1", "4", "2", "5", "3", "6"]);
        assert_eq!(spread(&all, &[3, 2], &[2, 1]), all);
        assert_eq!(spread(&all[..2], &[2], &[2]), ["1", "0", "2"]);
    }
}
