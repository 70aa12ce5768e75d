//! `airlock.toml`, found upwards from the current folder as cargo does; flags win over it. Beside its own keys it takes the options of
//! compilers for the NPU (`options`).
//!
//! Promises: an unknown key is an error that names it; every setting knows where it comes from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::options::{CompilerOptions, OptionError};
use crate::contract::Limits;
use crate::graph::InputLayout;
use crate::verify::Budget;

/// When a pass runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Before the built-in passes: `post_grad_custom_pre_pass`.
    #[default]
    Pre,
    /// After them: `post_grad_custom_post_pass`.
    Post,
}

impl Stage {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Pre => "pre",
            Stage::Post => "post",
        }
    }
}

/// A pass that the file asks for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilePass {
    /// The component, relative to the file.
    pub path: PathBuf,
    /// When it runs.
    #[serde(default)]
    pub stage: Stage,
    /// Given to the pass's `run`.
    #[serde(default)]
    pub config: String,
    /// Read by the pass with `get-option`.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// What the pass may have beyond the graph: `constants`.
    #[serde(default)]
    pub grant: Vec<String>,
    /// Whether `COMPONENT.debug` beside it, which `airlock build` writes, is read to tell where the pass traps. For the user's own passes.
    #[serde(default)]
    pub symbols: bool,
}

/// The file's content.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileConfig {
    /// `max-autotune`, or `reduce-overhead`, which is also `npugraph_ex`.
    pub mode: Option<String>,
    /// `strict`, `default` or `advisory`.
    pub policy: Option<String>,
    /// Write the original unless every pass was accepted.
    pub all_or_nothing: Option<bool>,
    /// More operators, relative to the file.
    pub ops: Vec<PathBuf>,
    /// Rules that the user states, relative to the file.
    pub rules: Vec<PathBuf>,
    /// Events that are recorded outside the graph, by tag; where it is absent, nobody says.
    pub tags: Option<Vec<String>>,
    /// Who forks and joins side streams in `reduce-overhead`: `by-mode`, or `applied`, where the graph holds all of them.
    pub closure: Option<String>,
    /// What is known of inputs.
    pub inputs: Inputs,
    /// Switches of the built-in passes, by name.
    pub builtin: BTreeMap<String, bool>,
    /// Limits of passes.
    pub limits: Limits,
    /// Limits of the judge.
    pub judge: Judge,
    /// Passes, in order within their stage.
    pub pass: Vec<FilePass>,
}

/// What the host knows of inputs that no model states; verdicts name what they take for granted.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inputs {
    /// How inputs lie of which the model states no strides: `contiguous`, where nothing is said, or `any`.
    pub layout: InputLayout,
    /// Pairs of inputs, by name, that may be the same memory; others never are.
    pub may_alias: Vec<(String, String)>,
    /// What inputs hold, by name: `int(0,6)`, `perm(4)`, `positive`, `nonzero`, `unit`, `prob`, `values:[0.5,1]`, `normal(0.3)`; others any value.
    pub values: BTreeMap<String, String>,
}

/// How much the judge may do before a question stays unknown; what is not stated is as it is by default.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Judge {
    /// Terms that one proof by rules looks into.
    pub region: Option<usize>,
    /// Work of one proof by rules: expressions made and compared.
    pub work: Option<usize>,
    /// Work of all of them until something is shown.
    pub rules: Option<usize>,
    /// Places where graphs part that are tried by rules.
    pub differences: Option<usize>,
}

impl Judge {
    /// Returns a budget with what is stated.
    pub fn applied(&self, budget: Budget) -> Budget {
        Budget {
            region: self.region.unwrap_or(budget.region),
            work: self.work.unwrap_or(budget.work),
            rules: self.rules.unwrap_or(budget.rules),
            differences: self.differences.unwrap_or(budget.differences),
            ..budget
        }
    }
}

/// The keys of [`FileConfig`].
const KEYS: &[&str] = &[
    "mode",
    "policy",
    "all_or_nothing",
    "ops",
    "rules",
    "tags",
    "closure",
    "inputs",
    "builtin",
    "limits",
    "judge",
    "pass",
];

/// Why a configuration does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is no TOML, or has a key or value that does not belong.
    #[error("{}: {source}", path.display())]
    Toml {
        /// File.
        path: PathBuf,
        /// Cause, with line and column.
        source: Box<toml::de::Error>,
    },
    /// A key that nobody knows.
    #[error("{}: there is no key `{name}`; there are {}, and the options of compilers {}", path.display(), KEYS.join(", "), CompilerOptions::roots().join(", "))]
    UnknownKey {
        /// File.
        path: PathBuf,
        /// The key.
        name: String,
    },
    /// An option of a compiler that is not taken.
    #[error("{}: {source}", path.display())]
    Option {
        /// File.
        path: PathBuf,
        /// Why.
        source: OptionError,
    },
    /// A switch for a pass that is not built in.
    #[error("{}: no built-in pass is called `{name}`; there are {}", path.display(), known.join(", "))]
    UnknownBuiltIn {
        /// File.
        path: PathBuf,
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// A time limit that is no number of seconds.
    #[error("{}: limits.time_seconds = {seconds}: expected a number of seconds, 0 or more", path.display())]
    Seconds {
        /// File.
        path: PathBuf,
        /// The limit.
        seconds: f64,
    },
}

/// Where a setting comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The configuration file.
    File(PathBuf),
    /// A flag.
    Flag,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Flag => f.write_str("flag"),
        }
    }
}

/// A configuration and the file that it was read from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// What the file says; defaults where it is silent.
    pub file: FileConfig,
    /// The options of compilers that it states.
    pub compiler: CompilerOptions,
    /// The file; `None` where there is none.
    pub path: Option<PathBuf>,
}

/// The name looked for.
const FILE_NAME: &str = "airlock.toml";

impl Config {
    /// Reads the file given, else the nearest `airlock.toml` from `folder` upwards, else takes the defaults.
    pub fn find(given: Option<&Path>, folder: &Path) -> Result<Self, ConfigError> {
        let path = match given {
            Some(path) => Some(path.to_path_buf()),
            None => folder.ancestors().map(|f| f.join(FILE_NAME)).find(|p| p.is_file()),
        };
        match path {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Io { path: path.into(), source })?;
        let toml = |source| ConfigError::Toml { path: path.into(), source: Box::new(source) };
        let mut file: FileConfig = toml::from_str(&text).map_err(toml)?;
        let table: toml::Table = toml::from_str(&text).map_err(toml)?;
        if let Some(name) = table.keys().find(|k| !KEYS.contains(&k.as_str()) && !CompilerOptions::owns(k)) {
            return Err(ConfigError::UnknownKey { path: path.into(), name: name.clone() });
        }
        let compiler =
            CompilerOptions::read(&table).map_err(|source| ConfigError::Option { path: path.into(), source })?;
        file.pass.splice(0..0, custom_passes(&compiler));
        if let Some(is_on) = compiler.flag("experimental_config.remove_noop_ops") {
            file.builtin.entry("remove_noop_ops".into()).or_insert(is_on);
        }
        let known: Vec<&'static str> = crate::passes::BUILT_IN.iter().map(|b| b.name).collect();
        if let Some(name) = file.builtin.keys().find(|n| !known.contains(&n.as_str())) {
            return Err(ConfigError::UnknownBuiltIn { path: path.into(), name: name.clone(), known });
        }
        let seconds = file.limits.time_seconds;
        if !seconds.is_finite() || seconds < 0.0 {
            return Err(ConfigError::Seconds { path: path.into(), seconds });
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        for relative in file.ops.iter_mut().chain(&mut file.rules).chain(file.pass.iter_mut().map(|p| &mut p.path)) {
            *relative = folder.join(&*relative);
        }
        Ok(Self { file, compiler, path: Some(path.into()) })
    }

    /// Returns where a setting comes from, given whether the file states it.
    pub fn origin(&self, is_stated: bool) -> Origin {
        match (&self.path, is_stated) {
            (Some(path), true) => Origin::File(path.clone()),
            _ => Origin::Default,
        }
    }

    /// Returns whether a built-in pass runs.
    pub fn runs_built_in(&self, name: &str) -> bool {
        self.file.builtin.get(name).copied().unwrap_or(true)
    }
}

/// Returns the passes that are stated as TorchAir names them: a component in the place of a function.
fn custom_passes(options: &CompilerOptions) -> Vec<FilePass> {
    let of = |name: &str, stage: Stage| {
        let paths = options.texts(name).into_iter();
        paths.map(move |path| FilePass {
            path: path.into(),
            stage,
            config: String::new(),
            options: BTreeMap::new(),
            grant: Vec::new(),
            symbols: false,
        })
    };
    of("post_grad_custom_pre_pass", Stage::Pre).chain(of("post_grad_custom_post_pass", Stage::Post)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE_NAME), text).unwrap();
        let below = folder.path().join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        Config::find(None, &below)
    }

    #[test]
    fn the_file_is_found_upwards_and_its_paths_are_relative_to_it() {
        let config = read("mode = 'max-autotune'\n[[pass]]\npath = 'p.wasm'\nstage = 'post'\n").unwrap();
        assert_eq!(config.file.pass[0].path, config.path.unwrap().parent().unwrap().join("p.wasm"));
        assert_eq!(config.file.pass[0].stage, Stage::Post);
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = read("polcy = 'strict'").unwrap_err().to_string();
        assert!(error.contains("polcy") && error.contains("policy"), "{error}");
    }

    #[test]
    fn an_unknown_built_in_pass_is_named_with_those_that_there_are() {
        let error = read("[builtin]\nremove_noops = false").unwrap_err().to_string();
        assert!(error.contains("`remove_noops`") && error.contains("remove_noop_ops"), "{error}");
    }

    #[test]
    fn a_time_limit_that_is_no_number_of_seconds_is_an_error() {
        for seconds in ["nan", "-1.0", "inf"] {
            let error = read(&format!("[limits]\ntime_seconds = {seconds}")).unwrap_err().to_string();
            assert!(error.contains("limits.time_seconds"), "{error}");
        }
    }

    #[test]
    fn the_options_of_compilers_stand_beside_the_keys() {
        let text = "policy = 'strict'\nremove_noop_ops = false\npost_grad_custom_post_pass = 'p.wasm'\n[ge_config]\noo_level = 'O1'";
        let config = read(text).unwrap();
        assert_eq!(config.compiler.text("ge_config.oo_level").as_deref(), Some("O1"));
        assert!(!config.runs_built_in("remove_noop_ops"));
        assert_eq!((config.file.pass[0].stage, config.file.pass[0].path.ends_with("p.wasm")), (Stage::Post, true));
        let error = read("[ge_config]\nlevel = 'O1'").unwrap_err().to_string();
        assert!(error.contains("airlock.toml: there is no option ge_config.level"), "{error}");
    }

    #[test]
    fn every_key_of_the_file_is_known() {
        let stated = "mode = 'x'\npolicy = 'x'\nall_or_nothing = true\nops = []\nrules = []\ntags = []\nclosure = 'x'\npass = []\n[inputs]\n[builtin]\n[limits]\n[judge]\n";
        let file = toml::Table::try_from(toml::from_str::<FileConfig>(stated).unwrap()).unwrap();
        assert!(file.keys().all(|k| KEYS.contains(&k.as_str())), "{file}");
        assert_eq!(file.len(), KEYS.len());
        assert!(read(stated).is_ok());
    }

    #[test]
    fn what_is_stated_of_the_judge_holds_and_the_rest_stays() {
        let judge = read("[judge]\nrules = 7").unwrap().file.judge;
        let budget = judge.applied(Budget::default());
        assert_eq!(budget, Budget { rules: 7, ..Budget::default() });
        let error = read("[judge]\nrule = 7").unwrap_err().to_string();
        assert!(error.contains("`rule`") && error.contains("differences"), "{error}");
    }

    #[test]
    fn without_a_file_everything_is_default() {
        let config = Config::default();
        assert!(config.runs_built_in("remove_dead_code"));
        assert_eq!(config.origin(true), Origin::Default);
    }
}
