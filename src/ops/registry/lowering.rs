//! What an operator becomes on the NPU, as an operator file says it: one GE operator that takes the arguments.
//!
//! `Kind(inputs; attributes) -> (outputs)`. Inputs name parameters in slot order, `-` leaves a slot unfed. An attribute is `name` (the
//! argument of that name), `name=parameter`, or either with `|default` for what was not given; `name=|value` is a constant. Outputs
//! name the GE operator's in the order of the results; without them they are its outputs in order.
//! Promises: every parameter that is named is one of the schema. Leaves to `lower` whether GE has that operator, and making it.

use thiserror::Error;

use crate::ops::schema::Schema;

/// Why a lowering cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LoweringError {
    /// Another form.
    #[error("`{text}` is not of the form `Kind(inputs; attributes) -> (outputs)`")]
    Form {
        /// As written.
        text: String,
    },
    /// A name that the schema does not have.
    #[error("`{name}` is no parameter of the schema; it has {known}")]
    Parameter {
        /// As written.
        name: String,
        /// The parameters.
        known: String,
    },
    /// More or fewer outputs than the schema has results.
    #[error("{found} outputs for {wanted} results")]
    Outputs {
        /// How many are named.
        found: usize,
        /// How many results there are.
        wanted: usize,
    },
}

/// The GE operator of a user's operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lowering {
    /// Parameters in order, separated by blanks.
    pub params: Box<str>,
    /// `Kind(inputs; attributes)`.
    pub line: Box<str>,
    /// Names of the outputs that are the results; empty: all of them in order.
    pub outputs: Box<[Box<str>]>,
}

impl Lowering {
    /// Reads a lowering and holds it against the schema.
    pub fn parse(text: &str, schema: &Schema) -> Result<Lowering, LoweringError> {
        let bad = || LoweringError::Form { text: text.into() };
        let (line, outputs) = text.split_once("->").map_or((text, None), |(l, o)| (l, Some(o)));
        let (line, outputs) = (line.trim(), outputs.map(str::trim));
        let (kind, rest) = line.split_once('(').ok_or_else(bad)?;
        let rest = rest.strip_suffix(')').ok_or_else(bad)?;
        let is_name = |n: &str| !n.is_empty() && n.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_name(kind) || rest.contains(['(', ')']) {
            return Err(bad());
        }
        let (inputs, attributes) = rest.split_once(';').unwrap_or((rest, ""));
        let named = inputs.split(',').map(str::trim).filter(|n| !n.is_empty() && *n != "-");
        let sources = attributes.split(',').map(str::trim).filter(|a| !a.is_empty()).map(source);
        for name in named.chain(sources).filter(|n| !n.is_empty()) {
            if schema.param_index(name).is_none() {
                let known = schema.params.iter().map(|p| &*p.name).collect::<Vec<_>>().join(", ");
                return Err(LoweringError::Parameter { name: name.into(), known });
            }
        }
        let outputs: Box<[Box<str>]> = match outputs {
            None => Box::default(),
            Some(list) => {
                let list = list.strip_prefix('(').and_then(|l| l.strip_suffix(')')).ok_or_else(bad)?;
                list.split(',').map(str::trim).filter(|o| !o.is_empty()).map(Into::into).collect()
            }
        };
        if !outputs.is_empty() && outputs.len() != schema.returns.len() {
            return Err(LoweringError::Outputs { found: outputs.len(), wanted: schema.returns.len() });
        }
        let params = schema.params.iter().map(|p| &*p.name).collect::<Vec<_>>().join(" ").into();
        Ok(Lowering { params, line: line.into(), outputs })
    }
}

/// The parameter from which an attribute comes; empty for a constant.
fn source(attribute: &str) -> &str {
    let attribute = attribute.split('|').next().unwrap_or("");
    attribute.split_once('=').map_or(attribute, |(_, from)| from).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Lowering, LoweringError> {
        let schema = Schema::parse("demo::norm(Tensor x, Tensor gamma, float eps=1e-6) -> (Tensor, Tensor)").unwrap();
        Lowering::parse(text, &schema)
    }

    #[test]
    fn a_lowering_names_parameters_and_outputs() {
        let l = parse("RmsNorm(x, -, gamma; epsilon=eps, mode=|1) -> (y, rstd)").unwrap();
        assert_eq!((&*l.params, &*l.line), ("x gamma eps", "RmsNorm(x, -, gamma; epsilon=eps, mode=|1)"));
        assert_eq!(l.outputs.len(), 2);
    }

    #[test]
    fn what_does_not_fit_the_schema_is_refused() {
        assert!(matches!(parse("RmsNorm(x, beta)"), Err(LoweringError::Parameter { .. })));
        assert!(matches!(parse("RmsNorm(x; epsilon)"), Err(LoweringError::Parameter { .. })));
        assert!(matches!(parse("RmsNorm(x) -> (y)"), Err(LoweringError::Outputs { found: 1, wanted: 2 })));
        for text in ["RmsNorm", "RmsNorm(x", "(x)", "Rms Norm(x)", "A(B(x))", "A(x) -> y"] {
            assert!(matches!(parse(text), Err(LoweringError::Form { .. })), "{text}");
        }
    }
}
