//! What `airlock.toml` states, as a command takes it.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::{Mode, Policy, output};
use crate::pipeline::{CompilerOptions, Config};

/// Returns the mode that a file states.
pub fn mode(config: &Config) -> anyhow::Result<Option<Mode>> {
    let text = named(config, "mode", config.file.mode.as_deref(), &["max-autotune", "reduce-overhead", "npugraph_ex"])?;
    Ok(text.map(|name| if name == "max-autotune" { Mode::MaxAutotune } else { Mode::ReduceOverhead }))
}

/// Returns the policy that a file states.
pub fn policy(config: &Config) -> anyhow::Result<Option<Policy>> {
    let text = named(config, "policy", config.file.policy.as_deref(), &["strict", "default", "advisory"])?;
    Ok(text.and_then(Policy::from_name))
}

fn named<'a>(config: &Config, what: &str, text: Option<&'a str>, known: &[&str]) -> anyhow::Result<Option<&'a str>> {
    let Some(text) = text else { return Ok(None) };
    if !known.contains(&text) {
        let file = config.path.as_deref().unwrap_or(Path::new("airlock.toml")).display();
        bail!("{file}: {what} = \"{text}\": expected one of {}", known.join(", "));
    }
    Ok(Some(text))
}

/// Refuses options that ask for what is not there, and warns of those that do not belong to the mode.
pub fn check_options(options: &CompilerOptions, mode: Mode) -> anyhow::Result<()> {
    let foreign = options.check(mode == Mode::ReduceOverhead)?;
    if !foreign.is_empty() {
        let names = foreign.join(", ");
        output::warn(&format!("these options do not take effect in {} mode: {names}", mode.name()));
    }
    Ok(())
}

/// Where graphs are kept: the folder that is given, else PyTorch's own where it is told to keep them.
pub fn dump_folder(given: Option<&Path>) -> Option<PathBuf> {
    let asked = std::env::var_os("TORCH_COMPILE_DEBUG").is_some_and(|v| v == "1");
    let own = || asked.then(|| PathBuf::from("torch_compile_debug/run_0-pid_0/torchair/model__0"));
    given.map(Path::to_path_buf).or_else(own)
}
