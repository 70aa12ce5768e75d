//! Which steps a program takes that are no functions over the reals: roundings to narrower dtypes, and discrete steps.
//!
//! Promises: roundings are counted by dtype, discrete steps by operator; what an operator is stands in the registry's marks. Leaves to `error`
//! what follows where two programs do not take the same steps.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::getitem_of;
use crate::graph::{Arg, BodyId, Dtype, Graph, NodeId, NodeKind, ValueType, View};
use crate::ops::{Base, Bound, CallSite, Operator, Registry, SharesWhen};
use crate::rules::element::arena::Op;
use crate::rules::element::cast::loses_nothing;
use crate::rules::table::{Meaning, meaning};

/// The steps of one program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// How often something is rounded to each dtype narrower than the widest.
    pub roundings: BTreeMap<Dtype, usize>,
    /// How often each discrete step is taken.
    pub discrete: BTreeMap<String, usize>,
    /// How many of these compare floats.
    pub comparisons: BTreeMap<String, usize>,
    /// Whether bits are read as those of another dtype.
    pub bits: bool,
    /// Every float dtype that occurs.
    pub floats: Vec<Dtype>,
    /// Whether an operator may leave what it likes in its results, or nobody described it.
    pub unset: bool,
    /// By place in what the program returns: whether a rounding may have had a part in it.
    pub rounded: Vec<bool>,
}

impl Steps {
    /// Returns the discrete steps that are no comparisons, by operator.
    pub fn beyond_comparisons(&self) -> BTreeMap<&str, usize> {
        let each = self.discrete.iter().map(|(name, n)| {
            let compared = self.comparisons.get(name).copied().unwrap_or(0);
            (name.as_str(), n.saturating_sub(compared))
        });
        each.filter(|(_, n)| *n > 0).collect()
    }
}

/// How deep definitions within definitions are counted.
const NESTED: usize = 4;

/// Returns the steps of a program.
pub fn of(graph: &Graph, registry: &Registry) -> Steps {
    counted(graph, registry, false, NESTED)
}

/// Returns the steps of a program, to whose inputs a rounding may have come before.
fn counted(graph: &Graph, registry: &Registry, within: bool, depth: usize) -> Steps {
    let mut steps = Steps::default();
    let nodes: Vec<NodeId> = graph.bodies().flat_map(|b| graph.nodes(b).collect::<Vec<_>>()).collect();
    let dtypes = |n: &NodeId| tensors(graph.ty(*n));
    let mut floats: Vec<Dtype> = nodes.iter().flat_map(dtypes).filter(|d| d.is_float() || d.is_complex()).collect();
    floats.sort();
    floats.dedup();
    let widest = if floats.contains(&Dtype::F64) { 8 } else { 4 };
    steps.floats = floats;
    let (mut reached, masked, held) = (reached(graph, registry), masked(graph), held(graph, registry));
    let whole = whole(graph, registry);
    let given = given(graph, registry);
    if within {
        reached.extend(nodes.iter().copied());
    }
    for node in nodes.iter().filter(|n| graph.kind(**n) == NodeKind::Call) {
        let Some(operator) = registry.get(graph.target(maker(graph, *node))) else {
            steps.unset = true;
            continue;
        };
        steps.unset |= operator.facts.unset || operator.effects.opaque;
        // Integers of integers that no rounding reached are what they are, however they are defined.
        let are_whole = |n: &NodeId| tensors(graph.ty(*n)).iter().all(|d| !d.is_float() && !d.is_complex());
        let integers = are_whole(node);
        let of_integers = graph.operands(*node).all(|n| are_whole(&n) && !reached.contains(&n));
        let exact = integers && of_integers && has_one_body(graph);
        // Those that hang on nothing that is given are the same in every run, which shows them.
        if !within && integers && !given.contains(node) {
            continue;
        }
        let discrete = operator.facts.discrete && !exact;
        let defined = discrete.then(|| steps_within(graph, registry, *node, depth)).flatten();
        let is_defined = defined.is_some();
        count(&mut steps, graph, *node, operator, (widest, is_defined), (&reached, &masked, &held, &whole));
        if let Some(inner) = defined {
            sum(&mut steps.discrete, inner.discrete);
            sum(&mut steps.comparisons, inner.comparisons);
        }
    }
    steps.rounded = rounded(graph, &reached);
    steps
}

/// Returns the values that hang on inputs, tensors of the module, draws, or what nobody knows.
fn given(graph: &Graph, registry: &Registry) -> FxHashSet<NodeId> {
    let mut given: FxHashSet<NodeId> = FxHashSet::default();
    for node in graph.bodies().flat_map(|b| graph.nodes(b).collect::<Vec<_>>()) {
        let known = registry.get(graph.target(maker(graph, node)));
        let constant = graph.kind(node) == NodeKind::Call
            && has_one_body(graph)
            && known.is_some_and(|o| o.effects.is_pure() && !o.facts.unset)
            && !graph.operands(node).any(|n| given.contains(&n));
        if !constant {
            given.insert(node);
        }
    }
    given
}

/// Returns the steps of the definition of a call that takes some: what is written out takes them one by one.
fn steps_within(graph: &Graph, registry: &Registry, node: NodeId, depth: usize) -> Option<Steps> {
    let depth = depth.checked_sub(1)?;
    let mut symbols = graph.symbols.clone();
    let site = CallSite { annotated: None, ..CallSite::of(graph, node) };
    let expansion = registry.decompose(graph, &mut symbols, site).ok()??;
    Some(counted(&expansion.graph, registry, true, depth))
}

fn sum(all: &mut BTreeMap<String, usize>, more: BTreeMap<String, usize>) {
    for (name, n) in more {
        let own = all.entry(name).or_default();
        *own = own.saturating_add(n);
    }
}

/// The call that makes a value: a result taken out of several is made by the call that gives all.
fn maker(graph: &Graph, node: NodeId) -> NodeId {
    let of = graph.operands(node).next();
    of.filter(|n| matches!(graph.ty(*n), ValueType::Many(_)) && graph.kind(*n) == NodeKind::Call).unwrap_or(node)
}

fn tensors(ty: &ValueType) -> Vec<Dtype> {
    match ty {
        ValueType::Tensor(t) => vec![t.dtype],
        ValueType::Many(all) => all.iter().filter_map(ValueType::as_tensor).map(|t| t.dtype).collect(),
        _ => Vec::new(),
    }
}

/// Returns the dtypes of what a call gives that anything is made of: nobody sees a step whose result nobody asks for.
fn asked(graph: &Graph, node: NodeId) -> Vec<Dtype> {
    let ValueType::Many(all) = graph.ty(node) else { return tensors(graph.ty(node)) };
    let mut out = Vec::new();
    for user in graph.users_in_order(node) {
        let Some((_, item)) = getitem_of(graph, user) else { return tensors(graph.ty(node)) };
        if !graph.users_in_order(user).is_empty() {
            out.extend(all.get(item as usize).map(tensors).unwrap_or_default());
        }
    }
    out
}

/// Whether a call only moves elements.
fn moves(operator: &Operator) -> bool {
    let facts = &operator.facts;
    facts.moves || facts.step.is_some() || facts.scatters.is_some() || facts.copies || operator.is_view()
}

fn count(
    steps: &mut Steps,
    graph: &Graph,
    node: NodeId,
    operator: &Operator,
    (widest, is_defined): (usize, bool),
    (reached, masked, held, whole): (
        &FxHashSet<NodeId>,
        &FxHashSet<NodeId>,
        &FxHashMap<NodeId, Dtype>,
        &FxHashSet<NodeId>,
    ),
) {
    let add = |n: &mut usize| *n = n.saturating_add(1);
    if let ValueType::Tensor(t) = graph.ty(node)
        && t.dtype.is_float()
        && t.dtype.bytes() < widest
        && !moves(operator)
        && !graph.operands(node).any(|n| held.get(&n).is_some_and(|d| is_cast(operator) && loses_nothing(*d, t.dtype)))
    {
        add(steps.roundings.entry(t.dtype).or_default());
    }
    let operands: Vec<Dtype> = graph.operands(node).flat_map(|n| tensors(graph.ty(n))).collect();
    let results = asked(graph, node);
    // Which bag an index is in comes of integers alone, where none is the greatest.
    let bags = operator.facts.bags.is_some() && matches!(graph.args(node).get(4), Some(Arg::Int(0 | 1)));
    let from_float = operands.iter().any(|d| d.is_float()) && !bags;
    let to_whole = results.iter().any(|d| !d.is_float() && !d.is_complex());
    let is_item = maker(graph, node) != node;
    // What compares inputs as they are compares the same everywhere.
    let compares = to_whole && operator.pointwise && !operator.facts.discrete || operator.facts.compares;
    // What asks which elements are masked asks for no number.
    let asks = compares && names_infinity(graph, node) && graph.operands(node).all(|n| masked.contains(&n));
    let untouched = has_one_body(graph) && !graph.operands(node).any(|n| reached.contains(&n));
    // An integer that is converted to one is what it is.
    let is_whole = is_cast(operator) && graph.operands(node).all(|n| whole.contains(&n));
    // So are places and counts of elements that no rounding reached.
    let whole = to_whole && results.iter().all(|d| !d.is_float() && !d.is_complex());
    let decided = asks || is_whole || untouched && (compares || whole && operator.facts.discrete);
    if !is_item && !decided && !is_defined && (operator.facts.discrete || from_float && to_whole && !moves(operator)) {
        let name = match operator.facts.shares {
            Some(SharesWhen::Converted) => format!("to {:?}", results.first()),
            _ => operator.schema.name.trim_end_matches('_').to_string(),
        };
        if compares {
            add(steps.comparisons.entry(name.clone()).or_default());
        }
        add(steps.discrete.entry(name).or_default());
    }
    let same_operand = operands.first().zip(results.first()).is_some_and(|(a, b)| a == b);
    steps.bits |= operator.facts.step.is_some() && !same_operand && !operands.is_empty();
}

/// Whether a call is given an infinite number as it is written.
fn names_infinity(graph: &Graph, node: NodeId) -> bool {
    let given = graph.args(node).iter().chain(graph.kwargs(node).iter().map(|(_, a)| a));
    given.into_iter().any(|a| matches!(a, Arg::Float(v) if v.is_infinite()))
}

/// Returns the floats that an infinite number of the program itself reaches: what masks make of them is meant to be infinite.
fn masked(graph: &Graph) -> FxHashSet<NodeId> {
    let mut masked: FxHashSet<NodeId> = FxHashSet::default();
    for node in graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call) {
        let float = tensors(graph.ty(node)).iter().any(|d| d.is_float());
        if float && (names_infinity(graph, node) || graph.operands(node).any(|n| masked.contains(&n))) {
            masked.insert(node);
        }
    }
    masked
}

fn has_one_body(graph: &Graph) -> bool {
    // Bodies run in the middle of others: what they do is not followed.
    graph.bodies().count() <= 1
}

/// Whether a call converts its operand and does nothing else.
fn is_cast(operator: &Operator) -> bool {
    meaning(&operator.target) == Some(Meaning::Convert)
}

/// Returns values in a wide dtype whose elements are all those of a narrower one: converted, then only moved and compared. Converted back, they
/// are not rounded.
fn held(graph: &Graph, registry: &Registry) -> FxHashMap<NodeId, Dtype> {
    let mut held: FxHashMap<NodeId, Dtype> = FxHashMap::default();
    let calls: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
    let of = |n: &NodeId| registry.get(graph.target(maker(graph, *n)));
    // What is written later holds other numbers then.
    if !has_one_body(graph) || calls.iter().any(|n| of(n).is_none_or(|o| o.effects.writes() || o.effects.opaque)) {
        return held;
    }
    for node in calls {
        let Some(operator) = of(&node) else { continue };
        let floats = |n: &NodeId| tensors(graph.ty(*n)).iter().any(|d| d.is_float());
        let operands: Vec<NodeId> = graph.operands(node).filter(floats).collect();
        let found = match operands.as_slice() {
            [one] if maker(graph, node) != node => held.get(one).copied(),
            [one] if is_cast(operator) => {
                match (tensors(graph.ty(*one)).as_slice(), tensors(graph.ty(node)).as_slice()) {
                    ([from], [to]) if from != to && from.is_float() && loses_nothing(*from, *to) => Some(*from),
                    _ => None,
                }
            }
            [first, rest @ ..]
                if moves(operator)
                    && gives_no_number(graph, operator, node)
                    && tensors(graph.ty(node))
                        .iter()
                        .all(|d| !d.is_float() || tensors(graph.ty(*first)).contains(d)) =>
            {
                held.get(first).copied().filter(|d| rest.iter().all(|n| held.get(n) == Some(d)))
            }
            _ => None,
        };
        held.extend(found.map(|d| (node, d)));
    }
    held
}

/// Returns the floats that are integers: what was rounded to one, and added to others, bounded by them or chosen of them.
fn whole(graph: &Graph, registry: &Registry) -> FxHashSet<NodeId> {
    let mut whole: FxHashSet<NodeId> = FxHashSet::default();
    for node in graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call) {
        let Some(operator) = registry.get(graph.target(maker(graph, node))) else { continue };
        let is_whole = |a: &Arg| match a {
            Arg::Node(n) => whole.contains(n) || !tensors(graph.ty(*n)).iter().any(|d| d.is_float()),
            Arg::Float(v) => v.fract() == 0.0,
            Arg::Int(_) | Arg::None => true,
            _ => false,
        };
        let args = graph.args(node);
        let found = match meaning(&operator.target) {
            Some(Meaning::Unary(Op::Round) | Meaning::Ceil | Meaning::Trunc | Meaning::Floor) => true,
            Some(Meaning::Clamp | Meaning::Bound(_) | Meaning::Binary(Op::Max | Op::Min)) => args.iter().all(is_whole),
            // A sum of integers that is rounded is one, too: what is not held exactly is a multiple of a larger power of two.
            Some(Meaning::Binary(Op::Add | Op::Sub)) => graph.kwargs(node).is_empty() && args.iter().all(is_whole),
            Some(Meaning::Where) => args.iter().skip(1).all(is_whole),
            Some(Meaning::Full | Meaning::FullLike) => args.iter().skip(1).take(1).all(is_whole),
            _ => moves(operator) && graph.operands(node).count() > 0 && args.iter().all(is_whole),
        };
        if found && tensors(graph.ty(node)).iter().all(|d| d.is_float()) {
            whole.insert(node);
        }
    }
    whole
}

/// Whether no argument is a number that may become an element.
fn gives_no_number(graph: &Graph, operator: &Operator, node: NodeId) -> bool {
    let Ok(bound) = Bound::bind(&operator.schema, graph, graph.args(node), graph.kwargs(node)) else { return false };
    let mut given = operator.schema.params.iter().zip(&bound.args);
    given.all(|(p, a)| !matches!(p.ty.base, Base::Scalar | Base::Float) || **a == Arg::None)
}

/// Returns for each output whether a rounding had a part in it.
fn rounded(graph: &Graph, reached: &FxHashSet<NodeId>) -> Vec<bool> {
    let Some(output) = graph.output(BodyId::ROOT) else { return Vec::new() };
    graph.operands(output).map(|n| !has_one_body(graph) || reached.contains(&n)).collect()
}

/// Returns the values in which a rounding had a part. Casts are none: they are functions of bits.
fn reached(graph: &Graph, registry: &Registry) -> FxHashSet<NodeId> {
    let mut reached: FxHashSet<NodeId> = FxHashSet::default();
    for node in graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call) {
        let operator = registry.get(graph.target(maker(graph, node)));
        let exact = operator.is_some_and(|o| {
            let whole = tensors(graph.ty(node)).iter().all(|d| !d.is_float() && !d.is_complex());
            let item = maker(graph, node) != node;
            item || whole || moves(o) || o.facts.shares == Some(SharesWhen::Converted)
        });
        // What is written into is reached too.
        if !exact || graph.operands(node).any(|n| reached.contains(&n)) {
            let written = operator.filter(|o| o.effects.writes()).into_iter().flat_map(|_| graph.operands(node));
            reached.extend(written);
            reached.insert(node);
        }
    }
    reached
}
