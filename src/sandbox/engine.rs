//! The engine: wasmtime with everything off that a pass does not need.
//!
//! Off: WASI (not even compiled in), async and concurrency, threads, garbage collection, Winch, pooling, SIMD, tail
//! calls, exceptions, several memories in a module, memories of 64 bits. 21 of wasmtime's 35 advisories from 2023 to
//! 2026 were in these. On: fuel (runs end the same way each time), epochs (the clock), one form of NaN.
//!
//! Promises: every component that an engine compiles was looked at by [`crate::contract::check`] first.

use std::sync::OnceLock;

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Config, OptLevel, Strategy};

use super::bindings::GraphPass;
use super::host::Host;
use super::store::Clock;
use crate::contract::{Limits, LoadError};

/// Stack of the thread that a guest runs on, beyond the guest's own: host functions and type rules need it.
const HOST_STACK_BYTES: usize = 8 << 20;

/// Compiles and runs passes. One is enough for a process.
pub struct Engine {
    pub(super) wasmtime: wasmtime::Engine,
    stack_bytes: usize,
    /// The clock, where no thread can be started for a run.
    pub(super) clock: Option<Clock>,
    linker: OnceLock<Linker<Host>>,
}

impl Engine {
    /// Starts an engine. Of the limits it takes the stack; the others belong to each load and run.
    pub fn new(limits: &Limits) -> Result<Self, LoadError> {
        let stack_bytes = stack_bytes(limits);
        Self::of(&config(stack_bytes, false), stack_bytes)
    }

    /// Starts an engine that tells where in its functions a guest traps. What it compiles is a tenth larger.
    pub fn locating(limits: &Limits) -> Result<Self, LoadError> {
        let stack_bytes = stack_bytes(limits);
        Self::of(&config(stack_bytes, true), stack_bytes)
    }

    fn of(config: &Config, stack_bytes: usize) -> Result<Self, LoadError> {
        let wasmtime = wasmtime::Engine::new(config).map_err(|e| LoadError::Engine { message: format!("{e:#}") })?;
        Ok(Self { wasmtime, stack_bytes, clock: None, linker: OnceLock::new() })
    }

    /// Returns the host's functions, for all components of this engine; they are made once.
    pub(super) fn linker(&self) -> wasmtime::Result<&Linker<Host>> {
        if let Some(linker) = self.linker.get() {
            return Ok(linker);
        }
        let mut linker = Linker::new(&self.wasmtime);
        GraphPass::add_to_linker::<_, HasSelf<Host>>(&mut linker, |host| host)?;
        Ok(self.linker.get_or_init(|| linker))
    }

    /// Starts the engine of a worker: its clock runs at once, guests run on the thread that asks for it, whose stack must be
    /// [`Engine::thread_stack_bytes`], and code may lie in memory that is not the engine's.
    #[cfg(target_os = "linux")]
    pub(super) fn of_worker(limits: &Limits, locates: bool) -> Result<Self, LoadError> {
        let stack_bytes = stack_bytes(limits);
        let mut config = config(stack_bytes, locates);
        config.with_custom_code_memory(Some(std::sync::Arc::new(super::artifact::Published::new())));
        let mut engine = Self::of(&config, stack_bytes)?;
        let clock = Clock::start(&engine.wasmtime).map_err(|e| LoadError::Engine { message: e.to_string() })?;
        engine.clock = Some(clock);
        Ok(engine)
    }

    /// Returns how much stack a thread needs to run a guest: with less the process would abort where a guest overflows.
    pub(super) fn thread_stack_bytes(&self) -> usize {
        self.stack_bytes.saturating_add(HOST_STACK_BYTES)
    }

    /// Returns how much of it is the guest's.
    pub(super) fn guest_stack_bytes(&self) -> usize {
        self.stack_bytes
    }
}

fn stack_bytes(limits: &Limits) -> usize {
    const MIN: u64 = 64 << 10;
    // The engine takes no more.
    const MAX: u64 = 2 << 20;
    usize::try_from(limits.stack_bytes.clamp(MIN, MAX)).unwrap_or(1 << 20)
}

fn config(stack_bytes: usize, locates: bool) -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        .cranelift_nan_canonicalization(true)
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(stack_bytes)
        .concurrency_support(false)
        .wasm_component_model(true)
        .wasm_relaxed_simd(false)
        .wasm_simd(false)
        .wasm_tail_call(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false)
        .wasm_wide_arithmetic(false)
        .wasm_custom_page_sizes(false)
        // Kept at wasmtime's own value, with its guard pages: the most tested way to keep a guest inside its memory. It
        // costs address space, not memory.
        .memory_reservation(4 << 30)
        .guard_before_linear_memory(true)
        // Images of memories would be files of their own: workers may make none.
        .memory_init_cow(false)
        // Which instruction of a function it was is read only where the pass's author asks, and nobody unwinds but the engine itself: a
        // tenth of what is compiled.
        .generate_address_map(locates)
        .native_unwind_info(false)
        .signals_based_traps(true);
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_starts_with_any_stack_limit() {
        for stack_bytes in [0, 1 << 20, u64::MAX] {
            let engine = Engine::new(&Limits { stack_bytes, ..Limits::default() }).unwrap();
            assert!(engine.thread_stack_bytes() > engine.guest_stack_bytes());
        }
    }

    #[test]
    fn what_a_pass_does_not_need_is_off() {
        let engine = Engine::new(&Limits::default()).unwrap();
        for (feature, module) in [
            ("simd", "(module (func (result v128) v128.const i64x2 0 0))"),
            ("tail calls", "(module (func $f return_call $f))"),
            ("memory64", "(module (memory i64 1))"),
            ("two memories", "(module (memory 1) (memory 1))"),
            ("exceptions", "(module (tag))"),
            ("threads", "(module (memory 1 1 shared))"),
            ("gc", "(module (type (struct)))"),
        ] {
            let wasm = wat::parse_str(module).unwrap();
            assert!(wasmtime::Module::new(&engine.wasmtime, wasm).is_err(), "{feature}");
        }
    }
}
