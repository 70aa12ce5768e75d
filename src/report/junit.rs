//! Cases as JUnit XML.

use std::fmt::Write;

use super::plain::escape;
use super::{TestReport, verdict_words};

/// Prints the cases as one test suite.
pub fn junit(report: &TestReport) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        xml,
        "<testsuites>\n  <testsuite name=\"airlock\" tests=\"{}\" failures=\"{}\">",
        report.cases.len(),
        report.wrong
    );
    for case in &report.cases {
        let (name, file) = (escape(&case.name), escape(&case.file));
        let seconds = case.verdict.ms / 1e3;
        let _ = write!(xml, "    <testcase name=\"{name}\" classname=\"{file}\" time=\"{seconds:.6}\"");
        if case.right {
            xml.push_str("/>\n");
            continue;
        }
        let message = escape(&format!("labelled {}, judged {}", case.label, verdict_words(&case.verdict)));
        let reason = escape(&case.verdict.reason);
        let _ = writeln!(xml, ">\n      <failure message=\"{message}\">{reason}</failure>\n    </testcase>");
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}
