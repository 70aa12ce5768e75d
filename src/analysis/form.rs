//! Whether a graph is well formed, before anything is asked about operators.
//!
//! [`check_form`] reports, up to [`LIMIT`] problems in the order of the graph:
//! - a body without output, or with nodes after it; a placeholder after another node;
//! - an argument that names a removed node, a node of another body, the node itself, or a node defined later;
//! - a name that nothing defines, or that is defined twice (readers of text leave these: see [`note`]);
//! - arguments nested deeper than [`Arg::MAX_DEPTH`];
//! - a get_attr node that refers to nothing;
//! - scopes, super kernels and waits that are not well formed, in both name spaces (see `streams::ScopeFault`);
//! - a signature that is not that of the placeholders and the output, or changes what is no input.
//!
//! Promises: linear in the size of the graph; nothing is changed. Leaves to others: types and schemas (`ops`), and the rules of streams
//! that depend on the mode (`streams`).

use smallvec::{SmallVec, smallvec};
use thiserror::Error;

use super::streams::{ScopeFault, Scopes};
use crate::graph::{Arg, BodyId, Graph, InputKind, NodeId, NodeKind, OutputKind, Signature, ValueType, View};

/// How many problems are reported.
pub const LIMIT: usize = 20;

/// Key of a node's metadata under which a reader notes what a Graph cannot hold.
const NOTED: &str = "airlock.form";

/// What is not well formed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum FormFault {
    #[error("a sub-graph or graph must end in one output node; this one has none")]
    NoOutput,
    #[error("stands after the output of its graph; the output must be the last node")]
    AfterOutput,
    #[error("is an input that stands after other nodes; inputs come first")]
    LatePlaceholder,
    #[error("uses itself")]
    UsesItself,
    #[error("uses `{used}`, which is defined only later")]
    UsedBeforeDefinition { used: String },
    #[error("uses a node that was removed")]
    UsesRemoved,
    #[error("uses `{used}` of another graph body; pass it in as an operand of the higher-order operator")]
    UsesOtherBody { used: String },
    #[error("uses `{used}`, which nothing defines")]
    Undefined { used: String },
    #[error("has an argument whose lists nest deeper than {limit}")]
    TooDeep { limit: usize },
    #[error("refers to `self.{target}`, and there is no such sub-graph")]
    NoSuchAttribute { target: String },
    #[error("{0}")]
    Streams(ScopeFault),
    #[error("the signature has {signature} inputs, the graph has {graph}")]
    InputCount { signature: usize, graph: usize },
    #[error("is called `{signature}` in the signature")]
    InputName { signature: String },
    #[error("the signature has {signature} outputs, the graph returns {graph}")]
    OutputCount { signature: usize, graph: usize },
    #[error("output {index} is the new content of `{target}`, which is no input of that kind")]
    MutatesNoInput { index: usize, target: String },
    #[error("{0}")]
    Noted(String),
}

/// A fault, and the node at which it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    /// The node; `None` where the fault is the graph's.
    pub node: Option<NodeId>,
    /// The node's name, or that of the body.
    pub name: String,
    /// What is wrong.
    pub fault: FormFault,
}

impl std::fmt::Display for FormError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Names may come from a hostile pass or file, and messages go to terminals.
        for c in format!("`{}`: {}", self.name, self.fault).chars() {
            if c.is_control() { write!(f, "{}", c.escape_unicode())? } else { write!(f, "{c}")? }
        }
        Ok(())
    }
}

impl std::error::Error for FormError {}

/// Notes a fault that a graph cannot hold (a name defined twice), for [`check_form`] to report.
pub fn note(graph: &mut Graph, node: NodeId, what: &str) {
    let all = match graph.annotation(node, NOTED) {
        // More would not be reported, and copying them over and over would cost.
        Some(before) if before.lines().count() >= LIMIT => return,
        Some(before) => format!("{before}\n{what}"),
        None => what.to_string(),
    };
    graph.annotate(node, NOTED, Some(&all));
}

/// Returns what is not well formed; nothing, for a graph that is.
pub fn check_form(graph: &Graph) -> Vec<FormError> {
    let mut check = Check { graph, errors: Vec::new() };
    for body in graph.bodies() {
        check.body(body);
    }
    if let Some(signature) = &graph.signature {
        check.signature(signature);
    }
    check.errors
}

struct Check<'a> {
    graph: &'a Graph,
    errors: Vec<FormError>,
}

impl Check<'_> {
    fn report(&mut self, node: NodeId, fault: FormFault) {
        if self.errors.len() < LIMIT {
            let name = self.graph.name(node).to_string();
            self.errors.push(FormError { node: Some(node), name, fault });
        }
    }

    fn body(&mut self, body: BodyId) {
        let (mut inputs_over, mut output) = (false, None);
        let mut scopes = Scopes::default();
        for node in self.graph.nodes(body) {
            if self.errors.len() >= LIMIT {
                return;
            }
            if output.is_some() {
                self.report(node, FormFault::AfterOutput);
            }
            match self.graph.kind(node) {
                NodeKind::Placeholder if inputs_over => self.report(node, FormFault::LatePlaceholder),
                NodeKind::Placeholder => {}
                NodeKind::Output => output = Some(node),
                NodeKind::GetAttr => self.attribute(node),
                NodeKind::Call => {
                    scopes.read(self.graph, node);
                    self.streams(&mut scopes);
                }
            }
            inputs_over |= self.graph.kind(node) != NodeKind::Placeholder;
            self.arguments(body, node);
            if let Some(noted) = self.graph.annotated(node, NOTED) {
                for what in noted.lines() {
                    self.report(node, FormFault::Noted(what.to_string()));
                }
            }
        }
        scopes.finish();
        self.streams(&mut scopes);
        if output.is_none() && self.errors.len() < LIMIT {
            let name = self.graph.body_name(body).to_string();
            self.errors.push(FormError { node: None, name, fault: FormFault::NoOutput });
        }
    }

    fn arguments(&mut self, body: BodyId, node: NodeId) {
        let graph = self.graph;
        let all = graph.args(node).iter().chain(graph.kwargs(node).iter().map(|(_, a)| a));
        for arg in all {
            if arg.depth() > Arg::MAX_DEPTH {
                self.report(node, FormFault::TooDeep { limit: Arg::MAX_DEPTH });
                continue;
            }
            for used in arg.nodes() {
                if let Some(fault) = self.operand(body, node, used) {
                    self.report(node, fault);
                }
            }
            for used in undefined(arg) {
                self.report(node, FormFault::Undefined { used });
            }
        }
    }

    fn operand(&self, body: BodyId, node: NodeId, used: NodeId) -> Option<FormFault> {
        let graph = self.graph;
        let name = || graph.name(used).to_string();
        match graph.place(used) {
            None => Some(FormFault::UsesRemoved),
            Some((other, _)) if other != body => Some(FormFault::UsesOtherBody { used: name() }),
            Some(_) if used == node => Some(FormFault::UsesItself),
            Some(_) if !graph.is_before(used, node) => Some(FormFault::UsedBeforeDefinition { used: name() }),
            Some(_) => None,
        }
    }

    fn attribute(&mut self, node: NodeId) {
        let known = match self.graph.ty(node) {
            ValueType::Body(body) => usize::try_from(body.0).is_ok_and(|b| b < self.graph.body_count()),
            ValueType::Tensor(_) | ValueType::Other(_) | ValueType::Const(_) => true,
            _ => false,
        };
        if !known {
            self.report(node, FormFault::NoSuchAttribute { target: self.graph.target(node).to_string() });
        }
    }

    fn streams(&mut self, scopes: &mut Scopes) {
        for found in scopes.faults.drain(..).filter(|f| f.fault.is_of_form()) {
            self.report(found.node, FormFault::Streams(found.fault));
        }
    }

    fn signature(&mut self, signature: &Signature) {
        let graph = self.graph;
        let placeholders: Vec<NodeId> =
            graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder).collect();
        let Some(output) = graph.output(BodyId::ROOT) else { return };
        if placeholders.len() != signature.inputs.len() {
            let counts = FormFault::InputCount { signature: signature.inputs.len(), graph: placeholders.len() };
            self.report(output, counts);
        }
        for (node, spec) in placeholders.into_iter().zip(&signature.inputs) {
            if *spec.name != *graph.target(node) && *spec.name != *graph.name(node) {
                self.report(node, FormFault::InputName { signature: spec.name.to_string() });
            }
        }
        let returned = match graph.args(output) {
            [one] => one.items().map_or(1, <[Arg]>::len),
            more => more.len(),
        };
        if returned != signature.outputs.len() {
            self.report(output, FormFault::OutputCount { signature: signature.outputs.len(), graph: returned });
        }
        let targets = |kind: InputKind| -> std::collections::BTreeSet<&str> {
            let of_kind = signature.inputs.iter().filter(|s| s.kind == kind);
            of_kind
                .filter_map(|s| if kind == InputKind::UserInput { Some(&*s.name) } else { s.target.as_deref() })
                .collect()
        };
        let (buffers, parameters) = (targets(InputKind::Buffer), targets(InputKind::Parameter));
        let inputs = targets(InputKind::UserInput);
        for (index, spec) in signature.outputs.iter().enumerate() {
            let known = match spec.kind {
                OutputKind::BufferMutation => &buffers,
                OutputKind::ParameterMutation => &parameters,
                OutputKind::UserInputMutation => &inputs,
                _ => continue,
            };
            let target = spec.target.as_deref().unwrap_or("");
            if !known.contains(target) {
                self.report(output, FormFault::MutatesNoInput { index, target: target.to_string() });
            }
        }
    }
}

/// Returns the names in an argument that were left as text because nothing defines them.
///
/// A text that is one plain name can only be that: what PyTorch prints of unknown objects has dots, parentheses or brackets.
fn undefined(arg: &Arg) -> Vec<String> {
    let mut found = Vec::new();
    let mut stack: SmallVec<[&Arg; 8]> = smallvec![arg];
    while let Some(arg) = stack.pop() {
        match arg {
            Arg::Other(text) if is_name(text) => found.push(text.to_string()),
            Arg::List(items) | Arg::Tuple(items) => stack.extend(items.iter().rev()),
            Arg::Dict(entries) => stack.extend(entries.iter().rev().map(|(_, a)| a)),
            _ => {}
        }
    }
    found
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Device, Dtype, InputSpec, NewNode, OutputSpec, TensorType};

    fn node(graph: &mut Graph, kind: NodeKind, name: &str, target: &str, args: Vec<Arg>) -> NodeId {
        let target = graph.texts.intern(target);
        let ty = ValueType::tensor(TensorType::new(Dtype::F32, [], Device::cpu()));
        graph.push(BodyId::ROOT, name, NewNode { kind, target, args: args.into(), kwargs: Box::default(), ty })
    }

    fn call(graph: &mut Graph, name: &str, target: &str, args: Vec<Arg>) -> NodeId {
        node(graph, NodeKind::Call, name, target, args)
    }

    fn input(graph: &mut Graph, name: &str) -> NodeId {
        node(graph, NodeKind::Placeholder, name, name, vec![])
    }

    fn output(graph: &mut Graph, args: Vec<Arg>) -> NodeId {
        node(graph, NodeKind::Output, "output", "output", vec![Arg::Tuple(args.into())])
    }

    fn faults(graph: &Graph) -> Vec<String> {
        check_form(graph).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_well_formed_graph_has_no_faults() {
        let mut g = Graph::new();
        let x = input(&mut g, "x");
        let a = call(&mut g, "a", "aten.abs.default", vec![x.into()]);
        call(&mut g, "e", "air.scope_enter.default", vec![Arg::list(["k"]), Arg::list(["v"])]);
        call(&mut g, "w", "air.wait.default", vec![Arg::list([a])]);
        call(&mut g, "f", "air.scope_exit.default", vec![]);
        output(&mut g, vec![a.into()]);
        assert_eq!(faults(&g), [""; 0]);
    }

    #[test]
    fn uses_of_what_is_not_there_are_faults() {
        let mut g = Graph::new();
        let x = input(&mut g, "x");
        let a = call(&mut g, "a", "aten.abs.default", vec![x.into()]);
        let b = call(&mut g, "b", "aten.abs.default", vec![a.into(), Arg::Other("r2".into())]);
        output(&mut g, vec![b.into()]);
        g.set_args(a, vec![b.into()].into(), Box::default());
        assert_eq!(faults(&g), ["`a`: uses `b`, which is defined only later", "`b`: uses `r2`, which nothing defines"]);
        g.set_args(a, vec![a.into(), Arg::Other("torch.per_tensor".into())].into(), Box::default());
        g.set_args(b, vec![x.into()].into(), Box::default());
        assert_eq!(faults(&g), ["`a`: uses itself"]);
        g.remove(a);
        g.set_args(b, vec![a.into()].into(), Box::default());
        assert_eq!(faults(&g), ["`b`: uses a node that was removed"]);
    }

    #[test]
    fn order_of_kinds_is_inputs_then_nodes_then_one_output() {
        let mut g = Graph::new();
        assert_eq!(faults(&g), ["`GraphModule`: a sub-graph or graph must end in one output node; this one has none"]);
        let x = input(&mut g, "x");
        output(&mut g, vec![x.into()]);
        input(&mut g, "y");
        let found = faults(&g);
        assert!(found.first().is_some_and(|f| f.starts_with("`y`: stands after the output")), "{found:?}");
        assert!(found.get(1).is_some_and(|f| f.starts_with("`y`: is an input that stands after")), "{found:?}");
    }

    #[test]
    fn scopes_pair() {
        let mut g = Graph::new();
        call(&mut g, "e", "air.scope_enter.default", vec![Arg::list(["k", "l"]), Arg::list(["v"])]);
        call(&mut g, "f", "air.scope_exit.default", vec![]);
        call(&mut g, "h", "air.scope_exit.default", vec![]);
        call(&mut g, "w", "air.wait.default", vec![Arg::List(Box::default())]);
        call(&mut g, "i", "air.scope_enter.default", vec![]);
        output(&mut g, vec![]);
        assert_eq!(
            faults(&g),
            [
                "`e`: gives 2 keys and 1 values; a scope needs as many values as keys",
                "`h`: closes a scope, and none is open",
                "`w`: waits for nothing; name at least one record",
                "`i`: opens a scope that is never closed",
            ]
        );
    }

    #[test]
    fn the_signature_is_that_of_the_graph() {
        let mut g = Graph::new();
        let x = input(&mut g, "x");
        output(&mut g, vec![x.into(), Arg::None]);
        let spec =
            |name: &str| InputSpec { kind: InputKind::UserInput, name: name.into(), target: None, persistent: None };
        let result = |kind, target: Option<&str>| OutputSpec { kind, target: target.map(Into::into) };
        let good = Signature {
            inputs: vec![spec("x")],
            outputs: vec![result(OutputKind::UserInputMutation, Some("x")), result(OutputKind::UserOutput, None)],
        };
        g.signature = Some(good.clone());
        assert_eq!(faults(&g), [""; 0]);
        g.signature = Some(Signature {
            inputs: vec![spec("y"), spec("z")],
            outputs: vec![result(OutputKind::BufferMutation, Some("x"))],
        });
        assert_eq!(
            faults(&g),
            [
                "`output`: the signature has 2 inputs, the graph has 1",
                "`x`: is called `y` in the signature",
                "`output`: the signature has 1 outputs, the graph returns 2",
                "`output`: output 0 is the new content of `x`, which is no input of that kind",
            ]
        );
    }

    #[test]
    fn a_noted_fault_is_reported_at_its_node_and_not_without_end() {
        let mut g = Graph::new();
        for index in 0..30 {
            let n = call(&mut g, &format!("n{index}"), "aten.rand.default", vec![]);
            note(&mut g, n, "is defined twice");
        }
        output(&mut g, vec![]);
        let found = faults(&g);
        assert_eq!((found.len(), found.first().map(String::as_str)), (LIMIT, Some("`n0`: is defined twice")));
    }
}
