//! A good component with something of it changed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::components::hostile;
use crate::graphs::{content, editor};
use airlock::contract::{self, Limits};
use airlock::sandbox::worker::{WorkerPass, Workers};
use airlock::sandbox::{Ended, Job};

const MUTANTS: u64 = 1_000;

/// Returns a mutant: some bytes are others, gone, or there twice.
fn mutant(whole: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut next = |below: usize| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ (mixed >> 27)) % below as u64) as usize
    };
    let mut bytes = whole.to_vec();
    for _ in 0..=next(3) {
        let at = 8 + next(bytes.len() - 8);
        match next(5) {
            0 | 1 => bytes[at] ^= 1 << next(8),
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][next(5)],
            3 => drop(bytes.drain(at..(at + 1 + next(4)).min(bytes.len()))),
            _ => {
                let run = bytes[at..(at + 1 + next(8)).min(bytes.len())].to_vec();
                bytes.splice(at..at, run);
            }
        }
    }
    bytes
}

/// What became of them: refused at a look, by the compiler or the linker, ended in a fault, ran.
#[derive(Default, Debug)]
struct Count {
    refused: usize,
    not_loaded: usize,
    faulted: usize,
    ran: usize,
}

#[test]
fn a_thousand_mutants_of_a_good_component_leave_host_and_graph_alone() {
    let limits = Limits {
        fuel_base: 2_000_000,
        fuel_per_node: 0,
        time_seconds: 10.0,
        memory_bytes: 16 << 20,
        host_bytes: 1 << 20,
        ..Limits::default()
    };
    let whole = hostile("edit_then_fail");
    let workers = Workers::of(assert_cmd::cargo::cargo_bin("airlock"), ["worker"]);
    let (next, count) = (AtomicUsize::new(0), Mutex::new(Count::default()));
    let began = Instant::now();
    let one = |seed: u64| {
        let bytes = mutant(&whole, seed);
        if let Err(error) = contract::check("mutant", &bytes, &limits) {
            assert!(error.to_string().is_ascii(), "{seed}: {error}");
            count.lock().unwrap().refused += 1;
            return;
        }
        let mut pass = match WorkerPass::load("mutant", &bytes, &workers, &[], &limits) {
            Ok(pass) => pass,
            Err(error) => {
                assert!(error.to_string().is_ascii(), "{seed}: {error}");
                count.lock().unwrap().not_loaded += 1;
                return;
            }
        };
        let editor = editor();
        let before = content(editor.graph());
        let outcome = pass.run(editor, Job::default(), &limits);
        let mut count = count.lock().unwrap();
        if let Ended::Faulted(fault) = outcome.ended {
            assert!(fault.to_string().is_ascii(), "{seed}: {fault}");
            assert_eq!(content(outcome.editor.graph()), before, "{seed}: the graph is not as it was");
            count.faulted += 1;
        } else {
            count.ran += 1;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed) as u64;
                    if seed >= MUTANTS {
                        return;
                    }
                    one(seed);
                }
            });
        }
    });
    let count = count.into_inner().unwrap();
    println!("{count:?} in {:?}", began.elapsed());
    assert!(count.refused > 300 && count.faulted > 20, "{count:?}");
    assert!(began.elapsed() < Duration::from_secs(110), "{:?}", began.elapsed());
}
