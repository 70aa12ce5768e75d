//! GE operators that are one operator of PyTorch: the lines of `exact.txt`.
//!
//! `Type = target(argument, ...; keyword=argument, ...) -> 1 0 _`. An argument is a slot of the GE operator (its tensor, none where it is not
//! fed, a list where it is dynamic), one of its attributes, `slot#` (the numbers that feed it), `slot$` (the one number), `slot~other` (a
//! number or a tensor beside `other`, of the same type), `slot^` (places, as wide as they were), or a literal. After the arrow: which result each output is, `1^` as places of 32 bits; without it, in order.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Call, Made, Undefined, Value, undefined};
use crate::graph::{Arg, Dtype, NodeId, ValueType, View};
use crate::lower::ge::operators::Feed;

/// A line of the table.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    target: &'static str,
    args: Vec<Source>,
    named: Vec<(&'static str, Source)>,
    /// Which result each output is, and whether as places of 32 bits.
    outputs: Option<Vec<Option<(usize, bool)>>>,
}

#[derive(Clone, PartialEq, Debug)]
enum Source {
    Named(&'static str),
    Numbers(&'static str),
    Number(&'static str),
    Places(&'static str),
    Beside(&'static str, &'static str),
    Literal(Arg),
}

static LINES: LazyLock<HashMap<&'static str, Line>> = LazyLock::new(|| {
    let lines = include_str!("exact.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#'));
    lines.filter_map(parse).collect()
});

fn parse(line: &'static str) -> Option<(&'static str, Line)> {
    let (kind, rest) = line.split_once(" = ")?;
    let (target, rest) = rest.split_once('(')?;
    let (args, rest) = rest.rsplit_once(')')?;
    let (args, named) = args.split_once("; ").unwrap_or((args, ""));
    let list = |text: &'static str| text.split(", ").filter(|s| !s.is_empty());
    let named = list(named).filter_map(|n| n.split_once('=')).map(|(k, v)| (k, source(v))).collect();
    let place = |o: &str| Some((o.trim_end_matches('^').parse().ok()?, o.ends_with('^')));
    let outputs = rest.trim().strip_prefix("-> ").map(|o| o.split(' ').map(place).collect());
    Some((kind, Line { target, args: list(args).map(source).collect(), named, outputs }))
}

fn source(text: &'static str) -> Source {
    let literal = match text {
        "none" => Some(Arg::None),
        "true" => Some(Arg::Bool(true)),
        "false" => Some(Arg::Bool(false)),
        _ if text.starts_with('\'') => Some(Arg::Str(text.trim_matches('\'').into())),
        _ => text.parse().ok().map(Arg::Int).or_else(|| {
            text.starts_with(|c: char| c.is_ascii_digit() || c == '-').then(|| text.parse().ok().map(Arg::Float))?
        }),
    };
    match (literal, text.split_once('~')) {
        (Some(literal), _) => Source::Literal(literal),
        (None, Some((name, beside))) => Source::Beside(name, beside),
        (None, None) if text.ends_with('#') => Source::Numbers(text.trim_end_matches('#')),
        (None, None) if text.ends_with('^') => Source::Places(text.trim_end_matches('^')),
        (None, None) if text.ends_with('$') => Source::Number(text.trim_end_matches('$')),
        (None, None) => Source::Named(text),
    }
}

/// Returns the operators of the table.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    LINES.keys().copied()
}

/// Returns an operator's line.
pub fn line(kind: &str) -> Option<&'static Line> {
    LINES.get(kind)
}

fn argument(c: &mut Call<'_, '_>, source: &Source) -> Result<Arg, Undefined> {
    match source {
        Source::Literal(literal) => Ok(literal.clone()),
        Source::Numbers(slot) => Ok(Arg::List(c.sizes(slot)?.into())),
        Source::Number(slot) => c.one_number(slot),
        Source::Places(slot) => {
            let narrow = c.t(slot)?;
            Ok(Arg::Node(c.b.wide_places(narrow)))
        }
        Source::Beside(slot, beside) => {
            let beside = c.t(beside)?;
            c.operand(slot, beside)
        }
        Source::Named(name) => match c.feed(name) {
            Some(Feed::Required) => c.t(name).map(Arg::Node),
            Some(Feed::Optional) => c.maybe(name),
            Some(Feed::Dynamic) => Ok(Arg::list(c.many(name)?)),
            None => c.attribute_argument(name),
        },
    }
}

/// Makes what a line says.
pub fn make(c: &mut Call<'_, '_>, line: &Line) -> Made {
    let args = line.args.iter().map(|s| argument(c, s)).collect::<Result<Vec<_>, _>>()?;
    let named = line.named.iter().map(|(k, s)| Ok((*k, argument(c, s)?))).collect::<Result<Vec<_>, Undefined>>()?;
    let made = c.b.call_with(line.target, args, named)?;
    of_its_operands(c, made)?;
    let count = c.outputs();
    if line.outputs.is_none() && count == 1 && !matches!(c.b.graph.ty(made), ValueType::Many(_)) {
        return Ok(vec![Some(made.into())]);
    }
    let places = line.outputs.clone().unwrap_or_else(|| (0..count).map(|at| Some((at, false))).collect());
    if places.len() < count {
        return undefined(format!("{count} outputs, of which {} are defined", places.len()));
    }
    let mut values = Vec::new();
    for place in places {
        let Some((at, is_narrow)) = place else {
            values.push(None);
            continue;
        };
        let item = c.b.item(made, at)?;
        values.push(Some(if is_narrow { c.b.narrow_places(item)? } else { item }.into()));
    }
    Ok(values)
}

/// Refuses floats made of nothing but integers: PyTorch makes them, and GE's operators give the type of their operands.
fn of_its_operands(c: &Call<'_, '_>, made: NodeId) -> Result<(), Undefined> {
    let is_real = |n: NodeId| c.b.dtype(n).is_ok_and(|d| d.is_float() || d.is_complex());
    let results = match c.b.graph.ty(made) {
        ValueType::Many(all) => all.iter().filter_map(ValueType::as_tensor).any(|t| t.dtype.is_float()),
        _ => is_real(made),
    };
    // What feeds it, not what the call takes: a call may cast its operand itself.
    let fed = c.slots().iter().flat_map(|(_, values)| values.iter().flatten());
    let mut fed = fed.filter_map(|v| v.dtype(c.b).ok()).peekable();
    let only_integers = fed.peek().is_some() && !fed.any(|d| d.is_float() || d.is_complex());
    c.only(!(results && only_integers), "a function of integers that gives floats")?;
    c.only(is_of_one_type(c, made), "an operator of floats of several types, element by element,")
}

/// Whether all floats of the result's sizes have one type: PyTorch casts what is not, and GE's operators do not.
fn is_of_one_type(c: &Call<'_, '_>, made: NodeId) -> bool {
    let Ok(result) = c.b.tensor(made) else { return true };
    let fed = c.slots().iter().flat_map(|(_, values)| values.iter().flatten());
    let floats = fed.filter_map(|v| match v {
        Value::Tensor(n) => c.b.tensor(*n).ok().filter(|t| t.dtype.is_float() && t.sizes == result.sizes),
        _ => None,
    });
    let dtypes: Vec<Dtype> = floats.map(|t| t.dtype).collect();
    dtypes.windows(2).all(|w| w.first() == w.last())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::ge::operators::operator;
    use crate::ops::Registry;

    #[test]
    fn every_line_names_an_operator_of_each_side_and_what_it_has() {
        let registry = Registry::standard();
        let count = include_str!("exact.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#')).count();
        assert_eq!(LINES.len(), count);
        for (kind, line) in LINES.iter() {
            let known = operator(kind).unwrap_or_else(|| panic!("{kind}"));
            let target = registry.get(line.target).unwrap_or_else(|| panic!("{kind}: {}", line.target));
            for (key, _) in &line.named {
                assert!(target.schema.param_index(key).is_some(), "{kind}: {key}");
            }
            for source in line.args.iter().chain(line.named.iter().map(|(_, s)| s)) {
                let has = |n: &str| known.inputs.iter().any(|s| s.name == n) || known.attribute(n).is_some();
                let found = match source {
                    Source::Literal(_) => true,
                    Source::Beside(a, b) => has(a) && has(b),
                    Source::Named(n) | Source::Numbers(n) | Source::Number(n) | Source::Places(n) => has(n),
                };
                assert!(found, "{kind}: {source:?}");
            }
        }
    }
}
