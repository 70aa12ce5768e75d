//! Rules that a user states: the gate, and what rests on them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::e2e::{airlock, file, json, text};

const MODEL: &str = "class M(torch.nn.Module):\n    def forward(self, x: \"f32[5, 6]\", w: \"f32[6, 6]\"):\n";

fn rule(name: &str) -> PathBuf {
    file("tests/user-rules").join(format!("{name}.case"))
}

fn write(folder: &Path, name: &str, lines: &[&str], out: &str) -> PathBuf {
    let body: String = lines.iter().map(|l| format!("        {l}\n")).collect();
    let path = folder.join(name);
    std::fs::write(&path, format!("{MODEL}{body}        return ({out},)\n")).unwrap();
    path
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
            "sum-in-another-order" => assert_eq!(told["backwards"]["by"], "proof"),
            "variance-of-two-passes" => {
                assert_eq!((&told["admitted"]["by"], &told["backwards"]), (&"proof".into(), &Value::Null));
            }
            "atan-is-odd" | "asinh-is-odd" | "hypot-commutes" => {
                assert!(["admitted", "backwards"].iter().all(|way| told[way]["inputs"].as_u64().unwrap() >= 40));
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
    let folder = tempfile::tempdir().unwrap();
    let odd = rule("atan-is-odd").display().to_string();
    let swap = |from: &str, to: &str| -> Vec<String> { AFTER.iter().map(|l| l.replace(from, to)).collect() };
    let wrongs = [
        swap("neg.default(s)", "abs.default(s)"),
        swap("neg.default(x)", "neg.default(m)"),
        swap("atan.default(n)", "sin.default(n)"),
        swap("add.Tensor(a, b)", "sub.Tensor(a, b)"),
    ];
    let before = write(folder.path(), "a.fx", BEFORE, "y");
    for (k, wrong) in wrongs.iter().enumerate() {
        let lines: Vec<&str> = wrong.iter().map(String::as_str).collect();
        let after = write(folder.path(), &format!("{k}.fx"), &lines, "y");
        let output = airlock().arg("verify").args([&before, &after]).args(["--rules", &odd]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{k}: {}", text(&output.stdout));
    }
}

#[test]
fn what_a_rule_says_over_the_reals_reaches_no_step() {
    let folder = tempfile::tempdir().unwrap();
    let odd = rule("atan-is-odd").display().to_string();
    let (before, after) = (
        "y = torch.ops.aten.atan.default(x)",
        "n = torch.ops.aten.neg.default(x)\n        a = torch.ops.aten.atan.default(n)\n        y = torch.ops.aten.neg.default(a)",
    );
    for (of, expected) in [
        ("exp.default(y)", 0),
        ("sqrt.default(y)", 1),
        ("div.Tensor(x, y)", 1),
        ("gt.Scalar(y, 0.5)", 1),
        ("floor.default(y)", 1),
        ("_to_copy.default(y, dtype = torch.int64)", 1),
        ("argmax.default(y, 1)", 1),
    ] {
        let lines = [before, after].map(|y| [y.to_string(), format!("z = torch.ops.aten.{of}")]);
        let [a, b] = lines.map(|lines| {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            write(folder.path(), &format!("{}.fx", lines[0].len()), &lines, "z")
        });
        let output = airlock().arg("verify").args([a, b]).args(["--rules", &odd]).output().unwrap();
        assert_eq!(output.status.code(), Some(expected), "{of}: {}", text(&output.stdout));
    }
}

#[test]
fn a_rule_is_used_on_its_own_dtype_and_rank_alone() {
    let folder = tempfile::tempdir().unwrap();
    let odd = rule("atan-is-odd").display().to_string();
    for of in ["f64[5, 6]", "f32[5, 6, 2]", "f32[30]"] {
        let pair = [
            "y = torch.ops.aten.atan.default(x)",
            "n = torch.ops.aten.neg.default(x)\n        a = torch.ops.aten.atan.default(n)\n        y = torch.ops.aten.neg.default(a)",
        ];
        let files = pair.map(|lines| {
            let path = folder.path().join(format!("{}.fx", lines.len()));
            let head = format!("class M(torch.nn.Module):\n    def forward(self, x: \"{of}\"):\n");
            std::fs::write(&path, format!("{head}        {lines}\n        return (y,)\n")).unwrap();
            path
        });
        let output = airlock().arg("verify").args(&files).args(["--rules", &odd]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{of}: {}", text(&output.stdout));
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

const SIDES: &str = "class M(torch.nn.Module):\n    def forward(self, x: \"f32[5, 6]\", w: \"f32[5, 6]\"):\n";

/// What `verify` says of two graphs over `x` and `w` by these rules.
fn judged_by(rules: &[&str], before: (&[&str], &str), after: (&[&str], &str)) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let mut command = airlock();
    command.arg("verify");
    for (name, (lines, out)) in [("a.fx", before), ("b.fx", after)] {
        let body: String = lines.iter().map(|l| format!("        {l}\n")).collect();
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{SIDES}{body}        return ({out},)\n")).unwrap();
        command.arg(path);
    }
    rules.iter().for_each(|name| {
        command.arg("--rules").arg(rule(name));
    });
    json(&command.args(["--format", "json"]).output().unwrap())
}

#[test]
fn rules_hold_in_any_order_and_both_ways() {
    let turned: (&[&str], &str) = (
        &[
            "n = torch.ops.aten.neg.default(x)",
            "a = torch.ops.aten.asinh.default(n)",
            "b = torch.ops.aten.atan.default(a)",
            "h = torch.ops.aten.hypot.default(b, w)",
            "y = torch.ops.aten.neg.default(b)",
        ],
        "y, h",
    );
    let plain: (&[&str], &str) = (
        &[
            "a = torch.ops.aten.asinh.default(x)",
            "y = torch.ops.aten.atan.default(a)",
            "n = torch.ops.aten.neg.default(y)",
            "h = torch.ops.aten.hypot.default(w, n)",
        ],
        "y, h",
    );
    let all = ["atan-is-odd", "asinh-is-odd", "hypot-commutes"];
    let told = judged_by(&all, turned, plain);
    assert_eq!(told["accepted"], true, "{told}");
    let assumes = told["assumes"].to_string();
    assert!(all.iter().all(|name| assumes.contains(name)), "{assumes}");
    // Of what is odd and odd again there is no end, and none of it exchanges what a length is of.
    let told = judged_by(&all[..2], plain, turned);
    assert!(told["accepted"] == false && told["stopped"] == "rules", "{told}");
    // The length is the same of both signs, and no rule says so.
    let other: (&[&str], &str) = (
        &[
            "a = torch.ops.aten.asinh.default(x)",
            "y = torch.ops.aten.atan.default(a)",
            "h = torch.ops.aten.hypot.default(w, y)",
        ],
        "y, h",
    );
    assert_eq!(judged_by(&all, turned, other)["accepted"], false);
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
        judged_by(&["hypot-commutes"], (&before, "y"), (&after, "y"))
    };
    assert_eq!(judged(("x, w", "a, w"), ("w, x", "w, a"))["accepted"], true);
    assert_eq!(judged(("x, w", "a, w"), ("w, x", "x, a"))["accepted"], false);
}

#[test]
fn what_rules_make_equal_still_lies_in_memory_of_its_own() {
    let two: (&[&str], &str) =
        (&["y = torch.ops.aten.hypot.default(x, w)", "z = torch.ops.aten.hypot.default(w, x)"], "y, z");
    let one: (&[&str], &str) = (&["y = torch.ops.aten.hypot.default(w, x)"], "y, y");
    let swapped: (&[&str], &str) =
        (&["y = torch.ops.aten.hypot.default(w, x)", "z = torch.ops.aten.hypot.default(x, w)"], "y, z");
    assert_eq!(judged_by(&["hypot-commutes"], two, swapped)["accepted"], true);
    assert_eq!(judged_by(&["hypot-commutes"], two, one)["accepted"], false);
}
