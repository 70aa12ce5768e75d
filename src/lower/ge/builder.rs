//! Making GE operators: names, descriptors, constants from Python numbers, attributes.
//!
//! Promises: an operator made here has its inputs in slot order with one descriptor each (a copy of the producer's as it
//! is then), all attributes of its table entry, and one output descriptor each; names are TorchAir's (the type, then
//! `_1`, `_2` ...). Leaves scopes, control edges and clean-up to others.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::{Attrs, Desc, Op, Source};
use super::draws::Draws;
use super::literal::Literal;
use super::operators::{self, Feed};
use super::proto::{AttrDef, DataType, ListValue, ShapeDef, TensorDef, TensorDescriptor, Value as Pb};
use super::types;
use super::value::{Meta, Tensor, TensorId, Value};
use crate::graph::Dtype;
use crate::sym::{Dim, Symbols};

/// Why a converter refuses a call: a text for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal(pub(super) String);

impl<T: Into<String>> From<T> for Refusal {
    fn from(text: T) -> Self {
        Refusal(text.into())
    }
}

/// An input of an operator to be made.
#[derive(Clone, Debug)]
pub(super) enum In {
    None,
    Tensor(TensorId),
    /// A Python number or list: it becomes a constant.
    Literal(Literal),
    /// The inputs of a dynamic slot.
    Many(Vec<In>),
}

impl From<TensorId> for In {
    fn from(t: TensorId) -> Self {
        In::Tensor(t)
    }
}

impl From<Option<TensorId>> for In {
    fn from(t: Option<TensorId>) -> Self {
        t.map_or(In::None, In::Tensor)
    }
}

impl From<Literal> for In {
    fn from(l: Literal) -> Self {
        In::Literal(l)
    }
}

impl From<&[TensorId]> for In {
    fn from(list: &[TensorId]) -> Self {
        In::Many(list.iter().map(|t| In::Tensor(*t)).collect())
    }
}

impl TryFrom<&Value> for In {
    type Error = Refusal;

    fn try_from(value: &Value) -> Result<Self, Refusal> {
        match value {
            Value::None => Ok(In::None),
            Value::Tensor(t) => Ok(In::Tensor(*t)),
            Value::List(items) if items.iter().any(|v| v.tensor().is_some()) => {
                Ok(In::Many(items.iter().map(In::try_from).collect::<Result<_, _>>()?))
            }
            _ => value
                .literal()
                .map(In::Literal)
                .ok_or_else(|| Refusal("an argument is neither tensor nor number".into())),
        }
    }
}

/// The value of an attribute to be set.
#[derive(Clone, Debug)]
pub(super) enum Attr {
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(String),
    Type(DataType),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Bools(Vec<bool>),
}

impl Attr {
    #[allow(clippy::cast_possible_truncation)] // Attributes are single floats.
    fn to_def(&self, kind: &str) -> AttrDef {
        let value = match (self, kind) {
            (Attr::Type(t), "int") => Pb::I(t.cpp()),
            (Attr::Type(t), _) => Pb::Dt(t.cpp()),
            (Attr::Int(i), "dtype") => Pb::Dt(*i),
            (Attr::Int(i), "float") => Pb::F(*i as f32),
            (Attr::Int(i), "bool") => Pb::B(*i != 0),
            (Attr::Int(i), _) => Pb::I(*i),
            (Attr::Float(f), _) => Pb::F(*f as f32),
            (Attr::Bool(b), "int") => Pb::I(i64::from(*b)),
            (Attr::Bool(b), _) => Pb::B(*b),
            (Attr::Str(s), _) => Pb::S(s.as_bytes().to_vec()),
            (Attr::Ints(v), "floats") => {
                Pb::List(ListValue { f: v.iter().map(|i| *i as f32).collect(), val_type: 3, ..Default::default() })
            }
            (Attr::Ints(v), "dtypes") => Pb::List(ListValue { dt: v.clone(), val_type: 10, ..Default::default() }),
            (Attr::Ints(v), _) => Pb::List(ListValue { i: v.clone(), val_type: 2, ..Default::default() }),
            (Attr::Floats(v), _) => {
                Pb::List(ListValue { f: v.iter().map(|f| *f as f32).collect(), val_type: 3, ..Default::default() })
            }
            (Attr::Bools(v), _) => Pb::List(ListValue { b: v.clone(), val_type: 4, ..Default::default() }),
        };
        value.into()
    }
}

macro_rules! attr_from {
    ($($from:ty => $variant:ident),*) => {
        $(impl From<$from> for Attr {
            fn from(v: $from) -> Self {
                Attr::$variant(v)
            }
        })*
    };
}

attr_from!(i64 => Int,  f64 => Float, bool => Bool, String => Str, DataType => Type, Vec<i64> => Ints, Vec<f64> => Floats, Vec<bool> => Bools);

impl From<&str> for Attr {
    fn from(v: &str) -> Self {
        Attr::Str(v.into())
    }
}

/// The GE graph that is being made.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) ops: Vec<Op>,
    pub(super) tensors: Vec<Tensor>,
    /// Operators that must run though nothing reads them.
    pub(super) kept: Vec<usize>,
    /// The seed of random numbers.
    pub(super) seed: i64,
    /// Whether the device is of the generation of Ascend 950, for which some operators are made otherwise.
    pub(super) arch35: bool,
    /// Whether CANN exchanges parts of one length by an operator of their own.
    pub(super) exchanges_equals: bool,
    pub(super) draws: Option<Draws>,
    names: FxHashSet<Arc<str>>,
    counters: FxHashMap<&'static str, usize>,
    /// What was written of types for people.
    texts: FxHashMap<(Dtype, Rc<[Dim]>), Arc<str>>,
}

impl Builder {
    /// Returns an empty graph.
    pub(super) fn new(seed: i64, arch35: bool, exchanges_equals: bool) -> Builder {
        Builder { seed, arch35, exchanges_equals, ..Builder::default() }
    }

    /// Returns the tensor's record. Ids are only made here, so there always is one.
    pub(super) fn tensor(&self, t: TensorId) -> Option<&Tensor> {
        self.tensors.get(t.0)
    }

    /// Returns the type that is known of the tensor.
    pub(super) fn dtype(&self, t: TensorId) -> DataType {
        self.tensor(t).map_or(DataType::Undefined, |t| t.dtype)
    }

    /// Returns the operator that makes the tensor.
    pub(super) fn op_of(&self, t: TensorId) -> Option<&Op> {
        self.ops.get(self.tensor(t)?.op)
    }

    /// Returns the output that the tensor is.
    pub(super) fn edge(&self, t: TensorId) -> Source {
        self.tensor(t).map_or(Source::Unfed, |t| Source::Data(t.op, t.output))
    }

    /// Returns the wait for the operator that makes the tensor.
    pub(super) fn after(&self, t: TensorId) -> Source {
        self.tensor(t).map_or(Source::Unfed, |t| Source::Control(t.op))
    }

    fn desc_mut(&mut self, t: TensorId) -> Option<&mut Desc> {
        let (op, output) = self.tensor(t).map(|t| (t.op, t.output))?;
        self.ops.get_mut(op)?.gives.get_mut(output)
    }

    /// Registers another view of an operator's output.
    pub(super) fn add_tensor(&mut self, tensor: Tensor) -> TensorId {
        let id = TensorId(self.tensors.len());
        self.tensors.push(tensor);
        id
    }

    /// Returns another tensor of the same output, seen as something else.
    pub(super) fn again(&mut self, t: TensorId, meta: Meta) -> TensorId {
        let (op, output, dtype) = self.tensor(t).map_or((0, 0, DataType::Undefined), |t| (t.op, t.output, t.dtype));
        self.add_tensor(Tensor { op, output, dtype, meta: Some(meta), view: None })
    }

    pub(super) fn output(&mut self, op: usize, output: usize) -> TensorId {
        self.add_tensor(Tensor { op, output, dtype: DataType::Undefined, meta: None, view: None })
    }

    /// Returns a free name: the wanted one, or the type with a number.
    pub(super) fn name(&mut self, wanted: Option<&str>, kind: &'static str) -> Arc<str> {
        if let Some(name) = wanted.and_then(|name| self.taken(name.into())) {
            return name;
        }
        let mut count = match self.counters.get(kind) {
            Some(count) => *count,
            None => {
                self.counters.insert(kind, 0);
                if let Some(name) = self.taken(kind.into()) {
                    return name;
                }
                0
            }
        };
        loop {
            count = count.saturating_add(1);
            if let Some(name) = self.taken(format!("{kind}_{count}").into()) {
                self.counters.insert(kind, count);
                return name;
            }
        }
    }

    /// Takes a name; nothing where it is another's.
    fn taken(&mut self, name: Arc<str>) -> Option<Arc<str>> {
        self.names.insert(name.clone()).then_some(name)
    }

    /// Makes a constant of a Python number or list; without a type it has numpy's.
    pub(super) fn constant(&mut self, value: &Literal, dtype: Option<DataType>) -> Result<TensorId, Refusal> {
        let dtype = dtype.unwrap_or_else(|| value.default_type());
        let data = value.bytes(dtype).map_err(|e| Refusal(e.to_string()))?;
        Ok(self.raw_constant(dtype, value.dims(), data, Some(value.repr())))
    }

    /// Makes a constant of bytes.
    pub(super) fn raw_constant(
        &mut self,
        dtype: DataType,
        dim: Vec<i64>,
        data: Vec<u8>,
        readable: Option<String>,
    ) -> TensorId {
        let mut op = Op::new(self.name(None, "Const"), "Const");
        op.gives = vec![Desc { dtype, layout: "ND".into(), shape: Some(dim.as_slice().into()), ..Desc::default() }];
        let desc = TensorDescriptor {
            dtype: dtype as i32,
            layout: "ND".into(),
            shape: Some(ShapeDef { dim }),
            ..Default::default()
        };
        op.attrs.insert("value", Pb::T(TensorDef { desc: Some(desc), data }));
        if let Some(text) = readable {
            op.attrs.insert("_readable_value", Pb::S(text.into_bytes()));
        }
        self.ops.push(op);
        self.output(self.ops.len().saturating_sub(1), 0)
    }

    /// Makes a Data.
    pub(super) fn data(
        &mut self,
        name: Option<&str>,
        index: usize,
        dtype: DataType,
        dim: Vec<i64>,
        host: bool,
    ) -> TensorId {
        let desc = Desc {
            dtype,
            layout: "ND".into(),
            device: if host { "CPU" } else { "NPU" },
            // An empty list of sizes is no field at all in what TorchAir writes.
            shape: (!dim.is_empty()).then(|| dim.into()),
            ..Desc::named("x")
        };
        let mut op = Op::new(self.name(name, "Data"), "Data");
        op.attrs.insert("index", Pb::I(i64::try_from(index).unwrap_or(i64::MAX)));
        op.takes.push(desc.clone());
        op.gives.push(Desc { name: "y".into(), ..desc });
        self.ops.push(op);
        self.output(self.ops.len().saturating_sub(1), 0)
    }

    /// Makes an operator with one output.
    pub(super) fn one(&mut self, kind: &str, inputs: Vec<In>, attrs: &[(&str, Attr)]) -> Result<TensorId, Refusal> {
        let outputs = self.many(kind, inputs, attrs, None)?;
        outputs.first().copied().ok_or_else(|| Refusal(format!("{kind} has no output")))
    }

    /// Makes an operator; `dynamic` says how many tensors a dynamic output has.
    pub(super) fn many(
        &mut self,
        kind: &str,
        inputs: Vec<In>,
        attrs: &[(&str, Attr)],
        dynamic: Option<usize>,
    ) -> Result<Vec<TensorId>, Refusal> {
        let known = operators::operator(kind).ok_or_else(|| Refusal(format!("GE has no operator {kind}")))?;
        let inputs = self.promote(known, inputs)?;
        let mut op = Op::new(self.name(None, known.name), known.name);
        op.takes.reserve_exact(inputs.len());
        op.gives.reserve_exact(known.outputs.len());
        for (slot, input) in known.inputs.iter().zip(&inputs) {
            self.feed(&mut op, slot.name.into(), input);
        }
        for a in &known.attributes {
            match (attrs.iter().find(|(name, _)| *name == a.name), &a.default) {
                (Some((_, given)), _) => op.attrs.insert(a.name, given.to_def(a.kind)),
                (None, Some(default)) => op.attrs.insert_default(a.name, default),
                (None, None) if a.kind == "tensor" => {}
                (None, None) => return Err(Refusal(format!("{kind} needs the attribute {}", a.name))),
            }
        }
        if let Some((name, _)) = attrs.iter().find(|(name, _)| known.attribute(name).is_none()) {
            return Err(Refusal(format!("{kind} has no attribute {name}")));
        }
        for (name, any_number) in &known.outputs {
            let count = if *any_number { dynamic.unwrap_or(0) } else { 1 };
            for i in 0..count {
                let name = if *any_number { format!("{name}{i}").into() } else { Cow::Borrowed(*name) };
                op.gives.push(Desc::named(name));
            }
        }
        let (place, count) = (self.ops.len(), op.gives.len());
        self.ops.push(op);
        Ok((0..count).map(|i| self.output(place, i)).collect())
    }

    fn feed(&self, op: &mut Op, slot: Cow<'static, str>, input: &In) {
        match input {
            In::Tensor(t) => {
                let output = self.tensor(*t).map_or(0, |t| t.output);
                let made = self.op_of(*t).and_then(|p| p.gives.get(output));
                // What is there for people stands where the tensor is made.
                let desc = made.map_or_else(Desc::default, |d| Desc {
                    dtype: d.dtype,
                    shape: d.shape.clone(),
                    layout: d.layout.clone(),
                    device: d.device,
                    ..Desc::named(slot)
                });
                op.inputs.push(self.edge(*t));
                op.takes.push(desc);
            }
            In::Many(list) => {
                for (i, input) in list.iter().enumerate() {
                    self.feed(op, format!("{slot}{i}").into(), input);
                }
            }
            In::None | In::Literal(_) => {
                op.inputs.push(Source::Unfed);
                op.takes.push(Desc { is_unfed: true, ..Desc::named(slot) });
            }
        }
    }

    /// Turns Python numbers into constants: of the type of the tensors beside them where that is of their kind (float or
    /// integer), else of numpy's; in slots for positions always int64.
    fn promote(&mut self, known: &operators::GeOperator, mut inputs: Vec<In>) -> Result<Vec<In>, Refusal> {
        inputs.resize(known.inputs.len(), In::None);
        for (slot, input) in known.inputs.iter().zip(&mut inputs) {
            match (slot.feed, &*input) {
                (Feed::Required, In::None) => {
                    return Err(Refusal(format!("input {} of {} is needed", slot.name, known.name)));
                }
                (Feed::Dynamic, In::Many(_)) => {}
                (Feed::Dynamic, In::None) => *input = In::Many(Vec::new()),
                (Feed::Dynamic, other) => *input = In::Many(vec![other.clone()]),
                (_, In::Many(_)) => {
                    return Err(Refusal(format!("input {} of {} is one tensor, not several", slot.name, known.name)));
                }
                (_, In::Literal(l)) if slot.index => {
                    let l = l.clone();
                    *input = In::Tensor(self.constant(&l, Some(DataType::Int64))?);
                }
                _ => {}
            }
        }
        let mut types = Vec::new();
        for input in inputs.iter().flat_map(flat) {
            if let In::Tensor(t) = input
                && !types.contains(&self.dtype(*t))
            {
                types.push(self.dtype(*t));
            }
        }
        let mut promoted = Vec::with_capacity(inputs.len());
        for input in inputs {
            promoted.push(match input {
                In::Literal(l) => self.beside(known.name, &l, &types)?,
                In::Many(list) => In::Many(
                    list.into_iter()
                        .map(|i| match i {
                            In::Literal(l) => self.beside(known.name, &l, &types),
                            other => Ok(other),
                        })
                        .collect::<Result<_, _>>()?,
                ),
                other => other,
            });
        }
        Ok(promoted)
    }

    fn beside(&mut self, kind: &str, value: &Literal, types: &[DataType]) -> Result<In, Refusal> {
        use DataType::{
            Bf16, Complex32, Complex64, Complex128, Double, Float, Float16, Int8, Int32, Int64, Uint8, Uint32,
        };
        let of_kind: &[DataType] = match value {
            Literal::Complex(..) => &[Complex32, Complex64, Complex128],
            _ if value.is_float() => &[Bf16, Float16, Float, Double],
            _ => &[Int8, Uint8, Int32, Uint32, Int64],
        };
        let mut fitting = types.iter().filter(|t| of_kind.contains(t));
        let dtype = fitting.next().copied();
        if let (Some(a), Some(b)) = (dtype, fitting.next()) {
            let text = value.repr();
            return Err(Refusal(format!("{kind}: {text} could be {} or {}", a.name(), b.name())));
        }
        let dtype = if value.is_empty() { None } else { dtype };
        Ok(In::Tensor(self.constant(value, dtype)?))
    }

    /// Returns the values as tensors of `dtype`: a Cast where the type is another, a constant of a number.
    pub(super) fn cast(&mut self, value: &Value, dtype: DataType) -> Result<TensorId, Refusal> {
        match value {
            Value::Tensor(t) if self.dtype(*t) == dtype => Ok(*t),
            Value::Tensor(t) => self.one("Cast", vec![In::Tensor(*t)], &[("dst_type", Attr::Type(dtype))]),
            other => match other.literal() {
                Some(l) => self.constant(&l, Some(dtype)),
                None => Err(Refusal("an argument is neither tensor nor number".into())),
            },
        }
    }

    /// Sets the FX type of a tensor, and with it the type of its descriptor.
    pub(super) fn set_meta(&mut self, t: TensorId, meta: Meta, symbols: &Symbols) -> Result<(), Refusal> {
        let Some(dtype) = types::type_of(&meta) else {
            return Err(Refusal("GE has no type for a result's dtype".into()));
        };
        let text = self.text(&meta, symbols);
        let Some(tensor) = self.tensors.get_mut(t.0) else { return Ok(()) };
        let desc = self.ops.get_mut(tensor.op).and_then(|op| op.gives.get_mut(tensor.output));
        if let Some(desc) = desc {
            desc.meta = Some(text);
            match desc.dtype {
                // torch has no type of its own for these; the operator knows better.
                kept @ (DataType::Hifloat8 | DataType::Float8E8m0 | DataType::Float4E2m1 | DataType::Float4E1m2) => {
                    tensor.dtype = kept;
                }
                _ => {
                    desc.dtype = dtype;
                    tensor.dtype = dtype;
                }
            }
        }
        tensor.meta = Some(meta);
        Ok(())
    }

    /// Returns what is written of a type for people; the many tensors of one type share it.
    fn text(&mut self, meta: &Meta, symbols: &Symbols) -> Arc<str> {
        let Some(tensor) = meta.as_tensor() else { return types::text(meta, symbols).into() };
        let key = (tensor.dtype, tensor.sizes.clone());
        self.texts.entry(key).or_insert_with(|| types::text(meta, symbols).into()).clone()
    }

    /// Returns the attributes of the operator that makes the tensor.
    pub(super) fn attrs_mut(&mut self, t: TensorId) -> Option<&mut Attrs> {
        let op = self.tensor(t)?.op;
        self.ops.get_mut(op).map(|op| &mut op.attrs)
    }

    /// Sets a truth value that GE reads but no operator declares.
    pub(super) fn mark(&mut self, t: TensorId, key: &'static str) {
        if let Some(attrs) = self.attrs_mut(t) {
            attrs.insert(key, Pb::B(true));
        }
    }

    /// Adds the format of a slot to one of the operator's two lists of formats.
    pub(super) fn add_format(&mut self, t: TensorId, key: &'static str, place: i64, format: &str) {
        let entry = self.attrs_mut(t).and_then(|attrs| attrs.entry(key, Pb::List(ListValue::default())));
        if let Some(Pb::List(list)) = entry.and_then(|entry| entry.value.as_mut()) {
            list.i.push(place);
            list.s.push(format.as_bytes().to_vec());
        }
    }

    /// Keeps the operator that makes the tensor from being dropped.
    pub(super) fn keep(&mut self, t: TensorId) {
        self.kept.extend(self.tensor(t).map(|t| t.op));
    }

    /// Keeps for people on the tensor's descriptor which FX value it is.
    pub(super) fn set_fx_name(&mut self, t: TensorId, text: String) {
        if let Some(desc) = self.desc_mut(t) {
            desc.fx_name = Some(text.into());
        }
    }

    /// Adds a control edge to the operator that makes the tensor.
    pub(super) fn add_control(&mut self, t: TensorId, control: Source) {
        if let Some(op) = self.tensor(t).map(|t| t.op).and_then(|op| self.ops.get_mut(op)) {
            op.inputs.push(control);
        }
    }

    /// Returns the type of a descriptor, which may be another than casts look at.
    pub(super) fn desc_type(&self, t: TensorId) -> DataType {
        let output = self.tensor(t).map_or(0, |t| t.output);
        self.op_of(t).and_then(|op| op.gives.get(output)).map_or(DataType::Undefined, |d| d.dtype)
    }

    /// Sets the type of a descriptor alone: what consumers copy, not what casts look at.
    pub(super) fn set_desc_type(&mut self, t: TensorId, dtype: DataType) {
        if let Some(desc) = self.desc_mut(t) {
            desc.dtype = dtype;
        }
    }

    /// Returns whether the tensor is an input that stays on the host.
    pub(super) fn is_host_data(&self, t: TensorId) -> bool {
        self.op_of(t).is_some_and(|op| op.kind == "Data" && op.takes.first().is_some_and(|d| d.device == "CPU"))
    }
}

fn flat(input: &In) -> Box<dyn Iterator<Item = &In> + '_> {
    match input {
        In::Many(list) => Box::new(list.iter()),
        other => Box::new(std::iter::once(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(b: &mut Builder, dtype: DataType) -> TensorId {
        let t = b.data(None, 0, dtype, vec![2], false);
        b.tensors[t.0].dtype = dtype;
        t
    }

    fn value_of(b: &Builder, t: TensorId) -> (DataType, Vec<u8>) {
        match b.op_of(t).unwrap().attrs.get("value").unwrap().value.as_ref().unwrap() {
            Pb::T(t) => (DataType::try_from(t.desc.as_ref().unwrap().dtype).unwrap(), t.data.clone()),
            _ => panic!("no constant"),
        }
    }

    #[test]
    fn names_are_the_type_with_a_number() {
        let mut b = Builder::default();
        let names: Vec<_> = (0..3).map(|_| b.name(None, "Add")).collect();
        assert_eq!(names.iter().map(|n| &**n).collect::<Vec<_>>(), ["Add", "Add_1", "Add_2"]);
        assert_eq!(&*b.name(Some("Mul"), "Data"), "Mul");
        assert_eq!(&*b.name(None, "Mul"), "Mul_1");
    }

    #[test]
    fn a_number_beside_a_tensor_has_its_type() {
        let mut b = Builder::default();
        let x = typed(&mut b, DataType::Float16);
        b.one("Add", vec![x.into(), Literal::Float(1.0).into()], &[]).unwrap();
        assert_eq!(value_of(&b, TensorId(1)), (DataType::Float16, vec![0, 0x3c]));
        // An integer beside a float tensor is numpy's int64.
        b.one("Add", vec![x.into(), Literal::Int(1).into()], &[]).unwrap();
        assert_eq!(value_of(&b, TensorId(3)).0, DataType::Int64);
    }

    #[test]
    fn positions_are_int64() {
        let mut b = Builder::default();
        let x = typed(&mut b, DataType::Int32);
        b.one("ReduceSum", vec![x.into(), Literal::Ints(vec![0]).into()], &[]).unwrap();
        assert_eq!(value_of(&b, TensorId(1)).0, DataType::Int64);
    }

    #[test]
    fn a_number_between_two_types_is_refused() {
        let mut b = Builder::default();
        let (x, y) = (typed(&mut b, DataType::Float16), typed(&mut b, DataType::Float));
        let refusal = b.one("AxpyV2", vec![x.into(), y.into(), Literal::Float(2.0).into()], &[]).unwrap_err();
        assert_eq!(refusal.0, "AxpyV2: 2.0 could be DT_FLOAT16 or DT_FLOAT");
    }

    #[test]
    fn a_cast_is_made_only_to_another_type() {
        let mut b = Builder::default();
        let x = typed(&mut b, DataType::Float);
        assert_eq!(b.cast(&x.into(), DataType::Float).unwrap(), x);
        let y = b.cast(&x.into(), DataType::Int8).unwrap();
        assert_eq!(b.op_of(y).unwrap().attrs.get("dst_type").unwrap().as_i(), Some(2));
        // What a cast gives has no type yet, so that it is cast again: TorchAir does so.
        assert_ne!(b.cast(&y.into(), DataType::Int8).unwrap(), y);
    }

    #[test]
    fn unfed_inputs_are_empty_and_say_so() {
        let mut b = Builder::default();
        let x = typed(&mut b, DataType::Float);
        let y = b.one("MatMul", vec![x.into(), x.into(), In::None], &[]).unwrap();
        let op = b.op_of(y).unwrap();
        assert_eq!(op.inputs.as_slice(), [Source::Data(0, 0), Source::Data(0, 0), Source::Unfed]);
        assert!(op.takes[2].is_unfed && !op.takes[1].is_unfed);
    }
}
