//! The comments that PyTorch prints above statements: where in the user's program a node comes from.
//!
//! Promises: a comment that PyTorch printed becomes metadata (`stack_trace`, `custom`) from which the same comment is printed again.
//! Follows `append_stacktrace_summary` of PyTorch 2.15: the innermost frame with a line of code counts, and only its first line.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::pyrepr;
use super::value::{self, Scope};
use crate::graph::{Arg, Graph, NodeId};

/// Keys of a node's metadata.
const STACK_TRACE: &str = "stack_trace";
const CUSTOM: &str = "custom";

const NO_TRACE: &str = "No stacktrace found for following nodes";

/// How long a value of a user's annotation prints before it is cut off.
const ANNOTATION_CHARS: usize = 40;

/// What the comment above a statement says.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Origin {
    /// `File "PATH", line N, in FUNCTION\n    CODE`.
    pub(super) stack_trace: Option<String>,
    /// A JSON object.
    pub(super) custom: Option<String>,
}

impl Origin {
    /// Reads a comment without its `#`; `None` where it is not one that PyTorch prints above statements.
    pub(super) fn read(comment: &str) -> Option<Self> {
        let mut comment = comment.trim();
        let mut custom = None;
        if let Some(rest) = comment.strip_prefix("Annotation: ") {
            let mut cursor = Cursor::new("", rest);
            let entries = value::value(&mut cursor, &mut Scope::default()).ok()?;
            custom = Some(to_json(&entries)?.to_string());
            comment = cursor.rest().trim_start();
        }
        if comment == NO_TRACE {
            return Some(Self { stack_trace: None, custom });
        }
        // "Backward of forward node: File: ..." tells where the forward node comes from.
        let frame = comment.strip_prefix("File: ").or_else(|| comment.split_once(": File: ").map(|(_, f)| f))?;
        let (place, code) = frame.split_once(", code: ").or_else(|| Some((frame.strip_suffix(", code:")?, "")))?;
        let (place, function) = place.rsplit_once(" in ").unwrap_or((place, "forward"));
        let (file, line) = place.rsplit_once(':')?;
        let line: u64 = line.parse().ok()?;
        let mut trace = format!("File \"{file}\", line {line}, in {function}\n    {}", code.trim());
        if code.trim().is_empty() {
            // A frame counts only if a line follows it; an empty one is kept in place by what stands under it in tracebacks.
            trace.push_str("\n    ^");
        }
        Some(Self { stack_trace: Some(trace), custom })
    }

    /// Keeps what the comment says on a node.
    pub(super) fn keep(&self, graph: &mut Graph, node: NodeId) {
        if let Some(trace) = &self.stack_trace {
            graph.annotate(node, STACK_TRACE, Some(trace));
        }
        if let Some(custom) = &self.custom {
            graph.annotate(node, CUSTOM, Some(custom));
        }
    }
}

/// The entries that count, of the JSON object that a `.pt2` file keeps for a node.
#[derive(Default, serde::Deserialize)]
struct Kept<'a> {
    #[serde(borrow, default)]
    stack_trace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    custom: Option<Cow<'a, str>>,
}

/// Returns what the metadata of a node holds: what was set since reading wins over the file.
fn kept(graph: &Graph, node: NodeId) -> Kept<'_> {
    let Some(meta) = graph.meta(node) else { return Kept::default() };
    let bytes = meta.json.and_then(|span| graph.meta_source.as_ref()?.slice(span));
    let mut kept: Kept<'_> = bytes.and_then(|b| serde_json::from_slice(b).ok()).unwrap_or_default();
    for (key, value) in meta.set.iter().flat_map(|set| set.iter()) {
        let value = value.map(|v| Cow::Borrowed(graph.texts.text(v)));
        match graph.texts.text(*key) {
            STACK_TRACE => kept.stack_trace = value,
            CUSTOM => kept.custom = value,
            _ => {}
        }
    }
    kept
}

/// Returns the comment above a node, without its `#`.
pub(super) fn printed(graph: &Graph, node: NodeId) -> String {
    let kept = kept(graph, node);
    let mut out = String::new();
    if let Some(custom) = kept.custom.as_deref().and_then(user_annotation) {
        out.push_str(" Annotation: ");
        out.push_str(&custom);
    }
    out.push(' ');
    match kept.stack_trace.as_deref().and_then(summary) {
        Some(summary) => out.push_str(&super::error::shown(&summary)),
        None => out.push_str(NO_TRACE),
    }
    out
}

/// Returns the innermost frame that has a line of code: `File: PATH:LINE in FUNCTION, code: CODE`.
fn summary(trace: &str) -> Option<String> {
    let mut code: Option<&str> = None;
    for line in trace.trim().rsplit('\n') {
        let line = line.trim();
        if let (Some((file, number, function)), Some(code)) = (frame(line), code) {
            return Some(format!("File: {file}:{number} in {function}, code: {code}"));
        }
        code = Some(line);
    }
    None
}

/// Takes apart `File "PATH", line N, in FUNCTION`.
fn frame(line: &str) -> Option<(&str, &str, &str)> {
    let rest = line.strip_prefix("File \"")?;
    // The path may itself hold what follows it, so the last place that fits is the right one.
    let mut end = rest.len();
    while let Some(at) = rest.get(..end)?.rfind("\", line ") {
        let (file, after) = (rest.get(..at)?, rest.get(at..)?.strip_prefix("\", line ")?);
        if let Some((number, function)) = after.split_once(", in ")
            && !file.is_empty()
            && !function.is_empty()
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            return Some((file, number, function));
        }
        end = at;
    }
    None
}

/// Returns a user's annotation (a JSON object) as Python prints a dict of it, with long values cut off.
fn user_annotation(json: &str) -> Option<String> {
    let serde_json::Value::Object(entries) = serde_json::from_str(json).ok()? else {
        return None;
    };
    if entries.is_empty() {
        return None;
    }
    let mut out = String::from("{");
    for (index, (key, value)) in entries.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        pyrepr::string(&mut out, key);
        out.push_str(": ");
        let mut text = String::new();
        match value {
            serde_json::Value::String(s) => text.push_str(s),
            other => python_of(&mut text, other, 0),
        }
        if text.chars().count() > ANNOTATION_CHARS {
            let cut: String = text.chars().take(ANNOTATION_CHARS).collect();
            pyrepr::string(&mut out, &format!("{cut}..."));
        } else {
            python_of(&mut out, value, 0);
        }
    }
    out.push('}');
    Some(out)
}

fn python_of(out: &mut String, json: &serde_json::Value, depth: usize) {
    use serde_json::Value;
    if depth > Arg::MAX_DEPTH {
        out.push_str("...");
        return;
    }
    let below = depth.saturating_add(1);
    match json {
        Value::Null => out.push_str("None"),
        Value::Bool(v) => out.push_str(if *v { "True" } else { "False" }),
        Value::Number(v) => match v.as_f64() {
            Some(float) if v.is_f64() => pyrepr::float(out, float),
            _ => out.push_str(&v.to_string()),
        },
        Value::String(v) => pyrepr::string(out, v),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                python_of(out, item, below);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (index, (key, item)) in entries.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                pyrepr::string(out, key);
                out.push_str(": ");
                python_of(out, item, below);
            }
            out.push('}');
        }
    }
}

/// Returns literals as JSON. Depth is bounded, as values were read.
fn to_json(value: &Arg) -> Option<serde_json::Value> {
    use serde_json::Value;
    Some(match value {
        Arg::None => Value::Null,
        Arg::Bool(v) => Value::Bool(*v),
        Arg::Int(v) => (*v).into(),
        Arg::Float(v) => Value::Number(serde_json::Number::from_f64(*v)?),
        Arg::Str(v) => Value::String(v.to_string()),
        Arg::List(v) | Arg::Tuple(v) => Value::Array(v.iter().map(to_json).collect::<Option<_>>()?),
        Arg::Dict(v) => {
            Value::Object(v.iter().map(|(k, v)| Some((k.to_string(), to_json(v)?))).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(comment: &str) -> Option<String> {
        let origin = Origin::read(comment)?;
        let custom = origin.custom.as_deref().and_then(user_annotation).map(|a| format!("Annotation: {a} "));
        Some(custom.unwrap_or_default() + &origin.stack_trace.as_deref().and_then(summary).unwrap_or(NO_TRACE.into()))
    }

    #[test]
    fn a_comment_is_printed_as_it_was_read() {
        for comment in [
            "File: model.py:7 in forward, code: y = x @ self.w.T",
            "File: C:\\a b, in c.py:7 in <lambda>, code: f(x), code: g",
            "File: <eval_with_key>.727:9 in forward, code: child = a;  a = None",
            "File: m.py:1 in f, code:",
            "No stacktrace found for following nodes",
            "Annotation: {'stage': 1, 'name': \"it's\"} File: m.py:1 in f, code: x",
            "Annotation: {'k': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'} No stacktrace found for following nodes",
        ] {
            assert_eq!(again(comment).unwrap().trim_end(), comment);
        }
    }

    #[test]
    fn other_comments_are_not_origins() {
        assert_eq!(Origin::read("a remark"), None);
        assert_eq!(Origin::read("File: a.py in f"), None);
    }

    #[test]
    fn the_innermost_frame_with_code_counts() {
        let trace = "File \"a.py\", line 1, in f\n    g(x)\n  File \"b.py\", line 2, in g\n    mm(\n       x)";
        assert_eq!(summary(trace).unwrap(), "File: b.py:2 in g, code: mm(");
        assert_eq!(summary("File \"a.py\", line 1, in f"), None);
        let bare = "File \"a.py\", line 1, in f\n    g(x)\n  File \"b.py\", line 2, in g";
        assert_eq!(summary(bare).unwrap(), "File: a.py:1 in f, code: g(x)");
    }
}
