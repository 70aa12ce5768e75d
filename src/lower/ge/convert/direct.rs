//! Operators whose arguments go into one GE operator: a line each.
//!
//! A line is `Kind(inputs; attributes) -> (outputs)`.
//! - Inputs name arguments in slot order, `-` leaves a slot unfed; `slot=argument` feeds a slot by name; `*` feeds every slot that the
//!   line does not name with the argument of its name. `move(argument)` is a copy of it (for operators that write what they
//!   are given), `int64(argument)` is it as int64, `=|number` is a constant.
//! - An attribute is `name` (the argument of that name), `name=argument`, `name=type(argument)` (the GE type that it names), or any of them
//!   with `|default` for what an argument that was not given is; `name=|value` is a constant; `*` is every attribute of the operator that
//!   the line does not name and the signature does. Without one it is the GE operator's own default.
//! - Outputs name those of the GE operator in the order of the results, each with `: type` where the graph cannot say it: a GE type's name,
//!   the argument that names it, or the tensor argument that has it. Without a list they are the results in order.
//!
//! A line of a table may hold any of that; operator files have the part that `ops::Lowering` describes.

use super::Made;
use super::args::{Args, attribute, constant};
use super::cx::Cx;
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::operators::{self, Feed, GeOperator};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};
use crate::ops::Lowering;

/// Converts a call by its line; `params` is the operator's signature.
pub(super) fn convert(cx: &mut Cx, params: &str, line: &str) -> Made {
    let args = Args::of(cx, params)?;
    make(cx, &args, line, &[])
}

/// Converts a call as an operator file says.
pub(super) fn described(cx: &mut Cx, lowering: &Lowering) -> Made {
    let args = Args::of(cx, &lowering.params)?;
    if lowering.outputs.is_empty() {
        return make(cx, &args, &lowering.line, &[]);
    }
    make(cx, &args, &format!("{} -> ({})", lowering.line, lowering.outputs.join(", ")), &[])
}

/// Makes the operator of a line; `more` are attributes that the converter computed.
pub(super) fn make(cx: &mut Cx, args: &Args, line: &str, more: &[(&str, Attr)]) -> Made {
    let made = outputs(cx, args, line, more)?;
    Ok(match made.as_slice() {
        [] => Value::None,
        [one] => Value::Tensor(*one),
        many => super::cx::list(many),
    })
}

/// As `make`, but gives the results as tensors.
pub(super) fn outputs(cx: &mut Cx, args: &Args, line: &str, more: &[(&str, Attr)]) -> Result<Vec<TensorId>, Refusal> {
    let bad = || Refusal(format!("the line `{line}` of the table is malformed"));
    let (call, results) = line.split_once("->").map_or((line, None), |(c, r)| (c.trim(), Some(r.trim())));
    let (kind, rest) = call.split_once('(').ok_or_else(bad)?;
    let rest = rest.strip_suffix(')').ok_or_else(bad)?;
    let (inputs, attributes) = rest.split_once(';').unwrap_or((rest, ""));
    let known = operators::operator(kind).ok_or_else(|| Refusal(format!("GE has no operator {kind}")))?;
    let slots = slots(cx, args, known, inputs)?;
    let mut attrs = attrs(args, known, attributes, more)?;
    attrs.extend(more.iter().map(|(name, a)| (*name, a.clone())));
    let count = known.inputs.iter().zip(&slots).find_map(|(slot, given)| match (slot.feed, given) {
        (Feed::Dynamic, In::Many(list)) => Some(list.len()),
        (Feed::Dynamic, In::Tensor(_)) => Some(1),
        _ => None,
    });
    let made = cx.b.many(kind, slots, &attrs, count)?;
    match results {
        None => Ok(made),
        Some(list) => {
            let list = list.strip_prefix('(').and_then(|l| l.strip_suffix(')')).ok_or_else(bad)?;
            list.split(',').map(|o| output(cx, args, known, &made, o.trim())).collect()
        }
    }
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|i| !i.is_empty())
}

fn slots(cx: &mut Cx, args: &Args, known: &GeOperator, inputs: &str) -> Result<Vec<In>, Refusal> {
    let mut slots = vec![In::None; known.inputs.len()];
    let place = |name: &str| known.inputs.iter().position(|s| s.name == name);
    let mut named = vec![false; known.inputs.len()];
    let mut rest = false;
    for (at, item) in items(inputs).enumerate() {
        if item == "*" {
            rest = true;
            continue;
        }
        let (at, from) = match item.split_once('=') {
            Some(("", constant)) => (Some(at), constant),
            Some((slot, from)) => (place(slot), from),
            None => (Some(at), item),
        };
        let slot = at.and_then(|at| Some((slots.get_mut(at)?, named.get_mut(at)?)));
        let Some((slot, named)) = slot else {
            return Err(Refusal(format!("{} has no input for {item}", known.name)));
        };
        *slot = source(cx, args, from)?;
        *named = true;
    }
    for ((slot, given), known) in slots.iter_mut().zip(named).zip(&known.inputs) {
        if rest && !given {
            *slot = args.input(known.name)?;
        }
    }
    Ok(slots)
}

fn source(cx: &mut Cx, args: &Args, from: &str) -> Result<In, Refusal> {
    if from == "-" {
        return Ok(In::None);
    }
    if let Some(number) = from.strip_prefix('|') {
        let number = number.parse::<i64>().map_err(|_| Refusal(format!("`{number}` is no number")))?;
        return Ok(In::Literal(crate::lower::ge::literal::Literal::Int(number)));
    }
    match from.strip_suffix(')').and_then(|f| f.split_once('(')) {
        Some(("move", name)) => Ok(cx.op("TensorMove", vec![args.tensor(name)?.into()], &[])?.into()),
        Some(("int64", name)) => match args.get(name) {
            Value::None => Ok(In::None),
            value => Ok(cx.cast(value, DataType::Int64)?.into()),
        },
        _ => args.input(from),
    }
}

fn attrs<'t>(
    args: &Args,
    known: &'t GeOperator,
    attributes: &'t str,
    more: &[(&str, Attr)],
) -> Result<Vec<(&'t str, Attr)>, Refusal> {
    let mut attrs: Vec<(&str, Attr)> = Vec::new();
    let mut rest = false;
    for item in items(attributes) {
        if item == "*" {
            rest = true;
            continue;
        }
        let (text, default) = item.split_once('|').map_or((item, None), |(t, d)| (t, Some(d)));
        let (name, from) = text.split_once('=').unwrap_or((text, text));
        let given = match from.strip_prefix("type(").and_then(|f| f.strip_suffix(')')) {
            Some(argument) => args.dtype(argument)?.map(Attr::Type),
            None => attribute(from, &args.get(from))?,
        };
        let value = match (given, default) {
            (None, Some(default)) => constant(default)?,
            (given, _) => given,
        };
        attrs.extend(value.map(|v| (name, v)));
    }
    let taken = |name: &str| more.iter().any(|(n, _)| *n == name);
    for a in known.attributes.iter().filter(|_| rest) {
        if !taken(a.name) && !attrs.iter().any(|(n, _)| *n == a.name) && args.names().any(|n| n == a.name) {
            attrs.extend(attribute(a.name, &args.get(a.name))?.map(|v| (a.name, v)));
        }
    }
    Ok(attrs)
}

fn output(cx: &mut Cx, args: &Args, known: &GeOperator, made: &[TensorId], text: &str) -> Result<TensorId, Refusal> {
    let (name, of) = text.split_once(':').map_or((text, None), |(n, t)| (n.trim(), Some(t.trim())));
    let place = known.outputs.iter().position(|(n, _)| *n == name);
    let tensor = place.and_then(|p| made.get(p)).copied();
    let tensor = tensor.ok_or_else(|| Refusal(format!("{} has no output {name}", known.name)))?;
    if let Some(of) = of {
        let named = DataType::ALL.iter().find(|d| d.name() == of).copied();
        let dtype = match (named, args.optional(of)) {
            (Some(dtype), _) => Some(dtype),
            (None, Some(t)) => Some(cx.dtype(t)),
            (None, None) => args.dtype(of)?,
        };
        if let Some(dtype) = dtype {
            cx.b.set_desc_type(tensor, dtype);
        }
    }
    Ok(tensor)
}
