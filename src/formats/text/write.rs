//! Graph to text, as PyTorch 2.15 prints it.
//!
//! Promises: for a program that was read and not edited, the same lines; for any graph whose names are Python names, a text that reads back
//! to the same graph. One pass backwards for the releases, one forwards for the lines; bodies nest on a worklist. Control characters in names
//! are shown escaped. Follows `CodeGen._gen_python_code`, `_print_readable` and `ExportedProgram.__str__`.

use smallvec::SmallVec;

use super::comment;
use super::error::{TextError, shown};
use super::pyrepr;
use super::signature;
use super::target::{self, Form};
use crate::analysis::form::FormError;
use crate::graph::{BodyId, Graph, NodeId, NodeKind, View};
use crate::sym::cut;

/// Returns the text of a program: of an exported program where there is a signature, else of a bare graph module.
pub fn write(graph: &Graph) -> String {
    let mut writer = Writer {
        graph,
        out: String::with_capacity(graph.len().saturating_mul(160)),
        blank: if graph.signature.is_some() { "    \n" } else { "\n" },
    };
    let outermost = if graph.signature.is_some() { 4 } else { 0 };
    if graph.signature.is_some() {
        writer.out.push_str("ExportedProgram:\n");
    }
    let children = children(graph);
    let mut waiting = vec![(BodyId::ROOT, outermost)];
    while let Some((body, indent)) = waiting.pop() {
        if body != BodyId::ROOT {
            writer.out.push_str(writer.blank);
        }
        writer.class(body, indent);
        let inner = children.get(body.0 as usize).into_iter().flatten().rev();
        waiting.extend(inner.map(|child| (*child, indent.saturating_add(4))));
    }
    if let Some(signature) = &graph.signature {
        writer.out.push_str(writer.blank);
        signature::write(&mut writer.out, graph, signature);
        // `print` ends what already ends in a newline with another one.
        writer.out.push('\n');
    }
    writer.out
}

/// The bodies in each body, in order.
fn children(graph: &Graph) -> Vec<Vec<BodyId>> {
    let mut children: Vec<Vec<BodyId>> = vec![Vec::new(); graph.body_count()];
    for body in graph.bodies() {
        let parent = graph.body_parent(body).and_then(|p| children.get_mut(p.0 as usize));
        if let Some(siblings) = parent {
            siblings.push(body);
        }
    }
    children
}

/// Why a graph has no text form.
#[derive(Debug, thiserror::Error)]
pub enum Unwritable {
    /// The text would not be read.
    #[error("this model has no text form: its names or targets are none of Python's ({0})")]
    Text(TextError),
    /// The text would be read as another program.
    #[error("this model has no text form: `{}` would be read as another node; its name is none of Python's", cut(.name))]
    Other {
        /// The first node that would.
        name: String,
    },
}

/// Returns the text of a program that reads again as the same nodes: what a file states as names may be anything.
pub fn write_readable(graph: &Graph) -> Result<String, Unwritable> {
    let text = write(graph);
    let again = super::read(&text, &super::ReadOptions::default()).map_err(Unwritable::Text)?;
    let (within, within_again) = (children(graph), children(&again));
    let mut bodies = vec![(BodyId::ROOT, BodyId::ROOT)];
    while let Some((ours, theirs)) = bodies.pop() {
        let mut other = again.nodes(theirs);
        for node in graph.nodes(ours) {
            let same = |n: NodeId| {
                let kind = graph.kind(node);
                let named = matches!(kind, NodeKind::Output) || graph.name(node) == again.name(n);
                let called = kind != NodeKind::Placeholder || graph.target(node) == again.target(n);
                kind == again.kind(n) && named && called && graph.args(node).len() == again.args(n).len()
            };
            if !other.next().is_some_and(same) {
                return Err(Unwritable::Other { name: graph.target(node).to_string() });
            }
        }
        let name = || graph.body_name(ours).to_string();
        if other.next().is_some() {
            return Err(Unwritable::Other { name: name() });
        }
        let of = |all: &[Vec<BodyId>], body: BodyId| all.get(body.0 as usize).cloned().unwrap_or_default();
        let (inner, read) = (of(&within, ours), of(&within_again, theirs));
        if inner.len() != read.len() {
            return Err(Unwritable::Other { name: name() });
        }
        bodies.extend(inner.into_iter().zip(read));
    }
    Ok(text)
}

/// Returns the statement of one node, without comment and releases: for diffs, reports and errors.
pub fn write_node_line(view: &impl View, node: NodeId) -> String {
    let mut out = String::new();
    let annotation = view.ty(node).annotation(view.symbols());
    match view.kind(node) {
        NodeKind::Placeholder => parameter(&mut out, view, node, annotation.as_deref()),
        _ => statement(&mut out, view, node, annotation.as_deref()),
    }
    out
}

/// Returns a fault of form with the statement at which it was found, on two lines.
pub fn show_form_error(view: &impl View, error: &FormError) -> String {
    match error.node.filter(|n| view.contains(*n)) {
        Some(node) => format!("{error}\n    {}", write_node_line(view, node)),
        None => error.to_string(),
    }
}

struct Writer<'a> {
    graph: &'a Graph,
    out: String,
    blank: &'static str,
}

impl Writer<'_> {
    fn class(&mut self, body: BodyId, indent: usize) {
        let graph = self.graph;
        self.line(indent, |out| {
            out.push_str("class ");
            out.push_str(&shown(graph.body_name(body)));
            out.push_str("(torch.nn.Module):");
        });
        let nodes: Vec<NodeId> = graph.nodes(body).collect();
        self.line(indent.saturating_add(4), |out| {
            out.push_str("def forward(self");
            for &node in nodes.iter().filter(|n| graph.kind(**n) == NodeKind::Placeholder) {
                out.push_str(", ");
                parameter(out, graph, node, annotation(graph, node).as_deref());
            }
            out.push_str("):");
        });
        self.statements(&nodes, indent.saturating_add(8));
    }

    fn statements(&mut self, nodes: &[NodeId], indent: usize) {
        let graph = self.graph;
        let releases = releases(graph, nodes);
        let start = self.out.len();
        let mut last_comment = String::new();
        for (&node, dying) in nodes.iter().zip(&releases) {
            let kind = graph.kind(node);
            if kind == NodeKind::Placeholder {
                self.rename(node, indent);
                continue;
            }
            if kind != NodeKind::Output {
                let comment = comment::printed(graph, node);
                if comment != last_comment {
                    if self.out.len() > start {
                        self.out.push_str(self.blank);
                    }
                    self.line(indent, |out| {
                        out.push('#');
                        out.push_str(&comment);
                    });
                    last_comment = comment;
                }
            }
            self.line(indent, |out| {
                statement(out, graph, node, annotation(graph, node).as_deref());
                if kind == NodeKind::Output {
                    return;
                }
                for (index, dead) in dying.iter().enumerate() {
                    out.push_str(if index == 0 { ";  " } else { " = " });
                    out.push_str(&shown(graph.name(*dead)));
                }
                out.push_str(if dying.is_empty() { "" } else { " = None" });
            });
        }
        if self.out.len() == start {
            self.line(indent, |out| out.push_str("pass"));
        }
    }

    /// `input_1 = input`: a node whose name is not that of the argument.
    fn rename(&mut self, node: NodeId, indent: usize) {
        let graph = self.graph;
        let (argument, name) = (graph.target(node).replace('*', ""), graph.name(node));
        if argument != name {
            self.line(indent, |out| {
                out.push_str(&shown(name));
                out.push_str(" = ");
                out.push_str(&shown(&argument));
            });
        }
    }

    fn line(&mut self, indent: usize, write: impl FnOnce(&mut String)) {
        self.out.extend(std::iter::repeat_n(' ', indent));
        write(&mut self.out);
        self.out.push('\n');
    }
}

/// Returns which values each node is the last to use, in the order of its arguments; a node without users ends itself, last.
fn releases(graph: &Graph, nodes: &[NodeId]) -> Vec<SmallVec<[NodeId; 2]>> {
    let mut used_later = vec![false; graph.slots()];
    let mut all = Vec::with_capacity(nodes.len());
    for &node in nodes.iter().rev() {
        let mut dying = SmallVec::new();
        for operand in graph.operands(node) {
            if let Some(used) = used_later.get_mut(graph.slot_of(operand))
                && !std::mem::replace(used, true)
            {
                dying.push(operand);
            }
        }
        if graph.users(node).is_some_and(crate::graph::Users::is_empty) {
            dying.push(node);
        }
        all.push(dying);
    }
    all.reverse();
    all
}

fn annotation(graph: &Graph, node: NodeId) -> Option<std::borrow::Cow<'_, str>> {
    match graph.printed(node) {
        // A symbolic scalar that is a number prints without annotation.
        Some("") => None,
        Some(text) => Some(text.into()),
        None => graph.ty(node).annotation(&graph.symbols).map(Into::into),
    }
}

fn push_annotation(out: &mut String, annotation: Option<&str>) {
    if let Some(annotation) = annotation {
        out.push_str(": \"");
        out.push_str(&shown(annotation));
        out.push('"');
    }
}

fn parameter(out: &mut String, view: &impl View, node: NodeId, annotation: Option<&str>) {
    out.push_str(&shown(view.target(node)));
    push_annotation(out, annotation);
    if let Some(default) = view.args(node).first() {
        out.push_str(" = ");
        push_arg(out, view, default);
    }
}

fn push_arg(out: &mut String, view: &impl View, arg: &crate::graph::Arg) {
    pyrepr::arg(out, arg, &mut |out, node| {
        out.push_str(&shown(if view.contains(node) { view.name(node) } else { "<removed>" }));
    });
}

fn statement(out: &mut String, view: &impl View, node: NodeId, annotation: Option<&str>) {
    let args = view.args(node);
    if view.kind(node) == NodeKind::Output {
        out.push_str("return ");
        if let Some(value) = args.first() {
            push_arg(out, view, value);
        }
        return;
    }
    out.push_str(&shown(view.name(node)));
    push_annotation(out, annotation);
    out.push_str(" = ");
    let target = view.target(node);
    if view.kind(node) == NodeKind::GetAttr {
        out.push_str(&attribute(target));
        return;
    }
    match (target::form(target, args.len()), args) {
        (Form::Unary(sign), [a]) => {
            out.push_str(sign);
            push_arg(out, view, a);
        }
        (Form::Binary(sign), [a, b]) => {
            push_arg(out, view, a);
            out.push(' ');
            out.push_str(sign);
            out.push(' ');
            push_arg(out, view, b);
        }
        (Form::Item, [of, index]) => {
            push_arg(out, view, of);
            out.push('[');
            push_arg(out, view, index);
            out.push(']');
        }
        _ => call(out, view, node, target),
    }
}

fn call(out: &mut String, view: &impl View, node: NodeId, target: &str) {
    out.push_str(&target::printed(target));
    out.push('(');
    let mut first = true;
    let mut separate = |out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push_str(", ");
        }
    };
    for arg in view.args(node) {
        separate(out);
        push_arg(out, view, arg);
    }
    for (key, arg) in view.kwargs(node) {
        separate(out);
        out.push_str(&shown(view.texts().text(*key)));
        out.push_str(" = ");
        push_arg(out, view, arg);
    }
    out.push(')');
}

/// `self.a.b`, or `getattr(self.a, "0")` where a name is not Python's.
fn attribute(target: &str) -> String {
    let mut out = String::from("self");
    for name in target.split('.') {
        let plain = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        out = if plain { format!("{out}.{name}") } else { format!("getattr({out}, \"{}\")", shown(name)) };
    }
    out
}
