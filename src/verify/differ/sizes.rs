//! Sizes that are tried for symbols: the ends of their ranges, small ones, and those that a program tests.
//!
//! Promises: every size lies in its symbol's range. Leaves whether inputs of these sizes can be held to `run`.

use std::collections::BTreeSet;

use crate::graph::{Arg, Graph, NodeId, View};
use crate::sym::{Bindings, Dim, SymValue, Symbols};

/// The sizes of one trial, by symbol.
pub type Sizes = Vec<(String, i64)>;

/// Sizes that are tried wherever a range holds them.
const SMALL: &[i64] = &[2, 3, 1, 4, 5, 0, 6, 7, 8, 9, 12, 16, 31, 32];

/// No number of a program beyond this is a size that is tried.
const LARGEST: i64 = 1 << 20;

/// How many sizes of one symbol are tried.
const MOST: usize = 48;

/// Returns which sizes are tried for the symbols of these dimensions; one empty list where there are none.
pub fn of(dims: &[Dim], symbols: &mut Symbols, graphs: [&Graph; 2]) -> Vec<Sizes> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for dim in dims {
        names.extend(symbols.symbols_in(SymValue::Int(*dim)));
    }
    let tested = tested(graphs);
    let mut pools = Vec::new();
    for name in names {
        let Ok(dim) = symbols.parse_dim(&name) else { continue };
        let range = symbols.range_of(dim);
        let mut pool: Vec<i64> = SMALL.iter().copied().filter(|n| range.contains(*n)).collect();
        let near = tested.iter().flat_map(|c| [c.saturating_add(1), *c, c.saturating_sub(1)]);
        for n in near {
            if range.contains(n) && !pool.contains(&n) {
                pool.push(n);
            }
        }
        if pool.is_empty() {
            pool.extend((0..LARGEST).find(|n| range.contains(*n)));
        }
        if let Some(last) = (33..=64).rev().find(|n| range.contains(*n) && !range.contains(n.saturating_add(1))) {
            pool.push(last);
        }
        pool.truncate(MOST);
        if !pool.is_empty() {
            pools.push((name, pool));
        }
    }
    combined(&pools)
}

/// Integers that stand in either program, and what they come to in twos.
fn tested(graphs: [&Graph; 2]) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    for graph in graphs {
        let nodes: Vec<NodeId> = graph.bodies().flat_map(|b| graph.nodes(b).collect::<Vec<_>>()).collect();
        for node in nodes {
            let mut open: Vec<&Arg> =
                graph.args(node).iter().chain(graph.kwargs(node).iter().map(|(_, a)| a)).collect();
            while let Some(arg) = open.pop() {
                match arg {
                    Arg::Int(n) => found.extend(n.checked_abs().filter(|n| (2..LARGEST).contains(n))),
                    other => open.extend(other.items().unwrap_or_default()),
                }
            }
        }
    }
    let sums: Vec<i64> = found.iter().map(|n| n.saturating_mul(2)).collect();
    found.extend(sums.into_iter().filter(|n| *n < LARGEST));
    found
}

/// Varies symbols against each other.
fn combined(pools: &[(String, Vec<i64>)]) -> Vec<Sizes> {
    if pools.is_empty() {
        return vec![Vec::new()];
    }
    let rounds = pools.iter().map(|(_, p)| p.len()).max().unwrap_or(0);
    let pick = |i: usize, step: &dyn Fn(usize) -> usize| -> Sizes {
        let one = |(j, (name, pool)): (usize, &(String, Vec<i64>))| {
            let at = i.saturating_mul(step(j)).saturating_add(j).checked_rem(pool.len())?;
            Some((name.clone(), *pool.get(at)?))
        };
        pools.iter().enumerate().filter_map(one).collect()
    };
    let mut out: Vec<Sizes> = (0..rounds).map(|i| pick(i, &|j| j.saturating_mul(2).saturating_add(1))).collect();
    if pools.len() > 1 {
        out.extend((0..rounds).map(|i| pick(i, &|_| 1)));
    }
    let mut seen = BTreeSet::new();
    out.retain(|s| seen.insert(s.clone()));
    out
}

/// Returns the sizes as bindings of the symbols.
pub fn bindings(sizes: &Sizes, symbols: &mut Symbols) -> Bindings {
    let mut bindings = Bindings::new();
    for (name, value) in sizes {
        symbols.bind(&mut bindings, name, *value);
    }
    bindings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(all: &[&[i64]]) -> Vec<(String, Vec<i64>)> {
        all.iter().enumerate().map(|(i, p)| (format!("s{i}"), p.to_vec())).collect()
    }

    #[test]
    fn every_size_of_a_pool_comes_and_symbols_differ_from_each_other() {
        let all = combined(&pools(&[&[1, 2, 3], &[1, 2, 3]]));
        for n in 1..=3 {
            assert!(all.iter().any(|s| s[0].1 == n) && all.iter().any(|s| s[1].1 == n));
        }
        assert!(all.iter().any(|s| s[0].1 != s[1].1));
        assert_eq!(combined(&[]), [Vec::new()]);
    }
}
