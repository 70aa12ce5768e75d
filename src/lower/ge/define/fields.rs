//! GE operators that nobody defined: held field by field to the call of which they were made.
//!
//! `fields.txt` says for a GE operator and a call of FX which argument feeds which slot and is which attribute. The GE operator stands for that call
//! of what feeds it: a slot that is fed by another tensor makes another call, an attribute that is not the argument none. What the table does not
//! know is named in what the verdict assumes.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::forms::{Form, Given, said_of};
use super::held::{Replaced, agree};
use super::{Build, Call, Packed, Undefined, Value, undefined};
use crate::graph::{Arg, BodyId, Dtype, Graph, NewNode, NodeId, NodeKind, StrId, ValueType, View};
use crate::lower::ge::operators::{self, GeOperator};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::written::WrittenOp;
use crate::ops::{Base, Bound, Schema};

/// A line of the table.
pub(super) struct Line {
    pub target: &'static str,
    /// What feeds each slot, by name; `-` is none of them: the argument is read by neither.
    pub slots: Vec<(&'static str, Form)>,
    /// What each attribute is; `@` in front names an argument, which must be that.
    pub attributes: Vec<(&'static str, Form)>,
    /// Which result of the call each output is, where that is not in order, and whether as numbers of 32 bits.
    results: Option<Vec<(usize, bool)>>,
}

static LINES: LazyLock<HashMap<&'static str, Vec<Line>>> = LazyLock::new(|| {
    let mut all: HashMap<&'static str, Vec<Line>> = HashMap::new();
    for (kind, line) in include_str!("fields.txt").lines().filter(|l| !l.starts_with('#')).filter_map(parse) {
        all.entry(kind).or_default().push(line);
    }
    all
});

fn parse(line: &'static str) -> Option<(&'static str, Line)> {
    let (kind, rest) = line.split_once(" = ")?;
    let mut parts = rest.split('|').map(str::trim);
    let target = parts.next()?;
    let pairs = |text: Option<&'static str>, by: char| -> Vec<(&'static str, Form)> {
        text.unwrap_or("").split(' ').filter_map(|p| p.split_once(by)).map(|(name, f)| (name, Form::parse(f))).collect()
    };
    let slots = pairs(parts.next(), '<');
    let attributes = pairs(parts.next(), '=');
    let place = |p: &str| Some((p.trim_end_matches('^').parse().ok()?, p.ends_with('^')));
    let results = parts.next().map(|places| places.split(' ').filter_map(place).collect());
    Some((kind, Line { target, slots, attributes, results }))
}

/// Returns the GE operators that are held field by field.
pub fn held() -> Vec<&'static str> {
    let mut all: Vec<&str> = LINES.keys().copied().collect();
    all.sort_unstable();
    all
}

/// Whether calls of an operator of FX are held field by field.
pub fn is_call_held(target: &str) -> bool {
    LINES.values().flatten().any(|line| line.target == target)
}

/// Whether a GE operator is held field by field.
pub fn is_held(kind: &str) -> bool {
    LINES.contains_key(kind)
}

/// Makes the call for which a GE operator stands, if it agrees with one of the graph that was lowered for which no other does.
pub fn make(b: &mut Build<'_>, op: &WrittenOp<'_>, inputs: Vec<Option<Value>>, original: &Graph) -> super::Made {
    let Some(known) = operators::operator(op.r#type) else {
        return undefined("GE's list of operators does not have it");
    };
    let registry = b.registry();
    let mut call = Call::bind(b, op, known, inputs)?;
    let mut why = Undefined("no call of the graph is made so".into());
    for line in LINES.get(known.name).into_iter().flatten() {
        for node in original.nodes(BodyId::ROOT) {
            if original.kind(node) != NodeKind::Call || original.target(node) != line.target {
                continue;
            }
            if call.b.held.contains_key(&node) {
                continue;
            }
            let Some(schema) = registry.operator_of(original, node).map(|o| &o.schema) else { continue };
            let agreed = Bound::bind(schema, original, original.args(node), original.kwargs(node))
                .map_err(|e| Undefined(e.to_string()))
                .map(|bound| Given { graph: original, node, schema, bound })
                .and_then(|given| by_default(&call, line, known).and_then(|()| agree(&mut call, line, &given, known)));
            match agreed {
                Ok(replaced) => return push(call.b, op, line, original, (node, schema), &replaced),
                Err(reason) => why = reason,
            }
        }
    }
    Err(why)
}

/// Refuses an attribute that no argument is said to be, and that is not what GE takes without it.
fn by_default(c: &Call<'_, '_>, line: &Line, known: &GeOperator) -> Result<(), Undefined> {
    for attribute in known.attributes.iter().filter(|a| line.attributes.iter().all(|(name, _)| *name != a.name)) {
        let default = attribute.default.as_ref().and_then(|d| d.value.as_ref());
        if let (Some(value), Some(default)) = (c.attribute_value(attribute.name), default)
            && value != default
        {
            return undefined(format!("attribute `{}` is no argument, and not its default", attribute.name));
        }
    }
    Ok(())
}

fn push(
    b: &mut Build<'_>,
    op: &WrittenOp<'_>,
    line: &Line,
    original: &Graph,
    (node, schema): (NodeId, &Schema),
    replaced: &Replaced,
) -> super::Made {
    let replaced = uncopied(b, original, (node, schema), replaced);
    if let Some(param) = overwritten(b, original, (node, schema), &replaced) {
        return undefined(format!("a write into `{param}`, an input, which the call does not make,"));
    }
    let place = |at: usize, arg: &Arg| replaced.get(&at).cloned().unwrap_or_else(|| arg.clone());
    let args: Vec<Arg> = original.args(node).iter().enumerate().map(|(i, a)| place(i, a)).collect();
    let kwargs: Vec<(StrId, Arg)> = original
        .kwargs(node)
        .iter()
        .map(|(k, a)| {
            let name = original.texts.text(*k);
            let at = schema.param_index(name).unwrap_or(usize::MAX);
            (b.graph.texts.intern(name), place(at, a))
        })
        .collect();
    let mut args = args;
    let is_norm = line.target == "aten._native_batch_norm_legit_functional.default";
    let lifted = if is_norm { unlifted(b, &mut args) } else { Vec::new() };
    let ty = match b.registry().infer(&mut b.graph, line.target, &args, &kwargs) {
        Ok(ty) if ty.as_tensor().is_some() => ty,
        Err(error) if !error.is_unknown_target() => return undefined(error.to_string()),
        _ => original.ty(node).clone(),
    };
    if line.target.starts_with("aten.") && !are_of_one_type(b, &args, &ty) {
        return undefined("floats of several types, element by element, are not defined");
    }
    let args = b.unconverted(line.target, args, &kwargs, &ty);
    let base = line.target.split('.').nth(1).unwrap_or(line.target);
    let name = b.graph.free_name(BodyId::ROOT, base);
    let target = b.graph.texts.intern(line.target);
    let count = match &ty {
        ValueType::Many(items) => Some(items.len()),
        _ => None,
    };
    b.note_write(line.target);
    let new = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: kwargs.into(), ty };
    let made = b.graph.push(BodyId::ROOT, &name, new);
    b.held.insert(node, made);
    leave_alone(b, original, (node, schema), made, &replaced);
    let mut open: Vec<&str> = line.attributes.iter().filter(|(_, form)| *form == Form::Open).map(|(a, _)| *a).collect();
    open.extend(unsaid(line, schema));
    let open = if open.is_empty() { String::new() } else { format!("; not held: {}", open.join(", ")) };
    b.assumed.insert(format!("{} is held to {} by its slots and attributes{open}", op.r#type, line.target));
    let outputs = op.output_desc.len();
    // Where nobody typed the call, whoever takes it apart says that it has several results.
    let is_taken_apart = || original.users_in_order(node).iter().any(|u| original.target(*u) == "_operator.getitem");
    let count = count.or_else(|| is_taken_apart().then_some(outputs));
    match count {
        None if outputs <= 1 => {
            let is_narrow = line.results.as_ref().and_then(|r| r.first()).is_some_and(|(_, narrow)| *narrow);
            let made = if is_narrow { b.narrow_places(made)? } else { made };
            let value = packed(b, op, 0, made).map_or_else(|| made.into(), Value::Packed);
            Ok(vec![Some(value); outputs])
        }
        None => {
            Ok(std::iter::once(Some(made.into())).chain(std::iter::repeat_n(None, outputs.saturating_sub(1))).collect())
        }
        Some(count) => {
            let mut values = Vec::new();
            for place in 0..outputs {
                let (at, is_narrow) =
                    line.results.as_ref().and_then(|r| r.get(place)).copied().unwrap_or((place, false));
                if at >= count {
                    values.push(None);
                    continue;
                }
                let item = b.item(made, at)?;
                if *b.graph.ty(item) == ValueType::Unknown
                    && let Some(said) = said_of(original, node, at)
                {
                    b.graph.set_type(item, said);
                }
                let item = lifted.iter().rev().filter(|_| at == 0).try_fold(item, |item, axis| {
                    b.call("aten.unsqueeze.default", vec![Arg::Node(item), Arg::Int(*axis)])
                })?;
                let item = if is_narrow { b.narrow_places(item)? } else { item };
                values.push(Some(packed(b, op, place, item).map_or_else(|| item.into(), Value::Packed)));
            }
            Ok(values)
        }
    }
}

/// Gives a call what was copied in place of a copy that is made because GE's operator writes it, where the call itself writes nothing, or writes an input
/// and its schema keeps silent about it.
fn uncopied(b: &Build<'_>, original: &Graph, (node, schema): (NodeId, &Schema), replaced: &Replaced) -> Replaced {
    let effects = b.registry().operator_of(original, node).map(|o| &o.effects);
    let bound = Bound::bind(schema, original, original.args(node), original.kwargs(node)).ok();
    let before = |at: usize, fed: &Arg| -> Option<Arg> {
        let access = effects?.params.get(at)?;
        let (fed, given) = (fed.as_node()?, bound.as_ref()?.get(at).as_node()?);
        let [Arg::Node(copied)] = b.graph.args(fed) else { return None };
        let is_copy = |graph: &Graph, n: NodeId| graph.target(n) == COPY && graph.kwargs(n).is_empty();
        let is_idle = is_copy(&b.graph, fed) && (is_copy(&b.graph, *copied) || !is_copy(original, given));
        let is_input = b.graph.kind(*copied) == NodeKind::Placeholder;
        (!b.has_written && is_idle && (!access.writes || access.hidden && is_input)).then_some(Arg::Node(*copied))
    };
    replaced.iter().map(|(at, fed)| (*at, before(*at, fed).unwrap_or_else(|| fed.clone()))).collect()
}

const COPY: &str = "aten.clone.default";

/// Whether all floats of the result's sizes have one type: PyTorch's operators cast what is not, and GE's do not.
fn are_of_one_type(b: &Build<'_>, args: &[Arg], ty: &ValueType) -> bool {
    let Some(result) = ty.as_tensor() else { return true };
    let given = args.iter().filter_map(|a| b.tensor(a.as_node()?).ok());
    let floats: Vec<Dtype> = given.filter(|t| t.dtype.is_float() && t.sizes == result.sizes).map(|t| t.dtype).collect();
    floats.windows(2).all(|w| w.first() == w.last())
}

/// An argument of a call that writes nothing into it, where GE's operator writes the input that feeds it.
fn overwritten<'s>(
    b: &Build<'_>,
    original: &Graph,
    (node, schema): (NodeId, &'s Schema),
    given: &Replaced,
) -> Option<&'s str> {
    let effects = &b.registry().operator_of(original, node)?.effects;
    let is_wrong = |at: &usize, fed: &Arg| {
        fed.nodes().any(|n| b.written_inputs.contains(&n)) && !effects.params.get(*at).is_some_and(|a| a.writes)
    };
    let at = given.iter().find(|(at, fed)| is_wrong(at, fed))?.0;
    schema.params.get(*at).map(|p| &*p.name)
}

/// Notes the inputs that a call overwrites, about which its schema keeps silent, and of which GE's operator was given a copy.
fn leave_alone(b: &mut Build<'_>, original: &Graph, (node, schema): (NodeId, &Schema), made: NodeId, given: &Replaced) {
    let Some(operator) = b.registry().operator_of(original, node) else { return };
    for (at, (access, param)) in operator.effects.params.iter().zip(&schema.params).enumerate() {
        let Some(input) = given.get(&at).and_then(Arg::as_node).filter(|_| access.hidden) else { continue };
        if b.graph.kind(input) == NodeKind::Placeholder && !b.written_inputs.contains(&input) {
            b.left_alone.push((input, made));
            let (name, target) = (&param.name, &operator.target);
            b.assumed.insert(format!("nobody reads what {target} leaves in its `{name}`, of which GE is given a copy"));
        }
    }
}

/// Arguments of a call that are no tensors, and of which its GE operator says nothing: it has one form for all of them.
fn unsaid<'s>(line: &Line, schema: &'s Schema) -> Vec<&'s str> {
    let left = |name: &str| line.slots.iter().any(|(slot, form)| *slot == "-" && form.params().contains(&name));
    let params = schema.params.iter().filter(|p| p.ty.base != Base::Tensor);
    params.map(|p| &*p.name).filter(|name| left(name)).collect()
}

/// Takes back last dimensions of one element that were put behind rows or lines: a norm of a batch is the same with them. Returns which.
fn unlifted(b: &Build<'_>, args: &mut [Arg]) -> Vec<i64> {
    let mut axes = Vec::new();
    let Some(Arg::Node(x)) = args.first_mut() else { return axes };
    while let ("aten.unsqueeze.default", &[Arg::Node(from), Arg::Int(axis)]) = (b.graph.target(*x), b.graph.args(*x))
        && axis >= 2
        && usize::try_from(axis).ok() == b.rank(from).ok()
    {
        axes.push(axis);
        *x = from;
    }
    axes
}

/// Outputs that GE infers to be of 4 bits where descriptors say nothing.
const INFERRED_HALF: [(&str, usize); 1] = [("FlatQuant", 0)];

/// What an output of 4 bits is, of which PyTorch packs several in an element.
fn packed(b: &Build<'_>, op: &WrittenOp<'_>, place: usize, item: NodeId) -> Option<Packed> {
    let said = DataType::try_from(op.output_desc.get(place)?.dtype).ok()?;
    let own = b.dtype(item).ok()?;
    let is_inferred = said == DataType::Float && INFERRED_HALF.contains(&(op.r#type, place));
    let is_half = is_inferred || matches!(said, DataType::Int4 | DataType::Float4E2m1 | DataType::Float4E1m2);
    let each = i64::try_from(own.bytes()).ok()?.checked_mul(2)?;
    (is_half && own.is_integer()).then_some(Packed { packed: item, each, apart: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_slots_and_attributes_that_its_operator_has_and_no_definition_is_held_so() {
        for (kind, lines) in LINES.iter() {
            let known = operators::operator(kind).unwrap_or_else(|| panic!("{kind}"));
            assert!(
                super::super::rule(kind).is_none() && super::super::exact::line(kind).is_none(),
                "{kind} is defined"
            );
            for (slot, form) in lines.iter().flat_map(|l| &l.slots).filter(|(slot, _)| *slot != "-") {
                assert!(known.inputs.iter().any(|s| s.name == *slot), "{kind}: {slot}");
                assert_ne!(*form, Form::Open, "{kind}: {slot}");
            }
            for (name, _) in lines.iter().flat_map(|l| &l.attributes).filter(|(name, _)| !name.starts_with('@')) {
                assert!(known.attribute(name).is_some(), "{kind}: {name}");
            }
        }
        assert!(LINES.len() > 100);
    }

    #[test]
    fn what_an_operator_says_nothing_of_is_named() {
        let schema = Schema::parse("aten::gelu(Tensor self, *, str approximate='none') -> Tensor").unwrap();
        let line = LINES.get("Gelu").and_then(|lines| lines.first()).unwrap();
        assert_eq!(unsaid(line, &schema), ["approximate"]);
        let schema =
            Schema::parse("npu::npu_prefetch(Tensor self, Tensor? dependency, SymInt max_size, SymInt offset=0) -> ()");
        let line = LINES.get("Cmo").and_then(|lines| lines.first()).unwrap();
        assert_eq!(unsaid(line, &schema.unwrap()), [""; 0]);
    }

    #[test]
    fn every_form_reads_arguments_that_the_call_has_and_few_attributes_are_held_by_nobody() {
        let registry = crate::ops::Registry::standard();
        let mut open = 0;
        for line in LINES.values().flatten() {
            let schema = registry.get(line.target).map(|o| &o.schema).unwrap_or_else(|| panic!("{}", line.target));
            let named = |name: &str| schema.param_index(name).is_some() || name == "result" || name.starts_with("DT_");
            for (name, form) in line.slots.iter().chain(&line.attributes) {
                assert!(form.params().into_iter().all(named), "{}: {name}", line.target);
                assert!(name.strip_prefix('@').is_none_or(named), "{}: {name}", line.target);
                open += usize::from(*form == Form::Open);
            }
        }
        assert!(open <= 4, "{open}");
    }
}
