//! What PyTorch 2.15 printed is printed again as it was read, line by line, and reads again to the same graph.
//!
//! `AIRLOCK_CORPUS=DIR` runs this over every `.fx` below DIR too.

use crate::common::{describe, files, newest_print, printed, read};
use airlock::formats::text;

fn differing_line(a: &str, b: &str) -> Option<String> {
    let (mut left, mut right) = (a.split('\n'), b.split('\n'));
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (x, y) if x == y => {}
            (x, y) => return Some(format!("line {number}:\n  was   {x:?}\n  is    {y:?}")),
        }
    }
    None
}

#[test]
fn a_print_of_the_newest_pytorch_comes_out_as_it_was() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for file in files("fx").into_iter().filter(|f| newest_print(f)) {
        let before = std::fs::read_to_string(&file).unwrap();
        let after = text::write(&read(&file, &before));
        count += 1;
        if let Some(line) = differing_line(&before, &after) {
            wrong.push(format!("{}: {line}", file.display()));
        }
    }
    eprintln!("{count} prints");
    assert!(count >= 60, "only {count} prints found");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_printed_reads_again_to_the_same_graph() {
    let mut count = 0;
    for file in files("fx").into_iter().filter(|f| printed(f)) {
        let graph = read(&file, &std::fs::read_to_string(&file).unwrap());
        let printed = text::write(&graph);
        let again = read(&file, &printed);
        assert_eq!(describe(&graph), describe(&again), "{}", file.display());
        assert_eq!(printed, text::write(&again), "{}", file.display());
        count += 1;
    }
    assert!(count >= 60, "only {count} prints found");
}

#[test]
fn a_print_with_a_parameter_a_line_is_the_same_program() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fx");
    let plain = std::fs::read_to_string(folder.join("printed/every_literal.fx")).unwrap();
    let expanded = std::fs::read_to_string(folder.join("expanded/every_literal.fx")).unwrap();
    assert_eq!(text::write(&read(&folder, &expanded)), plain);
}
