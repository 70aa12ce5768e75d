//! From an error of wasmtime to a fault of the pass.

use wasmtime::{FrameInfo, Trap, WasmBacktrace};

use super::fault::Frame;
use super::store::Stop;
use super::{FaultKind, PassFault};
use crate::contract::Limits;
use crate::contract::shown;

/// How many of the guest's functions a fault names.
const FRAMES: usize = 8;

/// What was going on.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) pass: &'a str,
    pub(super) function: &'static str,
    pub(super) limits: &'a Limits,
    pub(super) fuel: u64,
    pub(super) stack_bytes: usize,
}

/// Returns the fault that an error is.
pub(super) fn classify(error: &wasmtime::Error, context: &Context<'_>) -> PassFault {
    let (kind, message, figures) = match (error.downcast_ref::<Stop>(), error.downcast_ref::<Trap>()) {
        (Some(stop), _) => of_stop(*stop),
        (None, Some(trap)) => of_trap(*trap, context),
        (None, None) => of_text(error, context),
    };
    PassFault {
        kind,
        pass: context.pass.to_string(),
        function: context.function,
        message,
        used: figures.map(|(used, _)| used),
        limit: figures.map(|(_, limit)| limit),
        frames: frames(error),
    }
}

type Said = (FaultKind, String, Option<(u64, u64)>);

fn of_stop(stop: Stop) -> Said {
    let hint = |key: &str| format!("{stop}; limits.{key} allows fewer");
    match stop {
        Stop::Time { used_ms, limit_ms } => {
            (FaultKind::Time, format!("{stop} (milliseconds; limits.time_seconds)"), Some((used_ms, limit_ms)))
        }
        Stop::Memory { wanted, limit } => (FaultKind::Memory, hint("memory_bytes"), Some((wanted, limit))),
        Stop::Table { wanted, limit } => (FaultKind::Memory, hint("table_elements"), Some((wanted, limit))),
        Stop::HostBytes { wanted, limit } => (FaultKind::HostLimit, hint("host_bytes"), Some((wanted, limit))),
        Stop::NoGraph { .. } | Stop::ReservedKey { .. } => (FaultKind::Contract, stop.to_string(), None),
    }
}

fn of_trap(trap: Trap, context: &Context<'_>) -> Said {
    match trap {
        Trap::OutOfFuel => {
            let message =
                "its fuel is used up: it loops, or the limit (limits.fuel_base, limits.fuel_per_node) is too low";
            (FaultKind::Fuel, message.to_string(), Some((context.fuel, context.fuel)))
        }
        Trap::Interrupt => (FaultKind::Time, "its time is used up".to_string(), None),
        Trap::StackOverflow => {
            let bytes = u64::try_from(context.stack_bytes).unwrap_or(u64::MAX);
            let message = "it recursed deeper than limits.stack_bytes allows";
            (FaultKind::Stack, message.to_string(), Some((bytes, bytes)))
        }
        Trap::InvalidChar
        | Trap::StringOutOfBounds
        | Trap::ListOutOfBounds
        | Trap::InvalidDiscriminant
        | Trap::UnalignedPointer => (FaultKind::Contract, format!("it passed a value that is none: {trap}"), None),
        Trap::UnreachableCodeReached => {
            (FaultKind::Trap, "it panicked (unreachable code was reached)".to_string(), None)
        }
        other => (FaultKind::Trap, other.to_string(), None),
    }
}

/// Errors that wasmtime gives no type: only their text tells.
fn of_text(error: &wasmtime::Error, context: &Context<'_>) -> Said {
    let root = error.root_cause().to_string();
    let message = shown(&root, context.limits.message_chars);
    if root.contains("too much data is being copied between the host and the guest") {
        let limit = context.limits.call_bytes;
        let message = "it handed the host more in one call than limits.call_bytes allows".to_string();
        return (FaultKind::HostLimit, message, Some((limit.saturating_add(1), limit)));
    }
    if root.contains("handle limit exceeded") {
        let limit = u64::from(context.limits.handles);
        let message = "it holds more resources at once than limits.handles allows".to_string();
        return (FaultKind::HostLimit, message, Some((limit.saturating_add(1), limit)));
    }
    if root.contains("resource limit exceeded") || root.contains("resource table") {
        return (FaultKind::HostLimit, message, None);
    }
    // What is left is said of values and pointers that a guest hands over.
    (FaultKind::Contract, format!("it broke the calling convention: {message}"), None)
}

/// Returns the name of a guest's function for people. Escaped.
pub(super) fn function_name(name: &str) -> String {
    const CHARS: u32 = 200;
    shown(&format!("{:#}", rustc_demangle::demangle(name)), CHARS)
}

fn frames(error: &wasmtime::Error) -> Box<[Frame]> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return Box::default() };
    let frames = backtrace.frames().iter().take(FRAMES);
    let place = |f: &FrameInfo| Some((f.func_index(), u32::try_from(f.func_offset()?).ok()?));
    frames.filter_map(|f| Some(Frame { name: function_name(f.func_name()?), place: place(f) })).collect()
}
