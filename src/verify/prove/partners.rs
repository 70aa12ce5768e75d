//! Questions of one graph that the other asks of equal operands, where structure alone does not say so.
//!
//! Promises: a partner asks the same: its form is the same, and its operands are shown to be equal, by rules too; how many are tried is
//! bounded, the one of the same name first.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::graph::NodeId;
use crate::term::store::ValueId;
use crate::term::term::{Form, Side};
use crate::verify::functional::values::Functional;
use crate::verify::prove::congruence::Congruence;
use crate::verify::prove::widen;

/// What one graph asks.
#[derive(Debug)]
pub struct Partners<'a> {
    by_form: FxHashMap<Arc<Form>, Vec<ValueId>>,
    by_name: FxHashMap<&'a str, ValueId>,
}

impl<'a> Partners<'a> {
    /// Sorts what a graph asks.
    pub fn of(f: &mut Functional<'a>, side: Side, all: &[(NodeId, ValueId)]) -> Self {
        let mut by_form: FxHashMap<Arc<Form>, Vec<ValueId>> = FxHashMap::default();
        for (_, value) in all {
            if let Some(term) = f.term(*value) {
                by_form.entry(term.form).or_default().push(*value);
            }
        }
        let view = f.view(side);
        Partners { by_form, by_name: all.iter().map(|(node, value)| (view.name(*node), *value)).collect() }
    }

    /// Returns whether a question of the other graph, asked by a node of that name, is one of these.
    pub fn ask(&self, f: &mut Functional<'a>, c: &mut Congruence, name: &str, value: ValueId) -> bool {
        let Some(term) = f.term(value) else { return false };
        let alike = self.by_form.get(&term.form).map_or(&[][..], Vec::as_slice);
        let named = self.by_name.get(name).filter(|_| !alike.is_empty());
        let tried = f.budget.partners;
        named.into_iter().chain(alike).take(tried).any(|other| widen::equal_exactly(f, c, value, *other))
    }
}
