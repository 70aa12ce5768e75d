//! TorchAir's default fusions, each as a pair of programs: what is true of it by our definitions, and what the judge says.
//!
//! `docs/torchair-fusions.md` is the table; `AIRLOCK_UPDATE=1` writes it anew.

use std::fmt::Write as _;

use crate::common::committed;
use crate::common::written::program;
use airlock::ops::Registry;
use airlock::verify::{Budget, Finding, JudgeOptions, Level, Policy, judge_pair};

/// Whether what is fused means the same, and why not.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Truth {
    /// The same bits.
    Exact,
    /// Another result.
    Different(&'static str),
}

use Truth::{Different, Exact};

/// What is fused, in which form; what is true; inputs, then the lines of both programs.
type Fusion = (&'static str, &'static str, Truth, &'static str, &'static str, &'static str);

const F32: &str = "x: f32[4, 32]; y: f32[4, 32]; g: f32[32]; s: f32[32]";
const F16: &str = "x: f16[4, 32]; y: f16[4, 32]; g: f16[32]; s: f16[32]";
const CUBE: &str = "x: f32[2, 3, 32]; y: f32[2, 3, 32]; g: f32[32]";
const CUBE16: &str = "x: f16[2, 3, 32]; y: f16[2, 3, 32]; g: f16[32]";
const QUANT32: &str = "x: f32[4, 32]; y: f32[4, 32]; g: f32[32]; s: f32[32]; z: i32[32]";
const QUANT16: &str = "x: f16[4, 32]; y: f16[4, 32]; g: f16[32]; s: f32[32]; z: i32[32]";
const ROUNDED: &str = "the norm is rounded to the dtype of x before it is quantised, in the fused operator it is not";

const NORM_QUANT: &str = "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | c = n[2] | q = npu.npu_dynamic_quant.default(a) | o = q[0] | p = q[1] | return (o, p, c)";
const NORM_QUANT_FUSED: &str = "n = npu.npu_add_rms_norm_dynamic_quant.default(x, y, g, output_mask = [True, False]) | o = n[0] | p = n[3] | c = n[2] | return (o, p, c)";
const NORM_CAST: &str = "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | c = n[2] | f = aten._to_copy.default(a, dtype = torch.float32) | return (f, a, c)";
const NORM_CAST_FUSED: &str =
    "n = npu.npu_add_rms_norm_cast.default(x, y, g) | f = n[0] | a = n[1] | c = n[3] | return (f, a, c)";
const NORM_TO_I8: &str = "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | c = n[2] | q = npu.npu_quantize.default(a, s, z, 1, -1) | return (q, c)";
const NORM_TO_I8_FUSED: &str =
    "n = npu.npu_add_rms_norm_quant.default(x, y, g, s, z, axis = -1) | q = n[0] | c = n[2] | return (q, c)";

const FUSIONS: &[Fusion] = &[
    ("add-rms-norm and dynamic quantisation", "f32", Exact, F32, NORM_QUANT, NORM_QUANT_FUSED),
    ("add-rms-norm and dynamic quantisation", "f16", Different(ROUNDED), F16, NORM_QUANT, NORM_QUANT_FUSED),
    (
        "add-rms-norm and dynamic quantisation",
        "f32, an epsilon",
        Exact,
        F32,
        "n = npu.npu_add_rms_norm.default(x, y, g, 1e-05) | a = n[0] | c = n[2] | q = npu.npu_dynamic_quant.default(a) | o = q[0] | p = q[1] | return (o, p, c)",
        "n = npu.npu_add_rms_norm_dynamic_quant.default(x, y, g, epsilon = 1e-05, output_mask = [True, False]) | o = n[0] | p = n[3] | c = n[2] | return (o, p, c)",
    ),
    (
        "add-rms-norm and dynamic quantisation",
        "f32, another epsilon",
        Different("the epsilon of the norm is lost"),
        F32,
        "n = npu.npu_add_rms_norm.default(x, y, g, 0.01) | a = n[0] | c = n[2] | q = npu.npu_dynamic_quant.default(a) | o = q[0] | p = q[1] | return (o, p, c)",
        NORM_QUANT_FUSED,
    ),
    (
        "add-rms-norm and dynamic quantisation",
        "f32, smooth scales",
        Exact,
        F32,
        "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | c = n[2] | q = npu.npu_dynamic_quant.default(a, smooth_scales = s) | o = q[0] | p = q[1] | return (o, p, c)",
        "n = npu.npu_add_rms_norm_dynamic_quant.default(x, y, g, smooth_scale1 = s, output_mask = [True, False]) | o = n[0] | p = n[3] | c = n[2] | return (o, p, c)",
    ),
    (
        "add-rms-norm and dynamic quantisation",
        "f32, without the sum",
        Exact,
        F32,
        "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | q = npu.npu_dynamic_quant.default(a) | o = q[0] | p = q[1] | return (o, p)",
        "n = npu.npu_add_rms_norm_dynamic_quant.default(x, y, g, output_mask = [True, False]) | o = n[0] | p = n[3] | return (o, p)",
    ),
    (
        "the same of merged rows",
        "f32",
        Exact,
        CUBE,
        "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | c = n[2] | v = aten.view.default(a, [6, 32]) | q = npu.npu_dynamic_quant.default(v) | o = q[0] | p = q[1] | w = aten.view.default(p, [-1, 1]) | return (o, w, c)",
        "n = npu.npu_add_rms_norm_dynamic_quant.default(x, y, g, output_mask = [True, False]) | o = n[0] | p = n[3] | c = n[2] | v = aten.flatten.using_ints(o, 0, 1) | w = aten.view.default(p, [-1, 1]) | return (v, w, c)",
    ),
    (
        "the same of merged rows",
        "f16",
        Different(ROUNDED),
        CUBE16,
        "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | c = n[2] | v = aten.view.default(a, [6, 32]) | q = npu.npu_dynamic_quant.default(v) | o = q[0] | p = q[1] | w = aten.view.default(p, [-1, 1]) | return (o, w, c)",
        "n = npu.npu_add_rms_norm_dynamic_quant.default(x, y, g, output_mask = [True, False]) | o = n[0] | p = n[3] | c = n[2] | v = aten.flatten.using_ints(o, 0, 1) | w = aten.view.default(p, [-1, 1]) | return (v, w, c)",
    ),
    ("add-rms-norm and a cast", "f16", Exact, F16, NORM_CAST, NORM_CAST_FUSED),
    (
        "add-rms-norm and a cast",
        "f16, rows merged",
        Exact,
        CUBE16,
        "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | c = n[2] | v = aten.view.default(a, [-1, 32]) | f = aten._to_copy.default(v, dtype = torch.float32) | return (f, a, c)",
        "n = npu.npu_add_rms_norm_cast.default(x, y, g) | f = n[0] | a = n[1] | c = n[3] | v = aten.view.default(f, [-1, 32]) | return (v, a, c)",
    ),
    (
        "add-rms-norm and a cast",
        "f16, to another dtype",
        Different("the cast is to f32 whatever was asked for"),
        F16,
        "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | c = n[2] | f = aten._to_copy.default(a, dtype = torch.float64) | return (f, a, c)",
        NORM_CAST_FUSED,
    ),
    ("add-rms-norm and quantisation", "f32", Exact, QUANT32, NORM_TO_I8, NORM_TO_I8_FUSED),
    ("add-rms-norm and quantisation", "f16", Different(ROUNDED), QUANT16, NORM_TO_I8, NORM_TO_I8_FUSED),
    (
        "add-rms-norm and quantisation",
        "f32, multiplied",
        Different("what is fused divides by the scale"),
        QUANT32,
        "n = npu.npu_add_rms_norm.default(x, y, g) | a = n[0] | c = n[2] | q = npu.npu_quantize.default(a, s, None, 1, -1, False) | return (q, c)",
        "n = npu.npu_add_rms_norm_quant.default(x, y, g, s, None, axis = -1) | q = n[0] | c = n[2] | return (q, c)",
    ),
    (
        "batched product and transposition",
        "bmm, transpose",
        Exact,
        "x: f32[4, 8, 128]; w: f32[4, 128, 128]",
        "a = aten.bmm.default(x, w) | t = aten.transpose.int(a, 0, 1) | r = aten.neg.default(t) | return (r,)",
        "a = npu.npu_transpose_batchmatmul.default(x, w, perm_x1 = [0, 1, 2]) | r = aten.neg.default(a) | return (r,)",
    ),
    (
        "batched product and transposition",
        "transpose, bmm, transpose",
        Exact,
        "x: f32[8, 4, 128]; w: f32[4, 128, 128]",
        "b = aten.transpose.int(x, 0, 1) | a = aten.bmm.default(b, w) | t = aten.transpose.int(a, 0, 1) | r = aten.neg.default(t) | return (r,)",
        "a = npu.npu_transpose_batchmatmul.default(x, w, perm_x1 = [1, 0, 2]) | r = aten.neg.default(a) | return (r,)",
    ),
    (
        "batched product and transposition",
        "the first one not transposed",
        Different("rows of the first operand are taken as they lie"),
        "x: f32[4, 4, 128]; w: f32[4, 128, 128]",
        "b = aten.transpose.int(x, 0, 1) | a = aten.bmm.default(b, w) | t = aten.transpose.int(a, 0, 1) | r = aten.neg.default(t) | return (r,)",
        "a = npu.npu_transpose_batchmatmul.default(x, w, perm_x1 = [0, 1, 2]) | r = aten.neg.default(a) | return (r,)",
    ),
];

#[test]
fn the_table_of_torchair_s_fusions_is_what_the_judge_says_of_them() {
    let registry = Registry::standard();
    let budget = Budget { time_ms: 60_000, shrinks: 0, ..Budget::searching() };
    let options = JudgeOptions { policy: Policy::Default, budget, ..JudgeOptions::default() };
    let mut lines = String::new();
    for (fused, form, truth, inputs, before, after) in FUSIONS {
        let (before, after) = (program(inputs, before, &registry), program(inputs, after, &registry));
        let verdict = judge_pair(&before, &after, &registry, &options);
        let differs = matches!(truth, Different(_));
        let reason = &verdict.reason;
        assert_eq!(verdict.accepted, !differs, "{fused}, {form}: {reason}");
        assert!(verdict.level == Some(Level::Exact) || differs, "{fused}, {form}: not shown bit by bit");
        let said = match (verdict.verdict, verdict.level) {
            (Finding::Proved, Some(Level::Exact)) => "proved exact",
            (Finding::Proved, _) => "proved real",
            (Finding::Checked, _) => "checked",
            (Finding::Refuted, _) => "refuted",
            _ => "unknown",
        };
        let (truth, why) = match truth {
            Exact => ("exact", ""),
            Different(why) => ("different", *why),
        };
        writeln!(lines, "| {fused} | {form} | {truth} | {said} | {why} |").unwrap();
    }
    let page = format!(
        "# TorchAir's default fusions\n\nWhat TorchAir fuses by default, in the forms that it looks for, as pairs of small programs \
         (`tests/it/torchair_fusions.rs`), and the nearest form that must not be fused. *True* is what holds by our definitions of the fused operators. \
         This page is made by a test (`AIRLOCK_UPDATE=1 cargo test --test it torchair_fusions`). Those marked different are fused by TorchAir where a \
         reason names a rounding: the results are near, and no rewrite that drops a rounding is the same; `allow_wider` accepts what is at least as \
         near.\n\n| what is fused | form | true | said | why not |\n|---|---|---|---|---|\n{lines}"
    );
    committed::hold("docs/torchair-fusions.md", page);
}
