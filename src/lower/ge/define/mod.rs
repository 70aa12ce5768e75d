//! What GE operators compute, in PyTorch's operators.
//!
//! Keyed by GE operator; written from the prototypes: slots, attributes, their defaults and their meaning to GE. Nothing here knows how a
//! graph was lowered, and nothing is shared with `convert`.
//!
//! - `fields`: operators that nobody defined, held to the call of which they were made; `held`: whether they are made of it, `forms`: of which arguments, and how;
//! - `exact.txt`: a GE operator that is one operator of PyTorch, argument by argument;
//! - a file a family: what takes more than that;
//! - `build`, `call`, `value`: the graph that is made, the operator that is defined, what its edges carry.
//!
//! Promises: an input that is fed, or an attribute that is not its default, is read by the definition or refused; operands have the types that
//! GE demands. What nobody wrote down, or wrote down in doubt, has no definition.

pub(super) mod build;
mod call;
mod exact;
pub(super) mod fields;
mod forms;
mod held;
mod value;

mod create;
mod dense;
mod foreach;
mod fourier;
mod fused;
mod index;
mod linalg;
mod loss;
mod norm;
mod numbers;
mod pointwise;
mod pool;
mod put;
mod quant;
mod reduce;
mod shape;
mod told;
mod write;

pub(super) use build::{Build, Literals};
pub(super) use call::Call;
pub(super) use pointwise::dropped;
pub(super) use told::TELL;
pub(super) use value::{Drawing, Numbers, Packed, Value, Waiting};

use super::operators;
use super::written::WrittenOp;

/// Why an operator, or a form of it, has no definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undefined(pub String);

/// What a definition gives: a value an output; none where an output has no meaning in FX.
pub type Made = Result<Vec<Option<Value>>, Undefined>;

/// What an operator computes.
pub type Rule = fn(&mut Call<'_, '_>) -> Made;

/// Definitions of a family, by GE operator.
pub type Table = &'static [(&'static str, Rule)];

const FAMILIES: &[Table] = &[
    pointwise::TABLE,
    create::TABLE,
    shape::TABLE,
    reduce::TABLE,
    dense::TABLE,
    pool::TABLE,
    norm::TABLE,
    index::TABLE,
    linalg::TABLE,
    loss::TABLE,
    quant::TABLE,
    foreach::TABLE,
    fourier::TABLE,
    fused::TABLE,
    write::TABLE,
];

fn undefined<T>(why: impl Into<String>) -> Result<T, Undefined> {
    Err(Undefined(why.into()))
}

/// One tensor as the only output.
fn one(value: impl Into<Value>) -> Made {
    Ok(vec![Some(value.into())])
}

fn rule(kind: &str) -> Option<Rule> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    static RULES: LazyLock<HashMap<&'static str, Rule>> =
        LazyLock::new(|| FAMILIES.iter().flat_map(|f| f.iter().copied()).collect());
    RULES.get(kind).copied()
}

/// Returns the GE operators that have a definition.
pub fn defined() -> Vec<&'static str> {
    let mut all: Vec<&str> = FAMILIES.iter().flat_map(|f| f.iter().map(|(k, _)| *k)).chain(exact::kinds()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Computes a GE operator of what feeds it.
pub fn define(b: &mut Build<'_>, op: &WrittenOp<'_>, inputs: Vec<Option<Value>>) -> Made {
    // TorchAir writes these three otherwise than GE's list does.
    let kind = match op.r#type {
        "ForeachAcos" => "ForeachACos",
        "ForeachAsin" => "ForeachASin",
        "ForeachAtan" => "ForeachATan",
        kind => kind,
    };
    let Some(known) = operators::operator(kind) else {
        return undefined("GE's list of operators does not have it");
    };
    let mut call = Call::bind(b, op, known, inputs)?;
    let made = match (rule(kind), exact::line(kind)) {
        (Some(rule), _) => rule(&mut call)?,
        (None, Some(line)) => exact::make(&mut call, line)?,
        (None, None) => return undefined("it has no definition"),
    };
    call.all_was_asked()?;
    if made.len() < op.output_desc.len() {
        return undefined(format!("{} outputs, of which {} are defined", op.output_desc.len(), made.len()));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_is_of_an_operator_of_ge_and_there_is_one() {
        let mut all: Vec<&str> =
            FAMILIES.iter().flat_map(|f| f.iter().map(|(k, _)| *k)).chain(exact::kinds()).collect();
        let count = all.len();
        all.sort_unstable();
        let twice: Vec<_> = all.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
        assert!(twice.is_empty(), "{twice:?}");
        let strange: Vec<_> = all.iter().filter(|k| operators::operator(k).is_none()).collect();
        assert!(strange.is_empty(), "{strange:?}");
        assert_eq!(count, defined().len());
    }
}
