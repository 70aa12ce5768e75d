//! Rules that a user states: the gate, and what rests on them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use airlock::formats::text::{ReadOptions, read};
use airlock::ops::Registry;
use airlock::pipeline::{Config, settle, user_rules};
use airlock::verify::{JudgeOptions, Mode, Policy, Stop, UserRule, UserRules, Verdict, judge_pair};
use serde_json::Value;

use crate::e2e::{airlock, file, json, text};

/// The inputs of a model.
const SQUARE: &str = "x: \"f32[5, 6]\", w: \"f32[6, 6]\"";
const ALIKE: &str = "x: \"f32[5, 6]\", w: \"f32[5, 6]\"";

fn rule(name: &str) -> PathBuf {
    file("tests/user-rules").join(format!("{name}.case"))
}

/// A model: its lines, and what it returns.
type Lines<'a> = (&'a [&'a str], &'a str);

fn model(inputs: &str, (lines, out): Lines) -> String {
    let body: String = lines.iter().map(|l| format!("        {l}\n")).collect();
    format!("class M(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}        return ({out},)\n")
}

fn write(folder: &Path, name: &str, lines: &[&str], out: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, model(SQUARE, (lines, out))).unwrap();
    path
}

/// Rules of these names. Each is admitted once for all tests: the gate runs it on many inputs.
fn rules(names: &[&str]) -> UserRules {
    static ADMITTED: Mutex<BTreeMap<String, UserRule>> = Mutex::new(BTreeMap::new());
    let mut admitted = ADMITTED.lock().unwrap();
    let gate = |name: &str| user_rules::admitted(&rule(name), &Registry::standard()).unwrap();
    let mut of = |name: &&str| admitted.entry((*name).into()).or_insert_with(|| gate(name)).clone();
    UserRules::new(names.iter().map(&mut of).collect())
}

/// What `verify` says by these rules of two graphs over the same inputs.
fn judged_by(names: &[&str], inputs: &str, before: Lines, after: Lines) -> Verdict {
    let usual = settle::judging(Mode::default(), Policy::default(), &Config::default()).unwrap();
    let options = JudgeOptions { rules: rules(names), ..usual };
    let [before, after] = [before, after].map(|lines| read(&model(inputs, lines), &ReadOptions::default()).unwrap());
    judge_pair(&before, &after, &Registry::standard(), &options)
}

const BEFORE: &[&str] = &[
    "m = torch.ops.aten.mm.default(x, w)",
    "a = torch.ops.aten.atan.default(m)",
    "b = torch.ops.aten.atan.default(x)",
    "y = torch.ops.aten.add.Tensor(a, b)",
];
const AFTER: &[&str] = &[
    "m = torch.ops.aten.mm.default(x, w)",
    "n = torch.ops.aten.neg.default(m)",
    "a = torch.ops.aten.atan.default(n)",
    "o = torch.ops.aten.neg.default(x)",
    "b = torch.ops.aten.atan.default(o)",
    "s = torch.ops.aten.add.Tensor(a, b)",
    "y = torch.ops.aten.neg.default(s)",
];

#[test]
fn the_gate_admits_what_is_proved_or_runs_do_not_contradict_and_nothing_else() {
    let mut names: Vec<String> = crate::e2e::listing(&file("tests/user-rules"));
    names.retain(|n| n.ends_with(".case"));
    assert!(names.len() > 6);
    for name in names {
        let name = name.trim_end_matches(".case");
        let output = airlock().args(["rules", "--format", "json", "--admit"]).arg(rule(name)).output().unwrap();
        let told = &json(&output)[0];
        let expected = i32::from(name.starts_with("refused"));
        assert_eq!(output.status.code(), Some(expected), "{name}: {told}");
        match name {
            "neg-neg" => assert_eq!(told["admitted"]["by"], "proof"),
            "sum-in-another-order" | "associates" | "turned-comparison" | "half-is-the-rest" => {
                assert_eq!(told["backwards"]["by"], "proof");
            }
            "variance-of-two-passes" => {
                assert_eq!((&told["admitted"]["by"], &told["backwards"]), (&"proof".into(), &Value::Null));
            }
            // What rounds less is proved.
            "multiple-as-a-difference" => {
                assert!(told["admitted"]["inputs"].as_u64().unwrap() >= 40 && told["backwards"]["by"] == "proof");
            }
            "atan-is-odd" | "asinh-is-odd" | "hypot-commutes" | "atan-of-few-bits-is-odd" => {
                assert!(["admitted", "backwards"].iter().all(|way| told[way]["inputs"].as_u64().unwrap() >= 40));
            }
            // What runs of few bits show is bits.
            "refused-mean-rounded-to-few-bits" => {
                assert!(told["reason"].as_str().unwrap().contains("too coarse"), "{told}")
            }
            _ => assert!(!told["reason"].as_str().unwrap().is_empty()),
        }
    }
}

#[test]
fn what_rests_on_a_rule_names_it_and_strict_takes_none_without_a_proof() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (write(folder.path(), "a.fx", BEFORE, "y"), write(folder.path(), "b.fx", AFTER, "y"));
    let verify = |more: &[&str]| {
        let mut command = airlock();
        command.arg("verify").args([&before, &after]).args(["--format", "json"]).args(more);
        command.output().unwrap()
    };
    let odd = rule("atan-is-odd").display().to_string();
    let plain = json(&verify(&[]));
    assert_eq!((&plain["verdict"], &plain["accepted"]), (&"unknown".into(), &false.into()));
    let told = json(&verify(&["--rules", &odd]));
    assert_eq!((&told["accepted"], &told["level"]), (&true.into(), &"real".into()), "{told}");
    let assumes = told["assumes"].to_string();
    assert!(assumes.contains("atan-is-odd") && assumes.contains("no proof"), "{assumes}");
    assert_eq!(json(&verify(&["--rules", &odd, "--policy", "strict"]))["accepted"], false);
    // A rule that has nothing to say changes nothing.
    let other = rule("neg-neg").display().to_string();
    assert_eq!(json(&verify(&["--rules", &other]))["accepted"], false);
}

#[test]
fn a_rule_does_not_carry_what_it_does_not_say() {
    let swap = |from: &str, to: &str| -> Vec<String> { AFTER.iter().map(|l| l.replace(from, to)).collect() };
    let wrongs = [
        swap("neg.default(s)", "abs.default(s)"),
        swap("neg.default(x)", "neg.default(m)"),
        swap("atan.default(n)", "sin.default(n)"),
        swap("add.Tensor(a, b)", "sub.Tensor(a, b)"),
    ];
    for wrong in &wrongs {
        let lines: Vec<&str> = wrong.iter().map(String::as_str).collect();
        let verdict = judged_by(&["atan-is-odd"], SQUARE, (BEFORE, "y"), (&lines, "y"));
        assert!(!verdict.accepted, "{wrong:?}: {verdict:?}");
    }
}

const ATAN: &[&str] = &["y = torch.ops.aten.atan.default(x)"];
const ATAN_TURNED: &[&str] =
    &["n = torch.ops.aten.neg.default(x)", "a = torch.ops.aten.atan.default(n)", "y = torch.ops.aten.neg.default(a)"];

#[test]
fn what_a_rule_says_over_the_reals_reaches_no_step() {
    for (of, expected) in [
        ("exp.default(y)", true),
        ("sqrt.default(y)", false),
        ("div.Tensor(x, y)", false),
        ("gt.Scalar(y, 0.5)", false),
        ("floor.default(y)", false),
        ("_to_copy.default(y, dtype = torch.int64)", false),
        ("argmax.default(y, 1)", false),
    ] {
        let step = format!("z = torch.ops.aten.{of}");
        let [before, after] = [ATAN, ATAN_TURNED].map(|lines| [lines, &[step.as_str()]].concat());
        let verdict = judged_by(&["atan-is-odd"], SQUARE, (&before, "z"), (&after, "z"));
        assert_eq!(verdict.accepted, expected, "{of}: {verdict:?}");
    }
}

#[test]
fn a_rule_is_used_on_its_own_dtype_and_rank_alone() {
    for of in ["f64[5, 6]", "f32[5, 6, 2]", "f32[30]"] {
        let verdict = judged_by(&["atan-is-odd"], &format!("x: \"{of}\""), (ATAN, "y"), (ATAN_TURNED, "y"));
        assert!(!verdict.accepted, "{of}: {verdict:?}");
    }
}

#[test]
fn a_rule_that_is_not_admitted_is_an_error_before_anything_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (write(folder.path(), "a.fx", BEFORE, "y"), write(folder.path(), "b.fx", AFTER, "y"));
    let wrong = rule("refused-atan-is-even").display().to_string();
    let output = airlock().arg("verify").args([&before, &after]).args(["--rules", &wrong]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains("refused-atan-is-even") && error.contains("does not hold"), "{error}");
}

#[test]
fn rules_hold_in_any_order_and_both_ways() {
    let turned: Lines = (
        &[
            "n = torch.ops.aten.neg.default(x)",
            "a = torch.ops.aten.asinh.default(n)",
            "b = torch.ops.aten.atan.default(a)",
            "h = torch.ops.aten.hypot.default(b, w)",
            "y = torch.ops.aten.neg.default(b)",
        ],
        "y, h",
    );
    let plain: Lines = (
        &[
            "a = torch.ops.aten.asinh.default(x)",
            "y = torch.ops.aten.atan.default(a)",
            "n = torch.ops.aten.neg.default(y)",
            "h = torch.ops.aten.hypot.default(w, n)",
        ],
        "y, h",
    );
    let all = ["atan-is-odd", "asinh-is-odd", "hypot-commutes"];
    let told = judged_by(&all, ALIKE, turned, plain);
    assert!(told.accepted, "{told:?}");
    let assumes = serde_json::to_string(&told.assumes).unwrap();
    assert!(all.iter().all(|name| assumes.contains(name)), "{assumes}");
    // Of what is odd and odd again there is no end, and none of it exchanges what a length is of.
    let told = judged_by(&all[..2], ALIKE, plain, turned);
    assert!(!told.accepted && told.stopped == Some(Stop::Rules), "{told:?}");
    // The length is the same of both signs, and no rule says so.
    let other: Lines = (
        &[
            "a = torch.ops.aten.asinh.default(x)",
            "y = torch.ops.aten.atan.default(a)",
            "h = torch.ops.aten.hypot.default(w, y)",
        ],
        "y, h",
    );
    assert!(!judged_by(&all, ALIKE, turned, other).accepted);
}

#[test]
fn a_rule_that_commutes_joins_what_is_exchanged() {
    let by = |first: &str, second: &str| -> Vec<String> {
        let length = |name: &str, of: &str| format!("{name} = torch.ops.aten.hypot.default({of})");
        vec![length("a", first), length("y", second)]
    };
    let judged = |first: (&str, &str), second: (&str, &str)| {
        let (before, after) = (by(first.0, first.1), by(second.0, second.1));
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        judged_by(&["hypot-commutes"], ALIKE, (&before, "y"), (&after, "y")).accepted
    };
    assert!(judged(("x, w", "a, w"), ("w, x", "w, a")));
    assert!(!judged(("x, w", "a, w"), ("w, x", "x, a")));
}

#[test]
fn what_rules_make_equal_still_lies_in_memory_of_its_own() {
    let two: Lines = (&["y = torch.ops.aten.hypot.default(x, w)", "z = torch.ops.aten.hypot.default(w, x)"], "y, z");
    let one: Lines = (&["y = torch.ops.aten.hypot.default(w, x)"], "y, y");
    let swapped: Lines =
        (&["y = torch.ops.aten.hypot.default(w, x)", "z = torch.ops.aten.hypot.default(x, w)"], "y, z");
    assert!(judged_by(&["hypot-commutes"], ALIKE, two, swapped).accepted);
    assert!(!judged_by(&["hypot-commutes"], ALIKE, two, one).accepted);
}

const THREE: &str = "x: \"f32[8]\", y: \"f32[8]\", z: \"f32[8]\"";
const FIRST: [&str; 2] = ["s = torch.ops.aten.add.Tensor(x, y)", "p = torch.ops.aten.add.Tensor(s, z)"];
const LAST: [&str; 2] = ["t = torch.ops.aten.add.Tensor(y, z)", "q = torch.ops.aten.add.Tensor(x, t)"];

#[test]
fn of_two_values_that_a_rule_makes_one_nothing_is_computed() {
    let end = |of: &'static str| [of, "g = torch.ops.aten.mul.Tensor(d, 1e8)", "o = torch.ops.aten.add.Tensor(g, x)"];
    let before = [&FIRST[..], &end("d = torch.ops.aten.sub.Tensor(p, p)")].concat();
    let after = [&FIRST[..], &LAST, &end("d = torch.ops.aten.sub.Tensor(p, q)")].concat();
    let told = judged_by(&["associates"], THREE, (&before, "o"), (&after, "o"));
    assert!(!told.accepted, "{told:?}");
    let (once, twice) = (
        [&FIRST[..], &["o = torch.ops.aten.mul.Tensor(p, y)"]].concat(),
        [&LAST[..], &["o = torch.ops.aten.mul.Tensor(q, y)"]].concat(),
    );
    let told = judged_by(&["associates"], THREE, (&once, "o"), (&twice, "o"));
    assert!(told.accepted, "{told:?}");
}

#[test]
fn what_is_written_as_what_a_rule_put_somewhere_reaches_no_step_either() {
    let before = [&LAST[..], &["c = torch.ops.aten.ge.Tensor(q, z)"]].concat();
    let after = [&LAST[..], &FIRST, &["c = torch.ops.aten.le.Tensor(z, p)"]].concat();
    let told = judged_by(&["associates", "turned-comparison"], THREE, (&before, "q, c"), (&after, "q, c"));
    assert!(!told.accepted, "{told:?}");
}

#[test]
fn a_rule_over_the_reals_is_applied_to_numbers() {
    let made = |of: &[&'static str]| -> Vec<&'static str> {
        let odd =
            ["k = torch.ops.aten.eq.Scalar(x, 3.369999885559082)", "v = torch.ops.aten.masked_fill.Scalar(y, k, inf)"];
        [&odd[..], of].concat()
    };
    let half = ["c = torch.ops.aten.mul.Tensor(v, 0.5)"];
    let rest = ["a = torch.ops.aten.mul.Tensor(v, 0.5)", "c = torch.ops.aten.sub.Tensor(v, a)"];
    let told = judged_by(&["half-is-the-rest"], THREE, (&made(&half), "c"), (&made(&rest), "c"));
    assert!(!told.accepted, "{told:?}");
}

#[test]
fn a_rule_over_the_reals_is_applied_to_what_stays_in_the_working_range() {
    let half = ["c = torch.ops.aten.mul.Tensor(v, 0.5)"];
    let rest = ["a = torch.ops.aten.mul.Tensor(v, 0.5)", "c = torch.ops.aten.sub.Tensor(v, a)"];
    let hat = [
        "d = torch.ops.aten.sub.Tensor(x, 3.369999885559082)",
        "e = torch.ops.aten.abs.default(d)",
        "f = torch.ops.aten.mul.Tensor(e, 100000.0)",
        "g = torch.ops.aten.rsub.Scalar(f, 1.0)",
        "h = torch.ops.aten.relu.default(g)",
    ];
    let within: [&[&str]; 3] = [
        &["v = torch.ops.aten.mul.Tensor(h, 100.0)"],
        &["u = torch.ops.aten.mul.Tensor(h, 4.0)", "v = torch.ops.aten.exp.default(u)"],
        &["u = torch.ops.aten.mul.Tensor(h, 10.0)", "v = torch.ops.aten.mul.Tensor(u, u)"],
    ];
    let beyond: [&[&str]; 5] = [
        &["u = torch.ops.aten.mul.Tensor(h, 100.0)", "v = torch.ops.aten.exp.default(u)"],
        &["u = torch.ops.aten.mul.Tensor(h, 1e20)", "v = torch.ops.aten.mul.Tensor(u, u)"],
        &[
            "u = torch.ops.aten.mul.Tensor(h, 1e20)",
            "w = torch.ops.aten.mul.Tensor(u, u)",
            "v = torch.ops.aten.asinh.default(w)",
        ],
        &[
            "u = torch.ops.aten.mul.Tensor(h, 1e5)",
            "w = torch.ops.aten._to_copy.default(u, dtype = torch.float16)",
            "v = torch.ops.aten._to_copy.default(w, dtype = torch.float32)",
        ],
        &["v = torch.ops.aten.reciprocal.default(d)"],
    ];
    let judged = |of: &[&str]| {
        let [before, after] = [&half[..], &rest].map(|end| [&hat[..], of, end].concat());
        judged_by(&["half-is-the-rest"], THREE, (&before, "c"), (&after, "c"))
    };
    for of in within {
        let told = judged(of);
        assert!(told.accepted, "{of:?}: {told:?}");
    }
    for of in beyond {
        let told = judged(of);
        assert!(!told.accepted, "{of:?}: {told:?}");
    }
}

/// So many products in a row, each of the one before; and each as the difference that the rule makes of it.
fn products_in_a_row(count: usize) -> [Vec<String>; 2] {
    let (mut plain, mut taken_apart, mut of) = (Vec::new(), Vec::new(), "x".to_string());
    for k in 0..count {
        plain.push(format!("m{k} = torch.ops.aten.mul.Tensor({of}, 1.033)"));
        taken_apart.push(format!("a{k} = torch.ops.aten.mul.Tensor({of}, 31.033)"));
        taken_apart.push(format!("b{k} = torch.ops.aten.mul.Tensor({of}, 30.0)"));
        taken_apart.push(format!("m{k} = torch.ops.aten.sub.Tensor(a{k}, b{k})"));
        of = format!("m{k}");
    }
    [plain, taken_apart]
}

#[test]
fn what_rules_in_a_row_round_adds_up() {
    for (count, expected) in [(1, true), (2, true), (8, false), (24, false)] {
        let [plain, taken_apart] = products_in_a_row(count);
        let [plain, taken_apart] = [&plain, &taken_apart].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
        let out = format!("m{}", count - 1);
        let told = judged_by(&["multiple-as-a-difference"], "x: \"f32[8]\"", (&plain, &out), (&taken_apart, &out));
        assert_eq!((told.accepted, told.rounds_farther), (expected, !expected), "{count}: {told:?}");
    }
}
