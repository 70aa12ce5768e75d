//! Several edits in a row, each equal over the reals: their roundings add up.
//!
//! Promises: what they led to is refused where a run of it and of what they began with differs, or is rounded farther than one edit may be. Edits in between that are equal bit by bit change which steps a graph
//! takes: what is not seen for that, or cannot be run, is left to the judgements of each.

use crate::graph::Graph;
use crate::ops::Registry;
use crate::verify::differ::settle;
use crate::verify::options::JudgeOptions;
use crate::verify::verdict::{Finding, Level, Verdict};

/// Returns why what several edits led to is not taken for what they began with, where a run shows it.
pub fn adds_up(first: &Graph, last: &Graph, registry: &Registry, options: &JudgeOptions) -> Option<String> {
    // As if it were proved: runs decide.
    let claimed = Verdict { level: Some(Level::Real), ..Verdict::proved_exact(Vec::new()) };
    let options = JudgeOptions { allow_wider: true, given: None, ..options.clone() };
    let settled = settle(claimed, first, last, registry, &options);
    (settled.verdict == Finding::Refuted || settled.rounds_farther).then_some(settled.reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::options::Budget;
    use crate::verify::tests::programs::{program, registry};

    /// Products in a row, the first ones as differences that are rounded farther.
    fn products(apart: usize) -> Graph {
        let mut lines: Vec<String> = Vec::new();
        for k in 0..16_usize {
            let of = k.checked_sub(1).map_or("x".to_string(), |k| format!("m{k}"));
            if k < apart {
                lines.push(format!("a{k} = aten.mul.Tensor({of}, 20.967)"));
                lines.push(format!("b{k} = aten.mul.Tensor({of}, 20.0)"));
                lines.push(format!("m{k} = aten.sub.Tensor(a{k}, b{k})"));
            } else {
                lines.push(format!("m{k} = aten.mul.Tensor({of}, 0.967)"));
            }
        }
        lines.push("return (m15,)".into());
        program("x: f32[16]", &lines.join("\n"))
    }

    #[test]
    fn roundings_of_edits_in_a_row_add_up() {
        let told = |from: usize, to: usize| {
            let budget = Budget::searching();
            let options = JudgeOptions { is_repeatable: true, budget, ..JudgeOptions::default() };
            adds_up(&products(from), &products(to), &registry(), &options)
        };
        assert_eq!(told(0, 3), None);
        assert_eq!(told(3, 16), None);
        assert!(told(0, 16).unwrap().contains("rounded more than"));
    }
}
