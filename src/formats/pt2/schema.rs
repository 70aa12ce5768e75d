//! The JSON of a `.pt2` file as typed structs that borrow from it: PyTorch's `torch/_export/serde/schema.py`, version 8.
//!
//! Promises: unknown keys are skipped, as PyTorch skips them; texts without escapes are not copied; what Airlock carries through
//! unread stays [`RawValue`]; objects keep their order. Nesting is bounded by `serde_json`'s limit of 128 levels. Leaves what names and
//! numbers mean to `read`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::sym::KeyedMap;

/// A text, borrowed where the JSON holds it without escapes.
#[derive(Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// An object as pairs, in its order.
#[derive(Debug)]
pub(super) struct Pairs<K, V>(pub(super) Vec<(K, V)>);

impl<K, V> Default for Pairs<K, V> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Pairs<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<K, V>(PhantomData<(K, V)>);
        impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<K, V> {
            type Value = Pairs<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor(PhantomData))
    }
}

/// Types of tensors by name. Many have one type, and what is spelled alike is taken apart once.
#[derive(Default)]
pub(super) struct TensorTable<'a> {
    /// Names, each with the place of its type, in their order.
    pub(super) names: Vec<(Text<'a>, usize)>,
    /// Types, each once.
    pub(super) types: Vec<TensorMeta<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for TensorTable<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor(PhantomData))
    }
}

struct TableVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for TableVisitor<'a> {
    type Value = TensorTable<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TensorTable<'a>, A::Error> {
        let mut table = TensorTable::default();
        let mut places: KeyedMap<&'a str, usize> = KeyedMap::default();
        while let Some((name, raw)) = map.next_entry::<Text<'a>, &'a RawValue>()? {
            let place = match places.get(raw.get()) {
                Some(place) => *place,
                None => {
                    table.types.push(part(raw)?);
                    let place = table.types.len().saturating_sub(1);
                    places.insert(raw.get(), place);
                    place
                }
            };
            table.names.push((name, place));
        }
        Ok(table)
    }
}

/// Takes apart what was skipped; an error says where in it.
fn part<'a, T: Deserialize<'a>, E: Error>(raw: &'a RawValue) -> Result<T, E> {
    serde_json::from_str(raw.get()).map_err(|error| {
        let mut again = serde_json::Deserializer::from_str(raw.get());
        let path = serde_path_to_error::deserialize::<_, T>(&mut again).err().map(|found| found.path().to_string());
        let message = error.to_string();
        // Its place would be that in the part.
        let message = message.split(" at line ").next().unwrap_or(&message);
        match path.filter(|path| path != ".") {
            Some(path) => E::custom(format!("{path}: {message}")),
            None => E::custom(message),
        }
    })
}

/// Just the version, to tell a newer file from a broken one.
#[derive(Deserialize)]
pub(super) struct VersionOnly {
    pub(super) schema_version: SchemaVersion,
}

#[derive(Deserialize)]
pub(super) struct SchemaVersion {
    pub(super) major: i64,
    pub(super) minor: i64,
}

#[derive(Deserialize)]
pub(super) struct Program<'a> {
    #[serde(borrow)]
    pub(super) graph_module: GraphModule<'a>,
    #[serde(borrow)]
    pub(super) opset_version: &'a RawValue,
    #[serde(borrow)]
    pub(super) range_constraints: Pairs<Text<'a>, RangeConstraint>,
    pub(super) schema_version: SchemaVersion,
    #[serde(borrow, default)]
    pub(super) verifiers: Vec<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) torch_version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) guards_code: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct RangeConstraint {
    #[serde(default, deserialize_with = "bound")]
    pub(super) min_val: Option<i64>,
    #[serde(default, deserialize_with = "bound")]
    pub(super) max_val: Option<i64>,
}

/// A bound of a range: an integer, or null or (before PyTorch 2.8) an infinity where there is none.
fn bound<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Bound {
        Number(i64),
        Infinity(Infinity),
    }
    #[derive(Deserialize)]
    enum Infinity {
        Infinity,
        #[serde(rename = "-Infinity")]
        Negative,
    }
    Ok(match Option::<Bound>::deserialize(deserializer)? {
        Some(Bound::Number(number)) => Some(number),
        None | Some(Bound::Infinity(Infinity::Infinity | Infinity::Negative)) => None,
    })
}

#[derive(Deserialize)]
pub(super) struct GraphModule<'a> {
    #[serde(borrow)]
    pub(super) graph: Graph<'a>,
    #[serde(borrow)]
    pub(super) signature: Signature<'a>,
    #[serde(borrow)]
    pub(super) module_call_graph: &'a RawValue,
    #[serde(borrow, default)]
    pub(super) metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) treespec_namedtuple_fields: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Graph<'a> {
    #[serde(borrow)]
    pub(super) inputs: Vec<Argument<'a>>,
    #[serde(borrow)]
    pub(super) outputs: Vec<Argument<'a>>,
    #[serde(borrow)]
    pub(super) nodes: Vec<Node<'a>>,
    #[serde(borrow)]
    pub(super) tensor_values: TensorTable<'a>,
    #[serde(borrow)]
    pub(super) sym_int_values: Pairs<Text<'a>, SymInt<'a>>,
    #[serde(borrow)]
    pub(super) sym_bool_values: Pairs<Text<'a>, SymBool<'a>>,
    #[serde(default)]
    pub(super) is_single_tensor_return: bool,
    #[serde(borrow, default)]
    pub(super) custom_obj_values: Pairs<Text<'a>, CustomObj<'a>>,
    #[serde(borrow, default)]
    pub(super) sym_float_values: Pairs<Text<'a>, SymFloat<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Node<'a> {
    #[serde(borrow)]
    pub(super) target: Text<'a>,
    #[serde(borrow)]
    pub(super) inputs: Vec<NamedArgument<'a>>,
    #[serde(borrow)]
    pub(super) outputs: Vec<Argument<'a>>,
    #[serde(borrow)]
    pub(super) metadata: &'a RawValue,
    #[serde(default)]
    pub(super) is_hop_single_tensor_return: Option<bool>,
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct NamedArgument<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arg: Argument<'a>,
    #[serde(default)]
    pub(super) kind: Option<i64>,
}

#[derive(Deserialize, Debug)]
pub(super) struct Named<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
}

#[derive(Deserialize, Debug)]
pub(super) struct CustomObj<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) class_fqn: Text<'a>,
}

#[derive(Deserialize, Debug, Clone)]
pub(super) struct Device<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(default)]
    pub(super) index: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct TensorMeta<'a> {
    pub(super) dtype: i64,
    #[serde(borrow)]
    pub(super) sizes: Vec<SymInt<'a>>,
    pub(super) requires_grad: bool,
    #[serde(borrow)]
    pub(super) device: Device<'a>,
    #[serde(borrow)]
    pub(super) strides: Vec<SymInt<'a>>,
    #[serde(borrow)]
    pub(super) storage_offset: SymInt<'a>,
    pub(super) layout: i64,
}

#[derive(Deserialize)]
pub(super) enum SymInt<'a> {
    #[serde(rename = "as_int")]
    Int(i64),
    #[serde(rename = "as_expr", borrow)]
    Expr(SymExpr<'a>),
}

#[derive(Deserialize)]
pub(super) enum SymFloat<'a> {
    #[serde(rename = "as_float", borrow)]
    Float(Float<'a>),
    #[serde(rename = "as_expr", borrow)]
    Expr(SymExpr<'a>),
}

#[derive(Deserialize)]
pub(super) enum SymBool<'a> {
    #[serde(rename = "as_bool")]
    Bool(bool),
    #[serde(rename = "as_expr", borrow)]
    Expr(SymExpr<'a>),
}

#[derive(Deserialize)]
pub(super) struct SymExpr<'a> {
    #[serde(borrow)]
    pub(super) expr_str: Text<'a>,
    #[serde(borrow, default)]
    pub(super) hint: Option<&'a RawValue>,
}

/// A number as it stands, or one of the texts `Infinity`, `-Infinity`, `NaN`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Float<'a>(pub(super) f64, PhantomData<&'a ()>);

impl<'de: 'a, 'a> Deserialize<'de> for Float<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // serde_json's own numbers may be off by one unit in the last place; the standard library's are exact.
        let text = <&'de RawValue>::deserialize(deserializer)?.get();
        let value = match text {
            "\"Infinity\"" => f64::INFINITY,
            "\"-Infinity\"" => f64::NEG_INFINITY,
            "\"NaN\"" => f64::NAN,
            // Of what is written as an integer Python makes one: a number of another type, and without a negative zero.
            _ => text.parse().ok().filter(|_| text.contains(['.', 'e', 'E'])).ok_or_else(|| {
                D::Error::custom(format!(
                    "expected a number with a point or an exponent, \"Infinity\", \"-Infinity\" or \"NaN\", found {text}"
                ))
            })?,
        };
        Ok(Float(value, PhantomData))
    }
}

#[derive(Deserialize, Debug)]
pub(super) struct Complex<'a> {
    #[serde(borrow)]
    pub(super) real: Float<'a>,
    #[serde(borrow)]
    pub(super) imag: Float<'a>,
}

/// A node by name, or a value.
#[derive(Deserialize, Debug)]
pub(super) enum SymArgument<'a> {
    #[serde(rename = "as_name", borrow)]
    Name(Text<'a>),
    #[serde(rename = "as_int")]
    Int(i64),
    #[serde(rename = "as_float", borrow)]
    Float(Float<'a>),
    #[serde(rename = "as_bool")]
    Bool(bool),
}

#[derive(Deserialize, Debug)]
pub(super) enum OptionalTensor<'a> {
    #[serde(rename = "as_tensor", borrow)]
    Tensor(Named<'a>),
    #[serde(rename = "as_none")]
    None(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
pub(super) struct GraphArgument<'a> {
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) graph: Graph<'a>,
}

/// An operand or a result: a union, which is an object of one key.
pub(super) enum Argument<'a> {
    None,
    Tensor(Text<'a>),
    Tensors(Vec<Named<'a>>),
    OptionalTensors(Vec<OptionalTensor<'a>>),
    NestedTensors(Vec<Vec<Named<'a>>>),
    Int(i64),
    Ints(Vec<i64>),
    IntLists(Vec<Vec<i64>>),
    Float(f64),
    Floats(Vec<Float<'a>>),
    FloatLists(Vec<Vec<Float<'a>>>),
    Bool(bool),
    Bools(Vec<bool>),
    String(Text<'a>),
    Strings(Vec<Text<'a>>),
    Complex(f64, f64),
    /// `as_sym_int`, `as_sym_float`, `as_sym_bool`.
    Sym(SymArgument<'a>),
    /// `as_sym_ints`, `as_sym_floats`, `as_sym_bools`.
    Syms(Vec<SymArgument<'a>>),
    ScalarType(i64),
    MemoryFormat(i64),
    Layout(i64),
    Device(Box<Device<'a>>),
    Graph(Box<GraphArgument<'a>>),
    CustomObj(Box<CustomObj<'a>>),
    Operator(Text<'a>),
    Dict(Pairs<Text<'a>, Argument<'a>>),
    /// What a newer PyTorch writes: the union as JSON text.
    Other(Box<(Text<'a>, &'a RawValue)>),
}

struct ArgumentVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Deserialize<'de> for Argument<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ArgumentVisitor(PhantomData))
    }
}

impl<'de: 'a, 'a> Visitor<'de> for ArgumentVisitor<'a> {
    type Value = Argument<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an argument: an object of one key such as as_tensor")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Argument<'a>, A::Error> {
        let key: Text<'a> = map.next_key()?.ok_or_else(|| A::Error::custom("expected an argument, found {}"))?;
        let value = variant(key, &mut map)?;
        match map.next_key::<Text<'_>>()? {
            None => Ok(value),
            Some(second) => {
                Err(A::Error::custom(format!("an argument has one key, found a second one, `{}`", &*second)))
            }
        }
    }
}

fn variant<'de: 'a, 'a, A: MapAccess<'de>>(key: Text<'a>, map: &mut A) -> Result<Argument<'a>, A::Error> {
    Ok(match &*key {
        "as_none" => {
            map.next_value::<serde::de::IgnoredAny>()?;
            Argument::None
        }
        "as_tensor" => Argument::Tensor(map.next_value::<Named<'a>>()?.name),
        "as_tensors" => Argument::Tensors(map.next_value()?),
        "as_optional_tensor" => match map.next_value()? {
            OptionalTensor::Tensor(t) => Argument::Tensor(t.name),
            OptionalTensor::None(_) => Argument::None,
        },
        "as_optional_tensors" => Argument::OptionalTensors(map.next_value()?),
        "as_nested_tensors" => Argument::NestedTensors(map.next_value()?),
        "as_int" => Argument::Int(map.next_value()?),
        "as_ints" => Argument::Ints(map.next_value()?),
        "as_int_lists" => Argument::IntLists(map.next_value()?),
        "as_float" => Argument::Float(map.next_value::<Float<'a>>()?.0),
        "as_floats" => Argument::Floats(map.next_value()?),
        "as_float_lists" => Argument::FloatLists(map.next_value()?),
        "as_bool" => Argument::Bool(map.next_value()?),
        "as_bools" => Argument::Bools(map.next_value()?),
        "as_string" => Argument::String(map.next_value()?),
        "as_strings" => Argument::Strings(map.next_value()?),
        "as_complex" => {
            let Complex { real, imag } = map.next_value()?;
            Argument::Complex(real.0, imag.0)
        }
        "as_sym_int" | "as_sym_float" | "as_sym_bool" => Argument::Sym(map.next_value()?),
        "as_sym_ints" | "as_sym_floats" | "as_sym_bools" => Argument::Syms(map.next_value()?),
        "as_scalar_type" => Argument::ScalarType(map.next_value()?),
        "as_memory_format" => Argument::MemoryFormat(map.next_value()?),
        "as_layout" => Argument::Layout(map.next_value()?),
        "as_device" => Argument::Device(map.next_value()?),
        "as_graph" => Argument::Graph(map.next_value()?),
        "as_custom_obj" => Argument::CustomObj(map.next_value()?),
        "as_operator" => Argument::Operator(map.next_value()?),
        "as_string_to_argument" => Argument::Dict(map.next_value()?),
        _ => Argument::Other(Box::new((key, map.next_value()?))),
    })
}

#[derive(Deserialize)]
pub(super) struct Signature<'a> {
    #[serde(borrow)]
    pub(super) input_specs: Vec<InputSpec<'a>>,
    #[serde(borrow)]
    pub(super) output_specs: Vec<OutputSpec<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InputSpec<'a> {
    UserInput {
        #[serde(borrow)]
        arg: Argument<'a>,
    },
    Parameter {
        #[serde(borrow)]
        arg: Named<'a>,
        #[serde(borrow)]
        parameter_name: Text<'a>,
    },
    Buffer {
        #[serde(borrow)]
        arg: Named<'a>,
        #[serde(borrow)]
        buffer_name: Text<'a>,
        persistent: bool,
    },
    TensorConstant {
        #[serde(borrow)]
        arg: Named<'a>,
        #[serde(borrow)]
        tensor_constant_name: Text<'a>,
    },
    CustomObj {
        #[serde(borrow)]
        arg: CustomObj<'a>,
        #[serde(borrow)]
        custom_obj_name: Text<'a>,
    },
    Token {
        #[serde(borrow)]
        arg: Named<'a>,
    },
    ConstantInput {
        #[serde(borrow)]
        name: Text<'a>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OutputSpec<'a> {
    UserOutput {
        #[serde(borrow)]
        arg: Argument<'a>,
    },
    LossOutput {
        #[serde(borrow)]
        arg: Named<'a>,
    },
    BufferMutation {
        #[serde(borrow)]
        arg: Named<'a>,
        #[serde(borrow)]
        buffer_name: Text<'a>,
    },
    ParameterMutation {
        #[serde(borrow)]
        arg: Named<'a>,
        #[serde(borrow)]
        parameter_name: Text<'a>,
    },
    GradientToParameter {
        #[serde(borrow)]
        arg: Named<'a>,
        #[serde(borrow)]
        parameter_name: Text<'a>,
    },
    GradientToUserInput {
        #[serde(borrow)]
        arg: Named<'a>,
        #[serde(borrow)]
        user_input_name: Text<'a>,
    },
    UserInputMutation {
        #[serde(borrow)]
        arg: Named<'a>,
        #[serde(borrow)]
        user_input_name: Text<'a>,
    },
    Token {
        #[serde(borrow)]
        arg: Named<'a>,
    },
}

/// `model_weights_config.json` and `model_constants_config.json`.
#[derive(Deserialize)]
pub(super) struct WeightsConfig<'a> {
    #[serde(borrow)]
    pub(super) config: Pairs<Text<'a>, Payload<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Payload<'a> {
    #[serde(borrow)]
    pub(super) path_name: Text<'a>,
    pub(super) is_param: bool,
    pub(super) use_pickle: bool,
    #[serde(borrow, default)]
    pub(super) tensor_meta: Option<TensorMeta<'a>>,
}

/// Returns where `json` is nested deeper than `limit` levels: line and column, from 1.
///
/// serde_json bounds what it takes apart; what it skips it would accept however deep. One rule for all is simpler to rely on.
pub(super) fn too_deep(json: &[u8], limit: usize) -> Option<(usize, usize)> {
    let (mut depth, mut rest) = (0_usize, json);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'"' => rest = after_text(rest),
            b'[' | b'{' => depth = depth.saturating_add(1),
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth > limit {
            let place = json.len().saturating_sub(rest.len()).saturating_sub(1);
            return Some(line_and_column(json, place));
        }
    }
    None
}

/// So many bytes are looked at one by one: most texts are names, which end before a search for their end has begun.
const NAME: usize = 24;

/// Returns what stands behind the end of a text, of which the opening quote was read.
fn after_text(mut rest: &[u8]) -> &[u8] {
    loop {
        let ends = |byte: &u8| matches!(byte, b'"' | b'\\');
        let near = rest.iter().take(NAME).position(ends);
        let place = near.or_else(|| {
            let far = memchr::memchr2(b'"', b'\\', rest.get(NAME..)?)?;
            far.checked_add(NAME)
        });
        match place.and_then(|place| rest.get(place..)) {
            Some([b'"', after @ ..]) => return after,
            Some([_, _, after @ ..]) => rest = after,
            _ => return &[],
        }
    }
}

fn line_and_column(json: &[u8], place: usize) -> (usize, usize) {
    let before = json.get(..place).unwrap_or_default();
    let line = before.split(|b| *b == b'\n').count();
    let column = before.rsplit(|b| *b == b'\n').next().map_or(0, <[u8]>::len);
    (line, column.saturating_add(1))
}
