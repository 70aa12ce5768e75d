//! A graph in the making as messages: what is compared, dumped, and printed for people.

use super::attrs::{Held, Side};
use super::{Desc, Draft, NAME, Op, Source};
use crate::lower::ge::proto::{
    AttrDef, Attrs, GraphDef, ListValue, OpDef, ShapeDef, TensorDescriptor, Value, attr_def::Value as Pb,
};

impl Draft {
    /// Returns the graph as messages.
    pub fn to_def(&self) -> GraphDef {
        GraphDef { name: NAME.into(), op: operators(&self.ops), attr: self.attrs.clone() }
    }
}

/// Returns operators as messages, without those that were taken out.
pub(in crate::lower::ge) fn operators(ops: &[Op]) -> Vec<OpDef> {
    ops.iter().filter(|op| !op.is_gone).map(|op| operator(op, ops)).collect()
}

fn operator(op: &Op, ops: &[Op]) -> OpDef {
    OpDef {
        name: op.name.to_string(),
        r#type: op.kind.into(),
        input: op.inputs.iter().map(|input| edge(*input, ops)).collect(),
        attr: op.attrs.iter().map(|(name, held)| (name.to_string(), attribute(held, op))).collect(),
        input_desc: op.takes.iter().map(descriptor).collect(),
        output_desc: op.gives.iter().map(descriptor).collect(),
    }
}

fn edge(input: Source, ops: &[Op]) -> String {
    let name = |op: usize| ops.get(op).map_or("", |op| &op.name);
    match input {
        Source::Unfed => String::new(),
        Source::Data(op, output) => format!("{}:{output}", name(op)),
        Source::Control(op) => format!("{}:-1", name(op)),
    }
}

fn attribute(held: &Held, op: &Op) -> AttrDef {
    let side = |side: Side| match side {
        Side::Inputs => &op.takes,
        Side::Outputs => &op.gives,
    };
    match held {
        Held::Default(value) => (*value).clone(),
        Held::Own(value) => (**value).clone(),
        Held::Names(of) => {
            let s = side(*of).iter().map(|d| d.name.as_bytes().to_vec()).collect();
            Value::List(ListValue { s, ..ListValue::default() }).into()
        }
        Held::Numbers(of) => {
            let i = (0_i64..).zip(side(*of)).map(|(i, _)| i).collect();
            Value::List(ListValue { i, ..ListValue::default() }).into()
        }
    }
}

fn descriptor(desc: &Desc) -> TensorDescriptor {
    let mut attr = Attrs::new();
    let text = |text: &str| AttrDef::from(Pb::S(text.as_bytes().to_vec()));
    attr.extend(desc.fx_name.as_deref().map(|t| ("_fx_tensor_name".to_string(), text(t))));
    attr.extend(desc.meta.as_deref().map(|t| ("_meta".to_string(), text(t))));
    attr.extend(desc.is_unfed.then(|| ("_is_unfed_optional".to_string(), Pb::I(1).into())));
    TensorDescriptor {
        name: desc.name.to_string(),
        dtype: desc.dtype as i32,
        shape: desc.shape.as_ref().map(|dim| ShapeDef { dim: dim.to_vec() }),
        layout: desc.layout.to_string(),
        attr,
        device_type: desc.device.into(),
    }
}
