//! Which rule types which operator: the families' tables, and rules that follow from a schema alone.
//!
//! A schema alone says the type where nothing is returned, and where every result is an argument that is written (`add_`).

use super::call::Call;
use super::effects::{Effects, Sharing};
use super::error::Fault;
use super::operator::Rule;
use super::schema::Schema;
use super::*;
use crate::graph::{Arg, ValueType};

/// A rule and the operators that it types.
pub(super) type Entry = (Rule, &'static [&'static str]);

/// Every entry of every family. A later one wins.
pub(super) fn families() -> impl Iterator<Item = &'static Entry> {
    [
        pointwise::RULES,
        compare::RULES,
        create::RULES,
        view::RULES,
        split::RULES,
        reduce::RULES,
        sort::RULES,
        matmul::RULES,
        norm::RULES,
        conv::RULES,
        pool::RULES,
        movement::RULES,
        index::RULES,
        random::RULES,
        attention::RULES,
        symbolic::RULES,
        stream::RULES,
        control::RULES,
        npu::RULES,
        npu_cache::RULES,
        foreach::RULES,
        gradient::RULES,
    ]
    .into_iter()
    .flatten()
}

/// Returns the rule that a schema implies.
pub(super) fn default_rule(schema: &Schema, effects: &Effects) -> Option<Rule> {
    let in_place =
        |r: &smallvec::SmallVec<_>| matches!(r.as_slice(), [effects::ReturnAlias { sharing: Sharing::Same, .. }]);
    match (&*schema.returns, &*effects.returns) {
        ([], _) => Some(nothing),
        ([_], [one]) if in_place(one) => Some(its_argument),
        _ => None,
    }
}

fn nothing(_: &mut Call<'_>) -> Result<ValueType, Fault> {
    Ok(ValueType::None)
}

/// The written argument itself.
fn its_argument(c: &mut Call<'_>) -> Result<ValueType, Fault> {
    let returned = c.operator.effects.returns.first().and_then(|r| r.first()).map_or(0, |r| r.param);
    match c.arg(returned) {
        Arg::Node(n) => {
            c.tensor(returned)?;
            Ok(c.view.ty(*n).clone())
        }
        other => Err(c.wrong_kind(returned, "a tensor", other)),
    }
}
