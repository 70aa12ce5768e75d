//! How values lie in memory, as terms beside their values.
//!
//! Promises: (1) two layouts with equal terms are equal strides for all inputs: stated by an input, computed by a rule, or the same
//! function of the same call; a layout that an annotation alone states is none of these; (2) an operator that sees strides, offsets
//! or the memory around its operand has equal terms only where these are equal too; (3) a draw has equal terms only where the
//! memory that it fills lies alike.

use crate::analysis::{Place, Shares, call::Known, getitem_of, place_of, tensor_operands};
use crate::graph::{NodeKind, TensorType};
use crate::ops::Bound;
use crate::term::call::Arguments;
use crate::term::index_map::Step;
use crate::term::store::ValueId;
use crate::term::term::{Fact, Form, Side, Token};
use crate::verify::functional::key::{Aspect, Key};
use crate::verify::functional::values::{Found, Functional, bind};

impl<'a> Functional<'a> {
    /// Returns a tensor whose strides rules computed from what inputs state.
    pub(in crate::verify) fn laid_out(&mut self, side: Side, place: Place) -> Option<&'a TensorType> {
        let from_rules = !self.view(side).hearsay(place.node).strides();
        let ty = self.tensor(side, place).filter(|_| from_rules)?;
        // Whether a complex value is a conjugate that is not computed yet belongs to how it lies.
        let ty = Some(ty).filter(|t| !t.dtype.is_complex())?;
        let settled = ty.strides.as_ref().is_some_and(|s| self.sizes.are_settled(s));
        self.layout_counts = true;
        (settled && self.sizes.are_settled(&ty.sizes)).then_some(ty)
    }

    pub(in crate::verify) fn find_layout(&mut self, key: Key) -> Found {
        let one = crate::sym::Dim::Fixed(1);
        // No recording says what rules give for strides that no index uses.
        let is_said =
            |t: &&TensorType| key.aspect == Aspect::Layout || !t.sizes.iter().any(|d| d.fixed().is_none_or(|n| n == 1));
        if let Some(ty) = self.laid_out(key.side, key.place).filter(is_said) {
            let dims = ty.strides.iter().flatten().zip(&ty.sizes);
            let tokens = dims.map(|(stride, size)| if *size == one { Token::None } else { Token::Dim(*stride) });
            return Found::Term(Form::Of(Fact::Strides, tokens.collect()), Vec::new());
        }
        let view = self.view(key.side);
        let node = key.place.node;
        match view.kind(node) {
            NodeKind::Placeholder => match self.side(key.side).inputs.get(&node) {
                Some(number) => {
                    Found::Term(Form::Of(Fact::InputLayout, Box::new([Token::Int(i64::from(*number))])), Vec::new())
                }
                None => self.leaf(key),
            },
            NodeKind::GetAttr => {
                let name = Token::Str(view.target(node).into());
                Found::Term(Form::Of(Fact::InputLayout, Box::new([name])), Vec::new())
            }
            NodeKind::Output => self.leaf(key),
            NodeKind::Call => self.layout_of_permuted(key).unwrap_or_else(|| self.layout_of_call(key)),
        }
    }

    /// A view with its dimensions in another order has the strides of what it is a view of in that order, whatever the sizes.
    fn layout_of_permuted(&mut self, key: Key) -> Option<Found> {
        let view = self.view(key.side);
        let (Shares::Same(parent) | Shares::View(parent)) = self.side(key.side).storages.parent(key.place)? else {
            return None;
        };
        let operator = self.registry.operator_of(view, key.place.node)?;
        let bound = bind(operator, view, key.place.node)?;
        let Step::Permute(mut order) = self.view_step(key.side, operator, &bound, key.place)? else { return None };
        let mut of = self.layout_as(key.side, parent, key.aspect);
        let Some(term) = self.store.term(of).cloned() else { return Some(Found::Need(of)) };
        if let (Form::Of(Fact::Permuted, inner), Some(child)) = (&*term.form, term.children.first()) {
            let step = |dim: &usize| match inner.get(*dim) {
                Some(Token::List(from)) => Some(*from),
                _ => None,
            };
            (order, of) = (order.iter().map(step).collect::<Option<_>>()?, *child);
        }
        if order.iter().copied().eq(0..order.len()) {
            return Some(Found::Same(of));
        }
        let tokens = order.iter().map(|dim| Token::List(*dim)).collect();
        Some(Found::Term(Form::Of(Fact::Permuted, tokens), vec![of]))
    }

    /// The same function of the call's value and of how its operands lie.
    fn layout_of_call(&mut self, key: Key) -> Found {
        let view = self.view(key.side);
        let node = key.place.node;
        if let Some((of, item)) = getitem_of(view, node) {
            let whole = self.layout_as(key.side, place_of(view, of), key.aspect);
            return Found::Term(
                Form::Of(Fact::InputLayout, Box::new([Token::Int(i64::from(item)), Token::Child])),
                vec![whole],
            );
        }
        let Arguments { mut tokens, operands } = match Known::of(view, self.registry, node) {
            Known::As(operator, bound) => Arguments::bound(view, operator, &bound, &mut self.sizes),
            Known::Not => Arguments::written(view, node, &mut self.sizes),
        };
        let order = self.order(key.side, node);
        let mut children = self.operands(key, &mut tokens, &operands, &mut |f, n| {
            let place = place_of(view, n);
            f.read_at(key.side, place, order)
        });
        for operand in tensor_operands(view, node) {
            children.push(self.layout_as(key.side, operand, key.aspect));
        }
        if self.effect(key.side, node).is_some() {
            tokens.push(self.event(key));
        }
        if key.place.item != Place::WHOLE {
            tokens.push(Token::Int(i64::from(key.place.item)));
        }
        tokens.extend(self.told(key));
        let callee = self.store.callee(view.target(node));
        Found::Term(Form::Of(Fact::LayoutOf(callee), tokens.into()), children)
    }

    /// A draw fills memory in its order: how the results lie belongs to it.
    pub(in crate::verify) fn add_layouts_of_results(
        &mut self,
        key: Key,
        tokens: &mut Vec<Token>,
        children: &mut Vec<ValueId>,
    ) {
        let places = self.side(key.side).storages.places(key.place.node);
        tokens.push(Token::List(places.len()));
        for place in places {
            if self.side(key.side).storages.type_of(place).as_tensor().is_some() {
                children.push(self.layout(key.side, place));
            }
        }
    }

    /// What an operator sees that no element shows: strides and offsets, and the memory around its operand.
    pub(in crate::verify) fn add_seen_layout(
        &mut self,
        key: Key,
        bound: &Bound<'_>,
        tokens: &mut Vec<Token>,
        children: &mut Vec<ValueId>,
    ) {
        let view = self.view(key.side);
        let Some(operand) = bound.args.first().and_then(|a| a.as_node()).map(|n| place_of(view, n)) else { return };
        let origin = self.side(key.side).storages.origin(operand);
        for place in [operand, origin] {
            children.push(self.layout_as(key.side, place, Aspect::Exact));
            match self.laid_out(key.side, place).map(|t| t.offset) {
                Some(offset) if self.sizes.is_settled(offset) => tokens.push(Token::Dim(offset)),
                _ => children.push(self.part_of_any(key.side, place)),
            }
        }
        let input = self.side(key.side).inputs.get(&origin.node).copied();
        tokens.push(input.map_or(Token::None, |number| Token::Int(i64::from(number))));
        let is_view = self.side(key.side).storages.parent(key.place).is_some();
        let content = if is_view {
            self.value(key.side, origin, key.stamp)
        } else {
            let order = self.order(key.side, key.place.node);
            self.read_at(key.side, origin, order)
        };
        children.push(content);
        if self.side(key.side).storages.group(origin).is_shared() {
            let order = self.order(key.side, key.place.node);
            let memory = self.memory_before(key.side, origin, order);
            children.push(memory);
        }
    }
}
