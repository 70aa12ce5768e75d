//! What holds for a command: flags over `airlock.toml` over defaults, each setting with where it comes from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{CompilerOptions, Config, FilePass, Inputs, OptionError, Origin};
use crate::contract::Limits;
use crate::formats::text::domain::Domain;
use crate::graph::{BodyId, Graph, NodeKind, View};
use crate::passes::BUILT_IN;
use crate::verify::{Budget, Closure, JudgeOptions, Mode, Policy};

/// What is stated of the search for inputs that show a difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search {
    /// Seed of the inputs.
    pub seed: Option<u64>,
    /// On how many inputs both graphs are run; 0: on none.
    pub trials: Option<usize>,
    /// How many seconds this may take.
    pub seconds: Option<f64>,
}

impl Search {
    /// Returns the options of a judgement, with what is stated.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn applied(&self, mut options: JudgeOptions) -> JudgeOptions {
        options.seed = self.seed.unwrap_or(options.seed);
        options.is_repeatable |= self.seed.is_some();
        if options.budget.trials > 0 {
            options.budget.trials = self.trials.unwrap_or(options.budget.trials);
        }
        options.budget.time_ms = self.seconds.map_or(options.budget.time_ms, |s| (s * 1e3) as u64);
        options
    }
}

/// Returns how to judge where both graphs may be run, with what a configuration says of inputs and streams.
pub fn judging(mode: Mode, policy: Policy, config: &Config) -> Result<JudgeOptions, SettleError> {
    let file = &config.file;
    let closure = known_word(config, "closure", file.closure.as_deref(), &["by-mode", "applied"])?;
    let holds = |(name, word): (&String, &String)| match Domain::parse(word) {
        Some(domain) => Ok((name.clone(), domain)),
        None => Err(unknown_word(config, "inputs.values", word, Domain::WORDS)),
    };
    Ok(JudgeOptions {
        mode,
        policy,
        budget: file.judge.applied(Budget::searching()),
        may_alias: file.inputs.may_alias.clone(),
        domains: file.inputs.values.iter().map(holds).collect::<Result<_, _>>()?,
        tags: file.tags.clone(),
        closure: if closure == Some("applied") { Closure::InGraph } else { Closure::ByMode },
        ..JudgeOptions::default()
    })
}

/// The same with the mode and the policy that the configuration states.
pub fn judging_as_stated(config: &Config) -> Result<JudgeOptions, SettleError> {
    judging(stated_mode(config)?.unwrap_or_default(), stated_policy(config)?.unwrap_or_default(), config)
}

/// What the command line states.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The NPU path.
    pub mode: Option<Mode>,
    /// What a verdict must say.
    pub policy: Option<Policy>,
    /// Write the original unless no pass was dropped.
    pub all_or_nothing: bool,
    /// Run no built-in passes.
    pub no_builtin: bool,
    /// Fuel of each pass.
    pub fuel: Option<u64>,
    /// Bytes of memory of each pass.
    pub memory: Option<u64>,
    /// Seconds of each pass.
    pub seconds: Option<f64>,
    /// How differences are searched for.
    pub search: Search,
}

/// Why settings do not hold.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// A word of the file that nobody knows.
    #[error("{}: {what} = \"{found}\": expected one of {}", file.display(), known.join(", "))]
    Word {
        /// The file.
        file: PathBuf,
        /// The key.
        what: &'static str,
        /// The word.
        found: String,
        /// The words that there are.
        known: &'static [&'static str],
    },
    /// Settings that TOML cannot hold.
    #[error("{0}")]
    Toml(#[from] toml::ser::Error),
}

/// What holds.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The configuration, with what flags say of limits and built-in passes.
    pub config: Config,
    /// The NPU path.
    pub mode: Mode,
    /// What a verdict must say.
    pub policy: Policy,
    /// That of the lowered graph: what is unknown is written there unless a policy is stated.
    pub lowered_policy: Policy,
    /// Write the original unless no pass was dropped.
    pub all_or_nothing: bool,
    /// How to judge, but for the policy.
    judge: JudgeOptions,
    /// Where these come from.
    flags: Flags,
}

impl Settled {
    /// Lays flags over a configuration.
    pub fn of(mut config: Config, flags: Flags) -> Result<Self, SettleError> {
        let mode = flags.mode.or(stated_mode(&config)?).unwrap_or_default();
        let policy = flags.policy.or(stated_policy(&config)?);
        let limits = &mut config.file.limits;
        if let Some(fuel) = flags.fuel {
            limits.set_fuel(fuel);
        }
        limits.memory_bytes = flags.memory.unwrap_or(limits.memory_bytes);
        limits.time_seconds = flags.seconds.unwrap_or(limits.time_seconds);
        if flags.no_builtin {
            config.file.builtin = BUILT_IN.iter().map(|b| (b.name.to_string(), false)).collect();
        }
        let all_or_nothing = flags.all_or_nothing || config.file.all_or_nothing.unwrap_or(false);
        let lowered_policy = policy.unwrap_or(Policy::Advisory);
        let policy = policy.unwrap_or(Policy::Default);
        let judge = flags.search.applied(judging(mode, policy, &config)?);
        Ok(Self { mode, policy, lowered_policy, all_or_nothing, config, judge, flags })
    }

    /// Returns how to judge under a policy.
    pub fn judging(&self, policy: Policy) -> JudgeOptions {
        JudgeOptions { policy, ..self.judge.clone() }
    }

    /// Returns the names of inputs that the configuration states something of, and that a graph has not.
    pub fn unknown_inputs(&self, graph: &Graph) -> Vec<&str> {
        let inputs = &self.config.file.inputs;
        let stated = inputs.may_alias.iter().flat_map(|(a, b)| [a, b]).chain(inputs.values.keys());
        let has =
            |name: &str| graph.find_name(BodyId::ROOT, name).is_some_and(|n| graph.kind(n) == NodeKind::Placeholder);
        let mut unknown: Vec<&str> = stated.map(String::as_str).filter(|name| !has(name)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
    }

    /// Returns which passes run: those of the file only where the command line names none.
    pub fn passes(&self, named: Vec<FilePass>) -> Vec<FilePass> {
        if named.is_empty() { self.config.file.pass.clone() } else { named }
    }

    /// Refuses options of compilers that ask for what is not there; returns those that do not belong to the mode.
    pub fn check_options(&self) -> Result<Vec<&'static str>, OptionError> {
        self.config.compiler.check(self.mode == Mode::ReduceOverhead)
    }

    /// Returns what holds and from where, as an `airlock.toml`.
    pub fn to_toml(&self) -> Result<String, SettleError> {
        let Config { file, compiler, .. } = &self.config;
        let (mode, policy) = (self.origin("mode"), self.origin("policy"));
        let mut text = dotted(compiler, &self.config.origin(true));
        text.push_str(&format!("mode = \"{}\"  # {mode}\n", self.mode.name()));
        text.push_str(&format!("policy = \"{}\"  # {policy}\n", self.policy.name()));
        text.push_str(&format!("all_or_nothing = {}  # {}\n", self.all_or_nothing, self.origin("all_or_nothing")));
        if let Some(tags) = &file.tags {
            text.push_str(&format!("tags = {tags:?}  # {}\n", self.config.origin(true)));
        }
        if let Some(closure) = &file.closure {
            text.push_str(&format!("closure = \"{closure}\"  # {}\n", self.config.origin(true)));
        }
        let inputs = toml::to_string(&BTreeMap::from([("inputs", &file.inputs)]))?;
        text.push_str(&format!("\n{}", inputs.replacen('\n', &format!("  # {}\n", self.origin("inputs")), 1)));
        text.push_str(&format!("\n[limits]\n{}", self.limits()?));
        text.push_str(&format!("\n[judge]\n{}", self.budget()));
        text.push_str(&format!("\n[builtin]  # {}\n", self.origin("builtin")));
        for built_in in BUILT_IN {
            text.push_str(&format!("{} = {}\n", built_in.name, self.config.runs_built_in(built_in.name)));
        }
        for pass in &file.pass {
            text.push_str(&format!("\n[[pass]]\n{}", toml::to_string(pass)?));
        }
        Ok(text)
    }

    /// Where a setting comes from.
    fn origin(&self, what: &str) -> Origin {
        let (file, flags) = (&self.config.file, &self.flags);
        let (is_flag, is_stated) = match what {
            "mode" => (flags.mode.is_some(), file.mode.is_some()),
            "policy" => (flags.policy.is_some(), file.policy.is_some()),
            "inputs" => (false, file.inputs != Inputs::default()),
            "all_or_nothing" => (flags.all_or_nothing, file.all_or_nothing.is_some()),
            _ => (flags.no_builtin, !file.builtin.is_empty()),
        };
        if is_flag { Origin::Flag } else { self.config.origin(is_stated) }
    }

    /// How much the judge may do, each with where it comes from.
    fn budget(&self) -> String {
        let (stated, held) = (&self.config.file.judge, self.judge.budget);
        let all = [
            ("region", stated.region, held.region),
            ("work", stated.work, held.work),
            ("rules", stated.rules, held.rules),
            ("differences", stated.differences, held.differences),
        ];
        let line = |(name, stated, held): (&str, Option<usize>, usize)| {
            format!("{name} = {held}  # {}\n", self.config.origin(stated.is_some()))
        };
        all.map(line).concat()
    }

    /// The limits, each with where it comes from.
    fn limits(&self) -> Result<String, SettleError> {
        let defaults = toml::Table::try_from(Limits::default())?;
        let mut text = String::new();
        for (name, value) in toml::Table::try_from(&self.config.file.limits)? {
            let is_flag = match name.as_str() {
                "fuel_base" | "fuel_per_node" => self.flags.fuel.is_some(),
                "memory_bytes" => self.flags.memory.is_some(),
                "time_seconds" => self.flags.seconds.is_some(),
                _ => false,
            };
            let origin = match is_flag {
                true => Origin::Flag,
                false => self.config.origin(defaults.get(&name) != Some(&value)),
            };
            text.push_str(&format!("{name} = {value}  # {origin}\n"));
        }
        Ok(text)
    }
}

/// The options of compilers that are stated: dotted names stand at the top of a file, before its tables.
fn dotted(compiler: &CompilerOptions, origin: &Origin) -> String {
    let stated: Vec<String> = compiler.stated().map(|(name, value)| format!("{name} = {value}")).collect();
    if stated.is_empty() { String::new() } else { format!("{}  # {origin}\n", stated.join("\n")) }
}

fn stated_mode(config: &Config) -> Result<Option<Mode>, SettleError> {
    let known = &["max-autotune", "reduce-overhead", "npugraph_ex"];
    let name = known_word(config, "mode", config.file.mode.as_deref(), known)?;
    Ok(name.map(|name| if name == "max-autotune" { Mode::MaxAutotune } else { Mode::ReduceOverhead }))
}

fn stated_policy(config: &Config) -> Result<Option<Policy>, SettleError> {
    let known = &["strict", "default", "advisory"];
    Ok(known_word(config, "policy", config.file.policy.as_deref(), known)?.and_then(Policy::from_name))
}

fn known_word<'a>(
    config: &Config,
    what: &'static str,
    word: Option<&'a str>,
    known: &'static [&'static str],
) -> Result<Option<&'a str>, SettleError> {
    match word.filter(|w| !known.contains(w)) {
        Some(word) => Err(unknown_word(config, what, word, known)),
        None => Ok(word),
    }
}

fn unknown_word(config: &Config, what: &'static str, word: &str, known: &'static [&'static str]) -> SettleError {
    let file = config.path.as_deref().unwrap_or(Path::new("airlock.toml")).to_path_buf();
    SettleError::Word { file, what, found: word.to_string(), known }
}
