//! A pass: a component that was looked at and compiled, with what the user gives it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use engine::pipeline::{PassSpec, Stage};
use engine::sandbox::{AnyPass, Engine};
use self_cell::self_cell;

use crate::handles::{self, Id, Object, add, lock};
use crate::host::{Host, Place};
use crate::status::{Failure, Status, call};
use crate::texts::{Text, give, option, path, place, text};

self_cell! {
    struct Loaded {
        owner: Option<Arc<Engine>>,
        #[covariant]
        dependent: PassSpec,
    }
}

/// A pass that can be run.
pub struct Pass {
    loaded: Loaded,
}

fn spec<'e>(file: &Path, pass: AnyPass<'e>) -> PassSpec<'e> {
    let (config, options, grants) = Default::default();
    PassSpec { pass, file: file.display().to_string(), stage: Stage::Pre, config, options, grants, symbols: None }
}

impl Pass {
    fn load(file: &Path, host: &Host) -> Result<Pass, Failure> {
        let limits = &host.config.file.limits;
        let failed = |e: engine::contract::LoadError| Failure::file(format!("cannot load {}: {e}", file.display()));
        let loaded = match &host.place {
            Place::Here(engine) => Loaded::try_new(Some(engine.clone()), |engine| {
                let engine = engine.as_ref().ok_or_else(|| Failure::new(Status::Internal, "no engine"))?;
                let pass = engine::sandbox::Pass::load_file(file, engine, limits).map_err(failed)?;
                Ok(spec(file, AnyPass::Here(pass)))
            })?,
            #[cfg(target_os = "linux")]
            Place::Apart(workers) => {
                let pass = engine::sandbox::worker::WorkerPass::load_file(file, workers, &host.operators, limits);
                let pass = AnyPass::Apart(Box::new(pass.map_err(failed)?));
                Loaded::new(None, |_| spec(file, pass))
            }
            Place::Nowhere => {
                let message =
                    "no place for passes: set `worker` of the options to the program `airlock`, or `in_process`";
                return Err(Failure::input(message));
            }
        };
        Ok(Pass { loaded })
    }

    /// Uses the pass.
    pub fn with<T>(&mut self, body: impl FnOnce(&mut PassSpec<'_>) -> T) -> T {
        self.loaded.with_dependent_mut(|_, spec| body(spec))
    }
}

/// Loads a pass: a component, which is held to the contract before anything of it runs.
///
/// # Safety
///
/// `file` is a text, `pass` points to a place for an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_pass_load(host: Id, file: Text, pass: *mut Id) -> Status {
    call(|| {
        place(pass, "pass")?;
        let host = handles::host(host)?;
        // SAFETY: a text of the caller.
        let file = unsafe { path(file, "file") }?;
        let made = add(Object::Pass(Arc::new(Mutex::new(Pass::load(&file, &host)?))))?;
        // SAFETY: a place for an id, as the caller promises.
        unsafe { give(pass, made, "pass") }
    })
}

/// Sets an option that the pass reads; null takes it away.
///
/// # Safety
///
/// `key` and `value` are texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_pass_set_option(pass: Id, key: Text, value: Text) -> Status {
    call(|| {
        let pass = handles::pass(pass)?;
        // SAFETY: texts of the caller.
        let (key, value) = unsafe { (text(key, "key")?.to_owned(), option(value, "value")?.map(str::to_owned)) };
        lock(&pass)?.with(|spec| match value {
            Some(value) => drop(spec.options.insert(key, value)),
            None => drop(spec.options.remove(&key)),
        });
        Ok(())
    })
}

/// Sets the text that the pass's `run` is given.
///
/// # Safety
///
/// `config` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_pass_set_config(pass: Id, config: Text) -> Status {
    call(|| {
        let pass = handles::pass(pass)?;
        // SAFETY: a text of the caller.
        let config = unsafe { option(config, "config") }?.unwrap_or_default().to_owned();
        lock(&pass)?.with(|spec| spec.config = config);
        Ok(())
    })
}

/// Sets the stage in which the pass runs: `pre` or `post`.
///
/// # Safety
///
/// `stage` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_pass_set_stage(pass: Id, stage: Text) -> Status {
    call(|| {
        let pass = handles::pass(pass)?;
        // SAFETY: a text of the caller.
        let stage = match unsafe { text(stage, "stage") }? {
            "pre" => Stage::Pre,
            "post" => Stage::Post,
            other => return Err(Failure::input(format!("a stage is `pre` or `post`, not `{other}`"))),
        };
        lock(&pass)?.with(|spec| spec.stage = stage);
        Ok(())
    })
}

/// Grants the pass something beyond the graph: `constants` (weight bytes).
///
/// # Safety
///
/// `grant` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_pass_grant(pass: Id, grant: Text) -> Status {
    call(|| {
        let pass = handles::pass(pass)?;
        // SAFETY: a text of the caller.
        let grant = unsafe { text(grant, "grant") }?.to_owned();
        if !engine::sandbox::GRANTS.contains(&grant.as_str()) {
            return Err(Failure::input(format!("there is nothing called `{grant}` to grant to a pass")));
        }
        lock(&pass)?.with(|spec| spec.grants.push(grant));
        Ok(())
    })
}
