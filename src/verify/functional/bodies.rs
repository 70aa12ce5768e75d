//! Sub-graphs: two bodies are one if they are the same list of calls, up to names.
//!
//! Promises: bodies with one number do the same with operands that are equal and lie alike, effects and writes included, for they are equal
//! node by node, in order; so are all bodies that they run. Bodies that only mean the same have different numbers.

use rustc_hash::FxHashMap;

use crate::analysis::{bodies_called, call::Known, getitem_of};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, ValueType, View};
use crate::ops::{Registry, SideEffect};
use crate::term::term::{Side, Token};
use crate::verify::functional::values::Functional;

/// Returns the number of a body's structure, the same for equal ones of both graphs.
pub fn number(f: &mut Functional<'_>, side: Side, body: BodyId) -> u32 {
    let view = f.view(side);
    let order = inner_first(view, body);
    let mut numbers: FxHashMap<BodyId, u32> = FxHashMap::default();
    for inner in order {
        let structure = structure(view, inner, &numbers);
        numbers.insert(inner, f.store.body(structure));
    }
    numbers.get(&body).copied().unwrap_or(u32::MAX)
}

/// Returns whether bodies that a call runs may see how what they are given lies in memory.
pub fn see_layout(view: &dyn View, registry: &Registry, node: NodeId) -> bool {
    bodies_called(view, node).into_iter().flat_map(|body| inner_first(view, body)).any(|body| {
        for node in view.nodes(body) {
            if view.kind(node) == NodeKind::Call
                && getitem_of(view, node).is_none()
                && sees_layout(view, registry, node)
            {
                return true;
            }
        }
        false
    })
}

fn sees_layout(view: &dyn View, registry: &Registry, node: NodeId) -> bool {
    let Known::As(operator, _) = Known::of(view, registry, node) else { return true };
    let runs_bodies = operator.effects.side == Some(SideEffect::Control);
    operator.facts.sees_layout || operator.facts.layout_decides || !(operator.effects.is_pure() || runs_bodies)
}

/// A body and those that it names, each after those that it names itself.
fn inner_first(view: &dyn View, body: BodyId) -> Vec<BodyId> {
    let mut order = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    let mut open = vec![(body, false)];
    while let Some((body, is_done)) = open.pop() {
        if is_done {
            order.push(body);
            continue;
        }
        if !seen.insert(body) {
            continue;
        }
        open.push((body, true));
        for node in view.nodes(body) {
            if let ValueType::Body(inner) = view.ty(node) {
                open.push((*inner, false));
            }
        }
    }
    order
}

fn structure(view: &dyn View, body: BodyId, numbers: &FxHashMap<BodyId, u32>) -> Vec<Token> {
    let mut out = Vec::new();
    let mut places: FxHashMap<NodeId, usize> = FxHashMap::default();
    for node in view.nodes(body) {
        let place = places.len();
        places.insert(node, place);
        out.push(Token::Other(format!("{:?}", view.kind(node)).into()));
        match (view.kind(node), view.ty(node)) {
            // Types of what is passed and of what calls give follow from the call; what an annotation alone says belongs to it.
            // How what is passed lies is said by the call.
            (NodeKind::Placeholder, ty) => out.push(Token::Other(printed(view, ty, false).into())),
            (_, ValueType::Body(inner)) => {
                out.push(Token::Int(numbers.get(inner).map_or(i64::MAX, |n| i64::from(*n))));
            }
            // Whose attribute it is, is said by the body that names it.
            (NodeKind::GetAttr, _) => {
                let path = view.place(node).map_or("", |(body, _)| view.body_name(body));
                out.extend([Token::Str(path.into()), Token::Str(view.target(node).into())]);
            }
            (kind, ty) => {
                if kind == NodeKind::Call {
                    out.push(Token::Str(view.target(node).into()));
                    if view.hearsay(node).is_told() {
                        out.push(Token::Other(printed(view, ty, true).into()));
                    }
                }
                add_arguments(view, node, &places, &mut out);
            }
        }
    }
    out
}

fn printed(view: &dyn View, ty: &ValueType, strides: bool) -> String {
    let symbols = view.symbols();
    match ty {
        ValueType::Tensor(t) => {
            let dims =
                |d: &[crate::sym::Dim]| d.iter().map(|d| symbols.print_python(*d)).collect::<Vec<_>>().join(", ");
            let strides = t.strides.as_deref().filter(|_| strides).map(dims);
            format!("{}[{}] {strides:?} {}", t.dtype.long(), dims(&t.sizes), t.device)
        }
        other => other.annotation(symbols).unwrap_or_else(|| format!("{other:?}")),
    }
}

fn add_arguments(view: &dyn View, node: NodeId, places: &FxHashMap<NodeId, usize>, out: &mut Vec<Token>) {
    out.push(Token::List(view.args(node).len()));
    let keyed = view.kwargs(node).iter().map(|(k, a)| (Some(view.texts().text(*k)), a));
    let mut open: Vec<(Option<&str>, &Arg)> = view.args(node).iter().map(|a| (None, a)).chain(keyed).collect();
    open.reverse();
    while let Some((key, arg)) = open.pop() {
        out.extend(key.map(|key| Token::Key(key.into())));
        match arg {
            Arg::Node(n) => out.extend([Token::Child, places.get(n).map_or(Token::None, |p| Token::count(*p))]),
            Arg::List(items) | Arg::Tuple(items) => {
                out.push(Token::List(items.len()));
                open.extend(items.iter().rev().map(|a| (None, a)));
            }
            Arg::Dict(items) => {
                out.extend([Token::Other("dict".into()), Token::List(items.len())]);
                open.extend(items.iter().rev().map(|(k, a)| (Some(&**k), a)));
            }
            scalar => out.extend(Token::scalar(scalar)),
        }
    }
}
