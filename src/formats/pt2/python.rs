//! JSON as Python's `json.dumps` writes it, which is how PyTorch writes `model.json`.
//!
//! Promises: separators `, ` and `: `, no byte outside ASCII, floats in Python's `repr`; the three floats that JSON lacks as texts, as
//! PyTorch writes them. Reading them again gives the same bits.

use std::fmt::Write;

use crate::formats::python;

/// Appends a text in quotes.
pub(super) fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// Returns a text in quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    quote(&mut out, text);
    out
}

/// Appends a float.
pub(super) fn float(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("\"NaN\"");
    } else if value.is_infinite() {
        out.push_str(if value < 0.0 { "\"-Infinity\"" } else { "\"Infinity\"" });
    } else {
        python::float(out, value);
    }
}

/// Appends `items` separated as Python separates them.
pub(super) fn joined<T>(out: &mut String, items: impl IntoIterator<Item = T>, mut each: impl FnMut(&mut String, T)) {
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push_str(", ");
        }
        each(out, item);
    }
}

/// Appends an integer.
pub(super) fn int(out: &mut String, value: i64) {
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (value, text) in [
            (0.5, "0.5"),
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e-5, "1e-05"),
            (1e-4, "0.0001"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (123456789012345680.0, "1.2345678901234568e+17"),
            (3.4028234663852886e38, "3.4028234663852886e+38"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "\"Infinity\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
            (f64::NAN, "\"NaN\""),
        ] {
            let mut out = String::new();
            float(&mut out, value);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn texts_are_ascii_with_pythons_escapes() {
        assert_eq!(quoted("a\"b\\c\n\u{1}é😀\u{7f}"), r#""a\"b\\c\n\u0001\u00e9\ud83d\ude00\u007f""#);
    }

    proptest::proptest! {
        #[test]
        fn a_float_reads_back_bit_for_bit(bits: u64) {
            let value = f64::from_bits(bits);
            let mut out = String::new();
            float(&mut out, value);
            if value.is_finite() {
                proptest::prop_assert_eq!(out.parse::<f64>().unwrap().to_bits(), bits);
            }
        }

        #[test]
        fn a_text_reads_back(text: String) {
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&quoted(&text)).unwrap(), text);
        }
    }
}
