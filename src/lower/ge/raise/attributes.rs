//! What a GE graph says of itself as a whole: by its attributes the host makes what the graph gives, and passes what it takes.
//!
//! Promises: an attribute that is there says the types that the outputs have, and where the inputs are. One that is not there says nothing.

use super::{RaiseError, Raising, is_byte_float, types};
use crate::graph::{Dtype, NodeId};
use crate::lower::ge::proto::Value;
use crate::lower::ge::written::WrittenOp;

/// Whether a Data's tensor stays on the host.
pub(super) fn is_on_host(op: &WrittenOp<'_>) -> bool {
    op.output_desc.first().is_some_and(|d| d.device_type == "CPU")
}

impl Raising<'_, '_> {
    fn numbers(&self, name: &str) -> Option<&[i64]> {
        match self.ge.attr.get(name).and_then(|a| a.value.as_ref()) {
            Some(Value::List(list)) => Some(&list.i),
            _ => None,
        }
    }

    /// Holds the attributes to the inputs and outputs.
    pub(super) fn check_attributes(&self, outputs: &[NodeId]) -> Result<(), RaiseError> {
        if let Some(said) = self.numbers("_output_dtypes") {
            let fits = |(number, node): (&i64, &NodeId)| {
                let (Some(said), Ok(own)) = (types::of_cpp(*number), self.b.dtype(*node)) else { return true };
                said == own || (own == Dtype::U8 && is_byte_float(said))
            };
            if said.len() != outputs.len() || !said.iter().zip(outputs).all(fits) {
                return Err(RaiseError::Host(format!("its outputs are said to be of types {said:?}, and are not")));
            }
        }
        if let Some(said) = self.numbers("_input_placements") {
            let inputs = self.ge.op.iter().filter(|op| matches!(op.r#type, "Data" | "RefData"));
            let mut places: Vec<(i64, i64)> = inputs
                .filter_map(|op| Some((op.attr.get("index").and_then(|a| a.as_i())?, i64::from(!is_on_host(op)))))
                .collect();
            places.sort_unstable();
            if !places.iter().map(|(_, place)| place).eq(said) {
                return Err(RaiseError::Host(format!("its inputs are said to be at {said:?}, and are not")));
            }
        }
        Ok(())
    }
}
