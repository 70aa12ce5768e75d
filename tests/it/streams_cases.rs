//! Every case about streams is judged as its label says, for the question that it is about, in both name spaces; and every
//! graph is equal to itself, hazards of its own included.

use crate::common::files;
use airlock::formats::text::{ReadOptions, case};
use airlock::ops::Registry;
use airlock::verify::{Closure, JudgeOptions, Mode, Question, Verdict, judge_pair};

fn cases() -> Vec<(String, String)> {
    let found = files("case").into_iter().map(|f| (f.display().to_string(), std::fs::read_to_string(&f).unwrap()));
    let found: Vec<(String, String)> = found.filter(|(_, text)| text.contains("area = \"streams\"")).collect();
    assert!(found.len() >= 90, "only {} cases found", found.len());
    found
}

fn options(case: &case::Case, closure: Option<&str>) -> JudgeOptions {
    JudgeOptions {
        mode: case.meta.mode.as_deref().and_then(Mode::from_name).unwrap(),
        may_alias: case.meta.may_alias.clone(),
        tags: case.meta.tags.clone(),
        closure: if closure == Some("applied") { Closure::InGraph } else { Closure::ByMode },
        ..JudgeOptions::default()
    }
}

fn judge(name: &str, text: &str, registry: &Registry) -> (case::Case, Verdict) {
    let case = case::read(text, &ReadOptions::of_file(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let verdict = judge_pair(&case.before, &case.after, registry, &options(&case, case.meta.closure.as_deref()));
    (case, verdict)
}

fn is_right(label: &str, v: &Verdict) -> bool {
    match label {
        "equivalent" => v.accepted,
        "race" => !v.accepted && v.question == Some(Question::Order),
        "lifetime" => !v.accepted && v.question == Some(Question::Lifetime),
        "malformed" => !v.accepted && v.question == Some(Question::Form),
        _ => !v.accepted,
    }
}

#[test]
fn every_case_is_judged_as_its_label_says_in_both_name_spaces() {
    let registry = Registry::standard();
    for (name, text) in cases() {
        let other = text.replace("torch.ops.air.", "torch.ops.npugraph_ex.");
        for text in [&text, &other] {
            let (case, v) = judge(&name, text, &registry);
            assert!(is_right(&case.meta.label, &v), "{name} ({}): {v:#?}", case.meta.label);
        }
    }
}

#[test]
fn every_graph_is_equal_to_itself_hazards_of_its_own_included() {
    let registry = Registry::standard();
    for (name, text) in cases() {
        let (case, _) = judge(&name, &text, &registry);
        let mut graphs = vec![(&case.before, None)];
        if case.meta.label != "malformed" {
            graphs.push((&case.after, case.meta.closure.as_deref()));
        }
        for (graph, closure) in graphs {
            let v = judge_pair(graph, graph, &registry, &options(&case, closure));
            assert!(v.accepted, "{name}: {v:#?}");
        }
    }
}
