//! What is known of operators: schema, types, effects, kernel, decomposition, lowering; as data, as text and as tables in Markdown.
//!
//! Promises: everything is read off registry, kernels and converters, nothing is said twice; an example of a decomposition is the real
//! one of a small call. Leaves choosing operators to the caller.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Serialize;

use crate::exec::Kernels;
use crate::formats::text;
use crate::graph::{Arg, BodyId, Device, Dtype, Graph, NewNode, NodeKind, TensorType, ValueType, View};
use crate::lower::ge;
use crate::ops::{Base, CallSite, Effects, Exactness, Expansion, Operator, Param, Registry, Sharing};
use crate::sym::Dim;

/// What is known of one operator.
#[derive(Clone, Debug, Serialize)]
pub struct Known {
    /// The target of calls.
    pub target: String,
    /// PyTorch's schema.
    pub schema: String,
    /// The family that it stands in.
    pub family: String,
    /// Where the types of results come from: `rule`, `derived` from its meaning, `annotation`.
    pub types: &'static str,
    /// Whether a rule types it.
    pub rule: bool,
    /// Whether a call is a function of its arguments and leaves no trace.
    pub pure: bool,
    /// Parameters whose memory is read.
    pub reads: Vec<String>,
    /// Parameters whose memory is written.
    pub writes: Vec<String>,
    /// Those of them of which the schema keeps silent.
    pub hidden_writes: Vec<String>,
    /// Results that lie in memory of parameters.
    pub aliases: Vec<Alias>,
    /// Whether it draws random numbers.
    pub random: bool,
    /// What else it does.
    pub effect: Option<&'static str>,
    /// How it runs: `own` kernel, `functional` form and a copy, `decomposed`, or not at all.
    pub kernel: Option<&'static str>,
    /// What it is in other operators.
    pub decomposition: Option<Decomposition>,
    /// What lowers it to GE: a `converter`, the GE operator that a `file` says, or the converters of what it is `decomposed` into.
    pub lowering: Option<&'static str>,
    /// What it would be decomposed into and has no lowering, where nothing lowers it for that reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowering_needs: Option<String>,
    /// What an operator file says about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

/// A result in memory of a parameter.
#[derive(Clone, Debug, Serialize)]
pub struct Alias {
    /// Which result, from 0.
    pub result: usize,
    /// Which parameter.
    pub parameter: String,
    /// `same`, `view`, `maybe`.
    pub sharing: &'static str,
}

/// What an operator is in other operators.
#[derive(Clone, Debug, Serialize)]
pub struct Decomposition {
    /// How far it is the operator's own kernel.
    pub exactness: Exactness,
    /// The calls of a small example, a line each; empty where no example was found.
    pub example: Vec<String>,
}

/// Tells of operators, in their order.
pub fn known<'a>(
    registry: &Registry,
    kernels: &Kernels,
    operators: impl IntoIterator<Item = &'a Operator>,
) -> Vec<Known> {
    let lowering = Lowerings { registry, converted: ge::targets().into_iter().collect() };
    operators.into_iter().map(|o| one(registry, kernels, &lowering, o)).collect()
}

/// What lowers operators.
struct Lowerings<'a> {
    registry: &'a Registry,
    converted: BTreeSet<&'static str>,
}

/// As often as a small example is taken apart again.
const DEPTH: usize = 6;

impl Lowerings<'_> {
    /// What lowers an operator; else what its decomposition lacks, if it has one.
    fn of(&self, operator: &Operator) -> Result<&'static str, Option<String>> {
        if operator.lowering.is_some() {
            return Ok("file");
        }
        if self.converted.contains(&*operator.target) {
            return Ok("converter");
        }
        let mut open = vec![(operator.target.to_string(), 0)];
        let mut seen = BTreeSet::new();
        while let Some((target, depth)) = open.pop() {
            if self.converted.contains(target.as_str()) || !seen.insert(target.clone()) {
                continue;
            }
            let lacks = || if depth == 0 { None } else { Some(target.clone()) };
            let known = self.registry.get(&target).ok_or_else(lacks)?;
            let parts = self.parts(known).filter(|_| depth < DEPTH).ok_or_else(lacks)?;
            open.extend(parts.into_iter().map(|part| (part, depth.saturating_add(1))));
        }
        Ok("decomposed")
    }

    /// The calls of a small example; none are told where none of the shapes fits the operator.
    fn parts(&self, operator: &Operator) -> Option<Vec<String>> {
        self.registry.exactness(operator)?;
        let Some(expansion) = SHAPES.iter().find_map(|shapes| small(self.registry, operator, *shapes)) else {
            return Some(Vec::new());
        };
        let targets = expansion.calls().map(|n| expansion.graph.target(n));
        Some(targets.filter(|t| *t != "_operator.getitem").map(str::to_string).collect())
    }
}

fn one(registry: &Registry, kernels: &Kernels, lowering: &Lowerings<'_>, operator: &Operator) -> Known {
    let lowered = lowering.of(operator);
    let effects = &operator.effects;
    let named = |wanted: fn(&crate::ops::Access) -> bool| {
        let each = operator.schema.params.iter().zip(&effects.params);
        each.filter(|(_, a)| wanted(a)).map(|(p, _)| p.name.to_string()).collect::<Vec<_>>()
    };
    let exactness = registry.exactness(operator);
    Known {
        target: operator.target.to_string(),
        schema: operator.schema.to_string(),
        family: operator.family.to_string(),
        types: match (operator.rule, exactness) {
            (Some(_), _) => "rule",
            (None, Some(_)) => "derived",
            (None, None) => "annotation",
        },
        rule: operator.rule.is_some(),
        pure: effects.is_pure(),
        reads: named(|a| a.reads),
        writes: named(|a| a.writes),
        hidden_writes: named(|a| a.hidden),
        aliases: aliases(operator, effects),
        random: effects.random,
        effect: effects.side.map(|s| s.name()),
        kernel: kernel(registry, kernels, operator),
        decomposition: exactness
            .map(|exactness| Decomposition { exactness, example: example(registry, operator).unwrap_or_default() }),
        lowering: lowered.as_ref().ok().copied(),
        lowering_needs: lowered.err().flatten(),
        about: operator.about.as_ref().map(ToString::to_string),
    }
}

fn aliases(operator: &Operator, effects: &Effects) -> Vec<Alias> {
    let mut all = Vec::new();
    for (result, shared) in effects.returns.iter().enumerate() {
        for one in shared {
            let parameter = operator.schema.params.get(one.param).map_or(String::new(), |p| p.name.to_string());
            let sharing = match one.sharing {
                Sharing::Same => "same",
                Sharing::View => "view",
                Sharing::Maybe => "maybe",
            };
            all.push(Alias { result, parameter, sharing });
        }
    }
    all
}

fn kernel(registry: &Registry, kernels: &Kernels, operator: &Operator) -> Option<&'static str> {
    if kernels.get(&operator.target).is_some() {
        return Some("own");
    }
    if registry.is_written_form(operator) {
        return Some("functional");
    }
    registry.exactness(operator).map(|_| "decomposed")
}

/// Dtype and sizes of the tensors of an example.
type Shapes = (Dtype, &'static [i64]);

const SHAPES: &[Shapes] = &[
    (Dtype::F32, &[4, 4]),
    (Dtype::F32, &[2, 4, 4, 4]),
    (Dtype::F32, &[2, 4, 4]),
    (Dtype::F32, &[4]),
    (Dtype::I64, &[4, 4]),
];

/// The calls of a small example: the first of a few shapes that the operator takes.
fn example(registry: &Registry, operator: &Operator) -> Option<Vec<String>> {
    SHAPES.iter().find_map(|shapes| {
        let expansion = small(registry, operator, *shapes)?;
        Some(expansion.calls().map(|n| text::write_node_line(&expansion.graph, n)).collect())
    })
}

fn small(registry: &Registry, operator: &Operator, shapes: Shapes) -> Option<Expansion> {
    let mut graph = Graph::new();
    let (mut args, mut kwargs) = (Vec::new(), Vec::new());
    for param in &operator.schema.params {
        let arg = match &param.default {
            Some(default) if !matches!(param.ty.base, Base::Tensor) || param.ty.is_optional() => default.value.clone(),
            _ => argument(&mut graph, param, shapes)?,
        };
        if param.kwarg_only {
            kwargs.push((graph.texts.intern(&param.name), arg));
        } else {
            args.push(arg);
        }
    }
    let mut symbols = std::mem::take(&mut graph.symbols);
    let site = CallSite { target: &operator.target, args: &args, kwargs: &kwargs, annotated: None };
    registry.decompose(&graph, &mut symbols, site).ok().flatten()
}

/// An argument that many operators take there.
fn argument(graph: &mut Graph, param: &Param, (dtype, sizes): Shapes) -> Option<Arg> {
    if param.ty.is_optional() {
        return Some(Arg::None);
    }
    let list = param.ty.is_list();
    let one = match param.ty.base {
        Base::Tensor => {
            let dtype = match &*param.name {
                "index" | "indices" | "target" => Dtype::I64,
                "mask" | "condition" => Dtype::Bool,
                _ => dtype,
            };
            tensor(graph, &param.name, dtype, sizes)
        }
        Base::Int | Base::SymInt if list => return Some(Arg::list(sizes.iter().copied())),
        Base::Int | Base::SymInt => Arg::Int(0),
        Base::Scalar | Base::Float => Arg::Float(1.0),
        Base::Bool | Base::SymBool => Arg::Bool(true),
        Base::Dtype => Arg::Dtype(dtype),
        _ => return None,
    };
    Some(if list { Arg::List(Box::new([one.clone(), one])) } else { one })
}

fn tensor(graph: &mut Graph, name: &str, dtype: Dtype, sizes: &[i64]) -> Arg {
    let dims: Vec<Dim> = sizes.iter().map(|n| Dim::Fixed(*n)).collect();
    let strides = crate::ops::contiguous_strides(&mut graph.symbols, &dims).ok();
    let ty = ValueType::tensor(TensorType { strides, ..TensorType::new(dtype, dims, Device::cpu()) });
    let (kind, target) = (NodeKind::Placeholder, graph.texts.intern(name));
    let node = NewNode { kind, target, args: Box::default(), kwargs: Box::default(), ty };
    let name = graph.free_name(BodyId::ROOT, name);
    Arg::Node(graph.push(BodyId::ROOT, &name, node))
}

/// Returns a few lines for each operator; with `examples` the calls of its decomposition too.
pub fn write_text(known: &[Known], examples: Examples) -> String {
    let mut text = String::new();
    for k in known {
        let _ = writeln!(text, "{}", k.schema);
        if let Some(about) = &k.about {
            let _ = writeln!(text, "    {about}");
        }
        let _ = writeln!(text, "    {}", facts(k));
        if let Some(d) = k.decomposition.as_ref().filter(|_| examples == Examples::Shown) {
            for line in &d.example {
                let _ = writeln!(text, "        {line}");
            }
        }
    }
    text
}

/// Whether calls of decompositions are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Examples {
    /// A line each.
    Shown,
    /// Only that there is one.
    Left,
}

fn facts(k: &Known) -> String {
    let mut facts: Vec<String> = vec![match k.types {
        "rule" => "type rule".into(),
        "derived" => "types by its meaning".into(),
        _ => "no type rule".into(),
    }];
    facts.extend(k.pure.then(|| "pure".into()));
    if !k.writes.is_empty() {
        facts.push(format!("writes {}", k.writes.join(", ")));
    }
    if !k.hidden_writes.is_empty() {
        facts.push(format!("the schema keeps silent of {}", k.hidden_writes.join(", ")));
    }
    for alias in &k.aliases {
        let how = match alias.sharing {
            "same" => "is",
            "view" => "is a view of",
            _ => "may share memory with",
        };
        facts.push(format!("result {} {how} {}", alias.result, alias.parameter));
    }
    facts.extend(k.random.then(|| "random".into()));
    facts.extend(k.effect.map(str::to_string));
    facts.push(match k.kernel {
        Some("own") => "kernel".into(),
        Some("functional") => "runs as its functional form and a copy".into(),
        Some(_) => "runs decomposed".into(),
        None => "no kernel".into(),
    });
    facts.push(
        k.decomposition
            .as_ref()
            .map_or("no decomposition".into(), |d| format!("decomposition ({})", d.exactness.name())),
    );
    facts.push(match (k.lowering, &k.lowering_needs) {
        (Some("file"), _) => "GE by its file".into(),
        (Some("decomposed"), _) => "GE by its decomposition".into(),
        (Some(_), _) => "GE converter".into(),
        (None, Some(part)) => format!("no GE form: none of {part}"),
        (None, None) => "no GE form".into(),
    });
    facts.join(", ")
}

/// Counts what lowers operators, then names those that nothing lowers, each with what it would need.
pub fn write_lowerings(known: &[Known]) -> String {
    let mut text = String::new();
    for (how, what) in [
        ("converter", "by a converter"),
        ("file", "by an operator file"),
        ("decomposed", "by what they are decomposed into"),
    ] {
        let count = known.iter().filter(|k| k.lowering == Some(how)).count();
        let _ = writeln!(text, "{count:>5} {what}");
    }
    let none: Vec<&Known> = known.iter().filter(|k| k.lowering.is_none()).collect();
    let _ = writeln!(text, "{:>5} by nothing:", none.len());
    for k in none {
        let why = k
            .lowering_needs
            .as_ref()
            .map_or("no converter, no decomposition".into(), |part| format!("its decomposition needs {part}"));
        let _ = writeln!(text, "      {}: {why}", k.target);
    }
    text
}

/// Returns the tables of `docs/operators.md`: one a family, then the recorded calls that differ (`failing`: as `tests/golden/failing.txt`).
pub fn write_markdown(known: &[Known], failing: &str) -> String {
    let mut text = String::from(HEAD);
    let mut families: Vec<&str> = Vec::new();
    for k in known {
        if !families.contains(&&*k.family) {
            families.push(&k.family);
        }
    }
    for family in families {
        let _ = write!(
            text,
            "\n## {family}\n\n| overload | types | kernel | decomposition | GE |\n|---|---|---|---|---|\n"
        );
        for k in known.iter().filter(|k| k.family == family) {
            let decomposition = k.decomposition.as_ref().map_or("-", |d| d.exactness.name());
            let needs = k.lowering_needs.as_ref().map(|part| format!("needs `{part}`"));
            let lowering = k.lowering.map(str::to_string).or(needs).unwrap_or("-".into());
            let kernel = k.kernel.unwrap_or("-");
            let _ = writeln!(text, "| `{}` | {} | {kernel} | {decomposition} | {lowering} |", k.target, k.types);
        }
    }
    text.push_str("\n## Recorded calls that differ\n\n");
    let failing: Vec<&str> = failing.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')).collect();
    if failing.is_empty() {
        text.push_str("None.\n");
    }
    failing.iter().for_each(|line| {
        let _ = writeln!(text, "- {line}");
    });
    text
}

const HEAD: &str = "\
# Operators

What Airlock knows of each operator; `airlock ops NAME` tells more. Generated: `AIRLOCK_UPDATE=1 cargo test --test it operators_doc`.

- types: by a *rule*, *derived* from the decomposition, or kept as annotated;
- kernel: of its *own*, as its *functional* form and a copy, or *decomposed*;
- decomposition: *exact* is bit by bit the operator's own kernel, *real* the same function of real numbers;
- GE: what lowers it: a *converter*, those of what a small call of it is *decomposed* into, or the part of its decomposition that nothing lowers.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_decomposition_panics_whatever_the_rank() {
        const ODD: &[Shapes] = &[
            (Dtype::F32, &[]),
            (Dtype::F32, &[0]),
            (Dtype::F32, &[1]),
            (Dtype::F32, &[3, 0]),
            (Dtype::Bf16, &[4, 3]),
            (Dtype::I8, &[2, 2]),
            (Dtype::C64, &[4, 4]),
            (Dtype::Bool, &[4, 4]),
            (Dtype::F64, &[2, 4, 4, 4, 4]),
            (Dtype::F16, &[1, 1, 2, 2, 2, 2]),
        ];
        let registry = Registry::standard();
        let mut made = 0;
        for operator in registry.operators().filter(|o| registry.exactness(o).is_some()) {
            for shapes in ODD.iter().chain(SHAPES) {
                made += usize::from(small(&registry, operator, *shapes).is_some());
            }
        }
        assert!(made > 2000, "{made}");
    }

    #[test]
    fn an_operator_is_told_with_the_calls_that_it_is() {
        let registry = Registry::standard();
        let silu = known(&registry, &Kernels::standard(), registry.get("aten.silu_.default"));
        let text = write_text(&silu, Examples::Shown);
        assert!(text.contains("writes self, result 0 is self"), "{text}");
        assert!(
            text.contains("decomposition (exact)") && text.contains("torch.ops.aten.copy_.default(self, silu)"),
            "{text}"
        );
        assert!(!write_text(&silu, Examples::Left).contains("copy_.default"));
    }
}
