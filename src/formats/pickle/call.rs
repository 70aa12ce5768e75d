//! What the known functions give: tensors, parameters, empty dictionaries; and what a persistent id names.
//!
//! Promises: operands are checked as Python's functions would (kind, number, no negative size or stride, as many sizes as strides); a
//! tensor that is a view under conjugation or negation is refused, for its bytes are not its values.

use super::error::PickleError;
use super::global::Global;
use super::value::{Storage, Tensor, Value, ValueId, at};
use crate::graph::Dtype;

/// How many dimensions PyTorch's own kernels take.
const MOST_DIMENSIONS: usize = 64;

/// The operands of a call.
pub(super) struct Call<'m, 'p> {
    values: &'m [Value<'p>],
    operands: &'m [ValueId],
    function: &'static str,
    place: usize,
}

impl<'m, 'p> Call<'m, 'p> {
    /// Returns the call at offset `place` of `function` with the tuple `operands`.
    pub(super) fn new(
        values: &'m [Value<'p>],
        operands: ValueId,
        function: &'static str,
        place: usize,
    ) -> Result<Self, PickleError> {
        match at(values, operands) {
            Value::Tuple(operands) => Ok(Self { values, operands, function, place }),
            other => Err(PickleError::Operand {
                at: place,
                of: function,
                part: "operands",
                expected: "a tuple",
                found: other.kind(),
            }),
        }
    }

    /// Returns what a known function gives.
    pub(super) fn result(&self, function: Global) -> Result<Value<'p>, PickleError> {
        match function {
            Global::OrderedDict => self.count(0, "no operands").map(|()| Value::Dict(Vec::new())),
            Global::RebuildTensor | Global::RebuildTypedTensor => self.tensor(function),
            Global::RebuildParameter => self.parameter(3, "tensor, requires_grad, hooks"),
            // Attributes are data like all else in the pickle; a program cannot see them.
            Global::RebuildParameterWithState => self.parameter(4, "tensor, requires_grad, hooks, attributes"),
            Global::RebuildFromType => self.attributed(),
            Global::TypedStorage(_) | Global::UntypedStorage | Global::Dtype(_) | Global::PlainTensor => {
                let found = format!("`{}`", function.name());
                Err(self.wrong("function", "a function that rebuilds a tensor", found))
            }
        }
    }

    /// Returns the storage that a persistent id names: `("storage", TYPE, KEY, LOCATION, ELEMENTS)`.
    pub(super) fn storage(&self) -> Result<Value<'p>, PickleError> {
        self.count(5, "five parts: \"storage\", type, key, location, number of elements")?;
        match self.operand(0) {
            Value::Text("storage") => {}
            other => return Err(self.wrong("first part", "\"storage\"", other.kind())),
        }
        let dtype = match self.operand(1) {
            Value::Global(Global::TypedStorage(dtype)) => Some(*dtype),
            Value::Global(Global::UntypedStorage) => None,
            other => return Err(self.wrong("type", "a storage type", other.kind())),
        };
        let elements = u64::try_from(self.natural(4, "number of elements")?).unwrap_or_default();
        let (key, location) = (self.text(2, "key")?.into(), self.text(3, "location")?.into());
        Ok(Value::Storage(Box::new(Storage { key, dtype, location, elements })))
    }

    /// `(storage, offset, sizes, strides, requires_grad, hooks[, metadata])`; the typed form has a dtype before the metadata.
    fn tensor(&self, function: Global) -> Result<Value<'p>, PickleError> {
        let typed = function == Global::RebuildTypedTensor;
        let plain: usize = if typed { 7 } else { 6 };
        if self.operands.len() != plain.saturating_add(1) {
            self.count(plain, "storage, offset, sizes, strides, requires_grad, hooks (and dtype), metadata")?;
        }
        let Value::Storage(storage) = self.operand(0) else {
            return Err(self.wrong("storage", "a storage", self.operand(0).kind()));
        };
        let dtype = if typed { Some(self.dtype(6)?) } else { storage.dtype };
        let dtype = dtype
            .ok_or_else(|| self.wrong("storage", "a storage with a dtype", "torch.storage.UntypedStorage".into()))?;
        let (sizes, strides) = (self.naturals(2, "sizes")?, self.naturals(3, "strides")?);
        if sizes.1 != strides.1 {
            return Err(self.wrong("strides", "as many as sizes", format!("{} sizes, {} strides", sizes.1, strides.1)));
        }
        self.empty(5, "hooks")?;
        self.empty(plain, "metadata (conjugate or negative view)")?;
        Ok(Value::Tensor(Box::new(Tensor {
            storage: (**storage).clone(),
            dtype,
            offset: self.natural(1, "offset")?,
            requires_grad: self.truth(4, "requires_grad")?,
            is_parameter: false,
            sizes: sizes.0,
            strides: strides.0,
        })))
    }

    /// `(tensor, requires_grad, hooks[, attributes])`
    fn parameter(&self, count: usize, expected: &'static str) -> Result<Value<'p>, PickleError> {
        self.count(count, expected)?;
        let Value::Tensor(tensor) = self.operand(0) else {
            return Err(self.wrong("data", "a tensor", self.operand(0).kind()));
        };
        self.empty(2, "hooks")?;
        let requires_grad = self.truth(1, "requires_grad")?;
        Ok(Value::Tensor(Box::new(Tensor { requires_grad, is_parameter: true, ..(**tensor).clone() })))
    }

    /// `(function, type, operands, attributes)`, of a plain tensor.
    fn attributed(&self) -> Result<Value<'p>, PickleError> {
        self.count(4, "function, type, operands, attributes")?;
        match self.operand(1) {
            Value::Global(Global::PlainTensor) => {}
            other => return Err(self.wrong("type", "`torch.Tensor`", other.kind())),
        }
        match (self.operand(0), self.operands.get(2)) {
            // These call nothing in turn.
            (Value::Global(function @ (Global::RebuildTensor | Global::RebuildTypedTensor)), Some(operands)) => {
                Call::new(self.values, *operands, function.name(), self.place)?.tensor(*function)
            }
            (other, _) => Err(self.wrong("function", "one that rebuilds a tensor", other.kind())),
        }
    }

    fn operand(&self, place: usize) -> &'m Value<'p> {
        self.operands.get(place).map_or(&Value::None, |id| at(self.values, *id))
    }

    fn wrong(&self, part: &'static str, expected: &'static str, found: String) -> PickleError {
        PickleError::Operand { at: self.place, of: self.function, part, expected, found }
    }

    fn count(&self, count: usize, expected: &'static str) -> Result<(), PickleError> {
        if self.operands.len() == count {
            return Ok(());
        }
        Err(self.wrong("operands", expected, format!("a tuple of {}", self.operands.len())))
    }

    fn natural(&self, place: usize, part: &'static str) -> Result<i64, PickleError> {
        match self.operand(place) {
            Value::Int(v) if *v >= 0 => Ok(*v),
            other => Err(self.wrong(part, "an integer that is not negative", other.kind())),
        }
    }

    /// Returns a tuple of integers that are not negative, and its length.
    fn naturals(&self, place: usize, part: &'static str) -> Result<(ValueId, usize), PickleError> {
        let (Some(id), Value::Tuple(items)) = (self.operands.get(place), self.operand(place)) else {
            return Err(self.wrong(part, "a tuple", self.operand(place).kind()));
        };
        if items.len() > MOST_DIMENSIONS {
            return Err(self.wrong(part, "at most 64 dimensions", items.len().to_string()));
        }
        for item in items {
            match at(self.values, *item) {
                Value::Int(v) if *v >= 0 => {}
                other => return Err(self.wrong(part, "integers that are not negative", other.kind())),
            }
        }
        Ok((*id, items.len()))
    }

    fn truth(&self, place: usize, part: &'static str) -> Result<bool, PickleError> {
        match self.operand(place) {
            Value::Bool(v) => Ok(*v),
            other => Err(self.wrong(part, "a boolean", other.kind())),
        }
    }

    fn text(&self, place: usize, part: &'static str) -> Result<&'p str, PickleError> {
        match self.operand(place) {
            Value::Text(v) => Ok(v),
            other => Err(self.wrong(part, "a text", other.kind())),
        }
    }

    fn dtype(&self, place: usize) -> Result<Dtype, PickleError> {
        match self.operand(place) {
            Value::Global(Global::Dtype(v)) => Ok(*v),
            other => Err(self.wrong("dtype", "a dtype", other.kind())),
        }
    }

    /// Holds that an operand is absent, None or an empty dictionary.
    fn empty(&self, place: usize, part: &'static str) -> Result<(), PickleError> {
        match self.operand(place) {
            Value::None => Ok(()),
            Value::Dict(pairs) if pairs.is_empty() => Ok(()),
            other => Err(self.wrong(part, "nothing", other.kind())),
        }
    }
}
