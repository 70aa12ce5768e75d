//! Every rule that evidence may name is told, and `docs/rules.md` tells what the files of the rules say.
//!
//! `AIRLOCK_UPDATE=1` writes the page anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::common::committed;
use airlock::rules::Level;
use airlock::rules::catalog::FAMILIES;

fn rule_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rule_files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn every_name_that_evidence_may_state_is_of_a_family() {
    let mut files = Vec::new();
    rule_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules"), &mut files);
    let mut stated: BTreeSet<String> = BTreeSet::new();
    for file in files {
        let text: String = std::fs::read_to_string(&file).unwrap().split_whitespace().collect();
        for call in [".by(\"", "applied.insert(\""] {
            for part in text.split(call).skip(1) {
                stated.insert(part.split('"').next().unwrap().to_string());
            }
        }
    }
    let told: BTreeSet<String> = FAMILIES.iter().flat_map(|f| f.rules).map(|r| (*r).to_string()).collect();
    assert_eq!(told, stated);
}

#[test]
fn every_family_says_what_it_says_and_when_it_is_wrong() {
    for family in FAMILIES.iter().filter(|f| !["meaning.rs", "element/equal.rs"].contains(&f.file)) {
        let text = family.text();
        assert!(text.contains("## What it says") && text.contains("## When it is wrong"), "{}", family.file);
        assert!(family.title().ends_with('.'), "{}: {}", family.file, family.title());
    }
}

#[test]
fn the_page_of_rules_is_what_their_files_say() {
    let mut page = String::from(
        "# Rules\n\nBy which values are shown equal. This page is made from the heads of the files of `src/rules` \
         (`AIRLOCK_UPDATE=1 cargo test --test it rules_doc`); `airlock rules NAME` tells the same of one.\n\n\
         *exact*: bit by bit. *real*: over the reals; these are asked together: equality over a field, what NaN does, and a bound of rounding.\n\
         Names in brackets are those that the evidence of a verdict states.\n",
    );
    for family in FAMILIES {
        let level = if family.level == Level::Exact { "exact" } else { "real" };
        let rules = family.rules.iter().map(|r| format!("`{r}`")).collect::<Vec<_>>().join(", ");
        let rules = if rules.is_empty() { rules } else { format!("\n[{rules}]\n") };
        let text = family.text().replace("\n## ", "\n### ");
        page.push_str(&format!("\n## {} ({level}, `src/rules/{}`)\n{rules}\n{text}\n", family.name, family.file));
    }
    committed::hold("docs/rules.md", &page);
}
