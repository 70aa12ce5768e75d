//! Type annotations: `"f32[2, s77][3, 1]npu:0"`, `"Sym(u0 >= 2)"`.
//!
//! Promises: each distinct annotation is read once and its type shared; what the writer would print differently is reported, so that the
//! reader keeps the text. A tensor subclass prints as `Class(f32[2], ...)`; it is taken for the tensor that it wraps.

use std::sync::Arc;

use smallvec::SmallVec;

use super::cursor::Cursor;
use super::error::{TextError, TextFault};
use crate::graph::{Device, Dtype, TensorType, ValueType};
use crate::sym::KeyedMap;
use crate::sym::{Dim, SymError, SymValue, Symbols};

/// What an annotation says.
#[derive(Clone)]
pub(super) struct Annotated {
    pub(super) ty: ValueType,
    /// Whether the writer prints this type in the same words.
    pub(super) canonical: bool,
}

/// The annotations of a text.
pub(super) struct Annotations<'a> {
    device: Device,
    seen: KeyedMap<&'a str, Annotated>,
}

/// Sizes or strides.
type Dims = SmallVec<[Dim; 4]>;

/// A piece of an annotation that is wrong, and how.
type Wrong<'t> = (&'t str, Box<TextFault>);

impl<'a> Annotations<'a> {
    /// Returns a reader of annotations for which tensors live on `device` unless they say otherwise.
    pub(super) fn new(device: Device) -> Self {
        Self { device, seen: KeyedMap::default() }
    }

    /// Takes an annotation in quotes.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'a>, symbols: &mut Symbols) -> Result<Annotated, TextError> {
        cursor.space();
        let start = cursor.position();
        let text = cursor.string("an annotation in quotes, such as \"f32[2, 3]\"")?;
        // Without escapes the text between the quotes is the annotation itself, and can be the key.
        let raw = cursor.since(start.saturating_add(1));
        let key = raw.get(..raw.len().saturating_sub(1)).unwrap_or("");
        if let Some(known) = self.seen.get(key) {
            return Ok(known.clone());
        }
        let ty = value_type(&text, &self.device, symbols).map_err(|(piece, fault)| {
            let offset = key.find(piece).unwrap_or(0).saturating_add(start).saturating_add(1);
            cursor.moved_to(offset).fault(piece.chars().count(), fault)
        })?;
        let canonical = ty.annotation(symbols).as_deref() == Some(&*text);
        let found = Annotated { ty, canonical };
        self.seen.insert(key, found.clone());
        Ok(found)
    }
}

/// Returns the device of `cpu`, `npu:0`.
pub(super) fn device(text: &str) -> Device {
    match text.split_once(':').map(|(kind, index)| (kind, index.parse())) {
        Some((kind, Ok(index))) => Device { kind: kind.into(), index: Some(index) },
        _ => Device::new(text),
    }
}

fn value_type<'t>(text: &'t str, device: &Device, symbols: &mut Symbols) -> Result<ValueType, Wrong<'t>> {
    if let Some(expression) = text.strip_prefix("Sym(").and_then(|t| t.strip_suffix(')')) {
        return match symbols.parse_python(expression) {
            Ok(SymValue::Int(dim)) => Ok(ValueType::SymInt(dim)),
            Ok(SymValue::Float(float)) => Ok(ValueType::SymFloat(float.into())),
            Ok(SymValue::Bool(truth)) => Ok(ValueType::SymBool(truth.into())),
            Err(source) => Err(expression_fault(expression, source)),
        };
    }
    let not_a_type = || (text, Box::new(TextFault::Annotation { found: text.to_string() }));
    let (dtype, rest) = text.split_once('[').ok_or_else(not_a_type)?;
    if let Some((class, _)) = dtype.split_once('(')
        && Dtype::from_short(class).is_none()
    {
        let inner = text.get(class.len().saturating_add(1)..).unwrap_or("");
        let end = inner.rfind(']').map_or(inner.len(), |i| i.saturating_add(1));
        return value_type(inner.get(..end).unwrap_or(inner), device, symbols);
    }
    let known =
        Dtype::from_short(dtype).ok_or_else(|| (dtype, Box::new(TextFault::Dtype { found: dtype.to_string() })))?;
    let (sizes, mut rest) = rest.split_once(']').ok_or_else(not_a_type)?;
    let sizes = self::sizes(sizes, symbols)?;
    let mut ty = TensorType::new(known, sizes, device.clone());
    if let Some(strides) = rest.strip_prefix('[') {
        let (strides, after) = strides.split_once(']').ok_or_else(not_a_type)?;
        let strides = dims(strides, symbols)?;
        if strides.len() != ty.sizes.len() {
            return Err(not_a_type());
        }
        ty.strides = Some(strides);
        rest = after;
    }
    if !rest.is_empty() {
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(not_a_type());
        }
        ty.device = self::device(rest);
    }
    Ok(ValueType::Tensor(Arc::new(ty)))
}

fn expression_fault(text: &str, source: SymError) -> Wrong<'_> {
    (text, Box::new(TextFault::Expression { text: text.to_string(), source }))
}

/// Sizes, of which none is below 0.
fn sizes<'t>(text: &'t str, symbols: &mut Symbols) -> Result<Dims, Wrong<'t>> {
    let all = dims(text, symbols)?;
    match all.iter().find_map(|d| d.fixed().filter(|size| *size < 0)) {
        Some(size) => Err((text, Box::new(TextFault::NegativeSize { size }))),
        None => Ok(all),
    }
}

fn dims<'t>(text: &'t str, symbols: &mut Symbols) -> Result<Dims, Wrong<'t>> {
    let mut all = Dims::new();
    let pieces = split(text);
    if pieces.len() > TensorType::MAX_RANK {
        let fault = TextFault::Rank { rank: pieces.len(), limit: TensorType::MAX_RANK };
        return Err((text, Box::new(fault)));
    }
    for piece in pieces {
        all.push(match piece.parse() {
            Ok(number) => Dim::Fixed(number),
            Err(_) => symbols.parse_dim(piece).map_err(|source| expression_fault(piece, source))?,
        });
    }
    Ok(all)
}

/// Splits at the commas that stand outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut open) = (0, 0_usize);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open = open.saturating_add(1),
            b')' => open = open.saturating_sub(1),
            b',' if open == 0 => {
                pieces.push(text.get(start..index).unwrap_or("").trim());
                start = index.saturating_add(1);
            }
            _ => {}
        }
    }
    let last = text.get(start..).unwrap_or("").trim();
    if !last.is_empty() {
        pieces.push(last);
    }
    pieces
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_below_zero_and_more_dimensions_than_tensors_have_are_faults() {
        let read = |text: &str| {
            let (mut symbols, quoted) = (Symbols::new(), format!("\"{text}\""));
            let mut cursor = Cursor::new("t.fx", &quoted);
            Annotations::new(Device::cpu()).read(&mut cursor, &mut symbols).map(|_| ()).map_err(|e| e.to_string())
        };
        assert!(read("f32[-1, 2]").unwrap_err().contains("cannot have the size -1"));
        assert!(read("f32[2, -9223372036854775808]").unwrap_err().contains("sizes are 0 or more"));
        assert_eq!(read("f32[0, 2][-1, 1]"), Ok(()));
        assert_eq!(read(&format!("f32[{}]", ["1"; 64].join(", "))), Ok(()));
        assert!(read(&format!("f32[{}]", ["1"; 65].join(", "))).unwrap_err().contains("65 dimensions"));
    }

    use super::*;

    fn read(text: &str) -> Result<(String, bool), TextFault> {
        let (mut symbols, quoted) = (Symbols::new(), format!("\"{text}\""));
        let mut annotations = Annotations::new(Device::cpu());
        let found = annotations.read(&mut Cursor::new("t.fx", &quoted), &mut symbols).map_err(|e| *e.fault)?;
        let device = found.ty.as_tensor().map_or_else(String::new, |t| format!(" {}", t.device));
        let strides = found.ty.as_tensor().is_some_and(|t| t.strides.is_some());
        Ok((
            found.ty.annotation(&symbols).unwrap_or_default() + &device + if strides { " strided" } else { "" },
            found.canonical,
        ))
    }

    #[test]
    fn annotations_say_dtype_sizes_strides_and_device() {
        assert_eq!(read("f32[2, 3]").unwrap(), ("f32[2, 3] cpu".into(), true));
        assert_eq!(read("i64[]").unwrap(), ("i64[] cpu".into(), true));
        assert_eq!(read("f32[2, 3][3, 1]npu:0").unwrap(), ("f32[2, 3] npu:0 strided".into(), false));
        assert_eq!(read("f32[s77, Max(3, s77)]").unwrap(), ("f32[s77, Max(3, s77)] cpu".into(), true));
        assert_eq!(read("Sym(u0 >= 2)").unwrap(), ("Sym(u0 >= 2)".into(), true));
        assert_eq!(read("Parameter(f32[2])").unwrap(), ("f32[2] cpu".into(), false));
    }

    #[test]
    fn annotations_that_say_nothing_are_faults() {
        assert_eq!(read("f33[2]").unwrap_err(), TextFault::Dtype { found: "f33".into() });
        assert!(matches!(read("f32[2").unwrap_err(), TextFault::Annotation { .. }));
        assert!(matches!(read("f32[2, 3][1]").unwrap_err(), TextFault::Annotation { .. }));
        assert!(matches!(read("f32[2 +]").unwrap_err(), TextFault::Expression { .. }));
        assert!(matches!(read("Sym()").unwrap_err(), TextFault::Expression { .. }));
    }
}
