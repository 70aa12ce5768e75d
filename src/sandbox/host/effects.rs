//! What calls do, in the contract's words: equal effects once, and a position for each call that was asked for.

use rustc_hash::FxHashMap;

use super::super::bindings::airlock::pass::graph as wit;
use crate::analysis::{CallEffects, SharedResult};
use crate::ops::{Sharing, SideEffect};

/// Effects that were found, each once.
#[derive(Debug, Default)]
pub(super) struct Table<'a> {
    positions: Vec<u32>,
    distinct: Vec<wit::Effects>,
    known: FxHashMap<CallEffects<'a>, u32>,
}

impl<'a> Table<'a> {
    /// Adds the effects of the next call.
    pub(super) fn push(&mut self, effects: CallEffects<'a>) {
        let Self { positions, distinct, known } = self;
        let position = match known.get(&effects) {
            Some(position) => *position,
            None => {
                let position = u32::try_from(distinct.len()).unwrap_or(u32::MAX);
                distinct.push(record(&effects));
                known.insert(effects, position);
                position
            }
        };
        positions.push(position);
    }

    /// Returns the table that the guest is given.
    pub(super) fn finish(self) -> wit::EffectsTable {
        wit::EffectsTable { positions: self.positions, distinct: self.distinct }
    }
}

fn record(effects: &CallEffects<'_>) -> wit::Effects {
    let shared = |s: &SharedResult| wit::SharedOperand {
        parameter: s.parameter,
        how: match s.how {
            Sharing::Same => wit::Sharing::Same,
            Sharing::View => wit::Sharing::View,
            Sharing::Maybe => wit::Sharing::Maybe,
        },
    };
    wit::Effects {
        parameters: effects.parameters.iter().map(ToString::to_string).collect(),
        pure: effects.is_pure,
        reads: effects.reads.to_vec(),
        writes: effects.writes.to_vec(),
        results: effects.results.iter().map(|r| r.iter().map(shared).collect()).collect(),
        draws: effects.draws,
        may_raise: effects.may_raise,
        side: side(effects),
        commutes: effects.commutes,
    }
}

fn side(effects: &CallEffects<'_>) -> wit::SideEffect {
    match effects.side {
        _ if effects.is_opaque => wit::SideEffect::Opaque,
        None => wit::SideEffect::None,
        Some(SideEffect::Assert) => wit::SideEffect::Assert,
        Some(SideEffect::Print) => wit::SideEffect::Print,
        Some(SideEffect::Collective) => wit::SideEffect::Collective,
        Some(SideEffect::Control) => wit::SideEffect::Control,
        Some(SideEffect::Stream) => wit::SideEffect::Stream,
        Some(SideEffect::Record) => wit::SideEffect::Record,
        Some(SideEffect::Prefetch) => wit::SideEffect::Prefetch,
    }
}
