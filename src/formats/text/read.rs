//! Text to Graph: lines, classes, the program as a whole.
//!
//! Promises: linear in the text; classes nest by indentation on a stack of their own, so depth costs nothing. The graph is unchecked: a name
//! used before its definition is that node all the same, an undefined one stays a text, a second definition of a name gets a name of its own
//! and a note; `analysis::form` reports all of them. Leaves single statements to `statement`.

use super::annotation::Annotations;
use super::calling::{self, Calling};
use super::comment::Origin;
use super::cursor::Cursor;
use super::error::{TextError, TextFault};
use super::signature::{self, Found};
use super::value::Scope;
use crate::analysis::form;
use crate::graph::{
    Arg, BodyId, Device, Graph, InputKind, InputLayout, InputSpec, NodeId, NodeKind, OutputKind, OutputSpec, Signature,
    ValueType, View,
};
use crate::sym::KeyedMap;

/// How a text is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Name of the file, for messages.
    pub file: String,
    /// Where tensors live that do not say so; `None`: the CPU for an exported program, `npu:0` for a bare graph module.
    pub device: Option<Device>,
    /// How inputs lie whose annotations state no strides.
    pub inputs_lie: InputLayout,
}

impl ReadOptions {
    /// Returns the options of a file, all else as usual.
    pub fn of_file(file: &str) -> Self {
        Self { file: file.to_string(), device: None, inputs_lie: InputLayout::default() }
    }
}

/// Reads a program from bytes.
pub fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Graph, TextError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => read(text, options),
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or(&[]);
            let text = String::from_utf8_lossy(good);
            Err(TextError::at(&options.file, &text, text.len(), 1, TextFault::NotUtf8))
        }
    }
}

/// Reads a program as PyTorch prints it. The graph is not checked: see the module.
pub fn read(text: &str, options: &ReadOptions) -> Result<Graph, TextError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let exported = text.starts_with("ExportedProgram:")
        || text.contains("\nExportedProgram:")
        || text.contains("\nGraph signature:");
    let device = options
        .device
        .clone()
        .unwrap_or_else(|| if exported { Device::cpu() } else { Device { kind: "npu".into(), index: Some(0) } });
    let mut reader = Reader {
        cursor: Cursor::new(&options.file, text),
        graph: Graph { inputs_lie: options.inputs_lie, ..Graph::new() },
        annotations: Annotations::new(device),
        classes: Vec::new(),
        begun: false,
        exported,
        signature: None,
        calling: calling::read(&options.file, text)?,
        attributes: Vec::new(),
        children: KeyedMap::default(),
        of_one_name: Vec::new(),
    };
    reader.ranges_first()?;
    reader.program()?;
    reader.finish()
}

/// A class that is being read.
pub(super) struct Class<'a> {
    indent: usize,
    pub(super) body: BodyId,
    pub(super) scope: Scope<'a>,
    /// What the last comment says.
    pub(super) origin: Origin,
    /// Whether `def forward` has been seen.
    pub(super) defined: bool,
    /// Whether anything but renames of inputs has been seen since.
    pub(super) running: bool,
    /// Nodes with names that were not defined when they were used.
    pub(super) unresolved: Vec<NodeId>,
}

pub(super) struct Reader<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) graph: Graph,
    pub(super) annotations: Annotations<'a>,
    pub(super) classes: Vec<Class<'a>>,
    /// Whether the graph itself has begun.
    begun: bool,
    pub(super) exported: bool,
    signature: Option<Found>,
    calling: Option<Calling>,
    /// get_attr nodes, for which the class may stand further down.
    pub(super) attributes: Vec<(NodeId, BodyId, String)>,
    children: KeyedMap<(BodyId, String), BodyId>,
    /// Classes of one name within a class.
    of_one_name: Vec<(BodyId, BodyId, TextError)>,
}

impl<'a> Reader<'a> {
    /// Reads the ranges before all else: they stand last, but say what symbols are.
    fn ranges_first(&mut self) -> Result<(), TextError> {
        let text = self.cursor.rest();
        let at = if text.starts_with(signature::RANGES) {
            Some(0)
        } else {
            text.rfind(&format!("\n{}", signature::RANGES)).map(|i| i.saturating_add(1))
        };
        if let Some(at) = at {
            let mut cursor = self.cursor.moved_to(at.saturating_add(signature::RANGES.len()));
            self.graph.range_constraints = signature::read_ranges(&mut cursor, &mut self.graph.symbols)?;
            cursor.end_of_line("the end of the line")?;
        }
        Ok(())
    }

    fn program(&mut self) -> Result<(), TextError> {
        while !self.cursor.at_end() {
            let start = self.cursor.position();
            self.cursor.space();
            let indent = self.cursor.since(start).len();
            match self.cursor.peek() {
                b'\n' | b'\r' => {
                    self.cursor.line();
                }
                b'#' => self.comment(),
                _ if self.cursor.at_end() => {}
                _ => self.line(indent)?,
            }
        }
        Ok(())
    }

    fn comment(&mut self) {
        let comment = self.cursor.line();
        if let (Some(class), Some(origin)) = (self.classes.last_mut(), Origin::read(comment.trim_start_matches('#'))) {
            class.origin = origin;
        }
    }

    fn line(&mut self, indent: usize) -> Result<(), TextError> {
        let rest = self.cursor.rest();
        if rest.starts_with("ExportedProgram:") {
            self.cursor.line();
            return Ok(());
        }
        if rest.starts_with("Graph signature:") {
            self.close_classes(0);
            self.cursor.advance("Graph signature:".len());
            self.signature = Some(signature::read(&mut self.cursor)?);
            return Ok(());
        }
        if rest.starts_with(signature::RANGES) || rest.starts_with(calling::CALLING) {
            self.close_classes(0);
            self.cursor.line();
            return Ok(());
        }
        if rest.starts_with("class ") {
            return self.class(indent);
        }
        self.close_classes(indent);
        if rest.starts_with("def ") {
            if self.classes.last().is_some_and(|c| c.defined) {
                return Err(self.cursor.fault(3, TextFault::SecondProgram));
            }
            if self.classes.is_empty() {
                let at = self.cursor.clone();
                self.open_class(indent.saturating_sub(4), "GraphModule", &at)?;
            }
            return self.definition();
        }
        match self.classes.last() {
            Some(class) if class.defined => self.statement(),
            Some(_) => Err(self.cursor.expected("`def forward(self, ...):`")),
            None => {
                Err(self.cursor.expected("`ExportedProgram:`, `class GraphModule(torch.nn.Module):` or `def forward`"))
            }
        }
    }

    /// Takes `class NAME(torch.nn.Module):`.
    fn class(&mut self, indent: usize) -> Result<(), TextError> {
        let at = self.cursor.clone();
        self.cursor.advance("class ".len());
        let name = self.cursor.balanced(b"(:")?.trim();
        if self.cursor.peek() == b'(' {
            self.cursor.open(b'(', "`(`")?;
            self.cursor.balanced(b")")?;
            self.cursor.close(b')');
        }
        self.cursor.expect(b':', "`:`")?;
        self.cursor.end_of_line("the end of the line")?;
        self.close_classes(indent);
        if self.classes.is_empty() && self.begun {
            return Err(at.fault(5, TextFault::SecondProgram));
        }
        self.open_class(indent, name, &at)
    }

    fn open_class(&mut self, indent: usize, name: &str, at: &Cursor<'a>) -> Result<(), TextError> {
        let body = match self.classes.last() {
            Some(parent) => {
                let parent = parent.body;
                let body = self.graph.add_body(parent, name);
                let first = *self.children.entry((parent, name.to_string())).or_insert(body);
                if first != body {
                    self.of_one_name.push((first, body, at.fault(5, TextFault::ClassesOfOneName)));
                }
                body
            }
            None if self.begun => return Err(self.cursor.fault(3, TextFault::SecondProgram)),
            None => {
                self.graph.set_body_name(BodyId::ROOT, name);
                BodyId::ROOT
            }
        };
        self.begun = true;
        self.classes.push(Class {
            indent,
            body,
            scope: Scope::default(),
            origin: Origin::default(),
            defined: false,
            running: false,
            unresolved: Vec::new(),
        });
        Ok(())
    }

    /// Ends the classes that are indented as far as `indent` or further.
    fn close_classes(&mut self, indent: usize) {
        while let Some(class) = self.classes.pop_if(|c| c.indent >= indent) {
            for node in class.unresolved {
                resolve(&mut self.graph, node, &class.scope);
            }
        }
    }

    fn finish(mut self) -> Result<Graph, TextError> {
        self.close_classes(0);
        if !self.begun {
            return Err(self.cursor.fault(1, TextFault::NoProgram));
        }
        for (node, body, target) in std::mem::take(&mut self.attributes) {
            let path = target.split('.').try_fold(body, |at, name| self.children.get(&(at, name.to_string())).copied());
            if let Some(body) = path {
                self.graph.set_type(node, ValueType::Body(body));
            }
        }
        // Only once all is read is it known whether they are one.
        for (first, second, fault) in std::mem::take(&mut self.of_one_name) {
            if !self.graph.is_same_body(first, second) {
                return Err(fault);
            }
        }
        if self.exported {
            let found = self.signature.take().unwrap_or_else(|| plain_signature(&self.graph));
            self.constant_inputs(&found.signature);
            note_other_outputs(&mut self.graph, &found.output_names);
            if let Some(calling) = &self.calling {
                calling::fill(&mut self.graph, calling);
            }
            self.graph.signature = Some(found.signature);
        }
        Ok(self.graph)
    }

    /// An exported program's user input without annotation is a Python constant; its value is not in the text.
    fn constant_inputs(&mut self, signature: &Signature) {
        let placeholders: Vec<NodeId> = placeholders(&self.graph).collect();
        for (node, spec) in placeholders.into_iter().zip(&signature.inputs) {
            if spec.kind == InputKind::UserInput && *self.graph.ty(node) == ValueType::Unknown {
                self.graph.set_type(node, ValueType::Const(None));
            }
        }
    }
}

fn placeholders(graph: &Graph) -> impl Iterator<Item = NodeId> + '_ {
    graph.nodes(BodyId::ROOT).take_while(|n| graph.kind(*n) == NodeKind::Placeholder)
}

fn outputs(graph: &Graph) -> (Option<NodeId>, &[Arg]) {
    let output = graph.nodes(BodyId::ROOT).find(|n| graph.kind(*n) == NodeKind::Output);
    let args = output.map_or(&[][..], |n| graph.args(n));
    (output, args.first().and_then(Arg::items).unwrap_or(args))
}

/// What a banner without a signature means: all inputs and outputs are the user's.
fn plain_signature(graph: &Graph) -> Found {
    let input =
        |n| InputSpec { kind: InputKind::UserInput, name: graph.target(n).into(), target: None, persistent: None };
    let inputs = placeholders(graph).map(input).collect();
    let results = outputs(graph).1.iter().map(|_| OutputSpec { kind: OutputKind::UserOutput, target: None }).collect();
    Found { signature: Signature { inputs, outputs: results }, output_names: Vec::new() }
}

/// Notes where the signature names other outputs than the program returns: a Graph keeps only what is returned.
fn note_other_outputs(graph: &mut Graph, names: &[String]) {
    let (Some(output), values) = outputs(graph) else { return };
    let mut other = Vec::new();
    for (index, (value, name)) in values.iter().zip(names).enumerate() {
        let returned = value.as_node().map_or("", |n| graph.name(n));
        if returned != name && !matches!(value, Arg::Other(text) if **text == **name) {
            let or_constant = |n: &str| if n.is_empty() { "a constant".to_string() } else { format!("`{n}`") };
            let (signature, returned) = (or_constant(name), or_constant(returned));
            other.push(format!("output {index} is {signature} in the signature, and {returned} is returned"));
        }
    }
    for what in other {
        form::note(graph, output, &what);
    }
}

/// Settles the names of a node that were not defined when it was read.
fn resolve(graph: &mut Graph, node: NodeId, scope: &Scope<'_>) {
    let args = graph.args(node).iter().map(|a| resolved(a, scope)).collect();
    let kwargs = graph.kwargs(node).iter().map(|(k, a)| (*k, resolved(a, scope))).collect();
    graph.set_args(node, args, kwargs);
}

/// Depth is bounded, as values were read.
fn resolved(arg: &Arg, scope: &Scope<'_>) -> Arg {
    match arg {
        Arg::Other(text) => scope.names.get(&**text).map_or_else(|| arg.clone(), |n| Arg::Node(*n)),
        Arg::List(items) => Arg::List(items.iter().map(|a| resolved(a, scope)).collect()),
        Arg::Tuple(items) => Arg::Tuple(items.iter().map(|a| resolved(a, scope)).collect()),
        Arg::Dict(entries) => Arg::Dict(entries.iter().map(|(k, a)| (k.clone(), resolved(a, scope))).collect()),
        other => other.clone(),
    }
}
