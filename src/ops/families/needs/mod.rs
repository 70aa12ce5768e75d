//! What calls must fulfil before their type rule is asked, where PyTorch refuses more than the rule does.

pub(in crate::ops) mod dtype;
pub(in crate::ops) mod index;
pub(in crate::ops) mod make;
pub(in crate::ops) mod math;
pub(in crate::ops) mod nn;
pub(in crate::ops) mod norm;
pub(in crate::ops) mod shape;
