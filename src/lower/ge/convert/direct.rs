//! Operators whose arguments go straight into one GE operator: a line each.
//!
//! A line is `Kind(inputs; attributes)`. Inputs name arguments in slot order, `-` leaves a slot unfed. An attribute is
//! `name` (the argument of that name), `name=argument`, or either with `|default` for what an argument that was not given
//! is; without one it is the GE operator's own default. Operators of an operator file may add `-> (outputs)`: which of the GE
//! operator's outputs are the results.

use super::Made;
use super::cx::Cx;
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::operators;
use crate::lower::ge::value::Value;
use crate::ops::Lowering;

/// Converts a call by its line; `params` are the argument names in order.
pub(super) fn convert(cx: &mut Cx, params: &str, line: &str) -> Made {
    let (kind, slots, attrs) = call(cx, params, line)?;
    cx.ge(kind, slots, &attrs)
}

/// Converts a call as an operator file says.
pub(super) fn described(cx: &mut Cx, lowering: &Lowering) -> Made {
    let (kind, slots, attrs) = call(cx, &lowering.params, &lowering.line)?;
    if lowering.outputs.is_empty() {
        return cx.ge(kind, slots, &attrs);
    }
    let known = operators::operator(kind).ok_or_else(|| Refusal(format!("GE has no operator {kind}")))?;
    let made = cx.b.many(kind, slots, &attrs, None)?;
    let mut results = Vec::new();
    for output in &lowering.outputs {
        let place = known.outputs.iter().position(|(name, _)| *name == &**output);
        let tensor = place.and_then(|p| made.get(p)).copied();
        results.push(Value::Tensor(tensor.ok_or_else(|| Refusal(format!("{kind} has no output {output}")))?));
    }
    Ok(match <[Value; 1]>::try_from(results) {
        Ok([one]) => one,
        Err(several) => Value::List(several.into()),
    })
}

type Parts<'t> = (&'t str, Vec<In>, Vec<(&'t str, Attr)>);

fn call<'t>(cx: &mut Cx, params: &str, line: &'t str) -> Result<Parts<'t>, Refusal> {
    let bad = || Refusal(format!("the line `{line}` of the table is malformed"));
    let (kind, rest) = line.split_once('(').ok_or_else(bad)?;
    let rest = rest.strip_suffix(')').ok_or_else(bad)?;
    let (inputs, attributes) = rest.split_once(';').unwrap_or((rest, ""));
    let argument = |cx: &Cx, name: &str| {
        let place = params.split_whitespace().position(|p| p == name).unwrap_or(usize::MAX);
        cx.get(place, name)
    };
    let mut slots = Vec::new();
    for name in inputs.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        slots.push(match name {
            "-" => In::None,
            name => In::try_from(&argument(cx, name)).map_err(|r| Refusal(format!("argument {name}: {}", r.0)))?,
        });
    }
    let mut attrs = Vec::new();
    for text in attributes.split(',').map(str::trim).filter(|a| !a.is_empty()) {
        let (text, default) = match text.split_once('|') {
            Some((text, default)) => (text, Some(default)),
            None => (text, None),
        };
        let (name, from) = text.split_once('=').unwrap_or((text, text));
        match (argument(cx, from), default) {
            (Value::None, Some(default)) => attrs.push((name, literal(default))),
            (Value::None, None) => {}
            (value, _) => attrs.push((name, attribute(from, &value)?)),
        }
    }
    Ok((kind, slots, attrs))
}

fn literal(text: &str) -> Attr {
    if let Ok(i) = text.parse::<i64>() {
        return Attr::Int(i);
    }
    match (text, text.parse::<f64>()) {
        ("true", _) => Attr::Bool(true),
        ("false", _) => Attr::Bool(false),
        (_, Ok(f)) => Attr::Float(f),
        _ => Attr::Str(text.into()),
    }
}

fn attribute(name: &str, value: &Value) -> Result<Attr, Refusal> {
    use crate::lower::ge::literal::Literal;
    if let Value::Str(s) = value {
        return Ok(Attr::Str(s.to_string()));
    }
    Ok(match value.literal() {
        Some(Literal::Bool(b)) => Attr::Bool(b),
        Some(Literal::Int(i)) => Attr::Int(i),
        Some(Literal::Float(f)) => Attr::Float(f),
        Some(Literal::Ints(v)) => Attr::Ints(v),
        Some(Literal::Floats(v)) => Attr::Floats(v),
        Some(Literal::Bools(v)) => Attr::Bools(v),
        None => return Err(Refusal(format!("argument {name} is no fixed value"))),
    })
}
