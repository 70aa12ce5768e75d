//! Which values may be written, and which the graph returns: both also through views.
//!
//! One walk backwards: what an operator writes, and what the output returns, is marked; an operator that may give a view
//! hands its marks on to what it views.

use airlock_pass::{NodeKind, Snapshot};

use crate::purity::{Purity, may_alias};

pub struct Aliases {
    marks: Vec<Mark>,
}

#[derive(Clone, Copy, Default)]
struct Mark {
    written: bool,
    returned: bool,
}

impl Aliases {
    pub fn of(snapshot: &Snapshot, purity: &[Purity]) -> Aliases {
        let mut marks = vec![Mark::default(); snapshot.len()];
        let aliasing: Vec<bool> = snapshot.texts().iter().map(|target| may_alias(target)).collect();
        for index in (0..snapshot.len()).rev() {
            let node = snapshot.at(index);
            let own = marks[index];
            let what = purity.get(node.target_id()).copied().unwrap_or(Purity::Unknown);
            let views = node.kind() == NodeKind::Call && aliasing.get(node.target_id()).copied().unwrap_or(true);
            for (position, input) in node.input_nodes().enumerate() {
                let Some(input) = snapshot.get(input) else { continue };
                let mark = &mut marks[input.index()];
                match node.kind() {
                    NodeKind::Output => mark.returned = true,
                    NodeKind::Call if what == Purity::Unknown => mark.written = true,
                    NodeKind::Call if what == Purity::WritesFirst && position == 0 => mark.written = true,
                    _ => {}
                }
                if views {
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
