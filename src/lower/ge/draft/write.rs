//! A graph in the making as the bytes of a model, written once from its first operator to its last.
//!
//! Promises: the bytes that prost gives of the messages (`def`). A message's length stands before it: a byte is kept for it, and more are
//! made room for where it is longer than 127 bytes.

use smallvec::SmallVec;

use super::attrs::{Held, Side};
use super::{Desc, Draft, NAME, Op, Source};
use crate::lower::ge::proto::AttrDef;

/// Numbers of the fields, as `files/ge.proto` has them.
mod field {
    pub const MODEL_GRAPH: u32 = 7;
    pub const GRAPH_NAME: u32 = 1;
    pub const GRAPH_OP: u32 = 6;
    pub const GRAPH_ATTR: u32 = 11;
    pub const OP_NAME: u32 = 1;
    pub const OP_TYPE: u32 = 2;
    pub const OP_INPUT: u32 = 5;
    pub const OP_ATTR: u32 = 10;
    pub const OP_INPUT_DESC: u32 = 33;
    pub const OP_OUTPUT_DESC: u32 = 34;
    pub const DESC_NAME: u32 = 1;
    pub const DESC_DTYPE: u32 = 2;
    pub const DESC_SHAPE: u32 = 3;
    pub const DESC_LAYOUT: u32 = 4;
    pub const DESC_ATTR: u32 = 5;
    pub const DESC_DEVICE: u32 = 14;
    pub const SHAPE_DIM: u32 = 1;
    pub const ENTRY_KEY: u32 = 1;
    pub const ENTRY_VALUE: u32 = 2;
    pub const ATTR_LIST: u32 = 1;
    pub const ATTR_S: u32 = 2;
    pub const ATTR_I: u32 = 3;
    pub const LIST_S: u32 = 2;
    pub const LIST_I: u32 = 3;
}

/// Returns the bytes of a model of that graph alone.
pub(super) fn model(draft: &Draft) -> Vec<u8> {
    // As much as an operator takes with a short name; more grows.
    let mut out = Writer { bytes: Vec::with_capacity(draft.ops.len().saturating_mul(256)), ops: &draft.ops };
    out.message(field::MODEL_GRAPH, |w| {
        w.text(field::GRAPH_NAME, NAME);
        for op in draft.live() {
            w.message(field::GRAPH_OP, |w| w.operator(op));
        }
        for (name, value) in &draft.attrs {
            w.entry(field::GRAPH_ATTR, name, |w| w.attribute(value));
        }
    });
    out.bytes
}

struct Writer<'d> {
    bytes: Vec<u8>,
    ops: &'d [Op],
}

impl Writer<'_> {
    #[inline]
    fn varint(&mut self, number: u64) {
        match u8::try_from(number) {
            Ok(short) if short < 0x80 => self.bytes.push(short),
            _ => self.bytes.extend_from_slice(&varint(number)),
        }
    }

    /// What is a number stands by itself (0), what has a length after it (2).
    fn key(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn number(&mut self, field: u32, number: i64) {
        self.key(field, 0);
        self.varint(number.cast_unsigned());
    }

    fn text(&mut self, field: u32, text: &str) {
        self.key(field, 2);
        self.varint(length(text.len()));
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// As a field that stands where it says something.
    fn stated(&mut self, field: u32, text: &str) {
        if !text.is_empty() {
            self.text(field, text);
        }
    }

    fn message(&mut self, field: u32, body: impl FnOnce(&mut Self)) {
        self.key(field, 2);
        let start = self.bytes.len();
        self.bytes.push(0);
        let begun = self.bytes.len();
        body(self);
        let len = self.bytes.len().saturating_sub(begun);
        match (self.bytes.get_mut(start), u8::try_from(len)) {
            (Some(byte), Ok(short)) if short < 0x80 => *byte = short,
            _ => drop(self.bytes.splice(start..begun, varint(length(len)))),
        }
    }

    fn entry(&mut self, field: u32, key: &str, value: impl FnOnce(&mut Self)) {
        self.message(field, |w| {
            w.stated(field::ENTRY_KEY, key);
            value(w);
        });
    }

    fn attribute(&mut self, value: &AttrDef) {
        if value.value.is_some() {
            prost::encoding::message::encode(field::ENTRY_VALUE, value, &mut self.bytes);
        }
    }

    fn operator(&mut self, op: &Op) {
        self.stated(field::OP_NAME, &op.name);
        self.stated(field::OP_TYPE, op.kind);
        for input in &op.inputs {
            self.edge(*input);
        }
        for (name, held) in op.attrs.iter() {
            self.entry(field::OP_ATTR, name, |w| match held {
                Held::Default(value) => w.attribute(value),
                Held::Own(value) => w.attribute(value),
                Held::Names(side) => w.list(|w| {
                    for desc in of(op, *side) {
                        w.text(field::LIST_S, &desc.name);
                    }
                }),
                Held::Numbers(side) => {
                    let numbers = (0_i64..).zip(of(op, *side)).map(|(i, _)| i);
                    w.list(|w| w.packed(field::LIST_I, numbers));
                }
            });
        }
        for desc in &op.takes {
            self.message(field::OP_INPUT_DESC, |w| w.descriptor(desc));
        }
        for desc in &op.gives {
            self.message(field::OP_OUTPUT_DESC, |w| w.descriptor(desc));
        }
    }

    fn list(&mut self, body: impl FnOnce(&mut Self)) {
        self.message(field::ENTRY_VALUE, |w| w.message(field::ATTR_LIST, body));
    }

    fn packed(&mut self, field: u32, numbers: impl Iterator<Item = i64>) {
        let mut numbers = numbers.peekable();
        if numbers.peek().is_some() {
            self.message(field, |w| numbers.for_each(|n| w.varint(n.cast_unsigned())));
        }
    }

    fn edge(&mut self, input: Source) {
        let ops = self.ops;
        let name = |op: usize| ops.get(op).map_or("", |op| &*op.name);
        self.message(field::OP_INPUT, |w| {
            let (name, output) = match input {
                Source::Unfed => return,
                Source::Control(op) => (name(op), None),
                Source::Data(op, output) => (name(op), Some(output)),
            };
            w.bytes.extend_from_slice(name.as_bytes());
            w.bytes.push(b':');
            match output {
                None => w.bytes.extend_from_slice(b"-1"),
                Some(0) => w.bytes.push(b'0'),
                Some(output) => w.bytes.extend_from_slice(output.to_string().as_bytes()),
            }
        });
    }

    fn descriptor(&mut self, desc: &Desc) {
        self.stated(field::DESC_NAME, &desc.name);
        if desc.dtype as i32 != 0 {
            self.number(field::DESC_DTYPE, i64::from(desc.dtype as i32));
        }
        if let Some(dims) = &desc.shape {
            self.message(field::DESC_SHAPE, |w| w.packed(field::SHAPE_DIM, dims.iter().copied()));
        }
        self.stated(field::DESC_LAYOUT, &desc.layout);
        if let Some(text) = &desc.fx_name {
            self.described("_fx_tensor_name", |w| w.text(field::ATTR_S, text));
        }
        if desc.is_unfed {
            self.described("_is_unfed_optional", |w| w.number(field::ATTR_I, 1));
        }
        if let Some(text) = &desc.meta {
            self.described("_meta", |w| w.text(field::ATTR_S, text));
        }
        self.stated(field::DESC_DEVICE, desc.device);
    }

    fn described(&mut self, name: &str, value: impl FnOnce(&mut Self)) {
        self.entry(field::DESC_ATTR, name, |w| w.message(field::ENTRY_VALUE, value));
    }
}

fn of(op: &Op, side: Side) -> &[Desc] {
    match side {
        Side::Inputs => &op.takes,
        Side::Outputs => &op.gives,
    }
}

#[allow(clippy::cast_possible_truncation)] // Only the low seven bits are taken.
fn varint(mut number: u64) -> SmallVec<[u8; 10]> {
    let mut bytes = SmallVec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn length(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;
    use crate::lower::ge::{self, Format};
    use crate::ops::Registry;

    #[test]
    fn the_bytes_are_those_of_the_messages() {
        let name = "a_name_of_more_than_a_hundred_and_twenty_seven_bytes_so_that_its_length_takes_two_".repeat(2);
        let body = format!(
            "x: \"f32[s0, 3]\", y: \"f32[2]\", {name}: \"i64[]\"):
        a: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)
        m = torch.ops.aten.mean.dim(a, [-1], True)
        v = torch.ops.aten.view.default(a, [-1])
        n = torch.ops.aten.add.Tensor(y, -7)
        i = torch.ops.aten.add.Tensor({name}, -7)
        s = torch.ops.aten.split.Tensor(n, 1)
        l = s[1]
        w: \"f32[2]\" = torch.ops.aten.copy_.default(y, n)
        return (m, v, l, i)
"
        );
        let program = format!("class GraphModule(torch.nn.Module):\n    def forward(self, s0: \"Sym(s0)\", {body}");
        let graph = text::read(&program, &text::ReadOptions::of_file("t.fx")).unwrap();
        for enable_ref_data in [false, true] {
            let options = ge::Options { enable_ref_data, ..ge::Options::default() };
            let draft = ge::draft(&graph, &options, &Registry::standard()).unwrap().graph;
            let def = draft.to_def();
            assert!(draft.encode(Format::Bin) == ge::encode(&def, Format::Bin));
            assert_eq!(draft.len(), def.op.len());
        }
    }

    #[test]
    fn lengths_of_every_size_stand_before_what_they_count() {
        for len in [0, 1, 127, 128, 16_383, 16_384] {
            let mut w = Writer { bytes: vec![7], ops: &[] };
            w.message(1, |w| w.bytes.extend(std::iter::repeat_n(9, len)));
            let mut said = w.bytes.get(2..).unwrap();
            assert_eq!(prost::encoding::decode_varint(&mut said), Ok(length(len)));
            assert_eq!(said, vec![9; len]);
        }
    }
}
