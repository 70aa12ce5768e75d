//! GE graphs as protobuf text: TorchAir's `txt` dump, byte for byte.
//!
//! Fields stand in the order of their numbers, map entries in falling order of their keys, floats with six digits
//! where those give the number back and nine where not: what Python's protobuf prints. Nesting is bounded by what
//! `proto` decodes.

use std::fmt::Write as _;

use crate::lower::ge::proto::{
    AttrDef, Attrs, DataType, GraphDef, ListListFloat, ListListInt, ListValue, OpDef, ShapeDef, TensorDef,
    TensorDescriptor, Value,
};

/// Returns the graph as protobuf text.
pub fn write(graph: &GraphDef) -> String {
    let mut out = Printer::default();
    out.graph(graph);
    out.text
}

/// Returns one attribute as protobuf text: what Python's `str` of it gives.
pub fn attribute(attr: &AttrDef) -> String {
    let mut out = Printer::default();
    out.attr(attr);
    out.text
}

/// Returns one descriptor as protobuf text.
pub fn descriptor(desc: &TensorDescriptor) -> String {
    let mut out = Printer::default();
    out.desc(desc);
    out.text
}

#[derive(Default)]
struct Printer {
    text: String,
    depth: usize,
}

impl Printer {
    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn block(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        self.line(&format!("{name} {{"));
        self.depth = self.depth.saturating_add(1);
        body(self);
        self.depth = self.depth.saturating_sub(1);
        self.line("}");
    }

    fn field(&mut self, name: &str, value: impl std::fmt::Display) {
        self.line(&format!("{name}: {value}"));
    }

    fn string(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.field(name, quote(value.as_bytes(), Escape::ControlsOnly));
        }
    }

    fn graph(&mut self, g: &GraphDef) {
        self.string("name", &g.name);
        for op in &g.op {
            self.block("op", |p| p.op(op));
        }
        self.attrs(&g.attr);
    }

    fn op(&mut self, op: &OpDef) {
        self.string("name", &op.name);
        self.string("type", &op.r#type);
        for input in &op.input {
            self.field("input", quote(input.as_bytes(), Escape::ControlsOnly));
        }
        self.attrs(&op.attr);
        for desc in &op.input_desc {
            self.block("input_desc", |p| p.desc(desc));
        }
        for desc in &op.output_desc {
            self.block("output_desc", |p| p.desc(desc));
        }
    }

    fn attrs(&mut self, attrs: &Attrs) {
        for (key, attr) in attrs.iter().rev() {
            self.block("attr", |p| {
                p.field("key", quote(key.as_bytes(), Escape::ControlsOnly));
                p.block("value", |p| p.attr(attr));
            });
        }
    }

    fn desc(&mut self, d: &TensorDescriptor) {
        self.string("name", &d.name);
        if d.dtype != 0 {
            match DataType::try_from(d.dtype) {
                Ok(t) => self.field("dtype", t.name()),
                Err(_) => self.field("dtype", d.dtype),
            }
        }
        if let Some(ShapeDef { dim }) = &d.shape {
            self.block("shape", |p| dim.iter().for_each(|d| p.field("dim", d)));
        }
        self.string("layout", &d.layout);
        self.attrs(&d.attr);
        self.string("device_type", &d.device_type);
    }

    fn attr(&mut self, attr: &AttrDef) {
        match &attr.value {
            None => {}
            Some(Value::List(l)) => self.block("list", |p| p.list(l)),
            Some(Value::S(s)) => self.field("s", quote(s, Escape::AllButAscii)),
            Some(Value::I(i)) => self.field("i", i),
            Some(Value::F(f)) => self.field("f", float(*f)),
            Some(Value::B(b)) => self.field("b", b),
            Some(Value::Bt(b)) => self.field("bt", quote(b, Escape::AllButAscii)),
            Some(Value::Td(d)) => self.block("td", |p| p.desc(d)),
            Some(Value::T(t)) => self.block("t", |p| p.tensor(t)),
            Some(Value::G(g)) => self.block("g", |p| p.graph(g)),
            Some(Value::ListListInt(l)) => self.block("list_list_int", |p| p.ints(l)),
            Some(Value::Dt(t)) => self.field("dt", t),
            Some(Value::ListListFloat(l)) => self.block("list_list_float", |p| p.floats(l)),
            Some(Value::Expression(e)) => self.field("expression", quote(e, Escape::AllButAscii)),
        }
    }

    fn tensor(&mut self, t: &TensorDef) {
        if let Some(desc) = &t.desc {
            self.block("desc", |p| p.desc(desc));
        }
        if !t.data.is_empty() {
            self.field("data", quote(&t.data, Escape::AllButAscii));
        }
    }

    fn list(&mut self, l: &ListValue) {
        l.s.iter().for_each(|s| self.field("s", quote(s, Escape::AllButAscii)));
        l.i.iter().for_each(|i| self.field("i", i));
        l.f.iter().for_each(|f| self.field("f", float(*f)));
        l.b.iter().for_each(|b| self.field("b", b));
        l.dt.iter().for_each(|t| self.field("dt", t));
        if l.val_type != 0 {
            let names = [
                "VT_LIST_NONE",
                "VT_LIST_STRING",
                "VT_LIST_INT",
                "VT_LIST_FLOAT",
                "VT_LIST_BOOL",
                "VT_LIST_BYTES",
                "VT_LIST_TENSOR_DESC",
                "VT_LIST_TENSOR",
                "VT_LIST_GRAPH",
                "VT_LIST_NAMED_ATTRS",
                "VT_LIST_DATA_TYPE",
            ];
            match usize::try_from(l.val_type).ok().and_then(|i| names.get(i)) {
                Some(name) => self.field("val_type", name),
                None => self.field("val_type", l.val_type),
            }
        }
    }

    fn ints(&mut self, l: &ListListInt) {
        for inner in &l.list_list_i {
            self.block("list_list_i", |p| inner.list_i.iter().for_each(|i| p.field("list_i", i)));
        }
    }

    fn floats(&mut self, l: &ListListFloat) {
        for inner in &l.list_list_f {
            self.block("list_list_f", |p| inner.list_f.iter().for_each(|f| p.field("list_f", float(*f))));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    ControlsOnly,
    AllButAscii,
}

fn quote(bytes: &[u8], escape: Escape) -> String {
    // Text fields are UTF-8 by their type, so their bytes beyond ASCII may stand as they are.
    let mut out: Vec<u8> = vec![b'"'];
    for &b in bytes {
        match b {
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            b'"' => out.extend(b"\\\""),
            b'\'' => out.extend(b"\\'"),
            b'\\' => out.extend(b"\\\\"),
            0x20..=0x7e => out.push(b),
            0x80.. if escape == Escape::ControlsOnly => out.push(b),
            _ => out.extend(format!("\\{b:03o}").as_bytes()),
        }
    }
    out.push(b'"');
    String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Returns the shortest of `%.6g` and `%.9g` that gives the number back.
fn float(value: f32) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let six = general(f64::from(value), 6);
    if six.parse::<f32>() == Ok(value) { six } else { general(f64::from(value), 9) }
}

/// Returns what C's `%.{digits}g` prints.
fn general(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let fits = i32::try_from(digits).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= fits {
        let mut out = trim(mantissa).to_string();
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
        out
    } else {
        let decimals = usize::try_from(fits.saturating_sub(1).saturating_sub(exponent)).unwrap_or(0);
        trim(&format!("{value:.decimals$}")).to_string()
    }
}

fn trim(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_python_protobuf_prints_them() {
        for (value, text) in [
            (1.0, "1"),
            (-1.0, "-1"),
            (1e-5, "1e-05"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (1.0 / 3.0, "0.333333343"),
            (1e10, "1e+10"),
            (123456.0, "123456"),
            (f32::INFINITY, "inf"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn bytes_are_escaped_in_octal() {
        assert_eq!(quote(b"\x00\x00\x80?", Escape::AllButAscii), "\"\\000\\000\\200?\"");
        assert_eq!(quote(b"it's", Escape::AllButAscii), "\"it\\'s\"");
    }

    #[test]
    fn an_attribute_without_value_is_an_empty_message() {
        let op = OpDef { attr: [("_inputs_all_sym".to_string(), AttrDef::default())].into(), ..Default::default() };
        let graph = GraphDef { op: vec![op], ..Default::default() };
        assert_eq!(write(&graph), "op {\n  attr {\n    key: \"_inputs_all_sym\"\n    value {\n    }\n  }\n}\n");
    }
}
