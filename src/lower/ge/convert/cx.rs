//! What a converter works with: the call's arguments, the types of its results, and the graph that is being made.

use std::rc::Rc;

use super::Made;
use crate::graph::{Arg, Dtype, Graph, NodeId, View};
use crate::lower::ge::builder::{Attr, Builder, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::types;
use crate::lower::ge::value::{Meta, Results, TensorId, Value};
use crate::ops::promote_types;
use crate::sym::Dim;

/// A call that is being converted.
pub(in crate::lower::ge) struct Cx<'a> {
    pub(in crate::lower::ge) b: &'a mut Builder,
    pub(in crate::lower::ge) args: &'a [Value],
    pub(in crate::lower::ge) kwargs: &'a [(String, Value)],
    pub(in crate::lower::ge) results: &'a Results,
    pub(in crate::lower::ge) node: (&'a Graph, NodeId),
}

impl Cx<'_> {
    /// Returns an argument by place or name; `None` where it was not given.
    pub(super) fn get(&self, place: usize, name: &str) -> Value {
        match self.args.get(place) {
            Some(v) => v.clone(),
            None => self.kwarg(name),
        }
    }

    /// Returns an argument that is only given by name.
    pub(super) fn kwarg(&self, name: &str) -> Value {
        self.kwargs.iter().find(|(k, _)| k == name).map_or(Value::None, |(_, v)| v.clone())
    }

    /// Returns an argument as an input of a GE operator.
    pub(super) fn input(&self, place: usize, name: &str) -> Result<In, Refusal> {
        In::try_from(&self.get(place, name)).map_err(|r| Refusal(format!("argument {name}: {}", r.0)))
    }

    /// Returns the argument at a place, of whatever name, as an input.
    pub(super) fn any(&self, place: usize) -> Result<In, Refusal> {
        let value = match self.args.get(place) {
            Some(v) => v,
            None => match self.kwargs.get(place.saturating_sub(self.args.len())) {
                Some((_, v)) => v,
                None => return Err(Refusal(format!("argument {place} is missing"))),
            },
        };
        In::try_from(value)
    }

    /// Returns a tensor argument.
    pub(super) fn tensor(&self, place: usize, name: &str) -> Result<TensorId, Refusal> {
        self.get(place, name).tensor().ok_or_else(|| Refusal(format!("argument {name} is no tensor")))
    }

    /// Returns an integer argument.
    pub(super) fn int(&self, place: usize, name: &str, default: i64) -> Result<i64, Refusal> {
        match self.get(place, name) {
            Value::None => Ok(default),
            Value::Int(i) => Ok(i),
            Value::Bool(b) => Ok(i64::from(b)),
            _ => Err(Refusal(format!("argument {name} is no fixed integer"))),
        }
    }

    /// Returns a float argument.
    #[allow(clippy::cast_precision_loss)] // As Python does it.
    pub(super) fn float(&self, place: usize, name: &str, default: f64) -> Result<f64, Refusal> {
        match self.get(place, name) {
            Value::None => Ok(default),
            Value::Int(i) => Ok(i as f64),
            Value::Float(f) => Ok(f),
            _ => Err(Refusal(format!("argument {name} is no fixed number"))),
        }
    }

    /// Returns a truth value argument.
    pub(super) fn bool(&self, place: usize, name: &str, default: bool) -> Result<bool, Refusal> {
        match self.get(place, name) {
            Value::None => Ok(default),
            Value::Bool(b) => Ok(b),
            Value::Int(i) => Ok(i != 0),
            _ => Err(Refusal(format!("argument {name} is no fixed truth value"))),
        }
    }

    /// Returns a list of integers; `None` where it was not given.
    pub(super) fn ints(&self, place: usize, name: &str) -> Result<Option<Vec<i64>>, Refusal> {
        match self.get(place, name) {
            Value::None => Ok(None),
            value => {
                value.ints().map(Some).ok_or_else(|| Refusal(format!("argument {name} is no list of fixed integers")))
            }
        }
    }

    /// Returns the tensors of a list.
    pub(super) fn tensors(&self, place: usize, name: &str) -> Result<Vec<Value>, Refusal> {
        match self.get(place, name) {
            Value::List(items) => Ok(items.to_vec()),
            _ => Err(Refusal(format!("argument {name} is no list"))),
        }
    }

    /// Returns the GE type of a dtype argument; `None` where it was not given.
    pub(super) fn dtype_arg(&self, place: usize, name: &str) -> Result<Option<DataType>, Refusal> {
        match self.get(place, name) {
            Value::Dtype(d) => Ok(Some(ge_type(d)?)),
            Value::None => Ok(None),
            _ => Err(Refusal(format!("argument {name} is no dtype"))),
        }
    }

    /// Returns the FX type of the (first) result.
    pub(super) fn out(&self) -> Result<&Meta, Refusal> {
        let meta = match self.results {
            Results::One(m) => Some(m),
            Results::Many(list) => list.first().and_then(Option::as_ref),
            Results::None => None,
        };
        meta.ok_or_else(|| Refusal("the type of the result is not known".into()))
    }

    /// Returns the sizes of the (first) result.
    pub(super) fn out_sizes(&self) -> Result<Rc<[Dim]>, Refusal> {
        Ok(self.out()?.sizes())
    }

    /// Returns the GE type of the (first) result.
    pub(super) fn out_type(&self) -> Result<DataType, Refusal> {
        types::type_of(self.out()?).ok_or_else(|| Refusal("GE has no type for the result's dtype".into()))
    }

    /// Returns the sizes of a tensor.
    pub(super) fn sizes(&self, t: TensorId) -> Result<Rc<[Dim]>, Refusal> {
        let meta = self.b.tensor(t).and_then(|t| t.meta.as_ref());
        Ok(meta.ok_or_else(|| Refusal("the sizes of an argument are not known".into()))?.sizes())
    }

    /// Returns the number of dimensions of a tensor.
    pub(super) fn rank(&self, t: TensorId) -> Result<usize, Refusal> {
        Ok(self.sizes(t)?.len())
    }

    /// Returns the GE type that is known of a tensor.
    pub(super) fn dtype(&self, t: TensorId) -> DataType {
        self.b.dtype(t)
    }

    /// Returns an argument cast to a type.
    pub(super) fn promoted(&mut self, place: usize, dtype: DataType) -> Result<TensorId, Refusal> {
        let value = match self.args.get(place) {
            Some(v) => v.clone(),
            None => {
                let name = ["self", "other"].get(place).copied().unwrap_or_default();
                self.kwarg(name)
            }
        };
        self.b.cast(&value, dtype)
    }

    /// Returns a value cast to a type.
    pub(super) fn cast(&mut self, value: impl Into<Value>, dtype: DataType) -> Result<TensorId, Refusal> {
        self.b.cast(&value.into(), dtype)
    }

    /// Returns a Cast, even where the type is the same.
    pub(super) fn always_cast(&mut self, x: impl Into<In>, dtype: DataType) -> Result<TensorId, Refusal> {
        self.b.one("Cast", vec![x.into()], &[("dst_type", Attr::Type(dtype))])
    }

    /// Returns a constant.
    pub(super) fn constant(&mut self, value: Literal, dtype: DataType) -> Result<TensorId, Refusal> {
        self.b.constant(&value, Some(dtype))
    }

    /// Makes an operator with one output that is an intermediate tensor.
    pub(super) fn op(&mut self, kind: &str, inputs: Vec<In>, attrs: &[(&str, Attr)]) -> Result<TensorId, Refusal> {
        self.b.one(kind, inputs, attrs)
    }

    /// Makes an operator; all its outputs are what the node gives.
    pub(super) fn ge(&mut self, kind: &str, inputs: Vec<In>, attrs: &[(&str, Attr)]) -> Made {
        let outputs = self.b.many(kind, inputs, attrs, None)?;
        Ok(match outputs.as_slice() {
            [one] => Value::Tensor(*one),
            many => list(many),
        })
    }

    /// Makes an operator with a dynamic output; its outputs are what the node gives.
    pub(super) fn ge_split(&mut self, kind: &str, inputs: Vec<In>, attrs: &[(&str, Attr)], count: usize) -> Made {
        Ok(list(&self.b.many(kind, inputs, attrs, Some(count))?))
    }

    /// Returns the sizes of a tensor as a tensor.
    pub(super) fn shape(&mut self, x: impl Into<In>) -> Result<TensorId, Refusal> {
        self.op("Shape", vec![x.into()], &[])
    }

    /// Returns the sizes of a tensor as a tensor of int32.
    pub(super) fn shape32(&mut self, x: impl Into<In>) -> Result<TensorId, Refusal> {
        self.op("Shape", vec![x.into()], &[("dtype", Attr::Type(DataType::Int32))])
    }

    /// Returns an element of a vector.
    pub(super) fn element(&mut self, vector: impl Into<In>, place: i64) -> Result<TensorId, Refusal> {
        self.op("Gather", vec![vector.into(), int(place)], &[])
    }

    /// Returns a vector of scalars.
    pub(super) fn pack(&mut self, parts: Vec<In>) -> Result<TensorId, Refusal> {
        let count = i64::try_from(parts.len()).unwrap_or(i64::MAX);
        self.op("Pack", vec![In::Many(parts)], &[("N", Attr::Int(count)), ("axis", Attr::Int(0))])
    }

    /// Returns a tensor of one value, cast to a type.
    pub(super) fn filled(&mut self, dims: impl Into<In>, value: f64, dtype: DataType) -> Result<TensorId, Refusal> {
        let value = self.always_cast(Literal::Float(value), dtype)?;
        self.op("Fill", vec![dims.into(), value.into()], &[])
    }

    /// Returns the tensor with dimensions of size 1 inserted.
    pub(super) fn unsqueeze(&mut self, x: impl Into<In>, axes: &[i64]) -> Result<TensorId, Refusal> {
        self.op("Unsqueeze", vec![x.into()], &[("axes", Attr::Ints(axes.to_vec()))])
    }

    /// Returns the tensor with dimensions of size 1 taken out.
    pub(super) fn squeeze(&mut self, x: impl Into<In>, axes: &[i64]) -> Result<TensorId, Refusal> {
        self.op("Squeeze", vec![x.into()], &[("axis", Attr::Ints(axes.to_vec()))])
    }

    /// Returns the fixed sizes of a tensor; none where a symbol is among them.
    pub(super) fn fixed_sizes(&self, t: TensorId) -> Result<Option<Vec<i64>>, Refusal> {
        Ok(self.sizes(t)?.iter().map(|d| d.fixed()).collect())
    }

    /// Marks inputs and outputs of the operator that makes the tensor as having a format.
    pub(super) fn formats(&mut self, t: TensorId, inputs: &[i64], outputs: &[i64], format: &str) {
        for (key, places) in [("input_layout_info", inputs), ("output_layout_info", outputs)] {
            for place in places {
                self.b.add_format(t, key, *place, format);
            }
        }
    }

    /// Returns the GE type of a result.
    pub(super) fn result_type(&self, place: usize) -> Result<DataType, Refusal> {
        let meta = match (self.results, place) {
            (Results::Many(list), place) => list.get(place).and_then(Option::as_ref),
            (Results::One(meta), 0) => Some(meta),
            _ => None,
        };
        meta.and_then(types::type_of).ok_or_else(|| Refusal(format!("the type of result {place} is not known")))
    }

    /// Returns whether another call than of that target reads a result of several, or the graph gives it.
    pub(super) fn result_is_read(&self, place: usize, but_by: &str) -> bool {
        let (graph, node) = self.node;
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        let taken = graph.users_in_order(node).into_iter().filter(|user| match graph.args(*user) {
            [_, Arg::Int(at)] => *at == place,
            _ => true,
        });
        taken.flat_map(|item| graph.users_in_order(item)).any(|user| graph.target(user) != but_by)
    }

    /// Returns how many results the node has.
    pub(super) fn result_count(&self) -> usize {
        match self.results {
            Results::Many(list) => list.len(),
            Results::One(_) => 1,
            Results::None => 0,
        }
    }

    /// Makes a comparison: operands are cast to their common type; of two truth values that is a float.
    pub(super) fn compared(&mut self, kind: &str) -> Made {
        let common = match self.common_type()? {
            Dtype::Bool => DataType::Float,
            other => ge_type(other)?,
        };
        let (a, b) = (self.promoted(0, common)?, self.promoted(1, common)?);
        self.ge(kind, vec![a.into(), b.into()], &[])
    }

    /// Returns PyTorch's common type of the first two arguments.
    pub(super) fn common_type(&self) -> Result<Dtype, Refusal> {
        let (a, b) = (self.operand(&self.get(0, "self"))?, self.operand(&self.get(1, "other"))?);
        Ok(match (a.1 == b.1, a.1 > b.1) {
            (true, _) => promote_types(a.0, b.0).ok_or_else(|| Refusal("two operands have no common type".into()))?,
            (false, true) => stronger(a.0, b.0),
            (false, false) => stronger(b.0, a.0),
        })
    }

    /// Returns the dtypes of the first two arguments.
    pub(super) fn operand_types(&self) -> Result<(Dtype, Dtype), Refusal> {
        Ok((self.operand(&self.get(0, "self"))?.0, self.operand(&self.get(1, "other"))?.0))
    }

    /// Whether the first two arguments are tensors, and no numbers that symbols stand for.
    pub(super) fn are_tensors(&self) -> bool {
        let is_one = |value: Value| {
            let meta = value.tensor().and_then(|t| self.b.tensor(t)).and_then(|t| t.meta.as_ref());
            matches!(meta, Some(Meta::Tensor(_)))
        };
        is_one(self.get(0, "self")) && is_one(self.get(1, "other"))
    }

    /// Returns dtype and strength of an operand: tensors beat scalar tensors beat Python numbers.
    fn operand(&self, value: &Value) -> Result<(Dtype, u8), Refusal> {
        Ok(match value {
            Value::Tensor(t) => match self.b.tensor(*t).and_then(|t| t.meta.as_ref()) {
                Some(Meta::Tensor(m)) => (m.dtype, if m.sizes.is_empty() { 1 } else { 2 }),
                Some(Meta::Symbol(_, super::super::value::SymbolKind::Float)) => (Dtype::F32, 0),
                Some(_) => (Dtype::I64, 0),
                None => return Err(Refusal("the type of an operand is not known".into())),
            },
            Value::Bool(_) => (Dtype::Bool, 0),
            Value::Int(_) => (Dtype::I64, 0),
            Value::Float(_) => (Dtype::F32, 0),
            _ => return Err(Refusal("an operand is neither tensor nor number".into())),
        })
    }
}

fn category(d: Dtype) -> u8 {
    if d.is_complex() {
        3
    } else if d.is_float() {
        2
    } else {
        u8::from(d != Dtype::Bool)
    }
}

/// A weaker operand counts only by its category.
fn stronger(strong: Dtype, weak: Dtype) -> Dtype {
    if category(weak) > category(strong) { weak } else { strong }
}

pub(super) fn ge_type(dtype: Dtype) -> Result<DataType, Refusal> {
    types::ge_type(dtype).ok_or_else(|| Refusal(format!("GE has no type for {}", dtype.long())))
}

pub(super) fn list(tensors: &[TensorId]) -> Value {
    Value::List(tensors.iter().map(|t| Value::Tensor(*t)).collect())
}

/// Returns a number as an input.
pub(super) fn int(value: i64) -> In {
    In::Literal(Literal::Int(value))
}

/// Returns a list of numbers as an input.
pub(super) fn ints(values: &[i64]) -> In {
    In::Literal(Literal::Ints(values.to_vec()))
}

/// Returns a rank or count as GE's integer.
pub(super) fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Whether a type is complex.
pub(super) fn is_complex(dtype: DataType) -> bool {
    matches!(dtype, DataType::Complex32 | DataType::Complex64 | DataType::Complex128)
}

/// Whether numbers of a type are floats.
pub(super) fn is_float(dtype: DataType) -> bool {
    matches!(dtype, DataType::Float | DataType::Float16 | DataType::Bf16 | DataType::Double)
}
