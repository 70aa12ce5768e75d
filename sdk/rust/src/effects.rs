//! What calls do beside computing their results, as the host knows it: a pass asks instead of keeping lists of operators.

use crate::bindings::airlock::pass::graph as raw;
use crate::bindings::airlock::pass::graph::{Effects, SharedOperand, SideEffect};

/// What several calls do, in the order in which they were asked for.
///
/// Equal effects are there once: what a pass works out of one, it works out once for each of [`distinct`](Self::distinct)
/// and looks up by [`position`](Self::position).
#[derive(Clone, Debug, PartialEq)]
pub struct EffectsTable {
    table: raw::EffectsTable,
}

impl EffectsTable {
    /// A table of effects, and for each call its position among them.
    ///
    /// # Panics
    ///
    /// Where a position is none of the table.
    pub fn from_raw(table: raw::EffectsTable) -> EffectsTable {
        let last = table.positions.iter().max();
        assert!(last.is_none_or(|last| (*last as usize) < table.distinct.len()), "effects {last:?} of a table");
        EffectsTable { table }
    }

    /// How many calls it is about.
    pub fn len(&self) -> usize {
        self.table.positions.len()
    }

    /// Whether it is about none.
    pub fn is_empty(&self) -> bool {
        self.table.positions.is_empty()
    }

    /// What the call at an index does.
    ///
    /// # Panics
    ///
    /// Where there is none, as with a slice.
    pub fn at(&self, index: usize) -> &Effects {
        &self.table.distinct[self.position(index)]
    }

    /// What each call does, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Effects> + ExactSizeIterator {
        self.table.positions.iter().map(|position| &self.table.distinct[*position as usize])
    }

    /// Where in [`distinct`](Self::distinct) the effects of the call at an index are.
    ///
    /// # Panics
    ///
    /// Where there is no such call, as with a slice.
    pub fn position(&self, index: usize) -> usize {
        self.table.positions[index] as usize
    }

    /// The effects, each once.
    pub fn distinct(&self) -> &[Effects] {
        &self.table.distinct
    }
}

impl Effects {
    /// Whether nobody described the operator: anything may happen.
    pub fn is_opaque(&self) -> bool {
        self.side == SideEffect::Opaque
    }

    /// The position of a keyword argument among the parameters.
    pub fn parameter(&self, keyword: &str) -> Option<u32> {
        self.parameters.iter().position(|name| name == keyword).map(|position| position as u32)
    }

    /// Whether it may write the memory of an operand.
    pub fn may_write(&self, parameter: u32) -> bool {
        self.is_opaque() || self.writes.contains(&parameter)
    }

    /// Whether some result may lie in the memory of an operand.
    pub fn may_share(&self, parameter: u32) -> bool {
        self.is_opaque() || self.results.iter().flatten().any(|operand| operand.parameter == parameter)
    }

    /// The operands whose memory a result may lie in; none where it is fresh. Of an [opaque](Self::is_opaque) target, which
    /// has no parameters to name, these are none too.
    pub fn result(&self, index: usize) -> &[SharedOperand] {
        let entry = self.results.get(index).or(self.results.last());
        entry.map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Columns, Node, Sharing, Snapshot};

    fn pure(parameters: &[&str]) -> Effects {
        Effects {
            parameters: parameters.iter().map(|name| name.to_string()).collect(),
            pure: true,
            reads: (0..parameters.len() as u32).collect(),
            writes: Vec::new(),
            results: vec![Vec::new()],
            draws: false,
            may_raise: false,
            side: SideEffect::None,
            commutes: false,
        }
    }

    fn copy_() -> Effects {
        let own = SharedOperand { parameter: 0, how: Sharing::Same };
        Effects { pure: false, writes: vec![0], results: vec![vec![own]], ..pure(&["self", "src"]) }
    }

    #[test]
    fn each_call_finds_its_effects() {
        let table = raw::EffectsTable { positions: vec![1, 0, 1], distinct: vec![pure(&["self"]), copy_()] };
        let table = EffectsTable::from_raw(table);
        assert_eq!(table.iter().map(|e| e.pure).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!((table.len(), table.position(1), table.distinct().len()), (3, 0, 2));
        assert_eq!(table.at(2), &copy_());
    }

    #[test]
    fn an_operand_is_written_and_shared_by_its_parameter() {
        let copy = copy_();
        assert!(copy.may_write(0) && !copy.may_write(1) && copy.may_share(0) && !copy.may_share(1));
        assert_eq!((copy.parameter("src"), copy.parameter("out")), (Some(1), None));
        // A list that is one result has one entry for all its items.
        assert_eq!(copy.result(3), copy.result(0));
        let opaque = Effects { side: SideEffect::Opaque, results: Vec::new(), ..pure(&[]) };
        assert!(opaque.is_opaque() && opaque.may_write(7) && opaque.may_share(7) && opaque.result(0).is_empty());
    }

    #[test]
    fn a_snapshot_names_inputs_by_parameter() {
        // x; y; copy_(x, src = y)
        let columns = Columns {
            ids: vec![10, 11, 12],
            kinds: vec![0, 0, 1],
            targets: vec![0, 1, 2],
            starts: vec![0, 0, 0, 1],
            operands: vec![10],
            kw_starts: vec![0, 0, 0, 1],
            kw_names: vec![3],
            kw_operands: vec![11],
            literals: vec![],
            texts: ["x", "y", "aten.copy_.default", "src"].map(String::from).to_vec(),
        };
        let snapshot = Snapshot::from_columns(columns);
        let inputs: Vec<(u32, Node)> = snapshot.at(2).inputs_by_parameter(&copy_()).collect();
        assert_eq!(inputs, [(0, Node::from_id(10)), (1, Node::from_id(11))]);
    }
}
