//! Order is judged in time that grows as the graph does. What is promised of it stands in `tests/cases/order`.

use std::fmt::Write as _;

use crate::verify::tests::programs::{program, registry};
use crate::verify::{JudgeOptions, Mode};

#[test]
fn twenty_thousand_nodes_on_two_streams_are_judged_in_a_moment() {
    let mut lines = String::from("v0 = aten.neg.default(x)\n");
    let mut after = lines.clone();
    for i in 0..2000 {
        let mut main = String::new();
        for k in 0..5 {
            let _ = writeln!(main, "v{i}_{k} = aten.add_.Tensor(x, {k})");
        }
        let mut side = String::new();
        for k in 0..5 {
            let _ = writeln!(side, "w{i}_{k} = aten.exp.default(x)");
        }
        lines += &format!("{main}{side}");
        let _ = write!(
            after,
            "{main}r{i} = air.record.default()\ne{i} = air.scope_enter.default(['_user_stream_label'], ['s1'])\n\
             p{i} = air.wait.default([r{i}])\n{side}q{i} = air.record.default()\nf{i} = air.scope_exit.default()\n\
             o{i} = air.wait.default([q{i}])\n"
        );
    }
    let (before, after) = (
        program("x: f32[3, 3]", &format!("{lines}return (v0,)")),
        program("x: f32[3, 3]", &format!("{after}return (v0,)")),
    );
    for mode in [Mode::MaxAutotune, Mode::ReduceOverhead] {
        let options = JudgeOptions { mode, ..JudgeOptions::default() };
        let mut findings = crate::verify::findings::Findings::default();
        let start = std::time::Instant::now();
        super::judge_order(&before, &after, &registry(), &options, &mut findings);
        let took = start.elapsed();
        assert!(findings.problems.is_empty(), "{:#?}", findings.problems);
        assert!(took.as_secs_f64() < 5.0, "{took:?}");
        println!("{}: {took:?}", mode.name());
    }
}
