//! A GE operator that is being defined: its inputs by slot, its attributes with their defaults, and calls that say what it computes.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::build::Build;
use super::told;
use super::value::{Numbers, Value};
use super::{Undefined, undefined};
use crate::graph::{Arg, Dtype, NodeId};
use crate::lower::ge::operators::{Feed, GeOperator};
use crate::lower::ge::proto::{AttrDef, Value as Attr};
use crate::lower::ge::raise::types::of_cpp;
use crate::lower::ge::written::WrittenOp;

/// A GE operator with what feeds it.
pub struct Call<'c, 'r> {
    /// The graph that is made.
    pub b: &'c mut Build<'r>,
    op: &'c WrittenOp<'c>,
    known: &'static GeOperator,
    slots: Vec<(&'static str, Vec<Option<Value>>)>,
    /// One a slot, then one an attribute: whether the definition asked for it.
    asked: RefCell<SmallVec<[bool; 16]>>,
}

impl<'c, 'r> Call<'c, 'r> {
    /// Binds what feeds an operator to its slots, by the names of its descriptors.
    pub fn bind(
        b: &'c mut Build<'r>,
        op: &'c WrittenOp<'c>,
        known: &'static GeOperator,
        inputs: Vec<Option<Value>>,
    ) -> Result<Self, Undefined> {
        let mut given = op.input_desc.iter().map(|d| d.name).zip(inputs).peekable();
        let mut slots = Vec::with_capacity(known.inputs.len());
        for slot in &known.inputs {
            let mut values = Vec::with_capacity(1);
            match slot.feed {
                Feed::Dynamic => {
                    while given
                        .peek()
                        .is_some_and(|(n, _)| n.strip_prefix(slot.name) == Some(&*values.len().to_string()))
                    {
                        values.push(given.next().and_then(|(_, v)| v));
                    }
                }
                _ => {
                    if given.peek().is_some_and(|(n, _)| *n == slot.name) {
                        values.push(given.next().and_then(|(_, v)| v));
                    }
                }
            }
            slots.push((slot.name, values));
        }
        if let Some((name, _)) = given.next() {
            return undefined(format!("`{name}` is no input of {} at that place", known.name));
        }
        let asked = SmallVec::from_elem(false, known.inputs.len().saturating_add(known.attributes.len()));
        Ok(Call { b, op, known, slots, asked: RefCell::new(asked) })
    }

    /// Returns every slot with what feeds it.
    pub fn slots(&self) -> &[(&'static str, Vec<Option<Value>>)] {
        &self.slots
    }

    /// Returns an attribute's value, if it has one.
    pub fn attribute_value(&self, name: &str) -> Option<&Attr> {
        self.attribute(name).ok()
    }

    /// Returns the type of the operator.
    pub fn kind(&self) -> &'static str {
        self.known.name
    }

    /// Returns how many outputs it has.
    pub fn outputs(&self) -> usize {
        self.op.output_desc.len()
    }

    /// Notes that what has that name was asked for.
    fn ask(&self, name: &str) {
        for (asked, _) in self.asked.borrow_mut().iter_mut().zip(self.names()).filter(|(_, own)| *own == name) {
            *asked = true;
        }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + use<'c, 'r> {
        let known = self.known;
        known.inputs.iter().map(|s| s.name).chain(known.attributes.iter().map(|a| a.name))
    }

    fn slot(&self, name: &str) -> &[Option<Value>] {
        self.ask(name);
        self.slots.iter().find(|(n, _)| *n == name).map_or(&[], |(_, v)| v)
    }

    /// Returns what feeds a slot, if anything does.
    pub fn given(&self, name: &str) -> Option<Value> {
        self.slot(name).first().and_then(Clone::clone)
    }

    /// Returns whether a slot is fed.
    pub fn is_fed(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// Returns what feeds a slot.
    pub fn value(&self, name: &str) -> Result<Value, Undefined> {
        self.given(name).ok_or_else(|| Undefined(format!("input `{name}` is not fed")))
    }

    /// Returns the tensor that feeds a slot.
    pub fn t(&mut self, name: &str) -> Result<NodeId, Undefined> {
        self.value(name)?.tensor(self.b)
    }

    /// Returns the tensor that feeds a slot, or the absence of one.
    pub fn maybe(&mut self, name: &str) -> Result<Arg, Undefined> {
        match self.given(name) {
            Some(v) => v.tensor(self.b).map(Arg::Node),
            None => Ok(Arg::None),
        }
    }

    /// Returns everything that feeds a dynamic slot.
    pub fn values(&self, name: &str) -> Result<Vec<Value>, Undefined> {
        let all: Option<Vec<Value>> = self.slot(name).iter().cloned().collect();
        all.ok_or_else(|| Undefined(format!("input `{name}` has places that are not fed")))
    }

    /// Returns the tensors that feed a dynamic slot.
    pub fn many(&mut self, name: &str) -> Result<Vec<NodeId>, Undefined> {
        let values = self.values(name)?;
        values.into_iter().map(|v| v.tensor(self.b)).collect()
    }

    /// Returns the numbers that feed a slot.
    pub fn numbers(&self, name: &str) -> Result<std::rc::Rc<Numbers>, Undefined> {
        match self.value(name)? {
            Value::Numbers(n) => Ok(n),
            Value::Tensor(_) | Value::Places(_) | Value::Drawing(_) | Value::Packed(_) => {
                undefined(format!("input `{name}` is computed by the graph"))
            }
        }
    }

    /// Returns the numbers that feed a slot, those that the graph computes too: what only running tells is asked for.
    pub fn numbers_told(&mut self, name: &str) -> Result<std::rc::Rc<Numbers>, Undefined> {
        match self.value(name)? {
            Value::Tensor(tensor) => told::numbers(self.b, tensor)
                .unwrap_or_else(|| undefined(format!("input `{name}` is computed by the graph")))
                .map(std::rc::Rc::new),
            _ => self.numbers(name),
        }
    }

    /// Returns the sizes that feed a slot.
    pub fn sizes(&mut self, name: &str) -> Result<Vec<Arg>, Undefined> {
        let numbers = self.numbers_told(name)?;
        let are_whole = numbers.dtype.is_integer() || numbers.items.is_empty();
        self.only(are_whole, &format!("sizes in `{name}` that are no integers"))?;
        Ok(numbers.items.clone())
    }

    /// Returns the known integers that feed a slot.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>, Undefined> {
        self.numbers(name)?.ints().ok_or_else(|| Undefined(format!("input `{name}` is no list of known integers")))
    }

    /// Returns the one known integer that feeds a slot.
    pub fn one_int(&self, name: &str) -> Result<i64, Undefined> {
        match self.ints(name)?.as_slice() {
            [one] => Ok(*one),
            _ => undefined(format!("input `{name}` is not one integer")),
        }
    }

    /// Returns the one number that feeds a slot.
    pub fn one_number(&mut self, name: &str) -> Result<Arg, Undefined> {
        let numbers = self.numbers_told(name)?;
        let Some(one) = numbers.only() else { return undefined(format!("input `{name}` is not one number")) };
        Ok(self.scalar(&numbers, one))
    }

    /// Returns a number beside the tensors that feed the operator: as its type holds it, where a tensor's is wider.
    pub fn scalar(&mut self, numbers: &Numbers, one: &Arg) -> Arg {
        let own = numbers.dtype;
        let holds_less = |d: Dtype| d.is_float() && d != own && d.bytes() >= own.bytes();
        match one {
            Arg::Float(held) if own.is_float() && self.beside().any(holds_less) => self.b.number(*held, Dtype::F64),
            other => numbers.argument(self.b, other),
        }
    }

    /// The types of the tensors that feed the operator.
    fn beside(&self) -> impl Iterator<Item = Dtype> + '_ {
        let fed = self.slots.iter().flat_map(|(_, values)| values.iter().flatten());
        fed.filter_map(|v| if let Value::Tensor(n) = v { self.b.dtype(*n).ok() } else { None })
    }

    /// Returns an operand beside the tensor `beside`: a number where it is one of the same dtype, else a tensor.
    pub fn operand(&mut self, name: &str, beside: NodeId) -> Result<Arg, Undefined> {
        let value = self.value(name)?;
        let like = self.b.tensor(beside)?;
        // A whole number is taken beside floats, as TorchAir's own graphs have it.
        let whole =
            value.numbers().and_then(|n| n.only()).is_some_and(|n| matches!(n, Arg::Int(_))) && like.dtype.is_float();
        if value.dtype(self.b)? != like.dtype && !whole {
            let found = value.dtype(self.b)?;
            return undefined(format!("`{name}` is {found} beside {}: GE takes operands of one type", like.dtype));
        }
        if let Value::Numbers(numbers) = &value
            && let Some(one) = numbers.only()
            && numbers.dims.len() <= like.rank()
        {
            return Ok(numbers.argument(self.b, one));
        }
        value.tensor(self.b).map(Arg::Node)
    }

    fn attribute(&self, name: &str) -> Result<&Attr, Undefined> {
        self.ask(name);
        let default = self.known.attribute(name).and_then(|a| a.default.as_ref());
        let found = self.op.attr.get(name).filter(|a| a.value.is_some()).or(default);
        match found {
            Some(AttrDef { value: Some(value) }) => Ok(value),
            _ => undefined(format!("attribute `{name}` is not set")),
        }
    }

    /// Returns an integer attribute; one that holds a type as its number.
    pub fn int(&self, name: &str) -> Result<i64, Undefined> {
        match self.attribute(name)? {
            Attr::I(v) | Attr::Dt(v) => Ok(*v),
            _ => undefined(format!("attribute `{name}` is no integer")),
        }
    }

    /// Returns an integer attribute as an argument.
    pub fn float(&mut self, name: &str) -> Result<f64, Undefined> {
        match *self.attribute(name)? {
            // In double precision it is the number that single precision holds.
            Attr::F(v) if self.beside().any(|d| matches!(d, Dtype::F64 | Dtype::C128)) => Ok(f64::from(v)),
            Attr::F(v) => Ok(self.b.attribute(v)),
            _ => undefined(format!("attribute `{name}` is no float")),
        }
    }

    /// Refuses an attribute that is not what GE takes without it.
    pub fn by_default(&self, name: &str) -> Result<(), Undefined> {
        let default = self.known.attribute(name).and_then(|a| a.default.as_ref()).and_then(|d| d.value.as_ref());
        self.only(Some(self.attribute(name)?) == default, &format!("another `{name}` than GE's own"))
    }

    /// Returns a truth attribute.
    pub fn flag(&self, name: &str) -> Result<bool, Undefined> {
        match self.attribute(name)? {
            Attr::B(v) => Ok(*v),
            _ => undefined(format!("attribute `{name}` is no truth value")),
        }
    }

    /// Returns a text attribute.
    pub fn text(&self, name: &str) -> Result<String, Undefined> {
        match self.attribute(name)? {
            Attr::S(v) => Ok(String::from_utf8_lossy(v).into_owned()),
            _ => undefined(format!("attribute `{name}` is no text")),
        }
    }

    /// Returns an attribute that is a list of integers.
    pub fn int_list(&self, name: &str) -> Result<Vec<i64>, Undefined> {
        match self.attribute(name)? {
            Attr::List(list) if list.s.is_empty() && list.f.is_empty() && list.b.is_empty() => Ok(list.i.clone()),
            _ => undefined(format!("attribute `{name}` is no list of integers")),
        }
    }

    /// Returns the type that an attribute names.
    pub fn dtype(&self, name: &str) -> Result<Dtype, Undefined> {
        let number = self.int(name)?;
        of_cpp(number).ok_or_else(|| Undefined(format!("attribute `{name}` names type {number}, which PyTorch lacks")))
    }

    /// Returns an attribute as an argument, by its kind.
    pub fn attribute_argument(&mut self, name: &str) -> Result<Arg, Undefined> {
        let kind = self.known.attribute(name).map_or("", |a| a.kind);
        Ok(match kind {
            "int" => Arg::Int(self.int(name)?),
            "float" => {
                let value = self.float(name)?;
                self.b.whole(value)
            }
            "bool" => Arg::Bool(self.flag(name)?),
            "str" => Arg::Str(self.text(name)?.into()),
            "ints" => Arg::list(self.int_list(name)?),
            "dtype" => Arg::Dtype(self.dtype(name)?),
            _ => return undefined(format!("attribute `{name}` of {} has no form in FX", self.known.name)),
        })
    }

    /// Refuses what the definition left unread: a fed input, or an attribute that is not its default.
    pub fn all_was_asked(&self) -> Result<(), Undefined> {
        let asked = self.asked.borrow();
        let mut slots = self.slots.iter().zip(asked.iter());
        if let Some(((name, _), _)) = slots.find(|((_, v), asked)| !**asked && v.iter().any(Option::is_some)) {
            return undefined(format!("what input `{name}` does is not defined"));
        }
        for (declared, asked) in self.known.attributes.iter().zip(asked.iter().skip(self.slots.len())) {
            let own = self.op.attr.get(declared.name).filter(|a| a.value.is_some());
            if !asked && own.is_some_and(|a| declared.default.as_ref() != Some(a)) {
                let name = declared.name;
                return undefined(format!("what attribute `{name}` does, which is not its default, is not defined"));
            }
        }
        Ok(())
    }

    /// Returns the layout of an input's descriptor.
    pub fn layout(&self, name: &str) -> &str {
        self.op.input_desc.iter().find(|d| d.name == name).map_or("", |d| d.layout)
    }

    /// Returns the layout of an output's descriptor.
    pub fn output_layout(&self, at: usize) -> &str {
        self.op.output_desc.get(at).map_or("", |d| d.layout)
    }

    /// Returns whether the operator has an input, and how it is fed.
    pub fn feed(&self, name: &str) -> Option<Feed> {
        self.known.inputs.iter().find(|s| s.name == name).map(|s| s.feed)
    }

    /// Refuses an attribute that has another value than the one that is defined.
    pub fn only(&self, holds: bool, what: &str) -> Result<(), Undefined> {
        if holds { Ok(()) } else { undefined(format!("{what} is not defined")) }
    }
}
