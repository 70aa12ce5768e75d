//! What a call sees of memory that no element shows: which operands lie in one storage, and how they lie there.
//!
//! Promises: (1) two calls that may write have equal terms only if the same operands share memory, in the same parts; (2) an
//! operator that sees strides, offsets or the memory around its operand has equal terms only where these are equal too.

use rustc_hash::FxHashMap;

use super::functional::Functional;
use super::store::{Key, ValueId};
use super::term::Token;
use crate::analysis::{Place, place_of, tensor_operands, type_of};
use crate::ops::Bound;

/// Returns whether an operator's result depends on how its operand lies in memory.
pub fn sees_layout(name: &str) -> bool {
    let name = name.trim_end_matches("_copy").trim_end_matches("_scatter").trim_end_matches('_');
    matches!(
        name,
        "as_strided"
            | "sym_stride"
            | "stride"
            | "sym_storage_offset"
            | "storage_offset"
            | "is_contiguous"
            | "sym_is_contiguous"
            | "is_strides_like_format"
            | "is_non_overlapping_and_dense"
            | "_assert_tensor_metadata"
    )
}

impl Functional<'_> {
    /// Which operands of a call that may write lie in one memory, and which parts of it they are: equal contents in
    /// memory of their own are another call.
    pub(super) fn shared_parts(&mut self, key: Key) -> Vec<Token> {
        let view = self.view(key.side);
        let operands = tensor_operands(view, key.place.node);
        let number = |i: usize| Token::Int(i64::try_from(i).unwrap_or(i64::MAX));
        let mut out = vec![Token::List(operands.len())];
        let mut first: FxHashMap<Place, (usize, Place)> = FxHashMap::default();
        // What cannot be said equals itself only.
        let unsaid = || Token::Other(format!("{:?} {:?}", key.side, key.place).into());
        for (i, operand) in operands.into_iter().enumerate() {
            let origin = self.side(key.side).storages.origin(operand);
            if !self.side(key.side).storages.home(origin).is_empty() {
                // It may lie in another's memory: where it does, is said by the effect whose result it is.
                let name = self.name_of_memory(key.side, origin);
                out.push(name.map_or_else(unsaid, |(_, number)| Token::Event(number)));
            }
            let Some((other, place)) = first.get(&origin).copied() else {
                first.insert(origin, (i, operand));
                continue;
            };
            out.extend([number(i), number(other)]);
            for part in [operand, place] {
                let map = self.map_of(key.side, part);
                out.push(map.map_or_else(unsaid, |(map, _)| Token::Part(map)));
            }
        }
        out
    }

    /// What an operator sees that no element shows: strides and offsets, and the memory around its operand.
    pub(super) fn layout(&mut self, key: Key, bound: &Bound<'_>) -> Option<(Vec<Token>, ValueId)> {
        let view = self.view(key.side);
        let operand = place_of(view, bound.args.first()?.as_node()?);
        let origin = self.side(key.side).storages.origin(operand);
        if !self.side(key.side).storages.home(origin).is_empty() {
            return None;
        }
        let mut tokens = Vec::new();
        for place in [operand, origin] {
            let ty = type_of(view, place).as_tensor()?;
            let strides = ty.strides.as_ref()?;
            (self.sizes.are_settled(strides) && self.sizes.is_settled(ty.offset)).then_some(())?;
            tokens.push(Token::List(strides.len()));
            tokens.extend(strides.iter().chain([&ty.offset]).map(|d| Token::Dim(*d)));
        }
        let input = self.side(key.side).inputs.get(&origin.node).copied();
        tokens.push(input.map_or(Token::None, |number| Token::Int(i64::from(number))));
        let is_view = self.side(key.side).storages.parent(key.place).is_some();
        let content = if is_view {
            self.value(key.side, origin, key.stamp)
        } else {
            let order = view.place(key.place.node).map_or(0, |(_, order)| order);
            self.read_at(key.side, origin, order)
        };
        Some((tokens, content))
    }
}
