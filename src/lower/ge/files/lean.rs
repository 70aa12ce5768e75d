//! The serialized model, read for who asks what it computes: without what stands there for people, or says again what descriptors say.
//!
//! Promises: what is given is what `bin::read` gives, but for the graph's name, the attributes that are named in `SAID_AGAIN` and, unless names are
//! asked for, `NAME`; bytes that it refuses are refused. Whatever is not laid out as one writer lays it out is read by that instead, errors too.

use std::borrow::Cow;

use prost::Message;

use super::bin;
use super::form::FileError;
use crate::lower::ge::proto::{AttrDef, ShapeDef};
use crate::lower::ge::written::{Written, WrittenAttrs, WrittenDesc, WrittenOp};

/// Attributes of operators and descriptors that nobody computes by.
const SAID_AGAIN: [&str; 6] =
    ["_input_name_key", "_input_name_value", "_meta", "_output_name_key", "_output_name_value", "_readable_value"];

/// Which node of FX gives what a descriptor is of.
const NAME: &str = "_fx_tensor_name";

/// Hands on the graph of a serialized model, without what is said again; `keeps_names` says whether the names of nodes are looked at.
pub fn read<R>(bytes: &[u8], keeps_names: bool, then: impl FnOnce(&Written<'_>) -> R) -> Result<R, FileError> {
    match (Reading { keeps_names, ..Reading::default() }).model(bytes) {
        Some(graph) => Ok(then(&graph)),
        None => bin::read(bytes).map(|graph| then(&Written::of(&graph))),
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

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

type Attribute<'b> = (&'b str, Cow<'b, AttrDef>);

/// What is being read, in lists that are used again: what is kept of them is as long as it is.
#[derive(Default)]
struct Reading<'b> {
    keeps_names: bool,
    input: Vec<&'b str>,
    attr: Vec<Attribute<'b>>,
    own: Vec<Attribute<'b>>,
    input_desc: Vec<WrittenDesc<'b>>,
    output_desc: Vec<WrittenDesc<'b>>,
}

fn taken<T>(list: &mut Vec<T>) -> Box<[T]> {
    list.drain(..).collect()
}

impl<'b> Reading<'b> {
    fn model(mut self, bytes: &'b [u8]) -> Option<Written<'b>> {
        let (mut fields, mut found) = (Fields(bytes), None);
        while let Some(field) = fields.next()? {
            match field {
                (7, Held::Bytes(bytes)) if found.is_none() => found = Some(self.graph(bytes)?),
                _ => return None,
            }
        }
        found
    }

    fn graph(&mut self, bytes: &'b [u8]) -> Option<Written<'b>> {
        let (mut fields, mut count) = (Fields(bytes), 0_usize);
        while let Some((number, _)) = fields.next()? {
            count = count.saturating_add(usize::from(number == 6));
        }
        let (mut fields, mut op, mut attr) = (Fields(bytes), Vec::with_capacity(count), Vec::new());
        while let Some(field) = fields.next()? {
            match field {
                (1, Held::Bytes(name)) => {
                    text(name)?;
                }
                (6, Held::Bytes(bytes)) => op.push(self.operator(bytes)?),
                (11, Held::Bytes(entry)) => attr.extend(self.entry(entry)?),
                _ => return None,
            }
        }
        Some(Written { op, attr: WrittenAttrs::in_order(attr.into())? })
    }

    fn operator(&mut self, bytes: &'b [u8]) -> Option<WrittenOp<'b>> {
        let (mut fields, mut op) = (Fields(bytes), WrittenOp::default());
        while let Some(field) = fields.next()? {
            match field {
                (1, Held::Bytes(name)) => op.name = text(name)?,
                (2, Held::Bytes(kind)) => op.r#type = text(kind)?,
                (5, Held::Bytes(input)) => self.input.push(text(input)?),
                (10, Held::Bytes(entry)) => {
                    let read = self.entry(entry)?;
                    self.attr.extend(read);
                }
                (33, Held::Bytes(desc)) => {
                    let read = self.descriptor(desc)?;
                    self.input_desc.push(read);
                }
                (34, Held::Bytes(desc)) => {
                    let read = self.descriptor(desc)?;
                    self.output_desc.push(read);
                }
                _ => return None,
            }
        }
        op.input = taken(&mut self.input);
        op.attr = WrittenAttrs::in_order(taken(&mut self.attr))?;
        op.input_desc = taken(&mut self.input_desc);
        op.output_desc = taken(&mut self.output_desc);
        Some(op)
    }

    fn descriptor(&mut self, bytes: &'b [u8]) -> Option<WrittenDesc<'b>> {
        let (mut fields, mut desc) = (Fields(bytes), WrittenDesc::default());
        while let Some(field) = fields.next()? {
            match field {
                (1, Held::Bytes(name)) => desc.name = text(name)?,
                (2, Held::Number(dtype)) => desc.dtype = i32::try_from(dtype).ok()?,
                // A second one would add to the first.
                (3, Held::Bytes(shape)) if desc.shape.is_none() => {
                    desc.shape = Some(ShapeDef::decode(shape).ok()?.dim.into());
                }
                (4, Held::Bytes(layout)) => desc.layout = text(layout)?,
                (5, Held::Bytes(entry)) => {
                    let read = self.entry(entry)?;
                    self.own.extend(read);
                }
                (14, Held::Bytes(device)) => desc.device_type = text(device)?,
                _ => return None,
            }
        }
        desc.attr = WrittenAttrs::in_order(taken(&mut self.own))?;
        Some(desc)
    }

    /// Returns an attribute, unless nobody computes by it.
    fn entry(&self, bytes: &'b [u8]) -> Option<Option<Attribute<'b>>> {
        let mut fields = Fields(bytes);
        let Some((1, Held::Bytes(key))) = fields.next()? else { return None };
        let Some((2, Held::Bytes(value))) = fields.next()? else { return None };
        if !fields.0.is_empty() {
            return None;
        }
        let key = text(key)?;
        let is_spared = key.starts_with('_') && (SAID_AGAIN.contains(&key) || key == NAME && !self.keeps_names);
        if is_spared && is_plain(value)? {
            return Some(None);
        }
        let value = AttrDef::decode(value).ok()?;
        Some((!is_spared).then_some((key, Cow::Owned(value))))
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
    use crate::lower::ge::proto::{Attrs, GraphDef};
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

    fn lean(bytes: &[u8], keeps_names: bool) -> Option<Written<'_>> {
        (Reading { keeps_names, ..Reading::default() }).model(bytes)
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
            let lean = lean(&bytes, keeps_names).unwrap();
            assert_eq!(lean, Written::of(&spared(&bytes, keeps_names).unwrap()));
            let named = |op: &WrittenOp<'_>| op.output_desc.iter().any(|d| d.attr.get(NAME).is_some());
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
                let Some(lean) = lean(&changed, true) else { continue };
                read_lean += 1;
                assert_eq!(lean, Written::of(&spared(&changed, true).unwrap()), "byte {at} by {by}");
            }
            let short = &bytes[..at];
            assert!(lean(short, true).is_none());
        }
        assert!(read_lean > bytes.len());
    }

    #[test]
    fn bytes_that_are_no_model_are_the_same_error() {
        for bytes in [&b"\xff\xff\xff"[..], b"", b"\x3a\x05"] {
            let (lean, whole) = (read(bytes, true, |_| ()).unwrap_err(), bin::read(bytes).unwrap_err());
            assert_eq!(lean.to_string(), whole.to_string());
        }
    }
}
