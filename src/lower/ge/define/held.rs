//! Whether a GE operator is made of a call as its line says: what feeds each slot, what each attribute is.
//!
//! Promises: every argument of the call is looked at. One that feeds a slot gives way to what feeds it; an attribute, or a slot that numbers feed, is what
//! its form gives; an argument of which neither is made is what it is when nobody gives it. A slot that GE requires is fed.

use std::collections::HashMap;

use super::fields::Line;
use super::forms::{Form, Given, How, Wanted};
use super::{Build, Call, Undefined, Value, undefined};
use crate::graph::{Arg, BodyId, Graph, NodeId, NodeKind, View};
use crate::lower::ge::metas;
use crate::lower::ge::operators::{Feed, GeOperator};
use crate::lower::ge::proto::Value as Attr;
use crate::ops::Base;

/// What takes an argument's place, by parameter.
pub(super) type Replaced = HashMap<usize, Arg>;

/// Returns what takes the place of which argument, if the operator is made of the call.
pub(super) fn agree(
    c: &mut Call<'_, '_>,
    line: &Line,
    given: &Given<'_>,
    known: &GeOperator,
) -> Result<Replaced, Undefined> {
    let mut replaced = Replaced::new();
    for (slot, values) in c.slots().to_vec() {
        let fed: Vec<Value> = values.into_iter().flatten().collect();
        let form = line.slots.iter().find(|(s, _)| *s == slot).map(|(_, form)| form);
        match form {
            None if fed.is_empty() => {}
            None => return undefined(format!("which argument feeds `{slot}` is not known")),
            Some(form @ (Form::Argument(param, None) | Form::Computed(How::Whole, param, None))) => {
                let (at, mut argument) = fed_by(c, line, given, (slot, param), &fed)?;
                if matches!(form, Form::Computed(..)) {
                    argument = before_whole(c.b, argument, given.graph, given.bound.get(at));
                }
                if replaced.insert(at, argument.clone()).is_some_and(|other| other != argument) {
                    return undefined(format!("`{slot}` is not fed by the argument that it is made of"));
                }
            }
            Some(form) => {
                let wanted = given.wanted(form)?;
                if !is_fed(c.b, &fed, &wanted) {
                    return undefined(format!("`{slot}` is fed by other numbers than the arguments say"));
                }
            }
        }
        let is_required = known.inputs.iter().any(|s| s.name == slot && s.feed == Feed::Required);
        if is_required && fed.is_empty() {
            return undefined(format!("`{slot}` is not fed"));
        }
    }
    unread(c.b, line, given, &mut replaced)?;
    for (name, form) in &line.attributes {
        if let Some(param) = name.strip_prefix('@') {
            if !given.has(param, form) {
                return undefined(format!("`{param}` has a value for which there is no such operator"));
            }
            continue;
        }
        if !is_held(c, name, &given.wanted(form)?)? {
            return undefined(format!("attribute `{name}` is not what the arguments say"));
        }
    }
    Ok(replaced)
}

/// The parameter whose argument feeds a slot, and what stands in its place.
fn fed_by(
    c: &mut Call<'_, '_>,
    line: &Line,
    given: &Given<'_>,
    (slot, param): (&str, &str),
    fed: &[Value],
) -> Result<(usize, Arg), Undefined> {
    let Some(at) = given.schema.param_index(param) else {
        return undefined(format!("which argument feeds `{slot}` is not known"));
    };
    let dynamic = c.feed(slot) == Some(Feed::Dynamic);
    let is_whole = given.schema.params.get(at).is_some_and(|p| p.ty.base == Base::SymInt);
    let is_zero = matches!(fed, [Value::Numbers(n)] if n.only() == Some(&Arg::Int(0)));
    // A place that is not given is where the memory begins.
    let argument = match given.bound.get(at) {
        Arg::None if is_whole && is_zero => Some(Arg::None),
        Arg::None if dynamic && fed.iter().all(is_nothing) => Some(Arg::None),
        Arg::None if is_idle(c.b, line.target, slot, fed) => Some(Arg::None),
        given => feeds(c.b, given, fed, dynamic),
    };
    let wrong = || Undefined(format!("`{slot}` is not fed by the argument that it is made of"));
    let argument = as_given(c.b, argument.ok_or_else(wrong)?, given.graph, given.bound.get(at));
    Ok((at, argument))
}

/// Looks at the arguments that feed no slot: tensors that neither reads, and what says nothing.
fn unread(b: &Build<'_>, line: &Line, given: &Given<'_>, replaced: &mut Replaced) -> Result<(), Undefined> {
    for (at, param) in given.schema.params.iter().enumerate() {
        let (name, arg) = (&*param.name, given.bound.get(at));
        let reads = |form: &Form| form.params().contains(&name);
        let is_left = line.slots.iter().any(|(slot, form)| *slot == "-" && reads(form));
        if is_left && let Arg::Node(node) = arg {
            // What the call computes does not depend on it: it is what it was where that is an input, and nothing where it need not be given.
            match input_as(b, given.graph, *node) {
                Some(input) => replaced.insert(at, Arg::Node(input)),
                None if param.ty.is_optional() => replaced.insert(at, Arg::None),
                None => None,
            };
        }
        let is_computed = line.attributes.iter().any(|(n, form)| n.strip_prefix('@') == Some(name) || reads(form))
            || line.slots.iter().any(|(_, form)| !matches!(form, Form::Argument(..)) && reads(form));
        if arg.nodes().next().is_some() && !replaced.contains_key(&at) {
            return undefined("an argument of the call feeds no slot");
        }
        if !replaced.contains_key(&at) && !is_left && !is_computed && !given.is_idle(at) {
            return undefined(format!("nothing is made of `{name}`"));
        }
    }
    Ok(())
}

/// Whether numbers feed a slot that are what is wanted.
fn is_fed(b: &Build<'_>, fed: &[Value], wanted: &Wanted) -> bool {
    let numbers = match (fed, wanted) {
        (_, Wanted::Unsaid) => return fed.iter().all(is_nothing),
        ([Value::Numbers(numbers)], _) => numbers,
        _ => return false,
    };
    match wanted {
        Wanted::OneOf(all) => all.iter().any(|arg| match arg {
            Arg::List(items) => **items == *numbers.items,
            one => numbers.only() == Some(one),
        }),
        Wanted::Size(dim) => numbers.only().is_some_and(|one| b.is_size(one, *dim)),
        Wanted::Axes(wanted, rank) => {
            let places = numbers.ints().and_then(|all| all.iter().map(|a| metas::axis(*a, *rank)).collect());
            places.is_some_and(|mut places: Vec<usize>| {
                places.sort_unstable();
                places == *wanted
            })
        }
        Wanted::Open | Wanted::Unsaid | Wanted::OrUnsaid(_) => false,
    }
}

/// Whether an attribute is what is wanted.
fn is_held(c: &Call<'_, '_>, name: &str, wanted: &Wanted) -> Result<bool, Undefined> {
    let value = c.attribute_value(name);
    Ok(match wanted {
        Wanted::Open => true,
        Wanted::Unsaid => c.by_default(name).is_ok(),
        Wanted::OneOf(all) => all.iter().any(|arg| is_same(value, arg)),
        Wanted::OrUnsaid(arg) => is_same(value, arg) || c.by_default(name).is_ok(),
        Wanted::Axes(..) | Wanted::Size(_) => return undefined(format!("attribute `{name}` is not held")),
    })
}

/// Whether a tensor of no elements feeds a slot.
fn is_nothing(value: &Value) -> bool {
    value.numbers().is_some_and(|n| n.items.is_empty())
}

/// Whether what feeds a slot of a norm scales or moves nothing: what stands there for an argument that is not given.
fn is_idle(b: &Build<'_>, target: &str, slot: &str, fed: &[Value]) -> bool {
    let idle = match (target, slot) {
        ("aten._native_batch_norm_legit_functional.default", "weight")
        | ("aten.native_layer_norm_backward.default", "gamma") => [Arg::Int(1), Arg::Float(1.0)],
        ("aten._native_batch_norm_legit_functional.default", "bias") => [Arg::Int(0), Arg::Float(0.0)],
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
            let same = numbers.argument(b, one) == *arg;
            if let (true, Arg::Float(said), Arg::Float(held)) = (same, arg, one)
                && said.to_bits() != held.to_bits()
            {
                b.assumed.insert(format!("{said} is held as {held} in {}", numbers.dtype.long()));
            }
            same.then(|| arg.clone())
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

/// What was converted to integers of 32 bits, where the call is given that and converts it itself.
fn before_whole(b: &Build<'_>, fed: Arg, original: &Graph, given: &Arg) -> Arg {
    let (Arg::Node(whole), Arg::Node(given)) = (&fed, given) else { return fed };
    let [Arg::Node(from)] = b.graph.args(*whole) else { return fed };
    let is_cast = b.graph.target(*whole) == "aten._to_copy.default" && b.dtype(*whole) == Ok(crate::graph::Dtype::I32);
    let own = original.ty(*given).as_tensor().map(|t| t.dtype);
    if is_cast && own.is_some() && b.dtype(*from).ok() == own { Arg::Node(*from) } else { fed }
}

/// Whether an attribute is an argument.
fn is_same(attribute: Option<&Attr>, arg: &Arg) -> bool {
    #[allow(clippy::cast_possible_truncation)] // Attributes are single floats.
    match (attribute, arg) {
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
