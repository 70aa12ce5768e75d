//! A host: the settings and engine that models and passes are loaded with.

use std::path::PathBuf;
use std::sync::Arc;

use engine::formats::operators;
use engine::ops::Registry;
use engine::pipeline::{Config, settle};
use engine::sandbox::Engine;
use engine::verify::{JudgeOptions, Mode, Policy};

use crate::handles::{Id, Object, add};
use crate::status::{Failure, Status, call};
use crate::texts::{Text, give, option, place};

/// The version of this interface. A program hands the one that it was built with to `airlock_open`.
pub const AIRLOCK_VERSION: u32 = 1;

/// Settings of a host. All of it zero is a good default where `worker` is set.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Options {
    /// The program `airlock`, which passes run in, each in a process of its own behind walls (Linux). Null: passes run in this process if
    /// `in_process` says so, else no pass can be loaded.
    pub worker: Text,
    /// 1: passes run in this process. A hole in the engine is then one in this process.
    pub in_process: u32,
    /// An `airlock.toml`. Null: defaults.
    pub config: Text,
    /// `max-autotune` or `reduce-overhead`. Null: as the configuration says, else the former.
    pub mode: Text,
    /// What a verdict must say: `strict`, `default`, `advisory`. Null: as the configuration says, else `default`.
    pub policy: Text,
}

/// Where passes run.
pub enum Place {
    /// In this process.
    Here(Arc<Engine>),
    /// In processes of their own.
    #[cfg(target_os = "linux")]
    Apart(engine::sandbox::worker::Workers),
    /// Nowhere: nobody said.
    Nowhere,
}

/// What models and passes are loaded with.
pub struct Host {
    pub config: Config,
    pub registry: Arc<Registry>,
    pub operators: Vec<(String, String)>,
    pub judge: JudgeOptions,
    /// Whether somebody stated what a verdict must say.
    pub is_policy_stated: bool,
    pub place: Place,
}

impl Host {
    fn open(options: &Settled) -> Result<Host, Failure> {
        let folder = PathBuf::from("/");
        let config = match &options.config {
            Some(path) => Config::find(Some(path), &folder).map_err(|e| Failure::file(e.to_string()))?,
            None => Config::default(),
        };
        let is_policy_stated = options.policy.is_some() || config.file.policy.is_some();
        let stated = |given: &Option<String>, file: &Option<String>| given.clone().or_else(|| file.clone());
        let mode = stated(&options.mode, &config.file.mode).unwrap_or_else(|| "max-autotune".into());
        let policy = stated(&options.policy, &config.file.policy).unwrap_or_else(|| "default".into());
        let mode = Mode::from_name(&mode).ok_or_else(|| Failure::input(format!("there is no mode `{mode}`")))?;
        let policy =
            Policy::from_name(&policy).ok_or_else(|| Failure::input(format!("there is no policy `{policy}`")))?;
        let judge = settle::judging(mode, policy, &config).map_err(|e| Failure::file(e.to_string()))?;
        let mut registry = Registry::standard();
        let mut texts = Vec::new();
        for path in &config.file.ops {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|e| Failure::file(format!("cannot read {name}: {e}")))?;
            operators::extend(&mut registry, &name, &text).map_err(|e| Failure::file(e.to_string()))?;
            texts.push((name, text));
        }
        let place = Host::place(options, &config)?;
        Ok(Host { config, registry: Arc::new(registry), operators: texts, judge, is_policy_stated, place })
    }

    fn place(options: &Settled, config: &Config) -> Result<Place, Failure> {
        if options.in_process {
            let engine = Engine::new(&config.file.limits).map_err(|e| Failure::new(Status::Internal, e.to_string()))?;
            return Ok(Place::Here(Arc::new(engine)));
        }
        let Some(worker) = &options.worker else { return Ok(Place::Nowhere) };
        #[cfg(target_os = "linux")]
        {
            use engine::sandbox::worker::{Cache, Workers};
            if !worker.is_file() {
                return Err(Failure::file(format!("{}: there is no program `airlock`", worker.display())));
            }
            let cache = Cache::of_user().ok().map(Arc::new);
            Ok(Place::Apart(Workers::of(worker, ["worker"]).with_cache(cache)))
        }
        #[cfg(not(target_os = "linux"))]
        Err(Failure::input(format!("{}: there are no workers but on Linux; `in_process` is needed", worker.display())))
    }
}

/// Options that were read.
struct Settled {
    worker: Option<PathBuf>,
    in_process: bool,
    config: Option<PathBuf>,
    mode: Option<String>,
    policy: Option<String>,
}

/// Begins. `version` is `AIRLOCK_VERSION`; `options` may be null.
///
/// # Safety
///
/// `options` is null or points to options, `host` to a place for an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_open(version: u32, options: *const Options, host: *mut Id) -> Status {
    call(|| {
        place(host, "host")?;
        if version != AIRLOCK_VERSION {
            let message = format!(
                "the program was built with version {version} of airlock.h, this library has {AIRLOCK_VERSION}"
            );
            return Err(Failure::new(Status::WrongVersion, message));
        }
        let none =
            Options { worker: Text::NONE, in_process: 0, config: Text::NONE, mode: Text::NONE, policy: Text::NONE };
        // SAFETY: null or options, as the caller promises.
        let given = if options.is_null() { none } else { unsafe { options.read_unaligned() } };
        // SAFETY: texts of the caller.
        let text = |text: Text, what: &str| unsafe { option(text, what) }.map(|text| text.map(str::to_owned));
        let settled = Settled {
            worker: text(given.worker, "worker")?.map(PathBuf::from),
            in_process: given.in_process != 0,
            config: text(given.config, "config")?.map(PathBuf::from),
            mode: text(given.mode, "mode")?,
            policy: text(given.policy, "policy")?,
        };
        let opened = add(Object::Host(Arc::new(Host::open(&settled)?)))?;
        // SAFETY: a place for an id, as the caller promises.
        unsafe { give(host, opened, "host") }
    })
}
