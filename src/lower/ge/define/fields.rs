//! GE operators that nobody defined: held field by field to the call of which they were made.
//!
//! `fields.txt` says for a GE operator and a call of FX which argument feeds which slot and is which attribute. The GE operator stands for that call
//! of what feeds it: a slot that is fed by another tensor makes another call, an attribute that is not the argument none. What the table does not
//! know is named in what the verdict assumes.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Build, Call, Packed, Undefined, Value, undefined};
use crate::graph::{Arg, BodyId, Graph, NewNode, NodeId, NodeKind, StrId, ValueType, View};
use crate::lower::ge::operators::{self, Feed};
use crate::lower::ge::proto::{DataType, OpDef, Value as Attr};
use crate::lower::ge::types::of_torch_number;
use crate::ops::{Base, Bound, Operator};

/// A line of the table.
struct Line {
    target: &'static str,
    slots: Vec<(&'static str, &'static str)>,
    attributes: Vec<(&'static str, &'static str)>,
    /// Which result of the call each output is, where that is not in order.
    results: Option<Vec<usize>>,
}

static LINES: LazyLock<HashMap<&'static str, Vec<Line>>> = LazyLock::new(|| {
    let mut all: HashMap<&'static str, Vec<Line>> = HashMap::new();
    for (kind, line) in include_str!("fields.txt").lines().filter(|l| !l.starts_with('#')).filter_map(parse) {
        all.entry(kind).or_default().push(line);
    }
    all
});

fn parse(line: &'static str) -> Option<(&'static str, Line)> {
    let (kind, rest) = line.split_once(" = ")?;
    let mut parts = rest.split('|').map(str::trim);
    let target = parts.next()?;
    let pairs = |text: Option<&'static str>, by: char| -> Vec<(&'static str, &'static str)> {
        text.unwrap_or("").split(' ').filter_map(|p| p.split_once(by)).collect()
    };
    let slots = pairs(parts.next(), '<');
    let attributes = pairs(parts.next(), '=');
    let results = parts.next().map(|places| places.split(' ').filter_map(|p| p.parse().ok()).collect());
    Some((kind, Line { target, slots, attributes, results }))
}

/// Returns the GE operators that are held field by field.
pub fn held() -> Vec<&'static str> {
    let mut all: Vec<&str> = LINES.keys().copied().collect();
    all.sort_unstable();
    all
}

/// Whether calls of an operator of FX are held field by field.
pub fn is_call_held(target: &str) -> bool {
    LINES.values().flatten().any(|line| line.target == target)
}

/// Whether a GE operator is held field by field.
pub fn is_held(kind: &str) -> bool {
    LINES.contains_key(kind)
}

/// Makes the call for which a GE operator stands, if it agrees with one of the graph that was lowered; `taken` are those that others stand for.
pub fn make(
    b: &mut Build<'_>,
    op: &OpDef,
    inputs: Vec<Option<Value>>,
    original: &Graph,
    taken: &mut Vec<NodeId>,
) -> super::Made {
    let Some(known) = operators::operator(&op.r#type) else {
        return undefined("GE's list of operators does not have it");
    };
    let registry = b.registry();
    let mut call = Call::bind(b, op, known, inputs)?;
    let mut why = Undefined("no call of the graph is made so".into());
    for line in LINES.get(known.name).into_iter().flatten() {
        for node in original.nodes(BodyId::ROOT) {
            if original.kind(node) != NodeKind::Call || original.target(node) != line.target || taken.contains(&node) {
                continue;
            }
            let operator = registry.operator_of(original, node);
            let agreed = by_default(&call, line, known).and_then(|()| match operator {
                Some(operator) => agree(&mut call, line, original, node, operator),
                None => agree_in_order(&mut call, line, original, node),
            });
            match agreed {
                Ok(replaced) => {
                    taken.push(node);
                    return push(call.b, op, line, original, node, operator, &replaced);
                }
                Err(reason) => why = reason,
            }
        }
    }
    Err(why)
}

/// Refuses an attribute that no argument is said to be, and that is not what GE takes without it.
fn by_default(c: &Call<'_, '_>, line: &Line, known: &operators::GeOperator) -> Result<(), Undefined> {
    for attribute in known.attributes.iter().filter(|a| line.attributes.iter().all(|(name, _)| *name != a.name)) {
        let default = attribute.default.as_ref().and_then(|d| d.value.as_ref());
        if let (Some(value), Some(default)) = (c.attribute_value(attribute.name), default)
            && value != default
        {
            return undefined(format!("attribute `{}` is no argument, and not its default", attribute.name));
        }
    }
    Ok(())
}

/// Whether a tensor of no elements feeds a slot.
fn is_nothing(value: &Value) -> bool {
    value.numbers().is_some_and(|n| n.items.is_empty())
}

/// Whether what feeds a slot of a norm scales or moves nothing: what stands there for an argument that is not given.
fn is_idle(b: &Build<'_>, target: &str, slot: &str, fed: &[Value]) -> bool {
    let idle = match slot {
        _ if target != "aten._native_batch_norm_legit_functional.default" => return false,
        "weight" => [Arg::Int(1), Arg::Float(1.0)],
        "bias" => [Arg::Int(0), Arg::Float(0.0)],
        _ => return false,
    };
    match fed {
        [Value::Numbers(n)] => n.items.iter().all(|i| idle.contains(i)),
        [Value::Tensor(n)] => {
            b.graph.target(*n) == "aten.full.default" && b.graph.args(*n).get(1).is_some_and(|v| idle.contains(v))
        }
        _ => false,
    }
}

/// What takes an argument's place, by parameter.
type Replaced = HashMap<usize, Arg>;

fn agree(
    c: &mut Call<'_, '_>,
    line: &Line,
    original: &Graph,
    node: NodeId,
    operator: &Operator,
) -> Result<Replaced, Undefined> {
    let bound = Bound::bind(&operator.schema, original, original.args(node), original.kwargs(node))
        .map_err(|e| Undefined(e.to_string()))?;
    let mut replaced = Replaced::new();
    for (slot, values) in c.slots().to_vec() {
        let fed: Vec<Value> = values.into_iter().flatten().collect();
        let named = line.slots.iter().find(|(s, _)| *s == slot).map(|(_, p)| *p);
        // What the converter computes of an argument, the slot of that name takes: the tensor that feeds it is judged, wherever it comes from.
        let named = named.map(|p| if p == "?" { slot } else { p });
        let Some(param) = named.and_then(|p| operator.schema.param_index(p)) else {
            let fits = if named == Some("none") {
                fed.iter().all(is_nothing)
            } else {
                named.is_some() && fed.iter().all(|v| v.numbers().is_some())
            };
            if fed.is_empty() || fits {
                continue;
            }
            return undefined(format!("which argument feeds `{slot}` is not known"));
        };
        let dynamic = c.feed(slot) == Some(Feed::Dynamic);
        let is_whole = operator.schema.params.get(param).is_some_and(|p| p.ty.base == Base::SymInt);
        let is_zero = matches!(fed.as_slice(), [Value::Numbers(n)] if n.only() == Some(&Arg::Int(0)));
        // A place that is not given is where the memory begins.
        let argument = match bound.get(param) {
            Arg::None if is_whole && is_zero => Some(Arg::None),
            Arg::None if dynamic && fed.iter().all(is_nothing) => Some(Arg::None),
            Arg::None if is_idle(c.b, line.target, slot, &fed) => Some(Arg::None),
            given => feeds(c.b, given, &fed, dynamic),
        };
        let wrong = || Undefined(format!("`{slot}` is not fed by the argument that it is made of"));
        let argument = as_given(c.b, argument.ok_or_else(wrong)?, original, bound.get(param));
        if replaced.insert(param, argument.clone()).is_some_and(|other| other != argument) {
            return Err(wrong());
        }
    }
    for (param, arg) in bound.args.iter().enumerate() {
        let name = operator.schema.params.get(param).map_or("", |p| &p.name);
        // Some arguments GE does not read, nor does what the call computes depend on them: they are what they were where that is an input.
        if line.slots.contains(&("-", name))
            && let Arg::Node(given) = arg
        {
            // One that need not be given stands for nothing.
            let is_optional = operator.schema.params.get(param).is_some_and(|p| p.ty.is_optional());
            match input_as(c.b, original, *given) {
                Some(input) => replaced.insert(param, Arg::Node(input)),
                None if is_optional => replaced.insert(param, Arg::None),
                None => None,
            };
        }
        if arg.nodes().next().is_some() && !replaced.contains_key(&param) {
            return undefined("an argument of the call feeds no slot");
        }
    }
    for (attribute, param) in &line.attributes {
        if let Ok(number) = param.parse::<i64>()
            && !is_same(c.attribute_value(attribute), &Arg::Int(number))
        {
            return undefined(format!("attribute `{attribute}` is another than {number}"));
        }
        if let Some(Arg::Int(number)) =
            param.strip_prefix("type:").and_then(|p| operator.schema.param_index(p)).map(|p| bound.get(p))
        {
            let ty = of_torch_number(*number).map(|t| Arg::Int(t.cpp()));
            if ty.is_none_or(|ty| !is_same(c.attribute_value(attribute), &ty)) {
                return undefined(format!("attribute `{attribute}` is another type than the argument"));
            }
        }
        let Some(param) = operator.schema.param_index(param) else { continue };
        let value = c.attribute_value(attribute);
        if !is_same(value, bound.get(param)) {
            return undefined(format!("attribute `{attribute}` is not the argument that it is made of"));
        }
    }
    Ok(replaced)
}

/// The place of an argument of which only the name is known: behind all that stand in order.
fn by_name(line: &Line, name: &str) -> usize {
    let at = line.slots.iter().position(|(_, p)| *p == name);
    at.map_or(usize::MAX, |i| i.saturating_add(1 << 16))
}

/// As [`agree`], of an operator that nobody described: arguments by name, and the others' tensors in the order of the slots.
fn agree_in_order(c: &mut Call<'_, '_>, line: &Line, original: &Graph, node: NodeId) -> Result<Replaced, Undefined> {
    let kwargs: Vec<(&str, &Arg)> = original.kwargs(node).iter().map(|(k, a)| (original.texts.text(*k), a)).collect();
    let tensors = |a: &Arg| a.nodes().next().is_some();
    let mut places = original.args(node).iter().enumerate().filter(|(_, a)| tensors(a));
    let mut replaced = Replaced::new();
    for (slot, values) in c.slots().to_vec() {
        let fed: Vec<Value> = values.into_iter().flatten().collect();
        let param = line.slots.iter().find(|(s, _)| *s == slot).map_or("", |(_, p)| *p);
        let dynamic = c.feed(slot) == Some(Feed::Dynamic);
        let named = kwargs.iter().find(|(k, a)| *k == param && tensors(a));
        let (at, arg) = match named {
            Some((name, arg)) => (by_name(line, name), *arg),
            None if fed.is_empty() => continue,
            None => match places.next() {
                Some((at, arg)) => (at, arg),
                None => return undefined(format!("no argument feeds `{slot}`")),
            },
        };
        match feeds(c.b, arg, &fed, dynamic) {
            Some(argument) => replaced.insert(at, argument),
            None => return undefined(format!("`{slot}` is not fed by the argument that it is made of")),
        };
    }
    if places.next().is_some() || kwargs.iter().any(|(k, a)| tensors(a) && !replaced.contains_key(&by_name(line, k))) {
        return undefined("an argument of the call feeds no slot");
    }
    for (attribute, param) in &line.attributes {
        let given = kwargs.iter().find(|(k, _)| k == param).map(|(_, a)| *a);
        let value = c.attribute_value(attribute);
        if given.is_some_and(|g| !is_same(value, g)) {
            return undefined(format!("attribute `{attribute}` is not the argument that it is made of"));
        }
    }
    Ok(replaced)
}

/// The input that an input of the graph that was lowered is here.
fn input_as(b: &Build<'_>, original: &Graph, node: NodeId) -> Option<NodeId> {
    let inputs = |graph: &Graph| -> Vec<NodeId> {
        graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder).collect()
    };
    let at = inputs(original).iter().position(|n| *n == node)?;
    inputs(&b.graph).get(at).copied()
}

/// Returns what stands in an argument's place where these feed its slot; nothing where they are of another kind.
fn feeds(b: &mut Build<'_>, arg: &Arg, fed: &[Value], dynamic: bool) -> Option<Arg> {
    match (arg, fed) {
        (Arg::None, []) => Some(Arg::None),
        (Arg::Node(_), [one]) if !dynamic => one.tensor(b).ok().map(Arg::Node),
        (Arg::Node(_), [one]) => one.tensor(b).ok().map(Arg::Node),
        (Arg::List(items) | Arg::Tuple(items), [Value::Numbers(numbers)]) if !dynamic => {
            let same = items.len() == numbers.items.len() && items.iter().zip(&numbers.items).all(|(a, b)| a == b);
            same.then(|| arg.clone())
        }
        (Arg::List(items) | Arg::Tuple(items), many) if items.len() == many.len() => {
            let nodes: Option<Vec<Arg>> = many.iter().map(|v| v.tensor(b).ok().map(Arg::Node)).collect();
            Some(Arg::List(nodes?.into()))
        }
        (Arg::Int(_) | Arg::Float(_) | Arg::Bool(_), [Value::Numbers(numbers)]) => {
            let one = numbers.only()?;
            (numbers.argument(b, one) == *arg).then(|| arg.clone())
        }
        _ => None,
    }
}

/// Integers that GE takes as 64 bits where the call takes 32: those that were widened.
fn as_given(b: &mut Build<'_>, fed: Arg, original: &Graph, given: &Arg) -> Arg {
    let (Arg::Node(wide), Arg::Node(given)) = (&fed, given) else { return fed };
    let was_wide = original.ty(*given).as_tensor().map(|t| t.dtype) == Some(crate::graph::Dtype::I64);
    let before = b.wide_places(*wide);
    if was_wide && before != *wide {
        b.assumed.insert("integers that GE takes as 32 bits fit them".into());
        return Arg::Node(before);
    }
    let [Arg::Node(narrow)] = b.graph.args(*wide) else { return fed };
    let dtype = original.ty(*given).as_tensor().map(|t| t.dtype);
    let is_widened = b.graph.target(*wide) == "aten._to_copy.default"
        && b.dtype(*wide) == Ok(crate::graph::Dtype::I64)
        && b.dtype(*narrow) == Ok(crate::graph::Dtype::I32)
        && dtype == Some(crate::graph::Dtype::I32);
    if is_widened { Arg::Node(*narrow) } else { fed }
}

/// Whether an attribute is an argument. One that is not given is the operator's own default, which the attribute's need not be.
fn is_same(attribute: Option<&Attr>, arg: &Arg) -> bool {
    #[allow(clippy::cast_possible_truncation)] // Attributes are single floats.
    match (attribute, arg) {
        (_, Arg::None) => true,
        (None, _) => false,
        (Some(Attr::I(a) | Attr::Dt(a)), Arg::Int(b)) => a == b,
        (Some(Attr::I(a)), Arg::Bool(b)) => *a == i64::from(*b),
        (Some(Attr::B(a)), Arg::Bool(b)) => a == b,
        (Some(Attr::B(a)), Arg::Int(b)) => i64::from(*a) == *b,
        (Some(Attr::F(a)), Arg::Float(b)) => a.to_bits() == (*b as f32).to_bits(),
        #[allow(clippy::cast_precision_loss)]
        (Some(Attr::F(a)), Arg::Int(b)) => a.to_bits() == (*b as f32).to_bits(),
        (Some(Attr::S(a)), Arg::Str(b)) => a == b.as_bytes(),
        (Some(Attr::List(a)), Arg::List(b) | Arg::Tuple(b)) => {
            let ints: Option<Vec<i64>> = b.iter().map(|x| if let Arg::Int(v) = x { Some(*v) } else { None }).collect();
            let bools: Option<Vec<bool>> =
                b.iter().map(|x| if let Arg::Bool(v) = x { Some(*v) } else { None }).collect();
            ints.is_some_and(|i| i == a.i) || bools.is_some_and(|t| t == a.b)
        }
        _ => false,
    }
}

fn push(
    b: &mut Build<'_>,
    op: &OpDef,
    line: &Line,
    original: &Graph,
    node: NodeId,
    operator: Option<&Operator>,
    replaced: &Replaced,
) -> super::Made {
    let place = |at: usize, arg: &Arg| replaced.get(&at).cloned().unwrap_or_else(|| arg.clone());
    let args: Vec<Arg> = original.args(node).iter().enumerate().map(|(i, a)| place(i, a)).collect();
    let kwargs: Vec<(StrId, Arg)> = original
        .kwargs(node)
        .iter()
        .map(|(k, a)| {
            let name = original.texts.text(*k);
            let at = operator.and_then(|o| o.schema.param_index(name));
            let at = at.unwrap_or_else(|| by_name(line, name));
            (b.graph.texts.intern(name), place(at, a))
        })
        .collect();
    let mut args = args;
    let is_norm = line.target == "aten._native_batch_norm_legit_functional.default";
    let lifted = if is_norm { unlifted(b, &mut args) } else { Vec::new() };
    let ty = match b.registry().infer(&mut b.graph, line.target, &args, &kwargs) {
        Ok(ty) if ty.as_tensor().is_some() => ty,
        Err(error) if !error.is_unknown_target() => return undefined(error.to_string()),
        _ => original.ty(node).clone(),
    };
    let args = b.unconverted(line.target, args, &kwargs, &ty);
    let base = line.target.split('.').nth(1).unwrap_or(line.target);
    let name = b.graph.free_name(BodyId::ROOT, base);
    let target = b.graph.texts.intern(line.target);
    let count = match &ty {
        ValueType::Many(items) => Some(items.len()),
        _ => None,
    };
    let new = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: kwargs.into(), ty };
    let made = b.graph.push(BodyId::ROOT, &name, new);
    let open: Vec<&str> = line.attributes.iter().filter(|(_, p)| *p == "?").map(|(a, _)| *a).collect();
    let open = if open.is_empty() { String::new() } else { format!("; not held: {}", open.join(", ")) };
    b.assumed.insert(format!("{} is held to {} by its slots and attributes{open}", op.r#type, line.target));
    let outputs = op.output_desc.len();
    // Where nobody typed the call, whoever takes it apart says that it has several results.
    let is_taken_apart = || original.users_in_order(node).iter().any(|u| original.target(*u) == "_operator.getitem");
    let count = count.or_else(|| is_taken_apart().then_some(outputs));
    match count {
        None if outputs <= 1 => {
            let value = packed(b, op, 0, made).map_or_else(|| made.into(), Value::Packed);
            Ok(vec![Some(value); outputs])
        }
        None => {
            Ok(std::iter::once(Some(made.into())).chain(std::iter::repeat_n(None, outputs.saturating_sub(1))).collect())
        }
        Some(count) => {
            let mut values = Vec::new();
            for place in 0..outputs {
                let at = line.results.as_ref().and_then(|r| r.get(place)).copied().unwrap_or(place);
                if at >= count {
                    values.push(None);
                    continue;
                }
                let item = b.item(made, at)?;
                if *b.graph.ty(item) == ValueType::Unknown
                    && let Some(said) = said_of(original, node, at)
                {
                    b.graph.set_type(item, said);
                }
                let item = lifted.iter().rev().filter(|_| at == 0).try_fold(item, |item, axis| {
                    b.call("aten.unsqueeze.default", vec![Arg::Node(item), Arg::Int(*axis)])
                })?;
                values.push(Some(packed(b, op, place, item).map_or_else(|| item.into(), Value::Packed)));
            }
            Ok(values)
        }
    }
}

/// Takes back last dimensions of one element that were put behind rows or lines: a norm of a batch is the same with them. Returns which.
fn unlifted(b: &Build<'_>, args: &mut [Arg]) -> Vec<i64> {
    let mut axes = Vec::new();
    let Some(Arg::Node(x)) = args.first_mut() else { return axes };
    while let ("aten.unsqueeze.default", &[Arg::Node(from), Arg::Int(axis)]) = (b.graph.target(*x), b.graph.args(*x))
        && axis >= 2
        && usize::try_from(axis).ok() == b.rank(from).ok()
    {
        axes.push(axis);
        *x = from;
    }
    axes
}

/// What an output of 4 bits is, of which PyTorch packs several in an element.
fn packed(b: &Build<'_>, op: &OpDef, place: usize, item: NodeId) -> Option<Packed> {
    let said = DataType::try_from(op.output_desc.get(place)?.dtype).ok()?;
    let own = b.dtype(item).ok()?;
    let is_half = matches!(said, DataType::Int4 | DataType::Float4E2m1 | DataType::Float4E1m2);
    let each = i64::try_from(own.bytes()).ok()?.checked_mul(2)?;
    (is_half && own.is_integer()).then_some(Packed { packed: item, each, apart: false })
}

/// What the graph says of one result of a call that no rule types: the call that stands for it here has the same.
fn said_of(original: &Graph, node: NodeId, at: usize) -> Option<ValueType> {
    let at = i64::try_from(at).ok()?;
    let takes = |user: &NodeId| {
        original.target(*user) == "_operator.getitem"
            && matches!(original.args(*user), [_, Arg::Int(place)] if *place == at)
    };
    original.users_in_order(node).into_iter().find(takes).map(|user| original.ty(user).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_slots_and_attributes_that_its_operator_has_and_no_definition_is_held_so() {
        for (kind, lines) in LINES.iter() {
            let known = operators::operator(kind).unwrap_or_else(|| panic!("{kind}"));
            assert!(
                super::super::rule(kind).is_none() && super::super::exact::line(kind).is_none(),
                "{kind} is defined"
            );
            for (slot, _) in lines.iter().flat_map(|l| &l.slots).filter(|(slot, _)| *slot != "-") {
                assert!(known.inputs.iter().any(|s| s.name == *slot), "{kind}: {slot}");
            }
        }
        assert!(LINES.len() > 100);
    }
}
