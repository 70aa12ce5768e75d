//! Inserting calls: a place, and the call that is being put together there.

use std::cell::Cell;

use crate::bindings::airlock::pass::graph::{self as raw, NewNode, Point};
use crate::bindings::airlock::pass::types::{Arg, NamedArg};
use crate::{IntoArgs, Node, Result};

/// A place in a graph where calls are inserted, each after the one before.
///
/// ```no_run
/// # use airlock_pass::{Graph, Node, Result, dtype};
/// # fn f(graph: Graph, mm: Node, x: Node) -> Result<()> {
/// let at = graph.inserting_before(mm);
/// at.call_function("air.scope_enter.default", (["_user_stream_label"], ["stream_1"]))?;
/// let half = at.call("aten._to_copy.default").args((x,)).kwarg("dtype", dtype("float16")).name("half").insert()?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct InsertionPoint {
    point: Cell<Point>,
}

impl InsertionPoint {
    pub(crate) fn new(point: Point) -> InsertionPoint {
        InsertionPoint { point: Cell::new(point) }
    }

    /// Inserts a call without keyword arguments.
    pub fn call_function(&self, target: &str, args: impl IntoArgs) -> Result<Node> {
        self.call(target).args(args).insert()
    }

    /// Begins a call; [`Call::insert`] inserts it.
    pub fn call(&self, target: &str) -> Call<'_> {
        Call { at: self, new: new_node(self.point.get(), target) }
    }
}

/// A call that is being put together.
#[derive(Debug)]
#[must_use = "nothing is inserted without `insert`"]
pub struct Call<'p> {
    at: &'p InsertionPoint,
    new: NewNode,
}

impl Call<'_> {
    /// Sets the positional arguments.
    pub fn args(mut self, args: impl IntoArgs) -> Self {
        self.new.args = args.into_args();
        self
    }

    /// Adds a keyword argument.
    pub fn kwarg(mut self, name: &str, value: impl Into<Arg>) -> Self {
        self.new.kwargs.push(NamedArg::from((name, value)));
        self
    }

    /// Adds keyword arguments.
    pub fn kwargs(mut self, kwargs: impl IntoIterator<Item = NamedArg>) -> Self {
        self.new.kwargs.extend(kwargs);
        self
    }

    /// Wishes for a name; the host makes it unique.
    pub fn name(mut self, name: &str) -> Self {
        self.new.name = Some(name.to_owned());
        self
    }

    /// Inserts the call and moves the insertion point behind it.
    pub fn insert(mut self) -> Result<Node> {
        let point = self.at.point.get();
        self.new.at = point;
        let node = Node::from_id(raw::insert(&self.new)?);
        if !matches!(point, Point::Before(_) | Point::End(_)) {
            self.at.point.set(Point::After(node.id()));
        }
        Ok(node)
    }
}

pub(crate) fn new_node(at: Point, target: &str) -> NewNode {
    NewNode { at, target: target.to_owned(), args: Vec::new(), kwargs: Vec::new(), name: None }
}
