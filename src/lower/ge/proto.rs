//! The messages of a GE graph, as TorchAir serializes them (proto3, package `ge.proto`), and what they are asked.
//!
//! Their fields stand in `files/ge.proto`. Maps are ordered, so that equal graphs are equal bytes. Nesting deeper than prost's limit (100) is a
//! decode error, never a stack overflow.

use std::collections::BTreeMap;

pub use super::files::generated::{
    AttrDef, GraphDef, ModelDef, OpDef, ShapeDef, TensorDef, TensorDescriptor, attr_def,
};
pub use attr_def::{ListListFloat, ListListInt, ListValue, Value};

/// Attributes by name.
pub type Attrs = BTreeMap<String, AttrDef>;

macro_rules! data_types {
    ($($variant:ident $name:literal $proto:literal $cpp:literal;)*) => {
        /// Element types in the numbering of descriptors. Attributes use another one: [`DataType::cpp`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
        #[repr(i32)]
        #[allow(missing_docs)]
        pub enum DataType { $($variant = $proto),* }

        impl DataType {
            /// Every type, in the order of this table.
            pub const ALL: &'static [DataType] = &[$(DataType::$variant),*];

            /// Returns the name in protobuf text.
            pub fn name(self) -> &'static str {
                match self { $(DataType::$variant => $name),* }
            }

            /// Returns the number in attributes.
            pub fn cpp(self) -> i64 {
                match self { $(DataType::$variant => $cpp),* }
            }
        }
    };
}

data_types! {
    Undefined "DT_UNDEFINED" 0 28;
    Float "DT_FLOAT" 1 0;
    Float16 "DT_FLOAT16" 2 1;
    Int8 "DT_INT8" 3 2;
    Uint8 "DT_UINT8" 4 4;
    Int16 "DT_INT16" 5 6;
    Uint16 "DT_UINT16" 6 7;
    Int32 "DT_INT32" 7 3;
    Int64 "DT_INT64" 8 9;
    Uint32 "DT_UINT32" 9 8;
    Uint64 "DT_UINT64" 10 10;
    Bool "DT_BOOL" 11 12;
    Double "DT_DOUBLE" 12 11;
    String "DT_STRING" 13 13;
    Complex64 "DT_COMPLEX64" 16 16;
    Complex128 "DT_COMPLEX128" 17 17;
    Qint8 "DT_QINT8" 18 18;
    Qint16 "DT_QINT16" 19 19;
    Qint32 "DT_QINT32" 20 20;
    Quint8 "DT_QUINT8" 21 21;
    Quint16 "DT_QUINT16" 22 22;
    Bf16 "DT_BF16" 27 27;
    Int4 "DT_INT4" 28 29;
    Uint1 "DT_UINT1" 29 30;
    Int2 "DT_INT2" 30 31;
    Uint2 "DT_UINT2" 31 32;
    Complex32 "DT_COMPLEX32" 32 33;
    Hifloat8 "DT_HIFLOAT8" 33 34;
    Float8E5m2 "DT_FLOAT8_E5M2" 34 35;
    Float8E4m3fn "DT_FLOAT8_E4M3FN" 35 36;
    Float8E8m0 "DT_FLOAT8_E8M0" 36 37;
    Float4E2m1 "DT_FLOAT4_E2M1" 39 40;
    Float4E1m2 "DT_FLOAT4_E1M2" 40 41;
}

impl DataType {
    /// Returns the type of a number in attributes.
    pub fn from_cpp(number: i64) -> Option<Self> {
        Self::ALL.iter().copied().find(|t| t.cpp() == number)
    }

    /// Returns the type of a name in protobuf text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|t| t.name() == name)
    }
}

impl From<Value> for AttrDef {
    fn from(value: Value) -> Self {
        Self { value: Some(value) }
    }
}

impl AttrDef {
    /// Returns the integer, if this is one.
    pub fn as_i(&self) -> Option<i64> {
        match self.value {
            Some(Value::I(i)) => Some(i),
            _ => None,
        }
    }

    /// Returns the list, if this is one.
    pub fn as_list(&self) -> Option<&ListValue> {
        match &self.value {
            Some(Value::List(l)) => Some(l),
            _ => None,
        }
    }
}

impl OpDef {
    /// Returns the data inputs in slot order: the entries that are no control edges.
    pub fn data_inputs(&self) -> impl Iterator<Item = &str> {
        self.input.iter().map(String::as_str).filter(|i| !is_control(i))
    }

    /// Returns the names of the operators that must have run before this one starts, beyond its data.
    pub fn control_inputs(&self) -> impl Iterator<Item = &str> {
        self.input.iter().filter_map(|i| i.strip_suffix(":-1"))
    }
}

/// Returns whether an entry of `input` is a control edge.
pub fn is_control(input: &str) -> bool {
    input.ends_with(":-1")
}

/// Returns producer and output number of a data edge; `None` for control edges, unfed slots and malformed text.
pub fn edge(input: &str) -> Option<(&str, usize)> {
    let (name, index) = input.rsplit_once(':')?;
    Some((name, index.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn the_two_numberings_of_types_are_told_apart() {
        assert_eq!((DataType::Int32 as i32, DataType::Int32.cpp()), (7, 3));
        assert_eq!((DataType::Bf16 as i32, DataType::Bf16.cpp()), (27, 27));
        assert_eq!(DataType::from_cpp(9), Some(DataType::Int64));
        assert_eq!(DataType::from_name("DT_BOOL"), Some(DataType::Bool));
    }

    #[test]
    fn an_edge_is_producer_and_index() {
        assert_eq!(edge("split:1"), Some(("split", 1)));
        assert_eq!(edge("split:-1"), None);
        assert_eq!(edge(""), None);
        assert!(is_control("split:-1"));
    }

    #[test]
    fn a_model_survives_its_bytes() {
        let op = OpDef {
            name: "Add".into(),
            r#type: "Add".into(),
            input: vec!["x:0".into(), String::new()],
            attr: [("N".to_string(), Value::I(2).into())].into(),
            ..Default::default()
        };
        let model = ModelDef { graph: vec![GraphDef { op: vec![op], ..Default::default() }], ..Default::default() };
        assert_eq!(ModelDef::decode(model.encode_to_vec().as_slice()).unwrap(), model);
    }
}
