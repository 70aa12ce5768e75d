//! A graph of the JSON becomes a body: placeholders, calls, getitems and get_attrs, made in the order in which PyTorch's loader makes them.
//!
//! Promises: names, order, and what is positional are PyTorch's after loading; every use is of a node that is already there; recursion
//! follows sub-graphs only, which `serde_json` nests at most 128 levels deep. Leaves types to `values`, operands to `operands`.

use super::error::Problem;
use super::schema::{self, Argument, SymArgument};
use super::target::Style;
use super::values::{Typed, Value, Values};
use crate::graph::{Arg, BodyId, Bytes, Graph, Meta, NewNode, NodeId, NodeKind, OpaqueForm, Span, StrId, ValueType};
use crate::ops::Registry;
use crate::sym::KeyedMap;

/// The state of reading one program.
pub(super) struct Reader<'p> {
    pub(super) graph: Graph,
    pub(super) values: Values<'p>,
    pub(super) ops: &'p Registry,
    /// How operators that the registry does not know were called.
    pub(super) opaque: std::collections::BTreeMap<Box<str>, OpaqueForm>,
    /// Names of constant inputs, by position.
    pub(super) input_names: Vec<Option<&'p str>>,
    json: &'p [u8],
    words: Words,
}

/// Texts that every node needs.
struct Words {
    getitem: StrId,
    output: StrId,
}

/// What names mean in one graph of the JSON.
pub(super) struct Scope<'p> {
    pub(super) body: BodyId,
    pub(super) json: &'p schema::Graph<'p>,
    pub(super) nodes: KeyedMap<&'p str, NodeId>,
    /// Its sub-graphs, by name.
    pub(super) bodies: KeyedMap<&'p str, BodyId>,
    values: KeyedMap<&'p str, Value<'p>>,
}

impl<'p> Reader<'p> {
    /// Returns a reader of the document `json`.
    pub(super) fn new(json: &'p Bytes, ops: &'p Registry) -> Self {
        let mut graph = Graph::new();
        let words = Words { getitem: graph.texts.intern("_operator.getitem"), output: graph.texts.intern("output") };
        graph.meta_source = Some(json.clone());
        Self {
            graph,
            values: Values::default(),
            ops,
            opaque: Default::default(),
            input_names: Vec::new(),
            json: json.as_slice(),
            words,
        }
    }

    /// Reads a graph into an empty body.
    pub(super) fn body(&mut self, body: BodyId, json: &'p schema::Graph<'p>) -> Result<(), Problem> {
        let first = self.values.more_types(json.tensor_values.types.len());
        let mut scope =
            Scope { body, json, nodes: KeyedMap::default(), bodies: KeyedMap::default(), values: tables(json, first) };
        scope.nodes.reserve(json.nodes.len());
        for (place, input) in json.inputs.iter().enumerate() {
            self.input(&mut scope, place, input)?;
        }
        for node in &json.nodes {
            self.node(&mut scope, node)?;
        }
        self.output(&scope)
    }

    fn input(&mut self, scope: &mut Scope<'p>, place: usize, input: &'p Argument<'p>) -> Result<(), Problem> {
        let at = || format!("input {place} of the graph");
        let named = match input {
            Argument::Tensor(name) | Argument::Sym(SymArgument::Name(name)) => Some(&**name),
            Argument::CustomObj(object) => Some(&*object.name),
            _ => None,
        };
        if let Some(name) = named {
            let typed = self.value(scope, name, name)?;
            // Python has no variable `class`: FX prints another one, and we name it so.
            let legal = self.graph.free_name(scope.body, name);
            let id = self.push(scope.body, NodeKind::Placeholder, &legal, name, Box::default(), typed);
            return define(scope, name, name, id);
        }
        let value = match input {
            Argument::Int(v) => Arg::Int(*v),
            Argument::Float(v) => Arg::Float(*v),
            Argument::Bool(v) => Arg::Bool(*v),
            Argument::String(v) => Arg::from(&**v),
            Argument::None => Arg::None,
            _ => {
                let expected = "a tensor, a symbolic integer, a script object or a constant".to_string();
                return Err(Problem::Unexpected {
                    place: at(),
                    expected,
                    found: "another kind of argument".to_string(),
                });
            }
        };
        let target = match self.input_names.get(place).copied().flatten() {
            Some(name) if !name.is_empty() => name.to_string(),
            _ => format!("arg{place}"),
        };
        let name = self.graph.free_name(scope.body, &super::target::snake_case(&target));
        let ty = ValueType::Const(Some(std::sync::Arc::new(value)));
        self.push(scope.body, NodeKind::Placeholder, &name, &target, Box::default(), (ty, None));
        Ok(())
    }

    fn node(&mut self, scope: &mut Scope<'p>, node: &'p schema::Node<'p>) -> Result<(), Problem> {
        let style = Style::of(&node.target);
        let target = super::target::read(&node.target);
        let meta = Meta { json: self.span(node.metadata), set: None };
        let operands = self.operands(scope, node, style, target, &meta)?;
        let target_id = self.graph.texts.intern(target);

        let (name, typed, results) = self.results(scope, node, style)?;
        let made = || super::target::to_name(target).into();
        let name = self.graph.free_name(scope.body, &name.map_or_else(made, std::borrow::Cow::Borrowed));
        let call =
            NewNode { kind: NodeKind::Call, target: target_id, args: operands.0, kwargs: operands.1, ty: typed.0 };
        let id = self.graph.push(scope.body, &name, call);
        self.finish(id, typed.1, &meta);
        match results {
            Results::Nothing => Ok(()),
            Results::One(name) => define(scope, &node_label(node), name, id),
            Results::Many(outputs) => {
                self.getitems(scope, node, id, &outputs, &meta)?;
                // PyTorch lets operands name the tuple itself.
                let own = self.graph_name(id);
                if let Some(given) = node.name.as_deref()
                    && given == own
                {
                    scope.nodes.entry(given).or_insert(id);
                }
                Ok(())
            }
        }
    }

    /// Returns the name that the node is to have, its type, and which values it defines.
    #[allow(clippy::type_complexity)]
    fn results(
        &mut self,
        scope: &Scope<'p>,
        node: &'p schema::Node<'p>,
        style: Style,
    ) -> Result<(Option<&'p str>, Typed, Results<'p>), Problem> {
        let given = node.name.as_deref().filter(|n| !n.is_empty());
        let (one, wrapped) = match &*node.outputs {
            [] => return Ok((given, (ValueType::None, None), Results::Nothing)),
            [one] => (one, style == Style::HigherOrder && node.is_hop_single_tensor_return == Some(false)),
            many => {
                let outputs: Vec<Out<'p>> = many.iter().map(Out::Argument).collect();
                return Ok((given, (self.many(scope, node, &outputs)?, None), Results::Many(outputs)));
            }
        };
        if matches!(one, Argument::None) {
            return Ok((None, (ValueType::None, None), Results::Nothing));
        }
        if wrapped {
            let outputs = vec![Out::Argument(one)];
            return Ok((given, (self.many(scope, node, &outputs)?, None), Results::Many(outputs)));
        }
        match one {
            Argument::Tensor(name) | Argument::Sym(SymArgument::Name(name)) => {
                let typed = self.value(scope, name, &node_label(node))?;
                Ok((Some(name), typed, Results::One(name)))
            }
            Argument::Tensors(list) => {
                let outputs: Vec<Out<'p>> = list.iter().map(|n| Out::Name(&n.name)).collect();
                let ty = self.many(scope, node, &outputs)?;
                Ok((given, (ty, None), Results::Many(outputs)))
            }
            _ => Err(unexpected_output(node)),
        }
    }

    fn many(
        &mut self,
        scope: &Scope<'p>,
        node: &'p schema::Node<'p>,
        outputs: &[Out<'p>],
    ) -> Result<ValueType, Problem> {
        let mut types = Vec::with_capacity(outputs.len());
        for output in outputs {
            types.push(match *output {
                Out::Name(name) => self.value(scope, name, &node_label(node))?.0,
                Out::Argument(Argument::Tensor(name) | Argument::Sym(SymArgument::Name(name))) => {
                    self.value(scope, name, &node_label(node))?.0
                }
                Out::Argument(Argument::None) => ValueType::None,
                Out::Argument(Argument::Tensors(list)) => {
                    let inner: Vec<Out<'p>> = list.iter().map(|n| Out::Name(&n.name)).collect();
                    self.many(scope, node, &inner)?
                }
                Out::Argument(_) => return Err(unexpected_output(node)),
            });
        }
        Ok(ValueType::Many(types.into()))
    }

    /// Makes a getitem for every result, used or not.
    fn getitems(
        &mut self,
        scope: &mut Scope<'p>,
        node: &'p schema::Node<'p>,
        tuple: NodeId,
        outputs: &[Out<'p>],
        meta: &Meta,
    ) -> Result<(), Problem> {
        for (place, output) in outputs.iter().enumerate() {
            let name = match *output {
                Out::Name(name) => Some(name),
                Out::Argument(Argument::Tensor(name) | Argument::Sym(SymArgument::Name(name))) => Some(&**name),
                Out::Argument(_) => None,
            };
            let typed = match (name, output) {
                (Some(name), _) => self.value(scope, name, &node_label(node))?,
                (None, Out::Argument(Argument::Tensors(list))) => {
                    let inner: Vec<Out<'p>> = list.iter().map(|n| Out::Name(&n.name)).collect();
                    let list_ty = self.many(scope, node, &inner)?;
                    let fresh = self.graph.free_name(scope.body, "getitem");
                    let id = self.getitem(scope.body, &fresh, tuple, place, (list_ty, None), meta);
                    self.getitems(scope, node, id, &inner, meta)?;
                    continue;
                }
                (None, _) => {
                    let fresh = self.graph.free_name(scope.body, "as_none");
                    self.getitem(scope.body, &fresh, tuple, place, (ValueType::None, None), meta);
                    continue;
                }
            };
            if let Some(name) = name {
                let legal = self.graph.free_name(scope.body, name);
                let id = self.getitem(scope.body, &legal, tuple, place, typed, meta);
                define(scope, &node_label(node), name, id)?;
            }
        }
        Ok(())
    }

    fn getitem(&mut self, body: BodyId, name: &str, tuple: NodeId, place: usize, typed: Typed, meta: &Meta) -> NodeId {
        let index = Arg::Int(i64::try_from(place).unwrap_or(i64::MAX));
        let args = Box::new([Arg::Node(tuple), index]);
        let call =
            NewNode { kind: NodeKind::Call, target: self.words.getitem, args, kwargs: Box::default(), ty: typed.0 };
        let id = self.graph.push(body, name, call);
        self.finish(id, typed.1, meta);
        id
    }

    fn output(&mut self, scope: &Scope<'p>) -> Result<(), Problem> {
        let mut returned = Vec::with_capacity(scope.json.outputs.len());
        for (place, output) in scope.json.outputs.iter().enumerate() {
            let argument = || place.to_string();
            returned.push(match output {
                Argument::Tensor(name) | Argument::Sym(SymArgument::Name(name)) => {
                    Arg::Node(scope.node("output", &argument, name)?)
                }
                Argument::CustomObj(object) => Arg::Node(scope.node("output", &argument, &object.name)?),
                Argument::Int(v) | Argument::Sym(SymArgument::Int(v)) => Arg::Int(*v),
                Argument::Float(v) => Arg::Float(*v),
                Argument::Bool(v) => Arg::Bool(*v),
                Argument::String(v) => Arg::from(&**v),
                Argument::None => Arg::None,
                _ => {
                    return Err(Problem::Unexpected {
                        place: format!("output {place} of the graph"),
                        expected: "a value of the graph, or a constant".to_string(),
                        found: "another kind of argument".to_string(),
                    });
                }
            });
        }
        let bare = match (scope.json.is_single_tensor_return, &*returned) {
            (true, [one]) => Some(one.clone()),
            (true, many) => {
                return Err(Problem::Unexpected {
                    place: "outputs of a graph with is_single_tensor_return".to_string(),
                    expected: "one output".to_string(),
                    found: many.len().to_string(),
                });
            }
            (false, _) => None,
        };
        let args = Box::new([bare.unwrap_or_else(|| Arg::Tuple(returned.into()))]);
        let node = NewNode {
            kind: NodeKind::Output,
            target: self.words.output,
            args,
            kwargs: Box::default(),
            ty: ValueType::None,
        };
        self.graph.push(scope.body, "output", node);
        Ok(())
    }

    /// Returns the type of a value that `node` defines.
    fn value(&mut self, scope: &Scope<'p>, name: &'p str, node: &str) -> Result<Typed, Problem> {
        let Some(value) = scope.values.get(name) else {
            return Err(Problem::Untyped {
                node: node.to_string(),
                name: name.to_string(),
                table: "tensor_values, sym_int_values or the like",
            });
        };
        self.values.typed(&mut self.graph, value, &|| format!("value `{name}` of node `{node}`"))
    }

    pub(super) fn push(
        &mut self,
        body: BodyId,
        kind: NodeKind,
        name: &str,
        target: &str,
        args: Box<[Arg]>,
        typed: Typed,
    ) -> NodeId {
        let target = self.graph.texts.intern(target);
        let id = self.graph.push(body, name, NewNode { kind, target, args, kwargs: Box::default(), ty: typed.0 });
        if typed.1.is_some() {
            self.graph.set_printed(id, typed.1);
        }
        id
    }

    pub(super) fn finish(&mut self, id: NodeId, printed: Option<StrId>, meta: &Meta) {
        if printed.is_some() {
            self.graph.set_printed(id, printed);
        }
        self.graph.set_meta(id, meta.clone());
    }

    fn graph_name(&self, id: NodeId) -> String {
        use crate::graph::View;
        self.graph.name(id).to_string()
    }

    /// Returns where a part of the document lies in it.
    fn span(&self, part: &serde_json::value::RawValue) -> Option<Span> {
        let text = part.get().as_bytes();
        let start = text.as_ptr().addr().checked_sub(self.json.as_ptr().addr())?;
        let end = start.checked_add(text.len())?;
        // Only a part that is borrowed from the document lies in it.
        if end > self.json.len() {
            return None;
        }
        Some(Span { start: u64::try_from(start).ok()?, len: u32::try_from(text.len()).ok()? })
    }
}

impl Scope<'_> {
    /// Returns the node that defines `name`, which `user` uses.
    pub(super) fn node(&self, user: &str, argument: &dyn Fn() -> String, name: &str) -> Result<NodeId, Problem> {
        self.nodes.get(name).copied().ok_or_else(|| Problem::Undefined {
            node: user.to_string(),
            argument: argument(),
            name: name.to_string(),
            later: self.json.nodes.iter().any(|n| defines(n, name)),
        })
    }
}

/// What a node gives.
enum Results<'p> {
    Nothing,
    One(&'p str),
    Many(Vec<Out<'p>>),
}

/// One of many results.
#[derive(Clone, Copy)]
enum Out<'p> {
    Name(&'p str),
    Argument(&'p Argument<'p>),
}

/// What the names of a graph's values are, whose types are numbered from `first`.
fn tables<'p>(json: &'p schema::Graph<'p>, first: usize) -> KeyedMap<&'p str, Value<'p>> {
    let mut values = KeyedMap::default();
    let schema::TensorTable { names, types } = &json.tensor_values;
    let tensor = |place: usize| types.get(place).map(|meta| Value::Tensor(meta, first.saturating_add(place)));
    values.reserve(names.len());
    values.extend(names.iter().filter_map(|(name, place)| Some((&**name, tensor(*place)?))));
    values.extend(json.sym_int_values.0.iter().map(|(n, v)| (&**n, Value::Int(v))));
    values.extend(json.sym_float_values.0.iter().map(|(n, v)| (&**n, Value::Float(v))));
    values.extend(json.sym_bool_values.0.iter().map(|(n, v)| (&**n, Value::Bool(v))));
    values.extend(json.custom_obj_values.0.iter().map(|(n, v)| (&**n, Value::Custom(&v.class_fqn))));
    values
}

fn define<'p>(scope: &mut Scope<'p>, node: &str, name: &'p str, id: NodeId) -> Result<(), Problem> {
    match scope.nodes.insert(name, id) {
        None => Ok(()),
        Some(_) => Err(Problem::Twice { node: node.to_string(), name: name.to_string() }),
    }
}

fn defines(node: &schema::Node<'_>, name: &str) -> bool {
    node.outputs.iter().any(|o| match o {
        Argument::Tensor(n) | Argument::Sym(SymArgument::Name(n)) => **n == *name,
        Argument::Tensors(list) => list.iter().any(|n| *n.name == *name),
        _ => false,
    })
}

/// Returns the name by which errors call a node.
pub(super) fn node_label(node: &schema::Node<'_>) -> String {
    if let Some(name) = node.name.as_deref() {
        return name.to_string();
    }
    match node.outputs.first() {
        Some(Argument::Tensor(n) | Argument::Sym(SymArgument::Name(n))) => n.to_string(),
        _ => node.target.to_string(),
    }
}

fn unexpected_output(node: &schema::Node<'_>) -> Problem {
    Problem::Unexpected {
        place: format!("outputs of node `{}`", node_label(node)),
        expected: "names of tensors or symbolic scalars, lists of tensors, or nothing".to_string(),
        found: "another kind of argument".to_string(),
    }
}
