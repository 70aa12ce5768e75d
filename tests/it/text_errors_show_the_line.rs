//! A text that cannot be read gives one message: what was expected, what stands there, the line and a caret.
//!
//! Each `tests/fx/errors/NAME.fx` has its message beside it in `NAME.txt`; `AIRLOCK_UPDATE=1` writes the messages anew.

use crate::common;
use airlock::formats::text::{ReadOptions, read_bytes};

#[test]
fn every_fault_has_the_message_that_is_written_down() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in common::files("fx").into_iter().filter(|f| f.parent().is_some_and(|p| p.ends_with("fx/errors"))) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let error = read_bytes(&std::fs::read(&file).unwrap(), &ReadOptions::of_file(&name));
        let message = error.expect_err(&name).render() + "\n";
        let golden = file.with_extension("txt");
        if common::committed::is_updated() {
            std::fs::write(&golden, &message).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if expected != message {
            wrong.push(format!("{name}: expected\n{expected}but is\n{message}"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 20, "only {count} texts found");
}
