//! Statements: the definition line, assignments, `return`.
//!
//! Promises: one node a statement, in the order of the text; releases (`;  x = None`) are checked for form and read past. What Python
//! allows but exported programs do not hold (method calls, calls of sub-modules, in-place operators of Python) is an error that says so.

use super::cursor::Cursor;
use super::error::{TextError, TextFault};
use super::read::Reader;
use super::{target, value};
use crate::analysis::form;
use crate::graph::{Arg, BodyId, InputLayout, NewNode, NodeId, NodeKind, StrId, TensorType, ValueType};
use crate::ops::contiguous_strides;

const CALL: &str = "an operator call, such as `torch.ops.aten.add.Tensor(x, y)`";

const EXPORT: &str = "print the exported program (`print(torch.export.export(...))`)";

/// What an annotation says, and its words where the writer would choose others.
#[derive(Default)]
struct Typed {
    ty: ValueType,
    printed: Option<StrId>,
}

/// The right-hand side of an assignment.
enum Right {
    Call {
        target: String,
        args: Vec<Arg>,
        kwargs: Vec<(StrId, Arg)>,
    },
    Attribute(String),
    /// Another name for a node.
    Rename(NodeId),
}

impl<'a> Reader<'a> {
    /// Takes `def forward(self, x: "f32[2]", ...):`.
    pub(super) fn definition(&mut self) -> Result<(), TextError> {
        self.cursor.advance("def ".len());
        self.cursor.name("the function's name")?;
        self.cursor.open(b'(', "`(`")?;
        let mut first = true;
        while !self.cursor.close(b')') {
            self.cursor.space();
            let start = self.cursor.position();
            while self.cursor.eat(b'*') {}
            self.cursor.path("an argument of `forward`")?;
            let name = self.cursor.since(start);
            let ty = self.annotation()?;
            let mut default = Vec::new();
            if self.cursor.eat(b'=') {
                default.push(self.value()?);
            }
            value::separator(&mut self.cursor, b')')?;
            if !(first && name == "self") {
                self.placeholder(name, ty, default);
            }
            first = false;
        }
        if self.cursor.eat(b'-') {
            self.cursor.balanced(b":")?;
        }
        self.cursor.expect(b':', "`:`")?;
        self.cursor.end_of_line("the end of the line")?;
        if let Some(class) = self.classes.last_mut() {
            class.defined = true;
        }
        Ok(())
    }

    fn placeholder(&mut self, text: &'a str, ty: Option<Typed>, default: Vec<Arg>) {
        let target = self.graph.texts.intern(text);
        let name = text.trim_start_matches('*');
        let ty = ty.map(|t| Typed { ty: contiguous(t.ty, &mut self.graph), ..t });
        let node = (NodeKind::Placeholder, target, default, Vec::new());
        self.node(name, node, ty);
    }

    /// Takes `: "f32[2]"`, or a Python type, which says nothing here.
    fn annotation(&mut self) -> Result<Option<Typed>, TextError> {
        if !self.cursor.eat(b':') {
            return Ok(None);
        }
        self.cursor.space();
        if matches!(self.cursor.peek(), b'"' | b'\'') {
            let start = self.cursor.position();
            let found = self.annotations.read(&mut self.cursor, &mut self.graph.symbols)?;
            let text = self.cursor.since(start);
            let text = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
            let printed = (!found.canonical).then(|| self.graph.texts.intern(text));
            return Ok(Some(Typed { ty: found.ty, printed }));
        }
        self.cursor.balanced(b",)=")?;
        Ok(None)
    }

    fn value(&mut self) -> Result<Arg, TextError> {
        match self.classes.last_mut() {
            Some(class) => value::value(&mut self.cursor, &mut class.scope),
            None => value::value(&mut self.cursor, &mut value::Scope::default()),
        }
    }

    fn node_of(&self, name: &str) -> Option<NodeId> {
        self.classes.last()?.scope.names.get(name).copied()
    }

    /// Takes a line of a body.
    pub(super) fn statement(&mut self) -> Result<(), TextError> {
        if self.cursor.eat_word("return") {
            return self.output();
        }
        if self.cursor.eat_word("pass") {
            return self.cursor.end_of_line("the end of the line");
        }
        let start = self.cursor.clone();
        let name = self.cursor.path("a statement, such as `y = torch.ops.aten.abs.default(x)`")?;
        self.cursor.space();
        if self.cursor.peek() == b',' {
            let what = "flattening of nested inputs";
            return Err(start.fault(name.len(), TextFault::Unsupported { what, instead: EXPORT }));
        }
        let ty = self.annotation()?;
        self.cursor.expect(b'=', "`=`")?;
        if let Some(class) = self.classes.last_mut() {
            class.scope.unresolved = false;
        }
        let right = self.right()?;
        self.releases()?;
        match right {
            Right::Rename(node) => self.rename(name, node),
            Right::Attribute(path) => {
                let target = self.graph.texts.intern(&path);
                let annotated = ty.is_some();
                let node = self.node(name, (NodeKind::GetAttr, target, Vec::new(), Vec::new()), ty);
                if !annotated {
                    self.attributes.push((node, self.body(), path));
                }
            }
            Right::Call { target, args, kwargs } => {
                let target = self.graph.texts.intern(&target);
                self.node(name, (NodeKind::Call, target, args, kwargs), ty);
            }
        }
        Ok(())
    }

    fn body(&self) -> BodyId {
        self.classes.last().map_or(BodyId::ROOT, |c| c.body)
    }

    fn output(&mut self) -> Result<(), TextError> {
        if let Some(class) = self.classes.last_mut() {
            class.scope.unresolved = false;
        }
        self.cursor.space();
        let start = self.cursor.clone();
        if self.cursor.rest().starts_with("pytree.") {
            let what = "nesting of outputs";
            return Err(start.fault("pytree".len(), TextFault::Unsupported { what, instead: EXPORT }));
        }
        let value = self.value()?;
        self.cursor.end_of_line("the end of the line")?;
        let target = self.graph.texts.intern("output");
        self.node("output", (NodeKind::Output, target, vec![value], Vec::new()), None);
        Ok(())
    }

    fn node(
        &mut self,
        name: &'a str,
        (kind, target, args, kwargs): (NodeKind, StrId, Vec<Arg>, Vec<(StrId, Arg)>),
        ty: Option<Typed>,
    ) -> NodeId {
        let Typed { ty, printed } = ty.unwrap_or_default();
        let body = self.body();
        let new = NewNode { kind, target, args: args.into(), kwargs: kwargs.into(), ty };
        let node = self.graph.push(body, name, new);
        if printed.is_some() {
            self.graph.set_printed(node, printed);
        }
        let Some(class) = self.classes.last_mut() else { return node };
        if kind != NodeKind::Placeholder {
            class.running = true;
        }
        if kind != NodeKind::Output {
            if kind != NodeKind::Placeholder {
                class.origin.keep(&mut self.graph, node);
            }
            if class.scope.names.insert(name, node).is_some() {
                form::note(&mut self.graph, node, &format!("defines `{name}`, which is defined before"));
            }
        }
        if std::mem::take(&mut class.scope.unresolved) {
            class.unresolved.push(node);
        }
        node
    }

    /// `input_1 = input`: the node of an input has another name than the argument; elsewhere one node gets two names.
    fn rename(&mut self, name: &'a str, node: NodeId) {
        use crate::graph::View;
        let Some(class) = self.classes.last_mut() else { return };
        let fresh = !class.running && self.graph.kind(node) == NodeKind::Placeholder;
        if fresh && self.graph.find_name(class.body, name).is_none() {
            self.graph.rename(node, name);
        }
        if class.scope.names.insert(name, node).is_some_and(|before| before != node) {
            form::note(&mut self.graph, node, &format!("is called `{name}`, which is defined before"));
        }
    }

    fn right(&mut self) -> Result<Right, TextError> {
        self.cursor.space();
        let start = self.cursor.clone();
        if let Some(function) = target::unary(self.cursor.peek())
            && let Some(operand) = self.operand_after_sign()?
        {
            return Ok(operator(function, vec![operand]));
        }
        if !self.cursor.at_name() {
            let operand = self.value()?;
            return self.binary(operand, &start);
        }
        let path = self.cursor.path(CALL)?;
        if path == "getattr" || path == "self" || path.starts_with("self.") {
            return self.attribute(start);
        }
        match self.cursor.peek() {
            b'(' if path != "complex" => self.call(path, &start),
            b'[' if self.node_of(path).is_some() => {
                let node = self.node_of(path).map_or(Arg::None, Arg::Node);
                self.item(node)
            }
            _ => {
                self.cursor = start.clone();
                let operand = self.value()?;
                if self.cursor.peek() == b'[' {
                    return self.item(operand);
                }
                self.binary(operand, &start)
            }
        }
    }

    /// Takes the operand of `-a`; leaves a literal such as `-5` alone.
    fn operand_after_sign(&mut self) -> Result<Option<Arg>, TextError> {
        let before = self.cursor.clone();
        self.cursor.advance(1);
        self.cursor.space();
        if !self.cursor.at_name() || self.cursor.eat_word("inf") || self.cursor.eat_word("nan") {
            self.cursor = before;
            return Ok(None);
        }
        self.value().map(Some)
    }

    fn binary(&mut self, left: Arg, start: &Cursor<'a>) -> Result<Right, TextError> {
        self.cursor.space();
        if let Some((function, length)) = target::binary(self.cursor.rest().as_bytes()) {
            self.cursor.advance(length);
            let right = self.value()?;
            return Ok(operator(function, vec![left, right]));
        }
        match left {
            Arg::Node(node) => Ok(Right::Rename(node)),
            _ => Err(start.expected(CALL)),
        }
    }

    /// Takes `[0]`.
    fn item(&mut self, of: Arg) -> Result<Right, TextError> {
        self.cursor.open(b'[', "`[`")?;
        let index = self.value()?;
        if !self.cursor.close(b']') {
            return Err(self.cursor.expected("`]`"));
        }
        Ok(operator("getitem", vec![of, index]))
    }

    /// Takes `self.a.b` or `getattr(self.a, "0").b`.
    fn attribute(&mut self, start: Cursor<'a>) -> Result<Right, TextError> {
        self.cursor = start.clone();
        let mut getattrs = 0_usize;
        while self.cursor.eat_word("getattr") {
            self.cursor.expect(b'(', "`(`")?;
            getattrs = getattrs.saturating_add(1);
        }
        let mut path: String = match self.cursor.path("`self`")? {
            "self" => String::new(),
            path => path.strip_prefix("self.").map(str::to_string).ok_or_else(|| start.expected("`self`"))?,
        };
        for _ in 0..getattrs {
            self.cursor.expect(b',', "`,`")?;
            let name = self.cursor.string("an attribute's name in quotes")?;
            self.cursor.expect(b')', "`)`")?;
            let rest_start = self.cursor.position();
            while self.cursor.eat(b'.') {
                self.cursor.name("an attribute")?;
            }
            for piece in [&*name, self.cursor.since(rest_start).trim_start_matches('.')] {
                if !piece.is_empty() {
                    path = if path.is_empty() { piece.to_string() } else { format!("{path}.{piece}") };
                }
            }
        }
        if path.is_empty() || self.cursor.peek() == b'(' {
            let what = "a call of a sub-module";
            return Err(self.cursor.fault_since(start.position(), TextFault::Unsupported { what, instead: EXPORT }));
        }
        Ok(Right::Attribute(path))
    }

    fn call(&mut self, path: &'a str, start: &Cursor<'a>) -> Result<Right, TextError> {
        if let Some((first, _)) = path.split_once('.')
            && !matches!(first, "torch" | "math" | "_operator")
        {
            let method = self.node_of(first).is_some();
            let what = if method { "a method call" } else { "a call of something that is no operator" };
            let instead = "write it as an ATen operator (`torch.ops.aten...`)";
            return Err(start.fault(path.chars().count(), TextFault::Unsupported { what, instead }));
        }
        let (mut args, mut kwargs) = (Vec::new(), Vec::new());
        self.cursor.open(b'(', "`(`")?;
        while !self.cursor.close(b')') {
            let key = self.keyword();
            let value = self.value()?;
            match key {
                Some(key) => kwargs.push((self.graph.texts.intern(key), value)),
                None if kwargs.is_empty() => args.push(value),
                None => return Err(self.cursor.expected("`key = value` after another keyword argument")),
            }
            value::separator(&mut self.cursor, b')')?;
        }
        Ok(Right::Call { target: target::from_path(path).into_owned(), args, kwargs })
    }

    /// Takes `key =`, if that is what stands here.
    fn keyword(&mut self) -> Option<&'a str> {
        self.cursor.space();
        // An error would count the lines above it, so none is made where most values are no keywords.
        let mut ahead = self.cursor.clone();
        let key = if ahead.at_name() { ahead.name("").ok()? } else { return None };
        if ahead.eat(b'=') && ahead.peek() != b'=' {
            self.cursor = ahead;
            return Some(key);
        }
        None
    }

    /// Takes `;  a = b = None`.
    fn releases(&mut self) -> Result<(), TextError> {
        while self.cursor.eat(b';') {
            while !self.cursor.eat_word("None") {
                self.cursor.path("a release, such as `x = None`")?;
                self.cursor.expect(b'=', "`=`, as in `x = None`")?;
            }
        }
        self.cursor.end_of_line("`;  x = None` or the end of the line")
    }
}

fn operator(function: &str, args: Vec<Arg>) -> Right {
    Right::Call { target: format!("_operator.{function}"), args, kwargs: Vec::new() }
}

/// An input whose annotation states no strides lies as the graph says that such inputs do.
fn contiguous(ty: ValueType, graph: &mut crate::graph::Graph) -> ValueType {
    let Some(tensor) = ty.as_tensor().filter(|t| t.strides.is_none()) else { return ty };
    if graph.inputs_lie == InputLayout::Any {
        return ty;
    }
    match contiguous_strides(&mut graph.symbols, &tensor.sizes) {
        Ok(strides) => {
            graph.layout_assumed |= tensor.rank() > 1;
            graph.inputs_assumed |= tensor.rank() > 0;
            ValueType::tensor(TensorType { strides: Some(strides), ..tensor.clone() })
        }
        Err(_) => ty,
    }
}
