//! The signature as the JSON holds it.

use std::fmt::Write;

use super::error::Problem;
use super::python;
use super::write_program::Writer;
use crate::graph::{Arg, BodyId, InputKind, InputSpec, NodeId, NodeKind, OutputKind, OutputSpec, ValueType, View};

impl Writer<'_> {
    /// Appends the signature; a graph without one takes user inputs and gives user outputs.
    pub(super) fn signature(&mut self, out: &mut String) -> Result<(), Problem> {
        let graph = self.graph;
        let placeholders: Vec<NodeId> =
            graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Placeholder).collect();
        let Some(output) = graph.output(BodyId::ROOT) else { return Ok(()) };
        let returned = match graph.args(output).first() {
            Some(Arg::List(items) | Arg::Tuple(items)) => items.to_vec(),
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        };
        let signature = graph.signature.clone().unwrap_or_else(|| crate::graph::Signature {
            inputs: placeholders.iter().map(|n| plain_input(self.name(*n))).collect(),
            outputs: returned.iter().map(|_| OutputSpec { kind: OutputKind::UserOutput, target: None }).collect(),
        });
        let count = |what, found: usize, expected: usize| {
            if found == expected { Ok(()) } else { Err(Problem::Signature { what, found, expected }) }
        };
        count("inputs", signature.inputs.len(), placeholders.len())?;
        count("outputs", signature.outputs.len(), returned.len())?;
        out.push_str("{\"input_specs\": [");
        for (place, (spec, node)) in signature.inputs.iter().zip(&placeholders).enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            self.input_spec(out, spec, *node)?;
        }
        out.push_str("], \"output_specs\": [");
        for (place, (spec, value)) in signature.outputs.iter().zip(&returned).enumerate() {
            if place > 0 {
                out.push_str(", ");
            }
            self.output_spec(out, spec, output, place, value)?;
        }
        out.push_str("]}");
        Ok(())
    }

    fn input_spec(&mut self, out: &mut String, spec: &InputSpec, node: NodeId) -> Result<(), Problem> {
        let name = python::quoted(self.name(node));
        let target = python::quoted(spec.target.as_deref().unwrap_or_default());
        let arg = format!("{{\"arg\": {{\"name\": {name}}}");
        if matches!(
            spec.kind,
            InputKind::Parameter | InputKind::Buffer | InputKind::ConstantTensor | InputKind::CustomObj
        ) && spec.target.is_none()
        {
            let reason = format!("it is a {} without a target in the signature", spec.kind.name());
            return Err(Problem::Node { node: self.graph.name(node).to_string(), reason });
        }
        let _ = match spec.kind {
            InputKind::UserInput => return self.user_input(out, spec, node, &name),
            InputKind::Parameter => write!(out, "{{\"parameter\": {arg}, \"parameter_name\": {target}}}}}"),
            InputKind::Buffer => {
                let persistent = spec.persistent.unwrap_or(true);
                write!(out, "{{\"buffer\": {arg}, \"buffer_name\": {target}, \"persistent\": {persistent}}}}}")
            }
            InputKind::ConstantTensor => {
                write!(out, "{{\"tensor_constant\": {arg}, \"tensor_constant_name\": {target}}}}}")
            }
            InputKind::CustomObj => {
                let class = match self.graph.ty(node) {
                    ValueType::Other(class) => python::quoted(self.graph.texts.text(*class)),
                    _ => "\"\"".to_string(),
                };
                write!(
                    out,
                    "{{\"custom_obj\": {{\"arg\": {{\"name\": {name}, \"class_fqn\": {class}}}, \"custom_obj_name\": {target}}}}}"
                )
            }
            InputKind::Token => write!(out, "{{\"token\": {arg}}}}}"),
        };
        Ok(())
    }

    fn user_input(&mut self, out: &mut String, spec: &InputSpec, node: NodeId, name: &str) -> Result<(), Problem> {
        match self.graph.ty(node) {
            ValueType::Const(Some(value)) => {
                out.push_str("{\"constant_input\": {\"name\": ");
                python::quote(out, &spec.name);
                out.push_str(", \"value\": ");
                self.constant(out, node, value)?;
                out.push_str("}}");
            }
            ValueType::Other(class) => {
                let class = python::quoted(self.graph.texts.text(*class));
                let _ = write!(
                    out,
                    "{{\"user_input\": {{\"arg\": {{\"as_custom_obj\": {{\"name\": {name}, \"class_fqn\": {class}}}}}}}}}"
                );
            }
            ValueType::SymInt(_) => {
                let _ = write!(out, "{{\"user_input\": {{\"arg\": {{\"as_sym_int\": {{\"as_name\": {name}}}}}}}}}");
            }
            _ => {
                let _ = write!(out, "{{\"user_input\": {{\"arg\": {{\"as_tensor\": {{\"name\": {name}}}}}}}}}");
            }
        }
        Ok(())
    }

    fn output_spec(
        &mut self,
        out: &mut String,
        spec: &OutputSpec,
        output: NodeId,
        place: usize,
        value: &Arg,
    ) -> Result<(), Problem> {
        if spec.kind == OutputKind::UserOutput {
            out.push_str("{\"user_output\": {\"arg\": ");
            self.output(out, output, place, value)?;
            out.push_str("}}");
            return Ok(());
        }
        let Arg::Node(node) = value else {
            let reason = "an output of this kind must be a tensor of the graph";
            return Err(self.unwritable(output, &|| place.to_string(), value, reason));
        };
        let (kind, field) = match spec.kind {
            OutputKind::UserOutput | OutputKind::LossOutput => ("loss_output", None),
            OutputKind::BufferMutation => ("buffer_mutation", Some("buffer_name")),
            OutputKind::ParameterMutation => ("parameter_mutation", Some("parameter_name")),
            OutputKind::GradientToParameter => ("gradient_to_parameter", Some("parameter_name")),
            OutputKind::GradientToUserInput => ("gradient_to_user_input", Some("user_input_name")),
            OutputKind::UserInputMutation => ("user_input_mutation", Some("user_input_name")),
            OutputKind::Token => ("token", None),
        };
        let name = python::quoted(self.name(*node));
        let _ = write!(out, "{{\"{kind}\": {{\"arg\": {{\"name\": {name}}}");
        if let Some(field) = field {
            let target = python::quoted(spec.target.as_deref().unwrap_or_default());
            let _ = write!(out, ", \"{field}\": {target}");
        }
        out.push_str("}}");
        Ok(())
    }
}

fn plain_input(name: &str) -> InputSpec {
    InputSpec { kind: InputKind::UserInput, name: name.into(), target: None, persistent: None }
}
