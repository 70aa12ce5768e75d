//! Every file of the fuzzers' corpus, and some hundred mutants of each, ends as it must: in a value that keeps its promises, or in an error.
//!
//! The fuzzers themselves (`fuzz/`, `docs/fuzzing.md`) look at coverage and run for hours; this runs on any toolchain.

use std::path::{Path, PathBuf};

use crate::common::committed;

#[path = "../../fuzz/targets.rs"]
mod targets;

/// Files of a target, in order.
fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = files.map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

/// Mutants of a file: bytes changed, dropped, doubled, runs of it moved.
fn mutants(bytes: &[u8], seed: u64, count: usize) -> impl Iterator<Item = Vec<u8>> + '_ {
    let mut state = seed;
    let mut next = move |below: usize| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % below.max(1) as u64) as usize
    };
    (0..count).map(move |_| {
        let mut mutant = bytes.to_vec();
        for _ in 0..=next(4) {
            let at = next(mutant.len());
            let end = (at + 1 + next(16)).min(mutant.len());
            match next(6) {
                0 if at < mutant.len() => mutant[at] = next(256) as u8,
                1 if at < mutant.len() => mutant[at] ^= 1 << next(8),
                2 => drop(mutant.drain(at.min(end)..end)),
                3 => mutant.insert(at, next(256) as u8),
                4 => {
                    let run = mutant[at.min(end)..end].to_vec();
                    let to = next(mutant.len());
                    mutant.splice(to..to, run);
                }
                _ => mutant.truncate(at.max(1)),
            }
        }
        mutant
    })
}

#[test]
fn every_target_bears_its_corpus_and_mutants_of_it() {
    let count = std::env::var("AIRLOCK_FUZZ_MUTANTS").ok().and_then(|t| t.parse().ok()).unwrap_or(100);
    for (name, target) in targets::TARGETS {
        for file in corpus(name) {
            let bytes = std::fs::read(&file).unwrap();
            target(&bytes);
            let seed = bytes.iter().fold(1_u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(*b)));
            for mutant in mutants(&bytes, seed, count) {
                let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target(&mutant)));
                if ran.is_err() {
                    let kept = std::env::temp_dir().join(format!("airlock-fuzz-{name}"));
                    std::fs::write(&kept, &mutant).unwrap();
                    panic!("{name}: a mutant of {} is not borne; it is in {}", file.display(), kept.display());
                }
            }
        }
    }
}

/// Journals of every kind of edit, by the name of their file. `AIRLOCK_UPDATE=1` writes them to the corpus.
#[cfg(feature = "sandbox")]
#[test]
fn the_journals_of_the_corpus_are_made_again() {
    use airlock::editor::{Edit, NewCall, Point};
    use airlock::graph::{Arg, BodyId, NodeId, View};
    let graph = targets::edited();
    let nodes: Vec<NodeId> = graph.nodes(BodyId::ROOT).collect();
    let named = |name: &str| *nodes.iter().find(|n| graph.name(**n) == name).unwrap();
    let call = |target: &str, args: Vec<Arg>| NewCall { target: target.into(), args, ..NewCall::default() };
    let (x, a, b, e, output) = (named("x"), named("a"), named("b"), named("e"), *nodes.last().unwrap());
    let new = NodeId::new_in_batch(0);
    let sizes = Arg::List(vec![Arg::Int(4), Arg::Int(4)].into());
    let keyword = NewCall {
        kwargs: vec![("dtype".into(), Arg::Str("f".into()))],
        ..call("aten.full.default", vec![sizes.clone()])
    };
    type Groups = Vec<(Vec<Edit>, bool)>;
    let journals: [(&str, Groups); 4] = [
        (
            "insert_and_replace",
            vec![(
                vec![
                    Edit::Insert(Point::Before(b), call("aten.neg.default", vec![x.into()])),
                    Edit::ReplaceUses(a, new),
                    Edit::Erase(a),
                ],
                true,
            )],
        ),
        (
            "notes_targets_moves",
            vec![
                (vec![Edit::Annotate(a, "why".into(), Some("because".into()))], true),
                (vec![Edit::SetTarget(a, "aten.neg.default".into())], true),
                (vec![Edit::Move(b, Point::After(b)), Edit::ReplaceUsesIn(a, x, vec![b])], true),
            ],
        ),
        (
            "refused",
            vec![
                (vec![Edit::Erase(x)], false),
                (vec![Edit::SetArgs(a, vec![e.into()], Vec::new())], false),
                (vec![Edit::Insert(Point::End(BodyId::ROOT), call("no.such.operator", vec![sizes.clone()]))], false),
                (vec![Edit::Insert(Point::Start(BodyId::ROOT), keyword)], false),
            ],
        ),
        (
            "arguments",
            vec![(
                vec![
                    Edit::Insert(Point::Before(output), call("aten.reshape.default", vec![a.into(), sizes])),
                    Edit::Insert(Point::Before(output), call("aten.mul.Tensor", vec![a.into(), Arg::Float(-0.0)])),
                ],
                true,
            )],
        ),
    ];
    for (name, groups) in journals {
        let groups: Vec<(&[Edit], bool)> = groups.iter().map(|(edits, stands)| (edits.as_slice(), *stands)).collect();
        let bytes = airlock::sandbox::journals::journal_of(&groups);
        let mut editor = airlock::editor::Editor::new(targets::edited(), targets::registry());
        let made = airlock::sandbox::journals::replay(&bytes, &mut editor, &airlock::contract::Limits::default());
        assert_eq!(made, Ok(()), "{name}");
        committed::hold(Path::new("fuzz/corpus/journal").join(name), bytes);
    }
}
