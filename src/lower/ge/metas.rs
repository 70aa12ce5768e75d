//! The FX types of a node's results: dtype, sizes, strides, and whose memory they are.
//!
//! Types come from the node, else from its rule, else from the getitems that take it apart. Strides are followed through
//! views only as far as the lowering needs them: to tell a view of an input from a copy, and an input that is not contiguous.

use std::rc::Rc;

use super::value::{Meta, Results, SymbolKind, TensorMeta};
use crate::graph::{Arg, Device, Dtype, Graph, NodeId, TensorType, ValueType, View};
use crate::ops::{CallSite, Registry, Sharing, Viewed, contiguous_strides, is_contiguous, view_strides};
use crate::sym::{Bindings, Dim, Symbols};

/// Returns contiguous strides.
pub(super) fn contiguous(symbols: &mut Symbols, sizes: &[Dim]) -> Rc<[Dim]> {
    match contiguous_strides(symbols, sizes) {
        Ok(strides) => strides.iter().copied().collect(),
        // Products beyond 64 bits: such a tensor cannot exist.
        Err(_) => sizes.iter().map(|_| Dim::Fixed(1)).collect(),
    }
}

/// Returns the type of an FX input.
pub(super) fn input_meta(symbols: &mut Symbols, ty: &ValueType, index: usize) -> Option<Meta> {
    match ty {
        ValueType::Tensor(t) => {
            let mut meta = tensor_meta(symbols, t);
            meta.input = Some(index);
            Some(Meta::Tensor(meta))
        }
        other => scalar(other),
    }
}

fn scalar(ty: &ValueType) -> Option<Meta> {
    match ty {
        ValueType::SymInt(d) => Some(Meta::Symbol(*d, SymbolKind::Int)),
        ValueType::SymFloat(e) => Some(Meta::Symbol(Dim::Expr(*e), SymbolKind::Float)),
        ValueType::SymBool(e) => Some(Meta::Symbol(Dim::Expr(*e), SymbolKind::Bool)),
        _ => None,
    }
}

fn tensor_meta(symbols: &mut Symbols, t: &TensorType) -> TensorMeta {
    let strides = match &t.strides {
        Some(s) => s.iter().copied().collect(),
        None => contiguous(symbols, &t.sizes),
    };
    TensorMeta { dtype: t.dtype, sizes: t.sizes.iter().copied().collect(), strides, input: None }
}

fn as_type(meta: &TensorMeta) -> TensorType {
    let mut t = TensorType::new(meta.dtype, meta.sizes.iter().copied(), Device::cpu());
    t.strides = Some(meta.strides.iter().copied().collect());
    t
}

/// Returns whether the tensor is contiguous; what symbols leave open is as it is at sizes above 1.
pub(super) fn is_dense(symbols: &mut Symbols, meta: &TensorMeta) -> bool {
    let known = is_contiguous(symbols, &as_type(meta));
    known.unwrap_or_else(|| {
        let hints = Hints::new(symbols);
        let mut expected = 1_i64;
        meta.sizes.iter().zip(meta.strides.iter()).rev().all(|(size, stride)| {
            let (size, step) = (hints.of(*size), expected);
            expected = expected.saturating_mul(size);
            size == 1 || hints.of(*stride) == step
        })
    })
}

/// Returns the strides of a view in other sizes; `None` where only a copy has these sizes.
pub(super) fn reshaped(symbols: &mut Symbols, meta: &TensorMeta, sizes: &[Dim]) -> Option<Rc<[Dim]>> {
    match view_strides(symbols, &as_type(meta), sizes) {
        Ok(Viewed::As(strides)) => Some(strides.iter().copied().collect()),
        // Nothing else is taken for dense: a transposed tensor is so only where a symbol is 1.
        Ok(Viewed::Unknown) if meta.strides == contiguous(symbols, &meta.sizes) => Some(contiguous(symbols, sizes)),
        Ok(Viewed::Unknown) => seen_in_chunks(symbols, meta, sizes),
        _ => None,
    }
}

/// Returns the strides of a view whose sizes are those of the tensor, taken together or apart within what lies evenly spaced, whatever
/// symbols stand for: sizes and distances are compared as expressions, and symbols are above 1 where one size is to be the smaller one.
fn seen_in_chunks(symbols: &mut Symbols, meta: &TensorMeta, sizes: &[Dim]) -> Option<Rc<[Dim]>> {
    let mut strides = vec![Dim::Fixed(1); sizes.len()];
    let mut open = strides.iter_mut().zip(sizes).rev().peekable();
    let (mut stored, mut shown) = (Dim::Fixed(1), Dim::Fixed(1));
    let mut step = *meta.strides.last()?;
    for place in (0..meta.sizes.len()).rev() {
        stored = symbols.mul(stored, *meta.sizes.get(place)?).ok()?;
        let outer = place.checked_sub(1).and_then(|p| Some((*meta.sizes.get(p)?, *meta.strides.get(p)?)));
        if let Some((size, stride)) = outer
            && (size == Dim::Fixed(1) || stride == symbols.mul(stored, step).ok()?)
        {
            continue;
        }
        while let Some((stride, size)) = open.peek_mut() {
            if **size != Dim::Fixed(1) && !is_less(symbols, shown, stored) {
                break;
            }
            **stride = symbols.mul(shown, step).ok()?;
            shown = symbols.mul(shown, **size).ok()?;
            open.next();
        }
        if shown != stored {
            return None;
        }
        if let Some((_, stride)) = outer {
            (step, stored, shown) = (stride, Dim::Fixed(1), Dim::Fixed(1));
        }
    }
    open.next().is_none().then(|| strides.into())
}

fn is_less(symbols: &Symbols, a: Dim, b: Dim) -> bool {
    let hints = Hints::new(symbols);
    hints.of(a) < hints.of(b)
}

/// Returns the FX types of what a call gives, or why nobody knows them.
pub(super) fn results(
    graph: &Graph,
    registry: &Registry,
    symbols: &mut Symbols,
    node: NodeId,
    operand: impl Fn(NodeId) -> Option<TensorMeta>,
) -> Result<Results, String> {
    let ty = match graph.ty(node) {
        ValueType::Unknown => inferred(graph, registry, symbols, node)?,
        known => known.clone(),
    };
    let ty = with_parts(ty, graph, node);
    let ty = on_the_device(ty, graph, node);
    let base = |place: usize| {
        aliased(graph, registry, node, place).and_then(|(arg, sharing)| Some((operand(arg.as_node()?)?, sharing)))
    };
    Ok(match &ty {
        ValueType::Many(list) => Results::Many(
            list.iter()
                .enumerate()
                .map(|(i, ty)| match ty {
                    ValueType::Tensor(t) => Some(Meta::Tensor(result(graph, symbols, node, t, base(i).as_ref()))),
                    other => scalar(other),
                })
                .collect(),
        ),
        ValueType::Tensor(t) => Results::One(Meta::Tensor(result(graph, symbols, node, t, base(0).as_ref()))),
        other => scalar(other).map_or(Results::None, Results::One),
    })
}

fn inferred(graph: &Graph, registry: &Registry, symbols: &mut Symbols, node: NodeId) -> Result<ValueType, String> {
    let reason = match registry.infer_in(graph, symbols, CallSite::of(graph, node)) {
        Ok(ty) => return Ok(ty),
        Err(e) => e.to_string(),
    };
    let mut parts = parts(graph, node);
    if parts.is_empty() {
        return Err(reason);
    }
    // Nobody says what results are that nobody takes; they are there.
    let count = registry.operator_of(graph, node).map_or(0, |o| o.schema.returns.len());
    if count > parts.len() {
        parts.resize(count, ValueType::Unknown);
    }
    Ok(ValueType::Many(parts.into()))
}

/// Returns the types of the getitems that take a result apart, by place.
fn parts(graph: &Graph, node: NodeId) -> Vec<ValueType> {
    let mut parts: Vec<ValueType> = Vec::new();
    for user in graph.users_in_order(node) {
        let place = match (graph.target(user), graph.args(user)) {
            ("_operator.getitem" | "operator.getitem", [_, Arg::Int(i)]) => usize::try_from(*i).ok(),
            _ => None,
        };
        // A tuple of a thousand results is no operator's.
        let Some(place) = place.filter(|p| *p < 1000) else { continue };
        if parts.len() <= place {
            parts.resize(place.saturating_add(1), ValueType::Unknown);
        }
        if let Some(part) = parts.get_mut(place) {
            *part = graph.ty(user).clone();
        }
    }
    parts
}

/// Fills in, where a rule leaves results open that depend on the device, what the getitems say.
fn with_parts(ty: ValueType, graph: &Graph, node: NodeId) -> ValueType {
    match ty {
        ValueType::Many(all) if all.contains(&ValueType::Unknown) => {
            let said = parts(graph, node);
            let filled = all.iter().enumerate().map(|(i, part)| match (part, said.get(i)) {
                (ValueType::Unknown, Some(said)) => said.clone(),
                _ => part.clone(),
            });
            ValueType::Many(filled.collect())
        }
        ty => ty,
    }
}

/// Fills in what a rule leaves open and nobody takes: the device's statistics are of the input's type, its mask is of truth values.
fn on_the_device(ty: ValueType, graph: &Graph, node: NodeId) -> ValueType {
    let ValueType::Many(all) = &ty else { return ty };
    let Some(ValueType::Tensor(first)) = all.first() else { return ty };
    let dtype = match graph.target(node) {
        "aten.native_group_norm.default" => first.dtype,
        "aten.native_dropout.default" => Dtype::Bool,
        _ => return ty,
    };
    let open = ValueType::tensor(TensorType::new(dtype, first.sizes.iter().copied(), first.device.clone()));
    ValueType::Many(all.iter().map(|t| if *t == ValueType::Unknown { open.clone() } else { t.clone() }).collect())
}

/// Returns the argument in whose memory the result at a place lies; a list is one result of the schema.
fn aliased<'g>(graph: &'g Graph, registry: &Registry, node: NodeId, place: usize) -> Option<(&'g Arg, Sharing)> {
    let args = graph.args(node);
    match registry.operator_of(graph, node) {
        Some(operator) => {
            let returns = &operator.effects.returns;
            let one = if returns.len() > 1 { returns.get(place)? } else { returns.first()? }.first()?;
            let name = &operator.schema.params.get(one.param)?.name;
            let arg = args.get(one.param).or_else(|| graph.kwarg(node, name))?;
            Some((arg, one.sharing))
        }
        // Nobody described it; by PyTorch's names a trailing underscore means that it is the first argument, `out` that it is that one.
        None => {
            let mut parts = graph.target(node).split('.').skip(1);
            let (base, overload) = (parts.next()?, parts.next()?);
            let given = match overload {
                _ if base.ends_with('_') => args.first(),
                "output" => graph.kwarg(node, if place == 0 { "output" } else { "buffer" }),
                "out" | "grad_input" => graph.kwarg(node, overload),
                _ => None,
            };
            given.map(|a| (a, Sharing::Same))
        }
    }
}

fn result(
    graph: &Graph,
    symbols: &mut Symbols,
    node: NodeId,
    ty: &TensorType,
    base: Option<&(TensorMeta, Sharing)>,
) -> TensorMeta {
    let mut meta = tensor_meta(symbols, ty);
    let Some((base, sharing)) = base else { return meta };
    let stated = ty.strides.is_some();
    let target = graph.target(node);
    let overload = target.strip_prefix("aten.").unwrap_or(target);
    let name = overload.split('.').next().unwrap_or(overload);
    match (sharing, name) {
        (Sharing::Same, _) => return TensorMeta { dtype: meta.dtype, ..base.clone() },
        (Sharing::Maybe, "reshape" | "_unsafe_view") => match reshaped(symbols, base, &meta.sizes) {
            Some(strides) => {
                meta.input = base.input;
                meta.strides = strides;
            }
            None => return meta,
        },
        (Sharing::Maybe, "contiguous") => {
            if is_dense(symbols, base) {
                meta.input = base.input;
            }
        }
        (Sharing::Maybe, _) => {}
        (Sharing::View, _) => {
            meta.input = base.input;
            if !stated {
                let strides = seen(graph, symbols, node, name, base, &meta);
                meta.strides = strides.unwrap_or_else(|| meta.strides.clone());
            }
        }
    }
    meta
}

/// Returns the strides of a view; `None` for kinds of views of which nothing later asks.
fn seen(
    graph: &Graph,
    symbols: &mut Symbols,
    node: NodeId,
    name: &str,
    base: &TensorMeta,
    meta: &TensorMeta,
) -> Option<Rc<[Dim]>> {
    let old = &base.strides;
    let rank = base.sizes.len();
    let ints = |i: usize| graph.args(node).get(i);
    let at = |i: usize| ints(i).and_then(|a| if let Arg::Int(i) = a { axis(*i, rank) } else { None });
    match name {
        "view" => reshaped(symbols, base, &meta.sizes),
        "t" => Some(old.iter().rev().copied().collect()),
        "transpose" => permuted(old, &swapped(rank, at(1)?, at(2)?)),
        "permute" => permuted(old, &permutation(ints(1)?, rank)?),
        "alias" | "detach" => Some(old.clone()),
        "expand" => {
            let new = meta.sizes.len().checked_sub(rank)?;
            let mut strides = vec![Dim::Fixed(0); new];
            for ((size, stride), wide) in base.sizes.iter().zip(old.iter()).zip(meta.sizes.iter().skip(new)) {
                strides.push(if *size == *wide { *stride } else { Dim::Fixed(0) });
            }
            Some(strides.into())
        }
        "unsqueeze" => {
            let place =
                ints(1).and_then(|a| if let Arg::Int(i) = a { axis(*i, rank.checked_add(1)?) } else { None })?;
            let mut strides = old.to_vec();
            let stride = match (base.sizes.get(place), old.get(place)) {
                (Some(size), Some(stride)) => symbols.mul(*size, *stride).ok()?,
                _ => Dim::Fixed(1),
            };
            strides.insert(place, stride);
            Some(strides.into())
        }
        "slice" if graph.args(node).get(4).is_none_or(|a| *a == Arg::Int(1)) => Some(old.clone()),
        "select" => {
            let place = at(1)?;
            Some(old.iter().enumerate().filter(|(i, _)| *i != place).map(|(_, s)| *s).collect())
        }
        _ => None,
    }
}

/// Returns the axis that an index means, which may count from the end.
pub(super) fn axis(index: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let index = if index < 0 { index.checked_add(rank)? } else { index };
    if (0..rank.max(1)).contains(&index) { usize::try_from(index).ok() } else { None }
}

/// Returns the axes of a permutation argument.
pub(super) fn permutation(arg: &Arg, rank: usize) -> Option<Vec<usize>> {
    arg.items()?.iter().map(|a| if let Arg::Int(i) = a { axis(*i, rank) } else { None }).collect()
}

/// Returns the axes in order with two of them swapped.
pub(super) fn swapped(rank: usize, a: usize, b: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..rank).collect();
    if a < rank && b < rank {
        axes.swap(a, b);
    }
    axes
}

/// Returns the entries in the order of the axes.
pub(super) fn permuted(dims: &[Dim], axes: &[usize]) -> Option<Rc<[Dim]>> {
    axes.iter().map(|a| dims.get(*a).copied()).collect()
}

/// Stand-ins for symbols, to compare strides: any sizes above 1 order them alike.
pub(super) struct Hints<'s> {
    symbols: &'s Symbols,
    bindings: Bindings,
}

impl<'s> Hints<'s> {
    pub(super) fn new(symbols: &'s Symbols) -> Self {
        let mut bindings = Bindings::new();
        let names: Vec<(String, i64)> = symbols
            .symbols()
            .enumerate()
            .map(|(i, (name, range))| {
                let prime = [37, 41, 43, 47, 53, 59, 61, 67].get(i % 8).copied().unwrap_or(37);
                let size = if range.contains(prime) { prime } else { least(&range) };
                (name.to_string(), size)
            })
            .collect();
        for (name, size) in names {
            if let Some(d) = symbols.find_symbol(&name) {
                symbols.bind_dim(&mut bindings, d, size);
            }
        }
        Self { symbols, bindings }
    }

    pub(super) fn of(&self, dim: Dim) -> i64 {
        dim.fixed().or_else(|| self.symbols.eval(dim, &self.bindings).ok()).unwrap_or(1)
    }
}

fn least(range: &crate::sym::Range) -> i64 {
    (2..=64).find(|n| range.contains(*n)).unwrap_or(2)
}
