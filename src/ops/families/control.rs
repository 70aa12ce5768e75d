//! Higher-order operators: results are those of bodies or of the operator that is called.

use crate::graph::{Arg, BodyId, TensorType, ValueType, View};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::registry::operator::Operator;
use crate::ops::schema::bind::Bound;
use crate::ops::typing::call::Call;
use crate::ops::typing::check::contradicts;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::sym::{Dim, Symbols};

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (cond, &["higher_order.cond"]),
    (while_loop, &["higher_order.while_loop"]),
    (with_effects, &["higher_order.with_effects"]),
    (functionalized, &["higher_order.auto_functionalized", "higher_order.auto_functionalized_v2"]),
    (
        wrapped,
        &[
            "higher_order.wrap_with_set_grad_enabled",
            "higher_order.wrap_with_autocast",
            "higher_order.invoke_subgraph",
            "higher_order.tag_activation_checkpoint",
            "higher_order.strict_mode",
            "higher_order.hints_wrapper",
        ],
    ),
    (scan, &["higher_order.scan"]),
    (associative_scan, &["higher_order.associative_scan"]),
    (map, &["higher_order.map_impl"]),
];

/// Returns the body that argument `i` names.
fn body(c: &Call<'_>, i: usize) -> Result<BodyId, CallFault> {
    match c.arg(i) {
        Arg::Node(n) => match c.view.ty(*n) {
            ValueType::Body(b) => Ok(*b),
            _ => Err(c.wrong_kind(i, "a sub-graph", c.arg(i))),
        },
        other => Err(c.wrong_kind(i, "a sub-graph", other)),
    }
}

/// Returns the types of what a body returns.
fn results(view: &dyn View, body: BodyId) -> Option<Vec<ValueType>> {
    let output = view.last(body)?;
    let returned = view.args(output).first()?;
    let one = |a: &Arg| match a {
        Arg::Node(n) => view.ty(*n).clone(),
        Arg::None => ValueType::None,
        _ => ValueType::Unknown,
    };
    Some(match returned.items() {
        Some(items) => items.iter().map(one).collect(),
        None => vec![one(returned)],
    })
}

/// What two ways may give: sizes that differ are those of the annotation, strides that differ are not known.
fn either(s: &Symbols, a: &ValueType, b: &ValueType, annotated: Option<&ValueType>) -> ValueType {
    let (ValueType::Tensor(x), ValueType::Tensor(y)) = (a, b) else {
        return if a == b { a.clone() } else { ValueType::Unknown };
    };
    if x == y {
        return a.clone();
    }
    if x.dtype != y.dtype || x.rank() != y.rank() {
        return ValueType::Unknown;
    }
    if sizes::all_same(s, &x.sizes, &y.sizes) {
        let strides = if x.strides == y.strides { x.strides.clone() } else { None };
        return ValueType::tensor(TensorType { strides, ..(**x).clone() });
    }
    match annotated {
        Some(known)
            if !contradicts(
                s,
                known,
                &ValueType::tensor(TensorType { sizes: known_sizes(known), ..(**x).clone() }),
            ) =>
        {
            known.clone()
        }
        _ => ValueType::Unknown,
    }
}

fn known_sizes(t: &ValueType) -> sizes::Sizes {
    t.as_tensor().map(|t| t.sizes.clone()).unwrap_or_default()
}

fn returned(c: &Call<'_>, i: usize) -> Result<Vec<ValueType>, CallFault> {
    let untyped = || CallFault::Untyped { argument: c.name(i).into() };
    let all = results(c.view, body(c, i)?).ok_or_else(untyped)?;
    if all.contains(&ValueType::Unknown) { Err(untyped()) } else { Ok(all) }
}

fn cond(c: &mut Call<'_>) -> Typed {
    let (yes, no) = (returned(c, 1)?, returned(c, 2)?);
    if yes.len() != no.len() {
        return Err(c.bad(2, format!("{} results, as the other branch", yes.len()), no.len().to_string()));
    }
    let mut all = Vec::new();
    for (k, (a, b)) in yes.iter().zip(&no).enumerate() {
        let one = either(c.symbols, a, b, c.annotation(k));
        if let (ValueType::Unknown, ValueType::Tensor(x), ValueType::Tensor(y)) = (&one, a, b)
            && (x.dtype != y.dtype || x.rank() != y.rank())
        {
            return Err(c.bad(
                2,
                "results of the same dtypes and ranks as the other branch",
                format!("another one at {k}"),
            ));
        }
        all.push(one);
    }
    Ok(out::many(all))
}

/// What is carried keeps its type from step to step.
fn while_loop(c: &mut Call<'_>) -> Typed {
    let stepped = returned(c, 1)?;
    let carried = c.arg(2).items().unwrap_or_default();
    if carried.len() != stepped.len() {
        return Err(c.bad(
            2,
            format!("{} carried values, as the body returns", stepped.len()),
            carried.len().to_string(),
        ));
    }
    let mut all = Vec::new();
    for (k, (arg, after)) in carried.iter().zip(&stepped).enumerate() {
        let before = match arg {
            Arg::Node(n) => c.view.ty(*n).clone(),
            _ => after.clone(),
        };
        all.push(either(c.symbols, after, &before, c.annotation(k)));
    }
    Ok(out::many(all))
}

/// What is carried keeps its type; the other results of all steps lie side by side.
fn scan(c: &mut Call<'_>) -> Typed {
    let stepped = returned(c, 0)?;
    let init = items(c, 1)?;
    if init.len() > stepped.len() {
        return Err(c.bad(1, format!("at most {} values, as the body returns", stepped.len()), init.len().to_string()));
    }
    let length = length(c, 2)?;
    let others = stepped.split_at_checked(init.len()).map_or(&[][..], |(_, others)| others);
    let mut all = Vec::new();
    for (k, (before, after)) in init.iter().zip(&stepped).enumerate() {
        all.push(either(c.symbols, after, before, c.annotation(k)));
    }
    all.extend(others.iter().map(|one| side_by_side(one, length)));
    Ok(out::many(all))
}

/// One result an operand, of its sizes.
fn associative_scan(c: &mut Call<'_>) -> Typed {
    let stepped = returned(c, 0)?;
    let length = length(c, 1)?;
    Ok(out::many(stepped.iter().map(|one| side_by_side(one, length)).collect::<Vec<_>>()))
}

fn map(c: &mut Call<'_>) -> Typed {
    associative_scan(c)
}

/// Types of what a list holds.
fn items(c: &Call<'_>, i: usize) -> Result<Vec<ValueType>, CallFault> {
    let list = c.arg(i).items().ok_or_else(|| c.wrong_kind(i, "a list", c.arg(i)))?;
    let one = |a: &Arg| match a {
        Arg::Node(n) => c.view.ty(*n).clone(),
        _ => ValueType::Unknown,
    };
    Ok(list.iter().map(one).collect())
}

/// How many steps the tensors of argument `i` are walked in: the size of their first dimension.
fn length(c: &Call<'_>, i: usize) -> Result<Dim, CallFault> {
    let untyped = || CallFault::Untyped { argument: c.name(i).into() };
    let all = items(c, i)?;
    let first = all.first().and_then(ValueType::as_tensor).ok_or_else(untyped)?;
    first.sizes.first().copied().ok_or_else(|| c.bad(i, "tensors with a dimension to walk along", "a single number"))
}

/// The type of `length` such values, one after the other. How they lie, PyTorch's loops and traces say differently.
fn side_by_side(one: &ValueType, length: Dim) -> ValueType {
    let ValueType::Tensor(t) = one else { return ValueType::Unknown };
    let sizes = std::iter::once(length).chain(t.sizes.iter().copied()).collect();
    ValueType::tensor(TensorType { sizes, strides: None, offset: Dim::Fixed(0), ..(**t).clone() })
}

fn wrapped(c: &mut Call<'_>) -> Typed {
    let place = c.operator.schema.param_index("body").unwrap_or(0);
    Ok(out::many(returned(c, place)?))
}

/// Returns the operator that argument `i` names.
fn called<'a>(c: &Call<'a>, i: usize) -> Result<&'a Operator, CallFault> {
    match c.arg(i) {
        Arg::Operator(target) => c.registry.get(target).ok_or(CallFault::Opaque),
        other => Err(c.wrong_kind(i, "an operator", other)),
    }
}

/// The token after the call, then what the operator returns.
fn with_effects(c: &mut Call<'_>) -> Typed {
    let operator = called(c, 1)?;
    let token = match c.arg(0) {
        Arg::Node(n) => c.view.ty(*n).clone(),
        other => return Err(c.wrong_kind(0, "a token", other)),
    };
    let placed = c.bound.extra.iter().filter(|(key, _)| key.is_none()).map(|(_, arg)| *arg);
    let placed: Vec<&Arg> = placed.collect();
    let mut args = Vec::new();
    for (k, param) in operator.schema.params.iter().enumerate() {
        let by_place = if param.kwarg_only { None } else { placed.get(k).copied() };
        let arg = by_place.or_else(|| given(c, &param.name)).cloned();
        args.push(arg.unwrap_or_else(|| param.default.as_ref().map_or(Arg::None, |d| d.value.clone())));
    }
    let mut all = vec![token];
    all.extend(results_of(c, operator, &args, false)?);
    Ok(out::many(all))
}

fn given<'a>(c: &Call<'a>, name: &str) -> Option<&'a Arg> {
    let key = c.view.texts().find(name)?;
    c.bound.extra.iter().find(|(k, _)| *k == Some(key)).map(|(_, a)| *a)
}

/// Results of the operator (`None` where it has none), then what it writes: each written argument (first version), each
/// base (second).
///
/// Results are typed where the operator has a rule and its written arguments are bases themselves, not views of them.
fn functionalized(c: &mut Call<'_>) -> Typed {
    let operator = called(c, 0)?;
    let bases = given(c, "_all_bases").and_then(Arg::items);
    let (mut args, mut written, mut views) = (Vec::new(), Vec::new(), false);
    for (param, access) in operator.schema.params.iter().zip(&operator.effects.params) {
        let part = |suffix: &str| given(c, &format!("_{}{suffix}", param.name));
        views |= part("_size").is_some() || part("_slice_dim").is_some();
        let arg = match (given(c, &param.name), part("_base_index"), bases) {
            (Some(arg), _, _) => arg.clone(),
            (None, Some(Arg::Int(k)), Some(bases)) => {
                let base = usize::try_from(*k).ok().and_then(|k| bases.get(k));
                base.cloned().ok_or_else(|| c.bad(0, format!("a base for `{}`", param.name), k.to_string()))?
            }
            _ => param.default.as_ref().map_or(Arg::None, |d| d.value.clone()),
        };
        if access.writes {
            written.push(arg.clone());
        }
        args.push(arg);
    }
    let mut all = results_of(c, operator, &args, views)?;
    all.extend(bases.unwrap_or(&written).iter().map(|a| match a {
        Arg::Node(n) => c.view.ty(*n).clone(),
        Arg::List(items) => {
            ValueType::Many(items.iter().filter_map(Arg::as_node).map(|n| c.view.ty(n).clone()).collect())
        }
        _ => ValueType::None,
    }));
    Ok(out::many(all))
}

fn results_of(c: &mut Call<'_>, operator: &Operator, args: &[Arg], views: bool) -> Result<Vec<ValueType>, CallFault> {
    if operator.schema.returns.is_empty() {
        return Ok(vec![ValueType::None]);
    }
    let (Some(rule), false) = (operator.rule, views) else {
        return Ok(vec![ValueType::Unknown; operator.schema.returns.len()]);
    };
    let bound = Bound { args: args.iter().collect(), extra: smallvec::SmallVec::new() };
    let symbols = &mut *c.symbols;
    let mut inner = Call {
        operator,
        registry: c.registry,
        bound,
        view: c.view,
        symbols,
        annotated: None,
        consulted: Default::default(),
    };
    Ok(match rule(&mut inner)? {
        ValueType::Many(all) => all.to_vec(),
        one => vec![one],
    })
}
