//! What the host says of the calls of one graph.

use airlock_pass::{Effects, EffectsTable, SideEffect};

/// What a call means for merging.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The same arguments give the same value, and nothing else happens.
    Pure,
    /// Twice is not once: random draws, checks, prints, what happens in bodies.
    Single,
    /// Nothing is merged across it: what it writes would be read too early, or work would change streams.
    Barrier,
}

impl Kind {
    pub fn of(effects: &Effects) -> Kind {
        match effects.side {
            SideEffect::Opaque | SideEffect::Stream | SideEffect::Record => Kind::Barrier,
            _ if !effects.writes.is_empty() => Kind::Barrier,
            _ if effects.pure => Kind::Pure,
            _ => Kind::Single,
        }
    }
}

/// The part of a table that is about the nodes of one graph.
pub struct Facts<'t> {
    table: &'t EffectsTable,
    first: usize,
    kinds: Vec<Kind>,
}

impl<'t> Facts<'t> {
    /// The facts of a graph whose first node is at `first` in the table.
    pub fn new(table: &'t EffectsTable, first: usize) -> Facts<'t> {
        Facts { table, first, kinds: table.distinct().iter().map(Kind::of).collect() }
    }

    pub fn effects(&self, index: usize) -> &'t Effects {
        self.table.at(self.first + index)
    }

    pub fn kind(&self, index: usize) -> Kind {
        self.kinds[self.table.position(self.first + index)]
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use airlock_pass::{SharedOperand, Sharing};

    /// What a call of two tensors does that only computes.
    pub fn pure() -> Effects {
        Effects {
            parameters: vec!["self".into(), "other".into()],
            pure: true,
            reads: vec![0, 1],
            writes: Vec::new(),
            results: vec![Vec::new()],
            draws: false,
            may_raise: true,
            side: SideEffect::None,
            commutes: false,
        }
    }

    /// A view of its first operand.
    pub fn view() -> Effects {
        Effects { results: vec![vec![SharedOperand { parameter: 0, how: Sharing::View }]], ..pure() }
    }

    /// A write to its first operand, which is its result.
    pub fn write() -> Effects {
        let own = SharedOperand { parameter: 0, how: Sharing::Same };
        Effects { pure: false, writes: vec![0], results: vec![vec![own]], ..pure() }
    }

    #[test]
    fn arithmetic_and_views_are_pure_though_they_may_raise() {
        assert_eq!(Kind::of(&pure()), Kind::Pure);
        assert_eq!(Kind::of(&view()), Kind::Pure);
    }

    #[test]
    fn random_draws_and_checks_are_never_one() {
        assert_eq!(Kind::of(&Effects { pure: false, draws: true, ..pure() }), Kind::Single);
        assert_eq!(Kind::of(&Effects { pure: false, side: SideEffect::Assert, ..pure() }), Kind::Single);
    }

    #[test]
    fn nothing_is_merged_across_writes_streams_and_what_nobody_described() {
        assert_eq!(Kind::of(&write()), Kind::Barrier);
        for side in [SideEffect::Stream, SideEffect::Record, SideEffect::Opaque] {
            assert_eq!(Kind::of(&Effects { pure: false, side, ..pure() }), Kind::Barrier);
        }
    }
}
