//! Types of calls: resolve, bind, ask the rule.

use crate::graph::{Arg, Graph, NodeId, NodeKind, StrId, ValueType, View};
use crate::ops::error::{CallFault, TypeError};
use crate::ops::registry::Registry;
use crate::ops::schema::bind::Bound;
use crate::ops::typing::call::Call;
use crate::sym::Symbols;

/// A call to be typed: what a node holds, or will hold.
#[derive(Clone, Copy)]
pub struct CallSite<'a> {
    /// The target: `aten.mm.default`.
    pub target: &'a str,
    /// Positional arguments.
    pub args: &'a [Arg],
    /// Keyword arguments.
    pub kwargs: &'a [(StrId, Arg)],
    /// The type that the node has now, if any. It names sizes that only running the call tells; it decides nothing else.
    pub annotated: Option<&'a ValueType>,
}

impl<'a> CallSite<'a> {
    /// Returns the call that a node is.
    pub fn of(view: &'a dyn View, node: NodeId) -> Self {
        let annotated = Some(view.ty(node)).filter(|t| **t != ValueType::Unknown);
        CallSite { target: view.target(node), args: view.args(node), kwargs: view.kwargs(node), annotated }
    }
}

impl Registry {
    /// Returns the type of a call. `view` gives the types of operands; `symbols` are the graph's, which the caller may have taken out of it.
    ///
    /// Errors: an opaque operator ([`CallFault::Opaque`]) and one without rule ([`CallFault::NoRule`]) too; see [`CallFault::is_ignorance`].
    pub fn infer_in(&self, view: &dyn View, symbols: &mut Symbols, site: CallSite<'_>) -> Result<ValueType, TypeError> {
        self.infer_fault(view, symbols, site).map_err(|fault| fault.of(site.target))
    }

    fn infer_fault(&self, view: &dyn View, symbols: &mut Symbols, site: CallSite<'_>) -> Result<ValueType, CallFault> {
        self.bind(view, symbols, site)?.infer()
    }

    /// Returns the call with its arguments bound to the parameters of its operator.
    pub fn bind<'a>(
        &'a self,
        view: &'a dyn View,
        symbols: &'a mut Symbols,
        site: CallSite<'a>,
    ) -> Result<Call<'a>, CallFault> {
        let operator = self.resolve(view, site.target, site.args, site.kwargs)?.ok_or(CallFault::Opaque)?;
        let bound = Bound::bind(&operator.schema, view, site.args, site.kwargs)?;
        Ok(Call {
            operator,
            registry: self,
            bound,
            view,
            symbols,
            annotated: site.annotated,
            consulted: Default::default(),
        })
    }

    /// Returns the type of a call that is to be inserted into `graph`.
    pub fn infer(
        &self,
        graph: &mut Graph,
        target: &str,
        args: &[Arg],
        kwargs: &[(StrId, Arg)],
    ) -> Result<ValueType, TypeError> {
        let mut symbols = std::mem::take(&mut graph.symbols);
        let result = self.infer_in(graph, &mut symbols, CallSite { target, args, kwargs, annotated: None });
        graph.symbols = symbols;
        result
    }

    /// Returns the type that the rules give a node of `graph`; its own annotation only names sizes. Nodes that are no calls keep their type.
    pub fn infer_node(&self, graph: &mut Graph, node: NodeId) -> Result<ValueType, TypeError> {
        if graph.kind(node) != NodeKind::Call {
            return Ok(graph.ty(node).clone());
        }
        let mut symbols = std::mem::take(&mut graph.symbols);
        let result = self.infer_in(graph, &mut symbols, CallSite::of(graph, node));
        graph.symbols = symbols;
        result
    }

    /// Checks that a call can be bound, whether or not a rule types it.
    pub fn check_call(&self, view: &dyn View, site: CallSite<'_>) -> Result<(), TypeError> {
        let bind = || {
            let operator = self.resolve(view, site.target, site.args, site.kwargs)?.ok_or(CallFault::Opaque)?;
            Bound::bind(&operator.schema, view, site.args, site.kwargs).map(|_| ())
        };
        bind().map_err(|fault: CallFault| fault.of(site.target))
    }
}
