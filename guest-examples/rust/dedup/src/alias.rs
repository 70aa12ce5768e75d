//! Which values may be written, and which the graph returns: both also through views.
//!
//! One walk backwards: what a call writes, and what the output returns, is marked; a call whose result may lie in an
//! operand's memory hands its marks on to that operand.

use airlock_pass::{NodeKind, Snapshot};

use crate::facts::Facts;

pub struct Aliases {
    marks: Vec<Mark>,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    written: bool,
    returned: bool,
}

impl Aliases {
    pub fn of(snapshot: &Snapshot, facts: &Facts<'_>) -> Aliases {
        let mut marks = vec![Mark::default(); snapshot.len()];
        for index in (0..snapshot.len()).rev() {
            let node = snapshot.at(index);
            let own = marks[index];
            let effects = facts.effects(index);
            for (parameter, input) in node.inputs_by_parameter(effects) {
                let Some(input) = snapshot.get(input) else { continue };
                let mark = &mut marks[input.index()];
                mark.returned |= node.kind() == NodeKind::Output;
                mark.written |= effects.may_write(parameter);
                if effects.may_share(parameter) {
                    mark.written |= own.written;
                    mark.returned |= own.returned;
                }
            }
        }
        Aliases { marks }
    }

    pub fn may_be_written(&self, index: usize) -> bool {
        self.marks.get(index).is_none_or(|mark| mark.written)
    }

    /// Whether the two may become one.
    pub fn may_merge(&self, a: usize, b: usize) -> bool {
        match (self.marks.get(a), self.marks.get(b)) {
            (Some(a), Some(b)) => !(a.returned && b.returned),
            _ => false,
        }
    }

    /// What `from` was used for is now `into`'s use.
    pub fn merge(&mut self, from: usize, into: usize) {
        let returned = self.marks.get(from).is_some_and(|mark| mark.returned);
        if let Some(mark) = self.marks.get_mut(into) {
            mark.returned |= returned;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::{pure, view, write};
    use airlock_pass::bindings::airlock::pass::graph::EffectsTable as Raw;
    use airlock_pass::{Columns, EffectsTable};

    /// x; neg(x); view(neg); add_(view, x); output(add_). Node `i` has the id `i`.
    fn marks() -> Aliases {
        let columns = Columns {
            ids: vec![0, 1, 2, 3, 4],
            kinds: vec![0, 1, 1, 1, 3],
            targets: vec![0; 5],
            starts: vec![0, 0, 1, 2, 4, 5],
            operands: vec![0, 1, 2, 0, 3],
            kw_starts: vec![0; 6],
            kw_names: vec![],
            kw_operands: vec![],
            literals: vec![],
            texts: vec!["t".into()],
        };
        let table =
            EffectsTable::from_raw(Raw { positions: vec![0, 0, 1, 2, 0], distinct: vec![pure(), view(), write()] });
        Aliases::of(&Snapshot::from_columns(columns), &Facts::new(&table, 0))
    }

    #[test]
    fn a_value_that_is_written_through_a_view_is_written() {
        let aliases = marks();
        assert!(aliases.may_be_written(2) && aliases.may_be_written(1));
        assert!(!aliases.may_be_written(0), "what is added is read");
    }

    #[test]
    fn a_value_that_is_returned_through_a_view_is_returned() {
        let aliases = marks();
        assert!(!aliases.may_merge(1, 3) && aliases.may_merge(0, 3));
    }
}
