//! Symbolic expressions read and print as PyTorch prints them. Data and their sources: `tests/sym/README.md`.

use airlock::sym::{SymValue, Symbols, srepr_to_python};

/// `srepr`, `str`, and, where it differs, the canonical text.
const RANDOM: &str = include_str!("../sym/pytorch_expressions.tsv");
/// The same, of every expression in the exported models.
const ARCHIVES: &str = include_str!("../sym/archive_expressions.tsv");
/// Annotations of exported programs, one expression a line.
const ANNOTATIONS: &str = include_str!("../sym/annotations.txt");

fn expressions() -> Vec<[&'static str; 3]> {
    let column = |line: &'static str| {
        let mut columns = line.split('\t');
        let (srepr, text) = (columns.next().unwrap(), columns.next().unwrap());
        [srepr, text, columns.next().unwrap_or(text)]
    };
    RANDOM.lines().chain(ARCHIVES.lines()).map(column).collect()
}

fn none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_srepr_prints_as_pytorch_prints_it() {
    let printed = |srepr| srepr_to_python(srepr).unwrap_or_else(|error| format!("error: {error}"));
    let wrong = expressions().into_iter().filter(|[srepr, text, _]| printed(srepr) != *text);
    none(wrong.map(|[srepr, text, _]| format!("{srepr}\n  expected {text}\n  printed  {}", printed(srepr))).collect());
}

#[test]
fn both_spellings_read_to_one_value_that_prints_as_it_was_read() {
    let mut wrong = Vec::new();
    for [srepr, text, canonical] in expressions() {
        let mut symbols = Symbols::new();
        let value = symbols.parse_python(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(symbols.parse_srepr(srepr).unwrap(), value, "{text}");
        let printed = symbols.print_value(value);
        if printed != canonical {
            wrong.push(format!("{srepr}\t{text}\t{printed}"));
        }
        assert_eq!(symbols.parse_python(&printed).unwrap(), value, "{text} printed as {printed}");
        let written = symbols.print_srepr(value);
        assert_eq!(srepr_to_python(&written).unwrap(), printed, "{written}");
    }
    none(wrong);
}

#[test]
fn annotations_of_exported_programs_come_out_as_they_were() {
    let mut wrong = Vec::new();
    for line in ANNOTATIONS.lines() {
        let (text, canonical) = line.split_once('\t').unwrap_or((line, line));
        let mut symbols = Symbols::new();
        let value = symbols.parse_python(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let printed = symbols.print_value(value);
        if printed != canonical {
            wrong.push(format!("{text}\t{printed}"));
        }
    }
    none(wrong);
}

#[test]
fn sorts_are_told_apart() {
    let mut symbols = Symbols::new();
    let mut sort = |text: &str| match symbols.parse_python(text).unwrap() {
        SymValue::Int(_) => "int",
        SymValue::Float(_) => "float",
        SymValue::Bool(_) => "bool",
    };
    for (text, expected) in [
        ("s77", "int"),
        ("TruncToInt(0.5*ToFloat(s77))", "int"),
        ("Piecewise((s77, s77 > 3), (4, True))", "int"),
        ("IntTrueDiv(s77, 2)", "float"),
        ("s77*0.5", "float"),
        ("zuf0 + 1", "float"),
        ("Eq(Mod(s77, 2), 0)", "bool"),
        ("(u0 >= 2) & (u0 <= 8)", "bool"),
        ("not u0 >= 2 or s77 == 4 and True", "bool"),
    ] {
        assert_eq!(sort(text), expected, "{text}");
    }
}
