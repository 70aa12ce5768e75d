//! Operands of a node as the JSON holds them: named by the schema, each in the variant that PyTorch's serializer would choose.

use std::fmt::Write;

use super::error::Problem;
use super::operands::is_python_keyword;
use super::target::{self, Style};
use super::write_program::Writer;
use super::{python, write_values};
use crate::graph::{Arg, NodeId, NodeKind, ValueType, View};
use crate::ops::{Base, Schema, SchemaType};

/// How an error calls an argument.
type Label<'l> = &'l dyn Fn() -> String;

/// What an element of a list is, to PyTorch's serializer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Text,
    SymInt,
    SymFloat,
    SymBool,
    Tensor,
    None,
    List,
    Other,
}

impl Writer<'_> {
    /// Appends all operands of a node.
    pub(super) fn operands(&mut self, out: &mut String, node: NodeId, style: Style) -> Result<(), Problem> {
        let graph = self.graph;
        let schema = self.ops.get(graph.target(node)).map(|operator| &operator.schema);
        for (place, arg) in graph.args(node).iter().enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            let name = self.parameter(node, style, schema, place, arg)?;
            let ty = schema.and_then(|s| s.params.get(place)).map(|p| &p.ty);
            self.named(out, node, &name, arg, ty, 1)?;
        }
        let mut kwargs: Vec<_> = graph.kwargs(node).iter().map(|(k, a)| (graph.texts.text(*k), a)).collect();
        if let Some(schema) = schema {
            kwargs.sort_by_key(|(name, _)| schema.param_index(name).unwrap_or(usize::MAX));
        }
        for (place, (name, arg)) in kwargs.into_iter().enumerate() {
            if place > 0 || !graph.args(node).is_empty() {
                out.push_str(", ");
            }
            if style == Style::Python {
                return Err(self.unwritable(node, &|| name.to_string(), arg, "Python operators take no keywords"));
            }
            let param = schema.and_then(|s| s.params.get(s.param_index(name)?));
            if style == Style::Operator && schema.is_some() && param.is_none() {
                return Err(self.unwritable(node, &|| name.to_string(), arg, "the operator has no such parameter"));
            }
            self.named(out, node, name, arg, param.map(|p| &p.ty), 2)?;
        }
        Ok(())
    }

    fn named(
        &mut self,
        out: &mut String,
        node: NodeId,
        name: &str,
        arg: &Arg,
        ty: Option<&SchemaType>,
        kind: u8,
    ) -> Result<(), Problem> {
        out.push_str("{\"name\": ");
        python::quote(out, name);
        out.push_str(", \"arg\": ");
        self.argument(out, node, &|| name.to_string(), arg, ty)?;
        let kind = if kind == 2 && is_python_keyword(name) { 1 } else { kind };
        let _ = write!(out, ", \"kind\": {kind}}}");
        Ok(())
    }

    /// Returns the name of the parameter at a position.
    fn parameter(
        &self,
        node: NodeId,
        style: Style,
        schema: Option<&Schema>,
        place: usize,
        arg: &Arg,
    ) -> Result<String, Problem> {
        let known = match (style, schema) {
            (Style::HigherOrder, _) => return Ok(String::new()),
            (_, Some(schema)) => {
                schema.params.get(place).filter(|p| !p.kwarg_only || style == Style::Python).map(|p| p.name.to_string())
            }
            (_, None) => {
                let form = self.envelope.opaque.get(self.graph.target(node));
                form.and_then(|f| f.positional.get(place)).map(|n| n.to_string())
            }
        };
        match (known, style) {
            (Some(name), _) => Ok(name),
            // Only the order counts for Python's functions.
            (None, Style::Python) => Ok(format!("arg{place}")),
            (None, _) => {
                let reason = match schema {
                    Some(_) => "the operator has no such positional parameter",
                    None => {
                        "nothing says how the operator names its parameters; describe it in an operator file (--ops)"
                    }
                };
                Err(self.unwritable(node, &|| place.to_string(), arg, reason))
            }
        }
    }

    fn argument(
        &mut self,
        out: &mut String,
        node: NodeId,
        label: Label<'_>,
        arg: &Arg,
        ty: Option<&SchemaType>,
    ) -> Result<(), Problem> {
        match arg {
            Arg::Node(n) => self.reference(out, node, label, *n),
            Arg::List(items) | Arg::Tuple(items) => self.list_argument(out, node, label, arg, items, ty),
            Arg::Dict(entries) => {
                if arg.depth() > Arg::MAX_DEPTH {
                    return Err(self.unwritable(node, label, arg, "it nests too deep"));
                }
                out.push_str("{\"as_string_to_argument\": {");
                for (place, (key, value)) in entries.iter().enumerate() {
                    if place > 0 {
                        out.push_str(", ");
                    }
                    python::quote(out, key);
                    out.push_str(": ");
                    self.argument(out, node, &|| format!("{}[{key:?}]", label()), value, None)?;
                }
                out.push_str("}}");
                Ok(())
            }
            literal => self.literal(out, node, label, literal),
        }
    }

    /// Appends a use of a node.
    pub(super) fn reference(
        &mut self,
        out: &mut String,
        user: NodeId,
        label: Label<'_>,
        n: NodeId,
    ) -> Result<(), Problem> {
        let graph = self.graph;
        if !graph.is_before(n, user) {
            return Err(Problem::Undefined {
                node: graph.name(user).to_string(),
                argument: label(),
                name: graph.name(n).to_string(),
                later: graph.contains(n),
            });
        }
        let ty = graph.ty(n);
        if graph.kind(n) == NodeKind::GetAttr {
            let ValueType::Body(body) = ty else {
                let reason = "only sub-graphs are reached by get_attr in an exported program";
                return Err(self.unwritable(user, label, &Arg::Node(n), reason));
            };
            out.push_str("{\"as_graph\": {\"name\": ");
            python::quote(out, graph.target(n));
            out.push_str(", \"graph\": ");
            self.body(out, *body)?;
            out.push_str("}}");
            return Ok(());
        }
        let name = self.name(n);
        let variant = match ty {
            ValueType::SymInt(_) => "as_sym_int",
            ValueType::SymFloat(_) => "as_sym_float",
            ValueType::SymBool(_) => "as_sym_bool",
            ValueType::Tensor(_) | ValueType::Many(_) => "as_tensor",
            // A constant input is specialised: its uses are uses of its value.
            ValueType::Const(Some(value)) => return self.constant(out, user, value),
            ValueType::Other(class) => {
                out.push_str("{\"as_custom_obj\": {\"name\": ");
                python::quote(out, name);
                out.push_str(", \"class_fqn\": ");
                python::quote(out, graph.texts.text(*class));
                out.push_str("}}");
                return Ok(());
            }
            ValueType::Unknown => {
                return Err(self.unwritable(
                    user,
                    label,
                    &Arg::Node(n),
                    "its type is not known; describe its operator in an operator file (--ops)",
                ));
            }
            ValueType::None | ValueType::Body(_) | ValueType::Const(None) => {
                return Err(self.unwritable(user, label, &Arg::Node(n), "it is no value that a file can name"));
            }
        };
        let field = if variant == "as_tensor" { "name" } else { "as_name" };
        let _ = write!(out, "{{\"{variant}\": {{\"{field}\": ");
        python::quote(out, name);
        out.push_str("}}");
        Ok(())
    }

    /// Appends a scalar that is no node.
    pub(super) fn literal(
        &mut self,
        out: &mut String,
        node: NodeId,
        label: Label<'_>,
        arg: &Arg,
    ) -> Result<(), Problem> {
        match arg {
            Arg::None => out.push_str("{\"as_none\": true}"),
            Arg::Int(v) => {
                let _ = write!(out, "{{\"as_int\": {v}}}");
            }
            Arg::Float(v) => {
                out.push_str("{\"as_float\": ");
                python::float(out, *v);
                out.push('}');
            }
            Arg::Complex(re, im) => {
                out.push_str("{\"as_complex\": {\"real\": ");
                python::float(out, *re);
                out.push_str(", \"imag\": ");
                python::float(out, *im);
                out.push_str("}}");
            }
            Arg::Bool(v) => {
                let _ = write!(out, "{{\"as_bool\": {v}}}");
            }
            Arg::Str(v) => {
                out.push_str("{\"as_string\": ");
                python::quote(out, v);
                out.push('}');
            }
            Arg::Dtype(d) if d.pt2_number() != 0 => {
                let _ = write!(out, "{{\"as_scalar_type\": {}}}", d.pt2_number());
            }
            Arg::Dtype(_) => return Err(self.unwritable(node, label, arg, "this dtype has no number in .pt2 files")),
            Arg::Device(device) => {
                out.push_str("{\"as_device\": ");
                write_values::device(out, device);
                out.push('}');
            }
            Arg::Layout(layout) => {
                let _ = write!(out, "{{\"as_layout\": {}}}", layout.pt2_number());
            }
            Arg::MemoryFormat(format) => {
                let _ = write!(out, "{{\"as_memory_format\": {}}}", format.pt2_number());
            }
            Arg::Operator(operator) => {
                out.push_str("{\"as_operator\": ");
                python::quote(out, &target::write(operator));
                out.push('}');
            }
            // Carried through as it was read, where it was read from a .pt2 file.
            Arg::Other(text) if is_union(text) => out.push_str(text),
            Arg::Other(_) => {
                return Err(self.unwritable(node, label, arg, "no kind of argument of .pt2 files holds it"));
            }
            Arg::Node(_) | Arg::List(_) | Arg::Tuple(_) | Arg::Dict(_) => {
                return Err(self.unwritable(node, label, arg, "a scalar belongs here"));
            }
        }
        Ok(())
    }

    fn list_argument(
        &mut self,
        out: &mut String,
        node: NodeId,
        label: Label<'_>,
        arg: &Arg,
        items: &[Arg],
        ty: Option<&SchemaType>,
    ) -> Result<(), Problem> {
        if items.is_empty() {
            let _ = write!(out, "{{\"{}\": []}}", empty_variant(ty));
            return Ok(());
        }
        let kinds: Vec<Kind> = items.iter().map(|a| self.kind_of(a)).collect();
        let all = |allowed: &[Kind]| kinds.iter().all(|k| allowed.contains(k));
        let variant = match () {
            () if all(&[Kind::Bool]) => "as_bools",
            () if all(&[Kind::Int]) => "as_ints",
            () if all(&[Kind::Float]) => "as_floats",
            () if all(&[Kind::Text]) => "as_strings",
            () if all(&[Kind::Int, Kind::SymInt]) => "as_sym_ints",
            () if all(&[Kind::Float, Kind::SymFloat]) => "as_sym_floats",
            () if all(&[Kind::Bool, Kind::SymBool]) => "as_sym_bools",
            () if all(&[Kind::Tensor]) => "as_tensors",
            () if all(&[Kind::Tensor, Kind::None]) => "as_optional_tensors",
            () if all(&[Kind::List]) => return self.nested_lists(out, node, label, arg, items),
            () => return Err(self.unwritable(node, label, arg, "a list must hold one kind of thing")),
        };
        let _ = write!(out, "{{\"{variant}\": [");
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            self.element(out, node, label, variant, item)?;
        }
        out.push_str("]}");
        Ok(())
    }

    /// Appends an element of a list: bare in lists of literals, a union or a name in lists of values.
    fn element(
        &mut self,
        out: &mut String,
        node: NodeId,
        label: Label<'_>,
        variant: &str,
        item: &Arg,
    ) -> Result<(), Problem> {
        let mut whole = String::new();
        match item {
            Arg::Node(n) => self.reference(&mut whole, node, label, *n)?,
            literal => self.literal(&mut whole, node, label, literal)?,
        }
        // {"as_int": 3} is 3 in as_ints, stays in as_sym_ints; {"as_sym_int": {"as_name": "x"}} is {"as_name": "x"} there.
        let stays = match item {
            Arg::Node(_) => variant == "as_optional_tensors",
            _ => variant == "as_optional_tensors" || variant.starts_with("as_sym_"),
        };
        let inner = whole.split_once(": ").and_then(|(_, rest)| rest.strip_suffix('}'));
        out.push_str(if stays { &whole } else { inner.unwrap_or(&whole) });
        Ok(())
    }

    fn nested_lists(
        &mut self,
        out: &mut String,
        node: NodeId,
        label: Label<'_>,
        arg: &Arg,
        items: &[Arg],
    ) -> Result<(), Problem> {
        let flat: Vec<Kind> = items.iter().filter_map(Arg::items).flatten().map(|a| self.kind_of(a)).collect();
        let all = |kind: Kind| flat.iter().all(|k| *k == kind);
        let variant = match () {
            () if all(Kind::Tensor) => "as_nested_tensors",
            () if all(Kind::Int) => "as_int_lists",
            () if all(Kind::Float) => "as_float_lists",
            () => {
                return Err(self.unwritable(node, label, arg, "lists in a list must hold tensors, integers or floats"));
            }
        };
        let _ = write!(out, "{{\"{variant}\": [");
        for (place, list) in items.iter().enumerate() {
            out.push_str(if place > 0 { ", [" } else { "[" });
            for (place, item) in list.items().unwrap_or_default().iter().enumerate() {
                if place > 0 {
                    out.push_str(", ");
                }
                self.element(out, node, label, variant, item)?;
            }
            out.push(']');
        }
        out.push_str("]}");
        Ok(())
    }

    fn kind_of(&self, arg: &Arg) -> Kind {
        match arg {
            Arg::Bool(_) => Kind::Bool,
            Arg::Int(_) => Kind::Int,
            Arg::Float(_) => Kind::Float,
            Arg::Str(_) => Kind::Text,
            Arg::None => Kind::None,
            Arg::List(_) | Arg::Tuple(_) => Kind::List,
            Arg::Node(n) => match self.graph.ty(*n) {
                ValueType::SymInt(_) => Kind::SymInt,
                ValueType::SymFloat(_) => Kind::SymFloat,
                ValueType::SymBool(_) => Kind::SymBool,
                ValueType::Const(Some(value)) if !matches!(**value, Arg::Node(_)) => self.kind_of(value),
                _ if self.graph.kind(*n) == NodeKind::GetAttr => Kind::Other,
                _ => Kind::Tensor,
            },
            _ => Kind::Other,
        }
    }

    /// Returns the error that an argument cannot be written.
    pub(super) fn unwritable(&self, node: NodeId, label: Label<'_>, arg: &Arg, reason: &'static str) -> Problem {
        let found = match arg {
            Arg::Node(n) => format!("`{}`", self.graph.name(*n)),
            other => format!("{other:?}").chars().take(80).collect(),
        };
        Problem::Argument { node: self.graph.name(node).to_string(), argument: label(), found, reason }
    }
}

/// Returns the variant of an empty list: all read alike, the schema's is what PyTorch writes.
fn empty_variant(ty: Option<&SchemaType>) -> &'static str {
    match ty.map(|t| &t.base) {
        Some(Base::Bool | Base::SymBool) => "as_bools",
        Some(Base::Int | Base::SymInt) => "as_ints",
        Some(Base::Float | Base::Scalar) => "as_floats",
        Some(Base::Str) => "as_strings",
        _ => "as_tensors",
    }
}

/// Returns whether a text is a union as `.pt2` files hold it.
fn is_union(text: &str) -> bool {
    text.starts_with("{\"as_") && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
