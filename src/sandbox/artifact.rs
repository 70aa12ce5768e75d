//! Compiled components: native code, made by one worker and loaded by another.
//!
//! Promises: an artifact is loaded in a worker only, behind its walls, and only where the host says that it is what a compiler of this
//! engine made. Leaves to the host where it came from.

use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;

use wasmtime::CustomCodeMemory;
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

/// Loads what [`compile`] made from where it stands in a file, without copying it: it stays mapped as long as the process lives.
#[allow(unsafe_code)]
pub(super) fn map(
    label: &str,
    file: &impl AsFd,
    (start, len): (u64, u64),
    engine: &Engine,
    limits: &Limits,
) -> Result<Component, LoadError> {
    let fails = |message: String| LoadError::Compile { pass: label.to_string(), message };
    let len = usize::try_from(len).map_err(|e| fails(e.to_string()))?;
    // SAFETY: a mapping that nobody writes through. The file is an entry of the cache, which no program of ours writes in place; who changes or
    // cuts it nevertheless ends this worker, or is its user.
    let mapped =
        unsafe { memmap2::MmapOptions::new().offset(start).len(len).map_copy_read_only(file.as_fd().as_raw_fd()) };
    let mapped: &'static memmap2::Mmap = Box::leak(Box::new(mapped.map_err(|e| fails(e.to_string()))?));
    // SAFETY: as in [`load`]; and the memory lives as long as the process, in which only [`Published`] changes what may be done with it.
    let component = unsafe { Component::deserialize_raw(&engine.wasmtime, NonNull::from(&**mapped)) };
    component.map_err(|e| failed(label, &e, limits))
}

/// Makes code executable wherever it lies: wasmtime does it by itself only in memory of its own.
pub(super) struct Published {
    page: usize,
}

impl Published {
    /// To be made before the walls stand: the system is asked how large a page is.
    pub(super) fn new() -> Self {
        Self { page: rustix::param::page_size() }
    }

    #[allow(unsafe_code)]
    fn protect(code: *const u8, len: usize, how: i32) -> wasmtime::Result<()> {
        // SAFETY: wasmtime names the code of an artifact that it has loaded, whole pages of it.
        match unsafe { libc::mprotect(code.cast_mut().cast(), len, how) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error().into()),
        }
    }
}

impl CustomCodeMemory for Published {
    fn required_alignment(&self) -> usize {
        self.page
    }

    fn publish_executable(&self, code: *const u8, len: usize) -> wasmtime::Result<()> {
        Self::protect(code, len, libc::PROT_READ | libc::PROT_EXEC)
    }

    fn unpublish_executable(&self, code: *const u8, len: usize) -> wasmtime::Result<()> {
        Self::protect(code, len, libc::PROT_READ | libc::PROT_WRITE)
    }
}
