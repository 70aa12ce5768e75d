//! A call's arguments by name, with the defaults of the operator's own signature.
//!
//! A signature is the parameter names in order, separated by blanks; `name=default` where the operator has a default other than none:
//! a number, `true`, `false`, a list like `[0,1]`, else a text.
//! Promises: an argument that no parameter of the signature takes is refused, not overlooked.

use super::cx::Cx;
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::types;
use crate::lower::ge::value::{TensorId, Value};

/// The arguments of a call; a converter may put others in their place before the operator is made.
#[derive(Debug)]
pub(super) struct Args {
    values: Vec<(String, Value)>,
}

impl Args {
    /// Binds the arguments of the call to a signature.
    pub(super) fn of(cx: &Cx, signature: &str) -> Result<Args, Refusal> {
        let mut values = Vec::new();
        for (place, param) in signature.split_whitespace().enumerate() {
            let (name, default) = param.split_once('=').map_or((param, None), |(n, d)| (n, Some(d)));
            let value = match (cx.get(place, name), default) {
                (Value::None, Some(default)) if !was_given(cx, place, name) => literal(default),
                (value, _) => value,
            };
            values.push((name.to_string(), value));
        }
        if cx.args.len() > values.len() {
            return Err(Refusal(format!("{} arguments, where the operator takes {}", cx.args.len(), values.len())));
        }
        let unknown = cx.kwargs.iter().find(|(k, v)| !v.is_none() && !values.iter().any(|(name, _)| name == k));
        match unknown {
            Some((name, _)) => Err(Refusal(format!("argument {name} is not supported"))),
            None => Ok(Args { values }),
        }
    }

    /// Returns the names in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the argument of that name; none where there is no such parameter.
    pub(super) fn get(&self, name: &str) -> Value {
        self.values.iter().find(|(n, _)| n == name).map_or(Value::None, |(_, v)| v.clone())
    }

    /// Puts another value in an argument's place.
    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.values.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value,
            None => self.values.push((name.to_string(), value)),
        }
    }

    /// Puts a value in the place of an argument that is none.
    pub(super) fn or(&mut self, name: &str, value: impl Into<Value>) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    /// Returns a tensor argument, if one was given.
    pub(super) fn optional(&self, name: &str) -> Option<TensorId> {
        self.get(name).tensor()
    }

    /// Returns a tensor argument.
    pub(super) fn tensor(&self, name: &str) -> Result<TensorId, Refusal> {
        self.optional(name).ok_or_else(|| Refusal(format!("argument {name} is no tensor")))
    }

    /// Returns an argument as an input.
    pub(super) fn input(&self, name: &str) -> Result<In, Refusal> {
        In::try_from(&self.get(name)).map_err(|r| Refusal(format!("argument {name}: {}", r.0)))
    }

    /// Returns an integer; none where it was not given.
    pub(super) fn int(&self, name: &str) -> Result<Option<i64>, Refusal> {
        match self.get(name) {
            Value::None => Ok(None),
            Value::Int(i) => Ok(Some(i)),
            Value::Bool(b) => Ok(Some(i64::from(b))),
            _ => Err(Refusal(format!("argument {name} is no fixed integer"))),
        }
    }

    /// Returns a list of integers; none where it was not given.
    pub(super) fn ints(&self, name: &str) -> Result<Option<Vec<i64>>, Refusal> {
        match self.get(name) {
            Value::None => Ok(None),
            value => value.ints().map(Some).ok_or_else(|| Refusal(format!("argument {name} is no fixed list"))),
        }
    }

    /// Returns a text; an empty one where it was not given.
    pub(super) fn text(&self, name: &str) -> Result<String, Refusal> {
        match self.get(name) {
            Value::None => Ok(String::new()),
            Value::Str(s) => Ok(s.to_string()),
            _ => Err(Refusal(format!("argument {name} is no text"))),
        }
    }

    /// Returns a truth value.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Refusal> {
        Ok(self.int(name)?.unwrap_or(0) != 0)
    }

    /// Returns the GE type that an argument names: a dtype, or its number in torch or `torch_npu`.
    pub(super) fn dtype(&self, name: &str) -> Result<Option<DataType>, Refusal> {
        let known = match self.get(name) {
            Value::None => return Ok(None),
            Value::Dtype(d) => types::ge_type(d),
            Value::Int(i) => types::of_torch_number(i),
            _ => None,
        };
        known.map(Some).ok_or_else(|| Refusal(format!("GE has no type for argument {name}")))
    }

    /// Refuses a text that is not one of those.
    pub(super) fn one_of(&self, name: &str, texts: &[&str]) -> Result<(), Refusal> {
        let text = self.text(name)?;
        match texts.contains(&text.as_str()) {
            true => Ok(()),
            false => Err(Refusal(format!("argument {name} is {text:?}; supported are {}", texts.join(", ")))),
        }
    }
}

/// An explicit none is not the same as an argument that was left out.
fn was_given(cx: &Cx, place: usize, name: &str) -> bool {
    place < cx.args.len() || cx.kwargs.iter().any(|(k, _)| k == name)
}

fn literal(text: &str) -> Value {
    if let Some(items) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        return Value::List(items.split(',').filter(|i| !i.is_empty()).map(literal).collect());
    }
    match (text, text.parse::<i64>(), text.parse::<f64>()) {
        ("true", ..) => Value::Bool(true),
        ("false", ..) => Value::Bool(false),
        (_, Ok(i), _) => Value::Int(i),
        (_, _, Ok(f)) if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => Value::Float(f),
        _ => Value::Str(text.into()),
    }
}

/// Returns an argument as an attribute; none where it was not given.
pub(super) fn attribute(name: &str, value: &Value) -> Result<Option<Attr>, Refusal> {
    use crate::lower::ge::literal::Literal;
    match value {
        Value::None => return Ok(None),
        Value::Str(s) => return Ok(Some(Attr::Str(s.to_string()))),
        _ => {}
    }
    Ok(Some(match value.literal() {
        Some(Literal::Bool(b)) => Attr::Bool(b),
        Some(Literal::Int(i)) => Attr::Int(i),
        Some(Literal::Float(f)) => Attr::Float(f),
        Some(Literal::Ints(v)) => Attr::Ints(v),
        Some(Literal::Floats(v)) => Attr::Floats(v),
        Some(Literal::Bools(v)) => Attr::Bools(v),
        Some(Literal::Complex(..)) | None => return Err(Refusal(format!("argument {name} is no fixed value"))),
    }))
}

/// Returns a constant of a line as an attribute.
pub(super) fn constant(text: &str) -> Result<Option<Attr>, Refusal> {
    attribute(text, &literal(text))
}
