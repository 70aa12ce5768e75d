//! Operator files with their meanings: `ops` reads the entries, this reads each `meaning` as a graph and holds it against the schema.
//!
//! Promises: after [`extend`] an operator with a meaning has its graph as `body`; a meaning
//! - is one function whose parameters are the schema's, in order, and that returns as many results;
//! - calls only operators that are known, with arguments that fit them; those of the same file stand above it, so no meaning contains itself;
//! - writes only to parameters that the schema marks as written, draws and does nothing beyond what the entry says.
//!
//! All of a file is added or nothing. Leaves types to the calls: a meaning is typed anew for each.

use std::collections::BTreeMap;

use thiserror::Error;

use super::text::{self, ReadOptions, TextError};
use crate::analysis::form;
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View};
use crate::ops::{CallSite, FileError, Operator, Registry, Sharing};

/// Why an operator file cannot be used.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum OperatorFileError {
    /// An entry.
    #[error(transparent)]
    Entry(#[from] FileError),
    /// A meaning.
    #[error("{file}:{line}: operator `{operator}`, `meaning`: {problem}")]
    Meaning {
        /// The file, as the caller names it.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The operator.
        operator: String,
        /// What is wrong.
        problem: Box<MeaningProblem>,
    },
}

/// What is wrong with a meaning.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum MeaningProblem {
    /// It is no text form.
    #[error("{0}")]
    Text(String),
    /// It is no well-formed graph.
    #[error("{0}")]
    Form(String),
    /// Other parameters than the schema's.
    #[error("its parameters are ({found}), the schema's are ({wanted})")]
    Parameters {
        /// As written.
        found: String,
        /// As the schema says.
        wanted: String,
    },
    /// Another number of results.
    #[error("it returns {found} results, the schema has {wanted}")]
    Results {
        /// As written.
        found: usize,
        /// As the schema says.
        wanted: usize,
    },
    /// A call that does not hold.
    #[error("node `{node}`: {why}")]
    Call {
        /// The node.
        node: String,
        /// Why.
        why: String,
    },
    /// More calls than a meaning may come to, or meanings in each other without end.
    #[error("{0}")]
    Size(String),
    /// An effect that the schema does not have.
    #[error("node `{node}` {what}, which the schema does not say")]
    Effect {
        /// The node.
        node: String,
        /// What it does.
        what: String,
    },
}

/// Adds the operators of an operator file; all of them or, with an error, none. Returns their targets, in order.
pub fn extend(registry: &mut Registry, file: &str, text: &str) -> Result<Vec<String>, OperatorFileError> {
    let mut extended = registry.clone();
    let added = extended.extend_file(file, text)?;
    for target in &added {
        if let Some(body) = meaning(&extended, file, target)? {
            extended.set_body(target, body);
        }
    }
    check_sizes(&extended, file)?;
    *registry = extended;
    Ok(added)
}

/// How far meanings may stand in each other, and how many calls one may come to when all in it are taken apart.
const MAX_NESTING: usize = 12;
const MAX_CALLS: usize = 4_096;

/// Refuses meanings that contain themselves (a file may give an operator that an older one calls another meaning), that stand in each other
/// too deep, or that come to too many calls.
fn check_sizes(registry: &Registry, file: &str) -> Result<(), OperatorFileError> {
    let callees = |o: &Operator| -> Vec<String> {
        let Some(body) = &o.body else { return Vec::new() };
        let calls = body.nodes(BodyId::ROOT).filter(|n| body.kind(*n) == NodeKind::Call);
        calls.filter_map(|n| registry.operator_of(&**body, n).map(|o| o.target.to_string())).collect()
    };
    // Of each operator with a meaning: how many levels and calls it comes to; nothing while it is being counted.
    let mut known: BTreeMap<String, Option<(usize, usize)>> = BTreeMap::new();
    for operator in registry.operators().filter(|o| o.body.is_some()) {
        let mut open = vec![operator.target.to_string()];
        while let Some(target) = open.last().cloned() {
            if matches!(known.get(&target), Some(Some(_))) {
                open.pop();
                continue;
            }
            let Some(current) = registry.get(&target).filter(|o| o.body.is_some()) else {
                known.insert(target, Some((0, 1)));
                continue;
            };
            let wrong = |what: String| OperatorFileError::Meaning {
                file: file.into(),
                line: current.meaning.as_ref().map_or(1, |m| m.line),
                operator: target.clone(),
                problem: Box::new(MeaningProblem::Size(what)),
            };
            known.insert(target.clone(), None);
            let (mut levels, mut calls) = (0_usize, 0_usize);
            let mut waits = false;
            for callee in callees(current) {
                match known.get(&callee) {
                    Some(Some((below, within))) => {
                        levels = levels.max(*below);
                        calls = calls.saturating_add(*within);
                    }
                    Some(None) => return Err(wrong(format!("it contains itself, through `{callee}`"))),
                    None => {
                        waits = true;
                        open.push(callee);
                    }
                }
            }
            if waits {
                continue;
            }
            let levels = levels.saturating_add(1);
            if levels > MAX_NESTING {
                return Err(wrong(format!("meanings stand in each other more than {MAX_NESTING} deep")));
            }
            if calls > MAX_CALLS {
                return Err(wrong(format!("it comes to {calls} calls, of which there may be {MAX_CALLS}")));
            }
            known.insert(target, Some((levels, calls)));
            open.pop();
        }
    }
    Ok(())
}

fn meaning(registry: &Registry, file: &str, target: &str) -> Result<Option<Graph>, OperatorFileError> {
    let Some(operator) = registry.get(target) else { return Ok(None) };
    let Some(meaning) = &operator.meaning else { return Ok(None) };
    let wrong = |line: usize, problem: MeaningProblem| OperatorFileError::Meaning {
        file: file.into(),
        line: meaning.line.saturating_add(line.saturating_sub(1)),
        operator: target.into(),
        problem: Box::new(problem),
    };
    let unread = |e: TextError| wrong(e.line, MeaningProblem::Text(format!("{}\n    {}", e.fault, e.text.trim())));
    let graph = text::read(&meaning.text, &ReadOptions::of_file(file)).map_err(unread)?;
    check(registry, operator, &graph)
        .map_err(|(node, problem)| wrong(line_of(&meaning.text, &graph, node), problem))?;
    Ok(Some(graph))
}

/// The line on which a node is defined, by its name; the first one for none.
fn line_of(text: &str, graph: &Graph, node: Option<NodeId>) -> usize {
    let name = node.map_or("", |n| graph.name(n));
    let defines = |line: &str| line.trim_start().strip_prefix(name).is_some_and(|r| r.starts_with([' ', ':', '=']));
    let found = text.lines().position(|l| !name.is_empty() && defines(l));
    found.unwrap_or(0).saturating_add(1)
}

type Wrong = (Option<NodeId>, MeaningProblem);

fn check(registry: &Registry, operator: &Operator, graph: &Graph) -> Result<(), Wrong> {
    parameters(operator, graph)?;
    if let Some(error) = form::check_form(graph).first() {
        return Err((error.node, MeaningProblem::Form(error.to_string())));
    }
    if graph.body_count() > 1 {
        return Err((None, MeaningProblem::Form("it has bodies of its own; only calls may stand in a meaning".into())));
    }
    let returned = graph.output(BodyId::ROOT).and_then(|n| graph.args(n).first());
    let (found, wanted) = (results(returned), operator.schema.returns.len());
    if found != wanted {
        return Err((None, MeaningProblem::Results { found, wanted }));
    }
    let mut owners = Owners::default();
    for node in graph.nodes(BodyId::ROOT) {
        match graph.kind(node) {
            NodeKind::Call => call(registry, operator, graph, node, &mut owners)?,
            NodeKind::Placeholder => owners.set(graph, node, vec![graph.target(node).to_string()]),
            NodeKind::GetAttr | NodeKind::Output => {}
        }
    }
    Ok(())
}

fn results(returned: Option<&Arg>) -> usize {
    match returned {
        None | Some(Arg::None) => 0,
        Some(Arg::Tuple(all)) => all.len(),
        Some(_) => 1,
    }
}

fn parameters(operator: &Operator, graph: &Graph) -> Result<(), Wrong> {
    let placeholders = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
    let found: Vec<&str> = placeholders.map(|n| graph.target(n)).collect();
    let wanted: Vec<&str> = operator.schema.params.iter().map(|p| &*p.name).collect();
    if found == wanted {
        return Ok(());
    }
    let problem = MeaningProblem::Parameters { found: found.join(", "), wanted: wanted.join(", ") };
    Err((None, problem))
}

/// The parameters whose memory a value may lie in, by slot of the node.
#[derive(Default)]
struct Owners(Vec<Vec<String>>);

impl Owners {
    /// Each owner is kept once: lists of one value twice would else double them at each call.
    fn set(&mut self, graph: &Graph, node: NodeId, mut owners: Vec<String>) {
        owners.sort_unstable();
        owners.dedup();
        let slot = graph.slot_of(node);
        if self.0.len() <= slot {
            self.0.resize_with(slot.saturating_add(1), Vec::new);
        }
        if let Some(place) = self.0.get_mut(slot) {
            *place = owners;
        }
    }

    fn of(&self, graph: &Graph, arg: &Arg) -> Vec<String> {
        let each = arg.nodes().filter_map(|n| self.0.get(graph.slot_of(n)));
        each.flatten().cloned().collect()
    }
}

fn call(
    registry: &Registry,
    operator: &Operator,
    graph: &Graph,
    node: NodeId,
    owners: &mut Owners,
) -> Result<(), Wrong> {
    let name = || graph.name(node).to_string();
    let wrong = |why: String| (Some(node), MeaningProblem::Call { node: name(), why });
    let site = CallSite { annotated: None, ..CallSite::of(graph, node) };
    registry.check_call(graph, site).map_err(|e| wrong(e.to_string()))?;
    let Some(callee) = registry.operator_of(graph, node) else { return Ok(()) };
    if callee.meaning.is_some() && callee.body.is_none() {
        return Err(wrong(format!("`{}` is described by this file too; it must stand above", callee.target)));
    }
    let effect = |what: String| (Some(node), MeaningProblem::Effect { node: name(), what });
    if callee.effects.random && !operator.effects.random {
        return Err(effect("draws random numbers".into()));
    }
    if let Some(side) = callee.effects.side.filter(|s| operator.effects.side != Some(*s)) {
        return Err(effect(format!("has the effect `{}`", side.name())));
    }
    let argument = |i: usize| {
        let name = callee.schema.params.get(i).map_or("", |p| &*p.name);
        graph.args(node).get(i).or_else(|| graph.kwarg(node, name)).unwrap_or(&Arg::None)
    };
    for (i, _) in callee.effects.params.iter().enumerate().filter(|(_, p)| p.writes) {
        for owner in owners.of(graph, argument(i)) {
            let place = operator.schema.param_index(&owner);
            if !place.and_then(|p| operator.effects.params.get(p)).is_some_and(|p| p.writes) {
                return Err(effect(format!("writes to `{owner}`")));
            }
        }
    }
    let shared = callee
        .effects
        .returns
        .iter()
        .flatten()
        .filter(|r| matches!(r.sharing, Sharing::Same | Sharing::View | Sharing::Maybe));
    let mut all: Vec<String> = shared.flat_map(|r| owners.of(graph, argument(r.param))).collect();
    if graph.target(node) == "_operator.getitem" {
        all.extend(owners.of(graph, argument(0)));
    }
    owners.set(graph, node, all);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Device, Dtype, NewNode, TensorType, ValueType};
    use crate::sym::Dim;

    const FILE: &str = r#"
[[op]]
name = "demo.sin_into.default"
schema = "demo::sin_into(Tensor x, Tensor(a!) result) -> ()"
meaning = """
class GraphModule(torch.nn.Module):
    def forward(self, x, result):
        sin = torch.ops.aten.sin.default(x)
        copy_ = torch.ops.aten.copy_.default(result, sin)
        return ()
"""

[[op]]
name = "demo.scaled.default"
schema = "demo::scaled(Tensor x, float by=2.0) -> Tensor"
meaning = """
def forward(self, x, by):
    mul = torch.ops.aten.mul.Tensor(x, by)
    add = torch.ops.aten.add.Tensor(mul, 1)
    return add
"""
"#;

    fn extended(text: &str) -> Result<Registry, String> {
        let mut registry = Registry::standard();
        extend(&mut registry, "my.toml", text).map_err(|e| e.to_string()).map(|_| registry)
    }

    fn input(g: &mut Graph) -> Arg {
        let ty = ValueType::tensor(TensorType::new(Dtype::I64, [Dim::Fixed(3)], Device::cpu()));
        let (kind, target) = (NodeKind::Placeholder, g.texts.intern("x"));
        let node = NewNode { kind, target, args: Box::default(), kwargs: Box::default(), ty };
        Arg::Node(g.push(BodyId::ROOT, "x", node))
    }

    #[test]
    fn a_meaning_types_and_decomposes_its_calls() {
        let registry = extended(FILE).unwrap();
        let mut g = Graph::new();
        let x = input(&mut g);
        let ty = registry.infer(&mut g, "demo.scaled.default", std::slice::from_ref(&x), &[]).unwrap();
        assert_eq!(ty.annotation(&g.symbols).unwrap(), "f32[3]");
        let mut symbols = std::mem::take(&mut g.symbols);
        let site = CallSite { target: "demo.scaled.default", args: &[x, Arg::Int(3)], kwargs: &[], annotated: None };
        let e = registry.decompose(&g, &mut symbols, site).unwrap().unwrap();
        let calls: Vec<String> = e.calls().map(|n| text::write_node_line(&e.graph, n)).collect();
        assert_eq!(calls[0], "mul: \"i64[3]\" = torch.ops.aten.mul.Tensor(x, 3)");
        assert_eq!(calls.len(), 2);
    }

    #[test]
    fn a_meaning_that_does_not_fit_its_schema_names_its_line() {
        for (from, to, what) in [
            (
                "def forward(self, x, by)",
                "def forward(self, x)",
                "my.toml:17: operator `demo.scaled.default`, `meaning`: its parameters are (x), the schema's are (x, by)",
            ),
            ("aten.mul.Tensor(x, by)", "aten.mul.Tensor(x by)", "my.toml:18: operator"),
            (
                "aten.mul.Tensor(x, by)",
                "aten.mul.Tensor(x)",
                "node `mul`: `aten.mul.Tensor`: argument `other` is missing",
            ),
            ("aten.mul.Tensor(x, by)", "aten.mull.Tensor(x, by)", "nobody described"),
            (
                "aten.mul.Tensor(x, by)",
                "aten.mul_.Tensor(x, by)",
                "node `mul` writes to `x`, which the schema does not say",
            ),
            ("return add", "return (mul, add)", "returns 2 results, the schema has 1"),
            ("aten.sin.default(x)", "aten.bernoulli.default(x)", "draws random numbers"),
            ("torch.ops.aten.sin.default(x)", "torch.ops.demo.scaled.default(x)", "it must stand above"),
        ] {
            let error = extended(&FILE.replace(from, to)).unwrap_err();
            assert!(error.contains(what), "{error}\n  is not: {what}");
        }
    }

    /// Operators, each of which calls the one above so many times.
    fn tower(count: usize, calls: usize) -> String {
        let mut text = String::new();
        for i in 0..count {
            let above = if i == 0 { "aten.neg.default".to_string() } else { format!("demo.o{}.default", i - 1) };
            let mut body = String::new();
            for j in 0..calls {
                let of = if j == 0 { "x".to_string() } else { format!("a{}", j - 1) };
                body += &format!("    a{j} = torch.ops.{above}({of})\n");
            }
            text += &format!("[[op]]\nname = \"demo.o{i}.default\"\nschema = \"demo::o{i}(Tensor x) -> Tensor\"\n");
            text += &format!("meaning = \"\"\"\ndef forward(self, x):\n{body}    return a{}\n\"\"\"\n", calls - 1);
        }
        text
    }

    #[test]
    fn an_operand_that_is_given_twice_again_and_again_has_one_owner() {
        let mut g = Graph::new();
        let x = input(&mut g);
        let (node, mut owners) = (x.as_node().unwrap(), Owners::default());
        owners.set(&g, node, vec!["x".to_string()]);
        for _ in 0..40 {
            let twice = owners.of(&g, &Arg::List(Box::new([x.clone(), x.clone()])));
            owners.set(&g, node, twice);
        }
        assert_eq!(owners.of(&g, &x), ["x"]);
    }

    #[test]
    fn meanings_in_each_other_are_bounded_in_depth_and_calls() {
        assert!(extended(&tower(12, 1)).is_ok());
        let error = extended(&tower(13, 1)).unwrap_err();
        assert!(error.contains("more than 12 deep"), "{error}");
        let error = extended(&tower(1_500, 1)).unwrap_err();
        assert!(error.contains("more than 12 deep"), "{error}");
        assert!(extended(&tower(12, 2)).is_ok());
        let error = extended(&tower(7, 4)).unwrap_err();
        assert!(error.contains("demo.o6.default") && error.contains("comes to 16384 calls"), "{error}");
    }

    #[test]
    fn a_later_file_cannot_make_a_meaning_contain_itself() {
        let mut registry = extended(&tower(3, 1)).unwrap();
        let again = tower(1, 1).replace("aten.neg", "demo.o2");
        let error = extend(&mut registry, "b.toml", &again).unwrap_err().to_string();
        assert!(error.contains("it contains itself"), "{error}");
        assert!(registry.get("demo.o0.default").unwrap().body.is_some());
    }

    #[test]
    fn a_file_with_a_wrong_meaning_adds_nothing() {
        let mut registry = Registry::standard();
        assert!(extend(&mut registry, "my.toml", &FILE.replace("return add", "return ()")).is_err());
        assert!(registry.get("demo.sin_into.default").is_none());
    }

    #[test]
    fn a_write_to_what_the_schema_marks_is_no_fault() {
        let registry = extended(FILE).unwrap();
        assert!(registry.get("demo.sin_into.default").unwrap().body.is_some());
    }
}
