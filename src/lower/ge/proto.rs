//! The messages of a GE graph, as TorchAir serializes them (proto3, package `ge.proto`).
//!
//! Only the fields that occur are here; others are read past. Maps are ordered, so that equal graphs are equal bytes.
//! Nesting deeper than prost's limit (100) is a decode error, never a stack overflow.

use std::collections::BTreeMap;

use prost::Message;

/// Attributes by name.
pub type Attrs = BTreeMap<String, AttrDef>;

/// What is handed to the C++ part: exactly one graph.
#[derive(Clone, PartialEq, Message)]
pub struct ModelDef {
    /// Never set by TorchAir.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Never set by TorchAir.
    #[prost(uint32, tag = "2")]
    pub version: u32,
    /// The graph.
    #[prost(message, repeated, tag = "7")]
    pub graph: Vec<GraphDef>,
    /// Never set by TorchAir.
    #[prost(btree_map = "string, message", tag = "11")]
    pub attr: Attrs,
}

/// A GE graph: operators in the order of their creation.
#[derive(Clone, PartialEq, Message)]
pub struct GraphDef {
    /// Name; means nothing.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Operators.
    #[prost(message, repeated, tag = "6")]
    pub op: Vec<OpDef>,
    /// `_input_placements`, `_output_dtypes`, `_executor_type`.
    #[prost(btree_map = "string, message", tag = "11")]
    pub attr: Attrs,
}

/// One operator.
#[derive(Clone, PartialEq, Message)]
pub struct OpDef {
    /// Unique name; means nothing.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Operator type, as GE registers it.
    #[prost(string, tag = "2")]
    pub r#type: String,
    /// `producer:index` (data), `producer:-1` (control), or empty (unfed optional input).
    #[prost(string, repeated, tag = "5")]
    pub input: Vec<String>,
    /// Attributes.
    #[prost(btree_map = "string, message", tag = "10")]
    pub attr: Attrs,
    /// One a data input, unfed ones included; none a control edge.
    #[prost(message, repeated, tag = "33")]
    pub input_desc: Vec<TensorDescriptor>,
    /// One an output.
    #[prost(message, repeated, tag = "34")]
    pub output_desc: Vec<TensorDescriptor>,
}

/// The type of one input or output.
#[derive(Clone, PartialEq, Message)]
pub struct TensorDescriptor {
    /// The slot's name; of dynamic slots with a number.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Element type in the proto numbering.
    #[prost(enumeration = "DataType", tag = "2")]
    pub dtype: i32,
    /// Sizes; -1 is a symbol. Intermediate tensors have none.
    #[prost(message, optional, tag = "3")]
    pub shape: Option<ShapeDef>,
    /// Format name: `ND`, `NCHW`.
    #[prost(string, tag = "4")]
    pub layout: String,
    /// `_meta`, `_fx_tensor_name`, `_is_unfed_optional`.
    #[prost(btree_map = "string, message", tag = "5")]
    pub attr: Attrs,
    /// `NPU` or `CPU`, on Data and what copies its descriptor.
    #[prost(string, tag = "14")]
    pub device_type: String,
}

/// Sizes.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ShapeDef {
    /// One a dimension.
    #[prost(int64, repeated, tag = "1")]
    pub dim: Vec<i64>,
}

/// A constant.
#[derive(Clone, PartialEq, Message)]
pub struct TensorDef {
    /// Its type.
    #[prost(message, optional, tag = "1")]
    pub desc: Option<TensorDescriptor>,
    /// Little-endian bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
}

/// An attribute.
#[derive(Clone, PartialEq, Message)]
pub struct AttrDef {
    /// Its value; none is an attribute that was looked at and never set.
    #[prost(oneof = "attr_def::Value", tags = "1, 2, 3, 4, 5, 7, 11, 12, 13, 14, 15, 16, 17")]
    pub value: Option<attr_def::Value>,
}

/// The kinds of attribute values.
pub mod attr_def {
    /// A list of scalars.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ListValue {
        /// Strings.
        #[prost(bytes = "vec", repeated, tag = "2")]
        pub s: Vec<Vec<u8>>,
        /// Integers.
        #[prost(int64, repeated, tag = "3")]
        pub i: Vec<i64>,
        /// Floats.
        #[prost(float, repeated, tag = "4")]
        pub f: Vec<f32>,
        /// Truth values.
        #[prost(bool, repeated, tag = "5")]
        pub b: Vec<bool>,
        /// Data types, in the C++ numbering.
        #[prost(int64, repeated, tag = "12")]
        pub dt: Vec<i64>,
        /// What is in the list: 2 integers, 3 floats, 4 truth values, 10 data types; 0 where TorchAir sets none.
        #[prost(int32, tag = "20")]
        pub val_type: i32,
    }

    /// A list of lists of integers.
    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub struct ListListInt {
        /// The lists.
        #[prost(message, repeated, tag = "1")]
        pub list_list_i: Vec<ListInt>,
    }

    /// A list of integers.
    #[derive(Clone, PartialEq, Eq, prost::Message)]
    pub struct ListInt {
        /// The integers.
        #[prost(int64, repeated, tag = "1")]
        pub list_i: Vec<i64>,
    }

    /// A list of lists of floats.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ListListFloat {
        /// The lists.
        #[prost(message, repeated, tag = "1")]
        pub list_list_f: Vec<ListFloat>,
    }

    /// A list of floats.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ListFloat {
        /// The floats.
        #[prost(float, repeated, tag = "1")]
        pub list_f: Vec<f32>,
    }

    /// The value of an attribute.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Value {
        /// A list.
        #[prost(message, tag = "1")]
        List(ListValue),
        /// A string.
        #[prost(bytes = "vec", tag = "2")]
        S(Vec<u8>),
        /// An integer.
        #[prost(int64, tag = "3")]
        I(i64),
        /// A float.
        #[prost(float, tag = "4")]
        F(f32),
        /// A truth value.
        #[prost(bool, tag = "5")]
        B(bool),
        /// Bytes.
        #[prost(bytes = "vec", tag = "7")]
        Bt(Vec<u8>),
        /// A descriptor.
        #[prost(message, tag = "11")]
        Td(super::TensorDescriptor),
        /// A constant.
        #[prost(message, tag = "12")]
        T(super::TensorDef),
        /// A sub-graph.
        #[prost(message, tag = "13")]
        G(super::GraphDef),
        /// A list of lists of integers.
        #[prost(message, tag = "14")]
        ListListInt(ListListInt),
        /// A data type, in the C++ numbering.
        #[prost(int64, tag = "15")]
        Dt(i64),
        /// A list of lists of floats.
        #[prost(message, tag = "16")]
        ListListFloat(ListListFloat),
        /// A symbolic expression.
        #[prost(bytes = "vec", tag = "17")]
        Expression(Vec<u8>),
    }
}

pub use attr_def::{ListListFloat, ListListInt, ListValue, Value};

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
