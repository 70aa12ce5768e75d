//! GE graphs for graph viewers: TorchAir's `pbtxt` dump, which has the form of a TensorFlow graph.
//!
//! One `node` an operator: control edges as `^name`, every attribute as its protobuf text, descriptors under `[i]NAME`
//! and `[o]NAME`. It is for looking at, and is not read back.

use super::text;
use crate::lower::ge::proto::{GraphDef, OpDef};

/// Returns the graph in the viewers' form.
pub fn write(graph: &GraphDef) -> String {
    let mut out = String::new();
    for op in &graph.op {
        node(&mut out, op);
    }
    out
}

fn node(out: &mut String, op: &OpDef) {
    out.push_str("node {\n");
    out.push_str(&format!("    name: \"{}\"\n    op: \"{}\"\n", op.name, op.r#type));
    for input in &op.input {
        match input.strip_suffix(":-1") {
            Some(control) => out.push_str(&format!("    input: \"^{control}\"\n")),
            None => out.push_str(&format!("    input: \"{input}\"\n")),
        }
    }
    for (key, attr) in &op.attr {
        entry(out, key, &text::attribute(attr));
    }
    for desc in &op.input_desc {
        entry(out, &format!("[i]{}", desc.name), &text::descriptor(desc));
    }
    for desc in &op.output_desc {
        entry(out, &format!("[o]{}", desc.name), &text::descriptor(desc));
    }
    out.push_str("}\n");
}

fn entry(out: &mut String, key: &str, value: &str) {
    out.push_str(&format!(
        "    attr {{\n        key: \"{key}\"\n        value {{\n            s: {}\n",
        literal(value)
    ));
    out.push_str("        }\n    }\n");
}

/// Returns the text as Python writes it between quotes.
pub(super) fn literal(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for b in text.bytes() {
        match b {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ if char::from(b) == quote => {
                out.push('\\');
                out.push(quote);
            }
            0x20..=0x7e => out.push(char::from(b)),
            _ => out.push_str(&format!("\\x{b:02x}")),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_edges_have_a_caret() {
        let op = OpDef {
            name: "Sub".into(),
            r#type: "Sub".into(),
            input: vec!["x:0".into(), "Abs:-1".into()],
            ..Default::default()
        };
        let text = write(&GraphDef { op: vec![op], ..Default::default() });
        assert!(text.contains("    input: \"x:0\"\n    input: \"^Abs\"\n"), "{text}");
    }

    #[test]
    fn quotes_are_chosen_as_python_does() {
        assert_eq!(literal("b: true\n"), "'b: true\\n'");
        assert_eq!(literal("it's"), "\"it's\"");
        assert_eq!(literal("s: \"it's\""), "'s: \"it\\'s\"'");
    }
}
