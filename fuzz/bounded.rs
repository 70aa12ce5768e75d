//! What one input may take: 64 times its size and 64 MiB of memory. Memory that is refused ends the fuzzer, which then shows the input.

use std::alloc::System;
use std::sync::Once;

use cap::Cap;

use crate::targets::{self, Target};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Gives a target its input and no more memory than that.
pub fn bounded(target: Target, data: &[u8]) {
    // The registry is made once, not for an input.
    static ONCE: Once = Once::new();
    ONCE.call_once(|| drop(targets::edited()));
    let most = HEAP.allocated().saturating_add(data.len().saturating_mul(64)).saturating_add(64 << 20);
    // Fails where more is taken already, which it never is.
    let _ = HEAP.set_limit(most);
    target(data);
    let _ = HEAP.set_limit(usize::MAX);
}
