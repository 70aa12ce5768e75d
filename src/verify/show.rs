//! Nodes as they print, for verdicts.

use crate::graph::{Arg, NodeId, NodeKind, View};
use crate::term::store::ValueId;
use crate::term::term::Side;
use crate::verify::functional::values::Functional;
use crate::verify::verdict::SideBySide;

/// Returns the line of a node: `add: "f32[2]" = aten.add.Tensor(x, 1)`.
pub fn line(view: &dyn View, node: NodeId) -> String {
    let name = view.name(node);
    let annotation = view.ty(node).annotation(view.symbols()).map_or(String::new(), |a| format!(": \"{a}\""));
    let positional = view.args(node).iter().map(|a| argument(view, a));
    let named = view.kwargs(node).iter().map(|(k, a)| format!("{} = {}", view.texts().text(*k), argument(view, a)));
    let arguments = positional.chain(named).collect::<Vec<_>>().join(", ");
    match view.kind(node) {
        NodeKind::Placeholder => format!("{name}{annotation}"),
        NodeKind::GetAttr => format!("{name} = self.{}", view.target(node)),
        NodeKind::Output => format!("return {arguments}"),
        NodeKind::Call => format!("{name}{annotation} = {}({arguments})", view.target(node)),
    }
}

fn argument(view: &dyn View, arg: &Arg) -> String {
    let list = |items: &[Arg]| items.iter().map(|a| argument_flat(view, a)).collect::<Vec<_>>().join(", ");
    match arg {
        Arg::List(items) => format!("[{}]", list(items)),
        Arg::Tuple(items) => format!("({})", list(items)),
        one => argument_flat(view, one),
    }
}

fn argument_flat(view: &dyn View, arg: &Arg) -> String {
    match arg {
        Arg::None => "None".into(),
        Arg::Node(n) => view.name(*n).into(),
        Arg::Int(v) => v.to_string(),
        Arg::Float(v) => format!("{v:?}"),
        Arg::Complex(re, im) => format!("({re:?}{im:+?}j)"),
        Arg::Bool(true) => "True".into(),
        Arg::Bool(false) => "False".into(),
        Arg::Str(v) => format!("'{v}'"),
        Arg::Dtype(v) => format!("torch.{}", v.long()),
        Arg::Device(v) => format!("device('{v}')"),
        Arg::Layout(v) => format!("torch.{}", v.name()),
        Arg::MemoryFormat(v) => format!("torch.{}", v.name()),
        Arg::Operator(v) => v.to_string(),
        Arg::Other(v) => v.to_string(),
        Arg::List(_) | Arg::Tuple(_) | Arg::Dict(_) => "[...]".into(),
    }
}

/// Returns the node where a value was found.
pub fn node_of(f: &mut Functional<'_>, id: ValueId) -> Option<(Side, NodeId)> {
    let mut at = id;
    for _ in 0..8 {
        if let Some(key) = f.store.key(at) {
            return Some((key.side, key.place.node));
        }
        at = f.store.term(at)?.children.first().copied()?;
    }
    None
}

/// Returns two values side by side, and the names of their nodes.
pub fn side_by_side(f: &mut Functional<'_>, a: ValueId, b: ValueId) -> (SideBySide, Vec<String>) {
    let mut shown = SideBySide::default();
    let mut names = Vec::new();
    for (side, id) in [(Side::Before, a), (Side::After, b)] {
        let Some((_, node)) = node_of(f, id) else { continue };
        let view = f.view(side);
        let view = if view.contains(node) { view } else { f.view(Side::Before) };
        names.push(view.name(node).to_string());
        match side {
            Side::Before => shown.before = line(view, node),
            Side::After | Side::Both => shown.after = line(view, node),
        }
    }
    names.dedup();
    (shown, names)
}
