//! In which memory the results of bodies lie.
//!
//! Promises: a result that may lie in an operand, or in the memory of another result of the same call, says so, whichever body
//! runs and however often; bodies are looked into, not asked for marks. Leaves writes to `call`, versions to `storage`.

use rustc_hash::FxHashSet;

use crate::analysis::sharing::may_share::{Home, Shares, tensor_operands};
use crate::analysis::sharing::place::{Place, place_of};
use crate::graph::{Arg, BodyId, NodeId, ValueType, View};

/// In which memory one result of a body may lie.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// In these placeholders' of the body.
    pub placeholders: Vec<NodeId>,
    /// In memory that is born in the body, there.
    pub births: Vec<Place>,
}

/// Returns what a body returns, one by one.
pub fn returned(view: &dyn View, body: BodyId) -> Vec<Arg> {
    let Some(arg) = view.last(body).and_then(|output| view.args(output).first()) else { return Vec::new() };
    arg.items().map_or_else(|| vec![arg.clone()], <[Arg]>::to_vec)
}

/// Returns in which memory a result of a call that runs bodies may lie; `reached` is what each body says of its results.
pub fn home_of(view: &dyn View, place: Place, bodies: &[BodyId], reached: &[std::sync::Arc<[Reached]>]) -> Home {
    let anything = || tensor_operands(view, place.node).into_iter().map(Shares::Maybe).collect::<Home>();
    let Some(index) = usize::try_from(place.item).ok().filter(|_| place.item != Place::WHOLE) else {
        return anything();
    };
    // What a loop returns it is given again: a result may lie in any operand, unless nothing comes through.
    let repeats = bodies.len() > 1 && reached.iter().any(|r| r.len() != reached.first().map_or(0, |f| f.len()));
    if reached.is_empty() || bodies.is_empty() || repeats || is_loop(view, place.node) {
        return anything();
    }
    let mut home = Home::new();
    let mut add = |shares: Shares| {
        if !home.contains(&shares) {
            home.push(shares);
        }
    };
    for (body, reached) in bodies.iter().zip(reached) {
        let Some(own) = reached.get(index) else { return anything() };
        for placeholder in &own.placeholders {
            match passed(view, place.node, *body, *placeholder) {
                Some(operand) => add(Shares::Maybe(operand)),
                None => return anything(),
            }
        }
        let births: FxHashSet<&Place> = own.births.iter().collect();
        for (other, earlier) in reached.iter().take(index).enumerate() {
            if earlier.births.iter().any(|b| births.contains(b)) {
                let item = u32::try_from(other).unwrap_or(Place::WHOLE);
                add(Shares::Maybe(Place { node: place.node, item }));
            }
        }
    }
    home
}

/// Whether the results of a body are operands of its next run: a call whose first body says whether to go on.
fn is_loop(view: &dyn View, node: NodeId) -> bool {
    let bodies = |i: usize| match view.args(node).get(i) {
        Some(Arg::Node(n)) => matches!(view.ty(*n), ValueType::Body(_)),
        _ => false,
    };
    bodies(0)
}

/// Returns the operand that a placeholder of a body stands for: operands follow the bodies, in the order of placeholders.
fn passed(view: &dyn View, node: NodeId, body: BodyId, placeholder: NodeId) -> Option<Place> {
    let is_body = |a: &Arg| matches!(a, Arg::Node(n) if matches!(view.ty(*n), ValueType::Body(_)));
    let last = view.args(node).iter().rposition(is_body)?;
    if !view.kwargs(node).is_empty() {
        return None;
    }
    let number = crate::analysis::sharing::storages::placeholders(view, body).iter().position(|p| *p == placeholder)?;
    let mut operands = view.args(node).iter().skip(last).skip(1).flat_map(|a| match a.items() {
        Some(all) => all.iter().collect::<Vec<_>>(),
        None => vec![a],
    });
    match operands.nth(number)? {
        Arg::Node(n) => Some(place_of(view, *n)),
        _ => None,
    }
}
