//! A pass: a component that was looked at, compiled and bound, ready to run.
//!
//! Promises: [`Pass::load`] runs nothing of the component; each [`Pass::describe`] and [`Pass::run`] has a store, a
//! thread and a clock of its own and leaves nothing behind but its outcome; a run that ends in a fault gives the editor
//! back undone. Leaves to later walls: a process of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use wasmtime::Store;
use wasmtime::component::Component;

use super::bindings::exports::airlock::pass::pass as export;
use super::bindings::{GraphPass, GraphPassPre};
use super::classify::{Context, classify};
use super::host::{Host, Job};
use super::journal::Journal;
use super::profile::{self, Meter};
use super::store::{Clock, new_store};
use super::{Ended, Engine, FaultKind, Info, PassFault, PassRun, Said, Usage};
use crate::contract::Contract;
use crate::contract::shown;
use crate::contract::{self, Preflight};
use crate::contract::{Limits, LoadError};
use crate::editor::Editor;
use crate::graph::Graph;

/// The grants that exist.
pub const GRANTS: &[&str] = &["constants"];
const MAX_NAME_BYTES: usize = 64;

/// A pass that can be run.
pub struct Pass<'e> {
    engine: &'e Engine,
    bound: GraphPassPre<Host>,
    label: String,
    preflight: Preflight,
}

impl<'e> Pass<'e> {
    /// Loads the component in a file; errors name it by the file's name without ending.
    pub fn load_file(path: &Path, engine: &'e Engine, limits: &Limits) -> Result<Self, LoadError> {
        let (label, bytes) = read_component(path, limits)?;
        Self::load(&label, &bytes, engine, limits)
    }

    /// Loads a component; errors and faults name it `label`.
    pub fn load(label: &str, bytes: &[u8], engine: &'e Engine, limits: &Limits) -> Result<Self, LoadError> {
        let label = shown(label, limits.message_chars);
        let preflight = contract::check(&label, bytes, limits)?;
        let component = Component::new(&engine.wasmtime, bytes).map_err(|e| failed(&label, &e, limits))?;
        Self::bind(label, &component, engine, limits, preflight)
    }

    /// Binds what was compiled: its imports and exports have the types of the contract, or it is refused.
    pub(super) fn bind(
        label: String,
        component: &Component,
        engine: &'e Engine,
        limits: &Limits,
        preflight: Preflight,
    ) -> Result<Self, LoadError> {
        let linker = engine.linker().map_err(|e| failed(&label, &e, limits))?;
        match linker.instantiate_pre(component).and_then(GraphPassPre::new) {
            Ok(bound) => Ok(Self { engine, bound, label, preflight }),
            Err(e) => {
                let message = shown(&format!("{e:#}"), limits.message_chars);
                Err(LoadError::Mismatch { pass: label, message, offered: Contract::current()?.version })
            }
        }
    }

    /// Returns the name under which it was loaded.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns what the look at it found.
    pub fn preflight(&self) -> &Preflight {
        &self.preflight
    }

    /// Asks the pass what it is. The component runs, without a graph.
    pub fn describe(&self, limits: &Limits) -> Result<Info, PassFault> {
        let host = Host::new(Editor::new(Graph::new(), Arc::default()), Job::default(), limits);
        let call = |pass: &GraphPass, store: &mut Store<Host>| pass.airlock_pass_pass().call_describe(store);
        let (info, _, _) = self.guarded(host, limits, limits.fuel_base, "describe", call);
        let export::Info { name, version, needs, about } = info?;
        check_info(&self.label, Info { name, version, needs, about }, |t| shown(t, limits.message_chars))
    }

    /// Runs the pass once over the editor's graph.
    pub fn run(&self, editor: Editor, job: Job, limits: &Limits) -> PassRun {
        self.run_on(Host::new(editor, job, limits), limits).0
    }

    /// The same on a host that may keep a journal and a meter, which come back.
    pub(super) fn run_on(&self, host: Host, limits: &Limits) -> (PassRun, Option<Journal>, Option<Box<Meter>>) {
        let fuel = limits.fuel(host.editor.graph().len());
        let config = host.job.config.clone();
        let call = |pass: &GraphPass, store: &mut Store<Host>| {
            store.data_mut().is_open = true;
            pass.airlock_pass_pass().call_run(store, &config)
        };
        let (result, host, usage) = self.guarded(host, limits, fuel, "run", call);
        let Host { mut editor, log, log_dropped, journal, meter, .. } = host;
        // The limits were the guest's.
        editor.limit_work(u64::MAX, None);
        let said = result.and_then(|answer| match answer {
            Ok(outcome) => Ok(Said { changed: outcome.changed, note: shown(&outcome.note, limits.message_chars) }),
            Err(message) => Err(self.fault(FaultKind::GuestError, "run", shown(&message, limits.message_chars))),
        });
        let ended = match said {
            Ok(said) if editor.changes().is_empty() => Ended::Unchanged(said),
            Ok(said) => Ended::Changed(said),
            Err(fault) => {
                editor.undo();
                Ended::Faulted(fault)
            }
        };
        (PassRun { editor, ended, usage, log, log_dropped }, journal, meter)
    }

    /// Instantiates the component and calls it, on a thread whose stack holds what the guest may use.
    fn guarded<T: Send>(
        &self,
        host: Host,
        limits: &Limits,
        fuel: u64,
        function: &'static str,
        call: impl FnOnce(&GraphPass, &mut Store<Host>) -> wasmtime::Result<T> + Send,
    ) -> (Result<T, PassFault>, Host, Usage) {
        let no_thread = |e: std::io::Error| {
            self.fault(FaultKind::HostLimit, function, format!("no thread for it could be started: {e}"))
        };
        let deadline = host.deadline;
        let own = match self.engine.clock {
            Some(_) => Ok(None),
            None => Clock::start(&self.engine.wasmtime).map(Some),
        };
        let own = match own {
            Ok(own) => own,
            Err(e) => return (Err(no_thread(e)), host, Usage::default()),
        };
        if let Some(clock) = own.as_ref().or(self.engine.clock.as_ref()) {
            clock.watch(deadline);
        }
        let mut store = new_store(self.engine, host, limits, fuel);
        profile::watch(&mut store);
        let context =
            Context { pass: &self.label, function, limits, fuel, stack_bytes: self.engine.guest_stack_bytes() };
        let guest = || {
            let began = Instant::now();
            let component = self
                .bound
                .instantiate(&mut store)
                .map_err(|e| classify(&e, &Context { function: "start", ..context }))?;
            let (instantiated, began) = (began.elapsed(), Instant::now());
            let answer = call(&component, &mut store).map_err(|e| classify(&e, &context))?;
            if let Some(meter) = &mut store.data_mut().meter {
                (meter.instantiate, meter.run) = (instantiated, began.elapsed());
            }
            // A guest that only waited for the host has passed no epoch.
            deadline.check().map_err(|stop| classify(&stop.into(), &context))?;
            Ok(answer)
        };
        let result = match self.engine.clock {
            Some(_) => guest(),
            None => on_thread(self.engine.thread_stack_bytes(), guest).unwrap_or_else(|e| Err(no_thread(e))),
        };
        drop(own);
        let left = store.get_fuel().unwrap_or(0);
        let host = store.into_data();
        let usage = Usage {
            fuel: fuel.saturating_sub(left),
            fuel_limit: fuel,
            memory_bytes: host.guard.memory_bytes,
            memory_limit: limits.memory_bytes,
            host_bytes: host.host_bytes,
            host_limit: limits.host_bytes,
            calls: host.calls,
            sandbox_ms: deadline.elapsed().as_secs_f64() * 1e3,
        };
        (result, host, usage)
    }

    /// Lets the guest that runs look at its deadline now.
    pub(super) fn tick(&self) {
        self.engine.wasmtime.increment_epoch();
    }

    fn fault(&self, kind: FaultKind, function: &'static str, message: String) -> PassFault {
        let pass = self.label.clone();
        PassFault { kind, pass, function, message, used: None, limit: None, frames: Box::default() }
    }
}

/// Reads the component in a file, and names it by the file's name without ending.
pub(super) fn read_component(path: &Path, limits: &Limits) -> Result<(String, Vec<u8>), LoadError> {
    let read = |source| LoadError::Read { path: path.to_path_buf(), source };
    let label = path.file_stem().map_or_else(|| "pass".into(), |s| s.to_string_lossy());
    let size = std::fs::metadata(path).map_err(read)?.len();
    if size > limits.component_bytes {
        return Err(LoadError::TooLarge {
            pass: shown(&label, limits.message_chars),
            what: "bytes of the component".to_string(),
            found: size,
            limit: limits.component_bytes,
            key: "component_bytes",
        });
    }
    let bytes = std::fs::read(path).map_err(read)?;
    Ok((label.into_owned(), bytes))
}

/// Checks what a pass says of itself; `text` makes its words fit to be shown.
pub(super) fn check_info(pass: &str, info: Info, text: impl Fn(&str) -> String) -> Result<Info, PassFault> {
    let wrong = |message: String| {
        let (pass, function, kind) = (pass.to_string(), "describe", FaultKind::Contract);
        Err(PassFault { kind, pass, function, message, used: None, limit: None, frames: Box::default() })
    };
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if info.name.is_empty() || info.name.len() > MAX_NAME_BYTES || !info.name.chars().all(is_name) {
        let found = text(&info.name);
        return wrong(format!(
            "a pass is named in lower case, digits and dashes, at most {MAX_NAME_BYTES}; found `{found}`"
        ));
    }
    let is_version = |c: char| c.is_ascii_graphic();
    if info.version.is_empty() || info.version.len() > MAX_NAME_BYTES || !info.version.chars().all(is_version) {
        return wrong(format!("`{}` is no version; write it as 1.2.3", text(&info.version)));
    }
    if let Some(grant) = info.needs.iter().find(|n| !GRANTS.contains(&n.as_str())) {
        let (grant, known) = (text(grant), GRANTS.join(", "));
        return wrong(format!("it asks for the grant `{grant}`, which this Airlock does not have (it has {known})"));
    }
    let mut needs = info.needs;
    needs.sort();
    needs.dedup();
    Ok(Info { name: info.name, version: info.version, needs, about: text(&info.about) })
}

/// Returns the error of a compiler.
pub(super) fn failed(label: &str, error: &wasmtime::Error, limits: &Limits) -> LoadError {
    LoadError::Compile { pass: label.to_string(), message: shown(&format!("{error:#}"), limits.message_chars) }
}

/// Runs something on a thread with a stack of that size.
fn on_thread<T: Send>(stack_bytes: usize, run: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("airlock-guest".into()).stack_size(stack_bytes);
        let thread = thread.spawn_scoped(scope, run)?;
        // A panic in host code is a defect: it goes on to whoever called.
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
