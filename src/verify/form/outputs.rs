//! What the caller finds: outputs, final contents, shared memory.
//!
//! Promises: outputs are compared after every final copy that the signature stands for, so that both ways of writing a
//! mutation are one; an output that shares memory with an input or another output must share the same part of it.

use rustc_hash::FxHashMap;

use crate::analysis::{Home, Place, Shares, Stamp, place_of, placeholders};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, OutputKind, StrId, ValueType, View};
use crate::term::store::ValueId;
use crate::term::term::{Side, Token};
use crate::verify::findings::Problem;
use crate::verify::form::copied_back::compare_copied_back;
use crate::verify::functional::values::Functional;
use crate::verify::judge::obligation::{Obligation, Owed};
use crate::verify::prove::congruence::Congruence;
use crate::verify::verdict::Question;

/// One thing that the graph returns, mutations left out.
#[derive(Clone, Debug)]
pub struct Returned {
    kind: OutputKind,
    target: Option<Box<str>>,
    value: Arg,
}

/// Returns what the graph returns to the caller, in order; `None` where it has no output node.
pub fn returned(view: &dyn View) -> Option<Vec<Returned>> {
    let output = view.last(BodyId::ROOT).filter(|n| view.kind(*n) == NodeKind::Output)?;
    let values: Vec<Arg> = match view.args(output).first() {
        Some(Arg::List(items) | Arg::Tuple(items)) => items.to_vec(),
        Some(Arg::None) | None => Vec::new(),
        Some(one) => vec![one.clone()],
    };
    let Some(signature) = view.signature() else {
        let plain = |value| Returned { kind: OutputKind::UserOutput, target: None, value };
        return Some(values.into_iter().map(plain).collect());
    };
    if signature.outputs.len() != values.len() {
        return None;
    }
    let all = signature.outputs.iter().zip(values);
    let kept = all.filter(|(spec, _)| !spec.kind.is_mutation());
    Some(kept.map(|(spec, value)| Returned { kind: spec.kind, target: spec.target.clone(), value }).collect())
}

/// Returns the nodes in what the graph returns to the caller, in order.
pub fn returned_nodes(view: &dyn View) -> Vec<NodeId> {
    returned(view).into_iter().flatten().flat_map(|r| flat(&r.value).1).collect()
}

/// Compares what both graphs return.
pub fn compare_outputs(f: &mut Functional<'_>, c: &mut Congruence) -> Vec<Problem> {
    let (Some(before), Some(after)) = (returned(f.before.view), returned(f.after.view)) else {
        return vec![Problem::refuted(Question::Form, "outputs and signature do not agree in number")];
    };
    if is_bare(f.before.view) != is_bare(f.after.view) {
        return vec![Problem::refuted(Question::Form, "one graph returns a value, the other a tuple or list")];
    }
    if before.len() != after.len() {
        let reason = format!("{} outputs before, {} after", before.len(), after.len());
        return vec![Problem::refuted(Question::Form, reason)];
    }
    let mut problems = Vec::new();
    let mut places: Vec<Option<(Place, Place)>> = Vec::new();
    for (number, (x, y)) in before.iter().zip(&after).enumerate() {
        let target = |r: &Returned| if r.kind == OutputKind::UserOutput { None } else { r.target.clone() };
        if x.kind != y.kind || target(x) != target(y) {
            let reason = format!("output {number} is {} before, {} after", x.kind.name(), y.kind.name());
            problems.push(Problem::refuted(Question::Form, reason));
        }
        let ((shape, nodes), (other_shape, others)) = (flat(&x.value), flat(&y.value));
        if shape != other_shape || nodes.len() != others.len() {
            let reason = format!("output {number} is a constant or a structure on one side, or another one");
            problems.push(Problem::unknown(Question::Values, reason));
        }
        for (a, b) in nodes.into_iter().zip(others) {
            let (p, q) = (place_of(f.before.view, a), place_of(f.after.view, b));
            problems.extend(compare_value(f, c, number, p, q));
            places.push(Some((p, q)));
        }
    }
    problems.extend(compare_sharing(f, c, &places));
    problems.extend(compare_copied_back(f, c));
    problems
}

/// Returns whether the graph returns one value that stands in no tuple or list.
fn is_bare(view: &dyn View) -> bool {
    let output = view.last(BodyId::ROOT).filter(|n| view.kind(*n) == NodeKind::Output);
    let first = output.and_then(|n| view.args(n).first());
    first.is_some_and(|a| !matches!(a, Arg::List(_) | Arg::Tuple(_) | Arg::None))
}

/// Returns what an output is made of, and the nodes in it: node numbers of two graphs are not comparable.
fn flat(arg: &Arg) -> (Vec<Token>, Vec<NodeId>) {
    let (mut shape, mut nodes) = (Vec::new(), Vec::new());
    let mut open: Vec<(Option<&str>, &Arg)> = vec![(None, arg)];
    while let Some((key, arg)) = open.pop() {
        shape.extend(key.map(|k| Token::Key(k.into())));
        match arg {
            Arg::Node(n) => {
                shape.push(Token::Child);
                nodes.push(*n);
            }
            Arg::List(items) | Arg::Tuple(items) => {
                shape.push(Token::List(items.len()));
                open.extend(items.iter().rev().map(|a| (None, a)));
            }
            Arg::Dict(items) => {
                shape.extend([Token::Other("dict".into()), Token::List(items.len())]);
                open.extend(items.iter().rev().map(|(k, a)| (Some(&**k), a)));
            }
            scalar => shape.extend(Token::scalar(scalar)),
        }
    }
    (shape, nodes)
}

fn compare_value(f: &mut Functional<'_>, c: &mut Congruence, number: usize, p: Place, q: Place) -> Option<Problem> {
    let names = [f.before.view.name(p.node).to_string(), f.after.view.name(q.node).to_string()];
    if let Some(reason) = types_differ(f, p, q) {
        let reason = format!("output {number} is {reason}");
        return Some(Problem::refuted(Question::Values, reason).at(names));
    }
    let a = f.read_at(Side::Before, p, u64::MAX);
    let b = f.read_at(Side::After, q, u64::MAX);
    Obligation { owed: Owed::Output(number), before: a, after: b }.discharge(f, c)
}

/// Returns in words how two types certainly differ.
fn types_differ(f: &mut Functional<'_>, p: Place, q: Place) -> Option<String> {
    let (x, y) = (f.before.storages.type_of(p), f.after.storages.type_of(q));
    match (x, y) {
        (ValueType::Tensor(x), ValueType::Tensor(y)) => {
            let certainly = |a, b| f.sizes.symbols().equal(a, b) == Some(false);
            let differ = x.dtype != y.dtype
                || x.rank() != y.rank()
                || x.sizes.iter().zip(&y.sizes).any(|(a, b)| certainly(*a, *b));
            let symbols = f.sizes.symbols();
            differ.then(|| format!("{} before, {} after", x.print(symbols), y.print(symbols)))
        }
        _ => None,
    }
}

/// Compares the final content of inputs; `only` restricts it to these.
pub fn compare_finals(f: &mut Functional<'_>, c: &mut Congruence, only: Option<&[Place]>) -> Vec<Problem> {
    let (before, after) = (placeholders(f.before.view, BodyId::ROOT), placeholders(f.after.view, BodyId::ROOT));
    let mut problems = Vec::new();
    for (x, y) in before.into_iter().zip(after) {
        let (p, q) = (Place::of(x), Place::of(y));
        let holds = has_memory(f.before.view.ty(x)) || has_memory(f.after.view.ty(y));
        if only.is_some_and(|only| !only.contains(&p)) || !holds {
            continue;
        }
        let (a, b) = (f.read_at(Side::Before, p, u64::MAX), f.read_at(Side::After, q, u64::MAX));
        let owed = Owed::Content(f.before.view.name(x).to_string());
        problems.extend(Obligation { owed, before: a, after: b }.discharge(f, c));
    }
    problems
}

/// Tensors of the module outlive the call as inputs do, and are named by their targets: both graphs take those that they name of one
/// module. Compares what is found in them; `only` restricts it to these.
pub fn compare_attributes(f: &mut Functional<'_>, c: &mut Congruence, only: Option<&[Place]>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let sides = [Side::Before, Side::After].map(|side| {
        let nodes: Vec<NodeId> = match only {
            Some(only) => only.iter().map(|p| p.node).filter(|n| f.view(side).contains(*n)).collect(),
            None => f.side(side).storages.attributes(),
        };
        let view = f.view(side);
        let tensors = nodes.into_iter().filter(|n| view.kind(*n) == NodeKind::GetAttr && has_memory(view.ty(*n)));
        tensors.map(|n| (view.target(n), n)).collect::<std::collections::BTreeMap<&str, NodeId>>()
    });
    let [before, after] = sides;
    let written = |f: &mut Functional<'_>, side: Side, node: NodeId| {
        !f.side(side).storages.group(Place::of(node)).events.is_empty()
    };
    for (target, node) in &before {
        match after.get(target) {
            Some(other) => problems.extend(compare_attribute(f, c, *node, *other)),
            None if written(f, Side::Before, *node) => problems.push(lone_attribute(f, Side::Before, *node)),
            None => {}
        }
    }
    for (target, node) in &after {
        if !before.contains_key(target) && (written(f, Side::After, *node) || only.is_none()) {
            problems.push(lone_attribute(f, Side::After, *node));
        }
    }
    problems
}

fn compare_attribute(f: &mut Functional<'_>, c: &mut Congruence, p: NodeId, q: NodeId) -> Option<Problem> {
    let name = f.before.view.name(p).to_string();
    if !same_input(f.before.view, p, f.after.view, q, f) {
        let reason = format!("tensor `{name}` of the module has another type");
        return Some(Problem::refuted(Question::Form, reason).at([name]));
    }
    let a = f.read_at(Side::Before, Place::of(p), u64::MAX);
    let b = f.read_at(Side::After, Place::of(q), u64::MAX);
    Obligation { owed: Owed::AttributeContent(name), before: a, after: b }.discharge(f, c)
}

fn lone_attribute(f: &Functional<'_>, side: Side, node: NodeId) -> Problem {
    let name = f.view(side).name(node).to_string();
    let reason = match side {
        Side::Before => format!("`{name}` is a tensor of the module and was written; now nothing names it"),
        _ => format!("`{name}` is a tensor of the module that the graph did not name before"),
    };
    Problem::unknown(Question::Effects, reason).at([name])
}

/// Where the memory of an output comes from.
#[derive(Clone, Debug)]
struct Source {
    from: Birth,
    /// Whether it surely is that memory.
    sure: bool,
    /// Where that depends on a call: its value, how its operands lie, and which parts of memory they are.
    decided_by: Vec<ValueId>,
}

/// Numbers are given in the order in which outputs lead to memory, so that equal lists mean equal sharing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Birth {
    Input(usize),
    Attribute(StrId),
    /// Memory of the graph's own.
    Own(usize),
}

fn compare_sharing(f: &mut Functional<'_>, c: &mut Congruence, places: &[Option<(Place, Place)>]) -> Vec<Problem> {
    let before: Vec<Option<Place>> = places.iter().map(|p| p.map(|(p, _)| p)).collect();
    let after: Vec<Option<Place>> = places.iter().map(|p| p.map(|(_, q)| q)).collect();
    let (x, y) = (sources(f, Side::Before, &before), sources(f, Side::After, &after));
    let users = count_users(&x);
    let mut problems = Vec::new();
    for (number, (x, y)) in x.iter().zip(&y).enumerate() {
        let Some(Some((p, q))) = places.get(number) else { continue };
        let names = [f.before.view.name(p.node).to_string(), f.after.view.name(q.node).to_string()];
        let sure = |s: &[Source]| s.iter().all(|s| s.sure);
        let births = |f: &Functional<'_>, side: Side, s: &[Source]| -> Vec<(Option<String>, Birth)> {
            s.iter().map(|s| named(f, side, s.from)).collect()
        };
        let same = births(f, Side::Before, x) == births(f, Side::After, y);
        if sure(x) && sure(y) {
            if !same {
                let (x, y) = (words(f, Side::Before, x), words(f, Side::After, y));
                let reason = format!("output {number} {x} before, {y} after");
                problems.push(Problem::refuted(Question::Effects, reason).at(names));
            } else if is_visible(x, &users) && !same_part(f, c, *p, *q) {
                let reason = format!("output {number} is not shown to be the same part of the memory that it shares");
                problems.push(Problem::unknown(Question::Effects, reason).at(names));
            }
        } else if !same
            || ((p != q || !f.is_untouched(p.node))
                && !(decided_alike(f, c, x, y) && (!is_visible(x, &users) || same_part(f, c, *p, *q))))
        {
            let reason = format!(
                "whether output {number} shares memory depends on its strides, and was not shown to be as before"
            );
            problems.push(Problem::unknown(Question::Effects, reason).at(names));
        }
    }
    problems
}

/// Attributes are the same by name, all else by number.
fn named(f: &Functional<'_>, side: Side, birth: Birth) -> (Option<String>, Birth) {
    match birth {
        Birth::Attribute(target) => (Some(f.view(side).texts().text(target).to_string()), Birth::Own(usize::MAX)),
        other => (None, other),
    }
}

/// Returns whether sharing depends on the same calls of equal operands that lie alike.
fn decided_alike(f: &mut Functional<'_>, c: &mut Congruence, x: &[Source], y: &[Source]) -> bool {
    x.iter().zip(y).all(|(x, y)| {
        x.sure == y.sure
            && x.decided_by.len() == y.decided_by.len()
            && x.decided_by.iter().zip(&y.decided_by).all(|(a, b)| c.equal(f, *a, *b))
    })
}

/// Returns how many outputs lie in each memory.
fn count_users(sources: &[Vec<Source>]) -> FxHashMap<Birth, usize> {
    let mut users: FxHashMap<Birth, usize> = FxHashMap::default();
    for source in sources.iter().flatten() {
        let count = users.entry(source.from).or_default();
        *count = count.saturating_add(1);
    }
    users
}

/// Returns whether the caller can see which part of its memory an output is: through an input, or another output.
fn is_visible(sources: &[Source], users: &FxHashMap<Birth, usize>) -> bool {
    sources.iter().any(|s| matches!(s.from, Birth::Input(_)) || users.get(&s.from).is_some_and(|n| *n > 1))
}

/// Returns whether two values are the same part of a memory that was compared.
pub fn same_part(f: &mut Functional<'_>, c: &mut Congruence, p: Place, q: Place) -> bool {
    // Memory that a call surely made is all of what it gave: its sizes may be letters that each graph names its own way.
    if f.before.storages.home(p).is_empty() && f.after.storages.home(q).is_empty() {
        return true;
    }
    match (f.map_of(Side::Before, p), f.map_of(Side::After, q)) {
        (Some((a, base_a)), Some((b, base_b))) => a == b && f.sizes.all_same(&base_a, &base_b),
        _ if p == q && f.is_untouched(p.node) => true,
        _ => {
            // Which storage it is was compared: its rank in the group is each graph's own.
            let (a, b) = (f.part_of_any(Side::Before, p), f.part_of_any(Side::After, q));
            c.equal(f, a, b)
        }
    }
}

fn words(f: &Functional<'_>, side: Side, sources: &[Source]) -> String {
    let inputs = placeholders(f.view(side), BodyId::ROOT);
    let one = |s: &Source| match s.from {
        Birth::Input(n) => {
            let name = inputs.get(n).map_or("?", |n| f.view(side).name(*n));
            format!("shares memory with input `{name}`")
        }
        Birth::Attribute(target) => format!("shares memory with tensor `{}`", f.view(side).texts().text(target)),
        Birth::Own(n) => format!("has memory of its own (number {n})"),
    };
    match sources {
        [] => "has memory of its own".into(),
        many => many.iter().map(one).collect::<Vec<_>>().join(" and "),
    }
}

/// Returns for each output where its memory comes from.
fn sources(f: &mut Functional<'_>, side: Side, outputs: &[Option<Place>]) -> Vec<Vec<Source>> {
    let view = f.view(side);
    let inputs: FxHashMap<NodeId, usize> =
        placeholders(view, BodyId::ROOT).into_iter().enumerate().map(|(i, n)| (n, i)).collect();
    let mut born: FxHashMap<Place, usize> = FxHashMap::default();
    let mut all = Vec::new();
    for place in outputs {
        let Some(place) = place.filter(|p| has_memory(f.side(side).storages.type_of(*p))) else {
            all.push(Vec::new());
            continue;
        };
        let mut out: Vec<Source> = Vec::new();
        let mut open = vec![(place, true)];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some((at, sure)) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            let home = f.side(side).storages.home(at);
            let certain = matches!(home.as_slice(), [Shares::Same(_) | Shares::View(_)]);
            open.extend(home.iter().rev().map(|s| (s.place(), sure && certain)));
            if certain {
                continue;
            }
            let next = born.len();
            let from = match (inputs.get(&at.node), view.kind(at.node)) {
                (Some(n), _) => Birth::Input(*n),
                (None, NodeKind::GetAttr) => Birth::Attribute(view.target_id(at.node)),
                _ => Birth::Own(*born.entry(at).or_insert(next)),
            };
            let decided_by = if home.is_empty() { Vec::new() } else { what_decides(f, side, at, &home) };
            out.push(Source { from, sure: sure && home.is_empty(), decided_by });
        }
        all.push(out);
    }
    merge_private(&mut all);
    all
}

/// What may lie here or there, in memory of the graph's own that no other output lies in, is memory of its own: nobody sees which.
fn merge_private(all: &mut [Vec<Source>]) {
    let users = count_users(all);
    let mut numbers: FxHashMap<Birth, usize> = FxHashMap::default();
    for sources in all {
        let own = sources.iter().all(|s| matches!(s.from, Birth::Own(_)) && users.get(&s.from) == Some(&1));
        if own && sources.len() > 1 {
            sources.truncate(1);
            for source in sources.iter_mut() {
                (source.sure, source.decided_by) = (true, Vec::new());
            }
        }
        for source in sources.iter_mut().filter(|s| matches!(s.from, Birth::Own(_))) {
            let next = numbers.len();
            source.from = Birth::Own(*numbers.entry(source.from).or_insert(next));
        }
    }
}

/// The call of which a value is a result, how each operand lies whose memory it may be in, and which part that is.
fn what_decides(f: &mut Functional<'_>, side: Side, at: Place, home: &Home) -> Vec<ValueId> {
    let mut out = vec![f.value(side, at, Stamp::Birth), f.layout(side, at)];
    for shares in home {
        out.extend([f.layout(side, shares.place()), f.part_of_any(side, shares.place())]);
    }
    out
}

pub fn has_memory(ty: &ValueType) -> bool {
    match ty {
        ValueType::Tensor(t) => !t.sizes.iter().any(|d| d.fixed() == Some(0)),
        ValueType::Unknown | ValueType::Many(_) | ValueType::Other(_) => true,
        _ => false,
    }
}

/// Returns whether nodes are the same calling convention: inputs by name, kind, target and type.
pub fn compare_inputs(before: &dyn View, after: &dyn View, f: &Functional<'_>) -> Vec<Problem> {
    let (x, y) = (placeholders(before, BodyId::ROOT), placeholders(after, BodyId::ROOT));
    let names = |view: &dyn View, nodes: &[NodeId]| nodes.iter().map(|n| view.name(*n).to_string()).collect::<Vec<_>>();
    let (a, b) = (names(before, &x), names(after, &y));
    if a != b {
        let reason = format!("inputs are ({}) before, ({}) after", a.join(", "), b.join(", "));
        return vec![Problem::refuted(Question::Form, reason)];
    }
    let mut problems = Vec::new();
    for (p, q) in x.iter().zip(&y) {
        if !same_input(before, *p, after, *q, f) {
            let name = before.name(*p).to_string();
            problems
                .push(Problem::refuted(Question::Form, format!("input `{name}` has another type or kind")).at([name]));
        }
    }
    if let (Some(old), Some(new)) = (before.signature(), after.signature())
        && old.inputs != new.inputs
    {
        problems.push(Problem::refuted(Question::Form, "the signature names other inputs, kinds or targets"));
    }
    problems
}

fn same_input(before: &dyn View, p: NodeId, after: &dyn View, q: NodeId, f: &Functional<'_>) -> bool {
    match (before.ty(p), after.ty(q)) {
        (ValueType::Tensor(x), ValueType::Tensor(y)) => {
            // How an input lies in memory is the caller's, and decides what is a view of it.
            let laid_out_alike = match (&x.strides, &y.strides) {
                (Some(a), Some(b)) => f.sizes.all_same(a, b),
                _ => true,
            };
            x.dtype == y.dtype && f.sizes.all_same(&x.sizes, &y.sizes) && x.device == y.device && laid_out_alike
        }
        (ValueType::SymInt(x), ValueType::SymInt(y)) => f.sizes.same(*x, *y),
        (x, y) => x == y,
    }
}
