//! A call as a rule sees it: bound arguments, typed access to them, symbols for new sizes.
//!
//! Promises: an accessor gives a value of its type or a fault that names the argument; a symbolic scalar node is its
//! expression; a constant input is its value. Leaves arithmetic to `sizes`, layout to `layout`.

use smallvec::{SmallVec, smallvec};

use crate::graph::{Arg, Device, Dtype, MemoryFormat, NodeId, TensorType, ValueType, View};
use crate::ops::error::CallFault;
use crate::ops::registry::Registry;
use crate::ops::registry::operator::Operator;
use crate::ops::schema::bind::{Bound, describe};
use crate::ops::typing::sizes::Sizes;
use crate::sym::{Dim, Symbols};

/// What stands where a schema says `Scalar`, or where a number stands for a tensor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// A boolean, known or symbolic.
    Bool(Option<bool>),
    /// An integer.
    Int(Dim),
    /// A float; `None` if symbolic.
    Float(Option<f64>),
    /// A complex number.
    Complex,
}

impl Number {
    /// Returns the dtype that PyTorch gives a tensor of this number.
    pub fn dtype(self) -> Dtype {
        match self {
            Number::Bool(_) => Dtype::Bool,
            Number::Int(_) => Dtype::I64,
            Number::Float(_) => Dtype::F32,
            Number::Complex => Dtype::C64,
        }
    }
}

/// A tensor, or a number in a tensor's place.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a TensorType),
    /// A number.
    Number(Number),
}

/// One call.
pub struct Call<'a> {
    /// What is called.
    pub operator: &'a Operator,
    /// The registry, for operators that call others.
    pub registry: &'a Registry,
    /// Its arguments.
    pub bound: Bound<'a>,
    /// Where nodes have their types.
    pub view: &'a dyn View,
    /// For new sizes. (The view's own symbols may be taken out of it meanwhile.)
    pub symbols: &'a mut Symbols,
    /// The annotation of the call, where it has one: names for sizes that only running it tells.
    pub(in crate::ops) annotated: Option<&'a ValueType>,
    /// Whether the rule asked what the annotation says of sizes.
    pub(in crate::ops) consulted: std::cell::Cell<bool>,
}

/// Refuses tensors of more dimensions than there are.
fn within_rank(ty: &ValueType) -> Result<(), CallFault> {
    let mut work: SmallVec<[&ValueType; 4]> = smallvec![ty];
    while let Some(ty) = work.pop() {
        match ty {
            ValueType::Tensor(t) if t.rank() > TensorType::MAX_RANK => {
                let what = "dimensions of the result".into();
                return Err(CallFault::TooMuch { what, found: t.rank(), limit: TensorType::MAX_RANK });
            }
            ValueType::Many(all) => work.extend(all.iter()),
            _ => {}
        }
    }
    Ok(())
}

impl<'a> Call<'a> {
    /// Returns the type that the operator's rule gives, after checking what the operator needs.
    pub fn infer(&mut self) -> Result<ValueType, CallFault> {
        for need in &self.operator.needs {
            need(self)?;
        }
        let ty = match self.operator.rule {
            Some(rule) => rule(self),
            None => crate::ops::decompose::result_type(self),
        }?;
        within_rank(&ty)?;
        Ok(ty)
    }

    /// Returns the name of parameter `i`.
    pub fn name(&self, i: usize) -> &'a str {
        self.operator.schema.params.get(i).map_or("...", |p| &p.name)
    }

    /// Returns the argument of parameter `i`; a constant input is its value.
    pub fn arg(&self, i: usize) -> &'a Arg {
        self.constant(self.bound.get(i))
    }

    fn constant(&self, arg: &'a Arg) -> &'a Arg {
        match arg {
            Arg::Node(n) => match self.view.ty(*n) {
                ValueType::Const(Some(value)) => value,
                _ => arg,
            },
            _ => arg,
        }
    }

    /// Returns whether the argument is `None`.
    pub fn is_none(&self, i: usize) -> bool {
        *self.arg(i) == Arg::None
    }

    /// Returns a fault: argument `i` does not fit.
    pub fn bad(&self, i: usize, expected: impl Into<String>, found: impl Into<String>) -> CallFault {
        CallFault::mismatch(self.name(i), expected, found)
    }

    /// Returns a fault: argument `i` is of the wrong kind, shown as it stands.
    pub fn wrong_kind(&self, i: usize, expected: &str, arg: &Arg) -> CallFault {
        if let Arg::Node(n) = arg
            && matches!(self.view.ty(*n), ValueType::Unknown | ValueType::Const(_) | ValueType::Other(_))
        {
            return CallFault::Untyped { argument: self.name(i).into() };
        }
        CallFault::Kind { argument: self.name(i).into(), expected: expected.into(), found: describe(arg, self.view) }
    }

    fn node_tensor(&self, n: NodeId) -> Option<&'a TensorType> {
        let view: &'a dyn View = self.view;
        view.ty(n).as_tensor()
    }

    fn tensor_in(&self, i: usize, arg: &'a Arg) -> Result<&'a TensorType, CallFault> {
        match arg {
            Arg::Node(n) => self.node_tensor(*n).ok_or_else(|| self.wrong_kind(i, "a tensor", arg)),
            _ => Err(self.wrong_kind(i, "a tensor", arg)),
        }
    }

    /// Returns the tensor of parameter `i`.
    pub fn tensor(&self, i: usize) -> Result<&'a TensorType, CallFault> {
        self.tensor_in(i, self.arg(i))
    }

    /// Returns the tensor of parameter `i`, if there is one.
    pub fn opt_tensor(&self, i: usize) -> Result<Option<&'a TensorType>, CallFault> {
        if self.is_none(i) { Ok(None) } else { self.tensor(i).map(Some) }
    }

    /// Returns the tensors of a list.
    pub fn tensors(&self, i: usize) -> Result<Vec<&'a TensorType>, CallFault> {
        self.opt_tensors(i)?.into_iter().map(|t| t.ok_or_else(|| self.bad(i, "tensors only", "None"))).collect()
    }

    /// Returns the tensors of a list in which `None` may stand.
    pub fn opt_tensors(&self, i: usize) -> Result<Vec<Option<&'a TensorType>>, CallFault> {
        let arg = self.arg(i);
        if let Arg::Node(n) = arg
            && let ValueType::Many(types) = self.view.ty(*n)
        {
            let one = |t: &'a ValueType| t.as_tensor().ok_or_else(|| self.wrong_kind(i, "tensors", arg));
            return types.iter().map(|t| one(t).map(Some)).collect();
        }
        let items = arg.items().ok_or_else(|| self.wrong_kind(i, "a list of tensors", arg))?;
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            out.push(if *item == Arg::None { None } else { Some(self.tensor_in(i, item)?) });
        }
        Ok(out)
    }

    /// Returns the tensor or number of parameter `i`.
    pub fn operand(&self, i: usize) -> Result<Operand<'a>, CallFault> {
        if let Arg::Node(n) = self.arg(i)
            && let Some(t) = self.node_tensor(*n)
        {
            return Ok(Operand::Tensor(t));
        }
        self.number(i).map(Operand::Number)
    }

    /// Returns the number of parameter `i`.
    pub fn number(&self, i: usize) -> Result<Number, CallFault> {
        self.number_in(i, self.arg(i))
    }

    /// Returns the number of parameter `i`, if there is one.
    pub fn opt_number(&self, i: usize) -> Result<Option<Number>, CallFault> {
        if self.is_none(i) { Ok(None) } else { self.number(i).map(Some) }
    }

    pub(in crate::ops) fn number_in(&self, i: usize, arg: &Arg) -> Result<Number, CallFault> {
        match arg {
            Arg::Bool(v) => Ok(Number::Bool(Some(*v))),
            Arg::Int(v) => Ok(Number::Int(Dim::Fixed(*v))),
            Arg::Float(v) => Ok(Number::Float(Some(*v))),
            Arg::Complex(..) => Ok(Number::Complex),
            Arg::Node(n) => match self.view.ty(*n) {
                ValueType::SymInt(d) => Ok(Number::Int(*d)),
                ValueType::SymFloat(_) => Ok(Number::Float(None)),
                ValueType::SymBool(_) => Ok(Number::Bool(None)),
                _ => Err(self.wrong_kind(i, "a number", arg)),
            },
            _ => Err(self.wrong_kind(i, "a number", arg)),
        }
    }

    fn dim_in(&self, i: usize, arg: &Arg) -> Result<Dim, CallFault> {
        match self.number_in(i, arg)? {
            Number::Int(d) => Ok(d),
            Number::Bool(Some(b)) => Ok(Dim::Fixed(i64::from(b))),
            _ => Err(self.wrong_kind(i, "an integer", arg)),
        }
    }

    /// Returns the integer of parameter `i`, symbolic or not.
    pub fn dim(&self, i: usize) -> Result<Dim, CallFault> {
        self.dim_in(i, self.arg(i))
    }

    /// Returns the integer of parameter `i`, if there is one.
    pub fn opt_dim(&self, i: usize) -> Result<Option<Dim>, CallFault> {
        if self.is_none(i) { Ok(None) } else { self.dim(i).map(Some) }
    }

    /// Returns the integers of a list; one integer is a list of one.
    pub fn dims(&self, i: usize) -> Result<Sizes, CallFault> {
        let arg = self.arg(i);
        match arg {
            Arg::List(items) | Arg::Tuple(items) => items.iter().map(|a| self.dim_in(i, self.constant(a))).collect(),
            one => Ok(smallvec::smallvec![self.dim_in(i, one)?]),
        }
    }

    /// Returns the integers of a list, if there is one.
    pub fn opt_dims(&self, i: usize) -> Result<Option<Sizes>, CallFault> {
        if self.is_none(i) { Ok(None) } else { self.dims(i).map(Some) }
    }

    fn fixed(&self, i: usize, d: Dim) -> Result<i64, CallFault> {
        d.fixed().ok_or_else(|| CallFault::Unsupported { what: format!("a symbolic value for `{}`", self.name(i)) })
    }

    /// Returns the integer of parameter `i`, which must be a number here.
    pub fn int(&self, i: usize) -> Result<i64, CallFault> {
        match self.arg(i) {
            Arg::Dtype(d) => Ok(d.pt2_number()),
            _ => self.fixed(i, self.dim(i)?),
        }
    }

    /// Returns the integer of parameter `i`, if there is one.
    pub fn opt_int(&self, i: usize) -> Result<Option<i64>, CallFault> {
        if self.is_none(i) { Ok(None) } else { self.int(i).map(Some) }
    }

    /// Returns the integers of a list, which must be numbers here.
    pub fn ints(&self, i: usize) -> Result<SmallVec<[i64; 4]>, CallFault> {
        self.dims(i)?.into_iter().map(|d| self.fixed(i, d)).collect()
    }

    /// Returns the integers of a list, if there is one.
    pub fn opt_ints(&self, i: usize) -> Result<Option<SmallVec<[i64; 4]>>, CallFault> {
        if self.is_none(i) { Ok(None) } else { self.ints(i).map(Some) }
    }

    /// Returns the boolean of parameter `i`, which must be known here.
    pub fn bool(&self, i: usize) -> Result<bool, CallFault> {
        match self.arg(i) {
            Arg::Bool(b) => Ok(*b),
            Arg::Int(v) => Ok(*v != 0),
            Arg::None => Ok(false),
            other => Err(self.wrong_kind(i, "True or False", other)),
        }
    }

    /// Returns the float of parameter `i`, if it is known.
    pub fn float(&self, i: usize) -> Option<f64> {
        match self.arg(i) {
            Arg::Float(v) => Some(*v),
            #[allow(clippy::cast_precision_loss)]
            Arg::Int(v) => Some(*v as f64),
            _ => None,
        }
    }

    /// Returns the string of parameter `i`; empty for None.
    pub fn text(&self, i: usize) -> &'a str {
        match self.arg(i) {
            Arg::Str(s) => s,
            _ => "",
        }
    }

    /// Returns the dtype of parameter `i`, if there is one.
    pub fn dtype(&self, i: usize) -> Result<Option<Dtype>, CallFault> {
        match self.arg(i) {
            Arg::None => Ok(None),
            Arg::Dtype(d) => Ok(Some(*d)),
            Arg::Int(n) => match crate::ops::typing::promote::from_code(*n) {
                Some(d) => Ok(Some(d)),
                None => Err(self.bad(i, "the number of a dtype", n.to_string())),
            },
            other => Err(self.wrong_kind(i, "a dtype", other)),
        }
    }

    /// Returns the device of parameter `i`, if there is one.
    pub fn device(&self, i: usize) -> Result<Option<Device>, CallFault> {
        match self.arg(i) {
            Arg::None => Ok(None),
            Arg::Device(d) => Ok(Some(d.clone())),
            Arg::Str(text) => {
                let (kind, index) = text.split_once(':').map_or((&**text, None), |(k, i)| (k, i.parse().ok()));
                Ok(Some(Device { kind: kind.into(), index }))
            }
            other => Err(self.wrong_kind(i, "a device", other)),
        }
    }

    /// Returns the memory format of parameter `i`, if there is one.
    pub fn memory_format(&self, i: usize) -> Option<MemoryFormat> {
        memory_format_of(self.arg(i))
    }

    /// Returns dimension `dim` of `rank`, counted from the front; a scalar counts as of rank 1.
    pub fn wrap(&self, i: usize, dim: i64, rank: usize) -> Result<usize, CallFault> {
        let n = i64::try_from(rank.max(1)).unwrap_or(i64::MAX);
        let at = if dim < 0 { dim.checked_add(n) } else { Some(dim) };
        match at.filter(|d| (0..n).contains(d)).and_then(|d| usize::try_from(d).ok()) {
            Some(d) => Ok(d),
            None => Err(self.bad(
                i,
                format!("a dimension from {} to {}", 0_i64.saturating_sub(n), n.saturating_sub(1)),
                dim.to_string(),
            )),
        }
    }

    /// Returns dimension argument `i` of a tensor of `rank`, counted from the front.
    pub fn axis(&self, i: usize, rank: usize) -> Result<usize, CallFault> {
        self.wrap(i, self.int(i)?, rank)
    }

    /// Returns dimension arguments `i`, counted from the front; `None` where there are none. A repeated one is a fault.
    pub fn axes(&self, i: usize, rank: usize) -> Result<Option<SmallVec<[usize; 4]>>, CallFault> {
        let Some(dims) = self.opt_ints(i)? else { return Ok(None) };
        let mut out: SmallVec<[usize; 4]> = SmallVec::new();
        for dim in dims {
            let at = self.wrap(i, dim, rank)?;
            if out.contains(&at) {
                return Err(self.bad(i, "each dimension once", format!("{at} twice")));
            }
            out.push(at);
        }
        Ok(Some(out))
    }

    /// Returns the device on which a result of these tensors lives: that of the first that is no scalar on the CPU.
    pub fn common_device(&self, tensors: &[&TensorType]) -> Device {
        let first = tensors.iter().find(|t| t.rank() > 0 || &*t.device.kind != "cpu").or(tensors.first());
        first.map_or_else(|| self.default_device(), |t| t.device.clone())
    }

    /// Returns the device of the annotation, else the CPU.
    pub fn default_device(&self) -> Device {
        match self.annotated {
            Some(ValueType::Tensor(t)) => t.device.clone(),
            Some(ValueType::Many(all)) => {
                all.iter().find_map(ValueType::as_tensor).map_or_else(Device::cpu, |t| t.device.clone())
            }
            _ => Device::cpu(),
        }
    }

    /// Returns the annotation; that it was asked for is remembered.
    pub fn told(&self) -> Option<&'a ValueType> {
        self.consulted.set(true);
        self.annotated
    }

    /// Returns the annotation of result `k`.
    pub fn annotation(&self, k: usize) -> Option<&'a ValueType> {
        match self.told()? {
            ValueType::Many(all) => all.get(k),
            one => (k == 0).then_some(one),
        }
    }

    /// Returns a size that only running the call tells: as annotated at dimension `d` of result `k`, else a new symbol.
    pub fn unbacked(&mut self, k: usize, d: usize) -> Dim {
        if let Some(size) = self.annotation(k).and_then(ValueType::as_tensor).and_then(|t| t.sizes.get(d)) {
            return *size;
        }
        crate::ops::typing::sizes::fresh_symbol(self.symbols)
    }
}

/// Returns the memory format that an argument names, by name or as the number that schemas write for defaults.
pub fn memory_format_of(arg: &Arg) -> Option<MemoryFormat> {
    match arg {
        Arg::MemoryFormat(m) => Some(*m),
        Arg::Int(0) => Some(MemoryFormat::Contiguous),
        Arg::Int(1) => Some(MemoryFormat::Preserve),
        Arg::Int(2) => Some(MemoryFormat::ChannelsLast),
        Arg::Int(3) => Some(MemoryFormat::ChannelsLast3d),
        _ => None,
    }
}
