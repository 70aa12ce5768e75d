//! Operators.

/// A call that no rule gives a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{target}` is not known; describe it with --ops")]
pub struct TypeError {
    /// Target.
    pub target: String,
}

impl TypeError {
    /// Returns whether nothing is known of the operator.
    pub fn is_unknown_target(&self) -> bool {
        true
    }

    /// Returns whether an argument does not fit the schema.
    pub fn is_bad_argument(&self) -> bool {
        false
    }

    /// Returns the argument's name.
    pub fn argument(&self) -> Option<&str> {
        None
    }
}

/// All operators that are known.
#[derive(Clone, Debug, Default)]
pub struct Registry {}

impl Registry {
    /// Returns the operators that Airlock knows by itself.
    pub fn standard() -> Self {
        Self::default()
    }

    /// Returns the type of a call.
    pub fn infer(
        &self,
        _graph: &mut crate::graph::Graph,
        target: &str,
        _args: &[crate::graph::Arg],
        _kwargs: &[(crate::graph::StrId, crate::graph::Arg)],
    ) -> Result<crate::graph::ValueType, TypeError> {
        Err(TypeError { target: target.to_string() })
    }
}
