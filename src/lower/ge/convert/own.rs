//! A user's own operator that nobody described: by its name and its counts, where the GE operator of that name leaves no choice.
//!
//! The name in CamelCase is that of a GE operator; tensors stand for its inputs in order, as many as it has; other arguments are
//! given by name and are attributes of it; results are as many as it has outputs. Anything else is refused: a line in an operator
//! file then says what was meant.

use super::Made;
use super::args::attribute;
use super::cx::Cx;
use crate::lower::ge::builder::{In, Refusal};
use crate::lower::ge::operators::{self, Feed, GeOperator};
use crate::lower::ge::value::Value;

/// Namespaces whose operators are known one by one.
const KNOWN: [&str; 8] = ["aten", "prims", "npu", "air", "_operator", "operator", "higher_order", "_c10d_functional"];

/// Returns the GE operator whose name an operator has.
pub(in crate::lower::ge) fn operator_of(target: &str) -> Option<&'static GeOperator> {
    let mut parts = target.split('.');
    let (namespace, name) = (parts.next()?, parts.next()?);
    if KNOWN.contains(&namespace) {
        return None;
    }
    let camel: String = name.split('_').filter(|p| !p.is_empty()).flat_map(capital).collect();
    operators::operator(&camel)
}

fn capital(part: &str) -> impl Iterator<Item = char> + '_ {
    let mut chars = part.chars();
    chars.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(chars)
}

/// Converts a call by name and counts; `params` are the operator's parameters, where its schema is known.
pub(in crate::lower::ge) fn convert(cx: &mut Cx, known: &'static GeOperator, params: &[String]) -> Made {
    let mut inputs: Vec<In> = Vec::new();
    let mut attrs = Vec::new();
    let named = cx.args.iter().enumerate().map(|(i, v)| (params.get(i).cloned(), v));
    let named: Vec<(Option<String>, &Value)> =
        named.chain(cx.kwargs.iter().map(|(k, v)| (Some(k.clone()), v))).collect();
    for (name, value) in named {
        let is_attribute = name.as_deref().is_some_and(|n| known.attribute(n).is_some());
        match (value, name) {
            (value, Some(name)) if is_attribute => {
                attrs.extend(attribute(&name, value)?.map(|a| (name, a)));
            }
            (Value::Tensor(t), _) => inputs.push((*t).into()),
            (Value::None, _) => inputs.push(In::None),
            (Value::List(items), _) if items.iter().any(|v| v.tensor().is_some()) => inputs.push(In::try_from(value)?),
            (_, name) => {
                let what = name.unwrap_or_else(|| "without a name".into());
                return Err(Refusal(format!("GE's {} has no attribute for the argument {what}", known.name)));
            }
        }
    }
    let needed = known.inputs.iter().filter(|s| s.feed == Feed::Required).count();
    if inputs.len() > known.inputs.len() || inputs.len() < needed {
        return Err(Refusal(format!(
            "it is called with {} tensors, where GE's {} has {} inputs; a `lowering` in an operator file says which is which",
            inputs.len(),
            known.name,
            known.inputs.len()
        )));
    }
    if known.outputs.iter().any(|(_, any)| *any) || cx.result_count() > known.outputs.len() {
        return Err(Refusal(format!("GE's {} has other outputs than the operator has results", known.name)));
    }
    let attrs: Vec<(&str, _)> = attrs.iter().map(|(n, a)| (n.as_str(), a.clone())).collect();
    cx.ge(known.name, inputs, &attrs)
}
