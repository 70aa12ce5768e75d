//! Calls at another place of the list.

use super::Draft;
use super::calls::effectful;
use crate::judge_fuzz::program::{Node, Program};

/// Where a node may stand: from behind its operands to before its users.
fn room(p: &Program, i: usize) -> (usize, usize) {
    let node = &p.nodes[i];
    let low = (0..i).rev().find(|j| node.uses(&p.nodes[*j].name)).map_or(0, |j| j + 1);
    let high = (i + 1..p.nodes.len()).find(|j| p.nodes[*j].uses(&node.name)).map_or(p.nodes.len(), |j| j) - 1;
    (low, high)
}

pub fn move_call(d: &mut Draft<'_>) -> bool {
    let Some(i) = d.any_node() else { return false };
    let (low, high) = room(&d.p, i);
    if low >= high {
        return false;
    }
    let to = match d.rng.below(3) {
        0 => low,
        1 => high,
        _ => d.rng.between(low as i64, high as i64) as usize,
    };
    let node = d.p.nodes.remove(i);
    d.p.nodes.insert(to, node);
    to != i
}

/// A call that reads what a call of bodies, or of an operator that nobody described, takes or gives: to the other side of it.
pub fn move_past_bodies(d: &mut Draft<'_>) -> bool {
    let runs = |n: &Node| n.target.starts_with("higher_order") || n.target.starts_with("demo.");
    let Some(i) = d.node_where(&|_, n| runs(n)) else { return false };
    let fits = |j: &usize| {
        let (low, high) = room(&d.p, *j);
        *j != i && (low..=high).contains(&i) && d.p.nodes[*j].target != "self"
    };
    let all: Vec<usize> = (0..d.p.nodes.len()).filter(fits).collect();
    let shares = |j: &&usize| {
        let mut met = false;
        d.p.nodes[**j].each(&mut |n| met |= d.p.nodes[i].uses(n));
        met
    };
    let near: Vec<usize> = all.iter().filter(shares).copied().collect();
    let from = if near.is_empty() { &all } else { &near };
    let Some(j) = d.rng.maybe(from).copied() else { return false };
    let node = d.p.nodes.remove(j);
    d.p.nodes.insert(i, node);
    true
}

pub fn swap_neighbours(d: &mut Draft<'_>) -> bool {
    let pairs: Vec<usize> = (1..d.p.nodes.len()).filter(|i| !d.p.nodes[*i].uses(&d.p.nodes[i - 1].name)).collect();
    let effect = |i: &&usize| effectful(&d.p.nodes[**i]) || effectful(&d.p.nodes[**i - 1]);
    let between: Vec<usize> = pairs.iter().filter(effect).copied().collect();
    let from = if between.is_empty() { &pairs } else { &between };
    let Some(i) = d.rng.maybe(from).copied() else { return false };
    d.p.nodes.swap(i, i - 1);
    true
}
