//! Operands of a node: JSON arguments become [`Arg`]s, positional or by keyword as PyTorch's loader decides it.
//!
//! Promises: with a schema, operands come in the schema's order, whatever the file's; without one, in the file's. A name that the schema
//! lacks stays a keyword (PyTorch would drop it; the form check will name it). Sub-graphs become bodies with a get_attr node before
//! their user.

use super::body::{Reader, Scope, node_label};
use super::error::Problem;
use super::schema::{self, Argument, NamedArgument, OptionalTensor, SymArgument};
use super::target::Style;
use super::values;
use crate::graph::{Arg, Meta, NodeKind, StrId, ValueType};

const POSITIONAL: i64 = 1;
const KEYWORD: i64 = 2;

/// Args and kwargs.
pub(super) type Operands = (Box<[Arg]>, Box<[(StrId, Arg)]>);

impl<'p> Reader<'p> {
    /// Returns args and kwargs of a node.
    pub(super) fn operands(
        &mut self,
        scope: &mut Scope<'p>,
        node: &'p schema::Node<'p>,
        style: Style,
        target: &str,
        meta: &Meta,
    ) -> Result<Operands, Problem> {
        let mut read: Vec<(&'p NamedArgument<'p>, Arg)> = Vec::with_capacity(node.inputs.len());
        for (place, input) in node.inputs.iter().enumerate() {
            let arg = self.operand(scope, node, meta, &input.arg, &|| label(place, &input.name))?;
            read.push((input, arg));
        }
        let mut args = Vec::with_capacity(read.len());
        let mut kwargs = Vec::new();
        match style {
            Style::Python => args.extend(read.into_iter().map(|(_, arg)| arg)),
            Style::HigherOrder => {
                for (input, arg) in read {
                    if input.kind == Some(POSITIONAL) || input.name.is_empty() {
                        args.push(arg);
                    } else {
                        kwargs.push((self.graph.texts.intern(&input.name), arg));
                    }
                }
            }
            Style::Operator => {
                if let Some(name) = given_twice(node) {
                    return Err(Problem::GivenTwice { node: node_label(node), argument: name.to_string() });
                }
                self.by_schema(node, target, read, &mut args, &mut kwargs)?;
            }
        }
        Ok((args.into(), kwargs.into()))
    }

    fn by_schema(
        &mut self,
        node: &schema::Node<'_>,
        target: &str,
        mut read: Vec<(&NamedArgument<'_>, Arg)>,
        args: &mut Vec<Arg>,
        kwargs: &mut Vec<(StrId, Arg)>,
    ) -> Result<(), Problem> {
        let Some(schema) = self.ops.get(target).map(|operator| &operator.schema) else {
            return self.without_schema(node, target, read, args, kwargs);
        };
        let place = |name: &str| schema.param_index(name).unwrap_or(usize::MAX);
        if !read.is_sorted_by_key(|(input, _)| place(&input.name)) {
            read.sort_by_key(|(input, _)| place(&input.name));
        }
        for (input, arg) in read {
            let param = schema.param_index(&input.name).and_then(|p| schema.params.get(p));
            let positional = match (input.kind, param) {
                (_, None) => false,
                (Some(POSITIONAL), Some(_)) => true,
                (Some(KEYWORD), Some(param)) => is_python_keyword(&param.name),
                (_, Some(param)) => (param.default.is_none() && !param.kwarg_only) || is_python_keyword(&param.name),
            };
            if positional {
                args.push(arg);
            } else {
                kwargs.push((self.graph.texts.intern(&input.name), arg));
            }
        }
        Ok(())
    }

    /// Operands of an operator nobody knows, in the file's order; how they are called is kept for the writer, and is the same in each of its calls: PyTorch gives
    /// them by name.
    fn without_schema(
        &mut self,
        node: &schema::Node<'_>,
        target: &str,
        read: Vec<(&NamedArgument<'_>, Arg)>,
        args: &mut Vec<Arg>,
        kwargs: &mut Vec<(StrId, Arg)>,
    ) -> Result<(), Problem> {
        let mut names = Vec::new();
        for (input, arg) in read {
            if input.kind == Some(POSITIONAL) {
                names.push(input.name.to_string().into_boxed_str());
                args.push(arg);
            } else {
                kwargs.push((self.graph.texts.intern(&input.name), arg));
            }
        }
        let list_result = matches!(&*node.outputs, [Argument::Tensors(_)]);
        if !self.opaque.contains_key(target) {
            self.opaque.insert(target.into(), Default::default());
        }
        if let Some(form) = self.opaque.get_mut(target) {
            form.list_result |= list_result;
            let unlike = names.iter().zip(&form.positional).position(|(own, known)| own != known);
            if let Some(place) = unlike {
                let name = |all: &[Box<str>]| all.get(place).map(ToString::to_string).unwrap_or_default();
                return Err(Problem::NamedOtherwise {
                    node: node_label(node),
                    place,
                    found: name(&names),
                    expected: name(&form.positional),
                });
            }
            if names.len() > form.positional.len() {
                form.positional = names;
            }
        }
        Ok(())
    }

    fn operand(
        &mut self,
        scope: &mut Scope<'p>,
        node: &'p schema::Node<'p>,
        meta: &Meta,
        argument: &'p Argument<'p>,
        label: &dyn Fn() -> String,
    ) -> Result<Arg, Problem> {
        let place = || format!("node `{}`, argument `{}`", node_label(node), label());
        let find = |scope: &Scope<'p>, name: &str| {
            // The label of a node is made only where something is wrong with it.
            scope.nodes.get(name).copied().map_or_else(|| scope.node(&node_label(node), label, name), Ok)
        };
        Ok(match argument {
            Argument::None => Arg::None,
            Argument::Tensor(name) => Arg::Node(find(scope, name)?),
            Argument::Tensors(list) => {
                Arg::List(list.iter().map(|n| find(scope, &n.name).map(Arg::Node)).collect::<Result<_, _>>()?)
            }
            Argument::OptionalTensors(list) => Arg::List(
                list.iter()
                    .map(|n| match n {
                        OptionalTensor::Tensor(t) => find(scope, &t.name).map(Arg::Node),
                        OptionalTensor::None(_) => Ok(Arg::None),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Argument::NestedTensors(lists) => {
                let inner = |list: &Vec<schema::Named<'p>>| {
                    let nodes: Result<Box<[Arg]>, Problem> =
                        list.iter().map(|n| find(scope, &n.name).map(Arg::Node)).collect();
                    nodes.map(Arg::List)
                };
                Arg::List(lists.iter().map(inner).collect::<Result<_, _>>()?)
            }
            Argument::Int(v) => Arg::Int(*v),
            Argument::Ints(v) => Arg::list(v.iter().copied()),
            // PyTorch gives tuples here (grids of Triton kernels).
            Argument::IntLists(lists) => {
                Arg::List(lists.iter().map(|l| Arg::Tuple(l.iter().map(|v| Arg::Int(*v)).collect())).collect())
            }
            Argument::Float(v) => Arg::Float(*v),
            Argument::Floats(v) => Arg::list(v.iter().map(|f| f.0)),
            Argument::FloatLists(lists) => Arg::List(lists.iter().map(|l| Arg::list(l.iter().map(|v| v.0))).collect()),
            Argument::Bool(v) => Arg::Bool(*v),
            Argument::Bools(v) => Arg::list(v.iter().copied()),
            Argument::String(v) => Arg::from(&**v),
            Argument::Strings(v) => Arg::list(v.iter().map(|s| &**s)),
            Argument::Complex(re, im) => Arg::Complex(*re, *im),
            Argument::Sym(v) => sym(v, |name| find(scope, name))?,
            Argument::Syms(list) => {
                Arg::List(list.iter().map(|v| sym(v, |name| find(scope, name))).collect::<Result<_, _>>()?)
            }
            Argument::ScalarType(v) => Arg::Dtype(values::dtype(*v, &place)?),
            Argument::MemoryFormat(v) => values::memory_format(*v, &place)?,
            Argument::Layout(v) => Arg::Layout(values::layout(*v, &place)?),
            Argument::Device(device) => Arg::Device(self.values.device(device)),
            Argument::Operator(target) => Arg::Operator(super::target::read(target).into()),
            Argument::Graph(graph) => self.sub_graph(scope, node, graph, meta)?,
            Argument::CustomObj(object) => match scope.nodes.get(&*object.name) {
                Some(id) => Arg::Node(*id),
                None => Arg::Other(custom_object(object).into()),
            },
            Argument::Dict(pairs) => {
                let mut dict = Vec::with_capacity(pairs.0.len());
                for (key, value) in &pairs.0 {
                    let value = self.operand(scope, node, meta, value, &|| format!("{}[{:?}]", label(), &**key))?;
                    dict.push((Box::from(&**key), value));
                }
                Arg::Dict(dict.into())
            }
            Argument::Other(other) => {
                Arg::Other(format!("{{{}: {}}}", super::python::quoted(&other.0), other.1.get()).into())
            }
        })
    }

    fn sub_graph(
        &mut self,
        scope: &mut Scope<'p>,
        node: &schema::Node<'_>,
        graph: &'p schema::GraphArgument<'p>,
        meta: &Meta,
    ) -> Result<Arg, Problem> {
        let body = self.graph.add_body(scope.body, &graph.name);
        self.body(body, &graph.graph)?;
        // PyTorch keeps one sub-graph by a name: the last one.
        match scope.bodies.get(&*graph.name) {
            Some(first) if !self.graph.is_same_body(*first, body) => {
                return Err(Problem::BodiesOfOneName { node: node_label(node), name: graph.name.to_string() });
            }
            Some(_) => {}
            None => drop(scope.bodies.insert(&graph.name, body)),
        }
        let name = self.graph.free_name(scope.body, &graph.name);
        let ty = (ValueType::Body(body), None);
        let id = self.push(scope.body, NodeKind::GetAttr, &name, &graph.name, Box::default(), ty);
        self.finish(id, None, meta);
        Ok(Arg::Node(id))
    }
}

fn sym(value: &SymArgument<'_>, find: impl Fn(&str) -> Result<crate::graph::NodeId, Problem>) -> Result<Arg, Problem> {
    Ok(match value {
        SymArgument::Name(name) => Arg::Node(find(name)?),
        SymArgument::Int(v) => Arg::Int(*v),
        SymArgument::Float(v) => Arg::Float(v.0),
        SymArgument::Bool(v) => Arg::Bool(*v),
    })
}

/// Returns a name that a node gives to two of its operands.
fn given_twice<'n>(node: &'n schema::Node<'_>) -> Option<&'n str> {
    let mut seen = rustc_hash::FxHashSet::default();
    node.inputs.iter().map(|input| &*input.name).find(|name| !name.is_empty() && !seen.insert(*name))
}

fn custom_object(object: &schema::CustomObj<'_>) -> String {
    let (name, class) = (super::python::quoted(&object.name), super::python::quoted(&object.class_fqn));
    format!("{{\"as_custom_obj\": {{\"name\": {name}, \"class_fqn\": {class}}}}}")
}

fn label(place: usize, name: &str) -> String {
    if name.is_empty() { place.to_string() } else { name.to_string() }
}

/// Python keywords that occur as parameter names (`from`) cannot be given by keyword.
pub(super) fn is_python_keyword(name: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
        "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ];
    KEYWORDS.contains(&name)
}
