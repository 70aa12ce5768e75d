//! What stands under the program: the signature and the ranges of symbols, read and written.
//!
//! Reads the lines that PyTorch 2.8 and later print, and the one line of Python reprs of 2.5 to 2.7. Promises: what is written reads back.
//! Leaves to `analysis::form` whether inputs and outputs are those of the program; names of outputs are handed to the reader, as the graph
//! keeps none.

use std::fmt::Write as _;

use super::cursor::Cursor;
use super::error::{TextError, TextFault, shown};
use super::value::{self, Scope};
use crate::graph::{Arg, Graph, InputKind, InputSpec, NodeKind, OutputKind, OutputSpec, Signature, View};
use crate::sym::{Dim, ExprId, KeyedMap, Range, SymError, Symbols};

/// The first words of the last line.
pub(super) const RANGES: &str = "Range constraints:";

/// A signature, and the name that it gives to each output (empty for constants).
#[derive(Default)]
pub(super) struct Found {
    pub(super) signature: Signature,
    pub(super) output_names: Vec<String>,
}

/// Takes a signature, from after `Graph signature:` to before the ranges.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Found, TextError> {
    cursor.space();
    if cursor.peek() != b'\n' && cursor.peek() != b'\r' && !cursor.at_end() {
        return one_line(cursor);
    }
    cursor.line();
    let mut found = Found::default();
    let mut inputs = true;
    while !cursor.at_end() {
        cursor.space();
        let rest = cursor.rest();
        if rest.starts_with(RANGES) {
            break;
        } else if rest.starts_with("# inputs") || rest.starts_with("# outputs") {
            inputs = rest.starts_with("# inputs");
            cursor.line();
        } else if matches!(cursor.peek(), b'\n' | b'\r' | b'#') || cursor.at_end() {
            cursor.line();
        } else {
            spec(cursor, inputs, &mut found)?;
        }
    }
    Ok(found)
}

/// Takes `p_w: BUFFER target='w' persistent=True`.
fn spec(cursor: &mut Cursor<'_>, input: bool, found: &mut Found) -> Result<(), TextError> {
    let start = cursor.position();
    let name = cursor.balanced(b":")?.trim_end();
    if cursor.peek() != b':' {
        return Err(cursor.moved_to(start).expected("a line of the signature, such as `x: USER_INPUT`"));
    }
    cursor.advance(1);
    cursor.space();
    let at = cursor.clone();
    let word = cursor.name("a kind of the signature")?;
    let target = if cursor.eat_word("target") { Some(target(cursor)?) } else { None };
    let mut persistent = None;
    if cursor.eat_word("persistent") {
        cursor.expect(b'=', "`=`")?;
        persistent = Some(cursor.eat_word("True"));
        if persistent == Some(false) && !cursor.eat_word("False") {
            return Err(cursor.expected("`True` or `False`"));
        }
    }
    cursor.end_of_line("the end of the line")?;
    if input {
        let kind = InputKind::from_name(word).ok_or_else(|| at.expected("a kind of input, such as USER_INPUT"))?;
        found.signature.inputs.push(InputSpec { kind, name: name.into(), target, persistent });
    } else {
        let kind = OutputKind::from_name(word).ok_or_else(|| at.expected("a kind of output, such as USER_OUTPUT"))?;
        found.signature.outputs.push(OutputSpec { kind, target });
        found.output_names.push(name.to_string());
    }
    Ok(())
}

/// Takes `='w'`. PyTorch puts the name between quotes as it is, so the last quote that fits ends it.
fn target(cursor: &mut Cursor<'_>) -> Result<Box<str>, TextError> {
    cursor.expect(b'=', "`=`")?;
    cursor.expect(b'\'', "the target in quotes")?;
    let line = cursor.rest().split(['\n', '\r']).next().unwrap_or("");
    let before = line.rfind("' persistent=").or_else(|| line.rfind('\''));
    let Some(text) = before.and_then(|end| line.get(..end)) else {
        return Err(cursor.fault(1, TextFault::OpenString));
    };
    cursor.advance(text.len().saturating_add(1));
    Ok(text.into())
}

/// Takes `ExportGraphSignature(input_specs=[...], output_specs=[...])`.
fn one_line(cursor: &mut Cursor<'_>) -> Result<Found, TextError> {
    const WHAT: &str = "`ExportGraphSignature(input_specs=[...], output_specs=[...])`";
    let mut found = Found::default();
    if cursor.path(WHAT)? != "ExportGraphSignature" {
        return Err(cursor.expected(WHAT));
    }
    cursor.open(b'(', WHAT)?;
    while !cursor.close(b')') {
        let list = cursor.name(WHAT)?;
        cursor.expect(b'=', "`=`")?;
        cursor.open(b'[', "`[`")?;
        while !cursor.close(b']') {
            cursor.space();
            let at = cursor.clone();
            cursor.name("a spec of the signature")?;
            let spec = Fields::read(cursor)?;
            if !spec.has_lines() {
                return Err(at.expected("a spec whose argument and target are names"));
            }
            if list == "input_specs" {
                let kind = InputKind::from_name(spec.kind()).ok_or_else(|| at.expected("an input spec"))?;
                let persistent = match spec.get("persistent") {
                    Some(Arg::Bool(v)) => Some(*v),
                    _ => None,
                };
                let (name, target) = (spec.argument_name().into(), spec.target());
                found.signature.inputs.push(InputSpec { kind, name, target, persistent });
            } else {
                let kind = OutputKind::from_name(spec.kind()).ok_or_else(|| at.expected("an output spec"))?;
                found.signature.outputs.push(OutputSpec { kind, target: spec.target() });
                found.output_names.push(spec.argument_name());
            }
            value::separator(cursor, b']')?;
        }
        value::separator(cursor, b')')?;
    }
    cursor.end_of_line("the end of the line")?;
    Ok(found)
}

/// `(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_c'), target='c', persistent=True)`.
struct Fields<'a>(Vec<(&'a str, Arg)>);

impl<'a> Fields<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, TextError> {
        let mut fields = Vec::new();
        cursor.open(b'(', "`(`")?;
        while !cursor.close(b')') {
            let name = cursor.name("a field")?;
            cursor.expect(b'=', "`=`")?;
            fields.push((name, value::value(cursor, &mut Scope::default())?));
            value::separator(cursor, b')')?;
        }
        Ok(Self(fields))
    }

    fn get(&self, name: &str) -> Option<&Arg> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Arg::Other(text) | Arg::Str(text)) => text,
            _ => "",
        }
    }

    /// `BUFFER` of `<InputKind.BUFFER: 3>`.
    fn kind(&self) -> &str {
        let text = self.text("kind");
        text.split_once('.').and_then(|(_, t)| t.split_once(':')).map_or(text, |(kind, _)| kind)
    }

    fn target(&self) -> Option<Box<str>> {
        match self.get("target") {
            Some(Arg::Str(text)) => Some(text.clone()),
            _ => None,
        }
    }

    /// Whether the lines that are written of it read as the same.
    fn has_lines(&self) -> bool {
        let is_name = self.argument_name().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
        is_name && self.target().is_none_or(|target| shown(&target) == *target && !target.contains("' persistent="))
    }

    /// `b_c` of `TensorArgument(name='b_c')`.
    fn argument_name(&self) -> String {
        let text = self.text("arg");
        let mut cursor = Cursor::new("", text.split_once("name=").map_or("", |(_, t)| t));
        cursor.string("").map(|s| s.into_owned()).unwrap_or_default()
    }
}

/// Takes `{s77: VR[2, 1024]}` and sets the ranges; returns the symbols in the order in which they stand.
pub(super) fn read_ranges(cursor: &mut Cursor<'_>, symbols: &mut Symbols) -> Result<Vec<ExprId>, TextError> {
    let (mut entries, mut empty) = (Vec::new(), KeyedMap::default());
    cursor.open(b'{', "`{`, as in `{s77: VR[2, 1024]}`")?;
    while !cursor.close(b'}') {
        cursor.space();
        let at = cursor.clone();
        // A derived dimension (`2*s0`) has an entry too; its range follows from those of its symbols.
        let name = cursor.balanced(b":")?.trim();
        let is_symbol = name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
        if is_symbol && !at.at_name() {
            return Err(at.expected("a symbol"));
        }
        cursor.expect(b':', "`:`")?;
        if !cursor.eat_word("VR") {
            return Err(cursor.expected("a range, such as `VR[2, 1024]`"));
        }
        cursor.open(b'[', "`[`")?;
        let min = bound(cursor)?;
        cursor.expect(b',', "`,`")?;
        let max = bound(cursor)?;
        if !cursor.close(b']') {
            return Err(cursor.expected("`]`"));
        }
        if is_symbol && min.zip(max).is_some_and(|(min, max)| min > max) {
            empty.entry(name).or_insert_with(|| at.clone());
        }
        entries.push((at, name, is_symbol.then(|| Range::new(min, max))));
        value::separator(cursor, b'}')?;
    }
    // All at once: what is made of symbols is looked at once, however often one is given.
    let faulty = |at: &Cursor<'_>, name: &str, source| {
        at.fault(name.chars().count(), TextFault::Range { name: name.to_string(), source })
    };
    let stated = entries.iter().filter_map(|(_, name, range)| range.map(|range| (*name, range)));
    symbols.set_ranges(stated).map_err(|source| match &source {
        SymError::EmptyRange { name, .. } => match empty.get(&**name) {
            Some(at) => faulty(at, name, source.clone()),
            None => faulty(cursor, name, source.clone()),
        },
        _ => faulty(cursor, "", source),
    })?;
    let mut order = Vec::with_capacity(entries.len());
    for (at, name, range) in entries {
        let dim = match range {
            Some(_) => symbols.find_symbol(name),
            None => Some(symbols.parse_dim(name).map_err(|source| faulty(&at, name, source))?),
        };
        if let Some(Dim::Expr(id)) = dim {
            order.push(id);
        }
    }
    Ok(order)
}

/// Takes a bound; `None` is infinite.
fn bound(cursor: &mut Cursor<'_>) -> Result<Option<i64>, TextError> {
    const WHAT: &str = "an integer, `int_oo` or `-int_oo`";
    cursor.space();
    let at = cursor.clone();
    let negative = cursor.eat(b'-');
    if cursor.eat_word("int_oo") || cursor.eat_word("oo") {
        return Ok(None);
    }
    *cursor = at.clone();
    match value::value(cursor, &mut Scope::default())? {
        Arg::Int(value) => Ok(Some(value)),
        // Older prints state the largest size as a number that 64 bits do not hold.
        Arg::Other(_) if negative || at.peek().is_ascii_digit() => Ok(None),
        _ => Err(at.expected(WHAT)),
    }
}

/// Appends signature and ranges as `print(exported_program)` gives them.
pub(super) fn write(out: &mut String, graph: &Graph, signature: &Signature) {
    out.push_str("Graph signature:\n    # inputs\n");
    for spec in &signature.inputs {
        let _ = write!(out, "    {}: {}", shown(&spec.name), spec.kind.name());
        write_target(out, spec.target.as_deref());
        if let Some(persistent) = spec.persistent {
            out.push_str(if persistent { " persistent=True" } else { " persistent=False" });
        }
        out.push('\n');
    }
    if signature.inputs.is_empty() {
        out.push_str("    \n");
    }
    out.push_str("    \n    # outputs\n");
    let outputs = output_values(graph);
    for (index, spec) in signature.outputs.iter().enumerate() {
        let name = outputs.get(index).and_then(Arg::as_node).map_or("", |n| graph.name(n));
        let _ = write!(out, "    {}: {}", shown(name), spec.kind.name());
        write_target(out, spec.target.as_deref());
        out.push('\n');
    }
    if signature.outputs.is_empty() {
        out.push_str("    \n");
    }
    out.push_str("    \n");
    out.push_str(RANGES);
    out.push_str(" {");
    for (index, id) in graph.range_constraints.iter().enumerate() {
        let name = graph.symbols.print_expr(*id);
        let range = graph.symbols.declared_range(&name).unwrap_or_else(|| graph.symbols.range_of(Dim::Expr(*id)));
        let _ = write!(out, "{}{name}: {range}", if index > 0 { ", " } else { "" });
    }
    out.push_str("}\n");
}

fn write_target(out: &mut String, target: Option<&str>) {
    if let Some(target) = target {
        let _ = write!(out, " target='{}'", shown(target));
    }
}

/// Returns what the graph returns, one argument an output.
fn output_values(graph: &Graph) -> &[Arg] {
    let root = crate::graph::BodyId::ROOT;
    let Some(output) = graph.last(root).filter(|n| graph.kind(*n) == NodeKind::Output) else {
        return &[];
    };
    let args = graph.args(output);
    args.first().and_then(Arg::items).unwrap_or(args)
}
