//! What a sum binds is bound within it alone: wrong rewrites that no run is asked of.

use std::time::Instant;

use crate::formats::text::domain::Domain;
use crate::verify::JudgeOptions;
use crate::verify::findings::Findings;
use crate::verify::judge::edit::judge_graphs;
use crate::verify::replay::Replay;
use crate::verify::tests::programs::{program, registry};
use crate::verify::verdict::Finding;

/// Asserts that rules show neither program to be the other.
#[track_caller]
fn are_not_shown_equal(inputs: &str, lines: [&str; 2], options: &JudgeOptions) {
    let [a, b] = lines.map(|l| program(inputs, l));
    for (before, after) in [(&a, &b), (&b, &a)] {
        let proof = (Findings::default(), &mut Replay::Search);
        let verdict = judge_graphs(before, after, &registry(), options, proof, None, Instant::now());
        assert_eq!(verdict.verdict, Finding::Unknown, "{verdict:#?}");
    }
}

#[test]
fn a_sum_in_a_function_is_no_sum_around_it() {
    let around = "m = aten.mul.Tensor(k, l)
        s = aten.sum.default(m)
        t = aten.tanh.default(s)
        o = aten.mul.Tensor(s, t)
        return (o,)";
    let within = "m = aten.mul.Tensor(k, l)
        s = aten.sum.default(l)
        u = aten.mul.Tensor(k, s)
        t = aten.tanh.default(u)
        n = aten.mul.Tensor(m, t)
        o = aten.sum.default(n)
        return (o,)";
    are_not_shown_equal("k: f32[6]; l: f32[6]", [around, within], &JudgeOptions::default());
}

#[test]
fn what_a_sum_within_binds_is_no_place_of_the_sum_around_it() {
    let options = JudgeOptions {
        domains: vec![("i".into(), Domain::Integers { lo: 0, hi: 8, distinct: false })],
        ..JudgeOptions::default()
    };
    let counts = "h = aten.one_hot.default(i, 9)
        s = aten.sum.dim_IntList(h, [1])
        c = aten._to_copy.default(s, dtype = torch.float32)
        o = aten.mm.default(c, t)
        return (o,)";
    let first = "h = aten.one_hot.default(i, 9)
        g = aten.arange.default(5)
        e = aten.eq.Scalar(g, 0)
        w = aten._to_copy.default(e, dtype = torch.int64)
        v = aten.mul.Tensor(w, 5)
        u = aten.unsqueeze.default(v, 1)
        x = aten.mul.Tensor(h, u)
        s = aten.sum.dim_IntList(x, [1])
        c = aten._to_copy.default(s, dtype = torch.float32)
        o = aten.mm.default(c, t)
        return (o,)";
    are_not_shown_equal("t: f32[9, 4]; i: i64[3, 5]", [counts, first], &options);
}
