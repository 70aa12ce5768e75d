//! Arguments on their way between guest and graph.
//!
//! The contract has one level of lists. What it cannot say (lists in lists, dictionaries) goes to the guest as a text,
//! and the text comes back as what it stands for. A list of the guest takes the place of a tuple where it replaces one.

use std::fmt::Write;

use super::super::bindings::airlock::pass::types::{Arg as WitArg, EditCode, EditError, NamedArg, Scalar};
use crate::graph::{Arg, Device, Dtype, Interner, Layout, MemoryFormat, NodeId, StrId};
use crate::sym::KeyedMap;

/// Arguments that were given out as texts.
#[derive(Debug, Default)]
pub(super) struct Words {
    known: KeyedMap<String, Arg>,
}

impl Words {
    /// Returns an argument in the contract's words.
    pub(super) fn give(&mut self, arg: &Arg) -> WitArg {
        let scalars = |items: &[Arg]| items.iter().map(plain).collect::<Option<Vec<Scalar>>>();
        match arg {
            Arg::List(items) | Arg::Tuple(items) => match scalars(items) {
                Some(items) => WitArg::Many(items),
                None => WitArg::One(self.other(arg)),
            },
            scalar => WitArg::One(plain(scalar).unwrap_or_else(|| self.other(arg))),
        }
    }

    fn other(&mut self, arg: &Arg) -> Scalar {
        let text = words(arg);
        self.known.entry(text.clone()).or_insert_with(|| arg.clone());
        Scalar::Other(text)
    }

    /// Returns an argument of the guest; `node` reads its numbers of nodes, `old` is what it replaces.
    pub(super) fn take(
        &self,
        arg: WitArg,
        old: Option<&Arg>,
        node: &mut impl FnMut(u64) -> Result<NodeId, EditError>,
    ) -> Result<Arg, EditError> {
        match arg {
            WitArg::One(scalar) => self.take_scalar(scalar, node),
            WitArg::Many(items) => {
                let items = items.into_iter().map(|s| self.take_scalar(s, node)).collect::<Result<Box<[Arg]>, _>>()?;
                Ok(if matches!(old, Some(Arg::Tuple(_))) { Arg::Tuple(items) } else { Arg::List(items) })
            }
        }
    }

    fn take_scalar(
        &self,
        scalar: Scalar,
        node: &mut impl FnMut(u64) -> Result<NodeId, EditError>,
    ) -> Result<Arg, EditError> {
        Ok(match scalar {
            Scalar::None => Arg::None,
            Scalar::Node(id) => Arg::Node(node(id)?),
            Scalar::Int(v) => Arg::Int(v),
            Scalar::Float(v) => Arg::Float(v),
            Scalar::Complex((re, im)) => Arg::Complex(re, im),
            Scalar::Bool(v) => Arg::Bool(v),
            Scalar::Str(text) => Arg::Str(text.into()),
            Scalar::Dtype(text) => {
                Arg::Dtype(Dtype::from_long(bare(&text)).ok_or_else(|| unknown("a dtype such as `float32`", &text))?)
            }
            Scalar::Device(text) => {
                Arg::Device(device(&text).ok_or_else(|| unknown("a device such as `npu:0`", &text))?)
            }
            Scalar::Layout(text) => {
                Arg::Layout(Layout::from_name(bare(&text)).ok_or_else(|| unknown("a layout such as `strided`", &text))?)
            }
            Scalar::MemoryFormat(text) => Arg::MemoryFormat(
                MemoryFormat::from_name(bare(&text))
                    .ok_or_else(|| unknown("a memory format such as `contiguous_format`", &text))?,
            ),
            Scalar::Operator(text) => Arg::Operator(text.strip_prefix("torch.ops.").unwrap_or(&text).into()),
            Scalar::Other(text) => match self.known.get(&text) {
                Some(arg) => arg.clone(),
                None => Arg::Other(text.into()),
            },
        })
    }
}

/// Returns a scalar of the contract, or nothing for what only words can say.
fn plain(arg: &Arg) -> Option<Scalar> {
    Some(match arg {
        Arg::None => Scalar::None,
        Arg::Node(n) => Scalar::Node(n.to_bits()),
        Arg::Int(v) => Scalar::Int(*v),
        Arg::Float(v) => Scalar::Float(*v),
        Arg::Complex(re, im) => Scalar::Complex((*re, *im)),
        Arg::Bool(v) => Scalar::Bool(*v),
        Arg::Str(text) => Scalar::Str(text.to_string()),
        Arg::Dtype(v) => Scalar::Dtype(v.long().to_string()),
        Arg::Device(v) => Scalar::Device(v.to_string()),
        Arg::Layout(v) => Scalar::Layout(v.name().to_string()),
        Arg::MemoryFormat(v) => Scalar::MemoryFormat(v.name().to_string()),
        Arg::Operator(text) => Scalar::Operator(text.to_string()),
        Arg::Other(text) => Scalar::Other(text.to_string()),
        Arg::List(_) | Arg::Tuple(_) | Arg::Dict(_) => return None,
    })
}

/// Returns one text for each argument, as Python would write it. Lists nest at most [`Arg::MAX_DEPTH`] deep.
pub(super) fn words(arg: &Arg) -> String {
    let mut out = String::new();
    write_words(arg, &mut out);
    out
}

fn write_words(arg: &Arg, out: &mut String) {
    let list = |items: &[Arg], open: char, close: char, out: &mut String| {
        out.push(open);
        for item in items {
            write_words(item, out);
            out.push_str(", ");
        }
        out.push(close);
    };
    match arg {
        Arg::List(items) => list(items, '[', ']', out),
        Arg::Tuple(items) => list(items, '(', ')', out),
        Arg::Dict(items) => {
            out.push('{');
            for (key, value) in items {
                // Writing to a String cannot fail.
                let _ = write!(out, "{key:?}: ");
                write_words(value, out);
                out.push_str(", ");
            }
            out.push('}');
        }
        Arg::Node(n) => {
            let _ = write!(out, "%{}", n.to_bits());
        }
        scalar => {
            let _ = write!(out, "{scalar:?}");
        }
    }
}

fn bare(text: &str) -> &str {
    text.strip_prefix("torch.").unwrap_or(text)
}

/// Returns the device of a text.
pub(in super::super) fn device(text: &str) -> Option<Device> {
    let (kind, index) = match text.split_once(':') {
        Some((kind, index)) => (kind, Some(index.parse::<u32>().ok()?)),
        None => (text, None),
    };
    let is_word = !kind.is_empty() && kind.len() <= 32 && kind.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word.then(|| Device { kind: kind.into(), index: index.map(i64::from) })
}

fn unknown(expected: &str, found: &str) -> EditError {
    let message = format!("expected {expected}, found `{found}`");
    EditError { code: EditCode::BadArgument, node: None, argument: None, message }
}

/// Returns keyword arguments in the contract's words.
pub(super) fn give_kwargs(words: &mut Words, texts: &Interner, kwargs: &[(StrId, Arg)]) -> Vec<NamedArg> {
    kwargs.iter().map(|(k, a)| NamedArg { name: texts.text(*k).to_string(), value: words.give(a) }).collect()
}

/// Returns how many bytes arguments fill when they are kept.
pub(super) fn weight_of(args: &[WitArg], kwargs: &[NamedArg]) -> u64 {
    const ARG: usize = size_of::<Arg>();
    let scalar = |s: &Scalar| match s {
        Scalar::Str(t)
        | Scalar::Dtype(t)
        | Scalar::Device(t)
        | Scalar::Layout(t)
        | Scalar::MemoryFormat(t)
        | Scalar::Operator(t) => ARG.saturating_add(t.len()),
        // The words of a nested argument: at least two bytes each for what it holds.
        Scalar::Other(t) => ARG.saturating_add(t.len().saturating_mul(ARG)),
        _ => ARG,
    };
    let arg = |a: &WitArg| match a {
        WitArg::One(s) => scalar(s),
        WitArg::Many(items) => items.iter().map(scalar).fold(ARG, usize::saturating_add),
    };
    let positional = args.iter().map(arg).fold(0, usize::saturating_add);
    let named = kwargs.iter().map(|k| arg(&k.value).saturating_add(k.name.len()).saturating_add(ARG));
    u64::try_from(named.fold(positional, usize::saturating_add)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(arg: &Arg) -> Arg {
        let mut words = Words::default();
        let given = words.give(arg);
        words.take(given, Some(arg), &mut |n| Ok(NodeId::from_bits(n).unwrap())).unwrap()
    }

    #[test]
    fn every_argument_comes_back_as_it_was() {
        let node = || Arg::Node(NodeId::from_bits(5 << 32 | 7).unwrap());
        for arg in [
            Arg::None,
            node(),
            Arg::Int(-3),
            Arg::Float(f64::NEG_INFINITY),
            Arg::Float(-0.0),
            Arg::Complex(1.0, -2.0),
            Arg::Bool(true),
            Arg::Str("a\"b".into()),
            Arg::Dtype(Dtype::Bf16),
            Arg::Device(Device { kind: "npu".into(), index: Some(3) }),
            Arg::Device(Device::cpu()),
            Arg::Layout(Layout::Strided),
            Arg::MemoryFormat(MemoryFormat::ChannelsLast),
            Arg::Operator("aten.add.Tensor".into()),
            Arg::Other("whatever".into()),
            Arg::list([1, 2]),
            Arg::Tuple(Box::new([node(), Arg::None])),
            Arg::List(Box::new([Arg::list([1]), Arg::Tuple(Box::new([node()]))])),
            Arg::Dict(Box::new([("k".into(), node())])),
        ] {
            assert_eq!(round(&arg), arg);
        }
    }

    #[test]
    fn nested_arguments_have_different_words() {
        let of = |items: &[i64]| words(&Arg::List(Box::new([Arg::list(items.iter().copied())])));
        assert_ne!(of(&[1, 2]), of(&[12]));
        assert_ne!(words(&Arg::Str("1".into())), words(&Arg::Int(1)));
        assert_ne!(words(&Arg::list([1])), words(&Arg::Tuple(Box::new([Arg::Int(1)]))));
    }

    #[test]
    fn a_word_that_is_none_is_a_bad_argument() {
        let words = Words::default();
        for scalar in [
            Scalar::Dtype("float33".into()),
            Scalar::Device("npu:x".into()),
            Scalar::Device("".into()),
            Scalar::Layout("f32".into()),
            Scalar::MemoryFormat("".into()),
        ] {
            let error = words.take(WitArg::One(scalar), None, &mut |_| Err(unknown("", ""))).unwrap_err();
            assert_eq!(error.code, EditCode::BadArgument);
        }
    }
}
