//! Python's `repr` of literals, as PyTorch prints them in code.
//!
//! Promises: what is written reads back to the same value, bit by bit for floats (but for the payload of a NaN); strings get the quote and
//! the escapes that Python would choose. Follows `CodeGen._get_repr` of PyTorch 2.15, which spells out complex numbers that have a zero or
//! non-finite part.

use std::fmt::Write as _;

use crate::formats::python::finite;
pub(super) use crate::formats::python::float;
use crate::graph::{Arg, Device, NodeId};

/// Returns whether Python's `repr` shows the character as it is.
pub(super) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // Inside a string, `escape_debug` escapes what is in the categories that Python calls not printable, and nothing else.
    let mut pair = String::from("a");
    pair.push(c);
    pair.escape_debug().nth(1) == Some(c)
}

fn complex(out: &mut String, re: f64, im: f64) {
    if re == 0.0 || im == 0.0 || !re.is_finite() || !im.is_finite() {
        out.push_str("complex(");
        float(out, re);
        out.push_str(", ");
        float(out, im);
        out.push(')');
        return;
    }
    out.push('(');
    finite(out, re, "");
    if im > 0.0 {
        out.push('+');
    }
    finite(out, im, "");
    out.push_str("j)");
}

/// Appends a string with Python's choice of quotes and escapes.
pub(super) fn string(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// Appends a device.
pub(super) fn device(out: &mut String, device: &Device) {
    out.push_str("device(type=");
    string(out, &device.kind);
    if let Some(index) = device.index {
        let _ = write!(out, ", index={index}");
    }
    out.push(')');
}

/// Appends an argument; `name` appends the name of a node.
///
/// Recurses as deep as lists nest: [`Arg::MAX_DEPTH`] in any graph that a reader or the editor made; deeper ones are cut off with `...`.
pub(super) fn arg(out: &mut String, value: &Arg, name: &mut impl FnMut(&mut String, NodeId)) {
    nested(out, value, name, 0);
}

fn nested(out: &mut String, value: &Arg, name: &mut impl FnMut(&mut String, NodeId), depth: usize) {
    if depth > Arg::MAX_DEPTH.saturating_mul(2) {
        out.push_str("...");
        return;
    }
    let below = depth.saturating_add(1);
    match value {
        Arg::None => out.push_str("None"),
        Arg::Node(node) => name(out, *node),
        Arg::Int(v) => {
            let _ = write!(out, "{v}");
        }
        Arg::Float(v) => float(out, *v),
        Arg::Complex(re, im) => complex(out, *re, *im),
        Arg::Bool(v) => out.push_str(if *v { "True" } else { "False" }),
        Arg::Str(v) => string(out, v),
        Arg::Dtype(v) => {
            let _ = write!(out, "torch.{}", v.long());
        }
        Arg::Device(v) => device(out, v),
        Arg::Layout(v) => {
            let _ = write!(out, "torch.{}", v.name());
        }
        Arg::MemoryFormat(v) => {
            let _ = write!(out, "torch.{}", v.name());
        }
        Arg::Operator(v) => out.push_str(&super::target::printed(v)),
        Arg::List(items) => {
            out.push('[');
            separated(out, items, |out, item| nested(out, item, name, below));
            out.push(']');
        }
        Arg::Tuple(items) => {
            out.push('(');
            separated(out, items, |out, item| nested(out, item, name, below));
            if items.len() == 1 {
                out.push(',');
            }
            out.push(')');
        }
        Arg::Dict(entries) => {
            out.push('{');
            separated(out, entries, |out, (key, item)| {
                string(out, key);
                out.push_str(": ");
                nested(out, item, name, below);
            });
            out.push('}');
        }
        Arg::Other(text) => out.push_str(&super::error::shown(text)),
    }
}

fn separated<T>(out: &mut String, items: &[T], mut each: impl FnMut(&mut String, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        each(out, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: Arg) -> String {
        let mut out = String::new();
        arg(&mut out, &value, &mut |out, n| {
            let _ = write!(out, "{n:?}");
        });
        out
    }

    #[test]
    fn floats_print_as_python_prints_them() {
        let cases: &[(f64, &str)] = &[
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e-6, "1e-06"),
            (1e20, "1e+20"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (9999999999999998.0, "9999999999999998.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (5e-324, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (0.1, "0.1"),
            (-123.456, "-123.456"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(of(Arg::Float(*value)), *text);
        }
    }

    #[test]
    fn complex_numbers_are_spelled_out_where_their_repr_is_ambiguous() {
        assert_eq!(of(Arg::Complex(1.0, 2.0)), "(1+2j)");
        assert_eq!(of(Arg::Complex(0.5, -1e20)), "(0.5-1e+20j)");
        assert_eq!(of(Arg::Complex(0.0, 1.0)), "complex(0.0, 1.0)");
        assert_eq!(of(Arg::Complex(f64::NAN, -0.0)), "complex(nan, -0.0)");
    }

    #[test]
    fn strings_take_the_quote_that_python_would_take() {
        assert_eq!(of(Arg::Str("a".into())), "'a'");
        assert_eq!(of(Arg::Str("it's".into())), "\"it's\"");
        assert_eq!(of(Arg::Str("'\"".into())), "'\\'\"'");
        assert_eq!(of(Arg::Str("\n\t\\\u{7}\u{200b}é\u{e000}".into())), "'\\n\\t\\\\\\x07\\u200bé\\ue000'");
    }

    #[test]
    fn a_tuple_of_one_keeps_its_comma() {
        assert_eq!(of(Arg::Tuple(Box::new([Arg::Int(1)]))), "(1,)");
        assert_eq!(of(Arg::Tuple(Box::default())), "()");
        assert_eq!(of(Arg::List(Box::new([Arg::Int(1)]))), "[1]");
    }
}
