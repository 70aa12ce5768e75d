#![no_main]

#[path = "../bounded.rs"]
mod bounded;
#[path = "../targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bounded::bounded(targets::judge, data));
