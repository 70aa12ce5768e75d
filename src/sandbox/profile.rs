//! What a run costs, and where: instantiating, calls of the host by kind, fuel by function of the guest.
//!
//! Promises: a run that is looked at edits what it edits otherwise; one that nobody looks at pays nothing for it. Times are of this process, in
//! which the pass runs: whoever measures a pass trusts it as with `--in-process`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use wasmtime::{AsContext, CallHook, Store, StoreContextMut, UpdateDeadline, WasmBacktrace};

use super::host::{Host, Job};
use super::journal::Journal;
use super::{Pass, PassRun};
use crate::contract::Limits;
use crate::editor::Editor;
use crate::graph::Graph;
use crate::sandbox::classify::function_name;

/// How often the guest's stack is looked at.
const EVERY: Duration = Duration::from_micros(100);
/// What calls are called that go to the engine, to grow a memory.
const ENGINE: &str = "(engine)";
/// What is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// How long instantiating and running take: nothing else, so that they take no longer.
    Times,
    /// Calls of the host, by kind.
    Calls,
    /// The guest's stacks, by fuel.
    Stacks,
}

/// Calls of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CallCost {
    /// The function, `graph.apply`.
    pub function: String,
    /// How often it was called.
    pub calls: u64,
    /// Milliseconds in all, with what it takes to bring values across.
    pub ms: f64,
}

/// A run that was looked at.
#[derive(Debug)]
pub struct Profile {
    /// What came of it.
    pub outcome: PassRun,
    /// How long instantiating took.
    pub instantiate: Duration,
    /// How long the call of `run` took.
    pub run: Duration,
    /// Calls of the host, the dearest first.
    pub calls: Vec<CallCost>,
    /// Bytes of the edits, as a worker would send them.
    pub journal_bytes: usize,
    /// Fuel by stack, the outermost function first, parted by `;`.
    pub stacks: Vec<(String, u64)>,
}

/// What is counted while a run goes on.
#[derive(Debug)]
pub(super) struct Meter {
    look: Look,
    pub(super) instantiate: Duration,
    pub(super) run: Duration,
    /// Calls that go on, in each other, and when they began: the kind of one is known when the host has entered it.
    open: Vec<(&'static str, Instant)>,
    calls: BTreeMap<&'static str, (u64, Duration)>,
    fuel: u64,
    stacks: BTreeMap<String, u64>,
}

impl Meter {
    fn new(look: Look) -> Self {
        Self {
            look,
            instantiate: Duration::ZERO,
            run: Duration::ZERO,
            open: Vec::new(),
            calls: BTreeMap::new(),
            fuel: 0,
            stacks: BTreeMap::new(),
        }
    }

    /// A call has reached the host.
    pub(super) fn enter(&mut self, function: &'static str) {
        if let Some((open, _)) = self.open.last_mut() {
            *open = function;
        }
    }

    fn begins(&mut self) {
        self.open.push((ENGINE, Instant::now()));
    }

    fn ends(&mut self) {
        let Some((function, began)) = self.open.pop() else { return };
        let (calls, time) = self.calls.entry(function).or_default();
        *calls = calls.saturating_add(1);
        *time = time.saturating_add(began.elapsed());
    }

    /// Puts the fuel since the last look on a stack.
    fn spent(&mut self, stack: String, left: u64) {
        let spent = self.fuel.saturating_sub(left);
        self.fuel = left;
        if spent > 0 {
            let fuel = self.stacks.entry(stack).or_default();
            *fuel = fuel.saturating_add(spent);
        }
    }
}

/// Lets a store tell its meter, if it has one, what goes on.
pub(super) fn watch(store: &mut Store<Host>) {
    let left = store.get_fuel().unwrap_or(0);
    let Some(meter) = &mut store.data_mut().meter else { return };
    meter.fuel = left;
    match meter.look {
        Look::Times => {}
        Look::Calls => store.call_hook(|mut context, hook| {
            let Some(meter) = &mut context.data_mut().meter else { return Ok(()) };
            match hook {
                CallHook::CallingHost => meter.begins(),
                CallHook::ReturningFromHost => meter.ends(),
                // Memory that the guest gives out for an answer: part of the call.
                CallHook::CallingWasm | CallHook::ReturningFromWasm => {}
            }
            Ok(())
        }),
        Look::Stacks => {
            store.call_hook(|context, hook| {
                if matches!(hook, CallHook::CallingHost) {
                    look(context);
                }
                Ok(())
            });
            store.epoch_deadline_callback(|context| {
                context.data().deadline.check()?;
                look(context);
                Ok(UpdateDeadline::Continue(1))
            });
        }
    }
}

/// Looks at the guest's stack.
fn look(mut context: StoreContextMut<'_, Host>) {
    let stack = stack(&WasmBacktrace::force_capture(context.as_context()));
    let left = context.get_fuel().unwrap_or(0);
    if let Some(meter) = &mut context.data_mut().meter {
        meter.spent(stack, left);
    }
}

fn stack(trace: &WasmBacktrace) -> String {
    let name = |f: &wasmtime::FrameInfo| {
        let number = || format!("function {}", f.func_index());
        // These two part stacks, and what they cost.
        f.func_name().map_or_else(number, function_name).replace(';', ":").replace('\n', " ")
    };
    let names: Vec<String> = trace.frames().iter().rev().map(name).collect();
    names.join(";")
}

impl Pass<'_> {
    /// Runs the pass once, and looks at what that costs.
    pub fn profile(&self, editor: Editor, job: Job, limits: &Limits, look: Look) -> Profile {
        let mut host = Host::new(editor, job, limits);
        host.journal = Some(Journal::default());
        host.meter = Some(Box::new(Meter::new(look)));
        let (outcome, journal, meter) = match look {
            Look::Stacks => self.ticking(|| self.run_on(host, limits)),
            Look::Times | Look::Calls => self.run_on(host, limits),
        };
        let meter = meter.map_or_else(|| Meter::new(look), |meter| *meter);
        let mut calls: Vec<CallCost> = meter.calls.iter().map(|(name, cost)| call_cost(name, *cost)).collect();
        calls.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        Profile {
            outcome,
            instantiate: meter.instantiate,
            run: meter.run,
            calls,
            journal_bytes: journal.map_or(0, |journal| journal.into_bytes().len()),
            stacks: meter.stacks.into_iter().collect(),
        }
    }

    /// Runs something while the engine's epochs go on, at each of which the guest's stack is looked at.
    fn ticking<T>(&self, run: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(EVERY);
                    self.tick();
                }
            });
            let done = run();
            is_over.store(true, Ordering::Relaxed);
            done
        })
    }
}

/// Returns how many bytes a worker is sent of a graph.
pub fn bytes_of(graph: &Graph) -> usize {
    // What cannot be sent has no bytes: the run itself says why.
    postcard::to_stdvec(graph).map_or(0, |bytes| bytes.len())
}

fn call_cost(name: &str, (calls, time): (u64, Duration)) -> CallCost {
    let function = name.to_string();
    CallCost { function, calls, ms: time.as_secs_f64() * 1e3 }
}
