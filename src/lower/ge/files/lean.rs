//! The serialized model, read for who asks what it computes: without what stands there for people, or says again what descriptors say.
//!
//! Promises: what is given is what `bin::read` gives, but for the attributes that are named in `SAID_AGAIN` and, unless names are asked for,
//! `NAME`; bytes that it refuses are refused. Whatever is not laid out as one writer lays it out is read by that instead, errors too.

use prost::Message;

use super::bin;
use super::form::FileError;
use crate::lower::ge::proto::{AttrDef, Attrs, GraphDef, OpDef, ShapeDef, TensorDescriptor};

/// Attributes of operators and descriptors that nobody computes by.
const SAID_AGAIN: [&str; 6] =
    ["_input_name_key", "_input_name_value", "_meta", "_output_name_key", "_output_name_value", "_readable_value"];

/// Which node of FX gives what a descriptor is of.
const NAME: &str = "_fx_tensor_name";

/// Returns the graph of a serialized model, without what is said again; `keeps_names` says whether the names of nodes are looked at.
pub fn read(bytes: &[u8], keeps_names: bool) -> Result<GraphDef, FileError> {
    match (Reading { keeps_names }).model(bytes) {
        Some(graph) => Ok(graph),
        None => bin::read(bytes),
    }
}

/// What a field holds.
enum Held<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

/// Fields one after the other.
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for place in 0..10_u32 {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let low = u64::from(byte & 0x7f);
            let by = place.checked_mul(7)?;
            let shifted = low.checked_shl(by)?;
            // What is beyond 64 bits would be lost.
            if shifted.checked_shr(by)? != low {
                return None;
            }
            number |= shifted;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Returns the next field; none at the end, and `None` outside where it is no number and has no length.
    fn next(&mut self) -> Option<Option<(u64, Held<'b>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let key = self.varint()?;
        let held = match key & 7 {
            0 => Held::Number(self.varint()?),
            2 => {
                let len = usize::try_from(self.varint()?).ok()?;
                let (held, rest) = self.0.split_at_checked(len)?;
                self.0 = rest;
                Held::Bytes(held)
            }
            _ => return None,
        };
        Some(Some((key >> 3, held)))
    }
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

struct Reading {
    keeps_names: bool,
}

impl Reading {
    fn model(&self, bytes: &[u8]) -> Option<GraphDef> {
        let (mut fields, mut found) = (Fields(bytes), None);
        while let Some(field) = fields.next()? {
            match field {
                (7, Held::Bytes(bytes)) if found.is_none() => found = Some(self.graph(bytes)?),
                _ => return None,
            }
        }
        found
    }

    fn graph(&self, bytes: &[u8]) -> Option<GraphDef> {
        let (mut fields, mut graph) = (Fields(bytes), GraphDef::default());
        while let Some(field) = fields.next()? {
            match field {
                (1, Held::Bytes(name)) => graph.name = text(name)?,
                (6, Held::Bytes(op)) => graph.op.push(self.operator(op)?),
                (11, Held::Bytes(entry)) => self.entry(entry, &mut graph.attr)?,
                _ => return None,
            }
        }
        Some(graph)
    }

    fn operator(&self, bytes: &[u8]) -> Option<OpDef> {
        let (mut fields, mut op) = (Fields(bytes), OpDef::default());
        while let Some(field) = fields.next()? {
            match field {
                (1, Held::Bytes(name)) => op.name = text(name)?,
                (2, Held::Bytes(kind)) => op.r#type = text(kind)?,
                (5, Held::Bytes(input)) => op.input.push(text(input)?),
                (10, Held::Bytes(entry)) => self.entry(entry, &mut op.attr)?,
                (33, Held::Bytes(desc)) => op.input_desc.push(self.descriptor(desc)?),
                (34, Held::Bytes(desc)) => op.output_desc.push(self.descriptor(desc)?),
                _ => return None,
            }
        }
        Some(op)
    }

    fn descriptor(&self, bytes: &[u8]) -> Option<TensorDescriptor> {
        let (mut fields, mut desc) = (Fields(bytes), TensorDescriptor::default());
        while let Some(field) = fields.next()? {
            match field {
                (1, Held::Bytes(name)) => desc.name = text(name)?,
                (2, Held::Number(dtype)) => desc.dtype = i32::try_from(dtype).ok()?,
                // A second one would add to the first.
                (3, Held::Bytes(shape)) if desc.shape.is_none() => desc.shape = Some(ShapeDef::decode(shape).ok()?),
                (4, Held::Bytes(layout)) => desc.layout = text(layout)?,
                (5, Held::Bytes(entry)) => self.entry(entry, &mut desc.attr)?,
                (14, Held::Bytes(device)) => desc.device_type = text(device)?,
                _ => return None,
            }
        }
        Some(desc)
    }

    /// Adds an attribute, unless nobody computes by it.
    fn entry(&self, bytes: &[u8], attrs: &mut Attrs) -> Option<()> {
        let mut fields = Fields(bytes);
        let Some((1, Held::Bytes(key))) = fields.next()? else { return None };
        let Some((2, Held::Bytes(value))) = fields.next()? else { return None };
        if !fields.0.is_empty() {
            return None;
        }
        let key = std::str::from_utf8(key).ok()?;
        let is_spared = SAID_AGAIN.contains(&key) || key == NAME && !self.keeps_names;
        if is_spared && is_plain(value)? {
            return Some(());
        }
        let value = AttrDef::decode(value).ok()?;
        if !is_spared {
            attrs.insert(key.to_owned(), value);
        }
        Some(())
    }
}

/// Whether an attribute is a text, or a list of texts or integers, and nothing else; what is left out is well formed too.
fn is_plain(value: &[u8]) -> Option<bool> {
    let mut fields = Fields(value);
    match (fields.next()?, fields.0) {
        (Some((2, Held::Bytes(_))), []) => Some(true),
        (Some((1, Held::Bytes(list))), []) => {
            let mut items = Fields(list);
            while let Some(item) = items.next()? {
                match item {
                    (2, Held::Bytes(_)) | (20, Held::Number(_)) => {}
                    (3, Held::Bytes(packed)) => {
                        let mut numbers = Fields(packed);
                        while !numbers.0.is_empty() {
                            numbers.varint()?;
                        }
                    }
                    _ => return Some(false),
                }
            }
            Some(true)
        }
        _ => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text::{ReadOptions, read as read_text};
    use crate::lower::ge::{self, Format};
    use crate::ops::Registry;

    const PROGRAM: &str = "class GraphModule(torch.nn.Module):
    def forward(self, s0: \"Sym(s0)\", x: \"f32[s0, 3]\", y: \"f32[2]\", i: \"i64[]\"):
        a: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)
        m = torch.ops.aten.mean.dim(a, [-1], True)
        v = torch.ops.aten.view.default(a, [-1])
        n = torch.ops.aten.add.Tensor(y, -7)
        j = torch.ops.aten.add.Tensor(i, -7)
        s = torch.ops.aten.split.Tensor(n, 1)
        l = s[1]
        return (m, v, l, j)
";

    fn bytes() -> Vec<u8> {
        let graph = read_text(PROGRAM, &ReadOptions::of_file("t.fx")).unwrap();
        ge::draft(&graph, &ge::Options::default(), &Registry::standard()).unwrap().graph.encode(Format::Bin)
    }

    /// The same by the whole reader, with what is said again taken out afterwards.
    fn spared(bytes: &[u8], keeps_names: bool) -> Result<GraphDef, FileError> {
        let mut graph = bin::read(bytes)?;
        let spare = |attrs: &mut Attrs| {
            attrs.retain(|key, _| !SAID_AGAIN.contains(&key.as_str()) && (keeps_names || key != NAME));
        };
        spare(&mut graph.attr);
        for op in &mut graph.op {
            spare(&mut op.attr);
            op.input_desc.iter_mut().chain(&mut op.output_desc).for_each(|d| spare(&mut d.attr));
        }
        Ok(graph)
    }

    #[test]
    fn what_is_left_is_what_the_whole_reader_gives() {
        let bytes = bytes();
        for keeps_names in [false, true] {
            let lean = (Reading { keeps_names }).model(&bytes).unwrap();
            assert_eq!(lean, spared(&bytes, keeps_names).unwrap());
            let named = |op: &OpDef| op.output_desc.iter().any(|d| d.attr.contains_key(NAME));
            assert_eq!(lean.op.iter().any(named), keeps_names);
        }
    }

    #[test]
    fn bytes_that_were_changed_are_read_alike_or_by_the_whole_reader() {
        let bytes = bytes();
        let mut read_lean = 0;
        for at in 0..bytes.len() {
            for by in [1, 8, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= by;
                let Some(lean) = (Reading { keeps_names: true }).model(&changed) else { continue };
                read_lean += 1;
                assert_eq!(lean, spared(&changed, true).unwrap(), "byte {at} by {by}");
            }
            let short = &bytes[..at];
            assert!((Reading { keeps_names: true }).model(short).is_none());
        }
        assert!(read_lean > bytes.len());
    }

    #[test]
    fn bytes_that_are_no_model_are_the_same_error() {
        for bytes in [&b"\xff\xff\xff"[..], b"", b"\x3a\x05"] {
            let (lean, whole) = (read(bytes, true).unwrap_err(), bin::read(bytes).unwrap_err());
            assert_eq!(lean.to_string(), whole.to_string());
        }
    }
}
