//! A certificate is shown again without a search, and what was changed in it is refused.
//!
//! `AIRLOCK_CORPUS=DIR` runs this over every `.case` below DIR too.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::{files, files_below};
use airlock::certificate::{Answered, Certificate, Conditions, GraphDigest, Position, Rests, Step, Version};
use airlock::formats::text::{self, ReadOptions, case};
use airlock::graph::{BodyId, Graph, NodeKind, View};
use airlock::ops::Registry;
use airlock::verify::{Again, Finding, JudgeOptions, Level, Mode, certify, check_certificate};
use serde_json::Value;

fn registry() -> Registry {
    let mut registry = Registry::standard();
    if let Some(corpus) = std::env::var_os("AIRLOCK_CORPUS")
        && let Ok(text) = std::fs::read_to_string(Path::new(&corpus).join("ops.toml"))
    {
        registry.extend_toml(&text).unwrap();
    }
    registry
}

fn read(file: &Path) -> case::Case {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).unwrap();
    case::read(&text, &ReadOptions::of_file(&name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn options(case: &case::Case) -> JudgeOptions {
    let mode = case.meta.mode.as_deref().and_then(Mode::from_name).unwrap_or_default();
    let mut options = JudgeOptions::of_case(&case.meta, mode);
    options.budget.time_ms = 60_000;
    options
}

fn cases() -> Vec<(String, case::Case)> {
    let read = |file: &std::path::PathBuf| (file.display().to_string(), read(file));
    files("case").iter().filter(|f| !f.display().to_string().contains("languages")).map(read).collect()
}

/// Rewrites of which none may be accepted: those that a label says so of, and those beside a promise.
fn wrong_cases() -> impl Iterator<Item = (String, case::Case)> {
    let labels = ["different", "race", "lifetime", "malformed"];
    let labelled = cases().into_iter().filter(move |(_, case)| labels.contains(&case.meta.label.as_str()));
    let promises = files_below(Path::new("tests/cases"), "case");
    let is_wrong =
        |file: &std::path::PathBuf| file.file_stem().is_some_and(|s| s.to_string_lossy().starts_with("wrong"));
    labelled.chain(promises.into_iter().filter(is_wrong).map(|file| (file.display().to_string(), read(&file))))
}

fn label_is_right(case: &case::Case) -> bool {
    matches!(case.meta.label.as_str(), "exact" | "real" | "equivalent")
}

#[test]
fn what_is_accepted_has_a_certificate_and_it_holds() {
    let registry = registry();
    let (mut held, mut steps, mut again, mut kept) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for (name, case) in cases().into_iter().filter(|(_, c)| label_is_right(c)) {
        let options = options(&case);
        let made = certify(&case.before, &case.after, &registry, &options);
        if !made.verdict.accepted {
            assert!(made.certificate.is_none(), "{name}");
            continue;
        }
        let Some(certificate) = made.certificate else {
            wrong.push(format!("{name}: accepted, and there is no certificate"));
            continue;
        };
        let read = Certificate::read(certificate.to_json().as_bytes()).unwrap();
        // Another seed than that of the search.
        let check = JudgeOptions { seed: 7, ..options };
        match check_certificate(&read, &case.before, &case.after, &registry, &check) {
            Ok(found) => {
                assert_eq!(found.verdict.level, Some(certificate.level), "{name}");
                again += usize::from(found.again == Again::Shown);
                kept += usize::from(matches!(found.again, Again::Kept(_)));
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
        held += 1;
        steps += certificate.steps.len();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    eprintln!("{held} certificates hold, of {steps} steps; {again} were shown again without writes, {kept} were not");
    assert!(held > 100 && steps > 50, "{held} {steps}");
    assert!(again > 4 * kept, "{again} {kept}");
}

const BEFORE: &str = "
class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4, 6]\", y: \"f32[4, 6]\"):
        m = torch.ops.aten.amax.default(x, [1], True)
        shifted = torch.ops.aten.sub.Tensor(x, m)
        exp = torch.ops.aten.exp.default(shifted)
        t = torch.ops.aten.permute.default(exp, [1, 0])
        u = torch.ops.aten.permute.default(t, [1, 0])
        s = torch.ops.aten.sum.dim_IntList(u, [1], True)
        div = torch.ops.aten.div.Tensor(u, s)
        out = torch.ops.aten.add.Tensor(div, y)
        return (out,)
";
const AFTER: &str = "
class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4, 6]\", y: \"f32[4, 6]\"):
        soft = torch.ops.aten._softmax.default(x, 1, False)
        out = torch.ops.aten.add.Tensor(soft, y)
        return (out,)
";

fn pair(before: &str, after: &str) -> case::Case {
    let text = format!("=== meta\nlabel = \"real\"\n=== before\n{before}\n=== after\n{after}");
    case::read(&text, &ReadOptions::default()).unwrap()
}

/// Seals a changed certificate again, as a liar would.
fn sealed(mut value: Value) -> String {
    value["seal"] = "".into();
    value["seal"] = blake3::hash(&serde_json::to_vec(&value).unwrap()).to_hex().to_string().into();
    value.to_string()
}

/// Changes each word of a certificate of a pair, one at a time, and seals it again: returns where that is believed, and how often it is not.
fn believed(case: &case::Case, certificate: &Certificate, options: &JudgeOptions) -> (Vec<String>, usize) {
    let registry = Registry::standard();
    let value: Value = serde_json::from_str(&certificate.to_json()).unwrap();
    assert!(Certificate::read(sealed(value.clone()).as_bytes()).is_ok(), "the seal of the test is that of the format");
    let mut open = vec![String::new()];
    let (mut refused, mut accepted) = (0, Vec::new());
    while let Some(at) = open.pop() {
        let mut other = value.clone();
        let place = other.pointer_mut(&at).unwrap();
        match place.clone() {
            Value::Object(o) => {
                open.extend(o.keys().map(|k| format!("{at}/{k}")));
                continue;
            }
            Value::Array(a) => {
                open.extend((0..a.len()).map(|k| format!("{at}/{k}")));
                // An entry less.
                if a.is_empty() {
                    continue;
                }
                *place = a[1..].to_vec().into();
            }
            Value::Number(n) => *place = (n.as_i64().unwrap() + 1).into(),
            Value::Null => *place = "exact".into(),
            Value::String(s) if s == "real" => *place = "exact".into(),
            Value::String(s) if s == "exact" => *place = "real".into(),
            Value::String(s) if s == "max-autotune" => *place = "reduce-overhead".into(),
            Value::String(s) => *place = format!("{s}x").into(),
            Value::Bool(b) => *place = (!b).into(),
        }
        let read = match Certificate::read(sealed(other).as_bytes()) {
            Ok(read) if at != "/seal" => read,
            _ => {
                refused += 1;
                continue;
            }
        };
        match check_certificate(&read, &case.before, &case.after, &registry, options) {
            Ok(_) => accepted.push(at),
            Err(_) => refused += 1,
        }
    }
    accepted.sort();
    (accepted, refused)
}

#[test]
fn a_certificate_that_was_changed_and_sealed_again_is_refused() {
    let case = pair(BEFORE, AFTER);
    let options = JudgeOptions { seed: 3, ..options(&case) };
    let certificate = certify(&case.before, &case.after, &Registry::standard(), &options).certificate.unwrap();
    assert_eq!(certificate.level, Level::Real);
    // Who made it says nothing; what holds for one mode is shown for the other, too.
    let (accepted, refused) = believed(&case, &certificate, &options);
    assert_eq!(accepted, ["/airlock", "/under/mode"], "{refused} refused");
}

#[test]
fn what_is_shown_of_graphs_without_writes_is_refused_where_it_was_changed() {
    let before = "
class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[1, 6]\"):
        e = torch.ops.aten.slice.Tensor(x, 1, 6)
        t = torch.ops.aten.type_as.default(e, e)
        q = torch.ops.aten.square_.default(t)
        c = torch.ops.aten.clamp.default(e, 0, 0)
        out = torch.ops.aten.slice.Tensor(q, 1, None, -1)
        return (out,)
";
    let case = pair(before, &before.replace("clamp.default", "clamp_.default"));
    let options = JudgeOptions { seed: 3, ..options(&case) };
    let certificate = certify(&case.before, &case.after, &Registry::standard(), &options).certificate.unwrap();
    assert!(!certificate.without_writes.is_empty());
    let (accepted, refused) = believed(&case, &certificate, &options);
    let of_steps = |at: &&String| at.contains("steps") || at.contains("without_writes");
    assert_eq!(accepted.iter().filter(of_steps).count(), 0, "{accepted:?}, {refused} refused");
}

#[test]
fn a_value_that_is_shown_to_be_an_input_is_still_known_by_how_it_is_made() {
    let before = "
class GraphModule(torch.nn.Module):
    def forward(self, x: \"b8[]\"):
        w = torch.ops.aten.mul.Tensor(x, x)
        m = torch.ops.aten.mul.Tensor(w, w)
        a = torch.ops.aten._assert_async.msg(m, 'holds')
        return (m,)
";
    let case = pair(before, &before.replace("msg(m,", "msg(x,"));
    let (registry, options) = (Registry::standard(), options(&case));
    let certificate = certify(&case.before, &case.after, &registry, &options).certificate.unwrap();
    assert!(!certificate.steps.is_empty());
    check_certificate(&certificate, &case.before, &case.after, &registry, &options).unwrap();
}

#[test]
fn what_rests_on_fingerprints_says_so_and_is_drawn_again() {
    let registry = Registry::standard();
    let folder = "cases/values/fingerprints_check_what_no_rule_shows";
    let case = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder).join("right.case"));
    let options = options(&case);
    let made = certify(&case.before, &case.after, &registry, &options);
    assert_eq!(made.verdict.verdict, Finding::Checked, "{}", made.verdict.reason);
    assert!(made.verdict.bound_log2.is_some_and(|log2| log2 <= -40.0));
    let certificate = made.certificate.unwrap();
    assert_eq!(certificate.checked_log2, made.verdict.bound_log2);
    check_certificate(&certificate, &case.before, &case.after, &registry, &options).unwrap();
    let claim = |change: fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&certificate.to_json()).unwrap();
        change(&mut value);
        Certificate::read(sealed(value).as_bytes()).unwrap()
    };
    let proved = claim(|value| drop(value.as_object_mut().unwrap().shift_remove("checked_log2")));
    let error = check_certificate(&proved, &case.before, &case.after, &registry, &options).unwrap_err();
    assert!(error.to_string().contains("checked"), "{error}");
    let surer = claim(|value| value["checked_log2"] = (-1e9).into());
    let error = check_certificate(&surer, &case.before, &case.after, &registry, &options).unwrap_err();
    assert!(error.to_string().contains("checked"), "{error}");
    let exact =
        claim(|value| value["steps"].as_array_mut().unwrap().iter_mut().for_each(|s| s["level"] = "exact".into()));
    check_certificate(&exact, &case.before, &case.after, &registry, &options).unwrap_err();
    // Whoever knows the numbers could make an edit for them.
    let repeatable = JudgeOptions { is_repeatable: true, ..options.clone() };
    check_certificate(&certificate, &case.before, &case.after, &registry, &repeatable).unwrap_err();
    assert_eq!(certify(&case.before, &case.after, &registry, &repeatable).verdict.verdict, Finding::Unknown);
}

#[test]
fn a_step_over_the_reals_is_one_way() {
    let registry = Registry::standard();
    let case = pair(BEFORE, AFTER);
    let options = JudgeOptions { seed: 3, ..options(&case) };
    let certificate = certify(&case.before, &case.after, &registry, &options).certificate.unwrap();
    let mut value: Value = serde_json::from_str(&certificate.to_json()).unwrap();
    let step = value["steps"].as_array().unwrap().iter().position(|s| s["level"] == "real").unwrap();
    let (one, other) = (value["steps"][step]["one"].clone(), value["steps"][step]["other"].clone());
    value["steps"][step]["one"] = other;
    value["steps"][step]["other"] = one;
    let turned = Certificate::read(sealed(value).as_bytes()).unwrap();
    let error = check_certificate(&turned, &case.before, &case.after, &registry, &options).unwrap_err().to_string();
    assert!(error.contains("held to one of the graph as it was"), "{error}");
}

/// Returns the names of calls that two graphs write alike, those of what they are given included.
fn written_alike(before: &Graph, after: &Graph) -> Vec<String> {
    let lines = |graph: &Graph| -> Vec<(String, String)> {
        let calls = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call);
        calls.map(|n| (graph.name(n).to_string(), text::write_node_line(graph, n))).collect()
    };
    let (old, new) = (lines(before), lines(after));
    let mut differ: BTreeSet<String> = old.iter().chain(&new).map(|(name, _)| name.clone()).collect();
    let mut alike = Vec::new();
    for (name, line) in new.iter().filter(|line| old.contains(line)) {
        let given = line.split_once('=').map_or("", |(_, given)| given);
        if given.split(|c: char| !c.is_alphanumeric() && c != '_').all(|word| !differ.contains(word)) {
            differ.remove(name);
            alike.push(name.clone());
        }
    }
    alike
}

/// Returns a certificate that claims that every output is equal, whatever that rests on; `first`: once all that is written alike is.
fn lie(
    case: &case::Case,
    registry: &Registry,
    options: &JudgeOptions,
    level: Level,
    first: bool,
) -> Option<Certificate> {
    let (mut before, mut after) = (case.before.clone(), case.after.clone());
    registry.check_types(&mut before);
    registry.check_types(&mut after);
    let outputs = |graph: &airlock::graph::Graph| -> Vec<String> {
        let output = graph.output(BodyId::ROOT);
        output.map(|o| graph.operands(o).map(|n| graph.name(n).to_string()).collect()).unwrap_or_default()
    };
    let position = |graph: &str, node: String| Position {
        graph: graph.into(),
        node,
        result: None,
        version: Version::Born,
        of: "value".into(),
    };
    let alike = if first { written_alike(&before, &after) } else { Vec::new() };
    if first && alike.is_empty() {
        return None;
    }
    let step =
        |level: Level, a: String, b: String| Step { level, one: position("before", a), other: position("after", b) };
    let last = outputs(&before).into_iter().zip(outputs(&after)).map(|(a, b)| step(level, a, b));
    let steps = alike.into_iter().map(|name| step(Level::Exact, name.clone(), name)).chain(last);
    let answers = ["form", "values", "effects", "order", "lifetime"];
    let answers = answers.map(|q| Answered { question: q.into(), level: (q == "values").then_some(level) });
    let domains = options.domains.iter().map(|(name, d)| (name.clone(), format!("{d:?}")));
    let under = Conditions {
        mode: options.mode.name().into(),
        may_alias: options.may_alias.clone(),
        tags: options.tags.clone(),
        closure: "by-mode".into(),
        inputs: domains.collect(),
        lenient: Vec::new(),
    };
    let sizes = airlock::certificate::ranges(&before);
    let digests = [GraphDigest::of(&before), GraphDigest::of(&after)];
    Some(Certificate::new(
        digests,
        (sizes, under),
        (level, answers.to_vec()),
        Rests::default(),
        (steps.clone().collect(), steps.collect()),
    ))
}

#[test]
fn no_lie_of_what_differs_is_believed() {
    let registry = registry();
    let (mut asked, mut past_the_head, mut believed) = (0, 0, Vec::new());
    for (name, case) in wrong_cases() {
        let options = JudgeOptions { seed: 5, ..options(&case) };
        for (level, first) in [(Level::Exact, false), (Level::Real, false), (Level::Real, true)] {
            let Some(certificate) = lie(&case, &registry, &options, level, first) else { continue };
            asked += 1;
            let checked = check_certificate(&certificate, &case.before, &case.after, &registry, &options);
            let Err(error) = checked else {
                believed.push(format!("{name} at {level:?}"));
                continue;
            };
            let error = error.to_string();
            past_the_head += usize::from(!error.contains("of another graph") && !error.contains("the conditions"));
        }
    }
    assert_eq!(believed, Vec::<String>::new(), "lies that were believed");
    eprintln!("{asked} lies, {past_the_head} of which name the right graphs and conditions");
    assert!(past_the_head > 100, "{past_the_head} of {asked}");
}

#[test]
fn a_certificate_for_less_memory_than_the_host_states_is_refused() {
    let registry = registry();
    let case = pair(BEFORE, AFTER);
    let made = certify(&case.before, &case.after, &registry, &options(&case)).certificate.unwrap();
    let check = |options: &JudgeOptions| check_certificate(&made, &case.before, &case.after, &registry, options);
    assert!(check(&options(&case)).is_ok());
    let stated = JudgeOptions { may_alias: vec![("x".into(), "y".into())], ..options(&case) };
    let refused = check(&stated).unwrap_err().to_string();
    assert!(refused.contains("`x` and `y` may be one memory"), "{refused}");
    let of_streams = JudgeOptions { mode: Mode::ReduceOverhead, ..options(&case) };
    let refused = check(&of_streams).unwrap_err().to_string();
    assert!(refused.contains("reduce-overhead"), "{refused}");
}

#[test]
fn a_certificate_is_of_two_graphs_and_no_others() {
    let registry = Registry::standard();
    let case = pair(BEFORE, AFTER);
    let options = JudgeOptions { seed: 3, ..options(&case) };
    let certificate = certify(&case.before, &case.after, &registry, &options).certificate.unwrap();
    let other = pair(BEFORE, &AFTER.replace("x, 1, False", "x, 0, False"));
    let error = check_certificate(&certificate, &other.before, &other.after, &registry, &options).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("of another graph after"), "{error}");
    let renamed = pair(&BEFORE.replace("div", "quotient"), AFTER);
    let error = check_certificate(&certificate, &renamed.before, &renamed.after, &registry, &options).unwrap_err();
    assert!(error.to_string().contains("of another graph before"), "{error}");
}

#[cfg(feature = "sandbox")]
mod of_a_run {
    use crate::e2e::{airlock, component, json, listing, model, text};

    #[test]
    fn the_certificates_of_a_run_lead_from_the_model_to_what_was_written() {
        let Some(dedup) = component("dedup") else { return };
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let bert = model("bert", "core");
        let mut run = airlock();
        run.arg("run").arg(&bert).arg("--pass").arg(&dedup).arg("-o").arg(at("out.pt2"));
        let done = run.arg("--certificates").arg(at("proofs")).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let files = listing(&at("proofs"));
        assert!(files.len() >= 4 && files.len().is_multiple_of(2), "{files:?}");
        let check = |out: &std::path::Path| {
            let mut command = airlock();
            command.arg("check-certificate").arg(at("proofs")).arg(&bert).arg(out).args(["--format", "json"]);
            command.output().unwrap()
        };
        let checked = check(&at("out.pt2"));
        assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
        assert_eq!(json(&checked)["certificates"].as_array().unwrap().len(), files.len() / 2);
        // What was written is not what came.
        let checked = check(&bert);
        assert_eq!(checked.status.code(), Some(1));
        assert_eq!(json(&checked)["holds"], false);
    }

    #[test]
    fn what_is_refused_leaves_no_certificate() {
        let Some(broken) = component("broken") else { return };
        let folder = tempfile::tempdir().unwrap();
        let proofs = folder.path().join("proofs");
        let mut run = airlock();
        run.arg("run").arg(model("bert", "core")).arg("--no-builtin").arg("--pass").arg(&broken);
        let done = run.arg("--certificates").arg(&proofs).output().unwrap();
        assert_eq!(done.status.code(), Some(1), "{}", text(&done.stderr));
        assert!(listing(&proofs).is_empty());
    }
}
