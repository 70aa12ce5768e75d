//! How a pass can fail while it runs, and what is said of it.
//!
//! A fault is no verdict: it says nothing of the graph, which is as it was before the run. Errors of loading a component
//! are another thing ([`super::LoadError`]): there nothing has run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kinds of fault.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The component trapped by itself: unreachable code (a panic), memory out of bounds, a bad indirect call.
    Trap,
    /// Its fuel is used up.
    Fuel,
    /// Its time is used up.
    Time,
    /// Its linear memories or tables would have grown beyond their limit.
    Memory,
    /// It recursed too deep.
    Stack,
    /// It asked more of the host than the host gives: bytes in one call, bytes over the run, instances, handles.
    HostLimit,
    /// Its `run` returned an error.
    GuestError,
    /// It did what the contract forbids: used the graph in `describe`, gave itself no valid name, asked for a grant that
    /// does not exist, passed values that are none.
    Contract,
    /// The process that ran it crashed, was killed, or did not answer as a worker does.
    Worker,
}

impl FaultKind {
    /// Returns the kind as JSON and reports spell it.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Trap => "trap",
            FaultKind::Fuel => "fuel",
            FaultKind::Time => "time",
            FaultKind::Memory => "memory",
            FaultKind::Stack => "stack",
            FaultKind::HostLimit => "host-limit",
            FaultKind::GuestError => "guest-error",
            FaultKind::Contract => "contract",
            FaultKind::Worker => "worker",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A function of the guest, on its stack when it failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Its name. Escaped.
    pub name: String,
    /// Its number among the module's functions, and the offset in its body, in bytes: where the engine keeps them (`Engine::locating`).
    pub place: Option<(u32, u32)>,
}

/// A pass failed; the graph is as it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassFault {
    /// What happened.
    pub kind: FaultKind,
    /// The pass, by the name under which it was loaded.
    pub pass: String,
    /// The function of the contract that was being called: `run`, `describe`, or `start` for what a component does when
    /// it is instantiated.
    pub function: &'static str,
    /// For people: what happened and, where something can be done, what.
    pub message: String,
    /// How much was used of what ran out, in the units of [`crate::contract::Limits`].
    pub used: Option<u64>,
    /// How much there was.
    pub limit: Option<u64>,
    /// The guest's own functions, innermost first, where the component has names. Escaped.
    pub frames: Box<[Frame]>,
}

impl fmt::Display for PassFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in `{}`: {}", self.pass, self.function, self.message)?;
        if let (Some(used), Some(limit)) = (self.used, self.limit) {
            write!(f, " (used {used} of {limit})")?;
        }
        if let Some(frame) = self.frames.first() {
            write!(f, ", in its function {}", frame.name)?;
        }
        Ok(())
    }
}

impl std::error::Error for PassFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_pass_function_and_figures() {
        let fault = PassFault {
            kind: FaultKind::Fuel,
            pass: "endless".into(),
            function: "run",
            message: "out of fuel".into(),
            used: Some(10),
            limit: Some(10),
            frames: Box::new([Frame { name: "spin".into(), place: None }]),
        };
        assert_eq!(fault.to_string(), "endless in `run`: out of fuel (used 10 of 10), in its function spin");
        assert_eq!(serde_json::to_value(fault.kind).unwrap(), fault.kind.name());
    }
}
