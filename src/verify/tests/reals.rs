//! What is equal over the reals, and what only looks so: each pair beside those that it must not be taken for.

use crate::rules::Level;
use crate::verify::options::Budget;
use crate::verify::policy::Policy;
use crate::verify::tests::twins::{program, registry};
use crate::verify::{JudgeOptions, Verdict, judge_pair};

fn options() -> JudgeOptions {
    JudgeOptions { budget: Budget::searching(), ..JudgeOptions::default() }
}

fn judged(inputs: &str, before: &str, after: &str) -> Verdict {
    judge_pair(&program(inputs, before), &program(inputs, after), &registry(), &options())
}

#[track_caller]
fn real(inputs: &str, before: &str, after: &str) {
    let v = judged(inputs, before, after);
    assert!(v.accepted && v.level == Some(Level::Real), "{before} == {after}: {v:#?}");
    let strict = JudgeOptions { policy: Policy::Strict, ..options() };
    assert!(!judge_pair(&program(inputs, before), &program(inputs, after), &registry(), &strict).accepted);
}

#[track_caller]
fn refused(inputs: &str, before: &str, after: &str) {
    let v = judged(inputs, before, after);
    assert!(!v.accepted, "{before} is not {after}: {v:#?}");
}

const ABC: &str = "a: f32[3, 4]; b: f32[3, 4]; c: f32[3, 4]";
const X: &str = "x: f32[3, 8]";

#[test]
fn sums_may_be_taken_in_another_order_and_may_not_be_blown_up() {
    let left = "t = aten.add.Tensor(a, b)\ny = aten.add.Tensor(t, c)\nreturn (y,)";
    real(ABC, left, "t = aten.add.Tensor(b, c)\ny = aten.add.Tensor(a, t)\nreturn (y,)");
    refused(ABC, left, "t = aten.add.Tensor(b, c)\ny = aten.sub.Tensor(a, t)\nreturn (y,)");
    // Over the reals it is `a`; in f32 anything.
    let blown = "p = aten.add.Tensor(a, b)\nq = aten.add.Tensor(p, c)\nr = aten.add.Tensor(b, c)\ns = aten.add.Tensor(a, r)\nd = aten.sub.Tensor(q, s)\ne = aten.mul.Tensor(d, 100000000.0)\ny = aten.add.Tensor(a, e)\nreturn (y,)";
    refused(ABC, "y = aten.mul.Tensor(a, 1.0)\nreturn (y,)", blown);
    refused(ABC, "y = aten.neg.default(a)\nz = aten.neg.default(y)\nreturn (z,)", blown);
}

#[test]
fn products_distribute_where_nothing_cancels_away() {
    let sum = "t = aten.add.Tensor(a, b)\ny = aten.mul.Tensor(t, c)\nreturn (y,)";
    real(ABC, sum, "s = aten.mul.Tensor(a, c)\nt = aten.mul.Tensor(b, c)\ny = aten.add.Tensor(s, t)\nreturn (y,)");
    refused(ABC, sum, "s = aten.mul.Tensor(a, c)\nt = aten.mul.Tensor(b, b)\ny = aten.add.Tensor(s, t)\nreturn (y,)");
    // A thousandth more.
    refused(
        ABC,
        "y = aten.mul.Tensor(a, b)\nreturn (y,)",
        "t = aten.mul.Tensor(b, 1.0009765625)\ny = aten.mul.Tensor(a, t)\nreturn (y,)",
    );
}

#[test]
fn a_quotient_by_a_number_is_a_product_and_one_by_what_may_be_zero_is_none() {
    let third = "y = aten.div.Tensor(a, 3.0)\nreturn (y,)";
    real(ABC, third, "y = aten.mul.Tensor(a, 0.3333333333333333)\nreturn (y,)");
    refused(ABC, third, "y = aten.mul.Tensor(a, 0.33333)\nreturn (y,)");
    let same = "y = aten.mul.Tensor(a, 1.0)\nreturn (y,)";
    refused(ABC, same, "t = aten.mul.Tensor(a, b)\ny = aten.div.Tensor(t, b)\nreturn (y,)");
    refused(ABC, "t = aten.mul.Tensor(a, b)\ny = aten.div.Tensor(t, b)\nreturn (y,)", same);
}

#[test]
fn no_nan_is_hidden() {
    let zeros = "y = aten.full_like.default(a, 0.0)\nreturn (y,)";
    refused(ABC, "y = aten.sub.Tensor(a, a)\nreturn (y,)", zeros);
    refused(ABC, "y = aten.mul.Tensor(a, 0.0)\nreturn (y,)", zeros);
    let more = "t = aten.add.Tensor(b, c)\nu = aten.add.Tensor(t, a)\ny = aten.sub.Tensor(u, a)\nreturn (y,)";
    refused(ABC, more, "y = aten.add.Tensor(b, c)\nreturn (y,)");
    // One that is added is no harm to NaN; that rounding grows is.
    refused(
        ABC,
        "y = aten.add.Tensor(b, c)\nreturn (y,)",
        "t = aten.mul.Tensor(a, 1000000.0)\nu = aten.add.Tensor(b, t)\nv = aten.add.Tensor(u, c)\ny = aten.sub.Tensor(v, t)\nreturn (y,)",
    );
}

#[test]
fn functions_are_undone_only_where_they_are_defined() {
    refused(
        X,
        "e = aten.exp.default(x)\ny = aten.log.default(e)\nreturn (y,)",
        "y = aten.mul.Tensor(x, 1.0)\nreturn (y,)",
    );
    refused(
        X,
        "y = aten.mul.Tensor(x, 1.0)\nreturn (y,)",
        "t = aten.mul.Tensor(x, x)\ny = aten.sqrt.default(t)\nreturn (y,)",
    );
    let quotient = "p = aten.exp.default(a)\nq = aten.exp.default(b)\ny = aten.div.Tensor(p, q)\nreturn (y,)";
    refused(ABC, quotient, "d = aten.sub.Tensor(a, b)\ny = aten.exp.default(d)\nreturn (y,)");
    let s = "y = aten.sigmoid.default(x)\nz = aten.mul.Tensor(x, y)\nreturn (z,)";
    real(X, s, "y = aten.silu.default(x)\nreturn (y,)");
    refused(X, s, "y = aten.sigmoid.default(x)\nreturn (y,)");
}

#[test]
fn softmax_is_its_definition_with_the_shift_and_not_without() {
    let softmax = "y = aten._softmax.default(x, -1, False)\nreturn (y,)";
    let shifted = "m = aten.amax.default(x, [-1], True)\nd = aten.sub.Tensor(x, m)\ne = aten.exp.default(d)\ns = aten.sum.dim_IntList(e, [-1], True)\ny = aten.div.Tensor(e, s)\nreturn (y,)";
    let v = judged(X, softmax, shifted);
    assert!(v.accepted, "{v:#?}");
    let bare =
        "e = aten.exp.default(x)\ns = aten.sum.dim_IntList(e, [-1], True)\ny = aten.div.Tensor(e, s)\nreturn (y,)";
    refused(X, softmax, bare);
    refused(X, softmax, &shifted.replace("[-1]", "[0]"));
    // Shifted by the greatest of a part only: what is beyond it may overflow.
    let part = shifted.replace(
        "m = aten.amax.default(x, [-1], True)",
        "p = aten.slice.Tensor(x, 1, 0, 4)\nm = aten.amax.default(p, [-1], True)",
    );
    refused(X, softmax, &part);
}

#[test]
fn a_variance_of_two_passes_is_not_one_of_squares() {
    let two = "v = aten.var.correction(x, [-1], correction = 0, keepdim = True)\nreturn (v,)";
    let written = "m = aten.mean.dim(x, [-1], True)\nd = aten.sub.Tensor(x, m)\nq = aten.mul.Tensor(d, d)\nv = aten.mean.dim(q, [-1], True)\nreturn (v,)";
    real(X, two, written);
    refused(X, &two.replace("correction = 0", "correction = 1"), written);
    let squares = "q = aten.mul.Tensor(x, x)\np = aten.mean.dim(q, [-1], True)\nm = aten.mean.dim(x, [-1], True)\nn = aten.mul.Tensor(m, m)\nv = aten.sub.Tensor(p, n)\nreturn (v,)";
    refused(X, two, squares);
    refused(X, written, squares);
}

#[test]
fn norms_are_their_definitions_and_eps_counts() {
    let inputs = "x: f32[3, 8]; g: f32[8]; b: f32[8]";
    let norm = "y = aten.layer_norm.default(x, [8], g, b, 0.00001)\nreturn (y,)";
    let written = "m = aten.mean.dim(x, [-1], True)\nd = aten.sub.Tensor(x, m)\nq = aten.mul.Tensor(d, d)\nv = aten.mean.dim(q, [-1], True)\ne = aten.add.Tensor(v, 0.00001)\nr = aten.rsqrt.default(e)\nn = aten.mul.Tensor(d, r)\ns = aten.mul.Tensor(n, g)\ny = aten.add.Tensor(s, b)\nreturn (y,)";
    real(inputs, written, norm);
    refused(inputs, &written.replace("0.00001", "0.0001"), norm);
    refused(inputs, &written.replace("aten.mul.Tensor(n, g)", "aten.mul.Tensor(n, b)"), norm);
}

#[test]
fn products_of_matrices_associate_and_do_not_commute() {
    let inputs = "a: f32[3, 4]; b: f32[4, 4]; c: f32[4, 4]";
    let left = "t = aten.mm.default(a, b)\ny = aten.mm.default(t, c)\nreturn (y,)";
    real(inputs, left, "t = aten.mm.default(b, c)\ny = aten.mm.default(a, t)\nreturn (y,)");
    refused(inputs, left, "t = aten.mm.default(c, b)\ny = aten.mm.default(a, t)\nreturn (y,)");
    refused(
        inputs,
        left,
        "u = aten.permute.default(b, [1, 0])\nt = aten.mm.default(u, c)\ny = aten.mm.default(a, t)\nreturn (y,)",
    );
}

#[test]
fn a_window_of_one_is_a_product_of_matrices() {
    let inputs = "x: f32[1, 3, 2, 2]; w: f32[4, 3, 1, 1]";
    let conv = "y = aten.convolution.default(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\nreturn (y,)";
    let product = "p = aten.permute.default(x, [0, 2, 3, 1])\nq = aten.view.default(w, [4, 3])\nt = aten.permute.default(q, [1, 0])\nu = aten.clone.default(p, memory_format = torch.contiguous_format)\nf = aten.view.default(u, [4, 3])\nm = aten.mm.default(f, t)\nv = aten.view.default(m, [1, 2, 2, 4])\ny = aten.permute.default(v, [0, 3, 1, 2])\nz = aten.clone.default(y, memory_format = torch.contiguous_format)\nreturn (z,)";
    real(inputs, conv, product);
    refused(
        inputs,
        &conv
            .replace("aten.convolution.default(x, w", "aten.convolution.default(x, w2")
            .replace("y = ", "w2 = aten.neg.default(w)\ny = "),
        product,
    );
}

#[test]
fn steps_and_writes_see_more_than_real_numbers() {
    let left = "t = aten.add.Tensor(a, b)\ny = aten.add.Tensor(t, c)\n";
    let right = "t = aten.add.Tensor(b, c)\ny = aten.add.Tensor(a, t)\n";
    for end in [
        "z = aten.argmax.default(y, 1)\nreturn (z,)",
        "z = aten.gt.Scalar(y, 0.0)\nreturn (z,)",
        "z = aten.round.default(y)\nreturn (z,)",
        "z = aten.view.dtype(y, torch.int32)\nreturn (z,)",
        "z = aten.nonzero.default(y)\nreturn (z,)",
        "z = aten._to_copy.default(y, dtype = torch.int32)\nreturn (z,)",
        "z = aten.copy_.default(a, y)\nreturn (z,)",
        "z = aten.add_.Tensor(y, 1.0)\nreturn (z,)",
        "s = aten.exp.default(y)\nz = aten.argmax.default(s, 1)\nreturn (y, z)",
        "z = aten.atan2.default(y, a)\nreturn (z,)",
    ] {
        refused(ABC, &format!("{left}{end}"), &format!("{right}{end}"));
    }
    let kept = "z = aten.exp.default(y)\nw = aten.mul.Tensor(z, 2.0)\nreturn (w,)";
    real(ABC, &format!("{left}{kept}"), &format!("{right}{kept}"));
}

#[test]
fn a_rounding_to_a_narrower_dtype_is_a_step() {
    let wide = "t = aten.mul.Tensor(x, 3.0)\ny = aten.mul.Tensor(t, 5.0)\nreturn (y,)";
    let narrow = "t = aten.mul.Tensor(x, 3.0)\nn = aten._to_copy.default(t, dtype = torch.bfloat16)\nw = aten._to_copy.default(n, dtype = torch.float32)\ny = aten.mul.Tensor(w, 5.0)\nreturn (y,)";
    refused(X, wide, narrow);
    refused(X, narrow, wide);
    real(X, wide, "y = aten.mul.Tensor(x, 15.0)\nreturn (y,)");
}
