//! What GE operators look like: slots, outputs, attributes with their defaults.
//!
//! The table is `operators.txt`, one operator a line: `Type(input, optional?, dynamic*, positions#) -> (outputs) {attr: type=default; ...}`.
//! A default is JSON; an attribute without one is required (or its default is not a plain value).
//!
//! A `#` after an input's name says that GE declares it as holding positions or sizes (reduction axes, permutations, shapes, repeats, indices):
//! a Python number given there becomes an int64 constant, whatever the data beside it is.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::proto::{AttrDef, ListListInt, ListValue, Value};

static TABLE: LazyLock<FxHashMap<&'static str, GeOperator>> =
    LazyLock::new(|| include_str!("operators.txt").lines().filter_map(parse).map(|o| (o.name, o)).collect());

/// How an input is fed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feed {
    /// By exactly one tensor.
    Required,
    /// By one tensor or none.
    Optional,
    /// By any number of tensors.
    Dynamic,
}

/// An input slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Name.
    pub name: &'static str,
    /// How it is fed.
    pub feed: Feed,
    /// Whether it holds positions or sizes.
    pub index: bool,
}

/// An attribute.
#[derive(Clone, PartialEq, Debug)]
pub struct Attribute {
    /// Name.
    pub name: &'static str,
    /// `int`, `float`, `bool`, `str`, `dtype`, and lists of them.
    pub kind: &'static str,
    /// What it is where nothing is written.
    pub default: Option<AttrDef>,
}

/// A GE operator as registered.
#[derive(Clone, PartialEq, Debug)]
pub struct GeOperator {
    /// Type.
    pub name: &'static str,
    /// Inputs in slot order.
    pub inputs: Vec<Slot>,
    /// Outputs; a name and whether there are any number of them.
    pub outputs: Vec<(&'static str, bool)>,
    /// Attributes.
    pub attributes: Vec<Attribute>,
}

impl GeOperator {
    /// Returns the attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

/// Returns the operator of that type.
pub fn operator(name: &str) -> Option<&'static GeOperator> {
    TABLE.get(name)
}

/// Returns how many operators are known.
pub fn count() -> usize {
    TABLE.len()
}

fn between(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once(open)?;
    rest.split_once(close)
}

fn parse(line: &'static str) -> Option<GeOperator> {
    let (name, _) = line.split_once('(')?;
    let (inputs, rest) = between(line, '(', ')')?;
    let (outputs, rest) = between(rest, '(', ')')?;
    let attributes = rest.trim().strip_prefix('{').and_then(|r| r.strip_suffix('}')).unwrap_or("");
    Some(GeOperator {
        name,
        inputs: inputs.split(", ").filter(|s| !s.is_empty()).map(slot).collect(),
        outputs: outputs
            .split(", ")
            .filter(|s| !s.is_empty())
            .map(|o| (o.trim_end_matches('*'), o.ends_with('*')))
            .collect(),
        attributes: attributes.split("; ").filter(|s| !s.is_empty()).filter_map(attribute).collect(),
    })
}

fn slot(text: &'static str) -> Slot {
    let feed = if text.contains('?') {
        Feed::Optional
    } else if text.contains('*') {
        Feed::Dynamic
    } else {
        Feed::Required
    };
    Slot { name: text.trim_end_matches(['?', '*', '#']), feed, index: text.contains('#') }
}

fn attribute(text: &'static str) -> Option<Attribute> {
    let (name, kind) = text.split_once(": ")?;
    let (kind, default) = match kind.split_once('=') {
        Some((kind, default)) => (kind, serde_json::from_str(default).ok().and_then(|d| value(kind, &d))),
        None => (kind, None),
    };
    Some(Attribute { name, kind, default })
}

#[allow(clippy::cast_possible_truncation)] // Attributes are single floats; defaults are written in decimal.
fn value(kind: &str, json: &serde_json::Value) -> Option<AttrDef> {
    let list = || json.as_array();
    let value = match kind {
        "int" => Value::I(json.as_i64()?),
        "dtype" => Value::Dt(json.as_i64()?),
        "float" => Value::F(json.as_f64()? as f32),
        "bool" => Value::B(json.as_bool()?),
        "str" => Value::S(json.as_str()?.as_bytes().to_vec()),
        "ints" => Value::List(ListValue {
            i: list()?.iter().map(serde_json::Value::as_i64).collect::<Option<_>>()?,
            val_type: 2,
            ..Default::default()
        }),
        "floats" => Value::List(ListValue {
            f: list()?.iter().map(|v| v.as_f64().map(|v| v as f32)).collect::<Option<_>>()?,
            val_type: 3,
            ..Default::default()
        }),
        "bools" => Value::List(ListValue { val_type: 4, ..Default::default() }),
        "dtypes" => Value::List(ListValue { val_type: 10, ..Default::default() }),
        "strs" => Value::List(ListValue::default()),
        "intss" => Value::ListListInt(ListListInt::default()),
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_an_operator() {
        assert_eq!(count(), include_str!("operators.txt").lines().count());
        assert!(count() > 1700);
    }

    #[test]
    fn slots_say_how_they_are_fed() {
        let mat_mul = operator("MatMul").unwrap();
        let feeds: Vec<_> = mat_mul.inputs.iter().map(|s| (s.name, s.feed)).collect();
        assert_eq!(feeds, [("x1", Feed::Required), ("x2", Feed::Required), ("bias", Feed::Optional)]);
        assert_eq!(operator("ConcatV2").unwrap().inputs[0].feed, Feed::Dynamic);
        assert!(operator("Fill").unwrap().inputs[0].index);
        assert!(!operator("Fill").unwrap().inputs[1].index);
    }

    #[test]
    fn attributes_know_their_defaults() {
        let softmax = operator("SoftmaxV2").unwrap();
        assert_eq!(
            softmax.attribute("axes").unwrap().default,
            Some(Value::List(ListValue { i: vec![-1], val_type: 2, ..Default::default() }).into())
        );
        assert_eq!(operator("Cast").unwrap().attribute("dst_type").unwrap().default, None);
        assert_eq!(operator("LayerNormV4").unwrap().attribute("epsilon").unwrap().default, Some(Value::F(1e-5).into()));
    }
}
