//! A body as a graph of the JSON: inputs, outputs, nodes, then the types of all their values.
//!
//! Promises: getitems become outputs of the node that they take apart, a result that nobody takes is named `NODE_unused_I`, as PyTorch
//! names it; every use is of something defined before. Recursion follows bodies, which nest at most [`MAX_NESTING`] deep.

use std::fmt::Write;
use std::sync::Arc;

use super::error::Problem;
use super::folds::GETITEM;
use super::schema::{Pairs, Text};
use super::target::{self, Style};
use super::write_program::Writer;
use super::{python, write_values};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::Base;
use crate::sym::{Dim, SymValue};

/// What serde_json's 128 levels allow.
const MAX_NESTING: usize = 16;

/// How many nodes a file may have: so many, and so many times those of the graph. Sub-graphs that use each other twice come to 2^n.
const MAX_NODES: usize = 100_000;
const MAX_REPEATED: usize = 16;

/// The value tables of one graph.
#[derive(Default)]
pub(super) struct Tables {
    tensors: String,
    ints: String,
    bools: String,
    floats: String,
    objects: String,
}

fn key(table: &mut String, name: &str) {
    if !table.is_empty() {
        table.push_str(", ");
    }
    python::quote(table, name);
    table.push_str(": ");
}

impl Writer<'_> {
    /// Appends a body as a graph.
    pub(super) fn body(&mut self, out: &mut String, body: BodyId) -> Result<(), Problem> {
        self.bounded(body)?;
        let graph = self.graph;
        self.nodes_written = self.nodes_written.saturating_add(graph.body_len(body));
        let most = graph.len().saturating_mul(MAX_REPEATED).saturating_add(MAX_NODES);
        if self.nodes_written > most {
            let reason = format!(
                "a .pt2 file holds each use of a sub-graph, and that would come to more than {most} nodes; call sub-graphs less often"
            );
            return Err(Problem::Node { node: graph.body_name(body).to_string(), reason });
        }
        let mut tables = Tables::default();
        let Some(output) = graph.output(body) else {
            let reason = "the graph returns nothing: it has no output node".to_string();
            return Err(Problem::Node { node: graph.body_name(body).to_string(), reason });
        };
        out.push_str("{\"inputs\": [");
        let placeholders = || graph.nodes(body).filter(|n| graph.kind(*n) == NodeKind::Placeholder);
        for (place, node) in placeholders().enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            self.input(out, &mut tables, node)?;
        }
        out.push_str("], \"outputs\": [");
        let bare = self.outputs(out, output)?;
        out.push_str("], \"nodes\": [");
        let mut first = true;
        for node in graph.nodes(body) {
            if graph.kind(node) != NodeKind::Call || graph.target(node) == GETITEM {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push_str(", ");
            }
            self.node(out, &mut tables, node)?;
        }
        let Tables { tensors, ints, bools, floats, objects } = tables;
        let _ = write!(
            out,
            "], \"tensor_values\": {{{tensors}}}, \"sym_int_values\": {{{ints}}}, \"sym_bool_values\": {{{bools}}}, \
             \"is_single_tensor_return\": {bare}, \"custom_obj_values\": {{{objects}}}, \"sym_float_values\": {{{floats}}}}}"
        );
        Ok(())
    }

    fn bounded(&self, body: BodyId) -> Result<(), Problem> {
        let mut depth = 0_usize;
        let mut parent = self.graph.body_parent(body);
        while let Some(above) = parent {
            depth = depth.saturating_add(1);
            if depth > MAX_NESTING {
                let reason = format!("sub-graphs nest deeper than {MAX_NESTING}");
                return Err(Problem::Node { node: self.graph.body_name(body).to_string(), reason });
            }
            parent = self.graph.body_parent(above);
        }
        Ok(())
    }

    fn input(&mut self, out: &mut String, tables: &mut Tables, node: NodeId) -> Result<(), Problem> {
        let name = self.name(node);
        match self.graph.ty(node) {
            ValueType::Const(Some(value)) => return self.constant(out, node, value),
            ValueType::Const(None) => {
                let reason =
                    "it is a constant input, and its value is not known; a model of the same inputs says it (--like MODEL.pt2), or a \
                     line in the text (airlock convert MODEL.pt2 - --calling shows it)".to_string();
                return Err(Problem::Node { node: name.to_string(), reason });
            }
            ValueType::SymFloat(_) | ValueType::SymBool(_) => {
                let reason = "PyTorch reads no symbolic float or boolean as an input".to_string();
                return Err(Problem::Node { node: name.to_string(), reason });
            }
            ValueType::Other(class) => {
                let class = python::quoted(self.graph.texts.text(*class));
                let object = format!("{{\"name\": {}, \"class_fqn\": {class}}}", python::quoted(name));
                key(&mut tables.objects, name);
                tables.objects.push_str(&object);
                let _ = write!(out, "{{\"as_custom_obj\": {object}}}");
            }
            ty => {
                let ty = self.shown(node, ty);
                self.define(out, tables, node, name, &ty)?;
            }
        }
        Ok(())
    }

    /// Appends a literal that may stand among inputs and outputs.
    pub(super) fn constant(&mut self, out: &mut String, node: NodeId, value: &Arg) -> Result<(), Problem> {
        match value {
            Arg::None | Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) | Arg::Str(_) => {
                self.literal(out, node, &|| "value".to_string(), value)
            }
            other => Err(self.unwritable(
                node,
                &|| "value".to_string(),
                other,
                "only None, numbers, booleans and texts may be constants",
            )),
        }
    }

    /// Appends what a body returns; `true` where it is one value rather than a tuple.
    fn outputs(&mut self, out: &mut String, output: NodeId) -> Result<bool, Problem> {
        let returned = self.graph.args(output).first().unwrap_or(&Arg::None);
        let (items, bare) = match returned {
            Arg::List(items) | Arg::Tuple(items) => (&**items, false),
            one => (std::slice::from_ref(one), true),
        };
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            self.output(out, output, place, item)?;
        }
        Ok(bare)
    }

    /// Appends one value that a body returns.
    pub(super) fn output(&mut self, out: &mut String, output: NodeId, place: usize, item: &Arg) -> Result<(), Problem> {
        match item {
            Arg::Node(n) => self.reference(out, output, &|| place.to_string(), *n),
            Arg::Str(_) => {
                let reason = "PyTorch reads no text as an output";
                Err(self.unwritable(output, &|| place.to_string(), item, reason))
            }
            literal => self.constant(out, output, literal),
        }
    }

    fn node(&mut self, out: &mut String, tables: &mut Tables, node: NodeId) -> Result<(), Problem> {
        let graph = self.graph;
        let known = self.ops.get(graph.target(node));
        let spelled = target::write(known.map_or(graph.target(node), |operator| &operator.target));
        let style = Style::of(&spelled);
        self.writes |= known.is_some_and(|operator| operator.effects.writes());
        out.push_str("{\"target\": ");
        python::quote(out, &spelled);
        out.push_str(", \"inputs\": [");
        self.operands(out, node, style)?;
        out.push_str("], \"outputs\": [");
        self.results(out, tables, node, style)?;
        out.push_str("], \"metadata\": ");
        self.metadata(out, node);
        let wrapped = match style {
            Style::HigherOrder if matches!(graph.ty(node), ValueType::Tensor(_)) => "true",
            Style::HigherOrder => "false",
            Style::Operator | Style::Python => "null",
        };
        let _ = write!(out, ", \"is_hop_single_tensor_return\": {wrapped}, \"name\": ");
        python::quote(out, graph.name(node));
        out.push('}');
        Ok(())
    }

    fn results(&mut self, out: &mut String, tables: &mut Tables, node: NodeId, style: Style) -> Result<(), Problem> {
        let graph = self.graph;
        let name = graph.name(node);
        let returns = self.ops.get(graph.target(node)).map(|operator| &operator.schema.returns);
        match graph.ty(node) {
            ValueType::None => {
                if style == Style::HigherOrder || returns.is_some_and(|r| !r.is_empty()) {
                    out.push_str("{\"as_none\": true}");
                }
                Ok(())
            }
            ValueType::Many(types) => {
                let list = match (style, returns) {
                    (Style::HigherOrder | Style::Python, _) => false,
                    (Style::Operator, Some(returns)) => {
                        matches!(&**returns, [one] if one.ty.is_list() && one.ty.base == Base::Tensor)
                    }
                    (Style::Operator, None) => {
                        self.envelope.opaque.get(graph.target(node)).is_some_and(|form| form.list_result)
                    }
                };
                if list {
                    out.push_str("{\"as_tensors\": [");
                    self.list(out, tables, node, node, types, name)?;
                    out.push_str("]}");
                    return Ok(());
                }
                for (place, ty) in types.iter().enumerate() {
                    if place > 0 {
                        out.push_str(", ");
                    }
                    self.one_of_many(out, tables, node, place, ty)?;
                }
                Ok(())
            }
            ty => {
                let ty = self.shown(node, ty);
                self.define(out, tables, node, name, &ty)
            }
        }
    }

    fn one_of_many(
        &mut self,
        out: &mut String,
        tables: &mut Tables,
        node: NodeId,
        place: usize,
        ty: &ValueType,
    ) -> Result<(), Problem> {
        let item = self.folds.result(node, place);
        match ty {
            ValueType::None => {
                out.push_str("{\"as_none\": true}");
                Ok(())
            }
            ValueType::Many(inner) => {
                out.push_str("{\"as_tensors\": [");
                let stem = format!("{}_unused_{place}", self.graph.name(node));
                self.list(out, tables, node, item.unwrap_or(node), inner, item.map_or(&stem, |n| self.graph.name(n)))?;
                out.push_str("]}");
                Ok(())
            }
            ty => {
                let unused = || self.unused(node, &format!("{}_unused_{place}", self.graph.name(node)));
                let name = item.map_or_else(unused, |n| self.graph.name(n).to_string());
                let ty = item.map_or_else(|| ty.clone(), |n| self.shown(n, ty));
                self.define(out, tables, node, &name, &ty)
            }
        }
    }

    /// Appends the names of a list of tensors that `tuple` is, defining each.
    fn list(
        &mut self,
        out: &mut String,
        tables: &mut Tables,
        node: NodeId,
        tuple: NodeId,
        types: &Arc<[ValueType]>,
        stem: &str,
    ) -> Result<(), Problem> {
        let nested = tuple == node && stem != self.graph.name(node);
        for (place, ty) in types.iter().enumerate() {
            let item = if nested { None } else { self.folds.result(tuple, place) };
            let wanted = if nested { format!("{stem}_{place}") } else { format!("{stem}_unused_{place}") };
            let name = item.map_or_else(|| self.unused(node, &wanted), |n| self.graph.name(n).to_string());
            let ty = item.map_or_else(|| ty.clone(), |n| self.shown(n, ty));
            let ValueType::Tensor(tensor) = &ty else {
                let reason = format!("result {place} of its list is no tensor");
                return Err(Problem::Node { node: self.graph.name(node).to_string(), reason });
            };
            self.define_tensor(tables, node, &name, tensor)?;
            if place > 0 {
                out.push_str(", ");
            }
            out.push_str("{\"name\": ");
            python::quote(out, &name);
            out.push('}');
        }
        Ok(())
    }

    /// Returns a name that no node of the body has.
    fn unused(&self, node: NodeId, wanted: &str) -> String {
        let body = self.graph.place(node).map_or(BodyId::ROOT, |(body, _)| body);
        let mut name = wanted.to_string();
        while self.graph.find_name(body, &name).is_some() {
            name.push('_');
        }
        name
    }

    /// Appends a result (or input) by name, and gives it its type.
    fn define(
        &mut self,
        out: &mut String,
        tables: &mut Tables,
        node: NodeId,
        name: &str,
        ty: &ValueType,
    ) -> Result<(), Problem> {
        let (variant, table, value) = match ty {
            ValueType::Tensor(tensor) => {
                self.define_tensor(tables, node, name, tensor)?;
                out.push_str("{\"as_tensor\": {\"name\": ");
                python::quote(out, name);
                out.push_str("}}");
                return Ok(());
            }
            ValueType::SymInt(dim) => ("as_sym_int", &mut tables.ints, Some(SymValue::Int(*dim))),
            ValueType::SymFloat(id) => ("as_sym_float", &mut tables.floats, self.symbols.value_of(*id)),
            ValueType::SymBool(id) => ("as_sym_bool", &mut tables.bools, self.symbols.value_of(*id)),
            ValueType::Unknown => {
                return Err(Problem::Node {
                    node: self.graph.name(node).to_string(),
                    reason: "its type is not known; describe its operator in an operator file (--ops)".to_string(),
                });
            }
            other => {
                let found = match other {
                    ValueType::Body(_) => "a sub-graph",
                    ValueType::Const(_) => "a constant",
                    ValueType::Other(_) => "a script object",
                    _ => "several results",
                };
                let reason = format!("a result that is {found} has no place in the file");
                return Err(Problem::Node { node: self.graph.name(node).to_string(), reason });
            }
        };
        key(table, name);
        match value {
            Some(SymValue::Int(Dim::Fixed(v))) => {
                let _ = write!(table, "{{\"as_int\": {v}}}");
            }
            Some(value) => self.symbolic(table, value),
            None => {
                let reason = "its symbolic value belongs to another graph".to_string();
                return Err(Problem::Node { node: self.graph.name(node).to_string(), reason });
            }
        }
        let _ = write!(out, "{{\"{variant}\": {{\"as_name\": ");
        python::quote(out, name);
        out.push_str("}}");
        Ok(())
    }

    fn define_tensor(
        &mut self,
        tables: &mut Tables,
        node: NodeId,
        name: &str,
        ty: &Arc<TensorType>,
    ) -> Result<(), Problem> {
        if ty.dtype.pt2_number() == 0 {
            let reason = format!("dtype {} has no number in .pt2 files", ty.dtype);
            return Err(Problem::Node { node: self.graph.name(node).to_string(), reason });
        }
        key(&mut tables.tensors, name);
        if ty.strides.is_some() {
            write_values::tensor(&mut tables.tensors, ty, &mut |out, dim| self.dim(out, dim));
            return Ok(());
        }
        let mut stated = (**ty).clone();
        stated.strides =
            Some(crate::ops::contiguous_strides(&mut self.symbols, &stated.sizes).map_err(|fault| Problem::Node {
                node: self.graph.name(node).to_string(),
                reason: fault.to_string(),
            })?);
        write_values::tensor(&mut tables.tensors, &stated, &mut |out, dim| self.dim(out, dim));
        Ok(())
    }

    /// Appends the metadata: as it was read, with what was set since.
    fn metadata(&self, out: &mut String, node: NodeId) {
        let meta = self.graph.meta(node);
        let source = self.graph.meta_source.as_ref();
        let read = meta.and_then(|m| source?.slice(m.json?)).and_then(|b| std::str::from_utf8(b).ok());
        let Some(set) = meta.and_then(|m| m.set.as_ref()) else {
            out.push_str(read.unwrap_or("{}"));
            return;
        };
        let mut entries: Vec<(String, String)> = read
            .and_then(|text| serde_json::from_str::<Pairs<Text<'_>, &serde_json::value::RawValue>>(text).ok())
            .map(|pairs| pairs.0.into_iter().map(|(k, v)| (k.to_string(), v.get().to_string())).collect())
            .unwrap_or_default();
        for (key, value) in set.iter() {
            let key = self.graph.texts.text(*key);
            entries.retain(|(k, _)| k != key);
            if let Some(value) = value {
                entries.push((key.to_string(), python::quoted(self.graph.texts.text(*value))));
            }
        }
        out.push('{');
        python::joined(out, &entries, |out, (key, value)| {
            python::quote(out, key);
            out.push_str(": ");
            out.push_str(value);
        });
        out.push('}');
    }
}
