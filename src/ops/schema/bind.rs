//! Binding: which argument of a call is which parameter of the schema, and whether its kind fits.
//!
//! Promises: a bound call has one argument a parameter (given or default), each of a kind that PyTorch takes there: a number
//! may stand for a tensor, an integer for a float, one element for a sized list (`int[2]`), a symbolic scalar node for a
//! number. A node whose type nobody knows fits everywhere. Leaves values and sizes to the rules.

use smallvec::SmallVec;

use crate::graph::{Arg, StrId, ValueType, View};
use crate::ops::error::CallFault;
use crate::ops::schema::{Base, Param, Schema, SchemaType, Suffix};

static NONE: Arg = Arg::None;

/// Arguments in the order of the parameters.
#[derive(Clone, Debug)]
pub struct Bound<'a> {
    /// One a parameter.
    pub args: SmallVec<[&'a Arg; 8]>,
    /// What varargs take beyond, in order; keywords with their names.
    pub extra: SmallVec<[(Option<StrId>, &'a Arg); 1]>,
}

impl<'a> Bound<'a> {
    /// Binds positional and keyword arguments to the parameters of `schema`.
    pub fn bind(
        schema: &'a Schema,
        view: &dyn View,
        args: &'a [Arg],
        kwargs: &'a [(StrId, Arg)],
    ) -> Result<Bound<'a>, CallFault> {
        if kwargs.is_empty() && !schema.varargs {
            return Self::in_order(schema, view, args);
        }
        let mut slots: SmallVec<[Option<&Arg>; 8]> = SmallVec::from_elem(None, schema.params.len());
        let mut extra = SmallVec::new();
        for (place, arg) in args.iter().enumerate() {
            match schema.params.get(place).filter(|p| !p.kwarg_only).and(slots.get_mut(place)) {
                Some(slot) => *slot = Some(arg),
                None if schema.varargs => extra.push((None, arg)),
                None => {
                    return Err(too_many(schema, args));
                }
            }
        }
        for (key, arg) in kwargs {
            let name = view.texts().text(*key);
            let unnamed = |i: &usize| schema.params.get(*i).is_some_and(|p| p.positional_only);
            match schema.param_index(name).filter(|i| !unnamed(i)).and_then(|i| slots.get_mut(i)) {
                Some(Some(_)) => return Err(CallFault::Twice { argument: name.into() }),
                Some(slot) => *slot = Some(arg),
                None if schema.varargs => extra.push((Some(*key), arg)),
                None => {
                    let named = schema.params.iter().filter(|p| !p.positional_only);
                    let known = named.map(|p| &*p.name).collect::<Vec<_>>().join(", ");
                    return Err(CallFault::UnknownKeyword { keyword: name.into(), known });
                }
            }
        }
        let mut bound = SmallVec::with_capacity(slots.len());
        for (param, slot) in schema.params.iter().zip(slots) {
            bound.push(given(param, slot, view)?);
        }
        Ok(Bound { args: bound, extra })
    }

    /// The same of a call without keywords, as most are.
    fn in_order(schema: &'a Schema, view: &dyn View, args: &'a [Arg]) -> Result<Bound<'a>, CallFault> {
        // What takes keywords alone stands last.
        if args.len() > schema.params.iter().take_while(|p| !p.kwarg_only).count() {
            return Err(too_many(schema, args));
        }
        let mut bound = Bound { args: SmallVec::with_capacity(schema.params.len()), extra: SmallVec::new() };
        for (place, param) in schema.params.iter().enumerate() {
            bound.args.push(given(param, args.get(place), view)?);
        }
        Ok(bound)
    }

    /// Returns the argument of parameter `i`.
    pub fn get(&self, i: usize) -> &'a Arg {
        self.args.get(i).copied().unwrap_or(&NONE)
    }
}

/// The argument of a parameter: what was given, if it fits, else the default.
fn given<'a>(param: &'a Param, slot: Option<&'a Arg>, view: &dyn View) -> Result<&'a Arg, CallFault> {
    match (slot, &param.default) {
        (Some(arg), _) => check(param, arg, view).map(|()| arg),
        (None, Some(default)) => Ok(&default.value),
        (None, None) => Err(CallFault::Missing { argument: param.name.to_string() }),
    }
}

fn too_many(schema: &Schema, args: &[Arg]) -> CallFault {
    let limit = schema.params.iter().filter(|p| !p.kwarg_only).count();
    CallFault::TooMany { limit, found: args.len() }
}

/// The most elements of a list, and bytes of a text, that a call may have: bounds what its type rule does.
const MAX_ITEMS: usize = 1 << 16;

fn check(param: &Param, arg: &Arg, view: &dyn View) -> Result<(), CallFault> {
    let found = match arg {
        Arg::List(items) | Arg::Tuple(items) => items.len(),
        Arg::Str(text) => text.len(),
        _ => 0,
    };
    if found > MAX_ITEMS {
        let what = format!("elements of argument `{}`", param.name);
        return Err(CallFault::TooMuch { what, found, limit: MAX_ITEMS });
    }
    let suffixes = param.ty.suffixes.as_slice();
    // Most arguments are neither lists nor left out.
    if suffixes.is_empty() {
        return if fits(&param.ty, arg, view) { Ok(()) } else { Err(wrong(param, arg, view)) };
    }
    let mut work: SmallVec<[(&Arg, &[Suffix]); 8]> = SmallVec::new();
    work.push((arg, suffixes));
    while let Some((arg, suffixes)) = work.pop() {
        match suffixes.split_last() {
            Some((Suffix::Optional, _)) if *arg == Arg::None => {}
            Some((Suffix::Optional, inner)) => work.push((arg, inner)),
            Some((Suffix::List(size), inner)) => match (arg, size) {
                (Arg::List(items) | Arg::Tuple(items), _) => work.extend(items.iter().map(|a| (a, inner))),
                (Arg::Node(n), _) if is_list_or_unknown(view.ty(*n)) => {}
                (one, Some(_)) => work.push((one, inner)),
                (found, None) => return Err(wrong(param, found, view)),
            },
            None if fits(&param.ty, arg, view) => {}
            None => return Err(wrong(param, arg, view)),
        }
    }
    Ok(())
}

fn is_list_or_unknown(ty: &ValueType) -> bool {
    matches!(ty, ValueType::Many(_) | ValueType::Unknown | ValueType::Const(_) | ValueType::Other(_))
}

fn fits(ty: &SchemaType, arg: &Arg, view: &dyn View) -> bool {
    use ValueType as V;
    if let Arg::Node(n) = arg {
        let found = view.ty(*n);
        if matches!(found, V::Unknown | V::Const(_) | V::Other(_)) {
            return true;
        }
        return match &ty.base {
            Base::Tensor => matches!(found, V::Tensor(_) | V::SymInt(_) | V::SymFloat(_) | V::SymBool(_)),
            Base::Scalar | Base::Float => matches!(found, V::SymInt(_) | V::SymFloat(_) | V::SymBool(_)),
            Base::Int | Base::SymInt => matches!(found, V::SymInt(_) | V::SymBool(_)),
            Base::Bool | Base::SymBool => matches!(found, V::SymBool(_) | V::SymInt(_)),
            Base::Other(_) => true,
            Base::Str | Base::Dtype | Base::Device | Base::Layout | Base::MemoryFormat | Base::Generator => false,
        };
    }
    if matches!(arg, Arg::Other(_)) {
        return true;
    }
    match &ty.base {
        Base::Tensor | Base::Scalar => {
            matches!(arg, Arg::Int(_) | Arg::Float(_) | Arg::Bool(_) | Arg::Complex(..))
        }
        Base::Int | Base::SymInt => matches!(arg, Arg::Int(_) | Arg::Bool(_) | Arg::Dtype(_)),
        Base::Float => matches!(arg, Arg::Int(_) | Arg::Float(_) | Arg::Bool(_)),
        Base::Bool | Base::SymBool => matches!(arg, Arg::Bool(_) | Arg::Int(_)),
        Base::Str => matches!(arg, Arg::Str(_)),
        Base::Dtype => matches!(arg, Arg::Dtype(_) | Arg::Int(_)),
        Base::Device => matches!(arg, Arg::Device(_) | Arg::Str(_)),
        Base::Layout => matches!(arg, Arg::Layout(_) | Arg::Int(_)),
        Base::MemoryFormat => matches!(arg, Arg::MemoryFormat(_) | Arg::Int(_)),
        Base::Generator => false,
        Base::Other(_) => true,
    }
}

fn wrong(param: &Param, arg: &Arg, view: &dyn View) -> CallFault {
    CallFault::Kind {
        argument: param.name.to_string(),
        expected: format!("`{}`", param.ty),
        found: describe(arg, view),
    }
}

/// Returns an argument in words.
pub(in crate::ops) fn describe(arg: &Arg, view: &dyn View) -> String {
    match arg {
        Arg::None => "None".into(),
        Arg::Node(n) => format!("node `{}`, {}", view.name(*n), describe_type(view.ty(*n))),
        Arg::Int(v) => format!("the integer {v}"),
        Arg::Float(v) => format!("the float {v}"),
        Arg::Complex(re, im) => format!("the complex number {re}+{im}j"),
        Arg::Bool(v) => format!("the boolean {v}"),
        Arg::Str(v) => format!("the string '{v}'"),
        Arg::Dtype(v) => format!("the dtype {}", v.long()),
        Arg::Device(v) => format!("the device {v}"),
        Arg::Layout(v) => format!("the layout {}", v.name()),
        Arg::MemoryFormat(v) => format!("the memory format {}", v.name()),
        Arg::Operator(v) => format!("the operator {v}"),
        Arg::List(v) => format!("a list of {}", v.len()),
        Arg::Tuple(v) => format!("a tuple of {}", v.len()),
        Arg::Dict(v) => format!("a dictionary of {}", v.len()),
        Arg::Other(v) => format!("`{v}`"),
    }
}

fn describe_type(ty: &ValueType) -> &'static str {
    match ty {
        ValueType::Unknown => "whose type is not known",
        ValueType::None => "which gives no value",
        ValueType::Tensor(_) => "a tensor",
        ValueType::SymInt(_) => "a symbolic integer",
        ValueType::SymFloat(_) => "a symbolic float",
        ValueType::SymBool(_) => "a symbolic boolean",
        ValueType::Many(_) => "which gives several values",
        ValueType::Body(_) => "a sub-graph",
        ValueType::Const(_) => "a constant input",
        ValueType::Other(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BodyId, Device, Dtype, Graph, NewNode, NodeId, NodeKind, TensorType};

    fn graph() -> (Graph, NodeId) {
        let mut g = Graph::new();
        let target = g.texts.intern("x");
        let ty = ValueType::tensor(TensorType::new(Dtype::F32, [], Device::cpu()));
        let node = NewNode { kind: NodeKind::Placeholder, target, args: Box::default(), kwargs: Box::default(), ty };
        let x = g.push(BodyId::ROOT, "x", node);
        (g, x)
    }

    fn bind(schema: &str, args: &[Arg], kwargs: &[(&str, Arg)]) -> Result<Vec<Arg>, String> {
        let (mut g, _) = graph();
        let schema = Schema::parse(schema).unwrap();
        let kwargs: Vec<_> = kwargs.iter().map(|(k, a)| (g.texts.intern(k), a.clone())).collect();
        let bound = Bound::bind(&schema, &g, args, &kwargs).map_err(|e| e.to_string())?;
        Ok(bound.args.iter().map(|a| (*a).clone()).collect())
    }

    const ADD: &str = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";

    #[test]
    fn positions_keywords_and_defaults_meet_their_parameters() {
        let x = Arg::Node(graph().1);
        assert_eq!(
            bind(ADD, std::slice::from_ref(&x), &[("other", x.clone())]),
            Ok(vec![x.clone(), x.clone(), Arg::Int(1)])
        );
        assert_eq!(bind(ADD, &[x.clone(), Arg::Float(0.5)], &[]).unwrap()[1], Arg::Float(0.5));
    }

    #[test]
    fn what_stands_before_a_slash_takes_no_keyword() {
        let schema = "math::pow(Scalar a, Scalar b, /) -> Scalar";
        assert_eq!(Schema::parse(schema).unwrap().to_string(), schema);
        assert!(bind(schema, &[Arg::Int(2), Arg::Int(3)], &[]).is_ok());
        assert!(bind(schema, &[Arg::Int(2)], &[("b", Arg::Int(3))]).unwrap_err().contains("`b`"));
    }

    #[test]
    fn a_wrong_call_says_which_argument_and_why() {
        let x = Arg::Node(graph().1);
        let error = |args: &[Arg], kwargs: &[(&str, Arg)]| bind(ADD, args, kwargs).unwrap_err();
        assert_eq!(error(std::slice::from_ref(&x), &[]), "argument `other` is missing");
        assert_eq!(error(&[x.clone(), x.clone(), x.clone()], &[]), "takes at most 2 positional arguments, 3 are given");
        assert_eq!(error(std::slice::from_ref(&x), &[("self", x.clone())]), "argument `self` is given twice");
        assert_eq!(
            error(std::slice::from_ref(&x), &[("beta", x.clone())]),
            "`beta` is none of its arguments (self, other, alpha)"
        );
        assert_eq!(
            error(&[x.clone(), Arg::from("s")], &[]),
            "argument `other`: expected `Tensor`, found the string 's'"
        );
        assert_eq!(
            error(&[x.clone(), x.clone()], &[("alpha", x)]),
            "argument `alpha`: expected `Scalar`, found node `x`, a tensor"
        );
    }

    #[test]
    fn one_element_stands_for_a_sized_list_only() {
        let x = Arg::Node(graph().1);
        assert!(bind("a::f(Tensor self, int[2] k) -> Tensor", &[x.clone(), Arg::Int(3)], &[]).is_ok());
        assert!(bind("a::f(Tensor self, int[] k) -> Tensor", &[x.clone(), Arg::Int(3)], &[]).is_err());
        let list = Arg::List(Box::new([Arg::None, x.clone()]));
        assert!(bind("a::f(Tensor self, Tensor?[] i) -> Tensor", &[x.clone(), list.clone()], &[]).is_ok());
        assert!(bind("a::f(Tensor self, Tensor[] i) -> Tensor", &[x, list], &[]).is_err());
    }
}
