//! Compiled components: native code, made by one worker and loaded by another.
//!
//! Promises: an artifact is loaded in a worker only, behind its walls, and only where the host says that it is what a compiler of this
//! engine made. Leaves to the host where it came from.

use wasmtime::component::Component;

use super::Engine;
use super::pass::failed;
use crate::contract::{Limits, LoadError};

/// Compiles a component that was looked at. Nothing of it runs.
pub(super) fn compile(label: &str, bytes: &[u8], engine: &Engine, limits: &Limits) -> Result<Vec<u8>, LoadError> {
    engine.wasmtime.precompile_component(bytes).map_err(|e| failed(label, &e, limits))
}

/// Loads what [`compile`] made.
#[allow(unsafe_code)]
pub(super) fn load(label: &str, artifact: &[u8], engine: &Engine, limits: &Limits) -> Result<Component, LoadError> {
    // SAFETY: wasmtime asks for bytes that its own compiler made, since it hardly looks at them and they become code of this process.
    // 1. Where they come from: from the host, over the descriptor that this process was started with. The host took them either from a
    //    worker that had compiled this component and had run nothing of it, or from its cache, where a keyed hash over all bytes says that
    //    they are what such a worker once gave for the same component, engine, configuration and processor.
    // 2. Engine and configuration: wasmtime compares its version and settings, and refuses those of another.
    // 3. What is left: the compiler itself is fed by an attacker. If it can be made to write code that does anything, that code runs
    //    here: in a worker behind its walls, which is taken to be hostile anyway, never in a host. This function is called by workers only.
    let component = unsafe { Component::deserialize(&engine.wasmtime, artifact) };
    component.map_err(|e| failed(label, &e, limits))
}
