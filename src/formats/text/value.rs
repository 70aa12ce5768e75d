//! Values: literals, names of nodes, operators as arguments.
//!
//! Promises: nesting is bounded by [`Arg::MAX_DEPTH`]; a name that is not (yet) defined is left as [`Arg::Other`] with `unresolved` set, for the
//! reader to settle at the end of the body; what a newer PyTorch writes and nobody here knows is kept as text.

use super::cursor::{Cursor, Number};
use super::error::{TextError, TextFault};
use crate::graph::{Arg, Dtype, Layout, MemoryFormat, NodeId};
use crate::sym::KeyedMap;

const VALUE: &str = "a value";

/// The names that a body has defined so far.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub(super) names: KeyedMap<&'a str, NodeId>,
    /// Whether a value since the last reset names something undefined.
    pub(super) unresolved: bool,
}

/// Reads a Python literal that stands alone: a number, a text, `True`, `False` or `None`.
pub fn literal(text: &str) -> Option<Arg> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let signed = |v: f64| if negative { -v } else { v };
    match digits {
        "None" => return Some(Arg::None),
        "True" => return Some(Arg::Bool(true)),
        "False" => return Some(Arg::Bool(false)),
        "inf" => return Some(Arg::Float(signed(f64::INFINITY))),
        "nan" => return Some(Arg::Float(f64::NAN)),
        _ => {}
    }
    let mut cursor = Cursor::new("literal", digits);
    let value = match cursor.peek() {
        b'\'' | b'"' if !negative => Arg::Str(cursor.string("a text").ok()?.into()),
        _ => match cursor.number().ok()? {
            Number::Int(v) => Arg::Int(if negative { v.checked_neg()? } else { v }),
            Number::Float(v) => Arg::Float(signed(v)),
            Number::Large(_) | Number::Imaginary(_) => return None,
        },
    };
    cursor.at_end().then_some(value)
}

/// Takes a value.
pub(super) fn value<'a>(cursor: &mut Cursor<'a>, scope: &mut Scope<'a>) -> Result<Arg, TextError> {
    nested(cursor, scope, 0)
}

/// Takes values up to the closing bracket, which is taken too.
pub(super) fn items<'a>(
    cursor: &mut Cursor<'a>,
    scope: &mut Scope<'a>,
    close: u8,
    depth: usize,
) -> Result<Vec<Arg>, TextError> {
    let mut items = Vec::new();
    while !cursor.close(close) {
        items.push(nested(cursor, scope, depth)?);
        separator(cursor, close)?;
    }
    Ok(items)
}

/// Takes a comma, unless the closing bracket comes next.
pub(super) fn separator(cursor: &mut Cursor<'_>, close: u8) -> Result<(), TextError> {
    if cursor.eat(b',') || cursor.peek() == close && !cursor.at_end() {
        return Ok(());
    }
    Err(cursor.expected(match close {
        b')' => "`,` or `)`",
        b']' => "`,` or `]`",
        _ => "`,` or `}`",
    }))
}

fn nested<'a>(cursor: &mut Cursor<'a>, scope: &mut Scope<'a>, depth: usize) -> Result<Arg, TextError> {
    cursor.space();
    let below = depth.saturating_add(1);
    let too_deep = depth >= Arg::MAX_DEPTH;
    match cursor.peek() {
        b'[' | b'(' | b'{' if too_deep => Err(cursor.fault(1, TextFault::TooDeep { limit: Arg::MAX_DEPTH })),
        b'[' => {
            cursor.open(b'[', VALUE)?;
            Ok(Arg::List(items(cursor, scope, b']', below)?.into()))
        }
        b'(' => parenthesis(cursor, scope, below),
        b'{' => dict(cursor, scope, below),
        b'\'' | b'"' => Ok(Arg::Str(cursor.string(VALUE)?.into())),
        b'-' | b'+' | b'0'..=b'9' | b'.' => signed(cursor),
        b'<' => angle(cursor),
        _ if cursor.at_name() => word(cursor, scope),
        _ => Err(cursor.expected(VALUE)),
    }
}

/// Takes a tuple, a complex number, or a value in parentheses.
fn parenthesis<'a>(cursor: &mut Cursor<'a>, scope: &mut Scope<'a>, depth: usize) -> Result<Arg, TextError> {
    cursor.open(b'(', VALUE)?;
    if cursor.close(b')') {
        return Ok(Arg::Tuple(Box::default()));
    }
    let first = nested(cursor, scope, depth)?;
    cursor.space();
    let first = match (&first, cursor.peek()) {
        (Arg::Int(_) | Arg::Float(_), b'+' | b'-') => {
            let re = as_float(&first);
            match signed(cursor)? {
                Arg::Complex(_, im) => Arg::Complex(re, im),
                _ => return Err(cursor.expected("`j` after the imaginary part")),
            }
        }
        _ => first,
    };
    if cursor.close(b')') {
        return Ok(first);
    }
    separator(cursor, b')')?;
    let mut all = vec![first];
    all.extend(items(cursor, scope, b')', depth)?);
    Ok(Arg::Tuple(all.into()))
}

fn dict<'a>(cursor: &mut Cursor<'a>, scope: &mut Scope<'a>, depth: usize) -> Result<Arg, TextError> {
    cursor.open(b'{', VALUE)?;
    let mut entries: Vec<(Box<str>, Arg)> = Vec::new();
    while !cursor.close(b'}') {
        let key = cursor.string("a string as key")?.into();
        cursor.expect(b':', "`:` after the key")?;
        entries.push((key, nested(cursor, scope, depth)?));
        separator(cursor, b'}')?;
    }
    Ok(Arg::Dict(entries.into()))
}

fn as_float(value: &Arg) -> f64 {
    match value {
        #[allow(clippy::cast_precision_loss)]
        Arg::Int(v) => *v as f64,
        Arg::Float(v) => *v,
        _ => f64::NAN,
    }
}

/// Takes a number with its sign.
fn signed(cursor: &mut Cursor<'_>) -> Result<Arg, TextError> {
    let start = cursor.position();
    let negative = cursor.eat(b'-');
    if !negative {
        cursor.eat(b'+');
    }
    let sign = if negative { -1.0 } else { 1.0 };
    if cursor.eat_word("inf") {
        return Ok(Arg::Float(sign * f64::INFINITY));
    }
    if cursor.eat_word("nan") {
        return Ok(Arg::Float(f64::NAN));
    }
    Ok(match cursor.number()? {
        Number::Int(v) => Arg::Int(if negative { v.wrapping_neg() } else { v }),
        // -2^63 is an integer although 2^63 is none.
        Number::Large(_) => match cursor.since(start).parse() {
            Ok(v) => Arg::Int(v),
            Err(_) => Arg::Other(cursor.since(start).into()),
        },
        Number::Float(v) => Arg::Float(sign * v),
        Number::Imaginary(v) => Arg::Complex(0.0, sign * v),
    })
}

/// Takes the `repr` of something that is no literal: `<object at ...>`.
fn angle(cursor: &mut Cursor<'_>) -> Result<Arg, TextError> {
    let start = cursor.position();
    cursor.balanced(b">")?;
    cursor.expect(b'>', "`>`")?;
    Ok(Arg::Other(cursor.since(start).into()))
}

fn word<'a>(cursor: &mut Cursor<'a>, scope: &mut Scope<'a>) -> Result<Arg, TextError> {
    let start = cursor.position();
    let path = cursor.path(VALUE)?;
    if let Some(&node) = scope.names.get(path) {
        return Ok(Arg::Node(node));
    }
    if cursor.peek() == b'(' {
        return match path {
            "device" | "torch.device" => device(cursor),
            "complex" => complex(cursor),
            _ => opaque(cursor, start),
        };
    }
    if let Some(operator) = path.strip_prefix("torch.ops.") {
        return Ok(Arg::Operator(operator.into()));
    }
    if let Some(name) = path.strip_prefix("torch.") {
        let known = Dtype::from_long(name).map(Arg::Dtype);
        let known = known.or_else(|| Layout::from_name(name).map(Arg::Layout));
        let known = known.or_else(|| MemoryFormat::from_name(name).map(Arg::MemoryFormat));
        return Ok(known.unwrap_or_else(|| Arg::Other(path.into())));
    }
    Ok(match path {
        "None" => Arg::None,
        "True" => Arg::Bool(true),
        "False" => Arg::Bool(false),
        "inf" => Arg::Float(f64::INFINITY),
        "nan" => Arg::Float(f64::NAN),
        _ => {
            scope.unresolved = true;
            Arg::Other(path.into())
        }
    })
}

/// Takes `(type='npu', index=0)`, or the short `('npu', 0)` and `('npu:0')`.
fn device(cursor: &mut Cursor<'_>) -> Result<Arg, TextError> {
    cursor.open(b'(', "`(`")?;
    if cursor.eat_word("type") {
        cursor.expect(b'=', "`=`")?;
    }
    let kind = cursor.string("the device's type")?;
    let mut device = super::annotation::device(&kind);
    if cursor.eat(b',') {
        if cursor.eat_word("index") {
            cursor.expect(b'=', "`=`")?;
        }
        cursor.space();
        device.index = match signed(cursor)? {
            Arg::Int(index) => Some(index),
            _ => return Err(cursor.expected("the device's index")),
        };
    }
    if cursor.close(b')') { Ok(Arg::Device(device)) } else { Err(cursor.expected("`)`")) }
}

/// Takes `(0.0, 1.0)` after `complex`.
fn complex(cursor: &mut Cursor<'_>) -> Result<Arg, TextError> {
    cursor.open(b'(', "`(`")?;
    cursor.space();
    let re = as_float(&signed(cursor)?);
    cursor.expect(b',', "`,`")?;
    cursor.space();
    let im = as_float(&signed(cursor)?);
    if cursor.close(b')') { Ok(Arg::Complex(re, im)) } else { Err(cursor.expected("`)`")) }
}

/// Takes the call of something unknown as text.
fn opaque(cursor: &mut Cursor<'_>, start: usize) -> Result<Arg, TextError> {
    cursor.balanced(b",;")?;
    Ok(Arg::Other(cursor.since(start).into()))
}
