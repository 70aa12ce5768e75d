//! Decompositions that follow from a schema: in-place and out forms are the functional form and `copy_`, `_foreach_*` is the
//! operator on each element.
//!
//! Promises: only where the functional operator takes the same parameters and gives fresh memory; forms that change an argument's own
//! sizes or storage (`t_`, `resize_`, `set_`) have none.

use super::builder::{Actual, Builder, Made, args};
use super::value::T;
use crate::graph::Arg;
use crate::ops::facts::effects::Sharing;
use crate::ops::registry::Registry;
use crate::ops::registry::operator::Operator;
use crate::ops::schema::{Base, Param};
use crate::ops::typing::promote::category;

/// How such an operator is said in another one.
#[derive(Clone, Copy, Debug)]
pub enum Derived<'r> {
    /// Its functional form, then `copy_` into the first argument.
    InPlace(&'r Operator),
    /// Its functional form, then `copy_` into `out`.
    Out(&'r Operator),
    /// That operator on each element of the lists.
    Each(&'r Operator),
    /// Its functional form, then `copy_` into each tensor of the first list.
    EachInPlace(&'r Operator),
}

/// Operators on lists whose operator on elements has another name, or more parameters.
const SAID: &[(&str, &[&str], &str)] = &[
    ("addcdiv", &["Scalar", "ScalarList"], "aten.addcdiv.default"),
    ("addcmul", &["Scalar", "ScalarList"], "aten.addcmul.default"),
    ("lerp", &["List"], "aten.lerp.Tensor"),
    ("lerp", &["Scalar", "ScalarList"], "aten.lerp.Scalar"),
    ("maximum", &["Scalar", "ScalarList"], "aten.clamp_min.default"),
    ("minimum", &["Scalar", "ScalarList"], "aten.clamp_max.default"),
];

/// Names whose functional form changes no values but shape or storage, or is this very copy.
const NOT_BY_COPY: &[&str] = &["copy_", "resize_", "resize_as_", "set_", "detach_"];

/// Returns how an operator follows from another one.
pub fn of<'r>(registry: &'r Registry, operator: &Operator) -> Option<Derived<'r>> {
    let schema = &operator.schema;
    let overload = if schema.overload.is_empty() { "default" } else { &schema.overload };
    let sibling = |name: &str, overload: &str| registry.get(&format!("{}.{name}.{overload}", schema.namespace));
    if let Some(name) = schema.name.strip_prefix("_foreach_") {
        if let Some(plain) = schema.name.strip_suffix('_') {
            let same = |o: &&Operator| same_params(&o.schema.params, &schema.params, 0) && is_fresh(o);
            return sibling(plain, overload).filter(same).map(Derived::EachInPlace);
        }
        return each(registry, operator, name, overload);
    }
    if overload == "out" || overload.ends_with("_out") {
        let plain = overload.strip_suffix("_out").unwrap_or("default");
        let same = |o: &&Operator| same_params(&o.schema.params, &schema.params, 1) && is_fresh(o);
        // `div.out` is of two tensors.
        let of_two = || if overload == "out" { sibling(&schema.name, "Tensor").filter(same) } else { None };
        return sibling(&schema.name, plain).filter(same).or_else(of_two).map(Derived::Out);
    }
    let name = schema.name.strip_suffix('_').filter(|n| !n.ends_with('_'))?;
    let returns_itself =
        matches!(operator.effects.returns.first()?.as_slice(), [r] if r.param == 0 && r.sharing == Sharing::Same);
    if !returns_itself || NOT_BY_COPY.contains(&&*schema.name) {
        return None;
    }
    let overload = functional_overload(&schema.name, overload);
    let same = |o: &&Operator| same_params(&o.schema.params, &schema.params, 0) && is_fresh(o);
    sibling(name, overload).filter(same).map(Derived::InPlace)
}

/// In two packets the in-place overloads are named otherwise than the functional ones.
fn functional_overload<'a>(name: &str, overload: &'a str) -> &'a str {
    match (name, overload) {
        ("pow_", "Scalar") => "Tensor_Scalar",
        ("pow_", "Tensor") => "Tensor_Tensor",
        ("floor_divide_", "Tensor") => "default",
        _ => overload,
    }
}

/// Whether the functional form has the same parameters, `more` of the writing form's last ones left out.
fn same_params(functional: &[Param], writing: &[Param], more: usize) -> bool {
    let shared = writing.len().saturating_sub(more);
    functional.len() == shared
        && functional
            .iter()
            .zip(writing)
            .all(|(a, b)| a.name == b.name && a.ty.base == b.ty.base && a.kwarg_only == b.kwarg_only)
}

fn is_fresh(o: &Operator) -> bool {
    o.schema.returns.len() == 1 && o.effects.returns.iter().all(|r| r.is_empty()) && !o.effects.writes()
}

fn each<'r>(registry: &'r Registry, operator: &Operator, name: &str, overload: &str) -> Option<Derived<'r>> {
    let said = SAID.iter().find(|(one, all, _)| *one == name && all.contains(&overload));
    if let Some((_, _, target)) = said {
        return registry.get(target).filter(|o| is_fresh(o)).map(Derived::Each);
    }
    if name.ends_with('_')
        || operator.schema.returns.len() != 1
        || operator.schema.params.iter().filter(|p| p.name.as_ref() != "alpha").count() > 2
    {
        return None;
    }
    let one = |overload: &str| registry.get(&format!("aten.{name}.{overload}")).filter(|o| is_fresh(o));
    let wanted = operator.schema.params.iter().filter(|p| p.default.is_none()).count();
    let fits = |o: &&Operator| o.schema.params.iter().filter(|p| p.default.is_none()).count() == wanted;
    match overload {
        "default" => one("default"),
        "List" | "Tensor" => one("Tensor").or_else(|| one("default")),
        // Where there is but one, it may be the one of a tensor.
        "Scalar" | "ScalarList" => one("Tensor_Scalar")
            .or_else(|| one("Scalar"))
            .or_else(|| one("default").filter(|o| o.schema.params.get(1).is_some_and(|p| p.ty.base == Base::Scalar))),
        _ => None,
    }
    .filter(fits)
    .map(Derived::Each)
}

impl Derived<'_> {
    /// Emits it.
    pub(super) fn build(self, b: &Builder<'_>) -> Made {
        match self {
            Derived::InPlace(o) => by_copy(b, o, 0),
            Derived::Out(o) => by_copy(b, o, b.operator().schema.params.len().saturating_sub(1)),
            Derived::Each(o) => on_each(b, o),
            Derived::EachInPlace(o) => each_by_copy(b, o),
        }
    }
}

/// The arguments of the call as those of `o`: keyword-only ones by name, those that have their default left out.
pub(super) fn passed_on(b: &Builder<'_>, o: &Operator) -> Actual {
    let mut actual = Actual::default();
    let mut rest = Vec::new();
    for (i, p) in o.schema.params.iter().enumerate() {
        let arg = b.arg(i);
        if p.kwarg_only {
            if p.default.as_ref().is_none_or(|d| d.value != arg) {
                actual.named.push((p.name.clone(), arg));
            }
            continue;
        }
        let default = p.default.as_ref().is_some_and(|d| d.value == arg);
        rest.push(arg);
        if !default {
            actual.args.append(&mut rest);
        }
    }
    actual
}

fn by_copy(b: &Builder<'_>, o: &Operator, written: usize) -> Made {
    let target = b.t(written)?;
    let value = b.op(&o.target, passed_on(b, o));
    b.only(written == 0 || value.sizes() == target.sizes(), "an `out` that is resized")?;
    b.only(category(value.dtype()) <= category(target.dtype()), "a dtype that cannot hold the result")?;
    b.only(value.dtype().is_complex() == target.dtype().is_complex(), "a real result in complex memory")?;
    b.only(!overlaps(target), "an argument whose elements share memory")?;
    Ok(vec![b.op("copy_", args![target, value]).into()])
}

fn each_by_copy(b: &Builder<'_>, o: &Operator) -> Made {
    let targets = b.ts(0)?;
    let values = b.list(&o.target, passed_on(b, o));
    b.only(values.len() == targets.len(), "a list of another length")?;
    for (target, value) in targets.into_iter().zip(values) {
        let fits = value.dtype() == target.dtype() && value.sizes() == target.sizes() && !overlaps(target);
        b.only(fits, "an element that cannot hold its result")?;
        b.op("copy_", args![target, value]);
    }
    Ok(Vec::new())
}

fn overlaps(t: T<'_>) -> bool {
    t.ty().is_some_and(|t| {
        let strides = t.strides.iter().flatten();
        t.sizes.iter().zip(strides).any(|(n, s)| s.fixed() == Some(0) && n.fixed() != Some(1))
    })
}

fn on_each(b: &Builder<'_>, o: &Operator) -> Made {
    let firsts = b.ts(0)?;
    let params = &b.operator().schema.params;
    let given: Vec<(&Param, Arg)> = params.iter().enumerate().skip(1).map(|(i, p)| (p, b.arg(i))).collect();
    let items = |arg: &Arg| if let Arg::List(items) | Arg::Tuple(items) = arg { Some(items.len()) } else { None };
    b.only(given.iter().filter_map(|(_, a)| items(a)).all(|n| n == firsts.len()), "lists of unequal lengths")?;
    let made = firsts.iter().enumerate().map(|(i, x)| {
        let mut args = args![*x];
        for (param, arg) in &given {
            let own = match arg {
                Arg::List(items) | Arg::Tuple(items) => items.get(i).cloned().unwrap_or(Arg::None),
                one => one.clone(),
            };
            // A number by which something is multiplied is given by name.
            let name = if &*param.name == "scalars" { "value" } else { &*param.name };
            match o.schema.param_index(name).and_then(|k| o.schema.params.get(k)) {
                Some(p) if p.kwarg_only && p.default.as_ref().is_some_and(|d| d.value == own) => {}
                Some(p) if p.kwarg_only => args.named.push((p.name.clone(), own)),
                _ => args.args.push(own),
            }
        }
        Arg::from(b.op(&o.target, args))
    });
    Ok(vec![Arg::List(made.collect())])
}
