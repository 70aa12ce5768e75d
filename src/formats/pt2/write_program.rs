//! `models/model.json` of a model: what was read and not edited as it stood, the rest made anew.
//!
//! Promises: keys and separators are those of PyTorch 2.15, so that an unedited program of that version is written byte for byte as it
//! was; nothing is invented: what a file needs and the model does not say is a [`Problem`].

use std::fmt::Write;

use indexmap::{IndexMap, IndexSet};

use super::error::Problem;
use super::folds::Folds;
use super::python;
use crate::graph::{BodyId, Envelope, Graph, InputKind, Model, NodeId, NodeKind, View};
use crate::ops::Registry;
use crate::sym::KeyedMap;
use crate::sym::{Bindings, Dim, Number, Range, SymValue, Symbols};

/// The state of writing one program.
pub(super) struct Writer<'m> {
    pub(super) graph: &'m Graph,
    pub(super) ops: &'m Registry,
    pub(super) envelope: &'m Envelope,
    pub(super) folds: Folds,
    /// A copy that may grow: strides that nobody stated are computed in it.
    pub(super) symbols: Symbols,
    /// Symbols that occur, in order.
    used: IndexSet<String>,
    exprs: KeyedMap<SymValue, String>,
    /// Whether some operator writes to its arguments.
    pub(super) writes: bool,
    /// Nodes of all bodies, each as often as it was written.
    pub(super) nodes_written: usize,
}

/// Returns the JSON text.
pub(super) fn program(model: &Model, ops: &Registry) -> Result<String, Problem> {
    let (graph, envelope) = (&model.graph, &model.envelope);
    let mut writer = Writer {
        graph,
        ops,
        envelope,
        folds: Folds::of(graph)?,
        symbols: graph.symbols.clone(),
        nodes_written: 0,
        used: IndexSet::new(),
        exprs: KeyedMap::default(),
        writes: false,
    };
    let capacity = graph.meta_source.as_ref().map_or(0, |b| b.len()).saturating_add(4096);
    let mut out = String::with_capacity(capacity);
    out.push_str("{\"graph_module\": {\"graph\": ");
    writer.body(&mut out, BodyId::ROOT)?;
    out.push_str(", \"signature\": ");
    writer.signature(&mut out)?;
    out.push_str(", \"module_call_graph\": ");
    match carried(envelope, "module_call_graph") {
        Some(json) => out.push_str(json),
        None => writer.plain_module_call_graph(&mut out),
    }
    let _ = write!(
        out,
        ", \"metadata\": {}, \"treespec_namedtuple_fields\": {}}}, \"opset_version\": {}, \"range_constraints\": ",
        carried(envelope, "metadata").unwrap_or("{}"),
        carried(envelope, "treespec_namedtuple_fields").unwrap_or("{}"),
        carried(envelope, "opset_version").unwrap_or("{\"aten\": 10}"),
    );
    writer.ranges(&mut out);
    out.push_str(", \"schema_version\": {\"major\": 8, \"minor\": 20}, \"verifiers\": [");
    python::joined(&mut out, writer.verifiers(), |out, v| python::quote(out, &v));
    let _ = write!(
        out,
        "], \"torch_version\": {}, \"guards_code\": {}}}",
        carried(envelope, "torch_version").unwrap_or("\"2.15.0\""),
        carried(envelope, "guards_code").unwrap_or("[]"),
    );
    Ok(out)
}

fn carried<'e>(envelope: &'e Envelope, key: &str) -> Option<&'e str> {
    envelope.json.iter().find(|(k, _)| k == key).map(|(_, v)| v.get())
}

impl<'m> Writer<'m> {
    /// Returns the name that the file gives to a node: a placeholder's is the caller's word for it, which Python may reserve.
    pub(super) fn name(&self, node: NodeId) -> &'m str {
        let graph = self.graph;
        let name = graph.name(self.folds.canonical(node));
        if graph.kind(node) != NodeKind::Placeholder || graph.target(node) == name {
            return name;
        }
        let body = graph.place(node).map_or(BodyId::ROOT, |(body, _)| body);
        let free = graph.find_name(body, graph.target(node)).is_none() && !graph.target(node).is_empty();
        if free { graph.target(node) } else { name }
    }

    /// Appends the expression of a symbolic value: `{"as_expr": ..}`, or `{KEY: NUMBER}` where it is a number after all.
    pub(super) fn symbolic(&mut self, out: &mut String, value: SymValue) {
        if let Some(known) = self.exprs.get(&value) {
            out.push_str(known);
            return;
        }
        let text = self.expression(value);
        out.push_str(&text);
        self.exprs.insert(value, text);
    }

    fn expression(&mut self, value: SymValue) -> String {
        let symbols = self.symbols.symbols_in(value);
        let mut text = String::new();
        let read = self.envelope.symbolic.get(&value);
        if symbols.is_empty() && read.is_none() {
            match self.symbols.eval_value(value, &Bindings::new()) {
                Ok(Number::Int(v)) => text = format!("{{\"as_int\": {v}}}"),
                Ok(Number::Bool(v)) => text = format!("{{\"as_bool\": {v}}}"),
                Ok(Number::Float(v)) => {
                    text.push_str("{\"as_float\": ");
                    python::float(&mut text, v);
                    text.push('}');
                }
                Err(_) => {}
            }
            if !text.is_empty() {
                return text;
            }
        }
        self.used.extend(symbols);
        text.push_str("{\"as_expr\": {\"expr_str\": ");
        match read {
            Some(read) => python::quote(&mut text, &read.srepr),
            None => python::quote(&mut text, &self.symbols.print_srepr(value)),
        }
        let hint = read.and_then(|r| r.hint.as_deref()).unwrap_or("null");
        let _ = write!(text, ", \"hint\": {hint}}}}}");
        text
    }

    /// Appends what stands for a size.
    pub(super) fn dim(&mut self, out: &mut String, dim: Dim) {
        match dim {
            Dim::Fixed(v) => {
                let _ = write!(out, "{{\"as_int\": {v}}}");
            }
            Dim::Expr(_) => self.symbolic(out, SymValue::Int(dim)),
        }
    }

    /// Every symbol has a range: those of the program in its order (with derived dimensions), then others that occur.
    fn ranges(&mut self, out: &mut String) {
        let symbols = &self.graph.symbols;
        let mut ranges: IndexMap<String, Range> = IndexMap::new();
        let declared = |name: &str| symbols.declared_range(name).unwrap_or(Range::SIZE);
        for id in &self.graph.range_constraints {
            let dim = Dim::Expr(*id);
            ranges
                .entry(symbols.print_expr(*id))
                .or_insert_with_key(|name| symbols.declared_range(name).unwrap_or_else(|| symbols.range_of(dim)));
            for name in symbols.symbols_in(SymValue::Int(dim)) {
                ranges.entry(name).or_insert_with_key(|name| declared(name));
            }
        }
        for name in &self.used {
            ranges.entry(name.clone()).or_insert_with_key(|name| declared(name));
        }
        let bound = |b: Option<i64>| b.map_or_else(|| "null".to_string(), |v| v.to_string());
        out.push('{');
        python::joined(out, &ranges, |out, (name, Range { min, max })| {
            python::quote(out, name);
            let _ = write!(out, ": {{\"min_val\": {}, \"max_val\": {}}}", bound(*min), bound(*max));
        });
        out.push('}');
    }

    /// PyTorch's `ATEN` verifier takes no operator that writes to its arguments.
    fn verifiers(&self) -> Vec<String> {
        match (&*self.envelope.verifiers, self.writes) {
            ([], false) => vec!["ATEN".to_string()],
            ([], true) => vec!["TRAINING".to_string()],
            (read, true) if read.iter().any(|v| v == "ATEN") => vec!["TRAINING".to_string()],
            (read, _) => read.to_vec(),
        }
    }

    /// The calling convention where nothing says another: positional arguments, a tuple of results.
    fn plain_module_call_graph(&self, out: &mut String) {
        const LEAF: &str = "{\"type\": null, \"context\": null, \"children_spec\": []}";
        let tuple = |children: &str| {
            format!("{{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{children}]}}")
        };
        let leaves = |count: usize| vec![LEAF; count].join(", ");
        let dict = "{\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}";
        let users = self.user_inputs();
        let in_spec = format!("[1, {}]", tuple(&format!("{}, {dict}", tuple(&leaves(users.len())))));
        let out_spec = format!("[1, {}]", tuple(&leaves(self.user_outputs())));
        out.push_str("[{\"fqn\": \"\", \"signature\": {\"inputs\": [], \"outputs\": [], \"in_spec\": ");
        python::quote(out, &in_spec);
        out.push_str(", \"out_spec\": ");
        python::quote(out, &out_spec);
        out.push_str(", \"forward_arg_names\": [");
        python::joined(out, &users, |out, name| python::quote(out, name));
        out.push_str("]}}]");
    }

    fn user_inputs(&self) -> Vec<String> {
        let specs = self.graph.signature.as_ref().map(|s| s.inputs.as_slice());
        self.graph
            .nodes(BodyId::ROOT)
            .filter(|n| self.graph.kind(*n) == NodeKind::Placeholder)
            .enumerate()
            .filter(|(i, _)| specs.and_then(|s| s.get(*i)).is_none_or(|s| s.kind == InputKind::UserInput))
            .map(|(_, n)| self.name(n).to_string())
            .collect()
    }

    fn user_outputs(&self) -> usize {
        let returned = self.graph.output(BodyId::ROOT).and_then(|n| self.graph.args(n).first());
        match &self.graph.signature {
            Some(s) => s.outputs.iter().filter(|o| !o.kind.is_mutation()).count(),
            None => returned.map_or(0, |a| a.items().map_or(1, <[_]>::len)),
        }
    }
}
