//! What a call means, element by element.
//!
//! Promises: the expression of a result is what the operator gives at that index, for all operands of these types; types of results are the
//! rules'; what is not understood is a call whose elements are looked up, equal where the same operator is given equal operands, or nothing at
//! all where it does more than compute. A decomposition that is exact stands for its operator. Leaves whether a call may raise to others.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::analysis::getitem_of;
use crate::graph::{Arg, BodyId, Device, Dtype, Graph, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::{Bound, CallSite, Exactness, Given, Operator, Registry};
use crate::rules::element::arena::{Elements, ExprId, Form, Op, Source, Tensor};
use crate::rules::element::index::IndexId;
use crate::rules::element::rebuild::Moves;
use crate::rules::pooling::Windows;
use crate::rules::table::{Real, meaning};
use crate::sym::Dim;
use crate::term::sizes::Dims;
use crate::term::term::Token;

/// A tensor with its type and its element at `Var(0), Var(1), ...`.
#[derive(Clone, Debug)]
pub struct Array {
    /// The dtype.
    pub dtype: Dtype,
    /// The sizes.
    pub sizes: Dims,
    /// Where it lives.
    pub device: Device,
    /// The element.
    pub expr: ExprId,
}

/// What a node stands for.
#[derive(Clone, Debug)]
pub enum Meant {
    /// A tensor.
    One(Array),
    /// A complex tensor: its real parts, and its imaginary ones.
    Complex(Box<[Array; 2]>),
    /// Several results.
    Many(Vec<Meant>),
    /// An integer that inputs settle.
    Size(Dim),
    /// A float that is computed of such.
    Number(crate::sym::ExprId),
    /// One of several results, of which nothing can be said.
    Unsaid,
}

/// Gives calls their meaning.
pub struct Speaker<'r> {
    /// Operators.
    pub registry: &'r Registry,
    /// Expressions.
    pub e: Elements,
    /// Whether calls mean what they mean over the reals: sums of floats in any order, operators by their definitions.
    pub over_reals: bool,
    /// The greatest over windows, by element: the sizes of the result, of what, and the windows.
    pub(super) pools: FxHashMap<ExprId, (Dims, Array, Windows)>,
}

impl<'r> Speaker<'r> {
    /// Returns one that has said nothing.
    pub fn new(registry: &'r Registry, e: Elements, over_reals: bool) -> Self {
        Self { registry, e, over_reals, pools: FxHashMap::default() }
    }
}

/// One call whose operands are known.
#[derive(Clone, Copy)]
pub(super) struct Said<'c, 'b> {
    pub(super) operator: &'c Operator,
    pub(super) bound: &'c Bound<'b>,
    pub(super) values: &'c FxHashMap<NodeId, Meant>,
    /// The first result's type; `item` counts results.
    pub(super) result: &'c TensorType,
    pub(super) item: Option<u32>,
    /// Types of all results, where there are several.
    pub(super) types: Option<&'c [ValueType]>,
}

/// Whether a call is of anything but integers and truths.
fn holds_floats(graph: &Graph, node: NodeId) -> bool {
    let whole = |n: NodeId| match graph.ty(n) {
        ValueType::Tensor(t) => !t.dtype.is_float() && !t.dtype.is_complex(),
        ty => matches!(ty, ValueType::SymInt(_)),
    };
    !graph.operands(node).all(whole)
}

/// Whether a call of an operator has no effect with these arguments: it neither writes nor draws.
fn leaves_nothing(operator: &Operator, bound: &Bound<'_>) -> bool {
    let given = |i: usize| *bound.get(i) != Arg::None;
    let writes = (0..bound.args.len()).any(|i| given(i) && crate::analysis::call::writes(operator, bound, i));
    let draws = crate::analysis::call::draws(operator, bound);
    operator.effects.side.is_none() && !operator.effects.opaque && !writes && !draws
}

/// How deep decompositions may nest.
const NESTING: usize = 12;

impl<'c, 'b> Said<'c, 'b> {
    pub(super) fn arg(&self, i: usize) -> &'b Arg {
        self.bound.get(i)
    }

    pub(super) fn named(&self, name: &str) -> Option<&'b Arg> {
        self.operator.schema.param_index(name).map(|i| self.bound.get(i))
    }

    pub(super) fn array_of(&self, arg: &Arg) -> Option<&'c Array> {
        match self.values.get(&arg.as_node()?)? {
            Meant::One(a) => Some(a),
            _ => None,
        }
    }

    pub(super) fn array(&self, i: usize) -> Option<&'c Array> {
        self.array_of(self.arg(i))
    }

    /// Returns the sizes of the pieces before this one along a dimension.
    pub(super) fn piece_sizes(&self, dim: usize) -> Option<Vec<Dim>> {
        let before = self.item? as usize;
        self.types?.iter().take(before).map(|t| t.as_tensor()?.sizes.get(dim).copied()).collect()
    }

    pub(super) fn dim(&self, arg: &Arg) -> Option<Dim> {
        match arg {
            Arg::Int(v) => Some(Dim::Fixed(*v)),
            Arg::Node(n) => match self.values.get(n)? {
                Meant::Size(d) => Some(*d),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the float over sizes that an argument is.
    pub(super) fn number(&self, arg: &Arg) -> Option<crate::sym::ExprId> {
        match self.values.get(&arg.as_node()?)? {
            Meant::Number(v) => Some(*v),
            _ => None,
        }
    }
}

impl<'r> Speaker<'r> {
    /// Returns index variables for these sizes.
    pub fn vars(&mut self, sizes: &[Dim]) -> SmallVec<[IndexId; 4]> {
        (0_u32..).zip(sizes).map(|(k, d)| self.e.var(k, *d)).collect()
    }

    /// Returns the element of an array at an index.
    pub fn at(&mut self, array: &Array, index: SmallVec<[IndexId; 4]>) -> Option<ExprId> {
        if index.len() != array.sizes.len() {
            return None;
        }
        if index == self.vars(&array.sizes) {
            return Some(array.expr);
        }
        self.e.moved(array.expr, &Moves { vars: index, bound: None })
    }

    /// Returns the element of an operand that is repeated to the sizes of the result.
    pub(super) fn broadcast(&mut self, array: &Array, to: &[Dim]) -> Option<ExprId> {
        let ahead = to.len().checked_sub(array.sizes.len())?;
        let vars = self.vars(to);
        let mut index = SmallVec::new();
        for (k, size) in array.sizes.iter().enumerate() {
            let (out, var) = (*to.get(ahead.checked_add(k)?)?, *vars.get(ahead.checked_add(k)?)?);
            index.push(match *size {
                Dim::Fixed(1) => self.e.at(Dim::Fixed(0)),
                size if self.e.same_size(size, out) => var,
                _ => return None,
            });
        }
        self.at(array, index)
    }

    /// Returns an array that is looked up in a source.
    pub fn looked_up(&mut self, ty: &TensorType, source: Source) -> Option<Array> {
        let source = self.e.source(source);
        let at = self.vars(&ty.sizes);
        let expr = self.e.load(ty.dtype, source, at)?;
        Some(Array { dtype: ty.dtype, sizes: ty.sizes.clone(), device: ty.device.clone(), expr })
    }

    /// Returns what the results of a graph are, given those of its inputs.
    fn graph(&mut self, graph: &Graph, values: &mut FxHashMap<NodeId, Meant>, nesting: usize) -> Option<()> {
        let nodes: Vec<NodeId> = graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call).collect();
        for node in nodes {
            let meant = self.node(graph, node, values, nesting);
            self.e.spend(1)?;
            values.insert(node, meant.unwrap_or(Meant::Unsaid));
        }
        Some(())
    }

    /// Returns what a call of a graph means; the graph's own types are those that rules gave.
    pub fn node(
        &mut self,
        graph: &Graph,
        node: NodeId,
        values: &FxHashMap<NodeId, Meant>,
        nesting: usize,
    ) -> Option<Meant> {
        self.e.spend(4)?;
        if let Some((of, item)) = getitem_of(graph, node) {
            // Of one that nobody can say something, nothing may ask.
            return match values.get(&of)? {
                Meant::Many(all) => all.get(item as usize).cloned(),
                _ => None,
            };
        }
        let registry = self.registry;
        let operator = registry.operator_of(graph, node)?;
        let bound = Bound::bind(&operator.schema, graph, graph.args(node), graph.kwargs(node)).ok()?;
        let ty = graph.ty(node).clone();
        if let ValueType::Tensor(t) = &ty
            && operator.facts.unset
            && t.sizes.contains(&Dim::Fixed(0))
        {
            // No element is left to chance.
            let expr = self.e.integer(Dtype::Bool, 0)?;
            let expr = self.e.op(Op::Cast, t.dtype, &[expr])?;
            let (sizes, device) = (t.sizes.clone(), t.device.clone());
            return Some(Meant::One(Array { dtype: t.dtype, sizes, device, expr }));
        }
        if !bound.extra.is_empty() || !leaves_nothing(operator, &bound) || operator.facts.unset {
            return None;
        }
        if let ValueType::SymInt(d) = ty {
            return self.e.are_settled(&[d]).then_some(Meant::Size(d));
        }
        if let ValueType::SymFloat(v) = ty {
            return Some(Meant::Number(v));
        }
        let types = match &ty {
            ValueType::Many(all) => Some(&**all),
            _ => None,
        };
        let first = match &ty {
            ValueType::Tensor(t) => &**t,
            ValueType::Many(all) => all.first()?.as_tensor()?,
            _ => return None,
        };
        let call = Said { operator, bound: &bound, values, result: first, item: None, types };
        if let Some(found) = self.of_complex(&call, &ty) {
            return Some(found);
        }
        if let Some(found) = self.each(&call, &ty, |s, c| s.understood(c)) {
            return Some(found);
        }
        // Where one result is understood, the others are looked up, if that can be.
        if types.is_some() && self.each_any(&call, &ty) {
            return self.each_or_unsaid(&call, &ty);
        }
        // A function of one real number stands for itself.
        let function = crate::rules::table::real(&operator.target);
        let is_known = self.over_reals && !matches!(function, None | Some(Real::Rsqrt));
        if let Some(found) =
            nesting.checked_sub(1).filter(|_| !is_known).and_then(|n| self.decomposed(graph, node, operator, values, n))
        {
            self.e.applied.insert("decomposition");
            if operator.means_its_definition() {
                self.e.defined.insert(operator.target.clone());
            }
            return Some(found);
        }
        if let ValueType::Tensor(t) = &ty
            && t.dtype.is_complex()
            && let Some(found) = self.complex_elsewhere(&call)
        {
            return Some(found);
        }
        self.each(&call, &ty, |s, c| s.elsewhere(c))
    }

    /// Returns what each result of a call is.
    fn each(
        &mut self,
        call: &Said<'_, '_>,
        ty: &ValueType,
        what: impl Fn(&mut Self, &Said<'_, '_>) -> Option<Array>,
    ) -> Option<Meant> {
        let ValueType::Many(all) = ty else { return what(self, call).map(Meant::One) };
        let mut out = Vec::new();
        for (k, t) in (0_u32..).zip(all.iter()) {
            let ValueType::Tensor(t) = t else { return None };
            out.push(Meant::One(what(self, &Said { result: t, item: Some(k), ..*call })?));
        }
        Some(Meant::Many(out))
    }

    /// Returns what each of several results is, where that can be said.
    fn each_or_unsaid(&mut self, call: &Said<'_, '_>, ty: &ValueType) -> Option<Meant> {
        let ValueType::Many(all) = ty else { return None };
        let mut out = Vec::new();
        for (k, t) in (0_u32..).zip(all.iter()) {
            let ValueType::Tensor(t) = t else { return None };
            let call = Said { result: t, item: Some(k), ..*call };
            let one = self.understood(&call).or_else(|| self.elsewhere(&call));
            out.push(one.map_or(Meant::Unsaid, Meant::One));
        }
        Some(Meant::Many(out))
    }

    /// Whether any of several results is understood.
    fn each_any(&mut self, call: &Said<'_, '_>, ty: &ValueType) -> bool {
        let ValueType::Many(all) = ty else { return false };
        (0_u32..).zip(all.iter()).any(|(k, t)| match t {
            ValueType::Tensor(t) => self.understood(&Said { result: t, item: Some(k), ..*call }).is_some(),
            _ => false,
        })
    }

    fn decomposed(
        &mut self,
        graph: &Graph,
        node: NodeId,
        operator: &Operator,
        values: &FxHashMap<NodeId, Meant>,
        nesting: usize,
    ) -> Option<Meant> {
        let means_it = match self.registry.exactness(operator) {
            Some(Exactness::Exact) => true,
            Some(Exactness::ButZeros) => self.over_reals || !holds_floats(graph, node),
            Some(Exactness::Real) | None => self.over_reals,
        };
        if !means_it {
            return None;
        }
        let mut symbols = std::mem::take(&mut self.e.symbols);
        let site = CallSite { annotated: None, ..CallSite::of(graph, node) };
        let expansion = self.registry.decompose(graph as &dyn View, &mut symbols, site);
        self.e.symbols = symbols;
        let expansion = expansion.ok()??;
        let inner: Vec<NodeId> =
            expansion.graph.nodes(BodyId::ROOT).filter(|n| expansion.graph.kind(*n) == NodeKind::Placeholder).collect();
        let mut own = FxHashMap::default();
        for (place, host) in inner.into_iter().zip(&expansion.inputs) {
            own.insert(place, values.get(host)?.clone());
        }
        self.graph(&expansion.graph, &mut own, nesting)?;
        let results: Vec<Meant> = expansion.results().iter().map(|a| self.result(a, &own)).collect::<Option<_>>()?;
        // Of one of several results something may be said where of the others nothing is.
        if results.iter().all(|one| matches!(one, Meant::Unsaid)) {
            return None;
        }
        match (graph.ty(node), <[Meant; 1]>::try_from(results)) {
            (ValueType::Tensor(t), Ok([Meant::One(a)])) => {
                let same = a.dtype == t.dtype && self.same_sizes(&a.sizes, &t.sizes);
                same.then_some(Meant::One(a))
            }
            (ValueType::Tensor(t), Ok([Meant::Complex(parts)])) => {
                let same = t.dtype.is_complex() && parts.iter().all(|p| self.same_sizes(&p.sizes, &t.sizes));
                same.then_some(Meant::Complex(parts))
            }
            (ValueType::Many(_), Ok([Meant::Many(all)])) => Some(Meant::Many(all)),
            (ValueType::Many(_), Ok([one])) => Some(Meant::Many(vec![one])),
            (ValueType::Many(types), Err(all)) if types.len() == all.len() => Some(Meant::Many(all)),
            _ => None,
        }
    }

    fn result(&self, arg: &Arg, values: &FxHashMap<NodeId, Meant>) -> Option<Meant> {
        match arg {
            // Of what was not asked for there is no element.
            Arg::None => Some(Meant::Many(Vec::new())),
            Arg::Node(n) => values.get(n).cloned(),
            Arg::List(items) | Arg::Tuple(items) => {
                let each = items.iter().map(|a| values.get(&a.as_node()?).cloned());
                each.collect::<Option<_>>().map(Meant::Many)
            }
            _ => None,
        }
    }

    pub(super) fn same_sizes(&self, a: &[Dim], b: &[Dim]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.e.same_size(*a, *b))
    }

    /// Returns the result of a call that the table, or a mark, says.
    pub(super) fn understood(&mut self, c: &Said<'_, '_>) -> Option<Array> {
        let to = c.result;
        if !self.e.are_settled(&to.sizes) || to.dtype.is_complex() {
            return None;
        }
        let made = |expr| Array { dtype: to.dtype, sizes: to.sizes.clone(), device: to.device.clone(), expr };
        if let Some(expr) = self.same_operand(c) {
            return Some(made(expr));
        }
        if let Some(kind) = c.operator.facts.step
            && let Some(expr) = self.viewed(c, kind)
        {
            return Some(made(expr));
        }
        if let Some(kind) = c.operator.facts.scatters {
            return self.scattered(c, kind);
        }
        let meaning = meaning(&c.operator.target)?;
        let expr = self.said(c, meaning)?;
        (self.e.dtype(expr) == Some(to.dtype)).then(|| made(expr))
    }

    fn same_operand(&mut self, c: &Said<'_, '_>) -> Option<ExprId> {
        let same = c.operator.facts.same_as.as_ref()?;
        let arg = c.named(&same.param)?;
        let array = match arg {
            Arg::Node(_) => c.array_of(arg)?,
            list => match list.items()? {
                [one] => c.array_of(one)?,
                _ => return None,
            },
        };
        let holds = match &same.given {
            Given::Always => true,
            Given::Integer => array.dtype.is_integer(),
            Given::LaidOut => false,
            Given::Argument(all) => all.iter().any(|is| c.named(&is.param).is_some_and(|a| is.holds(a))),
        };
        (holds && array.dtype == c.result.dtype && self.same_sizes(&array.sizes, &c.result.sizes)).then_some(array.expr)
    }

    /// Returns the result of a call of which nothing is known: a function of elements where it is pointwise, else of whole tensors.
    fn elsewhere(&mut self, c: &Said<'_, '_>) -> Option<Array> {
        let (tokens, kids) = self.given(c)?;
        let alike = kids.windows(2).all(|pair| matches!(pair, [a, b] if a.dtype == b.dtype));
        let plain_alpha = c.named("alpha").is_none_or(|a| matches!(a, Arg::Int(1)));
        if c.operator.pointwise && c.item.is_none() && alike && !kids.is_empty() && plain_alpha {
            if let Some(found) = self.function_of_narrow(c, &tokens, &kids)? {
                return Some(found);
            }
            let mut each: Vec<ExprId> =
                kids.iter().map(|k| self.broadcast(k, &c.result.sizes)).collect::<Option<_>>()?;
            if c.operator.commutes && tokens.iter().all(|t| *t == Token::Child) && !each.is_sorted() {
                self.e.applied.insert("operands-exchanged");
                each.sort_unstable();
            }
            let form = Form::Named(c.operator.target.clone(), tokens.into());
            let expr = self.e.named(c.result.dtype, form, &each)?;
            let (dtype, sizes, device) = (c.result.dtype, c.result.sizes.clone(), c.result.device.clone());
            return Some(Array { dtype, sizes, device, expr });
        }
        let source = self.source_of_call(c, tokens, kids);
        self.looked_up(c.result, source)
    }

    /// The same of one that gives complex numbers.
    fn complex_elsewhere(&mut self, c: &Said<'_, '_>) -> Option<Meant> {
        let (tokens, kids) = self.given(c)?;
        let source = self.source_of_call(c, tokens, kids);
        self.complex_looked_up(c.result, source)
    }

    pub(super) fn source_of_call(&mut self, c: &Said<'_, '_>, tokens: Vec<Token>, kids: Vec<Array>) -> Source {
        let kids = kids.into_iter().map(|a| self.e.tensor(Tensor { dtype: a.dtype, sizes: a.sizes, expr: a.expr }));
        let kids = kids.collect();
        Source::Call { target: c.operator.target.clone(), tokens: tokens.into(), kids, item: c.item.unwrap_or(0) }
    }

    /// Returns what a call is given of which nothing is known, where that tells all of its result.
    pub(super) fn given(&mut self, c: &Said<'_, '_>) -> Option<(Vec<Token>, Vec<Array>)> {
        if !self.e.are_settled(&c.result.sizes) || c.operator.facts.sees_layout(|name| c.named(name)) {
            return None;
        }
        let (mut tokens, mut kids) = (Vec::new(), Vec::new());
        for (param, arg) in c.operator.schema.params.iter().zip(&c.bound.args) {
            // A dimension counted from the end is one counted from the front.
            let ranks = c.array(0).map(|a| a.sizes.len()).filter(|r| *r == c.result.sizes.len() && *r > 0);
            match (arg, ranks) {
                (Arg::Int(d), Some(rank)) if &*param.name == "dim" && *d < 0 => {
                    tokens.push(Token::Int(i64::try_from(rank).ok()?.checked_add(*d)?));
                }
                _ => self.tokens(c, arg, &mut tokens, &mut kids)?,
            }
            let places = || c.operator.facts.reaches.as_ref().and_then(|name| c.array_of(c.named(name)?));
            if c.operator.facts.corner.as_ref() == Some(&param.name)
                && let (Some(from), Some(index)) = (c.array_of(arg), places())
            {
                let corner = self.corner(from, index)?;
                kids.last_mut().map(|kid| *kid = corner)?;
            }
        }
        // What the call does to a rounding, nobody knows.
        if self.over_reals && !kids.iter().all(|k| crate::rules::rounding::is_exact(&self.e, k.expr)) {
            let function = crate::rules::table::real(&c.operator.target);
            function.filter(|_| kids.len() == 1)?;
        }
        Some((tokens, kids))
    }

    /// Returns the corner of an array that has the sizes of the indices that say where its elements go.
    fn corner(&mut self, from: &Array, index: &Array) -> Option<Array> {
        let fits = from.sizes.len() == index.sizes.len()
            && from.sizes.iter().zip(&index.sizes).all(|(all, part)| self.e.at_most(*part, *all));
        if !fits {
            return Some(from.clone());
        }
        let vars = self.vars(&index.sizes);
        let expr = self.at(from, vars)?;
        Some(Array { sizes: index.sizes.clone(), expr, ..from.clone() })
    }

    /// Over the reals a function of one narrow float is that of the number, rounded.
    fn function_of_narrow(&mut self, c: &Said<'_, '_>, tokens: &[Token], kids: &[Array]) -> Option<Option<Array>> {
        let (to, [one]) = (c.result.dtype, kids) else { return Some(None) };
        let narrow = matches!(to, Dtype::F16 | Dtype::Bf16) && one.dtype == to;
        let moves = matches!(crate::rules::table::real(&c.operator.target), None | Some(Real::Relu | Real::Square));
        if !self.over_reals || !narrow || moves {
            return Some(None);
        }
        let x = self.broadcast(one, &c.result.sizes)?;
        let x = self.e.op(Op::Cast, Dtype::F32, &[x])?;
        let wide = self.e.named(Dtype::F32, Form::Named(c.operator.target.clone(), tokens.into()), &[x])?;
        let expr = self.e.op(Op::Cast, to, &[wide])?;
        Some(Some(Array { dtype: to, sizes: c.result.sizes.clone(), device: c.result.device.clone(), expr }))
    }

    /// Arguments as tokens; tensors beside them.
    fn tokens(&mut self, c: &Said<'_, '_>, arg: &Arg, out: &mut Vec<Token>, kids: &mut Vec<Array>) -> Option<()> {
        let mut open = vec![arg];
        while let Some(arg) = open.pop() {
            match arg {
                Arg::Node(n) => {
                    let mut within = vec![c.values.get(n)?];
                    while let Some(meant) = within.pop() {
                        match meant {
                            Meant::One(a) => {
                                out.push(Token::Child);
                                kids.push(a.clone());
                            }
                            Meant::Complex(parts) => {
                                out.extend([Token::Other("both parts".into()), Token::Child, Token::Child]);
                                kids.extend(parts.iter().cloned());
                            }
                            Meant::Number(_) | Meant::Unsaid => return None,
                            Meant::Size(Dim::Fixed(v)) => out.push(Token::Int(*v)),
                            Meant::Size(d) => out.push(Token::Dim(*d)),
                            Meant::Many(all) => {
                                out.push(Token::List(all.len()));
                                within.extend(all.iter().rev());
                            }
                        }
                    }
                }
                Arg::List(items) | Arg::Tuple(items) => {
                    out.push(Token::List(items.len()));
                    open.extend(items.iter().rev());
                }
                Arg::Dict(_) => return None,
                scalar => out.push(Token::scalar(scalar)?),
            }
        }
        Some(())
    }

    /// Returns what a call means, nested decompositions and all.
    pub fn call(&mut self, graph: &Graph, node: NodeId, values: &FxHashMap<NodeId, Meant>) -> Option<Meant> {
        self.node(graph, node, values, NESTING)
    }
}
