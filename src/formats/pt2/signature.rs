//! The signature: input and output specs as the Graph keeps them.

use super::error::Problem;
use super::schema::{self, Argument, SymArgument};
use crate::graph::{InputKind, InputSpec, OutputKind, OutputSpec, Signature};

/// Returns the signature, which must have one spec an input and one an output.
pub(super) fn read(program: &schema::GraphModule<'_>) -> Result<Signature, Problem> {
    let json = &program.signature;
    let count = |what, found: usize, expected: usize| {
        if found == expected { Ok(()) } else { Err(Problem::Signature { what, found, expected }) }
    };
    count("inputs", json.input_specs.len(), program.graph.inputs.len())?;
    count("outputs", json.output_specs.len(), program.graph.outputs.len())?;
    let inputs =
        json.input_specs.iter().enumerate().map(|(place, spec)| input(place, spec)).collect::<Result<_, _>>()?;
    for (place, (spec, value)) in json.input_specs.iter().zip(&program.graph.inputs).enumerate() {
        same_name(place, spec_name(spec), value)?;
    }
    Ok(Signature { inputs, outputs: json.output_specs.iter().map(output).collect() })
}

/// Holds that each output spec is of the graph's output there.
pub(super) fn outputs_fit(program: &schema::GraphModule<'_>) -> Result<(), Problem> {
    let specs = program.signature.output_specs.iter().zip(&program.graph.outputs);
    specs.enumerate().try_for_each(|(place, (spec, value))| same_output(place, spec, value))
}

fn same_name(place: usize, spec: Option<&str>, value: &Argument<'_>) -> Result<(), Problem> {
    let (Some(spec), Some(value)) = (spec, argument_name(value)) else { return Ok(()) };
    if spec == value {
        return Ok(());
    }
    Err(Problem::Unexpected {
        place: format!("input spec {place}"),
        expected: format!("`{value}`, the graph's input there"),
        found: format!("`{spec}`"),
    })
}

/// Holds that an output spec is of the graph's output: one value, or one constant.
fn same_output(place: usize, spec: &schema::OutputSpec<'_>, value: &Argument<'_>) -> Result<(), Problem> {
    use schema::OutputSpec::*;
    let said = match spec {
        UserOutput { arg } => word(arg),
        LossOutput { arg }
        | BufferMutation { arg, .. }
        | ParameterMutation { arg, .. }
        | GradientToParameter { arg, .. }
        | GradientToUserInput { arg, .. }
        | UserInputMutation { arg, .. }
        | Token { arg } => named(&arg.name),
    };
    if said == word(value) {
        return Ok(());
    }
    Err(Problem::Unexpected {
        place: format!("output spec {place}"),
        expected: format!("{}, the graph's output there", word(value)),
        found: said,
    })
}

fn named(name: &str) -> String {
    format!("`{name}`")
}

/// What an output is, as a word: a value by its name, a constant by itself.
fn word(argument: &Argument<'_>) -> String {
    match argument {
        Argument::Int(v) | Argument::Sym(SymArgument::Int(v)) => v.to_string(),
        Argument::Float(v) => format!("{v:?}"),
        Argument::Bool(v) => v.to_string(),
        Argument::String(v) => format!("{v:?}"),
        Argument::None => "None".to_string(),
        other => argument_name(other).map_or_else(|| "another kind of argument".to_string(), named),
    }
}

fn argument_name<'a>(argument: &'a Argument<'_>) -> Option<&'a str> {
    match argument {
        Argument::Tensor(name) | Argument::Sym(SymArgument::Name(name)) => Some(name),
        Argument::CustomObj(object) => Some(&object.name),
        _ => None,
    }
}

/// Returns the name that a spec gives to its input.
pub(super) fn spec_name<'a>(spec: &'a schema::InputSpec<'_>) -> Option<&'a str> {
    match spec {
        schema::InputSpec::UserInput { arg } => argument_name(arg),
        schema::InputSpec::Parameter { arg, .. }
        | schema::InputSpec::Buffer { arg, .. }
        | schema::InputSpec::TensorConstant { arg, .. }
        | schema::InputSpec::Token { arg } => Some(&arg.name),
        schema::InputSpec::CustomObj { arg, .. } => Some(&arg.name),
        schema::InputSpec::ConstantInput { name } => Some(name),
    }
}

fn input(place: usize, spec: &schema::InputSpec<'_>) -> Result<InputSpec, Problem> {
    let name = spec_name(spec).unwrap_or_default();
    let (kind, target, persistent) = match spec {
        schema::InputSpec::UserInput { .. } if name.is_empty() => {
            return Err(Problem::Unexpected {
                place: format!("input spec {place}"),
                expected: "a name (constants are constant_input)".to_string(),
                found: "a value".to_string(),
            });
        }
        schema::InputSpec::UserInput { .. } | schema::InputSpec::ConstantInput { .. } => {
            (InputKind::UserInput, None, None)
        }
        schema::InputSpec::Parameter { parameter_name, .. } => (InputKind::Parameter, Some(parameter_name), None),
        schema::InputSpec::Buffer { buffer_name, persistent, .. } => {
            (InputKind::Buffer, Some(buffer_name), Some(*persistent))
        }
        schema::InputSpec::TensorConstant { tensor_constant_name, .. } => {
            (InputKind::ConstantTensor, Some(tensor_constant_name), None)
        }
        schema::InputSpec::CustomObj { custom_obj_name, .. } => (InputKind::CustomObj, Some(custom_obj_name), None),
        schema::InputSpec::Token { .. } => (InputKind::Token, None, None),
    };
    Ok(InputSpec { kind, name: name.into(), target: target.map(|t| Box::from(&**t)), persistent })
}

fn output(spec: &schema::OutputSpec<'_>) -> OutputSpec {
    let (kind, target) = match spec {
        schema::OutputSpec::UserOutput { .. } => (OutputKind::UserOutput, None),
        schema::OutputSpec::LossOutput { .. } => (OutputKind::LossOutput, None),
        schema::OutputSpec::BufferMutation { buffer_name, .. } => (OutputKind::BufferMutation, Some(buffer_name)),
        schema::OutputSpec::ParameterMutation { parameter_name, .. } => {
            (OutputKind::ParameterMutation, Some(parameter_name))
        }
        schema::OutputSpec::GradientToParameter { parameter_name, .. } => {
            (OutputKind::GradientToParameter, Some(parameter_name))
        }
        schema::OutputSpec::GradientToUserInput { user_input_name, .. } => {
            (OutputKind::GradientToUserInput, Some(user_input_name))
        }
        schema::OutputSpec::UserInputMutation { user_input_name, .. } => {
            (OutputKind::UserInputMutation, Some(user_input_name))
        }
        schema::OutputSpec::Token { .. } => (OutputKind::Token, None),
    };
    OutputSpec { kind, target: target.map(|t| Box::from(&**t)) }
}
