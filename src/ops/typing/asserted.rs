//! What is believed of sizes and numbers that only running a call tells: what the call says of them, and what an assertion beside it states.
//!
//! Promises: a stated range narrows such a symbol only where the graph asserts it, in the body in which the symbol is made, of that very
//! call's result; else a size is at least 0 and a number any. What the program states is kept for whoever writes it. Ranges of symbols
//! that inputs bind are the host's word, and stay.

use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, ValueType, View};
use crate::ops::typing::hearsay::symbols_of;
use crate::sym::{Dim, KeyedMap, KeyedSet, Range, Symbols};

/// Where a symbol is made: by which call, and as what.
#[derive(Copy, Clone)]
struct Origin {
    body: BodyId,
    node: NodeId,
    made: Made,
}

/// What a symbol is of a call's result.
#[derive(Copy, Clone, PartialEq)]
enum Made {
    /// The number that it gives.
    Number,
    /// A dimension of it, or of one of several results.
    Size { item: Option<usize>, dim: usize },
    /// A part of a size or a number, which says nothing of the part.
    Within,
}

/// Doubts what is stated of symbols that no input binds and no assertion states.
pub fn doubt(graph: &Graph, symbols: &mut Symbols) {
    let mut open: KeyedSet<String> = symbols.symbols().map(|(name, _)| name.to_string()).collect();
    for node in graph.nodes(BodyId::ROOT).take_while(|n| graph.kind(*n) == NodeKind::Placeholder) {
        for name in symbols_of(symbols, graph.ty(node)) {
            open.remove(&name);
        }
    }
    if open.is_empty() {
        return;
    }
    let origins = origins(graph, symbols, open);
    let asserted = asserted(graph, symbols, &origins);
    for (name, origin) in &origins {
        let natural = if matches!(origin.made, Made::Size { .. }) { Range::SIZE } else { Range::ALL };
        let shown = asserted.get(name).map_or(natural, |stated| natural.intersect(stated));
        let stated = symbols.declared_range(name).unwrap_or(Range::SIZE);
        symbols.believe(name, hull(&stated, &shown));
    }
}

/// The values that lie between those of both.
fn hull(a: &Range, b: &Range) -> Range {
    Range { min: a.min.zip(b.min).map(|(a, b)| a.min(b)), max: a.max.zip(b.max).map(|(a, b)| a.max(b)) }
}

/// The calls in whose types symbols stand first; those that stand in an operand of a body first are whatever is handed to it.
fn origins(graph: &Graph, symbols: &Symbols, mut open: KeyedSet<String>) -> KeyedMap<String, Origin> {
    let mut out = KeyedMap::default();
    for body in graph.bodies() {
        for node in graph.nodes(body) {
            if open.is_empty() {
                return out;
            }
            let ty = graph.ty(node);
            for name in symbols_of(symbols, ty) {
                if open.remove(&name) && graph.kind(node) == NodeKind::Call {
                    let made = symbols.find_symbol(&name).map_or(Made::Within, |symbol| made_as(ty, symbol));
                    out.insert(name, Origin { body, node, made });
                }
            }
        }
    }
    out
}

/// What a symbol is of a result of that type.
fn made_as(ty: &ValueType, symbol: Dim) -> Made {
    let dim_of = |one: &ValueType| one.as_tensor()?.sizes.iter().position(|d| *d == symbol);
    match ty {
        ValueType::SymInt(d) if *d == symbol => Made::Number,
        ValueType::Many(all) => {
            let mut items = all.iter().enumerate();
            let found = items.find_map(|(item, one)| Some((item, dim_of(one)?)));
            found.map_or(Made::Within, |(item, dim)| Made::Size { item: Some(item), dim })
        }
        one => dim_of(one).map_or(Made::Within, |dim| Made::Size { item: None, dim }),
    }
}

/// What assertions state of symbols, each in the body in which the symbol is made.
fn asserted(graph: &Graph, symbols: &Symbols, origins: &KeyedMap<String, Origin>) -> KeyedMap<String, Range> {
    let mut out: KeyedMap<String, Range> = KeyedMap::default();
    for body in graph.bodies() {
        for node in graph.nodes(body).filter(|n| graph.kind(*n) == NodeKind::Call) {
            let Some((subject, range)) = stated_by(graph, node) else { continue };
            let ValueType::SymInt(dim) = graph.ty(subject) else { continue };
            for name in symbols.symbols_in(crate::sym::SymValue::Int(*dim)) {
                let is_it = |o: &Origin| o.body == body && is_made_by(graph, o, subject);
                if symbols.find_symbol(&name) == Some(*dim) && origins.get(&name).is_some_and(is_it) {
                    let known = out.entry(name).or_insert(Range::ALL);
                    *known = known.intersect(&range);
                }
            }
        }
    }
    out
}

/// Whether a number is the one that a symbol stands for: what made it, or the size of what made it.
fn is_made_by(graph: &Graph, origin: &Origin, subject: NodeId) -> bool {
    match origin.made {
        Made::Number => origin.node == subject,
        Made::Within => false,
        Made::Size { item, dim } => {
            let [Arg::Node(of), Arg::Int(asked)] = graph.args(subject) else { return false };
            let is_result = match item {
                None => *of == origin.node,
                Some(item) => is_item(graph, *of, origin.node, item),
            };
            graph.target(subject) == "aten.sym_size.int" && usize::try_from(*asked) == Ok(dim) && is_result
        }
    }
}

/// Whether a node takes that one of several results.
fn is_item(graph: &Graph, node: NodeId, of: NodeId, item: usize) -> bool {
    let taken = |at: &i64| usize::try_from(*at) == Ok(item);
    graph.target(node) == "_operator.getitem"
        && matches!(graph.args(node), [Arg::Node(n), Arg::Int(at)] if *n == of && taken(at))
}

/// The number of which a call states a range, raising where it is another.
fn stated_by(graph: &Graph, node: NodeId) -> Option<(NodeId, Range)> {
    match (graph.target(node), graph.args(node)) {
        ("aten._assert_scalar.default", [Arg::Node(truth), ..]) => compared(graph, *truth),
        (
            target @ ("aten.sym_constrain_range.default" | "aten.sym_constrain_range_for_size.default"),
            [Arg::Node(of), rest @ ..],
        ) => {
            let named = |k: usize, name: &str| {
                let keyword =
                    graph.kwargs(node).iter().find(|(key, _)| graph.texts().text(*key) == name).map(|(_, a)| a);
                match rest.get(k).or(keyword) {
                    Some(Arg::Int(v)) => Some(*v),
                    _ => None,
                }
            };
            let least = named(0, "min").or((target == "aten.sym_constrain_range_for_size.default").then_some(0));
            Some((*of, Range { min: least, max: named(1, "max") }))
        }
        _ => None,
    }
}

/// The number and the range in which a comparison with a number is true.
fn compared(graph: &Graph, truth: NodeId) -> Option<(NodeId, Range)> {
    let [Arg::Node(of), Arg::Int(v)] = graph.args(truth) else { return None };
    let range = match graph.target(truth) {
        "_operator.ge" => Range::new(*v, None),
        "_operator.gt" => Range::new(v.checked_add(1)?, None),
        "_operator.le" => Range::new(None, *v),
        "_operator.lt" => Range::new(None, v.checked_sub(1)?),
        "_operator.eq" => Range::only(*v),
        _ => return None,
    };
    (graph.kind(truth) == NodeKind::Call).then_some((*of, range))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Device, Dtype, NewNode, TensorType};
    use crate::ops::registry::Registry;

    fn push(graph: &mut Graph, (name, kind, target): (&str, NodeKind, &str), args: Vec<Arg>, ty: ValueType) -> NodeId {
        let target = graph.texts.intern(target);
        graph.push(BodyId::ROOT, name, NewNode { kind, target, args: args.into(), kwargs: Box::default(), ty })
    }

    /// The range that is believed of how many elements `nonzero` finds, of which `[2, 40]` is stated and `least` asserted.
    fn believed(least: Option<i64>) -> Range {
        let mut graph = Graph::new();
        graph.symbols.set_range("u0", Range::new(2, 40)).unwrap();
        let found = graph.symbols.symbol("u0");
        let tensor = |dtype, sizes: [Dim; 2]| ValueType::tensor(TensorType::new(dtype, sizes, Device::cpu()));
        let x = tensor(Dtype::F32, [Dim::Fixed(20), Dim::Fixed(3)]);
        let x = push(&mut graph, ("x", NodeKind::Placeholder, "x"), vec![], x);
        let n = tensor(Dtype::I64, [found, Dim::Fixed(2)]);
        let n = push(&mut graph, ("n", NodeKind::Call, "aten.nonzero.default"), vec![Arg::Node(x)], n);
        if let Some(least) = least {
            let size = vec![Arg::Node(n), Arg::Int(0)];
            let k = push(&mut graph, ("k", NodeKind::Call, "aten.sym_size.int"), size, ValueType::SymInt(found));
            let g = vec![Arg::Node(k), Arg::Int(least)];
            let g = push(&mut graph, ("g", NodeKind::Call, "_operator.ge"), g, ValueType::Unknown);
            let said = vec![Arg::Node(g), Arg::Str("few".into())];
            push(&mut graph, ("t", NodeKind::Call, "aten._assert_scalar.default"), said, ValueType::None);
        }
        assert!(Registry::standard().check_types(&mut graph).is_empty());
        assert_eq!(graph.symbols.declared_range("u0"), Some(Range::new(2, 40)));
        graph.symbols.range_of(found)
    }

    #[test]
    fn only_a_whole_size_is_known_to_be_at_least_nothing() {
        let mut symbols = Symbols::new();
        let u = symbols.symbol("u0");
        let more = symbols.add(u, Dim::Fixed(6)).unwrap();
        let vector = |d: Dim| ValueType::tensor(TensorType::new(Dtype::F32, [d], Device::cpu()));
        let both = |d: Dim| ValueType::Many([vector(Dim::Fixed(2)), vector(d)].into());
        assert!(made_as(&ValueType::SymInt(u), u) == Made::Number);
        assert!(made_as(&vector(u), u) == Made::Size { item: None, dim: 0 });
        assert!(made_as(&both(u), u) == Made::Size { item: Some(1), dim: 0 });
        assert!([vector(more), both(more), ValueType::SymInt(more)].iter().all(|ty| made_as(ty, u) == Made::Within));
    }

    #[test]
    fn a_stated_range_is_believed_as_far_as_it_is_asserted() {
        assert_eq!(believed(None), Range::SIZE);
        assert_eq!(believed(Some(1)), Range::new(1, None));
        assert_eq!(believed(Some(2)), Range::new(2, None));
        assert_eq!(believed(Some(3)), Range::new(2, None));
    }
}
