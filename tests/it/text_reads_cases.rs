//! Both programs of every case read; those that are labelled well formed are.
//!
//! `AIRLOCK_CORPUS=DIR` runs this over every `.case` below DIR too.

use crate::common::{describe, files, read};
use airlock::analysis::form::check_form;
use airlock::formats::text::{ReadOptions, case, write};

#[test]
fn both_programs_of_every_case_read_and_print_to_the_same_graph() {
    let mut count = 0;
    for file in files("case") {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let case = case::read(&text, &ReadOptions::of_file(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!case.meta.name.is_empty() && !case.meta.label.is_empty(), "{name}");
        for graph in [&case.before, &case.after] {
            if check_form(graph).is_empty() {
                assert_eq!(describe(graph), describe(&read(&file, &write(graph))), "{name}");
            }
        }
        count += 1;
    }
    assert!(count >= 10, "only {count} cases found");
}

#[test]
fn what_is_not_labelled_malformed_is_well_formed() {
    for file in files("case") {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let case = case::read(&text, &ReadOptions::of_file(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(check_form(&case.before), [], "{name}: before");
        let judged_malformed = case.meta.judged.as_deref() == Some("malformed");
        if case.meta.label != "malformed" && !judged_malformed {
            assert_eq!(check_form(&case.after), [], "{name}: after");
        }
    }
}

#[test]
fn what_is_malformed_by_form_alone_is_found() {
    let of_form = |what: &str| {
        [
            "used before it is defined",
            "without scope_enter",
            "without scope_exit",
            "as many values",
            "wait on nothing",
            "defined twice",
        ]
        .iter()
        .any(|w| what.contains(w))
    };
    let mut count = 0;
    for file in files("case") {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).unwrap();
        let case = case::read(&text, &ReadOptions::of_file(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let what = case.meta.other.get("what").and_then(toml::Value::as_str).unwrap_or("");
        if case.meta.label == "malformed" && of_form(what) {
            assert!(!check_form(&case.after).is_empty(), "{name}: {what}");
            count += 1;
        }
    }
    assert!(count >= 4, "only {count} cases found");
}
