//! Types of whole graphs: what the rules say everywhere, and where an annotation contradicts them.
//!
//! Promises: one pass in list order (bodies before the calls that name them), no recursion; a type is reported as wrong only where
//! it provably is: another dtype or rank, or a size that cannot be equal. Where nothing is known (opaque operators,
//! operands without types) annotations stand.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use thiserror::Error;

use crate::graph::{Arg, BodyId, Graph, Hearsay, InputLayout, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::error::{CallFault, TypeError};
use crate::ops::facts::autocast::policy;
use crate::ops::facts::effects::SideEffect;
use crate::ops::registry::Registry;
use crate::ops::typing::hearsay::{Owners, bodies_take_what_is_passed};
use crate::ops::typing::infer::CallSite;
use crate::ops::typing::layout;
use crate::ops::typing::sizes;
use crate::sym::{Dim, Symbols};

/// A node whose type does not hold.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("node `{name}`: {problem}")]
pub struct TypeProblem {
    /// The node.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a node's type.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Problem {
    /// The call itself does not hold.
    #[error(transparent)]
    Call(#[from] TypeError),
    /// The calls up to here have more results than a graph may have.
    #[error(
        "the types of the results up to here take {bytes} bytes, of which there may be {limit}; split into fewer pieces"
    )]
    TooLarge {
        /// How many there are.
        bytes: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The annotation contradicts the type rule.
    #[error("annotated {annotated}, but `{target}` gives {inferred}")]
    Annotation {
        /// The operator.
        target: String,
        /// As annotated.
        annotated: String,
        /// As the rule says.
        inferred: String,
    },
}

/// The most bytes that the types of calls of several results may take in one graph. A call of some letters can have 65,536.
const MAX_RESULT_BYTES: u64 = 256 << 20;

impl Registry {
    /// Gives every node the type that the rules give it, keeping annotations for printing, and returns what does not hold, in graph order.
    ///
    /// A node with a problem keeps its annotation. Inputs of the graph without strides lie as [`Graph::inputs_lie`] says; where that, or strides that
    /// a rule gives otherwise than they are stated, leaves a view impossible, nothing is wrong: how memory lies is then not known.
    pub fn check_types(&self, graph: &mut Graph) -> Vec<TypeProblem> {
        let mut symbols = std::mem::take(&mut graph.symbols);
        super::asserted::doubt(graph, &mut symbols);
        super::one_valued::number(graph, &mut symbols);
        let mut owners = Owners::of_inputs(graph, &symbols);
        graph.layout_assumed |= has_input_without_strides(graph);
        let mut layout_is_known = !graph.layout_assumed;
        let mut problems: Vec<Vec<TypeProblem>> = Vec::new();
        let mut bytes = 0_u64;
        let cast = cast_bodies(graph);
        let bodies: Vec<BodyId> = graph.bodies().collect();
        'bodies: for body in bodies.into_iter().rev() {
            let mut found = Vec::new();
            let mut next = graph.first(body);
            while let Some(node) = next {
                next = graph.next(node);
                match graph.kind(node) {
                    // What of its operands is cast before the call, no rule knows: the annotation stands.
                    NodeKind::Call if cast.contains(&body) && policy(graph.target(node)).is_some() => {
                        graph.set_hearsay(node, Hearsay::TOLD);
                    }
                    NodeKind::Call => {
                        let problem = self.check_node(graph, &mut symbols, &mut owners, &mut layout_is_known, node);
                        found.extend(problem);
                        if let ValueType::Many(_) = graph.ty(node) {
                            bytes = bytes.saturating_add(graph.ty(node).bytes());
                        }
                        if bytes > MAX_RESULT_BYTES {
                            let (name, limit) = (graph.name(node).to_string(), MAX_RESULT_BYTES);
                            found.push(TypeProblem { node, name, problem: Problem::TooLarge { bytes, limit } });
                            problems.push(found);
                            break 'bodies;
                        }
                    }
                    NodeKind::Placeholder if body == BodyId::ROOT => fill_input(graph, &mut symbols, node),
                    NodeKind::GetAttr => {
                        let said = of_the_module(graph.ty(node));
                        graph.set_hearsay(node, said);
                    }
                    NodeKind::Placeholder | NodeKind::Output => {}
                }
            }
            problems.push(found);
        }
        graph.symbols = symbols;
        let problems: Vec<TypeProblem> = problems.into_iter().rev().flatten().collect();
        if problems.is_empty() {
            graph.note_checked(self.stamp());
        }
        problems
    }

    /// Gives every node the type that the rules give it, whatever does not hold: nothing is done where they did so, found nothing wrong, and
    /// nothing was changed since.
    pub fn settle_types(&self, graph: &mut Graph) {
        if !graph.is_checked(self.stamp()) {
            let _ = self.check_types(graph);
        }
    }

    fn check_node(
        &self,
        graph: &mut Graph,
        symbols: &mut Symbols,
        owners: &mut Owners,
        layout_is_known: &mut bool,
        node: NodeId,
    ) -> Option<TypeProblem> {
        graph.set_hearsay(node, Hearsay::TOLD);
        let problem = |graph: &Graph, problem| Some(TypeProblem { node, name: graph.name(node).to_string(), problem });
        let (mut inferred, told) = match self.infer_told(graph, symbols, owners, node) {
            Ok(found) => found,
            Err(fault) if fault.is_ignorance() => return None,
            Err(CallFault::Unseen { .. }) if !*layout_is_known => return None,
            Err(fault) => return problem(graph, Problem::Call(fault.of(graph.target(node)))),
        };
        let annotated = graph.ty(node);
        if contradicts(symbols, annotated, &inferred) {
            let (annotated, inferred) = (show(symbols, annotated), show(symbols, &inferred));
            let target = graph.target(node).to_string();
            return problem(graph, Problem::Annotation { target, annotated, inferred });
        }
        *layout_is_known &= !forget_contradicted_strides(symbols, annotated, &mut inferred);
        let laid_out_by_word = is_strided(&inferred) == Some(false) && is_strided(annotated) == Some(true);
        settle(graph, symbols, node, inferred);
        let told = if laid_out_by_word { Hearsay::TOLD_STRIDES } else { Hearsay::NONE }.max(told);
        let said = self.hearsay(graph, symbols, node, told);
        graph.set_hearsay(node, said);
        None
    }

    /// The type of a node, and what of it is its annotation's word.
    fn infer_told(
        &self,
        graph: &Graph,
        symbols: &mut Symbols,
        owners: &mut Owners,
        node: NodeId,
    ) -> Result<(ValueType, Hearsay), CallFault> {
        let site = CallSite::of(graph, node);
        let (ty, consulted, control) = {
            let mut call = self.bind(graph, symbols, site)?;
            let ty = call.infer()?;
            (ty, call.consulted.get(), call.operator.effects.side == Some(SideEffect::Control))
        };
        if control && !bodies_take_what_is_passed(graph, symbols, node) {
            return Ok((ty, Hearsay::TOLD));
        }
        if !consulted || site.annotated.is_none() {
            return Ok((ty, Hearsay::NONE));
        }
        let alone = self.bind(graph, symbols, CallSite { annotated: None, ..site }).and_then(|mut call| call.infer());
        let confirmed = alone.is_ok_and(|alone| owners.confirm(symbols, &ty, &alone));
        Ok((ty, if confirmed { Hearsay::NONE } else { Hearsay::TOLD }))
    }
}

/// Bodies that run within an enabled region of autocast.
fn cast_bodies(graph: &Graph) -> FxHashSet<BodyId> {
    const REGION: &str = "higher_order.wrap_with_autocast";
    let mut stated: FxHashMap<BodyId, bool> = FxHashMap::default();
    let region = graph.texts.find(REGION).filter(|target| graph.targets().contains(target));
    let calls = region.into_iter().flat_map(|t| graph.bodies().map(move |body| (t, body)));
    for (target, body) in calls {
        for node in graph.nodes(body).filter(|n| graph.target_id(*n) == target) {
            let args = graph.args(node);
            if let Some(Arg::Node(named)) = args.get(4)
                && let ValueType::Body(inner) = graph.ty(*named)
            {
                let is_on = args.get(2) != Some(&Arg::Bool(false));
                // A body that is run in both ways is run in one of them.
                *stated.entry(*inner).or_default() |= is_on;
            }
        }
    }
    let mut on = FxHashSet::default();
    // A body stands after the one that holds it.
    for body in graph.bodies().filter(|_| !stated.is_empty()) {
        let inherited = || graph.body_parent(body).is_some_and(|parent| on.contains(&parent));
        if stated.get(&body).copied().unwrap_or_else(inherited) {
            on.insert(body);
        }
    }
    on
}

/// Whether nobody states how an input of the graph lies.
fn has_input_without_strides(graph: &Graph) -> bool {
    let inputs = graph.nodes(BodyId::ROOT).take_while(|n| graph.kind(*n) == NodeKind::Placeholder);
    inputs.filter_map(|n| graph.ty(n).as_tensor()).any(|t| t.strides.is_none() && t.rank() > 1)
}

/// Strides that are stated otherwise than the rule gives them are nobody's knowledge: a device may have its own. Returns whether there were such.
fn forget_contradicted_strides(symbols: &Symbols, stated: &ValueType, inferred: &mut ValueType) -> bool {
    let (Some(old), ValueType::Tensor(new)) = (stated.as_tensor(), inferred) else { return false };
    let (Some(a), Some(b)) = (&old.strides, &new.strides) else { return false };
    // How what has at most one element lies shows nowhere.
    let differs = |d: usize| match (a.get(d), b.get(d), new.sizes.get(d)) {
        (Some(x), Some(y), Some(n)) => sizes::differ(symbols, *x, *y) && sizes::differ(symbols, *n, Dim::Fixed(1)),
        _ => false,
    };
    let empty = new.sizes.contains(&Dim::Fixed(0));
    if empty || !(0..new.rank()).any(differs) {
        return false;
    }
    *new = std::sync::Arc::new(TensorType { strides: None, ..(**new).clone() });
    true
}

/// Of a tensor of the module the graph states sizes that are numbers; how it lies, and what symbols mean, nobody states.
fn of_the_module(ty: &ValueType) -> Hearsay {
    match ty {
        ValueType::Tensor(t) if t.sizes.iter().all(|d| d.fixed().is_some()) => Hearsay::TOLD_STRIDES,
        ValueType::Body(_) => Hearsay::NONE,
        _ => Hearsay::TOLD,
    }
}

/// Whether the strides of a tensor are given.
fn is_strided(ty: &ValueType) -> Option<bool> {
    ty.as_tensor().map(|t| t.strides.is_some())
}

fn fill_input(graph: &mut Graph, symbols: &mut Symbols, node: NodeId) {
    let ValueType::Tensor(ty) = graph.ty(node) else { return };
    if ty.strides.is_some() || graph.inputs_lie == InputLayout::Any {
        return;
    }
    if let Ok(strides) = layout::contiguous(symbols, &ty.sizes) {
        let ty = TensorType { strides: Some(strides), ..(**ty).clone() };
        graph.inputs_assumed |= ty.rank() > 0;
        replace(graph, node, ValueType::tensor(ty));
    }
}

/// Sets the type that the rule gives, keeping what only the file knows and the annotation as it prints.
pub(super) fn settle(graph: &mut Graph, symbols: &Symbols, node: NodeId, inferred: ValueType) {
    let annotated = graph.ty(node);
    let inferred = match (annotated, inferred) {
        (ValueType::Tensor(old), ValueType::Tensor(mut new)) => {
            if let Some(t) = std::sync::Arc::get_mut(&mut new) {
                t.requires_grad = old.requires_grad;
                if t.strides.is_none() {
                    t.strides.clone_from(&old.strides);
                    t.offset = old.offset;
                }
            }
            ValueType::Tensor(new)
        }
        (_, new) => new,
    };
    if *annotated == inferred {
        return;
    }
    let unread = matches!(annotated, ValueType::Unknown);
    let same_text = unread || same_sizes(annotated, &inferred);
    let text = if same_text { None } else { annotated.annotation(symbols) };
    if let (Some(text), None) = (&text, graph.printed(node)) {
        let text = graph.texts.intern(text);
        graph.set_type(node, inferred);
        graph.set_printed(node, Some(text));
        return;
    }
    replace(graph, node, inferred);
}

fn same_sizes(a: &ValueType, b: &ValueType) -> bool {
    match (a, b) {
        (ValueType::Tensor(a), ValueType::Tensor(b)) => a.dtype == b.dtype && a.sizes == b.sizes,
        _ => a == b,
    }
}

fn replace(graph: &mut Graph, node: NodeId, ty: ValueType) {
    let printed = graph.printed(node).map(str::to_string);
    graph.set_type(node, ty);
    if let Some(text) = printed {
        let text = graph.texts.intern(&text);
        graph.set_printed(node, Some(text));
    }
}

/// Returns whether no value can have both types.
pub fn contradicts(symbols: &Symbols, annotated: &ValueType, inferred: &ValueType) -> bool {
    let mut work: SmallVec<[(&ValueType, &ValueType); 2]> = smallvec![(annotated, inferred)];
    while let Some(pair) = work.pop() {
        match pair {
            (ValueType::Tensor(a), ValueType::Tensor(b)) => {
                if a.dtype != b.dtype || a.rank() != b.rank() {
                    return true;
                }
                if a.sizes.iter().zip(&b.sizes).any(|(x, y)| sizes::same(symbols, *x, *y) == Some(false)) {
                    return true;
                }
            }
            (ValueType::SymInt(a), ValueType::SymInt(b)) if sizes::same(symbols, *a, *b) == Some(false) => return true,
            (ValueType::Many(a), ValueType::Many(b)) => {
                if a.len() != b.len() {
                    return true;
                }
                work.extend(a.iter().zip(b.iter()));
            }
            (ValueType::Tensor(_) | ValueType::SymInt(_), ValueType::None | ValueType::Many(_))
            | (ValueType::Tensor(_), ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_))
            | (
                ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_) | ValueType::Many(_),
                ValueType::Tensor(_),
            ) => return true,
            _ => {}
        }
    }
    false
}

/// Returns a type in words, for messages.
pub fn show(symbols: &Symbols, ty: &ValueType) -> String {
    match ty {
        ValueType::Many(all) => {
            let inner: Vec<String> =
                all.iter().map(|t| t.annotation(symbols).unwrap_or_else(|| "several values".into())).collect();
            format!("({})", inner.join(", "))
        }
        ValueType::None => "no value".into(),
        other => other.annotation(symbols).unwrap_or_else(|| "an object".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Device, Dtype, NewNode, Row};
    use crate::sym::Range;

    /// `neg(relu(x))` of rows whose number is a symbol.
    fn graph() -> Graph {
        let mut graph = Graph::new();
        let rows = graph.symbols.symbol("s0");
        let ty = ValueType::tensor(TensorType::new(Dtype::F32, [rows, Dim::Fixed(3)], Device::cpu()));
        let mut last = Vec::new();
        for (name, kind, target) in [
            ("x", NodeKind::Placeholder, "x"),
            ("a", NodeKind::Call, "aten.relu.default"),
            ("b", NodeKind::Call, "aten.neg.default"),
        ] {
            let target = graph.texts.intern(target);
            let node = NewNode { kind, target, args: last.into(), kwargs: Box::default(), ty: ty.clone() };
            last = vec![Arg::Node(graph.push(BodyId::ROOT, name, node))];
        }
        graph
    }

    /// Whether a graph that was checked is still known to be so after a change.
    fn stays(change: impl FnOnce(&mut Graph, [NodeId; 3])) -> bool {
        let registry = Registry::standard();
        let mut graph = graph();
        assert!(!graph.is_checked(registry.stamp()));
        assert!(registry.check_types(&mut graph).is_empty());
        let nodes = ["x", "a", "b"].map(|name| graph.find_name(BodyId::ROOT, name).unwrap());
        change(&mut graph, nodes);
        graph.is_checked(registry.stamp())
    }

    #[test]
    fn whatever_changes_what_types_are_made_of_has_them_checked_again() {
        assert!(stays(|_, _| ()));
        assert!(stays(|g, [_, a, _]| g.rename(a, "other")));
        assert!(stays(|g, _| {
            g.symbols.symbol("s9");
        }));
        let row = |g: &Graph, n: NodeId| -> Row { g.row(n).unwrap() };
        assert!(!stays(|g, [x, _, b]| g.set_args(b, [Arg::Node(x)].into(), Box::default())));
        assert!(!stays(|g, [_, a, _]| {
            let target = g.texts.intern("aten.neg.default");
            g.set_target(a, target);
        }));
        assert!(!stays(|g, [_, a, _]| g.set_type(a, ValueType::Unknown)));
        assert!(!stays(|g, [_, a, _]| g.set_hearsay(a, Hearsay::TOLD)));
        assert!(!stays(|g, [_, a, b]| g.move_before(b, Some(a))));
        assert!(!stays(|g, [_, _, b]| g.remove(b)));
        assert!(!stays(|g, [x, a, _]| {
            let Row { kind, target, args, kwargs, .. } = row(g, a);
            let ty = g.ty(x).clone();
            g.push(BodyId::ROOT, "c", NewNode { kind, target, args, kwargs, ty });
        }));
        assert!(!stays(|g, _| g.inputs_lie = InputLayout::Any));
        assert!(!stays(|g, _| g.layout_assumed ^= true));
        assert!(!stays(|g, _| g.symbols.set_range("s0", Range::new(Some(2), Some(9))).unwrap()));
        assert!(!stays(|g, [_, a, _]| {
            g.begin_log();
            g.set_type(a, ValueType::Unknown);
            g.undo_log();
        }));
    }

    #[test]
    fn what_is_wrong_and_what_other_operators_say_is_checked_again() {
        let mut graph = graph();
        let (mut registry, other) = (Registry::standard(), Registry::standard());
        assert!(registry.check_types(&mut graph).is_empty());
        assert!(!graph.is_checked(other.stamp()));
        assert!(graph.is_checked(registry.clone().stamp()));
        let operator = registry.get("aten.relu.default").unwrap().clone();
        registry.add(operator);
        assert!(!graph.is_checked(registry.stamp()));
        let a = graph.find_name(BodyId::ROOT, "a").unwrap();
        let wrong = ValueType::SymInt(Dim::Fixed(3));
        graph.set_type(a, wrong);
        assert!(!registry.check_types(&mut graph).is_empty());
        assert!(!graph.is_checked(registry.stamp()));
    }
}
