//! Recorded calls of operators as call sites in a graph.

use airlock::graph::{
    Arg, BodyId, Device, Dtype, Graph, Layout, MemoryFormat, NewNode, NodeId, NodeKind, StrId, TensorType, ValueType,
    View,
};
use airlock::sym::Dim;
use serde_json::Value;

/// The folder whose `golden` holds samples: `AIRLOCK_CORPUS`, or the tests' own.
pub fn corpus() -> String {
    std::env::var("AIRLOCK_CORPUS").unwrap_or_else(|_| format!("{}/tests", env!("CARGO_MANIFEST_DIR")))
}

/// Returns every sample below a corpus: file, line from 1, the sample.
pub fn samples(corpus: &str) -> Vec<(String, usize, Value)> {
    let mut found = Vec::new();
    for folder in ["golden", "golden-npu"] {
        let Ok(entries) = std::fs::read_dir(format!("{corpus}/{folder}")) else { continue };
        let mut files: Vec<_> = entries.map(|f| f.unwrap().path()).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "gold"));
        files.sort();
        for file in files {
            let name = format!("{folder}/{}", file.file_name().unwrap().to_string_lossy());
            let text = std::fs::read_to_string(&file).unwrap();
            let line = |(i, l): (usize, &str)| (name.clone(), i + 1, serde_json::from_str(l).unwrap());
            found.extend(text.lines().enumerate().map(line));
        }
    }
    found
}

/// Positional and keyword arguments.
pub type Arguments = (Vec<Arg>, Vec<(StrId, Arg)>);

/// Returns the arguments of a sample in a graph that has its tensors as placeholders `t0`, `t1` ...
pub fn call(g: &mut Graph, sample: &Value) -> Option<Arguments> {
    let rows = sample["tensors"].as_array().unwrap();
    let tensors: Vec<Arg> = rows.iter().enumerate().map(|(i, r)| placeholder(g, i, tensor(r))).collect();
    let args = sample["args"].as_array().unwrap().iter().map(|v| argument(v, &tensors)).collect::<Option<_>>()?;
    let mut kwargs = Vec::new();
    for (k, v) in sample["kwargs"].as_object().unwrap() {
        kwargs.push((g.texts.intern(k), argument(v, &tensors)?));
    }
    Some((args, kwargs))
}

/// Returns the place in the sample's table of the tensor that a placeholder is.
pub fn place(g: &Graph, node: NodeId) -> usize {
    g.name(node)[1..].parse().unwrap()
}

fn dims(v: &Value) -> Vec<Dim> {
    v.as_array().unwrap().iter().map(|x| Dim::Fixed(x.as_i64().unwrap())).collect()
}

/// Returns the type that a row of a sample's table of tensors states.
pub fn tensor(row: &Value) -> TensorType {
    let dtype = Dtype::from_short(row[0].as_str().unwrap()).unwrap();
    let t = TensorType::new(dtype, dims(&row[1]), Device::cpu());
    TensorType { strides: Some(dims(&row[2]).into()), offset: Dim::Fixed(row[3].as_i64().unwrap()), ..t }
}

fn placeholder(g: &mut Graph, index: usize, ty: TensorType) -> Arg {
    let (target, ty) = (g.texts.intern("x"), ValueType::tensor(ty));
    let node = NewNode { kind: NodeKind::Placeholder, target, args: Box::default(), kwargs: Box::default(), ty };
    Arg::Node(g.push(BodyId::ROOT, &format!("t{index}"), node))
}

fn argument(v: &Value, tensors: &[Arg]) -> Option<Arg> {
    Some(match v {
        Value::Null => Arg::None,
        Value::Bool(b) => Arg::Bool(*b),
        Value::Number(n) => n.as_i64().map_or_else(|| Arg::Float(n.as_f64().unwrap()), Arg::Int),
        Value::String(s) => Arg::Str(s.as_str().into()),
        Value::Array(items) => Arg::List(items.iter().map(|x| argument(x, tensors)).collect::<Option<Box<[Arg]>>>()?),
        Value::Object(o) => {
            let (key, value) = o.iter().next()?;
            let text = value.as_str().unwrap_or("");
            match key.as_str() {
                "t" => tensors.get(usize::try_from(value.as_u64()?).ok()?)?.clone(),
                "float" => Arg::Float(match text {
                    "nan" => f64::NAN,
                    "inf" => f64::INFINITY,
                    _ => f64::NEG_INFINITY,
                }),
                "complex" => Arg::Complex(value[0].as_f64().unwrap_or(0.0), value[1].as_f64().unwrap_or(0.0)),
                "dtype" => Arg::Dtype(Dtype::from_short(text)?),
                "device" => Arg::Device(Device::new(text)),
                "layout" => Arg::Layout(Layout::from_name(text)?),
                "memory_format" => {
                    let long = format!("{text}_format");
                    Arg::MemoryFormat(MemoryFormat::from_name(text).or_else(|| MemoryFormat::from_name(&long))?)
                }
                _ => return None,
            }
        }
    })
}

/// Prints the type of a tensor, for people.
pub fn show(t: &TensorType) -> String {
    let list =
        |v: &[Dim]| v.iter().map(|d| d.fixed().map_or("?".into(), |n| n.to_string())).collect::<Vec<_>>().join(",");
    let strides = t.strides.as_ref().map_or("?".into(), |s| list(s));
    format!("{}[{}][{strides}]+{}", t.dtype, list(&t.sizes), t.offset.fixed().unwrap_or(-1))
}

/// Prints a type, for people.
pub fn shown(ty: &ValueType) -> String {
    match ty {
        ValueType::Tensor(t) => show(t),
        ValueType::Many(all) => format!("({})", all.iter().map(shown).collect::<Vec<_>>().join(" ")),
        ValueType::SymInt(d) => format!("{}", d.fixed().unwrap_or(-1)),
        other => format!("{other:?}"),
    }
}
