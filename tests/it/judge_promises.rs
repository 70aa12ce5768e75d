//! What the judge promises: `tests/cases/QUESTION/PROMISE` holds right rewrites and, beside them, the nearest wrong ones.
//!
//! Right ones are accepted and wrong ones refused, in every mode that the case names; what is right over the reals alone is refused
//! where bits count. How each is judged is written down beside them in `verdicts.txt`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::common::{committed, files_below};
use crate::judge_cases::{judge, modes};
use airlock::formats::text::{ReadOptions, case};
use airlock::ops::Registry;
use airlock::verify::{Finding, Level, Policy, Verdict};

/// A line of `verdicts.txt`, with what the verdict rests on.
fn told(v: &Verdict) -> String {
    let mut line = match (v.verdict, v.level) {
        (Finding::Proved, Some(level)) => format!("proved {level:?}").to_lowercase(),
        (finding, _) => format!("{finding:?}").to_lowercase(),
    };
    if let Some(question) = v.question {
        write!(line, ", {question:?}").unwrap();
    }
    if !v.reason.is_empty() {
        write!(line, ": {}", v.reason).unwrap();
    }
    for assumption in &v.assumes {
        write!(line, "\n    assumes {}", assumption.text()).unwrap();
    }
    line
}

/// Judges one file in its modes, and says how; what is not as its name says is added to `broken`.
fn judged(file: &Path, registry: &Registry, broken: &mut Vec<String>) -> String {
    let name = file.file_stem().unwrap().to_string_lossy();
    let text = std::fs::read_to_string(file).unwrap();
    let case = case::read(&text, &ReadOptions::of_file(&file.display().to_string())).unwrap_or_else(|e| panic!("{e}"));
    let is_right = name.starts_with("right");
    assert!(is_right || name.starts_with("wrong"), "{}: neither right nor wrong", file.display());
    let mut lines = String::new();
    // What values are does not hang on the mode.
    let asked = if file.components().any(|c| c.as_os_str() == "values") { 1 } else { usize::MAX };
    for mode in modes(&case).into_iter().take(asked) {
        let v = judge(&case, registry, mode, Policy::Default);
        if v.accepted != is_right {
            broken.push(format!("{} in {}: {}", file.display(), mode.name(), told(&v)));
        }
        if is_right && v.level == Some(Level::Real) {
            let strict = judge(&case, registry, mode, Policy::Strict);
            if strict.accepted {
                broken.push(format!("{}: bits that differ are accepted as equal", file.display()));
            }
        }
        let line = format!("{}\n", told(&v));
        if !lines.ends_with(&line) {
            write!(lines, "{name}: {line}").unwrap();
        }
    }
    lines
}

#[test]
fn each_promise_is_kept_and_the_nearest_wrong_rewrite_refused() {
    let registry = Registry::standard();
    let (mut promises, mut broken) = (BTreeMap::<PathBuf, String>::new(), Vec::new());
    for file in files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases"), "case") {
        let lines = judged(&file, &registry, &mut broken);
        promises.entry(file.parent().unwrap().to_path_buf()).or_default().push_str(&lines);
    }
    assert_eq!(broken, Vec::<String>::new(), "promises that are not kept");
    assert!(promises.len() >= 60, "only {} promises found", promises.len());
    for (folder, lines) in promises {
        assert!(lines.contains("wrong"), "{}: nothing stands beside that is refused", folder.display());
        committed::hold(folder.join("verdicts.txt"), lines);
    }
}

#[test]
fn strides_of_outputs_are_told_and_judged_by_the_strict_policy_alone() {
    let registry = Registry::standard();
    let graph = |clone: &str| {
        let text = format!(
            "def forward(self, x: \"f32[2, 3]\"):
    turned: \"f32[3, 2]\" = torch.ops.aten.permute.default(x, [1, 0])
    out: \"f32[3, 2]\" = {clone}
    return (out,)
"
        );
        airlock::formats::text::read(&text, &ReadOptions::of_file("g.fx")).unwrap_or_else(|e| panic!("{}", e.render()))
    };
    let kept = graph("torch.ops.aten.clone.default(turned)");
    let packed = graph("torch.ops.aten.clone.default(turned, memory_format = torch.contiguous_format)");
    let judged = |after, policy| {
        let options = airlock::verify::JudgeOptions { policy, ..Default::default() };
        airlock::verify::judge_pair(&kept, after, &registry, &options)
    };
    let told = ["output 0 lies in strides (1, 3) before, (2, 1) after"];
    for (policy, accepted) in [(Policy::Default, true), (Policy::Strict, false)] {
        let verdict = judged(&packed, policy);
        assert_eq!((verdict.accepted, verdict.verdict), (accepted, Finding::Proved), "{policy:?}");
        assert_eq!(verdict.strides, told, "{policy:?}");
        assert!(judged(&kept, policy).accepted && judged(&kept, policy).strides.is_empty(), "{policy:?}");
    }
}
