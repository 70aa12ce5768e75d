//! The calling convention of an exported program.

use serde::{Deserialize, Serialize};

/// What an input is to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum InputKind {
    UserInput,
    Parameter,
    Buffer,
    ConstantTensor,
    CustomObj,
    Token,
}

/// What an output is to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum OutputKind {
    UserOutput,
    LossOutput,
    BufferMutation,
    ParameterMutation,
    GradientToParameter,
    GradientToUserInput,
    UserInputMutation,
    Token,
}

impl InputKind {
    /// Every kind with the word that PyTorch prints.
    pub const NAMES: &'static [(InputKind, &'static str)] = &[
        (InputKind::UserInput, "USER_INPUT"),
        (InputKind::Parameter, "PARAMETER"),
        (InputKind::Buffer, "BUFFER"),
        (InputKind::ConstantTensor, "CONSTANT_TENSOR"),
        (InputKind::CustomObj, "CUSTOM_OBJ"),
        (InputKind::Token, "TOKEN"),
    ];

    /// Returns the word that PyTorch prints.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(k, _)| *k == self).map_or("", |(_, n)| n)
    }

    /// Returns the kind of a printed word.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, n)| *n == text).map(|(k, _)| *k)
    }
}

impl OutputKind {
    /// Every kind with the word that PyTorch prints.
    pub const NAMES: &'static [(OutputKind, &'static str)] = &[
        (OutputKind::UserOutput, "USER_OUTPUT"),
        (OutputKind::LossOutput, "LOSS_OUTPUT"),
        (OutputKind::BufferMutation, "BUFFER_MUTATION"),
        (OutputKind::ParameterMutation, "PARAMETER_MUTATION"),
        (OutputKind::GradientToParameter, "GRADIENT_TO_PARAMETER"),
        (OutputKind::GradientToUserInput, "GRADIENT_TO_USER_INPUT"),
        (OutputKind::UserInputMutation, "USER_INPUT_MUTATION"),
        (OutputKind::Token, "TOKEN"),
    ];

    /// Returns the word that PyTorch prints.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(k, _)| *k == self).map_or("", |(_, n)| n)
    }

    /// Returns the kind of a printed word.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, n)| *n == text).map(|(k, _)| *k)
    }

    /// Returns whether the output is the final content of something that the caller holds.
    pub fn is_mutation(self) -> bool {
        matches!(self, OutputKind::BufferMutation | OutputKind::ParameterMutation | OutputKind::UserInputMutation)
    }
}

/// One input, in the order of the placeholders.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InputSpec {
    /// Kind.
    pub kind: InputKind,
    /// Name of the placeholder (its printed name).
    pub name: Box<str>,
    /// Fully qualified name of the parameter, buffer or constant.
    pub target: Option<Box<str>>,
    /// Of buffers: whether it belongs to the state dict.
    pub persistent: Option<bool>,
}

/// One output, in the order of what the graph returns. Which value it is stands in the output node alone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OutputSpec {
    /// Kind.
    pub kind: OutputKind,
    /// Fully qualified name of what is changed, or the user input's name.
    pub target: Option<Box<str>>,
}

/// Inputs and outputs of an exported program.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Signature {
    /// One an input.
    pub inputs: Vec<InputSpec>,
    /// One an output.
    pub outputs: Vec<OutputSpec>,
}
